/* A federated algorithm, pure: functions over explicit state, without threads, sockets, files or a
 * random source of its own. The engine runs every algorithm with the same loop:
 *
 *     plan                          public parameters of the round
 *     for each exchange:
 *         broadcast                 coordinator -> a few vectors
 *         local                     each active agent: train, stage, send a few vectors
 *         absorb                    coordinator <- the exact SUM of the vectors sent
 *     finish                        each active agent, with a last broadcast (optional)
 *     the staged state takes effect
 *
 * To add one: one file, one line in the registry, one test (docs/adding-an-algorithm.md). This header is for authors of
 * algorithms; a caller that only runs one needs fedplt/round.h.
 *
 * Threads and blocking: the table's functions for agents are called for different agents in several threads at once, those
 * for the coordinator in one; they must not block. The library's own functions here are thread-safe and do not block. */
#ifndef FEDPLT_ALGORITHM_H
#define FEDPLT_ALGORITHM_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/prox.h"
#include "fedplt/round.h"
#include "fedplt/settings_table.h"
#include "fedplt/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many vectors (of the model's dimension) there are of everything. */
typedef struct fplt_shape {
    unsigned kept;     /* an agent's, between rounds */
    unsigned mirrored; /* the first so many of them are followed by a running sum over all agents */
    unsigned held;     /* an agent's, inside a round: from one exchange to the next or to finish */
    unsigned work;     /* an agent's, inside one call */
    unsigned vectors;  /* the coordinator's */
    unsigned numbers;  /* the coordinator's, single */
    unsigned scratch;  /* the coordinator's, inside one call: working memory that is never stored */
    unsigned scalars;  /* of a round, broadcast with it */
    unsigned exchanges;
    struct {
        unsigned down, up,
            up_scalars; /* a mirrored vector travels up by itself, not counted here */
    } exchange[2];
    unsigned finish_down; /* vectors broadcast after the last sum; 0: there is no finish */
    int local_model;      /* which kept vector is the agent's own model; -1: none */
} fplt_shape;

/* The coordinator as an algorithm sees it. */
typedef struct fplt_coordinator {
    size_t dimension;
    uint32_t agents;
    const double *parameter; /* in the order of the algorithm's settings */
    const fplt_prox *prox;   /* h */
    double *vector;          /* shape.vectors x dimension */
    double *number;          /* shape.numbers */
    double *scratch;         /* shape.scratch x dimension */
    const double *total;     /* shape.mirrored x dimension: the running sums */
} fplt_coordinator;

/* An agent as an algorithm sees it. */
typedef struct fplt_agent {
    uint32_t member_index; /* number in the roster */
    size_t dimension;
    const double *parameter;
    const double *kept; /* shape.kept x dimension, as last accepted */
    double *staged;     /* the same after this round, written whole in the agent's last step */
    double *held;       /* shape.held x dimension */
    double *work;       /* shape.work x dimension */
    fplt_local *local;  /* its solver and cost */
    struct fplt__listed *listed; /* of the library's own algorithms; NULL: `up` is written whole */
} fplt_agent;

/* What an algorithm can be combined with: the columns of the paper's Table I, and the reason for
 * each no. */
enum fplt_allowance {
    FPLT_ALLOWS_MINIMISER = 1,   /* accelerated, L-BFGS, Newton */
    FPLT_ALLOWS_ACCELERATED = 2, /* accelerated only, experimental */
    FPLT_ALLOWS_PARTIAL = 4,
    FPLT_ALLOWS_COMPOSITE = 8, /* h != 0 */
    FPLT_ALLOWS_PRIVACY = 16,  /* a privacy claim for noisy training */
    FPLT_NEEDS_CERTAINTY = 32, /* takes no solver that draws random numbers */
    FPLT_ALLOWS_ANY_START =
        64, /* right from whatever agents keep: one may begin anew among the others */
    FPLT_TRAINS_NOTHING = 128, /* agents only evaluate: no solver, no epochs, no gamma */
    FPLT_NEEDS_MIXING = 256,   /* cohorts must overlap from round to round */
    FPLT_SENDS_MEASURES =
        512, /* all that agents send is gradient and value of their cost at the broadcast, as they are */
    FPLT_SENDS_HESSIANS =
        1024, /* agents send second derivatives of their cost, whole or in parts */
    FPLT_SEARCHES_STEP =
        2048 /* the coordinator searches every step: no bound on the curvature is needed */
};

struct fplt_algorithm {
    size_t size; /* sizeof(fplt_algorithm) */
    const char *name, *title, *reference;
    fplt_shape shape;
    unsigned allows;
    /* the reason where it is not allowed; no_random: with FPLT_NEEDS_CERTAINTY */
    const char *no_minimiser, *no_random, *no_partial, *no_privacy;
    struct {
        unsigned agent, coordinator; /* vectors it counts: agent N + coordinator */
        const char *epochs, *problems;
        int discount; /* gradients a round that are made but that it does not charge */
    } paper;          /* its Table I */
    int splits; /* Peaceman-Rachford splitting with penalty rho: theory's model of a round is about it */
    const fplt_setting *settings;
    /* All agents must take the same plain local step: its automatic value then comes from the
     * curvature of all, not from the agent's own. */
    int common_step;
    const char *step_rule; /* what gamma: auto is with plain gradient steps, for people */

