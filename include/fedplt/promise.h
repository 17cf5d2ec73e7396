/* Private training: turns a job into one whose promise holds. Everything that is not the records
 * themselves comes from bounds that are given (the norm of a row, the weight of the ridge, the
 * numbers of agents and records), nothing stops on the data, nothing is measured, and the noise of
 * every local step is an exact discrete Gaussian from the system's random source.
 *
 *     fplt_trainer_declare(settings, ...);                tables, those of privacy among them
 *     fplt_promise_prepare(settings, &source, ...);       what contradicts a promise is refused
 *     fplt_job_create_from(settings, 0, &source, &job, ...);
 *     fplt_promise_create(settings, job, &plan, ...);     plans, and changes the job's run
 *     fplt_engine_create(view->objective, &view->run, ...);
 *
 * fplt_trainer_create does all of this, and fplt_trainer_certificate states the guarantee.
 * A run over a transport of your own is planned without a job:
 *
 *     fplt_promise_plan(settings, &roster, &plan, ...);    the participants and their numbers of records
 *     fplt_certificate_make(plan, rounds, model, ...);
 *
 * Threads and blocking: one thread at a time may use a plan, and the job that it changed. fplt_promise_create and
 * fplt_promise_plan compute for up to some seconds; nothing blocks but for the system's random source (fedplt/noise.h). */
#ifndef FEDPLT_PROMISE_H
#define FEDPLT_PROMISE_H

#include "fedplt/job.h"
#include "fedplt/noise.h"
#include "fedplt/privacy.h"
#include "fedplt/hub_node.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Before the job is made: refuses settings and sources that contradict a promise, with the reason,
 * and writes into the source what follows from it (solver, bound of the rows, nothing chosen by the
 * data). Nothing is done where no promise is asked for. FPLT_BAD_VALUE when other settings of the
 * section are given but neither epsilon nor tau. */
FPLT_API fplt_status fplt_promise_prepare(const fplt_settings *settings, fplt_job_source *source,
                                          fplt_error *error);

typedef struct fplt_promise fplt_promise;

/* Decisions of the plan, all of them public. */
typedef struct fplt_promise_view {
    const fplt_threat *threat;
    double epsilon, delta; /* asked for; epsilon is NaN where tau was given */
    fplt_privacy_loss loss;
    fplt_privacy_constants constants;
    double regulariser_weight;
    const char *regulariser;
    const fplt_algorithm *algorithm;
    const fplt_solver *solver;
    double rho;               /* NaN where the algorithm has none of that name */
    int weigh_rows;           /* f_i counts q_i over the mean of all q */
    int drawn_epochs;         /* their number is drawn anew in each round; `epochs` is the mean */
    uint32_t epochs;          /* local steps a round */
    fplt_curvature curvature; /* bounds for every f_i */
    fplt_privacy_mechanism mechanism; /* of the worst agent, all rounds charged */
    const double *tau;                /* one an agent: the noise that its own records ask for */
    fplt_privacy_claim claim;         /* the promise: of that mechanism */
    double promised;                  /* its epsilon at delta */
    uint32_t agents, worst;    /* the weakest claim; of equal ones that with the largest noise */
    double all_records;        /* of all agents */
    const double *parameter;   /* of the algorithm, resolved */
    const char *participation; /* the rule */
    int full;                  /* every agent in every round */
    uint32_t least_cohort;     /* agents in a round at least */
    uint64_t group;            /* records that are replaced at once: 1 */
    int by_person;             /* they are those of one person, and no others count as the same */
    const uint64_t *records;   /* one an agent */
    const char *const *names;  /* one an agent; NULL where they have none */
    int secure;                /* 0: seeded noise, not private */
    int diagnosed;             /* losses are measured and shown: not private */
    int planned_epochs, planned_rounds, planned_step, planned_rho; /* chosen by predicted error */
    char warning[256]; /* legal but unwise choices; empty: none */
    double predicted;  /* error of the model, squared, as the plan expects it; NaN: not planned */
    uint64_t rounds;   /* of the run; all that are charged, also computed again: mechanism.rounds */
    /* Of the threat model secagg-sum, 0 elsewhere; how many agents in a sum are honest for certain: mechanism.honest */
    uint32_t colluders; /* agents that may help the adversary */
    uint32_t threshold; /* agents in a sum at least; 0: all */
    uint32_t most;      /* agents in a round at most */
    double unit;        /* what agents send are multiples of it: fplt_plan */
    int drafted; /* the schema was drafted from the records, and no person has confirmed it */
} fplt_promise_view;

/* Plans the run and writes it into the job: step, rho, epochs, rounds, noise, no stopping and no
 * measuring. The job is borrowed until it has run; destroy engines first. FPLT_UNSUPPORTED or FPLT_UNREACHABLE,
 * with the reason, where nothing can be promised. */
FPLT_API fplt_status fplt_promise_create(const fplt_settings *settings, fplt_job *job,
                                         fplt_promise **plan, fplt_error *error);
/* Participants of a run and the shape of their rows: public numbers only, all borrowed. Begin with
 * a zeroed struct: it may grow at its end. */
typedef struct fplt_roster {
    uint32_t agents;
    const uint64_t *records; /* one an agent */
    const char *const
        *names; /* one an agent, each NULL where it has none; NULL: no agent has one */
    const fplt_schema *schema; /* by which all read their rows; NULL: that of the settings, or else
                                  the three below, and privacy.rows or radius bounds the norm */
    fplt_task task;
    size_t features;
    uint32_t classes; /* 0 in regression */
    /* rounds that an agent may compute once more: so many, and a share of all, then at least 1 */
    uint64_t spare;
    double spare_share;
    /* agents may miss rounds: at least so many are in each; 0: as participation says */
    uint32_t quorum;
} fplt_roster;

/* What fplt_promise_create decides, without data and without a job: the same settings, parts read and
 * divide left out, give the same plan. It has no source of noise. Settings, and names of the roster,
 * are borrowed. FPLT_BAD_VALUE where no promise is asked for, or the roster is none. */
FPLT_API fplt_status fplt_promise_plan(const fplt_settings *settings, const fplt_roster *roster,
                                       fplt_promise **plan, fplt_error *error);
/* Releases the plan, its view and its noise sources; NULL is legal. Destroy engines of the job
 * first. */
FPLT_API void fplt_promise_destroy(fplt_promise *plan);
/* Decisions of the plan; owned by the plan. */
FPLT_API const fplt_promise_view *fplt_promise_get_view(const fplt_promise *plan);

/**
 * The plan that hub and nodes of a private run agree on: fplt_plan_resolve() of what the promise decided.
 *
 * @param promise  borrowed for the call, not NULL
 * @param plan     in: `seed` and `run`, which are kept (begin with a zeroed struct); out: everything else. Owned by the caller.
 * @param error    out: the reason in a sentence; may be NULL
 * @retval FPLT_OK  the plan is complete
 * @retval other    as fplt_plan_resolve(); the plan is unchanged
 *
 */
FPLT_API fplt_status fplt_promise_resolve(const fplt_promise *promise, fplt_plan *plan,
                                          fplt_error *error);

/* The exact discrete Gaussian as the source of a solver or node that keeps a promise; `noise`, one a thread, is
 * borrowed. */
FPLT_API fplt_noise_source fplt_promise_noise(fplt_noise *noise);

#ifdef __cplusplus
}
#endif
#endif
