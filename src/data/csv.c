/* CSV after RFC 4180: the reader. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "data/builder.h"
#include "data/scan.h"
#include "fedplt/settings.h"

/* A column name may be repeated for each level of a category: its length bounds the memory. */
enum { LONGEST_NAME = 255 };

/* What a column of the file is; 0 and above: feature column of the builder. */
enum { LABEL = -1, SITE = -2, LEFT_OUT = -3, WEIGHT = -4, ID = -5, WANTED = -6 };

/* Columns side by side that are alike: features that are also side by side in the builder, or one column of any
 * other kind. */
struct run {
    int role; /* of the first */
    uint32_t count;
};

/* The place in the text, and the row that was read last. */
struct reader {
    const fplt__source *source;
    const char *at, *end;
    size_t line, row_line; /* of `at`; where the row began */
    char separator;
    fplt__field *field;
    size_t fields, field_capacity;
    char *unquoted; /* fields with doubled quotes; as large as the text, made when first needed */
    size_t unquoted_used;
    fplt__lookup names; /* of all columns of the file */
    int *role;
    int reserved; /* room was made for all rows */
    /* where there are no categories, rows of numbers can be read in one pass: all columns */
    struct run *run;
    uint32_t runs;
    fplt__marks *marks;           /* borrowed: separators, line ends and quotes of the text */
    const fplt__dialect *dialect; /* borrowed; NULL: values are written as the readers take them */
    char *rewritten;              /* owned: fields of the row at hand that are */
    size_t rewritten_capacity;
};

static void reader_clear(struct reader *reader)
{
    fplt__free(reader->field);
    fplt__free(reader->unquoted);
    fplt__free(reader->rewritten);
    fplt__free(reader->role);
    fplt__free(reader->run);
    fplt__lookup_clear(&reader->names);
}

static fplt_status add_field(struct reader *reader, fplt__span span, int quoted, fplt_error *error)
{
    fplt_status status = fplt__grow(&reader->field, &reader->field_capacity, reader->fields + 1,
                                    sizeof *reader->field, "fields", error);
    if (!status)
        reader->field[reader->fields++] = (fplt__field){span, quoted, 0};
    return status;
}

/* Copies a field without the first of each pair of quotes. */
static fplt_status unquote(struct reader *reader, fplt__span *span, fplt_error *error)
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

static fplt_status read_quoted(struct reader *reader, fplt_error *error)
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

static fplt_status read_plain(struct reader *reader, fplt_error *error)
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
static int step_line(struct reader *reader)
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
static fplt_status read_row(struct reader *reader, fplt_error *error)
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

/* A first line of numbers is data, unless it numbers the columns. */
static fplt_status check_header(const struct reader *reader, fplt_error *error)
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

static fplt_status name_columns(struct reader *reader, int no_header, fplt_error *error)
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

/* By name, then by number from 1. */
static uint32_t find_column(const struct reader *reader, const char *wanted)
{
    uint32_t found = fplt__lookup_find(&reader->names, fplt__span_of(wanted));
    long long number;
    if (found == FPLT__NOWHERE && !fplt_parse_integer(wanted, &number) && number >= 1 &&
        number <= reader->names.count)
        found = (uint32_t)number - 1;
    return found;
}

static fplt_status no_column(const struct reader *reader, const char *what, const char *wanted,
                             fplt_error *error)
{
    char list[400] = "";
    size_t used = 0;
    uint32_t i = 0;
    for (; i < reader->names.count && used + 60 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 fplt__show(fplt__lookup_word(&reader->names, i)).text);
    return fplt__bad_data(error, reader->source->name, reader->row_line,
                          "there is no %s column '%.80s'; the columns are %s%s%s", what, wanted,
                          list, i < reader->names.count ? ", ..." : "",
                          reader->names.count == 1 && strpbrk(list, ";\t,|")
                              ? " (separator auto looks for the sign between them)"
                              : "");
}

static const char *role_name(int role)
{
    return role == LABEL      ? "label"
           : role == SITE     ? "site"
           : role == WEIGHT   ? "row-weight"
           : role == ID       ? "id"
           : role == LEFT_OUT ? "ignored"
                              : "a feature";
}

