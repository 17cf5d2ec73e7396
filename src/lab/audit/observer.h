/* Stands between the agents of one engine thread and their noise source, and writes down what is asked
 * for and what is delivered. */
#ifndef FPLT_LAB_AUDIT_OBSERVER_H
#define FPLT_LAB_AUDIT_OBSERVER_H

#include "fedplt/solver.h"

/* The local training of one agent in one round. */
struct fplt__training_seen {
    size_t calls;           /* of the source; what is beyond the claimed epochs is only counted */
    double *centre, *start; /* as shown to `admit` */
    double *mean, *out;     /* epochs x dimension */
    double *step, *tau;     /* epochs: what was asked for */
};

/* Open: read after each round. */
struct fplt__observer {
    fplt_noise_source inner; /* borrowed */
    size_t agents, epochs, dimension;
    size_t count;                     /* trainings in the round at hand */
    int admitting;                    /* the latest call was `admit` */
    struct fplt__training_seen *seen; /* owned: agents */
    double *room;                     /* owned */
};

fplt_status fplt__observer_create(const fplt_noise_source *inner, size_t agents, size_t epochs,
                                  size_t dimension, struct fplt__observer **observer,
                                  fplt_error *error);
void fplt__observer_destroy(struct fplt__observer *observer);

/* For the engine. */
fplt_noise_source fplt__observer_source(struct fplt__observer *observer);
/* A round begins. */
void fplt__observer_begin(struct fplt__observer *observer);

#endif
