/* Counts that a site tells: numbers of two words, of which a count uses the second. */
#ifndef FPLT_STUDY_TOLD_H
#define FPLT_STUDY_TOLD_H

#include <stddef.h>
#include <stdint.h>

/* A count of records, and numbers that one site sends, at most. */
#define FPLT__TOLD_MAX_COUNT ((uint64_t)1 << 53)
#define FPLT__TOLD_MAX       ((uint64_t)4000000)

/* Numbers on the way out: `used` of them are written. */
typedef struct fplt__telling {
    uint64_t *words;
    size_t used;
} fplt__telling;

static inline void fplt__tell(fplt__telling *out, uint64_t count)
{
    out->words[2 * out->used] = 0;
    out->words[2 * out->used++ + 1] = count;
}

/* Numbers of a site that may lie: is_bad once one of them cannot be. */
typedef struct fplt__hearing {
    const uint64_t *words;
    size_t used;
    int is_bad;
} fplt__hearing;

/* A count from 0 to `most`; otherwise, and from then on, 0. */
static inline uint64_t fplt__hear(fplt__hearing *in, uint64_t most)
{
    uint64_t low = in->words[2 * in->used], count = in->words[2 * in->used + 1];
    in->used++;
    if (low || count > most)
        in->is_bad = 1;
    return in->is_bad ? 0 : count;
}

#endif
