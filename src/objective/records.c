/* f_i over an agent's records:
 * f_i(x) = w_i [ (1/q_i) sum_j loss(margins of record j) + weight r(x) ].
 *
 * Everything is one traversal: a chunk of records that fits the first-level cache, its margins, a
 * function of the margins, and back into a vector; the data is read from memory once. A large shard is
 * traversed in parts, which threads may share. */
#include "objective/objective.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "linalg/product.h"
#include "objective/cox.h"

/* Room in the caller's scratch. The packed records have the intercept as last column; x has all
 * intercepts at its end. With several outputs the two orders differ, and x is gathered. */
struct room {
    double *margins, *others;            /* outputs * chunk */
    double *label, *number;              /* chunk: of a minibatch */
    double *rows;                        /* chunk dense rows, of a minibatch */
    double *whole;                       /* 2 * chunk, of a whole loss */
    double *weights, *directions, *sums; /* outputs * columns, used where gathered */
    double *partial;                     /* part_stride for every part but the first */
};

static int gathers(const fplt_objective *o)
{
    return o->intercepts && o->outputs > 1;
}

/* Numbers of a minibatch's rows, which are collected from panels; a whole loss has no minibatches. */
static size_t batch_room(const fplt_objective *o)
{
    return o->loss->whole || o->sparse || o->columns > o->kernel->panel_columns
               ? 0
               : o->chunk * o->columns;
}

/* From the sums of one part to those of the next: threads that add to two of them share no cache line. */
static size_t part_stride(const fplt_objective *o)
{
    enum { LINE = 8 };
    return o->outputs * o->columns + LINE;
}

static size_t scratch_needed(const fplt_objective *o)
{
    return 2 * (o->outputs + 1) * o->chunk + batch_room(o) +
           (gathers(o) ? 3 * o->outputs * o->columns : 0) + (o->loss->whole ? 2 * o->chunk : 0) +
           (o->parts - 1) * part_stride(o);
}

static inline struct room divide(const fplt_objective *o, double *scratch)
{
    size_t block = o->outputs * o->chunk, vector = o->outputs * o->columns;
    double *rest = scratch + 2 * block + 2 * o->chunk + batch_room(o);
    struct room room = {
        .margins = scratch,
        .others = scratch + block,
        .label = scratch + 2 * block,
        .number = scratch + 2 * block + o->chunk,
        .rows = scratch + 2 * block + 2 * o->chunk,
        .whole = o->loss->whole ? rest : NULL, /* which has one output and one part */
        .partial = rest + (gathers(o) ? 3 * vector : 0),
    };
    if (gathers(o)) {
        room.weights = rest;
        room.directions = rest + vector;
        room.sums = rest + 2 * vector;
    }
    return room;
}

/* Place in x of a packed column. */
static size_t place(const fplt_objective *o, size_t output, size_t column)
{
    if (column < o->features)
        return output * o->features + column;
    return o->outputs * o->features + output;
}

/* Weights in the order of the packed columns: x itself where that is the order. */
static const double *gather(const fplt_objective *o, const double *x, double *room)
{
    if (!gathers(o))
        return x;
    for (size_t k = 0; k < o->outputs; k++)
        for (size_t j = 0; j < o->columns; j++)
            room[k * o->columns + j] = x[place(o, k, j)];
    return room;
}

static void scatter_add(const fplt_objective *o, const double *sums, double *y)
{
    for (size_t k = 0; k < o->outputs; k++)
        for (size_t j = 0; j < o->columns; j++)
            y[place(o, k, j)] += sums[k * o->columns + j];
}

static fplt__block block_of(const fplt_objective *o, const struct room *room, size_t count,
                            const double *label, const unsigned char *negative,
                            const double *weight)
{
    return (fplt__block){
        .kernel = o->kernel,
        .parameter = o->parameter,
        .count = count,
        .outputs = o->outputs,
        .stride = o->chunk,
        .label = label,
        .negative = negative,
        .weight = weight,
        .room = room->whole,
    };
}

static fplt__block block_at(const fplt_objective *o, const fplt__shard *shard,
                            const struct room *room, size_t first)
{
    size_t left = shard->matrix.rows - first;
    int flips = o->loss->flips;
    return block_of(o, room, left < o->chunk ? left : o->chunk, flips ? NULL : shard->label + first,
                    flips ? shard->negative + first : NULL,
                    shard->weight ? shard->weight + first : NULL);
}

static void all_products(const fplt_objective *o, const fplt__matrix *a, size_t first,
                         const fplt__block *block, const double *weights, double *margins)
{
    o->kernel->all_margins(a, first, block->count, o->outputs, weights, margins, block->stride);
}

/* Margins, the known part of them included. */
static void all_margins(const fplt_objective *o, const fplt__shard *shard, size_t first,
                        const fplt__block *block, const double *weights, double *margins)
{
    all_products(o, &shard->matrix, first, block, weights, margins);
    for (size_t r = 0; shard->offset && r < block->count; r++)
        margins[r] += shard->offset[first + r];
}

