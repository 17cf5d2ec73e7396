#include "federating.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const fplt_setting cli_log_table[] = {
    {"log", FPLT_CHOICE, 0, "text", 0, 0, "text|json|off", "how to tell what happens", 0, 0},
    FPLT_SETTINGS_END,
};

static volatile sig_atomic_t again;
static int leads; /* a coordinator, which tells of many agents */

static void remember(int number)
{
    (void)number;
    again = 1;
}

static void tell(void *context, const fplt_federation_event *event)
{
    const char *log = fplt_settings_text(context, "log");
    char clock[32];
    time_t now = time(NULL);
    struct tm parts;
    if (strcmp(log, "off") == 0)
        return;
    gmtime_r(&now, &parts);
    strftime(clock, sizeof clock, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (strcmp(log, "text") == 0) {
        int named = event->who && leads && !strstr(event->sentence, event->who);
        printf("%s %-9s %s%s%s\n", clock, event->word, named ? event->who : "", named ? ": " : "",
               event->sentence);
    } else {
        json_t *line =
            json_pack("{s:s, s:s, s:s, s:I, s:s?}", "time", clock, "event", event->word, "sentence",
                      event->sentence, "round", (json_int_t)event->round, "agent", event->who);
        if (line && isfinite(event->criterion))
            json_object_set_new(line, "criterion", json_real(event->criterion));
        char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
        puts(text ? text : "{}");
        free(text);
        json_decref(line);
    }
    fflush(stdout);
}

static int stop(void *context)
{
    (void)context;
    return cli_interrupted();
}

static int reload(void *context)
{
    (void)context;
    int wanted = again;
    again = 0;
    return wanted;
}

/* On a terminal a person may agree; elsewhere nobody does. */
static int agree(void *context, const char *proposal, const char *hash)
{
    char answer[16];
    (void)context;
    if (!isatty(STDIN_FILENO))
        return 0;
    printf("%s\nproposal %s\nTake part? [yes/no] ", proposal, hash);
    fflush(stdout);
    return fgets(answer, sizeof answer, stdin) && strcmp(answer, "yes\n") == 0;
}

fplt_federation_watch cli_federation_watch(const fplt_settings *settings)
{
    struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
    leads = fplt_settings_find(settings, "roster") != NULL;
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, NULL);
    cli_catch_signals();
    return (fplt_federation_watch){.size = sizeof(fplt_federation_watch),
                                   .context = (void *)(uintptr_t)settings,
                                   .tell = tell,
                                   .stop = stop,
                                   .agree = agree,
                                   .reload = reload};
}

/* The sentence of an end by its own rules is the outcome and the rounds again. */
static void print_end(const fplt_federation_outcome *outcome)
{
    char text[64];
    snprintf(text, sizeof text, "%s after %llu rounds", outcome->outcome,
             (unsigned long long)outcome->rounds);
    int more = strcmp(text, outcome->sentence) != 0;
    printf("%s%s%s\n%s%s%s", text, more ? ": " : "", more ? outcome->sentence : "",
           *outcome->model ? "model in " : "", outcome->model, *outcome->model ? "\n" : "");
}

void cli_federation_outcome(const fplt_federation_outcome *outcome)
{
    if (!outcome->finished)
        printf("stopped; the run goes on when it is started again\n");
    else
        print_end(outcome);
}
