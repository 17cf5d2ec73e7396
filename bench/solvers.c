/* What local training costs beside whole gradients, as ratios measured in turn: a minibatch against its share
 * of a whole gradient, clipping, the choice of a minibatch among many records, and how many gradients Newton
 * spends where there is nothing left to find. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fedplt.h"
#include "figure.h"
#include "problem.h"
#include "timing.h"
#include "base/random.h"
#include "objective/objective_access.h"
#include "solver/solver.h"

enum { REPEATS = 501, BATCH = 32, BATCHES = 64 };

static void *room(size_t count)
{
    double *memory = calloc(count, sizeof *memory);
    if (!memory) {
        fprintf(stderr, "no memory for %zu numbers\n", count);
        exit(1);
    }
    return memory;
}

/* One agent with records of normal numbers. `batch`: rows of a minibatch, by which the kernel is chosen; 0: all. */
static fplt_objective *cost(size_t rows, size_t features, double clip, uint32_t batch)
{
    fplt_error error;
    fplt_dataset *data;
    fplt_objective *objective;
    double *a = room(rows * (features + 1)), *label = a + rows * features;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, rows, features, 0);
    fplt__stream_normals(&stream, 1, a, rows * features);
    for (size_t r = 0; r < rows; r++)
        label[r] = fplt_stream_below(&stream, 2) ? 1 : -1;
    fplt_rows view = {.count = rows, .features = features, .dense = a, .label = label};
    check(fplt_dataset_from_rows(&view, FPLT_TASK_BINARY, &rows, 1, &data, &error), &error);
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.kernel = named_kernel();
    settings.clip = clip;
    settings.batch = batch;
    check(fplt_objective_create(&settings, data, &objective, &error), &error);
    fplt_dataset_destroy(data);
    free(a);
    return objective;
}

static double whole(const fplt_objective *o, const double *x, double *g, double *scratch,
                    size_t calls)
{
    double start = seconds();
    for (size_t i = 0; i < calls; i++)
        fplt_objective_gradient(o, 0, x, g, scratch);
    return (seconds() - start) / (double)calls;
}

/* The quickest of many short turns: other programs can only make one slower. */
static void minibatches(size_t rows, size_t features)
{
    fplt_objective *o = cost(rows, features, 0, BATCH);
    double *x = room(2 * features + fplt_objective_scratch(o)), *g = x + features,
           *scratch = g + features, share = HUGE_VAL, batch = HUGE_VAL;
    uint32_t *order = room(rows);
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, rows, features, 0);
    for (uint32_t r = 0; r < rows; r++)
        order[r] = r;
    fplt__stream_shuffle(&stream, order, (uint32_t)rows);
    fplt__stream_normals(&stream, 0.1, x, features);
    for (size_t t = 0; t < REPEATS; t++) {
        share = fmin(share, whole(o, x, g, scratch, 4) * BATCH / (double)rows);
        double start = seconds();
        for (size_t b = 0; b < BATCHES; b++)
            fplt__objective_batch_gradient(o, 0, x, order + b * BATCH % (rows - BATCH), BATCH, g,
                                           scratch);
        batch = fmin(batch, (seconds() - start) / BATCHES);
    }
    char what[100];
    snprintf(what, sizeof what, "minibatch of 32 of %zu records, n = %zu, against its share", rows,
             features);
    printf("%s: %.3f us, share %.3f us, ratio %.2f, kernel %s\n", what, 1e6 * batch, 1e6 * share,
           batch / share, fplt__objective_kernel(o));
    figure(what, batch / share, "times", AT_MOST, 2);
    free(order);
    free(x);
    fplt_objective_destroy(o);
}

