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
    if (!read.site)
        read.site = info->site;
    if (!labelled)
        read.label = "none";
    else if (!read.label)
        read.label = info->label;
    if (labelled) {
        read.labels = read.labels ? read.labels : info->labels;
        read.class_names = info->class_names;
        read.class_count = info->classes;
        read.task = fplt__task_name(info->task);
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
    fplt_read_settings read = settings ? *settings : fplt_read_defaults();
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

/* Quality */

struct ranked {
    double score;
    int positive;
};

static int by_score(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->score, y = ((const struct ranked *)b)->score;
    return (x > y) - (x < y);
}

static double area(struct ranked *rows, size_t count)
{
    double positives = 0, rank_sum = 0;
    qsort(rows, count, sizeof *rows, by_score);
    for (size_t i = 0, end; i < count; i = end) {
        double found = 0;
        for (end = i; end < count && rows[end].score == rows[i].score; end++)
            found += rows[end].positive;
        rank_sum += found * ((double)(i + 1) + (double)end) / 2;
        positives += found;
    }
    double negatives = (double)count - positives;
    if (!(positives > 0 && negatives > 0))
        return NAN;
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives);
}

/* F1 = 2 right / (predicted + actual); NaN for a class that neither has. */
static double f1_of(const double *predicted, const double *actual, size_t count, uint32_t class)
{
    double right = 0, said = 0, is = 0;
    for (size_t i = 0; i < count; i++) {
        right += predicted[i] == class && actual[i] == class;
        said += predicted[i] == class;
        is += actual[i] == class;
    }
    return said + is > 0 ? 2 * right / (said + is) : NAN;
}

static double mean_f1(const double *predicted, const double *actual, size_t count, uint32_t classes)
{
    double sum = 0, known = 0;
    if (classes == 2)
        return f1_of(predicted, actual, count, 1);
    for (uint32_t k = 0; k < classes; k++) {
        double own = f1_of(predicted, actual, count, k);
        sum += isnan(own) ? 0 : own;
        known += !isnan(own);
    }
    return known > 0 ? sum / known : NAN;
}

/* All rows at once: scores, predictions, and classes as numbers from 0. */
struct answers {
    double *scores, *predicted, *actual;
    struct ranked *ranked;
};

static void measure(const fplt_model *model, const struct answers *answers, size_t first,
                    size_t count, fplt_quality *quality)
{
    const double *predicted = answers->predicted + first, *actual = answers->actual + first;
    uint32_t classes = model->info.classes;
    quality->auc = quality->f1 = quality->rmse = NAN;
    if (!fplt_task_classifies(model->info.task)) {
        double squares = 0;
        for (size_t i = 0; i < count; i++)
            squares += (predicted[i] - actual[i]) * (predicted[i] - actual[i]);
        quality->rmse = sqrt(squares / (double)count);
        return;
    }
    quality->f1 = mean_f1(predicted, actual, count, classes);
    if (classes != 2)
        return;
    for (size_t i = 0; i < count; i++) {
        const double *scores = answers->scores + (first + i) * model->outputs;
        answers->ranked[i].score = model->outputs == 1 ? scores[0] : scores[1] - scores[0];
        answers->ranked[i].positive = actual[i] == 1;
    }
    quality->auc = area(answers->ranked, count);
}

static fplt_status answer(const fplt_model *model, const fplt_dataset *dataset,
                          struct answers *answers, fplt_error *error)
{
    fplt_rows rows = fplt_dataset_all(dataset);
    fplt_status status;
    if ((status = fplt__alloc_into(&answers->scores, rows.count * model->outputs, sizeof(double),
                                   "scores", error)) ||
        (status =
             fplt__alloc_into(&answers->predicted, rows.count, sizeof(double), "scores", error)) ||
        (status =
             fplt__alloc_into(&answers->actual, rows.count, sizeof(double), "scores", error)) ||
        (status = fplt__alloc_into(&answers->ranked, rows.count, sizeof *answers->ranked, "scores",
                                   error)))
        return status;
    for (size_t i = 0; i < rows.count; i++)
        answers->actual[i] =
            model->info.task == FPLT_TASK_BINARY ? rows.label[i] > 0 : rows.label[i];
    return fplt_model_predict(model, &rows, answers->scores, NULL, answers->predicted, error);
}

/* Loss and hits of every agent, by the objective itself without its regulariser. */
static fplt_status measure_costs(const fplt_model *model, const fplt_dataset *dataset,
                                 fplt_quality *each, fplt_quality *all, fplt_error *error)
{
    fplt_objective_settings settings = fplt_objective_defaults();
    fplt_objective *objective;
    double *scratch = NULL, losses = 0;
    size_t right = 0;
    settings.loss = model->info.loss;
    settings.regulariser = "none";
    settings.weight = 0;
    settings.huber_delta = model->info.huber_delta;
    settings.intercept = model->info.intercept;
    fplt_status status = fplt_objective_create(&settings, dataset, &objective, error);
    if (status)
        return status;
    status = fplt__alloc_into(&scratch, fplt_objective_scratch(objective), sizeof *scratch,
                              "the objective", error);
    for (uint32_t i = 0; !status && i < fplt_objective_agents(objective); i++) {
        double loss;
        size_t hits = 0, rows = fplt_objective_records(objective, i);
        status = fplt_objective_value(objective, i, model->info.weights, &loss, scratch);
        if (!status && fplt_task_classifies(model->info.task))
            status = fplt_objective_hits(objective, i, model->info.weights, &hits, scratch);
        if (status)
            fplt_error_set(error, status, "the loss cannot be computed");
        losses += loss * (double)rows;
        right += hits;
        if (each)
            each[i] =
                (fplt_quality){.rows = rows, .loss = loss, .accuracy = (double)hits / (double)rows};
    }
    size_t rows = fplt_dataset_rows(dataset);
    *all = (fplt_quality){
        .rows = rows, .loss = losses / (double)rows, .accuracy = (double)right / (double)rows};
    fplt__free(scratch);
    fplt_objective_destroy(objective);
    return status;
}

fplt_status fplt_model_evaluate(const fplt_model *model, const fplt_dataset *dataset,
                                fplt_quality *each, fplt_quality *all, fplt_error *error)
{
    struct answers answers = {NULL, NULL, NULL, NULL};
    if (fplt_dataset_task(dataset) != model->info.task)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the data are for %s, but the model is for %s",
                              fplt__task_name(fplt_dataset_task(dataset)),
                              fplt__task_name(model->info.task));
    fplt_status status = answer(model, dataset, &answers, error);
    if (!status)
        status = measure_costs(model, dataset, each, all, error);
    size_t first = 0;
    int numbers = !fplt_task_classifies(model->info.task);
    for (uint32_t i = 0; !status && each && i < fplt_dataset_agents(dataset); i++) {
        measure(model, &answers, first, each[i].rows, &each[i]);
        if (numbers)
            each[i].accuracy = NAN;
        first += each[i].rows;
    }
    if (!status) {
        measure(model, &answers, 0, all->rows, all);
        if (numbers)
            all->accuracy = NAN;
    }
    fplt__free(answers.scores);
    fplt__free(answers.predicted);
    fplt__free(answers.actual);
    fplt__free(answers.ranked);
    return status;
}
