/* The attacks. Of each round everything but the fresh noise is public: y, and every agent's z and x
 * before it. So an attack computes where the victim would have gone without noise on the first data
 * set, and on the second; what is left over is the noise of the round, plus the difference of the two
 * where the second was trained on.
 *
 *   projection     the log-likelihood ratio of all rounds, as if the noise of a round were the same
 *                  in all directions [Neyman and Pearson]
 *   difference     the same after taking off what is left over of the other agents' messages, on
 *                  average: sees through noise that agents share
 *   sum            where noise is divided, instead of the difference: the log-likelihood ratio of the sums, less the parts
 *                  of the agents that help the adversary
 *   discriminant   Fisher's discriminant over the left-overs of all rounds: knows nothing, so it
 *                  also finds noise that is not independent between rounds
 *   final model    Fisher's discriminant over the final y alone
 *
 * Each is fitted on one half of the runs and judged on the other; the bound is that of
 * fplt__privacy_audit_bound. */
#include "lab/audit/audit.h"

#include <math.h>

#include "base/memory.h"
#include "base/sorting.h"
#include "privacy/boundary.h"
#include "base/normal.h"
#include "privacy/privacy.h"
#include "promise/promise.h"

enum { PROJECTION, DIFFERENCE, DISCRIMINANT, FINAL };
enum { THRESHOLDS = 64 };

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

/* ---- power ---- */

struct hope {
    double claimed, confidence;
    uint64_t count;
};

/* The bound that an attack reaching mu shows with probability 0.99, about. */
static double bound_hoped_for(double mu, const struct hope *hope)
{
    double p = exp(fplt__normal_log_cdf(-mu / 2)), count = (double)hope->count, bound;
    uint64_t errors = (uint64_t)ceil(count * p + FPLT__SURELY * sqrt(count * p * (1 - p)));
    errors = errors < hope->count ? errors : hope->count;
    fplt_privacy_trials trials = {hope->count, errors, hope->count, errors};
    return fplt__privacy_audit_bound(&trials, hope->confidence, &bound, NULL) ? 0 : bound;
}

static int stays_below(double mu, const void *context)
{
    const struct hope *hope = context;
    return bound_hoped_for(mu, hope) <= hope->claimed;
}

static double mean_of(const double *numbers, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i];
    return sum / (double)count;
}

static double variance_of(const double *numbers, size_t count)
{
    double mean = mean_of(numbers, count), sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (numbers[i] - mean) * (numbers[i] - mean);
    return sum / (double)count;
}

/* How far the attack tells the two apart, in deviations of its own statistic. */
static double separation(const fplt_audit_test *test)
{
    double variance =
        (variance_of(test->without, test->count) + variance_of(test->with, test->count)) / 2;
    double distance = mean_of(test->with, test->count) - mean_of(test->without, test->count);
    return variance > 0 && distance > 0 ? distance / sqrt(variance) : 0;
}

/* Less noise takes the attack further in proportion: it refutes where that is more than the least mu
 * that so many runs can show to be above the claim. */
static void find_power(fplt_audit_test *test, double confidence)
{
    const double most = 16;
    struct hope hope = {test->claimed, confidence, test->count};
    double needed, beyond, reached = fmin(separation(test), test->claimed);
    if (stays_below(most, &hope))
        return;
    fplt__boundary(stays_below, &hope, test->claimed / 2, most, &needed, &beyond);
    test->power = reached / beyond;
}

/* ---- the verdicts ---- */

/* The threshold with the best bound on the half that fits; `room` has space for it. */
static fplt_status fit_threshold(const struct fplt__audit *audit, const double *score, double *room,
                                 double *best_threshold, fplt_error *error)
{
    size_t quarter = audit->total / 4;
    double *without = room, *with = room + quarter, best = 0;
    collect(score, audit->total, 0, 0, without);
    collect(score, audit->total, 1, 0, with);
    *best_threshold = without[quarter / 2];
    for (size_t i = 1; i < THRESHOLDS; i++) {
        double bound, threshold = (i % 2 ? without : with)[i * quarter / THRESHOLDS];
        fplt_privacy_trials trials = try_threshold(without, with, quarter, threshold);
        fplt_status status = fplt__privacy_audit_bound(&trials, 1 - audit->level, &bound, error);
        if (status)
            return status;
        if (bound > best) {
            best = bound;
            *best_threshold = threshold;
        }
    }
    return FPLT_OK;
}

