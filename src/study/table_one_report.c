/* Table 1 as a document: text, CSV, JSON, HTML, LaTeX. */
#include "study/table_one_report.h"

#include <stdio.h>

#include "base/buffer.h"
#include "fedplt/memory.h"
#include "report/html.h"
#include "report/report.h"
#include "report/table.h"
#include "study/table_one_inside.h"

struct document {
    const fplt_description *table;
    fplt__table_one_form form;
    fplt__buffer text;
};

static void add_heading(struct document *to, const char *heading)
{
    if (to->form == FPLT__TABLE_ONE_HTML) {
        fplt__buffer_add(&to->text, "<h2>");
        fplt__html_text(&to->text, heading);
        fplt__buffer_add(&to->text, "</h2>\n");
    } else {
        fplt__buffer_format(&to->text, to->form == FPLT__TABLE_ONE_LATEX ? "\n%% %s\n" : "\n%s\n",
                            heading);
    }
}

/* A table in the form of the document, under a heading (NULL: none); the table is destroyed. */
static fplt_status add_table(struct document *to, fplt_table *made, const char *heading,
                             fplt_error *error)
{
    char *text = NULL;
    fplt_table_form form = to->form == FPLT__TABLE_ONE_HTML  ? FPLT_TABLE_HTML
                           : to->form == FPLT__TABLE_ONE_CSV ? FPLT_TABLE_CSV
                                                             : FPLT_TABLE_ALIGNED;
    fplt_status status = to->form == FPLT__TABLE_ONE_LATEX
                             ? fplt__table_latex(made, &text, error)
                             : fplt_table_render(made, form, &text, error);
    if (!status && heading)
        add_heading(to, heading);
    if (!status)
        fplt__buffer_add(&to->text, text);
    fplt_free(text);
    fplt_table_destroy(made);
    return status;
}

static fplt_status add_strata(struct document *to, fplt_error *error)
{
    size_t sites = to->table->strata.count > 1 && fplt_description_sites(to->table) > 2
                       ? fplt_description_sites(to->table)
                       : 1;
    fplt_status status = FPLT_OK;
    for (size_t s = 0; s < sites && !status; s++) {
        char heading[400];
        fplt_table *made;
        snprintf(heading, sizeof heading, s ? "site %.300s" : "all sites",
                 s ? fplt_description_site(to->table, s) : "");
        if (!(status = fplt_description_paper(to->table, s, &made, error)))
            status = add_table(to, made, sites > 1 ? heading : NULL, error);
    }
    return status;
}

static fplt_status add_crosses(struct document *to, fplt_error *error)
{
    size_t sites = fplt_description_sites(to->table) > 2 ? fplt_description_sites(to->table) : 1;
    fplt__table_one_cross cross;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && fplt__table_one_cross_get(to->table, i, &cross); i++)
        for (size_t s = 0; s < sites && !status; s++) {
            char heading[1000];
            fplt_table *made;
            snprintf(heading, sizeof heading, "%.200s by %.200s%s%.300s", cross.row, cross.column,
                     sites < 2 ? ""
                     : s       ? ", site "
                               : ", all sites",
                     s ? fplt_description_site(to->table, s) : "");
            if (!(status = fplt__table_one_cross_print(to->table, i, s, &made, error)))
                status = add_table(to, made, heading, error);
        }
    return status;
}

static void add_notes(struct document *to)
{
    const char *note;
    for (size_t i = 0; (note = fplt_description_note(to->table, i)); i++)
        if (to->form == FPLT__TABLE_ONE_HTML) {
            fplt__buffer_add(&to->text, "<p>");
            fplt__html_text(&to->text, note);
            fplt__buffer_add(&to->text, "</p>\n");
        } else if (to->form == FPLT__TABLE_ONE_LATEX) {
            fplt__buffer_format(&to->text, "%% %s\n", note);
        } else {
            fplt__buffer_format(&to->text, "%s%s.\n", i ? "" : "\n", note);
        }
}

/* Line by line; the tables of two columns behind an empty line. */
static fplt_status add_lines(struct document *to, fplt_error *error)
{
    fplt__table_one_cross cross;
    fplt_table *made;
    fplt_status status = fplt_description_list(to->table, &made, error);
    if (!status)
        status = add_table(to, made, NULL, error);
    if (status || !fplt__table_one_cross_get(to->table, 0, &cross))
        return status;
    fplt__buffer_add(&to->text, "\n");
    status = fplt_description_crosses(to->table, &made, error);
    return status ? status : add_table(to, made, NULL, error);
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

static fplt_status add_json(struct document *to, fplt_error *error)
{
    char *text;
    fplt_status status = fplt__json_write(fplt__table_one_json(to->table), &text, error);
    if (!status)
        fplt__buffer_format(&to->text, "%s\n", text);
    fplt_free(text);
    return status;
}

static fplt_status add_paper(struct document *to, fplt_error *error)
{
    if (to->form == FPLT__TABLE_ONE_HTML)
        fplt__buffer_add(&to->text,
                         "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Table 1</title>\n"
                         "<style>body{font-family:sans-serif}table{border-collapse:collapse}"
                         "td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:left}"
                         ".n{text-align:right}</style>\n<h1>Table 1</h1>\n");
    fplt_status status = add_strata(to, error);
    if (!status)
        status = add_crosses(to, error);
    if (!status)
        add_notes(to);
    return status;
}

fplt_status fplt__table_one_report(const fplt_description *table, fplt__table_one_form form,
                                   char **text, fplt_error *error)
{
    struct document document = {table, form, {NULL, 0, 0, FPLT_OK}};
    *text = NULL;
    fplt_status status = form == FPLT__TABLE_ONE_CSV    ? add_lines(&document, error)
                         : form == FPLT__TABLE_ONE_JSON ? add_json(&document, error)
                                                        : add_paper(&document, error);
    if (!status)
        return fplt__buffer_take(&document.text, text, error);
    fplt__buffer_clear(&document.text);
    return status;
}
