/* Modules: parts of fedplt in shared objects of their own, because the libraries behind them (MPI, librsvg) would
 * otherwise be loaded at every start. */
#ifndef FPLT_BASE_MODULE_H
#define FPLT_BASE_MODULE_H

#include "fedplt/status.h"

/**
 * Loads a module and finds its table.
 *
 * @param name    of the module, such as "mpi" or "render": letters only
 * @param symbol  name of the module's table
 * @param shares  whether what the module loads later may use its symbols (Open MPI); 0 keeps two TLS libraries apart
 * @param error   filled with a sentence where the module is missing or of another version; may be NULL
 * @return the table, which lives as long as the process, or NULL
 *
 * A module is looked for beside a program that was not installed (src/NAME/NAME.so in the folder of the program) and
 * beside a library or extension module that was not, then in the folder where it was installed; neither the working directory nor the environment decides. Loading runs the
 * initialisers of the libraries behind the module. A module stays loaded; a second call finds it again. Thread-safe.
 */
const void *fplt__module_load(const char *name, const char *symbol, int shares, fplt_error *error);

#endif
