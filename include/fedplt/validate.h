/* Performance on unseen rows: cross-validation over a grid of one setting, and the
 * comparison of a federation with each site alone and with all rows in one place.
 *
 * Threads and blocking: both runs block until they are over and use the threads of a trainer; the watch is called in the
 * calling thread. They change the settings that they borrow: use those in no other thread meanwhile. */
#ifndef FEDPLT_VALIDATE_H
#define FEDPLT_VALIDATE_H

#include "fedplt/assessment.h"
#include "fedplt/inference.h"
#include "fedplt/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Cross-validation ---- */

typedef struct fplt_validate_settings {
    fplt_settings *settings;     /* of a trainer (borrowed); the searched one is overwritten */
    const fplt_dataset *dataset; /* borrowed: as read, before transforms */
    const char *name;            /* setting that is searched: eps, h-weight */
    const double *values;        /* borrowed */
    size_t count;
    uint32_t
        folds; /* each site's rows are dealt out into so many; 0: one site is left out in turn */
    uint64_t seed;    /* of the dealing */
    fplt_watch watch; /* may be NULL */
    void *context;
    fplt_ranks
        *ranks; /* borrowed: processes over which whole runs are spread; NULL: this one alone */
    const uint32_t
        *fold; /* borrowed: fold of every row, below `folds`; NULL: they are dealt by the seed */
} fplt_validate_settings;

typedef struct fplt_validation {
    fplt_validate_point *point; /* owned, in the order of the values */
    size_t count;
    size_t best;         /* least mean loss */
    size_t chosen;       /* the largest value whose loss is within one standard error of the best */
    uint32_t folds;      /* there were */
    uint32_t *fold;      /* owned: of every row, in the order of the data set */
    const char *quality; /* name of the measure: auc, accuracy, rmse, concordance */
    int stopped;         /* by the watch: nothing is chosen */
} fplt_validation;

/* Refused with privacy: losses on records would leave without noise. */
FPLT_API fplt_status fplt_validate_run(const fplt_validate_settings *settings,
                                       fplt_validation *validation, fplt_error *error);
/* Releases what the struct owns; a zeroed struct is legal. */
FPLT_API void fplt_validation_clear(fplt_validation *validation);

/* ---- Baselines ---- */

typedef struct fplt_baseline_settings {
    fplt_settings *const
        *methods;             /* of trainers (borrowed); the first is also what sites do alone */
    const char *const *names; /* of the methods */
    size_t count;
    const fplt_dataset *dataset; /* borrowed: as read, before transforms */
    double holdout;              /* share of each site's rows that is only measured */
    uint32_t resamples;          /* of the held-out rows, for the intervals; 0: none */
    double level;                /* of the intervals */
    uint64_t seed;
    fplt_watch watch; /* may be NULL */
    void *context;
} fplt_baseline_settings;

/* One method on the held-out rows of one site. */
typedef struct fplt_baseline_cell {
    double quality, low, high; /* NaN where there is none */
    size_t rows;               /* 0: not measured */
} fplt_baseline_cell;

typedef struct fplt_baseline {
    size_t methods; /* sites alone, then pooled, then those given */
    uint32_t sites;
    char (*name)[96]; /* owned: of the methods */
    /* owned: methods x (sites + 1), the last over all rows. With more than 20 sites the model of a site alone is measured at
     * that site, and over all rows without an interval, so that the time grows with the sites and not with their square. */
    fplt_baseline_cell *cell;
    const char *quality;
    int stopped;
} fplt_baseline;

/* Refused with privacy. */
FPLT_API fplt_status fplt_baseline_run(const fplt_baseline_settings *settings,
                                       fplt_baseline *baseline, fplt_error *error);
/* Releases what the struct owns and zeroes it; a zeroed struct is legal, NULL is not. */
FPLT_API void fplt_baseline_clear(fplt_baseline *baseline);

#ifdef __cplusplus
}
#endif
#endif
