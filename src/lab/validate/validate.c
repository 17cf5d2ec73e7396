/* Cross-validation over a grid of one setting, with the rule of one standard error. */
#include <stdio.h>

#include "base/memory.h"
#include "data/dataset_access.h"
#include "fedplt/transform.h"
#include "lab/tuning/crew.h"
#include "lab/validate/fit.h"
#include "report/validation.h"

struct run {
    const fplt_validate_settings *settings;
    fplt_validation *made;
    fplt_task task;
    unsigned char *is_in;   /* owned: one a row */
    double *loss, *quality; /* owned: values x folds */
    fplt__audience audience;
};

/* Every site's rows are shuffled and dealt out one after the other. */
static fplt_status deal(const fplt_validate_settings *settings, uint32_t *fold, fplt_error *error)
{
    size_t first = 0;
    for (uint32_t i = 0; i < fplt_dataset_agents(settings->dataset); i++) {
        size_t rows = fplt_dataset_shard(settings->dataset, i).count;
        if (rows < settings->folds)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "agent %u has %zu rows, but %u folds need at least one each", i,
                                  rows, settings->folds);
        fplt__deal_folds(rows, i, settings->folds, settings->seed, fold + first);
        first += rows;
    }
    return FPLT_OK;
}

/* As they are given: each has rows of its own, and leaves some to train on. */
static fplt_status take_given(const fplt_validate_settings *settings, uint32_t *fold,
                              fplt_error *error)
{
    size_t rows = fplt_dataset_rows(settings->dataset);
    for (uint32_t f = 0; f < settings->folds; f++) {
        size_t count = 0;
        for (size_t r = 0; r < rows; r++)
            count += settings->fold[r] == f;
        if (!count)
            return fplt_error_set(error, FPLT_BAD_VALUE, "fold %u of %u has no row", f,
                                  settings->folds);
    }
    for (size_t r = 0; r < rows; r++) {
        if (settings->fold[r] >= settings->folds)
            return fplt_error_set(error, FPLT_BAD_VALUE, "row %zu is in fold %u of %u", r + 1,
                                  settings->fold[r], settings->folds);
        fold[r] = settings->fold[r];
    }
    return FPLT_OK;
}

static void by_site(const fplt_dataset *dataset, uint32_t *fold)
{
    size_t at = 0;
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++)
        for (size_t r = fplt_dataset_shard(dataset, i).count; r > 0; r--)
            fold[at++] = i;
}

static fplt_status side(struct run *run, uint32_t fold, int test, fplt_dataset **rows,
                        fplt_error *error)
{
    for (size_t r = 0; r < fplt_dataset_rows(run->settings->dataset); r++)
        run->is_in[r] = (run->made->fold[r] == fold) == test;
    return fplt__rows_where(run->settings->dataset, run->is_in, rows, error);
}

static fplt_status measure(struct run *run, uint32_t fold, size_t place, fplt_error *error)
{
    fplt_dataset *training, *test = NULL;
    fplt_model *model = NULL;
    fplt_quality quality;
    fplt_status status = side(run, fold, 0, &training, error);
    if (status)
        return status;
    status = fplt__fit(run->settings->settings, training, &run->audience, &model, error);
    if (!status && model && !(status = side(run, fold, 1, &test, error)) &&
        !(status = fplt_transform_apply(fplt_model_get_view(model)->transform, test, error)) &&
        !(status = fplt_model_evaluate(model, test, NULL, &quality, error))) {
        run->loss[place] = quality.loss;
        run->quality[place] = fplt__quality_of(run->task, &quality);
    }
    fplt_dataset_destroy(test);
    fplt_model_destroy(model);
    return status;
}

/* One value without one fold. Once it was asked to stop, nothing. */
static fplt_status place_task(void *context, size_t place, fplt_error *error)
{
    struct run *run = context;
    const fplt_validate_settings *settings = run->settings;
    uint32_t folds = run->made->folds;
    char text[64];
    if (run->made->stopped)
        return FPLT_OK;
    snprintf(text, sizeof text, "%.17g", settings->values[place / folds]);
    fplt_status status =
        fplt_settings_set(settings->settings, settings->name, text, "the grid", error);
    if (!status)
        status = measure(run, (uint32_t)(place % folds), place, error);
    run->audience.done += settings->ranks ? settings->ranks->count : 1;
    if (status)
        fplt_error_prefix(error, "%s %s", settings->name, text);
    else if (fplt__audience_notify(&run->audience))
        run->made->stopped = 1;
    return status;
}

