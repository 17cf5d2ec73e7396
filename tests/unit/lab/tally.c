/* The audit's statistics on noise of its own: probabilities are exact, each kind of mistake is found by
 * its own check, and what is said of power is true. */
#include "testing.h"

#include "failing.h"
#include "lab/audit/tails.h"
#include "lab/audit/tally.h"

enum { ALL, PLACE, ROUND, EPOCH, AGENTS, ROUNDS, EPOCHS, COORDINATES, RUNS, SPREAD };

/* Values of mpmath, 40 digits; closed forms for 1, 2 and 4 degrees of freedom. */
static void chi_square_is_exact(void **state)
{
    (void)state;
    static const struct {
        double value, freedom, below, above;
    } known[] = {
        {900, 1000, 0.0107172380912897416, 0.989282761908710258},
        {1200, 1000, 0.999987744057669377, 0.0000122559423306229042},
        {992000, 1000000, 7.07604911362211266e-9, 0.999999992923950886},
        {1008000, 1000000, 0.999999991610837228, 8.38916277248751847e-9},
        {0.01, 3, 0.000265165058655609837, 0.99973483494134439},
        {60, 3, 0.999999999999412177, 5.87823072790691234e-13},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double below = fplt__chi_square_below(known[i].value, known[i].freedom);
        double above = fplt__chi_square_above(known[i].value, known[i].freedom);
        assert_near(below, known[i].below, 1e-8 * known[i].below);
        assert_near(above, known[i].above, 1e-8 * known[i].above);
    }
    for (double x = 0.25; x < 100; x *= 2) {
        double e = exp(-x / 2);
        assert_near(fplt__chi_square_above(x, 2), e, 1e-13 * e);
        assert_near(fplt__chi_square_above(x, 4), e * (1 + x / 2), 1e-13);
        assert_near(fplt__chi_square_above(x, 1), erfc(sqrt(x / 2)), 1e-13);
        assert_near(fplt__chi_square_below(x, 1), erf(sqrt(x / 2)), 1e-13);
    }
    assert_true(fplt__chi_square_below(0, 5) == 0 && fplt__chi_square_above(0, 5) == 1);
    for (double p = 1e-9; p < 1; p = p < 0.1 ? 10 * p : p + 0.2)
        assert_near(fplt__chi_square_below(fplt__chi_square_quantile(p, 77), 77), p, 1e-9 * p);
}

static void fill(fplt_stream *stream, float *noise, size_t count)
{
    for (size_t i = 0; i < count; i++)
        noise[i] = (float)fplt_stream_normal(stream);
}

static fplt__tally *make(const struct fplt__noise_shape *shape)
{
    fplt__tally *tally;
    fplt_error error;
    assert_ok(fplt__tally_create(shape, &tally, &error), error);
    return tally;
}

/* Two of everything: one test a correlation, which can be written down. */
static void correlations_are_what_they_say(void **state)
{
    (void)state;
    static const struct fplt__noise_shape shape = {2, 2, 2, 2};
    static const unsigned char present[4] = {1, 1, 1, 1};
    float noise[2][2][2][2][2]; /* run, agent, round, epoch, coordinate */
    double product[RUNS + 1] = {0}, square[RUNS + 1] = {0};
    fplt_audit_check check[FPLT__TALLY_CHECKS];
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt__tally *tally = make(&shape);
    fill(&stream, (float *)noise, 32);
    fplt__tally_add(tally, (float *)noise[0], present);
    fplt__tally_add(tally, (float *)noise[1], present);
    fplt__tally_judge(tally, 1e-3, check);
    for (int i = 0; i < 16; i++) {
        int a = i & 1, b = i >> 1 & 1, c = i >> 2 & 1, d = i >> 3;
        const struct {
            int family;
            double x, y;
        } pairs[] = {
            {AGENTS, noise[a][0][b][c][d], noise[a][1][b][c][d]},
            {ROUNDS, noise[a][b][0][c][d], noise[a][b][1][c][d]},
            {EPOCHS, noise[a][b][c][0][d], noise[a][b][c][1][d]},
            {COORDINATES, noise[a][b][c][d][0], noise[a][b][c][d][1]},
            {RUNS, noise[0][a][b][c][d], noise[1][a][b][c][d]},
        };
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
            product[pairs[k].family] += pairs[k].x * pairs[k].y;
            square[pairs[k].family] += pairs[k].y * pairs[k].y;
        }
    }
    for (size_t i = AGENTS; i <= RUNS; i++) {
        double z = product[i] / sqrt(square[i]);
        assert_int_equal(check[i].tests, 1);
        assert_near(check[i].found, z / 4, 1e-12);
        assert_near(check[i].doubt, erfc(fabs(z) / sqrt(2)), 1e-12);
    }
    fplt__tally_destroy(tally);
}

