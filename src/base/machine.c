/* Processors and the clock. */
#include "base/machine.h"

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

void fplt__time_text(char text[FPLT_TIME_SPACE])
{
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, FPLT_TIME_SPACE, "%Y-%m-%dT%H:%M:%SZ", &parts);
}
