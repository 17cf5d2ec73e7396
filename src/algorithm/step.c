/* The automatic penalty and the local step, combined: the algorithm knows its penalty and its rule
 * for plain gradient steps, a solver with a step of its own knows that. The formulas are in
 * src/theory/step.c; no other file computes one. */
#include <math.h>

#include "algorithm/algorithm.h"
#include "algorithm/local_step.h"
#include "solver/solver.h"
#include "theory/theory.h"

double fplt__algorithm_pull(const fplt_algorithm *algorithm, const fplt_facts *facts,
                            const double *parameter)
{
    return algorithm->inverse_rho ? algorithm->inverse_rho(facts, parameter) : 0;
}

/* Momentum on local costs that are not to be minimised, only followed: the solver's own step, which takes
 * each agent towards its own minimiser, would not do. */
static int is_hurried(const fplt_algorithm *algorithm, const fplt_solver *solver)
{
    return algorithm->common_step && algorithm->allows & FPLT_ALLOWS_ACCELERATED &&
           solver->traits & FPLT_ACCELERATED;
}

fplt_step fplt__algorithm_step(const fplt_algorithm *algorithm, const fplt_solver *solver,
                               const fplt_facts *facts, const double *parameter)
{
    double pull = fplt__algorithm_pull(algorithm, facts, parameter);
    if (is_hurried(algorithm, solver))
        return (fplt_step){fplt__hurried_step(facts->curvature.highest, facts->epochs),
                           fplt__gradient_step_limit(facts->curvature.highest, pull)};
    if (solver->step)
        return solver->step(&facts->curvature, pull);
    if (!fplt__solver_has_step(solver))
        return (fplt_step){NAN, NAN};
    return (fplt_step){algorithm->step(facts, parameter),
                       fplt__gradient_step_limit(facts->curvature.highest, pull)};
}

int fplt_algorithm_shares_step(const fplt_algorithm *algorithm, const fplt_solver *solver)
{
    return algorithm->common_step && fplt__solver_has_step(solver) &&
           (!solver->step || is_hurried(algorithm, solver));
}

const char *fplt__algorithm_step_rule(const fplt_algorithm *algorithm, const fplt_solver *solver)
{
    if (is_hurried(algorithm, solver))
        return "2/(lmax Ne (Ne + 3)), which is safe with momentum";
    if (solver->step)
        return solver->step_rule;
    return fplt__solver_has_step(solver) ? algorithm->step_rule : NULL;
}

double fplt__proximal_step(const fplt_facts *facts, double inverse_rho)
{
    return fplt__gradient_step(fmax(facts->curvature.lowest, 0), facts->curvature.highest,
                               inverse_rho);
}

double fplt__epoch_share(const fplt_facts *facts)
{
    return facts->epochs ? 1.0 / facts->epochs : 1;
}

double fplt__cautious_step(const fplt_facts *facts)
{
    return fplt__epoch_share(facts) / facts->curvature.highest;
}

double fplt__balanced_rho(const fplt_curvature *curvature)
{
    fplt_theory_problem problem = {.strong_convexity = curvature->lowest,
                                   .smoothness = curvature->highest};
    return fplt__theory_balanced_rho(&problem);
}

void fplt__choose_rho(const fplt_facts *facts, double *parameter)
{
    if (isnan(parameter[0]))
        parameter[0] = fplt__balanced_rho(&facts->curvature);
}

double fplt__rho_inverse(const fplt_facts *facts, const double *parameter)
{
    (void)facts;
    return 1 / parameter[0];
}

double fplt__rho_step(const fplt_facts *facts, const double *parameter)
{
    return fplt__proximal_step(facts, 1 / parameter[0]);
}
