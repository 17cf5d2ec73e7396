/* Margins and combinations of sparse rows, for all kernels. In a header, so that every kernel compiles
 * them with its own instructions; sums have one order and nothing is fused, so the bits are the same in all.
 *
 * A row goes by eights, then the four, the two and the one that are left. Short rows are bound by the number
 * of instructions: the place in the columns goes on from row to row, and is kept from being counted anew. */
#ifndef FPLT_LINALG_SPARSE_H
#define FPLT_LINALG_SPARSE_H

#include "linalg/matrix.h"

#define FPLT_APART         static __attribute__((noinline, unused))
#define FPLT_KEEP(pointer) __asm__("" : "+r"(pointer))

/* Entries 0, 1, 2, 3 of each four go to four partial sums, so that the additions do not wait for each other. */
#define FPLT_SUM_ROW(TERM, ADVANCE)                                 \
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;                          \
    while (end - c >= 8) {                                          \
        FPLT_KEEP(c);                                               \
        s0 += TERM(0), s1 += TERM(1), s2 += TERM(2), s3 += TERM(3); \
        s0 += TERM(4), s1 += TERM(5), s2 += TERM(6), s3 += TERM(7); \
        ADVANCE(8);                                                 \
    }                                                               \
    size_t left = (size_t)(end - c);                                \
    if (left & 4) {                                                 \
        s0 += TERM(0), s1 += TERM(1), s2 += TERM(2), s3 += TERM(3); \
        ADVANCE(4);                                                 \
    }                                                               \
    if (left & 2) {                                                 \
        s0 += TERM(0), s1 += TERM(1);                               \
        ADVANCE(2);                                                 \
    }                                                               \
    if (left & 1) {                                                 \
        s2 += TERM(0);                                              \
        ADVANCE(1);                                                 \
    }

/* The columns of a row increase, so none of four is another: all are read before one is written. */
#define FPLT_ADD_TWO(TERM, k)                                  \
    do {                                                       \
        size_t c0 = c[k], c1 = c[(k) + 1];                     \
        double t0 = y[c0] + TERM(k), t1 = y[c1] + TERM(k + 1); \
        y[c0] = t0, y[c1] = t1;                                \
    } while (0)
#define FPLT_ADD_FOUR(TERM, k)                                                           \
    do {                                                                                 \
        size_t c0 = c[k], c1 = c[(k) + 1], c2 = c[(k) + 2], c3 = c[(k) + 3];             \
        double t0 = y[c0] + TERM(k), t1 = y[c1] + TERM(k + 1), t2 = y[c2] + TERM(k + 2), \
               t3 = y[c3] + TERM(k + 3);                                                 \
        y[c0] = t0, y[c1] = t1, y[c2] = t2, y[c3] = t3;                                  \
    } while (0)
#define FPLT_ADD_ROW(TERM, ADVANCE)  \
    while (end - c >= 8) {           \
        FPLT_KEEP(c);                \
        FPLT_ADD_FOUR(TERM, 0);      \
        FPLT_ADD_FOUR(TERM, 4);      \
        ADVANCE(8);                  \
    }                                \
    size_t left = (size_t)(end - c); \
    if (left & 4) {                  \
        FPLT_ADD_FOUR(TERM, 0);      \
        ADVANCE(4);                  \
    }                                \
    if (left & 2) {                  \
        FPLT_ADD_TWO(TERM, 0);       \
        ADVANCE(2);                  \
    }                                \
    if (left & 1) {                  \
        y[*c] += TERM(0);            \
        ADVANCE(1);                  \
    }

/* rows whose numbers are all equal */

#define FPLT_SKIP(count) (c += (count))

FPLT_APART void fplt__same_margins(const fplt__matrix *a, size_t first, size_t count,
                                   const double *x, double *margins)
{
    const size_t *start = a->start + first;
    const uint32_t *column = a->column, *c = column + *start;
    const double *same = a->same + first;
    for (size_t r = 0; r < count; r++) {
        const uint32_t *end = column + start[r + 1];
#define TERM(k) x[c[k]]
        FPLT_SUM_ROW(TERM, FPLT_SKIP)
#undef TERM
        margins[r] = same[r] * ((s0 + s1) + (s2 + s3));
    }
}

FPLT_APART void fplt__same_combine(const fplt__matrix *a, size_t first, size_t count,
                                   const double *weights, double *y)
{
    const size_t *start = a->start + first;
    const uint32_t *column = a->column, *c = column + *start;
    const double *same = a->same + first;
    for (size_t r = 0; r < count; r++) {
        const uint32_t *end = column + start[r + 1];
        double number = weights[r] * same[r];
#define TERM(k) number
        FPLT_ADD_ROW(TERM, FPLT_SKIP)
#undef TERM
    }
}

/* rows with a number an entry */

#define FPLT_SKIP_BOTH(count) (c += (count), v += (count))
#define FPLT_PRODUCT(k)       (v[k] * x[c[k]])
#define FPLT_WEIGHED(k)       (weight * v[k])

/* Written once for numbers that are doubles and floats. */
#define FPLT_OVER_VALUES(kind, number, numbers)                                               \
    FPLT_APART void fplt__##kind##_margins(const fplt__matrix *a, size_t first, size_t count, \
                                           const double *x, double *margins)                  \
    {                                                                                         \
        const size_t *start = a->start + first;                                               \
        const uint32_t *column = a->column, *c = column + *start;                             \
        const number *v = a->numbers + *start;                                                \
        for (size_t r = 0; r < count; r++) {                                                  \
            const uint32_t *end = column + start[r + 1];                                      \
            FPLT_SUM_ROW(FPLT_PRODUCT, FPLT_SKIP_BOTH)                                        \
            margins[r] = (s0 + s1) + (s2 + s3);                                               \
        }                                                                                     \
    }                                                                                         \
                                                                                              \
    FPLT_APART void fplt__##kind##_combine(const fplt__matrix *a, size_t first, size_t count, \
                                           const double *weights, double *y)                  \
    {                                                                                         \
        const size_t *start = a->start + first;                                               \
        const uint32_t *column = a->column, *c = column + *start;                             \
        const number *v = a->numbers + *start;                                                \
        for (size_t r = 0; r < count; r++) {                                                  \
            const uint32_t *end = column + start[r + 1];                                      \
            double weight = weights[r];                                                       \
            FPLT_ADD_ROW(FPLT_WEIGHED, FPLT_SKIP_BOTH)                                        \
        }                                                                                     \
    }
FPLT_OVER_VALUES(value, double, value)
FPLT_OVER_VALUES(narrow, float, narrow)

static inline void fplt__sparse_margins(const fplt__matrix *a, size_t first, size_t count,
                                        const double *x, double *margins)
{
    void (*of)(const fplt__matrix *, size_t, size_t, const double *, double *) =
        a->narrow  ? fplt__narrow_margins
        : a->value ? fplt__value_margins
                   : fplt__same_margins;
    if (!a->pick)
        of(a, first, count, x, margins);
    for (size_t r = 0; a->pick && r < count; r++)
        of(a, a->pick[first + r], 1, x, margins + r);
}

static inline void fplt__sparse_combine(const fplt__matrix *a, size_t first, size_t count,
                                        const double *weights, double *y)
{
    void (*of)(const fplt__matrix *, size_t, size_t, const double *, double *) =
        a->narrow  ? fplt__narrow_combine
        : a->value ? fplt__value_combine
                   : fplt__same_combine;
    if (!a->pick)
        of(a, first, count, weights, y);
    for (size_t r = 0; a->pick && r < count; r++)
        of(a, a->pick[first + r], 1, weights + r, y);
}

#endif
