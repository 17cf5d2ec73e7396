/* What `fedplt train` says at the end. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "train.h"
#include "base/file.h"
#include "base/text.h"
#include "data/dataset_access.h"
#include "objective/objective_access.h"
#include "prox/prox_access.h"
#include "report/model_access.h"
#include "report/report.h"
#include "fedplt/algorithm.h"
#include "fedplt/export.h"
#include "fedplt/record.h"

static void line(cli_text *out, const char *name, const char *format, ...) FPLT_PRINTF(3, 4);

static void line(cli_text *out, const char *name, const char *format, ...)
{
    va_list arguments;
    cli_text_format(out, "  %-22s ", name);
    va_start(arguments, format);
    cli_text_format_list(out, format, arguments);
    va_end(arguments);
    cli_text_add(out, "\n");
}

static void write_measures(const struct training *training, const fplt_record *record,
                           cli_text *out)
{
    const fplt_result *result = &training->result;
    double target = result->target;
    char asked[64] = "";
    if (target > 0)
        snprintf(asked, sizeof asked, ", asked for %.3g", target);
    line(out, "criterion", "%.4g  (%s at the %s%s)", result->end.criterion,
         fplt__prox_is_zero(training->view->prox) ? "||sum grad f_i||^2"
                                                  : "squared proximal gradient",
         training->view->run.at_model ? "model" : "mean of the agents", asked);
    const fplt_measure *model = &record->model;
    line(out, "objective", "%.8g", model->objective);
    if (model->classifies && model->records)
        line(out, "training accuracy", "%.2f %%",
             100 * ((double)model->hits / (double)model->records));
}

/* Which rows were held out: the site, the place in its file, and the id where there is one. Generated
 * rows have none of it. */
static fplt_status write_split(struct training *training, fplt_error *error)
{
    static const char *const columns[] = {"site", "row", "id"};
    const fplt_dataset *rows = training->view->held_out;
    int ids = fplt__dataset_row_id(rows, 0) != NULL;
    char room[16];
    size_t row = 0;
    fplt_table *table;
    if (!fplt__dataset_row_number(rows, 0))
        return FPLT_OK;
    fplt_status status = fplt__table_create(columns, 2 + (size_t)ids, &table, error);
    if (status)
        return status;
    for (uint32_t i = 0; i < fplt_dataset_agents(rows); i++) {
        const char *name = fplt_dataset_agent_name(rows, i);
        snprintf(room, sizeof room, "%u", i);
        for (size_t end = row + fplt_dataset_shard(rows, i).count; row < end; row++) {
            fplt__table_text(table, name ? name : room);
            fplt__table_whole(table, (long long)fplt__dataset_row_number(rows, row));
            if (ids)
                fplt__table_text(table, fplt__dataset_row_id(rows, row));
        }
    }
    status = cli_save_table(training->into, "held_out.csv", table, error);
    training->split_written = !status;
    fplt_table_destroy(table);
    return status;
}

fplt_status train_assess(struct training *training, fplt_error *error)
{
    const fplt_dataset *rows = training->view->held_out;
    char path[4096], *text;
    if (!rows || training->view->run.blind)
        return FPLT_OK;
    fplt_status status = cli_alloc(&training->held_out_each, fplt_dataset_agents(rows),
                                   sizeof *training->held_out_each, "the measures", error);
    if (!status)
        status = fplt_model_assess(training->model, rows, NAN, training->held_out_each,
                                   &training->held_out, error);
    if (!status)
        status = fplt_assessment_text(training->model, rows, training->held_out_each,
                                      &training->held_out, &text, error);
    if (status)
        return status;
    snprintf(path, sizeof path, "%s/held_out.json", training->into);
    status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt_free(text);
    return status ? status : write_split(training, error);
}

/* Sites beyond these are in the file only. */
enum { MAX_SITES = 20 };

static fplt_status write_held_out(const struct training *training, cli_text *out, fplt_error *error)
{
    const fplt_dataset *rows = training->view->held_out;
    fplt_table *table;
    char *text;
    if (!training->held_out_each)
        return FPLT_OK;
    if (fplt_dataset_agents(rows) > MAX_SITES) {
        line(out, "held-out rows", "%zu at %u sites, loss %.6g; held_out.json has each",
             fplt_dataset_rows(rows), fplt_dataset_agents(rows), training->held_out.all.loss);
        return FPLT_OK;
    }
    fplt_status status =
        fplt__quality_table(rows, training->held_out_each, &training->held_out.all, &table, error);
    if (status)
        return status;
    if (!(status = fplt_table_render(table, FPLT_TABLE_ALIGNED, &text, error)))
        cli_text_format(out, "\nheld-out rows\n%s", text);
    fplt_table_destroy(table);
    fplt_free(text);
    return status;
}

