/* Private jobs: the plan of a job or a roster from public numbers, and the run that follows from it. */
#include "fedplt/hub_node.h"
#include "fedplt/noise.h"
#include "fedplt/promise.h"
#include "fedplt/solver.h"

#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "base/noise.h"
#include "data/dataset_access.h"
#include "data/schema.h"
#include "data/schema_access.h"
#include "job/job.h"
#include "participation/participation.h"
#include "privacy/privacy.h"
#include "promise/plan.h"
#include "promise/promise.h"

/* ---- noise ---- */

static fplt_status add_secure(void *context, double step, double tau, const double *mean,
                              double *out, size_t count)
{
    return fplt__noise_add(context, step, tau, mean, out, count, NULL);
}

static fplt_status admit_secure(void *context, double step, double tau, const char *what,
                                const double *vector, size_t count, fplt_error *error)
{
    (void)context;
    return fplt__noise_lattice_admit(step, tau, what, vector, count, error);
}

fplt_noise_source fplt_promise_noise(fplt_noise *noise)
{
    return (fplt_noise_source){.size = sizeof(fplt_noise_source),
                               .add = add_secure,
                               .context = noise,
                               .admit = admit_secure};
}

/* ---- the plan ---- */

static fplt_status copy_agents(fplt_promise *plan, const struct fplt__promise_problem *problem,
                               fplt_error *error)
{
    fplt_promise_view *view = &plan->view;
    fplt_status status;
    view->agents = problem->roster->agents;
    if ((status = fplt__alloc_into(&plan->records, view->agents, sizeof *plan->records,
                                   "the private plan", error)) ||
        (status = fplt__alloc_into(&plan->tau, view->agents, sizeof *plan->tau, "the private plan",
                                   error)) ||
        (status = fplt__alloc_into(&plan->names, view->agents, sizeof *plan->names,
                                   "the private plan", error)))
        return status;
    view->records = plan->records;
    view->names = plan->names;
    memcpy(plan->records, problem->roster->records, view->agents * sizeof *plan->records);
    if (problem->roster->names)
        memcpy(plan->names, problem->roster->names, view->agents * sizeof *plan->names);
    return FPLT_OK;
}

static fplt_status read_problem(fplt_promise *plan, const fplt_settings *settings,
                                const struct fplt__promise_problem *problem, fplt_error *error)
{
    fplt_promise_view *view = &plan->view;
    fplt_status status = copy_agents(plan, problem, error);
    if (status)
        return status;
    view->epsilon = fplt_settings_given(settings, "privacy.epsilon")
                        ? fplt_settings_real(settings, "privacy.epsilon")
                        : NAN;
    view->delta = fplt_settings_real(settings, "privacy.delta");
    /* records of one person; 0: persons are not declared */
    uint64_t most = problem->roster->schema ? fplt__schema_most(problem->roster->schema) : 0;
    uint32_t quorum = problem->roster->quorum;
    view->by_person = most > 0;
    view->group = (uint64_t)fplt_settings_integer(settings, "privacy.group");
    if (view->group < most)
        view->group = most;
    view->participation = fplt__participation_name(problem->participation);
    view->full = fplt__participation_is_full(problem->participation) && !quorum;
    if (quorum && fplt__participation_is_full(problem->participation))
        view->participation = "present";
    view->least_cohort = fplt__participation_least(problem->participation);
    if (quorum && quorum < view->least_cohort)
        view->least_cohort = quorum;
    view->parameter = plan->parameter;
    view->secure = fplt__job_setting_is(settings, "privacy.noise", "secure");
    view->diagnosed = fplt_settings_switch(settings, "privacy.diagnose");
    view->loss = (fplt_privacy_loss){.name = problem->cost.loss,
                                     .row_norm = problem->radius,
                                     .intercept = problem->cost.intercept,
                                     .huber_delta = problem->cost.huber_delta,
                                     .predictor_bound = problem->cost.predictor_bound,
                                     .clip = problem->cost.clip};
    view->regulariser = problem->cost.regulariser;
    view->regulariser_weight = problem->cost.weight;
    view->weigh_rows = problem->cost.weigh_rows;
    view->algorithm = problem->algorithm;
    view->solver = problem->training.solver;
    view->rho = NAN;
    view->predicted = NAN;
    fplt_algorithm_read(view->algorithm, settings, plan->given);
    plan->given_step =
        fplt_settings_is_auto(settings, "gamma") ? 0 : fplt_settings_real(settings, "gamma");
    if ((status = fplt__privacy_threat_find(fplt_settings_text(settings, "privacy.threat"),
                                            &view->threat, error)))
        return status;
    return fplt__promise_bounds(view, error);
}

