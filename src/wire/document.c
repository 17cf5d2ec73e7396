/* Proposal and plan written as canonical JSON; document_read.c reads them. */
#include "wire/document.h"

#include <string.h>

#include "algorithm/local_step.h"
#include "base/memory.h"
#include "wire/json.h"

enum { ROOM = 64 << 10, ROOM_EACH = 1 << 10 };

int fplt__name_is_legal(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < FPLT__NAME &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

int fplt__version_is_legal(const char *version)
{
    size_t length = strlen(version);
    return length > 0 && length < FPLT__NAME &&
           strspn(version, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-") ==
               length;
}

const char *fplt__pair_find(const fplt__pair *pairs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return NULL;
}

static json_t *pairs_json(const fplt__pair *pairs, size_t count)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count && object; i++)
        if (json_object_set_new(object, pairs[i].name, json_string(pairs[i].value))) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static json_t *roster_json(const fplt__proposal *proposal)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < proposal->members && array; i++)
        json_array_append_new(array, json_string(proposal->roster[i]));
    return array;
}

static json_t *reals_json(const double *x, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count && array; i++)
        json_array_append_new(array, fplt__json_real(x[i]));
    return array;
}

static json_t *counts_json(const uint64_t *x, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count && array; i++)
        json_array_append_new(array, json_integer((json_int_t)x[i]));
    return array;
}

static json_t *digest_json(const fplt__digest *digest)
{
    return fplt__json_bytes(digest, sizeof *digest);
}

