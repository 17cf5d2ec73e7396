#include "federation/plan/plan_resolution.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithm/local_step.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/hub_node.h"
#include "job/auto.h"
#include "job/job.h"
#include "objective/objective_access.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/privacy_plan.h"
#include "federation/plan/run_design.h"
#include "federation/plan/secure_plan.h"
#include "participation/participation.h"
#include "promise/promise.h"
#include "prox/prox_access.h"
#include "fedplt/algorithm.h"

enum { MAX_RESOLVED = 7 }; /* values that a plan states */

/* The form of the data */

void fplt__form_scalars(const fplt__form *form, double scalars[FPLT__FORM_SCALARS])
{
    scalars[0] = form->task;
    scalars[1] = (double)form->features;
    scalars[2] = form->outputs;
    scalars[3] = form->dense;
}

int fplt__is_whole(double x, double low, double high)
{
    return x >= low && x <= high && x == floor(x);
}

fplt_status fplt__form_read(const double scalars[FPLT__FORM_SCALARS], fplt__form *form,
                            fplt_error *error)
{
    if (!fplt__is_whole(scalars[0], 0, FPLT_TASK_SURVIVAL) ||
        !fplt__is_whole(scalars[1], 1, 4294967295.0) || !fplt__is_whole(scalars[2], 1, 1e6) ||
        !fplt__is_whole(scalars[3], 0, 1))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "facts say task %g, %g features and %g outputs, which cannot be",
                              scalars[0], scalars[1], scalars[2]);
    *form = (fplt__form){.task = (fplt_task)scalars[0],
                         .features = (size_t)scalars[1],
                         .outputs = (uint32_t)scalars[2],
                         .dense = scalars[3] != 0};
    return FPLT_OK;
}

/* Agreement */

static fplt_curvature_bounds join_bends(const fplt_curvature_bounds *bend, uint32_t members)
{
    FPLT__ASSERT(members > 0);
    fplt_curvature_bounds all = bend[0];
    for (uint32_t i = 1; i < members; i++)
        all = fplt__curvature_bounds_join(all, bend[i]);
    return all;
}

static fplt_status resolve(fplt__agreement *agreement, const fplt__outline *job, fplt_error *error)
{
    const fplt_run_settings *run = &job->run;
    fplt_plan *plan = &agreement->plan;
    FPLT__ASSERT(plan->agents == agreement->proposal.members && plan->dimension > 0);
    FPLT__ASSERT(plan->algorithm == run->algorithm);
    fplt_facts facts = {.curvature = agreement->curvature,
                        .agents = plan->agents,
                        .cohort = fplt_expected_cohort(job->participation),
                        .dimension = plan->dimension,
                        .unbounded = fplt__objective_is_unbounded(job->objective)};
    return fplt_plan_resolve(run->algorithm, run->parameter, &run->training, &facts, plan, error);
}

static fplt_status add_resolved(fplt__agreement *agreement, const char *name, const char *value,
                                fplt_error *error)
{
    FPLT__ASSERT(agreement->resolves < MAX_RESOLVED);
    FPLT__ASSERT(!agreement->resolves ||
                 strcmp(agreement->resolved[agreement->resolves - 1].name, name) < 0);
    fplt__pair *pair = &agreement->resolved[agreement->resolves++];
    pair->name = fplt__strdup(name);
    pair->value = fplt__strdup(value);
    return pair->name && pair->value
               ? FPLT_OK
               : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a plan");
}

static const char *const task_names[] = {[FPLT_TASK_BINARY] = "binary",
                                         [FPLT_TASK_CLASSES] = "classes",
                                         [FPLT_TASK_REGRESSION] = "regression",
                                         [FPLT_TASK_SURVIVAL] = "survival"};

