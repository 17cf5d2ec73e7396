/* Small helpers on text, for messages. */
#ifndef FPLT_BASE_TEXT_H
#define FPLT_BASE_TEXT_H

#include <stddef.h>

#include "fedplt/settings.h"

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other; texts
 * are compared up to their first 63 characters. */
size_t fplt__edit_distance(const char *a, const char *b);

#endif
