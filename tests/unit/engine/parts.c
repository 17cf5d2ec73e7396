/* Shards so large that threads share their records: the sums are those of the pieces, and no number of
 * threads changes a bit. */
#include "problems.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "fedplt/generate.h"

enum { PIECES = 8, ROWS = 1200, FEATURES = 12 };

struct case_of {
    const char *loss;
    fplt_task task;
    int intercept;
};

static const struct case_of cases[] = {{"logistic", FPLT_TASK_BINARY, 0},
                                       {"softmax", FPLT_TASK_CLASSES, 1},
                                       {"least-squares", FPLT_TASK_REGRESSION, 1}};
enum { CASES = sizeof cases / sizeof *cases };

static fplt_dataset *pieces_of(const struct case_of *one)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_generate_settings data = fplt_generate_defaults();
    data.name = "planted";
    data.task = one->task;
    data.agents = PIECES;
    data.rows = ROWS;
    data.features = FEATURES;
    data.classes = 3;
    assert_ok(fplt_dataset_generate(&data, &dataset, &error), error);
    return dataset;
}

/* All rows as those of `agents` agents, one after the other. */
static fplt_dataset *pooled(const fplt_dataset *pieces, uint32_t agents)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_rows rows = fplt_dataset_all(pieces);
    size_t count[3] = {0};
    for (uint32_t i = 0; i < agents; i++)
        count[i] = rows.count * (i + 1) / agents - rows.count * i / agents;
    assert_ok(fplt_dataset_from_rows(&rows, fplt_dataset_task(pieces), count, agents, &dataset,
                                     &error),
              error);
    return dataset;
}

static fplt_objective *cost_of(const struct case_of *one, const fplt_dataset *dataset)
{
    fplt_error error;
    fplt_objective *objective;
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.loss = one->loss;
    cost.intercept = one->intercept;
    assert_ok(fplt_objective_create(&cost, dataset, &objective, &error), error);
    return objective;
}

/* Value, gradient, Hessian times v and hits of agent i, one after the other. */
static void all_of(const fplt_objective *o, uint32_t agent, const double *x, const double *v,
                   double *out)
{
    size_t n = fplt_objective_dimension(o), hits = 0;
    int classifies;
    double *scratch = aligned_alloc(64, (fplt_objective_scratch(o) + 8) / 8 * 64);
    assert_int_equal(
        fplt__objective_measure(o, agent, x, out, out + 1, &hits, &classifies, scratch), FPLT_OK);
    assert_int_equal(fplt__objective_hessian_times(o, agent, x, v, out + 1 + n, scratch), FPLT_OK);
    out[1 + 2 * n] = (double)hits;
    free(scratch);
}

static void a_shard_is_the_sum_of_its_pieces(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        fplt_dataset *data = pieces_of(&cases[c]), *all = pooled(data, 1);
        fplt_objective *pieces = cost_of(&cases[c], data), *whole = cost_of(&cases[c], all);
        size_t n = fplt_objective_dimension(whole), size = 2 * n + 2;
        assert_true(fplt__objective_parts(pieces) == 1 && fplt__objective_parts(whole) > 2);
        double x[64], v[64], one[130], sum[130] = {0};
        assert_true(n <= 64);
        fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
        fplt__stream_normals(&stream, 0.3, x, n);
        fplt__stream_normals(&stream, 1, v, n);
        for (uint32_t i = 0; i < PIECES; i++) {
            all_of(pieces, i, x, v, one);
            for (size_t j = 0; j < size; j++)
                sum[j] += one[j] / (j + 1 < size ? PIECES : 1);
        }
        all_of(whole, 0, x, v, one);
        for (size_t j = 0; j < size; j++)
            assert_near(one[j], sum[j], 1e-12 * (1 + fabs(sum[j])));
        fplt_objective_destroy(pieces);
        fplt_objective_destroy(whole);
        fplt_dataset_destroy(data);
        fplt_dataset_destroy(all);
    }
}

/* The model and what is measured at it, after some rounds. */
static void run_on(const fplt_objective *objective, const char *solver, unsigned threads,
                   double *out)
{
    fplt_error error;
    fplt_measure measure;
    fplt_run_settings settings = fplt_run_defaults();
    settings.threads = threads;
    settings.training.solver = fplt_solver_find(solver);
    fplt_engine *engine = engine_make(objective, &settings);
    for (int k = 0; k < 4; k++)
        assert_ok(fplt_engine_round(engine, &error), error);
    assert_ok(fplt_engine_measure(engine, &measure, &error), error);
    out[0] = measure.criterion;
    out[1] = measure.objective;
    out[2] = (double)measure.hits;
    assert_int_equal(fplt_engine_model(engine, out + 3), FPLT_OK);
    fplt_engine_destroy(engine);
}

static void threads_share_a_shard_and_change_no_bit(void **state)
{
    (void)state;
    static const char *const solvers[] = {"gradient", "newton", "svrg"};
    for (int c = 0; c < CASES; c++)
        for (uint32_t agents = 1; agents <= 3; agents += 2) {
            fplt_dataset *data = pieces_of(&cases[c]), *some = pooled(data, agents);
            fplt_objective *objective = cost_of(&cases[c], some);
            assert_true(fplt__objective_parts(objective) > 1);
            for (unsigned s = 0; s < sizeof solvers / sizeof *solvers; s++) {
                if (!drawn_takes((uint64_t)c * 16 + agents * 4 + s))
                    continue;
                double one[70] = {0}, many[70] = {0};
                run_on(objective, solvers[s], 1, one);
                for (unsigned threads = 2; threads <= 8; threads *= 2) {
                    run_on(objective, solvers[s], threads, many);
                    if (memcmp(one, many, sizeof one))
                        fail_msg("%s, %s, %u agents: %u threads give other bits", cases[c].loss,
                                 solvers[s], agents, threads);
                }
            }
            fplt_objective_destroy(objective);
            fplt_dataset_destroy(some);
            fplt_dataset_destroy(data);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_is_the_sum_of_its_pieces),
        cmocka_unit_test(threads_share_a_shard_and_change_no_bit),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
