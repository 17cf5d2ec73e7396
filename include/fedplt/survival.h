/* Survival: Kaplan-Meier curves by site and stratum from CSV, and what follows from a Cox model and rows: baseline hazards,
 * survival of new patients, and the test of proportional hazards.
 *
 * Threads and blocking: thread-safe for different curves and hazards; one may be read by several threads. Files are read by
 * the calling thread, everything else only computes. */
#ifndef FEDPLT_SURVIVAL_H
#define FEDPLT_SURVIVAL_H

#include <stddef.h>

#include "fedplt/model.h"
#include "fedplt/read.h"
#include "fedplt/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Scale on which the interval of a curve is symmetric: log S(t), log(-log S(t)), S(t). As conf.type of R's survfit. */
typedef enum fplt_survival_interval {
    FPLT_SURVIVAL_LOG,
    FPLT_SURVIVAL_LOG_LOG,
    FPLT_SURVIVAL_PLAIN
} fplt_survival_interval;

/* ---- curves ---- */

typedef struct fplt_survival fplt_survival;

/* Texts are borrowed for the life of the curves. Zeroed but for `read` and `level`: by the schema, exact, nothing withheld. */
typedef struct fplt_survival_settings {
    const fplt_read_settings *read; /* as for Table 1; not NULL */
    const char *time, *event; /* columns; NULL: those of the schema, otherwise `time` and `event` */
    const char
        *happened;     /* value of the event column that means an event; NULL: the second class of
                                 the schema, otherwise 1, where all others are 0 */
    const char *by;    /* column whose values are the strata; NULL: none */
    const char *grid;  /* one number: the width of cells; several: boundaries; NULL: every time */
    const char *times; /* at which the table of times has curves; NULL: ticks of the axis */
    size_t
        minimum; /* a curve ends where fewer are at risk; 0: nowhere. With a grid cells are merged until no step has fewer
                          events, or fewer who leave, than this number and more than none */
    fplt_survival_interval interval;
    double level; /* of the intervals, between 0 and 1 */
} fplt_survival_settings;

/**
 * Reads CSV files. Each file is a site, unless a column says which site a row is of.
 *
 * Every site and stratum is put on the grid and cut by the minimum by itself. All that follows, for all sites and all strata
 * as well, comes from the sums of these life tables, so that no difference of two tables has a smaller group. Rows without a
 * time, event or stratum are left out; a note says how many.
 *
 * @param paths     `count` files, at least one
 * @param settings  not NULL
 * @param survival  out: released with fplt_survival_destroy(); NULL on failure
 * @retval FPLT_OK
 * @retval FPLT_BAD_VALUE  a column that is named is not there, or a grid or time is no increasing list of numbers above 0
 * @retval FPLT_BAD_DATA   a file cannot be read, a time is no number of at least 0, an event is none, or there are no rows
 * @retval FPLT_IO, FPLT_NO_MEMORY
 */
FPLT_API fplt_status fplt_survival_create(const char *const *paths, size_t count,
                                          const fplt_survival_settings *settings,
                                          fplt_survival **survival, fplt_error *error);
/**
 * The same of a CSV text in memory, for programs that hold their rows.
 *
 * @param name  what messages call the text, and the site of its rows where no column says it; borrowed for the call
 * @param text  `size` bytes of UTF-8, borrowed for the call
 */
FPLT_API fplt_status fplt_survival_create_text(const char *name, const char *text, size_t size,
                                               const fplt_survival_settings *settings,
                                               fplt_survival **survival, fplt_error *error);
/* Releases curves; NULL is legal. */
FPLT_API void fplt_survival_destroy(fplt_survival *survival);
/* A sentence for the reader: number `index`; NULL past the last. Belongs to the curves. */
FPLT_API const char *fplt_survival_note(const fplt_survival *survival, size_t index);

/* Tables of curves. A missing site or stratum is all of them.
 *   CURVES  one line a curve: rows, events, median and its interval
 *   TIMES   every curve at chosen times: at risk, events so far, survival and its interval; missing past the end of a curve
 *   STEPS   every step of every curve
 *   TESTS   log-rank tests: of the strata, of the strata within sites; without strata of the sites; empty where there is one group
 *   GROUPS  the observed and expected events of every group of these tests */
typedef enum fplt_survival_part {
    FPLT_SURVIVAL_CURVES,
    FPLT_SURVIVAL_TIMES,
    FPLT_SURVIVAL_STEPS,
    FPLT_SURVIVAL_TESTS,
    FPLT_SURVIVAL_GROUPS
} fplt_survival_part;

