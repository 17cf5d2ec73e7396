/* Charts as SVG. Colours and fonts are classes of the page that holds them, so that they follow its
 * light and dark style; sizes are in units of the view box, which scales with the page. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/axis.h"
#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"

enum { WIDTH = 480, HEIGHT = 300, SQUARE = 340, LEFT = 66, RIGHT = 14, TOP = 26, BOTTOM = 44 };
enum { CURVE_COLOURS = 4 };

static void tick_text(const fplt__axis *axis, double at, char *text, size_t size)
{
    if (!axis->logarithmic)
        fplt__axis_number(axis, at, text, size);
    else if (fabs(at) <= 3)
        snprintf(text, size, "%.6g", pow(10, at));
    else
        snprintf(text, size, "1e%.0f", at);
}

static void draw_x_tick(fplt__buffer *out, double at, const char *text, const fplt__axis *y)
{
    fplt__buffer_format(out,
                        "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                        at, at, y->from, y->to, at, y->from + 17, text);
}

static void draw_x(fplt__buffer *out, double coordinate, double at, const fplt__axis *axis,
                   const fplt__axis *y)
{
    char text[32];
    tick_text(axis, at, text, sizeof text);
    draw_x_tick(out, coordinate, text, y);
}

static void draw_y(fplt__buffer *out, double coordinate, double at, const fplt__axis *axis,
                   const fplt__axis *x)
{
    char text[32];
    tick_text(axis, at, text, sizeof text);
    fplt__buffer_format(out,
                        "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                        x->from, x->to, coordinate, coordinate, x->from - 6, coordinate + 4, text);
}

static void begin_chart(fplt__buffer *out, const char *title, double width, double height)
{
    fplt__buffer_format(out,
                        "<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
                        width, height);
    fplt__html_text(out, title);
    fplt__buffer_add(out, "</title>\n");
}

/* Curves */

static void draw_curve(fplt__buffer *out, const fplt__plot *plot, size_t number,
                       const fplt__axis *x, const fplt__axis *y, int dots)
{
    const fplt__series *series = &plot->series[number];
    fplt__buffer_format(out, "<polyline class=\"curve curve%zu\" points=\"",
                        number % CURVE_COLOURS);
    fplt__plot_points(out, plot, series, series->y, x, y);
    fplt__buffer_add(out, "\"/>\n");
    for (size_t i = 0; dots && i < series->count; i++)
        if (fplt__plot_drawable(plot, series->x[i], series->y[i]))
            fplt__buffer_format(
                out, "<circle class=\"dot curve%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n",
                number % CURVE_COLOURS, fplt__axis_place(x, series->x[i]),
                fplt__axis_place(y, series->y[i]));
}

static void draw_target(fplt__buffer *out, const fplt__plot *plot, const fplt__axis *x,
                        const fplt__axis *y)
{
    double at = fplt__axis_place(y, plot->target);
    fplt__buffer_format(
        out, "<line class=\"target\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", x->from,
        x->to, at, at);
    if (plot->target_label) /* at the left: a curve that arrives crosses the line at the right */
        fplt__svg_text(out, x->from + 6, at - 5, "", plot->target_label);
}

static void draw_key(fplt__buffer *out, const fplt__plot *plot)
{
    double at = LEFT;
    for (size_t s = 0; s < plot->count; s++) {
        fplt__buffer_format(
            out, "<line class=\"curve curve%zu\" x1=\"%.1f\" x2=\"%.1f\" y1=\"14\" y2=\"14\"/>\n",
            s % CURVE_COLOURS, at, at + 18);
        fplt__svg_text(out, at + 23, 18, "", plot->series[s].name);
        at += 40 + 7.0 * (double)fplt__text_width(plot->series[s].name);
    }
}

void fplt__chart_curves(fplt__buffer *out, const fplt__plot *plot, const fplt__chart_frame *frame)
{
    double width = frame->unit ? SQUARE : WIDTH, height = frame->unit ? SQUARE : HEIGHT;
    fplt__axis x = {.from = LEFT, .to = width - RIGHT, .logarithmic = plot->log_x};
    fplt__axis y = {.from = height - BOTTOM, .to = TOP, .logarithmic = plot->log_y};
    if (frame->unit) {
        fplt__axis_settle(&x, 0, 1);
        fplt__axis_settle(&y, 0, 1);
    } else {
        fplt__plot_limits(plot, 0, &x);
        fplt__plot_limits(plot, 1, &y);
    }
    begin_chart(out, plot->title, width, height);
    fplt__axis_ticks(out, &x, &y, draw_x);
    fplt__axis_ticks(out, &y, &x, draw_y);
    if (frame->unit)
        fplt__buffer_format(
            out, "<line class=\"target\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
            x.from, x.to, y.from, y.to);
    if (plot->target > 0)
        draw_target(out, plot, &x, &y);
    for (size_t s = 0; s < plot->count; s++)
        draw_curve(out, plot, s, &x, &y, frame->dots);
    if (frame->with_key)
        draw_key(out, plot);
    fplt__svg_text(out, (x.from + x.to) / 2, height - 8, "text-anchor=\"middle\" class=\"label\"",
                   plot->x_label);
    char turn[96];
    snprintf(turn, sizeof turn,
             "text-anchor=\"middle\" class=\"label\" transform=\"rotate(-90 14 %.1f)\"",
             (y.from + y.to) / 2);
    fplt__svg_text(out, 14, (y.from + y.to) / 2, turn, plot->y_label);
    fplt__buffer_add(out, "</svg>\n");
}

