/* A training job described by settings: from flags or a file to data, costs, h, participation and
 * the settings of a run, ready for an engine.
 *
 *     fplt_job_declare(settings, FPLT_JOB_ALL, "fed-plt", ...);   the tables
 *     fplt_settings_set / fplt_config_apply                       the values
 *     fplt_job_create(settings, 0, &job, ...);
 *     const fplt_job_view *view = fplt_job_get_view(job);
 *     fplt_engine_create(view->objective, &view->run, &engine, ...);
 *
 * The steps are there one by one as well, for whoever needs only some of them. */
#ifndef FEDPLT_JOB_H
#define FEDPLT_JOB_H

#include "fedplt/data.h"
#include "fedplt/engine.h"
#include "fedplt/objective.h"
#include "fedplt/settings.h"
#include "fedplt/auto.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* The steps. Each reads the settings of one part; a failure names the setting or file. */

/* The data set as it is read from `data`, or generated where that is not given (run: number of the
 * Monte Carlo run), and divided among agents. `paths` NULL: those of the setting `data`; `read` NULL:
 * the settings of fplt_job_read. */
FPLT_API fplt_status fplt_job_dataset(const fplt_settings *settings, uint32_t run,
                                      const char *const *paths, size_t count,
                                      const fplt_read_settings *read, fplt_dataset **dataset,
                                      fplt_error *error);
/* How to read files, as the settings have it (borrowed from them). */
FPLT_API fplt_read_settings fplt_job_read(const fplt_settings *settings);
/* What missing values become, as the settings have it; the rest of the struct stays as it is. */
FPLT_API void fplt_job_filling(const fplt_settings *settings, fplt_transform_settings *transform);

/* The schema that the settings name, or that follows from `bounds`; NULL: none. Not kept. */
FPLT_API fplt_status fplt_job_schema(const fplt_settings *settings, fplt_schema **schema,
                                     fplt_error *error);

/* Loss `auto` is decided by the task; strings are borrowed from the settings. */
FPLT_API fplt_objective_settings fplt_job_cost(const fplt_settings *settings, fplt_task task);
/* Makes h from the settings of the part FPLT_JOB_COMPOSITE; it acts on all but the last
 * `intercepts` of `dimension` coordinates. Released with fplt_prox_destroy, NULL on failure.
 * FPLT_BAD_VALUE where a number does not fit the kind of h. */
FPLT_API fplt_status fplt_job_composite(const fplt_settings *settings, size_t dimension,
                                        size_t intercepts, fplt_prox **prox, fplt_error *error);
/* Makes the rule of participation for so many agents from the settings of the part
 * FPLT_JOB_PARTICIPATION; where `active` is not given, half of the agents, rounded up. Reads the
 * file of `trace`. Released with fplt_participation_destroy, NULL on failure. FPLT_BAD_VALUE where
 * the settings do not fit the number of agents or a trace is not named, FPLT_IO or FPLT_BAD_DATA
 * for its file. */
FPLT_API fplt_status fplt_job_participation(const fplt_settings *settings, uint32_t agents,
                                            fplt_participation **participation, fplt_error *error);
/* Writes how agents train by the settings of the part FPLT_JOB_TRAINING. A step of 0 is automatic.
 * Nothing is allocated: the solver is a constant table. FPLT_BAD_VALUE, with the reason, where the
 * settings do not fit together. */
FPLT_API fplt_status fplt_job_training(const fplt_settings *settings, fplt_training *training,
                                       fplt_error *error);
/* Training of each agent: `common` with what the CSV file says about some of them. Columns `agent`
 * (number from 0, or name) and any of solver, gamma, epochs, batch, tau; an empty field is no
 * change. `dataset` NULL: agents have numbers only. */
FPLT_API fplt_status fplt_job_uncoordinated(const char *path, const fplt_training *common,
                                            const fplt_dataset *dataset, uint32_t agents,
                                            fplt_training *each, fplt_error *error);

typedef struct fplt_job fplt_job;

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
    const fplt_auto *automatic; /* what was auto, and the reasons; NULL: nothing was chosen by the
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
} fplt_job_source;

/* Everything; the settings must have all parts and outlive the job. With `start: model` the point is
 * not known yet: see fplt_job_start. */
FPLT_API fplt_status fplt_job_create(const fplt_settings *settings, uint32_t run, fplt_job **job,
                                     fplt_error *error);
/* The same with what the source has; NULL: nothing. */
FPLT_API fplt_status fplt_job_create_from(const fplt_settings *settings, uint32_t run,
                                          const fplt_job_source *source, fplt_job **job,
                                          fplt_error *error);
/* Releases the job with its data, costs and every pointer of its view; NULL is legal. Destroy
 * engines that were made from it first. What a source lent stays the caller's. */
FPLT_API void fplt_job_destroy(fplt_job *job);
/* What the job consists of; belongs to the job. */
FPLT_API const fplt_job_view *fplt_job_get_view(const fplt_job *job);

/* Starts at this point (copied). FPLT_BAD_VALUE, saying `origin`, for another dimension. */
FPLT_API fplt_status fplt_job_start(fplt_job *job, const double *x, size_t dimension,
                                    const char *origin, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
