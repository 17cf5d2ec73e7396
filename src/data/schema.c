/* Schemas: from YAML to columns, and back to the canonical text. */
#include "data/schema.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/yaml.h"

enum { LARGEST_FILE = 1 << 20, LONGEST_WORD = 1024, MAX_FEATURES = 100000000 };

/* ---- levels ---- */

void fplt__levels_clear(fplt__levels *levels)
{
    fplt__lookup_clear(&levels->names);
    fplt__lookup_clear(&levels->values);
    fplt__free(levels->meaning);
    fplt__free(levels->number);
}

static double number_of(fplt__span text)
{
    double value;
    return fplt__number_parse(text, &value) == FPLT__NUMBER ? value : NAN;
}

uint32_t fplt__levels_find(const fplt__levels *levels, fplt__span text)
{
    uint32_t found = fplt__lookup_find(&levels->values, text);
    if (found != FPLT__NOWHERE)
        return levels->meaning[found];
    double value = number_of(text);
    for (uint32_t i = 0; !isnan(value) && i < levels->values.count; i++)
        if (levels->number[i] == value)
            return levels->meaning[i];
    return FPLT__NOWHERE;
}

fplt_status fplt__levels_add(fplt__levels *levels, fplt__span name, fplt__span value,
                             fplt_error *error)
{
    uint32_t level, number;
    fplt_status status;
    if (fplt__levels_find(levels, value) != FPLT__NOWHERE)
        return fplt_error_set(error, FPLT_BAD_DATA, "'%s' is there twice", fplt__show(value).text);
    if ((status = fplt__lookup_add(&levels->names, name, &level, error)) ||
        (status = fplt__lookup_add(&levels->values, value, &number, error)) ||
        (status = fplt__grow(&levels->meaning, &levels->meaning_capacity, (size_t)number + 1,
                             sizeof *levels->meaning, "levels", error)) ||
        (status = fplt__grow(&levels->number, &levels->number_capacity, (size_t)number + 1,
                             sizeof *levels->number, "levels", error)))
        return status;
    levels->meaning[number] = level;
    levels->number[number] = number_of(value);
    return FPLT_OK;
}

/* ---- the types and their keys ---- */

enum {
    TYPE = 1,
    BOUNDS = 2,
    LEVELS = 4,
    CLASSES = 8,
    NAMES = 16,
    CENTRE = 32,
    SCALE = 64,
    BASE = 128,
    MISSING = 256,
    OTHER = 512,
    MAX = 1024
};

static const struct type {
    const char *name, *help;
    unsigned keys, needs;
} types[] = {
    [FPLT__NUMBERS] = {"number", "a feature", BOUNDS | CENTRE | SCALE | MISSING, BOUNDS},
    [FPLT__CATEGORY] = {"category", "a feature for each level", LEVELS | BASE | MISSING | OTHER,
                        LEVELS},
    [FPLT__LABEL] = {"label", "what is learned", BOUNDS | CLASSES | MISSING | OTHER, 0},
    [FPLT__SITE] = {"site", "the agent that has the row", NAMES, 0},
    [FPLT__WEIGHT] = {"weight", "how much the row counts", BOUNDS | MISSING, BOUNDS},
    [FPLT__OFFSET] = {"offset", "added to the score", BOUNDS | MISSING, BOUNDS},
    [FPLT__TIME] = {"time", "until the event or the end of watching", BOUNDS | MISSING, BOUNDS},
    [FPLT__EVENT] = {"event", "whether it happened", CLASSES | MISSING | OTHER, CLASSES},
    [FPLT__PERSON] = {"person", "whose row it is", MAX | MISSING | OTHER, MAX},
    [FPLT__IGNORED] = {"ignore", "not looked at", 0, 0},
    [FPLT__IGNORED + 1] = {"id", "not looked at", 0, 0},
};

const char *fplt__type_name(size_t type, const char **help)
{
    if (type >= sizeof types / sizeof *types)
        return NULL;
    if (help)
        *help = types[type].help;
    return types[type].name;
}

/* Whether a value may be none of the declared ones: bounds take all numbers, but not all indices. */
static int answers_other(const fplt__declared *column, int libsvm)
{
    return (types[column->type].keys & OTHER && !column->bounded) ||
           (libsvm && column->type == FPLT__NUMBERS);
}

struct parser {
    const char *path;
    const fplt_config *config;
    fplt_schema *schema;
    fplt_error *error;
};

static fplt_status refuse(const struct parser *parser, const fplt__yaml_node *node,
                          const char *format, ...) FPLT_PRINTF(3, 4);

