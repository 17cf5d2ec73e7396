/* An HTTP/1.1 server, over TLS 1.3 or in the clear: things happen only in fplt__servers_turn, but for
 * `prepare`, which may have a thread of its own. It holds every limit of the federation: a handshake or a
 * request's headers take at most 10 s, a body comes at 10 kB/s at least, its length is known and allowed
 * before anything is allocated, large bodies wait for one of a few buffers, and no answer is kept waiting
 * for ever. */
#ifndef FPLT_FEDERATION_SERVER_H
#define FPLT_FEDERATION_SERVER_H

#include <gnutls/x509.h>
#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"
#include "base/digest.h"

enum {
    FPLT_ROOM_SECONDS = 25,   /* that a body waits for a buffer */
    FPLT_HELD_SECONDS = 35,   /* that an answer waits for news; the protocol gives up after 25 */
    FPLT_HEADER_SECONDS = 10, /* handshake, headers */
    FPLT_SMALL_BODY = 65536,  /* needs no room in the window */
    FPLT_RECEIVE_BUFFER = 256 * 1024 /* of the kernel for a connection */
};

typedef struct fplt__server fplt__server;
typedef struct fplt__http_transaction fplt__http_transaction; /* a request and its answer */

/* The owner's part. It answers with fplt__http_transaction_answer, at once or later. */
typedef struct fplt__service {
    void *context;
    /* Bytes of the owner's that go with each connection (fplt__http_transaction_peer), zeros at first; and what writes
     * to them when a client shows a certificate of the authority that is asked for. Whether the certificate is one of
     * a client that this server is there for. */
    size_t peer_size;
    int (*identify)(gnutls_x509_crt_t certificate, void *peer);
    /* The headers are in; `length` is that of the body. Sets *limit, the largest body that is
     * legal, or answers (a refusal; the body is then not read). */
    void (*head)(void *context, fplt__http_transaction *transaction, uint64_t length,
                 uint64_t *limit);
    /* The body of an transaction marked by fplt__http_transaction_prepare is in: what needs the body alone. On any thread,
     * so nothing but the body may be read, and nothing written but by fplt__http_transaction_set_digest. */
    void (*prepare)(fplt__http_transaction *transaction);
    /* The request is whole: answer, or hold. */
    void (*whole)(void *context, fplt__http_transaction *transaction);
    /* About once a second while bytes of a request's body, or of its answer, move; or NULL. */
    void (*moves)(void *context, fplt__http_transaction *transaction);
    /* A hold is over: answer now. */
    void (*expired)(void *context, fplt__http_transaction *transaction);
    /* The transaction ends, answered or not; nothing may be kept that points to it. */
    void (*ended)(void *context, fplt__http_transaction *transaction);
    /* A connection ends. `finished`: the client ended it in good order, with every answer sent before, so that the last one
     * has arrived; otherwise it broke, and the last answer may be lost. NULL: not used. */
    void (*closed)(void *context, void *peer, int finished);
    /* A connection was refused below HTTP: a word to count it by (certificate, handshake, slow, malformed, limit;
     * NULL: nothing to count) and a line for the log, which names the address (NULL: only counted). */
    void (*refused)(void *context, const char *word, const char *sentence);
    /* The body of a refusal, released with fplt__free; NULL: there is no memory. Where the owner has none, the
     * sentence itself is the body. */
    char *(*fault)(const char *word, int final, const char *sentence);
    /* Of owners of an answer's bytes; NULL where there are none. */
    void (*hold)(void *owner);
    void (*release)(void *owner);
} fplt__service;

typedef struct fplt__server_settings {
    const char *listen;            /* HOST:PORT; port 0: chosen by the system */
    const char *certificate, *key; /* PEM, copied; NULL: in the clear */
    const char *authority;         /* clients must have its certificate; NULL: any client */
    unsigned connections;          /* at most */
    /* Of connections that have shown no certificate, the oldest is closed first when one of these limits is reached. */
    unsigned
        unproven; /* at most, from addresses from which no member came within a day; 0: `connections` */
    unsigned
        per_address; /* at most from one address, and how many it may open at once; 0: any number */
    double
        rate; /* connections a second that an address may open beyond that, if no certificate comes;
                             members' addresses may open 16 times as many, all others together 64 times */
    unsigned window;       /* large bodies at once, or as many bytes of smaller ones */
    double header_timeout; /* seconds for handshake and headers; 0: FPLT_HEADER_SECONDS */
} fplt__server_settings;

fplt_status fplt__server_create(const fplt__server_settings *settings, const fplt__service *service,
                                fplt__server **server, fplt_error *error);
