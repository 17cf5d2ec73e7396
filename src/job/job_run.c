/* Participation, local training, method and run of a job. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/text.h"
#include "fedplt/algorithm.h"
#include "fedplt/hub_node.h"
#include "job/auto.h"
#include "job/build.h"
#include "job/job.h"
#include "objective/objective.h"
#include "participation/participation.h"
#include "prox/prox_access.h"

static const char *solver_name(size_t index, const char **help)
{
    const fplt_solver *solver = fplt_solver_list(index);
    if (solver && help)
        *help = solver->help;
    return solver ? solver->name : NULL;
}

static fplt_status read_shares(const fplt_settings *settings, uint32_t agents, double **shares,
                               fplt_error *error)
{
    const char *list = fplt_settings_text(settings, "active-share");
    size_t count = fplt__job_list_length(list);
    if (count == 1)
        return FPLT_OK;
    if (count != agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: active-share has %zu numbers, but it must have 1, or %u: one an "
                              "agent",
                              fplt__settings_origin(settings, "active-share"), count, agents);
    fplt_status status = fplt__alloc_into(shares, count, sizeof **shares, "probabilities", error);
    char item[64];
    for (size_t i = 0; !status && i < count; i++) {
        list = fplt__list_next(list, item, sizeof item);
        status = fplt__parse_real(item, &(*shares)[i]);
    }
    return status;
}

fplt_status fplt__job_participation(const fplt_settings *settings, uint32_t agents,
                                    fplt_participation **participation, fplt_error *error)
{
    double *shares = NULL;
    fplt_participation_settings rule = {.rule = fplt_settings_text(settings, "participation"),
                                        .probability = fplt_settings_real(settings, "active-share"),
                                        .trace = fplt_settings_text(settings, "trace")};
    *participation = NULL;
    rule.count = fplt_settings_given(settings, "active")
                     ? (uint32_t)fplt_settings_integer(settings, "active")
                     : (agents + 1) / 2;
    if (strcmp(rule.rule, "trace") == 0 && !rule.trace)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "participation trace needs a file: give trace");
    fplt_status status = FPLT_OK;
    if (strcmp(rule.rule, "bernoulli") == 0)
        status = read_shares(settings, agents, &shares, error);
    rule.probabilities = shares;
    if (!status)
        status = fplt_participation_create(&rule, agents, participation, error);
    fplt__free(shares);
    return status;
}

static fplt_status check_noise(const fplt_training *training, int given, fplt_error *error)
{
    if (training->solver->traits & FPLT_NOISY && !given)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the solver %s adds noise and needs its scale: give tau",
                              training->solver->name);
    return FPLT_OK;
}

/* Of `encoding`; 0: the exact one. */
static uint32_t sent_grid(const fplt_settings *settings)
{
    enum { BITS32 = 24, BITS16 = 12 };
    if (fplt__job_setting_is(settings, "encoding", "exact"))
        return 0;
    if (!fplt_settings_is_auto(settings, "grid-bits"))
        return (uint32_t)fplt_settings_integer(settings, "grid-bits");
    return fplt__job_setting_is(settings, "encoding", "fixed32") ? BITS32 : BITS16;
}

fplt_status fplt__job_training(const fplt_settings *settings, const fplt_job_source *source,
                               fplt_training *training, fplt_error *error)
{
    int noise_given = fplt_settings_text(settings, "tau") != NULL;
    *training = fplt_training_defaults();
    training->solver =
        source->solver ? source->solver : fplt_solver_find(fplt_settings_text(settings, "solver"));
    training->context = source->solver_context;
    if (!training->solver)
        return fplt__unknown_name("solver", fplt_settings_text(settings, "solver"), solver_name,
                                  error);
    fplt_status status = FPLT__CHECK_TABLE(fplt_solver, training->solver, error);
    if (status)
        return status;
    training->step =
        fplt_settings_is_auto(settings, "gamma") ? 0 : fplt_settings_real(settings, "gamma");
    training->decay = fplt_settings_real(settings, "gamma-decay");
    training->epochs = fplt_settings_is_auto(settings, "epochs")
                           ? 0
                           : (uint32_t)fplt_settings_integer(settings, "epochs");
    training->batch = (uint32_t)fplt_settings_integer(settings, "batch");
    training->replacement = fplt_settings_switch(settings, "replacement");
    training->by_pass = fplt__job_setting_is(settings, "epoch", "pass");
    training->noise_tau = noise_given ? fplt_settings_real(settings, "tau") : 0;
    training->memory = (uint32_t)fplt_settings_integer(settings, "memory");
    training->tolerance = fplt_settings_real(settings, "local-tolerance");
    training->grid = sent_grid(settings);
    /* the noise of a promise follows from it */
    return source->public_only ? FPLT_OK : check_noise(training, noise_given, error);
}

