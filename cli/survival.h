/* fedplt survival baseline, predict and test: what follows from a Cox model and rows. */
#ifndef FPLT_CLI_SURVIVAL_H
#define FPLT_CLI_SURVIVAL_H

#include "cli.h"

fplt_status cli_survival_declare_baseline(const cli_call *cli, fplt_settings *settings,
                                          fplt_error *error);
fplt_status cli_survival_run_baseline(cli_call *cli, fplt_error *error);
fplt_status cli_survival_declare_predict(const cli_call *cli, fplt_settings *settings,
                                         fplt_error *error);
fplt_status cli_survival_run_predict(cli_call *cli, fplt_error *error);
fplt_status cli_survival_declare_test(const cli_call *cli, fplt_settings *settings,
                                      fplt_error *error);
fplt_status cli_survival_run_test(cli_call *cli, fplt_error *error);

#endif
