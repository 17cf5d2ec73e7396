/* Files of SPSS, Stata and SAS by libreadstat: the module `readstat`, see data/door.h.
 *
 * Value labels become texts where every value that occurs in a column has one; user-defined missing values become
 * missing. Labels may follow the data in a file, so a file is parsed up to three times: names and labels, which columns
 * are labelled throughout, rows. */
#include <readstat.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/door.h"

/* How the numbers of a column are shown. */
typedef enum calendar {
    NO_CALENDAR,
    SPSS_SECONDS, /* since 1582-10-14 */
    DAYS_1960,
    MILLISECONDS_1960,
    SECONDS_1960
} calendar;

struct label {
    char *set, *text, *word; /* owned; `word`: the value of a text, or NULL */
    double value;
};

struct column {
    char *name, *set; /* owned; set of labels, or NULL */
    calendar calendar;
    int is_labelled;
};

struct reading {
    const fplt__door_request *request;
    const fplt__door_host *host;
    fplt_error *error;
    fplt_status failure;
    struct column *column; /* owned */
    size_t columns, column_capacity;
    struct label *label; /* owned; sorted by set, then value */
    size_t labels, label_capacity;
    fplt__cell *cell; /* owned */
    char (*date)[32]; /* owned: of each column of the row */
    char **text;      /* owned: copies of texts of the row */
    size_t *capacity; /* owned: of each of these */
    int row;          /* at hand, from 0 */
    char why[200];    /* what the parser said */
};

/* The context of every handler of libreadstat. */
struct parsing {
    struct reading *reading;
    int kind;
};

enum { FORMAT_SAV, FORMAT_DTA, FORMAT_SAS, FORMAT_XPT };

static const char *version(void)
{
    return "libreadstat " READSTAT_DOOR_VERSION;
}

/* ---- memory and failures ---- */

static int no_memory(struct reading *reading)
{
    reading->failure = fplt__door_fail(reading->error, FPLT_NO_MEMORY, reading->request->name, 0,
                                       "no memory to read the file");
    return READSTAT_HANDLER_ABORT;
}

static int grow(void *pointer_to_pointer, size_t *capacity, size_t count, size_t size)
{
    void **pointer = pointer_to_pointer;
    size_t more = *capacity ? 2 * *capacity : 64;
    if (count < *capacity)
        return 1;
    void *made = realloc(*pointer, more * size);
    if (!made)
        return 0;
    *pointer = made;
    *capacity = more;
    return 1;
}

static void take_error(const char *message, void *context)
{
    struct reading *reading = ((struct parsing *)context)->reading;
    snprintf(reading->why, sizeof reading->why, "%s", message);
    reading->why[strcspn(reading->why, "\r\n")] = 0;
    for (char *at = reading->why; *at; at++) /* it may quote bytes of a damaged file */
        *at = *at >= 0x20 && *at < 0x7f ? *at : '?';
}

/* ---- names and labels ---- */

static int begins_with_one_of(const char *format, const char *const *words)
{
    for (; *words; words++)
        if (strncasecmp(format, *words, strlen(*words)) == 0)
            return 1;
    return 0;
}

/* By the format in which a program shows the numbers. A format of SPSS is told from one of SAS by the file. */
static calendar calendar_of(const char *format, int kind)
{
    static const char *const spss[] = {"DATE",   "ADATE", "EDATE", "SDATE", "JDATE",
                                       "YMDHMS", "MOYR",  "QYR",   "WKYR",  NULL};
    static const char *const days[] = {"DATE",    "DDMMYY",   "MMDDYY",  "YYMMDD",
                                       "JULIAN",  "WORDDAT",  "WEEKDA",  "E8601DA",
                                       "B8601DA", "IS8601DA", "NLDATE",  "EURDF",
                                       "MONYY",   "YYMON",    "DDMMMYY", NULL};
    static const char *const seconds[] = {"DATETIME", "E8601DT", "B8601DT",  "IS8601DT",
                                          "NLDATM",   "DTDATE",  "DATEAMPM", NULL};
    if (!format)
        return NO_CALENDAR;
    if (kind == FORMAT_DTA) {
        const char *sign = format + strspn(format, "%-");
        return strncmp(sign, "td", 2) == 0 || *sign == 'd' ? DAYS_1960
               : strncasecmp(sign, "tc", 2) == 0           ? MILLISECONDS_1960
                                                           : NO_CALENDAR;
    }
    if (kind == FORMAT_SAV)
        return begins_with_one_of(format, spss) ? SPSS_SECONDS : NO_CALENDAR;
    return begins_with_one_of(format, seconds) ? SECONDS_1960
           : begins_with_one_of(format, days)  ? DAYS_1960
                                               : NO_CALENDAR;
}

