/* Sums over the records of all agents at the weights: the matrices behind standard errors, and the numbers behind
 * likelihoods and tests. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "objective/objective.h"
#include "objective/traversal.h"

struct room {
    double *matrix, *scratch; /* owned: the first, which the other lies behind */
};

static fplt_status make_room(const fplt_objective *o, struct room *room, fplt_error *error)
{
    size_t n = o->dimension, square;
    if (__builtin_mul_overflow(n, n, &square))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for %zu x %zu numbers", n, n);
    size_t numbers = square < 2 * n ? 2 * n : square; /* a matrix, or two vectors */
    fplt_status status = fplt__alloc_into(&room->matrix, numbers + o->scratch, sizeof *room->matrix,
                                          "the information", error);
    if (status)
        return status;
    room->scratch = room->matrix + numbers;
    return FPLT_OK;
}

static void mirror_lower(double *matrix, size_t n)
{
    for (size_t i = 0; matrix && i < n; i++)
        for (size_t j = 0; j < i; j++)
            matrix[j * n + i] = matrix[i * n + j];
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

/* All agents from `first` on, by their own touched numbers where the kind of the objective can: then only the lower halves are
 * there, and the upper ones are made of them in the end. */
static fplt_status add_agents(const fplt_objective *of, uint32_t first, uint32_t end,
                              const double *x, const struct room *room,
                              const fplt__information *sums)
{
    fplt__loss loss = *of->loss;
    fplt_objective view = *of, *o = &view;
    size_t n = o->dimension;
    view.loss = &loss;
    if (loss.expect)
        loss.curve = loss.expect;
    if (loss.expect_bend)
        loss.bend = loss.expect_bend;
    fplt_status status = FPLT_UNSUPPORTED;
    memset(room->matrix, 0, n * (n + 1) / 2 * sizeof *room->matrix);
    for (uint32_t i = first; i < end && o->kind->add_pairs; i++)
        if ((status = o->kind->add_pairs(o, i, x, o->unit, room->matrix, sums->information,
                                         sums->scores, room->scratch)))
            break;
    if (!status) {
        mirror_lower(sums->information, n);
        mirror_lower(sums->scores, n);
    }
    if (status != FPLT_UNSUPPORTED)
        return status;
    status = FPLT_OK;
    for (uint32_t i = first; !status && i < end; i++)
        status = add_agent(o, i, x, o->unit, room, sums->information, sums->scores);
    return status;
}

/* The losses of an agent at a point, without the regulariser, which every f_i has as often as its scale says. */
static fplt_status add_losses(const fplt_objective *o, uint32_t agent, const double *x,
                              double *scratch, double *losses)
{
    double penalty = fplt__penalty_value(&o->penalty, x), value;
    fplt_status status = fplt_objective_value(o, agent, x, &value, scratch);
    if (!status)
        *losses += o->unit * (value - o->place[agent].scale * penalty);
    return status;
}

/* Losses and their gradient at 0, with what all records share as in x: every regulariser is 0 there and level. */
static fplt_status add_null(const fplt_objective *o, uint32_t agent, const double *x,
                            const struct room *room, double *facts)
{
    double *zero = room->matrix, *gradient = room->matrix + o->dimension;
    memset(zero, 0, o->dimension * sizeof *zero);
    for (size_t j = o->dimension - o->shared; j < o->dimension; j++)
        zero[j] = x[j];
    fplt_status status = add_losses(o, agent, zero, room->scratch, &facts[FPLT__FACT_NULL_LOSSES]);
    if (!status)
        status = fplt_objective_gradient(o, agent, zero, gradient, room->scratch);
    if (!status)
        add(o->dimension, o->unit, gradient, facts + FPLT__FACTS);
    return status;
}

/* Whether a record is of the second of two classes, or has its event. */
static int is_event(const fplt_objective *o, const fplt__shard *shard, size_t r)
{
    if (o->task == FPLT_TASK_SURVIVAL)
        return !signbit(shard->label[r]);
    if (o->task != FPLT_TASK_BINARY)
        return 0;
    return o->loss->flips ? !shard->negative[r] : shard->label[r] > 0;
}

/* What the likelihood has of a record beside its loss. With weights a stratum of Cox's loss has them with mean 1, which
 * takes the logarithm of the mean from every event. */
static double constant_of(const fplt_objective *o, const fplt__shard *shard, size_t r, double mean)
{
    if (o->loss->constant)
        return o->loss->constant(shard->label[r]);
    return o->loss->hazards && is_event(o, shard, r) ? log(mean) : 0;
}

static void count_records(const fplt_objective *o, uint32_t agent, double *facts)
{
    fplt__shard shard = fplt__shard_of(o, agent);
    double mean = shard.total / (double)shard.records;
    facts[FPLT__FACT_RECORDS] += shard.total;
    for (size_t r = 0; r < shard.matrix.rows; r++) {
        double weight = shard.weight ? shard.weight[r] * mean : 1;
        if (!(weight > 0))
            continue;
        facts[FPLT__FACT_ROWS]++;
        facts[FPLT__FACT_EVENTS] += is_event(o, &shard, r);
        facts[FPLT__FACT_OFFSETS] += shard.offset && shard.offset[r] != 0;
        facts[FPLT__FACT_LOG_WEIGHTS] += log(weight);
        facts[FPLT__FACT_CONSTANT] += weight * constant_of(o, &shard, r, mean);
    }
}

static fplt_status add_facts(const fplt_objective *o, uint32_t agent, const double *x,
                             const struct room *room, double *facts)
{
    fplt_status status = add_losses(o, agent, x, room->scratch, &facts[FPLT__FACT_LOSSES]);
    if (!status)
        status = add_null(o, agent, x, room, facts);
    if (status)
        return status;
    count_records(o, agent, facts);
    if (o->loss->pearson)
        facts[FPLT__FACT_PEARSON] +=
            o->unit * fplt__records_squared_slopes(o, agent, x, room->scratch);
    return FPLT_OK;
}

size_t fplt__facts_count(size_t dimension)
{
    return FPLT__FACTS + dimension;
}

fplt_status fplt__objective_add_information(const fplt_objective *o, uint32_t first, uint32_t end,
                                            const double *x, const fplt__information *sums,
                                            fplt_error *error)
{
    struct room room;
    fplt_status status = make_room(o, &room, error);
    if (status)
        return status;
    if (!o->kind->loss_hessian) {
        fplt__free(room.matrix);
        return fplt_error_set(error, FPLT_UNSUPPORTED, "a caller's own costs have no records");
    }
    status = add_agents(o, first, end, x, &room, sums);
    for (uint32_t i = first; !status && sums->facts && i < end; i++)
        status = add_facts(o, i, x, &room, sums->facts);
    fplt__free(room.matrix);
    return status ? fplt_error_set(error, status, "the information could not be computed")
                  : FPLT_OK;
}

void fplt__information_clear(const fplt__information *sums, size_t dimension)
{
    size_t square = dimension * dimension;
    memset(sums->information, 0, square * sizeof *sums->information);
    if (sums->scores)
        memset(sums->scores, 0, square * sizeof *sums->scores);
    if (sums->facts)
        memset(sums->facts, 0, fplt__facts_count(dimension) * sizeof *sums->facts);
}

fplt_status fplt__objective_information(const fplt_objective *o, const double *x,
                                        const fplt__information *sums, fplt_error *error)
{
    fplt__information_clear(sums, o->dimension);
    return fplt__objective_add_information(o, 0, o->agents, x, sums, error);
}

fplt_status fplt__agent_information(const fplt_objective *o, uint32_t agent, const double *x,
                                    const fplt__information *sums, fplt_error *error)
{
    fplt__information known = *sums;
    fplt__information_clear(sums, o->dimension);
    if (!fplt__objective_has_scores(o))
        known.scores = NULL;
    return fplt__objective_add_information(o, agent, agent + 1, x, &known, error);
}

int fplt__objective_has_scores(const fplt_objective *o)
{
    return o->loss && (!o->loss->whole || o->loss->score);
}

fplt_objective fplt__objective_losses(const fplt_objective *o)
{
    fplt_objective losses = *o;
    losses.penalty.weight = losses.penalty.least = losses.penalty.most = 0;
    if (fplt__loss_has(losses.loss, "predictor-bound"))
        losses.parameter = FPLT__NO_PREDICTOR_BOUND;
    return losses;
}
