/* fedplt privacy curve: epsilon against rounds, epochs and tau. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "privacy.h"
#include "report/report.h"

enum { POINTS = 60, CURVES = 4 };

static const fplt_setting table[] = {
    {"out", FPLT_TEXT, 0, "fedplt-out", 0, 0, NULL, "folder for the pictures", 0, 0},
    {"form", FPLT_CHOICE, 0, "svg", 0, 0, "svg|png|pdf", "kind of picture", 0, 0},
    {"most", FPLT_REAL, FPLT_ABOVE, "1000", 1, 1e6, NULL, "rounds and epochs up to this", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

fplt_status privacy_declare_curve(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_settings_add(settings, "mechanism", privacy_mechanism_table, error);
    return status ? status : fplt_settings_add(settings, "output", table, error);
}

static const struct curve {
    const char *name, *threat;
    int step_wise;
} curves[CURVES] = {
    {"all messages (Theorem T)", "transcript", 0},
    {"final models only (Theorem F)", "final-x", 0},
    {"plain composition of all steps", "transcript", 1},
    {"Prop. 4 as printed: not a guarantee", "paper", 0},
};

static const struct axis {
    const char *name, *label;
    double from; /* times the mechanism's own value; 0: from 1 to `most` */
} axes[] = {{"rounds", "rounds", 0}, {"epochs", "local epochs a round", 0}, {"tau", "tau", 0.1}};

static void move(fplt_privacy_mechanism *mechanism, const struct axis *axis, double x)
{
    if (strcmp(axis->name, "rounds") == 0)
        mechanism->rounds = (uint64_t)x;
    else if (strcmp(axis->name, "epochs") == 0)
        mechanism->epochs = (uint64_t)x;
    else
        mechanism->noise_tau = x;
}

static double epsilon_of(fplt_privacy_mechanism mechanism, const struct curve *curve, double delta)
{
    fplt_privacy_claim claim;
    double epsilon;
    mechanism.contraction = mechanism.contraction && !curve->step_wise;
    if (fplt_privacy_claim_make(&mechanism, curve->threat, &claim, NULL) ||
        fplt_privacy_epsilon(&claim, FPLT_CONVERT_TIGHT, delta, &epsilon, NULL))
        return NAN;
    return epsilon;
}

static fplt_status draw(const fplt_settings *settings, const fplt_privacy_mechanism *own,
                        const struct axis *axis, fplt_table *out, fplt_error *error)
{
    static double x[POINTS], y[CURVES][POINTS];
    fplt__series series[CURVES];
    char path[4096], title[128];
    double delta = fplt_settings_real(settings, "delta");
    double low = axis->from > 0 ? axis->from * own->noise_tau : 1;
    double high =
        axis->from > 0 ? own->noise_tau / axis->from : fplt_settings_real(settings, "most");
    for (size_t i = 0; i < POINTS; i++) {
        fplt_privacy_mechanism mechanism = *own;
        x[i] = low * pow(high / low, (double)i / (POINTS - 1));
        x[i] = axis->from > 0 ? x[i] : round(x[i]);
        move(&mechanism, axis, x[i]);
        if (i % 10 == 9 || i == 0) {
            fplt__table_text(out, axis->name);
            fplt__table_number(out, x[i], 5);
        }
        for (size_t k = 0; k < CURVES; k++) {
            y[k][i] = epsilon_of(mechanism, &curves[k], delta);
            if (i % 10 == 9 || i == 0)
                fplt__table_number(out, y[k][i], 4);
        }
    }
    for (size_t k = 0; k < CURVES; k++)
        series[k] = (fplt__series){curves[k].name, x, y[k], POINTS};
    snprintf(title, sizeof title, "epsilon at delta = %g", delta);
    snprintf(path, sizeof path, "%s/curve-%s.%s", fplt_settings_text(settings, "out"), axis->name,
             fplt_settings_text(settings, "form"));
    fplt__plot plot = {.title = title,
                       .x_label = axis->label,
                       .y_label = "epsilon",
                       .log_x = 1,
                       .log_y = 1,
                       .series = series,
                       .count = CURVES};
    return privacy_draw(&plot, path, error);
}

fplt_status privacy_curve(cli_call *cli, fplt_error *error)
{
    static const char *const columns[] = {"axis",    "at",          "transcript",
                                          "final-x", "composition", "paper, not a guarantee"};
    const fplt_settings *settings = cli->settings;
    fplt_privacy_mechanism mechanism;
    fplt_table *out;
    double records = privacy_listed(settings, "records", 0);
    fplt_status status = privacy_mechanism(settings, (uint64_t)records, &mechanism, error);
    if (!status && !fplt_settings_given(settings, "tau"))
        mechanism.noise_tau = 0.1;
    if (!status)
        status = fplt__table_create(columns, 6, &out, error);
    if (status)
        return status;
    cli->running = 1;
    mkdir(fplt_settings_text(settings, "out"), 0777);
    for (size_t i = 0; !status && i < sizeof axes / sizeof *axes; i++)
        status = draw(settings, &mechanism, &axes[i], out, error);
    if (!status)
        status = fplt_settings_switch(settings, "json")
                     ? cli_print_json(json_pack("{s:f, s:o}", "delta",
                                                fplt_settings_real(settings, "delta"), "points",
                                                cli_json_table(out)),
                                      error)
                     : cli_print_table(out, error);
    fplt_table_destroy(out);
    return status;
}
