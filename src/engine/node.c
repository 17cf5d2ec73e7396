/* One agent, driven by hand. */
#include "fedplt/encoding.h"
#include "fedplt/hub_node.h"

#include <string.h>

#include <sodium.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/sum.h"
#include "engine/hub_node.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "base/status.h"
#include "engine/hub.h"
#include "engine/member.h"
#include "engine/node.h"
#include "solver/solver.h"

enum { HASH = 32, EXCHANGES = 2 };

struct fplt_node {
    fplt_plan plan;
    fplt_shape shape;
    fplt_node_settings settings; /* objective and noise borrowed */
    double step;
    double *kept, *staged, *held, *work, *up, *scratch, *state; /* owned */
    fplt__sum *sum;
    double gradients;
    uint64_t computed; /* rounds, against the cap */
    int has_latest;
    uint64_t latest;   /* round */
    unsigned answered; /* exchanges of it */
    struct {
        unsigned char question[HASH];
        uint64_t *words; /* owned */
        int known;       /* whether the words are here */
    } answer[EXCHANGES];
};

static fplt_status allocate(fplt_node *node, fplt_error *error)
{
    size_t n = node->plan.dimension, most = fplt__plan_largest_up(&node->plan);
    size_t facts =
        fplt__facts_count(n) > n + FPLT__MEASURES ? fplt__facts_count(n) : n + FPLT__MEASURES;
    size_t sums = most > facts ? most : facts;
    sums = sums > node->shape.mirrored * n ? sums : node->shape.mirrored * n;
    const fplt_objective *objective = node->settings.objective;
    const fplt_training *training = &node->settings.training;
    FPLT__ASSERT(node->shape.exchanges > 0 && node->shape.exchanges <= EXCHANGES);
    FPLT__ASSERT(node->shape.mirrored <= node->shape.kept);
    const struct {
        double **where;
        size_t count;
    } wanted[] = {
        {&node->kept, node->shape.kept * n},
        {&node->staged, node->shape.kept * n},
        {&node->held, node->shape.held * n},
        {&node->work, node->shape.work * n},
        {&node->up, sums},
        {&node->scratch, fplt__local_scratch(objective, training)},
        {&node->state, fplt__solver_state(objective, training)},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        fplt_status status =
            fplt__alloc_into(wanted[i].where, wanted[i].count, sizeof(double), "an agent", error);
        if (status)
            return status;
    }
    for (unsigned e = 0; e < node->shape.exchanges; e++) {
        fplt_status status =
            fplt__alloc_into(&node->answer[e].words, fplt_plan_words(&node->plan, e),
                             sizeof(uint64_t), "an agent", error);
        if (status)
            return status;
    }
    return fplt__sum_create(sums, FPLT_SUM_EXPONENT, &node->sum, error);
}

/* The agent as the algorithm sees it; `local` must outlive it. */
static fplt_agent view_of(fplt_node *node, fplt_local *local, uint64_t round)
{
    const fplt_node_settings *settings = &node->settings;
    FPLT__ASSERT(settings->member_index < node->plan.agents);
    FPLT__ASSERT(settings->cost < fplt_objective_agents(settings->objective));
    *local = (fplt_local){
        .problem = {.objective = settings->objective, .agent = settings->cost},
        .training = settings->training,
        .step = fplt__decayed_step(&settings->training, node->step, round),
        .curvature = settings->curvature,
        .seed = node->plan.seed,
        .round = round,
        .run = node->plan.run,
        .member_index = settings->member_index,
        .noise = settings->noise,
        .scratch = node->scratch,
        .state = fplt__solver_state(settings->objective, &settings->training) ? node->state : NULL,
    };
    return (fplt_agent){
        .member_index = settings->member_index,
        .dimension = node->plan.dimension,
        .parameter = node->plan.parameter,
        .kept = node->kept,
        .staged = node->staged,
        .held = node->held,
        .work = node->work,
        .local = local,
    };
}

static fplt_status begin_node(fplt_node *node, const double *start, const double *second,
                              fplt_error *error)
{
    size_t n = node->plan.dimension;
    double *zero;
    fplt_status status = fplt__alloc_into(&zero, n, sizeof *zero, "an agent", error);
    if (status)
        return status;
    fplt_local local;
    fplt_agent agent = view_of(node, &local, 0);
    fplt__member_begin(&node->plan, &node->shape, &agent, start ? start : zero,
                       second ? second : zero);
    fplt__free(zero);
    fplt_node_accept(node);
    return FPLT_OK;
}

