/* What the data are is decided at the site: a schema, columns, classes or levels that a proposal states are approved
 * there, once, by their digest. Rule approval (rules.h). */
#ifndef FPLT_FEDERATION_APPROVAL_H
#define FPLT_FEDERATION_APPROVAL_H

#include "base/buffer.h"
#include "fedplt/settings.h"
#include "wire/document.h"

/* Digest of all that a proposal states about the data; zeros: it states nothing, and the site's own settings say it. */
fplt__digest fplt__approval_digest(const fplt__proposal *proposal);

/* Refuses what is neither in policy.data, nor in FOLDER/approved.txt, nor the schema of the site's own settings. A refused
 * proposal is kept in FOLDER/proposals, so that `fedplt agent approve` can show it. */
fplt_status fplt__approval_judge(const fplt_settings *site, const char *folder,
                                 const fplt__proposal *proposal, fplt_error *error);

/* The same in words: schema, columns, label, and the settings of the fit. */
void fplt__approval_show(const fplt__proposal *proposal, fplt__buffer *text);
/* Legal words in policy.data. */
fplt_status fplt__approval_check(const fplt_settings *site, fplt_error *error);

#endif
