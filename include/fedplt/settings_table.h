/* Tables of settings: one row a setting. The default, the check, the flag, the YAML key, the help and the documentation
 * come from the row.
 *
 * Threads and blocking: no function blocks. Rows are constant; functions that only read are thread-safe while no thread
 * changes the settings. */
#ifndef FEDPLT_SETTINGS_TABLE_H
#define FEDPLT_SETTINGS_TABLE_H

#include <stddef.h>

#include "fedplt/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fplt_setting_kind {
    FPLT_REAL,
    FPLT_INTEGER,
    FPLT_SWITCH, /* yes or no */
    FPLT_CHOICE, /* one of `choices` */
    FPLT_TEXT
} fplt_setting_kind;

enum fplt_setting_flags {
    FPLT_AUTO = 1,     /* the word `auto` is legal */
    FPLT_ABOVE = 2,    /* `low` itself is not legal */
    FPLT_BELOW = 4,    /* `high` itself is not legal */
    FPLT_LIST = 8,     /* several, separated by commas; in YAML also a sequence */
    FPLT_PAIRS = 16,   /* key=value pairs, separated by commas; in YAML a mapping (text only); with
                          FPLT_LIST the value of a pair is a list, in YAML a sequence */
    FPLT_REQUIRED = 32 /* no default, must be given where the table is used */
};

/* May grow at its end: what a table leaves out there is zero. */
typedef struct fplt_setting {
    const char *name; /* "rho", "privacy.epsilon": a dot is a YAML section */
    fplt_setting_kind kind;
    unsigned flags;
    const char *standard; /* the default, as one would write it; NULL: not set */
    double low, high;     /* numbers only */
    const char *choices;  /* "a|b|c", choices only */
    const char *help;     /* one line */
    /* Tuning: factors of the automatic value between which to search, 0 and 0 where it is not
     * searched. */
    double search_low, search_high;
    const char
        *rule; /* what the word auto stands for; NULL: the word is not legal, or says it all */
    /* Without what this setting has no effect; NULL: it always has. "solver=sgd|svrg": another setting
     * has one of these values; "start!=zero": it has none of them; "data": it has a value at all; "!data": it
     * has none; "+lmax": it was given; "-lmax": it was not. Of a list one item is enough. A comma means or, a
     * semicolon and. A setting that no table has asks nothing. */
    const char *needs;
} fplt_setting;

/* Ends a table. */
#define FPLT_SETTINGS_END                                            \
    {                                                                \
        NULL, FPLT_TEXT, 0, NULL, 0, 0, NULL, NULL, 0, 0, NULL, NULL \
    }

/* Adds a table that ends with FPLT_SETTINGS_END. Table and `group`, its name in help and messages, are borrowed until
 * fplt_settings_destroy. A name that is there already is kept: earlier tables win. FPLT_NO_MEMORY: some rows were added. */
FPLT_API fplt_status fplt_settings_add(fplt_settings *settings, const char *group,
                                       const fplt_setting *table, fplt_error *error);

/* All rows in order of the tables: number `index` from 0, or NULL past the last. Borrowed, as is `group` (may be NULL). */
FPLT_API const fplt_setting *fplt_settings_row(const fplt_settings *settings, size_t index,
                                               const char **group);

/* Writes the legal values of a row, "a number above 0" or "one of a, b, c", cut to `size` bytes with the ending 0. */
FPLT_API void fplt_setting_legal(const fplt_setting *setting, char *text, size_t size);
/* Writes the help of a row with its rule, "local step size; auto: 1/lmax", cut in the same way. */
FPLT_API void fplt_setting_help(const fplt_setting *setting, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
