/* Preparation at a site: sums and counts of what is there, and rows changed as the coordinator found over all sites. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "data/dataset_access.h"
#include "federation/agent/consent.h"
#include "federation/agent/rules.h"

/* ---- counting ---- */

static fplt_status count_classes(const fplt_dataset *rows, uint32_t classes, uint64_t *words,
                                 fplt_error *error)
{
    uint64_t *counted;
    fplt__sum *sum = NULL;
    fplt_status status = fplt__alloc_into(&counted, classes, sizeof *counted, "classes", error);
    if (!status)
        status = fplt__dataset_count_classes(rows, counted, error);
    if (!status)
        status = fplt__sum_create(classes, FPLT__FILL_EXPONENT, &sum, error);
    for (uint32_t k = 0; k < classes && !status; k++) {
        double number = (double)counted[k];
        status = fplt__sum_add(sum, k, &number, 1);
    }
    if (!status)
        fplt__sum_export(sum, 0, words, classes);
    fplt__sum_destroy(sum);
    fplt__free(counted);
    return status;
}

static fplt_status count_columns(const fplt_dataset *rows, const fplt__preparation *of,
                                 const fplt__site_action *action, uint64_t *words,
                                 fplt_error *error)
{
    size_t features = of->counts ? of->fills : 0;
    fplt_status status = FPLT_OK;
    if (action->count != features)
        return fplt_error_set(error, FPLT_BAD_DATA, "the coordinator asks for counts wrongly");
    if (features)
        status = fplt__fill_sums(rows, action->down, words, error);
    return status || !of->classes ? status
                                  : count_classes(rows, of->classes, words + 4 * features, error);
}

/* The site says which columns are added up, not the coordinator: of others it wants no sum. */
static fplt_status check_units(const fplt__preparation *of, const fplt__site_action *action,
                               fplt_error *error)
{
    for (size_t j = 0; j < action->count && j < of->fills; j++) {
        double unit = action->down[j], wanted = fplt__preparation_unit(of, j, unit);
        if (unit != wanted)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "the coordinator asks for the sum of a column in units of %g",
                                  unit);
    }
    return FPLT_OK;
}

fplt_status fplt__agent_count(fplt__agent *agent, const fplt__site_action *action, uint64_t **words,
                              uint64_t *numbers, fplt_error *error)
{
    const fplt_dataset *rows = fplt__local_data_rows(agent->material);
    size_t minimum = (size_t)fplt__rule_value(agent->settings, FPLT__RULE_COUNTS);
    int cells = action->step == FPLT__FACTS_CELLS;
    fplt__preparation of;
    fplt_status status = fplt__local_data_preparation(agent->material, &of, error);
    if (!status) {
        *numbers = cells ? of.cells : fplt__preparation_numbers(&of);
        status = fplt__alloc_into(words, 2 * (size_t)*numbers, sizeof **words, "facts", error);
    }
    if (!status && !cells)
        status = check_units(&of, action, error);
    if (!status)
        status = cells ? fplt__fill_cells(rows, &of.wanted, of.grid, minimum, *words, error)
                       : count_columns(rows, &of, action, *words, error);
    fplt__preparation_clear(&of);
    return status;
}

/* ---- as it is told ---- */

static fplt_status prepare(fplt__agent *agent, const fplt__prepared *told, fplt_error *error)
{
    fplt__preparation of;
    fplt_status status = fplt__local_data_preparation(agent->material, &of, error);
    if (!status)
        status = fplt__preparation_check(&of, told->fill, told->fills, told->class_rows,
                                         told->classes, error);
    fplt__preparation_clear(&of);
    if (!status && (told->fills || told->classes))
        status = fplt__local_data_prepare(agent->material, told, agent->abroad, error);
    return status;
}

/* Numbers as FPLT__FACTS_PREPARED has them: a length and what fills the columns, a length and the rows of the classes. */
static fplt_status prepare_from(fplt__agent *agent, const double *down, size_t count,
                                fplt_error *error)
{
    fplt__prepared told = {.fill = down + 1};
    uint64_t *class_rows;
    int is_legal = count >= 2 && fplt__is_whole(down[0], 0, (double)(count - 2));
    if (is_legal) {
        told.fills = (size_t)down[0];
        told.classes = count - 2 - told.fills;
        is_legal = down[told.fills + 1] == (double)told.classes;
    }
    for (size_t k = 0; is_legal && k < told.classes; k++)
        is_legal = fplt__is_whole(down[told.fills + 2 + k], 0, 9007199254740992.0);
    if (!is_legal)
        return fplt_error_set(error, FPLT_BAD_DATA, "the coordinator prepares the rows wrongly");
    fplt_status status =
        fplt__alloc_into(&class_rows, told.classes, sizeof *class_rows, "classes", error);
    for (size_t k = 0; k < told.classes && !status; k++)
        class_rows[k] = (uint64_t)down[told.fills + 2 + k];
    told.class_rows = class_rows;
    if (!status)
        status = prepare(agent, &told, error);
    fplt__free(class_rows);
    return status;
}

fplt_status fplt__agent_prepare(fplt__agent *agent, const fplt__site_action *action,
                                fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt_status status = prepare_from(agent, action->down, (size_t)action->count, error);
    for (size_t i = 0; i < action->count; i++)
        fplt__buffer_format(&text, "%a ", action->down[i]);
    if (!status && text.status)
        status = fplt_error_set(error, text.status, "no memory for fill values");
    /* a column may be nearly constant once it is filled */
    if (!status && !(status = fplt__agent_judge_cells(agent, error)))
        status = fplt__kept_save(agent->folder, FPLT__KEPT_PREPARED, &agent->material_of,
                                 text.text ? text.text : "", error);
    fplt__buffer_clear(&text);
    return status;
}

fplt_status fplt__agent_prepare_as_before(fplt__agent *agent, fplt_error *error)
{
    char *text, *rest, *end;
    double *numbers = NULL;
    size_t count = 0;
    if (fplt__local_data_is_prepared(agent->material))
        return FPLT_OK;
    fplt_status status =
        fplt__kept_load(agent->folder, FPLT__KEPT_PREPARED, &agent->material_of, &text, error);
    if (status || !text)
        return status;
    if (!(status = fplt__alloc_into(&numbers, strlen(text) / 2 + 1, sizeof *numbers, "fill values",
                                    error))) {
        for (rest = text; numbers[count] = strtod(rest, &end), end != rest; rest = end)
            count++;
        status = prepare_from(agent, numbers, count, error);
    }
    fplt__free(numbers);
    fplt__free(text);
    return status;
}

fplt_status fplt__agent_prepare_by(fplt__agent *agent, const fplt__agreement *agreement,
                                   fplt_error *error)
{
    const fplt__prepared told = {.fill = agreement->fill,
                                 .fills = agreement->fills,
                                 .class_rows = agreement->class_rows,
                                 .classes = agreement->balances};
    if (agreement->private)
        return told.fills || told.classes
                   ? fplt_error_set(error, FPLT_BAD_DATA,
                                    "the plan is private, but says what fills missing values")
                   : FPLT_OK;
    return prepare(agent, &told, error);
}
