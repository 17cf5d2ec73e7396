/* Certificates as they are written. Every field but the inputs follows from them by the accountant
 * [Theorems T and F]; verify.c writes the same document again from the inputs it reads. */
#include "promise/certificate.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/canonical.h"
#include "base/machine.h"
#include "base/memory.h"
#include "fedplt/algorithm.h"
#include "fedplt/solver.h"
#include "privacy/privacy.h"
#include "promise/promise.h"

/* ---- sentences ---- */

static const char *const assumptions[] = {
    "The number of agents, the number of records of each agent, the columns, categories and "
    "classes are public.",
    "Every row is shortened to the stated norm, or every record's gradient to the stated clip, "
    "before anything is computed from it.",
    "Nothing leaves an agent but its messages: no loss, gradient norm or accuracy without noise.",
    "Each round is computed once; a message sent again is the same bytes.",
    "The noise of every local step is fresh and known to nobody.",
};

static const char *const public_start =
    "Step, rho, epochs, rounds and starting point are computed from the numbers in this document "
    "and not from the records.";
static const char *const used_once =
    "The records were used in this run only; a second run on them adds to the loss.";
static const char *const used_before =
    "The runs on the same records before this one are those that the agents' ledgers list; any "
    "other adds to the loss.";

/* Of a caller's own cost, in place of the first two. */
static const char *const own_assumptions[] = {
    "The number of agents, the number of records of each agent and the code of the cost are "
    "public.",
    "The gradient that the cost gives for a record depends on the parameters and on that record "
    "alone; the program shortens it to the stated clip, but cannot check the code that computes "
    "it.",
};

static json_t *assumptions_json(const fplt_promise_view *view, const fplt__certificate_run *run)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof assumptions / sizeof *assumptions; i++)
        json_array_append_new(array,
                              json_string(i < 2 && !view->constants.curves ? own_assumptions[i]
                                                                           : assumptions[i]));
    json_array_insert_new(
        array, 2, json_string(run->released_start ? FPLT_CERTIFICATE_RELEASED : public_start));
    json_array_append_new(array, json_string(run->accounts ? used_before : used_once));
    if (run->drafted)
        json_array_append_new(array, json_string(FPLT_CERTIFICATE_DRAFTED));
    return array;
}

static void tell_unit(const fplt_promise_view *view, char *text, size_t size)
{
    unsigned long long group = view->group;
    const char *records = group == 1 ? "record" : "records";
    if (view->by_person)
        snprintf(text, size, FPLT_CERTIFICATE_PERSON " of at most %llu %s", group, records);
    else if (group == 1)
        snprintf(text, size, "one record");
    else
        snprintf(text, size, "%llu %s", group, records);
}

static void tell_neighbours(const fplt_promise_view *view, char *text, size_t size)
{
    uint64_t group = view->group;
    if (view->by_person)
        snprintf(
            text, size,
            "data sets that differ in the records of one person, at most %llu, each replaced by "
            "any other of a person who has no more",
            (unsigned long long)group);
    else if (group == 1)
        snprintf(text, size,
                 "data sets that differ in one record of one agent, replaced by any other");
    else
        snprintf(text, size,
                 "data sets that differ in at most %llu records, each replaced by any other",
                 (unsigned long long)group);
}

static void state(const fplt_promise_view *view, char *text, size_t size)
{
    char unit[64];
    tell_unit(view, unit, sizeof unit);
    if (!view->secure)
        snprintf(text, size,
                 "seeded: not private. Anyone who knows the seed can remove the noise.");
    else if (view->diagnosed)
        snprintf(text, size,
                 "diagnosed: not private. Losses without noise were measured and shown.");
    else
        snprintf(
            text, size,
            "Anyone who sees %s learns about any %s at most what (%.4g, %g)-differential privacy "
            "allows, all %llu rounds together.",
            view->threat->sees, unit, view->promised, view->delta,
            (unsigned long long)view->mechanism.rounds);
}

/* ---- sections ---- */

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *hex_json(const unsigned char *bytes, size_t count)
{
    char hex[2 * FPLT_KEY_SIGNATURE + 1];
    sodium_bin2hex(hex, sizeof hex, bytes, count);
    return json_string(hex);
}

