#include "federation/coordinator/door.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "federation/plan/routes.h"
#include "wire/message.h"

enum {
    MAX_CONNECTIONS = 64,
    MAX_OF_ADDRESS = 32 /* of them from one address; a join takes two, one after the other */
};

static const struct {
    const char *method, *path;
    uint64_t limit;
} routes[] = {{"GET", FPLT__AUTHORITY_PATH, 0},
              {"POST", FPLT__INVITATION_PATH, FPLT__INVITATION_LIMIT}};

static void head(void *context, fplt__http_transaction *transaction, uint64_t length,
                 uint64_t *limit)
{
    (void)context, (void)length;
    const char *path = fplt__http_transaction_path(transaction);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (strcmp(path, routes[i].path) != 0)
            continue;
        *limit = routes[i].limit;
        if (strcmp(fplt__http_transaction_method(transaction), routes[i].method) != 0)
            fplt__http_transaction_refuse_method(transaction, routes[i].method);
        return;
    }
    fplt__http_transaction_refuse(transaction, 404, "unknown", 1, "there is no %.60s here", path);
}

static void tell_admitted(fplt__door *door, const char *certificate)
{
    char sentence[FPLT_NAME_SIZE + 60];
    fplt__identity who = {.name = ""};
    fplt_error error;
    fplt__certificate_read(certificate, "the certificate", &who, &error);
    snprintf(sentence, sizeof sentence, "%s has used its invitation", who.name);
    door->tell(door->context, "admitted", sentence);
}

static void refuse(const fplt__door *door, fplt__http_transaction *transaction, unsigned code,
                   const char *sentence)
{
    door->tell(door->context, "refused",
               fplt__http_transaction_reports(transaction) ? sentence : NULL);
    fplt__http_transaction_distrust(transaction);
    fplt__http_transaction_refuse(transaction, code, "invitation", 1, "%s", sentence);
}

static void redeem(fplt__door *door, fplt__http_transaction *transaction)
{
    json_error_t where;
    const char *secret = NULL, *request = NULL;
    char *certificate = NULL;
    fplt_error error = {FPLT_OK, ""};
    json_t *body =
        json_loadb((const char *)fplt__http_transaction_body(transaction),
                   fplt__http_transaction_size(transaction), JSON_REJECT_DUPLICATES, &where);
    if (!body || json_unpack(body, "{s:s, s:s !}", "secret", &secret, "request", &request)) {
        refuse(door, transaction, 400, "a secret and a request are wanted");
    } else if (fplt__authority_redeem(door->authority, secret, request, &certificate, &error)) {
        refuse(door, transaction, 403, error.text);
    } else {
        fplt__http_transaction_trust(transaction);
        tell_admitted(door, certificate);
        fplt__http_transaction_answer_text(transaction, 200, "application/x-pem-file", certificate);
    }
    fplt__free(certificate);
    json_decref(body);
}

static void whole(void *context, fplt__http_transaction *transaction)
{
    fplt__door *door = context;
    if (strcmp(fplt__http_transaction_path(transaction), FPLT__AUTHORITY_PATH) == 0)
        fplt__http_transaction_answer_text(transaction, 200, "application/x-pem-file",
                                           door->authority->certificate);
    else
        redeem(door, transaction);
}

static void expired(void *context, fplt__http_transaction *transaction)
{
    (void)context;
    fplt__http_transaction_refuse(transaction, 503, "busy", 0, "the coordinator is busy");
}

static void ended(void *context, fplt__http_transaction *transaction)
{
    (void)context, (void)transaction;
}

static void refused(void *context, const char *word, const char *sentence)
{
    const fplt__door *door = context;
    door->tell(door->context, word ? "refused" : NULL, sentence);
}

fplt_status fplt__door_open(fplt__door *door, const char *listen, fplt__server **server,
                            fplt_error *error)
{
    fplt__service service = {.context = door,
                             .head = head,
                             .whole = whole,
                             .expired = expired,
                             .ended = ended,
                             .refused = refused,
                             .fault = fplt__fault_body};
    fplt__server_settings settings = {.listen = listen,
                                      .certificate = door->authority->server,
                                      .key = door->authority->server_key,
                                      .connections = MAX_CONNECTIONS,
                                      .per_address = MAX_OF_ADDRESS,
                                      .rate = 1,
                                      .window = 1};
    return fplt__server_create(&settings, &service, server, error);
}
