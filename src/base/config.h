/* Settings from a YAML file, for the program: beside fedplt/config.h. */
#ifndef FPLT_BASE_CONFIG_H
#define FPLT_BASE_CONFIG_H

#include "fedplt/config.h"

/* Takes a value out, as if the file did not have it: what it belongs to is overridden. */
void fplt__config_drop(fplt_config *config, const char *name);

#endif
