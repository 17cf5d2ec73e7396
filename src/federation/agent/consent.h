/* What the answers to ASK (consent.c), GATHER (facts.c) and BUILD (building.c) share: each judges the proposal before it
 * looks at data. */
#ifndef FPLT_FEDERATION_CONSENT_H
#define FPLT_FEDERATION_CONSENT_H

#include "federation/agent/agent.h"

/* Refuses: the sentence goes to the log, and to the coordinator where agent->abroad has no other. */
void fplt__agent_refuse(fplt__agent *agent, const char *sentence);
/* Sentences about data name files, lines and values. Where `status` is a failure and agent->abroad is empty, the
 * coordinator hears only that the agent's own log says why. Returns `status`. */
fplt_status fplt__agent_hide_reason(fplt__agent *agent, fplt_status status);

/* A refusal that depends on records is itself an answer: the coordinator hears one word, and the question counts. Returns
 * `status`, a failure. */
fplt_status fplt__agent_hide_records(fplt__agent *agent, fplt_status status);

/* The proposal inside a document, and its hash; the proposal is to be cleared. */
fplt_status fplt__agent_proposal_of(const fplt__site_action *action, fplt__proposal *proposal,
                                    fplt__digest *hash, fplt_error *error);
/* Judges and counts what the proposal asks of the data, and finds whether Hessians leave. `settled`: the rows have the
 * columns of the run. */
fplt_status fplt__agent_judge_question(fplt__agent *agent, const fplt__proposal *proposal,
                                       const fplt__digest *of, int settled, fplt_error *error);
/* The rules `cells` and `clusters` alone. */
fplt_status fplt__agent_judge_cells(fplt__agent *agent, fplt_error *error);
/* Reads the data for the proposal `of`, unless that was done before, and judges the question. */
fplt_status fplt__agent_read_data(fplt__agent *agent, const fplt__proposal *proposal,
                                  const fplt__digest *of, fplt_error *error);
/* Whether policy, disclosure rules and, unless it `agreed` before, a person agree to the proposal; the data are read
 * for it. A plan may come first, to an agent that lost its state or from a coordinator that skips the proposal: its
 * proposal is judged in the same way. */
fplt_status fplt__agent_judge_proposal(fplt__agent *agent, const fplt__proposal *proposal,
                                       const fplt__digest *hash, int agreed, fplt_error *error);

/* following.c: runs that follow from another under the same consent (plan/following.h). */

/* Keeps a proposal that was agreed to, where the consent is also for the runs that follow from it. */
void fplt__agent_expect_following(const fplt__agent *agent, const fplt__proposal *proposal);
/* Whether the proposal follows from the one that was kept last. */
int fplt__agent_expects(const fplt__agent *agent, const fplt__proposal *proposal);

/* validating.c: parts of a validation (plan/validation.h). */

/* Refuses a part that does not follow from what was agreed to, and a validation where no scores may leave. */
fplt_status fplt__agent_judge_validation(const fplt__agent *agent, const fplt__proposal *proposal,
                                         int is_expected, fplt_error *error);
/* The answer to FPLT__FACTS_FOLDS of a proposal. */
fplt_status fplt__agent_count_folds(fplt__agent *agent, const fplt__proposal *proposal,
                                    const fplt__site_action *action, double *folds,
                                    fplt_error *error);
/* Writes folds.csv into the agent's folder, with the first fit of each value: for the site alone. */
void fplt__agent_keep_folds(const fplt__agent *agent, const fplt__proposal *proposal);

/* refitting.c: the refit (plan/refit.h). */

/* Whether this site would answer the refit that follows the run of a plan; where it would not, `reason` says which line or rule
 * is against it. */
fplt_status fplt__agent_judge_refit(fplt__agent *agent, const fplt__agreement *agreement,
                                    fplt_error *reason);

#endif
