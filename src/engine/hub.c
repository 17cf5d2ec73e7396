/* The coordinator: algorithm state, the sum of an exchange, the running sums. */
#include "engine/hub.h"

#include <string.h>

#include "base/memory.h"

size_t fplt__plain_up(const fplt_shape *shape, size_t dimension, unsigned exchange)
{
    return shape->exchange[exchange].up * dimension + shape->exchange[exchange].up_scalars;
}

size_t fplt__mirrored_up(const fplt_shape *shape, size_t dimension, unsigned exchange)
{
    return exchange + 1 == shape->exchanges ? shape->mirrored * dimension : 0;
}

size_t fplt_plan_down(const fplt_plan *plan, unsigned exchange)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    return plan->dimension *
           (exchange < shape.exchanges ? shape.exchange[exchange].down : shape.finish_down);
}

size_t fplt_plan_up(const fplt_plan *plan, unsigned exchange)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    return fplt__plain_up(&shape, plan->dimension, exchange) +
           fplt__mirrored_up(&shape, plan->dimension, exchange);
}

size_t fplt_plan_words(const fplt_plan *plan, unsigned exchange)
{
    return 2 * fplt_plan_up(plan, exchange);
}

size_t fplt_plan_enrol_words(const fplt_plan *plan)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    return 2 * shape.mirrored * plan->dimension;
}

static size_t largest_up(const fplt_plan *plan, const fplt_shape *shape)
{
    size_t most = 0;
    for (unsigned e = 0; e < shape->exchanges; e++) {
        size_t size = fplt_plan_up(plan, e);
        most = size > most ? size : most;
    }
    return most;
}

fplt_status fplt_hub_create(const fplt_plan *plan, const fplt_prox *prox, const double *start,
                            fplt_hub **out, fplt_error *error)
{
    *out = NULL;
    fplt_hub *hub;
    fplt_status status = fplt__alloc_into(&hub, 1, sizeof *hub, "a coordinator", error);
    if (status)
        return status;
    size_t n = plan->dimension;
    hub->plan = *plan;
    hub->shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    size_t most = largest_up(plan, &hub->shape), mirrored = hub->shape.mirrored * n;
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
        (status = fplt__alloc_into(&hub->numbers, most, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&hub->total, mirrored, sizeof(double), what, error)) ||
        (status = fplt_sum_create(most, FPLT_SUM_EXPONENT, &hub->up, error)) ||
        (status = fplt_sum_create(mirrored, FPLT_SUM_EXPONENT, &hub->totals, error))) {
        fplt__free(zero);
        fplt_hub_destroy(hub);
        return status;
    }
    hub->view.total = hub->total;
    if (plan->algorithm->begin_coordinator)
        plan->algorithm->begin_coordinator(&hub->view, start ? start : zero);
    fplt__free(zero);
    *out = hub;
    return FPLT_OK;
}

void fplt_hub_destroy(fplt_hub *hub)
{
    if (!hub)
        return;
    fplt_prox_destroy(hub->no_prox);
    fplt__free(hub->view.vector);
    fplt__free(hub->view.number);
    fplt__free(hub->numbers);
    fplt__free(hub->total);
    fplt_sum_destroy(hub->up);
    fplt_sum_destroy(hub->totals);
    fplt__free(hub);
}

void fplt__hub_refresh(fplt_hub *hub)
{
    fplt_sum_read(hub->totals, 0, hub->total, fplt_sum_length(hub->totals));
}

fplt_status fplt_hub_enrol(fplt_hub *hub, const uint64_t *words)
{
    fplt_status status = fplt_sum_add_words(hub->totals, 0, words, fplt_sum_length(hub->totals));
    fplt__hub_refresh(hub);
    return status;
}

void fplt_hub_plan(const fplt_hub *hub, uint64_t number, uint32_t active, fplt_round *round)
{
    memset(round, 0, sizeof *round);
    round->number = number;
    round->agents = hub->plan.agents;
    round->active = active;
    round->shared = fplt_stream_make(hub->plan.seed, hub->plan.run, FPLT_FOR_SHARED, number, 0, 0);
    if (hub->plan.algorithm->plan)
        hub->plan.algorithm->plan(&hub->view, round);
}

fplt_status fplt_hub_broadcast(const fplt_hub *hub, const fplt_round *round, unsigned exchange,
                               double *down)
{
    return hub->plan.algorithm->broadcast(&hub->view, round, exchange, down);
}

fplt_status fplt_hub_receive(fplt_hub *hub, unsigned exchange, const uint64_t *words)
{
    return fplt_sum_add_words(hub->up, 0, words, fplt_plan_up(&hub->plan, exchange));
}

fplt_status fplt_hub_absorb(fplt_hub *hub, const fplt_round *round, unsigned exchange)
{
    size_t n = hub->plan.dimension;
    size_t plain = fplt__plain_up(&hub->shape, n, exchange);
    size_t mirrored = fplt__mirrored_up(&hub->shape, n, exchange);
    fplt_status status = fplt_sum_add_part(hub->totals, 0, hub->up, plain, mirrored);
    if (status)
        return status;
    if (mirrored)
        fplt__hub_refresh(hub);
    fplt_sum_read(hub->up, 0, hub->numbers, plain);
    fplt_sum_clear(hub->up);
    if (round->active && hub->plan.algorithm->absorb)
        hub->plan.algorithm->absorb(&hub->view, round, exchange, hub->numbers);
    return FPLT_OK;
}

void fplt_hub_abandon(fplt_hub *hub)
{
    fplt_sum_clear(hub->up);
}

fplt_status fplt_hub_model(const fplt_hub *hub, double *x)
{
    return hub->plan.algorithm->model(&hub->view, x);
}

void fplt_hub_totals(const fplt_hub *hub, uint64_t *words)
{
    fplt_sum_export(hub->totals, 0, words, fplt_sum_length(hub->totals));
}
