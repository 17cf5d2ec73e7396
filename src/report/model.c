/* The model: created from parts, checked as a whole. */
#include "report/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/schema_access.h"
#include "objective/loss.h"
#include "objective/random_intercept.h"
#include "report/inference.h"
#include "fedplt/export.h"

static fplt_status find_outputs(const fplt_model_info *info, const fplt__loss **kind,
                                uint32_t *outputs, fplt_error *error)
{
    *outputs = 0;
    fplt_status status = fplt__loss_find(info->loss, kind, error);
    if (status)
        return status;
    const fplt__loss *loss = *kind;
    if (!(loss->tasks >> info->task & 1))
        return fplt_error_set(error, FPLT_BAD_DATA, "the loss %s does not go with the task %s",
                              info->loss, fplt_task_name(info->task));
    *outputs = loss->classes ? info->classes : 1;
    return FPLT_OK;
}

static fplt_status check_classes(const fplt_model_info *info, fplt_error *error)
{
    uint32_t least = info->task == FPLT_TASK_BINARY ? 2 : info->task == FPLT_TASK_CLASSES ? 3 : 0;
    int right = info->task == FPLT_TASK_CLASSES ? info->classes >= least : info->classes == least;
    if (!right)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "there are %u classes, but the task %s has %s%u", info->classes,
                              fplt_task_name(info->task),
                              info->task == FPLT_TASK_CLASSES ? "at least " : "", least);
    if (info->classes && !info->class_names)
        return fplt_error_set(error, FPLT_BAD_DATA, "the classes have no names");
    return FPLT_OK;
}

static fplt_status check_finite(const double *numbers, size_t count, const char *name,
                                fplt_error *error)
{
    for (size_t i = 0; numbers && i < count; i++)
        if (!isfinite(numbers[i]))
            return fplt_error_set(error, FPLT_BAD_DATA, "%s[%zu] is not a finite number", name, i);
    return FPLT_OK;
}

static fplt_status check_transform(const fplt_model_info *info, fplt_error *error)
{
    const fplt_transform *transform = info->transform;
    if (!transform)
        return FPLT_OK;
    if ((transform->mean || transform->scale) && transform->features != info->features)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "transform is for %zu features, but the model has %zu",
                              transform->features, info->features);
    for (size_t j = 0; transform->scale && j < info->features; j++)
        if (transform->scale[j] == 0)
            return fplt_error_set(error, FPLT_BAD_DATA, "transform.scale[%zu] is 0", j);
    if (!(transform->radius >= 0 && isfinite(transform->radius)))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "transform.radius is %g, but it must be a number of at least 0",
                              transform->radius);
    fplt_status status;
    if ((status = check_finite(transform->mean, info->features, "transform.mean", error)))
        return status;
    if ((status =
             check_finite(transform->fill, transform->design ? transform->inputs : info->features,
                          "transform.fill", error)))
        return status;
    return check_finite(transform->scale, info->features, "transform.scale", error);
}

/* The weights belong to the features in the order of the schema. */
fplt__model_inputs fplt__model_inputs_of(const fplt_model_info *info)
{
    if (!info->transform || !info->transform->design)
        return (fplt__model_inputs){info->features, info->feature_names};
    const fplt__names *names = fplt__design_inputs(info->transform->design);
    return (fplt__model_inputs){names->count, (const char *const *)names->item};
}

static fplt_status check_schema(const fplt_model_info *info, fplt_error *error)
{
    fplt__model_inputs inputs = fplt__model_inputs_of(info);
    if (!info->schema)
        return FPLT_OK;
    if (fplt__schema_features(info->schema) != inputs.count)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the schema has %zu features, but the model has %zu",
                              fplt__schema_features(info->schema), inputs.count);
    for (size_t j = 0; inputs.names && j < inputs.count; j++) {
        const char *name = fplt__schema_feature(info->schema, j, NULL, NULL, NULL, NULL);
        if (name && strcmp(name, inputs.names[j]) != 0)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "feature %zu is '%.80s', but the schema has '%.80s'", j + 1,
                                  inputs.names[j], name);
    }
    return FPLT_OK;
}

