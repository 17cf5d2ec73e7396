#include "rows.h"

#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"
#include "store/table.h"

enum { FILES = SQL_DISKS, MAX_QUERIES = 128, MAX_OPEN = 64, MAX_FOUND = 512 };

typedef struct cell {
    enum { NOTHING, INTEGER, REAL, BYTES } type; /* a text is bytes with a 0 at their end */
    int64_t integer;
    double real;
    const uint8_t *bytes; /* a row owns them */
    size_t size;
} cell;

typedef struct stored_rows {
    cell *cell; /* rows * columns, owned */
    size_t rows, room;
} stored_rows;

typedef struct stored_file {
    const struct fplt__database_form *form; /* NULL: no file */
    const table_set *schema;
    stored_rows table[MAX_TABLES];
} stored_file;

/* A statement of a process, in the place of sqlite3_stmt. */
typedef struct open_query {
    const char *sql;
    const query *query;
    stored_file *file;
    cell parameter[MAX_COLUMNS];
    int is_under_way;
    size_t next, count;
    size_t found[MAX_FOUND]; /* numbers of rows */
    cell column[MAX_COLUMNS];
} open_query;

/* In the place of fplt__table. */
typedef struct open_file {
    stored_file *file;
    size_t count;
    open_query *query[MAX_OPEN];
} open_file;

static struct {
    int on;
    char path[FILES][96];
    stored_file file[FILES];
    size_t schemas, queries;
    struct {
        const struct fplt__database_form *form;
        table_set schema;
    } known_schema[2]; /* of a coordinator and of an agent */
    struct {
        const char *sql;
        const table_set *schema;
        query query;
    } known[MAX_QUERIES];
} r;

void rows_use(int on)
{
    r.on = on;
}

static void *get_memory(void *at, size_t size)
{
    void *made = realloc(at, size ? size : 1);
    if (!made)
        exit(2);
    return made;
}

static void give_up(const char *what, const char *sql)
{
    fprintf(stderr, "simulator: tables in memory: %s: %s\n", what, sql);
    exit(2);
}

/* --- files --- */

static stored_file *file_of(const char *path)
{
    for (size_t f = 0; f < FILES; f++) {
        if (!r.path[f][0])
            snprintf(r.path[f], sizeof r.path[f], "%s", path);
        if (strcmp(r.path[f], path) == 0)
            return &r.file[f];
    }
    give_up("too many files", path);
    return NULL;
}

static const table_set *schema_of(const struct fplt__database_form *form)
{
    for (size_t k = 0; k < r.schemas; k++)
        if (r.known_schema[k].form == form)
            return &r.known_schema[k].schema;
    if (r.schemas == sizeof r.known_schema / sizeof *r.known_schema)
        give_up("too many kinds of files", form->kind);
    r.known_schema[r.schemas].form = form;
    table_set_read(&r.known_schema[r.schemas].schema, form->schema, form->version);
    return &r.known_schema[r.schemas++].schema;
}

/* Memory of a row is used again where it is large enough. */
static void set_cell(cell *to, cell value)
{
    uint8_t *own = (uint8_t *)to->bytes;
    if (value.type != BYTES) {
        free(own);
        *to = value;
        return;
    }
    if (!own || to->size < value.size)
        own = get_memory(own, value.size + 1);
    if (value.size)
        memmove(own, value.bytes, value.size);
    own[value.size] = '\0';
    *to = (cell){.type = BYTES, .bytes = own, .size = value.size};
}

static void clear_rows(stored_rows *rows, unsigned columns)
{
    for (size_t k = 0; k < rows->rows * columns; k++)
        free((void *)rows->cell[k].bytes);
    free(rows->cell);
    *rows = (stored_rows){NULL, 0, 0};
}

static void clear_file(stored_file *file)
{
    for (unsigned t = 0; file->schema && t < file->schema->tables; t++)
        clear_rows(&file->table[t], file->schema->table[t].columns);
    memset(file, 0, sizeof *file);
}

static cell *add_row(stored_rows *rows, unsigned columns)
{
    if (rows->rows == rows->room) {
        rows->room = rows->room ? 2 * rows->room : 4;
        rows->cell = get_memory(rows->cell, rows->room * columns * sizeof *rows->cell);
    }
    cell *row = rows->cell + rows->rows++ * columns;
    memset(row, 0, columns * sizeof *row);
    return row;
}

