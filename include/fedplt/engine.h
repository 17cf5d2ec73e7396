/* The engine: runs an algorithm round by round over all agents of an objective, on the threads of one machine, or of
 * several processes.
 *
 * Threads and blocking: one thread at a time may use an engine; different engines may run in different threads. An engine
 * starts `threads` - 1 worker threads and ends them in fplt_engine_destroy. They have the CPU affinity and signal mask of
 * the thread that creates it; the library never changes an affinity. */
#ifndef FEDPLT_ENGINE_H
#define FEDPLT_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/objective.h"
#include "fedplt/prox.h"
#include "fedplt/round.h"
#include "fedplt/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_participation fplt_participation; /* active agents: fedplt/participation.h */
typedef struct fplt_noise_source fplt_noise_source;   /* fedplt/solver.h, noise.h */
typedef struct fplt_ranks fplt_ranks;                 /* several processes: fedplt/ranks.h */

typedef enum fplt_start {
    FPLT_START_ZERO,
    FPLT_START_GIVEN,  /* `given`, for the model and for z */
    FPLT_START_RANDOM, /* N(0, start_scale^2 I): each agent its own, or the model where agents
                          keep none */
    FPLT_START_PRIOR   /* x_i ~ N(0, 2 tau^2/lmin I), z_i = 0: the paper's Prop. 4 */
} fplt_start;

typedef struct fplt_run_settings {
    const fplt_algorithm *algorithm;
    const double *parameter; /* the algorithm's, NaN: auto; NULL: all at their defaults (copied) */
    fplt_training training;
    const fplt_training *each; /* one an agent (copied), epochs 0: those of `training`; or NULL */
    const fplt_prox *prox;     /* borrowed; NULL: h = 0 */
    const fplt_participation *participation; /* borrowed; NULL: all */
    const fplt_curvature *curvatures; /* one an agent (copied); NULL: estimated from the data */
    fplt_curvature curvature;         /* of all, where not {0, 0}: public bounds */
    fplt_start start;
    const double *given; /* copied */
    double start_scale;
    uint64_t seed;
    uint32_t run;
    unsigned threads; /* 0: one a core */
    uint64_t rounds;  /* at most */
    double tolerance; /* on the criterion; 0: none */
    int relative;     /* tolerance times the criterion at the start, or at zero if greater */
    double change;    /* stop when ||model - model before|| <= change max(1, ||model||); 0: never */
    uint32_t evaluate_every; /* rounds between evaluations of the criterion; 0: only at the end */
    int blind; /* with privacy: nothing is measured, for a loss without noise may not leave an
                  agent; measures are NaN, tolerance and change must be 0 */
    double gradient_time, communication_time; /* t_G, t_C */
    const fplt_noise_source *noise;           /* one a thread (borrowed), or NULL: simulated */
    int at_model; /* measure at the coordinator's model, not at the mean of the agents' models */
    int scaled;   /* the columns have one scale already: no advice asks for it */
    fplt_ranks *ranks; /* borrowed: the processes that train together; NULL: this one */
    double unit;       /* of fplt_plan */
} fplt_run_settings;

/* Fed-PLT, gradient, all active, from zero, 1000 rounds, tolerance 1e-5, t_G = 1, t_C = 10. */
FPLT_API fplt_run_settings fplt_run_defaults(void);

typedef struct fplt_measure {
    double criterion; /* ||x - prox_{th}(x - t sum grad f_i(x))||^2/t^2, t = 1/(N lmax); for h = 0
                         that is ||sum grad f_i(x)||^2 */
    double objective; /* sum f_i(x) + h(x) */
    uint64_t hits, records; /* hits: correctly classified */
    int classifies;         /* whether hits mean something */
} fplt_measure;

/* Totals over all agents since the start. */
typedef struct fplt_counters {
    uint64_t rounds, updates; /* updates: active agents, added up */
    uint64_t exchanges;       /* an agent's round trips */
    double gradients;         /* evaluations of a whole local gradient */
    double paper_gradients;   /* as the paper charges them */
    uint64_t vectors_up, vectors_down, scalars_up;
    uint64_t bytes_up, bytes_down; /* 8 a number */
    double time, paper_time;       /* t_G gradients + t_C exchanges */
} fplt_counters;

