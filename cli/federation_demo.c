/* fedplt federation demo: a coordinator and four agents as processes of their own, on this machine. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "federating.h"
#include "federation_demo.h"
#include "fedplt/generate.h"
#include "fedplt/model.h"
#include "fedplt/read.h"
#include "base/file.h"
#include "data/dataset_access.h"

extern char **environ;

enum { SITES = 4, PROCESSES = SITES + 1 };

static const char *const names[SITES] = {"north", "east", "south", "west"};

const fplt_setting cli_demo_table[] = {
    {"out", FPLT_TEXT, 0, "fedplt-federation", 0, 0, NULL,
     "new folder for everybody's files: the coordinator's and one of each hospital", 0, 0},
    {"rows", FPLT_INTEGER, 0, "200", 10, 1000000, NULL, "patients of a hospital, about", 0, 0},
    {"rounds", FPLT_INTEGER, 0, "200", 1, 1000000, NULL, "at most", 0, 0},
    {"secure", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "secure aggregation: shows what the coordinator receives in a round, and the sum", 0, 0},
    {"algorithm", FPLT_TEXT, 0, "fed-plt", 0, 0, NULL, "any of `fedplt list algorithms`", 0, 0},
    FPLT_SETTINGS_END,
};

struct demo {
    const char *out;
    unsigned port;
    fplt_dataset *all;      /* owned */
    pid_t child[PROCESSES]; /* 0: none */
    FILE *told;             /* what the coordinator says */
    int terminal, drawn;
    char last[512]; /* sentence, so that none is shown twice */
};

static fplt_status save(const char *path, const char *text, fplt_error *error)
{
    return fplt__file_save(path, 0666, text, strlen(text), error);
}

/* Hospitals of unequal size whose patients differ. */
static fplt_status make_data(cli_call *cli, struct demo *demo, fplt_error *error)
{
    fplt_generate_settings wanted = fplt_generate_defaults();
    wanted.agents = SITES;
    wanted.features = 6;
    wanted.rows = (size_t)fplt_settings_integer(cli->settings, "rows");
    wanted.unequal = 0.5;
    wanted.spread = 0.6;
    fplt_status status = fplt_dataset_generate(&wanted, &demo->all, error);
    for (uint32_t i = 0; !status && i < SITES; i++) {
        char path[4096];
        fplt_dataset *own;
        snprintf(path, sizeof path, "%s/%s/patients.csv", demo->out, names[i]);
        if (!(status = fplt__dataset_pick(demo->all, &i, 1, &own, error)))
            status = fplt_dataset_write(own, path, NULL, error);
        fplt_dataset_destroy(own);
    }
    return status;
}

static fplt_status make_coordinator(cli_call *cli, const struct demo *demo, fplt_error *error)
{
    char folder[4096], path[4200], address[64], text[5000];
    snprintf(folder, sizeof folder, "%s/coordinator", demo->out);
    snprintf(path, sizeof path, "%s/federation.yaml", folder);
    snprintf(address, sizeof address, "127.0.0.1:%u", demo->port);
    fplt_status status = fplt_federation_found(folder, "hospitals", address, error);
    if (status)
        return status;
    snprintf(text, sizeof text,
             "federation: hospitals\nlisten: %s\nfolder: \"%s\"\nonce: yes\n"
             "roster: [north, east, south, west]\n"
             "aggregate: %s\ntrain: {algorithm: %s, rounds: %lld}\n",
             address, folder, fplt_settings_switch(cli->settings, "secure") ? "secure" : "plain",
             fplt_settings_text(cli->settings, "algorithm"),
             fplt_settings_integer(cli->settings, "rounds"));
    return save(path, text, error);
}

