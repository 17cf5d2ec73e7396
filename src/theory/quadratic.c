/* The sharp rate of Fed-PLT on quadratics.
 *
 * The recursion. With f_i of Hessian H_i and errors measured from the fixed point, local training
 * takes x to r x + (1 - r) p in the eigenbasis of H_i: p = v/(1 + rho l) is the local minimiser for
 * the curvature l, r(l) the residual polynomial of the local solver, (1 - gamma (l + 1/rho))^Ne for
 * gradient steps. With b = (1 - r)/(1 + rho l) a round is, agent by agent,
 *     v = R z,   x+ = r x + b v,   z+ = z + 2 (x+ - y) = -v + 2 x+,
 * where R = 2 prox_{rho g} - I couples the agents and is nonexpansive for every convex h.
 *
 * Identical Hessians, h = 0: R = 1 on the mean of the agents, R = -1 on their disagreement, so
 * every curvature has two 2 x 2 modes,
 *     consensus:    [r, b; 2 r, 2 b - 1],    trace r + 2 b - 1,  determinant -r;
 *     disagreement: [r, -b; 2 r, 1 - 2 b],   trace r + 1 - 2 b,  determinant r.
 *
 * Why they bound all quadratics. From v to z, each curvature has the transfer function
 *     psi(q) = ((2 b - 1) q + r)/(q (q - r)).
 * On a circle |q| = s, |psi|^2 is a ratio of two functions that are linear in the cosine of the
 * angle, so it is greatest at q = s or q = -s, where psi is real. Let s exceed the radii of both
 * modes of every curvature, all below 1 (then |r| < s too, since the determinant is -r or r and
 * |r| < 1). psi(q) = 1 is the characteristic equation of consensus, psi(q) = -1 that of
 * disagreement: neither has a solution of modulus s or more, and psi vanishes at infinity, so
 * |psi| < 1 at +-s and hence on |q| >= s. The gain from v to z is thus below 1 for signals weighted
 * by s^-k, in the eigenbasis of each H_i and so for all agents together, and R gives back at most
 * what it gets: by the small gain theorem sum_k s^-2k |z_k|^2 is finite. No Hessians need commute
 * and h may be any convex function. */
#include "theory/theory.h"

#include <math.h>

enum { FINE = 96, REFINEMENTS = 40, MAX_POINTS = 1024 };

