/* Private jobs: refusals, calibration against the formula written out, parameters that do not
 * depend on the records, noise, bounds, certificates. */
#include "base/noise.h"
#include "base/random.h"
#include "base/settings.h"
#include "data/dataset_access.h"
#include "engine/engine_access.h"
#include "privacy/privacy.h"
#include "promise/fixture.h"

#include <jansson.h>

#include "failing.h"
#include "fedplt/noise.h"
#include "objective/objective.h"
#include "promise/certificate.h"
#include "promise/promise.h"

static const struct refusal {
    const char *algorithm, *name, *value, *says;
} refusals[] = {
    {NULL, "tolerance", "1e-6", "tolerance cannot be used with privacy: a gradient norm"},
    {NULL, "change", "1e-6", "change cannot be used with privacy: the run may not stop"},
    {NULL, "eval-every", "10", "eval-every cannot be used with privacy: a loss without noise"},
    {NULL, "standardise", "yes", "standardise cannot be used with privacy: the columns' own"},
    {NULL, "start", "model", "start cannot be used with privacy: nothing is known"},
    {NULL, "uncoordinated", "x.csv", "uncoordinated cannot be used with privacy"},
    {NULL, "tau", "0.1", "tau cannot be used with privacy: the noise belongs to the promise"},
    {NULL, "solver", "lbfgs", "neither gradient nor accelerated gradient descent"},
    {NULL, "solver", "newton", "neither gradient nor accelerated gradient descent"},
    {NULL, "solver", "sgd", "shuffled epochs and not Poisson samples"},
    {NULL, "solver", "gradient", "the solver gradient adds no noise"},
    {NULL, "privacy.threat", "paper", "does not hold; no run can promise it"},
    {NULL, "privacy.tau", "0.1", "privacy.tau and privacy.epsilon are both given"},
    {"fed-plt", "gamma", "100", "step is 100, but the claim that rounds contract needs a step"},
    {NULL, "loss", "squared-hinge", "has no bound: one record could change it without limit"},
    {"fedlin", "rounds", "5", "fedlin cannot carry a privacy claim: it sends the bare gradient"},
    {"5gcs", "rounds", "5", "5gcs cannot carry a privacy claim"},
    {"scaffold", "option", "I", "scaffold with option I cannot carry a privacy claim"},
    {"fed-plt", "privacy.threat", "secagg-sum", "noise that enters a state may not be divided"},
    {"fed-plt-anderson", "rounds", "5", "fed-plt-anderson does not take the solver noisy"},
};

static void refuses_with_the_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *refusal = &refusals[i];
        struct fixture fixture;
        fplt_error error;
        fplt_settings *settings = settings_for(refusal->algorithm);
        set_small(settings);
        if (refusal->algorithm)
            set(settings, "algorithm", refusal->algorithm);
        set(settings, "privacy.epsilon", "2");
        if (fplt__settings_find(settings, refusal->name))
            set(settings, refusal->name, refusal->value);
        else
            fail_msg("there is no setting %s", refusal->name);
        fplt_status status = try_plan(settings, &fixture, &error);
        if (!status)
            fail_msg("%s %s is not refused", refusal->name, refusal->value);
        assert_contains(error.text, refusal->says);
        release(&fixture);
    }
}

/* Divided noise: 4 agents, one of whom may help the adversary. */
static void sums_divide_the_noise(void **state)
{
    (void)state;
    struct fixture fixture, other;
    fplt_error error;
    fplt_privacy_claim alone;
    fixture = MAKE(NULL, {"privacy.threat", "secagg-sum"}, {"privacy.epsilon", "2"});
    const fplt_promise_view *view = fixture.view;
    assert_string_equal(view->algorithm->name, "fedavg");
    assert_int_equal(view->epochs, 1);
    assert_int_equal(view->colluders, 1);
    assert_int_equal(view->threshold, 0);
    assert_int_equal(view->most, 4);
    assert_int_equal(view->mechanism.honest, 3);
    assert_true(view->promised <= 2 && view->promised > 2 * (1 - 1e-9));
    assert_true(view->unit == fplt__noise_spacing(view->mechanism.step, view->tau[0]));
    assert_true(fplt_job_get_view(fixture.job)->run.unit == view->unit);
    fplt_privacy_mechanism own = view->mechanism;
    assert_ok(fplt_privacy_claim_make(&own, "transcript", &alone, &error), error);
    assert_close(alone.gdp_mu, sqrt(3) * view->claim.gdp_mu, 1e-9);
    other = MAKE(NULL, {"privacy.threat", "secagg-sum"}, {"privacy.epsilon", "2"},
                 {"privacy.colluders", "2"});
    assert_int_equal(other.view->mechanism.honest, 2);
    release(&other);
    other = MAKE(NULL, {"privacy.threat", "secagg-sum"}, {"privacy.epsilon", "2"},
                 {"privacy.quorum", "3"});
    assert_int_equal(other.view->mechanism.honest, 2);
    assert_int_equal(other.view->threshold, 3);
    release(&other);
    release(&fixture);
}

/* By `auto` two thirds of more than ten agents, and a tenth of them may collude. */
static void quorums_of_large_rosters(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture =
        MAKE(NULL, {"privacy.threat", "secagg-sum"}, {"agents", "100"}, {"privacy.epsilon", "2"});
    assert_int_equal(fixture.view->colluders, 10);
    assert_int_equal(fixture.view->threshold, 67);
    assert_int_equal(fixture.view->mechanism.honest, 57);
    release(&fixture);
    fixture = MAKE(NULL, {"privacy.threat", "secagg-sum"}, {"agents", "100"},
                   {"privacy.epsilon", "2"}, {"privacy.quorum", "100"});
    assert_int_equal(fixture.view->threshold, 0);
    assert_int_equal(fixture.view->mechanism.honest, 90);
    release(&fixture);
}

