/* Which of many alike cases a test takes. Under sanitizers, which look at code and memory and not at numbers, `make check`
 * takes one in five, drawn by a seed that is printed; FEDPLT_TESTS=SEED draws them again, and FEDPLT_TESTS=all, as in `make
 * check-all`, takes every one. The build without sanitizers always does. */
#ifndef FPLT_TESTS_DRAWN_H
#define FPLT_TESTS_DRAWN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DRAWN_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DRAWN_SANITIZED 1
#endif

enum { DRAWN_SHARE = 5 };

/* Whether cases are drawn at all, and the seed, which is printed the first time. */
static inline int drawn_seed(uint64_t *seed)
{
#ifdef DRAWN_SANITIZED
    static uint64_t drawn;
    const char *words = getenv("FEDPLT_TESTS");
    if (words && strcmp(words, "all") == 0)
        return 0;
    if (!drawn) {
        drawn = words && *words ? strtoull(words, NULL, 10) : (uint64_t)time(NULL);
        printf("# one case in five by FEDPLT_TESTS=%llu\n", (unsigned long long)drawn);
        fflush(stdout);
    }
    *seed = drawn;
    return 1;
#else
    (void)seed;
    return 0;
#endif
}

static inline int drawn_takes(uint64_t index)
{
    uint64_t seed;
    if (!drawn_seed(&seed))
        return 1;
    uint64_t bits = seed + (index + 1) * UINT64_C(0x9E3779B97F4A7C15); /* as in SplitMix64 */
    bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
    return (bits ^ bits >> 31) % DRAWN_SHARE == 0;
}

#endif