static int take_variable(int index, readstat_variable_t *variable, const char *labels,
                         void *context)
{
    struct parsing *parsing = context;
    struct reading *reading = parsing->reading;
    (void)index;
    if (reading->columns >= FPLT__DOOR_MAX_COLUMNS) {
        reading->failure =
            fplt__door_fail(reading->error, FPLT_BAD_DATA, reading->request->name, 0,
                            "the file has more than %d columns", FPLT__DOOR_MAX_COLUMNS);
        return READSTAT_HANDLER_ABORT;
    }
    const char *name = readstat_variable_get_name(variable);
    if (!name) {
        reading->failure =
            fplt__door_fail(reading->error, FPLT_BAD_DATA, reading->request->name, 0,
                            "the file is damaged: column %zu has no name", reading->columns + 1);
        return READSTAT_HANDLER_ABORT;
    }
    if (!grow(&reading->column, &reading->column_capacity, reading->columns,
              sizeof *reading->column))
        return no_memory(reading);
    struct column *column = &reading->column[reading->columns++];
    *column = (struct column){NULL, NULL, NO_CALENDAR, 0};
    column->name = strdup(name);
    column->set = labels && *labels ? strdup(labels) : NULL;
    column->calendar = readstat_variable_get_type_class(variable) == READSTAT_TYPE_CLASS_NUMERIC
                           ? calendar_of(readstat_variable_get_format(variable), parsing->kind)
                           : NO_CALENDAR;
    return column->name && (!labels || !*labels || column->set) ? READSTAT_HANDLER_OK
                                                                : no_memory(reading);
}

/* Texts are padded with blanks in some files. */
static char *copy_word(const char *word)
{
    size_t length = word ? strlen(word) : 0;
    while (length && word[length - 1] == ' ')
        length--;
    return strndup(word ? word : "", length);
}

static int take_label(const char *set, readstat_value_t value, const char *text, void *context)
{
    struct reading *reading = ((struct parsing *)context)->reading;
    int is_text = readstat_value_type_class(value) == READSTAT_TYPE_CLASS_STRING;
    if (!is_text &&
        (readstat_value_is_tagged_missing(value) || readstat_value_is_system_missing(value)))
        return READSTAT_HANDLER_OK;
    if (!grow(&reading->label, &reading->label_capacity, reading->labels, sizeof *reading->label))
        return no_memory(reading);
    struct label *label = &reading->label[reading->labels++];
    const char *word = is_text ? readstat_string_value(value) : NULL;
    *label = (struct label){strdup(set), strdup(text ? text : ""), is_text ? copy_word(word) : NULL,
                            is_text ? 0 : readstat_double_value(value)};
    return label->set && label->text && (!is_text || label->word) ? READSTAT_HANDLER_OK
                                                                  : no_memory(reading);
}

static int compare_labels(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    int order = strcmp(x->set, y->set);
    if (!order && x->word && y->word)
        order = strcmp(x->word, y->word);
    return order ? order : (x->value > y->value) - (x->value < y->value);
}

static const char *find_label(const struct reading *reading, const struct column *column,
                              readstat_value_t value)
{
    int is_text = readstat_value_type_class(value) == READSTAT_TYPE_CLASS_STRING;
    struct label wanted = {column->set, NULL, NULL, is_text ? 0 : readstat_double_value(value)};
    if (is_text && !(wanted.word = copy_word(readstat_string_value(value))))
        return NULL;
    const struct label *found =
        bsearch(&wanted, reading->label, reading->labels, sizeof *reading->label, compare_labels);
    free(wanted.word);
    return found && *found->text ? found->text : NULL;
}

/* The library needs a handler of columns to make the columns that it hands to the handler of values. */
static int pass_variable(int index, readstat_variable_t *variable, const char *labels,
                         void *context)
{
    (void)index, (void)variable, (void)labels, (void)context;
    return READSTAT_HANDLER_OK;
}

/* ---- which columns are labelled throughout ---- */

static int is_missing(readstat_value_t value, readstat_variable_t *variable)
{
    if (readstat_value_is_missing(value, variable))
        return 1;
    const char *text = readstat_value_type_class(value) == READSTAT_TYPE_CLASS_STRING
                           ? readstat_string_value(value)
                           : "x";
    return !text || !*text;
}

