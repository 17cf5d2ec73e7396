/* Baseline hazards of a Cox model and the survival of new patients. Of a row with score s and columns x, the cumulative hazard
 * is H(t) e^s with H the sum of w / risk over the events, its variance
 *
 *     e^2s (sum of w / risk^2  +  q' C q),   q = x H(t) - sum of w mean / risk,
 *
 * C the covariance of the coefficients [Tsiatis 1981; Therneau and Grambsch 2000, section 10.2]. */
#include "fedplt/survival.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset_access.h"
#include "report/covariance.h"
#include "report/model.h"
#include "report/report.h"
#include "study/hazard_inside.h"
#include "study/times.h"

/* A time with events; hazard and variance are sums up to it, of a row with the highest score. */
struct step {
    double time, increment, hazard, variance;
    size_t at_risk, events;
};

/* The baseline of one site. */
struct baseline {
    const char *name;  /* borrowed, or NULL */
    struct step *step; /* owned, times increase */
    double
        *drift; /* owned: of every step, the sum of w mean / risk up to it; one for each column */
    double *origin; /* owned: columns are relative to these */
    size_t steps, step_capacity, drift_capacity, columns;
    double highest; /* score */
    double last;    /* time up to which the minimum is at risk; below 0: it never is */
};

struct fplt_hazard {
    const fplt_model *model;
    fplt_hazard_settings settings;
    char (*name)[300];     /* owned: of the sites */
    struct baseline *site; /* owned */
    size_t sites;
    double *boundary, *time; /* owned */
    size_t times;
    double *covariance; /* owned; NULL: there are no intervals */
    fplt__notes notes;
};

void fplt_hazard_destroy(fplt_hazard *hazard)
{
    if (!hazard)
        return;
    for (size_t i = 0; i < hazard->sites; i++) {
        fplt__free(hazard->site[i].step);
        fplt__free(hazard->site[i].drift);
        fplt__free(hazard->site[i].origin);
    }
    fplt__free(hazard->site);
    fplt__free(hazard->name);
    fplt__free(hazard->boundary);
    fplt__free(hazard->time);
    fplt__free(hazard->covariance);
    fplt__notes_clear(&hazard->notes);
    fplt__free(hazard);
}

const char *fplt_hazard_note(const fplt_hazard *hazard, size_t index)
{
    return fplt__notes_get(&hazard->notes, index);
}

/* ---- baseline of a site ---- */

/* What a walk fills: steps from the latest to the earliest, increments only. */
struct filling {
    struct baseline *baseline;
    size_t minimum;
    fplt_status status;
    fplt_error *error;
};

static void add_moment(void *context, const fplt__hazard_moment *moment)
{
    struct filling *filling = context;
    struct baseline *own = filling->baseline;
    size_t n = own->columns;
    double rate = moment->weight / moment->risk;
    if (filling->status || moment->at_risk < filling->minimum)
        return;
    if (!moment->number) {
        filling->status = fplt__grow(&own->step, &own->step_capacity, own->steps + 1,
                                     sizeof *own->step, "a hazard", filling->error);
        if (!filling->status)
            filling->status = fplt__grow(&own->drift, &own->drift_capacity, (own->steps + 1) * n,
                                         sizeof(double), "a hazard", filling->error);
        if (filling->status)
            return;
        own->step[own->steps] = (struct step){
            .time = moment->time, .at_risk = moment->at_risk, .events = moment->events};
        memset(own->drift + own->steps * n, 0, n * sizeof(double));
        own->steps++;
    }
    struct step *step = &own->step[own->steps - 1];
    step->increment += rate;
    step->variance += rate / moment->risk;
    for (size_t j = 0; j < n; j++)
        own->drift[(own->steps - 1) * n + j] += rate * moment->mean[j];
}

