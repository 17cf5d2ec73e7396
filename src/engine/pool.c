/* A thread pool with one job at a time. A round may last a quarter of a millisecond, so a thread
 * watches an atomic for a moment before it sleeps; only where there is a core for every thread. */
#include "engine/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/machine.h"

enum { WATCH = 4000 };

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
    atomic_ulong job;    /* number of the job at hand */
    atomic_uint running; /* helpers still at it */
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

static void wait_for_job(struct fplt__pool *pool, unsigned long done)
{
    for (int i = 0; i < pool->watch; i++) {
        if (atomic_load(&pool->job) != done)
            return;
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->job) == done)
        pthread_cond_wait(&pool->begin, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

static void *help(void *argument)
{
    struct helper *helper = argument;
    struct fplt__pool *pool = helper->pool;
    for (unsigned long done = 0;; done++) {
        wait_for_job(pool, done);
        if (atomic_load(&pool->quit))
            return NULL;
        pool->task(pool->context, helper->number);
        if (atomic_fetch_sub(&pool->running, 1) == 1) {
            pthread_mutex_lock(&pool->mutex);
            pthread_cond_signal(&pool->end);
            pthread_mutex_unlock(&pool->mutex);
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
    atomic_fetch_add(&pool->job, 1);
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
    atomic_store(&pool->running, pool->threads - 1);
    announce(pool);
    task(context, 0);
    for (int i = 0; i < pool->watch; i++) {
        if (!atomic_load(&pool->running))
            return;
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->running))
        pthread_cond_wait(&pool->end, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}
