/* What missing values become, from sums and counts over the values that all agents have: nothing here
 * needs two agents' values beside each other. */
#include "data/fill.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/sorting.h"

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

int fplt__fill_power(double largest)
{
    int power = 0;
    if (!(largest > 0 && isfinite(largest)))
        return 0;
    return frexp(largest, &power) == 0.5 ? power - 1 : power;
}

double fplt__fill_mean(double sum, double count, int power)
{
    return ldexp(sum / count, power);
}

/* An exact sum of the values over a power of two that none of them exceeds. */
static fplt_status mean_of(const struct values *values, double *mean, fplt_error *error)
{
    double largest = 0, total = 0;
    fplt__sum *sum;
    for (size_t i = 0; i < values->count; i++)
        largest = fmax(largest, fabs(values->value[i]));
    int power = fplt__fill_power(largest);
    fplt_status status = fplt__sum_create(1, FPLT__FILL_EXPONENT, &sum, error);
    for (size_t i = 0; !status && i < values->count; i++) {
        double scaled = ldexp(values->value[i], -power);
        status = fplt__sum_add(sum, 0, &scaled, 1);
    }
    if (!status)
        fplt__sum_read(sum, 0, &total, 1);
    else
        fplt_error_set(error, status, "the mean of a column cannot be summed");
    fplt__sum_destroy(sum);
    *mean = fplt__fill_mean(total, (double)(values->count + values->zeros), power);
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

void fplt__fill_settle_levels(const uint32_t *group, size_t features, size_t first, double present,
                              double *fill)
{
    FPLT__ASSERT(first < features && group[first]);
    double most = 0, others = present;
    size_t best = features;
    for (size_t j = first; j < features; j++) {
        if (group[j] != group[first])
            continue;
        others -= fill[j];
        if (fill[j] > most) {
            most = fill[j];
            best = j;
        }
        fill[j] = 0;
    }
    if (best < features && others < most)
        fill[best] = 1;
}

/* The features of one category from `first` on. */
static void fill_levels(struct columns *columns, size_t first, double *fill)
{
    const fplt_dataset *dataset = columns->dataset;
    double present = 0;
    for (size_t j = first; j < dataset->features; j++) {
        if (dataset->group[j] != dataset->group[first])
            continue;
        struct values values = column_at(columns, j);
        present = j == first ? (double)(values.count + values.zeros) : present;
        fill[j] = 0;
        for (size_t i = 0; i < values.count; i++)
            fill[j] += values.value[i] == 1;
    }
    fplt__fill_settle_levels(dataset->group, dataset->features, first, present, fill);
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

/* The method of the settings; NULL with an error where there is no such method. */
static const struct method *find_method(const fplt_transform_settings *settings, fplt_error *error)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(settings->fill, methods[i].name) == 0 && isfinite(settings->fill_value))
            return &methods[i];
    fplt_error_set(error, FPLT_BAD_VALUE,
                   "missing values are filled with '%.80s', but it must be one of mean, "
                   "median, most-frequent, constant with a finite number",
                   settings->fill);
    return NULL;
}

/* Grids */

/* One cell for each whole number between the bounds. */
static fplt_status count_whole_numbers(const char *name, fplt__bins *grid, fplt_error *error)
{
    double cells = grid->high - grid->low + 1;
    if (grid->low != floor(grid->low) || grid->high != floor(grid->high) ||
        cells > FPLT__FILL_MAX_CELLS)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "missing-bounds: those of column '%.80s' are %g..%g, but with missing "
            "most-frequent they must be whole numbers, at most %d of them",
            name, grid->low, grid->high, FPLT__FILL_MAX_CELLS);
    *grid = (fplt__bins){grid->low - 0.5, grid->high + 0.5, (uint32_t)cells};
    return FPLT_OK;
}

fplt_status fplt__fill_grid(const fplt_transform_settings *settings, const char *name,
                            fplt__bins *grid, fplt_error *error)
{
    const struct method *method = find_method(settings, error);
    *grid = (fplt__bins){0, 0, 0};
    if (!method)
        return FPLT_BAD_VALUE;
    if (!name || (method->fit != median_of && method->fit != mode_of))
        return FPLT_OK;
    fplt_status status = fplt__bins_find(settings->fill_bounds, name, grid, error);
    if (status || !grid->cells)
        return status;
    if (method->fit == mode_of)
        return count_whole_numbers(name, grid, error);
    grid->cells = settings->fill_cells ? settings->fill_cells : FPLT__FILL_CELLS;
    return FPLT_OK;
}

double fplt__fill_on_grid(const fplt_transform_settings *settings, const fplt__bins *grid,
                          const double *spread)
{
    const struct method *method = find_method(settings, NULL);
    uint32_t best = 0;
    FPLT__ASSERT(method && grid->cells);
    if (method->fit == median_of)
        return fplt__bins_quantile(grid, spread, 0.5);
    for (uint32_t i = 1; i < grid->cells; i++)
        if (spread[i] > spread[best])
            best = i;
    return grid->low + 0.5 + best;
}

/* Counts of the cells, added to `spread`: where each must have `minimum` values, cells are merged for a median, and those
 * with fewer count as empty for the most frequent value. */
