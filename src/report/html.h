/* Pieces of a page: escaped text, and charts as SVG that needs nothing but the page's own style. */
#ifndef FPLT_REPORT_HTML_H
#define FPLT_REPORT_HTML_H

#include "base/buffer.h"
#include "fedplt/report.h"
#include "report/report.h"

/* Text that stays text, between tags and in quoted attributes. */
void fplt__html_text(fplt__buffer *out, const char *text);
/* The same made by a format. */
void fplt__html_format(fplt__buffer *out, const char *format, ...) FPLT_PRINTF(2, 3);

/* What a plot does not say of its frame; zeroed: limits from the curves. */
typedef struct fplt__chart_frame {
    int unit;     /* both axes from 0 to 1, and the diagonal drawn */
    int dots;     /* a dot at every point */
    int with_key; /* names of the curves above them */
} fplt__chart_frame;

/* Curves; points that cannot be drawn are left out, and those that fall together drawn once. */
void fplt__chart_curves(fplt__buffer *out, const fplt__plot *plot, const fplt__chart_frame *frame);

/* A value with its interval. */
typedef struct fplt__interval {
    const char *name;
    double value, low, high;
} fplt__interval;

/* One line an interval, below each other; `neutral` is where nothing differs. Logarithmic, intervals
 * that are not above 0 are left out. */
void fplt__chart_intervals(fplt__buffer *out, const char *title, const char *axis,
                           const fplt__interval *interval, size_t count, double neutral,
                           int logarithmic);

#endif
