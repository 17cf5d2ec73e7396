/* What a model predicts and how well. The area under the ROC curve is the probability that a row of
 * the second class scores above one of the first [Mann and Whitney 1947], from ranks with ties
 * shared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/model.h"

/* A schema of one's own must say of the model's features and classes what the model knows. */
static fplt_status check_fit(const fplt_model_info *info, const fplt_dataset *dataset, int labelled,
                             fplt_error *error)
{
    if (fplt_dataset_features(dataset) != info->features)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the schema has %zu features, but the model has %zu",
                              fplt_dataset_features(dataset), info->features);
    for (size_t j = 0; j < info->features && info->feature_names; j++) {
        const char *name = fplt_dataset_feature_name(dataset, j);
        if (name && strcmp(name, info->feature_names[j]) != 0)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "feature %zu is '%.80s' in the schema, but '%.80s' in the model",
                                  j + 1, name, info->feature_names[j]);
    }
    for (uint32_t k = 0; labelled && k < info->classes; k++) {
        const char *name = fplt_dataset_class_name(dataset, k);
        if (!name || strcmp(name, info->class_names[k]) != 0)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "class %u is '%.80s' in the schema, but '%.80s' in the model", k,
                                  name ? name : "not there", info->class_names[k]);
    }
    return FPLT_OK;
}

static fplt_status read_declared(const fplt_model_info *info, const char *const *paths,
                                 size_t count, fplt_read_settings read, int labelled,
                                 fplt_dataset **dataset, fplt_error *error)
{
    if (read.unknown_level && strcmp(read.unknown_level, "refuse") != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "unknown-level has no effect beside a schema, which says itself what "
                              "becomes of other levels (other); leave it out");
    read.schema = read.schema ? read.schema : info->schema;
    read.leave_out = 1;
    read.label = labelled ? NULL : "none";
    fplt_status status = fplt_dataset_read(paths, count, &read, dataset, error);
    return status ? status : check_fit(info, *dataset, labelled, error);
}

static fplt_status read_named(const fplt_model_info *info, const char *const *paths, size_t count,
                              fplt_read_settings read, int labelled, fplt_dataset **dataset,
                              fplt_error *error)
{
    read.features = info->features;
    read.feature_names = info->feature_names;
    read.feature_count = info->feature_names ? info->features : 0;
    read.drop_first_level = info->drop_first_level;
    read.reference_levels = info->reference_levels;
    read.reference_count = info->reference_count;
    read.missing_codes = read.missing_codes ? read.missing_codes : info->missing_codes;
    read.dates = info->dates;
    if (!read.site)
        read.site = info->site;
    /* without names columns are known by their places: label and site have none among them */
    read.set_aside = !labelled && !info->feature_names;
    if (!labelled)
        read.label = "none";
    else if (!read.label)
        read.label = info->label;
    if (!read.id) {
        read.id = info->id;
        read.id_if_there = 1;
    }
    read.keep_missing = info->transform->fill && !read.drop_missing;
    if (labelled) {
        read.row_weight = read.row_weight ? read.row_weight : info->row_weight;
        read.labels = read.labels ? read.labels : info->labels;
        read.class_names = info->class_names;
        read.class_count = info->classes;
        read.task = fplt_task_name(info->task);
    } else {
        read.labels = NULL;
        read.task = NULL;
    }
    return fplt_dataset_read(paths, count, &read, dataset, error);
}

fplt_status fplt_model_dataset(const fplt_model *model, const char *const *paths, size_t count,
                               const fplt_read_settings *settings, int labelled,
                               fplt_dataset **dataset, fplt_error *error)
{
    const fplt_model_info *info = &model->info;
    const fplt_read_settings asked = settings ? *settings : fplt_read_defaults();
    fplt_read_settings read = asked;
    read.asked = &asked;
    *dataset = NULL;
    fplt_status status = info->schema || read.schema
                             ? read_declared(info, paths, count, read, labelled, dataset, error)
                             : read_named(info, paths, count, read, labelled, dataset, error);
    if (!status)
        status = fplt_transform_apply(&model->transform, *dataset, error);
    if (status) {
        fplt_dataset_destroy(*dataset);
        *dataset = NULL;
    }
    return status;
}

static double row_dot(const fplt_rows *rows, size_t row, const double *weights)
{
    double sum = 0;
    if (rows->dense) {
        const double *a = rows->dense + row * rows->features;
        for (size_t j = 0; j < rows->features; j++)
            sum += a[j] * weights[j];
    } else {
        for (size_t k = rows->start[row]; k < rows->start[row + 1]; k++)
            sum += rows->value[k] * weights[rows->column[k]];
    }
    return sum;
}

/* The weights of all outputs come first, then the intercepts. */
static double score_of(const fplt_model *model, const fplt_rows *rows, size_t row, uint32_t output)
{
    const fplt_model_info *info = &model->info;
    double score = row_dot(rows, row, info->weights + output * info->features);
    if (info->intercept)
        score += info->weights[model->outputs * info->features + output];
    if (rows->offset)
        score += rows->offset[row];
    return score;
}

int fplt_model_has_probabilities(const fplt_model *model)
{
    return model->kind->probable;
}

static void probabilities_of(const fplt_model *model, const double *scores, double *probabilities)
{
    if (model->outputs == 1) {
        double small = exp(-fabs(scores[0])), high = 1 / (1 + small);
        probabilities[scores[0] >= 0] = high;
        probabilities[scores[0] < 0] = small / (1 + small);
        return;
    }
    double most = scores[0], total = 0;
    for (uint32_t k = 1; k < model->outputs; k++)
        most = fmax(most, scores[k]);
    for (uint32_t k = 0; k < model->outputs; k++)
        total += probabilities[k] = exp(scores[k] - most);
    for (uint32_t k = 0; k < model->outputs; k++)
        probabilities[k] /= total;
}

static double predicted_of(const fplt_model *model, const double *scores)
{
    if (!fplt_task_classifies(model->info.task))
        return model->kind->exponential ? exp(scores[0]) : scores[0];
    if (model->outputs == 1)
        return scores[0] > 0;
    uint32_t best = 0;
    for (uint32_t k = 1; k < model->outputs; k++)
        best = scores[k] > scores[best] ? k : best;
    return best;
}

fplt_status fplt_model_predict(const fplt_model *model, const fplt_rows *rows, double *scores,
                               double *probabilities, double *predicted, fplt_error *error)
{
    uint32_t outputs = model->outputs;
    double *own;
    if (rows->features != model->info.features)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the rows have %zu features, the model %zu",
                              rows->features, model->info.features);
    if (probabilities && !fplt_model_has_probabilities(model))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "a model with the loss %s gives scores, not probabilities",
                              model->info.loss);
    fplt_status status = fplt__alloc_into(&own, outputs, sizeof *own, "scores", error);
    if (status)
        return status;
    for (size_t row = 0; row < rows->count; row++) {
        for (uint32_t k = 0; k < outputs; k++)
            own[k] = score_of(model, rows, row, k);
        if (scores)
            memcpy(scores + row * outputs, own, outputs * sizeof *own);
        if (probabilities)
            probabilities_of(model, own, probabilities + row * model->info.classes);
        if (predicted)
            predicted[row] = predicted_of(model, own);
    }
    fplt__free(own);
    return FPLT_OK;
}