static json_t *problem_json(const fplt_promise_view *view)
{
    json_t *object =
        json_pack("{s:s, s:f, s:b, s:f, s:f, s:s, s:f, s:s, s:I}", "loss", view->loss.name,
                  "row_norm", view->loss.row_norm, "intercept", view->loss.intercept, "huber_delta",
                  view->loss.huber_delta, "clip", view->loss.clip, "regulariser", view->regulariser,
                  "regulariser_weight", view->regulariser_weight, "weights",
                  view->weigh_rows ? "rows" : "agents", "dimension",
                  (json_int_t)view->mechanism.dimension);
    if (strcmp(view->loss.name, "poisson") == 0)
        json_object_set_new(object, "predictor_bound", json_real(view->loss.predictor_bound));
    return object;
}

/* The word number `index` of a choice: one|two|three. */
static json_t *choice_json(const char *choices, double index)
{
    for (; index > 0 && choices; index--)
        choices = strchr(choices, '|') ? strchr(choices, '|') + 1 : NULL;
    return choices ? json_stringn(choices, strcspn(choices, "|")) : json_null();
}

static json_t *parameters_json(const fplt_promise_view *view)
{
    const fplt_setting *rows = view->algorithm->settings;
    json_t *object = json_object();
    for (size_t i = 0; rows && rows[i].name; i++)
        json_object_set_new(object, rows[i].name,
                            rows[i].kind == FPLT_CHOICE
                                ? choice_json(rows[i].choices, view->parameter[i])
                                : real(view->parameter[i]));
    return object;
}

static json_t *mechanism_json(const fplt_promise_view *view)
{
    const fplt_privacy_mechanism *mechanism = &view->mechanism;
    double tau = fplt__promise_least_tau(view), deviation = sqrt(2 * mechanism->step) * tau;
    int curves = view->constants.curves;
    return json_pack(
        "{s:s, s:o, s:s, s:f, s:f, s:f, s:f, s:b, s:I, s:b, s:I, s:f, s:o, s:o, s:b, s:{s:I, "
        "s:f}}",
        "algorithm", view->algorithm->name, "parameters", parameters_json(view), "solver",
        view->solver->name, "step", mechanism->step, "tau", tau, "noise_deviation", deviation,
        "sensitivity", view->constants.sensitivity, "contraction", mechanism->contraction, "epochs",
        (json_int_t)view->epochs, "epochs_drawn", view->drawn_epochs, "rounds",
        (json_int_t)mechanism->rounds, "inverse_rho", mechanism->inverse_rho, "strong_convexity",
        real(curves ? mechanism->strong_convexity : NAN), "smoothness",
        real(curves ? mechanism->smoothness : NAN), "theorem_f_applies",
        mechanism->full_participation, "lattice", "deviation", (json_int_t)FPLT_NOISE_SCALE,
        "spacing", deviation / FPLT_NOISE_SCALE);
}

static json_t *promise_json(const fplt_promise_view *view)
{
    const fplt_privacy_claim *claim = &view->claim;
    return json_pack("{s:f, s:f, s:I, s:f, s:f, s:s, s:s, s:o, s:f, s:f, s:f, s:I}", "epsilon",
                     view->promised, "delta", view->delta, "group", (json_int_t)view->group,
                     "gdp_mu", claim->gdp_mu, "renyi_rate", claim->renyi_rate, "method",
                     claim->method, "conversion", claim->is_gaussian ? "exact" : "tight", "order",
                     real(fplt__privacy_order(claim, FPLT_CONVERT_BEST, view->delta)), "kappa",
                     claim->round_factor, "mu_step", claim->mu_step, "mu_round", claim->mu_round,
                     "rounds", (json_int_t)view->mechanism.rounds);
}

/* ---- agents ---- */

static json_t *earlier_json(const fplt__certificate_account *account)
{
    json_t *array = json_array();
    for (size_t i = 0; i < account->count; i++) {
        const fplt__certificate_charge *charge = &account->earlier[i];
        json_array_append_new(array, json_pack("{s:o, s:s, s:I, s:f}", "run",
                                               hex_json(charge->run, FPLT_RUN_BYTES), "time",
                                               charge->time, "rounds", (json_int_t)charge->rounds,
                                               "renyi_rate", charge->rate));
    }
    return array;
}

