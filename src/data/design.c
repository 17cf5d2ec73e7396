/* The design of a formula: products of variables, each of which is one column or several. Categories have treatment
 * contrasts: the first level has no column, unless no term before has the other variables of the term, as in R. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sum.h"
#include "data/design.h"
#include "data/poly.h"

void fplt__design_destroy(fplt_design *design)
{
    if (!design)
        return;
    fplt__names_clear(&design->inputs);
    fplt__names_clear(&design->names);
    fplt__names_clear(&design->sites);
    fplt__free(design->text);
    fplt__free(design->first);
    fplt__free(design->factor);
    fplt__free(design->number);
    fplt__free(design);
}

const char *fplt__design_text(const fplt_design *design)
{
    return design->text;
}

const fplt__names *fplt__design_sites(const fplt_design *design)
{
    return &design->sites;
}

const fplt__names *fplt__design_inputs(const fplt_design *design)
{
    return &design->inputs;
}

const fplt__names *fplt__design_names(const fplt_design *design)
{
    return &design->names;
}

const double *fplt__design_numbers(const fplt_design *design, size_t *count)
{
    *count = design->numbers;
    return design->number;
}

int fplt__design_intercept(const fplt_design *design)
{
    return design->intercept;
}

size_t fplt__design_at_once(const fplt_design *design)
{
    return design->at_once;
}

size_t fplt__design_categories(const fplt_design *design)
{
    return design->categories;
}

size_t fplt__design_room(const fplt_design *design)
{
    return design->room + design->inputs.count;
}

/* ---- Variables among the inputs ---- */

/* The length of the column's name: behind it a level may follow. */
static int is_level_of(const char *input, const char *column)
{
    size_t length = strlen(column);
    return strncmp(input, column, length) == 0 && input[length] == '=';
}

static fplt_status find_inputs(const fplt__names *inputs, fplt__measured *made, fplt_error *error)
{
    size_t j = 0;
    while (j < inputs->count && strcmp(inputs->item[j], made->column) != 0)
        j++;
    if (j < inputs->count) {
        made->input = j;
        return FPLT_OK;
    }
    for (j = 0; j < inputs->count && !is_level_of(inputs->item[j], made->column);)
        j++;
    made->input = j;
    while (j < inputs->count && is_level_of(inputs->item[j], made->column))
        j++;
    made->levels = j - made->input;
    made->encoded = 1;
    if (!made->levels)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "formula: there is no column '%.150s' among the features; a name with "
            "other signs than letters, digits, _ and . stands between backticks",
            made->column);
    if (made->kind != FPLT__PLAIN_COLUMN && made->kind != FPLT__LEVELS_OF)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "formula: '%.150s' is a category, of which there is no %.200s",
                              made->column, made->text);
    return FPLT_OK;
}

static fplt_status take_numbers(fplt_design *design, size_t count, const double *numbers,
                                fplt__measured *made, fplt_error *error)
{
    fplt_status status = fplt__grow(&design->number, &design->capacity, design->numbers + count,
                                    sizeof *design->number, "a formula", error);
    made->number = design->numbers;
    if (!status)
        memcpy(design->number + design->numbers, numbers, count * sizeof *numbers);
    design->numbers += status ? 0 : count;
    return status;
}

/* ---- What is found on the rows ---- */

/* The values of an input over all rows. */
struct values {
    const fplt_dataset *dataset;
    const double *fill;
    size_t input;
};

static double value_at(const struct values *values, size_t r)
{
    double value = values->dataset->dense[r * values->dataset->features + values->input];
    return isnan(value) && values->fill ? values->fill[values->input] : value;
}

/* What the rows add up to in a phase: of phase 0 the maximum. */
static fplt_status sum_phase(const struct values *values, const double *state, unsigned phase,
                             fplt__sum *sum, double sums[2])
{
    fplt_status status = FPLT_OK;
    sums[0] = sums[1] = 0;
    fplt__sum_clear(sum);
    for (size_t r = 0; r < values->dataset->rows && !status; r++) {
        double terms[2], x = value_at(values, r);
        if (!phase) {
            sums[0] = fmax(sums[0], fplt__poly_reach(x));
            continue;
        }
        fplt__poly_terms(state, phase, x, terms);
        status = fplt__sum_add(sum, 0, terms, 2);
    }
    if (phase && !status)
        fplt__sum_read(sum, 0, sums, 2);
    return status;
}

