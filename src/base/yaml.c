/* YAML files as settings, by libyaml's document API. The document is flattened once into nodes in
 * the order of the file; which mapping is a section and which the value of a setting is known only
 * when they are applied. */
#include "base/yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/config.h"
#include "base/memory.h"
#include "base/settings.h"

enum {
    LARGEST_FILE = 1 << 20,
    LARGEST_CONTENT = 1 << 24, /* after aliases are followed */
    DEEPEST = 16,
    DEEPEST_NODE = 64 /* of any kind */
};

enum kind { EMPTY, SCALAR, SEQUENCE, MAPPING };

struct node {
    enum kind kind;
    char *name;      /* owned: "privacy.epsilon" */
    const char *key; /* the last part of it */
    char *value;     /* owned: text of a scalar, a,b,c of a sequence, otherwise NULL */
    size_t line;
    size_t end;  /* mappings: number of the first node that is not inside this one */
    int dropped; /* not to be applied */
};

struct fplt_config {
    char *path; /* owned */
    struct node *nodes;
    size_t count, capacity, bytes;
};

struct walker {
    fplt_config *config;
    yaml_document_t *document;
    const yaml_node_t
        *path[DEEPEST]; /* from the root to here: what an alias must not lead back to */
    size_t depth;
    fplt_error *error;
};

void fplt_config_destroy(fplt_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->count; i++) {
        fplt__free(config->nodes[i].name);
        fplt__free(config->nodes[i].value);
    }
    fplt__free(config->nodes);
    fplt__free(config->path);
    fplt__free(config);
}

static size_t line_of(const yaml_node_t *node)
{
    return node->start_mark.line + 1;
}

static fplt_status refuse(const struct walker *walker, const yaml_node_t *node, const char *why)
{
    return fplt_error_set(walker->error, FPLT_BAD_DATA, "%s:%zu: %s", walker->config->path,
                          line_of(node), why);
}

