/* Certificates as they are read: form, inputs, the certificate that follows from the inputs, and
 * whether it is the one that was read. */
#include <math.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/local_step.h"
#include "base/memory.h"
#include "privacy/privacy.h"
#include "promise/certificate.h"
#include "promise/form.h"
#include "promise/promise.h"
#include "promise/verify.h"

void fplt__verification_find(struct fplt__verification *self, int holds, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    self->holds &= holds != 0;
    if (self->look->finding)
        self->look->finding(self->look->context, holds, sentence);
}

/* ---- reading: the form was checked, so every field is there and of its type ---- */

static const json_t *at(const json_t *object, const char *section, const char *name)
{
    return json_object_get(json_object_get(object, section), name);
}

static double number(const struct fplt__verification *self, const char *section, const char *name)
{
    return json_number_value(at(self->root, section, name));
}

static uint64_t count(const struct fplt__verification *self, const char *section, const char *name)
{
    return (uint64_t)json_integer_value(at(self->root, section, name));
}

static const char *text(const struct fplt__verification *self, const char *section,
                        const char *name)
{
    return json_string_value(at(self->root, section, name));
}

static int truth(const struct fplt__verification *self, const char *section, const char *name)
{
    return json_is_true(at(self->root, section, name));
}

static void read_hex(const json_t *value, unsigned char *bytes, size_t size)
{
    sodium_hex2bin(bytes, size, json_string_value(value), json_string_length(value), NULL, NULL,
                   NULL);
}

static void read_problem(struct fplt__verification *self)
{
    fplt_promise_view *view = &self->view;
    const char *noise = json_string_value(json_object_get(self->root, "noise"));
    view->secure = strcmp(noise, FPLT_CERTIFICATE_SECURE) == 0;
    view->diagnosed = view->secure && json_is_false(json_object_get(self->root, "private"));
    view->epsilon = view->predicted = NAN;
    view->delta = number(self, "promise", "delta");
    view->group = count(self, "promise", "group");
    view->by_person = strncmp(json_string_value(json_object_get(self->root, "unit")),
                              FPLT_CERTIFICATE_PERSON, strlen(FPLT_CERTIFICATE_PERSON)) == 0;
    view->loss.name = text(self, "problem", "loss");
    view->loss.row_norm = number(self, "problem", "row_norm");
    view->loss.intercept = truth(self, "problem", "intercept");
    view->loss.huber_delta = number(self, "problem", "huber_delta");
    view->loss.clip = number(self, "problem", "clip");
    view->loss.predictor_bound =
        number(self, "problem", "predictor_bound"); /* 0 where it has none */
    view->regulariser = text(self, "problem", "regulariser");
    view->regulariser_weight = number(self, "problem", "regulariser_weight");
    view->weigh_rows = strcmp(text(self, "problem", "weights"), "rows") == 0;
    view->participation = text(self, "participation", "rule");
    view->full = truth(self, "participation", "full");
    view->least_cohort = (uint32_t)count(self, "participation", "least");
    view->epochs = (uint32_t)count(self, "mechanism", "epochs");
    view->parameter = self->parameter;
}

static void read_run(struct fplt__verification *self)
{
    fplt__certificate_run *run = &self->run;
    read_hex(at(self->root, "run", "id"), run->id, sizeof run->id);
    read_hex(at(self->root, "model", "blake2b"), run->model, sizeof run->model);
    snprintf(run->time, sizeof run->time, "%s", text(self, "run", "time"));
    run->program = json_string_value(json_object_get(self->root, "program"));
    run->schema = text(self, "run", "schema");
    run->drafted = truth(self, "run", "drafted") && run->schema;
    run->excluded = text(self, "run", "excluded");
    run->rounds = self->rounds;
    const json_t *assumption;
    size_t i;
    json_array_foreach((json_t *)json_object_get(self->root, "assumptions"), i, assumption)
    {
        const char *sentence = json_string_value(assumption);
        run->released_start |= sentence && strcmp(sentence, FPLT_CERTIFICATE_RELEASED) == 0;
    }
}

