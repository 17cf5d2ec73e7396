/* The model of a run, with the record of how it was trained. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "fedplt/algorithm.h"
#include "fedplt/solver.h"
#include "job/job.h"
#include "objective/objective_access.h"
#include "participation/participation.h"
#include "promise/certificate.h"
#include "prox/prox_access.h"
#include "report/filled.h"
#include "report/model.h"
#include "report/model_access.h"
#include "report/quality.h"

/* JSON has no infinities or NaN. */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *parameters_json(const fplt_record *record)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < record->parameters; i++) {
        const fplt_choice *choice = &record->parameter[i];
        json_t *value = choice->word ? json_string(choice->word) : real(choice->value);
        json_object_set_new(object, choice->name,
                            json_pack("{s:o, s:s}", "value", value, "why", choice->why));
    }
    return object;
}

static json_t *local_json(const fplt_job_view *view, const fplt_record *record)
{
    const fplt_training *training = &view->run.training;
    const char *file = fplt_settings_text(view->settings, "uncoordinated");
    return json_pack("{s:s, s:I, s:s, s:{s:o, s:o, s:s}, s:I, s:o, s:o, s:s}", "solver",
                     training->solver->name, "epochs", (json_int_t)training->epochs, "epochs_why",
                     record->epochs.why, "gamma", "least", real(record->step.value), "most",
                     real(record->largest_step), "why", record->step.why, "batch",
                     (json_int_t)training->batch, "tau", real(training->noise_tau), "uncoordinated",
                     file ? json_string(file) : json_null(), "advice", record->advice);
}

/* Defaults that are others than the tables'. */
static json_t *defaults_json(const fplt_settings *settings)
{
    const fplt_setting *row;
    json_t *object = json_object();
    for (size_t i = 0; (row = fplt_settings_row(settings, i, NULL)); i++)
        if (fplt__settings_preference(settings, row->name))
            json_object_set_new(object, row->name,
                                json_pack("{s:s, s:s}", "value",
                                          fplt_settings_text(settings, row->name), "why",
                                          fplt__settings_preference(settings, row->name)));
    return object;
}

static json_t *problem_json(const fplt_job_view *view)
{
    const char *data = fplt_settings_text(view->settings, "data");
    char source[256] = "memory";
    if (!view->in_memory)
        snprintf(source, sizeof source, "generator %s",
                 fplt_settings_text(view->settings, "generator"));
    const char *h = fplt__prox_name(view->prox);
    json_t *held_out = view->held_out ? json_integer((json_int_t)fplt_dataset_rows(view->held_out))
                                      : json_integer(0);
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:o, s:s, s:s, s:f, s:s, s:o, s:s, s:f}", "data",
                  data ? data : source, "agents", (json_int_t)fplt_dataset_agents(view->training),
                  "rows", (json_int_t)fplt__dataset_all_rows(view->training), "held_out_rows",
                  held_out, "loss", view->cost.loss, "regulariser", view->cost.regulariser, "eps",
                  view->cost.weight, "h", h, "h_weight",
                  strcmp(h, "zero") == 0 ? json_null()
                                         : real(fplt_settings_real(view->settings, "h-weight")),
                  "weights", view->cost.weigh_rows ? "rows" : "agents", "clip", view->cost.clip);
    if (view->cost.units)
        json_object_set_new(object, "penalty_units", json_string("columns"));
    return object;
}

static json_t *measure_json(const fplt_measure *measure)
{
    double accuracy = measure->classifies && measure->records
                          ? (double)measure->hits / (double)measure->records
                          : NAN;
    return json_pack("{s:o, s:o, s:o}", "criterion", real(measure->criterion), "objective",
                     real(measure->objective), "accuracy", real(accuracy));
}

static json_t *counters_json(const fplt_counters *counters)
{
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "rounds",
                     (json_int_t)counters->rounds, "updates", (json_int_t)counters->updates,
                     "exchanges", (json_int_t)counters->exchanges, "gradients", counters->gradients,
                     "paper_gradients", counters->paper_gradients, "vectors_up",
                     (json_int_t)counters->vectors_up, "vectors_down",
                     (json_int_t)counters->vectors_down, "scalars_up",
                     (json_int_t)counters->scalars_up, "bytes_up", (json_int_t)counters->bytes_up,
                     "bytes_down", (json_int_t)counters->bytes_down, "time", counters->time,
                     "paper_time", counters->paper_time);
}

