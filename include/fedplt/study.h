/* Tables of a study: Table 1 of a paper, and meta-analysis of estimates that each site made alone.
 *
 * Threads and blocking: thread-safe for different descriptions; a description may be read by several threads. Files are
 * read by the calling thread, everything else only computes. */
#ifndef FEDPLT_STUDY_H
#define FEDPLT_STUDY_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/read.h"
#include "fedplt/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Table 1 ---- */

/* What every column holds, by site, in all, and by a stratum. */
typedef struct fplt_description fplt_description;

/* Texts and `read` are borrowed for the life of the description. Zeroed but for `read`: exact, nothing withheld. */
typedef struct fplt_describe_settings {
    /* decimal, dates, missing_codes, separator, no_header, site, id, ignore, columns, categories and schema count; not NULL */
    const fplt_read_settings *read;
    const char *by;     /* column whose values are the strata; NULL: none */
    const char *cross;  /* tables of two columns, "a:b,c:d"; NULL: none */
    const char *bounds; /* of columns of numbers, "age=18..100"; those of the schema besides */
    uint32_t cells;     /* of the grid on which quantiles are found; 0: exact quantiles */
    size_t minimum;     /* counts below it are withheld; 0 or 1: none is */
    /* with a grid: mean and deviation are withheld where one value has more than this share of the sum
     * of the distances to a bound; 0: never */
    double dominant;
} fplt_describe_settings;

/**
 * Reads CSV files and counts. Each file is a site, unless a column says which site a row is of.
 *
 * @param paths        `count` files, at least one
 * @param settings     not NULL
 * @param description  out: released with fplt_description_destroy(); NULL on failure
 * @retval FPLT_OK
 * @retval FPLT_BAD_VALUE  a column that is named is not there, or a column of numbers has no bounds for the grid
 * @retval FPLT_BAD_DATA   a file cannot be read
 * @retval FPLT_IO, FPLT_UNSUPPORTED, FPLT_NO_MEMORY
 */
FPLT_API fplt_status fplt_describe(const char *const *paths, size_t count,
                                   const fplt_describe_settings *settings,
                                   fplt_description **description, fplt_error *error);
/**
 * The same of a CSV text in memory, for programs that hold their rows.
 *
 * @param name  what messages call the text, and the site of its rows where no column says it; borrowed for the call
 * @param text  `size` bytes of UTF-8, borrowed for the call
 */
FPLT_API fplt_status fplt_describe_text(const char *name, const char *text, size_t size,
                                        const fplt_describe_settings *settings,
                                        fplt_description **description, fplt_error *error);
/* Releases a description; NULL is legal. */
FPLT_API void fplt_description_destroy(fplt_description *description);

/* The number of sites and one more: number 0 of fplt_description_site is all of them, and has no name (NULL). Names belong
 * to the description. */
FPLT_API size_t fplt_description_sites(const fplt_description *description);
FPLT_API const char *fplt_description_site(const fplt_description *description, size_t site);

/* As it is printed in a paper: the strata of a site (0: of all) side by side, or without strata all sites. The table is
 * released with fplt_table_destroy. FPLT_NO_MEMORY is the only failure. */
FPLT_API fplt_status fplt_description_paper(const fplt_description *description, size_t site,
                                            fplt_table **table, fplt_error *error);
/* Every number, one line for each column, level, site and stratum; fplt_description_crosses: every cell of the tables of
 * two columns. Counts have a lowest and a highest value, which differ where they are withheld. The tables are released
 * with fplt_table_destroy. FPLT_NO_MEMORY is the only failure. */
FPLT_API fplt_status fplt_description_list(const fplt_description *description, fplt_table **table,
                                           fplt_error *error);
FPLT_API fplt_status fplt_description_crosses(const fplt_description *description,
                                              fplt_table **table, fplt_error *error);
/* A sentence about values that were left out or withheld, and why: number `index`; NULL past the last. Belongs to the
 * description. */
FPLT_API const char *fplt_description_note(const fplt_description *description, size_t index);

/* ---- meta-analysis ---- */

/* How the variance between the sites (tau^2) is estimated. FIXED: it is 0, all sites have one effect. */
typedef enum fplt_meta_method { FPLT_META_FIXED, FPLT_META_DL, FPLT_META_REML } fplt_meta_method;

typedef struct fplt_meta_settings {
    fplt_meta_method method;
    /* variance of the combined estimate from the spread of the sites, Student's distribution with sites - 1 degrees of
     * freedom [Hartung and Knapp 2001]; not with FIXED */
    int hartung_knapp;
    double level; /* of the interval, between 0 and 1 */
} fplt_meta_settings;

typedef struct fplt_meta_result {
    size_t sites;
    double estimate, error, statistic, p, low, high;
    double tau2;      /* variance between the sites */
    double q, q_p;    /* Cochran's Q and its p with sites - 1 degrees of freedom; NaN of one site */
    double i_squared; /* share of the variance that is between the sites, in percent */
} fplt_meta_result;

/**
 * Combines the estimates of several sites of one quantity. Cannot fail.
 *
 * @param estimate  `sites` numbers, at least one; borrowed for the call
 * @param error     their standard errors, each above 0
 *
 * tau^2 is that of DerSimonian and Laird (1986), or the restricted maximum likelihood; both at least 0. I-squared is
 * tau^2 over tau^2 + s^2, s^2 the typical variance within a site [Higgins and Thompson 2002]; with FIXED (Q - df)/Q, at
 * least 0.
 */
FPLT_API fplt_meta_result fplt_meta_combine(const double *estimate, const double *error,
                                            size_t sites, const fplt_meta_settings *settings);

#ifdef __cplusplus
}
#endif
#endif
