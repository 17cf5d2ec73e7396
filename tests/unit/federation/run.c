/* Runs of a whole federation in threads: its models against those of the trainer in one process, to the bit, and what its
 * files, log, page and commands say. */
#include "federated_models.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <jansson.h>

#include "fedplt/inference.h"
#include "fedplt/transform.h"
#include "federation/plan/control.h"
#include "federation/plan/program.h"

enum { SITES = 3 };

static struct federating all;

/* Whether write_rows has a number for the word, numbers in further columns, and its labels: two classes, numbers above 0,
 * counts, ordered classes. */
static int has_numbers, is_wide;
static enum { CLASSES, AMOUNTS, COUNTS, GRADES } labels;

/* Rows of a site: two numbers, a word and a label that depends on them, by a fixed sequence. */
static void write_rows(size_t site, size_t rows)
{
    static const char *const grades[] = {"1low", "2fair", "3high"};
    char amount[40], count[40], number[40];
    char text[20000] = "a,b,colour,label\n";
    if (is_wide)
        snprintf(text, sizeof text, "a,b,colour,c,d,e,f,g,h,i,j,k,l,m,n,label\n");
    uint32_t state = (uint32_t)(7 * site + 1);
    for (size_t i = 0; i < rows; i++) {
        double x[3];
        for (size_t k = 0; k < 3; k++) {
            state = state * 1664525u + 1013904223u;
            x[k] = (double)(state >> 8) / (1 << 24);
        }
        const char *class = x[0] + x[1] + 0.6 * x[2] > 1.1 ? "yes" : "no";
        snprintf(number, sizeof number, "%.6f", sin(40 * x[2]));
        snprintf(amount, sizeof amount, "%.6f", exp(x[0] - 2 * x[1]) * (0.1 + 3 * x[2]));
        snprintf(count, sizeof count, "%.0f", floor(9 * exp(x[0] - x[1]) * x[2] * x[2]));
        const char *const label[] = {class, amount, count,
                                     grades[(x[0] + x[2] > 0.8) + (x[0] + x[2] > 1.2)]};
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.6f,%.6f,%s", 4 * x[0] - 2,
                 10 * x[1] + (double)site,
                 has_numbers  ? number
                 : x[2] < 0.5 ? "blue"
                              : "red");
        for (int k = 0; is_wide && k < 12; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), ",%.6f",
                     sin((40 + 7 * k) * x[k % 3]));
        snprintf(text + strlen(text), sizeof text - strlen(text), ",%s\n", label[labels]);
    }
    federating_write(all.side[site].folder, "rows.csv", "%s", text);
}

static const char site_lines[] =
    "categories: auto\npolicy:\n  federations: [heart]\n  epsilon: off\n  participants: 1\n"
    "  disclosure: off\n  allow: [facts, measure, score, information]\n";

static const char schema[] =
    "columns:\n"
    "  a: {type: number, bounds: -2..2, missing: 0}\n"
    "  b: {type: number, bounds: 0..14, missing: centre}\n"
    "  colour: {type: category, levels: [blue, red], missing: blue, other: blue}\n"
    "  label: {type: label, classes: [no, yes], missing: neutral-row, other: neutral-row}\n";

static void found(const char *lines, const char *site, size_t more)
{
    static const size_t rows[] = {40, 25, 33};
    federating_found(&all, SITES);
    federating_lead(&all, lines);
    for (size_t i = 1; i <= SITES; i++) {
        write_rows(i, rows[i - 1] + more);
        federating_join(&all, i, site);
    }
}

static json_t *json_of(size_t side, const char *name)
{
    char *text = federating_read(all.side[side].folder, name);
    assert_non_null(text);
    json_t *found = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(found);
    return found;
}

/* What the coordinator tells after the run: by its control socket, and on its page. */
static char *told_status, *told_metrics;