/* In the order of the alphabet. */
static fplt_status add_all_resolved(fplt__agreement *agreement, const fplt__form *form,
                                    const fplt_training *training, const char *formula_numbers,
                                    fplt_error *error)
{
    char number[4][32];
    FPLT__ASSERT(!agreement->resolved && !agreement->resolves);
    FPLT__ASSERT((size_t)form->task < sizeof task_names / sizeof *task_names);
    snprintf(number[0], sizeof number[0], "%u", form->outputs);
    snprintf(number[1], sizeof number[1], "%u", training->epochs);
    snprintf(number[2], sizeof number[2], "%zu", form->features);
    snprintf(number[3], sizeof number[3], "%.17g", training->step);
    fplt_status status = fplt__alloc_into(&agreement->resolved, MAX_RESOLVED,
                                          sizeof *agreement->resolved, "a plan", error);
    if (status ||
        (!form->custom && (status = add_resolved(agreement, "classes", number[0], error))) ||
        (status = add_resolved(agreement, "epochs", number[1], error)) ||
        (!form->custom && (status = add_resolved(agreement, "features", number[2], error))) ||
        (formula_numbers &&
         (status = add_resolved(agreement, "formula", formula_numbers, error))) ||
        (agreement->private && (status = add_resolved(agreement, "gamma", number[3], error))) ||
        (!agreement->private &&
         (status = add_resolved(agreement, "hessian", form->withheld ? "no" : "yes", error))))
        return status;
    return form->custom ? FPLT_OK : add_resolved(agreement, "task", task_names[form->task], error);
}

/* What preparation found. */
static fplt_status fill_prepared(fplt__agreement *agreement, const fplt__gathered *gathered,
                                 fplt_error *error)
{
    size_t fills = gathered->fills, classes = gathered->form.outputs;
    fplt_status status = FPLT_OK;
    if (gathered->fill &&
        !(status = fplt__alloc_into(&agreement->fill, fills, sizeof(double), "a plan", error))) {
        agreement->fills = (uint32_t)fills;
        memcpy(agreement->fill, gathered->fill, fills * sizeof(double));
    }
    if (!status && gathered->class_rows &&
        !(status = fplt__alloc_into(&agreement->class_rows, classes, sizeof(uint64_t), "a plan",
                                    error))) {
        agreement->balances = (uint32_t)classes;
        memcpy(agreement->class_rows, gathered->class_rows, classes * sizeof(uint64_t));
    }
    return status;
}

static fplt_status fill_arrays(fplt__agreement *agreement, const fplt__gathered *gathered,
                               fplt_error *error)
{
    uint32_t members = agreement->proposal.members;
    size_t features = gathered->form.features;
    fplt_status status;
    FPLT__ASSERT(gathered->records);
    FPLT__ASSERT(!gathered->mean || gathered->scale);
    if ((status = fplt__alloc_into(&agreement->records, members, sizeof *agreement->records,
                                   "a plan", error)) ||
        (status =
             fplt__alloc_into(&agreement->tau, members, sizeof *agreement->tau, "a plan", error)) ||
        (status =
             fplt__alloc_into(&agreement->rate, members, sizeof *agreement->rate, "a plan", error)))
        return status;
    memcpy(agreement->records, gathered->records, members * sizeof *agreement->records);
    if (gathered->dictionary && !(agreement->dictionary = fplt__strdup(gathered->dictionary)))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a plan");
    if (agreement->proposal.secure) {
        if ((status = fplt__alloc_into(&agreement->identities, members, 32, "identities", error)))
            return status;
        memcpy(agreement->identities, gathered->identities, 32 * (size_t)members);
    }
    if (!gathered->scale)
        return FPLT_OK;
    if ((status = fplt__alloc_into(&agreement->shift, features, sizeof(double), "a plan", error)) ||
        (status = fplt__alloc_into(&agreement->scale, features, sizeof(double), "a plan", error)))
        return status;
    agreement->shifts = (uint32_t)features;
    memcpy(agreement->scale, gathered->scale, features * sizeof(double));
    if (gathered->mean)
        memcpy(agreement->shift, gathered->mean, features * sizeof(double));
    return FPLT_OK;
}

static fplt_status allow(const fplt_run_settings *run, const fplt_participation *participation,
                         const fplt_prox *prox, fplt_error *error)
{
    return fplt_algorithm_allow(run->algorithm, run->training.solver,
                                !fplt__participation_is_full(participation),
                                !fplt__prox_is_zero(prox), 0, error);
}

/* What the settings say */

void fplt__plan_resolution_clear(fplt__plan_resolution *terms)
{
    fplt__outline_clear(&terms->job);
    fplt_schema_destroy(terms->schema);
    fplt_settings_destroy(terms->settings);
    memset(terms, 0, sizeof *terms);
}

fplt_status fplt__proposal_form(const fplt__proposal *proposal, const fplt_schema *schema,
                                fplt__form *form, fplt_error *error)
{
    fplt_settings *settings;
    fplt_design *design = NULL;
    fplt__names columns = {0, NULL};
    *form = fplt__schema_form(schema);
    fplt_status status = fplt__plan_resolution_settings(proposal, 0, &settings, error);
    if (status)
        return status;
    if (fplt__run_formula(settings) &&
        !(status = fplt__schema_feature_names(schema, &columns, error)) &&
        !(status = fplt__run_design_make(settings, schema, &columns, NULL, NULL, &design, error)))
        form->features = fplt__design_names(design)->count;
    fplt__design_destroy(design);
    fplt__names_clear(&columns);
    fplt_settings_destroy(settings);
    return status;
}

