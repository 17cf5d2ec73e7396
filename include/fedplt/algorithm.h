/* A federated algorithm, pure: functions over explicit state, without threads, sockets, files or a
 * random source of its own. The engine runs every algorithm with the same loop:
 *
 *     plan                          what everyone knows of the round
 *     for each exchange:
 *         broadcast                 coordinator -> a few vectors
 *         local                     each active agent: train, stage, send a few vectors
 *         absorb                    coordinator <- the exact SUM of what they sent
 *     finish                        each active agent, with a last broadcast (optional)
 *     the staged state takes effect
 *
 * To add one: one file, one line in the registry, one test (docs/adding-an-algorithm.md). */
#ifndef FEDPLT_ALGORITHM_H
#define FEDPLT_ALGORITHM_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/prox.h"
#include "fedplt/random.h"
#include "fedplt/settings.h"
#include "fedplt/solver.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FPLT_MAX_PARAMETERS = 16, FPLT_MAX_SCALARS = 64 };

/* How many vectors (of the model's dimension) there are of everything. */
typedef struct fplt_shape {
    unsigned kept;     /* an agent's, between rounds */
    unsigned mirrored; /* the first so many of them are followed by a running sum over all agents */
    unsigned held;     /* an agent's, inside a round: from one exchange to the next or to finish */
    unsigned work;     /* an agent's, inside one call */
    unsigned vectors;  /* the coordinator's */
    unsigned numbers;  /* the coordinator's, single */
    unsigned scalars;  /* of a round, broadcast with it */
    unsigned exchanges;
    struct {
        unsigned down, up,
            up_scalars; /* a mirrored vector travels up by itself, not counted here */
    } exchange[2];
    unsigned finish_down; /* vectors broadcast after the last sum; 0: there is no finish */
    int local_model;      /* which kept vector is the agent's own model; -1: none */
} fplt_shape;

/* What everyone knows of a round. */
typedef struct fplt_round {
    uint64_t number;    /* 0, 1, ... */
    uint32_t agents;    /* the roster, fixed for a run */
    uint32_t active;    /* the cohort of this round */
    uint32_t position;  /* of the agent at hand in the cohort */
    uint32_t epochs;    /* local epochs of the cohort; 0: each agent's own */
    fplt_stream shared; /* common randomness: copy it before drawing */
    double scalar[FPLT_MAX_SCALARS];
} fplt_round;

/* What parameters and steps may be derived from. With privacy on these are public bounds. */
typedef struct fplt_facts {
    fplt_curvature curvature; /* of all f_i: least `lowest`, greatest `highest`
                                 (fplt_curvature_join); or of the agent at hand */
    uint32_t agents, cohort;  /* roster; expected number of active agents, fplt_expected_cohort */
    uint32_t epochs; /* local, of a round: the most of all agents, or of the agent at hand */
    size_t dimension;
    int claim; /* a privacy claim is to be made */
} fplt_facts;

/* The coordinator as an algorithm sees it. */
typedef struct fplt_coordinator {
    size_t dimension;
    uint32_t agents;
    const double *parameter; /* in the order of the algorithm's settings */
    const fplt_prox *prox;   /* h */
    double *vector;          /* shape.vectors x dimension */
    double *number;          /* shape.numbers */
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
    FPLT_SENDS_HESSIANS = 1024 /* agents send second derivatives of their cost, whole or in parts */
};

typedef struct fplt_algorithm {
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
     * train several agents side by side. `prepare` poses the subproblem (fplt_agent_pose) and returns the
     * start, which the solver improves in place. */
    double *(*prepare)(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                       const double *down);
    void (*conclude)(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                     const double *down, double *up);
} fplt_algorithm;

/* Looks up an algorithm by its name, such as "fed-plt"; NULL where no algorithm has that name.
 * `name` is not NULL. The table is constant and lives as long as the process. Thread-safe. */
FPLT_API const fplt_algorithm *fplt_algorithm_find(const char *name);
/* Algorithm number `index`, from 0; NULL past the last. Constant tables that live as long as the
 * process. Thread-safe. */
FPLT_API const fplt_algorithm *fplt_algorithm_list(size_t index);

/* How many vectors the algorithm needs of each kind: its `shape`, or what its `reshape` makes of
 * it. `parameter` holds resolved parameters in the order of the algorithm's settings, `dimension`
 * is that of the model, 1 or more. Thread-safe. */
FPLT_API fplt_shape fplt_algorithm_shape(const fplt_algorithm *algorithm, const double *parameter,
                                         size_t dimension);
/* Number of the algorithm's own parameters, at most FPLT_MAX_PARAMETERS. Thread-safe. */
FPLT_API size_t fplt_algorithm_parameters(const fplt_algorithm *algorithm);
/* Index of a parameter by name, or -1. */
FPLT_API int fplt_algorithm_parameter(const fplt_algorithm *algorithm, const char *name);
/* All parameters at their defaults: NaN where that is auto. */
FPLT_API void fplt_algorithm_defaults(const fplt_algorithm *algorithm, double *parameter);
/* Reads them from settings; what they have no row for is at its default, and a choice reads as its
 * index. */
FPLT_API void fplt_algorithm_read(const fplt_algorithm *algorithm, const fplt_settings *settings,
                                  double *parameter);
/* Fills what is auto, refuses what its row does not allow, and checks the whole. */
FPLT_API fplt_status fplt_algorithm_resolve(const fplt_algorithm *algorithm,
                                            const fplt_facts *facts, double *parameter,
                                            fplt_error *error);
/* ---- The local step: what the algorithm says of its penalty, and the solver of its own step ---- */

/* The proximal weight 1/rho of the local cost; 0 where it has none. */
FPLT_API double fplt_algorithm_pull(const fplt_algorithm *algorithm, const fplt_facts *facts,
                                    const double *parameter);
/* gamma for the curvature in `facts`, which is that of all agents or of the agent at hand, at
 * resolved parameters. NaN where the solver takes no step size. */
FPLT_API fplt_step fplt_algorithm_step(const fplt_algorithm *algorithm, const fplt_solver *solver,
                                       const fplt_facts *facts, const double *parameter);
/* Whether with this solver all agents must take the same step. */
FPLT_API int fplt_algorithm_shares_step(const fplt_algorithm *algorithm, const fplt_solver *solver);
/* The formula of gamma: auto, for people; NULL where the solver takes no step size. */
FPLT_API const char *fplt_algorithm_step_rule(const fplt_algorithm *algorithm,
                                              const fplt_solver *solver);

/* Refuses, with the reason, what the algorithm does not allow. */
FPLT_API fplt_status fplt_algorithm_allow(const fplt_algorithm *algorithm,
                                          const fplt_solver *solver, int partial, int composite,
                                          int privacy, fplt_error *error);

/* For `prepare`: says what the agent's solver is to lower, for the round's epochs. */
FPLT_API void fplt_agent_pose(fplt_agent *agent, const fplt_round *round, const double *linear,
                              const double *centre, double inverse_rho);
/* For `local`: the same, and lowers d(w) from w. */
FPLT_API fplt_status fplt_agent_minimise(fplt_agent *agent, const fplt_round *round,
                                         const double *linear, const double *centre,
                                         double inverse_rho, double *w, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
