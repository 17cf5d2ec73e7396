/* Trainings beside R's main thread. */
#include "run.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* RUNNING -> ENDED: by the worker; RUNNING -> ABANDONED: by the main thread. After either only the other thread uses the worker. */
enum run_state { RUNNING, ENDED, ABANDONED };

typedef struct run_worker {
    pthread_t thread;
    pthread_mutex_t
        lock; /* of all that follows but `run`, which is the thread's until it has ended */
    pthread_cond_t changed;
    enum run_state state;
    int stop;         /* the run should end */
    int is_asked;     /* whether the main thread is asked about every round */
    int asks, answer; /* the question is `progress`; the answer is there when asks is 0 again */
    fplt_progress progress;
    fpltr_run *run;
} run_worker;

static atomic_int workers; /* threads that have not released what they own */

void fpltr_run_train(fpltr_run *run, fplt_observer observer, void *context)
{
    run->status = fplt_trainer_create(run->settings, &run->source, &run->trainer, &run->error);
    run->source.dataset = NULL; /* taken over, also on failure */
    if (!run->status)
        run->status = fplt_trainer_run(run->trainer, observer, context, &run->result, &run->error);
    if (!run->status && run->wants_model && run->result.outcome != FPLT_RUN_DIVERGED)
        run->status = fplt_trainer_model(run->trainer, &run->model, &run->error);
}

void fpltr_run_destroy(fpltr_run *run)
{
    if (!run)
        return;
    fplt_model_destroy(run->model);
    fplt_trainer_destroy(run->trainer);
    fplt_dataset_destroy(run->source.dataset);
    free((double *)run->source.start);
    fplt_settings_destroy(run->settings);
    free(run);
}

static void destroy_worker(run_worker *worker)
{
    fpltr_run_destroy(worker->run);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
    atomic_fetch_sub(&workers, 1);
}

/* ---- in the thread ---- */

static int observe_beside(void *context, const fplt_progress *progress)
{
    run_worker *worker = context;
    pthread_mutex_lock(&worker->lock);
    int stop = worker->stop;
    if (!stop && worker->is_asked) {
        worker->progress = *progress;
        worker->asks = 1;
        pthread_cond_broadcast(&worker->changed);
        while (worker->asks && !worker->stop)
            pthread_cond_wait(&worker->changed, &worker->lock);
        stop = worker->stop || worker->answer;
    }
    pthread_mutex_unlock(&worker->lock);
    return stop;
}

static void *work(void *argument)
{
    run_worker *worker = argument;
    fpltr_run_train(worker->run, observe_beside, worker);
    pthread_mutex_lock(&worker->lock);
    int is_abandoned = worker->state == ABANDONED;
    worker->state = is_abandoned ? ABANDONED : ENDED;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    if (is_abandoned)
        destroy_worker(worker);
    return NULL;
}

/* ---- in R's main thread ---- */

static run_worker *start_worker(fpltr_run *run, int is_asked)
{
    run_worker *worker = calloc(1, sizeof *worker);
    pthread_condattr_t monotonic;
    sigset_t all, before;
    if (!worker)
        return NULL;
    worker->run = run;
    worker->is_asked = is_asked;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    atomic_fetch_add(&workers, 1);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited: interrupts go to R's thread */
    int failed = pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return worker;
    worker->run = NULL;
    destroy_worker(worker);
    return NULL;
}

/* Waits at most so long for a question or the end; the lock is held. */
static void wait_for_change(run_worker *worker, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(seconds * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
}

/* Answers one question; the lock is held before and after, but not while R works. */
static void answer_question(run_worker *worker, fpltr_run_ask *ask, void *context)
{
    fplt_progress progress = worker->progress;
    pthread_mutex_unlock(&worker->lock);
    int answer = ask(context, &progress);
    pthread_mutex_lock(&worker->lock);
    worker->answer = answer;
    worker->asks = 0;
    pthread_cond_broadcast(&worker->changed);
}

/* Ends the run after its round; whether it has ended soon. The lock is held before, and not after. */
static int end_soon(run_worker *worker)
{
    const double patience = 0.5, tick = 0.05; /* seconds */
    worker->stop = 1;
    pthread_cond_broadcast(&worker->changed);
    for (double waited = 0; worker->state == RUNNING && waited < patience; waited += tick)
        wait_for_change(worker, tick);
    int has_ended = worker->state == ENDED;
    pthread_t thread = worker->thread;
    if (!has_ended) {
        worker->state = ABANDONED;
        pthread_detach(thread);
    }
    pthread_mutex_unlock(&worker->lock);
    if (has_ended)
        pthread_join(thread, NULL);
    return has_ended;
}

int fpltr_run_beside(fpltr_run **run, fpltr_run_ask *ask, void *context)
{
    const double period = 0.02; /* seconds */
    run_worker *worker = start_worker(*run, ask != NULL);
    if (!worker)
        return -1;
    pthread_mutex_lock(&worker->lock);
    while (worker->state == RUNNING) {
        if (worker->asks) {
            answer_question(worker, ask, context);
            continue;
        }
        wait_for_change(worker, period);
        if (worker->state != RUNNING || worker->asks)
            continue;
        pthread_mutex_unlock(&worker->lock);
        int interrupted = fpltr_is_interrupted();
        pthread_mutex_lock(&worker->lock);
        if (!interrupted)
            continue;
        *run = NULL;
        if (end_soon(worker))
            destroy_worker(worker);
        return 1;
    }
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    worker->run = NULL;
    destroy_worker(worker);
    return 0;
}

void fpltr_run_wait_for_all(void)
{
    const struct timespec tick = {0, 10000000};
    while (atomic_load(&workers) > 0)
        nanosleep(&tick, NULL);
}
