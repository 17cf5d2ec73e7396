/* Anderson acceleration: at least twice fewer rounds than the best plain Fed-PLT of a grid on real
 * data, and never noticeably more rounds than plain with the same parameters. */
#include "real.h"

#include "fedplt/generate.h"
#include "fedplt/tune.h"
#include "job/auto.h"

static fplt_run_settings settings_for(const char *algorithm, const fplt_auto *choice,
                                      double *parameter, double rho)
{
    fplt_run_settings run = fplt_run_defaults();
    run.algorithm = fplt_algorithm_find(algorithm);
    fplt_algorithm_defaults(run.algorithm, parameter);
    parameter[0] = rho;
    run.parameter = parameter;
    run.curvatures = choice->curvatures;
    return run;
}

static fplt_result run_to_the_end(const fplt_objective *objective, const fplt_run_settings *run)
{
    fplt_error error;
    fplt_result result;
    fplt_engine *engine = engine_make(objective, run);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    fplt_engine_destroy(engine);
    return result;
}

/* No plain run of the grid is there after twice the accelerated rounds. */
static void twice_fewer(const struct source *source)
{
    static const double factors[] = {0.5, 1, 2, 4, 8};
    const double tolerance = 1e-16;
    need_file(source->path);
    fplt_error error;
    fplt_auto choice;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_objective *objective = real_objective(source, 0.01);
    fplt_run_settings asked = fplt_run_defaults();
    assert_ok(fplt__auto_resolve(objective, &asked, &choice, &error), error);
    double rho = choice.parameter[0], high = choice.bend.everywhere.highest;
    fplt_run_settings run = settings_for("fed-plt-anderson", &choice, parameter, rho);
    run.tolerance = tolerance;
    fplt_result fast = run_to_the_end(objective, &run);
    assert_int_equal(fast.outcome, FPLT_CONVERGED);
    print_message("# %s: %llu accelerated rounds\n", source->name,
                  (unsigned long long)fast.counters.rounds);
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
        for (int longest = 0; longest < 2; longest++) {
            run = settings_for("fed-plt", &choice, parameter, rho * factors[f]);
            run.tolerance = tolerance;
            run.evaluate_every = 0;
            run.rounds = 2 * fast.counters.rounds - 1;
            if (longest)
                run.training.step = 0.999 * 2 / (high + 1 / parameter[0]);
            fplt_result plain = run_to_the_end(objective, &run);
            if (plain.outcome == FPLT_CONVERGED)
                fail_msg("%s: plain with rho x %g needs no more than %llu rounds, accelerated %llu",
                         source->name, factors[f], (unsigned long long)run.rounds,
                         (unsigned long long)fast.counters.rounds);
        }
    fplt__auto_clear(&choice);
    fplt_objective_destroy(objective);
}

static void heart_disease(void **state)
{
    (void)state;
    twice_fewer(&sources[0]);
}

static void a9a(void **state)
{
    (void)state;
    twice_fewer(&sources[1]);
}

static void mushrooms(void **state)
{
    (void)state;
    twice_fewer(&sources[2]);
}

/* A synthetic problem drawn from the number of the trial. */
struct trial {
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_prox *prox;
    uint32_t epochs;
    double factor; /* of the automatic rho */
    char text[200];
};

