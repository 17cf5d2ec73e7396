/* Stopping on request. */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t asked;

static void remember(int number)
{
    (void)number;
    asked = 1;
}

/* A round that is under way has no model: who waits for its end is told so, and how not to. */
static void explain(int number)
{
    static const char told[] =
        "\nfedplt: ends with the round that is under way, to keep its model; "
        "Ctrl-C again ends at once\n";
    (void)number;
    if (!cli_is_hushed())
        (void)!write(STDERR_FILENO, told, sizeof told - 1);
}

static void wait_for(int number)
{
    struct itimerval soon = {.it_value = {.tv_usec = 800000}};
    remember(number);
    setitimer(ITIMER_REAL, &soon, NULL);
}

void cli_catch_signals(void)
{
    struct sigaction action = {.sa_handler = wait_for, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = explain;
    sigaction(SIGALRM, &action, NULL);
}

void cli_signals_done(void)
{
    const struct itimerval never = {.it_value = {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

void cli_signals_over(void)
{
    cli_signals_done();
    signal(SIGALRM, SIG_IGN);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static const char *made; /* a folder that goes with the process, or NULL */

/* Half a second was not enough to end in good order: nothing is written before the end. */
static void end_now(int number)
{
    static const char told[] = "\nfedplt: interrupted\n";
    (void)number;
    if (!cli_is_hushed())
        (void)!write(STDERR_FILENO, told, sizeof told - 1);
    if (made)
        rmdir(made);
    _exit(130);
}

static void hurry(int number)
{
    struct itimerval soon = {.it_value = {.tv_usec = 500000}};
    remember(number);
    setitimer(ITIMER_REAL, &soon, NULL);
}

void cli_end_on_signals(const char *folder)
{
    made = folder;
    struct sigaction action = {.sa_handler = hurry, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = end_now;
    sigaction(SIGALRM, &action, NULL);
}

/* The system's answer to a page of a mapped file that is not there any more. */
static void lose_file(int number)
{
    static const char told[] = "\nfedplt: a data file was made shorter while it was read\n";
    (void)number;
    (void)!write(STDERR_FILENO, told, sizeof told - 1);
    _exit(1);
}

void cli_explain_lost_files(void)
{
    struct sigaction action = {.sa_handler = lose_file};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void cli_ignore_signals(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

int cli_interrupted(void)
{
    return asked;
}
