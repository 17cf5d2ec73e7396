/* Hessians and sums of squared gradients of f_i over an agent's records. */
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "linalg/product.h"
#include "objective/objective_access.h"
#include "objective/traversal.h"

/* A matrix of pairs of weights, in the order of the packed columns: the sum over records of w_kl a a', output k's
 * rows and output l's columns, where w_kl is a number of the record. Only l <= k and, inside each block,
 * what is on or below its diagonal is added; complete_pairs makes the rest of it. */

/* Where row i of a matrix begins; packed, rows end at the diagonal. */
static size_t row_start(const fplt_objective *o, size_t i, int packed)
{
    return packed ? i * (i + 1) / 2 : i * o->dimension;
}

static void add_sparse_pairs(const fplt_objective *o, const fplt__matrix *a, size_t first,
                             size_t count, const double *weights, int packed, double *block)
{
    for (size_t r = first; r < first + count; r++)
        for (size_t e = a->start[r]; e < a->start[r + 1]; e++) {
            double *row = block + row_start(o, a->column[e], packed);
            double number = weights[r - first] * fplt__matrix_entry(a, r, e);
            for (size_t d = a->start[r]; d <= e; d++)
                row[a->column[d]] += number * fplt__matrix_entry(a, r, d);
        }
}

static void add_pairs(const fplt_objective *o, const fplt__matrix *a, size_t first, size_t count,
                      size_t k, size_t l, const double *weights, int packed, double *matrix)
{
    double *block = matrix + k * o->columns * o->dimension + l * o->columns;
    if (a->layout == FPLT_SPARSE) {
        add_sparse_pairs(o, a, first, count, weights, packed, block);
        return;
    }
    fplt__vectors columns = fplt__columns_from(a, first);
    fplt__product_add(o->kernel, columns, columns, o->columns, o->columns, count, weights, 1, block,
                      o->dimension);
}

/* What a kind of matrix needs of a block of records: `prepare` makes of margins what `pair` turns into
 * w_k0, w_k1, ... in room->others. */
struct pairing {
    void (*prepare)(const fplt_objective *o, const fplt__block *block, double *margins);
    void (*pair)(const fplt_objective *o, const fplt__block *block, const fplt__records_room *room,
                 size_t k);
};

/* Row k of a coordinate that all records share, up to the diagonal: `weights` has w_k0, w_k1, ... */
static void add_shared_row(const fplt_objective *o, const fplt__matrix *a, size_t first,
                           const fplt__block *block, size_t k, const double *weights,
                           double *matrix)
{
    size_t columns = o->outputs * o->columns;
    double *row = matrix + (columns + k - o->outputs) * o->dimension;
    o->kernel->all_combine(a, first, block->count, o->outputs, weights, block->stride, row);
    for (size_t l = o->outputs; l <= k; l++)
        for (size_t r = 0; r < block->count; r++)
            row[columns + l - o->outputs] += weights[l * block->stride + r];
}

/* Of a block of records with several margins. */
static void add_block_pairs(const fplt_objective *o, const fplt__matrix *a, size_t first,
                            const fplt__block *block, const fplt__records_room *room,
                            const struct pairing *kind, double *matrix)
{
    for (size_t k = 0; k < fplt__objective_margins(o); k++) {
        kind->pair(o, block, room, k);
        if (k >= o->outputs)
            add_shared_row(o, a, first, block, k, room->others, matrix);
        for (size_t l = 0; k < o->outputs && l <= k; l++)
            add_pairs(o, a, first, block->count, k, l, room->others + l * o->chunk, 0, matrix);
    }
}

/* With one margin the weights of several chunks are held, so that products are deep enough. */
static void sum_pairs(const fplt_objective *o, const fplt__shard *shard, const double *weights,
                      const fplt__records_room *room, const struct pairing *kind, int packed,
                      double *matrix)
{
    const fplt__matrix *a = &shard->matrix;
    double held[FPLT_CHUNK];
    size_t holding = 0;
    for (size_t first = 0; first < a->rows; first += o->chunk) {
        fplt__block block = fplt__records_block_at(o, shard, room, first);
        fplt__records_margins(o, shard, first, &block, weights, room->margins);
        kind->prepare(o, &block, room->margins);
        if (fplt__objective_margins(o) > 1) {
            add_block_pairs(o, a, first, &block, room, kind, matrix);
            continue;
        }
        kind->pair(o, &block, room, 0);
        memcpy(held + holding, room->others, block.count * sizeof *held);
        holding += block.count;
        size_t done = first + block.count;
        if (done < a->rows && holding + o->chunk <= FPLT_CHUNK)
            continue;
        add_pairs(o, a, done - holding, holding, 0, 0, held, packed, matrix);
        holding = 0;
    }
}

