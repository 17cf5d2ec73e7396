/* What the library does to the process around it: nothing that lasts. Training, and a coordinator with an agent in threads of
 * this process, leave signals, masks, limits, locale, environment, folder and CPU affinity as they were; while they run,
 * dispositions and limits are the caller's too. If the caller forks in a callback, the agent goes on in the parent only. */
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

#include "fedplt.h"
#include "fedplt/config.h"
#include "fedplt/federation.h"
#include "fedplt/generate.h"
#include "fedplt/memory.h"
#include "fedplt/read.h"
#include "http/broken_pipe.h"

enum { SIGNALS = 64 };

typedef struct process {
    void *handlers[SIGNALS + 1];
    int flags[SIGNALS + 1], blocked[SIGNALS + 1];
    struct rlimit limits[RLIMIT_NLIMITS];
    mode_t mask;
    int dumpable;
    char locale[128], folder[4096];
    cpu_set_t cores;
} process;

extern char **environ;

/* umask() can only be read by changing it, which the other thread of a federation would see. */
static mode_t file_mask(void)
{
    char line[256];
    unsigned mask = 0;
    int found = 0;
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (!found && fgets(line, sizeof line, status))
        found = sscanf(line, "Umask: %o", &mask) == 1;
    assert_int_equal(fclose(status), 0);
    assert_true(found);
    return (mode_t)mask;
}

static process look(void)
{
    process seen;
    sigset_t blocked;
    memset(&seen, 0, sizeof seen);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
    for (int i = 1; i <= SIGNALS; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action))
            continue; /* 32 and 33 belong to the C library */
        seen.handlers[i] = (void *)(uintptr_t)action.sa_handler;
        seen.flags[i] = action.sa_flags;
        seen.blocked[i] = sigismember(&blocked, i);
    }
    for (int i = 0; i < RLIMIT_NLIMITS; i++)
        getrlimit((__rlimit_resource_t)i, &seen.limits[i]);
    seen.mask = file_mask();
    seen.dumpable = prctl(PR_GET_DUMPABLE);
    snprintf(seen.locale, sizeof seen.locale, "%s", setlocale(LC_ALL, NULL));
    assert_non_null(getcwd(seen.folder, sizeof seen.folder));
    sched_getaffinity(0, sizeof seen.cores, &seen.cores);
    return seen;
}

/* Dispositions of signals and limits: what other threads of the process would notice. */
static int is_same_outside(const process *a, const process *b)
{
    int same = a->dumpable == b->dumpable && a->mask == b->mask;
    for (int i = 1; i <= SIGNALS; i++)
        same = same && a->handlers[i] == b->handlers[i] && a->flags[i] == b->flags[i];
    for (int i = 0; i < RLIMIT_NLIMITS; i++)
        same = same && a->limits[i].rlim_cur == b->limits[i].rlim_cur &&
               a->limits[i].rlim_max == b->limits[i].rlim_max;
    return same;
}

static void assert_same(const process *a, const process *b)
{
    for (int i = 1; i <= SIGNALS; i++)
        if (a->handlers[i] != b->handlers[i] || a->flags[i] != b->flags[i] ||
            a->blocked[i] != b->blocked[i])
            fail_msg("signal %d: disposition, flags or mask changed", i);
    for (int i = 0; i < RLIMIT_NLIMITS; i++)
        if (a->limits[i].rlim_cur != b->limits[i].rlim_cur ||
            a->limits[i].rlim_max != b->limits[i].rlim_max)
            fail_msg("limit %d changed", i);
    assert_int_equal(a->mask, b->mask);
    assert_int_equal(a->dumpable, b->dumpable);
    assert_string_equal(a->locale, b->locale);
    assert_string_equal(a->folder, b->folder);
    assert_true(CPU_EQUAL(&a->cores, &b->cores));
}

/* The environment as one text. */
static char *environment(void)
{
    size_t size = 1;
    for (char **each = environ; *each; each++)
        size += strlen(*each) + 1;
    char *text = (char *)calloc(size, 1);
    for (char **each = environ; *each; each++)
        strcat(strcat(text, *each), "\n");
    return text;
}

