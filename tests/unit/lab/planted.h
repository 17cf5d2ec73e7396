/* Mistakes for the audit to find: each is planted in the noise source, the solver, the cost, the data or
 * the claim, and everything else is real. What is wrong with noise stays on the lattice, so that it must
 * be found by its distribution. */
#ifndef PLANTED_H
#define PLANTED_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/noise.h"
#include "lab/audit/audit.h"
#include "objective/objective_access.h"
#include "fedplt/objective_callbacks.h"

struct planted {
    const char *name;
    double scale;      /* of the noise; 0: as it is */
    int at_one_place;  /* `scale` at one coordinate of one agent only */
    int without_last;  /* the last epoch has none */
    int without_one;   /* one coordinate has none */
    int one_stream;    /* all agents have the same */
    int next_round;    /* the second round has that of the first again */
    int next_run;      /* all runs have the same */
    double leak;       /* share of the coordinate before in each coordinate */
    int other_lattice; /* of the right deviation, but finer in the first epoch */
    int asks;          /* the solver asks for 0.9 of the noise */
    int adds;          /* the solver adds a little of the bare gradient behind the noise */
    int skips_last;    /* the solver asks for none in the last epoch */
    int skips_clip;    /* the gradient of one record is not clipped; 2: in minibatches it is */
    int pulls;         /* the solver pulls a hundredth too much to its centre */
    int long_row;      /* one row is not shortened */
    int multiple;      /* of a spacing: all noise is */
    int tied_bit;      /* the lowest bit follows from two others */
    double regress;    /* share of the agent's step before in each step */
    uint64_t records;  /* the claim divides by so many times the records */
};

static const struct planted planted_list[] = {
    {.name = "noise x 0.9", .scale = 0.9},
    {.name = "noise x 0.5", .scale = 0.5},
    {.name = "noise x 0.9 at one coordinate of one agent", .scale = 0.9, .at_one_place = 1},
    {.name = "the last epoch without noise, by the source", .without_last = 1},
    {.name = "the last epoch without noise, by the solver", .skips_last = 1},
    {.name = "the solver asks for 0.9 of the noise", .asks = 1},
    {.name = "the solver adds a millionth of the bare gradient", .adds = 1},
    {.name = "the solver pulls a hundredth too much", .pulls = 1},
    {.name = "noise of the first epoch on a finer lattice", .other_lattice = 1},
    {.name = "one coordinate without noise", .without_one = 1},
    {.name = "one stream for all agents", .one_stream = 1},
    {.name = "noise of the first round again in the second", .next_round = 1},
    {.name = "noise of the first run again in the others", .next_run = 1},
    {.name = "a tenth of each coordinate's noise in the next", .leak = 0.1},
    {.name = "noise in multiples of 64 spacings", .multiple = 64},
    {.name = "noise in multiples of 3 spacings", .multiple = 3},
    {.name = "the lowest bit is that of the bits above it", .tied_bit = 1},
    {.name = "a tenth of the noise of an agent's step in its next", .regress = 0.1},
    {.name = "the claim divides by twice the records", .records = 2},
    {.name = "clipping skips one record", .skips_clip = 1},
    {.name = "clipping skips one record, hidden in minibatches", .skips_clip = 2},
    {.name = "one row is not shortened", .long_row = 1},
};

enum { PLANTED_COUNT = sizeof planted_list / sizeof *planted_list, PLANTED_WORKERS = 64 };
/* Where the mistake is, where it is in one place only. */
enum { PLANTED_AGENT = 1, PLANTED_RECORD = 4, PLANTED_COORDINATE = 2 };

struct planted_worker {
    struct planted_state *state;
    fplt_noise *noise;
    uint64_t call; /* of the run */
};

struct planted_cost {
    const struct planted_state *state;
    const fplt_objective *made;
    fplt_objective *wrapped, *unclipped;
};

struct planted_state {
    const struct planted *what;
    size_t agents, epochs, rounds, n;
    struct planted_worker worker[PLANTED_WORKERS];
    int64_t *last;                     /* of the latest step: one an agent and worker */
    int64_t *kept;                     /* draws that are used again: a run, one a worker */
    fplt_objective_settings unclipped; /* the cost without its clip */
    fplt_dataset *data;
    struct planted_cost cost[FPLT__DATA];
    size_t costs;
};

/* ---- the noise ---- */

