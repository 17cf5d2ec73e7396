/* Incremental Newton [Rodomanov and Kropotov 2016; compressed: FedNL-PP, Safaryan et al. 2022]: Newton's method in which an
 * absent agent counts by the quadratic model of its cost at the point where it answered last.
 *
 *     down:  the current point x, and its number
 *     agent: keeps H_i, b_i = H_i x_i - g_i, f_i and the number of the point, and x_i = x for itself; all but x_i are mirrored.
 *            Sends by how much its cost exceeds its last model at x, and the second-order term of that model
 *     coordinator: moves to argmin z'Hz/2 - <b, z> + h(z), H and b the running sums
 *
 * The start is held until every agent has answered once. Where the costs of those who answered exceed their models by more
 * than the models' second-order terms, or the steps no longer shrink, the coordinator holds the point until all have answered
 * there: the sums are exact then, and the point is accepted or shortened by the line search of fed-newton. After a shortened
 * step each point is held, until a whole step is accepted. With every agent active all points are exact, and this is
 * fed-newton. */
#include <math.h>
#include <string.h>

#include "algorithm/incremental.h"
#include "base/sum.h"

enum { MAX_REFUSALS = 6 };
enum { N_HOLDS = FPLT__DESCENT_NUMBERS, N_LEAST, N_SINCE, NUMBERS };
enum { EXCESS, SECOND_ORDER, SENT };

/* 4 GiB of kept models: N n (n + 1)/2 numbers of 8 bytes */
static const double max_kept = 0x1p29;

static const fplt_setting settings[] = {FPLT_SETTINGS_END};

static size_t mirrored_numbers(size_t n)
{
    return fplt__triangle(n) + n;
}

static void reshape(const double *parameter, size_t dimension, fplt_shape *shape)
{
    (void)parameter;
    shape->mirrored = fplt__incremental_vectors(mirrored_numbers(dimension), dimension);
    shape->kept = shape->mirrored + 1;
    shape->work = (unsigned)dimension + 2;
    shape->scratch = fplt__newton_scratch(dimension) + 3;
}

static fplt_status check_parameters(const fplt_facts *facts, const double *parameter,
                                    fplt_error *error)
{
    (void)parameter;
    double kept = facts->agents * (double)fplt__triangle(facts->dimension);
    fplt_status status = fplt__check_square(facts, "fed-newton-partial", error);
    if (status || kept <= max_kept)
        return status;
    return fplt_error_set(
        error, FPLT_UNSUPPORTED,
        "fed-newton-partial keeps n(n + 1)/2 numbers of each agent, %.3g GB for %u "
        "agents and n = %zu, but at most %.3g GB are allowed; use fed-lbfgs-partial",
        8e-9 * kept, facts->agents, facts->dimension, 8e-9 * max_kept);
}

/* The parts of an agent's kept numbers. */
typedef struct kept_model {
    const double *triangle, *b, *last, *at;
} kept_model;

static kept_model model_of(const double *kept, size_t n)
{
    const double *last = kept + mirrored_numbers(n);
    unsigned mirrored = fplt__incremental_vectors(mirrored_numbers(n), n);
    return (kept_model){kept, kept + fplt__triangle(n), last, kept + mirrored * n};
}

/* out = H v, H by its lower triangle */
static void multiply(const double *triangle, size_t n, const double *v, double *out)
{
    for (size_t i = 0; i < n; i++) {
        double sum = triangle[i] * v[i];
        for (size_t j = 0; j < i; j++) {
            sum += triangle[j] * v[j];
            out[j] += triangle[j] * v[i];
        }
        out[i] = sum;
        triangle += i + 1;
    }
}

