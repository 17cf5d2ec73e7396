/* fedplt privacy audit and tradeoff: what runs many trainings. */
#include <math.h>
#include <string.h>

#include "fedplt/audit.h"
#include "fedplt/tradeoff.h"
#include "privacy.h"
#include "progress.h"
#include "base/settings.h"
#include "promise/promise.h"
#include "report/report.h"

static const fplt_setting audit_table[] = {
    {"runs", FPLT_INTEGER, 0, "2000", 100, 1e9, NULL, "trainings on each of the two data sets", 0,
     0},
    {"canary", FPLT_CHOICE, 0, "label", 0, 0, "label|features",
     "what is replaced in the record: its label, or its row", 0, 0},
    {"canary-agent", FPLT_INTEGER, 0, NULL, 0, 4294967294.0, NULL,
     "whose record, from 0; by default the agent with the weakest claim", 0, 0},
    {"canary-record", FPLT_INTEGER, 0, NULL, 0, 4294967294.0, NULL,
     "which record of it, from 0; by default the worst that a search finds, or the longest row", 0,
     0},
    {"confidence", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "0.9999", 0, 1, NULL,
     "of all verdicts together", 0, 0},
    {"secure-noise", FPLT_SWITCH, 0, "yes", 0, 0, NULL,
     "draw from the system's random source as training does; no: simulated noise, which is faster "
     "but not what is promised",
     0, 0},
    {"picture", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "draw the ROC curves into this .svg, .png or .pdf file", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting tradeoff_table[] = {
    {"epsilons", FPLT_REAL, FPLT_ABOVE | FPLT_LIST, "0.25,0.5,1,2,4,8", 0, HUGE_VAL, NULL,
     "what to try", 0, 0},
    {"repeats", FPLT_INTEGER, 0, "10", 1, 1e6, NULL, "trainings a point", 0, 0},
    {"picture", FPLT_TEXT, 0, NULL, 0, 0, NULL, "draw the curves into this .svg, .png or .pdf file",
     0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

#define ALL_ROUNDS "private trainings take all their rounds"
const fplt__setting_need privacy_audit_needs[] = {
    {"privacy.noise", NULL, "secure-noise says which is audited"},
    {"privacy.diagnose", NULL, "its trainings are always inspected"},
    {"relative", NULL, ALL_ROUNDS},
    {"criterion-at", NULL, ALL_ROUNDS},
    {"t-gradient", "epochs=auto", NULL},
    {"t-communication", "epochs=auto", NULL},
    {NULL, NULL, NULL},
};

#define UNSTOPPED ALL_ROUNDS ", and the one without noise goes as far as it can"

const fplt__setting_need privacy_tradeoff_needs[] = {
    {"privacy.epsilon", NULL, "epsilons says which are tried"},
    {"privacy.noise", NULL, "its trainings are experiments, with noise from the seed"},
    {"privacy.diagnose", NULL, "its trainings are experiments, and measured"},
    {"relative", NULL, UNSTOPPED},
    {"criterion-at", NULL, UNSTOPPED},
    {"t-gradient", "epochs=auto", NULL},
    {"t-communication", "epochs=auto", NULL},
    {NULL, NULL, NULL},
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, const fplt_setting *own,
                           fplt_error *error)
{
    fplt_status status =
        fplt_job_declare(settings, FPLT_JOB_ALL, cli_peek(cli, "algorithm"), error);
    if (!status)
        status = fplt_settings_add(settings, "privacy", fplt__promise_table, error);
    return status ? status : fplt_settings_add(settings, "experiment", own, error);
}

/* ---- audit ---- */

fplt_status privacy_declare_audit(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    return declare(cli, settings, audit_table, error);
}

/* Points of the ROC curve of an attack. */
enum { ROC_POINTS = 200 };

static void trace(const fplt_audit_test *test, double *x, double *y)
{
    for (size_t i = 0; i < ROC_POINTS; i++) {
        size_t k = i * (test->count - 1) / (ROC_POINTS - 1), below = 0;
        double threshold = test->without[test->count - 1 - k];
        while (below < test->count && test->with[below] <= threshold)
            below++;
        x[i] = (double)k / (double)test->count;
        y[i] = 1 - (double)below / (double)test->count;
    }
}

static double normal_tail(double x)
{
    return erfc(x / sqrt(2)) / 2;
}

/* The region that the claim allows ends at Phi(mu - z) against Phi(-z). */
static void trace_claim(double mu, double *x, double *y)
{
    for (size_t i = 0; i < ROC_POINTS; i++) {
        double z = 4 - 8.0 * (double)i / (ROC_POINTS - 1);
        x[i] = normal_tail(z);
        y[i] = normal_tail(z - mu);
    }
}

/* Where the curve is at x: the points rise. */
static double curve_at(const double *x, const double *y, double at)
{
    size_t i = 0;
    while (i + 1 < ROC_POINTS && x[i + 1] <= at)
        i++;
    return at < x[0] ? 0 : at >= 1 ? 1 : y[i];
}

/* With this confidence both distributions are nowhere further than `off` from the measured ones [Dvoretzky,
 * Kiefer, Wolfowitz; Massart], so the true curve lies in the band. */
static void trace_band(const fplt_audit_test *test, double confidence, const double *x,
                       const double *y, double *low, double *high)
{
    double off = sqrt(log(4 / (1 - confidence)) / (2 * (double)test->count));
    for (size_t i = 0; i < ROC_POINTS; i++) {
        low[i] = fmax(0, curve_at(x, y, x[i] - off) - off);
        high[i] = fmin(1, curve_at(x, y, x[i] + off) + off);
    }
}

static fplt_status draw_audit(const fplt_audit_result *result, double confidence, const char *path,
                              fplt_error *error)
{
    double *points;
    fplt__series series[FPLT_AUDIT_TESTS + 1];
    const fplt_audit_test *strongest = NULL; /* four bands would hide each other */
    size_t count = 0;
    char title[128];
    fplt_status status = cli_alloc(&points, 4 * ROC_POINTS * (FPLT_AUDIT_TESTS + 1), sizeof *points,
                                   "the picture", error);
    if (status)
        return status;
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++)
        if (!result->test[i].left_out &&
            (!strongest || result->test[i].estimate > strongest->estimate))
            strongest = &result->test[i];
    for (size_t i = 0; i <= FPLT_AUDIT_TESTS; i++) {
        double *x = points + 4 * ROC_POINTS * i, *y = x + ROC_POINTS;
        const fplt_audit_test *test = i < FPLT_AUDIT_TESTS ? &result->test[i] : NULL;
        if (test && test->left_out)
            continue;
        if (test)
            trace(test, x, y);
        else
            trace_claim(result->test[0].claimed, x, y);
        fplt__series *own = &series[count++];
        *own = (fplt__series){test ? test->name : "claimed for all messages", x, y, ROC_POINTS,
                              .band = 1};
        if (!test || test != strongest)
            continue;
        trace_band(test, confidence, x, y, y + ROC_POINTS, y + 2 * ROC_POINTS);
        own->low = y + ROC_POINTS;
        own->high = y + 2 * ROC_POINTS;
    }
    snprintf(title, sizeof title,
             "How well the two data sets are told apart (band: %s, confidence %g)",
             strongest ? strongest->name : "none", confidence);
    fplt__plot plot = {.title = title,
                       .diagonal = "by chance",
                       .x_label = "false positives",
                       .y_label = "true positives",
                       .series = series,
                       .count = count};
    status = privacy_draw(&plot, path, error);
    free(points);
    return status;
}

static fplt_status list_checks(const fplt_audit_result *result, fplt_table **table,
                               fplt_error *error)
{
    static const char *const columns[] = {
        "check", "tests", "found", "worst", "doubt", "would have refuted", "verdict"};
    fplt_status status = fplt__table_create(columns, 7, table, error);
    for (size_t i = 0; !status && i < FPLT_AUDIT_CHECKS; i++) {
        const fplt_audit_check *check = &result->check[i];
        int left_out = check->verdict == FPLT_AUDIT_LEFT_OUT;
        fplt__table_text(*table, check->name);
        fplt__table_whole(*table, (long long)check->tests);
        fplt__table_number(*table, left_out ? NAN : check->found, 4);
        if (check->where[0])
            fplt__table_text(*table, check->where);
        else
            fplt__table_number(*table, NAN, 1);
        fplt__table_number(*table, left_out ? NAN : check->doubt, 2);
        fplt__table_text(*table, check->refutes);
        fplt__table_text(*table, fplt_audit_verdict_name(check->verdict));
    }
    return status;
}

static fplt_status list_attacks(const fplt_audit_result *result, fplt_table **table,
                                fplt_error *error)
{
    static const char *const columns[] = {"attack",
                                          "sees",
                                          "claimed mu",
                                          "for any record",
                                          "reached mu",
                                          "mu at least",
                                          "would have refuted noise below",
                                          "verdict"};
    fplt_status status = fplt__table_create(columns, 8, table, error);
    for (size_t i = 0; !status && i < FPLT_AUDIT_TESTS; i++) {
        const fplt_audit_test *test = &result->test[i];
        fplt__table_text(*table, test->name);
        fplt__table_text(*table, test->sees);
        fplt__table_number(*table, test->claimed, 4);
        fplt__table_number(*table, test->any_record, 4);
        fplt__table_number(*table, test->left_out ? NAN : test->estimate, 4);
        fplt__table_number(*table, test->left_out ? NAN : test->bound, 4);
        fplt__table_number(*table, test->left_out ? NAN : test->power, 2);
        fplt__table_text(*table, fplt_audit_verdict_name(test->verdict));
    }
    return status;
}

static fplt_status print_audit_json(const fplt_audit_result *result,
                                    const fplt_audit_settings *wanted, const fplt_table *checks,
                                    const fplt_table *attacks, fplt_error *error)
{
    return cli_print_json(json_pack("{s:b, s:f, s:I, s:b, s:f, s:{s:s, s:I, s:I, s:o}, s:o, s:o}",
                                    "refuted", result->refuted, "confidence", wanted->confidence,
                                    "runs", (json_int_t)result->runs, "secure_noise",
                                    wanted->secure, "wall_seconds", result->seconds, "canary",
                                    "replaced", wanted->canary, "agent", (json_int_t)result->agent,
                                    "record", (json_int_t)result->record, "gap",
                                    cli_json_number(result->gap), "checks", cli_json_table(checks),
                                    "attacks", cli_json_table(attacks)),
                          error);
}

static void print_refuted(const fplt_audit_result *result)
{
    puts("\nREFUTED:");
    for (size_t i = 0; i < FPLT_AUDIT_CHECKS; i++) {
        const fplt_audit_check *check = &result->check[i];
        if (check->verdict == FPLT_AUDIT_REFUTED)
            printf("  %s: %.4g %s%s%s\n", check->name, check->found, check->measure,
                   check->where[0] ? "; " : "", check->where);
    }
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++)
        if (result->test[i].refuted)
            printf("  %s: the messages tell more than the claim allows, mu is at least %.4g\n",
                   result->test[i].name, result->test[i].bound);
}

static void print_standing(const fplt_audit_result *result)
{
    int blind = 0;
    for (size_t i = 0; i < FPLT_AUDIT_CHECKS; i++)
        blind |= result->check[i].verdict == FPLT_AUDIT_BLIND;
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++)
        blind |= result->test[i].verdict == FPLT_AUDIT_BLIND;
    puts(
        "\nNothing was refuted, which is no proof. Each line says what it would have refuted, with "
        "probability 0.99.");
    if (blind)
        puts("Where it says \"could not have refuted\", half of the noise or of the charge would "
             "have "
             "been missed: more runs see more.");
}

static fplt_status print_audit(const fplt_audit_result *result, const fplt_audit_settings *wanted,
                               int json, fplt_error *error)
{
    fplt_table *checks = NULL, *attacks = NULL;
    fplt_status status = list_checks(result, &checks, error);
    if (!status)
        status = list_attacks(result, &attacks, error);
    if (!status && json)
        status = print_audit_json(result, wanted, checks, attacks, error);
    else if (!status) {
        printf("canary: record %u of agent %u, gradient gap at most %.4g; 2 x %llu trainings in "
               "%.1f s; confidence %g for all verdicts together\n\n",
               result->record, result->agent, result->gap, (unsigned long long)result->runs,
               result->seconds, wanted->confidence);
        status = cli_print_table(checks, error);
        puts("");
        if (!status)
            status = cli_print_table(attacks, error);
        if (!status && result->refuted)
            print_refuted(result);
        else if (!status)
            print_standing(result);
    }
    fplt_table_destroy(checks);
    fplt_table_destroy(attacks);
    return status;
}

static fplt_audit_settings audit_settings(const fplt_settings *settings)
{
    fplt_audit_settings wanted = fplt_audit_defaults();
    wanted.canary = fplt_settings_text(settings, "canary");
    wanted.runs = (uint64_t)fplt_settings_integer(settings, "runs");
    wanted.confidence = fplt_settings_real(settings, "confidence");
    wanted.secure = fplt_settings_switch(settings, "secure-noise");
    wanted.threads = (unsigned)fplt_settings_integer(settings, "threads");
    if (fplt_settings_given(settings, "canary-agent"))
        wanted.agent = (uint32_t)fplt_settings_integer(settings, "canary-agent");
    if (fplt_settings_given(settings, "canary-record"))
        wanted.record = (uint32_t)fplt_settings_integer(settings, "canary-record");
    wanted.watch = cli_progress_watch;
    return wanted;
}

static fplt_status ask_for_promise(const fplt_settings *settings, fplt_error *error)
{
    if (fplt__promise_wanted(settings))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "there is no promise to audit: give privacy.epsilon");
}

