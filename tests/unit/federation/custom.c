/* Costs that the agents bring themselves: a whole federation in threads against the trainer in one process, to the bit, and
 * every reason for which a site refuses one. */
#include "federating.h"

#include <jansson.h>

#include "fedplt.h"
#include "fedplt/objective_callbacks.h"
#include "fedplt/trainer.h"
#include "federation/agent/custom_cost.h"
#include "federation/plan/custom_model.h"
#include "wire/document.h"

enum { SITES = 3, DIMENSION = 3, ROWS = 6 };

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER  "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct federating all;

/* A feature of a row of a site. */
static double feature(uint32_t site, size_t row, size_t j)
{
    return sin(1.0 + (double)site + 2.3 * (double)row + 0.7 * (double)j);
}

static double label(uint32_t site, size_t row)
{
    return cos((double)site + 1.9 * (double)row) > 0 ? 1 : -1;
}

static double margin_of(uint32_t site, size_t row, const double *x)
{
    double margin = 0;
    for (size_t j = 0; j < DIMENSION; j++)
        margin += feature(site, row, j) * x[j];
    return label(site, row) * margin;
}

/* mean of (1 - tanh(margin)) and a ridge: not convex, as networks are. `first` is the number of the site of agent 0. */
static int value_gradient(void *first, uint32_t agent, const double *x, double *value,
                          double *gradient)
{
    uint32_t site = *(const uint32_t *)first + agent;
    *value = 0;
    for (size_t j = 0; j < DIMENSION; j++) {
        gradient[j] = 0.2 * x[j];
        *value += 0.1 * x[j] * x[j];
    }
    for (size_t row = 0; row < ROWS; row++) {
        double t = tanh(margin_of(site, row, x));
        *value += (1 - t) / ROWS;
        for (size_t j = 0; j < DIMENSION; j++)
            gradient[j] -= (1 - t * t) * label(site, row) * feature(site, row, j) / ROWS;
    }
    return 0;
}

static size_t records(void *first, uint32_t agent)
{
    (void)first;
    (void)agent;
    return ROWS;
}

static void curvature(void *first, uint32_t agent, double *lowest, double *highest)
{
    (void)first;
    (void)agent;
    *lowest = -0.1;
    *highest = 3;
}

static int hits(void *first, uint32_t agent, const double *x, size_t *count)
{
    *count = 0;
    for (size_t row = 0; row < ROWS; row++)
        *count += margin_of(*(const uint32_t *)first + agent, row, x) > 0;
    return 0;
}

static uint32_t first_site[] = {0, 1, 2};

static fplt_objective *make_cost(uint32_t site, uint32_t agents)
{
    fplt_objective *objective;
    fplt_error error;
    fplt_objective_callbacks callbacks = {.size = sizeof callbacks,
                                          .dimension = DIMENSION,
                                          .agents = agents,
                                          .context = &first_site[site],
                                          .value_gradient = value_gradient,
                                          .records = records,
                                          .curvature = curvature,
                                          .hits = hits};
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    return objective;
}

static int record_gradients(void *first, uint32_t agent, const double *x, const uint32_t *rows,
                            size_t count, double *gradients)
{
    (void)first, (void)agent, (void)x, (void)rows;
    memset(gradients, 0, count * DIMENSION * sizeof *gradients);
    return 0;
}

static fplt_objective *make_cost_by_record(void)
{
    fplt_objective *objective;
    fplt_error error;
    fplt_objective_callbacks callbacks = {.size = sizeof callbacks,
                                          .dimension = DIMENSION,
                                          .agents = 1,
                                          .context = &first_site[0],
                                          .value_gradient = value_gradient,
                                          .records = records,
                                          .record_gradients = record_gradients};
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    return objective;
}

/* Runs of a whole federation */

static const char *given(void *context, const char *name)
{
    return strcmp(name, "algorithm") == 0 ? context : NULL;
}

