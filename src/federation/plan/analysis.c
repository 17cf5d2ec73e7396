#include "federation/plan/analysis.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "fedplt/export.h"
#include "fedplt/inference.h"
#include "fedplt/memory.h"
#include "federation/plan/program.h"
#include "federation/plan/proposal.h"

const char *const fplt__analysis_endings[FPLT__ANALYSIS_FORMS] = {"txt",  "csv", "json",
                                                                  "html", "tex", "svg"};

static const fplt__analysis_kind *const kinds[] = {&fplt__analysis_evaluate,
                                                   &fplt__analysis_describe,
                                                   &fplt__analysis_survival,
                                                   &fplt__analysis_survival_test};
enum { KINDS = sizeof kinds / sizeof *kinds };

const fplt__analysis_kind *fplt__analysis_kind_list(size_t index)
{
    return index < KINDS ? kinds[index] : NULL;
}

const fplt__analysis_kind *fplt__analysis_kind_find(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

const char *fplt__federation_analysis_name(size_t index)
{
    return index < KINDS ? kinds[index]->name : NULL;
}

const fplt_setting *fplt__federation_analysis_table(const char *name)
{
    return fplt__analysis_kind_find(name)->table;
}

int fplt__is_analysis(const fplt__proposal *proposal)
{
    return *proposal->analysis.kind != 0;
}

void fplt__analysis_counted_clear(fplt__analysis_counted *counted)
{
    fplt_dataset_destroy(counted->rows);
    fplt__free(counted->aside);
    fplt__free(counted->words);
    *counted = (fplt__analysis_counted){0, NULL, NULL, NULL};
}

void fplt__analysis_report_clear(fplt__analysis_report *report)
{
    for (size_t i = 0; i < FPLT__ANALYSIS_FORMS; i++)
        fplt_free(report->text[i]);
    memset(report, 0, sizeof *report);
}

/* Models */

/* Numbers with 17 digits; released with free(). NULL: there was no memory. */
static char *dump_model(const json_t *document, size_t flags)
{
    return json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(17) | flags);
}

fplt_status fplt__analysis_model_text(const fplt_model *model, char **out, fplt__digest *digest,
                                      fplt_error *error)
{
    char *text = NULL;
    fplt_status status = fplt_model_text(model, &text, error);
    if (out)
        *out = NULL;
    if (status)
        return status;
    json_t *document = json_loads(text, 0, NULL);
    fplt_free(text);
    json_object_del(document, "inference");
    json_object_del(document, "refit");
    json_object_set_new(document, "program", json_string("fedplt"));
    json_object_set_new(document, "training", json_object());
    char *sorted = dump_model(document, JSON_SORT_KEYS);
    char *dumped = out ? dump_model(document, 0) : NULL;
    json_decref(document);
    if (sorted)
        *digest = fplt__hash_bytes(sorted, strlen(sorted));
    if (dumped)
        *out = fplt__strdup(dumped);
    int failed = !sorted || (out && !*out);
    free(sorted);
    free(dumped);
    return failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a model") : FPLT_OK;
}

/* The text of the model goes into the proposal. */
static fplt_status take_model(const fplt__analysis_kind *kind, fplt__proposed_analysis *analysis,
                              const char *path, fplt_error *error)
{
    fplt_model *model;
    const fplt_model *taken;
    fplt__digest digest;
    fplt_status status = fplt_model_read(path, &model, error);
    if (status)
        return status;
    taken = kind->takes_refit && fplt_model_refit(model) ? fplt_model_refit(model) : model;
    status = fplt__analysis_model_text(taken, &analysis->model, &digest, error);
    if (!status && strlen(analysis->model) > FPLT__ANALYSIS_MAX_MODEL)
        status = fplt_error_set(error, FPLT_UNSUPPORTED,
                                "%s: the model has %zu bytes, but an analysis over the network "
                                "takes models of at most %d",
                                path, strlen(analysis->model), FPLT__ANALYSIS_MAX_MODEL);
    fplt_model_destroy(model);
    return status;
}

/* Settings */

static fplt_status find_kind(const char *name, const fplt__analysis_kind **kind, fplt_error *error)
{
    char known[300] = "";
    *kind = name ? fplt__analysis_kind_find(name) : NULL;
    for (size_t i = 0; i < KINDS; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                 kinds[i]->name);
    if (*kind)
        return FPLT_OK;
    return name ? fplt_error_set(error, FPLT_BAD_VALUE,
                                 "analysis: kind is '%.40s', but it must be one of %s", name, known)
                : fplt_error_set(error, FPLT_BAD_VALUE,
                                 "analysis: no kind is given; add one of `kind: %s`", known);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const fplt__pair *)a)->name, ((const fplt__pair *)b)->name);
}

static fplt_status add_pair(fplt__proposed_analysis *to, size_t *capacity, const char *name,
                            const char *value, fplt_error *error)
{
    fplt_status status = fplt__grow(&to->setting, capacity, to->settings + 1, sizeof *to->setting,
                                    "settings", error);
    if (status)
        return status;
    fplt__pair *pair = &to->setting[to->settings++];
    *pair = (fplt__pair){fplt__strdup(name), fplt__strdup(value)};
    return pair->name && pair->value
               ? FPLT_OK
               : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for settings");
}

