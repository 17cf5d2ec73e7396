/* What coordinator, agent and demo share: telling what happens, and stopping on request. */
#ifndef FPLT_CLI_FEDERATING_H
#define FPLT_CLI_FEDERATING_H

#include "cli.h"
#include "fedplt/federation.h"

/* Prints events as the settings want them; the settings must outlive it. */
fplt_federation_watch cli_federation_watch(const fplt_settings *settings);
/* A line about how it ended. */
void cli_federation_outcome(const fplt_federation_outcome *outcome);

/* Runs `federation backup FILE` or `agent backup FILE`: the command's settings have `folder`. */
fplt_status cli_backup(cli_call *cli, fplt_error *error);

/* `agent log` and `federation log`. */
fplt_status cli_log_declare(const cli_call *cli, fplt_settings *settings, fplt_error *error);
fplt_status cli_log_show(cli_call *cli, fplt_error *error);

/* No core dump, and no other process of the user may read this one's memory: it has keys in it. */
void cli_protect_process(void);

/* For a coordinator: lets the process open as many descriptors as the system allows, at most 2^20. Every agent has a
 * connection, and the usual limit of 1024 is for programs that use select. */
void cli_allow_descriptors(void);

/* federation_analysis.c: analyses over the network */
fplt_status cli_federation_evaluate_declare(const cli_call *cli, fplt_settings *settings,
                                            fplt_error *error);
fplt_status cli_federation_evaluate(cli_call *cli, fplt_error *error);
fplt_status cli_federation_describe_declare(const cli_call *cli, fplt_settings *settings,
                                            fplt_error *error);
fplt_status cli_federation_describe(cli_call *cli, fplt_error *error);
fplt_status cli_federation_survival_declare(const cli_call *cli, fplt_settings *settings,
                                            fplt_error *error);
fplt_status cli_federation_survival(cli_call *cli, fplt_error *error);
fplt_status cli_federation_survival_test_declare(const cli_call *cli, fplt_settings *settings,
                                                 fplt_error *error);
fplt_status cli_federation_survival_test(cli_call *cli, fplt_error *error);

#endif