void fplt__server_destroy(fplt__server *server);
/* Adopts an accepted non-blocking socket as a connection of `peer` (service.peer_size bytes). Only for servers without
 * TLS, because the peer is not authenticated. The server owns the descriptor from now on. */
fplt_status fplt__server_adopt(fplt__server *server, int descriptor, const void *peer,
                               fplt_error *error);
unsigned fplt__server_port(const fplt__server *server);
/* Another certificate for new connections. Where certificate or key is bad, or they do not belong together, the old
 * ones stay in force. */
fplt_status fplt__server_certify(fplt__server *server, const char *certificate, const char *key,
                                 fplt_error *error);
void fplt__server_set_window(fplt__server *server, unsigned window);
/* Open connections, and bytes of bodies in and out. */
unsigned fplt__server_connections(const fplt__server *server);
uint64_t fplt__server_received(const fplt__server *server);
uint64_t fplt__server_sent(const fplt__server *server);

/* Waits until one of the servers has something to do, `seconds` have passed, or the descriptor (-1:
 * none) can be read, and lets the servers do it. Whether the descriptor can be read. */
int fplt__servers_turn(fplt__server *const *servers, size_t count, int descriptor, double seconds);

/* The request. Texts live as long as the transaction. */
const char *fplt__http_transaction_method(const fplt__http_transaction *transaction);
const char *fplt__http_transaction_path(const fplt__http_transaction *transaction);
const char *fplt__http_transaction_header(const fplt__http_transaction *transaction,
                                          const char *name); /* or NULL */
const uint8_t *fplt__http_transaction_body(const fplt__http_transaction *transaction);
size_t fplt__http_transaction_size(const fplt__http_transaction *transaction);
/* The owner's bytes that go with the connection. */
void *fplt__http_transaction_peer(fplt__http_transaction *transaction);
/* The connection is one of a member: places for its address are reserved for a day. */
void fplt__http_transaction_trust(fplt__http_transaction *transaction);
/* The address of the connection, as the log writes it; empty: a local socket. */
enum { FPLT__HTTP_ADDRESS = 64 };
void fplt__http_transaction_address(const fplt__http_transaction *transaction,
                                    char text[FPLT__HTTP_ADDRESS]);
/* A member came from there in an earlier process: places for the address (a text of fplt__http_transaction_address()) are
 * reserved for a day. Nothing where the text is no address. */
void fplt__server_expect(fplt__server *server, const char *address);
/* The request is refused, before its answer is given: its address has one connection less to open for a while, and the
 * connection is closed after the answer. */
void fplt__http_transaction_distrust(fplt__http_transaction *transaction);
/* Whether the refusal gets a log line of its own; if not, it is counted, and `refused` reports the count. */
int fplt__http_transaction_reports(fplt__http_transaction *transaction);
/* In `head`: when the body is in, `prepare` comes before `whole`, and the server goes on meanwhile. */
void fplt__http_transaction_prepare(fplt__http_transaction *transaction);
/* Of what the body says; NULL where it was not set. */
void fplt__http_transaction_set_digest(fplt__http_transaction *transaction, fplt__digest digest);
const fplt__digest *fplt__http_transaction_digest(const fplt__http_transaction *transaction);
/* Something of the owner's that goes with the transaction. */
void fplt__http_transaction_set_data(fplt__http_transaction *transaction, void *data);
void *fplt__http_transaction_data(const fplt__http_transaction *transaction);

/* The answer waits; if it still does after FPLT_HELD_SECONDS, `expired` is called. */
void fplt__http_transaction_hold(fplt__http_transaction *transaction);
void fplt__http_transaction_add_header(fplt__http_transaction *transaction, const char *name,
                                       const char *value);
/* Releases the body, if the owner is done with it before it answers. */
void fplt__http_transaction_drop_body(fplt__http_transaction *transaction);

/* Bytes of an answer. */
typedef struct fplt__http_piece {
    const void *bytes;
    size_t size;
    void *owner; /* of the bytes, held until they are sent; NULL: they are copied */
} fplt__http_piece;
void fplt__http_transaction_answer(fplt__http_transaction *transaction, unsigned code,
                                   const char *type, const fplt__http_piece *pieces, size_t count);
void fplt__http_transaction_answer_text(fplt__http_transaction *transaction, unsigned code,
                                        const char *type, const char *text);
/* With the body that the owner's `fault` makes of it. */
void fplt__http_transaction_refuse(fplt__http_transaction *transaction, unsigned code,
                                   const char *word, int final, const char *format, ...)
    FPLT_PRINTF(5, 6);
/* 405, with the methods that are legal for the path. */
void fplt__http_transaction_refuse_method(fplt__http_transaction *transaction, const char *allowed);

#endif