static fplt_status read_terms(const fplt__proposal *proposal, const fplt__form *form,
                              fplt__plan_resolution *terms, fplt_error *error)
{
    fplt_status status;
    if ((status = fplt__plan_resolution_settings(proposal, 0, &terms->settings, error)) ||
        (status = fplt__proposal_schema(proposal, &terms->schema, error)))
        return status;
    terms->source.schema = terms->schema;
    terms->source.own_costs = fplt__is_custom(proposal);
    if ((status = fplt_promise_prepare(terms->settings, &terms->source, error)))
        return status;
    return fplt__outline_make(terms->settings, &terms->source, form, proposal->members, &terms->job,
                              error);
}

fplt_status fplt__plan_resolution_of(const fplt__proposal *proposal, const fplt__form *form,
                                     fplt__plan_resolution *terms, fplt_error *error)
{
    memset(terms, 0, sizeof *terms);
    fplt_status status = read_terms(proposal, form, terms, error);
    if (!status)
        status = allow(&terms->job.run, terms->job.participation, terms->job.prox, error);
    if (status)
        fplt__plan_resolution_clear(terms);
    return status;
}

static void fill_plan(const fplt__plan_resolution *terms, uint32_t members,
                      fplt__agreement *agreement)
{
    const fplt_run_settings *run = &terms->job.run;
    const char *kernel = fplt_settings_text(terms->settings, "kernel");
    agreement->plan = (fplt_plan){.algorithm = run->algorithm,
                                  .agents = members,
                                  .dimension = terms->job.dimension,
                                  .seed = run->seed};
    agreement->rounds = run->rounds;
    agreement->quorum = agreement->proposal.quorum;
    agreement->evaluate_every = run->evaluate_every;
    fplt_shape shape =
        fplt_algorithm_shape(run->algorithm, terms->job.parameter, terms->job.dimension);
    agreement->criterion_at_mean =
        shape.local_model >= 0 &&
        strcmp(fplt_settings_text(terms->settings, "criterion-at"), "mean") == 0;
    agreement->score = fplt_settings_real(terms->settings, "holdout") > 0;
    agreement->tolerance = run->tolerance;
    agreement->relative = run->relative;
    agreement->change = run->change;
    if (strcmp(kernel, "auto") != 0)
        snprintf(agreement->kernel, sizeof agreement->kernel, "%s", kernel);
    fplt__secure_plan_fill(agreement);
}

/* The outline's objective has rows of zeros; what agents have is gathered. */
static fplt__load load_of(const fplt__plan_resolution *terms, const fplt__gathered *gathered,
                          uint32_t members)
{
    fplt__load load = fplt__load_of(terms->job.objective);
    load.records = 0;
    for (uint32_t i = 0; i < members; i++)
        load.records += (double)gathered->records[i] / members;
    load.sparse = !gathered->form.dense;
    return load;
}

/* Without privacy: by how the costs curve. */
static fplt_status settle_by_facts(fplt__plan_resolution *terms, const fplt__gathered *gathered,
                                   fplt__agreement *agreement, fplt_error *error)
{
    fplt_auto choice = {.curvatures = NULL};
    FPLT__ASSERT(gathered->bend && !agreement->private);
    fplt__load load = load_of(terms, gathered, agreement->proposal.members);
    fplt_curvature_bounds bend = join_bends(gathered->bend, agreement->proposal.members);
    agreement->curvature = bend.everywhere;
    fplt_status status =
        fplt__algorithm_check_bound(terms->job.run.algorithm,
                                    fplt__objective_is_unbounded(terms->job.objective), error);
    if (status)
        return status;
    status = fplt__auto_choose(&bend, &terms->job.run, agreement->proposal.members,
                               terms->job.dimension, &choice, error);
    if (!status) {
        fplt__auto_apply(&choice, &terms->job.run);
        if (fplt_settings_is_auto(terms->settings, "eval-every"))
            terms->job.run.evaluate_every =
                fplt__job_spacing(&load, &terms->job.run, terms->job.participation, 1);
        fill_plan(terms, agreement->proposal.members, agreement);
        status = resolve(agreement, &terms->job, error);
    }
    fplt__auto_clear(&choice);
    return status;
}

