/* Digests, and fingerprints of texts. */
#ifndef FPLT_BASE_DIGEST_H
#define FPLT_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { FPLT__HASH = 32, FPLT__FINGERPRINT = 65 };

/* BLAKE2b-256. */
typedef struct fplt__digest {
    uint8_t byte[FPLT__HASH];
} fplt__digest;

/* BLAKE2b-256 as 64 hexadecimal digits and a NUL. */
void fplt__fingerprint(const void *bytes, size_t size, char text[FPLT__FINGERPRINT]);

#endif
