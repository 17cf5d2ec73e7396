/* fedplt tune: which rho, gamma and epochs to take, and what they are expected to cost. */
#include <math.h>
#include <string.h>

#include "cli.h"
#include "fedplt/algorithm.h"
#include "fedplt/ranks.h"
#include "fedplt/tune.h"
#include "progress.h"
#include "base/settings.h"
#include "job/auto.h"
#include "report/report.h"

static const fplt_setting table[] = {
    {"by", FPLT_CHOICE, 0, "theory", 0, 0, "theory|experiment|both",
     "theory: a model, no round; experiment: a grid of candidates for a few rounds; both: an "
     "experiment with what theory proposes",
     0, 0},
    {"tune-rounds", FPLT_INTEGER, 0, "1000", 1, 9007199254740992.0, NULL,
     "rounds that an experiment may spend in all", 0, 0, .needs = "by=experiment|both"},
    {"public", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "use nothing of the data, only lmin and lmax as public bounds: needed for a privacy claim", 0,
     0},
    {"show", FPLT_INTEGER, 0, "10", 1, 64, NULL, "candidates shown at most", 0, 0,
     .needs = "json=no"},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

#define SPENT "tune-rounds says how many an experiment may spend"
static const fplt__setting_need needs[] = {
    {"@data", CLI_NEEDS_DATA, NULL},
    {"agents", "", NULL},
    {"@generated data", CLI_NEEDS_DATA, NULL},
    {"@cost", CLI_NEEDS_DATA, NULL},
    {"@common cost h", CLI_NEEDS_DATA, NULL},
    {"@participation", CLI_NEEDS_DATA, NULL},
    {"uncoordinated", CLI_NEEDS_DATA, NULL},
    {"anderson-memory", "by=experiment|both", NULL},
    {"rounds", NULL, SPENT},
    {"change", NULL, SPENT},
    {"eval-every", NULL, SPENT},
    {"criterion-at", "by=experiment|both", NULL},
    {"tolerance", CLI_NEEDS_DATA, NULL},
    {"relative", CLI_NEEDS_DATA, NULL},
    {"start", CLI_NEEDS_DATA, NULL},
    {NULL, NULL, NULL},
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = fplt_settings_add(settings, "tuning", cli_curvature_table, error);
    if (!status)
        status = fplt_job_declare(settings, FPLT_JOB_ALL, cli_peek(cli, "algorithm"), error);
    if (!status)
        status = cli_prefer(cli, settings, error);
    return status ? status : fplt_settings_add(settings, "tuning", table, error);
}

/* lmin and lmax speak of the costs, unless they describe the quadratic data to generate. */
static int has_bounds(const fplt_settings *settings)
{
    return fplt_settings_given(settings, "lmin") && fplt_settings_given(settings, "lmax") &&
           !(fplt_settings_given(settings, "generator") &&
             strcmp(fplt_settings_text(settings, "generator"), "quadratic") == 0);
}

static int has_data(const fplt_settings *settings)
{
    return fplt_settings_text(settings, "data") || fplt_settings_given(settings, "generator") ||
           !has_bounds(settings);
}

static fplt_status search_all(const fplt_settings *settings, fplt_tune_settings *tune,
                              double *parameter, fplt_error *error)
{
    const char *method = fplt_settings_text(settings, "by");
    const fplt_algorithm *algorithm =
        fplt_algorithm_find(fplt_settings_text(settings, "algorithm"));
    fplt_run_settings *run = &tune->run;
    fplt_status status = fplt_job_training(settings, &run->training, error);
    if (!status && !algorithm)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "algorithm is auto, but what is tuned must be named: fed-plt or "
                                "fed-plt-anderson");
    if (status)
        return status;
    tune->method = strcmp(method, "theory") == 0       ? FPLT_TUNE_THEORY
                   : strcmp(method, "experiment") == 0 ? FPLT_TUNE_EXPERIMENT
                                                       : FPLT_TUNE_BOTH;
    tune->rounds = (uint64_t)fplt_settings_integer(settings, "tune-rounds");
    tune->public_only = fplt_settings_switch(settings, "public");
    run->algorithm = algorithm;
    fplt_algorithm_read(algorithm, settings, parameter);
    run->parameter = parameter;
    if (!fplt_settings_given(settings, "epochs"))
        run->training.epochs = 0;
    run->tolerance = fplt_settings_real(settings, "tolerance");
    run->relative = fplt_settings_switch(settings, "relative");
    run->gradient_time = fplt_settings_real(settings, "t-gradient");
    run->communication_time = fplt_settings_real(settings, "t-communication");
    if (has_bounds(settings))
        run->curvature = (fplt_curvature){fplt_settings_real(settings, "lmin"),
                                          fplt_settings_real(settings, "lmax")};
    return FPLT_OK;
}

