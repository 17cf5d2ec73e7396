/* The fleet over several processes: orders from the leader, exact sums back. How it works stands in
 * fleet.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sum.h"
#include "engine/fleet.h"
#include "engine/hub_node.h"
#include "engine/ranks.h"
#include "fedplt/algorithm.h"
#include "fedplt/participation.h"

enum kind { END, TRAIN, FINISH, EVALUATE, TOTAL, WHO_FAILED, STATE_OUT, STATE_IN, INFORM };

/* Bytes of the agents' state that travel at once, but at least one agent's. */
enum { PIECE = 1 << 20 };

/* What the leader broadcasts; the numbers of the coordinator, or a point, behind it. */
struct order {
    uint64_t kind;
    unsigned exchange, vector, count; /* INFORM: count is whether scores are wanted */
    fplt_round round;
};

struct ranked {
    fplt__fleet base;
    fplt_ranks *ranks;  /* borrowed */
    fplt__fleet *inner; /* owned: the agents of this process */
    fplt_plan plan;
    fplt_shape shape;
    const fplt_participation *participation; /* borrowed */
    uint32_t *active;                        /* owned, not in the leader: of round `chosen` - 1 */
    uint64_t chosen;
    struct order *order; /* owned; `room` numbers behind it */
    size_t room;
    fplt__sum *sum;     /* owned: what the own agents add up to */
    uint64_t *words;    /* owned: sums, gradients, failures */
    double *piece;      /* owned */
    uint32_t at_once;   /* agents in a piece */
    fplt_error failure; /* of the last order, in this process */
};

static struct ranked *ranked_of(fplt__fleet *fleet)
{
    return (struct ranked *)(void *)fleet;
}

static double *numbers_of(const struct ranked *ranked)
{
    return (double *)(void *)(ranked->order + 1);
}

static void broadcast(const struct ranked *ranked)
{
    ranked->ranks->share(ranked->ranks->context, ranked->order,
                         sizeof *ranked->order + ranked->room * sizeof(double));
}

static void give_order(const struct ranked *ranked, struct order order, const double *numbers,
                       size_t count)
{
    memset(ranked->order, 0, sizeof order);
    *ranked->order = order;
    if (count)
        memcpy(numbers_of(ranked), numbers, count * sizeof *numbers);
    broadcast(ranked);
}

/* ---- Sums ---- */

/* Adds up `count` sums, the gradients and the failures of all processes. */
static void add_up(struct ranked *ranked, size_t count, double gradients, fplt_status status)
{
    uint64_t *behind = ranked->words + 2 * count;
    if (status)
        memset(ranked->words, 0, 2 * count * sizeof *ranked->words);
    else
        fplt__sum_export(ranked->sum, 0, ranked->words, count);
    behind[0] =
        (uint64_t)nearbyint(gradients * 0x1p20); /* multiples of 2^-20, as threads count them */
    behind[2] = status != FPLT_OK;
    behind[1] = behind[3] = 0;
    ranked->ranks->sum(ranked->ranks->context, ranked->words, count + 2);
}

/* The failure of the first process that has one. */
static fplt_status find_failure(struct ranked *ranked, fplt_error *error)
{
    const fplt_ranks *ranks = ranked->ranks;
    fplt_error first = ranked->failure, other;
    give_order(ranked, (struct order){.kind = WHO_FAILED}, NULL, 0);
    for (unsigned from = 1; from < ranks->count; from++) {
        ranks->receive(ranks->context, from, &other, sizeof other);
        if (!first.status)
            first = other;
    }
    if (error)
        *error = first;
    return first.status;
}

/* The leader's end of an order: into `sum`. */
static fplt_status collect(struct ranked *ranked, fplt__sum *sum, size_t count, double *gradients,
                           fplt_error *error)
{
    const uint64_t *behind = ranked->words + 2 * count;
    if (behind[2])
        return find_failure(ranked, error);
    if (gradients)
        *gradients += (double)behind[0] * 0x1p-20;
    fplt_status status = fplt__sum_add_words(sum, 0, ranked->words, count);
    return status ? fplt_error_set(error, status, "the sum over all agents is out of range")
                  : FPLT_OK;
}

/* ---- What every process does with an order; the leader too ---- */

static void do_train(struct ranked *ranked, const fplt_round *round, unsigned exchange,
                     const uint32_t *active, const double *down)
{
    double gradients = 0;
    fplt__sum_clear(ranked->sum);
    ranked->failure.status =
        ranked->inner->verbs->train(ranked->inner, round, exchange, active, down, ranked->sum,
                                    &gradients, &ranked->failure);
    add_up(ranked, fplt__plan_up(&ranked->plan, exchange), gradients, ranked->failure.status);
}

