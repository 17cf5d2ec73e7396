/* The audit: prepares what is claimed, searches the records, trains many times under observation, and
 * asks its parts for their verdicts (replay.c, tally.c, records.c, attack.c). The doubt that the
 * settings allow is shared among all that chance could deceive. */
#include "lab/audit/audit.h"

#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "base/noise.h"
#include "engine/engine_access.h"
#include "job/job.h"
#include "objective/objective_access.h"
#include "privacy/privacy.h"
#include "promise/promise.h"

/* Attacks, the checks of the tally, and noise that is used again. */
enum { SHARES = FPLT_AUDIT_TESTS + FPLT__TALLY_CHECKS + FPLT__RESIDUE_CHECKS + 1 };
enum { MAX_COORDINATES = 1024, MAX_MARKS = 1 << 22, MAX_NOISE = 1 << 28 };

_Static_assert(FPLT__NOISE + FPLT__TALLY_CHECKS + FPLT__RESIDUE_CHECKS == FPLT_AUDIT_CHECKS,
               "every check has a place");

fplt_audit_settings fplt_audit_defaults(void)
{
    return (fplt_audit_settings){.canary = "label",
                                 .agent = FPLT_AUDIT_WORST,
                                 .record = FPLT_AUDIT_WORST,
                                 .runs = 2000,
                                 .confidence = 0.9999,
                                 .secure = 1};
}

const char *fplt_audit_verdict_name(fplt_audit_verdict verdict)
{
    static const char *const names[] = {
        [FPLT_AUDIT_NOT_REFUTED] = "not refuted",
        [FPLT_AUDIT_REFUTED] = "REFUTED",
        [FPLT_AUDIT_BLIND] = "could not have refuted",
        [FPLT_AUDIT_LEFT_OUT] = "left out",
    };
    return names[verdict];
}

/* ---- the runs ---- */

static void report(struct fplt__audit *audit, const fplt_error *error)
{
    pthread_mutex_lock(&audit->mutex);
    if (!atomic_exchange(&audit->failed, 1))
        audit->failure = *error;
    pthread_mutex_unlock(&audit->mutex);
}

fplt_status fplt__audit_step(const struct fplt__audit *audit, const fplt_objective *cost,
                             uint32_t agent, const struct fplt__audit_room *room, double *w)
{
    const fplt_privacy_mechanism *mechanism = &audit->plan->mechanism;
    double step = mechanism->step, pull = mechanism->inverse_rho;
    fplt_status status = fplt_objective_gradient(cost, agent, w, room->gradient, room->scratch);
    for (size_t j = 0; !status && j < audit->n; j++)
        w[j] -= step * (room->gradient[j] + pull * (w[j] - room->centre[j]));
    return status;
}

/* Where the agent would go from x without noise. */
static fplt_status walk(const struct fplt__audit *audit, int data, uint32_t agent,
                        const double *before, const struct fplt__audit_room *room, double *w)
{
    fplt_status status = FPLT_OK;
    memcpy(w, before + audit->n, audit->n * sizeof *w);
    for (size_t epoch = 0; !status && epoch < audit->epochs; epoch++)
        status = fplt__audit_step(audit, audit->cost[data], agent, room, w);
    return status;
}

/* What is left over of an agent's message, in deviations of its noise; of the victim's also where the
 * canary would have moved it. */
static fplt_status take_left(const struct fplt__audit *audit, const struct fplt__audit_room *room,
                             uint32_t agent, const double *before, const double *after)
{
    size_t n = audit->n;
    double deviation = audit->claimed[agent].deviation;
    int is_victim = agent == audit->victim;
    fplt_status status = walk(audit, FPLT__AS_IS, agent, before, room, room->first);
    if (!status && is_victim)
        status = walk(audit, FPLT__NEIGHBOUR, agent, before, room, room->second);
    for (size_t j = 0; !status && j < n; j++) {
        double left = (after[n + j] - room->first[j]) / deviation;
        if (is_victim) {
            room->left[j] = left;
            room->shift[j] = (room->second[j] - room->first[j]) / deviation;
        } else
            room->others[j] += left;
    }
    return status;
}

/* Of other agents: how many are in what the attack compares with. Where noise is divided, those whose noise the adversary
 * does not know and that are in every sum; the others' parts are known and taken off. */
