/* Settings tables and their values. */
#include "fedplt/settings.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"

struct entry {
    const fplt_setting *row;
    const char *group;
    char *value;        /* owned; NULL: the default holds */
    char *origin;       /* owned */
    char *preferred;    /* owned; NULL: the row's default holds */
    const char *reason; /* borrowed */
    unsigned layer;     /* in which the value was given, from 1 */
};

struct fact {
    const char *name, *value; /* borrowed */
};

struct fplt_settings {
    struct entry *entries;
    size_t count, capacity;
    struct fact *facts; /* owned */
    size_t known, room;
    unsigned overridden; /* layers below the present one */
};

fplt_status fplt_settings_create(fplt_settings **settings, fplt_error *error)
{
    return fplt__alloc_into(settings, 1, sizeof **settings, "settings", error);
}

void fplt_settings_destroy(fplt_settings *settings)
{
    if (!settings)
        return;
    for (size_t i = 0; i < settings->count; i++) {
        fplt__free(settings->entries[i].value);
        fplt__free(settings->entries[i].origin);
        fplt__free(settings->entries[i].preferred);
    }
    fplt__free(settings->entries);
    fplt__free(settings->facts);
    fplt__free(settings);
}

static struct entry *entry_of(const fplt_settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->entries[i].row->name, name) == 0)
            return &settings->entries[i];
    return NULL;
}

fplt_status fplt_settings_add(fplt_settings *settings, const char *group, const fplt_setting *table,
                              fplt_error *error)
{
    for (const fplt_setting *row = table; row->name; row++) {
        if (entry_of(settings, row->name))
            continue;
        fplt_status status =
            fplt__grow(&settings->entries, &settings->capacity, settings->count + 1,
                       sizeof *settings->entries, "settings", error);
        if (status)
            return status;
        settings->entries[settings->count++] = (struct entry){.row = row, .group = group};
    }
    return FPLT_OK;
}

/* A program around the library may have set a locale whose decimal point is a comma: numbers in
 * files and flags do not follow it. */
static locale_t plain_locale;
static pthread_once_t plain_locale_once = PTHREAD_ONCE_INIT;

static void make_plain_locale(void)
{
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static double plain_strtod(const char *text, char **end)
{
    pthread_once(&plain_locale_once, make_plain_locale);
    return plain_locale ? strtod_l(text, end, plain_locale) : strtod(text, end);
}

fplt_status fplt__parse_real(const char *text, double *value)
{
    /* strtod also takes hexadecimal, "inf", "nan" and leading blanks: numbers in files do not. */
    const char *c = text;
    if (*c == '+' || *c == '-')
        c++;
    if (!((*c >= '0' && *c <= '9') || *c == '.') || strpbrk(text, "xX"))
        return FPLT_BAD_VALUE;
    char *end;
    double parsed = plain_strtod(text, &end);
    if (end == text || *end || !isfinite(parsed))
        return FPLT_BAD_VALUE;
    *value = parsed;
    return FPLT_OK;
}

fplt_status fplt__parse_integer(const char *text, long long *value)
{
    const char *c = text;
    if (*c == '+' || *c == '-')
        c++;
    if (!(*c >= '0' && *c <= '9'))
        return FPLT_BAD_VALUE;
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (*end || errno == ERANGE)
        return FPLT_BAD_VALUE;
    *value = parsed;
    return FPLT_OK;
}

static int parse_switch(const char *text)
{
    static const char *const words[2][3] = {{"no", "false", "off"}, {"yes", "true", "on"}};
    for (int value = 0; value < 2; value++)
        for (int i = 0; i < 3; i++)
            if (strcmp(text, words[value][i]) == 0)
                return value;
    return -1;
}

static int is_choice(const char *choices, const char *text, size_t length)
{
    for (const char *start = choices; *start;) {
        const char *bar = strchr(start, '|');
        size_t size = bar ? (size_t)(bar - start) : strlen(start);
        if (size == length && strncmp(start, text, size) == 0)
            return 1;
        if (!bar)
            break;
        start = bar + 1;
    }
    return 0;
}

/* " from 1 to 5", " above 0 and at most 1", " of at least 0", or nothing. */
static void describe_range(const fplt_setting *row, char *text, size_t size)
{
    int above = row->flags & FPLT_ABOVE, below = row->flags & FPLT_BELOW;
    int digits = row->kind == FPLT_INTEGER ? 17 : 15; /* a whole number is shown as it is taken */
    char low[64] = "", high[64] = "";
    if (row->low > -HUGE_VAL)
        snprintf(low, sizeof low, above ? " above %.*g" : " of at least %.*g", digits, row->low);
    if (row->high < HUGE_VAL)
        snprintf(high, sizeof high, below ? " below %.*g" : " at most %.*g", digits, row->high);
    if (*low && *high && !above && !below)
        snprintf(text, size, " from %.*g to %.*g", digits, row->low, digits, row->high);
    else
        snprintf(text, size, "%s%s%s", low,
                 *low && *high     ? " and"
                 : *high && !below ? " of"
                                   : "",
                 high);
}

void fplt_setting_help(const fplt_setting *row, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", row->help, row->rule ? "; auto: " : "",
             row->rule ? row->rule : "");
}

