/* fedplt train: one job from settings to a model, its history and a summary. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "train.h"
#include "base/file.h"
#include "engine/engine_access.h"
#include "prox/prox_access.h"
#include "report/model_access.h"
#include "report/report.h"
#include "trainer/trainer.h"

static const fplt_setting output_table[] = {
    {"out", FPLT_TEXT, 0, "fedplt-out", 0, 0, NULL, "folder for the files", 0, 0},
    {"pictures", FPLT_SWITCH, 0, "yes", 0, 0, NULL,
     "draw convergence.svg and convergence.png; if not given, they are drawn with --out or on a "
     "terminal",
     0, 0, /* with a promise nothing is measured that could be drawn */
     .needs = "!privacy.epsilon,privacy.diagnose=yes,pictures=no;"
              "!privacy.tau,privacy.diagnose=yes,pictures=no"},
    {"agents-models", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "write agents.csv: every agent's own model x_i", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document instead of the summary", 0,
     0, .needs = "quiet=no"},
    {"quiet", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print nothing", 0, 0},
    {"strict", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "exit with status 1 where the rounds ran out before the tolerance was met", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = cli_declare_trainer(cli, settings, error);
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
    size_t length = fplt__meter_line(&training->meter, progress, now(), line, sizeof line);
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
    draw_progress(context, progress);
    return cli_interrupted();
}

static void prepare_meter(struct training *training)
{
    struct winsize size;
    const fplt_run_settings *run = &training->view->run;
    training->shows_progress = isatty(STDERR_FILENO) && !training->quiet;
    training->meter = (fplt__meter){
        .rounds = run->rounds, .tolerance = run->tolerance, .relative = run->relative};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        training->meter.width = size.ws_col;
}

/* What a run may write, also one from before there were manifests. */
static const char *const run_files[] = {
    "model.json",  "privacy.json",    "convergence.csv", "held_out.json", "held_out.csv",
    "report.html", "convergence.svg", "convergence.png", "agents.csv",    NULL};

/* Files that the command reads and would write over. Paths in the folder count as well. */
static fplt_status protect(const cli_call *cli, const struct training *training, fplt_error *error)
{
    const char *checkpoint = fplt_settings_text(cli->settings, "checkpoint");
    fplt_status status = checkpoint ? cli_protect(cli, checkpoint, error) : FPLT_OK;
    for (size_t i = 0; run_files[i] && !status; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", training->out, run_files[i]);
        status = cli_protect(cli, path, error);
    }
    return status;
}

/* Before it runs */

/* The folder, and those above it. Remembers whether the last one is new. */
static fplt_status make_folder(const char *path, int *is_new, fplt_error *error)
{
    struct stat found;
    char *copy = strdup(path);
    if (!copy)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a path");
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(copy, 0777);
        *slash = '/';
    }
    free(copy);
    *is_new = mkdir(path, 0777) == 0;
    if (*is_new)
        return FPLT_OK;
    int problem = errno;
    if (stat(path, &found) == 0 && !S_ISDIR(found.st_mode))
        problem = ENOTDIR;
    else if (problem == EEXIST)
        problem = access(path, W_OK) ? errno : 0;
    if (problem == ENOTDIR || (problem == ENOENT && *path))
        return fplt_error_set(error, FPLT_IO, "%s: %s; name a folder that can be made with --out",
                              path,
                              problem == ENOTDIR ? "this is a file, or a part of the path is one"
                                                 : "no folder can be made in this place");
    return problem ? fplt_error_set(error, FPLT_IO,
                                    "%s: cannot write into this folder: %s; choose another one "
                                    "with --out",
                                    path, strerror(problem))
                   : FPLT_OK;
}

