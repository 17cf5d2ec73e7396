/* Processors and the clock. */
#include "base/machine.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

unsigned fplt__cores(unsigned asked)
{
    if (asked)
        return asked;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (unsigned)online;
}

static double seconds_on(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double fplt__now(void)
{
    return seconds_on(CLOCK_MONOTONIC);
}

double fplt__thread_time(void)
{
    return seconds_on(CLOCK_THREAD_CPUTIME_ID);
}

fplt__thread fplt__thread_self(void)
{
    static _Thread_local fplt__thread self;
    clockid_t clock;
    if (!self.id && !pthread_getcpuclockid(pthread_self(), &clock))
        self = (fplt__thread){gettid(), clock};
    return self;
}

int fplt__thread_stands_still(fplt__thread thread)
{
    struct timespec before, after;
    if (clock_gettime(thread.clock, &before))
        return 0;
    double begun = fplt__now();
    while (fplt__now() - begun < 1e-6)
        ;
    return !clock_gettime(thread.clock, &after) && after.tv_sec == before.tv_sec &&
           after.tv_nsec == before.tv_nsec;
}

int fplt__core(void)
{
    return sched_getcpu();
}

/* A thread that may no longer be where it is moves at once; to be allowed there again does not move it back. */
static void move(fplt__thread thread, int core, int to)
{
    cpu_set_t allowed, wanted;
    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(thread.id, sizeof allowed, &allowed) ||
        !CPU_ISSET(core, &allowed))
        return;
    CPU_ZERO(&wanted);
    CPU_SET(core, &wanted);
    if (!to)
        CPU_XOR(&wanted, &allowed, &wanted);
    if (CPU_COUNT(&wanted) && !sched_setaffinity(thread.id, sizeof wanted, &wanted))
        sched_setaffinity(thread.id, sizeof allowed, &allowed);
}

void fplt__thread_to(fplt__thread thread, int core)
{
    move(thread, core, 1);
}

void fplt__thread_from(fplt__thread thread, int core)
{
    move(thread, core, 0);
}

void fplt__time_text(char text[FPLT_TIME_SPACE])
{
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, FPLT_TIME_SPACE, "%Y-%m-%dT%H:%M:%SZ", &parts);
}