static void write_costs(const struct training *training, cli_text *out)
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

static void write_choices(const struct training *training, const fplt_record *record, cli_text *out)
{
    const fplt_job_view *view = training->view;
    const fplt_curvature *curvature = &record->facts.curvature;
    double least = record->step.value, most = record->largest_step;
    char value[64];
    int trains = !(view->run.algorithm->allows & FPLT_TRAINS_NOTHING);
    const char *precision = fplt__objective_precision(view->objective);
    int narrow = strcmp(precision, "float32") == 0;
    cli_text_add(out, "\nparameters\n");
    if (view->automatic && *view->automatic->about_algorithm)
        line(out, "algorithm", "%s", view->automatic->about_algorithm);
    for (size_t i = 0; i < record->parameters; i++) {
        const fplt_choice *choice = &record->parameter[i];
        snprintf(value, sizeof value, "%.6g", choice->value);
        line(out, choice->name, "%-22s %s", choice->word ? choice->word : value,
             fplt__choice_because(choice->why));
    }
    if (isnan(least))
        snprintf(value, sizeof value, "none");
    else
        snprintf(value, sizeof value, least < most ? "%.6g .. %.6g" : "%.6g", least, most);
    if (trains)
        line(out, "gamma", "%-22s %s", value, record->step.why);
    snprintf(value, sizeof value, "%.6g .. %.6g", curvature->lowest, curvature->highest);
    line(out, "curvature", "%-22s of the agents' costs%s", value,
         trains ? "" : ", roughly: from some of their rows");
    snprintf(value, sizeof value, "%.0f", record->epochs.value);
    if (trains)
        line(out, "epochs", "%-22s %s", value, fplt__choice_because(record->epochs.why));
    line(out, "local training", "%s, kernel %s%s%s",
         trains ? view->run.training.solver->name : "none", fplt__objective_kernel(view->objective),
         narrow ? ", rows kept as " : "", narrow ? precision : "");
    if (*record->advice)
        cli_text_format(out, "\n%s\n", record->advice);
}

static void write_files(const struct training *training, cli_text *out)
{
    cli_text_format(out, "\nfiles in %s\n  model.json%s%s%s%s%s%s\n", training->out,
                    training->promise ? ", privacy.json" : "",
                    training->view->run.blind ? "" : ", convergence.csv",
                    training->held_out_each ? ", held_out.json" : "",
                    training->split_written ? ", held_out.csv" : "",
                    training->pictures ? ", convergence.svg, convergence.png" : "",
                    training->agents_written ? ", agents.csv" : "");
}

/* The command that was given, with something more. */
static void write_again(const cli_call *cli, const char *more, cli_text *out)
{
    cli_text_add(out, "  ");
    cli_again(cli, NULL, NULL, out);
    cli_text_format(out, " %s\n", more);
}

/* How files are read that a model knows nothing of, as it was said for training. */
static void write_reading(const fplt_settings *settings, cli_text *out)
{
    static const char *const names[] = {"format", "separator", "decimal", "header"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fplt_settings_given(settings, names[i]))
            cli_text_format(out, " --%s %s", names[i], fplt_settings_text(settings, names[i]));
    if (strcmp(fplt_settings_text(settings, "missing"), "drop") == 0)
        cli_text_add(out, " --missing drop");
}

/* A command about the model of a folder, and files behind it, as a shell takes them. */
static void write_command(const cli_call *cli, const char *command, const char *folder,
                          const char *data, cli_text *out)
{
    int reads = data && *data;
    char model[4200];
    snprintf(model, sizeof model, "%.4000s/model.json", folder);
    cli_text_add(out, "  ");
    cli_quote(out, cli->all[0]);
    cli_text_format(out, " %s ", command);
    cli_quote(out, model);
    while (data && *data) {
        char file[4096];
        data = fplt__list_next(data, file, sizeof file);
        cli_text_add(out, " ");
        cli_quote(out, file);
    }
    if (reads)
        write_reading(cli->settings, out);
    cli_text_add(out, "\n");
}

