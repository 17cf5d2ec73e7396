/* Standardising columns and bounding rows. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/constant.h"
#include "data/dataset.h"
#include "data/fill.h"
#include "data/formula.h"
#include "data/schema.h"
#include "data/norm.h"
#include "data/schema_access.h"

fplt_transform_settings fplt_transform_defaults(void)
{
    return (fplt_transform_settings){.standardise = "no"};
}

void fplt_transform_clear(fplt_transform *transform)
{
    fplt__free(transform->mean);
    fplt__free(transform->scale);
    fplt__free(transform->fill);
    fplt__design_destroy(transform->design);
    *transform = (fplt_transform){0};
}

/* What a column is made of. A CSR column has rows - seen zeros besides. */
struct column {
    long double sum, squares;
    double low, high;
    size_t seen;
};

static void add_value(struct column *column, double value)
{
    if (!column->seen || value < column->low)
        column->low = value;
    if (!column->seen || value > column->high)
        column->high = value;
    column->seen++;
    column->sum += value;
}

static void see_zeros(struct column *column, size_t rows)
{
    if (column->seen == rows)
        return;
    column->low = column->low < 0 ? column->low : 0;
    column->high = column->high > 0 ? column->high : 0;
}

static void gather_value(struct column *column, double value, const double *mean)
{
    if (!mean) {
        add_value(column, value);
        return;
    }
    long double away = (long double)value - *mean;
    column->squares += away * away;
}

/* Pass 0 gathers sums and ends, pass 1 the squares about the mean. */
static void gather(const fplt_dataset *dataset, const double *fill, struct column *columns,
                   const double *mean, int squares)
{
    for (size_t r = 0; r < dataset->rows; r++) {
        size_t count = fplt__row_entries(dataset, r);
        const double *value = fplt__row_values(dataset, r);
        for (size_t k = 0; k < count; k++) {
            size_t j = dataset->dense ? k : dataset->column[dataset->start[r] + k];
            double held = fill && isnan(value[k]) ? fill[j] : value[k];
            gather_value(&columns[j], held, squares ? &mean[j] : NULL);
        }
    }
}

/* One pass over all parts. Behind the columns stands one whose `seen` are the rows. */
static void gather_all(const fplt_dataset *dataset, const double *fill, const fplt__relay *relay,
                       struct column *columns, const double *mean, int squares)
{
    size_t bytes = (dataset->features + 1) * sizeof *columns;
    if (relay)
        relay->take(relay->context, columns, bytes);
    gather(dataset, fill, columns, mean, squares);
    columns[dataset->features].seen += squares ? 0 : dataset->rows;
    if (relay)
        relay->pass(relay->context, columns, bytes);
}

static fplt_status measure(const fplt_dataset *dataset, const double *fill,
                           const fplt__relay *relay, double ridge, double *mean, double *scale,
                           fplt_error *error)
{
    struct column *columns;
    fplt_status status =
        fplt__alloc_into(&columns, dataset->features + 1, sizeof *columns, "columns", error);
    if (relay)
        status = relay->ready(relay->context, status, error);
    if (status) {
        fplt__free(columns);
        return status;
    }
    gather_all(dataset, fill, relay, columns, NULL, 0);
    size_t all = columns[dataset->features].seen;
    long double rows = (long double)all;
    for (size_t j = 0; j < dataset->features; j++) {
        see_zeros(&columns[j], all);
        mean[j] = (double)(columns[j].sum / rows);
    }
    gather_all(dataset, fill, relay, columns, mean, 1);
    for (size_t j = 0; j < dataset->features && !status; j++) {
        long double zeros = (long double)(all - columns[j].seen);
        long double squares = columns[j].squares + zeros * mean[j] * mean[j];
        int is_constant = fplt__is_constant(columns[j].low, columns[j].high);
        scale[j] = is_constant ? 1 : (double)sqrtl(squares / rows + ridge);
        if (is_constant)
            mean[j] = columns[j].low;
        if (!(scale[j] >= DBL_MIN && isfinite(scale[j])))
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "feature %zu has deviation %g: it cannot be standardised", j,
                                    scale[j]);
    }
    fplt__free(columns);
    return status;
}

