/* fedplt train: one job from settings to a model, its history and a summary. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli.h"
#include "fedplt/model.h"
#include "report/model.h"
#include "train.h"

static const fplt_setting output_table[] = {
    {"out", FPLT_TEXT, 0, "fedplt-out", 0, 0, NULL, "folder for the files", 0, 0},
    {"pictures", FPLT_SWITCH, 0, "yes", 0, 0, NULL, "draw convergence.svg and convergence.png", 0,
     0},
    {"agents-models", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "write agents.csv: every agent's own model x_i", 0, 0},
    {"checkpoint", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "file that keeps the state of the run, written when it is interrupted", 0, 0},
    {"checkpoint-every", FPLT_INTEGER, 0, "0", 0, 9007199254740992.0, NULL,
     "rounds between checkpoints; 0: only when interrupted", 0, 0},
    {"resume", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "checkpoint to go on from, with the same settings and data", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document instead of the summary", 0,
     0},
    {"quiet", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print nothing", 0, 0},
    FPLT_SETTINGS_END,
};

/* Acceleration needs every agent in every round and nothing random. */
static int may_accelerate(const cli_call *cli)
{
    static const char *const against[] = {"privacy.epsilon", "privacy.tau", "uncoordinated"};
    const char *participation = cli_peek(cli, "participation"), *solver = cli_peek(cli, "solver");
    const fplt_solver *known = solver ? fplt_solver_find(solver) : NULL;
    for (size_t i = 0; i < sizeof against / sizeof *against; i++)
        if (cli_peek(cli, against[i]))
            return 0;
    if (participation && strcmp(participation, "all") != 0)
        return 0;
    return !known || !(known->traits & (FPLT_STOCHASTIC | FPLT_NOISY));
}

/* With data of one's own and nothing said about how, what converges on the most kinds of data:
 * Fed-PLT accelerated, with as many epochs as pay (docs/acceleration.md). */
static fplt_status prefer_acceleration(const cli_call *cli, fplt_settings *settings,
                                       fplt_error *error)
{
    static const char why[] = "the default for data of one's own";
    const char *solver = cli_peek(cli, "solver");
    fplt_status status = fplt_settings_set(settings, "algorithm", "fed-plt-anderson", why, error);
    if (status || cli_peek(cli, "epochs") || (solver && strcmp(solver, "gradient") != 0))
        return status;
    return fplt_settings_set(settings, "epochs", "auto", why, error);
}

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    const char *algorithm = cli_peek(cli, "algorithm");
    int prefer = !algorithm && cli_peek(cli, "data") && may_accelerate(cli);
    fplt_status status =
        fplt_job_declare(settings, FPLT_JOB_ALL, prefer ? "fed-plt-anderson" : algorithm, error);
    if (!status && prefer)
        status = prefer_acceleration(cli, settings, error);
    if (!status)
        status = fplt_settings_add(settings, "privacy", fplt_promise_table, error);
    return status ? status : fplt_settings_add(settings, "output", output_table, error);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* While it runs */

static void draw_progress(struct training *training, const fplt_progress *progress)
{
    char line[256];
    if (!training->shows_progress)
        return;
    size_t length = fplt_meter_line(&training->meter, progress, now(), line, sizeof line);
    if (!length)
        return;
    fprintf(stderr, "\r%s\x1b[K", line);
    fflush(stderr);
    training->drawn = 1;
}

static void erase_progress(struct training *training)
{
    if (training->drawn)
        fputs("\r\x1b[K", stderr);
    training->drawn = 0;
}

static int observe(void *context, const fplt_progress *progress)
{
    struct training *training = context;
    uint64_t every = training->checkpoint_every;
    draw_progress(training, progress);
    if (fplt_history_add(training->history, progress, &training->error))
        return 1;
    if (training->checkpoint && every && progress->round && progress->round % every == 0 &&
        fplt_engine_save(training->engine, training->checkpoint, &training->error))
        return 1;
    return cli_interrupted();
}

