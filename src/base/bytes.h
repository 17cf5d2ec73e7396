/* Numbers as little-endian bytes, whatever the machine: what is stored or sent. */
#ifndef FPLT_BASE_BYTES_H
#define FPLT_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void fplt__put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static inline void fplt__put64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t fplt__get32(const uint8_t *from)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value |= (uint32_t)from[i] << (8 * i);
    return value;
}

static inline uint64_t fplt__get64(const uint8_t *from)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

/* Doubles by their IEEE 754 bits. */
static inline void fplt__put_reals(uint8_t *to, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        fplt__put64(to + 8 * i, bits);
    }
}

static inline void fplt__get_reals(const uint8_t *from, double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = fplt__get64(from + 8 * i);
        memcpy(&x[i], &bits, sizeof bits);
    }
}

#endif
