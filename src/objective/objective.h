/* The two kinds of objective behind one handle: over records, and by callbacks. */
#ifndef FPLT_OBJECTIVE_OBJECTIVE_H
#define FPLT_OBJECTIVE_OBJECTIVE_H

#include <string.h>

#include "fedplt/objective.h"
#include "fedplt/objective_callbacks.h"
#include "objective/loss.h"

struct fplt__places;

/* The functions of fedplt/objective.h, for one kind; all are set unless it says otherwise. */
typedef struct fplt__objective_kind {
    void (*destroy)(fplt_objective *objective);
    size_t (*records)(const fplt_objective *objective, uint32_t agent);
    int (*has_batches)(const fplt_objective *objective);
    /* value or gradient may be NULL, not both */
    fplt_status (*value_gradient)(const fplt_objective *objective, uint32_t agent, const double *x,
                                  double *value, double *gradient, double *scratch);
    fplt_status (*batch_gradient)(const fplt_objective *objective, uint32_t agent, const double *x,
                                  const uint32_t *rows, size_t count, double *gradient,
                                  double *scratch);
    fplt_status (*hessian_times)(const fplt_objective *objective, uint32_t agent, const double *x,
                                 const double *v, double *product, double *scratch);
    fplt_status (*hessian)(const fplt_objective *objective, uint32_t agent, const double *x,
                           double *hessian, double *scratch);
    /* its lower half, row after row; NULL or FPLT_UNSUPPORTED: `hessian` is as good */
    fplt_status (*triangle)(const fplt_objective *objective, uint32_t agent, const double *x,
                            double *triangle, double *scratch);
    /* what of it may differ from zero; see fplt__objective_list_triangle. NULL: `triangle` is as good */
    fplt_status (*list_triangle)(const fplt_objective *objective, uint32_t agent, const double *x,
                                 double *zeros, struct fplt__places *places, double *scratch);
    /* of f_i without its regulariser; NULL: not known apart */
    fplt_status (*loss_hessian)(const fplt_objective *objective, uint32_t agent, const double *x,
                                double *hessian, double *scratch);
    /* the sum of the records' gradients times themselves, without the regulariser and as they are in
     * f_i. NULL: not known */
    fplt_status (*loss_scores)(const fplt_objective *objective, uint32_t agent, const double *x,
                               double *scores, double *scratch);
    /* adds `unit` times loss_hessian and unit^2 times loss_scores (or NULL) to their lower halves, with the bits of those two;
     * `triangle` has room for one, is zero and stays so. NULL or FPLT_UNSUPPORTED: the two are as good */
    fplt_status (*add_pairs)(const fplt_objective *objective, uint32_t agent, const double *x,
                             double unit, double *triangle, double *information, double *scores,
                             double *scratch);
    fplt_status (*curvature)(const fplt_objective *objective, uint32_t agent, int how,
                             fplt_curvature *curvature, fplt_error *error);
    /* value and gradient, each may be NULL; with classes hits too: records rightly classified */
    fplt_status (*measure)(const fplt_objective *objective, uint32_t agent, const double *x,
                           double *value, double *gradient, size_t *hits, int *classifies,
                           double *scratch);
} fplt__objective_kind;

/* What one agent has: fplt__shard_of tells it. */
typedef struct fplt__shard {
    double scale; /* of f_i: 1, or its share of the rows times the number of agents */
    fplt__matrix matrix;
    size_t records; /* here or in another process, where the matrix is then empty */
    union {         /* borrowed from the objective */
        const double *label;
        const unsigned char *negative; /* whether it is, where the loss flips rows by it */
    };
    const double *
        steepest; /* slope that each row may have, where gradients are clipped, or NULL; likewise */
    const double *weight, *offset; /* of the rows, or NULL; borrowed likewise. Weights have mean 1,
                                      offsets the sign of their row */
    const uint32_t *cluster;       /* of the rows, or NULL; likewise */
    double total;                  /* weight of all rows: their number where they have none */
    size_t part;                   /* rows of one part of the grid, where it has several */
} fplt__shard;

