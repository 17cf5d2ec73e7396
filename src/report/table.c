/* Tables: filled cell by cell, rendered aligned, as CSV [RFC 4180], as JSON or for a page. */
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/buffer.h"
#include "report/html.h"
#include "report/report.h"

enum kind { MISSING, TEXT, REAL, WHOLE };

struct cell {
    enum kind kind;
    char *shown; /* owned; NULL when missing */
    double real;
    long long whole;
};

struct fplt_table {
    char **columns; /* owned, each owned */
    size_t width;   /* columns */
    struct cell *cells;
    size_t count, capacity;
    fplt_status status;
};

fplt_status fplt__table_create(const char *const *columns, size_t count, fplt_table **out,
                               fplt_error *error)
{
    fplt_table *table;
    *out = NULL;
    if (!count)
        return fplt_error_set(error, FPLT_BAD_VALUE, "a table needs at least one column");
    fplt_status status = fplt__alloc_into(&table, 1, sizeof *table, "a table", error);
    if (status)
        return status;
    status = fplt__alloc_into(&table->columns, count, sizeof *table->columns, "a table", error);
    for (size_t i = 0; !status && i < count; i++) {
        table->width = i + 1;
        if (!(table->columns[i] = fplt__strdup(columns[i])))
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a table");
    }
    if (status) {
        fplt_table_destroy(table);
        return status;
    }
    *out = table;
    return FPLT_OK;
}

void fplt_table_destroy(fplt_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; table->columns && i < table->width; i++)
        fplt__free(table->columns[i]);
    for (size_t i = 0; i < table->count; i++)
        fplt__free(table->cells[i].shown);
    fplt__free(table->columns);
    fplt__free(table->cells);
    fplt__free(table);
}

static void add(fplt_table *table, struct cell cell, const char *shown)
{
    if (!table->status)
        table->status = fplt__grow(&table->cells, &table->capacity, table->count + 1,
                                   sizeof *table->cells, "a table", NULL);
    if (table->status)
        return;
    if (shown && !(cell.shown = fplt__strdup(shown))) {
        table->status = FPLT_NO_MEMORY;
        return;
    }
    table->cells[table->count++] = cell;
}

void fplt__table_text(fplt_table *table, const char *text)
{
    add(table, (struct cell){.kind = text ? TEXT : MISSING}, text);
}

void fplt__table_number(fplt_table *table, double value, int digits)
{
    char shown[64];
    snprintf(shown, sizeof shown, "%.*g", digits, value);
    if (isfinite(value))
        add(table, (struct cell){.kind = REAL, .real = value}, shown);
    else
        add(table, (struct cell){.kind = MISSING}, NULL);
}

void fplt__table_whole(fplt_table *table, long long value)
{
    char shown[32];
    snprintf(shown, sizeof shown, "%lld", value);
    add(table, (struct cell){.kind = WHOLE, .whole = value}, shown);
}

size_t fplt__table_rows(const fplt_table *table)
{
    return table->count / table->width;
}

static size_t started_rows(const fplt_table *table)
{
    return (table->count + table->width - 1) / table->width;
}

static const struct cell *cell_at(const fplt_table *table, size_t row, size_t column)
{
    static const struct cell missing = {.kind = MISSING};
    size_t index = row * table->width + column;
    return index < table->count ? &table->cells[index] : &missing;
}

static const char *shown(const struct cell *cell)
{
    return cell->kind == MISSING ? "-" : cell->shown;
}

/* Column widths, and whether all that is there are numbers. */
static void lay_out(const fplt_table *table, size_t column, size_t *width, int *numbers)
{
    *width = fplt__text_width(table->columns[column]);
    *numbers = 1;
    for (size_t row = 0; row < started_rows(table); row++) {
        const struct cell *cell = cell_at(table, row, column);
        size_t wide = fplt__text_width(shown(cell));
        *width = wide > *width ? wide : *width;
        *numbers &= cell->kind != TEXT;
    }
}

static void put(fplt__buffer *buffer, const char *text, size_t width, int right, int last)
{
    size_t gap = width - fplt__text_width(text);
    fplt__buffer_repeat(buffer, ' ', right ? gap : 0);
    fplt__buffer_add(buffer, text);
    fplt__buffer_repeat(buffer, ' ', right || last ? 0 : gap);
    fplt__buffer_add(buffer, last ? "\n" : "  ");
}

