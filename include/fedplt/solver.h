/* Local training. Every algorithm asks an agent for one thing only, to lower
 *
 *     d(w) = f_i(w) + <linear, w> + (inverse_rho / 2) ||w - centre||^2
 *
 * from a given start, for some epochs. A solver is written once, against d, and every algorithm gets
 * it. */
#ifndef FEDPLT_SOLVER_H
#define FEDPLT_SOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/objective.h"
#include "fedplt/random.h"
#include "fedplt/settings.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_solver fplt_solver;

/* How an agent trains. */
typedef struct fplt_training {
    const fplt_solver *solver;
    double step;      /* gamma; 0: the algorithm's own choice for the agent's curvature */
    uint32_t epochs;  /* N_e: gradient or Newton steps, or passes over the data (see by_pass) */
    uint32_t batch;   /* stochastic solvers: records a minibatch, cut to q_i */
    int replacement;  /* stochastic solvers: draw records with replacement */
    int by_pass;      /* stochastic solvers: an epoch is ceil(q_i / batch) steps instead of one */
    double noise_tau; /* noisy solvers: each step adds N(0, 2 step tau^2) to every coordinate */
    double tolerance; /* Newton, L-BFGS: stop at ||grad d|| <= tolerance max(1, ||w||) */
    uint32_t memory;  /* L-BFGS: pairs kept */
    void *context;    /* for a solver of one's own */
} fplt_training;

/* gradient, automatic step, 5 epochs, batch 32 without replacement, an epoch is a step. */
FPLT_API fplt_training fplt_training_defaults(void);

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
     * the records, so that a refusal tells nothing of them. `what` names the vector. */
    fplt_status (*admit)(void *context, double step, double tau, const char *what,
                         const double *vector, size_t count, fplt_error *error);
} fplt_noise_source;

/* One run of a solver: what it works on, with what, and what it used. */
typedef struct fplt_local {
    fplt_subproblem problem;
    fplt_training training;
    double step;              /* resolved: positive; NaN where the solver takes none */
    fplt_curvature curvature; /* of f_i */
    uint64_t seed, round;     /* with `run` and `member_index`: the key of its random streams */
    uint32_t run, member_index;
    const fplt_noise_source *noise; /* NULL: simulated, from keyed streams */
    double *scratch;                /* fplt_local_scratch doubles, aligned to 64 bytes */
    double *state;    /* fplt_solver_state doubles that stay with the agent between rounds; zero at
                         first, NULL where there are none */
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

/* Looks up a solver by its name, such as "gradient"; NULL where no solver has that name. `name` is
 * not NULL. The table is constant and lives as long as the process. Thread-safe. */
FPLT_API const fplt_solver *fplt_solver_find(const char *name);
/* Solver number `index`, from 0; NULL past the last. */
FPLT_API const fplt_solver *fplt_solver_list(size_t index);
/* Whether it takes a step size: plain gradient steps and those with a rule of their own do. */
FPLT_API int fplt_solver_has_step(const fplt_solver *solver);

/* Doubles of scratch for a run, the objective's included (fplt_local_scratch); doubles of state an
 * agent (fplt_solver_state), 0 where the solver keeps none. training->solver is not NULL. */
FPLT_API size_t fplt_local_scratch(const fplt_objective *objective, const fplt_training *training);
FPLT_API size_t fplt_solver_state(const fplt_objective *objective, const fplt_training *training);

/* Whether the training can be done on this objective, or a sentence. */
FPLT_API fplt_status fplt_training_check(const fplt_training *training,
                                         const fplt_objective *objective, fplt_error *error);

/* Lowers d(w) from w, in place, for the epochs of the training. The caller fills `local`, with
 * scratch and state of the sizes above; fplt_training_check must have passed. FPLT_DIVERGED when w
 * is not finite, FPLT_FAILED when a callback failed; w is then without meaning. Different `local`
 * may run in different threads. */
FPLT_API fplt_status fplt_local_run(fplt_local *local, double *w, fplt_error *error);

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
