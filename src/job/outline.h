/* A job without its data: what the settings say of any rows of one form. A plan is made from it by who
 * sees no rows, as the coordinator of a federation. */
#ifndef FPLT_JOB_OUTLINE_H
#define FPLT_JOB_OUTLINE_H

#include "fedplt/job.h"

/* What all data sets of a run have in common. */
typedef struct fplt__form {
    fplt_task task;
    size_t features;
    uint32_t outputs; /* classes; 1 in regression */
    int dense;
    int custom; /* the cost is the agents' own: `features` parameters, and nothing else is known of it */
    int withheld; /* not every site lets Hessians leave: no automatic algorithm sends them */
} fplt__form;

/* The form of data that are read by it. */
fplt__form fplt__schema_form(const fplt_schema *schema);
/* The same of the columns that the settings' formula makes of them, where there is one (fplt__design_declare). */
fplt_status fplt__declared_form(const fplt_settings *settings, const fplt_schema *schema,
                                fplt__form *form, fplt_error *error);

/* Texts are borrowed from the settings; `run.parameter` points into the struct, which must stay where
 * it is. */
typedef struct fplt__outline {
    fplt__form form;
    fplt_objective_settings cost; /* of a custom cost its word `custom` and no regulariser */
    fplt_objective *objective;    /* of a few rows of zeros; of a custom cost zero everywhere */
    fplt_prox *prox;
    fplt_participation *participation;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_run_settings run;
    char reason[384]; /* for an automatic algorithm; empty: it was given */
    size_t dimension;
} fplt__outline;

/* The settings need the parts cost, composite, algorithm, training, participation and run; the source
 * is what fplt_promise_prepare made of it. Cleared on failure. */
fplt_status fplt__outline_make(const fplt_settings *settings, const fplt_job_source *source,
                               const fplt__form *form, uint32_t agents, fplt__outline *outline,
                               fplt_error *error);
void fplt__outline_clear(fplt__outline *outline);

#endif
