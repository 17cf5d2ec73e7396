/* A document against a JSON schema (draft 7, the words that are needed here). */
#include "promise/form.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char fplt__certificate_schema[] = {
#include "promise/certificate_schema.h"
    0};

enum { DEEPEST = 512 };

struct check {
    const char *path;
    const json_t *root; /* of the schema */
    fplt_error *error;
    char where[DEEPEST]; /* field.field[2].field */
};

static fplt_status refuse(const struct check *check, const json_t *value, const char *legal)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
    fplt_status status =
        fplt_error_set(check->error, FPLT_BAD_DATA, "%s: %s is %.80s, but it must be %s",
                       check->path, *check->where ? check->where : "the document",
                       text ? text : "malformed", legal);
    free(text);
    return status;
}

/* ---- words ---- */

static int has_type(const json_t *value, const char *type)
{
    static const struct {
        const char *name;
        json_type kind;
    } types[] = {{"object", JSON_OBJECT}, {"array", JSON_ARRAY},     {"string", JSON_STRING},
                 {"null", JSON_NULL},     {"integer", JSON_INTEGER}, {"number", JSON_REAL},
                 {"number", JSON_INTEGER}};
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0 && json_typeof(value) == types[i].kind)
            return 1;
    return 0;
}

static fplt_status check_type(const struct check *check, const json_t *value, const json_t *word)
{
    char legal[128] = "";
    size_t count = json_is_array(word) ? json_array_size(word) : 1, used = 0;
    for (size_t i = 0; i < count; i++) {
        const char *type = json_string_value(json_is_array(word) ? json_array_get(word, i) : word);
        if (has_type(value, type))
            return FPLT_OK;
        used += (size_t)snprintf(legal + used, sizeof legal - used, "%sof type %s", i ? " or " : "",
                                 type);
    }
    return refuse(check, value, legal);
}

static fplt_status check_const(const struct check *check, const json_t *value, const json_t *word)
{
    char legal[200];
    if (json_equal(value, word))
        return FPLT_OK;
    char *text = json_dumps(word, JSON_ENCODE_ANY);
    snprintf(legal, sizeof legal, "%s", text ? text : "the constant of the schema");
    free(text);
    return refuse(check, value, legal);
}

static fplt_status check_enum(const struct check *check, const json_t *value, const json_t *word)
{
    for (size_t i = 0; i < json_array_size(word); i++)
        if (json_equal(value, json_array_get(word, i)))
            return FPLT_OK;
    char legal[400];
    char *text = json_dumps(word, JSON_ENCODE_ANY);
    snprintf(legal, sizeof legal, "one of %s", text ? text : "the schema's");
    free(text);
    return refuse(check, value, legal);
}

static fplt_status check_pattern(const struct check *check, const json_t *value, const json_t *word)
{
    regex_t pattern;
    char legal[200];
    if (!json_is_string(value))
        return FPLT_OK;
    if (regcomp(&pattern, json_string_value(word), REG_EXTENDED | REG_NOSUB))
        return fplt_error_set(check->error, FPLT_FAILED, "the schema's pattern %s is malformed",
                              json_string_value(word));
    int fits = regexec(&pattern, json_string_value(value), 0, NULL, 0) == 0;
    regfree(&pattern);
    snprintf(legal, sizeof legal, "a text of the form %s", json_string_value(word));
    return fits ? FPLT_OK : refuse(check, value, legal);
}

static int at_least(double a, double b)
{
    return a >= b;
}

static int at_most(double a, double b)
{
    return a <= b;
}

static int above(double a, double b)
{
    return a > b;
}

static int below(double a, double b)
{
    return a < b;
}

