/* Sorted numbers. */
#include "base/sorting.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int fplt__ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void fplt__sort(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, fplt__ascending);
}

/* Doubles in the order of their bits: those of negative ones are turned round. */
static uint64_t key_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits ^ (bits >> 63 ? UINT64_MAX : UINT64_C(1) << 63);
}

uint64_t fplt__sort_key(double number)
{
    return isnan(number) ? UINT64_MAX : key_of(number + 0.0); /* -0 becomes 0 */
}

static double number_of(uint64_t key)
{
    uint64_t bits = key ^ (key >> 63 ? UINT64_C(1) << 63 : UINT64_MAX);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

enum { DIGIT_BITS = 8, DIGITS = 64 / DIGIT_BITS, DIGIT_VALUES = 1 << DIGIT_BITS };

/* One digit of the keys, from the lowest on; those of equal digits keep their order. */
static void sort_digit(const double *from, double *to, size_t count, unsigned shift, size_t *places)
{
    size_t at = 0;
    for (size_t v = 0; v < DIGIT_VALUES; v++) {
        size_t next = at + places[v];
        places[v] = at;
        at = next;
    }
    for (size_t i = 0; i < count; i++)
        to[places[key_of(from[i]) >> shift & (DIGIT_VALUES - 1)]++] = from[i];
}

void fplt__sort_with(double *numbers, double *room, size_t count)
{
    enum { FEW = 512 };
    static const uint64_t no_number = UINT64_C(0x7ff8000000000000);
    size_t places[DIGITS][DIGIT_VALUES] = {{0}};
    double *from = numbers, *to = room;
    for (size_t i = 0; i < count; i++) {
        if (isnan(numbers[i])) /* of any sign */
            numbers[i] = number_of(no_number ^ UINT64_C(1) << 63);
        for (unsigned d = 0; count > FEW && d < DIGITS; d++)
            places[d][key_of(numbers[i]) >> DIGIT_BITS * d & (DIGIT_VALUES - 1)]++;
    }
    if (count <= FEW) {
        fplt__sort(numbers, count);
        return;
    }
    for (unsigned d = 0; d < DIGITS; d++) {
        size_t first = key_of(from[0]) >> DIGIT_BITS * d & (DIGIT_VALUES - 1);
        if (places[d][first] == count)
            continue; /* all are alike here */
        sort_digit(from, to, count, DIGIT_BITS * d, places[d]);
        double *swap = from;
        from = to;
        to = swap;
    }
    if (from != numbers)
        memcpy(numbers, from, count * sizeof *numbers);
}

double fplt__quantile(const double *sorted, size_t count, double share)
{
    if (!count)
        return NAN;
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    if (part == 0 || below + 1 == count)
        return sorted[below];
    if (isinf(sorted[below + 1]))
        return sorted[below + 1];
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}
