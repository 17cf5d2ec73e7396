/* The rows of a CSV file, read into a builder. */
#include <math.h>

#include "base/memory.h"
#include "data/csv_reader.h"
#include "data/scan.h"

/* No value, or a level that counts as none. */
static int is_missing(const fplt__csv_reader *reader, const fplt__builder *builder, size_t i)
{
    int role = reader->role[i];
    if (fplt__field_missing(&reader->field[i]))
        return 1;
    return builder->expected.unknown_level == FPLT__UNKNOWN_MISSING && role >= 0 &&
           builder->columns.column[role].category &&
           !fplt__level_is_known(&builder->expected, fplt__lookup_word(&reader->names, (uint32_t)i),
                                 reader->field[i].span);
}

/* 1 when the row is to be left out. */
static int check_missing(const fplt__csv_reader *reader, const fplt__builder *builder,
                         fplt_status *status, fplt_error *error)
{
    for (size_t i = 0; i < reader->fields; i++) {
        int role = reader->role[i];
        if (role == FPLT__CSV_LEFT_OUT || role == FPLT__CSV_ID || !is_missing(reader, builder, i) ||
            (role >= 0 && builder->settings->keep_missing))
            continue;
        if (!builder->settings->drop_missing)
            *status =
                fplt__bad_data(error, reader->source->name, reader->row_line,
                               "column '%s': the value is missing%s: add --missing drop to leave "
                               "such rows out%s",
                               fplt__show(fplt__lookup_word(&reader->names, (uint32_t)i)).text,
                               reader->field[i].span.length ? ", or counts as missing" : "",
                               builder->expected.names.count
                                   ? ""
                                   : ", or --missing median to fill the gaps (mean, "
                                     "most-frequent, constant)");
        return 1;
    }
    return 0;
}

/* The number of a level, or NaN for one that counts as missing. */
static fplt_status read_level(const fplt__csv_reader *reader, fplt__builder *builder, size_t i,
                              double *cell, fplt_error *error)
{
    fplt__span text = reader->field[i].span, name = fplt__lookup_word(&reader->names, (uint32_t)i);
    fplt__column *column = &builder->columns.column[reader->role[i]];
    uint32_t level = fplt__lookup_find(&column->levels, text);
    if (level == FPLT__NOWHERE && !fplt__level_is_known(&builder->expected, name, text)) {
        if (builder->expected.unknown_level == FPLT__UNKNOWN_REFUSED)
            return fplt__refuse_level(&builder->expected,
                                      (fplt__origin){reader->source->name, reader->row_line}, name,
                                      text, error);
        if (builder->expected.unknown_level == FPLT__UNKNOWN_MISSING) {
            builder->columns.lost_levels++;
            *cell = NAN;
            return FPLT_OK;
        }
    }
    fplt_status status = fplt__lookup_add(&column->levels, text, &level, error);
    *cell = level;
    return status;
}