static void prepare_meter(struct training *training)
{
    struct winsize size;
    const fplt_run_settings *run = &training->view->run;
    training->shows_progress = isatty(STDERR_FILENO) && !training->quiet;
    training->meter =
        (fplt_meter){.rounds = run->rounds, .tolerance = run->tolerance, .relative = run->relative};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        training->meter.width = size.ws_col;
}

/* Before it runs */

static fplt_status start_from_model(fplt_job *job, const fplt_settings *settings, fplt_error *error)
{
    const char *path = fplt_settings_text(settings, "start-model");
    int wanted = fplt_job_see(job)->run.start == FPLT_START_GIVEN;
    if (!wanted && path)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: start-model is given, but start is %s; add start: model",
                              fplt_settings_origin(settings, "start-model"),
                              fplt_settings_text(settings, "start"));
    if (!wanted)
        return FPLT_OK;
    if (!path)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "start is model, but no file is given: add start-model");
    fplt_model *model;
    fplt_status status = fplt_model_read(path, &model, error);
    if (status)
        return status;
    const fplt_model_info *info = fplt_model_see(model);
    status = fplt_job_start(job, info->weights, info->dimension, path, error);
    fplt_model_destroy(model);
    return status;
}

/* The folder, and those above it. Remembers whether the last one is new. */
static fplt_status make_folder(const char *path, int *is_new, fplt_error *error)
{
    struct stat found;
    char *copy = fplt__strdup(path);
    if (!copy)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a path");
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(copy, 0777);
        *slash = '/';
    }
    fplt__free(copy);
    *is_new = mkdir(path, 0777) == 0;
    if (*is_new)
        return FPLT_OK;
    int problem = errno;
    if (stat(path, &found) == 0 && !S_ISDIR(found.st_mode))
        problem = ENOTDIR;
    else if (problem == EEXIST)
        problem = access(path, W_OK) ? errno : 0;
    return problem ? fplt_error_set(error, FPLT_IO, "%s: cannot write into this folder: %s", path,
                                    strerror(problem))
                   : FPLT_OK;
}

static fplt_status prepare(cli_call *cli, struct training *training, fplt_error *error)
{
    fplt_settings *settings = cli->settings;
    const char *resume = fplt_settings_text(settings, "resume");
    fplt_status status;
    training->out = fplt_settings_text(settings, "out");
    training->checkpoint = fplt_settings_text(settings, "checkpoint");
    training->checkpoint_every = (uint64_t)fplt_settings_integer(settings, "checkpoint-every");
    training->json = fplt_settings_switch(settings, "json");
    training->quiet = fplt_settings_switch(settings, "quiet");
    if (!training->checkpoint && fplt_settings_given(settings, "checkpoint-every"))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: checkpoint-every needs a file: give checkpoint",
                              fplt_settings_origin(settings, "checkpoint-every"));
    if ((status = fplt_promise_prepare(settings, error)) ||
        (status = fplt_promise_job(settings, 0, &training->job, error)))
        return status;
    training->view = fplt_job_see(training->job);
    if ((status = start_from_model(training->job, settings, error)) ||
        (fplt_promise_wanted(settings) &&
         (status = fplt_promise_create(settings, training->job, &training->plan, error))) ||
        (status = fplt_engine_create(training->view->objective, &training->view->run,
                                     &training->engine, error)) ||
        (status = fplt_history_create(&training->history, error)))
        return status;
    if (resume && (status = fplt_engine_load(training->engine, resume, error)))
        return status;
    training->resumed_at = fplt_engine_counters(training->engine)->rounds;
    if ((status = make_folder(training->out, &training->made_folder, error)))
        return status;
    if (resume)
        train_read_history(training);
    return FPLT_OK;
}

/* After it ran */

static fplt_status write_history(struct training *training, fplt_error *error)
{
    char path[4096], *text;
    fplt_status status = fplt_history_csv(training->history, &text, error);
    if (status)
        return status;
    snprintf(path, sizeof path, "%s/convergence.csv", training->out);
    status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt_free(text);
    return status;
}

