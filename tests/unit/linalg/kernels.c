/* Every kernel against plain loops in long double, for all shapes of rows and vectors, and for
 * independence of alignment. */
#include "testing.h"

#include <float.h>

#include "base/memory.h"
#include "fedplt/random.h"
#include "base/random.h"
#include "linalg/kernel.h"

#define for_each_kernel(kernel)                                                                 \
    for (size_t at_ = 0; fplt__kernel_get(at_); at_++)                                          \
        for (const fplt__kernel *kernel = fplt__kernel_get(at_); kernel && kernel->available(); \
             kernel = NULL)

enum { LONGEST = 600 };

static double random_numbers[8 * LONGEST];

static int fill(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(11, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt__stream_normals(&stream, 1, random_numbers, 8 * LONGEST);
    return 0;
}

static void vectors(void **state)
{
    (void)state;
    const double *x = random_numbers, *y = x + LONGEST, *c = x + 2 * LONGEST, *v = x + 3 * LONGEST;
    for_each_kernel(kernel) for (size_t count = 0; count < LONGEST; count += 1 + count / 70)
    {
        long double dot = 0, square = 0, size = 0;
        for (size_t i = 0; i < count; i++) {
            dot += (long double)x[i] * y[i];
            square += (long double)x[i] * x[i];
            size += fabsl((long double)x[i] * y[i]);
        }
        double slack = (double)count * DBL_EPSILON;
        assert_near(kernel->dot(x, y, count), (double)dot, slack * (double)size);
        assert_near(kernel->norm(x, count), (double)sqrtl(square), slack * (double)square);
        double sum[LONGEST];
        memcpy(sum, y, sizeof sum);
        kernel->axpy(0.7, x, sum, count);
        for (size_t i = 0; i < LONGEST; i++)
            assert_near(sum[i], i < count ? y[i] + 0.7 * x[i] : y[i], 1e-15 * (1 + fabs(y[i])));
        for (int which = 0; which < 4; which++) {
            double w[LONGEST];
            memcpy(w, y, sizeof w);
            kernel->step(w, x, which & 1 ? c : NULL, which & 2 ? v : NULL, 0.3, 0.9, count);
            for (size_t i = 0; i < LONGEST; i++) {
                double slope =
                    x[i] + (which & 1 ? c[i] : 0) + (which & 2 ? (y[i] - v[i]) * 0.9 : 0);
                assert_near(w[i], i < count ? y[i] - 0.3 * slope : y[i], 4e-15);
            }
        }
    }
}

/* A matrix in the layout that the kernel would choose, or sparse, or that with the same number all along a
 * row; and its rows beside it. */
enum { DENSE, SPARSE, SAME, KINDS };

struct sample {
    fplt__matrix matrix;
    double *rows;
};

static struct sample make(const fplt__kernel *kernel, size_t rows, size_t columns, int sparse)
{
    int panels = columns <= kernel->panel_columns;
    struct sample s = {
        .matrix = {.layout = sparse   ? FPLT_SPARSE
                             : panels ? FPLT_PANELS
                                      : FPLT_ROWS,
                   .panel = kernel->panel_rows,
                   .rows = rows,
                   .columns = columns,
                   .stride = panels ? columns
                                    : (columns + kernel->row_multiple - 1) / kernel->row_multiple *
                                          kernel->row_multiple},
        .rows = fplt__alloc(rows * columns, sizeof(double)),
    };
    fplt__matrix *a = &s.matrix;
    a->dense = fplt__alloc(fplt__matrix_padded(a, rows) * a->stride, sizeof(double));
    a->value = fplt__alloc(rows * columns, sizeof(double));
    a->column = fplt__alloc(rows * columns, sizeof *a->column);
    a->start = fplt__alloc(rows + 1, sizeof *a->start);
    a->same = fplt__alloc(rows, sizeof *a->same);
    fplt_stream stream = fplt_stream_make(12, 0, FPLT_FOR_TEST, rows, columns, 0);
    for (size_t r = 0; r < rows; r++) {
        a->start[r + 1] = a->start[r];
        a->same[r] = fplt_stream_normal(&stream);
        for (size_t j = 0; j < columns; j++) {
            if (sparse && fplt_stream_below(&stream, 3))
                continue;
            double number = sparse == SAME ? a->same[r] : fplt_stream_normal(&stream);
            s.rows[r * columns + j] = number;
            if (sparse) {
                a->value[a->start[r + 1]] = number;
                a->column[a->start[r + 1]++] = (uint32_t)j;
            } else {
                a->dense[fplt__matrix_place(a, r, j)] = number;
            }
        }
    }
    if (sparse == SAME) {
        fplt__free(a->value);
        a->value = NULL;
    }
    return s;
}

static void discard(struct sample *s)
{
    fplt__free(s->rows);
    fplt__free(s->matrix.dense);
    fplt__free(s->matrix.value);
    fplt__free(s->matrix.same);
    fplt__free(s->matrix.column);
    fplt__free(s->matrix.start);
}

/* Vectors at an odd place, with something behind them that must not be touched. */
static void one_shape(const fplt__kernel *kernel, size_t rows, size_t columns, int sparse)
{
    struct sample s = make(kernel, rows, columns, sparse);
    size_t first = rows > 20 ? 16 : 0, count = rows - first,
           padded = sparse ? count : fplt__matrix_padded(&s.matrix, count);
    double x[LONGEST]; /* what is behind it must not be read */
    for (size_t j = 0; j < LONGEST; j++)
        x[j] = j < columns ? random_numbers[j + 1] : NAN;
    double margins[80] = {0}, weights[80] = {0}, sum[LONGEST], column[80];
    kernel->margins(&s.matrix, first, count, x, margins);
    for (size_t r = 0; r < padded; r++) {
        long double dot = 0, size = 0;
        for (size_t j = 0; j < columns && r < count; j++) {
            dot += (long double)s.rows[(first + r) * columns + j] * x[j];
            size += fabsl((long double)s.rows[(first + r) * columns + j] * x[j]);
        }
        if (!(fabs(margins[r] - (double)dot) <= DBL_EPSILON * (double)(columns * size)))
            fail_msg("%s, %zu x %zu, sparse %d: margin %zu is %g, not %g", kernel->name, rows,
                     columns, sparse, r, margins[r], (double)dot);
        if (r < count)
            weights[r] = random_numbers[LONGEST + r];
    }
    memcpy(sum, random_numbers, sizeof sum);
    kernel->combine(&s.matrix, first, count, weights, sum);
    for (size_t j = 0; j < LONGEST; j++) {
        long double exact = random_numbers[j], size = fabsl(exact);
        for (size_t r = 0; r < count && j < columns; r++) {
            exact += (long double)weights[r] * s.rows[(first + r) * columns + j];
            size += fabsl((long double)weights[r] * s.rows[(first + r) * columns + j]);
        }
        if (!(fabs(sum[j] - (double)exact) <= DBL_EPSILON * (double)(rows * size)))
            fail_msg("%s, %zu x %zu, sparse %d: combined %zu is %g, not %g", kernel->name, rows,
                     columns, sparse, j, sum[j], (double)exact);
    }
    for (size_t j = 0; j < columns; j++) {
        fplt__matrix_column(&s.matrix, first, count, j, column);
        for (size_t r = 0; r < count; r++)
            assert_true(column[r] == s.rows[(first + r) * columns + j]);
    }
    for (size_t r = 0; r < rows; r++) {
        double single = fplt__matrix_row_dot(&s.matrix, r, x);
        if (r >= first)
            assert_near(single, margins[r - first], 1e-13 * (double)columns);
    }
    discard(&s);
}

static void expect_near(const fplt__kernel *kernel, const char *what, const struct sample *s,
                        double found, long double exact, long double size)
{
    if (!(fabsl(found - exact) <=
          DBL_EPSILON * (long double)(s->matrix.rows + 8) * (long double)s->matrix.columns * size))
        fail_msg("%s, %zu x %zu, layout %d: %s %g, not %g", kernel->name, s->matrix.rows,
                 s->matrix.columns, s->matrix.layout, what, found, (double)exact);
}

/* Several outputs at once, of rows in their order and of some that are picked, one of them twice. */
static void several(const fplt__kernel *kernel, size_t rows, size_t columns, size_t outputs,
                    int sparse, int picked)
{
    enum { STRIDE = 96, OUTPUTS = 7 };
    struct sample s = make(kernel, rows, columns, sparse);
    fplt__matrix a = s.matrix;
    uint32_t pick[80];
    size_t count = picked ? rows + 1 : rows;
    double x[OUTPUTS * 130], y[OUTPUTS * 130],
        margins[OUTPUTS * STRIDE] = {0}, weights[OUTPUTS * STRIDE],
                          *room = fplt__alloc(fplt__padded(count) * columns, 8);
    for (size_t r = 0; r < count; r++)
        pick[r] = picked ? (uint32_t)((r * 7 + 3) % rows) : (uint32_t)r;
    if (picked && a.layout == FPLT_PANELS) {
        double first[STRIDE], again[STRIDE];
        for (size_t j = 0; j < columns; j++)
            x[j] = random_numbers[j];
        kernel->collect(&s.matrix, pick, count, room, x, 0, first);
        a.dense = room;
        kernel->margins(&a, 0, count, x, again);
        assert_memory_equal(first, again, fplt__matrix_padded(&a, count) * sizeof *first);
        kernel->sigmoid(again, count);
        kernel->collect(&s.matrix, pick, count, room, x, 1, first);
        assert_memory_equal(first, again, fplt__matrix_padded(&a, count) * sizeof *first);
    } else if (picked) {
        a.pick = pick;
    }
    for (size_t i = 0; i < OUTPUTS * 130; i++) {
        x[i] = i < outputs * columns ? random_numbers[i] : NAN;
        y[i] = random_numbers[1000 + i];
    }
    for (size_t i = 0; i < OUTPUTS * STRIDE; i++)
        weights[i] = i % STRIDE < count ? random_numbers[2000 + i] : 0;
    kernel->all_margins(&a, 0, count, outputs, x, margins, STRIDE);
    kernel->all_combine(&a, 0, count, outputs, weights, STRIDE, y);
    for (size_t o = 0; o < outputs; o++) {
        for (size_t r = 0; r < (sparse ? count : fplt__matrix_padded(&a, count)); r++) {
            long double dot = 0, size = 0;
            for (size_t j = 0; j < columns && r < count; j++) {
                long double term = (long double)s.rows[pick[r] * columns + j] * x[o * columns + j];
                dot += term;
                size += fabsl(term);
            }
            expect_near(kernel, "margin", &s, margins[o * STRIDE + r], dot, size);
        }
        for (size_t j = 0; j < columns; j++) {
            long double sum = random_numbers[1000 + o * columns + j], size = fabsl(sum);
            for (size_t r = 0; r < count; r++) {
                long double term =
                    (long double)weights[o * STRIDE + r] * s.rows[pick[r] * columns + j];
                sum += term;
                size += fabsl(term);
            }
            expect_near(kernel, "combined", &s, y[o * columns + j], sum, size);
        }
    }
    for (size_t i = outputs * columns; i < OUTPUTS * 130; i++)
        assert_true(y[i] == random_numbers[1000 + i]);
    fplt__free(room);
    discard(&s);
}

static void outputs_and_picks(void **state)
{
    (void)state;
    static const size_t columns[] = {1, 2, 5, 16, 17, 24, 25, 31, 40, 63, 100, 129};
    for_each_kernel(kernel) for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) for (
        size_t rows = 1; rows <= 70;
        rows +=
        1 +
        rows / 6) for (size_t outputs = 1; outputs <= 7;
                       outputs++) for (int sparse = 0; sparse < KINDS;
                                       sparse++) for (int picked = 0; picked < 2;
                                                      picked++) if (drawn_takes((((i * 128 + rows) *
                                                                                      8 +
                                                                                  outputs) *
                                                                                     4 +
                                                                                 (size_t)sparse) *
                                                                                    2 +
                                                                                (size_t)picked))
        several(kernel, rows, columns[i], outputs, sparse, picked);
}

