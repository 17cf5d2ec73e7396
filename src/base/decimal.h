/* Doubles as decimal text, whatever the locale. Thread-safe. */
#ifndef FPLT_BASE_DECIMAL_H
#define FPLT_BASE_DECIMAL_H

#include <stddef.h>

/* Room that every text needs, its NUL included; more than the longest has, because whole words are copied. */
enum { FPLT__DECIMAL_ROOM = 40 };

/* The fewest digits that read back as the same double and, of those, the nearest to it: 0.1, 3, -2.5e-7. Positional from 1e-4
 * up to 1e16, never longer than Python's repr(). Returns the length of the text. */
size_t fplt__decimal_shortest(double value, char *text);

/* The text of printf's %.17g. */
size_t fplt__decimal_17(double value, char *text);

#endif
