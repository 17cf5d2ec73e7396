/* Where the bytes of a data file come from: a file, standard input, or what gzip packed [RFC 1952]. */
#define ZLIB_CONST
#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/address.h"
#include "data/door_load.h"
#include "data/schema.h"
#include "data/source.h"

static const char standard_input[] = "standard input";

const char fplt__npy_magic[6] = "\x93NUMPY";
const char fplt__fplt_magic[8] = "\x89"
                                 "FPLT\r\n\x1a";

int fplt__npy_is(const char *bytes, size_t size)
{
    return size >= sizeof fplt__npy_magic &&
           memcmp(bytes, fplt__npy_magic, sizeof fplt__npy_magic) == 0;
}

int fplt__fplt_is(const char *bytes, size_t size)
{
    return size >= sizeof fplt__fplt_magic &&
           memcmp(bytes, fplt__fplt_magic, sizeof fplt__fplt_magic) == 0;
}

int fplt__source_is_packed(const char *bytes, size_t size)
{
    return size >= 2 && (unsigned char)bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b;
}

/* What is unpacked so far. */
struct unpacked {
    char *bytes; /* owned */
    size_t size, capacity;
};

static fplt_status bad(const fplt__source *source, const char *what, fplt_error *error)
{
    return fplt__bad_data(error, source->name, 0, "the file is packed by gzip, but %s", what);
}

/* One member of the file, to its end; counts what was taken. */
static fplt_status unpack_member(z_stream *stream, const fplt__source *source, size_t most,
                                 size_t *taken, struct unpacked *to, fplt_error *error)
{
    enum { STEP = 1 << 16, MAX = 1 << 30 };
    for (int code = Z_OK; code != Z_STREAM_END;) {
        fplt_status status =
            fplt__grow(&to->bytes, &to->capacity, to->size + STEP, 1, "an unpacked file", error);
        if (status)
            return status;
        if (to->size > most)
            return bad(source, "more comes out of it than is read", error);
        size_t left = source->size - *taken, room = to->capacity - 1 - to->size;
        stream->next_in = (const unsigned char *)source->text + *taken;
        stream->avail_in = (unsigned)(left < MAX ? left : MAX);
        stream->next_out = (unsigned char *)to->bytes + to->size;
        stream->avail_out = (unsigned)(room < MAX ? room : MAX);
        code = inflate(stream, Z_NO_FLUSH);
        *taken = (size_t)(stream->next_in - (const unsigned char *)source->text);
        to->size = (size_t)((char *)stream->next_out - to->bytes);
        if (code == Z_MEM_ERROR)
            return fplt_error_set(error, FPLT_NO_MEMORY, "no memory to unpack a file");
        if (code == Z_BUF_ERROR && *taken == source->size)
            return bad(source, "it is cut short", error);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return bad(source, "its bytes are damaged", error);
    }
    return FPLT_OK;
}

/* All members; what stands behind them must be another one. */
static fplt_status unpack(const fplt__source *source, size_t most, struct unpacked *to,
                          fplt_error *error)
{
    enum { GZIP_ONLY = 16 + MAX_WBITS };
    z_stream stream = {.next_in = NULL};
    size_t taken = 0;
    if (inflateInit2(&stream, GZIP_ONLY) != Z_OK)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory to unpack a file");
    fplt_status status = FPLT_OK;
    while (!status && taken < source->size) {
        if (!fplt__source_is_packed(source->text + taken, source->size - taken))
            status = bad(source, "other bytes follow", error);
        else if (!(status = unpack_member(&stream, source, most, &taken, to, error)))
            inflateReset(&stream);
    }
    inflateEnd(&stream);
    return status;
}

static const char *path_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "/dev/stdin" : path;
}

/* The beginning of a file that is open, as much as `count`; the rest of the memory is zero. */
static fplt_status load_beginning(fplt__source *source, size_t count, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(&source->owned, count + 1, 1, "a file", error);
    if (!status)
        status = fplt__view_read(&source->view, source->name, 0, source->owned, count,
                                 &source->size, error);
    source->text = source->owned;
    return status;
}

static fplt_status map(fplt__source *source, const char *path, fplt_error *error)
{
    fplt_status status = fplt__view_map(&source->view, path, error);
    source->text = source->view.bytes;
    source->size = source->view.size;
    return status;
}

static fplt_status unpack_source(fplt__source *source, size_t most, fplt_error *error)
{
    struct unpacked to = {NULL, 0, 0};
    fplt_status status = unpack(source, most, &to, error);
    fplt__source_release(source);
    if (status) {
        fplt__free(to.bytes);
        return status;
    }
    to.bytes[to.size] = 0;
    source->text = source->owned = to.bytes;
    source->size = to.size;
    source->packed = 1;
    return FPLT_OK;
}

