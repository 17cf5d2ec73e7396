#include "federation/agent/local_formula.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/dataset.h"
#include "federation/agent/consent.h"

static int is_listed(const char *list, const char *name)
{
    char item[FPLT__VARIABLE_TEXT];
    while (*list) {
        list = fplt__list_next(list, item, sizeof item);
        if (strcmp(item, name) == 0)
            return 1;
    }
    return 0;
}

/* Adds the columns of C() to the list of the categories. */
static void list_categories(const fplt__formula *formula, const char *given, fplt__buffer *list)
{
    fplt__buffer_format(list, "%s", given);
    for (size_t v = 0; v < formula->variables; v++)
        if (formula->variable[v].kind == FPLT__LEVELS_OF &&
            !is_listed(list->text ? list->text : "", formula->variable[v].column))
            fplt__buffer_format(list, "%s%s", list->text && *list->text ? "," : "",
                                formula->variable[v].column);
}

fplt_status fplt__local_formula_reading(fplt_settings *settings, fplt_error *error)
{
    const char *text = fplt__run_formula(settings);
    const char *given = fplt_settings_text(settings, "categories");
    fplt__buffer list = {NULL, 0, 0, FPLT_OK};
    fplt__formula *formula;
    if (!text)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&formula, 1, sizeof *formula, "a formula", error);
    if (status)
        return status;
    if (!(status = fplt__formula_parse(text, NULL, 0, formula, error))) {
        list_categories(formula, given ? given : "", &list);
        if (list.status)
            status = fplt_error_set(error, list.status, "no memory for a formula");
    }
    fplt__settings_override(settings);
    if (!status && list.text && *list.text && (!given || strcmp(list.text, given) != 0))
        status = fplt_settings_set(settings, "categories", list.text, "formula", error);
    fplt__buffer_clear(&list);
    fplt__free(formula);
    return status;
}

/* NULL: no formula. The error names only columns that the proposal states. */
static fplt_status make_design(const fplt__formula_rows *rows, const char *numbers,
                               fplt_design **design, fplt_error *error)
{
    fplt_status status =
        fplt__run_design_make(rows->settings, rows->schema, &rows->training->feature_names,
                              rows->label, numbers, design, error);
    if (status && error)
        snprintf(rows->abroad, FPLT__SENTENCE, "%.400s", error->text);
    return status;
}

fplt_status fplt__local_formula_count(fplt__local_formula *formula, const fplt__formula_rows *rows,
                                      fplt_error *error)
{
    fplt_design *design;
    fplt_status status = make_design(rows, NULL, &design, error);
    if (!status && design)
        formula->columns = fplt__design_names(design)->count;
    fplt__design_destroy(design);
    return status;
}

/* Numbers that came from the coordinator may make anything of the rows. */
static fplt_status check_finite(const fplt_dataset *rows, fplt_error *error)
{
    for (size_t i = 0; i < rows->rows * rows->features; i++)
        if (!isfinite(rows->dense[i]))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "formula: row %zu, column %.100s is not finite",
                                  i / rows->features + 1,
                                  rows->feature_names.item[i % rows->features]);
    return FPLT_OK;
}

static fplt_status apply_design(fplt__local_formula *formula, const fplt__formula_rows *rows,
                                const char *numbers, fplt_error *error)
{
    fplt_design *design;
    fplt_status status = make_design(rows, numbers, &design, error);
    if (!status && design)
        status = fplt__design_apply(design, NULL, rows->training, error);
    if (!status && design)
        status = check_finite(rows->training, error);
    if (!status && design && rows->held_out)
        status = fplt__design_apply(design, NULL, rows->held_out, error);
    formula->columns = 0;
    fplt__design_destroy(design);
    return status;
}

fplt_status fplt__local_formula_begin(fplt__local_formula *formula, const fplt__formula_rows *rows,
                                      fplt_error *error)
{
    fplt_status status = fplt__run_polys_find(rows->settings, &rows->training->feature_names,
                                              &formula->polys, error);
    if (!status && formula->polys.count && !rows->training->dense)
        status = fplt_error_set(error, FPLT_UNSUPPORTED,
                                "formula: the data set is sparse; a formula needs dense rows");
    if (status)
        return status;
    return formula->polys.count ? fplt__local_formula_count(formula, rows, error)
                                : apply_design(formula, rows, NULL, error);
}

fplt_status fplt__local_formula_expand(fplt__local_formula *formula, const fplt__formula_rows *rows,
                                       const char *numbers, fplt_error *error)
{
    if (formula->numbers && strcmp(formula->numbers, numbers) == 0)
        return FPLT_OK;
    if (!formula->polys.count || formula->numbers)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the coordinator changes the polynomials of a run; start the agent "
                              "again for a new one");
    fplt_status status = apply_design(formula, rows, numbers, error);
    if (!status && !(formula->numbers = fplt__strdup(numbers)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a formula");
    return status;
}

int fplt__local_formula_is_expanded(const fplt__local_formula *formula)
{
    return !formula->polys.count || formula->numbers;
}

void fplt__local_formula_clear(fplt__local_formula *formula)
{
    fplt__free(formula->numbers);
    formula->numbers = NULL;
}