/* A doubt of 0.1 or less happens in a tenth of all tallies, of however few draws; where several tests
 * share it or counts are whole, at most in that. 5 deviations of 4000 trials; the stream is fixed. */
static void doubts_are_probabilities(void **state)
{
    (void)state;
    static const struct fplt__noise_shape shape = {2, 2, 2, 2};
    static const unsigned char present[4] = {1, 1, 1, 1};
    fplt_stream stream = fplt_stream_make(6, 0, FPLT_FOR_TEST, 0, 0, 0);
    size_t low[FPLT__TALLY_CHECKS] = {0};
    float noise[16];
    for (size_t trial = 0; trial < 4000; trial++) {
        fplt_audit_check check[FPLT__TALLY_CHECKS];
        fplt__tally *tally = make(&shape);
        for (int run = 0; run < 2; run++) {
            fill(&stream, noise, 16);
            fplt__tally_add(tally, noise, present);
        }
        fplt__tally_judge(tally, 1e-3, check);
        for (size_t i = 0; i < FPLT__TALLY_CHECKS; i++)
            low[i] += check[i].doubt < 0.1;
        fplt__tally_destroy(tally);
    }
    for (size_t i = 0; i < FPLT__TALLY_CHECKS; i++) {
        assert_true(low[i] < 495);
        assert_true(i == SPREAD || low[i] > 305);
    }
}

static double power_of_deviation(double draws, double level)
{
    return sqrt(fplt__chi_square_quantile(level / 2, draws) /
                fplt__chi_square_quantile(0.99, draws));
}

/* Where an agent is absent nothing is looked at, and two halves are the whole. */
static void absent_agents_and_merging(void **state)
{
    (void)state;
    static const struct fplt__noise_shape shape = {3, 6, 2, 4};
    fplt_stream stream = fplt_stream_make(7, 0, FPLT_FOR_TEST, 0, 0, 0);
    float noise[144];
    unsigned char present[18];
    fplt__tally *whole = make(&shape), *half[2] = {make(&shape), make(&shape)};
    fplt_audit_check check[2][FPLT__TALLY_CHECKS];
    uint64_t draws = 0, own[3] = {0}, least, pairs = 0;
    for (int run = 0; run < 8; run++) {
        fill(&stream, noise, 144);
        for (size_t i = 0; i < 18; i++) {
            present[i] = (size_t)run % 3 != i % 4;
            draws += present[i] ? 8 : 0;
            own[i / 6] += present[i] ? 2 : 0;
            for (size_t k = 0; !present[i] && k < 8; k++)
                noise[8 * i + k] = NAN;
        }
        for (size_t agent = 0; agent < 3; agent++)
            pairs += present[6 * agent] && present[6 * agent + 5] ? 8 : 0;
        fplt__tally_add(whole, noise, present);
        fplt__tally_add(half[run / 4], noise, present);
    }
    least = own[0] < own[1] ? own[0] : own[1];
    least = least < own[2] ? least : own[2];
    fplt__tally_merge(half[0], half[1]);
    fplt__tally_judge(whole, 1e-6, check[0]);
    fplt__tally_judge(half[0], 1e-6, check[1]);
    for (size_t i = 0; i < FPLT__TALLY_CHECKS; i++) {
        assert_true(isfinite(check[0][i].found) && check[0][i].verdict != FPLT_AUDIT_REFUTED);
        assert_memory_equal(&check[0][i].found, &check[1][i].found, sizeof(double));
        assert_int_equal(check[0][i].tests, check[1][i].tests);
    }
    assert_near(check[0][ALL].power, power_of_deviation((double)draws, 1e-6), 1e-12);
    assert_int_equal(check[0][PLACE].tests, 12);
    assert_near(check[0][PLACE].power, power_of_deviation((double)least, 1e-6 / 12), 1e-12);
    /* rounds 5 apart are the first and the last: the fewest pairs; 1 and 2 apart have two tests */
    assert_int_equal(check[0][ROUNDS].tests, 7);
    assert_near(check[0][ROUNDS].power * sqrt((double)pairs), 2.3263478740408408 + 5.26153570081342,
                1e-9);
    fplt__tally_destroy(whole);
    fplt__tally_destroy(half[0]);
    fplt__tally_destroy(half[1]);
}

