/* One row a setting: from it come the default, the check, the flag, the YAML key, the help and the
 * documentation. A settings object is a stack of such tables and the values given so far. */
#ifndef FEDPLT_SETTINGS_H
#define FEDPLT_SETTINGS_H

#include <stddef.h>
#include <stdio.h>

#include "fedplt/status.h"

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
     * semicolon and. A setting that no table has asks nothing; a fact by that name does (fplt_settings_learn). */
    const char *needs;
} fplt_setting;

/* What a setting needs beside its row, for a user of the tables that makes less of it than others. */
typedef struct fplt_setting_need {
    const char *name;    /* or "@group": all settings of a group; NULL ends a table of these */
    const char *needs;   /* as in a row; NULL: it never has an effect there; "": nothing more */
    const char *instead; /* where it never has: what does, or why it has none */
} fplt_setting_need;

/* Ends a table. */
#define FPLT_SETTINGS_END                                            \
    {                                                                \
        NULL, FPLT_TEXT, 0, NULL, 0, 0, NULL, NULL, 0, 0, NULL, NULL \
    }

typedef struct fplt_settings fplt_settings;

/* Makes settings without tables; released with fplt_settings_destroy. FPLT_NO_MEMORY is the only
 * failure. Settings belong to one thread while they are changed; any number may read them. */
FPLT_API fplt_status fplt_settings_create(fplt_settings **settings, fplt_error *error);
/* Releases the settings and every text of theirs; NULL is legal. Tables stay the caller's. */
FPLT_API void fplt_settings_destroy(fplt_settings *settings);

/* Adds a table (borrowed, ends with FPLT_SETTINGS_END); `group` names it in help and messages. A
 * name that is there already is kept: earlier tables win. */
FPLT_API fplt_status fplt_settings_add(fplt_settings *settings, const char *group,
                                       const fplt_setting *table, fplt_error *error);

/* Takes a value as text (copied). `origin` (copied) says where it comes from ("train.yaml:12", "--rho")
 * and begins the message when the value is not legal; an unknown name is answered with the nearest
 * one. FPLT_BAD_VALUE for both, FPLT_NO_MEMORY; the setting then keeps its value. */
FPLT_API fplt_status fplt_settings_set(fplt_settings *settings, const char *name, const char *value,
                                       const char *origin, fplt_error *error);

/* Take a value as a number or switch; status codes, messages and origin as of fplt_settings_set.
 * fplt_settings_set_real: the value reads back with the same bits, in every locale; NaN and infinities
 * are refused, and so is every value for a setting that takes whole numbers.
 * fplt_settings_set_integer: also for settings that take any number. fplt_settings_set_switch: 0 is
 * no, any other number yes. A setting that takes text holds the value as text ("0.5", "3", "yes"), a
 * list one item. */
FPLT_API fplt_status fplt_settings_set_real(fplt_settings *settings, const char *name, double value,
                                            const char *origin, fplt_error *error);
FPLT_API fplt_status fplt_settings_set_integer(fplt_settings *settings, const char *name,
                                               long long value, const char *origin,
                                               fplt_error *error);
FPLT_API fplt_status fplt_settings_set_switch(fplt_settings *settings, const char *name, int value,
                                              const char *origin, fplt_error *error);

/* What is set from here on overrules what was set before, as flags do with a file. */
FPLT_API void fplt_settings_overrule(fplt_settings *settings);

/* Adds to a list or to pairs that was set since the last fplt_settings_overrule; sets it otherwise, and
 * any other setting. */
FPLT_API fplt_status fplt_settings_append(fplt_settings *settings, const char *name,
                                          const char *value, const char *origin, fplt_error *error);

/* Another default than the table's, with the reason for it (both borrowed): it holds until a value is
 * given and does not count as given. */
FPLT_API fplt_status fplt_settings_prefer(fplt_settings *settings, const char *name,
                                          const char *value, const char *reason, fplt_error *error);
/* The reason, where such a default holds; otherwise NULL. */
FPLT_API const char *fplt_settings_preference(const fplt_settings *settings, const char *name);

/* The row of a name, or NULL; it belongs to its table. */
FPLT_API const fplt_setting *fplt_settings_find(const fplt_settings *settings, const char *name);
/* The nearest existing name, for messages; NULL when none is near. */
FPLT_API const char *fplt_settings_nearest(const fplt_settings *settings, const char *name);

