/* Settings: functions that only the library uses. */
#ifndef FPLT_BASE_SETTINGS_H
#define FPLT_BASE_SETTINGS_H

#include "fedplt/settings.h"
#include "fedplt/settings_table.h"

/* Further requirements of a setting beside its row, for programs in which the setting has less effect. */
typedef struct fplt__setting_need {
    const char *name;    /* or "@group": all settings of a group; NULL ends a table of these */
    const char *needs;   /* as in a row; NULL: it never has an effect there; "": nothing more */
    const char *instead; /* where it never has: what does, or why it has none */
} fplt__setting_need;

/* How often settings were overridden before this one was given, plus one; 0: it is not given. */
unsigned fplt__settings_layer(const fplt_settings *settings, const char *name);

/* The layer in which values are given now. */
unsigned fplt__settings_present(const fplt_settings *settings);

/* Where the setting `there` names a file that was read since, and with it all values that `name` has, a list: as
 * fplt__settings_effective, for what needed one of the two. */
fplt_status fplt__settings_effective_there(const fplt_settings *settings, const char *there,
                                           const char *name, const char *list, fplt_error *error);

/* As fplt__settings_effective, where another party has given the setting `there` (`what` names the party): rejects
 * settings that need its absence, by their row or by the table. */
fplt_status fplt__settings_effective_beside(const fplt_settings *settings,
                                            const fplt__setting_need *table, const char *there,
                                            const char *what, fplt_error *error);

/* What was learnt, or NULL. */
const char *fplt__settings_fact(const fplt_settings *settings, const char *fact);

/* The setting that other programs call `other`, and what it is; NULL: none of these settings. */
const char *fplt__settings_synonym(const fplt_settings *settings, const char *other,
                                   const char **how);
/* What a value that is not legal may have meant, as the end of a sentence; empty: nothing is known. */
void fplt__settings_hint(const fplt_setting *row, const char *value, char *hint, size_t size);

/* What is set from here on overrides what was set before, as flags do with a file. */
void fplt__settings_override(fplt_settings *settings);

/* Adds to a list or to pairs that was set since the last fplt__settings_override; sets it otherwise, and
 * any other setting. */
fplt_status fplt__settings_append(fplt_settings *settings, const char *name, const char *value,
                                  const char *origin, fplt_error *error);

/* Another default than the table's (copied), with the reason for it (borrowed): it holds until a value is
 * given and does not count as given. */
fplt_status fplt__settings_prefer(fplt_settings *settings, const char *name, const char *value,
                                  const char *reason, fplt_error *error);

/* The reason, where such a default holds; otherwise NULL. */
const char *fplt__settings_preference(const fplt_settings *settings, const char *name);

/* The row of a name, or NULL; it belongs to its table. */
const fplt_setting *fplt__settings_find(const fplt_settings *settings, const char *name);

/* The nearest existing name, for messages; NULL when none is near. */
const char *fplt__settings_nearest(const fplt_settings *settings, const char *name);

/* Where the value comes from ("train.yaml:12", "--rho"; "default" where from the table, or where no table has the
 * name); belongs to the settings until the value changes. */
const char *fplt__settings_origin(const fplt_settings *settings, const char *name);

/* How often a name that no table has was read, in all settings of the process: 0 in a sound
 * program. */
unsigned long fplt__settings_misread(void);

/* FPLT_BAD_VALUE naming the first required setting that was not given. */
fplt_status fplt__settings_complete(const fplt_settings *settings, fplt_error *error);

/* FPLT_BAD_VALUE naming the first given setting that has no effect in combination, and what it needs.
 * One that is overridden, because what makes it useless was set after fplt__settings_override and it was
 * not, is no mistake; nor is the word auto. */
fplt_status fplt__settings_effective(const fplt_settings *settings, fplt_error *error);

/* The same for one user of the tables, such as the command `where`, by a table of what settings need there;
 * the last line about a setting holds. What was given before the last fplt__settings_override is let pass: a
 * file may serve several. */
fplt_status fplt__settings_effective_in(const fplt_settings *settings, const char *where,
                                        const fplt__setting_need *table, fplt_error *error);

/* The same where nothing that was given serves another: nothing is let pass but what is overridden. */
fplt_status fplt__settings_effective_alone(const fplt_settings *settings, const char *where,
                                           const fplt__setting_need *table, fplt_error *error);

/* What `needs` may ask for though it is no setting, such as "the model's task" of a model that was read; both
 * texts are borrowed. A later one of the same name counts. */
fplt_status fplt__settings_learn(fplt_settings *settings, const char *fact, const char *value,
                                 fplt_error *error);

#endif