static uint32_t others_seen(const struct fplt__audit *audit)
{
    uint64_t honest = audit->divides ? fplt__promise_honest(audit->plan) : audit->agents;
    return honest ? (uint32_t)(honest - 1) : 0;
}

/* `others`: how many other agents were active. */
static void score_round(struct fplt__audit *audit, const struct fplt__audit_room *room,
                        uint64_t run, size_t round, uint32_t others)
{
    size_t n = audit->n;
    double of_others = others ? 1.0 / others : 0, alone = 0, together = 0;
    if (audit->divides)
        of_others = -1; /* the sum, and not the difference to the mean */
    for (size_t j = 0; j < n; j++) {
        double left = room->left[j], shift = room->shift[j];
        alone += shift * (left - shift / 2);
        together += shift * (left - of_others * room->others[j] - shift / 2);
        if (audit->left)
            audit->left[(run * audit->rounds + round) * n + j] = (float)left;
    }
    audit->score[0][run] += alone;
    audit->score[1][run] += together / (audit->divides ? 1 + others : 1 + of_others);
}

/* The messages of a round that was just held. */
static fplt_status read_messages(struct fplt__audit *audit, struct fplt__audit_worker *worker,
                                 const fplt_engine *engine, uint64_t run, size_t round,
                                 fplt_error *error)
{
    const struct fplt__audit_room *room = &worker->room;
    uint32_t active = 0, victim_active = 0, others = 0, most = others_seen(audit);
    memset(room->others, 0, audit->n * sizeof *room->others);
    memset(worker->sum, 0, audit->n * sizeof *worker->sum);
    for (uint32_t agent = 0; agent < audit->agents; agent++) {
        const double *before = worker->before + 2 * audit->n * agent;
        fplt_status status;
        if (fplt__engine_updates(engine, agent) == worker->updates[agent])
            continue;
        const double *after = audit->keeps ? fplt__engine_kept(engine, agent)
                                           : fplt__audit_message(audit, worker, active);
        for (size_t j = 0; j < audit->n; j++) {
            room->centre[j] = 2 * room->y[j] - before[j];
            worker->sum[j] += after[audit->n + j];
        }
        if ((status = fplt__audit_replay(audit, worker, run, round, agent, active, after)))
            return fplt_error_set(error, status, "the gradient of agent %u failed", agent);
        active++;
        if (agent == audit->victim)
            victim_active = 1;
        else if (others++ >= most)
            continue;
        if ((status = take_left(audit, room, agent, before, after)))
            return fplt_error_set(error, status, "the gradient of agent %u failed", agent);
    }
    if (!audit->keeps && active)
        fplt__audit_check_sum(audit, worker, engine, run, round, active);
    if (victim_active)
        score_round(audit, room, run, round, others < most ? others : most);
    return FPLT_OK;
}

static fplt_status watch_round(struct fplt__audit *audit, struct fplt__audit_worker *worker,
                               fplt_engine *engine, uint64_t run, size_t round, fplt_error *error)
{
    size_t n = audit->n;
    fplt_status status = fplt_engine_model(engine, worker->room.y);
    for (uint32_t agent = 0; agent < audit->agents; agent++) {
        double *before = worker->before + 2 * n * agent;
        worker->updates[agent] = fplt__engine_updates(engine, agent);
        if (audit->keeps) {
            memcpy(before, fplt__engine_kept(engine, agent), 2 * n * sizeof *before);
            continue;
        }
        memcpy(before, worker->room.y, n * sizeof *before);
        memcpy(before + n, worker->room.y, n * sizeof *before);
    }
    fplt__observer_begin(worker->observer);
    if (!status)
        status = fplt_engine_round(engine, error);
    return status ? status : read_messages(audit, worker, engine, run, round, error);
}

/* With the training of the plan, each agent's own where it has one. */
static fplt_status make_engine(const struct fplt__audit *audit,
                               const struct fplt__audit_worker *worker, uint64_t run,
                               const fplt_noise_source *source, fplt_engine **engine,
                               fplt_error *error)
{
    fplt_run_settings settings = audit->job->run;
    settings.threads = 1;
    settings.blind = 1;
    settings.run = (uint32_t)run;
    settings.prox = worker->prox;
    settings.noise = source;
    settings.each = audit->training;
    return fplt_engine_create(audit->cost[run & 1], &settings, engine, error);
}

