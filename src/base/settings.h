/* What only the base knows of settings. */
#ifndef FPLT_BASE_SETTINGS_H
#define FPLT_BASE_SETTINGS_H

#include "fedplt/settings.h"

/* How often settings were overruled before this one was given, plus one; 0: it is not given. */
unsigned fplt__settings_layer(const fplt_settings *settings, const char *name);

/* The layer in which values are given now. */
unsigned fplt__settings_present(const fplt_settings *settings);

/* Where the setting `there` names a file that was read since, and with it all values that `name` has, a list: as
 * fplt_settings_effective, for what needed one of the two. */
fplt_status fplt__settings_effective_there(const fplt_settings *settings, const char *there,
                                           const char *name, const char *list, fplt_error *error);

/* Where somebody else has given the setting `there`, as `what` says: as fplt_settings_effective, for what needs
 * that nobody does, by its row or by the user's table. */
fplt_status fplt__settings_effective_beside(const fplt_settings *settings,
                                            const fplt_setting_need *table, const char *there,
                                            const char *what, fplt_error *error);

/* What was learnt, or NULL. */
const char *fplt__settings_fact(const fplt_settings *settings, const char *fact);

/* The setting that other programs call `other`, and what it is; NULL: none of these settings. */
const char *fplt__settings_synonym(const fplt_settings *settings, const char *other,
                                   const char **how);

#endif
