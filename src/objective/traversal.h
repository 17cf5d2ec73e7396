/* Blocks of an agent's records: what the traversals of records.c and hessian.c share. Functions are inline because an
 * agent may have a single small block, so that calls count. */
#ifndef FPLT_OBJECTIVE_TRAVERSAL_H
#define FPLT_OBJECTIVE_TRAVERSAL_H

#include "objective/objective.h"

/* The costs over records; defined in records.c. */
extern const fplt__objective_kind fplt__objective_over_records;

/* Room in the caller's scratch. The packed records have the intercept as last column; x has all
 * intercepts at its end. With several outputs the two orders differ, and x is gathered. */
typedef struct fplt__records_room {
    double *margins, *others; /* margins of a record * chunk */
    double *label, *number;   /* chunk: of a minibatch */
    double *rows;             /* chunk dense rows, of a minibatch */
    double *whole;            /* fplt__loss_room * chunk, of a whole loss */
    double *weights, *directions,
        *sums;       /* outputs * columns, used where gathered: nothing is shared there */
    double *partial; /* part_stride for every part but the first */
} fplt__records_room;

static inline int fplt__records_gathers(const fplt_objective *o)
{
    return o->intercepts && o->outputs > 1;
}

/* Numbers of a minibatch's rows, which are collected from panels; a whole loss has no minibatches. */
static inline size_t fplt__records_batch_room(const fplt_objective *o)
{
    return o->loss->whole || o->sparse || o->columns > o->kernel->panel_columns
               ? 0
               : o->chunk * o->columns;
}

/* Numbers of a vector in the order of the packed columns, what all records share behind them. */
static inline size_t fplt__records_vector(const fplt_objective *o)
{
    return o->outputs * o->columns + o->shared;
}

/* From the sums of one part to those of the next: threads that add to two of them share no cache line. */
static inline size_t fplt__records_part_stride(const fplt_objective *o)
{
    enum { LINE = 8 };
    return fplt__records_vector(o) + LINE;
}

static inline size_t fplt__records_scratch(const fplt_objective *o)
{
    return 2 * (fplt__objective_margins(o) + 1) * o->chunk + fplt__records_batch_room(o) +
           (fplt__records_gathers(o) ? 3 * o->outputs * o->columns : 0) +
           fplt__loss_room(o->loss, o->parameter) * o->chunk +
           (o->parts - 1) * fplt__records_part_stride(o);
}

static inline fplt__records_room fplt__records_divide(const fplt_objective *o, double *scratch)
{
    size_t block = fplt__objective_margins(o) * o->chunk, vector = o->outputs * o->columns;
    double *rest = scratch + 2 * block + 2 * o->chunk + fplt__records_batch_room(o);
    fplt__records_room room = {
        .margins = scratch,
        .others = scratch + block,
        .label = scratch + 2 * block,
        .number = scratch + 2 * block + o->chunk,
        .rows = scratch + 2 * block + 2 * o->chunk,
        .whole = o->loss->whole ? rest : NULL, /* which has one output and one part */
        .partial = rest + (fplt__records_gathers(o) ? 3 * vector : 0),
    };
    if (fplt__records_gathers(o)) {
        room.weights = rest;
        room.directions = rest + vector;
        room.sums = rest + 2 * vector;
    }
    return room;
}

/* Place in x of a packed column. */
static inline size_t fplt__records_place(const fplt_objective *o, size_t output, size_t column)
{
    if (column < o->features)
        return output * o->features + column;
    return o->outputs * o->features + output;
}

/* Weights in the order of the packed columns: x itself where that is the order. */
static inline const double *fplt__records_gather(const fplt_objective *o, const double *x,
                                                 double *room)
{
    if (!fplt__records_gathers(o))
        return x;
    for (size_t k = 0; k < o->outputs; k++)
        for (size_t j = 0; j < o->columns; j++)
            room[k * o->columns + j] = x[fplt__records_place(o, k, j)];
    return room;
}