static fplt_status refuse(const struct parser *parser, const fplt__yaml_node *node,
                          const char *format, ...)
{
    char sentence[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return fplt_error_set(parser->error, FPLT_BAD_DATA, "%s:%zu: %.120s %s", parser->path,
                          node->line, node->name, sentence);
}

/* A failure below gets file, line and column. */
static fplt_status locate(const struct parser *parser, const fplt__yaml_node *node,
                          fplt_status status)
{
    if (status == FPLT_BAD_DATA && parser->error)
        fplt_error_prefix(parser->error, "%s:%zu: %.120s", parser->path, node->line, node->name);
    return status;
}

static fplt_status take_number(const struct parser *parser, const fplt__yaml_node *node,
                               const char *text, double *number)
{
    if (node->kind == FPLT__YAML_SCALAR && !fplt_parse_real(text, number))
        return FPLT_OK;
    return refuse(parser, node, "is '%.40s', but it must be a number", text ? text : "");
}

/* LOW..HIGH: the first pair of points that has a number on both sides of it. */
static fplt_status take_bounds(const struct parser *parser, const fplt__yaml_node *node,
                               fplt__declared *column)
{
    const char *text = node->kind == FPLT__YAML_SCALAR ? node->value : "";
    for (const char *points = strstr(text, ".."); points; points = strstr(points + 1, "..")) {
        char low[64];
        snprintf(low, sizeof low, "%.*s", (int)(points - text), text);
        if ((size_t)(points - text) >= sizeof low || fplt_parse_real(low, &column->low) ||
            fplt_parse_real(points + 2, &column->high))
            continue;
        if (!(column->low < column->high && isfinite(column->high - column->low)))
            return refuse(parser, node, "is '%.60s', but the first number must be the smaller",
                          text);
        column->bounded = 1;
        column->centre = column->low + (column->high - column->low) / 2;
        column->scale = (column->high - column->low) / 2;
        return FPLT_OK;
    }
    return refuse(parser, node, "is '%.60s', but it must be two numbers such as 20..90",
                  node->value ? node->value : "");
}

static fplt_status add_value(const struct parser *parser, const fplt__yaml_node *node,
                             fplt__levels *levels, const char *name, const char *value)
{
    if (!*name || strlen(name) >= 256 || strlen(value) >= 256)
        return refuse(parser, node, "has a name of %zu characters, but 1 to 255 are legal",
                      strlen(name));
    if (strcmp(name, FPLT__ANSWER_REFUSED) == 0 || strcmp(name, FPLT__ANSWER_NEUTRAL) == 0)
        return refuse(parser, node, "has the name '%s', which is kept for missing and other", name);
    return locate(parser, node,
                  fplt__levels_add(levels, fplt__span_of(name), fplt__span_of(value),
                                   parser->error));
}

/* Each item of a list; `name` NULL: an item is its own name. */
static fplt_status add_list(const struct parser *parser, const fplt__yaml_node *node,
                            fplt__levels *levels, const char *name)
{
    char item[LONGEST_WORD];
    fplt_status status = FPLT_OK;
    for (const char *list = node->value; *list && !status;) {
        list = fplt_list_next(list, item, sizeof item);
        status = add_value(parser, node, levels, name ? name : item, item);
    }
    return status;
}

static fplt_status add_entry(const struct parser *parser, const fplt__yaml_node *node,
                             fplt__levels *levels)
{
    uint32_t before = levels->names.count;
    fplt_status status = FPLT_OK;
    if (node->kind == FPLT__YAML_SCALAR)
        status = add_value(parser, node, levels, node->key, node->value);
    else if (node->kind == FPLT__YAML_SEQUENCE)
        status = add_list(parser, node, levels, node->key);
    else
        return refuse(parser, node, "must be the value or the list of values that mean it");
    if (!status && levels->names.count == before)
        status = refuse(parser, node, "is an empty list");
    return status;
}

static fplt_status take_levels(const struct parser *parser, const fplt__yaml_node *node,
                               size_t index, fplt__declared *column)
{
    fplt__levels *levels = &column->levels;
    fplt_status status = FPLT_OK;
    if (node->kind == FPLT__YAML_SEQUENCE)
        status = add_list(parser, node, levels, NULL);
    else if (node->kind == FPLT__YAML_MAPPING) {
        for (size_t i = index + 1; i < node->next && !status;) {
            fplt__yaml_node entry = fplt__config_node(parser->config, i);
            status = add_entry(parser, &entry, levels);
            i = entry.next;
        }
    } else
        return refuse(parser, node, "must be a list, or a mapping from names to values");
    if (status)
        return status;
    uint32_t least = column->type == FPLT__LABEL || column->type == FPLT__EVENT ? 2 : 1;
    if (levels->names.count < least ||
        (column->type == FPLT__EVENT && levels->names.count != least))
        return refuse(parser, node, "has %u, but there must be %s%u", levels->names.count,
                      column->type == FPLT__EVENT ? "" : "at least ", least);
    return FPLT_OK;
}

static fplt_status find_level(const struct parser *parser, const fplt__yaml_node *node,
                              const fplt__declared *column, uint32_t *level)
{
    *level = node->kind == FPLT__YAML_SCALAR
                 ? fplt__lookup_find(&column->levels.names, fplt__span_of(node->value))
                 : FPLT__NOWHERE;
    if (*level != FPLT__NOWHERE)
        return FPLT_OK;
    return refuse(parser, node, "is '%.60s', which is not declared in this column",
                  node->value ? node->value : "");
}

static fplt_status take_answer(const struct parser *parser, const fplt__yaml_node *node,
                               const fplt__declared *column, fplt__becomes *answer, double *value)
{
    uint32_t level;
    int scalar = node->kind == FPLT__YAML_SCALAR;
    *answer = FPLT__CONSTANT;
    if (scalar && strcmp(node->value, FPLT__ANSWER_REFUSED) == 0) {
        *answer = FPLT__REFUSED;
        return FPLT_OK;
    }
    if (scalar && strcmp(node->value, FPLT__ANSWER_NEUTRAL) == 0) {
        *answer = FPLT__NEUTRAL_ROW;
        return FPLT_OK;
    }
    if (column->type == FPLT__PERSON)
        return refuse(parser, node,
                      "must be " FPLT__ANSWER_NEUTRAL " or " FPLT__ANSWER_REFUSED
                      " in a column of type person");
    if (!column->bounded) {
        fplt_status status = find_level(parser, node, column, &level);
        *value = level;
        return status;
    }
    if (scalar && strcmp(node->value, FPLT__ANSWER_CENTRE) == 0) {
        *value = fmin(fmax(column->centre, column->low), column->high);
        return FPLT_OK;
    }
    if (!scalar || fplt_parse_real(node->value, value))
        return refuse(parser, node,
                      "is '%.40s', but it must be a number, " FPLT__ANSWER_NEUTRAL
                      " or " FPLT__ANSWER_REFUSED,
                      node->value ? node->value : "");
    if (!(*value >= column->low && *value <= column->high))
        return refuse(parser, node, "is %g, which is not within the bounds %g..%g", *value,
                      column->low, column->high);
    return FPLT_OK;
}

static fplt_status take_other(const struct parser *parser, const fplt__yaml_node *node,
                              fplt__declared *column)
{
    double level = 0;
    if (column->bounded && node->kind == FPLT__YAML_SCALAR &&
        strcmp(node->value, FPLT__ANSWER_REFUSED) != 0 &&
        strcmp(node->value, FPLT__ANSWER_NEUTRAL) != 0)
        return refuse(parser, node,
                      "is '%.40s', but it must be " FPLT__ANSWER_NEUTRAL
                      " or " FPLT__ANSWER_REFUSED,
                      node->value);
    fplt_status status = take_answer(parser, node, column, &column->other, &level);
    column->other_level = (uint32_t)level;
    return status;
}

static fplt_status take_most(const struct parser *parser, const fplt__yaml_node *node,
                             fplt__declared *column)
{
    long long most;
    if (node->kind != FPLT__YAML_SCALAR || fplt_parse_integer(node->value, &most) || most < 1)
        return refuse(parser, node,
                      "must be a whole number of at least 1: the most rows that one "
                      "person has");
    column->most = (uint64_t)most;
    return FPLT_OK;
}

static fplt_status take_scale(const struct parser *parser, const fplt__yaml_node *node,
                              fplt__declared *column)
{
    fplt_status status = take_number(parser, node, node->value, &column->scale);
    if (!status && !(column->scale > 0))
        status = refuse(parser, node, "is %g, but it must be above 0", column->scale);
    return status;
}

/* In the order in which they may be read: what missing, other and base name comes before them. */
static const struct key {
    const char *name;
    unsigned bit;
} keys[] = {{"type", TYPE},       {"bounds", BOUNDS}, {"levels", LEVELS}, {"classes", CLASSES},
            {"names", NAMES},     {"centre", CENTRE}, {"scale", SCALE},   {"base", BASE},
            {"missing", MISSING}, {"other", OTHER},   {"most", MAX}};

enum { KEYS = sizeof keys / sizeof *keys };

static const char *key_name(size_t index, const char **help)
{
    (void)help;
    return index < KEYS ? keys[index].name : NULL;
}

static fplt_status take_key(const struct parser *parser, unsigned bit, size_t index,
                            fplt__declared *column)
{
    fplt__yaml_node node = fplt__config_node(parser->config, index);
    switch (bit) {
    case BOUNDS: return take_bounds(parser, &node, column);
    case LEVELS:
    case CLASSES:
    case NAMES: return take_levels(parser, &node, index, column);
    case CENTRE: return take_number(parser, &node, node.value, &column->centre);
    case SCALE: return take_scale(parser, &node, column);
    case BASE: return find_level(parser, &node, column, &column->base);
    case MISSING:
        return take_answer(parser, &node, column, &column->missing, &column->missing_value);
    case OTHER: return take_other(parser, &node, column);
    case MAX: return take_most(parser, &node, column);
    default: return FPLT_OK;
    }
}

/* Where each key of a column stands, 0: nowhere (the root is never a key of a column). */
static fplt_status find_keys(const struct parser *parser, size_t index, size_t *where)
{
    fplt__yaml_node mapping = fplt__config_node(parser->config, index);
    for (size_t i = index + 1; i < mapping.next;) {
        fplt__yaml_node node = fplt__config_node(parser->config, i);
        size_t k = 0;
        while (k < KEYS && strcmp(keys[k].name, node.key) != 0)
            k++;
        if (k == KEYS) {
            fplt_unknown_name("key of a column", node.key, key_name, parser->error);
            fplt_error_prefix(parser->error, "%s:%zu", parser->path, node.line);
            return FPLT_BAD_DATA;
        }
        where[k] = i;
        i = node.next;
    }
    return FPLT_OK;
}

/* What fits the type; of bounds and classes a label has exactly one. */
static fplt_status check_keys(const struct parser *parser, const fplt__yaml_node *node,
                              const size_t *where, unsigned legal, unsigned needed,
                              const char *what)
{
    unsigned given = 0;
    for (size_t k = 0; k < KEYS; k++) {
        if (!where[k])
            continue;
        given |= keys[k].bit;
        if (!(keys[k].bit & (legal | TYPE))) {
            fplt__yaml_node wrong = fplt__config_node(parser->config, where[k]);
            return refuse(parser, &wrong, "has no meaning for a column of type %s", what);
        }
    }
    if (legal & BOUNDS && legal & CLASSES && !(given & BOUNDS) == !(given & CLASSES))
        return refuse(parser, node, "needs either classes or bounds");
    if (given & BOUNDS && given & OTHER && legal & CLASSES)
        return refuse(parser, node,
                      "has bounds, so other has no meaning: values beyond them are "
                      "clipped");
    for (size_t k = 0; k < KEYS; k++)
        if (keys[k].bit & needed & ~given)
            return refuse(parser, node, "is of type %s and needs %s", what, keys[k].name);
    return FPLT_OK;
}

static fplt_status find_type(const struct parser *parser, const fplt__yaml_node *node,
                             const char *word, fplt__type *type)
{
    for (size_t i = 0; word && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, word) == 0) {
            *type = i > FPLT__IGNORED ? FPLT__IGNORED : (fplt__type)i;
            return FPLT_OK;
        }
    if (!word)
        return refuse(parser, node, "has no type");
    fplt_unknown_name("type of column", word, fplt__type_name, parser->error);
    fplt_error_prefix(parser->error, "%s:%zu: %.120s", parser->path, node->line, node->name);
    return FPLT_BAD_DATA;
}

