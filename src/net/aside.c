/* Errands that a thread of its own runs. */
#include "net/aside.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/memory.h"

/* First in, first out. */
struct line {
    fplt__errand *first, *last;
};

struct fplt__aside {
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

static void append(struct line *line, fplt__errand *errand)
{
    errand->next = NULL;
    *(line->last ? &line->last->next : &line->first) = errand;
    line->last = errand;
}

static fplt__errand *first_of(struct line *line)
{
    fplt__errand *first = line->first;
    if (first && !(line->first = first->next))
        line->last = NULL;
    return first;
}

static int removed(struct line *line, const fplt__errand *errand)
{
    fplt__errand *last = NULL, **link = &line->first;
    for (; *link && *link != errand; link = &last->next)
        last = *link;
    if (!*link)
        return 0;
    if (line->last == *link)
        line->last = last;
    *link = (*link)->next;
    return 1;
}

static void *work(void *context)
{
    fplt__aside *aside = context;
    pthread_mutex_lock(&aside->lock);
    while (!aside->ends) {
        fplt__errand *errand = first_of(&aside->waits);
        if (!errand) {
            aside->sleeps = 1;
            pthread_cond_wait(&aside->given, &aside->lock);
            aside->sleeps = 0;
            continue;
        }
        aside->runs = 1;
        pthread_mutex_unlock(&aside->lock);
        errand->run(errand->context);
        pthread_mutex_lock(&aside->lock);
        aside->runs = 0;
        append(&aside->done, errand);
        pthread_cond_signal(&aside->done_one);
        if (aside->watched && !aside->told)
            aside->told = write(aside->pipe[1], "", 1) == 1;
    }
    pthread_mutex_unlock(&aside->lock);
    return NULL;
}

fplt_status fplt__aside_create(fplt__aside **out, fplt_error *error)
{
    fplt__aside *aside;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&aside, 1, sizeof *aside, "a thread", error);
    if (status)
        return status;
    if (pipe2(aside->pipe, O_CLOEXEC | O_NONBLOCK)) {
        fplt__free(aside);
        return fplt_error_set(error, FPLT_FAILED, "no pipe for a thread");
    }
    pthread_mutex_init(&aside->lock, NULL);
    pthread_cond_init(&aside->given, NULL);
    pthread_cond_init(&aside->done_one, NULL);
    if (pthread_create(&aside->thread, NULL, work, aside)) {
        close(aside->pipe[0]);
        close(aside->pipe[1]);
        fplt__free(aside);
        return fplt_error_set(error, FPLT_FAILED, "the system gives no thread");
    }
    *out = aside;
    return FPLT_OK;
}

void fplt__aside_destroy(fplt__aside *aside)
{
    if (!aside)
        return;
    pthread_mutex_lock(&aside->lock);
    aside->ends = 1;
    pthread_cond_signal(&aside->given);
    pthread_mutex_unlock(&aside->lock);
    pthread_join(aside->thread, NULL);
    pthread_cond_destroy(&aside->given);
    pthread_cond_destroy(&aside->done_one);
    pthread_mutex_destroy(&aside->lock);
    close(aside->pipe[0]);
    close(aside->pipe[1]);
    fplt__free(aside);
}

void fplt__aside_give(fplt__aside *aside, fplt__errand *errand)
{
    pthread_mutex_lock(&aside->lock);
    append(&aside->waits, errand);
    int wake = aside->sleeps;
    aside->sleeps = 0; /* it is woken once */
    pthread_mutex_unlock(&aside->lock);
    if (wake)
        pthread_cond_signal(&aside->given);
}

fplt__errand *fplt__aside_take(fplt__aside *aside)
{
    pthread_mutex_lock(&aside->lock);
    fplt__errand *errand = first_of(&aside->done);
    pthread_mutex_unlock(&aside->lock);
    return errand;
}

int fplt__aside_help(fplt__aside *aside)
{
    pthread_mutex_lock(&aside->lock);
    fplt__errand *errand = first_of(&aside->waits);
    pthread_mutex_unlock(&aside->lock);
    if (!errand)
        return 0;
    errand->run(errand->context);
    pthread_mutex_lock(&aside->lock);
    append(&aside->done, errand);
    pthread_mutex_unlock(&aside->lock);
    return 1;
}

void fplt__aside_recall(fplt__aside *aside, fplt__errand *errand)
{
    pthread_mutex_lock(&aside->lock);
    while (!removed(&aside->waits, errand) && !removed(&aside->done, errand))
        pthread_cond_wait(&aside->done_one, &aside->lock);
    pthread_mutex_unlock(&aside->lock);
}

void fplt__aside_finish(fplt__aside *aside)
{
    while (fplt__aside_help(aside))
        ;
    pthread_mutex_lock(&aside->lock);
    while (aside->runs)
        pthread_cond_wait(&aside->done_one, &aside->lock);
    pthread_mutex_unlock(&aside->lock);
}

int fplt__aside_watch(fplt__aside *aside, int *descriptor)
{
    char byte;
    pthread_mutex_lock(&aside->lock);
    if (aside->told) /* of what was taken back since */
        aside->told = read(aside->pipe[0], &byte, 1) != 1;
    int due = aside->done.first || aside->waits.first;
    aside->watched = !due && aside->runs;
    *descriptor = aside->watched ? aside->pipe[0] : -1;
    pthread_mutex_unlock(&aside->lock);
    return due;
}
