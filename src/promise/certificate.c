/* Certificates: written from a plan and an engine, read back into the same plan, and computed again
 * by the same accountant [Theorems T and F]. */
#include "promise/certificate.h"

#include <math.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "promise/promise.h"

#define KIND       "fedplt privacy certificate"
#define NEIGHBOURS "data sets that differ in one record of one agent, replaced by any other"
#define SECURE     "exact discrete Gaussian from the operating system's random source (libsodium)"
#define SIMULATED  "seeded: not private"

enum { VERSION = 1, DIGEST = 32 };

/* ---- writing ---- */

static const char *const assumptions[] = {
    "The number of agents, the number of records of each agent, the columns, categories and "
    "classes "
    "are public.",
    "Every row is shortened to the stated norm, or every record's gradient to the stated clip, "
    "before anything is computed from it.",
    "Step, rho, epochs, rounds and starting point are computed from the numbers in this document "
    "and not from the records.",
    "Nothing leaves an agent but its messages: no loss, gradient norm or accuracy without noise.",
    "Each round is computed once; a message sent again is the same bytes.",
    "The noise of every local step is fresh and known to nobody.",
    "The records were used in this run only; a second run on them adds to the loss.",
};

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *assumptions_json(void)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof assumptions / sizeof *assumptions; i++)
        json_array_append_new(array, json_string(assumptions[i]));
    return array;
}

static json_t *problem_json(const fplt_promise_view *view)
{
    return json_pack("{s:s, s:f, s:b, s:f, s:f, s:s, s:f, s:s, s:I}", "loss", view->loss.name,
                     "row_norm", view->loss.row_norm, "intercept", view->loss.intercept,
                     "huber_delta", view->loss.huber_delta, "clip", view->loss.clip, "regulariser",
                     view->regulariser, "regulariser_weight", view->regulariser_weight, "weights",
                     view->weigh_rows ? "rows" : "agents", "dimension",
                     (json_int_t)view->mechanism.dimension);
}

static json_t *mechanism_json(const fplt_promise_view *view)
{
    const fplt_privacy_mechanism *mechanism = &view->mechanism;
    return json_pack(
        "{s:s, s:s, s:f, s:f, s:f, s:f, s:b, s:I, s:b, s:I, s:o, s:f, s:f, s:f, s:b, s:b, s:{s:f, "
        "s:f}}",
        "algorithm", view->algorithm->name, "solver", view->solver->name, "step", mechanism->step,
        "tau", mechanism->noise_tau, "noise_deviation",
        sqrt(2 * mechanism->step) * mechanism->noise_tau, "sensitivity",
        view->constants.sensitivity, "contraction", mechanism->contraction, "epochs",
        (json_int_t)view->epochs, "epochs_drawn", view->drawn_epochs, "rounds",
        (json_int_t)mechanism->rounds, "rho", real(view->rho), "inverse_rho",
        mechanism->inverse_rho, "strong_convexity", mechanism->strong_convexity, "smoothness",
        mechanism->smoothness, "theorem_f_applies", mechanism->full_participation, "lattice_noise",
        mechanism->lattice, "lattice", "deviation", FPLT_NOISE_SCALE, "spacing",
        sqrt(2 * mechanism->step) * mechanism->noise_tau / FPLT_NOISE_SCALE);
}

static json_t *promise_json(const fplt_promise_view *view)
{
    const fplt_privacy_claim *claim = &view->claim;
    return json_pack("{s:f, s:f, s:f, s:f, s:s, s:s, s:o, s:f, s:f, s:f, s:I}", "epsilon",
                     view->promised, "delta", view->delta, "gdp_mu", claim->gdp_mu, "renyi_rate",
                     claim->renyi_rate, "method", claim->method, "conversion",
                     claim->is_gaussian ? "exact" : "tight", "order",
                     real(fplt_privacy_order(claim, FPLT_CONVERT_BEST, view->delta)), "kappa",
                     claim->round_factor, "mu_step", claim->mu_step, "mu_round", claim->mu_round,
                     "rounds", (json_int_t)view->mechanism.rounds);
}

