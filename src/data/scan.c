/* Plain C, eight bytes at a time; the choice; windows. */
#include "data/scan.h"

#include <endian.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

typedef struct block {
    uint64_t word[8];
} block;

static inline uint64_t load_word(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return le64toh(word);
}

static inline block block_load(const char *text)
{
    block bytes;
    for (int i = 0; i < 8; i++)
        bytes.word[i] = load_word(text + 8 * i);
    return bytes;
}

/* The high bit of every byte that is zero; nothing is carried from one to the next. */
static inline uint64_t zero_bytes(uint64_t word)
{
    return ~(((word & EACH(0x7f)) + EACH(0x7f)) | word) & EACH(0x80);
}

/* The high bits of the bytes as the lowest eight bits. */
static inline uint64_t gathered(uint64_t word)
{
    return (word >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static inline uint64_t block_signs(block bytes, const char signs[3])
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t found = 0;
        for (int k = 0; k < 3; k++)
            found |= zero_bytes(bytes.word[i] ^ EACH((unsigned char)signs[k]));
        bits |= gathered(found) << 8 * i;
    }
    return bits;
}

static inline uint64_t block_other(block bytes)
{
    uint64_t other = 0;
    for (int i = 0; i < 8; i++)
        other |= zero_bytes(bytes.word[i]) | (bytes.word[i] & EACH(0x80));
    return other;
}

static inline size_t bits_set(uint64_t bits)
{
    bits -= bits >> 1 & EACH(0x55);
    bits = (bits & EACH(0x33)) + (bits >> 2 & EACH(0x33));
    return (size_t)(((bits + (bits >> 4)) & EACH(0x0f)) * EACH(1) >> 56);
}

/* 16 bytes, the first in the lowest, without byte n: what is before it moves up by one. */
static inline wide without(wide bytes, unsigned n)
{
    wide before = ((wide)1 << 8 * n) - 1;
    return (bytes & ~(before << 8 | 0xff)) | (bytes & before) << 8;
}

static inline int common(const char *start, const char *end, double *value)
{
    static const double divisor[] = {1e15, 1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8, 1e7,
                                     1e6,  1e5,  1e4,  1e3,  1e2,  1e1,  1,   1};
    size_t minus = *start == '-', length = (size_t)(end - start) - minus;
    if (length - 1 >= 16)
        return 0;
    wide digits = (wide)load_word(end - 8) << 64 | load_word(end - 16);
    wide zeros = (wide)EACH('0') << 64 | EACH('0');
    digits = (digits ^ zeros) & ~(wide)0 << (128 - 8 * length);
    uint64_t low = zero_bytes((uint64_t)digits ^ EACH('.' ^ '0'));
    uint64_t high = zero_bytes((uint64_t)(digits >> 64) ^ EACH('.' ^ '0'));
    unsigned point = low    ? (unsigned)__builtin_ctzll(low) / 8
                     : high ? 8 + (unsigned)__builtin_ctzll(high) / 8
                            : 16;
    if (point < 16)
        digits = without(digits, point);
    low = (uint64_t)digits;
    high = (uint64_t)(digits >> 64);
    uint64_t over = (low + EACH(0x76)) | low | (high + EACH(0x76)) | high;
    if (over & EACH(0x80) || length == (point != 16))
        return 0;
    uint64_t mantissa = fplt__eight_digits(low) * 100000000 + fplt__eight_digits(high);
    double size = (double)(int64_t)mantissa / divisor[point];
    *value = minus ? -size : size;
    return mantissa <= UINT64_C(1) << 53;
}

#include "data/scan.inc"

static int available(void)
{
    return 1;
}

const fplt__scan fplt__scan_plain = {"plain", available, find, count_sign, numbers, pairs_of};

/* ---- choice ---- */

static const fplt__scan *const scans[] = {
#if defined(__x86_64__)
    &fplt__scan_avx2,
#endif
    &fplt__scan_plain,
};

static const fplt__scan *wanted;

const fplt__scan *fplt__scan_get(size_t index)
{
    return index < sizeof scans / sizeof *scans ? scans[index] : NULL;
}

void fplt__scan_use(const fplt__scan *scan)
{
    wanted = scan;
}

const fplt__scan *fplt__scan_used(void)
{
    size_t i = 0;
    while (!scans[i]->available())
        i++;
    return wanted ? wanted : scans[i];
}

/* ---- windows ---- */

void fplt__marks_begin(fplt__marks *marks, const char *text, const char *end, const char signs[3])
{
    marks->scan = fplt__scan_used();
    memcpy(marks->signs, signs, sizeof marks->signs);
    marks->text = marks->next = marks->plain = text;
    marks->end = end;
    marks->count = marks->used = 0;
}

size_t fplt__marks_more(fplt__marks *marks)
{
    while (marks->used == marks->count && marks->next < marks->end) {
        size_t left = (size_t)(marks->end - marks->next),
               size = left < FPLT__WINDOW ? left : FPLT__WINDOW;
        int plain = marks->plain == marks->next;
        marks->text = marks->next;
        marks->next += size;
        marks->used = 0;
        marks->count = marks->scan->find(marks->text, size, marks->signs, marks->at, &plain);
        if (plain)
            marks->plain = marks->next;
    }
    return marks->count - marks->used;
}

void fplt__marks_seek(fplt__marks *marks, const char *at)
{
    while ((marks->used < marks->count || marks->next < at) && fplt__marks_more(marks) &&
           fplt__marks_at(marks, 0) < at)
        marks->used++;
}
