/* What the files of a server share. Each calls those before it only: unproven.c (connections without a certificate,
 * refusals), ready.c (connections that may go on), tls.c, transaction.c (bodies, rooms, answers), connection.c (a
 * connection from its handshake to its end), accepting.c (which connections are accepted and which are closed for
 * others), server.c (life, limits of time). */
#ifndef FPLT_FEDERATION_SERVING_H
#define FPLT_FEDERATION_SERVING_H

#include <gnutls/gnutls.h>

#include "http/admission.h"
#include "http/worker.h"
#include "http/credentials.h"
#include "http/head.h"
#include "http/channel.h"
#include "http/server.h"

enum {
    FPLT__INTAKE = FPLT__RECORD +
                   2048,   /* bytes of a connection's buffer: a record, and what was there before */
    FPLT__MAX_PIECES = 16, /* of an answer */
    FPLT__MAX_SPARE = 128,
    FPLT__ANSWER_HEADERS = 2048 /* bytes of those that the owner adds */
};

typedef enum fplt__stage {
    FPLT__NO_REQUEST,
    FPLT__WAITS_FOR_ROOM,
    FPLT__RECEIVES,
    FPLT__PREPARES,
    FPLT__WHOLE,
    FPLT__HELD,
    FPLT__ANSWERED
} fplt__stage;

typedef struct fplt__http_connection fplt__http_connection; /* a connection */

/* Exchanges that wait, all equally long: the first is the first whose time is up. */
typedef struct fplt__queue {
    fplt__http_transaction *first, *last;
} fplt__queue;

struct fplt__http_transaction {
    fplt__server *server;
    fplt__http_connection *connection;
    fplt__stage stage;
    int large, prepares, has_digest;
    fplt__work_item work_item; /* while it is prepared */
    fplt__digest digest;
    fplt__http_head head; /* its texts are in the caller's buffer */
    uint64_t length;      /* of the body */
    size_t received;
    uint8_t *body; /* owned */
    size_t room;   /* of it */
    double since;  /* when the answer began */
    double due;    /* deadline of the body's next bytes */
    double held_until;
    void *data;
    fplt__queue *queue; /* it waits in, or NULL */
    fplt__http_transaction *next, *previous;
    size_t header_size; /* of the answer's */
    char header[FPLT__ANSWER_HEADERS];
};

/* What is being sent. */
typedef struct fplt__outgoing {
    char *text; /* owned: the head, and what has no owner */
    size_t room;
    size_t count, size, done; /* pieces; bytes of all, and those that are gone */
    struct {
        const uint8_t *bytes;
        size_t size;
        void *owner;
    } piece[FPLT__MAX_PIECES + 1];
} fplt__outgoing;

struct fplt__http_connection {
    fplt__http_connection *next, **link;
    fplt__http_connection *ready_next, *ready_previous;
    int ready; /* it is in the channel of those that may go on */
    fplt__server *server;
    fplt__http_channel channel;
    fplt__origin *origin;                 /* NULL: the owner adopted it */
    fplt__credentials *credentials;       /* held: what the handshake shows; NULL: in the clear */
    fplt__http_connection *older, *newer; /* in the list of those without a certificate */
    int is_unproven, is_reserved; /* is_reserved: in one of the places for members' addresses */
    int is_trusted;               /* the owner has admitted it as a member's */
    int in_handshake;
    int served;      /* a request, at least */
    int expects;     /* waits for 100-continue before it sends its body */
    int closes;      /* after the answer */
    int lingers;     /* answered: further bytes of the client are discarded */
    uint64_t skip;   /* remaining bytes of a body that is discarded */
    double skip_due; /* deadline of the next of them */
    int refused;
    double since; /* when the handshake, a head, the time between requests, or the end began */
    int has_certificate; /* of the authority that is asked for */
    int is_client;       /* which the owner knows as a client's */
    uint64_t moved;      /* bytes that the other side sent or has acknowledged, when last seen */
    uint8_t *in;         /* owned: FPLT__INTAKE bytes, the head first */
    size_t in_from;      /* where what is not taken yet begins */
    size_t in_size, in_seen;
    fplt__http_transaction transaction;
    fplt__outgoing out;
    max_align_t peer[]; /* the owner's: service.peer_size bytes */
};

/* A buffer of a body, kept for the next. */
struct fplt__spare {
    uint8_t *bytes; /* owned */
    size_t size;
};

