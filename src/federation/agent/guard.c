#include "federation/agent/guard.h"

#include <string.h>

#include "federation/agent/custom_cost.h"
#include "federation/agent/disclosure.h"
#include "federation/agent/rules.h"
#include "wire/frame.h"
#include "fedplt/algorithm.h"

void fplt__guard_begin(fplt__guard *guard, const fplt_settings *site,
                       const fplt__agreement *agreement)
{
    uint64_t every = agreement->evaluate_every;
    *guard = (fplt__guard){.is_on = !agreement->private && !fplt__rules_are_off(site) &&
                                    !fplt__custom_cost_is_off(site, &agreement->proposal),
                           .sends_hessians =
                               (agreement->plan.algorithm->allows & FPLT_SENDS_HESSIANS) != 0};
    /* at the start, every so many rounds, at the end, and once more where a coordinator was restarted */
    guard->most_measurements = 4 + (every ? agreement->rounds / every : 0);
}

/* A pass over the records, which is left out near a point that was judged. */
static fplt_status judge_influence(fplt__guard *guard, const fplt_settings *site,
                                   fplt__local_data *data, const double *x, fplt_error *error)
{
    double saturation = fplt__rule_value(site, FPLT__RULE_SATURATION),
           dominance = fplt__rule_value(site, FPLT__RULE_DOMINANCE);
    fplt__influence found;
    if (fplt__local_data_moved(data, x) <= guard->reach)
        return FPLT_OK;
    guard->reach = 0;
    fplt_status status = fplt__local_data_influence(data, x, FPLT__STEEP, &found, error);
    if (status == FPLT_UNSUPPORTED || status == FPLT_DIVERGED)
        return FPLT_OK; /* what is not finite does not leave */
    if (status)
        return status;
    if ((double)found.saturated > saturation * (double)found.records)
        return fplt_error_set(
            error, FPLT_FAILED,
            "disclosure: at the point that the coordinator broadcast, %zu of %zu "
            "rows have a linear predictor above %g, at most %g of them may: such a "
            "point adds up the records on one side of a plane",
            found.saturated, found.records, FPLT__STEEP, saturation);
    if (found.largest > dominance * found.sum)
        return fplt_error_set(error, FPLT_FAILED,
                              "disclosure: at the point that the coordinator broadcast, one record "
                              "has %.2g of the gradient, but at most %g",
                              found.largest / found.sum, dominance);
    guard->reach = fplt__influence_reach(&found, dominance);
    return FPLT_OK;
}

/* The same point again is the same answer. */
static fplt_status count_measurement(fplt__guard *guard, const fplt_settings *site, const double *x,
                                     size_t n, fplt_error *error)
{
    fplt__digest point = fplt__hash_bytes(x, n * sizeof *x);
    if (guard->has_last && fplt__same(&point, &guard->last))
        return FPLT_OK;
    guard->last = point;
    guard->has_last = 1;
    guard->measurements++;
    if (!(fplt__rule_value(site, FPLT__RULE_MEASUREMENTS) > 0) ||
        guard->measurements <= guard->most_measurements)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_FAILED,
                          "disclosure: the coordinator asks for measurement %llu, but its plan has "
                          "%llu",
                          (unsigned long long)guard->measurements,
                          (unsigned long long)guard->most_measurements);
}

fplt_status fplt__guard_judge(fplt__guard *guard, const fplt_settings *site, fplt__local_data *data,
                              fplt__site_memory *memory, fplt__asked *asked, unsigned kind,
                              const double *x, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    unsigned hessians = kind == FPLT__INFORMATION ? FPLT__HESSIANS_OF_ERRORS
                        : kind == FPLT__TRAIN     ? (unsigned)guard->sends_hessians
                                                  : 0;
    if (!guard->is_on)
        return FPLT_OK;
    if (guard->refused)
        return fplt_error_set(error, FPLT_FAILED, "disclosure: refused before in this run");
    if (kind != FPLT__TRAIN)
        status = count_measurement(guard, site, x, fplt__local_data_dimension(data), error);
    if (!status)
        status = judge_influence(guard, site, data, x, error);
    if (!status && hessians)
        status = fplt__questions_charge_hessians(memory, asked, hessians, error);
    guard->refused = status == FPLT_FAILED;
    return status;
}