/* From increments, the latest first, to sums with increasing times. */
static void sum_steps(struct baseline *own)
{
    size_t n = own->columns;
    for (size_t i = 0; i < own->steps / 2; i++) {
        size_t k = own->steps - 1 - i;
        struct step held = own->step[i];
        own->step[i] = own->step[k];
        own->step[k] = held;
        for (size_t j = 0; j < n; j++) {
            double number = own->drift[i * n + j];
            own->drift[i * n + j] = own->drift[k * n + j];
            own->drift[k * n + j] = number;
        }
    }
    for (size_t i = 0; i < own->steps; i++) {
        own->step[i].hazard = own->step[i].increment + (i ? own->step[i - 1].hazard : 0);
        own->step[i].variance += i ? own->step[i - 1].variance : 0;
        for (size_t j = 0; i && j < n; j++)
            own->drift[i * n + j] += own->drift[(i - 1) * n + j];
    }
}

/* The latest time at which the minimum, at least one row, is at risk. */
static double last_time(const fplt__hazard_site *site, size_t minimum)
{
    for (size_t r = 0; r < site->count; r++)
        if (r + 1 >= minimum && (r + 1 == site->count || site->row[r + 1].time < site->row[r].time))
            return site->row[r].time;
    return -1;
}

static fplt_status fill_site(fplt_hazard *hazard, const fplt_rows *rows,
                             const fplt__time_grid *grid, struct baseline *own, fplt_error *error)
{
    fplt__hazard_site site;
    struct filling filling = {own, hazard->settings.minimum, FPLT_OK, error};
    fplt_status status = fplt__hazard_site_make(hazard->model, rows, grid, &site, error);
    if (status)
        return status;
    own->columns = rows->features;
    own->highest = site.highest;
    own->last = last_time(&site, hazard->settings.minimum);
    status = fplt__alloc_into(&own->origin, rows->features, sizeof(double), "a hazard", error);
    if (!status && rows->count)
        fplt__hazard_columns(rows, 0, NULL, own->origin);
    if (!status)
        status = fplt__hazard_walk(&site, 0, add_moment, &filling, error);
    if (!status && !(status = filling.status))
        sum_steps(own);
    if (!status && hazard->settings.minimum > 1 && site.count && own->last < site.row[0].time)
        status =
            fplt__notes_add(&hazard->notes, error,
                            own->last < 0
                                ? "site '%s': the hazard is withheld, fewer than %zu are at risk"
                                : "site '%s': the hazard ends where fewer than %zu are at risk",
                            own->name, hazard->settings.minimum);
    fplt__hazard_site_clear(&site);
    return status;
}

/* ---- all sites ---- */

/* Covariance of the coefficients; none where a penalty shrinks them. */
static fplt_status find_covariance(fplt_hazard *hazard, fplt_error *error)
{
    const fplt_inference *inference = hazard->model->info.inference;
    size_t n = hazard->model->info.dimension;
    unsigned char *kept = NULL;
    double *room = NULL;
    if (!inference || inference->penalised)
        return fplt__notes_add(&hazard->notes, error,
                               "the cost had a penalty, which shrinks the coefficients: there are "
                               "no intervals; --refit fits without it");
    fplt_status status =
        fplt__alloc_into(&hazard->covariance, n * n, sizeof(double), "the covariance", error);
    if (!status)
        status = fplt__alloc_into(&room, n * n, sizeof *room, "the covariance", error);
    if (!status)
        status = fplt__alloc_into(&kept, n, 1, "the covariance", error);
    if (!status) {
        memcpy(hazard->covariance, inference->information, n * n * sizeof(double));
        for (size_t j = 0; j < n; j++)
            kept[j] = hazard->covariance[j * n + j] > 0;
        status = fplt__invert_kept(hazard->covariance, n, kept, room, error);
    }
    fplt__free(kept);
    fplt__free(room);
    return status;
}

static fplt_status check_site(const fplt_hazard *hazard, fplt_error *error)
{
    const char *wanted = hazard->settings.site;
    for (size_t i = 0; i < hazard->sites; i++)
        if (!wanted || strcmp(hazard->site[i].name, wanted) == 0)
            return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE, "at-site: the data have no site '%.100s'",
                          wanted ? wanted : "");
}