struct fplt__server {
    fplt__service service;
    int listener, listens, epoll;
    double deaf_until; /* the system is out of descriptors until then */
    unsigned port, connections, most, window;
    /* Connections without a certificate: at most max_unproven from addresses that are no member's, and max_of_address
     * from one address. The list has the oldest first. */
    unsigned max_unproven, max_of_address;
    unsigned unproven[2]; /* of no member's addresses, and in reserved places */
    fplt__http_connection *unproven_first, *unproven_last;
    fplt__admission *admission;
    size_t large; /* bytes of large bodies at hand */
    struct fplt__spare spare[FPLT__MAX_SPARE];
    size_t spared; /* bytes of them */
    int tls, wants_certificate;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
    gnutls_x509_crt_t authority;
    fplt__credentials *shown; /* held; to new connections */
    fplt__http_connection *open_connections;
    fplt__http_connection *ready_first, *ready_last; /* ready to proceed */
    fplt__queue rooms, held;                         /* waiting for memory, and held by the owner */
    uint64_t received, sent;
    double now, swept, watched, header_timeout;
    fplt__http_worker *worker;    /* prepares bodies; NULL: no thread for it */
    uint8_t record[FPLT__RECORD]; /* to put bytes together */
};

/* unproven.c */

/* The connection counts among those without a certificate, as the newest; its origin is set. */
void fplt__http_connection_enter(fplt__http_connection *connection);
/* The handshake of the connection is done. */
void fplt__http_connection_prove(fplt__http_connection *connection);
/* The connection ends: it no longer counts. */
void fplt__http_connection_leave(fplt__http_connection *connection);
/* Counts a refusal by its word, with a log channel where its address has not had one within a minute. */
void fplt__http_connection_refuse(fplt__http_connection *connection, const char *word,
                                  const char *sentence);
/* The minute's count of refusals without a channel. */
void fplt__server_sum_up(fplt__server *server, double now);
void fplt__server_refuse_origin(fplt__server *server, fplt__origin *origin, const char *word,
                                const char *sentence); /* NULL: unknown origin */

/* ready.c */

/* Adds the connection to the ready list, or removes it. */
void fplt__http_connection_set_ready(fplt__http_connection *connection);
void fplt__http_connection_clear_ready(fplt__http_connection *connection);
/* The deadline of a body after `bytes` more of it have come: it grows by the time that they may take at the slowest
 * legal rate, but to no later than two header timeouts from now, whatever was sent before. */
double fplt__server_extend(const fplt__server *server, double due, size_t bytes);

/* tls.c */

fplt_status fplt__server_set_up_tls(fplt__server *server, const fplt__server_settings *settings,
                                    fplt_error *error);
/* A session of TLS for a new connection; NULL where there is no memory. */
gnutls_session_t fplt__server_session(fplt__server *server);

/* invariants.c: lists against counts, flags against stages, positions against buffers. Does nothing without
 * assertions. */
void fplt__server_check(const fplt__server *server);

/* accepting.c */

/* Listens where another connection can be accepted, and the system has one. */
void fplt__server_update_accepting(fplt__server *server);
void fplt__server_accept(fplt__server *server);
/* connection.c */

/* A new connection; NULL where there is no memory, and the descriptor is closed. */
fplt__http_connection *fplt__http_connection_begin(fplt__server *server, int descriptor,
                                                   gnutls_session_t session);
void fplt__http_connection_end(fplt__http_connection *connection);
/* Serves the ready connections, some of them more than once; returns whether any made progress. */
int fplt__http_connections_go_on(fplt__server *server);
/* Closes all connections; finished answers are sent as far as possible without blocking. */
void fplt__http_connections_part(fplt__server *server);

/* transaction.c */

/* The head is complete: decides whether the body is accepted, and where it is stored. */
void fplt__http_transaction_begin(fplt__http_transaction *transaction);
/* The body is complete. */
void fplt__http_transaction_complete(fplt__http_transaction *transaction);
/* The transaction ends, answered or not. */
void fplt__http_transaction_end(fplt__http_transaction *transaction);
/* Continues transactions that are prepared, that have memory now, or whose hold has expired. */
void fplt__http_transactions_serve(fplt__server *server);
/* Seconds until one of those that wait must be served. */
double fplt__http_transactions_wait(const fplt__server *server, double now);
/* Ends all holds. */
void fplt__http_transactions_end(fplt__server *server);
void fplt__http_transactions_forget(fplt__server *server);

#endif
