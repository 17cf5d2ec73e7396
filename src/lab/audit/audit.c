/* The audit. Of each round everything but the fresh noise is public: y, the agent's z and x before
 * it. So the attack computes where the agent would have gone without noise on the first data set, and
 * on the second; what is left over is the noise of the round, plus the difference of the two where
 * the second was trained on. Three attacks:
 *
 *   projection     the log-likelihood ratio of all rounds, as if the noise of a round were the same
 *                  in all directions [Neyman and Pearson]
 *   discriminant   Fisher's discriminant over the left-overs of all rounds: knows nothing, so it
 *                  also finds noise that is not independent between rounds
 *   final model    Fisher's discriminant over the final y alone
 *
 * Each is fitted on one half of the runs and judged on the other; the bound is that of
 * fplt_privacy_audit_bound, its doubt shared among the attacks. */
#include "lab/audit/audit.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "engine/pool.h"
#include "promise/promise.h"
#include "base/machine.h"
#include "base/sorting.h"

enum { PROJECTION, DISCRIMINANT, FINAL };
enum { MOST_COORDINATES = 1024, THRESHOLDS = 64 };

fplt_audit_settings fplt_audit_defaults(void)
{
    return (fplt_audit_settings){.canary = "label",
                                 .agent = FPLT_AUDIT_WORST,
                                 .record = FPLT_AUDIT_WORST,
                                 .runs = 2000,
                                 .confidence = 0.99};
}

struct worker {
    fplt_prox *prox;   /* owned */
    fplt_noise *noise; /* owned */
    fplt_noise_source source;
    double *vectors; /* owned: y, z, x, w on either data set, gradient, scratch */
};

struct audit {
    const fplt_job_view *job;
    const fplt_promise_view *plan;
    const fplt_audit_settings *settings;
    const struct fplt__audit_hook *hook;
    fplt_audit_result *result;
    fplt_dataset *other_data; /* owned */
    fplt_objective *other;    /* owned */
    const fplt_objective *objective[2];
    uint32_t victim;
    size_t n, rounds;
    uint64_t total;         /* runs on both */
    float *left;            /* owned: total x (rounds n), or NULL */
    float *final;           /* owned: total x n */
    double *score;          /* owned: total */
    double deviation;       /* of a round's noise, about */
    struct worker *workers; /* owned */
    fplt__pool *pool;       /* owned */
    atomic_uint_fast64_t next;
    atomic_int failed;
    pthread_mutex_t mutex;
    fplt_error failure;
};

/* ---- the canary ---- */

static double row_norm(const fplt_rows *rows, size_t row)
{
    double sum = 0;
    size_t first = rows->dense ? row * rows->features : rows->start[row];
    size_t last = rows->dense ? first + rows->features : rows->start[row + 1];
    const double *value = rows->dense ? rows->dense : rows->value;
    for (size_t k = first; k < last; k++)
        sum += value[k] * value[k];
    return sqrt(sum);
}

static fplt_status choose_record(struct audit *audit, fplt_error *error)
{
    const fplt_audit_settings *settings = audit->settings;
    audit->victim = settings->agent == FPLT_AUDIT_WORST ? audit->plan->worst : settings->agent;
    if (audit->victim >= audit->plan->agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "there is no agent %u; agents are numbered from 0 to %u",
                              audit->victim, audit->plan->agents - 1);
    fplt_rows rows = fplt_dataset_shard(audit->job->training, audit->victim);
    uint32_t record = settings->record;
    if (record == FPLT_AUDIT_WORST) {
        record = 0;
        for (uint32_t i = 1; i < rows.count; i++)
            if (row_norm(&rows, i) > row_norm(&rows, record))
                record = i;
    }
    if (record >= rows.count)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u has no record %u; its records are numbered from 0 to %zu",
                              audit->victim, record, rows.count - 1);
    audit->result->agent = audit->victim;
    audit->result->record = record;
    return FPLT_OK;
}

static double other_label(fplt_task task, uint32_t outputs, double label)
{
    if (task == FPLT_TASK_CLASSES)
        return label + 1 < outputs ? label + 1 : 0;
    return -label;
}

/* The row's numbers in reverse with alternating signs: as long as before, and elsewhere; turned
 * away from the row where it would be near. */
static void turn_row(const double *from, double *to, size_t count)
{
    double dot = 0;
    for (size_t k = 0; k < count; k++) {
        to[k] = (k % 2 ? -1 : 1) * from[count - 1 - k];
        dot += to[k] * from[k];
    }
    for (size_t k = 0; dot > 0 && k < count; k++)
        to[k] = -to[k];
}

