/* What may be combined, what is counted, what is chosen where nothing is given; the same bits for any
 * number of threads and for agents driven by hand; TAMUNA's order of the cohort. */
#include "problem.h"

#include "algorithm/algorithm.h"
#include "fedplt/hub_node.h"
#include "algorithm/local_step.h"
#include "base/random.h"
#include "engine/engine_access.h"

enum { AGENTS = 10, N = 6, MAX_WORDS = 2 * N * (N + 3) };

/* Which combinations the table of the methods allows. */
static const struct rules {
    const char *name;
    int random, minimiser, accelerated, privacy, partial, composite;
} rules[] = {
    {"fed-plt", 1, 1, 1, 1, 1, 1},
    {"fedsplit", 1, 1, 1, 1, 0, 0},
    {"fedpd", 1, 1, 1, 1, 0, 0},
    {"fedprox", 1, 1, 1, 1, 1, 0},
    {"fedavg", 1, 1, 1, 1, 1, 0},
    {"led", 1, 0, 0, 1, 0, 0},
    {"scaffnew", 1, 0, 0, 1, 0, 0},
    {"tamuna", 1, 0, 0, 1, 1, 0},
    {"scaffold", 1, 0, 0, 1, 1, 0},
    {"fedlin", 1, 0, 1, 0, 0, 0},
    {"5gcs", 1, 1, 1, 0, 1, 0},
    {"fed-plt-anderson", 0, 1, 1, 0, 0, 1},
    {"fed-lbfgs", 0, 0, 0, 0, 0, 1},
    {"fed-newton", 0, 0, 0, 0, 0, 1},
    {"fednl", 0, 0, 0, 0, 0, 0},
    {"fed-lbfgs-partial", 0, 0, 0, 0, 1, 1},
    {"fed-newton-partial", 0, 0, 0, 0, 1, 1},
};
enum { METHODS = sizeof rules / sizeof *rules };

static void expect(int allowed, fplt_status status, const fplt_error *error, const char *phrase)
{
    if (allowed) {
        assert_int_equal(status, FPLT_OK);
        return;
    }
    assert_int_equal(status, FPLT_UNSUPPORTED);
    assert_contains(error->text, phrase);
    assert_false(strstr(error->text, "(null)"));
}

static void what_is_not_allowed_is_refused_with_the_reason(void **state)
{
    (void)state;
    const fplt_solver *plain = fplt_solver_find("gradient");
    static const char *const random[] = {"sgd", "svrg", "noisy"};
    for (int m = 0; m < METHODS; m++) {
        const struct rules *rule = &rules[m];
        const fplt_algorithm *a = fplt_algorithm_find(rule->name);
        fplt_error error;
        assert_int_equal(fplt_algorithm_allow(a, plain, 0, 0, 0, &error), FPLT_OK);
        for (int i = 0; i < 3; i++)
            expect(rule->random,
                   fplt_algorithm_allow(a, fplt_solver_find(random[i]), 0, 0, 0, &error), &error,
                   rule->minimiser ? "which randomness would swamp" : "no local training");
        expect(rule->minimiser,
               fplt_algorithm_allow(a, fplt_solver_find("newton"), 0, 0, 0, &error), &error,
               "does not take the solver newton: i");
        expect(rule->minimiser, fplt_algorithm_allow(a, fplt_solver_find("lbfgs"), 0, 0, 0, &error),
               &error, "does not take the solver lbfgs: i");
        expect(rule->accelerated,
               fplt_algorithm_allow(a, fplt_solver_find("accelerated"), 0, 0, 0, &error), &error,
               "does not take the solver accelerated: i");
        expect(rule->partial, fplt_algorithm_allow(a, plain, 1, 0, 0, &error), &error,
               "needs every agent in every round: ");
        expect(rule->composite, fplt_algorithm_allow(a, plain, 0, 1, 0, &error), &error,
               "no proximal step for h");
        expect(rule->privacy, fplt_algorithm_allow(a, plain, 0, 0, 1, &error), &error,
               "cannot carry a privacy claim: it");
    }
    assert_null(fplt_algorithm_list(METHODS));
}