static void copy_file(stored_file *to, const stored_file *from)
{
    clear_file(to);
    to->form = from->form;
    to->schema = from->schema;
    for (unsigned t = 0; from->schema && t < from->schema->tables; t++) {
        unsigned columns = from->schema->table[t].columns;
        for (size_t k = 0; k < from->table[t].rows; k++) {
            cell *row = add_row(&to->table[t], columns);
            for (unsigned c = 0; c < columns; c++)
                set_cell(&row[c], from->table[t].cell[k * columns + c]);
        }
    }
}

static void *take_copy(const char *path)
{
    stored_file *copy = get_memory(NULL, sizeof *copy);
    memset(copy, 0, sizeof *copy);
    copy_file(copy, file_of(path));
    return copy;
}

static void put_copy(const char *path, const void *copy)
{
    copy_file(file_of(path), copy);
}

static void free_copy(void *copy)
{
    if (copy)
        clear_file(copy);
    free(copy);
}

const sql_medium rows_medium = {take_copy, put_copy, free_copy, 1};

/* --- expressions --- */

static cell integer_cell(int64_t number)
{
    return (cell){.type = INTEGER, .integer = number};
}

/* As SQLite orders them; 0 where one is NULL or they are of two types. */
static int compare_cells(const cell *a, const cell *b, int *are_comparable)
{
    *are_comparable = a->type == b->type && a->type != NOTHING;
    if (!*are_comparable)
        return 0;
    if (a->type == INTEGER)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->type == REAL)
        return (a->real > b->real) - (a->real < b->real);
    size_t size = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->bytes, b->bytes, size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static cell evaluate(const open_query *q, unsigned at, const cell *row);

static cell sum_of(const open_query *q, unsigned at, unsigned columns)
{
    int64_t sum = 0;
    const stored_rows *rows = &q->file->table[q->query->table];
    for (size_t k = 0; k < q->count; k++)
        sum += evaluate(q, at, rows->cell + q->found[k] * columns).integer;
    return q->count ? integer_cell(sum) : (cell){.type = NOTHING};
}

static cell compare(const open_query *q, const node *n, const cell *row)
{
    cell a = evaluate(q, n->a, row), b = evaluate(q, n->b, row);
    int are_comparable, order = compare_cells(&a, &b, &are_comparable);
    return integer_cell(are_comparable && (n->operation == EQUAL   ? order == 0
                                           : n->operation == BELOW ? order < 0
                                                                   : order >= 0));
}

/* Bytes are borrowed from the row or the parameter. */
static cell evaluate(const open_query *q, unsigned at, const cell *row)
{
    const node *n = &q->query->node[at];
    cell a;
    switch (n->operation) {
    case PARAMETER: return q->parameter[n->value];
    case COLUMN: return row[n->value];
    case NUMBER: return integer_cell(n->value);
    case EMPTY: return (cell){.type = BYTES};
    case EQUAL:
    case BELOW:
    case AT_LEAST: return compare(q, n, row);
    case MINUS:
        return integer_cell(evaluate(q, n->a, row).integer - evaluate(q, n->b, row).integer);
    case BOTH:
        return integer_cell(evaluate(q, n->a, row).integer && evaluate(q, n->b, row).integer);
    case IS_THERE: return integer_cell(evaluate(q, n->a, row).type != NOTHING);
    case CHOICE: return evaluate(q, evaluate(q, n->a, row).integer ? n->b : n->c, row);
    case COUNT: return integer_cell((int64_t)q->count);
    case SUM: return sum_of(q, n->a, q->file->schema->table[q->query->table].columns);
    case LENGTH: return integer_cell((int64_t)evaluate(q, n->a, row).size);
    case IF_NULL: a = evaluate(q, n->a, row); return a.type == NOTHING ? evaluate(q, n->b, row) : a;
    }
    return (cell){.type = NOTHING};
}

static int is_wanted(const open_query *q, const cell *row)
{
    return !q->query->has_where || evaluate(q, q->query->where, row).integer;
}

/* --- statements --- */