static const char *word_of(const fplt_dataset *dataset, const fplt_transform_settings *settings)
{
    const char *word = settings->standardise ? settings->standardise : "no";
    if (strcmp(word, "auto") == 0)
        return dataset->dense ? "yes" : "scale";
    return word;
}

static fplt_status check_settings(const fplt_dataset *dataset,
                                  const fplt_transform_settings *settings, fplt_error *error)
{
    const char *word = word_of(dataset, settings);
    if (strcmp(word, "no") != 0 && strcmp(word, "yes") != 0 && strcmp(word, "scale") != 0 &&
        strcmp(word, "schema") != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "standardise is '%.80s', but it must be one of no, yes, scale, "
                              "schema",
                              word);
    if (strcmp(word, "schema") == 0 && !dataset->schema)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "standardise is schema, but the data were read without one; give "
                              "schema");
    if (strcmp(word, "yes") == 0 && !dataset->dense)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "standardise yes would fill the zeros of a sparse data set; use "
                              "standardise scale, which does not subtract the mean");
    if (!(settings->radius >= 0 && isfinite(settings->radius)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "radius is %g, but it must be at least 0",
                              settings->radius);
    if (settings->site_effects && (strcmp(word, "schema") == 0 || settings->radius > 0))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "effects of sites do not go with standardise schema or a radius: "
                              "their columns have no declared centres and scales");
    if (!(settings->ridge >= 0 && isfinite(settings->ridge)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "ridge is %g, but it must be at least 0",
                              settings->ridge);
    return FPLT_OK;
}

static fplt_status make_room(fplt_transform *transform, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(&transform->mean, transform->features,
                                          sizeof *transform->mean, "means", error);
    return status ? status
                  : fplt__alloc_into(&transform->scale, transform->features,
                                     sizeof *transform->scale, "deviations", error);
}

fplt_status fplt__transform_declared(const fplt_schema *schema, const fplt_design *design,
                                     double radius, double stretch, fplt_transform *transform,
                                     fplt_error *error)
{
    int centred = 0;
    *transform = (fplt_transform){.features = design ? fplt__design_names(design)->count
                                                     : fplt__schema_features(schema),
                                  .radius = radius};
    fplt_status status = make_room(transform, error);
    if (!status && design)
        status =
            fplt__design_scales(design, schema, stretch, transform->mean, transform->scale, error);
    for (size_t j = 0; !status && j < transform->features; j++) {
        if (!design)
            fplt__schema_scaling(schema, j, stretch, &transform->mean[j], &transform->scale[j]);
        centred |= transform->mean[j] != 0;
    }
    if (!status && !centred) {
        fplt__free(transform->mean);
        transform->mean = NULL;
    }
    return status;
}

/* Centres are subtracted where there are any; a sparse data set cannot have that. */
static fplt_status take_declared(const fplt_dataset *dataset, double stretch,
                                 fplt_transform *transform, fplt_error *error)
{
    fplt_status status = fplt__transform_declared(dataset->schema, NULL, transform->radius, stretch,
                                                  transform, error);
    size_t centred = 0;
    if (status || dataset->dense || !transform->mean)
        return status;
    while (transform->mean[centred] == 0)
        centred++;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "standardise schema would fill the zeros of a sparse data set: "
                          "declare centre: 0 for '%.80s'",
                          fplt__schema_feature(dataset->schema, centred, NULL, NULL, NULL, NULL));
}

static fplt_status take_measured(const fplt_dataset *dataset, int centred, double ridge,
                                 const fplt__relay *relay, fplt_transform *transform,
                                 fplt_error *error)
{
    fplt_status status = make_room(transform, error);
    if (!status)
        status = measure(dataset, transform->fill, relay, ridge, transform->mean, transform->scale,
                         error);
    if (!status && !centred) {
        fplt__free(transform->mean);
        transform->mean = NULL;
    }
    return status;
}

static fplt_status fit_fill(const fplt_dataset *dataset, const fplt_transform_settings *settings,
                            fplt_transform *transform, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(&transform->fill, dataset->features,
                                          sizeof *transform->fill, "missing values", error);
    if (!status)
        status = fplt__fill_fit(dataset, settings, transform->fill, error);
    if (status)
        fplt_transform_clear(transform);
    return status;
}

