/* The line search of descent methods, and Newton's direction. */
#include "algorithm/descent.h"

#include <math.h>
#include <string.h>

#include "linalg/cholesky.h"

enum { MAX_SQUARE = 1000 };

/* Sufficient decrease [Armijo 1966]; where values drown in rounding, the slope decides [Hager and
 * Zhang 2005]: at the end of the step it may be positive, but not as steep as it was negative. */
static const double decrease = 1e-4, slope_back = 0.8, rounding = 1e-10;

static double *vector(const fplt_coordinator *coordinator, unsigned which)
{
    return coordinator->vector + which * coordinator->dimension;
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
    return FPLT_OK;
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
    if (!number[FPLT__BEGUN] ||
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
    double slope = fplt__inner(gradient, vector(coordinator, FPLT__DIRECTION), n);
    if (!acceptable(number, value, slope)) {
        number[FPLT__LENGTH] = shorter(number, value, slope);
        number[FPLT__REFUSED]++;
        number[FPLT__TRUSTED] = 0;
        return 0;
    }
    fplt__descent_broadcast(coordinator, NULL, 0, vector(coordinator, FPLT__POINT));
    memcpy(vector(coordinator, FPLT__GRADIENT), gradient, n * sizeof *gradient);
    number[FPLT__VALUE] = value;
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

void fplt__newton_aim(fplt_coordinator *coordinator, const double *triangle, double shift,
                      double *matrix)
{
    size_t n = coordinator->dimension;
    double *d = vector(coordinator, FPLT__DIRECTION);
    double largest = unpack_shifted(triangle, n, shift, matrix);
    while (!fplt__cholesky_factor(&fplt__kernel_reference, matrix, n)) {
        shift = shift > 0 ? 16 * shift : largest > 0 ? 1e-12 * largest : 1;
        unpack_shifted(triangle, n, shift, matrix);
    }
    for (size_t j = 0; j < n; j++)
        d[j] = -vector(coordinator, FPLT__GRADIENT)[j];
    fplt__cholesky_solve(matrix, n, d);
    fplt__descent_aim(coordinator);
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

static int all_below(const double *x, size_t count, double limit)
{
    for (size_t j = 0; j < count; j++)
        if (!(fabs(x[j]) < limit))
            return 0;
    return 1;
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
    if (!status && !(all_below(value, 1, limit) && all_below(gradient, agent->dimension, limit))) {
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
    fplt_status status = fplt_objective_hessian(local->problem.objective, local->problem.agent, x,
                                                matrix, local->scratch);
    size_t numbers = agent->dimension * agent->dimension;
    if (!status && !all_below(matrix, numbers, most_sent(round)))
        memset(matrix, 0, numbers * sizeof *matrix);
    local->gradients += ((double)agent->dimension + 1) / 4;
    return status ? fplt_error_set(error, status, "the Hessian of agent %u failed",
                                   agent->member_index)
                  : FPLT_OK;
}

double fplt__unused_step(const fplt_facts *facts, const double *parameter)
{
    (void)parameter;
    return 1 / facts->curvature.highest;
}