/* Where an agent's rows begin in the objective's arrays, and the numbers of dense ones, a stride each. There may be a
 * million of them. */
typedef struct fplt__place {
    double scale;
    size_t records;
    uint64_t row : 63, here : 1; /* here: not in another process */
} fplt__place;

/* And what sparse ones have; is_same: the numbers of a row are kept once, in `same`. */
typedef struct fplt__sparse_place {
    size_t start, entry, value, same;
    int is_same;
} fplt__sparse_place;

/* Parts of a shard at most. */
enum { FPLT_PARTS = 64 };

/* A large shard is a fixed grid of parts, each a range of rows, whatever threads there are: sums over its
 * records are sums over each part, added in the order of the parts. So threads can share the parts
 * (base/hands.h), and the bits stay. */
static inline size_t fplt__shard_parts(const fplt__shard *shard)
{
    return shard->matrix.rows <= shard->part ? 1
                                             : (shard->matrix.rows + shard->part - 1) / shard->part;
}

struct fplt_objective {
    const fplt__objective_kind *kind;
    const fplt__kernel *kernel;
    size_t dimension, intercepts, scratch;
    uint32_t agents;
    size_t most_records; /* of an agent */
    int quadratic;

    /* over records */
    const fplt__loss *loss;
    fplt__penalty penalty;
    fplt_task task;
    double parameter, clip;
    double unit;                       /* records that an agent has on average */
    uint32_t weighed;                  /* agents among which one counts by its rows; 0: all alike */
    double most;                       /* bound of the loss's second derivative in the margin */
    size_t features, columns, outputs; /* columns: features, and one for the intercept */
    size_t shared;                    /* coordinates behind the intercepts that all records share */
    size_t classes;                   /* of the labels; 0: numbers */
    size_t chunk;                     /* records treated together */
    size_t parts;                     /* the most that a shard has */
    int plain;                        /* one output, all records alike, nothing clipped */
    int sparse;                       /* their layout */
    int batched;                      /* some agents can go side by side */
    int narrow, inward;               /* numbers of rows are floats; rounded towards 0 */
    fplt__matrix like;                /* layout and stride of every agent's rows */
    size_t part_numbers;              /* of a part, at least */
    fplt__place *place;               /* owned, as are the arrays that it indexes: */
    fplt__sparse_place *sparse_place; /* NULL where rows are dense */
    double *total;                    /* weight of an agent's rows; NULL where they have none */
    double *values, *same, *label, *steepest, *row_weight, *offset;
    float *narrow_values;
    size_t *start;
    uint32_t *column;
    unsigned char *negative; /* instead of labels, where the loss flips rows */
    uint32_t *cluster;       /* of clustered losses; NULL: an agent is one */
    double *rule;            /* of quadrature; NULL: none */
    int row_clusters;        /* rows say their clusters */

    fplt_objective_callbacks callbacks;
};

/* Margins of a record: one an output, and those that all records share. */
static inline size_t fplt__objective_margins(const fplt_objective *o)
{
    return o->outputs + o->shared;
}

/* Leading coordinates that a regulariser sees: not intercepts, and not what all records share. */
static inline size_t fplt__objective_regularised(const fplt_objective *o)
{
    return o->dimension - o->intercepts - o->shared;
}

/* Rows of a part: so many numbers that starting a part costs nothing beside it, and enough beside the
 * vector that every part has of its own. Of the shard alone, so that an agent in a process of its own
 * has the same bits. */
static inline size_t fplt__part_rows(const fplt_objective *o, size_t all_rows, size_t numbers)
{
    if (numbers < 2 * o->part_numbers || o->loss->whole)
        return all_rows;
    size_t parts = numbers / o->part_numbers;
    parts = parts > FPLT_PARTS ? FPLT_PARTS : parts;
    size_t rows = (all_rows + parts - 1) / parts;
    return (rows + o->chunk - 1) / o->chunk * o->chunk;
}

static inline size_t fplt__part_of(const fplt_objective *o, const fplt__matrix *a)
{
    return fplt__part_rows(o, a->rows,
                           a->layout == FPLT_SPARSE ? a->start[a->rows] - a->start[0]
                                                    : a->rows * a->columns);
}

