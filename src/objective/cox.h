/* Cox's partial likelihood over all records of an agent. */
#ifndef FPLT_OBJECTIVE_COX_H
#define FPLT_OBJECTIVE_COX_H

#include "objective/loss.h"

void fplt__cox_value(const fplt__block *block, double *m);
void fplt__cox_slope(const fplt__block *block, double *m);
void fplt__cox_curve(const fplt__block *block, double *m);
void fplt__cox_bend(const fplt__block *block, const double *curve, double *u);

#endif
