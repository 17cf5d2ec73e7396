#include "net/door.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"

enum {
    MAX_REQUEST = 16384,
    MAX_CONNECTIONS = 64,
    MAX_OF_ADDRESS = 32 /* of them from one address; a join takes two, one after the other */
};

static const struct {
    const char *method, *path;
    uint64_t limit;
} routes[] = {{"GET", "/v1/authority", 0}, {"POST", "/v1/invitation", MAX_REQUEST}};

static void head(void *context, fplt__exchange *exchange, uint64_t length, uint64_t *limit)
{
    (void)context, (void)length;
    const char *path = fplt__exchange_path(exchange);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (strcmp(path, routes[i].path) != 0)
            continue;
        *limit = routes[i].limit;
        if (strcmp(fplt__exchange_method(exchange), routes[i].method) != 0)
            fplt__exchange_refuse_method(exchange, routes[i].method);
        return;
    }
    fplt__exchange_refuse(exchange, 404, "unknown", 1, "there is no %.60s here", path);
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

static void refuse(const fplt__door *door, fplt__exchange *exchange, unsigned code,
                   const char *sentence)
{
    door->tell(door->context, "refused", fplt__exchange_reports(exchange) ? sentence : NULL);
    fplt__exchange_distrust(exchange);
    fplt__exchange_refuse(exchange, code, "invitation", 1, "%s", sentence);
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
        refuse(door, exchange, 400, "a secret and a request are wanted");
    } else if (fplt__authority_redeem(door->authority, secret, request, &certificate, &error)) {
        refuse(door, exchange, 403, error.text);
    } else {
        fplt__exchange_trust(exchange);
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
                             .refused = refused};
    fplt__server_settings settings = {.listen = listen,
                                      .certificate = door->authority->server,
                                      .key = door->authority->server_key,
                                      .connections = MAX_CONNECTIONS,
                                      .per_address = MAX_OF_ADDRESS,
                                      .rate = 1,
                                      .window = 1};
    return fplt__server_create(&settings, &service, server, error);
}
