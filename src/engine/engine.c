/* The round loop. */
#include "engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithm/local_step.h"
#include "base/assert.h"
#include "base/sum.h"
#include "engine/engine_access.h"
#include "engine/member.h"
#include "participation/participation.h"

/* Numbers, vectors and time of a round with `active` agents. The broadcast after the last sum is
 * the next round's broadcast where participation takes part, and is then not counted twice. */
static void count(fplt_engine *engine, uint32_t active, double gradients)
{
    fplt_counters *counters = &engine->counters;
    fplt_shape shape = engine->hub->shape;
    size_t n = engine->plan.dimension;
    unsigned up = shape.mirrored, down = 0, scalars = 0;
    for (unsigned e = 0; e < shape.exchanges; e++) {
        up += shape.exchange[e].up;
        down += shape.exchange[e].down;
        scalars += shape.exchange[e].up_scalars;
    }
    if (!fplt__participation_is_full(engine->participation))
        down += shape.finish_down;
    FPLT__ASSERT(active <= engine->plan.agents && gradients >= 0);
    double charged = gradients - (double)engine->plan.algorithm->paper.discount * active;
    uint64_t exchanges = (uint64_t)active * shape.exchanges;
    counters->rounds++;
    counters->updates += active;
    counters->exchanges += exchanges;
    counters->gradients += gradients;
    counters->paper_gradients += charged;
    counters->vectors_up += (uint64_t)active * up;
    counters->vectors_down += (uint64_t)active * down;
    counters->scalars_up += (uint64_t)active * scalars;
    counters->bytes_up += (uint64_t)active * (up * n + scalars) * 8;
    counters->bytes_down += (uint64_t)active * (down * n + shape.scalars) * 8;
    double talk = engine->settings.communication_time * (double)exchanges;
    counters->time += engine->settings.gradient_time * gradients + talk;
    counters->paper_time += engine->settings.gradient_time * charged + talk;
}

/* An exchange with the active agents. Measurements that exist for the point are reused. */
static fplt_status exchange_one(fplt_engine *engine, const fplt_round *round, unsigned exchange,
                                double *gradients, fplt_error *error)
{
    const fplt__sum *found = fplt__engine_found(engine, engine->down);
    if (!found)
        return engine->fleet->verbs->train(engine->fleet, round, exchange, engine->active,
                                           engine->down, engine->hub->up, gradients, error);
    *gradients += round->active;
    return fplt__sum_add_part(engine->hub->up, 0, found, 0, engine->plan.dimension + 1);
}

static fplt_status exchange_all(fplt_engine *engine, const fplt_round *round, double *gradients,
                                fplt_error *error)
{
    fplt_status status;
    for (unsigned e = 0; e < engine->hub->shape.exchanges; e++) {
        if ((status = fplt_hub_broadcast(engine->hub, round, e, engine->down)))
            return fplt_error_set(error, status, "the coordinator's proximal step failed");
        if ((status = exchange_one(engine, round, e, gradients, error)))
            return status;
        if ((status = fplt_hub_absorb(engine->hub, round, e)))
            return fplt_error_set(error, status, "the sum over the agents is out of range");
    }
    if (!engine->hub->shape.finish_down)
        return FPLT_OK;
    if ((status =
             fplt_hub_broadcast(engine->hub, round, engine->hub->shape.exchanges, engine->down)))
        return fplt_error_set(error, status, "the coordinator's proximal step failed");
    return engine->fleet->verbs->finish(engine->fleet, round, engine->active, engine->down, error);
}

/* Agents that were through before the failure keep their new state, and the running sums do not know
 * it: nothing may build on that. */
static fplt_status fail_round(fplt_engine *engine, fplt_status status, const fplt_error *error)
{
    fplt_hub_abandon(engine->hub);
    return fplt_error_set(&engine->failure, status,
                          "round %llu failed half way (%.300s): load a checkpoint or begin anew",
                          (unsigned long long)engine->round, error->text);
}