static void mirror(double *block, size_t n, size_t stride)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            block[j * stride + i] = block[i * stride + j];
}

/* Columns from the packed order to that of x. */
static void place_columns(const fplt_objective *o, double *matrix, double *row)
{
    size_t n = o->dimension;
    for (size_t i = 0; i < n; i++) {
        memcpy(row, matrix + i * n, n * sizeof *row);
        for (size_t k = 0; k < o->outputs; k++)
            for (size_t j = 0; j < o->columns; j++)
                matrix[i * n + fplt__records_place(o, k, j)] = row[k * o->columns + j];
    }
}

static void transpose(double *matrix, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double above = matrix[j * n + i];
            matrix[j * n + i] = matrix[i * n + j];
            matrix[i * n + j] = above;
        }
}

static void complete_pairs(const fplt_objective *o, double factor, const fplt__records_room *room,
                           double *matrix)
{
    size_t n = o->dimension;
    for (size_t k = 0; k < o->outputs; k++)
        for (size_t l = 0; l < k; l++)
            mirror(matrix + k * o->columns * n + l * o->columns, o->columns, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            matrix[i * n + j] *= factor;
    mirror(matrix, n, n);
    if (!fplt__records_gathers(o))
        return;
    place_columns(o, matrix, room->sums);
    transpose(matrix, n); /* it is symmetric but for the order of its columns */
    place_columns(o, matrix, room->sums);
}

static void prepare_curve(const fplt_objective *o, const fplt__block *block, double *margins)
{
    o->loss->curve(block, margins);
}

static void pair_curve(const fplt_objective *o, const fplt__block *block,
                       const fplt__records_room *room, size_t k)
{
    double *u = room->others;
    memset(u, 0, block->outputs * o->chunk * sizeof *u);
    for (size_t r = 0; r < block->count; r++)
        u[k * o->chunk + r] = 1;
    o->loss->bend(block, room->margins, u);
    fplt__records_weigh(o, block, u);
}

static const struct pairing curved = {prepare_curve, pair_curve};

/* The margins of a step of 1 along coordinate j of a loss of one output. */
static void write_direction(const fplt_objective *o, const fplt__matrix *a, size_t rows, size_t j,
                            double *directions)
{
    memset(directions, 0, fplt__objective_margins(o) * o->chunk * sizeof *directions);
    if (j < o->columns)
        fplt__matrix_column(a, 0, rows, j, directions);
    else
        for (size_t r = 0; r < rows; r++)
            directions[(1 + j - o->columns) * o->chunk + r] = 1;
}

/* Of a loss that is no sum over records: direction by direction. */
static void sum_whole(const fplt_objective *o, const fplt__shard *shard, const double *weights,
                      const fplt__records_room *room, double *hessian)
{
    fplt__block block = fplt__records_block_at(o, shard, room, 0);
    fplt__records_margins(o, shard, 0, &block, weights, room->margins);
    o->loss->curve(&block, room->margins);
    for (size_t j = 0; j < o->dimension; j++) {
        write_direction(o, &shard->matrix, block.count, j, room->others);
        o->loss->bend(&block, room->margins, room->others);
        fplt__records_combine(o, &shard->matrix, 0, &block, room->others,
                              hessian + j * o->dimension);
    }
}

fplt_status fplt__records_loss_hessian(const fplt_objective *o, uint32_t agent, const double *x,
                                       double *hessian, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    fplt__records_room room = fplt__records_divide(o, scratch);
    const double *weights = fplt__records_gather(o, x, room.weights);
    memset(hessian, 0, o->dimension * o->dimension * sizeof *hessian);
    if (o->loss->whole)
        sum_whole(o, shard, weights, &room, hessian);
    else
        sum_pairs(o, shard, weights, &room, &curved, 0, hessian);
    complete_pairs(o, shard->scale / (double)shard->matrix.rows, &room, hessian);
    return FPLT_OK;
}

/* Rows of which a packed triangle can be summed: a matrix for every agent would be nearly all zeros. */
static int is_thin(const fplt_objective *o)
{
    return o->sparse && fplt__objective_margins(o) == 1 && !o->loss->whole;
}

fplt_status fplt__records_triangle(const fplt_objective *o, uint32_t agent, const double *x,
                                   double *triangle, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    fplt__records_room room = fplt__records_divide(o, scratch);
    size_t n = o->dimension, numbers = n * (n + 1) / 2;
    double factor = shard->scale / (double)shard->matrix.rows;
    if (!is_thin(o))
        return FPLT_UNSUPPORTED;
    memset(triangle, 0, numbers * sizeof *triangle);
    sum_pairs(o, shard, fplt__records_gather(o, x, room.weights), &room, &curved, 1, triangle);
    for (size_t i = 0; i < numbers; i++)
        triangle[i] *= factor;
    for (size_t j = 0; j < fplt__objective_regularised(o); j++)
        triangle[row_start(o, j, 1) + j] += fplt__penalty_curve(&o->penalty, shard->scale, j, x[j]);
    return FPLT_OK;
}

/* At most so many numbers below the diagonal are touched by the records of a shard. */
static size_t pairs_of(const fplt__matrix *a)
{
    size_t pairs = 0;
    for (size_t r = 0; r < a->rows; r++) {
        size_t entries = a->start[r + 1] - a->start[r];
        pairs += entries * (entries + 1) / 2;
    }
    return pairs;
}

/* Lists a number unless it is zero, as it is where it was listed before: a branch would be mispredicted too often. */
static inline size_t list_number(const fplt__places *places, size_t count, size_t at, double number)
{
    FPLT__ASSERT(count < places->capacity);
    places->at[count] = (uint32_t)(places->first + at);
    places->number[count] = number;
    return count + (number != 0);
}

/* Lists what the records of a shard have in `triangle` times `factor`, and clears it. */
static void list_pairs(const fplt_objective *o, const fplt__matrix *a, double factor,
                       double *triangle, fplt__places *places)
{
    const fplt__places into = *places;
    size_t count = places->count;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t e = a->start[r]; e < a->start[r + 1]; e++) {
            size_t row = row_start(o, a->column[e], 1);
            for (size_t d = a->start[r]; d <= e; d++) {
                size_t at = row + a->column[d];
                count = list_number(&into, count, at, triangle[at] * factor);
                triangle[at] = 0;
            }
        }
    places->count = count;
}

