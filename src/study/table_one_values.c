/* Table 1: the numbers that are shown. */
#include <math.h>

#include "base/memory.h"
#include "base/sorting.h"
#include "study/table_one_inside.h"

size_t fplt_description_sites(const fplt_description *table)
{
    return table->sites.count;
}

size_t fplt__table_one_strata(const fplt_description *table)
{
    return table->strata.count;
}

const char *fplt_description_site(const fplt_description *table, size_t site)
{
    return site ? fplt__lookup_word(&table->sites, (uint32_t)site).text : NULL;
}

/* The number of a stratum in the order of their appearance. */
static uint32_t stratum_at(const fplt_description *table, size_t stratum)
{
    return stratum ? table->order[stratum - 1] : 0;
}

const char *fplt__table_one_stratum(const fplt_description *table, size_t stratum)
{
    return stratum ? fplt__lookup_word(&table->strata, stratum_at(table, stratum)).text : NULL;
}

size_t fplt__table_one_columns(const fplt_description *table)
{
    return table->shown_count;
}

const char *fplt__table_one_column(const fplt_description *table, size_t column)
{
    return fplt__lookup_word(&table->names, table->shown[column]).text;
}

size_t fplt__table_one_levels(const fplt_description *table, size_t column)
{
    const fplt__one_column *of = &table->column[table->shown[column]];
    return of->kind == FPLT__ONE_LEVELS ? of->levels.count : 0;
}

const char *fplt__table_one_level(const fplt_description *table, size_t column, size_t level)
{
    const fplt__one_column *of = &table->column[table->shown[column]];
    return fplt__lookup_word(&of->levels, of->order[level]).text;
}

const char *fplt_description_note(const fplt_description *table, size_t index)
{
    return fplt__notes_get(&table->notes, index);
}

/* ---- counts ---- */

static fplt__count rows_at(const fplt_description *table, uint32_t site, size_t stratum)
{
    const fplt__one_group *all = fplt__one_group_of(table, site, 0);
    const fplt__one_group *group = fplt__one_group_of(table, site, stratum_at(table, stratum));
    size_t rows = group ? group->rows : 0;
    if (table->site[site].is_small)
        return (fplt__count){0, table->site[site].minimum - 1};
    if (stratum && !table->site[site].is_stratified)
        return (fplt__count){0, all ? all->rows : 0};
    return (fplt__count){rows, rows};
}

fplt__count fplt__table_one_rows(const fplt_description *table, size_t site, size_t stratum)
{
    fplt__count sum = {0, 0};
    if (site)
        return rows_at(table, (uint32_t)site, stratum);
    for (uint32_t s = 1; s < table->sites.count; s++) {
        fplt__count one = rows_at(table, s, stratum);
        sum = (fplt__count){sum.low + one.low, sum.high + one.high};
    }
    return sum;
}

/* A cell of the table of a site: a row of it, and a stratum. */
static fplt__count cell_at(const fplt_description *table, uint32_t j, uint32_t site, size_t row,
                           size_t stratum)
{
    const fplt__crosstab *cross = table->released[j * table->sites.count + site];
    if (!cross)
        return rows_at(table, site, stratum);
    if (row >= cross->rows)
        row = cross->rows - 1;
    if (!stratum || cross->columns > 1)
        return cross->shown[fplt__crosstab_at(cross, row, stratum ? stratum - 1 : cross->columns)];
    return (fplt__count){0, cross->shown[fplt__crosstab_at(cross, row, 1)].high};
}

static fplt__count count_at(const fplt_description *table, uint32_t j, size_t site, size_t row,
                            size_t stratum)
{
    fplt__count sum = {0, 0};
    if (site)
        return cell_at(table, j, (uint32_t)site, row, stratum);
    for (uint32_t s = 1; s < table->sites.count; s++) {
        fplt__count one = cell_at(table, j, s, row, stratum);
        sum = (fplt__count){sum.low + one.low, sum.high + one.high};
    }
    return sum;
}

fplt__count fplt__table_one_missing(const fplt_description *table, size_t column, size_t site,
                                    size_t stratum)
{
    return count_at(table, table->shown[column], site, SIZE_MAX, stratum);
}

fplt__count fplt__table_one_count(const fplt_description *table, size_t column, size_t level,
                                  size_t site, size_t stratum)
{
    return count_at(table, table->shown[column], site, level, stratum);
}

/* ---- columns of numbers ---- */

static int is_released_by_all(const fplt_description *table, uint32_t j, size_t site,
                              uint32_t stratum)
{
    int released = 1;
    if (site)
        return table->has_sums[fplt__one_sums_at(table, j, (uint32_t)site, stratum)];
    for (uint32_t s = 1; s < table->sites.count; s++)
        released &= table->has_sums[fplt__one_sums_at(table, j, s, stratum)];
    return released;
}

