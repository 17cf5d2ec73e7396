/* Columns of numbers that are none: codes for missing values, and numbers of the rows. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/builder.h"
#include "fedplt/settings.h"

enum {
    FEWEST_ROWS = 20,   /* fewer tell nothing */
    MAX_CELLS = 1 << 17 /* of the first rows: time that no reader notices */
};

/* The numbers of one column: what its smallest and its largest ones are. */
struct extremes {
    double low, high;           /* the lowest and the highest value */
    double next_low, next_high; /* the lowest but for `low`, the highest but for `high` */
    size_t lows, highs;         /* how often */
    size_t values;
};

static void widen_extremes(struct extremes *column, double value)
{
    if (isnan(value))
        return;
    if (!column->values++)
        *column = (struct extremes){value, value, HUGE_VAL, -HUGE_VAL, 0, 0, 1};
    if (value < column->low) {
        column->next_low = column->low;
        column->low = value;
        column->lows = 0;
    } else if (value > column->low && value < column->next_low)
        column->next_low = value;
    if (value > column->high) {
        column->next_high = column->high;
        column->high = value;
        column->highs = 0;
    } else if (value < column->high && value > column->next_high)
        column->next_high = value;
    column->lows += value == column->low;
    column->highs += value == column->high;
}

/* 9, 99, 999, ... with at least `digits` digits. */
static int is_nines(double value, int digits)
{
    double nines = 9;
    for (int n = 1; n <= 6; n++, nines = 10 * nines + 9)
        if (value == nines)
            return n >= digits;
    return 0;
}

/* -9, -99, ... below numbers of at least 0; 999, 9999, ... above numbers of less than a fifth. At least twice. */
static int find_code(const struct extremes *column, double *code, size_t *count)
{
    int low = column->lows > 1 && is_nines(-column->low, 1) && column->next_low >= 0 &&
              isfinite(column->next_low);
    int high = column->highs > 1 && is_nines(column->high, 3) &&
               column->next_high < column->high / 5 && isfinite(column->next_high);
    *code = low ? column->low : column->high;
    *count = low ? column->lows : column->highs;
    return low || high;
}

int fplt__find_code(const double *value, size_t values, double *code, size_t *count)
{
    struct extremes column = {.values = 0};
    for (size_t i = 0; i < values; i++)
        widen_extremes(&column, value[i]);
    return values >= FEWEST_ROWS && find_code(&column, code, count);
}

static size_t rows_to_see(const fplt__builder *builder)
{
    size_t most = MAX_CELLS / builder->cells.width + FEWEST_ROWS;
    return builder->rows < most ? builder->rows : most;
}

static fplt_status refuse_code(const fplt__builder *builder, const struct extremes *column,
                               uint32_t first, fplt_error *error)
{
    char others[200] = "";
    double code, other;
    size_t count, ignored, used = 0, more = 0;
    find_code(&column[first], &code, &count);
    for (uint32_t j = first + 1; j < builder->columns.names.count; j++) {
        if (builder->columns.column[j].category || !find_code(&column[j], &other, &ignored) ||
            other != code)
            continue;
        if (used + 60 < sizeof others)
            used +=
                (size_t)snprintf(others + used, sizeof others - used, "%s%s",
                                 used ? ", " : "; likewise in ",
                                 fplt__show(fplt__lookup_word(&builder->columns.names, j)).text);
        else
            more++;
    }
    if (more)
        snprintf(others + used, sizeof others - used, " and %zu more", more);
    return fplt__bad_data(error, builder->first_source, 0,
                          "column '%s': %.10g stands %zu times %s all other numbers, as codes for "
                          "missing values do%s: add --missing-codes %.10g, or --missing-codes none "
                          "if the numbers are real",
                          fplt__show(fplt__lookup_word(&builder->columns.names, first)).text, code,
                          count, code < 0 ? "below" : "far above", others, code);
}

static fplt_status check_codes(const fplt__builder *builder, fplt_error *error)
{
    struct extremes *column;
    double code;
    size_t count, rows = rows_to_see(builder);
    fplt_status status =
        fplt__alloc_into(&column, builder->cells.width, sizeof *column, "columns", error);
    if (status)
        return status;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < builder->cells.width; j++)
            widen_extremes(&column[j], builder->cells.value[r * builder->cells.width + j]);
    for (uint32_t j = 0; j < builder->columns.names.count && !status; j++)
        if (!builder->columns.column[j].category && find_code(&column[j], &code, &count))
            status = refuse_code(builder, column, j, error);
    fplt__free(column);
    return status;
}

/* Whether every value is the number of its row in its file or in all files, from 0 or from 1. */
static int counts_rows(const fplt__builder *builder, uint32_t j)
{
    double first = builder->cells.value[j];
    if (first != 0 && first != 1)
        return 0;
    for (size_t r = 0; r < builder->rows; r++) {
        double value = builder->cells.value[r * builder->cells.width + j] - first;
        if (value != (double)builder->row[r].number - 1 && value != (double)r)
            return 0;
    }
    return 1;
}

/* No name, or one that people and programs give to numbers of rows. */
static int is_numbering_name(fplt__span name)
{
    static const char *const words[] = {"id",   "idx",    "index",   "row",     "rowid",  "nr",
                                        "no",   "lfd",    "pid",     "number",  "nummer", "case",
                                        "fall", "record", "subject", "patient", "unnamed"};
    if (!name.length)
        return 1;
    for (size_t i = 0; i < name.length;) {
        size_t length = 0;
        while (i + length < name.length && isalpha((unsigned char)name.text[i + length]))
            length++;
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (strlen(words[k]) == length && strncasecmp(words[k], name.text + i, length) == 0)
                return 1;
        i += length + 1;
    }
    return 0;
}

static fplt_status check_numbering(const fplt__builder *builder, fplt_error *error)
{
    for (uint32_t j = 0; j < builder->columns.names.count; j++) {
        fplt__span name = fplt__lookup_word(&builder->columns.names, j);
        char word[300];
        if (builder->columns.column[j].category || !is_numbering_name(name) ||
            !counts_rows(builder, j))
            continue;
        /* a column without a name is the first in practice: the index that a program wrote */
        fplt__shell_word(name.length ? name.text : "1", word, sizeof word);
        return fplt__bad_data(error, builder->first_source, 0,
                              "column '%s' numbers the rows, %.0f to %.0f: add --id %s to keep it "
                              "beside predictions, or leave it out with --ignore %s; if it is a "
                              "feature, name the features with --columns",
                              fplt__show(name).text, builder->cells.value[j],
                              builder->cells.value[(builder->rows - 1) * builder->cells.width + j],
                              word, word);
    }
    return FPLT_OK;
}

fplt_status fplt__check_numbers(const fplt__builder *builder, fplt_error *error)
{
    int named = builder->columns.names.count && builder->cells.value && builder->cells.width &&
                !builder->declared.schema;
    fplt_status status = FPLT_OK;
    if (!named || builder->rows < FEWEST_ROWS)
        return FPLT_OK;
    if (!builder->expected.names.count && !builder->columns.only.count)
        status = check_numbering(builder, error);
    if (!status && !builder->settings->missing_codes)
        status = check_codes(builder, error);
    return status;
}
