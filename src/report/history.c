/* The measurements of a run, kept to be written and drawn. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "fedplt/report.h"
#include "base/text.h"
#include "report/report.h"

struct fplt_history {
    fplt_progress *rows; /* owned */
    size_t count, capacity;
};

fplt_status fplt__history_create(fplt_history **history, fplt_error *error)
{
    return fplt__alloc_into(history, 1, sizeof **history, "the history of a run", error);
}

void fplt__history_destroy(fplt_history *history)
{
    if (!history)
        return;
    fplt__free(history->rows);
    fplt__free(history);
}

fplt_status fplt__history_add(fplt_history *history, const fplt_progress *progress,
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

static const char *const columns[] = {"round",    "active",     "criterion",  "objective",
                                      "accuracy", "gradients",  "vectors_up", "vectors_down",
                                      "bytes_up", "bytes_down", "time",       "paper_time"};

enum { COLUMNS = sizeof columns / sizeof *columns, LARGEST_FILE = 1 << 30 };

fplt_status fplt__history_csv(const fplt_history *history, char **text, fplt_error *error)
{
    fplt_table *table;
    *text = NULL;
    fplt_status status = fplt__table_create(columns, COLUMNS, &table, error);
    if (status)
        return status;
    for (size_t i = 0; i < history->count; i++) {
        const fplt_progress *row = &history->rows[i];
        const fplt_measure *measure = &row->measure;
        const fplt_counters *counters = &row->counters;
        int known = measure->classifies && measure->records;
        fplt__table_whole(table, (long long)row->round);
        fplt__table_whole(table, row->active);
        fplt__table_number(table, measure->criterion, 6);
        fplt__table_number(table, measure->objective, 6);
        fplt__table_number(table, known ? (double)measure->hits / (double)measure->records : NAN,
                           6);
        fplt__table_number(table, counters->gradients, 6);
        fplt__table_whole(table, (long long)counters->vectors_up);
        fplt__table_whole(table, (long long)counters->vectors_down);
        fplt__table_whole(table, (long long)counters->bytes_up);
        fplt__table_whole(table, (long long)counters->bytes_down);
        fplt__table_number(table, counters->time, 6);
        fplt__table_number(table, counters->paper_time, 6);
    }
    status = fplt_table_render(table, FPLT_TABLE_CSV, text, error);
    fplt_table_destroy(table);
    return status;
}

/* One line of numbers; an empty field is a missing value. */
static int parse_line(const char *line, double *numbers)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t length = strcspn(line, ",");
        char field[64];
        if (length >= sizeof field)
            return 0;
        memcpy(field, line, length);
        field[length] = 0;
        numbers[i] = NAN;
        if (length && fplt__parse_real(field, &numbers[i]))
            return 0;
        if ((line[length] == ',') != (i + 1 < COLUMNS))
            return 0;
        line += length + 1;
    }
    return isfinite(numbers[0]) && numbers[0] >= 0 && isfinite(numbers[2]);
}

static fplt_progress row_of(const double *numbers, uint64_t records)
{
    int known = !isnan(numbers[4]);
    fplt_progress row = {.round = (uint64_t)numbers[0],
                         .active = (uint32_t)numbers[1],
                         .measured = 1,
                         .measure = {.criterion = numbers[2],
                                     .objective = numbers[3],
                                     .hits = known ? (uint64_t)llround(numbers[4] * (double)records)
                                                   : 0,
                                     .records = records,
                                     .classifies = known},
                         .counters = {.rounds = (uint64_t)numbers[0],
                                      .gradients = numbers[5],
                                      .vectors_up = (uint64_t)numbers[6],
                                      .vectors_down = (uint64_t)numbers[7],
                                      .bytes_up = (uint64_t)numbers[8],
                                      .bytes_down = (uint64_t)numbers[9],
                                      .time = numbers[10],
                                      .paper_time = numbers[11]}};
    return row;
}

static int is_header(const char *line)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t length = strlen(columns[i]);
        if (strncmp(line, columns[i], length) != 0)
            return 0;
        line += length;
        if (*line != (i + 1 < COLUMNS ? ',' : 0))
            return 0;
        line++;
    }
    return 1;
}

fplt_status fplt__history_read(fplt_history *history, const char *path, uint64_t before,
                               uint64_t records, fplt_error *error)
{
    char *text;
    size_t length, number = 0;
    fplt_status status = fplt__file_read(path, LARGEST_FILE, &text, &length, error);
    if (status)
        return status;
    for (char *line = text, *end; !status && line < text + length; line = end + 1) {
        double numbers[COLUMNS];
        end = line + strcspn(line, "\n");
        *end = 0;
        if (number++ == 0 ? !is_header(line) : !parse_line(line, numbers)) {
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "%s:%zu: this is not the history of a run", path, number);
        } else if (number > 1 && numbers[0] < (double)before) {
            fplt_progress row = row_of(numbers, records);
            status = fplt__history_add(history, &row, error);
        }
    }
    fplt__free(text);
    return status;
}

fplt_status fplt__history_plot(const fplt_history *history, const char *title, const char *label,
                               double tolerance, const char *path, fplt_error *error)
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
    fplt__series curve = {"criterion", x, y, count};
    fplt__plot plot = {.title = title,
                       .x_label = "communication round",
                       .y_label = label ? label : "‖Σ ∇fᵢ(x̄)‖²",
                       .log_y = 1,
                       .target = tolerance,
                       .target_label = "tolerance",
                       .series = &curve,
                       .count = 1};
    status = fplt__plot_write(&plot, path, error);
    fplt__free(x);
    return status;
}
