/* Comma-separated tables of golden values. */
#ifndef FPLT_TESTS_PRIVACY_TABLE_H
#define FPLT_TESTS_PRIVACY_TABLE_H

#include "testing.h"

enum { TABLE_COLUMNS = 40, TABLE_LINE = 4096 };

struct table {
    FILE *file;
    char header[TABLE_LINE], line[TABLE_LINE];
    const char *name[TABLE_COLUMNS], *cell[TABLE_COLUMNS];
    int columns;
};

static inline int table_split(char *line, const char **cells)
{
    int count = 0;
    line[strcspn(line, "\r\n")] = 0;
    for (char *rest = line; rest && count < TABLE_COLUMNS;)
        cells[count++] = strsep(&rest, ",");
    return count;
}

static inline void table_open(struct table *table, const char *path)
{
    table->file = fopen(path, "r");
    assert_non_null(table->file);
    assert_non_null(fgets(table->header, sizeof table->header, table->file));
    table->columns = table_split(table->header, table->name);
}

/* The next row; 0 at the end, where the file is closed. */
static inline int table_next(struct table *table)
{
    if (!fgets(table->line, sizeof table->line, table->file)) {
        fclose(table->file);
        return 0;
    }
    assert_int_equal(table_split(table->line, table->cell), table->columns);
    return 1;
}

/* The cell of the column whose name begins so: exactly, or up to a bracket or an equals sign. */
static inline const char *table_text(const struct table *table, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < table->columns; i++) {
        char end = strncmp(table->name[i], name, length) == 0 ? table->name[i][length] : 'x';
        if (end == 0 || end == '(' || end == '=')
            return table->cell[i];
    }
    fail_msg("there is no column %s", name);
    return NULL;
}

static inline double table_number(const struct table *table, const char *name)
{
    const char *text = table_text(table, name);
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end)
        fail_msg("column %s: '%s' is not a number", name, text);
    return value;
}

#endif