static inline size_t fplt__rows_of(const fplt_objective *o, uint32_t agent)
{
    return o->place[agent].here ? o->place[agent].records : 0;
}

/* Its records alone. */
static inline void fplt__find_matrix(const fplt_objective *o, uint32_t agent, fplt__matrix *a)
{
    memcpy(a, &o->like, sizeof *a); /* an assignment would become one of each part */
    a->rows = fplt__rows_of(o, agent);
    if (!o->sparse) {
        size_t value = o->place[agent].row * a->stride;
        a->dense = o->values ? o->values + value : NULL;
        a->narrow = o->narrow_values ? o->narrow_values + value : NULL;
        return;
    }
    const fplt__sparse_place *where = &o->sparse_place[agent];
    a->start = o->start + where->start;
    a->column = o->column + where->entry;
    if (where->is_same)
        a->same = o->same + where->same;
    else if (o->narrow)
        a->narrow = o->narrow_values + where->value;
    else
        a->value = o->values + where->value;
}

static inline fplt__matrix fplt__matrix_of(const fplt_objective *o, uint32_t agent)
{
    fplt__matrix a;
    fplt__find_matrix(o, agent, &a);
    return a;
}

static inline fplt__shard fplt__shard_of(const fplt_objective *o, uint32_t agent)
{
    const fplt__place *place = &o->place[agent];
    size_t row = place->row;
    fplt__shard shard = {
        .scale = place->scale,
        .matrix = fplt__matrix_of(o, agent),
        .records = place->records,
        .steepest = o->steepest ? o->steepest + row : NULL,
        .weight = o->row_weight ? o->row_weight + row : NULL,
        .offset = o->offset ? o->offset + row : NULL,
        .cluster = o->cluster ? o->cluster + row : NULL,
        .total = o->total ? o->total[agent] : (double)place->records,
    };
    if (o->negative)
        shard.negative = o->negative + row;
    else
        shard.label = o->label + row;
    shard.part = fplt__part_of(o, &shard.matrix);
    return shard;
}

/* All that is measured of f_i at x, in one traversal of its records. */
fplt_status fplt__objective_measure(const fplt_objective *objective, uint32_t agent,
                                    const double *x, double *value, double *gradient, size_t *hits,
                                    int *classifies, double *scratch);

/* The value of f_i from dense rows that come in pieces, with the bits of fplt_objective_value over all of them: a part of the
 * grid is some chunks, so the losses of the chunks are all that must be kept. Every piece but the last has a multiple of
 * fplt__objective_chunk rows, and is an agent of an objective of the same settings. */
size_t fplt__objective_chunk(const fplt_objective *objective);
/* Sums of the losses of each chunk of the agent's rows: rows / chunk of them, rounded up. FPLT_UNSUPPORTED where rows are sparse,
 * have weights, or where the loss is no sum over rows. */
fplt_status fplt__objective_chunk_losses(const fplt_objective *objective, uint32_t agent,
                                         const double *x, double *losses, double *scratch);
/* From the losses of all chunks of `rows` rows; agents count alike. */
double fplt__objective_value_of_chunks(const fplt_objective *objective, const double *losses,
                                       size_t rows, const double *x);

/* Into how many parts the records of an agent are divided at most: one where there is nothing to share. */
size_t fplt__objective_parts(const fplt_objective *objective);

/* Brings what is first needed of an agent's records near: `soon` where they are, later them. For those who
 * visit many small agents in no order. */
void fplt__objective_approach(const fplt_objective *objective, uint32_t agent, int soon);

/* How many agents can go side by side: FPLT_BATCHED where they are many and small, otherwise 1. */
size_t fplt__objective_batched(const fplt_objective *objective);

/* A run of plain gradient steps on f_i(w) + <linear, w> + (inverse_rho / 2) ||w - centre||^2; `linear` and
 * `centre` may be NULL. */
typedef struct fplt__course {
    uint32_t agent;
    const double *linear, *centre;
    double inverse_rho, step;
    double *w; /* the start, and in the end the result */
} fplt__course;