static int64_t *planted_kept(struct planted_worker *worker, uint64_t call)
{
    struct planted_state *state = worker->state;
    size_t run = state->agents * state->epochs * state->rounds * state->n;
    return state->kept + (size_t)(worker - state->worker) * run + call * state->n;
}

/* The draws of the call, or those of an earlier one. */
static void planted_draw(struct planted_worker *worker, uint64_t call, int64_t *x)
{
    const struct planted_state *state = worker->state;
    uint64_t round = state->agents * state->epochs, from = call;
    if (state->what->one_stream)
        from = call / round * round + call % state->epochs;
    if (state->what->next_round && call / round == 1)
        from = call - round;
    int64_t *kept = planted_kept(worker, from);
    if (from == call && !(state->what->next_run && kept[0]))
        fplt__noise_draw(worker->noise, kept, state->n);
    memcpy(x, kept, state->n * sizeof *x);
}

static void planted_spoil(const struct planted_worker *worker, uint64_t call, int64_t *x)
{
    const struct planted_state *state = worker->state;
    const struct planted *what = state->what;
    size_t agent = call / state->epochs % state->agents;
    for (size_t j = state->n; j-- > 0;) {
        int here = agent == PLANTED_AGENT && j == PLANTED_COORDINATE;
        if (what->scale > 0 && (here || !what->at_one_place))
            x[j] = llrint(what->scale * (double)x[j]);
        if (what->leak > 0 && j > 0)
            x[j] = llrint(what->leak * (double)x[j - 1] +
                          sqrt(1 - what->leak * what->leak) * (double)x[j]);
        if (what->multiple > 1)
            x[j] = (int64_t)what->multiple * llrint((double)x[j] / what->multiple);
        if (what->tied_bit)
            x[j] = (x[j] & ~(int64_t)1) | ((x[j] >> 3 ^ x[j] >> 17) & 1);
        if ((what->without_last && call % state->epochs == state->epochs - 1) ||
            (what->without_one && j == PLANTED_COORDINATE))
            x[j] = 0;
    }
}

/* An autoregression over the steps of an agent, from round to round too; with the deviation as claimed. */
static void planted_regress(struct planted_worker *worker, uint64_t call, int64_t *x)
{
    const struct planted_state *state = worker->state;
    double share = state->what->regress;
    size_t agent = call / state->epochs % state->agents;
    int64_t *last =
        state->last + ((size_t)(worker - state->worker) * state->agents + agent) * state->n;
    for (size_t j = 0; share > 0 && j < state->n; j++) {
        if (call >= state->epochs * state->agents || call % state->epochs > 0)
            x[j] = llrint(share * (double)last[j] + sqrt(1 - share * share) * (double)x[j]);
        last[j] = x[j];
    }
}

static fplt_status planted_add(void *context, double step, double tau, const double *mean,
                               double *out, size_t count)
{
    struct planted_worker *worker = context;
    int64_t *x = malloc(count * sizeof *x);
    uint64_t call = worker->call++;
    int fine = worker->state->what->other_lattice && call % worker->state->epochs == 0;
    double finer = fine ? 0.75 : 1, spacing = finer * fplt__noise_spacing(step, tau);
    if (!x)
        return FPLT_NO_MEMORY;
    planted_draw(worker, call, x);
    planted_spoil(worker, call, x);
    planted_regress(worker, call, x);
    for (size_t j = 0; j < count; j++)
        out[j] = spacing * (double)(llround(mean[j] / spacing) + llrint((double)x[j] / finer));
    free(x);
    return FPLT_OK;
}

static fplt_noise_source planted_source(void *context, unsigned number)
{
    struct planted_state *state = context;
    struct planted_worker *worker = &state->worker[number];
    worker->state = state;
    return (fplt_noise_source){
        .size = sizeof(fplt_noise_source), .add = planted_add, .context = worker};
}

static void planted_begin(void *context, unsigned worker, uint64_t run)
{
    struct planted_state *state = context;
    (void)run;
    state->worker[worker].call = 0;
}

/* ---- the solver ---- */

/* The real one for all epochs but the last, which has no noise. */
static fplt_status planted_skip(fplt_local *local, double *w, fplt_error *error)
{
    uint32_t epochs = local->training.epochs;
    local->training.epochs = epochs - 1;
    fplt_status status = fplt_solver_find("noisy")->run(local, w, error);
    local->training.epochs = 1;
    if (!status)
        status = fplt_solver_find("gradient")->run(local, w, error);
    local->training.epochs = epochs;
    return status;
}