static fplt_status agents_json(const fplt_promise_view *view, const fplt_engine *engine,
                               json_t **out, fplt_error *error)
{
    json_t *array = *out = json_array();
    for (uint32_t i = 0; i < view->agents; i++) {
        fplt_privacy_claim claim;
        double epsilon;
        uint64_t rounds = fplt_engine_updates(engine, i);
        fplt_status status = fplt_promise_claim(view, i, rounds, &claim, &epsilon, error);
        if (status)
            return status;
        json_array_append_new(
            array, json_pack("{s:I, s:o, s:I, s:I, s:f, s:f}", "agent", (json_int_t)i, "name",
                             view->names[i] ? json_string(view->names[i]) : json_null(), "records",
                             (json_int_t)view->records[i], "rounds_charged", (json_int_t)rounds,
                             "gdp_mu", claim.gdp_mu, "epsilon", epsilon));
    }
    return FPLT_OK;
}

static void digest_of(const double *weights, size_t dimension, char *hex)
{
    unsigned char digest[DIGEST];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)weights,
                       dimension * sizeof *weights, NULL, 0);
    sodium_bin2hex(hex, 2 * DIGEST + 1, digest, sizeof digest);
}

static void state(const fplt_promise_view *view, char *text, size_t size)
{
    if (!view->secure)
        snprintf(text, size, "seeded: not private. Whoever knows the seed can take the noise off.");
    else if (view->diagnosed)
        snprintf(text, size,
                 "diagnosed: not private. Losses without noise were measured and shown.");
    else
        snprintf(text, size,
                 "Whoever sees %s learns of any one record at most what (%.4g, %g)-differential "
                 "privacy allows, all %llu rounds together.",
                 view->threat->sees, view->promised, view->delta,
                 (unsigned long long)view->mechanism.rounds);
}

fplt_status fplt__certificate_json(const fplt_promise *plan, const fplt_engine *engine,
                                   const double *weights, size_t dimension, json_t **document,
                                   fplt_error *error)
{
    const fplt_promise_view *view = fplt_promise_see(plan);
    char statement[512], hex[2 * DIGEST + 1];
    json_t *agents;
    *document = NULL;
    fplt_status status = agents_json(view, engine, &agents, error);
    if (status) {
        json_decref(agents);
        return status;
    }
    state(view, statement, sizeof statement);
    digest_of(weights, dimension, hex);
    *document = json_pack(
        "{s:s, s:i, s:s, s:b, s:s, s:{s:s, s:s}, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:{s:s, "
        "s:I}}",
        "certificate", KIND, "version", VERSION, "program", "fedplt " FPLT_VERSION, "private",
        view->secure && !view->diagnosed, "statement", statement, "threat", "name",
        view->threat->name, "sees", view->threat->sees, "neighbours", NEIGHBOURS, "unit",
        "one record", "promise", promise_json(view), "mechanism", mechanism_json(view), "problem",
        problem_json(view), "agents", agents, "noise", view->secure ? SECURE : SIMULATED,
        "assumptions", assumptions_json(), "model", "blake2b", hex, "dimension",
        (json_int_t)dimension);
    return *document ? FPLT_OK
                     : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the certificate");
}

fplt_status fplt_certificate_make(const fplt_promise *plan, const fplt_engine *engine,
                                  const double *weights, size_t dimension, char **text,
                                  fplt_error *error)
{
    json_t *document;
    *text = NULL;
    fplt_status status = fplt__certificate_json(plan, engine, weights, dimension, &document, error);
    if (status)
        return status;
    char *own = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(document);
    *text = own ? fplt__strdup(own) : NULL;
    free(own);
    return *text ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the certificate");
}

/* ---- reading ---- */

/* A document on its way into a plan; the first field that is missing or malformed is remembered. */
struct reader {
    const char *path;
    const json_t *root;
    fplt_error *error;
    fplt_status status;
};

