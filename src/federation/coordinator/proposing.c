/* From the settings of federation.yaml to a proposal. */
#include <sodium.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/schema_access.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/analysis.h"
#include "federation/plan/columns.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/privacy_plan.h"
#include "federation/plan/refit.h"
#include "federation/plan/secure_plan.h"
#include "federation/plan/validation.h"
#include "promise/promise.h"

static fplt_status read_pairs(const fplt_settings *settings, const char *section,
                              fplt__pair **pairs, size_t *count, fplt_error *error)
{
    const char *text = fplt_settings_text(settings, section);
    char name[128], value[2048];
    size_t room = 0;
    fplt_status status = FPLT_OK;
    while (!status && text && *text) {
        text = fplt__pairs_next(text, name, sizeof name, value, sizeof value);
        if ((status = fplt__grow(pairs, &room, *count + 1, sizeof **pairs, "settings", error)))
            break;
        fplt__pair *pair = &(*pairs)[(*count)++];
        pair->name = fplt__strdup(name);
        pair->value = fplt__strdup(value);
        if (!pair->name || !pair->value)
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for settings");
    }
    fplt__pairs_sort(*pairs, *count);
    return status;
}

static fplt_status state_defaults(fplt__proposal *proposal, const fplt_settings *leader,
                                  fplt_error *error)
{
    fplt_status status = fplt__plan_resolution_state_defaults(proposal, leader, error);
    fplt__pairs_sort(proposal->setting, proposal->settings);
    fplt__pairs_sort(proposal->privacy, proposal->privacies);
    return status;
}

static int is_excluded(const fplt__coordinator *c, const char *name)
{
    for (size_t i = 0; i < c->excluded.count; i++)
        if (strcmp(c->excluded.name[i], name) == 0)
            return 1;
    return 0;
}

/* "basel, bern"; where that is too long, how many. */
static void name_excluded(const fplt__coordinator *c, char *text, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < c->excluded.count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", c->excluded.name[i]);
    if (at >= size)
        snprintf(text, size, "%zu members", c->excluded.count);
}

/* After an exclusion the run has a number of its own, and what is left of the promise. */
static fplt_status apply_exclusions(const fplt__coordinator *c, fplt__proposal *proposal,
                                    fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (!c->excluded.run)
        return FPLT_OK;
    proposal->run = c->excluded.run;
    name_excluded(c, proposal->excluded, sizeof proposal->excluded);
    if (proposal->quorum > proposal->members)
        proposal->quorum = proposal->members;
    if (*c->excluded.rounds)
        status = fplt__proposal_set(proposal, "rounds", c->excluded.rounds, error);
    return status || !*c->excluded.epsilon
               ? status
               : fplt__proposal_promise(proposal, "epsilon", c->excluded.epsilon, error);
}

