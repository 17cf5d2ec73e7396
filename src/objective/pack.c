/* From a data set to the layout of the kernels: rows flipped by their label where the loss wants
 * it, a column of ones for the intercept, padding by zeros, labels and what clips a row beside. */
#include "objective/objective.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "data/dataset_access.h"

static size_t entries_of(const fplt_rows *rows)
{
    return rows->dense || !rows->count ? 0 : rows->start[rows->count] - rows->start[0];
}

/* The number that is kept of one. */
static double kept(const fplt_objective *o, double number)
{
    if (!o->narrow)
        return number;
    float near = (float)number;
    if (o->inward && fabs((double)near) > fabs(number))
        near = nextafterf(near, 0);
    return near;
}

/* Whether the numbers of each row are all the same, the intercept's 1 included: then one of them tells
 * all, as where rows say only which columns they have. */
static int is_same(const fplt_objective *o, const fplt_rows *rows)
{
    for (size_t r = 0; r < rows->count; r++) {
        size_t start = rows->start[r], end = rows->start[r + 1];
        double first = o->columns > o->features || start == end ? 1 : kept(o, rows->value[start]);
        for (size_t e = start; e < end; e++)
            if (kept(o, rows->value[e]) != first)
                return 0;
    }
    return 1;
}

struct sizes {
    size_t rows, entries, values, same, starts;
};

static fplt_status measure(const fplt_objective *o, const fplt_dataset *dataset,
                           struct sizes *sizes, fplt_error *error)
{
    *sizes = (struct sizes){0};
    for (uint32_t i = 0; i < o->agents; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        if (!fplt__dataset_count(dataset, i))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "agent %u has no rows: its cost is an average over none", i);
        size_t padded = fplt__matrix_padded(&o->like, rows.count);
        if (o->sparse && o->columns > UINT32_MAX)
            return fplt_error_set(error, FPLT_UNSUPPORTED,
                                  "%zu features and an intercept are more columns than a sparse "
                                  "data set can number",
                                  o->features);
        sizes->rows += padded;
        if (o->sparse) {
            size_t entries = entries_of(&rows) + rows.count * (o->columns - o->features);
            sizes->entries += entries;
            if (is_same(o, &rows))
                sizes->same += rows.count;
            else
                sizes->values += entries;
            sizes->starts += rows.count + 1;
        } else {
            sizes->values += padded * o->like.stride;
        }
    }
    return FPLT_OK;
}

/* What a row is multiplied by, and the label that is kept. */
static fplt_status read_label(const fplt_objective *o, uint32_t agent, size_t row, double label,
                              double *factor, double *kept, fplt_error *error)
{
    *factor = o->loss->flips ? -label : 1;
    *kept = label;
    if (!isfinite(label))
        return fplt_error_set(error, FPLT_BAD_DATA, "agent %u, row %zu: the label is not finite",
                              agent, row);
    if (o->task == FPLT_TASK_BINARY && fabs(label) != 1)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "agent %u, row %zu: label %g, but two classes are -1 and +1", agent,
                              row, label);
    if (o->loss->counts && label < 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "agent %u, row %zu: label %g, but the loss %s is of counts, at least "
                              "0",
                              agent, row, label, o->loss->name);
    if (o->loss->positive && !(label > 0))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "agent %u, row %zu: label %g, but the loss %s is of numbers above 0",
                              agent, row, label, o->loss->name);
    if (!o->loss->classes && !o->loss->ordered)
        return FPLT_OK;
    if (o->task == FPLT_TASK_BINARY)
        *kept = (label + 1) / 2;
    if (!(*kept >= 0 && *kept < (double)o->classes && *kept == floor(*kept)))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "agent %u, row %zu: label %g, but classes are 0 .. %zu", agent, row,
                              label, o->classes - 1);
    return FPLT_OK;
}

/* Squared norm of a row that stays where it is for now; in the order of pack_dense where it is kept. */
static double square_of(const fplt_objective *o, const double *row, int keeps)
{
    double square = 0;
    if (!keeps)
        return o->kernel->dot(row, row, o->features);
    for (size_t j = 0; j < o->features; j++)
        square += row[j] * row[j];
    return square;
}