/* The same settings in one process. */
static void train_here(const char *algorithm, double x[DIMENSION])
{
    static const char *const pairs[][2] = {
        {"rounds", "7"}, {"tolerance", "0"}, {"epochs", "4"}, {"threads", "1"}};
    fplt_job_source source = {.objective = make_cost(0, SITES)};
    fplt_settings *settings;
    fplt_trainer *trainer;
    fplt_error error;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_trainer_declare(settings, 1, given, (void *)algorithm, &error), error);
    assert_ok(fplt_settings_set(settings, "algorithm", algorithm, "test", &error), error);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_ok(fplt_settings_set(settings, pairs[i][0], pairs[i][1], "test", &error), error);
    assert_ok(fplt_trainer_create(settings, &source, &trainer, &error), error);
    assert_ok(fplt_trainer_run(trainer, NULL, NULL, NULL, &error), error);
    assert_ok(fplt_trainer_weights(trainer, x, &error), error);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    fplt_objective_destroy((fplt_objective *)source.objective);
}

static void assert_model(size_t side, const double wanted[DIMENSION])
{
    const char *loss, *name, *version, *digest;
    int dimension;
    json_t *weights;
    char path[600];
    fplt_model *model;
    fplt_error error;
    char *text = federating_read(all.side[side].folder, "out/model.json");
    assert_non_null(text);
    json_t *found = json_loads(text, 0, NULL);
    free(text);
    assert_int_equal(json_unpack(found, "{s:s, s:{s:s, s:s, s:i, s:s}, s:o}", "loss", &loss,
                                 "model", "name", &name, "version", &version, "dimension",
                                 &dimension, "digest", &digest, "weights", &weights),
                     0);
    assert_string_equal(loss, "custom");
    assert_string_equal(name, "tanh-margin");
    assert_string_equal(version, "1.0");
    assert_string_equal(digest, DIGEST);
    assert_int_equal(dimension, DIMENSION);
    assert_int_equal(json_array_size(weights), DIMENSION);
    for (size_t j = 0; j < DIMENSION; j++) {
        double own = json_real_value(json_array_get(weights, j));
        if (own != wanted[j])
            fail_msg("%s: weight %zu is %.17g, not %.17g", all.side[side].name, j, own, wanted[j]);
    }
    json_decref(found);
    snprintf(path, sizeof path, "%s/out/model.json", all.side[side].folder);
    assert_int_equal(fplt_model_read(path, &model, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "the model of the custom cost tanh-margin 1.0");
}

/* `site`: more lines of the policy. */
static void run_federation(const char *algorithm, const char *more, const char *site)
{
    fplt_federation_cost cost[SITES];
    double wanted[DIMENSION];
    char lines[800];
    federating_found(&all, SITES);
    snprintf(lines, sizeof lines,
             "train: {loss: custom, algorithm: %s, rounds: 7, tolerance: 0, "
             "epochs: 4}\n"
             "model: {name: tanh-margin, version: 1.0, dimension: 3, digest: " DIGEST "}\n%s",
             algorithm, more);
    federating_lead(&all, lines);
    snprintf(lines, sizeof lines,
             "policy:\n  federations: [heart]\n  epsilon: off\n  models: [" DIGEST "]\n%s", site);
    for (uint32_t i = 0; i < SITES; i++) {
        struct federating_side *side = &all.side[i + 1];
        federating_write(side->folder, "site.yaml",
                         "coordinator: https://127.0.0.1:%u\nfolder: %s\nonce: yes\nproxy: off\n%s",
                         all.port, side->folder, lines);
        cost[i] = (fplt_federation_cost){.size = sizeof cost[i],
                                         .name = "tanh-margin",
                                         .version = "1.0",
                                         .digest = DIGEST,
                                         .objective = make_cost(i, 1)};
        side->cost = &cost[i];
    }
    federating_run(&all);
    for (size_t i = 0; i <= SITES; i++)
        if (all.side[i].status)
            fail_msg("%s: %s\n%s", all.side[i].name, all.side[i].error.text, all.side[i].log);
    train_here(algorithm, wanted);
    assert_true(wanted[0] != 0 && wanted[1] != 0 && wanted[2] != 0);
    for (size_t i = 0; i <= SITES; i++)
        assert_model(i, wanted);
    for (uint32_t i = 0; i < SITES; i++)
        fplt_objective_destroy((fplt_objective *)cost[i].objective);
}

static void a_custom_cost_is_trained_under_secure_aggregation(void **state)
{
    (void)state;
    run_federation("fed-plt", "", "");
    assert_contains(all.side[1].log, "custom cost tanh-margin 1.0, 3 parameters, digest " DIGEST
                                     "; protection: secure aggregation; rules on rows");
    assert_contains(all.side[1].log, "secure: ");
    federating_clear(&all);
}

static void other_algorithms_and_plain_sums(void **state)
{
    static const char *const algorithms[] = {"fedavg", "scaffold"};
    (void)state;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        run_federation(algorithms[i], "aggregate: plain\n", "  models-off: [" DIGEST "]\n");
        assert_contains(all.side[1].log, "protection: none: disclosure rules are off");
        federating_clear(&all);
    }
}

