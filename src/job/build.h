/* The inside of a job, and the steps that build it: job_data.c, job_cost.c and job_run.c, called by job.c in this
 * order. */
#ifndef FPLT_JOB_BUILD_H
#define FPLT_JOB_BUILD_H

#include "fedplt/job.h"
#include "fedplt/transform.h"

/* `view` points into what is owned here, or at what the source lends. */
struct fplt_job {
    fplt_job_view view;
    fplt_dataset *training, *held_out; /* owned, as is all below */
    fplt_transform transform;
    fplt_objective *objective;
    fplt_prox *prox;
    fplt_participation *participation;
    fplt_training *each;
    double *start;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_auto automatic;
    char reason[sizeof((fplt_auto *)0)->about_algorithm]; /* for an automatic algorithm */
};

/* Given, where the command at hand has such a setting at all. */
int fplt__job_setting_wished(const fplt_settings *settings, const char *name);

/* Number of items of a list, as fplt__list_next separates them. */
size_t fplt__job_list_length(const char *list);

/* Reads or generates the rows, or takes those of `source`; divides them, holds rows out and transforms both sets. The
 * caller owns what comes out. If it fails, the rows of `source` are destroyed too, and all three are empty. */
fplt_status fplt__job_build_data(const fplt_settings *settings, uint32_t run,
                                 const fplt_job_source *source, fplt_dataset **training,
                                 fplt_dataset **held_out, fplt_transform *transform,
                                 fplt_error *error);

/* Data, objective and h: everything of the view that the steps below need. */
fplt_status fplt__job_build_costs(fplt_job *job, const fplt_settings *settings, uint32_t run,
                                  const fplt_job_source *source, fplt_error *error);

/* Participation and local training, for all agents or one by one. Needs the costs. */
fplt_status fplt__job_build_training(fplt_job *job, const fplt_settings *settings,
                                     const fplt_job_source *source, fplt_error *error);

/* The algorithm with its parameters, and the settings of the run; `number` is that of the Monte Carlo run. Needs the
 * training. */
fplt_status fplt__job_build_run(fplt_job *job, const fplt_settings *settings,
                                const fplt_job_source *source, uint32_t number, fplt_error *error);

/* The column of the clusters that have a random intercept; NULL: the agents, or the loss has none. */
const char *fplt__job_cluster(const fplt_settings *settings);

/* Turns what is auto into numbers; agents with no epochs of their own (0) take the common ones. With `public_only`
 * nothing is read from the data. `own_data`: rows that were given, not generated. */
fplt_status fplt__job_resolve_auto(fplt_job *job, const fplt_settings *settings, int public_only,
                                   int own_data, fplt_error *error);

#endif
