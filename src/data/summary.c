/* Counts and sums of a column that can be added up. */
#include "data/summary.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/sorting.h"
#include "base/text.h"
#include "data/constant.h"

void fplt__summary_clear(fplt__summary *summary)
{
    fplt__free(summary->number);
    fplt__free(summary->bin);
    fplt__free(summary->count);
    fplt__sum_destroy(summary->sum);
    fplt__lookup_clear(&summary->words);
    *summary = (fplt__summary){.grid = summary->grid};
}

static fplt_status make_bins(fplt__summary *summary, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (!summary->bin)
        status = fplt__alloc_into(&summary->bin, summary->grid.cells, sizeof *summary->bin,
                                  "a grid", error);
    if (!status && !summary->sum)
        status = fplt__sum_create(2, FPLT_SUM_EXPONENT, &summary->sum, error);
    return status;
}

static fplt_status see_on_grid(fplt__summary *summary, double value, fplt_error *error)
{
    const fplt__bins *grid = &summary->grid;
    double half = (grid->high - grid->low) / 2, inside = fmin(fmax(value, grid->low), grid->high);
    double u = (inside - grid->low) / half - 1, pair[2] = {u, u * u};
    fplt_status status = make_bins(summary, error);
    if (status)
        return status;
    uint32_t cell = (uint32_t)((u + 1) / 2 * grid->cells);
    summary->bin[cell < grid->cells ? cell : grid->cells - 1]++;
    summary->clipped += inside != value;
    summary->span[0] = fmax(summary->span[0], u + 1);
    summary->span[1] = fmax(summary->span[1], 1 - u);
    if ((status = fplt__sum_add(summary->sum, 0, pair, 2)))
        return fplt_error_set(error, status, "a column's sum is out of range");
    return FPLT_OK;
}

fplt_status fplt__summary_see_missing(fplt__summary *summary)
{
    summary->rows++;
    summary->missing++;
    return FPLT_OK;
}

fplt_status fplt__summary_see_number(fplt__summary *summary, double value, fplt_error *error)
{
    fplt_status status =
        summary->grid.cells ? see_on_grid(summary, value, error)
                            : fplt__grow(&summary->number, &summary->capacity, summary->numbers + 1,
                                         sizeof *summary->number, "values", error);
    if (status)
        return status;
    if (!summary->grid.cells)
        summary->number[summary->numbers] = value;
    summary->numbers++;
    summary->rows++;
    return FPLT_OK;
}

static fplt_status count_word(fplt__summary *summary, fplt__span word, size_t times,
                              fplt_error *error)
{
    uint32_t at, before = summary->words.count;
    fplt_status status = fplt__lookup_add(&summary->words, word, &at, error);
    if (!status)
        status = fplt__grow(&summary->count, &summary->count_capacity, summary->words.count,
                            sizeof *summary->count, "levels", error);
    if (!status)
        summary->count[at] = at < before ? summary->count[at] + times : times;
    return status;
}

fplt_status fplt__summary_see_word(fplt__summary *summary, fplt__span word, fplt_error *error)
{
    fplt_status status = count_word(summary, word, 1, error);
    if (!status)
        summary->rows++;
    return status;
}

fplt_status fplt__summary_see(fplt__summary *summary, const fplt__field *field, fplt_error *error)
{
    double value;
    if (fplt__field_missing(field))
        return fplt__summary_see_missing(summary);
    if (!field->foreign && fplt__number_parse(fplt__span_trim(field->span), &value) == FPLT__NUMBER)
        return fplt__summary_see_number(summary, value, error);
    return fplt__summary_see_word(summary, field->span, error);
}

static fplt_status add_numbers(fplt__summary *summary, const fplt__summary *other,
                               fplt_error *error)
{
    fplt_status status;
    if (!summary->grid.cells) {
        status = fplt__grow(&summary->number, &summary->capacity, summary->numbers + other->numbers,
                            sizeof *summary->number, "values", error);
        if (!status)
            memcpy(summary->number + summary->numbers, other->number,
                   other->numbers * sizeof *summary->number);
        return status;
    }
    if ((status = make_bins(summary, error)))
        return status;
    for (uint32_t i = 0; i < summary->grid.cells; i++)
        summary->bin[i] += other->bin[i];
    for (int side = 0; side < 2; side++)
        summary->span[side] = fmax(summary->span[side], other->span[side]);
    if ((status = fplt__sum_merge(summary->sum, other->sum)))
        return fplt_error_set(error, status, "a column's sum is out of range");
    return FPLT_OK;
}