/* `wanted` NULL or none: nothing is done. */
static fplt_status give_role(struct reader *reader, const char *what, const char *wanted, int role,
                             fplt_error *error)
{
    if (!wanted || strcmp(wanted, "none") == 0)
        return FPLT_OK;
    uint32_t at = find_column(reader, wanted);
    if (at == FPLT__NOWHERE)
        return no_column(reader, what, wanted, error);
    if (reader->role[at])
        return fplt__bad_data(error, reader->source->name, reader->row_line,
                              "the column '%s' is both %s and %s",
                              fplt__show(fplt__lookup_word(&reader->names, at)).text,
                              role_name(reader->role[at]), role_name(role));
    reader->role[at] = role;
    return FPLT_OK;
}

/* Whether to look for the id column: the first file says whether there is one. */
static int find_optional(const struct reader *reader, const fplt__builder *builder)
{
    const fplt_read_settings *settings = builder->settings;
    if (!settings->id || !settings->id_if_there)
        return settings->id != NULL;
    return builder->rows ? builder->extra[FPLT__EXTRA_ID] != NULL
                         : find_column(reader, settings->id) != FPLT__NOWHERE;
}

/* Columns that are ignored, and all but the wanted ones. */
static fplt_status leave_columns_out(struct reader *reader, const fplt__builder *builder,
                                     fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < builder->ignored.count && !status; i++)
        status = give_role(reader, "ignored", fplt__lookup_word(&builder->ignored, i).text,
                           LEFT_OUT, error);
    const fplt__lookup *only = &builder->features_only;
    for (uint32_t i = 0; i < only->count && !status; i++) {
        uint32_t at = find_column(reader, fplt__lookup_word(only, i).text);
        if (at == FPLT__NOWHERE)
            status = no_column(reader, "feature", fplt__lookup_word(only, i).text, error);
        else if (reader->role[at])
            status = fplt__bad_data(error, reader->source->name, reader->row_line,
                                    "the column '%s' is both %s and a feature",
                                    fplt__show(fplt__lookup_word(&reader->names, at)).text,
                                    role_name(reader->role[at]));
        else
            reader->role[at] = WANTED;
    }
    for (uint32_t i = 0; i < reader->names.count && only->count && !status; i++)
        reader->role[i] = reader->role[i] == WANTED ? 0
                          : reader->role[i]         ? reader->role[i]
                                                    : LEFT_OUT;
    return status;
}

/* Columns that are no features in any file, whether labels and sites are asked for or not. */
static void set_aside(const struct reader *reader, const fplt__builder *builder)
{
    static const char *const names[] = {"label", "site"};
    for (size_t i = 0; builder->settings->set_aside && i < 2; i++) {
        uint32_t at = fplt__lookup_find(&reader->names, fplt__span_of(names[i]));
        if (at != FPLT__NOWHERE && reader->role[at] != LABEL)
            reader->role[at] = LEFT_OUT;
    }
}

static fplt_status find_special(struct reader *reader, const fplt__builder *builder,
                                fplt_error *error)
{
    const char *label = builder->settings->label ? builder->settings->label : "label";
    const char *site = builder->settings->site;
    uint32_t at;
    if (builder->label_mode != FPLT__LABEL_NONE) {
        at = find_column(reader, label);
        if (at == FPLT__NOWHERE)
            return no_column(reader, "label", label, error);
        reader->role[at] = LABEL;
    }
    set_aside(reader, builder);
    fplt_status status =
        give_role(reader, "row-weight", builder->settings->row_weight, WEIGHT, error);
    if (!status && find_optional(reader, builder))
        status = give_role(reader, "id", builder->settings->id, ID, error);
    if (status || (site && strcmp(site, "none") == 0))
        return status;
    at =
        site ? find_column(reader, site) : fplt__lookup_find(&reader->names, fplt__span_of("site"));
    if (at == FPLT__NOWHERE)
        return site ? no_column(reader, "site", site, error) : FPLT_OK;
    if (reader->role[at] && !site)
        return FPLT_OK;
    return give_role(reader, "site", fplt__lookup_word(&reader->names, at).text, SITE, error);
}

