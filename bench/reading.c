/* Seconds to read a data file, the best of five: on the clock, and of all processors together, which a busy
 * machine does not change. usage: reading FILE THREADS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/machine.h"
#include "fedplt/data.h"

static double worked(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char **words)
{
    const char *path = count > 1 ? words[1] : "";
    fplt_read_settings settings = fplt_read_defaults();
    fplt_error error;
    double best = 1e300, least = 1e300;
    settings.threads = count > 2 ? (unsigned)strtoul(words[2], NULL, 10) : 1;
    settings.unchecked = 1; /* as for training */
    for (int i = 0; i < 5; i++) {
        fplt_dataset *dataset;
        double begun = fplt__now(), before = worked();
        if (fplt_dataset_read(&path, 1, &settings, &dataset, &error)) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        double taken = fplt__now() - begun, work = worked() - before;
        best = taken < best ? taken : best;
        least = work < least ? work : least;
        fplt_dataset_destroy(dataset);
    }
    printf("%.9f %.9f\n", best, least);
    return 0;
}
