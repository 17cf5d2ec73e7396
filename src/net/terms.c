#include "net/terms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fedplt/noise.h"
#include "fedplt/promise.h"

enum {
    TERMS = FPLT_JOB_PREPARE | FPLT_JOB_COST | FPLT_JOB_COMPOSITE | FPLT_JOB_ALGORITHM |
            FPLT_JOB_TRAINING | FPLT_JOB_PARTICIPATION | FPLT_JOB_RUN
};

/* The form of the data */

void fplt__form_scalars(const fplt__form *form, double scalars[FPLT__FORM_SCALARS])
{
    scalars[0] = form->task;
    scalars[1] = (double)form->features;
    scalars[2] = form->outputs;
}

static int is_whole(double x, double low, double high)
{
    return x >= low && x <= high && x == floor(x);
}

fplt_status fplt__form_read(const double scalars[FPLT__FORM_SCALARS], fplt__form *form,
                            fplt_error *error)
{
    if (!is_whole(scalars[0], 0, FPLT_TASK_SURVIVAL) || !is_whole(scalars[1], 1, 4294967295.0) ||
        !is_whole(scalars[2], 1, 1e6))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "facts say task %g, %g features and %g outputs, which cannot be",
                              scalars[0], scalars[1], scalars[2]);
    *form = (fplt__form){(fplt_task)scalars[0], (size_t)scalars[1], (uint32_t)scalars[2]};
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

static fplt_status check_terms(const fplt_settings *settings, fplt_error *error)
{
    const char *start = fplt_settings_text(settings, "start");
    const char *standardise = fplt_settings_text(settings, "standardise");
    if (fplt_promise_wanted(settings))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "privacy: a promise of privacy is not offered over a network yet; leave "
            "the section out, or train in one process");
    if (strcmp(standardise, "no") != 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: standardise is %s, but in a federation it can only be no so "
                              "far; scale the columns at the sites",
                              standardise);
    if (strcmp(fplt_settings_text(settings, "class-weight"), "none") != 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: class-weight is balanced, but a federation does not count "
                              "classes over its sites so far; give the rows a weight");
    if (strcmp(start, "zero") != 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: start is %s, but a federation starts at zero, or at the last "
                              "model when the run number is raised",
                              start);
    if (strcmp(fplt_settings_text(settings, "participation"), "trace") == 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: participation is trace, which has no place in a federation; "
                              "one of all, bernoulli, fixed, round-robin");
    return FPLT_OK;
}

fplt_status fplt__terms_settings(const fplt__proposal *proposal, int reading, fplt_settings **out,
                                 fplt_error *error)
{
    fplt_settings *settings;
    const char *algorithm = fplt__pair_find(proposal->setting, proposal->settings, "algorithm");
    *out = NULL;
    fplt_status status = fplt_settings_create(&settings, error);
    if (status)
        return status;
    if ((status =
             fplt_job_declare(settings, TERMS | (reading ? FPLT_JOB_DATA : 0), algorithm, error)) ||
        (status = fplt_settings_add(settings, "privacy", fplt_promise_table, error)) ||
        (status = set_pairs(settings, "train", "", proposal->setting, proposal->settings, error)) ||
        (status = set_pairs(settings, "privacy", "privacy.", proposal->privacy, proposal->privacies,
                            error)) ||
        (status = check_terms(settings, error))) {
        fplt_settings_destroy(settings);
        return status;
    }
    *out = settings;
    return FPLT_OK;
}

static fplt_run_settings run_of(const fplt_settings *settings, double *parameter)
{
    fplt_run_settings run = fplt_run_defaults();
    run.algorithm = fplt_algorithm_find(fplt_settings_text(settings, "algorithm"));
    fplt_algorithm_read(run.algorithm, settings, parameter);
    run.parameter = parameter;
    run.seed = (uint64_t)fplt_settings_integer(settings, "seed");
    run.rounds = (uint64_t)fplt_settings_integer(settings, "rounds");
    run.tolerance = fplt_settings_real(settings, "tolerance");
    run.relative = fplt_settings_switch(settings, "relative");
    run.change = fplt_settings_real(settings, "change");
    run.evaluate_every = (uint32_t)fplt_settings_integer(settings, "eval-every");
    run.gradient_time = fplt_settings_real(settings, "t-gradient");
    run.communication_time = fplt_settings_real(settings, "t-communication");
    return run;
}

