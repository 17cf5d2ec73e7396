/* What a certificate of divided noise (threat model secagg-sum) has besides: who hides whom, and what is left of the promise
 * if more agents help the adversary than it assumes. */
#include <math.h>
#include <string.h>

#include "promise/certificate.h"
#include "promise/promise.h"

static const char *const secure_sums =
    "Nobody sees anything of a round but the sum over its agents, and at most mechanism.colluders "
    "agents tell the adversary "
    "their noise, their messages or their keys.";
static const char *const pinned_keys = "Each agent learned the other agents' identity keys by a "
                                       "way that the coordinator does not control, or all agents "
                                       "trained in one process whose operator is trusted: in one "
                                       "place the sums hide nothing from the operator.";

/* The same run against an adversary who sees every message. */
static fplt_status claim_alone(const fplt_promise_view *view, double *mu, double *epsilon,
                               fplt_error *error)
{
    fplt_privacy_claim claim;
    fplt_status status = fplt__promise_claim_against(view, view->worst, view->mechanism.rounds,
                                                     fplt_privacy_threat(0), &claim, error);
    *mu = claim.gdp_mu;
    return status ? status
                  : fplt_privacy_epsilon(&claim, FPLT_CONVERT_BEST, view->delta, epsilon, error);
}

fplt_status fplt__certificate_add_sums(const fplt_promise_view *view, json_t *document,
                                       fplt_error *error)
{
    json_t *mechanism = json_object_get(document, "mechanism");
    json_t *promise = json_object_get(document, "promise");
    json_t *assumptions = json_object_get(document, "assumptions");
    double mu, epsilon;
    if (!fplt__promise_divides(view))
        return FPLT_OK;
    fplt_status status = claim_alone(view, &mu, &epsilon, error);
    if (status)
        return status;
    json_t *sums =
        json_pack("{s:I, s:I, s:I, s:I, s:f}", "honest", (json_int_t)view->mechanism.honest,
                  "colluders", (json_int_t)view->colluders, "threshold",
                  (json_int_t)view->threshold, "most", (json_int_t)view->most, "unit", view->unit);
    json_t *alone = json_pack("{s:f, s:f}", "alone_mu", mu, "alone_epsilon", epsilon);
    int failed =
        json_object_update(mechanism, sums) || json_object_update(promise, alone) ||
        json_array_append_new(assumptions, json_string(secure_sums)) ||
        json_array_append_new(assumptions, json_string(pinned_keys)) ||
        json_object_set_new(document, "version", json_integer(FPLT_CERTIFICATE_SUMS_VERSION));
    json_decref(sums);
    json_decref(alone);
    return failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the certificate")
                  : FPLT_OK;
}

static uint32_t count(const json_t *mechanism, const char *name)
{
    return (uint32_t)json_integer_value(json_object_get(mechanism, name));
}

void fplt__certificate_read_sums(const json_t *document, fplt_promise_view *view)
{
    const json_t *mechanism = json_object_get(document, "mechanism");
    if (!fplt__promise_divides(view))
        return;
    view->colluders = count(mechanism, "colluders");
    view->threshold = count(mechanism, "threshold");
    view->most = count(mechanism, "most");
    view->mechanism.honest = fplt__promise_honest(view);
}
