/* Interface of the module that renders SVG as PNG or PDF. It is loaded on use, because librsvg brings some forty shared
 * objects that no other call needs. */
#ifndef FPLT_REPORT_RENDER_H
#define FPLT_REPORT_RENDER_H

#include <stddef.h>

typedef enum fplt__render_form {
    FPLT__RENDER_NONE,
    FPLT__RENDER_PNG,
    FPLT__RENDER_PDF
} fplt__render_form;

/* Takes `count` bytes of the picture; non-zero ends the rendering. */
typedef int fplt__render_write(void *context, const unsigned char *bytes, size_t count);

typedef struct fplt__render_module {
    size_t size; /* sizeof(fplt__render_module) */
    /* Renders an SVG document into width x height pixels (PNG) or points (PDF). Non-zero when it is no SVG or `write`
     * failed. */
    int (*render)(const char *svg, size_t length, fplt__render_form form, double width,
                  double height, fplt__render_write *write, void *context);
} fplt__render_module;

/* Name of the module's one symbol, a const fplt__render_module. */
#define FPLT__RENDER_MODULE "fplt__render_module_table"

#endif
