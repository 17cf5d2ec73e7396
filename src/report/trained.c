/* The model of a run, with the record of how it was trained. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "promise/certificate.h"
#include "report/model.h"

/* The sentence about an automatic choice; empty when there is none. */
static const char *automatic(const fplt_auto *choice, const char *name)
{
    if (choice && strcmp(name, "rho") == 0)
        return choice->about_rho;
    if (choice && strcmp(name, "gamma") == 0)
        return choice->about_step;
    return choice && strcmp(name, "epochs") == 0 ? choice->about_epochs : "";
}

/* Why a setting has its value: where it was given, or the rule behind `auto`. */
static void reason(const fplt_job_view *view, const char *name, char *text, size_t size)
{
    const fplt_settings *settings = view->settings;
    const char *sentence = automatic(view->automatic, name);
    const fplt_setting *row = fplt_settings_find(settings, name);
    const char *rule = row ? strstr(row->help, "auto: ") : NULL;
    if (fplt_settings_given(settings, name) && !fplt_settings_is_auto(settings, name))
        snprintf(text, size, "given by %s", fplt_settings_origin(settings, name));
    else if (*sentence)
        snprintf(text, size, "%s", sentence);
    else if (fplt_settings_is_auto(settings, name))
        snprintf(text, size, "%s", rule ? rule : "auto");
    else
        snprintf(text, size, "default");
}

/* JSON has no infinities or NaN. */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *parameters_json(const fplt_job_view *view, const fplt_engine *engine)
{
    const fplt_setting *rows = view->run.algorithm->settings;
    const double *values = fplt_engine_parameters(engine);
    json_t *object = json_object();
    for (size_t i = 0; object && rows[i].name; i++) {
        char why[400];
        reason(view, rows[i].name, why, sizeof why);
        json_t *value = rows[i].kind == FPLT_CHOICE
                            ? json_string(fplt_settings_text(view->settings, rows[i].name))
                            : real(values[i]);
        json_object_set_new(object, rows[i].name,
                            json_pack("{s:o, s:s}", "value", value, "why", why));
    }
    return object;
}

static json_t *local_json(const fplt_job_view *view, const fplt_engine *engine)
{
    const fplt_training *training = &view->run.training;
    double least = HUGE_VAL, most = 0;
    char why[400], why_epochs[400];
    for (uint32_t i = 0; i < fplt_objective_agents(view->objective); i++) {
        double step = fplt_engine_step(engine, i);
        least = fmin(least, step);
        most = fmax(most, step);
    }
    reason(view, "gamma", why, sizeof why);
    reason(view, "epochs", why_epochs, sizeof why_epochs);
    const char *file = fplt_settings_text(view->settings, "uncoordinated");
    return json_pack("{s:s, s:I, s:s, s:{s:o, s:o, s:s}, s:I, s:o, s:o, s:s}", "solver",
                     training->solver->name, "epochs", (json_int_t)training->epochs, "epochs_why",
                     why_epochs, "gamma", "least", real(least), "most", real(most), "why", why,
                     "batch", (json_int_t)training->batch, "tau", real(training->noise_tau),
                     "uncoordinated", file ? json_string(file) : json_null(), "advice",
                     view->automatic ? view->automatic->advice : "");
}

