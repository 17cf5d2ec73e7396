/* The log of coordinator and agent: lines, JSON, or entries of the journal with fields. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "service.h"

const fplt_setting cli_log_table[] = {
    {"log", FPLT_CHOICE, 0, "text", 0, 0, "text|json|journal|off",
     "how to tell what happens; journal: entries with fields for systemd's journal", 0, 0},
    {"log-level", FPLT_CHOICE, 0, "info", 0, 0, "error|warning|notice|info",
     "the least important events to log; notice: none of single rounds", 0, 0},
    FPLT_SETTINGS_END,
};

/* As syslog(3) and the journal number them. */
enum { LEVEL_ERROR = 3, LEVEL_WARNING = 4, LEVEL_NOTICE = 5, LEVEL_INFO = 6 };

static const struct {
    const char *word;
    int level;
} levels[] = {
    /* somebody must do something, or the run does not go on */
    {"conflict", LEVEL_ERROR},
    {"disk", LEVEL_ERROR},
    {"halted", LEVEL_ERROR},
    {"trouble", LEVEL_ERROR},
    /* the run goes on, and somebody should know */
    {"WARNING", LEVEL_WARNING},
    {"absent", LEVEL_WARNING},
    {"budget", LEVEL_WARNING},
    {"certificate", LEVEL_WARNING},
    {"late", LEVEL_WARNING},
    {"limit", LEVEL_WARNING},
    {"lost", LEVEL_WARNING},
    {"missing", LEVEL_WARNING},
    {"network", LEVEL_WARNING},
    {"range", LEVEL_WARNING},
    {"refused", LEVEL_WARNING},
    {"repair", LEVEL_WARNING},
    {"revoked", LEVEL_WARNING},
    {"void", LEVEL_WARNING},
    {"waiting", LEVEL_WARNING},
    {"withheld", LEVEL_WARNING},
    /* one or more in every round */
    {"closed", LEVEL_INFO},
    {"measured", LEVEL_INFO},
};

static int level_of(const char *word)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(levels[i].word, word) == 0)
            return levels[i].level;
    return LEVEL_NOTICE;
}

static const char *name_of(int level)
{
    static const char *const names[] = {
        [LEVEL_ERROR] = "error",
        [LEVEL_WARNING] = "warning",
        [LEVEL_NOTICE] = "notice",
        [LEVEL_INFO] = "info",
    };
    return names[level];
}

static int is_wanted(const fplt_settings *settings, int level)
{
    const char *limit = fplt_settings_text(settings, "log-level");
    for (int i = LEVEL_ERROR; i < level; i++)
        if (strcmp(limit, name_of(i)) == 0)
            return 0;
    return 1;
}

static void print_text(const char *clock, const fplt_federation_event *event, int names_members)
{
    int named = event->who && names_members && !strstr(event->sentence, event->who);
    printf("%s %-9s %s%s%s\n", clock, event->word, named ? event->who : "", named ? ": " : "",
           event->sentence);
}

static void print_json(const char *clock, int level, const fplt_federation_event *event)
{
    json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:I, s:s?}", "time", clock, "level",
                             name_of(level), "event", event->word, "sentence", event->sentence,
                             "round", (json_int_t)event->round, "agent", event->who);
    if (line && isfinite(event->criterion))
        json_object_set_new(line, "criterion", json_real(event->criterion));
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    puts(text ? text : "{}");
    free(text);
    json_decref(line);
}

/* NAME=VALUE and a line feed; a value of several lines is preceded by its length (systemd's native protocol). */
static void add_field(cli_text *entry, const char *name, const char *value)
{
    size_t length = strlen(value);
    if (!strchr(value, '\n')) {
        cli_text_format(entry, "%s=%s\n", name, value);
        return;
    }
    cli_text_format(entry, "%s\n", name);
    char size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (char)((uint64_t)length >> (8 * i));
    cli_text_add_bytes(entry, size, sizeof size);
    cli_text_format(entry, "%s\n", value);
}

/* Whether the journal took the entry. */
static int send_entry(const void *entry, size_t size)
{
    const char *path = getenv("FEDPLT_JOURNAL");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!path || !*path)
        path = "/run/systemd/journal/socket";
    if (strlen(path) >= sizeof to.sun_path)
        return 0;
    memcpy(to.sun_path, path, strlen(path));
    int out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (out < 0)
        return 0;
    ssize_t sent =
        sendto(out, entry, size, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to, sizeof to);
    close(out);
    return sent == (ssize_t)size;
}

/* Where the journal does not take an entry, a line on standard error with the level in front, as sd-daemon(3) has it. */
static void write_journal(int level, const fplt_federation_event *event)
{
    char number[32];
    cli_text entry = {NULL, 0, NULL};
    add_field(&entry, "MESSAGE", event->sentence);
    snprintf(number, sizeof number, "%d", level);
    add_field(&entry, "PRIORITY", number);
    add_field(&entry, "SYSLOG_IDENTIFIER", "fedplt");
    add_field(&entry, "FEDPLT_EVENT", event->word);
    snprintf(number, sizeof number, "%llu", (unsigned long long)event->round);
    add_field(&entry, "FEDPLT_ROUND", number);
    if (event->who)
        add_field(&entry, "FEDPLT_MEMBER", event->who);
    if (isfinite(event->criterion)) {
        snprintf(number, sizeof number, "%.17g", event->criterion);
        add_field(&entry, "FEDPLT_CRITERION", number);
    }
    if (!entry.text || !send_entry(entry.text, entry.length)) {
        fprintf(stderr, "<%d>%s %s%s%s\n", level, event->word, event->who ? event->who : "",
                event->who ? ": " : "", event->sentence);
        fflush(stderr);
    }
    cli_text_clear(&entry);
}

void cli_log_event(const fplt_settings *settings, const fplt_federation_event *event,
                   int names_members)
{
    const char *log = fplt_settings_text(settings, "log");
    char clock[32];
    time_t now = time(NULL);
    struct tm parts;
    int level = level_of(event->word);
    if (strcmp(log, "off") == 0 || !is_wanted(settings, level))
        return;
    if (strcmp(log, "journal") == 0) {
        write_journal(level, event);
        return;
    }
    gmtime_r(&now, &parts);
    strftime(clock, sizeof clock, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (strcmp(log, "text") == 0)
        print_text(clock, event, names_members);
    else
        print_json(clock, level, event);
    fflush(stdout);
}
