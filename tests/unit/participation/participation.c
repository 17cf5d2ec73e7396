/* Rules of participation: frequencies within bounds that chance leaves with a probability below
 * 10^-6 (the seeds are fixed), and what each rule promises exactly. */
#include "testing.h"

#include "failing.h"
#include "fedplt/participation.h"
#include "fedplt/random.h"
#include "participation/participation.h"

static fplt_participation *make(const fplt_participation_settings *settings, uint32_t agents)
{
    fplt_error error;
    fplt_participation *rule;
    assert_ok(fplt_participation_create(settings, agents, &rule, &error), error);
    return rule;
}

static void in_order(const uint32_t *active, uint32_t count, uint32_t agents)
{
    for (uint32_t i = 0; i < count; i++)
        assert_true(active[i] < agents && (i == 0 || active[i] > active[i - 1]));
}

static void everyone(void **state)
{
    (void)state;
    fplt_participation_settings settings = {.rule = "all"};
    fplt_participation *rule = make(&settings, 7);
    uint32_t active[7];
    assert_int_equal(fplt_participation_choose(rule, 1, 2, 3, active), 7);
    in_order(active, 7, 7);
    assert_true(fplt__participation_rate(rule, 6) == 1);
    assert_true(fplt__participation_is_full(rule));
    assert_string_equal(fplt__participation_name(rule), "all");
    fplt_participation_destroy(rule);
    fplt_participation_destroy(NULL);
}

enum { AGENTS = 40, ROUNDS = 20000 };

/* Frequencies of agents and of pairs of neighbours. */
static void frequencies(const fplt_participation *rule, long single[AGENTS], long pair[AGENTS])
{
    memset(single, 0, AGENTS * sizeof *single);
    memset(pair, 0, AGENTS * sizeof *pair);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint32_t active[AGENTS], count = fplt_participation_choose(rule, 5, 1, round, active);
        assert_true(count <= AGENTS);
        in_order(active, count, AGENTS);
        for (uint32_t i = 0; i < count; i++) {
            single[active[i]]++;
            pair[active[i]] += i + 1 < count && active[i + 1] == active[i] + 1;
        }
    }
}

static void binomial(long successes, double p)
{
    assert_near((double)successes, ROUNDS * p, 5.5 * sqrt(ROUNDS * p * (1 - p)) + 1e-9);
}

static void bernoulli_frequencies(void **state)
{
    (void)state;
    double each[AGENTS];
    for (int i = 0; i < AGENTS; i++)
        each[i] = i == 7 ? 1 : (i + 1) / (AGENTS + 1.0);
    const double common[] = {0.003, 0.05, 0.12, 0.5, 0.9}; /* the first three by their gaps */
    for (int k = 0; k < 6; k++) {
        fplt_participation_settings settings = {.rule = "bernoulli"};
        if (k < 5)
            settings.probability = common[k];
        else
            settings.probabilities = each;
        fplt_participation *rule = make(&settings, AGENTS);
        long single[AGENTS], pair[AGENTS];
        frequencies(rule, single, pair);
        for (uint32_t i = 0; i < AGENTS; i++) {
            double p = k < 5 ? common[k] : each[i];
            assert_true(fplt__participation_rate(rule, i) == p);
            binomial(single[i], p);
            if (i + 1 < AGENTS)
                binomial(pair[i], p * (k < 5 ? common[k] : each[i + 1]));
        }
        assert_false(fplt__participation_is_full(rule));
        fplt_participation_destroy(rule);
    }
}

/* The coin of an agent is its own: a larger probability keeps all that were in. */
static void bernoulli_cohorts_are_nested(void **state)
{
    (void)state;
    double each[AGENTS];
    for (int i = 0; i < AGENTS; i++)
        each[i] = i % 2 ? 0.4 : 0.7;
    fplt_participation_settings settings = {.rule = "bernoulli", .probability = 0.4};
    fplt_participation *low = make(&settings, AGENTS);
    settings.probabilities = each;
    fplt_participation *mixed = make(&settings, AGENTS);
    for (int i = 0; i < AGENTS; i++)
        each[i] = 0; /* copied: this must not matter */
    for (uint64_t round = 0; round < 500; round++) {
        uint32_t a[AGENTS], b[AGENTS];
        uint32_t few = fplt_participation_choose(low, 1, 1, round, a);
        uint32_t more = fplt_participation_choose(mixed, 1, 1, round, b);
        char in[AGENTS] = {0}, out[AGENTS] = {0};
        for (uint32_t i = 0; i < few; i++)
            in[a[i]] = 1;
        for (uint32_t i = 0; i < more; i++)
            out[b[i]] = 1;
        for (int i = 0; i < AGENTS; i++)
            assert_true(i % 2 ? in[i] == out[i] : in[i] <= out[i]);
    }
    fplt_participation_destroy(low);
    fplt_participation_destroy(mixed);

    double ones[3] = {1, 1, 1};
    settings = (fplt_participation_settings){.rule = "bernoulli", .probabilities = ones};
    fplt_participation *full = make(&settings, 3);
    assert_true(fplt__participation_is_full(full));
    uint32_t active[3];
    for (uint64_t round = 0; round < 1000; round++)
        assert_int_equal(fplt_participation_choose(full, 1, 1, round, active), 3);
    fplt_participation_destroy(full);
}