static void clipping(size_t rows, size_t features)
{
    fplt_objective *o[2] = {cost(rows, features, 0, 0), cost(rows, features, 0.5, 0)};
    double *x = room(2 * features + fplt_objective_scratch(o[0])), times[2][REPEATS];
    size_t calls = 1 + 200000 / (rows * (features + 10));
    for (size_t j = 0; j < features; j++)
        x[j] = 0.1;
    for (size_t t = 0; t < REPEATS; t++)
        for (size_t k = 0; k < 2; k++)
            times[k][t] = whole(o[k], x, x + features, x + 2 * features, calls);
    double ratio = median(times[1], REPEATS) / median(times[0], REPEATS);
    char what[100];
    snprintf(what, sizeof what, "clipped gradient of %zu records, n = %zu, against unclipped", rows,
             features);
    printf("%s: ratio %.2f\n", what, ratio);
    figure(what, ratio, "times", AT_MOST, 1.4);
    free(x);
    fplt_objective_destroy(o[0]);
    fplt_objective_destroy(o[1]);
}

/* A run of the solver from w; the memory is kept from call to call, as an engine does. */
struct training {
    fplt_local local;
    double *w;
};

static struct training prepare(const fplt_objective *o, const char *solver, uint32_t epochs)
{
    fplt_error error;
    struct training t = {.w = room(fplt_objective_dimension(o))};
    fplt_training training = fplt_training_defaults();
    training.solver = fplt_solver_find(solver);
    training.epochs = epochs;
    training.batch = BATCH;
    t.local = (fplt_local){
        .problem = {.objective = o, .inverse_rho = 1},
        .training = training,
        .step = 1e-3,
        .scratch = room(fplt__local_scratch(o, &training)),
    };
    size_t state = fplt__solver_state(o, &training);
    t.local.state = state ? room(state) : NULL;
    check(fplt_objective_curvature(o, 0, 0, &t.local.curvature, &error), &error);
    return t;
}

static void discard(struct training *t)
{
    free(t->local.scratch);
    free(t->local.state);
    free(t->w);
}

static double run_once(struct training *t)
{
    fplt_error error;
    double start = seconds();
    check(fplt__local_run(&t->local, t->w, &error), &error);
    t->local.round++;
    return seconds() - start;
}

/* One step of SGD: what grows with the number of records is not the step. */
static void choosing(void)
{
    const size_t few = 1000, many = 400000;
    fplt_objective *o[2] = {cost(few, 5, 0, BATCH), cost(many, 5, 0, BATCH)};
    struct training t[2] = {prepare(o[0], "sgd", 1), prepare(o[1], "sgd", 1)};
    double times[2][REPEATS];
    for (size_t r = 0; r < REPEATS; r++)
        for (size_t k = 0; k < 2; k++)
            times[k][r] = run_once(&t[k]);
    double small = median(times[0], REPEATS), large = median(times[1], REPEATS);
    printf("one step of SGD, n = 5: %.2f us among %zu records, %.2f us among %zu\n", 1e6 * small,
           few, 1e6 * large, many);
    figure("one step of SGD among 400000 records", 1e6 * large, "us", AT_MOST, 10);
    for (size_t k = 0; k < 2; k++) {
        discard(&t[k]);
        fplt_objective_destroy(o[k]);
    }
}

/* From its own minimiser Newton has nothing to find. */
static void newton(void)
{
    double most = 0;
    for (size_t features = 2; features <= 40; features += 19) {
        fplt_objective *o = cost(300, features, 0, 0);
        struct training t = prepare(o, "newton", 20);
        for (int i = 0; i < 10; i++) {
            t.local.gradients = 0;
            run_once(&t);
            if (i)
                most = fmax(most, t.local.gradients);
        }
        discard(&t);
        fplt_objective_destroy(o);
    }
    figure("gradients of a Newton run that starts at its minimiser", most, "", AT_MOST, 5);
}

int main(void)
{
    minibatches(250, 5);
    minibatches(2000, 5);
    minibatches(2000, 20);
    minibatches(2000, 100);
    clipping(250, 5);
    clipping(250, 100);
    choosing();
    newton();
    return 0;
}