static fplt_status add_column(fplt__builder *builder, fplt__span name, int category,
                              fplt_error *error)
{
    uint32_t number;
    fplt_status status =
        fplt__grow(&builder->column, &builder->header_capacity, (size_t)builder->header.count + 1,
                   sizeof *builder->column, "columns", error);
    if (!status)
        status = fplt__lookup_add(&builder->header, name, &number, error);
    if (!status)
        builder->column[number].category = category;
    return status;
}

static int is_expected(const fplt__builder *builder, fplt__span name, int *category)
{
    *category = 0;
    if (fplt__lookup_find(&builder->expected, name) != FPLT__NOWHERE)
        return 1;
    *category = fplt__lookup_find(&builder->expected_categories, name) != FPLT__NOWHERE;
    return *category;
}

/* The first file says which features there are. */
static fplt_status take_columns(struct reader *reader, fplt__builder *builder, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < reader->names.count && !status; i++) {
        fplt__span name = fplt__lookup_word(&reader->names, i);
        int category = fplt__lookup_find(&builder->categories, name) != FPLT__NOWHERE;
        if (reader->role[i] < 0)
            continue;
        if (builder->expected.count && !is_expected(builder, name, &category))
            continue;
        status = add_column(builder, name, category, error);
    }
    builder->width = builder->header.count;
    return status;
}

static fplt_status check_categories(const struct reader *reader, const fplt__builder *builder,
                                    fplt_error *error)
{
    for (uint32_t i = 0; i < builder->categories.count && !builder->expected.count; i++) {
        fplt__span name = fplt__lookup_word(&builder->categories, i);
        if (fplt__lookup_find(&builder->header, name) == FPLT__NOWHERE)
            return no_column(reader, "category", name.text, error);
    }
    return FPLT_OK;
}

/* What a model wants must be there, as a column or as the level of one. */
static fplt_status check_expected(const struct reader *reader, const fplt__builder *builder,
                                  fplt_error *error)
{
    for (uint32_t i = 0; i < builder->expected.count; i++) {
        fplt__span name = fplt__lookup_word(&builder->expected, i);
        int found = fplt__lookup_find(&builder->header, name) != FPLT__NOWHERE;
        for (const char *c = strchr(name.text, '='); c && !found; c = strchr(c + 1, '='))
            found = fplt__lookup_find(&builder->header,
                                      (fplt__span){name.text, (size_t)(c - name.text)}) !=
                    FPLT__NOWHERE;
        if (!found)
            return fplt__bad_data(error, reader->source->name, reader->row_line,
                                  "there is no column for the feature '%s' of the model",
                                  fplt__show(name).text);
    }
    return FPLT_OK;
}

/* Gives every column of this file its part; a later file must look like the first. */
static fplt_status match_columns(struct reader *reader, const fplt__builder *builder,
                                 fplt_error *error)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < reader->names.count; i++) {
        if (reader->role[i] < 0)
            continue;
        fplt__span name = fplt__lookup_word(&reader->names, i);
        uint32_t at = fplt__lookup_find(&builder->header, name);
        if (builder->expected.count) {
            reader->role[i] = at == FPLT__NOWHERE ? LEFT_OUT : (int)at;
            next += at != FPLT__NOWHERE;
            continue;
        }
        if (at == FPLT__NOWHERE)
            return fplt__bad_data(error, reader->source->name, reader->row_line,
                                  "the feature '%s' is not in %.200s", fplt__show(name).text,
                                  builder->first_source);
        reader->role[i] = (int)at;
        next++;
    }
    if (next != builder->header.count)
        return fplt__bad_data(error, reader->source->name, reader->row_line,
                              "%u features, but %.200s has %u", next, builder->first_source,
                              builder->header.count);
    return FPLT_OK;
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

