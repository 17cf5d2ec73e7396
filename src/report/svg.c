/* Elements of SVG pictures. */
#include "report/svg.h"

#include "report/html.h"

void fplt__svg_begin(fplt__buffer *out, const char *title, int width, int height)
{
    fplt__buffer_format(
        out,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" font-family=\"DejaVu Sans, "
        "sans-serif\" font-size=\"13\" fill=\"#303030\">\n<title>",
        width, height, width, height);
    fplt__html_text(out, title);
    fplt__buffer_format(out, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width,
                        height);
}

void fplt__svg_text(fplt__buffer *out, double x, double y, const char *attributes, const char *text)
{
    fplt__buffer_format(out, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *attributes ? " " : "",
                        attributes);
    fplt__html_text(out, text);
    fplt__buffer_add(out, "</text>\n");
}

void fplt__svg_line(fplt__buffer *out, double x1, double y1, double x2, double y2,
                    const char *colour, double width, const char *attributes)
{
    fplt__buffer_format(out,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                        "stroke-width=\"%.1f\"%s%s/>\n",
                        x1, y1, x2, y2, colour, width, *attributes ? " " : "", attributes);
}
