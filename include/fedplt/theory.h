/* What is known of Fed-PLT before a run, from a handful of numbers: how fast it converges, which
 * guarantee holds, what to change when none does, and which rho, step and epochs to take.
 *
 *   fplt_theory_defaults    rho and a step from the curvatures alone
 *   fplt_theory_tune        rho, step and epochs that cost least for given prices
 *   fplt_theory_judge       which guarantees hold for given parameters, and advice where one fails
 *   fplt_theory_bound_make  the guaranteed error, round by round
 *   fplt_theory_quadratic_rate  the realistic rate
 *
 * Several formulas of the paper contain mistakes. "Corrected" is what this library promises;
 * "printed" is the paper's text, for reproducing it, and not a guarantee. Nothing here allocates;
 * everything is thread-safe. Functions that return a double check nothing: give them what
 * fplt_theory_check accepts. */
#ifndef FEDPLT_THEORY_H
#define FEDPLT_THEORY_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_theory_problem {
    double strong_convexity;    /* least curvature of any f_i (the paper's lmin); may be <= 0, then
                                   there is no guarantee */
    double smoothness;          /* greatest curvature of any f_i (lmax), above 0 */
    uint64_t agents, dimension; /* N and n: enter only through noise */
} fplt_theory_problem;

typedef struct fplt_theory_parameters {
    double rho;
    double step;     /* of the local gradient steps (gamma); not read when accelerated */
    uint32_t epochs; /* local steps a round (Ne), at least 1 */
    int accelerated; /* Nesterov's steps of length 1/(smoothness + 1/rho) instead */
    /* Least and greatest probability with which an agent takes part in a round. Rounds must be
     * independent of the past; agents of one round may depend on each other. */
    double participation_least, participation_most;
    double noise_tau; /* each step adds a normal of deviation sqrt(2 step) noise_tau; 0: none */
} fplt_theory_parameters;

typedef enum fplt_theory_version { FPLT_THEORY_CORRECTED, FPLT_THEORY_PRINTED } fplt_theory_version;

/* Every agent active, no noise, plain gradient steps, 5 epochs, rho = 1/sqrt(lmin lmax) and
 * the best step for it. */
FPLT_API fplt_theory_parameters fplt_theory_defaults(const fplt_theory_problem *problem);

/* FPLT_BAD_VALUE with a sentence when a number is outside what is legal. A step beyond the legal
 * range is accepted here: fplt_theory_judge speaks about it. `parameters` may be NULL. */
FPLT_API fplt_status fplt_theory_check(const fplt_theory_problem *problem,
                                       const fplt_theory_parameters *parameters, fplt_error *error);

/* ---- The penalty ---- */

/* The strong convexity that rho is chosen by: where it is missing or below this share of the
 * smoothness, that share of the smoothness. */
#define FPLT_THEORY_FLAT 1e-4
/* The strong convexity or, where that is less, FPLT_THEORY_FLAT times the smoothness. Thread-safe. */
FPLT_API double fplt_theory_usable_convexity(const fplt_theory_problem *problem);
/* 1/sqrt(usable convexity x smoothness); where the costs are not convex, at most
 * 1/(2 |strong_convexity|), so that local training is. */
FPLT_API double fplt_theory_balanced_rho(const fplt_theory_problem *problem);

/* ---- Contraction factors ---- */

/* zeta: of exact Peaceman-Rachford splitting [Fed-PLT Lemma prs]. */
FPLT_API double fplt_theory_splitting_contraction(const fplt_theory_problem *problem, double rho);

/* Steps below this make the local gradient descent converge: 2/(smoothness + 1/rho); printed:
 * 2/(strong_convexity + 1/rho), which is too large. */
FPLT_API double fplt_theory_step_limit(const fplt_theory_problem *problem, double rho,
                                       fplt_theory_version version);
/* The step that contracts most, 2/(strong_convexity + smoothness + 2/rho). */
FPLT_API double fplt_theory_best_step(const fplt_theory_problem *problem, double rho);
/* The step of accelerated gradient descent, 1/(smoothness + 1/rho). */
FPLT_API double fplt_theory_accelerated_step(const fplt_theory_problem *problem, double rho);
/* chi: of one local gradient step. */
FPLT_API double fplt_theory_step_contraction(const fplt_theory_problem *problem, double rho,
                                             double step);
