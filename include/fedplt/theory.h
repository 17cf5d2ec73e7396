/* Convergence theory of Fed-PLT, computed from a few numbers before a run: the rate, which guarantee
 * holds, what to change when none does, and which rho, step and epochs to take.
 *
 *   fplt_theory_defaults    rho and a step from the curvatures alone
 *   fplt_theory_judge       which guarantees hold for given parameters, and advice where one fails
 *   fplt_theory_bound_at    the guaranteed error, round by round
 *   fplt_theory_quadratic_rate  the realistic rate
 *
 * Several formulas of the paper contain mistakes. "Corrected" is what this library promises;
 * "printed" is the paper's text, for reproducing it, and not a guarantee. Functions that return a
 * double check nothing: give them what fplt_theory_check accepts.
 *
 * Threads and blocking: thread-safe; nothing blocks or allocates. */
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

/* Every agent active, no noise, plain gradient steps, 5 epochs, rho = 1/sqrt(lmin lmax) and
 * the best step for it. */
FPLT_API fplt_theory_parameters fplt_theory_defaults(const fplt_theory_problem *problem);

/* FPLT_BAD_VALUE with a sentence when a number is outside its legal range. A step beyond the legal
 * range is accepted here: fplt_theory_judge reports it. `parameters` may be NULL. */
FPLT_API fplt_status fplt_theory_check(const fplt_theory_problem *problem,
                                       const fplt_theory_parameters *parameters, fplt_error *error);

/* ---- Contraction factors ---- */

/* The step that contracts most, 2/(strong_convexity + smoothness + 2/rho). */
FPLT_API double fplt_theory_best_step(const fplt_theory_problem *problem, double rho);

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

/* ---- Guaranteed error ---- */

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

/* The bound after `round` rounds, `first_error` in the bound's norm; infinity when it does not
 * hold. */
FPLT_API double fplt_theory_bound_at(const fplt_theory_bound *bound, double first_error,
                                     uint64_t round);

/* ---- Verdict ---- */

typedef struct fplt_theory_finding {
    const char *name;    /* short, for tables: "stable" */
    const char *meaning; /* one line: the question */
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

#ifdef __cplusplus
}
#endif
#endif
