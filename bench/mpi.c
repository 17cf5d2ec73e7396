/* What a round costs between processes: the broadcast of n doubles and the reduction of n 128-bit integers,
 * and beside it a plain reduction of doubles, which has half the bytes and other bits every time.
 *
 * usage: mpirun -n 2 mpi MODULE */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fedplt/ranks.h"
#include "figure.h"
#include "timing.h"

enum { TIMES = 40 };

enum what { EXACT, PLAIN, BROADCAST };

/* Seconds of one, the least of several measurements: whoever waits for a process that another keeps from its
 * core measures the other. */
static double measure(fplt_ranks *ranks, enum what what, size_t n, void *room)
{
    double least = 1e9;
    int again = n > 100000 ? 3 : 50;
    for (int t = 0; t < TIMES; t++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begun = seconds();
        for (int i = 0; i < again; i++) {
            if (what == EXACT)
                ranks->sum(ranks->context, room, n);
            else if (what == BROADCAST)
                ranks->share(ranks->context, room, n * sizeof(double));
            else
                MPI_Reduce(ranks->number ? room : MPI_IN_PLACE, room, (int)n, MPI_DOUBLE, MPI_SUM,
                           0, MPI_COMM_WORLD);
        }
        double took = (seconds() - begun) / again;
        least = took < least ? took : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    static const struct {
        size_t n;
        double bar; /* microseconds */
        const char *name;
    } sizes[] = {{5, 0, "5"}, {10000, 46, "10^4"}, {1000000, 6500, "10^6"}};
    void *loaded = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    const fplt_ranks_module *module = loaded ? dlsym(loaded, FPLT_RANKS_MODULE) : NULL;
    fplt_ranks *ranks = module ? module->begin() : NULL;
    void *room = calloc(2000000, sizeof(uint64_t));
    if (!ranks || !room)
        return 1;
    if (!ranks->number)
        printf("%u processes, microseconds: %9s %10s %15s\n", ranks->count, "exact sum",
               "broadcast", "sum of doubles");
    for (int i = 0; i < 3; i++) {
        size_t n = sizes[i].n;
        double exact = 1e6 * measure(ranks, EXACT, n, room);
        double broadcast = 1e6 * measure(ranks, BROADCAST, n, room);
        memset(room, 0, n * sizeof(double));
        double plain = 1e6 * measure(ranks, PLAIN, n, room);
        if (ranks->number)
            continue;
        printf("%-26s %12.1f %10.1f %15.1f\n", sizes[i].name, exact, broadcast, plain);
        char what[80];
        snprintf(what, sizeof what, "mpi: exact sum of %s numbers over %u processes", sizes[i].name,
                 ranks->count);
        if (sizes[i].bar > 0)
            figure(what, exact, "us", AT_MOST, sizes[i].bar);
    }
    free(room);
    module->end();
    return 0;
}
