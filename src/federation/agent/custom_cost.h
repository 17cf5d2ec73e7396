/* The cost that an agent brings itself (fplt_federation_cost), held against a proposal with `loss: custom`. */
#ifndef FPLT_FEDERATION_CUSTOM_COST_H
#define FPLT_FEDERATION_CUSTOM_COST_H

#include "fedplt/federation.h"
#include "wire/document.h"

/* The rows policy.models and policy.models-off. */
extern const fplt_setting fplt__custom_cost_table[];

/* Refuses a cost that no proposal could name: NULL is legal. Called once, when the agent starts. */
fplt_status fplt__custom_cost_check(const fplt_federation_cost *cost, fplt_error *error);
/* Every word of the rows above is a digest. */
fplt_status fplt__custom_cost_check_policy(const fplt_settings *site, fplt_error *error);

/* Whether disclosure rules are off for the proposal's model: by policy.disclosure, or by its digest. */
int fplt__custom_cost_is_off(const fplt_settings *site, const fplt__proposal *proposal);
/* In words, what protects the records of a custom cost in such a run. */
const char *fplt__custom_cost_protection(const fplt_settings *site, const fplt__proposal *proposal);

/* FPLT_OK for proposals without a custom cost. FPLT_FAILED where this agent has none, or one of another name, version,
 * digest or dimension; where the policy does not list the digest; and where neither a promise, secure aggregation nor the
 * site's policy takes the place of the disclosure rules on rows; and where a promise is made for a cost that does not give the
 * gradients of single records. */
fplt_status fplt__custom_cost_judge(const fplt_settings *site, const fplt__proposal *proposal,
                                    const fplt_federation_cost *cost, fplt_error *error);

#endif
