/* The coordinator: algorithm state, the sum of an exchange, the running sums. */
#include "engine/hub.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/sum.h"
#include "engine/hub_node.h"
#include "engine/member.h"
#include "fedplt/encoding.h"

size_t fplt__plain_up(const fplt_shape *shape, size_t dimension, unsigned exchange)
{
    FPLT__ASSERT(exchange < shape->exchanges);
    return shape->exchange[exchange].up * dimension + shape->exchange[exchange].up_scalars;
}

size_t fplt__mirrored_up(const fplt_shape *shape, size_t dimension, unsigned exchange)
{
    FPLT__ASSERT(exchange < shape->exchanges);
    return exchange + 1 == shape->exchanges ? shape->mirrored * dimension : 0;
}

static void begin_hub(fplt_hub *hub, const double *start)
{
    memset(hub->view.vector, 0, hub->shape.vectors * hub->plan.dimension * sizeof(double));
    memset(hub->view.number, 0, hub->shape.numbers * sizeof(double));
    if (hub->plan.algorithm->begin_coordinator)
        hub->plan.algorithm->begin_coordinator(&hub->view, start);
}

fplt_status fplt__hub_create(const fplt_plan *plan, const fplt_prox *prox, const double *start,
                             fplt__sum_maker make, fplt_hub **out, fplt_error *error)
{
    *out = NULL;
    fplt_hub *hub;
    fplt_status status = FPLT__CHECK_TABLE(fplt_algorithm, plan->algorithm, error);
    if (status || (status = fplt__plan_check_unit(plan, error)) ||
        (status = fplt__alloc_into(&hub, 1, sizeof *hub, "a coordinator", error)))
        return status;
    size_t n = plan->dimension;
    hub->plan = *plan;
    hub->shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    size_t most = fplt__plan_largest_up(plan), mirrored = hub->shape.mirrored * n;
    double *zero = NULL;
    hub->view = (fplt_coordinator){
        .dimension = n, .agents = plan->agents, .parameter = hub->plan.parameter, .prox = prox};
    if (!prox) {
        fplt_prox_settings none = fplt_prox_defaults();
        status = fplt_prox_create(&none, n, n, &hub->no_prox, error);
        hub->view.prox = hub->no_prox;
    }
    const char *what = "a coordinator";
    if (status || (status = fplt__alloc_into(&zero, n, sizeof *zero, what, error)) ||
        (status = fplt__alloc_into(&hub->view.vector, hub->shape.vectors * n, sizeof(double), what,
                                   error)) ||
        (status = fplt__alloc_into(&hub->view.number, hub->shape.numbers, sizeof(double), what,
                                   error)) ||
        (status = fplt__alloc_into(&hub->view.scratch, hub->shape.scratch * n, sizeof(double), what,
                                   error)) ||
        (status = fplt__alloc_into(&hub->numbers, most, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&hub->total, mirrored, sizeof(double), what, error)) ||
        (status = make(most, FPLT_SUM_EXPONENT, &hub->up, error)) ||
        (status = make(mirrored, FPLT_SUM_EXPONENT, &hub->totals, error))) {
        fplt__free(zero);
        fplt_hub_destroy(hub);
        return status;
    }
    hub->view.total = hub->total;
    FPLT__ASSERT(fplt__sum_length(hub->up) == most && fplt__sum_length(hub->totals) == mirrored);
    FPLT__ASSERT(hub->shape.mirrored <= hub->shape.kept);
    begin_hub(hub, start ? start : zero);
    fplt__free(zero);
    *out = hub;
    return FPLT_OK;
}

fplt_status fplt_hub_create(const fplt_plan *plan, const fplt_prox *prox, const double *start,
                            fplt_hub **hub, fplt_error *error)
{
    return fplt__hub_create(plan, prox, start, fplt__sum_create_words, hub, error);
}

void fplt_hub_destroy(fplt_hub *hub)
{
    if (!hub)
        return;
    fplt_prox_destroy(hub->no_prox);
    fplt__free(hub->view.vector);
    fplt__free(hub->view.number);
    fplt__free(hub->view.scratch);
    fplt__free(hub->numbers);
    fplt__free(hub->total);
    fplt__sum_destroy(hub->up);
    fplt__sum_destroy(hub->totals);
    fplt__multiples_destroy(hub->expected);
    fplt__free(hub);
}

void fplt__hub_refresh(fplt_hub *hub)
{
    FPLT__ASSERT(fplt__sum_length(hub->totals) == hub->shape.mirrored * hub->plan.dimension);
    fplt__sum_read(hub->totals, 0, hub->total, fplt__sum_length(hub->totals));
}

fplt_status fplt_hub_enrol(fplt_hub *hub, const uint64_t *words)
{
    fplt_status status = fplt__sum_add_words(hub->totals, 0, words, fplt__sum_length(hub->totals));
    fplt__hub_refresh(hub);
    return status;
}

