/* What the machine has: processors and a clock. */
#ifndef FPLT_BASE_MACHINE_H
#define FPLT_BASE_MACHINE_H

/* Threads to use: `asked`, or one a processor where that is 0. */
unsigned fplt__cores(unsigned asked);
/* Seconds on a clock that never goes back. */
double fplt__now(void);
/* Seconds that the calling thread has had a processor. */
double fplt__thread_time(void);

/* A thread as others see it. They may ask and move it also when it has ended: nothing happens then. */
typedef struct fplt__thread {
    int id, clock;
} fplt__thread;
fplt__thread fplt__thread_self(void);
/* Whether it had no processor for a microsecond. */
int fplt__thread_stands_still(fplt__thread thread);

/* The processor that the caller has, and where a thread is to go on: on this one, or on any but this one. Later it may
 * be moved as before. Nothing happens where that cannot be, nor to one that sleeps. */
int fplt__core(void);
void fplt__thread_to(fplt__thread thread, int core);
void fplt__thread_from(fplt__thread thread, int core);

/* The time of day, UTC: 2026-03-14T09:26:53Z. */
enum { FPLT_TIME_SPACE = 32 };
void fplt__time_text(char text[FPLT_TIME_SPACE]);

#endif