fplt_status fplt__records_list_triangle(const fplt_objective *o, uint32_t agent, const double *x,
                                        double *zeros, fplt__places *places, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    fplt__records_room room = fplt__records_divide(o, scratch);
    size_t n = o->dimension;
    double factor = shard->scale / (double)shard->matrix.rows;
    if (!is_thin(o) || places->capacity <= n || shard->matrix.rows > places->capacity ||
        pairs_of(&shard->matrix) >= places->capacity - n)
        return FPLT_UNSUPPORTED;
    sum_pairs(o, shard, fplt__records_gather(o, x, room.weights), &room, &curved, 1, zeros);
    for (size_t j = 0; j < n; j++) {
        size_t at = row_start(o, j, 1) + j;
        double number = zeros[at] * factor;
        if (j < fplt__objective_regularised(o))
            number += fplt__penalty_curve(&o->penalty, shard->scale, j, x[j]);
        places->count = list_number(places, places->count, at, number);
        zeros[at] = 0;
    }
    list_pairs(o, &shard->matrix, factor, zeros, places);
    return FPLT_OK;
}

fplt_status fplt__records_hessian(const fplt_objective *o, uint32_t agent, const double *x,
                                  double *hessian, double *scratch)
{
    fplt_status status = fplt__records_loss_hessian(o, agent, x, hessian, scratch);
    size_t n = o->dimension;
    for (size_t j = 0; !status && j < fplt__objective_regularised(o); j++)
        hessian[j * n + j] += fplt__penalty_curve(&o->penalty, o->place[agent].scale, j, x[j]);
    return status;
}

static void prepare_slope(const fplt_objective *o, const fplt__block *block, double *margins)
{
    o->loss->slope(block, margins);
    fplt__records_weigh(o, block, margins);
}

static void pair_slope(const fplt_objective *o, const fplt__block *block,
                       const fplt__records_room *room, size_t k)
{
    const double *slopes = room->margins;
    for (size_t l = 0; l < block->outputs; l++)
        for (size_t r = 0; r < block->count; r++)
            room->others[l * o->chunk + r] = slopes[k * o->chunk + r] * slopes[l * o->chunk + r];
}