/* The rates of one record add up; a group of k costs k^2 of them. */
static fplt_status account_json(const fplt_promise_view *view,
                                const fplt__certificate_account *account, double rate, json_t **out,
                                fplt_error *error)
{
    double epsilon, group = (double)view->group, total = rate;
    for (size_t i = 0; i < account->count; i++)
        total += account->earlier[i].rate;
    fplt_status status = fplt_ledger_epsilon(group * group * total, view->delta, &epsilon, error);
    if (!status)
        *out = json_pack("{s:s, s:o, s:f, s:f}", "account", account->name, "earlier",
                         earlier_json(account), "renyi_rate", total, "epsilon", epsilon);
    return status;
}

static fplt_status agent_json(const fplt_promise_view *view, const fplt__certificate_run *run,
                              uint32_t agent, json_t **out, fplt_error *error)
{
    fplt_privacy_claim claim;
    double epsilon, rate;
    json_t *ledger = NULL;
    fplt_status status =
        fplt__promise_claim(view, agent, run->rounds[agent], &claim, &epsilon, error);
    if (!status && run->accounts && run->accounts[agent].name &&
        !(status = fplt__promise_rate(view, agent, run->rounds[agent], &rate, error)))
        status = account_json(view, &run->accounts[agent], rate, &ledger, error);
    if (!status)
        *out = json_pack("{s:I, s:o, s:I, s:f, s:I, s:f, s:f, s:o}", "agent", (json_int_t)agent,
                         "name", view->names[agent] ? json_string(view->names[agent]) : json_null(),
                         "records", (json_int_t)view->records[agent], "tau", view->tau[agent],
                         "rounds_charged", (json_int_t)run->rounds[agent], "gdp_mu", claim.gdp_mu,
                         "epsilon", epsilon, "ledger", ledger ? ledger : json_null());
    return status;
}

static fplt_status agents_json(const fplt_promise_view *view, const fplt__certificate_run *run,
                               json_t **out, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    *out = json_array();
    for (uint32_t i = 0; !status && i < view->agents; i++) {
        json_t *entry = NULL;
        if (!(status = agent_json(view, run, i, &entry, error)))
            json_array_append_new(*out, entry);
    }
    return status;
}

/* ---- the whole ---- */

/* Whose ledgers are in it: of all agents where one process trained them, of one where that agent wrote it. */
static const char *ledgers_of(const fplt_promise_view *view, const fplt__certificate_run *run)
{
    uint32_t known = 0;
    for (uint32_t i = 0; run->accounts && i < view->agents; i++)
        known += run->accounts[i].name != NULL;
    return known == view->agents ? "all" : known == 1 ? "own" : known ? "some" : "none";
}

static json_t *run_json(const fplt_promise_view *view, const fplt__certificate_run *run,
                        int version)
{
    json_t *object =
        json_pack("{s:o, s:s, s:o}", "id", hex_json(run->id, FPLT_RUN_BYTES), "time", run->time,
                  "schema", run->schema ? json_string(run->schema) : json_null());
    if (version >= 3) {
        json_object_set_new(object, "drafted", json_boolean(run->drafted));
        json_object_set_new(object, "ledgers", json_string(ledgers_of(view, run)));
        if (run->excluded)
            json_object_set_new(object, "excluded", json_string(run->excluded));
    }
    return object;
}

static json_t *document_of(const fplt_promise_view *view, const fplt__certificate_run *run,
                           int version, json_t *agents)
{
    char statement[512], neighbours[160], unit[64];
    state(view, statement, sizeof statement);
    tell_neighbours(view, neighbours, sizeof neighbours);
    tell_unit(view, unit, sizeof unit);
    return json_pack("{s:s, s:i, s:s, s:o, s:b, s:s, s:{s:s, s:s}, s:s, s:s, s:o, s:o, s:o, "
                     "s:{s:s, s:b, s:I}, s:o, s:s, s:o, s:{s:o, s:I}}",
                     "certificate", FPLT_CERTIFICATE_KIND, "version", version, "program",
                     run->program ? run->program : "fedplt " FPLT_VERSION, "run",
                     run_json(view, run, version), "private", view->secure && !view->diagnosed,
                     "statement", statement, "threat", "name", view->threat->name, "sees",
                     view->threat->sees, "neighbours", neighbours, "unit", unit, "promise",
                     promise_json(view), "mechanism", mechanism_json(view), "problem",
                     problem_json(view), "participation", "rule", view->participation, "full",
                     view->full, "least", (json_int_t)view->least_cohort, "agents", agents, "noise",
                     view->secure ? FPLT_CERTIFICATE_SECURE : FPLT_CERTIFICATE_SEEDED,
                     "assumptions", assumptions_json(view, run), "model", "blake2b",
                     hex_json(run->model, sizeof run->model), "dimension",
                     (json_int_t)view->mechanism.dimension);
}

