/* Text of a page. */
#include "report/html.h"

#include <stdio.h>
#include <string.h>

void fplt__html_text(fplt__buffer *out, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    while (*text) {
        size_t plain = strcspn(text, special);
        fplt__buffer_add_bytes(out, text, plain);
        text += plain;
        if (*text)
            fplt__buffer_add(out, entity[strchr(special, *text++) - special]);
    }
}

void fplt__html_format(fplt__buffer *out, const char *format, ...)
{
    fplt__buffer plain = {NULL, 0, 0, FPLT_OK};
    va_list arguments;
    va_start(arguments, format);
    fplt__buffer_format_list(&plain, format, arguments);
    va_end(arguments);
    if (plain.status)
        out->status = plain.status;
    else if (plain.text)
        fplt__html_text(out, plain.text);
    fplt__buffer_clear(&plain);
}
