/* Proposal and plan as canonical JSON. */
#include "wire/document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "wire/json.h"
#include "wire/dictionary.h"

enum { MAX_MEMBERS = 1 << 20, MAX_COLUMNS = 1 << 24, MAX_PAIRS = 1000, MAX_TEXT = 4096 };
enum { ROOM = 64 << 10, ROOM_EACH = 1 << 10 };

int fplt__name_is_legal(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < FPLT__NAME &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

const char *fplt__pair_find(const fplt__pair *pairs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return NULL;
}

/* --- writing --- */

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
    return with_dictionary(object, p->dictionary);
}

static size_t limit_of(uint32_t members, uint32_t columns)
{
    return ROOM + (size_t)ROOM_EACH * ((size_t)members + columns);
}

/* What a dictionary takes inside a document: quotes and backslashes are written twice. */
static size_t dictionary_room(const char *dictionary)
{
    return dictionary ? 2 * strlen(dictionary) : 0;
}

static size_t proposal_limit(const fplt__proposal *proposal)
{
    return limit_of(proposal->members, proposal->columns) + dictionary_room(proposal->dictionary);
}

static uint32_t columns_of(const fplt__agreement *agreement)
{
    uint32_t columns = agreement->proposal.columns;
    return agreement->shifts > columns ? agreement->shifts : columns;
}

static size_t agreement_limit(const fplt__agreement *agreement)
{
    return limit_of(agreement->proposal.members, columns_of(agreement)) +
           dictionary_room(agreement->proposal.dictionary) + dictionary_room(agreement->dictionary);
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
    return written(proposal_json(proposal), proposal_limit(proposal), text, error);
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
    return written(with_dictionary(object, a->dictionary), agreement_limit(a), text, error);
}

/* --- reading --- */

static void read_roster(fplt__reader *reader, fplt__proposal *p)
{
    const json_t *array = fplt__reader_any(reader, "roster", JSON_ARRAY, "a list of names");
    size_t count = json_array_size(array);
    if (!array)
        return;
    if (count == 0 || count > MAX_MEMBERS) {
        fplt__reader_refuse(reader, "roster", "a list of 1 to 1048576 names");
        return;
    }
    if (reader->status || (reader->status = fplt__alloc_into(&p->roster, count, sizeof *p->roster,
                                                             "a roster", reader->error)))
        return;
    p->members = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(array, i));
        if (!name || !fplt__name_is_legal(name)) {
            fplt__reader_refuse(reader, "roster", "names of 1 to 40 of a-z, 0-9 and -");
            return;
        }
        strcpy(p->roster[i], name);
    }
}

