/* A proposal's copy, its settings one by one, and its schema. */
#ifndef FPLT_FEDERATION_PROPOSAL_H
#define FPLT_FEDERATION_PROPOSAL_H

#include "fedplt/schema.h"
#include "wire/document.h"

/* A copy of all of it, to be cleared, also on failure. */
fplt_status fplt__proposal_copy(const fplt__proposal *from, fplt__proposal *to, fplt_error *error);
/* The schema of a proposal, to be destroyed; NULL: none. */
fplt_status fplt__proposal_schema(const fplt__proposal *proposal, fplt_schema **schema,
                                  fplt_error *error);
/* A setting of the section `train`, new or instead of what it was; the order of names is not kept. */
fplt_status fplt__proposal_set(fplt__proposal *proposal, const char *name, const char *value,
                               fplt_error *error);
/* The same in the section `privacy`. */
fplt_status fplt__proposal_promise(fplt__proposal *proposal, const char *name, const char *value,
                                   fplt_error *error);
/* In the order of names, as the text has them. */
void fplt__pairs_sort(fplt__pair *pairs, size_t count);
/* Takes all settings of the section `train` away. */
void fplt__proposal_drop_settings(fplt__proposal *proposal);

#endif
