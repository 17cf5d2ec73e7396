/* How a file writes values: decimal sign, codes for missing values, dates. */
#ifndef FPLT_DATA_DIALECT_H
#define FPLT_DATA_DIALECT_H

#include "data/text.h"

/* A field of a CSV row, without its quotes. */
typedef struct fplt__field {
    fplt__span span;
    int quoted;
    int foreign; /* a number with a decimal point in a file of decimal commas: no number here */
} fplt__field;

/* Empty, or a standard word for a missing value without quotes. */
int fplt__field_missing(const fplt__field *field);

typedef enum fplt__dates { FPLT__DATES_REFUSED, FPLT__DATES_DAYS, FPLT__DATES_YEARS } fplt__dates;

/* Zeroed: decimal points, no codes, no dates. Constant once it is made, so that threads may share it. */
typedef struct fplt__dialect {
    int comma;
    fplt__dates dates;
    fplt__lookup codes;
    double *code_value; /* owned: of each code; NaN where it is a word */
} fplt__dialect;

/* Decimal, missing-codes and dates of the settings; released by fplt__dialect_clear, after a failure too. */
fplt_status fplt__dialect_init(fplt__dialect *dialect, const fplt_read_settings *settings,
                               fplt_error *error);
void fplt__dialect_clear(fplt__dialect *dialect);
/* The name of a setting that says something about it; NULL: none does. */
const char *fplt__dialect_asked(const fplt_read_settings *settings);
/* Whether fields mean what they say, so that there is nothing to rewrite. */
int fplt__dialect_is_plain(const fplt__dialect *dialect);

enum { FPLT__REWRITTEN = 40 }; /* bytes that a number or date takes at most beyond its own length */

/* Rewrites a field to what the readers take: a code becomes an empty field, a decimal comma a point, a date a
 * number. `room` has FPLT__REWRITTEN bytes more than the field; returns how many of them are in use. */
size_t fplt__dialect_rewrite(const fplt__dialect *dialect, fplt__field *field, int is_feature,
                             char *room);

/* Numbers written with a comma: 0,126; and those whose comma may as well separate thousands: 1,234. */
int fplt__has_decimal_comma(fplt__span text);
int fplt__has_thousands(fplt__span text);

typedef enum fplt__date_form { FPLT__NO_DATE, FPLT__DATE, FPLT__DATE_AMBIGUOUS } fplt__date_form;
/* Days since 1970-01-01 of YYYY-MM-DD, YYYY/MM/DD or DD.MM.YYYY, a time behind it is left out. 1/2/2020 is
 * ambiguous: *days is not set. */
fplt__date_form fplt__date_parse(fplt__span text, long *days);

/* A word that people write for a missing value, but that is not read as one: ".", "unknown", "n.d." ... */
int fplt__is_code_word(fplt__span text);

#endif
