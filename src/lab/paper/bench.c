/* Runs the setups behind the paper's tables: tunes each on the first data set (or on every one, where
 * nothing is random), judges it there by all Monte Carlo runs and on the others by fewer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lab/paper/paper.h"
#include "fedplt/algorithm.h"
#include "fedplt/participation.h"

/* Keys of the runs that tune; those that judge count from 0. */
#define TUNING_KEY UINT32_C(0x80000000)

enum { MAX_TUNING = 20, BURN_IN = 60, AVERAGED = 40, NOISY_ELSEWHERE = 2, MAX_ROUNDS = 600 };

/* Runs behind a point of a search, and on the data sets that only make the median. A run at n = 100
 * takes as long as twelve at n = 5. */
static const struct {
    size_t tuning, elsewhere;
} economy[FPLT__PROBLEMS] = {{20, 5}, {20, 5}, {4, 3}, {4, 3}};

static const double tolerance = 1e-5, regulariser_weight = 0.5;
static const size_t large_features = 100;

static int is_large(enum fplt__paper_problem problem)
{
    return problem == FPLT__LARGE || problem == FPLT__FAR;
}

/* Setups */

static int is_same(const fplt__setup *a, const fplt__setup *b)
{
    return a->problem == b->problem && strcmp(a->algorithm, b->algorithm) == 0 &&
           strcmp(a->solver, b->solver) == 0 && a->active == b->active && a->epochs == b->epochs &&
           a->rho == b->rho && a->plain == b->plain && a->variance == b->variance;
}

static void clear_entry(fplt__entry *entry)
{
    if (!entry)
        return;
    fplt_participation_destroy(entry->partial);
    fplt__free(entry->tuned);
    fplt__free(entry->judged);
    fplt__free(entry->error);
    fplt__free(entry);
}

static void fill_method(fplt__entry *entry)
{
    const fplt__setup *setup = &entry->setup;
    const fplt_algorithm *algorithm = fplt_algorithm_find(setup->algorithm);
    entry->method.run = fplt_run_defaults();
    fplt__method_defaults(&entry->method, algorithm);
    fplt_run_settings *run = &entry->method.run;
    run->training.solver = fplt_solver_find(setup->variance > 0 ? "noisy" : setup->solver);
    run->training.epochs = setup->epochs;
    run->training.noise_tau = sqrt(setup->variance);
    run->tolerance = tolerance;
    run->rounds = MAX_ROUNDS;
    run->threads = 1;
    run->evaluate_every = 0;
    fplt__method_fix(&entry->method, "p", 1.0 / setup->epochs); /* TAMUNA: the mean length is N_e */
    if (setup->rho > 0)
        fplt__method_fix(&entry->method, "rho", setup->rho);
}

static fplt_status fill_entry(const fplt__bench *bench, fplt__entry *entry, fplt_error *error)
{
    const fplt__setup *setup = &entry->setup;
    uint32_t seeds = bench->settings.seeds, agents = fplt_generate_defaults().agents;
    const char *what = "a table";
    fplt_status status;
    fplt_error reason;
    fill_method(entry);
    entry->random = setup->active || setup->variance > 0 || strcmp(setup->algorithm, "tamuna") == 0;
    entry->carried = entry->random || is_large(setup->problem) || setup->rho > 0;
    if (fplt_algorithm_allow(entry->method.run.algorithm, entry->method.run.training.solver,
                             setup->active != 0, 0, 0, &reason))
        snprintf(entry->refusal, sizeof entry->refusal, "%.500s", reason.text);
    if ((status = fplt__alloc_into(&entry->tuned, seeds, sizeof *entry->tuned, what, error)) ||
        (status = fplt__alloc_into(&entry->judged, seeds, sizeof *entry->judged, what, error)) ||
        (status = fplt__alloc_into(&entry->error, seeds, sizeof *entry->error, what, error)))
        return status;
    if (!setup->active)
        return FPLT_OK;
    fplt_participation_settings some = {.rule = "fixed", .count = setup->active};
    return fplt_participation_create(&some, agents, &entry->partial, error);
}

