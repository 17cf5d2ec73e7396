/* The sums behind standard errors: how they are made, beside fedplt/inference.h. */
#ifndef FPLT_REPORT_INFERENCE_H
#define FPLT_REPORT_INFERENCE_H

#include "fedplt/inference.h"

/* At x, from costs over records. FPLT_UNSUPPORTED for a caller's own costs. */
fplt_status fplt__inference_from_objective(const fplt_objective *objective, const char *loss,
                                           const double *x, int penalised, int by_rows,
                                           fplt_inference *inference, fplt_error *error);

/* Releases what the struct owns; a zeroed struct is legal. */
void fplt__inference_clear(fplt_inference *inference);

#endif