/* How well the agent's last model foresaw f_i at x: the excess of the cost, and the model's second-order term. */
static void compare_with_model(const fplt_agent *agent, const double *x, double value, double *way,
                               double *bent, double *sent)
{
    size_t n = agent->dimension;
    kept_model old = model_of(agent->kept, n);
    sent[EXCESS] = sent[SECOND_ORDER] = 0;
    if (old.last[FPLT__LAST_POINT] == 0)
        return;
    multiply(old.triangle, n, old.at, bent); /* H_i x_i, and g_i = H_i x_i - b_i */
    double first = 0, second = 0;
    for (size_t j = 0; j < n; j++) {
        way[j] = x[j] - old.at[j];
        first += (bent[j] - old.b[j]) * way[j];
    }
    multiply(old.triangle, n, way, bent);
    second = fplt__inner(way, bent, n) / 2;
    sent[EXCESS] = value - (old.last[FPLT__LAST_VALUE] + first + second);
    sent[SECOND_ORDER] = second;
    for (int k = 0; k < SENT; k++)
        if (!(fabs(sent[k]) <
              0x1p30)) /* the sum has room for it, and a model so far off has failed */
            sent[k] = k == EXCESS ? 0x1p30 : 0;
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    size_t n = agent->dimension, numbers = mirrored_numbers(n);
    double *matrix = agent->work, *gradient = matrix + n * n, *bent = gradient + n, value;
    double *staged = agent->staged, *b = staged + fplt__triangle(n), *last = staged + numbers;
    unsigned mirrored = fplt__incremental_vectors(numbers, n);
    fplt_status status = fplt__agent_value_gradient(agent, round, x, &value, gradient, error);
    if (!status)
        compare_with_model(agent, x, value, matrix, bent, up);
    if (!status) {
        memset(staged, 0, mirrored * n * sizeof *staged);
        status = fplt__agent_triangle(agent, round, x, matrix, staged, error);
    }
    if (status)
        return status;
    multiply(staged, n, x, b);
    for (size_t j = 0; j < n; j++)
        b[j] -= gradient[j];
    last[FPLT__LAST_VALUE] = value;
    last[FPLT__LAST_POINT] = round->scalar[0];
    fplt_grid_round(staged, mirrored * n);
    memcpy(staged + mirrored * n, x, n * sizeof *x);
    return FPLT_OK;
}

static void begin_coordinator(fplt_coordinator *coordinator, const double *start)
{
    fplt__incremental_begin(coordinator, start);
    coordinator->number[N_HOLDS] = 1;
}

/* The three vectors of scratch behind Newton's: the current point, the gradient of the summed model there, the step. */
static double *own_scratch(const fplt_coordinator *coordinator)
{
    size_t n = coordinator->dimension;
    return coordinator->scratch + fplt__newton_scratch(n) * n;
}

/* The current point, and the gradient of the summed models there, which is that of the costs where all have answered. */
static void look(fplt_coordinator *coordinator, double *x, double *gradient)
{
    size_t n = coordinator->dimension;
    const double *b = coordinator->total + fplt__triangle(n);
    fplt__descent_broadcast(coordinator, NULL, 0, x);
    multiply(coordinator->total, n, x, gradient);
    for (size_t j = 0; j < n; j++)
        gradient[j] -= b[j];
}

/* All have answered at the current point: accept it or shorten the step. */
static void arrive(fplt_coordinator *coordinator, const double *gradient, double value)
{
    double *number = coordinator->number;
    size_t n = coordinator->dimension;
    if (fplt__descent_arrive(coordinator, gradient, value)) {
        int whole = !number[FPLT__REFUSED];
        fplt__newton_aim(coordinator, coordinator->total);
        number[N_HOLDS] = !whole;
    } else {
        number[N_HOLDS] = 1;
        if (number[FPLT__REFUSED] >=
            MAX_REFUSALS) /* the way here was none of descent: back to the accepted point */
            memset(coordinator->vector + FPLT__DIRECTION * n, 0, n * sizeof(double));
    }
    number[N_LEAST] = HUGE_VAL;
    number[N_SINCE] = 0;
    fplt__incremental_renumber(coordinator);
}

