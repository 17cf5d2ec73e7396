/* A process under a service manager: readiness, watchdog and the log of events. */
#ifndef FPLT_CLI_SERVICE_H
#define FPLT_CLI_SERVICE_H

#include "cli.h"
#include "fedplt/federation.h"

/* --log and --log-level. */
extern const fplt_setting cli_log_table[];

/* Writes an event as the settings say. `names_members`: the sentence is preceded by the member that it is about. */
void cli_log_event(const fplt_settings *settings, const fplt_federation_event *event,
                   int names_members);

/* Sends a datagram to NOTIFY_SOCKET, as sd_notify(3) has it; nothing where the variable is not set. The service manager's
 * absence is not an error. */
void cli_notify(const char *state);
/* The event as the service's status; `started` also makes the service ready. */
void cli_notify_event(const fplt_federation_event *event);
/* Called several times a second while the process works: WATCHDOG=1 at half of WATCHDOG_USEC, where the variable is set. */
void cli_notify_alive(void);

#endif
