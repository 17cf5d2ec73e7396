/* What missing values become, from sums and counts over the values that all agents have: nothing here
 * needs two agents' values beside each other. */
#include "data/fill.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sorting.h"
#include "fedplt/sum.h"

/* The values of one feature that are there. A sparse one has `zeros` more. */
struct values {
    double *value;
    size_t count, zeros;
};

/* All features, one after the other; of a dense data set only the one that is looked at. */
struct columns {
    const fplt_dataset *dataset;
    double *value;  /* owned */
    size_t *first;  /* owned, CSR: values of feature j begin here */
    size_t *absent; /* owned, CSR: missing values of a feature */
};

static void columns_clear(struct columns *columns)
{
    fplt__free(columns->value);
    fplt__free(columns->first);
    fplt__free(columns->absent);
}

/* Sorts the entries of a sparse data set by their feature. */
static fplt_status sort_entries(struct columns *columns, fplt_error *error)
{
    const fplt_dataset *dataset = columns->dataset;
    size_t entries = dataset->start[dataset->rows], *next;
    fplt_status status =
        fplt__alloc_into(&columns->first, dataset->features + 2, sizeof *next, "columns", error);
    if (!status)
        status =
            fplt__alloc_into(&columns->absent, dataset->features, sizeof *next, "columns", error);
    if (status)
        return status;
    next = columns->first + 1;
    for (size_t k = 0; k < entries; k++) {
        next[dataset->column[k] + 1] += !isnan(dataset->value[k]);
        columns->absent[dataset->column[k]] += isnan(dataset->value[k]) != 0;
    }
    for (size_t j = 0; j < dataset->features; j++)
        next[j + 1] += next[j];
    for (size_t k = 0; k < entries; k++)
        if (!isnan(dataset->value[k]))
            columns->value[next[dataset->column[k]]++] = dataset->value[k];
    return FPLT_OK;
}

static fplt_status columns_init(const fplt_dataset *dataset, struct columns *columns,
                                fplt_error *error)
{
    *columns = (struct columns){.dataset = dataset};
    size_t room = dataset->dense ? dataset->rows : dataset->start[dataset->rows];
    fplt_status status =
        fplt__alloc_into(&columns->value, room, sizeof *columns->value, "a column", error);
    return status || dataset->dense ? status : sort_entries(columns, error);
}

static struct values column_at(struct columns *columns, size_t feature)
{
    const fplt_dataset *dataset = columns->dataset;
    if (!dataset->dense) {
        size_t first = columns->first[feature], count = columns->first[feature + 1] - first;
        return (struct values){columns->value + first, count,
                               dataset->rows - count - columns->absent[feature]};
    }
    struct values values = {columns->value, 0, 0};
    for (size_t r = 0; r < dataset->rows; r++) {
        double value = dataset->dense[r * dataset->features + feature];
        if (!isnan(value))
            values.value[values.count++] = value;
    }
    return values;
}

/* An exact sum of the values over a power of two that none of them reaches. */
static fplt_status mean_of(const struct values *values, double *mean, fplt_error *error)
{
    double largest = 0, total = 0;
    fplt_sum *sum;
    for (size_t i = 0; i < values->count; i++)
        largest = fmax(largest, fabs(values->value[i]));
    int power = largest > 0 ? ilogb(largest) + 1 : 0;
    fplt_status status = fplt_sum_create(1, FPLT_SUM_EXPONENT - 32, &sum, error);
    for (size_t i = 0; !status && i < values->count; i++) {
        double scaled = ldexp(values->value[i], -power);
        status = fplt_sum_add(sum, 0, &scaled, 1);
    }
    if (!status)
        fplt_sum_read(sum, 0, &total, 1);
    else
        fplt_error_set(error, status, "the mean of a column cannot be summed");
    fplt_sum_destroy(sum);
    *mean = ldexp(total / (double)(values->count + values->zeros), power);
    return status;
}

/* Whole numbers in the order of the doubles. */
static uint64_t key_of(double value)
{
    uint64_t bits;
    value += 0.0; /* -0 is 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double value_of(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Brings the values up to `key` to the front; how many there are, without zeros that are not held. */
static size_t split_at(const struct values *values, uint64_t key)
{
    size_t front = 0;
    for (size_t i = 0; i < values->count; i++) {
        double value = values->value[i];
        if (key_of(value) > key)
            continue;
        values->value[i] = values->value[front];
        values->value[front++] = value;
    }
    return front;
}

/* The smallest double with more than `rank` values up to it: bisection over all doubles, each step a
 * count that agents could add up. Values that are out of the question are not looked at again. */
static double ranked(struct values values, size_t rank)
{
    uint64_t low = key_of(-HUGE_VAL), high = key_of(HUGE_VAL);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        size_t front = split_at(&values, middle), zeros = key_of(0) <= middle ? values.zeros : 0;
        if (front + zeros > rank) {
            high = middle;
            values = (struct values){values.value, front, zeros};
        } else {
            low = middle + 1;
            rank -= front + zeros;
            values =
                (struct values){values.value + front, values.count - front, values.zeros - zeros};
        }
    }
    return value_of(low);
}

