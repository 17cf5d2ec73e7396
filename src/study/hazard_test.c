/* Test of proportional hazards. With g(t) the transformed time less its mean over the events, V(t) the variance of the columns
 * over those at risk at an event and m(t) their mean, the score of coefficients of g(t) times the columns is
 *
 *     U = sum over events of g(t) (x - m(t)),
 *
 * and the information of both kinds of coefficients has the blocks sum V, sum g V and sum g^2 V. The statistic of a set of
 * columns is S(all coefficients and those of the set) - S(all coefficients), S = (U0, U)' I^-1 (U0, U) with U0 = sum of (x - m). At
 * the maximum of the partial likelihood U0 = 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "linalg/cholesky.h"
#include "report/export.h"
#include "report/model.h"
#include "report/report.h"
#include "study/hazard_sums.h"

/* ---- statistics ---- */

/* What all lines of a table share. */
struct testing {
    const fplt__hazard_sums *sums;
    const unsigned char *kept;
    unsigned char *chosen; /* a byte for each column, as of kept */
    double *room;
    size_t *pick;
    double early; /* S of the kept coefficients */
};

/* Element of the information of both kinds of coefficients: `late` ones belong to g(t). */
static double element(const fplt__hazard_sums *sums, size_t i, int late_i, size_t j, int late_j)
{
    return sums->information[late_i + late_j][i * sums->n + j];
}

/* (U0, U)' I^-1 (U0, U) over the coefficients pick[0] .. pick[early - 1] and, of those of g(t), the rest up to `count`. NaN: I is
 * singular. */
static double quadratic_of(const struct testing *t, size_t early, size_t count)
{
    const fplt__hazard_sums *sums = t->sums;
    const size_t *pick = t->pick;
    double *right = t->room, *left = right + 2 * sums->n, *matrix = left + 2 * sums->n, sum = 0;
    for (size_t a = 0; a < count; a++) {
        /* columns of any size: the matrix has ones on its diagonal */
        double scale_a = sqrt(element(sums, pick[a], a >= early, pick[a], a >= early));
        left[a] = right[a] = sums->score[a >= early][pick[a]] / scale_a;
        for (size_t b = 0; b < count; b++)
            matrix[a * count + b] = element(sums, pick[a], a >= early, pick[b], b >= early) /
                                    scale_a /
                                    sqrt(element(sums, pick[b], b >= early, pick[b], b >= early));
    }
    if (!fplt__cholesky_factor(&fplt__kernel_reference, matrix, count))
        return NAN;
    fplt__cholesky_solve(matrix, count, right);
    for (size_t a = 0; a < count; a++)
        sum += left[a] * right[a];
    return sum;
}

/* The kept columns, and behind them those that are chosen. Returns how many are kept. */
static size_t pick_columns(const struct testing *t, size_t *count)
{
    size_t early;
    *count = 0;
    for (size_t j = 0; j < t->sums->n; j++)
        if (t->kept[j])
            t->pick[(*count)++] = j;
    early = *count;
    for (size_t j = 0; j < t->sums->n; j++)
        if (t->kept[j] && t->chosen[j])
            t->pick[(*count)++] = j;
    return early;
}

static void add_line(const struct testing *t, const char *name, fplt_table *table)
{
    size_t count, early = pick_columns(t, &count);
    double statistic = quadratic_of(t, early, count) - t->early;
    fplt__table_text(table, name);
    fplt__table_number(table, statistic, 5);
    fplt__table_whole(table, (long long)(count - early));
    fplt__table_number(
        table, isnan(statistic) ? NAN : fplt__chi_tail(statistic, (double)(count - early)), 3);
}

/* ---- lines ---- */

/* Length of the name of the category that a column is a level of; that of the whole name for other columns. */
static size_t term_length(const char *name)
{
    const char *sign = strchr(name, ':') ? NULL : strchr(name, '=');
    return sign ? (size_t)(sign - name) : strlen(name);
}

static int is_same_term(const char *a, const char *b)
{
    size_t length = term_length(a);
    return length == term_length(b) && strncmp(a, b, length) == 0 &&
           (a[length] == '=') == (b[length] == '=');
}