/* Intervals */

enum { NAMES = 150, LINE = 24, LONGEST = 20 };

static int shows(const fplt__interval *interval, int logarithmic)
{
    return isfinite(interval->low) && isfinite(interval->value) && isfinite(interval->high) &&
           (!logarithmic || interval->low > 0);
}

/* A long name loses its end; never half a character. */
static void add_name(fplt__buffer *out, double y, const char *name)
{
    char text[4 * LONGEST + 8];
    size_t length = 0, columns = 0;
    if (fplt__text_width(name) <= LONGEST && strlen(name) < sizeof text) {
        fplt__svg_text(out, NAMES - 8, y, "text-anchor=\"end\"", name);
        return;
    }
    for (; name[length] && length < 4 * LONGEST; length++) {
        columns += ((unsigned char)name[length] & 0xc0) != 0x80;
        if (columns == LONGEST)
            break;
    }
    snprintf(text, sizeof text, "%.*s…", (int)length, name);
    fplt__svg_text(out, NAMES - 8, y, "text-anchor=\"end\"", text);
}

/* On a logarithmic axis few decades need ticks of their own between them. */
static void ratio_ticks(fplt__buffer *out, const fplt__axis *x, const fplt__axis *y)
{
    static const double within[] = {1, 2, 5};
    for (int decade = (int)floor(x->low); decade <= ceil(x->high); decade++)
        for (size_t i = 0; i < (x->high - x->low > 2.2 ? 1 : 3); i++) {
            double at = log10(within[i]) + decade;
            char text[32];
            if (at < x->low - 1e-9 || at > x->high + 1e-9)
                continue;
            snprintf(text, sizeof text, "%.3g", within[i] * pow(10, decade));
            draw_x_tick(out, fplt__axis_place(x, pow(10, at)), text, y);
        }
}

static void limit_intervals(const fplt__interval *interval, size_t count, double neutral,
                            int logarithmic, fplt__axis *x)
{
    double low = neutral, high = neutral;
    for (size_t i = 0; i < count; i++)
        if (shows(&interval[i], logarithmic)) {
            low = fmin(low, interval[i].low);
            high = fmax(high, interval[i].high);
        }
    x->logarithmic = 0;
    fplt__axis_settle(x, logarithmic ? log10(low) : low, logarithmic ? log10(high) : high);
    double margin = 0.04 * (x->high - x->low);
    x->low -= margin;
    x->high += margin;
    x->logarithmic = logarithmic;
}

static void draw_interval(fplt__buffer *out, const fplt__interval *interval, const fplt__axis *x,
                          double y)
{
    fplt__buffer_add(out, "<g><title>");
    fplt__html_format(out, "%s: %.4g (%.4g to %.4g)", interval->name, interval->value,
                      interval->low, interval->high);
    fplt__buffer_format(out,
                        "</title><line class=\"curve curve0\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" "
                        "y2=\"%.1f\"/><rect class=\"dot curve0\" x=\"%.1f\" y=\"%.1f\" width=\"7\" "
                        "height=\"7\"/>",
                        fplt__axis_place(x, interval->low), fplt__axis_place(x, interval->high), y,
                        y, fplt__axis_place(x, interval->value) - 3.5, y - 3.5);
    add_name(out, y + 4, interval->name);
    fplt__buffer_add(out, "</g>\n");
}

void fplt__chart_intervals(fplt__buffer *out, const char *title, const char *axis,
                           const fplt__interval *interval, size_t count, double neutral,
                           int logarithmic)
{
    size_t shown = 0;
    for (size_t i = 0; i < count; i++)
        shown += shows(&interval[i], logarithmic) != 0;
    double height = LINE * (double)shown + 10 + BOTTOM;
    fplt__axis x = {.from = NAMES, .to = WIDTH - RIGHT}, y = {.from = height - BOTTOM, .to = 4};
    limit_intervals(interval, count, neutral, logarithmic, &x);
    begin_chart(out, title, WIDTH, height);
    if (logarithmic)
        ratio_ticks(out, &x, &y);
    else
        fplt__axis_ticks(out, &x, &y, draw_x);
    fplt__buffer_format(
        out, "<line class=\"target\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
        fplt__axis_place(&x, neutral), fplt__axis_place(&x, neutral), y.from, y.to);
    double at = 4 + LINE / 2.0;
    for (size_t i = 0; i < count; i++)
        if (shows(&interval[i], logarithmic)) {
            draw_interval(out, &interval[i], &x, at);
            at += LINE;
        }
    fplt__svg_text(out, (x.from + x.to) / 2, height - 8, "text-anchor=\"middle\" class=\"label\"",
                   axis);
    fplt__buffer_add(out, "</svg>\n");
}
