/* What the parts of `fedplt privacy` share. */
#ifndef FPLT_CLI_PRIVACY_H
#define FPLT_CLI_PRIVACY_H

#include "cli.h"
#include "fedplt/promise.h"
#include "base/settings.h"
#include "report/report.h"

fplt_status privacy_declare_audit(const cli_call *cli, fplt_settings *settings, fplt_error *error);
fplt_status privacy_audit(cli_call *cli, fplt_error *error);
fplt_status privacy_declare_tradeoff(const cli_call *cli, fplt_settings *settings,
                                     fplt_error *error);
extern const fplt__setting_need privacy_audit_needs[], privacy_tradeoff_needs[];
fplt_status privacy_tradeoff(cli_call *cli, fplt_error *error);
fplt_status privacy_declare_verify(const cli_call *cli, fplt_settings *settings, fplt_error *error);
fplt_status privacy_verify(cli_call *cli, fplt_error *error);
fplt_status privacy_declare_ledger(const cli_call *cli, fplt_settings *settings, fplt_error *error);
fplt_status privacy_ledger(cli_call *cli, fplt_error *error);
/* The same of this file; the settings have the table that privacy_declare_ledger adds. */
fplt_status privacy_show_ledger(const fplt_settings *settings, const char *path, fplt_error *error);
fplt_status privacy_declare_curve(const cli_call *cli, fplt_settings *settings, fplt_error *error);
fplt_status privacy_curve(cli_call *cli, fplt_error *error);

/* The table of the mechanism, and the mechanism it describes; one agent's records. */
extern const fplt_setting privacy_mechanism_table[];
fplt_status privacy_mechanism(const fplt_settings *settings, uint64_t records,
                              fplt_privacy_mechanism *mechanism, fplt_error *error);
/* Number `index` of a list of numbers; NaN past the last. */
double privacy_listed(const fplt_settings *settings, const char *name, size_t index);

/* Draws unless the picture cannot be drawn here, which is said. */
fplt_status privacy_draw(const fplt__plot *plot, const char *path, fplt_error *error);

#endif