static void do_evaluate(struct ranked *ranked, const double *x)
{
    fplt__sum_clear(ranked->sum);
    ranked->failure.status =
        ranked->inner->verbs->evaluate(ranked->inner, x, ranked->sum, &ranked->failure);
    add_up(ranked, ranked->plan.dimension + FPLT__MEASURES, 0, ranked->failure.status);
}

static void do_total(struct ranked *ranked, unsigned vector, unsigned count)
{
    fplt__sum_clear(ranked->sum);
    ranked->failure.status =
        ranked->inner->verbs->total(ranked->inner, vector, count, ranked->sum, &ranked->failure);
    add_up(ranked, count * ranked->plan.dimension, 0, ranked->failure.status);
}

/* ---- Information: matrices go from process to process, so that agents are added in their order ---- */

static size_t information_size(const struct ranked *ranked, int scores)
{
    size_t n = ranked->plan.dimension;
    return fplt__facts_count(n) + (scores ? 2 : 1) * n * n;
}

static void relay(struct ranked *ranked, const double *x, double *sums, int scores,
                  fplt_error *error, fplt_status *status)
{
    const fplt_ranks *ranks = ranked->ranks;
    size_t square = ranked->plan.dimension * ranked->plan.dimension;
    size_t bytes = information_size(ranked, scores) * sizeof *sums;
    double *matrices = sums + fplt__facts_count(ranked->plan.dimension);
    fplt__information parts = {matrices, scores ? matrices + square : NULL, sums};
    if (ranks->number)
        ranks->receive(ranks->context, ranks->number - 1, sums, bytes);
    *status = ranked->inner->verbs->inform(ranked->inner, x, &parts, error);
    if (ranks->count == 1)
        return;
    ranks->send(ranks->context, (ranks->number + 1) % ranks->count, sums, bytes);
    if (!ranks->number)
        ranks->receive(ranks->context, ranks->count - 1, sums, bytes);
}

static fplt_status do_inform(struct ranked *ranked, const double *x, int scores, double **sums,
                             fplt_error *error)
{
    fplt_error own = {FPLT_OK, ""};
    fplt_status status = fplt__alloc_into(sums, information_size(ranked, scores), sizeof **sums,
                                          "the information", &own);
    if (!(status = fplt__ranks_first(ranked->ranks, status, &own))) {
        relay(ranked, x, *sums, scores, &own, &status);
        status = fplt__ranks_first(ranked->ranks, status, &own);
    }
    if (status && error)
        *error = own;
    return status;
}

/* ---- State ---- */

struct passing {
    const struct ranked *ranked;
    fplt__direction direction;
};

static size_t piece_bytes(const struct ranked *ranked, uint32_t agents)
{
    return (size_t)agents * ranked->shape.kept * ranked->plan.dimension * sizeof(double);
}

/* The own block of a process that does not lead, in pieces. */
static fplt_status pass(void *context, uint32_t first, uint32_t agents, double *numbers)
{
    const struct passing *passing = context;
    const struct ranked *ranked = passing->ranked;
    const fplt_ranks *ranks = ranked->ranks;
    (void)first;
    while (agents) {
        uint32_t count = agents < ranked->at_once ? agents : ranked->at_once;
        size_t bytes = piece_bytes(ranked, count);
        if (passing->direction == FPLT__OUT)
            ranks->send(ranks->context, 0, numbers, bytes);
        else
            ranks->receive(ranks->context, 0, numbers, bytes);
        numbers += bytes / sizeof *numbers;
        agents -= count;
    }
    return FPLT_OK;
}

static void do_carry(struct ranked *ranked, fplt__direction direction)
{
    struct passing passing = {ranked, direction};
    ranked->inner->verbs->carry(ranked->inner, direction, pass, &passing, NULL);
}

/* ---- The verbs, in the leader ---- */

static fplt_status begin_agents(fplt__fleet *fleet, fplt__sum *totals, fplt_error *error)
{
    struct ranked *ranked = ranked_of(fleet);
    size_t count = ranked->shape.mirrored * ranked->plan.dimension;
    fplt__sum_clear(ranked->sum);
    fplt_status status = ranked->inner->verbs->begin(ranked->inner, ranked->sum, error);
    if ((status = fplt__ranks_first(ranked->ranks, status, error)))
        return status;
    add_up(ranked, count, 0, FPLT_OK);
    if (ranked->ranks->number)
        return FPLT_OK;
    status = fplt__sum_add_words(totals, 0, ranked->words, count);
    return status ? fplt_error_set(error, status, "the initial vectors are out of range") : FPLT_OK;
}

