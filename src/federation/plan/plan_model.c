/* The model of a plan: what is done to the rows, the record of the run, and standard errors. */
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/dataset_access.h"
#include "data/schema.h"
#include "fedplt/algorithm.h"
#include "fedplt/inference.h"
#include "federation/plan/naming.h"
#include "federation/plan/plan_resolution.h"
#include "federation/plan/run_design.h"
#include "job/job.h"
#include "prox/prox_access.h"
#include "objective/objective_access.h"
#include "report/inference.h"
#include "report/model.h"

/* By the declared bounds alone. */
static fplt_status scale_declared(const fplt_settings *settings, const fplt_schema *schema,
                                  const fplt_transform_settings *wanted, fplt_transform *transform,
                                  fplt_error *error)
{
    const char *formula = fplt__run_formula(settings);
    fplt_design *design = NULL;
    fplt_status status = formula ? fplt__design_declare(formula, schema, &design, error) : FPLT_OK;
    if (!status)
        status = fplt__transform_declared(schema, design, wanted->radius, wanted->stretch,
                                          transform, error);
    fplt__design_destroy(design);
    return status;
}

static fplt_status scale_columns(const fplt_settings *settings, const fplt_job_source *source,
                                 size_t features, const fplt__agreement *agreement,
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
        return scale_declared(settings, source->schema, &wanted, transform, error);
    if (!agreement->shifts)
        return FPLT_OK;
    if (agreement->shifts != features)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan scales %u columns, but the run has %zu", agreement->shifts,
                              features);
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

/* What fills the columns as they are before a formula. */
static fplt_status take_fill(const fplt__agreement *agreement, size_t columns,
                             fplt_transform *transform, fplt_error *error)
{
    if (!agreement->fills)
        return FPLT_OK;
    if (agreement->fills != columns)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan fills %u columns, but the run has %zu", agreement->fills,
                              columns);
    fplt_status status =
        fplt__alloc_into(&transform->fill, columns, sizeof(double), "fill values", error);
    if (!status)
        memcpy(transform->fill, agreement->fill, columns * sizeof(double));
    return status;
}

fplt_status fplt__plan_resolution_transform(const fplt_settings *settings,
                                            const fplt_job_source *source, size_t features,
                                            const fplt__agreement *agreement,
                                            fplt_transform *transform, fplt_error *error)
{
    fplt_status status = scale_columns(settings, source, features, agreement, transform, error);
    return status || fplt__run_formula(settings) ? status
                                                 : take_fill(agreement, features, transform, error);
}

/* The names of the proposal, or how many there are where they were too long for it. */
static json_t *excluded_json(const fplt__proposal *proposal)
{
    json_t *names = json_array();
    char name[sizeof proposal->excluded];
    const char *list = proposal->excluded;
    while (*list) {
        list = fplt__list_next(list, name, sizeof name);
        json_array_append_new(names, json_string(name));
        list += strspn(list, " ");
    }
    return names;
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
    if (record && *agreement->proposal.excluded)
        json_object_set_new(record, "excluded", excluded_json(&agreement->proposal));
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
                            .cluster = terms->job.cost.cluster,
                            .quadrature_points = fplt__loss_points(&terms->job.cost),
                            .intercept = terms->job.cost.intercept,
                            .features = form->features,
                            .classes = fplt__task_classifies(form->task) ? form->outputs : 0,
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
    size_t intercepts = fplt__objective_intercepts(terms->job.objective);
    fplt_status status;
    if (!information)
        return FPLT_OK;
    FPLT__ASSERT(n > 0 && intercepts <= n);
    inference->penalised =
        !fplt__prox_is_zero(terms->job.prox) ||
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
    if (!status && naming.design) { /* taken over */
        transform.inputs = fplt__design_inputs(naming.design)->count;
        transform.design = naming.design;
        naming.design = NULL;
        status = take_fill(agreement, transform.inputs, &transform, error);
    }
    if (!status)
        status = infer(&terms, information, &inference, error);
    if (!status)
        status = make_model(&terms, &naming, &transform, x, record, &inference, model, error);
    fplt__inference_clear(&inference);
    fplt_transform_clear(&transform);
    fplt__naming_clear(&naming);
    fplt__plan_resolution_clear(&terms);
    return status;
}