static fplt_status refuse_poly(const fplt__measured *made, fplt_status status, fplt_error *error)
{
    if (status)
        return fplt_error_set(
            error, FPLT_BAD_DATA,
            "formula: the sums of %.200s are out of range: '%.150s' has values too "
            "far from the others; choose a smaller degree",
            made->text, made->column);
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "formula: %.200s needs more than %u distinct values of '%.150s'",
                          made->text, made->degree, made->column);
}

/* Over the rows of all agents, as a federation does it. */
static fplt_status fit_poly(fplt_design *design, const struct values *values, fplt__measured *made,
                            fplt_error *error)
{
    double state[FPLT__POLY_STATE] = {0}, numbers[2 * FPLT__POLY_MAX_DEGREE + 1], sums[2];
    fplt__sum *sum;
    fplt_status status = fplt__sum_create(2, FPLT_SUM_EXPONENT, &sum, error);
    if (status)
        return status;
    for (unsigned phase = 0; phase < fplt__poly_phases(made->degree) && !status; phase++)
        if ((status = sum_phase(values, state, phase, sum, sums)) ||
            !fplt__poly_take(state, phase, sums, (double)values->dataset->rows))
            status = refuse_poly(made, status, error);
    fplt__sum_destroy(sum);
    if (status)
        return status;
    fplt__poly_numbers(state, made->degree, numbers);
    return take_numbers(design, 2 * made->degree + 1, numbers, made, error);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static fplt_status fit_levels(fplt_design *design, const struct values *values,
                              fplt__measured *made, fplt_error *error)
{
    enum { MOST = 256 };
    double level[MOST + 1];
    size_t count = 0;
    for (size_t r = 0; r < values->dataset->rows; r++) {
        double value = value_at(values, r);
        if (bsearch(&value, level, count, sizeof *level, ascending))
            continue;
        if (count == MOST)
            return fplt_error_set(
                error, FPLT_BAD_DATA,
                "formula: %.200s has more than %d levels: it looks like a number, "
                "so leave C() out",
                made->text, MOST);
        level[count++] = value;
        qsort(level, count, sizeof *level, ascending);
    }
    made->levels = count;
    double size = (double)count;
    fplt_status status = take_numbers(design, 1, &size, made, error);
    return status ? status : take_numbers(design, count, level, made, error);
}

/* ---- Compiling ---- */

static size_t width_of(const fplt__measured *made)
{
    if (made->levels)
        return made->levels;
    return made->kind == FPLT__POLY || made->kind == FPLT__RAW_POLY ? made->degree : 1;
}

/* The name of one of a variable's columns. */
static void name_of(const fplt_design *design, const fplt__measured *made, size_t which, char *name,
                    size_t size)
{
    if (made->encoded)
        snprintf(name, size, "%s", design->inputs.item[made->input + which]);
    else if (made->levels)
        snprintf(name, size, "%s=%.15g", made->column, design->number[made->number + which]);
    else if (made->width > 1 || made->kind == FPLT__POLY || made->kind == FPLT__RAW_POLY)
        snprintf(name, size, "%s%zu", made->text, which + 1);
    else
        snprintf(name, size, "%s", made->text);
}

/* Whether a term before this one has these variables and perhaps more [Chambers and Hastie 1992, page 38]. */
static int is_covered(const fplt__formula *formula, uint64_t set, size_t term)
{
    for (size_t t = 0; t < term; t++)
        if (!(set & ~formula->term[t]))
            return 1;
    return set == 0;
}

/* Without an intercept the first category of the first term that has one keeps all its levels. */
static int keeps_first_level(const fplt_design *design, const fplt__formula *formula, size_t term,
                             size_t v)
{
    if (!is_covered(formula, formula->term[term] & ~((uint64_t)1 << v), term))
        return 1;
    for (size_t t = 0; t < formula->terms && !formula->intercept; t++)
        for (size_t w = 0; w < design->variables; w++)
            if (formula->term[t] >> w & 1 && design->variable[w].levels)
                return t == term && w == v;
    return 0;
}

/* Names and factors of all columns; the first pass (names NULL) counts. */
struct columns {
    size_t count, factors, bytes, at_once, categories;
    fplt__span *names;
    char *text;
    size_t *first, *factor;
};

static fplt_status add_column(const fplt_design *design, const size_t *chosen, size_t chosen_count,
                              const size_t *which, struct columns *columns, fplt_error *error)
{
    char name[8 * FPLT__VARIABLE_TEXT];
    size_t used = 0;
    if (columns->first)
        columns->first[columns->count] = columns->factors;
    for (size_t i = 0; i < chosen_count; i++) {
        const fplt__measured *made = &design->variable[chosen[i]];
        char part[2 * FPLT__VARIABLE_TEXT + 32];
        name_of(design, made, which[i], part, sizeof part);
        int more = snprintf(name + used, sizeof name - used, "%s%s", used ? ":" : "", part);
        used += (size_t)more;
        if (used >= sizeof name)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "formula: the name of a column becomes longer than %zu bytes",
                                  sizeof name);
        if (columns->factor)
            columns->factor[columns->factors] = made->basis + which[i];
        columns->factors++;
    }
    if (columns->names) {
        memcpy(columns->text + columns->bytes, name, used + 1);
        columns->names[columns->count] = (fplt__span){columns->text + columns->bytes, used};
    }
    columns->bytes += used + 1;
    columns->count++;
    return FPLT_OK;
}

