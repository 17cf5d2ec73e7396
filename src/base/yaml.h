/* The reader of YAML files without the file. */
#ifndef FPLT_BASE_YAML_H
#define FPLT_BASE_YAML_H

#include <stddef.h>

#include "fedplt/config.h"

/* As fplt_config_load, from memory; `path` only begins the messages. */
fplt_status fplt__config_parse(const char *path, const char *bytes, size_t size,
                               fplt_config **config, fplt_error *error);

#endif
