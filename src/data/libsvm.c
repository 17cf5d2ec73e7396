/* LIBSVM text: reader and writer. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "data/builder.h"
#include "data/rows_write.h"
#include "data/declared.h"
#include "data/scan.h"
#include "data/schema.h"

/* Every agent keeps vectors as long as the largest index: one digit too many fills the memory. */
enum { MAX_FEATURES = 50000000 };

struct line {
    const fplt__source *source;
    size_t number;
    const char *at, *end;
};

static fplt__span next_token(struct line *line)
{
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
        line->at++;
    const char *start = line->at;
    while (line->at < line->end && *line->at != ' ' && *line->at != '\t')
        line->at++;
    return (fplt__span){start, (size_t)(line->at - start)};
}

static fplt_status bad_token(const struct line *line, fplt__span token, fplt_error *error)
{
    if (token.length >= 4 && memcmp(token.text, "qid:", 4) == 0)
        return fplt__bad_data(error, line->source->name, line->number,
                              "'%s': ranking files (qid) are not supported",
                              fplt__show(token).text);
    return fplt__bad_data(error, line->source->name, line->number,
                          "'%s' is not of the form index:value", fplt__show(token).text);
}

/* The digits before the colon; 0 when they are not an index. */
static uint64_t parse_index(fplt__span token, size_t *digits)
{
    uint64_t index = 0;
    size_t i = 0;
    for (; i < token.length && token.text[i] >= '0' && token.text[i] <= '9'; i++)
        if (index <= UINT32_MAX)
            index = index * 10 + (uint64_t)(token.text[i] - '0');
    *digits = i;
    return index;
}

static fplt_status check_index(const struct line *line, const fplt__builder *builder,
                               uint64_t index, uint64_t before, fplt_error *error)
{
    const char *name = line->source->name;
    size_t features =
        builder->expected.names.count ? builder->expected.names.count : builder->settings->features;
    if (index == 0)
        return fplt__bad_data(error, name, line->number, "index 0: indices count from 1");
    if (builder->declared.schema && index > builder->declared.schema->features)
        return FPLT_OK; /* the schema says what becomes of the row */
    if (index == before)
        return fplt__bad_data(error, name, line->number, "index %llu is there twice",
                              (unsigned long long)index);
    if (index < before)
        return fplt__bad_data(error, name, line->number,
                              "index %llu after %llu: indices must increase",
                              (unsigned long long)index, (unsigned long long)before);
    if (index > UINT32_MAX)
        return fplt__bad_data(error, name, line->number, "an index above %u", UINT32_MAX);
    if (!features && index > MAX_FEATURES)
        return fplt__bad_data(error, name, line->number,
                              "index %llu, but without a number of features the largest that is "
                              "believed is %d: give features",
                              (unsigned long long)index, MAX_FEATURES);
    if (features && index > features && !builder->declared.schema)
        return fplt__bad_data(error, name, line->number,
                              "index %llu, but there are to be %zu features",
                              (unsigned long long)index, features);
    return FPLT_OK;
}

static fplt_status read_entries(struct line *line, fplt__builder *builder, fplt_error *error)
{
    uint64_t before = 0;
    for (;;) {
        fplt__span token = next_token(line);
        if (!token.length)
            return FPLT_OK;
        size_t digits;
        uint64_t index = parse_index(token, &digits);
        if (digits == 0 || digits == token.length || token.text[digits] != ':')
            return bad_token(line, token, error);
        fplt_status status = check_index(line, builder, index, before, error);
        if (status)
            return status;
        fplt__span number = {token.text + digits + 1, token.length - digits - 1};
        before = index;
        if (builder->declared.schema) {
            status =
                fplt__declared_entry(builder, line->source, line->number, index, number, error);
            if (status)
                return status;
            continue;
        }
        double value;
        fplt__number kind = fplt__number_parse(number, &value);
        if (kind != FPLT__NUMBER)
            return fplt__bad_data(error, line->source->name, line->number,
                                  "index %llu: '%s' is not a %snumber", (unsigned long long)index,
                                  fplt__show(number).text,
                                  kind == FPLT__NOT_FINITE ? "finite " : "");
        status = fplt__builder_entry(builder, (uint32_t)(index - 1), value, error);
        if (status)
            return status;
        if (index > builder->features)
            builder->features = (size_t)index;
    }
}

/* One entry at `c`, however its number is written; returns what follows it, or NULL. */
static const char *scan_entry(const char *c, const char *end, uint64_t before, uint64_t most,
                              uint64_t *index, double *value)
{
    *index = 0;
    for (; c < end && (unsigned char)(*c - '0') < 10 && *index <= most; c++)
        *index = *index * 10 + (uint64_t)(*c - '0');
    if (*index <= before || *index > most || c == end || *c++ != ':')
        return NULL;
    return fplt__number_scan(c, end, value);
}