/* Reads the names of the columns. */
static fplt_status begin_names(struct reader *reader, const fplt__source *source, int no_header,
                               const char *separator, fplt_error *error)
{
    size_t mark = source->size >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    *reader = (struct reader){.source = source, .at = source->text + mark, .line = 1};
    reader->end = source->text + source->size;
    reader->separator = separator_of(reader->at, reader->end, separator);
    fplt_status status = fplt__text_check(source, error);
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
        reader->line = 1;
    }
    return status;
}

/* Reads the header and settles what each column is. */
static fplt_status begin(struct reader *reader, const fplt__source *source, fplt__builder *builder,
                         fplt_error *error)
{
    fplt_status status = begin_names(reader, source, builder->settings->no_header,
                                     builder->settings->separator, error);
    if (!status)
        status =
            fplt__alloc_into(&reader->role, reader->fields, sizeof *reader->role, "columns", error);
    if (!status)
        status = find_special(reader, builder, error);
    if (!status)
        status = leave_columns_out(reader, builder, error);
    if (!fplt__dialect_is_plain(&builder->dialect))
        reader->dialect = &builder->dialect;
    return status;
}

/* Makes the fields what the readers take, where the file writes values in another way. */
static fplt_status rewrite_row(struct reader *reader, fplt_error *error)
{
    size_t needed = 0, used = 0;
    for (size_t i = 0; i < reader->fields; i++)
        needed += reader->field[i].span.length + FPLT__REWRITTEN;
    fplt_status status = fplt__grow(&reader->rewritten, &reader->rewritten_capacity, needed, 1,
                                    "fields of a row", error);
    for (size_t i = 0; i < reader->fields && !status; i++) {
        int role = reader->role ? reader->role[i] : LABEL;
        if (role != ID && role != LEFT_OUT)
            used += fplt__dialect_rewrite(reader->dialect, &reader->field[i], role >= 0,
                                          reader->rewritten + used);
    }
    return status;
}

static fplt_status next_row(struct reader *reader, fplt_error *error)
{
    fplt_status status = read_row(reader, error);
    if (!status && reader->fields && reader->fields != reader->names.count)
        status = fplt__bad_data(error, reader->source->name, reader->row_line,
                                "%zu fields, but the first line has %u", reader->fields,
                                reader->names.count);
    if (!status && reader->fields && reader->dialect)
        status = rewrite_row(reader, error);
    return status;
}

fplt_status fplt__csv_visit(const fplt__source *source, int no_header,
                            const fplt__csv_visitor *visitor, fplt_error *error)
{
    struct reader reader;
    fplt_status status = begin_names(&reader, source, no_header, visitor->separator, error);
    reader.dialect = visitor->dialect;
    if (!status)
        status = visitor->columns(visitor->context, &reader.names, reader.row_line, error);
    while (!status) {
        status = next_row(&reader, error);
        if (status || !reader.fields)
            break;
        status = visitor->row(visitor->context, reader.field, reader.row_line, error);
    }
    reader_clear(&reader);
    return status;
}

/* No value, or a level that counts as none. */
static int is_missing(const struct reader *reader, const fplt__builder *builder, size_t i)
{
    int role = reader->role[i];
    if (fplt__field_missing(&reader->field[i]))
        return 1;
    return builder->unknown_level == FPLT__UNKNOWN_MISSING && role >= 0 &&
           builder->column[role].category &&
           !fplt__level_is_known(builder, fplt__lookup_word(&reader->names, (uint32_t)i),
                                 reader->field[i].span);
}

/* 1 when the row is to be left out. */
static int check_missing(const struct reader *reader, const fplt__builder *builder,
                         fplt_status *status, fplt_error *error)
{
    for (size_t i = 0; i < reader->fields; i++) {
        int role = reader->role[i];
        if (role == LEFT_OUT || role == ID || !is_missing(reader, builder, i) ||
            (role >= 0 && builder->settings->keep_missing))
            continue;
        if (!builder->settings->drop_missing)
            *status =
                fplt__bad_data(error, reader->source->name, reader->row_line,
                               "column '%s': the value is missing%s: add --missing drop to leave "
                               "such rows out%s",
                               fplt__show(fplt__lookup_word(&reader->names, (uint32_t)i)).text,
                               reader->field[i].span.length ? ", or counts as missing" : "",
                               builder->expected.count
                                   ? ""
                                   : ", or --missing median to fill the gaps (mean, "
                                     "most-frequent, constant)");
        return 1;
    }
    return 0;
}