static char *get_page(const char *path)
{
    char request[200], *text = (char *)calloc(1, 1 << 18);
    size_t used = 0;
    ssize_t got;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((uint16_t)federating_page(&all));
    assert_non_null(text);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    snprintf(request, sizeof request,
             "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    assert_int_equal(connect(made, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(made, request, strlen(request), 0), strlen(request));
    while ((got = recv(made, text + used, (1 << 18) - 1 - used, 0)) > 0)
        used += (size_t)got;
    close(made);
    return text;
}

static void ask_coordinator(struct federating *unused)
{
    fplt_error error;
    (void)unused;
    assert_ok(fplt__federation_command(all.side[0].folder, "status", &told_status, &error), error);
    told_metrics = get_page("/metrics");
    char *script = get_page("/page.js");
    assert_contains(script, "200 OK");
    free(script);
}

static void assert_status(void)
{
    static const int records[SITES] = {32, 20, 26};
    const char *federation, *proposal, *stage, *outcome, *algorithm;
    int run, round, rounds, refused;
    json_t *members, *curve, *status = json_loads(told_status, 0, NULL);
    assert_int_equal(json_unpack(status, "{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:o}",
                                 "federation", &federation, "proposal", &proposal, "state", &stage,
                                 "outcome", &outcome, "algorithm", &algorithm, "run", &run, "round",
                                 &round, "rounds", &rounds, "refused", &refused, "members",
                                 &members, "curve", &curve),
                     0);
    assert_string_equal(federation, "heart");
    assert_int_equal(strlen(proposal), 64);
    for (size_t i = 1; i <= SITES; i++) { /* each site names the proposal by its first digits */
        char words[60];
        snprintf(words, sizeof words, "agreed: to the proposal %.16s...", proposal);
        assert_contains(all.side[i].log, words);
    }
    assert_string_equal(stage, "done");
    assert_string_equal(outcome, "rounds-done");
    assert_string_equal(algorithm, "fed-plt");
    assert_int_equal(run, 1);
    assert_int_equal(round, 6);
    assert_int_equal(rounds, 6);
    assert_int_equal(refused, 0);
    assert_int_equal(json_array_size(curve), 4); /* rounds 0, 2, 4 and 6 */
    assert_int_equal(json_array_size(members), SITES);
    for (size_t i = 0; i < SITES; i++) {
        const char *name, *word;
        int consented, own, released, last, repairs;
        double seen;
        assert_int_equal(json_unpack(json_array_get(members, i),
                                     "{s:s, s:s, s:b, s:i, s:i, s:i, s:i, s:f}", "name", &name,
                                     "state", &word, "consented", &consented, "records", &own,
                                     "released", &released, "last_round", &last, "repairs",
                                     &repairs, "seen", &seen),
                         0);
        assert_string_equal(name, all.side[i + 1].name);
        assert_true(consented && !repairs && seen >= 0);
        assert_int_equal(own, records[i]);
        assert_int_equal(released, 6);
        assert_int_equal(last, 5);
        assert_null(json_object_get(json_array_get(members, i), "epsilon"));
    }
    json_decref(status);
    fplt_free(told_status);
}

static void assert_metrics(void)
{
    assert_contains(told_metrics, "\nfedplt_round 6\n");
    assert_contains(told_metrics, "\nfedplt_round_seconds 0\n");
    assert_contains(told_metrics, "\nfedplt_updates_total{verdict=\"accepted\"} 18\n");
    assert_contains(told_metrics, "\nfedplt_updates_total{verdict=\"late\"} 0\n");
    assert_contains(told_metrics, "\nfedplt_refused_total{reason=\"roster\"} 0\n");
    assert_contains(told_metrics, "\nfedplt_agents{state=\"left-out\"} 0\n");
    assert_contains(told_metrics, "\nfedplt_repairs_total 0\n");
    assert_null(strstr(told_metrics, "fedplt_privacy_epsilon"));
    free(told_metrics);
}

/* What the model says of the run, and of the rows that were held out. */
static void assert_record(void)
{
    json_t *model = json_of(0, "out/model.json"), *inference;
    const char *name, *algorithm, *outcome, *why, *other;
    int run, rounds, agents, rows, held;
    double records, loss;
    assert_int_equal(
        json_unpack(model, "{s:o, s:{s:{s:s, s:i}, s:s, s:s, s:i, s:{s:i, s:i}, s:{s:i, s:F}}}",
                    "inference", &inference, "training", "federation", "name", &name, "run", &run,
                    "algorithm", &algorithm, "outcome", &outcome, "rounds", &rounds, "problem",
                    "agents", &agents, "rows", &rows, "held_out", "rows", &held, "loss", &loss),
        0);
    assert_string_equal(name, "heart");
    assert_string_equal(algorithm, "fed-plt");
    assert_string_equal(outcome, "rounds-done");
    assert_int_equal(run, 1);
    assert_int_equal(rounds, 6);
    assert_int_equal(agents, SITES);
    assert_int_equal(rows, 78);
    assert_int_equal(held, 20);
    assert_true(loss > 0 && loss < 1);
    assert_int_equal(json_unpack(inference, "{s:F}", "records", &records), 0);
    assert_true(records == 78);
    assert_int_equal(json_unpack(model, "{s:{s:{s:{s:s}}, s:{s:{s:s}}}}", "training", "defaults",
                                 "weights", "why", &why, "parameters", "holdout", "why", &other),
                     0);
    assert_contains(why, "every row has the same weight");
    assert_string_equal(other, "given in the proposal");
    json_decref(model);
}

static void the_model_is_that_of_one_process(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"algorithm", "fed-plt"}, {"rounds", "6"},        {"seed", "5"},      {"eval-every", "2"},
        {"tolerance", "0"},       {"categories", "auto"}, {"holdout", "0.2"}, {NULL, NULL}};
    found("train: {algorithm: fed-plt, rounds: 6, seed: 5, eval-every: 2, tolerance: 0, holdout: "
          "0.2}\n",
          site_lines, 0);
    all.afterwards = ask_coordinator;
    federating_run(&all);
    assert_sides_ok(&all);
    fplt_model *expected = trained(&all, pairs);
    assert_models_equal(&all, expected, 1e-12);
    fplt_model_destroy(expected);
    assert_status();
    assert_metrics();
    assert_record();
    federating_clear(&all);
}