fplt_status fplt_job_training(const fplt_settings *settings, fplt_training *training,
                              fplt_error *error)
{
    const fplt_job_source nothing = {.dataset = NULL};
    return fplt__job_training(settings, &nothing, training, error);
}

/* What is given for solvers must be about one that some agent has. */
static fplt_status check_solvers(const fplt_job *job, const fplt_settings *settings,
                                 fplt_error *error)
{
    uint32_t agents = fplt_objective_agents(job->view.objective);
    const fplt_solver *solver;
    char list[512] = "";
    for (size_t k = 0; (solver = fplt_solver_list(k)); k++)
        for (uint32_t i = 0; i < agents; i++)
            if (job->each[i].solver == solver) {
                size_t used = strlen(list);
                snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", solver->name);
                break;
            }
    return fplt__settings_effective_there(settings, "uncoordinated", "solver", list, error);
}

fplt_status fplt__job_build_training(fplt_job *job, const fplt_settings *settings,
                                     const fplt_job_source *source, fplt_error *error)
{
    fplt_run_settings *run = &job->view.run;
    uint32_t agents = fplt_objective_agents(job->view.objective);
    const char *path = fplt_settings_text(settings, "uncoordinated");
    fplt_status status;
    if ((status = fplt__job_participation(settings, agents, &job->participation, error)) ||
        (status = fplt__job_training(settings, source, &run->training, error)))
        return status;
    job->view.participation = run->participation = job->participation;
    if (!path)
        return FPLT_OK;
    if ((status = fplt__alloc_into(&job->each, agents, sizeof *job->each,
                                   "the training of each agent", error)) ||
        (status = fplt__job_uncoordinated(path, &run->training, job->training, agents, job->each,
                                          error)) ||
        (status = check_solvers(job, settings, error)))
        return status;
    run->each = job->each;
    return FPLT_OK;
}

static int was_given(const fplt_settings *settings, const char *name)
{
    return fplt_settings_given(settings, name) && !fplt_settings_is_auto(settings, name);
}

/* Where passes over long dense rows are all there is to pay for: nobody spoke of communication, and there is
 * none. */
static double numbers_at_hand(const fplt_job *job, const fplt_settings *settings)
{
    const fplt_objective *objective = job->objective;
    if (!objective || objective->sparse || job->view.run.ranks ||
        fplt__job_setting_wished(settings, "t-communication") ||
        fplt__job_setting_wished(settings, "t-gradient"))
        return 0;
    return (double)fplt_dataset_rows(job->training) * (double)objective->columns;
}

/* What is best, and of what may be taken the best. */
static const fplt_algorithm *choose_method(fplt__occasion *occasion, int withheld, char *reason,
                                           size_t size)
{
    const fplt_algorithm *best = fplt__method_choose(occasion, reason, size);
    if (!withheld || !(best->allows & FPLT_SENDS_HESSIANS))
        return best;
    occasion->hessians = 0;
    const fplt_algorithm *next = fplt__method_choose(occasion, reason, size);
    size_t used = strlen(reason);
    snprintf(reason + used, size - used,
             " %s would need fewer rounds, but some site does not let Hessians leave.", best->name);
    return next;
}

void fplt__job_method(const fplt_settings *settings, const fplt__method_context *scene,
                      fplt_run_settings *run, double *parameter, char *reason, size_t size)
{
    const fplt_solver *solver = run->training.solver;
    fplt__occasion occasion = {
        .dimension = scene->dimension,
        .agents = scene->agents,
        .cohort = fplt_expected_cohort(scene->participation),
        .partial = !fplt__participation_is_full(scene->participation),
        .random = scene->varied || solver->traits & (FPLT_STOCHASTIC | FPLT_NOISY),
        .trains = was_given(settings, "solver") || was_given(settings, "epochs") ||
                  was_given(settings, "gamma") || was_given(settings, "gamma-decay"),
        .composite = !fplt__prox_is_zero(scene->prox),
        .hessians = !scene->own_costs,
        .bending = fplt__objective_bending(scene->objective),
        .gradient_time = fplt_settings_real(settings, "t-gradient"),
        .communication_time = fplt_settings_real(settings, "t-communication"),
        .numbers = scene->numbers,
    };
    run->algorithm = choose_method(&occasion, scene->withheld, reason, size);
    fplt_algorithm_defaults(run->algorithm, parameter);
    if (!fplt_settings_given(settings, "epochs") && solver->traits & FPLT_PLAIN_STEPS &&
        run->algorithm->allows & FPLT_NEEDS_CERTAINTY)
        run->training.epochs = 0;
}

fplt_status fplt__job_take_algorithm(const fplt_algorithm *algorithm, fplt_run_settings *run,
                                     double *parameter)
{
    run->algorithm = algorithm;
    fplt_algorithm_defaults(algorithm, parameter);
    return FPLT_OK;
}