/* FPLT_BATCHED of them, with the bits of one after the other; zero, and nothing done, where these agents cannot
 * go side by side. */
int fplt__objective_descend(const fplt_objective *objective, const fplt__course *course,
                            uint32_t epochs, double *scratch);

/* What is measured of FPLT_BATCHED agents with classes from `first` on, with the bits of fplt__objective_measure:
 * at out, out + stride, ... the gradient, and behind it value and hits. Zero where they cannot go side by side. */
int fplt__objective_measures(const fplt_objective *objective, uint32_t first, const double *x,
                             double *out, size_t stride, double *scratch);

/* How the costs of the agents from `first` on curve. Of those that fail the first one's error is told. */
fplt_status fplt__objective_curvatures(const fplt_objective *objective, uint32_t first,
                                       uint32_t count, int how, fplt_curvature *curvatures,
                                       fplt_error *error);

/* The kernel of the objective: for solvers, so that all arithmetic of a run is of one kind. */
const fplt__kernel *fplt__objective_arithmetic(const fplt_objective *objective);

/* The Hessian of f_i without its regulariser; FPLT_UNSUPPORTED where the cost is a caller's own. */
fplt_status fplt__objective_loss_hessian(const fplt_objective *objective, uint32_t agent,
                                         const double *x, double *hessian, double *scratch);

/* How the records of an agent share its gradient at a point, the regulariser left out. */
typedef struct fplt__influence {
    size_t records;
    size_t
        saturated; /* records with a margin beyond the bound; 0 where margins have the scale of labels */
    double largest, sum; /* of the norms of the records' gradients */
    double headroom; /* how far the point may move before a record beyond the bound can be added */
    double longest, squares; /* the largest norm of a row, and the sum of their squares */
    double bend; /* largest second derivative in the margin; 0: not known of these records */
    double rate; /* largest derivative of the slope's logarithm in the margin; 0: it has no bound */
} fplt__influence;

/* How far from the point no further record can come to be beyond the bound, and none can have more than `share` of the sum of the
 * norms: a margin moves by at most the norm of its row times the distance, a slope by `bend` times that, and its logarithm by
 * `rate` times that. 0: not known. */
double fplt__influence_reach(const fplt__influence *influence, double share);

/* Norms of the rows of an agent as they are packed, with the intercept: one a record. */
fplt_status fplt__objective_row_norms(const fplt_objective *objective, uint32_t agent,
                                      double *norms, fplt_error *error);
/* `norms`: as above. FPLT_UNSUPPORTED for a caller's own costs, FPLT_DIVERGED where a norm is not finite. Allocates
 * nothing. */
fplt_status fplt__objective_influence(const fplt_objective *objective, uint32_t agent,
                                      const double *x, const double *norms, double bound,
                                      double *scratch, fplt__influence *influence);

/* Numbers about the records beside the matrices of fplt__information: FPLT__FACTS of them, then the gradient of the
 * losses at 0 (dimension numbers). */
enum fplt__fact {
    FPLT__FACT_LOSSES,      /* sum of the losses at x, each as often as its record weighs */
    FPLT__FACT_RECORDS,     /* sum of the weights */
    FPLT__FACT_ROWS,        /* rows with a weight above 0 */
    FPLT__FACT_EVENTS,      /* of these, rows of the second of two classes or with an event */
    FPLT__FACT_LOG_WEIGHTS, /* sum of the logarithms of their weights */
    FPLT__FACT_CONSTANT,    /* sum of what the likelihood has of a record beside its loss */
    FPLT__FACT_NULL_LOSSES, /* sum of the losses at 0 */
    FPLT__FACT_OFFSETS,     /* rows with an offset that is not 0 */
    FPLT__FACT_PEARSON, /* sum of the squared slopes, of losses with a dispersion by Pearson; else 0 */
    FPLT__FACTS
};

/* FPLT__FACTS + dimension. */
size_t fplt__facts_count(size_t dimension);

/* Sums over records at a point, all borrowed; scores and facts may be NULL. A record counts as it does in the
 * objective, on average once, and with weights as often as it weighs. */
