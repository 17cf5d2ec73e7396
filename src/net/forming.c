/* From the settings of federation.yaml to a proposal, and from facts to a plan. */
#include <sodium.h>
#include <string.h>

#include "fedplt/file.h"
#include "base/memory.h"
#include "net/coordinator.h"

/* Proposal */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const fplt__pair *)a)->name, ((const fplt__pair *)b)->name);
}

static fplt_status read_pairs(const fplt_settings *settings, const char *section,
                              fplt__pair **pairs, size_t *count, fplt_error *error)
{
    const char *text = fplt_settings_text(settings, section);
    char name[128], value[2048];
    size_t room = 0;
    fplt_status status = FPLT_OK;
    while (!status && text && *text) {
        text = fplt_pairs_next(text, name, sizeof name, value, sizeof value);
        if ((status = fplt__grow(pairs, &room, *count + 1, sizeof **pairs, "settings", error)))
            break;
        fplt__pair *pair = &(*pairs)[(*count)++];
        pair->name = fplt__strdup(name);
        pair->value = fplt__strdup(value);
        if (!pair->name || !pair->value)
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for settings");
    }
    if (*count)
        qsort(*pairs, *count, sizeof **pairs, by_name);
    return status;
}

static fplt_status read_roster(fplt__coordinator *c, fplt_error *error)
{
    fplt__proposal *proposal = &c->proposal;
    const char *list = fplt_settings_text(c->settings, "roster");
    char name[128];
    size_t room = 0;
    fplt_status status = FPLT_OK;
    while (!status && *list) {
        list = fplt_list_next(list, name, sizeof name);
        if ((status = fplt__name_check("roster:", name, error)) ||
            (status = fplt__grow(&proposal->roster, &room, proposal->members + 1,
                                 sizeof *proposal->roster, "the roster", error)))
            break;
        for (uint32_t i = 0; i < proposal->members; i++)
            if (strcmp(proposal->roster[i], name) == 0)
                return fplt_error_set(error, FPLT_BAD_VALUE, "roster: %s stands there twice", name);
        memcpy(proposal->roster[proposal->members++], name, strlen(name) + 1);
    }
    if (!status && proposal->members < 1)
        status = fplt_error_set(error, FPLT_BAD_VALUE, "roster: nobody is on it");
    return status;
}

fplt_status fplt__coordinator_propose(fplt__coordinator *c, fplt_error *error)
{
    fplt__proposal *proposal = &c->proposal;
    const char *federation = fplt_settings_text(c->settings, "federation");
    fplt_settings *terms;
    fplt_status status;
    if (strcmp(federation, c->authority.federation) != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "federation: is %s, but the authority in %s is of %s", federation,
                              c->folder, c->authority.federation);
    snprintf(proposal->federation, sizeof proposal->federation, "%s", federation);
    proposal->run = (uint32_t)fplt_settings_integer(c->settings, "run");
    proposal->quorum = fplt_settings_is_auto(c->settings, "quorum")
                           ? 0
                           : (uint32_t)fplt_settings_integer(c->settings, "quorum");
    randombytes_buf(proposal->nonce, sizeof proposal->nonce);
    memcpy(&proposal->authority, c->authority.fingerprint, sizeof proposal->authority);
    if ((status = read_roster(c, error)) ||
        (status =
             read_pairs(c->settings, "train", &proposal->setting, &proposal->settings, error)) ||
        (status =
             read_pairs(c->settings, "privacy", &proposal->privacy, &proposal->privacies, error)))
        return status;
    if (proposal->quorum > proposal->members)
        return fplt_error_set(error, FPLT_BAD_VALUE, "quorum: is %u, but the roster has %u",
                              proposal->quorum, proposal->members);
    if (!(proposal->schema = fplt__strdup("null")))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a proposal");
    if ((status = fplt__terms_settings(proposal, 0, &terms, error)))
        return status;
    fplt_settings_destroy(terms);
    return FPLT_OK;
}

static int same_pairs(const fplt__pair *a, size_t a_count, const fplt__pair *b, size_t b_count,
                      const char **which)
{
    for (size_t i = 0; i < a_count || i < b_count; i++) {
        *which = i < a_count ? a[i].name : b[i].name;
        if (i >= a_count || i >= b_count || strcmp(a[i].name, b[i].name) != 0 ||
            strcmp(a[i].value, b[i].value) != 0)
            return 0;
    }
    return 1;
}