/* Of a whole local training, towards its minimiser: chi^Ne, or chi(Ne) when accelerated (corrected:
 * the square root of the printed one; it can exceed 1 for few epochs). */
FPLT_API double fplt_theory_local_contraction(const fplt_theory_problem *problem,
                                              const fplt_theory_parameters *parameters,
                                              fplt_theory_version version);

/* The matrix S (S' when accelerated) of [Fed-PLT Prop. contractive]: one round of Fed-PLT with all
 * agents active takes (|x - x*|, |z - z*|) to at most S times it. Printed, that is true for plain
 * gradient steps with rho >= 1 only; corrected, always. Values are infinite where local training
 * overflows. */
typedef struct fplt_theory_matrix {
    double entry[2][2];
    double eigenvalue[2]; /* real, the greater first */
    double radius;        /* greatest modulus of an eigenvalue: stable means below 1 */
    double norm;          /* Euclidean; may exceed 1 though stable */
} fplt_theory_matrix;

/* The matrix for these numbers, which must pass fplt_theory_check. A function of its arguments
 * only; thread-safe. */
FPLT_API fplt_theory_matrix fplt_theory_matrix_make(const fplt_theory_problem *problem,
                                                    const fplt_theory_parameters *parameters,
                                                    fplt_theory_version version);

/* The weight w of the norm sqrt(|x|^2 + w^2 |z|^2) in which Fed-PLT contracts by exactly the radius
 * of the corrected S. As chi^Ne goes to 0 the weight would grow without limit, so a chi^Ne below
 * 1e-12 counts as 1e-12: S only grows by that, the guarantee stands. */
FPLT_API double fplt_theory_weight(const fplt_theory_problem *problem,
                                   const fplt_theory_parameters *parameters);
/* Norm of the matrix when z is weighted by w. */
FPLT_API double fplt_theory_weighted_norm(const fplt_theory_matrix *matrix, double weight);

/* ---- Guaranteed error ---- */

typedef enum fplt_theory_norm {
    FPLT_BOUND_WEIGHTED, /* corrected S in the weighted norm: holds whenever S is stable */
    FPLT_BOUND_PLAIN,    /* corrected S in the plain norm: needs norm(S) < 1 */
    FPLT_BOUND_PRINTED   /* the paper's, for reproduction; not a guarantee */
} fplt_theory_norm;

/* E|error after k rounds| <= start_factor rate^k |first error| + noise_factor noise
 * (1 - rate^k)/(1 - rate), where |error|^2 = |x - x*|^2 + weight^2 |z - z*|^2 over all agents, with
 * z_i* = x* - rho (gradient of f_i at x*). So |x - x*| itself is at most the bound, and |z - z*| at
 * most the bound / weight. For other noise than that of noise_tau (minibatches, an inexact prox)
 * set `noise` to a bound of E|error that one round adds|, in the same norm. */
typedef struct fplt_theory_bound {
    int holds; /* contraction below 1, step in range, and the noise is covered by a proof */
    double contraction; /* of a round with all agents */
    double weight;      /* 1 in the plain norm */
    double rate;        /* sigma = sqrt(1 - p + p contraction^2), p the least participation */
    double start_factor, noise_factor;
    double noise; /* nu; infinite when accelerated with noise_tau > 0: no proof covers that */
} fplt_theory_bound;

/* The bound in one of the norms. FPLT_BAD_VALUE as fplt_theory_check; a bound that does not hold
 * is no failure: see `holds`. The struct holds no memory. Thread-safe. */
FPLT_API fplt_status fplt_theory_bound_make(const fplt_theory_problem *problem,
                                            const fplt_theory_parameters *parameters,
                                            fplt_theory_norm norm, fplt_theory_bound *bound,
                                            fplt_error *error);
/* The bound after `round` rounds, `first_error` in the bound's norm; infinity when it does not
 * hold. */
FPLT_API double fplt_theory_bound_at(const fplt_theory_bound *bound, double first_error,
                                     uint64_t round);
/* Its limit for ever more rounds. */
FPLT_API double fplt_theory_bound_radius(const fplt_theory_bound *bound);