void fplt_setting_legal(const fplt_setting *row, char *text, size_t size)
{
    const char *automatic = row->flags & FPLT_AUTO ? ", or auto" : "";
    const char *several = row->flags & FPLT_LIST ? " (several are separated by commas)" : "";
    char body[256];
    switch (row->kind) {
    case FPLT_REAL:
    case FPLT_INTEGER: {
        const char *noun = row->kind == FPLT_REAL ? "a number" : "a whole number";
        char range[160];
        describe_range(row, range, sizeof range);
        snprintf(body, sizeof body, "%s%s", noun, range);
        break;
    }
    case FPLT_SWITCH: snprintf(body, sizeof body, "yes or no"); break;
    case FPLT_CHOICE: {
        size_t used = (size_t)snprintf(body, sizeof body, "one of ");
        for (const char *c = row->choices; *c && used + 3 < sizeof body; c++) {
            if (*c == '|')
                body[used++] = ',';
            body[used++] = *c == '|' ? ' ' : *c;
        }
        body[used] = 0;
        break;
    }
    default:
        snprintf(body, sizeof body, row->flags & FPLT_PAIRS ? "key=value pairs" : "text");
        break;
    }
    snprintf(text, size, "%s%s%s", body, automatic, several);
}

static int in_range(const fplt_setting *row, double value)
{
    int above = row->flags & FPLT_ABOVE ? value > row->low : value >= row->low;
    int below = row->flags & FPLT_BELOW ? value < row->high : value <= row->high;
    return above && below;
}

static int legal_word(const fplt_setting *row, const char *text)
{
    if (row->flags & FPLT_AUTO && strcmp(text, "auto") == 0)
        return 1;
    double real;
    long long integer;
    switch (row->kind) {
    case FPLT_REAL: return !fplt__parse_real(text, &real) && in_range(row, real);
    case FPLT_INTEGER:
        return !fplt__parse_integer(text, &integer) && in_range(row, (double)integer);
    case FPLT_SWITCH: return parse_switch(text) >= 0;
    case FPLT_CHOICE: return is_choice(row->choices, text, strlen(text));
    default: return 1;
    }
}

static int legal_list(const fplt_setting *row, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, ",");
        char word[128];
        if (length >= sizeof word)
            return 0;
        memcpy(word, text, length);
        word[length] = 0;
        if (!legal_word(row, word))
            return 0;
        if (!text[length])
            return 1;
        text += length + 1;
    }
}

/* Where the first of the characters `ends` stands that no backslash takes, or the end. */
static const char *plain_end(const char *text, const char *ends)
{
    while (*text && !strchr(ends, *text))
        text += *text == '\\' && text[1] ? 2 : 1;
    return text;
}

static int legal_pairs(const char *text)
{
    for (;;) {
        const char *equals = plain_end(text, "=,"), *comma = plain_end(text, ",");
        if (equals == text || *equals != '=')
            return 0;
        if (!*comma)
            return 1;
        text = comma + 1;
    }
}

static int legal(const fplt_setting *row, const char *text)
{
    if (row->flags & FPLT_PAIRS)
        return legal_pairs(text);
    if (row->flags & FPLT_LIST && row->kind != FPLT_TEXT)
        return legal_list(row, text);
    return legal_word(row, text);
}

/* Copies text up to `end` without its backslashes, cut to the space there is. */
static void copy_item(const char *text, const char *end, char *item, size_t size)
{
    size_t used = 0;
    for (; text < end; text++) {
        if (*text == '\\' && text + 1 < end)
            text++;
        if (used + 1 < size)
            item[used++] = *text;
    }
    if (size)
        item[used] = 0;
}

const char *fplt__list_next(const char *list, char *item, size_t size)
{
    const char *comma = plain_end(list, ",");
    copy_item(list, comma, item, size);
    return *comma ? comma + 1 : comma;
}

const char *fplt__pairs_next(const char *pairs, char *key, size_t key_size, char *value,
                             size_t value_size)
{
    const char *equals = plain_end(pairs, "=,"), *comma = plain_end(pairs, ",");
    copy_item(pairs, equals, key, key_size);
    copy_item(*equals == '=' ? equals + 1 : equals, comma, value, value_size);
    return *comma ? comma + 1 : comma;
}

