/* Streams: known answers, a second Philox written from the paper, and distributions by
 * Kolmogorov-Smirnov and chi-square with fixed seeds. The limits leave chance about 10^-6. */
#include "testing.h"

#include "fedplt/random.h"
#include "base/random.h"

__extension__ typedef unsigned __int128 wide;

static fplt_stream test_stream(uint64_t number)
{
    return fplt_stream_make(2024, 0, FPLT_FOR_TEST, number, 0, 0);
}

/* Vectors that Random123 publishes for philox4x64-10: counter, key, block. */
static void known_answers(void **state)
{
    (void)state;
    static const uint64_t answers[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b,
         0x7e68b68aec7ba23b},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0x87b092c3013fe90b,
         0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0},
        {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89,
         0x452821e638d01377, 0xbe5466cf34e90c6c, 0xa528f45403e61d95, 0x38c72dbd566e9788,
         0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6},
    };
    for (int k = 0; k < 3; k++) {
        const uint64_t *it = answers[k];
        fplt_stream stream = fplt_stream_make(it[4], 0, FPLT_FOR_TEST, it[1], it[2], it[3]);
        stream.key[1] = it[5];
        stream.counter[0] = it[0];
        for (int i = 0; i < 4; i++)
            assert_true(fplt__stream_bits(&stream) == it[6 + i]);
    }
}

/* [Salmon et al. 2011, section 3.3] with the constants of table 2. */
static void philox(const uint64_t counter[4], const uint64_t key[2], uint64_t block[4])
{
    uint64_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
    for (int round = 0; round < 10; round++) {
        wide first = (wide)c[0] * 0xD2E7470EE14C6C93, second = (wide)c[2] * 0xCA5A826395121157;
        uint64_t next[4] = {(uint64_t)(second >> 64) ^ c[1] ^ k[0], (uint64_t)second,
                            (uint64_t)(first >> 64) ^ c[3] ^ k[1], (uint64_t)first};
        memcpy(c, next, sizeof c);
        k[0] += 0x9E3779B97F4A7C15;
        k[1] += 0xBB67AE8584CAA73B;
    }
    memcpy(block, c, sizeof c);
}

static void the_layout_of_key_and_counter(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(11, 22, FPLT_FOR_BATCH, 33, 44, 55);
    const uint64_t key[2] = {11, UINT64_C(22) << 32 | 5};
    for (uint64_t number = 0; number < 100; number++) {
        uint64_t block[4];
        philox((uint64_t[4]){number, 33, 44, 55}, key, block);
        for (int i = 0; i < 4; i++)
            assert_true(fplt__stream_bits(&stream) == block[i]);
    }
    fplt_stream a = test_stream(0), b = a;
    for (int i = 0; i < 100; i++) {
        double expected = ((double)(fplt__stream_bits(&a) / 4096) + 0.5) / 4503599627370496.0;
        assert_true(fplt_stream_uniform(&b) == expected);
    }
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void streams_of_other_keys_differ(void **state)
{
    (void)state;
    enum { COUNT = 6 * 64 };
    static double first[COUNT];
    int used = 0;
    for (int bit = 0; bit < 64; bit++) {
        uint64_t flip = UINT64_C(1) << bit;
        fplt_stream streams[6] = {
            fplt_stream_make(flip, 0, FPLT_FOR_DATA, 0, 0, 0),
            fplt_stream_make(0, 0, FPLT_FOR_DATA, flip, 0, 0),
            fplt_stream_make(0, 0, FPLT_FOR_DATA, 0, flip, 0),
            fplt_stream_make(0, 0, FPLT_FOR_DATA, 0, 0, flip),
            fplt_stream_make(0, bit < 32 ? (uint32_t)flip : 0, FPLT_FOR_TEST, bit >= 32, 0, 1),
            fplt_stream_make(1, 0, (fplt_purpose)(1 + bit % 8), 0, (uint64_t)bit / 8, 0),
        };
        if (bit >= 32)
            streams[4] = fplt_stream_make(7, (uint32_t)bit, FPLT_FOR_NOISE, 0, 0, 0);
        for (int i = 0; i < 6; i++)
            first[used++] = fplt_stream_uniform(&streams[i]);
    }
    qsort(first, COUNT, sizeof *first, compare);
    int same = 0;
    for (int i = 1; i < COUNT; i++)
        same += first[i] == first[i - 1];
    /* one stream was made twice: seed 1, purpose DATA, all else 0 */
    assert_int_equal(same, 1);
}

enum { SAMPLES = 100000 };

static double sample[SAMPLES];

/* sqrt(n) times the largest distance between the empirical and the true distribution function;
 * above 2.7 with probability 10^-6. */
static void follows(double (*distribution)(double))
{
    qsort(sample, SAMPLES, sizeof *sample, compare);
    double largest = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double p = distribution(sample[i]);
        largest = fmax(largest, fmax(p - (double)i / SAMPLES, (i + 1.0) / SAMPLES - p));
    }
    assert_true(largest * sqrt(SAMPLES) < 2.7);
}