/* What a record counts, on numbers of it; whole losses have done so themselves. */
static void weigh_records(const fplt_objective *o, const fplt__block *block, double *numbers)
{
    if (!block->weight || o->loss->whole)
        return;
    for (size_t k = 0; k < block->outputs; k++)
        for (size_t r = 0; r < block->count; r++)
            numbers[k * block->stride + r] *= block->weight[r];
}

/* Eight partial sums: the additions do not wait for each other. */
static double sum_losses(const fplt_objective *o, const fplt__block *block, double *losses)
{
    double part[8] = {0};
    size_t r = 0;
    if (block->weight && !o->loss->whole)
        for (size_t k = 0; k < block->count; k++)
            losses[k] *= block->weight[k];
    for (; r + 8 <= block->count; r += 8)
        for (size_t k = 0; k < 8; k++)
            part[k] += losses[r + k];
    for (size_t k = 0; r + k < block->count; k++)
        part[k] += losses[r + k];
    return ((part[0] + part[4]) + (part[1] + part[5])) +
           ((part[2] + part[6]) + (part[3] + part[7]));
}

/* Margins become derivatives, `losses` what its name says. */
static void slopes_and_losses(const fplt_objective *o, const fplt__block *block, double *margins,
                              double *losses)
{
    if (o->loss->both) {
        o->loss->both(block, margins, losses);
        return;
    }
    memcpy(losses, margins, o->outputs * o->chunk * sizeof *losses);
    o->loss->value(block, losses);
    o->loss->slope(block, margins);
}

static void all_combined(const fplt_objective *o, const fplt__matrix *a, size_t first,
                         const fplt__block *block, const double *slopes, double *sums)
{
    o->kernel->all_combine(a, first, block->count, o->outputs, slopes, block->stride, sums);
}

/* No branch, so that the loop becomes vectors; comparisons are written so that a NaN stays one. */
static void clip_scalars(const double *most, size_t count, double *slopes)
{
    for (size_t r = 0; r < count; r++) {
        double slope = slopes[r];
        slope = slope > most[r] ? most[r] : slope;
        slopes[r] = slope < -most[r] ? -most[r] : slope;
    }
}

/* A record's gradient is slope times row (an outer product with several outputs): its norm is the
 * product of the two norms. */
static void clip_slopes(const fplt__block *block, const double *steepest, double *slopes)
{
    if (block->outputs == 1) {
        clip_scalars(steepest, block->count, slopes);
        return;
    }
    for (size_t r = 0; r < block->count; r++) {
        double square = 0;
        for (size_t k = 0; k < block->outputs; k++)
            square += slopes[k * block->stride + r] * slopes[k * block->stride + r];
        double length = sqrt(square);
        if (!(length > steepest[r]))
            continue;
        for (size_t k = 0; k < block->outputs; k++)
            slopes[k * block->stride + r] *= steepest[r] / length;
    }
}

/* gradient = w_i (sums / records + weight r'(x)) */
void fplt__records_finish(const fplt_objective *o, double scale, size_t records, const double *x,
                          const double *sums, double *gradient)
{
    if (gathers(o)) {
        memset(gradient, 0, o->dimension * sizeof *gradient);
        scatter_add(o, sums, gradient);
    }
    double factor = records ? scale / (double)records : 0;
    size_t regularised = o->dimension - o->intercepts;
    o->regulariser->slope(factor, scale * o->weight, x, regularised, gradient);
    for (size_t j = regularised; j < o->dimension; j++)
        gradient[j] *= factor;
}

/* Adds the gradients of the block's records; the slopes are lost. */
static void add_gradient(const fplt_objective *o, const fplt__shard *shard, size_t first,
                         const fplt__block *block, double *slopes, double *sums)
{
    if (o->clip > 0)
        clip_slopes(block, shard->steepest + first, slopes);
    weigh_records(o, block, slopes);
    all_combined(o, &shard->matrix, first, block, slopes, sums);
}

/* One traversal of an agent's records. */
struct pass {
    const fplt_objective *o;
    const fplt__shard *shard;
    const double *weights, *directions; /* as gathered */
    int value, hits;
    double *sums; /* of the first part, and in the end of all; NULL: not asked for */
    double *partial;
    double losses[FPLT_PARTS]; /* a part's, as are */
    size_t right[FPLT_PARTS];
    /* Adds the records of a block. */
    void (*add)(struct pass *pass, size_t part, size_t first, const struct room *room,
                double *sums);
};

static void traverse_part(void *context, size_t part, double *scratch)
{
    struct pass *pass = context;
    const fplt_objective *o = pass->o;
    struct room room = divide(o, scratch);
    size_t vector = o->outputs * o->columns, first = part * pass->shard->part;
    size_t left = pass->shard->matrix.rows - first;
    size_t end = first + (left < pass->shard->part ? left : pass->shard->part);
    double *sums = pass->sums && part ? pass->partial + (part - 1) * part_stride(o) : pass->sums;
    if (sums)
        memset(sums, 0, vector * sizeof *sums);
    pass->losses[part] = 0;
    pass->right[part] = 0;
    for (; first < end; first += o->chunk)
        pass->add(pass, part, first, &room, sums);
}

