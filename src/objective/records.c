/* f_i over an agent's records:
 * f_i(x) = w_i [ (1/q_i) sum_j loss(margins of record j) + weight r(x) ].
 *
 * Everything is one traversal: a chunk of records that fits the first-level cache, its margins, a
 * function of the margins, and back into a vector; the data is read from memory once. A large shard is
 * traversed in parts, which threads may share. */
#include "data/dataset_access.h"
#include "objective/objective.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "objective/traversal.h"

static void scatter_add(const fplt_objective *o, const double *sums, double *y)
{
    for (size_t k = 0; k < o->outputs; k++)
        for (size_t j = 0; j < o->columns; j++)
            y[fplt__records_place(o, k, j)] += sums[k * o->columns + j];
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
    memcpy(losses, margins, fplt__objective_margins(o) * o->chunk * sizeof *losses);
    o->loss->value(block, losses);
    o->loss->slope(block, margins);
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
    if (fplt__records_gathers(o)) {
        memset(gradient, 0, o->dimension * sizeof *gradient);
        scatter_add(o, sums, gradient);
    }
    double factor = records ? scale / (double)records : 0;
    size_t regularised = fplt__objective_regularised(o);
    fplt__penalty_slope(&o->penalty, factor, scale, x, gradient);
    for (size_t j = regularised; j < o->dimension; j++)
        gradient[j] *= factor;
}

/* Adds the gradients of the block's records; the slopes are lost. */
static void add_gradient(const fplt_objective *o, const fplt__shard *shard, size_t first,
                         const fplt__block *block, double *slopes, double *sums)
{
    if (o->clip > 0)
        clip_slopes(block, shard->steepest + first, slopes);
    fplt__records_weigh(o, block, slopes);
    fplt__records_combine(o, &shard->matrix, first, block, slopes, sums);
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
    void (*add)(struct pass *pass, size_t part, size_t first, const fplt__records_room *room,
                double *sums);
};

static void traverse_part(void *context, size_t part, double *scratch)
{
    struct pass *pass = context;
    const fplt_objective *o = pass->o;
    fplt__records_room room = fplt__records_divide(o, scratch);
    size_t vector = fplt__records_vector(o), first = part * pass->shard->part;
    size_t left = pass->shard->matrix.rows - first;
    size_t end = first + (left < pass->shard->part ? left : pass->shard->part);
    double *sums =
        pass->sums && part ? pass->partial + (part - 1) * fplt__records_part_stride(o) : pass->sums;
    if (sums)
        memset(sums, 0, vector * sizeof *sums);
    pass->losses[part] = 0;
    pass->right[part] = 0;
    for (; first < end; first += o->chunk)
        pass->add(pass, part, first, &room, sums);
}

/* All parts, into the numbers of the first. */
static void traverse(struct pass *pass, const fplt__records_room *room, double *scratch)
{
    size_t parts = fplt__shard_parts(pass->shard), vector = fplt__records_vector(pass->o);
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
            pass->sums[j] += pass->partial[(part - 1) * fplt__records_part_stride(pass->o) + j];
    }
}

static void add_measures(struct pass *pass, size_t part, size_t first,
                         const fplt__records_room *room, double *sums)
{
    const fplt_objective *o = pass->o;
    fplt__block block = fplt__records_block_at(o, pass->shard, room, first);
    fplt__records_margins(o, pass->shard, first, &block, pass->weights, room->margins);
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

static double *place_of_sums(const fplt_objective *o, const fplt__records_room *room,
                             double *gradient)
{
    return fplt__records_gathers(o) ? room->sums : gradient;
}

/* Value, gradient and hits in one traversal; each may be NULL. */
static fplt_status measure(const fplt_objective *o, uint32_t agent, const double *x, double *value,
                           double *gradient, size_t *hits, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    size_t records = shard->matrix.rows;
    fplt__records_room room = fplt__records_divide(o, scratch);
    struct pass pass;
    pass.o = o;
    pass.shard = shard;
    pass.weights = fplt__records_gather(o, x, room.weights);
    pass.value = value != NULL;
    pass.hits = hits != NULL;
    pass.sums = gradient ? place_of_sums(o, &room, gradient) : NULL;
    pass.add = add_measures;
    traverse(&pass, &room, scratch);
    if (hits)
        *hits = pass.right[0];
    if (value)
        *value =
            shard->scale * (pass.losses[0] / (double)records + fplt__penalty_value(&o->penalty, x));
    if (gradient)
        fplt__records_finish(o, shard->scale, records, x, pass.sums, gradient);
    return FPLT_OK;
}

size_t fplt__objective_chunk(const fplt_objective *o)
{
    return o->chunk;
}

fplt_status fplt__objective_chunk_losses(const fplt_objective *o, uint32_t agent, const double *x,
                                         double *losses, double *scratch)
{
    if (o->kind != &fplt__objective_over_records || o->loss->whole || o->sparse || o->row_weight)
        return FPLT_UNSUPPORTED;
    const fplt__shard view = fplt__shard_of(o, agent);
    fplt__records_room room = fplt__records_divide(o, scratch);
    struct pass pass = {
        .o = o, .shard = &view, .weights = fplt__records_gather(o, x, room.weights), .value = 1};
    for (size_t first = 0; first < view.matrix.rows; first += o->chunk) {
        pass.losses[0] = 0;
        add_measures(&pass, 0, first, &room, NULL);
        *losses++ = pass.losses[0];
    }
    return FPLT_OK;
}

double fplt__objective_value_of_chunks(const fplt_objective *o, const double *losses, size_t rows,
                                       const double *x)
{
    size_t part = fplt__part_rows(o, rows, rows * o->columns);
    double sum = 0;
    for (size_t first = 0; first < rows; first += part) {
        size_t end = rows - first < part ? rows : first + part;
        double own = 0;
        for (size_t at = first; at < end; at += o->chunk)
            own += losses[at / o->chunk];
        sum = first ? sum + own : own;
    }
    return sum / (double)rows + fplt__penalty_value(&o->penalty, x);
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
                      size_t count, const double *weights, const fplt__records_room *room,
                      double *sums)
{
    double *slopes = room->margins;
    fplt__matrix some = shard->matrix;
    fplt__block block = fplt__records_block_of(o, room, count, room->label, NULL, NULL);
    pick_rows(o, &some, rows, count, weights, 0, room->rows, slopes);
    fplt__records_share(o, &block, weights, slopes);
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
        fplt__records_weigh(o, &block, slopes);
    }
    fplt__records_combine(o, &some, 0, &block, slopes, sums);
}

