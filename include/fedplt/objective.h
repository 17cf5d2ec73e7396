/* The agents' costs f_i(x) = (1/q_i) sum_j loss(x; record j) + weight r(x), all the f_i of a run in
 * one object. Calls are thread-safe as long as each thread brings its own scratch. */
#ifndef FEDPLT_OBJECTIVE_H
#define FEDPLT_OBJECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/data.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_objective fplt_objective;

typedef struct fplt_objective_settings {
    const char *loss; /* logistic, softmax, least-squares, huber, squared-hinge, poisson, cox */
    const char *regulariser; /* ridge: ||x||^2/2; nonconvex: sum x_j^2/(1 + x_j^2); none */
    double weight;           /* of the regulariser: the paper's epsilon */
    double huber_delta;
    int intercept;  /* one more coordinate an output, not regularised */
    int weigh_rows; /* scale f_i by q_i / mean q, so that all rows count alike */
    double clip;    /* 0, or the largest norm of a record's loss gradient: longer ones are scaled
                       down to it in every gradient; values, second derivatives and curvature stay
                       those of the loss itself */
    const char *kernel; /* NULL: the fastest of this machine for the shape of the data; reference,
                           avx2, avx512 */
    /* poisson: exp goes on as a parabola above this linear predictor, so that the cost is smooth;
     * 0: one more than the logarithm of the largest label there is, at least 1 */
    double predictor_bound;
    /* with weigh_rows, where the data set has not all agents of a federation: how many there are,
     * and the sum of all their rows' weights (1 each where rows have none); 0: it has all */
    uint32_t all_agents;
    double all_weight;
    /* how rows are kept: NULL or double, as they are; float32, in half the memory, each number rounded to
     * the nearest float (with `inward` towards 0, so that no row becomes longer). Labels, weights, offsets
     * and all arithmetic are of doubles either way. */
    const char *precision;
    int inward;
    /* rows of a minibatch that the local solver draws, 0: it uses all rows of an agent; only the choice of
     * the kernel depends on it */
    uint32_t batch;
    /* cox: how events of equal times are treated, efron or breslow; NULL: breslow */
    const char *ties;
} fplt_objective_settings;

/* logistic, ridge of weight 0.5, nothing else. */
FPLT_API fplt_objective_settings fplt_objective_defaults(void);

/* Copies what it needs of the data set into the layout of the kernel. The vector x holds the
 * weights, output after output (`features` each; one output but for softmax), then one intercept an
 * output. Rows with weights count as their share of the agent's weights, and with `weigh_rows` an
 * agent counts by its weights; an offset is added to a row's margin. Refused with a sentence:
 * unknown names, numbers out of range, a loss that does not fit the data set's task, an intercept
 * where the loss does not see it (cox), offsets with several outputs, a kernel that this machine
 * lacks, a number that float32 does not hold, an agent without rows. */
FPLT_API fplt_status fplt_objective_create(const fplt_objective_settings *settings,
                                           const fplt_dataset *dataset, fplt_objective **objective,
                                           fplt_error *error);

/* A user's own costs. Callbacks are called from several threads at once; non-zero means failure
 * and ends the run. Optional ones may be NULL. */
typedef struct fplt_objective_callbacks {
    size_t size; /* sizeof(fplt_objective_callbacks) */
    size_t dimension;
    uint32_t agents;
    void *context;
    int (*value)(void *context, uint32_t agent, const double *x, double *value);
    int (*gradient)(void *context, uint32_t agent, const double *x, double *gradient);
    /* optional: product of the Hessian at x with v */
    int (*hessian_times)(void *context, uint32_t agent, const double *x, const double *v,
                         double *product);
    /* optional: gradient averaged over some of the agent's records; needs `records` */
    int (*batch_gradient)(void *context, uint32_t agent, const double *x, const uint32_t *rows,
                          size_t count, double *gradient);
    /* optional; 1 otherwise. Never 0, and the same in every call. */
    size_t (*records)(void *context, uint32_t agent);
    /* optional: bounds of the curvature of f_i, strong convexity (0 if none) and smoothness;
     * otherwise what fplt_objective_probe finds at the origin */
    void (*curvature)(void *context, uint32_t agent, double *lowest, double *highest);
    /* optional: both at once, where one costs hardly more than the other. With it `value` and
     * `gradient` may be NULL; where they are given they are called when only one is asked for. */
    int (*value_gradient)(void *context, uint32_t agent, const double *x, double *value,
                          double *gradient);
    /* optional: how many of the agent's records x classifies rightly */
    int (*hits)(void *context, uint32_t agent, const double *x, size_t *hits);
} fplt_objective_callbacks;