fplt_status fplt__node_restart(fplt_node *node, const double *start, fplt_error *error)
{
    fplt_node_drop(node);
    return begin_node(node, start, start, error);
}

static fplt_status check_settings(const fplt_plan *plan, const fplt_node_settings *settings,
                                  fplt_error *error)
{
    uint32_t weighed = settings->objective->weighed;
    if (fplt_objective_dimension(settings->objective) != plan->dimension)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u: its cost has dimension %zu, but the plan says %zu",
                              settings->member_index, fplt_objective_dimension(settings->objective),
                              plan->dimension);
    if (settings->cost >= fplt_objective_agents(settings->objective) ||
        settings->member_index >= plan->agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u of %u with cost %u of %u: numbers begin at 0",
                              settings->member_index, plan->agents, settings->cost,
                              fplt_objective_agents(settings->objective));
    if (weighed && weighed != plan->agents)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "agent %u: its rows are to count as those of all %u agents do, but its "
            "cost knows the rows of %u: give all_agents and all_weight",
            settings->member_index, plan->agents, weighed);
    fplt_status status = fplt__training_check(&settings->training, settings->objective, error);
    if (status || (status = FPLT__CHECK_TABLE(fplt_algorithm, plan->algorithm, error)) ||
        (status = fplt__plan_check_unit(plan, error)))
        return status;
    if (settings->noise && (status = FPLT__CHECK_TABLE(fplt_noise_source, settings->noise, error)))
        return status;
    if (fplt_algorithm_shares_step(plan->algorithm, settings->training.solver) && !(plan->step > 0))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u: %s needs one step size for all agents, but the plan has "
                              "none",
                              settings->member_index, plan->algorithm->name);
    return FPLT_OK;
}

fplt_status fplt_node_create(const fplt_plan *plan, const fplt_node_settings *settings,
                             fplt_node **out, fplt_error *error)
{
    fplt_node *node;
    *out = NULL;
    fplt_status status = check_settings(plan, settings, error);
    if (status || (status = fplt__alloc_into(&node, 1, sizeof *node, "an agent", error)))
        return status;
    node->plan = *plan;
    node->settings = *settings;
    node->shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    node->step = fplt__member_step(plan, &settings->training, &settings->curvature,
                                   settings->cohort ? settings->cohort : plan->agents);
    if ((status = allocate(node, error)) ||
        (status = begin_node(node, settings->start, settings->second, error))) {
        fplt_node_destroy(node);
        return status;
    }
    node->settings.start = node->settings.second = NULL;
    *out = node;
    return FPLT_OK;
}

void fplt_node_destroy(fplt_node *node)
{
    if (!node)
        return;
    fplt__free(node->kept);
    fplt__free(node->staged);
    fplt__free(node->held);
    fplt__free(node->work);
    fplt__free(node->up);
    fplt__free(node->scratch);
    fplt__free(node->state);
    for (unsigned e = 0; e < EXCHANGES; e++)
        fplt__free(node->answer[e].words);
    fplt__sum_destroy(node->sum);
    fplt__free(node);
}

fplt_status fplt_node_enrol(fplt_node *node, uint64_t *words)
{
    size_t count = node->shape.mirrored * node->plan.dimension;
    FPLT__ASSERT(count <= fplt__sum_length(node->sum));
    fplt__sum_clear(node->sum);
    fplt_status status = count ? fplt__sum_add(node->sum, 0, node->kept, count) : FPLT_OK;
    fplt__sum_export(node->sum, 0, words, count);
    return status;
}

/* All that an answer depends on but the agent's own state. */
static void hash_question(const fplt_node *node, const fplt_round *round, unsigned exchange,
                          const double *down, unsigned char hash[HASH])
{
    crypto_generichash_state state;
    uint64_t head[4] = {round->number, round->active, round->position, round->epochs};
    crypto_generichash_init(&state, NULL, 0, HASH);
    crypto_generichash_update(&state, (const unsigned char *)head, sizeof head);
    crypto_generichash_update(&state, (const unsigned char *)round->scalar,
                              node->shape.scalars * sizeof *round->scalar);
    crypto_generichash_update(&state, (const unsigned char *)down,
                              fplt_plan_down(&node->plan, exchange) * sizeof *down);
    crypto_generichash_final(&state, hash, HASH);
}