/* Coefficients, likelihood and dispersion are those of one process; coefficients to the bit with tolerance 0. */
static void run_family(const char *lines, const char *const (*pairs)[2], double tolerance)
{
    fplt_fit wanted, fit;
    fplt_error error;
    char site[sizeof site_lines + 30];
    snprintf(site, sizeof site, "%s%s", labels == COUNTS ? "task: regression\n" : "", site_lines);
    found(lines, site, 0);
    federating_run(&all);
    assert_sides_ok(&all);
    fplt_model *expected = trained(&all, pairs), *own = model_of(&all, 0);
    assert_models_equal(&all, expected, tolerance);
    assert_ok(fplt_model_fit(expected, &wanted, &error), error);
    assert_ok(fplt_model_fit(own, &fit, &error), error);
    assert_true(isfinite(fit.aic));
    assert_close(fit.log_likelihood, wanted.log_likelihood, 1e-12);
    assert_true(isnan(fit.null_log_likelihood) == isnan(wanted.null_log_likelihood));
    if (!isnan(fit.null_log_likelihood))
        assert_close(fit.null_log_likelihood, wanted.null_log_likelihood, 1e-12);
    assert_true(isnan(fit.dispersion) == (labels != AMOUNTS));
    if (labels == AMOUNTS)
        assert_close(fit.dispersion, wanted.dispersion, 1e-12);
    fplt_model_destroy(own);
    fplt_model_destroy(expected);
    federating_clear(&all);
}

