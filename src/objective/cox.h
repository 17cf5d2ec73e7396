/* Cox's partial likelihood over all records of an agent. */
#ifndef FPLT_OBJECTIVE_COX_H
#define FPLT_OBJECTIVE_COX_H

#include "objective/loss.h"

/* The parameter of the loss: how events of equal times are treated. */
enum { FPLT__TIES_BRESLOW, FPLT__TIES_EFRON };

void fplt__cox_value(const fplt__block *block, double *m);
void fplt__cox_slope(const fplt__block *block, double *m);
void fplt__cox_curve(const fplt__block *block, double *m);
void fplt__cox_curvature_bounds(const fplt__block *block, const double *curve, double *u);
void fplt__cox_score(const fplt__block *block, const double *curve, double *u);

#endif
