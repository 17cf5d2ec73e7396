/* The model's file. Version 1 is an object with the fields written in fplt__model_json; a reader
 * passes over fields it does not know. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/schema_access.h"
#include "report/inference.h"
#include "report/model.h"
#include "report/model_access.h"
#include "fedplt/export.h"

#define FORMAT  "fedplt-model"
#define VERSION 1

static const size_t largest_file = (size_t)1 << 32;

/* Writing */

static json_t *texts(const char *const *names, size_t count)
{
    if (!names)
        return json_null();
    json_t *array = json_array();
    for (size_t i = 0; array && i < count; i++)
        if (json_array_append_new(array, json_string(names[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *numbers(const double *values, size_t count)
{
    if (!values)
        return json_null();
    json_t *array = json_array();
    for (size_t i = 0; array && i < count; i++)
        if (json_array_append_new(array, json_real(values[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *training_of(const fplt_model *model)
{
    const char *given = model->info.training;
    if (model->record)
        return json_incref(model->record);
    return given ? json_loads(given, JSON_REJECT_DUPLICATES, NULL) : json_object();
}

int fplt__model_is_private(const fplt_model *model)
{
    json_t *record = training_of(model);
    int is = json_object_get(record, "privacy") != NULL;
    json_decref(record);
    return is;
}

static json_t *schema_of(const fplt_model_info *info)
{
    return info->schema ? json_loads(fplt__schema_text(info->schema), JSON_REJECT_DUPLICATES, NULL)
                        : json_null();
}

static json_t *inference_of(const fplt_model_info *info)
{
    return info->inference ? fplt__inference_json(info->inference, info->dimension) : json_null();
}

static json_t *formula_json(const fplt_design *design)
{
    const fplt__names *inputs = fplt__design_inputs(design);
    size_t count;
    const double *found = fplt__design_numbers(design, &count);
    json_t *none = json_array();
    const fplt__names *sites = fplt__design_sites(design);
    json_t *made = json_pack("{s:o, s:o, s:o}", "text", text_or_null(fplt__design_text(design)),
                             "columns", texts((const char *const *)inputs->item, inputs->count),
                             "numbers", count ? numbers(found, count) : json_incref(none));
    json_decref(none);
    if (made && sites->count)
        json_object_set_new(made, "sites", texts((const char *const *)sites->item, sites->count));
    return made;
}

/* What only some models have is left out of the others, whose digests then stay what they were. */
static json_t *with_rest(json_t *document, const fplt_model_info *info)
{
    json_t *reading = json_object_get(document, "reading");
    int failed = 0;
    if (info->row_weight)
        failed |= json_object_set_new(reading, "row_weight", json_string(info->row_weight));
    if (info->cluster)
        failed |= json_object_set_new(reading, "cluster", json_string(info->cluster));
    if (info->quadrature_points)
        failed |= json_object_set_new(document, "quadrature_points",
                                      json_integer(info->quadrature_points));
    if (info->id)
        failed |= json_object_set_new(reading, "id", json_string(info->id));
    if (info->ties)
        failed |= json_object_set_new(document, "ties", json_string(info->ties));
    if (info->missing_codes)
        failed |= json_object_set_new(reading, "missing_codes", json_string(info->missing_codes));
    if (info->dates)
        failed |= json_object_set_new(reading, "dates", json_string(info->dates));
    if (info->reference_count)
        failed |= json_object_set_new(reading, "reference_levels",
                                      texts(info->reference_levels, info->reference_count));
    if (info->transform->fill)
        failed |= json_object_set_new(json_object_get(document, "transform"), "fill",
                                      numbers(info->transform->fill, info->transform->design
                                                                         ? info->transform->inputs
                                                                         : info->features));
    if (info->transform->design)
        failed |= json_object_set_new(json_object_get(document, "transform"), "formula",
                                      formula_json(info->transform->design));
    if (!failed)
        return document;
    json_decref(document);
    return NULL;
}

json_t *fplt__model_json(const fplt_model *model)
{
    const fplt_model_info *info = &model->info;
    json_t *document = json_pack(
        "{s:s, s:i, s:o, s:s, s:s, s:f, s:b, s:I, s:o, s:o, s:{s:b, s:o, s:o, s:o}, s:o, s:{s:o, "
        "s:o, s:f}, s:o, s:o, s:o}",
        "format", FORMAT, "version", VERSION, "program", text_or_null(info->program), "task",
        fplt_task_name(info->task), "loss", info->loss, "huber_delta", info->huber_delta,
        "intercept", info->intercept, "features", (json_int_t)info->features, "feature_names",
        texts(info->feature_names, info->features), "classes",
        texts(info->class_names, info->classes), "reading", "drop_first_level",
        info->drop_first_level, "label", text_or_null(info->label), "site",
        text_or_null(info->site), "labels", text_or_null(info->labels), "schema", schema_of(info),
        "transform", "mean", numbers(info->transform->mean, info->features), "scale",
        numbers(info->transform->scale, info->features), "radius", info->transform->radius,
        "weights", numbers(info->weights, info->dimension), "inference", inference_of(info),
        "training", training_of(model));
    document = document ? with_rest(document, info) : NULL;
    if (!document || !model->refit ||
        !json_object_set_new(document, "refit", fplt__model_json(model->refit)))
        return document;
    json_decref(document);
    return NULL;
}

/* Reading */

/* What is read before it becomes a model: arrays of our own, texts of the document. */
struct draft {
    const char *path;
    fplt_model_info info;
    fplt_transform transform;
    const char **feature_names, **class_names, **references;
    fplt_schema *schema;
    double *weights;
    fplt_inference inference;
    char *training;
};

enum kind { TEXT, TEXT_OR_NULL, NUMBER, WHOLE, TRUTH, ARRAY, ARRAY_OR_NULL, OBJECT };

static int fits(const json_t *value, enum kind kind)
{
    switch (kind) {
    case TEXT: return json_is_string(value);
    case TEXT_OR_NULL: return json_is_string(value) || json_is_null(value);
    case NUMBER: return json_is_number(value);
    case WHOLE: return json_is_integer(value);
    case TRUTH: return json_is_boolean(value);
    case ARRAY: return json_is_array(value);
    case ARRAY_OR_NULL: return json_is_array(value) || json_is_null(value);
    default: return json_is_object(value);
    }
}

static fplt_status take(const struct draft *draft, const json_t *object, const char *name,
                        enum kind kind, const json_t **value, fplt_error *error)
{
    static const char *const words[] = {"a text",           "a text or null", "a number",
                                        "a whole number",   "true or false",  "an array",
                                        "an array or null", "an object"};
    *value = json_object_get(object, name);
    if (!*value)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: the field %s is missing", draft->path,
                              name);
    if (!fits(*value, kind))
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: the field %s must be %s", draft->path,
                              name, words[kind]);
    return FPLT_OK;
}

static fplt_status take_text(const struct draft *draft, const json_t *object, const char *name,
                             enum kind kind, const char **text, fplt_error *error)
{
    const json_t *value;
    fplt_status status = take(draft, object, name, kind, &value, error);
    *text = status ? NULL : json_string_value(value);
    return status;
}

static fplt_status take_real(const struct draft *draft, const json_t *object, const char *name,
                             double *real, fplt_error *error)
{
    const json_t *value;
    fplt_status status = take(draft, object, name, NUMBER, &value, error);
    *real = status ? 0 : json_number_value(value);
    return status;
}

static fplt_status take_truth(const struct draft *draft, const json_t *object, const char *name,
                              int *truth, fplt_error *error)
{
    const json_t *value;
    fplt_status status = take(draft, object, name, TRUTH, &value, error);
    *truth = status ? 0 : json_is_true(value);
    return status;
}

static fplt_status take_numbers(const struct draft *draft, const json_t *object, const char *name,
                                enum kind kind, double **out, size_t *count, fplt_error *error)
{
    const json_t *value;
    *out = NULL;
    *count = 0;
    fplt_status status = take(draft, object, name, kind, &value, error);
    if (status || json_is_null(value))
        return status;
    *count = json_array_size(value);
    if ((status = fplt__alloc_into(out, *count, sizeof **out, "a model", error)))
        return status;
    for (size_t i = 0; i < *count; i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_number(item))
            return fplt_error_set(error, FPLT_BAD_DATA, "%s: %s[%zu] is not a number", draft->path,
                                  name, i);
        (*out)[i] = json_number_value(item);
    }
    return FPLT_OK;
}

static fplt_status take_names(const struct draft *draft, const json_t *object, const char *name,
                              const char ***out, size_t *count, fplt_error *error)
{
    const json_t *value;
    *out = NULL;
    *count = 0;
    fplt_status status = take(draft, object, name, ARRAY_OR_NULL, &value, error);
    if (status || json_is_null(value))
        return status;
    *count = json_array_size(value);
    if ((status = fplt__alloc_into(out, *count, sizeof **out, "a model", error)))
        return status;
    for (size_t i = 0; i < *count; i++)
        if (!((*out)[i] = json_string_value(json_array_get(value, i))))
            return fplt_error_set(error, FPLT_BAD_DATA, "%s: %s[%zu] is not a text", draft->path,
                                  name, i);
    return FPLT_OK;
}

static fplt_status take_task(struct draft *draft, const json_t *root, fplt_error *error)
{
    const char *text;
    fplt_status status = take_text(draft, root, "task", TEXT, &text, error);
    if (status)
        return status;
    for (int task = FPLT_TASK_BINARY; task <= FPLT_TASK_SURVIVAL; task++)
        if (strcmp(text, fplt_task_name((fplt_task)task)) == 0) {
            draft->info.task = (fplt_task)task;
            return FPLT_OK;
        }
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s: task is '%.80s', but it must be one of binary, classes, regression",
                          draft->path, text);
}

static fplt_status take_heading(struct draft *draft, const json_t *root, fplt_error *error)
{
    const json_t *version;
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!format || strcmp(format, FORMAT) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: this is not a model: the field format must be \"%s\"",
                              draft->path, FORMAT);
    fplt_status status = take(draft, root, "version", WHOLE, &version, error);
    if (status)
        return status;
    if (json_integer_value(version) != VERSION)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: version is %lld, but this program reads version %d", draft->path,
                              (long long)json_integer_value(version), VERSION);
    return take_text(draft, root, "program", TEXT_OR_NULL, &draft->info.program, error);
}

static fplt_status take_features(struct draft *draft, const json_t *root, fplt_error *error)
{
    const json_t *features;
    size_t names, classes;
    fplt_status status;
    if ((status = take(draft, root, "features", WHOLE, &features, error)) ||
        (status = take_names(draft, root, "feature_names", &draft->feature_names, &names, error)) ||
        (status = take_names(draft, root, "classes", &draft->class_names, &classes, error)))
        return status;
    json_int_t count = json_integer_value(features);
    if (count < 1 || count > (json_int_t)UINT32_MAX)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: features is %lld, but it must be a whole number from 1 to "
                              "4294967295",
                              draft->path, (long long)count);
    if (draft->feature_names && names != (size_t)count)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: there are %zu feature_names, but %lld features", draft->path,
                              names, (long long)count);
    draft->info.features = (size_t)count;
    draft->info.feature_names = draft->feature_names;
    draft->info.class_names = draft->class_names;
    draft->info.classes = (uint32_t)classes;
    return FPLT_OK;
}

/* The columns that a formula is over, and what was found of them; its columns are the features. */
static fplt_status take_formula(struct draft *draft, const json_t *object, fplt_error *error)
{
    const char *text = json_string_value(json_object_get(object, "text"));
    const json_t *columns = json_object_get(object, "columns");
    const json_t *found = json_object_get(object, "numbers");
    const json_t *places = json_object_get(object, "sites");
    size_t count = json_array_size(columns), numbers = json_array_size(found);
    size_t all = count + json_array_size(places);
    fplt__span *spans = NULL;
    double *values = NULL;
    fplt__names inputs = {0, NULL}, sites = {0, NULL};
    int legal = (text || all > count) && count && json_is_array(found);
    fplt_status status = fplt__alloc_into(&spans, all + 1, sizeof *spans, "a formula", error);
    if (!status)
        status = fplt__alloc_into(&values, numbers + 1, sizeof *values, "a formula", error);
    for (size_t j = 0; !status && j < all; j++) {
        const char *name = json_string_value(j < count ? json_array_get(columns, j)
                                                       : json_array_get(places, j - count));
        legal = legal && name;
        spans[j] = (fplt__span){name ? name : "", name ? strlen(name) : 0};
    }
    for (size_t j = 0; !status && j < numbers; j++) {
        legal = legal && json_is_number(json_array_get(found, j));
        values[j] = json_number_value(json_array_get(found, j));
        legal = legal && isfinite(values[j]);
    }
    if (!status && !legal)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s: transform.formula must have text, columns and numbers",
                                draft->path);
    if (!status)
        status = fplt__names_make(spans + count, all - count, &sites, error);
    if (!status && !(status = fplt__names_make(spans, count, &inputs, error)))
        status = fplt__design_restore(text, &inputs, values, numbers, &sites,
                                      &draft->transform.design, error);
    draft->transform.inputs = count;
    if (!status && fplt__design_names(draft->transform.design)->count != draft->info.features)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s: transform.formula makes %zu columns, but there are %zu "
                                "features",
                                draft->path, fplt__design_names(draft->transform.design)->count,
                                draft->info.features);
    fplt__names_clear(&inputs);
    fplt__names_clear(&sites);
    fplt__free(spans);
    fplt__free(values);
    return status;
}

