/* A federation of processes on this machine. */
#ifndef FPLT_CLI_FEDERATION_DEMO_H
#define FPLT_CLI_FEDERATION_DEMO_H

#include "cli.h"

extern const fplt_setting cli_demo_table[];
fplt_status cli_federation_demo(cli_call *cli, fplt_error *error);

#endif
