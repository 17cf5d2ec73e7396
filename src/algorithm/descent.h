/* Descent methods of the coordinator: the coordinator alone decides where to go, and the agents evaluate their costs
 * there. A line search lasts over rounds: a round evaluates one point x + t d, which is then
 * accepted, or t is shortened. All decisions come from the exact sums, to which the coordinator adds h. */
#ifndef FPLT_ALGORITHM_DESCENT_H
#define FPLT_ALGORITHM_DESCENT_H

#include "algorithm/algorithm.h"

/* The coordinator's first vectors and numbers: the accepted point and the gradient of the costs there, the direction; the
 * value with h and the slope at the accepted point, t, how often it was shortened, whether a point was accepted at all,
 * whether the last step was accepted whole, h at the accepted point, and the status of a prox that failed.
 *
 * Where h is not zero the slope is <g, d> + h(x + d) - h(x), which bounds the directional derivative from above
 * [Tseng and Yun 2009]. */
enum { FPLT__POINT, FPLT__GRADIENT, FPLT__DIRECTION, FPLT__DESCENT_VECTORS };
enum {
    FPLT__VALUE,
    FPLT__SLOPE,
    FPLT__LENGTH,
    FPLT__REFUSED,
    FPLT__BEGUN,
    FPLT__TRUSTED,
    FPLT__PENALTY,
    FPLT__FAULT,
    FPLT__POINT_NUMBER, /* of the current point, from 1, where points are numbered (incremental.h) */
    FPLT__DESCENT_NUMBERS
};

void fplt__descent_begin(fplt_coordinator *coordinator, const double *start);
/* x + t d */
fplt_status fplt__descent_broadcast(const fplt_coordinator *coordinator, const fplt_round *round,
                                    unsigned exchange, double *down);
/* The point that the next round looks at where the last step was accepted whole, so that this one can be
 * trusted; otherwise the accepted one. */
fplt_status fplt__descent_model(const fplt_coordinator *coordinator, double *x);
int fplt__descent_settled(const fplt_coordinator *coordinator);

/* Working memory of a method that calls the functions below: vectors beside the matrices. */
enum { FPLT__DESCENT_SCRATCH = 6 };

/* Takes the sums at x + t d. Nonzero: the point is accepted, and the caller now writes a direction and
 * calls fplt__descent_aim. Zero: it is refused and t shortened. */
int fplt__descent_arrive(fplt_coordinator *coordinator, const double *gradient, double value);
/* The direction is written: the next look is at its end. */
void fplt__descent_aim(fplt_coordinator *coordinator);

/* A symmetric n x n matrix as its lower triangle, row after row: its length in numbers. */
size_t fplt__triangle(size_t dimension);
void fplt__triangle_pack(const double *matrix, size_t dimension, double *triangle);
/* Vectors of scratch that the next two need. */
unsigned fplt__newton_scratch(size_t dimension);
/* step = z - x, z = argmin <g, z - x> + (z - x)'H(z - x)/2 + h(z), with a multiple of the identity added to H where it is
 * not positive definite. `step` overlaps none of the others. */
void fplt__newton_step(fplt_coordinator *coordinator, const double *triangle, const double *x,
                       const double *gradient, double *step);
/* The direction is that step from the accepted point. */
void fplt__newton_aim(fplt_coordinator *coordinator, const double *triangle);
/* The agent's Hessian at x (zero where it is too large for the sum), and what it costs in gradients.
 * `matrix`: n x n. */
/* Its lower half, row after row; `matrix` has room for the whole. */
/* Lists the triangle that fplt__agent_triangle gives, from place `first` of the message on, and the number behind it.
 * FPLT_UNSUPPORTED, and nothing listed, where the engine lends no list or the agent's rows fill it. */
fplt_status fplt__agent_list_triangle(fplt_agent *agent, const fplt_round *round, const double *x,
                                      size_t first, double behind, fplt_error *error);
fplt_status fplt__agent_triangle(fplt_agent *agent, const fplt_round *round, const double *x,
                                 double *matrix, double *triangle, fplt_error *error);
fplt_status fplt__agent_hessian(fplt_agent *agent, const fplt_round *round, const double *x,
                                double *matrix, fplt_error *error);
/* Refuses a dimension whose square is too much to send. */
fplt_status fplt__check_square(const fplt_facts *facts, const char *name, fplt_error *error);

/* The value and gradient of f_i at x, counted once. Where one is too large for the sum, the largest value
 * that is not and no gradient: the coordinator then shortens its step. */
fplt_status fplt__agent_value_gradient(fplt_agent *agent, const fplt_round *round, const double *x,
                                       double *value, double *gradient, fplt_error *error);
/* Common to them: there is no local training, so gamma is 1/lmax in name only. */
double fplt__unused_step(const fplt_facts *facts, const double *parameter);

#define FPLT__NO_TRAINING \
    "it asks an agent for derivatives at the common model: there is no local training"

#endif
