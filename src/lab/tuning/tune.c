/* The search for rho, step and epochs.
 *
 * By theory: the rate of the quadratic model for every candidate. By experiment: successive halving.
 * Every candidate runs a few rounds on the job's own data; the better half, by the time that each is
 * expected to need, goes on for twice as many, from where it stands. */
#include "fedplt/solver.h"
#include "fedplt/algorithm.h"
#include "fedplt/theory.h"
#include "fedplt/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "job/auto.h"
#include "lab/tuning/crew.h"
#include "theory/theory.h"

enum { CANDIDATES_MAX = 64, ROUNDS_USUAL = 1000, FIRST_ROUNDS = 4, STEPS_TRIED = 3 };

/* Expectations without a tolerance are for this factor of the criterion. */
#define TARGET_USUAL 1e-10

struct entry {
    fplt_tune_candidate shown;
    fplt_engine *engine; /* owned, while it is in the race */
    double middle;       /* the criterion half of its rounds ago */
    uint64_t middle_rounds;
    double time;
    unsigned owner;    /* the process that runs it */
    uint64_t spent;    /* rounds of this stage, */
    double spent_time; /* and their time */
};

struct search {
    const fplt_objective *objective;
    const fplt_tune_settings *settings;
    fplt_auto choice; /* owned; rho, step and epochs of `auto` */
    fplt_theory_problem problem;
    uint32_t agents;
    int finds_rho, finds_step, finds_epochs, plain, accelerated;
    double rho, first, target;
    uint64_t budget, spent;
    double time_spent;
    struct entry entry[CANDIDATES_MAX];
    size_t count;
};

fplt_tune_settings fplt_tune_defaults(void)
{
    fplt_tune_settings settings = {.method = FPLT_TUNE_THEORY, .run = fplt_run_defaults()};
    settings.run.training.epochs = 0;
    return settings;
}

/* ---- Candidates ---- */

static double model_rate(const struct search *search, double rho, double step, uint32_t epochs)
{
    fplt_theory_parameters parameters = {rho, step, epochs, search->accelerated, 1, 1, 0};
    if (!search->plain && !search->accelerated)
        return NAN;
    if (!(step > 0))
        parameters.step = fplt_theory_best_step(&search->problem, rho);
    return fplt_theory_quadratic_rate(&search->problem, &parameters).rate;
}

/* Adds a candidate that is not there yet. */
static void add(struct search *search, const char *origin, double rho, double step, uint32_t epochs)
{
    for (size_t i = 0; i < search->count; i++) {
        const fplt_tune_candidate *there = &search->entry[i].shown;
        if (fabs(there->rho / rho - 1) < 1e-6 && there->step == step && there->epochs == epochs)
            return;
    }
    if (search->count == CANDIDATES_MAX)
        return;
    const fplt_ranks *ranks = search->settings->ranks;
    search->entry[search->count++] = (struct entry){
        .owner = ranks ? (unsigned)(search->count % ranks->count) : 0,
        .shown = {.origin = origin,
                  .rho = rho,
                  .step = step,
                  .epochs = epochs,
                  .rate = model_rate(search, rho, step, epochs),
                  .criterion = NAN,
                  .expected_rounds = NAN,
                  .expected_time = NAN},
    };
}

static uint32_t epochs_near(uint32_t centre, int which)
{
    uint32_t values[] = {centre, (centre + 1) / 2, 2 * centre};
    return values[which];
}

/* rho around the automatic one, epochs around the automatic number. */
static void add_grid(struct search *search)
{
    static const double factors[] = {1, M_SQRT1_2, M_SQRT2, 0.5, 2, 0.25, 4};
    double step = search->settings->run.training.step;
    for (int e = 0; e < (search->finds_epochs ? 3 : 1); e++)
        for (size_t f = 0; f < (search->finds_rho ? sizeof factors / sizeof *factors : 1); f++)
            add(search, f || e ? "grid" : "auto", factors[f] * search->rho, step,
                epochs_near(search->choice.epochs, e));
}

/* What fplt__theory_tune proposes with this many epochs (0: the best number); its rho may be given. */
static void add_tuned(struct search *search, uint32_t epochs)
{
    const fplt_run_settings *run = &search->settings->run;
    fplt__theory_prices prices = {run->gradient_time, run->communication_time, epochs, 0,
                                  search->accelerated};
    fplt__theory_tuned tuned;
    if (!search->finds_rho) {
        if (epochs)
            add(search, "theory", search->rho, run->training.step, epochs);
        return;
    }
    if (!search->plain && !search->accelerated)
        return;
    if (!fplt__theory_tune(&search->problem, &prices, &tuned, NULL))
        add(search, "theory", tuned.rho,
            search->finds_step && search->plain ? tuned.step : run->training.step, tuned.epochs);
}