static fplt_status take_transform(struct draft *draft, const json_t *root, fplt_error *error)
{
    const json_t *object;
    fplt_transform *transform = &draft->transform;
    size_t means, scales, fills = 0, wanted = draft->info.features;
    fplt_status status;
    if ((status = take(draft, root, "transform", OBJECT, &object, error)) ||
        (status =
             take_numbers(draft, object, "mean", ARRAY_OR_NULL, &transform->mean, &means, error)) ||
        (status = take_numbers(draft, object, "scale", ARRAY_OR_NULL, &transform->scale, &scales,
                               error)) ||
        (status = take_real(draft, object, "radius", &transform->radius, error)))
        return status;
    if (json_object_get(object, "fill") &&
        (status =
             take_numbers(draft, object, "fill", ARRAY_OR_NULL, &transform->fill, &fills, error)))
        return status;
    if (json_object_get(object, "formula") &&
        (status = take_formula(draft, json_object_get(object, "formula"), error)))
        return status;
    if ((transform->mean && means != wanted) || (transform->scale && scales != wanted) ||
        (transform->fill && fills != (transform->design ? transform->inputs : wanted)))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: transform must have one mean, scale and fill a feature (%zu)",
                              draft->path, wanted);
    transform->features = wanted;
    draft->info.transform = transform;
    return FPLT_OK;
}