/* A picture that cannot be drawn is no reason to lose a model; a full disc is. */
static fplt_status draw_history(cli_call *cli, struct training *training, fplt_error *error)
{
    static const char *const kinds[] = {"svg", "png"};
    const fplt_run_settings *run = &training->view->run;
    double target = run->tolerance * (run->relative ? training->result.start.criterion : 1);
    const char *label =
        fplt_prox_is_zero(training->view->prox) ? NULL : "squared norm of the proximal gradient";
    if (!fplt_settings_switch(cli->settings, "pictures"))
        return FPLT_OK;
    for (size_t i = 0; i < 2; i++) {
        char path[4096], title[256];
        snprintf(path, sizeof path, "%s/convergence.%s", training->out, kinds[i]);
        snprintf(title, sizeof title, "%s, %s, %u agents", run->algorithm->title,
                 run->training.solver->name, fplt_objective_agents(training->view->objective));
        fplt_status status =
            fplt_history_plot(training->history, title, label, target, path, error);
        if (status == FPLT_IO || status == FPLT_NO_MEMORY)
            return status;
        if (status) {
            cli_warn("%s", error->text);
            return FPLT_OK;
        }
        training->pictures = 1;
    }
    return FPLT_OK;
}

static void add_vector(fplt_table *table, const double *x, size_t count)
{
    for (size_t j = 0; j < count; j++)
        fplt_table_number(table, x[j], 17);
}

static fplt_status fill_agents(const struct training *training, fplt_table *table, int vector)
{
    size_t n = fplt_objective_dimension(training->view->objective);
    for (uint32_t i = 0; i < fplt_objective_agents(training->view->objective); i++) {
        fplt_table_whole(table, i);
        fplt_table_text(table, fplt_dataset_agent_name(training->view->training, i));
        fplt_table_whole(table, (long long)fplt_engine_updates(training->engine, i));
        add_vector(table, fplt_engine_kept(training->engine, i) + (size_t)vector * n, n);
    }
    return FPLT_OK;
}

static fplt_status write_agents(cli_call *cli, struct training *training, fplt_error *error)
{
    int vector = fplt_engine_shape(training->engine).local_model;
    size_t n = fplt_objective_dimension(training->view->objective);
    if (!fplt_settings_switch(cli->settings, "agents-models"))
        return FPLT_OK;
    if (vector < 0) {
        cli_warn("agents.csv: not written, because agents of %s keep no model of their own",
                 training->view->run.algorithm->name);
        return FPLT_OK;
    }
    const char **columns;
    char(*names)[24], *text = NULL, path[4096];
    fplt_table *table = NULL;
    fplt_status status =
        fplt__alloc_into(&columns, n + 3, sizeof *columns + sizeof *names, "the columns", error);
    if (status)
        return status;
    names = (char(*)[24])(columns + n + 3);
    columns[0] = "agent";
    columns[1] = "site";
    columns[2] = "updates";
    for (size_t j = 0; j < n; j++) {
        snprintf(names[j], sizeof names[j], "x%zu", j + 1);
        columns[j + 3] = names[j];
    }
    snprintf(path, sizeof path, "%s/agents.csv", training->out);
    if (!(status = fplt_table_create(columns, n + 3, &table, error)) &&
        !(status = fill_agents(training, table, vector)) &&
        !(status = fplt_table_render(table, FPLT_TABLE_CSV, &text, error)))
        status = fplt__file_save(path, 0666, text, strlen(text), error);
    training->agents_written = !status;
    fplt_table_destroy(table);
    fplt_free(text);
    fplt__free(columns);
    return status;
}

static fplt_status write_all(cli_call *cli, struct training *training, fplt_error *error)
{
    char path[4096];
    fplt_status status;
    snprintf(path, sizeof path, "%s/model.json", training->out);
    if ((status = fplt_model_from_run(training->job, training->engine, &training->result,
                                      &training->model, error)) ||
        (training->plan && (status = train_certify(training, error))) ||
        (!training->view->run.blind && ((status = write_history(training, error)) ||
                                        (status = draw_history(cli, training, error)))) ||
        (status = write_agents(cli, training, error)))
        return status;
    return fplt_model_write(training->model, path, error);
}