static void sums_without_a_proof_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *says;
    } cases[] = {
        {"privacy.colluders", "3", "leaves 1 whose noise it does not know"},
        {"privacy.quorum", "2", "2 x 2 must be more than 4 + 1"},
        {"privacy.quorum", "5", "privacy.quorum is 5, but a round has 4 to 4 of 4 agents"},
        {"epochs", "2", "needs epochs = 1, but they are 2"},
        {"solver", "noisy-accelerated", "this run has fedavg with noisy-accelerated"},
        {"participation", "bernoulli", "privacy.quorum is 3, but a round has 0 to 4 of 4 agents"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        fplt_error error;
        fplt_settings *settings = settings_for(NULL);
        set_small(settings);
        set(settings, "privacy.epsilon", "2");
        set(settings, "privacy.threat", "secagg-sum");
        set(settings, cases[i].name, cases[i].value);
        assert_int_not_equal(try_plan(settings, &fixture, &error), FPLT_OK);
        assert_contains(error.text, cases[i].says);
        release(&fixture);
    }
}

static void section_without_promise_is_refused(void **state)
{
    (void)state;
    fplt_error error;
    fplt_job_source source = {.dataset = NULL};
    fplt_settings *settings = settings_for(NULL);
    assert_ok(fplt_promise_prepare(settings, &source, &error), error);
    assert_false(source.public_only);
    assert_false(fplt__promise_wanted(settings));
    set(settings, "privacy.rows", "1");
    assert_int_equal(fplt__settings_effective(settings, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "no effect without privacy.epsilon, or privacy.tau");
    fplt_settings_destroy(settings);
    settings = settings_for(NULL);
    set(settings, "privacy.tau", "1");
    assert_int_equal(fplt_promise_prepare(settings, &source, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "privacy.tau needs rounds");
    fplt_settings_destroy(settings);
}

/* What the plan chose and what a person gave are told apart, one by one. */
static void what_was_given_is_not_planned(void **state)
{
    (void)state;
    const char *const names[] = {"rho", "gamma", "epochs", "rounds"};
    const char *const values[] = {"1", "0.5", "3", "21"};
    for (unsigned given = 0; given < 16; given++) {
        fplt_error error;
        struct fixture fixture;
        fplt_settings *settings = settings_for(NULL);
        set_small(settings);
        set(settings, "privacy.epsilon", "2");
        for (unsigned k = 0; k < 4; k++)
            if (given >> k & 1)
                set(settings, names[k], values[k]);
        assert_ok(try_plan(settings, &fixture, &error), error);
        assert_int_equal(fplt_job_get_view(fixture.job)->planned & given, 0);
        assert_int_equal(fplt_job_get_view(fixture.job)->planned & ~15u, 0);
        if (!(given & 4))
            assert_int_equal(fplt_job_get_view(fixture.job)->planned & FPLT_PLANNED_EPOCHS,
                             FPLT_PLANNED_EPOCHS);
        release(&fixture);
    }
}

/* Rounded to floats, rows are no longer than the bound that the noise is for. */
static void kept_rows_are_within_their_bound(void **state)
{
    (void)state;
    fplt_error error;
    struct fixture fixture;
    size_t near = 0;
    fplt_settings *settings = settings_for(NULL);
    set_small(settings);
    set(settings, "privacy.epsilon", "2");
    set(settings, "privacy.rows", "0.3");
    set(settings, "precision", "float32");
    assert_ok(try_plan(settings, &fixture, &error), error);
    const fplt_objective *o = fplt_job_get_view(fixture.job)->objective;
    for (uint32_t i = 0; i < fplt_objective_agents(o); i++) {
        const fplt__matrix matrix = fplt__shard_of(o, i).matrix, *a = &matrix;
        assert_non_null(a->narrow);
        for (size_t r = 0; r < a->rows; r++) {
            double square = 0;
            for (size_t j = 0; j < o->features; j++) {
                double number = fplt__matrix_number(a, fplt__matrix_place(a, r, j));
                square += number * number;
            }
            assert_true(sqrt(square) <= 0.3);
            near += sqrt(square) > 0.3 * (1 - 1e-6);
        }
    }
    assert_true(near > 50);
    release(&fixture);
}

/* [Theorem T] on the lattice, written out from its definition. */
static double mu_of(const fplt_promise_view *view, double sensitivity_share)
{
    const fplt_privacy_mechanism *m = &view->mechanism;
    double low = m->strong_convexity + m->inverse_rho, high = m->smoothness + m->inverse_rho;
    double c = fmax(fabs(1 - m->step * low), fabs(1 - m->step * high));
    double power = pow(c, (double)m->epochs);
    double kappa = (1 - power) * (1 + c) / ((1 + power) * (1 - c));
    double step = sqrt(m->step / 2) * sensitivity_share / m->noise_tau +
                  3 * sqrt((double)m->dimension) / 1048576;
    return step * sqrt(kappa * (double)m->rounds);
}

/* Everything that a plan decides, bit for bit. */
static void assert_same_plan(const fplt_promise_view *one, const fplt_promise_view *other)
{
    assert_int_equal(one->rounds, other->rounds);
    assert_int_equal(one->epochs, other->epochs);
    assert_int_equal(one->mechanism.rounds, other->mechanism.rounds);
    assert_int_equal(one->mechanism.dimension, other->mechanism.dimension);
    assert_int_equal(one->worst, other->worst);
    assert_true(one->mechanism.step == other->mechanism.step);
    assert_true(one->mechanism.inverse_rho == other->mechanism.inverse_rho);
    assert_true(one->curvature.lowest == other->curvature.lowest);
    assert_true(one->curvature.highest == other->curvature.highest);
    assert_true(one->promised == other->promised);
    assert_ptr_equal(one->algorithm, other->algorithm);
    assert_ptr_equal(one->solver, other->solver);
    assert_string_equal(one->loss.name, other->loss.name);
    assert_string_equal(one->participation, other->participation);
    for (uint32_t i = 0; i < one->agents; i++)
        assert_true(one->tau[i] == other->tau[i]);
}

/* The roster of a job's data. */
static fplt_roster roster_of(const struct fixture *fixture, uint64_t records[4])
{
    const fplt_dataset *data = fplt_job_get_view(fixture->job)->training;
    fplt_roster roster = {
        .agents = fplt_dataset_agents(data),
        .records = records,
        .task = fplt_dataset_task(data),
        .features = fplt_dataset_features(data),
        .classes = fplt__task_classifies(fplt_dataset_task(data)) ? fplt_dataset_outputs(data) : 0};
    assert_int_equal(roster.agents, 4);
    for (uint32_t i = 0; i < roster.agents; i++)
        records[i] = fplt_objective_records(fplt_job_get_view(fixture->job)->objective, i);
    return roster;
}

static void a_roster_gives_the_plan_of_its_job(void **state)
{
    (void)state;
    static const char *const cases[][4][2] = {
        {{"eps", "0.1"}, {"unequal", "0.7"}, {"privacy.rows", "1"}, {"delta", NULL}},
        {{"intercept", "yes"}, {"weights", "agents"}, {"radius", "2.5"}, {"epochs", "3"}},
        {{"generator", "planted"}, {"task", "classes"}, {"classes", "4"}, {"privacy.rows", "2"}},
        {{"generator", "quadratic"}, {"loss", "huber"}, {"privacy.rows", "1"}, {"rounds", "9"}},
        {{"participation", "fixed"}, {"active", "2"}, {"privacy.rows", "1"}, {"unequal", "0.5"}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fplt_error error;
        struct fixture fixture;
        fplt_promise *plan;
        uint64_t records[4];
        fplt_settings *settings = settings_for(NULL);
        set_small(settings);
        set(settings, "privacy.epsilon", "2");
        for (size_t i = 0; i < 4; i++)
            if (cases[k][i][1])
                set(settings, cases[k][i][0], cases[k][i][1]);
        assert_ok(try_plan(settings, &fixture, &error), error);
        fplt_roster roster = roster_of(&fixture, records);
        assert_ok(fplt_promise_plan(settings, &roster, &plan, &error), error);
        assert_same_plan(fplt_promise_get_view(plan), fixture.view);
        assert_null(fplt_promise_get_view(plan)->names[3]);
        fplt_promise_destroy(plan);
        release(&fixture);
    }
}

/* Spare rounds are paid for: the noise is that of a run of all of them. */
static void public_numbers_are_enough(void **state)
{
    (void)state;
    fplt_error error;
    fplt_promise *plan;
    uint64_t records[4];
    const char *const names[] = {"a", "b", "c", "d"};
#define PUBLIC(rounds)                                                                          \
    MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", rounds}, {"epochs", "3"}, {"gamma", "0.5"}, \
         {"rho", "1"}, {"weights", "agents"}, {"privacy.rows", "1"})
    struct fixture fixture = PUBLIC("21"), longer = PUBLIC("23");
    fplt_roster roster = roster_of(&fixture, records);
    roster.names = names;
    roster.spare_share = 0.05;
    assert_ok(fplt_promise_plan(fixture.settings, &roster, &plan, &error), error);
    const fplt_promise_view *view = fplt_promise_get_view(plan);
    assert_int_equal(view->rounds, 21);
    assert_int_equal(view->mechanism.rounds, 23);
    assert_int_equal(longer.view->rounds, 23);
    assert_true(view->mechanism.noise_tau == longer.view->mechanism.noise_tau);
    assert_true(view->mechanism.noise_tau > fixture.view->mechanism.noise_tau);
    assert_true(view->promised <= 2);
    assert_string_equal(view->names[2], "c");
    fplt_promise_destroy(plan);
    release(&fixture);
    release(&longer);
}

static void rosters_are_looked_at(void **state)
{
    (void)state;
    static const uint64_t some[] = {5, 5}, none[] = {5, 0};
    static const struct {
        fplt_roster roster;
        const char *rows, *says;
    } cases[] = {
        {{.records = some, .task = FPLT_TASK_REGRESSION, .features = 2}, "1", "roster is empty"},
        {{.agents = 2, .records = none, .features = 2}, "1", "agent 1 has no records"},
        {{.agents = 2, .records = some, .task = FPLT_TASK_REGRESSION}, "1", "0 features"},
        {{.agents = 2, .records = some, .task = FPLT_TASK_BINARY, .features = 2, .classes = 3},
         "1",
         "3 classes, but binary rows have 2"},
        {{.agents = 2, .records = some, .task = FPLT_TASK_BINARY, .features = 2, .classes = 2},
         NULL,
         "give privacy.rows"},
        {{.agents = 2, .records = some, .task = FPLT_TASK_SURVIVAL, .features = 2},
         "1",
         "survival times"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fplt_error error;
        fplt_promise *plan;
        fplt_settings *settings = settings_for(NULL);
        set(settings, "privacy.epsilon", "2");
        if (cases[k].rows)
            set(settings, "privacy.rows", cases[k].rows);
        assert_true(fplt_promise_plan(settings, &cases[k].roster, &plan, &error));
        assert_contains(error.text, cases[k].says);
        assert_null(plan);
        fplt_settings_destroy(settings);
    }
}

/* A run carried out elsewhere has a certificate that anyone can verify. */
static void a_plan_is_certified_without_a_job(void **state)
{
    (void)state;
    static const char model[] = "{\"weights\": [1, 2, 3], \"loss\": \"logistic\"}";
    fplt_error error;
    fplt_promise *plan;
    fplt_certificate_summary summary;
    uint64_t records[4], rounds[] = {20, 20, 20, 20}, many[] = {20, 21, 20, 20};
    char *text;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "20"},
                                  {"unequal", "0.5"}, {"privacy.rows", "1"});
    fplt_roster roster = roster_of(&fixture, records);
    assert_ok(fplt_promise_plan(fixture.settings, &roster, &plan, &error), error);
    const fplt_promise_view *view = fplt_promise_get_view(plan);
    assert_ok(fplt_certificate_make(view, rounds, model, strlen(model), &text, &error), error);
    assert_ok(fplt_certificate_verify(text, strlen(text), "it", NULL, &summary, &error), error);
    assert_true(summary.holds && summary.epsilon == view->promised);
    char *place = strstr(text, "\"records\": ");
    place[strlen("\"records\": ")] ^= 1;
    assert_ok(fplt_certificate_verify(text, strlen(text), "it", NULL, &summary, &error), error);
    assert_false(summary.holds);
    fplt_free(text);
    assert_int_equal(fplt_certificate_make(view, many, model, strlen(model), &text, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "agent 1 was charged 21 rounds, but the plan pays for 20");
    assert_int_equal(fplt_certificate_make(view, rounds, "{\"weights\": [1]}", 16, &text, &error),
                     FPLT_BAD_DATA);
    assert_contains(error.text, "1 weights, but the plan is for 3");
    assert_int_equal(fplt_certificate_make(view, rounds, "{", 1, &text, &error), FPLT_BAD_DATA);
    fplt_promise_destroy(plan);
    release(&fixture);
}

static void calibrated_noise_gives_epsilon_back(void **state)
{
    (void)state;
    static const char *const epsilons[] = {"0.3", "2", "9"};
    for (size_t i = 0; i < 3; i++) {
        double asked = strtod(epsilons[i], NULL);
        struct fixture fixture = MAKE(NULL, {"privacy.epsilon", epsilons[i]}, {"rounds", "20"},
                                      {"epochs", "3"}, {"privacy.rows", "1.5"}, {"eps", "0.1"});
        const fplt_promise_view *view = fixture.view;
        assert_true(view->promised <= asked && view->promised > asked * (1 - 1e-6));
        assert_near(view->constants.sensitivity, 3, 1e-12);
        assert_near(view->curvature.lowest, 0.1, 1e-12);
        assert_near(view->curvature.highest, 0.1 + 1.5 * 1.5 / 4, 1e-12);
        assert_int_equal(view->mechanism.rounds, 20);
        assert_int_equal(view->epochs, 3);
        assert_close(view->claim.gdp_mu, mu_of(view, 3.0 / 40), 1e-9);
        release(&fixture);
    }
}

/* Rows that count alike: f_i is scaled by q_i over the mean, so every record has the same gap. */
static void weighted_rows_share_one_gap(void **state)
{
    (void)state;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"weights", "rows"},
                                  {"unequal", "0.8"}, {"rounds", "3"}, {"epochs", "2"});
    const fplt_promise_view *view = fixture.view;
    double total = 0, first = 0, epsilon;
    for (uint32_t i = 0; i < 4; i++)
        total += (double)view->records[i];
    assert_true(view->records[0] != view->records[1]);
    for (uint32_t i = 0; i < 4; i++) {
        fplt_privacy_claim claim;
        fplt_error error;
        assert_ok(fplt__promise_claim(view, i, 3, &claim, &epsilon, &error), error);
        first = i ? first : claim.gdp_mu;
        assert_close(claim.gdp_mu, first, 1e-12);
        assert_close(claim.gdp_mu, mu_of(view, 2 * 4 / total), 1e-9);
    }
    release(&fixture);
}

static void parameters_are_public(void **state)
{
    (void)state;
    fplt_promise_view views[2];
    double scales[] = {1, 1};
    for (int k = 0; k < 2; k++) {
        struct fixture fixture =
            MAKE(NULL, {"privacy.epsilon", "2"}, {"seed", k ? "17" : "3"},
                 {"spread", k ? "9" : "0.1"}, {"intercept", "yes"}, {"epochs", "auto"});
        views[k] = *fixture.view;
        const fplt_run_settings *run = &fplt_job_get_view(fixture.job)->run;
        fplt_engine *engine;
        fplt_error error;
        assert_ok(fplt_engine_create(fplt_job_get_view(fixture.job)->objective, run, &engine,
                                     &error),
                  error);
        scales[k] = fplt__engine_step(engine, 2);
        fplt_curvature curvature = fplt__engine_facts(engine).curvature;
        assert_true(curvature.lowest == views[k].curvature.lowest);
        assert_true(curvature.highest == views[k].curvature.highest);
        assert_null(fplt_job_get_view(fixture.job)->automatic);
        fplt_engine_destroy(engine);
        release(&fixture);
    }
    assert_true(views[0].mechanism.step == views[1].mechanism.step);
    assert_true(views[0].mechanism.noise_tau == views[1].mechanism.noise_tau);
    assert_true(views[0].rounds == views[1].rounds);
    assert_true(views[0].epochs == views[1].epochs);
    assert_true(views[0].mechanism.rounds == views[1].mechanism.rounds);
    assert_true(scales[0] == scales[1] && scales[0] == views[0].mechanism.step);
}

static int sees_nothing(void *context, const fplt_progress *progress)
{
    assert_false(progress->measured);
    assert_true(isnan(progress->measure.criterion));
    ++*(int *)context;
    return 0;
}

static void nothing_is_measured(void **state)
{
    (void)state;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "7"});
    const fplt_job_view *view = fplt_job_get_view(fixture.job);
    fplt_engine *engine;
    fplt_result result;
    fplt_error error;
    int calls = 0;
    assert_ok(fplt_engine_create(view->objective, &view->run, &engine, &error), error);
    assert_ok(fplt_engine_run(engine, sees_nothing, &calls, &result, &error), error);
    assert_int_equal(calls, 8);
    assert_int_equal(result.outcome, FPLT_ROUNDS_DONE);
    assert_true(isnan(result.start.criterion) && isnan(result.end.objective));
    assert_string_equal(result.sentence, "all rounds done after 7 rounds");
    fplt_engine_destroy(engine);
    fplt_run_settings stopping = view->run;
    stopping.tolerance = 1e-3;
    assert_int_equal(fplt_engine_create(view->objective, &stopping, &engine, &error),
                     FPLT_BAD_VALUE);
    release(&fixture);
}

