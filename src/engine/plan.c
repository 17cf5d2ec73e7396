/* What all sides know: sizes of what travels, rounds, and both as bytes. */
#include <string.h>

#include "base/bytes.h"
#include "engine/hub.h"
#include "engine/hub_node.h"
#include "fedplt/encoding.h"

enum { PLAN_VERSION = 2, ROUND_VERSION = 1, NAME = 32 };

size_t fplt_plan_down(const fplt_plan *plan, unsigned exchange)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    return plan->dimension *
           (exchange < shape.exchanges ? shape.exchange[exchange].down : shape.finish_down);
}

size_t fplt__plan_up(const fplt_plan *plan, unsigned exchange)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    return fplt__plain_up(&shape, plan->dimension, exchange) +
           fplt__mirrored_up(&shape, plan->dimension, exchange);
}

size_t fplt_plan_words(const fplt_plan *plan, unsigned exchange)
{
    return 2 * fplt__plan_up(plan, exchange);
}

size_t fplt_plan_enrol_words(const fplt_plan *plan)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    return 2 * shape.mirrored * plan->dimension;
}

size_t fplt__plan_largest_up(const fplt_plan *plan)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    size_t most = 0;
    for (unsigned e = 0; e < shape.exchanges; e++) {
        size_t size = fplt__plan_up(plan, e);
        most = size > most ? size : most;
    }
    return most;
}

/* version, name, parameters (u8, doubles), u32 agents, u64 dimension, u64 seed, u32 run, step, unit */
size_t fplt_plan_encode(const fplt_plan *plan, void *bytes, size_t room)
{
    size_t parameters = fplt_algorithm_parameters(plan->algorithm);
    size_t needed = 1 + NAME + 1 + 8 * parameters + 4 + 8 + 8 + 4 + 8 + 8;
    if (room < needed)
        return needed;
    uint8_t *to = bytes;
    memset(to, 0, needed);
    *to++ = PLAN_VERSION;
    strncpy((char *)to, plan->algorithm->name, NAME - 1);
    to += NAME;
    *to++ = (uint8_t)parameters;
    fplt__put_reals(to, plan->parameter, parameters);
    to += 8 * parameters;
    fplt__put32(to, plan->agents);
    fplt__put64(to + 4, plan->dimension);
    fplt__put64(to + 12, plan->seed);
    fplt__put32(to + 20, plan->run);
    fplt__put_reals(to + 24, &plan->step, 1);
    fplt__put_reals(to + 32, &plan->unit, 1);
    return needed;
}

fplt_status fplt_plan_decode(const void *bytes, size_t size, fplt_plan *plan, fplt_error *error)
{
    return fplt_plan_decode_custom(bytes, size, NULL, plan, error);
}

fplt_status fplt_plan_decode_custom(const void *bytes, size_t size, const fplt_algorithm *custom,
                                    fplt_plan *plan, fplt_error *error)
{
    const uint8_t *from = bytes;
    if (size < 1 + NAME + 1 || from[0] != PLAN_VERSION || from[NAME])
        return fplt_error_set(error, FPLT_BAD_DATA, "a plan: %zu bytes, or not of version %d", size,
                              PLAN_VERSION);
    const char *name = (const char *)from + 1;
    const fplt_algorithm *algorithm =
        custom && strcmp(custom->name, name) == 0 ? custom : fplt_algorithm_find(name);
    if (!algorithm)
        return fplt_error_set(error, FPLT_BAD_DATA, "a plan: no algorithm is called %.32s", name);
    size_t parameters = fplt_algorithm_parameters(algorithm);
    fplt_plan made = {.algorithm = algorithm};
    if (from[1 + NAME] != parameters || size != fplt_plan_encode(&made, NULL, 0))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a plan: %zu bytes and %u parameters, but %s has %zu", size,
                              from[1 + NAME], algorithm->name, parameters);
    from += 1 + NAME + 1;
    fplt__get_reals(from, made.parameter, parameters);
    from += 8 * parameters;
    made.agents = fplt__get32(from);
    made.dimension = fplt__get64(from + 4);
    made.seed = fplt__get64(from + 12);
    made.run = fplt__get32(from + 20);
    fplt__get_reals(from + 24, &made.step, 1);
    fplt__get_reals(from + 32, &made.unit, 1);
    *plan = made;
    return FPLT_OK;
}

void fplt__round_make(const fplt_plan *plan, uint64_t number, uint32_t active, uint32_t position,
                      const double *scalars, fplt_round *round)
{
    memset(round, 0, sizeof *round);
    round->number = number;
    round->agents = plan->agents;
    round->active = active;
    round->position = position;
    round->shared = fplt_stream_make(plan->seed, plan->run, FPLT_FOR_SHARED, number, 0, 0);
    fplt_stream shared = round->shared;
    if (plan->algorithm->length)
        round->epochs = plan->algorithm->length(plan->parameter, &shared);
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    if (scalars)
        memcpy(round->scalar, scalars, shape.scalars * sizeof *scalars);
}

/* version, u64 number, u32 active, u32 position, scalars */
size_t fplt_round_encode(const fplt_plan *plan, const fplt_round *round, void *bytes, size_t room)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    size_t needed = 1 + 16 + 8 * (size_t)shape.scalars;
    if (room < needed)
        return needed;
    uint8_t *to = bytes;
    to[0] = ROUND_VERSION;
    fplt__put64(to + 1, round->number);
    fplt__put32(to + 9, round->active);
    fplt__put32(to + 13, round->position);
    fplt__put_reals(to + 17, round->scalar, shape.scalars);
    return needed;
}

fplt_status fplt_round_decode(const fplt_plan *plan, const void *bytes, size_t size,
                              fplt_round *round, fplt_error *error)
{
    const uint8_t *from = bytes;
    double scalar[FPLT_MAX_SCALARS];
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    if (size != 17 + 8 * (size_t)shape.scalars || from[0] != ROUND_VERSION)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a round: %zu bytes, or not of version %d; %s needs %zu", size,
                              ROUND_VERSION, plan->algorithm->name, 17 + 8 * (size_t)shape.scalars);
    uint32_t active = fplt__get32(from + 9), position = fplt__get32(from + 13);
    if (active > plan->agents || (active && position >= active))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a round: position %u in a cohort of %u, but the roster has %u",
                              position, active, plan->agents);
    fplt__get_reals(from + 17, scalar, shape.scalars);
    fplt__round_make(plan, fplt__get64(from + 1), active, position, scalar, round);
    return FPLT_OK;
}
