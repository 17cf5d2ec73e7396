/* Coordinator and agent give up system calls that they never need. */
#ifndef FPLT_CLI_SANDBOX_H
#define FPLT_CLI_SANDBOX_H

#include "fedplt/settings_table.h"
#include "fedplt/status.h"

/* --sandbox. */
extern const fplt_setting cli_sandbox_table[];

/**
 * Installs the filter of system calls for this thread and those that it starts, as the setting `sandbox` says. Called once,
 * before the first thread is started. From then on a refused call fails with EPERM: programs and processes cannot be
 * started, other processes not be read, memory not be writable and executable; cli/sandbox.c has the whole list.
 *
 * @param word  auto: where the program has libseccomp and the kernel takes the filter; on: or fail; off: nothing is done
 * @retval FPLT_OK           the filter is installed, or not wanted
 * @retval FPLT_UNSUPPORTED  `on`, and the program was built without libseccomp, or with a sanitizer
 * @retval FPLT_IO           `on`, and the kernel refused the filter
 */
fplt_status cli_sandbox_enter(const char *word, fplt_error *error);

/* What `fedplt version` says: the version of libseccomp, or "not built in". */
const char *cli_sandbox_version(void);

#endif
