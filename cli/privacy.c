/* fedplt privacy: the accountant and calibration; audit, curves, tradeoff, verify and ledger are in
 * files of their own. */
#include "privacy.h"
#include "algorithm/local_step.h"
#include "base/settings.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "promise/promise.h"
#include "report/report.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

const fplt_setting privacy_mechanism_table[] = {
    {"sensitivity", FPLT_REAL, FPLT_ABOVE, "2", 0, HUGE_VAL, NULL,
     "L: replacing a record changes the sum of gradients by at most this; logistic: twice the norm "
     "of a row",
     0, 0},
    {"records", FPLT_INTEGER, FPLT_LIST, "250", 1, 9007199254740992.0, NULL,
     "records of an agent; several: one row each", 0, 0},
    {"tau", FPLT_REAL, FPLT_ABOVE, NULL, 0, HUGE_VAL, NULL,
     "noise: each local step adds N(0, 2 gamma tau^2) to every coordinate", 0, 0},
    {"gamma", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL, "local step size", 0, 0,
     .rule = "2/(lmin + lmax + 2/rho)"},
    {"epochs", FPLT_INTEGER, 0, "5", 1, 1e9, NULL, "local steps a round", 0, 0},
    {"rounds", FPLT_INTEGER, 0, "50", 1, 9007199254740992.0, NULL, "rounds charged", 0, 0},
    {"lmin", FPLT_REAL, 0, "0.5", -HUGE_VAL, HUGE_VAL, NULL,
     "strong convexity of every cost: the weight of the ridge", 0, 0},
    {"lmax", FPLT_REAL, FPLT_ABOVE, "0.75", 0, HUGE_VAL, NULL,
     "smoothness of every cost; logistic: ridge + (norm of a row)^2/4", 0, 0},
    {"rho", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL, "penalty of Fed-PLT", 0,
     0, .rule = "1/sqrt(lmin lmax)", .needs = "proximal=yes"},
    {"proximal", FPLT_SWITCH, 0, "yes", 0, 0, NULL,
     "the local cost has the term ||w - v||^2/(2 rho), as in Fed-PLT", 0, 0},
    {"step-wise", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "charge every local step: for costs that are not convex, and for accelerated steps", 0, 0},
    {"lattice", FPLT_SWITCH, 0, "yes", 0, 0, NULL,
     "noise as exact discrete Gaussian, as a private run draws it; no: continuous", 0, 0},
    {"dimension", FPLT_INTEGER, 0, "5", 1, 1e12, NULL, "coordinates of the model", 0, 0},
    {"agents", FPLT_INTEGER, 0, "1", 1, 4294967295.0, NULL, "number of agents (final-x)", 0, 0},
    {"delta", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "1e-5", 0, 1, NULL, "delta of (epsilon, delta)",
     0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting epsilon_table[] = {
    {"orders", FPLT_REAL, FPLT_ABOVE | FPLT_LIST, "2,8,32", 1, HUGE_VAL, NULL,
     "orders at which the Renyi divergence is shown", 0, 0},
    {"active-share", FPLT_REAL, FPLT_ABOVE, NULL, 0, 1, NULL,
     "probability with which an agent takes part in a round, at random and unseen", 0, 0},
    {"batch-rate", FPLT_REAL, FPLT_ABOVE, NULL, 0, 1, NULL,
     "Poisson minibatches: probability with which a record is taken in a step", 0, 0},
    {"clip", FPLT_REAL, FPLT_ABOVE, "1", 0, HUGE_VAL, NULL,
     "Poisson minibatches: norm to which record gradients are clipped", 0, 0,
     .needs = "batch-rate"},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting calibrate_table[] = {
    {"epsilon", FPLT_REAL, FPLT_ABOVE, "2", 0, HUGE_VAL, NULL, "what may be lost", 0, 0},
    {"threat", FPLT_CHOICE, 0, "transcript", 0, 0,
     "transcript|broadcast|secagg|final-y|final-x|paper", "what the adversary sees", 0, 0},
    {"best", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "also find the epochs and rounds whose predicted error is least", 0, 0},
    {"most-epochs", FPLT_INTEGER, 0, "64", 1, 1e6, NULL, "best: epochs at most", 0, 0,
     .needs = "best=yes"},
    {"most-rounds", FPLT_INTEGER, 0, "1000", 1, 1e6, NULL, "best: rounds at most", 0, 0,
     .needs = "best=yes"},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

double privacy_listed(const fplt_settings *settings, const char *name, size_t index)
{
    const char *list = fplt_settings_text(settings, name);
    char item[64];
    double value;
    for (size_t i = 0; list && *list; i++) {
        list = fplt__list_next(list, item, sizeof item);
        if (i == index)
            return fplt__parse_real(item, &value) ? NAN : value;
    }
    return NAN;
}

fplt_status privacy_mechanism(const fplt_settings *settings, uint64_t records,
                              fplt_privacy_mechanism *mechanism, fplt_error *error)
{
    double low = fplt_settings_real(settings, "lmin"), high = fplt_settings_real(settings, "lmax");
    int proximal = fplt_settings_switch(settings, "proximal");
    const fplt_algorithm *algorithm = fplt_algorithm_find("fed-plt");
    const fplt_solver *solver = fplt_solver_find("noisy");
    fplt_facts facts = {.curvature = {low, high}};
    double rho = proximal ? fplt_settings_real(settings, "rho") : HUGE_VAL;
    algorithm->choose(&facts, &rho);
    *mechanism = fplt_privacy_defaults();
    mechanism->sensitivity = fplt_settings_real(settings, "sensitivity");
    mechanism->records = records;
    mechanism->strong_convexity = low;
    mechanism->smoothness = high;
    mechanism->inverse_rho = fplt__algorithm_pull(algorithm, &facts, &rho);
    mechanism->step = fplt_settings_is_auto(settings, "gamma")
                          ? fplt__algorithm_step(algorithm, solver, &facts, &rho).automatic
                          : fplt_settings_real(settings, "gamma");
    mechanism->noise_tau =
        fplt_settings_given(settings, "tau") ? fplt_settings_real(settings, "tau") : 1;
    mechanism->epochs = (uint64_t)fplt_settings_integer(settings, "epochs");
    mechanism->rounds = (uint64_t)fplt_settings_integer(settings, "rounds");
    mechanism->contraction = !fplt_settings_switch(settings, "step-wise");
    mechanism->full_participation = proximal;
    mechanism->lattice = fplt_settings_switch(settings, "lattice");
    mechanism->dimension = (size_t)fplt_settings_integer(settings, "dimension");
    mechanism->agents = (uint32_t)fplt_settings_integer(settings, "agents");
    fplt_privacy_facts known = {.algorithm = "these numbers"};
    return fplt_privacy_check(mechanism, &known, error);
}

fplt_status privacy_draw(const fplt__plot *plot, const char *path, fplt_error *error)
{
    fplt_status status = fplt__plot_write(plot, path, error);
    if (status == FPLT_UNSUPPORTED) {
        cli_warn("%s", error->text);
        return FPLT_OK;
    }
    return status;
}

/* ---- epsilon ---- */

/* At how many orders the divergence is shown at most. */
enum { MAX_ORDERS = 8 };

static double epsilon_or_nan(const fplt_privacy_claim *claim, fplt_conversion conversion,
                             double delta)
{
    double epsilon;
    return fplt_privacy_epsilon(claim, conversion, delta, &epsilon, NULL) ? NAN : epsilon;
}

/* One claim as a line of the table and as an object. */
static void add_claim(const fplt_settings *settings, const fplt_privacy_claim *claim,
                      const fplt_threat *threat, double records, double mu, fplt_table *table,
                      json_t *list)
{
    static const fplt_conversion conversions[] = {FPLT_CONVERT_CLASSIC, FPLT_CONVERT_TIGHT,
                                                  FPLT_CONVERT_EXACT};
    double delta = fplt_settings_real(settings, "delta"), epsilon[3], order;
    json_t *divergences = json_array();
    fplt__table_text(table, threat->name);
    fplt__table_whole(table, (long long)records);
    fplt__table_number(table, mu, 5);
    fplt__table_number(table, claim->renyi_rate, 5);
    for (size_t i = 0; i < 3; i++) {
        epsilon[i] = epsilon_or_nan(claim, conversions[i], delta);
        fplt__table_number(table, epsilon[i], 5);
    }
    for (size_t k = 0; !isnan(order = privacy_listed(settings, "orders", k)); k++) {
        double divergence = fplt__privacy_renyi(claim, order);
        fplt__table_number(table, divergence, 5);
        json_array_append_new(divergences, cli_json_number(divergence));
    }
    fplt__table_text(table, claim->method);
    json_array_append_new(
        list,
        json_pack("{s:s, s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "threat", threat->name,
                  "guarantee", threat->is_guarantee, "records", (json_int_t)records, "mu",
                  cli_json_number(mu), "rdp_rate", cli_json_number(claim->renyi_rate), "classic",
                  cli_json_number(epsilon[0]), "tight", cli_json_number(epsilon[1]), "exact",
                  cli_json_number(epsilon[2]), "rdp", divergences, "method", claim->method));
}

static fplt_status add_claims(const fplt_settings *settings, double records, fplt_table *table,
                              json_t *list, fplt_error *error)
{
    fplt_privacy_mechanism mechanism;
    fplt_status status = privacy_mechanism(settings, (uint64_t)records, &mechanism, error);
    const fplt_threat *threat;
    for (size_t i = 0; !status && (threat = fplt_privacy_threat(i)); i++) {
        fplt_privacy_claim claim;
        if (fplt_privacy_claim_make(&mechanism, threat->name, &claim, error)) {
            if (threat->is_guarantee)
                return error->status;
            continue; /* Prop. 4 needs strong convexity */
        }
        add_claim(settings, &claim, threat, records,
                  claim.is_gaussian || mechanism.lattice ? claim.gdp_mu : NAN, table, list);
    }
    return status;
}

static fplt_status add_chances(const fplt_settings *settings, double records, fplt_table *table,
                               fplt_error *error)
{
    double delta = fplt_settings_real(settings, "delta"), epsilon;
    fplt_privacy_mechanism mechanism;
    fplt_privacy_claim claim;
    uint32_t order;
    fplt_status status = privacy_mechanism(settings, (uint64_t)records, &mechanism, error);
    if (!status)
        status = fplt_privacy_claim_make(&mechanism, "transcript", &claim, error);
    if (!status && fplt_settings_given(settings, "active-share")) {
        fplt_privacy_lottery lottery = {.mu_round = claim.mu_round,
                                        .probability = fplt_settings_real(settings, "active-share"),
                                        .rounds = mechanism.rounds};
        if ((status = fplt_privacy_lottery_epsilon(&lottery, delta, &epsilon, &order, error)))
            return status;
        fplt__table_text(table, "rounds drawn at random");
        fplt__table_whole(table, (long long)records);
        fplt__table_number(table, epsilon, 5);
        fplt__table_whole(table, order);
        fplt__table_text(table, "who takes part is independent of the data and not seen");
    }
    if (!status && fplt_settings_given(settings, "batch-rate")) {
        uint64_t steps;
        if (__builtin_mul_overflow(mechanism.rounds, mechanism.epochs, &steps))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "rounds is %llu and epochs %llu, but there can be at most 2^64 "
                                  "steps",
                                  (unsigned long long)mechanism.rounds,
                                  (unsigned long long)mechanism.epochs);
        fplt_privacy_minibatch minibatch = {.rate = fplt_settings_real(settings, "batch-rate"),
                                            .clip = fplt_settings_real(settings, "clip"),
                                            .records = (uint64_t)records,
                                            .step = mechanism.step,
                                            .noise_tau = mechanism.noise_tau,
                                            .steps = steps};
        if ((status = fplt_privacy_minibatch_epsilon(&minibatch, delta, &epsilon, &order, error)))
            return status;
        fplt__table_text(table, "Poisson minibatches");
        fplt__table_whole(table, (long long)records);
        fplt__table_number(table, epsilon, 5);
        fplt__table_whole(table, order);
        fplt__table_text(table, "every step seen; neighbours by one record more or less");
    }
    return status;
}

/* What the program shows: claims, and what chance adds to them where it was asked for. */
static fplt_status print_epsilon(const fplt_settings *settings, const fplt_table *claims,
                                 json_t *list, const fplt_table *chances, fplt_error *error)
{
    double delta = fplt_settings_real(settings, "delta"), order;
    if (fplt_settings_switch(settings, "json")) {
        json_t *orders = json_array();
        for (size_t k = 0; !isnan(order = privacy_listed(settings, "orders", k)); k++)
            json_array_append_new(orders, json_real(order));
        return cli_print_json(json_pack("{s:f, s:o, s:O, s:o}", "delta", delta, "orders", orders,
                                        "claims", list, "sampling", cli_json_table(chances)),
                              error);
    }
    printf("epsilon at delta %g by the classic, tighter and exact conversion\n\n", delta);
    fplt_status status = cli_print_table(claims, error);
    if (status || !fplt__table_rows(chances))
        return status;
    puts("");
    return cli_print_table(chances, error);
}

static fplt_status run_epsilon(cli_call *cli, fplt_error *error)
{
    const fplt_settings *settings = cli->settings;
    static const char *const sampling[] = {"sampling", "records", "epsilon", "order", "premise"};
    const char *columns[8 + MAX_ORDERS] = {"threat",  "records", "mu",   "rdp rate",
                                           "classic", "tight",   "exact"};
    char names[MAX_ORDERS][32];
    size_t count = 7;
    double order, records;
    fplt_table *claims = NULL, *chances = NULL;
    if (!fplt_settings_given(settings, "tau"))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "tau is not given: add --tau (`fedplt privacy calibrate --epsilon 2` finds the one for "
            "a promise)");
    for (size_t k = 0; !isnan(order = privacy_listed(settings, "orders", k)); k++) {
        if (k == MAX_ORDERS)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "orders has more than %d values, but it may have at most %d",
                                  MAX_ORDERS, MAX_ORDERS);
        snprintf(names[k], sizeof names[k], "rdp(%g)", order);
        columns[count++] = names[k];
    }
    columns[count++] = "method";
    json_t *list = json_array();
    fplt_status status = fplt__table_create(columns, count, &claims, error);
    if (!status)
        status = fplt__table_create(sampling, 5, &chances, error);
    for (size_t i = 0; !status && !isnan(records = privacy_listed(settings, "records", i)); i++)
        if (!(status = add_claims(settings, records, claims, list, error)))
            status = add_chances(settings, records, chances, error);
    if (!status)
        status = print_epsilon(settings, claims, list, chances, error);
    json_decref(list);
    fplt_table_destroy(claims);
    fplt_table_destroy(chances);
    return status;
}

/* ---- calibrate ---- */

static double predict(void *context, const fplt_privacy_mechanism *mechanism)
{
    return fplt__promise_predict(context, mechanism, mechanism->epochs);
}

static fplt_status add_calibrated(fplt_table *table, const char *what,
                                  const fplt_privacy_mechanism *mechanism,
                                  const fplt_privacy_budget *budget, const char *threat,
                                  double predicted, fplt_error *error)
{
    fplt_privacy_claim claim;
    double epsilon;
    fplt_status status = fplt_privacy_claim_make(mechanism, threat, &claim, error);
    if (!status)
        status = fplt_privacy_epsilon(&claim, FPLT_CONVERT_BEST, budget->delta, &epsilon, error);
    if (status)
        return status;
    fplt__table_text(table, what);
    fplt__table_number(table, mechanism->noise_tau, 8);
    fplt__table_whole(table, (long long)mechanism->rounds);
    fplt__table_whole(table, (long long)mechanism->epochs);
    fplt__table_number(table, claim.gdp_mu, 5);
    fplt__table_number(table, epsilon, 6);
    fplt__table_number(table, predicted, 4);
    return FPLT_OK;
}

static fplt_status find_best(const fplt_settings *settings, const fplt_privacy_mechanism *mechanism,
                             const char *threat, const fplt_privacy_budget *budget,
                             fplt_table *table, fplt_error *error)
{
    fplt_promise_view view = {.algorithm = fplt_algorithm_find("fed-plt"),
                              .agents = mechanism->agents,
                              .curvature = {mechanism->strong_convexity, mechanism->smoothness},
                              .constants = {.gradient = mechanism->sensitivity / 2}};
    fplt__privacy_search search = {
        .most_epochs = (uint64_t)fplt_settings_integer(settings, "most-epochs"),
        .most_rounds = (uint64_t)fplt_settings_integer(settings, "most-rounds"),
        .predict = predict,
        .context = &view};
    fplt_privacy_mechanism best;
    double predicted;
    fplt_status status = fplt__privacy_calibrate_search(mechanism, threat, budget, &search, &best,
                                                        &predicted, error);
    return status ? status
                  : add_calibrated(table, "epochs and rounds", &best, budget, threat, predicted,
                                   error);
}

static fplt_status print_calibrated(const fplt_privacy_budget *budget, const char *threat,
                                    const fplt_table *table, int json, fplt_error *error)
{
    int guarantee = strcmp(threat, "paper") != 0;
    if (json)
        return cli_print_json(json_pack("{s:s, s:b, s:f, s:f, s:o}", "threat", threat, "guarantee",
                                        guarantee, "epsilon", budget->epsilon, "delta",
                                        budget->delta, "results", cli_json_table(table)),
                              error);
    if (!guarantee)
        puts("Prop. 4 as printed: reproduction only, not a guarantee\n");
    return cli_print_table(table, error);
}

static fplt_status run_calibrate(cli_call *cli, fplt_error *error)
{
    static const char *const columns[] = {"found", "tau",     "rounds",         "epochs",
                                          "mu",    "epsilon", "predicted error"};
    const fplt_settings *settings = cli->settings;
    const char *threat = fplt_settings_text(settings, "threat");
    fplt_privacy_budget budget = {fplt_settings_real(settings, "epsilon"),
                                  fplt_settings_real(settings, "delta"), FPLT_CONVERT_BEST};
    int json = fplt_settings_switch(settings, "json"),
        by_noise = fplt_settings_given(settings, "tau");
    fplt_privacy_mechanism mechanism;
    fplt_table *table;
    double least = HUGE_VAL, records;
    for (size_t i = 0; !isnan(records = privacy_listed(settings, "records", i)); i++)
        least = fmin(least, records);
    fplt_status status = privacy_mechanism(settings, (uint64_t)least, &mechanism, error);
    if (!status)
        status = fplt__table_create(columns, 7, &table, error);
    if (status)
        return status;
    if (by_noise)
        status = fplt_privacy_calibrate_rounds(&mechanism, threat, &budget, UINT64_C(1) << 40,
                                               &mechanism.rounds, error);
    else
        status =
            fplt_privacy_calibrate_noise(&mechanism, threat, &budget, &mechanism.noise_tau, error);
    if (!status)
        status = add_calibrated(table, by_noise ? "rounds" : "tau", &mechanism, &budget, threat,
                                NAN, error);
    if (!status && fplt_settings_switch(settings, "best"))
        status = find_best(settings, &mechanism, threat, &budget, table, error);
    if (!status)
        status = print_calibrated(&budget, threat, table, json, error);
    fplt_table_destroy(table);
    return status;
}

/* The curvature counts where steps contract and where it sets gamma; agents where a final model is looked at
 * whose lattice all have a part in. */
#define CURVED "gamma=auto,step-wise=no"
#define NEEDS_OF_MECHANISM                                                             \
    {"lmax", CURVED, NULL}, {"rho", CURVED, NULL}, {"dimension", "lattice=yes", NULL}, \
    {                                                                                  \
        "agents", "lattice=yes;proximal=yes;step-wise=no", NULL                        \
    }
static const fplt__setting_need epsilon_needs[] = {
    NEEDS_OF_MECHANISM,
    {NULL, NULL, NULL},
};
static const fplt__setting_need curve_needs[] = {
    NEEDS_OF_MECHANISM,
    {"proximal", CURVED, NULL}, /* epsilon says why there is no bound for a final model */
    {NULL, NULL, NULL},
};

static fplt_status declare_epsilon(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_settings_add(settings, "mechanism", privacy_mechanism_table, error);
    return status ? status : fplt_settings_add(settings, "output", epsilon_table, error);
}

/* Prop. 4 asks for lmin and gamma alone; what predicts the error of the best asks for the problem. */
#define PROVED ",best=yes;threat!=paper,best=yes"
static const fplt__setting_need calibrate_needs[] = {
    {"rounds", "!tau", NULL},
    {"lmin", CURVED ",threat=paper,best=yes", NULL},
    {"lmax", CURVED ",best=yes;gamma=auto,threat!=paper,best=yes", NULL},
    {"rho", CURVED ",best=yes;gamma=auto,threat!=paper,best=yes", NULL},
    {"proximal", CURVED ",best=yes;gamma=auto,threat!=paper,best=yes", NULL},
    {"step-wise", "threat!=paper", NULL},
    {"lattice", "threat!=paper", NULL},
    {"dimension", "lattice=yes" PROVED, NULL},
    {"agents",
     "threat=final-x,best=yes;lattice=yes,best=yes;proximal=yes,best=yes;step-wise=no,best=yes",
     NULL},
    {NULL, NULL, NULL},
};

static fplt_status declare_calibrate(const cli_call *cli, fplt_settings *settings,
                                     fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_settings_add(settings, "budget", calibrate_table, error);
    return status ? status
                  : fplt_settings_add(settings, "mechanism", privacy_mechanism_table, error);
}

const cli_command cli_privacy[] = {
    {.name = "privacy epsilon",
     .summary = "what given numbers promise, for every threat model",
     .arguments = "",
     .about =
         "The accountant. From the sensitivity, the step, the noise, the epochs and the rounds "
         "to mu, the Renyi divergence and epsilon, for everyone who may be looking. The line "
         "`paper` is Prop. 4 as printed: reproduction, not a guarantee.",
     .examples = "fedplt privacy epsilon --tau 0.1 --rounds 50\n"
                 "fedplt privacy epsilon --tau 0.1 --records 46,130,261,303\n"
                 "fedplt privacy epsilon --tau 0.1 --active-share 0.5 --batch-rate 0.1",
     .declare = declare_epsilon,
     .needs = epsilon_needs,
     .run = run_epsilon},
    {.name = "privacy calibrate",
     .summary = "the noise, or the rounds, that a budget allows",
     .arguments = "",
     .about = "The accountant backwards. Finds the least tau for the given rounds; with --tau the "
              "most rounds; with --best also the epochs and rounds whose predicted error is least. "
              "Several records: the fewest count.",
     .examples = "fedplt privacy calibrate --epsilon 2 --delta 1e-5 --rounds 50\n"
                 "fedplt privacy calibrate --epsilon 2 --tau 0.1\n"
                 "fedplt privacy calibrate --epsilon 2 --best --agents 4 --dimension 13",
     .declare = declare_calibrate,
     .needs = calibrate_needs,
     .run = run_calibrate},
    {.name = "privacy curve",
     .summary = "draw epsilon against rounds, epochs and tau",
     .arguments = "",
     .about =
         "Draws curve-rounds, curve-epochs and curve-tau: the promise for all messages and for "
         "the final model, beside plain composition of all steps and Prop. 4 as printed. Local "
         "epochs are nearly free, rounds are not.",
     .examples = "fedplt privacy curve --tau 0.1 --out curves",
     .declare = privacy_declare_curve,
     .needs = curve_needs,
     .run = privacy_curve},
    {.name = "privacy tradeoff",
     .summary = "accuracy against epsilon, with and without local training",
     .arguments = "[config.yaml]",
     .about = "Trains with simulated noise for each epsilon, several times, once with the planned "
              "epochs and, where these are several, once with a single one, and shows the "
              "accuracy. An experiment on the training data: not private.",
     .examples = "fedplt privacy tradeoff --data hospitals.csv --schema hospitals.schema.yaml\n"
                 "fedplt privacy tradeoff --epsilons 0.5,1,2,4,8 --repeats 20",
     .most = 1,
     .config = 1,
     .declare = privacy_declare_tradeoff,
     .needs = privacy_tradeoff_needs,
     .run = privacy_tradeoff},
    {.name = "privacy audit",
     .summary = "try to refute the promise of a configuration",
     .arguments = "[config.yaml]",
     .about =
         "Trains many times and holds what the certificate states against what every agent draws, "
         "computes and sends: each message is what records and noise give, the noise is on its "
         "lattice, of the claimed deviation for every agent and coordinate, and independent of all "
         "other noise; no record moves a gradient further than charged. Besides it trains on a "
         "neighbour that differs in one record and measures how well the messages, and the final "
         "model, tell the two apart. Every line says what it would have refuted; the stated "
         "confidence is that of all verdicts together. Where something is refuted the exit status "
         "is 1. Not to refute proves nothing.",
     .examples =
         "fedplt privacy audit --data hospitals.csv --schema hospitals.schema.yaml "
         "--privacy.epsilon 2\n"
         "fedplt privacy audit --privacy.epsilon 4 --rounds 30 --epochs 5 --canary features",
     .most = 1,
     .config = 1,
     .declare = privacy_declare_audit,
     .needs = privacy_audit_needs,
     .run = privacy_audit},
    {.name = "privacy verify",
     .summary = "compute the claim of a certificate again",
     .arguments = "privacy.json|model.json",
     .about =
         "Reads a certificate, or a model with one, writes the certificate that follows from the "
         "inputs it states and compares every field; also the model.json beside it, and the "
         "signature. Exit status 1 when something does not hold. What happened in the run "
         "itself cannot be seen in a document.",
     .examples = "fedplt privacy verify fedplt-out/privacy.json\n"
                 "fedplt privacy verify fedplt-out/privacy.json --trust hospital.pub",
     .least = 1,
     .most = 1,
     .declare = privacy_declare_verify,
     .run = privacy_verify},
    {.name = "privacy ledger",
     .summary = "what was spent on records over all runs",
     .arguments = "ledger.db",
     .about = "Lists the runs that a ledger has charged, account by account, with the epsilon of "
              "one record for the run alone and for all runs so far.",
     .examples = "fedplt privacy ledger ledger.db --delta 1e-6",
     .least = 1,
     .most = 1,
     .declare = privacy_declare_ledger,
     .run = privacy_ledger},
    {.name = NULL},
};