static double uniform_distribution(double x)
{
    return x;
}

static double normal_distribution(double x)
{
    return erfc(-x / sqrt(2.0)) / 2;
}

static double half_distribution(double x) /* gamma of shape 1/2 */
{
    return erf(sqrt(x));
}

static double one_distribution(double x)
{
    return -expm1(-x);
}

static double three_distribution(double x)
{
    return 1 - exp(-x) * (1 + x + x * x / 2);
}

static void uniform_numbers(void **state)
{
    (void)state;
    fplt_stream stream = test_stream(1);
    for (int i = 0; i < SAMPLES; i++) {
        sample[i] = fplt_stream_uniform(&stream);
        assert_true(sample[i] > 0 && sample[i] < 1);
    }
    follows(uniform_distribution);
    stream.used = 0;
    stream.block[0] = 0;
    stream.block[1] = UINT64_MAX;
    assert_true(fplt_stream_uniform(&stream) == 0x1p-53);
    assert_true(fplt_stream_uniform(&stream) == 1 - 0x1p-53);
}

/* Box and Muller: two uniforms give two normals, the cosine first. */
static void normals_come_in_pairs(void **state)
{
    (void)state;
    fplt_stream a = test_stream(80), b = a;
    for (int i = 0; i < 100; i++) {
        double radius = sqrt(-2 * log(fplt_stream_uniform(&a)));
        double angle = 8 * atan(1) * fplt_stream_uniform(&a);
        assert_near(fplt_stream_normal(&b), radius * cos(angle), 1e-14);
        assert_near(fplt_stream_normal(&b), radius * sin(angle), 1e-14);
    }
}

static void normal_numbers(void **state)
{
    (void)state;
    fplt_stream stream = test_stream(2), twin = stream;
    double moment[5] = {0};
    for (int i = 0; i < SAMPLES; i++) {
        sample[i] = fplt_stream_normal(&stream);
        for (int k = 1; k <= 4; k++)
            moment[k] += pow(sample[i], k) / SAMPLES;
    }
    /* variances of the moments: 1, 2, 15, 96 over n */
    assert_near(moment[1], 0, 5 * sqrt(1.0 / SAMPLES));
    assert_near(moment[2], 1, 5 * sqrt(2.0 / SAMPLES));
    assert_near(moment[3], 0, 5 * sqrt(15.0 / SAMPLES));
    assert_near(moment[4], 3, 5 * sqrt(96.0 / SAMPLES));
    double neighbours = 0;
    for (int i = 0; i + 1 < SAMPLES; i++)
        neighbours += sample[i] * sample[i + 1] / SAMPLES;
    assert_near(neighbours, 0, 5 * sqrt(1.0 / SAMPLES));
    static double scaled[SAMPLES];
    fplt__stream_normals(&twin, 2.5, scaled, SAMPLES);
    for (int i = 0; i < SAMPLES; i++)
        assert_true(scaled[i] == 2.5 * sample[i]);
    follows(normal_distribution);
}