fplt_status privacy_audit(cli_call *cli, fplt_error *error)
{
    fplt_settings *settings = cli->settings;
    fplt_audit_settings wanted = audit_settings(settings);
    cli_progress progress;
    const char *picture = fplt_settings_text(settings, "picture");
    fplt_job_source source = {.dataset = NULL};
    fplt_job *job = NULL;
    fplt_promise *plan = NULL;
    fplt_audit_result result;
    fplt_status status;
    if (picture && (status = fplt__plot_check(picture, error)))
        return status;
    if (!(status = ask_for_promise(settings, error)) &&
        !(status = fplt_promise_prepare(settings, &source, error)) &&
        !(status = fplt_job_create_from(settings, 0, &source, &job, error)) &&
        !(status = fplt_promise_create(settings, job, &plan, error))) {
        cli->running = 1;
        cli_end_on_signals(NULL);
        wanted.context = &progress;
        cli_progress_begin(&progress, 0);
        status = fplt_audit_run(job, plan, &wanted, &result, error);
        cli_progress_end(&progress);
        if (!status && result.stopped) {
            cli->exit_status = 130;
            cli_warn("interrupted: there is no verdict");
        } else if (!status) {
            status = print_audit(&result, &wanted, fplt_settings_switch(settings, "json"), error);
            if (!status && picture)
                status = draw_audit(&result, wanted.confidence, picture, error);
            cli->exit_status = result.refuted;
        }
        if (!status)
            fplt_audit_clear(&result);
    }
    fplt_job_destroy(job);
    fplt_promise_destroy(plan);
    return status;
}

