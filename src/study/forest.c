/* Forest plots. */
#include <math.h>
#include <stdio.h>

#include "base/normal.h"
#include "report/axis.h"
#include "report/report.h"
#include "report/svg.h"
#include "study/meta_inside.h"

enum { WIDTH = 900, LEFT = 230, RIGHT = 250, TOP = 60, LINE = 28, BELOW = 60 };

/* One line of the picture. */
struct row {
    const char *name;
    double estimate, low, high, weight; /* weight: of the largest; 0: a combined estimate */
};

static void draw_tick(fplt__buffer *out, double coordinate, double at, const fplt__axis *axis,
                      const fplt__axis *y)
{
    char text[32];
    fplt__svg_line(out, coordinate, y->from, coordinate, y->to, "#E4E4E4", 1, "");
    fplt__axis_number(axis, at, text, sizeof text);
    fplt__svg_text(out, coordinate, y->from + 20, "text-anchor=\"middle\"", text);
}

/* A square for a site, its area by its weight; a diamond over the interval for a combined estimate. */
static void draw_row(fplt__buffer *out, const struct row *row, const fplt__axis *x, double y)
{
    double at = fplt__axis_place(x, row->estimate), low = fplt__axis_place(x, row->low),
           high = fplt__axis_place(x, row->high), half = 3 + 5 * sqrt(row->weight);
    char text[100];
    fplt__svg_text(out, 20, y + 4.5, "text-anchor=\"start\"", row->name);
    snprintf(text, sizeof text, "%.4g [%.4g, %.4g]", row->estimate, row->low, row->high);
    fplt__svg_text(out, WIDTH - 20, y + 4.5, "text-anchor=\"end\"", text);
    if (row->weight > 0) {
        fplt__svg_line(out, low, y, high, y, "#303030", 1.5, "");
        fplt__buffer_format(out,
                            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                            "fill=\"#0072B2\"/>\n",
                            at - half, y - half, 2 * half, 2 * half);
    } else {
        fplt__buffer_format(out,
                            "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\" "
                            "fill=\"#D55E00\"/>\n",
                            low, y, at, y - 8, high, y, at, y + 8);
    }
}

static void draw_forest(fplt__buffer *out, const char *title, const struct row *row, size_t rows)
{
    int height = TOP + LINE * (int)rows + BELOW;
    double low = 0, high = 0;
    fplt__axis x = {.from = LEFT, .to = WIDTH - RIGHT},
               y = {.from = height - BELOW, .to = TOP - 16};
    for (size_t i = 0; i < rows; i++) {
        low = fmin(low, row[i].low);
        high = fmax(high, row[i].high);
    }
    fplt__axis_settle(&x, low, high);
    fplt__svg_begin(out, title, WIDTH, height);
    fplt__svg_text(out, WIDTH / 2.0, 28, "text-anchor=\"middle\"", title);
    fplt__axis_ticks(out, &x, &y, draw_tick);
    double zero = fplt__axis_place(&x, 0);
    fplt__svg_line(out, zero, y.from, zero, y.to, "#505050", 1, "stroke-dasharray=\"6 4\"");
    for (size_t i = 0; i < rows; i++)
        draw_row(out, &row[i], &x, TOP + LINE * (double)i);
    fplt__buffer_add(out, "</svg>\n");
}

static size_t fill_sites(const fplt__meta *meta, size_t term, double level, struct row *row,
                         size_t room)
{
    double quantile = fplt__normal_quantile((1 + level) / 2), largest = 0;
    size_t used = 0;
    for (size_t i = 0; i < meta->lines && used < room; i++) {
        const fplt__meta_line *line = &meta->line[i];
        double weight = 1 / (line->error * line->error);
        if (line->term != term)
            continue;
        row[used++] = (struct row){fplt__lookup_word(&meta->sites, line->site).text, line->estimate,
                                   line->estimate - quantile * line->error,
                                   line->estimate + quantile * line->error, weight};
        largest = fmax(largest, weight);
    }
    for (size_t i = 0; i < used; i++)
        row[i].weight /= largest;
    return used;
}

fplt_status fplt__meta_forest(const fplt__meta *meta, size_t term,
                              const fplt_meta_settings *settings, const char *path,
                              fplt_error *error)
{
    enum { MAX_ROWS = 200 };
    struct row row[MAX_ROWS];
    fplt_meta_settings fixed = {FPLT_META_FIXED, 0, settings->level};
    size_t rows = fill_sites(meta, term, settings->level, row, MAX_ROWS - 2);
    fplt__buffer svg = {NULL, 0, 0, FPLT_OK};
    fplt_status status = FPLT_OK;
    for (int random = 0; random < 2 && !status; random++) {
        const fplt_meta_settings *used = random ? settings : &fixed;
        fplt_meta_result made;
        if (!(status = fplt__meta_of_term(meta, term, used, &made, error)))
            row[rows++] =
                (struct row){fplt__meta_name(used), made.estimate, made.low, made.high, 0};
    }
    if (!status) {
        draw_forest(&svg, fplt__meta_term(meta, term), row, rows);
        status = fplt__picture_write(&svg, WIDTH, TOP + LINE * (int)rows + BELOW, path, error);
    }
    fplt__buffer_clear(&svg);
    return status;
}