/* Even runs train on the data, odd ones on the neighbour. */
static fplt_status watch_run(struct fplt__audit *audit, struct fplt__audit_worker *worker,
                             uint64_t run, fplt_error *error)
{
    fplt_noise_source source = fplt__observer_source(worker->observer);
    fplt_engine *engine;
    worker->stream = fplt_stream_make(audit->job->run.seed, (uint32_t)run, FPLT_FOR_NOISE, 0, 0, 0);
    memset(worker->present, 0, audit->agents * audit->rounds);
    fplt_status status = make_engine(audit, worker, run, &source, &engine, error);
    if (status)
        return status;
    for (size_t round = 0; !status && round < audit->rounds; round++)
        status = watch_round(audit, worker, engine, run, round, error);
    if (!status)
        status = fplt_engine_model(engine, worker->room.y);
    for (size_t j = 0; !status && j < audit->n; j++)
        audit->final[run * audit->n + j] = (float)worker->room.y[j];
    if (!status)
        fplt__tally_add(worker->tally, worker->draws, worker->present);
    fplt_engine_destroy(engine);
    return status;
}

static void work(void *context, unsigned number)
{
    struct fplt__audit *audit = context;
    struct fplt__audit_worker *worker = &audit->workers[number];
    const fplt_audit_settings *settings = audit->settings;
    fplt_error error = {FPLT_OK, ""};
    uint64_t run = 1;
    /* in pairs, as the tally adds them up */
    while (!atomic_load(&audit->failed) &&
           (run = run % 2 ? atomic_fetch_add(&audit->next, 2) : run + 1) < audit->total) {
        if (audit->hook && audit->hook->begin)
            audit->hook->begin(audit->hook->context, number, run);
        if (watch_run(audit, worker, run, &error)) {
            report(audit, &error);
            return;
        }
        if (number == 0 && settings->watch &&
            settings->watch(settings->context, run + 1, audit->total)) {
            audit->result->stopped = 1;
            atomic_store(&audit->next, audit->total);
            return;
        }
    }
}

/* ---- what is claimed ---- */

/* How far one record of an agent moves its gradient at most. */
static fplt_status find_charge(const struct fplt__audit *audit, uint32_t agent, double tau,
                               double *charge, fplt_error *error)
{
    fplt_promise_view view = audit->view;
    fplt_privacy_claim claim;
    double epsilon;
    fplt_status status = fplt__privacy_threat_find("transcript", &view.threat, error);
    view.mechanism.lattice = 0;
    view.mechanism.group = 1;
    if (!status)
        status = fplt__promise_claim(&view, agent, 1, &claim, &epsilon, error);
    /* mu_step = sqrt(step / 2) charge / tau */
    if (!status)
        *charge = claim.mu_step * tau * sqrt(2 / view.mechanism.step);
    return status;
}

static fplt_status find_claimed(struct fplt__audit *audit, fplt_error *error)
{
    const fplt_privacy_mechanism *mechanism = &audit->plan->mechanism;
    double middle =
        1 - mechanism->step * (mechanism->inverse_rho +
                               (mechanism->strong_convexity + mechanism->smoothness) / 2);
    double steps = 0, weight = 1;
    for (size_t i = 0; i < audit->epochs; i++, weight *= middle * middle)
        steps += weight;
    for (uint32_t agent = 0; agent < audit->agents; agent++) {
        struct fplt__claimed *claimed = &audit->claimed[agent];
        claimed->tau = audit->plan->tau[agent];
        claimed->spacing = fplt__noise_spacing(mechanism->step, claimed->tau);
        claimed->deviation = sqrt(2 * mechanism->step * steps) * claimed->tau;
        fplt_status status = find_charge(audit, agent, claimed->tau, &claimed->charge, error);
        if (status)
            return status;
    }
    return FPLT_OK;
}

/* The plan's view, or one that a test made wrong. */
static fplt_status set_view(struct fplt__audit *audit, fplt_error *error)
{
    audit->view = *audit->plan;
    if (audit->hook && audit->hook->claimed_honest)
        audit->view.mechanism.honest = audit->hook->claimed_honest;
    if (!audit->hook || !audit->hook->claimed_records)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&audit->records, audit->agents, sizeof *audit->records,
                                          "the audit", error);
    for (uint32_t i = 0; !status && i < audit->agents; i++)
        audit->records[i] = audit->plan->records[i] * audit->hook->claimed_records;
    audit->view.records = audit->records;
    audit->view.all_records *= (double)audit->hook->claimed_records;
    return status;
}

