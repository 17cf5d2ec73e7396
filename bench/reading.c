/* Seconds to read a data file, the best of some: on the clock, and of all processors together, which a busy
 * machine does not change. usage: reading FILE
 *
 * The same on one thread, on two, and by two processes with a half of it each, which is what the machine allows; in
 * turn, so that all meet the same neighbours. usage: reading FILE HALF HALF */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/machine.h"
#include "fedplt/data.h"
#include "fedplt/read.h"

enum { TIMES = 15 };

struct taken {
    double clock, work;
};

static double worked(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static fplt_dataset *read_one(const char *path, unsigned threads)
{
    fplt_read_settings settings = fplt_read_defaults();
    fplt_dataset *dataset;
    fplt_error error;
    settings.threads = threads;
    settings.unchecked = 1; /* as for training */
    if (fplt_dataset_read(&path, 1, &settings, &dataset, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return dataset;
}

/* Each of two new processes tells when it has read its file. */
static double apart(char **paths)
{
    int told[2];
    char done;
    if (pipe(told))
        exit(1);
    double begun = fplt__now();
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            read_one(paths[i], 1);
            _exit(write(told[1], "", 1) != 1);
        }
    close(told[1]);
    int count = 0;
    while (count < 2 && read(told[0], &done, 1) == 1)
        count++;
    double taken = fplt__now() - begun;
    while (wait(NULL) > 0)
        ;
    close(told[0]);
    if (count < 2)
        exit(1);
    return taken;
}

static void read_once(const char *path, unsigned threads, struct taken *best)
{
    double begun = fplt__now(), before = worked();
    fplt_dataset *dataset = read_one(path, threads);
    best->clock = fmin(best->clock, fplt__now() - begun);
    best->work = fmin(best->work, worked() - before);
    fplt_dataset_destroy(dataset);
}

int main(int count, char **words)
{
    struct taken one = {HUGE_VAL, HUGE_VAL}, two = one;
    double halves = HUGE_VAL;
    if (count != 2 && count != 4)
        return 2;
    for (int i = 0; i < TIMES; i++) {
        read_once(words[1], 1, &one);
        if (count == 2)
            continue;
        read_once(words[1], 2, &two);
        halves = fmin(halves, apart(words + 2));
    }
    printf("%.9f %.9f", one.clock, one.work);
    if (count == 4)
        printf(" %.9f %.9f %.9f", two.clock, two.work, halves);
    printf("\n");
    return 0;
}
