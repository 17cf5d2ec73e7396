/* Elements of SVG pictures in files of their own: frame, text and line, in one visual language. */
#ifndef FPLT_REPORT_SVG_H
#define FPLT_REPORT_SVG_H

#include "base/buffer.h"

/* Begins a picture of width x height on white ground; the caller ends it with "</svg>\n". */
void fplt__svg_begin(fplt__buffer *out, const char *title, int width, int height);

/* `attributes` of the element, such as text-anchor="middle", or "". The text is escaped. */
void fplt__svg_text(fplt__buffer *out, double x, double y, const char *attributes,
                    const char *text);

/* `attributes` beside colour and width of the stroke, or "". */
void fplt__svg_line(fplt__buffer *out, double x1, double y1, double x2, double y2,
                    const char *colour, double width, const char *attributes);

#endif
