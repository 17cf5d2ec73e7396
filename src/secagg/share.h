/* Shamir shares of a self mask's scalar over the prime field of Ristretto255's order. */
#ifndef FPLT_SECAGG_SHARE_H
#define FPLT_SECAGG_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "secagg/keys.h"

enum { FPLT__SHARE_BOX = 48, FPLT__SHARE_TAG = 16, FPLT__SHARE_SEALED = 64 };

/* The polynomial of own_i: its value at 0 is the scalar that the self mask is made from. `coefficient` has room for
 * `threshold` scalars of 32 bytes. */
void fplt__share_polynomial(const uint8_t own[FPLT__SECAGG_KEY], uint32_t threshold,
                            uint8_t *coefficient);
/* Its value for member j, at j + 1. */
void fplt__share_of(const uint8_t *coefficient, uint32_t threshold, uint32_t j,
                    uint8_t share[FPLT__SECAGG_KEY]);

/* Share of i for j, encrypted under their pair key, and its tag behind it. */
void fplt__share_seal(const uint8_t *pair, const uint8_t *session, uint32_t i, uint32_t j,
                      const uint8_t share[FPLT__SECAGG_KEY], uint8_t sealed[FPLT__SHARE_SEALED]);
/* 0: the box is not one that i made for j in this session. */
int fplt__share_open(const uint8_t *pair, const uint8_t *session, uint32_t i, uint32_t j,
                     const uint8_t box[FPLT__SHARE_BOX], uint8_t share[FPLT__SECAGG_KEY]);
/* Whether a share of i that j sent is below the group's order and has this tag (NULL: no tag is known). */
int fplt__share_good(const uint8_t *session, uint32_t i, uint32_t j,
                     const uint8_t share[FPLT__SECAGG_KEY], const uint8_t *tag);

/* Weights with which the shares of these holders add up to the value at 0, 32 bytes each. `scratch` has room for as
 * many. */
void fplt__share_weights(const uint32_t *holder, uint32_t count, uint8_t *weight, uint8_t *scratch);
/* scalar += weight x share. */
void fplt__share_add(uint8_t scalar[FPLT__SECAGG_KEY], const uint8_t *weight, const uint8_t *share);

#endif