static void families_are_those_of_one_process(void **state)
{
    (void)state;
    static const char *const probit[][2] = {{"loss", "probit"},     {"algorithm", "fed-newton"},
                                            {"eps", "0"},           {"rounds", "8"},
                                            {"tolerance", "0"},     {"eval-every", "4"},
                                            {"categories", "auto"}, {NULL, NULL}};
    static const char *const gamma[][2] = {{"loss", "gamma"},      {"algorithm", "fed-lbfgs"},
                                           {"eps", "0"},           {"rounds", "40"},
                                           {"tolerance", "0"},     {"eval-every", "20"},
                                           {"categories", "auto"}, {NULL, NULL}};
    static const char *const counts[][2] = {{"loss", "negative-binomial"},
                                            {"standardise", "no"},
                                            {"task", "regression"},
                                            {"algorithm", "fed-newton"},
                                            {"eps", "0"},
                                            {"rounds", "12"},
                                            {"tolerance", "0"},
                                            {"eval-every", "4"},
                                            {"categories", "auto"},
                                            {NULL, NULL}};
    static const char *const ordered[][2] = {
        {"loss", "ordinal"}, {"standardise", "no"},  {"algorithm", "fed-newton"},
        {"eps", "0"},        {"rounds", "12"},       {"tolerance", "0"},
        {"eval-every", "4"}, {"categories", "auto"}, {NULL, NULL}};
    has_numbers = 1;
    run_family("train: {loss: probit, algorithm: fed-newton, eps: 0, rounds: 8, tolerance: 0, "
               "eval-every: 4}\n",
               probit, 1e-12);
    labels = AMOUNTS;
    run_family("train: {loss: gamma, algorithm: fed-lbfgs, eps: 0, rounds: 40, tolerance: 0, "
               "eval-every: 20}\n",
               gamma, 1e-12);
    labels = COUNTS;
    run_family("train: {loss: negative-binomial, algorithm: fed-newton, eps: 0, "
               "rounds: 12, tolerance: 0, standardise: no, eval-every: 4}\n",
               counts, 0);
    labels = GRADES;
    run_family("train: {loss: ordinal, algorithm: fed-newton, eps: 0, rounds: 12, tolerance: 0, "
               "standardise: no, eval-every: 4}\n",
               ordered, 0);
    has_numbers = 0;
    labels = CLASSES;
}

/* With so many columns that curvature is estimated roughly where agents train nothing (fplt__run_looks), and closely
 * otherwise: first steps, rho and local steps follow from it. */
static void automatic_parameters_are_those_of_one_process(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"fed-lbfgs", "fed-plt", "auto"};
    static const char *const weights[] = {"rows", "agents"};
    is_wide = 1;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        for (size_t j = 0; j < sizeof weights / sizeof *weights; j++) {
            char lines[200];
            const char *const pairs[][2] = {{"algorithm", algorithms[i]},
                                            {"weights", weights[j]},
                                            {"rounds", "5"},
                                            {"seed", "5"},
                                            {"tolerance", "0"},
                                            {"standardise", "no"},
                                            {"categories", "auto"},
                                            {NULL, NULL}};
            snprintf(lines, sizeof lines,
                     "train: {algorithm: %s, weights: %s, rounds: 5, seed: 5, tolerance: 0, "
                     "standardise: no}\n",
                     algorithms[i], weights[j]);
            found(lines, site_lines, 0);
            federating_run(&all);
            assert_sides_ok(&all);
            fplt_model *expected = trained(&all, pairs);
            assert_models_equal(&all, expected, 0);
            assert_true(fplt_model_get_view(expected)->features > 12);
            fplt_model_destroy(expected);
            federating_clear(&all);
        }
    is_wide = 0;
}

/* Clusters of a column, which is no feature then, and sites as clusters. */
static void random_intercepts_are_those_of_one_process(void **state)
{
    (void)state;
    static const char *const by_column[][2] = {{"loss", "mixed-logistic"},
                                               {"random-intercept", "colour"},
                                               {"quadrature-points", "7"},
                                               {"standardise", "no"},
                                               {"algorithm", "fed-newton"},
                                               {"eps", "0"},
                                               {"rounds", "12"},
                                               {"tolerance", "0"},
                                               {"eval-every", "4"},
                                               {NULL, NULL}};
    static const char *const by_site[][2] = {{"loss", "mixed-linear"}, {"standardise", "no"},
                                             {"task", "regression"},   {"eps", "0"},
                                             {"rounds", "12"},         {"algorithm", "fed-newton"},
                                             {"tolerance", "0"},       {"eval-every", "4"},
                                             {"categories", "auto"},   {NULL, NULL}};
    run_family("train: {loss: mixed-logistic, random-intercept: colour, quadrature-points: 7, "
               "algorithm: fed-newton, eps: 0, rounds: 12, tolerance: 0, standardise: no, "
               "eval-every: 4}\n",
               by_column, 0);
    labels = COUNTS;
    run_family("train: {loss: mixed-linear, algorithm: fed-newton, eps: 0, rounds: 12, "
               "tolerance: 0, standardise: no, eval-every: 4}\n",
               by_site, 0);
    labels = CLASSES;
}

