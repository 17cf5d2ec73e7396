/* A parallel loop over tasks on the engine's thread pool. */
#include "lab/tuning/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "engine/pool.h"
#include "base/machine.h"

struct shift {
    const fplt__crew *crew;
    fplt__task task;
    void *context;
    size_t count, done, total;
    atomic_size_t next;
    atomic_int ended; /* failed or stopped */
    pthread_mutex_t mutex;
    size_t finished, failed_index;
    int failed, stopped;
    fplt_error failure;
};

unsigned fplt__crew_threads(const fplt__crew *crew, size_t count)
{
    unsigned threads = fplt__cores(crew->threads);
    return threads > count ? count ? (unsigned)count : 1 : threads;
}

unsigned fplt__crew_share(const fplt__crew *crew, size_t count)
{
    unsigned threads = fplt__cores(crew->threads), used = fplt__crew_threads(crew, count);
    return threads / used;
}

/* Tasks are begun in order, so every one below a failed one was begun too and the lowest failure does
 * not depend on timing. */
static void finish(struct shift *shift, size_t index, fplt_status status, const fplt_error *error)
{
    pthread_mutex_lock(&shift->mutex);
    shift->finished++;
    if (status && (!shift->failed || index < shift->failed_index)) {
        shift->failed = 1;
        shift->failed_index = index;
        shift->failure = *error;
        shift->failure.status = status;
        atomic_store(&shift->ended, 1);
    }
    if (shift->crew->watch &&
        shift->crew->watch(shift->crew->context, shift->done + shift->finished, shift->total)) {
        shift->stopped = 1;
        atomic_store(&shift->ended, 1);
    }
    pthread_mutex_unlock(&shift->mutex);
}

static void stop(struct shift *shift)
{
    pthread_mutex_lock(&shift->mutex);
    shift->stopped = 1;
    atomic_store(&shift->ended, 1);
    pthread_mutex_unlock(&shift->mutex);
}

static void work(void *context, unsigned number)
{
    struct shift *shift = context;
    (void)number;
    while (!atomic_load(&shift->ended)) {
        if (shift->crew->stop && shift->crew->stop(shift->crew->context)) {
            stop(shift);
            return;
        }
        size_t index = atomic_fetch_add(&shift->next, 1);
        if (index >= shift->count)
            return;
        fplt_error error = {FPLT_OK, ""};
        fplt_status status = shift->task(shift->context, index, &error);
        finish(shift, index, status, &error);
    }
}

static fplt_status verdict(const struct shift *shift, fplt_error *error)
{
    if (shift->failed) {
        if (error)
            *error = shift->failure;
        return shift->failure.status;
    }
    if (shift->stopped)
        return fplt_error_set(error, FPLT_FAILED, "stopped on request after %zu of %zu steps",
                              shift->done + shift->finished, shift->total);
    return FPLT_OK;
}

fplt_status fplt__crew_run(const fplt__crew *crew, size_t count, fplt__task task, void *context,
                           size_t done, size_t total, fplt_error *error)
{
    struct shift shift = {.crew = crew,
                          .task = task,
                          .context = context,
                          .count = count,
                          .done = done,
                          .total = total};
    fplt__pool *pool;
    fplt_status status = fplt__pool_create(fplt__crew_threads(crew, count), &pool, error);
    if (status)
        return status;
    pthread_mutex_init(&shift.mutex, NULL);
    fplt__pool_run(pool, work, &shift);
    pthread_mutex_destroy(&shift.mutex);
    fplt__pool_destroy(pool);
    return verdict(&shift, error);
}
