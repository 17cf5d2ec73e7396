/* Sums over the events of sites behind the test of proportional hazards. */
#include "study/hazard_sums.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---- transformed times ---- */

static void fill_clock(fplt_hazard_transform transform, fplt__hazard_clock *clock)
{
    double survival = 1, before = 0, at_risk = (double)fplt__life_table_rows(&clock->table);
    for (size_t i = 0; i < clock->table.steps; i++) {
        const fplt__life_step *step = &clock->table.step[i];
        double here = (double)(step->events + step->left);
        clock->value[i] = transform == FPLT_HAZARD_KM         ? 1 - survival
                          : transform == FPLT_HAZARD_LOG      ? log(step->time)
                          : transform == FPLT_HAZARD_IDENTITY ? step->time
                                                              : before + (here + 1) / 2;
        survival *= 1 - (double)step->events / at_risk;
        at_risk -= here;
        before += here;
    }
}

fplt_status fplt__hazard_clock_make(const fplt_rows *rows, fplt_hazard_transform transform,
                                    fplt__hazard_clock *clock, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t r = 0; r < rows->count && !status; r++)
        if (!rows->weight || rows->weight[r] > 0)
            status = fplt__life_table_see(&clock->table, fabs(rows->label[r]),
                                          !signbit(rows->label[r]), error);
    fplt__life_table_settle(&clock->table);
    if (!status)
        status =
            fplt__alloc_into(&clock->value, clock->table.steps, sizeof(double), "times", error);
    if (!status)
        fill_clock(transform, clock);
    return status;
}

void fplt__hazard_clock_clear(fplt__hazard_clock *clock)
{
    fplt__life_table_clear(&clock->table);
    fplt__free(clock->value);
    clock->value = NULL;
}

static double read_clock(const fplt__hazard_clock *clock, double time)
{
    size_t low = 0, high = clock->table.steps;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (clock->table.step[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    return clock->value[low];
}

/* ---- sums ---- */

fplt_status fplt__hazard_sums_make(size_t n, fplt__hazard_sums *sums, fplt_error *error)
{
    *sums = (fplt__hazard_sums){.n = n};
    fplt_status status =
        fplt__alloc_into(&sums->memory, 2 * n + 3 * n * n, sizeof(double), "a test", error);
    for (int k = 0; k < 2 && !status; k++)
        sums->score[k] = sums->memory + (size_t)k * n;
    for (int k = 0; k < 3 && !status; k++)
        sums->information[k] = sums->memory + 2 * n + (size_t)k * n * n;
    return status;
}

void fplt__hazard_sums_clear(fplt__hazard_sums *sums)
{
    fplt__free(sums->memory);
    *sums = (fplt__hazard_sums){.n = 0};
}

struct seeing {
    const fplt__hazard_clock *clock;
    fplt__hazard_sums *sums;
};

static void note_share(fplt__hazard_sums *sums, int which, double value)
{
    sums->total[which] += value;
    sums->largest[which] = fmax(sums->largest[which], value);
}

static void add_moment(void *context, const fplt__hazard_moment *moment)
{
    const struct seeing *seeing = context;
    fplt__hazard_sums *sums = seeing->sums;
    size_t n = sums->n;
    double g = read_clock(seeing->clock, moment->time), norm = 0, trace = 0;
    for (size_t i = 0; i < n; i++) {
        double part = moment->events_sum[i] / (double)moment->events -
                      moment->weight * moment->mean[i],
               slope =
                   (moment->number ? 0 : moment->events_sum[i]) - moment->weight * moment->mean[i];
        sums->score[0][i] += slope;
        sums->score[1][i] += g * slope;
        norm += part * part;
        for (size_t j = 0; j < n; j++) {
            double variance =
                moment->weight * (moment->product[i * n + j] - moment->mean[i] * moment->mean[j]);
            sums->information[0][i * n + j] += variance;
            sums->information[1][i * n + j] += g * variance;
            sums->information[2][i * n + j] += g * g * variance;
            trace += i == j ? variance : 0;
        }
    }
    sums->events += moment->number ? 0 : (double)moment->events;
    sums->times += moment->number ? 0 : g * (double)moment->events;
    note_share(sums, 0, fabs(g) * sqrt(norm));
    note_share(sums, 1, g * g * trace);
}

fplt_status fplt__hazard_sums_see(const fplt_model *model, const fplt_rows *rows,
                                  const fplt__hazard_clock *clock, fplt__hazard_sums *sums,
                                  fplt_error *error)
{
    const fplt__time_grid exact = {NULL, 0, 0};
    struct seeing seeing = {clock, sums};
    fplt__hazard_site site;
    fplt_status status = fplt__hazard_site_make(model, rows, &exact, &site, error);
    if (status)
        return status;
    sums->rows += (double)site.count;
    for (size_t r = 0; r < site.count; r++)
        sums->beyond += !(fabs(site.row[r].score) <= sums->steep);
    status = fplt__hazard_walk(&site, 1, add_moment, &seeing, error);
    fplt__hazard_site_clear(&site);
    return status;
}

void fplt__hazard_sums_add(fplt__hazard_sums *sums, const fplt__hazard_sums *other)
{
    size_t n = sums->n;
    sums->rows += other->rows;
    sums->beyond += other->beyond;
    sums->events += other->events;
    sums->times += other->times;
    for (size_t i = 0; i < 2 * n + 3 * n * n; i++)
        sums->memory[i] += other->memory[i];
}

void fplt__hazard_sums_centre(fplt__hazard_sums *sums)
{
    size_t n = sums->n;
    double centre = sums->times / sums->events;
    for (size_t i = 0; i < n; i++)
        sums->score[1][i] -= centre * sums->score[0][i];
    for (size_t i = 0; i < n * n; i++) {
        double V = sums->information[0][i], gV = sums->information[1][i];
        sums->information[1][i] = gV - centre * V;
        sums->information[2][i] += centre * (centre * V - 2 * gV);
    }
    sums->times = 0;
}