/* Refusals */

static fplt_settings *site_of(const char *const (*words)[2])
{
    fplt_settings *site;
    fplt_error error;
    assert_ok(fplt_settings_create(&site, &error), error);
    assert_ok(fplt_federation_site_declare(site, &error), error);
    for (; (*words)[0]; words++)
        assert_ok(fplt_settings_set(site, (*words)[0], (*words)[1], "site.yaml", &error), error);
    return site;
}

static fplt__proposal proposal_of(const char *digest)
{
    fplt__proposal proposal = {.members = SITES, .secure = 1};
    snprintf(proposal.model.name, sizeof proposal.model.name, "tanh-margin");
    snprintf(proposal.model.version, sizeof proposal.model.version, "1.0");
    proposal.model.dimension = DIMENSION;
    assert_true(fplt__unhex(digest, &proposal.model.digest, sizeof proposal.model.digest));
    return proposal;
}

static void sites_refuse_with_a_sentence(void **state)
{
    static const char *const listed[][2] = {
        {"policy.federations", "heart"}, {"policy.models", DIGEST}, {NULL, NULL}};
    static const char *const unlisted[][2] = {{"policy.federations", "heart"}, {NULL, NULL}};
    static const char *const nobody[][2] = {{NULL, NULL}};
    static const char *const off[][2] = {{"policy.federations", "heart"},
                                         {"policy.models", DIGEST},
                                         {"policy.models-off", DIGEST},
                                         {NULL, NULL}};
    static const char *const off_other[][2] = {{"policy.federations", "heart"},
                                               {"policy.models", DIGEST},
                                               {"policy.models-off", OTHER},
                                               {NULL, NULL}};
    static const struct {
        const char *const (*site)[2];
        const char *digest, *version;
        unsigned dimension;
        int secure, has_cost;
        const char *says; /* NULL: agreed */
    } cases[] = {
        {listed, DIGEST, "1.0", DIMENSION, 1, 1, NULL},
        {nobody, DIGEST, "1.0", DIMENSION, 1, 1, NULL}, /* a person is asked */
        {off, DIGEST, "1.0", DIMENSION, 0, 1, NULL},
        {listed, DIGEST, "1.0", DIMENSION, 1, 0, "this agent has no cost of its own"},
        {listed, OTHER, "1.0", DIMENSION, 1, 1,
         "with digest ff11223344556677..., but this agent has tanh-margin 1.0 with digest "
         "0011223344556677..."},
        {listed, DIGEST, "1.1", DIMENSION, 1, 1, "but this agent has it as tanh-margin 1.0"},
        {listed, DIGEST, "1.0", 4, 1, 1, "has 4 parameters, but this agent's has 3"},
        {unlisted, DIGEST, "1.0", DIMENSION, 1, 1, "policy.models: does not have " DIGEST},
        {listed, DIGEST, "1.0", DIMENSION, 0, 1, "it needs `aggregate: secure`"},
        {off_other, DIGEST, "1.0", DIMENSION, 0, 1, "it needs `aggregate: secure`"},
        {nobody, DIGEST, "1.0", DIMENSION, 0, 1, "it needs `aggregate: secure`"},
    };
    (void)state;
    fplt_federation_cost cost = {sizeof cost, "tanh-margin", "1.0", DIGEST, make_cost(0, 1)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_settings *site = site_of(cases[i].site);
        fplt__proposal proposal = proposal_of(cases[i].digest);
        fplt_error error = {FPLT_OK, ""};
        snprintf(proposal.model.version, sizeof proposal.model.version, "%s", cases[i].version);
        proposal.model.dimension = cases[i].dimension;
        proposal.secure = cases[i].secure;
        fplt_status status =
            fplt__custom_cost_judge(site, &proposal, cases[i].has_cost ? &cost : NULL, &error);
        assert_int_equal(status, cases[i].says ? FPLT_FAILED : FPLT_OK);
        if (cases[i].says)
            assert_contains(error.text, cases[i].says);
        fplt_settings_destroy(site);
    }
    fplt_objective_destroy((fplt_objective *)cost.objective);
}