/* All 20 subsets of three out of six alike: chi-square with 19 degrees of freedom, below 61 with
 * probability 1 - 2.6e-6. */
static void fixed_is_uniform_over_subsets(void **state)
{
    (void)state;
    fplt_participation_settings settings = {.rule = "fixed", .count = 3};
    fplt_participation *rule = make(&settings, 6);
    long seen[64] = {0};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint32_t active[6];
        assert_int_equal(fplt_participation_choose(rule, 9, 0, round, active), 3);
        in_order(active, 3, 6);
        seen[1u << active[0] | 1u << active[1] | 1u << active[2]]++;
    }
    double chi_square = 0, expected = ROUNDS / 20.0;
    for (unsigned set = 0; set < 64; set++)
        if (__builtin_popcount(set) == 3)
            chi_square += pow((double)seen[set] - expected, 2) / expected;
    assert_true(chi_square < 61 && chi_square > 1.5);
    for (uint32_t i = 0; i < 6; i++)
        assert_true(fplt__participation_rate(rule, i) == 0.5);
    assert_false(fplt__participation_is_full(rule));
    fplt_participation_destroy(rule);

    settings.count = 10;
    rule = make(&settings, AGENTS);
    long single[AGENTS], pair[AGENTS];
    frequencies(rule, single, pair);
    for (int i = 0; i < AGENTS; i++)
        binomial(single[i], 0.25);
    fplt_participation_destroy(rule);

    settings.count = 6;
    rule = make(&settings, 6);
    uint32_t active[6];
    assert_true(fplt__participation_is_full(rule));
    assert_int_equal(fplt_participation_choose(rule, 9, 0, 1, active), 6);
    in_order(active, 6, 6);
    fplt_participation_destroy(rule);
}

static void round_robin_by_turns(void **state)
{
    (void)state;
    for (uint32_t agents = 1; agents <= 12; agents++) {
        for (uint32_t count = 1; count <= agents; count++) {
            fplt_participation_settings settings = {.rule = "round-robin", .count = count};
            fplt_participation *rule = make(&settings, agents);
            uint32_t turns[12] = {0}, next = 0, active[12];
            for (uint64_t round = 0; round < agents; round++) {
                assert_int_equal(fplt_participation_choose(rule, round, 3, round, active), count);
                in_order(active, count, agents);
                char in[12] = {0};
                for (uint32_t i = 0; i < count; i++)
                    in[active[i]] = 1;
                for (uint32_t i = 0; i < count; i++, next = (next + 1) % agents) {
                    assert_true(in[next]);
                    turns[next]++;
                }
            }
            for (uint32_t i = 0; i < agents; i++) {
                assert_int_equal(turns[i], count);
                assert_true(fplt__participation_rate(rule, i) == (double)count / agents);
            }
            assert_int_equal(fplt__participation_is_full(rule), count == agents);
            fplt_participation_destroy(rule);
        }
    }
    fplt_participation_settings settings = {.rule = "round-robin", .count = 3000000000u};
    fplt_participation *rule = make(&settings, 4000000000u);
    assert_true(fplt__participation_rate(rule, 5) == 0.75);
    fplt_participation_destroy(rule);
    settings.count = 3;
    rule = make(&settings, 7);
    uint32_t active[7]; /* 2^64 - 1 = 1 mod 7 */
    assert_int_equal(fplt_participation_choose(rule, 0, 0, UINT64_MAX, active), 3);
    assert_true(active[0] == 3 && active[1] == 4 && active[2] == 5);
    fplt_participation_destroy(rule);
}