/* Makes one of the tables, released with fplt_table_destroy. FPLT_NO_MEMORY is the only failure. */
FPLT_API fplt_status fplt_survival_tabulate(const fplt_survival *survival, fplt_survival_part part,
                                            fplt_table **table, fplt_error *error);

/* ---- hazards of a Cox model ---- */

/* The baseline hazard of every site. */
typedef struct fplt_hazard fplt_hazard;

/* Texts are borrowed for the life of the hazard. Zeroed but for `level`: every time, nothing withheld, every site. */
typedef struct fplt_hazard_settings {
    const char *grid;  /* as for survival curves */
    size_t minimum;    /* the hazard of a site ends where fewer are at risk; 0: nowhere */
    const char *times; /* of predictions; NULL: about six */
    const char *site;  /* whose baseline hazard counts in predictions; NULL: every site */
    fplt_survival_interval interval;
    double level; /* of the intervals, between 0 and 1 */
} fplt_hazard_settings;

/**
 * Estimates the hazard of each site from rows that fplt_model_dataset() gave for the model, or that fplt_transform_apply()
 * changed by the model's transform.
 *
 * The increments are those of Breslow (1974) or Efron (1977), as the model treats ties; each site is a stratum.
 *
 * @param model   of the loss cox, with the sums behind standard errors (fplt_model_infer()); must outlive the hazard
 * @param hazard  out: released with fplt_hazard_destroy(); NULL on failure
 * @retval FPLT_OK
 * @retval FPLT_BAD_VALUE    a setting is not legal, or there is no such site
 * @retval FPLT_UNSUPPORTED  the model is not of the loss cox, or was trained with privacy
 * @retval FPLT_NO_MEMORY
 */
FPLT_API fplt_status fplt_hazard_create(const fplt_model *model, const fplt_dataset *dataset,
                                        const fplt_hazard_settings *settings, fplt_hazard **hazard,
                                        fplt_error *error);
/* Releases a hazard; NULL is legal. */
FPLT_API void fplt_hazard_destroy(fplt_hazard *hazard);
/* A sentence for the reader: number `index`; NULL past the last. Belongs to the hazard. */
FPLT_API const char *fplt_hazard_note(const fplt_hazard *hazard, size_t index);

/* One line for each site and time with an event: those at risk, events, increment and sum of the hazard of a row whose columns
 * are all 0, and its survival. The table is released with fplt_table_destroy. FPLT_NO_MEMORY is the only failure. */
FPLT_API fplt_status fplt_hazard_tabulate(const fplt_hazard *hazard, fplt_table **table,
                                          fplt_error *error);
/* Survival of new rows, as fplt_model_dataset() gave them without labels. `patients` has the median of every row and site,
 * `times` survival at the times. Intervals count the errors of coefficients and baseline [Tsiatis 1981]; they are missing where
 * the model has a penalty. Both tables are released with fplt_table_destroy. FPLT_BAD_VALUE for rows with another number of
 * features; FPLT_NO_MEMORY. */
FPLT_API fplt_status fplt_hazard_predict(const fplt_hazard *hazard, const fplt_dataset *rows,
                                         fplt_table **patients, fplt_table **times,
                                         fplt_error *error);

/* How time enters the test of proportional hazards: 1 - S(t-) of the Kaplan-Meier estimate over all rows, t, log t, or the rank
 * of t among all rows. */
typedef enum fplt_hazard_transform {
    FPLT_HAZARD_KM,
    FPLT_HAZARD_IDENTITY,
    FPLT_HAZARD_LOG,
    FPLT_HAZARD_RANK
} fplt_hazard_transform;

/**
 * Tests whether hazards are proportional: the score test of coefficients that change with g(t) [Grambsch and Therneau 1994], as
 * cox.zph of R's package survival from version 3 on computes it. Sites are strata.
 *
 * @param model    refitted to the rows without a penalty (fplt_model_infer()): the score is then 0 in the coefficients
 * @param dataset  the rows, as for fplt_hazard_create()
 * @param columns  one line for each column; 0: one for each term, where the levels of a category (`category=level`) go together
 * @param table    out: name, chi squared, freedom, p; the last line is of all of them, and its name is GLOBAL. Released with
 *                 fplt_table_destroy()
 * @retval FPLT_OK
 * @retval FPLT_BAD_DATA, FPLT_UNSUPPORTED, FPLT_NO_MEMORY
 */
FPLT_API fplt_status fplt_hazard_test(const fplt_model *model, const fplt_dataset *dataset,
                                      fplt_hazard_transform transform, int columns,
                                      fplt_table **table, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
