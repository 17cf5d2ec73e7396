/* Doubles as text: speed beside printf, and the round trip of many.
 *
 *     build/bench/decimal            speed, and 10^7 random doubles read back
 *     build/bench/decimal print N    N random doubles, in bits and in shortest digits (bench/shortest.py compares repr) */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "data/text.h"
#include "figure.h"
#include "timing.h"

enum { NUMBERS = 1 << 16, TRIPS = 10000000 };

static uint64_t state = UINT64_C(88172645463325252);

/* Marsaglia's xorshift: half of them of any exponent, half between 0 and 1. */
static double draw(void)
{
    double value;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    memcpy(&value, &state, sizeof value);
    return !isfinite(value) || state & 1 ? (double)(state >> 11) * 0x1p-53 : value;
}

static size_t by_printf(double value, char *text)
{
    return (size_t)snprintf(text, FPLT__DECIMAL_ROOM, "%.17g", value);
}

static double speed(size_t (*print)(double, char *), const double *value, size_t *bytes)
{
    double times[15];
    char text[FPLT__DECIMAL_ROOM];
    for (int t = 0; t < 15; t++) {
        double start = seconds();
        *bytes = 0;
        for (size_t i = 0; i < NUMBERS; i++)
            *bytes += print(value[i], text);
        times[t] = seconds() - start;
    }
    return median(times, 15);
}

static void report(const char *what, size_t (*print)(double, char *), const double *value)
{
    size_t bytes;
    double time = speed(print, value, &bytes);
    printf("%-34s %6.1f ns a number, %6.0f MB/s of text\n", what, 1e9 * time / NUMBERS,
           1e-6 * (double)bytes / time);
}

static size_t count_lost(void)
{
    char text[FPLT__DECIMAL_ROOM];
    size_t lost = 0;
    for (size_t i = 0; i < TRIPS; i++) {
        double value = draw(), read;
        fplt__span span = {text, fplt__decimal_shortest(value, text)};
        lost += fplt__number_parse(span, &read) != FPLT__NUMBER || read != value;
    }
    return lost;
}

int main(int argc, char **argv)
{
    static double any[NUMBERS], rounded[NUMBERS];
    char text[FPLT__DECIMAL_ROOM];
    if (argc > 2 && strcmp(argv[1], "print") == 0) {
        for (long i = atol(argv[2]); i > 0; i--) {
            double value = draw();
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            fplt__decimal_shortest(value, text);
            printf("%" PRIx64 " %s\n", bits, text);
        }
        return 0;
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        any[i] = (double)(int64_t)(state ^ (uint64_t)(draw() > 0)) * 0x1p-60;
        rounded[i] = round(1e4 * any[i]) / 1e4;
    }
    report("shortest", fplt__decimal_shortest, any);
    report("shortest, four digits", fplt__decimal_shortest, rounded);
    report("17 digits", fplt__decimal_17, any);
    report("printf %.17g", by_printf, any);
    figure("10^7 random doubles in shortest digits that read back as another", (double)count_lost(),
           "doubles", AT_MOST, 0);
    return 0;
}