static void the_engine_refuses_too(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 20, 0.2, 2);
    for (int m = 0; m < METHODS; m++) {
        fplt_error error;
        trial some = {.algorithm = rules[m].name, .count = 4};
        expect(rules[m].partial, trial_try(&some, &p, &error), &error, "every agent");
        trial_end(&some);
        trial newton = {.algorithm = rules[m].name, .solver = "newton"};
        expect(rules[m].minimiser, trial_try(&newton, &p, &error), &error, "newton");
        trial_end(&newton);
    }
    problem_free(&p);
}

static void scaffold_claims_privacy_only_with_option_two(void **state)
{
    (void)state;
    const fplt_algorithm *a = fplt_algorithm_find("scaffold");
    fplt_facts facts = {{0.1, 1}, AGENTS, AGENTS, 5, N, 1};
    fplt_error error;
    double parameter[] = {1, 1};
    assert_int_equal(fplt__algorithm_resolve(a, &facts, parameter, &error), FPLT_OK);
    parameter[0] = 0;
    assert_int_equal(fplt__algorithm_resolve(a, &facts, parameter, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "option I cannot carry a privacy claim");
    facts.claim = 0;
    assert_int_equal(fplt__algorithm_resolve(a, &facts, parameter, &error), FPLT_OK);
}

static void refuse(trial t, const char *phrase)
{
    problem p = problem_logistic(AGENTS, N, 20, 0.2, 2);
    fplt_error error;
    assert_int_equal(trial_try(&t, &p, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, phrase);
    trial_end(&t);
    problem_free(&p);
}

static void impossible_parameters_are_refused(void **state)
{
    (void)state;
    refuse((trial){.algorithm = "fedpd", .names = {"eta"}, .values = {0}},
           "fedpd: eta is 0, but it must be");
    refuse((trial){.algorithm = "led", .names = {"beta"}, .values = {-1}}, "led: beta is -1");
    refuse((trial){.algorithm = "scaffnew", .names = {"p"}, .values = {1.5}}, "p is 1.5");
    refuse((trial){.algorithm = "tamuna", .names = {"s"}, .values = {1}}, "tamuna: s is 1");
    refuse((trial){.algorithm = "tamuna", .names = {"s"}, .values = {2.5}}, "tamuna: s is 2.5");
    refuse((trial){.algorithm = "tamuna", .names = {"s", "chi"}, .values = {2, 0.6}},
           "it must be at most N (s - 1)/(s (N - 1)) = 0.55");
    refuse((trial){.algorithm = "tamuna", .count = 1}, "it needs at least 2");
    refuse((trial){.algorithm = "scaffold", .names = {"option"}, .values = {2}}, "one of I, II");
    refuse((trial){.algorithm = "5gcs",
                   .names = {"penalty", "strong-convexity"},
                   .values = {0.1, 0.5}},
           "raise penalty (0.1) or lower strong-convexity (0.5)");
    refuse((trial){.algorithm = "fedprox", .names = {"mu"}, .values = {HUGE_VAL}}, "mu");
}

/* Vectors and gradients of an agent's round, and vectors stored, as the table of the methods has
 * them: kept by an agent and by the coordinator; the paper counts what an agent works with too. */
static const struct costs {
    const char *name;
    unsigned up, down_all, down_some;
    double gradients, charged; /* with Ne = 5 and rounds of fixed length */
    unsigned agent, coordinator, paper_agent, paper_coordinator;
} costs[] = {
    {"fed-plt", 1, 1, 1, 5, 5, 2, 1, 2, 1}, {"fedsplit", 1, 1, 0, 5, 5, 1, 1, 0, 0},
    {"fedpd", 1, 1, 0, 5, 5, 2, 1, 2, 1},   {"fedlin", 2, 2, 0, 6, 6, 0, 2, 2, 1},
    {"led", 1, 1, 0, 5, 5, 1, 1, 2, 1},     {"scaffnew", 1, 1, 0, 0, 0, 1, 1, 0, 0},
    {"tamuna", 1, 1, 2, 0, 0, 1, 1, 2, 1},  {"scaffold", 2, 2, 2, 5, 5, 1, 2, 0, 0},
    {"5gcs", 1, 1, 1, 6, 5, 1, 3, 1, 3},    {"fedavg", 1, 1, 1, 5, 5, 0, 1, 0, 0},
    {"fedprox", 1, 1, 1, 5, 5, 0, 1, 0, 0},
};

static double random_lengths(const trial *t, uint64_t rounds)
{
    double total = 0;
    for (uint64_t k = 0; k < rounds; k++) {
        fplt_stream shared = fplt_stream_make(SEED, 0, FPLT_FOR_SHARED, k, 0, 0);
        total += (double)fplt__stream_geometric(&shared, fplt__engine_parameters(t->engine)[0]);
    }
    return total;
}

static void counters_follow_the_table(void **state)
{
    (void)state;
    enum { ROUNDS = 9 };
    problem p = problem_logistic(AGENTS, N, 20, 0.2, 2);
    for (size_t m = 0; m < sizeof costs / sizeof *costs; m++) {
        const struct costs *cost = &costs[m];
        for (int partial = 0; partial < 2; partial++) {
            uint64_t active = partial ? 4 : AGENTS;
            if (partial && !cost->down_some)
                continue;
            trial t = {.algorithm = cost->name, .count = partial ? 4 : 0};
            trial_start(&t, &p);
            for (int k = 0; k < ROUNDS; k++)
                trial_round(&t);
            const fplt_counters *counters = fplt_engine_counters(t.engine);
            double length = cost->gradients > 0 ? 0 : random_lengths(&t, ROUNDS);
            assert_int_equal(counters->updates, ROUNDS * active);
            assert_int_equal(counters->vectors_up, ROUNDS * active * cost->up);
            assert_int_equal(counters->vectors_down,
                             ROUNDS * active * (partial ? cost->down_some : cost->down_all));
            assert_true(counters->gradients ==
                        (double)active * (ROUNDS * cost->gradients + length));
            assert_true(counters->paper_gradients ==
                        (double)active * (ROUNDS * cost->charged + length));
            assert_int_equal(counters->exchanges,
                             ROUNDS * active * (strcmp(cost->name, "fedlin") ? 1 : 2));
            trial_end(&t);
        }
    }
    trial one = {.algorithm = "scaffold", .names = {"option"}, .values = {0}};
    trial_start(&one, &p);
    trial_round(&one);
    assert_true(fplt_engine_counters(one.engine)->gradients == 6.0 * AGENTS);
    trial_end(&one);
    problem_free(&p);
}

static void stored_vectors_follow_the_table(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof costs / sizeof *costs; m++) {
        const fplt_algorithm *a = fplt_algorithm_find(costs[m].name);
        assert_int_equal(a->shape.kept, costs[m].agent);
        assert_int_equal(a->shape.vectors + a->shape.mirrored, costs[m].coordinator);
        assert_int_equal(a->paper.agent, costs[m].paper_agent);
        assert_int_equal(a->paper.coordinator, costs[m].paper_coordinator);
        /* the working iterates that the paper counts as well */
        if (a->paper.agent && strcmp(a->name, "fedlin"))
            assert_int_equal(a->shape.kept + a->shape.held, a->paper.agent);
        assert_true(a->title && a->reference && a->paper.epochs && a->paper.problems);
        assert_true(a->step_rule || !strcmp(a->name, "fed-plt"));
        for (size_t i = 0; a->settings[i].name; i++) /* the common settings have these names */
            assert_true(strcmp(a->settings[i].name, "gamma") && strcmp(a->settings[i].name, "tau"));
    }
}

static void automatic_values_are_the_published_ones(void **state)
{
    (void)state;
    const double L = 4, mu = 0.25, c = 5;
    fplt_facts facts = {{mu, L}, AGENTS, 5, 8, N, 0};
    const struct {
        const char *name;
        double step, parameter[3];
    } expected[] = {
        {"fedpd", 2 / (L + mu + 2), {1}},
        {"fedsplit", 2 / (L + mu + 2), {1}},
        {"fedlin", 1 / (8 * L), {0}},
        {"led", 0.4 / L, {1.0 / 8}},
        {"scaffnew", 1 / L, {1.0 / 8}},
        {"tamuna", 1 / L, {1.0 / 8, AGENTS * (c - 1) / (c * (AGENTS - 1)), AGENTS}},
        {"scaffold", 1 / (8 * L), {1, 1}},
        {"5gcs", 1 / (L - mu + 8.0 / 3 * sqrt(2)), {3.0 / 16 * sqrt(0.5), 8.0 / 3 * sqrt(2), mu}},
        {"fedavg", 1 / (8 * L), {0}},
        {"fedprox", 1 / (8 * L), {1}},
    };
    for (size_t m = 0; m < sizeof expected / sizeof *expected; m++) {
        const fplt_algorithm *a = fplt_algorithm_find(expected[m].name);
        double parameter[FPLT_MAX_PARAMETERS];
        fplt_error error;
        fplt_algorithm_defaults(a, parameter);
        assert_ok(fplt__algorithm_resolve(a, &facts, parameter, &error), error);
        for (size_t i = 0; i < fplt_algorithm_parameters(a); i++)
            assert_close(parameter[i], expected[m].parameter[i], 1e-15);
        assert_close(a->step(&facts, parameter), expected[m].step, 1e-15);
    }
    /* a weak pull on costs that are not convex leaves the step below 2/(L + pull) */
    const double eta = 100;
    facts.curvature.lowest = -2;
    assert_true(fplt_algorithm_find("fedpd")->step(&facts, &eta) < 2 / (L + 1 / eta));
    assert_true(fplt_algorithm_find("fedsplit")->step(&facts, &eta) < 2 / (L + 1 / eta));
    /* where the costs are not convex every method still finds values that make d convex */
    facts.curvature.lowest = -0.5;
    for (size_t m = 0; fplt_algorithm_list(m); m++) {
        const fplt_algorithm *a = fplt_algorithm_list(m);
        double parameter[FPLT_MAX_PARAMETERS];
        fplt_error error;
        fplt_algorithm_defaults(a, parameter);
        assert_ok(fplt__algorithm_resolve(a, &facts, parameter, &error), error);
        double pull = a->inverse_rho ? a->inverse_rho(&facts, parameter) : 0;
        assert_true(pull == 0 || !strcmp(a->name, "fedprox") || pull > 0.5);
        assert_true(a->step(&facts, parameter) > 0);
        if (strncmp(a->name, "fed-plt", 7))
            assert_true(a->step(&facts, parameter) < 2 / (L + pull));
    }
}

static void a_common_step_is_common(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 20, 0.2, 2);
    for (int m = 0; m < METHODS; m++) {
        trial t = {.algorithm = rules[m].name};
        trial_start(&t, &p);
        const fplt_algorithm *a = fplt_algorithm_find(rules[m].name);
        fplt_facts facts = fplt__engine_facts(t.engine);
        int differ = 0;
        for (uint32_t i = 0; i < AGENTS; i++) {
            differ |= fplt__engine_step(t.engine, i) != fplt__engine_step(t.engine, 0);
            if (a->common_step)
                assert_true(fplt__engine_step(t.engine, i) ==
                            a->step(&facts, fplt__engine_parameters(t.engine)));
        }
        assert_int_equal(differ, !a->common_step);
        trial_end(&t);

        fplt_training each[AGENTS];
        for (int i = 0; i < AGENTS; i++) {
            each[i] = fplt_training_defaults();
            each[i].step = i == 7 ? 0.02 : 0.01;
        }
        fplt_run_settings settings = fplt_run_defaults();
        settings.algorithm = a;
        settings.each = each;
        fplt_error error;
        fplt_engine *engine;
        fplt_status status = fplt_engine_create(p.objective, &settings, &engine, &error);
        assert_int_equal(status, a->common_step ? FPLT_UNSUPPORTED : FPLT_OK);
        if (a->common_step)
            assert_contains(error.text, "agents 0 and 7 have gamma 0.01 and 0.02");
        fplt_engine_destroy(engine);
    }
    problem_free(&p);
}

