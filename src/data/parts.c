/* Long texts in pieces that end where a row ends: read on several threads, joined in their order, so that
 * the data set is the same for any number of threads and any length of the pieces. */
#include "base/memory.h"
#include "base/workers.h"
#include "data/builder.h"
#include "data/scan.h"

/* ---- where a piece ends ---- */

/* A quote within quotes is written twice, so that what counts is whether their number is even. */
size_t fplt__last_row_end(const char *text, size_t size, int quotes, int inside)
{
    size_t end = 0;
    const char *at = text, *stop = text + size;
    for (; at < stop; inside = !inside) {
        const char *quote = quotes ? memchr(at, '"', (size_t)(stop - at)) : NULL;
        const char *last = quote ? quote : stop;
        const char *line = inside ? NULL : memrchr(at, '\n', (size_t)(last - at));
        if (line)
            end = (size_t)(line - text) + 1;
        at = quote ? quote + 1 : stop;
    }
    return end;
}

static fplt_status not_in_pieces(fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNSUPPORTED, "the text is not read in pieces");
}

fplt_status fplt__parts_head(const fplt__source *source, fplt__builder *builder, int quotes,
                             fplt__source *head, fplt_error *error)
{
    *head = (fplt__source){.name = source->name,
                           .text = source->text,
                           .size = source->size,
                           .view = {.handle = -1},
                           .is_table = source->is_table,
                           .counts_rows = source->counts_rows};
    if (!builder->pieces.size || fplt__source_bytes(source) <= builder->pieces.size)
        return source->size == fplt__source_bytes(source) ? FPLT_OK : not_in_pieces(error);
    builder->pieces.used = 1;
    if (head->size > builder->pieces.size)
        head->size = builder->pieces.size;
    head->size = fplt__last_row_end(head->text, head->size, quotes, 0);
    return head->size ? FPLT_OK : not_in_pieces(error);
}

/* ---- a piece and its rows ---- */

/* Where the numbers of rows go. */
struct values {
    double *cell, *entry_value;
    uint32_t *entry_column;
    size_t cell_capacity, value_capacity, column_capacity;
};

/* A worker's text: one for all of its pieces, which stays in its cache. */
struct buffer {
    char *bytes; /* owned */
    size_t capacity;
};

struct piece {
    /* A range of the text as long as those of the others. Where its rows begin and end is known when the ranges
     * before it have their place. */
    size_t first, size;
    int last; /* nothing follows it */
    struct buffer
        *buffer; /* of a file that is not in memory: where the range is, behind `before` bytes */
    size_t before;
    const char *range;
    size_t row_end
        [2]; /* of the last row that ends in it, where it begins outside quotes, and within; or 0 */
    int odd; /* quotes: as many begin as end */
    size_t signs;        /* that may mean a row or an entry */
    fplt__source source; /* its rows */
    fplt__builder part;
    size_t place;      /* part.pieces.is_lent: of the first number, in the memory of the whole */
    struct values own; /* part.pieces.is_lent: values of the part itself meanwhile */
    size_t near, far;  /* numbers of the whole whose memory it sees to */
};

struct parts {
    const fplt__source *source;
    fplt__builder *builder;
    int quotes;
    fplt__part_reader read;
    const void *context;
    size_t at;    /* where the next range begins */
    size_t begun; /* where the rows of the next piece begin */
    int inside;   /* the range that gets its place next begins within quotes */
    struct buffer
        tail; /* of a file that is not in memory: what is before that range, from `begun` on */
    size_t tail_signs;
    size_t joined;         /* bytes whose rows the builder has */
    struct piece *piece;   /* owned, as is what follows; one a slot */
    struct buffer *buffer; /* one a worker */
    size_t lent_to; /* numbers of the whole that may be written by pieces that are not joined */
    size_t seen_to; /* numbers whose memory somebody sees to */
    unsigned lent,
        kept; /* pieces not yet joined, by where their numbers go: into the whole, or their own memory */
    unsigned threads;
};

/* As the builder of the whole is, without rows; what a part has in memory already is used again. What
 * is known before the first row (names of columns, what a model expects) is borrowed. */
