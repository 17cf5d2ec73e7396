/* Table 1 over a network: what a site releases of its own table as numbers that can be sent, and the table of all sites
 * from these numbers. The columns are those of a schema, so that every site sends the same numbers in the same order. */
#ifndef FPLT_STUDY_TABLE_ONE_WORDS_H
#define FPLT_STUDY_TABLE_ONE_WORDS_H

#include "data/schema.h"
#include "study/table_one.h"

/* Of settings with a schema: the column whose levels are the strata (NULL: none), whether a column is described, and the groups of
 * rows: the strata and the rows without one, or all rows. */
const fplt__declared *fplt__table_one_strata_by(const fplt_describe_settings *settings);
int fplt__table_one_describes(const fplt_describe_settings *settings, const fplt__declared *column);
size_t fplt__table_one_groups(const fplt_describe_settings *settings);

/* Refuses settings that do not fix the numbers: no schema of a CSV file, no grid, tables of two columns, or strata that are not
 * declared levels. */
fplt_status fplt__table_one_check(const fplt_describe_settings *settings, fplt_error *error);

/* Numbers that a site sends, two words each; of settings that fplt__table_one_check() accepts, as below. */
uint64_t fplt__table_one_sent(const fplt_describe_settings *settings);
/* Columns that are described. */
uint64_t fplt__table_one_described(const fplt_describe_settings *settings);
/* Numbers of them that say something about `rows` rows, at most: no cell with fewer than `minimum` values is sent. */
uint64_t fplt__table_one_cost(const fplt_describe_settings *settings, uint64_t rows,
                              size_t minimum);

/* What the one site of a description releases. FPLT_BAD_DATA: a declared column is missing. */
fplt_status fplt__table_one_export(const fplt_description *description, uint64_t *words,
                                   fplt_error *error);

/**
 * The table of all sites.
 *
 * @param settings  as at the sites but for the minimum, which each site sends; borrowed for the life of the description
 * @param names     one a site
 * @param words     one array a site, as fplt__table_one_export() writes it; untrusted
 * @retval FPLT_BAD_DATA  the numbers of a site cannot be; the message names it
 */
fplt_status fplt__table_one_import(const fplt_describe_settings *settings, const char *const *names,
                                   const uint64_t *const *words, size_t sites,
                                   fplt_description **description, fplt_error *error);

#endif
