/* Losses of generalised linear models whose link is not the canonical one: gamma with the logarithm, and probit; and
 * what families say of a label with its mean. */
#ifndef FPLT_OBJECTIVE_FAMILIES_H
#define FPLT_OBJECTIVE_FAMILIES_H

#include "objective/loss.h"

/* Members of fplt__loss. */
void fplt__gamma_value(const fplt__block *block, double *m);
void fplt__gamma_slope(const fplt__block *block, double *m);
void fplt__gamma_curve(const fplt__block *block, double *m);
void fplt__gamma_expect(const fplt__block *block, double *m);
/* log y */
double fplt__gamma_constant(double label);
/* 2 ((y - mu)/mu - log(y/mu)) */
double fplt__gamma_deviance(double label, double mean, const double *shared);

/* log y! */
double fplt__poisson_constant(double label);
/* 2 (y log(y/mu) - (y - mu)) */
double fplt__poisson_deviance(double count, double expected, const double *shared);

void fplt__probit_value(const fplt__block *block, double *u);
void fplt__probit_slope(const fplt__block *block, double *u);
void fplt__probit_curve(const fplt__block *block, double *u);
void fplt__probit_expect(const fplt__block *block, double *u);
/* P(normal <= m) */
double fplt__probit_probability(double m);

#endif
