/* Inverse probability weights [Robins, Hernan and Brumback 2000; Cole and Hernan 2008], and the balance of the groups by
 * standardised mean differences [Austin and Stuart 2015]. */
#include "study/weighting_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/model.h"
#include "report/model_access.h"

void fplt__weighting_destroy(fplt__weighting *weighting)
{
    for (size_t i = 0; weighting && i < weighting->files; i++) {
        fplt_dataset_destroy(weighting->file[i].dataset);
        fplt__free(weighting->file[i].weight);
    }
    if (weighting) {
        fplt__free(weighting->file);
        fplt__free(weighting);
    }
}

void fplt__weighting_bounds(const fplt__weighting *weighting, double *low, double *high,
                            double *share)
{
    *low = weighting->low;
    *high = weighting->high;
    *share = weighting->share;
}

static fplt_status check_model(const fplt_model *model, fplt_error *error)
{
    const fplt_model_info *info = &model->info;
    if (info->task != FPLT_TASK_BINARY || !model->kind->probable)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "weights need the probability of a treatment, a label of two classes, "
            "but the model has the loss %s; train one with --loss logistic",
            info->loss);
    return FPLT_OK;
}

/* The probability of the second class for every row. */
static fplt_status find_probabilities(const fplt_model *model, const fplt_rows *rows,
                                      double *second, fplt_error *error)
{
    double *numbers;
    size_t outputs = model->outputs, width = outputs + 3;
    fplt_status status =
        fplt__alloc_into(&numbers, rows->count * width, sizeof *numbers, "probabilities", error);
    if (status)
        return status;
    double *both = numbers + rows->count * outputs;
    status = fplt_model_predict(model, rows, numbers, both, both + 2 * rows->count, error);
    for (size_t r = 0; !status && r < rows->count; r++)
        second[r] = both[2 * r + 1];
    fplt__free(numbers);
    return status;
}

static fplt_status read_file(const fplt_model *model, const char *path,
                             const fplt_read_settings *read, fplt__weighted_file *file,
                             fplt_error *error)
{
    file->path = path;
    fplt_status status = fplt_model_dataset(model, &path, 1, read, 1, &file->dataset, error);
    if (status)
        return status;
    fplt_rows rows = fplt_dataset_all(file->dataset);
    if (rows.weight)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s: the rows have weights already; give --row-weight none and "
                              "multiply the two",
                              path);
    status = fplt__alloc_into(&file->weight, rows.count, sizeof *file->weight, "weights", error);
    return status ? status : find_probabilities(model, &rows, file->weight, error);
}

/* The share of treated rows: of the training, which a model carries with its sums, so that every site of a federation has the
 * same; otherwise of the rows at hand. */
static double share_of(const fplt_model *model, const fplt__weighting *weighting)
{
    const fplt_inference *inference = model->info.inference;
    if (inference && inference->rows > 0)
        return inference->events / inference->rows;
    return weighting->rows[1] / (weighting->rows[0] + weighting->rows[1]);
}

static double weight_of(const fplt__weighting_settings *settings, double share, int treated,
                        double p)
{
    if (settings->treated)
        return treated ? 1 : p / (1 - p);
    double numerator = !settings->stabilised ? 1 : treated ? share : 1 - share;
    return numerator / (treated ? p : 1 - p);
}

/* Probabilities become weights. */
static fplt_status weigh_file(const fplt__weighting_settings *settings, double share,
                              fplt__weighted_file *file, fplt_error *error)
{
    fplt_rows rows = fplt_dataset_all(file->dataset);
    for (size_t r = 0; r < rows.count; r++) {
        double p = file->weight[r];
        file->weight[r] = weight_of(settings, share, rows.label[r] > 0, p);
        if (!isfinite(file->weight[r]))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "%s: row %zu has a propensity of %g, so that it has no weight: "
                                  "the columns separate the groups; leave columns out, or train "
                                  "with a penalty",
                                  file->path, fplt__weighted_place(file, r), p);
    }
    return FPLT_OK;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two nearest order statistics, as R's quantile has it by default. */
