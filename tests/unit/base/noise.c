/* The discrete Gaussian: exact probabilities by chi-square where they can be listed, moments and
 * uniformity of the low bits at the deviation in use, and the lattice. The source is seeded, so
 * every figure is the same in each run; the one test of the system's source asks only that 64 draws
 * of 20 bits are not repeated, which fails with a probability below 2^-1200. */
#include "testing.h"

#include <signal.h>
#include <sys/syscall.h>

#include <sys/wait.h>

#include "base/noise.h"
#include "fedplt/memory.h"
#include "fedplt/random.h"
#include "base/random.h"

static void seeded(void *context, void *bytes, size_t count)
{
    fplt_stream *stream = context;
    unsigned char *out = bytes;
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = fplt__stream_bits(stream);
        memcpy(out + i, &word, count - i < 8 ? count - i : 8);
    }
}

static fplt_noise *new_noise(fplt_stream *stream, uint64_t seed)
{
    fplt_error error;
    fplt_noise *noise;
    *stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, 0, 0, 0);
    assert_ok(fplt__noise_create_from(seeded, stream, &noise, &error), error);
    return noise;
}

/* Chi-square must lie within five deviations of its mean on either side. */
static void assert_fits(const double *expected, const uint64_t *counted, int cells,
                        const char *what)
{
    double statistic = 0;
    for (int i = 0; i < cells; i++) {
        double difference = (double)counted[i] - expected[i];
        statistic += difference * difference / expected[i];
    }
    double freedom = cells - 1;
    if (fabs(statistic - freedom) > 5 * sqrt(2 * freedom) + 5)
        fail_msg("%s: chi-square %g with %g degrees of freedom", what, statistic, freedom);
}

enum { DRAWS = 1000000, HALF = 40 };

static int64_t draws[DRAWS];

/* Cells -HALF..HALF, cut where fewer than 20 are expected; the rest in the outermost. */
static void chi_square(uint32_t deviation, uint64_t seed)
{
    fplt_stream stream;
    fplt_noise *noise = new_noise(&stream, seed);
    fplt__noise_draw_deviation(noise, deviation, draws, DRAWS);
    double weight[20 * HALF + 1], total = 0;
    for (int i = 0; i <= 20 * HALF; i++) {
        double ratio = (i - 10 * HALF) / (double)deviation;
        total += weight[i] = exp(-ratio * ratio / 2);
    }
    int half = 0;
    while (half < HALF && weight[10 * HALF + half + 1] / total * DRAWS > 20)
        half++;
    double expected[2 * HALF + 1] = {0};
    uint64_t counted[2 * HALF + 1] = {0};
    for (int i = -10 * HALF; i <= 10 * HALF; i++) {
        int cell = i < -half ? 0 : i > half ? 2 * half : i + half;
        expected[cell] += weight[10 * HALF + i] / total * DRAWS;
    }
    for (int i = 0; i < DRAWS; i++) {
        int64_t cell = draws[i] < -half ? 0 : draws[i] > half ? 2 * half : draws[i] + half;
        counted[cell]++;
    }
    char what[40];
    snprintf(what, sizeof what, "deviation %u", deviation);
    assert_fits(expected, counted, 2 * half + 1, what);
    fplt_noise_destroy(noise);
}

static void small_deviations_have_the_exact_probabilities(void **state)
{
    (void)state;
    const uint32_t deviations[] = {1, 2, 3, 5, 8, 13};
    for (uint64_t i = 0; i < 6; i++)
        chi_square(deviations[i], 100 + i);
}

static void trials_have_the_exact_probabilities(void **state)
{
    (void)state;
    static const uint64_t cases[][2] = {{0, 7},   {1, 3},
                                        {5, 7},   {7, 7},
                                        {1, 256}, {19, 7},
                                        {40, 10}, {UINT64_C(1) << 40, UINT64_C(1) << 41}};
    fplt_stream stream;
    fplt_noise *noise = new_noise(&stream, 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t top = cases[i][0], bottom = cases[i][1], hits[2] = {0, 0};
        double ratio = (double)top / (double)bottom;
        for (int t = 0; t < DRAWS / 4; t++) {
            hits[0] += top <= bottom && fplt__noise_ratio(noise, top, bottom);
            hits[1] += fplt__noise_exponential(noise, top, bottom);
        }
        for (int kind = 0; kind < 2; kind++) {
            double p = kind ? exp(-ratio) : top <= bottom ? ratio : 0;
            double spread = sqrt(p * (1 - p) * DRAWS / 4);
            assert_near((double)hits[kind], p * DRAWS / 4, 4.5 * spread);
        }
    }
    fplt_noise_destroy(noise);
}

/* Bytes chosen by the test: a ratio is compared digit by digit, to any depth. */
struct script {
    const unsigned char *bytes;
    size_t length;
};