static fplt_status train(fplt__fleet *fleet, const fplt_round *round, unsigned exchange,
                         const uint32_t *active, const double *down, fplt__sum *sum,
                         double *gradients, fplt_error *error)
{
    struct ranked *ranked = ranked_of(fleet);
    give_order(ranked, (struct order){.kind = TRAIN, .exchange = exchange, .round = *round}, down,
               fplt_plan_down(&ranked->plan, exchange));
    do_train(ranked, round, exchange, active, down);
    return collect(ranked, sum, fplt__plan_up(&ranked->plan, exchange), gradients, error);
}

/* Nothing comes back: this step cannot fail. */
static fplt_status finish(fplt__fleet *fleet, const fplt_round *round, const uint32_t *active,
                          const double *down, fplt_error *error)
{
    struct ranked *ranked = ranked_of(fleet);
    give_order(ranked, (struct order){.kind = FINISH, .round = *round}, down,
               fplt_plan_down(&ranked->plan, ranked->shape.exchanges));
    return ranked->inner->verbs->finish(ranked->inner, round, active, down, error);
}

static fplt_status evaluate(fplt__fleet *fleet, const double *x, fplt__sum *sum, fplt_error *error)
{
    struct ranked *ranked = ranked_of(fleet);
    give_order(ranked, (struct order){.kind = EVALUATE}, x, ranked->plan.dimension);
    do_evaluate(ranked, x);
    return collect(ranked, sum, ranked->plan.dimension + FPLT__MEASURES, NULL, error);
}

static fplt_status total(fplt__fleet *fleet, unsigned vector, unsigned count, fplt__sum *sum,
                         fplt_error *error)
{
    struct ranked *ranked = ranked_of(fleet);
    give_order(ranked, (struct order){.kind = TOTAL, .vector = vector, .count = count}, NULL, 0);
    do_total(ranked, vector, count);
    return collect(ranked, sum, count * ranked->plan.dimension, NULL, error);
}

/* Whatever the visitor says, all pieces travel: the others wait for them. */
static fplt_status carry_block(struct ranked *ranked, unsigned number, fplt__direction direction,
                               fplt__fleet_piece piece, void *context, fplt_status status)
{
    const fplt_ranks *ranks = ranked->ranks;
    uint32_t first, end;
    fplt__ranks_block(ranks, ranked->plan.agents, number, &first, &end);
    while (first < end) {
        uint32_t count = end - first < ranked->at_once ? end - first : ranked->at_once;
        size_t bytes = piece_bytes(ranked, count);
        if (direction == FPLT__OUT)
            ranks->receive(ranks->context, number, ranked->piece, bytes);
        if (!status)
            status = piece(context, first, count, ranked->piece);
        if (direction == FPLT__IN)
            ranks->send(ranks->context, number, ranked->piece, bytes);
        first += count;
    }
    return status;
}

static fplt_status carry(fplt__fleet *fleet, fplt__direction direction, fplt__fleet_piece piece,
                         void *context, fplt_error *error)
{
    struct ranked *ranked = ranked_of(fleet);
    give_order(ranked, (struct order){.kind = direction == FPLT__OUT ? STATE_OUT : STATE_IN}, NULL,
               0);
    fplt_status status =
        ranked->inner->verbs->carry(ranked->inner, direction, piece, context, error);
    for (unsigned number = 1; number < ranked->ranks->count; number++)
        status = carry_block(ranked, number, direction, piece, context, status);
    return status ? fplt_error_set(error, status, "the agents' state cannot be carried") : FPLT_OK;
}

static fplt_status inform(fplt__fleet *fleet, const double *x, const fplt__information *into,
                          fplt_error *error)
{
    struct ranked *ranked = ranked_of(fleet);
    size_t n = ranked->plan.dimension;
    double *sums = NULL;
    int scores = into->scores != NULL;
    give_order(ranked, (struct order){.kind = INFORM, .count = (unsigned)scores}, x, n);
    fplt_status status = do_inform(ranked, x, scores, &sums, error);
    size_t facts = fplt__facts_count(n);
    for (size_t i = 0; !status && i < n * n; i++) {
        into->information[i] += sums[facts + i];
        if (scores)
            into->scores[i] += sums[facts + n * n + i];
    }
    for (size_t i = 0; !status && into->facts && i < facts; i++)
        into->facts[i] += sums[i];
    fplt__free(sums);
    return status;
}

static const double *kept(const fplt__fleet *fleet, uint32_t agent)
{
    const struct ranked *ranked = (const struct ranked *)(const void *)fleet;
    return ranked->inner->verbs->kept(ranked->inner, agent);
}

/* ---- The others ---- */

/* The set of active agents follows from the seed, so it is not sent. */
static const uint32_t *active_in(struct ranked *ranked, const fplt_round *round)
{
    if (ranked->chosen != round->number + 1)
        fplt_participation_choose(ranked->participation, ranked->plan.seed, ranked->plan.run,
                                  round->number, ranked->active);
    ranked->chosen = round->number + 1;
    return ranked->active;
}

