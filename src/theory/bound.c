/* The guaranteed error round by round [Fed-PLT Prop. convergence, Cor. accuracy].
 *
 * The lemma in a weighted norm. Let |e|^2 = sum_i |e_i|^2 with
 * |e_i|^2 = |x_i - x*|^2 + w^2 |z_i - z_i*|^2: a norm that adds up over agents, as the plain one
 * does. Let one full round satisfy |T e| <= c |e|, agent i be active with probability p_i, whatever
 * the others do, and an active agent err by n_i. With ||e||^2 = sum_i |e_i|^2/p_i a round without
 * error gives
 *     E||e+||^2 = sum_i (p_i |T_i e|^2 + (1 - p_i)|e_i|^2)/p_i = |T e|^2 + ||e||^2 - |e|^2
 *              <= ||e||^2 - (1 - c^2)|e|^2 <= (1 - pmin (1 - c^2)) ||e||^2 = sigma^2 ||e||^2,
 * as |e|^2 >= pmin ||e||^2. The errors of the active add at most E||n|| <= E|n| = nu (Jensen over
 * the active set: E sum_i u_i |n_i|^2/p_i = |n|^2). So E||e_k|| <= sigma^k ||e_0|| +
 * nu (1 - sigma^k)/(1 - sigma), and with |e|/sqrt(pmax) <= ||e|| <= |e|/sqrt(pmin)
 *     E|e_k| <= sqrt(pmax/pmin) sigma^k |e_0| + sqrt(pmax) nu (1 - sigma^k)/(1 - sigma).
 * Nothing but additivity over agents and the contraction was used of the norm, so no constant of
 * norm equivalence enters: the statement is about the weighted error. The paper has
 * sqrt(pmax/pmin) before nu as well, which is larger. */
#include "theory/theory.h"

#include <math.h>

double fplt__geometric(double q, double terms)
{
    if (q == 1)
        return terms;
    if (q <= 0)
        return 1;
    return expm1(terms * log(q)) / (q - 1);
}

static fplt_status check_problem(const fplt_theory_problem *problem, fplt_error *error)
{
    double least = problem->strong_convexity, most = problem->smoothness;
    if (!isfinite(most) || most <= 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "smoothness is %g: it must be a finite number above 0", most);
    if (!isfinite(least) || least > most)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "strong_convexity is %g: it must be a finite number, at most the "
                              "smoothness %g",
                              least, most);
    if (problem->agents == 0 || problem->dimension == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agents is %llu and dimension %llu: both must be at least 1",
                              (unsigned long long)problem->agents,
                              (unsigned long long)problem->dimension);
    return FPLT_OK;
}

static fplt_status check_participation(const fplt_theory_parameters *parameters, fplt_error *error)
{
    double least = parameters->participation_least, most = parameters->participation_most;
    if (!(least > 0 && least <= 1))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "participation_least is %g: it must be above 0 and at most 1", least);
    if (!(most >= least && most <= 1))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "participation_most is %g: it must be at least participation_least "
                              "(%g) and at most 1",
                              most, least);
    return FPLT_OK;
}

fplt_status fplt_theory_check(const fplt_theory_problem *problem,
                              const fplt_theory_parameters *parameters, fplt_error *error)
{
    fplt_status status = check_problem(problem, error);
    if (status || !parameters)
        return status;
    if (!isfinite(parameters->rho) || parameters->rho <= 0 || !isfinite(1 / parameters->rho))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "rho is %g: it must be a finite number above 0", parameters->rho);
    if (!parameters->accelerated && (!isfinite(parameters->step) || parameters->step <= 0))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "step is %g: it must be a finite number above 0 (at most %g makes "
                              "sense here)",
                              parameters->step,
                              fplt__theory_step_limit(problem, parameters->rho,
                                                      FPLT_THEORY_CORRECTED));
    if (parameters->epochs == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE, "epochs is 0: it must be at least 1");
    if (!isfinite(parameters->noise_tau) || parameters->noise_tau < 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "noise_tau is %g: it must be a finite number, at least 0",
                              parameters->noise_tau);
    return check_participation(parameters, error);
}

/* E|xhat - x| of noisy against exact local training from the same point. Printed: triangle
 * inequality, tau sqrt(2 gamma n N) (1 - chi^Ne)/(1 - chi). Ours: the noise of a step is
 * independent of the path before it and has mean 0, so the squares add up,
 * E|.|^2 <= chi^2 E|.|^2 + 2 gamma tau^2 n N a step, whatever the f_i: never above the printed. */
