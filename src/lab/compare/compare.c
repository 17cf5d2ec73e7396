/* Comparison of algorithms: tune each (if asked for), run each many times, take medians. */
#include "lab/compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/dataset.h"
#include "job/job.h"
#include "objective/objective_access.h"

/* Tuning: keys that no judged run has, and runs behind a point of a method with randomness in it. */
enum { TUNING_RUNS = 20 };
#define TUNING_KEY UINT32_C(0x80000000)

/* Settings */

static const fplt_setting parameters_table[] = {
    {"parameters", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL,
     "parameters that are given, others are automatic: fed-plt.rho=1,led.beta=0.4", 0, 0},
    FPLT_SETTINGS_END,
};

fplt_status fplt_compare_declare(fplt_settings *settings, fplt_error *error)
{
    fplt_status status = fplt_settings_add(settings, "algorithms", parameters_table, error);
    return status ? status
                  : fplt_job_declare(settings, FPLT_JOB_ALL & ~(unsigned)FPLT_JOB_ALGORITHM, NULL,
                                     error);
}

fplt_compare_settings fplt_compare_defaults(const fplt_settings *settings)
{
    return (fplt_compare_settings){.settings = settings, .runs = 1, .points = FPLT__SEARCH_POINTS};
}

/* Given, or another default than the table's. */
static fplt_status copy_setting(const fplt_settings *from, const char *name, fplt_settings *to,
                                fplt_error *error)
{
    const char *preference = fplt__settings_preference(from, name);
    if (preference)
        return fplt__settings_prefer(to, name, fplt_settings_text(from, name), preference, error);
    return fplt_settings_given(from, name)
               ? fplt_settings_set(to, name, fplt_settings_text(from, name),
                                   fplt__settings_origin(from, name), error)
               : FPLT_OK;
}

/* A job wants an algorithm among its settings; which one does not matter here. */
static fplt_status copy_settings(fplt_comparison *comparison, fplt_error *error)
{
    const fplt_settings *from = comparison->wanted.settings;
    const fplt_setting *row;
    fplt_status status;
    if ((status = fplt_settings_create(&comparison->settings, error)) ||
        (status = fplt_job_declare(comparison->settings, FPLT_JOB_ALL, NULL, error)))
        return status;
    for (size_t i = 0; !status && (row = fplt_settings_row(from, i, NULL)); i++)
        if (strcmp(row->name, "engine") != 0 &&
            fplt__settings_find(comparison->settings, row->name))
            status = copy_setting(from, row->name, comparison->settings, error);
    comparison->generated = !fplt_settings_text(comparison->settings, "data") &&
                            !comparison->wanted.dataset && !comparison->wanted.objective;
    return status;
}

static const char *algorithm_name(size_t index, const char **help)
{
    const fplt_algorithm *algorithm = fplt_algorithm_list(index);
    if (algorithm && help)
        *help = algorithm->title;
    return algorithm ? algorithm->name : NULL;
}

/* The value is checked by the algorithm's own table. */
static fplt_status give(struct fplt__compare_entry *entry, const char *name, const char *value,
                        const char *origin, fplt_error *error)
{
    const fplt_algorithm *algorithm = entry->view.algorithm;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_settings *settings;
    fplt_status status = fplt_settings_create(&settings, error);
    if (status)
        return status;
    if (!(status = fplt_settings_add(settings, algorithm->name, algorithm->settings, error)) &&
        !(status = fplt_settings_set(settings, name, value, origin, error))) {
        fplt_algorithm_read(algorithm, settings, parameter);
        fplt__method_fix(&entry->method, name,
                         parameter[fplt_algorithm_parameter(algorithm, name)]);
    }
    fplt_settings_destroy(settings);
    return status;
}