static fplt_status judge_attack(struct fplt__audit *audit, fplt_audit_test *test,
                                const double *score, double *room, fplt_error *error)
{
    double confidence = 1 - audit->level;
    size_t quarter = audit->total / 4;
    fplt_status status;
    if ((status = fit_threshold(audit, score, room, &test->threshold, error)) ||
        (status = fplt__alloc_into(&test->without, quarter, sizeof(double), "scores", error)) ||
        (status = fplt__alloc_into(&test->with, quarter, sizeof(double), "scores", error)))
        return status;
    test->count = quarter;
    collect(score, audit->total, 0, 1, test->without);
    collect(score, audit->total, 1, 1, test->with);
    test->trials = try_threshold(test->without, test->with, quarter, test->threshold);
    if ((status = fplt__privacy_audit_bound(&test->trials, confidence, &test->bound, error)) ||
        (status = fplt__privacy_audit_bound(&test->trials, 1e-9, &test->estimate, error)))
        return status;
    find_power(test, confidence);
    test->refuted = test->bound > test->claimed;
    test->verdict = test->refuted       ? FPLT_AUDIT_REFUTED
                    : test->power < 0.5 ? FPLT_AUDIT_BLIND
                                        : FPLT_AUDIT_NOT_REFUTED;
    return FPLT_OK;
}

static fplt_status discriminate(struct fplt__audit *audit, const float *points, size_t dimension,
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
static fplt_status find_claims(const struct fplt__audit *audit, const char *threat, int lattice,
                               fplt_audit_test *test, fplt_error *error)
{
    fplt_promise_view view = audit->view;
    fplt_privacy_claim claim;
    double epsilon;
    fplt_status status = fplt__privacy_threat_find(threat, &view.threat, error);
    view.mechanism.lattice = lattice;
    if (status || (status = fplt__promise_claim(&view, audit->victim, audit->rounds, &claim,
                                                &epsilon, error)))
        return status;
    test->any_record = claim.gdp_mu;
    view.constants.sensitivity = audit->result->gap;
    view.mechanism.group = 1;
    status = fplt__promise_claim(&view, audit->victim, audit->rounds, &claim, &epsilon, error);
    test->claimed = claim.gdp_mu;
    return status;
}

static fplt_status describe(struct fplt__audit *audit, fplt_error *error)
{
    static const struct {
        const char *name, *sees, *threat;
    } attacks[FPLT_AUDIT_TESTS] = {
        [PROJECTION] = {"projection", "the agent's messages", "transcript"},
        [DIFFERENCE] = {"difference", "every agent's messages", "transcript"},
        [DISCRIMINANT] = {"discriminant", "the agent's messages", "transcript"},
        [FINAL] = {"final model", "the final y", "final-y"},
    };
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++) {
        fplt_audit_test *test = &audit->result->test[i];
        const char *threat = attacks[i].threat;
        test->name = attacks[i].name;
        test->sees = attacks[i].sees;
        if (audit->divides && i == DIFFERENCE) {
            test->name = "sum";
            test->sees = "sums, and some agents' noise";
        }
        if (audit->divides && (i == DIFFERENCE || i == FINAL))
            threat = audit->plan->threat->name;
        test->left_out =
            (i == DISCRIMINANT && !audit->left) || (i == DIFFERENCE && audit->agents == 1);
        test->verdict = FPLT_AUDIT_LEFT_OUT;
        fplt_status status =
            find_claims(audit, threat, i == FINAL ? audit->settings->secure : 1, test, error);
        if (status)
            return status;
    }
    return FPLT_OK;
}

fplt_status fplt__audit_attack(struct fplt__audit *audit, fplt_error *error)
{
    fplt_audit_test *test = audit->result->test;
    double *room, *score = audit->score[0];
    fplt_status status =
        fplt__alloc_into(&room, audit->total / 2 + 2, sizeof *room, "scores", error);
    if (status)
        return status;
    if (!(status = describe(audit, error)))
        status = judge_attack(audit, &test[PROJECTION], score, room, error);
    if (!status && !test[DIFFERENCE].left_out)
        status = judge_attack(audit, &test[DIFFERENCE], audit->score[1], room, error);
    if (!status && audit->left &&
        !(status = discriminate(audit, audit->left, audit->rounds * audit->n, score, error)))
        status = judge_attack(audit, &test[DISCRIMINANT], score, room, error);
    if (!status && !(status = discriminate(audit, audit->final, audit->n, score, error)))
        status = judge_attack(audit, &test[FINAL], score, room, error);
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++)
        audit->result->refuted |= test[i].refuted;
    fplt__free(room);
    return status;
}
