/* Charts as SVG. Colours and fonts are classes of the page that holds them, so that they follow its
 * light and dark style; sizes are in units of the view box, which scales with the page. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "report/html.h"

enum { WIDTH = 480, HEIGHT = 300, SQUARE = 340, LEFT = 66, RIGHT = 14, TOP = 26, BOTTOM = 44 };
enum { MOST_TICKS = 6, CURVE_COLOURS = 4 };

/* Below this a logarithmic axis ends: a criterion of 0 is as good as it gets. */
static const double least_logarithm = 1e-300;

struct axis {
    double low, high; /* logarithms to base 10 where it is logarithmic */
    double from, to;  /* where they are drawn */
    int logarithmic;
};

static double place(const struct axis *axis, double value)
{
    double at = axis->logarithmic ? log10(fmax(value, least_logarithm)) : value;
    return axis->from + (at - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

/* Room around what is there, and never an empty range. */
static void settle(struct axis *axis, double low, double high)
{
    if (!(low <= high))
        low = high = axis->logarithmic ? 1 : 0;
    if (axis->logarithmic) {
        low = floor(log10(fmax(low, least_logarithm)) + 1e-9);
        high = ceil(log10(fmax(high, least_logarithm)) - 1e-9);
    }
    double size = fmax(fabs(low), fabs(high));
    if (!(high - low > 1e-9 * size)) { /* so narrow that ticks would not differ */
        double more = axis->logarithmic ? 1 : size > 0 ? 0.1 * size : 0.5;
        low -= more;
        high += more;
    }
    axis->low = low;
    axis->high = high;
}

/* 1, 2 or 5 times a power of ten, so that there are few ticks; whole decades on a logarithmic axis. */
static double tick_step(const struct axis *axis)
{
    double rough = (axis->high - axis->low) / MOST_TICKS;
    double power = pow(10, floor(log10(rough)));
    double step = rough <= power ? power : rough <= 2 * power ? 2 * power : 5 * power;
    step = rough <= step ? step : 10 * power;
    return axis->logarithmic ? fmax(1, ceil(step - 1e-9)) : step;
}

static void tick_text(const struct axis *axis, double at, char *text, size_t size)
{
    if (!axis->logarithmic)
        snprintf(text, size, "%.6g", fabs(at) < 1e-12 * (axis->high - axis->low) ? 0 : at);
    else if (fabs(at) <= 3)
        snprintf(text, size, "%.6g", pow(10, at));
    else
        snprintf(text, size, "1e%.0f", at);
}

typedef void draw_tick(fplt__buffer *out, double at, const char *text, const struct axis *across);

static void each_tick(fplt__buffer *out, const struct axis *axis, const struct axis *across,
                      draw_tick *draw)
{
    double step = tick_step(axis);
    for (double at = ceil(axis->low / step - 1e-9) * step; at <= axis->high + 1e-9 * step;
         at += step) {
        char text[32];
        tick_text(axis, at, text, sizeof text);
        draw(out,
             axis->from + (at - axis->low) / (axis->high - axis->low) * (axis->to - axis->from),
             text, across);
    }
}

static void draw_x(fplt__buffer *out, double at, const char *text, const struct axis *y)
{
    fplt__buffer_format(out,
                        "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                        at, at, y->from, y->to, at, y->from + 17, text);
}

static void draw_y(fplt__buffer *out, double at, const char *text, const struct axis *x)
{
    fplt__buffer_format(out,
                        "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                        x->from, x->to, at, at, x->from - 6, at + 4, text);
}

static void begin(fplt__buffer *out, const char *title, double width, double height)
{
    fplt__buffer_format(out,
                        "<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
                        width, height);
    fplt__html_text(out, title);
    fplt__buffer_add(out, "</title>\n");
}

static void add_text(fplt__buffer *out, double x, double y, const char *more, const char *text)
{
    fplt__buffer_format(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, more);
    fplt__html_text(out, text);
    fplt__buffer_add(out, "</text>\n");
}

/* Curves */

static int drawable(const fplt_plot *plot, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!plot->log_x || x > 0) && (!plot->log_y || y > 0);
}

static void find_limits(const fplt_plot *plot, int of_y, struct axis *axis)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t s = 0; s < plot->count; s++)
        for (size_t i = 0; i < plot->series[s].count; i++) {
            double x = plot->series[s].x[i], y = plot->series[s].y[i];
            if (!drawable(plot, x, y))
                continue;
            low = fmin(low, of_y ? y : x);
            high = fmax(high, of_y ? y : x);
        }
    if (of_y && plot->target > 0) {
        low = fmin(low, plot->target);
        high = fmax(high, plot->target);
    }
    settle(axis, low, high);
}

static void draw_curve(fplt__buffer *out, const fplt_plot *plot, size_t number,
                       const struct axis *x, const struct axis *y, int dots)
{
    const fplt_series *series = &plot->series[number];
    double last_x = NAN, last_y = NAN;
    fplt__buffer_format(out, "<polyline class=\"curve curve%zu\" points=\"",
                        number % CURVE_COLOURS);
    for (size_t i = 0; i < series->count; i++) {
        if (!drawable(plot, series->x[i], series->y[i]))
            continue;
        double px = place(x, series->x[i]), py = place(y, series->y[i]);
        if (i + 1 < series->count && fabs(px - last_x) < 0.4 && fabs(py - last_y) < 0.4)
            continue;
        fplt__buffer_format(out, "%.1f,%.1f ", last_x = px, last_y = py);
    }
    fplt__buffer_add(out, "\"/>\n");
    for (size_t i = 0; dots && i < series->count; i++)
        if (drawable(plot, series->x[i], series->y[i]))
            fplt__buffer_format(
                out, "<circle class=\"dot curve%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n",
                number % CURVE_COLOURS, place(x, series->x[i]), place(y, series->y[i]));
}

static void draw_target(fplt__buffer *out, const fplt_plot *plot, const struct axis *x,
                        const struct axis *y)
{
    double at = place(y, plot->target);
    fplt__buffer_format(
        out, "<line class=\"target\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", x->from,
        x->to, at, at);
    if (plot->target_label) /* at the left: a curve that arrives crosses the line at the right */
        add_text(out, x->from + 6, at - 5, "", plot->target_label);
}

static void draw_key(fplt__buffer *out, const fplt_plot *plot)
{
    double at = LEFT;
    for (size_t s = 0; s < plot->count; s++) {
        fplt__buffer_format(
            out, "<line class=\"curve curve%zu\" x1=\"%.1f\" x2=\"%.1f\" y1=\"14\" y2=\"14\"/>\n",
            s % CURVE_COLOURS, at, at + 18);
        add_text(out, at + 23, 18, "", plot->series[s].name);
        at += 40 + 7.0 * (double)fplt__text_width(plot->series[s].name);
    }
}

void fplt__chart_curves(fplt__buffer *out, const fplt_plot *plot, const fplt__frame *frame)
{
    double width = frame->unit ? SQUARE : WIDTH, height = frame->unit ? SQUARE : HEIGHT;
    struct axis x = {.from = LEFT, .to = width - RIGHT, .logarithmic = plot->log_x};
    struct axis y = {.from = height - BOTTOM, .to = TOP, .logarithmic = plot->log_y};
    if (frame->unit) {
        settle(&x, 0, 1);
        settle(&y, 0, 1);
    } else {
        find_limits(plot, 0, &x);
        find_limits(plot, 1, &y);
    }
    begin(out, plot->title, width, height);
    each_tick(out, &x, &y, draw_x);
    each_tick(out, &y, &x, draw_y);
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
    add_text(out, (x.from + x.to) / 2, height - 8, "text-anchor=\"middle\" class=\"label\"",
             plot->x_label);
    char turn[96];
    snprintf(turn, sizeof turn,
             "text-anchor=\"middle\" class=\"label\" transform=\"rotate(-90 14 %.1f)\"",
             (y.from + y.to) / 2);
    add_text(out, 14, (y.from + y.to) / 2, turn, plot->y_label);
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
        add_text(out, NAMES - 8, y, "text-anchor=\"end\"", name);
        return;
    }
    for (; name[length] && length < 4 * LONGEST; length++) {
        columns += ((unsigned char)name[length] & 0xc0) != 0x80;
        if (columns == LONGEST)
            break;
    }
    snprintf(text, sizeof text, "%.*s…", (int)length, name);
    add_text(out, NAMES - 8, y, "text-anchor=\"end\"", text);
}