static fplt_status add_column(const struct parser *parser, const fplt__yaml_node *node,
                              const char *name, fplt__declared **column)
{
    fplt_schema *schema = parser->schema;
    fplt_status status = fplt__grow(&schema->column, &schema->capacity, schema->columns + 1,
                                    sizeof *schema->column, "a schema", parser->error);
    if (status)
        return status;
    *column = &schema->column[schema->columns];
    **column = (fplt__declared){.line = node->line, .base = FPLT__NOWHERE, .scale = 1};
    if (!((*column)->name = fplt__strdup(name)))
        return fplt_error_set(parser->error, FPLT_NO_MEMORY, "no memory for a schema");
    schema->columns++;
    return FPLT_OK;
}

/* One column. `fixed` NULL: its type stands in it. */
static fplt_status take_column(const struct parser *parser, size_t index, const fplt__type *fixed,
                               unsigned more)
{
    fplt__yaml_node node = fplt__config_node(parser->config, index);
    size_t where[KEYS] = {0};
    fplt__declared *column;
    fplt_status status = add_column(parser, &node, node.key, &column);
    if (!status && node.kind == FPLT__YAML_MAPPING)
        status = find_keys(parser, index, where);
    else if (!status && (fixed || node.kind != FPLT__YAML_SCALAR))
        status = refuse(parser, &node,
                        "must be a type, or a mapping such as {type: number, "
                        "bounds: 0..1}");
    if (status)
        return status;
    const char *word = where[0] ? fplt__config_node(parser->config, where[0]).value : NULL;
    if (fixed && where[0])
        return refuse(parser, &node, "has a type, but which it is is known here");
    if (fixed)
        column->type = *fixed;
    else if ((status = find_type(parser, &node, node.kind == FPLT__YAML_SCALAR ? node.value : word,
                                 &column->type)))
        return status;
    const struct type *type = &types[column->type];
    status = check_keys(parser, &node, where, type->keys | more, type->needs, type->name);
    for (size_t k = 0; k < KEYS && !status; k++)
        if (where[k])
            status = take_key(parser, keys[k].bit, where[k], column);
    if (!status && (column->type == FPLT__WEIGHT || column->type == FPLT__TIME) && column->low <= 0)
        status = refuse(parser, &node, "is of type %s: its bounds must begin above 0", type->name);
    return status;
}