static fplt_status give_pair(fplt_comparison *comparison, const char *key, const char *value,
                             const char *origin, fplt_error *error)
{
    const char *dot = strchr(key, '.');
    char name[64];
    snprintf(name, sizeof name, "%.*s", dot ? (int)(dot - key) : 60, key);
    if (!dot)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "%s: '%.60s' is no parameter; write algorithm.name=value, for example "
            "fed-plt.rho=1",
            origin, key);
    if (!fplt_algorithm_find(name))
        return fplt__unknown_name("algorithm", name, algorithm_name, error);
    for (size_t i = 0; i < comparison->count; i++)
        if (strcmp(comparison->entries[i].view.algorithm->name, name) == 0)
            return give(&comparison->entries[i], dot + 1, value, origin, error);
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: a parameter of %s is given, but %s is not among the algorithms that "
                          "are compared",
                          origin, name, name);
}

static fplt_status give_parameters(fplt_comparison *comparison, fplt_error *error)
{
    const fplt_settings *settings = comparison->wanted.settings;
    const char *pairs = fplt_settings_text(settings, "parameters");
    char key[128], value[128];
    while (pairs && *pairs) {
        pairs = fplt__pairs_next(pairs, key, sizeof key, value, sizeof value);
        fplt_status status =
            give_pair(comparison, key, value, fplt__settings_origin(settings, "parameters"), error);
        if (status)
            return status;
    }
    return FPLT_OK;
}

/* Stages */

static void clear_stage(struct fplt__compare_stage *stage)
{
    fplt_job_destroy(stage->job);
    fplt__free(stage->curvatures);
    *stage = (struct fplt__compare_stage){NULL, NULL};
}

static fplt_status make_stage(const fplt_comparison *comparison, uint32_t run,
                              struct fplt__compare_stage *stage, fplt_error *error)
{
    const fplt_compare_settings *wanted = &comparison->wanted;
    fplt_job_source source = {.objective = wanted->objective,
                              .solver = wanted->solver,
                              .solver_context = wanted->solver_context};
    fplt_status status = FPLT_OK;
    *stage = (struct fplt__compare_stage){NULL, NULL};
    if (wanted->dataset)
        status = fplt__dataset_lend(wanted->dataset, &source.dataset, error);
    if (!status)
        status = fplt_job_create_from(comparison->settings, run, &source, &stage->job, error);
    if (!status)
        status = fplt__curvatures_find(fplt_job_get_view(stage->job)->objective, &stage->curvatures,
                                       error);
    if (status)
        clear_stage(stage);
    return status;
}

/* `prox` has working memory of its own, so each user makes one. */
static fplt_status make_case(const fplt_comparison *comparison,
                             const struct fplt__compare_stage *stage, uint32_t run, fplt__case *one,
                             fplt_prox **prox, fplt_error *error)
{
    const fplt_job_view *view = fplt_job_get_view(stage->job);
    size_t n = fplt_objective_dimension(view->objective);
    fplt_status status = fplt__job_prox(view, comparison->settings, n,
                                        fplt__objective_unpenalised(view->objective), prox, error);
    *one = (fplt__case){.objective = view->objective,
                        .impatient = 1,
                        .stop = comparison->wanted.stop,
                        .context = comparison->wanted.context,
                        .curvatures = stage->curvatures,
                        .partial = view->participation,
                        .prox = *prox,
                        .seed = view->run.seed,
                        .run = run};
    return status;
}

/* Entries */

static fplt_status fill_entry(fplt_comparison *comparison, struct fplt__compare_entry *entry,
                              const fplt_algorithm *algorithm, fplt_error *error)
{
    uint32_t runs = comparison->wanted.runs;
    const char *what = "a comparison";
    fplt_status status;
    entry->view.algorithm = algorithm;
    entry->view.runs = runs;
    entry->tuned = fplt__tuned_none();
    fplt__method_defaults(&entry->method, algorithm);
    if ((status = fplt__alloc_into(&entry->judged, runs, sizeof *entry->judged, what, error)) ||
        (status = fplt__alloc_into(&entry->diverged, runs, 1, what, error)))
        return status;
    return fplt__alloc_into(&entry->recordings, runs, sizeof *entry->recordings, what, error);
}

