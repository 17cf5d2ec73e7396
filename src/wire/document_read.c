/* Proposal and plan read from JSON: every member is checked before anything is allocated for it. */
#include "wire/document.h"

#include <stdlib.h>
#include <string.h>

#include "algorithm/local_step.h"
#include "base/memory.h"
#include "wire/json.h"
#include "wire/dictionary.h"

enum { MAX_MEMBERS = 1 << 20, MAX_COLUMNS = 1 << 24, MAX_PAIRS = 1000, MAX_TEXT = 4096 };

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* A member that stood there twice would count as two participants. */
static void check_names_differ(fplt__reader *reader, const fplt__proposal *p)
{
    char(*sorted)[FPLT__NAME];
    if ((reader->status =
             fplt__alloc_into(&sorted, p->members, sizeof *sorted, "a roster", reader->error)))
        return;
    memcpy(sorted, p->roster, p->members * sizeof *sorted);
    qsort(sorted, p->members, sizeof *sorted, by_text);
    for (uint32_t i = 1; i < p->members && !reader->status; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            fplt__reader_refuse(reader, "roster", "names that differ");
    fplt__free(sorted);
}

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
    check_names_differ(reader, p);
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

static void read_aggregate(fplt__reader *reader, fplt__proposal *p)
{
    char word[16];
    if (!json_object_get(reader->object, "aggregate"))
        return;
    fplt__reader_text(reader, "aggregate", word, sizeof word);
    if (strcmp(word, FPLT__SECURE_WORD) != 0)
        fplt__reader_refuse(reader, "aggregate", FPLT__SECURE_WORD);
    p->secure = 1;
    p->colluders = (uint32_t)fplt__reader_count(reader, "colluders", p->members);
}

/* Stays empty where there is none. */
static void read_optional(fplt__reader *reader, const char *key, char *text, size_t size)
{
    if (!reader->status && json_object_get(reader->object, key))
        fplt__reader_text(reader, key, text, size);
}

static void read_excluded(fplt__reader *reader, fplt__proposal *p)
{
    read_optional(reader, "excluded", p->excluded, sizeof p->excluded);
    if (!reader->status &&
        p->excluded[strspn(p->excluded, "abcdefghijklmnopqrstuvwxyz0123456789-, ")])
        fplt__reader_refuse(reader, "excluded", "names with a comma between them");
}

static void read_refit(fplt__reader *reader, fplt__proposal *p)
{
    char word[FPLT__WORD] = "";
    read_optional(reader, "refit", word, sizeof word);
    while (p->refit < FPLT__REFIT_THIS && strcmp(word, fplt__refit_words[p->refit]) != 0)
        p->refit++;
    if (!reader->status && strcmp(word, fplt__refit_words[p->refit]) != 0)
        fplt__reader_refuse(reader, "refit", "follows or this");
}

/* The cost that the agents bring; its dimension stays 0 where there is none. */
static void read_model(fplt__reader *reader, fplt__custom_model *model)
{
    fplt__reader part;
    if (reader->status || !json_object_get(reader->object, "model"))
        return;
    if (!fplt__reader_part(reader, "model", &part)) {
        fplt__reader_refuse(reader, "model", "an object");
        return;
    }
    fplt__reader_text(&part, "name", model->name, sizeof model->name);
    fplt__reader_text(&part, "version", model->version, sizeof model->version);
    fplt__reader_bytes(&part, "digest", &model->digest, sizeof model->digest);
    model->dimension = (uint32_t)fplt__reader_count(&part, "dimension", UINT32_MAX);
    if (!fplt__name_is_legal(model->name))
        fplt__reader_refuse(&part, "name", "1 to 40 of a-z, 0-9 and -");
    if (!fplt__version_is_legal(model->version))
        fplt__reader_refuse(&part, "version", "1 to 40 of letters, digits and ._+-");
    if (model->dimension == 0)
        fplt__reader_refuse(&part, "dimension", "at least 1");
    reader->status = fplt__reader_close(&part);
}

/* Its kind stays empty where there is none. */
static void read_analysis(fplt__reader *reader, fplt__proposed_analysis *analysis)
{
    fplt__reader part;
    if (reader->status || !json_object_get(reader->object, "analysis"))
        return;
    if (!fplt__reader_part(reader, "analysis", &part)) {
        fplt__reader_refuse(reader, "analysis", "an object");
        return;
    }
    fplt__reader_text(&part, "kind", analysis->kind, sizeof analysis->kind);
    if (!fplt__name_is_legal(analysis->kind))
        fplt__reader_refuse(&part, "kind", "1 to 23 of a-z, 0-9 and -");
    read_pairs(&part, "settings", &analysis->setting, &analysis->settings);
    const json_t *model = fplt__reader_any(&part, "model", -1, "a model's text or null");
    if (model && !part.status && !json_is_null(model)) {
        if (!json_is_string(model) || json_string_length(model) > FPLT__ANALYSIS_MAX_MODEL ||
            strlen(json_string_value(model)) != json_string_length(model))
            fplt__reader_refuse(&part, "model", "a text of at most 4 MB, or null");
        else if (!(analysis->model = fplt__strdup(json_string_value(model))))
            part.status = fplt_error_set(part.error, FPLT_NO_MEMORY, "no memory for a model");
    }
    reader->status = fplt__reader_close(&part);
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
    read_aggregate(&reader, p);
    read_optional(&reader, "purpose", p->purpose, sizeof p->purpose);
    read_optional(&reader, "expires", p->expires, sizeof p->expires);
    read_excluded(&reader, p);
    read_refit(&reader, p);
    read_optional(&reader, "validation", p->validation, sizeof p->validation);
    read_optional(&reader, "part", p->part, sizeof p->part);
    read_model(&reader, &p->model);
    read_analysis(&reader, &p->analysis);
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
    if (!status && size > fplt__proposal_limit(proposal))
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
    pairs_clear(proposal->analysis.setting, proposal->analysis.settings);
    fplt__free(proposal->analysis.model);
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

/* A list of exactly `count` counts; NULL on failure. */
static uint64_t *read_counts(fplt__reader *reader, const char *key, size_t count)
{
    const json_t *array = fplt__reader_any(reader, key, JSON_ARRAY, "a list of counts");
    uint64_t *x = NULL;
    if (!array || reader->status)
        return NULL;
    if (json_array_size(array) != count) {
        fplt__reader_refuse(reader, key, "a list with one count for each that there is");
        return NULL;
    }
    if ((reader->status = fplt__alloc_into(&x, count, sizeof *x, key, reader->error)))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            fplt__reader_refuse(reader, key, "a list of counts");
        x[i] = (uint64_t)json_integer_value(value);
    }
    return x;
}

/* The length of a list that may be left out; one that is there is not empty. */
static uint32_t length_of(fplt__reader *reader, const char *key)
{
    const json_t *array = json_object_get(reader->object, key);
    size_t length = json_array_size(array);
    if (array && !reader->status && (!length || length > MAX_COLUMNS))
        fplt__reader_refuse(reader, key, "a list that is not empty");
    return reader->status ? 0 : (uint32_t)length;
}

static void read_prepared(fplt__reader *reader, fplt__agreement *a)
{
    if ((a->fills = length_of(reader, "fill")))
        a->fill = read_reals(reader, "fill", a->fills, NULL);
    if ((a->balances = length_of(reader, "class-rows")))
        a->class_rows = read_counts(reader, "class-rows", a->balances);
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

static void read_identities(fplt__reader *reader, fplt__agreement *a)
{
    uint32_t members = a->proposal.members;
    const json_t *array = fplt__reader_any(reader, "identities", JSON_ARRAY, "a list of keys");
    if (!array || reader->status)
        return;
    if (json_array_size(array) != members) {
        fplt__reader_refuse(reader, "identities", "a list with one key a member");
        return;
    }
    if ((reader->status =
             fplt__alloc_into(&a->identities, members, 32, "identities", reader->error)))
        return;
    for (uint32_t i = 0; i < members; i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (!text || !fplt__unhex(text, a->identities + 32 * (size_t)i, 32))
            fplt__reader_refuse(reader, "identities", "a list of 64 hexadecimal digits each");
    }
}

static void read_secure(fplt__reader *reader, fplt__agreement *a)
{
    fplt__reader part;
    uint32_t members = a->proposal.members;
    if (!a->proposal.secure)
        return;
    if (!fplt__reader_part(reader, FPLT__SECURE_WORD, &part)) {
        fplt__reader_refuse(reader, FPLT__SECURE_WORD, "an object");
        return;
    }
    read_identities(&part, a);
    a->threshold = (uint32_t)fplt__reader_count(&part, "threshold", members);
    a->most = (uint32_t)fplt__reader_count(&part, "most", members);
    a->width = (uint32_t)fplt__reader_count(&part, "width", 16);
    if (a->width != 8 && a->width != 16)
        fplt__reader_refuse(&part, "width", "8 or 16");
    a->plan.unit = fplt__reader_real(&part, "unit");
    if (!(a->plan.unit >= 0) || (a->width == 8) != (a->plan.unit > 0))
        fplt__reader_refuse(&part, "unit", "positive with a width of 8, else 0");
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
    fplt_status status = fplt__algorithm_resolve(a->plan.algorithm, &facts, parameter, error);
    return status ? fplt_error_prefix(error, "the plan") : FPLT_OK;
}

/* A formula makes other columns than the schema has. */
static int has_formula(const fplt__proposal *proposal)
{
    return fplt__pair_find(proposal->setting, proposal->settings, "formula") != NULL;
}

static fplt_status read_agreement(const json_t *object, fplt__agreement *a, fplt_error *error)
{
    fplt__reader reader = fplt__reader_open("the plan", object, error);
    double curvature[2] = {0, 0};
    const json_t *proposal = fplt__reader_any(&reader, "proposal", JSON_OBJECT, "an object");
    if (reader.status || (reader.status = read_proposal(proposal, &a->proposal, error)))
        return reader.status;
    if (*a->proposal.analysis.kind)
        fplt__reader_refuse(&reader, "proposal", "one that trains: an analysis has no plan");
    read_plan(&reader, a);
    read_pairs(&reader, "resolved", &a->resolved, &a->resolves);
    a->records = read_counts(&reader, "records", a->proposal.members);
    read_reals(&reader, "curvature", 2, curvature);
    a->curvature = (fplt_curvature){curvature[0], curvature[1]};
    read_rules(&reader, a);
    read_privacy(&reader, a);
    size_t shifts = json_array_size(json_object_get(object, "shift"));
    if (shifts > MAX_COLUMNS || (shifts && a->proposal.columns && !has_formula(&a->proposal) &&
                                 shifts != a->proposal.columns))
        fplt__reader_refuse(&reader, "shift", "empty or one real a column");
    a->shifts = (uint32_t)shifts;
    a->shift = read_reals(&reader, "shift", shifts, NULL);
    a->scale = read_reals(&reader, "scale", shifts, NULL);
    fplt__reader_bytes(&reader, "start", &a->start, sizeof a->start);
    fplt__reader_text(&reader, "kernel", a->kernel, sizeof a->kernel);
    fplt__reader_bytes(&reader, "continues", &a->continues, sizeof a->continues);
    a->dictionary = read_dictionary(&reader);
    read_secure(&reader, a);
    read_prepared(&reader, a);
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
    if (!status && size > fplt__agreement_limit(agreement))
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
    fplt__free(agreement->fill);
    fplt__free(agreement->class_rows);
    fplt__free(agreement->dictionary);
    fplt__free(agreement->identities);
    memset(agreement, 0, sizeof *agreement);
}