static fplt_status take_reading(struct draft *draft, const json_t *root, fplt_error *error)
{
    const json_t *object;
    fplt_model_info *info = &draft->info;
    fplt_status status;
    if ((status = take(draft, root, "reading", OBJECT, &object, error)) ||
        (status = take_truth(draft, object, "drop_first_level", &info->drop_first_level, error)) ||
        (status = take_text(draft, object, "label", TEXT_OR_NULL, &info->label, error)) ||
        (status = take_text(draft, object, "site", TEXT_OR_NULL, &info->site, error)) ||
        (status = take_text(draft, object, "labels", TEXT_OR_NULL, &info->labels, error)))
        return status;
    if (json_object_get(object, "row_weight") &&
        (status = take_text(draft, object, "row_weight", TEXT_OR_NULL, &info->row_weight, error)))
        return status;
    if (json_object_get(object, "id") &&
        (status = take_text(draft, object, "id", TEXT_OR_NULL, &info->id, error)))
        return status;
    if (json_object_get(object, "cluster") &&
        (status = take_text(draft, object, "cluster", TEXT, &info->cluster, error)))
        return status;
    if (json_object_get(object, "missing_codes") &&
        (status = take_text(draft, object, "missing_codes", TEXT, &info->missing_codes, error)))
        return status;
    if (json_object_get(object, "dates") &&
        (status = take_text(draft, object, "dates", TEXT, &info->dates, error)))
        return status;
    if (json_object_get(object, "reference_levels"))
        status = take_names(draft, object, "reference_levels", &draft->references,
                            &info->reference_count, error);
    info->reference_levels = draft->references;
    return status;
}

