/* Portions on several threads: each step once, in the order that is promised, and nothing behind a failure. */
#include "testing.h"

#include <stdatomic.h>
#include <string.h>

#include "base/workers.h"

enum { PORTIONS = 200, TAKE = 1, LOAD, PLACE, WORK, JOIN };

struct journal {
    int fails, at;                     /* the step that fails, and of which portion */
    unsigned threads, slots;           /* of the run */
    unsigned in_slot[FPLT__MAX_SLOTS]; /* the portion */
    unsigned worker_of[PORTIONS + FPLT__MAX_SLOTS];
    atomic_int busy[FPLT__MAX_SLOTS]; /* a worker has a portion */
    unsigned taken, placed, joined;
    atomic_uint loaded, worked;
    atomic_int alone; /* how many are in take, place or join */
    atomic_int wrong; /* a line of this file, for threads cannot end the test */
};

static fplt_status step(struct journal *j, int what, unsigned portion, fplt_error *error)
{
    if (j->fails == what && j->at == (int)portion)
        return fplt_error_set(error, FPLT_IO, "step %d of %u", what, portion);
    return FPLT_OK;
}

#define REQUIRE(j, holds)                        \
    do                                           \
        if (!(holds))                            \
            atomic_store(&(j)->wrong, __LINE__); \
    while (0)

static void enter(struct journal *j)
{
    REQUIRE(j, atomic_fetch_add(&j->alone, 1) == 0);
}

static void leave(struct journal *j)
{
    atomic_fetch_sub(&j->alone, 1);
}

static fplt_status take(void *context, unsigned slot, unsigned worker, int *more, fplt_error *error)
{
    struct journal *j = context;
    enter(j);
    unsigned portion = j->taken;
    fplt_status status = FPLT_OK;
    REQUIRE(j, slot < j->slots && worker < j->threads);
    if ((*more = portion < PORTIONS)) {
        REQUIRE(j, !atomic_exchange(&j->busy[worker], 1));
        j->in_slot[slot] = portion;
        j->worker_of[portion] = worker;
        j->taken++;
        status = step(j, TAKE, portion, error);
    }
    leave(j);
    return status;
}

static fplt_status load(void *context, unsigned slot, fplt_error *error)
{
    struct journal *j = context;
    atomic_fetch_add(&j->loaded, 1);
    return step(j, LOAD, j->in_slot[slot], error);
}

static fplt_status place(void *context, unsigned slot, fplt_error *error)
{
    struct journal *j = context;
    enter(j);
    REQUIRE(j, j->in_slot[slot] == j->placed++);
    fplt_status status = step(j, PLACE, j->in_slot[slot], error);
    leave(j);
    return status;
}

static fplt_status work(void *context, unsigned slot, fplt_error *error)
{
    struct journal *j = context;
    atomic_fetch_add(&j->worked, 1);
    atomic_store(&j->busy[j->worker_of[j->in_slot[slot]]], 0);
    return step(j, WORK, j->in_slot[slot], error);
}

static fplt_status join(void *context, unsigned slot, fplt_error *error)
{
    struct journal *j = context;
    enter(j);
    REQUIRE(j, j->in_slot[slot] == j->joined++);
    fplt_status status = step(j, JOIN, j->in_slot[slot], error);
    leave(j);
    return status;
}

static fplt_status run(struct journal *j, fplt_error *error)
{
    fplt__pipeline line = {j, take, load, place, work, join};
    fplt_status status = fplt__pipeline_run(&line, j->threads, j->slots, error);
    assert_int_equal(j->wrong, 0);
    return status;
}

static void every_portion_goes_its_way(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads++) {
        struct journal j = {.threads = threads, .slots = threads > 1 ? 2 * threads : 1};
        fplt_error error;
        assert_ok(run(&j, &error), error);
        assert_int_equal(j.taken, PORTIONS);
        assert_int_equal(j.loaded, PORTIONS);
        assert_int_equal(j.placed, PORTIONS);
        assert_int_equal(j.worked, PORTIONS);
        assert_int_equal(j.joined, PORTIONS);
    }
}

static void nothing_follows_a_failure(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads++)
        for (int fails = TAKE; fails <= JOIN; fails++)
            for (int at = 0; at < PORTIONS; at += 33) {
                struct journal j = {.fails = fails,
                                    .at = at,
                                    .threads = threads,
                                    .slots = threads > 1 ? 2 * threads : 1};
                fplt_error error;
                char said[40];
                snprintf(said, sizeof said, "step %d of %d", fails, at);
                assert_int_equal(run(&j, &error), FPLT_IO);
                assert_string_equal(error.text, said);
                assert_true(j.taken <= (unsigned)at + j.slots + threads);
                assert_int_equal(j.joined, at + (fails == JOIN));
                if (fails < PLACE)
                    assert_int_equal(j.placed, at);
                if (fails == PLACE)
                    assert_int_equal(j.placed, at + 1);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_portion_goes_its_way),
        cmocka_unit_test(nothing_follows_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