/* Mean and deviation of an agent's first coordinate after a round, over many runs. */
static void sample(const fplt_job_view *view, int runs, double spacing, double *mean,
                   double *deviation)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < runs; i++) {
        fplt_engine *engine;
        fplt_error error;
        fplt_run_settings run = view->run;
        run.run = (uint32_t)i;
        run.threads = 1;
        assert_ok(fplt_engine_create(view->objective, &run, &engine, &error), error);
        assert_ok(fplt_engine_round(engine, &error), error);
        size_t n = fplt_objective_dimension(view->objective);
        double x = fplt__engine_kept(engine, 1)[n];
        if (spacing > 0)
            assert_near(x / spacing, nearbyint(x / spacing), 1e-6);
        sum += x;
        squares += x * x;
        fplt_engine_destroy(engine);
    }
    *mean = sum / runs;
    *deviation = sqrt(squares / runs - *mean * *mean);
}

/* Real randomness on one side: the limits are 7.07 deviations of a mean of RUNS draws, and of their
 * deviation. The simulated side is the same in every run and lies 0.2 and 1.3 such deviations from
 * what 100,000 runs give, so chance fails this test with a probability of at most 4e-9. */
static void secure_and_simulated_noise_agree(void **state)
{
    (void)state;
    enum { RUNS = 3000 };
    double mean[2], deviation[2];
    for (int k = 0; k < 2; k++) {
        struct fixture fixture =
            MAKE(NULL, {"privacy.epsilon", "2"}, {"epochs", "3"}, {"rounds", "4"},
                 {"privacy.noise", k ? "simulated" : "secure"});
        double spacing =
            fplt__noise_spacing(fixture.view->mechanism.step, fixture.view->mechanism.noise_tau);
        sample(fplt_job_get_view(fixture.job), RUNS, k ? 0 : spacing, &mean[k], &deviation[k]);
        assert_int_equal(fixture.view->secure, !k);
        release(&fixture);
    }
    /* five standard errors */
    assert_near(mean[0], mean[1], 5 * deviation[0] * sqrt(2.0 / RUNS));
    assert_near(deviation[0] / deviation[1], 1, 5 * sqrt(1.0 / RUNS));
}