static inline fplt__block fplt__records_block_of(const fplt_objective *o,
                                                 const fplt__records_room *room, size_t count,
                                                 const double *label, const unsigned char *negative,
                                                 const double *weight)
{
    return (fplt__block){
        .kernel = o->kernel,
        .parameter = o->parameter,
        .count = count,
        .outputs = fplt__objective_margins(o),
        .stride = o->chunk,
        .label = label,
        .negative = negative,
        .weight = weight,
        .room = room->whole,
        .rule = o->rule,
    };
}

static inline fplt__block fplt__records_block_at(const fplt_objective *o, const fplt__shard *shard,
                                                 const fplt__records_room *room, size_t first)
{
    size_t left = shard->matrix.rows - first;
    int flips = o->loss->flips;
    fplt__block block = fplt__records_block_of(o, room, left < o->chunk ? left : o->chunk,
                                               flips ? NULL : shard->label + first,
                                               flips ? shard->negative + first : NULL,
                                               shard->weight ? shard->weight + first : NULL);
    block.cluster = shard->cluster ? shard->cluster + first : NULL;
    return block;
}

/* The margins that all records share. */
static inline void fplt__records_share(const fplt_objective *o, const fplt__block *block,
                                       const double *weights, double *margins)
{
    for (size_t k = 0; k < o->shared; k++)
        for (size_t r = 0; r < block->count; r++)
            margins[(o->outputs + k) * block->stride + r] = weights[o->outputs * o->columns + k];
}

static inline void fplt__records_products(const fplt_objective *o, const fplt__matrix *a,
                                          size_t first, const fplt__block *block,
                                          const double *weights, double *margins)
{
    o->kernel->all_margins(a, first, block->count, o->outputs, weights, margins, block->stride);
    fplt__records_share(o, block, weights, margins);
}

/* Margins, the known part of them included. */
static inline void fplt__records_margins(const fplt_objective *o, const fplt__shard *shard,
                                         size_t first, const fplt__block *block,
                                         const double *weights, double *margins)
{
    fplt__records_products(o, &shard->matrix, first, block, weights, margins);
    for (size_t r = 0; shard->offset && r < block->count; r++)
        margins[r] += shard->offset[first + r];
}

/* What a record counts, on numbers of it; whole losses have done so themselves. */
static inline void fplt__records_weigh(const fplt_objective *o, const fplt__block *block,
                                       double *numbers)
{
    if (!block->weight || o->loss->whole)
        return;
    for (size_t k = 0; k < block->outputs; k++)
        for (size_t r = 0; r < block->count; r++)
            numbers[k * block->stride + r] *= block->weight[r];
}

static inline void fplt__records_combine(const fplt_objective *o, const fplt__matrix *a,
                                         size_t first, const fplt__block *block,
                                         const double *slopes, double *sums)
{
    o->kernel->all_combine(a, first, block->count, o->outputs, slopes, block->stride, sums);
    for (size_t k = 0; k < o->shared; k++)
        for (size_t r = 0; r < block->count; r++)
            sums[o->outputs * o->columns + k] += slopes[(o->outputs + k) * block->stride + r];
}

/* Members of fplt__objective_kind, in hessian.c: sums over pairs of weights, row-major dimension x dimension. The
 * Hessian of f_i, that of its losses alone, and the sum of the records' gradients times themselves. */
fplt_status fplt__records_hessian(const fplt_objective *o, uint32_t agent, const double *x,
                                  double *hessian, double *scratch);
fplt_status fplt__records_triangle(const fplt_objective *o, uint32_t agent, const double *x,
                                   double *triangle, double *scratch);
fplt_status fplt__records_list_triangle(const fplt_objective *o, uint32_t agent, const double *x,
                                        double *zeros, struct fplt__places *places,
                                        double *scratch);
fplt_status fplt__records_add_pairs(const fplt_objective *o, uint32_t agent, const double *x,
                                    double unit, double *triangle, double *information,
                                    double *scores, double *scratch);
fplt_status fplt__records_loss_hessian(const fplt_objective *o, uint32_t agent, const double *x,
                                       double *hessian, double *scratch);
fplt_status fplt__records_loss_scores(const fplt_objective *o, uint32_t agent, const double *x,
                                      double *scores, double *scratch);
/* The mean over the records of their squared slopes, times the agent's scale. */
double fplt__records_squared_slopes(const fplt_objective *o, uint32_t agent, const double *x,
                                    double *scratch);

#endif