/* The number of a level, or NaN for one that counts as missing. */
static fplt_status read_level(const struct reader *reader, fplt__builder *builder, size_t i,
                              double *cell, fplt_error *error)
{
    fplt__span text = reader->field[i].span, name = fplt__lookup_word(&reader->names, (uint32_t)i);
    fplt__column *column = &builder->column[reader->role[i]];
    uint32_t level = fplt__lookup_find(&column->levels, text);
    if (level == FPLT__NOWHERE && !fplt__level_is_known(builder, name, text)) {
        if (builder->unknown_level == FPLT__UNKNOWN_REFUSED)
            return fplt__refuse_level(
                builder, (fplt__origin){reader->source->name, reader->row_line}, name, text, error);
        if (builder->unknown_level == FPLT__UNKNOWN_MISSING) {
            builder->lost_levels++;
            *cell = NAN;
            return FPLT_OK;
        }
    }
    fplt_status status = fplt__lookup_add(&column->levels, text, &level, error);
    *cell = level;
    return status;
}

static fplt_status read_cell(const struct reader *reader, fplt__builder *builder, size_t i,
                             double *cell, fplt_error *error)
{
    fplt__span text = reader->field[i].span;
    fplt__column *column = &builder->column[reader->role[i]];
    if (builder->settings->keep_missing && fplt__field_missing(&reader->field[i])) {
        builder->lost_levels += (size_t)column->category;
        *cell = NAN;
        return FPLT_OK;
    }
    if (column->category)
        return read_level(reader, builder, i, cell, error);
    fplt__number kind = fplt__number_parse(fplt__span_trim(text), cell);
    if (kind == FPLT__NUMBER && !reader->field[i].foreign)
        return FPLT_OK;
    fplt__span name = fplt__lookup_word(&reader->names, (uint32_t)i);
    if (kind == FPLT__NOT_FINITE)
        return fplt__bad_data(error, reader->source->name, reader->row_line,
                              "column '%s': '%s' is not a finite number", fplt__show(name).text,
                              fplt__show(text).text);
    return fplt__bad_cell(error, reader->source->name, reader->row_line, name, &reader->field[i]);
}

/* With several files the file is the agent, and its site column may only name it. */
static fplt_status read_site(const struct reader *reader, fplt__builder *builder, fplt__span site,
                             uint32_t *agent, fplt_error *error)
{
    if (builder->sources == 1)
        return fplt__lookup_add(&builder->agents, site, agent, error);
    if (*agent == FPLT__NOWHERE) {
        uint32_t before = builder->agents.count;
        fplt_status status = fplt__lookup_add(&builder->agents, site, agent, error);
        if (!status && *agent < before)
            status = fplt__bad_data(error, reader->source->name, reader->row_line,
                                    "the site '%s' is in an earlier file: with several files, each "
                                    "is one agent (site: none does not look at the column)",
                                    fplt__show(site).text);
        return status;
    }
    fplt__span known = fplt__lookup_word(&builder->agents, *agent);
    if (known.length == site.length && memcmp(known.text, site.text, site.length) == 0)
        return FPLT_OK;
    return fplt__bad_data(
        error, reader->source->name, reader->row_line,
        "the site '%s' after '%s': with several files, each is one agent (site: none "
        "does not look at the column)",
        fplt__show(site).text, fplt__show(known).text);
}

static fplt_status read_weight(const struct reader *reader, fplt__builder *builder, fplt__span text,
                               fplt_error *error)
{
    double weight = 0;
    if (fplt__number_parse(fplt__span_trim(text), &weight) != FPLT__NUMBER || !(weight > 0))
        return fplt__bad_data(error, reader->source->name, reader->row_line,
                              "the weight of the row is '%s', but it must be a number above 0",
                              fplt__show(text).text);
    return fplt__builder_extra(builder, FPLT__EXTRA_WEIGHT, weight, error);
}