fplt_status fplt__bench_add(fplt__bench *bench, const fplt__setup *setup, fplt__entry **out,
                            fplt_error *error)
{
    fplt__entry *entry, *base = NULL;
    for (size_t i = 0; i < bench->count; i++)
        if (is_same(&bench->entries[i]->setup, setup)) {
            *out = bench->entries[i];
            return FPLT_OK;
        }
    fplt_status status;
    if (setup->variance > 0) {
        fplt__setup quiet = *setup;
        quiet.variance = 0;
        if ((status = fplt__bench_add(bench, &quiet, &base, error)))
            return status;
    }
    if ((status = fplt__grow(&bench->entries, &bench->capacity, bench->count + 1,
                             sizeof *bench->entries, "a table", error)) ||
        (status = fplt__alloc_into(&entry, 1, sizeof *entry, "a table", error)))
        return status;
    bench->entries[bench->count++] = *out = entry;
    entry->setup = *setup;
    entry->base = base;
    return fill_entry(bench, entry, error);
}

void fplt__bench_clear(fplt__bench *bench)
{
    for (size_t i = 0; i < bench->count; i++)
        clear_entry(bench->entries[i]);
    for (size_t i = 0; bench->scenes && i < FPLT__PROBLEMS * bench->settings.seeds; i++)
        fplt__tuning_problem_clear(&bench->scenes[i]);
    fplt__free(bench->entries);
    fplt__free(bench->scenes);
    bench->entries = NULL;
    bench->scenes = NULL;
    bench->count = 0;
}

/* Data */

static fplt__tuning_problem *scene_of(const fplt__bench *bench, enum fplt__paper_problem problem,
                                      uint32_t set)
{
    return &bench->scenes[problem * bench->settings.seeds + set];
}

static fplt_status make_scene(const fplt__bench *bench, enum fplt__paper_problem problem,
                              uint32_t set, fplt__tuning_problem *scene, fplt_error *error)
{
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    data.seed = bench->settings.seed + set;
    if (problem == FPLT__LARGE) /* E||mean||^2 = n spread^2 stays */
        data.spread *= sqrt((double)data.features / (double)large_features);
    if (is_large(problem))
        data.features = large_features;
    cost.weight = regulariser_weight;
    if (problem == FPLT__NONCONVEX)
        cost.regulariser = "nonconvex";
    return fplt__tuning_problem_make(&data, &cost, scene, error);
}

static int is_wanted(const fplt__bench *bench, enum fplt__paper_problem problem)
{
    for (size_t i = 0; i < bench->count; i++)
        if (bench->entries[i]->setup.problem == problem)
            return 1;
    return 0;
}

/* Small problems are kept; of the large ones only the first, the others take too much memory. */
static fplt_status scene_task(void *context, size_t index, fplt_error *error)
{
    fplt__bench *bench = context;
    enum fplt__paper_problem problem = index / bench->settings.seeds;
    uint32_t set = (uint32_t)(index % bench->settings.seeds);
    if (!is_wanted(bench, problem) || (is_large(problem) && set > 0))
        return FPLT_OK;
    return make_scene(bench, problem, set, &bench->scenes[index], error);
}

/* One setup on one data set */

static fplt__case case_of(const fplt__bench *bench, const fplt__entry *entry,
                          const fplt__tuning_problem *scene, uint32_t set, uint32_t run)
{
    return (fplt__case){.objective = scene->objective,
                        .curvatures = scene->curvatures,
                        .partial = entry->partial,
                        .seed = bench->settings.seed + set,
                        .run = run,
                        .by_bounds = 1, /* as the paper's theory has it */
                        .stop = bench->settings.stop,
                        .context = bench->settings.context};
}