/* Absent in models of earlier programs. JSON is YAML, so the canonical text has one reader. */
static fplt_status take_schema(struct draft *draft, const json_t *root, fplt_error *error)
{
    const json_t *object = json_object_get(root, "schema");
    if (!object || json_is_null(object))
        return FPLT_OK;
    char *text = json_is_object(object) ? json_dumps(object, JSON_COMPACT) : NULL;
    if (!text)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: the field schema must be an object or null", draft->path);
    fplt_status status = fplt__schema_parse(text, strlen(text), draft->path, &draft->schema, error);
    draft->info.schema = draft->schema;
    free(text);
    return status;
}

/* Absent in models of earlier programs. */
static fplt_status take_inference(struct draft *draft, const json_t *root, fplt_error *error)
{
    const json_t *object = json_object_get(root, "inference");
    if (!object || json_is_null(object))
        return FPLT_OK;
    draft->info.inference = &draft->inference;
    return fplt__inference_read(object, draft->path, draft->info.dimension, &draft->inference,
                                error);
}

static fplt_status take_training(struct draft *draft, const json_t *root, fplt_error *error)
{
    const json_t *object;
    fplt_status status = take(draft, root, "training", OBJECT, &object, error);
    if (status)
        return status;
    draft->training = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    draft->info.training = draft->training;
    if (!draft->training)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a model");
    return FPLT_OK;
}

