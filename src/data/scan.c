/* Plain C, eight bytes at a time; the choice; windows. */
#include "data/scan.h"

#include <endian.h>
#include <string.h>

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

/* Eight bytes, the first in the lowest, without the one of which `point` is the high bit: those before it move up by
 * one, and `carried` comes first. */
static inline uint64_t without(uint64_t bytes, uint64_t point, uint64_t carried)
{
    uint64_t before = (point >> 7) - 1; /* point >> 7 is the lowest bit of its byte */
    return (bytes & ~(before << 8 | 0xff)) | (bytes & before) << 8 | carried;
}

/* The last eight bytes and, where there are more, those before them. */
static inline int common(const char *start, const char *end, double *value)
{
    size_t minus = *start == '-', length = (size_t)(end - start) - minus;
    if (length - 1 >= 16)
        return 0;
    uint64_t last = load_word(end - 8) ^ EACH('0'), first = 0, found;
    if (length > 8)
        first = (load_word(end - 16) ^ EACH('0')) & UINT64_MAX << (128 - 8 * length);
    else
        last &= UINT64_MAX << (64 - 8 * length);
    unsigned point = 16;
    if ((found = zero_bytes(last ^ EACH('.' ^ '0')))) {
        point = 8 + (unsigned)__builtin_ctzll(found) / 8;
        last = without(last, found & -found, first >> 56);
        first <<= 8;
    } else if (length > 8 && (found = zero_bytes(first ^ EACH('.' ^ '0')))) {
        point = (unsigned)__builtin_ctzll(found) / 8;
        first = without(first, found & -found, 0);
    }
    uint64_t over = (last + EACH(0x76)) | last | (first + EACH(0x76)) | first;
    if (over & EACH(0x80) || length == (point != 16))
        return 0;
    uint64_t mantissa = fplt__eight_digits(last);
    if (length > 8)
        mantissa += fplt__eight_digits(first) * 100000000;
    *value = (double)(int64_t)mantissa / fplt__scan_divisor[minus][point];
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

/* The next window. A function of its own: a variable whose address is taken would put a stack guard into every call of
 * fplt__marks_more, one for each field. */
__attribute__((noinline)) static void find_marks(fplt__marks *marks)
{
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

size_t fplt__marks_more(fplt__marks *marks)
{
    while (marks->used == marks->count && marks->next < marks->end)
        find_marks(marks);
    return marks->count - marks->used;
}

void fplt__marks_seek(fplt__marks *marks, const char *at)
{
    while ((marks->used < marks->count || marks->next < at) && fplt__marks_more(marks) &&
           fplt__marks_at(marks, 0) < at)
        marks->used++;
}
