#include "federation/plan/plan_resolution.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "data/schema.h"
#include "fedplt/federation.h"
#include "fedplt/inference.h"
#include "job/job.h"
#include "federation/plan/naming.h"
#include "federation/plan/privacy_plan.h"
#include "report/model.h"
#include "trainer/declare.h"

enum {
    MAX_RESOLVED = 6, /* values that a plan states */
    TERMS = FPLT_JOB_PREPARE | FPLT_JOB_COST | FPLT_JOB_COMPOSITE | FPLT_JOB_ALGORITHM |
            FPLT_JOB_TRAINING | FPLT_JOB_PARTICIPATION | FPLT_JOB_RUN
};

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

/* Settings */

static const char *const excluded[] = {"trace",       "threads", "uncoordinated",
                                       "start-model", "resume",  "start-scale"};

static fplt_status set_pairs(fplt_settings *settings, const char *section, const char *prefix,
                             const fplt__pair *pairs, size_t count, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < count; i++) {
        char name[160], origin[200];
        snprintf(name, sizeof name, "%s%.120s", prefix, pairs[i].name);
        snprintf(origin, sizeof origin, "%s", section);
        for (size_t j = 0; j < sizeof excluded / sizeof *excluded; j++)
            if (strcmp(excluded[j], pairs[i].name) == 0)
                return fplt_error_set(error, FPLT_BAD_VALUE,
                                      "%s: %s has no place in a federation; leave it out", section,
                                      pairs[i].name);
        status = fplt_settings_set(settings, name, pairs[i].value, origin, error);
    }
    return status;
}

static fplt_status set_all(fplt_settings *settings, const fplt__proposal *proposal,
                           fplt_error *error)
{
    fplt_status status;
    if ((status = fplt_settings_add(settings, "privacy", fplt_promise_table, error)) ||
        (status = fplt_settings_add(settings, "privacy", fplt__privacy_plan_table, error)) ||
        (status = set_pairs(settings, "train", "", proposal->setting, proposal->settings, error)))
        return status;
    return set_pairs(settings, "privacy", "privacy.", proposal->privacy, proposal->privacies,
                     error);
}

static fplt_status check_terms(const fplt_settings *settings, fplt_error *error)
{
    const char *start = fplt_settings_text(settings, "start");
    if (strcmp(fplt_settings_text(settings, "class-weight"), "none") != 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: class-weight is balanced, but a federation does not count "
                              "classes over its sites so far; give the rows a weight");
    if (strcmp(start, "zero") != 0 && strcmp(start, "model") != 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: start is %s, but a federation starts at zero or at a model",
                              start);
    if (strcmp(fplt_settings_text(settings, "participation"), "trace") == 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: participation is trace, which has no place in a federation; "
                              "one of all, bernoulli, fixed, round-robin");
    return fplt__privacy_plan_check(settings, error);
}

fplt_status fplt__plan_resolution_settings(const fplt__proposal *proposal, int reading,
                                           fplt_settings **out, fplt_error *error)
{
    fplt_settings *settings;
    const char *algorithm = fplt__pair_find(proposal->setting, proposal->settings, "algorithm");
    *out = NULL;
    fplt_status status = fplt_settings_create(&settings, error);
    if (status)
        return status;
    if ((status =
             fplt_job_declare(settings, TERMS | (reading ? FPLT_JOB_DATA : 0), algorithm, error)) ||
        (status = fplt_trainer_prefer(settings, 0, NULL, NULL, error)) ||
        /* a proposal of an earlier program does not state them */
        (status = fplt_settings_prefer(settings, "ties", "breslow", "an earlier program", error)) ||
        (status = set_all(settings, proposal, error)) || (status = check_terms(settings, error))) {
        fplt_settings_destroy(settings);
        return status;
    }
    *out = settings;
    return FPLT_OK;
}

/* Defaults */