/* The rows of an earlier part of a resumed run, where they are still beside the checkpoint. */
static void recall(const cli_call *cli, struct training *training)
{
    char path[4096];
    fplt_error error = {FPLT_OK, ""};
    const char *resume = fplt_settings_text(cli->settings, "resume");
    if (!resume)
        return;
    snprintf(path, sizeof path, "%s.csv", resume);
    if (access(path, F_OK) == 0 && fplt__trainer_recall(training->trainer, path, &error))
        cli_warn("the convergence before round %llu is not shown: %s",
                 (unsigned long long)fplt_engine_counters(training->engine)->rounds, error.text);
}

static fplt_status prepare(cli_call *cli, struct training *training, fplt_error *error)
{
    fplt_settings *settings = cli->settings;
    training->out = fplt_settings_text(settings, "out");
    training->json = fplt_settings_switch(settings, "json");
    training->quiet = fplt_settings_switch(settings, "quiet");
    const fplt_job_source source = {.ranks = cli->ranks};
    fplt_status status = protect(cli, training, error);
    if (!status)
        status = fplt_trainer_create(settings, &source, &training->trainer, error);
    if (status || !cli_leads(cli))
        return status;
    training->view = fplt_trainer_job(training->trainer);
    training->engine = fplt_trainer_engine(training->trainer);
    training->promise = fplt_trainer_promise(training->trainer);
    training->history = fplt_trainer_history(training->trainer);
    if ((status = make_folder(training->out, &training->made_folder, error)))
        return status;
    recall(cli, training);
    return FPLT_OK;
}

/* After it ran */

static fplt_status write_history(const struct training *training, const char *path,
                                 fplt_error *error)
{
    char *text;
    fplt_status status = fplt__history_csv(training->history, &text, error);
    if (status)
        return status;
    status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt_free(text);
    return status;
}

/* The program that draws takes longer than a small run. */
static int wants_pictures(const cli_call *cli)
{
    if (fplt_settings_given(cli->settings, "pictures"))
        return fplt_settings_switch(cli->settings, "pictures");
    return fplt_settings_given(cli->settings, "out") || isatty(STDOUT_FILENO);
}

/* A picture that cannot be drawn is no reason to lose a model; a full disc is. */
static fplt_status draw_history(cli_call *cli, struct training *training, fplt_error *error)
{
    static const char *const kinds[] = {"svg", "png"};
    const fplt_run_settings *run = &training->view->run;
    double target = training->result.target;
    const char *label =
        fplt__prox_is_zero(training->view->prox) ? NULL : "squared norm of the proximal gradient";
    if (!wants_pictures(cli) || training->result.outcome == FPLT_STOPPED ||
        !training->result.counters.rounds) /* a point is no curve */
        return FPLT_OK;
    for (size_t i = 0; i < 2; i++) {
        char path[4096], title[256];
        uint32_t agents = fplt_objective_agents(training->view->objective);
        snprintf(path, sizeof path, "%s/convergence.%s", training->into, kinds[i]);
        snprintf(title, sizeof title, "%s, %s, %u agent%s", run->algorithm->title,
                 run->training.solver->name, agents, cli_plural(agents));
        fplt_status status =
            fplt__history_plot(training->history, title, label, target, path, error);
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
        fplt__table_number(table, x[j], 17);
}

struct listing {
    const struct training *training;
    fplt_table *table;
    size_t vector;
};

static fplt_status list_agent(void *context, uint32_t agent, const double *kept)
{
    const struct listing *listing = context;
    const struct training *training = listing->training;
    size_t n = fplt_objective_dimension(training->view->objective);
    fplt__table_whole(listing->table, agent);
    fplt__table_text(listing->table, fplt_dataset_agent_name(training->view->training, agent));
    fplt__table_whole(listing->table, (long long)fplt__engine_updates(training->engine, agent));
    add_vector(listing->table, kept + listing->vector * n, n);
    return FPLT_OK;
}

static fplt_status write_agents(cli_call *cli, struct training *training, fplt_error *error)
{
    int vector = fplt__engine_shape(training->engine).local_model;
    size_t n = fplt_objective_dimension(training->view->objective);
    if (!fplt_settings_switch(cli->settings, "agents-models"))
        return FPLT_OK;
    if (vector < 0) {
        cli_warn("agents.csv: not written, because agents of %s keep no model of their own",
                 training->view->run.algorithm->name);
        return FPLT_OK;
    }
    const char **columns;
    char(*names)[24];
    struct listing listing = {training, NULL, (size_t)vector};
    fplt_status status =
        cli_alloc(&columns, n + 3, sizeof *columns + sizeof *names, "the columns", error);
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
    if (!(status = fplt__table_create(columns, n + 3, &listing.table, error)) &&
        !(status = fplt__engine_visit(training->engine, list_agent, &listing, error)))
        status = cli_save_table(training->into, "agents.csv", listing.table, error);
    training->agents_written = !status;
    fplt_table_destroy(listing.table);
    free(columns);
    return status;
}

static fplt_status write_measures(cli_call *cli, struct training *training, fplt_error *error)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/convergence.csv", training->into);
    if (training->view->run.blind)
        return FPLT_OK;
    fplt_status status = write_history(training, path, error);
    return status ? status : draw_history(cli, training, error);
}