/* How far the gradient of the canary can be from that of the record it replaces. Logistic: the
 * gradients are -psi(m) b a with psi from 0 to 1. Another label gives psi(m) + psi(-m) = 1 times a;
 * softmax: the difference of two unit vectors times a; other rows: the corners of the square. */
static double find_gap(const struct audit *audit, double norm, double distance, int label)
{
    const fplt_promise_view *plan = audit->plan;
    double one = plan->loss.intercept ? 1 : 0, gap = plan->constants.sensitivity;
    if (label && strcmp(plan->loss.name, "logistic") == 0)
        gap = fmin(gap, hypot(norm, one));
    else if (label && strcmp(plan->loss.name, "softmax") == 0 && !(plan->loss.clip > 0))
        gap = fmin(gap, sqrt(2) * hypot(norm, one));
    else if (!label && strcmp(plan->loss.name, "logistic") == 0)
        gap = fmin(gap, fmax(hypot(norm, one), distance));
    return gap;
}

static fplt_status copy_rows(const fplt_rows *all, double **values, double **labels,
                             fplt_error *error)
{
    size_t count = all->dense ? all->count * all->features : all->start[all->count];
    fplt_status status = fplt__alloc_into(values, count, sizeof **values, "the neighbour", error);
    if (!status)
        status = fplt__alloc_into(labels, all->count, sizeof **labels, "the neighbour", error);
    if (status)
        return status;
    memcpy(*values, all->dense ? all->dense : all->value, count * sizeof **values);
    memcpy(*labels, all->label, all->count * sizeof **labels);
    return FPLT_OK;
}

static void put_canary(struct audit *audit, const fplt_rows *all, size_t row, double *values,
                       double *labels)
{
    int label = strcmp(audit->settings->canary, "label") == 0;
    const double *source = all->dense ? all->dense : all->value;
    size_t first = all->dense ? row * all->features : all->start[row];
    size_t length = all->dense ? all->features : all->start[row + 1] - first;
    double distance = 0;
    if (label)
        labels[row] = other_label(fplt_dataset_task(audit->job->training),
                                  fplt_dataset_outputs(audit->job->training), labels[row]);
    else
        turn_row(source + first, values + first, length);
    for (size_t k = first; k < first + length; k++)
        distance += (source[k] - values[k]) * (source[k] - values[k]);
    audit->result->gap = find_gap(audit, row_norm(all, row), sqrt(distance), label);
}

static fplt_status make_neighbour(struct audit *audit, fplt_error *error)
{
    const fplt_dataset *data = audit->job->training;
    fplt_rows all = fplt_dataset_all(data), changed = all;
    double *values = NULL, *labels = NULL;
    size_t *counts = NULL, row = audit->result->record;
    uint32_t agents = fplt_dataset_agents(data);
    fplt_status status = copy_rows(&all, &values, &labels, error);
    if (!status)
        status = fplt__alloc_into(&counts, agents, sizeof *counts, "the neighbour", error);
    if (!status) {
        for (uint32_t i = 0; i < agents; i++) {
            counts[i] = fplt_dataset_shard(data, i).count;
            row += i < audit->victim ? counts[i] : 0;
        }
        put_canary(audit, &all, row, values, labels);
        changed.label = labels;
        changed.dense = all.dense ? values : NULL;
        changed.value = all.dense ? NULL : values;
        status = fplt_dataset_from_rows(&changed, fplt_dataset_task(data), counts, agents,
                                        &audit->other_data, error);
    }
    if (!status)
        status = fplt_objective_create(&audit->job->cost, audit->other_data, &audit->other, error);
    fplt__free(values);
    fplt__free(labels);
    fplt__free(counts);
    return status;
}

/* ---- the runs ---- */

static void report(struct audit *audit, const fplt_error *error)
{
    pthread_mutex_lock(&audit->mutex);
    if (!atomic_exchange(&audit->failed, 1))
        audit->failure = *error;
    pthread_mutex_unlock(&audit->mutex);
}

/* Where the agent would go from x without noise. */
static fplt_status walk(const struct audit *audit, int data, const double *centre, double *w,
                        double *gradient, double *scratch)
{
    const fplt_privacy_mechanism *mechanism = &audit->plan->mechanism;
    double step = mechanism->step, pull = mechanism->inverse_rho;
    for (uint32_t epoch = 0; epoch < audit->plan->epochs; epoch++) {
        fplt_status status =
            fplt_objective_gradient(audit->objective[data], audit->victim, w, gradient, scratch);
        if (status)
            return status;
        for (size_t j = 0; j < audit->n; j++)
            w[j] -= step * (gradient[j] + pull * (w[j] - centre[j]));
    }
    return FPLT_OK;
}

