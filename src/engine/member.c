/* An agent's part of a round. */
#include "engine/member.h"

#include <math.h>
#include <string.h>

#include "algorithm/algorithm.h"
#include "algorithm/local_step.h"
#include "base/assert.h"
#include "base/random.h"
#include "base/sum.h"
#include "engine/hub.h"
#include "engine/hub_node.h"
#include "objective/objective.h"

double fplt__member_step(const fplt_plan *plan, const fplt_training *training,
                         const fplt_curvature *curvature, uint32_t cohort)
{
    if (plan->step > 0 && fplt_algorithm_shares_step(plan->algorithm, training->solver))
        return plan->step;
    fplt_facts facts = {.curvature = *curvature,
                        .agents = plan->agents,
                        .cohort = cohort,
                        .epochs = training->epochs,
                        .dimension = plan->dimension};
    double automatic =
        fplt__algorithm_step(plan->algorithm, training->solver, &facts, plan->parameter).automatic;
    return training->step > 0 && !isnan(automatic) ? training->step : automatic;
}

/* Replaces numbers by how many units they are, times 2^-64: that count is then what the sum holds as words.
 * A multiple of the unit below 2^51 keeps its count whatever the division rounds. */
static fplt_status count_units(double unit, double *up, size_t count)
{
    int within = 1;
    for (size_t i = 0; i < count; i++) {
        double units = rint(up[i] / unit);
        within &= fabs(units) <= 0x1p53;
        up[i] = ldexp(units, FPLT_SUM_EXPONENT);
    }
    return within ? FPLT_OK : FPLT_DIVERGED;
}

/* x as a multiple of the grid: the next above with a probability of the part that is left over, otherwise the next below.
 * Neither the quotient nor the rest is rounded, because the grid is a power of 2. */
static double round_to(double grid, double x, double uniform)
{
    double units = x / grid, below = floor(units);
    return grid * (units - below > uniform ? below + 1 : below);
}

/* The coarse grid of the run: rounds the vectors of a message in place, the mirrored ones where the agent keeps them, so
 * that the running sum stays the sum of what agents keep. Scalars stay as they are. The draw belongs to the place in the
 * message: a message that is computed again, or listed, has the same numbers. */
static void round_message(const fplt_shape *shape, const fplt_agent *agent, unsigned exchange,
                          double *up, size_t plain, size_t mirrored)
{
    const fplt_local *local = agent->local;
    double grid = ldexp(1, -(int)local->training.grid);
    size_t vectors = shape->exchange[exchange].up * agent->dimension;
    fplt_stream stream = fplt_stream_make(local->seed, local->run, FPLT_FOR_ROUNDING, local->round,
                                          local->member_index, exchange);
    fplt_stream next = stream;
    const fplt__listed *listed = agent->listed;
    int is_listed = listed && listed->is_used;
    size_t dense = is_listed && listed->first < vectors ? listed->first : vectors;
    for (size_t i = 0; i < dense; i++)
        up[i] = round_to(grid, up[i], fplt_stream_uniform(&next));
    for (size_t k = 0; is_listed && k < listed->count; k++)
        if (listed->at[k] < vectors)
            listed->number[k] =
                round_to(grid, listed->number[k], fplt__stream_uniform_at(&stream, listed->at[k]));
    stream.counter[0] += plain / 4 + 1; /* behind the draws of the numbers before */
    for (size_t i = 0; i < mirrored; i++)
        agent->staged[i] = round_to(grid, agent->staged[i], fplt_stream_uniform(&stream));
}

/* Adds the `count` numbers that are not mirrored. */
static fplt_status add_plain(const fplt_agent *agent, const double *up, size_t count,
                             fplt__sum *sum)
{
    const fplt__listed *listed = agent->listed;
    if (!listed || !listed->is_used)
        return fplt__sum_add(sum, 0, up, count);
    FPLT__ASSERT(listed->first <= count && listed->count <= listed->capacity);
    fplt_status status = fplt__sum_add(sum, 0, up, listed->first);
    return status ? status : fplt__sum_add_at(sum, listed->at, listed->number, listed->count);
}

