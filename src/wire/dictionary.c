/* Dictionaries as canonical JSON, and as numbers. */
#include "wire/dictionary.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "wire/json.h"

enum { MAX_COLUMNS = 1 << 20, BYTES = 6 };

static const char *const kinds[FPLT__DICTIONARY_KINDS] = {[FPLT__DICTIONARY_ANY] = "any",
                                                          [FPLT__DICTIONARY_NUMBER] = "number",
                                                          [FPLT__DICTIONARY_CATEGORY] = "category"};

/* --- memory --- */

static fplt_status no_memory(fplt_error *error)
{
    return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the names of columns");
}

fplt_status fplt__dictionary_add_column(fplt__dictionary *dictionary, const char *name,
                                        size_t length, fplt__dictionary_kind kind,
                                        fplt_error *error)
{
    size_t room = dictionary->columns;
    fplt_status status = FPLT_OK;
    if ((room & (room + 1)) == 0) /* 0, 1, 3, 7, ...: doubled */
        status = fplt__grow(&dictionary->column, &room, 2 * room + 1, sizeof *dictionary->column,
                            "the names of columns", error);
    if (status)
        return status;
    fplt__dictionary_column *column = &dictionary->column[dictionary->columns++];
    *column = (fplt__dictionary_column){.name = fplt__strndup(name, length), .kind = kind};
    return column->name ? FPLT_OK : no_memory(error);
}

fplt_status fplt__dictionary_add_level(fplt__dictionary_column *column, const char *level,
                                       size_t length, fplt_error *error)
{
    size_t room = column->levels;
    fplt_status status = FPLT_OK;
    if ((room & (room + 1)) == 0)
        status = fplt__grow(&column->level, &room, 2 * room + 1, sizeof *column->level,
                            "the levels of a column", error);
    if (status)
        return status;
    char *copy = fplt__strndup(level, length);
    if (!copy)
        return no_memory(error);
    column->level[column->levels++] = copy;
    return FPLT_OK;
}

static void clear_column(fplt__dictionary_column *column)
{
    for (size_t i = 0; i < column->levels; i++)
        fplt__free(column->level[i]);
    fplt__free(column->level);
    fplt__free(column->rows);
    fplt__free(column->name);
}

void fplt__dictionary_clear(fplt__dictionary *dictionary)
{
    for (size_t i = 0; i < dictionary->columns; i++)
        clear_column(&dictionary->column[i]);
    fplt__free(dictionary->column);
    clear_column(&dictionary->label);
    memset(dictionary, 0, sizeof *dictionary);
}

fplt__dictionary_column *fplt__dictionary_find(const fplt__dictionary *dictionary, const char *name)
{
    for (size_t i = 0; i < dictionary->columns; i++)
        if (strcmp(dictionary->column[i].name, name) == 0)
            return &dictionary->column[i];
    return NULL;
}

/* --- writing --- */

static int is_told(const fplt__dictionary_column *column, size_t level)
{
    return !column->rows || column->rows[level] >= FPLT__DICTIONARY_MIN_ROWS;
}

static json_t *column_json(const fplt__dictionary_column *column)
{
    json_t *levels = json_array();
    for (size_t i = 0; i < column->levels; i++)
        if (is_told(column, i))
            json_array_append_new(levels, json_string(column->level[i]));
    return json_pack("{s:s,s:o,s:s?}", "kind", kinds[column->kind], "levels", levels, "name",
                     column->name);
}

static fplt_status check_words(const fplt__dictionary_column *column, fplt_error *error)
{
    if (column->name && strlen(column->name) > FPLT__DICTIONARY_MAX_WORD)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the name '%.40s...' has %zu bytes, but at most %d are legal",
                              column->name, strlen(column->name), FPLT__DICTIONARY_MAX_WORD);
    for (size_t i = 0; i < column->levels; i++)
        if (strlen(column->level[i]) > FPLT__DICTIONARY_MAX_WORD)
            return fplt_error_set(
                error, FPLT_BAD_DATA,
                "column '%s': the level '%.40s...' has %zu bytes, but at most %d are legal over a "
                "network; shorten it",
                column->name ? column->name : "label", column->level[i], strlen(column->level[i]),
                FPLT__DICTIONARY_MAX_WORD);
    return FPLT_OK;
}