/* One round of a run, seen by the attack. kept: z, x. */
static fplt_status watch_round(struct audit *audit, struct worker *worker, fplt_engine *engine,
                               uint64_t run, size_t round, fplt_error *error)
{
    size_t n = audit->n;
    double *centre = worker->vectors, *first = centre + n, *second = first + n;
    double *gradient = second + n, *scratch = gradient + (n + 7) / 8 * 8;
    const double *kept = fplt_engine_kept(engine, audit->victim);
    uint64_t updates = fplt_engine_updates(engine, audit->victim);
    fplt_status status = fplt_engine_model(engine, centre);
    for (size_t j = 0; j < n; j++)
        centre[j] = 2 * centre[j] - kept[j];
    memcpy(first, kept + n, n * sizeof *first);
    memcpy(second, kept + n, n * sizeof *second);
    if (!status)
        status = fplt_engine_round(engine, error);
    if (status || fplt_engine_updates(engine, audit->victim) == updates)
        return status;
    if ((status = walk(audit, 0, centre, first, gradient, scratch)) ||
        (status = walk(audit, 1, centre, second, gradient, scratch)))
        return fplt_error_set(error, status, "the gradient of agent %u failed", audit->victim);
    double sum = 0;
    const double *after = fplt_engine_kept(engine, audit->victim) + n;
    for (size_t j = 0; j < n; j++) {
        double left = (after[j] - first[j]) / audit->deviation;
        double shift = (second[j] - first[j]) / audit->deviation;
        sum += shift * (left - shift / 2);
        if (audit->left)
            audit->left[(run * audit->rounds + round) * n + j] = (float)left;
    }
    audit->score[run] += sum;
    return FPLT_OK;
}

/* Even runs train on the data, odd ones on the neighbour. */
static fplt_status watch_run(struct audit *audit, struct worker *worker, uint64_t run,
                             fplt_error *error)
{
    fplt_run_settings settings = audit->job->run;
    fplt_engine *engine;
    settings.threads = 1;
    settings.blind = 1;
    settings.run = (uint32_t)run;
    settings.prox = worker->prox;
    settings.noise = worker->source.add ? &worker->source : NULL;
    fplt_status status = fplt_engine_create(audit->objective[run & 1], &settings, &engine, error);
    if (status)
        return status;
    for (size_t round = 0; !status && round < audit->rounds; round++)
        status = watch_round(audit, worker, engine, run, round, error);
    if (!status)
        status = fplt_engine_model(engine, worker->vectors);
    for (size_t j = 0; !status && j < audit->n; j++)
        audit->final[run * audit->n + j] = (float)worker->vectors[j];
    fplt_engine_destroy(engine);
    return status;
}

static void work(void *context, unsigned number)
{
    struct audit *audit = context;
    struct worker *worker = &audit->workers[number];
    const fplt_audit_settings *settings = audit->settings;
    fplt_error error = {FPLT_OK, ""};
    uint64_t run;
    while (!atomic_load(&audit->failed) &&
           (run = atomic_fetch_add(&audit->next, 1)) < audit->total) {
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
        }
    }
}

/* ---- the verdict ---- */

/* How many of the sorted numbers are above. */
static size_t above(const double *sorted, size_t count, double threshold)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] > threshold)
            high = middle;
        else
            low = middle + 1;
    }
    return count - low;
}

static fplt_privacy_trials try_threshold(const double *without, const double *with, size_t count,
                                         double threshold)
{
    return (fplt_privacy_trials){.negatives = count,
                                 .false_positives = above(without, count, threshold),
                                 .positives = count,
                                 .false_negatives = count - above(with, count, threshold)};
}

/* Sorted scores of one half: data set `data`, runs whose pair number has this parity. */
static size_t collect(const double *score, uint64_t total, int data, int half, double *out)
{
    size_t count = 0;
    for (uint64_t i = (uint64_t)data; i < total; i += 2)
        if ((int)((i >> 1) & 1) == half)
            out[count++] = score[i];
    fplt__sort(out, count);
    return count;
}

