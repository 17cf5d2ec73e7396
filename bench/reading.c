/* Seconds to read a data file, the best of nine: on the clock, and of all processors together, which a busy
 * machine does not change. usage: reading FILE THREADS
 *
 * What the machine itself allows: seconds on the clock until two processes have read a file each, the best of nine.
 * usage: reading apart FILE FILE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/machine.h"
#include "fedplt/data.h"

enum { TIMES = 9 };

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

int main(int count, char **words)
{
    double best = 1e300, least = 1e300;
    if (count == 4 && strcmp(words[1], "apart") == 0) {
        for (int i = 0; i < TIMES; i++) {
            double taken = apart(words + 2);
            best = taken < best ? taken : best;
        }
        printf("%.9f\n", best);
        return 0;
    }
    for (int i = 0; i < TIMES; i++) {
        double begun = fplt__now(), before = worked();
        fplt_dataset *dataset = read_one(count > 1 ? words[1] : "",
                                         count > 2 ? (unsigned)strtoul(words[2], NULL, 10) : 1);
        double taken = fplt__now() - begun, work = worked() - before;
        best = taken < best ? taken : best;
        least = work < least ? work : least;
        fplt_dataset_destroy(dataset);
    }
    printf("%.9f %.9f\n", best, least);
    return 0;
}
