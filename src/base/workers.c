/* Threads for a task that lasts: they are started for it and end with it. */
#include "base/workers.h"

#include <pthread.h>
#include <stdint.h>

enum { MAX = FPLT__MAX_SLOTS / 2 };

struct task {
    void (*run)(void *);
    void *context;
};

static void *help(void *argument)
{
    const struct task *task = argument;
    task->run(task->context);
    return NULL;
}

void fplt__workers_run(unsigned threads, void (*run)(void *context), void *context)
{
    pthread_t helper[MAX];
    struct task task = {run, context};
    unsigned started = 0;
    while (started + 1 < threads && started < MAX &&
           !pthread_create(&helper[started], NULL, help, &task))
        started++;
    run(context);
    for (unsigned i = 0; i < started; i++)
        pthread_join(helper[i], NULL);
}

/* Portion k is in slot k mod slots. */
struct run {
    const fplt__pipeline *line;
    unsigned slots, workers;
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    uint64_t taken, placed, joined;
    int over;   /* nothing is taken any more */
    int broken; /* nothing is placed any more */
    unsigned char done[FPLT__MAX_SLOTS];
    fplt_status status; /* the first failure in the order of the portions, of what was joined */
    fplt_error error;
    struct {
        fplt_status status;
        fplt_error error;
    } slot[FPLT__MAX_SLOTS];
};

/* All that is done and next in order. */
static void join_done(struct run *run)
{
    while (run->joined < run->taken && run->done[run->joined % run->slots]) {
        unsigned slot = (unsigned)(run->joined % run->slots);
        if (!run->status) {
            run->status = run->slot[slot].status;
            run->error = run->slot[slot].error;
        }
        if (!run->status)
            run->status = run->line->join(run->line->context, slot, &run->error);
        run->over |= run->status != FPLT_OK;
        run->done[slot] = 0;
        run->joined++;
    }
    pthread_cond_broadcast(&run->moved);
}

/* Takes the next portion; zero where there is none. With the mutex held. */
static int take_next(struct run *run, unsigned worker, uint64_t *portion, unsigned *slot)
{
    while (!run->over && run->taken - run->joined >= run->slots)
        pthread_cond_wait(&run->moved, &run->mutex);
    if (run->over)
        return 0;
    int more = 0;
    *portion = run->taken;
    *slot = (unsigned)(run->taken % run->slots);
    run->slot[*slot].status =
        run->line->take(run->line->context, *slot, worker, &more, &run->slot[*slot].error);
    run->over |= run->slot[*slot].status || !more;
    if (!run->slot[*slot].status && !more)
        return 0;
    run->taken++;
    return 1;
}

/* Waits until all before it are placed. With the mutex held. */
static void place_next(struct run *run, uint64_t portion, unsigned slot)
{
    while (run->placed < portion)
        pthread_cond_wait(&run->moved, &run->mutex);
    if (!run->slot[slot].status && run->broken)
        run->slot[slot].status = FPLT_FAILED; /* not the earliest: never told */
    else if (!run->slot[slot].status)
        run->slot[slot].status = run->line->place(run->line->context, slot, &run->slot[slot].error);
    run->broken |= run->slot[slot].status != FPLT_OK;
    run->placed++;
    pthread_cond_broadcast(&run->moved);
}

static void carry(void *context)
{
    struct run *run = context;
    uint64_t portion;
    unsigned slot, worker;
    pthread_mutex_lock(&run->mutex);
    worker = run->workers++;
    while (take_next(run, worker, &portion, &slot)) {
        pthread_mutex_unlock(&run->mutex);
        if (!run->slot[slot].status)
            run->slot[slot].status =
                run->line->load(run->line->context, slot, &run->slot[slot].error);
        pthread_mutex_lock(&run->mutex);
        place_next(run, portion, slot);
        pthread_mutex_unlock(&run->mutex);
        if (!run->slot[slot].status)
            run->slot[slot].status =
                run->line->work(run->line->context, slot, &run->slot[slot].error);
        pthread_mutex_lock(&run->mutex);
        run->over |= run->slot[slot].status != FPLT_OK;
        run->done[slot] = 1;
        join_done(run);
    }
    pthread_mutex_unlock(&run->mutex);
}

fplt_status fplt__pipeline_run(const fplt__pipeline *line, unsigned threads, unsigned slots,
                               fplt_error *error)
{
    struct run run = {.line = line, .slots = slots};
    pthread_mutex_init(&run.mutex, NULL);
    pthread_cond_init(&run.moved, NULL);
    fplt__workers_run(threads, carry, &run);
    pthread_mutex_destroy(&run.mutex);
    pthread_cond_destroy(&run.moved);
    if (run.status && error)
        *error = run.error;
    return run.status;
}
