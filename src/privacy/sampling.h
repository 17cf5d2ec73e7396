/* Divergences that depend on the order in other ways than by a factor. */
#ifndef FPLT_PRIVACY_SAMPLING_H
#define FPLT_PRIVACY_SAMPLING_H

#include "fedplt/privacy.h"

enum { FPLT__MIN_ORDER = 2, FPLT__MAX_ORDER = 4096 };

/* Refuses numbers that are not finite or out of range. */
fplt_status fplt__minibatch_valid(const fplt_privacy_minibatch *minibatch, fplt_error *error);

/* The least epsilon over whole orders; `order` may be NULL. */
double fplt__minibatch_epsilon(const fplt_privacy_minibatch *minibatch, fplt_conversion conversion,
                               double delta, uint32_t *order);

#endif