static fplt_status fill_sites(fplt_hazard *hazard, const fplt_dataset *dataset, fplt_error *error)
{
    fplt__time_grid grid;
    double last = 0;
    fplt_status status = fplt__times_grid(hazard->settings.grid, &hazard->boundary, &grid, error);
    for (uint32_t i = 0; i < hazard->sites && !status; i++) {
        const char *name = fplt_dataset_agent_name(dataset, i);
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        if (name)
            snprintf(hazard->name[i], sizeof *hazard->name, "%.299s", name);
        else
            snprintf(hazard->name[i], sizeof *hazard->name, "%u", i + 1);
        hazard->site[i].name = hazard->name[i];
        status = fill_site(hazard, &rows, &grid, &hazard->site[i], error);
        last = fmax(last, hazard->site[i].last);
    }
    if (!status)
        status =
            fplt__times_choose(hazard->settings.times, last, &hazard->time, &hazard->times, error);
    return status ? status : check_site(hazard, error);
}

fplt_status fplt_hazard_create(const fplt_model *model, const fplt_dataset *dataset,
                               const fplt_hazard_settings *settings, fplt_hazard **out,
                               fplt_error *error)
{
    size_t sites = fplt_dataset_agents(dataset);
    fplt_hazard *hazard;
    *out = NULL;
    fplt_status status = fplt__hazard_check(model, error);
    if (!status)
        status = fplt__alloc_into(&hazard, 1, sizeof *hazard, "a hazard", error);
    if (status)
        return status;
    hazard->model = model;
    hazard->settings = *settings;
    status = fplt__alloc_into(&hazard->name, sites, sizeof *hazard->name, "a hazard", error);
    if (!status)
        status = fplt__alloc_into(&hazard->site, sites, sizeof *hazard->site, "a hazard", error);
    hazard->sites = status ? 0 : sites;
    if (!status)
        status = fill_sites(hazard, dataset, error);
    if (!status)
        status = find_covariance(hazard, error);
    if (status)
        fplt_hazard_destroy(hazard);
    else
        *out = hazard;
    return status;
}

fplt_status fplt_hazard_tabulate(const fplt_hazard *hazard, fplt_table **table, fplt_error *error)
{
    static const char *const headings[] = {
        "site", "time", "at risk", "events", "hazard", "cumulative hazard", "survival"};
    double zero = fplt__model_score_at_zero(hazard->model);
    fplt_status status = fplt__table_create(headings, 7, table, error);
    for (size_t s = 0; s < hazard->sites && !status; s++)
        for (size_t i = 0; i < hazard->site[s].steps; i++) {
            const struct step *step = &hazard->site[s].step[i];
            double factor = exp(zero - hazard->site[s].highest);
            fplt__table_text(*table, hazard->site[s].name);
            fplt__table_number(*table, step->time, 6);
            fplt__table_whole(*table, (long long)step->at_risk);
            fplt__table_whole(*table, (long long)step->events);
            fplt__table_number(*table, factor * step->increment, 5);
            fplt__table_number(*table, factor * step->hazard, 5);
            fplt__table_number(*table, exp(-factor * step->hazard), 5);
        }
    return status;
}

/* ---- new patients ---- */

/* Variance of the cumulative hazard of a row with the highest score; x is relative to the origin. */
static double variance_of(const fplt_hazard *hazard, const struct baseline *own, size_t i,
                          const double *x)
{
    size_t n = own->columns, dimension = hazard->model->info.dimension;
    const double *C = hazard->covariance, *drift = own->drift + i * n;
    double sum = own->step[i].variance, H = own->step[i].hazard;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            sum += (x[a] * H - drift[a]) * C[a * dimension + b] * (x[b] * H - drift[b]);
    return sum;
}

/* The curve of a row with the baseline of a site. */
static void fill_curve(const fplt_hazard *hazard, const struct baseline *own, const double *x,
                       double score, fplt__life_point *point)
{
    double factor = exp(score - own->highest);
    for (size_t i = 0; i < own->steps; i++) {
        double error = hazard->covariance ? factor * sqrt(variance_of(hazard, own, i, x)) : NAN;
        point[i] = (fplt__life_point){.time = own->step[i].time,
                                      .survival = exp(-factor * own->step[i].hazard)};
        point[i].error = point[i].survival * error;
        fplt__life_bounds(hazard->settings.interval, point[i].survival, error,
                          hazard->settings.level, &point[i].low, &point[i].high);
    }
}