static fplt_status part_begin(fplt__builder *part, const fplt__builder *whole, fplt_error *error)
{
    part->settings = whole->settings;
    part->sources = whole->sources;
    part->first_source = whole->first_source;
    part->labels.mode = whole->labels.mode;
    part->labels.automatic = whole->labels.automatic;
    part->sparse = whole->sparse;
    part->cells.width = whole->cells.width;
    part->columns.names = whole->columns.names;
    part->expected = whole->expected;
    part->pieces.is_part = 1;
    part->rows = part->cells.count = part->entries.count = part->features =
        part->columns.lost_levels = 0;
    part->number = 0;
    fplt__lookup_clear(&part->labels.words);
    fplt__lookup_clear(&part->agents);
    fplt__lookup_clear(&part->extras.ids);
    fplt__lookup_clear(&part->persons.names);
    fplt__left_out_clear(&part->left_out);
    fplt_status status = FPLT_OK;
    if (!part->columns.column && whole->columns.names.count)
        status = fplt__alloc_into(&part->columns.column, whole->columns.names.count,
                                  sizeof *part->columns.column, "columns", error);
    for (uint32_t i = 0; i < whole->columns.names.count && !status; i++) {
        part->columns.column[i].category = whole->columns.column[i].category;
        fplt__lookup_clear(&part->columns.column[i].levels);
    }
    return status;
}

/* Large pages are cleared when they are first touched, and two threads that touch one at the same time would both do
 * so. So memory is asked for ahead of those who write into it, each number's by one thread. */
static void see_ahead(struct parts *parts, struct piece *piece, size_t to, size_t room)
{
    enum { AHEAD = (2 << 20) / sizeof(double) };
    size_t far = room - to < AHEAD ? room : to + AHEAD;
    piece->near = parts->seen_to > piece->place ? parts->seen_to : piece->place;
    piece->far = parts->threads > 1 && far > piece->near ? far : piece->near;
    parts->seen_to = piece->far;
}

static void see_to_memory(const struct parts *parts, const struct piece *piece)
{
    const fplt__builder *part = &piece->part;
    size_t from = piece->near - piece->place, count = piece->far - piece->near;
    if (!part->pieces.is_lent || !count)
        return;
    if (parts->builder->sparse) {
        fplt__expect(part->entries.value + from, count * sizeof *part->entries.value);
        fplt__expect(part->entries.column + from, count * sizeof *part->entries.column);
    } else {
        fplt__expect(part->cells.value + from, count * sizeof *part->cells.value);
    }
}

/* Numbers go where they belong in the whole while a piece is read, so that nobody copies them: a piece has no more rows
 * than lines, and no more entries than colons. Only as long as the memory of the whole need not grow: it may move. A
 * piece that was read into its own memory may make it grow when it is joined, and none is lent until then. */
static void lend(struct parts *parts, struct piece *piece, size_t signs)
{
    fplt__builder *part = &piece->part;
    const fplt__builder *whole = parts->builder;
    const char *text = piece->source.text;
    size_t size = piece->source.size, width = whole->sparse ? 1 : whole->cells.width;
    size_t most = signs * width;
    if (!whole->sparse && size && text[size - 1] != '\n')
        most += width;
    size_t done = whole->sparse ? whole->entries.count : whole->cells.count;
    size_t room = !whole->sparse ? whole->cells.capacity
                  : whole->entries.column_capacity < whole->entries.value_capacity
                      ? whole->entries.column_capacity
                      : whole->entries.value_capacity;
    size_t place = parts->lent ? parts->lent_to : done;
    part->pieces.is_lent = !parts->kept && place <= room && most <= room - place && most;
    parts->lent += (unsigned)part->pieces.is_lent;
    parts->kept += !part->pieces.is_lent;
    if (!part->pieces.is_lent)
        return;
    piece->place = place;
    parts->lent_to = place + most;
    piece->own = (struct values){
        part->cells.value,    part->entries.value,          part->entries.column,
        part->cells.capacity, part->entries.value_capacity, part->entries.column_capacity};
    if (whole->sparse) {
        part->entries.column = whole->entries.column + place;
        part->entries.value = whole->entries.value + place;
        part->entries.column_capacity = part->entries.value_capacity = most;
    } else {
        part->cells.value = whole->cells.value + place;
        part->cells.capacity = most;
    }
    see_ahead(parts, piece, place + most, room);
}

static void give_back(struct piece *piece)
{
    fplt__builder *part = &piece->part;
    if (!part->pieces.is_lent)
        return;
    part->cells.value = piece->own.cell;
    part->entries.value = piece->own.entry_value;
    part->entries.column = piece->own.entry_column;
    part->cells.capacity = piece->own.cell_capacity;
    part->entries.value_capacity = piece->own.value_capacity;
    part->entries.column_capacity = piece->own.column_capacity;
    part->pieces.is_lent = 0;
}

