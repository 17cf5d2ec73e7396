/* Pictures of curves as SVG files of their own; PNG and PDF are rendered from the same SVG by a module that is loaded
 * on use (src/render). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/module.h"
#include "report/axis.h"
#include "report/html.h"
#include "report/render.h"
#include "report/report.h"
#include "report/svg.h"

enum { WIDTH = 900, HEIGHT = 560, LEFT = 92, RIGHT = 28, TOP = 52, BELOW_AXIS = 62 };
enum { KEY_LINE = 22, SWATCH = 42, KEY_GAP = 24, CHARACTER = 8 };

/* More curves than this are named at the right of the picture instead of below it. */
enum { MAX_BELOW = 6 };

/* Curves with at most so many points show each of them. */
enum { MAX_DOTS = 60 };

/* The colours of Okabe and Ito, which colour-blind readers can tell apart. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#8C6D31"};
enum { COLOURS = sizeof colours / sizeof *colours };

const char *fplt__plot_colour(size_t series)
{
    return colours[series % COLOURS];
}

#define DASHES "stroke-dasharray=\"10 6\""
#define DOTTED " stroke-dasharray=\"2 5\""
#define GREY   "#505050"

/* One line of the key. */
struct entry {
    const char *name, *colour, *dashes;
};

static const char *dashes_of(size_t series)
{
    return series / COLOURS % 2 ? DASHES : ""; /* the colours come round again with dashes */
}

static size_t drawable_points(const fplt__plot *plot, const fplt__series *series)
{
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++)
        count += fplt__plot_drawable(plot, series->x[i], series->y[i]) != 0;
    return count;
}

/* The number of a tick, a power of ten on a logarithmic axis. */
static void add_number(fplt__buffer *out, double x, double y, const char *anchor,
                       const fplt__axis *axis, double at)
{
    char text[32];
    if (axis->logarithmic) {
        fplt__buffer_format(out,
                            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">10<tspan dy=\"-6\" "
                            "font-size=\"10\">%.0f</tspan></text>\n",
                            x, y, anchor, round(at) + 0.0); /* not -0 */
        return;
    }
    fplt__axis_number(axis, at, text, sizeof text);
    fplt__buffer_format(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
                        anchor, text);
}

static void draw_x_tick(fplt__buffer *out, double coordinate, double at, const fplt__axis *axis,
                        const fplt__axis *y)
{
    fplt__svg_line(out, coordinate, y->from, coordinate, y->to, "#E4E4E4", 1, "");
    fplt__svg_line(out, coordinate, y->from, coordinate, y->from + 5, "#606060", 1, "");
    add_number(out, coordinate, y->from + 21, "middle", axis, at);
}

static void draw_y_tick(fplt__buffer *out, double coordinate, double at, const fplt__axis *axis,
                        const fplt__axis *x)
{
    fplt__svg_line(out, x->from, coordinate, x->to, coordinate, "#E4E4E4", 1, "");
    fplt__svg_line(out, x->from - 5, coordinate, x->from, coordinate, "#606060", 1, "");
    add_number(out, x->from - 9, coordinate + 4.5, "end", axis, at);
}

/* Names below the axis, each cut to its share of the width. */
static void draw_categories(fplt__buffer *out, const fplt__plot *plot, const fplt__axis *x,
                            const fplt__axis *y)
{
    double share = (x->to - x->from) / (double)plot->category_count;
    int most = share / CHARACTER < 4    ? 3
               : share / CHARACTER > 60 ? 60
                                        : (int)(share / CHARACTER) - 1;
    for (size_t i = 0; i < plot->category_count; i++) {
        const char *name = plot->categories[i];
        char text[128];
        size_t used = 0;
        for (int shown = 0; name[used] && shown < most && used < sizeof text - 8; shown++)
            do
                text[used] = name[used], used++;
            while ((name[used] & 0xc0) == 0x80 && used < sizeof text - 8);
        snprintf(text + used, sizeof text - used, "%s", name[used] ? "\xe2\x80\xa6" : "");
        double at = fplt__axis_place(x, (double)i + 1);
        fplt__svg_line(out, at, y->from, at, y->from + 5, "#606060", 1, "");
        fplt__svg_text(out, at, y->from + 21, "text-anchor=\"middle\"", text);
    }
}