/* A row of the tables of predictions. */
struct patient {
    const fplt_dataset *rows;
    size_t row;
    const struct baseline *site;
    const fplt__life_point *point;
};

static void add_patient(const struct patient *patient, fplt_table *table)
{
    size_t number = fplt__dataset_row_number(patient->rows, patient->row);
    fplt__table_whole(table, (long long)(number ? number : patient->row + 1));
    fplt__table_text(table, fplt__dataset_row_id(patient->rows, patient->row));
    fplt__table_text(table, patient->site->name);
}

static void write_patient(const fplt_hazard *hazard, const struct patient *patient,
                          fplt_table *patients, fplt_table *times)
{
    const struct baseline *own = patient->site;
    fplt__life_median made = fplt__life_median_of(patient->point, own->steps);
    add_patient(patient, patients);
    fplt__table_number(patients, made.median, 6);
    fplt__table_number(patients, made.low, 6);
    fplt__table_number(patients, made.high, 6);
    for (size_t t = 0; t < hazard->times; t++) {
        double time = hazard->time[t];
        size_t count = 0;
        while (count < own->steps && own->step[count].time <= time)
            count++;
        const fplt__life_point *at = count ? &patient->point[count - 1] : NULL;
        int known = time <= own->last;
        add_patient(patient, times);
        fplt__table_number(times, time, 6);
        fplt__table_number(times, !known ? NAN : at ? at->survival : 1, 5);
        fplt__table_number(times, !known || !at ? NAN : at->error, 4);
        fplt__table_number(times, !known || !at ? NAN : at->low, 5);
        fplt__table_number(times, !known || !at ? NAN : at->high, 5);
    }
}

static fplt_status predict_row(const fplt_hazard *hazard, const fplt_dataset *dataset, size_t r,
                               double score, fplt_table *patients, fplt_table *times,
                               fplt_error *error)
{
    fplt_rows rows = fplt_dataset_all(dataset);
    fplt_status status = FPLT_OK;
    for (size_t s = 0; s < hazard->sites && !status; s++) {
        const struct baseline *own = &hazard->site[s];
        fplt__life_point *point = NULL;
        double *x = NULL;
        if ((hazard->settings.site && strcmp(own->name, hazard->settings.site) != 0) ||
            own->last < 0)
            continue;
        status = fplt__alloc_into(&x, own->columns, sizeof *x, "a row", error);
        if (!status)
            status = fplt__alloc_into(&point, own->steps, sizeof *point, "a curve", error);
        if (!status) {
            fplt__hazard_columns(&rows, r, own->origin, x);
            fill_curve(hazard, own, x, score, point);
            write_patient(hazard, &(struct patient){dataset, r, own, point}, patients, times);
        }
        fplt__free(point);
        fplt__free(x);
    }
    return status;
}

fplt_status fplt_hazard_predict(const fplt_hazard *hazard, const fplt_dataset *dataset,
                                fplt_table **patients, fplt_table **times, fplt_error *error)
{
    static const char *const of_patient[] = {"row",    "id",         "site",
                                             "median", "median low", "median high"};
    static const char *const of_time[] = {"row",      "id",        "site", "time",
                                          "survival", "std_error", "low",  "high"};
    fplt_rows rows = fplt_dataset_all(dataset);
    double *scores = NULL;
    *times = NULL;
    fplt_status status = fplt__table_create(of_patient, 6, patients, error);
    if (!status)
        status = fplt__table_create(of_time, 8, times, error);
    if (!status)
        status = fplt__alloc_into(&scores, rows.count, sizeof *scores, "scores", error);
    if (!status)
        status = fplt_model_predict(hazard->model, &rows, scores, NULL, NULL, error);
    for (size_t r = 0; r < rows.count && !status; r++)
        status = predict_row(hazard, dataset, r, scores[r], *patients, *times, error);
    fplt__free(scores);
    return status;
}
