/* The rows of a site in the order in which they leave those at risk. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/model.h"
#include "report/model_access.h"
#include "study/hazard_inside.h"

fplt_status fplt__hazard_check(const fplt_model *model, fplt_error *error)
{
    if (!model->kind->hazards)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the model is of the loss %s, but a hazard needs one of the loss cox",
                              model->info.loss);
    if (fplt__model_is_private(model))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the model was trained with privacy: times of its records without "
                              "noise would break the promise");
    return FPLT_OK;
}

void fplt__hazard_columns(const fplt_rows *rows, size_t row, const double *origin, double *x)
{
    size_t n = rows->features;
    if (rows->dense) {
        memcpy(x, rows->dense + row * n, n * sizeof *x);
    } else {
        memset(x, 0, n * sizeof *x);
        for (size_t k = rows->start[row]; k < rows->start[row + 1]; k++)
            x[rows->column[k]] = rows->value[k];
    }
    for (size_t j = 0; origin && j < n; j++)
        x[j] -= origin[j];
}

static int latest_first(const void *a, const void *b)
{
    const fplt__hazard_row *x = a, *y = b;
    return x->time != y->time ? (x->time < y->time) - (x->time > y->time)
                              : (x->row > y->row) - (x->row < y->row);
}

fplt_status fplt__hazard_site_make(const fplt_model *model, const fplt_rows *rows,
                                   const fplt__time_grid *grid, fplt__hazard_site *site,
                                   fplt_error *error)
{
    double *scores = NULL;
    *site = (fplt__hazard_site){.model = model, .rows = *rows, .highest = -INFINITY};
    fplt_status status =
        fplt__alloc_into(&site->row, rows->count, sizeof *site->row, "survival times", error);
    if (!status)
        status = fplt__alloc_into(&scores, rows->count, sizeof *scores, "scores", error);
    if (!status)
        status = fplt_model_predict(model, rows, scores, NULL, NULL, error);
    for (size_t r = 0; !status && r < rows->count; r++) {
        double weight = rows->weight ? rows->weight[r] : 1;
        int event = !signbit(rows->label[r]);
        if (!(weight > 0))
            continue;
        double time = fplt__time_grid_place(grid, fabs(rows->label[r]), &event);
        site->row[site->count++] = (fplt__hazard_row){time, weight, scores[r], event, r};
        site->highest = fmax(site->highest, scores[r]);
    }
    fplt__free(scores);
    if (status) {
        fplt__hazard_site_clear(site);
        return status;
    }
    if (site->count)
        qsort(site->row, site->count, sizeof *site->row, latest_first);
    return FPLT_OK;
}

void fplt__hazard_site_clear(fplt__hazard_site *site)
{
    fplt__free(site->row);
    site->row = NULL;
}

/* Sums over records: of weights e^score, of the columns, of their products. */
struct sums {
    size_t n;
    double risk, *column, *product; /* product: NULL unless asked for */
};

static void add_record(struct sums *sums, double factor, const double *x)
{
    size_t n = sums->n;
    sums->risk += factor;
    for (size_t i = 0; i < n; i++) {
        sums->column[i] += factor * x[i];
        for (size_t j = 0; sums->product && j < n; j++)
            sums->product[i * n + j] += factor * x[i] * x[j];
    }
}

/* Means over those at risk less a part of the events. */
static void form_means(const struct sums *all, const struct sums *events, double gone,
                       fplt__hazard_moment *moment, double *mean, double *product)
{
    size_t n = all->n;
    moment->risk = all->risk - gone * events->risk;
    for (size_t i = 0; i < n; i++)
        mean[i] = (all->column[i] - gone * events->column[i]) / moment->risk;
    for (size_t i = 0; all->product && i < n * n; i++)
        product[i] = (all->product[i] - gone * events->product[i]) / moment->risk;
    moment->mean = mean;
    moment->product = all->product ? product : NULL;
}

static void visit_time(const fplt__hazard_site *site, const struct sums *all,
                       const struct sums *events, fplt__hazard_moment *moment, double *mean,
                       double *product, fplt__hazard_visit *visit, void *context)
{
    const char *ties = site->model->info.ties;
    int efron = ties && strcmp(ties, "efron") == 0;
    moment->weight /= (double)moment->events;
    for (size_t l = 0; l < moment->events; l++) {
        moment->number = l;
        form_means(all, events, efron ? (double)l / (double)moment->events : 0, moment, mean,
                   product);
        visit(context, moment);
    }
}

/* Adds the records of one time to those at risk; the first record behind them. */
static size_t take_time(const fplt__hazard_site *site, size_t first, double *x,
                        const double *origin, struct sums *all, struct sums *events,
                        double *events_sum, fplt__hazard_moment *moment)
{
    size_t r = first, n = all->n;
    memset(events->column, 0, n * sizeof(double));
    memset(events_sum, 0, n * sizeof(double));
    if (events->product)
        memset(events->product, 0, n * n * sizeof(double));
    events->risk = 0;
    *moment = (fplt__hazard_moment){.time = site->row[first].time, .events_sum = events_sum};
    for (; r < site->count && site->row[r].time == moment->time; r++) {
        const fplt__hazard_row *row = &site->row[r];
        double factor = row->weight * exp(row->score - site->highest);
        fplt__hazard_columns(&site->rows, row->row, origin, x);
        add_record(all, factor, x);
        if (!row->event)
            continue;
        add_record(events, factor, x);
        moment->events++;
        moment->weight += row->weight;
        for (size_t j = 0; j < n; j++)
            events_sum[j] += row->weight * x[j];
    }
    moment->at_risk = r;
    return r;
}

fplt_status fplt__hazard_walk(const fplt__hazard_site *site, int products,
                              fplt__hazard_visit *visit, void *context, fplt_error *error)
{
    size_t n = site->rows.features, square = products ? n * n : 0;
    double *room;
    fplt_status status =
        fplt__alloc_into(&room, 6 * n + 3 * square, sizeof *room, "a hazard", error);
    if (status)
        return status;
    double *x = room, *origin = x + n, *mean = origin + n, *events_sum = mean + n,
           *matrix = events_sum + 3 * n;
    struct sums all = {n, 0, events_sum + n, products ? matrix : NULL},
                events = {n, 0, events_sum + 2 * n, products ? matrix + square : NULL};
    if (site->count)
        fplt__hazard_columns(&site->rows, 0, NULL, origin);
    for (size_t first = 0; first < site->count;) {
        fplt__hazard_moment moment;
        first = take_time(site, first, x, origin, &all, &events, events_sum, &moment);
        if (moment.events)
            visit_time(site, &all, &events, &moment, mean, matrix + 2 * square, visit, context);
    }
    fplt__free(room);
    return FPLT_OK;
}