/* Whether the question may be computed; FPLT_OK too where it was answered. */
static fplt_status check_turn(const fplt_node *node, const fplt_round *round, unsigned exchange,
                              fplt_error *error)
{
    unsigned long long number = round->number, latest = node->latest;
    uint32_t identity = node->settings.member_index;
    uint64_t cap = node->settings.cap;
    int again = node->has_latest && number == latest;
    if (exchange >= node->shape.exchanges || (exchange && !(again && node->answered >= exchange)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u: exchange %u of round %llu comes out of turn", identity,
                              exchange, number);
    if (node->has_latest && number < latest)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u: round %llu is over, it has answered round %llu", identity,
                              number, latest);
    if (cap && exchange == 0 && !(again && node->answered) && node->computed >= cap)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u has computed the %llu rounds that it may", identity,
                              (unsigned long long)cap);
    return FPLT_OK;
}

/* Whether it was answered: then with the words of then. */
static fplt_status repeat(const fplt_node *node, unsigned exchange,
                          const unsigned char question[HASH], uint64_t *words, fplt_error *error)
{
    FPLT__ASSERT(node->has_latest && exchange < node->answered);
    if (!node->answer[exchange].known ||
        memcmp(node->answer[exchange].question, question, HASH) != 0)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "agent %u has answered round %llu with another content: drop it first",
            node->settings.member_index, (unsigned long long)node->latest);
    memcpy(words, node->answer[exchange].words,
           fplt_plan_words(&node->plan, exchange) * sizeof *words);
    return FPLT_OK;
}

static void remember(fplt_node *node, const fplt_round *round, unsigned exchange,
                     const unsigned char question[HASH], const uint64_t *words)
{
    FPLT__ASSERT(exchange < node->shape.exchanges);
    FPLT__ASSERT(!node->has_latest || round->number >= node->latest);
    FPLT__ASSERT(exchange == 0 || (node->has_latest && node->latest == round->number &&
                                   node->answered == exchange)); /* in order */
    node->has_latest = 1;
    node->latest = round->number;
    node->answered = exchange + 1;
    node->computed += exchange == 0;
    FPLT__ASSERT(exchange || !node->settings.cap || node->computed <= node->settings.cap);
    FPLT__ASSERT(node->answered <= node->shape.exchanges);
    for (unsigned e = exchange; e < EXCHANGES; e++)
        node->answer[e].known = 0;
    node->answer[exchange].known = 1;
    memcpy(node->answer[exchange].question, question, HASH);
    memcpy(node->answer[exchange].words, words,
           fplt_plan_words(&node->plan, exchange) * sizeof *words);
}

fplt_status fplt_node_train(fplt_node *node, const fplt_round *round, unsigned exchange,
                            const double *down, uint64_t *words, fplt_error *error)
{
    unsigned char question[HASH];
    fplt_status status = check_turn(node, round, exchange, error);
    if (status)
        return status;
    hash_question(node, round, exchange, down, question);
    if (node->has_latest && round->number == node->latest && exchange < node->answered)
        return repeat(node, exchange, question, words, error);
    fplt_local local;
    fplt_agent agent = view_of(node, &local, round->number);
    FPLT__ASSERT(fplt__plan_up(&node->plan, exchange) <= fplt__sum_length(node->sum));
    fplt__sum_clear(node->sum);
    status = fplt__member_exchange(&node->plan, &node->shape, &agent, round, exchange, down,
                                   node->up, node->sum, error);
    FPLT__ASSERT(local.gradients >= 0);
    node->gradients += local.gradients;
    if (status)
        return status;
    fplt__sum_export(node->sum, 0, words, fplt__plan_up(&node->plan, exchange));
    remember(node, round, exchange, question, words);
    return FPLT_OK;
}

fplt__multiple fplt__node_expect_measure(const fplt_node *node, const double *down)
{
    const fplt_node_settings *settings = &node->settings;
    return (fplt__multiple){down, node->plan.dimension,
                            fplt__objective_pull(settings->objective, settings->cost)};
}

fplt__multiple fplt__node_expect_update(const fplt_node *node, unsigned exchange,
                                        const double *down)
{
    unsigned gradients = FPLT_SENDS_MEASURES | FPLT_SENDS_HESSIANS;
    FPLT__ASSERT(exchange < node->shape.exchanges);
    if (node->plan.algorithm->allows & gradients && node->shape.exchange[exchange].down)
        return fplt__node_expect_measure(node, down);
    return (fplt__multiple){down, 0, 0};
}

void fplt_node_drop(fplt_node *node)
{
    node->answered = 0;
    for (unsigned e = 0; e < EXCHANGES; e++)
        node->answer[e].known = 0;
}

