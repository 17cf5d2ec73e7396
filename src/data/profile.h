/* What the values of a column look like, and what a person should be told about them before they become features. */
#ifndef FPLT_DATA_PROFILE_H
#define FPLT_DATA_PROFILE_H

#include "data/dialect.h"

typedef struct fplt__origin {
    const char *name; /* borrowed: of the file where a word appeared first */
    size_t line;
} fplt__origin;

/* One column over all files: values that are not missing are numbers or words; some words are more than that. */
typedef struct fplt__profiled {
    size_t values, numbers;
    size_t commas;    /* words that are numbers with a decimal comma */
    size_t points;    /* words that are numbers with a decimal point, where the comma is the sign */
    size_t dates;     /* words that are dates */
    size_t ambiguous; /* dates whose day and month cannot be told apart */
    size_t codes;     /* words that often stand for a missing value */
    fplt__lookup words;   /* distinct */
    fplt__lookup figures; /* distinct numbers as they are written, no more than are needed */
    fplt__origin first, first_code; /* word */
} fplt__profiled;

typedef struct fplt__profile {
    fplt__lookup names;
    fplt__profiled *column; /* owned: one a name */
    size_t capacity;
} fplt__profile;

void fplt__profile_clear(fplt__profile *profile);
/* One more value of a column. */
fplt_status fplt__profile_see(fplt__profile *profile, fplt__span name, const fplt__field *field,
                              fplt__origin origin, fplt_error *error);

/* The columns with words, as categories. Refuses those that are hardly meant as categories, with the remedy:
 * numbers with another decimal sign, numbers beside codes, dates, identifiers. */
fplt_status fplt__profile_categories(const fplt__profile *profile,
                                     const fplt_read_settings *settings, fplt__lookup *categories,
                                     fplt_error *error);

/* The same sentence about one column; FPLT_OK where there is nothing to say. */
fplt_status fplt__profile_check(const fplt__profile *profile, fplt__span name,
                                const fplt_read_settings *settings, fplt_error *error);

/* A value of a column of numbers that is none: what it looks like, and which setting helps. */
fplt_status fplt__bad_cell(fplt_error *error, const char *file, size_t line, fplt__span name,
                           const fplt__field *field);

#endif