static int look_at_value(int row, readstat_variable_t *variable, readstat_value_t value,
                         void *context)
{
    struct reading *reading = ((struct parsing *)context)->reading;
    size_t index = (size_t)readstat_variable_get_index(variable);
    (void)row;
    if (index < reading->columns && reading->column[index].is_labelled &&
        !is_missing(value, variable) && !find_label(reading, &reading->column[index], value))
        reading->column[index].is_labelled = 0;
    return READSTAT_HANDLER_OK;
}

/* ---- rows ---- */

static int give_row(struct reading *reading)
{
    const fplt__door_host *host = reading->host;
    reading->failure =
        host->row(host->context, (size_t)reading->row + 1, reading->cell, reading->error);
    for (size_t i = 0; i < reading->columns; i++)
        reading->cell[i] = (fplt__cell){FPLT__CELL_MISSING, 0, NULL, 0};
    return reading->failure ? READSTAT_HANDLER_ABORT : READSTAT_HANDLER_OK;
}

static void take_date(struct reading *reading, size_t index, double value, fplt__cell *cell)
{
    double seconds = value, epoch = -3653; /* 1960-01-01 */
    switch (reading->column[index].calendar) {
    case SPSS_SECONDS: epoch = -141428; break;
    case DAYS_1960: seconds = 86400 * value; break;
    case MILLISECONDS_1960: seconds = value / 1000; break;
    default: break;
    }
    double days = floor(seconds / 86400) + epoch;
    if (!(days > -719528 && days < 2932897)) /* the years 0 and 10000 */
        return;
    cell->kind = FPLT__CELL_TEXT;
    cell->text = reading->date[index];
    cell->length =
        fplt__door_date((long long)days, (long)(seconds - 86400 * floor(seconds / 86400)),
                        reading->date[index]);
}

/* The parser may use its memory again for the next value. */
static int take_text(struct reading *reading, size_t index, const char *text, fplt__cell *cell)
{
    size_t length = strlen(text);
    while (length && text[length - 1] == ' ')
        length--;
    while (reading->capacity[index] < length + 1)
        if (!grow(&reading->text[index], &reading->capacity[index], reading->capacity[index], 1))
            return no_memory(reading);
    memcpy(reading->text[index], text, length);
    *cell = (fplt__cell){length ? FPLT__CELL_TEXT : FPLT__CELL_MISSING, 0, reading->text[index],
                         length};
    return READSTAT_HANDLER_OK;
}

static int take_value(int row, readstat_variable_t *variable, readstat_value_t value, void *context)
{
    struct reading *reading = ((struct parsing *)context)->reading;
    size_t index = (size_t)readstat_variable_get_index(variable);
    if (row != reading->row) {
        if (reading->row >= 0 && give_row(reading))
            return READSTAT_HANDLER_ABORT;
        reading->row = row;
    }
    if (index >= reading->columns || is_missing(value, variable))
        return READSTAT_HANDLER_OK;
    fplt__cell *cell = &reading->cell[index];
    const struct column *column = &reading->column[index];
    const char *label = column->is_labelled ? find_label(reading, column, value) : NULL;
    if (label) {
        *cell = (fplt__cell){FPLT__CELL_TEXT, 0, label, strlen(label)};
        return READSTAT_HANDLER_OK;
    }
    if (readstat_value_type_class(value) == READSTAT_TYPE_CLASS_STRING)
        return take_text(reading, index, readstat_string_value(value), cell);
    *cell = (fplt__cell){FPLT__CELL_NUMBER, readstat_double_value(value), NULL, 0};
    if (column->calendar != NO_CALENDAR)
        take_date(reading, index, cell->number, cell);
    return READSTAT_HANDLER_OK;
}

/* ---- passes ---- */

static int format_of(const char *path)
{
    char bytes[256] = "";
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    return got < 20                                             ? -1
           : strncmp(bytes, "$FL", 3) == 0                      ? FORMAT_SAV
           : strncmp(bytes, "HEADER RECORD*******", 20) == 0    ? FORMAT_XPT
           : memcmp(bytes, "\0\0\0\0\0\0\0\0\0\0\0\0", 12) == 0 ? FORMAT_SAS
                                                                : FORMAT_DTA;
}

