/* Messages to the service manager: datagrams to NOTIFY_SOCKET (sd_notify(3)). The protocol is a few lines, so the program
 * does not link libsystemd. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "service.h"

void cli_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof to.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(to.sun_path, path, length);
    if (*path == '@') /* a name that is not in the file system */
        to.sun_path[0] = 0;
    int out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (out < 0)
        return;
    (void)!sendto(out, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(out);
}

void cli_notify_event(const fplt_federation_event *event)
{
    char state[1400];
    if (!getenv("NOTIFY_SOCKET"))
        return;
    int ready = strcmp(event->word, "started") == 0;
    int used = snprintf(state, sizeof state, "%sSTATUS=", ready ? "READY=1\n" : "");
    for (const char *at = event->sentence; *at && used + 1 < (int)sizeof state; at++)
        state[used++] = *at == '\n' ? ' ' : *at; /* a line is an assignment */
    state[used] = 0;
    cli_notify(state);
}

/* Half of the time after which the service manager kills the process, in microseconds; 0: it does not. */
static double watchdog_interval(void)
{
    const char *text = getenv("WATCHDOG_USEC"), *process = getenv("WATCHDOG_PID");
    if (!text || (process && strtol(process, NULL, 10) != (long)getpid()))
        return 0;
    return strtod(text, NULL) / 2;
}

void cli_notify_alive(void)
{
    static double last;
    static int is_known;
    static double interval;
    struct timespec now;
    if (!is_known) {
        interval = watchdog_interval();
        is_known = 1;
    }
    if (!(interval > 0))
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double microseconds = 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
    if (last && microseconds - last < interval)
        return;
    last = microseconds;
    cli_notify("WATCHDOG=1");
}
