/* What the agent writes into its audit log (audit/audit.h): who proposed what, what was agreed to or refused, every answer
 * that left, charges, ends. Values of answers are not in it, their digests are. */
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/audit.h"
#include "base/memory.h"
#include "federation/agent/agent.h"
#include "federation/plan/program.h"
#include "federation/plan/routes.h"
#include "wire/frame.h"

fplt_status fplt__agent_open_record(fplt__agent *agent, fplt_error *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/audit.jsonl", agent->folder);
    fplt_status status =
        fplt__audit_expire(path, (uint32_t)fplt_settings_integer(agent->settings, "audit-days"),
                           time(NULL), error);
    return status ? status : fplt__audit_open(path, &agent->audit, error);
}

/* A log that cannot be written is said once a process: an agent does not stop for a full disk. */
static void add(fplt__agent *agent, const char *event, const fplt__audit_field *fields,
                size_t count, int durable)
{
    fplt_error error;
    if (!agent->audit || !fplt__audit_add(agent->audit, event, fields, count, durable, &error) ||
        agent->unrecorded)
        return;
    agent->unrecorded = 1;
    fplt__agent_log(agent, "disk", "the audit log was not written: %s", error.text);
}

void fplt__agent_record_start(fplt__agent *agent)
{
    uint8_t fingerprint[FPLT_FINGERPRINT_SIZE];
    char certificate[2 * FPLT_FINGERPRINT_SIZE + 1], until[16];
    fplt_error error;
    if (fplt__certificate_digest(agent->certificate, fingerprint, &error))
        memset(fingerprint, 0, sizeof fingerprint);
    fplt__hex(fingerprint, sizeof fingerprint, certificate);
    fplt__date(agent->self.ends, until);
    const fplt__audit_field fields[] = {
        {"program", FPLT_VERSION},
        {"federation", agent->self.federation},
        {"member", agent->self.name},
        {"coordinator", fplt_settings_text(agent->settings, "coordinator")},
        {"certificate", certificate},
        {"until", until}};
    add(agent, "started", fields, sizeof fields / sizeof *fields, 1);
}

/* The members of a proposal, separated by blanks. */
static char *list_members(const fplt__proposal *proposal)
{
    fplt__buffer names = {NULL, 0, 0, FPLT_OK};
    for (uint32_t i = 0; i < proposal->members; i++)
        fplt__buffer_format(&names, "%s%s", i ? " " : "", proposal->roster[i]);
    return names.status ? NULL : names.text;
}

void fplt__agent_record_decision(fplt__agent *agent, const fplt__site_action *action,
                                 const fplt__proposal *proposal, const char *refusal)
{
    char hash[FPLT__HEX], run[16], cost[32];
    char *members = proposal ? list_members(proposal) : NULL;
    fplt__hex(&action->hash, sizeof action->hash, hash);
    snprintf(run, sizeof run, "%u", proposal ? proposal->run : 0);
    snprintf(cost, sizeof cost, "%lld", (long long)agent->asked.data_set);
    const fplt__audit_field fields[] = {
        {"document", action->planned ? "plan" : "proposal"},
        {"hash", hash},
        {"federation", proposal ? proposal->federation : NULL},
        {"run", proposal ? run : NULL},
        {"members", members},
        {"purpose", proposal && *proposal->purpose ? proposal->purpose : NULL},
        {"privacy", !proposal             ? NULL
                    : proposal->privacies ? "on"
                                          : "off"},
        {"disclosure", fplt_settings_text(agent->settings, "policy.disclosure")},
        {"data-set", agent->asked.data_set ? cost : NULL},
        {"rule", refusal}};
    add(agent, refusal ? "refused" : "agreed", fields, sizeof fields / sizeof *fields, 1);
    fplt__free(members);
}

void fplt__agent_record_answer(fplt__agent *agent, const fplt__request *request)
{
    fplt__frame frame;
    fplt_error error;
    char round[24], numbers[24], bytes[24], digest[FPLT__HEX], step[8];
    if (request->kind != FPLT__UPDATE || request->size < FPLT__FRAME_HEAD ||
        fplt__frame_read(request->body, &frame, &error))
        return;
    snprintf(round, sizeof round, "%llu", (unsigned long long)frame.round);
    snprintf(numbers, sizeof numbers, "%llu", (unsigned long long)(frame.count + frame.scalars));
    snprintf(bytes, sizeof bytes, "%zu", request->size);
    snprintf(step, sizeof step, "%u", frame.exchange);
    fplt__hex(&frame.digest, sizeof frame.digest, digest);
    const fplt__audit_field fields[] = {{"kind", fplt__frame_kind_name(frame.kind)},
                                        {"round", round},
                                        {"exchange", step},
                                        {"numbers", numbers},
                                        {"bytes", bytes},
                                        {"content", digest}};
    add(agent, "answer", fields, sizeof fields / sizeof *fields, 0);
}

void fplt__agent_record_charge(fplt__agent *agent, uint64_t round, const char *refusal)
{
    char number[24], spent[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)round);
    snprintf(spent, sizeof spent, "%.17g", agent->charged.spent.against[0]);
    const fplt__audit_field fields[] = {{"round", number}, {"spent", spent}, {"refused", refusal}};
    add(agent, "charge", fields, sizeof fields / sizeof *fields, 0);
}

