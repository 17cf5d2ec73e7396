/* What coordinator, agent and demo share: telling what happens, and stopping on request. */
#ifndef FPLT_CLI_FEDERATING_H
#define FPLT_CLI_FEDERATING_H

#include "cli.h"
#include "fedplt/federation.h"

extern const fplt_setting cli_log_table[];

/* Prints events as the settings want them; the settings must outlive it. */
fplt_federation_watch cli_federation_watch(const fplt_settings *settings);
/* A line about how it ended. */
void cli_federation_outcome(const fplt_federation_outcome *outcome);

#endif
