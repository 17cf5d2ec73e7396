/* One sequence of bytes for each JSON value, so that digests and signatures do not depend on blanks,
 * the order of fields or how many digits a number was written with:
 *
 *     null n   false f   true t
 *     number   d and the eight bytes of the IEEE double, least first (-0 counts as 0)
 *     text     s, length, UTF-8 bytes
 *     list     a, count, items
 *     object   o, count, for each name in the order of its bytes: the name as a text, the value
 *
 * where lengths and counts are eight bytes, least first. Whole and real numbers are alike: 1 = 1.0. */
#ifndef FPLT_BASE_CANONICAL_H
#define FPLT_BASE_CANONICAL_H

#include <jansson.h>

#include "base/buffer.h"

enum { FPLT_DIGEST = 32 };

/* Appends the bytes of a value; of an object without the fields listed (NULL ends the list, which may
 * be NULL). The buffer has the status. */
void fplt__canonical_add(fplt__buffer *out, const json_t *value, const char *const *without);

/* BLAKE2b-256 of `purpose` and the bytes of the value. */
fplt_status fplt__canonical_digest(const char *purpose, const json_t *value,
                                   const char *const *without, unsigned char digest[FPLT_DIGEST],
                                   fplt_error *error);

#endif
