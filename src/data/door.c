/* Rows of doors as CSV text. */
#include <math.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/text.h"
#include "data/dataset_access.h"
#include "data/door_load.h"
#include "data/schema.h"

/* Text that is made of rows. Invariants: `columns` is 0 until the names are known; every line of the text is a row. */
struct writing {
    const fplt__door_kind *kind;
    const fplt__door_request *request;
    fplt__buffer text, statement, order, key, key_before;
    size_t columns, lines, rows, max_rows;
    size_t *key_column; /* owned: columns that order-by names */
    size_t keys, key_capacity;
    char separator, decimal;
    int is_enough; /* the rows that were wanted are there */
};

/* ---- cells ---- */

static void write_number(struct writing *writing, double value)
{
    char text[32];
    if (value > -1e15 && value < 1e15 && value == (double)(long long)value)
        snprintf(text, sizeof text, "%s%lld", signbit(value) && value == 0 ? "-" : "",
                 (long long)value);
    else
        fplt__number_name(value, text);
    char *point = strchr(text, '.');
    if (point)
        *point = writing->decimal;
    int quotes = point && writing->decimal == writing->separator;
    fplt__buffer_format(&writing->text, quotes ? "\"%s\"" : "%s", text);
}

/* Line ends become blanks, so that a row is a line; what would be read otherwise stands in quotes. */
static void write_text(struct writing *writing, const char *text, size_t length)
{
    fplt__buffer *to = &writing->text;
    int quotes = length && (*text == ' ' || *text == '\t' || text[length - 1] == ' ' ||
                            text[length - 1] == '\t');
    for (size_t i = 0; i < length && !quotes; i++)
        quotes = text[i] == writing->separator || text[i] == '"';
    if (quotes)
        fplt__buffer_add_bytes(to, "\"", 1);
    for (size_t i = 0, from = 0; i <= length; i++) {
        int is_sign = i < length && (text[i] == '"' || text[i] == '\n' || text[i] == '\r');
        if (i < length && !is_sign)
            continue;
        if (i > from)
            fplt__buffer_add_bytes(to, text + from, i - from);
        if (is_sign)
            fplt__buffer_add(to, text[i] == '"' ? "\"\"" : " ");
        from = i + 1;
    }
    if (quotes)
        fplt__buffer_add_bytes(to, "\"", 1);
}

static void write_cell(struct writing *writing, const fplt__cell *cell)
{
    const char *point;
    if (cell->kind == FPLT__CELL_TEXT)
        write_text(writing, cell->text, cell->length);
    else if (cell->kind == FPLT__CELL_NUMBER && !cell->text && !isnan(cell->number))
        write_number(writing, cell->number);
    else if (cell->kind == FPLT__CELL_NUMBER && cell->text) {
        point = writing->decimal == '.' ? NULL : memchr(cell->text, '.', cell->length);
        if (!point) {
            fplt__buffer_add_bytes(&writing->text, cell->text, cell->length);
            return;
        }
        fplt__buffer_format(&writing->text, "\"%.*s%c%.*s\"", (int)(point - cell->text), cell->text,
                            writing->decimal, (int)(cell->text + cell->length - point - 1),
                            point + 1);
    }
}

static fplt_status check_cell(const struct writing *writing, size_t number, size_t column,
                              const fplt__cell *cell, fplt_error *error)
{
    if (cell->kind == FPLT__CELL_MISSING || !cell->text || cell->length <= FPLT__DOOR_MAX_CELL)
        return FPLT_OK;
    return fplt__bad_data(error, writing->request->name, number,
                          "column %zu: the cell has %zu bytes, but at most %d are read: leave the "
                          "column out",
                          column + 1, cell->length, FPLT__DOOR_MAX_CELL);
}

static fplt_status end_line(struct writing *writing, fplt_error *error)
{
    fplt__buffer_add_bytes(&writing->text, "\n", 1);
    writing->lines++;
    if (writing->text.status)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the rows of %.300s",
                              writing->request->name);
    if (writing->text.length > writing->request->max_bytes)
        return fplt__bad_data(error, writing->request->name, 0,
                              "the table has more than %.3g GiB of text: raise --largest-file, or "
                              "read fewer rows or columns",
                              (double)writing->request->max_bytes / 1073741824.0);
    return FPLT_OK;
}

/* A line is where its number says, so that sentences name the row. */
static fplt_status skip_lines(struct writing *writing, size_t number, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    while (!status && writing->kind->is_sheet && writing->lines + 1 < number)
        status = end_line(writing, error);
    return status;
}

/* ---- order ---- */

static fplt_status find_key(struct writing *writing, const fplt__cell *names, size_t count,
                            fplt_error *error)
{
    char name[1024];
    fplt_status status = FPLT_OK;
    for (const char *list = writing->order.text; list && *list && !status;) {
        size_t i = 0;
        list = fplt__list_next(list, name, sizeof name);
        while (i < count && !fplt__span_is((fplt__span){names[i].text, names[i].length}, name))
            i++;
        if (i == count)
            return fplt__bad_data(error, writing->request->name, 0,
                                  "order-by: there is no column '%.80s' in the result: select it "
                                  "too (--id %.80s keeps it from being a feature)",
                                  name, name);
        status = fplt__grow(&writing->key_column, &writing->key_capacity, writing->keys + 1,
                            sizeof *writing->key_column, "columns", error);
        if (!status)
            writing->key_column[writing->keys++] = i;
    }
    return status;
}