static json_t *problem_json(const fplt_job_view *view)
{
    const char *data = fplt_settings_text(view->settings, "data");
    char source[256];
    snprintf(source, sizeof source, "generator %s",
             fplt_settings_text(view->settings, "generator"));
    const char *h = fplt_prox_name(view->prox);
    json_t *held_out = view->held_out ? json_integer((json_int_t)fplt_dataset_rows(view->held_out))
                                      : json_integer(0);
    return json_pack(
        "{s:s, s:I, s:I, s:o, s:s, s:s, s:f, s:s, s:o, s:s, s:f}", "data", data ? data : source,
        "agents", (json_int_t)fplt_dataset_agents(view->training), "rows",
        (json_int_t)fplt_dataset_rows(view->training), "held_out_rows", held_out, "loss",
        view->cost.loss, "regulariser", view->cost.regulariser, "eps", view->cost.weight, "h", h,
        "h_weight",
        strcmp(h, "zero") == 0 ? json_null() : real(fplt_settings_real(view->settings, "h-weight")),
        "weights", view->cost.weigh_rows ? "rows" : "agents", "clip", view->cost.clip);
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

json_t *fplt__training_json(const fplt_job *job, fplt_engine *engine, const fplt_result *result)
{
    const fplt_job_view *view = fplt_job_see(job);
    fplt_facts facts = fplt_engine_facts(engine);
    json_t *record =
        json_pack("{s:o, s:s, s:o, s:o, s:{s:o, s:o}, s:s, s:I, s:s, s:I}", "problem",
                  problem_json(view), "algorithm", view->run.algorithm->name, "parameters",
                  parameters_json(view, engine), "local", local_json(view, engine), "curvature",
                  "lmin", real(facts.curvature.lowest), "lmax", real(facts.curvature.highest),
                  "participation", fplt_participation_name(view->participation), "cohort",
                  (json_int_t)facts.cohort, "kernel", fplt_objective_kernel(view->objective),
                  "seed", (json_int_t)view->run.seed);
    json_object_set_new(record, "counters", counters_json(fplt_engine_counters(engine)));
    if (!record || !result)
        return record;
    json_object_set_new(record, "outcome", json_string(fplt_outcome_name(result->outcome)));
    json_object_set_new(record, "sentence", json_string(result->sentence));
    json_object_set_new(record, "tolerance", real(view->run.tolerance));
    if (view->run.blind)
        return record;
    json_object_set_new(record, "start", measure_json(&result->start));
    json_object_set_new(record, "end", measure_json(&result->end));
    return record;
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

static fplt_status record_training(const fplt_job *job, fplt_engine *engine,
                                   const fplt_result *result, fplt_model *model, fplt_error *error)
{
    const fplt_job_view *view = fplt_job_see(job);
    json_t *record = fplt__training_json(job, engine, result);
    fplt_measure measure;
    fplt_quality quality;
    int measured = !view->run.blind, judged = measured && view->held_out;
    fplt_status status = FPLT_OK;
    if (measured)
        status = fplt_engine_measure_at(engine, model->weights, &measure, error);
    if (!status && judged)
        status = fplt_model_evaluate(model, view->held_out, NULL, &quality, error);
    if (!status && measured)
        json_object_set_new(record, "model", measure_json(&measure));
    if (!status && judged)
        json_object_set_new(record, "held_out",
                            json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "rows",
                                      (json_int_t)quality.rows, "loss", real(quality.loss),
                                      "accuracy", real(quality.accuracy), "auc", real(quality.auc),
                                      "f1", real(quality.f1), "rmse", real(quality.rmse)));
    char *text =
        status || !record ? NULL : json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(record);
    if (status)
        return status;
    model->training = text ? fplt__strdup(text) : NULL;
    model->info.training = model->training;
    free(text);
    if (!model->training)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the record of a run");
    return FPLT_OK;
}

static fplt_status make_model(const fplt_job_view *view, fplt_engine *engine, fplt_model **model,
                              fplt_error *error)
{
    size_t n = fplt_objective_dimension(view->objective);
    struct names names = {NULL, NULL, NULL};
    fplt_task task = fplt_dataset_task(view->training);
    uint32_t classes = fplt_task_classifies(task) ? fplt_dataset_outputs(view->training) : 0;
    double *weights;
    fplt_status status = fplt__alloc_into(&weights, n, sizeof *weights, "a model", error);
    if (status)
        return status;
    if (!(status = collect_names(view->training, classes, &names, error)) &&
        (status = view->releases_mean ? fplt_engine_mean(engine, weights)
                                      : fplt_engine_model(engine, weights)))
        fplt_error_set(error, status, "the model is out of range");
    fplt_model_info info = {.task = task,
                            .loss = view->cost.loss,
                            .huber_delta = view->cost.huber_delta,
                            .intercept = view->cost.intercept,
                            .features = fplt_dataset_features(view->training),
                            .classes = classes,
                            .feature_names = names.features,
                            .class_names = names.classes,
                            .drop_first_level =
                                fplt_settings_switch(view->settings, "drop-first-level"),
                            .label = fplt_settings_text(view->settings, "label"),
                            .site = fplt_settings_text(view->settings, "site"),
                            .labels = fplt_settings_text(view->settings, "labels"),
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

fplt_status fplt_model_from_run(const fplt_job *job, fplt_engine *engine, const fplt_result *result,
                                fplt_model **model, fplt_error *error)
{
    *model = NULL;
    fplt_status status = make_model(fplt_job_see(job), engine, model, error);
    if (!status && (status = record_training(job, engine, result, *model, error))) {
        fplt_model_destroy(*model);
        *model = NULL;
    }
    return status;
}

fplt_status fplt_model_digest(const fplt_model *model, unsigned char digest[FPLT_MODEL_DIGEST],
                              fplt_error *error)
{
    json_t *document = fplt__model_json(model);
    if (!document)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the digest of a model");
    fplt_status status = fplt__model_digest(document, digest, error);
    json_decref(document);
    return status;
}

fplt_status fplt_model_certify(fplt_model *model, const char *certificate, fplt_error *error)
{
    json_t *record = model->training ? json_loads(model->training, 0, NULL) : json_object();
    json_object_set_new(record, "privacy", json_loads(certificate, 0, NULL));
    char *text = record ? json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    char *own = text ? fplt__strdup(text) : NULL;
    json_decref(record);
    free(text);
    if (!own)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the record of a run");
    fplt__free(model->training);
    model->training = own;
    model->info.training = own;
    return FPLT_OK;
}
