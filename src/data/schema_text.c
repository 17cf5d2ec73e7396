/* Schemas: the canonical text and its digest. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "data/schema_types.h"

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
    unsigned legal = fplt__schema_types[column->type].keys;
    add_key(out, column->name);
    fplt__buffer_add(out, "{");
    if (!libsvm) {
        add_key(out, "type");
        add_text(out, fplt__schema_types[column->type].name);
    }
    if (column->bounded)
        add_bounds(out, column);
    if (column->levels.names.count)
        add_levels(out, levels_key(column->type), &column->levels);
    if (legal & FPLT__KEY_CENTRE) {
        add_number(out, "centre", column->centre);
        add_number(out, "scale", column->scale);
    }
    if (column->base != FPLT__NOWHERE) {
        add_key(out, "base");
        add_text(out, fplt__lookup_word(&column->levels.names, column->base).text);
    }
    if (legal & FPLT__KEY_MISSING)
        add_answer(out, "missing", column, column->missing, column->missing_value);
    if (fplt__schema_answers_other(column, libsvm))
        add_answer(out, "other", column, column->other, column->other_level);
    if (legal & FPLT__KEY_MAX)
        fplt__buffer_format(out, ",\"most\":%llu", (unsigned long long)column->most);
    fplt__buffer_add(out, "}");
}

fplt_status fplt__schema_write_text(fplt_schema *schema, fplt_error *error)
{
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    const char *drafted = schema->drafted ? "\"drafted\":true," : "";
    if (schema->libsvm)
        fplt__buffer_format(&out, "{\"format\":\"libsvm\",%s\"features\":%zu", drafted,
                            schema->features);
    else
        fplt__buffer_format(&out, "{\"format\":\"csv\",%s\"header\":%s,\"columns\":{", drafted,
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