/* Counts are below 2^53 by the schema's own limits, so doubles compare exactly. */
static fplt_status check_range(const struct check *check, const json_t *value, const json_t *schema)
{
    static const struct {
        const char *word, *says;
        int (*holds)(double, double);
    } ranges[] = {{"minimum", "at least", at_least},
                  {"maximum", "at most", at_most},
                  {"exclusiveMinimum", "above", above},
                  {"exclusiveMaximum", "below", below}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const json_t *bound = json_object_get(schema, ranges[i].word);
        char legal[64];
        if (!bound || ranges[i].holds(json_number_value(value), json_number_value(bound)))
            continue;
        snprintf(legal, sizeof legal, "%s %.17g", ranges[i].says, json_number_value(bound));
        return refuse(check, value, legal);
    }
    return FPLT_OK;
}

/* ---- the walk ---- */

static fplt_status check_value(struct check *check, const json_t *value, const json_t *schema);

/* Checks what lies inside under its name. */
static fplt_status check_inside(struct check *check, const json_t *value, const json_t *schema,
                                const char *format, const char *name, size_t index)
{
    size_t length = strlen(check->where);
    char part[200];
    snprintf(part, sizeof part, format, name, index);
    snprintf(check->where + length, sizeof check->where - length, "%s%s",
             length && *part != '[' ? "." : "", part);
    fplt_status status = check_value(check, value, schema);
    check->where[length] = 0;
    return status;
}

static fplt_status check_required(const struct check *check, const json_t *object,
                                  const json_t *required)
{
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (!json_object_get(object, name))
            return fplt_error_set(check->error, FPLT_BAD_DATA, "%s: %s%s%s is missing", check->path,
                                  check->where, *check->where ? "." : "", name);
    }
    return FPLT_OK;
}

static fplt_status check_object(struct check *check, const json_t *object, const json_t *schema)
{
    const json_t *properties = json_object_get(schema, "properties"), *value;
    const json_t *others = json_object_get(schema, "additionalProperties");
    const char *name;
    fplt_status status = check_required(check, object, json_object_get(schema, "required"));
    json_object_foreach((json_t *)object, name, value)
    {
        const json_t *inner = json_object_get(properties, name);
        if (status)
            return status;
        if (!inner && json_is_false(others))
            return fplt_error_set(check->error, FPLT_BAD_DATA,
                                  "%s: %s%s%.80s is not a field of a certificate", check->path,
                                  check->where, *check->where ? "." : "", name);
        if (!inner)
            inner = json_is_object(others) ? others : NULL;
        if (inner)
            status = check_inside(check, value, inner, "%.150s", name, 0);
    }
    return status;
}

static fplt_status check_array(struct check *check, const json_t *array, const json_t *schema)
{
    const json_t *least = json_object_get(schema, "minItems");
    const json_t *items = json_object_get(schema, "items");
    fplt_status status = FPLT_OK;
    if (least && (json_int_t)json_array_size(array) < json_integer_value(least))
        return refuse(check, array, "a longer list");
    for (size_t i = 0; items && !status && i < json_array_size(array); i++)
        status = check_inside(check, json_array_get(array, i), items, "%s[%zu]", "", i);
    return status;
}

static fplt_status check_value(struct check *check, const json_t *value, const json_t *schema)
{
    static const struct {
        const char *word;
        fplt_status (*check)(const struct check *, const json_t *, const json_t *);
    } words[] = {{"type", check_type},
                 {"const", check_const},
                 {"enum", check_enum},
                 {"pattern", check_pattern}};
    static const char definitions[] = "#/definitions/";
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference)
        return check_value(check, value,
                           json_object_get(json_object_get(check->root, "definitions"),
                                           reference + strlen(definitions)));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const json_t *word = json_object_get(schema, words[i].word);
        fplt_status status = word ? words[i].check(check, value, word) : FPLT_OK;
        if (status)
            return status;
    }
    if (json_is_number(value))
        return check_range(check, value, schema);
    if (json_is_object(value))
        return check_object(check, value, schema);
    return json_is_array(value) ? check_array(check, value, schema) : FPLT_OK;
}

fplt_status fplt__form_check(const char *path, const json_t *document, const json_t *schema,
                             fplt_error *error)
{
    struct check check = {.path = path, .root = schema, .error = error};
    return check_value(&check, document, schema);
}