/* The shape of the problem without data: rows of zeros, a label of each class. */

static fplt_status phantom(const fplt__form *form, const fplt_settings *settings,
                           fplt_objective **objective, fplt_error *error)
{
    size_t rows = form->outputs < 2 ? 1 : form->outputs;
    size_t *start;
    double *label;
    fplt_dataset *dataset = NULL;
    fplt_status status = fplt__alloc_into(&start, rows + 1, sizeof *start, "a plan", error);
    if (status)
        return status;
    if (!(status = fplt__alloc_into(&label, rows, sizeof *label, "a plan", error))) {
        for (size_t i = 0; i < rows; i++)
            label[i] = form->task == FPLT_TASK_BINARY ? 2.0 * (double)i - 1 : (double)i;
        static const uint32_t no_column = 0;
        static const double no_value = 0;
        fplt_rows shape = {.count = rows,
                           .features = form->features,
                           .start = start,
                           .column = &no_column,
                           .value = &no_value,
                           .label = label};
        status = fplt_dataset_from_rows(&shape, form->task, &rows, 1, &dataset, error);
        fplt__free(label);
    }
    fplt__free(start);
    if (status)
        return status;
    fplt_objective_settings cost = fplt_job_cost(settings, form->task);
    status = fplt_objective_create(&cost, dataset, objective, error);
    fplt_dataset_destroy(dataset);
    return status;
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

static fplt_status copy_proposal(const fplt__proposal *from, fplt__proposal *to, fplt_error *error)
{
    *to = *from;
    to->roster = NULL;
    to->setting = to->privacy = NULL;
    to->schema = NULL;
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
    to->schema = copied(from->schema, &status);
    return status;
}

static uint32_t expected_cohort(const fplt_participation *participation)
{
    double cohort = 0;
    for (uint32_t i = 0; i < fplt_participation_agents(participation); i++)
        cohort += fplt_participation_rate(participation, i);
    return cohort < 1 ? 1 : (uint32_t)lround(cohort);
}

static fplt_bend join_bends(const fplt_bend *bend, uint32_t members)
{
    fplt_bend all = bend[0];
    for (uint32_t i = 1; i < members; i++)
        all = fplt_bend_join(all, bend[i]);
    return all;
}

/* Parameters, common step: as the engine resolves them. */
static fplt_status resolve(fplt__agreement *agreement, const fplt_run_settings *run,
                           const fplt_participation *participation, fplt_error *error)
{
    fplt_plan *plan = &agreement->plan;
    fplt_facts facts = {.curvature = agreement->curvature,
                        .agents = plan->agents,
                        .cohort = expected_cohort(participation),
                        .epochs = run->training.epochs,
                        .dimension = plan->dimension};
    memcpy(plan->parameter, run->parameter,
           fplt_algorithm_parameters(run->algorithm) * sizeof(double));
    fplt_status status = fplt_algorithm_resolve(run->algorithm, &facts, plan->parameter, error);
    if (status || !run->algorithm->common_step)
        return status;
    plan->step = run->training.step;
    if (plan->step == 0)
        plan->step = run->algorithm->step(&facts, plan->parameter);
    return FPLT_OK;
}

static fplt_status add_resolved(fplt__agreement *agreement, const char *name, const char *value,
                                fplt_error *error)
{
    fplt_status status = FPLT_OK;
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
                                    uint32_t epochs, fplt_error *error)
{
    char number[4][32];
    snprintf(number[0], sizeof number[0], "%u", form->outputs);
    snprintf(number[1], sizeof number[1], "%u", epochs);
    snprintf(number[2], sizeof number[2], "%zu", form->features);
    fplt_status status =
        fplt__alloc_into(&agreement->resolved, 4, sizeof *agreement->resolved, "a plan", error);
    if (status || (status = add_resolved(agreement, "classes", number[0], error)) ||
        (status = add_resolved(agreement, "epochs", number[1], error)) ||
        (status = add_resolved(agreement, "features", number[2], error)))
        return status;
    return add_resolved(agreement, "task", task_names[form->task], error);
}

static fplt_status fill_arrays(fplt__agreement *agreement, const fplt__gathered *gathered,
                               fplt_error *error)
{
    uint32_t members = agreement->proposal.members;
    size_t features = gathered->form.features;
    fplt_status status;
    if ((status = fplt__alloc_into(&agreement->records, members, sizeof *agreement->records,
                                   "a plan", error)) ||
        (status =
             fplt__alloc_into(&agreement->tau, members, sizeof *agreement->tau, "a plan", error)) ||
        (status =
             fplt__alloc_into(&agreement->rate, members, sizeof *agreement->rate, "a plan", error)))
        return status;
    memcpy(agreement->records, gathered->records, members * sizeof *agreement->records);
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

/* What the settings say, as far as it is known without any data. */
struct terms {
    fplt_settings *settings;
    fplt_objective *objective;
    fplt_prox *prox;
    fplt_participation *participation;
    double parameter[FPLT_MOST_PARAMETERS];
    fplt_run_settings run;
    size_t dimension;
};

static void terms_clear(struct terms *terms)
{
    fplt_participation_destroy(terms->participation);
    fplt_prox_destroy(terms->prox);
    fplt_objective_destroy(terms->objective);
    fplt_settings_destroy(terms->settings);
    memset(terms, 0, sizeof *terms);
}

static fplt_status terms_of(const fplt__proposal *proposal, const fplt__form *form,
                            struct terms *terms, fplt_error *error)
{
    memset(terms, 0, sizeof *terms);
    fplt_status status = fplt__terms_settings(proposal, 0, &terms->settings, error);
    if (!status)
        status = phantom(form, terms->settings, &terms->objective, error);
    if (!status) {
        terms->dimension = fplt_objective_dimension(terms->objective);
        terms->run = run_of(terms->settings, terms->parameter);
        status = fplt_job_training(terms->settings, &terms->run.training, error);
    }
    if (!status)
        status = fplt_job_participation(terms->settings, proposal->members, &terms->participation,
                                        error);
    if (!status)
        status =
            fplt_job_composite(terms->settings, terms->dimension,
                               fplt_objective_intercepts(terms->objective), &terms->prox, error);
    if (!status)
        status = allow(&terms->run, terms->participation, terms->prox, error);
    if (status)
        terms_clear(terms);
    return status;
}

static void fill_plan(const struct terms *terms, uint32_t members, fplt__agreement *agreement)
{
    const fplt_run_settings *run = &terms->run;
    const char *kernel = fplt_settings_text(terms->settings, "kernel");
    agreement->plan = (fplt_plan){.algorithm = run->algorithm,
                                  .agents = members,
                                  .dimension = terms->dimension,
                                  .seed = run->seed};
    agreement->rounds = run->rounds;
    agreement->quorum = agreement->proposal.quorum;
    agreement->evaluate_every = run->evaluate_every;
    fplt_shape shape = fplt_algorithm_shape(run->algorithm, terms->parameter, terms->dimension);
    agreement->criterion_at_mean = shape.local_model >= 0;
    agreement->score = fplt_settings_real(terms->settings, "holdout") > 0;
    agreement->tolerance = run->tolerance;
    agreement->relative = run->relative;
    agreement->change = run->change;
    if (strcmp(kernel, "auto") != 0)
        snprintf(agreement->kernel, sizeof agreement->kernel, "%s", kernel);
}

fplt_status fplt__terms_agree(const fplt__proposal *proposal, const fplt__gathered *gathered,
                              fplt__agreement *agreement, fplt_error *error)
{
    struct terms terms;
    fplt_auto choice = {.curvatures = NULL};
    memset(agreement, 0, sizeof *agreement);
    fplt_status status = terms_of(proposal, &gathered->form, &terms, error);
    if (status)
        return status;
    fplt_bend bend = join_bends(gathered->bend, proposal->members);
    agreement->curvature = bend.everywhere;
    if (!(status = copy_proposal(proposal, &agreement->proposal, error)) &&
        !(status = fill_arrays(agreement, gathered, error)) &&
        !(status = fplt_auto_choose(&bend, &terms.run, proposal->members, terms.dimension, &choice,
                                    error))) {
        fplt_auto_apply(&choice, &terms.run);
        fill_plan(&terms, proposal->members, agreement);
        if (!(status = resolve(agreement, &terms.run, terms.participation, error)))
            status = add_all_resolved(agreement, &gathered->form, terms.run.training.epochs, error);
    }
    fplt_auto_clear(&choice);
    terms_clear(&terms);
    if (status)
        fplt__agreement_clear(agreement);
    return status;
}

static fplt_status form_of(const fplt__agreement *agreement, fplt__form *form, fplt_error *error)
{
    static const char *const names[] = {"classes", "features", "task"};
    const char *found[3];
    long long outputs, features;
    for (size_t i = 0; i < 3; i++)
        if (!(found[i] = fplt__pair_find(agreement->resolved, agreement->resolves, names[i])))
            return fplt_error_set(error, FPLT_BAD_DATA, "the plan does not say `%s`", names[i]);
    double scalars[FPLT__FORM_SCALARS] = {-1};
    for (size_t i = 0; i < sizeof task_names / sizeof *task_names; i++)
        if (strcmp(found[2], task_names[i]) == 0)
            scalars[0] = (double)i;
    if (fplt_parse_integer(found[0], &outputs) || fplt_parse_integer(found[1], &features))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan's features '%.20s' or classes '%.20s' are no numbers",
                              found[1], found[0]);
    scalars[1] = (double)features;
    scalars[2] = (double)outputs;
    return fplt__form_read(scalars, form, error);
}

fplt_status fplt__terms_lead(fplt__agreement *agreement, fplt__lead_plan *plan, fplt_error *error)
{
    struct terms terms = {.settings = NULL};
    fplt__form form;
    memset(plan, 0, sizeof *plan);
    fplt_status status = form_of(agreement, &form, error);
    if (!status)
        status = terms_of(&agreement->proposal, &form, &terms, error);
    if (!status && terms.dimension != agreement->plan.dimension)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "the plan's dimension is %zu, but its settings give %zu",
                                agreement->plan.dimension, terms.dimension);
    if (!status)
        status = fplt_hub_create(&agreement->plan, terms.prox, NULL, &plan->hub, error);
    if (!status)
        status = fplt_hub_enrol_all(plan->hub, NULL, error);
    if (status) {
        fplt_hub_destroy(plan->hub);
        plan->hub = NULL;
        fplt__agreement_clear(agreement);
        fplt__free(agreement);
    } else {
        plan->agreement = agreement;
        plan->participation = terms.participation;
        plan->prox = terms.prox;
        terms.participation = NULL;
        terms.prox = NULL;
    }
    terms_clear(&terms);
    return status;
}

