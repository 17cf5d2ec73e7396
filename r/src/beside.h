/* Work of the library in a thread beside R's, while R's main thread looks for interrupts. The work calls no function of R. */
#ifndef FEDPLT_R_BESIDE_H
#define FEDPLT_R_BESIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct fpltr_beside {
    void (*work)(void *context);
    void *context;
    atomic_int stop; /* the work should end: it looks at this */
    atomic_int done; /* the work has ended */
    int started;     /* the thread must be joined */
    pthread_t thread;
} fpltr_beside;

/* Starts the thread, with all signals blocked in it; 0, or an error number. */
int fpltr_beside_start(fpltr_beside *beside);
/* Waits for the end at most so many seconds (negative: for ever), looking for interrupts; an interrupt sets `stop`, and
 * the work is then waited for. Returns nonzero where there was an interrupt. */
int fpltr_beside_wait(fpltr_beside *beside, double seconds);
/* Starts, waits, and does not return where it was interrupted: `release` has then freed what the work made. Without a thread
 * the work is done by the caller. */
void fpltr_beside_run(fpltr_beside *beside, void (*release)(void *context));
/* For the library, with a fpltr_beside as context: whether the work should end. */
int fpltr_beside_watch(void *context, size_t done, size_t total);
int fpltr_beside_asked(void *context);
/* Sets `stop` and waits for the end; legal where nothing was started. */
void fpltr_beside_end(fpltr_beside *beside);

#endif