static fplt_status tune(const fplt__bench *bench, fplt__entry *entry,
                        const fplt__tuning_problem *scene, uint32_t set, fplt_error *error)
{
    fplt__case cases[MAX_TUNING];
    size_t count = entry->random ? economy[entry->setup.problem].tuning : 1;
    for (uint32_t i = 0; i < count; i++)
        cases[i] = case_of(bench, entry, scene, set, TUNING_KEY + i);
    fplt__tuning tuning = {
        .method = &entry->method, .cases = cases, .count = count, .points = bench->settings.points};
    return fplt__tuning_run(&tuning, &entry->tuned[set], error);
}

/* ||sum grad f_i||, averaged over the rounds after the noise has taken over [table of the noise]. */
static fplt_status noisy_error(const fplt__entry *entry, const fplt__case *one,
                               const fplt__tuned *tuned, double *mean, fplt_error *error)
{
    fplt_run_settings run = entry->method.run;
    double parameter[FPLT_MAX_PARAMETERS], sum = 0;
    fplt__automatic automatic;
    fplt_engine *engine;
    fplt_measure measure;
    fplt_status status = fplt__automatic_find(one, &entry->method, &automatic, error);
    if (status)
        return status;
    fplt__tuned_apply(tuned, &entry->method, &automatic, parameter, &run.training);
    run.parameter = parameter;
    run.curvatures = one->curvatures;
    run.seed = one->seed;
    run.run = one->run;
    if ((status = fplt_engine_create(one->objective, &run, &engine, error)))
        return status;
    for (int round = 0; !status && round < BURN_IN + AVERAGED; round++) {
        status = fplt_engine_round(engine, error);
        if (status || round < BURN_IN)
            continue;
        status = fplt_engine_measure(engine, &measure, error);
        sum += sqrt(measure.criterion);
    }
    fplt_engine_destroy(engine);
    *mean = sum / AVERAGED;
    return status;
}

static fplt_status judge_noisy(const fplt__bench *bench, fplt__entry *entry,
                               const fplt__tuning_problem *scene, uint32_t set, uint32_t runs,
                               fplt_error *error)
{
    double sum = 0, one_error = 0;
    fplt_status status = FPLT_OK;
    for (uint32_t r = 0; !status && r < runs; r++) {
        fplt__case one = case_of(bench, entry, scene, set, r);
        status = noisy_error(entry, &one, &entry->tuned[set], &one_error, error);
        sum += one_error;
    }
    entry->error[set] = sum / runs;
    entry->judged[set] = (fplt__judged){.runs = runs, .converged = runs};
    return status;
}

/* Whether the parameters on a data set were found on another. */
static int is_carried(const fplt__entry *entry, uint32_t set)
{
    return entry->carried && set > 0;
}

static fplt_status judge_entry(const fplt__bench *bench, fplt__entry *entry,
                               const fplt__tuning_problem *scene, uint32_t set, fplt_error *error)
{
    size_t elsewhere = entry->base ? NOISY_ELSEWHERE : economy[entry->setup.problem].elsewhere;
    uint32_t runs = entry->random ? bench->settings.runs : 1;
    if (entry->base) /* each run is a mean over many rounds already */
        runs = (runs + 3) / 4;
    if (set > 0 && runs > elsewhere)
        runs = (uint32_t)elsewhere;
    if (entry->setup.variance > 0)
        return judge_noisy(bench, entry, scene, set, runs, error);
    fplt__judged sum = {.runs = 0};
    if (!entry->random && entry->tuned[set].judged.converged && !is_carried(entry, set)) {
        entry->judged[set] = entry->tuned[set].judged; /* the one run that there is */
        return FPLT_OK;
    }
    for (uint32_t r = 0; r < runs; r++) {
        fplt__judged one;
        fplt__case key = case_of(bench, entry, scene, set, r);
        fplt_status status =
            fplt__tuned_judge(&entry->tuned[set], &entry->method, &key, 1, &one, error);
        if (status)
            return status;
        fplt__judged_add(&sum, &one);
    }
    fplt__judged_mean(&sum);
    entry->judged[set] = sum;
    return FPLT_OK;
}

