/* Keyed random streams (Philox4x64-10): a stream is a pure function of its key, so no result depends on which thread drew
 * first. For simulation: a seed can be guessed, and privacy noise comes from the operating system (fedplt/noise.h).
 *
 * Threads and blocking: a stream belongs to one thread at a time; nothing blocks. */
#ifndef FEDPLT_RANDOM_H
#define FEDPLT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Streams of different purposes never meet. Append only: the numbers are
 * part of what a seed means. */
typedef enum fplt_purpose {
    FPLT_FOR_DATA = 1,          /* generators */
    FPLT_FOR_PARTITION = 2,     /* shuffling, Dirichlet shares, held-out rows */
    FPLT_FOR_START = 3,         /* initial points */
    FPLT_FOR_PARTICIPATION = 4, /* agents that are active in a round */
    FPLT_FOR_BATCH = 5,         /* minibatches */
    FPLT_FOR_NOISE = 6,         /* noisy local training, simulated */
    FPLT_FOR_SHARED = 7,        /* common to the cohort: lengths, masks, coins */
    FPLT_FOR_TEST = 8,          /* tests and user code */
    FPLT_FOR_ROUNDING = 9       /* messages */
} fplt_purpose;

/* For the stack; its fields are private. */
typedef struct fplt_stream {
    uint64_t key[2], counter[4], block[4];
    double spare;
    unsigned used;
    int has_spare;
} fplt_stream;

/* The stream of a key: equal arguments give the same numbers in every process. Holds no memory. */
FPLT_API fplt_stream fplt_stream_make(uint64_t seed, uint32_t run, fplt_purpose purpose,
                                      uint64_t round, uint64_t agent, uint64_t step);

/* (k + 1/2) 2^-52 with k uniform on 0 .. 2^52 - 1: never 0 or 1. */
FPLT_API double fplt_stream_uniform(fplt_stream *stream);
/* A draw of N(0, 1), by Box and Muller. */
FPLT_API double fplt_stream_normal(fplt_stream *stream);
/* Uniform on 0 .. bound - 1, without bias; bound > 0. */
FPLT_API uint64_t fplt_stream_below(fplt_stream *stream, uint64_t bound);

#ifdef __cplusplus
}
#endif
#endif