fplt_status fplt__dictionary_text(const fplt__dictionary *dictionary, char **text,
                                  fplt_error *error)
{
    *text = NULL;
    fplt_status status = check_words(&dictionary->label, error);
    for (size_t i = 0; i < dictionary->columns && !status; i++)
        status = check_words(&dictionary->column[i], error);
    if (status)
        return status;
    json_t *columns = json_array();
    for (size_t i = 0; i < dictionary->columns; i++)
        json_array_append_new(columns, column_json(&dictionary->column[i]));
    json_t *object =
        json_pack("{s:o,s:b,s:o,s:I,s:b}", "columns", columns, "drop", dictionary->drops_first,
                  "label", column_json(&dictionary->label), "positions",
                  (json_int_t)dictionary->positions, "whole", dictionary->is_whole);
    if ((status = fplt__json_text(object, text, error)))
        return status;
    size_t length = strlen(*text);
    if (length <= FPLT__DICTIONARY_MAX_TEXT)
        return FPLT_OK;
    fplt__free(*text);
    *text = NULL;
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the names of columns and levels have %zu bytes, but at most %d are "
                          "legal over a network: declare a schema",
                          length, FPLT__DICTIONARY_MAX_TEXT);
}

/* --- reading --- */

static int is_word(const json_t *value)
{
    size_t length = json_string_length(value);
    return json_is_string(value) && length > 0 && length <= FPLT__DICTIONARY_MAX_WORD &&
           strlen(json_string_value(value)) == length;
}

static void read_levels(fplt__reader *reader, fplt__dictionary_column *column)
{
    const json_t *array = fplt__reader_any(reader, "levels", JSON_ARRAY, "a list of words");
    size_t count = json_array_size(array);
    if (array && count && column->kind != FPLT__DICTIONARY_CATEGORY)
        fplt__reader_refuse(reader, "levels", "empty where the column is no category");
    for (size_t i = 0; i < count && !reader->status; i++) {
        const json_t *word = json_array_get(array, i);
        if (!is_word(word))
            fplt__reader_refuse(reader, "levels", "a list of words of 1 to 255 bytes");
        else
            reader->status = fplt__dictionary_add_level(column, json_string_value(word),
                                                        json_string_length(word), reader->error);
    }
}

static fplt__dictionary_kind read_kind(fplt__reader *reader)
{
    char word[16];
    fplt__reader_text(reader, "kind", word, sizeof word);
    for (int i = 0; i < FPLT__DICTIONARY_KINDS; i++)
        if (strcmp(word, kinds[i]) == 0)
            return (fplt__dictionary_kind)i;
    fplt__reader_refuse(reader, "kind", "any, number or category");
    return FPLT__DICTIONARY_ANY;
}

static const json_t *read_name(fplt__reader *reader, int optional)
{
    const json_t *name = fplt__reader_any(reader, "name", -1, "a name");
    if (name && !is_word(name) && !(optional && json_is_null(name)))
        fplt__reader_refuse(reader, "name", "a word of 1 to 255 bytes");
    return reader->status || json_is_null(name) ? NULL : name;
}

static fplt_status read_column(const json_t *object, fplt__dictionary *dictionary,
                               fplt_error *error)
{
    if (!json_is_object(object))
        return fplt_error_set(error, FPLT_BAD_DATA, "columns: an item is no object");
    fplt__reader reader = fplt__reader_open("columns", object, error);
    fplt__dictionary_kind kind = read_kind(&reader);
    const json_t *name = read_name(&reader, 0);
    if (!reader.status)
        reader.status = fplt__dictionary_add_column(dictionary, json_string_value(name),
                                                    json_string_length(name), kind, error);
    if (!reader.status)
        read_levels(&reader, &dictionary->column[dictionary->columns - 1]);
    return reader.status ? reader.status : fplt__reader_close(&reader);
}