/* ---- preparing ---- */

static fplt_status check_audit(const struct fplt__audit *audit, fplt_error *error)
{
    const fplt_audit_settings *settings = audit->settings;
    const fplt_promise_view *plan = audit->plan;
    struct fplt__noise_shape shape = {audit->agents, audit->rounds, audit->epochs, audit->n};
    if (!(plan->algorithm->splits ||
          (fplt__promise_is_descent(plan) && plan->mechanism.inverse_rho == 0)) ||
        strcmp(plan->solver->name, "noisy") != 0)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the audit reads the messages of fed-plt and fedavg with the solver noisy, not "
            "those of %s with %s",
            plan->algorithm->name, plan->solver->name);
    if (strcmp(settings->canary, "label") != 0 && strcmp(settings->canary, "features") != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "there is no canary '%.40s'; it must be label or features",
                              settings->canary);
    if (settings->runs < 100 || settings->runs > UINT32_MAX / 4)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "runs is %llu, but it must be from 100 to 2^30: fewer show nothing",
                              (unsigned long long)settings->runs);
    if (fplt__noise_size(&shape) > MAX_NOISE)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "a run draws %zu numbers of noise; the audit holds at most %d of a "
                              "run: fewer rounds or agents can be audited",
                              fplt__noise_size(&shape), MAX_NOISE);
    return FPLT_OK;
}

static fplt_status add_simulated(void *context, double step, double tau, const double *mean,
                                 double *out, size_t count)
{
    struct fplt__audit_worker *worker = context;
    double deviation = sqrt(2 * step) * tau;
    for (size_t j = 0; j < count; j++)
        out[j] = mean[j] + deviation * fplt_stream_normal(&worker->stream);
    return FPLT_OK;
}

static fplt_status make_source(struct fplt__audit *audit, unsigned number,
                               fplt_noise_source *source, fplt_error *error)
{
    struct fplt__audit_worker *worker = &audit->workers[number];
    fplt_status status = FPLT_OK;
    if (audit->hook && audit->hook->source)
        *source = audit->hook->source(audit->hook->context, number);
    else if (!audit->settings->secure)
        *source =
            (fplt_noise_source){.size = sizeof *source, .add = add_simulated, .context = worker};
    else if (!(status = fplt_noise_create(&worker->noise, error)))
        *source = fplt_promise_noise(worker->noise);
    return status;
}

static fplt_status make_room(const struct fplt__audit *audit, struct fplt__audit_worker *worker,
                             fplt_error *error)
{
    size_t n = audit->n, numbers = 8 * n + 8 + fplt_objective_scratch(audit->cost[FPLT__AS_IS]);
    fplt_status status =
        fplt__alloc_into(&worker->vectors, numbers, sizeof(double), "the audit", error);
    double *v = worker->vectors;
    if (!status)
        worker->room = (struct fplt__audit_room){.y = v,
                                                 .first = v + n,
                                                 .second = v + 2 * n,
                                                 .gradient = v + 3 * n,
                                                 .left = v + 4 * n,
                                                 .shift = v + 5 * n,
                                                 .others = v + 6 * n,
                                                 .centre = v + 7 * n,
                                                 .scratch = v + (8 * n + 7) / 8 * 8};
    return status;
}

static fplt_status make_worker(struct fplt__audit *audit, unsigned number, fplt_error *error)
{
    static const char what[] = "the audit";
    struct fplt__audit_worker *worker = &audit->workers[number];
    struct fplt__noise_shape shape = {audit->agents, audit->rounds, audit->epochs, audit->n};
    fplt_noise_source source;
    size_t n = audit->n;
    fplt_status status;
    if ((status = make_source(audit, number, &source, error)) ||
        (status = fplt__observer_create(&source, audit->agents, audit->epochs, n, &worker->observer,
                                        error)) ||
        (status = fplt__tally_create(&shape, &worker->tally, error)) ||
        (status = fplt__residues_create(&worker->residues, error)) ||
        (status = make_room(audit, worker, error)) ||
        (status = fplt__alloc_into(&worker->before, 2 * n * audit->agents, sizeof(double), what,
                                   error)) ||
        (status = fplt__alloc_into(&worker->after, 3 * n, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&worker->updates, audit->agents, sizeof *worker->updates, what,
                                   error)) ||
        (status = fplt__alloc_into(&worker->draws, fplt__noise_size(&shape), sizeof(float), what,
                                   error)) ||
        (status =
             fplt__alloc_into(&worker->present, audit->agents * audit->rounds, 1, what, error)))
        return status;
    worker->sum = worker->after + 2 * n;
    return fplt__job_composite(audit->job->settings, n,
                               fplt__objective_unpenalised(audit->job->objective), &worker->prox,
                               error);
}