static void add_text(char *text, size_t size, const char *name, double value)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s %.3g", used ? ", " : "", name, value);
}

static fplt_status describe(const fplt__bench *bench, fplt__entry *entry,
                            const fplt__tuning_problem *scene, fplt_error *error)
{
    const fplt_setting *rows = entry->method.run.algorithm->settings;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_training training;
    fplt__automatic automatic;
    fplt__case one = case_of(bench, entry, scene, 0, 0);
    fplt_status status = fplt__automatic_find(&one, &entry->method, &automatic, error);
    if (status)
        return status;
    fplt__tuned_apply(&entry->tuned[0], &entry->method, &automatic, parameter, &training);
    entry->parameters[0] = 0;
    for (size_t i = 0; rows[i].name; i++)
        if (rows[i].search_high > 0)
            add_text(entry->parameters, sizeof entry->parameters, rows[i].name, parameter[i]);
    if (training.step > 0)
        add_text(entry->parameters, sizeof entry->parameters, "gamma", training.step);
    else
        strncat(entry->parameters, entry->parameters[0] ? ", gamma auto" : "gamma auto",
                sizeof entry->parameters - strlen(entry->parameters) - 1);
    return FPLT_OK;
}

/* What the parameters are on this data set: searched, carried from the first, or those of the setup
 * without noise. */
static fplt_status choose(const fplt__bench *bench, fplt__entry *entry,
                          const fplt__tuning_problem *scene, uint32_t set, fplt_error *error)
{
    if (entry->base)
        entry->tuned[set] = entry->base->tuned[set];
    else if (entry->setup.plain)
        entry->tuned[set] = fplt__tuned_none();
    else if (is_carried(entry, set))
        entry->tuned[set] = entry->tuned[0];
    else
        return tune(bench, entry, scene, set, error);
    return FPLT_OK;
}

static fplt_status run_entry(const fplt__bench *bench, fplt__entry *entry,
                             const fplt__tuning_problem *scene, uint32_t set, fplt_error *error)
{
    fplt_status status = choose(bench, entry, scene, set, error);
    if (!status)
        status = judge_entry(bench, entry, scene, set, error);
    if (!status && set == 0)
        status = describe(bench, entry, scene, error);
    if (status)
        fplt_error_prefix(error, "%s", entry->setup.algorithm);
    return status;
}

/* Scheduling: first what depends on nothing, then what takes its parameters from there. */

struct step {
    fplt__entry *entry; /* NULL: every setup of the large problem `problem` */
    enum fplt__paper_problem problem;
    uint32_t set;
};

struct plan {
    fplt__bench *bench;
    struct step *steps; /* owned */
    size_t count, capacity;
};

static fplt_status run_large(const fplt__bench *bench, enum fplt__paper_problem problem,
                             uint32_t set, fplt_error *error)
{
    fplt__tuning_problem scene;
    fplt_status status = make_scene(bench, problem, set, &scene, error);
    for (size_t i = 0; !status && i < bench->count; i++)
        if (bench->entries[i]->setup.problem == problem && !bench->entries[i]->refusal[0])
            status = run_entry(bench, bench->entries[i], &scene, set, error);
    fplt__tuning_problem_clear(&scene);
    return status;
}

static fplt_status step_task(void *context, size_t index, fplt_error *error)
{
    const struct plan *plan = context;
    const struct step *step = &plan->steps[index];
    if (!step->entry)
        return run_large(plan->bench, step->problem, step->set, error);
    return run_entry(plan->bench, step->entry, scene_of(plan->bench, step->problem, step->set),
                     step->set, error);
}

static fplt_status entry_results(fplt__entry *entry, uint32_t set, fplt__parcel *parcel)
{
    fplt_status status;
    if ((status = fplt__parcel_carry(parcel, &entry->tuned[set], sizeof *entry->tuned)) ||
        (status = fplt__parcel_carry(parcel, &entry->judged[set], sizeof *entry->judged)) ||
        (status = fplt__parcel_carry(parcel, &entry->error[set], sizeof *entry->error)) || set)
        return status;
    return fplt__parcel_carry(parcel, entry->parameters, sizeof entry->parameters);
}