/* Absent in models of losses without quadrature. */
static fplt_status take_points(struct draft *draft, const json_t *root, fplt_error *error)
{
    double points = 0;
    if (!json_object_get(root, "quadrature_points"))
        return FPLT_OK;
    fplt_status status = take_real(draft, root, "quadrature_points", &points, error);
    if (!status && !(points >= 1 && points <= UINT32_MAX && points == floor(points)))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: quadrature_points is %g, but it must be a whole number above 0",
                              draft->path, points);
    draft->info.quadrature_points = (uint32_t)points;
    return status;
}

static fplt_status take_all(struct draft *draft, const json_t *root, fplt_error *error)
{
    fplt_model_info *info = &draft->info;
    fplt_status status;
    if ((status = take_heading(draft, root, error)) || (status = take_task(draft, root, error)) ||
        (status = take_text(draft, root, "loss", TEXT, &info->loss, error)) ||
        (json_object_get(root, "ties") &&
         (status = take_text(draft, root, "ties", TEXT, &info->ties, error))) ||
        (status = take_points(draft, root, error)) ||
        (status = take_real(draft, root, "huber_delta", &info->huber_delta, error)) ||
        (status = take_truth(draft, root, "intercept", &info->intercept, error)) ||
        (status = take_features(draft, root, error)) ||
        (status = take_reading(draft, root, error)) || (status = take_schema(draft, root, error)) ||
        (status = take_transform(draft, root, error)) ||
        (status =
             take_numbers(draft, root, "weights", ARRAY, &draft->weights, &info->dimension, error)))
        return status;
    info->weights = draft->weights;
    if ((status = take_inference(draft, root, error)))
        return status;
    return take_training(draft, root, error);
}

