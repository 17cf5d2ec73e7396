/* Signs and numbers of a text, many bytes at a time: in plain C, and with the instructions of AVX2. Both give the same
 * bits. What is not written in the common way is left to fplt__number_scan. */
#ifndef FPLT_DATA_SCAN_H
#define FPLT_DATA_SCAN_H

#include <stddef.h>
#include <stdint.h>

enum {
    FPLT__WINDOW =
        8192, /* bytes of text whose signs are found at once: they stay in the nearest cache */
    FPLT__WITHIN = 16 /* bytes that must lie before a field: numbers are loaded from their end */
};

/* The fields that a LIBSVM row has, as far as they were read. */
typedef struct fplt__pairs {
    uint64_t before, most; /* the index that was read last; the largest that is legal */
    uint32_t *column;
    double *value;
    size_t count, room;
} fplt__pairs;

typedef struct fplt__scan {
    const char *name;
    int (*available)(void);
    /* Offsets of the signs in the text of at most FPLT__WINDOW bytes, ascending; `at` has room for FPLT__WINDOW +
     * FPLT__WITHIN. Clears *plain where a byte is not one of 1 to 127. */
    size_t (*find)(const char *text, size_t size, const char signs[3], uint16_t *at, int *plain);
    /* How often the sign is in the text. */
    size_t (*count)(const char *text, size_t size, char sign);
    /* Fields as numbers: the first begins at `start`, each ends at a sign (text + at[k]) and the next begins behind
     * it. Ends before a field that is not common, and behind one that is not followed by `separator`; returns how
     * many were read. */
    size_t (*numbers)(const char *start, const char *text, const uint16_t *at, size_t count,
                      char separator, double *value);
    /* index:value with blanks between them, `count` signs of them; ends before a pair that is not common, and behind
     * one that is not followed by a blank. Returns how many signs were used. */
    size_t (*pairs)(const char *start, const char *text, const uint16_t *at, size_t count,
                    fplt__pairs *pairs);
} fplt__scan;

extern const fplt__scan fplt__scan_plain, fplt__scan_avx2;

/* 10^fraction and its negative, by the place of the point among the last 16 bytes of a number, 0 to 15; 16: none. */
static const double fplt__scan_divisor[2][17] = {
    {1e15, 1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1, 1},
    {-1e15, -1e14, -1e13, -1e12, -1e11, -1e10, -1e9, -1e8, -1e7, -1e6, -1e5, -1e4, -1e3, -1e2, -1e1,
     -1, -1}};

/* All of them, the best first; NULL behind the last. */
const fplt__scan *fplt__scan_get(size_t index);
/* What readers use from here on; NULL: the best that the machine has, as at first. */
void fplt__scan_use(const fplt__scan *scan);
const fplt__scan *fplt__scan_used(void);

/* The signs of a text from one window to the next. */
typedef struct fplt__marks {
    const fplt__scan *scan;
    char signs[3];
    const char *text; /* of the window */
    size_t count, used;
    const char *next;  /* where the next window begins */
    const char *end;   /* of the whole text */
    const char *plain; /* everything before is known to be ASCII without NUL */
    uint16_t at[FPLT__WINDOW + FPLT__WITHIN];
} fplt__marks;

void fplt__marks_begin(fplt__marks *marks, const char *text, const char *end, const char signs[3]);
/* Signs before `at` are passed over. */
void fplt__marks_seek(fplt__marks *marks, const char *at);
/* How many there are at hand, with those of the next window where there were none; 0 at the end of the text. */
size_t fplt__marks_more(fplt__marks *marks);

static inline const char *fplt__marks_at(const fplt__marks *marks, size_t k)
{
    return marks->text + marks->at[marks->used + k];
}

/* Eight digits (0 to 9, the first in the lowest byte) as a number: in pairs, fours and eights [Lemire 2021]. */
static inline uint64_t fplt__eight_digits(uint64_t digits)
{
    digits = digits * 2561 >> 8;
    digits = (digits & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (digits & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
}

#endif
