/* Table 1 with privacy: estimates and their intervals. */
#include <math.h>

#include "base/assert.h"
#include "base/memory.h"
#include "data/summary.h"
#include "study/private_table_inside.h"
#include "study/table_one_words.h"

static const double REACH = 1.959963984540054; /* of an interval of 95 %, in deviations */

/* A number with noise of that variance. */
struct noisy {
    double value, variance;
};

static struct noisy add(struct noisy a, struct noisy b)
{
    return (struct noisy){a.value + b.value, a.variance + b.variance};
}

static struct noisy subtract(struct noisy a, struct noisy b)
{
    return (struct noisy){a.value - b.value, a.variance + b.variance};
}

/* ---- where the numbers lie ---- */

size_t fplt__private_sites(const fplt__private_table *table)
{
    return table->sites + 1;
}

/* All rows and the declared strata. */
size_t fplt__private_strata(const fplt__private_table *table)
{
    return fplt__table_one_groups(table->settings);
}

const fplt__declared *fplt__private_by(const fplt__private_table *table)
{
    return fplt__table_one_strata_by(table->settings);
}

size_t fplt__private_columns(const fplt__private_table *table)
{
    return (size_t)fplt__table_one_described(table->settings);
}

const fplt__declared *fplt__private_column(const fplt__private_table *table, size_t column)
{
    const fplt_schema *schema = table->settings->read->schema;
    size_t j = 0;
    for (;; j++)
        if (fplt__table_one_describes(table->settings, &schema->column[j]) && !column--)
            return &schema->column[j];
}

size_t fplt__private_lines(const fplt__private_table *table, size_t column)
{
    const fplt__declared *declared = fplt__private_column(table, column);
    return declared->bounded ? FPLT__PRIVATE_LINES
                             : fplt__private_count_lines(table->settings, declared);
}

/* The first number of a column. */
static size_t place_of(const fplt__private_table *table, size_t column)
{
    size_t groups = fplt__table_one_groups(table->settings), at = groups > 1 ? groups : 0;
    for (size_t k = 0; k < column; k++) {
        const fplt__declared *declared = fplt__private_column(table, k);
        at += groups *
              (fplt__private_count_lines(table->settings, declared) + (declared->bounded ? 2 : 0));
    }
    return at;
}

/* A number of a site, or of all, that a site has at `at` for the first group and `step` further on for each next one. */
static struct noisy number_at(const fplt__private_table *table, size_t at, size_t step, size_t site,
                              size_t stratum, const fplt__private_lattice *lattice)
{
    size_t groups = fplt__table_one_groups(table->settings);
    double deviation = lattice->deviation / lattice->unit;
    struct noisy sum = {0, 0};
    for (size_t s = site ? site - 1 : 0; s < (site ? site : table->sites); s++)
        for (size_t g = stratum ? stratum - 1 : 0; g < (stratum ? stratum : groups); g++)
            sum = add(sum, (struct noisy){(double)table->numbers[s * table->each + at + g * step] /
                                              lattice->unit,
                                          deviation * deviation});
    return sum;
}

/* ---- rows and counts ---- */

static struct noisy rows_of(const fplt__private_table *table, size_t site, size_t stratum)
{
    struct noisy rows = {0, 0};
    if (stratum)
        return number_at(table, 0, 1, site, stratum, &table->scale.count);
    for (size_t s = site ? site - 1 : 0; s < (site ? site : table->sites); s++)
        rows.value += (double)table->rows[s];
    return rows;
}

/* A line of counts of a column. */
static struct noisy count_of(const fplt__private_table *table, size_t column, size_t line,
                             size_t site, size_t stratum)
{
    const fplt__declared *declared = fplt__private_column(table, column);
    size_t lines = fplt__private_count_lines(table->settings, declared);
    return number_at(table, place_of(table, column) + line, lines, site, stratum,
                     &table->scale.count);
}

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* What is known is between the bounds. */
static fplt__private_estimate settle(struct noisy number, double low, double high)
{
    double reach = REACH * sqrt(number.variance);
    return (fplt__private_estimate){clamp(number.value, low, high),
                                    clamp(number.value - reach, low, high),
                                    clamp(number.value + reach, low, high)};
}

static fplt__private_estimate settle_count(const fplt__private_table *table, struct noisy count,
                                           size_t site)
{
    fplt__private_estimate made = settle(count, 0, rows_of(table, site, 0).value);
    made.value = round(made.value);
    made.low = fmax(0, ceil(made.low - 1e-9)); /* not -0 */
    made.high = floor(made.high + 1e-9);
    return made;
}

fplt__private_estimate fplt__private_rows(const fplt__private_table *table, size_t site,
                                          size_t stratum)
{
    return settle_count(table, rows_of(table, site, stratum), site);
}

/* ---- columns of numbers ---- */

static const fplt__private_estimate NOTHING = {NAN, NAN, NAN};

/* The numbers of a column of a group, and its sums of u and of u^2 - 1/2. */
struct moments {
    struct noisy numbers, first, second;
};

static struct moments moments_of(const fplt__private_table *table, size_t column, size_t site,
                                 size_t stratum)
{
    size_t groups = fplt__table_one_groups(table->settings);
    size_t lines = table->settings->cells + 1;
    size_t sums = place_of(table, column) + groups * lines;
    return (struct moments){subtract(rows_of(table, site, stratum),
                                     count_of(table, column, lines - 1, site, stratum)),
                            number_at(table, sums, 2, site, stratum, &table->scale.first),
                            number_at(table, sums + 1, 2, site, stratum, &table->scale.second)};
}

