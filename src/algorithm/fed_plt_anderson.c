/* Fed-PLT with safeguarded Anderson acceleration [Anderson 1965; Zhang, O'Donoghue and Boyd 2020] of
 * its round map T, s = (x, z) of all agents stacked.
 *
 * Each agent keeps its last pairs f^j = T(s^j), r^j = f^j - s^j. A round:
 *
 *     down:  y, coefficients alpha over the kept f, exponents e of the last residual and e_j of r^j
 *     agent: s = sum_j alpha_j f^j; v = 2 y - z; local training from x; f = (x+, z + 2 (x+ - y));
 *            r = f - s; sends the z part of f (mirrored), 2^(e + e_j) <r, r^j> for each kept j, and
 *            2^(2e) <r, r>
 *     coordinator: Z^j = sum of the z parts; alpha minimises ||sum_j alpha_j r^j|| with sum alpha = 1;
 *            y = prox_{rho h/N}(sum_j alpha_j Z^j / N)
 *
 * so it needs no more than the one exact sum. The powers of two, 2^-e near ||r|| and 2^-e_j near
 * ||r^j||, keep the inner products near 1: far above the resolution of the sum, and far below its
 * range when an old residual is larger by many orders. A candidate is accepted or dropped by the coordinator; an agent learns which
 * with the next broadcast. A dropped one is followed by plain rounds from the last accepted f. */
#include "algorithm/algorithm.h"

#include <math.h>
#include <string.h>

#include "linalg/cholesky.h"

enum { RHO, MEMORY };
enum { MAX = 20, SLOTS = MAX + 1 };

/* Kept vectors: the candidate of the last round, which is mirrored, then f and r (z and x part each) of
 * every slot. A candidate stands in its slot from the beginning: one that is dropped is overwritten by the
 * next, and what stood there before it, the oldest, is not needed either way. */
enum { Z, X, CANDIDATE };
enum { F, R = 2, SLOT = 4 };

/* Scalars of a round; behind the coefficients come the exponents of the slots. */
enum { ACCEPTED, PLACE, EXPONENT, ALPHA };

/* The coordinator's numbers. */
enum {
    N_ACCEPTED,
    N_PLACE,  /* slot of the last candidate, or where the next goes after one was dropped */
    N_USED,   /* slots with a residual */
    N_NEWEST, /* slot of the newest accepted f */
    N_FIRST,  /* ||r||^2 of the first round */
    N_BEST,   /* the smallest so far */
    N_LAST,
    N_STEPS, /* accelerated steps so far */
    N_PLAIN, /* plain rounds still to do */
    N_WAIT,  /* how many after the next drop */
    N_FAST,  /* whether the round at hand is accelerated */
    N_ALPHA,
    N_GRAM = N_ALPHA + SLOTS,
    N_COUNT = N_GRAM + SLOTS * SLOTS
};

static const fplt_setting settings[] = {
    {"rho", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "penalty of Peaceman-Rachford splitting", 0.1, 10, .rule = "1/sqrt(lmin lmax)"},
    {"anderson-memory", FPLT_INTEGER, 0, "10", 1, MAX, NULL,
     "earlier rounds that the acceleration combines", 0, 0},
    FPLT_SETTINGS_END,
};

static unsigned slots_of(const double *parameter)
{
    return (unsigned)parameter[MEMORY] + 1;
}

static void reshape(const double *parameter, size_t dimension, fplt_shape *shape)
{
    (void)dimension;
    unsigned slots = slots_of(parameter);
    shape->kept = CANDIDATE + SLOT * slots;
    shape->vectors = slots;
    shape->scalars = ALPHA + 2 * slots;
    shape->exchange[0].up_scalars = slots;
}

/* Where the candidate of the round at hand goes. */
static unsigned next_place(const double *number, unsigned slots)
{
    return ((unsigned)number[N_PLACE] + (number[N_ACCEPTED] != 0)) % slots;
}

/* Slot k of the kept vectors, beginning with F or R. */
static double *slot(double *kept, size_t n, unsigned k, unsigned which)
{
    return kept + (CANDIDATE + SLOT * k + which) * n;
}

/* The start counts as an accepted candidate without a residual. */
static void begin_agent(fplt_agent *agent, const double *start, const double *second)
{
    size_t n = agent->dimension;
    memcpy(agent->staged + X * n, start, n * sizeof *start);
    memcpy(agent->staged + Z * n, second, n * sizeof *second);
    fplt_grid_round(agent->staged + Z * n, n);
    memcpy(slot(agent->staged, n, 0, F), agent->staged, CANDIDATE * n * sizeof *start);
}

static void begin_coordinator(fplt_coordinator *coordinator, const double *start)
{
    (void)start;
    double *number = coordinator->number;
    number[N_ACCEPTED] = 1;
    number[N_WAIT] = 10;
    number[N_ALPHA] = 1;
}

/* e with 2^-e near the root of a square. */
static double exponent_of(double square)
{
    return square > 0 ? -floor(log2(square) / 2) : 0;
}

