/* The fleet on the threads of one process, of all agents or of a block of them. An agent is never an object: its vectors are rows of one
 * array, its staged state belongs to the worker that trains it and is committed in place, and the
 * view an algorithm sees is filled on the stack. */
#include "engine/threads.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/sum.h"
#include "engine/hub.h"
#include "engine/hub_node.h"
#include "engine/member.h"
#include "objective/objective.h"
#include "solver/solver.h"

/* Numbers that an agent keeps, so many of which are brought near before its turn. */
enum { APPROACHED = 64 };

static struct fplt__threads *threads_of(fplt__fleet *fleet)
{
    return (struct fplt__threads *)(void *)fleet;
}

/* Doubles that an agent keeps. */
static size_t kept_size(const struct fplt__threads *threads)
{
    return threads->shape.kept * threads->plan.dimension;
}

static double *kept_of(const struct fplt__threads *threads, uint32_t agent)
{
    FPLT__ASSERT(agent - threads->first < threads->own);
    return threads->kept + (size_t)(agent - threads->first) * kept_size(threads);
}

/* Field by field: a million of them are filled in a round. `slot`: whose staged state and work it has of those
 * that the worker trains side by side. */
static void fill_view(struct fplt__threads *threads, unsigned number, unsigned slot,
                      uint32_t identity, fplt_agent *agent, fplt_local *local)
{
    struct fplt__worker *worker = &threads->workers[number];
    size_t n = threads->plan.dimension, place = identity - threads->first;
    FPLT__ASSERT(number < fplt__pool_threads(threads->pool) && slot < threads->batched);
    local->problem.objective = threads->objective;
    local->problem.agent = identity;
    local->problem.linear = local->problem.centre = NULL;
    local->problem.inverse_rho = 0;
    local->training = *fplt__threads_training(threads, identity);
    local->step = fplt__decayed_step(&local->training, threads->step[place],
                                     threads->round ? threads->round->number : 0);
    local->curvature = threads->curvatures[place];
    local->seed = threads->plan.seed;
    local->round = threads->round ? threads->round->number : 0;
    local->run = threads->plan.run;
    local->member_index = identity;
    local->noise = threads->noise ? &threads->noise[number] : NULL;
    local->scratch = worker->scratch;
    local->state = threads->state_size ? threads->state + place * threads->state_size : NULL;
    local->gradients = 0;
    agent->member_index = identity;
    agent->dimension = n;
    agent->parameter = threads->plan.parameter;
    agent->kept = kept_of(threads, identity);
    agent->staged = worker->staged + slot * kept_size(threads);
    agent->held = threads->held + place * threads->shape.held * n;
    agent->work = worker->work + slot * threads->shape.work * n;
    agent->local = local;
    agent->listed = worker->listed.capacity ? &worker->listed : NULL;
}

static fplt_agent view_of(struct fplt__threads *threads, unsigned number, uint32_t identity,
                          fplt_local *local)
{
    fplt_agent agent;
    fill_view(threads, number, 0, identity, &agent, local);
    return agent;
}

static void commit(struct fplt__threads *threads, const fplt_agent *agent)
{
    FPLT__ASSERT(agent->staged != agent->kept); /* staged first, accepted here */
    memcpy(kept_of(threads, agent->member_index), agent->staged,
           kept_size(threads) * sizeof(double));
}

struct sharing {
    struct fplt__threads *threads;
    fplt__part part;
    void *context;
    double *scratch; /* of the thread `number`, which asked */
    unsigned number;
};

static void do_part(void *context, size_t index, unsigned who)
{
    const struct sharing *sharing = context;
    FPLT__ASSERT(who < fplt__pool_threads(sharing->threads->pool));
    sharing->part(sharing->context, index,
                  who == sharing->number ? sharing->scratch
                                         : sharing->threads->workers[who].scratch);
}

void fplt__threads_spread(fplt__parallel *hands, size_t count, fplt__part part, void *context,
                          double *scratch)
{
    const struct fplt__worker *worker = (const struct fplt__worker *)(const void *)hands;
    struct sharing sharing = {worker->threads, part, context, scratch, worker->number};
    fplt__pool_share(worker->threads->pool, worker->number, count, do_part, &sharing);
}

