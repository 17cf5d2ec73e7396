/* What the machine has: processors and a clock. */
#ifndef FPLT_BASE_MACHINE_H
#define FPLT_BASE_MACHINE_H

/* Threads to use: `asked`, or one a processor where that is 0. */
unsigned fplt__cores(unsigned asked);
/* Seconds on a clock that never goes back. */
double fplt__now(void);
/* Seconds that the calling thread has had a processor. */
double fplt__thread_time(void);

/* The time of day, UTC: 2026-03-14T09:26:53Z. */
enum { FPLT_TIME_SPACE = 32 };
void fplt__time_text(char text[FPLT_TIME_SPACE]);

#endif
