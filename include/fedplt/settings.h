/* Settings: values by name, checked against tables of rows. A table comes from fplt_trainer_declare or fplt_job_declare;
 * your own tables: fedplt/settings_table.h. YAML files: fedplt/config.h. A trainer's settings
 * are the flags of `fedplt train --help`: --eps is "eps".
 *
 * Threads and blocking: no function blocks. While one thread changes settings no other may use them; otherwise any number
 * of threads may read them. */
#ifndef FEDPLT_SETTINGS_H
#define FEDPLT_SETTINGS_H

#include <stddef.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_settings fplt_settings;

/* Makes settings without tables. FPLT_NO_MEMORY is the only failure. */
FPLT_API fplt_status fplt_settings_create(fplt_settings **settings, fplt_error *error);
/* Releases the settings and their texts. */
FPLT_API void fplt_settings_destroy(fplt_settings *settings);

/* Sets a value as text (copied). `origin` (copied) says where the value comes from ("train.yaml:12", "--rho") and begins
 * the message of a failure. FPLT_BAD_VALUE for a value that is not legal and for an unknown name (the message has the
 * nearest one), FPLT_NO_MEMORY; the setting then keeps its value. */
FPLT_API fplt_status fplt_settings_set(fplt_settings *settings, const char *name, const char *value,
                                       const char *origin, fplt_error *error);

/* Set a number or a switch, otherwise as fplt_settings_set. fplt_settings_set_real: the value reads back with the same
 * bits in every locale; NaN and infinities are refused, and any value for a setting of whole numbers.
 * fplt_settings_set_integer: also for settings that take any number. fplt_settings_set_switch: 0 is no, any other number
 * yes. A setting that takes text holds "0.5", "3" or "yes"; a list holds one item. */
FPLT_API fplt_status fplt_settings_set_real(fplt_settings *settings, const char *name, double value,
                                            const char *origin, fplt_error *error);
FPLT_API fplt_status fplt_settings_set_integer(fplt_settings *settings, const char *name,
                                               long long value, const char *origin,
                                               fplt_error *error);
FPLT_API fplt_status fplt_settings_set_switch(fplt_settings *settings, const char *name, int value,
                                              const char *origin, fplt_error *error);

/* Whether a value was set; a default does not count. The value, or else the default: fplt_settings_is_auto, whether it is
 * the word auto; fplt_settings_real, NaN where there is no number; fplt_settings_integer, 0 where there is none;
 * fplt_settings_switch, 1 or 0; fplt_settings_text, NULL where there is none, borrowed until the value changes. A name
 * that no table has is a programming error: it reads as NaN, 0 or NULL and is logged. */
FPLT_API int fplt_settings_given(const fplt_settings *settings, const char *name);
FPLT_API int fplt_settings_is_auto(const fplt_settings *settings, const char *name);
FPLT_API double fplt_settings_real(const fplt_settings *settings, const char *name);
FPLT_API long long fplt_settings_integer(const fplt_settings *settings, const char *name);
FPLT_API int fplt_settings_switch(const fplt_settings *settings, const char *name);
FPLT_API const char *fplt_settings_text(const fplt_settings *settings, const char *name);

#ifdef __cplusplus
}
#endif
#endif