/* Of an even number of values the middle of the two in the middle. */
static fplt_status median_of(const struct values *values, double *median, fplt_error *error)
{
    (void)error;
    size_t count = values->count + values->zeros;
    double low = ranked(*values, (count - 1) / 2);
    double high = count % 2 ? low : ranked(*values, count / 2);
    *median = low + (high - low) / 2;
    if (!isfinite(high - low))
        *median = low / 2 + high / 2;
    return FPLT_OK;
}

/* The smallest of those that are there most often. */
static fplt_status mode_of(const struct values *values, double *mode, fplt_error *error)
{
    size_t most = 0, zeros = values->zeros;
    (void)error;
    fplt__sort(values->value, values->count);
    for (size_t i = 0; i < values->count; i++)
        zeros += values->value[i] == 0;
    for (size_t i = 0, end; i < values->count; i = end) {
        for (end = i; end < values->count && values->value[end] == values->value[i];)
            end++;
        size_t count = values->value[i] == 0 ? zeros : end - i;
        if (count > most || (count == most && values->value[i] < *mode)) {
            most = count;
            *mode = values->value[i] + 0.0;
        }
    }
    if (zeros > most || (zeros == most && zeros && *mode > 0))
        *mode = 0;
    return FPLT_OK;
}

/* Levels */

/* The features of one category from `first` on: 1 for its most frequent level, of several the first.
 * A level without a feature comes before all of them. */
static void fill_levels(struct columns *columns, size_t first, double *fill)
{
    const fplt_dataset *dataset = columns->dataset;
    size_t best = dataset->features, most = 0, others = SIZE_MAX;
    for (size_t j = first; j < dataset->features; j++) {
        if (dataset->group[j] != dataset->group[first])
            continue;
        struct values values = column_at(columns, j);
        size_t ones = 0;
        for (size_t i = 0; i < values.count; i++)
            ones += values.value[i] == 1;
        others = others == SIZE_MAX ? values.count + values.zeros : others;
        others -= ones;
        fill[j] = 0;
        if (ones > most) {
            most = ones;
            best = j;
        }
    }
    if (best < dataset->features && others < most)
        fill[best] = 1;
}

/* Whether a feature is a level, which is then filled with its category's first feature. */
static int is_level(struct columns *columns, size_t feature, double *fill)
{
    const uint32_t *group = columns->dataset->group;
    if (!group || !group[feature])
        return 0;
    for (size_t j = 0; j < feature; j++)
        if (group[j] == group[feature])
            return 1;
    fill_levels(columns, feature, fill);
    return 1;
}

typedef fplt_status fit_one(const struct values *values, double *fill, fplt_error *error);

static const struct method {
    const char *name;
    fit_one *fit; /* NULL: the constant */
} methods[] = {
    {"mean", mean_of}, {"median", median_of}, {"most-frequent", mode_of}, {"constant", NULL}};

static fplt_status fit_feature(struct columns *columns, size_t feature, fit_one *fit, double *fill,
                               fplt_error *error)
{
    char number[24];
    const char *name = fplt_dataset_feature_name(columns->dataset, feature);
    struct values values = column_at(columns, feature);
    snprintf(number, sizeof number, "%zu", feature + 1);
    if (values.count + values.zeros == 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "column '%.80s' has no value at all: ignore it, or fill with a "
                              "constant",
                              name ? name : number);
    return fit(&values, fill, error);
}

fplt_status fplt__fill_fit(const fplt_dataset *dataset, const fplt_transform_settings *settings,
                           double *fill, fplt_error *error)
{
    const struct method *method = NULL;
    struct columns columns;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(settings->fill, methods[i].name) == 0)
            method = &methods[i];
    if (!method || !isfinite(settings->fill_value))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "missing values are filled with '%.80s', but it must be one of mean, "
                              "median, most-frequent, constant with a finite number",
                              settings->fill);
    fplt_status status = columns_init(dataset, &columns, error);
    for (size_t j = 0; !status && j < dataset->features; j++) {
        if (!method->fit)
            fill[j] = dataset->group && dataset->group[j] ? 0 : settings->fill_value;
        else if (!is_level(&columns, j, fill))
            status = fit_feature(&columns, j, method->fit, &fill[j], error);
    }
    columns_clear(&columns);
    return status;
}
