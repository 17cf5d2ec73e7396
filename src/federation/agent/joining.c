/* How a site gets its certificate, and the coordinator's side of it: the functions of
 * fedplt/federation.h about identities. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/network.h"
#include "federation/plan/routes.h"
#include "fedplt/federation.h"
#include "federation/plan/program.h"
#include "pki/authority.h"
#include "http/client.h"

enum { MAX_PEM = 1 << 20 };

/* The coordinator's */

static fplt_status write_template(const char *folder, const char *federation, const char *address,
                                  fplt_error *error)
{
    char path[4200], text[1024], host[256];
    unsigned port = 7443;
    snprintf(path, sizeof path, "%s/federation.yaml", folder);
    if (access(path, F_OK) == 0)
        return FPLT_OK;
    fplt_status status = fplt__address_split(address, host, sizeof host, &port, error);
    if (status)
        return status;
    snprintf(
        text, sizeof text,
        "federation: %s\n"
        "listen: %s:%u     # %s:%u to be reached from other machines\n"
        "status: 127.0.0.1:%u     # live page, for this machine only\n"
        "roster: []                # names of the agents: fedplt pki invite NAME\n"
        "train: {}                 # keys of fedplt train; --dry-run shows what is meant without\n"
        "# privacy: {epsilon: 2}   # and a schema\n"
        "# run: 2                  # the next run\n"
        "# continue: yes           # which begins at the last model\n",
        federation, strchr(host, ':') ? "[::1]" : "127.0.0.1", port,
        strchr(host, ':') ? "[::]" : "0.0.0.0", port, port < 65533 ? port + 2 : 0);
    return fplt__file_save(path, 0644, text, strlen(text), error);
}

fplt_status fplt_federation_found(const char *folder, const char *federation, const char *address,
                                  fplt_error *error)
{
    fplt_status status = fplt__authority_found(folder, federation, address, error);
    return status ? status : write_template(folder, federation, address, error);
}

fplt_status fplt_federation_renew(const char *folder, const char *address, fplt_error *error)
{
    return fplt__authority_renew(folder, address, error);
}