static fplt_status unknown_name(const fplt_settings *settings, const char *name, const char *origin,
                                fplt_error *error)
{
    const char *nearest = fplt__settings_nearest(settings, name), *how;
    const char *synonym = fplt__settings_synonym(settings, name, &how);
    if (synonym)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: there is no setting '%.80s'; here it is '%s', %s", origin, name,
                              synonym, how);
    return fplt_error_set(error, FPLT_BAD_VALUE, "%s: there is no setting '%.80s'%s%s%s", origin,
                          name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                          nearest ? "'?" : "");
}

static fplt_status check_value(const fplt_settings *settings, const fplt_setting *row,
                               const char *value, const char *origin, fplt_error *error)
{
    char what[400], hint[120];
    if (legal(row, value))
        return FPLT_OK;
    fplt_setting_legal(row, what, sizeof what);
    const char *how, *meant = fplt__settings_synonym(settings, row->name, &how);
    fplt__settings_hint(row, value, hint, sizeof hint);
    return fplt_error_set(error, FPLT_BAD_VALUE, "%s: %s is '%.80s', but it must be %s%s%s%s%s%s",
                          origin, row->name, value, what, meant ? "; or is '" : "",
                          meant ? meant : "", meant ? "' meant, " : "", meant ? how : "", hint);
}

fplt_status fplt_settings_set(fplt_settings *settings, const char *name, const char *value,
                              const char *origin, fplt_error *error)
{
    struct entry *entry = entry_of(settings, name);
    if (!entry)
        return unknown_name(settings, name, origin, error);
    fplt_status status = check_value(settings, entry->row, value, origin, error);
    if (status)
        return status;
    char *text = fplt__strdup(value), *where = fplt__strdup(origin);
    if (!text || !where) {
        fplt__free(text);
        fplt__free(where);
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the setting %s", name);
    }
    fplt__free(entry->value);
    fplt__free(entry->origin);
    entry->value = text;
    entry->origin = where;
    entry->layer = settings->overridden + 1;
    return FPLT_OK;
}

/* The shortest text that reads back as the same bits, in every locale. A whole number keeps a point, so that a setting
 * that takes whole numbers only refuses it. */
static void write_real(double value, char text[40])
{
    pthread_once(&plain_locale_once, make_plain_locale);
    locale_t before = plain_locale ? uselocale(plain_locale) : (locale_t)0;
    if (isnan(value))
        snprintf(text, 40, "nan");
    for (int digits = 15; digits <= 17 && !isnan(value); digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    if (before)
        uselocale(before);
    if (isfinite(value) && !strpbrk(text, ".e"))
        snprintf(text + strlen(text), 3, ".0");
}

fplt_status fplt_settings_set_real(fplt_settings *settings, const char *name, double value,
                                   const char *origin, fplt_error *error)
{
    char text[40];
    write_real(value, text);
    return fplt_settings_set(settings, name, text, origin, error);
}

fplt_status fplt_settings_set_integer(fplt_settings *settings, const char *name, long long value,
                                      const char *origin, fplt_error *error)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", value);
    return fplt_settings_set(settings, name, text, origin, error);
}

fplt_status fplt_settings_set_switch(fplt_settings *settings, const char *name, int value,
                                     const char *origin, fplt_error *error)
{
    return fplt_settings_set(settings, name, value ? "yes" : "no", origin, error);
}

void fplt__settings_override(fplt_settings *settings)
{
    settings->overridden++;
}

fplt_status fplt__settings_append(fplt_settings *settings, const char *name, const char *value,
                                  const char *origin, fplt_error *error)
{
    const struct entry *entry = entry_of(settings, name);
    if (!entry || !(entry->row->flags & (FPLT_LIST | FPLT_PAIRS)) ||
        entry->layer != settings->overridden + 1)
        return fplt_settings_set(settings, name, value, origin, error);
    fplt_status status = check_value(settings, entry->row, value, origin, error);
    size_t size = strlen(entry->value) + strlen(value) + 2;
    char *both;
    if (status || (status = fplt__alloc_into(&both, size, 1, "a list", error)))
        return status;
    snprintf(both, size, "%s,%s", entry->value, value);
    status = fplt_settings_set(settings, name, both, origin, error);
    fplt__free(both);
    return status;
}

unsigned fplt__settings_layer(const fplt_settings *settings, const char *name)
{
    const struct entry *entry = entry_of(settings, name);
    return entry ? entry->layer : 0;
}

unsigned fplt__settings_present(const fplt_settings *settings)
{
    return settings->overridden + 1;
}