static void find_rows(open_query *q)
{
    const query *wanted = q->query;
    const stored_rows *rows = &q->file->table[wanted->table];
    unsigned columns = q->file->schema->table[wanted->table].columns;
    q->count = q->next = 0;
    for (size_t k = 0; k < rows->rows; k++) {
        if (!is_wanted(q, rows->cell + k * columns))
            continue;
        if (q->count == MAX_FOUND)
            give_up("too many rows", q->sql);
        size_t to = q->count++;
        for (; wanted->has_order && to; to--) { /* few, and nearly always in order */
            int64_t here = rows->cell[k * columns + wanted->order].integer;
            int64_t before = rows->cell[q->found[to - 1] * columns + wanted->order].integer;
            if (wanted->descends ? before >= here : before <= here)
                break;
            q->found[to] = q->found[to - 1];
        }
        q->found[to] = k;
    }
    if (wanted->is_sum)
        return;
    if (wanted->limit && q->count > wanted->limit)
        q->count = wanted->limit;
}

static int select_row(open_query *q)
{
    const query *wanted = q->query;
    unsigned columns = q->file->schema->table[wanted->table].columns;
    if (!q->is_under_way)
        find_rows(q);
    q->is_under_way = 1;
    if (q->next >= (wanted->is_sum ? 1 : q->count))
        return 0;
    const cell *row =
        wanted->is_sum ? NULL : q->file->table[wanted->table].cell + q->found[q->next] * columns;
    q->next++;
    for (unsigned v = 0; v < wanted->values; v++)
        q->column[v] = evaluate(q, wanted->value[v].value, row);
    return 1;
}

static void update_row(open_query *q, cell *row, const assignment *to, unsigned count)
{
    cell value[MAX_COLUMNS];
    for (unsigned v = 0; v < count; v++)
        value[v] = evaluate(q, to[v].value, row);
    for (unsigned v = 0; v < count; v++)
        set_cell(&row[to[v].column], value[v]);
}

static cell *row_with_key(const layout *table, const stored_rows *rows, const cell *made)
{
    for (size_t k = 0; k < rows->rows; k++) {
        cell *row = rows->cell + k * table->columns;
        int same = table->keys > 0, are_comparable;
        for (unsigned c = 0; c < table->keys; c++)
            same &= compare_cells(&row[table->key[c]], &made[table->key[c]], &are_comparable) == 0;
        if (same)
            return row;
    }
    return NULL;
}

static void check_nulls(const open_query *q, const layout *table, const cell *row)
{
    for (unsigned c = 0; c < table->columns; c++)
        if (table->no_nulls[c] && row[c].type == NOTHING)
            give_up("NULL in a column without", q->sql);
}

static void insert_row(open_query *q, const cell *from)
{
    const query *wanted = q->query;
    const layout *table = &q->file->schema->table[wanted->table];
    stored_rows *rows = &q->file->table[wanted->table];
    cell made[MAX_COLUMNS] = {0};
    for (unsigned c = 0; c < table->columns; c++)
        if (table->has_zero[c])
            made[c] = integer_cell(0);
    for (unsigned v = 0; v < wanted->values; v++)
        made[wanted->value[v].column] = evaluate(q, wanted->value[v].value, from);
    check_nulls(q, table, made);
    cell *row = row_with_key(table, rows, made);
    if (row && wanted->updates) {
        if (!wanted->has_condition || evaluate(q, wanted->condition, row).integer)
            update_row(q, row, wanted->update, wanted->updates);
        return;
    }
    if (row && !wanted->replaces)
        give_up("the key is there already", q->sql);
    if (!row)
        row = add_row(rows, table->columns);
    for (unsigned c = 0; c < table->columns; c++)
        set_cell(&row[c], made[c]);
}

static void insert_rows(open_query *q)
{
    if (q->query->from < 0) {
        insert_row(q, NULL);
        return;
    }
    const stored_rows *from = &q->file->table[q->query->from];
    unsigned columns = q->file->schema->table[q->query->from].columns;
    for (size_t k = 0; k < from->rows; k++)
        insert_row(q, from->cell + k * columns);
}

static void delete_rows(open_query *q)
{
    stored_rows *rows = &q->file->table[q->query->table];
    unsigned columns = q->file->schema->table[q->query->table].columns;
    size_t left = 0;
    for (size_t k = 0; k < rows->rows; k++) {
        cell *row = rows->cell + k * columns;
        if (is_wanted(q, row)) {
            for (unsigned c = 0; c < columns; c++)
                free((void *)row[c].bytes);
            continue;
        }
        if (left != k)
            memcpy(rows->cell + left * columns, row, columns * sizeof *row);
        left++;
    }
    rows->rows = left;
}

