/* The agents' costs f_i(x) = (1/q_i) sum_j loss(x; record j) + weight r(x), all the f_i of a run in one object.
 * Custom costs: fedplt/objective_callbacks.h.
 *
 * Threads and blocking: an objective does not change. Any number of threads may use it, each with a scratch of its own;
 * callbacks are called in the calling thread. Nothing blocks, but for callbacks that do. */
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
    const char *
        loss; /* logistic, softmax, least-squares, huber, squared-hinge, poisson, gamma, probit, cox, ... */
    const char *regulariser; /* ridge: ||x||^2/2; nonconvex: sum x_j^2/(1 + x_j^2); none */
    double weight;           /* of the regulariser: the paper's epsilon */
    double huber_delta;
    int intercept;      /* a coordinate an output, not regularised */
    int weigh_rows;     /* scale f_i by q_i / mean q: all rows count alike */
    double clip;        /* 0, or the largest norm of a record's gradient: gradients scale longer
                       ones down; values, second derivatives and curvature do not */
    const char *kernel; /* NULL: this machine's fastest; reference, avx2, avx512 */
    /* poisson: above this linear predictor a parabola continues exp; 0: one more than the logarithm of the largest
     * label, at least 1 */
    double predictor_bound;
    /* weigh_rows, where the data set lacks agents of the federation: number of all agents, and sum
     * of the weights of all rows (1 each where rows have none); 0: the data set has all */
    uint32_t all_agents;
    double all_weight;
    /* how features are stored: NULL or double; float32, rounded to the nearest (with `inward`
     * towards 0, so that no row becomes longer). Everything else is double either way. */
    const char *precision;
    int inward;
    /* rows of the local solver's minibatch, 0: all; only the choice of the kernel depends on it */
    uint32_t batch;
    /* cox: how ties are treated, efron or breslow; NULL: breslow */
    const char *ties;
    /* one positive number a feature, borrowed for the call: the regulariser takes coefficients
     * divided by it; NULL: 1 each */
    const double *units;
    /* mixed-logistic, mixed-poisson: nodes of the quadrature, 1 to 100; 0: 10 */
    uint32_t quadrature_points;
    /* mixed losses: column of clusters that the data set was read with (fplt_read_settings.cluster, or a schema's type
     * person), for messages; clusters of different agents are different. NULL: an agent is one cluster */
    const char *cluster;
} fplt_objective_settings;

/* logistic, ridge of weight 0.5, nothing else. */
FPLT_API fplt_objective_settings fplt_objective_defaults(void);

/* Makes an objective from a copy of the data set's rows. The vector x holds the weights, output after output (`features`
 * each; one output but for softmax), then one intercept an output. A row counts by its share of the agent's weights;
 * with `weigh_rows` an agent counts by its weights. An offset is added to a row's margin. Refused: unknown names, numbers
 * out of range, a loss that does not fit the task, an intercept with cox, offsets with several outputs, weights of rows with a mixed loss (which needs `weigh_rows`), a kernel that
 * this machine lacks, a number that float32 does not hold, an agent without rows. */
FPLT_API fplt_status fplt_objective_create(const fplt_objective_settings *settings,
                                           const fplt_dataset *dataset, fplt_objective **objective,
                                           fplt_error *error);

/* Releases the objective. Destroy engines and nodes that borrow it first. */
FPLT_API void fplt_objective_destroy(fplt_objective *objective);

/* Number of coordinates of x, intercepts included; fplt_objective_agents: of costs f_i; fplt_objective_records: of an
 * agent's records. Agents count from 0; the number is not checked, here and by value and gradient. Constant time. */
FPLT_API size_t fplt_objective_dimension(const fplt_objective *objective);
FPLT_API uint32_t fplt_objective_agents(const fplt_objective *objective);
FPLT_API size_t fplt_objective_records(const fplt_objective *objective, uint32_t agent);

/* Doubles of scratch that a call below uses. */
FPLT_API size_t fplt_objective_scratch(const fplt_objective *objective);

/* Writes f_i(x); fplt_objective_gradient: the gradient, `dimension` numbers; fplt_objective_value_gradient: both, in less
 * time than two calls. `scratch` has fplt_objective_scratch doubles. Nothing is allocated. Over a data set always FPLT_OK,
 * also where a number overflows; with callbacks FPLT_FAILED where one reports failure. */
FPLT_API fplt_status fplt_objective_value(const fplt_objective *objective, uint32_t agent,
                                          const double *x, double *value, double *scratch);
FPLT_API fplt_status fplt_objective_gradient(const fplt_objective *objective, uint32_t agent,
                                             const double *x, double *gradient, double *scratch);
FPLT_API fplt_status fplt_objective_value_gradient(const fplt_objective *objective, uint32_t agent,
                                                   const double *x, double *value, double *gradient,
                                                   double *scratch);

/* Strong convexity `lowest` (negative where f_i is not convex) and smoothness `highest`. */
typedef struct fplt_curvature {
    double lowest, highest;
} fplt_curvature;

/* The curvature of two costs or groups of agents together: the lower `lowest` and the higher `highest`, a NaN passed over.
 * Associative and commutative. Joined over all agents it is the `curvature` of fplt_facts. */
FPLT_API fplt_curvature fplt_curvature_join(fplt_curvature a, fplt_curvature b);

/* How to find it: the largest eigenvalue by Lanczos's iteration with a margin of 1 %; a closed form from row norms, never
 * below the truth, in one pass; or a rough estimate from some hundred rows. */
enum { FPLT_CURVATURE_CLOSE = 0, FPLT_CURVATURE_BOUND = 1, FPLT_CURVATURE_ROUGH = 2 };

/* Finds the curvature of f_i; `how` is one of these, ignored with callbacks. FPLT_BAD_VALUE where there is no such agent,
 * FPLT_NO_MEMORY, FPLT_FAILED by callbacks. */
FPLT_API fplt_status fplt_objective_curvature(const fplt_objective *objective, uint32_t agent,
                                              int how, fplt_curvature *curvature,
                                              fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