static struct trial make_trial(uint64_t number)
{
    static const char *const losses[] = {"logistic", "squared-hinge", "least-squares", "huber"};
    static const uint32_t agents[] = {2, 5, 20}, epochs[] = {1, 2, 5, 20};
    static const size_t features[] = {2, 5, 12};
    static const double ridges[] = {0.5, 0.05, 0.005}, factors[] = {0.3, 1, 3};
    fplt_stream stream = fplt_stream_make(number, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_error error;
    struct trial trial;
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    fplt_prox_settings common = fplt_prox_defaults();
    cost.loss = losses[fplt_stream_below(&stream, 4)];
    cost.weight = ridges[fplt_stream_below(&stream, 3)];
    int regression = strcmp(cost.loss, "least-squares") == 0 || strcmp(cost.loss, "huber") == 0;
    data.name = regression ? "planted" : fplt_stream_below(&stream, 2) ? "paper" : "planted";
    data.task = regression ? FPLT_TASK_REGRESSION : FPLT_TASK_BINARY;
    data.agents = agents[fplt_stream_below(&stream, 3)];
    data.features = features[fplt_stream_below(&stream, 3)];
    data.rows = 30;
    data.noise = 0.5;
    data.seed = number;
    trial.epochs = epochs[fplt_stream_below(&stream, 4)];
    trial.factor = factors[fplt_stream_below(&stream, 3)];
    common.name = fplt_stream_below(&stream, 3) ? "zero" : "l1";
    common.weight = 0.02 * data.agents;
    assert_ok(fplt_dataset_generate(&data, &trial.dataset, &error), error);
    assert_ok(fplt_objective_create(&cost, trial.dataset, &trial.objective, &error), error);
    assert_ok(fplt_prox_create(&common, data.features, data.features, &trial.prox, &error), error);
    snprintf(trial.text, sizeof trial.text, "%s %s N %u n %zu eps %g epochs %u h %s rho x %g",
             data.name, cost.loss, data.agents, data.features, cost.weight, trial.epochs,
             common.name, trial.factor);
    return trial;
}

/* At most 10 % and 3 rounds more than plain; returns plain over accelerated. */
static double never_slower(uint64_t number)
{
    struct trial trial = make_trial(number);
    fplt_error error;
    fplt_auto choice;
    double parameter[FPLT_MAX_PARAMETERS];
    uint64_t rounds[2];
    fplt_run_settings asked = fplt_run_defaults();
    asked.threads = 1;
    assert_ok(fplt__auto_resolve(trial.objective, &asked, &choice, &error), error);
    for (int fast = 0; fast < 2; fast++) {
        fplt_run_settings run = settings_for(fast ? "fed-plt-anderson" : "fed-plt", &choice,
                                             parameter, trial.factor * choice.parameter[0]);
        run.prox = trial.prox;
        run.training.epochs = trial.epochs;
        run.threads = 1;
        run.tolerance = 1e-14;
        run.relative = 1;
        run.rounds = fast && rounds[0] < 4000 ? rounds[0] + rounds[0] / 10 + 3 : 4000;
        fplt_result result = run_to_the_end(trial.objective, &run);
        rounds[fast] = result.counters.rounds;
        if (result.outcome != FPLT_CONVERGED && (fast == 0 || rounds[0] < 4000))
            fail_msg("trial %llu, %s: %s %s (plain needs %llu)", (unsigned long long)number,
                     trial.text, fast ? "accelerated" : "plain", result.sentence,
                     (unsigned long long)rounds[0]);
    }
    if (getenv("VERBOSE"))
        fprintf(stderr, "%s: %llu, %llu\n", trial.text, (unsigned long long)rounds[0],
                (unsigned long long)rounds[1]);
    fplt__auto_clear(&choice);
    fplt_prox_destroy(trial.prox);
    fplt_objective_destroy(trial.objective);
    fplt_dataset_destroy(trial.dataset);
    return (double)rounds[0] / (double)rounds[1];
}

static void never_more_rounds_than_plain(void **state)
{
    (void)state;
    double gain = 0;
    const int trials = 150;
    for (int number = 0; number < trials; number++)
        gain += log(never_slower((uint64_t)number)) / trials;
    print_message("# %d problems: %.2f times fewer rounds in the geometric mean\n", trials,
                  exp(gain));
    assert_true(exp(gain) > 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heart_disease),
        cmocka_unit_test(a9a),
        cmocka_unit_test(mushrooms),
        cmocka_unit_test(never_more_rounds_than_plain),
    };
    return cmocka_run_group_tests_name("acceleration", tests, NULL, NULL);
}