fplt_status fplt_engine_round(fplt_engine *engine, fplt_error *error)
{
    if (engine->failure.status) {
        if (error)
            *error = engine->failure;
        return engine->failure.status;
    }
    uint32_t active = fplt_participation_choose(engine->participation, engine->plan.seed,
                                                engine->plan.run, engine->round, engine->active);
    double gradients = 0;
    engine->last_active = active;
    if (active) {
        fplt_round round;
        fplt_hub_plan(engine->hub, engine->round, active, &round);
        fplt_error own;
        fplt_status status = exchange_all(engine, &round, &gradients, &own);
        if (status) {
            if (error)
                *error = own;
            return fail_round(engine, status, &own);
        }
        for (uint32_t i = 1; i < active; i++)
            FPLT__ASSERT(engine->active[i - 1] < engine->active[i]); /* each agent once */
        for (uint32_t i = 0; i < active; i++)
            engine->updates[engine->active[i]]++;
    }
    count(engine, active, gradients);
    engine->round++;
    return FPLT_OK;
}

/* The first agent whose given step is outside the range in which its own local training contracts;
 * the number of agents where there is none. */
static uint32_t too_long_a_step(const fplt_engine *engine, double *limit)
{
    uint32_t i = 0;
    for (; i < engine->plan.agents; i++) {
        const fplt_training *own = engine->each ? &engine->each[i] : &engine->settings.training;
        fplt_facts facts = engine->facts;
        facts.curvature = engine->curvatures[i];
        *limit = fplt__algorithm_step(engine->plan.algorithm, own->solver, &facts,
                                      engine->plan.parameter)
                     .limit;
        if (own->step > 0 && own->step >= *limit)
            break;
    }
    return i;
}

/* What happened, and what to change. */
static void diverged(const fplt_engine *engine, const fplt_error *error, fplt_result *result)
{
    unsigned long long round = engine->round;
    double limit = NAN;
    uint32_t agent = too_long_a_step(engine, &limit);
    result->outcome = FPLT_RUN_DIVERGED;
    if (!engine->started)
        snprintf(result->sentence, sizeof result->sentence,
                 "the costs at the starting point are too large to be added up exactly, which goes "
                 "to 9.2e18 (%.200s): give labels or rows in larger units",
                 error->text);
    else if (agent < engine->plan.agents)
        snprintf(result->sentence, sizeof result->sentence,
                 "diverged in round %llu (%.200s): gamma is %.4g, but the local steps of agent %u "
                 "contract only below %.4g; try gamma: auto",
                 round, error->text, fplt__engine_step(engine, agent), agent, limit);
    else {
        const fplt_training *training = &engine->settings.training;
        fplt__method_run run = {.algorithm = engine->plan.algorithm,
                                .parameter = engine->plan.parameter,
                                .given = engine->given,
                                .solver = training->solver,
                                .epochs = training->epochs,
                                .step_given = training->step > 0};
        fplt__diverged_sentence(&run, round, error->text, result->sentence,
                                sizeof result->sentence);
    }
}

/* Takes the model of this round, once: a run that is taken up again goes by the move it stopped at.
 * Where the model of the round before is not known, neither is the move. */
static void follow_model(fplt_engine *engine)
{
    size_t n = engine->plan.dimension;
    double change = 0;
    if (engine->seen == engine->round + 1)
        return;
    for (size_t j = 0; j < n; j++)
        change += (engine->point[j] - engine->before[j]) * (engine->point[j] - engine->before[j]);
    engine->moved = engine->seen && engine->seen == engine->round ? sqrt(change) : HUGE_VAL;
    engine->seen = engine->round + 1;
    memcpy(engine->before, engine->point, n * sizeof *engine->point);
}

static fplt__stopping stopping_of(const fplt_engine *engine)
{
    const fplt_run_settings *settings = &engine->settings;
    return (fplt__stopping){.rounds = settings->rounds,
                            .tolerance = settings->tolerance,
                            .change = settings->change,
                            .relative = settings->relative,
                            .evaluate_every = settings->evaluate_every,
                            .blind = settings->blind,
                            .smoothness = engine->plan.agents * engine->facts.curvature.highest};
}

