/* The rows of a sheet. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xlsx/xlsx.h"

enum { MAX_SHEET_COLUMNS = 16384, MAX_SHEET_ROWS = 1048576 };

typedef enum value_type { TYPE_NUMBER, TYPE_SHARED, TYPE_TEXT, TYPE_SWITCH, TYPE_ERROR } value_type;

/* The row and the cell at hand. Texts of cells are offsets into `text` until the row is whole. */
struct sheet {
    const fplt__door_host *host;
    fplt__cell *cell; /* owned */
    size_t *place;    /* owned: where the text of a cell begins, plus 1; 0: elsewhere */
    size_t cells, cell_capacity, place_capacity;
    size_t used; /* columns up to the last that is not empty */
    size_t width;
    xlsx_bytes text;
    size_t row, column; /* from 1; 0 before the first */
    value_type type;
    unsigned format;
    int in_cell, has_value, has_formula, in_phonetic;
    size_t errors, formulas;
};

static fplt_status fail(const xlsx_reading *reading, const char *what, const char *value)
{
    const struct sheet *sheet = reading->context;
    return fplt__door_fail(reading->error, FPLT_BAD_DATA, reading->book->request->name, sheet->row,
                           "column %zu: %s '%.40s'", sheet->column, what, value);
}

/* ---- places ---- */

/* The letters of "BC12" as a number from 1; 0: none. */
static size_t column_number(const char *reference)
{
    size_t number = 0;
    for (; *reference >= 'A' && *reference <= 'Z' && number <= MAX_SHEET_COLUMNS; reference++)
        number = 26 * number + (size_t)(*reference - 'A') + 1;
    return number;
}

static void start_row(xlsx_reading *reading, const char **attributes)
{
    struct sheet *sheet = reading->context;
    const char *number = xlsx_attribute(attributes, "r");
    size_t row = number ? (size_t)strtoul(number, NULL, 10) : sheet->row + 1;
    if (row <= sheet->row || row > MAX_SHEET_ROWS) {
        xlsx_stop(reading, fail(reading, "the next row is number", number ? number : ""));
        return;
    }
    sheet->row = row;
    sheet->column = sheet->used = sheet->text.length = 0;
    for (size_t i = 0; i < sheet->cells; i++) {
        sheet->cell[i] = (fplt__cell){FPLT__CELL_MISSING, 0, NULL, 0};
        sheet->place[i] = 0;
    }
}

static int make_cells(struct sheet *sheet, size_t count)
{
    while (sheet->cells < count) {
        if (!xlsx_grow(&sheet->cell, &sheet->cell_capacity, sheet->cells, sizeof *sheet->cell) ||
            !xlsx_grow(&sheet->place, &sheet->place_capacity, sheet->cells, sizeof *sheet->place))
            return 0;
        sheet->cell[sheet->cells] = (fplt__cell){FPLT__CELL_MISSING, 0, NULL, 0};
        sheet->place[sheet->cells++] = 0;
    }
    return 1;
}

static value_type type_of(const char *word)
{
    return !word || strcmp(word, "n") == 0 ? TYPE_NUMBER
           : strcmp(word, "s") == 0        ? TYPE_SHARED
           : strcmp(word, "b") == 0        ? TYPE_SWITCH
           : strcmp(word, "e") == 0        ? TYPE_ERROR
                                           : TYPE_TEXT;
}

static void start_cell(xlsx_reading *reading, const char **attributes)
{
    struct sheet *sheet = reading->context;
    const char *reference = xlsx_attribute(attributes, "r");
    const char *format = xlsx_attribute(attributes, "s");
    size_t column = reference ? column_number(reference) : sheet->column + 1;
    if (!sheet->row || column <= sheet->column || column > MAX_SHEET_COLUMNS) {
        const char *what = column > MAX_SHEET_COLUMNS
                               ? "a sheet has at most 16384 columns, but here is cell"
                               : "cells of a row must follow one another, but here is cell";
        xlsx_stop(reading, fail(reading, what, reference ? reference : ""));
        return;
    }
    sheet->column = column;
    sheet->type = type_of(xlsx_attribute(attributes, "t"));
    sheet->format = format ? (unsigned)strtoul(format, NULL, 10) : 0;
    sheet->in_cell = 1;
    sheet->has_value = sheet->has_formula = 0;
    reading->text.length = 0;
    if (!make_cells(sheet, column))
        xlsx_stop(reading, FPLT_NO_MEMORY);
}

/* ---- values ---- */

static void keep_text(struct sheet *sheet, fplt__cell_kind kind, const char *text, size_t length)
{
    fplt__cell *cell = &sheet->cell[sheet->column - 1];
    *cell = (fplt__cell){length ? kind : FPLT__CELL_MISSING, 0, NULL, length};
    sheet->place[sheet->column - 1] = sheet->text.length + 1;
    xlsx_add(&sheet->text, text, length);
}

/* Days since 1900 (with its 29th of February, which there was not) or since 1904. */
static void take_date(const xlsx_reading *reading, double serial)
{
    char text[32];
    double days = floor(serial), rest = (serial - days) * 86400;
    long seconds = lround(rest);
    if (seconds == 86400) {
        seconds = 0;
        days++;
    }
    double since = reading->book->is_1904 ? days - 24107 : days < 60 ? days - 25568 : days - 25569;
    keep_text(reading->context, FPLT__CELL_TEXT, text,
              fplt__door_date((long long)since, seconds, text));
}

static void take_number(xlsx_reading *reading)
{
    struct sheet *sheet = reading->context;
    const xlsx_book *book = reading->book;
    char *end;
    double value = strtod(reading->text.at, &end);
    int is_date = sheet->format < book->format_count && book->is_date[sheet->format];
    if (*end || end == reading->text.at || !isfinite(value))
        xlsx_stop(reading, fail(reading, "this is not a number:", reading->text.at));
    else if (is_date && value >= 1 && value < 2958466) /* the year 10000 */
        take_date(reading, value);
    else
        keep_text(sheet, FPLT__CELL_NUMBER, reading->text.at, reading->text.length);
}