static void obey(struct ranked *ranked, const struct order *order, const double *numbers)
{
    const fplt_ranks *ranks = ranked->ranks;
    const struct fplt__fleet_verbs *inner = ranked->inner->verbs;
    double *sums = NULL;
    switch ((enum kind)order->kind) {
    case END: break;
    case TRAIN:
        do_train(ranked, &order->round, order->exchange, active_in(ranked, &order->round), numbers);
        break;
    case FINISH:
        inner->finish(ranked->inner, &order->round, active_in(ranked, &order->round), numbers,
                      &ranked->failure);
        break;
    case EVALUATE: do_evaluate(ranked, numbers); break;
    case TOTAL: do_total(ranked, order->vector, order->count); break;
    case WHO_FAILED:
        ranks->send(ranks->context, 0, &ranked->failure, sizeof ranked->failure);
        break;
    case STATE_OUT: do_carry(ranked, FPLT__OUT); break;
    case STATE_IN: do_carry(ranked, FPLT__IN); break;
    case INFORM:
        do_inform(ranked, numbers, (int)order->count, &sums, NULL);
        fplt__free(sums);
        break;
    }
}

static void serve(fplt__fleet *fleet)
{
    struct ranked *ranked = ranked_of(fleet);
    if (!ranked->ranks->number)
        return;
    do {
        broadcast(ranked);
        obey(ranked, ranked->order, numbers_of(ranked));
    } while (ranked->order->kind != END);
}

/* ---- Creating ---- */

static void destroy(fplt__fleet *fleet)
{
    struct ranked *ranked = ranked_of(fleet);
    if (!ranked)
        return;
    if (ranked->order && !ranked->ranks->number && !ranked->ranks->ended)
        give_order(ranked, (struct order){.kind = END}, NULL, 0);
    if (ranked->inner)
        ranked->inner->verbs->destroy(ranked->inner);
    fplt__sum_destroy(ranked->sum);
    fplt__free(ranked->active);
    fplt__free(ranked->order);
    fplt__free(ranked->words);
    fplt__free(ranked->piece);
    fplt__free(ranked);
}

static const struct fplt__fleet_verbs verbs = {
    .begin = begin_agents,
    .train = train,
    .finish = finish,
    .evaluate = evaluate,
    .total = total,
    .carry = carry,
    .inform = inform,
    .kept = kept,
    .serve = serve,
    .destroy = destroy,
};

static fplt_status allocate(struct ranked *ranked, fplt_error *error)
{
    const char *what = "the exchange between processes";
    size_t longest = fplt__fleet_longest(&ranked->plan), bytes = piece_bytes(ranked, 1);
    fplt_status status;
    ranked->room = ranked->plan.dimension;
    for (unsigned e = 0; e <= ranked->shape.exchanges; e++) {
        size_t down = fplt_plan_down(&ranked->plan, e);
        ranked->room = down > ranked->room ? down : ranked->room;
    }
    ranked->at_once = bytes < PIECE ? (uint32_t)(PIECE / (bytes ? bytes : PIECE)) : 1;
    if ((status = fplt__sum_create(longest, FPLT_SUM_EXPONENT, &ranked->sum, error)) ||
        (status = fplt__alloc_into(&ranked->words, 2 * (longest + 2), sizeof *ranked->words, what,
                                   error)) ||
        (ranked->ranks->number &&
         (status = fplt__alloc_into(&ranked->active, ranked->plan.agents, sizeof *ranked->active,
                                    what, error))) ||
        (status = fplt__alloc_into(&ranked->piece, piece_bytes(ranked, ranked->at_once) + 1, 1,
                                   what, error)))
        return status;
    return fplt__alloc_into(&ranked->order, 1,
                            sizeof *ranked->order + ranked->room * sizeof(double), what, error);
}

fplt_status fplt__ranked_create(const struct fplt__fleet_plan *plan, fplt__fleet **out,
                                fplt_error *error)
{
    *out = NULL;
    struct ranked *ranked;
    fplt_status status =
        fplt__alloc_into(&ranked, 1, sizeof *ranked, "the exchange between processes", error);
    if (status)
        return status;
    ranked->base.verbs = &verbs;
    ranked->ranks = plan->settings->ranks;
    ranked->plan = *plan->plan;
    ranked->shape =
        fplt_algorithm_shape(plan->plan->algorithm, plan->plan->parameter, plan->plan->dimension);
    ranked->participation = plan->participation;
    status = fplt__threads_create(plan, &ranked->inner, error);
    if (!status)
        status = allocate(ranked, error);
    if ((status = fplt_ranks_agree(ranked->ranks, status, error))) {
        destroy(&ranked->base);
        return status;
    }
    *out = &ranked->base;
    return FPLT_OK;
}
