/* A parallel loop over tasks on the engine's thread pool. */
#include "lab/tuning/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "engine/pool.h"
#include "engine/ranks.h"

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
    unsigned threads = fplt__ranks_threads(crew->ranks, crew->threads);
    return threads > count ? count ? (unsigned)count : 1 : threads;
}

unsigned fplt__crew_share(const fplt__crew *crew, size_t count)
{
    unsigned threads = fplt__ranks_threads(crew->ranks, crew->threads);
    size_t own = crew->ranks ? (count + crew->ranks->count - 1) / crew->ranks->count : count;
    return threads / fplt__crew_threads(crew, own);
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

static fplt_status run_shift(struct shift *shift, fplt_error *error)
{
    fplt__pool *pool;
    fplt_status status =
        fplt__pool_create(fplt__crew_threads(shift->crew, shift->count), &pool, error);
    if (status)
        return status;
    pthread_mutex_init(&shift->mutex, NULL);
    fplt__pool_run(pool, work, shift);
    pthread_mutex_destroy(&shift->mutex);
    fplt__pool_destroy(pool);
    return verdict(shift, error);
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
    return run_shift(&shift, error);
}

/* ---- Over processes ---- */

struct fplt__parcel {
    char *bytes; /* owned */
    size_t size, capacity, cursor;
    int arrives;
};

int fplt__parcel_arrives(const fplt__parcel *parcel)
{
    return parcel->arrives;
}

fplt_status fplt__parcel_carry(fplt__parcel *parcel, void *bytes, size_t size)
{
    if (parcel->arrives) {
        if (size)
            memcpy(bytes, parcel->bytes + parcel->cursor, size);
        parcel->cursor += size;
        return FPLT_OK;
    }
    fplt_status status =
        fplt__grow(&parcel->bytes, &parcel->capacity, parcel->size + size, 1, "the results", NULL);
    if (!status && size)
        memcpy(parcel->bytes + parcel->size, bytes, size);
    parcel->size += size;
    return status;
}

struct exchange {
    fplt_ranks *ranks;
    size_t count;
    fplt__owner owner;
    fplt__results results;
    void *context;
};

static unsigned owner_of(const struct exchange *exchange, size_t index)
{
    return exchange->owner ? exchange->owner(exchange->context, index)
                           : (unsigned)(index % exchange->ranks->count);
}

static fplt_status carry_of(const struct exchange *exchange, unsigned number, fplt__parcel *parcel)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < exchange->count; i++)
        if (owner_of(exchange, i) == number)
            status = exchange->results(exchange->context, i, parcel);
    return status;
}

static fplt_status no_memory(fplt_status status, fplt_error *error)
{
    return status ? fplt_error_set(error, status, "no memory for the results of other processes")
                  : FPLT_OK;
}

/* The results of one process to all others. */
static fplt_status deal_out(const struct exchange *exchange, unsigned number, fplt_error *error)
{
    fplt_ranks *ranks = exchange->ranks;
    fplt__parcel parcel = {.arrives = ranks->number != number};
    fplt_status status = FPLT_OK;
    if (!parcel.arrives)
        status = no_memory(carry_of(exchange, number, &parcel), error);
    if (!(status = fplt_ranks_agree(ranks, status, error))) {
        if (number && ranks->number == number)
            ranks->send(ranks->context, 0, &parcel.size, sizeof parcel.size);
        else if (number && !ranks->number)
            ranks->receive(ranks->context, number, &parcel.size, sizeof parcel.size);
        ranks->share(ranks->context, &parcel.size, sizeof parcel.size);
        if (parcel.arrives)
            status = fplt__alloc_into(&parcel.bytes, parcel.size, 1, "the results", error);
        status = fplt_ranks_agree(ranks, status, error);
    }
    if (!status) {
        if (number && ranks->number == number)
            ranks->send(ranks->context, 0, parcel.bytes, parcel.size);
        else if (number && !ranks->number)
            ranks->receive(ranks->context, number, parcel.bytes, parcel.size);
        ranks->share(ranks->context, parcel.bytes, parcel.size);
        if (parcel.arrives)
            status = no_memory(carry_of(exchange, number, &parcel), error);
        status = fplt_ranks_agree(ranks, status, error);
    }
    fplt__free(parcel.bytes);
    return status;
}

/* Of the tasks that failed anywhere the first is told: by its process, to all. */
static fplt_status first_failure(fplt_ranks *ranks, size_t count, size_t failed, fplt_status status,
                                 fplt_error *error)
{
    uint64_t own = status ? failed : count, least = own;
    if (ranks->number)
        ranks->send(ranks->context, 0, &own, sizeof own);
    for (unsigned from = 1; !ranks->number && from < ranks->count; from++) {
        uint64_t other;
        ranks->receive(ranks->context, from, &other, sizeof other);
        least = other < least ? other : least;
    }
    ranks->share(ranks->context, &least, sizeof least);
    return fplt_ranks_agree(ranks, own == least ? status : FPLT_OK, error);
}

fplt_status fplt__crew_exchange(fplt_ranks *ranks, size_t count, fplt__owner owner,
                                fplt__results results, void *context, size_t failed,
                                fplt_status status, fplt_error *error)
{
    struct exchange exchange = {ranks, count, owner, results, context};
    if (!ranks || ranks->count == 1 || ranks->ended)
        return status;
    status = first_failure(ranks, count, failed, status, error);
    for (unsigned number = 0; !status && number < ranks->count; number++)
        status = deal_out(&exchange, number, error);
    return status;
}

struct spreading {
    const fplt_ranks *ranks;
    fplt__task task;
    void *context;
};

static fplt_status own_task(void *context, size_t index, fplt_error *error)
{
    const struct spreading *spreading = context;
    return spreading->task(spreading->context,
                           index * spreading->ranks->count + spreading->ranks->number, error);
}

fplt_status fplt__crew_spread(const fplt__crew *crew, size_t count, fplt__task task,
                              fplt__results results, void *context, size_t done, size_t total,
                              fplt_error *error)
{
    fplt_ranks *ranks = crew->ranks;
    if (!ranks || ranks->count == 1)
        return fplt__crew_run(crew, count, task, context, done, total, error);
    struct spreading spreading = {ranks, task, context};
    struct shift shift = {.crew = crew,
                          .task = own_task,
                          .context = &spreading,
                          .count = (count + ranks->count - 1 - ranks->number) / ranks->count,
                          .done = done / ranks->count,
                          .total = total / ranks->count};
    fplt_status status = fplt_ranks_agree(ranks, FPLT_OK, error);
    if (status)
        return status;
    status = run_shift(&shift, error);
    size_t failed = shift.failed ? shift.failed_index * ranks->count + ranks->number : 0;
    return fplt__crew_exchange(ranks, count, NULL, results, context, failed, status, error);
}
