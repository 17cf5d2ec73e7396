/* Shared inside the theory module. */
#ifndef FPLT_THEORY_THEORY_H
#define FPLT_THEORY_THEORY_H

#include "fedplt/theory.h"

/* 1 + q + ... + q^(terms - 1), accurate near q = 1. */
double fplt__geometric(double q, double terms);

/* The rate over `points` curvatures, without refinement: what a search compares. */
fplt_theory_rate fplt__quadratic_scan(const fplt_theory_problem *problem,
                                      const fplt_theory_parameters *parameters, unsigned points);

/* The problem with a strong convexity that is above 0 [Fed-PLT needs one to choose rho]. */
fplt_theory_problem fplt__theory_convexified(const fplt_theory_problem *problem);

#endif
