/* Random streams inside the library: draws beside those of fedplt/random.h. */
#ifndef FPLT_BASE_RANDOM_H
#define FPLT_BASE_RANDOM_H

#include "fedplt/random.h"

/* The next 64 uniformly random bits. */
uint64_t fplt__stream_bits(fplt_stream *stream);

/* What the call number `index` of fplt_stream_uniform, from 0, gives on a stream that nothing was drawn from. */
double fplt__stream_uniform_at(const fplt_stream *stream, uint64_t index);

/* Writes `count` independent draws of N(0, deviation^2), the same as so many calls of
 * fplt_stream_normal. */
void fplt__stream_normals(fplt_stream *stream, double deviation, double *out, size_t count);

/* Number of trials up to and including the first success: support 1, 2, ...; 0 < p <= 1. */
uint64_t fplt__stream_geometric(fplt_stream *stream, double p);

/* Gamma with the given shape > 0 and scale 1. */
double fplt__stream_gamma(fplt_stream *stream, double shape);

/* Uniformly random permutation of the array in place. */
void fplt__stream_shuffle(fplt_stream *stream, uint32_t *array, size_t count);

/* `count` distinct members of 0 .. from - 1, uniformly, in increasing order; count <= from. */
void fplt__stream_choose(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out);

#endif