static uint64_t digest(const fplt_participation *rule, uint64_t seed, uint32_t run, uint64_t round)
{
    uint32_t active[AGENTS], count = fplt_participation_choose(rule, seed, run, round, active);
    uint64_t set = 0;
    for (uint32_t i = 0; i < count; i++)
        set |= UINT64_C(1) << active[i];
    return set;
}

static void only_seed_run_and_round_count(void **state)
{
    (void)state;
    const fplt_participation_settings rules[] = {
        {.rule = "bernoulli", .probability = 0.5},
        {.rule = "fixed", .count = 20},
    };
    for (int k = 0; k < 2; k++) {
        fplt_participation *rule = make(&rules[k], AGENTS), *twin = make(&rules[k], AGENTS);
        uint64_t forward[100];
        for (uint64_t round = 0; round < 100; round++)
            forward[round] = digest(rule, 3, 4, round);
        for (uint64_t round = 100; round-- > 0;) {
            assert_true(digest(rule, 3, 4, round) == forward[round]);
            assert_true(digest(twin, 3, 4, round) == forward[round]);
            assert_true(digest(rule, 2, 4, round) != forward[round]);
            assert_true(digest(rule, 3, 5, round) != forward[round]);
            assert_true(digest(rule, 3, 4, round + 1) != forward[round]);
        }
        fplt_participation_destroy(rule);
        fplt_participation_destroy(twin);
    }
}

static void refused(const fplt_participation_settings *settings, uint32_t agents, const char *part,
                    const char *other)
{
    fplt_error error;
    fplt_participation *rule = (fplt_participation *)&error;
    assert_int_equal(fplt_participation_create(settings, agents, &rule, &error), FPLT_BAD_VALUE);
    assert_null(rule);
    assert_contains(error.text, part);
    assert_contains(error.text, other);
}

static void illegal_settings(void **state)
{
    (void)state;
    const double bad[] = {0, -0.1, 1.5, NAN, HUGE_VAL};
    const char *const shown[] = {"is 0,", "is -0.1,", "is 1.5,", "is nan,", "is inf,"};
    for (int i = 0; i < 5; i++) {
        fplt_participation_settings s = {.rule = "bernoulli", .probability = bad[i]};
        refused(&s, 4, shown[i], "probability");
        double each[4] = {0.5, 1, bad[i], 0.5};
        s = (fplt_participation_settings){
            .rule = "bernoulli", .probability = 0.5, .probabilities = each};
        refused(&s, 4, shown[i], "agent 2");
    }
    const char *const counted[] = {"fixed", "round-robin"};
    for (int i = 0; i < 2; i++) {
        fplt_participation_settings s = {.rule = counted[i], .count = 0};
        refused(&s, 4, "count is 0", "from 1 to 4");
        s.count = 5;
        refused(&s, 4, "count is 5", counted[i]);
    }
    fplt_participation_settings s = {.rule = "trace"};
    refused(&s, 4, "trace", "no file");
    s.rule = "al";
    refused(&s, 4, "did you mean 'all'?", "all, bernoulli, fixed, round-robin, trace");
    s.rule = NULL;
    refused(&s, 4, "one of all", "''");
    s.rule = "all";
    refused(&s, 0, "0 agents", "at least 1");
}

static void the_list_is_complete(void **state)
{
    (void)state;
    const char *const names[] = {"all", "bernoulli", "fixed", "round-robin", "trace"};
    const char *help;
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(fplt__participation_list(i, &help), names[i]);
        assert_true(strlen(help) > 5);
    }
    assert_null(fplt__participation_list(5, &help));
}

static void memory(void **state)
{
    (void)state;
    double each[4] = {0.5, 0.5, 0.5, 0.5};
    fplt_participation_settings settings = {.rule = "bernoulli", .probabilities = each};
    fplt_participation *rule;
    survives_failing_allocations(
        {
            if (!(status = fplt_participation_create(&settings, 4, &rule, NULL)))
                fplt_participation_destroy(rule);
        },
        2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone),
        cmocka_unit_test(bernoulli_frequencies),
        cmocka_unit_test(bernoulli_cohorts_are_nested),
        cmocka_unit_test(fixed_is_uniform_over_subsets),
        cmocka_unit_test(round_robin_by_turns),
        cmocka_unit_test(only_seed_run_and_round_count),
        cmocka_unit_test(illegal_settings),
        cmocka_unit_test(the_list_is_complete),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests_name("participation", tests, NULL, NULL);
}
