/* Costs that are functions of R. The library calls them in the thread that called it, R's main thread, because a training
 * with such costs has one thread. */
#ifndef FEDPLT_R_COSTS_H
#define FEDPLT_R_COSTS_H

#include "fedplt_r.h"

typedef struct fpltr_costs {
    /* function(x, agent), agents from 1; guarded in R: an error returns its message, and an interrupt an object of class
     * fedplt_interrupted */
    SEXP value, gradient;
    size_t dimension;
    int interrupted,
        failed; /* a call was ended by an interrupt, or by an error with this message */
    char message[512];
} fpltr_costs;

/* An objective as an external pointer, which borrows `own`; without an address where `costs` is NULL. Not protected. */
SEXP fpltr_objective(SEXP costs, fpltr_costs *own);

#endif