static void far_points_are_refused_before_computing(void **state)
{
    (void)state;
    struct fixture fixture =
        MAKE(NULL, {"algorithm", "fed-plt"}, {"privacy.epsilon", "2"}, {"rounds", "2"});
    fplt_run_settings run = fplt_job_get_view(fixture.job)->run;
    double far[3] = {0, 1e12, 0};
    fplt_engine *engine;
    fplt_error error;
    run.start = FPLT_START_GIVEN;
    run.given = far;
    assert_ok(fplt_engine_create(fplt_job_get_view(fixture.job)->objective, &run, &engine, &error),
              error);
    assert_int_equal(fplt_engine_round(engine, &error), FPLT_DIVERGED);
    assert_contains(error.text, "refuses the round: coordinate 1 of the centre");
    fplt_engine_destroy(engine);
    release(&fixture);
}

/* The bounds are bounds: curvature, and the change of a gradient when a record is replaced. */
static void bounds_hold(void **state)
{
    (void)state;
    static const struct {
        const char *generator, *task, *loss, *clip, *intercept;
    } cases[] = {{"paper", "auto", "logistic", "0", "no"},
                 {"paper", "auto", "logistic", "0.4", "yes"},
                 {"planted", "classes", "softmax", "0", "no"},
                 {"planted", "regression", "huber", "0", "no"},
                 {"planted", "regression", "least-squares", "0.7", "no"},
                 {"paper", "auto", "squared-hinge", "0.7", "yes"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture two[2];
        for (int k = 0; k < 2; k++)
            two[k] = MAKE(NULL, {"generator", cases[c].generator}, {"task", cases[c].task},
                          {"loss", cases[c].loss}, {"clip", cases[c].clip},
                          {"intercept", cases[c].intercept}, {"privacy.epsilon", "2"},
                          {"rounds", "3"}, {"epochs", "2"}, {"rows", "1"}, {"privacy.rows", "2"},
                          {"seed", k ? "5" : "4"});
        const fplt_objective *objective[2] = {fplt_job_get_view(two[0].job)->objective,
                                              fplt_job_get_view(two[1].job)->objective};
        size_t n = fplt_objective_dimension(objective[0]);
        double x[16], g[2][16], scratch[4096], largest = 0;
        assert_true(n <= 16 && fplt_objective_scratch(objective[0]) <= 4096);
        fplt_stream stream = fplt_stream_make(9, (uint32_t)c, FPLT_FOR_TEST, 0, 0, 0);
        for (int trial = 0; trial < 400; trial++) {
            fplt__stream_normals(&stream, trial % 2 ? 0.3 : 5, x, n);
            double sum = 0;
            for (int k = 0; k < 2; k++)
                assert_int_equal(fplt_objective_gradient(objective[k], (uint32_t)trial % 4, x, g[k],
                                                         scratch),
                                 FPLT_OK);
            for (size_t j = 0; j < n; j++)
                sum += (g[0][j] - g[1][j]) * (g[0][j] - g[1][j]);
            largest = fmax(largest, sqrt(sum)); /* one record each, so all of it is replaced */
        }
        double bound = two[0].view->constants.sensitivity;
        assert_true(largest <= bound * (1 + 1e-12));
        assert_true(largest > bound / 20);
        for (uint32_t i = 0; i < 4; i++) {
            fplt_curvature curvature;
            fplt_error error;
            assert_ok(fplt_objective_curvature(objective[0], i, 1, &curvature, &error), error);
            assert_true(curvature.lowest >= two[0].view->curvature.lowest - 1e-12);
            assert_true(curvature.highest <= two[0].view->curvature.highest * (1 + 1e-12));
        }
        release(&two[0]);
        release(&two[1]);
    }
}

/* Every algorithm that may carry a claim does, with the factor that its local steps allow. */
static void every_algorithm_that_may(void **state)
{
    (void)state;
    const fplt_algorithm *algorithm;
    int ran = 0;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++) {
        if (!(algorithm->allows & FPLT_ALLOWS_PRIVACY))
            continue;
        struct fixture fixture = MAKE(algorithm->name, {"algorithm", algorithm->name},
                                      {"privacy.epsilon", "4"}, {"rounds", "5"}, {"epochs", "3"});
        const fplt_job_view *view = fplt_job_get_view(fixture.job);
        fplt_engine *engine;
        fplt_result result;
        fplt_error error;
        assert_ok(fplt_engine_create(view->objective, &view->run, &engine, &error), error);
        assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
        assert_int_equal(result.outcome, FPLT_ROUNDS_DONE);
        int drawn =
            strcmp(algorithm->name, "tamuna") == 0 || strcmp(algorithm->name, "scaffnew") == 0;
        assert_int_equal(fixture.view->drawn_epochs, drawn);
        if (drawn) { /* (1 + c)/(1 - c): any length */
            double c = fixture.view->claim.contraction;
            assert_close(fixture.view->claim.round_factor, (1 + c) / (1 - c), 1e-9);
        }
        assert_near(fplt__engine_step(engine, 1), fixture.view->mechanism.step, 0);
        fplt_engine_destroy(engine);
        release(&fixture);
        ran++;
    }
    assert_true(ran >= 8);
}