/* Beside `auto`, what theory proposes: for the best number of epochs and for some others. */
static void add_theory(struct search *search)
{
    static const uint32_t numbers[] = {1, 2, 3, 5, 10, 20, 50};
    add(search, "auto", search->rho, search->settings->run.training.step, search->choice.epochs);
    if (!search->finds_epochs) {
        add_tuned(search, search->choice.epochs);
        return;
    }
    add_tuned(search, 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add_tuned(search, numbers[i]);
}

/* ---- Expectations ---- */

static double round_time(const struct search *search, uint32_t epochs)
{
    const fplt_run_settings *run = &search->settings->run;
    return search->agents * (epochs * run->gradient_time + run->communication_time);
}

static void expect_by_theory(const struct search *search, fplt_tune_candidate *candidate)
{
    double factor = search->first > 0 ? search->target / search->first : TARGET_USUAL;
    if (isnan(candidate->rate))
        return;
    candidate->expected_rounds =
        candidate->rate < 1 ? ceil(fmax(log(factor) / (2 * log(candidate->rate)), 0)) : HUGE_VAL;
    candidate->expected_time = candidate->expected_rounds * round_time(search, candidate->epochs);
}

/* From the fall of the criterion in the second half of the rounds. */
static void expect_by_experiment(const struct search *search, struct entry *entry)
{
    fplt_tune_candidate *shown = &entry->shown;
    double rounds = (double)shown->rounds, per_round = entry->time / rounds;
    if (shown->reached) {
        shown->expected_rounds = rounds;
        shown->expected_time = entry->time;
        return;
    }
    double fall = log(entry->middle / shown->criterion) / (rounds - (double)entry->middle_rounds);
    shown->expected_rounds = !shown->left && fall > 0
                                 ? rounds + ceil(log(shown->criterion / search->target) / fall)
                                 : HUGE_VAL;
    shown->expected_time = shown->expected_rounds * per_round;
}

/* Further in the experiment first, then the shorter time; equals keep their order. */
static int better(const fplt_tune_candidate *a, const fplt_tune_candidate *b)
{
    if (a->stage != b->stage)
        return a->stage > b->stage;
    if (a->expected_time == b->expected_time)
        return a->expected_rounds < b->expected_rounds;
    return a->expected_time < b->expected_time || isnan(b->expected_time);
}

static void sort(struct search *search, size_t from)
{
    for (size_t i = from + 1; i < search->count; i++) {
        struct entry held = search->entry[i];
        size_t place = i;
        for (; place > from && better(&held.shown, &search->entry[place - 1].shown); place--)
            search->entry[place] = search->entry[place - 1];
        search->entry[place] = held;
    }
}

/* ---- The experiment ---- */

static fplt_status make_engine(const struct search *search, struct entry *entry, fplt_error *error)
{
    fplt_run_settings run = search->settings->run;
    double parameter[FPLT_MAX_PARAMETERS];
    memcpy(parameter, search->choice.parameter, sizeof parameter);
    parameter[fplt_algorithm_parameter(run.algorithm, "rho")] = entry->shown.rho;
    run.parameter = parameter;
    run.training.step = entry->shown.step;
    run.training.epochs = entry->shown.epochs;
    run.curvatures = search->choice.curvatures;
    return fplt_engine_create(search->objective, &run, &entry->engine, error);
}

static fplt_status report_progress(const struct search *search, fplt_error *error)
{
    const fplt_tune_settings *settings = search->settings;
    if (!settings->watch || !settings->watch(settings->context, search->spent, search->budget))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_FAILED,
                          "stopped on request after %llu of at most %llu rounds",
                          (unsigned long long)search->spent, (unsigned long long)search->budget);
}