static const json_t *field(struct reader *reader, const char *section, const char *name,
                           const char *wanted, int (*fits)(const json_t *))
{
    const json_t *object = section ? json_object_get(reader->root, section) : reader->root;
    const json_t *value = json_object_get(object, name);
    if (reader->status || (value && fits(value)))
        return value;
    reader->status =
        fplt_error_set(reader->error, FPLT_BAD_DATA, "%s: %s%s%s is %s, but it must be %s",
                       reader->path, section ? section : "", section ? "." : "", name,
                       value ? "malformed" : "missing", wanted);
    return NULL;
}

static int fits_number(const json_t *value)
{
    return json_is_number(value) && isfinite(json_number_value(value));
}

static int fits_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static int fits_text(const json_t *value)
{
    return json_is_string(value);
}

static int fits_switch(const json_t *value)
{
    return json_is_boolean(value);
}

static int fits_array(const json_t *value)
{
    return json_is_array(value) && json_array_size(value) > 0;
}

static double number(struct reader *reader, const char *section, const char *name)
{
    return json_number_value(field(reader, section, name, "a number", fits_number));
}

static uint64_t count(struct reader *reader, const char *section, const char *name)
{
    return (uint64_t)json_integer_value(
        field(reader, section, name, "a whole number of at least 0", fits_count));
}

static const char *text_of(struct reader *reader, const char *section, const char *name)
{
    const char *text = json_string_value(field(reader, section, name, "a text", fits_text));
    return text ? text : "";
}

static int truth(struct reader *reader, const char *section, const char *name)
{
    return json_is_true(field(reader, section, name, "true or false", fits_switch));
}

static void read_view(struct reader *reader, fplt_promise_view *view)
{
    fplt_privacy_mechanism *mechanism = &view->mechanism;
    view->delta = number(reader, "promise", "delta");
    view->loss.name = text_of(reader, "problem", "loss");
    view->loss.row_norm = number(reader, "problem", "row_norm");
    view->loss.intercept = truth(reader, "problem", "intercept");
    view->loss.huber_delta = number(reader, "problem", "huber_delta");
    view->loss.clip = number(reader, "problem", "clip");
    view->regulariser = text_of(reader, "problem", "regulariser");
    view->regulariser_weight = number(reader, "problem", "regulariser_weight");
    view->weigh_rows = strcmp(text_of(reader, "problem", "weights"), "rows") == 0;
    view->epochs = (uint32_t)count(reader, "mechanism", "epochs");
    view->drawn_epochs = truth(reader, "mechanism", "epochs_drawn");
    *mechanism = fplt_privacy_defaults();
    mechanism->dimension = (size_t)count(reader, "problem", "dimension");
    mechanism->step = number(reader, "mechanism", "step");
    mechanism->noise_tau = number(reader, "mechanism", "tau");
    mechanism->epochs = view->drawn_epochs ? FPLT_EPOCHS_UNBOUNDED : view->epochs;
    mechanism->rounds = count(reader, "mechanism", "rounds");
    mechanism->inverse_rho = number(reader, "mechanism", "inverse_rho");
    mechanism->contraction = truth(reader, "mechanism", "contraction");
    mechanism->full_participation = truth(reader, "mechanism", "theorem_f_applies");
    mechanism->lattice = truth(reader, "mechanism", "lattice_noise");
    mechanism->strong_convexity = number(reader, "mechanism", "strong_convexity");
    mechanism->smoothness = number(reader, "mechanism", "smoothness");
}

static fplt_status read_agents(struct reader *reader, fplt_promise_view *view, uint64_t **records)
{
    const json_t *agents = field(reader, NULL, "agents", "a list that is not empty", fits_array);
    size_t agent;
    json_t *entry;
    *records = NULL;
    if (reader->status)
        return reader->status;
    view->agents = (uint32_t)json_array_size(agents);
    view->mechanism.agents = view->agents;
    fplt_status status =
        fplt__alloc_into(records, view->agents, sizeof **records, "the agents", reader->error);
    view->records = *records;
    json_array_foreach((json_t *)agents, agent, entry)
    {
        struct reader inner = {reader->path, entry, reader->error, status};
        if (status)
            return status;
        (*records)[agent] = count(&inner, NULL, "records");
        count(&inner, NULL, "rounds_charged");
        number(&inner, NULL, "gdp_mu");
        number(&inner, NULL, "epsilon");
        status = inner.status;
        if (!status && !(*records)[agent])
            status = fplt_error_set(reader->error, FPLT_BAD_DATA,
                                    "%s: agent %zu has 0 records, but it must have at least 1",
                                    reader->path, agent);
    }
    return status;
}

