/* The agent's end of HTTPS: one connection, one request at a time, outbound only. Every failure is a
 * sentence that names host, proxy, cause and remedy. */
#ifndef FPLT_FEDERATION_CLIENT_H
#define FPLT_FEDERATION_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

typedef struct fplt__client fplt__client;

typedef struct fplt__client_settings {
    const char *url;         /* https://HOST:PORT */
    const char *authority;   /* PEM that the server's certificate must be of; NULL: anybody is
                                believed, for what is public and checked otherwise */
    const char *certificate; /* the agent's own, PEM; NULL: none is shown (an invitation) */
    const char *key;
    const char *proxy; /* NULL or "auto": as the environment says; "off"; or its address */
    /* Called now and then while it waits; non-zero gives up. NULL: never. */
    int (*interrupted)(void *context);
    void *context;
    /* Says why the other side's certificate (PEM; empty: none came) was rejected, where an authority is given. NULL: one
     * sentence for all. */
    void (*explain)(const char *certificate, const char *authority, char *why, size_t size);
} fplt__client_settings;

fplt_status fplt__client_create(const fplt__client_settings *settings, fplt__client **client,
                                fplt_error *error);
void fplt__client_destroy(fplt__client *client);

typedef struct fplt__call {
    const char *method, *path; /* "POST", "/v1/next" */
    const char *header;        /* one of the request, "Name: value"; or NULL */
    const char *wanted;        /* name of a header of the answer whose value is kept; or NULL */
    const char *type;          /* of the body */
    const void *body;
    size_t size;
    uint64_t limit; /* longest answer that is taken */
} fplt__call;

/* Valid until the next call. */
typedef struct fplt__answered {
    unsigned status;
    const uint8_t *body;
    size_t size;
    char header[256]; /* value of the one that was wanted; empty: none */
} fplt__answered;

/* FPLT_FAILED when interrupted, FPLT_IO for whatever is worth another try. An answer of any HTTP status
 * is a success. */
fplt_status fplt__client_call(fplt__client *client, const fplt__call *call,
                              fplt__answered *answered, fplt_error *error);

/* Closes the connection in good order, so that the other side knows that the last answer has arrived; the next call opens another one.
 * Without memory it stays open. Not within a call. */
void fplt__client_disconnect(fplt__client *client);

/* Bytes of bodies so far. */
uint64_t fplt__client_sent(const fplt__client *client);
uint64_t fplt__client_received(const fplt__client *client);

#endif