/* Whether more numbers are there than noise. */
static int is_enough(struct noisy numbers)
{
    return numbers.value > 2 && numbers.value > 2 * REACH * sqrt(numbers.variance);
}

/* Mean of u, by the variances of its parts. */
static struct noisy mean_of(const struct moments *of)
{
    double n = of->numbers.value, mean = of->first.value / n;
    return (struct noisy){mean,
                          (of->first.variance + mean * mean * of->numbers.variance) / (n * n)};
}

static fplt__private_estimate find_mean(const struct moments *of, const fplt__declared *column)
{
    double middle = (column->low + column->high) / 2, half = (column->high - column->low) / 2;
    fplt__private_estimate made = settle(mean_of(of), -1, 1);
    return (fplt__private_estimate){middle + half * made.value, middle + half * made.low,
                                    middle + half * made.high};
}

/* The variance of u is second/n + 1/2 - (first/n)^2; its derivatives by the three give its own variance. */
static fplt__private_estimate find_deviation(const struct moments *of, const fplt__declared *column)
{
    double n = of->numbers.value, mean = of->first.value / n,
           half = (column->high - column->low) / 2;
    double by_first = -2 * mean / n, by_second = 1 / n;
    double by_numbers = (2 * mean * mean - of->second.value / n) / n;
    struct noisy spread = {(of->second.value / n + 0.5 - mean * mean) * n / (n - 1),
                           by_first * by_first * of->first.variance +
                               by_second * by_second * of->second.variance +
                               by_numbers * by_numbers * of->numbers.variance};
    fplt__private_estimate made = settle(spread, 0, n / (n - 1));
    return (fplt__private_estimate){half * sqrt(made.value), half * sqrt(made.low),
                                    half * sqrt(made.high)};
}

/* Rows in the cells below each edge; the last is that of all cells. */
static void find_steps(const fplt__private_table *table, size_t column, size_t site, size_t stratum,
                       double *below)
{
    double sum = 0;
    for (uint32_t i = 0; i < table->settings->cells; i++)
        below[i] = sum += count_of(table, column, i, site, stratum).value;
}

/* The quantile where the steps, made to rise, reach the share; its interval leaves out the edges, from both ends, at which the share is
 * refuted: so an end is wrong only where the first edge beyond the quantile is. */
static fplt__private_estimate find_on_steps(const fplt__private_table *table,
                                            const fplt__declared *column, const double *below,
                                            double variance, double share)
{
    uint32_t cells = table->settings->cells, first = 0, low = 0, high = cells;
    fplt__bins grid = {column->low, column->high, cells};
    double target = share * below[cells - 1], before = 0, now = fmax(below[0], 0);
    while (first + 1 < cells && now < target) {
        before = now;
        now = fmax(now, below[++first]);
    }
    double within = now > before ? clamp((target - before) / (now - before), 0, 1) : 0;
    for (uint32_t i = 1; i < cells; i++) {
        double spread =
            sqrt(variance * ((1 - share) * (1 - share) * i + share * share * (cells - i)));
        if (below[i - 1] - target + REACH * spread >= 0)
            break;
        low = i;
    }
    for (uint32_t i = cells - 1; i > low; i--) {
        double spread =
            sqrt(variance * ((1 - share) * (1 - share) * i + share * share * (cells - i)));
        if (below[i - 1] - target - REACH * spread <= 0)
            break;
        high = i;
    }
    double left = fplt__bins_edge(&grid, first), right = fplt__bins_edge(&grid, first + 1);
    return (fplt__private_estimate){left + within * (right - left), fplt__bins_edge(&grid, low),
                                    fplt__bins_edge(&grid, high)};
}

static fplt__private_estimate find_quartile(const fplt__private_table *table, size_t column,
                                            double share, size_t site, size_t stratum)
{
    fplt__private_estimate made = NOTHING;
    double *below, variance = count_of(table, column, 0, site, stratum).variance;
    if (fplt__alloc_into(&below, table->settings->cells, sizeof *below, "a grid", NULL))
        return NOTHING;
    find_steps(table, column, site, stratum, below);
    if (below[table->settings->cells - 1] > 0)
        made = find_on_steps(table, fplt__private_column(table, column), below, variance, share);
    fplt__free(below);
    return made;
}

fplt__private_estimate fplt__private_find(const fplt__private_table *table, size_t column,
                                          size_t line, size_t site, size_t stratum)
{
    const fplt__declared *declared = fplt__private_column(table, column);
    FPLT__ASSERT(line < fplt__private_lines(table, column));
    if (!declared->bounded)
        return settle_count(table, count_of(table, column, line, site, stratum), site);
    struct moments of = moments_of(table, column, site, stratum);
    if (line == FPLT__PRIVATE_MISSING)
        return settle_count(table, count_of(table, column, table->settings->cells, site, stratum),
                            site);
    if (!is_enough(of.numbers))
        return NOTHING;
    if (line == FPLT__PRIVATE_MEAN)
        return find_mean(&of, declared);
    if (line == FPLT__PRIVATE_DEVIATION)
        return find_deviation(&of, declared);
    return find_quartile(table, column, 0.25 * (double)(line - FPLT__PRIVATE_QUARTILE + 1), site,
                         stratum);
}
