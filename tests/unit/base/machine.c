/* Threads that are moved from one processor to another, and asked whether they have one. */
#include "testing.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/machine.h"

struct runner {
    atomic_int id, clock, core, quit;
    atomic_int rests; /* it waits to be woken */
    pthread_mutex_t mutex;
    pthread_cond_t woken;
};

static void *run(void *argument)
{
    struct runner *runner = argument;
    fplt__thread self = fplt__thread_self();
    atomic_store(&runner->clock, self.clock);
    atomic_store(&runner->id, self.id);
    while (!atomic_load(&runner->quit)) {
        pthread_mutex_lock(&runner->mutex);
        while (atomic_load(&runner->rests))
            pthread_cond_wait(&runner->woken, &runner->mutex);
        pthread_mutex_unlock(&runner->mutex);
        atomic_store(&runner->core, fplt__core());
    }
    return NULL;
}

static fplt__thread thread_of(struct runner *runner)
{
    while (!atomic_load(&runner->id))
        sched_yield();
    return (fplt__thread){atomic_load(&runner->id), atomic_load(&runner->clock)};
}

/* Moved to each processor in turn, and away from it, it is seen there, and is free to go anywhere as before. The
 * machine may move it again at any time, but not always before it has looked where it is. */
static void threads_move(void **state)
{
    (void)state;
    struct runner runner = {
        .core = -1, .mutex = PTHREAD_MUTEX_INITIALIZER, .woken = PTHREAD_COND_INITIALIZER};
    cpu_set_t allowed, after;
    pthread_t started;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    assert_int_equal(pthread_create(&started, NULL, run, &runner), 0);
    fplt__thread thread = thread_of(&runner);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        int there = 0, elsewhere = 0, others = CPU_COUNT(&allowed) > 1;
        if (!CPU_ISSET(core, &allowed))
            continue;
        for (int i = 0; i < 2000 && !(there && (elsewhere || !others)); i++) {
            fplt__thread_to(thread, core);
            for (int k = 0; k < 100 && atomic_load(&runner.core) != core; k++)
                usleep(100);
            there |= atomic_load(&runner.core) == core;
            fplt__thread_from(thread, core);
            for (int k = 0; others && k < 100 && atomic_load(&runner.core) == core; k++)
                usleep(100);
            elsewhere |= atomic_load(&runner.core) != core;
        }
        assert_true(there);
        assert_int_equal(elsewhere, others);
        assert_int_equal(sched_getaffinity(thread.id, sizeof after, &after), 0);
        assert_true(CPU_EQUAL(&allowed, &after));
    }
    fplt__thread_to(thread, -1);
    fplt__thread_to(thread, CPU_SETSIZE);
    atomic_store(&runner.quit, 1);
    pthread_join(started, NULL);
    fplt__thread_to(thread, 0); /* it has ended */
    assert_false(fplt__thread_stands_still(thread));
}

static void who_waits_stands_still(void **state)
{
    (void)state;
    struct runner runner = {
        .rests = 1, .mutex = PTHREAD_MUTEX_INITIALIZER, .woken = PTHREAD_COND_INITIALIZER};
    pthread_t started;
    assert_int_equal(pthread_create(&started, NULL, run, &runner), 0);
    fplt__thread thread = thread_of(&runner);
    int stood = 0, ran = 0;
    for (int i = 0; i < 10000 && !stood; i++, usleep(1000))
        stood = fplt__thread_stands_still(thread);
    assert_true(stood);
    pthread_mutex_lock(&runner.mutex);
    atomic_store(&runner.rests, 0);
    pthread_cond_signal(&runner.woken);
    pthread_mutex_unlock(&runner.mutex);
    for (int i = 0; i < 10000 && !ran; i++, usleep(1000))
        ran = !fplt__thread_stands_still(thread);
    assert_true(ran);
    assert_false(fplt__thread_stands_still(fplt__thread_self()));
    atomic_store(&runner.quit, 1);
    pthread_join(started, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_move),
        cmocka_unit_test(who_waits_stands_still),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