static void gamma_numbers(void **state)
{
    (void)state;
    static const struct {
        double shape;
        double (*distribution)(double);
    } cases[] = {{0.5, half_distribution},
                 {1, one_distribution},
                 {3, three_distribution},
                 {0.05, NULL},
                 {0.9, NULL},
                 {40, NULL}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double shape = cases[k].shape, mean = 0, variance = 0;
        fplt_stream stream = test_stream(3 + k);
        for (int i = 0; i < SAMPLES; i++) {
            sample[i] = fplt__stream_gamma(&stream, shape);
            assert_true(sample[i] >= 0 && isfinite(sample[i]));
            mean += sample[i] / SAMPLES;
        }
        for (int i = 0; i < SAMPLES; i++)
            variance += pow(sample[i] - mean, 2) / SAMPLES;
        assert_near(mean, shape, 5 * sqrt(shape / SAMPLES));
        /* fourth central moment 3 a^2 + 6 a */
        assert_near(variance, shape, 5 * sqrt((2 * shape * shape + 6 * shape) / SAMPLES));
        if (cases[k].distribution)
            follows(cases[k].distribution);
    }
}

/* Below the value that chance exceeds with probability 10^-6 (Wilson and Hilferty 1931), and not
 * suspiciously small. */
static void fits(const long *seen, const double *expected, size_t cells)
{
    double sum = 0, freedom = (double)cells - 1, spread = 2 / (9 * freedom);
    for (size_t i = 0; i < cells; i++)
        sum += pow((double)seen[i] - expected[i], 2) / expected[i];
    double high = freedom * pow(1 - spread + 4.75 * sqrt(spread), 3);
    double low = freedom * pow(fmax(0, 1 - spread - 4.75 * sqrt(spread)), 3);
    if (sum > high || sum < low)
        fail_msg("chi-square %g with %g degrees of freedom", sum, freedom);
}

static void fits_uniform(const long *seen, size_t cells)
{
    double expected[512];
    long total = 0;
    for (size_t i = 0; i < cells; i++)
        total += seen[i];
    for (size_t i = 0; i < cells; i++)
        expected[i] = (double)total / (double)cells;
    fits(seen, expected, cells);
}

static void geometric_numbers(void **state)
{
    (void)state;
    const double rates[] = {0.2, 0.7};
    for (int k = 0; k < 2; k++) {
        double p = rates[k], expected[12], left = SAMPLES;
        long seen[12] = {0};
        fplt_stream stream = test_stream(20 + (uint64_t)k);
        for (int i = 0; i < SAMPLES; i++) {
            uint64_t trials = fplt__stream_geometric(&stream, p);
            assert_true(trials >= 1);
            seen[trials < 9 ? trials - 1 : 8]++;
        }
        size_t cells = 0;
        for (; cells < 8; cells++) {
            expected[cells] = left * p;
            left -= expected[cells];
        }
        expected[cells++] = left;
        fits(seen, expected, cells);
    }
    fplt_stream stream = test_stream(22);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(fplt__stream_geometric(&stream, 1), 1);
    double mean = 0;
    for (int i = 0; i < SAMPLES; i++)
        mean += (double)fplt__stream_geometric(&stream, 1e-9) / SAMPLES;
    assert_near(mean, 1e9, 5e9 / sqrt(SAMPLES));
    assert_true(fplt__stream_geometric(&stream, 1e-300) == UINT64_C(1) << 63);
}

