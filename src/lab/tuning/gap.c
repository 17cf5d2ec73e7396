/* The distance of Fed-PLT's state from its fixed point: z_i* = x* - rho grad f_i(x*) for any h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "fedplt/tune.h"
#include "engine/engine_access.h"
#include "job/auto.h"
#include "lab/tuning/gap.h"

enum { NEWTON_TO = 300, ROUNDS = 20000, EPOCHS = 50 };

struct fplt__gap {
    size_t n;
    uint32_t agents;
    double *x, *z; /* owned: n; agents x n */
};

/* Ends when the criterion has not halved for so many rounds: it is at its rounding floor. */
enum { PATIENCE = 60 };

struct watch {
    double best;
    uint64_t since;
};

static int at_the_floor(void *context, const fplt_progress *progress)
{
    struct watch *watch = context;
    double now = progress->measure.criterion;
    if (now == 0 || now < watch->best / 2) {
        watch->best = now;
        watch->since = progress->round;
    }
    return now == 0 || progress->round - watch->since >= PATIENCE;
}

static fplt_status minimise(fplt__gap *gap, const fplt_objective *objective, const fplt_prox *prox,
                            fplt_error *error)
{
    fplt_run_settings run = fplt_run_defaults();
    struct watch watch = {HUGE_VAL, 0};
    fplt_auto choice;
    fplt_engine *engine = NULL;
    fplt_result result;
    int newton = gap->n <= NEWTON_TO;
    run.algorithm = fplt_algorithm_find("fed-plt-anderson");
    run.prox = prox;
    run.training.solver = fplt_solver_find(newton ? "newton" : "gradient");
    run.training.epochs = newton ? 3 : EPOCHS;
    run.tolerance = 0;
    run.rounds = ROUNDS;
    fplt_status status = fplt__auto_resolve(objective, &run, &choice, error);
    if (status)
        return status;
    fplt__auto_apply(&choice, &run);
    if (!(status = fplt_engine_create(objective, &run, &engine, error)) &&
        !(status = fplt_engine_run(engine, at_the_floor, &watch, &result, error)) &&
        !(status = fplt_engine_model(engine, gap->x))) {
        fplt_measure measure;
        status = fplt__engine_measure_at(engine, gap->x, &measure, error);
        if (!status && !(measure.criterion <= 1e-10 * result.start.criterion))
            status = fplt_error_set(error, FPLT_FAILED,
                                    "the minimiser was not found: the criterion only fell from "
                                    "%.3g to %.3g",
                                    result.start.criterion, measure.criterion);
    }
    fplt_engine_destroy(engine);
    fplt__auto_clear(&choice);
    return status;
}

static fplt_status find_limits(fplt__gap *gap, const fplt_objective *objective, double rho,
                               fplt_error *error)
{
    double *scratch;
    fplt_status status = fplt__alloc_into(&scratch, fplt_objective_scratch(objective),
                                          sizeof *scratch, "the limits of the agents", error);
    for (uint32_t i = 0; !status && i < gap->agents; i++) {
        double *z = gap->z + i * gap->n;
        status = fplt_objective_gradient(objective, i, gap->x, z, scratch);
        if (status)
            fplt_error_set(error, status, "the gradient of agent %u failed", i);
        for (size_t j = 0; j < gap->n; j++)
            z[j] = gap->x[j] - rho * z[j];
    }
    fplt__free(scratch);
    return status;
}

fplt_status fplt__gap_create(const fplt_objective *objective, const fplt_prox *prox, double rho,
                             fplt__gap **out, fplt_error *error)
{
    *out = NULL;
    fplt__gap *gap;
    fplt_status status = fplt__alloc_into(&gap, 1, sizeof *gap, "the distance", error);
    if (status)
        return status;
    gap->n = fplt_objective_dimension(objective);
    gap->agents = fplt_objective_agents(objective);
    if ((status = fplt__alloc_into(&gap->x, gap->n, sizeof *gap->x, "the distance", error)) ||
        (status = fplt__alloc_into(&gap->z, gap->n, gap->agents * sizeof *gap->z, "the distance",
                                   error)) ||
        (status = minimise(gap, objective, prox, error)) ||
        (status = find_limits(gap, objective, rho, error))) {
        fplt__gap_destroy(gap);
        return status;
    }
    *out = gap;
    return FPLT_OK;
}

void fplt__gap_destroy(fplt__gap *gap)
{
    if (!gap)
        return;
    fplt__free(gap->x);
    fplt__free(gap->z);
    fplt__free(gap);
}

double fplt__gap_measure(const fplt__gap *gap, const fplt_engine *engine, double weight)
{
    double in_x = 0, in_z = 0;
    /* fed-plt keeps z, the mirrored vector, before x */
    for (uint32_t i = 0; i < gap->agents; i++) {
        const double *z = fplt__engine_kept(engine, i), *x = z + gap->n;
        for (size_t j = 0; j < gap->n; j++) {
            double dx = x[j] - gap->x[j], dz = z[j] - gap->z[i * gap->n + j];
            in_x += dx * dx;
            in_z += dz * dz;
        }
    }
    return sqrt(in_x + weight * weight * in_z);
}