static void accelerated_steps_are_charged_one_by_one(void **state)
{
    (void)state;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "4"}, {"rounds", "5"}, {"epochs", "6"},
                                  {"solver", "noisy-accelerated"});
    assert_near(fixture.view->claim.round_factor, 6, 0);
    release(&fixture);
}

/* Against a final model less noise is needed, and the model is then the mean of the agents'. */
static void final_model_needs_less_noise(void **state)
{
    (void)state;
    double tau[2];
    static const char *const threats[] = {"transcript", "final-x"};
    for (int k = 0; k < 2; k++) {
        struct fixture fixture =
            MAKE(NULL, {"privacy.epsilon", "1"}, {"rounds", "200"}, {"epochs", "5"},
                 {"privacy.threat", threats[k]}, {"rho", "1"}, {"gamma", "0.3"});
        tau[k] = fixture.view->mechanism.noise_tau;
        assert_int_equal(fplt_job_get_view(fixture.job)->releases_mean, k);
        release(&fixture);
    }
    assert_true(tau[1] < tau[0] / 2);
}

/* ---- certificates ---- */

static char *certify(struct fixture *fixture)
{
    const fplt_job_view *view = fplt_job_get_view(fixture->job);
    const fplt_promise_view *plan = fplt_promise_get_view(fixture->plan);
    fplt__certificate_run run;
    uint64_t rounds[16];
    char *text;
    fplt_engine *engine;
    fplt_result result;
    fplt_error error;
    assert_ok(fplt_engine_create(view->objective, &view->run, &engine, &error), error);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_ok(fplt__certificate_begin(&run, &error), error);
    assert_true(plan->agents <= 16);
    for (uint32_t i = 0; i < plan->agents; i++)
        rounds[i] = fplt__engine_updates(engine, i);
    run.rounds = rounds;
    json_t *document;
    assert_ok(fplt__certificate_json(plan, &run, FPLT_CERTIFICATE_VERSION, &document, &error),
              error);
    assert_ok(fplt__certificate_text(document, &text, &error), error);
    json_decref(document);
    fplt_engine_destroy(engine);
    return text;
}