static fplt_status fill_entries(fplt_comparison *comparison, fplt_error *error)
{
    const fplt_compare_settings *wanted = &comparison->wanted;
    size_t count = wanted->count;
    for (count = wanted->algorithms ? count : 0; !wanted->algorithms && fplt_algorithm_list(count);)
        count++;
    fplt_status status = fplt__alloc_into(&comparison->entries, count, sizeof *comparison->entries,
                                          "a comparison", error);
    for (size_t i = 0; !status && i < count; i++, comparison->count++) {
        const fplt_algorithm *algorithm =
            wanted->algorithms ? wanted->algorithms[i] : fplt_algorithm_list(i);
        status = fplt__job_check_parameters(algorithm, error);
        if (!status)
            status = fill_entry(comparison, &comparison->entries[i], algorithm, error);
    }
    return status;
}

/* The settings of the job with the method's algorithm, for which what is auto is chosen anew. */
static void adopt_run(const fplt_comparison *comparison, fplt__method *method)
{
    const fplt_algorithm *algorithm = method->run.algorithm;
    method->run = fplt_job_get_view(comparison->shared.job)->run;
    method->run.algorithm = algorithm;
    method->run.parameter = NULL;
    method->run.threads = 1;
    if (fplt_settings_is_auto(comparison->settings, "epochs"))
        method->run.training.epochs = 0;
    if (!method->run.evaluate_every || fplt_settings_is_auto(comparison->settings, "eval-every"))
        method->run.evaluate_every = 1;
}

/* Methods that cannot do what is asked for stay in the list, with the reason. */
static fplt_status admit(fplt_comparison *comparison, fplt_error *error)
{
    size_t admitted = 0;
    fplt_prox *prox = NULL;
    fplt__case one;
    fplt_error reason = {FPLT_OK, ""};
    fplt_status status = make_case(comparison, &comparison->shared, 0, &one, &prox, error);
    for (size_t i = 0; !status && i < comparison->count; i++) {
        struct fplt__compare_entry *entry = &comparison->entries[i];
        fplt__automatic automatic;
        adopt_run(comparison, &entry->method);
        fplt_status verdict = fplt__automatic_find(&one, &entry->method, &automatic, &reason);
        if (verdict != FPLT_OK && verdict != FPLT_UNSUPPORTED && verdict != FPLT_BAD_VALUE)
            status = verdict;
        admitted += !verdict;
        if (verdict) {
            memcpy(entry->refusal, reason.text, sizeof entry->refusal);
            entry->view.refusal = entry->refusal;
        }
    }
    fplt_prox_destroy(prox);
    if ((status || !admitted) && comparison->count) {
        if (error)
            *error = reason;
        return status ? status : reason.status;
    }
    return status;
}

struct fplt__compare_entry *fplt__compare_admitted(const fplt_comparison *comparison, size_t index)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (!comparison->entries[i].view.refusal && index-- == 0)
            return &comparison->entries[i];
    return NULL;
}

static size_t admitted_count(const fplt_comparison *comparison)
{
    size_t count = 0;
    while (fplt__compare_admitted(comparison, count))
        count++;
    return count;
}

/* Tuning */

static const struct fplt__compare_stage *tuning_stage(const fplt_comparison *comparison,
                                                      size_t index)
{
    return comparison->generated ? &comparison->tuning[index % FPLT__COMPARE_TUNING_SETS]
                                 : &comparison->shared;
}

/* Whether another key changes anything. */
static fplt_status is_random(struct fplt__compare_entry *entry, const fplt__case *one, int *random,
                             fplt_error *error)
{
    fplt__judged first, second;
    fplt__case other = *one;
    other.run ^= UINT32_C(0x40000000);
    fplt_status status;
    if ((status = fplt__tuned_judge(&entry->tuned, &entry->method, one, 1, &first, error)) ||
        (status = fplt__tuned_judge(&entry->tuned, &entry->method, &other, 1, &second, error)))
        return status;
    *random = first.rounds != second.rounds || first.gradients != second.gradients ||
              first.criterion != second.criterion;
    return FPLT_OK;
}