static int by_name(const void *a, const void *b)
{
    const fplt__pair *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void read_pairs(fplt__reader *reader, const char *key, fplt__pair **pairs, size_t *count)
{
    const json_t *object = fplt__reader_any(reader, key, JSON_OBJECT, "an object of texts");
    size_t size = json_object_size(object);
    const char *name;
    json_t *value;
    if (!object || reader->status)
        return;
    if (size > MAX_PAIRS) {
        fplt__reader_refuse(reader, key, "an object of at most 1000 texts");
        return;
    }
    if ((reader->status = fplt__alloc_into(pairs, size, sizeof **pairs, "settings", reader->error)))
        return;
    json_object_foreach((json_t *)object, name, value)
    {
        const char *text = json_string_value(value);
        if (!text || strlen(text) > MAX_TEXT) {
            fplt__reader_refuse(reader, key, "an object of texts");
            return;
        }
        fplt__pair *pair = &(*pairs)[(*count)++];
        pair->name = fplt__strdup(name);
        pair->value = fplt__strdup(text);
        if (!pair->name || !pair->value) {
            reader->status =
                fplt_error_set(reader->error, FPLT_NO_MEMORY, "no memory for settings");
            return;
        }
    }
    qsort(*pairs, *count, sizeof **pairs, by_name);
}

static void read_schema(fplt__reader *reader, fplt__proposal *p)
{
    const json_t *schema = fplt__reader_any(reader, "schema", -1, "a schema's text or null");
    if (!schema || reader->status || json_is_null(schema))
        return;
    if (!json_is_string(schema))
        fplt__reader_refuse(reader, "schema", "a schema's text or null");
    else if (!(p->schema = fplt__strdup(json_string_value(schema))))
        reader->status = fplt_error_set(reader->error, FPLT_NO_MEMORY, "no memory for a schema");
}

/* NULL: there is none. */
static char *read_dictionary(fplt__reader *reader)
{
    const json_t *dictionary = json_object_get(reader->object, "dictionary");
    if (!dictionary || reader->status)
        return NULL;
    reader->asked++;
    if (!json_is_string(dictionary) || json_string_length(dictionary) > FPLT__DICTIONARY_MAX_TEXT ||
        strlen(json_string_value(dictionary)) != json_string_length(dictionary)) {
        fplt__reader_refuse(reader, "dictionary", "a text of at most 4 MB");
        return NULL;
    }
    char *copy = fplt__strdup(json_string_value(dictionary));
    if (!copy)
        reader->status =
            fplt_error_set(reader->error, FPLT_NO_MEMORY, "no memory for a dictionary");
    return copy;
}

static fplt_status read_proposal(const json_t *object, fplt__proposal *p, fplt_error *error)
{
    fplt__reader reader = fplt__reader_open("the proposal", object, error);
    if (fplt__reader_count(&reader, "protocol", 1000) != FPLT__PROTOCOL)
        fplt__reader_refuse(&reader, "protocol", "1, the version this program speaks");
    fplt__reader_text(&reader, "federation", p->federation, sizeof p->federation);
    if (!fplt__name_is_legal(p->federation))
        fplt__reader_refuse(&reader, "federation", "a name of 1 to 40 of a-z, 0-9 and -");
    p->run = (uint32_t)fplt__reader_count(&reader, "run", UINT32_MAX);
    fplt__reader_bytes(&reader, "nonce", p->nonce, sizeof p->nonce);
    fplt__reader_bytes(&reader, "authority", &p->authority, sizeof p->authority);
    read_roster(&reader, p);
    read_pairs(&reader, "settings", &p->setting, &p->settings);
    read_pairs(&reader, "privacy", &p->privacy, &p->privacies);
    p->columns = (uint32_t)fplt__reader_count(&reader, "columns", MAX_COLUMNS);
    read_schema(&reader, p);
    p->quorum = (uint32_t)fplt__reader_count(&reader, "quorum", p->members);
    p->dictionary = read_dictionary(&reader);
    return fplt__reader_close(&reader);
}

/* The members and columns that a document claims set how long it may be, so the length is looked at
 * again once they are known; no document is longer than this. */
static const size_t longest = FPLT__DOCUMENT_LIMIT;

fplt_status fplt__proposal_read(const void *text, size_t size, fplt__proposal *proposal,
                                fplt_error *error)
{
    json_t *object;
    memset(proposal, 0, sizeof *proposal);
    fplt_status status = fplt__json_read("the proposal", text, size, longest, &object, error);
    if (status)
        return status;
    status = read_proposal(object, proposal, error);
    json_decref(object);
    if (!status && size > proposal_limit(proposal))
        status = fplt_error_set(error, FPLT_BAD_DATA, "the proposal is too long for its roster");
    if (status)
        fplt__proposal_clear(proposal);
    return status;
}

static void pairs_clear(fplt__pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fplt__free(pairs[i].name);
        fplt__free(pairs[i].value);
    }
    fplt__free(pairs);
}

void fplt__proposal_clear(fplt__proposal *proposal)
{
    pairs_clear(proposal->setting, proposal->settings);
    pairs_clear(proposal->privacy, proposal->privacies);
    fplt__free(proposal->roster);
    fplt__free(proposal->schema);
    fplt__free(proposal->dictionary);
    memset(proposal, 0, sizeof *proposal);
}