/* Key */

/* Number `index` of the names that the key has: curves that show something, the target, the diagonal. Zero past the
 * last. */
static int key_entry(const fplt__plot *plot, size_t index, struct entry *entry)
{
    for (size_t s = 0; s < plot->count; s++)
        if (drawable_points(plot, &plot->series[s]) && index-- == 0) {
            *entry = (struct entry){plot->series[s].name, fplt__plot_colour(s), dashes_of(s)};
            return 1;
        }
    if (plot->target > 0 && plot->target_label && index-- == 0) {
        *entry = (struct entry){plot->target_label, GREY, DASHES};
        return 1;
    }
    if (plot->diagonal && index-- == 0) {
        *entry = (struct entry){plot->diagonal, GREY, DOTTED};
        return 1;
    }
    return 0;
}

static double entry_width(const struct entry *entry)
{
    return SWATCH + 8 + CHARACTER * (double)fplt__text_width(entry->name);
}

static void draw_entry(fplt__buffer *out, const struct entry *entry, double x, double y)
{
    fplt__svg_line(out, x, y - 4.5, x + SWATCH, y - 4.5, entry->colour, 2.5, entry->dashes);
    fplt__svg_text(out, x + SWATCH + 8, y, "", entry->name);
}

/* Width that the key takes at the right, 0 where it stands below. */
static double key_width(const fplt__plot *plot)
{
    struct entry entry;
    double widest = 0;
    for (size_t i = 0; plot->count > MAX_BELOW && key_entry(plot, i, &entry); i++)
        widest = fmax(widest, entry_width(&entry));
    return widest > 0 ? widest + KEY_GAP : 0;
}

/* Entries from number `first` on that fit one line below the picture, and their width. */
static size_t entries_in_line(const fplt__plot *plot, size_t first, double *width)
{
    struct entry entry;
    size_t count = 0;
    *width = 0;
    while (key_entry(plot, first + count, &entry)) {
        double more = entry_width(&entry) + (count ? KEY_GAP : 0);
        if (count && *width + more > WIDTH - 2 * KEY_GAP)
            break;
        *width += more;
        count++;
    }
    return count;
}

/* Height that the key takes below the picture, 0 where it stands at the right. */
static double key_height(const fplt__plot *plot)
{
    double width;
    size_t lines = 0;
    for (size_t first = 0, count; plot->count <= MAX_BELOW; first += count, lines++)
        if (!(count = entries_in_line(plot, first, &width)))
            break;
    return KEY_LINE * (double)lines;
}

static void draw_key(fplt__buffer *out, const fplt__plot *plot, const fplt__axis *x)
{
    struct entry entry;
    if (plot->count > MAX_BELOW) {
        for (size_t i = 0; key_entry(plot, i, &entry); i++)
            draw_entry(out, &entry, x->to + KEY_GAP, TOP + KEY_LINE * (0.6 + (double)i));
        return;
    }
    double width, y = HEIGHT - key_height(plot) + 8;
    for (size_t first = 0, count; (count = entries_in_line(plot, first, &width)); first += count) {
        double at = (WIDTH - width) / 2;
        for (size_t i = first; i < first + count && key_entry(plot, i, &entry); i++) {
            draw_entry(out, &entry, at, y);
            at += entry_width(&entry) + KEY_GAP;
        }
        y += KEY_LINE;
    }
}

/* Curves */

static void draw_band(fplt__buffer *out, const fplt__plot *plot, const fplt__series *series,
                      const char *colour, const fplt__axis *x, const fplt__axis *y)
{
    fplt__buffer_add(out, "<polygon points=\"");
    fplt__plot_points(out, plot, series, series->low, x, y);
    for (size_t i = series->count; i-- > 0;)
        if (fplt__plot_drawable(plot, series->x[i], series->high[i]))
            fplt__buffer_format(out, "%.1f,%.1f ", fplt__axis_place(x, series->x[i]),
                                fplt__axis_place(y, series->high[i]));
    fplt__buffer_format(out, "\" fill=\"%s\" fill-opacity=\"0.12\"/>\n", colour);
}