/* Whether steps no longer shrink: their squared length, measured by H, was not halved for ten turns of all agents. */
static int has_stagnated(double *number, double square, const fplt_round *round)
{
    if (square <= number[N_LEAST] / 2) {
        number[N_LEAST] = square;
        number[N_SINCE] = 0;
        return 0;
    }
    return ++number[N_SINCE] > 10 * ceil((double)round->agents / round->active);
}

/* To the minimiser of the summed models; the direction leads from the accepted point to the current one. */
static void move_on(fplt_coordinator *coordinator, const fplt_round *round, const double *x,
                    double *gradient)
{
    size_t n = coordinator->dimension;
    double *step = own_scratch(coordinator) + 2 * n, *number = coordinator->number;
    double *d = coordinator->vector + FPLT__DIRECTION * n;
    const double *from = coordinator->vector + FPLT__POINT * n;
    fplt__newton_step(coordinator, coordinator->total, x, gradient, step);
    multiply(coordinator->total, n, step, gradient);
    if (has_stagnated(number, fplt__inner(gradient, step, n), round)) {
        number[N_HOLDS] = 1;
        number[FPLT__TRUSTED] = 0;
        return;
    }
    for (size_t j = 0; j < n; j++)
        d[j] = x[j] + step[j] - from[j];
    fplt__descent_aim(coordinator);
    number[FPLT__SLOPE] = fmin(number[FPLT__SLOPE], 0);
    number[FPLT__TRUSTED] = 1;
    fplt__incremental_renumber(coordinator);
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)exchange;
    const double rounding = 1e-9;
    size_t n = coordinator->dimension;
    const double *last = coordinator->total + mirrored_numbers(n);
    double *number = coordinator->number, *x = own_scratch(coordinator), *gradient = x + n;
    int exact = fplt__incremental_is_exact(coordinator, last);
    if (!exact && number[N_HOLDS])
        return;
    if (!exact && sum[EXCESS] > sum[SECOND_ORDER] + rounding * fabs(last[FPLT__LAST_VALUE])) {
        number[N_HOLDS] = 1;
        number[FPLT__TRUSTED] = 0;
        return;
    }
    look(coordinator, x, gradient);
    if (exact)
        arrive(coordinator, gradient, last[FPLT__LAST_VALUE]);
    else
        move_on(coordinator, round, x, gradient);
}

const fplt_algorithm fplt__fed_newton_partial = {
    .size = sizeof(fplt_algorithm),
    .name = "fed-newton-partial",
    .title = "Incremental Newton at the coordinator",
    .reference =
        "Rodomanov, Kropotov: A Superlinearly-Convergent Proximal Newton-Type Method for the "
        "Optimization of Finite Sums (2016)",
    .shape = {.vectors = FPLT__DESCENT_VECTORS,
              .numbers = NUMBERS,
              .scalars = 1,
              .exchanges = 1,
              .exchange = {{.down = 1, .up_scalars = SENT}},
              .local_model = -1},
    .allows = FPLT_TRAINS_NOTHING | FPLT_NEEDS_CERTAINTY | FPLT_ALLOWS_PARTIAL |
              FPLT_ALLOWS_COMPOSITE | FPLT_ALLOWS_ANY_START | FPLT_SENDS_HESSIANS,
    .no_minimiser = FPLT__NO_TRAINING,
    .no_random = FPLT__NO_TRAINING,
    .no_privacy = "it sends the bare gradient and Hessian of the agent's cost; use fed-plt",
    .paper.epochs = "none",
    .paper.problems = "non-convex",
    .settings = settings,
    .common_step = 1,
    .step_rule = "not used: the coordinator searches the step",
    .reshape = reshape,
    .check = check_parameters,
    .step = fplt__unused_step,
    .begin_coordinator = begin_coordinator,
    .plan = fplt__incremental_plan,
    .broadcast = fplt__descent_broadcast,
    .local = local,
    .absorb = absorb,
    .model = fplt__descent_model,
    .settled = fplt__descent_settled,
};