/* A list of exactly `count` reals into room of its own, or into `into` where given. */
static double *read_reals(fplt__reader *reader, const char *key, size_t count, double *into)
{
    const json_t *array = fplt__reader_any(reader, key, JSON_ARRAY, "a list of reals");
    double *x = into;
    if (!array || reader->status)
        return NULL;
    if (json_array_size(array) != count) {
        fplt__reader_refuse(reader, key, "a list with one real for each that there is");
        return NULL;
    }
    if (!x && (reader->status =
                   fplt__alloc_into(&x, count, sizeof *x, "the numbers of a plan", reader->error)))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!fplt__real_read(json_array_get(array, i), &x[i]))
            fplt__reader_refuse(reader, key, "a list of finite hexadecimal reals");
    return x;
}

static void read_records(fplt__reader *reader, fplt__agreement *a)
{
    const json_t *array = fplt__reader_any(reader, "records", JSON_ARRAY, "a list of counts");
    if (!array || reader->status)
        return;
    if (json_array_size(array) != a->proposal.members) {
        fplt__reader_refuse(reader, "records", "a list with one count a member");
        return;
    }
    if ((reader->status = fplt__alloc_into(&a->records, a->proposal.members, sizeof *a->records,
                                           "records", reader->error)))
        return;
    for (uint32_t i = 0; i < a->proposal.members; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            fplt__reader_refuse(reader, "records", "a list of counts");
        a->records[i] = (uint64_t)json_integer_value(value);
    }
}

static void read_plan(fplt__reader *reader, fplt__agreement *a)
{
    fplt__reader part;
    char name[40];
    if (!fplt__reader_part(reader, "plan", &part)) {
        fplt__reader_refuse(reader, "plan", "an object");
        return;
    }
    fplt__reader_text(&part, "algorithm", name, sizeof name);
    fplt_plan *plan = &a->plan;
    plan->algorithm = fplt_algorithm_find(name);
    if (!plan->algorithm)
        fplt__reader_refuse(&part, "algorithm", "one that this program has");
    else
        read_reals(&part, "parameters", fplt_algorithm_parameters(plan->algorithm),
                   plan->parameter);
    plan->dimension = (size_t)fplt__reader_count(&part, "dimension", UINT32_MAX);
    if (plan->dimension == 0)
        fplt__reader_refuse(&part, "dimension", "at least 1");
    plan->seed = fplt__reader_wide(&part, "seed");
    plan->run = (uint32_t)fplt__reader_count(&part, "run", UINT32_MAX);
    plan->step = fplt__reader_real(&part, "step");
    if (plan->step < 0)
        fplt__reader_refuse(&part, "step", "positive, or 0 for each agent's own");
    plan->agents = a->proposal.members;
    reader->status = reader->status ? reader->status : fplt__reader_close(&part);
}

static void read_rules(fplt__reader *reader, fplt__agreement *a)
{
    fplt__reader part;
    if (!fplt__reader_part(reader, "rules", &part)) {
        fplt__reader_refuse(reader, "rules", "an object");
        return;
    }
    a->rounds = fplt__reader_count(&part, "rounds", UINT64_C(1) << 53);
    a->quorum = (uint32_t)fplt__reader_count(&part, "quorum", a->proposal.members);
    a->evaluate_every = (uint32_t)fplt__reader_count(&part, "evaluate-every", UINT32_MAX);
    a->criterion_at_mean = fplt__reader_flag(&part, "at-mean");
    a->score = fplt__reader_flag(&part, "score");
    a->tolerance = fplt__reader_real(&part, "tolerance");
    a->change = fplt__reader_real(&part, "change");
    a->relative = fplt__reader_flag(&part, "relative");
    reader->status = reader->status ? reader->status : fplt__reader_close(&part);
}

static void read_privacy(fplt__reader *reader, fplt__agreement *a)
{
    fplt__reader part;
    uint32_t members = a->proposal.members;
    a->private = fplt__reader_part(reader, "privacy", &part);
    if (!a->private)
        return;
    a->cap = fplt__reader_count(&part, "cap", UINT64_C(1) << 53);
    if (a->cap == 0)
        fplt__reader_refuse(&part, "cap", "at least 1: privacy has an end");
    a->tau = read_reals(&part, "tau", members, NULL);
    a->rate = read_reals(&part, "rate", members, NULL);
    for (uint32_t i = 0; a->tau && a->rate && i < members; i++)
        if (!(a->tau[i] > 0) || !(a->rate[i] >= 0))
            fplt__reader_refuse(&part, "tau and rate", "positive");
    reader->status = reader->status ? reader->status : fplt__reader_close(&part);
}