/* ---- tradeoff ---- */

fplt_status privacy_declare_tradeoff(const cli_call *cli, fplt_settings *settings,
                                     fplt_error *error)
{
    fplt_status status = declare(cli, settings, tradeoff_table, error);
    /* epsilons stand for it, so that what goes with a promise may be given */
    return status ? status
                  : fplt__settings_prefer(settings, "privacy.epsilon", "1", "epsilons", error);
}

static const fplt_tradeoff_point *point_at(const fplt_tradeoff_result *result, size_t index)
{
    return (index % 2 ? result->single : result->local) + index / 2;
}

static fplt_status print_tradeoff_json(const fplt_tradeoff_result *result, uint32_t repeats,
                                       fplt_error *error)
{
    json_t *points = json_array();
    for (size_t i = 0; i < 2 * result->count; i++) {
        const fplt_tradeoff_point *point = point_at(result, i);
        json_array_append_new(
            points,
            json_pack("{s:f, s:b, s:I, s:I, s:o, s:o, s:o, s:o}", "epsilon", point->epsilon,
                      "local_training", i % 2 == 0, "epochs", (json_int_t)point->epochs, "rounds",
                      (json_int_t)point->rounds, "tau", cli_json_number(point->noise_tau),
                      "quality", cli_json_number(point->quality), "deviation",
                      cli_json_number(point->deviation), "worst", cli_json_number(point->worst)));
    }
    return cli_print_json(json_pack("{s:b, s:s, s:I, s:o, s:o}", "private", 0, "quality",
                                    result->classifies ? "accuracy" : "objective", "repeats",
                                    (json_int_t)repeats, "without_noise",
                                    cli_json_number(result->without_noise), "points", points),
                          error);
}