/* All parts, into the numbers of the first. */
static void traverse(struct pass *pass, const struct room *room, double *scratch)
{
    size_t parts = fplt__shard_parts(pass->shard), vector = pass->o->outputs * pass->o->columns;
    pass->partial = room->partial;
    if (parts == 1) {
        traverse_part(pass, 0, scratch);
        return;
    }
    fplt__parallel_for(parts, traverse_part, pass, scratch);
    for (size_t part = 1; part < parts; part++) {
        pass->losses[0] += pass->losses[part];
        pass->right[0] += pass->right[part];
        for (size_t j = 0; pass->sums && j < vector; j++)
            pass->sums[j] += pass->partial[(part - 1) * part_stride(pass->o) + j];
    }
}

static void add_measures(struct pass *pass, size_t part, size_t first, const struct room *room,
                         double *sums)
{
    const fplt_objective *o = pass->o;
    fplt__block block = block_at(o, pass->shard, room, first);
    all_margins(o, pass->shard, first, &block, pass->weights, room->margins);
    if (pass->hits)
        pass->right[part] += o->loss->hits(&block, room->margins);
    if (pass->value && sums) {
        slopes_and_losses(o, &block, room->margins, room->others);
        pass->losses[part] += sum_losses(o, &block, room->others);
    } else if (pass->value) {
        o->loss->value(&block, room->margins);
        pass->losses[part] += sum_losses(o, &block, room->margins);
    } else if (sums) {
        o->loss->slope(&block, room->margins);
    }
    if (sums)
        add_gradient(o, pass->shard, first, &block, room->margins, sums);
}

static double *place_of_sums(const fplt_objective *o, const struct room *room, double *gradient)
{
    return gathers(o) ? room->sums : gradient;
}

/* Value, gradient and hits in one traversal; each may be NULL. */
static fplt_status measure(const fplt_objective *o, uint32_t agent, const double *x, double *value,
                           double *gradient, size_t *hits, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    size_t records = shard->matrix.rows;
    struct room room = divide(o, scratch);
    struct pass pass;
    pass.o = o;
    pass.shard = shard;
    pass.weights = gather(o, x, room.weights);
    pass.value = value != NULL;
    pass.hits = hits != NULL;
    pass.sums = gradient ? place_of_sums(o, &room, gradient) : NULL;
    pass.add = add_measures;
    traverse(&pass, &room, scratch);
    if (hits)
        *hits = pass.right[0];
    if (value)
        *value =
            shard->scale * (pass.losses[0] / (double)records +
                            o->weight * o->regulariser->value(x, o->dimension - o->intercepts));
    if (gradient)
        fplt__records_finish(o, shard->scale, records, x, pass.sums, gradient);
    return FPLT_OK;
}

/* The same as `measure` and batch_gradient for a single block of an objective that is plain, from its slopes: a
 * federation may have a million of them, so calls count. */
static inline __attribute__((always_inline)) fplt_status
plain_from(const fplt_objective *o, uint32_t agent, const fplt__matrix *a, const double *x,
           const double *slopes, double *gradient)
{
    size_t j = 0;
    for (; j + 1 < o->dimension; j += 2) /* one by one it would become a call */
        gradient[j] = gradient[j + 1] = 0;
    if (j < o->dimension)
        gradient[j] = 0;
    o->kernel->combine(a, 0, a->rows, slopes, gradient);
    fplt__records_finish(o, o->place[agent].scale, a->rows, x, gradient, gradient);
    return FPLT_OK;
}

/* Their slopes from their margins. */
static void plain_slopes(const fplt_objective *o, size_t count, const double *label,
                         double *margins)
{
    fplt__block block;
    block.kernel = o->kernel;
    block.parameter = o->parameter;
    block.count = count;
    block.outputs = 1;
    block.stride = o->chunk;
    block.label = label;
    block.negative = NULL; /* for hits only */
    block.weight = NULL;
    block.room = NULL;
    o->loss->slope(&block, margins);
}

static const double *label_of(const fplt_objective *o, uint32_t agent)
{
    return o->label ? o->label + o->place[agent].row : NULL;
}

static fplt_status value_gradient(const fplt_objective *o, uint32_t agent, const double *x,
                                  double *value, double *gradient, double *scratch)
{
    if (!value && o->plain && fplt__rows_of(o, agent) <= o->chunk) {
        const fplt__matrix a = fplt__matrix_of(o, agent);
        o->kernel->margins(&a, 0, a.rows, x, scratch);
        plain_slopes(o, a.rows, label_of(o, agent), scratch);
        return plain_from(o, agent, &a, x, scratch, gradient);
    }
    return measure(o, agent, x, value, gradient, NULL, scratch);
}

/* Of the rows of a matrix some remain; with their products with the weights of every output. Where asked for the
 * `sigmoid` of these, of one output, and it can be had at once: not zero. */