fplt_status fplt__certificate_bytes(const json_t *document, char **bytes, size_t *length,
                                    fplt_error *error)
{
    static const char *const without[] = {"signature", NULL};
    fplt__buffer buffer = {NULL, 0, 0, FPLT_OK};
    fplt__buffer_add(&buffer, "fedplt-certificate-1\n");
    fplt__canonical_add(&buffer, document, without);
    *length = buffer.length;
    return fplt__buffer_take(&buffer, bytes, error);
}

static fplt_status sign(json_t *document, const fplt_key *key, fplt_error *error)
{
    unsigned char signature[FPLT_KEY_SIGNATURE];
    char *bytes;
    size_t length;
    if (!key->can_sign)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "a public key cannot sign; give the secret one (NAME.key)");
    fplt_status status = fplt__certificate_bytes(document, &bytes, &length, error);
    if (status)
        return status;
    crypto_sign_detached(signature, NULL, (const unsigned char *)bytes, length, key->secret);
    fplt_free(bytes);
    json_object_set_new(document, "signature",
                        json_pack("{s:s, s:o, s:o}", "algorithm", "Ed25519", "key",
                                  hex_json(key->visible, FPLT_KEY_PUBLIC), "value",
                                  hex_json(signature, sizeof signature)));
    return FPLT_OK;
}

fplt_status fplt__certificate_json(const fplt_promise_view *view, const fplt__certificate_run *run,
                                   int version, json_t **document, fplt_error *error)
{
    json_t *agents;
    *document = NULL;
    fplt_status status = agents_json(view, run, &agents, error);
    if (status) {
        json_decref(agents);
        return status;
    }
    *document = document_of(
        view, run, version < FPLT_CERTIFICATE_VERSION ? version : FPLT_CERTIFICATE_VERSION, agents);
    if (!*document)
        return fplt_error_set(error, FPLT_NO_MEMORY,
                              "no memory for the certificate, or a name in it is not UTF-8");
    if ((status = fplt__certificate_add_sums(view, *document, error))) {
        json_decref(*document);
        *document = NULL;
    }
    return status;
}

fplt_status fplt__certificate_begin(fplt__certificate_run *run, fplt_error *error)
{
    *run = (fplt__certificate_run){.rounds = NULL};
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "libsodium could not be initialised");
    randombytes_buf(run->id, sizeof run->id);
    fplt__time_text(run->time);
    return FPLT_OK;
}

/* ---- the certificate and its model ---- */

fplt_status fplt__certificate_commitment(const json_t *certificate,
                                         char hex[2 * FPLT_CERTIFICATE_DIGEST + 1],
                                         fplt_error *error)
{
    static const char *const without[] = {"model", "signature", NULL};
    unsigned char digest[FPLT_CERTIFICATE_DIGEST];
    fplt_status status =
        fplt__canonical_digest("fedplt-certificate-3\n", certificate, without, digest, error);
    if (!status)
        sodium_bin2hex(hex, 2 * FPLT_CERTIFICATE_DIGEST + 1, digest, sizeof digest);
    return status;
}