/* What an agent that begins at `start` mirrors, added for all. */
static fplt_status add_begun(fplt_hub *hub, double *staged, uint64_t *words, const double *start)
{
    size_t count = fplt__sum_length(hub->totals);
    fplt_agent agent = {
        .dimension = hub->plan.dimension, .parameter = hub->plan.parameter, .staged = staged};
    fplt__sum *one;
    FPLT__ASSERT(count <= hub->shape.kept * hub->plan.dimension);
    fplt__member_begin(&hub->plan, &hub->shape, &agent, start, start);
    fplt_status status = fplt__sum_create(count, FPLT_SUM_EXPONENT, &one, NULL);
    if (!status)
        status = fplt__sum_add(one, 0, staged, count);
    if (!status)
        fplt__sum_export(one, 0, words, count);
    for (uint32_t i = 0; i < hub->plan.agents && !status; i++)
        status = fplt__sum_add_words(hub->totals, 0, words, count);
    fplt__sum_destroy(one);
    return status;
}

fplt_status fplt__hub_enrol_all(fplt_hub *hub, const double *start, fplt_error *error)
{
    size_t n = hub->plan.dimension;
    double *room;
    uint64_t *words;
    fplt_status status =
        fplt__alloc_into(&room, (hub->shape.kept + 1) * n, sizeof *room, "a coordinator", error);
    if (status)
        return status;
    status = fplt__alloc_into(&words, 2 * hub->shape.mirrored * n, sizeof *words, "a coordinator",
                              error);
    if (!status) {
        status = add_begun(hub, room + n, words, start ? start : room);
        if (status)
            fplt_error_set(error, status, "the start is not finite or too large for %u agents",
                           hub->plan.agents);
    }
    fplt__hub_refresh(hub);
    fplt__free(room);
    fplt__free(words);
    return status;
}

void fplt__hub_restart(fplt_hub *hub, const double *start)
{
    fplt_hub_abandon(hub);
    fplt__sum_clear(hub->totals);
    fplt__hub_refresh(hub);
    if (start)
        begin_hub(hub, start);
}

void fplt_hub_plan(const fplt_hub *hub, uint64_t number, uint32_t active, fplt_round *round)
{
    FPLT__ASSERT(active <= hub->plan.agents);
    fplt__round_make(&hub->plan, number, active, 0, NULL, round);
    if (hub->plan.algorithm->plan)
        hub->plan.algorithm->plan(&hub->view, round);
    FPLT__ASSERT(round->number == number && round->active == active);
}

fplt_status fplt_hub_broadcast(const fplt_hub *hub, const fplt_round *round, unsigned exchange,
                               double *down)
{
    FPLT__ASSERT(exchange <= hub->shape.exchanges); /* the last one is for finish */
    return hub->plan.algorithm->broadcast(&hub->view, round, exchange, down);
}

fplt_status fplt_hub_receive(fplt_hub *hub, unsigned exchange, const uint64_t *words)
{
    FPLT__ASSERT(fplt__plan_up(&hub->plan, exchange) <= fplt__sum_length(hub->up));
    return fplt__sum_add_words(hub->up, 0, words, fplt__plan_up(&hub->plan, exchange));
}

fplt_status fplt__hub_receive_packed(fplt_hub *hub, unsigned exchange, const void *bytes,
                                     size_t size, fplt_error *error)
{
    FPLT__ASSERT(fplt__plan_up(&hub->plan, exchange) <= fplt__sum_length(hub->up));
    return fplt__sum_add_packed(hub->up, 0, bytes, size, fplt__plan_up(&hub->plan, exchange),
                                error);
}

fplt_status fplt__hub_accept_lists(fplt_hub *hub, fplt_error *error)
{
    FPLT__ASSERT(!hub->expected);
    return fplt__multiples_create(hub->plan.dimension, hub->plan.agents, &hub->expected, error);
}

fplt__multiples *fplt__hub_lists(const fplt_hub *hub)
{
    return hub->expected;
}

fplt_status fplt__hub_receive_listed(fplt_hub *hub, unsigned exchange, const void *bytes,
                                     size_t size, fplt_error *error)
{
    FPLT__ASSERT(hub->expected);
    return fplt__multiples_receive(hub->expected, hub->up, bytes, size,
                                   fplt__plan_up(&hub->plan, exchange), error);
}

