/* CSV after RFC 4180: from text to rows of fields. */
#include <stdio.h>

#include "base/memory.h"
#include "data/csv_reader.h"

/* A column name may be repeated for each level of a category: its length bounds the memory. */
enum { LONGEST_NAME = 255 };

void fplt__csv_clear(fplt__csv_reader *reader)
{
    fplt__free(reader->field);
    fplt__free(reader->unquoted);
    fplt__free(reader->rewritten);
    fplt__free(reader->role);
    fplt__free(reader->run);
    fplt__lookup_clear(&reader->names);
}

static fplt_status add_field(fplt__csv_reader *reader, fplt__span span, int quoted,
                             fplt_error *error)
{
    fplt_status status = fplt__grow(&reader->field, &reader->field_capacity, reader->fields + 1,
                                    sizeof *reader->field, "fields", error);
    if (!status)
        reader->field[reader->fields++] = (fplt__field){span, quoted, 0};
    return status;
}

/* Copies a field without the first of each pair of quotes. */
static fplt_status unquote(fplt__csv_reader *reader, fplt__span *span, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (!reader->unquoted)
        status = fplt__alloc_into(&reader->unquoted, reader->source->size + 1, 1, "quoted fields",
                                  error);
    if (status)
        return status;
    char *place = reader->unquoted + reader->unquoted_used;
    size_t length = 0;
    for (size_t i = 0; i < span->length; i++) {
        place[length++] = span->text[i];
        i += span->text[i] == '"';
    }
    reader->unquoted_used += length;
    *span = (fplt__span){place, length};
    return FPLT_OK;
}

static fplt_status read_quoted(fplt__csv_reader *reader, fplt_error *error)
{
    const char *c = reader->at + 1, *start = c;
    size_t opened = reader->line;
    int doubled = 0;
    for (;; c++) {
        if (c == reader->end)
            return fplt__bad_data(error, reader->source->name, opened,
                                  "a quote opens here and is never closed");
        if (*c == '\n')
            reader->line++;
        if (*c != '"')
            continue;
        if (c + 1 == reader->end || c[1] != '"')
            break;
        doubled = 1;
        c++;
    }
    fplt__span span = {start, (size_t)(c - start)};
    reader->at = c + 1;
    if (reader->at < reader->end && *reader->at != reader->separator && *reader->at != '\n' &&
        *reader->at != '\r')
        return fplt__bad_data(error, reader->source->name, reader->line,
                              "text follows a closing quote; a quote inside a quoted field is "
                              "written twice");
    fplt_status status = doubled ? unquote(reader, &span, error) : FPLT_OK;
    return status ? status : add_field(reader, span, 1, error);
}

static fplt_status read_plain(fplt__csv_reader *reader, fplt_error *error)
{
    const char *c = reader->at;
    while (c < reader->end && *c != reader->separator && *c != '\n' && *c != '\r' && *c != '"')
        c++;
    if (c < reader->end && *c == '"')
        return fplt__bad_data(error, reader->source->name, reader->line,
                              "a quote inside an unquoted field");
    fplt__span span = {reader->at, (size_t)(c - reader->at)};
    reader->at = c;
    return add_field(reader, fplt__span_trim(span), 0, error);
}

/* Steps over the end of a line; 0 where there is none. */
static int step_line(fplt__csv_reader *reader)
{
    const char *c = reader->at;
    if (c < reader->end && *c == '\r')
        c++;
    if (c == reader->end || *c != '\n')
        return 0;
    reader->at = c + 1;
    reader->line++;
    return 1;
}

/* Reads the fields of the next row; none at the end of the text. Empty lines are no rows. */
static fplt_status read_row(fplt__csv_reader *reader, fplt_error *error)
{
    reader->fields = 0;
    reader->unquoted_used = 0;
    while (step_line(reader))
        ;
    reader->row_line = reader->line;
    if (reader->at == reader->end)
        return FPLT_OK;
    for (;;) {
        int quoted = reader->at < reader->end && *reader->at == '"';
        fplt_status status = quoted ? read_quoted(reader, error) : read_plain(reader, error);
        if (status)
            return status;
        if (reader->at == reader->end || step_line(reader))
            return FPLT_OK;
        if (*reader->at != reader->separator)
            return fplt__bad_data(error, reader->source->name, reader->line,
                                  "a carriage return without a line feed");
        reader->at++;
    }
}