/* The same training for all but the noise; nothing where that is the same too. */
static fplt_status spread_noise(fplt_promise *plan, const fplt_training *common, fplt_error *error)
{
    const fplt_promise_view *view = &plan->view;
    if (view->mechanism.least_noise == 0)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&plan->each, view->agents, sizeof *plan->each,
                                          "the noise of each agent", error);
    for (uint32_t i = 0; !status && i < view->agents; i++) {
        plan->each[i] = *common;
        plan->each[i].step = view->mechanism.step;
        plan->each[i].epochs = view->epochs;
        plan->each[i].noise_tau = view->tau[i];
    }
    return status;
}

static fplt_status make_sources(fplt_promise *plan, unsigned threads, fplt_error *error)
{
    unsigned count = fplt__cores(threads);
    if (!plan->view.secure)
        return FPLT_OK;
    fplt_status status =
        fplt__alloc_into(&plan->source, count, sizeof *plan->source, "the noise", error);
    for (unsigned i = 0; !status && i < count; i++) {
        fplt_noise *noise;
        if (!(status = fplt_noise_create(&noise, error)))
            plan->source[plan->sources++] = fplt_promise_noise(noise);
    }
    return status;
}

static void apply(fplt_promise *plan, fplt_job *job)
{
    const fplt_promise_view *view = &plan->view;
    fplt__job_plan planned = {.parameter = plan->parameter,
                              .step = view->mechanism.step,
                              .noise_tau = view->mechanism.noise_tau,
                              .unit = view->unit,
                              .epochs = view->epochs,
                              .rounds = view->rounds,
                              .each = plan->each,
                              .noise = plan->source,
                              .curvature = view->curvature,
                              .measures = view->diagnosed,
                              .releases_mean = fplt__promise_releases_mean(view),
                              .planned = (view->planned_rho ? FPLT_PLANNED_RHO : 0) |
                                         (view->planned_step ? FPLT_PLANNED_STEP : 0) |
                                         (view->planned_epochs ? FPLT_PLANNED_EPOCHS : 0) |
                                         (view->planned_rounds ? FPLT_PLANNED_ROUNDS : 0)};
    fplt__job_take_plan(job, &planned);
}

static fplt_status make_plan(const fplt_settings *settings,
                             const struct fplt__promise_problem *problem, fplt_promise **out,
                             fplt_error *error)
{
    fplt_promise *plan;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&plan, 1, sizeof *plan, "the private plan", error);
    if (status)
        return status;
    if ((status = read_problem(plan, settings, problem, error)) ||
        (status = fplt__promise_start_mechanism(plan, settings, problem, error)) ||
        (status = fplt__promise_decide(plan, settings, problem, error))) {
        fplt_promise_destroy(plan);
        return status;
    }
    plan->view.drafted = fplt__schema_is_drafted(problem->roster->schema);
    *out = plan;
    return FPLT_OK;
}

static fplt_status plan_job(const fplt_settings *settings, const fplt_job_view *job,
                            uint64_t *records, const char **names, fplt_promise **out,
                            fplt_error *error)
{
    int has_rows = job->training != NULL; /* own costs have none */
    if (has_rows && fplt_dataset_all(job->training).weight)
        return fplt__promise_refuse_weights(error);
    fplt_roster roster = {.agents = fplt_objective_agents(job->objective),
                          .records = records,
                          .names = names,
                          .schema = has_rows ? fplt__dataset_schema(job->training) : NULL};
    struct fplt__promise_problem problem = {.roster = &roster,
                                            .dimension = fplt_objective_dimension(job->objective),
                                            .cost = job->cost,
                                            .radius = has_rows ? job->transform->radius : 1,
                                            .algorithm = job->run.algorithm,
                                            .training = job->run.training,
                                            .rounds = job->run.rounds,
                                            .participation = job->participation,
                                            .prox = job->prox};
    for (uint32_t i = 0; i < roster.agents; i++) {
        records[i] = fplt_objective_records(job->objective, i);
        names[i] = has_rows ? fplt_dataset_agent_name(job->training, i) : NULL;
    }
    return make_plan(settings, &problem, out, error);
}

fplt_status fplt__promise_outlined(const fplt_settings *settings, const fplt_job_source *source,
                                   const fplt__outline *outline, const fplt_roster *roster,
                                   fplt_promise **plan, fplt_error *error)
{
    struct fplt__promise_problem problem = {.roster = roster,
                                            .dimension = outline->dimension,
                                            .cost = outline->cost,
                                            .radius = source->radius,
                                            .algorithm = outline->run.algorithm,
                                            .training = outline->run.training,
                                            .rounds = outline->run.rounds,
                                            .participation = outline->participation,
                                            .prox = outline->prox};
    return make_plan(settings, &problem, plan, error);
}