static void scripted(void *context, void *bytes, size_t count)
{
    const struct script *script = context;
    memset(bytes, 0xff, count);
    memcpy(bytes, script->bytes, script->length);
}

static void a_ratio_is_compared_to_its_last_digit(void **state)
{
    (void)state;
    /* 1/3 is 0x55 repeated in base 256 */
    static const unsigned char digits[3][21] = {
        {0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55,
         0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x54},
        {0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55,
         0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x56},
        {0x54},
    };
    const int expected[] = {1, 0, 1};
    const size_t length[] = {21, 21, 1};
    for (int i = 0; i < 3; i++) {
        fplt_error error;
        fplt_noise *noise;
        struct script script = {digits[i], length[i]};
        assert_ok(fplt__noise_create_from(scripted, &script, &noise, &error), error);
        assert_int_equal(fplt__noise_ratio(noise, 1, 3), expected[i]);
        fplt_noise_destroy(noise);
    }
}

static void moments_are_those_of_the_gaussian(void **state)
{
    (void)state;
    fplt_stream stream;
    fplt_noise *noise = new_noise(&stream, 11);
    fplt__noise_draw(noise, draws, DRAWS);
    double power[5] = {0}, beside = 0, beside_squares = 0;
    int64_t signs = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = (double)draws[i] / FPLT_NOISE_SCALE, product = x;
        for (int k = 1; k <= 4; k++, product *= x)
            power[k] += product;
        signs += (draws[i] > 0) - (draws[i] < 0);
        if (i) {
            double before = (double)draws[i - 1] / FPLT_NOISE_SCALE;
            beside += x * before;
            beside_squares += (x * x - 1) * (before * before - 1);
        }
    }
    /* deviations of the sums: 1, sqrt 2, sqrt 15, sqrt 96 a draw */
    double root = sqrt(DRAWS);
    assert_near(power[1] / root, 0, 4.5);
    assert_near((power[2] - DRAWS) / root, 0, 4.5 * sqrt(2));
    assert_near(power[3] / root, 0, 4.5 * sqrt(15));
    assert_near((power[4] - 3.0 * DRAWS) / root, 0, 4.5 * sqrt(96));
    assert_near((double)signs / root, 0, 4.5);
    assert_near(beside / root, 0, 4.5);
    assert_near(beside_squares / root, 0, 4.5 * 2);
    fplt_noise_destroy(noise);
}

static void large_deviation_has_the_right_shape_and_uniform_low_bits(void **state)
{
    (void)state;
    enum { CELLS = 64 };
    fplt_stream stream;
    fplt_noise *noise = new_noise(&stream, 13);
    fplt__noise_draw(noise, draws, DRAWS);
    uint64_t quantile[CELLS] = {0}, low[256] = {0};
    double expected[CELLS], each[256];
    for (int i = 0; i < DRAWS; i++) {
        double x = ((double)draws[i] + 0.5) / FPLT_NOISE_SCALE;
        int cell = (int)(0.5 * erfc(-x * 0.70710678118654752) * CELLS);
        quantile[cell < CELLS ? cell : CELLS - 1]++;
        low[draws[i] & 255]++;
    }
    for (int i = 0; i < CELLS; i++)
        expected[i] = (double)DRAWS / CELLS;
    for (int i = 0; i < 256; i++)
        each[i] = DRAWS / 256.0;
    assert_fits(expected, quantile, CELLS, "quantiles");
    assert_fits(each, low, 256, "low bits");
    fplt_noise_destroy(noise);
}

static void sums_lie_on_the_lattice_around_the_mean(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static double mean[COUNT], out[COUNT];
    fplt_error error;
    fplt_stream stream;
    fplt_noise *noise = new_noise(&stream, 17);
    double step = 0.3, tau = 0.05, spacing = fplt__noise_spacing(step, tau), sum = 0, squares = 0;
    assert_close(spacing, sqrt(0.6) * 0.05 / 1048576, 1e-15);
    for (int i = 0; i < COUNT; i++)
        mean[i] = fplt_stream_uniform(&stream) * 200 - 100;
    assert_ok(fplt__noise_add(noise, step, tau, mean, out, COUNT, &error), error);
    for (int i = 0; i < COUNT; i++) {
        assert_true(out[i] == spacing * nearbyint(out[i] / spacing));
        sum += out[i] - mean[i];
        squares += (out[i] - mean[i]) * (out[i] - mean[i]);
    }
    double deviation = sqrt(2 * step) * tau;
    assert_near(sum / deviation / sqrt(COUNT), 0, 4.5);
    assert_near(squares / deviation / deviation / COUNT, 1, 4.5 * sqrt(2.0 / COUNT));
    /* in place, and far means are moved to the bound instead of refused */
    double far[3] = {HUGE_VAL, -1e300, 0};
    assert_ok(fplt__noise_add(noise, step, tau, far, far, 3, &error), error);
    assert_close(far[0], 0x1p52 * spacing, 1e-8);
    assert_close(far[1], -0x1p52 * spacing, 1e-8);
    fplt_noise_destroy(noise);
}