/* ---- verifying ---- */

struct verification {
    struct reader reader;
    fplt_promise_view view;
    fplt_certificate_finding finding;
    void *context;
    int holds;
};

static void find(struct verification *self, int holds, const char *format, ...) FPLT_PRINTF(3, 4);

static void find(struct verification *self, int holds, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    self->holds &= holds;
    if (self->finding)
        self->finding(self->context, holds, sentence);
}

/* Both come from the same formula on the same digits. */
static int same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void compare(struct verification *self, const char *what, double stated, double found)
{
    int holds = same(stated, found);
    find(self, holds, "%s is %.10g%s%.10g", what, stated,
         holds ? ", computed again: " : ", but its inputs give ", found);
}

static void check_bounds(struct verification *self)
{
    struct reader *reader = &self->reader;
    fplt_promise_view *view = &self->view;
    fplt_error error = {FPLT_OK, ""};
    if (fplt__promise_bounds(view, &error)) {
        find(self, 0, "%s", error.text);
        return;
    }
    compare(self, "the sensitivity of a record's gradient",
            number(reader, "mechanism", "sensitivity"), view->constants.sensitivity);
    compare(self, "the least curvature", view->mechanism.strong_convexity, view->curvature.lowest);
    compare(self, "the largest curvature", view->mechanism.smoothness, view->curvature.highest);
}

static void check_method(struct verification *self)
{
    struct reader *reader = &self->reader;
    fplt_promise_view *view = &self->view;
    const char *algorithm = text_of(reader, "mechanism", "algorithm");
    const char *solver = text_of(reader, "mechanism", "solver");
    fplt_error error = {FPLT_OK, ""};
    view->algorithm = fplt_algorithm_find(algorithm);
    view->solver = fplt_solver_find(solver);
    if (!view->algorithm || !view->solver) {
        find(self, 0, "the algorithm %.40s or the solver %.40s is not known", algorithm, solver);
        return;
    }
    int allowed = !fplt_algorithm_allow(view->algorithm, view->solver, 0, 0, 1, &error);
    find(self, allowed, "%s", allowed ? "the algorithm can carry a claim" : error.text);
    int noisy = (view->solver->traits & FPLT_NOISY) != 0;
    find(self, noisy, "the solver %s %s", solver, noisy ? "adds noise" : "adds no noise");
    fplt_privacy_facts facts = {
        .algorithm = algorithm,
        .accelerated = (view->solver->traits & FPLT_ACCELERATED) != 0,
        .clipping_bends = !view->constants.contraction,
    };
    fplt_privacy_mechanism mechanism = view->mechanism;
    mechanism.sensitivity = view->constants.sensitivity;
    mechanism.records = view->records[view->worst];
    int legal = !fplt_privacy_check(&mechanism, &facts, &error);
    find(self, legal, "%s", legal ? "the premises of the claim hold" : error.text);
    const fplt_algorithm *known = fplt_algorithm_find(algorithm);
    if (view->mechanism.full_participation)
        find(self, known && known->splits,
             "the bound for a final model is about fed-plt, and the algorithm is %s", algorithm);
}

/* Numbers that follow from others in one line. */
static void check_details(struct verification *self)
{
    struct reader *reader = &self->reader;
    const fplt_privacy_mechanism *mechanism = &self->view.mechanism;
    double deviation = sqrt(2 * mechanism->step) * mechanism->noise_tau;
    const json_t *rho = json_object_get(json_object_get(reader->root, "mechanism"), "rho");
    const json_t *lattice = json_object_get(json_object_get(reader->root, "mechanism"), "lattice");
    compare(self, "the deviation of the noise", number(reader, "mechanism", "noise_deviation"),
            deviation);
    compare(self, "the lattice's deviation",
            json_number_value(json_object_get(lattice, "deviation")), FPLT_NOISE_SCALE);
    compare(self, "the lattice's spacing", json_number_value(json_object_get(lattice, "spacing")),
            deviation / FPLT_NOISE_SCALE);
    if (json_is_number(rho))
        compare(self, "rho", json_number_value(rho), 1 / mechanism->inverse_rho);
    find(self, count(reader, "model", "dimension") == mechanism->dimension,
         "the model has %llu coordinates, the claim is for %zu",
         (unsigned long long)count(reader, "model", "dimension"), mechanism->dimension);
}