static fplt_status judge(struct audit *audit, fplt_audit_test *test, const double *score,
                         double *room, fplt_error *error)
{
    double confidence = 1 - (1 - audit->settings->confidence) / FPLT_AUDIT_TESTS;
    size_t quarter = audit->total / 4;
    double *without = room, *with = room + quarter, best = 0;
    collect(score, audit->total, 0, 0, without);
    collect(score, audit->total, 1, 0, with);
    test->threshold = without[quarter / 2];
    for (size_t i = 1; i < THRESHOLDS; i++) {
        double bound, threshold = (i % 2 ? without : with)[i * quarter / THRESHOLDS];
        fplt_privacy_trials trials = try_threshold(without, with, quarter, threshold);
        fplt_status status = fplt_privacy_audit_bound(&trials, confidence, &bound, error);
        if (status)
            return status;
        if (bound > best) {
            best = bound;
            test->threshold = threshold;
        }
    }
    fplt_status status;
    if ((status = fplt__alloc_into(&test->without, quarter, sizeof(double), "scores", error)) ||
        (status = fplt__alloc_into(&test->with, quarter, sizeof(double), "scores", error)))
        return status;
    test->count = quarter;
    collect(score, audit->total, 0, 1, test->without);
    collect(score, audit->total, 1, 1, test->with);
    test->trials = try_threshold(test->without, test->with, quarter, test->threshold);
    if ((status = fplt_privacy_audit_bound(&test->trials, confidence, &test->bound, error)) ||
        (status = fplt_privacy_audit_bound(&test->trials, 1e-9, &test->estimate, error)))
        return status;
    test->refuted = test->bound > test->claimed;
    audit->result->refuted |= test->refuted;
    return FPLT_OK;
}

static fplt_status discriminate(struct audit *audit, const float *points, size_t dimension,
                                double *score, fplt_error *error)
{
    double *direction;
    fplt_status status =
        fplt__alloc_into(&direction, dimension, sizeof *direction, "the discriminant", error);
    if (status)
        return status;
    status = fplt__discriminant(points, audit->total, dimension, direction, error);
    for (uint64_t i = 0; !status && i < audit->total; i++) {
        score[i] = 0;
        for (size_t j = 0; j < dimension; j++)
            score[i] += direction[j] * points[i * dimension + j];
    }
    fplt__free(direction);
    return status;
}

/* What is claimed against who sees `threat`, for any record and for this canary. */
static fplt_status find_claims(const struct audit *audit, const char *threat, int lattice,
                               fplt_audit_test *test, fplt_error *error)
{
    const fplt_promise_view *plan = audit->plan;
    fplt_promise_view view = *plan;
    fplt_privacy_claim claim;
    double epsilon;
    fplt_status status = fplt_privacy_threat_find(threat, &view.threat, error);
    view.mechanism.lattice = lattice;
    uint64_t records[1] = {0};
    if (audit->hook && audit->hook->claimed_records) {
        records[0] = audit->hook->claimed_records;
        view.records = records;
        view.agents = 1;
    }
    uint32_t agent = records[0] ? 0 : audit->victim;
    if (status ||
        (status = fplt_promise_claim(&view, agent, audit->rounds, &claim, &epsilon, error)))
        return status;
    test->any_record = claim.gdp_mu;
    view.constants.sensitivity = audit->result->gap;
    status = fplt_promise_claim(&view, agent, audit->rounds, &claim, &epsilon, error);
    test->claimed = claim.gdp_mu;
    return status;
}

static fplt_status conclude(struct audit *audit, fplt_error *error)
{
    fplt_audit_test *test = audit->result->test;
    double *room;
    fplt_status status =
        fplt__alloc_into(&room, audit->total / 2 + 2, sizeof *room, "scores", error);
    if (status)
        return status;
    test[PROJECTION].name = "projection";
    test[DISCRIMINANT].name = "discriminant";
    test[PROJECTION].sees = test[DISCRIMINANT].sees = "every message";
    test[FINAL].name = "final model";
    test[FINAL].sees = "the final y";
    test[DISCRIMINANT].left_out = !audit->left;
    int lattice = audit->settings->secure;
    if (!(status = find_claims(audit, "transcript", 1, &test[PROJECTION], error)) &&
        !(status = find_claims(audit, "transcript", 1, &test[DISCRIMINANT], error)) &&
        !(status = find_claims(audit, "final-y", lattice, &test[FINAL], error)))
        status = judge(audit, &test[PROJECTION], audit->score, room, error);
    if (!status && audit->left &&
        !(status = discriminate(audit, audit->left, audit->rounds * audit->n, audit->score, error)))
        status = judge(audit, &test[DISCRIMINANT], audit->score, room, error);
    if (!status && !(status = discriminate(audit, audit->final, audit->n, audit->score, error)))
        status = judge(audit, &test[FINAL], audit->score, room, error);
    fplt__free(room);
    return status;
}

/* ---- the whole ---- */

