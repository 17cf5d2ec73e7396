/* Processes that train together, as threads of one: number 0 is the caller. */
#ifndef FPLT_TESTS_LOOPBACK_H
#define FPLT_TESTS_LOOPBACK_H

#include <pthread.h>
#include <string.h>

#include "fedplt/ranks.h"

enum { LOOPBACK_MAX = 8, LOOPBACK_WORDS = 1 << 16 };

/* A letter from one to another: there while `full`. */
struct letter {
    const void *bytes;
    size_t size;
    int full;
};

struct loopback {
    unsigned count, arrived;
    unsigned long generation; /* of the meetings */
    pthread_mutex_t mutex;
    pthread_cond_t change;
    void *shared;
    size_t shared_size;
    int wrong; /* two that met had different sizes */
    struct letter letters[LOOPBACK_MAX][LOOPBACK_MAX];
    uint64_t total[LOOPBACK_WORDS];
    struct member {
        fplt_ranks ranks;
        struct loopback *all;
        pthread_t thread;
        void (*run)(fplt_ranks *ranks, void *context);
        void *context;
    } member[LOOPBACK_MAX];
};

/* With the mutex held: goes on when all are there. */
static inline void loopback_meet(struct loopback *all)
{
    unsigned long generation = all->generation;
    if (++all->arrived == all->count) {
        all->arrived = 0;
        all->generation++;
        pthread_cond_broadcast(&all->change);
    }
    while (all->generation == generation)
        pthread_cond_wait(&all->change, &all->mutex);
}

static inline void loopback_sum(void *context, uint64_t *words, size_t count)
{
    struct member *member = context;
    struct loopback *all = member->all;
    pthread_mutex_lock(&all->mutex);
    if (member->ranks.number == 0)
        memset(all->total, 0, 2 * count * sizeof *words);
    all->shared_size = count;
    loopback_meet(all);
    all->wrong |= all->shared_size != count || 2 * count > LOOPBACK_WORDS;
    for (size_t i = 0; i < 2 * count && i < LOOPBACK_WORDS; i += 2) {
        uint64_t low = all->total[i] + words[i];
        all->total[i + 1] += words[i + 1] + (low < words[i]);
        all->total[i] = low;
    }
    loopback_meet(all);
    if (member->ranks.number == 0)
        memcpy(words, all->total, 2 * count * sizeof *words);
    loopback_meet(all);
    pthread_mutex_unlock(&all->mutex);
}

static inline void loopback_share(void *context, void *bytes, size_t size)
{
    struct member *member = context;
    struct loopback *all = member->all;
    pthread_mutex_lock(&all->mutex);
    if (member->ranks.number == 0) {
        all->shared = bytes;
        all->shared_size = size;
    }
    loopback_meet(all);
    all->wrong |= all->shared_size != size;
    if (member->ranks.number && !all->wrong)
        memcpy(bytes, all->shared, size);
    loopback_meet(all);
    pthread_mutex_unlock(&all->mutex);
}

static inline void loopback_send(void *context, unsigned to, const void *bytes, size_t size)
{
    struct member *member = context;
    struct loopback *all = member->all;
    struct letter *letter = &all->letters[member->ranks.number][to];
    pthread_mutex_lock(&all->mutex);
    *letter = (struct letter){bytes, size, 1};
    pthread_cond_broadcast(&all->change);
    while (letter->full)
        pthread_cond_wait(&all->change, &all->mutex);
    pthread_mutex_unlock(&all->mutex);
}

static inline void loopback_receive(void *context, unsigned from, void *bytes, size_t size)
{
    struct member *member = context;
    struct loopback *all = member->all;
    struct letter *letter = &all->letters[from][member->ranks.number];
    pthread_mutex_lock(&all->mutex);
    while (!letter->full)
        pthread_cond_wait(&all->change, &all->mutex);
    all->wrong |= letter->size != size;
    if (size && !all->wrong)
        memcpy(bytes, letter->bytes, size);
    letter->full = 0;
    pthread_cond_broadcast(&all->change);
    pthread_mutex_unlock(&all->mutex);
}

static inline void *loopback_enter(void *context)
{
    struct member *member = context;
    member->run(&member->ranks, member->context);
    return NULL;
}

/* Runs run(ranks, contexts[number]) in `count` threads, number 0 in the caller's. */
static inline void loopback_run(struct loopback *all, unsigned count,
                                void (*run)(fplt_ranks *ranks, void *context),
                                void *const *contexts)
{
    memset(all, 0, sizeof *all);
    all->count = count;
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->change, NULL);
    for (unsigned i = 0; i < count; i++)
        all->member[i] = (struct member){.ranks = {.size = sizeof(fplt_ranks),
                                                   .number = i,
                                                   .count = count,
                                                   .neighbours = count,
                                                   .context = &all->member[i],
                                                   .sum = loopback_sum,
                                                   .share = loopback_share,
                                                   .send = loopback_send,
                                                   .receive = loopback_receive},
                                         .all = all,
                                         .run = run,
                                         .context = contexts[i]};
    for (unsigned i = 1; i < count; i++)
        pthread_create(&all->member[i].thread, NULL, loopback_enter, &all->member[i]);
    loopback_enter(&all->member[0]);
    for (unsigned i = 1; i < count; i++)
        pthread_join(all->member[i].thread, NULL);
    pthread_mutex_destroy(&all->mutex);
    pthread_cond_destroy(&all->change);
}

#endif
