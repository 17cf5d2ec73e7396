/* A proposal in words: what a person agrees to, and what the coordinator's dry run prints. */
#include <stdio.h>
#include <string.h>

#include "data/schema.h"
#include "federation/plan/columns.h"
#include "federation/plan/analysis.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/proposal_text.h"
#include "federation/plan/plan_resolution.h"
#include "federation/plan/secure_plan.h"
#include "federation/plan/validation.h"
#include "fedplt/algorithm.h"
#include "trainer/declare.h"

static void show_line(fplt__buffer *text, const char *name, const char *value, const char *reason)
{
    fplt__buffer_format(text, "\n%-11s %s%s%s%s", name, value, reason ? " (" : "",
                        reason ? reason : "", reason ? ")" : "");
}

/* Why a setting has its value, or what it makes leave the sites; NULL: nothing to be said. */
static const char *reason_of(const fplt__pair *pair)
{
    if (strcmp(pair->name, "start") == 0 && strcmp(pair->value, "model") == 0)
        return "an earlier one, whose numbers come with the plan";
    if (strcmp(pair->name, "missing") == 0 && strcmp(pair->value, "mean") == 0)
        return "each site tells ranges, sums and numbers of the values that are there";
    if (strcmp(pair->name, "missing") == 0 &&
        (strcmp(pair->value, "median") == 0 || strcmp(pair->value, "most-frequent") == 0))
        return "each site tells how many values are in each cell of missing-bounds";
    if (strcmp(pair->name, "class-weight") == 0 && strcmp(pair->value, "balanced") == 0)
        return "each site tells how many rows each class has";
    return fplt__trainer_reason(pair->name, pair->value);
}

/* What a promise sets where nothing is said. */
static void show_promised(const fplt__proposal *proposal, fplt__buffer *text)
{
    fplt_settings *settings = NULL;
    fplt_schema *schema = NULL;
    fplt_job_source source = {.dataset = NULL};
    char number[32];
    if (!fplt__plan_resolution_settings(proposal, 0, &settings, NULL) &&
        !fplt__proposal_schema(proposal, &schema, NULL)) {
        source.schema = schema;
        if (fplt_promise_prepare(settings, &source, NULL))
            memset(&source, 0, sizeof source);
    }
    if (source.algorithm)
        show_line(text, "algorithm", source.algorithm->name,
                  "private gradient descent, one step a round");
    if (source.intercept)
        show_line(text, "intercept", "yes", "labels need not be centred");
    if (source.by_schema)
        show_line(text, "standardise", "schema",
                  "by declared bounds: nothing is read from records");
    if (source.weigh_rows)
        show_line(text, "weights", "rows",
                  "every row has the same weight, as if all rows were pooled");
    snprintf(number, sizeof number, "%.6g", source.weight);
    if (source.weight > 0)
        show_line(text, "eps", number, "keeps the cost strictly convex and hardly moves the model");
    snprintf(number, sizeof number, "%.6g", source.clip);
    if (source.clip > 0)
        show_line(text, "clip", number,
                  "a share of what a record's gradient may be: as much less noise");
    fplt_schema_destroy(schema);
    fplt_settings_destroy(settings);
}

int fplt__proposal_is_drafted(const fplt__proposal *proposal)
{
    fplt_schema *schema = NULL;
    int drafted =
        !fplt__proposal_schema(proposal, &schema, NULL) && fplt__schema_is_drafted(schema);
    fplt_schema_destroy(schema);
    return drafted;
}

static void show_analysis(const fplt__proposal *proposal, fplt__buffer *text)
{
    fplt__analysis *analysis;
    fplt_error error;
    char digest[FPLT__HEX];
    if (!fplt__is_analysis(proposal))
        return;
    if (fplt__analysis_open(proposal, &analysis, &error)) {
        show_line(text, "analysis", proposal->analysis.kind, error.text);
        return;
    }
    show_line(text, "analysis", analysis->kind->name, analysis->kind->tells);
    for (size_t i = 0; i < proposal->analysis.settings; i++)
        show_line(text, proposal->analysis.setting[i].name, proposal->analysis.setting[i].value,
                  NULL);
    fplt__hex(&analysis->model_digest, sizeof analysis->model_digest, digest);
    if (analysis->model)
        show_line(text, "model", digest,
                  "digest; a model of two classes, whose numbers come with "
                  "the proposal");
    fplt__analysis_close(analysis);
}

