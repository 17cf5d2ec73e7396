/* The tables of the paper's section "Numerical Results", computed anew and put beside the paper's own
 * figures.
 *
 * Threads and blocking: fplt_paper_create blocks until all tables are computed and starts `threads` threads that end with it;
 * the watch is called in any of them, never in two at once. The tables do not change: any number of threads may read them. */
#ifndef FEDPLT_PAPER_H
#define FEDPLT_PAPER_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/ranks.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FPLT_PAPER_TABLES = 8, FPLT_PAPER_REMARKS = 12 };

typedef struct fplt_paper_settings {
    unsigned tables;  /* bit i: table number i of fplt_paper_list */
    uint64_t seed;    /* of the data whose figures are shown; it tunes and judges */
    uint32_t seeds;   /* data sets behind the medians: seed, seed + 1, ... */
    uint32_t runs;    /* Monte Carlo runs where there is randomness */
    unsigned points;  /* of a search: the same for every method */
    unsigned threads; /* 0: one a core */
    fplt_watch watch; /* or NULL */
    void *context;
    /* Asked with `context` after every round of every run, from all threads at once: non-zero ends the
     * experiment, not only between two steps as the watch does. NULL: never. */
    int (*stop)(void *context);
    fplt_ranks
        *ranks; /* borrowed: processes over which whole runs are spread; NULL: this one alone */
} fplt_paper_settings;

/* All tables, seed 0, 20 data sets, 100 runs, 25 points. */
FPLT_API fplt_paper_settings fplt_paper_defaults(void);

/* The tables there are: number (II to IX), the label in the paper's source, title; NULL past the
 * last. */
FPLT_API const char *fplt_paper_list(size_t index, const char **label, const char **title);

/* One figure. A time is the paper's: t_G a local gradient, t_C a round trip, of all active agents. */
typedef struct fplt_paper_cell {
    const char *row, *column; /* "Fed-PLT", "t_C = 10" */
    double paper;             /* NaN: the paper has none */
    double ours;    /* on the first data set, mean over the runs that reached the criterion;
                                 HUGE_VAL: none did; NaN: refused */
    double charged; /* a time with every gradient charged, where the paper leaves one out */
    double low, median, high; /* of `ours` over the data sets: least, median, largest */
    double rounds;            /* on the first data set; NaN where the figure is no time */
    uint32_t runs, failures;  /* on the first data set */
    uint32_t failed_sets;     /* data sets on which no run reached the criterion */
    int tuned_each;  /* parameters tuned on every data set; otherwise on the first, and carried
                                 to the others as factors of the automatic values */
    unsigned points; /* of the search; 0: nothing was searched */
    const char *parameters; /* "rho 0.45, gamma 0.31", on the first data set */
    const char *refusal;    /* why the method cannot do this, or NULL */
} fplt_paper_cell;

typedef struct fplt_paper_table {
    const char *name, *label, *title, *quantity;
    const char *note; /* how it was computed, or NULL */
    size_t count;
    const fplt_paper_cell *cells;
    size_t remarks;
    const char *const *remark; /* what follows from the figures: sentences */
} fplt_paper_table;

typedef struct fplt_paper fplt_paper;

/* FPLT_FAILED when the watch, or `stop`, asked to stop. */
FPLT_API fplt_status fplt_paper_create(const fplt_paper_settings *settings, fplt_paper **paper,
                                       fplt_error *error);
/* Releases the tables and every view of them; NULL is legal. */
FPLT_API void fplt_paper_destroy(fplt_paper *paper);
/* Table number `index` of those asked for; NULL past the last. */
FPLT_API const fplt_paper_table *fplt_paper_get_view(const fplt_paper *paper, size_t index);

#ifdef __cplusplus
}
#endif
#endif