/* What a field is that is no feature. */
static fplt_status read_word(const struct reader *reader, fplt__builder *builder, int role,
                             fplt__span text, double *label, uint32_t *agent, fplt_error *error)
{
    uint32_t number;
    fplt_status status = FPLT_OK;
    switch (role) {
    case LABEL:
        return fplt__builder_label(builder, reader->source, reader->row_line, text, label, error);
    case SITE: return read_site(reader, builder, text, agent, error);
    case WEIGHT: return read_weight(reader, builder, text, error);
    case ID:
        status = fplt__lookup_add(&builder->ids, text, &number, error);
        return status ? status : fplt__builder_extra(builder, FPLT__EXTRA_ID, number, error);
    default: return FPLT_OK;
    }
}

/* Labels and weights are numbers, unless they are words. */
static int is_number_role(int role)
{
    return role == LABEL || role == WEIGHT;
}

static fplt_status take_row(const struct reader *reader, fplt__builder *builder, uint32_t *agent,
                            fplt_error *error)
{
    double *cells, label = 0;
    fplt_status status = fplt__builder_cells(builder, &cells, error);
    for (size_t i = 0; i < reader->fields && !status; i++)
        status =
            reader->field[i].foreign && is_number_role(reader->role[i])
                ? fplt__bad_cell(error, reader->source->name, reader->row_line,
                                 fplt__lookup_word(&reader->names, (uint32_t)i), &reader->field[i])
            : reader->role[i] >= 0 ? read_cell(reader, builder, i, &cells[reader->role[i]], error)
                                   : read_word(reader, builder, reader->role[i],
                                               reader->field[i].span, &label, agent, error);
    return status ? status : fplt__builder_row(builder, label, *agent, error);
}

/* Label, site, weight and id of a row, in the order of its columns. */
struct words {
    fplt__span span[4];
    int role[4];
    unsigned count;
};

/* Where a field ends that has its sign there: before the carriage return of a line end. */
static const char *field_end(const char *start, const char *sign)
{
    return sign > start && *sign == '\n' && sign[-1] == '\r' ? sign - 1 : sign;
}

/* A field that is no feature; zero where it is blank, missing, or to be trimmed. */
static int quick_word(const char *start, const char *end, int role, struct words *words)
{
    fplt__field field = {{start, (size_t)(end - start)}, 0, 0};
    fplt__span span = fplt__span_trim(field.span);
    if (role == LEFT_OUT)
        return 1;
    if (span.length != field.span.length || fplt__field_missing(&field))
        return 0;
    words->span[words->count] = span;
    words->role[words->count++] = role;
    return 1;
}

/* At least one field at `start`, of the `count` that are alike; 0 where it is not plainly written. */
static size_t quick_fields(const struct reader *reader, const char *start, size_t count, int role,
                           double *cells, struct words *words)
{
    const fplt__marks *marks = reader->marks;
    const char *end = field_end(start, fplt__marks_at(marks, 0));
    if (role < 0)
        return quick_word(start, end, role, words) ? 1 : 0;
    size_t read = marks->scan->numbers(start, marks->text, marks->at + marks->used, count,
                                       reader->separator, &cells[role]);
    if (read)
        return read;
    return fplt__number_scan(start, end, &cells[role]) == end ? 1 : 0;
}

/* One pass over a row of numbers, label and site. Returns where the next row begins; NULL where anything
 * else is in the row, which is then read with care. */
static const char *scan_row(const struct reader *reader, double *cells, struct words *words)
{
    fplt__marks *marks = reader->marks;
    const char *c = reader->at;
    words->count = 0;
    if (c - reader->source->text < FPLT__WITHIN)
        return NULL;
    fplt__marks_seek(marks, c);
    for (const struct run *run = reader->run, *last = run + reader->runs - 1; run <= last; run++)
        for (uint32_t done = 0; done < run->count;) {
            size_t left = run->count - done, more = fplt__marks_more(marks);
            int role = run->role < 0 ? run->role : run->role + (int)done;
            size_t read =
                more ? quick_fields(reader, c, left < more ? left : more, role, cells, words) : 0;
            if (!read)
                return NULL;
            const char *sign = fplt__marks_at(marks, read - 1);
            marks->used += read;
            done += (uint32_t)read;
            c = sign + 1;
            if (*sign != reader->separator)
                return *sign == '\n' && run == last && done == run->count ? c : NULL;
        }
    return NULL;
}