static size_t count_charges(const json_t *agents)
{
    size_t total = 0;
    for (size_t i = 0; i < json_array_size(agents); i++)
        total += json_array_size(at(json_array_get(agents, i), "ledger", "earlier"));
    return total;
}

static fplt__certificate_charge read_charge(const json_t *entry)
{
    fplt__certificate_charge charge = {
        .rounds = (uint64_t)json_integer_value(json_object_get(entry, "rounds")),
        .rate = json_number_value(json_object_get(entry, "renyi_rate"))};
    read_hex(json_object_get(entry, "run"), charge.run, sizeof charge.run);
    snprintf(charge.time, sizeof charge.time, "%s",
             json_string_value(json_object_get(entry, "time")));
    return charge;
}

/* Whose ledger is not known has none; where that is so of all, none was kept. */
static void read_accounts(struct fplt__verification *self, const json_t *agents)
{
    fplt__certificate_charge *next = self->charges;
    int kept = 0;
    for (size_t i = 0; i < json_array_size(agents); i++) {
        const json_t *ledger = json_object_get(json_array_get(agents, i), "ledger");
        const json_t *earlier = json_object_get(ledger, "earlier");
        const char *name = json_string_value(json_object_get(ledger, "account"));
        fplt__certificate_account *account = &self->accounts[i];
        if (json_is_null(ledger))
            continue;
        kept = 1;
        *account = (fplt__certificate_account){name ? name : "", next, json_array_size(earlier)};
        for (size_t k = 0; k < account->count; k++)
            *next++ = read_charge(json_array_get(earlier, k));
    }
    self->run.accounts = kept ? self->accounts : NULL;
}

static fplt_status read_agents(struct fplt__verification *self, fplt_error *error)
{
    const json_t *agents = json_object_get(self->root, "agents");
    fplt_promise_view *view = &self->view;
    size_t n = json_array_size(agents);
    const char *what = "the agents";
    fplt_status status;
    if ((status = fplt__alloc_into(&self->records, n, sizeof *self->records, what, error)) ||
        (status = fplt__alloc_into(&self->rounds, n, sizeof *self->rounds, what, error)) ||
        (status = fplt__alloc_into(&self->tau, n, sizeof *self->tau, what, error)) ||
        (status = fplt__alloc_into(&self->names, n, sizeof *self->names, what, error)) ||
        (status = fplt__alloc_into(&self->accounts, n, sizeof *self->accounts, what, error)) ||
        (status = fplt__alloc_into(&self->charges, count_charges(agents), sizeof *self->charges,
                                   what, error)))
        return status;
    view->agents = (uint32_t)n;
    view->records = self->records;
    view->tau = self->tau;
    view->names = self->names;
    for (size_t i = 0; i < n; i++) {
        const json_t *entry = json_array_get(agents, i);
        self->records[i] = (uint64_t)json_integer_value(json_object_get(entry, "records"));
        self->rounds[i] = (uint64_t)json_integer_value(json_object_get(entry, "rounds_charged"));
        self->tau[i] = json_number_value(json_object_get(entry, "tau"));
        self->names[i] = json_string_value(json_object_get(entry, "name"));
    }
    read_accounts(self, agents);
    return FPLT_OK;
}

static double read_choice(const char *choices, const char *word)
{
    for (double index = 0; choices && word; index++) {
        size_t length = strcspn(choices, "|");
        if (strlen(word) == length && strncmp(choices, word, length) == 0)
            return index;
        choices = choices[length] ? choices + length + 1 : NULL;
    }
    return NAN;
}

/* The parameters by their names; what is null or unknown becomes NaN, and then differs. */
static fplt_status read_method(struct fplt__verification *self, fplt_error *error)
{
    fplt_promise_view *view = &self->view;
    const json_t *parameters = at(self->root, "mechanism", "parameters");
    const char *algorithm = text(self, "mechanism", "algorithm");
    view->algorithm = fplt_algorithm_find(algorithm);
    view->solver = fplt_solver_find(text(self, "mechanism", "solver"));
    if (!view->algorithm || !view->solver)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: mechanism.algorithm is '%.40s', which is not known here",
                              self->path, algorithm);
    const fplt_setting *rows = view->algorithm->settings;
    for (size_t i = 0; rows && rows[i].name; i++) {
        const json_t *value = json_object_get(parameters, rows[i].name);
        self->parameter[i] = rows[i].kind == FPLT_CHOICE
                                 ? read_choice(rows[i].choices, json_string_value(value))
                             : json_is_number(value) ? json_number_value(value)
                                                     : NAN;
    }
    return fplt__privacy_threat_find(text(self, "threat", "name"), &view->threat, error);
}