static void whole_numbers_below_a_bound(void **state)
{
    (void)state;
    const uint64_t bounds[] = {1, 2, 7, 300};
    for (int k = 0; k < 4; k++) {
        long seen[300] = {0};
        fplt_stream stream = test_stream(30 + (uint64_t)k);
        for (int i = 0; i < SAMPLES; i++) {
            uint64_t drawn = fplt_stream_below(&stream, bounds[k]);
            assert_true(drawn < bounds[k]);
            seen[drawn]++;
        }
        if (bounds[k] > 1)
            fits_uniform(seen, bounds[k]);
    }
    /* 3 2^62: without rejection half of the results are multiples of 3 */
    long third[3] = {0};
    fplt_stream stream = test_stream(40);
    for (int i = 0; i < SAMPLES; i++)
        third[fplt_stream_below(&stream, UINT64_C(3) << 62) % 3]++;
    fits_uniform(third, 3);
}

static void shuffles_are_uniform(void **state)
{
    (void)state;
    long seen[256] = {0}, orders[24];
    fplt_stream stream = test_stream(50);
    for (int i = 0; i < SAMPLES; i++) {
        uint32_t array[4] = {0, 1, 2, 3};
        fplt__stream_shuffle(&stream, array, 4);
        assert_int_equal(1u << array[0] | 1u << array[1] | 1u << array[2] | 1u << array[3], 15);
        seen[array[0] << 6 | array[1] << 4 | array[2] << 2 | array[3]]++;
    }
    size_t used = 0;
    for (size_t i = 0; i < 256; i++)
        if (seen[i] && used < 24)
            orders[used++] = seen[i];
    assert_int_equal(used, 24);
    fits_uniform(orders, 24);
    fplt__stream_shuffle(&stream, NULL, 0);
}

static void choose_sorted(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    out[count] = UINT32_MAX;
    fplt__stream_choose(stream, count, from, out);
    assert_true(out[count] == UINT32_MAX);
    for (uint32_t i = 0; i < count; i++)
        assert_true(out[i] < from && (i == 0 || out[i] > out[i - 1]));
}

/* All ways of choosing: few of many, almost all, and what lies between. */
static void chosen_subsets_are_uniform(void **state)
{
    (void)state;
    uint32_t out[1001];
    fplt_stream stream = test_stream(60);
    long pairs[25] = {0}, ten[10];
    for (int i = 0; i < SAMPLES; i++) {
        choose_sorted(&stream, 2, 5, out);
        pairs[out[0] * 5 + out[1]]++;
    }
    size_t used = 0;
    for (size_t a = 0; a < 5; a++)
        for (size_t b = a + 1; b < 5; b++)
            ten[used++] = pairs[a * 5 + b];
    fits_uniform(ten, 10);

    long missing[19] = {0};
    for (int i = 0; i < SAMPLES; i++) {
        choose_sorted(&stream, 18, 19, out);
        uint32_t absent = 0;
        while (absent < 18 && out[absent] == absent)
            absent++;
        missing[absent]++;
    }
    fits_uniform(missing, 19);

    const uint32_t counts[] = {120, 130}; /* of 1000: either side of the switch */
    for (int k = 0; k < 2; k++) {
        long cell[500] = {0};
        for (int i = 0; i < 2000; i++) {
            choose_sorted(&stream, counts[k], 1000, out);
            for (uint32_t j = 0; j < counts[k]; j++)
                cell[out[j] / 2]++;
        }
        fits_uniform(cell, 500);
    }
    const uint32_t some[] = {560, 700, 1000}; /* of 20000: from the switch on */
    for (int k = 0; k < 3; k++) {
        long cell[500] = {0};
        for (int i = 0; i < 1000; i++) {
            choose_sorted(&stream, some[k], 20000, out);
            for (uint32_t j = 0; j < some[k]; j++)
                cell[out[j] / 40]++;
        }
        fits_uniform(cell, 500);
    }
    choose_sorted(&stream, 0, 5, out);
    choose_sorted(&stream, 5, 5, out);
    choose_sorted(&stream, 1000, 1000, out);
    choose_sorted(&stream, 3, UINT32_MAX, out);
}