/* Quartiles from the cells of all sites, each merged by itself, and the width of the cells in which they lie. */
static void find_on_grid(const fplt_description *table, uint32_t j, size_t site, uint32_t stratum,
                         fplt__table_one_number *number)
{
    const fplt__bins *grid = &table->column[j].grid;
    double *spread, *width;
    if (fplt__alloc_into(&spread, 2 * (size_t)grid->cells, sizeof *spread, "a grid", NULL))
        return;
    width = spread + grid->cells;
    for (uint32_t s = 1; s < table->sites.count; s++) {
        const fplt__summary *summary = fplt__one_summary(table, j, s, stratum);
        if ((!site || s == site) && summary && summary->numbers)
            fplt__summary_spread(summary, table->site[s].minimum, spread, width);
    }
    number->resolution = 0;
    for (int q = 0; q < 3; q++) {
        number->quartile[q] = fplt__bins_quantile(grid, spread, 0.25 * (q + 1));
        for (uint32_t i = 0; i < grid->cells; i++)
            if (number->quartile[q] >= fplt__bins_edge(grid, i) &&
                number->quartile[q] <= fplt__bins_edge(grid, i + 1))
                number->resolution = fmax(number->resolution, width[i]);
    }
    fplt__free(spread);
}

fplt__table_one_number fplt__table_one_numbers(const fplt_description *table, size_t column,
                                               size_t site, size_t stratum)
{
    uint32_t j = table->shown[column], k = stratum_at(table, stratum);
    fplt__table_one_number number = {NAN, NAN, {NAN, NAN, NAN}, 0};
    const fplt__summary *summary = fplt__one_summary(table, j, (uint32_t)site, k);
    if (!summary || !summary->numbers || table->column[j].kind != FPLT__ONE_NUMBERS ||
        !is_released_by_all(table, j, site, k))
        return number;
    number.mean = fplt__summary_mean(summary);
    number.deviation = fplt__summary_deviation(summary);
    if (summary->grid.cells)
        find_on_grid(table, j, site, k, &number);
    else if (table->settings.minimum < 2)
        for (int q = 0; q < 3; q++)
            number.quartile[q] = fplt__quantile(summary->number, summary->numbers, 0.25 * (q + 1));
    return number;
}

/* ---- standardised mean differences ---- */

/* T' S^-1 T by elimination with the largest pivot; S is n x n and is destroyed, as is T. */
static double quadratic_form(double *S, double *T, size_t n)
{
    double sum = 0;
    for (size_t step = 0; step < n; step++) {
        size_t p = step;
        for (size_t i = step; i < n; i++)
            p = S[i * n + i] > S[p * n + p] ? i : p;
        for (size_t i = 0; p != step && i < n; i++) {
            double held = S[p * n + i];
            S[p * n + i] = S[step * n + i];
            S[step * n + i] = held;
        }
        for (size_t i = 0; p != step && i < n; i++) {
            double held = S[i * n + p];
            S[i * n + p] = S[i * n + step];
            S[i * n + step] = held;
        }
        double held = T[p], pivot = S[step * n + step];
        T[p] = T[step];
        T[step] = held;
        if (pivot <
            1e-12) { /* no variance is left: equal shares differ by nothing, others by any number of deviations */
            if (fabs(T[step]) > 1e-9)
                return INFINITY;
            continue;
        }
        sum += T[step] * T[step] / pivot;
        for (size_t i = step + 1; i < n; i++) {
            double factor = S[i * n + step] / pivot;
            T[i] -= factor * T[step];
            for (size_t c = step; c < n; c++)
                S[i * n + c] -= factor * S[step * n + c];
        }
    }
    return sum;
}

/* Shares of the levels in two groups, less the last level. */
static double difference_of_levels(const double *one, const double *two, size_t levels,
                                   double *memory)
{
    size_t n = levels - 1;
    double *S = memory, *T = memory + n * n;
    for (size_t i = 0; i < n; i++) {
        T[i] = one[i] - two[i];
        for (size_t k = 0; k < n; k++)
            S[i * n + k] = ((i == k ? one[i] + two[i] : 0) - one[i] * one[k] - two[i] * two[k]) / 2;
    }
    return sqrt(quadratic_form(S, T, n));
}

struct pairs {
    const fplt_description *table;
    size_t column, site, levels, groups;
    double *share; /* levels of each group */
    double *memory;
};

/* Group number g of a comparison: strata of the site, or sites. */
static void group_at(const struct pairs *pairs, size_t g, size_t *site, size_t *stratum)
{
    int by_stratum = pairs->table->strata.count > 1;
    *site = by_stratum ? pairs->site : g + 1;
    *stratum = by_stratum ? g + 1 : 0;
}

