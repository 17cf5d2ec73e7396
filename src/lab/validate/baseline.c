/* A federation beside what it is instead of: each site alone, and all rows in one place. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sorting.h"
#include "data/dataset.h"
#include "fedplt/random.h"
#include "data/dataset_access.h"
#include "lab/validate/fit.h"

/* With more sites a site's own model is not measured at every other one. */
enum { MAX_CROSSED = 20 };

struct run {
    const fplt_baseline_settings *settings;
    fplt_baseline *made;
    fplt_task task;
    fplt_dataset *training, *test; /* owned */
    double *sample;                /* owned: resamples */
    size_t *order;                 /* owned: room for the rows of all sites, twice */
    fplt__audience audience;
};

static fplt_status site_rows(const struct run *run, uint32_t site, fplt_dataset **rows,
                             fplt_error *error)
{
    uint32_t sites = run->made->sites, every[1] = {site};
    if (site < sites)
        return fplt__dataset_pick(run->test, every, 1, rows, error);
    unsigned char *all;
    fplt_status status = fplt__alloc_into(&all, fplt_dataset_rows(run->test), 1, "the rows", error);
    if (status)
        return status;
    memset(all, 1, fplt_dataset_rows(run->test));
    status = fplt__rows_where(run->test, all, rows, error);
    fplt__free(all);
    return status;
}

static fplt_status measure(const struct run *run, const fplt_model *model, const fplt_dataset *rows,
                           double *value, fplt_error *error)
{
    fplt_quality quality;
    fplt_status status = fplt_model_evaluate(model, rows, NULL, &quality, error);
    *value = status ? NAN : fplt__quality_of(run->task, &quality);
    return status;
}

/* Rows of every agent drawn again with replacement, as many as there are. */
static fplt_status resample(const struct run *run, const fplt_dataset *rows, fplt_stream *stream,
                            fplt_dataset **drawn, fplt_error *error)
{
    uint32_t agents = fplt_dataset_agents(rows);
    size_t *share = run->order + fplt_dataset_rows(run->test), first = 0;
    for (uint32_t i = 0; i < agents; i++) {
        share[i] = fplt_dataset_shard(rows, i).count;
        for (size_t r = 0; r < share[i]; r++)
            run->order[first + r] = first + (size_t)fplt_stream_below(stream, share[i]);
        first += share[i];
    }
    return fplt__dataset_select(rows, run->order, share, agents, 1, drawn, error);
}

/* Percentiles over resamples of the held-out rows [Efron 1979]; those where the measure means nothing
 * (one class only) do not count. */
static fplt_status add_interval(const struct run *run, const fplt_model *model,
                                const fplt_dataset *rows, fplt_stream *stream,
                                fplt_baseline_cell *cell, fplt_error *error)
{
    size_t known = 0;
    double tail = (1 - run->settings->level) / 2;
    for (uint32_t b = 0; b < run->settings->resamples; b++) {
        fplt_dataset *drawn;
        fplt_status status = resample(run, rows, stream, &drawn, error);
        if (!status)
            status = measure(run, model, drawn, &run->sample[known], error);
        fplt_dataset_destroy(drawn);
        if (status)
            return status;
        known += !isnan(run->sample[known]);
    }
    fplt__sort(run->sample, known);
    cell->low = fplt__quantile(run->sample, known, tail);
    cell->high = fplt__quantile(run->sample, known, 1 - tail);
    return FPLT_OK;
}

/* Whether a method is measured at a site (the last: all rows), and whether with an interval. */
static int is_measured(const struct run *run, size_t method, uint32_t site, int *interval)
{
    uint32_t sites = run->made->sites;
    int crossed = sites <= MAX_CROSSED || method >= sites;
    *interval = crossed || site == method;
    return *interval || site == sites;
}

static fplt_status fill_cell(const struct run *run, const fplt_model *model, size_t method,
                             uint32_t site, int interval, fplt_error *error)
{
    fplt_baseline_cell *cell = &run->made->cell[method * (run->made->sites + 1) + site];
    /* the same resamples for every method, so that methods are compared on the same rows */
    fplt_stream stream = fplt_stream_make(run->settings->seed, 1, FPLT_FOR_PARTITION, site, 0, 2);
    fplt_dataset *rows;
    fplt_status status = site_rows(run, site, &rows, error);
    if (status)
        return status;
    cell->rows = fplt_dataset_rows(rows);
    if (!(status = fplt_transform_apply(fplt_model_get_view(model)->transform, rows, error)) &&
        !(status = measure(run, model, rows, &cell->quality, error)) && interval)
        status = add_interval(run, model, rows, &stream, cell, error);
    fplt_dataset_destroy(rows);
    return status;
}

