/* Runs that follow from another under its consent: the parts of a validation (validation.h), and the refit (refit.h). The
 * proposal of each follows from the first alone, so that an agent that agreed to the first has agreed to it. */
#ifndef FPLT_FEDERATION_FOLLOWING_H
#define FPLT_FEDERATION_FOLLOWING_H

#include "wire/document.h"

/* Whether the run was agreed to with another: a part of a validation, or a refit. */
int fplt__is_follower(const fplt__proposal *proposal);
/* Whether runs follow that the consent to this proposal is also for. */
int fplt__is_followed(const fplt__proposal *proposal);
/* Whether the second proposal is one that follows from the first: the same in all but its nonce. */
int fplt__proposal_follows(const fplt__proposal *first, const fplt__proposal *next);

#endif