/* Reads the next row in one pass, where that can be done; returns whether it was. */
static int quick_row(struct reader *reader, fplt__builder *builder, uint32_t *agent,
                     fplt_status *status, fplt_error *error)
{
    double *cells, label = 0;
    struct words words;
    if (!reader->runs || reader->at == reader->end)
        return 0;
    if ((*status = fplt__builder_cells(builder, &cells, error)))
        return 1;
    const char *next = scan_row(reader, cells, &words);
    if (!next) {
        builder->cells -= builder->width;
        return 0;
    }
    reader->row_line = reader->line;
    for (unsigned i = 0; i < words.count && !*status; i++)
        *status = read_word(reader, builder, words.role[i], words.span[i], &label, agent, error);
    if (!*status)
        *status = fplt__builder_row(builder, label, *agent, error);
    if (!*status && !reader->reserved)
        *status = fplt__builder_reserve(builder, (size_t)(next - reader->at),
                                        (size_t)(reader->end - next), error);
    reader->reserved = 1;
    reader->line += next[-1] == '\n';
    reader->at = next;
    return 1;
}

/* What rows of the file look like; no runs where one is a category or fields are rewritten. */
static fplt_status find_runs(struct reader *reader, const fplt__builder *builder, fplt_error *error)
{
    for (uint32_t i = 0; i < builder->header.count; i++)
        if (builder->column[i].category || reader->dialect)
            return FPLT_OK;
    fplt_status status =
        fplt__alloc_into(&reader->run, reader->names.count, sizeof *reader->run, "columns", error);
    for (uint32_t i = 0; i < reader->names.count && !status; i++) {
        struct run *before = reader->runs ? &reader->run[reader->runs - 1] : NULL;
        if (before && before->role >= 0 && reader->role[i] == before->role + (int)before->count)
            before->count++;
        else
            reader->run[reader->runs++] = (struct run){reader->role[i], 1};
    }
    return status;
}

static fplt_status prepare(struct reader *reader, const fplt__source *source,
                           fplt__builder *builder, uint32_t *agent, fplt_error *error)
{
    int sites = 0;
    fplt_status status = begin(reader, source, builder, error);
    if (!status && !builder->first_source) {
        status = take_columns(reader, builder, error);
        builder->first_source = source->name;
        if (!status)
            status = check_categories(reader, builder, error);
    }
    if (!status)
        status = match_columns(reader, builder, error);
    if (!status)
        status = check_expected(reader, builder, error);
    if (!status && !builder->header.count)
        status = fplt__bad_data(error, source->name, reader->row_line, "there are no features");
    for (uint32_t i = 0; i < reader->names.count && !status; i++)
        sites += reader->role[i] == SITE;
    *agent = FPLT__NOWHERE;
    if (!status && !sites)
        status = fplt__builder_file_agent(builder, source, agent, error);
    return status ? status : find_runs(reader, builder, error);
}

/* Whose row it is; empty where that is not known, or there is one agent only. */
static fplt__span site_of(const struct reader *reader, const fplt__builder *builder, uint32_t agent)
{
    for (size_t i = 0; i < reader->fields; i++)
        if (reader->role[i] == SITE)
            return reader->field[i].span;
    return agent != FPLT__NOWHERE && builder->sources > 1
               ? fplt__lookup_word(&builder->agents, agent)
               : (fplt__span){"", 0};
}