static inline __attribute__((always_inline)) int pick_rows(const fplt_objective *o, fplt__matrix *a,
                                                           const uint32_t *rows, size_t count,
                                                           const double *weights, int sigmoid,
                                                           double *collected, double *margins)
{
    if (a->layout != FPLT_PANELS) {
        a->rows = count;
        a->pick = rows;
        o->kernel->all_margins(a, 0, count, o->outputs, weights, margins, o->chunk);
        return 0;
    }
    o->kernel->collect(a, rows, count, collected, weights, sigmoid, margins);
    a->rows = count;
    a->dense = collected;
    a->narrow = NULL;
    for (size_t k = 1; k < o->outputs; k++)
        o->kernel->margins(a, 0, count, weights + k * o->columns, margins + k * o->chunk);
    return sigmoid;
}

static void pick_numbers(const double *from, const uint32_t *rows, size_t count, double *to)
{
    for (size_t r = 0; r < count; r++)
        to[r] = from[rows[r]];
}

static void add_batch(const fplt_objective *o, const fplt__shard *shard, const uint32_t *rows,
                      size_t count, const double *weights, const struct room *room, double *sums)
{
    double *slopes = room->margins;
    fplt__matrix some = shard->matrix;
    fplt__block block = block_of(o, room, count, room->label, NULL, NULL);
    pick_rows(o, &some, rows, count, weights, 0, room->rows, slopes);
    if (!o->loss->flips)
        pick_numbers(shard->label, rows, count, room->label);
    for (size_t r = 0; shard->offset && r < count; r++)
        slopes[r] += shard->offset[rows[r]];
    o->loss->slope(&block, slopes);
    if (o->clip > 0) {
        pick_numbers(shard->steepest, rows, count, room->number);
        clip_slopes(&block, room->number, slopes);
    }
    if (shard->weight) {
        pick_numbers(shard->weight, rows, count, room->number);
        block.weight = room->number;
        weigh_records(o, &block, slopes);
    }
    all_combined(o, &some, 0, &block, slopes, sums);
}

static fplt_status plain_batch(const fplt_objective *o, uint32_t agent, const double *x,
                               const uint32_t *rows, size_t count, double *gradient,
                               double *scratch)
{
    struct room room = divide(o, scratch);
    fplt__matrix some;
    fplt__find_matrix(o, agent, &some);
    if (!o->loss->flips)
        pick_numbers(label_of(o, agent), rows, count, room.label);
    if (!pick_rows(o, &some, rows, count, x, o->loss->sigmoid, room.rows, room.margins))
        plain_slopes(o, count, room.label, room.margins);
    return plain_from(o, agent, &some, x, room.margins, gradient);
}

/* Whether all are below `end`, which is at most 2^31: one that is not has its highest bit set, or what is left to
 * the last has. No way out of the loop and no comparison, so that it becomes vectors of any instruction set. */
static int are_below(const uint32_t *rows, size_t count, uint32_t end)
{
    uint32_t beyond = 0;
    for (size_t r = 0; r < count; r++)
        beyond |= (end - 1 - rows[r]) | rows[r];
    return !(beyond >> 31);
}

static int are_rows(const uint32_t *rows, size_t count, size_t end)
{
    if (end - 1 < UINT32_C(1) << 31)
        return are_below(rows, count, (uint32_t)end);
    uint64_t beyond = 0;
    for (size_t r = 0; r < count; r++)
        beyond |= (uint64_t)end - 1 - rows[r];
    return !(beyond >> 63);
}

static fplt_status any_batch(const fplt_objective *o, uint32_t agent, const double *x,
                             const uint32_t *rows, size_t count, double *gradient, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    struct room room = divide(o, scratch);
    const double *weights = gather(o, x, room.weights);
    double *sums = place_of_sums(o, &room, gradient);
    memset(sums, 0, o->outputs * o->columns * sizeof *sums);
    for (size_t first = 0; first < count; first += o->chunk)
        add_batch(o, shard, rows + first, count - first < o->chunk ? count - first : o->chunk,
                  weights, &room, sums);
    fplt__records_finish(o, shard->scale, count, x, sums, gradient);
    return FPLT_OK;
}

static fplt_status batch_gradient(const fplt_objective *o, uint32_t agent, const double *x,
                                  const uint32_t *rows, size_t count, double *gradient,
                                  double *scratch)
{
    if (o->loss->whole)
        return FPLT_UNSUPPORTED;
    if (!are_rows(rows, count, fplt__rows_of(o, agent)))
        return FPLT_BAD_VALUE;
    return (o->plain && count <= o->chunk ? plain_batch : any_batch)(o, agent, x, rows, count,
                                                                     gradient, scratch);
}

