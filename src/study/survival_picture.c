/* Pictures of survival curves: steps with confidence bands above a table of the numbers at risk. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "report/axis.h"
#include "report/html.h"
#include "report/svg.h"
#include "study/survival_inside.h"

enum { WIDTH = 900, LEFT = 200, RIGHT = 30, TOP = 50, CURVES = 360, TABLE = 86, LINE = 22 };
enum { MAX_CURVES = 40, MAX_MARKS = 300, MAX_NAME = 21, MAX_TICKS = 6 };

/* One curve: point 0 is (0, 1). */
struct curve {
    const char *name;
    const fplt__life_table *table;
    fplt__life_point *point; /* owned */
};

/* The coordinates of all curves. */
struct scene {
    fplt__buffer out;
    fplt__axis x, y;
    double step; /* of the ticks on x */
    struct curve curve[MAX_CURVES];
    size_t curves;
};

static void draw_x_tick(fplt__buffer *out, double coordinate, double at, const fplt__axis *axis,
                        const fplt__axis *y)
{
    char text[32];
    fplt__svg_line(out, coordinate, y->from, coordinate, y->to, "#E4E4E4", 1, "");
    fplt__axis_number(axis, at, text, sizeof text);
    fplt__svg_text(out, coordinate, y->from + 21, "text-anchor=\"middle\"", text);
}

static void draw_y_tick(fplt__buffer *out, double coordinate, double at, const fplt__axis *axis,
                        const fplt__axis *x)
{
    char text[32];
    fplt__svg_line(out, x->from, coordinate, x->to, coordinate, "#E4E4E4", 1, "");
    fplt__axis_number(axis, at, text, sizeof text);
    fplt__svg_text(out, x->from - 9, coordinate + 4.5, "text-anchor=\"end\"", text);
}

/* A value of a point: 0 the estimate, 1 and 2 the ends of its interval. Where S is 1, so is the interval. */
static double value_of(const fplt__life_point *point, int which)
{
    double value = which == 0 ? point->survival : which == 1 ? point->low : point->high;
    return isnan(value) && point->survival == 1 ? 1 : value;
}

/* Points of a curve that have the value. */
static size_t known_points(const struct curve *curve, int which)
{
    size_t count = 0;
    while (count < curve->table->steps && !isnan(value_of(&curve->point[count], which)))
        count++;
    return count;
}

/* The corners of the first `count` steps from time 0 on, or where `back` is set from the last one to time 0. */
static void add_corners(struct scene *scene, const struct curve *curve, size_t count, int which,
                        int back)
{
    double before = 1;
    for (size_t i = 0; !back && i < count; i++) {
        double x = fplt__axis_place(&scene->x, curve->point[i].time),
               value = value_of(&curve->point[i], which);
        fplt__buffer_format(&scene->out, "%.1f,%.1f %.1f,%.1f ", x,
                            fplt__axis_place(&scene->y, before), x,
                            fplt__axis_place(&scene->y, value));
        before = value;
    }
    for (size_t i = count; back && i-- > 0;) {
        double x = fplt__axis_place(&scene->x, curve->point[i].time);
        before = i ? value_of(&curve->point[i - 1], which) : 1;
        fplt__buffer_format(&scene->out, "%.1f,%.1f %.1f,%.1f ", x,
                            fplt__axis_place(&scene->y, value_of(&curve->point[i], which)), x,
                            fplt__axis_place(&scene->y, before));
    }
}

static void draw_band(struct scene *scene, size_t number)
{
    const struct curve *curve = &scene->curve[number];
    size_t count = known_points(curve, 1);
    fplt__buffer_format(&scene->out, "<polygon points=\"%.1f,%.1f ", fplt__axis_place(&scene->x, 0),
                        fplt__axis_place(&scene->y, 1));
    add_corners(scene, curve, count, 1, 0);
    add_corners(scene, curve, count, 2, 1);
    fplt__buffer_format(&scene->out, "\" fill=\"%s\" fill-opacity=\"0.14\"/>\n",
                        fplt__plot_colour(number));
}