/* Values. fplt_settings_given: whether a value was set, defaults do not count.
 * fplt_settings_is_auto: the value is the word auto. fplt_settings_real is NaN, and
 * fplt_settings_integer 0, where there is no value or no such number (auto). fplt_settings_switch
 * is 1 or 0. fplt_settings_text is the value as text, NULL where there is none, and
 * fplt_settings_origin where it comes from ("default" where from the table); both belong to the
 * settings until the value changes. A name that no table has is a programming error: it reads as
 * NaN, 0 or NULL (its origin as "default"), and is logged as an error and counted. */
FPLT_API int fplt_settings_given(const fplt_settings *settings, const char *name);
FPLT_API int fplt_settings_is_auto(const fplt_settings *settings, const char *name);
FPLT_API double fplt_settings_real(const fplt_settings *settings, const char *name);
FPLT_API long long fplt_settings_integer(const fplt_settings *settings, const char *name);
FPLT_API int fplt_settings_switch(const fplt_settings *settings, const char *name);
FPLT_API const char *fplt_settings_text(const fplt_settings *settings, const char *name);
FPLT_API const char *fplt_settings_origin(const fplt_settings *settings, const char *name);

/* How often a name that no table has was read, in all settings of the process: 0 in a sound
 * program. */
FPLT_API unsigned long fplt_settings_misread(void);

/* All rows in order of the tables: number `index`, or NULL past the last. */
FPLT_API const fplt_setting *fplt_settings_row(const fplt_settings *settings, size_t index,
                                               const char **group);

/* FPLT_BAD_VALUE naming the first required setting that was not given. */
FPLT_API fplt_status fplt_settings_complete(const fplt_settings *settings, fplt_error *error);

/* FPLT_BAD_VALUE naming the first given setting that has no effect beside the others, and what it needs.
 * One that is overruled, because what makes it useless was set after fplt_settings_overrule and it was
 * not, is no mistake; nor is the word auto. */
FPLT_API fplt_status fplt_settings_effective(const fplt_settings *settings, fplt_error *error);

/* The same for one user of the tables, such as the command `where`, by a table of what settings need there;
 * the last line about a setting holds. What was given before the last fplt_settings_overrule is let pass: a
 * file may serve several. */
FPLT_API fplt_status fplt_settings_effective_in(const fplt_settings *settings, const char *where,
                                                const fplt_setting_need *table, fplt_error *error);
/* The same where nothing that was given serves another: nothing is let pass but what is overruled. */
FPLT_API fplt_status fplt_settings_effective_alone(const fplt_settings *settings, const char *where,
                                                   const fplt_setting_need *table,
                                                   fplt_error *error);

/* What `needs` may ask for though it is no setting, such as "the model's task" of a model that was read; both
 * texts are borrowed. A later one of the same name counts. */
FPLT_API fplt_status fplt_settings_learn(fplt_settings *settings, const char *fact,
                                         const char *value, fplt_error *error);

/* Strict numbers: the whole text, finite (fplt_parse_real), nothing behind it, whole
 * (fplt_parse_integer); the decimal point is a point in every locale. FPLT_BAD_VALUE otherwise;
 * `value` is then unchanged. Thread-safe. */
FPLT_API fplt_status fplt_parse_real(const char *text, double *value);
FPLT_API fplt_status fplt_parse_integer(const char *text, long long *value);

/* Takes the first item off a list "a,b,c" (fplt_list_next) or off "key=value,key=value"
 * (fplt_pairs_next): writes it, cut to the space there is, and returns what follows, which is
 * empty after the last. A backslash takes the character behind it (comma, equals sign, backslash)
 * as part of the item and is left out. */
FPLT_API const char *fplt_list_next(const char *list, char *item, size_t size);
FPLT_API const char *fplt_pairs_next(const char *pairs, char *key, size_t key_size, char *value,
                                     size_t value_size);

/* Writes a word as a shell takes it, in quotes where it needs them, cut to the space there is; 4 times its
 * length and 3 are enough. Commands in sentences are made of these, so that they can be pasted. */
FPLT_API void fplt_shell_word(const char *word, char *text, size_t size);

/* Fills FPLT_BAD_VALUE with a sentence that says which names there are and which is the nearest to
 * `name`; `what` they are names of. `list` gives name number `index`, and NULL past the last. */
FPLT_API fplt_status fplt_unknown_name(const char *what, const char *name,
                                       const char *(*list)(size_t index, const char **help),
                                       fplt_error *error);

/* Writes what is legal for a row, "a number above 0" or "one of a, b, c". */
FPLT_API void fplt_setting_legal(const fplt_setting *setting, char *text, size_t size);
/* Writes the help of a row with its rule: "local step size; auto: 1/lmax". */
FPLT_API void fplt_setting_help(const fplt_setting *setting, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