/* One after the other, by a mark for each of all. */
static void choose_plainly(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    unsigned char *chosen = calloc(from, 1);
    uint32_t size = 0;
    assert_non_null(chosen);
    if ((uint64_t)count * count / 16 <= from) { /* Floyd's */
        for (uint32_t newest = from - count; newest < from; newest++) {
            uint32_t drawn = (uint32_t)fplt_stream_below(stream, (uint64_t)newest + 1);
            chosen[chosen[drawn] ? newest : drawn] = 1;
        }
    } else if (count <= from / 16) { /* until enough are different */
        for (uint32_t drawn = 0; drawn < count; drawn++)
            chosen[fplt_stream_below(stream, from)] = 1;
        for (uint32_t i = 0; i < from; i++)
            size += chosen[i];
        while (size < count) {
            unsigned char *mark = &chosen[fplt_stream_below(stream, from)];
            size += !*mark;
            *mark = 1;
        }
    } else { /* Knuth's */
        for (uint32_t i = 0, taken = 0; taken < count; i++)
            taken += chosen[i] = fplt_stream_below(stream, from - i) < count - taken;
    }
    size = 0;
    for (uint32_t i = 0; i < from; i++)
        if (chosen[i])
            out[size++] = i;
    assert_int_equal(size, count);
    free(chosen);
}

static void one_choice(uint64_t key, uint32_t count, uint32_t from, int begun)
{
    uint32_t *out = malloc((count + 1) * sizeof *out), *plain = malloc((count + 1) * sizeof *plain);
    fplt_stream one = test_stream(key), two = test_stream(key);
    assert_true(out && plain);
    for (int i = 0; i < begun; i++) /* also from within a block of numbers */
        assert_true(fplt__stream_bits(&one) == fplt__stream_bits(&two));
    choose_sorted(&one, count, from, out);
    choose_plainly(&two, count, from, plain);
    if (memcmp(out, plain, count * sizeof *out))
        fail_msg("%u of %u: others were chosen", count, from);
    for (int i = 0; i < 5; i++)
        assert_true(fplt__stream_bits(&one) == fplt__stream_bits(&two));
    free(out);
    free(plain);
}

/* Who is chosen by a seed stays, and what the stream gives afterwards. */
static void choices_are_those_of_plain_ways(void **state)
{
    (void)state;
    static const uint32_t large[][2] = {{4096, 1 << 20},   {4097, 1 << 21},  {4000, 999983},
                                        {5000, 1000000},   {62500, 1000000}, {62501, 1000000},
                                        {999999, 1000000}, {70000, 3000000}, {180000, 3000000}};
    for (uint32_t from = 1; from < 70; from++)
        for (uint32_t count = 0; count <= from; count++)
            one_choice(70 + from, count, from, (int)(count % 6));
    fplt_stream stream = test_stream(69);
    for (uint64_t k = 0; k < 3000; k++) {
        uint32_t from = 1 + (uint32_t)fplt_stream_below(&stream, k % 3 ? 20000 : 300);
        uint32_t count = (uint32_t)fplt_stream_below(&stream, k % 2 ? from / 12 + 1 : from + 1);
        one_choice(1000 + k, count, from, (int)(k % 5));
    }
    for (size_t k = 0; k < sizeof large / sizeof *large; k++)
        one_choice(10000 + k, large[k][0], large[k][1], (int)k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(the_layout_of_key_and_counter),
        cmocka_unit_test(streams_of_other_keys_differ),
        cmocka_unit_test(uniform_numbers),
        cmocka_unit_test(normals_come_in_pairs),
        cmocka_unit_test(normal_numbers),
        cmocka_unit_test(gamma_numbers),
        cmocka_unit_test(geometric_numbers),
        cmocka_unit_test(whole_numbers_below_a_bound),
        cmocka_unit_test(shuffles_are_uniform),
        cmocka_unit_test(chosen_subsets_are_uniform),
        cmocka_unit_test(choices_are_those_of_plain_ways),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