static void add_result(const fplt_job_view *view, const fplt_result *result, json_t *document)
{
    json_object_set_new(document, "outcome", json_string(fplt_outcome_name(result->outcome)));
    json_object_set_new(document, "sentence", json_string(result->sentence));
    json_object_set_new(document, "tolerance", real(view->run.tolerance));
    if (view->run.blind)
        return;
    json_object_set_new(document, "target", real(result->target));
    json_object_set_new(document, "criterion_at",
                        json_string(view->run.at_model ? "model" : "mean"));
    json_object_set_new(document, "start", measure_json(&result->start));
    json_object_set_new(document, "end", measure_json(&result->end));
}

static json_t *training_json(const fplt_job_view *view, const fplt_engine *engine,
                             const fplt_result *result, const fplt_record *record)
{
    json_t *document =
        json_pack("{s:o, s:s, s:o, s:o, s:{s:o, s:o}, s:s, s:I, s:s, s:s, s:I}", "problem",
                  problem_json(view), "algorithm", view->run.algorithm->name, "parameters",
                  parameters_json(record), "local", local_json(view, record), "curvature", "lmin",
                  real(record->facts.curvature.lowest), "lmax",
                  real(record->facts.curvature.highest), "participation",
                  fplt__participation_name(view->participation), "cohort",
                  (json_int_t)record->facts.cohort, "kernel",
                  fplt__objective_kernel(view->objective), "precision",
                  fplt__objective_precision(view->objective), "seed", (json_int_t)view->run.seed);
    const char *colon = view->automatic ? strstr(view->automatic->about_algorithm, ": ") : NULL;
    if (colon) /* behind the name */
        json_object_set_new(document, "algorithm_why", json_string(colon + 2));
    json_object_set_new(document, "defaults", defaults_json(view->settings));
    if (!document)
        return NULL;
    json_t *filled = view->run.blind ? NULL : fplt__filled_json(view->training);
    if (filled)
        json_object_set_new(document, "filled", filled);
    json_object_set_new(document, "counters", counters_json(fplt_engine_counters(engine)));
    if (result)
        add_result(view, result, document);
    if (record->measured)
        json_object_set_new(document, "model", measure_json(&record->model));
    if (record->judged)
        json_object_set_new(document, "held_out", fplt__quality_json(NULL, &record->held_out));
    return document;
}

/* Names of the data set, or those its numbers stand for. */
struct names {
    const char **features, **classes;
    char (*numbers)[16];
};

static fplt_status collect_names(const fplt_dataset *dataset, uint32_t classes, struct names *names,
                                 fplt_error *error)
{
    size_t features = fplt_dataset_features(dataset);
    fplt_status status = FPLT_OK;
    if (fplt_dataset_feature_name(dataset, 0)) {
        status = fplt__alloc_into(&names->features, features, sizeof *names->features, "the names",
                                  error);
        for (size_t j = 0; !status && j < features; j++)
            names->features[j] = fplt_dataset_feature_name(dataset, j);
    }
    if (status || !classes)
        return status;
    if ((status = fplt__alloc_into(&names->classes, classes, sizeof *names->classes, "the names",
                                   error)) ||
        (status = fplt__alloc_into(&names->numbers, classes, sizeof *names->numbers, "the names",
                                   error)))
        return status;
    int binary = fplt_dataset_task(dataset) == FPLT_TASK_BINARY;
    for (uint32_t k = 0; k < classes; k++) {
        const char *name = fplt_dataset_class_name(dataset, k);
        snprintf(names->numbers[k], sizeof names->numbers[k], "%d",
                 binary ? 2 * (int)k - 1 : (int)k);
        names->classes[k] = name ? name : names->numbers[k];
    }
    return FPLT_OK;
}

static fplt_status keep_record(json_t *document, fplt_model *model, fplt_error *error)
{
    char *text = document ? json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    fplt__free(model->training);
    model->record = document;
    model->training = text ? fplt__strdup(text) : NULL;
    model->info.training = model->training;
    free(text);
    return model->training
               ? FPLT_OK
               : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the record of a run");
}

fplt_status fplt__model_add_record(fplt_model *model, const char *name, json_t *value,
                                   fplt_error *error)
{
    json_object_set_new(model->record, name, value);
    return keep_record(model->record, model, error);
}

json_t *fplt__validated_json(const fplt__validated *validated)
{
    return json_pack("{s:s, s:f, s:s, s:I, s:s, s:o, s:o, s:o}", "search", validated->search,
                     "value", validated->value, "by", validated->by, "folds",
                     (json_int_t)validated->folds, "measure", validated->measure, "quality",
                     real(validated->quality), "loss", real(validated->loss), "std_error",
                     real(validated->error));
}

fplt_status fplt__model_add_validation(fplt_model *model, const fplt__validated *validated,
                                       fplt_error *error)
{
    if (!model->record)
        return FPLT_OK;
    return fplt__model_add_record(model, "validated", fplt__validated_json(validated), error);
}

