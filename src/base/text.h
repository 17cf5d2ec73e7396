/* Small helpers on text, for messages. */
#ifndef FPLT_BASE_TEXT_H
#define FPLT_BASE_TEXT_H

#include <stddef.h>

#include "fedplt/status.h"

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other; texts
 * are compared up to their first 63 characters. */
size_t fplt__edit_distance(const char *a, const char *b);

/* Fills FPLT_BAD_VALUE with a sentence that says which names there are and which is the nearest.
 * `list` gives name number `index`, and NULL past the last. */
fplt_status fplt__unknown_name(const char *what, const char *name,
                               const char *(*list)(size_t index, const char **help),
                               fplt_error *error);

#endif
