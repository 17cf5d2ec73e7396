/* Small cells: a class, a level or a column that tells a few rows from all others. A sum over such a column is the sum of
 * the other columns over these rows. And few clusters: the derivatives by the standard deviation of a random intercept are sums
 * over clusters, as those by a coefficient are sums over rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sorting.h"
#include "data/dataset_access.h"
#include "federation/agent/questions.h"
#include "federation/agent/rules.h"

/* Missing values are alike. */
static int is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The value that more than half of the rows have, if any has: by pairs that cancel out. */
static double majority(const double *first, size_t rows, size_t stride)
{
    double candidate = *first;
    size_t balance = 0;
    for (size_t r = 0; r < rows; r++) {
        double value = first[r * stride];
        if (!balance)
            candidate = value;
        balance += is_same(value, candidate) ? 1 : (size_t)-1;
    }
    return candidate;
}

static size_t count_others(const double *first, size_t rows, size_t stride, double value)
{
    size_t others = 0;
    for (size_t r = 0; r < rows; r++)
        others += !is_same(first[r * stride], value);
    return others;
}

/* Of each column the rows in which it is not what it is in most rows. */
static void count_rare_sides(const fplt_dataset *rows, size_t *rare)
{
    size_t features = rows->features;
    for (size_t j = 0; rows->dense && j < features; j++)
        rare[j] = count_others(rows->dense + j, rows->rows, features,
                               majority(rows->dense + j, rows->rows, features));
    for (size_t k = rows->dense ? 0 : rows->start[0]; !rows->dense && k < rows->start[rows->rows];
         k++)
        rare[rows->column[k]] += rows->value[k] != 0;
}

static int is_rare(size_t count, size_t least)
{
    return count > 0 && count < least;
}

static fplt_status refuse_column(const fplt_dataset *rows, size_t column, size_t count,
                                 size_t least, fplt_error *error)
{
    const char *name = fplt_dataset_feature_name(rows, column);
    char number[32];
    snprintf(number, sizeof number, "number %zu", column + 1);
    return fplt_error_set(
        error, FPLT_FAILED,
        "disclosure: column %.100s is the same in all rows but %zu, which must be "
        "at least %zu; merge its level with another, or leave the column out of "
        "the file",
        name ? name : number, count, least);
}

static fplt_status judge_columns(const fplt_dataset *rows, size_t least, fplt_error *error)
{
    size_t *rare;
    fplt_status status = fplt__alloc_into(&rare, rows->features, sizeof *rare, "columns", error);
    if (status)
        return status;
    count_rare_sides(rows, rare);
    for (size_t j = 0; j < rows->features && !status; j++)
        if (is_rare(rare[j], least))
            status = refuse_column(rows, j, rare[j], least, error);
    fplt__free(rare);
    return status;
}

/* Rows whose label is, of a survival time, an event; otherwise of class `value`. */
static size_t count_class(const fplt_dataset *rows, double value)
{
    size_t count = 0;
    for (size_t r = 0; r < rows->rows; r++)
        count +=
            rows->task == FPLT_TASK_SURVIVAL ? !signbit(rows->label[r]) : rows->label[r] == value;
    return count;
}

static fplt_status judge_classes(const fplt_dataset *rows, size_t least, fplt_error *error)
{
    int binary = rows->task == FPLT_TASK_BINARY, survival = rows->task == FPLT_TASK_SURVIVAL;
    uint32_t classes = fplt__task_classifies(rows->task) ? rows->outputs : 0;
    if (binary || survival)
        classes = binary ? 2 : 1;
    for (uint32_t k = 0; k < classes; k++) {
        size_t count = count_class(rows, binary ? 2.0 * k - 1 : k);
        if (is_rare(count, least))
            return fplt_error_set(error, FPLT_FAILED,
                                  "disclosure: %s %u of the label has %zu rows, which must be at "
                                  "least %zu; merge it with another",
                                  survival ? "event" : "class", k + 1, count, least);
    }
    return FPLT_OK;
}

/* Numbers of clusters count those of the whole file, of which these may be a part. */
static fplt_status count_clusters(const fplt_dataset *rows, size_t *clusters, fplt_error *error)
{
    const double *number = fplt__dataset_persons(rows, 0);
    double *sorted;
    *clusters = 0;
    if (!number)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&sorted, rows->rows, sizeof *sorted, "clusters", error);
    if (status)
        return status;
    memcpy(sorted, number, rows->rows * sizeof *sorted);
    fplt__sort(sorted, rows->rows);
    for (size_t r = 0; r < rows->rows; r++)
        *clusters += !r || sorted[r] != sorted[r - 1];
    fplt__free(sorted);
    return FPLT_OK;
}

static fplt_status judge_clusters(const fplt_settings *site, const fplt_dataset *rows,
                                  const char *cluster, fplt_error *error)
{
    double least = fplt__rule_value(site, FPLT__RULE_CLUSTERS);
    size_t clusters;
    fplt_status status = count_clusters(rows, &clusters, error);
    if (status || (double)clusters >= least)
        return status;
    return fplt_error_set(error, FPLT_FAILED,
                          "disclosure: the column %.100s of the random intercept has %zu clusters, "
                          "which must be at least %.0f; a fit with `random-intercept: site` "
                          "counts rows only",
                          cluster, clusters, least);
}

fplt_status fplt__cells_judge(const fplt_settings *site, const fplt_dataset *rows,
                              const char *cluster, fplt_error *error)
{
    size_t least = (size_t)fplt__rule_value(site, FPLT__RULE_CELLS);
    fplt_status status = FPLT_OK;
    if (!rows->rows)
        return FPLT_OK;
    if (least && !(status = judge_classes(rows, least, error)))
        status = judge_columns(rows, least, error);
    return status || !cluster ? status : judge_clusters(site, rows, cluster, error);
}