static const struct pairing squared = {prepare_slope, pair_slope};

/* Of a loss that is no sum over records: their score residuals, column after column. */
static fplt_status sum_whole_scores(const fplt_objective *o, const fplt__shard *shard,
                                    const double *weights, const fplt__records_room *room,
                                    double *scores)
{
    size_t rows = shard->matrix.rows, n = o->columns;
    double *residuals;
    fplt__block block = fplt__records_block_at(o, shard, room, 0);
    if (!o->loss->score)
        return FPLT_UNSUPPORTED;
    fplt_status status =
        fplt__alloc_into(&residuals, n * rows, sizeof *residuals, "score residuals", NULL);
    if (status)
        return status;
    fplt__records_margins(o, shard, 0, &block, weights, room->margins);
    o->loss->curve(&block, room->margins);
    for (size_t j = 0; j < n; j++) {
        memset(room->others, 0, o->chunk * sizeof *room->others);
        fplt__matrix_column(&shard->matrix, 0, rows, j, room->others);
        o->loss->score(&block, room->margins, room->others);
        memcpy(residuals + j * rows, room->others, rows * sizeof *residuals);
    }
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k <= j; k++)
            scores[j * o->dimension + k] =
                o->kernel->dot(residuals + j * rows, residuals + k * rows, rows);
    fplt__free(residuals);
    return FPLT_OK;
}

fplt_status fplt__records_loss_scores(const fplt_objective *o, uint32_t agent, const double *x,
                                      double *scores, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    fplt__records_room room = fplt__records_divide(o, scratch);
    const double *weights = fplt__records_gather(o, x, room.weights);
    double share = shard->scale / (double)shard->matrix.rows;
    fplt_status status = FPLT_OK;
    memset(scores, 0, o->dimension * o->dimension * sizeof *scores);
    if (o->loss->whole)
        status = sum_whole_scores(o, shard, weights, &room, scores);
    else
        sum_pairs(o, shard, weights, &room, &squared, 0, scores);
    if (status)
        return status;
    complete_pairs(o, share * share, &room, scores);
    return FPLT_OK;
}

/* Adds what the records of a shard have in `triangle` to the lower half of `sums`, and clears it. */
static void move_pairs(const fplt_objective *o, const fplt__matrix *a, double factor, double unit,
                       double *triangle, double *sums)
{
    for (size_t r = 0; r < a->rows; r++)
        for (size_t e = a->start[r]; e < a->start[r + 1]; e++) {
            double *from = triangle + row_start(o, a->column[e], 1);
            double *to = sums + row_start(o, a->column[e], 0);
            for (size_t d = a->start[r]; d <= e; d++) {
                to[a->column[d]] += unit * (from[a->column[d]] * factor);
                from[a->column[d]] = 0;
            }
        }
}

fplt_status fplt__records_add_pairs(const fplt_objective *o, uint32_t agent, const double *x,
                                    double unit, double *triangle, double *information,
                                    double *scores, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    fplt__records_room room = fplt__records_divide(o, scratch);
    const double *weights = fplt__records_gather(o, x, room.weights);
    double share = shard->scale / (double)shard->matrix.rows;
    if (!is_thin(o))
        return FPLT_UNSUPPORTED;
    sum_pairs(o, shard, weights, &room, &curved, 1, triangle);
    move_pairs(o, &shard->matrix, share, unit, triangle, information);
    if (!scores)
        return FPLT_OK;
    sum_pairs(o, shard, weights, &room, &squared, 1, triangle);
    move_pairs(o, &shard->matrix, share * share, unit * unit, triangle, scores);
    return FPLT_OK;
}

double fplt__records_squared_slopes(const fplt_objective *o, uint32_t agent, const double *x,
                                    double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    fplt__records_room room = fplt__records_divide(o, scratch);
    const double *weights = fplt__records_gather(o, x, room.weights);
    double sum = 0;
    for (size_t first = 0; first < shard->matrix.rows; first += o->chunk) {
        fplt__block block = fplt__records_block_at(o, shard, &room, first);
        fplt__records_margins(o, shard, first, &block, weights, room.margins);
        o->loss->slope(&block, room.margins);
        for (size_t r = 0; r < block.count; r++)
            sum += (block.weight ? block.weight[r] : 1) * room.margins[r] * room.margins[r];
    }
    return sum * (shard->scale / (double)shard->matrix.rows);
}