/* Runs on until `rounds` rounds in all, the tolerance, or divergence. */
static fplt_status run_on(struct search *search, struct entry *entry, uint64_t rounds,
                          fplt_error *error)
{
    fplt_tune_candidate *shown = &entry->shown;
    uint64_t middle = shown->rounds + (rounds - shown->rounds) / 2;
    fplt_status status = FPLT_OK;
    while (!status && shown->rounds < rounds && !shown->reached && !shown->left &&
           search->spent < search->budget) {
        fplt_measure measure;
        double before = fplt_engine_counters(entry->engine)->paper_time;
        status = fplt_engine_round(entry->engine, error);
        search->spent++;
        entry->spent++;
        shown->rounds++;
        if (!status)
            status = fplt_engine_measure(entry->engine, &measure, error);
        if (status == FPLT_DIVERGED) {
            shown->left = 1;
            return FPLT_OK;
        }
        if (status)
            return status;
        entry->time = fplt_engine_counters(entry->engine)->paper_time;
        entry->spent_time += entry->time - before;
        shown->criterion = measure.criterion;
        if (shown->rounds == middle || shown->rounds == 1) {
            entry->middle = measure.criterion;
            entry->middle_rounds = shown->rounds;
        }
        shown->reached = measure.criterion <= search->target;
        shown->left = measure.criterion > 1e8 * fmax(search->first, search->target);
        status = report_progress(search, error);
    }
    return status;
}

static double best_reached(const struct search *search)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < search->count; i++)
        if (search->entry[i].shown.reached)
            least = fmin(least, search->entry[i].time);
    return least;
}

static void leave(struct entry *entry)
{
    fplt_engine_destroy(entry->engine);
    entry->engine = NULL;
}

/* Entries from `first` on, in the order of the search. */
struct group {
    struct search *search;
    size_t first;
};

static unsigned owner_of(void *context, size_t index)
{
    const struct group *group = context;
    return group->search->entry[group->first + index].owner;
}

static fplt_status entry_results(void *context, size_t index, fplt__parcel *parcel)
{
    const struct group *group = context;
    struct entry *entry = &group->search->entry[group->first + index];
    struct entry came = *entry;
    fplt_status status = fplt__parcel_carry(parcel, &came, sizeof came);
    if (status || !fplt__parcel_arrives(parcel))
        return status;
    came.shown.origin = entry->shown.origin; /* an address of its own process */
    came.engine = NULL;
    *entry = came;
    group->search->spent += entry->spent;
    return FPLT_OK;
}

/* Every process runs its own of entries first .. end - 1, and all have what came of them. */
static fplt_status run_group(struct search *search, size_t first, size_t end, unsigned number,
                             uint64_t rounds, fplt_error *error)
{
    fplt_ranks *ranks = search->settings->ranks;
    struct group group = {search, first};
    size_t failed = end;
    fplt_status status = fplt_ranks_agree(ranks, FPLT_OK, error);
    if (status)
        return status;
    for (size_t i = first; i < end; i++)
        search->entry[i].spent = 0, search->entry[i].spent_time = 0;
    for (size_t i = first; !status && i < end; i++) {
        struct entry *entry = &search->entry[i];
        failed = i - first;
        if (ranks && entry->owner != ranks->number)
            continue;
        status = entry->engine ? FPLT_OK : make_engine(search, entry, error);
        if (!status)
            status = run_on(search, entry, rounds, error);
    }
    if ((status = fplt__crew_exchange(ranks, end - first, owner_of, entry_results, &group, failed,
                                      status, error)))
        return status;
    for (size_t i = first; i < end; i++) {
        struct entry *entry = &search->entry[i];
        search->time_spent += entry->spent_time;
        entry->shown.stage = number;
        expect_by_experiment(search, entry);
    }
    return FPLT_OK;
}

/* All at once where the budget is enough for all, otherwise one after the other: what is left for one then
 * depends on those before it. */
static fplt_status run_entries(struct search *search, size_t first, size_t end, unsigned number,
                               uint64_t rounds, fplt_error *error)
{
    uint64_t needed = 0;
    fplt_status status = FPLT_OK;
    for (size_t i = first; i < end; i++)
        needed += rounds - search->entry[i].shown.rounds;
    size_t at_once = needed <= search->budget - search->spent ? end - first : 1;
    for (size_t i = first; !status && i < end && search->spent < search->budget; i += at_once)
        status = run_group(search, i, i + at_once, number, rounds, error);
    return status;
}

/* One stage: the first `running` entries run on; afterwards they are sorted. */
static fplt_status stage(struct search *search, size_t running, unsigned number, uint64_t rounds,
                         fplt_error *error)
{
    fplt_status status = run_entries(search, 0, running, number, rounds, error);
    if (!status)
        sort(search, 0);
    return status;
}

/* Halves the field until one is left, one has reached the tolerance in less time than any other can
 * hope for, or the budget is spent. */