/* Makes an objective of callbacks. The struct is copied; its context is borrowed until
 * fplt_objective_destroy. Calls `records` once for each agent. FPLT_BAD_VALUE for another `size`,
 * no dimension or agents, a missing callback, batch_gradient without records, or an agent that has
 * not 1 to 2^32 - 1 records; `objective` is then NULL. */
FPLT_API fplt_status fplt_objective_create_callback(const fplt_objective_callbacks *callbacks,
                                                    fplt_objective **objective, fplt_error *error);

/* Releases the objective; NULL is legal. Destroy engines and nodes that borrow it first. */
FPLT_API void fplt_objective_destroy(fplt_objective *objective);

/* Sizes, in constant time: fplt_objective_dimension is the number of coordinates of x, intercepts
 * included, fplt_objective_agents the number of costs f_i, fplt_objective_records the records of
 * one agent (callbacks: as `records` says). Agents count from 0; the number is not checked.
 * Thread-safe. */
FPLT_API size_t fplt_objective_dimension(const fplt_objective *objective);
FPLT_API uint32_t fplt_objective_agents(const fplt_objective *objective);
FPLT_API size_t fplt_objective_records(const fplt_objective *objective, uint32_t agent);
/* Trailing coordinates that are intercepts. */
FPLT_API size_t fplt_objective_intercepts(const fplt_objective *objective);
/* Nonzero when every f_i is quadratic: its Hessian is the same everywhere. */
FPLT_API int fplt_objective_is_quadratic(const fplt_objective *objective);
/* Name of the kernel in use: part of what makes bits reproducible. */
FPLT_API const char *fplt_objective_kernel(const fplt_objective *objective);
/* How its rows are kept: double or float32. */
FPLT_API const char *fplt_objective_precision(const fplt_objective *objective);
/* What exists: kernel number `index`, one line of help and whether this machine can run it; NULL past
 * the last. The fastest comes first. */
FPLT_API const char *fplt_kernel_list(size_t index, const char **help, int *available);

/* Doubles of scratch that each call below may use. */
FPLT_API size_t fplt_objective_scratch(const fplt_objective *objective);

/* f_i(x) and its gradient: fplt_objective_value writes one number, fplt_objective_gradient
 * `dimension` numbers, fplt_objective_value_gradient both, in less time than two calls. `agent` is
 * not checked. `scratch` has fplt_objective_scratch doubles and is the caller's. Thread-safe with
 * a scratch for each thread; nothing is allocated. Over a data set they always return FPLT_OK,
 * also where a number overflows; by callbacks FPLT_FAILED where one reports failure. */
FPLT_API fplt_status fplt_objective_value(const fplt_objective *objective, uint32_t agent,
                                          const double *x, double *value, double *scratch);
FPLT_API fplt_status fplt_objective_gradient(const fplt_objective *objective, uint32_t agent,
                                             const double *x, double *gradient, double *scratch);
FPLT_API fplt_status fplt_objective_value_gradient(const fplt_objective *objective, uint32_t agent,
                                                   const double *x, double *value, double *gradient,
                                                   double *scratch);
/* Nonzero when batch_gradient is offered: always over a data set, by callbacks where given. */
FPLT_API int fplt_objective_has_batches(const fplt_objective *objective);
/* Average over the given records (0-based within the agent, repeats allowed) plus the regulariser's
 * whole gradient: unbiased when the records are drawn uniformly. No records: the regulariser's
 * gradient alone. FPLT_BAD_VALUE when there is no such record, FPLT_UNSUPPORTED without batches. */
