#include "data/poly.h"

#include <math.h>

/* The state: reach, mean, unit; then a_k and n_k of t = (x - mean) / unit. */
enum { REACH, MEAN, UNIT, CENTRE, NORM = CENTRE + FPLT__POLY_MAX_DEGREE + 1 };

/* Below this share of the norm before, only rounding is left. */
static const double nothing = 1e-12;

unsigned fplt__poly_phases(unsigned degree)
{
    return 3 + degree;
}

double fplt__poly_reach(double x)
{
    return x == 0 ? 0 : ldexp(1, ilogb(x) + 1);
}

/* P_k at t by its recurrence P_{k+1} = (t - a_k) P_k - (n_k / n_{k-1}) P_{k-1}. */
static long double value_of(const double *state, unsigned degree, long double t)
{
    const double *centre = state + CENTRE, *norm = state + NORM;
    long double before = 0, p = 1;
    for (unsigned k = 0; k < degree; k++) {
        long double next = (t - centre[k]) * p;
        if (k)
            next -= (long double)norm[k] / norm[k - 1] * before;
        before = p;
        p = next;
    }
    return p;
}

void fplt__poly_terms(const double *state, unsigned phase, double x, double terms[2])
{
    long double apart = (long double)x - state[MEAN];
    terms[1] = 0;
    if (phase == 1) {
        terms[0] = x / state[REACH];
    } else if (phase == 2) { /* not squared: a narrow column far from 0 keeps its digits */
        terms[0] = (double)(fabsl(apart) / state[REACH]);
    } else {
        long double t = apart / state[UNIT], p = value_of(state, phase - 2, t);
        terms[0] = (double)(p * p);
        terms[1] = (double)(t * p * p);
    }
}

int fplt__poly_take(double *state, unsigned phase, const double sums[2], double rows)
{
    double mean = sums[0] / rows;
    if (phase == 0) {
        state[REACH] = sums[0];
        return sums[0] > 0 && isfinite(sums[0]);
    }
    if (phase == 1) {
        state[MEAN] = state[REACH] * mean;
        return isfinite(mean);
    }
    if (phase == 2) { /* about a standard deviation, so that t is about 1 */
        state[UNIT] = mean > 0 ? state[REACH] * fplt__poly_reach(mean) : 0;
        state[NORM] = rows;
        return state[UNIT] > 0 && isfinite(state[UNIT]);
    }
    unsigned k = phase - 2;
    state[NORM + k] = sums[0];
    state[CENTRE + k] = sums[1] / sums[0];
    return sums[0] > nothing * state[NORM + k - 1] && isfinite(sums[0]);
}

void fplt__poly_numbers(const double *state, unsigned degree, double *numbers)
{
    double unit = 1;
    for (unsigned k = 0; k < degree; k++)
        numbers[k] = state[MEAN] + state[UNIT] * state[CENTRE + k];
    for (unsigned k = 0; k <= degree; k++) {
        numbers[degree + k] = unit * state[NORM + k];
        unit *= state[UNIT] * state[UNIT];
    }
}