static void remember(void *context, int holds, const char *sentence)
{
    if (!holds)
        snprintf(context, 512, "%s", sentence);
}

/* FPLT_OK and whether it holds. */
static fplt_status holds(json_t *document, int *good, char *failure)
{
    char *text = json_dumps(document, JSON_REAL_PRECISION(17));
    fplt_certificate_summary summary;
    fplt_error error = {FPLT_OK, ""};
    fplt_certificate_look look = {.finding = remember, .context = failure};
    *failure = 0;
    fplt_status status =
        fplt_certificate_verify(text, strlen(text), "test", &look, &summary, &error);
    *good = !status && summary.holds;
    if (status)
        snprintf(failure, 512, "%s", error.text);
    free(text);
    return status;
}

static void change_each(json_t *root, json_t *inside, const char *where, int *changed)
{
    static const char *const free_to_change[] = {"huber_delta", "least"};
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(inside, next, name, value)
    {
        int good, skipped = 0;
        char failure[512];
        for (size_t i = 0; i < 2; i++)
            skipped |= strcmp(name, free_to_change[i]) == 0;
        if (json_is_object(value))
            change_each(root, value, name, changed);
        if (skipped || !json_is_number(value))
            continue;
        json_t *before = json_copy(value);
        double number = json_number_value(value);
        json_object_set_new(inside, name,
                            json_is_integer(value) ? json_integer((json_int_t)number + 1)
                            : number == 0          ? json_real(0.1)
                                                   : json_real(number * 1.001));
        holds(root, &good, failure);
        if (good)
            fail_msg("%s.%s may be changed from %g without notice", where, name, number);
        json_object_set_new(inside, name, before);
        ++*changed;
    }
}

static void certificate_holds_until_touched(void **state)
{
    (void)state;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "6"}, {"epochs", "3"},
                                  {"unequal", "0.5"}, {"participation", "bernoulli"});
    char *text = certify(&fixture), failure[512];
    json_t *root = json_loads(text, 0, NULL);
    int good, changed = 0;
    assert_non_null(root);
    assert_int_equal(holds(root, &good, failure), FPLT_OK);
    if (!good)
        fail_msg("the certificate does not hold: %s", failure);
    change_each(root, root, "certificate", &changed);
    assert_true(changed > 25);
    json_t *agents = json_object_get(root, "agents"), *entry;
    size_t i;
    json_array_foreach(agents, i, entry) change_each(root, entry, "agents", &changed);
    assert_true(changed > 40);
    assert_int_equal(holds(root, &good, failure), FPLT_OK);
    assert_true(good);
    json_decref(root);
    fplt_free(text);
    release(&fixture);
}

