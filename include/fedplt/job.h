/* A training job described by settings: from flags or a file to data, costs, h, participation and
 * the settings of a run, ready for an engine.
 *
 *     fplt_job_declare(settings, FPLT_JOB_ALL, "fed-plt", ...);   the tables
 *     fplt_settings_set / fplt_config_apply                       the values
 *     fplt_job_create_from(settings, 0, NULL, &job, ...);
 *     const fplt_job_view *view = fplt_job_get_view(job);
 *     fplt_engine_create(view->objective, &view->run, &engine, ...);
 *
 * Threads and blocking: fplt_job_create_from blocks while it reads files and starts threads that end with it. A job does not
 * change until a promise or an engine is made of it: until then any number of threads may read its view. */
#ifndef FEDPLT_JOB_H
#define FEDPLT_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/data.h"
#include "fedplt/engine.h"
#include "fedplt/objective.h"
#include "fedplt/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_schema fplt_schema;       /* fedplt/schema.h */
typedef struct fplt_transform fplt_transform; /* fedplt/transform.h */

/* Groups of settings. */
enum fplt_job_part {
    FPLT_JOB_READ = 1,     /* files and how to read them */
    FPLT_JOB_DIVIDE = 2,   /* among agents */
    FPLT_JOB_PREPARE = 4,  /* held-out rows, transforms */
    FPLT_JOB_GENERATE = 8, /* synthetic data */
    FPLT_JOB_DATA = 15,
    FPLT_JOB_COST = 16,      /* loss, regulariser, kernel */
    FPLT_JOB_COMPOSITE = 32, /* h */
    FPLT_JOB_ALGORITHM = 64, /* its name and its own parameters */
    FPLT_JOB_TRAINING = 128, /* solver, gamma, epochs ... */
    FPLT_JOB_PARTICIPATION = 256,
    FPLT_JOB_RUN = 512, /* rounds, tolerance, threads, start ... */
    FPLT_JOB_ALL = 1023
};

/* Adds the tables of the parts. The parameters of an algorithm are keys like any other, so its name
 * must be known first (NULL: fed-plt); an unknown one is answered with those there are. Parts that
 * draw at random bring `seed`. */
FPLT_API fplt_status fplt_job_declare(fplt_settings *settings, unsigned parts,
                                      const char *algorithm, fplt_error *error);

/* Writes how agents train by the settings of the part FPLT_JOB_TRAINING. A step of 0 is automatic.
 * Nothing is allocated: the solver is a constant table. FPLT_BAD_VALUE, with the reason, where the
 * settings do not fit together. */
FPLT_API fplt_status fplt_job_training(const fplt_settings *settings, fplt_training *training,
                                       fplt_error *error);

typedef struct fplt_job fplt_job;

/* How costs curve: bounds that hold at every point, and the least curvature at the starting point,
 * which stands in where the bounds show no strong convexity. */
typedef struct fplt_curvature_bounds {
    fplt_curvature everywhere;
    double near_lowest; /* NaN: not known */
} fplt_curvature_bounds;

/* What `auto` became, with the reason for each choice in a sentence. */
typedef struct fplt_auto {
    fplt_curvature_bounds bend;            /* of all agents */
    double parameter[FPLT_MAX_PARAMETERS]; /* the algorithm's: rho chosen, others as given */
    uint32_t epochs;
    double step; /* for the curvature of all agents; NaN: not known yet, or the solver takes none */
    int chose_rho, chose_step, chose_epochs; /* which were auto */
    double rate; /* factor of the error a round on quadratics that curve so; NaN: not known */
    char about_rho[384], about_step[384], about_epochs[384]; /* sentences; empty: not chosen */
    char about_algorithm[384];                               /* why this one, where it was auto */
    char advice[384];           /* what would help more than any parameter; empty: nothing */
    fplt_curvature *curvatures; /* owned: one an agent, so that the engine need not look again */
} fplt_auto;

/* What a private plan chose in place of a person. */
enum fplt_planned {
    FPLT_PLANNED_RHO = 1,
    FPLT_PLANNED_STEP = 2,
    FPLT_PLANNED_EPOCHS = 4,
    FPLT_PLANNED_ROUNDS = 8
};

