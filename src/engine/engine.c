/* The round loop. */
#include "engine/engine.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "engine/agents_map.h"
#include "engine/member.h"
#include "engine/ranks.h"

fplt_run_settings fplt_run_defaults(void)
{
    return (fplt_run_settings){
        .algorithm = fplt_algorithm_find("fed-plt"),
        .training = fplt_training_defaults(),
        .start_scale = 1,
        .rounds = 1000,
        .tolerance = 1e-5,
        .evaluate_every = 1,
        .gradient_time = 1,
        .communication_time = 10,
    };
}

static fplt_status find_curvatures(fplt_engine *engine, fplt_error *error)
{
    const fplt_run_settings *settings = &engine->settings;
    fplt_curvature all = {HUGE_VAL, -HUGE_VAL};
    if (!settings->curvatures && !(settings->curvature.highest > 0)) {
        fplt_status status =
            fplt__agents_map_curvature(settings->ranks, engine->objective,
                                       fplt__run_looks(settings), settings->threads,
                                       engine->curvatures, error);
        if (status)
            return status;
    }
    for (uint32_t i = 0; i < engine->plan.agents; i++) {
        fplt_curvature *own = &engine->curvatures[i];
        if (settings->curvatures)
            *own = settings->curvatures[i];
        else if (settings->curvature.highest > 0)
            *own = settings->curvature;
        if (!isfinite(own->lowest) || !isfinite(own->highest))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "the cost of agent %u curves between %g and %g, but both must be "
                                  "finite",
                                  i, own->lowest, own->highest);
        all = fplt_curvature_join(all, *own);
    }
    engine->facts.curvature = all;
    return FPLT_OK;
}

/* The most local epochs that an agent does. */
static uint32_t most_epochs(const fplt_engine *engine)
{
    if (!engine->each)
        return engine->settings.training.epochs;
    uint32_t most = 0;
    for (uint32_t i = 0; i < engine->plan.agents; i++)
        most = engine->each[i].epochs > most ? engine->each[i].epochs : most;
    return most;
}

static fplt_status make_defaults(fplt_engine *engine, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    size_t n = engine->plan.dimension;
    engine->prox = engine->settings.prox;
    engine->participation = engine->settings.participation;
    if (!engine->prox) {
        fplt_prox_settings none = fplt_prox_defaults();
        status = fplt_prox_create(&none, n, n, &engine->no_prox, error);
        engine->prox = engine->no_prox;
    }
    if (!status && !engine->participation) {
        fplt_participation_settings all = {.rule = "all"};
        status = fplt_participation_create(&all, engine->plan.agents, &engine->all, error);
        engine->participation = engine->all;
    }
    if (!status && fplt_prox_dimension(engine->prox) != n)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "h has dimension %zu, but the costs have dimension %zu",
                              fplt_prox_dimension(engine->prox), n);
    if (!status && fplt_participation_agents(engine->participation) != engine->plan.agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the participation is of %u agents, but there are %u",
                              fplt_participation_agents(engine->participation),
                              engine->plan.agents);
    return status;
}

/* By turns of equal groups no two of which ever meet. */
static int keeps_groups_apart(const fplt_engine *engine)
{
    return strcmp(fplt_participation_name(engine->participation), "round-robin") == 0 &&
           !fplt_participation_is_full(engine->participation) &&
           engine->plan.agents % fplt_expected_cohort(engine->participation) == 0;
}

static fplt_status allow(const fplt_engine *engine, fplt_error *error)
{
    const fplt_run_settings *settings = &engine->settings;
    int partial = !fplt_participation_is_full(engine->participation);
    int composite = !fplt_prox_is_zero(engine->prox);
    uint32_t distinct = settings->each ? engine->plan.agents : 1;
    if (settings->algorithm->allows & FPLT_NEEDS_MIXING && keeps_groups_apart(engine))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s does not converge with round-robin groups of %u of %u agents: "
                              "corrections would never pass from one group to another; use fixed, "
                              "or a number that does not divide the agents",
                              settings->algorithm->name,
                              fplt_expected_cohort(engine->participation), engine->plan.agents);
    for (uint32_t i = 0; i < distinct; i++) {
        const fplt_training *training = settings->each ? &settings->each[i] : &settings->training;
        if (!training->solver)
            return fplt_error_set(error, FPLT_BAD_VALUE, "agent %u has no local solver", i);
        fplt_status status = FPLT__CHECK_TABLE(fplt_solver, training->solver, error);
        if (status || (status = fplt_algorithm_allow(settings->algorithm, training->solver, partial,
                                                     composite, 0, error)))
            return status;
    }
    return FPLT_OK;
}

