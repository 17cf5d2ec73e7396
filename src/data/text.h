/* Pieces of text in data files: numbers, messages about them, and tables of distinct words. */
#ifndef FPLT_DATA_TEXT_H
#define FPLT_DATA_TEXT_H

#include <locale.h>
#include <string.h>

#include "data/dataset.h"

/* Longer ones are not numbers. */
enum { FPLT__LONGEST_NUMBER = 511 };

typedef enum fplt__number { FPLT__NUMBER, FPLT__NOT_FINITE, FPLT__NOT_A_NUMBER } fplt__number;

/* The whole span as a decimal number, rounded correctly. Hexadecimal is not a number here; "nan",
 * "inf" and what overflows are not finite. Needs the
 * point as decimal mark: see fplt__locale_enter. */
fplt__number fplt__number_parse(fplt__span span, double *value);
/* The decimal number that begins at `at`: returns what follows it, or NULL for a word, what is not finite
 * and what is not quickly rounded, for which fplt__number_parse has the answer. */
const char *fplt__number_scan(const char *at, const char *end, double *value);
/* Shortest of 15, 16 or 17 digits that reads back the same; -0 gives 0. */
void fplt__number_name(double value, char text[32]);

/* Decimal points are points whatever the program's locale is: this thread's locale becomes "C"
 * between the two calls. */
locale_t fplt__locale_enter(void);
void fplt__locale_leave(locale_t before);

static inline fplt__span fplt__span_of(const char *text)
{
    return (fplt__span){text, strlen(text)};
}
/* Whether a text that may be NULL is this word. */
static inline int fplt__word_is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}
int fplt__span_is(fplt__span span, const char *text);
fplt__span fplt__span_trim(fplt__span span);

/* At most 40 characters, what cannot be printed as dots: fit for a message. */
typedef struct fplt__shown {
    char text[48];
} fplt__shown;
fplt__shown fplt__show(fplt__span span);

/* FPLT_BAD_DATA with "name:line: " before the sentence; line 0 gives "name: ". */
fplt_status fplt__bad_data(fplt_error *error, const char *name, size_t line, const char *format,
                           ...) FPLT_PRINTF(4, 5);

#define FPLT__NOWHERE UINT32_MAX

/* Distinct words numbered in order of their first appearance; keeps copies. Starts as zeros. */
typedef struct fplt__lookup {
    uint32_t count;
    size_t
        *end; /* word i ends (NUL not counted) before end[i], and starts after the NUL of i - 1 */
    char *text;
    uint32_t *slot; /* number + 1, or 0: open addressing */
    size_t end_capacity, text_used, text_capacity, slots;
} fplt__lookup;

void fplt__lookup_clear(fplt__lookup *lookup);
uint32_t fplt__lookup_find(const fplt__lookup *lookup, fplt__span word);
fplt_status fplt__lookup_add(fplt__lookup *lookup, fplt__span word, uint32_t *number,
                             fplt_error *error);
fplt__span fplt__lookup_word(const fplt__lookup *lookup, uint32_t number);
fplt_status fplt__lookup_names(const fplt__lookup *lookup, fplt__names *names, fplt_error *error);
/* Numbers of all words, sorted: by value when all are numbers, by bytes otherwise. `order` has room
 * for all. */
void fplt__lookup_sort(const fplt__lookup *lookup, uint32_t *order);

#endif