/* To a place in `numbers`, which a sparse matrix may not have, or as a float. */
static void put(fplt__matrix *a, double *numbers, size_t place, double number)
{
    if (a->narrow)
        a->narrow[place] = (float)number;
    else if (numbers)
        numbers[place] = number;
}

/* Squared norm of the row, as it is kept and without its intercept. */
static double pack_dense(const fplt_objective *o, fplt__matrix *a, size_t row, const double *from,
                         double factor)
{
    double square = 0;
    for (size_t j = 0; j < o->features; j++) {
        double number = kept(o, from[j]);
        put(a, a->dense, fplt__matrix_place(a, row, j), factor * number);
        square += number * number;
    }
    if (a->columns > o->features)
        put(a, a->dense, fplt__matrix_place(a, row, o->features), factor);
    return square;
}

static double pack_sparse(const fplt_objective *o, fplt__matrix *a, size_t row,
                          const fplt_rows *rows, size_t from, double factor)
{
    double square = 0;
    size_t to = a->start[row];
    for (size_t e = rows->start[from]; e < rows->start[from + 1]; e++, to++) {
        double number = kept(o, rows->value[e]);
        a->column[to] = rows->column[e];
        put(a, a->value, to, factor * number);
        square += number * number;
    }
    if (a->columns > o->features) {
        a->column[to] = (uint32_t)o->features;
        put(a, a->value, to, factor);
        to++;
    }
    if (a->same)
        a->same[row] = rows->start[from] == rows->start[from + 1]
                           ? factor
                           : factor * kept(o, rows->value[rows->start[from]]);
    a->start[row + 1] = to;
    return square;
}

/* Places of one agent's rows, borrowed from the objective; weight and offset may be NULL. */
struct places {
    double *label;
    unsigned char *negative; /* one of these two is NULL */
    double *steepest, *weight, *offset;
    uint32_t *cluster;
};

/* The latest times first, rows of the same time in their order. */
static int later_first(const void *a, const void *b, void *labels)
{
    const size_t *x = a, *y = b;
    double s = fabs(((const double *)labels)[*x]), t = fabs(((const double *)labels)[*y]);
    return s != t ? (s < t) - (s > t) : (*x > *y) - (*x < *y);
}

/* By keys, rows of the same key in their order. */
static int by_key(const void *a, const void *b, void *keys)
{
    const size_t *x = a, *y = b;
    double s = ((const double *)keys)[*x], t = ((const double *)keys)[*y];
    return s != t ? (s > t) - (s < t) : (*x > *y) - (*x < *y);
}

/* Rows of a cluster beside each other, clusters in the order in which they first appear: their numbers depend on the rows
 * of other agents, and the order of sums must not. */
static fplt_status group_clusters(const double *clusters, size_t rows, size_t *order,
                                  fplt_error *error)
{
    double *first;
    fplt_status status = fplt__alloc_into(&first, rows, sizeof *first, "the order of rows", error);
    if (status)
        return status;
    qsort_r(order, rows, sizeof *order, by_key, (void *)(uintptr_t)clusters);
    for (size_t r = 0; r < rows; r++)
        first[order[r]] = r && clusters[order[r]] == clusters[order[r - 1]] ? first[order[r - 1]]
                                                                            : (double)order[r];
    qsort_r(order, rows, sizeof *order, by_key, first);
    fplt__free(first);
    return FPLT_OK;
}

/* The order in which the loss wants the rows, of which `clusters` are known or NULL; released with fplt__free. */
static fplt_status order_rows(const fplt_objective *o, const fplt_rows *rows,
                              const double *clusters, size_t **order, fplt_error *error)
{
    fplt_status status =
        fplt__alloc_into(order, rows->count, sizeof **order, "the order of rows", error);
    for (size_t r = 0; !status && r < rows->count; r++)
        (*order)[r] = r;
    if (!status && o->loss->hazards)
        qsort_r(*order, rows->count, sizeof **order, later_first, (void *)rows->label);
    if (!status && o->cluster && (status = group_clusters(clusters, rows->count, *order, error)))
        fplt__free(*order);
    return status;
}