static fplt_status check_info(const fplt_model_info *info, const fplt__loss **kind,
                              uint32_t *outputs, fplt_error *error)
{
    fplt_status status;
    if ((status = check_classes(info, error)) ||
        (status = find_outputs(info, kind, outputs, error)))
        return status;
    size_t a_output = info->features + (info->intercept != 0);
    if (!info->features || info->features > UINT32_MAX)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "features is %zu, but it must be a whole number from 1 to 4294967295",
                              info->features);
    size_t shared = fplt__loss_shared(*kind, info->classes);
    if (info->dimension != *outputs * a_output + shared)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "weights has %zu numbers, but it must have %u x %zu (outputs x "
                              "features%s) and %zu that all rows share",
                              info->dimension, *outputs, a_output,
                              info->intercept ? " and an intercept" : "", shared);
    if ((*kind)->ordered && !info->intercept)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "intercept is false, but the loss %s has thresholds, of which the "
                              "first is the intercept's",
                              info->loss);
    if (strcmp(info->loss, "huber") == 0 && !(info->huber_delta > 0 && isfinite(info->huber_delta)))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "huber_delta is %g, but it must be a number above 0",
                              info->huber_delta);
    if (info->ties && (strcmp(info->loss, "cox") != 0 ||
                       (strcmp(info->ties, "efron") != 0 && strcmp(info->ties, "breslow") != 0)))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "ties is '%.80s' with the loss %s, but it must be efron or breslow "
                              "with the loss cox",
                              info->ties, info->loss);
    if (info->cluster && !(*kind)->clustered)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "cluster is '%.80s', but the loss %s has no random intercept of "
                              "clusters",
                              info->cluster, info->loss);
    int points = fplt__loss_has(*kind, "quadrature-points");
    if (points ? info->quadrature_points < 1 || info->quadrature_points > FPLT__NODES_MAX
               : info->quadrature_points != 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "quadrature_points is %u with the loss %s, but it must be between 1 "
                              "and %d with mixed-logistic and mixed-poisson, and absent otherwise",
                              info->quadrature_points, info->loss, FPLT__NODES_MAX);
    if ((status = check_transform(info, error)) || (status = check_schema(info, error)))
        return status;
    return check_finite(info->weights, info->dimension, "weights", error);
}

static fplt_status copy_text(const char *text, char **copy, fplt_error *error)
{
    *copy = NULL;
    if (text && !(*copy = fplt__strdup(text)))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a model");
    return FPLT_OK;
}

static fplt_status copy_names(const char *const *names, size_t count, char ***copy,
                              fplt_error *error)
{
    *copy = NULL;
    if (!names)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(copy, count, sizeof **copy, "the names", error);
    for (size_t i = 0; !status && i < count; i++)
        status = copy_text(names[i] ? names[i] : "", &(*copy)[i], error);
    return status;
}

static fplt_status copy_numbers(const double *numbers, size_t count, double **copy,
                                fplt_error *error)
{
    *copy = NULL;
    if (!numbers)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(copy, count, sizeof **copy, "a model", error);
    if (!status)
        memcpy(*copy, numbers, count * sizeof **copy);
    return status;
}

static fplt_status copy_transform(const fplt_transform *from, size_t features, fplt_transform *to,
                                  fplt_error *error)
{
    if (!from)
        return FPLT_OK;
    to->features = features;
    to->radius = from->radius;
    fplt_status status = copy_numbers(from->mean, features, &to->mean, error);
    if (!status)
        status = copy_numbers(from->scale, features, &to->scale, error);
    if (!status && from->design) {
        to->inputs = from->inputs;
        status = fplt__design_copy(from->design, &to->design, error);
    }
    return status
               ? status
               : copy_numbers(from->fill, from->design ? from->inputs : features, &to->fill, error);
}

