#include "federation/plan/run_design.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/poly.h"
#include "job/job.h"

const char *fplt__run_formula(const fplt_settings *settings)
{
    return fplt__job_formula(settings);
}

static int is_input(const fplt__names *inputs, const char *column)
{
    for (size_t j = 0; j < inputs->count; j++)
        if (strcmp(inputs->item[j], column) == 0)
            return 1;
    return 0;
}

/* The levels of a number are known to no site. */
static fplt_status check_variable(const fplt__variable *variable, const fplt__names *inputs,
                                  fplt_error *error)
{
    if (variable->kind == FPLT__POLY && variable->degree > FPLT__RUN_MAX_DEGREE)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "formula: %.200s is of degree %u, but in a federation at most %d",
                              variable->text, variable->degree, FPLT__RUN_MAX_DEGREE);
    if (variable->kind == FPLT__LEVELS_OF && is_input(inputs, variable->column))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "formula: %.200s needs the values of '%.100s' at all sites; declare it "
            "as a category with its levels in `columns` of federation.yaml, or in "
            "a schema",
            variable->text, variable->column);
    return FPLT_OK;
}

static fplt_status check_terms(const char *text, const fplt__names *inputs, const char *label,
                               fplt_error *error)
{
    fplt__formula *formula;
    fplt_status status = fplt__alloc_into(&formula, 1, sizeof *formula, "a formula", error);
    if (status)
        return status;
    status = fplt__formula_parse(text, NULL, 0, formula, error);
    if (!status && label && *label && *formula->response && strcmp(label, formula->response) != 0)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "formula: it is about '%.80s', but the label of the run is '%.80s'",
                                formula->response, label);
    for (size_t v = 0; v < formula->variables && !status; v++)
        status = check_variable(&formula->variable[v], inputs, error);
    fplt__free(formula);
    return status;
}

int fplt__run_needs_polys(const fplt_settings *settings)
{
    const char *text = fplt__run_formula(settings);
    fplt__formula *formula;
    int found = 0;
    if (!text || fplt__alloc_into(&formula, 1, sizeof *formula, "a formula", NULL))
        return 0;
    if (!fplt__formula_parse(text, NULL, 0, formula, NULL))
        for (size_t v = 0; v < formula->variables; v++)
            found |= formula->variable[v].kind == FPLT__POLY;
    fplt__free(formula);
    return found;
}

fplt_status fplt__run_polys_find(const fplt_settings *settings, const fplt__names *inputs,
                                 fplt__run_polys *polys, fplt_error *error)
{
    const char *text = fplt__run_formula(settings);
    polys->count = 0;
    return text ? fplt__formula_polys(text, inputs, polys->column, &polys->count, error) : FPLT_OK;
}

unsigned fplt__run_polys_phases(const fplt__run_polys *polys)
{
    unsigned phases = 0;
    for (size_t v = 0; v < polys->count; v++) {
        unsigned own = fplt__poly_phases(polys->column[v].degree);
        phases = own > phases ? own : phases;
    }
    return phases;
}

size_t fplt__run_polys_numbers(const fplt__run_polys *polys)
{
    size_t count = 0;
    for (size_t v = 0; v < polys->count; v++)
        count += 2 * (size_t)polys->column[v].degree + 1;
    return count;
}

fplt_status fplt__run_numbers_text(const double *numbers, size_t count, char **text,
                                   fplt_error *error)
{
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    for (size_t i = 0; i < count; i++)
        fplt__buffer_format(&out, "%s%.17g", i ? " " : "", numbers[i]);
    *text = out.text && !out.status ? fplt__strdup(out.text) : NULL;
    fplt__buffer_clear(&out);
    return *text ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a formula");
}

/* As many as there must be, each of them finite. */
static fplt_status read_numbers(const char *text, size_t count, double *numbers, fplt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        char word[40];
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1),
                 text);
        if (fplt__parse_real(word, &numbers[i]) || !isfinite(numbers[i]))
            return fplt_error_set(error, FPLT_BAD_DATA, "formula: its numbers cannot be read");
        text += length + (text[length] == ' ');
    }
    return *text ? fplt_error_set(error, FPLT_BAD_DATA, "formula: there are too many numbers")
                 : FPLT_OK;
}

static fplt_status compile(const fplt_settings *settings, const fplt__names *inputs,
                           const char *text, fplt_design **design, fplt_error *error)
{
    const fplt__names no_sites = {0, NULL};
    fplt__run_polys *polys;
    double *numbers = NULL;
    fplt_status status = fplt__alloc_into(&polys, 1, sizeof *polys, "a formula", error);
    if (status)
        return status;
    if (!(status = fplt__run_polys_find(settings, inputs, polys, error))) {
        size_t count = fplt__run_polys_numbers(polys);
        status = fplt__alloc_into(&numbers, count + 1, sizeof *numbers, "a formula", error);
        if (!status && text)
            status = read_numbers(text, count, numbers, error);
        if (!status)
            status = fplt__design_restore(fplt__run_formula(settings), inputs, numbers, count,
                                          &no_sites, design, error);
    }
    fplt__free(numbers);
    fplt__free(polys);
    return status;
}

fplt_status fplt__run_design_make(const fplt_settings *settings, const fplt_schema *schema,
                                  const fplt__names *inputs, const char *label, const char *numbers,
                                  fplt_design **design, fplt_error *error)
{
    const char *text = fplt__run_formula(settings);
    *design = NULL;
    if (!text)
        return FPLT_OK;
    if (!inputs->count)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "formula: the columns of the run have no names");
    fplt_status status = fplt__formula_check_schema(text, schema, error);
    if (!status)
        status = check_terms(text, inputs, label, error);
    return status ? status : compile(settings, inputs, numbers, design, error);
}