/* On a logarithmic axis few decades need ticks of their own between them. */
static void ratio_ticks(fplt__buffer *out, const struct axis *x, const struct axis *y)
{
    static const double within[] = {1, 2, 5};
    for (int decade = (int)floor(x->low); decade <= ceil(x->high); decade++)
        for (size_t i = 0; i < (x->high - x->low > 2.2 ? 1 : 3); i++) {
            double at = log10(within[i]) + decade;
            char text[32];
            if (at < x->low - 1e-9 || at > x->high + 1e-9)
                continue;
            snprintf(text, sizeof text, "%.3g", within[i] * pow(10, decade));
            draw_x(out, place(x, pow(10, at)), text, y);
        }
}

static void limit_intervals(const fplt__interval *interval, size_t count, double neutral,
                            int logarithmic, struct axis *x)
{
    double low = neutral, high = neutral;
    for (size_t i = 0; i < count; i++)
        if (shows(&interval[i], logarithmic)) {
            low = fmin(low, interval[i].low);
            high = fmax(high, interval[i].high);
        }
    x->logarithmic = 0;
    settle(x, logarithmic ? log10(low) : low, logarithmic ? log10(high) : high);
    double margin = 0.04 * (x->high - x->low);
    x->low -= margin;
    x->high += margin;
    x->logarithmic = logarithmic;
}

static void draw_interval(fplt__buffer *out, const fplt__interval *interval, const struct axis *x,
                          double y)
{
    fplt__buffer_add(out, "<g><title>");
    fplt__html_format(out, "%s: %.4g (%.4g to %.4g)", interval->name, interval->value,
                      interval->low, interval->high);
    fplt__buffer_format(out,
                        "</title><line class=\"curve curve0\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" "
                        "y2=\"%.1f\"/><rect class=\"dot curve0\" x=\"%.1f\" y=\"%.1f\" width=\"7\" "
                        "height=\"7\"/>",
                        place(x, interval->low), place(x, interval->high), y, y,
                        place(x, interval->value) - 3.5, y - 3.5);
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
    struct axis x = {.from = NAMES, .to = WIDTH - RIGHT}, y = {.from = height - BOTTOM, .to = 4};
    limit_intervals(interval, count, neutral, logarithmic, &x);
    begin(out, title, WIDTH, height);
    if (logarithmic)
        ratio_ticks(out, &x, &y);
    else
        each_tick(out, &x, &y, draw_x);
    fplt__buffer_format(
        out, "<line class=\"target\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
        place(&x, neutral), place(&x, neutral), y.from, y.to);
    double at = 4 + LINE / 2.0;
    for (size_t i = 0; i < count; i++)
        if (shows(&interval[i], logarithmic)) {
            draw_interval(out, &interval[i], &x, at);
            at += LINE;
        }
    add_text(out, (x.from + x.to) / 2, height - 8, "text-anchor=\"middle\" class=\"label\"", axis);
    fplt__buffer_add(out, "</svg>\n");
}
