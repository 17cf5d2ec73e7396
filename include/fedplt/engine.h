/* The engine: runs an algorithm round by round over all agents of an objective, on the threads of
 * one machine, or of several processes. It never asks which algorithm it runs. */
#ifndef FEDPLT_ENGINE_H
#define FEDPLT_ENGINE_H

#include "fedplt/algorithm.h"
#include "fedplt/participation.h"
#include "fedplt/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fplt_start {
    FPLT_START_ZERO,
    FPLT_START_GIVEN, /* `given`, for the model and for z */
    FPLT_START_RANDOM, /* N(0, start_scale^2 I): each agent its own, or the model where they keep none */
    FPLT_START_PRIOR /* x_i ~ N(0, 2 tau^2/lmin I) as the paper's Prop. 4 has it; z_i = 0 */
} fplt_start;

typedef struct fplt_run_settings {
    const fplt_algorithm *algorithm;
    const double *parameter; /* the algorithm's, NaN: auto; NULL: all at their defaults (copied) */
    fplt_training training;
    const fplt_training *
        each; /* one an agent instead of `training`, of which only epochs are then looked at, for those that
                  have 0; or NULL (copied) */
    const fplt_prox *prox;                   /* borrowed; NULL: h = 0 */
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
    int relative;  /* tolerance times the criterion at the start, or at zero where that is more */
    double change; /* stop when ||model - model before|| <= change max(1, ||model||); 0: never */
    uint32_t evaluate_every; /* rounds between evaluations of the criterion; 0: only at the end */
    int blind; /* with privacy: nothing is ever measured, for a loss without noise may not leave an
                  agent; measures read as NaN, tolerance and change must be 0 */
    double gradient_time, communication_time; /* t_G, t_C */
    const fplt_noise_source *noise;           /* one a thread (borrowed), or NULL: simulated */
    int at_model; /* the criterion is taken at the model that is handed out, not at the mean of the
                     agents' models */
    int scaled;   /* the columns have one scale already: no advice asks for it */
    fplt_ranks *ranks; /* borrowed: the processes that train together; NULL: this one alone */
} fplt_run_settings;

/* Fed-PLT, gradient, all active, from zero, 1000 rounds, tolerance 1e-5, t_G = 1, t_C = 10. */
FPLT_API fplt_run_settings fplt_run_defaults(void);