static void what_cannot_be_covered_is_refused(void **state)
{
    (void)state;
    fplt_error error;
    fplt_stream stream;
    fplt_noise *noise = new_noise(&stream, 19);
    double mean[2] = {1, NAN}, out[2];
    assert_int_equal(fplt__noise_add(noise, 0.1, 1, mean, out, 2, &error), FPLT_DIVERGED);
    assert_contains(error.text, "coordinate 1");
    const double bad[][2] = {{0, 1}, {1, 0}, {-1, 1}, {NAN, 1}, {1, HUGE_VAL}, {1e-320, 1e-300}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fplt__noise_add(noise, bad[i][0], bad[i][1], mean, out, 1, &error),
                         FPLT_BAD_VALUE);
        assert_int_equal(fplt__noise_lattice_admit(bad[i][0], bad[i][1], "y", mean, 1, &error),
                         FPLT_BAD_VALUE);
    }
    double limit = 0x1p28 * sqrt(2 * 0.5) * 2;
    double within[2] = {limit, -limit}, beyond[2] = {0, limit * 1.0001};
    assert_ok(fplt__noise_lattice_admit(0.5, 2, "y", within, 2, &error), error);
    assert_int_equal(fplt__noise_lattice_admit(0.5, 2, "y", beyond, 2, &error), FPLT_DIVERGED);
    assert_contains(error.text, "coordinate 1 of y");
    assert_int_equal(fplt__noise_lattice_admit(0.5, 2, "v", &mean[1], 1, &error), FPLT_DIVERGED);
    fplt_noise_destroy(noise);
}

static void the_system_source_differs_between_samplers_and_after_a_fork(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    fplt_error error;
    fplt_noise *one, *two;
    int64_t a[COUNT], b[COUNT], child[COUNT];
    assert_ok(fplt_noise_create(&one, &error), error);
    assert_ok(fplt_noise_create(&two, &error), error);
    fplt__noise_draw(one, a, COUNT);
    fplt__noise_draw(two, b, COUNT);
    assert_memory_not_equal(a, b, sizeof a);
    for (int raw = 0; raw < 2; raw++) { /* raw: no fork handler is called */
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t process = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
        assert_true(process >= 0);
        if (process == 0) {
            fplt__noise_draw(one, child, COUNT);
            _exit(write(ends[1], child, sizeof child) != (ssize_t)sizeof child);
        }
        fplt__noise_draw(one, a, COUNT);
        assert_int_equal(read(ends[0], child, sizeof child), sizeof child);
        int status;
        assert_int_equal(waitpid(process, &status, 0), process);
        assert_int_equal(status, 0);
        assert_memory_not_equal(a, child, sizeof a);
        close(ends[0]);
        close(ends[1]);
    }
    fplt_noise_destroy(one);
    fplt_noise_destroy(two);
}

struct counting {
    int left, alive;
};

static void *allocate_some(size_t bytes, void *context)
{
    struct counting *counting = context;
    if (counting->left-- <= 0)
        return NULL;
    counting->alive++;
    return malloc(bytes);
}

static void release_counted(void *memory, void *context)
{
    struct counting *counting = context;
    counting->alive -= memory != NULL;
    free(memory);
}

static void creating_survives_failed_allocations(void **state)
{
    (void)state;
    struct counting counting = {0, 0};
    fplt_allocator allocator = {allocate_some, release_counted, &counting};
    fplt_allocator_set(&allocator);
    fplt_status status = FPLT_NO_MEMORY;
    for (int n = 0; status == FPLT_NO_MEMORY && n < 10; n++) {
        fplt_error error;
        fplt_noise *noise;
        counting.left = n;
        status = fplt_noise_create(&noise, &error);
        if (!status)
            fplt_noise_destroy(noise);
        else
            assert_null(noise);
        assert_int_equal(counting.alive, 0);
    }
    fplt_allocator_set(NULL);
    assert_int_equal(status, FPLT_OK);
    fplt_noise_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_deviations_have_the_exact_probabilities),
        cmocka_unit_test(trials_have_the_exact_probabilities),
        cmocka_unit_test(a_ratio_is_compared_to_its_last_digit),
        cmocka_unit_test(moments_are_those_of_the_gaussian),
        cmocka_unit_test(large_deviation_has_the_right_shape_and_uniform_low_bits),
        cmocka_unit_test(sums_lie_on_the_lattice_around_the_mean),
        cmocka_unit_test(what_cannot_be_covered_is_refused),
        cmocka_unit_test(the_system_source_differs_between_samplers_and_after_a_fork),
        cmocka_unit_test(creating_survives_failed_allocations),
    };
    return cmocka_run_group_tests_name("noise", tests, NULL, NULL);
}
