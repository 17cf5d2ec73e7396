/* The cost of an agent as functions of R: the agent's thread asks, R's main thread answers while it waits. */
#ifndef FEDPLT_R_MEMBER_COST_H
#define FEDPLT_R_MEMBER_COST_H

#include <pthread.h>
#include <stdatomic.h>

#include "fedplt/federation.h"
#include "fedplt_r.h"

enum { COST_WORD_MAX = 80 };

/* `lock` protects the question: state, what, point, out, failed. `point` and `out` belong to the agent's thread, which
 * sleeps while R's thread uses them. */
typedef struct fpltr_member_cost {
    fplt_federation_cost table;
    char name[COST_WORD_MAX], version[COST_WORD_MAX], digest[COST_WORD_MAX];
    fplt_objective *objective;
    size_t dimension, records;
    double curvature[2];
    atomic_int *stop; /* of the member */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int state; /* no question, asked, answered */
    int what;  /* 0: the value, 1: the gradient */
    const double *point;
    double *out;
    int failed;
} fpltr_member_cost;

/* Fills `cost` from list(name, version, digest, dimension, records, lowest, highest); lowest NA: no curvature is known.
 * An error of R where the library refuses it. fpltr_member_cost_end releases; legal for zeros. */
void fpltr_member_cost_begin(fpltr_member_cost *cost, SEXP given, atomic_int *stop);
void fpltr_member_cost_end(fpltr_member_cost *cost);

/* list(gradient, x), or NULL where no question came within `seconds`. Not protected. */
SEXP fpltr_member_cost_asked(fpltr_member_cost *cost, double seconds);
/* Numbers answer the question; anything else, and another number of them, is a failure. Whether it was taken. */
int fpltr_member_cost_answer(fpltr_member_cost *cost, SEXP numbers);

#endif
