/* What the parts of the paper's tables share: setups, each run once however many tables show it. */
#ifndef FPLT_LAB_PAPER_PAPER_H
#define FPLT_LAB_PAPER_PAPER_H

#include "lab/tuning/crew.h"
#include "lab/tuning/problem.h"
#include "lab/tuning/tuning.h"
#include "fedplt/paper.h"

enum fplt__paper_problem {
    FPLT__CONVEX,
    FPLT__NONCONVEX,
    FPLT__LARGE, /* n = 100, classes as far apart as at n = 5 */
    FPLT__FAR,   /* n = 100, classes farther apart: spread 1 as at n = 5 */
    FPLT__PROBLEMS
};

/* What is run. Rounds do not depend on t_G and t_C, so a setup serves every such column. */
typedef struct fplt__setup {
    enum fplt__paper_problem problem;
    const char *algorithm, *solver;
    uint32_t active; /* agents a round, drawn; 0: all */
    uint32_t epochs;
    double rho;      /* given; 0: searched */
    int plain;       /* nothing is searched */
    double variance; /* tau^2 of noisy training; 0: none */
} fplt__setup;

/* What came of it. */
typedef struct fplt__entry {
    fplt__setup setup;
    fplt__method method;
    int random, carried;            /* carried: tuned on the first data set only */
    const struct fplt__entry *base; /* noisy training takes the parameters of this one */
    fplt_participation *partial;    /* owned, or NULL: all */
    char refusal[512];              /* empty: it runs */
    fplt__tuned *tuned;             /* owned, as below; one a data set */
    fplt__judged *judged;
    double *error;        /* noisy training: the asymptotic error */
    char parameters[160]; /* on the first data set */
} fplt__entry;

/* A figure that a table wants. */
typedef struct fplt__wish {
    fplt__setup setup;
    const char *row, *column;
    double gradient_time, communication_time;
} fplt__wish;

typedef struct fplt__wishes {
    fplt__wish *wishes; /* owned */
    size_t count, capacity;
} fplt__wishes;

struct fplt__paper_form {
    const char *name, *label, *title, *quantity, *note;
    fplt_status (*wish)(fplt__wishes *wishes, fplt_error *error);
};

extern const struct fplt__paper_form fplt__paper_forms[FPLT_PAPER_TABLES];

/* All setups of an experiment, run on every data set. */
typedef struct fplt__bench {
    fplt_paper_settings settings;
    fplt__entry **entries; /* owned */
    size_t count, capacity;
    fplt__tuning_problem *scenes; /* owned; FPLT__PROBLEMS x seeds, some empty */
} fplt__bench;

/* The entry of a setup, made when there is none yet. */
fplt_status fplt__bench_add(fplt__bench *bench, const fplt__setup *setup, fplt__entry **entry,
                            fplt_error *error);
fplt_status fplt__bench_run(fplt__bench *bench, fplt_error *error);
void fplt__bench_clear(fplt__bench *bench);

/* Sentences about a table, from its cells. */
typedef struct fplt__remarks {
    char text[FPLT_PAPER_REMARKS][900];
    size_t count;
} fplt__remarks;

void fplt__paper_remark(const fplt_paper_table *table, fplt__remarks *remarks);

/* The paper's own figures: number `index`; NULL past the last. */
typedef struct fplt__paper_figure {
    const char *label; /* of the table in the paper's source */
    const char *row, *column;
    double value;
} fplt__paper_figure;

const fplt__paper_figure *fplt__paper_figure_list(size_t index);

/* The paper's own figure; NaN where it has none. `label` is that of the table in its source. */
double fplt__paper_figure_find(const char *label, const char *row, const char *column);

#endif