/* An agent's data */

struct fplt__material {
    fplt_settings *settings;
    fplt_dataset *training, *held_out;
    fplt_objective *objective;
    fplt_transform transform;
    fplt_bend bend;
    fplt_noise *noise;
    fplt_noise_source source;
    double *scratch; /* for scoring */
};

/* What the site says about its files goes beside what the proposal says about everything else. */
static fplt_status take_reading(const fplt_settings *site, fplt_settings *settings,
                                fplt_error *error)
{
    const fplt_setting *row;
    const char *group;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && (row = fplt_settings_row(site, i, &group)); i++)
        if (strcmp(group, "data") == 0 && fplt_settings_given(site, row->name))
            status = fplt_settings_set(settings, row->name, fplt_settings_text(site, row->name),
                                       fplt_settings_origin(site, row->name), error);
    return status;
}

static fplt_status hold_out(fplt__material *material, uint32_t identity, fplt_error *error)
{
    double share = fplt_settings_real(material->settings, "holdout");
    uint64_t seed = (uint64_t)fplt_settings_integer(material->settings, "seed");
    fplt_dataset *kept;
    if (!(share > 0))
        return FPLT_OK;
    fplt_status status = fplt_dataset_split_from(material->training, identity, share, seed, &kept,
                                                 &material->held_out, error);
    if (status)
        return status;
    fplt_dataset_destroy(material->training);
    material->training = kept;
    return FPLT_OK;
}

