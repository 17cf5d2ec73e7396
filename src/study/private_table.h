/* Table 1 with privacy: counts and clipped sums of the columns that a schema declares, with discrete Gaussian noise. The numbers of
 * a site together are (epsilon, delta)-private for each of its rows, replaced by another one; how many rows a site has is public.
 *
 * A site tells, for every group of rows (a stratum, or the rows without one; without strata all rows), how many there are; for every
 * category and group the rows of each level and those without one; for every column of numbers and group the rows in each cell of
 * the grid and those without a number, and two sums: of u, the value on -1 to 1 between the declared bounds, and of u^2 - 1/2. Each of these vectors
 * is a query. One row changes a query by at most the sensitivity stated at fplt__private_scale. */
#ifndef FPLT_STUDY_PRIVATE_TABLE_H
#define FPLT_STUDY_PRIVATE_TABLE_H

#include "fedplt/noise.h"
#include "data/schema.h"
#include "fedplt/privacy.h"
#include "fedplt/study.h"
#include "study/document.h"

/* Numbers of one kind are whole multiples of 1/unit; the noise has that many multiples as its deviation. */
typedef struct fplt__private_lattice {
    double unit; /* a power of two */
    uint32_t deviation;
} fplt__private_lattice;

/* Invariant: a table of counts costs sensitivity^2 / (2 deviation^2), in multiples of the lattice, the two sums of a column together less
 * than the sum of that, because one row cannot move both to their ends, and `rate` is the cost of all. */
typedef struct fplt__private_scale {
    uint64_t counts, sums; /* queries: tables of counts; columns of numbers, two sums each */
    double epsilon, delta; /* what is promised */
    double rate;           /* Renyi divergence of order a is at most a times this */
    fplt__private_lattice
        count; /* sensitivity sqrt(2): one row leaves a cell, another one joins a cell */
    fplt__private_lattice first,
        second; /* sums of u, of u^2 - 1/2: sensitivity 2 and 1, and two multiples for rounding */
} fplt__private_scale;

/**
 * How much noise a table needs within a budget, from public numbers alone; each query has an equal share.
 *
 * @param settings  as fplt__table_one_check() accepts them; minimum and dominant have no effect
 * @retval FPLT_UNSUPPORTED  no schema or grid, tables of two columns, or a schema that declares persons with several rows
 * @retval FPLT_BAD_VALUE    the budget is not legal, or `by` has no declared levels
 * @retval FPLT_UNREACHABLE  the budget is so small that no count is left
 */
fplt_status fplt__private_scale_find(const fplt_describe_settings *settings, double epsilon,
                                     double delta, fplt__private_scale *scale, fplt_error *error);

/* Numbers that a site tells. */
uint64_t fplt__private_numbers(const fplt_describe_settings *settings);

/**
 * The numbers of a site with their noise.
 *
 * @param description  of the same settings without a minimum, made from the rows
 * @param site         from 1
 * @param noise        NULL: none is added, for tests
 * @param numbers      out: fplt__private_numbers(), in multiples of their lattices
 * @retval FPLT_BAD_DATA  a declared column is missing
 */
fplt_status fplt__private_tell(const fplt_description *description, size_t site,
                               const fplt__private_scale *scale, fplt_noise *noise,
                               int64_t *numbers, fplt_error *error);

/* Estimates from what all sites told. */
typedef struct fplt__private_table fplt__private_table;

/**
 * @param settings  borrowed for the life of the table, as `scale` is not
 * @param names     one a site, copied
 * @param rows      of each site, public
 * @param numbers   of one site after the other, copied
 */
fplt_status fplt__private_table_create(const fplt_describe_settings *settings,
                                       const fplt__private_scale *scale, const char *const *names,
                                       const uint64_t *rows, const int64_t *numbers, size_t sites,
                                       fplt__private_table **table, fplt_error *error);
/* NULL is legal. */
void fplt__private_table_destroy(fplt__private_table *table);

/* The table of a description: what each of its sites tells, with fresh noise. */
fplt_status fplt__private_table_make(const fplt_description *description,
                                     const fplt__private_scale *scale, fplt_noise *noise,
                                     fplt__private_table **table, fplt_error *error);

/* A number and the interval that holds it without noise with probability 0.95 or more (approximately for mean and SD); NaN where the noise
 * leaves nothing to say. */
typedef struct fplt__private_estimate {
    double value, low, high;
} fplt__private_estimate;

/* What is estimated of a column of numbers; of a category, line i is level i, and the last line the rows without one. */
typedef enum fplt__private_line {
    FPLT__PRIVATE_MEAN,
    FPLT__PRIVATE_DEVIATION,
    FPLT__PRIVATE_QUARTILE, /* and the next two */
    FPLT__PRIVATE_MISSING = FPLT__PRIVATE_QUARTILE + 3,
    FPLT__PRIVATE_LINES
} fplt__private_line;

/* Site 0 is all of them, stratum 0 all rows. Columns are those of the schema that are described, in its order. */
size_t fplt__private_sites(const fplt__private_table *table);
size_t fplt__private_strata(const fplt__private_table *table);
size_t fplt__private_columns(const fplt__private_table *table);
const fplt__declared *fplt__private_column(const fplt__private_table *table, size_t column);
size_t fplt__private_lines(const fplt__private_table *table, size_t column);
fplt__private_estimate fplt__private_rows(const fplt__private_table *table, size_t site,
                                          size_t stratum);
fplt__private_estimate fplt__private_find(const fplt__private_table *table, size_t column,
                                          size_t line, size_t site, size_t stratum);

/* The whole table with its notes; the text is released with fplt_free. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__private_table_report(const fplt__private_table *table, fplt__form form,
                                       char **text, fplt_error *error);

#endif