/* By the bounds of the schema, without a look at the rows. */
static fplt_status declare_formula(const fplt_dataset *dataset,
                                   const fplt_transform_settings *settings,
                                   fplt_transform *transform, fplt_error *error)
{
    fplt_design *design;
    fplt_transform found = {0};
    fplt_status status = fplt__design_declare(settings->formula, dataset->schema, &design, error);
    if (!status)
        status = fplt__transform_declared(dataset->schema, design, settings->radius,
                                          settings->stretch, &found, error);
    if (status) {
        fplt__design_destroy(design);
        fplt_transform_clear(&found);
        fplt_transform_clear(transform);
        return status;
    }
    transform->inputs = dataset->features;
    transform->design = design;
    transform->mean = found.mean;
    transform->scale = found.scale;
    transform->features = found.features;
    return FPLT_OK;
}

/* The columns of the formula are made once, to find their means and deviations. */
static fplt_status fit_formula(const fplt_dataset *dataset, const fplt_transform_settings *settings,
                               fplt_transform *transform, fplt_error *error)
{
    fplt_transform_settings rest = *settings;
    fplt_transform found = {0};
    fplt_dataset *made = NULL;
    rest.fill = rest.formula = NULL;
    rest.site_effects = 0;
    transform->inputs = dataset->features;
    fplt_status status = fplt__design_fit(settings->formula, settings->site_effects, dataset,
                                          transform->fill, &transform->design, error);
    if (!status)
        status = fplt__dataset_lend(dataset, &made, error);
    if (!status)
        status = fplt__design_apply(transform->design, transform->fill, made, error);
    if (!status)
        status = fplt__transform_fit(made, &rest, NULL, &found, error);
    fplt_dataset_destroy(made);
    if (status) {
        fplt_transform_clear(transform);
        return status;
    }
    transform->mean = found.mean;
    transform->scale = found.scale;
    transform->features = found.features;
    return FPLT_OK;
}

fplt_status fplt_transform_fit(const fplt_dataset *dataset, const fplt_transform_settings *settings,
                               fplt_transform *transform, fplt_error *error)
{
    return fplt__transform_fit(dataset, settings, NULL, transform, error);
}

fplt_status fplt__transform_fit(const fplt_dataset *dataset,
                                const fplt_transform_settings *settings, const fplt__relay *relay,
                                fplt_transform *transform, fplt_error *error)
{
    const char *word = word_of(dataset, settings);
    *transform = (fplt_transform){0};
    fplt_status status = check_settings(dataset, settings, error);
    if (status)
        return status;
    transform->features = dataset->features;
    transform->radius = settings->radius;
    if (settings->fill && (status = fit_fill(dataset, settings, transform, error)))
        return status;
    if (settings->formula && strcmp(word, "schema") == 0)
        return declare_formula(dataset, settings, transform, error);
    if (settings->formula || settings->site_effects)
        return fit_formula(dataset, settings, transform, error);
    if (strcmp(word, "no") == 0)
        return FPLT_OK;
    status = strcmp(word, "schema") == 0
                 ? take_declared(dataset, settings->stretch, transform, error)
                 : take_measured(dataset, strcmp(word, "scale") != 0, settings->ridge, relay,
                                 transform, error);
    if (status)
        fplt_transform_clear(transform);
    return status;
}

/* Outside the range where squares are safe, by way of a power of two, which rounds nothing. */
double fplt__norm(const double *value, size_t count)
{
    double squares = 0, largest = 0;
    for (size_t k = 0; k < count; k++)
        squares += value[k] * value[k];
    if (squares > 0x1p-900 && squares < 0x1p1000)
        return sqrt(squares);
    for (size_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(value[k]));
    if (largest == 0)
        return 0;
    int power = ilogb(largest);
    squares = 0;
    for (size_t k = 0; k < count; k++) {
        double scaled = ldexp(value[k], -power);
        squares += scaled * scaled;
    }
    return ldexp(sqrt(squares), power);
}

/* ||factor value|| <= radius as computed; both sides are brought near 1 by a power of two, which is
 * exact, so that nothing overflows. */