static void clear(struct draft *draft)
{
    fplt_transform_clear(&draft->transform);
    fplt_schema_destroy(draft->schema);
    fplt__free(draft->feature_names);
    fplt__free(draft->class_names);
    fplt__free(draft->references);
    fplt__free(draft->weights);
    fplt__inference_clear(&draft->inference);
    free(draft->training);
}

/* A federation with `loss: custom` writes weights that only the program of the cost can use. */
static int is_custom(const json_t *root)
{
    const char *loss = json_string_value(json_object_get(root, "loss"));
    return loss && strcmp(loss, "custom") == 0;
}

static fplt_status refuse_custom(const json_t *root, const char *path, fplt_error *error)
{
    const json_t *model = json_object_get(root, "model");
    const char *name = json_string_value(json_object_get(model, "name")),
               *version = json_string_value(json_object_get(model, "version"));
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "%s: the model of the custom cost %.40s %.40s, whose `weights` only the "
                          "program of that cost can use; fedplt reads models of built-in losses",
                          path, name ? name : "?", version ? version : "?");
}

/* A model in itself; absent where there was none. */
static fplt_status take_refit(const json_t *root, const char *path, fplt_model *model,
                              fplt_error *error)
{
    const json_t *object = json_object_get(root, "refit");
    if (!object)
        return FPLT_OK;
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY);
    fplt_status status = text ? fplt_model_parse(text, strlen(text), path, &model->refit, error)
                              : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a model");
    free(text);
    if (!status && model->refit->info.dimension != model->info.dimension)
        status =
            fplt_error_set(error, FPLT_BAD_DATA, "%s: the refit has %zu weights, but the model %zu",
                           path, model->refit->info.dimension, model->info.dimension);
    return status;
}

fplt_status fplt_model_parse(const char *text, size_t length, const char *path, fplt_model **model,
                             fplt_error *error)
{
    json_error_t where;
    struct draft draft = {.path = path};
    *model = NULL;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s:%d: this is not JSON: %s; a model is a file such as "
                              "fedplt-out/model.json, and stands before the data",
                              path, where.line, where.text);
    fplt_status status = is_custom(root)        ? refuse_custom(root, path, error)
                         : json_is_object(root) ? take_all(&draft, root, error)
                                                : fplt_error_set(error, FPLT_BAD_DATA,
                                                                 "%s: this is not a model: it must "
                                                                 "be one JSON object",
                                                                 path);
    if (!status && (status = fplt_model_create(&draft.info, model, error)))
        fplt_error_prefix(error, "%s", path);
    if (!status)
        (*model)->record = json_incref(json_object_get(root, "training"));
    if (!status && (status = take_refit(root, path, *model, error))) {
        fplt_model_destroy(*model);
        *model = NULL;
    }
    clear(&draft);
    json_decref(root);
    return status;
}

fplt_status fplt_model_read(const char *path, fplt_model **model, fplt_error *error)
{
    char *text, inside[4200];
    size_t length;
    struct stat about;
    *model = NULL;
    if (!stat(path, &about) && S_ISDIR(about.st_mode)) { /* what train wrote */
        snprintf(inside, sizeof inside, "%.4100s/model.json", path);
        path = inside;
    }
    fplt_status status = fplt__file_read(path, largest_file, &text, &length, error);
    if (status)
        return status;
    status = fplt_model_parse(text, length, path, model, error);
    fplt__free(text);
    return status;
}