/* ---- the whole ---- */

static fplt_status take_switch(const struct parser *parser, const fplt__yaml_node *node, int *value)
{
    const char *text = node->kind == FPLT__YAML_SCALAR ? node->value : "";
    *value = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;
    if (*value || strcmp(text, "no") == 0 || strcmp(text, "false") == 0)
        return FPLT_OK;
    return refuse(parser, node, "is '%.40s', but it must be yes or no", text);
}

static fplt_status take_format(const struct parser *parser, const fplt__yaml_node *node)
{
    const char *text = node->kind == FPLT__YAML_SCALAR ? node->value : "";
    parser->schema->libsvm = strcmp(text, "libsvm") == 0;
    if (parser->schema->libsvm || strcmp(text, "csv") == 0)
        return FPLT_OK;
    return refuse(parser, node, "is '%.40s', but it must be csv or libsvm", text);
}

static fplt_status take_features(const struct parser *parser, const fplt__yaml_node *node)
{
    long long count;
    if (node->kind != FPLT__YAML_SCALAR || fplt_parse_integer(node->value, &count) || count < 1 ||
        count > MAX_FEATURES)
        return refuse(parser, node, "must be a whole number from 1 to %d", MAX_FEATURES);
    parser->schema->features = (size_t)count;
    return FPLT_OK;
}