fplt_status fplt__summary_add(fplt__summary *summary, const fplt__summary *other, fplt_error *error)
{
    fplt_status status = other->numbers ? add_numbers(summary, other, error) : FPLT_OK;
    FPLT__ASSERT(summary->grid.cells == other->grid.cells);
    for (uint32_t i = 0; !status && i < other->words.count; i++)
        status = count_word(summary, fplt__lookup_word(&other->words, i), other->count[i], error);
    if (status)
        return status;
    summary->rows += other->rows;
    summary->missing += other->missing;
    summary->numbers += other->numbers;
    summary->clipped += other->clipped;
    return FPLT_OK;
}

void fplt__summary_sort(fplt__summary *summary)
{
    if (summary->number)
        fplt__sort(summary->number, summary->numbers);
}

/* On a grid the ends are not known. The two terms of the difference are each right to a few roundings, so a difference
 * below that is 0: a constant column would get a deviation of up to 1e-8 of the grid's width otherwise. */
static void moments_on_grid(const fplt__summary *summary, double *mean, double *squares)
{
    double sum[2];
    fplt__sum_read(summary->sum, 0, sum, 2);
    *mean = sum[0] / (double)summary->numbers;
    *squares = sum[1] - sum[0] * *mean;
    if (*squares <= 4 * DBL_EPSILON * sum[1])
        *squares = 0;
}

/* The mean and the sum of squares about it, on the scale of the numbers or of u. */
static void moments_of(const fplt__summary *summary, double *mean, double *squares)
{
    if (summary->grid.cells) {
        moments_on_grid(summary, mean, squares);
        return;
    }
    double n = (double)summary->numbers, sum[2] = {0, 0};
    double minimum = summary->number[0], maximum = minimum;
    for (size_t i = 0; i < summary->numbers; i++) {
        sum[0] += summary->number[i];
        minimum = fmin(minimum, summary->number[i]);
        maximum = fmax(maximum, summary->number[i]);
    }
    int is_constant = fplt__is_constant(minimum, maximum);
    *squares = 0;
    *mean = is_constant ? minimum : sum[0] / n;
    if (is_constant)
        return;
    for (size_t i = 0; i < summary->numbers; i++)
        sum[1] += summary->number[i] - *mean;
    *mean += sum[1] / n;
    for (size_t i = 0; i < summary->numbers; i++)
        *squares += (summary->number[i] - *mean) * (summary->number[i] - *mean);
}

double fplt__summary_mean(const fplt__summary *summary)
{
    const fplt__bins *grid = &summary->grid;
    double mean, squares;
    if (!summary->numbers)
        return NAN;
    moments_of(summary, &mean, &squares);
    return grid->cells ? grid->low + (mean + 1) * ((grid->high - grid->low) / 2) : mean;
}

double fplt__summary_deviation(const fplt__summary *summary)
{
    const fplt__bins *grid = &summary->grid;
    double mean, squares;
    if (summary->numbers < 2)
        return NAN;
    moments_of(summary, &mean, &squares);
    double deviation = sqrt(squares / (double)(summary->numbers - 1));
    return grid->cells ? deviation * ((grid->high - grid->low) / 2) : deviation;
}

double fplt__distance_share(const double span[2], double n, double sum)
{
    double total[2] = {n + sum, n - sum}, share = 0;
    for (int side = 0; side < 2; side++)
        if (span[side] > 0)
            share = fmax(share, span[side] / total[side]);
    return share;
}

double fplt__summary_sum(const fplt__summary *summary)
{
    double sum = 0;
    if (summary->sum)
        fplt__sum_read(summary->sum, 0, &sum, 1);
    return sum;
}

double fplt__summary_share(const fplt__summary *summary)
{
    return summary->numbers && summary->grid.cells
               ? fplt__distance_share(summary->span, (double)summary->numbers,
                                      fplt__summary_sum(summary))
               : 0;
}

fplt_status fplt__summary_take(fplt__summary *summary, const uint64_t *bin, const uint64_t *sums,
                               fplt_error *error)
{
    fplt_status status = make_bins(summary, error);
    for (uint32_t i = 0; i < summary->grid.cells && !status; i++) {
        summary->bin[i] = bin[i];
        summary->numbers += bin[i];
    }
    summary->rows = summary->numbers;
    if (!status && fplt__sum_add_words(summary->sum, 0, sums, 2))
        status = fplt_error_set(error, FPLT_DIVERGED, "a column's sum is out of range");
    return status;
}

