/* From facts to a plan: the one place where parameters, common step and expected cohort are derived. */
#include <math.h>
#include <string.h>

#include "algorithm/algorithm.h"
#include "algorithm/local_step.h"
#include "base/assert.h"
#include "base/status.h"
#include "engine/hub.h"
#include "fedplt/hub_node.h"
#include "participation/participation.h"

uint32_t fplt_expected_cohort(const fplt_participation *participation)
{
    double cohort = 0;
    for (uint32_t i = 0; i < fplt__participation_agents(participation); i++) {
        double rate = fplt__participation_rate(participation, i);
        FPLT__ASSERT(rate >= 0 && rate <= 1);
        cohort += rate;
    }
    FPLT__ASSERT(lround(cohort) <= (long)fplt__participation_agents(participation));
    return cohort < 1 ? 1 : (uint32_t)lround(cohort);
}

fplt_status fplt__plan_check_algorithm(const fplt_algorithm *algorithm, fplt_error *error)
{
    if (!algorithm)
        return fplt_error_set(error, FPLT_BAD_VALUE, "no algorithm is given");
    fplt_status status = FPLT__CHECK_TABLE(fplt_algorithm, algorithm, error);
    if (status)
        return status;
    const char *lacking = fplt__algorithm_lacks(algorithm);
    if (lacking)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the algorithm %.60s has no %s",
                              algorithm->name ? algorithm->name : "without a name", lacking);
    size_t parameters = fplt_algorithm_parameters(algorithm);
    if (parameters > FPLT_MAX_PARAMETERS || algorithm->shape.scalars > FPLT_MAX_SCALARS)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s has %zu parameters and %u scalars a round, but there is room for "
                              "%d and %d",
                              algorithm->name, parameters, algorithm->shape.scalars,
                              FPLT_MAX_PARAMETERS, FPLT_MAX_SCALARS);
    return FPLT_OK;
}

fplt_status fplt__plan_check_unit(const fplt_plan *plan, fplt_error *error)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    unsigned scalars = 0;
    if (plan->unit == 0)
        return FPLT_OK;
    if (!(plan->unit >= 0x1p-512 && plan->unit <= 0x1p64))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the unit of the numbers that agents send is %g, but it must be 0 or "
                              "within 2^-512 .. 2^64",
                              plan->unit);
    for (unsigned e = 0; e < shape.exchanges; e++)
        scalars += shape.exchange[e].up_scalars;
    if (!shape.mirrored && !scalars)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "%s sends %s, which cannot be counted in a unit: use fedavg",
                          plan->algorithm->name,
                          shape.mirrored ? "changes of vectors" : "numbers beside its vectors");
}

static fplt_status check_training(const fplt_training *training, fplt_error *error)
{
    if (!training->solver)
        return fplt_error_set(error, FPLT_BAD_VALUE, "no local solver is given");
    if (!(training->step >= 0) || !isfinite(training->step))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "gamma is %g, but it must be a positive number, or 0 for automatic",
                              training->step);
    return FPLT__CHECK_TABLE(fplt_solver, training->solver, error);
}

static fplt_status check_facts(const fplt_facts *facts, fplt_error *error)
{
    const fplt_curvature *all = &facts->curvature;
    if (!facts->agents || !facts->dimension)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "a plan for %u agents and dimension %zu, but both must be at least 1",
                              facts->agents, facts->dimension);
    if (facts->cohort > facts->agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the expected cohort is %u, but there are only %u agents",
                              facts->cohort, facts->agents);
    if (!isfinite(all->lowest) || !isfinite(all->highest) || !(all->highest > 0))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "the costs curve between %g and %g, but the largest curvature must be "
            "a positive number",
            all->lowest, all->highest);
    return FPLT_OK;
}

/* The step that all agents take; 0 where each has its own. */
static double common_step(const fplt_plan *plan, const fplt_training *training,
                          const fplt_facts *facts)
{
    FPLT__ASSERT(training->step >= 0);
    if (!fplt_algorithm_shares_step(plan->algorithm, training->solver))
        return 0;
    return training->step > 0
               ? training->step
               : fplt__algorithm_step(plan->algorithm, training->solver, facts, plan->parameter)
                     .automatic;
}

fplt_status fplt_plan_resolve(const fplt_algorithm *algorithm, const double *parameter,
                              const fplt_training *training, const fplt_facts *facts,
                              fplt_plan *plan, fplt_error *error)
{
    fplt_facts all = *facts;
    fplt_plan made = {.algorithm = algorithm,
                      .agents = facts->agents,
                      .dimension = facts->dimension,
                      .seed = plan->seed,
                      .run = plan->run,
                      .unit = plan->unit};
    fplt_status status;
    if ((status = fplt__plan_check_algorithm(algorithm, error)) ||
        (status = check_training(training, error)) || (status = check_facts(facts, error)))
        return status;
    if (!all.cohort)
        all.cohort = all.agents;
    if (!all.epochs)
        all.epochs = training->epochs;
    FPLT__ASSERT(all.cohort > 0 && all.cohort <= all.agents);
    FPLT__ASSERT(fplt_algorithm_parameters(algorithm) <= FPLT_MAX_PARAMETERS);
    if (parameter)
        memcpy(made.parameter, parameter, fplt_algorithm_parameters(algorithm) * sizeof *parameter);
    else
        fplt_algorithm_defaults(algorithm, made.parameter);
    if ((status = fplt__algorithm_resolve(algorithm, &all, made.parameter, error)))
        return status;
    made.step = common_step(&made, training, &all);
    FPLT__ASSERT(!(training->step > 0) || made.step == 0 || made.step == training->step);
    FPLT__ASSERT(made.agents == all.agents && made.dimension == all.dimension);
    *plan = made;
    return FPLT_OK;
}