static void check_source(struct verification *self)
{
    struct reader *reader = &self->reader;
    int secure = strcmp(text_of(reader, NULL, "noise"), SECURE) == 0;
    int claimed = truth(reader, NULL, "private");
    find(self, secure, "%s",
         secure ? "the noise came from the system's random source"
                : "seeded: not private; the noise did not come from the system's random source");
    find(self, claimed, "%s",
         claimed ? "the run claims to be private" : "the run itself says that it is not private");
    find(self,
         strcmp(text_of(reader, NULL, "neighbours"), NEIGHBOURS) == 0 &&
             strcmp(text_of(reader, NULL, "unit"), "one record") == 0,
         "neighbours and unit are those of the accountant");
    find(self, self->view.mechanism.lattice, "the claim %s",
         self->view.mechanism.lattice ? "charges the lattice of the noise"
                                      : "does not charge the lattice of the noise");
}

static void check_agents(struct verification *self)
{
    const json_t *agents = json_object_get(self->reader.root, "agents");
    const fplt_promise_view *view = &self->view;
    fplt_error error = {FPLT_OK, ""};
    uint32_t wrong = 0, beyond = 0;
    for (uint32_t i = 0; i < view->agents; i++) {
        const json_t *entry = json_array_get(agents, i);
        uint64_t rounds = (uint64_t)json_integer_value(json_object_get(entry, "rounds_charged"));
        fplt_privacy_claim claim;
        double epsilon;
        beyond += rounds > view->mechanism.rounds;
        if (json_integer_value(json_object_get(entry, "agent")) != (json_int_t)i ||
            fplt_promise_claim(view, i, rounds, &claim, &epsilon, &error) ||
            !same(json_number_value(json_object_get(entry, "gdp_mu")), claim.gdp_mu) ||
            !same(json_number_value(json_object_get(entry, "epsilon")), epsilon))
            wrong++;
    }
    find(self, !wrong, "the losses of %u of %u agents follow from their records and rounds",
         view->agents - wrong, view->agents);
    find(self, !beyond, "%u agents are charged more rounds than the promise covers", beyond);
}

static void check_promise(struct verification *self)
{
    struct reader *reader = &self->reader;
    fplt_promise_view *view = &self->view;
    fplt_error error = {FPLT_OK, ""};
    fplt_privacy_claim claim;
    double epsilon;
    if (fplt_privacy_threat_find(
            json_string_value(json_object_get(json_object_get(reader->root, "threat"), "name")),
            &view->threat, &error)) {
        find(self, 0, "%s", error.text);
        return;
    }
    find(self, view->threat->is_guarantee, "the threat model %s %s", view->threat->name,
         view->threat->is_guarantee ? "has a proof" : "is not a guarantee");
    if (fplt_promise_claim(view, view->worst, view->mechanism.rounds, &claim, &epsilon, &error)) {
        find(self, 0, "%s", error.text);
        return;
    }
    compare(self, "mu", number(reader, "promise", "gdp_mu"), claim.gdp_mu);
    compare(self, "epsilon", number(reader, "promise", "epsilon"), epsilon);
    compare(self, "kappa", number(reader, "promise", "kappa"), claim.round_factor);
    compare(self, "the Renyi rate", number(reader, "promise", "renyi_rate"), claim.renyi_rate);
    compare(self, "mu of a step", number(reader, "promise", "mu_step"), claim.mu_step);
    compare(self, "mu of a round", number(reader, "promise", "mu_round"), claim.mu_round);
    find(self,
         strcmp(text_of(reader, "promise", "conversion"), claim.is_gaussian ? "exact" : "tight") ==
             0,
         "the conversion is %s", claim.is_gaussian ? "exact" : "tight");
    if (!claim.is_gaussian)
        compare(self, "the order of the conversion", number(reader, "promise", "order"),
                fplt_privacy_order(&claim, FPLT_CONVERT_BEST, view->delta));
    find(self, strcmp(text_of(reader, "promise", "method"), claim.method) == 0, "the method is: %s",
         claim.method);
    find(self, count(reader, "promise", "rounds") == view->mechanism.rounds,
         "the promise is for all %llu rounds", (unsigned long long)view->mechanism.rounds);
    check_agents(self);
}

