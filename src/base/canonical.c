/* JSON values as bytes, and their digests. */
#include "base/canonical.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void add_word(fplt__buffer *out, uint64_t word)
{
    char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (char)(word >> 8 * i);
    fplt__buffer_add_bytes(out, bytes, sizeof bytes);
}

static void add_number(fplt__buffer *out, double value)
{
    uint64_t bits;
    value += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &value, sizeof bits);
    fplt__buffer_add(out, "d");
    add_word(out, bits);
}

static void add_text(fplt__buffer *out, const char *text, size_t length)
{
    fplt__buffer_add(out, "s");
    add_word(out, length);
    fplt__buffer_add_bytes(out, text, length);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int is_listed(const char *name, const char *const *list)
{
    for (; list && *list; list++)
        if (strcmp(name, *list) == 0)
            return 1;
    return 0;
}

static void add_object(fplt__buffer *out, const json_t *object, const char *const *without)
{
    const char **names, *name;
    const json_t *value;
    size_t count = 0;
    fplt_status status =
        fplt__alloc_into(&names, json_object_size(object), sizeof *names, "names", NULL);
    if (status) {
        out->status = status;
        return;
    }
    json_object_foreach((json_t *)object, name, value) if (!is_listed(name, without))
        names[count++] = name;
    qsort(names, count, sizeof *names, by_bytes);
    fplt__buffer_add(out, "o");
    add_word(out, count);
    for (size_t i = 0; i < count; i++) {
        add_text(out, names[i], strlen(names[i]));
        fplt__canonical_add(out, json_object_get(object, names[i]), NULL);
    }
    fplt__free(names);
}

void fplt__canonical_add(fplt__buffer *out, const json_t *value, const char *const *without)
{
    switch (json_typeof(value)) {
    case JSON_NULL: fplt__buffer_add(out, "n"); break;
    case JSON_FALSE: fplt__buffer_add(out, "f"); break;
    case JSON_TRUE: fplt__buffer_add(out, "t"); break;
    case JSON_INTEGER:
    case JSON_REAL: add_number(out, json_number_value(value)); break;
    case JSON_STRING: add_text(out, json_string_value(value), json_string_length(value)); break;
    case JSON_ARRAY:
        fplt__buffer_add(out, "a");
        add_word(out, json_array_size(value));
        for (size_t i = 0; i < json_array_size(value); i++)
            fplt__canonical_add(out, json_array_get(value, i), NULL);
        break;
    case JSON_OBJECT: add_object(out, value, without); break;
    }
}

fplt_status fplt__canonical_digest(const char *purpose, const json_t *value,
                                   const char *const *without, unsigned char digest[FPLT_DIGEST],
                                   fplt_error *error)
{
    fplt__buffer bytes = {NULL, 0, 0, FPLT_OK};
    fplt__buffer_add(&bytes, purpose);
    fplt__canonical_add(&bytes, value, without);
    fplt_status status = bytes.status;
    if (!status)
        crypto_generichash(digest, FPLT_DIGEST, (const unsigned char *)bytes.text, bytes.length,
                           NULL, 0);
    fplt__buffer_clear(&bytes);
    return status ? fplt_error_set(error, status, "no memory for a digest") : FPLT_OK;
}