static const char *text_of(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static fplt_status check_scalar(const struct walker *walker, const yaml_node_t *node)
{
    if (strlen(text_of(node)) != node->data.scalar.length)
        return refuse(walker, node, "a text contains the character NUL, which is not legal");
    return FPLT_OK;
}

/* Aliases can make a small file a huge one: what is kept is counted. */
static fplt_status take_bytes(const struct walker *walker, const yaml_node_t *node, size_t bytes)
{
    walker->config->bytes += bytes;
    if (walker->config->bytes > LARGEST_CONTENT)
        return refuse(walker, node, "with its aliases followed the file is larger than 16 MiB");
    return FPLT_OK;
}

static fplt_status no_memory(const struct walker *walker)
{
    return fplt_error_set(walker->error, FPLT_NO_MEMORY, "no memory for the settings of %s",
                          walker->config->path);
}

/* A growing text. */
struct text {
    char *bytes; /* owned */
    size_t used, capacity;
};

static fplt_status append(struct text *text, char c, fplt_error *error)
{
    fplt_status status = fplt__grow(&text->bytes, &text->capacity, text->used + 2, 1,
                                    "the settings of a file", error);
    if (!status) {
        text->bytes[text->used++] = c;
        text->bytes[text->used] = 0;
    }
    return status;
}

static fplt_status append_escaped(struct text *text, const char *part, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (; *part && !status; part++) {
        if (strchr(",=\\", *part))
            status = append(text, '\\', error);
        if (!status)
            status = append(text, *part, error);
    }
    return status;
}

static fplt_status join_items(const struct walker *walker, const yaml_node_t *sequence,
                              struct text *text)
{
    fplt_status status = FPLT_OK;
    const yaml_node_item_t *first = sequence->data.sequence.items.start;
    for (const yaml_node_item_t *item = first; item < sequence->data.sequence.items.top; item++) {
        const yaml_node_t *node = yaml_document_get_node(walker->document, *item);
        if (node->type != YAML_SCALAR_NODE)
            return refuse(walker, node, "an item of a list must be a single value");
        if ((status = check_scalar(walker, node)) ||
            (status = take_bytes(walker, node, 2 * node->data.scalar.length + 1)) ||
            (item > first && (status = append(text, ',', walker->error))) ||
            (status = append_escaped(text, text_of(node), walker->error)))
            return status;
    }
    return status;
}

/* The value of a sequence: its items, escaped, with commas between them. */
static fplt_status sequence_value(const struct walker *walker, const yaml_node_t *sequence,
                                  char **value)
{
    struct text text = {NULL, 0, 0};
    fplt_status status = join_items(walker, sequence, &text);
    if (!status && !text.bytes && !(text.bytes = fplt__strdup("")))
        status = no_memory(walker);
    if (status)
        fplt__free(text.bytes);
    else
        *value = text.bytes;
    return status;
}

/* YAML's null: nothing, ~ or null, without quotes. */
static int is_null(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (strcmp(text_of(node), "") == 0 || strcmp(text_of(node), "~") == 0 ||
            strcmp(text_of(node), "null") == 0);
}

static char *join_name(const char *section, const char *key)
{
    size_t before = strlen(section), after = strlen(key);
    char *name = fplt__alloc(before + after + 2, 1);
    if (name) {
        memcpy(name, section, before);
        if (before)
            name[before++] = '.';
        memcpy(name + before, key, after);
    }
    return name;
}

/* A node with its name and nothing else yet. */
static fplt_status add_node(const struct walker *walker, const char *section,
                            const yaml_node_t *key)
{
    fplt_config *config = walker->config;
    fplt_status status = FPLT_OK;
    if (key->type != YAML_SCALAR_NODE || key->data.scalar.length == 0)
        return refuse(walker, key, "the name of a setting must be a single word");
    if ((status = check_scalar(walker, key)))
        return status;
    size_t size = strlen(section) + key->data.scalar.length + sizeof(struct node);
    if ((status = take_bytes(walker, key, size)) ||
        (status = fplt__grow(&config->nodes, &config->capacity, config->count + 1,
                             sizeof *config->nodes, "the settings of a file", walker->error)))
        return status;
    char *name = join_name(section, text_of(key));
    if (!name)
        return no_memory(walker);
    config->nodes[config->count++] = (struct node){
        .name = name,
        .key = name + strlen(name) - key->data.scalar.length,
        .line = line_of(key),
    };
    return FPLT_OK;
}

static fplt_status walk(struct walker *walker, const char *section, const yaml_node_t *mapping);

static fplt_status scalar_value(const struct walker *walker, const yaml_node_t *scalar,
                                char **value)
{
    fplt_status status = check_scalar(walker, scalar);
    if (!status)
        status = take_bytes(walker, scalar, scalar->data.scalar.length);
    if (!status && !(*value = fplt__strdup(text_of(scalar))))
        status = no_memory(walker);
    return status;
}

/* The nodes may move while `walk` adds more: they are reached by number. */
static fplt_status add_value(struct walker *walker, size_t index, const yaml_node_t *value)
{
    struct node *node = &walker->config->nodes[index];
    fplt_status status;
    switch (value->type) {
    case YAML_SEQUENCE_NODE:
        node->kind = SEQUENCE;
        return sequence_value(walker, value, &node->value);
    case YAML_MAPPING_NODE:
        node->kind = MAPPING;
        status = walk(walker, node->name, value);
        walker->config->nodes[index].end = walker->config->count;
        return status;
    default:
        node->kind = is_null(value) ? EMPTY : SCALAR;
        return node->kind == EMPTY ? FPLT_OK : scalar_value(walker, value, &node->value);
    }
}

static fplt_status enter(struct walker *walker, const yaml_node_t *mapping)
{
    for (size_t i = 0; i < walker->depth; i++)
        if (walker->path[i] == mapping)
            return refuse(walker, mapping, "an alias inside this section leads back to it");
    if (walker->depth == DEEPEST)
        return refuse(walker, mapping, "sections are nested more than 16 deep");
    walker->path[walker->depth++] = mapping;
    return FPLT_OK;
}

static fplt_status walk(struct walker *walker, const char *section, const yaml_node_t *mapping)
{
    fplt_status status = enter(walker, mapping);
    if (status)
        return status;
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(walker->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(walker->document, pair->value);
        size_t index = walker->config->count;
        if ((status = add_node(walker, section, key)) || (status = add_value(walker, index, value)))
            return status;
    }
    walker->depth--;
    return FPLT_OK;
}

static int compare_names(const void *a, const void *b)
{
    const struct node *const *left = a, *const *right = b;
    int order = strcmp((*left)->name, (*right)->name);
    return order ? order : (*left > *right) - (*left < *right);
}

/* No name twice, whether as a key or as section and key. */
static fplt_status check_duplicates(const fplt_config *config, fplt_error *error)
{
    const struct node **sorted;
    fplt_status status =
        fplt__alloc_into(&sorted, config->count, sizeof *sorted, "the settings of a file", error);
    if (status)
        return status;
    for (size_t i = 0; i < config->count; i++)
        sorted[i] = &config->nodes[i];
    qsort(sorted, config->count, sizeof *sorted, compare_names);
    for (size_t i = 1; i < config->count && !status; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status =
                fplt_error_set(error, FPLT_BAD_DATA,
                               "%s:%zu: '%.80s' is given twice, first in line %zu", config->path,
                               sorted[i]->line, sorted[i]->name, sorted[i - 1]->line);
    fplt__free(sorted);
    return status;
}

static fplt_status flatten(fplt_config *config, yaml_document_t *document, fplt_error *error)
{
    struct walker walker = {.config = config, .document = document, .error = error};
    const yaml_node_t *root = yaml_document_get_root_node(document);
    if (!root || is_null(root))
        return FPLT_OK;
    if (root->type != YAML_MAPPING_NODE)
        return refuse(&walker, root, "a file of settings consists of lines 'name: value'");
    fplt_status status = walk(&walker, "", root);
    return status ? status : check_duplicates(config, error);
}

static size_t line_at(const char *bytes, size_t size, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < size && i < offset; i++)
        line += bytes[i] == '\n';
    return line;
}

static int has_tab_in_front(const char *bytes, size_t size, size_t line)
{
    size_t at = 0;
    for (; line > 1 && at < size; at++)
        line -= bytes[at] == '\n';
    while (at < size && bytes[at] == ' ')
        at++;
    return at < size && bytes[at] == '\t';
}

static fplt_status not_yaml(const char *path, const yaml_parser_t *parser, const char *bytes,
                            size_t size, fplt_error *error)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the settings of %s", path);
    const char *problem = parser->problem ? parser->problem : "unknown error";
    size_t line = parser->problem_mark.line + 1;
    if (parser->error == YAML_READER_ERROR)
        line = line_at(bytes, size, parser->problem_offset);
    if (has_tab_in_front(bytes, size, line))
        return fplt_error_set(
            error, FPLT_BAD_DATA,
            "%s:%zu: the line begins with a tab, but YAML is indented with blanks", path, line);
    return fplt_error_set(error, FPLT_BAD_DATA, "%s:%zu: this is not YAML: %s%s%s", path, line,
                          problem, parser->context ? " " : "",
                          parser->context ? parser->context : "");
}

