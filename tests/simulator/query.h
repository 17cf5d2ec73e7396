/* The statements of src/store, read for tables in memory (rows.h): so much of SQL as they use. A statement that is not
 * understood ends the simulator with its text. */
#ifndef FPLT_TESTS_QUERY_H
#define FPLT_TESTS_QUERY_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_TABLES = 16, MAX_COLUMNS = 24, MAX_NODES = 64, MAX_WORD = 24 };

/* A table as the schema declares it. */
typedef struct layout {
    char name[MAX_WORD];
    unsigned columns, keys;
    char column[MAX_COLUMNS][MAX_WORD];
    unsigned key[2];           /* columns of the primary key */
    int has_zero[MAX_COLUMNS]; /* DEFAULT 0; otherwise NULL */
    int no_nulls[MAX_COLUMNS]; /* NOT NULL */
} layout;

typedef struct table_set {
    unsigned tables;
    layout table[MAX_TABLES];
} table_set;

/* An expression; `a`, `b` and `c` are nodes. */
typedef struct node {
    enum operation {
        PARAMETER, /* number `value`, from 0 */
        COLUMN,    /* number `value` of the row */
        NUMBER,    /* `value` */
        EMPTY,     /* '' */
        EQUAL,
        BELOW,
        AT_LEAST,
        MINUS,
        BOTH,
        IS_THERE, /* IS NOT NULL */
        CHOICE,   /* CASE WHEN a THEN b ELSE c END */
        COUNT,    /* of the rows */
        SUM,      /* of a over the rows */
        LENGTH,
        IF_NULL
    } operation;
    int64_t value;
    unsigned a, b, c;
} node;

/* A column and its new value. */
typedef struct assignment {
    unsigned column, value;
} assignment;

typedef struct query {
    enum verb { SELECT, INSERT, UPDATE, DELETE } verb;
    unsigned table; /* that is read or changed */
    int from;       /* INSERT ... SELECT: the table that is read; -1: VALUES */
    int replaces;   /* INSERT OR REPLACE */
    int has_where;
    unsigned where;
    int has_order, descends, is_sum;
    unsigned order;  /* column */
    size_t limit;    /* 0: none */
    unsigned values; /* of SELECT, or set by INSERT and UPDATE */
    assignment value[MAX_COLUMNS];
    unsigned updates; /* ON CONFLICT DO UPDATE */
    assignment update[MAX_COLUMNS];
    int has_condition; /* of that update */
    unsigned condition;
    size_t parameters;
    unsigned nodes;
    node node[MAX_NODES];
} query;

void table_set_read(table_set *schema, const char *const *statements, int count);
void query_read(query *query, const table_set *schema, const char *statement);

#endif
