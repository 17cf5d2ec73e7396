#include "query.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where one reads, and what is made of it. */
typedef struct reader {
    const char *whole, *at;
    query *query;
    const table_set *schema;
    const layout *table; /* whose columns are named */
    int64_t parameters;  /* so far */
} reader;

static void refuse(const char *statement, const char *at)
{
    fprintf(stderr, "simulator: tables in memory do not understand '%.40s' in: %s\n", at,
            statement);
    exit(2);
}

static void skip(reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static int is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether `word` comes next; then it is read. */
static int take(reader *r, const char *word)
{
    skip(r);
    size_t size = strlen(word);
    if (strncmp(r->at, word, size) != 0 || (is_letter(word[size - 1]) && is_letter(r->at[size])))
        return 0;
    r->at += size;
    return 1;
}

static void expect(reader *r, const char *word)
{
    if (!take(r, word))
        refuse(r->whole, r->at);
}

static void take_word(reader *r, char word[MAX_WORD])
{
    size_t size = 0;
    skip(r);
    while (is_letter(r->at[size]))
        size++;
    if (!size || size >= MAX_WORD)
        refuse(r->whole, r->at);
    memcpy(word, r->at, size);
    word[size] = '\0';
    r->at += size;
}

static unsigned column_of(const layout *table, const char *name, const char *whole)
{
    for (unsigned c = 0; c < table->columns; c++)
        if (strcmp(table->column[c], name) == 0)
            return c;
    refuse(whole, name);
    return 0;
}

/* --- schemas --- */

static void read_column(layout *table, const char *from, size_t size, const char *whole)
{
    char text[160], name[MAX_WORD];
    if (size >= sizeof text || table->columns == MAX_COLUMNS)
        refuse(whole, from);
    memcpy(text, from, size);
    text[size] = '\0';
    reader r = {.whole = whole, .at = text};
    if (take(&r, "PRIMARY KEY(")) {
        do {
            take_word(&r, name);
            if (table->keys == 2)
                refuse(whole, from);
            table->key[table->keys++] = column_of(table, name, whole);
        } while (take(&r, ","));
        return;
    }
    unsigned c = table->columns++;
    take_word(&r, table->column[c]);
    if (strstr(text, "PRIMARY KEY"))
        table->key[table->keys++] = c;
    table->has_zero[c] = strstr(text, "DEFAULT 0") != NULL;
    table->no_nulls[c] = strstr(text, "NOT NULL") != NULL;
}

/* One definition, up to a comma or bracket outside of brackets. */
static size_t definition_size(const char *at)
{
    int depth = 0;
    size_t size = 0;
    for (; at[size]; size++) {
        depth += at[size] == '(';
        depth -= at[size] == ')';
        if (depth < 0 || (!depth && (at[size] == ',' || at[size] == ';')))
            break;
    }
    return size;
}

static void read_table(table_set *schema, reader *r)
{
    if (schema->tables == MAX_TABLES)
        refuse(r->whole, r->at);
    layout *table = &schema->table[schema->tables++];
    take_word(r, table->name);
    expect(r, "(");
    do {
        skip(r);
        size_t size = definition_size(r->at);
        read_column(table, r->at, size, r->whole);
        r->at += size;
    } while (take(r, ","));
    expect(r, ")");
}

static unsigned table_of(const table_set *schema, const char *name, const char *whole)
{
    for (unsigned t = 0; t < schema->tables; t++)
        if (strcmp(schema->table[t].name, name) == 0)
            return t;
    refuse(whole, name);
    return 0;
}

void table_set_read(table_set *schema, const char *const *statements, int count)
{
    memset(schema, 0, sizeof *schema);
    for (int k = 0; k < count; k++) {
        reader r = {.whole = statements[k], .at = statements[k]};
        for (skip(&r); *r.at; skip(&r)) {
            char name[MAX_WORD];
            if (take(&r, "CREATE TABLE")) {
                read_table(schema, &r);
            } else if (take(&r, "ALTER TABLE")) {
                take_word(&r, name);
                expect(&r, "ADD COLUMN");
                skip(&r);
                read_column(&schema->table[table_of(schema, name, r.whole)], r.at,
                            definition_size(r.at), r.whole);
            }
            r.at += strcspn(r.at, ";"); /* WITHOUT ROWID, or an index */
            expect(&r, ";");
        }
    }
}

/* --- expressions --- */

static unsigned add(reader *r, enum operation operation, int64_t value, unsigned a, unsigned b)
{
    if (r->query->nodes == MAX_NODES)
        refuse(r->whole, r->at);
    r->query->node[r->query->nodes] = (node){operation, value, a, b, 0};
    return r->query->nodes++;
}

static unsigned read_expression(reader *r);

static unsigned read_choice(reader *r)
{
    unsigned when = read_expression(r);
    expect(r, "THEN");
    unsigned then = read_expression(r);
    expect(r, "ELSE");
    unsigned other = read_expression(r);
    expect(r, "END");
    unsigned made = add(r, CHOICE, 0, when, then);
    r->query->node[made].c = other;
    return made;
}

static unsigned read_call(reader *r, enum operation operation, int two)
{
    unsigned a = read_expression(r), b = 0;
    if (two) {
        expect(r, ",");
        b = read_expression(r);
    }
    expect(r, ")");
    r->query->is_sum |= operation == SUM;
    return add(r, operation, 0, a, b);
}

static unsigned read_operand(reader *r)
{
    char name[MAX_WORD];
    skip(r);
    if (take(r, "?")) {
        int64_t number = isdigit((unsigned char)*r->at) ? strtol(r->at, (char **)&r->at, 10) - 1
                                                        : r->parameters++;
        if (number < 0 || number >= MAX_COLUMNS)
            refuse(r->whole, r->at);
        if ((size_t)number >= r->query->parameters)
            r->query->parameters = (size_t)number + 1;
        return add(r, PARAMETER, number, 0, 0);
    }
    if (isdigit((unsigned char)*r->at))
        return add(r, NUMBER, strtol(r->at, (char **)&r->at, 10), 0, 0);
    if (take(r, "''"))
        return add(r, EMPTY, 0, 0, 0);
    if (take(r, "CASE WHEN"))
        return read_choice(r);
    if (take(r, "count(*)")) {
        r->query->is_sum = 1;
        return add(r, COUNT, 0, 0, 0);
    }
    if (take(r, "sum("))
        return read_call(r, SUM, 0);
    if (take(r, "length("))
        return read_call(r, LENGTH, 0);
    if (take(r, "ifnull("))
        return read_call(r, IF_NULL, 1);
    take_word(r, name);
    return add(r, COLUMN, column_of(r->table, name, r->whole), 0, 0);
}

static unsigned read_comparison(reader *r)
{
    unsigned a = read_operand(r);
    if (take(r, "-"))
        a = add(r, MINUS, 0, a, read_operand(r));
    if (take(r, "IS NOT NULL"))
        return add(r, IS_THERE, 0, a, 0);
    if (take(r, ">="))
        return add(r, AT_LEAST, 0, a, read_operand(r));
    if (take(r, "<"))
        return add(r, BELOW, 0, a, read_operand(r));
    return take(r, "=") ? add(r, EQUAL, 0, a, read_operand(r)) : a;
}

static unsigned read_expression(reader *r)
{
    unsigned a = read_comparison(r);
    while (take(r, "AND"))
        a = add(r, BOTH, 0, a, read_comparison(r));
    return a;
}

/* --- statements --- */

static unsigned take_table(reader *r)
{
    char name[MAX_WORD];
    take_word(r, name);
    unsigned t = table_of(r->schema, name, r->whole);
    r->table = &r->schema->table[t];
    return t;
}

static void read_where(reader *r)
{
    if ((r->query->has_where = take(r, "WHERE")))
        r->query->where = read_expression(r);
}

/* column = value, ... */
static unsigned read_assignments(reader *r, assignment to[MAX_COLUMNS])
{
    unsigned count = 0;
    char name[MAX_WORD];
    do {
        if (count == MAX_COLUMNS)
            refuse(r->whole, r->at);
        take_word(r, name);
        expect(r, "=");
        to[count].column = column_of(r->table, name, r->whole);
        /* no comparison: `=` binds to the column */
        to[count].value = read_operand(r);
        if (take(r, "-"))
            to[count].value = add(r, MINUS, 0, to[count].value, read_operand(r));
        count++;
    } while (take(r, ","));
    return count;
}

static void read_values(reader *r)
{
    unsigned count = 0;
    do {
        if (count == MAX_COLUMNS)
            refuse(r->whole, r->at);
        r->query->value[count++].value = read_expression(r);
    } while (take(r, ","));
    r->query->values = count;
}

/* The table of a SELECT is named behind its columns. */
static void find_table(reader *r, unsigned *table)
{
    reader ahead = *r;
    const char *from = strstr(r->at, " FROM ");
    if (!from)
        refuse(r->whole, r->at);
    ahead.at = from + strlen(" FROM ");
    *table = take_table(&ahead);
    r->table = ahead.table;
}

static void read_select(reader *r)
{
    query *q = r->query;
    char name[MAX_WORD];
    find_table(r, &q->table);
    read_values(r);
    expect(r, "FROM");
    take_word(r, name);
    read_where(r);
    if ((q->has_order = take(r, "ORDER BY"))) {
        take_word(r, name);
        q->order = column_of(r->table, name, r->whole);
        q->descends = take(r, "DESC");
    }
    if (take(r, "LIMIT")) {
        skip(r);
        q->limit = strtoul(r->at, (char **)&r->at, 10);
    }
}

static void read_insert(reader *r)
{
    query *q = r->query;
    char name[MAX_WORD];
    unsigned count = 0, from;
    q->from = -1;
    q->replaces = take(r, "OR REPLACE");
    expect(r, "INTO");
    q->table = take_table(r);
    const layout *into = r->table;
    if (take(r, "(")) {
        do {
            take_word(r, name);
            q->value[count++].column = column_of(into, name, r->whole);
        } while (take(r, ","));
        expect(r, ")");
    } else {
        for (; count < into->columns; count++)
            q->value[count].column = count;
    }
    if (take(r, "SELECT")) {
        find_table(r, &from);
        q->from = (int)from;
        read_values(r);
        expect(r, "FROM");
        take_word(r, name);
    } else {
        expect(r, "VALUES(");
        read_values(r);
        expect(r, ")");
    }
    if (q->values != count)
        refuse(r->whole, r->at);
    r->table = into;
    if (!take(r, "ON CONFLICT("))
        return;
    take_word(r, name);
    expect(r, ")");
    expect(r, "DO UPDATE SET");
    q->updates = read_assignments(r, q->update);
    if ((q->has_condition = take(r, "WHERE")))
        q->condition = read_expression(r);
}

void query_read(query *q, const table_set *schema, const char *statement)
{
    memset(q, 0, sizeof *q);
    reader r = {.whole = statement, .at = statement, .query = q, .schema = schema};
    if (take(&r, "SELECT")) {
        q->verb = SELECT;
        read_select(&r);
    } else if (take(&r, "INSERT")) {
        q->verb = INSERT;
        read_insert(&r);
    } else if (take(&r, "UPDATE")) {
        q->verb = UPDATE;
        q->table = take_table(&r);
        expect(&r, "SET");
        q->values = read_assignments(&r, q->value);
        read_where(&r);
    } else {
        q->verb = DELETE;
        expect(&r, "DELETE FROM");
        q->table = take_table(&r);
        read_where(&r);
    }
    skip(&r);
    if (*r.at)
        refuse(statement, r.at);
}
