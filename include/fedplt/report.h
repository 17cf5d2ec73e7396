/* What people read: tables (aligned, CSV, JSON), the history of a run, pictures, and the line that
 * shows progress. Nothing here prints: it makes text and files. */
#ifndef FEDPLT_REPORT_H
#define FEDPLT_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/engine.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A table is filled cell by cell, row after row. A failure to allocate is remembered and reported
 * when the table is rendered. */
typedef struct fplt_table fplt_table;

/* Makes an empty table with `count` headings, 1 or more (copied). Released with
 * fplt_table_destroy. FPLT_BAD_VALUE for 0 headings, FPLT_NO_MEMORY; `table` is then NULL. A table
 * belongs to one thread at a time. */
FPLT_API fplt_status fplt_table_create(const char *const *columns, size_t count, fplt_table **table,
                                       fplt_error *error);
/* Releases the table; NULL is legal. */
FPLT_API void fplt_table_destroy(fplt_table *table);
/* The next cell. fplt_table_text: a text (copied), NULL is a missing value. fplt_table_number:
 * shown with so many significant digits and kept whole for CSV and JSON; what is not finite is a
 * missing value. fplt_table_whole: a whole number. */
FPLT_API void fplt_table_text(fplt_table *table, const char *text);
FPLT_API void fplt_table_number(fplt_table *table, double value, int digits);
FPLT_API void fplt_table_whole(fplt_table *table, long long value);
/* Complete rows so far. */
FPLT_API size_t fplt_table_rows(const fplt_table *table);

typedef enum fplt_table_form {
    FPLT_TABLE_ALIGNED, /* numbers to the right, text to the left, UTF-8 counted by columns */
    FPLT_TABLE_CSV,     /* RFC 4180 with LF; numbers with 17 digits; missing is empty */
    FPLT_TABLE_JSON,    /* an array of objects, keys the headings in snake_case; missing is null */
    FPLT_TABLE_HTML     /* a table element, every text escaped */
} fplt_table_form;

/* The text is released with fplt_free. Cells of an incomplete last row are missing values. */
FPLT_API fplt_status fplt_table_render(const fplt_table *table, fplt_table_form form, char **text,
                                       fplt_error *error);

/* The measurements of a run, one row each. */
typedef struct fplt_history fplt_history;

/* Makes an empty history; released with fplt_history_destroy. FPLT_NO_MEMORY is the only failure. */
FPLT_API fplt_status fplt_history_create(fplt_history **history, fplt_error *error);
/* Releases the history; NULL is legal. */
FPLT_API void fplt_history_destroy(fplt_history *history);
/* Keeps a measured round; others are passed over. */
FPLT_API fplt_status fplt_history_add(fplt_history *history, const fplt_progress *progress,
                                      fplt_error *error);
/* fplt_history_count is the number of measurements; fplt_history_get gives number `index`, from 0,
 * or NULL past the last. It belongs to the history until the next fplt_history_add. */
FPLT_API size_t fplt_history_count(const fplt_history *history);
FPLT_API const fplt_progress *fplt_history_get(const fplt_history *history, size_t index);
/* round, active, criterion, objective, accuracy, gradients, vectors and bytes both ways, time. */
FPLT_API fplt_status fplt_history_csv(const fplt_history *history, char **text, fplt_error *error);

/* Adds the rows of such a file whose round is below `before`, as far as a resumed run has them;
 * `records` is the number of records behind the accuracy. FPLT_BAD_DATA, naming the line, for
 * another file. */
FPLT_API fplt_status fplt_history_read(fplt_history *history, const char *path, uint64_t before,
                                       uint64_t records, fplt_error *error);

/* A picture of curves. */
typedef struct fplt_series {
    const char *name;
    const double *x, *y;
    size_t count;
    const double *low, *high; /* around y, `count` each; NULL: nothing is known */
    int band;                 /* they are a band; 0: a bar at each point */
} fplt_series;

typedef struct fplt_plot {
    const char *title, *x_label, *y_label;
    int log_x, log_y;         /* points that have no logarithm are left out */
    double target;            /* a horizontal line; 0: none */
    const char *target_label; /* or NULL */
    const fplt_series *series;
    size_t count;
    const char *diagonal; /* the name of a line y = x, or NULL: none */
} fplt_plot;

/* fplt_plot_write draws into .svg, .png or .pdf, by the extension of the path; fplt_plot_check
 * looks at the extension alone. PNG and PDF are rendered from the SVG by the module `render`
 * (fedplt/module.h): FPLT_UNSUPPORTED where it is missing. FPLT_BAD_VALUE for another extension,
 * or where no point can be drawn. The file appears whole or not at all. */
FPLT_API fplt_status fplt_plot_check(const char *path, fplt_error *error);
FPLT_API fplt_status fplt_plot_write(const fplt_plot *plot, const char *path, fplt_error *error);
/* The criterion over the rounds of a run; `label` says what it is (NULL: the squared norm of the sum
 * of the gradients), tolerance 0: no line. */
FPLT_API fplt_status fplt_history_plot(const fplt_history *history, const char *title,
                                       const char *label, double tolerance, const char *path,
                                       fplt_error *error);

/* The line that shows progress. Zeroed but for the first fields; times are in seconds on any clock
 * that does not go back. */
typedef struct fplt_meter {
    uint64_t rounds;  /* at most so many */
    double tolerance; /* on the criterion; 0: none */
    int relative;     /* tolerance times the criterion at the start */
    unsigned width;   /* columns of the terminal; 0: 80 */
    double begun, drawn, first_criterion;
    uint64_t first_round;
    int started;
} fplt_meter;

/* Writes the line for `now` and returns its length, or 0 when none is due: in the first 0.2 s, and
 * within 0.1 s of the last one. */
FPLT_API size_t fplt_meter_line(fplt_meter *meter, const fplt_progress *progress, double now,
                                char *line, size_t size);

#ifdef __cplusplus
}
#endif
#endif
