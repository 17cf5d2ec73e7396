/* Losses with coordinates beside the weights, which all records share: negative binomial and ordinal. A shared coordinate
 * is a further margin of every record, the same of all, behind those of the outputs. */
#ifndef FPLT_OBJECTIVE_SHARED_H
#define FPLT_OBJECTIVE_SHARED_H

#include "objective/loss.h"

/* Members of fplt__loss. */
size_t fplt__negative_binomial_shared(size_t classes);
void fplt__negative_binomial_value(const fplt__block *block, double *margins);
void fplt__negative_binomial_slope(const fplt__block *block, double *margins);
void fplt__negative_binomial_bend(const fplt__block *block, const double *margins, double *u);
void fplt__negative_binomial_expect_bend(const fplt__block *block, const double *margins,
                                         double *u);
/* 2 (y log(y/mu) - (y + theta) log((y + theta)/(mu + theta))), shared: log theta */
double fplt__negative_binomial_deviance(double count, double mean, const double *shared);
extern const fplt__display fplt__negative_binomial_display;

size_t fplt__ordinal_shared(size_t classes);
void fplt__ordinal_value(const fplt__block *block, double *margins);
void fplt__ordinal_slope(const fplt__block *block, double *margins);
void fplt__ordinal_bend(const fplt__block *block, const double *margins, double *u);
size_t fplt__ordinal_hits(const fplt__block *block, const double *margins);
void fplt__ordinal_probabilities(double score, const double *shared, size_t count,
                                 double *probabilities);
size_t fplt__ordinal_likeliest(double score, const double *shared, size_t count);
extern const fplt__display fplt__ordinal_display;

#endif