/* The line where nodes are nested too deep, 0: nowhere. The scanner takes time in the square of the depth,
 * so that this is looked at before anything is built. */
static size_t too_deep(yaml_parser_t *parser, const char *bytes, size_t size)
{
    size_t depth = 0, line = 0;
    yaml_event_type_t type = YAML_NO_EVENT;
    yaml_parser_set_input_string(parser, (const unsigned char *)bytes, size);
    while (!line && type != YAML_STREAM_END_EVENT) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return 0;
        type = event.type;
        depth += type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT;
        depth -= type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT;
        if (depth > DEEPEST_NODE)
            line = event.start_mark.line + 1;
        yaml_event_delete(&event);
    }
    return line;
}

static fplt_status check_depth(const char *path, const char *bytes, size_t size, fplt_error *error)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the settings of %s", path);
    size_t line = too_deep(&parser, bytes, size);
    yaml_parser_delete(&parser);
    return line ? fplt_error_set(error, FPLT_BAD_DATA, "%s:%zu: nested more than %d deep", path,
                                 line, DEEPEST_NODE)
                : FPLT_OK;
}

/* One document and then no other. */
static fplt_status parse(fplt_config *config, yaml_parser_t *parser, const char *bytes, size_t size,
                         fplt_error *error)
{
    yaml_document_t document;
    yaml_parser_set_input_string(parser, (const unsigned char *)bytes, size);
    if (!yaml_parser_load(parser, &document))
        return not_yaml(config->path, parser, bytes, size, error);
    int empty = !yaml_document_get_root_node(&document);
    fplt_status status = flatten(config, &document, error);
    yaml_document_delete(&document);
    if (status || empty)
        return status;
    if (!yaml_parser_load(parser, &document))
        return not_yaml(config->path, parser, bytes, size, error);
    const yaml_node_t *second = yaml_document_get_root_node(&document);
    if (second)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s:%zu: a second document begins, but a file of settings has one",
                                config->path, line_of(second));
    yaml_document_delete(&document);
    return status;
}