/* By content; with privacy the first bytes may be a record, so that the name decides besides. */
static int is_packed(const fplt__source *source, const fplt_read_settings *settings)
{
    return fplt__source_is_packed(source->text, source->size) &&
           (!fplt__schema_is_lenient(settings->schema) ||
            fplt__unpacked_length(source->name) < strlen(source->name));
}

/* Looks at how a regular file begins. Text is kept open where its first `piece` bytes are not all. */
static fplt_status begin_view(fplt__source *source, const char *path,
                              const fplt_read_settings *settings, size_t piece, int *done,
                              fplt_error *error)
{
    fplt__source first = {.name = source->name, .view = source->view};
    *done = 0;
    fplt_status status = load_beginning(&first, piece < 64 ? 64 : piece, error);
    int numbers = fplt__npy_is(first.text, first.size) || fplt__fplt_is(first.text, first.size);
    int stays = piece && !is_packed(&first, settings);
    if (status || numbers || !stays)
        fplt__free(first.owned);
    if (status)
        return status;
    if (numbers) {
        *done = 1;
        return map(source, path, error);
    }
    if (stays) {
        *done = 1;
        *source = first;
    }
    return FPLT_OK;
}

static fplt_status open_table(const char *path, const fplt__door_kind *kind,
                              const fplt_read_settings *settings, size_t max_rows,
                              fplt__source *source, fplt_error *error)
{
    *source = FPLT__NO_SOURCE;
    source->name = path;
    return fplt__door_load(path, kind, settings, max_rows, source, error);
}

fplt_status fplt__source_head(const char *path, const fplt_read_settings *settings, size_t piece,
                              fplt__source *source, fplt_error *error)
{
    const fplt__door_kind *kind = fplt__address_kind(path);
    return kind ? open_table(path, kind, settings, 1, source, error)
                : fplt__source_open(path, settings, piece, source, error);
}

fplt_status fplt__source_open(const char *path, const fplt_read_settings *settings, size_t piece,
                              fplt__source *source, fplt_error *error)
{
    int is_input = strcmp(path, "-") == 0, done = 0;
    const fplt__door_kind *kind = fplt__address_kind(path);
    size_t most = 0;
    if (kind)
        return open_table(path, kind, settings, 0, source, error);
    *source = FPLT__NO_SOURCE;
    source->name = is_input ? standard_input : path;
    fplt_status status = fplt__read_limit(path_of(path), settings->largest, &most, error);
    if (!status && !is_input)
        status = fplt__view_open(path, most, &source->view, error);
    if (!status && source->view.handle >= 0)
        status = begin_view(source, path, settings, piece, &done, error);
    if (status || done)
        return status;
    fplt__view_close(&source->view);
    if (!(status = fplt__file_read(path_of(path), most, &source->owned, &source->size, error))) {
        source->text = source->owned;
        if (is_packed(source, settings))
            status = unpack_source(source, most, error);
    }
    return status;
}

fplt_status fplt__source_load(const char *path, const fplt_read_settings *settings,
                              fplt__source *source, fplt_error *error)
{
    return fplt__source_open(path, settings, 0, source, error);
}

size_t fplt__source_bytes(const fplt__source *source)
{
    return source->view.handle >= 0 ? source->view.size : source->size;
}

void fplt__source_release(fplt__source *source)
{
    fplt__free(source->owned);
    fplt__view_close(&source->view);
    source->owned = NULL;
    source->text = NULL;
}

size_t fplt__unpacked_length(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".gz") == 0 ? length - 3 : length;
}

fplt_status fplt__source_agent(const fplt__source *source, fplt__lookup *agents, uint32_t *agent,
                               fplt_error *error)
{
    fplt__span stem = fplt__address_name(source->name);
    if (stem.length == strlen(stem.text))
        stem.length = fplt__unpacked_length(stem.text);
    const char *dot = stem.length ? memrchr(stem.text, '.', stem.length) : NULL;
    if (dot && dot > stem.text)
        stem.length = (size_t)(dot - stem.text);
    uint32_t before = agents->count;
    fplt_status status = fplt__lookup_add(agents, stem, agent, error);
    if (!status && *agent < before) /* two folders, one file name */
        status = fplt__lookup_add(agents, fplt__span_of(source->name), agent, error);
    if (!status && *agent < before)
        status =
            fplt_error_set(error, FPLT_BAD_VALUE, "%s: this file is given twice", source->name);
    return status;
}
