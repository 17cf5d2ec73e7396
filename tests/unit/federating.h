/* A federation in threads of this process: a coordinator and a few sites on loopback, in a folder of its own. */
#ifndef FPLT_TESTS_FEDERATING_H
#define FPLT_TESTS_FEDERATING_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "testing.h"

#include "fedplt/config.h"
#include "fedplt/federation.h"
#include "fedplt/memory.h"

enum { FEDERATING_MAX = 4, FEDERATING_LOG = 1 << 16 };

struct federating;

/* The coordinator (number 0) or the agent of a site. */
struct federating_side {
    struct federating *all;
    size_t number;
    char name[16], folder[400], file[500];
    char log[FEDERATING_LOG]; /* `WORD: SENTENCE` a line */
    size_t logged;
    fplt_status status;
    fplt_error error;
    fplt_federation_outcome outcome;
    const fplt_federation_cost *cost; /* that the agent brings; NULL: none */
};

struct federating {
    char folder[300];
    pthread_mutex_t logging;
    pthread_cond_t told; /* something was logged, or a side has ended */
    unsigned port;
    size_t sites;
    struct federating_side side[1 + FEDERATING_MAX];
    atomic_int failed;    /* a side failed: the others stop */
    atomic_int over;      /* the agents have finished: the coordinator stops */
    atomic_int reload;    /* the coordinator is to read federation.yaml again, once */
    fplt_settings *again; /* as it was read then; owned */
    pthread_t leading;    /* of federating_begin */
    /* Called when all agents have finished, while the coordinator still runs; or NULL. */
    void (*afterwards)(struct federating *all);
};

static inline void federating_write(const char *folder, const char *name, const char *format, ...)
{
    char path[700];
    va_list arguments;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    va_start(arguments, format);
    if (!file || vfprintf(file, format, arguments) < 0 || fclose(file))
        fail_msg("%s cannot be written", path);
    va_end(arguments);
}

/* The text of a file, to be released with free(); NULL: there is none. */
static inline char *federating_read(const char *folder, const char *name)
{
    char path[700], *text = (char *)calloc(1, 1 << 20);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file || !text) {
        free(text);
        return NULL;
    }
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    text[size] = 0;
    fclose(file);
    return text;
}

/* Folders, keys and certificates of a coordinator and of the sites s1, s2, ... */
static inline void federating_found(struct federating *all, size_t sites)
{
    const char *place = getenv("TMPDIR");
    char address[64], *request, *certificate;
    fplt_error error;
    memset(all, 0, sizeof *all);
    pthread_mutex_init(&all->logging, NULL);
    pthread_cond_init(&all->told, NULL);
    all->sites = sites;
    snprintf(all->folder, sizeof all->folder, "%s/fedplt-federation-XXXXXX",
             place ? place : "/tmp");
    assert_non_null(mkdtemp(all->folder));
    assert_ok(fplt_federation_port(&all->port, &error), error);
    for (size_t i = 0; i <= sites; i++) {
        struct federating_side *side = &all->side[i];
        side->all = all;
        side->number = i;
        snprintf(side->name, sizeof side->name, i ? "s%zu" : "heart", i);
        snprintf(side->folder, sizeof side->folder, "%.299s/%.15s", all->folder, side->name);
        snprintf(side->file, sizeof side->file, "%.399s/%s", side->folder,
                 i ? "site.yaml" : "federation.yaml");
        if (i == 0) {
            snprintf(address, sizeof address, "127.0.0.1:%u", all->port);
            assert_ok(fplt_federation_found(side->folder, "heart", address, &error), error);
            continue;
        }
        assert_int_equal(mkdir(side->folder, 0700), 0);
        assert_ok(fplt_federation_request(side->folder, side->name, &request, &error), error);
        assert_ok(fplt_federation_sign(all->side[0].folder, request, &certificate, &error), error);
        federating_write(side->folder, "agent.pem", "%s", certificate);
        fplt_free(request);
        fplt_free(certificate);
    }
}

/* federation.yaml with lines of the test's own. */
static inline void federating_lead(struct federating *all, const char *lines)
{
    char roster[100] = "";
    for (size_t i = 1; i <= all->sites; i++)
        snprintf(roster + strlen(roster), sizeof roster - strlen(roster), "%s%s", i > 1 ? ", " : "",
                 all->side[i].name);
    federating_write(all->side[0].folder, "federation.yaml",
                     "federation: heart\nlisten: 127.0.0.1:%u\nfolder: %s\n"
                     "roster: [%s]\n%s",
                     all->port, all->side[0].folder, roster, lines);
}

/* site.yaml of a site whose rows are in rows.csv of its folder. */
static inline void federating_join(struct federating *all, size_t site, const char *lines)
{
    federating_write(all->side[site].folder, "site.yaml",
                     "coordinator: https://127.0.0.1:%u\nfolder: %s\ndata: %s/rows.csv\n"
                     "once: yes\nproxy: off\n%s",
                     all->port, all->side[site].folder, all->side[site].folder, lines);
}

