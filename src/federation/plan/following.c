#include "federation/plan/following.h"

#include <string.h>

#include "base/memory.h"
#include "federation/plan/proposal.h"
#include "federation/plan/refit.h"
#include "federation/plan/validation.h"

int fplt__is_follower(const fplt__proposal *proposal)
{
    return *proposal->part || proposal->refit == FPLT__REFIT_THIS;
}

int fplt__is_followed(const fplt__proposal *proposal)
{
    return *proposal->validation || proposal->refit == FPLT__REFIT_FOLLOWS;
}

/* A proposal without its nonce. */
static fplt_status digest_of(const fplt__proposal *proposal, fplt__digest *digest)
{
    fplt__proposal copy = *proposal; /* borrowed: only the text is made of it */
    char *text;
    memset(copy.nonce, 0, sizeof copy.nonce);
    fplt_status status = fplt__proposal_text(&copy, &text, NULL);
    if (status)
        return status;
    *digest = fplt__document_hash(text, strlen(text));
    fplt__free(text);
    return FPLT_OK;
}

/* How many folds there are is known after the first run, so that the last fits may have any number in the range. */
static int is_after_fits(const fplt__proposal *first, const fplt__validation *validation,
                         uint32_t run)
{
    return run > first->run &&
           run <= first->run + 1 + (uint64_t)validation->count * validation->folds;
}

/* Makes of `made`, a copy of the first, what the second would be if it followed. */
static fplt_status state_part(const fplt__proposal *first, const fplt__proposal *next,
                              fplt__proposal *made)
{
    fplt__validation validation;
    fplt__validation_part part;
    fplt_status status;
    if ((status = fplt__validation_read(first, &validation, NULL)) ||
        (status = fplt__validation_part_read(next, &part, NULL)))
        return status;
    int is_refit = next->refit == FPLT__REFIT_THIS && part.kind == FPLT__PART_NONE;
    size_t value = is_refit ? 0 : fplt__validation_value_of(&validation, next);
    if (value == validation.count || part.folds > validation.folds)
        return FPLT_BAD_VALUE;
    if (part.kind == FPLT__PART_FOLD)
        return fplt__validation_state_fit(made, &validation, part.folds,
                                          value * part.folds + part.fold, NULL);
    uint32_t run = next->run - (is_refit ? 1 : 0); /* of the chosen fit */
    if ((part.kind == FPLT__PART_NONE && !is_refit) || !is_after_fits(first, &validation, run))
        return FPLT_BAD_VALUE;
    made->run = run;
    return fplt__validation_state_chosen(made, &validation, value, NULL);
}

int fplt__proposal_follows(const fplt__proposal *first, const fplt__proposal *next)
{
    fplt__proposal made;
    fplt__digest one, other;
    if (!fplt__is_followed(first) || !fplt__is_follower(next))
        return 0;
    fplt_status status = fplt__proposal_copy(first, &made, NULL);
    if (!status && *first->validation)
        status = state_part(first, next, &made);
    if (!status && next->refit == FPLT__REFIT_THIS)
        status =
            first->refit == FPLT__REFIT_FOLLOWS ? fplt__refit_state(&made, NULL) : FPLT_BAD_VALUE;
    int follows =
        !status && !digest_of(&made, &one) && !digest_of(next, &other) && fplt__same(&one, &other);
    fplt__proposal_clear(&made);
    return follows;
}
