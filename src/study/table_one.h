/* Table 1 of a paper: what every column holds, by site, in all, and by a stratum. */
#ifndef FPLT_STUDY_TABLE_ONE_H
#define FPLT_STUDY_TABLE_ONE_H

#include "fedplt/study.h"
#include "study/crosstab.h"

/* Stratum 0 is all rows; names belong to the table. */
size_t fplt__table_one_strata(const fplt_description *table);
const char *fplt__table_one_stratum(const fplt_description *table, size_t stratum);
size_t fplt__table_one_columns(const fplt_description *table);
const char *fplt__table_one_column(const fplt_description *table, size_t column);
/* Levels of a category in their order, 0 of a column of numbers; the name of one. */
size_t fplt__table_one_levels(const fplt_description *table, size_t column);
const char *fplt__table_one_level(const fplt_description *table, size_t column, size_t level);

/* Rows of a group; rows of it without a value; rows with a level (of a column of numbers, level 0: with a number). */
fplt__count fplt__table_one_rows(const fplt_description *table, size_t site, size_t stratum);
fplt__count fplt__table_one_missing(const fplt_description *table, size_t column, size_t site,
                                    size_t stratum);
fplt__count fplt__table_one_count(const fplt_description *table, size_t column, size_t level,
                                  size_t site, size_t stratum);

/* Of a column of numbers. NaN where it is withheld or not defined. */
typedef struct fplt__table_one_number {
    double mean, deviation; /* divisor n - 1 */
    double quartile[3];
    double
        resolution; /* with a grid: the largest width of a cell in which a quartile lies; otherwise 0 */
} fplt__table_one_number;
fplt__table_one_number fplt__table_one_numbers(const fplt_description *table, size_t column,
                                               size_t site, size_t stratum);

/* Standardised mean difference between the strata of a site, without strata between the sites (site 0), the mean over all
 * pairs [Yang and Dalton 2012]; NaN where there is none, or a number it needs is withheld. */
double fplt__table_one_difference(const fplt_description *table, size_t column, size_t site);

/* Table of two columns, number `index`; returns 0 past the last. Texts belong to the table; levels as in the file, a missing
 * value last as NULL. */
typedef struct fplt__table_one_cross {
    const char *row, *column;
    size_t rows, columns;
} fplt__table_one_cross;
int fplt__table_one_cross_get(const fplt_description *table, size_t index,
                              fplt__table_one_cross *cross);
const char *fplt__table_one_cross_level(const fplt_description *table, size_t index, int of_column,
                                        size_t level);
/* A cell, or a total: row `rows`, column `columns`. */
fplt__count fplt__table_one_cross_count(const fplt_description *table, size_t index, size_t site,
                                        size_t row, size_t column);

/* A table of two columns, at one site or (0) in all. */
fplt_status fplt__table_one_cross_print(const fplt_description *table, size_t index, size_t site,
                                        fplt_table **out, fplt_error *error);

#endif
