/* Creation and destruction of the fleet on threads. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/sum.h"
#include "engine/hub.h"
#include "engine/hub_node.h"
#include "engine/member.h"
#include "engine/ranks.h"
#include "engine/threads.h"
#include "objective/objective.h"
#include "solver/solver.h"

void fplt__threads_destroy(fplt__fleet *fleet)
{
    struct fplt__threads *threads = (struct fplt__threads *)(void *)fleet;
    if (!threads)
        return;
    unsigned workers = threads->pool ? fplt__pool_threads(threads->pool) : 0;
    for (unsigned i = 0; threads->workers && i < workers; i++) {
        struct fplt__worker *worker = &threads->workers[i];
        fplt__free(worker->staged);
        fplt__free(worker->work);
        fplt__free(worker->up);
        fplt__free(worker->scratch);
        fplt__free(worker->listed.at);
        fplt__free(worker->listed.number);
        fplt__free(worker->listed.zeros);
        fplt__sum_destroy(worker->sum);
    }
    fplt__free(threads->workers);
    fplt__pool_destroy(threads->pool);
    pthread_mutex_destroy(&threads->mutex);
    fplt__free(threads->each);
    fplt__free(threads->step);
    fplt__free(threads->given);
    fplt__free(threads->kept);
    fplt__free(threads->held);
    fplt__free(threads->state);
    fplt__free(threads);
}

static fplt_status copy_of(void *to, const void *from, size_t count, size_t size, fplt_error *error)
{
    void *copy;
    fplt_status status = fplt__alloc_into(&copy, count, size, "the agents", error);
    if (!status && from)
        memcpy(copy, from, count * size);
    memcpy(to, &copy, sizeof copy);
    return status;
}

/* Where messages have matrices and rows are sparse, small agents list the few numbers that are not zero: a quarter of
 * the message, because a listed number costs as much as some that are not. */
static fplt_status create_list(const struct fplt__threads *threads, fplt__listed *listed,
                               fplt_error *error)
{
    enum {
        MATRIX = 8,
        SHARE = 4
    }; /* vectors of a message that has one; what may be listed of it */
    size_t n = threads->plan.dimension, longest = 0;
    fplt_status status;
    for (unsigned e = 0; e < threads->shape.exchanges; e++) {
        size_t numbers = fplt__plain_up(&threads->shape, n, e);
        longest = numbers > longest ? numbers : longest;
    }
    if (threads->plan.unit > 0 || longest < MATRIX * n || longest > UINT32_MAX ||
        !threads->objective->sparse)
        return FPLT_OK;
    if ((status = copy_of(&listed->at, NULL, longest / SHARE, sizeof *listed->at, error)) ||
        (status = copy_of(&listed->number, NULL, longest / SHARE, sizeof(double), error)) ||
        (status = copy_of(&listed->zeros, NULL, longest, sizeof(double), error)))
        return status;
    listed->capacity = longest / SHARE;
    return FPLT_OK;
}

static fplt_status create_worker(struct fplt__threads *threads, unsigned number, size_t scratch,
                                 fplt_error *error)
{
    size_t n = threads->plan.dimension;
    size_t beside = (fplt__objective_batched(threads->objective) - 1) * (n + FPLT__MEASURES);
    struct fplt__worker *worker = &threads->workers[number];
    worker->hands.spread = fplt__threads_spread;
    worker->threads = threads;
    worker->number = number;
    fplt_status status;
    if ((status = copy_of(&worker->staged, NULL, threads->batched * threads->shape.kept * n,
                          sizeof(double), error)) ||
        (status = copy_of(&worker->work, NULL, threads->batched * threads->shape.work * n,
                          sizeof(double), error)) ||
        (status = copy_of(&worker->up, NULL, threads->numbers + beside, sizeof(double), error)) ||
        (status = copy_of(&worker->scratch, NULL, scratch, sizeof(double), error)) ||
        (status = create_list(threads, &worker->listed, error)))
        return status;
    return fplt__sum_create(threads->numbers, FPLT_SUM_EXPONENT, &worker->sum, error);
}

size_t fplt__fleet_longest(const fplt_plan *plan)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    size_t n = plan->dimension, most = 2 * n + FPLT__MEASURES;
    if (shape.mirrored * n > most)
        most = shape.mirrored * n;
    for (unsigned e = 0; e < shape.exchanges; e++) {
        size_t size = fplt__plan_up(plan, e);
        most = size > most ? size : most;
    }
    return most;
}

static fplt_status check_step(const struct fplt__threads *threads, uint32_t agent,
                              fplt_error *error)
{
    const fplt_curvature *curvature = &threads->curvatures[agent - threads->first];
    double step = threads->step[agent - threads->first];
    if (!fplt__solver_has_step(fplt__threads_training(threads, agent)->solver) ||
        (step > 0 && isfinite(step)))
        return FPLT_OK;
    return fplt_error_set(
        error, FPLT_BAD_VALUE,
        "gamma would be %g for agent %u, whose cost curves between %g and %g, but "
        "it must be a number above 0: give gamma, a ridge or a smaller rho",
        step, agent, curvature->lowest, curvature->highest);
}