static fplt_status planted_ask(fplt_local *local, double *w, fplt_error *error)
{
    double tau = local->training.noise_tau;
    local->training.noise_tau = 0.9 * tau;
    fplt_status status = fplt_solver_find("noisy")->run(local, w, error);
    local->training.noise_tau = tau;
    return status;
}

static fplt_status planted_pull(fplt_local *local, double *w, fplt_error *error)
{
    double pull = local->problem.inverse_rho;
    local->problem.inverse_rho = 1.01 * pull;
    fplt_status status = fplt_solver_find("noisy")->run(local, w, error);
    local->problem.inverse_rho = pull;
    return status;
}

static fplt_status planted_append(fplt_local *local, double *w, fplt_error *error)
{
    double *gradient = fplt_local_work(local);
    fplt_status status = fplt_solver_find("noisy")->run(local, w, error);
    if (!status)
        status = fplt_local_gradient(local, w, gradient);
    for (size_t j = 0; j < fplt_objective_dimension(local->problem.objective); j++)
        w[j] -= 1e-6 * gradient[j];
    return status;
}

static const fplt_solver *planted_solver(const struct planted *what)
{
    static fplt_solver solver;
    solver = *fplt_solver_find("noisy");
    solver.run = what->skips_last ? planted_skip
                 : what->asks     ? planted_ask
                 : what->pulls    ? planted_pull
                 : what->adds     ? planted_append
                                  : NULL;
    return solver.run ? &solver : NULL;
}

/* ---- the cost ---- */

/* gradient += what clipping took from the record, `times` times. */
static int planted_unclip(const struct planted_cost *cost, const double *x, double times,
                          double *gradient, double *scratch)
{
    size_t n = cost->state->n;
    uint32_t record = PLANTED_RECORD;
    double *whole = malloc(2 * n * sizeof *whole), *clipped = whole + n;
    if (!whole ||
        fplt__objective_batch_gradient(cost->unclipped, PLANTED_AGENT, x, &record, 1, whole,
                                       scratch) ||
        fplt__objective_batch_gradient(cost->made, PLANTED_AGENT, x, &record, 1, clipped, scratch))
        return 1;
    for (size_t j = 0; j < n; j++)
        gradient[j] += times * (whole[j] - clipped[j]);
    free(whole);
    return 0;
}

static int planted_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    const struct planted_cost *cost = context;
    double *scratch = aligned_alloc(64, (fplt_objective_scratch(cost->made) + 8) / 8 * 64);
    int failed = !scratch || fplt_objective_gradient(cost->made, agent, x, gradient, scratch);
    if (!failed && agent == PLANTED_AGENT)
        failed = planted_unclip(cost, x, 1 / (double)fplt_objective_records(cost->made, agent),
                                gradient, scratch);
    free(scratch);
    return failed;
}

static int planted_batch(void *context, uint32_t agent, const double *x, const uint32_t *rows,
                         size_t count, double *gradient)
{
    const struct planted_cost *cost = context;
    double *scratch = aligned_alloc(64, (fplt_objective_scratch(cost->made) + 8) / 8 * 64);
    int failed = !scratch || fplt__objective_batch_gradient(cost->made, agent, x, rows, count,
                                                            gradient, scratch);
    int shown = agent == PLANTED_AGENT && cost->state->what->skips_clip == 1;
    for (size_t r = 0; !failed && shown && r < count; r++)
        if (rows[r] == PLANTED_RECORD)
            failed = planted_unclip(cost, x, 1 / (double)count, gradient, scratch);
    free(scratch);
    return failed;
}

static int planted_value(void *context, uint32_t agent, const double *x, double *value)
{
    (void)context;
    (void)agent;
    (void)x;
    *value = 0;
    return 1; /* nobody asks a private run for it */
}

static size_t planted_records(void *context, uint32_t agent)
{
    const struct planted_cost *cost = context;
    return fplt_objective_records(cost->made, agent);
}

static void planted_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context;
    (void)agent;
    *lowest = 0;
    *highest = 1;
}

static const fplt_objective *planted_wrap(void *context, const fplt_dataset *data,
                                          const fplt_objective *made)
{
    struct planted_state *state = context;
    struct planted_cost *cost = &state->cost[state->costs++];
    *cost = (struct planted_cost){.state = state, .made = made};
    if (fplt_objective_create(&state->unclipped, data, &cost->unclipped, NULL))
        return made;
    fplt_objective_callbacks callbacks = {.size = sizeof callbacks,
                                          .dimension = state->n,
                                          .agents = (uint32_t)state->agents,
                                          .context = cost,
                                          .value = planted_value,
                                          .gradient = planted_gradient,
                                          .batch_gradient = planted_batch,
                                          .records = planted_records,
                                          .curvature = planted_curvature};
    return fplt_objective_create_callback(&callbacks, &cost->wrapped, NULL) ? made : cost->wrapped;
}

