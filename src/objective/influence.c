/* How evenly the records of an agent share its gradient: what a site asks before it answers at a point. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "objective/traversal.h"

fplt_status fplt__objective_row_norms(const fplt_objective *o, uint32_t agent, double *norms,
                                      fplt_error *error)
{
    const fplt__shard shard = fplt__shard_of(o, agent);
    size_t rows = shard.matrix.rows;
    double *column;
    fplt_status status = fplt__alloc_into(&column, rows, sizeof *column, "a column", error);
    if (status)
        return status;
    memset(norms, 0, rows * sizeof *norms);
    for (size_t j = 0; j < o->columns; j++) {
        memset(column, 0, rows * sizeof *column);
        fplt__matrix_column(&shard.matrix, 0, rows, j, column);
        for (size_t r = 0; r < rows; r++)
            norms[r] += column[r] * column[r];
    }
    for (size_t r = 0; r < rows; r++)
        norms[r] = sqrt(norms[r]);
    fplt__free(column);
    return FPLT_OK;
}

/* Largest margin of a record over the outputs, and length of the gradient from its slopes: those of the outputs times the
 * row's norm, and those of what all records share. */
static double largest_of(const fplt_objective *o, const fplt__block *block, const double *numbers,
                         size_t record)
{
    double largest = fabs(numbers[record]);
    for (size_t k = 1; k < o->outputs; k++) {
        double other = fabs(numbers[k * block->stride + record]);
        largest = largest < other || isnan(other) ? other : largest;
    }
    return largest;
}

static double length_of(const fplt_objective *o, const fplt__block *block, const double *numbers,
                        size_t record, double norm)
{
    double square = 0;
    if (block->outputs == 1)
        return fabs(numbers[record]) * norm;
    for (size_t k = 0; k < o->outputs; k++)
        square += numbers[k * block->stride + record] * numbers[k * block->stride + record];
    double length = sqrt(square) * norm;
    for (size_t k = o->outputs; k < block->outputs; k++)
        length = hypot(length, numbers[k * block->stride + record]);
    return length;
}

static int has_scale(const fplt__loss *loss)
{
    return loss->sigmoid || loss->probable || loss->exponential || loss->flips;
}

fplt_status fplt__objective_influence(const fplt_objective *o, uint32_t agent, const double *x,
                                      const double *norms, double bound, double *scratch,
                                      fplt__influence *influence)
{
    *influence = (fplt__influence){.headroom = INFINITY};
    if (o->kind != &fplt__objective_over_records)
        return FPLT_UNSUPPORTED;
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    fplt__records_room room = fplt__records_divide(o, scratch);
    const double *weights = fplt__records_gather(o, x, room.weights);
    influence->records = shard->matrix.rows;
    influence->rate = o->loss->sigmoid && !shard->steepest; /* |(log sigmoid)'| < 1 */
    influence->bend =
        o->loss->whole || o->loss->unbounded || shard->weight || shard->steepest ? 0 : o->most;
    for (size_t first = 0; first < shard->matrix.rows; first += o->chunk) {
        fplt__block block = fplt__records_block_at(o, shard, &room, first);
        fplt__records_margins(o, shard, first, &block, weights, room.margins);
        for (size_t r = 0; has_scale(o->loss) && r < block.count; r++) {
            double left = bound - largest_of(o, &block, room.margins, r);
            influence->saturated += !(left >= 0);
            if (left >= 0 && left < influence->headroom * norms[first + r])
                influence->headroom = left / norms[first + r];
        }
        o->loss->slope(&block, room.margins);
        fplt__records_weigh(o, &block, room.margins);
        for (size_t r = 0; r < block.count; r++) {
            double norm = length_of(o, &block, room.margins, r, norms[first + r]);
            influence->sum += norm;
            influence->largest = influence->largest < norm ? norm : influence->largest;
            influence->longest =
                influence->longest < norms[first + r] ? norms[first + r] : influence->longest;
            influence->squares += norms[first + r] * norms[first + r];
        }
    }
    return isfinite(influence->sum) ? FPLT_OK : FPLT_DIVERGED;
}

/* largest + bend d longest^2 <= share (sum - bend d squares) */
static double reach_by_bend(const fplt__influence *influence, double share)
{
    double left = share * influence->sum - influence->largest,
           change = influence->bend *
                    (influence->longest * influence->longest + share * influence->squares);
    return influence->bend > 0 && isfinite(change) ? left / change : 0;
}

/* largest e^(rate d longest) <= share sum e^(-rate d longest), which also holds of weighted records */
static double reach_by_rate(const fplt__influence *influence, double share)
{
    double per_distance = 2 * influence->rate * influence->longest;
    return per_distance > 0 && isfinite(per_distance)
               ? log(share * influence->sum / influence->largest) / per_distance
               : 0;
}

double fplt__influence_reach(const fplt__influence *influence, double share)
{
    const double rounding = 1 - 1e-6;
    if (!(share * influence->sum > influence->largest && influence->largest > 0))
        return 0;
    double farthest = fmax(reach_by_bend(influence, share), reach_by_rate(influence, share));
    return rounding * fmin(influence->headroom, farthest);
}