/* Of several failures the one of the first agent is reported, whatever the timing. */
static void report(struct fplt__threads *threads, uint32_t position, const fplt_error *error)
{
    pthread_mutex_lock(&threads->mutex);
    if (!atomic_load(&threads->failed) || position < threads->failed_position) {
        threads->failure = *error;
        threads->failed_position = position;
        atomic_store(&threads->failed, 1);
    }
    pthread_mutex_unlock(&threads->mutex);
}

/* Before its first portion a worker clears its sum, where the job has one: each its own, at the same time. */
static void prepare_sum(struct fplt__threads *threads, struct fplt__worker *worker)
{
    FPLT__ASSERT(threads->summing || !worker->sums);
    if (!threads->summing || worker->sums)
        return;
    fplt__sum_clear(worker->sum);
    worker->sums = 1;
}

/* Hands out positions 0 .. count - 1 in small portions; zero when none is left. Where agents go side by side a
 * portion has whole groups, and some of them: they are small, and what comes next is brought near meanwhile. */
static int take(struct fplt__threads *threads, unsigned number, uint32_t count, uint32_t group,
                uint32_t *first, uint32_t *last)
{
    enum { GROUPS = 6 };
    uint32_t workers = fplt__pool_threads(threads->pool), portion = count / (8 * workers) + 1;
    if (group > 1) {
        uint32_t share = (count + workers - 1) / workers, least = GROUPS * group;
        least = least < share ? least : share;
        portion = portion > least ? portion : least;
        portion = (portion + group - 1) / group * group;
    }
    FPLT__ASSERT(portion > 0 && portion % group == 0);
    /* asked before it takes: a portion once taken is done, so that no earlier failure is missed */
    if (atomic_load(&threads->failed))
        return 0;
    *first = atomic_fetch_add(&threads->next, portion);
    if (*first >= count)
        return 0;
    *last = count - *first > portion ? *first + portion : count;
    FPLT__ASSERT(*first < *last && *last <= count);
    prepare_sum(threads, &threads->workers[number]);
    return 1;
}

/* Prefetches the next agents: where few of many are active, their data are not in the cache. First the pointers to
 * an agent's numbers, */
static void approach_places(const struct fplt__threads *threads, const uint32_t *active,
                            uint32_t from, uint32_t to)
{
    for (uint32_t k = from; k < to; k++) {
        size_t place = active[k] - threads->first;
        fplt__objective_approach(threads->objective, active[k], 0);
        __builtin_prefetch(&threads->step[place]);
        __builtin_prefetch(&threads->curvatures[place]);
    }
}

/* and later the numbers. */
static void approach_numbers(const struct fplt__threads *threads, const uint32_t *active,
                             uint32_t from, uint32_t to)
{
    size_t size = kept_size(threads), near = size < APPROACHED ? size : APPROACHED;
    for (uint32_t k = from; k < to; k++) {
        const double *own = kept_of(threads, active[k]);
        fplt__objective_approach(threads->objective, active[k], 1);
        for (size_t at = 0; at < near; at += 8)
            __builtin_prefetch(own + at);
        __builtin_prefetch(own + near);
    }
}

/* Before the group at i of first .. last - 1 has its turn. */
static void approach(const struct fplt__threads *threads, const uint32_t *active, uint32_t i,
                     uint32_t first, uint32_t last)
{
    uint32_t some = threads->batched, left = last - i, near = some + 2, far = near + some + 2;
    approach_places(threads, active + i,
                    i == first   ? 0
                    : far < left ? far
                                 : left,
                    far + some < left ? far + some : left);
    approach_numbers(threads, active + i,
                     i == first    ? 0
                     : near < left ? near
                                   : left,
                     near + some < left ? near + some : left);
}