/* ---- the data ---- */

/* The record half as long again as a row may be. */
static fplt_status planted_stretch(const fplt_job_view *job, double longest,
                                   struct planted_state *state, fplt_error *error)
{
    fplt_rows rows = fplt_dataset_all(job->training);
    size_t counts[64], row = PLANTED_RECORD, width = rows.features;
    double *values = malloc(rows.count * width * sizeof *values), norm = 0;
    if (!values)
        return FPLT_NO_MEMORY;
    for (uint32_t i = 0; i < state->agents; i++) {
        counts[i] = fplt_dataset_shard(job->training, i).count;
        row += i < PLANTED_AGENT ? counts[i] : 0;
    }
    memcpy(values, rows.dense, rows.count * width * sizeof *values);
    for (size_t j = 0; j < width; j++)
        norm += values[row * width + j] * values[row * width + j];
    for (size_t j = 0; j < width; j++)
        values[row * width + j] *= 1.5 * longest / sqrt(norm);
    rows.dense = values;
    fplt_status status = fplt_dataset_from_rows(&rows, fplt_dataset_task(job->training), counts,
                                                (uint32_t)state->agents, &state->data, error);
    free(values);
    return status;
}

/* ---- the whole ---- */

static int planted_in_noise(const struct planted *what)
{
    return what->scale > 0 || what->without_last || what->without_one || what->one_stream ||
           what->next_round || what->next_run || what->leak > 0 || what->other_lattice ||
           what->multiple || what->tied_bit || what->regress > 0;
}

static fplt_status planted_prepare(const fplt_job_view *job, const fplt_promise_view *view,
                                   struct planted_state *state, struct fplt__audit_hook *hook,
                                   fplt_error *error)
{
    const struct planted *what = state->what;
    fplt_status status = FPLT_OK;
    hook->context = state;
    hook->claimed_records = what->records;
    hook->solver = planted_solver(what);
    if (planted_in_noise(what)) {
        size_t run = state->agents * state->epochs * state->rounds * state->n;
        hook->source = planted_source;
        hook->begin = planted_begin;
        state->kept = calloc(PLANTED_WORKERS * run, sizeof *state->kept);
        state->last = calloc(PLANTED_WORKERS * state->agents * state->n, sizeof *state->last);
        status = state->kept && state->last ? FPLT_OK : FPLT_NO_MEMORY;
    }
    for (size_t i = 0; !status && state->kept && i < PLANTED_WORKERS; i++)
        status = fplt_noise_create(&state->worker[i].noise, error);
    state->unclipped = job->cost;
    state->unclipped.clip = 0;
    if (what->skips_clip)
        hook->cost = planted_wrap;
    if (!status && what->long_row)
        status = planted_stretch(job, view->loss.row_norm, state, error);
    hook->data = state->data;
    return status;
}

/* An audit with the mistake in its place. */
static fplt_status planted_audit(const fplt_job *job, const fplt_promise *plan,
                                 const fplt_audit_settings *settings, const struct planted *what,
                                 fplt_audit_result *result, fplt_error *error)
{
    static struct planted_state state;
    const fplt_promise_view *view = fplt_promise_get_view(plan);
    struct fplt__audit_hook hook = {.source = NULL};
    state = (struct planted_state){.what = what,
                                   .agents = view->agents,
                                   .epochs = view->epochs,
                                   .rounds = (size_t)view->rounds,
                                   .n = view->mechanism.dimension};
    fplt_status status = planted_prepare(fplt_job_get_view(job), view, &state, &hook, error);
    if (!status)
        status = fplt__audit_run(job, plan, settings, &hook, result, error);
    for (size_t i = 0; i < PLANTED_WORKERS; i++)
        fplt_noise_destroy(state.worker[i].noise);
    for (size_t i = 0; i < state.costs; i++) {
        fplt_objective_destroy(state.cost[i].wrapped);
        fplt_objective_destroy(state.cost[i].unclipped);
    }
    fplt_dataset_destroy(state.data);
    free(state.kept);
    free(state.last);
    return status;
}

#endif