/* All combinations of the columns of a term's variables, those of the first fastest. */
static fplt_status add_term_columns(const fplt_design *design, const fplt__formula *formula,
                                    size_t term, struct columns *columns, fplt_error *error)
{
    enum { MOST = 100000 };
    size_t chosen[FPLT__VARIABLES_MAX], least[FPLT__VARIABLES_MAX], which[FPLT__VARIABLES_MAX];
    size_t count = 0, i = 0, at_once = 1, numbers = 0;
    for (size_t v = 0; v < design->variables; v++)
        if (formula->term[term] >> v & 1) {
            least[count] =
                design->variable[v].levels && !keeps_first_level(design, formula, term, v);
            if (least[count] >= design->variable[v].width)
                return FPLT_OK; /* a single level: no contrast */
            which[count] = least[count];
            at_once *= design->variable[v].levels ? 1 : design->variable[v].width;
            numbers += !design->variable[v].levels;
            chosen[count++] = v;
        }
    columns->at_once += at_once;
    columns->categories += numbers == 0;
    do {
        fplt_status status =
            columns->count < MOST
                ? add_column(design, chosen, count, which, columns, error)
                : fplt_error_set(error, FPLT_BAD_VALUE, "formula: more than %d columns", MOST);
        if (status)
            return status;
        for (i = 0; i < count && ++which[i] == design->variable[chosen[i]].width; i++)
            which[i] = least[i];
    } while (i < count);
    return FPLT_OK;
}

static fplt_status add_all(const fplt_design *design, const fplt__formula *formula,
                           struct columns *columns, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    columns->count = columns->factors = columns->bytes = columns->at_once = columns->categories = 0;
    for (size_t t = 0; t < formula->terms && !status; t++)
        status = add_term_columns(design, formula, t, columns, error);
    return status;
}

static fplt_status compile(fplt_design *design, const fplt__formula *formula, fplt_error *error)
{
    struct columns columns = {0};
    fplt_status status = add_all(design, formula, &columns, error);
    if (status)
        return status;
    if (!columns.count)
        return fplt_error_set(error, FPLT_BAD_VALUE, "formula: '%.200s' has no column",
                              design->text);
    if ((status = fplt__alloc_into(&design->first, columns.count + 1, sizeof *design->first,
                                   "a formula", error)) ||
        (status = fplt__alloc_into(&design->factor, columns.factors + 1, sizeof *design->factor,
                                   "a formula", error)) ||
        (status = fplt__alloc_into(&columns.names, columns.count, sizeof *columns.names,
                                   "a formula", error)) ||
        (status = fplt__alloc_into(&columns.text, columns.bytes, 1, "a formula", error))) {
        fplt__free(columns.names);
        return status;
    }
    columns.first = design->first;
    columns.factor = design->factor;
    status = add_all(design, formula, &columns, error);
    design->columns = columns.count;
    design->at_once = columns.at_once;
    design->categories = columns.categories;
    design->first[columns.count] = columns.factors;
    if (!status)
        status = fplt__names_make(columns.names, columns.count, &design->names, error);
    fplt__free(columns.names);
    fplt__free(columns.text);
    return status;
}

/* ---- Making ---- */

