/* Jobs from settings, against data sets made by hand and minimisers found by another program. */
#include "testing.h"

#include "failing.h"
#include "base/settings.h"
#include "data/dataset_access.h"
#include "job/job.h"
#include "temporary.h"
#include "objective/objective_access.h"
#include "participation/participation.h"
#include "prox/prox_access.h"
#include "fedplt/algorithm.h"
#include "fedplt/generate.h"

static fplt_settings *settings_for(const char *algorithm)
{
    fplt_error error;
    fplt_settings *settings;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_job_declare(settings, FPLT_JOB_ALL, algorithm, &error), error);
    return settings;
}

static void set(fplt_settings *settings, const char *name, const char *value)
{
    fplt_error error;
    assert_ok(fplt_settings_set(settings, name, value, "test", &error), error);
}

/* Every algorithm can be declared: none has a parameter called like another setting. */
static void every_algorithm_declares(void **state)
{
    (void)state;
    const fplt_algorithm *algorithm;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++) {
        fplt_settings *settings = settings_for(algorithm->name);
        for (const fplt_setting *row = algorithm->settings; row->name; row++)
            assert_ptr_equal(fplt__settings_find(settings, row->name), row);
        fplt_settings_destroy(settings);
    }
    fplt_error error;
    fplt_settings *settings;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_int_equal(fplt_job_declare(settings, FPLT_JOB_ALL, "fed-ptl", &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "did you mean 'fed-plt'?");
    fplt_settings_destroy(settings);
}

/* Every choice of a table is one that the registry behind it knows, and the other way round. */
static void choices_are_the_registries(void **state)
{
    (void)state;
    fplt_settings *settings = settings_for(NULL);
    const struct {
        const char *setting;
        const char *(*list)(size_t, const char **);
    } pairs[] = {{"loss", fplt__loss_name},
                 {"regulariser", fplt__regulariser_name},
                 {"h", fplt__prox_list},
                 {"participation", fplt__participation_list},
                 {"generator", fplt__generator_list},
                 {"partition", fplt__partition_list}};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        const char *name;
        for (size_t i = 0; (name = pairs[p].list(i, NULL)); i++)
            set(settings, pairs[p].setting, name);
    }
    const fplt_solver *solver;
    for (size_t i = 0; (solver = fplt_solver_list(i)); i++)
        set(settings, "solver", solver->name);
    fplt_settings_destroy(settings);
}

static void default_is_the_papers_problem(void **state)
{
    (void)state;
    fplt_error error;
    fplt_settings *settings = settings_for(NULL);
    fplt_generate_settings paper = fplt_generate_defaults();
    fplt_dataset *expected;
    fplt_job *job;
    paper.run = 3;
    assert_ok(fplt_dataset_generate(&paper, &expected, &error), error);
    assert_ok(fplt__job_create(settings, 3, &job, &error), error);
    const fplt_job_view *view = fplt_job_get_view(job);
    fplt_rows a = fplt_dataset_all(expected), b = fplt_dataset_all(view->training);
    assert_int_equal(fplt_dataset_agents(view->training), 100);
    assert_int_equal(b.count, 25000);
    assert_int_equal(b.features, 5);
    assert_memory_equal(a.dense, b.dense, a.count * a.features * sizeof(double));
    assert_memory_equal(a.label, b.label, a.count * sizeof(double));
    assert_null(view->held_out);
    assert_string_equal(view->cost.loss, "logistic");
    assert_true(view->cost.weight == 0.5 && view->run.training.epochs == 5 && view->run.run == 3);
    assert_true(view->run.tolerance == 1e-5 && view->run.communication_time == 10);
    fplt_job_destroy(job);
    fplt_dataset_destroy(expected);
    fplt_settings_destroy(settings);
}

static void read_vector(const char *path, double *x, size_t count)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(fscanf(file, "%lf", &x[i]), 1);
    fclose(file);
}