static double noise_deviation(const fplt_theory_problem *problem,
                              const fplt_theory_parameters *parameters, fplt__theory_norm norm)
{
    double chi = fplt__theory_step_contraction(problem, parameters->rho, parameters->step);
    double one_step =
        parameters->noise_tau *
        sqrt(2 * parameters->step * (double)problem->dimension * (double)problem->agents);
    if (norm == FPLT_BOUND_PRINTED)
        return one_step * fplt__geometric(chi, parameters->epochs);
    return one_step * sqrt(fplt__geometric(chi * chi, parameters->epochs));
}

/* nu: the deviation enters x once and z twice, so |e|^2 = (1 + 4 w^2)|deviation|^2; the paper's
 * sqrt(10) is sqrt(2 (1 + 4)). */
static double noise_bound(const fplt_theory_problem *problem,
                          const fplt_theory_parameters *parameters, fplt__theory_norm norm,
                          double weight)
{
    if (parameters->noise_tau == 0)
        return 0;
    if (parameters->accelerated)
        return INFINITY;
    return sqrt(1 + 4 * weight * weight) * noise_deviation(problem, parameters, norm);
}

/* The weighted contraction is measured in the weight that is really used: beyond the limit of the
 * weight it is a little above the radius. */
static void set_contraction(const fplt_theory_problem *problem,
                            const fplt_theory_parameters *parameters, fplt__theory_norm norm,
                            fplt_theory_bound *bound)
{
    fplt_theory_matrix matrix =
        fplt__theory_matrix_make(problem, parameters,
                                 norm == FPLT_BOUND_PRINTED ? FPLT_THEORY_PRINTED
                                                            : FPLT_THEORY_CORRECTED);
    bound->weight = norm == FPLT_BOUND_WEIGHTED ? fplt__theory_weight(problem, parameters) : 1;
    bound->contraction = norm == FPLT_BOUND_WEIGHTED
                             ? fplt__theory_weighted_norm(&matrix, bound->weight)
                             : matrix.norm;
}

fplt_status fplt__theory_bound_make(const fplt_theory_problem *problem,
                                    const fplt_theory_parameters *parameters,
                                    fplt__theory_norm norm, fplt_theory_bound *bound,
                                    fplt_error *error)
{
    fplt_status status = fplt_theory_check(problem, parameters, error);
    if (status)
        return status;
    set_contraction(problem, parameters, norm, bound);
    double least = parameters->participation_least, most = parameters->participation_most;
    bound->rate = sqrt(1 - least + least * bound->contraction * bound->contraction);
    bound->start_factor = sqrt(most / least);
    bound->noise_factor = norm == FPLT_BOUND_PRINTED ? bound->start_factor : sqrt(most);
    bound->noise = noise_bound(problem, parameters, norm, bound->weight);
    /* rate, not contraction: a contraction of 1 - 1e-17 is no contraction after rounding */
    bound->holds = bound->rate < 1 && isfinite(bound->noise);
    return FPLT_OK;
}

double fplt_theory_bound_at(const fplt_theory_bound *bound, double first_error, uint64_t round)
{
    if (!bound->holds)
        return INFINITY;
    double terms = (double)round;
    double noise = bound->noise > 0 && round > 0
                       ? bound->noise_factor * bound->noise * fplt__geometric(bound->rate, terms)
                       : 0;
    return bound->start_factor * pow(bound->rate, terms) * first_error + noise;
}

double fplt__theory_bound_radius(const fplt_theory_bound *bound)
{
    return bound->holds ? bound->noise_factor * bound->noise / (1 - bound->rate) : INFINITY;
}

static int holds_with(const fplt_theory_problem *problem, fplt_theory_parameters parameters,
                      fplt__theory_norm norm, uint32_t epochs)
{
    fplt_theory_bound bound;
    parameters.epochs = epochs;
    return !fplt__theory_bound_make(problem, &parameters, norm, &bound, NULL) && bound.holds;
}

/* Every entry of S grows with chi^Ne, which falls with Ne where the local steps contract at all:
 * what holds for some Ne holds for every larger one. */
uint32_t fplt__theory_least_epochs(const fplt_theory_problem *problem,
                                   const fplt_theory_parameters *parameters, fplt__theory_norm norm)
{
    uint32_t below = 0, enough = 1;
    while (!holds_with(problem, *parameters, norm, enough)) {
        if (enough > UINT32_MAX / 2)
            return 0;
        below = enough;
        enough *= 2;
    }
    while (enough - below > 1) {
        uint32_t middle = below + (enough - below) / 2;
        if (holds_with(problem, *parameters, norm, middle))
            enough = middle;
        else
            below = middle;
    }
    return enough;
}
