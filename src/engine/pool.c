/* A thread pool with one job at a time. A round may last a quarter of a millisecond, so a thread
 * watches an atomic for a moment before it sleeps; only where there is a core for every thread. Helpers
 * join a job while it is open. The caller closes it when it has nothing left to do itself, and waits for
 * those who joined: one that another program keeps from its core delays nobody. */
#include "engine/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/machine.h"

enum { WATCH = 4000 };

/* The state: number of the job, whether it is closed, helpers at it. */
enum { JOB = 32, CLOSED = 1 << 16, HELPERS = CLOSED - 1 };

struct helper {
    struct fplt__pool *pool;
    pthread_t thread;
    unsigned number;
};

struct fplt__pool {
    unsigned threads, started;
    int watch;
    struct helper *helpers; /* owned; threads - 1 */
    pthread_mutex_t mutex;
    pthread_cond_t begin, end;
    atomic_ullong state;
    atomic_int quit;
    void (*task)(void *, unsigned);
    void *context;
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static uint32_t job_of(unsigned long long state)
{
    return (uint32_t)(state >> JOB);
}

static void wait_for_job(struct fplt__pool *pool, uint32_t done)
{
    for (int i = 0; i < pool->watch; i++) {
        if (job_of(atomic_load(&pool->state)) != done)
            return;
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    while (job_of(atomic_load(&pool->state)) == done)
        pthread_cond_wait(&pool->begin, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

/* Zero where the job was closed before; `done` is then its number all the same. */
static int join(struct fplt__pool *pool, uint32_t *done)
{
    unsigned long long seen = atomic_load(&pool->state);
    while (!(seen & CLOSED))
        if (atomic_compare_exchange_weak(&pool->state, &seen, seen + 1)) {
            *done = job_of(seen);
            return 1;
        }
    *done = job_of(seen);
    return 0;
}

static void leave(struct fplt__pool *pool)
{
    unsigned long long before = atomic_fetch_sub(&pool->state, 1);
    if ((before & HELPERS) == 1 && before & CLOSED) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_signal(&pool->end);
        pthread_mutex_unlock(&pool->mutex);
    }
}

static void *help(void *argument)
{
    struct helper *helper = argument;
    struct fplt__pool *pool = helper->pool;
    for (uint32_t done = 0;;) {
        wait_for_job(pool, done);
        if (atomic_load(&pool->quit))
            return NULL;
        if (join(pool, &done)) {
            pool->task(pool->context, helper->number);
            leave(pool);
        }
    }
}

fplt_status fplt__pool_create(unsigned threads, fplt__pool **out, fplt_error *error)
{
    *out = NULL;
    fplt__pool *pool;
    fplt_status status = fplt__alloc_into(&pool, 1, sizeof *pool, "threads", error);
    if (status)
        return status;
    pool->threads = threads;
    pool->watch = threads <= fplt__cores(0) ? WATCH : 0;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->begin, NULL);
    pthread_cond_init(&pool->end, NULL);
    status = fplt__alloc_into(&pool->helpers, threads - 1, sizeof *pool->helpers, "threads", error);
    for (unsigned i = 0; !status && i + 1 < threads; i++) {
        struct helper *helper = &pool->helpers[i];
        helper->pool = pool;
        helper->number = i + 1;
        if (pthread_create(&helper->thread, NULL, help, helper))
            status = fplt_error_set(error, FPLT_FAILED, "thread %u of %u could not be started",
                                    i + 1, threads);
        else
            pool->started++;
    }
    if (status) {
        fplt__pool_destroy(pool);
        return status;
    }
    *out = pool;
    return FPLT_OK;
}

static void announce(fplt__pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    uint32_t next = job_of(atomic_load(&pool->state)) + 1;
    atomic_store(&pool->state, (unsigned long long)next << JOB);
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->mutex);
}

void fplt__pool_destroy(fplt__pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->quit, 1);
    announce(pool);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->helpers[i].thread, NULL);
    pthread_mutex_destroy(&pool->mutex);
    pthread_cond_destroy(&pool->begin);
    pthread_cond_destroy(&pool->end);
    fplt__free(pool->helpers);
    fplt__free(pool);
}

unsigned fplt__pool_threads(const fplt__pool *pool)
{
    return pool->threads;
}

void fplt__pool_run(fplt__pool *pool, void (*task)(void *context, unsigned number), void *context)
{
    if (pool->threads == 1) {
        task(context, 0);
        return;
    }
    pool->task = task;
    pool->context = context;
    announce(pool);
    task(context, 0);
    atomic_fetch_or(&pool->state, CLOSED);
    for (int i = 0; i < pool->watch; i++) {
        if (!(atomic_load(&pool->state) & HELPERS))
            return;
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->state) & HELPERS)
        pthread_cond_wait(&pool->end, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}