static fplt_status set_pair(fplt__pair **pairs, size_t *count, const char *name, const char *value,
                            fplt_error *error)
{
    fplt__pair *pair = NULL;
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*pairs)[i].name, name) == 0)
            pair = &(*pairs)[i];
    if (!pair) {
        size_t room = *count;
        fplt_status status =
            fplt__grow(pairs, &room, *count + 1, sizeof **pairs, "settings", error);
        if (status)
            return status;
        pair = &(*pairs)[(*count)++];
        *pair = (fplt__pair){fplt__strdup(name), NULL};
    }
    fplt__free(pair->value);
    pair->value = fplt__strdup(value);
    return pair->name && pair->value
               ? FPLT_OK
               : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for settings");
}

fplt_status fplt__proposal_set(fplt__proposal *proposal, const char *name, const char *value,
                               fplt_error *error)
{
    return set_pair(&proposal->setting, &proposal->settings, name, value, error);
}

fplt_status fplt__proposal_promise(fplt__proposal *proposal, const char *name, const char *value,
                                   fplt_error *error)
{
    return set_pair(&proposal->privacy, &proposal->privacies, name, value, error);
}

/* As the tables are made: what federation.yaml says. A quorum below all means that rounds may close
 * without some. */
static const char *given_there(void *context, const char *name)
{
    const fplt__proposal *proposal = context;
    if (strcmp(name, "quorum") == 0)
        return proposal->quorum && proposal->quorum < proposal->members ? "given" : NULL;
    if (strncmp(name, "privacy.", 8) == 0)
        return fplt__pair_find(proposal->privacy, proposal->privacies, name + 8);
    return fplt__pair_find(proposal->setting, proposal->settings, name);
}

/* "algorithm=...|auto" of those that fit; filled before the first use. */
static char closing_early[512], mirroring[512];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void add_algorithm(char text[512], const char *name)
{
    size_t used = strlen(text);
    snprintf(text + used, 512 - used, "%s%s", used ? "|" : "algorithm=", name);
}

static void fill_needs(void)
{
    static const double parameter[FPLT_MAX_PARAMETERS];
    const fplt_algorithm *algorithm;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++) {
        if (algorithm->allows & FPLT_ALLOWS_PARTIAL)
            add_algorithm(closing_early, algorithm->name);
        if (fplt_algorithm_shape(algorithm, parameter, 2).mirrored)
            add_algorithm(mirroring, algorithm->name);
    }
    add_algorithm(closing_early, "auto");
    add_algorithm(mirroring, "auto");
}

/* What stands in federation.yaml beside the proposal, as far as its effect hangs on that. */
static fplt_status set_beside(fplt_settings *settings, const fplt_settings *leader,
                              fplt_error *error)
{
    fplt_status status =
        fplt_settings_add(settings, "federation", fplt_federation_lead_table, error);
    for (const fplt_setting *row = fplt_federation_lead_table; !status && row->name; row++)
        if (fplt_settings_given(leader, row->name))
            status = fplt_settings_set(settings, row->name, fplt_settings_text(leader, row->name),
                                       fplt_settings_origin(leader, row->name), error);
    return status;
}

/* Defaults that are stated would count as given: what has no effect is looked for before. */
static fplt_status check_effects(fplt_settings *settings, const fplt__proposal *proposal,
                                 const fplt_settings *leader, fplt_error *error)
{
    static const fplt_setting_need here[] = {
        {"t-gradient", "epochs=auto,algorithm=auto", NULL}, /* nobody adds up such times */
        {"t-communication", "epochs=auto,algorithm=auto", NULL},
        {"quorum", closing_early, NULL},
        {"inform", "!privacy.epsilon;!privacy.tau", NULL},
        {"check", mirroring, NULL},
        {NULL, NULL, NULL},
    };
    pthread_once(&filled, fill_needs);
    fplt_status status = set_all(settings, proposal, error);
    if (!status)
        status = set_beside(settings, leader, error);
    if (!status)
        status = fplt_settings_effective(settings, error);
    return status ? status : fplt_settings_effective_in(settings, "coordinator", here, error);
}