/* The training that decides the common step: that of the first agent whose solver shares one, otherwise of any. */
static fplt_status sharing_training(const fplt_engine *engine, const fplt_training **sharing,
                                    fplt_error *error)
{
    const fplt_run_settings *settings = &engine->settings;
    const fplt_training *first = NULL;
    uint32_t first_agent = 0, distinct = settings->each ? engine->plan.agents : 1;
    for (uint32_t i = 0; i < distinct; i++) {
        const fplt_training *own = settings->each ? &settings->each[i] : &settings->training;
        if (!fplt_algorithm_shares_step(settings->algorithm, own->solver))
            continue;
        if (first && own->step != first->step)
            return fplt_error_set(
                error, FPLT_UNSUPPORTED,
                "agents %u and %u have gamma %g and %g, but %s needs the same step size for all",
                first_agent, i, first->step, own->step, settings->algorithm->name);
        if (!first)
            first_agent = i;
        first = own;
    }
    *sharing = first ? first : settings->each ? settings->each : &settings->training;
    return FPLT_OK;
}

/* The first parameter of the algorithm that is not what it is by default; NULL: none. */
static const fplt_setting *given_parameter(const fplt_run_settings *settings)
{
    const fplt_setting *row = settings->algorithm->settings;
    double defaults[FPLT_MAX_PARAMETERS];
    fplt_algorithm_defaults(settings->algorithm, defaults);
    for (size_t i = 0; settings->parameter && row[i].name; i++)
        if (!isnan(settings->parameter[i]) && !(settings->parameter[i] == defaults[i]))
            return &row[i];
    return NULL;
}

static fplt_status resolve(fplt_engine *engine, fplt_error *error)
{
    const fplt_run_settings *settings = &engine->settings;
    const fplt_training *training = NULL;
    fplt_status status = find_curvatures(engine, error);
    if (status)
        return status;
    engine->facts.agents = engine->plan.agents;
    engine->facts.cohort = fplt_expected_cohort(engine->participation);
    engine->facts.epochs = most_epochs(engine);
    engine->facts.dimension = engine->plan.dimension;
    engine->given = given_parameter(settings);
    if ((status = sharing_training(engine, &training, error)) ||
        (status = fplt_plan_resolve(settings->algorithm, settings->parameter, training,
                                    &engine->facts, &engine->plan, error)))
        return status;
    if (settings->start == FPLT_START_PRIOR && !(engine->facts.curvature.lowest > 0))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the prior start needs strongly convex costs, but their least "
                              "curvature is %g",
                              engine->facts.curvature.lowest);
    return FPLT_OK;
}

static fplt_status allocate(fplt_engine *engine, fplt_error *error)
{
    size_t n = engine->plan.dimension, agents = engine->plan.agents, down = 1;
    fplt_shape shape = fplt_algorithm_shape(engine->plan.algorithm, engine->plan.parameter, n);
    for (unsigned e = 0; e <= shape.exchanges; e++) {
        size_t size = fplt_plan_down(&engine->plan, e);
        down = size > down ? size : down;
    }
    size_t measures = n + FPLT_MEASURES;
    size_t sums = shape.mirrored * n > measures ? shape.mirrored * n : measures;
    const char *what = "the engine";
    fplt_status status;
    if ((status = fplt__alloc_into(&engine->active, agents, sizeof *engine->active, what, error)) ||
        (status =
             fplt__alloc_into(&engine->updates, agents, sizeof *engine->updates, what, error)) ||
        (status = fplt__alloc_into(&engine->down, down, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&engine->point, n, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&engine->before, n, sizeof(double), what, error)) ||
        (status =
             fplt__alloc_into(&engine->wide, 2 * n + FPLT_MEASURES, sizeof(double), what, error)))
        return status;
    if (engine->plan.algorithm->allows & FPLT_SENDS_MEASURES &&
        ((status = fplt__alloc_into(&engine->found_at, n, sizeof(double), what, error)) ||
         (status = fplt_sum_create_words(measures, FPLT_SUM_EXPONENT, &engine->found, error))))
        return status;
    return fplt_sum_create(sums, FPLT_SUM_EXPONENT, &engine->sum, error);
}