static int fits(const double *value, size_t count, double factor, double radius)
{
    int power = -ilogb(radius);
    double squares = 0;
    for (size_t k = 0; k < count; k++) {
        double scaled = ldexp(value[k] * factor, power);
        squares += scaled * scaled;
    }
    return sqrt(squares) <= ldexp(radius, power);
}

/* Rounding may leave the shortened row a little above the radius: the factor then goes down. The
 * division by the largest entry comes first, so that a norm above every double does no harm. */
static void shorten(double *value, size_t count, double radius)
{
    double largest = 0;
    if (!(fplt__norm(value, count) > radius))
        return;
    for (size_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(value[k]));
    for (size_t k = 0; k < count; k++)
        value[k] /= largest;
    double factor = radius / fplt__norm(value, count);
    while (!fits(value, count, factor, radius))
        factor = nextafter(factor, 0);
    for (size_t k = 0; k < count; k++)
        value[k] *= factor;
}

static int has_missing(const fplt_dataset *dataset, size_t row)
{
    const double *value = fplt__row_values(dataset, row);
    for (size_t k = 0; k < fplt__row_entries(dataset, row); k++)
        if (isnan(value[k]))
            return 1;
    return 0;
}

static int changes_row(const fplt_transform *transform, const fplt_dataset *dataset, size_t row)
{
    if (transform->fill && !transform->design && has_missing(dataset, row))
        return 1;
    if (transform->scale || !(transform->radius > 0))
        return transform->scale != NULL;
    return fplt__norm(fplt__row_values(dataset, row), fplt__row_entries(dataset, row)) >
           transform->radius;
}

static fplt_status transform_row(const fplt_transform *transform, fplt_dataset *dataset, size_t row,
                                 fplt_error *error)
{
    size_t count = fplt__row_entries(dataset, row);
    double *value = fplt__row_values(dataset, row);
    for (size_t k = 0; k < count && transform->fill && !transform->design; k++)
        if (isnan(value[k]))
            value[k] =
                transform->fill[dataset->dense ? k : dataset->column[dataset->start[row] + k]];
    for (size_t k = 0; k < count && transform->scale; k++) {
        size_t j = dataset->dense ? k : dataset->column[dataset->start[row] + k];
        value[k] = (value[k] - (transform->mean ? transform->mean[j] : 0)) / transform->scale[j];
        if (!isfinite(value[k]))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "row %zu, feature %zu is not a finite number once standardised",
                                  row, j);
    }
    if (transform->radius > 0)
        shorten(value, count, transform->radius);
    return FPLT_OK;
}

static fplt_status check_transform(const fplt_transform *transform, const fplt_dataset *dataset,
                                   fplt_error *error)
{
    size_t inputs = fplt__transform_inputs(transform);
    if (inputs != dataset->features)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the transform is for %zu features, but the data set has %zu", inputs,
                              dataset->features);
    for (size_t j = 0; transform->fill && j < inputs; j++)
        if (!isfinite(transform->fill[j]))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "the transform fills feature %zu with %g, not a finite number", j,
                                  transform->fill[j]);
    if (transform->mean && !dataset->dense)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the transform subtracts means, which would fill the zeros of a "
                              "sparse data set");
    for (size_t j = 0; j < transform->features; j++)
        if ((transform->mean && !isfinite(transform->mean[j])) ||
            (transform->scale && !(transform->scale[j] > 0 && isfinite(transform->scale[j]))))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "the transform of feature %zu is not finite, or divides by 0", j);
    if (!(transform->radius >= 0 && isfinite(transform->radius)) ||
        (transform->mean && !transform->scale))
        return fplt_error_set(error, FPLT_BAD_VALUE, "the transform is not a legal one");
    return FPLT_OK;
}

fplt_status fplt_transform_apply(const fplt_transform *transform, fplt_dataset *dataset,
                                 fplt_error *error)
{
    fplt_status status = check_transform(transform, dataset, error);
    if (!status && transform->fill && !dataset->filled)
        status = fplt__dataset_count_missing(dataset, error);
    if (!status && transform->design)
        status = fplt__design_apply(transform->design, transform->fill, dataset, error);
    for (size_t r = 0; r < dataset->rows && !status; r++)
        if (changes_row(transform, dataset, r) &&
            !(status = fplt__dataset_own_values(dataset, error)))
            status = transform_row(transform, dataset, r, error);
    return status;
}