static void part_clear(fplt__builder *part)
{
    uint32_t columns = part->columns.column ? part->columns.names.count : 0;
    for (uint32_t i = 0; i < columns; i++)
        fplt__lookup_clear(&part->columns.column[i].levels);
    fplt__free(part->columns.column);
    part->columns.column = NULL;
    part->columns.names = (fplt__lookup){0}; /* the whole's, as are the expected names */
    part->expected = (fplt__expected){0};
    fplt__builder_clear(part);
}

/* ---- joining ---- */

/* What the words of the part are in the whole; new ones come in the order of their first appearance, as
 * if the rows were read one after the other. */
static fplt_status join_words(const fplt__lookup *words, fplt__lookup *known, uint32_t *number,
                              fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < words->count && !status; i++)
        status = fplt__lookup_add(known, fplt__lookup_word(words, i), &number[i], error);
    return status;
}

/* One number a word of the part: its number in the whole, or its value where labels are numbers there. */
static fplt_status join_labels(fplt__builder *whole, const fplt__builder *part, double *value,
                               fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (part->labels.mode != FPLT__LABEL_WORD)
        return part->labels.mode == whole->labels.mode ? FPLT_OK : not_in_pieces(error);
    for (uint32_t i = 0; i < part->labels.words.count && !status; i++)
        if (whole->labels.mode == FPLT__LABEL_WORD)
            status =
                fplt__builder_word(whole, whole->first_source, 0,
                                   fplt__lookup_word(&part->labels.words, i), &value[i], error);
    for (uint32_t i = 0; i < part->labels.words.count && !status; i++)
        if (whole->labels.mode == FPLT__LABEL_NUMBER &&
            fplt__number_parse(fplt__lookup_word(&part->labels.words, i), &value[i]) !=
                FPLT__NUMBER)
            status = not_in_pieces(error);
    return status;
}

/* The rows themselves. Who needs those of some agents only leaves the others out here and in
 * join_values, once `agent` has said whose they are. */
static fplt_status join_rows(fplt__builder *whole, const fplt__builder *part, const double *value,
                             const uint32_t *agent, fplt_error *error)
{
    fplt_status status = fplt__grow(&whole->row, &whole->row_capacity, whole->rows + part->rows,
                                    sizeof *whole->row, "rows", error);
    if (status)
        return status;
    int words = part->labels.mode == FPLT__LABEL_WORD;
    for (size_t r = 0; r < part->rows; r++) {
        fplt__row row = part->row[r];
        row.number += whole->number;
        if (words)
            row.label = value[(size_t)row.label];
        if (part->agents.count)
            row.agent = agent[row.agent];
        whole->row[whole->rows + r] = row;
    }
    return FPLT_OK;
}

/* What was lent is there already, or further behind where rows before it were fewer than lines. */
static void put(void *to, const void *from, size_t bytes)
{
    if (to != from)
        memmove(to, from, bytes);
}

static fplt_status join_values(fplt__builder *whole, const fplt__builder *part, fplt_error *error)
{
    fplt_status status;
    if (!whole->sparse) {
        status = fplt__grow(&whole->cells.value, &whole->cells.capacity,
                            whole->cells.count + part->cells.count, sizeof *whole->cells.value,
                            "rows", error);
        if (!status && part->cells.count)
            put(whole->cells.value + whole->cells.count, part->cells.value,
                part->cells.count * sizeof *part->cells.value);
        whole->cells.count += part->cells.count;
        return status;
    }
    size_t needed = whole->entries.count + part->entries.count;
    if ((status =
             fplt__grow(&whole->entries.end, &whole->entries.end_capacity, whole->rows + part->rows,
                        sizeof *whole->entries.end, "rows", error)) ||
        (status = fplt__grow(&whole->entries.column, &whole->entries.column_capacity, needed,
                             sizeof *whole->entries.column, "entries", error)) ||
        (status = fplt__grow(&whole->entries.value, &whole->entries.value_capacity, needed,
                             sizeof *whole->entries.value, "entries", error)))
        return status;
    for (size_t r = 0; r < part->rows; r++)
        whole->entries.end[whole->rows + r] = whole->entries.count + part->entries.end[r];
    if (part->entries.count) {
        put(whole->entries.column + whole->entries.count, part->entries.column,
            part->entries.count * sizeof *part->entries.column);
        put(whole->entries.value + whole->entries.count, part->entries.value,
            part->entries.count * sizeof *part->entries.value);
    }
    whole->entries.count = needed;
    return FPLT_OK;
}