/* What stands between the separators of a line, quotes or not. */
static fplt_status split_line(fplt__csv_reader *reader, const char *at, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    reader->fields = 0;
    for (const char *c = at; !status; c++) {
        if (c < reader->end && *c != reader->separator)
            continue;
        status = add_field(reader, fplt__span_trim((fplt__span){at, (size_t)(c - at)}), 0, error);
        if (c == reader->end)
            break;
        at = c + 1;
    }
    return status;
}

/* Reads the next line as a row, blank ones too: how many rows there are does not depend on what stands in one, so a quoted
 * field ends with its line. */
static fplt_status read_line(fplt__csv_reader *reader, fplt_error *error)
{
    const char *text_end = reader->end, *at = reader->at;
    fplt_error why = {FPLT_OK, ""};
    reader->fields = 0;
    reader->odd = 0;
    reader->row_line = reader->line;
    if (at == text_end)
        return FPLT_OK;
    const char *stop = memchr(at, '\n', (size_t)(text_end - at));
    stop = stop ? stop : text_end;
    reader->end = stop > at && stop < text_end && stop[-1] == '\r' ? stop - 1 : stop;
    fplt_status status = reader->end > at ? read_row(reader, &why) : FPLT_OK;
    if (status == FPLT_BAD_DATA || (!status && reader->fields != reader->names.count)) {
        reader->odd = 1;
        status = split_line(reader, at, error);
    } else if (status && error)
        *error = why;
    reader->at = stop < text_end ? stop + 1 : text_end;
    reader->end = text_end;
    reader->line = reader->row_line + 1;
    return status;
}

/* A first line of numbers is data, unless it numbers the columns. */
static fplt_status check_header(const fplt__csv_reader *reader, fplt_error *error)
{
    int numbering = 1;
    for (size_t i = 0; i < reader->fields; i++) {
        double value = 0;
        if (!fplt__field_missing(&reader->field[i]) &&
            fplt__number_parse(reader->field[i].span, &value) != FPLT__NUMBER)
            return FPLT_OK;
        numbering &= reader->field[i].span.length > 0 && value == (double)(i + 1);
    }
    if (numbering || reader->fields < 2)
        return FPLT_OK;
    return fplt__bad_data(error, reader->source->name, reader->row_line,
                          "the first line has numbers (%s, %s, ...), not the names of the columns: "
                          "add --header no, and name columns by their numbers (--label %zu), or "
                          "write a line with the names before the first",
                          fplt__show(reader->field[0].span).text,
                          fplt__show(reader->field[1].span).text, reader->fields);
}

static fplt_status name_columns(fplt__csv_reader *reader, int no_header, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < reader->fields && !status; i++) {
        char digits[32];
        uint32_t number, before = reader->names.count;
        fplt__span name = reader->field[i].span;
        if (no_header) {
            snprintf(digits, sizeof digits, "%zu", i + 1);
            name = fplt__span_of(digits);
        }
        if (name.length > LONGEST_NAME)
            return fplt__bad_data(error, reader->source->name, reader->row_line,
                                  "the name of column %zu has %zu characters, but at most %d are "
                                  "legal",
                                  i + 1, name.length, LONGEST_NAME);
        status = fplt__lookup_add(&reader->names, name, &number, error);
        if (!status && number < before)
            status = fplt__bad_data(error, reader->source->name, reader->row_line,
                                    "two columns are called '%s': give every column a name of its "
                                    "own in this line",
                                    fplt__show(name).text);
    }
    return status;
}

static fplt_status number_columns(fplt__csv_reader *reader, size_t width, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < width && !status; i++) {
        char digits[32];
        uint32_t number;
        snprintf(digits, sizeof digits, "%zu", i + 1);
        status = fplt__lookup_add(&reader->names, fplt__span_of(digits), &number, error);
    }
    return status;
}

/* What stands between the fields: as said, or the first of comma, tab, semicolon and bar that is in the first
 * line outside quotes. */
