/* Threads that join a job and leave it: every portion is done once, and nobody is at a job that is over. */
#include "testing.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/machine.h"
#include "engine/pool.h"

enum { PORTIONS = 64 };

struct job {
    atomic_uint next, at_it, late;
    atomic_int over;
    atomic_uint done[PORTIONS];
    atomic_uint by[16];
    int lasts; /* a portion takes some microseconds */
};

static void work(void *context, unsigned number)
{
    struct job *job = context;
    atomic_fetch_add(&job->at_it, 1);
    atomic_fetch_add(&job->late, (unsigned)atomic_load(&job->over));
    for (unsigned k; (k = atomic_fetch_add(&job->next, 1)) < PORTIONS;) {
        atomic_fetch_add(&job->done[k], 1);
        for (volatile int turn = 0; job->lasts && turn < 1000; turn++)
            ;
    }
    atomic_fetch_add(&job->by[number], 1);
    atomic_fetch_sub(&job->at_it, 1);
}

static void jobs_are_whole_when_they_return(void **state)
{
    (void)state;
    fplt_error error;
    for (unsigned threads = 1; threads <= 9; threads += 2) {
        fplt__pool *pool;
        assert_ok(fplt__pool_create(threads, &pool, &error), error);
        for (int repeat = 0; repeat < 1500; repeat++) {
            struct job job = {.next = 0};
            fplt__pool_run(pool, work, &job);
            atomic_store(&job.over, 1);
            assert_int_equal(atomic_load(&job.at_it), 0);
            assert_int_equal(atomic_load(&job.late), 0);
            for (int k = 0; k < PORTIONS; k++)
                assert_int_equal(atomic_load(&job.done[k]), 1);
            assert_int_equal(atomic_load(&job.by[0]), 1);
            for (unsigned k = 0; k < 16; k++)
                assert_true(atomic_load(&job.by[k]) <= (k < threads));
        }
        fplt__pool_destroy(pool);
    }
}

/* As long as the work lasts, all come: it ends when they are there, or after a minute. */
static void linger(void *context, unsigned number)
{
    struct job *job = context;
    atomic_fetch_add(&job->by[number], 1);
    for (int i = 0; i < 60000 && !(atomic_load(&job->by[1]) && atomic_load(&job->by[2])); i++)
        usleep(1000);
}

static void helpers_come(void **state)
{
    (void)state;
    fplt_error error;
    fplt__pool *pool;
    struct job job = {.next = 0};
    assert_ok(fplt__pool_create(3, &pool, &error), error);
    fplt__pool_run(pool, linger, &job);
    assert_int_equal(atomic_load(&job.by[1]) + atomic_load(&job.by[2]), 2);
    fplt__pool_destroy(pool);
}

/* Beside programs that take the cores away in the middle of a job. */
static void *take_a_core(void *quit)
{
    while (!atomic_load((atomic_int *)quit))
        ;
    return NULL;
}

/* Reads the CPU masks of all threads of the process again and again. */
struct watcher {
    cpu_set_t mask; /* what each must have */
    atomic_int quit;
    unsigned looks, changed;
};

static void look_at_masks(struct watcher *watcher)
{
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        cpu_set_t mask;
        int id = atoi(task->d_name);
        if (id <= 0 || sched_getaffinity(id, sizeof mask, &mask))
            continue;
        watcher->looks++;
        watcher->changed += !CPU_EQUAL(&mask, &watcher->mask);
    }
    if (tasks)
        closedir(tasks);
}

static void *watch_masks(void *argument)
{
    struct watcher *watcher = argument;
    while (!atomic_load(&watcher->quit))
        look_at_masks(watcher);
    return NULL;
}