/* An exchange with some agents, the first at a position of the cohort; zero where one failed. */
static int train_some(struct fplt__threads *threads, unsigned number, fplt_round *round,
                      uint32_t position, uint32_t count)
{
    struct fplt__worker *worker = &threads->workers[number];
    int last_step =
        threads->exchange + 1 == threads->shape.exchanges && !threads->shape.finish_down;
    fplt_error error;
    fplt_local local[FPLT__MEMBERS];
    fplt_agent agent[FPLT__MEMBERS];
    uint32_t done = 0;
    fplt_status status;
    FPLT__ASSERT(count > 0 && count <= threads->batched && count <= FPLT__MEMBERS);
    FPLT__ASSERT(position >= threads->position &&
                 position + count <= threads->position + threads->active_own);
    for (uint32_t i = 0; i < count; i++)
        fill_view(threads, number, i, threads->active[position + i], &agent[i], &local[i]);
    if (threads->batched > 1) {
        fplt__members members = {agent, count, position};
        status = fplt__members_exchange(&threads->plan, &threads->shape, &members, round,
                                        threads->exchange, threads->point, worker->up, worker->sum,
                                        &done, &error);
    } else {
        round->position = position;
        status =
            fplt__member_exchange(&threads->plan, &threads->shape, agent, round, threads->exchange,
                                  threads->point, worker->up, worker->sum, &error);
        done = !status;
    }
    FPLT__ASSERT(status ? done < count : done == count);
    for (uint32_t i = 0; i < count; i++)
        /* a multiple of 2^-20, so that the total does not depend on who counted */
        worker->gradients += nearbyint(local[i].gradients * 0x1p20) * 0x1p-20;
    for (uint32_t i = 0; last_step && i < done; i++)
        commit(threads, &agent[i]);
    if (status)
        report(threads, position + done, &error);
    return !status;
}

static void train_task(void *context, unsigned number)
{
    struct fplt__threads *threads = context;
    fplt_round round = *threads->round;
    uint32_t first, last;
    while (take(threads, number, threads->active_own, threads->batched, &first, &last)) {
        for (uint32_t i = first, some; i < last; i += some) {
            uint32_t position = threads->position + i;
            some = last - i < threads->batched ? last - i : threads->batched;
            approach(threads, threads->active + threads->position, i, first, last);
            if (!train_some(threads, number, &round, position, some))
                return;
        }
    }
}

static void finish_task(void *context, unsigned number)
{
    struct fplt__threads *threads = context;
    fplt_round round = *threads->round;
    uint32_t first, last;
    while (take(threads, number, threads->active_own, 1, &first, &last)) {
        for (uint32_t i = first; i < last; i++) {
            uint32_t position = threads->position + i;
            fplt_local local;
            fplt_agent agent = view_of(threads, number, threads->active[position], &local);
            round.position = position;
            threads->plan.algorithm->finish(&agent, &round, threads->point);
            commit(threads, &agent);
        }
    }
}

/* Adds what was measured of some agents, one behind the other; zero where one is out of range. */
static int add_measures(struct fplt__threads *threads, struct fplt__worker *worker, uint32_t agent,
                        uint32_t count)
{
    size_t each = threads->plan.dimension + FPLT__MEASURES;
    FPLT__ASSERT(worker->sums); /* cleared for this job */
    for (uint32_t i = 0; i < count; i++) {
        fplt_error error;
        fplt_status status = fplt__sum_add(worker->sum, 0, worker->up + i * each, each);
        if (status) {
            fplt_error_set(&error, status,
                           "the cost of agent %u or its gradient is not finite or too large",
                           agent + i);
            report(threads, agent + i, &error);
            return 0;
        }
    }
    return 1;
}

static int evaluate_one(struct fplt__threads *threads, struct fplt__worker *worker, uint32_t agent)
{
    fplt_error error;
    fplt_status status = fplt__member_measure(threads->objective, agent, threads->point, worker->up,
                                              worker->scratch);
    if (status) {
        fplt_error_set(&error, status, "the cost of agent %u failed", agent);
        report(threads, agent, &error);
    }
    return !status && add_measures(threads, worker, agent, 1);
}

/* Gradient sums, value, hits, records, agents that classify. */
static void evaluate_task(void *context, unsigned number)
{
    struct fplt__threads *threads = context;
    struct fplt__worker *worker = &threads->workers[number];
    uint32_t first, last, group = (uint32_t)fplt__objective_batched(threads->objective);
    while (take(threads, number, threads->own, group, &first, &last)) {
        for (uint32_t i = first, some; i < last; i += some) {
            uint32_t agent = threads->first + i;
            some = last - i < group ? last - i : group;
            if (some == FPLT__MEMBERS &&
                fplt__members_measure(threads->objective, agent, threads->point, worker->up,
                                      worker->scratch)) {
                if (!add_measures(threads, worker, agent, some))
                    return;
                continue;
            }
            for (uint32_t k = 0; k < some; k++)
                if (!evaluate_one(threads, worker, agent + k))
                    return;
        }
    }
}

