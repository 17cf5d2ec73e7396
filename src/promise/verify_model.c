/* A model against its certificate: digests in both directions, the schema, and a training record that does not contradict
 * the certificate. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fedplt/schema.h"
#include "data/schema_access.h"
#include "promise/verify.h"

/* The value at "field.field.field", or NULL. */
static const json_t *value_at(const json_t *object, const char *path)
{
    char name[64];
    while (object && *path) {
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        object = json_object_get(object, name);
        path += length + (path[length] == '.');
    }
    return object;
}

static int is_equal(const json_t *a, const json_t *b)
{
    return json_is_number(a) && json_is_number(b)
               ? fplt__verification_same(json_number_value(a), json_number_value(b))
               : json_equal(a, b);
}

static void contradict(struct fplt__verification *self, const char *path, const char *field,
                       const json_t *said, const char *other, const json_t *certified)
{
    char *texts[2];
    for (int i = 0; i < 2; i++)
        texts[i] = json_dumps(i ? certified : said, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
    fplt__verification_find(self, FPLT__FAILS, "%s: %s is %.80s, but the certificate has %s %.80s",
                            path, field, texts[0] ? texts[0] : "malformed", other,
                            texts[1] ? texts[1] : "missing");
    free(texts[0]);
    free(texts[1]);
}

/* Fields of a model that repeat fields of its certificate. A record need not have them: models of federations and of
 * runs by hand have some of them. */
static const char *const repeated[][2] = {
    {"loss", "problem.loss"},
    {"intercept", "problem.intercept"},
    {"transform.radius", "problem.row_norm"},
    {"training.algorithm", "mechanism.algorithm"},
    {"training.local.solver", "mechanism.solver"},
    {"training.local.epochs", "mechanism.epochs"},
    {"training.local.gamma.least", "mechanism.step"},
    {"training.local.gamma.most", "mechanism.step"},
    {"training.problem.loss", "problem.loss"},
    {"training.problem.regulariser", "problem.regulariser"},
    {"training.problem.eps", "problem.regulariser_weight"},
    {"training.problem.weights", "problem.weights"},
    {"training.problem.clip", "problem.clip"},
    {"training.curvature.lmin", "mechanism.strong_convexity"},
    {"training.curvature.lmax", "mechanism.smoothness"},
    {"training.counters.rounds", "mechanism.rounds"},
};

static int check_repeated(struct fplt__verification *self, const json_t *model, const char *path)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        const json_t *said = value_at(model, repeated[i][0]);
        const json_t *certified = value_at(self->root, repeated[i][1]);
        if (!said || is_equal(said, certified))
            continue;
        contradict(self, path, repeated[i][0], said, repeated[i][1], certified);
        wrong++;
    }
    return wrong;
}

/* The noise of the agent with the weakest claim. */
static int check_noise(struct fplt__verification *self, const json_t *model, const char *path)
{
    static const char field[] = "training.local.tau";
    const json_t *said = value_at(model, field);
    double tau = self->view.tau[self->view.worst];
    if (!said || (json_is_number(said) && fplt__verification_same(json_number_value(said), tau)))
        return 0;
    json_t *certified = json_real(tau);
    contradict(self, path, field, said, "tau of the agent with the weakest claim:", certified);
    json_decref(certified);
    return 1;
}

/* Of a federation the certificate says who was present, and the record which rule chose among them. */
static int check_rule(struct fplt__verification *self, const json_t *model, const char *path)
{
    static const char field[] = "training.participation", other[] = "participation.rule";
    const json_t *said = value_at(model, field), *certified = value_at(self->root, other);
    if (!said || json_equal(said, certified) || strcmp(self->view.participation, "present") == 0)
        return 0;
    contradict(self, path, field, said, other, certified);
    return 1;
}

static int check_parameters(struct fplt__verification *self, const json_t *model, const char *path)
{
    const json_t *certified = value_at(self->root, "mechanism.parameters"), *value;
    const char *name;
    int wrong = 0;
    json_object_foreach((json_t *)certified, name, value)
    {
        char field[160];
        const json_t *parameters = value_at(model, "training.parameters");
        const json_t *said = json_object_get(json_object_get(parameters, name), "value");
        snprintf(field, sizeof field, "training.parameters.%.80s.value", name);
        if (!said || is_equal(said, value))
            continue;
        contradict(self, path, field, said, "in mechanism.parameters", value);
        wrong++;
    }
    return wrong;
}