static void take_shared(xlsx_reading *reading)
{
    const xlsx_book *book = reading->book;
    char *end;
    unsigned long index = strtoul(reading->text.at, &end, 10);
    if (*end || index >= book->string_count) {
        xlsx_stop(reading, fail(reading, "the workbook has no text number", reading->text.at));
        return;
    }
    size_t from = index ? book->string_end[index - 1] : 0;
    struct sheet *sheet = reading->context;
    sheet->cell[sheet->column - 1] =
        (fplt__cell){book->string_end[index] > from ? FPLT__CELL_TEXT : FPLT__CELL_MISSING, 0,
                     book->strings.at + from, book->string_end[index] - from};
}

static void end_cell(xlsx_reading *reading)
{
    struct sheet *sheet = reading->context;
    sheet->in_cell = 0;
    sheet->formulas += sheet->has_formula && (!sheet->has_value || !reading->text.length);
    if (!sheet->has_value || !reading->text.length)
        return;
    switch (sheet->type) {
    case TYPE_NUMBER: take_number(reading); break;
    case TYPE_SHARED: take_shared(reading); break;
    case TYPE_TEXT:
        keep_text(sheet, FPLT__CELL_TEXT, reading->text.at, reading->text.length);
        break;
    case TYPE_SWITCH: keep_text(sheet, FPLT__CELL_NUMBER, reading->text.at, 1); break;
    case TYPE_ERROR: sheet->errors++; break;
    }
    if (sheet->text.failed)
        xlsx_stop(reading, FPLT_NO_MEMORY);
    else if (sheet->cell[sheet->column - 1].kind != FPLT__CELL_MISSING)
        sheet->used = sheet->column;
}

/* ---- rows ---- */

static fplt_status give_row(const xlsx_reading *reading, struct sheet *sheet)
{
    const fplt__door_host *host = sheet->host;
    const fplt__door_request *request = reading->book->request;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < sheet->used; i++)
        if (sheet->place[i])
            sheet->cell[i].text = sheet->text.at + sheet->place[i] - 1;
    int is_first = !sheet->width;
    if (is_first) {
        sheet->width = sheet->used;
        status =
            host->columns(host->context, sheet->row, sheet->cell, sheet->width, reading->error);
        if (!request->no_header)
            return status;
    }
    if (!status && sheet->used > sheet->width)
        return fplt__door_fail(reading->error, FPLT_BAD_DATA, request->name, sheet->row,
                               "there is a value in column %zu, but the first row names %zu "
                               "columns: the names must be in the first row of the sheet, and "
                               "nothing beside the table",
                               sheet->used, sheet->width);
    return status ? status : host->row(host->context, sheet->row, sheet->cell, reading->error);
}

static void end_row(xlsx_reading *reading)
{
    struct sheet *sheet = reading->context;
    if (!sheet->used)
        return;
    if (sheet->width && !make_cells(sheet, sheet->width)) {
        xlsx_stop(reading, FPLT_NO_MEMORY);
        return;
    }
    fplt_status status = give_row(reading, sheet);
    if (status)
        xlsx_stop(reading, status);
}

static void start_element(xlsx_reading *reading, const char *name, const char **attributes)
{
    struct sheet *sheet = reading->context;
    if (strcmp(name, "row") == 0)
        start_row(reading, attributes);
    else if (strcmp(name, "c") == 0)
        start_cell(reading, attributes);
    else if (!sheet->in_cell)
        return;
    else if (strcmp(name, "f") == 0)
        sheet->has_formula = 1;
    else if (strcmp(name, "rPh") == 0)
        sheet->in_phonetic = 1;
    else if (strcmp(name, "v") == 0 || (strcmp(name, "t") == 0 && !sheet->in_phonetic))
        reading->takes_text = sheet->has_value = 1;
}

static void end_element(xlsx_reading *reading, const char *name)
{
    struct sheet *sheet = reading->context;
    if (strcmp(name, "v") == 0 || strcmp(name, "t") == 0)
        reading->takes_text = 0;
    else if (strcmp(name, "rPh") == 0)
        sheet->in_phonetic = 0;
    else if (strcmp(name, "c") == 0)
        end_cell(reading);
    else if (strcmp(name, "row") == 0)
        end_row(reading);
}

static void note_cells(const struct sheet *sheet)
{
    char sentence[200];
    if (sheet->errors) {
        snprintf(sentence, sizeof sentence,
                 "%zu cell%s with an error such as #N/A %s read as missing", sheet->errors,
                 sheet->errors == 1 ? "" : "s", sheet->errors == 1 ? "is" : "are");
        sheet->host->note(sheet->host->context, sentence);
    }
    if (sheet->formulas) {
        snprintf(sentence, sizeof sentence,
                 "%zu formula%s without a stored result %s read as missing: open the workbook in "
                 "Excel or LibreOffice and save it",
                 sheet->formulas, sheet->formulas == 1 ? "" : "s",
                 sheet->formulas == 1 ? "is" : "are");
        sheet->host->note(sheet->host->context, sentence);
    }
}

fplt_status xlsx_read_sheet(xlsx_book *book, const char *part, const fplt__door_host *host,
                            fplt_error *error)
{
    struct sheet sheet = {.host = host};
    fplt_status status = xlsx_parse(book, part, 1, start_element, end_element, &sheet, error);
    if (!status)
        note_cells(&sheet);
    free(sheet.cell);
    free(sheet.place);
    free(sheet.text.at);
    return status;
}
