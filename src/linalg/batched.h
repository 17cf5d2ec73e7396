/* Small dense matrices of several agents beside each other, one in each lane of a vector. What one agent
 * computes is a chain in which every operation waits for the one before; several chains go side by side.
 * Each lane does what the kernel does with one matrix in panels, in the same order: the same bits. */
#ifndef FPLT_LINALG_BATCHED_H
#define FPLT_LINALG_BATCHED_H

#include "linalg/matrix.h"

/* How many, and the most columns whose eigenvalue is found. */
enum { FPLT_BATCHED = 4, FPLT_BATCHED_ORDER = 12 };

/* Steps of gradient descent on sum_r log(1 + e^<row r, w>), a ridge, a linear and a proximal term:
 *     g = factor sum_r sigmoid(<row r, w>) row r + ridge w; w <- w - step (g + linear + pull (w - centre)).
 * Arrays have FPLT_BATCHED numbers, one a lane; vectors as many a column. */
typedef struct fplt__descent {
    const double *rows; /* interleaved */
    size_t count;       /* of the rows */
    size_t columns, regularised;
    const double *factor, *step, *pull;
    const double *ridge;           /* NULL: none */
    const double *linear, *centre; /* NULL: zero */
    uint32_t epochs;
    double *slopes; /* room: FPLT_BATCHED * count */
    double *w;
} fplt__descent;

/* At one point: the sums of log(1 + e^<row, x>) and of sigmoid(<row, x>) row, and how many <row, x> are below 0. */
typedef struct fplt__inspection {
    const double *rows; /* interleaved */
    size_t count;       /* of the rows */
    size_t columns;
    const double *q; /* rows that a lane has, as numbers */
    const double *x; /* of all lanes */
    double *slopes;  /* room: FPLT_BATCHED * count */
    double *sums;    /* as many as x a lane, interleaved */
    double losses[FPLT_BATCHED], below[FPLT_BATCHED];
} fplt__inspection;

typedef struct fplt__batched {
    /* Element (r, j) of matrix i at to[(r * columns + j) * FPLT_BATCHED + i], for r < rows, zero where the
     * matrix ends earlier. All in panels, with the same columns; `to` has room for rows to the next
     * multiple of 4. */
    void (*interleave)(const fplt__matrix *const *a, size_t rows, double *to);
    void (*descend)(const fplt__descent *descent);
    /* Zero where a <row, x> is 0: whether that is right, the label says. */
    int (*inspect)(fplt__inspection *inspection);
    /* The largest eigenvalue of A'A/q, q the rows of each, for 2 to FPLT_BATCHED_ORDER columns. Zero where a
     * lane needs more care than the others can wait for. */
    int (*largest)(const double *rows, size_t count, size_t columns, const double *q,
                   double *largest);
} fplt__batched;

#endif