/* Adds what the agent sends. */
static fplt_status send_up(const fplt_plan *plan, const fplt_shape *shape, const fplt_agent *agent,
                           unsigned exchange, double *up, fplt__sum *sum, fplt_error *error)
{
    size_t n = plan->dimension, plain = fplt__plain_up(shape, n, exchange);
    size_t mirrored = fplt__mirrored_up(shape, n, exchange);
    fplt_status status = FPLT_OK;
    if (agent->local->training.grid)
        round_message(shape, agent, exchange, up, plain, mirrored);
    if (plain) {
        if (plan->unit > 0)
            status = count_units(plan->unit, up, plain);
        if (!status)
            status = add_plain(agent, up, plain, sum);
        if (status)
            fplt_error_set(error, status, "agent %u sends a number that is not finite or too large",
                           agent->member_index);
    }
    if (!status && mirrored) {
        status = fplt__sum_add_change(sum, plain, agent->staged, agent->kept, mirrored);
        if (status)
            fplt_error_set(error, status, "agent %u sends a number that is not finite or too large",
                           agent->member_index);
    }
    return status;
}

/* A custom solver may fail without a sentence. */
static fplt_status failed_training(const fplt_agent *agent, fplt_status status, fplt_error *error)
{
    if (error && (!*error->text || error->status != status))
        fplt_error_set(error, status, "local training of agent %u failed", agent->member_index);
    return status;
}

fplt_status fplt__member_exchange(const fplt_plan *plan, const fplt_shape *shape, fplt_agent *agent,
                                  const fplt_round *round, unsigned exchange, const double *down,
                                  double *up, fplt__sum *sum, fplt_error *error)
{
    if (error)
        *error->text = 0;
    FPLT__ASSERT(!agent->listed || !(plan->unit > 0)); /* units are counted in `up` */
    if (agent->listed)
        agent->listed->is_used = 0;
    fplt_status status = plan->algorithm->local(agent, round, exchange, down, up, error);
    return status ? failed_training(agent, status, error)
                  : send_up(plan, shape, agent, exchange, up, sum, error);
}

fplt_status fplt__members_exchange(const fplt_plan *plan, const fplt_shape *shape,
                                   const fplt__members *members, fplt_round *round,
                                   unsigned exchange, const double *down, double *up,
                                   fplt__sum *sum, uint32_t *done, fplt_error *error)
{
    fplt_local *local[FPLT__MEMBERS];
    double *w[FPLT__MEMBERS];
    size_t trained;
    *done = 0;
    if (error)
        *error->text = 0;
    for (uint32_t i = 0; i < members->count; i++) {
        round->position = members->position + i;
        local[i] = members->agent[i].local;
        w[i] = plan->algorithm->prepare(&members->agent[i], round, exchange, down);
    }
    fplt_status failure =
        local[0]->training.solver->several(local, w, members->count, &trained, error);
    for (; *done < trained; ++*done) {
        fplt_agent *agent = &members->agent[*done];
        round->position = members->position + *done;
        plan->algorithm->conclude(agent, round, exchange, down, up);
        fplt_status status = send_up(plan, shape, agent, exchange, up, sum, error);
        if (status)
            return status;
    }
    return failure ? failed_training(&members->agent[trained], failure, error) : FPLT_OK;
}

void fplt__member_begin(const fplt_plan *plan, const fplt_shape *shape, fplt_agent *agent,
                        const double *start, const double *second)
{
    memset(agent->staged, 0, shape->kept * plan->dimension * sizeof(double));
    if (plan->algorithm->begin)
        plan->algorithm->begin(agent, start, second);
}

fplt_status fplt__member_measure(const fplt_objective *objective, uint32_t cost, const double *x,
                                 double *out, double *scratch)
{
    size_t n = fplt_objective_dimension(objective), hits;
    int classifies;
    fplt_status status =
        fplt__objective_measure(objective, cost, x, &out[n], out, &hits, &classifies, scratch);
    out[n + 1] = (double)hits;
    out[n + 2] = (double)fplt_objective_records(objective, cost);
    out[n + 3] = classifies;
    return status;
}

int fplt__members_measure(const fplt_objective *objective, uint32_t first, const double *x,
                          double *out, double *scratch)
{
    size_t n = fplt_objective_dimension(objective), each = n + FPLT__MEASURES;
    _Static_assert((int)FPLT__MEMBERS == (int)FPLT_BATCHED, "as many go side by side");
    if (!fplt__objective_measures(objective, first, x, out, each, scratch))
        return 0;
    for (uint32_t i = 0; i < FPLT__MEMBERS; i++) {
        out[i * each + n + 2] = (double)fplt_objective_records(objective, first + i);
        out[i * each + n + 3] = 1;
    }
    return 1;
}
