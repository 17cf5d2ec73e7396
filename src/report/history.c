/* The measurements of a run, kept to be written and drawn. */
#include <math.h>

#include "base/memory.h"
#include "fedplt/report.h"

struct fplt_history {
    fplt_progress *rows; /* owned */
    size_t count, capacity;
};

fplt_status fplt_history_create(fplt_history **history, fplt_error *error)
{
    return fplt__alloc_into(history, 1, sizeof **history, "the history of a run", error);
}

void fplt_history_destroy(fplt_history *history)
{
    if (!history)
        return;
    fplt__free(history->rows);
    fplt__free(history);
}

fplt_status fplt_history_add(fplt_history *history, const fplt_progress *progress,
                             fplt_error *error)
{
    if (!progress->measured)
        return FPLT_OK;
    fplt_status status = fplt__grow(&history->rows, &history->capacity, history->count + 1,
                                    sizeof *history->rows, "the history of a run", error);
    if (!status)
        history->rows[history->count++] = *progress;
    return status;
}

size_t fplt_history_count(const fplt_history *history)
{
    return history->count;
}

const fplt_progress *fplt_history_get(const fplt_history *history, size_t index)
{
    return index < history->count ? &history->rows[index] : NULL;
}

fplt_status fplt_history_csv(const fplt_history *history, char **text, fplt_error *error)
{
    static const char *const columns[] = {"round",    "active",     "criterion",  "objective",
                                          "accuracy", "gradients",  "vectors_up", "vectors_down",
                                          "bytes_up", "bytes_down", "time",       "paper_time"};
    fplt_table *table;
    *text = NULL;
    fplt_status status =
        fplt_table_create(columns, sizeof columns / sizeof *columns, &table, error);
    if (status)
        return status;
    for (size_t i = 0; i < history->count; i++) {
        const fplt_progress *row = &history->rows[i];
        const fplt_measure *measure = &row->measure;
        const fplt_counters *counters = &row->counters;
        int known = measure->classifies && measure->records;
        fplt_table_whole(table, (long long)row->round);
        fplt_table_whole(table, row->active);
        fplt_table_number(table, measure->criterion, 6);
        fplt_table_number(table, measure->objective, 6);
        fplt_table_number(table, known ? (double)measure->hits / (double)measure->records : NAN, 6);
        fplt_table_number(table, counters->gradients, 6);
        fplt_table_whole(table, (long long)counters->vectors_up);
        fplt_table_whole(table, (long long)counters->vectors_down);
        fplt_table_whole(table, (long long)counters->bytes_up);
        fplt_table_whole(table, (long long)counters->bytes_down);
        fplt_table_number(table, counters->time, 6);
        fplt_table_number(table, counters->paper_time, 6);
    }
    status = fplt_table_render(table, FPLT_TABLE_CSV, text, error);
    fplt_table_destroy(table);
    return status;
}

fplt_status fplt_history_plot(const fplt_history *history, const char *title, double tolerance,
                              const char *path, fplt_error *error)
{
    double *x;
    size_t count = history->count;
    fplt_status status = fplt__alloc_into(&x, 2 * count, sizeof *x, "a picture", error);
    if (status)
        return status;
    double *y = x + count;
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)history->rows[i].round;
        y[i] = history->rows[i].measure.criterion;
    }
    fplt_series curve = {"criterion", x, y, count};
    fplt_plot plot = {.title = title,
                      .x_label = "communication round",
                      .y_label = "||sum grad f_i(x)||^2",
                      .log_y = 1,
                      .target = tolerance,
                      .target_label = "tolerance",
                      .series = &curve,
                      .count = 1};
    status = fplt_plot_write(&plot, path, error);
    fplt__free(x);
    return status;
}
