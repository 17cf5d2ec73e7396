/* What the columns of CSV files hold: `fedplt data inspect`. */
#ifndef FPLT_DATA_SURVEY_H
#define FPLT_DATA_SURVEY_H

#include "fedplt/data.h"
#include "fedplt/read.h"

/* What the columns of CSV files hold, before anything is refused but what is no table: a line for every column over all
 * rows, then one for each site (the site column, or the file where there are several). */
typedef struct fplt__survey fplt__survey;
typedef struct fplt__survey_line {
    const char *column, *site; /* belong to the survey; site NULL: all rows */
    size_t rows, missing, numbers, words;
    double mean,
        deviation; /* of the numbers, divided by their number less 1; NaN where there are too few */
    double quantile[5]; /* least, quarters, largest, as R's default; NaN: no numbers */
    const char *levels; /* the most frequent words with their counts; belongs to the survey */
} fplt__survey_line;

/* Reads the files by decimal, missing_codes, separator, no_header and site of the settings, which must outlive the
 * call only. */
fplt_status fplt__survey_create(const char *const *paths, size_t count,
                                const fplt_read_settings *settings, fplt__survey **survey,
                                fplt_error *error);

/* Line number `index`; returns 0 past the last. */
int fplt__survey_get(const fplt__survey *survey, size_t index, fplt__survey_line *line);

/* A sentence about a likely mistake, with the remedy: number `index`, NULL past the last. */
const char *fplt__survey_problem(const fplt__survey *survey, size_t index);

/* Releases the survey and every text in its lines; NULL is legal. */
void fplt__survey_destroy(fplt__survey *survey);

#endif
