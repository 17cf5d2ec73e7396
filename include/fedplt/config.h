/* Settings from a YAML file. A file is a mapping of names to values; a mapping inside it is a
 * section, so that
 *
 *     privacy:
 *       epsilon: 2
 *
 * sets privacy.epsilon. Plain and quoted scalars are taken as text, and then checked as if they had
 * been typed on a command line. A sequence is the value of a setting marked FPLT_LIST and becomes
 * a,b,c; a mapping of scalars is the value of a setting marked FPLT_PAIRS and becomes
 * key=value,key=value. Commas, equals signs and backslashes inside their keys and values are escaped
 * with a backslash. A section may be left empty, and so
 * may a file. Every message begins with file:line.
 *
 * Threads and blocking: fplt_config_load blocks on its file. A config does not change: any number of threads may look values
 * up. fplt_config_apply changes the settings. */
#ifndef FEDPLT_CONFIG_H
#define FEDPLT_CONFIG_H

#include <stddef.h>

#include "fedplt/settings.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In two steps, because tables may depend on a value of the file: load it, look the value up, add the
 * table, apply. */
typedef struct fplt_config fplt_config;

/* FPLT_IO when the file cannot be read, FPLT_BAD_DATA when it is not YAML, larger than 1 MiB, or not
 * of the form above whatever the settings are. */
FPLT_API fplt_status fplt_config_load(const char *path, fplt_config **config, fplt_error *error);
/* Releases the file's values and every text that fplt_config_find gave; NULL is legal. */
FPLT_API void fplt_config_destroy(fplt_config *config);

/* The value of a scalar or sequence ("privacy.epsilon") and, when `line` is not NULL, its line; NULL
 * where there is none. Nothing is checked yet. */
FPLT_API const char *fplt_config_find(const fplt_config *config, const char *name, size_t *line);

/* Sets every value of the file, in its order; the first that is not legal ends it, those before it
 * are set. A setting's origin is then file:line. */
FPLT_API fplt_status fplt_config_apply(const fplt_config *config, fplt_settings *settings,
                                       fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