static void plan(const fplt_coordinator *coordinator, fplt_round *round)
{
    const double *number = coordinator->number;
    unsigned slots = slots_of(coordinator->parameter);
    round->scalar[ACCEPTED] = number[N_ACCEPTED];
    round->scalar[PLACE] = number[N_PLACE];
    round->scalar[EXPONENT] = exponent_of(number[N_LAST]);
    memcpy(round->scalar + ALPHA, number + N_ALPHA, slots * sizeof *number);
    for (unsigned k = 0; k < slots; k++)
        round->scalar[ALPHA + slots + k] = exponent_of(number[N_GRAM + k * SLOTS + k]);
    /* the candidate's own square stands in the place it would take */
    round->scalar[ALPHA + slots + next_place(number, slots)] = round->scalar[EXPONENT];
}

/* y = prox_{rho h/N}(sum_j alpha_j Z^j / N). Z of an accepted candidate is the running sum itself; that
 * of the start is nowhere else. */
static fplt_status model(const fplt_coordinator *coordinator, double *x)
{
    size_t n = coordinator->dimension;
    const double *alpha = coordinator->number + N_ALPHA;
    unsigned slots = slots_of(coordinator->parameter);
    memset(x, 0, n * sizeof *x);
    for (unsigned k = 0; k < slots; k++) {
        if (alpha[k] == 0)
            continue;
        const double *sum = coordinator->vector + k * n;
        if (coordinator->number[N_ACCEPTED] && k == (unsigned)coordinator->number[N_PLACE])
            sum = coordinator->total;
        for (size_t j = 0; j < n; j++)
            x[j] += alpha[k] * sum[j];
    }
    fplt__mean(x, coordinator->agents, x, n);
    return fplt_prox_apply(coordinator->prox, coordinator->parameter[RHO] / coordinator->agents, x,
                           x);
}

static fplt_status broadcast(const fplt_coordinator *coordinator, const fplt_round *round,
                             unsigned exchange, double *down)
{
    (void)round;
    (void)exchange;
    return model(coordinator, down);
}

static int scale_of(const fplt_round *round, unsigned slots, unsigned k)
{
    return (int)(round->scalar[EXPONENT] + round->scalar[ALPHA + slots + k]);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *y, double *up, fplt_error *error)
{
    (void)exchange;
    size_t n = agent->dimension;
    unsigned slots = slots_of(agent->parameter);
    double *staged = agent->staged, *s = agent->work, *v = s + 2 * n;
    memcpy(staged, agent->kept, (CANDIDATE + SLOT * slots) * n * sizeof *staged);
    memset(s, 0, 2 * n * sizeof *s);
    for (unsigned k = 0; k < slots; k++) {
        double alpha = round->scalar[ALPHA + k];
        const double *f = slot(staged, n, k, F);
        for (size_t j = 0; alpha != 0 && j < 2 * n; j++)
            s[j] += alpha * f[j];
    }
    unsigned next = ((unsigned)round->scalar[PLACE] + (round->scalar[ACCEPTED] != 0)) % slots;
    double *z = staged + Z * n, *x = staged + X * n, *r = slot(staged, n, next, R);
    for (size_t j = 0; j < n; j++)
        v[j] = 2 * y[j] - s[j];
    memcpy(x, s + n, n * sizeof *x);
    fplt_status status =
        fplt_agent_minimise(agent, round, NULL, v, 1 / agent->parameter[RHO], x, error);
    if (status)
        return status;
    for (size_t j = 0; j < n; j++)
        z[j] = s[j] + 2 * (x[j] - y[j]);
    fplt_grid_round(z, n);
    for (size_t j = 0; j < 2 * n; j++)
        r[j] = staged[Z * n + j] - s[j];
    memcpy(slot(staged, n, next, F), staged, CANDIDATE * n * sizeof *s);
    for (unsigned k = 0; k < slots; k++)
        up[k] = ldexp(fplt__inner(r, slot(staged, n, k, R), 2 * n), scale_of(round, slots, k));
    return FPLT_OK;
}

/* alpha over the used slots, the newest last among them in the difference form
 * min ||r_new + sum theta_k (r_k - r_new)||^2, scaled to a unit diagonal with a small ridge. Zero when
 * a plain step is the better choice. */