static void matrices(void **state)
{
    (void)state;
    for_each_kernel(kernel)
    {
        for (size_t columns = 1; columns <= 40; columns++)
            for (size_t rows = 1; rows <= 40; rows++)
                for (int sparse = 0; sparse < KINDS; sparse++)
                    if (drawn_takes(columns * 256 + rows * 4 + (size_t)sparse))
                        one_shape(kernel, rows, columns, sparse);
        const size_t odd[] = {64, 65, 100, 127, 257, 519};
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
            for (size_t rows = 1; rows <= 70; rows += 3)
                for (int sparse = 0; sparse < KINDS; sparse++)
                    one_shape(kernel, rows, odd[i], sparse);
    }
}

/* The same numbers at another address give the same bits. */
static void alignment_does_not_matter(void **state)
{
    (void)state;
    for_each_kernel(kernel) for (size_t columns = 1; columns < 60; columns++)
    {
        struct sample s = make(kernel, 37, columns, 0);
        double first_margins[40], first_sum[60], first_dot = 0;
        for (size_t shift = 0; shift < 9; shift++) {
            double x[80], sum[80], margins[60], weights[60];
            memcpy(x + shift, random_numbers, columns * sizeof *x);
            memcpy(sum + shift, random_numbers + LONGEST, columns * sizeof *x);
            memcpy(weights + shift, random_numbers + 2 * LONGEST, 40 * sizeof *weights);
            kernel->margins(&s.matrix, 0, 37, x + shift, margins + shift);
            kernel->combine(&s.matrix, 0, 37, weights + shift, sum + shift);
            double dot = kernel->dot(x + shift, sum + shift, columns);
            if (!shift) {
                memcpy(first_margins, margins, sizeof first_margins);
                memcpy(first_sum, sum, sizeof first_sum);
                first_dot = dot;
            }
            assert_memory_equal(margins + shift, first_margins, 37 * sizeof *margins);
            assert_memory_equal(sum + shift, first_sum, columns * sizeof *sum);
            assert_true(dot == first_dot);
        }
        discard(&s);
    }
}

