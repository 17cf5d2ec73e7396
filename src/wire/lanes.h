/* BLAKE2b-256 of several messages at a time, where the machine has instructions for it: a digest is a long
 * dependent computation, and four or eight of them take little more time than one. */
#ifndef FPLT_WIRE_LANES_H
#define FPLT_WIRE_LANES_H

#include <stddef.h>
#include <stdint.h>

enum { FPLT__LANES = 8, FPLT__LANE_BLOCK = 128 };

/* Whether this machine has them. */
int fplt__lanes_there(void);
/* Of `count` messages, 1 to 8, of `size` bytes that lie one behind the other; `size` is a multiple of
 * FPLT__LANE_BLOCK above 0. The digests follow one another as well, 32 bytes each. Fewer take as long as four. */
void fplt__lanes_hash(const uint8_t *bytes, size_t size, size_t count, uint8_t *digests);

/* What it is made of: for 1 to 4 messages, and for 1 to 8 where fplt__lanes_are_wide. */
int fplt__lanes_are_wide(void);
void fplt__lanes_avx2(const uint8_t *bytes, size_t size, size_t count, uint8_t *digests);
void fplt__lanes_avx512(const uint8_t *bytes, size_t size, size_t count, uint8_t *digests);

#endif