static int accelerate(double *number, unsigned slots)
{
    unsigned newest = (unsigned)number[N_NEWEST], used = (unsigned)number[N_USED], count = 0;
    unsigned index[SLOTS];
    const double *gram = number + N_GRAM;
    double matrix[MAX * MAX], right[MAX], scale[MAX], size = 0, rest = 1;
    for (unsigned back = 1; back < used; back++)
        index[count++] = (newest + slots - back) % slots;
    if (!count)
        return 0;
    double own = gram[newest * SLOTS + newest];
    for (unsigned a = 0; a < count; a++) {
        double cross = gram[index[a] * SLOTS + newest];
        for (unsigned b = 0; b <= a; b++)
            matrix[a * count + b] =
                gram[index[a] * SLOTS + index[b]] - cross - gram[index[b] * SLOTS + newest] + own;
        right[a] = own - cross;
        if (!(matrix[a * count + a] > 0))
            return 0;
        scale[a] = 1 / sqrt(matrix[a * count + a]);
    }
    for (unsigned a = 0; a < count; a++) {
        for (unsigned b = 0; b <= a; b++)
            matrix[a * count + b] *= scale[a] * scale[b];
        matrix[a * count + a] += 1e-12 * count;
        right[a] *= scale[a];
    }
    if (!fplt__cholesky_factor(&fplt__kernel_reference, matrix, count))
        return 0;
    fplt__cholesky_solve(matrix, count, right);
    for (unsigned a = 0; a < count; a++) {
        right[a] *= scale[a];
        size += fabs(right[a]);
        rest -= right[a];
    }
    if (!(size + fabs(rest) <= 1e4))
        return 0;
    memset(number + N_ALPHA, 0, SLOTS * sizeof *number);
    for (unsigned a = 0; a < count; a++)
        number[N_ALPHA + index[a]] = right[a];
    number[N_ALPHA + newest] = rest;
    return 1;
}

static void plain_step(double *number)
{
    memset(number + N_ALPHA, 0, SLOTS * sizeof *number);
    number[N_ALPHA + (unsigned)number[N_NEWEST]] = 1;
}

/* ||r|| may not exceed twice the best residual, nor a bound that falls as a power of the accelerated
 * steps, faster than 1/steps so that it can be summed [Zhang, O'Donoghue and Boyd 2020, Theorem 6]. A
 * bound that falls geometrically would switch the acceleration off where it is needed most: on
 * problems whose plain rounds gain less than that. */
static int acceptable(const double *number, unsigned slots, double residual)
{
    double cone = 100 * pow(1 + number[N_STEPS] / slots, -2.2) * number[N_FIRST];
    return residual <= 4 * number[N_BEST] && residual <= cone;
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)exchange;
    double *number = coordinator->number;
    size_t n = coordinator->dimension;
    unsigned slots = slots_of(coordinator->parameter);
    unsigned next = next_place(number, slots);
    double residual = ldexp(sum[next], -scale_of(round, slots, next));
    int first = number[N_FIRST] == 0;
    number[N_ACCEPTED] = first || !number[N_FAST] || acceptable(number, slots, residual);
    if (number[N_FAST])
        number[N_STEPS]++;
    if (!number[N_ACCEPTED]) {
        number[N_USED] = 0;
        number[N_PLAIN] = number[N_WAIT];
        number[N_WAIT] *= 2;
        number[N_FAST] = 0;
        plain_step(number);
        number[N_PLACE] = next; /* the next candidate takes the same place */
        return;
    }
    memcpy(coordinator->vector + next * n, coordinator->total, n * sizeof(double));
    for (unsigned k = 0; k < slots; k++)
        number[N_GRAM + next * SLOTS + k] = number[N_GRAM + k * SLOTS + next] =
            ldexp(sum[k], -scale_of(round, slots, k));
    number[N_PLACE] = number[N_NEWEST] = next;
    number[N_USED] = fmin(number[N_USED] + 1, slots);
    number[N_LAST] = residual;
    number[N_BEST] = first ? residual : fmin(number[N_BEST], residual);
    if (first)
        number[N_FIRST] = residual;
    number[N_PLAIN] = fmax(number[N_PLAIN] - 1, 0);
    number[N_FAST] = number[N_PLAIN] == 0 && accelerate(number, slots);
    if (!number[N_FAST])
        plain_step(number);
}

const fplt_algorithm fplt__fed_plt_anderson = {
    .size = sizeof(fplt_algorithm),
    .name = "fed-plt-anderson",
    .title = "Fed-PLT, accelerated",
    .reference = "Fed-PLT with safeguarded Anderson acceleration of its round map",
    .shape = {.mirrored = 1,
              .work = 3,
              .numbers = N_COUNT,
              .exchanges = 1,
              .exchange = {{.down = 1}},
              .local_model = X},
    .allows = FPLT_ALLOWS_MINIMISER | FPLT_ALLOWS_COMPOSITE | FPLT_NEEDS_CERTAINTY,
    .no_random = "it combines the residuals of earlier rounds, which randomness would swamp",
    .no_partial = "the extrapolation combines whole states, so an absent agent would break it; use "
                  "fed-plt",
    .no_privacy = "its inner products are not a function of the noisy iterates alone; use fed-plt",
    .paper.agent = 2,
    .paper.coordinator = 1,
    .paper.epochs = ">= 1",
    .paper.problems = "strongly convex, composite",
    .splits = 1,
    .settings = settings,
    .reshape = reshape,
    .choose = fplt__choose_rho,
    .step_rule = "2/(lmin + lmax + 2/rho)",
    .step = fplt__rho_step,
    .inverse_rho = fplt__rho_inverse,
    .begin = begin_agent,
    .begin_coordinator = begin_coordinator,
    .plan = plan,
    .broadcast = broadcast,
    .local = local,
    .absorb = absorb,
    .model = model,
};
