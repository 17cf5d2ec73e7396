/* Shared inside the theory module. */
#ifndef FPLT_THEORY_THEORY_H
#define FPLT_THEORY_THEORY_H

#include <stdint.h>

#include "fedplt/theory.h"

/* The strong convexity that rho is chosen by: where it is missing or below this share of the
 * smoothness, that share of the smoothness. */
#define FPLT_THEORY_FLAT 1e-4

/* The automatic values behind `fplt_theory_` ones, by 1/rho, which may be 0 or negative: the penalty
 * that makes exact splitting contract most, the step of gradient descent that contracts most, its
 * limit, and the accelerated step with its own limit for momentum b. */
double fplt__theory_penalty(double lowest, double highest);
double fplt__gradient_step(double lowest, double highest, double inverse_rho);
double fplt__gradient_step_limit(double highest, double inverse_rho);
double fplt__accelerated_step(double highest, double inverse_rho);
/* For accelerated local training whose agents must move alike. */
double fplt__hurried_step(double highest, uint32_t epochs);
double fplt__accelerated_step_limit(double lowest, double highest, double inverse_rho);
/* The momentum b = (sqrt M - sqrt m)/(sqrt M + sqrt m) of d, m and M its least and largest curvature
 * [Fed-PLT, accelerated gradient descent]. */
double fplt__momentum(double lowest, double highest, double inverse_rho);

/* 1 + q + ... + q^(terms - 1), accurate near q = 1. */
double fplt__geometric(double q, double terms);

/* The rate over `points` curvatures, without refinement: what a search compares. */
fplt_theory_rate fplt__quadratic_scan(const fplt_theory_problem *problem,
                                      const fplt_theory_parameters *parameters, unsigned points);

/* The problem with a strong convexity that is above 0 [Fed-PLT needs one to choose rho]. */
fplt_theory_problem fplt__theory_convexified(const fplt_theory_problem *problem);

typedef enum fplt__theory_version {
    FPLT_THEORY_CORRECTED,
    FPLT_THEORY_PRINTED
} fplt__theory_version;

/* The strong convexity or, where that is less, FPLT_THEORY_FLAT times the smoothness. Thread-safe. */
double fplt__theory_usable_convexity(const fplt_theory_problem *problem);

/* 1/sqrt(usable convexity x smoothness); where the costs are not convex, at most
 * 1/(2 |strong_convexity|), so that local training is. */
double fplt__theory_balanced_rho(const fplt_theory_problem *problem);

/* zeta: of exact Peaceman-Rachford splitting [Fed-PLT Lemma prs]. */
double fplt__theory_splitting_contraction(const fplt_theory_problem *problem, double rho);

/* Steps below this make the local gradient descent converge: 2/(smoothness + 1/rho); printed:
 * 2/(strong_convexity + 1/rho), which is too large. */
double fplt__theory_step_limit(const fplt_theory_problem *problem, double rho,
                               fplt__theory_version version);

/* The step of accelerated gradient descent, 1/(smoothness + 1/rho). */
double fplt__theory_accelerated_step(const fplt_theory_problem *problem, double rho);

/* chi: of one local gradient step. */
double fplt__theory_step_contraction(const fplt_theory_problem *problem, double rho, double step);

/* Of a whole local training, towards its minimiser: chi^Ne, or chi(Ne) when accelerated (corrected:
 * the square root of the printed one; it can exceed 1 for few epochs). */
double fplt__theory_local_contraction(const fplt_theory_problem *problem,
                                      const fplt_theory_parameters *parameters,
                                      fplt__theory_version version);

/* The matrix for these numbers, which must pass fplt_theory_check. A function of its arguments
 * only; thread-safe. */
fplt_theory_matrix fplt__theory_matrix_make(const fplt_theory_problem *problem,
                                            const fplt_theory_parameters *parameters,
                                            fplt__theory_version version);

/* The weight w of the norm sqrt(|x|^2 + w^2 |z|^2) in which Fed-PLT contracts by exactly the radius
 * of the corrected S. As chi^Ne goes to 0 the weight would grow without limit, so a chi^Ne below
 * 1e-12 counts as 1e-12: S only grows by that, the guarantee stands. */
double fplt__theory_weight(const fplt_theory_problem *problem,
                           const fplt_theory_parameters *parameters);

/* Norm of the matrix when z is weighted by w. */
double fplt__theory_weighted_norm(const fplt_theory_matrix *matrix, double weight);

typedef enum fplt__theory_norm {
    FPLT_BOUND_WEIGHTED, /* corrected S in the weighted norm: holds whenever S is stable */
    FPLT_BOUND_PLAIN,    /* corrected S in the plain norm: needs norm(S) < 1 */
    FPLT_BOUND_PRINTED   /* the paper's, for reproduction; not a guarantee */
} fplt__theory_norm;

/* The bound in one of the norms. FPLT_BAD_VALUE as fplt_theory_check; a bound that does not hold
 * is no failure: see `holds`. The struct holds no memory. Thread-safe. */
fplt_status fplt__theory_bound_make(const fplt_theory_problem *problem,
                                    const fplt_theory_parameters *parameters,
                                    fplt__theory_norm norm, fplt_theory_bound *bound,
                                    fplt_error *error);

/* Its limit for ever more rounds. */
double fplt__theory_bound_radius(const fplt_theory_bound *bound);

/* Least number of epochs with which the bound holds, all else as given; 0: none. */
uint32_t fplt__theory_least_epochs(const fplt_theory_problem *problem,
                                   const fplt_theory_parameters *parameters,
                                   fplt__theory_norm norm);

/* Of identical quadratics of one curvature. */
fplt_theory_rate fplt__theory_quadratic_rate_at(const fplt_theory_problem *problem,
                                                const fplt_theory_parameters *parameters,
                                                double curvature);

typedef struct fplt__theory_prices {
    double gradient;      /* cost of a local step (the paper's tG) */
    double communication; /* cost of a round beside that (tC) */
    uint32_t epochs;      /* 0: choose; else keep this */
    uint32_t epochs_most; /* when chosen: at most this; 0: 100 */
    int accelerated;
} fplt__theory_prices;

typedef struct fplt__theory_tuned {
    double strong_convexity; /* that was reckoned with: at least smoothness/10000 if given <= 0 */
    double rho, step;        /* step: 1/(smoothness + 1/rho) when accelerated */
    uint32_t epochs;
    double rate;           /* of fplt_theory_quadratic_rate */
    double cost_per_digit; /* (epochs gradient + communication) ln 10 / -ln rate */
    char reasoning[768];
} fplt__theory_tuned;

/* Least cost per decimal digit in the quadratic family, in milliseconds of search. Steps beyond the
 * best step are not tried: they gain a few per cent there and can cycle on other costs.
 * FPLT_UNREACHABLE when nothing tried has a rate below 1. */
fplt_status fplt__theory_tune(const fplt_theory_problem *problem, const fplt__theory_prices *prices,
                              fplt__theory_tuned *tuned, fplt_error *error);

#endif