/* Where the numbers of the variables come from: rows, or what was kept. */
struct origin {
    const fplt_dataset *dataset;
    const double *fill, *kept;
    size_t count;
};

static fplt_status restore(fplt_design *design, struct origin *origin, fplt__measured *made,
                           fplt_error *error)
{
    int levels = made->kind == FPLT__LEVELS_OF;
    double size = levels && origin->count ? origin->kept[0] : 0;
    size_t count =
        levels ? 1 + (size_t)(size >= 1 && size < 1e6 ? size : 1e6) : 2 * made->degree + 1;
    if (origin->count < count)
        return fplt_error_set(error, FPLT_BAD_DATA, "the numbers of the formula are incomplete");
    fplt_status status = take_numbers(design, count, origin->kept, made, error);
    if (levels) {
        made->levels = count - 1;
        made->number++;
    }
    origin->kept += count;
    origin->count -= count;
    return status;
}

static fplt_status measure(fplt_design *design, struct origin *origin, fplt__measured *made,
                           fplt_error *error)
{
    struct values values = {origin->dataset, origin->fill, made->input};
    if (made->encoded || (made->kind != FPLT__POLY && made->kind != FPLT__LEVELS_OF))
        return FPLT_OK;
    if (!origin->dataset)
        return restore(design, origin, made, error);
    return made->kind == FPLT__POLY ? fit_poly(design, &values, made, error)
                                    : fit_levels(design, &values, made, error);
}

/* Names of the columns that a dot stands for: a category once. */
static size_t list_columns(const fplt__names *inputs, const char **columns, char *text)
{
    size_t count = 0;
    for (size_t j = 0; j < inputs->count; j++) {
        size_t length = strcspn(inputs->item[j], "=");
        memcpy(text, inputs->item[j], length);
        text[length] = 0;
        if (count && strcmp(columns[count - 1], text) == 0)
            continue;
        columns[count++] = text;
        text += length + 1;
    }
    return count;
}

static fplt_status parse(const char *text, const fplt__names *inputs, fplt__formula *formula,
                         fplt_error *error)
{
    const char **columns;
    size_t bytes = 1;
    for (size_t j = 0; j < inputs->count; j++)
        bytes += strlen(inputs->item[j]) + 1;
    fplt_status status =
        fplt__alloc_into(&columns, 1, (inputs->count + 1) * sizeof *columns + bytes, "a formula",
                         error);
    if (status)
        return status;
    size_t count = list_columns(inputs, columns, (char *)(columns + inputs->count + 1));
    status = fplt__formula_parse(text, columns, count, formula, error);
    fplt__free(columns);
    return status;
}

fplt_status fplt__formula_polys(const char *text, const fplt__names *inputs,
                                fplt__poly_column polys[FPLT__VARIABLES_MAX], size_t *count,
                                fplt_error *error)
{
    fplt__formula *formula;
    *count = 0;
    fplt_status status = fplt__alloc_into(&formula, 1, sizeof *formula, "a formula", error);
    if (status)
        return status;
    status = parse(text, inputs, formula, error);
    for (size_t v = 0; v < formula->variables && !status; v++) {
        fplt__measured made = {.kind = formula->variable[v].kind};
        memcpy(made.column, formula->variable[v].column, sizeof made.column);
        memcpy(made.text, formula->variable[v].text, sizeof made.text);
        if (made.kind == FPLT__POLY && !(status = find_inputs(inputs, &made, error)))
            polys[(*count)++] = (fplt__poly_column){made.input, formula->variable[v].degree};
    }
    fplt__free(formula);
    return status;
}

/* The columns as they are, then those of the sites: all names of the design. */
static fplt_status add_sites(fplt_design *design, const fplt__names *sites, fplt_error *error)
{
    const fplt__names *own = design->text ? &design->names : &design->inputs;
    size_t bytes = 1, count = own->count, used = 0;
    fplt__span *spans = NULL;
    char *text = NULL;
    fplt__names all = {0, NULL};
    for (size_t i = 0; i < sites->count; i++)
        bytes += strlen(sites->item[i]) + sizeof "site=";
    fplt_status status = fplt__names_copy(sites, &design->sites, error);
    if (!status)
        status = fplt__alloc_into(&spans, count + sites->count, sizeof *spans, "names", error);
    if (!status)
        status = fplt__alloc_into(&text, bytes, 1, "names", error);
    for (size_t j = 0; !status && j < count; j++)
        spans[j] = (fplt__span){own->item[j], strlen(own->item[j])};
    for (size_t i = 1; !status && i < sites->count; i++) {
        int length = snprintf(text + used, bytes - used, "site=%s", sites->item[i]);
        spans[count++] = (fplt__span){text + used, (size_t)length};
        used += (size_t)length + 1;
    }
    if (!status)
        status = fplt__names_make(spans, count, &all, error);
    fplt__free(spans);
    fplt__free(text);
    if (status)
        return status;
    fplt__names_clear(&design->names);
    design->names = all;
    return FPLT_OK;
}