static void read_label(fplt__reader *reader, fplt__dictionary *dictionary)
{
    fplt__reader part;
    if (!fplt__reader_part(reader, "label", &part)) {
        fplt__reader_refuse(reader, "label", "an object");
        return;
    }
    dictionary->label.kind = read_kind(&part);
    const json_t *name = read_name(&part, 1);
    if (name && !(dictionary->label.name =
                      fplt__strndup(json_string_value(name), json_string_length(name))))
        part.status = no_memory(part.error);
    if (!part.status)
        read_levels(&part, &dictionary->label);
    reader->status = reader->status ? reader->status : fplt__reader_close(&part);
}

static fplt_status read_dictionary(const json_t *object, fplt__dictionary *dictionary,
                                   fplt_error *error)
{
    fplt__reader reader = fplt__reader_open("columns", object, error);
    const json_t *columns = fplt__reader_any(&reader, "columns", JSON_ARRAY, "a list of columns");
    size_t count = json_array_size(columns);
    if (count > MAX_COLUMNS)
        fplt__reader_refuse(&reader, "columns", "a list of at most 1048576 columns");
    for (size_t i = 0; i < count && !reader.status; i++)
        reader.status = read_column(json_array_get(columns, i), dictionary, error);
    if (reader.status)
        return reader.status;
    dictionary->drops_first = fplt__reader_flag(&reader, "drop");
    read_label(&reader, dictionary);
    if (reader.status)
        return reader.status;
    dictionary->positions = fplt__reader_count(&reader, "positions", UINT32_MAX);
    if (dictionary->positions && count)
        fplt__reader_refuse(&reader, "positions", "0 where columns have names");
    dictionary->is_whole = fplt__reader_flag(&reader, "whole");
    return fplt__reader_close(&reader);
}

fplt_status fplt__dictionary_read(const void *text, size_t size, fplt__dictionary *dictionary,
                                  fplt_error *error)
{
    json_t *object;
    memset(dictionary, 0, sizeof *dictionary);
    fplt_status status =
        fplt__json_read("columns", text, size, FPLT__DICTIONARY_MAX_TEXT, &object, error);
    if (status)
        return status;
    status = read_dictionary(object, dictionary, error);
    json_decref(object);
    if (status)
        fplt__dictionary_clear(dictionary);
    return status;
}

/* --- numbers --- */

size_t fplt__dictionary_numbers(size_t length)
{
    return (length + BYTES - 1) / BYTES;
}

void fplt__dictionary_pack(const char *text, size_t length, double *numbers)
{
    for (size_t i = 0; i < fplt__dictionary_numbers(length); i++) {
        uint64_t word = 0;
        for (size_t k = BYTES; k-- > 0;)
            word = word << 8 | (i * BYTES + k < length ? (unsigned char)text[i * BYTES + k] : 0u);
        numbers[i] = (double)word;
    }
}

fplt_status fplt__dictionary_unpack(const double *numbers, size_t length, char *text,
                                    fplt_error *error)
{
    const double end = (double)(UINT64_C(1) << 8 * BYTES);
    for (size_t i = 0; i < fplt__dictionary_numbers(length); i++) {
        if (!(numbers[i] >= 0 && numbers[i] < end && numbers[i] == floor(numbers[i])))
            return fplt_error_set(error, FPLT_BAD_DATA, "the names of columns cannot be read");
        uint64_t word = (uint64_t)numbers[i];
        for (size_t k = 0; k < BYTES && i * BYTES + k < length; k++)
            text[i * BYTES + k] = (char)(word >> 8 * k & 255);
    }
    text[length] = 0;
    return FPLT_OK;
}
