/* Small helpers on text, for messages. */
#ifndef FPLT_BASE_TEXT_H
#define FPLT_BASE_TEXT_H

#include <stddef.h>

#include "fedplt/settings.h"

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other; texts
 * are compared up to their first 63 characters. */
size_t fplt__edit_distance(const char *a, const char *b);

/* Strict numbers: the whole text, finite (fplt__parse_real), nothing behind it, whole
 * (fplt__parse_integer); the decimal point is a point in every locale. FPLT_BAD_VALUE otherwise;
 * `value` is then unchanged. Thread-safe. */
fplt_status fplt__parse_real(const char *text, double *value);
fplt_status fplt__parse_integer(const char *text, long long *value);

/* Takes the first item off a list "a,b,c" (fplt__list_next) or off "key=value,key=value"
 * (fplt__pairs_next): writes it, cut to the space there is, and returns what follows, which is
 * empty after the last. A backslash takes the character behind it (comma, equals sign, backslash)
 * as part of the item and is left out. */
const char *fplt__list_next(const char *list, char *item, size_t size);
const char *fplt__pairs_next(const char *pairs, char *key, size_t key_size, char *value,
                             size_t value_size);

/* Writes a word as a shell takes it, in quotes where it needs them, cut to the space there is; 4 times its
 * length and 3 are enough. Commands in sentences are made of these, so that they can be pasted. */
void fplt__shell_word(const char *word, char *text, size_t size);

/* Fills FPLT_BAD_VALUE with a sentence that says which names there are and which is the nearest to
 * `name`; `what` they are names of. `list` gives name number `index`, and NULL past the last. */
fplt_status fplt__unknown_name(const char *what, const char *name,
                               const char *(*list)(size_t index, const char **help),
                               fplt_error *error);

#endif
