/* Parts of a workbook: how they are parsed, the names of the sheets, shared strings and formats. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xlsx/xlsx.h"

/* ---- memory ---- */

int xlsx_grow(void *pointer_to_pointer, size_t *capacity, size_t count, size_t size)
{
    void **pointer = pointer_to_pointer;
    size_t more = *capacity ? 2 * *capacity : 64;
    if (count < *capacity)
        return 1;
    void *made = more > SIZE_MAX / size ? NULL : realloc(*pointer, more * size);
    if (!made)
        return 0;
    *pointer = made;
    *capacity = more;
    return 1;
}

void xlsx_add(xlsx_bytes *bytes, const char *from, size_t count)
{
    while (!bytes->failed && bytes->capacity - bytes->length < count + 1)
        bytes->failed = !xlsx_grow(&bytes->at, &bytes->capacity, bytes->capacity, 1);
    if (bytes->failed)
        return;
    if (count)
        memcpy(bytes->at + bytes->length, from, count);
    bytes->length += count;
    bytes->at[bytes->length] = 0;
}

/* ---- parsing ---- */

static const char *local_name(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

const char *xlsx_attribute(const char **attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (strcmp(local_name(*attributes), name) == 0)
            return attributes[1];
    return NULL;
}

void xlsx_stop(xlsx_reading *reading, fplt_status status)
{
    if (status == FPLT_NO_MEMORY && reading->error)
        fplt__door_fail(reading->error, status, reading->book->request->name, 0,
                        "no memory to read the workbook");
    reading->failure = status;
    XML_StopParser(reading->parser, XML_FALSE);
}

/* The handlers of one part. */
struct part {
    xlsx_reading reading;
    xlsx_start *start;
    xlsx_end *end;
};

static void XMLCALL start_element(void *data, const char *name, const char **attributes)
{
    struct part *part = data;
    if (!part->reading.failure)
        part->start(&part->reading, local_name(name), attributes);
}

static void XMLCALL end_element(void *data, const char *name)
{
    struct part *part = data;
    if (!part->reading.failure)
        part->end(&part->reading, local_name(name));
}

static void XMLCALL take_text(void *data, const char *text, int length)
{
    struct part *part = data;
    if (!part->reading.takes_text || part->reading.failure)
        return;
    xlsx_add(&part->reading.text, text, (size_t)length);
    if (part->reading.text.failed)
        xlsx_stop(&part->reading, FPLT_NO_MEMORY);
    else if (part->reading.text.length > FPLT__DOOR_MAX_CELL)
        xlsx_stop(&part->reading,
                  fplt__door_fail(part->reading.error, FPLT_BAD_DATA,
                                  part->reading.book->request->name, 0,
                                  "a cell has more than %d bytes of text: leave its column out",
                                  FPLT__DOOR_MAX_CELL));
}

/* Entities of a document's own may grow without limit, and no workbook has any. */
static void XMLCALL refuse_doctype(void *data, const char *name, const char *system,
                                   const char *public_id, int has_subset)
{
    struct part *part = data;
    (void)name, (void)system, (void)public_id, (void)has_subset;
    xlsx_stop(&part->reading, fplt__door_fail(part->reading.error, FPLT_BAD_DATA,
                                              part->reading.book->request->name, 0,
                                              "the workbook has a document type, which none that "
                                              "Excel or LibreOffice writes has"));
}

static fplt_status damaged(const xlsx_book *book, const char *part, const char *why,
                           fplt_error *error)
{
    return fplt__door_fail(error, FPLT_BAD_DATA, book->request->name, 0,
                           "the workbook is damaged (%s: %.200s): open it in Excel or LibreOffice "
                           "and save it again",
                           part, why);
}

static fplt_status feed(struct part *part, const char *name, zip_file_t *file, fplt_error *error)
{
    enum { PIECE = 1 << 16 };
    xlsx_book *book = part->reading.book;
    XML_Parser parser = part->reading.parser;
    for (zip_int64_t got = 1; got > 0;) {
        void *bytes = XML_GetBuffer(parser, PIECE);
        if (!bytes)
            return fplt__door_fail(error, FPLT_NO_MEMORY, book->request->name, 0, "no memory");
        if ((got = zip_fread(file, bytes, PIECE)) < 0)
            return damaged(book, name, zip_file_strerror(file), error);
        book->unpacked += (size_t)got;
        if (book->unpacked > book->request->max_bytes)
            return fplt__door_fail(error, FPLT_BAD_DATA, book->request->name, 0,
                                   "more than %.3g GiB come out of the workbook: raise "
                                   "--largest-file if it really is that large",
                                   (double)book->request->max_bytes / 1073741824.0);
        if (!XML_ParseBuffer(parser, (int)got, got == 0))
            return part->reading.failure
                       ? part->reading.failure
                       : damaged(book, name, XML_ErrorString(XML_GetErrorCode(parser)), error);
    }
    return FPLT_OK;
}

/* No sheet is packed as well as one that is made to fill memory. */
static int is_bomb(xlsx_book *book, zip_uint64_t index)
{
    enum { MIN_SIZE = 64 << 20, MAX_RATIO = 400 };
    zip_stat_t about;
    zip_stat_init(&about);
    return zip_stat_index(book->archive, index, 0, &about) == 0 &&
           (about.valid & (ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE)) ==
               (ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE) &&
           about.size > MIN_SIZE && about.size / MAX_RATIO > about.comp_size;
}

fplt_status xlsx_parse(xlsx_book *book, const char *name, int needed, xlsx_start *start,
                       xlsx_end *end, void *context, fplt_error *error)
{
    zip_int64_t index = zip_name_locate(book->archive, name, ZIP_FL_NOCASE);
    if (index < 0 && !needed)
        return FPLT_OK;
    if (index >= 0 && is_bomb(book, (zip_uint64_t)index))
        return damaged(book, name, "it is packed more than 400 times smaller than it is", error);
    zip_file_t *file = index < 0 ? NULL : zip_fopen_index(book->archive, (zip_uint64_t)index, 0);
    if (!file)
        return damaged(book, name, zip_strerror(book->archive), error);
    struct part part = {
        .reading = {.book = book, .error = error, .context = context}, .start = start, .end = end};
    part.reading.parser = XML_ParserCreate(NULL);
    fplt_status status = FPLT_NO_MEMORY;
    if (part.reading.parser) {
        XML_SetUserData(part.reading.parser, &part);
        XML_SetElementHandler(part.reading.parser, start_element, end_element);
        XML_SetCharacterDataHandler(part.reading.parser, take_text);
        XML_SetStartDoctypeDeclHandler(part.reading.parser, refuse_doctype);
        status = feed(&part, name, file, error);
        XML_ParserFree(part.reading.parser);
    }
    free(part.reading.text.at);
    zip_fclose(file);
    return status;
}

/* ---- shared strings ---- */

/* Text of phonetic signs (rPh) is not part of the cell. */
struct strings {
    int in_phonetic;
};

static void start_string(xlsx_reading *reading, const char *name, const char **attributes)
{
    struct strings *strings = reading->context;
    (void)attributes;
    if (strcmp(name, "si") == 0)
        reading->text.length = 0;
    else if (strcmp(name, "rPh") == 0)
        strings->in_phonetic = 1;
    else if (strcmp(name, "t") == 0)
        reading->takes_text = !strings->in_phonetic;
}

static void end_string(xlsx_reading *reading, const char *name)
{
    struct strings *strings = reading->context;
    xlsx_book *book = reading->book;
    if (strcmp(name, "t") == 0)
        reading->takes_text = 0;
    else if (strcmp(name, "rPh") == 0)
        strings->in_phonetic = 0;
    if (strcmp(name, "si") != 0)
        return;
    xlsx_add(&book->strings, reading->text.at, reading->text.length);
    if (book->strings.failed || !xlsx_grow(&book->string_end, &book->string_capacity,
                                           book->string_count, sizeof *book->string_end)) {
        xlsx_stop(reading, FPLT_NO_MEMORY);
        return;
    }
    book->string_end[book->string_count++] = book->strings.length;
}

fplt_status xlsx_read_strings(xlsx_book *book, fplt_error *error)
{
    struct strings strings = {0};
    return xlsx_parse(book, "xl/sharedStrings.xml", 0, start_string, end_string, &strings, error);
}

/* ---- formats ---- */

/* Formats that the workbook itself defines, in the order of their numbers' appearance. */
struct styles {
    unsigned *number; /* owned: of those that show dates */
    size_t count, capacity;
    int in_cells;
};

/* Whether a format shows a day: it has a d or a y outside quotes and brackets. */
static int shows_date(const char *code)
{
    for (const char *c = code; *c; c++) {
        if (*c == '"' || *c == '[') {
            c = strchr(c + 1, *c == '"' ? '"' : ']');
            if (!c)
                return 0;
        } else if (*c == '\\' || *c == '_' || *c == '*') {
            if (!c[1])
                return 0;
            c++;
        } else if (strchr("dDyY", *c))
            return 1;
    }
    return 0;
}

/* Formats that every workbook has: days, also those of East Asian calendars. */
static int is_date_number(unsigned number)
{
    return (number >= 14 && number <= 17) || number == 22 || (number >= 27 && number <= 31) ||
           number == 36 || (number >= 50 && number <= 54) || number == 57 || number == 58;
}

static void add_format(xlsx_reading *reading, unsigned number)
{
    const struct styles *styles = reading->context;
    xlsx_book *book = reading->book;
    unsigned char is_date = (unsigned char)is_date_number(number);
    for (size_t i = 0; i < styles->count; i++)
        is_date |= styles->number[i] == number;
    if (!xlsx_grow(&book->is_date, &book->format_capacity, book->format_count, 1))
        xlsx_stop(reading, FPLT_NO_MEMORY);
    else
        book->is_date[book->format_count++] = is_date;
}

static void start_style(xlsx_reading *reading, const char *name, const char **attributes)
{
    struct styles *styles = reading->context;
    const char *id = xlsx_attribute(attributes, "numFmtId");
    unsigned number = id ? (unsigned)strtoul(id, NULL, 10) : 0;
    if (strcmp(name, "cellXfs") == 0)
        styles->in_cells = 1;
    else if (strcmp(name, "xf") == 0 && styles->in_cells)
        add_format(reading, number);
    else if (strcmp(name, "numFmt") == 0) {
        const char *code = xlsx_attribute(attributes, "formatCode");
        if (!code || !shows_date(code))
            return;
        if (!xlsx_grow(&styles->number, &styles->capacity, styles->count, sizeof *styles->number))
            xlsx_stop(reading, FPLT_NO_MEMORY);
        else
            styles->number[styles->count++] = number;
    }
}

static void end_style(xlsx_reading *reading, const char *name)
{
    struct styles *styles = reading->context;
    if (strcmp(name, "cellXfs") == 0)
        styles->in_cells = 0;
}

fplt_status xlsx_read_styles(xlsx_book *book, fplt_error *error)
{
    struct styles styles = {NULL, 0, 0, 0};
    fplt_status status =
        xlsx_parse(book, "xl/styles.xml", 0, start_style, end_style, &styles, error);
    free(styles.number);
    return status;
}

/* ---- sheets ---- */

struct sheets {
    const char *wanted; /* NULL: the first */
    int found;
    char id[256], target[512]; /* relation of the sheet, and its part */
    char known[400];           /* names, for a sentence */
};

static void start_book(xlsx_reading *reading, const char *name, const char **attributes)
{
    struct sheets *sheets = reading->context;
    if (strcmp(name, "workbookPr") == 0) {
        const char *word = xlsx_attribute(attributes, "date1904");
        reading->book->is_1904 = word && (strcmp(word, "1") == 0 || strcmp(word, "true") == 0);
    }
    if (strcmp(name, "sheet") != 0)
        return;
    const char *sheet = xlsx_attribute(attributes, "name"), *id = xlsx_attribute(attributes, "id");
    size_t used = strlen(sheets->known);
    snprintf(sheets->known + used, sizeof sheets->known - used, "%s%.60s", used ? ", " : "",
             sheet ? sheet : "");
    if (sheets->found || !id || (sheets->wanted && (!sheet || strcmp(sheet, sheets->wanted) != 0)))
        return;
    sheets->found = 1;
    snprintf(sheets->id, sizeof sheets->id, "%s", id);
}

static void start_relation(xlsx_reading *reading, const char *name, const char **attributes)
{
    struct sheets *sheets = reading->context;
    const char *id = xlsx_attribute(attributes, "Id");
    const char *target = xlsx_attribute(attributes, "Target");
    if (strcmp(name, "Relationship") == 0 && id && target && strcmp(id, sheets->id) == 0)
        snprintf(sheets->target, sizeof sheets->target, "%s", target);
}

static void end_nothing(xlsx_reading *reading, const char *name)
{
    (void)reading, (void)name;
}

fplt_status xlsx_find_sheet(xlsx_book *book, char *part, size_t size, fplt_error *error)
{
    struct sheets sheets = {.wanted = book->request->sheet};
    if (zip_name_locate(book->archive, "xl/workbook.xml", ZIP_FL_NOCASE) < 0)
        return fplt__door_fail(error, FPLT_BAD_DATA, book->request->name, 0,
                               "this ZIP archive is no Excel workbook (.xlsx): give the workbook, "
                               "or the unpacked table as CSV");
    fplt_status status =
        xlsx_parse(book, "xl/workbook.xml", 1, start_book, end_nothing, &sheets, error);
    if (!status && !sheets.found)
        return fplt__door_fail(error, FPLT_BAD_VALUE, book->request->name, 0,
                               "the workbook has no sheet '%.80s'; it has: %s",
                               sheets.wanted ? sheets.wanted : "", sheets.known);
    if (!status)
        status = xlsx_parse(book, "xl/_rels/workbook.xml.rels", 1, start_relation, end_nothing,
                            &sheets, error);
    if (!status && !*sheets.target)
        return damaged(book, "xl/_rels/workbook.xml.rels", "the sheet has no part", error);
    if (!status)
        snprintf(part, size, "%s%s", *sheets.target == '/' ? "" : "xl/",
                 sheets.target + (*sheets.target == '/'));
    return status;
}