/* All rows of the text; *plain is what of it is known to be ASCII. */
static fplt_status read_rows(struct reader *reader, fplt__builder *builder, uint32_t *agent,
                             const char **plain, fplt_error *error)
{
    fplt__marks marks;
    const char signs[] = {reader->separator, '\n', '"'};
    fplt_status status = FPLT_OK;
    fplt__marks_begin(&marks, reader->at, reader->end, signs);
    reader->marks = &marks;
    while (!status) {
        if (builder->rows % FPLT__ROWS_TOLD == 0)
            fplt__read_progress(builder, reader->source,
                                (size_t)(reader->at - reader->source->text));
        if (quick_row(reader, builder, agent, &status, error))
            continue;
        status = next_row(reader, error);
        if (status || !reader->fields)
            break;
        if (!check_missing(reader, builder, &status, error))
            status = take_row(reader, builder, agent, error);
        else if (!status)
            status = fplt__builder_leave_out(builder, site_of(reader, builder, *agent), error);
    }
    reader->marks = NULL;
    *plain = marks.plain;
    return status;
}

/* What a piece needs to know of the file. */
struct file {
    const struct reader *reader;
    uint32_t agent;
};

static fplt_status read_piece(const void *context, const fplt__source *piece, fplt__builder *part,
                              fplt_error *error)
{
    const struct file *file = context;
    struct reader reader = {.source = piece,
                            .at = piece->text,
                            .end = piece->text + piece->size,
                            .line = 1,
                            .separator = file->reader->separator,
                            .names = file->reader->names,
                            .role = file->reader->role,
                            .run = file->reader->run,
                            .runs = file->reader->runs};
    uint32_t agent = file->agent;
    const char *plain;
    fplt_status status = read_rows(&reader, part, &agent, &plain, error);
    if (!status && plain < reader.end)
        status = fplt__text_check(piece, error);
    reader.names = (fplt__lookup){0}; /* the file's, as are the roles */
    reader.role = NULL;
    reader.run = NULL;
    reader_clear(&reader);
    return status;
}

/* With several files, every site must be the first one's: such rows are read one after the other. */
static int names_one_site(const struct reader *reader, const fplt__builder *builder)
{
    for (uint32_t i = 0; i < reader->names.count; i++)
        if (reader->role[i] == SITE && builder->sources > 1)
            return 1;
    return 0;
}

static fplt_status read_csv(const fplt__source *source, fplt__builder *builder, fplt_error *error)
{
    struct reader reader = {.source = NULL};
    struct file file = {&reader, FPLT__NOWHERE};
    fplt__source head;
    const char *plain;
    size_t before = builder->rows, dropped = builder->left_out.count;
    fplt_status status = fplt__parts_head(source, builder, 1, &head, error);
    if (!status)
        status = prepare(&reader, &head, builder, &file.agent, error);
    if (!status)
        status = read_rows(&reader, builder, &file.agent, &plain, error);
    if (!status)
        fplt__read_progress(builder, source, head.size);
    if (!status && head.size < fplt__source_bytes(source) && names_one_site(&reader, builder))
        status = fplt_error_set(error, FPLT_UNSUPPORTED, "a site in one of several files");
    if (!status)
        status = fplt__parts_read(source, &head, builder, 1, read_piece, &file, error);
    if (!status && builder->rows == before)
        status = fplt__bad_data(error, source->name, reader.row_line,
                                builder->left_out.count > dropped
                                    ? "every row has a missing value, so none is left"
                                    : "there are no rows, only the header");
    reader_clear(&reader);
    return status;
}

/* Looks at every value, to find the columns that hold something else than numbers. */
static fplt_status scan_csv(const fplt__source *source, fplt__builder *builder, fplt_error *error)
{
    struct reader reader;
    if (!fplt__finds_categories(builder->settings))
        return FPLT_OK;
    fplt_status status = begin(&reader, source, builder, error);
    while (!status) {
        status = next_row(&reader, error);
        if (status || !reader.fields)
            break;
        for (size_t i = 0; i < reader.fields && !status; i++)
            if (reader.role[i] >= 0)
                status = fplt__profile_see(&builder->profile,
                                           fplt__lookup_word(&reader.names, (uint32_t)i),
                                           &reader.field[i],
                                           (fplt__origin){source->name, reader.row_line}, error);
    }
    reader_clear(&reader);
    return status;
}

const fplt__format fplt__format_csv = {
    "csv", "comma-separated values with a header", ".csv", 1, scan_csv, read_csv, fplt__csv_write,
    NULL,
};