static int has_stalled(fplt_engine *engine)
{
    if (!(engine->settings.change > 0) || fplt_hub_model(engine->hub, engine->point))
        return 0;
    follow_model(engine);
    const fplt_algorithm *algorithm = engine->plan.algorithm;
    if (algorithm->settled && !algorithm->settled(&engine->hub->view))
        return 0;
    double size = sqrt(fplt__squared_norm(engine->point, engine->plan.dimension));
    fplt__stopping stopping = stopping_of(engine);
    return fplt__has_stalled(&stopping, engine->last_active, engine->moved, size);
}

static void describe(const fplt_engine *engine, const fplt_progress *progress, fplt_result *result)
{
    static const char *const words[] = {[FPLT_CONVERGED] = "converged",
                                        [FPLT_STALLED] = "the model no longer changes",
                                        [FPLT_ROUNDS_DONE] = "all rounds done",
                                        [FPLT_STOPPED] = "stopped"};
    int used = snprintf(result->sentence, sizeof result->sentence, "%s after %llu rounds",
                        words[result->outcome], (unsigned long long)engine->round);
    if (!engine->settings.blind)
        snprintf(result->sentence + used, sizeof result->sentence - (size_t)used,
                 ", criterion %.6g", progress->measure.criterion);
}

/* A start near the minimiser must not ask for more than a start from zero does. */
static fplt_status find_base(fplt_engine *engine, fplt_error *error)
{
    const fplt_run_settings *settings = &engine->settings;
    fplt_measure zero;
    if (!isnan(engine->base))
        return FPLT_OK;
    engine->base = engine->start.criterion;
    if (!settings->relative || settings->start == FPLT_START_ZERO || settings->blind)
        return FPLT_OK;
    memset(engine->point, 0, engine->plan.dimension * sizeof *engine->point);
    fplt_status status = fplt__engine_measure_at(engine, engine->point, &zero, error);
    if (!status)
        engine->base = fmax(engine->base, zero.criterion);
    return status;
}

double fplt__engine_target(const fplt_engine *engine)
{
    return engine->settings.tolerance * (engine->settings.relative ? engine->base : 1);
}

/* Measures where the settings ask for it, calls the observer, and decides whether to continue. */
static fplt_status observe(fplt_engine *engine, fplt_observer observer, void *context,
                           fplt_progress *progress, fplt_result *result, fplt_error *error)
{
    const fplt_run_settings *settings = &engine->settings;
    fplt__stopping stopping = stopping_of(engine);
    int stalled = has_stalled(engine);
    progress->measured = fplt__is_due(&stopping, engine->round, engine->started, stalled);
    if (progress->measured) {
        fplt_status status = fplt_engine_measure(engine, &progress->measure, error);
        if (status)
            return status;
    }
    if (!engine->started) {
        engine->start = progress->measure;
        engine->started = 1;
    }
    fplt_status status = find_base(engine, error);
    if (status)
        return status;
    progress->round = engine->round;
    progress->active = engine->last_active;
    progress->counters = engine->counters;
    result->outcome = fplt__stopping_decide(&stopping, engine->round,
                                            progress->measured ? &progress->measure : NULL,
                                            engine->base, stalled, error);
    if (observer && observer(context, progress) && result->outcome == FPLT_RUNNING) {
        result->outcome = FPLT_STOPPED;
        if (!progress->measured && !settings->blind)
            return fplt_engine_measure(engine, &progress->measure, error);
    }
    return result->outcome == FPLT_RUN_DIVERGED ? FPLT_DIVERGED : FPLT_OK;
}

