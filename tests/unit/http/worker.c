/* Errands run worker: each once, whoever runs it, and none is lost. */
#include "testing.h"

#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "http/worker.h"

enum { ERRANDS = 2000 };

struct task {
    fplt__work_item work_item;
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

static void give(fplt__http_worker *worker, struct task *task)
{
    task->work_item.run = run;
    task->work_item.context = task;
    fplt__http_worker_give(worker, &task->work_item);
}

static int take(fplt__http_worker *worker)
{
    fplt__work_item *work_item = fplt__http_worker_take(worker);
    if (!work_item)
        return 0;
    struct task *task = work_item->context;
    task->taken++;
    assert_int_equal(task->runs, 1);
    return 1;
}

/* As the server does: gives some, takes what is done, helps now and then, and sleeps only where it will be woken. */
static void each_is_run_once(void **state)
{
    (void)state;
    static struct task tasks[ERRANDS];
    fplt__http_worker *worker;
    fplt_error error;
    int given = 0, taken = 0;
    assert_ok(fplt__http_worker_create(&worker, &error), error);
    while (taken < ERRANDS) {
        for (int i = 0; i < given % 5 && given < ERRANDS; i++)
            give(worker, &tasks[given++]);
        if (given % 5 == 0 && given < ERRANDS)
            give(worker, &tasks[given++]);
        while (take(worker))
            taken++;
        if (taken % 3 == 0)
            fplt__http_worker_help(worker);
        struct pollfd wanted = {-1, POLLIN, 0};
        if (!fplt__http_worker_watch(worker, &wanted.fd) && taken + (given < ERRANDS) < given) {
            assert_true(wanted.fd >= 0);
            assert_int_equal(poll(&wanted, 1, 20000), 1);
        }
    }
    for (int i = 0; i < ERRANDS; i++)
        assert_true(tasks[i].runs == 1 && tasks[i].taken == 1);
    assert_false(fplt__http_worker_help(worker));
    fplt__http_worker_destroy(worker);
}

/* One that waits is not run any more; one that is being run is waited for; one that is done is not seen again. */
static void errands_are_recalled(void **state)
{
    (void)state;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct task first = {.gate = &gate}, second = {.runs = 0}, third = {.runs = 0};
    fplt__http_worker *worker;
    fplt_error error;
    int descriptor;
    assert_ok(fplt__http_worker_create(&worker, &error), error);
    pthread_mutex_lock(&gate);
    give(worker, &first);
    while (fplt__http_worker_watch(worker, &descriptor)) /* until it has begun */
        ;
    assert_true(descriptor >= 0);
    give(worker, &second);
    give(worker, &third);
    fplt__http_worker_recall(worker, &third.work_item);
    assert_true(fplt__http_worker_help(worker)); /* the second */
    fplt__http_worker_recall(worker, &second.work_item);
    assert_false(fplt__http_worker_help(worker));
    pthread_mutex_unlock(&gate);
    fplt__http_worker_recall(worker, &first.work_item);
    assert_true(first.runs == 1 && second.runs == 1 && third.runs == 0);
    assert_null(fplt__http_worker_take(worker));
    give(worker, &third);
    fplt__http_worker_finish(worker);
    assert_int_equal(third.runs, 1);
    assert_true(take(worker) && !take(worker));
    fplt__http_worker_destroy(worker);
}

static void *open_gate(void *gate)
{
    struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&moment, NULL);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Who sleeps on the descriptor is woken when an errand is done, and only then: what was told before is forgotten. */
static void who_watches_is_woken(void **state)
{
    (void)state;
    fplt__http_worker *worker;
    fplt_error error;
    assert_ok(fplt__http_worker_create(&worker, &error), error);
    for (int round = 0; round < 20; round++) {
        pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
        struct task task = {.gate = &gate};
        struct pollfd wanted = {-1, POLLIN, 0};
        pthread_t opener;
        pthread_mutex_lock(&gate);
        give(worker, &task);
        while (fplt__http_worker_watch(worker, &wanted.fd)) /* until it has begun */
            ;
        assert_true(wanted.fd >= 0);
        assert_int_equal(poll(&wanted, 1, 0), 0);
        assert_int_equal(pthread_create(&opener, NULL, open_gate, &gate), 0);
        assert_int_equal(poll(&wanted, 1, 20000), 1);
        assert_true(take(worker));
        pthread_join(opener, NULL);
    }
    fplt__http_worker_destroy(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_run_once),
        cmocka_unit_test(errands_are_recalled),
        cmocka_unit_test(who_watches_is_woken),
    };
    return cmocka_run_group_tests_name("aside", tests, NULL, NULL);
}