/* A dictionary that there is; takes the object over. */
static json_t *with_dictionary(json_t *object, const char *dictionary)
{
    if (object && dictionary &&
        json_object_set_new(object, "dictionary", json_string(dictionary))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

const char *const fplt__refit_words[FPLT__REFIT_THIS + 1] = {"", "follows", "this"};

/* A text that may be left out where it is empty; takes the object over. */
static json_t *with_text(json_t *object, const char *key, const char *text)
{
    if (object && *text && json_object_set_new(object, key, json_string(text))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* A cost that the agents bring; takes the object over. */
static json_t *with_model(json_t *object, const fplt__custom_model *model)
{
    if (!object || !model->dimension)
        return object;
    json_t *part =
        json_pack("{s:I,s:o,s:s,s:s}", "dimension", (json_int_t)model->dimension, "digest",
                  digest_json(&model->digest), "name", model->name, "version", model->version);
    if (part && !json_object_set_new(object, "model", part))
        return object;
    json_decref(object);
    return NULL;
}

/* Takes the object over. */
static json_t *with_analysis(json_t *object, const fplt__proposed_analysis *analysis)
{
    if (!object || !*analysis->kind)
        return object;
    json_t *part =
        json_pack("{s:s,s:o,s:s?}", "kind", analysis->kind, "settings",
                  pairs_json(analysis->setting, analysis->settings), "model", analysis->model);
    if (part && !json_object_set_new(object, "analysis", part))
        return object;
    json_decref(object);
    return NULL;
}

static json_t *proposal_json(const fplt__proposal *p)
{
    json_t *schema = p->schema ? json_string(p->schema) : json_null();
    json_t *object =
        json_pack("{s:i,s:s,s:I,s:o,s:o,s:o,s:o,s:o,s:I,s:o,s:I}", "protocol", FPLT__PROTOCOL,
                  "federation", p->federation, "run", (json_int_t)p->run, "nonce",
                  fplt__json_bytes(p->nonce, sizeof p->nonce), "authority",
                  digest_json(&p->authority), "roster", roster_json(p), "settings",
                  pairs_json(p->setting, p->settings), "privacy",
                  pairs_json(p->privacy, p->privacies), "columns", (json_int_t)p->columns, "schema",
                  schema, "quorum", (json_int_t)p->quorum);
    if (object && p->secure &&
        (json_object_set_new(object, "aggregate", json_string(FPLT__SECURE_WORD)) ||
         json_object_set_new(object, "colluders", json_integer((json_int_t)p->colluders)))) {
        json_decref(object);
        return NULL;
    }
    object = with_text(with_text(object, "purpose", p->purpose), "expires", p->expires);
    object = with_model(with_text(object, "excluded", p->excluded), &p->model);
    object = with_text(object, "refit", fplt__refit_words[p->refit]);
    object = with_text(with_text(object, "validation", p->validation), "part", p->part);
    return with_dictionary(with_analysis(object, &p->analysis), p->dictionary);
}

static size_t limit_of(uint32_t members, uint32_t columns)
{
    return ROOM + (size_t)ROOM_EACH * ((size_t)members + columns);
}

/* What a dictionary, or the model of an analysis, takes inside a document: quotes and backslashes are written twice. */
static size_t room_of(const char *text)
{
    return text ? 2 * strlen(text) : 0;
}

size_t fplt__proposal_limit(const fplt__proposal *proposal)
{
    return limit_of(proposal->members, proposal->columns) + room_of(proposal->dictionary) +
           room_of(proposal->analysis.model);
}

static uint32_t columns_of(const fplt__agreement *agreement)
{
    const uint32_t counts[] = {agreement->proposal.columns, agreement->shifts, agreement->fills,
                               agreement->balances};
    uint32_t columns = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        columns = counts[i] > columns ? counts[i] : columns;
    return columns;
}

size_t fplt__agreement_limit(const fplt__agreement *agreement)
{
    return limit_of(agreement->proposal.members, columns_of(agreement)) +
           room_of(agreement->proposal.dictionary) + room_of(agreement->dictionary);
}

static fplt_status written(json_t *object, size_t limit, char **text, fplt_error *error)
{
    fplt_status status = fplt__json_text(object, text, error);
    if (status || strlen(*text) <= limit)
        return status;
    size_t length = strlen(*text);
    fplt__free(*text);
    *text = NULL;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "the plan has %zu bytes, but at most %zu are allowed", length, limit);
}

fplt_status fplt__proposal_text(const fplt__proposal *proposal, char **text, fplt_error *error)
{
    *text = NULL;
    for (uint32_t i = 0; i < proposal->members; i++)
        if (!fplt__name_is_legal(proposal->roster[i]))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "roster: '%s' is no name; it must be 1 to 40 of a-z, 0-9 and -",
                                  proposal->roster[i]);
    return written(proposal_json(proposal), fplt__proposal_limit(proposal), text, error);
}

static json_t *plan_json(const fplt_plan *plan)
{
    return json_pack("{s:s,s:o,s:I,s:o,s:I,s:o}", "algorithm", plan->algorithm->name, "parameters",
                     reals_json(plan->parameter, fplt_algorithm_parameters(plan->algorithm)),
                     "dimension", (json_int_t)plan->dimension, "seed", fplt__json_wide(plan->seed),
                     "run", (json_int_t)plan->run, "step", fplt__json_real(plan->step));
}

static json_t *rules_json(const fplt__agreement *a)
{
    return json_pack("{s:I,s:I,s:I,s:b,s:b,s:o,s:o,s:b}", "rounds", (json_int_t)a->rounds, "quorum",
                     (json_int_t)a->quorum, "evaluate-every", (json_int_t)a->evaluate_every,
                     "at-mean", a->criterion_at_mean, "score", a->score, "tolerance",
                     fplt__json_real(a->tolerance), "change", fplt__json_real(a->change),
                     "relative", a->relative);
}

static json_t *privacy_json(const fplt__agreement *a)
{
    if (!a->private)
        return json_null();
    uint32_t members = a->proposal.members;
    return json_pack("{s:I,s:o,s:o}", "cap", (json_int_t)a->cap, "tau", reals_json(a->tau, members),
                     "rate", reals_json(a->rate, members));
}

/* Takes the object over. */
static json_t *with_secure(json_t *object, const fplt__agreement *a)
{
    if (!object || !a->proposal.secure)
        return object;
    json_t *identities = json_array();
    for (uint32_t i = 0; i < a->proposal.members && identities; i++)
        json_array_append_new(identities, fplt__json_bytes(a->identities + 32 * (size_t)i, 32));
    json_t *secure = json_pack("{s:o,s:I,s:I,s:I,s:o}", "identities", identities, "threshold",
                               (json_int_t)a->threshold, "most", (json_int_t)a->most, "width",
                               (json_int_t)a->width, "unit", fplt__json_real(a->plan.unit));
    if (json_object_set_new(object, FPLT__SECURE_WORD, secure)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* What preparation found, where there is anything; takes the object over. */
static json_t *with_prepared(json_t *object, const fplt__agreement *a)
{
    if (object &&
        ((a->fills && json_object_set_new(object, "fill", reals_json(a->fill, a->fills))) ||
         (a->balances &&
          json_object_set_new(object, "class-rows", counts_json(a->class_rows, a->balances))))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

fplt_status fplt__agreement_text(const fplt__agreement *a, char **text, fplt_error *error)
{
    const double curvature[] = {a->curvature.lowest, a->curvature.highest};
    json_t *object = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:o}", "proposal",
                               proposal_json(&a->proposal), "plan", plan_json(&a->plan), "resolved",
                               pairs_json(a->resolved, a->resolves), "records",
                               counts_json(a->records, a->proposal.members), "curvature",
                               reals_json(curvature, 2), "rules", rules_json(a), "privacy",
                               privacy_json(a), "shift", reals_json(a->shift, a->shifts), "scale",
                               reals_json(a->scale, a->shifts), "start", digest_json(&a->start),
                               "kernel", a->kernel, "continues", digest_json(&a->continues));
    object = with_prepared(with_secure(object, a), a);
    return written(with_dictionary(object, a->dictionary), fplt__agreement_limit(a), text, error);
}
