/* L-BFGS at the coordinator [Nocedal 1980], for smooth costs with all agents active.
 *
 *     down:  x + t d
 *     agent: sends the gradient and the value of f_i there, and keeps nothing
 *     coordinator: accepts the point or shortens t; after an acceptance the pair s = change of x,
 *            y = change of the gradient joins the last ones, and d = -H g by the two-loop recursion
 *
 * With F = sum f_i, so that s, y and g are of exact sums. The first step is a gradient step that is
 * short enough to be accepted. */
#include <math.h>
#include <string.h>

#include "algorithm/descent.h"

enum { PAIRS, FIRST_STEP };
enum { MAX = 200, MAX_REFUSALS = 6 };

/* The coordinator's vectors behind those of the line search: s and y of every place. */
enum { FIRST_PAIR = FPLT__DESCENT_VECTORS };
enum { N_COUNT = FPLT__DESCENT_NUMBERS, N_NEXT, NUMBERS };

static const fplt_setting settings[] = {
    {"pairs", FPLT_INTEGER, 0, "30", 1, MAX, NULL,
     "earlier rounds from which the coordinator learns how the costs curve", 0, 0},
    {"first-step", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "length of the first step along the mean gradient", 0, 0, .rule = "1/lmax, roughly"},
    FPLT_SETTINGS_END,
};

static void reshape(const double *parameter, size_t dimension, fplt_shape *shape)
{
    (void)dimension;
    shape->vectors = FIRST_PAIR + 2 * (unsigned)parameter[PAIRS];
}

static void choose(const fplt_facts *facts, double *parameter)
{
    if (isnan(parameter[FIRST_STEP]))
        parameter[FIRST_STEP] = 1 / facts->curvature.highest;
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    return fplt__agent_value_gradient(agent, round, x, up + agent->dimension, up, error);
}

static void add(double *to, double factor, const double *from, size_t n)
{
    for (size_t j = 0; j < n; j++)
        to[j] += factor * from[j];
}

/* s of a place; y is behind it. */
static double *pair(const fplt_coordinator *coordinator, unsigned place)
{
    return coordinator->vector + (FIRST_PAIR + 2 * place) * coordinator->dimension;
}

static unsigned pairs_of(const fplt_coordinator *coordinator)
{
    return (unsigned)coordinator->parameter[PAIRS];
}

/* The place of the pair that is `back` before the next one. */
static double *earlier(const fplt_coordinator *coordinator, unsigned back)
{
    unsigned next = (unsigned)coordinator->number[N_NEXT], pairs = pairs_of(coordinator);
    return pair(coordinator, (next + pairs - back) % pairs);
}

/* d = -H g: the two-loop recursion over the kept pairs, the newest first. */
static void recall(fplt_coordinator *coordinator)
{
    size_t n = coordinator->dimension;
    unsigned count = (unsigned)coordinator->number[N_COUNT];
    double *d = coordinator->vector + FPLT__DIRECTION * n, alpha[MAX];
    double scale = coordinator->parameter[FIRST_STEP] / coordinator->agents;
    for (size_t j = 0; j < n; j++)
        d[j] = -coordinator->vector[FPLT__GRADIENT * n + j];
    for (unsigned k = 0; k < count; k++) {
        const double *s = earlier(coordinator, k + 1), *y = s + n;
        alpha[k] = fplt__inner(s, d, n) / fplt__inner(s, y, n);
        add(d, -alpha[k], y, n);
        if (k == 0)
            scale = fplt__inner(s, y, n) / fplt__inner(y, y, n);
    }
    for (size_t j = 0; j < n; j++)
        d[j] *= scale;
    for (unsigned k = count; k-- > 0;) {
        const double *s = earlier(coordinator, k + 1), *y = s + n;
        add(d, alpha[k] - fplt__inner(y, d, n) / fplt__inner(s, y, n), s, n);
    }
}

/* Where steps and gradients are rounding, pairs tell nothing: they may point upwards, or make a step that is too long
 * for a double. Then they are forgotten, and a gradient step takes their place. */