/* A promise takes the place of secure aggregation, if the cost gives the gradients of single records. */
static void promises_need_gradients_of_records(void **state)
{
    static const char *const budget[][2] = {{"policy.federations", "heart"},
                                            {"policy.epsilon", "4"},
                                            {"policy.models", DIGEST},
                                            {NULL, NULL}};
    static const char *const off[][2] = {{"policy.federations", "heart"},
                                         {"policy.epsilon", "off"},
                                         {"policy.models", DIGEST},
                                         {NULL, NULL}};
    fplt__pair epsilon[2] = {{(char *)"epsilon", (char *)"2"}, {(char *)"noise", (char *)"secure"}};
    fplt__proposal proposal = proposal_of(DIGEST);
    fplt_federation_cost cost = {sizeof cost, "tanh-margin", "1.0", DIGEST, make_cost(0, 1)};
    fplt_settings *site = site_of(budget), *open = site_of(off);
    fplt_error error = {FPLT_OK, ""};
    (void)state;
    proposal.secure = 0;
    proposal.privacy = epsilon;
    proposal.privacies = 2;
    assert_int_equal(fplt__custom_cost_judge(site, &proposal, &cost, &error), FPLT_FAILED);
    assert_contains(error.text, "does not give the gradients of single records");
    fplt_objective_destroy((fplt_objective *)cost.objective);
    cost.objective = make_cost_by_record();
    assert_ok(fplt__custom_cost_judge(site, &proposal, &cost, &error), error);
    assert_contains(fplt__custom_cost_protection(site, &proposal), "the promise of privacy");
    assert_int_equal(fplt__custom_cost_judge(open, &proposal, &cost, &error), FPLT_FAILED);
    assert_contains(error.text, "a promise of privacy, or its digest");
    epsilon[1].value = (char *)"simulated";
    assert_int_equal(fplt__custom_cost_judge(site, &proposal, &cost, &error), FPLT_FAILED);
    assert_contains(fplt__custom_cost_protection(site, &proposal), "none");
    fplt_objective_destroy((fplt_objective *)cost.objective);
    fplt_settings_destroy(open);
    fplt_settings_destroy(site);
}

static void costs_are_checked_at_the_start(void **state)
{
    fplt_objective *one = make_cost(0, 1), *two = make_cost(0, 2);
    const struct {
        fplt_federation_cost cost;
        const char *says;
    } cases[] = {
        {{0, "a", "1", DIGEST, one}, "size"},
        {{sizeof cases[0].cost, "A b", "1", DIGEST, one}, "name is 'A b'"},
        {{sizeof cases[0].cost, NULL, "1", DIGEST, one}, "name is ''"},
        {{sizeof cases[0].cost, "a", "1 2", DIGEST, one}, "version is '1 2'"},
        {{sizeof cases[0].cost, "a", "1", "abc", one}, "digest is 'abc'"},
        {{sizeof cases[0].cost, "a", "1", DIGEST, NULL}, "that of one agent"},
        {{sizeof cases[0].cost, "a", "1", DIGEST, two}, "that of one agent"},
    };
    fplt_error error;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(fplt__custom_cost_check(&cases[i].cost, &error), FPLT_BAD_VALUE);
        assert_contains(error.text, cases[i].says);
    }
    assert_int_equal(fplt__custom_cost_check(NULL, &error), FPLT_OK);
    fplt_objective_destroy(one);
    fplt_objective_destroy(two);
}