static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 20, 0.2, 2);
    for (int m = 0; m < METHODS; m++) {
        uint32_t count = rules[m].partial ? 7 : 0;
        trial t[3];
        for (unsigned i = 0; i < 3; i++) {
            t[i] = (trial){.algorithm = rules[m].name, .count = count, .threads = i + 1};
            if (!strcmp(rules[m].name, "tamuna")) {
                t[i].names[0] = "s";
                t[i].values[0] = 3;
            }
            trial_start(&t[i], &p);
        }
        for (int k = 0; k < 30; k++) {
            row x[3];
            for (int i = 0; i < 3; i++) {
                trial_round(&t[i]);
                assert_int_equal(fplt_engine_model(t[i].engine, x[i]), FPLT_OK);
                assert_memory_equal(x[i], x[0], N * sizeof **x);
            }
        }
        size_t kept = fplt__engine_shape(t[0].engine).kept * N * sizeof(double);
        for (int i = 1; i < 3; i++) {
            for (uint32_t agent = 0; kept && agent < AGENTS; agent++)
                assert_memory_equal(fplt__engine_kept(t[i].engine, agent),
                                    fplt__engine_kept(t[0].engine, agent), kept);
            assert_true(fplt_engine_counters(t[i].engine)->gradients ==
                        fplt_engine_counters(t[0].engine)->gradients);
        }
        for (int i = 0; i < 3; i++)
            trial_end(&t[i]);
    }
    problem_free(&p);
}