static void update_rows(open_query *q)
{
    const layout *table = &q->file->schema->table[q->query->table];
    stored_rows *rows = &q->file->table[q->query->table];
    for (size_t k = 0; k < rows->rows; k++) {
        cell *row = rows->cell + k * table->columns;
        if (is_wanted(q, row)) {
            update_row(q, row, q->query->value, q->query->values);
            check_nulls(q, table, row);
        }
    }
}

static int step_query(open_query *q)
{
    switch (q->query->verb) {
    case SELECT: return select_row(q);
    case INSERT: insert_rows(q); break;
    case UPDATE: update_rows(q); break;
    case DELETE: delete_rows(q); break;
    }
    return 0;
}

static const query *known_query(const char *sql, const table_set *schema)
{
    for (size_t k = 0; k < r.queries; k++)
        if (r.known[k].sql == sql && r.known[k].schema == schema)
            return &r.known[k].query;
    if (r.queries == MAX_QUERIES)
        give_up("too many statements", sql);
    r.known[r.queries].sql = sql;
    r.known[r.queries].schema = schema;
    query_read(&r.known[r.queries].query, schema, sql);
    return &r.known[r.queries++].query;
}

static open_query *open_query_of(open_file *file, const char *sql)
{
    for (size_t k = 0; k < file->count; k++)
        if (file->query[k]->sql == sql)
            return file->query[k];
    if (file->count == MAX_OPEN)
        give_up("too many statements", sql);
    open_query *made = get_memory(NULL, sizeof *made);
    made->sql = sql;
    made->file = file->file;
    made->is_under_way = 0;
    made->query = known_query(sql, file->file->schema);
    return file->query[file->count++] = made;
}

/* As SQLite takes them: NaN is NULL. */
static void bind(open_query *q, const char *types, va_list values)
{
    if (q->is_under_way)
        give_up("a statement is bound before it is done", q->sql);
    if (strlen(types) != q->query->parameters)
        give_up("a number of values that the statement does not have", q->sql);
    for (unsigned i = 0; types[i]; i++) {
        cell *to = &q->parameter[i];
        *to = (cell){.type = NOTHING};
        if (types[i] == 'i') {
            *to = integer_cell(va_arg(values, int64_t));
        } else if (types[i] == 'r') {
            double real = va_arg(values, double);
            *to = (cell){.type = isnan(real) ? NOTHING : REAL, .real = real};
        } else if (types[i] == 't') {
            const char *text = va_arg(values, const char *);
            if (text)
                *to = (cell){.type = BYTES, .bytes = (const uint8_t *)text, .size = strlen(text)};
        } else {
            const void *bytes = va_arg(values, const void *);
            size_t size = va_arg(values, size_t);
            if (bytes)
                *to = (cell){.type = BYTES, .bytes = bytes, .size = size};
        }
    }
}

/* --- in the place of store/table.c --- */

fplt_status __real_fplt__table_open(const char *, const struct fplt__database_form *, int,
                                    fplt__table **, fplt_error *);
fplt_status __wrap_fplt__table_open(const char *, const struct fplt__database_form *, int,
                                    fplt__table **, fplt_error *);
void __real_fplt__table_close(fplt__table *);
void __wrap_fplt__table_close(fplt__table *);
fplt_status __real_fplt__table_begin(fplt__table *, fplt_error *);
fplt_status __wrap_fplt__table_begin(fplt__table *, fplt_error *);
fplt_status __real_fplt__table_end(fplt__table *, fplt_status, fplt_error *);
fplt_status __wrap_fplt__table_end(fplt__table *, fplt_status, fplt_error *);
fplt_status __wrap_fplt__table_ask(fplt__table *, sqlite3_stmt **, fplt_error *, const char *,
                                   const char *, ...);
fplt_status __wrap_fplt__table_run(fplt__table *, int *, fplt_error *, const char *, const char *,
                                   ...);
fplt_status __real_fplt__table_step(fplt__table *, sqlite3_stmt *, int *, fplt_error *);
fplt_status __wrap_fplt__table_step(fplt__table *, sqlite3_stmt *, int *, fplt_error *);
void __real_fplt__table_done(sqlite3_stmt *);
void __wrap_fplt__table_done(sqlite3_stmt *);

fplt_status __wrap_fplt__table_open(const char *path, const struct fplt__database_form *form,
                                    int shared, fplt__table **table, fplt_error *error)
{
    if (!r.on)
        return __real_fplt__table_open(path, form, shared, table, error);
    open_file *made = get_memory(NULL, sizeof *made);
    made->count = 0;
    made->file = file_of(path);
    made->file->form = form;
    made->file->schema = schema_of(form);
    *table = (fplt__table *)made;
    return FPLT_OK;
}