/* The whole run; `result` is not NULL. */
static fplt_status run_to_end(fplt_engine *engine, fplt_observer observer, void *context,
                              fplt_result *result, fplt_error *error)
{
    if (engine->settings.blind)
        engine->start = (fplt_measure){.criterion = NAN, .objective = NAN};
    fplt_progress progress = {.measure = engine->start};
    fplt_error own = engine->failure;
    memset(result, 0, sizeof *result);
    fplt_status status = own.status;
    if (!status)
        status = observe(engine, observer, context, &progress, result, &own);
    while (!status && result->outcome == FPLT_RUNNING) {
        status = fplt_engine_round(engine, &own);
        if (!status)
            status = observe(engine, observer, context, &progress, result, &own);
    }
    result->start = engine->start;
    result->end = progress.measure;
    result->counters = engine->counters;
    result->target = fplt__engine_target(engine);
    if (status == FPLT_DIVERGED) {
        diverged(engine, &own, result);
        return FPLT_OK;
    }
    if (status) {
        if (error)
            *error = own;
        return status;
    }
    describe(engine, &progress, result);
    return FPLT_OK;
}

fplt_status fplt_engine_run(fplt_engine *engine, fplt_observer observer, void *context,
                            fplt_result *result, fplt_error *error)
{
    fplt_result unwanted;
    return run_to_end(engine, observer, context, result ? result : &unwanted, error);
}

fplt_status fplt_engine_model(const fplt_engine *engine, double *x)
{
    return fplt_hub_model(engine->hub, x);
}

const double *fplt__engine_kept(const fplt_engine *engine, uint32_t agent)
{
    return engine->fleet->verbs->kept(engine->fleet, agent);
}

void fplt_engine_serve(fplt_engine *engine)
{
    if (engine->fleet->verbs->serve)
        engine->fleet->verbs->serve(engine->fleet);
}

struct visiting {
    fplt_status (*visit)(void *context, uint32_t agent, const double *kept);
    void *context;
    size_t size;
};

static fplt_status visit_piece(void *context, uint32_t first, uint32_t agents, double *numbers)
{
    const struct visiting *visiting = context;
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; !status && i < agents; i++)
        status = visiting->visit(visiting->context, first + i, numbers + i * visiting->size);
    return status;
}

fplt_status fplt__engine_visit(fplt_engine *engine,
                               fplt_status (*visit)(void *context, uint32_t agent,
                                                    const double *kept),
                               void *context, fplt_error *error)
{
    struct visiting visiting = {visit, context, engine->hub->shape.kept * engine->plan.dimension};
    return engine->fleet->verbs->carry(engine->fleet, FPLT__OUT, visit_piece, &visiting, error);
}

fplt_status fplt__engine_information(fplt_engine *engine, const double *x,
                                     const fplt__information *sums, fplt_error *error)
{
    fplt__information_clear(sums, engine->plan.dimension);
    return engine->fleet->verbs->inform(engine->fleet, x, sums, error);
}

const fplt_counters *fplt_engine_counters(const fplt_engine *engine)
{
    return &engine->counters;
}

fplt_shape fplt__engine_shape(const fplt_engine *engine)
{
    return engine->hub->shape;
}

const double *fplt__engine_parameters(const fplt_engine *engine)
{
    return engine->plan.parameter;
}

fplt_facts fplt__engine_facts(const fplt_engine *engine)
{
    return engine->facts;
}

double fplt__engine_step(const fplt_engine *engine, uint32_t agent)
{
    const fplt_training *training =
        engine->each ? &engine->each[agent] : &engine->settings.training;
    return fplt__member_step(&engine->plan, training, &engine->curvatures[agent],
                             engine->facts.cohort);
}

uint64_t fplt__engine_updates(const fplt_engine *engine, uint32_t agent)
{
    return engine->updates[agent];
}

int fplt__engine_consistent(fplt_engine *engine)
{
    unsigned mirrored = engine->hub->shape.mirrored;
    size_t count_ = mirrored * engine->plan.dimension;
    if (!mirrored)
        return 1;
    fplt__sum_clear(engine->sum);
    if (engine->fleet->verbs->total(engine->fleet, 0, mirrored, engine->sum, NULL))
        return 0;
    for (size_t i = 0; i < count_; i++) {
        uint64_t own[2], running[2];
        fplt__sum_export(engine->sum, i, own, 1);
        fplt__sum_export(engine->hub->totals, i, running, 1);
        if (own[0] != running[0] || own[1] != running[1])
            return 0;
    }
    return 1;
}