/* Returns 0 where a count is not known or there is none. */
static int find_shares(const struct pairs *pairs, size_t g)
{
    size_t site, stratum, sum = 0;
    double *share = pairs->share + g * pairs->levels;
    group_at(pairs, g, &site, &stratum);
    for (size_t i = 0; i < pairs->levels; i++) {
        fplt__count count = fplt__table_one_count(pairs->table, pairs->column, i, site, stratum);
        if (count.low != count.high)
            return 0;
        share[i] = (double)count.low;
        sum += count.low;
    }
    for (size_t i = 0; i < pairs->levels; i++)
        share[i] /= (double)sum;
    return sum > 0;
}

/* A declared stratum that no row has is compared with nothing. */
static int is_empty(const struct pairs *pairs, size_t g)
{
    size_t site, stratum;
    group_at(pairs, g, &site, &stratum);
    return !fplt__table_one_rows(pairs->table, site, stratum).high;
}

static double difference_of_pair(const struct pairs *pairs, size_t a, size_t b)
{
    size_t site, stratum;
    if (pairs->levels)
        return difference_of_levels(pairs->share + a * pairs->levels,
                                    pairs->share + b * pairs->levels, pairs->levels, pairs->memory);
    group_at(pairs, a, &site, &stratum);
    fplt__table_one_number one =
        fplt__table_one_numbers(pairs->table, pairs->column, site, stratum);
    group_at(pairs, b, &site, &stratum);
    fplt__table_one_number two =
        fplt__table_one_numbers(pairs->table, pairs->column, site, stratum);
    double apart = fabs(one.mean - two.mean);
    double variance = (one.deviation * one.deviation + two.deviation * two.deviation) / 2;
    return apart == 0 && variance == 0 ? 0 : apart / sqrt(variance);
}

double fplt__table_one_difference(const fplt_description *table, size_t column, size_t site)
{
    size_t levels = fplt__table_one_levels(table, column);
    int by_stratum = table->strata.count > 1;
    struct pairs pairs = {.table = table,
                          .column = column,
                          .site = site,
                          .levels = levels,
                          .groups = (by_stratum ? table->strata.count : table->sites.count) - 1};
    double sum = 0, compared = 0;
    int known = 1;
    if (pairs.groups < 2 || (!by_stratum && site))
        return NAN;
    if (fplt__alloc_into(&pairs.share, levels * (pairs.groups + levels + 1) + 1,
                         sizeof *pairs.share, "shares", NULL))
        return NAN;
    pairs.memory = pairs.share + levels * pairs.groups;
    for (size_t g = 0; levels && g < pairs.groups; g++)
        known &= is_empty(&pairs, g) || find_shares(&pairs, g);
    for (size_t a = 0; known && a < pairs.groups; a++)
        for (size_t b = a + 1; b < pairs.groups && !is_empty(&pairs, a); b++)
            if (!is_empty(&pairs, b)) {
                sum += difference_of_pair(&pairs, a, b);
                compared++;
            }
    fplt__free(pairs.share);
    return known && compared > 0 ? sum / compared : NAN;
}

/* ---- tables of two columns ---- */

int fplt__table_one_cross_get(const fplt_description *table, size_t index,
                              fplt__table_one_cross *cross)
{
    if (index >= table->crosses)
        return 0;
    const fplt__one_column *column = &table->column[index];
    cross->row = fplt__lookup_word(&table->names, column->crossed[0]).text;
    cross->column = fplt__lookup_word(&table->names, column->crossed[1]).text;
    cross->rows = column->levels.count;
    cross->columns = column->others.count;
    return 1;
}

const char *fplt__table_one_cross_level(const fplt_description *table, size_t index, int of_column,
                                        size_t level)
{
    const fplt__one_column *column = &table->column[index];
    fplt__span word = of_column ? fplt__lookup_word(&column->others, column->other_order[level])
                                : fplt__lookup_word(&column->levels, column->order[level]);
    return fplt__span_is(word, FPLT__ONE_NONE) ? NULL : word.text;
}

fplt__count fplt__table_one_cross_count(const fplt_description *table, size_t index, size_t site,
                                        size_t row, size_t column)
{
    fplt__count sum = {0, 0};
    for (uint32_t s = site ? (uint32_t)site : 1; s < (site ? site + 1 : table->sites.count); s++) {
        const fplt__crosstab *cross = table->released[index * table->sites.count + s];
        fplt__count one =
            cross ? cross->shown[fplt__crosstab_at(cross, row, column)] : rows_at(table, s, 0);
        sum = (fplt__count){sum.low + one.low, sum.high + one.high};
    }
    return sum;
}