fplt_status fplt__material_create(const fplt_settings *site, const fplt__proposal *proposal,
                                  uint32_t identity, fplt__material **out, fplt_error *error)
{
    *out = NULL;
    fplt__material *material;
    fplt_status status = fplt__alloc_into(&material, 1, sizeof *material, "the data", error);
    if (status)
        return status;
    if (!(status = fplt__terms_settings(proposal, 1, &material->settings, error)) &&
        !(status = take_reading(site, material->settings, error)) &&
        !fplt_settings_text(material->settings, "data"))
        status = fplt_error_set(error, FPLT_BAD_VALUE, "no data are given: add `data: FILE`");
    if (!status && fplt_job_read(material->settings).keep_missing)
        status = fplt_error_set(error, FPLT_UNSUPPORTED,
                                "missing is %s, but a federation fills nothing in so far; declare "
                                "constants in a schema, or drop",
                                fplt_settings_text(material->settings, "missing"));
    if (!status)
        status = fplt_job_dataset(material->settings, 0, NULL, 0, NULL, &material->training, error);
    if (!status && fplt_dataset_agents(material->training) != 1)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s has the rows of %u sites, but an agent has one; say "
                                "`site: none` if they are all its own",
                                fplt_settings_text(material->settings, "data"),
                                fplt_dataset_agents(material->training));
    if (!status)
        status = hold_out(material, identity, error);
    if (status) {
        fplt__material_destroy(material);
        return status;
    }
    *out = material;
    return FPLT_OK;
}

