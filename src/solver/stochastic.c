/* Stochastic gradient descent on d: plain, with momentum, and with the variance reduced by an anchor
 * [SVRG: Johnson and Zhang 2013]. An epoch is one step, or with by_pass a pass over the records:
 * ceil(q / batch) steps. */
#include "base/random.h"
#include "objective/objective_access.h"
#include "solver/solver.h"

#include <string.h>

#include "objective/objective.h"

/* Minibatches of one agent in one round. */
struct batches {
    fplt_stream stream;
    uint32_t *order; /* of the records for a pass; otherwise the batch alone */
    uint64_t *taken; /* one bit a record, all clear between batches */
    uint32_t records, size, used;
    int replacement, by_pass;
};

/* Numbers of the order of the records, two to a double, and of a bit for each. */
static size_t order_room(size_t records)
{
    return records / 2 + 1;
}

static size_t taken_room(size_t records)
{
    return records / 64 + 1;
}

/* Up to four vectors beside. */
static size_t stochastic_work(const fplt_objective *objective, const fplt_training *training)
{
    (void)training;
    size_t records = fplt__objective_most_records(objective);
    return 4 * fplt_objective_dimension(objective) + order_room(records) + taken_room(records);
}

static struct batches batches_of(const fplt_local *local, double *memory)
{
    size_t records = fplt_objective_records(local->problem.objective, local->problem.agent);
    struct batches batches = {
        .stream = fplt_stream_make(local->seed, local->run, FPLT_FOR_BATCH, local->round,
                                   local->member_index, 0),
        .order = (uint32_t *)(void *)memory,
        .taken = (uint64_t *)(void *)(memory + order_room(records)),
        .records = (uint32_t)records,
        .size = local->training.batch < records ? local->training.batch : (uint32_t)records,
        .replacement = local->training.replacement,
        .by_pass = local->training.by_pass,
    };
    if (batches.by_pass && !batches.replacement)
        for (uint32_t r = 0; r < batches.records; r++)
            batches.order[r] = r;
    else if (!batches.replacement)
        memset(batches.taken, 0, taken_room(records) * sizeof *batches.taken);
    return batches;
}

static uint64_t steps_of(const struct batches *batches, uint64_t epochs)
{
    uint64_t whole = batches->records / batches->size, rest = batches->records % batches->size != 0;
    return batches->by_pass ? epochs * (whole + rest) : epochs;
}

/* Distinct records, each set of them as likely as any [Floyd's algorithm: Bentley and Floyd 1987]. What
 * it costs does not grow with the number of records. */
static void draw_distinct(struct batches *batches)
{
    uint32_t *batch = batches->order, first = batches->records - batches->size;
    for (uint32_t i = 0; i < batches->size; i++) {
        uint32_t r = (uint32_t)fplt_stream_below(&batches->stream, (uint64_t)first + i + 1);
        if (batches->taken[r / 64] >> r % 64 & 1)
            r = first + i;
        batches->taken[r / 64] |= (uint64_t)1 << r % 64;
        batch[i] = r;
    }
    for (uint32_t i = 0; i < batches->size; i++)
        batches->taken[batch[i] / 64] = 0;
}

/* The next minibatch: without replacement a pass goes through a fresh shuffle, single steps draw
 * distinct records each. */
static const uint32_t *next_batch(struct batches *batches, uint32_t *count)
{
    *count = batches->size;
    if (batches->replacement) {
        for (uint32_t i = 0; i < batches->size; i++)
            batches->order[i] = (uint32_t)fplt_stream_below(&batches->stream, batches->records);
        return batches->order;
    }
    if (!batches->by_pass) {
        draw_distinct(batches);
        return batches->order;
    }
    if (batches->used == 0)
        fplt__stream_shuffle(&batches->stream, batches->order, batches->records);
    const uint32_t *front = batches->order + batches->used;
    if (*count > batches->records - batches->used)
        *count = batches->records - batches->used;
    batches->used = (batches->used + *count) % batches->records;
    return front;
}

static fplt_status batch_gradient(fplt_local *local, const double *w, const uint32_t *rows,
                                  uint32_t count, double *gradient)
{
    const fplt_subproblem *problem = &local->problem;
    local->gradients +=
        (double)count / (double)fplt_objective_records(problem->objective, problem->agent);
    return fplt__objective_batch_gradient(problem->objective, problem->agent, w, rows, count,
                                          gradient, local->scratch);
}