static void aim(fplt_coordinator *coordinator)
{
    size_t n = coordinator->dimension;
    const double *d = coordinator->vector + FPLT__DIRECTION * n;
    const double *x = coordinator->vector + FPLT__POINT * n;
    const double longest = 1e8; /* of a step beside the point itself */
    recall(coordinator);
    fplt__descent_aim(coordinator);
    double square = fplt__inner(d, d, n), size = 1 + fplt__inner(x, x, n);
    if (coordinator->number[N_COUNT] > 0 &&
        !(coordinator->number[FPLT__SLOPE] <= 0 && square <= longest * longest * size)) {
        coordinator->number[N_COUNT] = 0;
        recall(coordinator);
        fplt__descent_aim(coordinator);
    }
}

/* The step to the point at hand and the change of the gradient, where the next pair goes. */
static void note_pair(fplt_coordinator *coordinator, const double *gradient)
{
    size_t n = coordinator->dimension;
    double *s = pair(coordinator, (unsigned)coordinator->number[N_NEXT]), *y = s + n;
    const double *before = coordinator->vector + FPLT__GRADIENT * n;
    const double *d = coordinator->vector + FPLT__DIRECTION * n;
    for (size_t j = 0; j < n; j++) {
        s[j] = coordinator->number[FPLT__LENGTH] * d[j];
        y[j] = gradient[j] - before[j];
    }
}

/* A pair along which the cost does not curve upwards would make H indefinite. */
static void keep_pair(fplt_coordinator *coordinator)
{
    size_t n = coordinator->dimension;
    double *number = coordinator->number;
    const double *s = pair(coordinator, (unsigned)number[N_NEXT]), *y = s + n;
    if (!(fplt__inner(s, y, n) > 1e-10 * sqrt(fplt__inner(s, s, n) * fplt__inner(y, y, n))))
        return;
    number[N_NEXT] = ((unsigned)number[N_NEXT] + 1) % pairs_of(coordinator);
    number[N_COUNT] = fmin(number[N_COUNT] + 1, pairs_of(coordinator));
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)round;
    (void)exchange;
    double *number = coordinator->number;
    int begun = number[FPLT__BEGUN] != 0;
    note_pair(coordinator, sum);
    if (fplt__descent_arrive(coordinator, sum, sum[coordinator->dimension])) {
        if (begun)
            keep_pair(coordinator);
        aim(coordinator);
    } else if (number[FPLT__REFUSED] == MAX_REFUSALS && number[N_COUNT] > 0) {
        number[N_COUNT] = 0; /* a gradient step does better than such pairs */
        aim(coordinator);
    }
}

const fplt_algorithm fplt__fed_lbfgs = {
    .size = sizeof(fplt_algorithm),
    .name = "fed-lbfgs",
    .title = "L-BFGS at the coordinator",
    .reference =
        "Nocedal: Updating Quasi-Newton Matrices with Limited Storage (1980), on the exact "
        "sum of the agents' gradients",
    .shape = {.numbers = NUMBERS,
              .exchanges = 1,
              .exchange = {{.down = 1, .up = 1, .up_scalars = 1}},
              .local_model = -1},
    .allows =
        FPLT_TRAINS_NOTHING | FPLT_NEEDS_CERTAINTY | FPLT_ALLOWS_ANY_START | FPLT_SENDS_MEASURES,
    .no_minimiser = FPLT__NO_TRAINING,
    .no_random = FPLT__NO_TRAINING,
    .no_partial = "it compares the sum of all gradients between rounds; use fed-plt",
    .no_privacy = "it sends the bare gradient of the agent's cost; use fed-plt",
    .paper.epochs = "none",
    .paper.problems = "non-convex",
    .settings = settings,
    .common_step = 1,
    .step_rule = "not used: the coordinator searches the step",
    .reshape = reshape,
    .choose = choose,
    .step = fplt__unused_step,
    .begin_coordinator = fplt__descent_begin,
    .broadcast = fplt__descent_broadcast,
    .local = local,
    .absorb = absorb,
    .model = fplt__descent_model,
    .settled = fplt__descent_settled,
};