static void reaches(const char *data, size_t n, const char *eps, const char *h_weight,
                    const char *reference)
{
    fplt_error error;
    fplt_job *job;
    fplt_engine *engine;
    fplt_result result;
    double x[13], expected[13];
    fplt_settings *settings = settings_for(NULL);
    set(settings, "data", data);
    set(settings, "label", "b");
    set(settings, "eps", eps);
    if (h_weight) {
        set(settings, "h", "l1");
        set(settings, "h-weight", h_weight);
    }
    set(settings, "tolerance", "1e-24");
    set(settings, "rounds", "5000");
    assert_ok(fplt__job_create(settings, 0, &job, &error), error);
    const fplt_job_view *view = fplt_job_get_view(job);
    assert_ok(fplt_engine_create(view->objective, &view->run, &engine, &error), error);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_int_equal(result.outcome, FPLT_CONVERGED);
    assert_int_equal(fplt_engine_model(engine, x), FPLT_OK);
    read_vector(reference, expected, n);
    for (size_t j = 0; j < n; j++)
        assert_near(x[j], expected[j], 2e-11);
    fplt_engine_destroy(engine);
    fplt_job_destroy(job);
    fplt_settings_destroy(settings);
}

/* Minimisers of an independent program, with and without h: 0.01 N ||x||_1 for N = 4. */
static void reaches_known_minimisers(void **state)
{
    (void)state;
    need_file(SHARED "/data/reference/heart_disease_eps0.5_l2.txt");
    const char *data = SHARED "/data/heart_disease/heart_disease.csv";
    reaches(data, 13, "0.5", NULL, SHARED "/data/reference/heart_disease_eps0.5_l2.txt");
    reaches(data, 13, "0.01", NULL, SHARED "/data/reference/heart_disease_eps0.01_l2.txt");
    reaches(data, 13, "0.5", "0.04", SHARED "/data/reference/heart_disease_eps0.5_l1.txt");
}

static void reaches_minimisers_of_generated_data(void **state)
{
    (void)state;
    const char *data = GOLDEN "/clinics.csv";
    reaches(data, 6, "0.5", NULL, GOLDEN "/clinics_eps0.5_l2.txt");
    reaches(data, 6, "0.01", NULL, GOLDEN "/clinics_eps0.01_l2.txt");
    reaches(data, 6, "0.5", "0.04", GOLDEN "/clinics_eps0.5_l1.txt");
}

