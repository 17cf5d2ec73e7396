/* A proposal in words. */
#ifndef FPLT_FEDERATION_PROPOSAL_TEXT_H
#define FPLT_FEDERATION_PROPOSAL_TEXT_H

#include "base/buffer.h"
#include "wire/document.h"

/* Adds the proposal as a person reads it, one setting a line with the reason where there is one. */
void fplt__proposal_show(const fplt__proposal *proposal, fplt__buffer *text);

#endif