static void total_task(void *context, unsigned number)
{
    struct fplt__threads *threads = context;
    struct fplt__worker *worker = &threads->workers[number];
    size_t n = threads->plan.dimension;
    uint32_t first, last;
    while (take(threads, number, threads->own, 1, &first, &last)) {
        for (uint32_t i = first; i < last; i++) {
            uint32_t agent = threads->first + i;
            const double *vectors = kept_of(threads, agent) + threads->vector * n;
            if (fplt__sum_add(worker->sum, 0, vectors, threads->count * n)) {
                fplt_error error;
                fplt_error_set(&error, FPLT_DIVERGED, "agent %u keeps a number out of range",
                               agent);
                report(threads, agent, &error);
                return;
            }
        }
    }
}

/* The job at hand, with help for what is large. */
static void take_part(void *context, unsigned number)
{
    struct fplt__threads *threads = context;
    fplt__parallel_set(&threads->workers[number].hands);
    threads->task(threads, number);
    fplt__parallel_set(NULL);
}

/* Starts the job on all workers and adds up their sums. */
static fplt_status run_on_pool(struct fplt__threads *threads, void (*task)(void *, unsigned),
                               fplt__sum *sum, size_t count, fplt_error *error)
{
    FPLT__ASSERT(count <= threads->numbers);
    FPLT__ASSERT(sum ? count <= fplt__sum_length(sum) : count == 0);
    atomic_store(&threads->next, 0);
    atomic_store(&threads->failed, 0);
    unsigned workers = fplt__pool_threads(threads->pool);
    for (unsigned i = 0; i < workers; i++)
        threads->workers[i].sums = 0;
    threads->summing = sum != NULL;
    threads->task = task;
    fplt__pool_run(threads->pool, threads->shares ? take_part : task, threads);
    if (atomic_load(&threads->failed)) {
        if (error)
            *error = threads->failure;
        return threads->failure.status;
    }
    for (unsigned i = 0; i < workers; i++) {
        if (!threads->workers[i].sums)
            continue;
        fplt_status status = fplt__sum_add_part(sum, 0, threads->workers[i].sum, 0, count);
        if (status)
            return fplt_error_set(error, status, "the sum over all agents is out of range");
    }
    return FPLT_OK;
}

