/* SIGPIPE, blocked in one thread for a while. */
#include "http/broken_pipe.h"

#include <pthread.h>
#include <time.h>

static int is_pending(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

static sigset_t only_broken_pipe(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

fplt__broken_pipe fplt__broken_pipe_block(void)
{
    fplt__broken_pipe state = {.was_pending = is_pending()};
    sigset_t set = only_broken_pipe();
    pthread_sigmask(SIG_BLOCK, &set, &state.before);
    return state;
}

void fplt__broken_pipe_restore(const fplt__broken_pipe *state)
{
    const struct timespec now = {0, 0};
    sigset_t set = only_broken_pipe();
    if (!state->was_pending && is_pending())
        sigtimedwait(&set, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &state->before, NULL);
}