/* The common model at the start, NULL for zero: where agents keep none of their own it is what is drawn. */
static const double *common_start(fplt_engine *engine)
{
    const fplt_run_settings *settings = &engine->settings;
    if (settings->start == FPLT_START_GIVEN)
        return settings->given;
    if (settings->start == FPLT_START_ZERO || settings->algorithm->begin)
        return NULL;
    double deviation =
        settings->start == FPLT_START_RANDOM
            ? settings->start_scale
            : sqrt(2 / engine->facts.curvature.lowest) * settings->training.noise_tau;
    fplt_stream stream = fplt_stream_make(engine->plan.seed, engine->plan.run, FPLT_FOR_START, 0,
                                          engine->plan.agents, 0);
    fplt_stream_normals(&stream, deviation, engine->point, engine->plan.dimension);
    return engine->point;
}

static fplt_status build(fplt_engine *engine, fplt_error *error)
{
    const fplt_run_settings *settings = &engine->settings;
    fplt_status status;
    if ((status = make_defaults(engine, error)) || (status = allow(engine, error)) ||
        (status = resolve(engine, error)) || (status = allocate(engine, error)) ||
        (status = fplt__hub_create(&engine->plan, engine->prox, common_start(engine),
                                   fplt_sum_create, &engine->hub, error)))
        return status;
    struct fplt__fleet_plan plan = {&engine->plan,        engine->objective,
                                    &engine->settings,    engine->curvatures,
                                    engine->facts.cohort, engine->participation};
    if ((status = settings->ranks ? fplt__ranked_create(&plan, &engine->fleet, error)
                                  : fplt__threads_create(&plan, &engine->fleet, error)) ||
        (status = engine->fleet->verbs->begin(engine->fleet, engine->hub->totals, error)))
        return status;
    fplt__hub_refresh(engine->hub);
    return FPLT_OK;
}

/* Epochs of 0 are those of all. */
static void copy_each(fplt_engine *engine, const fplt_run_settings *settings)
{
    for (uint32_t i = 0; i < engine->plan.agents; i++) {
        engine->each[i] = settings->each[i];
        if (!engine->each[i].epochs)
            engine->each[i].epochs = settings->training.epochs;
    }
    engine->settings.each = engine->each;
}

fplt_status fplt_engine_create(const fplt_objective *objective, const fplt_run_settings *settings,
                               fplt_engine **out, fplt_error *error)
{
    *out = NULL;
    if (settings->start == FPLT_START_GIVEN && !settings->given)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the starting point is to be given, but is "
                              "not");
    if (settings->blind && (settings->tolerance > 0 || settings->change > 0))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "tolerance is %g and change %g, but a run that measures nothing needs "
            "both at 0",
            settings->tolerance, settings->change);
    fplt_engine *engine;
    fplt_status status = fplt__plan_check_algorithm(settings->algorithm, error);
    if (!status && settings->noise)
        status = FPLT__CHECK_TABLE(fplt_noise_source, settings->noise, error);
    if (!status && settings->ranks)
        status = FPLT__CHECK_TABLE(fplt_ranks, settings->ranks, error);
    if (status || (status = fplt__alloc_into(&engine, 1, sizeof *engine, "the engine", error)))
        return status;
    engine->objective = objective;
    engine->settings = *settings;
    engine->base = NAN;
    engine->plan = (fplt_plan){.algorithm = settings->algorithm,
                               .agents = fplt_objective_agents(objective),
                               .dimension = fplt_objective_dimension(objective),
                               .seed = settings->seed,
                               .run = settings->run};
    status = fplt__alloc_into(&engine->curvatures, engine->plan.agents, sizeof *engine->curvatures,
                              "the engine", error);
    if (!status && settings->each) {
        status = fplt__alloc_into(&engine->each, engine->plan.agents, sizeof *engine->each,
                                  "the engine", error);
        if (!status)
            copy_each(engine, settings);
    }
    if (!status)
        status = build(engine, error);
    if ((status = fplt_ranks_agree(settings->ranks, status, error))) {
        fplt_engine_destroy(engine);
        return status;
    }
    engine->settings.parameter = NULL;
    engine->settings.curvatures = NULL;
    engine->settings.given = NULL;
    *out = engine;
    return FPLT_OK;
}