/* How many of `active`, which increase, come before an agent. */
static uint32_t before(const uint32_t *active, uint32_t count, uint32_t agent)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (active[middle] < agent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void take_round(struct fplt__threads *threads, const fplt_round *round,
                       const uint32_t *active, const double *down)
{
    threads->round = round;
    threads->active = active;
    threads->position = before(active, round->active, threads->first);
    threads->active_own =
        before(active, round->active, threads->first + threads->own) - threads->position;
    FPLT__ASSERT(threads->position + threads->active_own <= round->active);
    FPLT__ASSERT(threads->active_own <= threads->own);
    threads->point = down;
}

static fplt_status train(fplt__fleet *fleet, const fplt_round *round, unsigned exchange,
                         const uint32_t *active, const double *down, fplt__sum *sum,
                         double *gradients, fplt_error *error)
{
    struct fplt__threads *threads = threads_of(fleet);
    FPLT__ASSERT(exchange < threads->shape.exchanges);
    take_round(threads, round, active, down);
    threads->exchange = exchange;
    unsigned workers = fplt__pool_threads(threads->pool);
    for (unsigned i = 0; i < workers; i++)
        threads->workers[i].gradients = 0;
    fplt_status status =
        run_on_pool(threads, train_task, sum, fplt__plan_up(&threads->plan, exchange), error);
    for (unsigned i = 0; i < workers; i++)
        *gradients += threads->workers[i].gradients;
    return status;
}

static fplt_status finish(fplt__fleet *fleet, const fplt_round *round, const uint32_t *active,
                          const double *down, fplt_error *error)
{
    struct fplt__threads *threads = threads_of(fleet);
    FPLT__ASSERT(threads->shape.finish_down > 0 && threads->plan.algorithm->finish);
    take_round(threads, round, active, down);
    return run_on_pool(threads, finish_task, NULL, 0, error);
}

static fplt_status evaluate(fplt__fleet *fleet, const double *x, fplt__sum *sum, fplt_error *error)
{
    struct fplt__threads *threads = threads_of(fleet);
    threads->point = x;
    return run_on_pool(threads, evaluate_task, sum, threads->plan.dimension + FPLT__MEASURES,
                       error);
}

static fplt_status total(fplt__fleet *fleet, unsigned vector, unsigned count, fplt__sum *sum,
                         fplt_error *error)
{
    struct fplt__threads *threads = threads_of(fleet);
    FPLT__ASSERT(vector + count <= threads->shape.kept);
    threads->vector = vector;
    threads->count = count;
    return run_on_pool(threads, total_task, sum, count * threads->plan.dimension, error);
}

/* The agent's starting points into two work vectors. */
static void draw_start(const struct fplt__threads *threads, uint32_t agent, double *start,
                       double *second)
{
    size_t n = threads->plan.dimension;
    fplt_stream stream =
        fplt_stream_make(threads->plan.seed, threads->plan.run, FPLT_FOR_START, 0, agent, 0);
    memset(start, 0, n * sizeof *start);
    memset(second, 0, n * sizeof *second);
    if (threads->start == FPLT_START_GIVEN) {
        memcpy(start, threads->given, n * sizeof *start);
        memcpy(second, threads->given, n * sizeof *second);
    }
    if (threads->start == FPLT_START_RANDOM) {
        fplt__stream_normals(&stream, threads->start_scale, start, n);
        fplt__stream_normals(&stream, threads->start_scale, second, n);
    }
    if (threads->start == FPLT_START_PRIOR) {
        double deviation =
            sqrt(2 / threads->lowest) * fplt__threads_training(threads, agent)->noise_tau;
        fplt__stream_normals(&stream, deviation, start, n);
    }
}

static void begin_task(void *context, unsigned number)
{
    struct fplt__threads *threads = context;
    double *start = threads->workers[number].up, *second = start + threads->plan.dimension;
    uint32_t first, last;
    while (take(threads, number, threads->own, 1, &first, &last)) {
        for (uint32_t i = threads->first + first; i < threads->first + last; i++) {
            fplt_local local;
            fplt_agent agent = view_of(threads, number, i, &local);
            draw_start(threads, i, start, second);
            fplt__member_begin(&threads->plan, &threads->shape, &agent, start, second);
            commit(threads, &agent);
        }
    }
}

static fplt_status begin_agents(fplt__fleet *fleet, fplt__sum *totals, fplt_error *error)
{
    struct fplt__threads *threads = threads_of(fleet);
    fplt_status status = run_on_pool(threads, begin_task, NULL, 0, error);
    if (!status)
        status = total(fleet, 0, threads->shape.mirrored, totals, error);
    return status ? fplt_error_set(error, status, "the initial vectors are out of range") : FPLT_OK;
}

/* In place, all at once. */
static fplt_status carry(fplt__fleet *fleet, fplt__direction direction, fplt__fleet_piece piece,
                         void *context, fplt_error *error)
{
    struct fplt__threads *threads = threads_of(fleet);
    (void)direction;
    fplt_status status = piece(context, threads->first, threads->own, threads->kept);
    return status ? fplt_error_set(error, status, "the agents' state cannot be carried") : FPLT_OK;
}

static fplt_status inform(fplt__fleet *fleet, const double *x, const fplt__information *sums,
                          fplt_error *error)
{
    struct fplt__threads *threads = threads_of(fleet);
    return fplt__objective_add_information(threads->objective, threads->first,
                                           threads->first + threads->own, x, sums, error);
}

static const double *kept(const fplt__fleet *fleet, uint32_t agent)
{
    const struct fplt__threads *threads = (const struct fplt__threads *)(const void *)fleet;
    return agent - threads->first < threads->own ? kept_of(threads, agent) : NULL;
}

const struct fplt__fleet_verbs fplt__threads_verbs = {
    .begin = begin_agents,
    .train = train,
    .finish = finish,
    .evaluate = evaluate,
    .total = total,
    .carry = carry,
    .inform = inform,
    .kept = kept,
    .destroy = fplt__threads_destroy,
};
