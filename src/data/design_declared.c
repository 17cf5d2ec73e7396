/* Formulas over declared columns: bounds, centres and scales of their columns before any row is read. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/design.h"
#include "data/schema.h"
#include "data/schema_access.h"

struct interval {
    double low, high;
};

/* Products of doubles are rounded monotonically, so that a rounded product of values lies between the rounded products of
 * their bounds. */
static struct interval multiply(struct interval a, struct interval b)
{
    const double corner[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    struct interval product = {corner[0], corner[0]};
    for (size_t i = 1; i < 4; i++) {
        product.low = fmin(product.low, corner[i]);
        product.high = fmax(product.high, corner[i]);
    }
    return product;
}

static struct interval raise_to(struct interval x, unsigned degree)
{
    double low = x.low, high = x.high;
    for (unsigned k = 1; k < degree; k++) {
        low *= x.low;
        high *= x.high;
    }
    if (degree % 2)
        return (struct interval){low, high};
    return (struct interval){x.low < 0 && x.high > 0 ? 0 : fmin(low, high), fmax(low, high)};
}

/* The variable that a place of a row's room belongs to. */
static const fplt__measured *variable_at(const fplt_design *design, size_t place)
{
    size_t v = 0;
    while (place - design->variable[v].basis >= design->variable[v].width)
        v++;
    return &design->variable[v];
}

static struct interval bounds_at(const fplt_design *design, const fplt_schema *schema, size_t place)
{
    const fplt__measured *made = variable_at(design, place);
    unsigned nth = (unsigned)(place - made->basis);
    struct interval x;
    fplt__schema_feature(schema, made->input + (made->encoded ? nth : 0), &x.low, &x.high, NULL,
                         NULL);
    switch (made->kind) {
    case FPLT__RAW_POLY: return raise_to(x, nth + 1);
    case FPLT__POWER: return raise_to(x, made->degree);
    case FPLT__LOG: return (struct interval){log(x.low), log(x.high)};
    case FPLT__SQRT: return (struct interval){sqrt(x.low), sqrt(x.high)};
    default: return x;
    }
}

/* The feature of the schema that a column is, or `features` where it is made of others. */
static size_t plain_feature(const fplt_design *design, size_t column, size_t features)
{
    size_t place = design->factor[design->first[column]];
    const fplt__measured *made = variable_at(design, place);
    if (design->first[column + 1] - design->first[column] != 1 ||
        (made->kind != FPLT__PLAIN_COLUMN && !made->encoded))
        return features;
    return made->input + (place - made->basis);
}

/* Whether a column is 0 or 1 whatever the numbers are. */
static int is_indicator(const fplt_design *design, size_t column)
{
    for (size_t f = design->first[column]; f < design->first[column + 1]; f++)
        if (!variable_at(design, design->factor[f])->encoded)
            return 0;
    return 1;
}

static fplt_status scale_column(const fplt_design *design, const fplt_schema *schema, size_t column,
                                double stretch, double *centre, double *scale, fplt_error *error)
{
    struct interval bounds = {1, 1};
    int is_finite = 1;
    size_t features = fplt__schema_features(schema);
    size_t feature = plain_feature(design, column, features);
    *centre = 0;
    *scale = 1;
    if (feature < features) {
        fplt__schema_scaling(schema, feature, stretch, centre, scale);
        return FPLT_OK;
    }
    if (is_indicator(design, column))
        return FPLT_OK;
    for (size_t f = design->first[column]; f < design->first[column + 1] && is_finite; f++) {
        struct interval factor = bounds_at(design, schema, design->factor[f]);
        bounds = multiply(bounds, factor);
        is_finite = isfinite(factor.low) && isfinite(factor.high) && isfinite(bounds.low) &&
                    isfinite(bounds.high);
    }
    *centre = bounds.low / 2 + bounds.high / 2;
    if (bounds.low < bounds.high)
        *scale = (bounds.high / 2 - bounds.low / 2) / (stretch > 0 ? stretch : 1);
    if (is_finite && *scale > 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "formula: by the declared bounds '%.200s' lies between %g and %g, which "
                          "is out of range; choose a smaller degree, or another unit of the column",
                          design->names.item[column], bounds.low, bounds.high);
}

fplt_status fplt__design_scales(const fplt_design *design, const fplt_schema *schema,
                                double stretch, double *centre, double *scale, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t j = 0; j < design->columns && !status; j++)
        status = scale_column(design, schema, j, stretch, &centre[j], &scale[j], error);
    return status;
}