static fplt_status plain_batch(const fplt_objective *o, uint32_t agent, const double *x,
                               const uint32_t *rows, size_t count, double *gradient,
                               double *scratch)
{
    fplt__records_room room = fplt__records_divide(o, scratch);
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
    fplt__records_room room = fplt__records_divide(o, scratch);
    const double *weights = fplt__records_gather(o, x, room.weights);
    double *sums = place_of_sums(o, &room, gradient);
    memset(sums, 0, fplt__records_vector(o) * sizeof *sums);
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

static void add_products(struct pass *pass, size_t part, size_t first,
                         const fplt__records_room *room, double *sums)
{
    const fplt_objective *o = pass->o;
    fplt__block block = fplt__records_block_at(o, pass->shard, room, first);
    (void)part;
    fplt__records_margins(o, pass->shard, first, &block, pass->weights, room->margins);
    fplt__records_products(o, &pass->shard->matrix, first, &block, pass->directions, room->others);
    o->loss->curve(&block, room->margins);
    o->loss->bend(&block, room->margins, room->others);
    fplt__records_weigh(o, &block, room->others);
    fplt__records_combine(o, &pass->shard->matrix, first, &block, room->others, sums);
}

static fplt_status hessian_times(const fplt_objective *o, uint32_t agent, const double *x,
                                 const double *v, double *product, double *scratch)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    size_t records = shard->matrix.rows;
    fplt__records_room room = fplt__records_divide(o, scratch);
    struct pass pass;
    pass.o = o;
    pass.shard = shard;
    pass.weights = fplt__records_gather(o, x, room.weights);
    pass.directions = fplt__records_gather(o, v, room.directions);
    pass.sums = place_of_sums(o, &room, product);
    pass.add = add_products;
    traverse(&pass, &room, scratch);
    if (fplt__records_gathers(o)) {
        memset(product, 0, o->dimension * sizeof *product);
        scatter_add(o, pass.sums, product);
    }
    for (size_t j = 0; j < o->dimension; j++)
        product[j] *= shard->scale / (double)records;
    fplt__penalty_bend(&o->penalty, shard->scale, x, v, product);
    return FPLT_OK;
}

/* Hits are counted where the task has classes. */
static fplt_status all_measures(const fplt_objective *o, uint32_t agent, const double *x,
                                double *value, double *gradient, size_t *hits, int *classifies,
                                double *scratch)
{
    *classifies = fplt__task_classifies(o->task);
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
    fplt__free(o->penalty.units);
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
    fplt__free(o->cluster);
    fplt__free(o->rule);
    fplt__free(o->start);
    fplt__free(o->column);
}

const fplt__objective_kind fplt__objective_over_records = {
    .destroy = destroy,
    .records = records_of,
    .has_batches = has_batches,
    .value_gradient = value_gradient,
    .batch_gradient = batch_gradient,
    .hessian_times = hessian_times,
    .hessian = fplt__records_hessian,
    .triangle = fplt__records_triangle,
    .list_triangle = fplt__records_list_triangle,
    .add_pairs = fplt__records_add_pairs,
    .loss_hessian = fplt__records_loss_hessian,
    .loss_scores = fplt__records_loss_scores,
    .curvature = fplt__records_curvature,
    .measure = all_measures,
};
