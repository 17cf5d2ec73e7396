/* What a run is measured and stopped by. */
#include "engine/stopping.h"
#include "prox/prox_access.h"
#include "solver/solver.h"
#include "fedplt/algorithm.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

const char *fplt_outcome_name(fplt_outcome outcome)
{
    static const char *const names[] = {"running",     "converged", "stalled",
                                        "rounds-done", "stopped",   "diverged"};
    return (size_t)outcome < sizeof names / sizeof *names ? names[outcome] : "unknown";
}

double fplt__squared_norm(const double *x, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += x[j] * x[j];
    return sum;
}

fplt_status fplt__criterion(const fplt_prox *prox, uint32_t agents, double highest, const double *x,
                            const double *gradient, size_t n, double *moved, double *value)
{
    if (fplt__prox_is_zero(prox)) {
        *value = fplt__squared_norm(gradient, n);
        return FPLT_OK;
    }
    double t = 1 / (agents * highest);
    for (size_t j = 0; j < n; j++)
        moved[j] = x[j] - t * gradient[j];
    fplt_status status = fplt_prox_apply(prox, t, moved, moved);
    for (size_t j = 0; j < n; j++)
        moved[j] = (x[j] - moved[j]) / t;
    *value = fplt__squared_norm(moved, n);
    return status;
}

fplt_status fplt__measure_read(const fplt_prox *prox, uint32_t agents, double highest,
                               const double *x, const double *sums, size_t n, double *work,
                               fplt_measure *measure, fplt_error *error)
{
    double common;
    fplt_status status;
    if ((status = fplt_prox_value(prox, x, &common)) ||
        (status = fplt__criterion(prox, agents, highest, x, sums, n, work, &measure->criterion)))
        return fplt_error_set(error, status, "the proximal operator failed");
    measure->objective = sums[n] + common;
    measure->hits = (uint64_t)sums[n + 1];
    measure->records = (uint64_t)sums[n + 2];
    measure->classifies = sums[n + 3] > 0;
    if (!isfinite(measure->criterion))
        return fplt_error_set(error, FPLT_DIVERGED, "the criterion is not finite");
    return FPLT_OK;
}

int fplt__has_stalled(const fplt__stopping *stopping, uint32_t active, double moved, double size)
{
    return stopping->change > 0 && active && moved <= stopping->change * fmax(1, size);
}

int fplt__is_due(const fplt__stopping *stopping, uint64_t round, int started, int stalled)
{
    uint32_t every = stopping->evaluate_every;
    return !stopping->blind &&
           (stalled || !started || round >= stopping->rounds || (every && round % every == 0));
}

/* Squared gradients that are nothing but rounding. The gradients of costs of at least 0 with curvature L are at most
 * sqrt(2 L f_i), in sum over N agents sqrt(2 N L sum f_i); each is rounded to half an epsilon of itself. */
static double rounding_of(const fplt__stopping *stopping, const fplt_measure *measure)
{
    double level = DBL_EPSILON / 2 * (DBL_EPSILON / 2);
    double floor = level * 2 * stopping->smoothness * fabs(measure->objective);
    return isfinite(floor) ? floor : 0;
}

fplt_outcome fplt__stopping_decide(const fplt__stopping *stopping, uint64_t round,
                                   const fplt_measure *measure, double start_criterion, int stalled,
                                   fplt_error *error)
{
    double target = stopping->tolerance * (stopping->relative ? start_criterion : 1);
    if (measure && stopping->tolerance > 0 &&
        measure->criterion <= fmax(target, rounding_of(stopping, measure)))
        return FPLT_CONVERGED;
    if (measure && measure->criterion > 1e16 * fmax(1, start_criterion)) {
        fplt_error_set(error, FPLT_DIVERGED, "the criterion grew from %.3g to %.3g",
                       start_criterion, measure->criterion);
        return FPLT_RUN_DIVERGED;
    }
    if (stalled)
        return FPLT_STALLED;
    return round >= stopping->rounds ? FPLT_ROUNDS_DONE : FPLT_RUNNING;
}

static const fplt_solver *solver_of(const fplt__method_run *run)
{
    const fplt_solver *named = run->solver_name ? fplt_solver_find(run->solver_name) : NULL;
    return run->solver ? run->solver : named ? named : fplt_training_defaults().solver;
}

static void say_what_helps(const fplt__method_run *run, char *text, size_t size)
{
    const fplt_algorithm *algorithm = run->algorithm;
    const fplt_setting *given = run->given;
    if (given) {
        double value = run->parameter[given - algorithm->settings];
        snprintf(text, size, "%s is %.4g; try %s: %s%s", given->name, value, given->name,
                 given->standard, algorithm->inverse_rho ? " and more epochs" : "");
    } else if (algorithm->allows & FPLT_TRAINS_NOTHING) {
        snprintf(text, size, "try an algorithm with local training, such as fed-plt");
    } else {
        const char *epochs = algorithm->inverse_rho ? "more epochs"
                             : run->epochs > 1      ? "fewer epochs"
                                                    : "";
        const char *gamma = !fplt__solver_has_step(solver_of(run)) ? ""
                            : run->step_given                      ? "gamma: auto"
                                                                   : "a smaller gamma";
        snprintf(text, size, "try %s%s%s%s", epochs, *epochs && *gamma ? ", or " : "", gamma,
                 *epochs || *gamma ? "" : "another solver");
    }
}

void fplt__diverged_sentence(const fplt__method_run *run, uint64_t round, const char *why,
                             char *sentence, size_t size)
{
    char helps[200];
    say_what_helps(run, helps, sizeof helps);
    snprintf(sentence, size, "diverged in round %llu (%.200s): %s", (unsigned long long)round, why,
             helps);
}