/* The steps, and a mark where observations end without an event. */
static void draw_curve(struct scene *scene, size_t number)
{
    const struct curve *curve = &scene->curve[number];
    const char *colour = fplt__plot_colour(number);
    size_t steps = curve->table->steps;
    fplt__buffer_add(&scene->out, "<g><title>");
    fplt__html_text(&scene->out, curve->name);
    fplt__buffer_format(&scene->out, "</title>\n<polyline points=\"%.1f,%.1f ",
                        fplt__axis_place(&scene->x, 0), fplt__axis_place(&scene->y, 1));
    add_corners(scene, curve, steps, 0, 0);
    fplt__buffer_format(&scene->out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2.2\"/>\n",
                        colour);
    for (size_t i = 0; i < steps && steps <= MAX_MARKS; i++) {
        double x = fplt__axis_place(&scene->x, curve->point[i].time),
               y = fplt__axis_place(&scene->y, curve->point[i].survival);
        if (curve->point[i].left)
            fplt__svg_line(&scene->out, x, y - 4, x, y + 4, colour, 1.2, "");
    }
    fplt__buffer_add(&scene->out, "</g>\n");
}

/* A name cut to the margin, in the colour of its curve. */
static void add_name(struct scene *scene, size_t number, double y)
{
    const char *name = scene->curve[number].name;
    char text[MAX_NAME * 4 + 8], attributes[64];
    size_t used = 0;
    for (int shown = 0; name[used] && shown < MAX_NAME && used < sizeof text - 8; shown++)
        do
            text[used] = name[used], used++;
        while ((name[used] & 0xc0) == 0x80 && used < sizeof text - 8);
    snprintf(text + used, sizeof text - used, "%s", name[used] ? "\xe2\x80\xa6" : "");
    snprintf(attributes, sizeof attributes, "fill=\"%s\" font-weight=\"bold\"",
             fplt__plot_colour(number));
    fplt__svg_line(&scene->out, 14, y - 4.5, 34, y - 4.5, fplt__plot_colour(number), 3, "");
    fplt__svg_text(&scene->out, 42, y, attributes, text);
}

/* How many are at risk at the ticks; nothing where a curve has ended. */
static void draw_risk_table(struct scene *scene)
{
    double top = TOP + CURVES + TABLE;
    fplt__svg_text(&scene->out, 14, top - LINE, "font-size=\"12\" fill=\"#505050\"",
                   "number at risk");
    for (size_t i = 0; i < scene->curves; i++) {
        const fplt__life_table *table = scene->curve[i].table;
        double y = top + LINE * (double)i, last = table->step[table->steps - 1].time;
        add_name(scene, i, y);
        for (double at = 0; at <= fmin(last, scene->x.high); at += scene->step) {
            char text[24];
            snprintf(text, sizeof text, "%llu",
                     (unsigned long long)fplt__survival_at_risk(table, at));
            fplt__svg_text(&scene->out, fplt__axis_place(&scene->x, at), y,
                           "text-anchor=\"middle\"", text);
        }
    }
}

static void draw_frame(struct scene *scene, const fplt_survival *survival, int height)
{
    fplt__buffer *out = &scene->out;
    double middle = (scene->y.from + scene->y.to) / 2;
    char turned[80];
    const char *time = survival->settings.time ? survival->settings.time : "time";
    fplt__svg_begin(out, "Survival", WIDTH, height);
    fplt__axis_ticks(out, &scene->x, &scene->y, draw_x_tick);
    fplt__axis_ticks(out, &scene->y, &scene->x, draw_y_tick);
    fplt__svg_line(out, scene->x.from, scene->y.from, scene->x.to, scene->y.from, "#606060", 1, "");
    fplt__svg_line(out, scene->x.from, scene->y.from, scene->x.from, scene->y.to, "#606060", 1, "");
    snprintf(turned, sizeof turned, "text-anchor=\"middle\" transform=\"rotate(-90 %d %.1f)\"",
             LEFT - 50, middle);
    fplt__svg_text(out, LEFT - 50, middle, turned, "survival");
    fplt__svg_text(out, (scene->x.from + scene->x.to) / 2, scene->y.from + 42,
                   "text-anchor=\"middle\"", time);
    char title[300];
    snprintf(title, sizeof title, "Kaplan-Meier curves%s%.200s, %g %% intervals",
             survival->settings.by ? " by " : "",
             survival->settings.by ? survival->settings.by : "", 100 * survival->settings.level);
    fplt__svg_text(out, (scene->x.from + scene->x.to) / 2, 28,
                   "text-anchor=\"middle\" font-size=\"16\"", title);
}

