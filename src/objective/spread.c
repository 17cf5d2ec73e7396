/* Rows that nobody needs any more become the layout of the kernels in the memory where they are: no copy, and
 * no fresh pages but for what the layout needs more. A row's place in the layout is never before its place in
 * the data set, so from the last row to the first each is moved over what is done already. */
#include <string.h>

#include "objective/objective.h"

/* What the numbers of a row are multiplied by; its label was checked. */
static double factor_of(const fplt_objective *o, const fplt__shard *shard, size_t row)
{
    return o->loss->flips && !shard->negative[row] ? -1 : 1;
}

static void place_row(const fplt_objective *o, const fplt__matrix *a, const double *from,
                      double *to, double factor)
{
    memmove(to, from, o->features * sizeof *to);
    for (size_t j = 0; factor != 1 && j < o->features; j++)
        to[j] *= factor;
    for (size_t j = o->features; j < a->stride; j++)
        to[j] = j < a->columns ? factor : 0;
}

/* `from`: the agent's rows in the data set. */
static void spread_rows(const fplt_objective *o, const fplt__shard *shard, const double *from)
{
    const fplt__matrix *a = &shard->matrix;
    size_t padded = fplt__matrix_padded(a, a->rows);
    memset(a->dense + a->rows * a->stride, 0, (padded - a->rows) * a->stride * sizeof *from);
    for (size_t r = a->rows; r-- > 0;)
        place_row(o, a, from + r * o->features, a->dense + r * a->stride, factor_of(o, shard, r));
}

static void spread_panels(const fplt_objective *o, const fplt__shard *shard, const double *from)
{
    enum { MAX = 64 };
    const fplt__matrix *a = &shard->matrix;
    double rows[FPLT_PANEL * MAX];
    for (size_t first = fplt__matrix_padded(a, a->rows); first > 0;) {
        first -= a->panel;
        size_t left = a->rows - first, count = left < a->panel ? left : a->panel;
        double *to = a->dense + first * a->stride;
        memcpy(rows, from + first * o->features, count * o->features * sizeof *rows);
        memset(to, 0, a->panel * a->stride * sizeof *to);
        for (size_t r = 0; r < count; r++) {
            double factor = factor_of(o, shard, first + r);
            for (size_t j = 0; j < o->features; j++)
                to[j * a->panel + r] = factor * rows[r * o->features + j];
            if (a->columns > o->features)
                to[o->features * a->panel + r] = factor;
        }
    }
}

void fplt__objective_spread(fplt_objective *o)
{
    size_t rows = 0;
    for (uint32_t i = 0; i < o->agents; i++)
        rows += fplt__rows_of(o, i);
    for (uint32_t i = o->agents; i-- > 0;) {
        fplt__shard shard = fplt__shard_of(o, i);
        rows -= shard.matrix.rows;
        (shard.matrix.layout == FPLT_PANELS ? spread_panels : spread_rows)(
            o, &shard, o->values + rows * o->features);
    }
}
