/* Stopping on request. */
#include <signal.h>

#include "cli.h"

static volatile sig_atomic_t asked;

static void remember(int number)
{
    (void)number;
    asked = 1;
}

void cli_catch_signals(void)
{
    struct sigaction action = {.sa_handler = remember, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int cli_interrupted(void)
{
    return asked;
}