/* Where its folder cannot be made, the coordinator says so at its end; the sites have the model. */
static void a_model_that_cannot_be_written(void **state)
{
    (void)state;
    found("train: {algorithm: fed-plt, rounds: 2, seed: 5, tolerance: 0}\n", site_lines, 0);
    federating_write(all.side[0].folder, "out", "%s", "a file, not a folder");
    federating_run(&all);
    assert_int_equal(all.side[0].status, FPLT_FAILED);
    assert_contains(all.side[0].error.text, "the model was not written");
    for (size_t i = 1; i <= SITES; i++)
        fplt_model_destroy(model_of(&all, i));
    federating_clear(&all);
}

struct met {
    size_t count;
    char line[SITES][FPLT_IDENTITY_SIZE];
};

static void meet(void *context, const char *name, const char *identity)
{
    struct met *met = context;
    assert_true(met->count < SITES);
    snprintf(met->line[met->count++], FPLT_IDENTITY_SIZE, "%s: %s", name, identity);
}

/* A site has met all others by the identities that they state themselves. */
static void assert_peers(size_t site)
{
    static char first[FPLT_ROSTER_SIZE];
    char fingerprint[FPLT_ROSTER_SIZE], line[FPLT_IDENTITY_SIZE];
    struct met met = {.count = 0};
    fplt_error error;
    assert_ok(fplt_federation_peers(all.side[site].folder, meet, &met, fingerprint, &error), error);
    assert_int_equal(met.count, SITES);
    for (size_t i = 0; i < SITES; i++) {
        assert_ok(fplt_federation_identity(all.side[i + 1].folder, line, &error), error);
        assert_string_equal(met.line[i], line);
    }
    if (site == 1)
        memcpy(first, fingerprint, sizeof first);
    assert_string_equal(fingerprint, first);
    assert_int_equal(strlen(fingerprint), FPLT_ROSTER_SIZE - 1);
}

static void masked_sums_give_the_same_model(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"algorithm", "fed-plt"}, {"rounds", "6"},        {"seed", "5"}, {"tolerance", "0"},
        {"standardise", "no"},    {"categories", "auto"}, {NULL, NULL}};
    found("aggregate: secure\n"
          "train: {algorithm: fed-plt, rounds: 6, seed: 5, tolerance: 0, standardise: no}\n",
          site_lines, 0);
    federating_run(&all);
    assert_sides_ok(&all);
    fplt_model *expected = trained(&all, pairs);
    assert_models_equal(&all, expected, 0);
    fplt_model_destroy(expected);
    for (size_t i = 1; i <= SITES; i++)
        assert_peers(i);
    federating_clear(&all);
}

static void a_private_run_has_the_noise_of_one_process(void **state)
{
    (void)state;
    char path[500];
    const char *const pairs[][2] = {{"algorithm", "fed-plt"},
                                    {"rounds", "6"},
                                    {"seed", "5"},
                                    {"epochs", "3"},
                                    {"gamma", "0.5"},
                                    {"rho", "1"},
                                    {"weights", "agents"},
                                    {"privacy.epsilon", "3"},
                                    {"privacy.noise", "simulated"},
                                    {"schema", path},
                                    {NULL, NULL}};
    found("schema: columns.yaml\n"
          "privacy: {epsilon: 3, noise: simulated, spare: 0}\n"
          "train: {algorithm: fed-plt, rounds: 6, seed: 5, epochs: 3, gamma: 0.5, rho: 1, weights: "
          "agents}\n",
          "policy:\n  federations: [heart]\n  epsilon: off\n  participants: 1\n  disclosure: off\n",
          0);
    federating_write(all.side[0].folder, "columns.yaml", "%s", schema);
    snprintf(path, sizeof path, "%s/columns.yaml", all.side[0].folder);
    federating_run(&all);
    assert_sides_ok(&all);
    fplt_model *expected = trained(&all, pairs);
    assert_models_equal(&all, expected, 0);
    fplt_model_destroy(expected);
    federating_clear(&all);
}