/* Whether the loss is Cox's, by its name or by a schema of survival times. */
static fplt_status find_survival(const fplt__proposal *proposal, const fplt_settings *settings,
                                 int *survival, fplt_error *error)
{
    const char *loss = fplt_settings_text(settings, "loss");
    fplt_schema *schema = NULL;
    *survival = strcmp(loss, "cox") == 0;
    if (strcmp(loss, "auto") != 0)
        return FPLT_OK;
    fplt_status status = fplt__plan_resolution_schema(proposal, &schema, error);
    if (!status && schema)
        *survival = fplt__schema_form(schema).task == FPLT_TASK_SURVIVAL;
    fplt_schema_destroy(schema);
    return status;
}

/* Beside preferences the algorithm; with survival times how ties are treated, and no intercept, which that loss does
 * not see. */
static int is_stated(const fplt_settings *settings, const char *name, int survival)
{
    if (strcmp(name, "intercept") == 0 && survival)
        return 0;
    return fplt_settings_preference(settings, name) || strcmp(name, "algorithm") == 0 ||
           (survival && strcmp(name, "ties") == 0);
}

fplt_status fplt__plan_resolution_state_defaults(fplt__proposal *proposal,
                                                 const fplt_settings *leader, fplt_error *error)
{
    fplt_settings *settings;
    const fplt_setting *row;
    int survival = 0;
    fplt_status status = fplt_settings_create(&settings, error);
    if (status)
        return status;
    if (!(status = fplt__trainer_declare(settings, TERMS, 1, given_there, proposal, error)))
        status = check_effects(settings, proposal, leader, error);
    if (!status)
        status = find_survival(proposal, settings, &survival, error);
    for (size_t i = 0; !status && (row = fplt_settings_row(settings, i, NULL)); i++)
        if (is_stated(settings, row->name, survival) &&
            !fplt__pair_find(proposal->setting, proposal->settings, row->name))
            status = fplt__proposal_set(proposal, row->name,
                                        fplt_settings_text(settings, row->name), error);
    fplt_settings_destroy(settings);
    return status;
}

int fplt__plan_resolution_fits(const fplt_settings *settings)
{
    const char *standardise = fplt_settings_text(settings, "standardise");
    return strcmp(standardise, "no") != 0 && strcmp(standardise, "schema") != 0;
}

/* Agreement */

static char *copied(const char *text, fplt_status *status)
{
    char *copy = fplt__strdup(text);
    if (!copy)
        *status = FPLT_NO_MEMORY;
    return copy;
}

static fplt_status copy_pairs(const fplt__pair *from, size_t count, fplt__pair **to,
                              fplt_error *error)
{
    fplt_status status = fplt__alloc_into(to, count + 1, sizeof **to, "settings", error);
    for (size_t i = 0; !status && i < count; i++) {
        (*to)[i].name = copied(from[i].name, &status);
        (*to)[i].value = copied(from[i].value, &status);
    }
    return status;
}

fplt_status fplt__proposal_copy(const fplt__proposal *from, fplt__proposal *to, fplt_error *error)
{
    *to = *from;
    to->roster = NULL;
    to->setting = to->privacy = NULL;
    to->schema = to->dictionary = NULL;
    to->settings = to->privacies = 0;
    fplt_status status;
    if ((status = fplt__alloc_into(&to->roster, from->members, sizeof *to->roster, "the roster",
                                   error)) ||
        (status = copy_pairs(from->setting, from->settings, &to->setting, error)))
        return status;
    to->settings = from->settings;
    if ((status = copy_pairs(from->privacy, from->privacies, &to->privacy, error)))
        return status;
    to->privacies = from->privacies;
    memcpy(to->roster, from->roster, from->members * sizeof *to->roster);
    if (from->schema)
        to->schema = copied(from->schema, &status);
    if (from->dictionary)
        to->dictionary = copied(from->dictionary, &status);
    return status;
}

static fplt_curvature_bounds join_bends(const fplt_curvature_bounds *bend, uint32_t members)
{
    FPLT__ASSERT(members > 0);
    fplt_curvature_bounds all = bend[0];
    for (uint32_t i = 1; i < members; i++)
        all = fplt_curvature_bounds_join(all, bend[i]);
    return all;
}