/* How many agents, rows and rounds there were. */
static int check_counts(struct fplt__verification *self, const json_t *model, const char *path)
{
    json_int_t rows = 0;
    for (uint32_t i = 0; i < self->view.agents; i++)
        rows += (json_int_t)self->records[i];
    const struct {
        const char *field, *other;
        json_int_t low, high;
    } counts[] = {
        {"training.problem.agents", "agents:", self->view.agents, self->view.agents},
        {"training.problem.rows", "records in all:", rows, rows},
        {"training.rounds", "rounds at most:", 0, (json_int_t)self->view.mechanism.rounds},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const json_t *said = value_at(model, counts[i].field);
        json_int_t value = json_integer_value(said);
        if (!said || (json_is_integer(said) && value >= counts[i].low && value <= counts[i].high))
            continue;
        json_t *certified = json_integer(counts[i].high);
        contradict(self, path, counts[i].field, said, counts[i].other, certified);
        json_decref(certified);
        wrong++;
    }
    return wrong;
}

/* Measures that a private run does not take. */
static int check_measures(struct fplt__verification *self, const json_t *model, const char *path)
{
    static const char *const measures[] = {"start",     "end",      "model", "held_out",
                                           "criterion", "accuracy", "filled"};
    int wrong = 0;
    if (!json_is_true(json_object_get(self->root, "private")))
        return 0;
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        if (json_object_get(json_object_get(model, "training"), measures[i])) {
            fplt__verification_find(self, FPLT__FAILS,
                                    "%s: training.%s was measured without noise, but the "
                                    "certificate says that the run is private",
                                    path, measures[i]);
            wrong++;
        }
    return wrong;
}

static void check_record(struct fplt__verification *self, const json_t *model, const char *path)
{
    int wrong = check_repeated(self, model, path) + check_noise(self, model, path) +
                check_rule(self, model, path) + check_parameters(self, model, path) +
                check_counts(self, model, path) + check_measures(self, model, path);
    if (!wrong)
        fplt__verification_find(
            self, FPLT__HOLDS, "%s: the training record does not contradict the certificate", path);
}

/* The schema inside a model is the one by which the certificate says that the data were read. */
static void check_schema(struct fplt__verification *self, const json_t *model, const char *path)
{
    const json_t *object = json_object_get(model, "schema");
    char *text = json_is_object(object) ? json_dumps(object, JSON_COMPACT) : NULL;
    const char *stated = self->run.schema;
    fplt_schema *schema = NULL;
    if (text)
        fplt__schema_parse(text, strlen(text), path, &schema, NULL);
    free(text);
    int holds = schema ? stated && strcmp(fplt__schema_digest(schema), stated) == 0
                       : !stated && !json_is_object(object);
    fplt__verification_find(self, holds,
                            "%s: the schema of the model %s the one that the certificate names",
                            path, holds ? "is" : "is not");
    fplt_schema_destroy(schema);
}

/* The model says which certificate was made for it. */
static fplt_status check_commitment(struct fplt__verification *self, const json_t *model,
                                    const char *path, fplt_error *error)
{
    char hex[2 * FPLT_CERTIFICATE_DIGEST + 1];
    fplt_status status = fplt__certificate_commitment(self->root, hex, error);
    if (status)
        return status;
    const char *said = json_string_value(value_at(model, "training.certificate"));
    int holds = said && strcmp(said, hex) == 0;
    fplt__verification_find(self, holds, "%s: the certificate %s the one that the model names",
                            path, holds ? "is" : "is not");
    return FPLT_OK;
}

fplt_status fplt__verification_model(struct fplt__verification *self, const json_t *model,
                                     const char *path, fplt_error *error)
{
    unsigned char digest[FPLT_CERTIFICATE_DIGEST];
    fplt_status status = fplt__model_digest(model, self->version, digest, error);
    if (status)
        return status;
    check_schema(self, model, path);
    check_record(self, model, path);
    int holds = memcmp(digest, self->run.model, sizeof digest) == 0;
    fplt__verification_find(self, holds,
                            "%s: the model %s the one that the certificate was made for", path,
                            holds ? "is" : "is not");
    return self->version < 3 ? FPLT_OK : check_commitment(self, model, path, error);
}