/* Columns whose sign inside the sites is another one than over all rows. */
static fplt_status write_reversals(const cli_call *cli, const struct training *training,
                                   cli_text *out, fplt_error *error)
{
    char *text;
    fplt_status status = fplt__pooling_text(training->model, &text, error);
    if (status || !text)
        return status;
    cli_text_add(out,
                 "\npooling hides a reversal: sites differ, and inside the sites a column has the "
                 "opposite sign\n");
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        cli_text_format(out, "  %.*s\n", (int)(end - line), line);
    cli_text_add(out, "  to compare, train with an intercept for every site:\n");
    write_again(cli, "--site-effects fixed", out);
    fplt_free(text);
    return FPLT_OK;
}

static void write_next(const cli_call *cli, const struct training *training, cli_text *out)
{
    const char *data = fplt_settings_text(cli->settings, "data"), *program = cli->all[0];
    char more[128];
    cli_text_add(out, "\nnext\n");
    if (training->promise) {
        write_command(cli, "privacy verify", training->out, NULL, out);
    } else if (training->result.outcome == FPLT_ROUNDS_DONE) {
        snprintf(more, sizeof more, "--rounds %llu",
                 10 * (unsigned long long)(training->view->run.rounds + 1));
        write_again(cli, more, out);
    }
    if (data && training->promise)
        cli_text_add(out, "  (what evaluate or predict say of the training data is not private: "
                          "use other data, or keep it to yourself)\n");
    else if (data && strcmp(data, "-") == 0)
        cli_text_add(out, ""); /* what came through a pipe is gone */
    else if (data) {
        write_command(cli, "evaluate", training->out, data, out);
        write_command(cli, "predict", training->out, data, out);
    } else {
        snprintf(more, sizeof more, "--seed %lld",
                 fplt_settings_integer(cli->settings, "seed") + 1);
        write_again(cli, more, out);
        snprintf(more, sizeof more, "--epochs %u", 2 * training->view->run.training.epochs);
        write_again(cli, more, out);
    }
    cli_text_add(out, "  ");
    cli_quote(out, program);
    cli_text_add(out, " report ");
    cli_quote(out, training->out);
    cli_text_add(out, "\n");
}

fplt_status train_print(cli_call *cli, const struct training *training, fplt_error *error)
{
    const fplt_job_view *view = training->view;
    cli_text out = {NULL, 0, NULL};
    fplt_record record;
    fplt_status status = fplt_trainer_record(training->trainer, &record, error);
    if (status)
        return status;
    size_t rows = fplt_dataset_rows(view->training),
           features = fplt_dataset_features(view->training);
    uint32_t agents = fplt_dataset_agents(view->training);
    unsigned long long rounds = training->result.counters.rounds;
    cli_text_format(&out, "%s on %u agent%s, %zu row%s, %zu feature%s: %s after %llu round%s\n\n",
                    view->run.algorithm->title, agents, cli_plural(agents), rows, cli_plural(rows),
                    features, cli_plural(features),
                    training->view->run.blind                    ? "trained in private"
                    : training->result.outcome == FPLT_CONVERGED ? "converged"
                    : training->result.outcome == FPLT_STALLED
                        ? "the model no longer changes"
                        : "not converged, the rounds ran out",
                    rounds, cli_plural(rounds));
    if (training->promise)
        train_print_promise(training->promise, &out);
    if (!view->run.blind)
        write_measures(training, &record, &out);
    write_costs(training, &out);
    if ((status = write_held_out(training, &out, error)) ||
        (status = cli_write_filled(view->training, &out, error)))
        return status;
    if ((status = write_reversals(cli, training, &out, error)))
        return status;
    write_choices(training, &record, &out);
    cli_write_defaults(cli->settings, &out);
    write_files(training, &out);
    write_next(cli, training, &out);
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
                   {"privacy.json", training->promise != NULL},
                   {"convergence.csv", !training->view->run.blind},
                   {"held_out.json", training->held_out_each != NULL},
                   {"held_out.csv", training->split_written},
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
    const fplt_result *result = &training->result;
    cli_member model = {"model", NULL};
    json_t *document =
        json_pack("{s:s, s:s, s:I, s:f, s:o}", "outcome", fplt_outcome_name(result->outcome),
                  "sentence", result->sentence, "rounds", (json_int_t)result->counters.rounds,
                  "wall_seconds", training->seconds, "files",
                  training->model ? files_json(training) : json_array());
    if (!training->view->run.blind) {
        json_object_set_new(document, "criterion", cli_json_number(result->end.criterion));
        json_object_set_new(document, "target", cli_json_number(result->target));
    }
    if (!training->model) {
        json_object_set_new(document, "model", json_null());
        return cli_print_json(document, error);
    }
    fplt_model_text(training->model, &model.text, NULL);
    return cli_print_json_with(document, &model, 1, error);
}