/* Every setting of the kind, with its default where nothing is said: sites agree to what they see. */
static fplt_status state_settings(const fplt__analysis *analysis, fplt__proposed_analysis *to,
                                  fplt_error *error)
{
    size_t capacity = 0;
    fplt_status status = FPLT_OK;
    for (const fplt_setting *row = analysis->kind->table; row->name && !status; row++) {
        const char *value = fplt_settings_text(analysis->settings, row->name);
        if (value)
            status = add_pair(to, &capacity, row->name, value, error);
    }
    if (to->settings)
        qsort(to->setting, to->settings, sizeof *to->setting, by_name);
    return status;
}

static fplt_status begin_analysis(const fplt__analysis_kind *kind, fplt__analysis **out,
                                  fplt_error *error)
{
    fplt_status status = fplt__alloc_into(out, 1, sizeof **out, "an analysis", error);
    if (status)
        return status;
    (*out)->kind = kind;
    if (!(status = fplt_settings_create(&(*out)->settings, error)))
        status = fplt_settings_add((*out)->settings, "analysis", kind->table, error);
    if (status) {
        fplt__analysis_close(*out);
        *out = NULL;
    }
    return status;
}

void fplt__analysis_close(fplt__analysis *analysis)
{
    if (!analysis)
        return;
    fplt_settings_destroy(analysis->settings);
    fplt_model_destroy(analysis->model);
    fplt_schema_destroy(analysis->schema);
    fplt__free(analysis);
}

/* Settings as they are written; `kind` and `model` are taken already. */
static fplt_status set_written(fplt__analysis *analysis, const char *pairs, fplt_error *error)
{
    char name[128], value[2048];
    fplt_status status = FPLT_OK;
    while (!status && pairs && *pairs) {
        pairs = fplt__pairs_next(pairs, name, sizeof name, value, sizeof value);
        if (strcmp(name, "kind") != 0 && strcmp(name, "model") != 0)
            status = fplt_settings_set(analysis->settings, name, value, "analysis", error);
    }
    return status;
}

static const char *find_written(const char *pairs, const char *wanted, char *value, size_t size)
{
    char name[128];
    while (pairs && *pairs) {
        pairs = fplt__pairs_next(pairs, name, sizeof name, value, size);
        if (strcmp(name, wanted) == 0)
            return value;
    }
    return NULL;
}

int fplt__analysis_needs_schema(const char *pairs)
{
    char word[128];
    const char *name = find_written(pairs, "kind", word, sizeof word);
    const fplt__analysis_kind *kind = name ? fplt__analysis_kind_find(name) : NULL;
    return kind && kind->needs_schema;
}

static fplt_status check_proposal(const fplt__analysis_kind *kind, const char *path,
                                  const fplt__proposal *proposal, fplt_error *error)
{
    if (proposal->privacies)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "analysis: %s tells exact counts and sums, but federation.yaml "
            "promises privacy; lead it from a file without `privacy`, which sites "
            "with a budget will refuse",
            kind->name);
    if (kind->needs_schema && !proposal->schema)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "analysis: %s counts the columns that a schema declares; add "
                              "`schema: FILE` to federation.yaml (`fedplt data schema` drafts one)",
                              kind->name);
    if (kind->needs_model && !path)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "analysis: %s is about a model; add `model: FILE`", kind->name);
    return kind->needs_model || !path
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "analysis: %s is about no model; leave `model` out", kind->name);
}

fplt_status fplt__analysis_propose(const char *pairs, const char *path, fplt__proposal *proposal,
                                   fplt_error *error)
{
    char word[128];
    const fplt__analysis_kind *kind;
    fplt__analysis *analysis = NULL, *made = NULL;
    fplt_status status = find_kind(find_written(pairs, "kind", word, sizeof word), &kind, error);
    if (status || (status = check_proposal(kind, path, proposal, error)) ||
        (status = begin_analysis(kind, &analysis, error)))
        return status;
    snprintf(proposal->analysis.kind, sizeof proposal->analysis.kind, "%s", kind->name);
    if (!(status = set_written(analysis, pairs, error)) &&
        !(status = state_settings(analysis, &proposal->analysis, error)) && path)
        status = take_model(kind, &proposal->analysis, path, error);
    if (!status)
        status = fplt__analysis_open(proposal, &made, error);
    fplt__analysis_close(made);
    fplt__analysis_close(analysis);
    return status;
}

fplt_status fplt__analysis_open(const fplt__proposal *proposal, fplt__analysis **out,
                                fplt_error *error)
{
    const fplt__proposed_analysis *wanted = &proposal->analysis;
    const fplt__analysis_kind *kind;
    fplt__analysis *analysis;
    *out = NULL;
    fplt_status status = find_kind(wanted->kind, &kind, error);
    if (!status)
        status = check_proposal(kind, wanted->model, proposal, error);
    if (!status && proposal->secure)
        status =
            fplt_error_set(error, FPLT_UNSUPPORTED,
                           "analysis: the table of each site is told, which secure aggregation "
                           "would hide");
    if (status || (status = begin_analysis(kind, &analysis, error)))
        return status;
    for (size_t i = 0; i < wanted->settings && !status; i++)
        status = fplt_settings_set(analysis->settings, wanted->setting[i].name,
                                   wanted->setting[i].value, "analysis", error);
    if (!status && wanted->model)
        status = fplt_model_parse(wanted->model, strlen(wanted->model), "the proposal's model",
                                  &analysis->model, error);
    if (!status && analysis->model)
        status = fplt__analysis_model_text(analysis->model, NULL, &analysis->model_digest, error);
    if (!status && kind->needs_schema)
        status = fplt__proposal_schema(proposal, &analysis->schema, error);
    if (!status)
        status = kind->check(analysis, error);
    if (status)
        fplt__analysis_close(analysis);
    else
        *out = analysis;
    return status;
}
