/* An agent's records in the layout that the kernels read. The matrix is a view: the memory behind
 * it belongs to the caller that packed it. */
#ifndef FPLT_LINALG_MATRIX_H
#define FPLT_LINALG_MATRIX_H

#include <stddef.h>
#include <stdint.h>

/* Rows that are treated together, a multiple of a panel's: rows row-major, and numbers beside all rows, are filled
 * up to a multiple of it with zeros. */
enum { FPLT_PANEL = 8 };

typedef enum fplt__layout {
    FPLT_PANELS, /* `panel` rows at a time, inside them column by column: for short rows */
    FPLT_ROWS,   /* row-major, each row `stride` numbers long */
    FPLT_SPARSE  /* CSR */
} fplt__layout;

typedef struct fplt__matrix {
    fplt__layout layout;
    uint32_t panel; /* its rows: as many as a vector of the kernel has numbers */
    size_t rows, columns;
    size_t stride; /* numbers that a row occupies when dense */
    double *dense; /* rows to fplt__matrix_padded, the last ones zero */
    float *
        narrow; /* NULL, or: the numbers of `dense` or `value` as floats, and there are none of those */
    size_t *start; /* rows + 1 places in ... */
    uint32_t *column;
    double *
        value; /* NULL: in `narrow`, or the numbers of a row are all the same, and kept once, in ... */
    double *same; /* one a row */
    /* NULL, or: row r is row pick[r] of what is stored, `rows` of them; not with panels */
    const uint32_t *pick;
} fplt__matrix;

static inline size_t fplt__padded(size_t count)
{
    return (count + FPLT_PANEL - 1) / FPLT_PANEL * FPLT_PANEL;
}

/* To how many rows `count` of a dense matrix are filled up, which begin where a panel does. */
static inline size_t fplt__matrix_padded(const fplt__matrix *a, size_t count)
{
    size_t multiple = a->layout == FPLT_PANELS ? a->panel : FPLT_PANEL;
    return (count + multiple - 1) / multiple * multiple;
}

/* Where element (row, column) of a dense matrix is. */
static inline size_t fplt__matrix_place(const fplt__matrix *a, size_t row, size_t column)
{
    if (a->layout == FPLT_ROWS)
        return row * a->stride + column;
    return (row / a->panel * a->stride + column) * a->panel + row % a->panel;
}

/* What is at such a place. */
static inline double fplt__matrix_number(const fplt__matrix *a, size_t place)
{
    return a->narrow ? (double)a->narrow[place] : a->dense[place];
}

/* Entry number `entry` of a sparse matrix, which is in row `row`. */
static inline double fplt__matrix_entry(const fplt__matrix *a, size_t row, size_t entry)
{
    if (a->narrow)
        return a->narrow[entry];
    return a->value ? a->value[entry] : a->same[row];
}

/* <row, x> and y += alpha row, for one row. */
double fplt__matrix_row_dot(const fplt__matrix *a, size_t row, const double *x);
void fplt__matrix_row_axpy(const fplt__matrix *a, size_t row, double alpha, double *y);

/* Elements first, first + 1, ... of one column, as a dense vector. */
void fplt__matrix_column(const fplt__matrix *a, size_t first, size_t count, size_t column,
                         double *out);

#endif
