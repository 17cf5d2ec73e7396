/* Contraction factors of Fed-PLT [Fed-PLT Lemmas prs and gradient-descent, Prop. contractive], as
 * printed and as corrected, and the norm in which the corrected ones add up to a contraction.
 *
 * Where S comes from. Write a = |x - x*|, b = |z - z*|, m = lmin. The local minimiser
 * p = prox_{rho f}(refl z) moves by at most beta b, beta = 1/(1 + rho m), because prox_{rho f} is
 * beta-Lipschitz and refl_{rho g} nonexpansive (printed: beta = 1/(m + 1/rho), a factor rho off).
 * Local training leaves chi^Ne |x - p| <= chi^Ne (a + beta b). So
 *     a+ <= |x+ - p| + |p - x*|  <= chi^Ne a + (1 + chi^Ne) beta b
 *     b+ <= zeta b + 2 |x+ - p|  <= 2 chi^Ne a + (zeta + 2 chi^Ne beta) b.
 * The argument compares with the fixed point only: Fed-PLT comes nearer to it by that factor, which
 * is all that Banach-Picard needs; two arbitrary trajectories need not come nearer to each
 * other. */
#include "theory/theory.h"

#include <math.h>

/* Below this chi^Ne the weight stops growing. */
#define MIN_LOCAL 1e-12

static double reflection(double rho, double curvature)
{
    double below = 1 + rho * curvature;
    return below > 0 ? fabs(1 - rho * curvature) / below : INFINITY;
}

double fplt__theory_splitting_contraction(const fplt_theory_problem *problem, double rho)
{
    return fmax(reflection(rho, problem->strong_convexity), reflection(rho, problem->smoothness));
}

double fplt__theory_step_contraction(const fplt_theory_problem *problem, double rho, double step)
{
    return fmax(fabs(1 - step * (problem->strong_convexity + 1 / rho)),
                fabs(1 - step * (problem->smoothness + 1 / rho)));
}

/* chi(Ne). The potential phi = d(u) - d* + (m/2)|s - w*|^2 of Nesterov's method with constant
 * momentum shrinks by 1 - 1/sqrt(kappa) a step [d'Aspremont, Scieur, Taylor 2021, Cor. 4.15], and
 * the output w is a convex combination of u and s, so (m/2)|w - w*|^2 <= phi, while phi_0 <=
 * (m + M)/2 |w_0 - w*|^2. Distances are therefore bounded by the root; the paper left it out. */
static double accelerated_contraction(const fplt_theory_problem *problem,
                                      const fplt_theory_parameters *parameters,
                                      fplt__theory_version version)
{
    double m = problem->strong_convexity + 1 / parameters->rho;
    double M = problem->smoothness + 1 / parameters->rho;
    if (m <= 0)
        return INFINITY;
    double squared = (1 + M / m) * pow(1 - sqrt(m / M), parameters->epochs);
    return version == FPLT_THEORY_PRINTED ? squared : sqrt(squared);
}

double fplt__theory_local_contraction(const fplt_theory_problem *problem,
                                      const fplt_theory_parameters *parameters,
                                      fplt__theory_version version)
{
    if (parameters->accelerated)
        return accelerated_contraction(problem, parameters, version);
    return pow(fplt__theory_step_contraction(problem, parameters->rho, parameters->step),
               parameters->epochs);
}

/* beta: how far the local minimiser moves with z. */
static double coupling(const fplt_theory_problem *problem, double rho, fplt__theory_version version)
{
    double below = version == FPLT_THEORY_PRINTED ? problem->strong_convexity + 1 / rho
                                                  : 1 + rho * problem->strong_convexity;
    return below > 0 ? 1 / below : INFINITY;
}

/* Greatest singular value of a 2 x 2 matrix, without cancellation. */
static double matrix_norm(double a, double b, double c, double d)
{
    return (hypot(a + d, b - c) + hypot(a - d, b + c)) / 2;
}

static fplt_theory_matrix matrix_of(double local, double beta, double zeta)
{
    fplt_theory_matrix matrix = {{{local, (1 + local) * beta},
                                  {2 * local, zeta + 2 * local * beta}},
                                 {INFINITY, INFINITY},
                                 INFINITY,
                                 INFINITY};
    double a = matrix.entry[0][0], b = matrix.entry[0][1];
    double c = matrix.entry[1][0], d = matrix.entry[1][1];
    if (!isfinite(a) || !isfinite(b) || !isfinite(c) || !isfinite(d))
        return matrix;
    /* (t +- sqrt(v))/2; v = (a - d)^2 + 4 b c is not negative, so both are real */
    double root = hypot(a - d, 2 * sqrt(b) * sqrt(c));
    matrix.eigenvalue[0] = (a + d + root) / 2;
    matrix.eigenvalue[1] = (a + d - root) / 2;
    matrix.radius = fmax(fabs(matrix.eigenvalue[0]), fabs(matrix.eigenvalue[1]));
    matrix.norm = matrix_norm(a, b, c, d);
    return matrix;
}

fplt_theory_matrix fplt__theory_matrix_make(const fplt_theory_problem *problem,
                                            const fplt_theory_parameters *parameters,
                                            fplt__theory_version version)
{
    return matrix_of(fplt__theory_local_contraction(problem, parameters, version),
                     coupling(problem, parameters->rho, version),
                     fplt__theory_splitting_contraction(problem, parameters->rho));
}

/* With D = diag(1, w), D S D^-1 = [a, b/w; c w, d] is symmetric for w^2 = b/c, and the norm of a
 * symmetric matrix is its spectral radius. Here b/c = (1 + chi^Ne)/(2 chi^Ne (1 + rho lmin)). No
 * norm does better, since a norm of S is never below its radius. */
double fplt__theory_weight(const fplt_theory_problem *problem,
                           const fplt_theory_parameters *parameters)
{
    double local = fplt__theory_local_contraction(problem, parameters, FPLT_THEORY_CORRECTED);
    double beta = coupling(problem, parameters->rho, FPLT_THEORY_CORRECTED);
    return sqrt((1 / fmax(local, MIN_LOCAL) + 1) / 2 * beta);
}

double fplt__theory_weighted_norm(const fplt_theory_matrix *matrix, double weight)
{
    if (!isfinite(matrix->radius))
        return INFINITY;
    return matrix_norm(matrix->entry[0][0], matrix->entry[0][1] / weight,
                       matrix->entry[1][0] * weight, matrix->entry[1][1]);
}
