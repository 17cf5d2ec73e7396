/* The promise of privacy of a federation. Everything in it follows from the proposal and the numbers of
 * records, so that each side computes it by itself and nobody has to be believed. */
#ifndef FPLT_FEDERATION_PRIVACY_PLAN_H
#define FPLT_FEDERATION_PRIVACY_PLAN_H

#include "fedplt/certificate.h"
#include "federation/plan/plan_resolution.h"
#include "promise/promise.h"

/* What the section `privacy` has besides the settings of one process: privacy.spare and privacy.start. */
extern const fplt_setting fplt__privacy_plan_table[];

/* Refuses what cannot be promised over a network. */
fplt_status fplt__privacy_plan_check(const fplt_settings *settings, fplt_error *error);

fplt_status fplt__privacy_plan_needs_schema(fplt_error *error); /* says so */

/* The promise of a run; `records`: one a member. The terms and the proposal are borrowed by it. */
fplt_status fplt__privacy_plan_make(const fplt__plan_resolution *terms,
                                    const fplt__proposal *proposal, const uint64_t *records,
                                    fplt_promise **promise, fplt_error *error);
/* Step, epochs, rounds and parameters as they were planned; nothing is measured. */
void fplt__privacy_plan_apply(const fplt_promise_view *view, fplt__plan_resolution *terms);
/* What the plan says about it: cap, noise and rate of each member, bounds, common step. */
fplt_status fplt__privacy_plan_state(const fplt_promise *promise, fplt__agreement *agreement,
                                     fplt_error *error);

/* At an agent: whether the plan is the one that follows from its proposal and records. Noise, rate
 * and cap are looked at above all: they are what this agent's records are protected by. */
fplt_status fplt__privacy_plan_verify(const fplt__agreement *agreement, fplt_error *error);

/* What a round costs a member's records, against every adversary and for the unit of the promise: what its
 * policy, its ledger and its certificate go by. The messages are seen, so rounds add up against all. */
fplt_status fplt__privacy_plan_cost(const fplt__agreement *agreement, uint32_t member,
                                    fplt__cost *cost, fplt_error *error);

/* Rounds that a certificate states for a member that was charged so many: at most the cap, and that
 * itself where the algorithm's rounds wait for all. */
uint64_t fplt__privacy_plan_rounds(const fplt__agreement *agreement, uint64_t charged);

/* The certificate. `rounds`: charged, one a member; `accounts` as in a certificate's run, or NULL; the
 * model goes without its record. The text is released with fplt_free. */
fplt_status fplt__privacy_plan_certificate(const fplt__agreement *agreement,
                                           const fplt__digest *plan, const uint64_t *rounds,
                                           const fplt_certificate_account *accounts,
                                           const fplt_model *model, char **text, fplt_error *error);

#endif