const fplt_algorithm *fplt__job_form(const fplt_algorithm *algorithm,
                                     const fplt_participation *participation)
{
    return algorithm->partial_form && !fplt__participation_is_full(participation)
               ? algorithm->partial_form
               : algorithm;
}

static fplt_status read_method(fplt_job *job, const fplt_settings *settings, fplt_error *error)
{
    fplt_run_settings *run = &job->view.run;
    if (fplt_settings_is_auto(settings, "algorithm")) {
        const fplt_job_view *view = &job->view;
        fplt__method_context scene = {.dimension = fplt_objective_dimension(view->objective),
                                      .agents = fplt_objective_agents(view->objective),
                                      .participation = view->participation,
                                      .prox = job->prox,
                                      .objective = view->objective,
                                      .own_costs = !view->training,
                                      .varied = job->each != NULL,
                                      .numbers = numbers_at_hand(job, settings)};
        fplt__job_method(settings, &scene, run, job->parameter, job->reason, sizeof job->reason);
        return FPLT_OK;
    }
    fplt_status status =
        fplt__job_algorithm(fplt_settings_text(settings, "algorithm"), &run->algorithm, error);
    if (!status) {
        run->algorithm = fplt__job_form(run->algorithm, job->view.participation);
        fplt_algorithm_read(run->algorithm, settings, job->parameter);
    }
    return status;
}

void fplt__job_run(const fplt_settings *settings, fplt_run_settings *run)
{
    run->seed = (uint64_t)fplt_settings_integer(settings, "seed");
    run->rounds = (uint64_t)fplt_settings_integer(settings, "rounds");
    run->tolerance = fplt_settings_real(settings, "tolerance");
    run->relative = fplt_settings_switch(settings, "relative");
    run->change = fplt_settings_real(settings, "change");
    if (!fplt_settings_is_auto(settings, "eval-every"))
        run->evaluate_every = (uint32_t)fplt_settings_integer(settings, "eval-every");
    run->gradient_time = fplt_settings_real(settings, "t-gradient");
    run->communication_time = fplt_settings_real(settings, "t-communication");
}

fplt_status fplt__job_build_run(fplt_job *job, const fplt_settings *settings,
                                const fplt_job_source *source, uint32_t number, fplt_error *error)
{
    static const struct {
        const char *word;
        fplt_start start;
    } starts[] = {{"zero", FPLT_START_ZERO},
                  {"model", FPLT_START_GIVEN},
                  {"random", FPLT_START_RANDOM},
                  {"prior", FPLT_START_PRIOR}};
    fplt_run_settings *run = &job->view.run;
    fplt_status status = source->algorithm
                             ? fplt__job_take_algorithm(source->algorithm, run, job->parameter)
                             : read_method(job, settings, error);
    if (status)
        return status;
    run->parameter = job->parameter;
    run->prox = job->prox;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (fplt__job_setting_is(settings, "start", starts[i].word))
            run->start = starts[i].start;
    run->start_scale = fplt_settings_real(settings, "start-scale");
    run->run = number;
    run->threads = (unsigned)fplt_settings_integer(settings, "threads");
    run->at_model = fplt__job_setting_is(settings, "criterion-at", "model");
    fplt__job_run(settings, run);
    return FPLT_OK;
}

uint32_t fplt__job_spacing(const fplt__load *load, const fplt_run_settings *run,
                           const fplt_participation *participation, int own_data)
{
    double agents = fplt__participation_agents(participation), cohort = 0;
    int full = fplt__participation_is_full(participation);
    for (uint32_t i = 0; i < agents; i++)
        cohort += fplt__participation_rate(participation, i);
    if (full && (!own_data || run->algorithm->allows & FPLT_TRAINS_NOTHING))
        return run->evaluate_every;
    return (uint32_t)fplt__load_spacing(load, &run->training, agents, cohort);
}

/* What is auto becomes a number; agents with no epochs of their own (0) take it too. */
fplt_status fplt__job_resolve_auto(fplt_job *job, const fplt_settings *settings, int public_only,
                                   int own_data, fplt_error *error)
{
    fplt_run_settings *run = &job->view.run;
    if (public_only) {
        if (!run->training.epochs)
            run->training.epochs = fplt_training_defaults().epochs;
        return FPLT_OK;
    }
    run->scaled = job->transform.scale != NULL;
    fplt_status status = fplt__auto_resolve(job->view.objective, run, &job->automatic, error);
    if (status)
        return status;
    fplt__auto_apply(&job->automatic, run);
    memcpy(job->automatic.about_algorithm, job->reason, sizeof job->reason);
    job->view.automatic = &job->automatic;
    fplt__load load = fplt__load_of(job->view.objective);
    if (fplt_settings_is_auto(settings, "eval-every"))
        run->evaluate_every = fplt__job_spacing(&load, run, run->participation, own_data);
    return FPLT_OK;
}
