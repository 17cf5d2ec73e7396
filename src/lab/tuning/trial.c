/* One run of an engine to its criterion. */
#include "lab/tuning/trial.h"

#include <math.h>

#include "base/memory.h"
#include "engine/engine.h"

/* As the engine has it: a criterion that grew by this much will not come back. */
static const double hopeless = 1e16;

struct watching {
    const fplt__case *one;
    fplt_engine *engine;
    const fplt_objective *objective;
    double *room; /* owned: mean model, gradient, their sum, scratch; NULL: the engine measures */
    double first;
    double most, most_time, tolerance;
    double before, last; /* the criterion after the last two rounds */
    uint64_t rounds;
    int impatient, stalled;
    double most_rounds;    /* of the settings */
    double best;           /* least criterion so far ... */
    double marked;         /* ... and at half of the rounds or earlier, */
    uint64_t marked_round; /* which was here */
    fplt__recording *recording;
    fplt_status status;
    fplt_error *error;
};

/* ||sum grad f_i||^2 at the mean of the agents' models: what the engine measures where h = 0, without
 * the values and hits that cost as much again as the gradients. */
static fplt_status measure(struct watching *watching, double *criterion)
{
    const fplt_objective *objective = watching->objective;
    size_t n = fplt_objective_dimension(objective);
    double *x = watching->room, *gradient = x + n, *sum = gradient + n, *scratch = sum + n;
    fplt_status status = fplt_engine_mean(watching->engine, x);
    for (size_t j = 0; j < n; j++)
        sum[j] = 0;
    for (uint32_t i = 0; !status && i < fplt_objective_agents(objective); i++) {
        status = fplt_objective_gradient(objective, i, x, gradient, scratch);
        for (size_t j = 0; j < n; j++)
            sum[j] += gradient[j];
    }
    *criterion = 0;
    for (size_t j = 0; j < n; j++)
        *criterion += sum[j] * sum[j];
    if (status == FPLT_DIVERGED || !isfinite(*criterion)) {
        *criterion = HUGE_VAL;
        return FPLT_OK;
    }
    return status ? fplt_error_set(watching->error, status, "a gradient failed") : FPLT_OK;
}

static fplt_status record(fplt__recording *recording, const fplt_progress *progress,
                          double criterion, fplt_error *error)
{
    const fplt_counters *counters = &progress->counters;
    fplt_status status = fplt__grow(&recording->samples, &recording->capacity, recording->count + 1,
                                    sizeof *recording->samples, "a curve", error);
    if (status)
        return status;
    recording->samples[recording->count++] =
        (fplt__sample){criterion, counters->gradients,
                       (double)(counters->vectors_up + counters->vectors_down),
                       counters->paper_time};
    return FPLT_OK;
}

/* Looked at when the rounds have doubled since the last look. Twice the pace of the second half must be
 * enough for what is left: a run that would arrive is never given up unless it speeds up by more. */
static int has_stalled(struct watching *watching)
{
    enum { FIRST_LOOK = 100 };
    uint64_t round = watching->rounds, before = watching->marked_round;
    watching->best = fmin(watching->best, watching->last);
    if (!watching->impatient || round < FIRST_LOOK || round < 2 * before)
        return 0;
    double pace = log(watching->marked / watching->best) / (double)(round - before);
    double left = log(watching->best / watching->tolerance);
    int late = before > 0 && left > 2 * pace * (watching->most_rounds - (double)round);
    watching->marked = watching->best;
    watching->marked_round = round;
    return late;
}

static int observe(void *context, const fplt_progress *progress)
{
    struct watching *watching = context;
    const fplt__case *one = watching->one;
    double criterion = progress->measure.criterion;
    if (one->stop && one->stop(one->context)) {
        watching->status = fplt_error_set(watching->error, FPLT_FAILED, "stopped on request");
        return 1;
    }
    if (watching->room && progress->round > 0)
        watching->status = measure(watching, &criterion);
    else if (!progress->measured)
        return 0;
    if (progress->round == 0) {
        watching->first = criterion;
        watching->tolerance = fplt__engine_target(watching->engine);
    }
    watching->before = watching->last;
    watching->last = criterion;
    watching->rounds = progress->round;
    watching->stalled = has_stalled(watching);
    if (watching->recording && !watching->status)
        watching->status = record(watching->recording, progress, criterion, watching->error);
    return watching->status || criterion <= watching->tolerance || watching->stalled ||
           !(criterion <= hopeless * fmax(1, watching->first)) ||
           (double)progress->round >= watching->most ||
           progress->counters.paper_time >= watching->most_time;
}