/* The CPU masks of the caller and of the workers are never changed, not even for a moment. */
static void jobs_are_whole_beside_busy_threads(void **state)
{
    (void)state;
    enum { BUSY = 3 };
    fplt_error error;
    fplt__pool *pool;
    atomic_int quit = 0;
    pthread_t busy[BUSY], watching;
    struct watcher watcher = {.looks = 0};
    sched_getaffinity(0, sizeof watcher.mask, &watcher.mask);
    assert_ok(fplt__pool_create(fplt__cores(0), &pool, &error), error);
    for (int k = 0; k < BUSY; k++)
        assert_int_equal(pthread_create(&busy[k], NULL, take_a_core, &quit), 0);
    assert_int_equal(pthread_create(&watching, NULL, watch_masks, &watcher), 0);
    for (double begun = fplt__now(); fplt__now() - begun < 0.5;) {
        struct job job = {.lasts = 1};
        fplt__pool_run(pool, work, &job);
        atomic_store(&job.over, 1);
        assert_int_equal(atomic_load(&job.at_it), 0);
        for (int k = 0; k < PORTIONS; k++)
            assert_int_equal(atomic_load(&job.done[k]), 1);
    }
    atomic_store(&quit, 1);
    for (int k = 0; k < BUSY; k++)
        pthread_join(busy[k], NULL);
    atomic_store(&watcher.quit, 1);
    pthread_join(watching, NULL);
    look_at_masks(&watcher);
    fplt__pool_destroy(pool);
    assert_true(watcher.looks > 0);
    assert_int_equal(watcher.changed, 0);
}

/* A helper that comes too late for the last job ends all the same, and does nothing of it again. */
static void pools_end(void **state)
{
    (void)state;
    fplt_error error;
    for (int repeat = 0; repeat < 4000; repeat++) {
        fplt__pool *pool;
        struct job job = {.next = 0};
        assert_ok(fplt__pool_create(2, &pool, &error), error);
        for (int k = 0; k < repeat % 4; k++) {
            atomic_store(&job.next, 0);
            fplt__pool_run(pool, work, &job);
        }
        atomic_store(&job.over, 1);
        fplt__pool_destroy(pool);
        assert_int_equal(atomic_load(&job.late), 0);
    }
}

/* ---- parts that one shares with those that have nothing to do ---- */

struct shared {
    fplt__pool *pool;
    atomic_uint owner, done[PORTIONS], by[16];
    int waits; /* for somebody else to come, a minute at most */
};

static void do_part(void *context, size_t index, unsigned who)
{
    struct shared *shared = context;
    atomic_fetch_add(&shared->done[index], 1);
    atomic_fetch_add(&shared->by[who], 1);
    for (int i = 0; shared->waits && who == 0 && !atomic_load(&shared->by[1]) && i < 60000; i++)
        usleep(1000);
}

/* Every thread that comes has nothing to do but the first, which shares its work twice. */
static void share(void *context, unsigned number)
{
    struct shared *shared = context;
    if (atomic_fetch_add(&shared->owner, 1))
        return;
    for (int k = 0; k < 2; k++)
        fplt__pool_share(shared->pool, number, PORTIONS, do_part, shared);
}

static void parts_are_done_once(void **state)
{
    (void)state;
    fplt_error error;
    for (unsigned threads = 1; threads <= 9; threads += 2) {
        fplt__pool *pool;
        assert_ok(fplt__pool_create(threads, &pool, &error), error);
        for (int repeat = 0; repeat < 1000; repeat++) {
            struct shared shared = {.pool = pool};
            fplt__pool_run(pool, share, &shared);
            for (int k = 0; k < PORTIONS; k++)
                assert_int_equal(atomic_load(&shared.done[k]), 2);
        }
        fplt__pool_destroy(pool);
    }
}

static void others_take_parts(void **state)
{
    (void)state;
    fplt_error error;
    struct shared shared = {.waits = 1};
    assert_ok(fplt__pool_create(2, &shared.pool, &error), error);
    fplt__pool_run(shared.pool, share, &shared);
    for (int k = 0; k < PORTIONS; k++)
        assert_int_equal(atomic_load(&shared.done[k]), 2);
    /* the owner waits in its first part, whichever thread it is */
    assert_true(atomic_load(&shared.by[1]) > 0);
    fplt__pool_destroy(shared.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_whole_when_they_return),
        cmocka_unit_test(helpers_come),
        cmocka_unit_test(jobs_are_whole_beside_busy_threads),
        cmocka_unit_test(pools_end),
        cmocka_unit_test(parts_are_done_once),
        cmocka_unit_test(others_take_parts),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