/* Rows are sorted by the key, so that equal ones are neighbours. */
static fplt_status check_key(struct writing *writing, size_t number, const fplt__cell *cells,
                             fplt_error *error)
{
    fplt__buffer all = writing->text;
    fplt__buffer before = writing->key_before;
    writing->key_before = writing->key;
    writing->key = before;
    writing->text = writing->key;
    writing->text.length = 0;
    size_t missing = writing->keys;
    for (size_t i = 0; i < writing->keys; i++) {
        const fplt__cell *cell = &cells[writing->key_column[i]];
        if (cell->kind == FPLT__CELL_MISSING)
            missing = i;
        write_cell(writing, cell);
        fplt__buffer_add_bytes(&writing->text, "\n", 1);
    }
    writing->key = writing->text;
    writing->text = all;
    const fplt__buffer *key = &writing->key, *last = &writing->key_before;
    if (key->status)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a key");
    if (missing < writing->keys)
        return fplt__bad_data(error, writing->request->name, number,
                              "order-by: the key %.80s has no value here, but it must name every "
                              "row",
                              writing->order.text);
    if (writing->rows && key->length == last->length &&
        memcmp(key->text, last->text, key->length) == 0)
        return fplt__bad_data(error, writing->request->name, number,
                              "order-by: rows %zu and %zu have the same key %.80s (%.*s), so that "
                              "their order is not settled: name a unique key, several columns "
                              "separated by commas",
                              number - 1, number, writing->order.text, (int)(key->length - 1),
                              key->text);
    return FPLT_OK;
}

static fplt_status take_order(void *context, const char *names, fplt_error *error)
{
    struct writing *writing = context;
    if (!writing->order.length)
        fplt__buffer_add(&writing->order, names);
    return writing->order.status ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for an order")
                                 : FPLT_OK;
}

static void quote_name(fplt__buffer *to, const char *quote, const char *name, size_t length)
{
    fplt__buffer_add(to, quote);
    for (size_t i = 0; i < length; i++) {
        if (name[i] == *quote)
            fplt__buffer_add_bytes(to, quote, 1);
        fplt__buffer_add_bytes(to, name + i, 1);
    }
    fplt__buffer_add(to, quote);
}

/* SCHEMA.TABLE is two names. */
static void write_from(struct writing *writing, const char *quote)
{
    fplt__buffer *to = &writing->statement;
    const char *table = writing->request->table, *query = writing->request->query;
    size_t length = query ? strlen(query) : 0;
    fplt__buffer_add(to, "SELECT * FROM ");
    while (length && strchr("; \t\r\n", query[length - 1]))
        length--;
    if (query) {
        fplt__buffer_add(to, "(");
        fplt__buffer_add_bytes(to, query, length);
        fplt__buffer_add(to, "\n) fedplt_rows");
    }
    while (table) {
        const char *dot = strchr(table, '.');
        quote_name(to, quote, table, dot ? (size_t)(dot - table) : strlen(table));
        if (dot)
            fplt__buffer_add(to, ".");
        table = dot ? dot + 1 : NULL;
    }
}

static fplt_status make_statement(void *context, const char *quote, const char **text,
                                  fplt_error *error)
{
    struct writing *writing = context;
    fplt__buffer *to = &writing->statement;
    char name[1024];
    fplt__buffer_clear(to);
    if (!writing->order.length)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "%.300s: the order of the rows is not settled: add &order-by=KEY with the column (or "
            "columns, separated by \\,) that names each row; a comma in a query is written \\,, "
            "or the query stands in a file: ?query-file=FILE",
            writing->request->name);
    write_from(writing, quote);
    fplt__buffer_add(to, " ORDER BY ");
    for (const char *list = writing->order.text; *list;) {
        list = fplt__list_next(list, name, sizeof name);
        quote_name(to, quote, name, strlen(name));
        fplt__buffer_add(to, *list ? ", " : "");
    }
    *text = to->text;
    return to->status ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a query") : FPLT_OK;
}

/* ---- rows ---- */

static fplt_status take_columns(void *context, size_t number, const fplt__cell *names, size_t count,
                                fplt_error *error)
{
    struct writing *writing = context;
    if (!count || count > FPLT__DOOR_MAX_COLUMNS)
        return fplt__bad_data(error, writing->request->name, 0,
                              "the table has %zu columns, but it must have 1 to %d", count,
                              FPLT__DOOR_MAX_COLUMNS);
    writing->columns = count;
    if (writing->request->no_header)
        return FPLT_OK;
    fplt_status status = skip_lines(writing, number, error);
    if (!status)
        status = find_key(writing, names, count, error);
    for (size_t i = 0; i < count && !status; i++) {
        if (!(status = check_cell(writing, number, i, &names[i], error)))
            write_cell(writing, &names[i]);
        if (i + 1 < count)
            fplt__buffer_add_bytes(&writing->text, &writing->separator, 1);
    }
    return status ? status : end_line(writing, error);
}

