/* Local training. Every algorithm asks an agent for one thing only, to lower
 *
 *     d(w) = f_i(w) + <linear, w> + (inverse_rho / 2) ||w - centre||^2
 *
 * from a given start, for some epochs. A solver is written once, against d, and every algorithm gets it. This header is
 * for authors of solvers; who only trains needs fedplt/training.h.
 *
 * Threads and blocking: a solver's functions are called for different agents in several threads at once, each with an
 * fplt_local of its own; they must not block and keep no state but that of the fplt_local. */
#ifndef FEDPLT_SOLVER_H
#define FEDPLT_SOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/objective.h"
#include "fedplt/status.h"
#include "fedplt/training.h"

#ifdef __cplusplus
extern "C" {
#endif

/* d(w); `linear` NULL is the zero vector, and so is `centre`. */
typedef struct fplt_subproblem {
    const fplt_objective *objective; /* f_i is its cost number `agent` */
    uint32_t agent;
    const double *linear, *centre;
    double inverse_rho;
} fplt_subproblem;

/* Where noisy solvers draw: out = mean + N(0, 2 step tau^2 I), in the manner of the source. */
typedef struct fplt_noise_source {
    size_t size; /* sizeof(fplt_noise_source) */
    fplt_status (*add)(void *context, double step, double tau, const double *mean, double *out,
                       size_t count);
    void *context;
    /* Optional: whether a public vector (the centre of the subproblem, its linear term, the start)
     * is small enough for the noise to hide rounding errors. Asked before anything is computed from
     * the records, so that a refusal reveals nothing about them. `what` names the vector. */
    fplt_status (*admit)(void *context, double step, double tau, const char *what,
                         const double *vector, size_t count, fplt_error *error);
} fplt_noise_source;

/* One run of a solver: its input, its workspace and its cost. */
typedef struct fplt_local {
    fplt_subproblem problem;
    fplt_training training;
    double step;              /* resolved: positive; NaN where the solver takes none */
    fplt_curvature curvature; /* of f_i */
    uint64_t seed, round;     /* with `run` and `member_index`: the key of its random streams */
    uint32_t run, member_index;
    const fplt_noise_source *noise; /* NULL: simulated, from keyed streams */
    double *scratch; /* aligned to 64 bytes; a solver uses its part: fplt_local_work() */
    double *state;   /* what the solver keeps of the agent between rounds; zero at first, NULL where
                         it keeps nothing */
    double gradients; /* grows by the gradient evaluations made; a minibatch counts its share */
} fplt_local;

/* A local step size gamma. */
typedef struct fplt_step {
    double automatic; /* where none is given */
    double limit;     /* below it local training comes nearer to the minimiser of d */
} fplt_step;

/* What a solver is to an algorithm. */
enum fplt_solver_traits {
    FPLT_PLAIN_STEPS = 1, /* steps w - step * gradient and nothing else */
    FPLT_MINIMISER = 2,   /* any means to lower d: acceleration, curvature */
    FPLT_STOCHASTIC = 4, /* answers from minibatches: from a part of the rows that a seed chooses */
    FPLT_NOISY = 8,
    FPLT_ACCELERATED = 16
};

struct fplt_solver {
    size_t size; /* sizeof(fplt_solver) */
    const char *name, *help;
    unsigned traits;
    /* Doubles of working memory, and of memory that stays with each agent; NULL: none. What stays
     * may only save work, like a factor made once: it is neither staged nor part of a checkpoint, so
     * that no result may depend on it. */
    size_t (*work)(const fplt_objective *objective, const fplt_training *training);
    size_t (*state)(const fplt_objective *objective, const fplt_training *training);
    /* Improves w in place. FPLT_DIVERGED when w is not finite. */
    fplt_status (*run)(fplt_local *local, double *w, fplt_error *error);
    /* The solver's own step on d, where f_i curves as `cost` says. NULL: plain gradient steps take
     * the algorithm's rule, and any other solver has no step size. */
    fplt_step (*step)(const fplt_curvature *cost, double inverse_rho);
    const char *step_rule; /* the formula of its own step, for people */
    /* Optional: `count` runs with the same objective, epochs and scratch, as by `run` one after the other, bit
     * for bit, and quicker. `done`: how many of the first went well. */
    fplt_status (*several)(fplt_local *const *local, double *const *w, size_t count, size_t *done,
                           fplt_error *error);
};

/* Gradient of d at w (fplt_local_gradient), with its value (fplt_local_value_gradient): building
 * blocks for a user's own solvers. Each call counts as one gradient in local->gradients and uses
 * the objective's part of the scratch. FPLT_FAILED where a callback failed. */
FPLT_API fplt_status fplt_local_gradient(fplt_local *local, const double *w, double *gradient);
FPLT_API fplt_status fplt_local_value_gradient(fplt_local *local, const double *w, double *value,
                                               double *gradient);
/* The solver's part of the scratch. */
FPLT_API double *fplt_local_work(const fplt_local *local);

#ifdef __cplusplus
}
#endif
#endif