/* ---- mistakes ---- */

typedef float noise_of_run[3][4][3][4]; /* agent, round, epoch, coordinate */

static void halve_round(noise_of_run noise)
{
    for (int i = 0; i < 36; i++)
        noise[i % 3][2][i / 3 % 3][i / 9] /= 2;
}

static void halve_epoch(noise_of_run noise)
{
    for (int i = 0; i < 48; i++)
        noise[i % 3][i / 3 % 4][1][i / 12] /= 2;
}

static void double_place(noise_of_run noise)
{
    for (int i = 0; i < 12; i++)
        noise[2][i % 4][i / 4][3] *= 2;
}

static void share_agents(noise_of_run noise)
{
    memcpy(noise[2], noise[0], sizeof noise[0]);
}

static void repeat_round(noise_of_run noise)
{
    for (int agent = 0; agent < 3; agent++)
        memcpy(noise[agent][3], noise[agent][0], sizeof noise[agent][0]);
}

static void repeat_epoch(noise_of_run noise)
{
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 4; j++)
            noise[i % 3][i / 3][2][j] = -noise[i % 3][i / 3][1][j];
}

static void repeat_coordinate(noise_of_run noise)
{
    for (int i = 0; i < 36; i++)
        noise[i % 3][i / 3 % 4][i / 12][3] = noise[i % 3][i / 3 % 4][i / 12][1];
}

static void repeat_run(noise_of_run noise)
{
    fplt_stream stream = fplt_stream_make(9, 0, FPLT_FOR_TEST, 0, 0, 0);
    fill(&stream, (float *)noise, 144);
}

/* Uniform, with the right deviation. */
static void flatten(noise_of_run noise)
{
    for (float *x = (float *)noise; x < (float *)noise + 144; x++)
        *x = (float)(sqrt(12) * (0.5 * erfc(-*x / sqrt(2)) - 0.5));
}

static void each_mistake_has_its_check(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(noise_of_run noise);
        int family;
        const char *where;
    } mistakes[] = {
        {halve_round, ROUND, "round 2"},
        {halve_epoch, EPOCH, "epoch 1"},
        {double_place, PLACE, "agent 2, coordinate 3"},
        {share_agents, AGENTS, "agents 0 and 2"},
        {repeat_round, ROUNDS, "3 rounds apart"},
        {repeat_epoch, EPOCHS, "1 epochs apart"},
        {repeat_coordinate, COORDINATES, "coordinates 1 and 3"},
        {repeat_run, RUNS, ""},
        {flatten, SPREAD, NULL},
    };
    static const struct fplt__noise_shape shape = {3, 4, 3, 4};
    unsigned char present[12];
    fplt_stream stream = fplt_stream_make(8, 0, FPLT_FOR_TEST, 0, 0, 0);
    memset(present, 1, sizeof present);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        fplt_audit_check check[FPLT__TALLY_CHECKS];
        fplt__tally *tally = make(&shape);
        for (int run = 0; run < 60; run++) {
            noise_of_run noise;
            fill(&stream, (float *)noise, 144);
            mistakes[i].spoil(noise);
            fplt__tally_add(tally, (float *)noise, present);
        }
        fplt__tally_judge(tally, 1e-6, check);
        const fplt_audit_check *own = &check[mistakes[i].family];
        assert_true(check[ROUNDS].tests == 4 && check[EPOCHS].tests == 3);
        assert_int_equal(own->verdict, FPLT_AUDIT_REFUTED);
        if (mistakes[i].where)
            assert_string_equal(own->where, mistakes[i].where);
        /* what repeats is normal and of the right size everywhere */
        for (int k = ALL; k <= EPOCH && mistakes[i].family >= AGENTS && mistakes[i].family != RUNS;
             k++)
            assert_int_equal(check[k].verdict, FPLT_AUDIT_NOT_REFUTED);
        fplt__tally_destroy(tally);
    }
}