static fplt_status write_files(cli_call *cli, struct training *training, fplt_error *error)
{
    char path[4096];
    fplt_status status;
    snprintf(path, sizeof path, "%s/model.json", training->into);
    if (training->promise && (status = train_certify(training, error)))
        return status;
    if ((status = fplt_trainer_model(training->trainer, &training->model, error)) ||
        (status = fplt__pooling_record(training->view, training->model, error)) ||
        (status = write_measures(cli, training, error)) ||
        (status = train_assess(training, error)) || (status = write_agents(cli, training, error)))
        return status;
    return fplt_model_write(training->model, path, error);
}

/* The files of a run appear together, and those of the run before go. */
static fplt_status write_all(cli_call *cli, struct training *training, fplt_error *error)
{
    fplt__folder *folder;
    fplt_status status = fplt__folder_begin(training->out, run_files, &folder, error);
    if (status)
        return status;
    training->into = fplt__folder_place(folder);
    if ((status = write_files(cli, training, error))) {
        fplt__folder_abort(folder);
        return status;
    }
    return fplt__folder_commit(folder, error);
}

/* What was learned so far is kept, without pictures: a user who interrupts does not want to wait. */
static fplt_status stop_here(cli_call *cli, struct training *training, fplt_error *error)
{
    cli_text told = {NULL, 0, NULL};
    unsigned long long round = fplt_engine_counters(training->engine)->rounds;
    const char *checkpoint = fplt_settings_text(cli->settings, "checkpoint");
    fplt_status status = round ? write_all(cli, training, error) : FPLT_OK;
    if (status)
        return status;
    training->keeps_folder = round > 0;
    cli->exit_status = 130;
    cli_text_add(&told, round ? "the model so far is in " : "there is no model yet");
    cli_text_add(&told, round ? training->out : "");
    if (checkpoint) {
        cli_text_format(&told, ", and %s keeps the state, go on with:\n  ", checkpoint);
        cli_again(cli, NULL, (const char *const[]){"resume", NULL}, &told);
        cli_text_add(&told, " --resume ");
        cli_quote(&told, checkpoint);
    }
    cli_warn("interrupted after round %llu; %s", round, told.text ? told.text : "");
    cli_text_clear(&told);
    return training->json && !training->quiet ? train_print_json(training, error) : FPLT_OK;
}

/* Nothing is kept but the document that says so. */
static fplt_status give_up(const struct training *training, fplt_error *error)
{
    fplt_status status =
        training->json && !training->quiet ? train_print_json(training, error) : FPLT_OK;
    return status ? status : fplt_error_set(error, FPLT_DIVERGED, "%s", training->result.sentence);
}

