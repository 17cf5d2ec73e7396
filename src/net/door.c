#include "net/door.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"

enum { MOST_REQUEST = 16384, MOST_CALLERS = 32 };

static void head(void *context, fplt__exchange *exchange, uint64_t length, uint64_t *limit)
{
    (void)context, (void)length;
    const char *path = fplt__exchange_path(exchange);
    if (strcmp(path, "/v1/authority") != 0 && strcmp(path, "/v1/invitation") != 0)
        fplt__exchange_refuse(exchange, 404, "unknown", 1, "there is no %.60s here", path);
    *limit = strcmp(path, "/v1/invitation") == 0 ? MOST_REQUEST : 0;
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

static void redeem(fplt__door *door, fplt__exchange *exchange)
{
    json_error_t where;
    const char *secret = NULL, *request = NULL;
    char *certificate = NULL;
    fplt_error error = {FPLT_OK, ""};
    json_t *body = json_loadb((const char *)fplt__exchange_body(exchange),
                              fplt__exchange_size(exchange), JSON_REJECT_DUPLICATES, &where);
    if (!body || json_unpack(body, "{s:s, s:s !}", "secret", &secret, "request", &request)) {
        fplt__exchange_refuse(exchange, 400, "invitation", 1, "a secret and a request are wanted");
    } else if (fplt__authority_redeem(door->authority, secret, request, &certificate, &error)) {
        door->tell(door->context, "refused", error.text);
        fplt__exchange_refuse(exchange, 403, "invitation", 1, "%s", error.text);
    } else {
        tell_admitted(door, certificate);
        fplt__exchange_answer_text(exchange, 200, "application/x-pem-file", certificate);
    }
    fplt__free(certificate);
    json_decref(body);
}

static void whole(void *context, fplt__exchange *exchange)
{
    fplt__door *door = context;
    if (strcmp(fplt__exchange_path(exchange), "/v1/authority") == 0)
        fplt__exchange_answer_text(exchange, 200, "application/x-pem-file",
                                   door->authority->certificate);
    else
        redeem(door, exchange);
}

static void expired(void *context, fplt__exchange *exchange)
{
    (void)context;
    fplt__exchange_refuse(exchange, 503, "busy", 0, "the coordinator is busy");
}

static void ended(void *context, fplt__exchange *exchange)
{
    (void)context, (void)exchange;
}

static void refused(void *context, const char *word, const char *sentence)
{
    const fplt__door *door = context;
    (void)word;
    door->tell(door->context, "refused", sentence);
}

fplt_status fplt__door_open(fplt__door *door, const char *listen, fplt__server **server,
                            fplt_error *error)
{
    fplt__service service = {.context = door,
                             .head = head,
                             .whole = whole,
                             .expired = expired,
                             .ended = ended,
                             .refused = refused};
    fplt__server_settings settings = {.listen = listen,
                                      .certificate = door->authority->server,
                                      .key = door->authority->server_key,
                                      .connections = MOST_CALLERS,
                                      .window = 1};
    return fplt__server_create(&settings, &service, server, error);
}
