/* Tables, histories, pictures and the progress line as they are made, beside fedplt/report.h. */
#ifndef FPLT_REPORT_REPORT_H
#define FPLT_REPORT_REPORT_H

#include "fedplt/report.h"

/* Makes an empty table with `count` headings, 1 or more (copied). Released with
 * fplt_table_destroy. FPLT_BAD_VALUE for 0 headings, FPLT_NO_MEMORY; `table` is then NULL. A table
 * belongs to one thread at a time. */
fplt_status fplt__table_create(const char *const *columns, size_t count, fplt_table **table,
                               fplt_error *error);

/* The next cell. fplt__table_text: a text (copied), NULL is a missing value. fplt__table_number:
 * shown with so many significant digits and kept whole for CSV and JSON; what is not finite is a
 * missing value. fplt__table_whole: a whole number. */
void fplt__table_text(fplt_table *table, const char *text);
void fplt__table_number(fplt_table *table, double value, int digits);
void fplt__table_whole(fplt_table *table, long long value);

/* The table as a tabular environment of LaTeX, every text escaped; released with fplt_free. */
fplt_status fplt__table_latex(const fplt_table *table, char **text, fplt_error *error);

/* Complete rows so far. */
size_t fplt__table_rows(const fplt_table *table);

/* Makes an empty history; released with fplt__history_destroy. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__history_create(fplt_history **history, fplt_error *error);

/* Releases the history; NULL is legal. */
void fplt__history_destroy(fplt_history *history);

/* Keeps a measured round; others are passed over. */
fplt_status fplt__history_add(fplt_history *history, const fplt_progress *progress,
                              fplt_error *error);

/* round, active, criterion, objective, accuracy, gradients, vectors and bytes both ways, time. */
fplt_status fplt__history_csv(const fplt_history *history, char **text, fplt_error *error);

/* Adds the rows of such a file whose round is below `before`, as far as a resumed run has them;
 * `records` is the number of records behind the accuracy. FPLT_BAD_DATA, naming the line, for
 * another file. */
fplt_status fplt__history_read(fplt_history *history, const char *path, uint64_t before,
                               uint64_t records, fplt_error *error);

/* A picture of curves. */
typedef struct fplt__series {
    const char *name;
    const double *x, *y;
    size_t count;
    const double *low, *high; /* around y, `count` each; NULL: nothing is known */
    int band;                 /* they are a band; 0: a bar at each point */
} fplt__series;

typedef struct fplt__plot {
    const char *title, *x_label, *y_label;
    int log_x, log_y;         /* points that have no logarithm are left out */
    double target;            /* a horizontal line; 0: none */
    const char *target_label; /* or NULL */
    const fplt__series *series;
    size_t count;
    const char *diagonal; /* the name of a line y = x, or NULL: none */
    /* Names at x = 1, 2, ... instead of numbers, borrowed; NULL: numbers. Points of a curve are then not joined. */
    const char *const *categories;
    size_t category_count;
} fplt__plot;

/* fplt__plot_write draws into .svg, .png or .pdf, by the extension of the path; fplt__plot_check
 * looks at the extension alone. PNG and PDF are rendered from the SVG by the module `render`
 * (fedplt/module.h): FPLT_UNSUPPORTED where it is missing. FPLT_BAD_VALUE for another extension,
 * or where no point can be drawn. The file appears whole or not at all. */
fplt_status fplt__plot_check(const char *path, fplt_error *error);
fplt_status fplt__plot_write(const fplt__plot *plot, const char *path, fplt_error *error);

/* The criterion over the rounds of a run; `label` says what it is (NULL: the squared norm of the sum
 * of the gradients), tolerance 0: no line. */
fplt_status fplt__history_plot(const fplt_history *history, const char *title, const char *label,
                               double tolerance, const char *path, fplt_error *error);

/* The line that shows progress. Zeroed but for the first fields; times are in seconds on any clock
 * that does not go back. */
typedef struct fplt__meter {
    uint64_t rounds;  /* at most so many */
    double tolerance; /* on the criterion; 0: none */
    int relative;     /* tolerance times the criterion at the start */
    unsigned width;   /* columns of the terminal; 0: 80 */
    double begun, drawn, first_criterion;
    uint64_t first_round;
    int started;
} fplt__meter;

/* Writes the line for `now` and returns its length, or 0 when none is due: in the first 0.2 s, and
 * within 0.1 s of the last one. */
size_t fplt__meter_line(fplt__meter *meter, const fplt_progress *progress, double now, char *line,
                        size_t size);

#endif