static fplt_status check_agreement(const fplt__agreement *a, fplt_error *error)
{
    fplt_facts facts = {.curvature = a->curvature,
                        .agents = a->plan.agents,
                        .cohort = a->plan.agents,
                        .epochs = 1,
                        .dimension = a->plan.dimension,
                        .claim = a->private};
    double parameter[FPLT_MAX_PARAMETERS];
    size_t count = fplt_algorithm_parameters(a->plan.algorithm);
    memcpy(parameter, a->plan.parameter, count * sizeof *parameter);
    if (a->private && (a->tolerance > 0 || a->change > 0 || a->score))
        return fplt_error_set(
            error, FPLT_BAD_DATA,
            "the plan: with privacy nothing is measured, so tolerance, change and "
            "score must be 0");
    fplt_status status = fplt_algorithm_resolve(a->plan.algorithm, &facts, parameter, error);
    return status ? fplt_error_prefix(error, "the plan") : FPLT_OK;
}

static fplt_status read_agreement(const json_t *object, fplt__agreement *a, fplt_error *error)
{
    fplt__reader reader = fplt__reader_open("the plan", object, error);
    double curvature[2] = {0, 0};
    const json_t *proposal = fplt__reader_any(&reader, "proposal", JSON_OBJECT, "an object");
    if (reader.status || (reader.status = read_proposal(proposal, &a->proposal, error)))
        return reader.status;
    read_plan(&reader, a);
    read_pairs(&reader, "resolved", &a->resolved, &a->resolves);
    read_records(&reader, a);
    read_reals(&reader, "curvature", 2, curvature);
    a->curvature = (fplt_curvature){curvature[0], curvature[1]};
    read_rules(&reader, a);
    read_privacy(&reader, a);
    size_t shifts = json_array_size(json_object_get(object, "shift"));
    if (shifts > MAX_COLUMNS || (shifts && a->proposal.columns && shifts != a->proposal.columns))
        fplt__reader_refuse(&reader, "shift", "empty or one real a column");
    a->shifts = (uint32_t)shifts;
    a->shift = read_reals(&reader, "shift", shifts, NULL);
    a->scale = read_reals(&reader, "scale", shifts, NULL);
    fplt__reader_bytes(&reader, "start", &a->start, sizeof a->start);
    fplt__reader_text(&reader, "kernel", a->kernel, sizeof a->kernel);
    fplt__reader_bytes(&reader, "continues", &a->continues, sizeof a->continues);
    a->dictionary = read_dictionary(&reader);
    return fplt__reader_close(&reader);
}

fplt_status fplt__agreement_read(const void *text, size_t size, fplt__agreement *agreement,
                                 fplt_error *error)
{
    json_t *object;
    memset(agreement, 0, sizeof *agreement);
    fplt_status status = fplt__json_read("the plan", text, size, longest, &object, error);
    if (status)
        return status;
    status = read_agreement(object, agreement, error);
    json_decref(object);
    if (!status && size > agreement_limit(agreement))
        status = fplt_error_set(error, FPLT_BAD_DATA, "the plan is too long for its roster");
    if (!status)
        status = check_agreement(agreement, error);
    if (status)
        fplt__agreement_clear(agreement);
    return status;
}

void fplt__agreement_clear(fplt__agreement *agreement)
{
    fplt__proposal_clear(&agreement->proposal);
    pairs_clear(agreement->resolved, agreement->resolves);
    fplt__free(agreement->records);
    fplt__free(agreement->tau);
    fplt__free(agreement->rate);
    fplt__free(agreement->shift);
    fplt__free(agreement->scale);
    fplt__free(agreement->dictionary);
    memset(agreement, 0, sizeof *agreement);
}