/* One round of all exchanges and the finish, over words. */
static void hand_round(fplt_hub *hub, fplt_node **node, const fplt_plan *plan, uint64_t number,
                       const uint32_t *active, uint32_t count)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, N);
    fplt_round round;
    fplt_error error;
    double down[2 * N];
    uint64_t words[MAX_WORDS];
    assert_true(fplt_plan_words(plan, 0) <= sizeof words / sizeof *words);
    fplt_hub_plan(hub, number, count, &round);
    for (unsigned e = 0; e < shape.exchanges; e++) {
        assert_int_equal(fplt_hub_broadcast(hub, &round, e, down), FPLT_OK);
        for (uint32_t m = count; m-- > 0;) {
            round.position = m;
            assert_ok(fplt_node_train(node[active[m]], &round, e, down, words, &error), error);
            assert_int_equal(fplt_hub_receive(hub, e, words), FPLT_OK);
        }
        assert_int_equal(fplt_hub_absorb(hub, &round, e), FPLT_OK);
    }
    if (shape.finish_down)
        assert_int_equal(fplt_hub_broadcast(hub, &round, shape.exchanges, down), FPLT_OK);
    for (uint32_t m = 0; m < count; m++) {
        round.position = m;
        if (shape.finish_down)
            fplt_node_finish(node[active[m]], &round, down);
        fplt_node_accept(node[active[m]]);
    }
}

