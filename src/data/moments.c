/* What columns are like, added up exactly: sums over parts of the rows, wherever they are, give the same
 * bits as a sum over all of them. */
#include <math.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "base/sum.h"

static size_t column_of(const fplt_dataset *dataset, size_t row, size_t entry)
{
    return dataset->dense ? entry : dataset->column[dataset->start[row] + entry];
}

/* Entries of each column that are written down; the others are zeros. */
static fplt_status count_entries(const fplt_dataset *dataset, size_t **seen, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(seen, dataset->features, sizeof **seen, "columns", error);
    for (size_t r = 0; !status && r < dataset->rows; r++)
        for (size_t k = 0; k < fplt__row_entries(dataset, r); k++)
            (*seen)[column_of(dataset, r, k)]++;
    return status;
}

fplt_status fplt__dataset_ranges(const fplt_dataset *dataset, double *ranges, fplt_error *error)
{
    size_t *seen;
    fplt_status status = count_entries(dataset, &seen, error);
    if (status)
        return status;
    for (size_t j = 0; j < dataset->features; j++) {
        ranges[2 * j] = seen[j] < dataset->rows ? 0 : INFINITY;
        ranges[2 * j + 1] = seen[j] < dataset->rows ? 0 : -INFINITY;
    }
    for (size_t r = 0; r < dataset->rows; r++) {
        const double *value = fplt__row_values(dataset, r);
        for (size_t k = 0; k < fplt__row_entries(dataset, r); k++) {
            double *range = ranges + 2 * column_of(dataset, r, k);
            range[0] = fmin(range[0], value[k]);
            range[1] = fmax(range[1], value[k]);
        }
    }
    fplt__free(seen);
    return FPLT_OK;
}

static double moment(double value, double unit, const double *mean)
{
    double away = mean ? (value - *mean) / unit : value / unit;
    return mean ? away * away : away;
}

static fplt_status add_rows(const fplt_dataset *dataset, const double *unit, const double *mean,
                            fplt__sum *sum)
{
    fplt_status status = FPLT_OK;
    for (size_t r = 0; r < dataset->rows; r++) {
        const double *value = fplt__row_values(dataset, r);
        for (size_t k = 0; !status && k < fplt__row_entries(dataset, r); k++) {
            size_t j = column_of(dataset, r, k);
            double number = moment(value[k], unit[j], mean ? mean + j : NULL);
            status = fplt__sum_add(sum, j, &number, 1);
        }
    }
    return status;
}

/* Zeros of a sparse data set, as many as there are at once. */
static fplt_status add_zeros(const fplt_dataset *dataset, const double *unit, const double *mean,
                             fplt__sum *sum, fplt_error *error)
{
    size_t *seen;
    fplt_status status = count_entries(dataset, &seen, error);
    if (status)
        return status;
    for (size_t j = 0; !status && j < dataset->features; j++) {
        double number = (double)(dataset->rows - seen[j]) * moment(0, unit[j], mean + j);
        status = fplt__sum_add(sum, j, &number, 1);
    }
    fplt__free(seen);
    return status;
}

fplt_status fplt__dataset_moments(const fplt_dataset *dataset, const double *unit,
                                  const double *mean, uint64_t *words, fplt_error *error)
{
    fplt__sum *sum;
    fplt_status status = fplt__sum_create(dataset->features, FPLT_SUM_EXPONENT, &sum, error);
    if (status)
        return status;
    status = add_rows(dataset, unit, mean, sum);
    if (!status && mean && !dataset->dense)
        status = add_zeros(dataset, unit, mean, sum, error);
    if (status == FPLT_DIVERGED)
        fplt_error_set(error, status, "a column's values are too large to be added up");
    fplt__sum_export(sum, 0, words, dataset->features);
    fplt__sum_destroy(sum);
    return status;
}