static fplt_status tune_with_data(const cli_call *cli, fplt_tune_settings *tune, double *parameter,
                                  fplt_tuning *tuning, fplt_error *error)
{
    const fplt_job_source source = {.whole = 1};
    fplt_job *job;
    fplt_status status = fplt_job_create_from(cli->settings, 0, &source, &job, error);
    if (status)
        return status;
    const fplt_job_view *view = fplt_job_get_view(job);
    tune->run = view->run;
    if (!(status = search_all(cli->settings, tune, parameter, error)))
        status = fplt_tune(view->objective, 0, tune, tuning, error);
    fplt_job_destroy(job);
    return status;
}

static fplt_status tune_without(const cli_call *cli, fplt_tune_settings *tune, double *parameter,
                                fplt_tuning *tuning, fplt_error *error)
{
    uint32_t agents = fplt_settings_given(cli->settings, "agents")
                          ? (uint32_t)fplt_settings_integer(cli->settings, "agents")
                          : 1;
    fplt_status status = search_all(cli->settings, tune, parameter, error);
    return status ? status : fplt_tune(NULL, agents, tune, tuning, error);
}

/* Output */

static void add_row(fplt_table *rows, const fplt_tune_candidate *candidate)
{
    fplt__table_text(rows, candidate->origin);
    fplt__table_number(rows, candidate->rho, 6);
    if (candidate->step > 0)
        fplt__table_number(rows, candidate->step, 6);
    else
        fplt__table_text(rows, "auto");
    fplt__table_whole(rows, candidate->epochs);
    fplt__table_number(rows, candidate->rate, 4);
    if (candidate->stage)
        fplt__table_whole(rows, (long long)candidate->rounds);
    else
        fplt__table_number(rows, NAN, 1);
    fplt__table_number(rows, candidate->criterion, 3);
    fplt__table_text(rows, candidate->left ? "diverged" : candidate->reached ? "reached" : "");
    fplt__table_number(rows, candidate->expected_rounds, 4);
    fplt__table_number(rows, candidate->expected_time, 4);
}

static fplt_status make_rows(const fplt_tuning *tuning, size_t most, fplt_table **rows,
                             fplt_error *error)
{
    static const char *const columns[] = {"from",         "rho",        "gamma",
                                          "epochs",       "model rate", "rounds run",
                                          "criterion",    "",           "expected rounds",
                                          "expected time"};
    fplt_status status = fplt__table_create(columns, sizeof columns / sizeof *columns, rows, error);
    for (size_t i = 0; !status && i < tuning->count && i < most; i++)
        add_row(*rows, &tuning->candidate[i]);
    return status;
}

static json_t *candidate_json(const fplt_tune_candidate *c)
{
    return json_pack("{s:s, s:o, s:o, s:I, s:o, s:I, s:o, s:b, s:b, s:o, s:o}", "from", c->origin,
                     "rho", cli_json_number(c->rho), "gamma",
                     c->step > 0 ? json_real(c->step) : json_string("auto"), "epochs",
                     (json_int_t)c->epochs, "model_rate", cli_json_number(c->rate), "rounds",
                     (json_int_t)c->rounds, "criterion", cli_json_number(c->criterion), "reached",
                     c->reached, "diverged", c->left, "expected_rounds",
                     cli_json_number(c->expected_rounds), "expected_time",
                     cli_json_number(c->expected_time));
}

static fplt_status print_json(const fplt_tuning *tuning, fplt_error *error)
{
    int measured = tuning->first_criterion > 0;
    json_t *all = json_array();
    for (size_t i = 0; i < tuning->count; i++)
        json_array_append_new(all, candidate_json(&tuning->candidate[i]));
    return cli_print_json(
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:s}", "format", "fedplt-tuning 1",
                  "choice", candidate_json(&tuning->candidate[0]), "candidates", all, "lmin",
                  cli_json_number(fplt__curvature_bounds_lowest(&tuning->bend)), "lmax",
                  cli_json_number(tuning->bend.everywhere.highest), "first_criterion",
                  measured ? cli_json_number(tuning->first_criterion) : json_null(), "target",
                  measured ? cli_json_number(tuning->target) : json_null(), "rounds_spent",
                  (json_int_t)tuning->rounds_spent, "time_spent",
                  cli_json_number(tuning->time_spent), "reasoning", tuning->reasoning),
        error);
}