static fplt_status tune_on(fplt_comparison *comparison, struct fplt__compare_entry *entry,
                           const fplt__case *cases, fplt_error *error)
{
    int random;
    size_t count = comparison->generated ? FPLT__COMPARE_TUNING_SETS : 1;
    fplt_status status = is_random(entry, &cases[0], &random, error);
    if (status)
        return status;
    fplt__tuning tuning = {.method = &entry->method,
                           .cases = cases,
                           .count = random ? TUNING_RUNS : count,
                           .points = comparison->wanted.points,
                           .by_time = 1};
    if ((status = fplt__tuning_run(&tuning, &entry->tuned, error)))
        return status;
    entry->view.points = entry->tuned.points;
    entry->view.tuning_runs = (uint32_t)tuning.count;
    return FPLT_OK;
}

static fplt_status tune_task(void *context, size_t index, fplt_error *error)
{
    fplt_comparison *comparison = context;
    struct fplt__compare_entry *entry = fplt__compare_admitted(comparison, index);
    fplt__case cases[TUNING_RUNS];
    fplt_prox *proxes[TUNING_RUNS] = {NULL};
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; !status && i < TUNING_RUNS; i++)
        status = make_case(comparison, tuning_stage(comparison, i), TUNING_KEY + i, &cases[i],
                           &proxes[i], error);
    if (!status)
        status = tune_on(comparison, entry, cases, error);
    for (size_t i = 0; i < TUNING_RUNS; i++)
        fplt_prox_destroy(proxes[i]);
    return status;
}

static fplt_status tune_results(void *context, size_t index, fplt__parcel *parcel)
{
    struct fplt__compare_entry *entry = fplt__compare_admitted(context, index);
    fplt_status status;
    if ((status = fplt__parcel_carry(parcel, &entry->tuned, sizeof entry->tuned)) ||
        (status = fplt__parcel_carry(parcel, &entry->view.points, sizeof entry->view.points)))
        return status;
    return fplt__parcel_carry(parcel, &entry->view.tuning_runs, sizeof entry->view.tuning_runs);
}

static fplt_status tuning_stage_task(void *context, size_t index, fplt_error *error)
{
    fplt_comparison *comparison = context;
    return make_stage(comparison, TUNING_KEY + (uint32_t)index, &comparison->tuning[index], error);
}

static fplt_status tune_all(fplt_comparison *comparison, fplt_error *error)
{
    const fplt__crew quiet = {comparison->crew.threads, NULL, comparison->crew.context,
                              comparison->crew.stop};
    size_t count = admitted_count(comparison);
    fplt_status status = FPLT_OK;
    if (!comparison->wanted.tune)
        return FPLT_OK;
    if (comparison->generated)
        status = fplt__crew_run(&quiet, FPLT__COMPARE_TUNING_SETS, tuning_stage_task, comparison, 0,
                                0, error);
    for (size_t i = 0; i < count; i++)
        fplt__compare_admitted(comparison, i)->method.run.threads =
            fplt__crew_share(&comparison->crew, count);
    if (!status)
        status = fplt__crew_spread(&comparison->crew, count, tune_task, tune_results, comparison, 0,
                                   comparison->total, error);
    comparison->done = count;
    for (size_t i = 0; i < FPLT__COMPARE_TUNING_SETS; i++)
        clear_stage(&comparison->tuning[i]);
    return status;
}

/* Judging */