static fplt_status print_tradeoff(const fplt_tradeoff_result *result, fplt_error *error)
{
    const char *const columns[] = {"epsilon", "training",
                                   "epochs",  "rounds",
                                   "tau",     result->classifies ? "accuracy" : "objective",
                                   "+-",      "worst"};
    fplt_table *table;
    fplt_status status = fplt__table_create(columns, 8, &table, error);
    if (status)
        return status;
    for (size_t i = 0; i < 2 * result->count; i++) {
        const fplt_tradeoff_point *point = point_at(result, i);
        if (i % 2 && point_at(result, i - 1)->epochs == 1)
            continue; /* the row above is that training */
        fplt__table_number(table, point->epsilon, 4);
        fplt__table_text(table, point->epochs == 1 ? "one epoch" : "local");
        fplt__table_whole(table, point->epochs);
        fplt__table_whole(table, (long long)point->rounds);
        fplt__table_number(table, point->noise_tau, 4);
        fplt__table_number(table, point->quality, 4);
        fplt__table_number(table, point->deviation, 2);
        fplt__table_number(table, point->worst, 4);
    }
    printf("on the training data, with simulated noise: an experiment, not private; without "
           "noise %.4g\n\n",
           result->without_noise);
    status = cli_print_table(table, error);
    fplt_table_destroy(table);
    return status;
}