static fplt_status conclude(cli_call *cli, struct training *training, fplt_error *error)
{
    fplt_status status;
    if (training->result.outcome == FPLT_STOPPED)
        return stop_here(cli, training, error);
    if (training->result.outcome == FPLT_RUN_DIVERGED)
        return give_up(training, error);
    if ((status = write_all(cli, training, error)))
        return status;
    training->keeps_folder = 1;
    if (!training->view->run.rounds && !training->quiet)
        cli_warn("rounds is 0: nothing was trained, the model is the starting point; leave rounds "
                 "out to train until the tolerance is met");
    if (fplt_settings_switch(cli->settings, "strict") && training->result.target > 0 &&
        training->result.outcome == FPLT_ROUNDS_DONE) {
        cli->exit_status = 1;
        cli_warn("not converged: the criterion is %.3g after %llu rounds, asked for %.3g",
                 training->result.end.criterion,
                 (unsigned long long)training->result.counters.rounds, training->result.target);
    }
    if (training->quiet)
        return FPLT_OK;
    return training->json ? train_print_json(training, error) : train_print(cli, training, error);
}

static fplt_status run_train(cli_call *cli, fplt_error *error)
{
    struct training training = {.trainer = NULL};
    fplt_status status = prepare(cli, &training, error);
    if (!status && !cli_leads(cli)) {
        cli_ignore_signals();
        status = fplt_trainer_run(training.trainer, NULL, NULL, NULL, error);
    } else if (!status) {
        cli->running = 1;
        cli_catch_signals();
        prepare_meter(&training);
        double begun = now();
        status = fplt_trainer_run(training.trainer, observe, &training, &training.result, error);
        training.seconds = now() - begun;
        cli_signals_done();
        erase_progress(&training);
    }
    if (!status && cli_leads(cli))
        status = conclude(cli, &training, error);
    if (training.made_folder && !training.keeps_folder)
        rmdir(training.out);
    fplt_model_destroy(training.model);
    fplt_assessment_clear(&training.held_out);
    free(training.held_out_each);
    fplt_trainer_destroy(training.trainer);
    return status;
}

const cli_command cli_train[] = {
    {.name = "train",
     .summary = "train a model from a file of settings and flags",
     .arguments = "[config.yaml]",
     .about =
         "Trains one model over all agents and writes model.json, convergence.csv and pictures of "
         "the convergence. Without --data it generates the paper's problem: 100 agents, 5 "
         "features, 250 rows each, logistic loss, eps 0.5, Fed-PLT with 5 local epochs. With your "
         "own data and nothing random the default is algorithm auto: fed-newton for small models, "
         "fed-lbfgs for large ones, and Fed-PLT where local training was asked for.\n\nEvery "
         "flag below is also a key of the YAML file (rho: 1); flags override the file. A switch "
         "may stand alone or be followed by yes or no. A flag with a list may be repeated (--data "
         "a.csv --data b.csv): its values add up and together replace the file's list. A setting "
         "that has no effect in combination is rejected; one of the file that a flag overrides is "
         "ignored. Paths are relative to where the program is "
         "started.\n\nCtrl-C stops "
         "after the round and keeps the model so far; with --checkpoint the run can then go on "
         "with "
         "--resume and ends with the same bits. The parameters of another algorithm: fedplt train "
         "--algorithm NAME "
         "--help.",
     .examples =
         "fedplt train\n"
         "fedplt train --data hospitals.csv --eps 0.01 --tolerance 1e-12\n"
         "fedplt train examples/sparse.yaml --epochs 10 --out sparse\n"
         "fedplt train --solver sgd --batch 16 --epoch pass --rounds 200 --json\n"
         "fedplt train --rounds 100000 --tolerance 0 --checkpoint run.state\n"
         "fedplt train --data hospitals.csv --schema hospitals.schema.yaml --privacy.epsilon 2",
     .most = 1,
     .config = 1,
     .spreads = 1,
     .declare = declare,
     .run = run_train},
    {.name = NULL},
};
