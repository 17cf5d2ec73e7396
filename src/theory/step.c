/* The penalty rho and the local step gamma as functions of two curvatures: their one home. What an
 * algorithm and a solver make of them is in src/algorithm/step.c. */
#include <math.h>

#include "theory/theory.h"

/* [Giselsson and Boyd 2017]; root by root, so that the product cannot overflow. */
double fplt__theory_penalty(double lowest, double highest)
{
    return 1 / (sqrt(lowest) * sqrt(highest));
}

double fplt__gradient_step(double lowest, double highest, double inverse_rho)
{
    return 2 / (lowest + highest + 2 * inverse_rho);
}

double fplt__gradient_step_limit(double highest, double inverse_rho)
{
    double whole = highest + inverse_rho;
    return whole > 0 ? 2 / whole : INFINITY;
}

double fplt__accelerated_step(double highest, double inverse_rho)
{
    return 1 / (highest + inverse_rho);
}

/* Along a constant gradient g, Ne accelerated steps with momentum up to 1 move w by at most
 * step (1 + 2 + ... + Ne) g, and the last extrapolation by step Ne g: together within g/lmax. */
double fplt__hurried_step(double highest, uint32_t epochs)
{
    double count = epochs ? epochs : 1;
    return 2 / (highest * count * (count + 3));
}

double fplt__momentum(double lowest, double highest, double inverse_rho)
{
    double m = fmax(lowest + inverse_rho, 0);
    double M = highest + inverse_rho;
    return (sqrt(M) - sqrt(m)) / (sqrt(M) + sqrt(m));
}

/* On a quadratic of curvature c the iteration is w+ = (1 + b) q w - b q w-, q = 1 - step c. Its roots
 * are inside the unit circle, for q < 0, when q > -1/(1 + 2 b). */
double fplt__accelerated_step_limit(double lowest, double highest, double inverse_rho)
{
    double b = fplt__momentum(lowest, highest, inverse_rho);
    return (2 + 2 * b) / ((1 + 2 * b) * (highest + inverse_rho));
}

double fplt__theory_usable_convexity(const fplt_theory_problem *problem)
{
    return fmax(problem->strong_convexity, problem->smoothness * FPLT_THEORY_FLAT);
}

double fplt__theory_balanced_rho(const fplt_theory_problem *problem)
{
    double rho = fplt__theory_penalty(fplt__theory_usable_convexity(problem), problem->smoothness);
    return problem->strong_convexity < 0 ? fmin(rho, -0.5 / problem->strong_convexity) : rho;
}

double fplt__theory_step_limit(const fplt_theory_problem *problem, double rho,
                               fplt__theory_version version)
{
    double curvature =
        version == FPLT_THEORY_PRINTED ? problem->strong_convexity : problem->smoothness;
    return fplt__gradient_step_limit(curvature, 1 / rho);
}

double fplt_theory_best_step(const fplt_theory_problem *problem, double rho)
{
    return fplt__gradient_step(problem->strong_convexity, problem->smoothness, 1 / rho);
}

double fplt__theory_accelerated_step(const fplt_theory_problem *problem, double rho)
{
    return fplt__accelerated_step(problem->smoothness, 1 / rho);
}
