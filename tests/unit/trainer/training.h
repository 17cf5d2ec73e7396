/* A training of a few lines, for the tests of the trainer. */
#ifndef FPLT_TESTS_TRAINER_TRAINING_H
#define FPLT_TESTS_TRAINER_TRAINING_H

#include "fedplt/job.h"
#include "problems.h"
#include "report/report.h"
#include "fedplt/generate.h"
#include "fedplt/memory.h"

/* Settings with the trainer's tables for data of your own and some values: name, value, ..., NULL. */
static inline fplt_settings *settings_with(const char *const *pairs)
{
    fplt_error error;
    fplt_settings *settings;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_trainer_declare(settings, 0, NULL, NULL, &error), error);
    for (; *pairs; pairs += 2)
        assert_ok(fplt_settings_set(settings, pairs[0], pairs[1], "test", &error), error);
    return settings;
}

static inline fplt_trainer *trainer_of(const fplt_settings *settings, const fplt_job_source *source)
{
    fplt_error error;
    fplt_trainer *trainer;
    assert_ok(fplt_trainer_create(settings, source, &trainer, &error), error);
    return trainer;
}

static inline fplt_result run_to_the_end(fplt_trainer *trainer)
{
    fplt_error error;
    fplt_result result;
    assert_ok(fplt_trainer_run(trainer, NULL, NULL, &result, &error), error);
    return result;
}

/* What a run ends with; free() the weights. */
static inline double *weights_of(fplt_trainer *trainer)
{
    fplt_error error;
    size_t n = fplt_objective_dimension(fplt_trainer_job(trainer)->objective);
    double *x = calloc(n, sizeof *x);
    assert_non_null(x);
    assert_ok(fplt_trainer_weights(trainer, x, &error), error);
    return x;
}

static inline void assert_same_weights(fplt_trainer *a, fplt_trainer *b)
{
    size_t n = fplt_objective_dimension(fplt_trainer_job(a)->objective);
    double *x = weights_of(a), *y = weights_of(b);
    assert_int_equal(fplt_objective_dimension(fplt_trainer_job(b)->objective), n);
    assert_memory_equal(x, y, n * sizeof *x);
    free(x);
    free(y);
}

static inline void assert_same_history(fplt_trainer *a, fplt_trainer *b)
{
    fplt_error error;
    char *x, *y;
    assert_ok(fplt__history_csv(fplt_trainer_history(a), &x, &error), error);
    assert_ok(fplt__history_csv(fplt_trainer_history(b), &y, &error), error);
    assert_string_equal(x, y);
    fplt_free(x);
    fplt_free(y);
}

/* Rows that a caller has in memory, as the generator makes them. */
static inline fplt_dataset *paper_rows(uint32_t agents, size_t features, size_t rows)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_generate_settings wanted = fplt_generate_defaults();
    wanted.agents = agents;
    wanted.features = features;
    wanted.rows = rows;
    wanted.unequal = 0.5;
    wanted.seed = 11;
    assert_ok(fplt_dataset_generate(&wanted, &dataset, &error), error);
    return dataset;
}

/* The same rows, borrowed. */
static inline fplt_dataset *borrow(const fplt_dataset *from, void (*release)(void *), void *context)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_rows rows = fplt_dataset_all(from);
    uint32_t agents = fplt_dataset_agents(from);
    size_t counts[64];
    assert_true(agents <= 64);
    for (uint32_t i = 0; i < agents; i++)
        counts[i] = fplt_dataset_shard(from, i).count;
    assert_ok(fplt_dataset_borrow(&rows, fplt_dataset_task(from), counts, agents, release, context,
                                  &dataset, &error),
              error);
    return dataset;
}

#endif