/* With privacy: by public numbers. */
static fplt_status settle_by_promise(fplt__plan_resolution *terms, fplt__agreement *agreement,
                                     fplt_error *error)
{
    fplt_promise *promise;
    fplt_status status =
        fplt__privacy_plan_make(terms, &agreement->proposal, agreement->records, &promise, error);
    if (status)
        return status;
    fplt__privacy_plan_apply(fplt_promise_get_view(promise), terms);
    fill_plan(terms, agreement->proposal.members, agreement);
    status = fplt__privacy_plan_state(promise, agreement, error);
    fplt_promise_destroy(promise);
    return status;
}

fplt_status fplt__plan_resolution_agree(const fplt__proposal *proposal,
                                        const fplt__gathered *gathered, fplt__agreement *agreement,
                                        fplt_error *error)
{
    fplt__plan_resolution terms;
    memset(agreement, 0, sizeof *agreement);
    fplt_status status = fplt__plan_resolution_of(proposal, &gathered->form, &terms, error);
    if (status)
        return status;
    if (!(status = fplt__proposal_copy(proposal, &agreement->proposal, error)) &&
        !(status = fill_arrays(agreement, gathered, error)) &&
        !(status = fill_prepared(agreement, gathered, error)))
        status = fplt__promise_wanted(terms.settings)
                     ? settle_by_promise(&terms, agreement, error)
                     : settle_by_facts(&terms, gathered, agreement, error);
    FPLT__ASSERT(status || agreement->private == (fplt__promise_wanted(terms.settings) != 0));
    FPLT__ASSERT(status || agreement->plan.agents == agreement->proposal.members);
    fplt__secure_plan_fill(agreement);
    if (!status)
        status = add_all_resolved(agreement, &gathered->form, &terms.job.run.training,
                                  gathered->formula_numbers, error);
    fplt__plan_resolution_clear(&terms);
    if (status)
        fplt__agreement_clear(agreement);
    return status;
}

/* Of data that are read; task, features and classes are resolved values. */
static fplt_status read_form(const fplt__agreement *agreement, fplt__form *form, fplt_error *error)
{
    static const char *const names[] = {"classes", "features", "task"};
    const char *found[3];
    long long outputs, features;
    for (size_t i = 0; i < 3; i++)
        if (!(found[i] = fplt__pair_find(agreement->resolved, agreement->resolves, names[i])))
            return fplt_error_set(error, FPLT_BAD_DATA, "the plan does not say `%s`", names[i]);
    double scalars[FPLT__FORM_SCALARS] = {-1, 0, 0, 1};
    for (size_t i = 0; i < sizeof task_names / sizeof *task_names; i++)
        if (strcmp(found[2], task_names[i]) == 0)
            scalars[0] = (double)i;
    if (fplt__parse_integer(found[0], &outputs) || fplt__parse_integer(found[1], &features))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan's features '%.20s' or classes '%.20s' are no numbers",
                              found[1], found[0]);
    scalars[1] = (double)features;
    scalars[2] = (double)outputs;
    return fplt__form_read(scalars, form, error);
}

fplt_status fplt__agreement_form(const fplt__agreement *agreement, fplt__form *form,
                                 fplt_error *error)
{
    const char *hessian = fplt__pair_find(agreement->resolved, agreement->resolves, "hessian");
    fplt_status status = FPLT_OK;
    if (fplt__is_custom(&agreement->proposal))
        *form = fplt__custom_form(&agreement->proposal);
    else
        status = read_form(agreement, form, error);
    form->withheld = !status && hessian && strcmp(hessian, "no") == 0;
    return status;
}

/* NULL: nothing differs. A promise plans its rounds, and is computed again elsewhere. */
static const char *differing(const fplt__agreement *stated, const fplt__agreement *own)
{
    const struct {
        const char *what;
        int differs;
    } all[] = {
        {"algorithm", stated->plan.algorithm != own->plan.algorithm},
        {"dimension", stated->plan.dimension != own->plan.dimension},
        {"seed", stated->plan.seed != own->plan.seed},
        {"quorum", stated->quorum != own->quorum},
        {"secure aggregation", stated->threshold != own->threshold || stated->most != own->most},
        {"unit", !stated->private && stated->plan.unit != 0}, /* with privacy computed again */
        {"kernel", strcmp(stated->kernel, own->kernel) != 0},
        {"number of rounds", !stated->private && stated->rounds != own->rounds},
        {"tolerance",
         !stated->private && (stated->tolerance != own->tolerance ||
                              stated->relative != own->relative || stated->change != own->change)},
        {"place of the criterion", stated->criterion_at_mean != own->criterion_at_mean},
        {"score", stated->score != own->score},
        {"start", fplt__is_zero(&stated->start) != fplt__is_zero(&own->start)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].differs)
            return all[i].what;
    return NULL;
}