/* A field that no certificate has is refused wherever it stands, the first of a list included. */
static void unknown_fields_are_refused(void **state)
{
    (void)state;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "6"}, {"epochs", "3"});
    char *text = certify(&fixture), failure[512];
    json_t *root = json_loads(text, 0, NULL), *agents = json_object_get(root, "agents");
    json_t *places[] = {root, json_object_get(root, "promise"), json_array_get(agents, 0),
                        json_array_get(agents, json_array_size(agents) - 1)};
    int good;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        json_object_set_new(places[i], "remark", json_string("trust me"));
        assert_int_equal(holds(root, &good, failure), FPLT_BAD_DATA);
        json_object_del(places[i], "remark");
        assert_int_equal(holds(root, &good, failure), FPLT_OK);
        assert_true(good);
    }
    json_decref(root);
    fplt_free(text);
    release(&fixture);
}

/* A value of the wrong kind is told with what is legal. */
static void wrong_kinds_are_told_what_is_legal(void **state)
{
    (void)state;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "6"}, {"epochs", "3"});
    char *text = certify(&fixture), failure[512];
    json_t *root = json_loads(text, 0, NULL);
    const struct {
        const char *inside, *name;
        json_t *value;
        const char *says;
    } cases[] = {
        {"run", "schema", json_integer(3), "of type string or of type null"},
        {"run", "id", json_string("xyz"), "a text of the form ^[0-9a-f]{64}$"},
        {"promise", "delta", json_string("small"), "of type number"},
        {NULL, "version", json_integer(9), "2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int good;
        json_t *inside = cases[i].inside ? json_object_get(root, cases[i].inside) : root;
        json_t *before = json_incref(json_object_get(inside, cases[i].name));
        json_object_set_new(inside, cases[i].name, cases[i].value);
        assert_int_equal(holds(root, &good, failure), FPLT_BAD_DATA);
        assert_contains(failure, cases[i].says);
        json_object_set_new(inside, cases[i].name, before);
    }
    json_decref(root);
    fplt_free(text);
    release(&fixture);
}

static void the_statement_counts_records(void **state)
{
    (void)state;
    const char *const groups[] = {"1", "2", "3"};
    const char *const words[] = {"one record", "2 records", "3 records"};
    for (size_t i = 0; i < 3; i++) {
        struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "6"},
                                      {"epochs", "3"}, {"privacy.group", groups[i]});
        char *text = certify(&fixture);
        json_t *root = json_loads(text, 0, NULL);
        assert_contains(json_string_value(json_object_get(root, "statement")), words[i]);
        json_decref(root);
        fplt_free(text);
        release(&fixture);
    }
}

/* The certificate of every method that may carry one holds, words among its parameters included; with
 * another word it does not. */
static void certificates_of_all_algorithms_hold(void **state)
{
    (void)state;
    const fplt_algorithm *algorithm;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++) {
        if (!(algorithm->allows & FPLT_ALLOWS_PRIVACY))
            continue;
        struct fixture fixture = MAKE(algorithm->name, {"algorithm", algorithm->name},
                                      {"privacy.epsilon", "2"}, {"rounds", "6"}, {"epochs", "3"});
        char *text = certify(&fixture), failure[512];
        json_t *root = json_loads(text, 0, NULL);
        int good;
        assert_non_null(root);
        assert_int_equal(holds(root, &good, failure), FPLT_OK);
        if (!good)
            fail_msg("the certificate of %s does not hold: %s", algorithm->name, failure);
        json_t *parameters = json_object_get(json_object_get(root, "mechanism"), "parameters");
        if (json_object_get(parameters, "option")) {
            assert_string_equal(json_string_value(json_object_get(parameters, "option")), "II");
            json_object_set_new(parameters, "option", json_string("I"));
            assert_true(holds(root, &good, failure) || !good);
        }
        json_decref(root);
        fplt_free(text);
        release(&fixture);
    }
}

static void put(json_t *object, const char *name, double value)
{
    json_object_set_new(object, name, isfinite(value) ? json_real(value) : json_null());
}

/* The document with every loss as `view` and `rounds` an agent give it: consistent in itself. */
static void restate(json_t *root, const fplt_promise_view *view, uint64_t rounds)
{
    json_t *promise = json_object_get(root, "promise"), *entry;
    fplt_privacy_claim claim;
    fplt_error error;
    double epsilon;
    size_t i;
    json_array_foreach(json_object_get(root, "agents"), i, entry)
    {
        assert_ok(fplt__promise_claim(view, (uint32_t)i, rounds, &claim, &epsilon, &error), error);
        json_object_set_new(entry, "rounds_charged", json_integer((json_int_t)rounds));
        put(entry, "gdp_mu", claim.gdp_mu);
        put(entry, "epsilon", epsilon);
    }
    uint64_t promised = view->mechanism.rounds;
    assert_ok(fplt__promise_claim(view, view->worst, promised, &claim, &epsilon, &error), error);
    put(promise, "gdp_mu", claim.gdp_mu);
    put(promise, "epsilon", epsilon);
    put(promise, "renyi_rate", claim.renyi_rate);
    put(promise, "mu_step", claim.mu_step);
    put(promise, "mu_round", claim.mu_round);
    put(promise, "order", fplt__privacy_order(&claim, FPLT_CONVERT_BEST, view->delta));
    json_object_set_new(promise, "conversion", json_string(claim.is_gaussian ? "exact" : "tight"));
}