static fplt_status read_roster(fplt__coordinator *c, fplt_error *error)
{
    fplt__proposal *proposal = &c->proposal;
    const char *list = fplt_settings_text(c->settings, "roster");
    char name[128];
    size_t room = 0;
    fplt_status status = FPLT_OK;
    while (!status && *list) {
        list = fplt__list_next(list, name, sizeof name);
        if (is_excluded(c, name))
            continue;
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

static fplt_status read_schema(fplt__coordinator *c, fplt_error *error)
{
    const char *file = fplt_settings_text(c->settings, "schema");
    char path[4200];
    fplt_schema *schema;
    if (!file)
        return FPLT_OK;
    fplt__coordinator_path(c, file, NULL, path, sizeof path);
    fplt_status status = fplt_schema_read(path, &schema, error);
    if (status)
        return status;
    c->proposal.columns = (uint32_t)fplt__schema_features(schema);
    c->proposal.schema = fplt__strdup(fplt__schema_text(schema));
    fplt_schema_destroy(schema);
    return c->proposal.schema ? FPLT_OK
                              : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a proposal");
}

/* What can be refused before anybody is asked: with a schema or a custom cost all but the records is known. */
static fplt_status check_terms(const fplt__proposal *proposal, fplt_error *error)
{
    fplt_settings *settings;
    fplt_schema *schema = NULL;
    fplt__plan_resolution terms;
    fplt_status status = fplt__plan_resolution_settings(proposal, 0, &settings, error);
    if (status)
        return status;
    if (!(status = fplt__proposal_schema(proposal, &schema, error)) && !schema &&
        fplt__promise_wanted(settings) && !fplt__is_custom(proposal))
        status = fplt__privacy_plan_needs_schema(error);
    if (!status && (schema || fplt__is_custom(proposal))) {
        fplt__form form;
        if (schema)
            status = fplt__proposal_form(proposal, schema, &form, error);
        else
            form = fplt__custom_form(proposal);
        if (!status && !(status = fplt__plan_resolution_of(proposal, &form, &terms, error)))
            fplt__plan_resolution_clear(&terms);
    }
    fplt_schema_destroy(schema);
    fplt_settings_destroy(settings);
    return status;
}

/* Four digits, two and two, between hyphens. */
static int is_date(const char *text)
{
    static const char form[] = "0000-00-00";
    if (strlen(text) != sizeof form - 1)
        return 0;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9')
            return 0;
    return 1;
}

static fplt_status read_purpose(const fplt_settings *settings, fplt__proposal *proposal,
                                fplt_error *error)
{
    const char *purpose = fplt_settings_text(settings, "purpose"),
               *expires = fplt_settings_text(settings, "expires");
    if (purpose && strlen(purpose) >= sizeof proposal->purpose)
        return fplt_error_set(error, FPLT_BAD_VALUE, "purpose: has %zu characters, but at most %zu",
                              strlen(purpose), sizeof proposal->purpose - 1);
    if (expires && !is_date(expires))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "expires: is '%.40s', but must be a date such as 2027-12-31",
                              expires);
    snprintf(proposal->purpose, sizeof proposal->purpose, "%s", purpose ? purpose : "");
    snprintf(proposal->expires, sizeof proposal->expires, "%s", expires ? expires : "");
    return FPLT_OK;
}

/* Nothing is trained: of the section `train` and the columns nothing is proposed. */
static fplt_status propose_analysis(fplt__coordinator *c, fplt_error *error)
{
    fplt__proposal *proposal = &c->proposal;
    const char *pairs = fplt_settings_text(c->settings, "analysis"), *rest = pairs, *file = NULL;
    char name[128], value[2048], path[4200];
    while (!file && *rest) {
        rest = fplt__pairs_next(rest, name, sizeof name, value, sizeof value);
        file = strcmp(name, "model") == 0 ? value : NULL;
    }
    if (file)
        fplt__coordinator_path(c, file, NULL, path, sizeof path);
    if (strcmp(fplt_settings_text(c->settings, "aggregate"), "secure") == 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "analysis: the table of each site is told, but `aggregate: secure` "
                              "promises that the coordinator sees sums only; leave `aggregate` out "
                              "for an analysis");
    proposal->quorum = 0;
    fplt__proposal_drop_settings(proposal);
    fplt_status status = fplt__analysis_needs_schema(pairs) ? read_schema(c, error) : FPLT_OK;
    return status ? status : fplt__analysis_propose(pairs, file ? path : NULL, proposal, error);
}

/* Which runs follow, and which of them this one is. */
static fplt_status state_following(fplt__coordinator *c, fplt__proposal *proposal,
                                   fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (fplt_settings_switch(c->settings, "refit")) {
        if ((status = fplt__refit_check(proposal, error)))
            return status;
        proposal->refit = FPLT__REFIT_FOLLOWS;
    }
    if (*proposal->validation && (status = fplt__coordinator_state_part(c, proposal, error)))
        return status;
    if (c->excluded.follows != FPLT__CONTINUES_REFIT)
        return FPLT_OK;
    proposal->run--; /* that of the run before, from which it follows */
    return fplt__refit_state(proposal, error);
}

static fplt_status read_validation(const fplt__coordinator *c, fplt__proposal *proposal,
                                   fplt_error *error)
{
    const char *pairs = fplt_settings_text(c->settings, "validate");
    return pairs ? fplt__validation_propose(pairs, proposal, error) : FPLT_OK;
}

fplt_status fplt__coordinator_propose(fplt__coordinator *c, fplt_error *error)
{
    fplt__proposal *proposal = &c->proposal;
    const char *federation = fplt_settings_text(c->settings, "federation");
    fplt_status status;
    if (strcmp(federation, c->pki.authority.federation) != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "federation: is %s, but the authority in %s is of %s", federation,
                              c->folder, c->pki.authority.federation);
    snprintf(proposal->federation, sizeof proposal->federation, "%s", federation);
    proposal->run = (uint32_t)fplt_settings_integer(c->settings, "run");
    proposal->quorum = fplt_settings_is_auto(c->settings, "quorum")
                           ? 0
                           : (uint32_t)fplt_settings_integer(c->settings, "quorum");
    randombytes_buf(proposal->nonce, sizeof proposal->nonce);
    memcpy(&proposal->authority, c->pki.authority.fingerprint, sizeof proposal->authority);
    if ((status = read_purpose(c->settings, proposal, error)) || (status = read_roster(c, error)) ||
        (status =
             read_pairs(c->settings, "train", &proposal->setting, &proposal->settings, error)) ||
        (status =
             read_pairs(c->settings, "privacy", &proposal->privacy, &proposal->privacies, error)))
        return status;
    if ((status = apply_exclusions(c, proposal, error)))
        return status;
    if (proposal->quorum > proposal->members)
        return fplt_error_set(error, FPLT_BAD_VALUE, "quorum: is %u, but the roster has %u",
                              proposal->quorum, proposal->members);
    if (fplt_settings_text(c->settings, "analysis"))
        return propose_analysis(c, error);
    if ((status = fplt__custom_propose(c->settings, proposal, error)) ||
        (status = read_schema(c, error)) || (status = read_validation(c, proposal, error)) ||
        (!proposal->schema &&
         (status = fplt__columns_declare(c->settings, &proposal->dictionary, error))) ||
        (status = fplt__coordinator_read_start(c, error)) ||
        (status = fplt__secure_plan_propose(c->settings, proposal, error)) ||
        (status = state_defaults(proposal, c->settings, error)) ||
        (status = state_following(c, proposal, error)))
        return status;
    return check_terms(proposal, error);
}

fplt_status fplt__coordinator_rehearse(const fplt__coordinator *c, const fplt_settings *settings,
                                       fplt__coordinator **other, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(other, 1, sizeof **other, "settings", error);
    if (status)
        return status;
    (*other)->settings = settings;
    (*other)->excluded = c->excluded;
    (*other)->pki.authority = c->pki.authority;
    snprintf((*other)->folder, sizeof(*other)->folder, "%s", c->folder);
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

static int same_analysis(const fplt__proposed_analysis *a, const fplt__proposed_analysis *b)
{
    const char *which;
    return strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->model ? a->model : "", b->model ? b->model : "") == 0 &&
           same_pairs(a->setting, a->settings, b->setting, b->settings, &which);
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
    else if (now->secure != stored->secure || now->colluders != stored->colluders)
        what = "aggregate or colluders";
    else if (now->model.dimension != stored->model.dimension ||
             strcmp(now->model.name, stored->model.name) != 0 ||
             strcmp(now->model.version, stored->model.version) != 0 ||
             !fplt__same(&now->model.digest, &stored->model.digest))
        what = "model";
    else if (!same_analysis(&now->analysis, &stored->analysis))
        what = "analysis";
    else if (now->refit != stored->refit)
        what = "refit";
    else if (strcmp(now->validation, stored->validation) != 0 ||
             strcmp(now->part, stored->part) != 0)
        what = "validate";
    else if (strcmp(now->purpose, stored->purpose) != 0)
        what = "purpose";
    else if (strcmp(now->expires, stored->expires) != 0)
        what = "expires";
    else if (strcmp(now->schema ? now->schema : "", stored->schema ? stored->schema : "") != 0)
        what = "schema";
    else if (strcmp(now->dictionary ? now->dictionary : "",
                    stored->dictionary ? stored->dictionary : "") != 0)
        what = "columns, label, classes, levels or features";
    else if (same_pairs(now->setting, now->settings, stored->setting, stored->settings, &what) &&
             same_pairs(now->privacy, now->privacies, stored->privacy, stored->privacies, &what))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "run %u has begun with another `%s`; put it back as it was, or raise "
                          "`run` for a new one",
                          stored->run, what);
}