void fplt__material_destroy(fplt__material *material)
{
    if (!material)
        return;
    fplt_objective_destroy(material->objective);
    fplt_dataset_destroy(material->training);
    fplt_dataset_destroy(material->held_out);
    fplt_transform_clear(&material->transform);
    fplt_settings_destroy(material->settings);
    fplt_noise_destroy(material->noise);
    fplt__free(material->scratch);
    fplt__free(material);
}

uint64_t fplt__material_records(const fplt__material *material)
{
    return fplt_dataset_rows(material->training);
}

fplt__form fplt__material_form(const fplt__material *material)
{
    return (fplt__form){fplt_dataset_task(material->training),
                        fplt_dataset_features(material->training),
                        fplt_dataset_outputs(material->training)};
}

fplt_bend fplt__material_bend(const fplt__material *material)
{
    return material->bend;
}

size_t fplt__material_dimension(const fplt__material *material)
{
    return fplt_objective_dimension(material->objective);
}

static fplt_status transform(fplt__material *material, const double *mean, const double *scale,
                             fplt_error *error)
{
    size_t features = fplt_dataset_features(material->training);
    fplt_transform *made = &material->transform;
    made->features = features;
    made->radius = fplt_settings_real(material->settings, "radius");
    fplt_status status = FPLT_OK;
    if (mean && !(status = fplt__alloc_into(&made->mean, features, sizeof *mean, "means", error)))
        memcpy(made->mean, mean, features * sizeof *mean);
    if (!status && scale &&
        !(status = fplt__alloc_into(&made->scale, features, sizeof *scale, "scales", error)))
        memcpy(made->scale, scale, features * sizeof *scale);
    if (!status)
        status = fplt_transform_apply(made, material->training, error);
    if (!status && material->held_out)
        status = fplt_transform_apply(made, material->held_out, error);
    return status;
}

