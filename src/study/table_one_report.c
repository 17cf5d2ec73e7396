/* Table 1 as a document: text, CSV, JSON, HTML, LaTeX. */
#include "study/table_one_report.h"

#include <stdio.h>

#include "report/report.h"
#include "report/table.h"
#include "study/table_one_inside.h"

struct paper {
    const fplt_description *table;
    fplt__document to;
};

static fplt_status add_strata(struct paper *paper, fplt_error *error)
{
    size_t sites = paper->table->strata.count > 1 && fplt_description_sites(paper->table) > 2
                       ? fplt_description_sites(paper->table)
                       : 1;
    fplt_status status = FPLT_OK;
    for (size_t s = 0; s < sites && !status; s++) {
        char heading[400];
        fplt_table *made;
        snprintf(heading, sizeof heading, s ? "site %.300s" : "all sites",
                 s ? fplt_description_site(paper->table, s) : "");
        if (!(status = fplt_description_paper(paper->table, s, &made, error)))
            status = fplt__document_table(&paper->to, made, sites > 1 ? heading : NULL, error);
    }
    return status;
}

static fplt_status add_crosses(struct paper *paper, fplt_error *error)
{
    size_t sites =
        fplt_description_sites(paper->table) > 2 ? fplt_description_sites(paper->table) : 1;
    fplt__table_one_cross cross;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && fplt__table_one_cross_get(paper->table, i, &cross); i++)
        for (size_t s = 0; s < sites && !status; s++) {
            char heading[1000];
            fplt_table *made;
            snprintf(heading, sizeof heading, "%.200s by %.200s%s%.300s", cross.row, cross.column,
                     sites < 2 ? ""
                     : s       ? ", site "
                               : ", all sites",
                     s ? fplt_description_site(paper->table, s) : "");
            if (!(status = fplt__table_one_cross_print(paper->table, i, s, &made, error)))
                status = fplt__document_table(&paper->to, made, heading, error);
        }
    return status;
}

static void add_notes(struct paper *paper)
{
    const char *note;
    for (size_t i = 0; (note = fplt_description_note(paper->table, i)); i++)
        fplt__document_note(&paper->to, note, !i);
}

/* Line by line; the tables of two columns behind an empty line. */
static fplt_status add_lines(struct paper *paper, fplt_error *error)
{
    fplt__table_one_cross cross;
    fplt_table *made;
    fplt_status status = fplt_description_list(paper->table, &made, error);
    if (!status)
        status = fplt__document_table(&paper->to, made, NULL, error);
    if (status || !fplt__table_one_cross_get(paper->table, 0, &cross))
        return status;
    fplt__buffer_add(&paper->to.text, "\n");
    status = fplt_description_crosses(paper->table, &made, error);
    return status ? status : fplt__document_table(&paper->to, made, NULL, error);
}

static json_t *names_json(const fplt_description *table, int strata)
{
    json_t *made = json_array();
    size_t count = strata ? table->strata.count : fplt_description_sites(table);
    for (size_t i = 1; i < count; i++)
        json_array_append_new(made, json_string(strata ? fplt__table_one_stratum(table, i)
                                                       : fplt_description_site(table, i)));
    return made;
}

json_t *fplt__table_one_json(const fplt_description *table)
{
    fplt_table *list = NULL, *crosses = NULL;
    json_t *notes = json_array(), *made = NULL;
    const char *note;
    for (size_t i = 0; (note = fplt_description_note(table, i)); i++)
        json_array_append_new(notes, json_string(note));
    if (!fplt_description_list(table, &list, NULL) &&
        !fplt_description_crosses(table, &crosses, NULL))
        made = json_pack("{s:o, s:s?, s:o, s:I, s:I, s:o, s:o, s:O}", "sites", names_json(table, 0),
                         "by", table->settings.by, "strata", names_json(table, 1), "grid",
                         (json_int_t)table->settings.cells, "minimum",
                         (json_int_t)table->settings.minimum, "columns", fplt__table_json(list),
                         "cross", fplt__table_json(crosses), "notes", notes);
    json_decref(notes);
    fplt_table_destroy(list);
    fplt_table_destroy(crosses);
    return made;
}

static fplt_status add_paper(struct paper *paper, fplt_error *error)
{
    fplt__document_begin(&paper->to, "Table 1");
    fplt_status status = add_strata(paper, error);
    if (!status)
        status = add_crosses(paper, error);
    if (!status)
        add_notes(paper);
    return status;
}

fplt_status fplt__table_one_report(const fplt_description *table, fplt__form form, char **text,
                                   fplt_error *error)
{
    struct paper paper = {table, {form, {NULL, 0, 0, FPLT_OK}}};
    fplt_status status = form == FPLT__FORM_CSV ? add_lines(&paper, error)
                         : form == FPLT__FORM_JSON
                             ? fplt__document_json(&paper.to, fplt__table_one_json(table), error)
                             : add_paper(&paper, error);
    return fplt__document_take(&paper.to, status, text, error);
}
