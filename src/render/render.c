/* PNG and PDF from SVG by librsvg and cairo: the module `render`, see report/render.h. */
#include <cairo-pdf.h>
#include <cairo.h>
#include <librsvg/rsvg.h>

#include "report/render.h"

struct sink {
    fplt__render_write *write;
    void *context;
};

static cairo_status_t take(void *closure, const unsigned char *bytes, unsigned int count)
{
    struct sink *sink = closure;
    return sink->write(sink->context, bytes, count) ? CAIRO_STATUS_WRITE_ERROR
                                                    : CAIRO_STATUS_SUCCESS;
}

static int draw(RsvgHandle *handle, cairo_surface_t *surface, double width, double height)
{
    RsvgRectangle place = {0, 0, width, height};
    cairo_t *context = cairo_create(surface);
    int failed = !rsvg_handle_render_document(handle, context, &place, NULL) ||
                 cairo_status(context) != CAIRO_STATUS_SUCCESS;
    cairo_destroy(context);
    return failed;
}

static int render(const char *svg, size_t length, fplt__render_form form, double width,
                  double height, fplt__render_write *write, void *context)
{
    struct sink sink = {write, context};
    RsvgHandle *handle = rsvg_handle_new_from_data((const guint8 *)svg, length, NULL);
    if (!handle)
        return 1;
    cairo_surface_t *surface =
        form == FPLT__RENDER_PDF
            ? cairo_pdf_surface_create_for_stream(take, &sink, width, height)
            : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    int failed = draw(handle, surface, width, height);
    if (!failed && form == FPLT__RENDER_PNG)
        failed = cairo_surface_write_to_png_stream(surface, take, &sink) != CAIRO_STATUS_SUCCESS;
    cairo_surface_finish(surface);
    failed |= cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS;
    cairo_surface_destroy(surface);
    g_object_unref(handle);
    return failed;
}

extern const fplt__render_module fplt__render_module_table;
const fplt__render_module fplt__render_module_table = {sizeof(fplt__render_module), render};