static fplt_status check_size(const char *path, size_t size, fplt_error *error)
{
    if (size <= LARGEST_FILE)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s:1: the file is larger than 1 MiB, too large for settings", path);
}

fplt_status fplt__config_parse(const char *path, const char *bytes, size_t size, fplt_config **out,
                               fplt_error *error)
{
    *out = NULL;
    fplt_config *config;
    fplt_status status = check_size(path, size, error);
    if (!status)
        status = check_depth(path, bytes, size, error);
    if (status || (status = fplt__alloc_into(&config, 1, sizeof *config, "a file", error)))
        return status;
    yaml_parser_t parser;
    config->path = fplt__strdup(path);
    if (!config->path || !yaml_parser_initialize(&parser)) {
        fplt_config_destroy(config);
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the settings of %s", path);
    }
    status = parse(config, &parser, bytes, size, error);
    yaml_parser_delete(&parser);
    if (status)
        fplt_config_destroy(config);
    else
        *out = config;
    return status;
}

static fplt_status read_file(const char *path, char *bytes, size_t *size, fplt_error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return fplt_error_set(error, FPLT_IO, "%s: cannot be opened: %s", path, strerror(errno));
    *size = fread(bytes, 1, LARGEST_FILE + 1, file);
    fplt_status status = FPLT_OK;
    if (ferror(file))
        status = fplt_error_set(error, FPLT_IO, "%s: cannot be read: %s", path, strerror(errno));
    fclose(file);
    return status;
}

fplt_status fplt_config_load(const char *path, fplt_config **config, fplt_error *error)
{
    *config = NULL;
    char *bytes;
    size_t size = 0;
    fplt_status status =
        fplt__alloc_into(&bytes, LARGEST_FILE + 1, 1, "the settings of a file", error);
    if (!status)
        status = read_file(path, bytes, &size, error);
    if (!status)
        status = fplt__config_parse(path, bytes, size, config, error);
    fplt__free(bytes);
    return status;
}

static struct node *find_value(const fplt_config *config, const char *name)
{
    for (size_t i = 0; i < config->count; i++) {
        struct node *node = &config->nodes[i];
        if (node->value && !node->dropped && strcmp(node->name, name) == 0)
            return node;
    }
    return NULL;
}

const char *fplt_config_find(const fplt_config *config, const char *name, size_t *line)
{
    const struct node *node = find_value(config, name);
    if (node && line)
        *line = node->line;
    return node ? node->value : NULL;
}

void fplt__config_drop(fplt_config *config, const char *name)
{
    struct node *node = find_value(config, name);
    if (node)
        node->dropped = 1;
}

size_t fplt__config_count(const fplt_config *config)
{
    return config->count;
}

fplt__yaml_node fplt__config_node(const fplt_config *config, size_t index)
{
    static const fplt__yaml_kind kinds[] = {[EMPTY] = FPLT__YAML_EMPTY,
                                            [SCALAR] = FPLT__YAML_SCALAR,
                                            [SEQUENCE] = FPLT__YAML_SEQUENCE,
                                            [MAPPING] = FPLT__YAML_MAPPING};
    const struct node *node = &config->nodes[index];
    return (fplt__yaml_node){.kind = kinds[node->kind],
                             .name = node->name,
                             .key = node->key,
                             .value = node->value,
                             .line = node->line,
                             .next = node->kind == MAPPING ? node->end : index + 1};
}