/* The entries of a row from `c` on, as many as are plainly written; returns what follows the blank or line end behind
 * the last, or NULL where there is none. */
static const char *quick_entries(fplt__marks *marks, const char *c, fplt__builder *builder,
                                 fplt__pairs *pairs, fplt_status *status, fplt_error *error)
{
    size_t more = fplt__marks_more(marks), used;
    pairs->column = builder->entries.column;
    pairs->value = builder->entries.value;
    pairs->count = builder->entries.count;
    pairs->room = builder->entries.column_capacity < builder->entries.value_capacity
                      ? builder->entries.column_capacity
                      : builder->entries.value_capacity;
    used = marks->scan->pairs(c, marks->text, marks->at + marks->used, more, pairs);
    builder->entries.count = pairs->count;
    if (!used) { /* written otherwise, at the end of the window, or there is no room */
        double value;
        uint64_t index;
        if (!(c = scan_entry(c, marks->end, pairs->before, pairs->most, &index, &value)))
            return NULL;
        if ((*status = fplt__builder_entry(builder, (uint32_t)(index - 1), value, error)))
            return c;
        pairs->before = index;
        fplt__marks_seek(marks, c);
        if (!fplt__marks_more(marks) || (fplt__marks_at(marks, 0) != c + (*c == '\r')))
            return NULL;
        used = 1;
    }
    marks->used += used;
    return marks->text + marks->at[marks->used - 1] + 1;
}

/* One pass over the usual entries from the blank or line end before them to the end of the line, behind which the
 * next begins; NULL where anything else is among them, and then the line is read with care. */
static const char *scan_entries(fplt__marks *marks, const char *c, uint64_t most,
                                fplt__builder *builder, fplt_status *status, fplt_error *error)
{
    fplt__pairs pairs = {.before = 0, .most = most};
    while (c && c[-1] == ' ' && !*status) {
        if (!fplt__marks_more(marks))
            return NULL;
        if (fplt__marks_at(marks, 0) > c) {
            c = quick_entries(marks, c, builder, &pairs, status, error);
            continue;
        }
        marks->used++; /* a blank more than needed, or the end */
        c++;
    }
    if (pairs.before > builder->features)
        builder->features = (size_t)pairs.before;
    return c && (*status || c[-1] == '\n') ? c : NULL;
}

/* Reads the line at `at` in one pass, where that can be done: returns where the next begins, or NULL. */
static const char *quick_line(const struct line *line, const char *at, fplt__marks *marks,
                              fplt__builder *builder, uint32_t agent, fplt_status *status,
                              fplt_error *error)
{
    if (builder->declared.schema || at - line->source->text < FPLT__WITHIN)
        return NULL;
    size_t entries = builder->entries.count, features = builder->features;
    uint64_t most =
        builder->expected.names.count ? builder->expected.names.count : builder->settings->features;
    const char *c = at;
    fplt__marks_seek(marks, at);
    if (!fplt__marks_more(marks))
        return NULL;
    const char *end = fplt__marks_at(marks, 0);
    while (c<end && * c> ' ' && *c != '#')
        c++;
    fplt__span word = {at, (size_t)(c - at)};
    marks->used++;
    if (!word.length || c < end || *end == ':' ||
        !(c = scan_entries(marks, end + 1, most ? most : MAX_FEATURES, builder, status, error))) {
        builder->entries.count = entries;
        builder->features = features;
        return NULL;
    }
    double label;
    if (!*status)
        *status = fplt__builder_label(builder, line->source, line->number, word, &label, error);
    if (!*status)
        *status = fplt__builder_row(builder, label, agent, error);
    return c;
}

/* Every line is a row, blank ones too: what cannot be read is the neutral row. */
static fplt_status read_leniently(struct line *line, fplt__builder *builder, uint32_t agent,
                                  fplt_error *error)
{
    size_t entries = builder->entries.count;
    fplt_error why = {FPLT_OK, ""};
    double label = 0;
    fplt__span token = next_token(line);
    fplt_status status =
        !token.length || memchr(token.text, ':', token.length)
            ? FPLT_BAD_DATA
            : fplt__builder_label(builder, line->source, line->number, token, &label, &why);
    if (!status)
        status = read_entries(line, builder, &why);
    if (status == FPLT_BAD_DATA) {
        builder->entries.count = entries;
        builder->declared.neutral = 1;
        status = FPLT_OK;
    } else if (status && error)
        *error = why;
    return status ? status : fplt__builder_row(builder, label, agent, error);
}