static fplt_status take_columns(const struct parser *parser, const fplt__yaml_node *node,
                                size_t index)
{
    fplt_status status = FPLT_OK;
    if (node->kind != FPLT__YAML_MAPPING)
        return refuse(parser, node, "must have a line for each column");
    for (size_t i = index + 1; i < node->next && !status;) {
        status = take_column(parser, i, NULL, 0);
        i = fplt__config_node(parser->config, i).next;
    }
    return status;
}

static const char *const top[] = {"format", "header", "columns", "features", "entries", "label"};

static const char *top_name(size_t index, const char **help)
{
    (void)help;
    return index < sizeof top / sizeof *top ? top[index] : NULL;
}

static fplt_status take_top(const struct parser *parser, size_t index)
{
    static const fplt__type number = FPLT__NUMBERS, label = FPLT__LABEL;
    fplt__yaml_node node = fplt__config_node(parser->config, index);
    if (strcmp(node.key, "format") == 0)
        return take_format(parser, &node);
    if (strcmp(node.key, "header") == 0)
        return take_switch(parser, &node, &parser->schema->header);
    if (strcmp(node.key, "columns") == 0)
        return take_columns(parser, &node, index);
    if (strcmp(node.key, "features") == 0)
        return take_features(parser, &node);
    if (strcmp(node.key, "entries") == 0)
        return take_column(parser, index, &number, OTHER);
    if (strcmp(node.key, "label") == 0)
        return take_column(parser, index, &label, 0);
    fplt_unknown_name("key of a schema", node.key, top_name, parser->error);
    fplt_error_prefix(parser->error, "%s:%zu", parser->path, node.line);
    return FPLT_BAD_DATA;
}

static int has_key(const fplt_config *config, const char *name)
{
    for (size_t i = 0; i < fplt__config_count(config); i = fplt__config_node(config, i).next)
        if (strcmp(fplt__config_node(config, i).key, name) == 0)
            return 1;
    return 0;
}

/* CSV has columns, LIBSVM has entries, features and a label. */
static fplt_status check_shape(const struct parser *parser)
{
    static const char *const csv[] = {"columns", "header"};
    static const char *const libsvm[] = {"features", "entries", "label"};
    int is_libsvm = parser->schema->libsvm;
    for (size_t i = 0; i < 2; i++)
        if (is_libsvm && has_key(parser->config, csv[i]))
            return fplt_error_set(parser->error, FPLT_BAD_DATA,
                                  "%s: %s has no meaning with format libsvm", parser->path, csv[i]);
    for (size_t i = 0; i < 3; i++)
        if (is_libsvm != has_key(parser->config, libsvm[i]))
            return fplt_error_set(parser->error, FPLT_BAD_DATA,
                                  is_libsvm ? "%s: a schema with format libsvm needs %s"
                                            : "%s: %s is for a schema with format: libsvm",
                                  parser->path, libsvm[i]);
    if (!is_libsvm && !has_key(parser->config, "columns"))
        return fplt_error_set(parser->error, FPLT_BAD_DATA,
                              "%s: there are no columns: a schema has a section columns with a "
                              "line for each",
                              parser->path);
    return FPLT_OK;
}

const fplt__declared *fplt__schema_column(const fplt_schema *schema, fplt__type type)
{
    for (size_t i = 0; i < schema->columns; i++)
        if (schema->column[i].type == type)
            return &schema->column[i];
    return NULL;
}

