/* The triangle R of X = QR, from blocks of rows: R is the triangle of the rows so far above the next block, so that no
 * copy of X is needed. qr() of this small matrix then finds the same dependent columns as qr(X). */
#include "fedplt_r.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256, LOOK = 64 * BLOCK }; /* LOOK: rows between two looks at interrupts */

/* One Householder reflection a column; of the triangle (p x p, column-major) only row k takes part in reflection k. */
static void absorb_block(double *triangle, size_t p, double *block, size_t rows)
{
    for (size_t k = 0; k < p; k++) {
        double *v = block + k * BLOCK, *own = triangle + k * p + k, sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += v[r] * v[r];
        if (sum == 0)
            continue;
        double norm = sqrt(*own * *own + sum), first = *own > 0 ? *own + norm : *own - norm;
        double scale = 2 / (first * first + sum);
        *own = *own > 0 ? -norm : norm;
        for (size_t j = k + 1; j < p; j++) {
            double *column = block + j * BLOCK, *above = triangle + j * p + k;
            double dot = first * *above;
            for (size_t r = 0; r < rows; r++)
                dot += v[r] * column[r];
            dot *= scale;
            *above -= dot * first;
            for (size_t r = 0; r < rows; r++)
                column[r] -= dot * v[r];
        }
    }
}

static double find_mean(const double *column, const int *order, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t r = begin; r < end; r++)
        sum += column[order ? (size_t)order[r] - 1 : r];
    return end > begin ? sum / (double)(end - begin) : 0;
}

static double sum_squares(const double *column, const int *order, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t r = begin; r < end; r++) {
        double number = column[order ? (size_t)order[r] - 1 : r];
        sum += number * number;
    }
    return sum;
}

/* Rows begin .. end - 1 of the dense matrix, minus `mean` of each column. */
static void absorb_rows(const double *x, size_t height, size_t p, const int *order, size_t begin,
                        size_t end, const double *mean, double *triangle, double *block)
{
    for (size_t at = begin; at < end; at += BLOCK) {
        size_t rows = end - at < BLOCK ? end - at : BLOCK;
        for (size_t j = 0; j < p; j++) {
            const double *column = x + j * height;
            for (size_t r = 0; r < rows; r++)
                block[j * BLOCK + r] = column[order ? (size_t)order[at + r] - 1 : at + r] - mean[j];
        }
        absorb_block(triangle, p, block, rows);
        if ((at - begin) % LOOK == 0)
            R_CheckUserInterrupt();
    }
}

/* list(triangle of X'X, sums of squares of the columns as they are). order, sizes: as in fpltr_dataset. centred: the
 * triangle is that of the columns minus their mean in each site. */
SEXP fpltr_triangle(SEXP x, SEXP order, SEXP sizes, SEXP centred)
{
    size_t p = (size_t)Rf_ncols(x), height = (size_t)Rf_nrows(x), begin = 0;
    const int *by = Rf_isNull(order) ? NULL : INTEGER(order);
    static const char *const names[] = {"triangle", "squares"};
    SEXP list = PROTECT(fpltr_list(names, 2));
    SEXP made = PROTECT(Rf_allocMatrix(REALSXP, (int)p, (int)p));
    SEXP squares = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)p));
    SET_VECTOR_ELT(list, 0, made);
    SET_VECTOR_ELT(list, 1, squares);
    memset(REAL(squares), 0, p * sizeof(double));
    double *block = (double *)R_alloc(BLOCK * (p ? p : 1), sizeof *block);
    double *mean = (double *)R_alloc(p ? p : 1, sizeof *mean);
    memset(REAL(made), 0, p * p * sizeof(double));
    for (R_xlen_t i = 0; i < XLENGTH(sizes); i++) {
        size_t end = begin + (size_t)REAL(sizes)[i];
        for (size_t j = 0; j < p; j++) {
            mean[j] = Rf_asLogical(centred) ? find_mean(REAL(x) + j * height, by, begin, end) : 0;
            REAL(squares)[j] += sum_squares(REAL(x) + j * height, by, begin, end);
        }
        absorb_rows(REAL(x), height, p, by, begin, end, mean, REAL(made), block);
        begin = end;
    }
    UNPROTECT(3);
    return list;
}