static void count_round(void *context, const fplt_federation_round *round)
{
    uint64_t *rounds = context;
    assert_int_equal(round->round, *rounds);
    assert_int_equal(round->count, SITES);
    for (uint32_t i = 0; i < SITES; i++)
        assert_int_equal(round->accepted[i], i);
    assert_true(round->seconds >= 0 && round->bytes_up > 0);
    (*rounds)++;
}

/* What the coordinator measured in the round of that text, as it says it; the last such event. */
static double measured(const char *round)
{
    const char *found = NULL;
    for (const char *at = all.side[0].log; (at = strstr(at, round)); at++)
        found = at;
    assert_non_null(found);
    return strtod(found + strlen(round), NULL);
}

/* Under disclosure rules the model is the same, and the next run begins at it. */
/* Those of a run that are kept: not what its rounds tell as well. */
static void count_event(void *context, const char *time, const fplt_federation_event *event)
{
    unsigned *kept = context;
    assert_int_equal(strlen(time), strlen("2026-01-01T00:00:00Z"));
    kept[0] += strcmp(event->word, "consent") == 0 && event->who;
    kept[1] += strcmp(event->word, "opened") == 0 || strcmp(event->word, "closed") == 0 ||
               strcmp(event->word, "joined") == 0;
}

/* Commands that the running coordinator refuses. */
static void ask_wrongly(struct federating *unused)
{
    char word[FPLT__CONTROL_LINE], *answer = word;
    fplt_error error;
    (void)unused;
    assert_int_equal(fplt__federation_command(all.side[0].folder, "exclude s9", &answer, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "'s9'");
    memset(word, 'x', sizeof word);
    word[FPLT__CONTROL_LINE - 1] = 0;
    assert_int_equal(fplt__federation_command(all.side[0].folder, word, &answer, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "a command is one line of at most");
    word[FPLT__CONTROL_LINE - 2] = 0; /* no command: the answer is the status */
    assert_ok(fplt__federation_command(all.side[0].folder, word, &answer, &error), error);
    assert_contains(answer, "\"federation\":\"heart\"");
    fplt_free(answer);
}

/* The model moves by little: the run ends after as many rounds as that of one process. */
static void a_run_that_stalls_ends(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"algorithm", "fed-plt"}, {"rounds", "200"},      {"seed", "5"},       {"eval-every", "0"},
        {"tolerance", "0"},       {"categories", "auto"}, {"change", "0.001"}, {NULL, NULL}};
    uint64_t rounds = 0;
    fplt_error error;
    found("train: {algorithm: fed-plt, rounds: 200, seed: 5, eval-every: 0, tolerance: 0, change: "
          "0.001}\n",
          site_lines, 0);
    all.afterwards = ask_wrongly;
    federating_run(&all);
    assert_sides_ok(&all);
    assert_ok(fplt_federation_rounds(all.side[0].folder, 0, count_round, &rounds, &error), error);
    assert_true(rounds > 3 && rounds < 150);
    fplt_model *expected = trained(&all, pairs);
    assert_models_equal(&all, expected, 1e-12);
    fplt_model_destroy(expected);
    federating_clear(&all);
}