/* ---- computing again ---- */

static fplt_status rebuild_mechanism(struct fplt__verification *self, fplt_error *error)
{
    fplt_promise_view *view = &self->view;
    fplt_privacy_mechanism *mechanism = &view->mechanism;
    fplt_facts facts = {.curvature = view->curvature,
                        .agents = view->agents,
                        .cohort = view->agents,
                        .epochs = view->epochs,
                        .dimension = count(self, "problem", "dimension"),
                        .claim = 1};
    fplt_status status;
    if ((status = fplt__algorithm_resolve(view->algorithm, &facts, self->parameter, error)) ||
        (status = fplt__promise_draws(view, &view->drawn_epochs, error)))
        return status;
    *mechanism = fplt_privacy_defaults();
    mechanism->dimension = facts.dimension;
    mechanism->agents = view->agents;
    mechanism->group = view->group;
    mechanism->lattice = 1;
    mechanism->step = number(self, "mechanism", "step");
    mechanism->epochs = view->drawn_epochs ? FPLT_EPOCHS_UNBOUNDED : view->epochs;
    mechanism->rounds = count(self, "mechanism", "rounds");
    mechanism->inverse_rho =
        view->algorithm->inverse_rho ? view->algorithm->inverse_rho(&facts, self->parameter) : 0;
    mechanism->strong_convexity = view->curvature.lowest;
    mechanism->smoothness = view->curvature.highest;
    fplt__promise_contract(view, mechanism);
    mechanism->full_participation = view->full && view->algorithm->splits;
    fplt__certificate_read_sums(self->root, view);
    return FPLT_OK;
}

static fplt_status rebuild(struct fplt__verification *self, fplt_error *error)
{
    fplt_promise_view *view = &self->view;
    fplt_status status;
    if ((status = fplt__promise_bounds(view, error)) || (status = rebuild_mechanism(self, error)))
        return status;
    status = fplt__promise_settle(view, error);
    view->unit = fplt__promise_unit(view);
    return status;
}

/* ---- findings ---- */

static void check_source(struct fplt__verification *self)
{
    const fplt_promise_view *view = &self->view;
    int claimed = json_is_true(json_object_get(self->root, "private"));
    fplt__verification_find(
        self, view->secure, "%s",
        view->secure
            ? "the noise came from the system's random source"
            : "seeded: not private; the noise did not come from the system's random source");
    fplt__verification_find(self, claimed, "%s",
                            claimed ? "the run claims to be private"
                                    : "the run itself says that it is not private");
    fplt__verification_find(self, view->threat->is_guarantee, "the threat model %s %s",
                            view->threat->name,
                            view->threat->is_guarantee ? "has a proof" : "is not a guarantee");
}

static void check_method(struct fplt__verification *self)
{
    fplt_promise_view *view = &self->view;
    fplt_error error = {FPLT_OK, ""};
    int allowed = !fplt_algorithm_allow(view->algorithm, view->solver, !view->full, 0, 1, &error);
    fplt__verification_find(self, allowed, "%s",
                            allowed ? "the algorithm can carry a claim" : error.text);
    int noisy = (view->solver->traits & FPLT_NOISY) != 0;
    fplt__verification_find(self, noisy, "the solver %s %s", view->solver->name,
                            noisy ? "adds noise" : "adds no noise");
    fplt_privacy_facts facts = {
        .algorithm = view->algorithm->name,
        .accelerated = (view->solver->traits & FPLT_ACCELERATED) != 0,
        .clipping_bends = !view->constants.contraction,
    };
    fplt_privacy_mechanism mechanism = view->mechanism;
    mechanism.sensitivity = view->constants.sensitivity;
    mechanism.records = view->records[view->worst];
    int legal = !fplt_privacy_check(&mechanism, &facts, &error);
    fplt__verification_find(self, legal, "%s",
                            legal ? "the premises of the claim hold" : error.text);
}

