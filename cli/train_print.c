/* What `fedplt train` says at the end. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "report/model.h"
#include "train.h"

void train_read_history(struct training *training)
{
    char path[4096];
    fplt_error error = {FPLT_OK, ""};
    snprintf(path, sizeof path, "%s/convergence.csv", training->out);
    if (access(path, F_OK) != 0)
        return;
    if (fplt_history_read(training->history, path, training->resumed_at,
                          fplt_dataset_rows(training->view->training), &error))
        cli_warn("the convergence before round %llu is not shown: %s",
                 (unsigned long long)training->resumed_at, error.text);
}

static const json_t *at(const json_t *object, const char *first, const char *second)
{
    const json_t *inner = json_object_get(object, first);
    return second ? json_object_get(inner, second) : inner;
}

static double number(const json_t *object, const char *first, const char *second)
{
    const json_t *value = at(object, first, second);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void line(fplt__buffer *out, const char *name, const char *format, ...) FPLT_PRINTF(3, 4);

static void line(fplt__buffer *out, const char *name, const char *format, ...)
{
    va_list arguments;
    fplt__buffer_format(out, "  %-22s ", name);
    va_start(arguments, format);
    fplt__buffer_format_list(out, format, arguments);
    va_end(arguments);
    fplt__buffer_add(out, "\n");
}

static void write_measures(const struct training *training, const json_t *record, fplt__buffer *out)
{
    const fplt_run_settings *run = &training->view->run;
    const fplt_result *result = &training->result;
    double target = run->tolerance * (run->relative ? result->start.criterion : 1);
    char asked[64] = "";
    if (target > 0)
        snprintf(asked, sizeof asked, ", asked for %.3g", target);
    line(out, "criterion", "%.4g  (%s at the mean of the agents%s)", result->end.criterion,
         fplt_prox_is_zero(training->view->prox) ? "||sum grad f_i||^2"
                                                 : "squared proximal gradient",
         asked);
    line(out, "objective", "%.8g", number(record, "model", "objective"));
    if (!isnan(number(record, "model", "accuracy")))
        line(out, "training accuracy", "%.2f %%", 100 * number(record, "model", "accuracy"));
    if (!at(record, "held_out", NULL))
        return;
    if (isnan(number(record, "held_out", "rmse")))
        line(out, "held-out accuracy", "%.2f %%  (%.0f rows)",
             100 * number(record, "held_out", "accuracy"), number(record, "held_out", "rows"));
    else
        line(out, "held-out RMSE", "%.6g  (%.0f rows)", number(record, "held_out", "rmse"),
             number(record, "held_out", "rows"));
}

static void write_costs(const struct training *training, fplt__buffer *out)
{
    const fplt_counters *counters = &training->result.counters;
    const fplt_run_settings *run = &training->view->run;
    char up[32], down[32];
    cli_bytes((double)counters->bytes_up, up, sizeof up);
    cli_bytes((double)counters->bytes_down, down, sizeof down);
    if (counters->gradients == counters->paper_gradients)
        line(out, "gradient evaluations", "%.10g", counters->gradients);
    else
        line(out, "gradient evaluations", "%.10g  (%.10g as the paper counts)", counters->gradients,
             counters->paper_gradients);
    line(out, "vectors sent", "%llu up, %llu down  (%s up, %s down)",
         (unsigned long long)counters->vectors_up, (unsigned long long)counters->vectors_down, up,
         down);
    line(out, "time as in the paper", "%.10g  (t_G = %g, t_C = %g)", counters->paper_time,
         run->gradient_time, run->communication_time);
    line(out, "wall time", "%.3g s", training->seconds);
}

/* A sentence "rho = 1: because" without what stands before it in the line anyway. */
static const char *because(const char *why)
{
    const char *equals = why ? strstr(why, " = ") : NULL;
    const char *colon = equals ? strstr(why, ": ") : NULL;
    return colon && strchr(why, ' ') == equals ? colon + 2 : why ? why : "";
}

static void write_choices(const json_t *record, fplt__buffer *out)
{
    const char *name;
    json_t *parameter;
    const json_t *gamma = at(record, "local", "gamma");
    char value[64];
    fplt__buffer_add(out, "\nparameters\n");
    json_object_foreach((json_t *)at(record, "parameters", NULL), name, parameter)
    {
        json_t *own = json_object_get(parameter, "value");
        const char *why = json_string_value(json_object_get(parameter, "why"));
        if (json_is_string(own))
            snprintf(value, sizeof value, "%s", json_string_value(own));
        else
            snprintf(value, sizeof value, "%.6g", json_number_value(own));
        line(out, name, "%-22s %s", value, because(why));
    }
    double least = number(gamma, "least", NULL), most = number(gamma, "most", NULL);
    if (isnan(least))
        snprintf(value, sizeof value, "none");
    else
        snprintf(value, sizeof value, least < most ? "%.6g .. %.6g" : "%.6g", least, most);
    line(out, "gamma", "%-22s %s", value, json_string_value(json_object_get(gamma, "why")));
    snprintf(value, sizeof value, "%.6g .. %.6g", number(record, "curvature", "lmin"),
             number(record, "curvature", "lmax"));
    line(out, "curvature", "%-22s of the agents' costs", value);
    snprintf(value, sizeof value, "%.0f", number(record, "local", "epochs"));
    line(out, "epochs", "%-22s %s", value,
         because(json_string_value(at(record, "local", "epochs_why"))));
    line(out, "local training", "%s, kernel %s", json_string_value(at(record, "local", "solver")),
         json_string_value(at(record, "kernel", NULL)));
    const char *advice = json_string_value(at(record, "local", "advice"));
    if (advice && *advice)
        fplt__buffer_format(out, "\n%s\n", advice);
}

