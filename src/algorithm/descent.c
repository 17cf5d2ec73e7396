/* The line search of descent methods, and Newton's direction. */
#include "algorithm/descent.h"

#include <math.h>
#include <string.h>

#include "algorithm/composite.h"
#include "base/sum.h"
#include "linalg/cholesky.h"
#include "objective/objective_access.h"
#include "prox/prox.h"
#include "prox/prox_access.h"

enum { MAX_SQUARE = 2000 };

/* Sufficient decrease [Armijo 1966]; where values drown in rounding, the slope decides [Hager and
 * Zhang 2005]: at the end of the step it may be positive, but not as steep as it was negative. */
static const double decrease = 1e-4, slope_back = 0.8, rounding = 1e-10;

static double *vector(const fplt_coordinator *coordinator, unsigned which)
{
    return coordinator->vector + which * coordinator->dimension;
}

static int is_composite(const fplt_coordinator *coordinator)
{
    return !fplt__prox_is_zero(coordinator->prox);
}

/* h at x; a failure is kept until the next broadcast reports it. */
static double penalty_at(fplt_coordinator *coordinator, const double *x)
{
    double value = 0;
    if (is_composite(coordinator)) {
        fplt_status status = fplt_prox_value(coordinator->prox, x, &value);
        if (status)
            coordinator->number[FPLT__FAULT] = status;
    }
    return value;
}

void fplt__descent_begin(fplt_coordinator *coordinator, const double *start)
{
    fplt__begin_model(coordinator, start);
}

fplt_status fplt__descent_broadcast(const fplt_coordinator *coordinator, const fplt_round *round,
                                    unsigned exchange, double *down)
{
    (void)round;
    (void)exchange;
    const double *x = vector(coordinator, FPLT__POINT), *d = vector(coordinator, FPLT__DIRECTION);
    double length = coordinator->number[FPLT__LENGTH];
    for (size_t j = 0; j < coordinator->dimension; j++)
        down[j] = x[j] + length * d[j];
    return (fplt_status)coordinator->number[FPLT__FAULT];
}

int fplt__descent_settled(const fplt_coordinator *coordinator)
{
    return coordinator->number[FPLT__TRUSTED] != 0;
}

fplt_status fplt__descent_model(const fplt_coordinator *coordinator, double *x)
{
    return fplt__descent_settled(coordinator) ? fplt__descent_broadcast(coordinator, NULL, 0, x)
                                              : fplt__first_vector(coordinator, x);
}

static int acceptable(const double *number, double value, double slope)
{
    double before = number[FPLT__VALUE];
    if (!number[FPLT__BEGUN] || !isfinite(before) || /* the start is outside the domain of h */
        value <= before + decrease * number[FPLT__LENGTH] * number[FPLT__SLOPE])
        return 1;
    return value <= before + rounding * fabs(before) && slope <= -slope_back * number[FPLT__SLOPE];
}

/* Where the cubic through values and slopes at 0 and t has its minimum, between t/10 and t/2. */
static double shorter(const double *number, double value, double slope)
{
    double t = number[FPLT__LENGTH];
    double a = number[FPLT__SLOPE] + slope - 3 * (value - number[FPLT__VALUE]) / t;
    double b = sqrt(fmax(a * a - number[FPLT__SLOPE] * slope, 0));
    double best = t - t * (slope + b - a) / (slope - number[FPLT__SLOPE] + 2 * b);
    return isfinite(best) ? fmin(fmax(best, 0.1 * t), 0.5 * t) : 0.5 * t;
}

int fplt__descent_arrive(fplt_coordinator *coordinator, const double *gradient, double value)
{
    double *number = coordinator->number;
    size_t n = coordinator->dimension;
    double slope = fplt__inner(gradient, vector(coordinator, FPLT__DIRECTION), n), penalty = 0;
    if (is_composite(coordinator)) {
        double *point = coordinator->scratch;
        fplt__descent_broadcast(coordinator, NULL, 0, point);
        penalty = penalty_at(coordinator, point);
        value += penalty;
        if (number[FPLT__BEGUN])
            slope += (penalty - number[FPLT__PENALTY]) / number[FPLT__LENGTH];
    }
    if (!acceptable(number, value, slope)) {
        number[FPLT__LENGTH] = shorter(number, value, slope);
        number[FPLT__REFUSED]++;
        number[FPLT__TRUSTED] = 0;
        return 0;
    }
    fplt__descent_broadcast(coordinator, NULL, 0, vector(coordinator, FPLT__POINT));
    memcpy(vector(coordinator, FPLT__GRADIENT), gradient, n * sizeof *gradient);
    number[FPLT__VALUE] = value;
    number[FPLT__PENALTY] = penalty;
    number[FPLT__TRUSTED] = number[FPLT__BEGUN] && number[FPLT__REFUSED] == 0;
    number[FPLT__BEGUN] = 1;
    return 1;
}

