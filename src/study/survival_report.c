/* Survival curves as a document. */
#include <stdio.h>

#include "report/report.h"
#include "report/table.h"
#include "study/survival_inside.h"

static const char *const intervals[] = {"log", "log-log", "plain"};

struct paper {
    const fplt_survival *survival;
    fplt__document to;
};

static fplt_status add_part(struct paper *paper, fplt_survival_part part, const char *heading,
                            fplt_error *error)
{
    fplt_table *table;
    fplt_status status = fplt_survival_tabulate(paper->survival, part, &table, error);
    return status ? status : fplt__document_table(&paper->to, table, heading, error);
}

static fplt_status add_tests(struct paper *paper, fplt_error *error)
{
    fplt_table *tests;
    fplt_status status =
        fplt_survival_tabulate(paper->survival, FPLT_SURVIVAL_TESTS, &tests, error);
    if (status || !fplt__table_rows(tests)) {
        fplt_table_destroy(tests);
        return status;
    }
    if ((status = add_part(paper, FPLT_SURVIVAL_GROUPS, "log-rank test", error))) {
        fplt_table_destroy(tests);
        return status;
    }
    fplt__buffer_add(&paper->to.text, "\n");
    return fplt__document_table(&paper->to, tests, NULL, error);
}

/* Nothing where every curve is withheld. */
static fplt_status add_picture(struct paper *paper, fplt_error *error)
{
    fplt__buffer svg = {NULL, 0, 0, FPLT_OK};
    int width, height;
    fplt_error none;
    fplt_status status =
        fplt__survival_draw(paper->survival, "picture", &svg, &width, &height, &none);
    if (!status && svg.text)
        fplt__buffer_format(&paper->to.text, "%s", svg.text);
    else if (status == FPLT_NO_MEMORY)
        *error = none;
    fplt__buffer_clear(&svg);
    return status == FPLT_NO_MEMORY ? status : FPLT_OK;
}

static void add_notes(struct paper *paper)
{
    const fplt_survival *survival = paper->survival;
    char text[200];
    const char *note;
    snprintf(text, sizeof text,
             "low and high: %g %% CI, symmetric on the scale %s; an empty site or stratum is all "
             "of them",
             100 * survival->settings.level, intervals[survival->settings.interval]);
    fplt__document_note(&paper->to, text, 1);
    for (size_t i = 0; (note = fplt_survival_note(survival, i)); i++)
        fplt__document_note(&paper->to, note, 0);
}

static fplt_status add_paper(struct paper *paper, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    fplt__document_begin(&paper->to, "Survival");
    if (paper->to.form == FPLT__FORM_HTML)
        status = add_picture(paper, error);
    if (!status)
        status = add_part(paper, FPLT_SURVIVAL_CURVES, NULL, error);
    fplt__buffer_add(&paper->to.text, "\n");
    if (!status)
        status = add_part(paper, FPLT_SURVIVAL_TIMES, NULL, error);
    if (!status)
        status = add_tests(paper, error);
    if (!status)
        add_notes(paper);
    return status;
}

static json_t *part_json(const fplt_survival *survival, fplt_survival_part part)
{
    fplt_table *table;
    if (fplt_survival_tabulate(survival, part, &table, NULL))
        return NULL;
    json_t *made = fplt__table_json(table);
    fplt_table_destroy(table);
    return made;
}

static json_t *make_json(const fplt_survival *survival)
{
    json_t *notes = json_array();
    const char *note;
    for (size_t i = 0; (note = fplt_survival_note(survival, i)); i++)
        json_array_append_new(notes, json_string(note));
    return json_pack("{s:s?, s:s?, s:I, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "by",
                     survival->settings.by, "grid", survival->settings.grid, "minimum",
                     (json_int_t)survival->settings.minimum, "interval",
                     intervals[survival->settings.interval], "level", survival->settings.level,
                     "curves", part_json(survival, FPLT_SURVIVAL_CURVES), "times",
                     part_json(survival, FPLT_SURVIVAL_TIMES), "tests",
                     part_json(survival, FPLT_SURVIVAL_TESTS), "groups",
                     part_json(survival, FPLT_SURVIVAL_GROUPS), "steps",
                     part_json(survival, FPLT_SURVIVAL_STEPS), "notes", notes);
}

fplt_status fplt__survival_report(const fplt_survival *survival, fplt__form form, char **text,
                                  fplt_error *error)
{
    struct paper paper = {survival, {form, {NULL, 0, 0, FPLT_OK}}};
    fplt_status status = form == FPLT__FORM_CSV ? add_part(&paper, FPLT_SURVIVAL_STEPS, NULL, error)
                         : form == FPLT__FORM_JSON
                             ? fplt__document_json(&paper.to, make_json(survival), error)
                             : add_paper(&paper, error);
    return fplt__document_take(&paper.to, status, text, error);
}