static void add_products(struct pass *pass, size_t part, size_t first, const struct room *room,
                         double *sums)
{
    const fplt_objective *o = pass->o;
    fplt__block block = block_at(o, pass->shard, room, first);
    (void)part;
    all_margins(o, pass->shard, first, &block, pass->weights, room->margins);
    all_products(o, &pass->shard->matrix, first, &block, pass->directions, room->others);
    o->loss->curve(&block, room->margins);
    o->loss->bend(&block, room->margins, room->others);
    weigh_records(o, &block, room->others);
    all_combined(o, &pass->shard->matrix, first, &block, room->others, sums);
}

static fplt_status hessian_times(const fplt_objective *o, uint32_t agent, const double *x,
                                 const double *v, double *product, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    size_t records = shard->matrix.rows;
    struct room room = divide(o, scratch);
    struct pass pass;
    pass.o = o;
    pass.shard = shard;
    pass.weights = gather(o, x, room.weights);
    pass.directions = gather(o, v, room.directions);
    pass.sums = place_of_sums(o, &room, product);
    pass.add = add_products;
    traverse(&pass, &room, scratch);
    if (gathers(o)) {
        memset(product, 0, o->dimension * sizeof *product);
        scatter_add(o, pass.sums, product);
    }
    for (size_t j = 0; j < o->dimension; j++)
        product[j] *= shard->scale / (double)records;
    o->regulariser->bend(shard->scale * o->weight, x, v, o->dimension - o->intercepts, product);
    return FPLT_OK;
}

/* A matrix of pairs of weights, in the order of the packed columns: the sum over records of w_kl a a', output k's
 * rows and output l's columns, where w_kl is a number of the record. Only l <= k and, inside each block,
 * what is on or below its diagonal is added; complete_pairs makes the rest of it. */

static void add_sparse_pairs(const fplt_objective *o, const fplt__matrix *a, size_t first,
                             size_t count, const double *weights, double *block)
{
    for (size_t r = first; r < first + count; r++)
        for (size_t e = a->start[r]; e < a->start[r + 1]; e++) {
            double *row = block + a->column[e] * o->dimension;
            double number = weights[r - first] * fplt__matrix_entry(a, r, e);
            for (size_t d = a->start[r]; d <= e; d++)
                row[a->column[d]] += number * fplt__matrix_entry(a, r, d);
        }
}

