/* Shared by the algorithms: the registry's members and small vector work. */
#ifndef FPLT_ALGORITHM_ALGORITHM_H
#define FPLT_ALGORITHM_ALGORITHM_H

#include "fedplt/algorithm.h"

extern const fplt_algorithm fplt__fed_plt;
extern const fplt_algorithm fplt__fed_plt_anderson;
extern const fplt_algorithm fplt__fedpd;
extern const fplt_algorithm fplt__fedlin;
extern const fplt_algorithm fplt__tamuna;
extern const fplt_algorithm fplt__led;
extern const fplt_algorithm fplt__5gcs;
extern const fplt_algorithm fplt__fedsplit;
extern const fplt_algorithm fplt__scaffnew;
extern const fplt_algorithm fplt__scaffold;
extern const fplt_algorithm fplt__fedavg;
extern const fplt_algorithm fplt__fedprox;
extern const fplt_algorithm fplt__fed_lbfgs;
extern const fplt_algorithm fplt__fed_newton;
extern const fplt_algorithm fplt__fednl;
extern const fplt_algorithm fplt__fed_lbfgs_partial;
extern const fplt_algorithm fplt__fed_newton_partial;

/* A message of which most numbers are zero, as small agents with sparse rows send. Where `is_used`, the numbers before
 * `first` are in `up`, and of the rest those that are listed are not zero. The engine lends it, unused; an algorithm
 * may leave it so. */
typedef struct fplt__listed {
    uint32_t *at; /* places in the message, each at most once, from `first` on */
    double *number;
    double *zeros; /* as many as the message has; zero again when the algorithm is done */
    size_t capacity, count, first;
    int is_used;
} fplt__listed;

/* Names the first part that a round cannot do without and that this algorithm lacks; NULL: it is complete. */
const char *fplt__algorithm_lacks(const fplt_algorithm *algorithm);

/* For methods whose coordinator keeps the model x as its first vector: where it begins, what it
 * broadcasts (also in the finish), its mean over the cohort, and what is deployed. */
void fplt__begin_model(fplt_coordinator *coordinator, const double *start);
fplt_status fplt__broadcast_model(const fplt_coordinator *coordinator, const fplt_round *round,
                                  unsigned exchange, double *down);
void fplt__absorb_mean(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                       const double *sum);
fplt_status fplt__first_vector(const fplt_coordinator *coordinator, double *x);

/* The gradient of f_i(w) + (weight/2) ||w||^2, whole and counted. */
fplt_status fplt__agent_gradient(fplt_agent *agent, double weight, const double *w,
                                 double *gradient, fplt_error *error);

/* For methods that correct the local gradient by a kept vector and learn the new x after the sum: trains
 * from x on f_i(w) + weight <kept, w>, leaves the result in `up`, and holds it for finish. */
fplt_status fplt__train_corrected(fplt_agent *agent, const fplt_round *round, double weight,
                                  const double *x, double *up, fplt_error *error);

/* The number of local steps of a round that ends with probability p after each: 1, 2, ... */
uint32_t fplt__random_length(fplt_stream *shared, double p);

/* 2/(lmin + lmax + 2 inverse_rho): minimises the contraction factor of a gradient step on d. A
 * negative lmin counts as 0. */
double fplt__proximal_step(const fplt_facts *facts, double inverse_rho);

/* 1/epochs, and 1 for none (which is refused elsewhere). */
double fplt__epoch_share(const fplt_facts *facts);
/* 1/(smoothness * epochs): with it a round moves no further than one gradient step of 1/smoothness
 * would, however many epochs it has. */
double fplt__cautious_step(const fplt_facts *facts);

/* TAMUNA: the slot of a member of a cohort of `size`, one to one. */
uint32_t fplt__tamuna_slot(fplt_stream *shared, uint32_t member, uint32_t size);

double fplt__inner(const double *a, const double *b, size_t count);
/* out = sum / count */
void fplt__mean(const double *sum, uint32_t count, double *out, size_t dimension);

/* 1/sqrt(smoothness * strong convexity): the proximal weight rho of Peaceman-Rachford and its
 * relatives, as fplt__theory_balanced_rho has it. */
double fplt__balanced_rho(const fplt_curvature *curvature);

/* For methods whose parameter number 0 is the penalty rho of their proximal local cost: its automatic
 * value, 1/rho, and the step that contracts most. */
void fplt__choose_rho(const fplt_facts *facts, double *parameter);
double fplt__rho_inverse(const fplt_facts *facts, const double *parameter);
double fplt__rho_step(const fplt_facts *facts, const double *parameter);

/* For `prepare`: says what the agent's solver is to lower, for the round's epochs. */
void fplt__agent_pose(fplt_agent *agent, const fplt_round *round, const double *linear,
                      const double *centre, double inverse_rho);

#endif