static fplt_status place_results(void *context, size_t place, fplt__parcel *parcel)
{
    struct run *run = context;
    int stopped = run->made->stopped;
    fplt_status status = fplt__parcel_carry(parcel, &stopped, sizeof stopped);
    run->made->stopped |= stopped;
    if (!status)
        status = fplt__parcel_carry(parcel, &run->loss[place], sizeof *run->loss);
    return status ? status : fplt__parcel_carry(parcel, &run->quality[place], sizeof *run->quality);
}

/* One after the other: every training has all threads. */
static fplt_status measure_all(struct run *run, fplt_error *error)
{
    const fplt__crew crew = {.threads = 1, .ranks = run->settings->ranks};
    size_t places = run->settings->count * run->made->folds;
    return fplt__crew_spread(&crew, places, place_task, place_results, run, 0, places, error);
}

static void choose_value(struct run *run)
{
    fplt_validation *made = run->made;
    uint32_t folds = made->folds;
    for (size_t v = 0; v < made->count; v++) {
        fplt_validate_point *point = &made->point[v];
        point->value = run->settings->values[v];
        fplt__validation_mean(run->loss + v * folds, folds, &point->loss, &point->error);
        fplt__validation_mean(run->quality + v * folds, folds, &point->quality, NULL);
    }
    fplt__validation_choose(made->point, made->count, &made->best, &made->chosen);
}

static fplt_status prepare(struct run *run, fplt_error *error)
{
    const fplt_validate_settings *settings = run->settings;
    fplt_validation *made = run->made;
    size_t rows = fplt_dataset_rows(settings->dataset);
    fplt_status status = fplt__refuse_private(settings->settings, "validation", error);
    if (status)
        return status;
    made->folds = settings->folds ? settings->folds : fplt_dataset_agents(settings->dataset);
    made->count = settings->count;
    made->quality = fplt__quality_name(run->task);
    run->audience =
        (fplt__audience){settings->watch, settings->context, 0, made->count * made->folds, 0};
    if (made->folds < 2 || !settings->count)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "there are %u folds and %zu values, but 2 and 1 are the least",
                              made->folds, settings->count);
    if ((status = fplt__alloc_into(&made->fold, rows, sizeof *made->fold, "folds", error)) ||
        (status =
             fplt__alloc_into(&made->point, made->count, sizeof *made->point, "the grid", error)) ||
        (status = fplt__alloc_into(&run->is_in, rows, 1, "folds", error)) ||
        (status = fplt__alloc_into(&run->loss, made->count * made->folds, sizeof(double),
                                   "the grid", error)) ||
        (status = fplt__alloc_into(&run->quality, made->count * made->folds, sizeof(double),
                                   "the grid", error)))
        return status;
    if (settings->fold)
        return take_given(settings, made->fold, error);
    if (settings->folds)
        return deal(settings, made->fold, error);
    by_site(settings->dataset, made->fold);
    return FPLT_OK;
}

fplt_status fplt_validate_run(const fplt_validate_settings *settings, fplt_validation *made,
                              fplt_error *error)
{
    struct run run = {
        .settings = settings, .made = made, .task = fplt_dataset_task(settings->dataset)};
    *made = (fplt_validation){.point = NULL};
    fplt_status status = prepare(&run, error);
    if (!status)
        status = measure_all(&run, error);
    if (!status && !made->stopped)
        choose_value(&run);
    fplt__free(run.is_in);
    fplt__free(run.loss);
    fplt__free(run.quality);
    if (status)
        fplt_validation_clear(made);
    return status;
}

void fplt_validation_clear(fplt_validation *validation)
{
    fplt__free(validation->point);
    fplt__free(validation->fold);
    *validation = (fplt_validation){.point = NULL};
}
