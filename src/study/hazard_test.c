/* Test of proportional hazards. With g(t) the transformed time less its mean over the events, V(t) the variance of the columns
 * over those at risk at an event and m(t) their mean, the score of coefficients of g(t) times the columns is
 *
 *     U = sum over events of g(t) (x - m(t)),
 *
 * and the information of both kinds of coefficients has the blocks sum V, sum g V and sum g^2 V. The statistic of a set of
 * columns is (0, U)' I^-1 (0, U) over all coefficients and those of the set. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "linalg/cholesky.h"
#include "report/export.h"
#include "report/model.h"
#include "report/report.h"
#include "study/hazard_inside.h"

/* ---- transformed times ---- */

/* g at the times of all rows: those of a life table over all sites. */
struct clock {
    fplt__life_table table;
    double *value; /* owned: one for each step */
    double centre; /* mean over the events */
};

static void fill_clock(fplt_hazard_transform transform, struct clock *clock)
{
    double survival = 1, before = 0, n = (double)fplt__life_table_rows(&clock->table), events = 0,
           sum = 0, at_risk = n;
    for (size_t i = 0; i < clock->table.steps; i++) {
        const fplt__life_step *step = &clock->table.step[i];
        double here = (double)(step->events + step->left);
        clock->value[i] = transform == FPLT_HAZARD_KM         ? 1 - survival
                          : transform == FPLT_HAZARD_LOG      ? log(step->time)
                          : transform == FPLT_HAZARD_IDENTITY ? step->time
                                                              : before + (here + 1) / 2;
        survival *= 1 - (double)step->events / at_risk;
        at_risk -= here;
        before += here;
        events += (double)step->events;
        sum += (double)step->events * clock->value[i];
    }
    clock->centre = sum / events;
}

static fplt_status make_clock(const fplt_dataset *dataset, fplt_hazard_transform transform,
                              struct clock *clock, fplt_error *error)
{
    fplt_rows all = fplt_dataset_all(dataset);
    fplt_status status = FPLT_OK;
    for (size_t r = 0; r < all.count && !status; r++)
        if (!all.weight || all.weight[r] > 0)
            status = fplt__life_table_see(&clock->table, fabs(all.label[r]), !signbit(all.label[r]),
                                          error);
    fplt__life_table_settle(&clock->table);
    if (!status)
        status =
            fplt__alloc_into(&clock->value, clock->table.steps, sizeof(double), "times", error);
    if (!status)
        fill_clock(transform, clock);
    return status;
}