void __wrap_fplt__table_close(fplt__table *table)
{
    if (!r.on) {
        __real_fplt__table_close(table);
        return;
    }
    open_file *file = (open_file *)table;
    for (size_t k = 0; file && k < file->count; k++)
        free(file->query[k]);
    free(file);
}

fplt_status __wrap_fplt__table_begin(fplt__table *table, fplt_error *error)
{
    return r.on ? FPLT_OK : __real_fplt__table_begin(table, error);
}

/* A statement cannot fail here: nothing is ever taken back. */
fplt_status __wrap_fplt__table_end(fplt__table *table, fplt_status status, fplt_error *error)
{
    return r.on ? status : __real_fplt__table_end(table, status, error);
}

fplt_status __wrap_fplt__table_ask(fplt__table *table, sqlite3_stmt **statement, fplt_error *error,
                                   const char *sql, const char *types, ...)
{
    fplt_status status = FPLT_OK;
    va_list values;
    va_start(values, types);
    if (r.on) {
        open_query *q = open_query_of((open_file *)table, sql);
        bind(q, types, values);
        *statement = (sqlite3_stmt *)q;
    } else {
        status = fplt__table_ask_list(table, statement, error, sql, types, values);
    }
    va_end(values);
    return status;
}

fplt_status __wrap_fplt__table_step(fplt__table *table, sqlite3_stmt *statement, int *row,
                                    fplt_error *error)
{
    if (!r.on)
        return __real_fplt__table_step(table, statement, row, error);
    open_query *q = (open_query *)statement;
    *row = step_query(q);
    if (!*row)
        q->is_under_way = 0;
    return FPLT_OK;
}

void __wrap_fplt__table_done(sqlite3_stmt *statement)
{
    if (r.on)
        ((open_query *)statement)->is_under_way = 0;
    else
        __real_fplt__table_done(statement);
}

fplt_status __wrap_fplt__table_run(fplt__table *table, int *changed, fplt_error *error,
                                   const char *sql, const char *types, ...)
{
    fplt_status status = FPLT_OK;
    va_list values;
    va_start(values, types);
    if (r.on) {
        if (changed)
            give_up("rows are not counted", sql);
        open_query *q = open_query_of((open_file *)table, sql);
        bind(q, types, values);
        step_query(q);
        q->is_under_way = 0;
    } else {
        status = fplt__table_run_list(table, changed, error, sql, types, values);
    }
    va_end(values);
    return status;
}

/* --- in the place of SQLite's columns --- */

#define COLUMN_OF(type, what, from_cell)                       \
    type __real_sqlite3_column_##what(sqlite3_stmt *, int);    \
    type __wrap_sqlite3_column_##what(sqlite3_stmt *, int);    \
    type __wrap_sqlite3_column_##what(sqlite3_stmt *s, int at) \
    {                                                          \
        if (!r.on)                                             \
            return __real_sqlite3_column_##what(s, at);        \
        const cell *found = &((open_query *)s)->column[at];    \
        return from_cell;                                      \
    }

COLUMN_OF(sqlite3_int64, int64, found->type == INTEGER ? found->integer : 0)
COLUMN_OF(int, int, found->type == INTEGER ? (int)found->integer : 0)
COLUMN_OF(double, double, found->type == REAL ? found->real : 0)
COLUMN_OF(int, bytes, found->type == BYTES ? (int)found->size : 0)
COLUMN_OF(const void *, blob, found->type == BYTES && found->size ? found->bytes : NULL)
COLUMN_OF(const unsigned char *, text, found->type == BYTES ? found->bytes : NULL)
COLUMN_OF(int, type,
          found->type == INTEGER ? SQLITE_INTEGER
          : found->type == REAL  ? SQLITE_FLOAT
          : found->type == BYTES ? SQLITE_BLOB
                                 : SQLITE_NULL)

int __real_sqlite3_column_count(sqlite3_stmt *);
int __wrap_sqlite3_column_count(sqlite3_stmt *);
int __wrap_sqlite3_column_count(sqlite3_stmt *statement)
{
    return r.on ? (int)((open_query *)statement)->query->values
                : __real_sqlite3_column_count(statement);
}
