/* Costs as solvers, reports and the program use them, beside fedplt/objective.h. */
#ifndef FPLT_OBJECTIVE_OBJECTIVE_ACCESS_H
#define FPLT_OBJECTIVE_OBJECTIVE_ACCESS_H

#include "fedplt/objective.h"

/* Coordinates that are intercepts, behind those of the columns. */
size_t fplt__objective_intercepts(const fplt_objective *objective);
/* Trailing coordinates that no penalty sees: intercepts, and behind them those that all records share (a dispersion,
 * thresholds). */
size_t fplt__objective_unpenalised(const fplt_objective *objective);

/* Nonzero when every f_i is quadratic: its Hessian is the same everywhere. */
int fplt__objective_is_quadratic(const fplt_objective *objective);
/* How the second derivatives of the costs change with x, as far as is known. */
typedef enum fplt__bending {
    FPLT__BENDS_SMOOTHLY,
    FPLT__BENDS_EQUALLY, /* the same everywhere: the costs are quadratic */
    FPLT__BENDS_IN_JUMPS
} fplt__bending;
fplt__bending fplt__objective_bending(const fplt_objective *objective);

/* Name of the kernel in use: part of what makes bits reproducible. */
const char *fplt__objective_kernel(const fplt_objective *objective);

/* How its rows are kept: double or float32. */
const char *fplt__objective_precision(const fplt_objective *objective);

/* What exists: kernel number `index`, one line of help and whether this machine can run it; NULL past
 * the last. The fastest comes first. */
const char *fplt__kernel_list(size_t index, const char **help, int *available);

/* Nonzero when batch_gradient is offered: always over a data set, by callbacks where given. */
int fplt__objective_has_batches(const fplt_objective *objective);

/* Average over the given records (0-based within the agent, repeats allowed) plus the regulariser's
 * whole gradient: unbiased when the records are drawn uniformly. No records: the regulariser's
 * gradient alone. FPLT_BAD_VALUE when there is no such record, FPLT_UNSUPPORTED without batches. */
fplt_status fplt__objective_batch_gradient(const fplt_objective *objective, uint32_t agent,
                                           const double *x, const uint32_t *rows, size_t count,
                                           double *gradient, double *scratch);

/* Whether a caller's cost gives the gradients of single records. */
int fplt__objective_gives_records(const fplt_objective *objective);
/* That cost for a run with a promise: its gradient is the mean of the records' gradients, each shortened to the norm
 * `clip`, and one that is not finite counts as zero. Curvature, Hessians and minibatches are not known of it. Borrows what
 * `from` borrows. FPLT_UNSUPPORTED where a cost does not give them, FPLT_BAD_VALUE for a clip that is not above 0. */
fplt_status fplt__objective_clip_records(const fplt_objective *from, double clip,
                                         fplt_objective **objective, fplt_error *error);

/* Writes the product of the Hessian of f_i at x with v, `dimension` numbers; `product` must not
 * overlap x or v. Callbacks without hessian_times are answered by central differences of the
 * gradient, two evaluations. FPLT_FAILED where a callback reports failure. Thread-safe with a
 * scratch for each thread. */
fplt_status fplt__objective_hessian_times(const fplt_objective *objective, uint32_t agent,
                                          const double *x, const double *v, double *product,
                                          double *scratch);

/* The whole Hessian, row-major dimension x dimension; generalised where the loss is not twice
 * differentiable. */
fplt_status fplt__objective_hessian(const fplt_objective *objective, uint32_t agent,
                                    const double *x, double *hessian, double *scratch);

/* Its lower half, row after row, with the same bits, where that takes less than the whole: sparse rows. FPLT_UNSUPPORTED
 * elsewhere. */
fplt_status fplt__objective_triangle(const fplt_objective *objective, uint32_t agent,
                                     const double *x, double *triangle, double *scratch);

/* Numbers of a long vector that are not zero, each once; those of a list begin at its place `first`. */
typedef struct fplt__places {
    uint32_t *at;
    double *number;
    size_t capacity, first, count;
} fplt__places;

/* The numbers of fplt__objective_triangle that are not zero, with the same bits, in time that grows with them and not
 * with the triangle. `zeros` has room for the triangle, is zero and stays so. FPLT_UNSUPPORTED, and nothing listed,
 * where rows are not sparse or their pairs of columns and the diagonal could fill `places`. */
fplt_status fplt__objective_list_triangle(const fplt_objective *objective, uint32_t agent,
                                          const double *x, double *zeros, fplt__places *places,
                                          double *scratch);

/* How many of the agent's records x classifies rightly (a margin of 0 is of the first class;
 * among equal outputs of softmax the first counts: as fplt_model_predict labels them); FPLT_UNSUPPORTED in regression and for
 * callbacks that do not say. */
fplt_status fplt__objective_hits(const fplt_objective *objective, uint32_t agent, const double *x,
                                 size_t *hits, double *scratch);

/* Whether a loss has a random intercept of every cluster; 0 for an unknown name. */
int fplt__loss_is_clustered(const char *name);
/* Nodes of the quadrature that the loss takes; 0: it has none. */
uint32_t fplt__loss_points(const fplt_objective_settings *settings);
/* Whether a loss sees an intercept: cox does not. 0 for an unknown name. */
int fplt__loss_takes_intercept(const char *name);
/* Whether a loss is for regression alone: poisson, gamma. 0 for an unknown name. */
int fplt__loss_takes_numbers_only(const char *name);

/* Whether the curvature of the costs has no bound, so that what fplt_objective_curvature finds is a scale only; 0 for a
 * caller's own costs. */
int fplt__objective_is_unbounded(const fplt_objective *objective);

/* The losses (fplt__loss_name) and regularisers (fplt__regulariser_name) there are: name number
 * `index` and, where `help` is not NULL, one line of help; NULL past the last. */
const char *fplt__loss_name(size_t index, const char **help);
const char *fplt__regulariser_name(size_t index, const char **help);

#endif