static double quantile_of(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

static fplt_status find_bounds(const fplt__weighting_settings *settings, fplt__weighting *w,
                               fplt_error *error)
{
    size_t count = (size_t)(w->rows[0] + w->rows[1]), at = 0;
    double *all;
    w->low = settings->low;
    w->high = settings->high;
    if (!(settings->truncate > 0))
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&all, count, sizeof *all, "weights", error);
    if (status)
        return status;
    for (size_t i = 0; i < w->files; i++) {
        size_t rows = fplt_dataset_rows(w->file[i].dataset);
        memcpy(all + at, w->file[i].weight, rows * sizeof *all);
        at += rows;
    }
    qsort(all, count, sizeof *all, by_size);
    w->low = quantile_of(all, count, settings->truncate);
    w->high = quantile_of(all, count, 1 - settings->truncate);
    fplt__free(all);
    return FPLT_OK;
}

static void truncate_file(fplt__weighting *w, fplt__weighted_file *file)
{
    fplt_rows rows = fplt_dataset_all(file->dataset);
    for (size_t r = 0; r < rows.count; r++) {
        double kept = fmin(fmax(file->weight[r], w->low), w->high);
        w->truncated[rows.label[r] > 0] += kept != file->weight[r];
        file->weight[r] = kept;
    }
}

static fplt_status count_groups(fplt__weighting *w, fplt_error *error)
{
    for (size_t i = 0; i < w->files; i++) {
        fplt_rows rows = fplt_dataset_all(w->file[i].dataset);
        for (size_t r = 0; r < rows.count; r++)
            w->rows[rows.label[r] > 0]++;
    }
    for (int group = 0; group < 2; group++)
        if (!(w->rows[group] > 0))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "no row has the class %s: weights compare two groups",
                                  w->model->info.class_names[group]);
    return FPLT_OK;
}

static fplt_status fill(const char *const *paths, const fplt_read_settings *read,
                        const fplt__weighting_settings *settings, fplt__weighting *w,
                        fplt_error *error)
{
    fplt_status status = check_model(w->model, error);
    for (size_t i = 0; i < w->files && !status; i++)
        status = read_file(w->model, paths[i], read, &w->file[i], error);
    if (status || (status = count_groups(w, error)))
        return status;
    w->share = share_of(w->model, w);
    for (size_t i = 0; i < w->files && !status; i++)
        status = weigh_file(settings, w->share, &w->file[i], error);
    if (status || (status = find_bounds(settings, w, error)))
        return status;
    for (size_t i = 0; i < w->files; i++)
        truncate_file(w, &w->file[i]);
    return FPLT_OK;
}

/* 0: not stated. */
static char separator_named(const char *name)
{
    static const struct {
        const char *name;
        char sign;
    } known[] = {{"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"bar", '|'}};
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].sign;
    return 0;
}

fplt_status fplt__weighting_make(const fplt_model *model, const char *const *paths, size_t count,
                                 const fplt_read_settings *read,
                                 const fplt__weighting_settings *settings,
                                 fplt__weighting **weighting, fplt_error *error)
{
    fplt__weighting *w;
    *weighting = NULL;
    fplt_status status = fplt__alloc_into(&w, 1, sizeof *w, "weights", error);
    if (status)
        return status;
    w->model = model;
    w->separator = separator_named(read->separator);
    w->comma = read->decimal && strcmp(read->decimal, "comma") == 0;
    status = fplt__alloc_into(&w->file, count, sizeof *w->file, "weights", error);
    if (!status) {
        w->files = count;
        status = fill(paths, read, settings, w, error);
    }
    if (status) {
        fplt__weighting_destroy(w);
        return status;
    }
    *weighting = w;
    return FPLT_OK;
}