typedef struct fplt__information {
    double *information; /* Hessian of the losses, row-major n x n */
    double *scores;      /* sum of the records' gradients times themselves, row-major n x n */
    double *facts;       /* fplt__facts_count numbers */
} fplt__information;

void fplt__information_clear(const fplt__information *sums, size_t dimension);

/* Over all agents. FPLT_UNSUPPORTED for a caller's own costs, and for scores without fplt__objective_has_scores. */
fplt_status fplt__objective_information(const fplt_objective *objective, const double *x,
                                        const fplt__information *sums, fplt_error *error);
/* Adds that of the agents `first` .. `end` - 1, one after the other. */
fplt_status fplt__objective_add_information(const fplt_objective *objective, uint32_t first,
                                            uint32_t end, const double *x,
                                            const fplt__information *sums, fplt_error *error);
/* The same of one agent, so that they add up to it, also over objectives that know of all agents
 * (all_agents); scores are 0 without fplt__objective_has_scores. */
fplt_status fplt__agent_information(const fplt_objective *objective, uint32_t agent,
                                    const double *x, const fplt__information *sums,
                                    fplt_error *error);
/* The exponential of counts is not replaced by a parabola below this linear predictor. */
#define FPLT__NO_PREDICTOR_BOUND 700

/* A view of the losses alone: the same records without the regulariser, and counts without a bound on their linear
 * predictor. Borrows all of `objective`: it is never destroyed. */
fplt_objective fplt__objective_losses(const fplt_objective *objective);
/* Whether records have gradients of their own. */
int fplt__objective_has_scores(const fplt_objective *objective);

/* Least and greatest eigenvalue of the Hessian of f_i at x (NULL: the origin), as
 * fplt_objective_probe finds them. */
fplt_status fplt__objective_extremes(const fplt_objective *objective, uint32_t agent,
                                     const double *x, double *least, double *most,
                                     fplt_error *error);

/* Finds most_records; FPLT_BAD_VALUE where an agent has none. */
fplt_status fplt__objective_count_records(fplt_objective *objective, fplt_error *error);
size_t fplt__objective_most_records(const fplt_objective *objective);

/* As fplt_objective_create, of a data set whose rows are not needed afterwards: they may be gone then, and
 * are what they were where it fails. */
fplt_status fplt__objective_create_of(const fplt_objective_settings *settings, fplt_dataset *giver,
                                      fplt_objective **objective, fplt_error *error);

/* Shape by which the kernel of an objective over these rows is chosen. */
fplt__kernel_shape fplt__objective_shape(const fplt_objective_settings *settings,
                                         const fplt_dataset *dataset);

/* Brings the data set into the kernel's layout: fills shard and what it points into. The rows of `giver`,
 * which is the data set or NULL, may be taken over. */
fplt_status fplt__objective_pack(fplt_objective *objective, const fplt_dataset *dataset,
                                 fplt_dataset *giver, fplt_error *error);
/* `values` begins with the rows of all agents, one behind the other, and has room for the layout: each gets
 * its place in it, and the factor of its label. */
void fplt__objective_spread(fplt_objective *objective);

/* gradient = w_i (sums / records + weight r'(x)) */
void fplt__records_finish(const fplt_objective *objective, double scale, size_t records,
                          const double *x, const double *sums, double *gradient);

/* Finds whether agents can go side by side, and the scratch for it. */
void fplt__objective_pair_up(fplt_objective *objective);
/* The largest eigenvalue of A'A/q for FPLT_BATCHED agents from `first` on; zero where they cannot go side by
 * side. */
int fplt__objective_largest(const fplt_objective *objective, uint32_t first, double *largest);

/* Curvature of an objective over records; of FPLT_BATCHED agents at once, zero where they cannot go side by
 * side. */
int fplt__records_curvatures(const fplt_objective *objective, uint32_t first,
                             fplt_curvature *curvatures);
fplt_status fplt__records_curvature(const fplt_objective *objective, uint32_t agent, int how,
                                    fplt_curvature *curvature, fplt_error *error);

#endif
