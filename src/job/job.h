/* What a job's siblings above share. */
#ifndef FPLT_JOB_JOB_H
#define FPLT_JOB_JOB_H

#include "fedplt/job.h"

/* The model that is handed out: the coordinator's, or the mean of the agents' own. */
fplt_status fplt__job_weights(const fplt_job_view *view, fplt_engine *engine, double *x,
                              fplt_error *error);

#endif
