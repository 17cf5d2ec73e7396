#include "federation/plan/proposal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/schema_access.h"

static char *copied(const char *text, fplt_status *status)
{
    char *copy = fplt__strdup(text);
    if (!copy)
        *status = FPLT_NO_MEMORY;
    return copy;
}

static fplt_status copy_pairs(const fplt__pair *from, size_t count, fplt__pair **to,
                              fplt_error *error)
{
    fplt_status status = fplt__alloc_into(to, count + 1, sizeof **to, "settings", error);
    for (size_t i = 0; !status && i < count; i++) {
        (*to)[i].name = copied(from[i].name, &status);
        (*to)[i].value = copied(from[i].value, &status);
    }
    return status;
}

fplt_status fplt__proposal_copy(const fplt__proposal *from, fplt__proposal *to, fplt_error *error)
{
    *to = *from;
    to->roster = NULL;
    to->setting = to->privacy = NULL;
    to->schema = to->dictionary = NULL;
    to->settings = to->privacies = 0;
    to->analysis.setting = NULL;
    to->analysis.model = NULL;
    to->analysis.settings = 0;
    fplt_status status;
    if ((status = fplt__alloc_into(&to->roster, from->members, sizeof *to->roster, "the roster",
                                   error)) ||
        (status = copy_pairs(from->setting, from->settings, &to->setting, error)))
        return status;
    to->settings = from->settings;
    if ((status = copy_pairs(from->privacy, from->privacies, &to->privacy, error)))
        return status;
    to->privacies = from->privacies;
    if ((status = copy_pairs(from->analysis.setting, from->analysis.settings, &to->analysis.setting,
                             error)))
        return status;
    to->analysis.settings = from->analysis.settings;
    if (from->analysis.model)
        to->analysis.model = copied(from->analysis.model, &status);
    memcpy(to->roster, from->roster, from->members * sizeof *to->roster);
    if (from->schema)
        to->schema = copied(from->schema, &status);
    if (from->dictionary)
        to->dictionary = copied(from->dictionary, &status);
    return status;
}

static fplt_status set_pair(fplt__pair **pairs, size_t *count, const char *name, const char *value,
                            fplt_error *error)
{
    fplt__pair *pair = NULL;
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*pairs)[i].name, name) == 0)
            pair = &(*pairs)[i];
    if (!pair) {
        size_t room = *count;
        fplt_status status =
            fplt__grow(pairs, &room, *count + 1, sizeof **pairs, "settings", error);
        if (status)
            return status;
        pair = &(*pairs)[(*count)++];
        *pair = (fplt__pair){fplt__strdup(name), NULL};
    }
    fplt__free(pair->value);
    pair->value = fplt__strdup(value);
    return pair->name && pair->value
               ? FPLT_OK
               : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for settings");
}

fplt_status fplt__proposal_set(fplt__proposal *proposal, const char *name, const char *value,
                               fplt_error *error)
{
    return set_pair(&proposal->setting, &proposal->settings, name, value, error);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const fplt__pair *)a)->name, ((const fplt__pair *)b)->name);
}

void fplt__pairs_sort(fplt__pair *pairs, size_t count)
{
    if (count)
        qsort(pairs, count, sizeof *pairs, by_name);
}

void fplt__proposal_drop_settings(fplt__proposal *proposal)
{
    for (size_t i = 0; i < proposal->settings; i++) {
        fplt__free(proposal->setting[i].name);
        fplt__free(proposal->setting[i].value);
    }
    proposal->settings = 0;
}

fplt_status fplt__proposal_promise(fplt__proposal *proposal, const char *name, const char *value,
                                   fplt_error *error)
{
    return set_pair(&proposal->privacy, &proposal->privacies, name, value, error);
}

fplt_status fplt__proposal_schema(const fplt__proposal *proposal, fplt_schema **schema,
                                  fplt_error *error)
{
    *schema = NULL;
    return !proposal->schema ? FPLT_OK
                             : fplt__schema_parse(proposal->schema, strlen(proposal->schema),
                                                  "the proposal's schema", schema, error);
}