/* Every agent's training, with what a test puts in the solver's place. */
static fplt_status set_training(struct fplt__audit *audit, fplt_error *error)
{
    const fplt_run_settings *run = &audit->job->run;
    fplt_status status = fplt__alloc_into(&audit->training, audit->agents, sizeof *audit->training,
                                          "the audit", error);
    for (uint32_t i = 0; !status && i < audit->agents; i++) {
        audit->training[i] = run->each ? run->each[i] : run->training;
        if (audit->hook && audit->hook->solver)
            audit->training[i].solver = audit->hook->solver;
    }
    return status;
}

static fplt_status allocate(struct fplt__audit *audit, fplt_error *error)
{
    static const char what[] = "the audit";
    size_t coordinates = audit->rounds * audit->n, total = audit->total;
    size_t steps = audit->agents * audit->rounds * audit->epochs;
    fplt_status status;
    audit->marked = MAX_MARKS / steps + 1 < total ? MAX_MARKS / steps + 1 : total;
    if ((status = fplt__alloc_into(&audit->score[0], total, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&audit->score[1], total, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&audit->final, total * audit->n, sizeof(float), what, error)) ||
        (coordinates <= MAX_COORDINATES &&
         (status =
              fplt__alloc_into(&audit->left, total * coordinates, sizeof(float), what, error))) ||
        (status = fplt__alloc_into(&audit->marks, audit->marked * steps, sizeof *audit->marks, what,
                                   error)) ||
        (status = fplt__pool_create(fplt__cores(audit->settings->threads), &audit->pool, error)) ||
        (status = fplt__alloc_into(&audit->workers, fplt__pool_threads(audit->pool),
                                   sizeof *audit->workers, what, error)))
        return status;
    for (unsigned i = 0; !status && i < fplt__pool_threads(audit->pool); i++)
        status = make_worker(audit, i, error);
    return status;
}

/* The data and the cost that are trained on. */
static fplt_status set_data(struct fplt__audit *audit, fplt_error *error)
{
    const struct fplt__audit_hook *hook = audit->hook;
    audit->data = audit->job->training;
    audit->cost[FPLT__AS_IS] = audit->job->objective;
    if (hook && hook->data) {
        audit->data = hook->data;
        fplt_status status =
            fplt_objective_create(&audit->job->cost, hook->data, &audit->owned[FPLT__AS_IS], error);
        if (status)
            return status;
        audit->cost[FPLT__AS_IS] = audit->owned[FPLT__AS_IS];
    }
    if (hook && hook->cost)
        audit->cost[FPLT__AS_IS] = hook->cost(hook->context, audit->data, audit->cost[FPLT__AS_IS]);
    return FPLT_OK;
}

static fplt_status prepare(struct fplt__audit *audit, fplt_error *error)
{
    fplt_status status;
    if ((status = set_view(audit, error)) || (status = set_data(audit, error)) ||
        (status = set_training(audit, error)) ||
        (status = fplt__alloc_into(&audit->claimed, audit->agents, sizeof *audit->claimed,
                                   "the audit", error)) ||
        (status = find_claimed(audit, error)) || (status = fplt__audit_records(audit, error)) ||
        (status = fplt__audit_choose(audit, error)) ||
        (status = fplt__audit_make_neighbour(audit, error)))
        return status;
    return allocate(audit, error);
}

static void clear_worker(struct fplt__audit_worker *worker)
{
    fplt_prox_destroy(worker->prox);
    fplt_noise_destroy(worker->noise);
    fplt__observer_destroy(worker->observer);
    fplt__tally_destroy(worker->tally);
    fplt__residues_clear(&worker->residues);
    fplt__free(worker->vectors);
    fplt__free(worker->before);
    fplt__free(worker->after);
    fplt__free(worker->updates);
    fplt__free(worker->draws);
    fplt__free(worker->present);
}