/* The same job, trained with what was found. */
static void write_next(const cli_call *cli, const fplt_tune_candidate *best, cli_text *out)
{
    static const char *const own[] = {"lmin", "lmax", "by",    "tune-rounds", "public",    "show",
                                      "json", "rho",  "gamma", "epochs",      "algorithm", NULL};
    cli_text_add(out, "\nnext\n  ");
    cli_again(cli, "train", own + (has_bounds(cli->settings) ? 0 : 2), out);
    cli_text_format(out, " --algorithm %s --rho %.6g",
                    fplt_settings_text(cli->settings, "algorithm"), best->rho);
    if (best->step > 0)
        cli_text_format(out, " --gamma %.6g", best->step);
    cli_text_format(out, " --epochs %u\n", best->epochs);
}

static fplt_status print(const cli_call *cli, const fplt_tuning *tuning, fplt_error *error)
{
    const fplt_tune_candidate *best = &tuning->candidate[0];
    size_t most = (size_t)fplt_settings_integer(cli->settings, "show");
    fplt_table *rows = NULL;
    cli_text text = {NULL, 0, NULL};
    cli_wrap(&text, tuning->reasoning, 0, 0, 80);
    cli_text_add(&text, "\n\n");
    cli_print_text(&text);
    fplt_status status = make_rows(tuning, most, &rows, error);
    if (!status)
        status = cli_print_table(rows, error);
    fplt_table_destroy(rows);
    if (status)
        return status;
    if (tuning->first_criterion > 0)
        printf("\ncriterion at the start %.4g, to reach %.4g\n", tuning->first_criterion,
               tuning->target);
    cli_write_defaults(cli->settings, &text);
    write_next(cli, best, &text);
    cli_print_text(&text);
    return FPLT_OK;
}

static fplt_status run_tune(cli_call *cli, fplt_error *error)
{
    fplt_tune_settings tune = fplt_tune_defaults();
    fplt_tuning tuning = {.candidate = NULL};
    tune.ranks = cli->ranks;
    double parameter[FPLT_MAX_PARAMETERS];
    cli_progress progress;
    tune.watch = cli_progress_watch;
    tune.context = &progress;
    cli_end_on_signals(NULL);
    cli_progress_begin(&progress, 0);
    fplt_status status = has_data(cli->settings)
                             ? tune_with_data(cli, &tune, parameter, &tuning, error)
                             : tune_without(cli, &tune, parameter, &tuning, error);
    cli_progress_end(&progress);
    status = fplt_ranks_agree(cli->ranks, status, error);
    if (status || !cli_leads(cli)) {
        fplt_tuning_clear(&tuning);
        return cli_interrupted_status(cli, status);
    }
    cli->running = 1;
    status = fplt_settings_switch(cli->settings, "json") ? print_json(&tuning, error)
                                                         : print(cli, &tuning, error);
    fplt_tuning_clear(&tuning);
    return status;
}

const cli_command cli_tune[] = {
    {.name = "tune",
     .summary = "find rho, gamma and the number of epochs",
     .arguments = "[config.yaml]",
     .about =
         "Proposes rho, gamma and epochs for a job, with what they are expected to cost for given "
         "prices of a gradient and of a round trip (--t-gradient, --t-communication), and the "
         "alternatives. What is given (--rho 1) is kept, the rest is searched.\n\nBy theory it "
         "reckons with quadratics that curve as the costs do; --lmin and --lmax instead of data "
         "are enough. By experiment candidates run on the job's own data for a few rounds, and the "
         "better half goes on each time; the rounds this takes are printed.\n\nA privacy claim "
         "forbids a choice that depends on the data: --public with bounds --lmin and --lmax that "
         "hold for any data.",
     .examples = "fedplt tune\n"
                 "fedplt tune --lmin 0.5 --lmax 5 --t-communication 100\n"
                 "fedplt tune --data hospitals.csv --eps 0.01 --by experiment\n"
                 "fedplt tune --public --lmin 0.5 --lmax 0.75 --agents 100",
     .most = 1,
     .config = 1,
     .spreads = 1,
     .declare = declare,
     .needs = needs,
     .run = run_tune},
    {.name = NULL},
};