static void a_run_goes_on_under_disclosure_rules(void **state)
{
    (void)state;
    static const char policy[] =
        "categories: auto\npolicy:\n  federations: [heart]\n  epsilon: off\n  participants: 1\n"
        "  disclosure: research\n  allow: [facts, measure, score, information]\n";
    static const char *const pairs[][2] = {
        {"algorithm", "fed-plt"}, {"rounds", "4"},        {"seed", "5"}, {"eval-every", "2"},
        {"tolerance", "0"},       {"categories", "auto"}, {NULL, NULL}};
    char folder[500], *answer;
    fplt_error error;
    uint64_t rounds = 0;
    fplt__federation_audit_verdict verdict;
    found("train: {algorithm: fed-plt, rounds: 4, seed: 5, eval-every: 2, tolerance: "
          "0}\n",
          policy, 60);
    federating_run(&all);
    assert_sides_ok(&all);
    fplt_model *expected = trained(&all, pairs);
    assert_models_equal(&all, expected, 1e-12);
    fplt_model_destroy(expected);
    double before = measured("measured: round 4: criterion ");
    assert_ok(fplt_federation_rounds(all.side[0].folder, 0, count_round, &rounds, &error), error);
    assert_int_equal(rounds, 4);
    unsigned kept[2] = {0, 0};
    assert_ok(fplt_federation_events(all.side[0].folder, 0, count_event, kept, &error), error);
    assert_true(kept[0] >= SITES && kept[1] == 0);
    char *audited = federating_read(all.side[1].folder, "audit.jsonl");
    assert_non_null(audited);
    assert_contains(audited, "\"exchange\":\"0\"");
    free(audited);
    for (size_t i = 0; i <= SITES; i++) {
        assert_ok(fplt__federation_audit(all.side[i].folder, NULL, NULL, &verdict, &error), error);
        assert_int_equal(verdict.bad, 0);
        assert_true(verdict.entries > 0);
        assert_true(i == 0 || verdict.signed_up_to > 0); /* by the coordinator */
    }
    federating_write(all.side[0].folder, "control.socket",
                     ""); /* as a process that was killed leaves one */
    snprintf(folder, sizeof folder, "backup %s/copy.db", all.folder);
    assert_ok(fplt__federation_command(all.side[0].folder, folder, &answer, &error), error);
    assert_contains(answer, "/copy.db\"}");
    fplt_free(answer);
    snprintf(folder, sizeof folder, "%s/copy.db", all.folder);
    assert_int_equal(access(folder, R_OK), 0);
    assert_int_equal(fplt__federation_command(all.side[0].folder, "exclude s9", &answer, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "'s9' is not on the roster of run 1");
    assert_int_equal(fplt__federation_command(all.side[0].folder, "exclude s2", &answer, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "run 1 is finished");
    assert_int_equal(fplt__federation_command(all.side[0].folder, "status", &answer, &error),
                     FPLT_IO);
    federating_lead(&all, "run: 2\nexpires: 2999-12x31\ntrain: {algorithm: fed-plt, rounds: 2}\n");
    federating_run(&all);
    assert_int_equal(all.side[0].status, FPLT_BAD_VALUE);
    assert_contains(all.side[0].error.text, "expires: is '2999-12x31', but must be a date");
    federating_lead(&all, "run: 2\nexpires: 2999-12-31\ncontinue: yes\ntrain: {algorithm: fed-plt, "
                          "rounds: 2, seed: 5, "
                          "eval-every: 2, tolerance: 0}\n");
    federating_run(&all);
    assert_sides_ok(&all);
    assert_contains(all.side[0].log, "started: heart run 2: ");
    assert_close(measured("measured: round 0: criterion "), before, 1e-4); /* six digits are said */
    assert_true(measured("measured: round 2: criterion ") < before);
    federating_clear(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_that_cannot_be_written),
        cmocka_unit_test(the_model_is_that_of_one_process),
        cmocka_unit_test(families_are_those_of_one_process),
        cmocka_unit_test(automatic_parameters_are_those_of_one_process),
        cmocka_unit_test(random_intercepts_are_those_of_one_process),
        cmocka_unit_test(masked_sums_give_the_same_model),
        cmocka_unit_test(a_private_run_has_the_noise_of_one_process),
        cmocka_unit_test(a_run_that_stalls_ends),
        cmocka_unit_test(a_run_goes_on_under_disclosure_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
