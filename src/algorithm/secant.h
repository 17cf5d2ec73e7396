/* L-BFGS [Nocedal 1980] at a coordinator: pairs s = change of x, y = change of the gradient between accepted points, and the
 * direction they give. With h, the direction leads to the minimiser of the quadratic model of the pairs plus h, in which the
 * matrix is the compact form of Byrd, Nocedal and Schnabel (1994). */
#ifndef FPLT_ALGORITHM_SECANT_H
#define FPLT_ALGORITHM_SECANT_H

#include "algorithm/descent.h"

enum { FPLT__SECANT_PAIRS, FPLT__SECANT_FIRST_STEP }; /* the parameters of both forms */
extern const fplt_setting fplt__secant_settings[];

/* The coordinator's numbers behind those of the line search: pairs that are kept, and the place of the next. */
enum { FPLT__SECANT_COUNT = FPLT__DESCENT_NUMBERS, FPLT__SECANT_NEXT, FPLT__SECANT_NUMBERS };

/* Vectors and working memory of the coordinator. */
void fplt__secant_reshape(const double *parameter, size_t dimension, fplt_shape *shape);
/* first-step: auto */
void fplt__secant_choose(const fplt_facts *facts, double *parameter);
/* The sums at x + t d are there: accepts the point, keeps the pair and aims anew, or shortens t. */
void fplt__secant_arrive(fplt_coordinator *coordinator, const double *gradient, double value);

#endif
