#include "federating.h"
#include "service.h"
#include "base/settings.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* gcc defines a macro, clang answers a question. */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

static volatile sig_atomic_t again;
static int leads; /* a coordinator, which tells of many agents */

static void remember(int number)
{
    (void)number;
    again = 1;
}

static void show_event(void *context, const fplt_federation_event *event)
{
    cli_log_event(context, event, leads);
    cli_notify_event(event);
}

static int stop(void *context)
{
    (void)context;
    static int is_told;
    if (cli_interrupted() && !is_told) {
        is_told = 1;
        cli_notify("STOPPING=1");
    }
    cli_notify_alive();
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

void cli_allow_descriptors(void)
{
    const rlim_t most = 1048576;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= most)
        return;
    limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void cli_protect_process(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (!SANITIZED) /* LeakSanitizer looks at the process from beside at its end */
        prctl(PR_SET_DUMPABLE, 0);
}

fplt_federation_watch cli_federation_watch(const fplt_settings *settings)
{
    struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
    leads = fplt__settings_find(settings, "roster") != NULL;
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, NULL);
    cli_catch_signals();
    return (fplt_federation_watch){.size = sizeof(fplt_federation_watch),
                                   .context = (void *)(uintptr_t)settings,
                                   .tell = show_event,
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
