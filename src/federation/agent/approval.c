#include "federation/agent/approval.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "federation/agent/disclosure.h"
#include "federation/agent/policy.h"
#include "federation/agent/rules.h"
#include "federation/agent/site_memory.h"
#include "federation/plan/program.h"
#include "pki/certificate.h"
#include "federation/plan/proposal_text.h"
#include "fedplt/federation.h"
#include "base/file.h"

enum { MAX_APPROVED = 16 << 20 };

static const char *stated_of(const fplt__proposal *proposal, const char *name)
{
    return fplt__pair_find(proposal->setting, proposal->settings, name);
}

fplt__digest fplt__approval_digest(const fplt__proposal *proposal)
{
    static const char label[] = "fedplt-data-1\n";
    fplt__digest none = {{0}};
    const char *schema = proposal->schema ? proposal->schema : "",
               *dictionary = proposal->dictionary ? proposal->dictionary : "",
               *formula = stated_of(proposal, "formula"),
               *bounds = stated_of(proposal, "missing-bounds"),
               *cells = stated_of(proposal, "missing-cells");
    const fplt__input inputs[] = {{label, sizeof label - 1},
                                  {schema, strlen(schema) + 1},
                                  {dictionary, strlen(dictionary) + 1},
                                  {formula ? formula : "", formula ? strlen(formula) + 1 : 1},
                                  {bounds ? bounds : "", bounds ? strlen(bounds) + 1 : 1},
                                  {cells ? cells : "", cells ? strlen(cells) + 1 : 1}};
    /* without a formula or bounds as before there were any */
    return proposal->schema || proposal->dictionary || formula || bounds
               ? fplt__hash(inputs, bounds    ? 6
                                    : formula ? 4
                                              : 3)
               : none;
}

/* A schema that the site names must be the proposal's, and is approved by that; a formula is not. */
static int is_of_site(const fplt_settings *site, const fplt__proposal *proposal)
{
    return proposal->schema && fplt_settings_text(site, "schema") &&
           !stated_of(proposal, "formula") && !stated_of(proposal, "missing-bounds");
}

static const char *name_stated(const fplt__proposal *proposal)
{
    return stated_of(proposal, "formula")          ? "a formula"
           : stated_of(proposal, "missing-bounds") ? "bounds for missing values"
           : proposal->schema                      ? "a schema"
                                                   : "columns, classes or levels";
}

static int is_named(const fplt_settings *site, const char *digest)
{
    const char *list = fplt_settings_text(site, "policy.data");
    char item[128];
    while (list && *list) {
        list = fplt__list_next(list, item, sizeof item);
        if (strcmp(item, digest) == 0)
            return 1;
    }
    return 0;
}

/* approved.txt: a line for each digest. An absent file is empty. */
static fplt_status read_approved(const char *folder, char path[4200], char **text,
                                 fplt_error *error)
{
    size_t size;
    *text = NULL;
    snprintf(path, 4200, "%s/approved.txt", folder);
    return access(path, F_OK) ? FPLT_OK : fplt__file_read(path, MAX_APPROVED, text, &size, error);
}

static fplt_status is_approved(const char *folder, const char *digest, int *approved,
                               fplt_error *error)
{
    char path[4200], *text;
    fplt_status status = read_approved(folder, path, &text, error);
    *approved = !status && text && strstr(text, digest) != NULL;
    fplt_free(text);
    return status;
}

/* For `fedplt agent approve`. */
static void keep_proposal(const char *folder, const fplt__proposal *proposal, char name[FPLT__HEX])
{
    char path[4400], *text = NULL;
    *name = 0;
    if (fplt__proposal_text(proposal, &text, NULL))
        return;
    fplt__digest hash = fplt__document_hash(text, strlen(text));
    fplt__hex(&hash, sizeof hash, name);
    snprintf(path, sizeof path, "%s/proposals", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/proposals/%.16s.json", folder, name);
    if (fplt__file_save(path, 0600, text, strlen(text), NULL))
        *name = 0;
    fplt__free(text);
}

fplt_status fplt__approval_judge(const fplt_settings *site, const char *folder,
                                 const fplt__proposal *proposal, fplt_error *error)
{
    fplt__digest stated = fplt__approval_digest(proposal);
    char digest[FPLT__HEX], name[FPLT__HEX];
    int approved;
    if (!(fplt__rule_value(site, FPLT__RULE_APPROVAL) > 0) || !fplt__policy_is_given(site) ||
        fplt__is_zero(&stated) || fplt__policy_is_private(site, proposal) ||
        is_of_site(site, proposal))
        return FPLT_OK;
    fplt__hex(&stated, sizeof stated, digest);
    fplt_status status = is_approved(folder, digest, &approved, error);
    if (status || approved || is_named(site, digest))
        return status;
    keep_proposal(folder, proposal, name);
    return fplt_error_set(error, FPLT_FAILED,
                          "disclosure: the proposal states %s, which this site has not approved; "
                          "look at it there with `fedplt agent approve %.16s`",
                          name_stated(proposal), name);
}

fplt_status fplt__approval_check(const fplt_settings *site, fplt_error *error)
{
    const char *list = fplt_settings_text(site, "policy.data");
    char item[128];
    fplt__digest digest;
    while (list && *list) {
        list = fplt__list_next(list, item, sizeof item);
        if (!fplt__unhex(item, &digest, sizeof digest))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: policy.data has '%.80s', which is no digest of 64 "
                                  "hexadecimal digits; `fedplt agent approve` prints them",
                                  fplt__settings_origin(site, "policy.data"), item);
    }
    return FPLT_OK;
}

