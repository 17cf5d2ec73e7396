/* The coordinator's audit log (audit/audit.h), and its signatures under the heads of the agents' logs. */
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/audit.h"
#include "base/memory.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/routes.h"

fplt_status fplt__coordinator_open_record(fplt__coordinator *c, fplt_error *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/audit.jsonl", c->folder);
    fplt_status status =
        fplt__audit_expire(path, (uint32_t)fplt_settings_integer(c->settings, "audit-days"),
                           time(NULL), error);
    return status ? status : fplt__audit_open(path, &c->audit, error);
}

void fplt__coordinator_record(fplt__coordinator *c, const fplt_federation_event *event)
{
    char run[16], round[24];
    fplt_error error;
    if (!c->audit)
        return;
    snprintf(run, sizeof run, "%u", c->run);
    snprintf(round, sizeof round, "%llu", (unsigned long long)event->round);
    const fplt__audit_field fields[] = {
        {"member", event->who}, {"run", run}, {"round", round}, {"sentence", event->sentence}};
    /* a round's end is in federation.db too: what leaves no other trace is on the disk at once */
    int durable = strcmp(event->word, "closed") != 0 && strcmp(event->word, "measured") != 0;
    fplt__audit_add(c->audit, event->word, fields, sizeof fields / sizeof *fields, durable, &error);
}

/* Reads {"head":digest,"number":"N"}. */
static int read_head(const void *body, size_t size, fplt__audit_head *head)
{
    json_t *document = json_loadb(body ? body : "", size, 0, NULL);
    const char *number = json_string_value(json_object_get(document, "number")),
               *digest = json_string_value(json_object_get(document, "head"));
    char *end = NULL;
    int good = number && digest && fplt__unhex(digest, &head->digest, sizeof head->digest) &&
               (head->number = strtoull(number, &end, 10)) > 0 && end && !*end;
    json_decref(document);
    return good;
}

void fplt__coordinator_sign_log(fplt__coordinator *c, fplt__http_transaction *transaction,
                                uint32_t member)
{
    uint8_t key[FPLT__AUDIT_KEY], secret[FPLT__AUDIT_SECRET], signature[FPLT__AUDIT_SIGNATURE];
    char key_text[2 * sizeof key + 1], text[2 * sizeof signature + 1], digest[FPLT__HEX],
        answer[600];
    fplt__audit_head head;
    if (!c->audit || !read_head(fplt__http_transaction_body(transaction),
                                fplt__http_transaction_size(transaction), &head)) {
        fplt__http_transaction_refuse(transaction, 400, "malformed", 1,
                                      "this is no head of an audit log");
        return;
    }
    fplt__audit_keys(c->pki.authority.receipt, key, secret);
    fplt__audit_sign(secret, c->pki.authority.federation, c->roster[member], &head, signature);
    sodium_memzero(secret, sizeof secret);
    fplt__hex(&head.digest, sizeof head.digest, digest);
    fplt__hex(key, sizeof key, key_text);
    fplt__hex(signature, sizeof signature, text);
    fplt__coordinator_record_head(c, c->roster[member], &head);
    fplt__audit_head own = fplt__audit_get_head(c->audit);
    fplt__hex(&own.digest, sizeof own.digest, digest);
    snprintf(answer, sizeof answer,
             "{\"head\":\"%s\",\"key\":\"%s\",\"number\":\"%llu\",\"signature\":\"%s\"}", digest,
             key_text, (unsigned long long)own.number, text);
    fplt__http_transaction_answer_text(transaction, 200, "application/json", answer);
}

void fplt__coordinator_record_head(fplt__coordinator *c, const char *member,
                                   const fplt__audit_head *head)
{
    uint8_t key[FPLT__AUDIT_KEY], secret[FPLT__AUDIT_SECRET];
    char number[24], digest[FPLT__HEX], key_text[2 * sizeof key + 1];
    fplt_error error;
    fplt__audit_keys(c->pki.authority.receipt, key, secret);
    sodium_memzero(secret, sizeof secret);
    snprintf(number, sizeof number, "%llu", (unsigned long long)head->number);
    fplt__hex(&head->digest, sizeof head->digest, digest);
    fplt__hex(key, sizeof key, key_text);
    const fplt__audit_field fields[] = {
        {"member", member}, {"member-number", number}, {"member-head", digest}, {"key", key_text}};
    fplt__audit_add(c->audit, "signed-for", fields, sizeof fields / sizeof *fields, 0, &error);
}