static void choice(void **state)
{
    (void)state;
    fplt_error error;
    const fplt__kernel *kernel;
    fplt__kernel_shape unknown = {.columns = 0};
    assert_ok(fplt__kernel_choose(NULL, &unknown, &kernel, &error), error);
    assert_ptr_equal(kernel, fplt__kernel_for(&unknown, 0));
    assert_ok(fplt__kernel_choose("reference", NULL, &kernel, &error), error);
    assert_string_equal(kernel->name, "reference");
    assert_int_equal(fplt__kernel_choose("avx1024", NULL, &kernel, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "avx1024");
    assert_contains(error.text, "reference");
    for (size_t i = 0; fplt__kernel_get(i); i++) {
        const fplt__kernel *listed = fplt__kernel_get(i);
        fplt_status status = fplt__kernel_choose(listed->name, NULL, &kernel, &error);
        assert_int_equal(status, listed->available() ? FPLT_OK : FPLT_UNSUPPORTED);
        if (!status)
            assert_ptr_equal(kernel, listed);
    }
}

/* The automatic kernel by shape, on processors of AMD and of others; the figures behind it are those of bench/shapes.
 */
static void choice_by_shape(void **state)
{
    (void)state;
    static const struct {
        fplt__kernel_shape shape;
        const char *amd, *other;
    } cases[] = {
        {{.columns = 5, .rows = 250, .agents = 100}, "avx512", "avx512"},
        {{.columns = 5, .rows = 10, .agents = 100000}, "avx2", "avx2"},
        {{.columns = 24, .rows = 31, .agents = 1000}, "avx2", "avx2"},
        {{.columns = 25, .rows = 10, .agents = 100000}, "avx2", "avx512"},
        {{.columns = 5, .rows = 10, .agents = 4}, "avx512", "avx512"}, /* as on hosts */
        {{.columns = 5, .rows = 32, .agents = 100000}, "avx512", "avx512"},
        {{.columns = 100, .rows = 20000, .agents = 1}, "avx2", "avx512"},
        {{.columns = 20, .rows = 2000, .agents = 1, .batch = 32}, "avx2", "avx2"},
        {{.columns = 32, .rows = 2000, .agents = 1, .batch = 32}, "avx2", "avx512"},
        {{.columns = 20, .rows = 10, .agents = 5000, .batch = 32, .sparse = 1}, "avx512", "avx512"},
        {{.columns = 24, .rows = 250, .agents = 4, .narrow = 1}, "avx512", "avx512"},
        {{.columns = 100, .rows = 250, .agents = 4, .narrow = 1}, "avx2", "avx512"},
        {{.columns = 16, .rows = 250, .agents = 4, .batch = 32, .narrow = 1}, "avx512", "avx2"},
        {{.columns = 17, .rows = 250, .agents = 4, .batch = 32, .narrow = 1}, "avx2", "avx2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int amd = fplt__kernel_avx512_is_slower(&cases[i].shape, 1);
        int other = fplt__kernel_avx512_is_slower(&cases[i].shape, 0);
        assert_string_equal(amd ? "avx2" : "avx512", cases[i].amd);
        assert_string_equal(other ? "avx2" : "avx512", cases[i].other);
    }
#if defined(__x86_64__)
    fplt_error error;
    const fplt__kernel *wide, *kernel;
    if (fplt__kernel_choose("avx512", NULL, &wide, &error) ||
        fplt__kernel_choose("avx2", NULL, &kernel, &error))
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(fplt__kernel_choose(NULL, &cases[i].shape, &kernel, &error), error);
        assert_string_equal(kernel->name, __builtin_cpu_is("amd") ? cases[i].amd : cases[i].other);
        /* where another process has AVX2 only, so have all */
        assert_string_equal(fplt__kernel_for(&cases[i].shape, 1)->name, "avx2");
    }
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(matrices),
        cmocka_unit_test(outputs_and_picks),
        cmocka_unit_test(alignment_does_not_matter),
        cmocka_unit_test(choice),
        cmocka_unit_test(choice_by_shape),
    };
    return cmocka_run_group_tests_name("kernels", tests, fill, NULL);
}