/* Rounds are whole numbers and many points of a search need the same number; where the criterion
 * crossed the tolerance within the last round tells them apart. */
static double fine_rounds(const struct watching *watching)
{
    double drop = log(watching->before / watching->last);
    double part = log(watching->before / watching->tolerance) / drop;
    if (!(watching->last > 0) || !(drop > 0) || !(part >= 0 && part <= 1))
        return (double)watching->rounds;
    return (double)watching->rounds - 1 + part;
}

static void judge_trial(const fplt_result *result, const struct watching *watching,
                        fplt__judged *judged)
{
    const fplt_counters *counters = &result->counters;
    int converged = watching->last <= watching->tolerance && result->outcome != FPLT_RUN_DIVERGED;
    int left = result->outcome == FPLT_RUN_DIVERGED || !isfinite(watching->last);
    double missing = left ? HUGE_VAL : log(watching->last / watching->tolerance);
    *judged = (fplt__judged){
        .runs = 1,
        .converged = converged,
        .stalled = !converged && !left && watching->stalled,
        .rounds = (double)counters->rounds,
        .fine = converged ? fine_rounds(watching) : missing,
        .gradients = counters->gradients,
        .paper_gradients = counters->paper_gradients,
        .exchanges = (double)counters->exchanges,
        .vectors = (double)(counters->vectors_up + counters->vectors_down),
        .time = counters->time,
        .paper_time = counters->paper_time,
        .criterion = watching->last,
        .target = watching->tolerance,
    };
}

static fplt_status run_trial(const fplt__case *one, const fplt_run_settings *settings,
                             struct watching *watching, fplt__judged *judged, fplt_error *error)
{
    fplt_result result;
    fplt_status status = fplt_engine_create(one->objective, settings, &watching->engine, error);
    if (status)
        return status;
    status = fplt_engine_run(watching->engine, observe, watching, &result, error);
    fplt_engine_destroy(watching->engine);
    if (!status && !(status = watching->status))
        judge_trial(&result, watching, judged);
    return status;
}

fplt_status fplt__trial_run(const fplt__case *one, const fplt_run_settings *settings, double most,
                            double most_time, fplt__recording *recording, fplt__judged *judged,
                            fplt_error *error)
{
    fplt_run_settings own = *settings;
    fplt_status status = FPLT_OK;
    size_t n = fplt_objective_dimension(one->objective);
    own.curvatures = one->curvatures;
    own.participation = one->partial;
    own.prox = one->prox;
    own.seed = one->seed;
    own.run = one->run;
    struct watching watching = {.one = one,
                                .objective = one->objective,
                                .most = most,
                                .most_time = most_time,
                                .impatient = one->impatient,
                                .most_rounds = (double)settings->rounds,
                                .best = HUGE_VAL,
                                .recording = recording,
                                .error = error};
    if (!settings->evaluate_every && !one->prox)
        status = fplt__alloc_into(&watching.room, 3 * n + fplt_objective_scratch(one->objective),
                                  sizeof(double), "a run", error);
    if (!status)
        status = run_trial(one, &own, &watching, judged, error);
    fplt__free(watching.room);
    return status;
}

void fplt__judged_add(fplt__judged *sum, const fplt__judged *one)
{
    sum->runs += one->runs;
    sum->converged += one->converged;
    sum->stalled += one->stalled;
    if (!one->converged) {
        sum->criterion = fmax(sum->criterion, one->criterion);
        return;
    }
    sum->rounds += one->rounds;
    sum->fine += one->fine;
    sum->gradients += one->gradients;
    sum->paper_gradients += one->paper_gradients;
    sum->exchanges += one->exchanges;
    sum->vectors += one->vectors;
    sum->time += one->time;
    sum->paper_time += one->paper_time;
}

void fplt__judged_mean(fplt__judged *sum)
{
    double count = sum->converged ? sum->converged : 1;
    sum->rounds /= count;
    sum->fine /= count;
    sum->gradients /= count;
    sum->paper_gradients /= count;
    sum->exchanges /= count;
    sum->vectors /= count;
    sum->time /= count;
    sum->paper_time /= count;
}