void fplt__descent_aim(fplt_coordinator *coordinator)
{
    double *number = coordinator->number;
    number[FPLT__SLOPE] = fplt__inner(vector(coordinator, FPLT__GRADIENT),
                                      vector(coordinator, FPLT__DIRECTION), coordinator->dimension);
    number[FPLT__LENGTH] = 1;
    number[FPLT__REFUSED] = 0;
    if (is_composite(coordinator) && isfinite(number[FPLT__PENALTY])) {
        double *point = coordinator->scratch;
        fplt__descent_broadcast(coordinator, NULL, 0, point);
        number[FPLT__SLOPE] += penalty_at(coordinator, point) - number[FPLT__PENALTY];
    }
}

size_t fplt__triangle(size_t dimension)
{
    return dimension * (dimension + 1) / 2;
}

void fplt__triangle_pack(const double *matrix, size_t n, double *triangle)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(triangle, matrix + i * n, (i + 1) * sizeof *triangle);
        triangle += i + 1;
    }
}

static double unpack_shifted(const double *triangle, size_t n, double shift, double *matrix)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(matrix + i * n, triangle, (i + 1) * sizeof *triangle);
        largest = fmax(largest, fabs(matrix[i * n + i]));
        matrix[i * n + i] += shift;
        triangle += i + 1;
    }
    return largest;
}

unsigned fplt__newton_scratch(size_t dimension)
{
    return FPLT__DESCENT_SCRATCH + 2 * (unsigned)dimension;
}

/* The factor of H + shift I in `factor`, with the least shift of a rising sequence that makes it positive definite;
 * returns the shift. */
static double factor_shifted(const double *triangle, size_t n, double *factor)
{
    double shift = 0, largest = unpack_shifted(triangle, n, shift, factor);
    while (!fplt__cholesky_factor(&fplt__kernel_reference, factor, n)) {
        shift = shift > 0 ? 16 * shift : largest > 0 ? 1e-12 * largest : 1;
        unpack_shifted(triangle, n, shift, factor);
    }
    return shift;
}

struct whole_matrix {
    const double *numbers;
    size_t n;
};

static void multiply(const void *context, const double *v, double *out)
{
    const struct whole_matrix *matrix = context;
    for (size_t i = 0; i < matrix->n; i++)
        out[i] = fplt__inner(matrix->numbers + i * matrix->n, v, matrix->n);
}

static void fill_upper(double *matrix, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            matrix[j * n + i] = matrix[i * n + j];
}

/* With h; `factor` holds the factor of H + shift I and is overwritten. */
static void newton_composite(fplt_coordinator *coordinator, const double *triangle, double shift,
                             const double *x, const double *gradient, double *step)
{
    size_t n = coordinator->dimension;
    double *end = coordinator->scratch, *work = end + n;
    double *factor = coordinator->scratch + FPLT__DESCENT_SCRATCH * n, *matrix = factor + n * n;
    struct whole_matrix whole = {matrix, n};
    fplt__quadratic model = {n, x, gradient, coordinator->prox, multiply, &whole};
    fplt_status status = FPLT_OK;
    unpack_shifted(triangle, n, shift, matrix);
    fill_upper(matrix, n);
    if (fplt__prox_is_separable(coordinator->prox))
        fplt__composite_minimise_dense(&model, matrix, factor, end, work);
    else
        status = fplt__composite_minimise(&model, end, work);
    if (status)
        coordinator->number[FPLT__FAULT] = status;
    for (size_t j = 0; j < n; j++)
        step[j] = end[j] - x[j];
}

void fplt__newton_step(fplt_coordinator *coordinator, const double *triangle, const double *x,
                       const double *gradient, double *step)
{
    size_t n = coordinator->dimension;
    double *factor = coordinator->scratch + FPLT__DESCENT_SCRATCH * n;
    double shift = factor_shifted(triangle, n, factor);
    if (is_composite(coordinator)) {
        newton_composite(coordinator, triangle, shift, x, gradient, step);
        return;
    }
    for (size_t j = 0; j < n; j++)
        step[j] = -gradient[j];
    fplt__cholesky_solve(factor, n, step);
}

/* Near a minimiser each step expects less decrease than the step before. A step that expects more may be due to a nearly
 * singular Hessian of a cost that is not convex: its end is no model until a round has accepted it. */
