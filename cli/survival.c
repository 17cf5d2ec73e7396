/* fedplt survival: Kaplan-Meier curves, medians and log-rank tests; the commands on a Cox model are in survival_model.c. */
#include <string.h>

#include "cli.h"
#include "survival.h"
#include "fedplt/schema.h"
#include "base/settings.h"
#include "report/report.h"
#include "study/survival.h"

static const fplt_setting table[] = {
    {"time", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column of the time until the event or the end of observation; default: that of the schema, "
     "or "
     "`time`",
     0, 0},
    {"event", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column that says whether the event happened; default: that of the schema, or `event`", 0, 0},
    {"happened", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "value of that column that means that it happened; default: the second class of the schema, "
     "or 1",
     0, 0},
    {"by", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column whose values are the strata, each with a curve of its own", 0, 0},
    {"times", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "times at which survival is printed, such as 365,730; default: about six", 0, 0,
     .needs = "csv=no"},
    {"grid", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "put times on a grid: one number is the width of a cell, several are its boundaries; a time "
     "becomes the boundary that follows it",
     0, 0},
    {"minimum", FPLT_INTEGER, 0, "0", 0, 1000000, NULL,
     "end the curve of a site and stratum where fewer than this number are at risk, and with "
     "--grid "
     "merge cells until no count is from 1 to this number less 1; 0: nowhere",
     0, 0},
    {"interval", FPLT_CHOICE, 0, "log", 0, 0, "log|log-log|plain",
     "scale on which the intervals of survival are symmetric", 0, 0},
    {"level", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "0.95", 0, 1, NULL, "of the intervals", 0, 0},
    {"picture", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "file of a picture with the curves, their bands and the numbers at risk: .svg, .png or .pdf",
     0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    {"csv", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print every step of every curve as CSV", 0, 0,
     .needs = "json=no"},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_settings_add(settings, "output", table, error);
    return status ? status : fplt_settings_add(settings, "data", cli_file_table, error);
}

static fplt_status print(const cli_call *cli, const fplt_survival *survival, fplt_error *error)
{
    char *text;
    fplt_status status =
        fplt__survival_report(survival,
                              fplt_settings_switch(cli->settings, "json")  ? FPLT__FORM_JSON
                              : fplt_settings_switch(cli->settings, "csv") ? FPLT__FORM_CSV
                                                                           : FPLT__FORM_TEXT,
                              &text, error);
    if (!status)
        fputs(text, stdout);
    fplt_free(text);
    return status;
}

static fplt_survival_interval interval_of(const cli_call *cli)
{
    const char *name = fplt_settings_text(cli->settings, "interval");
    return strcmp(name, "plain") == 0     ? FPLT_SURVIVAL_PLAIN
           : strcmp(name, "log-log") == 0 ? FPLT_SURVIVAL_LOG_LOG
                                          : FPLT_SURVIVAL_LOG;
}

static fplt_status run_curves(cli_call *cli, fplt_error *error)
{
    fplt_read_settings read = cli_file_reading(cli);
    fplt_survival_settings settings = {.read = &read,
                                       .time = fplt_settings_text(cli->settings, "time"),
                                       .event = fplt_settings_text(cli->settings, "event"),
                                       .happened = fplt_settings_text(cli->settings, "happened"),
                                       .by = fplt_settings_text(cli->settings, "by"),
                                       .grid = fplt_settings_text(cli->settings, "grid"),
                                       .times = fplt_settings_text(cli->settings, "times"),
                                       .minimum =
                                           (size_t)fplt_settings_integer(cli->settings, "minimum"),
                                       .interval = interval_of(cli),
                                       .level = fplt_settings_real(cli->settings, "level")};
    const char *path = fplt_settings_text(cli->settings, "schema"),
               *picture = fplt_settings_text(cli->settings, "picture");
    fplt_schema *schema = NULL;
    fplt_survival *survival = NULL;
    fplt_status status = path ? fplt_schema_read(path, &schema, error) : FPLT_OK;
    read.schema = schema;
    if (!status && picture)
        status = cli_protect(cli, picture, error);
    if (!status)
        status =
            fplt_survival_create(cli->arguments, cli->argument_count, &settings, &survival, error);
    if (!status && picture)
        status = fplt__survival_picture(survival, picture, error);
    if (!status)
        status = print(cli, survival, error);
    fplt_survival_destroy(survival);
    fplt_schema_destroy(schema);
    return status;
}

const cli_command cli_survival[] = {
    {.name = "survival curves",
     .summary = "Kaplan-Meier curves by stratum and site, medians, log-rank test, picture",
     .arguments = "FILE...",
     .about =
         "Estimates how many survive without the event, from CSV files with a time and whether the "
         "event happened: Kaplan-Meier curves with Greenwood's errors, the numbers at risk, the "
         "median with its interval, and the log-rank test. With --by the strata are compared, over "
         "all sites and within each site; otherwise the sites. Intervals are symmetric for log "
         "S(t), the default of survfit in R.\n\n"
         "--grid 30 rounds every time up to a multiple of 30, so that no time is that of one "
         "person; --minimum 5 ends the curve of a site and stratum where fewer than 5 are at risk. "
         "Together they merge cells until five or none have the event and five or none leave. "
         "Curves of all sites are sums of what the sites show: after the end of its curve a site "
         "counts no more. Rows without a time, event or stratum are left out.",
     .examples =
         "fedplt survival curves cohort.csv --time days --event died --happened yes --by arm\n"
         "fedplt survival curves cohort.csv --schema cohort.yaml --by arm --picture curves.svg\n"
         "fedplt survival curves cohort.csv --schema cohort.yaml --grid 30 --minimum 5 --json",
     .least = 1,
     .most = 1000000,
     .declare = declare,
     .run = run_curves},
    {.name = "survival baseline",
     .summary = "baseline hazard of every site, from a Cox model and the rows it was trained on",
     .arguments = "MODEL DATA...",
     .about = "Prints the baseline hazard of each site at every time with an event: its increment, "
              "its sum, and the survival of a patient whose columns are all 0. Increments are "
              "those of Breslow or Efron, as the model treats ties; they are the numbers of "
              "basehaz(fit, centered = FALSE) in R.\n\n"
              "Times of events may identify a person: --grid rounds them up, and --minimum ends "
              "the hazard of a site where fewer are at risk.",
     .examples =
         "fedplt survival baseline cohort/model.json cohort.csv --refit\n"
         "fedplt survival baseline cohort/model.json cohort.csv --grid 30 --minimum 5 --csv",
     .least = 2,
     .most = 1000000,
     .declare = cli_survival_declare_baseline,
     .run = cli_survival_run_baseline},
    {.name = "survival predict",
     .summary = "survival of new patients with intervals and medians, from a Cox model",
     .arguments = "MODEL DATA...",
     .about = "Predicts how many patients with the columns of each row of --new survive, with the "
              "baseline hazard of each site or of --at-site. The baseline comes from the rows "
              "behind the model, those it was trained on. Intervals count the errors of the "
              "coefficients and of the baseline; a model with a penalty has none without --refit. "
              "The numbers are those of survfit(fit, newdata) in R.",
     .examples =
         "fedplt survival predict cohort/model.json cohort.csv --new patients.csv --refit\n"
         "fedplt survival predict cohort/model.json cohort.csv --new patients.csv --times 30,60 "
         "--at-site n",
     .least = 2,
     .most = 1000000,
     .declare = cli_survival_declare_predict,
     .run = cli_survival_run_predict},
    {.name = "survival test",
     .summary = "test of proportional hazards of a Cox model (scaled Schoenfeld residuals)",
     .arguments = "MODEL DATA...",
     .about = "Fits the model's columns to the data without a penalty and tests whether each "
              "coefficient stays the same over time: the score test of Grambsch and Therneau, as "
              "cox.zph of R's package survival computes it from version 3 on. Sites are strata. A "
              "small p means that hazards are not proportional. --transform says how time enters.",
     .examples = "fedplt survival test cohort/model.json cohort.csv\n"
                 "fedplt survival test cohort/model.json cohort.csv --transform log --each-column",
     .least = 2,
     .most = 1000000,
     .declare = cli_survival_declare_test,
     .run = cli_survival_run_test},
    {.name = NULL},
};