fplt_status fplt__coordinator_compare(const fplt__coordinator *c, const fplt__proposal *stored,
                                      fplt_error *error)
{
    const fplt__proposal *now = &c->proposal;
    const char *what = NULL;
    if (now->members != stored->members ||
        memcmp(now->roster, stored->roster, now->members * sizeof *now->roster) != 0)
        what = "roster";
    else if (now->quorum != stored->quorum)
        what = "quorum";
    else if (strcmp(now->schema, stored->schema) != 0)
        what = "schema";
    else if (same_pairs(now->setting, now->settings, stored->setting, stored->settings, &what) &&
             same_pairs(now->privacy, now->privacies, stored->privacy, stored->privacies, &what))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "run %u has begun with another `%s`; put it back as it was, or raise "
                          "`run` for a new one",
                          stored->run, what);
}

/* Facts */

void fplt__coordinator_remember(fplt__coordinator *c, const fplt__lead_action *action)
{
    uint32_t i = action->identity;
    if (action->step == FPLT__FACTS_FORM)
        memcpy(c->scalars + (size_t)i * FPLT__FORM_SCALARS, action->scalars,
               FPLT__FORM_SCALARS * sizeof(double));
    else if (action->step == FPLT__FACTS_BEND)
        c->bend[i] = (fplt_bend){{action->scalars[0], action->scalars[1]}, action->scalars[2]};
}

static void refuse(fplt__coordinator *c, const char *sentence)
{
    fplt__lead_event event = {.kind = FPLT__LEAD_REFUSE, .sentence = sentence};
    fplt__coordinator_handle(c, &event);
}

static void ask(fplt__coordinator *c, unsigned step, const double *down, uint64_t count,
                uint32_t scalars, uint64_t numbers)
{
    fplt__lead_event event = {.kind = FPLT__LEAD_ASK, .ask = {step, down, count, scalars, numbers}};
    fplt__coordinator_handle(c, &event);
}

/* All members must have data of one form. */
static fplt_status agree_on_form(fplt__coordinator *c, fplt_error *error)
{
    fplt__form form;
    fplt_status status = fplt__form_read(c->scalars, &c->form, error);
    for (uint32_t i = 1; !status && i < c->members; i++) {
        status = fplt__form_read(c->scalars + (size_t)i * FPLT__FORM_SCALARS, &form, error);
        if (!status && (form.task != c->form.task || form.features != c->form.features ||
                        form.outputs != c->form.outputs))
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "%s has %zu features and %u classes, but %s has %zu and %u, or "
                                    "their labels are of another kind",
                                    c->roster[0], c->form.features, c->form.outputs, c->roster[i],
                                    form.features, form.outputs);
    }
    return status;
}

static uint64_t count_records(fplt__coordinator *c)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < c->members; i++) {
        c->records[i] = fplt__lead_member(c->lead, i).row->records;
        total += c->records[i];
    }
    return total;
}

static fplt_status plan(fplt__coordinator *c, fplt_error *error)
{
    fplt__agreement *agreement;
    fplt__gathered gathered = {.form = c->form, .records = c->records, .bend = c->bend};
    fplt__lead_plan made;
    char *text = NULL;
    fplt_status status = fplt__alloc_into(&agreement, 1, sizeof *agreement, "a plan", error);
    if (status)
        return status;
    if ((status = fplt__terms_agree(&c->proposal, &gathered, agreement, error)) ||
        (status = fplt__agreement_text(agreement, &text, error))) {
        fplt__agreement_clear(agreement);
        fplt__free(agreement);
        return status;
    }
    if (!(status = fplt__terms_lead(agreement, &made, error))) {
        fplt__coordinator_set_closing(c, made.agreement);
        fplt__lead_event event = {.kind = FPLT__LEAD_PLAN,
                                  .document = text,
                                  .document_size = strlen(text),
                                  .plan = &made};
        fplt__coordinator_handle(c, &event);
    }
    fplt__free(text);
    return status;
}

void fplt__coordinator_resolve(fplt__coordinator *c, int step)
{
    fplt_error error = {FPLT_OK, ""};
    fplt_status status = FPLT_OK;
    double down[2] = {c->members, (double)count_records(c)};
    if (step < 0) {
        ask(c, FPLT__FACTS_FORM, NULL, 0, FPLT__FORM_SCALARS, 0);
    } else if (step == FPLT__FACTS_FORM) {
        if (!(status = agree_on_form(c, &error)))
            ask(c, FPLT__FACTS_BEND, down, 2, FPLT__BEND_SCALARS, 0);
    } else {
        status = plan(c, &error);
    }
    if (status)
        refuse(c, error.text);
}