static void training_changes_nothing(void **state)
{
    (void)state;
    fplt_error error;
    fplt_settings *settings;
    fplt_trainer *trainer;
    fplt_model *model;
    char *variables = environment();
    process before = look();
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_trainer_declare(settings, 0, NULL, NULL, &error), error);
    assert_ok(fplt_settings_set_integer(settings, "rows", 20, "test", &error), error);
    assert_ok(fplt_settings_set_integer(settings, "agents", 4, "test", &error), error);
    assert_ok(fplt_settings_set_integer(settings, "threads", 3, "test", &error), error);
    assert_ok(fplt_trainer_create(settings, NULL, &trainer, &error), error);
    process meanwhile = look();
    assert_same(&before, &meanwhile);
    assert_ok(fplt_trainer_run(trainer, NULL, NULL, NULL, &error), error);
    assert_ok(fplt_trainer_model(trainer, &model, &error), error);
    fplt_model_destroy(model);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    process after = look();
    assert_same(&before, &after);
    char *now = environment();
    assert_string_equal(variables, now);
    free(variables);
    free(now);
}

/* ---- a federation in threads of this process ---- */

struct side {
    char file[600];
    int agent;
    const process *before;
    int asked, differed; /* of the callback */
    int forks, copied;   /* it forks; 1: the copy ended as it should */
    fplt_status status;
    fplt_error error;
    fplt_federation_outcome outcome;
    process around[2]; /* of the thread, before and after */
};

static int stop(void *context)
{
    struct side *side = context;
    process now = look();
    side->asked++;
    side->differed |= !is_same_outside(side->before, &now);
    if (side->forks && !side->copied) {
        int code = 1;
        pid_t child = fork();
        if (child == 0)
            side->copied = -1;
        else if (child > 0 && waitpid(child, &code, 0) == child)
            side->copied = WIFEXITED(code) && WEXITSTATUS(code) == 0 ? 1 : 2;
    }
    return 0;
}

static fplt_status load(struct side *side, fplt_settings **settings)
{
    fplt_config *config = NULL;
    fplt_status status = fplt_settings_create(settings, &side->error);
    if (!status)
        status = side->agent ? fplt_federation_site_declare(*settings, &side->error)
                             : fplt_settings_add(*settings, "federation",
                                                 fplt_federation_lead_table, &side->error);
    if (!status && !(status = fplt_config_load(side->file, &config, &side->error)))
        status = fplt_config_apply(config, *settings, &side->error);
    fplt_config_destroy(config);
    return status;
}

static void *run_side(void *context)
{
    struct side *side = context;
    fplt_settings *settings = NULL;
    fplt_federation_watch watch = {.size = sizeof watch, .context = side, .stop = stop};
    side->around[0] = look();
    if (!(side->status = load(side, &settings)))
        side->status =
            side->agent ? fplt_federation_take_part(settings, &watch, &side->outcome, &side->error)
                        : fplt_federation_lead(settings, &watch, &side->outcome, &side->error);
    if (side->copied < 0)
        _exit(side->status == FPLT_FAILED && strstr(side->error.text, "child of a fork") ? 0 : 1);
    side->around[1] = look();
    fplt_settings_destroy(settings);
    return NULL;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        fail_msg("%s cannot be written", path);
}

