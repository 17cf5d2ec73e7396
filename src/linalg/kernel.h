/* The arithmetic on vectors and records that takes the time, one table of functions an instruction
 * set. A result depends on the kernel and on the inputs alone, never on alignment, so that runs can
 * be compared bit for bit; `reference` gives the same bits on every machine. */
#ifndef FPLT_LINALG_KERNEL_H
#define FPLT_LINALG_KERNEL_H

#include "fedplt/status.h"
#include "linalg/batched.h"
#include "linalg/matrix.h"

enum { FPLT_TILE_MAX = 8 };

typedef struct fplt__kernel {
    const char *name, *help;
    int (*available)(void);
    size_t panel_columns; /* rows up to this length are kept in panels */
    uint32_t panel_rows;  /* of so many rows each */
    size_t row_multiple;  /* to which longer ones are filled up with zeros */

    double (*dot)(const double *x, const double *y, size_t count);
    double (*norm)(const double *x, size_t count);
    void (*axpy)(double alpha, const double *x, double *y, size_t count);
    /* w -= gamma (g + c + (w - v) inverse_rho): a gradient step on the local subproblem
     * [Fed-PLT eq. 9]. v and c may be NULL, then their term is left out. */
    void (*step)(double *w, const double *g, const double *c, const double *v, double gamma,
                 double inverse_rho, size_t count);

    /* In place: exp x (2 ulp), 1/(1 + exp(-x)) and log(1 + exp x). */
    void (*exp)(double *x, size_t count);
    void (*sigmoid)(double *x, size_t count);
    void (*softplus)(double *x, size_t count);
    /* Both of the same x, by one exponential and with the same bits: x becomes the sigmoid. */
    void (*logistic)(double *x, double *softplus, size_t count);

    /* How many are below 0, and how many 0. */
    size_t (*below)(const double *x, size_t count, size_t *ties);

    /* margins[r] = <row first + r, x> for r < count. `first` is a multiple of FPLT_PANEL; dense
     * matrices write margins up to the padded count, fplt__matrix_padded (zero for the padding). In both,
     * rows that are picked are read where they are. */
    void (*margins)(const fplt__matrix *a, size_t first, size_t count, const double *x,
                    double *margins);
    /* y += sum over r < count of weights[r] (row first + r). `first` as above; weights are read up
     * to the padded count and must be finite there. */
    void (*combine)(const fplt__matrix *a, size_t first, size_t count, const double *weights,
                    double *y);
    /* Both for several vectors at once: x and y hold `outputs` of them, one behind the other, and the numbers
     * of the rows for each are `stride` apart, at least the padded count. */
    void (*all_margins)(const fplt__matrix *a, size_t first, size_t count, size_t outputs,
                        const double *x, double *margins, size_t stride);
    void (*all_combine)(const fplt__matrix *a, size_t first, size_t count, size_t outputs,
                        const double *weights, size_t stride, double *y);
    /* tile[i * tile_columns + j] = sum over d < depth of left[d * tile_rows + i] right[d * tile_columns + j],
     * for i < tile_rows, which is 4 or 8, and j < tile_columns <= 3 FPLT_TILE_MAX, a divisor of 96. */
    size_t tile_rows, tile_columns;
    void (*tile)(size_t depth, const double *left, const double *right, double *tile);
    /* Rows of panels side by side as panels of their own, the last filled up with zeros, and their margins, or the
     * `sigmoid` of each: both have room for the padded count. NULL where the kernel has no panels. */
    void (*collect)(const fplt__matrix *a, const uint32_t *rows, size_t count, double *to,
                    const double *x, int sigmoid, double *margins);
    /* Several small matrices at once; NULL where the kernel has nothing for them. */
    const fplt__batched *batched;
} fplt__kernel;

/* Shape of the data that a kernel is chosen for; all zero where nothing is known of it. */
typedef struct fplt__kernel_shape {
    size_t columns; /* of a row */
    double rows;    /* mean number of an agent's rows */
    uint32_t agents;
    uint32_t batch; /* rows of a minibatch, 0: local solvers use all rows of an agent */
    int sparse;
    int narrow; /* rows are kept as floats */
} fplt__kernel_shape;

/* By name, or where `name` is NULL the fastest kernel of this machine for data of that shape: see
 * fplt__kernel_for(). FPLT_BAD_VALUE for an unknown name, FPLT_UNSUPPORTED where the machine lacks the kernel. */
fplt_status fplt__kernel_choose(const char *name, const fplt__kernel_shape *shape,
                                const fplt__kernel **kernel, fplt_error *error);

/* The fastest available kernel for data of that shape, of those from number `first` on (fplt__kernel_get). A function
 * of the shape and of the processor alone: the rules come from bench/shapes, nothing is timed at run time. */
const fplt__kernel *fplt__kernel_for(const fplt__kernel_shape *shape, size_t first);

/* Whether the AVX-512 kernel takes longer than AVX2 for data of that shape, on a processor of AMD or another. */
int fplt__kernel_avx512_is_slower(const fplt__kernel_shape *shape, int is_amd);

/* Kernels compiled in, the fastest first; NULL past the last. */
const fplt__kernel *fplt__kernel_get(size_t index);

extern const fplt__kernel fplt__kernel_reference;
#if defined(__x86_64__)
extern const fplt__kernel fplt__kernel_avx2, fplt__kernel_avx512;
#endif

#endif
