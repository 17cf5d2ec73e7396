/* Threads beside R's. */
#include "beside.h"

#include <signal.h>
#include <time.h>

#include "fedplt_r.h"

static void *run_work(void *argument)
{
    fpltr_beside *beside = argument;
    beside->work(beside->context);
    atomic_store(&beside->done, 1);
    return NULL;
}

int fpltr_beside_start(fpltr_beside *beside)
{
    sigset_t all, before;
    atomic_store(&beside->stop, 0);
    atomic_store(&beside->done, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited: interrupts go to R's thread */
    int failed = pthread_create(&beside->thread, NULL, run_work, beside);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    beside->started = !failed;
    return failed;
}

static void pause_briefly(void)
{
    struct timespec tick = {0, 10000000};
    nanosleep(&tick, NULL);
}

int fpltr_beside_wait(fpltr_beside *beside, double seconds)
{
    int interrupted = 0;
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (beside->started && !atomic_load(&beside->done)) {
        pause_briefly();
        if (!interrupted && fpltr_is_interrupted()) {
            interrupted = 1;
            atomic_store(&beside->stop, 1);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        double passed =
            (double)(now.tv_sec - begun.tv_sec) + 1e-9 * (double)(now.tv_nsec - begun.tv_nsec);
        if (!interrupted && seconds >= 0 && passed >= seconds)
            return 0;
    }
    if (beside->started)
        pthread_join(beside->thread, NULL);
    beside->started = 0;
    return interrupted;
}

void fpltr_beside_end(fpltr_beside *beside)
{
    if (!beside->started)
        return;
    atomic_store(&beside->stop, 1);
    pthread_join(beside->thread, NULL);
    beside->started = 0;
}

int fpltr_beside_asked(void *context)
{
    return atomic_load(&((fpltr_beside *)context)->stop);
}

int fpltr_beside_watch(void *context, size_t done, size_t total)
{
    (void)done;
    (void)total;
    return fpltr_beside_asked(context);
}

void fpltr_beside_run(fpltr_beside *beside, void (*release)(void *context))
{
    if (fpltr_beside_start(beside))
        beside->work(beside->context);
    if (fpltr_beside_wait(beside, -1)) {
        release(beside->context);
        fpltr_interrupt();
    }
}