FPLT_API fplt_status fplt_objective_batch_gradient(const fplt_objective *objective, uint32_t agent,
                                                   const double *x, const uint32_t *rows,
                                                   size_t count, double *gradient, double *scratch);
/* Writes the product of the Hessian of f_i at x with v, `dimension` numbers; `product` must not
 * overlap x or v. Callbacks without hessian_times are answered by central differences of the
 * gradient, two evaluations. FPLT_FAILED where a callback reports failure. Thread-safe with a
 * scratch for each thread. */
FPLT_API fplt_status fplt_objective_hessian_times(const fplt_objective *objective, uint32_t agent,
                                                  const double *x, const double *v, double *product,
                                                  double *scratch);
/* The whole Hessian, row-major dimension x dimension; generalised where the loss is not twice
 * differentiable. */
FPLT_API fplt_status fplt_objective_hessian(const fplt_objective *objective, uint32_t agent,
                                            const double *x, double *hessian, double *scratch);

/* How f_i curves: strong convexity `lowest` (negative where f_i is not convex) and smoothness
 * `highest`. */
typedef struct fplt_curvature {
    double lowest, highest;
} fplt_curvature;

/**
 * The curvature of two costs, or of two groups of agents, together: the lower of the two `lowest` and the higher of the two
 * `highest`. Joined over all agents it is the `curvature` of fplt_facts. A NaN is passed over.
 *
 * @return  bounds that hold for every cost of either group
 *
 * Associative and commutative, so that agents may be joined in any order. Thread-safe; no side effects.
 */
FPLT_API fplt_curvature fplt_curvature_join(fplt_curvature a, fplt_curvature b);

/* How closely to look: an estimate of the largest eigenvalue by Lanczos's iteration with a safety margin of
 * 1 %; a closed form from row norms, never below the truth, data read once; or a rough estimate from some
 * hundred rows, for those who need an order of magnitude only. */
enum { FPLT_CURVATURE_CLOSE = 0, FPLT_CURVATURE_BOUND = 1, FPLT_CURVATURE_ROUGH = 2 };

/* `how` is one of these. */
FPLT_API fplt_status fplt_objective_curvature(const fplt_objective *objective, uint32_t agent,
                                              int how, fplt_curvature *curvature,
                                              fplt_error *error);

/* The same at one point x (NULL: the origin): extreme eigenvalues of the Hessian by Lanczos's iteration,
 * up to 40 products with it, exact but for rounding up to 40 coordinates. `lowest` is never below the
 * truth; `highest`, the largest in size, has the margin of 1 %. Only an estimate of what holds elsewhere.
 * FPLT_BAD_VALUE where the cost does not curve at all. */
FPLT_API fplt_status fplt_objective_probe(const fplt_objective *objective, uint32_t agent,
                                          const double *x, fplt_curvature *curvature,
                                          fplt_error *error);

/* How many of the agent's records x classifies rightly (a margin of 0 is of the first class;
 * among equal outputs of softmax the first counts: as fplt_model_predict labels them); FPLT_UNSUPPORTED in regression and for
 * callbacks that do not say. */
FPLT_API fplt_status fplt_objective_hits(const fplt_objective *objective, uint32_t agent,
                                         const double *x, size_t *hits, double *scratch);

/* Whether a loss sees an intercept: cox does not. 0 for an unknown name. */
FPLT_API int fplt_loss_takes_intercept(const char *name);
/* The losses (fplt_loss_name) and regularisers (fplt_regulariser_name) there are: name number
 * `index` and, where `help` is not NULL, one line of help; NULL past the last. */
FPLT_API const char *fplt_loss_name(size_t index, const char **help);
FPLT_API const char *fplt_regulariser_name(size_t index, const char **help);

#ifdef __cplusplus
}
#endif
#endif
