/* Errands that a thread of its own runs. */
#include "http/worker.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"

/* First in, first out. */
struct line {
    fplt__work_item *first, *last;
};

struct fplt__http_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t given, done_one;
    struct line waits, done;
    int runs;    /* the thread is at one */
    int watched; /* the owner waits for the pipe, or is about to */
    int told;    /* there is a byte in it */
    int ends, sleeps;
    int pipe[2];
};

/* A work item is in one place: waiting, being run, or done. */
static void check_absent(const struct line *line, const fplt__work_item *work_item)
{
#ifdef FPLT__ASSERTIONS
    for (const fplt__work_item *at = line->first; at; at = at->next)
        FPLT__ASSERT(at != work_item);
#else
    (void)line, (void)work_item;
#endif
}

static void append(struct line *line, fplt__work_item *work_item)
{
    FPLT__ASSERT(!line->first == !line->last);
    FPLT__ASSERT(!line->last || !line->last->next);
    check_absent(line, work_item);
    work_item->next = NULL;
    *(line->last ? &line->last->next : &line->first) = work_item;
    line->last = work_item;
}

static fplt__work_item *first_of(struct line *line)
{
    fplt__work_item *first = line->first;
    if (first && !(line->first = first->next))
        line->last = NULL;
    return first;
}

static int removed(struct line *line, const fplt__work_item *work_item)
{
    fplt__work_item *last = NULL, **link = &line->first;
    for (; *link && *link != work_item; link = &last->next)
        last = *link;
    if (!*link)
        return 0;
    FPLT__ASSERT((line->last == *link) == !(*link)->next);
    if (line->last == *link)
        line->last = last;
    *link = (*link)->next;
    return 1;
}

static void *work(void *context)
{
    fplt__http_worker *worker = context;
    pthread_mutex_lock(&worker->lock);
    while (!worker->ends) {
        fplt__work_item *work_item = first_of(&worker->waits);
        if (!work_item) {
            worker->sleeps = 1;
            pthread_cond_wait(&worker->given, &worker->lock);
            worker->sleeps = 0;
            continue;
        }
        FPLT__ASSERT(!worker->runs && work_item->run);
        worker->runs = 1;
        pthread_mutex_unlock(&worker->lock);
        work_item->run(work_item->context);
        pthread_mutex_lock(&worker->lock);
        FPLT__ASSERT(worker->runs);
        check_absent(&worker->waits, work_item);
        worker->runs = 0;
        append(&worker->done, work_item);
        pthread_cond_signal(&worker->done_one);
        if (worker->watched && !worker->told)
            worker->told = write(worker->pipe[1], "", 1) == 1;
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

fplt_status fplt__http_worker_create(fplt__http_worker **out, fplt_error *error)
{
    fplt__http_worker *worker;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&worker, 1, sizeof *worker, "a thread", error);
    if (status)
        return status;
    if (pipe2(worker->pipe, O_CLOEXEC | O_NONBLOCK)) {
        fplt__free(worker);
        return fplt_error_set(error, FPLT_FAILED, "no pipe for a thread");
    }
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->given, NULL);
    pthread_cond_init(&worker->done_one, NULL);
    if (pthread_create(&worker->thread, NULL, work, worker)) {
        close(worker->pipe[0]);
        close(worker->pipe[1]);
        fplt__free(worker);
        return fplt_error_set(error, FPLT_FAILED, "the system gives no thread");
    }
    *out = worker;
    return FPLT_OK;
}

void fplt__http_worker_destroy(fplt__http_worker *worker)
{
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    FPLT__ASSERT(!worker->waits.first && !worker->done.first && !worker->runs);
    worker->ends = 1;
    pthread_cond_signal(&worker->given);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->given);
    pthread_cond_destroy(&worker->done_one);
    pthread_mutex_destroy(&worker->lock);
    close(worker->pipe[0]);
    close(worker->pipe[1]);
    fplt__free(worker);
}

void fplt__http_worker_give(fplt__http_worker *worker, fplt__work_item *work_item)
{
    pthread_mutex_lock(&worker->lock);
    FPLT__ASSERT(work_item->run && !worker->ends);
    check_absent(&worker->done, work_item);
    append(&worker->waits, work_item);
    int wake = worker->sleeps;
    worker->sleeps = 0; /* it is woken once */
    pthread_mutex_unlock(&worker->lock);
    if (wake)
        pthread_cond_signal(&worker->given);
}

fplt__work_item *fplt__http_worker_take(fplt__http_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    fplt__work_item *work_item = first_of(&worker->done);
    pthread_mutex_unlock(&worker->lock);
    return work_item;
}

int fplt__http_worker_help(fplt__http_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    fplt__work_item *work_item = first_of(&worker->waits);
    pthread_mutex_unlock(&worker->lock);
    if (!work_item)
        return 0;
    work_item->run(work_item->context);
    pthread_mutex_lock(&worker->lock);
    append(&worker->done, work_item);
    pthread_mutex_unlock(&worker->lock);
    return 1;
}

void fplt__http_worker_recall(fplt__http_worker *worker, fplt__work_item *work_item)
{
    pthread_mutex_lock(&worker->lock);
    while (!removed(&worker->waits, work_item) && !removed(&worker->done, work_item)) {
        FPLT__ASSERT(worker->runs); /* or nothing would end the wait */
        pthread_cond_wait(&worker->done_one, &worker->lock);
    }
    check_absent(&worker->waits, work_item);
    check_absent(&worker->done, work_item);
    pthread_mutex_unlock(&worker->lock);
}

void fplt__http_worker_finish(fplt__http_worker *worker)
{
    while (fplt__http_worker_help(worker))
        ;
    pthread_mutex_lock(&worker->lock);
    while (worker->runs)
        pthread_cond_wait(&worker->done_one, &worker->lock);
    FPLT__ASSERT(!worker->waits.first);
    pthread_mutex_unlock(&worker->lock);
}

int fplt__http_worker_watch(fplt__http_worker *worker, int *descriptor)
{
    char byte;
    pthread_mutex_lock(&worker->lock);
    if (worker->told) /* of what was taken back since */
        worker->told = read(worker->pipe[0], &byte, 1) != 1;
    int due = worker->done.first || worker->waits.first;
    worker->watched = !due && worker->runs;
    *descriptor = worker->watched ? worker->pipe[0] : -1;
    pthread_mutex_unlock(&worker->lock);
    return due;
}