static fplt_status resolve(fplt__agreement *agreement, const fplt_run_settings *run,
                           const fplt_participation *participation, fplt_error *error)
{
    fplt_plan *plan = &agreement->plan;
    FPLT__ASSERT(plan->agents == agreement->proposal.members && plan->dimension > 0);
    FPLT__ASSERT(plan->algorithm == run->algorithm);
    fplt_facts facts = {.curvature = agreement->curvature,
                        .agents = plan->agents,
                        .cohort = fplt_expected_cohort(participation),
                        .dimension = plan->dimension};
    return fplt_plan_resolve(run->algorithm, run->parameter, &run->training, &facts, plan, error);
}

static fplt_status add_resolved(fplt__agreement *agreement, const char *name, const char *value,
                                fplt_error *error)
{
    fplt_status status = FPLT_OK;
    FPLT__ASSERT(agreement->resolves < MAX_RESOLVED);
    FPLT__ASSERT(!agreement->resolves ||
                 strcmp(agreement->resolved[agreement->resolves - 1].name, name) < 0);
    fplt__pair *pair = &agreement->resolved[agreement->resolves++];
    pair->name = copied(name, &status);
    pair->value = copied(value, &status);
    return status ? fplt_error_set(error, status, "no memory for a plan") : FPLT_OK;
}

static const char *const task_names[] = {[FPLT_TASK_BINARY] = "binary",
                                         [FPLT_TASK_CLASSES] = "classes",
                                         [FPLT_TASK_REGRESSION] = "regression",
                                         [FPLT_TASK_SURVIVAL] = "survival"};

/* In the order of the alphabet. */
static fplt_status add_all_resolved(fplt__agreement *agreement, const fplt__form *form,
                                    const fplt_training *training, fplt_error *error)
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
    if (status || (status = add_resolved(agreement, "classes", number[0], error)) ||
        (status = add_resolved(agreement, "epochs", number[1], error)) ||
        (status = add_resolved(agreement, "features", number[2], error)) ||
        (agreement->private && (status = add_resolved(agreement, "gamma", number[3], error))) ||
        (!agreement->private &&
         (status = add_resolved(agreement, "hessian", form->withheld ? "no" : "yes", error))))
        return status;
    return add_resolved(agreement, "task", task_names[form->task], error);
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
                                !fplt_participation_is_full(participation),
                                !fplt_prox_is_zero(prox), 0, error);
}

/* What the settings say */

void fplt__plan_resolution_clear(fplt__plan_resolution *terms)
{
    fplt__outline_clear(&terms->job);
    fplt_schema_destroy(terms->schema);
    fplt_settings_destroy(terms->settings);
    memset(terms, 0, sizeof *terms);
}

fplt_status fplt__plan_resolution_schema(const fplt__proposal *proposal, fplt_schema **schema,
                                         fplt_error *error)
{
    *schema = NULL;
    return !proposal->schema ? FPLT_OK
                             : fplt_schema_parse(proposal->schema, strlen(proposal->schema),
                                                 "the proposal's schema", schema, error);
}