fplt_status fplt__settings_learn(fplt_settings *settings, const char *fact, const char *value,
                                 fplt_error *error)
{
    fplt_status status = fplt__grow(&settings->facts, &settings->room, settings->known + 1,
                                    sizeof *settings->facts, "settings", error);
    if (!status)
        settings->facts[settings->known++] = (struct fact){fact, value};
    return status;
}

const char *fplt__settings_fact(const fplt_settings *settings, const char *fact)
{
    for (size_t i = settings->known; i-- > 0;)
        if (strcmp(settings->facts[i].name, fact) == 0)
            return settings->facts[i].value;
    return NULL;
}

fplt_status fplt__settings_prefer(fplt_settings *settings, const char *name, const char *value,
                                  const char *reason, fplt_error *error)
{
    struct entry *entry = entry_of(settings, name);
    if (!entry)
        return unknown_name(settings, name, reason, error);
    fplt_status status = check_value(settings, entry->row, value, reason, error);
    if (status)
        return status;
    char *copy = fplt__strdup(value);
    if (!copy)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the default of %s", name);
    fplt__free(entry->preferred);
    entry->preferred = copy;
    entry->reason = reason;
    return FPLT_OK;
}

const char *fplt__settings_preference(const fplt_settings *settings, const char *name)
{
    const struct entry *entry = entry_of(settings, name);
    return entry && !entry->value ? entry->reason : NULL;
}

const fplt_setting *fplt__settings_find(const fplt_settings *settings, const char *name)
{
    struct entry *entry = entry_of(settings, name);
    return entry ? entry->row : NULL;
}

const char *fplt__settings_nearest(const fplt_settings *settings, const char *name)
{
    const char *best = NULL;
    size_t least = strlen(name) / 3 + 2;
    for (size_t i = 0; i < settings->count; i++) {
        size_t distance = fplt__edit_distance(name, settings->entries[i].row->name);
        if (distance < least) {
            least = distance;
            best = settings->entries[i].row->name;
        }
    }
    return best;
}

static atomic_ulong misread;

unsigned long fplt__settings_misread(void)
{
    return atomic_load(&misread);
}

static struct entry *entry_to_read(const fplt_settings *settings, const char *name)
{
    struct entry *entry = entry_of(settings, name);
    if (!entry) {
        atomic_fetch_add(&misread, 1);
        fplt__log(FPLT_LOG_ERROR, "the setting '%.80s' was asked for, which no table has", name);
    }
    return entry;
}

static const char *value_of(const fplt_settings *settings, const char *name)
{
    struct entry *entry = entry_to_read(settings, name);
    if (!entry)
        return NULL;
    if (entry->value)
        return entry->value;
    return entry->preferred ? entry->preferred : entry->row->standard;
}

int fplt_settings_given(const fplt_settings *settings, const char *name)
{
    struct entry *entry = entry_to_read(settings, name);
    return entry && entry->value;
}

int fplt_settings_is_auto(const fplt_settings *settings, const char *name)
{
    const char *value = value_of(settings, name);
    return value && strcmp(value, "auto") == 0;
}

double fplt_settings_real(const fplt_settings *settings, const char *name)
{
    const char *value = value_of(settings, name);
    double real;
    return value && !fplt__parse_real(value, &real) ? real : NAN;
}

long long fplt_settings_integer(const fplt_settings *settings, const char *name)
{
    const char *value = value_of(settings, name);
    long long integer;
    return value && !fplt__parse_integer(value, &integer) ? integer : 0;
}

int fplt_settings_switch(const fplt_settings *settings, const char *name)
{
    const char *value = value_of(settings, name);
    return value && parse_switch(value) == 1;
}

const char *fplt_settings_text(const fplt_settings *settings, const char *name)
{
    return value_of(settings, name);
}

const char *fplt__settings_origin(const fplt_settings *settings, const char *name)
{
    struct entry *entry = entry_to_read(settings, name);
    const char *reason = fplt__settings_preference(settings, name);
    return entry && entry->origin ? entry->origin : reason ? reason : "default";
}

const fplt_setting *fplt_settings_row(const fplt_settings *settings, size_t index,
                                      const char **group)
{
    if (index >= settings->count)
        return NULL;
    if (group)
        *group = settings->entries[index].group;
    return settings->entries[index].row;
}

fplt_status fplt__settings_complete(const fplt_settings *settings, fplt_error *error)
{
    for (size_t i = 0; i < settings->count; i++) {
        const struct entry *entry = &settings->entries[i];
        if (entry->row->flags & FPLT_REQUIRED && !entry->value)
            return fplt_error_set(error, FPLT_BAD_VALUE, "%s must be given: %s", entry->row->name,
                                  entry->row->help);
    }
    return FPLT_OK;
}