/* Refuses what is found on rows. */
static fplt_status check_kind(const fplt__variable *variable, const fplt__names *inputs,
                              fplt_error *error)
{
    if (variable->kind == FPLT__POLY)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "formula: %.200s is orthogonal over the rows, so that no declared bound "
            "says what it is; write poly(%.100s, %u, raw = TRUE) or I(%.100s^2), "
            "whose bounds follow from those of the column",
            variable->text, variable->column, variable->degree, variable->column);
    for (size_t j = 0; variable->kind == FPLT__LEVELS_OF && j < inputs->count; j++)
        if (strcmp(inputs->item[j], variable->column) == 0)
            return fplt_error_set(
                error, FPLT_UNSUPPORTED,
                "formula: the levels of %.200s would be read from the rows; declare '%.100s' in "
                "the schema as {type: category, levels: [...]}",
                variable->text, variable->column);
    return FPLT_OK;
}

static fplt_status check_kinds(const char *text, const fplt__names *inputs, fplt_error *error)
{
    fplt__formula *formula;
    fplt_status status = fplt__alloc_into(&formula, 1, sizeof *formula, "a formula", error);
    if (status)
        return status;
    status = fplt__formula_parse(text, NULL, 0, formula, error);
    for (size_t v = 0; v < formula->variables && !status; v++)
        status = check_kind(&formula->variable[v], inputs, error);
    fplt__free(formula);
    return status;
}

/* No value within the bounds may be without a logarithm or a root. */
static fplt_status check_domains(const fplt_design *design, const fplt_schema *schema,
                                 fplt_error *error)
{
    for (size_t v = 0; v < design->variables; v++) {
        const fplt__measured *made = &design->variable[v];
        double low, high;
        fplt__schema_feature(schema, made->input, &low, &high, NULL, NULL);
        if ((made->kind == FPLT__LOG && low > 0) || (made->kind == FPLT__SQRT && low >= 0) ||
            (made->kind != FPLT__LOG && made->kind != FPLT__SQRT))
            continue;
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "formula: %.200s needs values %s 0, but the declared bounds of "
                              "'%.100s' are %g..%g; declare bounds that begin higher",
                              made->text, made->kind == FPLT__LOG ? "above" : "of at least",
                              made->column, low, high);
    }
    return FPLT_OK;
}

/* Nothing within the bounds may become infinite. */
static fplt_status check_ranges(const fplt_design *design, const fplt_schema *schema,
                                fplt_error *error)
{
    double centre, scale;
    fplt_status status = FPLT_OK;
    for (size_t j = 0; j < design->columns && !status; j++)
        status = scale_column(design, schema, j, 0, &centre, &scale, error);
    return status;
}

fplt_status fplt__design_declare(const char *text, const fplt_schema *schema, fplt_design **design,
                                 fplt_error *error)
{
    const fplt__names no_sites = {0, NULL};
    fplt__names inputs;
    *design = NULL;
    fplt_status status = fplt__schema_feature_names(schema, &inputs, error);
    if (!status && !inputs.count)
        status = fplt_error_set(error, FPLT_UNSUPPORTED,
                                "formula: columns of LIBSVM files have no names; give CSV files");
    if (!status)
        status = fplt__formula_check_schema(text, schema, error);
    if (!status)
        status = check_kinds(text, &inputs, error);
    if (!status)
        status = fplt__design_restore(text, &inputs, NULL, 0, &no_sites, design, error);
    if (!status && ((status = check_domains(*design, schema, error)) ||
                    (status = check_ranges(*design, schema, error)))) {
        fplt__design_destroy(*design);
        *design = NULL;
    }
    fplt__names_clear(&inputs);
    return status;
}
