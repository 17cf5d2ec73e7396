/* A small private job, from a few settings to its plan. */
#ifndef FPLT_TESTS_PROMISE_FIXTURE_H
#define FPLT_TESTS_PROMISE_FIXTURE_H

#include "testing.h"

#include "fedplt/job.h"
#include "fedplt/promise.h"
#include "promise/promise.h"

static inline fplt_settings *settings_for(const char *algorithm)
{
    fplt_error error;
    fplt_settings *settings;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_job_declare(settings, FPLT_JOB_ALL, algorithm, &error), error);
    assert_ok(fplt_settings_add(settings, "privacy", fplt__promise_table, &error), error);
    return settings;
}

static inline void set(fplt_settings *settings, const char *name, const char *value)
{
    fplt_error error;
    assert_ok(fplt_settings_set(settings, name, value, "test", &error), error);
}

/* A small private job: 4 agents, 3 features, 40 rows. */
struct fixture {
    fplt_settings *settings;
    fplt_job *job;
    fplt_promise *plan;
    const fplt_promise_view *view;
};

static inline void set_small(fplt_settings *settings)
{
    set(settings, "agents", "4");
    set(settings, "features", "3");
    set(settings, "rows", "40");
}

static inline fplt_status try_plan(fplt_settings *settings, struct fixture *fixture,
                                   fplt_error *error)
{
    fplt_status status;
    fplt_job_source source = {.dataset = NULL};
    *fixture = (struct fixture){.settings = settings};
    if ((status = fplt_promise_prepare(settings, &source, error)) ||
        (status = fplt_job_create_from(settings, 0, &source, &fixture->job, error)) ||
        (status = fplt_promise_create(settings, fixture->job, &fixture->plan, error)))
        return status;
    fixture->view = fplt_promise_get_view(fixture->plan);
    return FPLT_OK;
}

static inline void release(struct fixture *fixture)
{
    fplt_job_destroy(fixture->job);
    fplt_promise_destroy(fixture->plan);
    fplt_settings_destroy(fixture->settings);
}

static inline struct fixture make(const char *algorithm, const char *const (*given)[2],
                                  size_t count)
{
    fplt_error error;
    struct fixture fixture;
    fplt_settings *settings = settings_for(algorithm);
    set_small(settings);
    for (size_t i = 0; i < count; i++)
        set(settings, given[i][0], given[i][1]);
    assert_ok(try_plan(settings, &fixture, &error), error);
    return fixture;
}

#define MAKE(algorithm, ...)                               \
    make(algorithm, (const char *const[][2]){__VA_ARGS__}, \
         sizeof((const char *const[][2]){__VA_ARGS__}) / (2 * sizeof(char *)))

#endif