static void add_pairs(const fplt_objective *o, const fplt__matrix *a, size_t first, size_t count,
                      size_t k, size_t l, const double *weights, double *matrix)
{
    double *block = matrix + k * o->columns * o->dimension + l * o->columns;
    if (a->layout == FPLT_SPARSE) {
        add_sparse_pairs(o, a, first, count, weights, block);
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
    void (*pair)(const fplt_objective *o, const fplt__block *block, const struct room *room,
                 size_t k);
};

/* With one output the weights of several chunks are held, so that products are deep enough. */
static void sum_pairs(const fplt_objective *o, const fplt__shard *shard, const double *weights,
                      const struct room *room, const struct pairing *kind, double *matrix)
{
    const fplt__matrix *a = &shard->matrix;
    double held[FPLT_CHUNK];
    size_t holding = 0;
    for (size_t first = 0; first < a->rows; first += o->chunk) {
        fplt__block block = block_at(o, shard, room, first);
        all_margins(o, shard, first, &block, weights, room->margins);
        kind->prepare(o, &block, room->margins);
        for (size_t k = 0; k < o->outputs; k++) {
            kind->pair(o, &block, room, k);
            for (size_t l = 0; o->outputs > 1 && l <= k; l++)
                add_pairs(o, a, first, block.count, k, l, room->others + l * o->chunk, matrix);
        }
        if (o->outputs > 1)
            continue;
        memcpy(held + holding, room->others, block.count * sizeof *held);
        holding += block.count;
        size_t done = first + block.count;
        if (done < a->rows && holding + o->chunk <= FPLT_CHUNK)
            continue;
        add_pairs(o, a, done - holding, holding, 0, 0, held, matrix);
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
                matrix[i * n + place(o, k, j)] = row[k * o->columns + j];
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

static void complete_pairs(const fplt_objective *o, double factor, const struct room *room,
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
    if (!gathers(o))
        return;
    place_columns(o, matrix, room->sums);
    transpose(matrix, n); /* it is symmetric but for the order of its columns */
    place_columns(o, matrix, room->sums);
}

static void prepare_curve(const fplt_objective *o, const fplt__block *block, double *margins)
{
    o->loss->curve(block, margins);
}

static void pair_curve(const fplt_objective *o, const fplt__block *block, const struct room *room,
                       size_t k)
{
    double *u = room->others;
    memset(u, 0, o->outputs * o->chunk * sizeof *u);
    for (size_t r = 0; r < block->count; r++)
        u[k * o->chunk + r] = 1;
    o->loss->bend(block, room->margins, u);
    weigh_records(o, block, u);
}

static const struct pairing curved = {prepare_curve, pair_curve};

/* Of a loss that is no sum over records: direction by direction. */
static void sum_whole(const fplt_objective *o, const fplt__shard *shard, const double *weights,
                      const struct room *room, double *hessian)
{
    fplt__block block = block_at(o, shard, room, 0);
    all_margins(o, shard, 0, &block, weights, room->margins);
    o->loss->curve(&block, room->margins);
    for (size_t j = 0; j < o->columns; j++) {
        memset(room->others, 0, o->chunk * sizeof *room->others);
        fplt__matrix_column(&shard->matrix, 0, block.count, j, room->others);
        o->loss->bend(&block, room->margins, room->others);
        all_combined(o, &shard->matrix, 0, &block, room->others, hessian + j * o->dimension);
    }
}

static fplt_status loss_hessian(const fplt_objective *o, uint32_t agent, const double *x,
                                double *hessian, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    struct room room = divide(o, scratch);
    const double *weights = gather(o, x, room.weights);
    memset(hessian, 0, o->dimension * o->dimension * sizeof *hessian);
    if (o->loss->whole)
        sum_whole(o, shard, weights, &room, hessian);
    else
        sum_pairs(o, shard, weights, &room, &curved, hessian);
    complete_pairs(o, shard->scale / (double)shard->matrix.rows, &room, hessian);
    return FPLT_OK;
}

static fplt_status whole_hessian(const fplt_objective *o, uint32_t agent, const double *x,
                                 double *hessian, double *scratch)
{
    fplt_status status = loss_hessian(o, agent, x, hessian, scratch);
    size_t n = o->dimension;
    for (size_t j = 0; !status && j < n - o->intercepts; j++)
        hessian[j * n + j] += o->place[agent].scale * o->weight * o->regulariser->curve(x[j]);
    return status;
}

static void prepare_slope(const fplt_objective *o, const fplt__block *block, double *margins)
{
    o->loss->slope(block, margins);
    weigh_records(o, block, margins);
}

static void pair_slope(const fplt_objective *o, const fplt__block *block, const struct room *room,
                       size_t k)
{
    const double *slopes = room->margins;
    for (size_t l = 0; l < o->outputs; l++)
        for (size_t r = 0; r < block->count; r++)
            room->others[l * o->chunk + r] = slopes[k * o->chunk + r] * slopes[l * o->chunk + r];
}

static const struct pairing squared = {prepare_slope, pair_slope};

/* Of a loss that is no sum over records: their score residuals, column after column. */
static fplt_status sum_whole_scores(const fplt_objective *o, const fplt__shard *shard,
                                    const double *weights, const struct room *room, double *scores)
{
    size_t rows = shard->matrix.rows, n = o->columns;
    double *residuals;
    fplt__block block = block_at(o, shard, room, 0);
    if (!o->loss->score)
        return FPLT_UNSUPPORTED;
    fplt_status status =
        fplt__alloc_into(&residuals, n * rows, sizeof *residuals, "score residuals", NULL);
    if (status)
        return status;
    all_margins(o, shard, 0, &block, weights, room->margins);
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

static fplt_status loss_scores(const fplt_objective *o, uint32_t agent, const double *x,
                               double *scores, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    struct room room = divide(o, scratch);
    const double *weights = gather(o, x, room.weights);
    double share = shard->scale / (double)shard->matrix.rows;
    fplt_status status = FPLT_OK;
    memset(scores, 0, o->dimension * o->dimension * sizeof *scores);
    if (o->loss->whole)
        status = sum_whole_scores(o, shard, weights, &room, scores);
    else
        sum_pairs(o, shard, weights, &room, &squared, scores);
    if (status)
        return status;
    complete_pairs(o, share * share, &room, scores);
    return FPLT_OK;
}

/* Hits are counted where the task has classes. */
static fplt_status all_measures(const fplt_objective *o, uint32_t agent, const double *x,
                                double *value, double *gradient, size_t *hits, int *classifies,
                                double *scratch)
{
    *classifies = fplt_task_classifies(o->task);
    *hits = 0;
    return measure(o, agent, x, value, gradient, *classifies ? hits : NULL, scratch);
}

static size_t records_of(const fplt_objective *o, uint32_t agent)
{
    return o->place[agent].records;
}

static int has_batches(const fplt_objective *o)
{
    return !o->loss->whole;
}

static void destroy(fplt_objective *o)
{
    fplt__free(o->place);
    fplt__free(o->sparse_place);
    fplt__free(o->total);
    fplt__free(o->values);
    fplt__free(o->narrow_values);
    fplt__free(o->same);
    fplt__free(o->label);
    fplt__free(o->negative);
    fplt__free(o->steepest);
    fplt__free(o->row_weight);
    fplt__free(o->offset);
    fplt__free(o->start);
    fplt__free(o->column);
}

static const fplt__objective_kind over_records = {
    .destroy = destroy,
    .records = records_of,
    .has_batches = has_batches,
    .value_gradient = value_gradient,
    .batch_gradient = batch_gradient,
    .hessian_times = hessian_times,
    .hessian = whole_hessian,
    .loss_hessian = loss_hessian,
    .loss_scores = loss_scores,
    .curvature = fplt__records_curvature,
    .measure = all_measures,
};

fplt_objective_settings fplt_objective_defaults(void)
{
    return (fplt_objective_settings){
        .loss = "logistic",
        .regulariser = "ridge",
        .weight = 0.5,
        .huber_delta = 1,
    };
}

static fplt_status check_numbers(const fplt_objective_settings *settings, fplt_error *error)
{
    if (!(settings->weight >= 0 && isfinite(settings->weight)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "weight of the regulariser is %g, but it must be finite and at least "
                              "0",
                              settings->weight);
    if (!(settings->clip >= 0 && isfinite(settings->clip)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "clip is %g, but it must be finite and above 0, or 0 for no clipping",
                              settings->clip);
    return FPLT_OK;
}

static int is_float32(const fplt_objective_settings *settings)
{
    return settings->precision && strcmp(settings->precision, "float32") == 0;
}

static fplt_status choose_precision(fplt_objective *o, const fplt_objective_settings *settings,
                                    fplt_error *error)
{
    const char *name = settings->precision ? settings->precision : "double";
    o->narrow = is_float32(settings);
    o->inward = settings->inward;
    if (!o->narrow && strcmp(name, "double") != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "precision: there is no '%.80s'; there are double, float32", name);
    return FPLT_OK;
}

/* What the loss has beside, and what follows from it. */
static fplt_status choose_parameter(fplt_objective *o, const fplt_objective_settings *settings,
                                    const fplt_dataset *dataset, fplt_error *error)
{
    int huber = o->loss->parameter && strcmp(o->loss->parameter, "huber-delta") == 0;
    int ties = o->loss->parameter && strcmp(o->loss->parameter, "ties") == 0;
    int efron = settings->ties && strcmp(settings->ties, "efron") == 0;
    if (settings->ties && (!ties || (!efron && strcmp(settings->ties, "breslow") != 0)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "ties is '%.80s', but the loss %s has %s",
                              settings->ties, o->loss->name,
                              ties ? "efron and breslow" : "no ties of events");
    o->parameter = huber  ? settings->huber_delta
                   : ties ? (efron ? FPLT__TIES_EFRON : FPLT__TIES_BRESLOW)
                          : settings->predictor_bound;
    if (huber && !(o->parameter > 0 && isfinite(o->parameter)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "huber_delta is %g, but it must be finite and above 0", o->parameter);
    if (o->loss->counts && o->parameter == 0)
        o->parameter = fmax(log(fplt__dataset_largest_label(dataset)), 0) + 1;
    if (o->loss->counts && !(fabs(o->parameter) <= 700))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "predictor_bound is %g, but it must be between -700 and 700",
                              o->parameter);
    o->most = o->loss->most_of ? o->loss->most_of(o->parameter) : o->loss->most;
    return FPLT_OK;
}

static fplt_status check_fit(const fplt_objective *o, const fplt_objective_settings *settings,
                             const fplt_dataset *dataset, fplt_error *error)
{
    if (o->loss->whole && settings->intercept)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the loss %s does not see an intercept: leave it out", o->loss->name);
    if (o->loss->whole && settings->clip > 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the loss %s is no sum over records, so clip has nothing to clip",
                              o->loss->name);
    if (o->loss->classes && fplt_dataset_all(dataset).offset)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "rows have one offset, but the loss %s has one output a class",
                              o->loss->name);
    return FPLT_OK;
}

static fplt_status check_task(const fplt__loss *loss, fplt_task task, fplt_error *error)
{
    static const char *const names[] = {"two classes", "three classes or more", "regression",
                                        "survival"};
    if (loss->tasks >> task & 1)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "the loss %s does not fit a data set for %s%s; it is %s", loss->name,
                          names[task],
                          fplt_task_classifies(task) && loss->tasks >> FPLT_TASK_REGRESSION & 1
                              ? " (task regression takes labels as numbers)"
                              : "",
                          loss->help);
}

/* Records treated together: about 32 KiB of dense ones, so that they are still in the first-level cache
 * when the second half of the traversal reads them again; and not too many margins where there are
 * many outputs. */
static size_t chunk_for(int sparse, size_t columns, size_t outputs)
{
    size_t rows = sparse ? FPLT_CHUNK : 4096 / fplt__padded(columns), others = 32768 / outputs;
    rows = (rows < others ? rows : others) / FPLT_PANEL * FPLT_PANEL;
    return rows < FPLT_PANEL ? FPLT_PANEL : rows > FPLT_CHUNK ? FPLT_CHUNK : rows;
}

static size_t most_rows(const fplt_dataset *dataset)
{
    size_t most = 1;
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++) {
        size_t rows = fplt__dataset_count(dataset, i);
        most = rows > most ? rows : most;
    }
    return most;
}

fplt__kernel_shape fplt__objective_shape(const fplt_objective_settings *settings,
                                         const fplt_dataset *dataset)
{
    fplt__kernel_shape shape = {
        .columns = fplt_dataset_features(dataset) + (settings->intercept != 0),
        .agents = fplt_dataset_agents(dataset),
        .batch = settings->batch,
        .sparse = !fplt_dataset_all(dataset).dense,
        .narrow = is_float32(settings),
    };
    shape.rows = (double)fplt__dataset_all_rows(dataset) / (shape.agents ? shape.agents : 1);
    return shape;
}

static fplt_status configure(fplt_objective *o, const fplt_objective_settings *settings,
                             const fplt_dataset *dataset, fplt_error *error)
{
    enum { MIN = 1 << 13, VECTORS = 32 }; /* numbers of a part; vectors of them */
    fplt_status status;
    fplt__kernel_shape shape = fplt__objective_shape(settings, dataset);
    if ((status = fplt__loss_find(settings->loss, &o->loss, error)) ||
        (status = fplt__regulariser_find(settings->regulariser, &o->regulariser, error)) ||
        (status = check_numbers(settings, error)) ||
        (status = fplt__kernel_choose(settings->kernel, &shape, &o->kernel, error)) ||
        (status = choose_precision(o, settings, error)))
        return status;
    o->task = fplt_dataset_task(dataset);
    if ((status = check_task(o->loss, o->task, error)) ||
        (status = check_fit(o, settings, dataset, error)) ||
        (status = choose_parameter(o, settings, dataset, error)))
        return status;
    o->agents = fplt_dataset_agents(dataset);
    o->features = fplt_dataset_features(dataset);
    o->columns = o->features + (settings->intercept != 0);
    o->outputs = o->loss->classes ? fplt_dataset_outputs(dataset) : 1;
    o->dimension = o->outputs * o->columns;
    o->intercepts = settings->intercept ? o->outputs : 0;
    o->weight = settings->weight;
    o->clip = settings->clip;
    o->sparse = !fplt_dataset_all(dataset).dense;
    fplt__layout layout = o->sparse                                ? FPLT_SPARSE
                          : o->columns <= o->kernel->panel_columns ? FPLT_PANELS
                                                                   : FPLT_ROWS;
    size_t multiple = layout == FPLT_ROWS ? o->kernel->row_multiple : 1;
    o->like = (fplt__matrix){.layout = layout,
                             .panel = o->kernel->panel_rows,
                             .columns = o->columns,
                             .stride = (o->columns + multiple - 1) / multiple * multiple};
    o->part_numbers = VECTORS * o->columns > MIN ? VECTORS * o->columns : MIN;
    o->chunk = o->loss->whole ? fplt__padded(most_rows(dataset))
                              : chunk_for(o->sparse, o->columns, o->outputs);
    o->quadratic = o->loss->least == o->most && !o->loss->whole &&
                   o->regulariser->least == o->regulariser->most;
    return FPLT_OK;
}

static void divide_shards(fplt_objective *o)
{
    o->plain = o->outputs == 1 && !(o->clip > 0) && !o->row_weight && !o->offset && !o->loss->whole;
    o->parts = 1;
    for (uint32_t i = 0; i < o->agents; i++) {
        fplt__shard shard = fplt__shard_of(o, i);
        size_t parts = fplt__shard_parts(&shard);
        o->parts = parts > o->parts ? parts : o->parts;
    }
    o->scratch = scratch_needed(o);
    fplt__objective_pair_up(o);
}

static void weigh(fplt_objective *o, const fplt_objective_settings *settings)
{
    double all = settings->all_agents ? settings->all_weight : 0;
    uint32_t agents = settings->all_agents ? settings->all_agents : o->agents;
    for (uint32_t i = 0; i < o->agents && !settings->all_agents; i++)
        all += fplt__shard_of(o, i).total;
    o->unit = all / agents;
    o->weighed = settings->weigh_rows ? agents : 0;
    for (uint32_t i = 0; i < o->agents; i++)
        o->place[i].scale = settings->weigh_rows ? fplt__shard_of(o, i).total / (all / agents) : 1;
}

static fplt_status create(const fplt_objective_settings *settings, const fplt_dataset *dataset,
                          fplt_dataset *giver, fplt_objective **objective, fplt_error *error)
{
    fplt_objective *o;
    *objective = NULL;
    fplt_status status = fplt__alloc_into(&o, 1, sizeof *o, "an objective", error);
    if (status)
        return status;
    o->kind = &over_records;
    if ((status = configure(o, settings, dataset, error)) ||
        (status = fplt__objective_pack(o, dataset, giver, error)) ||
        (status = fplt__objective_count_records(o, error))) {
        fplt_objective_destroy(o);
        return status;
    }
    weigh(o, settings);
    divide_shards(o);
    *objective = o;
    return FPLT_OK;
}

fplt_status fplt_objective_create(const fplt_objective_settings *settings,
                                  const fplt_dataset *dataset, fplt_objective **objective,
                                  fplt_error *error)
{
    return create(settings, dataset, NULL, objective, error);
}

fplt_status fplt__objective_create_of(const fplt_objective_settings *settings, fplt_dataset *giver,
                                      fplt_objective **objective, fplt_error *error)
{
    return create(settings, giver, giver, objective, error);
}
