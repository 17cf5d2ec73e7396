/* The audit's inside: for tests that plant a mistake and want it found, and for its own parts. */
#ifndef FPLT_LAB_AUDIT_AUDIT_H
#define FPLT_LAB_AUDIT_AUDIT_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/pool.h"
#include "fedplt/audit.h"
#include "fedplt/noise.h"
#include "lab/audit/observer.h"
#include "lab/audit/residues.h"
#include "lab/audit/tally.h"

/* What a test puts in place of the real thing; each may be NULL or 0. */
struct fplt__audit_hook {
    /* The noise source of a worker, told before each of its runs. */
    fplt_noise_source (*source)(void *context, unsigned worker);
    void (*begin)(void *context, unsigned worker, uint64_t run);
    void *context;
    const fplt_solver *solver; /* trains instead of the real one */
    const fplt_dataset *data;  /* is trained on */
    /* The cost that is trained on instead of one that was made from `data`; borrowed. */
    const fplt_objective *(*cost)(void *context, const fplt_dataset *data,
                                  const fplt_objective *made);
    uint64_t claimed_records; /* the claim divides by so many times the agent's records */
    uint64_t claimed_honest;  /* the claim counts the noise of so many agents */
};

fplt_status fplt__audit_run(const fplt_job *job, const fplt_promise *plan,
                            const fplt_audit_settings *settings,
                            const struct fplt__audit_hook *hook, fplt_audit_result *result,
                            fplt_error *error);

/* Fisher's discriminant between two classes of points in `dimension` coordinates: the points of
 * class `number & 1`; only those with (number >> 1) even are looked at. FPLT_FAILED when the
 * covariance is singular. */
fplt_status fplt__discriminant(const float *points, size_t count, size_t dimension,
                               double *direction, fplt_error *error);

/* ---- between its parts ---- */

/* Data that are trained on: as they are, with the canary, and (never trained on) with every row as
 * long as is legal. */
enum { FPLT__AS_IS, FPLT__NEIGHBOUR, FPLT__LONGEST, FPLT__DATA };

/* Checks before those of the tally, and their places. */
enum { FPLT__MESSAGES, FPLT__LATTICE, FPLT__REUSE, FPLT__GRADIENTS, FPLT__ROWS, FPLT__NOISE };

/* What one agent claims. */
struct fplt__claimed {
    double tau, spacing;
    double charge;    /* how far one record moves the gradient at most */
    double deviation; /* of the noise that a round leaves in a message, about */
};

/* A draw that was seen: equal marks are equal noise, as good as surely. */
struct fplt__mark {
    uint64_t mark, place;
};

/* Messages and draws that are not what they must be. */
struct fplt__oddities {
    uint64_t messages, odd, draws, off;
    uint64_t run_odd, run_off; /* of the first of them */
    char where_odd[96], where_off[96];
};

/* A worker's vectors. */
struct fplt__audit_room {
    double *y;              /* broadcast */
    double *centre;         /* of the agent at hand */
    double *first, *second; /* where the agent would go on either data set */
    double *gradient, *scratch;
    double *left, *shift, *others; /* for the attacks */
};

struct fplt__audit_worker {
    fplt_prox *prox;   /* owned */
    fplt_noise *noise; /* owned */
    fplt_stream stream;
    struct fplt__observer *observer; /* owned */
    fplt__tally *tally;              /* owned */
    fplt__residues residues;         /* owned */
    double *vectors;                 /* owned: of the room */
    struct fplt__audit_room room;
    double *before; /* owned: z and x of all agents before the round; y where they keep nothing */
    double *after;  /* owned: z and x of an agent that keeps nothing; behind them: */
    double *sum;    /* of all messages of the round */
    uint64_t *updates;      /* owned: of all agents before the round */
    float *draws;           /* owned: noise of the run */
    unsigned char *present; /* owned */
    struct fplt__oddities oddities;
};

struct fplt__audit {
    const fplt_job_view *job;
    const fplt_promise_view *plan;
    const fplt_audit_settings *settings;
    const struct fplt__audit_hook *hook;
    fplt_audit_result *result;
    fplt_promise_view view; /* the plan's, as claimed */
    uint64_t *records;      /* owned: of the view, where they are not the plan's */
    const fplt_dataset *data;
    fplt_dataset *made[FPLT__DATA];    /* owned */
    fplt_objective *owned[FPLT__DATA]; /* owned */
    const fplt_objective *cost[FPLT__DATA];
    struct fplt__claimed *claimed; /* owned: agents */
    fplt_training *training;       /* owned: agents */
    uint32_t agents, victim;
    int keeps;   /* agents keep z and x (fed-plt); otherwise they send one iterate from y */
    int divides; /* the claim counts the noise of several agents */
    size_t n, rounds, epochs;
    uint64_t total;                     /* runs on both */
    double level;                       /* of each check and attack */
    float *left;                        /* owned: total x (rounds n), or NULL */
    float *final;                       /* owned: total x n */
    double *score[2];                   /* owned: total; of the projection and of the difference */
    struct fplt__mark *marks;           /* owned: of the first runs */
    uint64_t marked;                    /* runs */
    struct fplt__audit_worker *workers; /* owned */
    fplt__pool *pool;                   /* owned */
    atomic_uint_fast64_t next;
    atomic_int failed;
    pthread_mutex_t mutex;
    fplt_error failure;
};

/* canary.c: the victim and its record, and the data sets made from the given one. */
fplt_status fplt__audit_choose(struct fplt__audit *audit, fplt_error *error);
fplt_status fplt__audit_make_neighbour(struct fplt__audit *audit, fplt_error *error);
fplt_status fplt__audit_make_longest(struct fplt__audit *audit, fplt_error *error);

/* records.c: how far a record moves the gradient; fills the checks of gradients and rows, and proposes
 * the worst record as the canary. */
fplt_status fplt__audit_records(struct fplt__audit *audit, fplt_error *error);
double fplt__row_norm(const fplt_rows *rows, size_t row);

/* The mean of a local step from w, in place of it; the room has the centre. */
fplt_status fplt__audit_step(const struct fplt__audit *audit, const fplt_objective *cost,
                             uint32_t agent, const struct fplt__audit_room *room, double *w);

/* replay.c: one agent's round against what was observed; fills its draws and marks. */
fplt_status fplt__audit_replay(struct fplt__audit *audit, struct fplt__audit_worker *worker,
                               uint64_t run, size_t round, uint32_t agent, uint32_t place,
                               const double *after);
/* Of agents that keep nothing: what training number `place` of the round gave, as z = 2x - y and x. */
const double *fplt__audit_message(const struct fplt__audit *audit,
                                  struct fplt__audit_worker *worker, uint32_t place);
/* The coordinator's model must be the mean of those. */
void fplt__audit_check_sum(const struct fplt__audit *audit, struct fplt__audit_worker *worker,
                           const fplt_engine *engine, uint64_t run, size_t round, uint32_t active);
void fplt__audit_judge_replay(struct fplt__audit *audit);

/* attack.c */
fplt_status fplt__audit_attack(struct fplt__audit *audit, fplt_error *error);

#endif