/* A time needs its event, an event its time, and both stand for the label. */
static fplt_status check_survival(const struct parser *parser)
{
    const fplt_schema *schema = parser->schema;
    int time = fplt__schema_column(schema, FPLT__TIME) != NULL;
    int event = fplt__schema_column(schema, FPLT__EVENT) != NULL;
    int label = fplt__schema_column(schema, FPLT__LABEL) != NULL;
    if (time != event)
        return fplt_error_set(parser->error, FPLT_BAD_DATA,
                              "%s: there is a column of type %s but none of type %s", parser->path,
                              time ? "time" : "event", time ? "event" : "time");
    if (time && label)
        return fplt_error_set(parser->error, FPLT_BAD_DATA,
                              "%s: time and event are what is learned, so a label has no place",
                              parser->path);
    return FPLT_OK;
}

/* Everything but features and what is ignored is there at most once. */
static fplt_status check_single(const struct parser *parser)
{
    const fplt_schema *schema = parser->schema;
    for (size_t i = 0; i < schema->columns; i++) {
        const fplt__declared *column = &schema->column[i];
        const fplt__declared *first = fplt__schema_column(schema, column->type);
        if (column != first && column->type != FPLT__NUMBERS && column->type != FPLT__CATEGORY &&
            column->type != FPLT__IGNORED)
            return fplt_error_set(parser->error, FPLT_BAD_DATA,
                                  "%s:%zu: '%.80s' is a second column of type %s, after '%.80s'",
                                  parser->path, column->line, column->name,
                                  types[column->type].name, first->name);
    }
    return FPLT_OK;
}

static fplt_status parse_all(const struct parser *parser)
{
    fplt_status status = check_shape(parser);
    size_t count = fplt__config_count(parser->config);
    for (size_t i = 0; i < count && !status; i = fplt__config_node(parser->config, i).next)
        status = take_top(parser, i);
    if (!status)
        status = check_single(parser);
    if (!status)
        status = check_survival(parser);
    if (!status && (status = fplt__schema_complete(parser->schema, parser->error)))
        fplt_error_prefix(parser->error, "%s", parser->path);
    return status;
}

static fplt_status find_format(const struct parser *parser)
{
    for (size_t i = 0; i < fplt__config_count(parser->config);) {
        fplt__yaml_node node = fplt__config_node(parser->config, i);
        if (strcmp(node.key, "format") == 0)
            return take_format(parser, &node);
        i = node.next;
    }
    return FPLT_OK;
}

fplt_status fplt_schema_parse(const char *text, size_t length, const char *path, fplt_schema **out,
                              fplt_error *error)
{
    fplt_config *config;
    fplt_error own;
    struct parser parser = {.path = path, .error = error ? error : &own};
    *out = NULL;
    fplt_status status = fplt__config_parse(path, text, length, &config, parser.error);
    if (status)
        return status;
    if (!(status = fplt__alloc_into(&parser.schema, 1, sizeof *parser.schema, "a schema",
                                    parser.error))) {
        atomic_init(&parser.schema->kept, 1);
        parser.schema->header = 1;
        parser.config = config;
        locale_t locale = fplt__locale_enter();
        if (!(status = find_format(&parser)))
            status = parse_all(&parser);
        fplt__locale_leave(locale);
    }
    fplt_config_destroy(config);
    if (status)
        fplt_schema_destroy(parser.schema);
    else
        *out = parser.schema;
    return status;
}

fplt_status fplt_schema_read(const char *path, fplt_schema **schema, fplt_error *error)
{
    char *text;
    size_t length;
    *schema = NULL;
    fplt_status status = fplt_file_read(path, LARGEST_FILE, &text, &length, error);
    if (status)
        return status;
    status = fplt_schema_parse(text, length, path, schema, error);
    fplt__free(text);
    return status;
}

fplt_schema *fplt_schema_keep(const fplt_schema *schema)
{
    fplt_schema *kept = (fplt_schema *)(uintptr_t)schema;
    if (kept)
        atomic_fetch_add(&kept->kept, 1);
    return kept;
}

void fplt_schema_destroy(fplt_schema *schema)
{
    if (!schema || atomic_fetch_sub(&schema->kept, 1) > 1)
        return;
    for (size_t i = 0; i < schema->columns; i++) {
        fplt__levels_clear(&schema->column[i].levels);
        fplt__free(schema->column[i].name);
    }
    fplt__free(schema->column);
    fplt__lookup_clear(&schema->feature_names);
    fplt__free(schema->text);
    fplt__free(schema);
}

/* ---- the canonical text ---- */

/* A JSON string. */
static void add_text(fplt__buffer *out, const char *text)
{
    fplt__buffer_add(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fplt__buffer_format(out, "\\%c", c);
        else if (c < 0x20)
            fplt__buffer_format(out, "\\u%04x", c);
        else
            fplt__buffer_add_bytes(out, text, 1);
    }
    fplt__buffer_add(out, "\"");
}

/* A comma unless the object or list has just begun, then "key": */
static void add_key(fplt__buffer *out, const char *key)
{
    if (!strchr("{[", out->text[out->length - 1]))
        fplt__buffer_add(out, ",");
    add_text(out, key);
    fplt__buffer_add(out, ":");
}

