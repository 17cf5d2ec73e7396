/* What privacy costs: accuracy against epsilon on your own job, with and without local training.
 *
 * Threads and blocking: fplt_tradeoff_run blocks until the last run and uses the threads of an engine; the watch is called in the
 * calling thread. It changes the settings: use them in no other thread meanwhile. */
#ifndef FEDPLT_TRADEOFF_H
#define FEDPLT_TRADEOFF_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/promise.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_tradeoff_settings {
    const double *epsilons; /* borrowed */
    size_t count;
    uint32_t repeats; /* runs a point, each with its own noise */
    fplt_watch watch; /* may be NULL */
    void *context;
} fplt_tradeoff_settings;

typedef struct fplt_tradeoff_point {
    double epsilon, noise_tau;
    uint32_t epochs;
    uint64_t rounds;
    double quality,
        deviation; /* of the accuracy over the repeats; of the objective in regression */
    double worst;  /* of the repeats */
} fplt_tradeoff_point;

typedef struct fplt_tradeoff_result {
    fplt_tradeoff_point *local,
        *single; /* owned: epochs as planned or given; one epoch, equal where the plan has one */
    size_t count;
    double without_noise; /* quality of the same cost without any noise */
    int classifies, stopped;
} fplt_tradeoff_result;

/* The settings are those of a job with the table of privacy; privacy.epsilon is overwritten. Noise is
 * simulated and the training data are measured: an experiment, not private. */
FPLT_API fplt_status fplt_tradeoff_run(fplt_settings *settings,
                                       const fplt_tradeoff_settings *wanted,
                                       fplt_tradeoff_result *result, fplt_error *error);
/* Releases what the result owns; a zeroed struct is legal, NULL is not. */
FPLT_API void fplt_tradeoff_clear(fplt_tradeoff_result *result);

#ifdef __cplusplus
}
#endif
#endif