void fplt_node_finish(fplt_node *node, const fplt_round *round, const double *down)
{
    fplt_local local;
    fplt_agent agent = view_of(node, &local, round->number);
    FPLT__ASSERT(!node->has_latest || round->number <= node->latest);
    if (node->plan.algorithm->finish)
        node->plan.algorithm->finish(&agent, round, down);
}

void fplt_node_accept(fplt_node *node)
{
    memcpy(node->kept, node->staged, node->shape.kept * node->plan.dimension * sizeof(double));
}

const double *fplt__node_kept(const fplt_node *node)
{
    return node->kept;
}

double fplt__node_gradients(const fplt_node *node)
{
    return node->gradients;
}

/* Adds to the node's own sum and writes words. */
static fplt_status as_words(fplt_node *node, const double *numbers, size_t count, uint64_t *words,
                            const char *what, fplt_error *error)
{
    FPLT__ASSERT(count <= fplt__sum_length(node->sum));
    fplt__sum_clear(node->sum);
    fplt_status status = fplt__sum_add(node->sum, 0, numbers, count);
    if (status)
        return fplt_error_set(error, status, "agent %u: %s is not finite or too large",
                              node->settings.member_index, what);
    fplt__sum_export(node->sum, 0, words, count);
    return FPLT_OK;
}

fplt_status fplt__node_measure(fplt_node *node, const double *x, uint64_t *words, fplt_error *error)
{
    size_t n = node->plan.dimension;
    fplt_status status = fplt__member_measure(node->settings.objective, node->settings.cost, x,
                                              node->up, node->scratch);
    if (status)
        return fplt_error_set(error, status, "the cost of agent %u failed",
                              node->settings.member_index);
    return as_words(node, node->up, n + FPLT__MEASURES, words, "its cost or gradient", error);
}

fplt_status fplt_node_local_model(fplt_node *node, uint64_t *words, fplt_error *error)
{
    size_t n = node->plan.dimension;
    FPLT__ASSERT(node->shape.local_model < (int)node->shape.kept);
    if (node->shape.local_model < 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED, "agents of %s keep no model of their own",
                              node->plan.algorithm->name);
    return as_words(node, node->kept + (size_t)node->shape.local_model * n, n, words, "its model",
                    error);
}

size_t fplt__plan_information(const fplt_plan *plan)
{
    return 2 * plan->dimension * plan->dimension + fplt__facts_count(plan->dimension);
}

fplt_status fplt__node_information(fplt_node *node, const double *x, uint64_t *words,
                                   fplt_error *error)
{
    size_t n = node->plan.dimension;
    double *matrix;
    fplt_status status = fplt__alloc_into(&matrix, fplt__plan_information(&node->plan),
                                          sizeof *matrix, "the information", error);
    if (status)
        return status;
    fplt__information sums = {matrix, matrix + n * n, matrix + 2 * n * n};
    status =
        fplt__agent_information(node->settings.objective, node->settings.cost, x, &sums, error);
    for (size_t row = 0; row < 2 * n && !status; row++)
        status = as_words(node, matrix + row * n, n, words + 2 * row * n, "its Hessian", error);
    if (!status)
        status =
            as_words(node, sums.facts, fplt__facts_count(n), words + 4 * n * n, "its cost", error);
    fplt__free(matrix);
    return status;
}

fplt_status fplt__node_begun(fplt_node *node, const double *start, uint64_t *words,
                             fplt_error *error)
{
    size_t count = node->shape.mirrored * node->plan.dimension;
    fplt_local local;
    fplt_agent agent = view_of(node, &local, 0);
    fplt__member_begin(&node->plan, &node->shape, &agent, start, start);
    return count ? as_words(node, node->staged, count, words, "its start", error) : FPLT_OK;
}

fplt__node_parts fplt__node_get(const fplt_node *node)
{
    size_t n = node->plan.dimension;
    return (fplt__node_parts){.kept = node->kept,
                              .staged = node->staged,
                              .held = node->held,
                              .kept_count = node->shape.kept * n,
                              .held_count = node->shape.held * n,
                              .computed = node->computed,
                              .has_latest = node->has_latest,
                              .latest = node->latest,
                              .answered = node->answered};
}

void fplt__node_set(fplt_node *node, const fplt__node_parts *parts)
{
    size_t kept = node->shape.kept * node->plan.dimension * sizeof(double);
    size_t held = node->shape.held * node->plan.dimension * sizeof(double);
    fplt_node_drop(node);
    if (parts->kept)
        memcpy(node->kept, parts->kept, kept);
    if (parts->staged)
        memcpy(node->staged, parts->staged, kept);
    if (parts->held)
        memcpy(node->held, parts->held, held);
    node->computed = parts->computed;
    node->has_latest = parts->has_latest;
    node->latest = parts->latest;
    node->answered = parts->answered;
}