/* Without a formula the columns are copied. */
static fplt_status make_plain(fplt_design *design, const fplt__names *inputs,
                              const fplt__names *sites, fplt_error *error)
{
    fplt_status status = fplt__names_copy(inputs, &design->inputs, error);
    design->columns = inputs->count;
    if (!status)
        status = fplt__alloc_into(&design->first, 1, sizeof *design->first, "a formula", error);
    return status ? status : add_sites(design, sites, error);
}

static fplt_status make(fplt_design *design, const char *text, const fplt__names *inputs,
                        struct origin *origin, fplt__formula *formula, fplt_error *error)
{
    fplt_status status = parse(text, inputs, formula, error);
    if (!status)
        status = fplt__names_copy(inputs, &design->inputs, error);
    if (!status && !(design->text = fplt__strdup(text)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a formula");
    for (size_t v = 0; v < formula->variables && !status; v++) {
        fplt__measured *made = &design->variable[design->variables++];
        const fplt__variable *variable = &formula->variable[v];
        made->kind = variable->kind;
        made->degree = variable->degree;
        memcpy(made->column, variable->column, sizeof made->column);
        memcpy(made->text, variable->text, sizeof made->text);
        if ((status = find_inputs(&design->inputs, made, error)) ||
            (status = measure(design, origin, made, error)))
            break;
        made->width = width_of(made);
        made->basis = design->room;
        design->room += made->width;
    }
    design->intercept = formula->intercept;
    return status ? status : compile(design, formula, error);
}

static fplt_status create(const char *text, const fplt__names *inputs, struct origin *origin,
                          const fplt__names *sites, fplt_design **out, fplt_error *error)
{
    fplt__formula *formula = NULL;
    fplt_design *design = NULL;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&formula, 1, sizeof *formula, "a formula", error);
    if (!status)
        status = fplt__alloc_into(&design, 1, sizeof *design, "a formula", error);
    if (!status)
        status = text ? make(design, text, inputs, origin, formula, error)
                      : make_plain(design, inputs, sites, error);
    if (!status && text && sites->count)
        status = add_sites(design, sites, error);
    fplt__free(formula);
    if (status) {
        fplt__design_destroy(design);
        return status;
    }
    *out = design;
    return FPLT_OK;
}

fplt_status fplt__design_fit(const char *text, int sites, const fplt_dataset *dataset,
                             const double *fill, fplt_design **design, fplt_error *error)
{
    struct origin origin = {.dataset = dataset, .fill = fill};
    const fplt__names none = {0, NULL};
    *design = NULL;
    if (!dataset->dense)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "formula: the data set is sparse; a formula needs dense rows");
    if (!dataset->feature_names.count)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "formula: the columns have no names; give data with names");
    if (sites && (dataset->agents < 2 || dataset->agent_names.count != dataset->agents))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "site-effects is fixed, but the data have no two sites with names: "
                              "name the column of the sites with --site");
    fplt_status status = text ? fplt__formula_check_schema(text, dataset->schema, error) : FPLT_OK;
    if (status)
        return status;
    return create(text, &dataset->feature_names, &origin, sites ? &dataset->agent_names : &none,
                  design, error);
}

fplt_status fplt__design_restore(const char *text, const fplt__names *inputs, const double *numbers,
                                 size_t count, const fplt__names *sites, fplt_design **design,
                                 fplt_error *error)
{
    struct origin origin = {.kept = numbers, .count = count};
    return create(text, inputs, &origin, sites, design, error);
}

fplt_status fplt__design_copy(const fplt_design *design, fplt_design **copy, fplt_error *error)
{
    return fplt__design_restore(design->text, &design->inputs, design->number, design->numbers,
                                &design->sites, copy, error);
}