static void check_participation(struct fplt__verification *self)
{
    const fplt_promise_view *view = &self->view;
    fplt_error error = {FPLT_OK, ""};
    uint32_t beyond = 0, absent = 0;
    int full = view->least_cohort == view->agents;
    for (uint32_t i = 0; i < view->agents; i++) {
        beyond += self->rounds[i] > view->mechanism.rounds;
        absent += self->rounds[i] < view->mechanism.rounds;
    }
    fplt__verification_find(self,
                            view->full == full && view->least_cohort <= view->agents &&
                                (full || strcmp(view->participation, "all") != 0),
                            "participation %s: at least %u of %u agents in a round, %s",
                            view->participation, view->least_cohort, view->agents,
                            view->full ? "always all" : "not always all");
    fplt__verification_find(self, !beyond,
                            "%u agents are charged more rounds than the promise covers", beyond);
    fplt__verification_find(
        self, !view->full || !absent,
        "%u agents are charged fewer rounds than there were, %s take part in each", absent,
        view->full ? "but all" : "and not all");
    int enough = !fplt__promise_cohort(view, &error);
    if (!enough)
        fplt__verification_find(self, 0, "%s", error.text);
}

static void tell_notices(struct fplt__verification *self)
{
    if (self->version < FPLT_CERTIFICATE_VERSION)
        fplt__verification_find(self, FPLT__NOTICE,
                                "the certificate is of version %d: it covers neither the training "
                                "record of the model nor whether the schema was drafted from the "
                                "records",
                                self->version);
    if (self->run.drafted)
        fplt__verification_find(self, FPLT__NOTICE, "%s", FPLT_CERTIFICATE_DRAFTED);
}

/* `train` knows the ledger of all agents, the coordinator of none, an agent its own. */
static void check_ledgers(struct fplt__verification *self)
{
    uint32_t agents = self->view.agents, known, odd;
    fplt__histories_check(self->accounts, agents, self->run.id, &known, &odd);
    fplt__verification_find(self, known <= 1 || known == agents, "%u of %u agents have a ledger",
                            known, agents);
    fplt__verification_find(self, !odd, "%u ledgers contradict themselves or each other", odd);
}

int fplt__verification_same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

struct comparison {
    struct fplt__verification *self;
    char where[256];
    size_t fields;
    unsigned told; /* differences that were said */
};

static void differs(struct comparison *comparison, const json_t *stated, const json_t *found)
{
    enum { MAX_TOLD = 20 };
    char *texts[2] = {NULL, NULL};
    if (comparison->told++ >= MAX_TOLD) {
        comparison->self->holds = 0;
        return;
    }
    for (int i = 0; i < 2; i++)
        texts[i] = json_dumps(i ? found : stated, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
    fplt__verification_find(comparison->self, 0, "%s is %.150s, but its inputs give %.150s",
                            comparison->where, texts[0] ? texts[0] : "missing",
                            texts[1] ? texts[1] : "nothing");
    free(texts[0]);
    free(texts[1]);
}

static void compare(struct comparison *comparison, const json_t *stated, const json_t *found);

static void compare_inside(struct comparison *comparison, const char *name, const json_t *stated,
                           const json_t *found)
{
    size_t length = strlen(comparison->where);
    snprintf(comparison->where + length, sizeof comparison->where - length, "%s%.100s",
             length ? "." : "", name);
    if (stated && found)
        compare(comparison, stated, found);
    else
        differs(comparison, stated, found);
    comparison->where[length] = 0;
}

static void compare_objects(struct comparison *comparison, const json_t *stated,
                            const json_t *found)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)found, name, value)
        compare_inside(comparison, name, json_object_get(stated, name), value);
    json_object_foreach((json_t *)stated, name,
                        value) if (!json_object_get(found, name) && strcmp(name, "signature") != 0)
        compare_inside(comparison, name, value, NULL);
}