static fplt_status copy_all(const fplt_model_info *info, fplt_model *model, fplt_error *error)
{
    fplt_status status;
    if ((status = copy_text(info->loss, &model->loss, error)) ||
        (status = copy_text(info->label, &model->label, error)) ||
        (status = copy_text(info->site, &model->site, error)) ||
        (status = copy_text(info->labels, &model->labels, error)) ||
        (status = copy_text(info->row_weight, &model->row_weight, error)) ||
        (status = copy_text(info->ties, &model->ties, error)) ||
        (status = copy_text(info->id, &model->id, error)) ||
        (status = copy_text(info->cluster, &model->cluster, error)) ||
        (status = copy_text(info->missing_codes, &model->missing_codes, error)) ||
        (status = copy_text(info->dates, &model->dates, error)) ||
        (status = copy_names(info->reference_levels, info->reference_count, &model->references,
                             error)) ||
        (status = copy_text(info->program, &model->program, error)) ||
        (status = copy_text(info->training, &model->training, error)) ||
        (status = copy_names(info->feature_names, info->features, &model->feature_names, error)) ||
        (status = copy_names(info->class_names, info->classes, &model->class_names, error)) ||
        (status = copy_numbers(info->weights, info->dimension, &model->weights, error)) ||
        (status = copy_transform(info->transform, info->features, &model->transform, error)))
        return status;
    model->info.loss = model->loss;
    model->info.label = model->label;
    model->info.site = model->site;
    model->info.labels = model->labels;
    model->info.row_weight = model->row_weight;
    model->info.ties = model->ties;
    model->info.id = model->id;
    model->info.cluster = model->cluster;
    model->info.missing_codes = model->missing_codes;
    model->info.dates = model->dates;
    model->info.reference_levels = (const char *const *)model->references;
    model->info.program = model->program;
    model->info.training = model->training;
    model->info.feature_names = (const char *const *)model->feature_names;
    model->info.class_names = (const char *const *)model->class_names;
    model->info.schema = model->schema = fplt__schema_keep(info->schema);
    if (info->inference) {
        if ((status =
                 fplt__inference_copy(info->inference, info->dimension, &model->inference, error)))
            return status;
        model->info.inference = &model->inference;
    }
    model->info.weights = model->weights;
    model->info.transform = &model->transform;
    return FPLT_OK;
}

fplt_status fplt_model_create(const fplt_model_info *info, fplt_model **out, fplt_error *error)
{
    fplt_model *model;
    uint32_t outputs = 0;
    *out = NULL;
    const fplt__loss *kind;
    fplt_status status = check_info(info, &kind, &outputs, error);
    if (status)
        return status;
    if ((status = fplt__alloc_into(&model, 1, sizeof *model, "a model", error)))
        return status;
    model->info = *info;
    model->outputs = outputs;
    model->kind = kind;
    model->transform.features = info->features;
    if ((status = copy_all(info, model, error))) {
        fplt_model_destroy(model);
        return status;
    }
    *out = model;
    return FPLT_OK;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        fplt__free(names[i]);
    fplt__free(names);
}

void fplt_model_destroy(fplt_model *model)
{
    if (!model)
        return;
    free_names(model->feature_names, model->info.features);
    free_names(model->class_names, model->info.classes);
    free_names(model->references, model->info.reference_count);
    fplt_transform_clear(&model->transform);
    fplt_schema_destroy(model->schema);
    fplt__free(model->weights);
    fplt__free(model->loss);
    fplt__free(model->label);
    fplt__free(model->site);
    fplt__free(model->labels);
    fplt__free(model->row_weight);
    fplt__free(model->cluster);
    fplt__free(model->ties);
    fplt__free(model->id);
    fplt__free(model->missing_codes);
    fplt__free(model->dates);
    fplt__free(model->program);
    fplt__free(model->training);
    fplt__inference_clear(&model->inference);
    json_decref(model->record);
    fplt_model_destroy(model->refit);
    fplt__free(model);
}

const fplt_model_info *fplt_model_get_view(const fplt_model *model)
{
    return &model->info;
}

const fplt_model *fplt_model_refit(const fplt_model *model)
{
    return model->refit;
}

void fplt__model_set_refit(fplt_model *model, fplt_model *refit)
{
    fplt_model_destroy(model->refit);
    model->refit = refit;
}

uint32_t fplt_model_outputs(const fplt_model *model)
{
    return model->outputs;
}

fplt_status fplt_model_text(const fplt_model *model, char **text, fplt_error *error)
{
    json_t *json = fplt__model_json(model);
    char *dumped = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    *text = dumped ? fplt__alloc(strlen(dumped) + 2, 1) : NULL;
    if (*text) {
        strcpy(*text, dumped);
        strcat(*text, "\n");
    }
    free(dumped);
    if (!*text)
        return fplt_error_set(error, FPLT_NO_MEMORY,
                              "no memory for a model, or one of its names is not UTF-8");
    return FPLT_OK;
}

fplt_status fplt_model_write(const fplt_model *model, const char *path, fplt_error *error)
{
    char *text;
    fplt_status status = fplt_model_text(model, &text, error);
    if (!status)
        status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt__free(text);
    return status;
}
