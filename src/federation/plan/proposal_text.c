/* A proposal in words: what a person agrees to, and what the coordinator's dry run prints. */
#include <stdio.h>
#include <string.h>

#include "federation/plan/columns.h"
#include "federation/plan/proposal_text.h"
#include "federation/plan/plan_resolution.h"
#include "trainer/declare.h"

static void show_line(fplt__buffer *text, const char *name, const char *value, const char *reason)
{
    fplt__buffer_format(text, "\n%-11s %s%s%s%s", name, value, reason ? " (" : "",
                        reason ? reason : "", reason ? ")" : "");
}

/* What a promise sets where nothing is said. */
static void show_promised(const fplt__proposal *proposal, fplt__buffer *text)
{
    fplt_settings *settings = NULL;
    fplt_schema *schema = NULL;
    fplt_job_source source = {.dataset = NULL};
    char number[32];
    if (!fplt__plan_resolution_settings(proposal, 0, &settings, NULL) &&
        !fplt__plan_resolution_schema(proposal, &schema, NULL)) {
        source.schema = schema;
        if (fplt_promise_prepare(settings, &source, NULL))
            memset(&source, 0, sizeof source);
    }
    if (source.intercept)
        show_line(text, "intercept", "yes", "labels need not be centred");
    if (source.by_schema)
        show_line(text, "standardise", "schema",
                  "by declared bounds: nothing is read from records");
    if (source.weigh_rows)
        show_line(text, "weights", "rows", "every row counts alike, as if all were in one place");
    snprintf(number, sizeof number, "%.6g", source.weight);
    if (source.weight > 0)
        show_line(text, "eps", number, "keeps the cost strictly convex and hardly moves the model");
    snprintf(number, sizeof number, "%.6g", source.clip);
    if (source.clip > 0)
        show_line(text, "clip", number, "half of what a record's gradient may be: half the noise");
    fplt_schema_destroy(schema);
    fplt_settings_destroy(settings);
}

void fplt__proposal_show(const fplt__proposal *proposal, fplt__buffer *text)
{
    fplt__buffer_format(text, "federation  %s, run %u\nroster     ", proposal->federation,
                        proposal->run);
    for (uint32_t i = 0; i < proposal->members; i++)
        fplt__buffer_format(text, " %s", proposal->roster[i]);
    for (size_t i = 0; i < proposal->settings; i++) {
        const fplt__pair *pair = &proposal->setting[i];
        int begins = strcmp(pair->name, "start") == 0 && strcmp(pair->value, "model") == 0;
        show_line(text, pair->name, pair->value,
                  begins ? "an earlier one, whose numbers come with the plan"
                         : fplt__trainer_reason(pair->name, pair->value));
    }
    if (proposal->privacies)
        show_promised(proposal, text);
    if (proposal->schema)
        fplt__buffer_format(text, "\nschema      %u features", proposal->columns);
    fplt__columns_show(proposal->dictionary, text);
    fplt__buffer_add(text, proposal->privacies
                               ? ""
                               : "\nprivacy     off (exact sums leave the sites, which trust the "
                                 "coordinator to run the unmodified program)");
    for (size_t i = 0; i < proposal->privacies; i++)
        fplt__buffer_format(text, "\nprivacy %s %s", proposal->privacy[i].name,
                            proposal->privacy[i].value);
    fplt__buffer_add(text, "\n");
}
