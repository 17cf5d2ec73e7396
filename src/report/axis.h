/* Axes of charts: limits, ticks and the place of a value. Shared by the charts of reports (chart.c) and by pictures
 * in files of their own (plot.c). */
#ifndef FPLT_REPORT_AXIS_H
#define FPLT_REPORT_AXIS_H

#include "base/buffer.h"
#include "fedplt/report.h"
#include "report/report.h"

/* low < high once fplt__axis_settle() has been called. */
typedef struct fplt__axis {
    double low, high; /* values at the ends; logarithms to base 10 where the axis is logarithmic */
    double from, to;  /* coordinates of the ends in the picture */
    int logarithmic;
} fplt__axis;

/* Sets the limits so that low..high fits: whole decades on a logarithmic axis, never an empty range. low > high means
 * that there are no values. */
void fplt__axis_settle(fplt__axis *axis, double low, double high);

/* Coordinate of a value. */
double fplt__axis_place(const fplt__axis *axis, double value);

/* Draws one tick at a coordinate; `at` is its value, or its logarithm. */
typedef void fplt__axis_draw(fplt__buffer *out, double coordinate, double at,
                             const fplt__axis *axis, const fplt__axis *across);

/* Calls `draw` for each tick: 1, 2 or 5 times a power of ten apart, whole decades on a logarithmic axis. */
void fplt__axis_ticks(fplt__buffer *out, const fplt__axis *axis, const fplt__axis *across,
                      fplt__axis_draw *draw);

/* The distance of ticks that are about `rough` (above 0) apart: the next larger of 1, 2 and 5 times a power of ten. */
double fplt__axis_step(double rough);

/* A tick's number on a linear axis. */
void fplt__axis_number(const fplt__axis *axis, double at, char *text, size_t size);

/* Colour of a curve as SVG has it; they come round again after eight. */
const char *fplt__plot_colour(size_t series);

/* Writes an SVG text of this size to a .svg, .png or .pdf file, as fplt__plot_write() does. */
fplt_status fplt__picture_write(const fplt__buffer *svg, int width, int height, const char *path,
                                fplt_error *error);

/* Whether a point can be drawn: finite, and positive where its axis is logarithmic. */
int fplt__plot_drawable(const fplt__plot *plot, double x, double y);

/* Limits of all curves with their bars and bands, and of the target where `of_y`. */
void fplt__plot_limits(const fplt__plot *plot, int of_y, fplt__axis *axis);

/* Adds the points of a curve as "x,y x,y ...", with `values` in place of its y. Points that cannot be drawn are left
 * out, and so are those that would fall on the one before. */
void fplt__plot_points(fplt__buffer *out, const fplt__plot *plot, const fplt__series *series,
                       const double *values, const fplt__axis *x, const fplt__axis *y);

#endif