/* Levels of categories are numbers in the cells, those of the whole. */
static fplt_status join_levels(fplt__builder *whole, fplt__builder *part, uint32_t *number,
                               fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < whole->columns.names.count && !status; i++) {
        if (!whole->columns.column[i].category)
            continue;
        status = join_words(&part->columns.column[i].levels, &whole->columns.column[i].levels,
                            number, error);
        for (size_t r = 0; r < part->rows && !status; r++) {
            double *cell = &part->cells.value[r * part->cells.width + i];
            if (*cell == *cell) /* not missing */
                *cell = number[(size_t)*cell];
        }
    }
    return status;
}

/* Numbers of words become those of the whole. */
static fplt_status join_numbers(const fplt__builder *part, fplt__extra kind,
                                const fplt__lookup *words, fplt__lookup *known, uint32_t *number,
                                fplt_error *error)
{
    double *value = part->extras.value[kind];
    fplt_status status = join_words(words, known, number, error);
    for (size_t r = 0; r < part->rows && value && !status; r++)
        value[r] = number[(size_t)value[r]];
    return status;
}

static fplt_status join_extras(fplt__builder *whole, fplt__builder *part, uint32_t *number,
                               fplt_error *error)
{
    fplt_status status =
        join_numbers(part, FPLT__EXTRA_ID, &part->extras.ids, &whole->extras.ids, number, error);
    if (!status)
        status = join_numbers(part, FPLT__EXTRA_PERSON, &part->persons.names, &whole->persons.names,
                              number, error);
    for (size_t k = 0; k < FPLT__EXTRAS && !status; k++) {
        if (!part->extras.value[k])
            continue;
        status =
            fplt__grow(&whole->extras.value[k], &whole->extras.capacity[k],
                       whole->rows + part->rows, sizeof *whole->extras.value[k], "rows", error);
        if (!status && part->rows)
            memcpy(whole->extras.value[k] + whole->rows, part->extras.value[k],
                   part->rows * sizeof *part->extras.value[k]);
    }
    return status;
}

static fplt_status join_left_out(fplt__builder *whole, const fplt__left_out *part, uint32_t *number,
                                 fplt_error *error)
{
    fplt__left_out *all = &whole->left_out;
    uint32_t before = all->sites.count;
    fplt_status status = fplt__grow(&all->row, &all->row_capacity, all->count + part->count,
                                    sizeof *all->row, "rows", error);
    if (!status)
        status = join_words(&part->sites, &all->sites, number, error);
    if (!status)
        status = fplt__grow(&all->of_site, &all->site_capacity, all->sites.count,
                            sizeof *all->of_site, "sites", error);
    if (status)
        return status;
    for (uint32_t i = before; i < all->sites.count; i++)
        all->of_site[i] = 0;
    for (uint32_t i = 0; i < part->sites.count; i++)
        all->of_site[number[i]] += part->of_site[i];
    size_t seen = whole->rows + all->count;
    for (size_t i = 0; i < part->count; i++)
        all->row[all->count + i] = seen + part->row[i];
    all->count += part->count;
    return FPLT_OK;
}

static uint32_t most_words(const fplt__builder *part)
{
    uint32_t most = part->agents.count;
    const fplt__lookup *others[] = {&part->labels.words, &part->extras.ids, &part->persons.names,
                                    &part->left_out.sites};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        most = others[i]->count > most ? others[i]->count : most;
    for (uint32_t i = 0; i < part->columns.names.count; i++)
        most = part->columns.column[i].levels.count > most ? part->columns.column[i].levels.count
                                                           : most;
    return most;
}