static fplt_status check(const struct audit *audit, fplt_error *error)
{
    const fplt_audit_settings *settings = audit->settings;
    const fplt_promise_view *plan = audit->plan;
    if (!plan->algorithm->splits || strcmp(plan->solver->name, "noisy") != 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the audit reads the messages of fed-plt with the solver noisy, not "
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
    return FPLT_OK;
}

static fplt_status make_worker(struct audit *audit, unsigned number, fplt_error *error)
{
    struct worker *worker = &audit->workers[number];
    size_t n = audit->n, scratch = fplt_objective_scratch(audit->job->objective);
    fplt_status status = fplt__alloc_into(&worker->vectors, 4 * n + 16 + scratch, sizeof(double),
                                          "the audit", error);
    if (!status)
        status = fplt_job_composite(audit->job->settings, n,
                                    fplt_objective_intercepts(audit->job->objective), &worker->prox,
                                    error);
    if (status)
        return status;
    if (audit->hook && audit->hook->source)
        worker->source = audit->hook->source(audit->hook->context, number);
    else if (audit->settings->secure && !(status = fplt_noise_create(&worker->noise, error)))
        worker->source = fplt__secure_source(worker->noise);
    return status;
}

static fplt_status allocate(struct audit *audit, fplt_error *error)
{
    const fplt_privacy_mechanism *mechanism = &audit->plan->mechanism;
    size_t coordinates = audit->rounds * audit->n;
    unsigned threads = fplt__cores(audit->settings->threads);
    double middle =
        1 - mechanism->step * (mechanism->inverse_rho +
                               (mechanism->strong_convexity + mechanism->smoothness) / 2);
    double steps = 0, weight = 1;
    for (uint32_t i = 0; i < audit->plan->epochs; i++, weight *= middle * middle)
        steps += weight;
    audit->deviation = sqrt(2 * mechanism->step * steps) * mechanism->noise_tau;
    fplt_status status;
    if ((status = fplt__alloc_into(&audit->score, audit->total, sizeof *audit->score, "the audit",
                                   error)) ||
        (status = fplt__alloc_into(&audit->final, audit->total * audit->n, sizeof *audit->final,
                                   "the audit", error)) ||
        (coordinates <= MOST_COORDINATES &&
         (status = fplt__alloc_into(&audit->left, audit->total * coordinates, sizeof *audit->left,
                                    "the audit", error))) ||
        (status = fplt__pool_create(threads, &audit->pool, error)) ||
        (status = fplt__alloc_into(&audit->workers, fplt__pool_threads(audit->pool),
                                   sizeof *audit->workers, "the audit", error)))
        return status;
    for (unsigned i = 0; !status && i < fplt__pool_threads(audit->pool); i++)
        status = make_worker(audit, i, error);
    return status;
}

static void clear(struct audit *audit)
{
    unsigned threads = audit->pool ? fplt__pool_threads(audit->pool) : 0;
    for (unsigned i = 0; audit->workers && i < threads; i++) {
        fplt_prox_destroy(audit->workers[i].prox);
        fplt_noise_destroy(audit->workers[i].noise);
        fplt__free(audit->workers[i].vectors);
    }
    fplt__free(audit->workers);
    fplt__pool_destroy(audit->pool);
    fplt__free(audit->score);
    fplt__free(audit->final);
    fplt__free(audit->left);
    fplt_objective_destroy(audit->other);
    fplt_dataset_destroy(audit->other_data);
    pthread_mutex_destroy(&audit->mutex);
}

fplt_status fplt__audit_run(const fplt_job *job, const fplt_promise *plan,
                            const fplt_audit_settings *settings,
                            const struct fplt__audit_hook *hook, fplt_audit_result *result,
                            fplt_error *error)
{
    struct audit audit = {.job = fplt_job_see(job),
                          .plan = fplt_promise_see(plan),
                          .settings = settings,
                          .hook = hook,
                          .result = result};
    memset(result, 0, sizeof *result);
    fplt_status status = check(&audit, error);
    if (status)
        return status;
    double begun = fplt__now();
    pthread_mutex_init(&audit.mutex, NULL);
    audit.n = audit.plan->mechanism.dimension;
    audit.rounds = (size_t)audit.plan->mechanism.rounds;
    audit.total = settings->runs / 2 * 4; /* as many for either half and data set */
    result->runs = audit.total / 2;
    if (!(status = choose_record(&audit, error)) && !(status = make_neighbour(&audit, error))) {
        audit.objective[0] = audit.job->objective;
        audit.objective[1] = audit.other;
        status = allocate(&audit, error);
    }
    if (!status) {
        fplt__pool_run(audit.pool, work, &audit);
        if (atomic_load(&audit.failed)) {
            if (error)
                *error = audit.failure;
            status = audit.failure.status;
        }
    }
    if (!status && !result->stopped)
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
