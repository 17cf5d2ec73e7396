/* Medians and curves over the runs of a comparison. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "base/sorting.h"
#include "lab/compare/compare.h"

/* Rounds, and the fields of a sample that are drawn against them. */
enum { CURVES = 5 };

static fplt_spread spread_of(const struct fplt__compare_entry *entry, double *room, size_t field)
{
    for (uint32_t r = 0; r < entry->view.runs; r++) {
        const fplt__judged *judged = &entry->judged[r];
        double value;
        memcpy(&value, (const char *)judged + field, sizeof value);
        room[r] = judged->converged ? value : HUGE_VAL;
    }
    fplt__sort(room, entry->view.runs);
    return (fplt_spread){fplt__quantile(room, entry->view.runs, 0.25),
                         fplt__quantile(room, entry->view.runs, 0.5),
                         fplt__quantile(room, entry->view.runs, 0.75)};
}

static double median_at(const struct fplt__compare_entry *entry, double *room, size_t k,
                        size_t field)
{
    for (uint32_t r = 0; r < entry->view.runs; r++) {
        const fplt__recording *recording = &entry->recordings[r];
        const fplt__sample *sample =
            &recording->samples[k < recording->count ? k : recording->count - 1];
        memcpy(&room[r], (const char *)sample + field, sizeof *room);
    }
    fplt__sort(room, entry->view.runs);
    return fplt__quantile(room, entry->view.runs, 0.5);
}

/* Up to where the median has reached the target: beyond it fewer and fewer runs go on. */
static fplt_status draw_curve(struct fplt__compare_entry *entry, double target, double *room,
                              fplt_error *error)
{
    static const size_t fields[] = {offsetof(fplt__sample, gradients),
                                    offsetof(fplt__sample, vectors),
                                    offsetof(fplt__sample, paper_time),
                                    offsetof(fplt__sample, criterion)};
    size_t longest = 0, count = 0;
    for (uint32_t r = 0; r < entry->view.runs; r++)
        longest = entry->recordings[r].count > longest ? entry->recordings[r].count : longest;
    while (count < longest && median_at(entry, room, count++, fields[3]) > target)
        ;
    fplt_status status =
        fplt__alloc_into(&entry->curve, CURVES * count, sizeof(double), "a curve", error);
    if (status)
        return status;
    for (size_t k = 0; k < count; k++) {
        entry->curve[k] = (double)(k * entry->method.run.evaluate_every);
        for (size_t f = 0; f < 4; f++)
            entry->curve[(f + 1) * count + k] = median_at(entry, room, k, fields[f]);
    }
    double *curve = entry->curve;
    entry->view.curve = (fplt_curve){
        count, curve, curve + count, curve + 2 * count, curve + 3 * count, curve + 4 * count};
    return FPLT_OK;
}

fplt_status fplt__compare_sum_up(fplt_comparison *comparison, fplt_error *error)
{
    uint32_t runs = comparison->wanted.runs;
    double *room;
    struct fplt__compare_entry *entry;
    fplt_status status = fplt__alloc_into(&room, runs, sizeof *room, "medians", error);
    fplt__sort(comparison->targets, runs);
    comparison->target = fplt__quantile(comparison->targets, runs, 0.5);
    for (size_t i = 0; !status && (entry = fplt__compare_admitted(comparison, i)); i++) {
        for (uint32_t r = 0; r < runs; r++) {
            entry->view.failures += !entry->judged[r].converged;
            entry->view.diverged += entry->diverged[r];
            entry->view.stalled += entry->judged[r].stalled;
        }
        entry->view.rounds = spread_of(entry, room, offsetof(fplt__judged, rounds));
        entry->view.gradients = spread_of(entry, room, offsetof(fplt__judged, gradients));
        entry->view.vectors = spread_of(entry, room, offsetof(fplt__judged, vectors));
        entry->view.time = spread_of(entry, room, offsetof(fplt__judged, time));
        entry->view.paper_time = spread_of(entry, room, offsetof(fplt__judged, paper_time));
        status = draw_curve(entry, comparison->target, room, error);
    }
    fplt__free(room);
    return status;
}