static void make_sites(const char *folder, struct side sides[2])
{
    fplt_error error;
    fplt_dataset *rows;
    char text[2000], place[600], *request, *certificate;
    unsigned port;
    fplt_generate_settings wanted = fplt_generate_defaults();
    wanted.agents = 1;
    wanted.rows = 40;
    assert_ok(fplt_federation_port(&port, &error), error);
    snprintf(place, sizeof place, "%s/heart", folder);
    snprintf(text, sizeof text, "127.0.0.1:%u", port);
    assert_ok(fplt_federation_found(place, "heart", text, &error), error);
    snprintf(sides[0].file, sizeof sides[0].file, "%s/heart/federation.yaml", folder);
    snprintf(text, sizeof text,
             "federation: heart\nlisten: 127.0.0.1:%u\nfolder: %s/heart\nonce: yes\n"
             "roster: [basel]\ntrain: {rounds: 3, algorithm: fed-plt}\n",
             port, folder);
    write_text(sides[0].file, text);
    snprintf(place, sizeof place, "%s/basel", folder);
    assert_int_equal(mkdir(place, 0700), 0);
    assert_ok(fplt_federation_request(place, "basel", &request, &error), error);
    snprintf(place, sizeof place, "%s/heart", folder);
    assert_ok(fplt_federation_sign(place, request, &certificate, &error), error);
    snprintf(place, sizeof place, "%s/basel/agent.pem", folder);
    write_text(place, certificate);
    fplt_free(request);
    fplt_free(certificate);
    snprintf(place, sizeof place, "%s/basel/rows.csv", folder);
    assert_ok(fplt_dataset_generate(&wanted, &rows, &error), error);
    assert_ok(fplt_dataset_write(rows, place, NULL, &error), error);
    fplt_dataset_destroy(rows);
    snprintf(sides[1].file, sizeof sides[1].file, "%s/basel/site.yaml", folder);
    snprintf(
        text, sizeof text,
        "coordinator: https://127.0.0.1:%u\nfolder: %s/basel\ndata: %s\nonce: yes\nproxy: off\n"
        "policy:\n  federations: [heart]\n  epsilon: off\n  participants: 1\n"
        "  disclosure: off\n  allow: [facts, measure, score, information]\n",
        port, folder, place);
    write_text(sides[1].file, text);
    sides[1].agent = 1;
}

static void a_federation_changes_nothing(void **state)
{
    (void)state;
    static struct side sides[2];
    char folder[300], command[400];
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/fedplt-process-XXXXXX", place ? place : "/tmp");
    assert_non_null(mkdtemp(folder));
    make_sites(folder, sides);
    char *variables = environment();
    struct rlimit few; /* fewer descriptors than a coordinator would like, and room to raise them */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &few), 0);
    few.rlim_cur = few.rlim_cur < 256 ? few.rlim_cur : 256;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_ptr_equal(signal(SIGPIPE, SIG_DFL), SIG_DFL);
    process before = look();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        sides[i].before = &before;
        sides[i].forks = sides[i].agent;
        assert_int_equal(pthread_create(&threads[i], NULL, run_side, &sides[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        if (sides[i].status)
            fail_msg("%s: %s", sides[i].file, sides[i].error.text);
        assert_int_equal(sides[i].outcome.rounds, 3);
        assert_true(sides[i].asked > 0);
        assert_false(sides[i].differed);
        assert_same(&sides[i].around[0], &sides[i].around[1]);
    }
    assert_int_equal(sides[1].copied, 1); /* the parent has finished its run, the child has ended */
    process after = look();
    assert_same(&before, &after);
    char *now = environment();
    assert_string_equal(variables, now);
    free(variables);
    free(now);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* A write to a pipe that nobody reads neither ends the process nor leaves a signal behind; one that was pending before
 * stays. */
static void a_broken_pipe_is_no_signal(void **state)
{
    (void)state;
    sigset_t pending, set, own;
    int ends[2];
    process before = look();
    for (int was = 0; was < 2; was++) {
        sigemptyset(&set);
        sigaddset(&set, SIGPIPE);
        if (was) {
            pthread_sigmask(SIG_BLOCK, &set, &own);
            assert_int_equal(pthread_kill(pthread_self(), SIGPIPE), 0);
        }
        fplt__broken_pipe blocked = fplt__broken_pipe_block();
        assert_int_equal(pipe(ends), 0);
        close(ends[0]);
        assert_int_equal(write(ends[1], "x", 1), -1);
        close(ends[1]);
        assert_int_equal(sigpending(&pending), 0);
        assert_int_equal(sigismember(&pending, SIGPIPE), 1);
        fplt__broken_pipe_restore(&blocked);
        assert_int_equal(sigpending(&pending), 0);
        assert_int_equal(sigismember(&pending, SIGPIPE), was);
        if (was) {
            int found;
            assert_int_equal(sigwait(&set, &found), 0);
            pthread_sigmask(SIG_SETMASK, &own, NULL);
        }
    }
    process after = look();
    assert_same(&before, &after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_changes_nothing),
        cmocka_unit_test(a_federation_changes_nothing),
        cmocka_unit_test(a_broken_pipe_is_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
