/* Orthogonal polynomials of a column over the rows of all sites [Forsythe 1957], found in phases of exact sums: sites that
 * add up their terms have the numbers that one process finds, to the bit. The centres and norms are those of R's poly().
 *
 * Phase 0 takes the maximum of fplt__poly_reach over the rows; every later phase adds up two terms a row. A state is
 * FPLT__POLY_STATE numbers, all 0 at the start; it goes to the sites with each question. */
#ifndef FPLT_DATA_POLY_H
#define FPLT_DATA_POLY_H

#include "fedplt/status.h"

enum {
    FPLT__POLY_MAX_DEGREE = 20,
    FPLT__POLY_STATE = 3 + 2 * (FPLT__POLY_MAX_DEGREE + 1),
    FPLT__POLY_MAX_PHASES = 3 + FPLT__POLY_MAX_DEGREE
};

/* 3 + degree. */
unsigned fplt__poly_phases(unsigned degree);

/* The least power of two above |x|; 0 for 0. It tells a site's largest value no closer than to a factor of 2. */
double fplt__poly_reach(double x);

/* What a row with the value x adds in a phase from 1 on. */
void fplt__poly_terms(const double *state, unsigned phase, double x, double terms[2]);

/* The state after a phase, from the maximum (phase 0: sums[0]) or the sums over all `rows` rows. 0: the column has too few
 * distinct values for this phase; phases beyond the degree need not be taken. */
int fplt__poly_take(double *state, unsigned phase, const double sums[2], double rows);

/* After the last phase the `degree` centres and degree + 1 squared norms of a design (data/design.h). */
void fplt__poly_numbers(const double *state, unsigned degree, double *numbers);

#endif