static void draw_bars(fplt__buffer *out, const fplt__plot *plot, const fplt__series *series,
                      const char *colour, const fplt__axis *x, const fplt__axis *y)
{
    for (size_t i = 0; i < series->count; i++) {
        if (!fplt__plot_drawable(plot, series->x[i], series->low[i]) ||
            !fplt__plot_drawable(plot, series->x[i], series->high[i]))
            continue;
        double at = fplt__axis_place(x, series->x[i]);
        double low = fplt__axis_place(y, series->low[i]);
        double high = fplt__axis_place(y, series->high[i]);
        fplt__svg_line(out, at, low, at, high, colour, 1.5, "");
        fplt__svg_line(out, at - 4, low, at + 4, low, colour, 1.5, "");
        fplt__svg_line(out, at - 4, high, at + 4, high, colour, 1.5, "");
    }
}

static void draw_curve(fplt__buffer *out, const fplt__plot *plot, size_t number,
                       const fplt__axis *x, const fplt__axis *y)
{
    const fplt__series *series = &plot->series[number];
    const char *colour = fplt__plot_colour(number);
    size_t points = drawable_points(plot, series);
    if (!points)
        return;
    fplt__buffer_add(out, "<g><title>");
    fplt__html_text(out, series->name);
    fplt__buffer_add(out, "</title>\n");
    if (series->low && series->high && !series->band)
        draw_bars(out, plot, series, colour, x, y);
    if (!plot->categories) {
        fplt__buffer_add(out, "<polyline points=\"");
        fplt__plot_points(out, plot, series, series->y, x, y);
        fplt__buffer_format(out,
                            "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2.5\" "
                            "stroke-linejoin=\"round\" %s/>\n",
                            colour, dashes_of(number));
    }
    for (size_t i = 0; (points <= MAX_DOTS || plot->categories) && i < series->count; i++)
        if (fplt__plot_drawable(plot, series->x[i], series->y[i]))
            fplt__buffer_format(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                                fplt__axis_place(x, series->x[i]),
                                fplt__axis_place(y, series->y[i]), colour);
    fplt__buffer_add(out, "</g>\n");
}

/* y = x as far as it lies in the picture; on two logarithmic or two linear axes it is straight. */
static void draw_diagonal(fplt__buffer *out, const fplt__axis *x, const fplt__axis *y)
{
    double low = fmax(x->low, y->low), high = fmin(x->high, y->high);
    if (x->logarithmic != y->logarithmic || !(low < high))
        return;
    double from = x->logarithmic ? pow(10, low) : low, to = x->logarithmic ? pow(10, high) : high;
    fplt__svg_line(out, fplt__axis_place(x, from), fplt__axis_place(y, from),
                   fplt__axis_place(x, to), fplt__axis_place(y, to), GREY, 1.5, DOTTED);
}

static void draw_frame(fplt__buffer *out, const fplt__plot *plot, const fplt__axis *x,
                       const fplt__axis *y)
{
    char turned[80];
    if (plot->categories)
        draw_categories(out, plot, x, y);
    else
        fplt__axis_ticks(out, x, y, draw_x_tick);
    fplt__axis_ticks(out, y, x, draw_y_tick);
    fplt__svg_line(out, x->from, y->from, x->to, y->from, "#606060", 1, "");
    fplt__svg_line(out, x->from, y->from, x->from, y->to, "#606060", 1, "");
    double middle_x = (x->from + x->to) / 2, middle_y = (y->from + y->to) / 2;
    fplt__svg_text(out, middle_x, 30, "text-anchor=\"middle\" font-size=\"16\"", plot->title);
    fplt__svg_text(out, middle_x, y->from + 48, "text-anchor=\"middle\"", plot->x_label);
    snprintf(turned, sizeof turned, "text-anchor=\"middle\" transform=\"rotate(-90 24 %.1f)\"",
             middle_y);
    fplt__svg_text(out, 24, middle_y, turned, plot->y_label);
}