static fplt_status read_terms(const fplt__proposal *proposal, const fplt__form *form,
                              fplt__plan_resolution *terms, fplt_error *error)
{
    fplt_status status;
    if ((status = fplt__plan_resolution_settings(proposal, 0, &terms->settings, error)) ||
        (status = fplt__plan_resolution_schema(proposal, &terms->schema, error)))
        return status;
    terms->source.schema = terms->schema;
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
    fplt_status status = fplt_auto_choose(&bend, &terms->job.run, agreement->proposal.members,
                                          terms->job.dimension, &choice, error);
    if (!status) {
        fplt_auto_apply(&choice, &terms->job.run);
        if (fplt_settings_is_auto(terms->settings, "eval-every"))
            terms->job.run.evaluate_every =
                fplt__job_spacing(&load, &terms->job.run, terms->job.participation, 1);
        fill_plan(terms, agreement->proposal.members, agreement);
        status = resolve(agreement, &terms->job.run, terms->job.participation, error);
    }
    fplt_auto_clear(&choice);
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
        !(status = fill_arrays(agreement, gathered, error)))
        status = fplt_promise_wanted(terms.settings)
                     ? settle_by_promise(&terms, agreement, error)
                     : settle_by_facts(&terms, gathered, agreement, error);
    FPLT__ASSERT(status || agreement->private == (fplt_promise_wanted(terms.settings) != 0));
    FPLT__ASSERT(status || agreement->plan.agents == agreement->proposal.members);
    if (!status)
        status = add_all_resolved(agreement, &gathered->form, &terms.job.run.training, error);
    fplt__plan_resolution_clear(&terms);
    if (status)
        fplt__agreement_clear(agreement);
    return status;
}

fplt_status fplt__agreement_form(const fplt__agreement *agreement, fplt__form *form,
                                 fplt_error *error)
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
    if (fplt_parse_integer(found[0], &outputs) || fplt_parse_integer(found[1], &features))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan's features '%.20s' or classes '%.20s' are no numbers",
                              found[1], found[0]);
    scalars[1] = (double)features;
    scalars[2] = (double)outputs;
    const char *hessian = fplt__pair_find(agreement->resolved, agreement->resolves, "hessian");
    fplt_status status = fplt__form_read(scalars, form, error);
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

fplt_status fplt__plan_resolution_follow(const fplt__agreement *agreement, fplt_error *error)
{
    fplt__plan_resolution terms;
    fplt__form form;
    fplt__agreement own = {.proposal = {.quorum = agreement->proposal.quorum}};
    fplt_status status = fplt__agreement_form(agreement, &form, error);
    if (status || (status = fplt__plan_resolution_of(&agreement->proposal, &form, &terms, error)))
        return status;
    fill_plan(&terms, agreement->proposal.members, &own);
    own.start.byte[0] =
        strcmp(fplt_settings_text(terms.settings, "start"), "model") == 0 ||
        strcmp(fplt_settings_text(terms.settings, "privacy.start"), "released") == 0;
    fplt__plan_resolution_clear(&terms);
    const char *what = differing(agreement, &own);
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
        status = fplt_hub_enrol_all(plan->hub, start, error);
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

/* The model */

fplt_status fplt__plan_resolution_transform(const fplt_settings *settings,
                                            const fplt_job_source *source, size_t features,
                                            const fplt__agreement *agreement,
                                            fplt_transform *transform, fplt_error *error)
{
    fplt_transform_settings wanted = fplt__job_transform(settings, source);
    int centred = 0;
    fplt_status status;
    *transform = (fplt_transform){.features = features, .radius = wanted.radius};
    if (!agreement->shifts && strcmp(wanted.standardise, "schema") == 0 && !source->schema)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "train: standardise is schema, but none is given: add `schema: FILE`");
    if (!agreement->shifts && strcmp(wanted.standardise, "schema") == 0)
        return fplt__transform_declared(source->schema, wanted.radius, transform, error);
    if (!agreement->shifts)
        return FPLT_OK;
    if ((status = fplt__alloc_into(&transform->scale, features, sizeof(double), "scales", error)))
        return status;
    memcpy(transform->scale, agreement->scale, features * sizeof(double));
    for (size_t j = 0; j < features; j++)
        centred |= agreement->shift[j] != 0;
    if (!centred)
        return FPLT_OK;
    if ((status = fplt__alloc_into(&transform->mean, features, sizeof(double), "means", error)))
        return status;
    memcpy(transform->mean, agreement->shift, features * sizeof(double));
    return FPLT_OK;
}

