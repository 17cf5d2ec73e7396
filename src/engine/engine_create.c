/* Creation of an engine: defaults, what is allowed, the plan, buffers, hub and fleet. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "base/sum.h"
#include "engine/agents_map.h"
#include "engine/engine.h"
#include "engine/hub_node.h"
#include "engine/ranks.h"
#include "objective/objective_access.h"
#include "participation/participation.h"
#include "prox/prox_access.h"

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
    if (!status && fplt__prox_dimension(engine->prox) != n)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "h has dimension %zu, but the costs have dimension %zu",
                              fplt__prox_dimension(engine->prox), n);
    if (!status && fplt__participation_agents(engine->participation) != engine->plan.agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the participation is of %u agents, but there are %u",
                              fplt__participation_agents(engine->participation),
                              engine->plan.agents);
    return status;
}

/* By turns of equal groups no two of which ever meet. */
static int keeps_groups_apart(const fplt_engine *engine)
{
    return strcmp(fplt__participation_name(engine->participation), "round-robin") == 0 &&
           !fplt__participation_is_full(engine->participation) &&
           engine->plan.agents % fplt_expected_cohort(engine->participation) == 0;
}

static fplt_status allow(const fplt_engine *engine, fplt_error *error)
{
    const fplt_run_settings *settings = &engine->settings;
    int partial = !fplt__participation_is_full(engine->participation);
    int composite = !fplt__prox_is_zero(engine->prox);
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
    engine->facts.unbounded = fplt__objective_is_unbounded(engine->objective);
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
    size_t measures = n + FPLT__MEASURES;
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
             fplt__alloc_into(&engine->wide, 2 * n + FPLT__MEASURES, sizeof(double), what, error)))
        return status;
    if (engine->plan.algorithm->allows & FPLT_SENDS_MEASURES &&
        ((status = fplt__alloc_into(&engine->found_at, n, sizeof(double), what, error)) ||
         (status = fplt__sum_create_words(measures, FPLT_SUM_EXPONENT, &engine->found, error))))
        return status;
    return fplt__sum_create(sums, FPLT_SUM_EXPONENT, &engine->sum, error);
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
    fplt__stream_normals(&stream, deviation, engine->point, engine->plan.dimension);
    return engine->point;
}

static fplt_status build(fplt_engine *engine, fplt_error *error)
{
    const fplt_run_settings *settings = &engine->settings;
    fplt_status status;
    if ((status = make_defaults(engine, error)) || (status = allow(engine, error)) ||
        (status = resolve(engine, error)) || (status = allocate(engine, error)) ||
        (status = fplt__hub_create(&engine->plan, engine->prox, common_start(engine),
                                   fplt__sum_create, &engine->hub, error)))
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
                               .run = settings->run,
                               .unit = settings->unit};
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
    fplt__sum_destroy(engine->sum);
    fplt__sum_destroy(engine->found);
    fplt__free(engine->found_at);
    fplt__free(engine);
}
