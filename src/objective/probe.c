/* How a cost curves at one point, by Lanczos's iteration on products with its Hessian. */
#include "objective/objective.h"

#include <math.h>

#include "base/memory.h"
#include "fedplt/random.h"
#include "linalg/symmetric.h"
#include "objective/objective_access.h"

enum { STEPS_MAX = 40 };

static const double margin = 0.01;

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

/* Takes the components along the earlier vectors out of w, twice for the sake of rounding. */
static void orthogonalise(const double *basis, size_t count, double *w, size_t n)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < count; k++) {
            double along = dot(basis + k * n, w, n);
            for (size_t j = 0; j < n; j++)
                w[j] -= along * basis[k * n + j];
        }
}

static void fill_start(double *v, size_t n)
{
    fplt_stream stream = fplt_stream_make(0, 0, FPLT_FOR_START, 1, n, 0);
    for (size_t j = 0; j < n; j++)
        v[j] = fplt_stream_uniform(&stream) - 0.5;
    double length = sqrt(dot(v, v, n));
    for (size_t j = 0; j < n; j++)
        v[j] /= length;
}

/* With as many steps as coordinates the extremes are exact; with fewer they lie inside the spectrum.
 * `basis`: (steps + 1) n. */
static fplt_status iterate(const fplt_objective *objective, uint32_t agent, const double *x,
                           double *basis, double *scratch, double *least, double *most)
{
    size_t n = fplt_objective_dimension(objective), steps = n < STEPS_MAX ? n : STEPS_MAX;
    double diagonal[STEPS_MAX], beside[STEPS_MAX], scale = 0;
    fill_start(basis, n);
    for (size_t k = 0;; k++) {
        double *v = basis + k * n, *next = v + n;
        fplt_status status = fplt__objective_hessian_times(objective, agent, x, v, next, scratch);
        if (status)
            return status;
        diagonal[k] = dot(v, next, n);
        orthogonalise(basis, k + 1, next, n);
        beside[k] = sqrt(dot(next, next, n));
        scale = fmax(scale, fabs(diagonal[k]));
        if (k + 1 == steps || !(beside[k] > 1e-10 * scale)) {
            *least = fplt__tridiagonal_eigenvalue(diagonal, beside, k + 1, 0);
            *most = fplt__tridiagonal_eigenvalue(diagonal, beside, k + 1, k);
            return FPLT_OK;
        }
        for (size_t j = 0; j < n; j++)
            next[j] /= beside[k];
    }
}

fplt_status fplt__objective_extremes(const fplt_objective *objective, uint32_t agent,
                                     const double *x, double *least, double *most,
                                     fplt_error *error)
{
    size_t n = fplt_objective_dimension(objective), steps = n < STEPS_MAX ? n : STEPS_MAX;
    size_t scratch = fplt_objective_scratch(objective);
    double *memory;
    fplt_status status = fplt__alloc_into(&memory, (steps + 2) * n + scratch + 16, sizeof *memory,
                                          "the curvature at a point", error);
    if (status)
        return status;
    /* scratch first: it wants the alignment */
    double *basis = memory + (scratch + 7) / 8 * 8, *origin = basis + (steps + 1) * n;
    status = iterate(objective, agent, x ? x : origin, basis, memory, least, most);
    fplt__free(memory);
    return status ? fplt_error_set(error, status, "the curvature of agent %u was not found", agent)
                  : FPLT_OK;
}

fplt_status fplt_objective_probe(const fplt_objective *objective, uint32_t agent, const double *x,
                                 fplt_curvature *curvature, fplt_error *error)
{
    double least, most;
    fplt_status status = fplt__objective_extremes(objective, agent, x, &least, &most, error);
    if (status)
        return status;
    double largest = fmax(fabs(least), fabs(most));
    *curvature = (fplt_curvature){least, largest * (1 + margin)};
    if (largest > 0 && isfinite(largest))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "the cost of agent %u has second derivatives between %g and %g where it "
                          "was probed, but a step size needs them finite and not all 0",
                          agent, least, most);
}