static fplt_status read_cell(const fplt__csv_reader *reader, fplt__builder *builder, size_t i,
                             double *cell, fplt_error *error)
{
    fplt__span text = reader->field[i].span;
    fplt__column *column = &builder->columns.column[reader->role[i]];
    if (builder->settings->keep_missing && fplt__field_missing(&reader->field[i])) {
        builder->columns.lost_levels += (size_t)column->category;
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
static fplt_status read_site(const fplt__csv_reader *reader, fplt__builder *builder,
                             fplt__span site, uint32_t *agent, fplt_error *error)
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

static fplt_status read_weight(const fplt__csv_reader *reader, fplt__builder *builder,
                               fplt__span text, fplt_error *error)
{
    double weight = 0;
    if (fplt__number_parse(fplt__span_trim(text), &weight) != FPLT__NUMBER || !(weight >= 0))
        return fplt__bad_data(error, reader->source->name, reader->row_line,
                              "the weight of the row is '%s', but it must be a number of at least "
                              "0",
                              fplt__show(text).text);
    return fplt__builder_extra(builder, FPLT__EXTRA_WEIGHT, weight, error);
}

/* What a field is that is no feature. */
static fplt_status read_word(const fplt__csv_reader *reader, fplt__builder *builder, int role,
                             fplt__span text, double *label, uint32_t *agent, fplt_error *error)
{
    uint32_t number;
    fplt_status status = FPLT_OK;
    switch (role) {
    case FPLT__CSV_LABEL:
        return fplt__builder_label(builder, reader->source, reader->row_line, text, label, error);
    case FPLT__CSV_SITE: return read_site(reader, builder, text, agent, error);
    case FPLT__CSV_WEIGHT: return read_weight(reader, builder, text, error);
    case FPLT__CSV_ID:
        status = fplt__lookup_add(&builder->extras.ids, text, &number, error);
        return status ? status : fplt__builder_extra(builder, FPLT__EXTRA_ID, number, error);
    case FPLT__CSV_CLUSTER:
        status = fplt__lookup_add(&builder->persons.names, text, &number, error);
        return status ? status : fplt__builder_extra(builder, FPLT__EXTRA_PERSON, number, error);
    default: return FPLT_OK;
    }
}

/* Labels and weights are numbers, unless they are words. */
static int is_number_role(int role)
{
    return role == FPLT__CSV_LABEL || role == FPLT__CSV_WEIGHT;
}

static fplt_status take_row(const fplt__csv_reader *reader, fplt__builder *builder, uint32_t *agent,
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

/* Label, site, weight, cluster and id of a row, in the order of its columns. */
struct words {
    fplt__span span[5];
    int role[5];
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
    if (role == FPLT__CSV_LEFT_OUT)
        return 1;
    if (span.length != field.span.length || fplt__field_missing(&field))
        return 0;
    words->span[words->count] = span;
    words->role[words->count++] = role;
    return 1;
}

/* At least one field at `start`, of the `count` that are alike; 0 where it is not plainly written. */
static size_t quick_fields(const fplt__csv_reader *reader, const char *start, size_t count,
                           int role, double *cells, struct words *words)
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
static const char *scan_row(const fplt__csv_reader *reader, double *cells, struct words *words)
{
    fplt__marks *marks = reader->marks;
    const char *c = reader->at;
    words->count = 0;
    if (c - reader->source->text < FPLT__WITHIN)
        return NULL;
    fplt__marks_seek(marks, c);
    for (const fplt__csv_run *run = reader->run, *last = run + reader->runs - 1; run <= last; run++)
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
static int quick_row(fplt__csv_reader *reader, fplt__builder *builder, uint32_t *agent,
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
        builder->cells.count -= builder->cells.width;
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
static fplt_status find_runs(fplt__csv_reader *reader, const fplt__builder *builder,
                             fplt_error *error)
{
    for (uint32_t i = 0; i < builder->columns.names.count; i++)
        if (builder->columns.column[i].category || reader->dialect)
            return FPLT_OK;
    fplt_status status =
        fplt__alloc_into(&reader->run, reader->names.count, sizeof *reader->run, "columns", error);
    for (uint32_t i = 0; i < reader->names.count && !status; i++) {
        fplt__csv_run *before = reader->runs ? &reader->run[reader->runs - 1] : NULL;
        if (before && before->role >= 0 && reader->role[i] == before->role + (int)before->count)
            before->count++;
        else
            reader->run[reader->runs++] = (fplt__csv_run){reader->role[i], 1};
    }
    return status;
}

static fplt_status prepare(fplt__csv_reader *reader, const fplt__source *source,
                           fplt__builder *builder, uint32_t *agent, fplt_error *error)
{
    int sites = 0;
    fplt_status status = fplt__csv_begin_columns(reader, source, builder, error);
    if (!status)
        status = fplt__csv_settle_columns(reader, builder, error);
    for (uint32_t i = 0; i < reader->names.count && !status; i++)
        sites += reader->role[i] == FPLT__CSV_SITE;
    *agent = FPLT__NOWHERE;
    if (!status && !sites)
        status = fplt__source_agent(source, &builder->agents, agent, error);
    return status ? status : find_runs(reader, builder, error);
}

/* Whose row it is; empty where that is not known, or there is one agent only. */
static fplt__span site_of(const fplt__csv_reader *reader, const fplt__builder *builder,
                          uint32_t agent)
{
    for (size_t i = 0; i < reader->fields; i++)
        if (reader->role[i] == FPLT__CSV_SITE)
            return reader->field[i].span;
    return agent != FPLT__NOWHERE && builder->sources > 1
               ? fplt__lookup_word(&builder->agents, agent)
               : (fplt__span){"", 0};
}

/* All rows of the text; *plain is what of it is known to be ASCII. */
static fplt_status read_rows(fplt__csv_reader *reader, fplt__builder *builder, uint32_t *agent,
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
        status = fplt__csv_next_row(reader, error);
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
    const fplt__csv_reader *reader;
    uint32_t agent;
};

static fplt_status read_piece(const void *context, const fplt__source *piece, fplt__builder *part,
                              fplt_error *error)
{
    const struct file *file = context;
    fplt__csv_reader reader = {.source = piece,
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
    fplt__csv_clear(&reader);
    return status;
}

/* With several files, every site must be the first one's: such rows are read one after the other. */
static int names_one_site(const fplt__csv_reader *reader, const fplt__builder *builder)
{
    for (uint32_t i = 0; i < reader->names.count; i++)
        if (reader->role[i] == FPLT__CSV_SITE && builder->sources > 1)
            return 1;
    return 0;
}

static fplt_status read_csv(const fplt__source *source, fplt__builder *builder, fplt_error *error)
{
    fplt__csv_reader reader = {.source = NULL};
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
    fplt__csv_clear(&reader);
    return status;
}

/* Looks at every value, to find the columns that hold something else than numbers. */
static fplt_status scan_csv(const fplt__source *source, fplt__builder *builder, fplt_error *error)
{
    fplt__csv_reader reader;
    if (!fplt__finds_categories(builder->settings))
        return FPLT_OK;
    fplt_status status = fplt__csv_begin_columns(&reader, source, builder, error);
    while (!status) {
        status = fplt__csv_next_row(&reader, error);
        if (status || !reader.fields)
            break;
        for (size_t i = 0; i < reader.fields && !status; i++)
            if (reader.role[i] >= 0)
                status = fplt__profile_see(&builder->profile,
                                           fplt__lookup_word(&reader.names, (uint32_t)i),
                                           &reader.field[i],
                                           (fplt__origin){source->name, reader.row_line}, error);
    }
    fplt__csv_clear(&reader);
    return status;
}

const fplt__format fplt__format_csv = {
    "csv", "comma-separated values with a header", ".csv", 1, scan_csv, read_csv, fplt__csv_write,
    NULL,
};
