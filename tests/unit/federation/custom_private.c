/* Privacy for costs that the agents bring themselves: a federation in threads whose sites shorten the gradients of their
 * records, charge their ledgers and certify, and what is refused. */
#include "federating.h"

#include "fedplt/certificate.h"
#include "fedplt/ledger.h"
#include "fedplt/objective_callbacks.h"

enum { SITES = 3, DIMENSION = 3, ROWS = 40 };

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct federating all;
static const uint32_t sites[SITES] = {0, 1, 2};

static double feature(uint32_t site, size_t row, size_t j)
{
    return sin(1.0 + (double)site + 2.3 * (double)row + 0.7 * (double)j);
}

/* Of 1 - tanh(margin), for a record whose label is the sign of its first feature. */
static void add_gradient(uint32_t site, size_t row, const double *x, double share, double *gradient)
{
    double label = feature(site, row, 0) > 0 ? 1 : -1, margin = 0;
    for (size_t j = 0; j < DIMENSION; j++)
        margin += label * feature(site, row, j) * x[j];
    for (size_t j = 0; j < DIMENSION; j++)
        gradient[j] -= share * (1 - tanh(margin) * tanh(margin)) * label * feature(site, row, j);
}

static int value_gradient(void *site, uint32_t agent, const double *x, double *value,
                          double *gradient)
{
    (void)agent;
    *value = 0;
    memset(gradient, 0, DIMENSION * sizeof *gradient);
    for (size_t row = 0; row < ROWS; row++)
        add_gradient(*(const uint32_t *)site, row, x, 1.0 / ROWS, gradient);
    return 0;
}

static int record_gradients(void *site, uint32_t agent, const double *x, const uint32_t *rows,
                            size_t count, double *gradients)
{
    (void)agent;
    memset(gradients, 0, count * DIMENSION * sizeof *gradients);
    for (size_t k = 0; k < count; k++)
        add_gradient(*(const uint32_t *)site, rows[k], x, 1, gradients + k * DIMENSION);
    return 0;
}

static size_t records(void *site, uint32_t agent)
{
    (void)site, (void)agent;
    return ROWS;
}

static fplt_objective *make_cost(uint32_t site)
{
    fplt_objective *objective;
    fplt_error error;
    fplt_objective_callbacks callbacks = {.size = sizeof callbacks,
                                          .dimension = DIMENSION,
                                          .agents = 1,
                                          .context = (void *)&sites[site],
                                          .value_gradient = value_gradient,
                                          .records = records,
                                          .record_gradients = record_gradients};
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    return objective;
}

static void run(const char *leader, const char *policy)
{
    fplt_federation_cost cost[SITES];
    char lines[800];
    federating_found(&all, SITES);
    snprintf(lines, sizeof lines,
             "model: {name: tanh-margin, version: 1.0, dimension: 3, digest: " DIGEST "}\n%s",
             leader);
    federating_lead(&all, lines);
    for (uint32_t i = 0; i < SITES; i++) {
        struct federating_side *side = &all.side[i + 1];
        federating_write(side->folder, "site.yaml",
                         "coordinator: https://127.0.0.1:%u\nfolder: %s\nonce: yes\nproxy: off\n"
                         "ledger-account: patients\npolicy:\n  federations: [heart]\n  models: "
                         "[" DIGEST "]\n%s",
                         all.port, side->folder, policy);
        cost[i] = (fplt_federation_cost){.size = sizeof cost[i],
                                         .name = "tanh-margin",
                                         .version = "1.0",
                                         .digest = DIGEST,
                                         .objective = make_cost(i)};
        side->cost = &cost[i];
    }
    federating_run(&all);
    for (uint32_t i = 0; i < SITES; i++)
        fplt_objective_destroy((fplt_objective *)cost[i].objective);
}

static void findings(void *context, int holds, const char *sentence)
{
    if (!holds && !*(char *)context)
        snprintf(context, 500, "%s", sentence);
}

/* The model of a side and its certificate hold together; its epsilon. */
static double verified(size_t side, const char *file)
{
    char finding[500] = "", path[700];
    char *text = federating_read(all.side[side].folder, file);
    fplt_certificate_look look = {.finding = findings, .context = finding};
    fplt_certificate_summary summary;
    fplt_error error;
    snprintf(path, sizeof path, "%s/%s", all.side[side].folder, file);
    if (!text)
        fail_msg("%s is not there\n%s", path, all.side[side].log);
    assert_ok(fplt_certificate_verify(text, strlen(text), path, &look, &summary, &error), error);
    if (!summary.holds)
        fail_msg("%s: %s", path, finding);
    assert_true(summary.is_signed);
    free(text);
    return summary.epsilon;
}

static void assert_trained(void)
{
    for (size_t i = 0; i <= SITES; i++)
        if (all.side[i].status)
            fail_msg("%s: %s\n%s", all.side[i].name, all.side[i].error.text, all.side[i].log);
    for (size_t i = 0; i <= SITES; i++) {
        double epsilon = verified(i, "out/model.json");
        assert_true(epsilon <= 3 && epsilon > 2.9);
        assert_true(verified(i, "out/privacy.json") == epsilon);
    }
}

/* What the ledger of a site has, as epsilon at delta 1e-5. */
static double spent(size_t side)
{
    char path[700];
    fplt_ledger *ledger;
    fplt_error error;
    fplt_ledger_total total;
    double epsilon;
    snprintf(path, sizeof path, "%s/ledger.db", all.side[side].folder);
    assert_ok(fplt_ledger_open(path, 0, &ledger, &error), error);
    assert_ok(fplt_ledger_sum(ledger, "patients", &total, &error), error);
    assert_ok(fplt_ledger_epsilon(total.spent.against[0], 1e-5, &epsilon, &error), error);
    fplt_ledger_close(ledger);
    return epsilon;
}

#define TRAIN "train: {loss: custom, clip: 1, gamma: 0.5, rounds: 12}\n"

static void every_side_certifies_and_charges(void **state)
{
    (void)state;
    run(TRAIN "aggregate: plain\nquorum: 3\nprivacy: {epsilon: 3, spare: 0}\n", "  epsilon: 4\n");
    assert_trained();
    for (size_t i = 1; i <= SITES; i++) {
        assert_contains(all.side[i].log, "protection: the promise of privacy, for gradients");
        assert_true(spent(i) > 2.9 && spent(i) <= 3);
    }
    federating_clear(&all);
}

/* The noise of the sites adds up in sums [Theorem S]; each alone is charged against the transcript. */
static void noise_is_divided_under_secure_aggregation(void **state)
{
    (void)state;
    run(TRAIN "aggregate: secure\nprivacy: {epsilon: 3, spare: 0, threat: secagg-sum}\n",
        "  epsilon: 9\n");
    assert_trained();
    assert_contains(all.side[1].log, "and secure aggregation");
    assert_true(spent(1) > 3);
    federating_clear(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_side_certifies_and_charges),
        cmocka_unit_test(noise_is_divided_under_secure_aggregation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