size_t fplt__summary_count(const fplt__summary *summary, fplt__span word)
{
    uint32_t at = summary->words.count ? fplt__lookup_find(&summary->words, word) : FPLT__NOWHERE;
    return at == FPLT__NOWHERE ? 0 : summary->count[at];
}

fplt_status fplt__bins_find(const char *list, const char *name, fplt__bins *grid, fplt_error *error)
{
    enum { MAX_PAIR = 1024 };
    char key[MAX_PAIR], value[MAX_PAIR];
    grid->cells = 0;
    while (list && *list) {
        list = fplt__pairs_next(list, key, sizeof key, value, sizeof value);
        char *between = strstr(value, "..");
        if (strcmp(key, name) != 0)
            continue;
        if (between)
            *between = 0;
        if (!between || fplt__parse_real(value, &grid->low) ||
            fplt__parse_real(between + 2, &grid->high) || !(grid->low < grid->high))
            return fplt_error_set(
                error, FPLT_BAD_VALUE,
                "bounds of column '%s': these are not two numbers LOW..HIGH, the first below the "
                "second",
                name);
        grid->cells = 1;
        break;
    }
    return FPLT_OK;
}

double fplt__bins_edge(const fplt__bins *grid, uint32_t cell)
{
    return cell == grid->cells
               ? grid->high
               : grid->low + (grid->high - grid->low) * (cell / (double)grid->cells);
}

/* Cells first to end - 1 are one. */
static void spread_over(const fplt__summary *summary, uint32_t first, uint32_t end, uint64_t count,
                        double *spread, double *width)
{
    double wide = fplt__bins_edge(&summary->grid, end) - fplt__bins_edge(&summary->grid, first);
    for (uint32_t i = first; i < end; i++) {
        spread[i] += (double)count / (end - first);
        if (width)
            width[i] = fmax(width[i], wide);
    }
}

/* The end of the merged cell that begins with cell `first`, and its count; `left`: values from there on. */
static uint32_t end_of_merged(const fplt__summary *summary, size_t minimum, uint32_t first,
                              uint64_t left, uint64_t *count)
{
    *count = 0;
    for (uint32_t i = first; i < summary->grid.cells; i++) {
        *count += summary->bin[i];
        if (*count >= minimum && left - *count >= minimum) /* the rest is not too few by itself */
            return i + 1;
    }
    return summary->grid.cells;
}

void fplt__summary_spread(const fplt__summary *summary, size_t minimum, double *spread,
                          double *width)
{
    uint64_t count, left = summary->numbers;
    uint32_t end;
    for (uint32_t first = 0; summary->numbers && first < summary->grid.cells; first = end) {
        end = end_of_merged(summary, minimum, first, left, &count);
        spread_over(summary, first, end, count, spread, width);
        left -= count;
    }
}

void fplt__summary_merge(const fplt__summary *summary, size_t minimum, uint64_t *merged)
{
    uint64_t count, left = summary->numbers;
    uint32_t end;
    memset(merged, 0, summary->grid.cells * sizeof *merged);
    for (uint32_t first = 0; summary->numbers && first < summary->grid.cells; first = end) {
        end = end_of_merged(summary, minimum, first, left, &count);
        merged[end - 1] = count;
        left -= count;
    }
}

/* Where the cumulative count reaches `rank`. */
static double at_rank(const fplt__bins *grid, const double *spread, double rank)
{
    double below = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < grid->cells; i++) {
        if (spread[i] <= 0)
            continue;
        if (below + spread[i] >= rank) {
            double low = fplt__bins_edge(grid, i), high = fplt__bins_edge(grid, i + 1);
            return low + (high - low) * ((rank - below) / spread[i]);
        }
        below += spread[i];
        last = i;
    }
    return fplt__bins_edge(grid, last + 1);
}

double fplt__bins_quantile(const fplt__bins *grid, const double *spread, double share)
{
    double n = 0;
    for (uint32_t i = 0; i < grid->cells; i++)
        n += spread[i];
    if (n < 0.5)
        return NAN;
    double at = share * (round(n) - 1), below = floor(at);
    double low = at_rank(grid, spread, below + 0.5);
    return at > below ? low + (at - below) * (at_rank(grid, spread, below + 1.5) - low) : low;
}
