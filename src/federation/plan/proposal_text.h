/* A proposal in words. */
#ifndef FPLT_FEDERATION_PROPOSAL_TEXT_H
#define FPLT_FEDERATION_PROPOSAL_TEXT_H

#include "base/buffer.h"
#include "wire/document.h"

/* Adds the proposal as a person reads it, one setting a line with the reason where there is one. */
void fplt__proposal_show(const fplt__proposal *proposal, fplt__buffer *text);

/* Whether its schema says `drafted: yes`, and what that means. */
int fplt__proposal_is_drafted(const fplt__proposal *proposal);
#define FPLT__DRAFT                                                                               \
    "a draft: its bounds, levels and classes were read from records, which no noise covers, and " \
    "nobody has confirmed them"

#endif