static void divides_and_holds_out(void **state)
{
    (void)state;
    static const char csv[] = "site,label,u,v\nn,0,1,2\nn,1,3,4\ns,1,5,6\ns,0,7,8\nn,1,9,10\n"
                              "s,1,11,12\nn,0,13,14\ns,0,15,16\n";
    temporary file = temporary_file(csv, sizeof csv - 1);
    fplt_error error;
    fplt_job *job;
    fplt_settings *settings = settings_for(NULL);
    set(settings, "data", file.path);
    assert_ok(fplt__job_create(settings, 0, &job, &error), error);
    const fplt_dataset *training = fplt_job_get_view(job)->training;
    assert_int_equal(fplt_dataset_agents(training), 2);
    assert_string_equal(fplt_dataset_agent_name(training, 1), "s");
    fplt_job_destroy(job);

    set(settings, "agents", "4");
    assert_int_equal(fplt__job_create(settings, 0, &job, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "2 sites");

    set(settings, "partition", "contiguous");
    set(settings, "holdout", "0.5");
    set(settings, "standardise", "yes");
    assert_ok(fplt__job_create(settings, 0, &job, &error), error);
    training = fplt_job_get_view(job)->training;
    assert_int_equal(fplt_dataset_agents(training), 4);
    assert_int_equal(fplt_dataset_rows(training), 4);
    assert_int_equal(fplt_dataset_rows(fplt_job_get_view(job)->held_out), 4);
    fplt_rows rows = fplt_dataset_all(training);
    for (size_t j = 0; j < 2; j++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < 4; i++) {
            mean += rows.dense[i * 2 + j] / 4;
            square += rows.dense[i * 2 + j] * rows.dense[i * 2 + j] / 4;
        }
        assert_near(mean, 0, 1e-15);
        assert_near(square, 1, 1e-15);
    }
    fplt_job_destroy(job);

    set(settings, "generator", "iid");
    assert_int_equal(fplt__job_create(settings, 0, &job, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "generator has no effect beside data");
    fplt_settings_destroy(settings);
    unlink(file.path);
}

/* h does not touch the intercept: under an overwhelming l1 cost only it is left. */
static void intercept_is_free(void **state)
{
    (void)state;
    static const char csv[] = "label,u\n1,1\n1,2\n1,3\n-1,1\n";
    temporary file = temporary_file(csv, sizeof csv - 1);
    fplt_error error;
    fplt_job *job;
    fplt_engine *engine;
    fplt_result result;
    double x[2];
    fplt_settings *settings = settings_for(NULL);
    set(settings, "data", file.path);
    set(settings, "intercept", "yes");
    set(settings, "h", "l1");
    set(settings, "h-weight", "1000");
    set(settings, "tolerance", "1e-20");
    assert_ok(fplt__job_create(settings, 0, &job, &error), error);
    const fplt_job_view *view = fplt_job_get_view(job);
    assert_ok(fplt_engine_create(view->objective, &view->run, &engine, &error), error);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_int_equal(fplt_engine_model(engine, x), FPLT_OK);
    assert_true(x[0] == 0);
    assert_near(x[1], log(3), 1e-8); /* three of four rows are +1 */
    fplt_engine_destroy(engine);
    fplt_job_destroy(job);
    fplt_settings_destroy(settings);
    unlink(file.path);
}

static void loss_follows_the_task(void **state)
{
    (void)state;
    fplt_settings *settings = settings_for(NULL);
    assert_string_equal(fplt__job_cost_settings(settings, FPLT_TASK_BINARY).loss, "logistic");
    assert_string_equal(fplt__job_cost_settings(settings, FPLT_TASK_CLASSES).loss, "softmax");
    assert_string_equal(fplt__job_cost_settings(settings, FPLT_TASK_REGRESSION).loss,
                        "least-squares");
    set(settings, "loss", "huber");
    assert_string_equal(fplt__job_cost_settings(settings, FPLT_TASK_REGRESSION).loss, "huber");
    fplt_settings_destroy(settings);
}

static void shares_are_one_or_one_an_agent(void **state)
{
    (void)state;
    fplt_error error;
    fplt_participation *participation;
    fplt_settings *settings = settings_for(NULL);
    set(settings, "participation", "bernoulli");
    set(settings, "active-share", "0.25,0.5,1");
    assert_ok(fplt__job_participation(settings, 3, &participation, &error), error);
    assert_true(fplt__participation_rate(participation, 0) == 0.25);
    assert_true(fplt__participation_rate(participation, 2) == 1);
    fplt_participation_destroy(participation);
    assert_int_equal(fplt__job_participation(settings, 4, &participation, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "3 numbers");
    set(settings, "participation", "fixed");
    assert_ok(fplt__job_participation(settings, 5, &participation, &error), error);
    assert_true(fplt__participation_rate(participation, 0) == 3.0 / 5);
    fplt_participation_destroy(participation);
    set(settings, "participation", "trace");
    assert_int_equal(fplt__job_participation(settings, 5, &participation, &error), FPLT_BAD_VALUE);
    fplt_settings_destroy(settings);
}

/* 100 agents of 250 records with 5 epochs: a measurement is little more than two gradients each, and a fifth of
 * what eight times as many cost. */
static void measurements_are_spaced(void **state)
{
    (void)state;
    const struct {
        const char *participation, *active, *every;
        uint32_t wanted;
    } cases[] = {{"all", NULL, NULL, 1},         {"fixed", "5", NULL, 35}, {"fixed", "50", NULL, 4},
                 {"fixed", "100", NULL, 1},      {"fixed", "5", "7", 7},   {"fixed", "5", "0", 0},
                 {"round-robin", "1", NULL, 147}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_error error;
        fplt_job *job;
        fplt_settings *settings = settings_for(NULL);
        set(settings, "participation", cases[i].participation);
        if (cases[i].active)
            set(settings, "active", cases[i].active);
        if (cases[i].every)
            set(settings, "eval-every", cases[i].every);
        assert_ok(fplt__job_create(settings, 0, &job, &error), error);
        assert_int_equal(fplt_job_get_view(job)->run.evaluate_every, cases[i].wanted);
        fplt_job_destroy(job);
        fplt_settings_destroy(settings);
    }
}

/* What a measurement takes beside gradients counts where vectors are long or records few; a minibatch makes a
 * round short. Own costs are all of the work. */
static void spacing_counts_the_work(void **state)
{
    (void)state;
    const struct {
        uint32_t agents;
        size_t rows, features;
        const char *solver;
        double active, every;
    } cases[] = {{100, 250, 5, "gradient", 100, 2},  {2, 20, 1000, "gradient", 2, 5},
                 {2, 20, 10000, "gradient", 2, 5},   {2, 100, 5, "gradient", 2, 6},
                 {2, 20000, 5, "gradient", 2, 2},    {2, 20000, 5, "sgd", 2, 391},
                 {1000, 10, 5, "gradient", 1000, 4}, {1000, 10, 5, "gradient", 10, 259}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_error error;
        fplt_dataset *dataset;
        fplt_objective *objective;
        fplt_generate_settings data = fplt_generate_defaults();
        fplt_objective_settings cost = fplt_objective_defaults();
        fplt_training training = fplt_training_defaults();
        data.agents = cases[i].agents;
        data.rows = cases[i].rows;
        data.features = cases[i].features;
        training.solver = fplt_solver_find(cases[i].solver);
        assert_ok(fplt_dataset_generate(&data, &dataset, &error), error);
        assert_ok(fplt_objective_create(&cost, dataset, &objective, &error), error);
        fplt__load load = fplt__load_of(objective);
        assert_near(fplt__load_spacing(&load, &training, cases[i].agents, cases[i].active),
                    cases[i].every, 0);
        fplt_objective_destroy(objective);
        fplt_dataset_destroy(dataset);
    }
}

/* With all active, on data of your own: by the epochs, and after every round without local training. */
static void measurements_of_own_data_are_spaced(void **state)
{
    (void)state;
    const struct {
        const char *algorithm, *epochs;
        uint32_t wanted;
    } cases[] = {{"fed-plt", "5", 13},
                 {"fed-plt", "8", 11},
                 {"fed-plt", "1", 17},
                 {"fed-plt-anderson", "3", 15},
                 {"fed-newton", NULL, 1}};
    const char *csv = "site,a,label\nx,1,0\nx,2,1\ny,1.5,0\ny,0.5,1\n";
    temporary file = temporary_file(csv, strlen(csv));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_error error;
        fplt_job *job;
        fplt_settings *settings = settings_for(cases[i].algorithm);
        set(settings, "algorithm", cases[i].algorithm);
        set(settings, "data", file.path);
        if (cases[i].epochs)
            set(settings, "epochs", cases[i].epochs);
        assert_ok(fplt__job_create(settings, 0, &job, &error), error);
        assert_int_equal(fplt_job_get_view(job)->run.evaluate_every, cases[i].wanted);
        fplt_job_destroy(job);
        fplt_settings_destroy(settings);
    }
    unlink(file.path);
}

static void noise_must_be_said(void **state)
{
    (void)state;
    fplt_error error;
    fplt_training training;
    fplt_settings *settings = settings_for(NULL);
    set(settings, "solver", "noisy");
    assert_int_equal(fplt_job_training(settings, &training, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "tau");
    set(settings, "tau", "0.5");
    set(settings, "gamma", "0.25");
    assert_ok(fplt_job_training(settings, &training, &error), error);
    assert_true(training.noise_tau == 0.5 && training.step == 0.25);
    fplt_settings_destroy(settings);
}

static fplt_status uncoordinated(const char *csv, fplt_training *each, fplt_error *error)
{
    temporary file = temporary_file(csv, strlen(csv));
    fplt_training common = fplt_training_defaults();
    fplt_status status = fplt__job_uncoordinated(file.path, &common, NULL, 3, each, error);
    unlink(file.path);
    return status;
}

static void agents_may_differ(void **state)
{
    (void)state;
    fplt_error error;
    fplt_training each[3];
    assert_ok(uncoordinated("# who does otherwise\r\nagent, epochs ,solver,gamma\n2,7,sgd,0.125\n\n"
                            "0,,,auto\n",
                            each, &error),
              error);
    assert_int_equal(each[0].epochs, 5);
    assert_int_equal(each[1].epochs, 5);
    assert_int_equal(each[2].epochs, 7);
    assert_string_equal(each[2].solver->name, "sgd");
    assert_true(each[2].step == 0.125 && each[0].step == 0);
}

static void bad_rows_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *csv, *part;
    } cases[] = {
        {"", "is empty"},
        {"agent,sovler\n", ":1: there is no column 'sovler' (did you mean 'solver'?)"},
        {"solver,gamma\n", ":1: the column agent is missing"},
        {"agent,gamma\n3,1\n", ":2: there is no agent '3'"},
        {"agent,gamma\n-1,1\n", ":2: there is no agent '-1'"},
        {"agent,gamma\n1,0\n", ":2: gamma is '0', but it must be a number above 0"},
        {"agent,gamma\n1,1e999\n", ":2: gamma"},
        {"agent,gamma\n1,0.5x\n", ":2: gamma"},
        {"agent,epochs\n\n1,0\n", ":3: epochs is '0'"},
        {"agent,epochs\n1\n", ":2: there are 1 fields, but 2 columns"},
        {"agent,epochs\n1,2,3\n", ":2: there are 3 fields, but 2 columns"},
        {"agent,solver\n1,sdg\n", ":2: there is no solver 'sdg' (did you mean 'sgd'?)"},
        {"agent,solver\n1,noisy\n", ":2: the solver noisy adds noise"},
        {"agent,batch\n1,3\n", ":2: batch has no effect with the solver gradient; leave"},
        {"agent,solver,tau\n0,noisy,1\n1,sgd,2\n", ":3: tau has no effect with the solver sgd"},
        {"agent,gamma,solver\n1,2,newton\n", ":2: gamma has no effect with the solver newton"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_error error = {FPLT_OK, ""};
        fplt_training each[3];
        assert_int_equal(uncoordinated(cases[i].csv, each, &error), FPLT_BAD_DATA);
        assert_contains(error.text, cases[i].part);
    }
}

static void start_must_fit(void **state)
{
    (void)state;
    fplt_error error;
    fplt_job *job;
    double x[5] = {1, 2, 3, 4, 5};
    fplt_settings *settings = settings_for(NULL);
    set(settings, "agents", "3");
    assert_ok(fplt__job_create(settings, 0, &job, &error), error);
    assert_int_equal(fplt__job_start(job, x, 4, "m.json", &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "m.json: the starting point has 4 coordinates");
    assert_ok(fplt__job_start(job, x, 5, "m.json", &error), error);
    x[0] = 9;
    assert_true(fplt_job_get_view(job)->run.given[0] == 1);
    assert_int_equal(fplt_job_get_view(job)->run.start, FPLT_START_GIVEN);
    fplt_job_destroy(job);
    fplt_settings_destroy(settings);
}

static void survives_want_of_memory(void **state)
{
    (void)state;
    static const char csv[] = "site,label,u\nn,0,1\nn,1,3\ns,1,5\ns,0,7\nn,1,9\ns,1,11\n";
    static const char each[] = "agent,epochs\ns,9\n";
    temporary file = temporary_file(csv, sizeof csv - 1), other = temporary_file(each, 17);
    fplt_settings *settings = settings_for(NULL);
    set(settings, "data", file.path);
    set(settings, "partition", "shuffled");
    set(settings, "agents", "2");
    set(settings, "holdout", "0.3");
    set(settings, "standardise", "yes");
    set(settings, "participation", "bernoulli");
    set(settings, "active-share", "0.5,1");
    set(settings, "h", "group-lasso");
    survives_failing_allocations(
        {
            fplt_job *job;
            status = fplt__job_create(settings, 0, &job, NULL);
            fplt_job_destroy(job);
        },
        20);
    fplt_settings_destroy(settings);
    settings = settings_for(NULL);
    set(settings, "data", file.path);
    set(settings, "uncoordinated", other.path);
    survives_failing_allocations(
        {
            fplt_job *job;
            status = fplt__job_create(settings, 0, &job, NULL);
            fplt_job_destroy(job);
        },
        20);
    fplt_settings_destroy(settings);
    unlink(file.path);
    unlink(other.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_declares),
        cmocka_unit_test(choices_are_the_registries),
        cmocka_unit_test(default_is_the_papers_problem),
        cmocka_unit_test(reaches_known_minimisers),
        cmocka_unit_test(reaches_minimisers_of_generated_data),
        cmocka_unit_test(divides_and_holds_out),
        cmocka_unit_test(intercept_is_free),
        cmocka_unit_test(loss_follows_the_task),
        cmocka_unit_test(shares_are_one_or_one_an_agent),
        cmocka_unit_test(measurements_are_spaced),
        cmocka_unit_test(spacing_counts_the_work),
        cmocka_unit_test(measurements_of_own_data_are_spaced),
        cmocka_unit_test(noise_must_be_said),
        cmocka_unit_test(agents_may_differ),
        cmocka_unit_test(bad_rows_are_named),
        cmocka_unit_test(start_must_fit),
        cmocka_unit_test(survives_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
