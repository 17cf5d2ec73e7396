/* Survival curves of a study, by site and stratum: from CSV files to life tables, curves, tests and a picture. */
#ifndef FPLT_STUDY_SURVIVAL_H
#define FPLT_STUDY_SURVIVAL_H

#include "fedplt/read.h"
#include "fedplt/report.h"
#include "study/life_table.h"

typedef struct fplt__survival fplt__survival;

/* Texts are borrowed for the life of the curves. Zeroed but for `read` and `level`: by the schema, exact, nothing withheld. */
typedef struct fplt__survival_settings {
    const fplt_read_settings *read; /* as for Table 1 */
    const char *time, *event; /* columns; NULL: those of the schema, otherwise `time` and `event` */
    const char
        *happened;     /* value of the event column that means an event; NULL: the second class of
                                 the schema, otherwise 1, where all others are 0 */
    const char *by;    /* column whose values are the strata; NULL: none */
    const char *grid;  /* one number: the width of cells; several: boundaries; NULL: every time */
    const char *times; /* at which the table of times has curves; NULL: ticks of the axis */
    size_t minimum;    /* a curve ends where fewer are at risk; 0: nowhere */
    fplt__life_interval interval;
    double level; /* of the intervals, between 0 and 1 */
} fplt__survival_settings;

/**
 * Reads CSV files. Each file is a site, unless a column says which site a row is of.
 *
 * Every site and stratum is put on the grid and cut by the minimum by itself. All that follows, for all sites and all strata
 * as well, comes from the sums of these life tables, so that no difference of two tables has a smaller group. Rows without a
 * time, event or stratum are left out; a note says how many.
 *
 * @retval FPLT_BAD_VALUE  a column that is named is not there, or a grid or time is no increasing list of numbers above 0
 * @retval FPLT_BAD_DATA   a file cannot be read, a time is no number of at least 0, an event is none, or there are no rows
 */
fplt_status fplt__survival_create(const char *const *paths, size_t count,
                                  const fplt__survival_settings *settings,
                                  fplt__survival **survival, fplt_error *error);
/* NULL is legal. */
void fplt__survival_destroy(fplt__survival *survival);

/* Site 0 is all of them, stratum 0 all rows; names belong to the curves, that of number 0 is NULL. */
size_t fplt__survival_sites(const fplt__survival *survival);
size_t fplt__survival_strata(const fplt__survival *survival);
const char *fplt__survival_site(const fplt__survival *survival, size_t site);
const char *fplt__survival_stratum(const fplt__survival *survival, size_t stratum);
/* Settled; belongs to the curves. */
const fplt__life_table *fplt__survival_table(const fplt__survival *survival, size_t site,
                                             size_t stratum);
/* A sentence for the reader: number `index`; NULL past the last. */
const char *fplt__survival_note(const fplt__survival *survival, size_t index);

/* One line a curve: site, stratum, rows, events, median and its interval. A missing site or stratum is all of them. */
fplt_status fplt__survival_curves(const fplt__survival *survival, fplt_table **table,
                                  fplt_error *error);
/* Every curve at chosen times: at risk, events so far, survival and its interval. Missing past the end of a curve. */
fplt_status fplt__survival_times(const fplt__survival *survival, fplt_table **table,
                                 fplt_error *error);
/* Every step of every curve. */
fplt_status fplt__survival_steps(const fplt__survival *survival, fplt_table **table,
                                 fplt_error *error);
/* Log-rank tests: of the strata, of the strata within sites; without strata of the sites. `tests` has a line for each, `groups`
 * the observed and expected events of every group. Both are empty where there is one group. */
fplt_status fplt__survival_tests(const fplt__survival *survival, fplt_table **tests,
                                 fplt_table **groups, fplt_error *error);

/* Curves with confidence bands above a table of the numbers at risk, as .svg, .png or .pdf: the strata over all sites, or
 * without strata the sites. FPLT_BAD_VALUE where no curve has a step. */
fplt_status fplt__survival_picture(const fplt__survival *survival, const char *path,
                                   fplt_error *error);

#endif
