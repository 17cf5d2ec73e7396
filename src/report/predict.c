/* What a model predicts and how well. The area under the ROC curve is the probability that a row of
 * the second class scores above one of the first [Mann and Whitney 1947], from ranks with ties
 * shared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "report/model.h"

static int has_site_effects(const fplt_model_info *info)
{
    return info->transform->design && fplt__design_sites(info->transform->design)->count;
}

/* A given schema must say of the model's features and classes what the model knows. */
static fplt_status check_fit(const fplt_model_info *info, const fplt_dataset *dataset, int labelled,
                             fplt_error *error)
{
    fplt__model_inputs inputs = fplt__model_inputs_of(info);
    if (fplt_dataset_features(dataset) != inputs.count)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the schema has %zu features, but the model has %zu",
                              fplt_dataset_features(dataset), inputs.count);
    for (size_t j = 0; j < inputs.count && inputs.names; j++) {
        const char *name = fplt_dataset_feature_name(dataset, j);
        if (name && strcmp(name, inputs.names[j]) != 0)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "feature %zu is '%.80s' in the schema, but '%.80s' in the model",
                                  j + 1, name, inputs.names[j]);
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

/* Clusters are for the likelihood of labels alone; without their column there is none, but all else. */
static void read_clusters(const fplt_model_info *info, int labelled, fplt_read_settings *read)
{
    read->cluster = labelled ? info->cluster : NULL;
    read->cluster_if_there = 1;
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
    read_clusters(info, labelled, &read);
    fplt_status status = fplt_dataset_read(paths, count, &read, dataset, error);
    return status ? status : check_fit(info, *dataset, labelled, error);
}

/* How to read files for a model that knows its features itself. */
static fplt_read_settings named_settings(const fplt_model_info *info, fplt_read_settings read,
                                         int labelled)
{
    fplt__model_inputs inputs = fplt__model_inputs_of(info);
    read.features = inputs.count;
    read.feature_names = inputs.names;
    read.feature_count = inputs.names ? inputs.count : 0;
    read.drop_first_level = info->drop_first_level;
    read.reference_levels = info->reference_levels;
    read.reference_count = info->reference_count;
    read.missing_codes = read.missing_codes ? read.missing_codes : info->missing_codes;
    read.dates = info->dates;
    if (!read.site)
        read.site = info->site;
    if (has_site_effects(info) && (!read.site || strcmp(read.site, "none") == 0))
        read.site = info->site ? info->site : "site";
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
    read_clusters(info, labelled, &read);
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
    return read;
}

static fplt_status read_named(const fplt_model_info *info, const char *const *paths, size_t count,
                              fplt_read_settings read, int labelled, fplt_dataset **dataset,
                              fplt_error *error)
{
    read = named_settings(info, read, labelled);
    return fplt_dataset_read(paths, count, &read, dataset, error);
}

/* A row and its place in the file. */
struct placed {
    double number;
    size_t row;
};

static int by_number(const void *a, const void *b)
{
    double x = ((const struct placed *)a)->number, y = ((const struct placed *)b)->number;
    return (x > y) - (x < y);
}

/* Rows that were grouped by site, in the order of the file and as those of one agent again. */
static fplt_status ungroup(fplt_dataset **dataset, fplt_error *error)
{
    fplt_dataset *all = *dataset, *made;
    struct placed *placed = NULL;
    size_t *order = NULL, rows = all->rows;
    if (all->agents == 1)
        return FPLT_OK;
    if (!all->number)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the rows have no numbers, so that they cannot be put back in order");
    fplt_status status = fplt__alloc_into(&placed, rows, sizeof *placed, "rows", error);
    if (!status)
        status = fplt__alloc_into(&order, rows, sizeof *order, "rows", error);
    for (size_t r = 0; !status && r < rows; r++)
        placed[r] = (struct placed){all->number[r], r};
    if (!status) {
        qsort(placed, rows, sizeof *placed, by_number);
        for (size_t r = 0; r < rows; r++)
            order[r] = placed[r].row;
        status = fplt__dataset_select(all, order, &rows, 1, 0, &made, error);
    }
    fplt__free(placed);
    fplt__free(order);
    if (status)
        return status;
    made->left_out = all->left_out;
    made->left_out_count = all->left_out_count;
    all->left_out = NULL;
    fplt_dataset_destroy(all);
    *dataset = made;
    return FPLT_OK;
}

double fplt__model_score_at_zero(const fplt_model *model)
{
    const fplt_model_info *info = &model->info;
    const fplt_transform *transform = &model->transform;
    double intercept = info->intercept ? info->weights[info->features] : 0;
    for (size_t j = 0; j < info->features && transform->mean; j++)
        intercept -=
            info->weights[j] * transform->mean[j] / (transform->scale ? transform->scale[j] : 1);
    return intercept;
}

static int is_known_site(const fplt_model *model, const char *name)
{
    const fplt__names *sites = fplt__design_sites(model->transform.design);
    for (size_t i = 0; name && i < sites->count; i++)
        if (strcmp(sites->item[i], name) == 0)
            return 1;
    return 0;
}

/* Rows of new sites have the columns of the reference site; what their intercept differs by is a known part of their
 * predictor. */
