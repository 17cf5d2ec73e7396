/* The promise of privacy of a federation. Everything in it follows from the proposal and the numbers of
 * records, so that each side computes it by itself and nobody has to be believed. */
#ifndef FPLT_FEDERATION_PRIVACY_PLAN_H
#define FPLT_FEDERATION_PRIVACY_PLAN_H

#include "fedplt/certificate.h"
#include "federation/plan/plan_resolution.h"
#include "promise/certificate.h"
#include "promise/promise.h"

fplt_status fplt__privacy_plan_needs_schema(fplt_error *error); /* says so */

/* Agents that are in every round at least; 0: a round waits for all. */
uint32_t fplt__privacy_plan_present(const fplt_algorithm *algorithm,
                                    const fplt__proposal *proposal);

/* The promise of a run; `records`: one a member. The terms and the proposal are borrowed by it. */
fplt_status fplt__privacy_plan_make(const fplt__plan_resolution *terms,
                                    const fplt__proposal *proposal, const uint64_t *records,
                                    fplt_promise **promise, fplt_error *error);
/* Step, epochs, rounds and parameters as they were planned; nothing is measured. */
void fplt__privacy_plan_apply(const fplt_promise_view *view, fplt__plan_resolution *terms);
/* What the plan says about it: cap, noise and rate of each member, bounds, common step. */
fplt_status fplt__privacy_plan_state(const fplt_promise *promise, fplt__agreement *agreement,
                                     fplt_error *error);

/* ---- privacy_verify.c: the promise of a plan, computed again ---- */

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

/* What one side of a federation certifies by. */
typedef struct fplt__privacy_plan_record {
    const fplt__digest *plan;                  /* the run's id */
    const uint64_t *rounds;                    /* charged, one a member */
    const fplt__certificate_account *accounts; /* one a member, or NULL */
    const char *folder; /* its signing key is FOLDER/signing.key, made where there is none */
} fplt__privacy_plan_record;

/* The model of a run, borrowed: of a built-in loss, or of a custom cost as the document that fplt__custom_document made.
 * The other one is NULL. */
typedef struct fplt__certified {
    fplt_model *model;
    json_t *document;
} fplt__certified;

/* Certifies the model of a run and puts the certificate into its training record. The text is released with fplt_free. */
fplt_status fplt__privacy_plan_certify(const fplt__agreement *agreement,
                                       const fplt__privacy_plan_record *about,
                                       const fplt__certified *model, char **text,
                                       fplt_error *error);

#endif
