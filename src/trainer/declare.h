/* The defaults for data of your own, where they are not those of a whole training: a federation's
 * settings are the job's without files, threads and checkpoints. */
#ifndef FPLT_TRAINER_DECLARE_H
#define FPLT_TRAINER_DECLARE_H

#include "fedplt/trainer.h"

/* The tables of `parts` of a job (FPLT_JOB_*) and what fplt_trainer_prefer adds; the algorithm is the one
 * that suits where none is given. `given` may also know `quorum`: rounds may then close without some. */
fplt_status fplt__trainer_declare(fplt_settings *settings, unsigned parts, int own_data,
                                  fplt_given given, void *context, fplt_error *error);
/* Why this is the default for data of your own; NULL: it is not. */
const char *fplt__trainer_reason(const char *name, const char *value);

#endif
