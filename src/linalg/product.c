/* The right vectors are packed for a block of columns, the left ones for a tile's rows; then tile by tile. */
#include "linalg/product.h"

#include <string.h>

/* Columns of a block: a multiple of every kernel's tile. */
enum { BLOCK = 96 };

fplt__vectors fplt__columns_from(const fplt__matrix *a, size_t first)
{
    int rows = a->layout == FPLT_ROWS;
    return (fplt__vectors){
        .at = a->narrow ? NULL : a->dense + first * a->stride,
        .step = rows ? 1 : a->panel,
        .deep = rows ? a->stride : 1,
        .run = rows ? FPLT_PANEL : a->panel,
        .group = (rows ? FPLT_PANEL : a->panel) * a->stride,
        .narrow = a->narrow ? a->narrow + first * a->stride : NULL,
    };
}

static fplt__vectors further(fplt__vectors v, size_t vectors, size_t depth)
{
    size_t distance = vectors * v.step + depth / v.run * v.group;
    if (v.narrow)
        v.narrow += distance;
    else
        v.at += distance;
    return v;
}

static double element(fplt__vectors v, size_t vector, size_t depth)
{
    fplt__vectors own = further(v, vector, depth);
    size_t deep = depth % v.run * v.deep;
    return v.narrow ? own.narrow[deep] : own.at[deep];
}

/* Of whole tiles, with the width known to the compiler: side by side in a row, or a vector after the other. */
static inline __attribute__((always_inline)) void
pack_whole(fplt__vectors v, int narrow, size_t step, size_t width, size_t depth, double *to)
{
    for (size_t d = 0; d < depth; d += v.run, v = further(v, 0, v.run)) {
        size_t deep = depth - d < v.run ? depth - d : v.run;
        for (size_t k = 0; k < deep; k++, to += width)
            for (size_t i = 0; i < width; i++)
                to[i] = narrow ? v.narrow[k * v.deep + i * step] : v.at[k * v.deep + i * step];
    }
}

static inline __attribute__((always_inline)) void pack_width(fplt__vectors v, size_t width,
                                                             size_t depth, double *to)
{
    if (v.narrow && v.step == 1)
        pack_whole(v, 1, 1, width, depth, to);
    else if (v.narrow)
        pack_whole(v, 1, v.step, width, depth, to);
    else if (v.step == 1)
        pack_whole(v, 0, 1, width, depth, to);
    else
        pack_whole(v, 0, v.step, width, depth, to);
}

/* Two numbers that are anywhere. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* Four vectors whose elements lie one behind the other, two of each at a time. */
static void pack_four(const double *at, size_t step, size_t width, size_t depth, double *to)
{
    size_t d = 0;
    for (; d + 2 <= depth; d += 2)
        for (size_t i = 0; i < 4; i += 2) {
            pair one = *(const pair *)(at + i * step + d);
            pair other = *(const pair *)(at + (i + 1) * step + d);
            *(pair *)(to + d * width + i) = __builtin_shufflevector(one, other, 0, 2);
            *(pair *)(to + (d + 1) * width + i) = __builtin_shufflevector(one, other, 1, 3);
        }
    for (size_t i = 0; d < depth && i < 4; i++)
        to[d * width + i] = at[i * step + d];
}

/* to[d * width + i] = vector i's element d, zeros past `count`. */
static void pack(fplt__vectors v, size_t count, size_t width, size_t depth, double *to)
{
    if (!v.narrow && v.deep == 1 && v.group == v.run) {
        size_t four = count / 4 * 4;
        for (size_t i = 0; i < four; i += 4)
            pack_four(v.at + i * v.step, v.step, width, depth, to + i);
        for (size_t d = 0; four < width && d < depth; d++)
            for (size_t i = four; i < width; i++)
                to[d * width + i] = i < count ? v.at[i * v.step + d] : 0;
    } else if (count == width && width == 4) {
        pack_width(v, 4, depth, to);
    } else if (count == width && width == 8) {
        pack_width(v, 8, depth, to);
    } else if (count == width && width == 12) {
        pack_width(v, 12, depth, to);
    } else if (count == width && width == 24) {
        pack_width(v, 24, depth, to);
    } else {
        for (size_t d = 0; d < depth; d++)
            for (size_t i = 0; i < width; i++)
                to[d * width + i] = i < count ? element(v, i, d) : 0;
    }
}

/* Every number of depth d times its weight. */
static inline __attribute__((always_inline)) void
weigh_width(const double *weights, double sign, size_t width, size_t depth, double *packed)
{
    for (size_t d = 0; d < depth; d++, packed += width) {
        double weight = weights ? weights[d] : sign;
        for (size_t i = 0; i < width; i++)
            packed[i] *= weight;
    }
}

static void weigh(const double *weights, double sign, size_t width, size_t depth, double *packed)
{
    if (width == 4)
        weigh_width(weights, sign, 4, depth, packed);
    else
        weigh_width(weights, sign, 8, depth, packed);
}

/* Adds a tile whose corner is (row, column), as far as it lies in the triangle and within `rows`. */
static void add_tile(const fplt__kernel *kernel, const double *tile, size_t row, size_t column,
                     size_t rows, size_t columns, double *c, size_t stride)
{
    size_t width = kernel->tile_columns, height = kernel->tile_rows;
    for (size_t i = 0; i < height && row + i < rows; i++) {
        size_t end = row + i + 1 < columns ? row + i + 1 : columns;
        double *to = c + (row + i) * stride + column;
        size_t taken = end < column + width ? end - column : width;
        for (size_t j = 0; column < end && j < taken; j++)
            to[j] += tile[i * width + j];
    }
}

/* One block of columns, of at most FPLT_DEPTH. */
static void add_block(const fplt__kernel *kernel, fplt__vectors left, fplt__vectors right,
                      size_t rows, size_t first, size_t columns, size_t depth,
                      const double *weights, double sign, double *c, size_t stride)
{
    double packed_right[FPLT_DEPTH * BLOCK] __attribute__((aligned(64)));
    double packed_left[FPLT_DEPTH * FPLT_TILE_MAX] __attribute__((aligned(64)));
    double tile[FPLT_TILE_MAX * FPLT_TILE_MAX * 3] __attribute__((aligned(64)));
    size_t width = kernel->tile_columns, height = kernel->tile_rows;
    size_t end = first + BLOCK < columns ? first + BLOCK : columns;
    for (size_t j = first; j < end; j += width)
        pack(further(right, j, 0), end - j < width ? end - j : width, width, depth,
             packed_right + (j - first) * depth);
    for (size_t i = first / height * height; i < rows; i += height) {
        pack(further(left, i, 0), rows - i < height ? rows - i : height, height, depth,
             packed_left);
        if (weights || sign != 1)
            weigh(weights, sign, height, depth, packed_left);
        for (size_t j = first; j < end && j < i + height; j += width) {
            kernel->tile(depth, packed_left, packed_right + (j - first) * depth, tile);
            add_tile(kernel, tile, i, j, rows, end, c, stride);
        }
    }
}

void fplt__product_add(const fplt__kernel *kernel, fplt__vectors left, fplt__vectors right,
                       size_t rows, size_t columns, size_t depth, const double *weights,
                       double sign, double *c, size_t stride)
{
    for (size_t d = 0; d < depth; d += FPLT_DEPTH) {
        size_t deep = depth - d < FPLT_DEPTH ? depth - d : FPLT_DEPTH;
        for (size_t first = 0; first < columns; first += BLOCK)
            add_block(kernel, further(left, 0, d), further(right, 0, d), rows, first, columns, deep,
                      weights ? weights + d : NULL, sign, c, stride);
    }
}
