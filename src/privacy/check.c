/* What empties a promise. The reasons are those of Theorem T's premises: all that is sent is a
 * function of noisy iterates and earlier messages, one record moves a gradient by a known amount,
 * and nothing else depends on the records. */
#include "fedplt/privacy.h"

#include <stddef.h>

#include "privacy/claim.h"

static const struct rule {
    size_t fact;
    int step_wise_is_legal; /* forbids the contraction only */
    const char *sentence;
} rules[] = {
    {offsetof(fplt_privacy_facts, sends_bare_gradient), 0,
     "it sends a bare gradient, which no noise covers"},
    {offsetof(fplt_privacy_facts, uses_second_order), 0,
     "its local solver is neither gradient nor accelerated gradient descent, and only their noise "
     "has a proof"},
    {offsetof(fplt_privacy_facts, shuffled_batches), 0,
     "its minibatches are shuffled epochs and not Poisson samples; take Poisson sampling or full "
     "batches"},
    {offsetof(fplt_privacy_facts, unbounded_sensitivity), 0,
     "one record can change the gradient without bound; clip the record gradients, or scale the "
     "rows and take a loss of bounded gradient (logistic, softmax, huber)"},
    {offsetof(fplt_privacy_facts, parameters_from_data), 0,
     "its parameters are computed from the records and so tell of them; compute them from bounds "
     "that are given"},
    {offsetof(fplt_privacy_facts, scaling_from_data), 0,
     "its columns are standardised by their own statistics, which tell of the records; give the "
     "bounds instead"},
    {offsetof(fplt_privacy_facts, stops_on_data), 0,
     "a loss, gradient norm or accuracy without noise decides when it stops or leaves the agent; "
     "fix the number of rounds"},
    {offsetof(fplt_privacy_facts, seeded_noise), 0,
     "its noise comes from a seed, and anyone who knows the seed can remove it"},
    {offsetof(fplt_privacy_facts, accelerated), 1,
     "for accelerated steps only the step-wise claim has a proof"},
    {offsetof(fplt_privacy_facts, skips_rounds), 1,
     "where rounds are skipped only the step-wise claim has a proof"},
    {offsetof(fplt_privacy_facts, clipping_bends), 1,
     "clipping this loss destroys its convexity, and only the step-wise claim has a proof"},
};

static int holds(const fplt_privacy_facts *facts, size_t fact)
{
    return *(const int *)(const void *)((const char *)facts + fact);
}

static fplt_status check_step(const fplt_privacy_mechanism *mechanism, fplt_error *error)
{
    if (!mechanism->contraction || fplt__contraction_of(mechanism).gap > 0)
        return FPLT_OK;
    double limit = fplt__step_limit(mechanism);
    if (limit > 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "step is %g, but the claim that rounds contract needs a step above 0 "
                              "and below 2 / (smoothness + inverse_rho) = %.6g; take one, or claim "
                              "step by step",
                              mechanism->step, limit);
    return fplt_error_set(
        error, FPLT_BAD_VALUE,
        "strong_convexity + inverse_rho is %g, but the claim that rounds contract "
        "needs it above 0; claim step by step",
        mechanism->strong_convexity + mechanism->inverse_rho);
}

fplt_status fplt_privacy_check(const fplt_privacy_mechanism *mechanism,
                               const fplt_privacy_facts *facts, fplt_error *error)
{
    const char *who = facts->algorithm ? facts->algorithm : "this run";
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *rule = &rules[i];
        if (!holds(facts, rule->fact) || (rule->step_wise_is_legal && !mechanism->contraction))
            continue;
        return fplt_error_set(error, FPLT_UNSUPPORTED, "no privacy can be claimed for %s: %s", who,
                              rule->sentence);
    }
    fplt_status status = fplt__mechanism_valid(mechanism, error);
    return status ? status : check_step(mechanism, error);
}
