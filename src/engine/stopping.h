/* What a run is measured and stopped by, whichever engine it has. */
#ifndef FPLT_ENGINE_STOPPING_H
#define FPLT_ENGINE_STOPPING_H

#include "fedplt/engine.h"
#include "fedplt/hub_node.h"
#include "fedplt/settings_table.h"

double fplt__squared_norm(const double *x, size_t n);

/* ||x - prox_{t h}(x - t g)||^2/t^2 with t = 1/(N lmax); ||g||^2 where h = 0. `work` has room for n. */
fplt_status fplt__criterion(const fplt_prox *prox, uint32_t agents, double highest, const double *x,
                            const double *gradient, size_t n, double *work, double *value);
/* From sums over all agents at x: n gradients and FPLT__MEASURES numbers behind them. */
fplt_status fplt__measure_read(const fplt_prox *prox, uint32_t agents, double highest,
                               const double *x, const double *sums, size_t n, double *work,
                               fplt_measure *measure, fplt_error *error);

/* When a run ends. */
typedef struct fplt__stopping {
    uint64_t rounds;
    double tolerance, change;
    int relative;
    uint32_t evaluate_every;
    int blind;
    double smoothness; /* N lmax: how fast the gradient of the sum changes at most; 0: not known */
} fplt__stopping;

/* Whether the model, of norm `size`, moved too little in a round with `active` agents. */
int fplt__has_stalled(const fplt__stopping *stopping, uint32_t active, double moved, double size);
/* Whether to measure after `round` rounds. */
int fplt__is_due(const fplt__stopping *stopping, uint64_t round, int started, int stalled);
/* What is then to be done. With a tolerance a run ends also where the criterion is at the level of rounding, whatever
 * the tolerance. `measure` NULL: none was taken. A divergence comes with its sentence. */
fplt_outcome fplt__stopping_decide(const fplt__stopping *stopping, uint64_t round,
                                   const fplt_measure *measure, double start_criterion, int stalled,
                                   fplt_error *error);
/* How a run goes that may have diverged for it. */
typedef struct fplt__method_run {
    const fplt_algorithm *algorithm;
    const double *parameter;   /* of the algorithm, resolved */
    const fplt_setting *given; /* a row of its parameters that was given, or NULL */
    const fplt_solver *solver; /* or NULL: */
    const char *solver_name;   /* the one by this name; NULL: where none was given */
    uint32_t epochs;
    int step_given; /* gamma is not auto */
} fplt__method_run;

/* That it diverged, why, and what to change: first to take back what was given. */
void fplt__diverged_sentence(const fplt__method_run *run, uint64_t round, const char *why,
                             char *sentence, size_t size);

#endif
