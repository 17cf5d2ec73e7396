/* What the records of all agents tell of the weights: the matrices behind standard errors. */
#include <string.h>

#include "base/memory.h"
#include "objective/objective.h"

struct room {
    double *matrix, *scratch; /* owned: the first, which the other lies behind */
};

static fplt_status make_room(const fplt_objective *o, struct room *room, fplt_error *error)
{
    size_t n = o->dimension, square;
    if (__builtin_mul_overflow(n, n, &square))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for %zu x %zu numbers", n, n);
    fplt_status status = fplt__alloc_into(&room->matrix, square + o->scratch, sizeof *room->matrix,
                                          "the information", error);
    if (status)
        return status;
    room->scratch = room->matrix + square;
    return FPLT_OK;
}

static void add(size_t count, double factor, const double *from, double *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

/* An agent's share of the objective, 1/q_i a record, becomes a number of records by `unit`. */
static fplt_status add_agent(const fplt_objective *o, uint32_t agent, const double *x, double unit,
                             const struct room *room, double *information, double *scores)
{
    size_t square = o->dimension * o->dimension;
    fplt_status status = fplt__objective_loss_hessian(o, agent, x, room->matrix, room->scratch);
    if (status)
        return status;
    add(square, unit, room->matrix, information);
    if (!scores)
        return FPLT_OK;
    if (!o->kind->loss_scores)
        return FPLT_UNSUPPORTED;
    if ((status = o->kind->loss_scores(o, agent, x, room->matrix, room->scratch)))
        return status;
    add(square, unit * unit, room->matrix, scores);
    return FPLT_OK;
}

/* Without the regulariser, which every f_i has as often as its scale says. */
static fplt_status add_losses(const fplt_objective *o, uint32_t agent, const double *x,
                              double *scratch, double *losses)
{
    double penalty = o->weight * o->regulariser->value(x, o->dimension - o->intercepts), value;
    fplt_status status = fplt_objective_value(o, agent, x, &value, scratch);
    if (!status)
        *losses += o->unit * (value - o->place[agent].scale * penalty);
    return status;
}

fplt_status fplt__objective_add_information(const fplt_objective *o, uint32_t first, uint32_t end,
                                            const double *x, double *information, double *scores,
                                            double *losses, fplt_error *error)
{
    struct room room;
    fplt_status status = make_room(o, &room, error);
    if (status)
        return status;
    if (!o->kind->loss_hessian) {
        fplt__free(room.matrix);
        return fplt_error_set(error, FPLT_UNSUPPORTED, "a caller's own costs have no records");
    }
    for (uint32_t i = first; !status && i < end; i++)
        status = add_agent(o, i, x, o->unit, &room, information, scores);
    for (uint32_t i = first; !status && losses && i < end; i++)
        status = add_losses(o, i, x, room.scratch, losses);
    fplt__free(room.matrix);
    return status ? fplt_error_set(error, status, "the information could not be computed")
                  : FPLT_OK;
}

/* Of agents first, first + 1, ... */
static fplt_status sum_agents(const fplt_objective *o, uint32_t first, uint32_t end,
                              const double *x, double *information, double *scores, double *losses,
                              fplt_error *error)
{
    size_t square = o->dimension * o->dimension;
    memset(information, 0, square * sizeof *information);
    if (scores)
        memset(scores, 0, square * sizeof *scores);
    if (losses)
        *losses = 0;
    return fplt__objective_add_information(o, first, end, x, information, scores, losses, error);
}

fplt_status fplt__objective_information(const fplt_objective *o, const double *x,
                                        double *information, double *scores, double *losses,
                                        fplt_error *error)
{
    return sum_agents(o, 0, o->agents, x, information, scores, losses, error);
}

fplt_status fplt__agent_information(const fplt_objective *o, uint32_t agent, const double *x,
                                    double *information, double *scores, double *losses,
                                    double *records, fplt_error *error)
{
    fplt_status status = sum_agents(o, agent, agent + 1, x, information,
                                    o->loss && !o->loss->whole ? scores : NULL, losses, error);
    if (!status)
        *records = fplt__shard_of(o, agent).total;
    return status;
}
