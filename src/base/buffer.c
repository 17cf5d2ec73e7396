/* Growing text, and its width on a terminal. */
#include "base/buffer.h"

#include <stdio.h>
#include <stdint.h>
#include <string.h>

#include "base/decimal.h"
#include "base/memory.h"

static int make_room(fplt__buffer *buffer, size_t more)
{
    if (!buffer->status)
        buffer->status = fplt__grow(&buffer->text, &buffer->capacity, buffer->length + more + 1, 1,
                                    "text", NULL);
    return !buffer->status;
}

void fplt__buffer_add_bytes(fplt__buffer *buffer, const char *bytes, size_t count)
{
    if (!make_room(buffer, count))
        return;
    memcpy(buffer->text + buffer->length, bytes, count);
    buffer->length += count;
    buffer->text[buffer->length] = 0;
}

void fplt__buffer_add(fplt__buffer *buffer, const char *text)
{
    fplt__buffer_add_bytes(buffer, text, strlen(text));
}

void fplt__buffer_repeat(fplt__buffer *buffer, char c, size_t count)
{
    if (!make_room(buffer, count))
        return;
    memset(buffer->text + buffer->length, c, count);
    buffer->length += count;
    buffer->text[buffer->length] = 0;
}

void fplt__buffer_shortest(fplt__buffer *buffer, double value)
{
    if (make_room(buffer, FPLT__DECIMAL_ROOM))
        buffer->length += fplt__decimal_shortest(value, buffer->text + buffer->length);
}

void fplt__buffer_digits(fplt__buffer *buffer, double value)
{
    if (make_room(buffer, FPLT__DECIMAL_ROOM))
        buffer->length += fplt__decimal_17(value, buffer->text + buffer->length);
}

void fplt__buffer_format_list(fplt__buffer *buffer, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int needed = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (needed < 0 || !make_room(buffer, (size_t)needed))
        return;
    vsnprintf(buffer->text + buffer->length, (size_t)needed + 1, format, arguments);
    buffer->length += (size_t)needed;
}

void fplt__buffer_format(fplt__buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fplt__buffer_format_list(buffer, format, arguments);
    va_end(arguments);
}

void fplt__buffer_clear(fplt__buffer *buffer)
{
    fplt__free(buffer->text);
    *buffer = (fplt__buffer){NULL, 0, 0, FPLT_OK};
}

fplt_status fplt__buffer_take(fplt__buffer *buffer, char **text, fplt_error *error)
{
    *text = NULL;
    fplt__buffer_add_bytes(buffer, "", 0);
    if (buffer->status) {
        fplt__buffer_clear(buffer);
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for text");
    }
    *text = buffer->text;
    *buffer = (fplt__buffer){NULL, 0, 0, FPLT_OK};
    return FPLT_OK;
}

/* One code point; a byte that is no part of UTF-8 counts as one. */
static size_t decode(const unsigned char *c, uint32_t *point)
{
    static const struct {
        unsigned char mask, lead, bits;
    } forms[] = {{0x80, 0x00, 0x7f}, {0xe0, 0xc0, 0x1f}, {0xf0, 0xe0, 0x0f}, {0xf8, 0xf0, 0x07}};
    for (size_t length = 1; length <= 4; length++) {
        if ((c[0] & forms[length - 1].mask) != forms[length - 1].lead)
            continue;
        *point = c[0] & forms[length - 1].bits;
        for (size_t i = 1; i < length; i++) {
            if ((c[i] & 0xc0) != 0x80) {
                *point = c[0];
                return 1;
            }
            *point = *point << 6 | (c[i] & 0x3f);
        }
        return length;
    }
    *point = c[0];
    return 1;
}

/* Combining marks take no column, East Asian wide characters and pictographs two
 * [Unicode Standard Annex 11, the large ranges]. */
static size_t columns_of(uint32_t point)
{
    static const struct {
        uint32_t first, last;
        size_t columns;
    } ranges[] = {
        {0x0300, 0x036f, 0},   {0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0}, {0xfe00, 0xfe0f, 0},
        {0x1100, 0x115f, 2},   {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2}, {0xac00, 0xd7a3, 2},
        {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2},
        {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return ranges[i].columns;
    return 1;
}

size_t fplt__text_width(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t width = 0;
    while (*c) {
        uint32_t point;
        c += decode(c, &point);
        width += columns_of(point);
    }
    return width;
}