fplt_status fplt__model_digest(const json_t *model, int version,
                               unsigned char digest[FPLT_CERTIFICATE_DIGEST], fplt_error *error)
{
    static const char *const bare[] = {"program", "training", NULL};
    static const char *const whole[] = {"program", NULL};
    if (version < 3)
        return fplt__canonical_digest("fedplt-model-1\n", model, bare, digest, error);
    json_t *copy = json_copy((json_t *)model);
    const json_t *record = json_object_get(model, "training");
    json_t *training = json_is_object(record) ? json_copy((json_t *)record) : json_object();
    json_object_del(training, "privacy");
    fplt_status status =
        !copy || json_object_set_new(copy, "training", training)
            ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a digest")
            : fplt__canonical_digest("fedplt-model-2\n", copy, whole, digest, error);
    json_decref(copy);
    return status;
}

static fplt_status bind(fplt__certificate_run *run, const fplt_key *key, json_t *model,
                        json_t *certificate, fplt_error *error)
{
    json_t *training = json_object_get(model, "training");
    char hex[2 * FPLT_CERTIFICATE_DIGEST + 1];
    fplt_status status = fplt__certificate_commitment(certificate, hex, error);
    if (!json_is_object(training)) {
        training = json_object();
        json_object_set_new(model, "training", training);
    }
    if (status || json_object_set_new(training, "certificate", json_string(hex)))
        return status ? status : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a model");
    if ((status = fplt__model_digest(model, FPLT_CERTIFICATE_VERSION, run->model, error)))
        return status;
    json_object_set_new(json_object_get(certificate, "model"), "blake2b",
                        hex_json(run->model, sizeof run->model));
    if (key && (status = sign(certificate, key, error)))
        return status;
    return json_object_set(training, "privacy", certificate)
               ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a model")
               : FPLT_OK;
}

fplt_status fplt__certificate_bind(const fplt_promise_view *view, fplt__certificate_run *run,
                                   const fplt_key *key, json_t *model, json_t **certificate,
                                   fplt_error *error)
{
    fplt_status status =
        fplt__certificate_json(view, run, FPLT_CERTIFICATE_VERSION, certificate, error);
    if (!status && (status = bind(run, key, model, *certificate, error))) {
        json_decref(*certificate);
        *certificate = NULL;
    }
    return status;
}

/* Where all take part in every round, each has those that were paid for. */
static fplt_status state_rounds(const fplt_promise_view *view, const uint64_t *rounds,
                                uint64_t *stated, fplt_error *error)
{
    for (uint32_t i = 0; i < view->agents; i++) {
        stated[i] = view->full ? view->mechanism.rounds : rounds[i];
        if (rounds[i] > view->mechanism.rounds)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "agent %u was charged %llu rounds, but the plan pays for %llu", i,
                                  (unsigned long long)rounds[i],
                                  (unsigned long long)view->mechanism.rounds);
    }
    return FPLT_OK;
}

static fplt_status read_model(const fplt_promise_view *view, const char *text, size_t length,
                              json_t **model, fplt_error *error)
{
    json_error_t problem;
    *model = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    size_t weights = json_array_size(json_object_get(*model, "weights"));
    if (!json_is_object(*model))
        return fplt_error_set(error, FPLT_BAD_DATA, "the model: line %d: %.120s", problem.line,
                              problem.text);
    if (weights != view->mechanism.dimension)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the model has %zu weights, but the plan is for %llu", weights,
                              (unsigned long long)view->mechanism.dimension);
    return FPLT_OK;
}

fplt_status fplt__certificate_text(const json_t *document, char **text, fplt_error *error)
{
    char *own = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    *text = own ? fplt__strdup(own) : NULL;
    free(own);
    return *text ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a document");
}

fplt_status fplt_certificate_make(const fplt_promise_view *view, const uint64_t *rounds,
                                  const char *model, size_t length, char **text, fplt_error *error)
{
    fplt__certificate_run run;
    json_t *document = NULL, *certificate = NULL;
    uint64_t *stated;
    *text = NULL;
    fplt_status status =
        fplt__alloc_into(&stated, view->agents, sizeof *stated, "the certificate", error);
    if (!status && !(status = state_rounds(view, rounds, stated, error)) &&
        !(status = fplt__certificate_begin(&run, error)) &&
        !(status = read_model(view, model, length, &document, error))) {
        run.rounds = stated;
        if (!(status = fplt__certificate_bind(view, &run, NULL, document, &certificate, error)))
            status = fplt__certificate_text(document, text, error);
    }
    json_decref(certificate);
    json_decref(document);
    fplt__free(stated);
    return status;
}