/* NULL where the default holds or is said. */
static const char *given_text(const fplt_settings *settings, const char *name)
{
    const fplt_setting *row = fplt__settings_find(settings, name);
    const char *text = row ? fplt_settings_text(settings, name) : NULL;
    return text && row->standard && strcmp(text, row->standard) == 0 ? NULL : text;
}

static fplt_status make_model(const fplt_job_view *view, fplt_engine *engine, fplt_model **model,
                              fplt_error *error)
{
    size_t n = fplt_objective_dimension(view->objective);
    struct names names = {NULL, NULL, NULL};
    fplt_task task = fplt_dataset_task(view->training);
    uint32_t classes = fplt__task_classifies(task) ? fplt_dataset_outputs(view->training) : 0;
    double *weights;
    fplt_status status = fplt__alloc_into(&weights, n, sizeof *weights, "a model", error);
    if (status)
        return status;
    if (!(status = collect_names(view->training, classes, &names, error)))
        status = fplt__job_weights(view, engine, weights, error);
    fplt_model_info info = {
        .task = task,
        .loss = view->cost.loss,
        .huber_delta = view->cost.huber_delta,
        .ties = view->cost.ties,
        .cluster = view->cost.cluster,
        .quadrature_points = fplt__loss_points(&view->cost),
        .intercept = view->cost.intercept,
        .features = fplt_dataset_features(view->training),
        .classes = classes,
        .feature_names = names.features,
        .class_names = names.classes,
        .drop_first_level = fplt_settings_switch(view->settings, "drop-first-level"),
        .label = fplt_settings_text(view->settings, "label"),
        .site = fplt_settings_text(view->settings, "site"),
        .labels = fplt_settings_text(view->settings, "labels"),
        .schema = fplt__dataset_schema(view->training),
        .row_weight = fplt_settings_text(view->settings, "row-weight"),
        .id = fplt_settings_text(view->settings, "id"),
        .missing_codes = given_text(view->settings, "missing-codes"),
        .dates = given_text(view->settings, "dates"),
        .reference_levels = (const char *const *)view->training->references.item,
        .reference_count = view->training->references.count,
        .transform = view->transform,
        .weights = weights,
        .dimension = n,
        .program = "fedplt " FPLT_VERSION};
    if (!status)
        status = fplt_model_create(&info, model, error);
    fplt__free(weights);
    fplt__free(names.features);
    fplt__free(names.classes);
    fplt__free(names.numbers);
    return status;
}

static fplt_status add_inference(const fplt_job_view *view, fplt_engine *engine, fplt_model *model,
                                 fplt_error *error)
{
    size_t n = model->info.dimension;
    int penalised = !fplt__prox_is_zero(view->prox) ||
                    (view->cost.weight > 0 && strcmp(view->cost.regulariser, "none") != 0);
    if (view->run.blind || n > FPLT__INFERENCE_TO)
        return FPLT_OK;
    fplt_status status =
        fplt__inference_make(view->objective, engine, view->cost.loss, model->weights, penalised,
                             view->cost.weigh_rows, &model->inference, error);
    if (!status)
        model->info.inference = &model->inference;
    return status;
}

fplt_status fplt__model_from_run(const fplt_job *job, fplt_engine *engine,
                                 const fplt_result *result, fplt_record *record, fplt_model **model,
                                 fplt_error *error)
{
    const fplt_job_view *view = fplt_job_get_view(job);
    fplt_record own;
    record = record ? record : &own;
    *model = NULL;
    if (!view->training)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "there is no model of a caller's own costs, only its weights");
    fplt_status status = make_model(view, engine, model, error);
    if (!status && !view->run.blind) /* standard errors would reveal something about the records */
        status = add_inference(view, engine, *model, error);
    if (!status)
        status = fplt__record_make(view, engine, (*model)->weights, *model, record, error);
    if (!status)
        status = keep_record(training_json(view, engine, result, record), *model, error);
    if (status) {
        fplt_model_destroy(*model);
        *model = NULL;
    }
    return status;
}

fplt_status fplt__model_certify(fplt_model *model, const fplt_promise_view *view,
                                fplt__certificate_run *run, const fplt_key *key,
                                json_t **certificate, fplt_error *error)
{
    json_t *document = fplt__model_json(model), *former = model->record;
    *certificate = NULL;
    if (!document)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the certificate of a model");
    fplt_status status = fplt__certificate_bind(view, run, key, document, certificate, error);
    if (!status) {
        status = keep_record(json_incref(json_object_get(document, "training")), model, error);
        json_decref(former);
    }
    json_decref(document);
    return status;
}