static fplt_status join_part(fplt__builder *whole, fplt__builder *part, fplt_error *error)
{
    uint32_t *number = NULL, most = most_words(part);
    double *value = NULL;
    fplt_status status;
    if (!(status = fplt__alloc_into(&number, most, sizeof *number, "words", error)) &&
        !(status = fplt__alloc_into(&value, most, sizeof *value, "words", error)) &&
        !(status = join_levels(whole, part, number, error)) &&
        !(status = join_extras(whole, part, number, error)) &&
        !(status = join_left_out(whole, &part->left_out, number, error)) &&
        !(status = join_labels(whole, part, value, error)) &&
        !(status = join_words(&part->agents, &whole->agents, number, error)) &&
        !(status = join_rows(whole, part, value, number, error)))
        status = join_values(whole, part, error);
    fplt__free(number);
    fplt__free(value);
    if (status)
        return status;
    whole->rows += part->rows;
    whole->number += part->number;
    whole->columns.lost_levels += part->columns.lost_levels;
    if (part->features > whole->features)
        whole->features = part->features;
    return FPLT_OK;
}

/* ---- all pieces ---- */

static char sign_of(const struct parts *parts)
{
    return parts->builder->sparse ? ':' : '\n';
}

static fplt_status take(void *context, unsigned slot, unsigned worker, int *more, fplt_error *error)
{
    struct parts *parts = context;
    struct piece *piece = &parts->piece[slot];
    size_t left = fplt__source_bytes(parts->source) - parts->at;
    *more = left > 0;
    if (!*more)
        return FPLT_OK;
    piece->first = parts->at;
    piece->size = left < parts->builder->pieces.size ? left : parts->builder->pieces.size;
    piece->last = piece->size == left;
    piece->buffer = &parts->buffer[worker];
    parts->at += piece->size;
    return part_begin(&piece->part, parts->builder, error);
}

static int is_in_memory(const struct parts *parts)
{
    return parts->source->view.handle < 0;
}

static fplt_status grow(struct buffer *buffer, size_t size, fplt_error *error)
{
    return fplt__grow(&buffer->bytes, &buffer->capacity, size, 1, "a piece of a file", error);
}

static fplt_status load_range(const struct parts *parts, struct piece *piece, fplt_error *error)
{
    const fplt__source *source = parts->source;
    size_t got;
    piece->before = parts->builder->pieces.size / 8;
    fplt_status status = grow(piece->buffer, piece->before + piece->size, error);
    if (!status)
        status = fplt__view_read(&source->view, source->name, piece->first,
                                 piece->buffer->bytes + piece->before, piece->size, &got, error);
    if (!status && got < piece->size)
        status = not_in_pieces(error); /* it has become shorter */
    piece->range = piece->buffer->bytes + piece->before;
    return status;
}

static fplt_status load(void *context, unsigned slot, fplt_error *error)
{
    const struct parts *parts = context;
    struct piece *piece = &parts->piece[slot];
    fplt_status status = FPLT_OK;
    if (is_in_memory(parts))
        piece->range = parts->source->text + piece->first;
    else
        status = load_range(parts, piece, error);
    if (status)
        return status;
    const fplt__scan *scan = fplt__scan_used();
    size_t quotes = parts->quotes && memchr(piece->range, '"', piece->size)
                        ? scan->count(piece->range, piece->size, '"')
                        : 0;
    piece->odd = quotes % 2;
    piece->row_end[0] = fplt__last_row_end(piece->range, piece->size, quotes > 0, 0);
    piece->row_end[1] = quotes ? fplt__last_row_end(piece->range, piece->size, 1, 1) : 0;
    piece->signs = scan->count(piece->range, piece->size, sign_of(parts));
    return FPLT_OK;
}

/* What is left of the ranges before it comes before the range. */
static fplt_status put_tail_before(const struct parts *parts, struct piece *piece,
                                   fplt_error *error)
{
    size_t tail = piece->first - parts->begun;
    if (tail > piece->before) {
        fplt_status status = grow(piece->buffer, tail + piece->size, error);
        char *bytes = piece->buffer->bytes;
        if (status)
            return status;
        memmove(bytes + tail, bytes + piece->before, piece->size);
        piece->before = tail;
        piece->range = bytes + tail;
    }
    if (tail)
        memcpy(piece->buffer->bytes + piece->before - tail, parts->tail.bytes, tail);
    return FPLT_OK;
}

/* What of the range is behind the last row that ends in it, and the same again where none does. */
static fplt_status keep_tail(struct parts *parts, const struct piece *piece, size_t end,
                             fplt_error *error)
{
    size_t tail = end ? 0 : piece->first - parts->begun, more = piece->size - end;
    fplt_status status = grow(&parts->tail, tail + more, error);
    if (!status && more)
        memcpy(parts->tail.bytes + tail, piece->range + end, more);
    return status;
}