static fplt_status read_line(struct line *line, fplt__builder *builder, uint32_t agent,
                             fplt_error *error)
{
    double label;
    fplt__span token = next_token(line);
    if (!token.length)
        return FPLT_OK;
    if (memchr(token.text, ':', token.length))
        return fplt__bad_data(error, line->source->name, line->number,
                              "the line begins with '%s', but a label is wanted first",
                              fplt__show(token).text);
    fplt_status status =
        fplt__builder_label(builder, line->source, line->number, token, &label, error);
    if (!status)
        status = read_entries(line, builder, error);
    return status ? status : fplt__builder_row(builder, label, agent, error);
}

/* All lines of a text; *plain is what of it is known to be ASCII. */
static fplt_status read_lines(const fplt__source *source, const char *at, fplt__builder *builder,
                              uint32_t agent, const char **plain, fplt_error *error)
{
    const char *end = source->text + source->size;
    struct line line = {source, 0, NULL, NULL};
    int reserved = 0;
    fplt_status status = FPLT_OK;
    fplt__marks marks;
    fplt__marks_begin(&marks, at, end, " :\n");
    while (!status && at < end) {
        if (line.number++ % FPLT__ROWS_TOLD == 0)
            fplt__read_progress(builder, source, (size_t)(at - source->text));
        const char *next = quick_line(&line, at, &marks, builder, agent, &status, error);
        if (next) {
            if (!status && !reserved)
                status = fplt__builder_reserve(builder, (size_t)(next - at), (size_t)(end - next),
                                               error);
            reserved = 1;
            at = next;
            continue;
        }
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        const char *comment = memchr(at, '#', (size_t)(stop - at));
        line.at = at;
        line.end = comment ? comment : stop;
        if (line.end > at && line.end == stop && stop[-1] == '\r')
            line.end--;
        status = fplt__builder_is_lenient(builder) ? read_leniently(&line, builder, agent, error)
                                                   : read_line(&line, builder, agent, error);
        at = stop < end ? stop + 1 : end;
    }
    *plain = marks.plain;
    return status;
}

static fplt_status read_piece(const void *context, const fplt__source *piece, fplt__builder *part,
                              fplt_error *error)
{
    const uint32_t *agent = context;
    const char *plain;
    fplt_status status = read_lines(piece, piece->text, part, *agent, &plain, error);
    if (!status && plain < piece->text + piece->size && !fplt__builder_is_lenient(part))
        status = fplt__text_check(piece, error);
    return status;
}

static fplt_status read_libsvm(const fplt__source *source, fplt__builder *builder,
                               fplt_error *error)
{
    fplt__source head;
    uint32_t agent;
    const char *plain;
    size_t before = builder->rows;
    builder->sparse = 1;
    if (!builder->first_source)
        builder->first_source = source->name;
    fplt_status status = fplt__parts_head(source, builder, 0, &head, error);
    if (!status && !fplt__builder_is_lenient(builder))
        status = fplt__text_check(&head, error);
    if (!status)
        status = fplt__source_agent(source, &builder->agents, &agent, error);
    if (status)
        return status;
    int mark = head.size >= 3 && memcmp(head.text, "\xef\xbb\xbf", 3) == 0;
    status = read_lines(&head, head.text + (mark ? 3 : 0), builder, agent, &plain, error);
    if (!status)
        fplt__read_progress(builder, source, head.size);
    if (!status)
        status = fplt__parts_read(source, &head, builder, 0, read_piece, &agent, error);
    if (!status && builder->rows == before)
        status = fplt__bad_data(error, source->name, 0,
                                source->size ? "there are no rows" : "the file is empty");
    return status;
}

static void put_entry(size_t column, double value, fplt__buffer *text)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = ':';
    for (column++; column; column /= 10)
        digits[--at] = (char)('0' + column % 10);
    digits[--at] = ' ';
    fplt__buffer_add_bytes(text, digits + at, sizeof digits - at);
    fplt__buffer_shortest(text, value);
}

static void put_row(const void *context, const fplt_dataset *dataset, uint32_t agent, size_t r,
                    fplt__buffer *text)
{
    (void)context;
    (void)agent;
    fplt__buffer_shortest(text, dataset->label[r]);
    for (size_t k = dataset->dense ? 0 : dataset->start[r];
         !dataset->dense && k < dataset->start[r + 1]; k++)
        put_entry(dataset->column[k], dataset->value[k], text);
    const double *row = dataset->dense ? dataset->dense + r * dataset->features : NULL;
    for (size_t j = 0; row && j < dataset->features; j++)
        if (row[j] != 0 || signbit(row[j]))
            put_entry(j, row[j], text);
    fplt__buffer_add_bytes(text, "\n", 1);
}

static fplt_status write_libsvm(const fplt_dataset *dataset, fplt__file *file, fplt_error *error)
{
    return fplt__rows_save(dataset, put_row, file, error);
}

const fplt__format fplt__format_libsvm = {
    "libsvm", "label index:value ..., sparse", ".libsvm", 0, NULL, read_libsvm, write_libsvm, NULL,
};
