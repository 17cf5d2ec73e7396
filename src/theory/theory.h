/* Shared inside the theory module. */
#ifndef FPLT_THEORY_THEORY_H
#define FPLT_THEORY_THEORY_H

#include <stdint.h>

#include "fedplt/theory.h"

/* The automatic values behind `fplt_theory_` ones, by 1/rho, which may be 0 or negative: the penalty
 * that makes exact splitting contract most, the step of gradient descent that contracts most, its
 * limit, and the accelerated step with its own limit for momentum b. */
double fplt__penalty(double lowest, double highest);
double fplt__gradient_step(double lowest, double highest, double inverse_rho);
double fplt__gradient_step_limit(double highest, double inverse_rho);
double fplt__accelerated_step(double highest, double inverse_rho);
/* For accelerated local training whose agents must move alike. */
double fplt__hurried_step(double highest, uint32_t epochs);
double fplt__accelerated_step_limit(double lowest, double highest, double inverse_rho);
/* The momentum b = (sqrt M - sqrt m)/(sqrt M + sqrt m) of d, m and M its least and largest curvature
 * [Fed-PLT, accelerated gradient descent]. */
double fplt__momentum(double lowest, double highest, double inverse_rho);

/* 1 + q + ... + q^(terms - 1), accurate near q = 1. */
double fplt__geometric(double q, double terms);

/* The rate over `points` curvatures, without refinement: what a search compares. */
fplt_theory_rate fplt__quadratic_scan(const fplt_theory_problem *problem,
                                      const fplt_theory_parameters *parameters, unsigned points);

/* The problem with a strong convexity that is above 0 [Fed-PLT needs one to choose rho]. */
fplt_theory_problem fplt__theory_convexified(const fplt_theory_problem *problem);

#endif