/* Its rows: from where those before it ended, to the end of the last that ends in the range. */
static fplt_status place(void *context, unsigned slot, fplt_error *error)
{
    struct parts *parts = context;
    struct piece *piece = &parts->piece[slot];
    size_t end = piece->last ? piece->size : piece->row_end[parts->inside];
    size_t left = end < piece->size ? fplt__scan_used()->count(piece->range + end,
                                                               piece->size - end, sign_of(parts))
                                    : 0;
    size_t signs = end ? parts->tail_signs + piece->signs - left : 0;
    fplt_status status = FPLT_OK;
    if (!is_in_memory(parts) && end)
        status = put_tail_before(parts, piece, error);
    if (!status && !is_in_memory(parts))
        status = keep_tail(parts, piece, end, error);
    if (status)
        return status;
    parts->tail_signs = end ? left : parts->tail_signs + piece->signs;
    parts->inside ^= piece->odd;
    piece->source =
        (fplt__source){.name = parts->source->name, .text = piece->range, .view = {.handle = -1}};
    if (end) {
        size_t tail = piece->first - parts->begun;
        piece->source.text -= tail;
        piece->source.size = tail + end;
        parts->begun = piece->first + end;
    }
    lend(parts, piece, signs);
    return FPLT_OK;
}

static fplt_status work(void *context, unsigned slot, fplt_error *error)
{
    const struct parts *parts = context;
    struct piece *piece = &parts->piece[slot];
    see_to_memory(parts, piece);
    locale_t locale = fplt__locale_enter();
    fplt_status status = parts->read(parts->context, &piece->source, &piece->part, error);
    fplt__locale_leave(locale);
    return status;
}

static fplt_status join(void *context, unsigned slot, fplt_error *error)
{
    struct parts *parts = context;
    struct piece *piece = &parts->piece[slot];
    parts->joined += piece->source.size;
    fplt__read_progress(parts->builder, parts->source, parts->joined);
    fplt_status status = join_part(parts->builder, &piece->part, error);
    parts->lent -= (unsigned)piece->part.pieces.is_lent;
    parts->kept -= !piece->part.pieces.is_lent;
    give_back(piece);
    return status;
}

static fplt_status run_line(struct parts *parts, unsigned slots, const fplt__source *head,
                            size_t rest, fplt_error *error)
{
    fplt__builder *builder = parts->builder;
    fplt_status status =
        fplt__alloc_into(&parts->piece, slots, sizeof *parts->piece, "pieces of a file", error);
    if (!status)
        status = fplt__alloc_into(&parts->buffer, parts->threads, sizeof *parts->buffer,
                                  "pieces of a file", error);
    if (!status && builder->rows)
        status = fplt__builder_reserve(builder, head->size / builder->rows, rest, error);
    fplt__pipeline line = {parts, take, load, place, work, join};
    if (!status)
        status = fplt__pipeline_run(&line, parts->threads, slots, error);
    return status ? status : fplt__view_unchanged(&parts->source->view, parts->source->name, error);
}

fplt_status fplt__parts_read(const fplt__source *source, const fplt__source *head,
                             fplt__builder *builder, int quotes, fplt__part_reader read,
                             const void *context, fplt_error *error)
{
    size_t rest = fplt__source_bytes(source) - head->size;
    if (!rest)
        return FPLT_OK;
    unsigned threads = builder->pieces.threads, slots;
    size_t pieces = rest / builder->pieces.size + 1;
    threads = threads < pieces ? threads : (unsigned)pieces;
    threads = threads < FPLT__MAX_SLOTS / 2 ? threads : FPLT__MAX_SLOTS / 2;
    slots = threads > 1 ? 2 * threads : 1;
    struct parts parts = {.source = source,
                          .builder = builder,
                          .quotes = quotes,
                          .read = read,
                          .context = context,
                          .at = head->size,
                          .begun = head->size,
                          .joined = head->size,
                          .threads = threads};
    fplt_status status = run_line(&parts, slots, head, rest, error);
    for (unsigned i = 0; i < slots && parts.piece; i++) {
        give_back(&parts.piece[i]);
        part_clear(&parts.piece[i].part);
    }
    for (unsigned i = 0; i < threads && parts.buffer; i++)
        fplt__free(parts.buffer[i].bytes);
    fplt__free(parts.tail.bytes);
    fplt__free(parts.buffer);
    fplt__free(parts.piece);
    return status;
}