/* Weights with mean 1, so that sums over records are still divided by their number. */
static double pack_weights(const fplt_rows *rows, const size_t *order, double *weight)
{
    double total = 0;
    if (!rows->weight)
        return (double)rows->count;
    for (size_t r = 0; r < rows->count; r++)
        total += rows->weight[r];
    for (size_t r = 0; r < rows->count; r++)
        weight[r] = rows->weight[order[r]] / (total / (double)rows->count);
    return total;
}

/* Rows whose numbers were read for the last time, handed on in portions. */
struct passing {
    const fplt_dataset *dataset;
    size_t first, row; /* of the agent; of all that were not handed on yet */
    size_t portion;    /* 0: never */
};

static void pass_rows(struct passing *passing, size_t end)
{
    if (end - passing->row >= passing->portion) {
        fplt__dataset_passed(passing->dataset, passing->row, end);
        passing->row = end;
    }
}

static fplt_status pack_rows(const fplt_objective *o, uint32_t agent, const fplt_rows *rows,
                             const size_t *order, fplt__matrix *a, const struct places *to,
                             struct passing *passing, fplt_error *error)
{
    for (size_t r = 0; r < rows->count; r++) {
        double factor, label;
        size_t from = order[r];
        fplt_status status = read_label(o, agent, from, rows->label[from], &factor, &label, error);
        if (status)
            return status;
        if (to->label)
            to->label[r] = label;
        else
            to->negative[r] = label < 0;
        const double *dense = rows->dense ? rows->dense + from * o->features : NULL;
        int stays = dense && !a->dense && !a->narrow;
        double square = stays   ? square_of(o, dense, to->steepest != NULL)
                        : dense ? pack_dense(o, a, r, dense, factor)
                                : pack_sparse(o, a, r, rows, from, factor);
        double norm = sqrt(square + (double)(o->columns - o->features));
        if (to->steepest)
            to->steepest[r] = o->clip / norm;
        if (rows->offset)
            to->offset[r] = factor * rows->offset[from];
        if (!isfinite(norm))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "agent %u, row %zu: a number is not finite, or too large %s",
                                  agent, from,
                                  o->narrow ? "for precision float32" : "to be squared");
        if (!o->loss->whole && passing->portion)
            pass_rows(passing, passing->first + r + 1);
    }
    passing->first += rows->count;
    if (passing->portion)
        pass_rows(passing, passing->first);
    return FPLT_OK;
}

static fplt_status pack_shard(const fplt_objective *o, uint32_t agent, const fplt_rows *rows,
                              fplt__matrix *a, const struct places *to, struct passing *passing,
                              fplt_error *error)
{
    size_t *order;
    const double *clusters = fplt__dataset_persons(passing->dataset, agent);
    fplt_status status = order_rows(o, rows, clusters, &order, error);
    if (status)
        return status;
    for (size_t r = 0; to->cluster && r < rows->count; r++)
        to->cluster[r] = (uint32_t)clusters[order[r]];
    double total = pack_weights(rows, order, to->weight);
    if (rows->count && !(total > 0)) { /* an agent without rows has them in another process */
        fplt__free(order);
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "agent %u has no row of a weight above 0: its cost is an average "
                              "over none",
                              agent);
    }
    if (o->total)
        o->total[agent] = total;
    status = pack_rows(o, agent, rows, order, a, to, passing, error);
    fplt__free(order);
    return status;
}

/* Whether rows become the layout where they are. */
static int is_taken(const fplt_objective *o, const fplt_dataset *giver)
{
    return giver && giver->dense && !giver->lent_values && !o->narrow && !o->loss->whole;
}