    /* Optional: the shape where it depends on the parameters or the dimension (a symmetric matrix is
     * (n + 1)/2 vectors); starts as a copy of `shape`. */
    void (*reshape)(const double *parameter, size_t dimension, fplt_shape *shape);
    /* Fills the parameters that are NaN (auto). */
    void (*choose)(const fplt_facts *facts, double *parameter);
    /* Optional: a sentence where the resolved parameters cannot work together. */
    fplt_status (*check)(const fplt_facts *facts, const double *parameter, fplt_error *error);
    /* The size gamma of plain local gradient steps where none is given. */
    double (*step)(const fplt_facts *facts, const double *parameter);
    /* The proximal weight 1/rho of the local subproblem: what privacy and theory reckon with. */
    double (*inverse_rho)(const fplt_facts *facts, const double *parameter);

    /* Initial state from the agent's starting point and, for methods with a second one (Fed-PLT's z),
     * a second; writes `staged`. Optional when nothing is kept or all starts at zero. */
    void (*begin)(fplt_agent *agent, const double *start, const double *second);
    void (*begin_coordinator)(fplt_coordinator *coordinator, const double *start);
    /* Optional: the scalars of a round. */
    void (*plan)(const fplt_coordinator *coordinator, fplt_round *round);
    /* Optional: the local epochs of a round where they are drawn; all sides draw them alike. */
    uint32_t (*length)(const double *parameter, fplt_stream *shared);
    /* Optional: whether a round with so many members is void when one of them is missing. */
    int (*whole)(const double *parameter, uint32_t active);
    /* `down` has room for the vectors of the exchange, or of the finish when exchange equals
     * shape.exchanges. */
    fplt_status (*broadcast)(const fplt_coordinator *coordinator, const fplt_round *round,
                             unsigned exchange, double *down);
    fplt_status (*local)(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *down, double *up, fplt_error *error);
    /* `sum` holds up vectors then up_scalars; not called for an empty cohort. Optional when
     * everything is mirrored. */
    void (*absorb)(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum);
    /* Only with shape.finish_down; the last step of such an agent's round, so nothing mirrored. */
    void (*finish)(fplt_agent *agent, const fplt_round *round, const double *down);
    fplt_status (*model)(const fplt_coordinator *coordinator, double *x);
    /* Optional: zero while the model stays where it is although the run has not ended, as in a line
     * search; a model that does not move is then no reason to stop. */
    int (*settled)(const fplt_coordinator *coordinator);
    /* Optional, where `local` is one run of the solver: what it does before, and after. An engine may then
     * train several agents side by side. `prepare` poses the subproblem and returns the start,
     * which the solver improves in place. */
    double *(*prepare)(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                       const double *down);
    void (*conclude)(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                     const double *down, double *up);
    /* Optional, without FPLT_ALLOWS_PARTIAL: the form of this method in which absent agents count by what they sent
     * last. It has the same settings. */
    const fplt_algorithm *partial_form;
};

/* How many vectors the algorithm needs of each kind: its `shape`, or what its `reshape` makes of
 * it. `parameter` holds resolved parameters in the order of the algorithm's settings, `dimension`
 * is that of the model, 1 or more. Thread-safe. */
FPLT_API fplt_shape fplt_algorithm_shape(const fplt_algorithm *algorithm, const double *parameter,
                                         size_t dimension);
/* ---- The local step: what the algorithm says of its penalty, and the solver of its own step ---- */

/* Whether with this solver all agents must take the same step. */
FPLT_API int fplt_algorithm_shares_step(const fplt_algorithm *algorithm, const fplt_solver *solver);

/* Refuses, with the reason, what the algorithm does not allow. */
FPLT_API fplt_status fplt_algorithm_allow(const fplt_algorithm *algorithm,
                                          const fplt_solver *solver, int partial, int composite,
                                          int privacy, fplt_error *error);

/* For `local` and `begin`: rounds each of `count` numbers in place to a multiple of 2^-64, the grid of the exact sum.
 * A mirrored vector is rounded so before it is staged: the running sum then equals the agents' vectors to the
 * bit. Thread-safe. */
FPLT_API void fplt_grid_round(double *x, size_t count);
/**
 * For `local`: trains the agent, that is, lowers d(w) = f_i(w) + <linear, w> + (inverse_rho/2) ||w - centre||^2 from w
 * by the run's solver, for the round's epochs.
 *
 * @param agent        as `local` received it
 * @param round        as `local` received it
 * @param linear       `dimension` numbers, or NULL: no linear term
 * @param centre       `dimension` numbers, or NULL: the origin
 * @param inverse_rho  1/rho, 0 or more; 0: no proximal term
 * @param w            in: the start; out: what training reached
 * @retval FPLT_OK
 * @retval FPLT_DIVERGED  w is not finite; w is then without meaning
 * @retval FPLT_FAILED    a cost or the solver reported failure
 *
 * Different agents may train in different threads. Allocates nothing.
 */
FPLT_API fplt_status fplt_agent_minimise(fplt_agent *agent, const fplt_round *round,
                                         const double *linear, const double *centre,
                                         double inverse_rho, double *w, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
