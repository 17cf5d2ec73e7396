/* Multinomial logistic loss: log sum_k exp(m_k) - m_y. */
#ifndef FPLT_OBJECTIVE_SOFTMAX_H
#define FPLT_OBJECTIVE_SOFTMAX_H

#include "objective/loss.h"

void fplt__softmax_value(const fplt__block *block, double *margins);
void fplt__softmax_slope(const fplt__block *block, double *margins);
void fplt__softmax_both(const fplt__block *block, double *margins, double *values);
void fplt__softmax_curve(const fplt__block *block, double *margins);
void fplt__softmax_curvature_bounds(const fplt__block *block, const double *curve,
                                    double *directions);
size_t fplt__softmax_hits(const fplt__block *block, const double *margins);

#endif