static char separator_of(const char *text, const char *end, const char *said)
{
    static const struct {
        const char *name;
        char sign;
    } known[] = {{"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"bar", '|'}};
    enum { SIGNS = sizeof known / sizeof *known };
    int quoted = 0, found[SIGNS] = {0};
    for (size_t i = 0; said && i < SIGNS; i++)
        if (strcmp(said, known[i].name) == 0)
            return known[i].sign;
    for (const char *c = text; c < end && (quoted || *c != '\n'); c++) {
        quoted ^= *c == '"';
        for (size_t i = 0; i < SIGNS; i++)
            found[i] |= !quoted && *c == known[i].sign;
    }
    for (size_t i = 0; i < SIGNS; i++)
        if (found[i])
            return known[i].sign;
    return ',';
}

fplt_status fplt__csv_begin(fplt__csv_reader *reader, const fplt__source *source, int no_header,
                            const char *separator, const fplt__csv_visitor *lenient,
                            fplt_error *error)
{
    size_t mark = source->size >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    *reader = (fplt__csv_reader){
        .source = source, .at = source->text + mark, .line = source->counts_rows ? 0 : 1};
    reader->end = source->text + source->size;
    /* with privacy the first record does not decide how the others are read */
    reader->separator =
        separator_of(reader->at, lenient && no_header ? reader->at : reader->end, separator);
    fplt_status status = lenient ? FPLT_OK : fplt__text_check(source, error);
    reader->lenient = lenient != NULL;
    if (lenient && no_header)
        return number_columns(reader, lenient->width, error);
    if (!status)
        status = read_row(reader, error);
    if (!status && !reader->fields)
        status = fplt__bad_data(error, source->name, 0, "the file is empty");
    if (!status && !no_header)
        status = check_header(reader, error);
    if (!status)
        status = name_columns(reader, no_header, error);
    if (!status && no_header) { /* the row is read again, as data */
        reader->at = source->text + mark;
        reader->line = source->counts_rows ? 0 : 1;
    }
    return status;
}

/* Makes the fields what the readers take, where the file writes values in another way. */
static fplt_status rewrite_row(fplt__csv_reader *reader, fplt_error *error)
{
    size_t needed = 0, used = 0;
    for (size_t i = 0; i < reader->fields; i++)
        needed += reader->field[i].span.length + FPLT__REWRITTEN;
    fplt_status status = fplt__grow(&reader->rewritten, &reader->rewritten_capacity, needed, 1,
                                    "fields of a row", error);
    for (size_t i = 0; i < reader->fields && !status; i++) {
        int role = reader->role ? reader->role[i] : FPLT__CSV_LABEL;
        if (role != FPLT__CSV_ID && role != FPLT__CSV_LEFT_OUT)
            used += fplt__dialect_rewrite(reader->dialect, &reader->field[i], role >= 0,
                                          reader->rewritten + used);
    }
    return status;
}

fplt_status fplt__csv_next_row(fplt__csv_reader *reader, fplt_error *error)
{
    fplt_status status = reader->lenient ? read_line(reader, error) : read_row(reader, error);
    if (!status && reader->fields && !reader->odd && reader->fields != reader->names.count)
        status = fplt__bad_data(error, reader->source->name, reader->row_line,
                                "%zu fields, but the first line has %u", reader->fields,
                                reader->names.count);
    if (!status && reader->fields && !reader->odd && reader->dialect)
        status = rewrite_row(reader, error);
    return status;
}

fplt_status fplt__csv_visit(const fplt__source *source, int no_header,
                            const fplt__csv_visitor *visitor, fplt_error *error)
{
    fplt__csv_reader reader;
    fplt_status status = fplt__csv_begin(&reader, source, no_header, visitor->separator,
                                         visitor->odd_row ? visitor : NULL, error);
    reader.dialect = visitor->dialect;
    if (!status)
        status = visitor->columns(visitor->context, &reader.names, reader.row_line, error);
    while (!status) {
        status = fplt__csv_next_row(&reader, error);
        if (status || !reader.fields)
            break;
        status = reader.odd ? visitor->odd_row(visitor->context, reader.field, reader.fields,
                                               reader.row_line, error)
                            : visitor->row(visitor->context, reader.field, reader.row_line, error);
    }
    fplt__csv_clear(&reader);
    return status;
}