static void clear(struct fplt__audit *audit)
{
    unsigned threads = audit->pool ? fplt__pool_threads(audit->pool) : 0;
    for (unsigned i = 0; audit->workers && i < threads; i++)
        clear_worker(&audit->workers[i]);
    fplt__free(audit->workers);
    fplt__pool_destroy(audit->pool);
    for (size_t i = 0; i < FPLT__DATA; i++) {
        fplt_objective_destroy(audit->owned[i]);
        fplt_dataset_destroy(audit->made[i]);
    }
    fplt__free(audit->score[0]);
    fplt__free(audit->score[1]);
    fplt__free(audit->final);
    fplt__free(audit->left);
    fplt__free(audit->marks);
    fplt__free(audit->claimed);
    fplt__free(audit->training);
    fplt__free(audit->records);
    pthread_mutex_destroy(&audit->mutex);
}

/* ---- the whole ---- */

static fplt_status conclude(struct fplt__audit *audit, fplt_error *error)
{
    fplt_audit_result *result = audit->result;
    fplt_status status = fplt__audit_attack(audit, error);
    if (status)
        return status;
    for (unsigned i = 1; i < fplt__pool_threads(audit->pool); i++) {
        fplt__tally_merge(audit->workers[0].tally, audit->workers[i].tally);
        fplt__residues_merge(&audit->workers[0].residues, &audit->workers[i].residues);
    }
    fplt__audit_judge_replay(audit);
    fplt__tally_judge(audit->workers[0].tally, audit->level, result->check + FPLT__NOISE);
    fplt__residues_judge(&audit->workers[0].residues, audit->level,
                         result->check + FPLT__NOISE + FPLT__TALLY_CHECKS);
    for (size_t i = 0; i < FPLT_AUDIT_CHECKS; i++)
        result->refuted |= result->check[i].verdict == FPLT_AUDIT_REFUTED;
    return FPLT_OK;
}

static fplt_status train(struct fplt__audit *audit, fplt_error *error)
{
    fplt__pool_run(audit->pool, work, audit);
    if (!atomic_load(&audit->failed))
        return FPLT_OK;
    if (error)
        *error = audit->failure;
    return audit->failure.status;
}

fplt_status fplt__audit_run(const fplt_job *job, const fplt_promise *plan,
                            const fplt_audit_settings *settings,
                            const struct fplt__audit_hook *hook, fplt_audit_result *result,
                            fplt_error *error)
{
    struct fplt__audit audit = {.job = fplt_job_get_view(job),
                                .plan = fplt_promise_get_view(plan),
                                .settings = settings,
                                .hook = hook,
                                .result = result};
    memset(result, 0, sizeof *result);
    audit.agents = audit.plan->agents;
    audit.keeps = audit.plan->algorithm->splits;
    audit.divides = fplt__promise_divides(audit.plan);
    audit.n = audit.plan->mechanism.dimension;
    audit.rounds = (size_t)audit.plan->rounds;
    audit.epochs = audit.plan->epochs;
    audit.level = (1 - settings->confidence) / SHARES;
    audit.total = settings->runs / 2 * 4; /* as many for either half and data set */
    fplt_status status = check_audit(&audit, error);
    if (status)
        return status;
    double begun = fplt__now();
    pthread_mutex_init(&audit.mutex, NULL);
    result->runs = audit.total / 2;
    if (!(status = prepare(&audit, error)) && !(status = train(&audit, error)) && !result->stopped)
        status = conclude(&audit, error);
    clear(&audit);
    result->seconds = fplt__now() - begun;
    if (status)
        fplt_audit_clear(result);
    return status;
}

fplt_status fplt_audit_run(const fplt_job *job, const fplt_promise *plan,
                           const fplt_audit_settings *settings, fplt_audit_result *result,
                           fplt_error *error)
{
    return fplt__audit_run(job, plan, settings, NULL, result, error);
}

void fplt_audit_clear(fplt_audit_result *result)
{
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++) {
        fplt__free(result->test[i].without);
        fplt__free(result->test[i].with);
        result->test[i].without = result->test[i].with = NULL;
    }
}