static fplt_status misfit(const fplt_config *config, const struct node *node,
                          const fplt_setting *row, const char *is, fplt_error *error)
{
    char legal[400];
    fplt_setting_legal(row, legal, sizeof legal);
    return fplt_error_set(error, FPLT_BAD_VALUE, "%s:%zu: %s %s, but it must be %s", config->path,
                          node->line, node->name, is, legal);
}

static fplt_status set(const fplt_config *config, const struct node *node, const char *value,
                       fplt_settings *settings, fplt_error *error)
{
    char origin[600];
    snprintf(origin, sizeof origin, "%.560s:%zu", config->path, node->line);
    return fplt_settings_set(settings, node->name, value, origin, error);
}

static int is_section(const fplt_settings *settings, const char *name)
{
    size_t length = strlen(name);
    const fplt_setting *row;
    for (size_t i = 0; (row = fplt_settings_row(settings, i, NULL)); i++)
        if (strncmp(row->name, name, length) == 0 && row->name[length] == '.')
            return 1;
    return 0;
}

/* A value may be a list where `lists`: its items are joined as those of any list, and escaped once more. */
static fplt_status join_pairs(const fplt_config *config, size_t index, int lists, struct text *text,
                              fplt_error *error)
{
    const struct node *mapping = &config->nodes[index];
    for (size_t i = index + 1; i < mapping->end; i++) {
        const struct node *pair = &config->nodes[i];
        fplt_status status;
        if (pair->kind == MAPPING || (pair->kind == SEQUENCE && !lists))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s:%zu: %s must be a single value, because %s is a set of "
                                  "key=value pairs",
                                  config->path, pair->line, pair->name, mapping->name);
        if ((i > index + 1 && (status = append(text, ',', error))) ||
            (status = append_escaped(text, pair->key, error)) ||
            (status = append(text, '=', error)) ||
            (status = append_escaped(text, pair->value ? pair->value : "", error)))
            return status;
    }
    return FPLT_OK;
}

static fplt_status apply_pairs(const fplt_config *config, size_t index, int lists,
                               fplt_settings *settings, fplt_error *error)
{
    struct text text = {NULL, 0, 0};
    fplt_status status = join_pairs(config, index, lists, &text, error);
    if (!status && text.bytes)
        status = set(config, &config->nodes[index], text.bytes, settings, error);
    fplt__free(text.bytes);
    return status;
}

/* Applies node number *index and moves on to the next that is not done. */
static fplt_status apply_node(const fplt_config *config, size_t *index, fplt_settings *settings,
                              fplt_error *error)
{
    const struct node *node = &config->nodes[*index];
    const fplt_setting *row = fplt__settings_find(settings, node->name);
    size_t here = (*index)++;
    if (node->dropped)
        return FPLT_OK;
    switch (node->kind) {
    case MAPPING:
        if (row && row->flags & FPLT_PAIRS) {
            *index = node->end;
            return apply_pairs(config, here, (row->flags & FPLT_LIST) != 0, settings, error);
        }
        if (row)
            return misfit(config, node, row, "is a section", error);
        if (node->end > here + 1 || is_section(settings, node->name))
            return FPLT_OK;
        return set(config, node, "", settings, error);
    case EMPTY:
        if (row)
            return misfit(config, node, row, "has no value", error);
        return is_section(settings, node->name) ? FPLT_OK : set(config, node, "", settings, error);
    case SEQUENCE:
        if (row && !(row->flags & FPLT_LIST))
            return misfit(config, node, row, "is a list", error);
        return set(config, node, node->value, settings, error);
    default: return set(config, node, node->value, settings, error);
    }
}

fplt_status fplt_config_apply(const fplt_config *config, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < config->count && !status;)
        status = apply_node(config, &i, settings, error);
    return status;
}