static fplt_status render_aligned(const fplt_table *table, fplt__buffer *buffer, fplt_error *error)
{
    size_t *widths;
    int *numbers;
    fplt_status status =
        fplt__alloc_into(&widths, table->width, sizeof *widths + sizeof *numbers, "a table", error);
    if (status)
        return status;
    numbers = (int *)(widths + table->width);
    for (size_t c = 0; c < table->width; c++) {
        lay_out(table, c, &widths[c], &numbers[c]);
        put(buffer, table->columns[c], widths[c], numbers[c], c + 1 == table->width);
    }
    for (size_t c = 0; c < table->width; c++) {
        fplt__buffer_repeat(buffer, '-', widths[c]);
        fplt__buffer_add(buffer, c + 1 == table->width ? "\n" : "  ");
    }
    for (size_t row = 0; row < started_rows(table); row++)
        for (size_t c = 0; c < table->width; c++)
            put(buffer, shown(cell_at(table, row, c)), widths[c], numbers[c],
                c + 1 == table->width);
    fplt__free(widths);
    return FPLT_OK;
}

void fplt__csv_field(fplt__buffer *buffer, const char *text)
{
    if (!strpbrk(text, ",\"\r\n") && *text != ' ') {
        fplt__buffer_add(buffer, text);
        return;
    }
    fplt__buffer_add(buffer, "\"");
    for (; *text; text++)
        fplt__buffer_add_bytes(buffer, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    fplt__buffer_add(buffer, "\"");
}

static fplt_status render_csv(const fplt_table *table, fplt__buffer *buffer, fplt_error *error)
{
    (void)error;
    for (size_t c = 0; c < table->width; c++) {
        fplt__csv_field(buffer, table->columns[c]);
        fplt__buffer_add(buffer, c + 1 == table->width ? "\n" : ",");
    }
    for (size_t row = 0; row < started_rows(table); row++)
        for (size_t c = 0; c < table->width; c++) {
            const struct cell *cell = cell_at(table, row, c);
            switch (cell->kind) {
            case TEXT: fplt__csv_field(buffer, cell->shown); break;
            case REAL: fplt__buffer_digits(buffer, cell->real); break;
            case WHOLE: fplt__buffer_format(buffer, "%lld", cell->whole); break;
            case MISSING: break;
            }
            fplt__buffer_add(buffer, c + 1 == table->width ? "\n" : ",");
        }
    return FPLT_OK;
}

static json_t *cell_json(const struct cell *cell)
{
    switch (cell->kind) {
    case TEXT: return json_string(cell->shown);
    case REAL: return json_real(cell->real);
    case WHOLE: return json_integer(cell->whole);
    default: return json_null();
    }
}

/* "claimed mu" -> claimed_mu, "stored (paper)" -> stored_paper */
static void key_of(const char *heading, char *key, size_t size)
{
    size_t length = 0;
    for (; *heading && length + 2 < size; heading++) {
        char c = *heading >= 'A' && *heading <= 'Z' ? (char)(*heading - 'A' + 'a') : *heading;
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            key[length++] = c;
        else if (length && key[length - 1] != '_')
            key[length++] = '_';
    }
    while (length && key[length - 1] == '_')
        length--;
    key[length] = 0;
}

json_t *fplt__table_json(const fplt_table *table)
{
    json_t *rows = json_array();
    int failed = table->status || !rows;
    char key[128];
    for (size_t row = 0; !failed && row < started_rows(table); row++) {
        json_t *object = json_object();
        failed = json_array_append_new(rows, object);
        for (size_t c = 0; !failed && c < table->width; c++) {
            key_of(table->columns[c], key, sizeof key);
            failed = json_object_set_new(object, key, cell_json(cell_at(table, row, c)));
        }
    }
    if (failed) {
        json_decref(rows);
        return NULL;
    }
    return rows;
}

static fplt_status render_json(const fplt_table *table, fplt__buffer *buffer, fplt_error *error)
{
    json_t *rows = fplt__table_json(table);
    char *text = rows ? json_dumps(rows, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(rows);
    if (!text)
        return fplt_error_set(error, FPLT_NO_MEMORY,
                              "the table holds text that is not UTF-8, or there is no memory");
    fplt__buffer_add(buffer, text);
    fplt__buffer_add(buffer, "\n");
    free(text);
    return FPLT_OK;
}

static void html_row(fplt__buffer *buffer, const fplt_table *table, size_t row)
{
    fplt__buffer_add(buffer, "<tr>");
    for (size_t c = 0; c < table->width; c++) {
        const struct cell *cell = cell_at(table, row, c);
        fplt__buffer_add(buffer, cell->kind == TEXT ? "<td>" : "<td class=\"n\">");
        fplt__html_text(buffer, cell->kind == MISSING ? "–" : cell->shown);
        fplt__buffer_add(buffer, "</td>");
    }
    fplt__buffer_add(buffer, "</tr>\n");
}

static fplt_status render_html(const fplt_table *table, fplt__buffer *buffer, fplt_error *error)
{
    (void)error;
    fplt__buffer_add(buffer, "<div class=\"wide\"><table>\n<thead><tr>");
    for (size_t c = 0; c < table->width; c++) {
        size_t width;
        int numbers;
        lay_out(table, c, &width, &numbers);
        fplt__buffer_add(buffer, numbers ? "<th class=\"n\">" : "<th>");
        fplt__html_text(buffer, table->columns[c]);
        fplt__buffer_add(buffer, "</th>");
    }
    fplt__buffer_add(buffer, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < started_rows(table); row++)
        html_row(buffer, table, row);
    fplt__buffer_add(buffer, "</tbody></table></div>\n");
    return FPLT_OK;
}

static void latex_text(fplt__buffer *buffer, const char *text)
{
    static const char special[] = "&%$#_{}~^\\<>";
    static const char *const written[] = {"\\&",
                                          "\\%",
                                          "\\$",
                                          "\\#",
                                          "\\_",
                                          "\\{",
                                          "\\}",
                                          "\\textasciitilde{}",
                                          "\\textasciicircum{}",
                                          "\\textbackslash{}",
                                          "\\textless{}",
                                          "\\textgreater{}"};
    while (*text) {
        size_t plain = strcspn(text, special);
        fplt__buffer_add_bytes(buffer, text, plain);
        text += plain;
        if (*text)
            fplt__buffer_add(buffer, written[strchr(special, *text++) - special]);
    }
}

fplt_status fplt__table_latex(const fplt_table *table, char **text, fplt_error *error)
{
    fplt__buffer buffer = {NULL, 0, 0, FPLT_OK};
    *text = NULL;
    if (table->status)
        return fplt_error_set(error, table->status, "no memory for a table");
    fplt__buffer_add(&buffer, "\\begin{tabular}{");
    for (size_t c = 0; c < table->width; c++) {
        size_t width;
        int numbers;
        lay_out(table, c, &width, &numbers);
        fplt__buffer_add(&buffer, numbers || c > 1 ? "r" : "l");
    }
    fplt__buffer_add(&buffer, "}\n\\hline\n");
    for (size_t row = 0; row <= started_rows(table); row++)
        for (size_t c = 0; c < table->width; c++) {
            latex_text(&buffer, row ? shown(cell_at(table, row - 1, c)) : table->columns[c]);
            fplt__buffer_add(&buffer, c + 1 < table->width ? " & "
                                      : row                ? " \\\\\n"
                                                           : " \\\\\n\\hline\n");
        }
    fplt__buffer_add(&buffer, "\\hline\n\\end{tabular}\n");
    return fplt__buffer_take(&buffer, text, error);
}

fplt_status fplt_table_render(const fplt_table *table, fplt_table_form form, char **text,
                              fplt_error *error)
{
    static fplt_status (*const forms[])(const fplt_table *, fplt__buffer *, fplt_error *) = {
        [FPLT_TABLE_ALIGNED] = render_aligned,
        [FPLT_TABLE_CSV] = render_csv,
        [FPLT_TABLE_JSON] = render_json,
        [FPLT_TABLE_HTML] = render_html,
    };
    fplt__buffer buffer = {NULL, 0, 0, FPLT_OK};
    *text = NULL;
    if (table->status)
        return fplt_error_set(error, table->status, "no memory for a table");
    fplt_status status = forms[form](table, &buffer, error);
    if (status) {
        fplt__buffer_clear(&buffer);
        return status;
    }
    return fplt__buffer_take(&buffer, text, error);
}

fplt_status fplt__json_write(json_t *document, char **out, fplt_error *error)
{
    char *dumped = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(document);
    *out = dumped ? fplt__strdup(dumped) : NULL;
    free(dumped);
    return *out ? FPLT_OK
                : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the JSON document");
}