/* A key that stays at the site, certified by the coordinator's authority. */
static fplt_status make_site(const struct demo *demo, const char *name, fplt_error *error)
{
    char folder[4096], home[4096], path[4200], text[9000];
    char *request = NULL, *certificate = NULL;
    snprintf(home, sizeof home, "%s/coordinator", demo->out);
    snprintf(folder, sizeof folder, "%s/%s", demo->out, name);
    snprintf(path, sizeof path, "%s/agent.pem", folder);
    fplt_status status = fplt_federation_request(folder, name, &request, error);
    if (!status && !(status = fplt_federation_sign(home, request, &certificate, error)))
        status = save(path, certificate, error);
    fplt_free(request);
    fplt_free(certificate);
    if (status)
        return status;
    snprintf(path, sizeof path, "%s/site.yaml", folder);
    snprintf(text, sizeof text,
             "coordinator: https://127.0.0.1:%u\nfolder: \"%s\"\ndata: \"%s/patients.csv\"\n"
             "once: yes\nproxy: off\npolicy:\n  federations: [hospitals]\n  epsilon: off\n"
             "  allow: [facts, measure, score, information]\n",
             demo->port, folder, folder);
    return save(path, text, error);
}

/* Every site makes its identity, and pins those of all: as if they had been sent by mail. */
static fplt_status exchange_identities(const struct demo *demo, fplt_error *error)
{
    char path[4200], line[FPLT_IDENTITY_SIZE], pins[SITES * (FPLT_IDENTITY_SIZE + 2) + 16];
    size_t used = (size_t)snprintf(pins, sizeof pins, "peers:\n");
    fplt_status status = FPLT_OK;
    for (int i = 0; !status && i < SITES; i++) {
        snprintf(path, sizeof path, "%s/%s", demo->out, names[i]);
        if (!(status = fplt_federation_identity(path, line, error)))
            used += (size_t)snprintf(pins + used, sizeof pins - used, "  %s\n", line);
    }
    for (int i = 0; !status && i < SITES; i++) {
        snprintf(path, sizeof path, "%s/%s/site.yaml", demo->out, names[i]);
        FILE *file = fopen(path, "a");
        if (!file || fputs(pins, file) < 0 || fclose(file))
            status =
                fplt_error_set(error, FPLT_IO, "%s: cannot be written: %s", path, strerror(errno));
    }
    return status;
}

static fplt_status make_folders(const struct demo *demo, fplt_error *error)
{
    char path[4096];
    if (mkdir(demo->out, 0777))
        return errno == EEXIST
                   ? fplt_error_set(error, FPLT_BAD_VALUE,
                                    "%s is there already; name a new folder with --out", demo->out)
                   : fplt_error_set(error, FPLT_IO, "%s: cannot make this folder: %s", demo->out,
                                    strerror(errno));
    for (int i = 0; i < SITES; i++) {
        snprintf(path, sizeof path, "%s/%s", demo->out, names[i]);
        mkdir(path, 0777);
    }
    return FPLT_OK;
}

/* Processes */

