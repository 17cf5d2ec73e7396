/* Checks that a text is UTF-8. */
#include "data/source.h"

static size_t sequence(const unsigned char *c, const unsigned char *end)
{
    static const unsigned char lead[] = {0x80, 0xc0, 0xe0, 0xf0}, mask[] = {0x80, 0xe0, 0xf0, 0xf8};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    for (size_t length = 2; length <= 4; length++) {
        if ((*c & mask[length - 1]) != lead[length - 1])
            continue;
        uint32_t code = *c & (unsigned char)~mask[length - 1];
        if ((size_t)(end - c) < length)
            return 0;
        for (size_t i = 1; i < length; i++) {
            if ((c[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (c[i] & 0x3fu);
        }
        return code >= least[length] && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000)
                   ? length
                   : 0;
    }
    return 0;
}

/* Steps over ASCII without NUL, a block at a time: as signed bytes these are the positive ones. */
static const unsigned char *skip_plain(const unsigned char *c, const unsigned char *end)
{
    enum { BLOCK = 64 };
    for (; end - c >= BLOCK; c += BLOCK) {
        int other = 0;
        for (int i = 0; i < BLOCK; i++)
            other |= (signed char)c[i] <= 0;
        if (other)
            break;
    }
    while (c < end && (signed char)*c > 0)
        c++;
    return c;
}

static size_t line_of(const fplt__source *source, const unsigned char *place)
{
    size_t line = 1;
    for (const unsigned char *c = (const unsigned char *)source->text; c < place; c++)
        line += *c == '\n';
    return line;
}

fplt_status fplt__text_check(const fplt__source *source, fplt_error *error)
{
    const unsigned char *c = (const unsigned char *)source->text, *end = c + source->size;
    while ((c = skip_plain(c, end)) < end) {
        size_t length = *c >= 0x80 ? sequence(c, end) : 0;
        if (length == 0)
            return fplt__refuse_encoding(source, line_of(source, c), *c, error);
        c += length;
    }
    return FPLT_OK;
}