static fplt_status check_roster(const fplt_settings *settings, const fplt_roster *roster,
                                fplt_error *error)
{
    if (!fplt__promise_wanted(settings))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "no promise is asked for; give privacy.epsilon or privacy.tau");
    if (!roster->agents)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the roster is empty");
    for (uint32_t i = 0; i < roster->agents; i++)
        if (!roster->records[i])
            return fplt_error_set(error, FPLT_BAD_VALUE, "agent %u has no records", i);
    if (roster->schema)
        return FPLT_OK;
    if (!roster->features)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the roster has rows of 0 features");
    if (fplt__task_classifies(roster->task) &&
        (roster->task == FPLT_TASK_BINARY ? roster->classes != 2 : roster->classes < 3))
        return fplt_error_set(
            error, FPLT_BAD_VALUE, "the roster has %u classes, but %s", roster->classes,
            roster->task == FPLT_TASK_BINARY ? "binary rows have 2" : "rows of classes 3 or more");
    return fplt__promise_check_bound(settings, roster->task, error);
}

static fplt_status plan_roster(const fplt_settings *settings, const fplt_roster *roster,
                               fplt_promise **plan, fplt_error *error)
{
    fplt_job_source source = {.schema = roster->schema};
    fplt__outline outline;
    fplt_status status;
    if ((status = check_roster(settings, roster, error)) ||
        (status = fplt_promise_prepare(settings, &source, error)))
        return status;
    fplt__form form = {roster->task, roster->features,
                       fplt__task_classifies(roster->task) ? roster->classes : 1, 0};
    if (roster->schema && (status = fplt__declared_form(settings, roster->schema, &form, error)))
        return status;
    if ((status = fplt__outline_make(settings, &source, &form, roster->agents, &outline, error)))
        return status;
    status = fplt__promise_outlined(settings, &source, &outline, roster, plan, error);
    fplt__outline_clear(&outline);
    return status;
}

fplt_status fplt_promise_plan(const fplt_settings *settings, const fplt_roster *roster,
                              fplt_promise **plan, fplt_error *error)
{
    fplt_roster own = *roster;
    fplt_schema *schema = NULL;
    fplt_status status = roster->schema ? FPLT_OK : fplt__job_schema(settings, &schema, error);
    *plan = NULL;
    if (status)
        return status;
    if (schema)
        own.schema = schema;
    status = plan_roster(settings, &own, plan, error);
    fplt_schema_destroy(schema);
    return status;
}

fplt_status fplt_promise_create(const fplt_settings *settings, fplt_job *job, fplt_promise **out,
                                fplt_error *error)
{
    const fplt_job_view *view = fplt_job_get_view(job);
    uint32_t agents = fplt_objective_agents(view->objective);
    uint64_t *records;
    const char **names = NULL;
    *out = NULL;
    fplt_status status =
        fplt__alloc_into(&records, agents, sizeof *records, "the private plan", error);
    if (!status)
        status = fplt__alloc_into(&names, agents, sizeof *names, "the private plan", error);
    if (!status)
        status = plan_job(settings, view, records, names, out, error);
    fplt__free(records);
    fplt__free(names);
    if (!status && ((status = spread_noise(*out, &view->run.training, error)) ||
                    (status = make_sources(*out, view->run.threads, error)))) {
        fplt_promise_destroy(*out);
        *out = NULL;
    }
    if (!status)
        apply(*out, job);
    return status;
}

void fplt_promise_destroy(fplt_promise *plan)
{
    if (!plan)
        return;
    for (unsigned i = 0; i < plan->sources; i++)
        fplt_noise_destroy(plan->source[i].context);
    fplt__free(plan->source);
    fplt__free(plan->records);
    fplt__free(plan->tau);
    fplt__free(plan->each);
    fplt__free(plan->names);
    fplt__free(plan);
}

const fplt_promise_view *fplt_promise_get_view(const fplt_promise *plan)
{
    return &plan->view;
}

fplt_status fplt_promise_resolve(const fplt_promise *promise, fplt_plan *plan, fplt_error *error)
{
    const fplt_promise_view *view = &promise->view;
    fplt_training training = {
        .solver = view->solver, .step = view->mechanism.step, .epochs = view->epochs};
    fplt_facts facts = promise->facts;
    facts.epochs = view->epochs;
    fplt_plan made = *plan;
    made.unit = view->unit;
    fplt_status status =
        fplt_plan_resolve(view->algorithm, view->parameter, &training, &facts, &made, error);
    if (!status)
        *plan = made;
    return status;
}