static fplt_status create_agents(struct fplt__threads *threads, const struct fplt__fleet_plan *plan,
                                 size_t *scratch, fplt_error *error)
{
    const fplt_run_settings *settings = plan->settings;
    size_t n = threads->plan.dimension, agents = threads->own, first = threads->first;
    fplt_status status;
    if ((settings->each && (status = copy_of(&threads->each, settings->each + first, agents,
                                             sizeof *threads->each, error))) ||
        (settings->given &&
         (status = copy_of(&threads->given, settings->given, n, sizeof(double), error))) ||
        (status = copy_of(&threads->step, NULL, agents, sizeof(double), error)) ||
        (status = copy_of(&threads->kept, NULL, agents * threads->shape.kept * n, sizeof(double),
                          error)) ||
        (status = copy_of(&threads->held, NULL, agents * threads->shape.held * n, sizeof(double),
                          error)))
        return status;
    *scratch = 0;
    for (uint32_t i = 0; i < agents; i++) {
        const fplt_training *training = fplt__threads_training(threads, threads->first + i);
        threads->step[i] =
            fplt__member_step(&threads->plan, training, &threads->curvatures[i], plan->cohort);
        if ((status = check_step(threads, threads->first + i, error)))
            return status;
        if (i && !threads->each)
            continue;
        if ((status = fplt__training_check(training, threads->objective, error)))
            return status;
        size_t size = fplt__local_scratch(threads->objective, training);
        size_t state = fplt__solver_state(threads->objective, training);
        *scratch = size > *scratch ? size : *scratch;
        threads->state_size = state > threads->state_size ? state : threads->state_size;
    }
    return copy_of(&threads->state, NULL, agents * threads->state_size, sizeof(double), error);
}

/* No more than there is something to do for; a source of noise is there for every thread asked for. */
static unsigned workers_for(const fplt_ranks *ranks, unsigned asked, uint32_t agents, size_t parts)
{
    unsigned workers = fplt__ranks_threads(ranks, asked);
    size_t most = agents ? agents * parts : 1;
    FPLT__ASSERT(workers > 0 && parts > 0);
    return workers > most ? (unsigned)most : workers;
}

/* Side by side go agents who train alike, where algorithm, solver and cost have the means. */
static uint32_t abreast_of(const struct fplt__threads *threads)
{
    const fplt_algorithm *algorithm = threads->plan.algorithm;
    size_t most = fplt__objective_batched(threads->objective);
    if (!algorithm->prepare || !algorithm->conclude || threads->each ||
        !threads->training.solver->several)
        return 1;
    return most < FPLT__MEMBERS ? (uint32_t)most : FPLT__MEMBERS;
}

fplt_status fplt__threads_create(const struct fplt__fleet_plan *plan, fplt__fleet **out,
                                 fplt_error *error)
{
    *out = NULL;
    const fplt_run_settings *settings = plan->settings;
    uint32_t end;
    struct fplt__threads *threads;
    fplt_status status = fplt__alloc_into(&threads, 1, sizeof *threads, "the agents", error);
    if (status)
        return status;
    threads->base.verbs = &fplt__threads_verbs;
    threads->plan = *plan->plan;
    threads->shape =
        fplt_algorithm_shape(plan->plan->algorithm, plan->plan->parameter, plan->plan->dimension);
    fplt__ranks_block(settings->ranks, plan->plan->agents,
                      settings->ranks ? settings->ranks->number : 0, &threads->first, &end);
    threads->own = end - threads->first;
    threads->objective = plan->objective;
    threads->curvatures = plan->curvatures + threads->first;
    threads->noise = settings->noise;
    threads->training = settings->training;
    threads->start = settings->start;
    threads->start_scale = settings->start_scale;
    pthread_mutex_init(&threads->mutex, NULL);
    threads->lowest = HUGE_VAL;
    for (uint32_t i = 0; i < plan->plan->agents; i++)
        threads->lowest = fmin(threads->lowest, plan->curvatures[i].lowest);
    threads->numbers = fplt__fleet_longest(&threads->plan);
    size_t scratch = 0, parts = fplt__objective_parts(plan->objective);
    threads->shares = parts > 1;
    status = create_agents(threads, plan, &scratch, error);
    threads->batched = status ? 1 : abreast_of(threads);
    if (!status)
        status =
            fplt__pool_create(workers_for(settings->ranks, settings->threads, threads->own, parts),
                              &threads->pool, error);
    if (!status)
        status = fplt__alloc_into(&threads->workers, fplt__pool_threads(threads->pool),
                                  sizeof *threads->workers, "the threads", error);
    for (unsigned i = 0; !status && i < fplt__pool_threads(threads->pool); i++)
        status = create_worker(threads, i, scratch, error);
    if (status) {
        fplt__threads_destroy(&threads->base);
        return status;
    }
    FPLT__ASSERT(threads->batched > 0 && threads->batched <= FPLT__MEMBERS);
    FPLT__ASSERT(threads->first + threads->own <= threads->plan.agents);
    *out = &threads->base;
    return FPLT_OK;
}
