/* What a job's siblings above share. */
#ifndef FPLT_JOB_JOB_H
#define FPLT_JOB_JOB_H

#include "fedplt/job.h"
#include "fedplt/read.h"
#include "fedplt/transform.h"

/* The model that is handed out: the coordinator's, or the mean of the agents' own. */
fplt_status fplt__job_weights(const fplt_job_view *view, fplt_engine *engine, double *x,
                              fplt_error *error);

/* Whether the setting of this name has this word as its value. */
int fplt__job_setting_is(const fplt_settings *settings, const char *name, const char *word);
/* NULL: none, or a command that has no such setting. */
const char *fplt__job_formula(const fplt_settings *settings);

/* A run that was planned from public numbers, to take the place of what the settings and the data say. */
typedef struct fplt__job_plan {
    const double *
        parameter; /* of the algorithm; borrowed, as are `each` and `noise`, for the life of the job */
    double step, noise_tau;
    double unit; /* of fplt_plan */
    uint32_t epochs;
    uint64_t rounds;
    const fplt_training *each;      /* one an agent; NULL: all train alike */
    const fplt_noise_source *noise; /* one a thread; NULL: noise from the seed */
    fplt_curvature curvature;       /* bounds for all agents */
    int measures;      /* losses may be measured, at the rounds that the settings say */
    int releases_mean; /* the model is the mean of the agents' own */
    unsigned planned;  /* FPLT_PLANNED_RHO and so on: what the plan chose */
} fplt__job_plan;

/* Gives a job its plan, before an engine is made from it: all rounds are run, nothing stops them, and the sentences about
 * automatic values are gone, since they tell of the data. */
void fplt__job_take_plan(fplt_job *job, const fplt__job_plan *plan);

/* The steps of a job where a source says something in place of the settings; NULL: it says nothing. */
fplt_objective_settings fplt__job_cost(const fplt_settings *settings, const fplt_job_source *source,
                                       fplt_task task);
/* Refuses `label: none` where there is something to learn. */
fplt_status fplt__job_labelled(const fplt_settings *settings, const char *loss, fplt_error *error);
fplt_status fplt__job_training(const fplt_settings *settings, const fplt_job_source *source,
                               fplt_training *training, fplt_error *error);
/* What a run takes from the settings as it stands there: seed, rounds, criteria, measuring, times. */
void fplt__job_run(const fplt_settings *settings, fplt_run_settings *run);
/* Refuses a parameter with the name of another setting, whose value it would silently share. FPLT_FAILED. */
fplt_status fplt__job_check_parameters(const fplt_algorithm *algorithm, fplt_error *error);
/* By its name; an unknown one is answered with those there are. */
fplt_status fplt__job_algorithm(const char *name, const fplt_algorithm **algorithm,
                                fplt_error *error);
/* The form of an algorithm for this participation: its partial form where not every agent is active and it has one. */
const fplt_algorithm *fplt__job_form(const fplt_algorithm *algorithm,
                                     const fplt_participation *participation);
/* Whether regulariser and h penalise coefficients in the units of the columns, not of the standardised ones. */
int fplt__job_penalises_columns(const fplt_settings *settings);
/* h of the settings for coefficients as the job has them; `view` has its cost and its transform. */
fplt_status fplt__job_prox(const fplt_job_view *view, const fplt_settings *settings, size_t n,
                           size_t intercepts, fplt_prox **prox, fplt_error *error);
fplt_transform_settings fplt__job_transform(const fplt_settings *settings,
                                            const fplt_job_source *source);

/* The algorithm of a source, with its defaults. */
fplt_status fplt__job_take_algorithm(const fplt_algorithm *algorithm, fplt_run_settings *run,
                                     double *parameter);

/* What `algorithm: auto` goes by besides the settings. */
typedef struct fplt__method_context {
    size_t dimension;
    uint32_t agents;
    const fplt_participation *participation;
    const fplt_prox *prox;
    const fplt_objective *objective; /* or an outline of it */
    int own_costs;                   /* a caller's: second derivatives are not known */
    int varied;                      /* agents train each in its own way */
    double numbers;                  /* as fplt__occasion has it */
    int withheld;                    /* not every site lets Hessians leave */
} fplt__method_context;

/* `algorithm: auto`, once the form of the problem is known: into `run` with its training, the method's
 * parameters, and the reason in a sentence. */