/* What a job consists of, all owned by the job. */
typedef struct fplt_job_view {
    const fplt_settings *settings; /* borrowed by the job */
    const fplt_dataset *training;  /* transformed; NULL: the costs are the caller's own */
    const fplt_dataset *held_out;  /* transformed; NULL: nothing is held out */
    const fplt_transform *transform;
    fplt_objective_settings cost; /* loss NULL: the costs are the caller's own */
    const fplt_objective *objective;
    const fplt_prox *prox;
    const fplt_participation *participation;
    fplt_run_settings run;
    const fplt_auto
        *automatic;    /* automatic choices and their reasons; NULL: nothing was chosen by the
                                   data */
    int releases_mean; /* the model is the mean of the agents' own, not the coordinator's */
    int in_memory;     /* the data set was not read or generated, but given */
    unsigned planned;  /* enum fplt_planned */
} fplt_job_view;

/* What a job takes from the caller instead of from the settings. Begin with a zeroed struct: it may
 * grow at its end. */
typedef struct fplt_job_source {
    fplt_dataset *dataset; /* taken over, also on failure; NULL: read or generated. It is divided,
                              held out and transformed as the settings say */
    const fplt_objective *objective; /* borrowed: the caller's own costs; a data set, and settings
                                        about data and costs, are then refused */
    const fplt_solver *solver;       /* borrowed: instead of the setting */
    void *solver_context;            /* for that solver: see fplt_training */
    const double *start; /* borrowed: one number a coordinate; NULL: as the settings say */
    /* Of a run that makes a promise (fplt_promise_prepare fills them): what is auto stays so, because
     * nothing may be chosen by looking at the data, and rows are shortened to `radius`. */
    int public_only;
    double radius;
    int by_schema;  /* columns are scaled by their declared bounds */
    int weigh_rows; /* every row counts alike, not every agent */
    int intercept;  /* one more coordinate an output, whatever the setting */
    double weight;  /* of the regulariser, above 0; 0: the setting's */
    double clip;    /* above 0; 0: the setting's */
    /* The data set is part of what the settings name, read and divided already: settings about that are
     * not refused, and nothing is divided or held out again. */
    int part;
    const fplt_schema *schema; /* borrowed: by which the data set was read, instead of the setting;
                                  fplt_promise_prepare looks at it */
    fplt_ranks
        *ranks; /* borrowed: the processes that train together, each of which makes the job and
                          then has the rows of its own agents; NULL: this one alone */
    int whole;  /* all agents are here although engine is mpi: other processes make other runs */
    /* The rows are not needed once the costs are made: they are given back while they are packed, and
     * view.training keeps counts and names. */
    int rows_once;
    size_t
        start_count; /* numbers in `start`, compared with the coordinates; 0: as many, unchecked */
    const fplt_algorithm
        *algorithm; /* of a run that makes a promise, instead of the setting; NULL: the setting */
    double stretch; /* with by_schema: as fplt_transform_settings has it */
    /* Costs are the agents' own, as with `objective`, but none of them is here: fplt_promise_prepare asks for what a promise
     * needs of such costs. */
    int own_costs;
} fplt_job_source;

/* Makes the job that the settings describe, with what the source (NULL: nothing) brings. Settings and what the source lends
 * are borrowed until fplt_job_destroy; the source's data set is taken over, also on failure. `run` is the number of the
 * Monte Carlo run: it keys generated data and every random stream. FPLT_BAD_VALUE, FPLT_BAD_DATA, FPLT_IO, FPLT_UNSUPPORTED,
 * FPLT_NO_MEMORY; the message names the setting or file. */
FPLT_API fplt_status fplt_job_create_from(const fplt_settings *settings, uint32_t run,
                                          const fplt_job_source *source, fplt_job **job,
                                          fplt_error *error);
/* Releases the job with its data, costs and every pointer of its view; NULL is legal. Destroy
 * engines that were made from it first. What a source lent stays the caller's. */
FPLT_API void fplt_job_destroy(fplt_job *job);
/* What the job consists of; belongs to the job. */
FPLT_API const fplt_job_view *fplt_job_get_view(const fplt_job *job);

#ifdef __cplusplus
}
#endif
#endif
