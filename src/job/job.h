/* What a job's siblings above share. */
#ifndef FPLT_JOB_JOB_H
#define FPLT_JOB_JOB_H

#include "fedplt/job.h"

/* The model that is handed out: the coordinator's, or the mean of the agents' own. */
fplt_status fplt__job_weights(const fplt_job_view *view, fplt_engine *engine, double *x,
                              fplt_error *error);

/* Whether the setting of this name has this word as its value. */
int fplt__job_setting_is(const fplt_settings *settings, const char *name, const char *word);

/* A run that was planned from public numbers, to take the place of what the settings and the data say. */
typedef struct fplt__job_plan {
    const double *
        parameter; /* of the algorithm; borrowed, as are `each` and `noise`, for the life of the job */
    double step, noise_tau;
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
/* By its name; an unknown one is answered with those there are. */
fplt_status fplt__job_algorithm(const char *name, const fplt_algorithm **algorithm,
                                fplt_error *error);
fplt_transform_settings fplt__job_transform(const fplt_settings *settings,
                                            const fplt_job_source *source);

/* What `algorithm: auto` goes by besides the settings. */
typedef struct fplt__method_context {
    size_t dimension;
    const fplt_participation *participation;
    const fplt_prox *prox;
    const char *regulariser; /* NULL: none */
    int varied;              /* agents train each in its own way */
    double numbers;          /* as fplt_occasion has it */
    int withheld;            /* not every site lets Hessians leave */
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

#endif