/* What federation.yaml may say, by the sentence of a coordinator that ends before anybody is asked. */
static void coordinators_refuse_with_a_sentence(void **state)
{
#define MODEL "model: {name: a, version: 1, dimension: 3, digest: " DIGEST "}\n"
    static const char *const cases[][2] = {
        {"train: {loss: custom}\n", "loss is custom, but `model` is missing"},
        {MODEL, "without `train: {loss: custom}`"},
        {MODEL "train: {loss: logistic}\n", "without `train: {loss: custom}`"},
        {"model: {name: a, version: 1, dimension: 3}\ntrain: {loss: custom}\n",
         "model: digest is missing"},
        {"model: {name: a, version: 1, dimension: 0, digest: " DIGEST "}\ntrain: {loss: custom}\n",
         "dimension is '0'"},
        {"model: {name: a, colour: 1}\ntrain: {loss: custom}\n", "colour is unknown"},
        {MODEL "train: {loss: custom}\nprivacy: {epsilon: 1}\n",
         "a promise for own costs needs clip"},
        {MODEL "train: {loss: custom, clip: 1}\nprivacy: {epsilon: 1}\n", "needs gamma"},
        {MODEL "train: {loss: custom, clip: 1, gamma: 1}\nprivacy: {epsilon: 1}\n", "needs rounds"},
        {MODEL "train: {loss: custom, clip: 1, gamma: 1, rounds: 5, algorithm: fed-plt}\n"
               "privacy: {epsilon: 1}\n",
         "needs rho"},
        {MODEL "train: {loss: custom, clip: 1}\n", "clip has no effect on a custom cost"},
        {MODEL "train: {loss: custom, eps: 0.1}\n", "eps has no effect on a custom cost"},
        {MODEL "train: {loss: custom, standardise: yes}\n",
         "standardise has no effect on a custom cost"},
        {MODEL "train: {loss: custom}\nlabel: y\n", "label"},
        {MODEL "train: {loss: custom}\ninform: yes\n", "inform has no effect"},
    };
    (void)state;
    federating_found(&all, SITES);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        federating_lead(&all, cases[i][0]);
        federating_side_run(&all.side[0]);
        if (!all.side[0].status || !strstr(all.side[0].error.text, cases[i][1]))
            fail_msg("case %zu: status %d, '%s' and not '%s'", i, all.side[0].status,
                     all.side[0].error.text, cases[i][1]);
    }
    federating_clear(&all);
}

/* The documents */

static void proposals_keep_the_model(void **state)
{
    static char roster[1][FPLT__NAME] = {"basel"};
    fplt__proposal proposal = proposal_of(DIGEST), back;
    char *text, *at;
    fplt_error error;
    (void)state;
    proposal.roster = roster;
    proposal.members = 1;
    proposal.secure = 0;
    snprintf(proposal.federation, sizeof proposal.federation, "heart");
    assert_ok(fplt__proposal_text(&proposal, &text, &error), error);
    assert_ok(fplt__proposal_read(text, strlen(text), &back, &error), error);
    assert_int_equal(back.model.dimension, DIMENSION);
    assert_string_equal(back.model.name, "tanh-margin");
    assert_string_equal(back.model.version, "1.0");
    assert_memory_equal(&back.model.digest, &proposal.model.digest, sizeof back.model.digest);
    fplt__proposal_clear(&back);
    at = strstr(text, "\"dimension\":3");
    assert_non_null(at);
    at[strlen("\"dimension\":")] = '0';
    assert_int_equal(fplt__proposal_read(text, strlen(text), &back, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "dimension must be at least 1");
    fplt_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proposals_keep_the_model),
        cmocka_unit_test(costs_are_checked_at_the_start),
        cmocka_unit_test(sites_refuse_with_a_sentence),
        cmocka_unit_test(promises_need_gradients_of_records),
        cmocka_unit_test(coordinators_refuse_with_a_sentence),
        cmocka_unit_test(a_custom_cost_is_trained_under_secure_aggregation),
        cmocka_unit_test(other_algorithms_and_plain_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