static void compare(struct comparison *comparison, const json_t *stated, const json_t *found)
{
    if (json_is_object(stated) && json_is_object(found)) {
        compare_objects(comparison, stated, found);
    } else if (json_is_array(stated) && json_array_size(stated) == json_array_size(found)) {
        for (size_t i = 0; i < json_array_size(found); i++) {
            char index[32];
            snprintf(index, sizeof index, "%zu", i);
            compare_inside(comparison, index, json_array_get(stated, i), json_array_get(found, i));
        }
    } else {
        int equal =
            json_is_number(stated) && json_is_number(found)
                ? fplt__verification_same(json_number_value(stated), json_number_value(found))
                : json_equal(stated, found);
        comparison->fields++;
        if (!equal)
            differs(comparison, stated, found);
    }
}

/* The figures that people look for. */
static void tell_figures(struct fplt__verification *self, const json_t *found)
{
    static const char *const figures[][3] = {
        {"promise", "epsilon", "epsilon"},
        {"promise", "gdp_mu", "mu"},
        {"promise", "kappa", "kappa"},
        {"mechanism", "sensitivity", "the sensitivity of a record's gradient"},
        {"mechanism", "strong_convexity", "the least curvature"},
        {"mechanism", "smoothness", "the largest curvature"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        double stated = number(self, figures[i][0], figures[i][1]);
        double again = json_number_value(at(found, figures[i][0], figures[i][1]));
        if (fplt__verification_same(stated, again))
            fplt__verification_find(self, 1, "%s is %.10g, computed again: %.10g", figures[i][2],
                                    stated, again);
    }
}

static fplt_status check_fields(struct fplt__verification *self, fplt_error *error)
{
    struct comparison comparison = {.self = self};
    json_t *found;
    fplt_status status =
        fplt__certificate_json(&self->view, &self->run, self->version, &found, error);
    if (status)
        return status;
    compare(&comparison, self->root, found);
    tell_figures(self, found);
    fplt__verification_find(self, !comparison.told, "%zu of %zu fields follow from the inputs",
                            comparison.fields - comparison.told, comparison.fields);
    json_decref(found);
    return FPLT_OK;
}

static fplt_status check_sibling(struct fplt__verification *self, fplt_error *error)
{
    const fplt_certificate_look *look = self->look;
    json_error_t where;
    json_t *model = json_loadb(look->model, look->model_length, JSON_REJECT_DUPLICATES, &where);
    if (!model)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s:%d: this is not JSON: %s", look->model_path,
                              where.line, where.text);
    fplt_status status = fplt__verification_model(self, model, look->model_path, error);
    json_decref(model);
    return status;
}

static fplt_status check_signature(struct fplt__verification *self, fplt_error *error)
{
    const fplt_certificate_look *look = self->look;
    unsigned char key[FPLT_KEY_PUBLIC], signature[FPLT_KEY_SIGNATURE];
    const json_t *section = json_object_get(self->root, "signature");
    char *bytes;
    size_t length;
    int trusted = 0;
    if (!section) {
        if (look->trusted)
            fplt__verification_find(self, 0, "the certificate is not signed");
        return FPLT_OK;
    }
    fplt_status status = fplt__certificate_bytes(self->root, &bytes, &length, error);
    if (status)
        return status;
    read_hex(json_object_get(section, "key"), key, sizeof key);
    read_hex(json_object_get(section, "value"), signature, sizeof signature);
    int valid =
        crypto_sign_verify_detached(signature, (const unsigned char *)bytes, length, key) == 0;
    fplt_free(bytes);
    fplt__verification_find(self, valid, "the signature %s that of the key %.16s...",
                            valid ? "is" : "is not",
                            json_string_value(json_object_get(section, "key")));
    for (size_t i = 0; i < look->trusted_count; i++)
        trusted |= memcmp(look->trusted[i].visible, key, sizeof key) == 0;
    if (look->trusted)
        fplt__verification_find(self, trusted, "the key %s one that is trusted",
                                trusted ? "is" : "is not");
    return FPLT_OK;
}

/* ---- the whole ---- */