static fplt_status spread_values(const struct values *values,
                                 const fplt_transform_settings *settings, const fplt__bins *grid,
                                 size_t minimum, double *spread, fplt_error *error)
{
    const struct method *method = find_method(settings, error);
    fplt__summary summary = {.grid = *grid};
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < values->count + values->zeros; i++)
        status =
            fplt__summary_see_number(&summary, i < values->count ? values->value[i] : 0, error);
    if (!status && method->fit == median_of)
        fplt__summary_spread(&summary, minimum, spread, NULL);
    for (uint32_t i = 0; !status && method->fit == mode_of && summary.bin && i < grid->cells; i++)
        spread[i] += summary.bin[i] < minimum ? 0 : (double)summary.bin[i];
    fplt__summary_clear(&summary);
    return status;
}

static fplt_status fit_on_grid(const struct values *values, const fplt_transform_settings *settings,
                               const fplt__bins *grid, double *fill, fplt_error *error)
{
    double *spread;
    fplt_status status = fplt__alloc_into(&spread, grid->cells, sizeof *spread, "a grid", error);
    if (!status)
        status = spread_values(values, settings, grid, 0, spread, error);
    if (!status)
        *fill = fplt__fill_on_grid(settings, grid, spread);
    fplt__free(spread);
    return status;
}

/* Sums over the rows of a site */

fplt_status fplt__fill_sums(const fplt_dataset *dataset, const double *unit, uint64_t *words,
                            fplt_error *error)
{
    size_t features = dataset->features;
    double *count;
    fplt__sum *sum = NULL;
    fplt_status status = fplt__alloc_into(&count, features, sizeof *count, "counts", error);
    if (!status)
        status = fplt__sum_create(2 * features, FPLT__FILL_EXPONENT, &sum, error);
    for (size_t j = 0; !status && j < features; j++)
        count[j] = (double)dataset->rows;
    for (size_t r = 0; r < dataset->rows && !status; r++) {
        const double *value = fplt__row_values(dataset, r);
        for (size_t k = 0; k < fplt__row_entries(dataset, r) && !status; k++) {
            size_t j = dataset->dense ? k : dataset->column[dataset->start[r] + k];
            double scaled = unit[j] > 0 ? value[k] / unit[j] : 0;
            if (isnan(value[k]))
                count[j]--;
            else
                status = fplt__sum_add(sum, j, &scaled, 1);
        }
    }
    if (!status)
        status = fplt__sum_add(sum, features, count, features);
    if (status == FPLT_DIVERGED)
        fplt_error_set(error, status, "a column's values are too large to be added up");
    if (!status)
        fplt__sum_export(sum, 0, words, 2 * features);
    fplt__sum_destroy(sum);
    fplt__free(count);
    return status;
}

static fplt_status export_cells(const double *spread, size_t cells, uint64_t *words,
                                fplt_error *error)
{
    fplt__sum *sum;
    fplt_status status = fplt__sum_create(cells, FPLT_SUM_EXPONENT, &sum, error);
    if (status)
        return status;
    if ((status = fplt__sum_add(sum, 0, spread, cells)))
        fplt_error_set(error, status, "the counts of a column are out of range");
    fplt__sum_export(sum, 0, words, cells);
    fplt__sum_destroy(sum);
    return status;
}

fplt_status fplt__fill_cells(const fplt_dataset *dataset, const fplt_transform_settings *settings,
                             const fplt__bins *grid, size_t minimum, uint64_t *words,
                             fplt_error *error)
{
    struct columns columns;
    size_t cells = 0, at = 0;
    double *spread = NULL;
    for (size_t j = 0; j < dataset->features; j++)
        cells += grid[j].cells;
    fplt_status status = columns_init(dataset, &columns, error);
    if (!status)
        status = fplt__alloc_into(&spread, cells, sizeof *spread, "cells", error);
    for (size_t j = 0; j < dataset->features && !status; at += grid[j++].cells) {
        struct values values = column_at(&columns, j);
        if (grid[j].cells)
            status = spread_values(&values, settings, &grid[j], minimum, spread + at, error);
    }
    if (!status)
        status = export_cells(spread, cells, words, error);
    fplt__free(spread);
    columns_clear(&columns);
    return status;
}

/* Fitting */

static fplt_status fit_feature(struct columns *columns, size_t feature,
                               const fplt_transform_settings *settings, fit_one *fit, double *fill,
                               fplt_error *error)
{
    char number[24];
    const char *name = fplt_dataset_feature_name(columns->dataset, feature);
    struct values values = column_at(columns, feature);
    fplt__bins grid;
    snprintf(number, sizeof number, "%zu", feature + 1);
    if (values.count + values.zeros == 0)
        return fplt_error_set(error, FPLT_BAD_DATA, FPLT__FILL_NOTHING, name ? name : number);
    fplt_status status = fplt__fill_grid(settings, name, &grid, error);
    if (status)
        return status;
    return grid.cells ? fit_on_grid(&values, settings, &grid, fill, error)
                      : fit(&values, fill, error);
}

fplt_status fplt__fill_fit(const fplt_dataset *dataset, const fplt_transform_settings *settings,
                           double *fill, fplt_error *error)
{
    const struct method *method = find_method(settings, error);
    struct columns columns;
    if (!method)
        return FPLT_BAD_VALUE;
    fplt_status status = columns_init(dataset, &columns, error);
    for (size_t j = 0; !status && j < dataset->features; j++) {
        if (!method->fit)
            fill[j] = dataset->group && dataset->group[j] ? 0 : settings->fill_value;
        else if (!is_level(&columns, j, fill))
            status = fit_feature(&columns, j, settings, method->fit, &fill[j], error);
    }
    columns_clear(&columns);
    return status;
}