typedef enum fplt_outcome {
    FPLT_RUNNING,
    FPLT_CONVERGED,
    FPLT_STALLED, /* the model changes less than asked for */
    FPLT_ROUNDS_DONE,
    FPLT_STOPPED,     /* by the observer */
    FPLT_RUN_DIVERGED /* diverged */
} fplt_outcome;

/* The outcome as a word: running, converged, stalled, rounds-done, stopped, diverged; else "unknown". Constant text. */
FPLT_API const char *fplt_outcome_name(fplt_outcome outcome);

typedef struct fplt_progress {
    uint64_t round; /* rounds done */
    uint32_t active;
    int measured;         /* whether `measure` was taken after this round */
    fplt_measure measure; /* the latest */
    fplt_counters counters;
} fplt_progress;

/* After every round, and before the first; non-zero stops the run. */
typedef int (*fplt_observer)(void *context, const fplt_progress *progress);

typedef struct fplt_result {
    fplt_outcome outcome;
    fplt_measure start, end;
    fplt_counters counters;
    char sentence[512]; /* what happened, and what to change where it diverged */
    double target;      /* the criterion that was asked for; 0: none */
} fplt_result;

typedef struct fplt_engine fplt_engine;

/* Makes an engine with everything that a run needs: rounds allocate nothing. The objective, and what the settings call
 * borrowed, must outlive it. FPLT_BAD_VALUE or FPLT_UNSUPPORTED where the settings do not fit together, FPLT_NO_MEMORY. */
FPLT_API fplt_status fplt_engine_create(const fplt_objective *objective,
                                        const fplt_run_settings *settings, fplt_engine **engine,
                                        fplt_error *error);
/* Joins the engine's threads and releases its memory. The leader's call ends fplt_engine_serve in the other
 * processes. */
FPLT_API void fplt_engine_destroy(fplt_engine *engine);

/* In a process that does not lead, where no other call is legal: blocks and answers the leader until it destroys its
 * engine. */
FPLT_API void fplt_engine_serve(fplt_engine *engine);

/* Runs rounds until a stopping rule of the settings holds, from wherever the engine is. The observer (may be NULL) is called
 * in this thread. `result` (may be NULL) holds the state that was reached, also on failure; divergence is an outcome, not an error.
 * Fails as fplt_engine_round. Blocks until the run ends. */
FPLT_API fplt_status fplt_engine_run(fplt_engine *engine, fplt_observer observer, void *context,
                                     fplt_result *result, fplt_error *error);
/* Runs one round. FPLT_DIVERGED where a number left its range, FPLT_FAILED where a cost or solver failed. A round that fails
 * leaves some agents with their new state and others without: round, run and save then fail alike until a checkpoint is
 * loaded. Blocks for the round. */
FPLT_API fplt_status fplt_engine_round(fplt_engine *engine, fplt_error *error);
/* Measures at the mean of the agents' models; at the coordinator's model where agents keep none or with `at_model`. Not
 * counted as sent. */
FPLT_API fplt_status fplt_engine_measure(fplt_engine *engine, fplt_measure *measure,
                                         fplt_error *error);

/* Writes the coordinator's model, `dimension` numbers; fails only where fplt_prox_apply does. fplt_engine_mean: the mean of
 * the agents' own models, the coordinator's where they keep none; FPLT_DIVERGED out of range. */
FPLT_API fplt_status fplt_engine_model(const fplt_engine *engine, double *x);
FPLT_API fplt_status fplt_engine_mean(fplt_engine *engine, double *x);
/* Totals since the start. Belongs to the engine and changes with every round. */
FPLT_API const fplt_counters *fplt_engine_counters(const fplt_engine *engine);

/* Writes a checkpoint; the file appears whole or not at all. fplt_engine_load returns to one and continues to the same last
 * bit as an uninterrupted run. FPLT_IO where the file cannot be read or written; FPLT_BAD_DATA where it is no checkpoint
 * of this problem and these settings, with the engine unchanged. Both block on the file. */
FPLT_API fplt_status fplt_engine_save(fplt_engine *engine, const char *path, fplt_error *error);
FPLT_API fplt_status fplt_engine_load(fplt_engine *engine, const char *path, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
