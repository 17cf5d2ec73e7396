/* The reader of YAML files without the file. */
#ifndef FPLT_BASE_YAML_H
#define FPLT_BASE_YAML_H

#include <stddef.h>

#include "fedplt/config.h"

/* As fplt_config_load, from memory; `path` only begins the messages. */
fplt_status fplt__config_parse(const char *path, const char *bytes, size_t size,
                               fplt_config **config, fplt_error *error);

/* The file as it is written, for those who read something else than settings: nodes in the order of
 * the file, a mapping before what is inside it. */
typedef enum fplt__yaml_kind {
    FPLT__YAML_EMPTY,
    FPLT__YAML_SCALAR,
    FPLT__YAML_SEQUENCE,
    FPLT__YAML_MAPPING
} fplt__yaml_kind;

typedef struct fplt__yaml_node {
    fplt__yaml_kind kind;
    const char *name, *key; /* "columns.age.type" and "type" */
    const char *value;      /* of a scalar, or the list of a sequence for fplt__list_next */
    size_t line;
    size_t next; /* number of the first node behind this one and what is inside it */
} fplt__yaml_node;

size_t fplt__config_count(const fplt_config *config);
fplt__yaml_node fplt__config_node(const fplt_config *config, size_t index);

#endif
