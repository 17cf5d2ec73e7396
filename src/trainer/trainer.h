/* What the program asks a trainer, beside fedplt/trainer.h. */
#ifndef FPLT_TRAINER_TRAINER_H
#define FPLT_TRAINER_TRAINER_H

#include "fedplt/trainer.h"

/* Of a resumed run, before it runs: the measurements up to its checkpoint, from a file as
 * fplt__history_csv writes it. Elsewhere nothing is done. */
fplt_status fplt__trainer_recall(fplt_trainer *trainer, const char *path, fplt_error *error);

/* The information in the records: the sum of the loss's Hessian at x over all of them, without the
 * regulariser, row-major n x n. A record counts as it does in the objective, on average once. Its
 * inverse is the covariance of unpenalised estimates. Refused with privacy and with own costs. */
fplt_status fplt__trainer_information(fplt_trainer *trainer, const double *x, double *matrix,
                                      fplt_error *error);

#endif