void fplt__job_method(const fplt_settings *settings, const fplt__method_context *scene,
                      fplt_run_settings *run, double *parameter, char *reason, size_t size);
/* What an agent has on average. */
typedef struct fplt__load {
    double records; /* 0: not known, as of a caller's own costs */
    double columns, outputs, dimension;
    int sparse;
} fplt__load;

fplt__load fplt__load_of(const fplt_objective *objective);
/* Rounds between measurements so that measuring is at most a fifth of the work, however few agents are active
 * in a round. */
double fplt__load_spacing(const fplt__load *load, const fplt_training *training, double agents,
                          double active);
/* The same where the settings leave it to the job; but after every round where agents only evaluate, for there
 * a round too many costs more, and on generated data with all active, whose tables count single rounds. */
uint32_t fplt__job_spacing(const fplt__load *load, const fplt_run_settings *run,
                           const fplt_participation *participation, int own_data);

/* Numbers whose squares overflow are legal in a file, where a transform may shorten them: so it is known only
 * behind it that they are too large. Looks for the first such row and names its file and line, counted as if
 * no field had a line break in it; where there is none, the error stays as it is. FPLT_BAD_DATA. */
fplt_status fplt__job_locate_bad_row(const fplt_settings *settings, const fplt_dataset *dataset,
                                     fplt_error *error);

/* The data set as it is read from `data`, or generated where that is not given (run: number of the
 * Monte Carlo run), and divided among agents. `paths` NULL: those of the setting `data`; `read` NULL:
 * the settings of fplt__job_read. */
fplt_status fplt__job_dataset(const fplt_settings *settings, uint32_t run, const char *const *paths,
                              size_t count, const fplt_read_settings *read, fplt_dataset **dataset,
                              fplt_error *error);

/* How to read files, as the settings have it (borrowed from them). */
fplt_read_settings fplt__job_read(const fplt_settings *settings);

/* What missing values become, as the settings have it; the rest of the struct stays as it is. */
void fplt__job_filling(const fplt_settings *settings, fplt_transform_settings *transform);

/* The schema that the settings name, or that follows from `bounds`; NULL: none. Not kept. */
fplt_status fplt__job_schema(const fplt_settings *settings, fplt_schema **schema,
                             fplt_error *error);

/* Loss `auto` is decided by the task; strings are borrowed from the settings. */
fplt_objective_settings fplt__job_cost_settings(const fplt_settings *settings, fplt_task task);

/* Makes h from the settings of the part FPLT_JOB_COMPOSITE; it acts on all but the last
 * `intercepts` of `dimension` coordinates. Released with fplt_prox_destroy, NULL on failure.
 * FPLT_BAD_VALUE where a number does not fit the kind of h. */
fplt_status fplt__job_composite(const fplt_settings *settings, size_t dimension, size_t intercepts,
                                fplt_prox **prox, fplt_error *error);

/* Makes the rule of participation for so many agents from the settings of the part
 * FPLT_JOB_PARTICIPATION; where `active` is not given, half of the agents, rounded up. Reads the
 * file of `trace`. Released with fplt_participation_destroy, NULL on failure. FPLT_BAD_VALUE where
 * the settings do not fit the number of agents or a trace is not named, FPLT_IO or FPLT_BAD_DATA
 * for its file. */
fplt_status fplt__job_participation(const fplt_settings *settings, uint32_t agents,
                                    fplt_participation **participation, fplt_error *error);

/* Training of each agent: `common` with what the CSV file says about some of them. Columns `agent`
 * (number from 0, or name) and any of solver, gamma, epochs, batch, tau; an empty field is no
 * change. `dataset` NULL: agents have numbers only. */
fplt_status fplt__job_uncoordinated(const char *path, const fplt_training *common,
                                    const fplt_dataset *dataset, uint32_t agents,
                                    fplt_training *each, fplt_error *error);

/* Everything; the settings must have all parts and outlive the job. With `start: model` the point is
 * not known yet: see fplt__job_start. */
fplt_status fplt__job_create(const fplt_settings *settings, uint32_t run, fplt_job **job,
                             fplt_error *error);

/* Starts at this point (copied). FPLT_BAD_VALUE, saying `origin`, for another dimension. */
fplt_status fplt__job_start(fplt_job *job, const double *x, size_t dimension, const char *origin,
                            fplt_error *error);

#endif