static void write_files(const struct training *training, fplt__buffer *out)
{
    fplt__buffer_format(out, "\nfiles in %s\n  model.json%s%s%s%s\n", training->out,
                        training->plan ? ", privacy.json" : "",
                        training->view->run.blind ? "" : ", convergence.csv",
                        training->pictures ? ", convergence.svg, convergence.png" : "",
                        training->agents_written ? ", agents.csv" : "");
}

/* The command that was given, with something more. */
static void write_again(const cli_call *cli, const char *more, fplt__buffer *out)
{
    fplt__buffer_add(out, "  ");
    for (char **word = cli->all; *word; word++) {
        cli_quote(out, *word);
        fplt__buffer_add(out, " ");
    }
    fplt__buffer_format(out, "%s\n", more);
}

static void write_next(const cli_call *cli, const struct training *training, fplt__buffer *out)
{
    const char *data = fplt_settings_text(cli->settings, "data"), *program = cli->all[0];
    char more[128];
    fplt__buffer_add(out, "\nnext\n");
    if (training->plan) {
        fplt__buffer_format(out, "  %s privacy verify %s/model.json\n", program, training->out);
    } else if (training->result.outcome == FPLT_ROUNDS_DONE) {
        snprintf(more, sizeof more, "--rounds %llu",
                 10 * (unsigned long long)(training->view->run.rounds + 1));
        write_again(cli, more, out);
    }
    if (data && !strchr(data, ',')) {
        fplt__buffer_format(out, "  %s evaluate %s/model.json ", program, training->out);
        cli_quote(out, data);
        fplt__buffer_format(out, "\n  %s predict %s/model.json ", program, training->out);
        cli_quote(out, data);
        fplt__buffer_add(out, "\n");
    } else {
        if (!data) {
            snprintf(more, sizeof more, "--seed %lld",
                     fplt_settings_integer(cli->settings, "seed") + 1);
            write_again(cli, more, out);
        }
        snprintf(more, sizeof more, "--epochs %u", 2 * training->view->run.training.epochs);
        write_again(cli, more, out);
    }
    fplt__buffer_format(out, "  %s list algorithms\n", program);
}

fplt_status train_print(cli_call *cli, const struct training *training, fplt_error *error)
{
    const fplt_job_view *view = training->view;
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    json_t *record = json_loads(fplt_model_see(training->model)->training, 0, NULL);
    if (!record)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the summary");
    fplt__buffer_format(&out, "%s on %u agents, %zu rows, %zu features: %s after %llu rounds\n\n",
                        view->run.algorithm->title, fplt_dataset_agents(view->training),
                        fplt_dataset_rows(view->training), fplt_dataset_features(view->training),
                        training->view->run.blind                    ? "trained in private"
                        : training->result.outcome == FPLT_CONVERGED ? "converged"
                        : training->result.outcome == FPLT_STALLED
                            ? "the model no longer changes"
                            : "not converged, the rounds ran out",
                        (unsigned long long)training->result.counters.rounds);
    if (training->plan)
        train_print_promise(training, &out);
    if (!view->run.blind)
        write_measures(training, record, &out);
    write_costs(training, &out);
    write_choices(record, &out);
    write_files(training, &out);
    write_next(cli, training, &out);
    json_decref(record);
    cli_print_text(&out);
    return FPLT_OK;
}

static json_t *files_json(const struct training *training)
{
    json_t *files = json_array();
    const struct {
        const char *name;
        int there;
    } written[] = {{"model.json", 1},
                   {"privacy.json", training->plan != NULL},
                   {"convergence.csv", !training->view->run.blind},
                   {"convergence.svg", training->pictures},
                   {"convergence.png", training->pictures},
                   {"agents.csv", training->agents_written}};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        if (written[i].there)
            json_array_append_new(files, json_sprintf("%s/%s", training->out, written[i].name));
    }
    return files;
}

fplt_status train_print_json(const struct training *training, fplt_error *error)
{
    json_t *model = fplt__model_json(training->model);
    json_t *document =
        json_pack("{s:s, s:s, s:I, s:f, s:o, s:o}", "outcome",
                  fplt_outcome_name(training->result.outcome), "sentence",
                  training->result.sentence, "rounds", (json_int_t)training->result.counters.rounds,
                  "wall_seconds", training->seconds, "files", files_json(training), "model", model);
    return cli_print_json(document, error);
}