static double read_clock(const struct clock *clock, double time)
{
    size_t low = 0, high = clock->table.steps;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (clock->table.step[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    return clock->value[low] - clock->centre;
}

/* ---- sums over the sites ---- */

struct score {
    const struct clock *clock;
    size_t n;
    double *slope;          /* U */
    double *information[3]; /* sum of V, g V and g^2 V */
};

static void add_moment(void *context, const fplt__hazard_moment *moment)
{
    struct score *score = context;
    size_t n = score->n;
    double g = read_clock(score->clock, moment->time);
    for (size_t i = 0; i < n; i++) {
        score->slope[i] +=
            g * ((moment->number ? 0 : moment->events_sum[i]) - moment->weight * moment->mean[i]);
        for (size_t j = 0; j < n; j++) {
            double variance =
                moment->weight * (moment->product[i * n + j] - moment->mean[i] * moment->mean[j]);
            score->information[0][i * n + j] += variance;
            score->information[1][i * n + j] += g * variance;
            score->information[2][i * n + j] += g * g * variance;
        }
    }
}

/* ---- statistics ---- */

/* Element of the information of both kinds of coefficients: `late` ones belong to g(t). */
static double element(const struct score *score, size_t i, int late_i, size_t j, int late_j)
{
    return score->information[late_i + late_j][i * score->n + j];
}

/* (0, U)' I^-1 (0, U) over the kept columns and, of those marked in `chosen`, the late ones. NaN: I is singular. */
static double statistic_of(const struct score *score, const unsigned char *kept,
                           const unsigned char *chosen, size_t *freedom, double *room, size_t *pick)
{
    size_t n = score->n, count = 0, early;
    double *right = room, *matrix = room + 2 * n, sum = 0;
    for (size_t j = 0; j < n; j++)
        if (kept[j])
            pick[count++] = j;
    early = count;
    for (size_t j = 0; j < n; j++)
        if (kept[j] && chosen[j])
            pick[count++] = j;
    for (size_t a = 0; a < count; a++) {
        /* columns of any size: the matrix has ones on its diagonal */
        double scale_a = sqrt(element(score, pick[a], a >= early, pick[a], a >= early));
        right[a] = a >= early ? score->slope[pick[a]] / scale_a : 0;
        for (size_t b = 0; b < count; b++)
            matrix[a * count + b] = element(score, pick[a], a >= early, pick[b], b >= early) /
                                    scale_a /
                                    sqrt(element(score, pick[b], b >= early, pick[b], b >= early));
    }
    *freedom = count - early;
    if (!fplt__cholesky_factor(&fplt__kernel_reference, matrix, count))
        return NAN;
    fplt__cholesky_solve(matrix, count, right);
    for (size_t a = early; a < count; a++)
        sum += right[a] * score->slope[pick[a]] / sqrt(element(score, pick[a], 1, pick[a], 1));
    return sum;
}

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

static void add_line(const struct score *score, const unsigned char *kept,
                     const unsigned char *chosen, const char *name, double *room, size_t *pick,
                     fplt_table *table)
{
    size_t freedom;
    double statistic = statistic_of(score, kept, chosen, &freedom, room, pick);
    fplt__table_text(table, name);
    fplt__table_number(table, statistic, 5);
    fplt__table_whole(table, (long long)freedom);
    fplt__table_number(table, isnan(statistic) ? NAN : fplt__chi_tail(statistic, (double)freedom),
                       3);
}

/* `kept` and `chosen` have a byte for each column. */
static void fill_table(const fplt_model *model, const struct score *score, int columns,
                       unsigned char *kept, double *room, size_t *pick, fplt_table *table)
{
    size_t n = score->n;
    unsigned char *chosen = kept + n;
    for (size_t j = 0; j < n; j++) {
        char own[32], other[32], term[300];
        const char *name = fplt__model_feature_name(model, j, own, sizeof own);
        int begun = 0;
        memset(chosen, 0, n);
        for (size_t i = 0; i < n; i++) {
            const char *next = fplt__model_feature_name(model, i, other, sizeof other);
            chosen[i] = kept[i] && (i == j || (!columns && is_same_term(name, next)));
            begun |= chosen[i] && i < j;
        }
        if (!kept[j] || begun)
            continue;
        snprintf(term, sizeof term, "%.*s", columns ? 299 : (int)term_length(name), name);
        add_line(score, kept, chosen, term, room, pick, table);
    }
    memset(chosen, 1, n);
    add_line(score, kept, chosen, "GLOBAL", room, pick, table);
}

static fplt_status sum_sites(const fplt_model *model, const fplt_dataset *dataset,
                             struct score *score, fplt_error *error)
{
    const fplt__time_grid exact = {NULL, 0, 0};
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset) && !status; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        fplt__hazard_site site;
        if ((status = fplt__hazard_site_make(model, &rows, &exact, &site, error)))
            break;
        status = fplt__hazard_walk(&site, 1, add_moment, score, error);
        fplt__hazard_site_clear(&site);
    }
    return status;
}

fplt_status fplt_hazard_test(const fplt_model *model, const fplt_dataset *dataset,
                             fplt_hazard_transform transform, int columns, fplt_table **table,
                             fplt_error *error)
{
    static const char *const headings[] = {"name", "chi squared", "freedom", "p"};
    size_t n = model->info.features, dimension = model->info.dimension;
    struct clock clock = {.value = NULL};
    double *numbers = NULL;
    unsigned char *kept = NULL;
    size_t *pick = NULL;
    *table = NULL;
    fplt_status status = fplt__hazard_check(model, error);
    if (!status)
        status = make_clock(dataset, transform, &clock, error);
    if (!status)
        status = fplt__alloc_into(&numbers, 7 * n * n + 3 * n, sizeof *numbers, "a test", error);
    if (!status)
        status = fplt__alloc_into(&kept, 2 * n, 1, "a test", error);
    if (!status)
        status = fplt__alloc_into(&pick, 2 * n, sizeof *pick, "a test", error);
    if (!status) {
        struct score score = {
            &clock, n, numbers, {numbers + n, numbers + n + n * n, numbers + n + 2 * n * n}};
        for (size_t j = 0; j < n; j++)
            kept[j] = model->info.inference->information[j * dimension + j] > 0;
        if (!(status = sum_sites(model, dataset, &score, error)) &&
            !(status = fplt__table_create(headings, 4, table, error)))
            fill_table(model, &score, columns, kept, numbers + n + 3 * n * n, pick, *table);
    }
    fplt__life_table_clear(&clock.table);
    fplt__free(clock.value);
    fplt__free(numbers);
    fplt__free(kept);
    fplt__free(pick);
    return status;
}