static fplt_status check_form(struct fplt__verification *self, fplt_error *error)
{
    const char *kind = json_string_value(json_object_get(self->root, "certificate"));
    json_int_t version = json_integer_value(json_object_get(self->root, "version"));
    if (!kind || strcmp(kind, FPLT_CERTIFICATE_KIND) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: this is no " FPLT_CERTIFICATE_KIND,
                              self->path);
    if (version < FPLT_CERTIFICATE_OLDEST || version > FPLT_CERTIFICATE_SUMS_VERSION)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: the certificate is of version %lld, but this program verifies "
                              "versions %d to %d; verify it with the program that wrote it, or "
                              "train again",
                              self->path, (long long)version, FPLT_CERTIFICATE_OLDEST,
                              FPLT_CERTIFICATE_SUMS_VERSION);
    self->version = (int)version;
    json_t *schema = json_loads(fplt__certificate_schema, 0, NULL);
    if (!schema)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the certificate's form");
    fplt_status status = fplt__form_check(self->path, self->root, schema, error);
    json_decref(schema);
    return status;
}

static void summarise(const struct fplt__verification *self, fplt_certificate_summary *summary)
{
    summary->delta = self->view.delta;
    summary->group = self->view.group;
    summary->epsilon = number(self, "promise", "epsilon");
    summary->gdp_mu = number(self, "promise", "gdp_mu");
    summary->is_signed = json_object_get(self->root, "signature") != NULL;
    snprintf(summary->threat, sizeof summary->threat, "%s", text(self, "threat", "name"));
    snprintf(summary->algorithm, sizeof summary->algorithm, "%s",
             text(self, "mechanism", "algorithm"));
}

/* What cannot be computed from the inputs is a finding as well; a lack of memory is not. */
static fplt_status verify_document(struct fplt__verification *self, fplt_error *error)
{
    fplt_error why = {FPLT_OK, ""};
    fplt_status status = rebuild(self, &why);
    if (!status) {
        tell_notices(self);
        check_source(self);
        check_method(self);
        check_participation(self);
        check_ledgers(self);
        status = check_fields(self, &why);
    }
    if (status == FPLT_NO_MEMORY)
        return fplt_error_set(error, status, "%s", why.text);
    if (status)
        fplt__verification_find(self, 0, "%s", why.text);
    return FPLT_OK;
}

static fplt_status verify(struct fplt__verification *self, const json_t *model,
                          fplt_certificate_summary *summary, fplt_error *error)
{
    fplt_status status;
    if ((status = check_form(self, error)) || (status = read_agents(self, error)) ||
        (status = read_method(self, error)))
        return status;
    read_problem(self);
    read_run(self);
    summarise(self, summary);
    if ((status = verify_document(self, error)) ||
        (model && (status = fplt__verification_model(self, model, self->path, error))) ||
        (self->look->model && (status = check_sibling(self, error))) ||
        (status = check_signature(self, error)))
        return status;
    summary->has_model = model || self->look->model;
    summary->holds = self->holds;
    return FPLT_OK;
}

fplt_status fplt_certificate_verify(const char *bytes, size_t length, const char *path,
                                    const fplt_certificate_look *look,
                                    fplt_certificate_summary *summary, fplt_error *error)
{
    static const fplt_certificate_look plain = {.model = NULL};
    json_error_t where;
    json_t *root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &where);
    memset(summary, 0, sizeof *summary);
    if (!root)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s:%d: this is not JSON: %s", path, where.line,
                              where.text);
    const json_t *inner = at(root, "training", "privacy");
    const json_t *model = json_object_get(root, "weights") ? root : NULL;
    fplt_status status;
    if (model && !inner) {
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s: the model has no privacy certificate: it was trained without "
                                "privacy.epsilon",
                                path);
    } else {
        struct fplt__verification self = {
            .path = path, .root = model ? inner : root, .look = look ? look : &plain, .holds = 1};
        status = verify(&self, model, summary, error);
        fplt__free(self.records);
        fplt__free(self.rounds);
        fplt__free(self.tau);
        fplt__free(self.names);
        fplt__free(self.accounts);
        fplt__free(self.charges);
    }
    json_decref(root);
    return status;
}
