/* Accuracy against epsilon. */
#include "fedplt/tradeoff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "engine/engine_access.h"
#include "job/job.h"

static double quality_of(const fplt_measure *measure)
{
    return measure->classifies ? (double)measure->hits / (double)measure->records
                               : measure->objective;
}

static fplt_status run_once(const fplt_job_view *view, uint32_t number, double *x, double *quality,
                            int *classifies, fplt_error *error)
{
    fplt_run_settings settings = view->run;
    fplt_engine *engine;
    fplt_measure measure;
    settings.run = number;
    settings.noise = NULL;
    settings.blind = 1;
    fplt_status status = fplt_engine_create(view->objective, &settings, &engine, error);
    if (status)
        return status;
    for (uint64_t round = 0; !status && round < settings.rounds; round++)
        status = fplt_engine_round(engine, error);
    if (!status)
        status = fplt__job_weights(view, engine, x, error);
    if (!status && !(status = fplt__engine_measure_at(engine, x, &measure, error))) {
        *quality = quality_of(&measure);
        *classifies = measure.classifies;
    }
    fplt_engine_destroy(engine);
    return status;
}

static fplt_status repeat(const fplt_job_view *view, uint32_t repeats, fplt_tradeoff_point *point,
                          int *classifies, fplt_error *error)
{
    double sum = 0, squares = 0, *x;
    size_t n = fplt_objective_dimension(view->objective);
    fplt_status status = fplt__alloc_into(&x, n, sizeof *x, "the model", error);
    point->worst = NAN;
    for (uint32_t i = 0; !status && i < repeats; i++) {
        double quality = NAN;
        status = run_once(view, i, x, &quality, classifies, error);
        sum += quality;
        squares += quality * quality;
        point->worst = *classifies ? fmin(point->worst, quality) : fmax(point->worst, quality);
    }
    fplt__free(x);
    point->quality = sum / repeats;
    point->deviation = sqrt(fmax(0, squares / repeats - point->quality * point->quality));
    return status;
}

/* The same cost, trained without noise as far as it goes: to its minimiser, which depends neither on rho and gamma nor on
 * the algorithm, so they are those of a training without noise. The plan's training of each agent has noise, and its
 * algorithm may drift with several local steps. */
static fplt_status run_noiseless(const fplt_job_view *view, double *quality, fplt_error *error)
{
    fplt_run_settings settings = view->run;
    fplt_result outcome;
    fplt_engine *engine;
    settings.algorithm = fplt_algorithm_find("fed-plt");
    settings.training = fplt_training_defaults();
    settings.each = NULL;
    settings.parameter = NULL;
    settings.unit = 0;
    settings.noise = NULL;
    settings.blind = 0;
    settings.rounds = 3000;
    settings.evaluate_every = 20;
    settings.tolerance = 1e-10;
    settings.relative = settings.at_model = 0;
    fplt_status status = fplt_engine_create(view->objective, &settings, &engine, error);
    if (status)
        return status;
    status = fplt_engine_run(engine, NULL, NULL, &outcome, error);
    *quality = status ? NAN : quality_of(&outcome.end);
    fplt_engine_destroy(engine);
    return status;
}

static fplt_status run_point(fplt_settings *settings, uint32_t repeats, fplt_tradeoff_point *point,
                             fplt_tradeoff_result *result, fplt_error *error)
{
    fplt_job *job = NULL;
    fplt_promise *plan = NULL;
    fplt_job_source source = {.dataset = NULL};
    char text[64];
    snprintf(text, sizeof text, "%.17g", point->epsilon);
    fplt_status status;
    if ((status = fplt_settings_set(settings, "privacy.epsilon", text, "tradeoff", error)) ||
        (status = fplt_promise_prepare(settings, &source, error)))
        return status;
    if (!(status = fplt_job_create_from(settings, 0, &source, &job, error)) &&
        !(status = fplt_promise_create(settings, job, &plan, error))) {
        const fplt_promise_view *view = fplt_promise_get_view(plan);
        point->noise_tau = view->mechanism.noise_tau;
        point->epochs = view->epochs;
        point->rounds = view->mechanism.rounds;
        status = repeat(fplt_job_get_view(job), repeats, point, &result->classifies, error);
        if (!status && isnan(result->without_noise))
            status = run_noiseless(fplt_job_get_view(job), &result->without_noise, error);
    }
    fplt_job_destroy(job);
    fplt_promise_destroy(plan);
    return status;
}

fplt_status fplt_tradeoff_run(fplt_settings *settings, const fplt_tradeoff_settings *wanted,
                              fplt_tradeoff_result *result, fplt_error *error)
{
    size_t count = wanted->count;
    *result = (fplt_tradeoff_result){.count = count, .without_noise = NAN};
    fplt_status status;
    if (!count || !wanted->repeats)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "there are %zu epsilons and %u repeats, but there must be at least 1",
                              count, wanted->repeats);
    if ((status =
             fplt__alloc_into(&result->local, count, sizeof *result->local, "points", error)) ||
        (status =
             fplt__alloc_into(&result->single, count, sizeof *result->single, "points", error)))
        goto failed;
    if ((status = fplt_settings_set(settings, "privacy.noise", "simulated", "tradeoff", error)))
        goto failed;
    for (size_t i = 0; i < 2 * count && !result->stopped; i++) {
        fplt_tradeoff_point *point = i < count ? &result->local[i] : &result->single[i - count];
        point->epsilon = wanted->epsilons[i % count];
        if (i == count && (status = fplt_settings_set(settings, "epochs", "1", "tradeoff", error)))
            goto failed;
        if (i >= count && result->local[i - count].epochs == 1)
            *point = result->local[i - count]; /* the same plan and the same seeds */
        else if ((status = run_point(settings, wanted->repeats, point, result, error)))
            goto failed;
        if (wanted->watch && wanted->watch(wanted->context, i + 1, 2 * count))
            result->stopped = 1;
    }
    return FPLT_OK;
failed:
    fplt_tradeoff_clear(result);
    return status;
}

void fplt_tradeoff_clear(fplt_tradeoff_result *result)
{
    fplt__free(result->local);
    fplt__free(result->single);
    result->local = result->single = NULL;
}