/* A model must be the one that the certificate was made for. */
static fplt_status check_model(struct verification *self, const json_t *model)
{
    struct reader *reader = &self->reader;
    const json_t *weights = json_object_get(model, "weights");
    size_t n = json_array_size(weights);
    double *copy;
    char hex[2 * DIGEST + 1];
    fplt_status status = fplt__alloc_into(&copy, n, sizeof *copy, "the weights", reader->error);
    if (status)
        return status;
    for (size_t i = 0; i < n; i++)
        copy[i] = json_number_value(json_array_get(weights, i));
    digest_of(copy, n, hex);
    fplt__free(copy);
    int holds = strcmp(hex, text_of(reader, "model", "blake2b")) == 0;
    find(self, holds, "the weights %s those that the certificate was made for",
         holds ? "are" : "are not");
    const json_t *radius = json_object_get(json_object_get(model, "transform"), "radius");
    find(self, radius && same(json_number_value(radius), self->view.loss.row_norm),
         "the model shortens rows to %g, the certificate says %g", json_number_value(radius),
         self->view.loss.row_norm);
    return FPLT_OK;
}

static fplt_status verify(struct verification *self, const json_t *model,
                          fplt_certificate_summary *summary)
{
    struct reader *reader = &self->reader;
    uint64_t *records = NULL;
    read_view(reader, &self->view);
    const char *kind = text_of(reader, NULL, "certificate");
    const char *threat = text_of(reader, "threat", "name");
    if (!reader->status && (strcmp(kind, KIND) != 0 || count(reader, NULL, "version") != VERSION))
        reader->status =
            fplt_error_set(reader->error, FPLT_BAD_DATA, "%s: this is no " KIND " of version %d",
                           reader->path, VERSION);
    summary->delta = self->view.delta;
    summary->epsilon = number(reader, "promise", "epsilon");
    summary->gdp_mu = number(reader, "promise", "gdp_mu");
    snprintf(summary->threat, sizeof summary->threat, "%s", threat);
    snprintf(summary->algorithm, sizeof summary->algorithm, "%s",
             text_of(reader, "mechanism", "algorithm"));
    fplt_status status =
        reader->status ? reader->status : read_agents(reader, &self->view, &records);
    if (!status) {
        check_source(self);
        check_bounds(self);
        check_details(self);
        check_method(self);
        check_promise(self);
        if (model)
            status = check_model(self, model);
    }
    fplt__free(records);
    summary->holds = self->holds && !reader->status;
    return status ? status : reader->status;
}

fplt_status fplt_certificate_verify(const char *text, size_t length, const char *path,
                                    fplt_certificate_finding finding, void *context,
                                    fplt_certificate_summary *summary, fplt_error *error)
{
    json_error_t where;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    memset(summary, 0, sizeof *summary);
    if (!root)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s:%d: this is not JSON: %s", path, where.line,
                              where.text);
    const json_t *inner = json_object_get(json_object_get(root, "training"), "privacy");
    const json_t *model = json_object_get(root, "weights") ? root : NULL;
    fplt_status status;
    if (model && !inner) {
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s: the model has no privacy certificate: it was trained without "
                                "privacy.epsilon",
                                path);
    } else {
        struct verification self = {.reader = {path, inner ? inner : root, error, FPLT_OK},
                                    .finding = finding,
                                    .context = context,
                                    .holds = 1};
        self.view.predicted = NAN;
        status = verify(&self, model, summary);
    }
    json_decref(root);
    return status;
}