void fplt__node_count(fplt_node *node, uint64_t computed)
{
    if (node->computed < computed)
        node->computed = computed;
}

/* version, answered (u8), which answers are known (u8), has latest (u8), u32 kept, held, exchanges, u64
 * dimension, latest, computed; kept, staged, held; each known answer: its question and words */
enum { NODE_VERSION = 1, NODE_HEAD = 4 + 12 + 24 };

static size_t encoded_size(const fplt_node *node, unsigned known)
{
    size_t n = node->plan.dimension;
    size_t size = NODE_HEAD + 8 * n * (2 * node->shape.kept + node->shape.held);
    for (unsigned e = 0; e < node->shape.exchanges; e++)
        size += known >> e & 1 ? HASH + 8 * fplt_plan_words(&node->plan, e) : 0;
    return size;
}

size_t fplt_node_encode(const fplt_node *node, void *bytes, size_t room)
{
    const fplt_shape *shape = &node->shape;
    size_t n = node->plan.dimension;
    unsigned known = (unsigned)node->answer[0].known | (unsigned)node->answer[1].known << 1;
    FPLT__ASSERT(known < 1u << shape->exchanges);
    size_t needed = encoded_size(node, known);
    if (room < needed)
        return needed;
    uint8_t *to = bytes;
    const uint8_t flags[] = {NODE_VERSION, (uint8_t)node->answered, (uint8_t)known,
                             (uint8_t)node->has_latest};
    memcpy(to, flags, sizeof flags);
    fplt__put32(to + 4, shape->kept);
    fplt__put32(to + 8, shape->held);
    fplt__put32(to + 12, shape->exchanges);
    fplt__put64(to + 16, n);
    fplt__put64(to + 24, node->latest);
    fplt__put64(to + 32, node->computed);
    to += NODE_HEAD;
    fplt__put_reals(to, node->kept, shape->kept * n);
    to += 8 * shape->kept * n;
    fplt__put_reals(to, node->staged, shape->kept * n);
    to += 8 * shape->kept * n;
    fplt__put_reals(to, node->held, shape->held * n);
    to += 8 * shape->held * n;
    for (unsigned e = 0; e < shape->exchanges; e++) {
        if (!(known >> e & 1))
            continue;
        memcpy(to, node->answer[e].question, HASH);
        to += HASH;
        for (size_t i = 0; i < fplt_plan_words(&node->plan, e); i++, to += 8)
            fplt__put64(to, node->answer[e].words[i]);
    }
    FPLT__ASSERT(to == (uint8_t *)bytes + needed);
    return needed;
}

fplt_status fplt_node_decode(fplt_node *node, const void *bytes, size_t size, fplt_error *error)
{
    const fplt_shape *shape = &node->shape;
    const uint8_t *from = bytes;
    size_t n = node->plan.dimension;
    unsigned known = size >= NODE_HEAD ? from[2] : 0;
    if (size < NODE_HEAD || from[0] != NODE_VERSION || known >= 1u << shape->exchanges ||
        from[1] > shape->exchanges || from[3] > 1 || size != encoded_size(node, known) ||
        fplt__get32(from + 4) != shape->kept || fplt__get32(from + 8) != shape->held ||
        fplt__get32(from + 12) != shape->exchanges || fplt__get64(from + 16) != n)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "an agent's state of %zu bytes is not one of %s with dimension %zu",
                              size, node->plan.algorithm->name, n);
    node->answered = from[1];
    node->has_latest = from[3];
    node->latest = fplt__get64(from + 24);
    node->computed = fplt__get64(from + 32);
    from += NODE_HEAD;
    fplt__get_reals(from, node->kept, shape->kept * n);
    from += 8 * shape->kept * n;
    fplt__get_reals(from, node->staged, shape->kept * n);
    from += 8 * shape->kept * n;
    fplt__get_reals(from, node->held, shape->held * n);
    from += 8 * shape->held * n;
    for (unsigned e = 0; e < shape->exchanges; e++) {
        node->answer[e].known = known >> e & 1;
        if (!node->answer[e].known)
            continue;
        memcpy(node->answer[e].question, from, HASH);
        from += HASH;
        for (size_t i = 0; i < fplt_plan_words(&node->plan, e); i++, from += 8)
            node->answer[e].words[i] = fplt__get64(from);
    }
    FPLT__ASSERT(from == (const uint8_t *)bytes + size);
    return FPLT_OK;
}