void fplt__newton_aim(fplt_coordinator *coordinator, const double *triangle)
{
    fplt__newton_step(coordinator, triangle, vector(coordinator, FPLT__POINT),
                      vector(coordinator, FPLT__GRADIENT), vector(coordinator, FPLT__DIRECTION));
    double before = coordinator->number[FPLT__SLOPE];
    fplt__descent_aim(coordinator);
    if (coordinator->number[FPLT__SLOPE] < before)
        coordinator->number[FPLT__TRUSTED] = 0;
}

fplt_status fplt__check_square(const fplt_facts *facts, const char *name, fplt_error *error)
{
    if (facts->dimension <= MAX_SQUARE)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "%s sends n(n + 1)/2 numbers an agent, but the model has n = %zu and at "
                          "most %d are allowed; use fed-lbfgs",
                          name, facts->dimension, MAX_SQUARE);
}

/* What every agent may send so that the sum has room for it. */
static double most_sent(const fplt_round *round)
{
    return 0x1p60 / round->agents;
}

fplt_status fplt__agent_value_gradient(fplt_agent *agent, const fplt_round *round, const double *x,
                                       double *value, double *gradient, fplt_error *error)
{
    double limit = most_sent(round);
    fplt_subproblem *problem = &agent->local->problem;
    problem->linear = problem->centre = NULL;
    problem->inverse_rho = 0;
    fplt_status status = fplt_local_value_gradient(agent->local, x, value, gradient);
    if (!status &&
        !(fplt__all_below(value, 1, limit) && fplt__all_below(gradient, agent->dimension, limit))) {
        *value = limit;
        memset(gradient, 0, agent->dimension * sizeof *gradient);
    }
    return status
               ? fplt_error_set(error, status, "the cost of agent %u failed", agent->member_index)
               : FPLT_OK;
}

/* With q records a gradient is 4 q n operations, a Hessian q n (n + 1). */
fplt_status fplt__agent_hessian(fplt_agent *agent, const fplt_round *round, const double *x,
                                double *matrix, fplt_error *error)
{
    fplt_local *local = agent->local;
    fplt_status status = fplt__objective_hessian(local->problem.objective, local->problem.agent, x,
                                                 matrix, local->scratch);
    size_t numbers = agent->dimension * agent->dimension;
    if (!status && !fplt__all_below(matrix, numbers, most_sent(round)))
        memset(matrix, 0, numbers * sizeof *matrix);
    local->gradients += ((double)agent->dimension + 1) / 4;
    return status ? fplt_error_set(error, status, "the Hessian of agent %u failed",
                                   agent->member_index)
                  : FPLT_OK;
}

fplt_status fplt__agent_list_triangle(fplt_agent *agent, const fplt_round *round, const double *x,
                                      size_t first, double behind, fplt_error *error)
{
    fplt_local *local = agent->local;
    fplt__listed *listed = agent->listed;
    size_t n = agent->dimension;
    if (!listed || !listed->capacity)
        return FPLT_UNSUPPORTED;
    fplt__places places = {listed->at, listed->number, listed->capacity - 1, first, 0};
    fplt_status status =
        fplt__objective_list_triangle(local->problem.objective, local->problem.agent, x,
                                      listed->zeros, &places, local->scratch);
    if (status == FPLT_UNSUPPORTED)
        return status;
    if (!fplt__all_below(places.number, places.count, most_sent(round)))
        places.count = 0;
    local->gradients += ((double)n + 1) / 4;
    if (status)
        return fplt_error_set(error, status, "the Hessian of agent %u failed", agent->member_index);
    listed->at[places.count] = (uint32_t)(first + fplt__triangle(n));
    listed->number[places.count] = behind;
    listed->count = places.count + 1;
    listed->first = first;
    listed->is_used = 1;
    return FPLT_OK;
}

fplt_status fplt__agent_triangle(fplt_agent *agent, const fplt_round *round, const double *x,
                                 double *matrix, double *triangle, fplt_error *error)
{
    fplt_local *local = agent->local;
    size_t n = agent->dimension, numbers = fplt__triangle(n);
    fplt_status status = fplt__objective_triangle(local->problem.objective, local->problem.agent, x,
                                                  triangle, local->scratch);
    if (status == FPLT_UNSUPPORTED) {
        if (!(status = fplt__agent_hessian(agent, round, x, matrix, error)))
            fplt__triangle_pack(matrix, n, triangle);
        return status;
    }
    if (!status && !fplt__all_below(triangle, numbers, most_sent(round)))
        memset(triangle, 0, numbers * sizeof *triangle);
    local->gradients += ((double)n + 1) / 4;
    return status ? fplt_error_set(error, status, "the Hessian of agent %u failed",
                                   agent->member_index)
                  : FPLT_OK;
}

double fplt__unused_step(const fplt_facts *facts, const double *parameter)
{
    (void)parameter;
    return 1 / facts->curvature.highest;
}