static fplt_status alloc_numbers(fplt_objective *o, const struct sizes *sizes, int taken,
                                 const char *what, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(&o->same, sizes->same, sizeof *o->same, what, error);
    if (status || taken)
        return status;
    return o->narrow ? fplt__alloc_into(&o->narrow_values, sizes->values, sizeof *o->narrow_values,
                                        what, error)
                     : fplt__alloc_into(&o->values, sizes->values, sizeof *o->values, what, error);
}

fplt_status fplt__objective_pack(fplt_objective *o, const fplt_dataset *dataset,
                                 fplt_dataset *giver, fplt_error *error)
{
    struct sizes sizes;
    int taken = is_taken(o, giver);
    fplt_status status;
    const char *what = "an objective's copy of the data";
    fplt_rows all = fplt_dataset_all(dataset);
    if ((status = measure(o, dataset, &sizes, error)) ||
        (all.weight && (status = fplt__alloc_into(&o->row_weight, sizes.rows, sizeof *o->row_weight,
                                                  what, error))) ||
        /* of rows in other processes it may be known though none here has a weight */
        ((all.weight || dataset->census) &&
         (status = fplt__alloc_into(&o->total, o->agents, sizeof *o->total, what, error))) ||
        (o->row_clusters &&
         (status = fplt__alloc_into(&o->cluster, sizes.rows, sizeof *o->cluster, what, error))) ||
        (all.offset &&
         (status = fplt__alloc_into(&o->offset, sizes.rows, sizeof *o->offset, what, error))) ||
        (status = fplt__alloc_into(&o->place, o->agents, sizeof *o->place, what, error)) ||
        (o->sparse && (status = fplt__alloc_into(&o->sparse_place, o->agents,
                                                 sizeof *o->sparse_place, what, error))) ||
        (status = o->loss->flips
                      ? fplt__alloc_into(&o->negative, sizes.rows, 1, what, error)
                      : fplt__alloc_into(&o->label, sizes.rows, sizeof *o->label, what, error)) ||
        (o->clip > 0 &&
         (status = fplt__alloc_into(&o->steepest, sizes.rows, sizeof *o->steepest, what, error))) ||
        (status = alloc_numbers(o, &sizes, taken, what, error)) ||
        (status = fplt__alloc_into(&o->column, sizes.entries, sizeof *o->column, what, error)) ||
        (status = fplt__alloc_into(&o->start, sizes.starts, sizeof *o->start, what, error)))
        return status;
    struct passing passing = {dataset, 0, 0, taken ? 0 : 1 + (1 << 19) / o->features};
    size_t first_row = 0, first_value = 0, first_same = 0, first_entry = 0, first_start = 0;
    for (uint32_t i = 0; i < o->agents; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        int sparse = o->sparse, same = sparse && is_same(o, &rows);
        o->place[i] = (fplt__place){
            .records = fplt__dataset_count(dataset, i), .row = first_row, .here = rows.count > 0};
        if (sparse)
            o->sparse_place[i] =
                (fplt__sparse_place){first_start, first_entry, first_value, first_same, same};
        fplt__matrix a = fplt__matrix_of(o, i);
        struct places to = {o->label ? o->label + first_row : NULL,
                            o->negative ? o->negative + first_row : NULL,
                            o->steepest ? o->steepest + first_row : NULL,
                            o->row_weight ? o->row_weight + first_row : NULL,
                            o->offset ? o->offset + first_row : NULL,
                            o->cluster ? o->cluster + first_row : NULL};
        if ((status = pack_shard(o, i, &rows, &a, &to, &passing, error)))
            return status;
        if (!rows.count && o->total)
            o->total[i] = fplt__dataset_weight(dataset, i);
        size_t entries = sparse ? a.start[rows.count] : 0;
        first_row += fplt__matrix_padded(&a, rows.count);
        first_start += sparse ? rows.count + 1 : 0;
        first_entry += entries;
        first_same += same ? rows.count : 0;
        first_value += same ? 0 : entries;
    }
    if ((status = fplt__dataset_unchanged(dataset, error)) || !taken)
        return status;
    if (!(status = fplt__dataset_take_dense(giver, sizes.values, &o->values, error)))
        fplt__objective_spread(o);
    return status;
}
