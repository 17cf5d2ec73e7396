/* Schemas: from YAML to columns. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/yaml.h"
#include "data/schema_access.h"
#include "data/schema_types.h"

enum { LARGEST_FILE = 1 << 20, MAX_FEATURES = 100000000 };

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
    if (node->kind == FPLT__YAML_SCALAR && !fplt__parse_real(text, number))
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
        if ((size_t)(points - text) >= sizeof low || fplt__parse_real(low, &column->low) ||
            fplt__parse_real(points + 2, &column->high))
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
    char item[FPLT__SCHEMA_LONGEST_WORD];
    fplt_status status = FPLT_OK;
    for (const char *list = node->value; *list && !status;) {
        list = fplt__list_next(list, item, sizeof item);
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
    if (!scalar || fplt__parse_real(node->value, value))
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
    if (node->kind != FPLT__YAML_SCALAR || fplt__parse_integer(node->value, &most) || most < 1)
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
} keys[] = {{"type", FPLT__KEY_TYPE},       {"bounds", FPLT__KEY_BOUNDS},
            {"levels", FPLT__KEY_LEVELS},   {"classes", FPLT__KEY_CLASSES},
            {"names", FPLT__KEY_NAMES},     {"centre", FPLT__KEY_CENTRE},
            {"scale", FPLT__KEY_SCALE},     {"base", FPLT__KEY_BASE},
            {"missing", FPLT__KEY_MISSING}, {"other", FPLT__KEY_OTHER},
            {"most", FPLT__KEY_MAX}};

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
    case FPLT__KEY_BOUNDS: return take_bounds(parser, &node, column);
    case FPLT__KEY_LEVELS:
    case FPLT__KEY_CLASSES:
    case FPLT__KEY_NAMES: return take_levels(parser, &node, index, column);
    case FPLT__KEY_CENTRE: return take_number(parser, &node, node.value, &column->centre);
    case FPLT__KEY_SCALE: return take_scale(parser, &node, column);
    case FPLT__KEY_BASE: return find_level(parser, &node, column, &column->base);
    case FPLT__KEY_MISSING:
        return take_answer(parser, &node, column, &column->missing, &column->missing_value);
    case FPLT__KEY_OTHER: return take_other(parser, &node, column);
    case FPLT__KEY_MAX: return take_most(parser, &node, column);
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
            fplt__unknown_name("key of a column", node.key, key_name, parser->error);
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
        if (!(keys[k].bit & (legal | FPLT__KEY_TYPE))) {
            fplt__yaml_node wrong = fplt__config_node(parser->config, where[k]);
            return refuse(parser, &wrong, "has no meaning for a column of type %s", what);
        }
    }
    if (legal & FPLT__KEY_BOUNDS && legal & FPLT__KEY_CLASSES &&
        !(given & FPLT__KEY_BOUNDS) == !(given & FPLT__KEY_CLASSES))
        return refuse(parser, node, "needs either classes or bounds");
    if (given & FPLT__KEY_BOUNDS && given & FPLT__KEY_OTHER && legal & FPLT__KEY_CLASSES)
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
    for (size_t i = 0; word && i < FPLT__SCHEMA_TYPES; i++)
        if (strcmp(fplt__schema_types[i].name, word) == 0) {
            *type = i > FPLT__IGNORED ? FPLT__IGNORED : (fplt__type)i;
            return FPLT_OK;
        }
    if (!word)
        return refuse(parser, node, "has no type");
    fplt__unknown_name("type of column", word, fplt__type_name, parser->error);
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
    const fplt__schema_type *type = &fplt__schema_types[column->type];
    status = check_keys(parser, &node, where, type->keys | more, type->needs, type->name);
    for (size_t k = 0; k < KEYS && !status; k++)
        if (where[k])
            status = take_key(parser, keys[k].bit, where[k], column);
    if (!status && column->type == FPLT__TIME && column->low <= 0)
        status = refuse(parser, &node, "is of type %s: its bounds must begin above 0", type->name);
    if (!status && column->type == FPLT__WEIGHT && (column->low < 0 || column->high <= 0))
        status = refuse(parser, &node,
                        "is of type %s: its bounds must begin at 0 or above it and end above 0",
                        type->name);
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
    if (node->kind != FPLT__YAML_SCALAR || fplt__parse_integer(node->value, &count) || count < 1 ||
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

static const char *const top[] = {"format",   "drafted", "header", "columns",
                                  "features", "entries", "label"};

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
    if (strcmp(node.key, "drafted") == 0)
        return take_switch(parser, &node, &parser->schema->drafted);
    if (strcmp(node.key, "header") == 0)
        return take_switch(parser, &node, &parser->schema->header);
    if (strcmp(node.key, "columns") == 0)
        return take_columns(parser, &node, index);
    if (strcmp(node.key, "features") == 0)
        return take_features(parser, &node);
    if (strcmp(node.key, "entries") == 0)
        return take_column(parser, index, &number, FPLT__KEY_OTHER);
    if (strcmp(node.key, "label") == 0)
        return take_column(parser, index, &label, 0);
    fplt__unknown_name("key of a schema", node.key, top_name, parser->error);
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
                                  fplt__schema_types[column->type].name, first->name);
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

fplt_status fplt__schema_parse(const char *text, size_t length, const char *path, fplt_schema **out,
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
    fplt_status status = fplt__file_read(path, LARGEST_FILE, &text, &length, error);
    if (status)
        return status;
    status = fplt__schema_parse(text, length, path, schema, error);
    fplt__free(text);
    return status;
}