json_t *fplt__plan_resolution_record(const fplt__agreement *agreement, const fplt__digest *plan)
{
    char hash[FPLT__HEX];
    fplt__hex(plan, sizeof *plan, hash);
    json_t *record =
        json_pack("{s:{s:s, s:I, s:s}, s:s, s:I}", "federation", "name",
                  agreement->proposal.federation, "run", (json_int_t)agreement->proposal.run,
                  "plan", hash, "algorithm", agreement->plan.algorithm->name, "seed",
                  (json_int_t)agreement->plan.seed);
    if (record && !fplt__is_zero(&agreement->continues)) {
        fplt__hex(&agreement->continues, sizeof agreement->continues, hash);
        json_object_set_new(json_object_get(record, "federation"), "continues", json_string(hash));
    }
    return record;
}

static fplt_status make_model(const fplt__plan_resolution *terms, const fplt__naming *naming,
                              const fplt_transform *transform, const double *x, const char *record,
                              const fplt_inference *inference, fplt_model **model,
                              fplt_error *error)
{
    const fplt__form *form = &terms->job.form;
    fplt_model_info info = {.task = form->task,
                            .loss = terms->job.cost.loss,
                            .huber_delta = terms->job.cost.huber_delta,
                            .ties = terms->job.cost.ties,
                            .intercept = terms->job.cost.intercept,
                            .features = form->features,
                            .classes = fplt_task_classifies(form->task) ? form->outputs : 0,
                            .feature_names = naming->features.item,
                            .class_names = naming->classes.item,
                            .label = naming->dictionary.label.name,
                            .drop_first_level = naming->dictionary.drops_first,
                            .schema = terms->schema,
                            .transform = transform,
                            .weights = x,
                            .dimension = terms->job.dimension,
                            .program = "fedplt " FPLT_VERSION,
                            .training = record,
                            .inference = inference->information ? inference : NULL};
    return fplt_model_create(&info, model, error);
}

static fplt_status infer(const fplt__plan_resolution *terms, const double *information,
                         fplt_inference *inference, fplt_error *error)
{
    size_t n = terms->job.dimension, square = n * n;
    size_t intercepts = terms->job.cost.intercept ? n / (terms->job.form.features + 1) : 0;
    fplt_status status;
    if (!information)
        return FPLT_OK;
    FPLT__ASSERT(n > 0 && intercepts <= n);
    inference->penalised =
        !fplt_prox_is_zero(terms->job.prox) ||
        (terms->job.cost.weight > 0 && strcmp(terms->job.cost.regulariser, "none") != 0);
    inference->by_rows = terms->job.cost.weigh_rows;
    if ((status = fplt__alloc_into(&inference->information, square, sizeof(double),
                                   "the information", error)) ||
        (status = fplt__alloc_into(&inference->scores, square, sizeof(double), "the information",
                                   error)))
        return status;
    memcpy(inference->information, information, square * sizeof(double));
    memcpy(inference->scores, information + square, square * sizeof(double));
    return fplt__inference_complete(terms->job.cost.loss, n, intercepts, information + 2 * square,
                                    inference, error);
}

fplt_status fplt__plan_resolution_model(const fplt__agreement *agreement, const double *x,
                                        const char *record, const double *information,
                                        fplt_model **model, fplt_error *error)
{
    fplt_inference inference = {.information = NULL};
    fplt__plan_resolution terms = {.settings = NULL};
    fplt__form form;
    fplt__naming naming = {.features = {0, NULL}};
    fplt_transform transform = {.features = 0};
    fplt_status status = fplt__agreement_form(agreement, &form, error);
    if (!status)
        status = fplt__plan_resolution_of(&agreement->proposal, &form, &terms, error);
    if (!status)
        status = fplt__naming_make(&terms, agreement, &naming, error);
    if (!status)
        status = fplt__plan_resolution_transform(terms.settings, &terms.source, form.features,
                                                 agreement, &transform, error);
    if (!status)
        status = infer(&terms, information, &inference, error);
    if (!status)
        status = make_model(&terms, &naming, &transform, x, record, &inference, model, error);
    fplt_inference_clear(&inference);
    fplt_transform_clear(&transform);
    fplt__naming_clear(&naming);
    fplt__plan_resolution_clear(&terms);
    return status;
}