static fplt_status judge_run(fplt_comparison *comparison, struct fplt__compare_entry *entry,
                             const struct fplt__compare_stage *stage, uint32_t run,
                             fplt_error *error)
{
    fplt__case one;
    fplt__automatic automatic;
    fplt_prox *prox = NULL;
    double parameter[FPLT_MAX_PARAMETERS] = {0};
    fplt_run_settings settings = entry->method.run;
    fplt_status status = make_case(comparison, stage, run, &one, &prox, error);
    if (!status && !(status = fplt__automatic_find(&one, &entry->method, &automatic, error))) {
        fplt__tuned_apply(&entry->tuned, &entry->method, &automatic, parameter, &settings.training);
        settings.parameter = parameter;
        if (run == 0) {
            memcpy(entry->view.parameter, parameter, sizeof parameter);
            entry->view.step = settings.training.step;
        }
        status = fplt__trial_run(&one, &settings, HUGE_VAL, HUGE_VAL, &entry->recordings[run],
                                 &entry->judged[run], error);
    }
    if (!status)
        entry->diverged[run] = !entry->judged[run].converged && isinf(entry->judged[run].fine);
    if (!status && entry == fplt__compare_admitted(comparison, 0))
        comparison->targets[run] = entry->judged[run].target;
    fplt_prox_destroy(prox);
    return status;
}

static fplt_status judge_results(fplt_comparison *comparison, struct fplt__compare_entry *entry,
                                 uint32_t run, fplt__parcel *parcel)
{
    fplt__recording *recording = &entry->recordings[run];
    fplt_status status;
    if ((status = fplt__parcel_carry(parcel, &entry->judged[run], sizeof *entry->judged)) ||
        (status = fplt__parcel_carry(parcel, &entry->diverged[run], sizeof *entry->diverged)) ||
        (status = fplt__parcel_carry(parcel, &recording->count, sizeof recording->count)))
        return status;
    if (fplt__parcel_arrives(parcel) &&
        (status = fplt__grow(&recording->samples, &recording->capacity, recording->count,
                             sizeof *recording->samples, "a curve", NULL)))
        return status;
    if ((status = fplt__parcel_carry(parcel, recording->samples,
                                     recording->count * sizeof *recording->samples)))
        return status;
    if (run == 0 && ((status = fplt__parcel_carry(parcel, entry->view.parameter,
                                                  sizeof entry->view.parameter)) ||
                     (status = fplt__parcel_carry(parcel, &entry->view.step, sizeof(double)))))
        return status;
    return entry == fplt__compare_admitted(comparison, 0)
               ? fplt__parcel_carry(parcel, &comparison->targets[run], sizeof(double))
               : FPLT_OK;
}

static fplt_status judge_shared_results(void *context, size_t index, fplt__parcel *parcel)
{
    size_t count = admitted_count(context);
    return judge_results(context, fplt__compare_admitted(context, index % count),
                         (uint32_t)(index / count), parcel);
}

static fplt_status judge_generated_results(void *context, size_t index, fplt__parcel *parcel)
{
    struct fplt__compare_entry *entry;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && (entry = fplt__compare_admitted(context, i)); i++)
        status = judge_results(context, entry, (uint32_t)index, parcel);
    return status;
}

/* Data that stay: a task is one run of one method. */
static fplt_status judge_shared_task(void *context, size_t index, fplt_error *error)
{
    fplt_comparison *comparison = context;
    size_t count = admitted_count(comparison);
    return judge_run(comparison, fplt__compare_admitted(comparison, index % count),
                     &comparison->shared, (uint32_t)(index / count), error);
}

/* Generated data: a task draws the data of one run and runs every method on them. */
static fplt_status judge_generated_task(void *context, size_t index, fplt_error *error)
{
    fplt_comparison *comparison = context;
    struct fplt__compare_stage stage;
    struct fplt__compare_entry *entry;
    fplt_status status = make_stage(comparison, (uint32_t)index, &stage, error);
    if (status)
        return status;
    for (size_t i = 0; !status && (entry = fplt__compare_admitted(comparison, i)); i++)
        status = judge_run(comparison, entry, &stage, (uint32_t)index, error);
    clear_stage(&stage);
    return status;
}

static size_t judging_tasks(const fplt_comparison *comparison)
{
    return comparison->wanted.runs * (comparison->generated ? 1 : admitted_count(comparison));
}