static fplt_status race(struct search *search, unsigned *number, fplt_error *error)
{
    size_t running = search->count;
    fplt_status status = FPLT_OK;
    for (uint64_t rounds = FIRST_ROUNDS; running && search->spent < search->budget; rounds *= 2) {
        if ((status = stage(search, running, ++*number, rounds, error)))
            return status;
        size_t kept = running > 1 ? (running + 1) / 2 : 0;
        double reached = best_reached(search);
        while (kept && !(search->entry[kept - 1].shown.expected_time < reached))
            kept--;
        for (size_t i = kept; i < search->count; i++)
            leave(&search->entry[i]);
        running = kept;
    }
    return FPLT_OK;
}

/* The winner's rho and epochs with other steps, common to all agents. */
static void add_steps(struct search *search)
{
    static const double shares[STEPS_TRIED] = {1, 1.3, 1.6};
    fplt_tune_candidate best = search->entry[0].shown;
    for (size_t i = 0; i < STEPS_TRIED; i++)
        add(search, "step", best.rho, shares[i] * fplt_theory_best_step(&search->problem, best.rho),
            best.epochs);
}

/* Moves the last entries to the front, and the best with them: the second race is theirs. */
static fplt_status race_steps(struct search *search, unsigned *number, fplt_error *error)
{
    size_t before = search->count;
    if (!search->finds_step || !search->plain || search->spent >= search->budget)
        return FPLT_OK;
    add_steps(search);
    uint64_t rounds = search->entry[0].shown.rounds;
    unsigned last = ++*number;
    search->entry[0].shown.stage = last;
    fplt_status status = run_entries(search, before, search->count, last, rounds, error);
    if (!status)
        sort(search, 0);
    return status;
}

static fplt_status experiment(struct search *search, fplt_error *error)
{
    unsigned number = 0;
    fplt_status status = race(search, &number, error);
    return status ? status : race_steps(search, &number, error);
}

/* ---- The whole ---- */

static fplt_status check_tuning(const fplt_objective *objective, uint32_t agents,
                                const fplt_tune_settings *settings, fplt_error *error)
{
    const fplt_run_settings *run = &settings->run;
    int bounds = run->curvature.highest > 0;
    if (run->training.decay > 0 && run->training.decay != 1)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "gamma-decay is %g, but the tuner looks for one step for all rounds; "
                              "leave it out",
                              run->training.decay);
    if (!run->algorithm->splits)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the algorithm is %s, but only fed-plt and fed-plt-anderson are tuned "
            "here; compare searches the parameters of the others",
            run->algorithm->name);
    if (run->each)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "agents train each in their own way, so there is no common step or "
                              "number of epochs to tune");
    if (settings->public_only && !bounds)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "a privacy claim forbids to look at the data: give public bounds of "
                              "the curvature (lmin and lmax)");
    if (settings->public_only && settings->method != FPLT_TUNE_THEORY)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "an experiment would choose the parameters by what the data are, and "
                              "a privacy claim does not cover that choice; tune by theory, with "
                              "public bounds");
    if (!objective && settings->method != FPLT_TUNE_THEORY)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "an experiment needs data; without them tune by theory");
    if (!objective && (!bounds || agents == 0))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "without data the curvatures (lmin and lmax) and at least one agent "
                              "must be given; agents is %u",
                              agents);
    return FPLT_OK;
}

/* The criterion at the start, and the one to reach. */
static fplt_status find_target(struct search *search, fplt_error *error)
{
    const fplt_run_settings *run = &search->settings->run;
    search->first = search->settings->first_criterion;
    if (search->objective && !search->settings->public_only) {
        struct entry probe = {.shown = {.rho = search->rho, .epochs = search->choice.epochs}};
        fplt_measure measure;
        fplt_status status = make_engine(search, &probe, error);
        if (!status)
            status = fplt_engine_measure(probe.engine, &measure, error);
        leave(&probe);
        if (status)
            return status;
        search->first = measure.criterion;
    }
    search->target = run->tolerance > 0 && !run->relative ? run->tolerance
                     : run->tolerance > 0                 ? run->tolerance * search->first
                                                          : TARGET_USUAL * search->first;
    return FPLT_OK;
}