static fplt_status stop_here(cli_call *cli, struct training *training, fplt_error *error)
{
    fplt__buffer again = {NULL, 0, 0, FPLT_OK};
    unsigned long long round = fplt_engine_counters(training->engine)->rounds;
    cli->exit_status = 130;
    if (!training->checkpoint) {
        cli_warn("interrupted after round %llu; nothing is kept, because no --checkpoint was given",
                 round);
        return FPLT_OK;
    }
    fplt_status status = fplt_engine_save(training->engine, training->checkpoint, error);
    if (!status)
        status = write_history(training, error);
    if (status)
        return status;
    training->keeps_folder = 1;
    for (char **word = cli->all; *word; word++) {
        if (strcmp(*word, "--resume") == 0 && word[1]) {
            word++;
            continue;
        }
        if (strncmp(*word, "--resume=", 9) == 0)
            continue;
        cli_quote(&again, *word);
        fplt__buffer_add(&again, " ");
    }
    fplt__buffer_add(&again, "--resume ");
    cli_quote(&again, training->checkpoint);
    cli_warn("interrupted after round %llu; %s keeps the state, go on with:\n  %s", round,
             training->checkpoint, again.text ? again.text : "");
    fplt__buffer_clear(&again);
    return FPLT_OK;
}

static fplt_status conclude(cli_call *cli, struct training *training, fplt_error *error)
{
    fplt_status status;
    if (training->error.status) {
        *error = training->error;
        return error->status;
    }
    if (training->result.outcome == FPLT_STOPPED)
        return stop_here(cli, training, error);
    if (training->result.outcome == FPLT_RUN_DIVERGED)
        return fplt_error_set(error, FPLT_DIVERGED, "%s", training->result.sentence);
    if ((status = write_all(cli, training, error)))
        return status;
    training->keeps_folder = 1;
    if (training->quiet)
        return FPLT_OK;
    return training->json ? train_print_json(training, error) : train_print(cli, training, error);
}

static fplt_status run(cli_call *cli, fplt_error *error)
{
    struct training training = {.job = NULL};
    fplt_status status = prepare(cli, &training, error);
    if (!status) {
        cli->running = 1;
        cli_catch_signals();
        prepare_meter(&training);
        double begun = now();
        status = fplt_engine_run(training.engine, observe, &training, &training.result, error);
        training.seconds = now() - begun;
        erase_progress(&training);
    }
    if (!status)
        status = conclude(cli, &training, error);
    if (training.made_folder && !training.keeps_folder)
        rmdir(training.out);
    fplt_model_destroy(training.model);
    fplt_history_destroy(training.history);
    fplt_engine_destroy(training.engine);
    fplt_job_destroy(training.job);
    fplt_promise_destroy(training.plan);
    fplt_free(training.certificate);
    return status;
}

const cli_command cli_train[] = {
    {.name = "train",
     .summary = "train a model from a file of settings and flags",
     .arguments = "[config.yaml]",
     .about =
         "Trains one model over all agents and writes model.json, convergence.csv and pictures of "
         "the convergence. Without --data it generates the paper's problem: 100 agents, 5 "
         "features, 250 rows each, logistic loss, eps 0.5, Fed-PLT with 5 local epochs. With data "
         "of "
         "one's own, all agents active and nothing random, the default is fed-plt-anderson with "
         "automatic epochs.\n\nEvery "
         "flag below is also a key of the YAML file (rho: 1); flags override the file. A switch "
         "may stand alone or be followed by yes or no. Paths are relative to where the program is "
         "started.\n\nCtrl-C stops "
         "after the round; with --checkpoint the run can then go on with --resume and ends with "
         "the same bits. The parameters of another algorithm: fedplt train --algorithm NAME "
         "--help.",
     .examples = "fedplt train\n"
                 "fedplt train --data hospitals.csv --label b --eps 0.01 --tolerance 1e-12\n"
                 "fedplt train examples/sparse.yaml --epochs 10 --out sparse\n"
                 "fedplt train --solver sgd --batch 16 --epoch pass --rounds 200 --json\n"
                 "fedplt train --rounds 100000 --tolerance 0 --checkpoint run.state\n"
                 "fedplt train --data hospitals.csv --label b --privacy.epsilon 2",
     .most = 1,
     .config = 1,
     .declare = declare,
     .run = run},
    {.name = NULL},
};