static fplt_status step_results(void *context, size_t index, fplt__parcel *parcel)
{
    const struct plan *plan = context;
    const struct step *step = &plan->steps[index];
    const fplt__bench *bench = plan->bench;
    fplt_status status = FPLT_OK;
    if (step->entry)
        return entry_results(step->entry, step->set, parcel);
    for (size_t i = 0; !status && i < bench->count; i++)
        if (bench->entries[i]->setup.problem == step->problem && !bench->entries[i]->refusal[0])
            status = entry_results(bench->entries[i], step->set, parcel);
    return status;
}

static fplt_status add_step(struct plan *plan, fplt__entry *entry, enum fplt__paper_problem problem,
                            uint32_t set, fplt_error *error)
{
    fplt_status status = fplt__grow(&plan->steps, &plan->capacity, plan->count + 1,
                                    sizeof *plan->steps, "a plan", error);
    if (!status)
        plan->steps[plan->count++] = (struct step){entry, problem, set};
    return status;
}

/* Whether a setup on a data set waits for another. */
static int waits(const fplt__entry *entry, uint32_t set)
{
    return entry->base || is_carried(entry, set);
}

static fplt_status plan_entry(struct plan *plan, fplt__entry *entry, int waiting, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t set = 0; !status && set < plan->bench->settings.seeds; set++)
        if (waits(entry, set) == waiting && !(is_large(entry->setup.problem) && set > 0))
            status = add_step(plan, entry, entry->setup.problem, set, error);
    return status;
}

/* The long steps first, so that no core is left alone with one at the end. */
static fplt_status plan_phase(struct plan *plan, int waiting, fplt_error *error)
{
    const fplt__bench *bench = plan->bench;
    fplt_status status = FPLT_OK;
    plan->count = 0;
    for (enum fplt__paper_problem problem = 0; waiting && problem < FPLT__PROBLEMS; problem++)
        for (uint32_t set = 1; !status && set < bench->settings.seeds; set++)
            if (is_large(problem) && is_wanted(bench, problem))
                status = add_step(plan, NULL, problem, set, error);
    for (int large = 1; large >= 0; large--)
        for (int random = 1; random >= 0; random--)
            for (size_t i = 0; !status && i < bench->count; i++) {
                fplt__entry *entry = bench->entries[i];
                if (is_large(entry->setup.problem) == large && entry->random == random &&
                    !entry->refusal[0])
                    status = plan_entry(plan, entry, waiting, error);
            }
    return status;
}

fplt_status fplt__bench_run(fplt__bench *bench, fplt_error *error)
{
    const fplt_paper_settings *settings = &bench->settings;
    const fplt__crew crew = {settings->threads, settings->watch, settings->context, settings->stop,
                             settings->ranks};
    const fplt__crew quiet = {settings->threads, NULL, settings->context, settings->stop, NULL};
    struct plan plan = {.bench = bench};
    size_t scenes = FPLT__PROBLEMS * (size_t)settings->seeds, count[2] = {0, 0};
    fplt_status status =
        fplt__alloc_into(&bench->scenes, scenes, sizeof *bench->scenes, "the data sets", error);
    if (!status)
        status = fplt__crew_run(&quiet, scenes, scene_task, bench, 0, 0, error);
    for (int phase = 0; !status && phase < 2; phase++) {
        status = plan_phase(&plan, phase, error);
        count[phase] = plan.count;
    }
    for (int phase = 0; !status && phase < 2; phase++)
        if (!(status = plan_phase(&plan, phase, error)))
            status = fplt__crew_spread(&crew, plan.count, step_task, step_results, &plan,
                                       phase ? count[0] : 0, count[0] + count[1], error);
    fplt__free(plan.steps);
    return status;
}
