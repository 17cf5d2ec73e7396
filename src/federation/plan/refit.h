/* The refit: after a penalised run, one more run at its last model without the penalty, so that estimates and standard errors
 * are those of the pooled rows. It has a proposal of its own, which follows from the first one alone: an agent that agreed to
 * the first has agreed to the second. */
#ifndef FPLT_FEDERATION_REFIT_H
#define FPLT_FEDERATION_REFIT_H

#include "wire/document.h"

/* Whether the setting of a proposal makes another cost or other rows. All others, the penalty included, ask the same fit in
 * another way. */
int fplt__is_of_fit(const char *name);
/* Refuses a proposal that no refit can follow. */
fplt_status fplt__refit_check(const fplt__proposal *proposal, fplt_error *error);
/* Makes of a proposal the one of its refit, in place: the next run, which starts at the last model of this one. The nonce is
 * the caller's. */
fplt_status fplt__refit_state(fplt__proposal *proposal, fplt_error *error);

#endif