static void draw_svg(fplt__buffer *out, const fplt__plot *plot)
{
    fplt__axis x = {
        .from = LEFT, .to = WIDTH - RIGHT - key_width(plot), .logarithmic = plot->log_x};
    fplt__axis y = {
        .from = HEIGHT - BELOW_AXIS - key_height(plot), .to = TOP, .logarithmic = plot->log_y};
    fplt__plot_limits(plot, 0, &x);
    fplt__plot_limits(plot, 1, &y);
    if (plot->categories) {
        x.low = 0.5;
        x.high = (double)plot->category_count + 0.5;
    }
    double margin = y.logarithmic ? 0 : 0.04 * (y.high - y.low);
    y.low -= margin;
    y.high += margin;
    fplt__svg_begin(out, plot->title, WIDTH, HEIGHT);
    draw_frame(out, plot, &x, &y);
    for (size_t s = 0; s < plot->count; s++)
        if (plot->series[s].low && plot->series[s].high && plot->series[s].band)
            draw_band(out, plot, &plot->series[s], fplt__plot_colour(s), &x, &y);
    if (plot->diagonal)
        draw_diagonal(out, &x, &y);
    if (plot->target > 0) {
        double at = fplt__axis_place(&y, plot->target);
        fplt__svg_line(out, x.from, at, x.to, at, GREY, 1.5, DASHES);
    }
    for (size_t s = 0; s < plot->count; s++)
        draw_curve(out, plot, s, &x, &y);
    draw_key(out, plot, &x);
    fplt__buffer_add(out, "</svg>\n");
}

/* Files */

static const struct kind {
    const char *ending;
    fplt__render_form form;
} kinds[] = {{".svg", FPLT__RENDER_NONE}, {".png", FPLT__RENDER_PNG}, {".pdf", FPLT__RENDER_PDF}};

static const struct kind *kind_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(dot, kinds[i].ending) == 0)
            return &kinds[i];
    return NULL;
}

fplt_status fplt__plot_check(const char *path, fplt_error *error)
{
    return kind_of(path) ? FPLT_OK
                         : fplt_error_set(error, FPLT_BAD_VALUE,
                                          "%s: a picture must be named .svg, .png or .pdf", path);
}

static int add_rendered(void *context, const unsigned char *bytes, size_t count)
{
    fplt__buffer *picture = context;
    fplt__buffer_add_bytes(picture, (const char *)bytes, count);
    return picture->status != FPLT_OK;
}

/* PNG in one and a half times the size in pixels, PDF of a column's width (18 cm). */
static fplt_status render(const fplt__buffer *svg, int width, int height, fplt__render_form form,
                          const char *path, fplt__buffer *picture, fplt_error *error)
{
    const fplt__render_module *module = fplt__module_load("render", FPLT__RENDER_MODULE, 0, error);
    if (!module)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "%s: not drawn, because the module that renders PNG and PDF cannot be "
            "loaded (it needs librsvg2); .svg needs nothing",
            path);
    double scale = form == FPLT__RENDER_PNG ? 1.5 : 18 / 2.54 * 72 / width;
    if (module->size != sizeof *module ||
        module->render(svg->text, svg->length, form, scale * width, scale * height, add_rendered,
                       picture))
        return fplt_error_set(error, FPLT_FAILED, "%s: the picture could not be rendered", path);
    return FPLT_OK;
}

fplt_status fplt__picture_write(const fplt__buffer *svg, int width, int height, const char *path,
                                fplt_error *error)
{
    fplt__buffer picture = {NULL, 0, 0, FPLT_OK};
    fplt_status status = fplt__plot_check(path, error);
    if (status)
        return status;
    fplt__render_form form = kind_of(path)->form;
    if (!svg->status && form != FPLT__RENDER_NONE)
        status = render(svg, width, height, form, path, &picture, error);
    const fplt__buffer *made = form == FPLT__RENDER_NONE ? svg : &picture;
    if (!status && (svg->status || made->status))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a picture");
    if (!status)
        status = fplt__file_save(path, 0666, made->text, made->length, error);
    fplt__buffer_clear(&picture);
    return status;
}

fplt_status fplt__plot_write(const fplt__plot *plot, const char *path, fplt_error *error)
{
    size_t points = 0;
    fplt_status status = fplt__plot_check(path, error);
    if (status)
        return status;
    for (size_t s = 0; s < plot->count; s++)
        points += drawable_points(plot, &plot->series[s]);
    if (!points)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s: there is nothing to draw", path);
    fplt__buffer svg = {NULL, 0, 0, FPLT_OK};
    draw_svg(&svg, plot);
    status = fplt__picture_write(&svg, WIDTH, HEIGHT, path, error);
    fplt__buffer_clear(&svg);
    return status;
}