static fplt_status draw_tradeoff(const fplt_tradeoff_result *result, const char *path,
                                 fplt_error *error)
{
    size_t count = result->count;
    double *points;
    fplt_status status = cli_alloc(&points, 8 * count, sizeof *points, "points", error);
    if (status)
        return status;
    fplt__series series[2] = {{.name = "local training"}, {.name = "one epoch a round"}};
    size_t curves = 1;
    for (size_t i = 0; i < count; i++)
        if (result->local[i].epochs > 1)
            curves = 2;
    if (curves == 1)
        series[0].name = "one epoch a round, as planned";
    for (size_t s = 0; s < curves; s++) {
        const fplt_tradeoff_point *from = s ? result->single : result->local;
        double *x = points + 4 * count * s, *y = x + count, *low = y + count, *high = low + count;
        for (size_t i = 0; i < count; i++) {
            x[i] = from[i].epsilon; /* bars of two curves side by side */
            if (curves == 2)
                x[i] *= s ? 1.015 : 1 / 1.015;
            y[i] = from[i].quality;
            low[i] = y[i] - from[i].deviation;
            high[i] = y[i] + from[i].deviation;
        }
        series[s].x = x;
        series[s].y = y;
        series[s].count = count;
        series[s].low = low;
        series[s].high = high;
    }
    fplt__plot plot = {.title = "What privacy costs (bars: the deviation over the repeats)",
                       .x_label = "epsilon",
                       .y_label = result->classifies ? "training accuracy" : "objective",
                       .log_x = 1,
                       .target = result->without_noise,
                       .target_label = "without noise",
                       .series = series,
                       .count = curves};
    status = privacy_draw(&plot, path, error);
    free(points);
    return status;
}

fplt_status privacy_tradeoff(cli_call *cli, fplt_error *error)
{
    fplt_settings *settings = cli->settings;
    const char *picture = fplt_settings_text(settings, "picture");
    double epsilons[64];
    fplt_tradeoff_result result;
    cli_progress progress;
    fplt_tradeoff_settings wanted = {.epsilons = epsilons,
                                     .repeats =
                                         (uint32_t)fplt_settings_integer(settings, "repeats"),
                                     .watch = cli_progress_watch,
                                     .context = &progress};
    for (double epsilon;
         wanted.count < 64 && !isnan(epsilon = privacy_listed(settings, "epsilons", wanted.count));)
        epsilons[wanted.count++] = epsilon;
    fplt_status status = picture ? fplt__plot_check(picture, error) : FPLT_OK;
    if (status)
        return status;
    cli_end_on_signals(NULL);
    cli_progress_begin(&progress, 0);
    status = fplt_tradeoff_run(settings, &wanted, &result, error);
    cli_progress_end(&progress);
    if (status)
        return status;
    cli->running = 1;
    if (result.stopped) {
        cli->exit_status = 130;
        cli_warn("interrupted: nothing is shown");
    } else {
        status = fplt_settings_switch(settings, "json")
                     ? print_tradeoff_json(&result, wanted.repeats, error)
                     : print_tradeoff(&result, error);
        if (!status && picture)
            status = draw_tradeoff(&result, picture, error);
    }
    fplt_tradeoff_clear(&result);
    return status;
}
