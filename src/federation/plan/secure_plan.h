/* Secure aggregation in proposals and plans: which mode, how many colluders, and what cannot be combined. Both sides call
 * these functions, so that an agent refuses what the coordinator would not have proposed. */
#ifndef FPLT_FEDERATION_SECURE_PLAN_H
#define FPLT_FEDERATION_SECURE_PLAN_H

#include "base/buffer.h"
#include "fedplt/settings.h"
#include "wire/document.h"

/* Colluders that `auto` means: a tenth of the roster, at least 1. Another member is an onlooker, too: it knows its own
 * part of a sum. */
uint32_t fplt__secure_colluders(uint32_t members);

/* What `aggregate`, `colluders` and `quorum` of federation.yaml mean for this proposal, whose roster, quorum and settings
 * are there: fills secure and colluders, and with divided noise an automatic quorum. `auto` is secure where rounds wait for
 * all members in any case and there are at least three, and with divided noise. FPLT_BAD_VALUE or FPLT_UNSUPPORTED with a sentence where `secure` cannot be had. */
fplt_status fplt__secure_plan_propose(const fplt_settings *leader, fplt__proposal *proposal,
                                      fplt_error *error);

/* Fills threshold, most and width of a plan by its proposal. */
void fplt__secure_plan_fill(fplt__agreement *agreement);
/* Whether a proposal's numbers can be: 2t > M + c, at least two honest members in a sum, at most 1,000 members. */
fplt_status fplt__secure_plan_check(const fplt__proposal *proposal, fplt_error *error);
/* Members without which there is no sum; 0: every sum is over all. */
uint32_t fplt__secure_threshold(const fplt__proposal *proposal);
/* Honest members that are in every sum for certain. */
uint32_t fplt__secure_honest(const fplt__proposal *proposal);
/* "sums only: of at least 3 honest sites of 4, if at most 1 helps the coordinator"; with divided noise also the epsilon that
 * is left should that be wrong. */
void fplt__secure_plan_show(const fplt__proposal *proposal, fplt__buffer *text);

#endif