static void show_validation(const fplt__proposal *proposal, fplt__buffer *text)
{
    fplt__validation validation;
    fplt_error error = {FPLT_OK, ""};
    if (fplt__validation_read(proposal, &validation, &error)) {
        show_line(text, "validation", proposal->validation, error.text);
        return;
    }
    fplt__buffer_format(text,
                        "\n%-11s %s (%zu values, in at most %u folds that each site deals by its "
                        "own secret: %zu fits follow under this consent, each of which tells sums "
                        "of losses and hits over the rows that it left out, and then the fit on "
                        "all rows)",
                        "validation", validation.search, validation.count, validation.folds,
                        validation.count * validation.folds);
    for (size_t v = 0; v < validation.count; v++)
        fplt__buffer_format(text, "%s%.6g", v ? ", " : "\n            ", validation.value[v]);
}

void fplt__proposal_show(const fplt__proposal *proposal, fplt__buffer *text)
{
    fplt__buffer_format(text, "federation  %s, run %u\nroster     ", proposal->federation,
                        proposal->run);
    for (uint32_t i = 0; i < proposal->members; i++)
        fplt__buffer_format(text, " %s", proposal->roster[i]);
    if (*proposal->excluded)
        show_line(text, "excluded", proposal->excluded, "the run goes on without them");
    if (proposal->refit)
        show_line(text, "refit", fplt__refit_words[proposal->refit],
                  proposal->refit == FPLT__REFIT_THIS
                      ? "the fit of the run before, without its penalty"
                      : "a run without the penalty follows under this consent, from the last "
                        "model, and asks for the sums behind standard errors");
    if (*proposal->validation)
        show_validation(proposal, text);
    if (*proposal->part)
        show_line(
            text, "part", proposal->part,
            fplt__leaves_out_fold(proposal)
                ? "of a validation: these rows of each site are left out, and scored at the end"
                : "the last fit of a validation, on all rows");
    if (*proposal->purpose)
        show_line(text, "purpose", proposal->purpose, NULL);
    if (*proposal->expires)
        show_line(text, "expires", proposal->expires, NULL);
    for (size_t i = 0; i < proposal->settings; i++)
        show_line(text, proposal->setting[i].name, proposal->setting[i].value,
                  reason_of(&proposal->setting[i]));
    if (fplt__is_custom(proposal)) {
        fplt__buffer_add(text, "\nmodel       ");
        fplt__custom_show(&proposal->model, text);
        fplt__buffer_add(text, " (the cost is this site's own program)");
    }
    show_analysis(proposal, text);
    if (proposal->privacies)
        show_promised(proposal, text);
    if (proposal->schema)
        fplt__buffer_format(text, "\nschema      %u features%s", proposal->columns,
                            fplt__proposal_is_drafted(proposal) ? " (" FPLT__DRAFT ")" : "");
    fplt__columns_show(proposal->dictionary, text);
    if (proposal->secure) {
        fplt__buffer_add(text, "\naggregate   secure (");
        fplt__secure_plan_show(proposal, text);
        fplt__buffer_add(text, ")");
    }
    fplt__buffer_add(text, proposal->privacies
                               ? ""
                               : "\nprivacy     off (exact sums leave the sites, which trust the "
                                 "coordinator to run the unmodified program)");
    for (size_t i = 0; i < proposal->privacies; i++)
        fplt__buffer_format(text, "\nprivacy %s %s", proposal->privacy[i].name,
                            proposal->privacy[i].value);
    fplt__buffer_add(text, "\n");
}