static void add_number(fplt__buffer *out, const char *key, double value)
{
    char text[32];
    fplt__number_name(value, text);
    add_key(out, key);
    add_text(out, text);
}

static void add_levels(fplt__buffer *out, const char *key, const fplt__levels *levels)
{
    add_key(out, key);
    fplt__buffer_add(out, "{");
    for (uint32_t i = 0; i < levels->names.count; i++) {
        int first = 1;
        add_key(out, fplt__lookup_word(&levels->names, i).text);
        fplt__buffer_add(out, "[");
        for (uint32_t k = 0; k < levels->values.count; k++) {
            if (levels->meaning[k] != i)
                continue;
            fplt__buffer_add(out, first ? "" : ",");
            add_text(out, fplt__lookup_word(&levels->values, k).text);
            first = 0;
        }
        fplt__buffer_add(out, "]");
    }
    fplt__buffer_add(out, "}");
}

static void add_answer(fplt__buffer *out, const char *key, const fplt__declared *column,
                       fplt__becomes answer, double value)
{
    if (answer == FPLT__CONSTANT && column->bounded) {
        add_number(out, key, value);
        return;
    }
    add_key(out, key);
    add_text(out, answer == FPLT__REFUSED ? FPLT__ANSWER_REFUSED
                  : answer == FPLT__NEUTRAL_ROW
                      ? FPLT__ANSWER_NEUTRAL
                      : fplt__lookup_word(&column->levels.names, (uint32_t)value).text);
}

static const char *levels_key(fplt__type type)
{
    return type == FPLT__CATEGORY ? "levels" : type == FPLT__SITE ? "names" : "classes";
}

static void add_bounds(fplt__buffer *out, const fplt__declared *column)
{
    char low[32], high[32], text[80];
    fplt__number_name(column->low, low);
    fplt__number_name(column->high, high);
    snprintf(text, sizeof text, "%s..%s", low, high);
    add_key(out, "bounds");
    add_text(out, text);
}

/* The keys in the order of the table, defaults written out. */
static void write_column(fplt__buffer *out, const fplt__declared *column, int libsvm)
{
    unsigned legal = types[column->type].keys;
    add_key(out, column->name);
    fplt__buffer_add(out, "{");
    if (!libsvm) {
        add_key(out, "type");
        add_text(out, types[column->type].name);
    }
    if (column->bounded)
        add_bounds(out, column);
    if (column->levels.names.count)
        add_levels(out, levels_key(column->type), &column->levels);
    if (legal & CENTRE) {
        add_number(out, "centre", column->centre);
        add_number(out, "scale", column->scale);
    }
    if (column->base != FPLT__NOWHERE) {
        add_key(out, "base");
        add_text(out, fplt__lookup_word(&column->levels.names, column->base).text);
    }
    if (legal & MISSING)
        add_answer(out, "missing", column, column->missing, column->missing_value);
    if (answers_other(column, libsvm))
        add_answer(out, "other", column, column->other, column->other_level);
    if (legal & MAX)
        fplt__buffer_format(out, ",\"most\":%llu", (unsigned long long)column->most);
    fplt__buffer_add(out, "}");
}

static fplt_status write_text(fplt_schema *schema, fplt_error *error)
{
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    if (schema->libsvm)
        fplt__buffer_format(&out, "{\"format\":\"libsvm\",\"features\":%zu", schema->features);
    else
        fplt__buffer_format(&out, "{\"format\":\"csv\",\"header\":%s,\"columns\":{",
                            schema->header ? "true" : "false");
    for (size_t i = 0; i < schema->columns && !out.status; i++)
        write_column(&out, &schema->column[i], schema->libsvm);
    fplt__buffer_add(&out, schema->libsvm ? "}" : "}}");
    fplt_status status = fplt__buffer_take(&out, &schema->text, error);
    if (!status)
        fplt__fingerprint(schema->text, strlen(schema->text), schema->digest);
    fplt__buffer_clear(&out);
    return status;
}

/* ---- features ---- */

static fplt_status name_feature(fplt_schema *schema, const char *name, fplt_error *error)
{
    uint32_t number, before = schema->feature_names.count;
    fplt_status status =
        fplt__lookup_add(&schema->feature_names, fplt__span_of(name), &number, error);
    if (!status && number < before)
        status = fplt_error_set(error, FPLT_BAD_DATA, "two features would be called '%.80s'", name);
    return status;
}

static fplt_status name_levels(fplt_schema *schema, fplt__declared *column, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < column->levels.names.count && !status; i++) {
        char name[2 * LONGEST_WORD];
        if (i == column->base)
            continue;
        snprintf(name, sizeof name, "%s=%s", column->name,
                 fplt__lookup_word(&column->levels.names, i).text);
        status = name_feature(schema, name, error);
        column->features++;
    }
    return status;
}

