/* The inside of the fleet on threads: its jobs are in threads.c, its creation in threads_create.c. */
#ifndef FPLT_ENGINE_THREADS_H
#define FPLT_ENGINE_THREADS_H

#include <pthread.h>
#include <stdatomic.h>

#include "algorithm/algorithm.h"
#include "base/assert.h"
#include "base/parallel.h"
#include "base/sum.h"
#include "engine/fleet.h"
#include "engine/pool.h"
#include "fedplt/algorithm.h"

struct fplt__threads;

/* A worker shares what is large with those that have nothing to do: while it has the hands, its calls of
 * the objective do. */
struct fplt__worker {
    _Alignas(64) fplt__parallel hands; /* no line of the cache has two workers */
    struct fplt__threads *threads;
    unsigned number;
    double *staged, *work, *up, *scratch; /* owned */
    fplt__listed listed;                  /* its arrays are owned; no capacity: not lent */
    fplt__sum *sum; /* as the last job left it, unless the worker `sums` in this one */
    int sums;
    double gradients;
};

struct fplt__threads {
    fplt__fleet base;
    fplt_plan plan;
    fplt_shape shape;
    const fplt_objective *objective; /* borrowed */
    const fplt_noise_source *noise;  /* borrowed; one a worker, or NULL */
    uint32_t first, own;             /* the agents that are here */
    fplt_training training;
    fplt_training *each; /* owned; NULL: `training` for all. One an agent that is here, */
    const fplt_curvature *curvatures; /* borrowed; as here */
    double *step;                     /* owned; and here */
    fplt_start start;
    double start_scale, lowest;  /* lowest: the least curvature of all */
    double *given;               /* owned */
    double *kept, *held, *state; /* owned; agent after agent */
    size_t state_size, numbers;  /* numbers: length of a worker's sum */
    fplt__pool *pool;
    int shares;                   /* some records are divided into parts */
    uint32_t batched;             /* agents that a worker trains side by side */
    struct fplt__worker *workers; /* owned */
    /* the job at hand */
    void (*task)(void *, unsigned);
    const fplt_round *round;
    const uint32_t *active;
    uint32_t position, active_own; /* where those of `active` that are here begin, and how many */
    const double *point;           /* broadcast, or the point to evaluate */
    unsigned exchange, vector, count;
    int summing; /* it has a sum */
    /* what workers write while others read what is above is on a line of its own */
    _Alignas(64) atomic_uint next;
    _Alignas(64) atomic_int failed;
    pthread_mutex_t mutex;
    fplt_error failure;
    uint32_t failed_position;
};

/* The training of an agent that is here. */
static inline const fplt_training *fplt__threads_training(const struct fplt__threads *threads,
                                                          uint32_t agent)
{
    FPLT__ASSERT(agent - threads->first < threads->own);
    return threads->each ? &threads->each[agent - threads->first] : &threads->training;
}

/* What the engine asks of the fleet. */
extern const struct fplt__fleet_verbs fplt__threads_verbs;

/* `spread` of a worker's fplt__parallel: shares parts with the workers of the pool that have nothing to do. */
void fplt__threads_spread(fplt__parallel *hands, size_t count, fplt__part part, void *context,
                          double *scratch);

/* Frees the fleet, also one whose creation failed half way. */
void fplt__threads_destroy(fplt__fleet *fleet);

#endif