/* Whose numbers all follow from each other, and yet promise too little. */
static void consistent_forgeries_are_found(void **state)
{
    (void)state;
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "6"}, {"epochs", "3"});
    char *text = certify(&fixture), failure[512];
    static const struct {
        uint64_t rounds;
        int lattice, holds;
    } cases[] = {{6, 1, 1}, {5, 1, 0}, {7, 1, 0}, {6, 0, 0}}; /* all agents were in all 6 */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_promise_view view = *fixture.view;
        json_t *root = json_loads(text, 0, NULL);
        int good;
        view.mechanism.lattice = cases[i].lattice;
        restate(root, &view, cases[i].rounds);
        holds(root, &good, failure);
        if (good != cases[i].holds)
            fail_msg("%llu rounds charged, lattice %d: %s", (unsigned long long)cases[i].rounds,
                     cases[i].lattice, good ? "nothing is found" : failure);
        json_decref(root);
    }
    fplt_free(text);
    release(&fixture);
}

static void certificate_words_matter(void **state)
{
    (void)state;
    static const char *const words[][4] = {
        {"noise", NULL, "seeded: not private", "seeded: not private"},
        {"mechanism", "algorithm", "fedlin", "fedlin cannot carry a privacy claim"},
        {"mechanism", "solver", "gradient", "adds no noise"},
        {"threat", "name", "paper", NULL},
        {"threat", "name", "nobody", "there is no threat model"},
        {"problem", "loss", "softmax", NULL},
        {"promise", "method", "Theorem F: one final release", NULL},
        {"unit", NULL, "one agent", NULL},
        {"certificate", NULL, "something else", "this is no fedplt privacy certificate"}};
    struct fixture fixture = MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "6"}, {"epochs", "3"});
    char *text = certify(&fixture), failure[512];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        json_t *root = json_loads(text, 0, NULL);
        json_t *where = words[i][1] ? json_object_get(root, words[i][0]) : root;
        int good;
        json_object_set_new(where, words[i][1] ? words[i][1] : words[i][0],
                            json_string(words[i][2]));
        holds(root, &good, failure);
        if (good)
            fail_msg("%s may be '%s' without notice", words[i][0], words[i][2]);
        json_decref(root);
    }
    json_t *root = json_loads(text, 0, NULL);
    int good;
    json_object_del(json_object_get(root, "mechanism"), "tau");
    assert_int_equal(holds(root, &good, failure), FPLT_BAD_DATA);
    assert_contains(failure, "mechanism.tau is missing");
    json_decref(root);
    fplt_free(text);
    release(&fixture);
}

static void seeded_certificate_says_so(void **state)
{
    (void)state;
    static const char *const which[][3] = {{"privacy.noise", "simulated", "seeded: not private"},
                                           {"privacy.diagnose", "yes",
                                            "the run itself says that it is not private"}};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture =
            MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "6"}, {which[i][0], which[i][1]});
        char *text = certify(&fixture), failure[512];
        int good;
        assert_contains(text, "not private");
        json_t *root = json_loads(text, 0, NULL);
        assert_true(json_is_false(json_object_get(root, "private")));
        assert_int_equal(holds(root, &good, failure), FPLT_OK);
        assert_false(good);
        json_decref(root);
        fplt_free(text);
        release(&fixture);
    }
}

static void survives_without_memory(void **state)
{
    (void)state;
    fplt_settings *settings = NULL;
    fplt_job *job = NULL;
    fplt_promise *plan;
    fplt_job_source source;
    survives_failing_allocations(
        {
            status = fplt_settings_create(&settings, NULL);
            if (!status)
                status = fplt_job_declare(settings, FPLT_JOB_ALL, NULL, NULL);
            if (!status)
                status = fplt_settings_add(settings, "privacy", fplt__promise_table, NULL);
            if (!status)
                status = fplt_settings_set(settings, "privacy.epsilon", "2", "t", NULL);
            if (!status)
                status = fplt_settings_set(settings, "agents", "3", "t", NULL);
            if (!status)
                status = fplt_settings_set(settings, "rounds", "3", "t", NULL);
            if (!status)
                status = fplt_settings_set(settings, "epochs", "3", "t", NULL);
            source = (fplt_job_source){.dataset = NULL};
            if (!status)
                status = fplt_promise_prepare(settings, &source, NULL);
            job = NULL;
            plan = NULL;
            if (!status)
                status = fplt_job_create_from(settings, 0, &source, &job, NULL);
            if (!status)
                status = fplt_promise_create(settings, job, &plan, NULL);
            fplt_job_destroy(job);
            fplt_promise_destroy(plan);
            fplt_settings_destroy(settings);
            settings = NULL;
        },
        10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_with_the_reason),
        cmocka_unit_test(sums_divide_the_noise),
        cmocka_unit_test(quorums_of_large_rosters),
        cmocka_unit_test(sums_without_a_proof_are_refused),
        cmocka_unit_test(section_without_promise_is_refused),
        cmocka_unit_test(a_roster_gives_the_plan_of_its_job),
        cmocka_unit_test(public_numbers_are_enough),
        cmocka_unit_test(rosters_are_looked_at),
        cmocka_unit_test(a_plan_is_certified_without_a_job),
        cmocka_unit_test(calibrated_noise_gives_epsilon_back),
        cmocka_unit_test(weighted_rows_share_one_gap),
        cmocka_unit_test(parameters_are_public),
        cmocka_unit_test(nothing_is_measured),
        cmocka_unit_test(secure_and_simulated_noise_agree),
        cmocka_unit_test(far_points_are_refused_before_computing),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(every_algorithm_that_may),
        cmocka_unit_test(accelerated_steps_are_charged_one_by_one),
        cmocka_unit_test(final_model_needs_less_noise),
        cmocka_unit_test(certificate_holds_until_touched),
        cmocka_unit_test(unknown_fields_are_refused),
        cmocka_unit_test(wrong_kinds_are_told_what_is_legal),
        cmocka_unit_test(the_statement_counts_records),
        cmocka_unit_test(certificates_of_all_algorithms_hold),
        cmocka_unit_test(consistent_forgeries_are_found),
        cmocka_unit_test(certificate_words_matter),
        cmocka_unit_test(seeded_certificate_says_so),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(what_was_given_is_not_planned),
        cmocka_unit_test(kept_rows_are_within_their_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