void fplt__agent_record_refusal(fplt__agent *agent, const char *sentence)
{
    const fplt__audit_field field = {"rule", sentence};
    add(agent, "refused", &field, 1, 1);
}

void fplt__agent_record_end(fplt__agent *agent, const double *model, size_t count)
{
    fplt__digest digest = {{0}};
    fplt_error error;
    char text[FPLT__HEX], rounds[24];
    if (model && fplt__start_digest(model, count, &digest, &error))
        memset(&digest, 0, sizeof digest);
    fplt__hex(&digest, sizeof digest, text);
    snprintf(rounds, sizeof rounds, "%llu", (unsigned long long)agent->outcome.rounds);
    const fplt__audit_field fields[] = {{"model", model ? text : NULL}, {"rounds", rounds}};
    add(agent, "ended", fields, 2, 1);
}

/* The coordinator's signature */

static void take_signature(fplt__agent *agent, const fplt__audit_head *head, json_t *answer)
{
    char number[24], digest[FPLT__HEX];
    uint8_t key[FPLT__AUDIT_KEY], signature[FPLT__AUDIT_SIGNATURE];
    const char *key_text = json_string_value(json_object_get(answer, "key")),
               *signature_text = json_string_value(json_object_get(answer, "signature"));
    if (!key_text || !signature_text || !fplt__unhex(key_text, key, sizeof key) ||
        !fplt__unhex(signature_text, signature, sizeof signature) ||
        !fplt__audit_is_signed(key, agent->self.federation, agent->self.name, head, signature)) {
        fplt__agent_log(agent, "refused",
                        "the coordinator's signature of the audit log is not "
                        "valid");
        return;
    }
    snprintf(number, sizeof number, "%llu", (unsigned long long)head->number);
    fplt__hex(&head->digest, sizeof head->digest, digest);
    const fplt__audit_field fields[] = {
        {"federation", agent->self.federation},
        {"member", agent->self.name},
        {"signed-number", number},
        {"head", digest},
        {"key", key_text},
        {"signature", signature_text},
        {"coordinator-number", json_string_value(json_object_get(answer, "number"))},
        {"coordinator-head", json_string_value(json_object_get(answer, "head"))}};
    add(agent, FPLT__AUDIT_SIGNED, fields, sizeof fields / sizeof *fields, 1);
}

void fplt__agent_sign_record(fplt__agent *agent)
{
    fplt__audit_head head;
    fplt__answered answered;
    fplt_error error;
    char digest[FPLT__HEX], body[200];
    if (!agent->audit || !(head = fplt__audit_get_head(agent->audit)).number)
        return;
    fplt__hex(&head.digest, sizeof head.digest, digest);
    snprintf(body, sizeof body, "{\"head\":\"%s\",\"number\":\"%llu\"}", digest,
             (unsigned long long)head.number);
    fplt__call call = {.method = "POST",
                       .path = FPLT__LOG_PATH,
                       .type = "application/json",
                       .body = body,
                       .size = strlen(body),
                       .limit = FPLT__MESSAGE_LIMIT};
    if (fplt__client_call(agent->client, &call, &answered, &error) || answered.status != 200)
        return; /* an older coordinator, or none: the tail stays unsigned until the next time */
    json_t *answer = json_loadb((const char *)answered.body, answered.size, 0, NULL);
    if (answer)
        take_signature(agent, &head, answer);
    json_decref(answer);
}

/* Reading */

struct audit_reading {
    void (*visitor)(void *context, const char *entry);
    void *context;
    fplt__buffer line;
};

static void visit_line(void *context, const char *line, size_t length)
{
    struct audit_reading *reading = context;
    reading->line.length = 0;
    fplt__buffer_format(&reading->line, "%.*s", (int)length, line);
    if (reading->visitor && !reading->line.status)
        reading->visitor(reading->context, reading->line.text);
}

fplt_status fplt__federation_audit(const char *folder,
                                   void (*visitor)(void *context, const char *entry), void *context,
                                   fplt__federation_audit_verdict *verdict, fplt_error *error)
{
    struct audit_reading reading = {visitor, context, {NULL, 0, 0, FPLT_OK}};
    fplt__audit_verdict found;
    char path[4200];
    memset(verdict, 0, sizeof *verdict);
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "libsodium could not be initialised");
    snprintf(path, sizeof path, "%s/audit.jsonl", folder);
    fplt_status status = fplt__audit_read(path, visit_line, &reading, &found, error);
    fplt__buffer_clear(&reading.line);
    if (status)
        return status;
    verdict->entries = found.entries;
    verdict->expired = found.expired;
    verdict->signed_up_to = found.signed_up_to;
    if (found.signed_up_to)
        fplt__hex(found.key, sizeof found.key, verdict->key);
    verdict->other_keys = found.other_keys;
    verdict->bad = found.bad;
    snprintf(verdict->sentence, sizeof verdict->sentence, "%s", found.sentence);
    return FPLT_OK;
}