/* The strata over all sites, the sites where there are no strata, or the one curve there is. */
static fplt_status choose_curves(const fplt_survival *survival, struct scene *scene,
                                 fplt_error *error)
{
    size_t strata = fplt__survival_strata(survival), sites = fplt__survival_sites(survival);
    size_t groups = strata > 1 ? strata - 1 : sites - 1;
    fplt_status status = FPLT_OK;
    for (size_t g = 1; g <= groups && scene->curves < MAX_CURVES && !status; g++) {
        size_t site = strata > 1 ? 0 : g, stratum = strata > 1 ? g : 0;
        struct curve *curve = &scene->curve[scene->curves];
        *curve = (struct curve){strata > 1 ? fplt__survival_stratum(survival, g)
                                           : fplt__survival_site(survival, g),
                                fplt__survival_table(survival, site, stratum), NULL};
        if (!curve->table->steps)
            continue;
        if (!(status = fplt__survival_points(survival, site, stratum, &curve->point, error)))
            scene->curves++;
    }
    return status;
}

static void draw_all(struct scene *scene, const fplt_survival *survival, int height)
{
    double last = 0;
    for (size_t i = 0; i < scene->curves; i++)
        last = fmax(last, scene->curve[i].table->step[scene->curve[i].table->steps - 1].time);
    fplt__axis_settle(&scene->x, 0, last);
    scene->step = fplt__axis_step((scene->x.high - scene->x.low) / MAX_TICKS);
    draw_frame(scene, survival, height);
    for (size_t i = 0; i < scene->curves; i++)
        draw_band(scene, i);
    for (size_t i = 0; i < scene->curves; i++)
        draw_curve(scene, i);
    draw_risk_table(scene);
    fplt__buffer_add(&scene->out, "</svg>\n");
}

fplt_status fplt__survival_draw(const fplt_survival *survival, const char *name, fplt__buffer *svg,
                                int *width, int *height, fplt_error *error)
{
    struct scene scene = {.out = *svg,
                          .x = {.from = LEFT, .to = WIDTH - RIGHT},
                          .y = {.low = 0, .high = 1, .from = TOP + CURVES, .to = TOP}};
    fplt_status status = choose_curves(survival, &scene, error);
    if (!status && !scene.curves)
        status =
            fplt_error_set(error, FPLT_BAD_VALUE,
                           "%s: there is nothing to draw, because every curve is withheld", name);
    *width = WIDTH;
    *height = TOP + CURVES + TABLE + LINE * (int)scene.curves;
    if (!status)
        draw_all(&scene, survival, *height);
    for (size_t i = 0; i < scene.curves; i++)
        fplt__free(scene.curve[i].point);
    *svg = scene.out;
    return status;
}

fplt_status fplt__survival_picture(const fplt_survival *survival, const char *path,
                                   fplt_error *error)
{
    fplt__buffer svg = {NULL, 0, 0, FPLT_OK};
    int width, height;
    fplt_status status = fplt__plot_check(path, error);
    if (!status)
        status = fplt__survival_draw(survival, path, &svg, &width, &height, error);
    if (!status)
        status = fplt__picture_write(&svg, width, height, path, error);
    fplt__buffer_clear(&svg);
    return status;
}
