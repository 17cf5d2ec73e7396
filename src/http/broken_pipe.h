/* Writing to a connection that the other side has closed raises SIGPIPE, which ends a process that does not expect it. A
 * library may not change how the process answers signals, so the thread that runs a server or client blocks SIGPIPE for
 * as long as it does; threads that it starts inherit that. */
#ifndef FPLT_HTTP_BROKEN_PIPE_H
#define FPLT_HTTP_BROKEN_PIPE_H

#include <signal.h>

typedef struct fplt__broken_pipe {
    sigset_t before; /* signal mask of the thread */
    int was_pending; /* a SIGPIPE that other code has blocked stays pending */
} fplt__broken_pipe;

/* Blocks SIGPIPE in the calling thread; returns what fplt__broken_pipe_restore needs. */
fplt__broken_pipe fplt__broken_pipe_block(void);
/* In the same thread: takes back a SIGPIPE that was raised since, and restores the mask. */
void fplt__broken_pipe_restore(const fplt__broken_pipe *state);

#endif
