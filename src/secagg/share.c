#include "secagg/share.h"

#include <sodium.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"

enum { SCALAR = crypto_core_ristretto255_SCALARBYTES };

/* A member's place: j + 1, since the value at 0 is the secret. */
static void place_of(uint32_t j, uint8_t x[SCALAR])
{
    memset(x, 0, SCALAR);
    fplt__put32(x, j + 1);
}

void fplt__share_polynomial(const uint8_t own[FPLT__SECAGG_KEY], uint32_t threshold,
                            uint8_t *coefficient)
{
    uint8_t wide[64], number[4];
    FPLT__ASSERT(threshold > 0);
    fplt__secagg_hash("self", own, NULL, 0, wide, sizeof wide);
    crypto_core_ristretto255_scalar_reduce(coefficient, wide);
    for (uint32_t m = 1; m < threshold; m++) {
        fplt__put32(number, m);
        const fplt__secagg_input input = {number, sizeof number};
        fplt__secagg_hash("coefficient", own, &input, 1, wide, sizeof wide);
        crypto_core_ristretto255_scalar_reduce(coefficient + (size_t)m * SCALAR, wide);
    }
    sodium_memzero(wide, sizeof wide);
}

void fplt__share_of(const uint8_t *coefficient, uint32_t threshold, uint32_t j,
                    uint8_t share[FPLT__SECAGG_KEY])
{
    uint8_t x[SCALAR], product[SCALAR];
    place_of(j, x);
    memcpy(share, coefficient + (size_t)(threshold - 1) * SCALAR, SCALAR);
    for (uint32_t m = threshold - 1; m-- > 0;) {
        crypto_core_ristretto255_scalar_mul(product, share, x);
        crypto_core_ristretto255_scalar_add(share, product, coefficient + (size_t)m * SCALAR);
    }
    sodium_memzero(product, sizeof product);
}

static void tag_of(const uint8_t *session, uint32_t i, uint32_t j, const uint8_t *share,
                   uint8_t tag[FPLT__SHARE_TAG])
{
    uint8_t hash[FPLT__SECAGG_KEY];
    fplt__secagg_derive_pair("tag", share, session, i, j, hash);
    memcpy(tag, hash, FPLT__SHARE_TAG);
}

static const uint8_t nonce[crypto_secretbox_NONCEBYTES]; /* 0: a key seals one share */

void fplt__share_seal(const uint8_t *pair, const uint8_t *session, uint32_t i, uint32_t j,
                      const uint8_t share[FPLT__SECAGG_KEY], uint8_t sealed[FPLT__SHARE_SEALED])
{
    uint8_t key[FPLT__SECAGG_KEY];
    fplt__secagg_derive_pair("box", pair, session, i, j, key);
    crypto_secretbox_easy(sealed, share, FPLT__SECAGG_KEY, nonce, key);
    tag_of(session, i, j, share, sealed + FPLT__SHARE_BOX);
    sodium_memzero(key, sizeof key);
}

int fplt__share_open(const uint8_t *pair, const uint8_t *session, uint32_t i, uint32_t j,
                     const uint8_t box[FPLT__SHARE_BOX], uint8_t share[FPLT__SECAGG_KEY])
{
    uint8_t key[FPLT__SECAGG_KEY];
    fplt__secagg_derive_pair("box", pair, session, i, j, key);
    int opened = crypto_secretbox_open_easy(share, box, FPLT__SHARE_BOX, nonce, key) == 0;
    sodium_memzero(key, sizeof key);
    return opened;
}

int fplt__share_good(const uint8_t *session, uint32_t i, uint32_t j,
                     const uint8_t share[FPLT__SECAGG_KEY], const uint8_t *tag)
{
    uint8_t wide[64] = {0}, reduced[SCALAR], made[FPLT__SHARE_TAG];
    memcpy(wide, share, SCALAR);
    crypto_core_ristretto255_scalar_reduce(reduced, wide);
    if (memcmp(reduced, share, SCALAR) != 0)
        return 0;
    if (!tag)
        return 1;
    tag_of(session, i, j, share, made);
    return sodium_memcmp(made, tag, sizeof made) == 0;
}

/* Lagrange at 0: weight_k = product over m != k of x_m / (x_m - x_k). All denominators are inverted by one inversion of
 * their product. */
void fplt__share_weights(const uint32_t *holder, uint32_t count, uint8_t *weight, uint8_t *scratch)
{
    uint8_t x[SCALAR], other[SCALAR], difference[SCALAR], inverse[SCALAR], above[SCALAR];
    uint8_t one[SCALAR] = {1}, below[SCALAR];
    memcpy(above, one, SCALAR); /* becomes the product of all x_m */
    for (uint32_t k = 0; k < count; k++) {
        place_of(holder[k], x);
        crypto_core_ristretto255_scalar_mul(above, above, x);
        memcpy(below, x, SCALAR); /* x_k as well: it is one factor too many in `above` */
        for (uint32_t m = 0; m < count; m++) {
            if (m == k)
                continue;
            place_of(holder[m], other);
            crypto_core_ristretto255_scalar_sub(difference, other, x);
            crypto_core_ristretto255_scalar_mul(below, below, difference);
        }
        memcpy(weight + (size_t)k * SCALAR, below, SCALAR);
    }
    memcpy(inverse, one, SCALAR); /* prefix products */
    for (uint32_t k = 0; k < count; k++) {
        memcpy(scratch + (size_t)k * SCALAR, inverse, SCALAR);
        crypto_core_ristretto255_scalar_mul(inverse, inverse, weight + (size_t)k * SCALAR);
    }
    memcpy(below, inverse, SCALAR);
    crypto_core_ristretto255_scalar_invert(inverse, below);
    for (uint32_t k = count; k-- > 0;) {
        uint8_t *w = weight + (size_t)k * SCALAR;
        memcpy(below, w, SCALAR);
        crypto_core_ristretto255_scalar_mul(w, inverse, scratch + (size_t)k * SCALAR);
        crypto_core_ristretto255_scalar_mul(inverse, inverse, below);
        crypto_core_ristretto255_scalar_mul(w, w, above);
    }
}

void fplt__share_add(uint8_t scalar[FPLT__SECAGG_KEY], const uint8_t *weight, const uint8_t *share)
{
    uint8_t product[SCALAR];
    crypto_core_ristretto255_scalar_mul(product, weight, share);
    crypto_core_ristretto255_scalar_add(scalar, scalar, product);
    sodium_memzero(product, sizeof product);
}