static fplt_status place_features(fplt_schema *schema, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < schema->columns && !status; i++) {
        fplt__declared *column = &schema->column[i];
        column->first = schema->feature_names.count;
        if (column->type == FPLT__NUMBERS) {
            status = name_feature(schema, column->name, error);
            column->features = 1;
        } else if (column->type == FPLT__CATEGORY)
            status = name_levels(schema, column, error);
    }
    schema->features = schema->feature_names.count;
    if (!status && !schema->features)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "there are no features: no column is a number or a category");
    return status;
}

fplt_status fplt__schema_complete(fplt_schema *schema, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (schema->libsvm) {
        if (schema->column[0].type == FPLT__LABEL) { /* one order, whatever that of the file */
            fplt__declared label = schema->column[0];
            schema->column[0] = schema->column[1];
            schema->column[1] = label;
        }
        fplt__declared *entries = &schema->column[0];
        entries->centre = 0; /* zeros stay zeros */
        entries->scale = fmax(fabs(entries->low), fabs(entries->high));
        entries->features = schema->features;
    } else
        status = place_features(schema, error);
    return status ? status : write_text(schema, error);
}

const char *fplt_schema_text(const fplt_schema *schema)
{
    return schema->text;
}

const char *fplt_schema_digest(const fplt_schema *schema)
{
    return schema->digest;
}

size_t fplt_schema_features(const fplt_schema *schema)
{
    return schema->features;
}

static const fplt__declared *column_of(const fplt_schema *schema, size_t feature)
{
    for (size_t i = 0; i < schema->columns; i++)
        if (feature - schema->column[i].first < schema->column[i].features)
            return &schema->column[i];
    return NULL;
}

const char *fplt_schema_feature(const fplt_schema *schema, size_t feature, double *low,
                                double *high, double *centre, double *scale)
{
    const fplt__declared *column = column_of(schema, feature);
    int level = !column || column->type == FPLT__CATEGORY;
    if (low)
        *low = level ? 0 : column->low;
    if (high)
        *high = level ? 1 : column->high;
    if (centre)
        *centre = level ? 0 : column->centre;
    if (scale)
        *scale = level ? 1 : column->scale;
    return feature < schema->feature_names.count
               ? fplt__lookup_word(&schema->feature_names, (uint32_t)feature).text
               : NULL;
}

double fplt_schema_radius(const fplt_schema *schema, int standardised)
{
    double squares = 0;
    for (size_t i = 0; i < schema->columns; i++) {
        const fplt__declared *column = &schema->column[i];
        double centre = standardised ? column->centre : 0;
        double scale = standardised ? column->scale : 1;
        double most = fmax(fabs(column->low - centre), fabs(column->high - centre)) / scale;
        if (column->type == FPLT__CATEGORY)
            squares += 1;
        else if (column->type == FPLT__NUMBERS)
            squares += most * most * (double)column->features;
    }
    return sqrt(squares);
}

size_t fplt_schema_inputs(const fplt_schema *schema)
{
    size_t count = schema->libsvm ? schema->features : 0;
    for (size_t i = 0; i < schema->columns && !schema->libsvm; i++)
        count += schema->column[i].features > 0;
    return count;
}

uint32_t fplt_schema_classes(const fplt_schema *schema)
{
    const fplt__declared *label = fplt__schema_column(schema, FPLT__LABEL);
    return label ? label->levels.names.count : 0;
}

fplt_task fplt__schema_task(const fplt_schema *schema, uint32_t *outputs)
{
    uint32_t classes = fplt_schema_classes(schema);
    *outputs = classes ? classes : 1;
    if (fplt__schema_column(schema, FPLT__TIME))
        return FPLT_TASK_SURVIVAL;
    return classes == 2 ? FPLT_TASK_BINARY : classes ? FPLT_TASK_CLASSES : FPLT_TASK_REGRESSION;
}

const char *fplt__schema_class(const fplt_schema *schema, uint32_t number)
{
    return fplt__lookup_word(&fplt__schema_column(schema, FPLT__LABEL)->levels.names, number).text;
}

uint64_t fplt_schema_most(const fplt_schema *schema)
{
    const fplt__declared *person = fplt__schema_column(schema, FPLT__PERSON);
    return person ? person->most : 0;
}

fplt_status fplt_schema_accepts_all(const fplt_schema *schema, fplt_error *error)
{
    for (size_t i = 0; i < schema->columns; i++) {
        const fplt__declared *column = &schema->column[i];
        unsigned legal = types[column->type].keys;
        const char *key = NULL;
        if (legal & MISSING && column->missing == FPLT__REFUSED)
            key = "missing";
        else if (answers_other(column, schema->libsvm) && column->other == FPLT__REFUSED)
            key = "other";
        if (key)
            return fplt_error_set(error, FPLT_UNSUPPORTED,
                                  "the schema refuses records: declare what '%.80s' becomes, with "
                                  "%s: %s%s",
                                  column->name, key,
                                  column->type == FPLT__PERSON ? "" : "a constant or ",
                                  FPLT__ANSWER_NEUTRAL);
    }
    return FPLT_OK;
}
