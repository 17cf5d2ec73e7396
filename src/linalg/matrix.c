/* Access to single rows and columns of packed records, whatever the layout. */
#include "linalg/sparse.h"

double fplt__matrix_row_dot(const fplt__matrix *a, size_t row, const double *x)
{
    double sum = 0;
    if (a->layout == FPLT_SPARSE) {
        fplt__sparse_margins(a, row, 1, x, &sum);
        return sum;
    }
    size_t first = fplt__matrix_place(a, row, 0), step = a->layout == FPLT_ROWS ? 1 : a->panel;
    for (size_t j = 0; j < a->columns; j++)
        sum += fplt__matrix_number(a, first + j * step) * x[j];
    return sum;
}

void fplt__matrix_row_axpy(const fplt__matrix *a, size_t row, double alpha, double *y)
{
    if (a->layout == FPLT_SPARSE) {
        fplt__sparse_combine(a, row, 1, &alpha, y);
        return;
    }
    size_t first = fplt__matrix_place(a, row, 0), step = a->layout == FPLT_ROWS ? 1 : a->panel;
    for (size_t j = 0; j < a->columns; j++)
        y[j] += alpha * fplt__matrix_number(a, first + j * step);
}

static double sparse_cell(const fplt__matrix *a, size_t row, size_t column)
{
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++)
        if (a->column[e] == column)
            return fplt__matrix_entry(a, row, e);
    return 0;
}

void fplt__matrix_column(const fplt__matrix *a, size_t first, size_t count, size_t column,
                         double *out)
{
    for (size_t r = 0; r < count; r++)
        out[r] = a->layout == FPLT_SPARSE
                     ? sparse_cell(a, first + r, column)
                     : fplt__matrix_number(a, fplt__matrix_place(a, first + r, column));
}