static fplt_status parse(struct parsing *parsing, readstat_variable_handler variable,
                         readstat_value_label_handler label, readstat_value_handler value)
{
    struct reading *reading = parsing->reading;
    const char *path = reading->request->place;
    readstat_parser_t *parser = readstat_parser_init();
    if (!parser)
        return no_memory(reading), FPLT_NO_MEMORY;
    readstat_set_variable_handler(parser, variable);
    readstat_set_value_label_handler(parser, label);
    readstat_set_value_handler(parser, value);
    readstat_set_error_handler(parser, take_error);
    readstat_error_t code =
        parsing->kind == FORMAT_SAV   ? readstat_parse_sav(parser, path, parsing)
        : parsing->kind == FORMAT_DTA ? readstat_parse_dta(parser, path, parsing)
        : parsing->kind == FORMAT_SAS ? readstat_parse_sas7bdat(parser, path, parsing)
                                      : readstat_parse_xport(parser, path, parsing);
    readstat_parser_free(parser);
    if (reading->failure)
        return reading->failure;
    return code == READSTAT_OK
               ? FPLT_OK
               : fplt__door_fail(reading->error, FPLT_BAD_DATA, reading->request->name, 0,
                                 "the file cannot be read, it may be damaged (%s%s%s): save it "
                                 "again, or export the table as CSV",
                                 readstat_error_message(code), *reading->why ? "; " : "",
                                 reading->why);
}

static fplt_status give_names(struct reading *reading)
{
    const fplt__door_host *host = reading->host;
    size_t count = reading->columns ? reading->columns : 1;
    reading->cell = calloc(count, sizeof *reading->cell);
    reading->date = calloc(count, sizeof *reading->date);
    reading->text = calloc(count, sizeof *reading->text);
    reading->capacity = calloc(count, sizeof *reading->capacity);
    if (!reading->cell || !reading->date || !reading->text || !reading->capacity)
        return no_memory(reading), FPLT_NO_MEMORY;
    for (size_t i = 0; i < reading->columns; i++) {
        const char *name = reading->column[i].name;
        reading->cell[i] = (fplt__cell){FPLT__CELL_TEXT, 0, name, strlen(name)};
    }
    fplt_status status =
        host->columns(host->context, 0, reading->cell, reading->columns, reading->error);
    for (size_t i = 0; i < reading->columns; i++)
        reading->cell[i] = (fplt__cell){FPLT__CELL_MISSING, 0, NULL, 0};
    return status;
}

static fplt_status read_file(struct reading *reading, int kind)
{
    struct parsing parsing = {reading, kind};
    int any = 0;
    fplt_status status = parse(&parsing, take_variable, take_label, NULL);
    if (status)
        return status;
    if (reading->labels)
        qsort(reading->label, reading->labels, sizeof *reading->label, compare_labels);
    for (size_t i = 0; i < reading->columns; i++)
        any |= reading->column[i].is_labelled = reading->column[i].set &&
                                                !reading->request->no_labels &&
                                                reading->column[i].calendar == NO_CALENDAR;
    if (any && reading->labels)
        status = parse(&parsing, pass_variable, NULL, look_at_value);
    if (!status)
        status = give_names(reading);
    if (!status)
        status = parse(&parsing, pass_variable, NULL, take_value);
    if (!status && reading->row >= 0 && give_row(reading))
        status = reading->failure;
    return status;
}

static void clear(struct reading *reading)
{
    for (size_t i = 0; i < reading->columns; i++) {
        free(reading->column[i].name);
        free(reading->column[i].set);
        if (reading->text)
            free(reading->text[i]);
    }
    for (size_t i = 0; i < reading->labels; i++) {
        free(reading->label[i].set);
        free(reading->label[i].text);
        free(reading->label[i].word);
    }
    free(reading->column);
    free(reading->label);
    free(reading->cell);
    free(reading->date);
    free(reading->text);
    free(reading->capacity);
}

static fplt_status read_door(const fplt__door_request *request, const fplt__door_host *host,
                             fplt_error *error)
{
    struct reading reading = {.request = request, .host = host, .error = error, .row = -1};
    int kind = format_of(request->place);
    fplt_status status = kind < 0 ? fplt__door_fail(error, FPLT_IO, request->name, 0,
                                                    "the file cannot be opened, or is too short")
                                  : read_file(&reading, kind);
    clear(&reading);
    return status;
}

extern const fplt__door fplt__door_table;
const fplt__door fplt__door_table = {sizeof(fplt__door), version, read_door};