/* Noise of the scale, or correlation, that is said to be refuted is so in 99 of 100 tallies: 500 of a
 * fixed stream, and 480 are 6.7 deviations below. A tenth nearer to the claim it is not. */
static void power_is_as_stated(void **state)
{
    (void)state;
    static const struct fplt__noise_shape shape = {2, 1, 1, 50};
    static const unsigned char present[2] = {1, 1};
    fplt_stream stream = fplt_stream_make(10, 0, FPLT_FOR_TEST, 0, 0, 0);
    size_t refuted[2][2] = {{0, 0}, {0, 0}};
    double scale = 0.8, correlation = 0.3;
    for (int trial = 0; trial < 1000; trial++) {
        fplt_audit_check check[2][FPLT__TALLY_CHECKS];
        fplt__tally *tally[2] = {make(&shape), make(&shape)};
        int nearer = trial % 2;
        for (int run = 0; run < 4; run++) {
            float noise[2][2][50];
            double s = nearer ? 0.5 + scale / 2 : scale, r = nearer ? correlation / 2 : correlation;
            fill(&stream, (float *)noise, 200);
            for (int j = 0; j < 50; j++) {
                noise[0][0][j] *= (float)s;
                noise[0][1][j] *= (float)s;
                noise[1][1][j] = (float)(r * noise[1][0][j] + sqrt(1 - r * r) * noise[1][1][j]);
            }
            fplt__tally_add(tally[0], noise[0][0], present);
            fplt__tally_add(tally[1], noise[1][0], present);
        }
        for (int k = 0; k < 2; k++) {
            fplt__tally_judge(tally[k], 1e-3, check[k]);
            fplt__tally_destroy(tally[k]);
        }
        scale = check[0][ALL].power;
        correlation = check[1][AGENTS].power;
        if (trial > 0) {
            refuted[0][nearer] += check[0][ALL].verdict == FPLT_AUDIT_REFUTED;
            refuted[1][nearer] += check[1][AGENTS].verdict == FPLT_AUDIT_REFUTED;
        }
    }
    for (int k = 0; k < 2; k++) {
        assert_true(refuted[k][0] >= 480);
        assert_true(refuted[k][1] < 450);
    }
}

/* Ten draws see nothing, and one of a kind cannot be compared. */
static void says_when_it_could_not_see(void **state)
{
    (void)state;
    static const struct fplt__noise_shape shape = {1, 1, 1, 5};
    static const unsigned char present[1] = {1};
    static const float noise[5] = {1, -1, 0.5f, 0.25f, -0.5f};
    fplt_audit_check check[FPLT__TALLY_CHECKS];
    fplt__tally *tally = make(&shape);
    fplt__tally_judge(tally, 1e-5, check);
    for (size_t i = 0; i < FPLT__TALLY_CHECKS; i++)
        assert_int_equal(check[i].verdict, FPLT_AUDIT_LEFT_OUT);
    fplt__tally_add(tally, noise, present);
    fplt__tally_judge(tally, 1e-5, check);
    for (size_t i = 0; i < FPLT__TALLY_CHECKS; i++)
        assert_int_equal(check[i].verdict, (i >= AGENTS && i <= EPOCHS) || i == RUNS
                                               ? FPLT_AUDIT_LEFT_OUT
                                               : FPLT_AUDIT_BLIND);
    assert_contains(check[AGENTS].refutes, "no two to compare");
    fplt__tally_destroy(tally);
    survives_failing_allocations(
        {
            fplt__tally *made;
            if (!(status = fplt__tally_create(&shape, &made, NULL)))
                fplt__tally_destroy(made);
        },
        4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chi_square_is_exact),
        cmocka_unit_test(correlations_are_what_they_say),
        cmocka_unit_test(doubts_are_probabilities),
        cmocka_unit_test(absent_agents_and_merging),
        cmocka_unit_test(each_mistake_has_its_check),
        cmocka_unit_test(power_is_as_stated),
        cmocka_unit_test(says_when_it_could_not_see),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