void fplt_engine_destroy(fplt_engine *engine)
{
    if (!engine)
        return;
    if (engine->fleet)
        engine->fleet->verbs->destroy(engine->fleet);
    fplt_hub_destroy(engine->hub);
    fplt_prox_destroy(engine->no_prox);
    fplt_participation_destroy(engine->all);
    fplt__free(engine->curvatures);
    fplt__free(engine->each);
    fplt__free(engine->active);
    fplt__free(engine->updates);
    fplt__free(engine->down);
    fplt__free(engine->point);
    fplt__free(engine->before);
    fplt__free(engine->wide);
    fplt_sum_destroy(engine->sum);
    fplt_sum_destroy(engine->found);
    fplt__free(engine->found_at);
    fplt__free(engine);
}

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
    if (!fplt_participation_is_full(engine->participation))
        down += shape.finish_down;
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

/* An exchange with the active agents. Who asks for no more than was measured there is not asked again. */
static fplt_status exchange_one(fplt_engine *engine, const fplt_round *round, unsigned exchange,
                                double *gradients, fplt_error *error)
{
    const fplt_sum *found = fplt__engine_found(engine, engine->down);
    if (!found)
        return engine->fleet->verbs->train(engine->fleet, round, exchange, engine->active,
                                           engine->down, engine->hub->up, gradients, error);
    *gradients += round->active;
    return fplt_sum_add_part(engine->hub->up, 0, found, 0, engine->plan.dimension + 1);
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
        *limit =
            fplt_algorithm_step(engine->plan.algorithm, own->solver, &facts, engine->plan.parameter)
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
                 round, error->text, fplt_engine_step(engine, agent), agent, limit);
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
    fplt_status status = fplt_engine_measure_at(engine, engine->point, &zero, error);
    if (!status)
        engine->base = fmax(engine->base, zero.criterion);
    return status;
}

double fplt__engine_target(const fplt_engine *engine)
{
    return engine->settings.tolerance * (engine->settings.relative ? engine->base : 1);
}

/* Measures where the settings ask for it, tells the observer, and decides whether to go on. */
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

const double *fplt_engine_kept(const fplt_engine *engine, uint32_t agent)
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

fplt_status fplt_engine_visit(fplt_engine *engine,
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

fplt_shape fplt_engine_shape(const fplt_engine *engine)
{
    return engine->hub->shape;
}

const double *fplt_engine_parameters(const fplt_engine *engine)
{
    return engine->plan.parameter;
}

fplt_facts fplt_engine_facts(const fplt_engine *engine)
{
    return engine->facts;
}

double fplt_engine_step(const fplt_engine *engine, uint32_t agent)
{
    const fplt_training *training =
        engine->each ? &engine->each[agent] : &engine->settings.training;
    return fplt__member_step(&engine->plan, training, &engine->curvatures[agent],
                             engine->facts.cohort);
}

uint64_t fplt_engine_updates(const fplt_engine *engine, uint32_t agent)
{
    return engine->updates[agent];
}

int fplt_engine_consistent(fplt_engine *engine)
{
    unsigned mirrored = engine->hub->shape.mirrored;
    size_t count_ = mirrored * engine->plan.dimension;
    if (!mirrored)
        return 1;
    fplt_sum_clear(engine->sum);
    if (engine->fleet->verbs->total(engine->fleet, 0, mirrored, engine->sum, NULL))
        return 0;
    for (size_t i = 0; i < count_; i++) {
        uint64_t own[2], running[2];
        fplt_sum_export(engine->sum, i, own, 1);
        fplt_sum_export(engine->hub->totals, i, running, 1);
        if (own[0] != running[0] || own[1] != running[1])
            return 0;
    }
    return 1;
}
