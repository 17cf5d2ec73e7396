/* What a run pays into a ledger: the difference to what it paid before, to the account of the records and
 * no other, against every adversary. */
#include "promise/fixture.h"

#include "promise/promise.h"
#include "promise/spending.h"
#include "temporary.h"

enum { AGENTS = 4 };

static temporary empty_path(void)
{
    temporary file = temporary_file("", 0);
    unlink(file.path);
    return file;
}

static void give_ledger(fplt_settings *settings, const char *path)
{
    fplt_error error;
    assert_ok(fplt_settings_add(settings, "ledger", fplt__spending_table, &error), error);
    set(settings, "ledger", path);
}

static void pay(const struct fixture *fixture, const uint64_t (*paid)[AGENTS], size_t times)
{
    fplt_error error;
    fplt__spending *spending;
    unsigned char run[FPLT_RUN_BYTES] = {7};
    assert_ok(fplt__spending_create(fixture->settings, 0, fixture->view, &spending, &error), error);
    for (size_t k = 0; k < times; k++)
        assert_ok(fplt__spending_pay(spending, run, paid[k], &error), error);
    fplt__spending_destroy(spending);
}

static fplt_ledger_total total_of(const char *path, const char *account)
{
    fplt_error error;
    fplt_ledger *ledger;
    fplt_ledger_total total;
    assert_ok(fplt_ledger_open(path, 0, &ledger, &error), error);
    assert_ok(fplt_ledger_sum(ledger, account, &total, &error), error);
    fplt_ledger_close(ledger);
    return total;
}

/* Paid in three steps or at once, with one agent that did less: the books are the same, and records that
 * may belong to any of the agents cost what the most expensive of these does. */
static void only_the_difference_is_charged(void **state)
{
    (void)state;
    fplt_error error;
    const uint64_t steps[][AGENTS] = {{2, 2, 0, 2}, {2, 2, 0, 2}, {9, 9, 4, 9}};
    for (size_t first = 0; first < 3; first += 2) {
        struct fixture fixture =
            MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "9"}, {"epochs", "3"});
        temporary file = empty_path();
        double most = 0, rate;
        give_ledger(fixture.settings, file.path);
        pay(&fixture, steps + first, 3 - first);
        for (uint32_t i = 0; i < AGENTS; i++) {
            assert_ok(fplt__promise_rate(fixture.view, i, steps[2][i], &rate, &error), error);
            most = fmax(most, rate);
        }
        fplt_ledger_total total = total_of(file.path, "generated");
        assert_int_equal(total.runs, 1);
        assert_true(most > 0);
        for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
            assert_near(total.spent.against[k], most, 1e-12 * most);
        unlink(file.path);
        release(&fixture);
    }
}

/* mu against the transcript is [Theorem T], against the final models [Theorem F]: both of the same run, and
 * the first one from the claim by its own formula. */
static void a_final_claim_costs_the_transcript_what_it_does(void **state)
{
    (void)state;
    fplt_error error;
    struct fixture fixture =
        MAKE(NULL, {"privacy.epsilon", "1"}, {"privacy.threat", "final-x"}, {"rounds", "200"},
             {"epochs", "5"}, {"rho", "1"}, {"gamma", "0.3"});
    fplt__cost cost;
    fplt_privacy_claim claim;
    double epsilon;
    assert_ok(fplt__promise_cost(fixture.view, 0, 200, &cost, &error), error);
    assert_ok(fplt__promise_claim(fixture.view, 0, 200, &claim, &epsilon, &error), error);
    assert_true(claim.mu_transcript > 2 * claim.gdp_mu);
    assert_close(cost.rates.against[4], claim.gdp_mu * claim.gdp_mu / 2, 1e-12);
    for (size_t k = 0; k < 4; k++)
        assert_close(cost.rates.against[k], 200 * claim.mu_round * claim.mu_round / 2, 1e-12);
    assert_string_equal(cost.unit, "record");
    assert_contains(cost.mechanism, "Theorem F");
    release(&fixture);
    /* a run that hands out the coordinator's model costs everybody the same */
    fixture = MAKE(NULL, {"privacy.epsilon", "1"}, {"rounds", "200"}, {"epochs", "5"}, {"rho", "1"},
                   {"gamma", "0.3"});
    assert_ok(fplt__promise_cost(fixture.view, 0, 200, &cost, &error), error);
    assert_true(cost.rates.against[4] == cost.rates.against[0]);
    release(&fixture);
}

/* A budget for the run's own adversary; a final-x run spends the transcript's, too. */
static void a_budget_is_against_the_adversary_of_the_run(void **state)
{
    (void)state;
    static const char *const threats[] = {"final-x", "final-x", "transcript"};
    temporary file = empty_path();
    uint64_t rounds[AGENTS] = {200, 200, 200, 200};
    fplt_error error;
    for (size_t i = 0; i < 3; i++) {
        struct fixture fixture =
            MAKE(NULL, {"privacy.epsilon", "1"}, {"privacy.threat", threats[i]}, {"rounds", "200"},
                 {"epochs", "5"}, {"rho", "1"}, {"gamma", "0.3"});
        fplt__spending *spending;
        unsigned char run[FPLT_RUN_BYTES] = {(unsigned char)i};
        give_ledger(fixture.settings, file.path);
        set(fixture.settings, "privacy.budget", "2");
        fplt_status status =
            fplt__spending_create(fixture.settings, 0, fixture.view, &spending, &error);
        assert_int_equal(status, i < 2 ? FPLT_OK : FPLT_UNREACHABLE);
        if (!status)
            assert_ok(fplt__spending_pay(spending, run, rounds, &error), error);
        fplt__spending_destroy(spending);
        release(&fixture);
    }
    assert_contains(error.text, "against transcript");
    unlink(file.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_difference_is_charged),
        cmocka_unit_test(a_final_claim_costs_the_transcript_what_it_does),
        cmocka_unit_test(a_budget_is_against_the_adversary_of_the_run),
    };
    return cmocka_run_group_tests_name("spending", tests, NULL, NULL);
}
