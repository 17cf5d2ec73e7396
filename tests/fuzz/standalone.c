/* Runs a fuzz target without libFuzzer: first over the files named on the command line, then over mutations of them, of
 * which the number is given and each is always the same. Usage: target mutations file... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fedplt/random.h"
#include "base/random.h"
#include "drawn.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { LARGEST = 1 << 16, MAX_FILES = 256 };

typedef struct input {
    uint8_t *bytes;
    size_t size;
} input;

static int load(const char *path, input *file)
{
    FILE *stream = fopen(path, "rb");
    file->bytes = malloc(LARGEST);
    if (!stream || !file->bytes) {
        fprintf(stderr, "%s: cannot be read\n", path);
        if (stream)
            fclose(stream);
        return -1;
    }
    file->size = fread(file->bytes, 1, LARGEST / 2, stream);
    fclose(stream);
    return 0;
}

/* A heap copy of the exact size, so that a sanitizer sees one byte too many. */
static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return;
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static size_t below(fplt_stream *stream, size_t bound)
{
    return bound ? (size_t)fplt_stream_below(stream, bound) : 0;
}

/* Bytes that mean something to the formats, besides random ones. */
static uint8_t any_byte(fplt_stream *stream)
{
    static const char special[] = ",\"\r\n:#?=. \t+-0123456789eE()'{}<fnai\xef\xbb\xbf";
    return fplt_stream_below(stream, 2) ? (uint8_t)special[below(stream, sizeof special)]
                                        : (uint8_t)fplt__stream_bits(stream);
}

/* One change: a byte replaced, inserted or removed, a piece repeated, the end cut off, or a piece
 * of another file put in. */
static void mutate(fplt_stream *stream, input *file, const input *other)
{
    uint8_t *bytes = file->bytes;
    size_t at = below(stream, file->size + 1), rest = file->size - at;
    size_t length = below(stream, rest < 64 ? rest + 1 : 64);
    switch (fplt_stream_below(stream, 6)) {
    case 0:
        if (rest)
            bytes[at] = any_byte(stream);
        break;
    case 1:
        memmove(bytes + at, bytes + at + length, rest - length);
        file->size -= length;
        break;
    case 2: file->size = at; break;
    case 3:
        if (file->size + 1 < LARGEST) {
            memmove(bytes + at + 1, bytes + at, rest);
            bytes[at] = any_byte(stream);
            file->size++;
        }
        break;
    case 4:
        if (file->size + length < LARGEST) {
            memmove(bytes + at + length, bytes + at, rest);
            file->size += length;
        }
        break;
    default: {
        size_t from = below(stream, other->size + 1), count = below(stream, other->size - from + 1);
        if (file->size + count < LARGEST) {
            memmove(bytes + at + count, bytes + at, rest);
            memcpy(bytes + at, other->bytes + from, count);
            file->size += count;
        }
    }
    }
}

int main(int count, char **arguments)
{
    input files[MAX_FILES], changed = {malloc(LARGEST), 0};
    size_t known = 0;
    long mutations = count > 1 ? strtol(arguments[1], NULL, 10) : 0;
    if (count < 3 || mutations < 0 || !changed.bytes) {
        fprintf(stderr, "usage: %s mutations file...\n", arguments[0]);
        free(changed.bytes);
        return 2;
    }
    int failed = 0;
    for (int i = 2; i < count && known < MAX_FILES && !failed; i++) {
        failed = load(arguments[i], &files[known++]) != 0;
        if (!failed)
            run(files[known - 1].bytes, files[known - 1].size);
    }
    for (long i = 0; i < mutations && !failed; i++) {
        if (!drawn_takes((uint64_t)i))
            continue;
        fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, (uint64_t)i);
        const input *base = &files[below(&stream, known)];
        memcpy(changed.bytes, base->bytes, base->size);
        changed.size = base->size;
        for (size_t steps = 1 + below(&stream, 6); steps > 0; steps--)
            mutate(&stream, &changed, &files[below(&stream, known)]);
        run(changed.bytes, changed.size);
    }
    for (size_t i = 0; i < known; i++)
        free(files[i].bytes);
    free(changed.bytes);
    return failed;
}