fplt_status fplt_federation_invite(const char *folder, const char *name, char **code,
                                   fplt_error *error)
{
    fplt__authority authority;
    char text[600];
    *code = NULL;
    fplt_status status = fplt__authority_open(folder, &authority, error);
    if (status)
        return status;
    status = fplt__authority_invite(&authority, name, text, sizeof text, error);
    fplt__authority_close(&authority);
    if (!status && !(*code = fplt__strdup(text)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for an invitation");
    sodium_memzero(text, sizeof text);
    return status;
}

fplt_status fplt_federation_sign(const char *folder, const char *request, char **certificate,
                                 fplt_error *error)
{
    fplt__authority authority;
    char name[FPLT_NAME_SIZE];
    *certificate = NULL;
    fplt_status status = fplt__authority_open(folder, &authority, error);
    if (status)
        return status;
    if (!(status = fplt__request_read(request, name, error)))
        status = fplt__authority_sign(&authority, request, name, certificate, error);
    fplt__authority_close(&authority);
    return status;
}

fplt_status fplt_federation_revoke(const char *folder, const char *name, fplt_error *error)
{
    fplt__authority authority;
    fplt_status status = fplt__authority_open(folder, &authority, error);
    if (status)
        return status;
    status = fplt__authority_revoke(&authority, name, error);
    fplt__authority_close(&authority);
    return status;
}

struct visit {
    fplt_federation_visitor visitor;
    void *context;
};

static void visit_member(void *context, const fplt__member *member)
{
    struct visit *visit = context;
    char until[16];
    fplt__date(member->ends, until);
    fplt_federation_member shown = {member->name, member->state, until};
    visit->visitor(visit->context, &shown);
}

fplt_status fplt_federation_members(const char *folder, fplt_federation_visitor visitor,
                                    void *context, fplt_error *error)
{
    fplt__authority authority;
    struct visit visit = {visitor, context};
    fplt_status status = fplt__authority_open(folder, &authority, error);
    if (status)
        return status;
    status = fplt__authority_list(&authority, visit_member, &visit, error);
    fplt__authority_close(&authority);
    return status;
}

/* The site's */

static void path_in(const char *folder, const char *file, char path[4200])
{
    snprintf(path, 4200, "%.4000s/%s", folder, file);
}

/* A key that is there already is used again, so that a join that was interrupted can be repeated. */
static fplt_status own_key(const char *folder, char **key, fplt_error *error)
{
    char path[4200];
    size_t size;
    fplt_status status;
    if (mkdir(folder, 0700) && errno != EEXIST)
        return fplt_error_set(error, FPLT_IO, "%s: %s", folder, strerror(errno));
    path_in(folder, "agent.pem", path);
    if (access(path, F_OK) == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: this folder has a certificate already; choose another folder, "
                              "or remove it",
                              path);
    path_in(folder, "agent.key", path);
    if (access(path, F_OK) == 0)
        return fplt__file_read(path, MAX_PEM, key, &size, error);
    if ((status = fplt__key_make(key, error)))
        return status;
    return fplt__file_save(path, 0600, *key, strlen(*key), error);
}

/* Asked for twice, it must be the same bytes: the coordinator lets one request use an invitation. */
static fplt_status own_request(const char *folder, const char *key, const char *name,
                               char **request, fplt_error *error)
{
    char path[4200], known[FPLT_NAME_SIZE];
    size_t size;
    path_in(folder, "agent.request", path);
    if (access(path, F_OK) == 0) {
        fplt_status status = fplt__file_read(path, MAX_PEM, request, &size, error);
        if (status || (!fplt__request_read(*request, known, NULL) && strcmp(known, name) == 0))
            return status;
        fplt__free(*request);
    }
    fplt_status status = fplt__request_make(key, name, request, error);
    return status ? status : fplt__file_save(path, 0644, *request, strlen(*request), error);
}

fplt_status fplt_federation_request(const char *folder, const char *name, char **request,
                                    fplt_error *error)
{
    char *key = NULL;
    *request = NULL;
    fplt_status status = fplt__name_check("the agent's name", name, error);
    if (status)
        return status;
    if (!(status = own_key(folder, &key, error)))
        status = own_request(folder, key, name, request, error);
    if (key)
        sodium_memzero(key, strlen(key));
    fplt__free(key);
    return status;
}

static fplt_status call(const char *url, const char *proxy, const char *authority,
                        const fplt__call *wanted, char **text, fplt_error *error)
{
    fplt__client_settings settings = {
        .url = url, .authority = authority, .proxy = proxy, .explain = fplt__certificate_explain};
    fplt__client *client;
    fplt__answered answered;
    *text = NULL;
    fplt_status status = fplt__client_create(&settings, &client, error);
    if (status)
        return status;
    if (!(status = fplt__client_call(client, wanted, &answered, error)) &&
        !(*text = fplt__strndup(answered.size ? (const char *)answered.body : "", answered.size)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for an answer");
    if (!status && answered.status != 200) {
        json_t *fault = json_loads(*text, 0, NULL);
        const char *sentence = json_string_value(json_object_get(fault, "sentence"));
        status = fplt_error_set(error, FPLT_FAILED, "%s: %s", url,
                                sentence ? sentence : "an answer that is not understood");
        json_decref(fault);
    }
    fplt__client_destroy(client);
    return status;
}

/* Anybody may have answered so far: only the fingerprint says who it is. */
static fplt_status fetch_authority(const fplt__invitation *invitation, const char *url,
                                   const char *proxy, char **authority, fplt_error *error)
{
    uint8_t fingerprint[FPLT_FINGERPRINT_SIZE];
    fplt__call wanted = {.method = "GET", .path = FPLT__AUTHORITY_PATH, .limit = FPLT__PEM_LIMIT};
    fplt_status status = call(url, proxy, NULL, &wanted, authority, error);
    if (!status && !(status = fplt__certificate_digest(*authority, fingerprint, error)) &&
        sodium_memcmp(fingerprint, invitation->fingerprint, sizeof fingerprint) != 0)
        status =
            fplt_error_set(error, FPLT_FAILED,
                           "%s: who answers there is not who wrote the invitation; nothing was "
                           "sent",
                           url);
    return status;
}

static fplt_status save_certificate(const char *folder, const char *certificate,
                                    const fplt__invitation *invitation, char *name,
                                    fplt_error *error)
{
    char path[4200], text[1000];
    fplt__identity identity;
    fplt_status status = fplt__certificate_read(certificate, "the answer", &identity, error);
    if (status)
        return status;
    snprintf(name, FPLT_NAME_SIZE, "%s", identity.name);
    path_in(folder, "agent.pem", path);
    if ((status = fplt__file_save(path, 0644, certificate, strlen(certificate), error)))
        return status;
    path_in(folder, "agent.request", path);
    unlink(path);
    path_in(folder, "site.yaml", path);
    if (access(path, F_OK) == 0)
        return FPLT_OK;
    snprintf(
        text, sizeof text,
        "coordinator: https://%s%s%s:%u\n"
        "data: site.csv            # and whatever else says how to read it\n"
        "# policy:\n"
        "#   federations: [%s]\n"
        "#   algorithms: [fed-plt, fed-plt-anderson, fed-newton, fed-lbfgs]   # not said: any\n"
        "#   rounds: 1000           # at most\n"
        "#   participants: 3        # at least\n"
        "#   epsilon: 2             # budget of all runs; off: to train without privacy\n",
        strchr(invitation->host, ':') ? "[" : "", invitation->host,
        strchr(invitation->host, ':') ? "]" : "", invitation->port, identity.federation);
    return fplt__file_save(path, 0644, text, strlen(text), error);
}

static fplt_status address_of(const fplt__invitation *invitation, char *url, size_t size,
                              fplt_error *error)
{
    int length =
        snprintf(url, size, strchr(invitation->host, ':') ? "https://[%s]:%u" : "https://%s:%u",
                 invitation->host, invitation->port + 1);
    return length > 0 && (size_t)length < size
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE, "the address %.100s is too long",
                                invitation->host);
}

fplt_status fplt__federation_join_address(const char *code, char *url, size_t size,
                                          fplt_error *error)
{
    fplt__invitation invitation;
    fplt_status status = fplt__invitation_parse(code, &invitation, error);
    if (!status)
        status = address_of(&invitation, url, size, error);
    sodium_memzero(&invitation, sizeof invitation);
    return status;
}

fplt_status fplt_federation_join(const char *code, const char *folder, const char *proxy,
                                 char *name, fplt_error *error)
{
    fplt__invitation invitation;
    char url[300], *key = NULL, *request = NULL, *authority = NULL, *body = NULL,
                   *certificate = NULL;
    fplt_status status;
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "the system has no randomness");
    if ((status = fplt__invitation_parse(code, &invitation, error)) ||
        (status = address_of(&invitation, url, sizeof url, error)))
        return status;
    if (!(status = own_key(folder, &key, error)) &&
        !(status = own_request(folder, key, "agent", &request, error)) &&
        !(status = fetch_authority(&invitation, url, proxy, &authority, error))) {
        json_t *document = json_pack("{s:s, s:s}", "secret", invitation.secret, "request", request);
        body = document ? json_dumps(document, JSON_COMPACT) : NULL;
        json_decref(document);
        fplt__call wanted = {.method = "POST",
                             .path = FPLT__INVITATION_PATH,
                             .type = "application/json",
                             .body = body,
                             .size = body ? strlen(body) : 0,
                             .limit = FPLT__PEM_LIMIT};
        status = call(url, proxy, authority, &wanted, &certificate, error);
    }
    if (!status)
        status = save_certificate(folder, certificate, &invitation, name, error);
    if (key)
        sodium_memzero(key, strlen(key));
    sodium_memzero(&invitation, sizeof invitation);
    free(body);
    fplt__free(key);
    fplt__free(request);
    fplt__free(authority);
    fplt__free(certificate);
    return status;
}
