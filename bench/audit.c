/* Whether the audit sees: every planted mistake on heart_disease at epsilon 2, and how often it raises an
 * alarm where nothing is wrong.
 *
 *     build/bench/audit [runs [clean audits [runs of a clean audit]]]
 *
 * From the root of the source tree, with the data beside it. Runs are trainings on each of two data
 * sets. The status is 1 where a mistake was missed or an alarm was false. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../tests/unit/lab/planted.h"
#include "promise/promise.h"

struct problem {
    fplt_settings *settings;
    fplt_job *job;
    fplt_promise *plan;
};

static void must(fplt_status status, const fplt_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static void set(fplt_settings *settings, const char *name, const char *value)
{
    fplt_error error;
    if (value)
        must(fplt_settings_set(settings, name, value, "the benchmark", &error), &error);
}

/* rounds and epochs NULL: as the plan chooses. */
static struct problem make(const char *rounds, const char *epochs)
{
    struct problem problem;
    fplt_error error;
    fplt_job_source source = {.dataset = NULL};
    must(fplt_settings_create(&problem.settings, &error), &error);
    must(fplt_job_declare(problem.settings, FPLT_JOB_ALL, NULL, &error), &error);
    must(fplt_settings_add(problem.settings, "privacy", fplt__promise_table, &error), &error);
    set(problem.settings, "data", "../shared/data/heart_disease/heart_disease.csv");
    set(problem.settings, "label", "b");
    set(problem.settings, "bounds", "-9..9");
    set(problem.settings, "labels", "-1=-1,1=1");
    set(problem.settings, "privacy.epsilon", "2");
    set(problem.settings, "rounds", rounds);
    set(problem.settings, "epochs", epochs);
    must(fplt_promise_prepare(problem.settings, &source, &error), &error);
    must(fplt_job_create_from(problem.settings, 0, &source, &problem.job, &error), &error);
    must(fplt_promise_create(problem.settings, problem.job, &problem.plan, &error), &error);
    return problem;
}

static void release(struct problem *problem)
{
    fplt_job_destroy(problem->job);
    fplt_promise_destroy(problem->plan);
    fplt_settings_destroy(problem->settings);
}

static fplt_audit_result audit(const struct problem *problem, uint64_t runs,
                               const struct planted *what)
{
    fplt_audit_settings settings = fplt_audit_defaults();
    fplt_audit_result result;
    fplt_error error;
    settings.runs = runs;
    must(planted_audit(problem->job, problem->plan, &settings, what, &result, &error), &error);
    return result;
}

/* Of the processor, by this process. */
static double seconds_worked(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void name_refuted(const fplt_audit_result *result)
{
    const char *comma = "";
    for (size_t i = 0; i < FPLT_AUDIT_CHECKS; i++)
        if (result->check[i].verdict == FPLT_AUDIT_REFUTED) {
            printf("%s%s", comma, result->check[i].name);
            comma = ", ";
        }
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++)
        if (result->test[i].refuted) {
            printf("%s%s", comma, result->test[i].name);
            comma = ", ";
        }
    printf("\n");
}

/* How many were missed. */
static int find_planted(const struct problem *problem, uint64_t runs)
{
    const fplt_promise_view *view = fplt_promise_get_view(problem->plan);
    int missed = 0;
    printf("\n%llu rounds, %u epochs, 2 x %llu trainings\n", (unsigned long long)view->rounds,
           view->epochs, (unsigned long long)runs);
    for (size_t i = 0; i < PLANTED_COUNT; i++) {
        double begun = seconds_worked();
        fplt_audit_result result = audit(problem, runs, &planted_list[i]);
        printf("%-50s %-6s %5.1f s, %4.1f s of the processor  ", planted_list[i].name,
               result.refuted ? "found" : "MISSED", result.seconds, seconds_worked() - begun);
        name_refuted(&result);
        fflush(stdout);
        missed += !result.refuted;
        fplt_audit_clear(&result);
    }
    return missed;
}

/* How many alarms were false. A probability that is right is below 0.1 in at most a tenth of the
 * checks. */
static int count_alarms(const struct problem *problem, uint64_t audits, uint64_t runs)
{
    static const struct planted nothing = {.name = "nothing"};
    uint64_t checks = 0, low = 0;
    double least = 1, begun = seconds_worked();
    int alarms = 0;
    for (uint64_t k = 0; k < audits; k++) {
        fplt_audit_result result = audit(problem, runs, &nothing);
        if (result.refuted)
            name_refuted(&result);
        alarms += result.refuted;
        for (size_t i = FPLT__NOISE; i < FPLT_AUDIT_CHECKS; i++) {
            const fplt_audit_check *check = &result.check[i];
            checks += check->verdict != FPLT_AUDIT_LEFT_OUT;
            low += check->doubt < 0.1;
            least = check->doubt < least ? check->doubt : least;
        }
        fplt_audit_clear(&result);
    }
    printf("\n%llu clean audits of 2 x %llu trainings in %.0f s of the processor: %d false alarms; "
           "of %llu checks of "
           "the noise %llu had a doubt below 0.1, the least %.2g\n",
           (unsigned long long)audits, (unsigned long long)runs, seconds_worked() - begun, alarms,
           (unsigned long long)checks, (unsigned long long)low, least);
    return alarms;
}

static uint64_t number(int count, char **words, int place, uint64_t otherwise)
{
    return count > place ? strtoull(words[place], NULL, 10) : otherwise;
}

int main(int count, char **words)
{
    uint64_t runs = number(count, words, 1, 1000), audits = number(count, words, 2, 200);
    struct problem planned = make(NULL, NULL), local = make("30", "5");
    int wrong = find_planted(&planned, runs) + find_planted(&local, runs);
    wrong += count_alarms(&planned, audits, number(count, words, 3, 100));
    release(&planned);
    release(&local);
    return wrong > 0;
}