fplt_status fplt_hub_absorb(fplt_hub *hub, const fplt_round *round, unsigned exchange)
{
    size_t n = hub->plan.dimension;
    size_t plain = fplt__plain_up(&hub->shape, n, exchange);
    size_t mirrored = fplt__mirrored_up(&hub->shape, n, exchange);
    FPLT__ASSERT(round->active <= hub->plan.agents);
    FPLT__ASSERT(plain + mirrored == fplt__plan_up(&hub->plan, exchange));
    FPLT__ASSERT(plain + mirrored <= fplt__sum_length(hub->up));
    FPLT__ASSERT(mirrored == 0 || mirrored == fplt__sum_length(hub->totals));
    fplt_status status = hub->expected ? fplt__multiples_add(hub->expected, hub->up) : FPLT_OK;
    if (!status)
        status = fplt__sum_add_part(hub->totals, 0, hub->up, plain, mirrored);
    if (status)
        return status;
    if (mirrored)
        fplt__hub_refresh(hub);
    fplt__sum_read(hub->up, 0, hub->numbers, plain);
    fplt__sum_clear(hub->up);
    /* words that count units were read as multiples of 2^-64 */
    if (hub->plan.unit > 0)
        for (size_t i = 0; i < plain; i++)
            hub->numbers[i] *= ldexp(hub->plan.unit, -FPLT_SUM_EXPONENT);
    if (round->active && hub->plan.algorithm->absorb)
        hub->plan.algorithm->absorb(&hub->view, round, exchange, hub->numbers);
    return FPLT_OK;
}

void fplt_hub_abandon(fplt_hub *hub)
{
    fplt__sum_clear(hub->up);
    if (hub->expected)
        fplt__multiples_clear(hub->expected);
}

fplt_status fplt_hub_model(const fplt_hub *hub, double *x)
{
    return hub->plan.algorithm->model(&hub->view, x);
}

void fplt__hub_totals(const fplt_hub *hub, uint64_t *words)
{
    fplt__sum_export(hub->totals, 0, words, fplt__sum_length(hub->totals));
}

/* version, u32 vectors, numbers, mirrored, u64 dimension, vectors, numbers, running sums */
enum { HUB_VERSION = 1, HUB_HEAD = 1 + 12 + 8 };

size_t fplt_hub_encode(const fplt_hub *hub, void *bytes, size_t room)
{
    const fplt_shape *shape = &hub->shape;
    size_t n = hub->plan.dimension, vectors = shape->vectors * n;
    size_t needed = HUB_HEAD + 8 * (vectors + shape->numbers) + 16 * shape->mirrored * n;
    if (room < needed)
        return needed;
    uint8_t *to = bytes;
    to[0] = HUB_VERSION;
    fplt__put32(to + 1, shape->vectors);
    fplt__put32(to + 5, shape->numbers);
    fplt__put32(to + 9, shape->mirrored);
    fplt__put64(to + 13, n);
    to += HUB_HEAD;
    fplt__put_reals(to, hub->view.vector, vectors);
    to += 8 * vectors;
    fplt__put_reals(to, hub->view.number, shape->numbers);
    to += 8 * shape->numbers;
    for (size_t i = 0; i < shape->mirrored * n; i++) {
        uint64_t words[2];
        fplt__sum_export(hub->totals, i, words, 1);
        fplt__put64(to + 16 * i, words[0]);
        fplt__put64(to + 16 * i + 8, words[1]);
    }
    FPLT__ASSERT(to + 16 * shape->mirrored * n == (uint8_t *)bytes + needed);
    return needed;
}

fplt_status fplt_hub_decode(fplt_hub *hub, const void *bytes, size_t size, fplt_error *error)
{
    const fplt_shape *shape = &hub->shape;
    const uint8_t *from = bytes;
    size_t n = hub->plan.dimension, vectors = shape->vectors * n;
    if (size != fplt_hub_encode(hub, NULL, 0) || from[0] != HUB_VERSION ||
        fplt__get32(from + 1) != shape->vectors || fplt__get32(from + 5) != shape->numbers ||
        fplt__get32(from + 9) != shape->mirrored || fplt__get64(from + 13) != n)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a coordinator's state of %zu bytes is not one of %s with dimension "
                              "%zu",
                              size, hub->plan.algorithm->name, n);
    fplt__hub_restart(hub, NULL);
    from += HUB_HEAD;
    fplt__get_reals(from, hub->view.vector, vectors);
    from += 8 * vectors;
    fplt__get_reals(from, hub->view.number, shape->numbers);
    from += 8 * shape->numbers;
    FPLT__ASSERT(from + 16 * shape->mirrored * n == (const uint8_t *)bytes + size);
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < shape->mirrored * n && !status; i++) {
        uint64_t words[2] = {fplt__get64(from + 16 * i), fplt__get64(from + 16 * i + 8)};
        status = fplt__sum_add_words(hub->totals, i, words, 1);
    }
    fplt__hub_refresh(hub);
    return status ? fplt_error_set(error, FPLT_BAD_DATA,
                                   "a coordinator's state: a running sum is "
                                   "out of range")
                  : FPLT_OK;
}