static fplt_status prepare(struct search *search, uint32_t agents, fplt_error *error)
{
    const fplt_tune_settings *settings = search->settings;
    const fplt_run_settings *run = &settings->run;
    const fplt_objective *objective = search->objective;
    fplt_curvature_bounds bend = {run->curvature, NAN};
    int parameter = fplt_algorithm_parameter(run->algorithm, "rho");
    search->agents = objective ? fplt_objective_agents(objective) : agents;
    fplt_status status =
        objective ? fplt__auto_resolve(objective, run, &search->choice, error)
                  : fplt__auto_choose(&bend, run, search->agents, 1, &search->choice, error);
    if (status)
        return status;
    search->problem =
        (fplt_theory_problem){fplt__curvature_bounds_lowest(&search->choice.bend),
                              search->choice.bend.everywhere.highest, search->agents, 1};
    search->rho = search->choice.parameter[parameter];
    search->finds_rho = search->choice.chose_rho;
    search->finds_step = search->choice.chose_step;
    search->finds_epochs = search->choice.chose_epochs;
    search->plain = (run->training.solver->traits & FPLT_PLAIN_STEPS) != 0;
    search->accelerated = (run->training.solver->traits & FPLT_ACCELERATED) != 0;
    search->budget = settings->rounds ? settings->rounds : ROUNDS_USUAL;
    return find_target(search, error);
}

static fplt_status copy(const struct search *search, fplt_tuning *tuning, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(&tuning->candidate, search->count,
                                          sizeof *tuning->candidate, "the candidates", error);
    if (status)
        return status;
    for (size_t i = 0; i < search->count; i++)
        tuning->candidate[i] = search->entry[i].shown;
    tuning->count = search->count;
    tuning->bend = search->choice.bend;
    tuning->first_criterion = search->first;
    tuning->target = search->target;
    tuning->rounds_spent = search->spent;
    tuning->time_spent = search->time_spent;
    return FPLT_OK;
}

static void explain(const struct search *search, fplt_tuning *tuning)
{
    const fplt_tune_candidate *best = &tuning->candidate[0];
    char step[80] = "each agent's own step", how[200];
    if (best->step > 0)
        snprintf(step, sizeof step, "gamma = %.6g", best->step);
    if (tuning->rounds_spent)
        snprintf(how, sizeof how,
                 "%zu candidates were tried in %llu rounds, which cost %.4g; the better half went "
                 "on each time",
                 search->count, (unsigned long long)tuning->rounds_spent, tuning->time_spent);
    else
        snprintf(how, sizeof how,
                 "by the quadratic model, which describes the last phase of other costs and "
                 "guarantees nothing for them");
    snprintf(tuning->reasoning, sizeof tuning->reasoning,
             "rho = %.6g, %s and %u epochs: %s%.4g rounds and a time of %.4g for all agents, %s.",
             best->rho, step, best->epochs,
             best->reached ? "reached the tolerance in " : "expected ", best->expected_rounds,
             best->expected_time, how);
    if (best->step >= fplt__theory_step_limit(&search->problem, best->rho, FPLT_THEORY_CORRECTED)) {
        size_t used = strlen(tuning->reasoning);
        snprintf(tuning->reasoning + used, sizeof tuning->reasoning - used,
                 " This step is beyond 2/(lmax + 1/rho), where nothing is proved: on other data of "
                 "this kind it may diverge.");
    }
}

static fplt_status find(struct search *search, uint32_t agents, fplt_tuning *tuning,
                        fplt_error *error)
{
    fplt_status status = prepare(search, agents, error);
    if (status)
        return status;
    if (search->settings->method == FPLT_TUNE_EXPERIMENT)
        add_grid(search);
    else
        add_theory(search);
    if (search->settings->method == FPLT_TUNE_THEORY) {
        for (size_t i = 0; i < search->count; i++)
            expect_by_theory(search, &search->entry[i].shown);
        sort(search, 0);
    } else if ((status = experiment(search, error))) {
        return status;
    }
    if ((status = copy(search, tuning, error)))
        return status;
    explain(search, tuning);
    return FPLT_OK;
}

fplt_status fplt_tune(const fplt_objective *objective, uint32_t agents,
                      const fplt_tune_settings *settings, fplt_tuning *tuning, fplt_error *error)
{
    memset(tuning, 0, sizeof *tuning);
    fplt_status status = check_tuning(objective, agents, settings, error);
    if (status)
        return status;
    struct search *search;
    if ((status = fplt__alloc_into(&search, 1, sizeof *search, "the search", error)))
        return status;
    search->objective = objective;
    search->settings = settings;
    status = find(search, agents, tuning, error);
    for (size_t i = 0; i < search->count; i++)
        leave(&search->entry[i]);
    fplt__auto_clear(&search->choice);
    fplt__free(search);
    if (status)
        fplt_tuning_clear(tuning);
    return status;
}

void fplt_tuning_clear(fplt_tuning *tuning)
{
    fplt__free(tuning->candidate);
    memset(tuning, 0, sizeof *tuning);
}
