/* Errands run aside: each once, whoever runs it, and none is lost. */
#include "testing.h"

#include <poll.h>
#include <pthread.h>

#include "net/aside.h"

enum { ERRANDS = 2000 };

struct task {
    fplt__errand errand;
    int runs, taken;
    pthread_mutex_t *gate; /* or NULL: what it waits for */
};

static void run(void *context)
{
    struct task *task = context;
    if (task->gate) {
        pthread_mutex_lock(task->gate);
        pthread_mutex_unlock(task->gate);
    }
    __atomic_add_fetch(&task->runs, 1, __ATOMIC_SEQ_CST);
}

static void give(fplt__aside *aside, struct task *task)
{
    task->errand.run = run;
    task->errand.context = task;
    fplt__aside_give(aside, &task->errand);
}

static int take(fplt__aside *aside)
{
    fplt__errand *errand = fplt__aside_take(aside);
    if (!errand)
        return 0;
    struct task *task = errand->context;
    task->taken++;
    assert_int_equal(task->runs, 1);
    return 1;
}

/* As the server does: gives some, takes what is done, helps now and then, and sleeps only where it will be woken. */
static void each_is_run_once(void **state)
{
    (void)state;
    static struct task tasks[ERRANDS];
    fplt__aside *aside;
    fplt_error error;
    int given = 0, taken = 0;
    assert_ok(fplt__aside_create(&aside, &error), error);
    while (taken < ERRANDS) {
        for (int i = 0; i < given % 5 && given < ERRANDS; i++)
            give(aside, &tasks[given++]);
        if (given % 5 == 0 && given < ERRANDS)
            give(aside, &tasks[given++]);
        while (take(aside))
            taken++;
        if (taken % 3 == 0)
            fplt__aside_help(aside);
        struct pollfd wanted = {-1, POLLIN, 0};
        if (!fplt__aside_watch(aside, &wanted.fd) && taken + (given < ERRANDS) < given) {
            assert_true(wanted.fd >= 0);
            assert_int_equal(poll(&wanted, 1, 20000), 1);
        }
    }
    for (int i = 0; i < ERRANDS; i++)
        assert_true(tasks[i].runs == 1 && tasks[i].taken == 1);
    assert_false(fplt__aside_help(aside));
    fplt__aside_destroy(aside);
}

/* One that waits is not run any more; one that is being run is waited for; one that is done is not seen again. */
static void errands_are_recalled(void **state)
{
    (void)state;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct task first = {.gate = &gate}, second = {.runs = 0}, third = {.runs = 0};
    fplt__aside *aside;
    fplt_error error;
    int descriptor;
    assert_ok(fplt__aside_create(&aside, &error), error);
    pthread_mutex_lock(&gate);
    give(aside, &first);
    while (fplt__aside_watch(aside, &descriptor)) /* until it has begun */
        ;
    assert_true(descriptor >= 0);
    give(aside, &second);
    give(aside, &third);
    fplt__aside_recall(aside, &third.errand);
    assert_true(fplt__aside_help(aside)); /* the second */
    fplt__aside_recall(aside, &second.errand);
    assert_false(fplt__aside_help(aside));
    pthread_mutex_unlock(&gate);
    fplt__aside_recall(aside, &first.errand);
    assert_true(first.runs == 1 && second.runs == 1 && third.runs == 0);
    assert_null(fplt__aside_take(aside));
    give(aside, &third);
    fplt__aside_finish(aside);
    assert_int_equal(third.runs, 1);
    assert_true(take(aside) && !take(aside));
    fplt__aside_destroy(aside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_run_once),
        cmocka_unit_test(errands_are_recalled),
    };
    return cmocka_run_group_tests_name("aside", tests, NULL, NULL);
}