static double integer_power(double base, uint32_t exponent)
{
    double result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/* Residual polynomial of Nesterov's steps: the error of w after Ne steps over that before
 * [Fed-PLT eq. local-update-accelerated]. */
static double accelerated_residual(const fplt_theory_problem *problem,
                                   const fplt_theory_parameters *parameters, double curvature)
{
    double inverse = 1 / parameters->rho;
    double momentum = fplt__momentum(problem->strong_convexity, problem->smoothness, inverse);
    double keep = 1 - (curvature + inverse) / (problem->smoothness + inverse);
    /* (w, u) -> ((1 + momentum) keep w - momentum u, keep w), by repeated squaring */
    double step[2][2] = {{(1 + momentum) * keep, -momentum}, {keep, 0}};
    double w = 1, u = 1;
    for (uint32_t left = parameters->epochs; left; left >>= 1) {
        if (left & 1) {
            double next = step[0][0] * w + step[0][1] * u;
            u = step[1][0] * w + step[1][1] * u;
            w = next;
        }
        double a = step[0][0], b = step[0][1], c = step[1][0], d = step[1][1];
        step[0][0] = a * a + b * c;
        step[0][1] = b * (a + d);
        step[1][0] = c * (a + d);
        step[1][1] = d * d + b * c;
    }
    return w;
}

/* Greatest modulus of the roots of q^2 - trace q + determinant. */
static double mode_radius(double trace, double determinant)
{
    double inside = trace * trace - 4 * determinant;
    return inside < 0 ? sqrt(determinant) : (fabs(trace) + sqrt(inside)) / 2;
}

fplt_theory_rate fplt__theory_quadratic_rate_at(const fplt_theory_problem *problem,
                                                const fplt_theory_parameters *parameters,
                                                double curvature)
{
    double rho = parameters->rho;
    double r = parameters->accelerated ? accelerated_residual(problem, parameters, curvature)
                                       : integer_power(1 - parameters->step * (curvature + 1 / rho),
                                                       parameters->epochs);
    double b = (1 - r) / (1 + rho * curvature);
    if (!isfinite(r) || !isfinite(b))
        return (fplt_theory_rate){INFINITY, curvature, 1};
    double consensus = mode_radius(r + 2 * b - 1, -r);
    double disagreement = mode_radius(r + 1 - 2 * b, r);
    int first = consensus >= disagreement;
    return (fplt_theory_rate){first ? consensus : disagreement, curvature, first};
}

/* From the least curvature (0) to the greatest (1): evenly in the logarithm, which resolves the
 * small ones, or evenly where there is no logarithm. */
static fplt_theory_rate rate_on(const fplt_theory_problem *problem,
                                const fplt_theory_parameters *parameters, double position)
{
    double low = problem->strong_convexity, high = problem->smoothness, curvature;
    if (position <= 0)
        curvature = low;
    else if (position >= 1)
        curvature = high;
    else
        curvature = low > 0 ? low * pow(high / low, position) : low + (high - low) * position;
    return fplt__theory_quadratic_rate_at(problem, parameters, curvature);
}

/* Golden section for a maximum. */
static fplt_theory_rate refine(const fplt_theory_problem *problem,
                               const fplt_theory_parameters *parameters, double from, double to)
{
    const double golden = 0.6180339887498949;
    double left = to - golden * (to - from), right = from + golden * (to - from);
    fplt_theory_rate at_left = rate_on(problem, parameters, left);
    fplt_theory_rate at_right = rate_on(problem, parameters, right);
    for (int i = 0; i < REFINEMENTS; i++) {
        if (at_left.rate > at_right.rate) {
            to = right;
            right = left;
            at_right = at_left;
            left = to - golden * (to - from);
            at_left = rate_on(problem, parameters, left);
        } else {
            from = left;
            left = right;
            at_left = at_right;
            right = from + golden * (to - from);
            at_right = rate_on(problem, parameters, right);
        }
    }
    return at_left.rate > at_right.rate ? at_left : at_right;
}

/* The residual polynomial of accelerated steps has as many humps as epochs: more of them want more
 * points. */
static unsigned points_for(const fplt_theory_parameters *parameters, unsigned points)
{
    if (!parameters->accelerated || parameters->epochs <= points / 4)
        return points;
    return parameters->epochs < MAX_POINTS / 4 ? 4 * parameters->epochs : MAX_POINTS;
}

static fplt_theory_rate scan(const fplt_theory_problem *problem,
                             const fplt_theory_parameters *parameters, unsigned points,
                             unsigned *where)
{
    fplt_theory_rate worst = {-1, 0, 0};
    for (unsigned i = 0; i <= points; i++) {
        fplt_theory_rate here = rate_on(problem, parameters, (double)i / points);
        if (here.rate > worst.rate) {
            worst = here;
            *where = i;
        }
    }
    return worst;
}

fplt_theory_rate fplt__quadratic_scan(const fplt_theory_problem *problem,
                                      const fplt_theory_parameters *parameters, unsigned points)
{
    unsigned where = 0;
    return scan(problem, parameters, points_for(parameters, points), &where);
}

fplt_theory_rate fplt_theory_quadratic_rate(const fplt_theory_problem *problem,
                                            const fplt_theory_parameters *parameters)
{
    unsigned points = points_for(parameters, FINE), where = 0;
    fplt_theory_rate worst = scan(problem, parameters, points, &where);
    if (!isfinite(worst.rate))
        return worst;
    double from = where > 0 ? (double)(where - 1) / points : 0;
    double to = where < points ? (double)(where + 1) / points : 1;
    fplt_theory_rate near = refine(problem, parameters, from, to);
    return near.rate > worst.rate ? near : worst;
}