/* w <- w - step g and, with momentum b > 0, extrapolation as in accelerated gradient descent. */
static fplt_status stochastic(fplt_local *local, double *w, double step, double b,
                              fplt_error *error)
{
    size_t n = fplt_objective_dimension(local->problem.objective);
    double *gradient = fplt_local_work(local), *u = gradient + n;
    struct batches batches = batches_of(local, gradient + 4 * n);
    memcpy(u, w, n * sizeof *u);
    for (uint64_t left = steps_of(&batches, local->training.epochs); left > 0; left--) {
        uint32_t count;
        const uint32_t *rows = next_batch(&batches, &count);
        fplt_status status = batch_gradient(local, w, rows, count, gradient);
        if (status)
            return fplt_error_set(error, status, "the minibatch gradient of agent %u failed",
                                  local->member_index);
        fplt__subproblem_add(&local->problem, w, gradient);
        for (size_t j = 0; j < n; j++) {
            double next = w[j] - step * gradient[j];
            w[j] = next + b * (next - u[j]);
            u[j] = next;
        }
    }
    return fplt__check_finite(w, n, error);
}

static fplt_status run_sgd(fplt_local *local, double *w, fplt_error *error)
{
    return stochastic(local, w, local->step, 0, error);
}

static fplt_status run_accelerated(fplt_local *local, double *w, fplt_error *error)
{
    return stochastic(local, w, local->step, fplt__local_momentum(local), error);
}

/* g = g_B(w) - g_B(anchor) + g(anchor), with the anchor at the start of the round. */
static fplt_status run_svrg(fplt_local *local, double *w, fplt_error *error)
{
    size_t n = fplt_objective_dimension(local->problem.objective);
    const fplt_subproblem *problem = &local->problem;
    double *gradient = fplt_local_work(local), *anchor = gradient + n, *full = anchor + n,
           *old = full + n;
    struct batches batches = batches_of(local, gradient + 4 * n);
    memcpy(anchor, w, n * sizeof *anchor);
    fplt_status status =
        fplt_objective_gradient(problem->objective, problem->agent, anchor, full, local->scratch);
    local->gradients += 1;
    for (uint64_t left = steps_of(&batches, local->training.epochs); left > 0 && !status; left--) {
        uint32_t count;
        const uint32_t *rows = next_batch(&batches, &count);
        if ((status = batch_gradient(local, w, rows, count, gradient)) ||
            (status = batch_gradient(local, anchor, rows, count, old)))
            break;
        for (size_t j = 0; j < n; j++)
            gradient[j] += full[j] - old[j];
        fplt__subproblem_add(problem, w, gradient);
        for (size_t j = 0; j < n; j++)
            w[j] -= local->step * gradient[j];
    }
    if (status)
        return fplt_error_set(error, status, "the minibatch gradient of agent %u failed",
                              local->member_index);
    return fplt__check_finite(w, n, error);
}

const fplt_solver fplt__solver_sgd = {
    .size = sizeof(fplt_solver),
    .name = "sgd",
    .help = "stochastic gradient descent on minibatches",
    .traits = FPLT_PLAIN_STEPS | FPLT_STOCHASTIC,
    .work = stochastic_work,
    .run = run_sgd,
};

const fplt_solver fplt__solver_accelerated_sgd = {
    .size = sizeof(fplt_solver),
    .name = "accelerated-sgd",
    .help = "stochastic gradient descent with the momentum of the accelerated one",
    .traits = FPLT_MINIMISER | FPLT_ACCELERATED | FPLT_STOCHASTIC,
    .work = stochastic_work,
    .run = run_accelerated,
    .step = fplt__accelerated_rule,
    .step_rule = fplt__accelerated_formula,
};

const fplt_solver fplt__solver_svrg = {
    .size = sizeof(fplt_solver),
    .name = "svrg",
    .help = "stochastic gradient descent, variance reduced by a full gradient a round",
    .traits = FPLT_PLAIN_STEPS | FPLT_STOCHASTIC,
    .work = stochastic_work,
    .run = run_svrg,
};