static void fill_table(const fplt_model *model, struct testing *t, int columns, fplt_table *table)
{
    size_t n = t->sums->n;
    for (size_t j = 0; j < n; j++) {
        char own[32], other[32], term[300];
        const char *name = fplt__model_feature_name(model, j, own, sizeof own);
        int begun = 0;
        memset(t->chosen, 0, n);
        for (size_t i = 0; i < n; i++) {
            const char *next = fplt__model_feature_name(model, i, other, sizeof other);
            t->chosen[i] = t->kept[i] && (i == j || (!columns && is_same_term(name, next)));
            begun |= t->chosen[i] && i < j;
        }
        if (!t->kept[j] || begun)
            continue;
        snprintf(term, sizeof term, "%.*s", columns ? 299 : (int)term_length(name), name);
        add_line(t, term, table);
    }
    memset(t->chosen, 1, n);
    add_line(t, "GLOBAL", table);
}

fplt_status fplt__hazard_sums_test(const fplt__hazard_sums *sums, const fplt_model *model,
                                   const unsigned char *kept, int columns, fplt_table **table,
                                   double *apart, fplt_error *error)
{
    static const char *const headings[] = {"name", "chi squared", "freedom", "p"};
    struct testing t = {.sums = sums, .kept = kept};
    size_t n = sums->n, count;
    fplt_status status =
        fplt__alloc_into(&t.room, 4 * n * n + 4 * n, sizeof *t.room, "a test", error);
    if (!status)
        status = fplt__alloc_into(&t.chosen, n, 1, "a test", error);
    if (!status)
        status = fplt__alloc_into(&t.pick, 2 * n, sizeof *t.pick, "a test", error);
    if (!status && !(status = fplt__table_create(headings, 4, table, error))) {
        size_t early = pick_columns(&t, &count);
        *apart = t.early = quadratic_of(&t, early, count);
        fill_table(model, &t, columns, *table);
    }
    fplt__free(t.room);
    fplt__free(t.chosen);
    fplt__free(t.pick);
    return status;
}

/* ---- one process ---- */

static fplt_status see_sites(const fplt_model *model, const fplt_dataset *dataset,
                             const fplt__hazard_clock *clock, fplt__hazard_sums *sums,
                             fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset) && !status; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        fplt__hazard_sums own;
        if (!(status = fplt__hazard_sums_make(sums->n, &own, error)) &&
            !(status = fplt__hazard_sums_see(model, &rows, clock, &own, error)))
            fplt__hazard_sums_add(sums, &own);
        fplt__hazard_sums_clear(&own);
    }
    return status;
}

fplt_status fplt_hazard_test(const fplt_model *model, const fplt_dataset *dataset,
                             fplt_hazard_transform transform, int columns, fplt_table **table,
                             fplt_error *error)
{
    size_t n = model->info.features, dimension = model->info.dimension;
    fplt_rows all = fplt_dataset_all(dataset);
    fplt__hazard_clock clock = {.value = NULL};
    fplt__hazard_sums sums = {.n = 0};
    unsigned char *kept = NULL;
    double apart;
    *table = NULL;
    fplt_status status = fplt__hazard_check(model, error);
    if (!status)
        status = fplt__hazard_clock_make(&all, transform, &clock, error);
    if (!status)
        status = fplt__hazard_sums_make(n, &sums, error);
    if (!status)
        status = fplt__alloc_into(&kept, n, 1, "a test", error);
    for (size_t j = 0; j < n && !status; j++)
        kept[j] = model->info.inference->information[j * dimension + j] > 0;
    if (!status && !(status = see_sites(model, dataset, &clock, &sums, error))) {
        fplt__hazard_sums_centre(&sums);
        status = fplt__hazard_sums_test(&sums, model, kept, columns, table, &apart, error);
    }
    fplt__hazard_clock_clear(&clock);
    fplt__hazard_sums_clear(&sums);
    fplt__free(kept);
    return status;
}