fplt_status fplt__material_shape(fplt__material *material, const double *mean, const double *scale,
                                 uint32_t all_agents, uint64_t all_records, fplt_error *error)
{
    if (material->objective)
        return FPLT_OK;
    fplt_status status = transform(material, mean, scale, error);
    if (status)
        return status;
    fplt_objective_settings cost =
        fplt_job_cost(material->settings, fplt_dataset_task(material->training));
    cost.all_agents = all_agents;
    cost.all_weight = (double)all_records;
    if ((status = fplt_objective_create(&cost, material->training, &material->objective, error)))
        return status;
    return fplt_bend_find(material->objective, 0, NULL, &material->bend, error);
}

fplt_status fplt__material_node(fplt__material *material, const fplt__agreement *agreement,
                                uint32_t identity, const double *start, fplt_node **node,
                                fplt_error *error)
{
    const char *epochs = fplt__pair_find(agreement->resolved, agreement->resolves, "epochs");
    fplt_participation *participation;
    fplt_node_settings settings = {.objective = material->objective,
                                   .identity = identity,
                                   .curvature = material->bend.everywhere,
                                   .start = start,
                                   .second = start,
                                   .cap = agreement->cap};
    fplt_status status;
    if (epochs &&
        (status = fplt_settings_set(material->settings, "epochs", epochs, "the plan", error)))
        return status;
    if ((status = fplt_job_training(material->settings, &settings.training, error)) ||
        (status = fplt_job_participation(material->settings, agreement->proposal.members,
                                         &participation, error)))
        return status;
    settings.cohort = expected_cohort(participation);
    fplt_participation_destroy(participation);
    return fplt_node_create(&agreement->plan, &settings, node, error);
}

fplt_status fplt__material_score(const fplt__material *material, const double *x, double out[4])
{
    (void)material, (void)x, (void)out;
    return FPLT_UNSUPPORTED;
}

/* The model */

static fplt_status class_names(const fplt__form *form, char ***names, fplt_error *error)
{
    size_t room = 16;
    fplt_status status = fplt__alloc_into(names, form->outputs, sizeof **names + room,
                                          "the names of classes", error);
    if (status)
        return status;
    char *text = (char *)(*names + form->outputs);
    for (uint32_t i = 0; i < form->outputs; i++, text += room) {
        (*names)[i] = text;
        if (form->task == FPLT_TASK_BINARY)
            snprintf(text, room, "%d", i ? 1 : -1);
        else
            snprintf(text, room, "%u", i);
    }
    return FPLT_OK;
}

fplt_status fplt__terms_model(const fplt__agreement *agreement, const double *x, const char *record,
                              fplt_model **model, fplt_error *error)
{
    struct terms terms = {.settings = NULL};
    fplt__form form;
    char **names = NULL;
    fplt_status status = form_of(agreement, &form, error);
    if (!status)
        status = terms_of(&agreement->proposal, &form, &terms, error);
    if (!status && fplt_task_classifies(form.task))
        status = class_names(&form, &names, error);
    if (!status) {
        fplt_objective_settings cost = fplt_job_cost(terms.settings, form.task);
        fplt_transform transform = {form.features, agreement->shifts ? agreement->shift : NULL,
                                    agreement->shifts ? agreement->scale : NULL,
                                    fplt_settings_real(terms.settings, "radius")};
        fplt_model_info info = {.task = form.task,
                                .loss = cost.loss,
                                .huber_delta = cost.huber_delta,
                                .intercept = cost.intercept,
                                .features = form.features,
                                .classes = names ? form.outputs : 0,
                                .class_names = (const char *const *)names,
                                .transform = &transform,
                                .weights = x,
                                .dimension = agreement->plan.dimension,
                                .program = "fedplt " FPLT_VERSION,
                                .training = record};
        status = fplt_model_create(&info, model, error);
    }
    fplt__free(names);
    terms_clear(&terms);
    return status;
}