/* A value as people read it; classes and levels have lists in them. */
static void show_value(json_t *value, fplt__buffer *text)
{
    char *dumped = json_is_string(value) ? NULL : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    fplt__buffer_add(text, dumped                  ? dumped
                           : json_is_string(value) ? json_string_value(value)
                                                   : "?");
    free(dumped);
}

/* One column a line, each with all that the schema says of it. */
static void show_schema(const char *schema, fplt__buffer *text)
{
    json_t *document = json_loads(schema, 0, NULL), *columns, *column, *value;
    const char *name, *word;
    columns = document ? json_object_get(document, "columns") : NULL;
    if (!json_is_object(columns))
        fplt__buffer_format(text, "%s\n", schema);
    json_object_foreach(columns, name, column)
    {
        const char *separator = "";
        fplt__buffer_format(text, "  %-20s ", name);
        json_object_foreach(column, word, value)
        {
            fplt__buffer_format(text, "%s%s ", separator, word);
            show_value(value, text);
            separator = ", ";
        }
        fplt__buffer_add(text, "\n");
    }
    json_decref(document);
}

void fplt__approval_show(const fplt__proposal *proposal, fplt__buffer *text)
{
    fplt__proposal_show(proposal, text);
    if (!proposal->schema)
        return;
    fplt__buffer_add(text, "columns of the schema; values beyond bounds are cut, and neutral rows "
                           "count nothing:\n");
    show_schema(proposal->schema, text);
}

/* The command */

/* A file, or the name of a kept proposal. */
static fplt_status find_proposal(const char *folder, const char *named, char path[4400],
                                 fplt_error *error)
{
    snprintf(path, 4400, "%s", named);
    if (access(path, F_OK) == 0)
        return FPLT_OK;
    snprintf(path, 4400, "%s/proposals/%.16s.json", folder, named);
    if (access(path, F_OK) == 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s is neither a file nor a proposal in %s/proposals; the refusal in the "
                          "agent's log names it",
                          named, folder);
}

static fplt_status add_digest(const char *folder, const char *digest, fplt_error *error)
{
    char path[4200], *text;
    fplt__buffer added = {NULL, 0, 0, FPLT_OK};
    fplt_status status = read_approved(folder, path, &text, error);
    if (!status && !(text && strstr(text, digest))) {
        fplt__buffer_format(&added, "%s%s\n", text ? text : "", digest);
        status = added.status ? fplt_error_set(error, added.status, "no memory for %s", path)
                              : fplt__file_save(path, 0600, added.text, added.length, error);
    }
    fplt__buffer_clear(&added);
    fplt_free(text);
    return status;
}

fplt_status fplt_federation_approve(const char *folder, const char *named,
                                    const fplt_federation_watch *watch, fplt_error *error)
{
    char path[4400], digest[FPLT__HEX], *bytes = NULL;
    fplt__proposal proposal;
    size_t size;
    fplt_status status = find_proposal(folder, named, path, error);
    if (status || (status = fplt__file_read(path, FPLT__DOCUMENT_LIMIT, &bytes, &size, error)))
        return status;
    status = fplt__proposal_read(bytes, size, &proposal, error);
    fplt_free(bytes);
    if (status)
        return status;
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt__digest stated = fplt__approval_digest(&proposal);
    fplt__hex(&stated, sizeof stated, digest);
    fplt__approval_show(&proposal, &text);
    if (text.status)
        status = fplt_error_set(error, text.status, "no memory for %s", path);
    else if (fplt__is_zero(&stated))
        status =
            fplt_error_set(error, FPLT_BAD_VALUE,
                           "%s states nothing about the data: there is nothing to approve", path);
    else if (!watch || !watch->agree || !watch->agree(watch->context, text.text, digest))
        status = fplt_error_set(error, FPLT_FAILED, "nobody approved %.16s...", digest);
    else
        status = add_digest(folder, digest, error);
    fplt__buffer_clear(&text);
    fplt__proposal_clear(&proposal);
    return status;
}

/* Withdrawals */

fplt_status fplt__federation_approve_withdrawal(const char *folder, fplt_error *error)
{
    const int64_t pause = (int64_t)fplt__rules[FPLT__RULE_WITHDRAWAL].value[0] * 86400;
    int64_t now = (int64_t)time(NULL), approved;
    fplt__site_memory *memory;
    fplt__audit *audit = NULL;
    char path[4200], date[16];
    int used;
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "libsodium could not be initialised");
    fplt_status status = fplt__site_memory_open(folder, &memory, error);
    if (status)
        return status;
    snprintf(path, sizeof path, "%s/audit.jsonl", folder);
    if (!(status = fplt__site_memory_withdrawal(memory, &approved, &used, error)) && approved &&
        now < approved + pause) {
        fplt__date((time_t)(approved + pause), date);
        status = fplt_error_set(error, FPLT_FAILED,
                                "a withdrawal was approved less than 30 days ago; the next one is "
                                "possible from %s",
                                date);
    }
    if (!status && !(status = fplt__audit_open(path, &audit, error)) &&
        !(status = fplt__site_memory_approve_withdrawal(memory, now, error)))
        status = fplt__audit_add(audit, "withdrawal-approved", NULL, 0, 1, error);
    fplt__audit_close(audit);
    fplt__site_memory_close(memory);
    return status;
}