/* Least number of epochs with which the bound holds, all else as given; 0: none. */
FPLT_API uint32_t fplt_theory_least_epochs(const fplt_theory_problem *problem,
                                           const fplt_theory_parameters *parameters,
                                           fplt_theory_norm norm);

/* ---- Verdict ---- */

typedef struct fplt_theory_finding {
    const char *name;    /* short, for tables: "stable" */
    const char *meaning; /* one line: what is asked */
    int printed;         /* nonzero: a statement of the paper that is wrong in general */
    int holds;
    double value, limit; /* holds when value is below limit; "corollary" asks more beside */
    char advice[384];    /* what to change; empty when it holds */
} fplt_theory_finding;

#define FPLT_THEORY_FINDINGS 12

typedef struct fplt_theory_verdict {
    fplt_theory_matrix printed, corrected;
    fplt_theory_bound weighted, plain, paper;
    size_t count;
    fplt_theory_finding finding[FPLT_THEORY_FINDINGS];
    int guaranteed; /* convergence is proved: to the minimiser without noise, near it with */
} fplt_theory_verdict;

/* Answers all questions about the parameters, each with advice where it does not hold.
 * FPLT_BAD_VALUE as fplt_theory_check; a negative answer is no failure. The struct holds no
 * memory. Thread-safe. */
FPLT_API fplt_status fplt_theory_judge(const fplt_theory_problem *problem,
                                       const fplt_theory_parameters *parameters,
                                       fplt_theory_verdict *verdict, fplt_error *error);

/* ---- The realistic rate ---- */

/* S adds up triangle inequalities and is far too careful to compare parameters with. This is the
 * sharp rate of the quadratic family: f_i quadratic with any Hessians between strong_convexity and
 * smoothness (they need not commute), any convex h, all agents active, no noise. For every r above
 * `rate` the error is at most a constant times r^round; two agents with the same Hessian attain it
 * (proof in src/theory/quadratic.c). It is a model, not a guarantee, for costs that are not
 * quadratic, where it describes the last phase, near the minimiser; and it ignores participation
 * and noise. A rate of 1 or more: some quadratic of the family does not converge. */
typedef struct fplt_theory_rate {
    double rate;
    double curvature; /* at which it is attained */
    int consensus;    /* nonzero: in the mean over agents; 0: in their disagreement */
} fplt_theory_rate;

/* The greatest rate over all curvatures from strong_convexity to smoothness; takes up to
 * milliseconds. Infinite where local training overflows. Thread-safe. */
FPLT_API fplt_theory_rate fplt_theory_quadratic_rate(const fplt_theory_problem *problem,
                                                     const fplt_theory_parameters *parameters);
/* Of identical quadratics of one curvature. */
FPLT_API fplt_theory_rate fplt_theory_quadratic_rate_at(const fplt_theory_problem *problem,
                                                        const fplt_theory_parameters *parameters,
                                                        double curvature);

/* ---- Choice ---- */

typedef struct fplt_theory_prices {
    double gradient;      /* cost of a local step (the paper's tG) */
    double communication; /* cost of a round beside that (tC) */
    uint32_t epochs;      /* 0: choose; else keep this */
    uint32_t epochs_most; /* when chosen: at most this; 0: 100 */
    int accelerated;
} fplt_theory_prices;

typedef struct fplt_theory_tuned {
    double strong_convexity; /* that was reckoned with: at least smoothness/10000 if given <= 0 */
    double rho, step;        /* step: 1/(smoothness + 1/rho) when accelerated */
    uint32_t epochs;
    double rate;           /* of fplt_theory_quadratic_rate */
    double cost_per_digit; /* (epochs gradient + communication) ln 10 / -ln rate */
    char reasoning[768];
} fplt_theory_tuned;

/* Least cost per decimal digit in the quadratic family, in milliseconds of search. Steps beyond the
 * best step are not tried: they gain a few per cent there and can cycle on other costs.
 * FPLT_UNREACHABLE when nothing tried has a rate below 1. */
FPLT_API fplt_status fplt_theory_tune(const fplt_theory_problem *problem,
                                      const fplt_theory_prices *prices, fplt_theory_tuned *tuned,
                                      fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