static fplt_status start(struct demo *demo, int number, const char *command, const char *folder,
                         const char *file, int output, fplt_error *error)
{
    char path[4200], log[4200];
    posix_spawn_file_actions_t actions;
    snprintf(path, sizeof path, "%s/%s/%s", demo->out, folder, file);
    snprintf(log, sizeof log, "%s/%s/log.txt", demo->out, folder);
    const char *words[] = {"fedplt", command, path, "--log", output < 0 ? "text" : "json", NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (output < 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC,
                                         0666);
    else
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int failed = posix_spawn(&demo->child[number], "/proc/self/exe", &actions, NULL, (char **)words,
                             environ);
    posix_spawn_file_actions_destroy(&actions);
    if (!failed)
        return FPLT_OK;
    demo->child[number] = 0;
    return fplt_error_set(error, FPLT_IO, "a process cannot be started: %s", strerror(failed));
}

static fplt_status start_all(struct demo *demo, fplt_error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return fplt_error_set(error, FPLT_IO, "no pipe: %s", strerror(errno));
    demo->told = fdopen(ends[0], "r");
    fplt_status status =
        start(demo, 0, "coordinator", "coordinator", "federation.yaml", ends[1], error);
    close(ends[1]);
    for (int i = 0; !status && i < SITES; i++)
        status = start(demo, i + 1, "agent", names[i], "site.yaml", -1, error);
    return status;
}

/* Stops the processes that still run. Returns whether all ended well. */
static int finish(struct demo *demo, int stop)
{
    int good = 1;
    for (int i = 0; i < PROCESSES; i++)
        if (demo->child[i] && stop)
            kill(demo->child[i], SIGTERM);
    for (int i = 0; i < PROCESSES; i++) {
        int state = 0;
        while (demo->child[i] && waitpid(demo->child[i], &state, 0) < 0 && errno == EINTR)
            ;
        good &= state == 0;
        demo->child[i] = 0;
    }
    return good;
}

/* What the coordinator tells */

static void show(struct demo *demo, const json_t *event)
{
    const char *word = json_string_value(json_object_get(event, "event"));
    const char *sentence = json_string_value(json_object_get(event, "sentence"));
    const char *who = json_string_value(json_object_get(event, "agent"));
    if (!word || !sentence)
        return;
    int often =
        strcmp(word, "closed") == 0 || strcmp(word, "joined") == 0 || strcmp(word, "measured") == 0;
    if ((often && !demo->terminal) || (!who && strcmp(sentence, demo->last) == 0))
        return;
    snprintf(demo->last, sizeof demo->last, "%s", sentence);
    if (demo->drawn)
        fputs("\r\x1b[K", stdout);
    printf("%s%s%s", who ? who : "", who ? ": " : "", sentence);
    demo->drawn = often;
    if (!often)
        puts("");
    fflush(stdout);
}

static void listen_to(struct demo *demo)
{
    char line[4096];
    while (fgets(line, sizeof line, demo->told) && !cli_interrupted()) {
        json_t *event = json_loads(line, 0, NULL);
        show(demo, event);
        json_decref(event);
    }
    if (demo->drawn)
        fputs("\r\x1b[K", stdout);
}

static fplt_status conclude(const struct demo *demo, fplt_error *error)
{
    char path[4200];
    fplt_model *model;
    fplt_quality all;
    snprintf(path, sizeof path, "%s/coordinator/out/model.json", demo->out);
    fplt_status status = fplt_model_read(path, &model, error);
    if (status)
        return status;
    if (!(status = fplt_model_evaluate(model, demo->all, NULL, &all, error)))
        printf("\none model of %d hospitals, whose %zu patients never left them: accuracy %.1f %%, "
               "AUC %.3f\n%s\n%s/coordinator/out/report.html, a page about it\n\neverybody's files "
               "are in %s; a hospital's folder holds its key, state and copy of the model\n",
               SITES, all.rows, 100 * all.accuracy, all.auc, path, demo->out, demo->out);
    fplt_model_destroy(model);
    return status;
}

static fplt_status prepare(cli_call *cli, struct demo *demo, fplt_error *error)
{
    fplt_status status;
    if ((status = fplt_federation_port(&demo->port, error)) ||
        (status = make_folders(demo, error)) || (status = make_data(cli, demo, error)) ||
        (status = make_coordinator(cli, demo, error)))
        return status;
    for (int i = 0; !status && i < SITES; i++)
        status = make_site(demo, names[i], error);
    if (!status && fplt_settings_switch(cli->settings, "secure"))
        status = exchange_identities(demo, error);
    return status;
}

fplt_status cli_federation_demo(cli_call *cli, fplt_error *error)
{
    struct demo demo = {.out = fplt_settings_text(cli->settings, "out"),
                        .terminal = isatty(STDOUT_FILENO)};
    cli_catch_signals();
    fplt_status status = prepare(cli, &demo, error);
    cli->running = 1;
    if (!status && !cli_interrupted() && !(status = start_all(&demo, error)))
        listen_to(&demo);
    int good = finish(&demo, status != FPLT_OK || cli_interrupted());
    if (demo.told)
        fclose(demo.told);
    if (cli_interrupted()) {
        cli_warn("interrupted; everybody has stopped, and their files are in %s", demo.out);
        cli->exit_status = 130;
    } else if (!status && !good) {
        status = fplt_error_set(error, FPLT_FAILED,
                                "the federation did not end well: see log.txt in the folders of %s",
                                demo.out);
    } else if (!status) {
        status = conclude(&demo, error);
    }
    fplt_dataset_destroy(demo.all);
    return status;
}