/* A number that the proposal gives and that the plan overrides; NULL: none. */
static const char *overridden(const fplt__agreement *agreement)
{
    static const char *const names[] = {"epochs", "gamma", "rounds"};
    const fplt__proposal *proposal = &agreement->proposal;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double given, taken = (double)agreement->rounds;
        const char *text = fplt__pair_find(proposal->setting, proposal->settings, names[i]);
        const char *found = fplt__pair_find(agreement->resolved, agreement->resolves, names[i]);
        if (!text || fplt__parse_real(text, &given) || (!found && strcmp(names[i], "rounds") != 0))
            continue;
        if ((found && fplt__parse_real(found, &taken)) || given != taken)
            return names[i];
    }
    return NULL;
}

fplt_status fplt__plan_resolution_follow(const fplt__agreement *agreement, fplt_error *error)
{
    fplt__plan_resolution terms;
    fplt__form form;
    fplt__agreement own = {.proposal = {.quorum = agreement->proposal.quorum,
                                        .members = agreement->proposal.members,
                                        .secure = agreement->proposal.secure,
                                        .colluders = agreement->proposal.colluders}};
    fplt_status status = fplt__agreement_form(agreement, &form, error);
    if (status || (status = fplt__plan_resolution_of(&agreement->proposal, &form, &terms, error)))
        return status;
    fill_plan(&terms, agreement->proposal.members, &own);
    own.start.byte[0] =
        strcmp(fplt_settings_text(terms.settings, "start"), "model") == 0 ||
        strcmp(fplt_settings_text(terms.settings, "privacy.start"), "released") == 0;
    fplt__plan_resolution_clear(&terms);
    const char *what = differing(agreement, &own);
    what = what ? what : overridden(agreement);
    return what ? fplt_error_set(error, FPLT_BAD_DATA, "the plan's %s is not its proposal's", what)
                : FPLT_OK;
}

fplt_status fplt__start_digest(const double *x, size_t count, fplt__digest *digest,
                               fplt_error *error)
{
    uint8_t *bytes;
    fplt_status status = fplt__alloc_into(&bytes, 8 * count, 1, "the start", error);
    if (status)
        return status;
    fplt__put_reals(bytes, x, count);
    *digest = fplt__hash_bytes(bytes, 8 * count);
    fplt__free(bytes);
    return FPLT_OK;
}

void fplt__leader_plan_clear(fplt__leader_plan *plan)
{
    fplt_hub_destroy(plan->hub);
    fplt_participation_destroy(plan->participation);
    fplt_prox_destroy(plan->prox);
    if (plan->agreement)
        fplt__agreement_clear(plan->agreement);
    fplt__free(plan->agreement);
    memset(plan, 0, sizeof *plan);
}

fplt_status fplt__plan_resolution_lead(fplt__agreement *agreement, const double *start,
                                       fplt__leader_plan *plan, fplt_error *error)
{
    fplt__plan_resolution terms = {.settings = NULL};
    fplt__form form;
    memset(plan, 0, sizeof *plan);
    fplt_status status = fplt__agreement_form(agreement, &form, error);
    if (!status)
        status = fplt__plan_resolution_of(&agreement->proposal, &form, &terms, error);
    if (!status && terms.job.dimension != agreement->plan.dimension)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "the plan's dimension is %zu, but its settings give %zu",
                                agreement->plan.dimension, terms.job.dimension);
    if (!status)
        status = fplt_hub_create(&agreement->plan, terms.job.prox, start, &plan->hub, error);
    if (!status)
        status = fplt__hub_enrol_all(plan->hub, start, error);
    if (status) {
        fplt_hub_destroy(plan->hub);
        plan->hub = NULL;
        fplt__agreement_clear(agreement);
        fplt__free(agreement);
    } else {
        plan->agreement = agreement;
        plan->start = start;
        plan->participation = terms.job.participation;
        plan->prox = terms.job.prox;
        terms.job.participation = NULL;
        terms.job.prox = NULL;
    }
    fplt__plan_resolution_clear(&terms);
    return status;
}