static void agents_driven_by_hand_give_the_same_bits(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 20, 0.2, 2);
    for (int m = 0; m < METHODS; m++) {
        trial t = {.algorithm = rules[m].name, .count = rules[m].partial ? 6 : AGENTS};
        if (!rules[m].partial)
            t.count = 0;
        trial_start(&t, &p);
        const fplt_algorithm *a = fplt_algorithm_find(rules[m].name);
        fplt_plan plan = {.algorithm = a,
                          .agents = AGENTS,
                          .dimension = N,
                          .seed = SEED,
                          .step = a->common_step ? fplt__engine_step(t.engine, 0) : 0};
        memcpy(plan.parameter, fplt__engine_parameters(t.engine), sizeof plan.parameter);
        fplt_error error;
        fplt_hub *hub;
        fplt_node *node[AGENTS];
        uint64_t words[MAX_WORDS];
        assert_ok(fplt_hub_create(&plan, NULL, NULL, &hub, &error), error);
        for (uint32_t i = 0; i < AGENTS; i++) {
            fplt_node_settings own = {.objective = p.objective,
                                      .cost = i,
                                      .member_index = i,
                                      .training = fplt_training_defaults(),
                                      .cohort = fplt__engine_facts(t.engine).cohort};
            assert_ok(fplt_objective_curvature(p.objective, i, 0, &own.curvature, &error), error);
            assert_ok(fplt_node_create(&plan, &own, &node[i], &error), error);
            assert_int_equal(fplt_node_enrol(node[i], words), FPLT_OK);
            assert_int_equal(fplt_hub_enrol(hub, words), FPLT_OK);
        }
        for (uint64_t k = 0; k < 10; k++) {
            uint32_t active[AGENTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, count = AGENTS;
            row x, y;
            if (t.participation)
                count = fplt_participation_choose(t.participation, SEED, 0, k, active);
            hand_round(hub, node, &plan, k, active, count);
            trial_round(&t);
            assert_int_equal(fplt_hub_model(hub, x), FPLT_OK);
            assert_int_equal(fplt_engine_model(t.engine, y), FPLT_OK);
            assert_memory_equal(x, y, N * sizeof *x);
        }
        for (uint32_t i = 0; i < AGENTS; i++)
            fplt_node_destroy(node[i]);
        fplt_hub_destroy(hub);
        trial_end(&t);
    }
    problem_free(&p);
}

