/* TAMUNA [Condat, Agarsky, Malinovsky and Richtarik 2023]: Scaffnew with partial participation and,
 * as an option, compression: each coordinate is sent by s members of the cohort only.
 *
 *     agent:       from x, R steps w <- w - gamma (grad f_i(w) - h_i), R geometric with mean 1/p and
 *                  the same for the cohort; send the coordinates of w that are its own
 *     coordinator: x = in each coordinate the mean over its s holders
 *     agent:       h_i <- h_i + (p chi/gamma) (x - w_i) in the coordinates that are its own, with the
 *                  new x of the same round (put off to its next round, the method diverges)
 *
 * Fixed point: h_i = grad f_i, and sum h_i = 0 for ever; unlike steps gamma_i would break that sum, so
 * the step is common.
 *
 * Coordinate j is held by the members at slots (j s + t) mod c, t = 0 .. s - 1, where the cohort of c
 * sits on the slots in an order drawn afresh each round. A member needs only its own slot: the order is
 * a keyed permutation, computed for one member in O(1) memory. Where a member of a compressed round is
 * lost its coordinates lack a holder, so such a round must be abandoned. */
#include "algorithm/algorithm.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

enum { P, CHI, S };

static const fplt_setting settings[] = {
    {"p", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, 1, NULL,
     "probability that a local step ends the round", 0.2, 5,
     .rule = "1/Ne, so that Ne is the mean length (in theory best: sqrt(N lmin/(s lmax)))"},
    {"chi", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, 1, NULL,
     "weight of the correction's update", 0.3, 1, .rule = "its largest, N (s - 1)/(s (N - 1))"},
    {"s", FPLT_INTEGER, FPLT_AUTO, "auto", 2, 4294967295.0, NULL,
     "agents that send each coordinate; auto, or as many as are active: all, no compression", 0, 0},
    FPLT_SETTINGS_END,
};

/* Holders of a coordinate among `active`. */
static uint32_t holders(const double *parameter, uint32_t active)
{
    return parameter[S] < active ? (uint32_t)parameter[S] : active;
}

static double largest_chi(const fplt_facts *facts, const double *parameter)
{
    double N = facts->agents, s = holders(parameter, facts->cohort);
    return N > 1 ? N * (s - 1) / (s * (N - 1)) : 1;
}

static void choose(const fplt_facts *facts, double *parameter)
{
    if (isnan(parameter[P]))
        parameter[P] = fplt__epoch_share(facts);
    if (isnan(parameter[S]))
        parameter[S] = facts->agents > 2 ? facts->agents : 2;
    if (isnan(parameter[CHI]))
        parameter[CHI] = largest_chi(facts, parameter);
}

static fplt_status check_parameters(const fplt_facts *facts, const double *parameter,
                                    fplt_error *error)
{
    if (facts->agents > 1 && facts->cohort < 2)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "tamuna: %u of %u agents is active in a round, but its corrections "
                              "compare agents with each other: it needs at least 2",
                              facts->cohort, facts->agents);
    double most = largest_chi(facts, parameter);
    if (parameter[CHI] > most * (1 + 1e-12))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "tamuna: chi is %g, but with N = %u agents and s = %u it must be at "
                              "most N (s - 1)/(s (N - 1)) = %g",
                              parameter[CHI], facts->agents, holders(parameter, facts->cohort),
                              most);
    return FPLT_OK;
}

static double step(const fplt_facts *facts, const double *parameter)
{
    (void)parameter;
    return 1 / facts->curvature.highest;
}

static uint32_t length(const double *parameter, fplt_stream *shared)
{
    return fplt__random_length(shared, parameter[P]);
}

static int whole(const double *parameter, uint32_t active)
{
    return holders(parameter, active) < active;
}

/* The finaliser of SplitMix64 [Steele, Lea and Flood 2014]. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* A keyed permutation of 0 .. size - 1 at one place: the swap-or-not shuffle [Hoang, Morris and
 * Rogaway 2012]. In each pass x is paired with key - x, and a coin of the pair swaps the two or not.
 * For two places the distance from uniform shrinks by a constant factor a pass; 64 passes leave
 * nothing that could be seen. */
uint32_t fplt__tamuna_slot(fplt_stream *shared, uint32_t member, uint32_t size)
{
    enum { PASSES = 64 };
    uint64_t x = member;
    for (int pass = 0; pass < PASSES; pass++) {
        uint64_t key = fplt_stream_below(shared, size), salt = fplt__stream_bits(shared);
        uint64_t other = key >= x ? key - x : key + size - x;
        uint64_t larger = other > x ? other : x;
        if (mix(salt + larger * UINT64_C(0x9e3779b97f4a7c15)) >> 63)
            x = other;
    }
    return (uint32_t)x;
}

/* Which coordinates are the agent's own: those j with (slot - j s) mod c < s. */
struct share {
    uint64_t slot, c, s;
};

static struct share share_of(const fplt_agent *agent, const fplt_round *round)
{
    struct share share = {.c = round->active, .s = holders(agent->parameter, round->active)};
    if (share.s < share.c) {
        fplt_stream shared = round->shared;
        length(agent->parameter, &shared); /* drawn already */
        share.slot = fplt__tamuna_slot(&shared, round->position, round->active);
    }
    return share;
}

static int is_own(const struct share *share, size_t j)
{
    uint64_t first = j % share->c * share->s % share->c;
    return (share->slot + share->c - first) % share->c < share->s;
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    fplt_status status = fplt__train_corrected(agent, round, -1, x, up, error);
    struct share share = share_of(agent, round);
    for (size_t j = 0; j < agent->dimension; j++)
        up[j] = is_own(&share, j) ? up[j] : 0;
    return status;
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)exchange;
    fplt__mean(sum, holders(coordinator->parameter, round->active), coordinator->vector,
               coordinator->dimension);
}

static void finish(fplt_agent *agent, const fplt_round *round, const double *x)
{
    double weight = agent->parameter[P] * agent->parameter[CHI] / agent->local->step;
    struct share share = share_of(agent, round);
    for (size_t j = 0; j < agent->dimension; j++)
        agent->staged[j] =
            agent->kept[j] + (is_own(&share, j) ? weight * (x[j] - agent->held[j]) : 0);
}

const fplt_algorithm fplt__tamuna = {
    .size = sizeof(fplt_algorithm),
    .name = "tamuna",
    .title = "TAMUNA",
    .reference = "Condat, Agarsky, Malinovsky, Richtarik: TAMUNA: Doubly Accelerated Distributed "
                 "Optimization with Local Training, Compression, and Partial Participation (2023)",
    .shape = {.kept = 1,
              .held = 1,
              .work = 1,
              .vectors = 1,
              .exchanges = 1,
              .exchange = {{.down = 1, .up = 1}},
              .finish_down = 1,
              .local_model = -1},
    .allows = FPLT_ALLOWS_PARTIAL | FPLT_ALLOWS_PRIVACY | FPLT_NEEDS_MIXING,
    .no_minimiser = "its correction h_i divides by the step size gamma of a plain gradient step",
    .paper.agent = 2,
    .paper.coordinator = 1,
    .paper.epochs = "random, with mean 1/p",
    .paper.problems = "strongly convex",
    .settings = settings,
    .common_step = 1,
    .step_rule = "1/lmax",
    .choose = choose,
    .check = check_parameters,
    .step = step,
    .begin_coordinator = fplt__begin_model,
    .length = length,
    .whole = whole,
    .broadcast = fplt__broadcast_model,
    .local = local,
    .absorb = absorb,
    .finish = finish,
    .model = fplt__first_vector,
};