/* A method on rows of its own: trained, and measured at every site. */
static fplt_status try_method(struct run *run, size_t method, const fplt_settings *settings,
                              fplt_dataset *training, fplt_error *error)
{
    fplt_model *model;
    fplt_status status = fplt__fit(settings, training, &run->audience, &model, error);
    for (uint32_t site = 0; !status && model && site <= run->made->sites; site++) {
        int interval;
        if (!is_measured(run, method, site, &interval))
            continue;
        status = fill_cell(run, model, method, site, interval, error);
        if (fplt__audience_notify(&run->audience))
            break;
    }
    fplt_model_destroy(model);
    if (status && error)
        fplt_error_prefix(error, "%s", run->made->name[method]);
    run->audience.done = method + 1;
    run->made->stopped = fplt__audience_notify(&run->audience);
    return status;
}

static fplt_status rows_of_method(const struct run *run, size_t method, fplt_dataset **rows,
                                  fplt_error *error)
{
    uint32_t sites = run->made->sites, site = (uint32_t)method;
    fplt_partition_settings one = fplt_partition_defaults();
    unsigned char *all;
    one.agents = 1;
    if (method < sites)
        return fplt__dataset_pick(run->training, &site, 1, rows, error);
    if (method == sites)
        return fplt_dataset_partition(run->training, &one, rows, error);
    fplt_status status =
        fplt__alloc_into(&all, fplt_dataset_rows(run->training), 1, "the rows", error);
    if (status)
        return status;
    memset(all, 1, fplt_dataset_rows(run->training));
    status = fplt__rows_where(run->training, all, rows, error);
    fplt__free(all);
    return status;
}

static void name_methods(const struct run *run)
{
    fplt_baseline *made = run->made;
    for (uint32_t i = 0; i < made->sites; i++) {
        const char *name = fplt_dataset_agent_name(run->training, i);
        if (name)
            snprintf(made->name[i], sizeof made->name[i], "%.80s alone", name);
        else
            snprintf(made->name[i], sizeof made->name[i], "site %u alone", i);
    }
    snprintf(made->name[made->sites], sizeof made->name[0], "pooled");
    for (size_t i = 0; i < run->settings->count; i++)
        snprintf(made->name[made->sites + 1 + i], sizeof made->name[0], "federation: %.70s",
                 run->settings->names[i]);
}

static fplt_status prepare(struct run *run, fplt_error *error)
{
    const fplt_baseline_settings *settings = run->settings;
    fplt_baseline *made = run->made;
    fplt_status status;
    for (size_t i = 0; i < settings->count; i++)
        if ((status = fplt__refuse_private(settings->methods[i], "a baseline", error)))
            return status;
    if ((status = fplt_dataset_split(settings->dataset, settings->holdout, settings->seed,
                                     &run->training, &run->test, error)))
        return status;
    made->sites = fplt_dataset_agents(run->training);
    if (fplt_dataset_agents(run->test) != made->sites)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "holding out %g leaves a site without held-out rows",
                              settings->holdout);
    made->methods = made->sites + 1 + settings->count;
    made->quality = fplt__quality_name(run->task);
    if ((status = fplt__alloc_into(&made->name, made->methods, sizeof *made->name, "the methods",
                                   error)) ||
        (status = fplt__alloc_into(&made->cell, made->methods * (made->sites + 1),
                                   sizeof *made->cell, "the methods", error)) ||
        (status = fplt__alloc_into(&run->sample, settings->resamples + 1, sizeof(double),
                                   "the intervals", error)) ||
        (status = fplt__alloc_into(&run->order, fplt_dataset_rows(run->test) + made->sites,
                                   sizeof *run->order, "the intervals", error)))
        return status;
    for (size_t i = 0; i < made->methods * (made->sites + 1); i++)
        made->cell[i] = (fplt_baseline_cell){NAN, NAN, NAN, 0};
    name_methods(run);
    run->audience = (fplt__audience){settings->watch, settings->context, 0, made->methods, 0};
    return FPLT_OK;
}

fplt_status fplt_baseline_run(const fplt_baseline_settings *settings, fplt_baseline *made,
                              fplt_error *error)
{
    struct run run = {
        .settings = settings, .made = made, .task = fplt_dataset_task(settings->dataset)};
    *made = (fplt_baseline){.name = NULL};
    fplt_status status = prepare(&run, error);
    for (size_t m = 0; !status && !made->stopped && m < made->methods; m++) {
        fplt_dataset *rows;
        size_t given = m > made->sites ? m - made->sites - 1 : 0;
        if (!(status = rows_of_method(&run, m, &rows, error)))
            status = try_method(&run, m, settings->methods[given], rows, error);
    }
    fplt_dataset_destroy(run.training);
    fplt_dataset_destroy(run.test);
    fplt__free(run.sample);
    fplt__free(run.order);
    if (status)
        fplt_baseline_clear(made);
    return status;
}

void fplt_baseline_clear(fplt_baseline *baseline)
{
    fplt__free(baseline->name);
    fplt__free(baseline->cell);
    *baseline = (fplt_baseline){.name = NULL};
}
