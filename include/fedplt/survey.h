/* What the columns of data files hold, before anything is refused: `fedplt data inspect`.
 *
 * Threads and blocking: files are read by the calling thread. Thread-safe for different surveys; a survey may be read by several
 * threads. */
#ifndef FEDPLT_SURVEY_H
#define FEDPLT_SURVEY_H

#include <stddef.h>

#include "fedplt/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A line for every column over all rows, then one for each site (the site column, or the file where there are several).
 * Only what is no table is refused: missing values, words among numbers and identifiers are counted. */
typedef struct fplt_survey fplt_survey;

typedef struct fplt_survey_line {
    const char *column, *site; /* belong to the survey; site NULL: all rows */
    size_t rows, missing, numbers, words;
    double mean,
        deviation; /* of the numbers, divided by their number less 1; NaN where there are too few */
    double quantile[5]; /* least, quarters, largest, as R's default; NaN: no numbers */
    const char *levels; /* the most frequent words with their counts; belongs to the survey */
} fplt_survey_line;

/* Reads `count` files, at least one. Of the settings decimal, missing_codes, separator, no_header and site count; paths and
 * settings are borrowed for the call. *survey is the caller's, released by fplt_survey_destroy(). FPLT_BAD_DATA with file and line
 * for what is no table, FPLT_IO for a file that cannot be read. Blocks while it reads. */
FPLT_API fplt_status fplt_survey_create(const char *const *paths, size_t count,
                                        const fplt_read_settings *settings, fplt_survey **survey,
                                        fplt_error *error);

/* Line number `index`, whose texts the survey owns; returns 0 past the last. */
FPLT_API int fplt_survey_get(const fplt_survey *survey, size_t index, fplt_survey_line *line);

/* A sentence about a likely mistake, with the remedy: number `index`, NULL past the last. The survey owns it. */
FPLT_API const char *fplt_survey_problem(const fplt_survey *survey, size_t index);

/* Releases the survey and every text in its lines; NULL is legal. */
FPLT_API void fplt_survey_destroy(fplt_survey *survey);

#ifdef __cplusplus
}
#endif
#endif
