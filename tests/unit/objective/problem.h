/* Random problems for the tests of objectives. */
#ifndef FPLT_TESTS_OBJECTIVE_PROBLEM_H
#define FPLT_TESTS_OBJECTIVE_PROBLEM_H

#include "testing.h"

#include "fedplt/data.h"
#include "fedplt/objective.h"
#include "fedplt/random.h"
#include "base/random.h"

typedef struct problem {
    fplt_task task;
    size_t features, rows;
    int sparse;
    uint32_t agents;
    unsigned classes;
    double spread; /* of the numbers; 0 means 1 */
    double same;   /* every number that is there; 0: as they come */
    int positive;  /* labels of a regression are above 0 */
} problem;

/* Whether a loss takes only labels above 0. */
static inline int problem_is_positive(const char *loss)
{
    return strcmp(loss, "gamma") == 0 || strcmp(loss, "negative-binomial") == 0;
}

/* Whether a loss has coordinates that all records share, and one that needs an intercept. */
static inline int problem_is_shared(const char *loss)
{
    return strcmp(loss, "negative-binomial") == 0 || strcmp(loss, "ordinal") == 0;
}

static inline int problem_needs_intercept(const char *loss)
{
    return strcmp(loss, "ordinal") == 0;
}

static inline double problem_label(const problem *p, fplt_stream *stream)
{
    switch (p->task) {
    case FPLT_TASK_BINARY: return fplt_stream_below(stream, 2) ? 1 : -1;
    case FPLT_TASK_CLASSES: return (double)fplt_stream_below(stream, p->classes);
    default: {
        double number = 3 * fplt_stream_normal(stream);
        return p->positive ? 0.05 + fabs(number) : number;
    }
    }
}

/* Rows are dealt out evenly, the first agents getting one more. */
static inline fplt_dataset *problem_dataset(const problem *p, uint64_t seed)
{
    fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, p->rows, p->features, 0);
    size_t cells = p->rows * p->features, entries = 0;
    double *value = calloc(cells + 1, sizeof *value), *label = calloc(p->rows, sizeof *label);
    uint32_t *column = calloc(cells + 1, sizeof *column);
    size_t *start = calloc(p->rows + 1, sizeof *start), share[64];
    double spread = p->spread > 0 ? p->spread : 1;
    for (size_t r = 0; r < p->rows; r++) {
        for (size_t j = 0; j < p->features; j++) {
            double number = spread * fplt_stream_normal(&stream);
            if (p->same != 0)
                number = p->same;
            if (p->sparse && fplt_stream_below(&stream, 10) >= 4)
                continue;
            column[entries] = (uint32_t)j;
            value[entries++] = number;
        }
        start[r + 1] = entries;
        label[r] =
            p->task == FPLT_TASK_CLASSES && r < p->classes ? (double)r : problem_label(p, &stream);
    }
    if (p->task == FPLT_TASK_BINARY && p->rows > 1)
        label[1] = -label[0];
    for (uint32_t i = 0; i < p->agents; i++)
        share[i] = p->rows / p->agents + (i < p->rows % p->agents);
    fplt_rows rows = {.count = p->rows, .features = p->features, .label = label};
    if (p->sparse) {
        rows.start = start;
        rows.column = column;
        rows.value = value;
    } else {
        rows.dense = value;
    }
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&rows, p->task, share, p->agents, &dataset, &error), error);
    free(value);
    free(label);
    free(column);
    free(start);
    return dataset;
}

static inline fplt_objective *problem_objective(const problem *p, uint64_t seed,
                                                const fplt_objective_settings *settings)
{
    fplt_dataset *dataset = problem_dataset(p, seed);
    fplt_objective *objective;
    fplt_error error;
    assert_ok(fplt_objective_create(settings, dataset, &objective, &error), error);
    fplt_dataset_destroy(dataset);
    return objective;
}

static inline double *new_vector(size_t count)
{
    double *x = calloc(count ? count : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static inline double *random_vector(size_t count, uint64_t seed, double spread)
{
    double *x = new_vector(count);
    fplt_stream stream = fplt_stream_make(seed, 1, FPLT_FOR_TEST, count, 0, 0);
    fplt__stream_normals(&stream, spread, x, count);
    return x;
}

static inline double *new_scratch(const fplt_objective *objective)
{
    return new_vector(fplt_objective_scratch(objective));
}

static inline double norm_of(const double *x, size_t count)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += x[j] * x[j];
    return sqrt(sum);
}

static inline double distance(const double *x, const double *y, size_t count)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += (x[j] - y[j]) * (x[j] - y[j]);
    return sqrt(sum);
}

#endif