static fplt_status judge_all(fplt_comparison *comparison, fplt_error *error)
{
    size_t tasks = judging_tasks(comparison);
    for (size_t i = 0; i < comparison->count; i++)
        comparison->entries[i].method.run.threads = fplt__crew_share(&comparison->crew, tasks);
    return fplt__crew_spread(&comparison->crew, tasks,
                             comparison->generated ? judge_generated_task : judge_shared_task,
                             comparison->generated ? judge_generated_results : judge_shared_results,
                             comparison, comparison->done, comparison->total, error);
}

/* The whole */

static fplt_status check_comparison(const fplt_compare_settings *wanted, fplt_error *error)
{
    if (!wanted->runs)
        return fplt_error_set(error, FPLT_BAD_VALUE, "runs is 0, but it must be at least 1");
    if (!(fplt_settings_real(wanted->settings, "tolerance") > 0))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "tolerance is 0, but a comparison needs a common criterion to reach: "
                              "it must be above 0");
    if (strcmp(fplt_settings_text(wanted->settings, "start"), "model") == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "start is model, but a comparison begins at zero, random or prior: a "
                              "trained model would be the answer already");
    return FPLT_OK;
}

static fplt_status build(fplt_comparison *comparison, fplt_error *error)
{
    fplt_status status;
    if ((status = check_comparison(&comparison->wanted, error)) ||
        (status = copy_settings(comparison, error)) || (status = fill_entries(comparison, error)) ||
        (status = give_parameters(comparison, error)) ||
        (status = fplt__alloc_into(&comparison->targets, comparison->wanted.runs, sizeof(double),
                                   "a comparison", error)) ||
        (status = make_stage(comparison, 0, &comparison->shared, error)) ||
        (status = admit(comparison, error)))
        return status;
    comparison->total =
        judging_tasks(comparison) + (comparison->wanted.tune ? admitted_count(comparison) : 0);
    if ((status = tune_all(comparison, error)) || (status = judge_all(comparison, error)))
        return status;
    return fplt__compare_sum_up(comparison, error);
}

fplt_status fplt_comparison_create(const fplt_compare_settings *settings, fplt_comparison **out,
                                   fplt_error *error)
{
    fplt_comparison *comparison;
    *out = NULL;
    fplt_status status =
        fplt__alloc_into(&comparison, 1, sizeof *comparison, "a comparison", error);
    if (status)
        return status;
    comparison->wanted = *settings;
    comparison->crew = (fplt__crew){settings->threads, settings->watch, settings->context,
                                    settings->stop, settings->ranks};
    if ((status = build(comparison, error))) {
        fplt_comparison_destroy(comparison);
        return status;
    }
    *out = comparison;
    return FPLT_OK;
}

void fplt_comparison_destroy(fplt_comparison *comparison)
{
    if (!comparison)
        return;
    for (size_t i = 0; i < comparison->count; i++) {
        struct fplt__compare_entry *entry = &comparison->entries[i];
        for (uint32_t r = 0; entry->recordings && r < comparison->wanted.runs; r++)
            fplt__free(entry->recordings[r].samples);
        fplt__free(entry->recordings);
        fplt__free(entry->judged);
        fplt__free(entry->diverged);
        fplt__free(entry->curve);
    }
    for (size_t i = 0; i < FPLT__COMPARE_TUNING_SETS; i++)
        clear_stage(&comparison->tuning[i]);
    clear_stage(&comparison->shared);
    fplt__free(comparison->entries);
    fplt__free(comparison->targets);
    fplt_settings_destroy(comparison->settings);
    fplt__free(comparison);
}

size_t fplt_comparison_count(const fplt_comparison *comparison)
{
    return comparison->count;
}

const fplt_compared *fplt_comparison_get(const fplt_comparison *comparison, size_t index)
{
    return index < comparison->count ? &comparison->entries[index].view : NULL;
}

double fplt_comparison_target(const fplt_comparison *comparison)
{
    return comparison->target;
}