static fplt_status take_row(void *context, size_t number, const fplt__cell *cells,
                            fplt_error *error)
{
    struct writing *writing = context;
    fplt_status status = skip_lines(writing, number, error);
    for (size_t i = 0; i < writing->columns && !status; i++) {
        if (!(status = check_cell(writing, number, i, &cells[i], error)))
            write_cell(writing, &cells[i]);
        if (i + 1 < writing->columns)
            fplt__buffer_add_bytes(&writing->text, &writing->separator, 1);
    }
    if (!status && writing->keys)
        status = check_key(writing, number, cells, error);
    if (!status)
        status = end_line(writing, error);
    writing->is_enough = !status && ++writing->rows == writing->max_rows;
    return writing->is_enough ? FPLT_FAILED : status; /* the door need not go on */
}

static void take_note(void *context, const char *sentence)
{
    const struct writing *writing = context;
    fplt__log(FPLT_LOG_WARNING, "%.300s: %s", writing->request->name, sentence);
}

/* ---- reading ---- */

static const fplt__door *load_door(const fplt__door_kind *kind, const char *path, fplt_error *error)
{
    fplt_error why = {FPLT_OK, ""};
    if (kind->built_in)
        return kind->built_in;
    const fplt__door *door = fplt__module_load(kind->name, FPLT__DOOR_MODULE, 0, &why);
    if (door && door->size == sizeof *door)
        return door;
    fplt_error_set(error, FPLT_UNSUPPORTED,
                   "%.300s: the module '%s' that reads such tables is not there (%.200s): install "
                   "%s and build fedplt again, or give the table as CSV",
                   path, kind->name, door ? "it is of another fedplt" : why.text, kind->packages);
    return NULL;
}

const char *fplt__door_list(size_t index, const char **about, const char **version)
{
    const fplt__door_kind *kind = fplt__door_kinds;
    for (size_t i = 0; i < index && kind->name; i++)
        kind++;
    if (!kind->name)
        return NULL;
    const fplt__door *door = load_door(kind, "", NULL);
    *about = kind->about;
    *version = door ? door->version() : NULL;
    return kind->name;
}

static char separator_of(const char *said)
{
    return fplt__word_is(said, "tab")         ? '\t'
           : fplt__word_is(said, "semicolon") ? ';'
           : fplt__word_is(said, "bar")       ? '|'
                                              : ',';
}

static void clear_writing(struct writing *writing)
{
    fplt__buffer_clear(&writing->text);
    fplt__buffer_clear(&writing->statement);
    fplt__buffer_clear(&writing->order);
    fplt__buffer_clear(&writing->key);
    fplt__buffer_clear(&writing->key_before);
    fplt__free(writing->key_column);
}

static fplt_status read_door(const fplt__door *door, struct writing *writing, fplt_error *error)
{
    const fplt__door_host host = {writing,    take_columns,   take_row,
                                  take_order, make_statement, take_note};
    fplt_status status = FPLT_OK;
    if (writing->request->order_by)
        status = take_order(writing, writing->request->order_by, error);
    if (!status)
        status = door->read(writing->request, &host, error);
    if (writing->is_enough)
        status = FPLT_OK;
    if (!status && !writing->columns)
        status = fplt__bad_data(error, writing->request->name, 0, "the table is empty");
    return status;
}

fplt_status fplt__door_load(const char *path, const fplt__door_kind *kind,
                            const fplt_read_settings *settings, size_t max_rows,
                            fplt__source *source, fplt_error *error)
{
    enum { MAX_BYTES = 1 << 30 };
    fplt__address address;
    int no_header = settings->schema ? !settings->schema->header : settings->no_header;
    struct writing writing = {.kind = kind,
                              .request = &address.request,
                              .max_rows = max_rows,
                              .separator = separator_of(settings->separator),
                              .decimal = fplt__word_is(settings->decimal, "comma") ? ',' : '.'};
    const fplt__door *door = NULL;
    fplt_status status = fplt__address_parse(path, kind, &address, error);
    if (!status && no_header && !kind->is_sheet)
        status =
            fplt_error_set(error, FPLT_BAD_VALUE,
                           "%.300s: header is no, but the columns of this table have names", path);
    if (!status && !(door = load_door(kind, path, error)))
        status = FPLT_UNSUPPORTED;
    address.request.no_header = no_header;
    address.request.max_bytes = settings->largest ? settings->largest : MAX_BYTES;
    locale_t locale = fplt__locale_enter();
    if (!status)
        status = read_door(door, &writing, error);
    fplt__locale_leave(locale);
    if (!status) {
        source->size = writing.text.length;
        status = fplt__buffer_take(&writing.text, &source->owned, error);
        source->text = source->owned;
        source->is_table = 1;
        source->counts_rows = !kind->is_sheet;
    }
    clear_writing(&writing);
    fplt__address_clear(&address);
    return status;
}