static fplt_status state_intercept(const fplt_model *model, const char *text, fplt_dataset *dataset,
                                   fplt_error *error)
{
    double stated = 0;
    fplt_status status = fplt__parse_real(text, &stated);
    if (status)
        return fplt_error_set(error, status, "site-intercept is '%.80s', but it must be a number",
                              text);
    if (!has_site_effects(&model->info) || model->outputs != 1 || model->transform.radius > 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "site-intercept is for models of one output with --site-effects "
                              "fixed and without a radius: leave it out");
    double more = stated - fplt__model_score_at_zero(model);
    status = fplt__dataset_add(dataset, &dataset->offset, error);
    for (uint32_t i = 0; i < dataset->agents && !status; i++)
        for (size_t r = dataset->first[i];
             r < dataset->first[i + 1] &&
             !is_known_site(model, fplt_dataset_agent_name(dataset, i));
             r++)
            dataset->offset[r] += more;
    return status;
}

static fplt_status transform_rows(const fplt_model *model, const fplt_read_settings *read,
                                  fplt_dataset *dataset, fplt_error *error)
{
    if (read->site_intercept ||
        (read->unknown_level && strcmp(read->unknown_level, "reference") == 0))
        dataset->new_site_is_reference = 1;
    fplt_status status = fplt_transform_apply(&model->transform, dataset, error);
    return !status && read->site_intercept
               ? state_intercept(model, read->site_intercept, dataset, error)
               : status;
}

fplt_status fplt__model_blocks_open(const fplt_model *model, const char *path,
                                    const fplt_read_settings *settings, int labelled,
                                    const fplt__blocks *before, fplt__blocks **blocks,
                                    fplt_error *error)
{
    /* more than is looked at for codes of missing values */
    enum { BLOCK = 1 << 23 };
    const fplt_model_info *info = &model->info;
    fplt_read_settings read = *settings;
    read.asked = settings;
    *blocks = NULL;
    if (info->schema || read.schema)
        return fplt_error_set(error, FPLT_UNSUPPORTED, "the model's files are read whole");
    read = named_settings(info, read, labelled);
    return fplt__blocks_open(path, &read, BLOCK, before, blocks, error);
}

fplt_status fplt__model_blocks_next(const fplt_model *model, const fplt_read_settings *settings,
                                    int labelled, fplt__blocks *blocks, fplt_dataset **dataset,
                                    fplt_error *error)
{
    fplt_status status = fplt__blocks_next(blocks, dataset, error);
    if (!status && *dataset)
        status = transform_rows(model, settings, *dataset, error);
    if (!status && *dataset && !labelled && has_site_effects(&model->info))
        status = ungroup(dataset, error);
    if (status) {
        fplt_dataset_destroy(*dataset);
        *dataset = NULL;
    }
    return status;
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
        status = transform_rows(model, &read, *dataset, error);
    if (!status && !labelled && has_site_effects(info))
        status = ungroup(dataset, error);
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

const double *fplt__model_shared(const fplt_model *model)
{
    return model->info.weights + model->info.dimension -
           fplt__loss_shared(model->kind, model->info.classes);
}

void fplt__model_probabilities(const fplt_model *model, const double *scores, double *probabilities)
{
    if (model->kind->probabilities) {
        model->kind->probabilities(scores[0], fplt__model_shared(model),
                                   fplt__loss_shared(model->kind, model->info.classes),
                                   probabilities);
        return;
    }
    if (model->kind->probability) {
        probabilities[0] = model->kind->probability(-scores[0]);
        probabilities[1] = model->kind->probability(scores[0]);
        return;
    }
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

double fplt__model_predicted(const fplt_model *model, const double *scores)
{
    if (!fplt__task_classifies(model->info.task))
        return model->kind->exponential ? exp(scores[0]) : scores[0];
    if (model->kind->ordered)
        return (double)model->kind->likeliest(scores[0], fplt__model_shared(model),
                                              fplt__loss_shared(model->kind, model->info.classes));
    if (model->outputs == 1)
        return scores[0] > 0;
    uint32_t best = 0;
    for (uint32_t k = 1; k < model->outputs; k++)
        best = scores[k] > scores[best] ? k : best;
    return best;
}

void fplt__model_answer(const fplt_model *model, const fplt_rows *rows, size_t row, double *scores,
                        double *probabilities, double *predicted)
{
    for (uint32_t k = 0; k < model->outputs; k++)
        scores[k] = score_of(model, rows, row, k);
    if (probabilities)
        fplt__model_probabilities(model, scores, probabilities);
    *predicted = fplt__model_predicted(model, scores);
}

fplt_status fplt__model_check_rows(const fplt_model *model, const fplt_rows *rows,
                                   fplt_error *error)
{
    return rows->features == model->info.features
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE, "the rows have %zu features, the model %zu",
                                rows->features, model->info.features);
}

fplt_status fplt_model_predict(const fplt_model *model, const fplt_rows *rows, double *scores,
                               double *probabilities, double *predicted, fplt_error *error)
{
    uint32_t outputs = model->outputs;
    double *own;
    fplt_status status = fplt__model_check_rows(model, rows, error);
    if (status)
        return status;
    if (probabilities && !fplt_model_has_probabilities(model))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "a model with the loss %s gives scores, not probabilities",
                              model->info.loss);
    if ((status = fplt__alloc_into(&own, outputs, sizeof *own, "scores", error)))
        return status;
    for (size_t row = 0; row < rows->count; row++) {
        double answer;
        fplt__model_answer(model, rows, row, own,
                           probabilities ? probabilities + row * model->info.classes : NULL,
                           &answer);
        if (scores)
            memcpy(scores + row * outputs, own, outputs * sizeof *own);
        if (predicted)
            predicted[row] = answer;
    }
    fplt__free(own);
    return FPLT_OK;
}