static inline fplt_status federating_load(struct federating_side *side, fplt_settings **settings)
{
    fplt_config *config = NULL;
    fplt_status status = fplt_settings_create(settings, &side->error);
    if (!status)
        status = side->number ? fplt_federation_site_declare(*settings, &side->error)
                              : fplt_settings_add(*settings, "federation",
                                                  fplt_federation_lead_table, &side->error);
    if (!status && !(status = fplt_config_load(side->file, &config, &side->error)))
        status = fplt_config_apply(config, *settings, &side->error);
    fplt_config_destroy(config);
    return status;
}

static inline void federating_tell(void *context, const fplt_federation_event *event)
{
    struct federating_side *side = context;
    size_t left = sizeof side->log - side->logged;
    pthread_mutex_lock(&side->all->logging);
    int used = snprintf(side->log + side->logged, left, "%s: %s\n", event->word, event->sentence);
    side->logged += used > 0 && (size_t)used < left ? (size_t)used : 0;
    pthread_cond_broadcast(&side->all->told);
    pthread_mutex_unlock(&side->all->logging);
}

/* The port of the coordinator's page, while it runs. */
static inline unsigned federating_page(struct federating *all)
{
    unsigned port = 0;
    pthread_mutex_lock(&all->logging);
    const char *said = strstr(all->side[0].log, "live page http://127.0.0.1:");
    if (!said || sscanf(said, "live page http://127.0.0.1:%u", &port) != 1)
        port = 0;
    pthread_mutex_unlock(&all->logging);
    return port;
}

static inline int federating_stop(void *context)
{
    const struct federating_side *side = context;
    return side->all->failed || (!side->number && side->all->over);
}

static inline int federating_reload(void *context)
{
    struct federating_side *side = context;
    return !side->number && atomic_exchange(&side->all->reload, 0);
}

static inline const fplt_settings *federating_again(void *context, fplt_error *error)
{
    struct federating_side *side = context;
    fplt_settings *settings = NULL;
    fplt_status status = federating_load(side, &settings);
    fplt_settings_destroy(side->all->again);
    side->all->again = settings;
    *error = side->error;
    return status ? NULL : settings;
}

static inline void *federating_side_run(void *context)
{
    struct federating_side *side = context;
    fplt_settings *settings = NULL;
    fplt_federation_watch watch = {.size = sizeof watch,
                                   .context = side,
                                   .tell = federating_tell,
                                   .stop = federating_stop,
                                   .reload = federating_reload,
                                   .again = federating_again,
                                   .cost = side->cost};
    if (!(side->status = federating_load(side, &settings)))
        side->status =
            side->number ? fplt_federation_take_part(settings, &watch, &side->outcome, &side->error)
                         : fplt_federation_lead(settings, &watch, &side->outcome, &side->error);
    fplt_settings_destroy(settings);
    pthread_mutex_lock(&side->all->logging);
    if (side->status)
        side->all->failed = 1;
    pthread_cond_broadcast(&side->all->told);
    pthread_mutex_unlock(&side->all->logging);
    return NULL;
}

/* Waits until the coordinator listens, so that no agent has to dial twice, or has failed. */
static inline void federating_wait(struct federating *all, size_t logged)
{
    pthread_mutex_lock(&all->logging);
    while (!all->failed && !strstr(all->side[0].log + logged, "started: "))
        pthread_cond_wait(&all->told, &all->logging);
    pthread_mutex_unlock(&all->logging);
}

/* Runs all sides to their end. */
static inline void federating_run(struct federating *all)
{
    pthread_t thread[1 + FEDERATING_MAX];
    all->failed = 0;
    all->over = 0;
    size_t logged = all->side[0].logged;
    for (size_t i = 0; i <= all->sites; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, federating_side_run, &all->side[i]), 0);
        if (i == 0)
            federating_wait(all, logged);
    }
    for (size_t i = 1; i <= all->sites; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    if (all->afterwards && !all->failed)
        all->afterwards(all);
    all->over = 1;
    assert_int_equal(pthread_join(thread[0], NULL), 0);
}

/* The coordinator alone, until federating_end. */
static inline void federating_begin(struct federating *all)
{
    size_t logged = all->side[0].logged;
    all->failed = 0;
    all->over = 0;
    assert_int_equal(pthread_create(&all->leading, NULL, federating_side_run, &all->side[0]), 0);
    federating_wait(all, logged);
    if (all->failed)
        fail_msg("%s", all->side[0].error.text);
}

static inline void federating_end(struct federating *all)
{
    all->over = 1;
    assert_int_equal(pthread_join(all->leading, NULL), 0);
}

/* Waits until the coordinator logs the words behind `from` of its log, or fails after a minute. */
static inline void federating_said(struct federating *all, size_t from, const char *words)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&all->logging);
    int late = 0;
    while (!late && !all->failed && !strstr(all->side[0].log + from, words))
        late = pthread_cond_timedwait(&all->told, &all->logging, &until);
    int found = strstr(all->side[0].log + from, words) != NULL;
    pthread_mutex_unlock(&all->logging);
    if (!found)
        fail_msg("the coordinator did not log '%s' but: %s", words, all->side[0].log + from);
}

static inline void federating_clear(struct federating *all)
{
    char command[400];
    fplt_settings_destroy(all->again);
    pthread_mutex_destroy(&all->logging);
    pthread_cond_destroy(&all->told);
    snprintf(command, sizeof command, "rm -r '%s'", all->folder);
    assert_int_equal(system(command), 0);
}

#endif