typedef struct fplt_measure {
    double criterion; /* ||x - prox_{th}(x - t sum grad f_i(x))||^2/t^2, t = 1/(N lmax); for h = 0
                         that is ||sum grad f_i(x)||^2 */
    double objective; /* sum f_i(x) + h(x) */
    uint64_t hits, records; /* rightly classified; hits is 0 in regression */
    int classifies;
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

/* The outcome as a word: running, converged, stalled, rounds-done, stopped, diverged; "unknown"
 * for another number. Constant text. */
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

/* The objective is borrowed. Everything a run needs is allocated here. */
FPLT_API fplt_status fplt_engine_create(const fplt_objective *objective,
                                        const fplt_run_settings *settings, fplt_engine **engine,
                                        fplt_error *error);
/* Ends the engine's threads and releases its memory; NULL is legal. With several processes the
 * leader's call ends fplt_engine_serve in the others. Blocks until the threads have ended. */
FPLT_API void fplt_engine_destroy(fplt_engine *engine);

/* In a process that does not lead: answers the leader until that destroys its engine. Nothing else may
 * be asked of such an engine. */
FPLT_API void fplt_engine_serve(fplt_engine *engine);

/**
 * Runs rounds until a stopping rule of the settings holds, from wherever the engine is.
 *
 * @param engine    its state changes; not NULL
 * @param observer  called before the first round and after every round, in the caller's thread; nonzero stops the run;
 *                  NULL: nobody
 * @param context   passed to the observer
 * @param result    out: outcome, measures, counters and a sentence. Divergence is an outcome, not an error. NULL: not wanted
 * @param error     out: the reason in a sentence; may be NULL
 * @retval FPLT_OK  the run ended; result->outcome says how
 * @retval other    a cost, solver or process failed, as fplt_engine_round() says; `result` holds what was reached
 *
 * Blocks until the run ends. One thread at a time may use an engine; different engines may run in different threads. The
 * worker threads of the engine have the CPU affinity of the thread that created it, and no affinity is ever changed.
 */
FPLT_API fplt_status fplt_engine_run(fplt_engine *engine, fplt_observer observer, void *context,
                                     fplt_result *result, fplt_error *error);
/* One round; FPLT_DIVERGED when a number left the range. A round that fails leaves some agents with
 * their new state and others without: round, run and save then fail alike until a checkpoint is
 * loaded. */
FPLT_API fplt_status fplt_engine_round(fplt_engine *engine, fplt_error *error);
/* At the mean of the agents' models; at the model where agents keep none or the settings say at_model.
 * A diagnostic: not counted as sent. */
FPLT_API fplt_status fplt_engine_measure(fplt_engine *engine, fplt_measure *measure,
                                         fplt_error *error);
/* The same at any point. */
FPLT_API fplt_status fplt_engine_measure_at(fplt_engine *engine, const double *x,
                                            fplt_measure *measure, fplt_error *error);

/* Writes the coordinator's model, `dimension` numbers. Fails only where the algorithm's proximal
 * operator does (fplt_prox_apply). */
FPLT_API fplt_status fplt_engine_model(const fplt_engine *engine, double *x);
/* Writes the mean of the agents' own models, `dimension` numbers; the coordinator's model where
 * agents keep none. FPLT_DIVERGED where a model left the range of the exact sum. */
FPLT_API fplt_status fplt_engine_mean(fplt_engine *engine, double *x);
/* An agent's vectors; NULL where they are in another process. */
FPLT_API const double *fplt_engine_kept(const fplt_engine *engine, uint32_t agent);
/* The vectors of all agents, one after the other, wherever they are: calls visit(context, agent, kept)
 * until it fails. */
FPLT_API fplt_status fplt_engine_visit(fplt_engine *engine,
                                       fplt_status (*visit)(void *context, uint32_t agent,
                                                            const double *kept),
                                       void *context, fplt_error *error);
/* Totals since the start. Belongs to the engine and changes with every round. */
FPLT_API const fplt_counters *fplt_engine_counters(const fplt_engine *engine);
/* The shape of the algorithm for the parameters of this run. */
FPLT_API fplt_shape fplt_engine_shape(const fplt_engine *engine);
/* The parameters as resolved (fplt_engine_parameters, belongs to the engine), the curvature of all
 * agents with cohort and epochs (fplt_engine_facts), an agent's step, NaN where its solver takes
 * none (fplt_engine_step), and its updates so far (fplt_engine_updates). Agents count from 0; the
 * number is not checked. */
FPLT_API const double *fplt_engine_parameters(const fplt_engine *engine);
FPLT_API fplt_facts fplt_engine_facts(const fplt_engine *engine);
FPLT_API double fplt_engine_step(const fplt_engine *engine, uint32_t agent);
FPLT_API uint64_t fplt_engine_updates(const fplt_engine *engine, uint32_t agent);
/* Whether the running sums equal the sum of the agents' own vectors, to the bit. */
FPLT_API int fplt_engine_consistent(fplt_engine *engine);

/* fplt_engine_save writes a checkpoint to a temporary name and renames it: the file appears whole
 * or not at all. fplt_engine_load returns to one and continues to the same last bit as an
 * uninterrupted run; it refuses, with a sentence and the engine unchanged, a file of another
 * problem or other settings. FPLT_IO where the file cannot be read or written, FPLT_BAD_DATA where
 * it is no checkpoint of this run. Both block on the file. */
FPLT_API fplt_status fplt_engine_save(fplt_engine *engine, const char *path, fplt_error *error);
FPLT_API fplt_status fplt_engine_load(fplt_engine *engine, const char *path, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
