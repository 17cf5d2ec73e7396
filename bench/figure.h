/* How a benchmark states a figure that has a bar: one line of a common form, which tools/bench gathers from
 * everything it ran into one table. bench/figures.py prints the same from Python. */
#ifndef FPLT_BENCH_FIGURE_H
#define FPLT_BENCH_FIGURE_H

#include <stdio.h>

enum figure_bar { AT_MOST, AT_LEAST };

/* `what` without a tab; `unit` is what the number counts ("times", "ms", "ns a number", ...). */
static inline void figure(const char *what, double measured, const char *unit, enum figure_bar kind,
                          double bar)
{
    int met = kind == AT_MOST ? measured <= bar : measured >= bar;
    printf("bar:\t%s\t%.3g\t%s\t%s %.3g\t%s\n", what, measured, unit,
           kind == AT_MOST ? "at most" : "at least", bar, met ? "met" : "MISSED");
    fflush(stdout);
}

#endif
