/* What a run pays into a ledger: the difference to what it paid before, for each agent, and no more. */
#include "promise/fixture.h"

#include "fedplt/ledger.h"
#include "fedplt/spending.h"
#include "promise/promise.h"
#include "temporary.h"

enum { AGENTS = 4 };

struct book {
    uint64_t rounds[AGENTS];
    double rate[AGENTS];
    size_t entries;
};

static int copy_entry(void *context, const fplt_ledger_entry *entry)
{
    struct book *book = context;
    unsigned agent;
    assert_int_equal(sscanf(entry->account, "agent %u", &agent), 1);
    assert_true(agent < AGENTS);
    book->rounds[agent] += entry->rounds;
    book->rate[agent] += entry->rate;
    book->entries++;
    return 0;
}

static struct book read_book(const char *path)
{
    fplt_error error;
    fplt_ledger *ledger;
    struct book book = {.entries = 0};
    assert_ok(fplt_ledger_open(path, 0, &ledger, &error), error);
    assert_ok(fplt_ledger_visit(ledger, NULL, copy_entry, &book, &error), error);
    fplt_ledger_close(ledger);
    return book;
}

static void pay(const char *path, const fplt_promise_view *plan, const uint64_t (*paid)[AGENTS],
                size_t times)
{
    fplt_error error;
    fplt_spending *spending;
    unsigned char run[FPLT_RUN_BYTES] = {7};
    assert_ok(fplt_spending_create(path, plan, INFINITY, &spending, &error), error);
    for (size_t k = 0; k < times; k++)
        assert_ok(fplt_spending_pay(spending, run, paid[k], &error), error);
    fplt_spending_destroy(spending);
}

/* Paid in three steps or at once, with one agent that did less: the books are the same. */
static void only_the_difference_is_charged(void **state)
{
    (void)state;
    fplt_error error;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "9"}, {"epochs", "3"});
    const uint64_t steps[][AGENTS] = {{2, 2, 0, 2}, {2, 2, 0, 2}, {9, 9, 4, 9}};
    temporary slow = temporary_file("", 0), quick = temporary_file("", 0);
    unlink(slow.path);
    unlink(quick.path);
    pay(slow.path, fixture.view, steps, 3);
    pay(quick.path, fixture.view, steps + 2, 1);
    struct book one = read_book(slow.path), other = read_book(quick.path);
    assert_int_equal(one.entries, AGENTS);
    assert_int_equal(other.entries, AGENTS);
    for (uint32_t i = 0; i < AGENTS; i++) {
        double rate;
        assert_ok(fplt__promise_rate(fixture.view, i, steps[2][i], &rate, &error), error);
        assert_int_equal(one.rounds[i], steps[2][i]);
        assert_int_equal(other.rounds[i], steps[2][i]);
        assert_true(rate > 0);
        assert_near(one.rate[i], rate, 1e-12 * rate);
        assert_near(other.rate[i], rate, 1e-12 * rate);
    }
    unlink(slow.path);
    unlink(quick.path);
    release(&fixture);
}

static int expect_name(void *context, const fplt_ledger_entry *entry)
{
    const char *const **next = context;
    assert_string_equal(entry->account, *(*next)++);
    return 0;
}

static void accounts_have_the_names_of_agents(void **state)
{
    (void)state;
    fplt_error error;
    fplt_ledger *ledger;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "9"}, {"epochs", "3"});
    const char *const names[AGENTS] = {"cleveland", "hungarian", "switzerland", "va"};
    const char *const *next = names;
    fplt_promise_view named = *fixture.view;
    const uint64_t paid[1][AGENTS] = {{9, 9, 9, 9}};
    temporary file = temporary_file("", 0);
    unlink(file.path);
    named.names = names;
    pay(file.path, &named, paid, 1);
    assert_ok(fplt_ledger_open(file.path, 0, &ledger, &error), error);
    assert_ok(fplt_ledger_visit(ledger, NULL, expect_name, &next, &error), error);
    assert_int_equal(next - names, AGENTS);
    fplt_ledger_close(ledger);
    unlink(file.path);
    release(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_difference_is_charged),
        cmocka_unit_test(accounts_have_the_names_of_agents),
    };
    return cmocka_run_group_tests_name("spending", tests, NULL, NULL);
}