static void a_node_without_the_common_step_is_refused(void **state)
{
    (void)state;
    problem p = problem_logistic(2, N, 20, 0.2, 2);
    fplt_plan plan = {.algorithm = fplt_algorithm_find("led"), .agents = 2, .dimension = N};
    plan.parameter[0] = 0.2;
    fplt_node_settings own = {
        .objective = p.objective, .training = fplt_training_defaults(), .curvature = {0.2, 1}};
    fplt_error error;
    fplt_node *node;
    assert_int_equal(fplt_node_create(&plan, &own, &node, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "led needs one step size for all agents");
    problem_free(&p);
}

/* One to one for every size, and for two members the pair of slots is uniform: a chi-square test with
 * a bound at five standard deviations. */
static void the_order_of_a_cohort_is_a_uniform_permutation(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 70; size++) {
        char taken[70] = {0};
        for (uint32_t member = 0; member < size; member++) {
            fplt_stream shared = fplt_stream_make(9, 0, FPLT_FOR_SHARED, size, 0, 0);
            uint32_t slot = fplt__tamuna_slot(&shared, member, size);
            assert_true(slot < size && !taken[slot]);
            taken[slot] = 1;
        }
    }
    static const uint32_t sizes[] = {2, 3, 4, 5, 8, 11};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        enum { DRAWS = 20000 };
        uint32_t size = sizes[k];
        double seen[11][11] = {{0}}, chi_square = 0;
        for (uint64_t round = 0; round < DRAWS; round++) {
            fplt_stream shared = fplt_stream_make(9, 0, FPLT_FOR_SHARED, round, 0, 0);
            fplt_stream again = shared;
            uint32_t first = fplt__tamuna_slot(&shared, 0, size);
            uint32_t second = fplt__tamuna_slot(&again, size - 1, size);
            seen[first][second] += 1;
        }
        double pairs = size * (size - 1.0), expected = DRAWS / pairs;
        for (uint32_t i = 0; i < size; i++)
            for (uint32_t j = 0; j < size; j++)
                if (i != j)
                    chi_square += (seen[i][j] - expected) * (seen[i][j] - expected) / expected;
        assert_near(chi_square, pairs - 1, 5 * sqrt(2 * (pairs - 1)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_allowed_is_refused_with_the_reason),
        cmocka_unit_test(the_engine_refuses_too),
        cmocka_unit_test(scaffold_claims_privacy_only_with_option_two),
        cmocka_unit_test(impossible_parameters_are_refused),
        cmocka_unit_test(counters_follow_the_table),
        cmocka_unit_test(stored_vectors_follow_the_table),
        cmocka_unit_test(automatic_values_are_the_published_ones),
        cmocka_unit_test(a_common_step_is_common),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(agents_driven_by_hand_give_the_same_bits),
        cmocka_unit_test(a_node_without_the_common_step_is_refused),
        cmocka_unit_test(the_order_of_a_cohort_is_a_uniform_permutation),
    };
    return cmocka_run_group_tests_name("algorithm rules", tests, NULL, NULL);
}
