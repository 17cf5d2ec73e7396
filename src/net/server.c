#include "net/server.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <math.h>
#include <linux/tcp.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/memory.h"
#include "net/aside.h"
#include "net/intake.h"
#include "wire/message.h"

enum { MOST_HEADERS = 8, IDLE_SECONDS = 300, MOST_PIECES = 16, MOST_RECORDS = 16 };
enum {
    LEAST_ROOM = 2 << 20,    /* the window counts bodies of so many bytes at least */
    WORTH_KEEPING = 1 << 14, /* as a spare buffer: its pages would be cleared anew */
    MOST_SPARE = 128,
    MOST_HOLDINGS = 128, /* kept for the next answers */
    MOST_SERVERS = 7,
    WORTH_PREPARING =
        1 << 14,    /* bytes; those above FPLT_RECEIVE_BUFFER find hands when they are taken */
    MOST_RUNS = 16, /* of a server in one turn, while it has something to do */
    CONNECTION_MEMORY = 36 << 10, /* half of it is for reading: a record and what is before it */
    RECORD = 16384                /* of TLS */
};

static const char tls_priority[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";

/* A connection. */
typedef struct caller {
    struct caller *next, **link;
    fplt__server *server;
    int descriptor;
    double since; /* of the handshake, or of the request line */
    int reading;  /* a handshake or headers are under way */
    int refused;
    fplt__identity identity;
    int64_t place;  /* the owner's */
    double judged;  /* the owner's */
    uint64_t moved; /* bytes that the other side sent or has acknowledged, when last seen */
    fplt__exchange *exchange; /* at hand, or NULL */
    fplt__intake intake;
} caller;

enum stage { HEAD, WAITS_FOR_ROOM, RECEIVES, PREPARES, WHOLE, HELD, ANSWERED };

struct fplt__exchange {
    fplt__server *server;
    struct MHD_Connection *connection;
    caller *peer;
    enum stage stage;
    int suspended, large, in_handler, prepares, has_digest;
    fplt__errand errand; /* while it is prepared */
    fplt__digest digest;
    const char *method;
    char *path; /* owned */
    uint64_t length;
    size_t received;
    uint8_t *body;            /* owned */
    size_t room;              /* of it */
    double since, held_until; /* when the body began */
    unsigned code;
    struct MHD_Response *response;
    size_t header_count;
    struct {
        char name[40], value[512];
    } header[MOST_HEADERS];
    void *data;
    struct queue *queue; /* it waits in, or NULL */
    fplt__exchange *next, *previous;
};

/* Exchanges that wait, all equally long: the first is the first whose time is up. */
struct queue {
    fplt__exchange *first, *last;
};

/* A buffer of a body, kept for the next. */
struct spare {
    uint8_t *bytes; /* owned */
    size_t size;
};

struct fplt__server {
    fplt__service service;
    struct MHD_Daemon *daemon;
    int listener, epoll;
    unsigned port, connections, window;
    size_t large; /* bytes of large bodies at hand */
    struct spare spare[MOST_SPARE];
    size_t spared; /* bytes of them */
    int tls, wants_certificate;
    gnutls_x509_crt_t authority;
    gnutls_pcert_st *chain;
    unsigned chain_length;
    gnutls_privkey_t private_key;
    caller *peers;
    struct queue rooms, held; /* who waits for room, and for news */
    uint64_t received, sent;
    double swept, watched, patience;
    struct holding *holdings; /* owned: those that nobody needs now */
    size_t holding_count;
    fplt__aside *aside; /* prepares; NULL: nobody does */
    int stirred; /* a connection was resumed, which the daemon looks at in its next run only */
};

/* TLS */

static int verify(gnutls_session_t session)
{
    caller *peer = gnutls_db_get_ptr(session);
    unsigned count = 0;
    const gnutls_datum_t *found = gnutls_certificate_get_peers(session, &count);
    gnutls_x509_crt_t certificate = NULL;
    int legal = 0;
    if (found && count && gnutls_x509_crt_init(&certificate) >= 0 &&
        gnutls_x509_crt_import(certificate, &found[0], GNUTLS_X509_FMT_DER) >= 0 &&
        fplt__certificate_is_of(certificate, peer->server->authority)) {
        fplt__certificate_identify(certificate, &peer->identity);
        legal = 1;
    }
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    if (!legal && !peer->refused) {
        peer->refused = 1;
        peer->server->service.refused(peer->server->service.context, "certificate",
                                      "somebody dialled with a certificate of another authority");
    }
    return legal ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

static int show_certificate(gnutls_session_t session, const gnutls_datum_t *names, int name_count,
                            const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                            gnutls_pcert_st **chain, unsigned *length, gnutls_privkey_t *key)
{
    (void)names, (void)name_count, (void)algorithms, (void)algorithm_count;
    caller *peer = gnutls_db_get_ptr(session);
    *chain = peer->server->chain;
    *length = peer->server->chain_length;
    *key = peer->server->private_key;
    return 0;
}

static void forget_certificate(fplt__server *server)
{
    for (unsigned i = 0; i < server->chain_length; i++)
        gnutls_pcert_deinit(&server->chain[i]);
    fplt__free(server->chain);
    if (server->private_key)
        gnutls_privkey_deinit(server->private_key);
    server->chain = NULL;
    server->chain_length = 0;
    server->private_key = NULL;
}

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

fplt_status fplt__server_certify(fplt__server *server, const char *certificate, const char *key,
                                 fplt_error *error)
{
    gnutls_datum_t text = datum_of(certificate), key_text = datum_of(key);
    unsigned length = 1;
    forget_certificate(server);
    fplt_status status =
        fplt__alloc_into(&server->chain, 1, sizeof *server->chain, "a certificate", error);
    if (status)
        return status;
    int code =
        gnutls_pcert_list_import_x509_raw(server->chain, &length, &text, GNUTLS_X509_FMT_PEM, 0);
    server->chain_length = code < 0 ? 0 : length;
    if (code >= 0)
        code = gnutls_privkey_init(&server->private_key);
    if (code >= 0)
        code = gnutls_privkey_import_x509_raw(server->private_key, &key_text, GNUTLS_X509_FMT_PEM,
                                              NULL, 0);
    return code < 0 ? fplt_error_set(error, FPLT_BAD_DATA, "the coordinator's certificate: %s",
                                     gnutls_strerror(code))
                    : FPLT_OK;
}

static fplt_status trust(fplt__server *server, const char *authority, fplt_error *error)
{
    gnutls_datum_t text = datum_of(authority);
    int code = gnutls_x509_crt_init(&server->authority);
    if (code >= 0)
        code = gnutls_x509_crt_import(server->authority, &text, GNUTLS_X509_FMT_PEM);
    return code < 0 ? fplt_error_set(error, FPLT_BAD_DATA, "the authority's certificate: %s",
                                     gnutls_strerror(code))
                    : FPLT_OK;
}

/* Connections */

static void connection_begins(fplt__server *server, struct MHD_Connection *connection,
                              void **context)
{
    caller *new = fplt__alloc(1, sizeof *new);
    *context = new;
    const union MHD_ConnectionInfo *found =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!new) {
        if (found)
            shutdown(found->connect_fd, SHUT_RDWR);
        return;
    }
    new->server = server;
    new->place = -1;
    new->descriptor = found ? found->connect_fd : -1;
    new->since = fplt__now();
    new->reading = 1;
    new->next = server->peers;
    new->link = &server->peers;
    if (new->next)
        new->next->link = &new->next;
    server->peers = new;
    server->connections++;
    if (!server->tls)
        return;
    found = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    gnutls_session_t session = found->tls_session;
    gnutls_db_set_ptr(session, new);
    fplt__intake_begin(&new->intake, session, new->descriptor);
    if (server->wants_certificate) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_function(session, verify);
    }
}

static void connection_ends(fplt__server *server, void **context)
{
    caller *old = *context;
    if (!old)
        return;
    if (server->wants_certificate && old->identity.role == FPLT_ROLE_NONE && !old->refused)
        server->service.refused(server->service.context, "handshake",
                                "somebody dialled who showed no certificate of this federation, "
                                "or no TLS 1.3 at all");
    *old->link = old->next;
    if (old->next)
        old->next->link = old->link;
    server->connections--;
    fplt__free(old);
    *context = NULL;
}

static void notice_connection(void *context, struct MHD_Connection *connection,
                              void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        connection_begins(context, connection, socket_context);
    else
        connection_ends(context, socket_context);
}

static caller *peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *found =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return found ? found->socket_context : NULL;
}

static double due(const caller *peer, double now)
{
    const fplt__exchange *exchange = peer->exchange;
    if (peer->reading)
        return peer->since + peer->server->patience;
    if (exchange && exchange->stage == RECEIVES)
        return exchange->since + peer->server->patience +
               (double)exchange->received / FPLT__SLOWEST;
    return now + 1e9;
}

/* Inactivity timeouts do not stop who sends a byte now and then; this does. */
static void sweep(fplt__server *server, double now)
{
    if (now - server->swept < 0.1)
        return;
    server->swept = now;
    for (caller *peer = server->peers; peer; peer = peer->next)
        if (due(peer, now) < now && peer->descriptor >= 0) {
            if (!peer->refused)
                server->service.refused(
                    server->service.context, "slow",
                    peer->reading ? "a connection took too long for its handshake or headers"
                                  : "a body came slower than 10 kB/s");
            peer->refused = 1;
            shutdown(peer->descriptor, SHUT_RDWR);
        }
}

/* A long body or answer may take minutes on a slow line: whoever it is of is there. */
static void watch_moves(fplt__server *server, double now)
{
    if (!server->service.moves || now - server->watched < 1)
        return;
    server->watched = now;
    for (caller *peer = server->peers; peer; peer = peer->next) {
        struct tcp_info info;
        socklen_t size = sizeof info;
        fplt__exchange *exchange = peer->exchange;
        if (!exchange || (exchange->stage != RECEIVES && exchange->stage != ANSWERED))
            continue;
        memset(&info, 0, sizeof info);
        if (getsockopt(peer->descriptor, IPPROTO_TCP, TCP_INFO, &info, &size))
            continue;
        uint64_t moved = info.tcpi_bytes_acked + info.tcpi_bytes_received;
        if (moved != peer->moved)
            server->service.moves(server->service.context, exchange);
        peer->moved = moved;
    }
}

/* Waiting: for room, or for news */

static void suspend(fplt__exchange *exchange)
{
    if (exchange->suspended)
        return;
    exchange->suspended = 1;
    MHD_suspend_connection(exchange->connection);
}

static void enlist(fplt__exchange *exchange, enum stage stage)
{
    fplt__server *server = exchange->server;
    struct queue *queue = stage == HELD ? &server->held : &server->rooms;
    exchange->stage = stage;
    exchange->held_until = fplt__now() + (stage == HELD ? FPLT_HELD_SECONDS : FPLT_ROOM_SECONDS);
    exchange->queue = queue;
    exchange->next = NULL;
    exchange->previous = queue->last;
    if (queue->last)
        queue->last->next = exchange;
    else
        queue->first = exchange;
    queue->last = exchange;
    if (!exchange->in_handler)
        suspend(exchange);
}

static void delist(fplt__exchange *exchange)
{
    struct queue *queue = exchange->queue;
    if (!queue)
        return;
    if (exchange->previous)
        exchange->previous->next = exchange->next;
    else
        queue->first = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    else
        queue->last = exchange->previous;
    exchange->queue = NULL;
}

static void resume(fplt__exchange *exchange)
{
    delist(exchange);
    if (!exchange->suspended)
        return;
    exchange->suspended = 0;
    exchange->server->stirred = 1;
    MHD_resume_connection(exchange->connection);
}

/* `window` large bodies at once; of those that are not so large as many as take no more room. */
static int has_room(const fplt__exchange *exchange)
{
    const fplt__server *server = exchange->server;
    size_t length = (size_t)exchange->length;
    size_t buffer = length > LEAST_ROOM ? length : LEAST_ROOM;
    return !exchange->large || !server->large || server->large + length <= server->window * buffer;
}

/* A spare one that is not much too large, or a new one; *size becomes what it has. */
static uint8_t *take_buffer(fplt__server *server, size_t *size)
{
    for (size_t i = 0; i<MOST_SPARE && * size> WORTH_KEEPING; i++) {
        struct spare *spare = &server->spare[i];
        if (spare->size < *size || spare->size / 2 > *size)
            continue;
        uint8_t *bytes = spare->bytes;
        *size = spare->size;
        server->spared -= spare->size;
        *spare = (struct spare){NULL, 0};
        return bytes;
    }
    return fplt__alloc(*size, 1);
}

/* Kept where the window could need it; those of other sizes make room. */
static void drop_buffer(fplt__server *server, uint8_t *bytes, size_t size)
{
    size_t most = server->window * (size > LEAST_ROOM ? size : (size_t)LEAST_ROOM);
    int kept = !bytes || size <= WORTH_KEEPING;
    for (size_t i = 0; i < MOST_SPARE && !kept; i++) {
        struct spare *spare = &server->spare[i];
        if (spare->size == size || (!spare->size && server->spared + size > most))
            continue;
        fplt__free(spare->bytes);
        server->spared -= spare->size;
        *spare = (struct spare){NULL, 0};
        if ((kept = server->spared + size <= most)) {
            *spare = (struct spare){bytes, size};
            server->spared += size;
        }
    }
    if (!kept || size <= WORTH_KEEPING)
        fplt__free(bytes);
}

static void receive(fplt__exchange *exchange)
{
    fplt__server *server = exchange->server;
    exchange->stage = RECEIVES;
    exchange->since = fplt__now();
    if (!exchange->length)
        return;
    exchange->room = (size_t)exchange->length + 1;
    exchange->body = take_buffer(server, &exchange->room);
    if (!exchange->body)
        fplt__exchange_refuse(exchange, 503, "memory", 0, "the coordinator has no memory left");
    else if (exchange->large)
        server->large += (size_t)exchange->length;
}

static void release_body(fplt__exchange *exchange)
{
    if (exchange->body && exchange->large)
        exchange->server->large -= (size_t)exchange->length;
    exchange->large = 0;
    drop_buffer(exchange->server, exchange->body, exchange->room);
    exchange->body = NULL;
}

static void serve_waiting(fplt__server *server, double now)
{
    fplt__exchange *e;
    while ((e = server->rooms.first)) {
        if (has_room(e)) {
            receive(e);
            resume(e);
        } else if (e->held_until <= now) {
            fplt__exchange_refuse(e, 503, "window", 0,
                                  "the coordinator is busy with other updates");
        } else {
            break;
        }
    }
    while ((e = server->held.first) && e->held_until <= now)
        server->service.expired(server->service.context, e);
}

/* Requests */

static void *request_begins(void *context, const char *uri, struct MHD_Connection *connection)
{
    (void)context, (void)uri;
    caller *peer = peer_of(connection);
    if (peer) {
        peer->since = fplt__now();
        peer->reading = 1;
    }
    return NULL;
}

static fplt__exchange *exchange_new(fplt__server *server, struct MHD_Connection *connection,
                                    const char *url, const char *method)
{
    caller *peer = peer_of(connection);
    fplt__exchange *exchange = peer ? fplt__alloc(1, sizeof *exchange) : NULL;
    if (!exchange)
        return NULL;
    exchange->server = server;
    exchange->connection = connection;
    exchange->peer = peer;
    exchange->method = method;
    exchange->path = fplt__strdup(url);
    if (!exchange->path) {
        fplt__free(exchange);
        return NULL;
    }
    peer->reading = 0;
    peer->exchange = exchange;
    return exchange;
}

/* Digits only: no sign, no list, nothing that overflows. */
static int length_of(fplt__exchange *exchange)
{
    const char *text = fplt__exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (fplt__exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        return 0;
    if (!text)
        return 1;
    size_t size = strlen(text);
    if (size == 0 || size > 18 || strspn(text, "0123456789") != size)
        return 0;
    exchange->length = strtoull(text, NULL, 10);
    return 1;
}

static void take_head(fplt__exchange *exchange)
{
    fplt__server *server = exchange->server;
    uint64_t limit = 0;
    if (!length_of(exchange)) {
        fplt__exchange_refuse(exchange, 411, "length", 1, "the body's length must be said");
        return;
    }
    server->service.head(server->service.context, exchange, exchange->length, &limit);
    if (exchange->stage == ANSWERED)
        return;
    if (exchange->length > limit) {
        fplt__exchange_refuse(exchange, 413, "large", 1,
                              "a body of %llu bytes; at most %llu are legal here",
                              (unsigned long long)exchange->length, (unsigned long long)limit);
        return;
    }
    exchange->large = exchange->length > FPLT_SMALL_BODY;
    if (!exchange->large || (has_room(exchange) && !server->rooms.first))
        receive(exchange);
    else
        enlist(exchange, WAITS_FOR_ROOM);
}

static enum MHD_Result send_answer(fplt__exchange *exchange)
{
    struct MHD_Response *response = exchange->response;
    if (!response)
        return MHD_NO;
    exchange->response = NULL;
    enum MHD_Result result = MHD_queue_response(exchange->connection, exchange->code, response);
    MHD_destroy_response(response);
    return result;
}

static void prepare(void *context)
{
    fplt__exchange *exchange = context;
    exchange->server->service.prepare(exchange);
}

/* Those that are prepared. */
static void take_prepared(fplt__server *server)
{
    fplt__errand *errand;
    while (server->aside && (errand = fplt__aside_take(server->aside))) {
        fplt__exchange *exchange = errand->context;
        exchange->stage = WHOLE;
        server->service.whole(server->service.context, exchange);
    }
}

static enum MHD_Result proceed(fplt__exchange *exchange, const char *data, size_t *size)
{
    fplt__server *server = exchange->server;
    if (exchange->stage == HEAD) {
        take_head(exchange);
        return exchange->stage == ANSWERED ? send_answer(exchange) : MHD_YES;
    }
    if (exchange->stage == ANSWERED)
        return exchange->response ? send_answer(exchange) : MHD_NO;
    if (exchange->stage == RECEIVES && *size) {
        if (*size > exchange->length - exchange->received)
            return MHD_NO;
        memcpy(exchange->body + exchange->received, data, *size);
        exchange->received += *size;
        server->received += *size;
        *size = 0;
        return MHD_YES;
    }
    /* After a suspension this is called once more before the body: only its length tells the end. */
    if (exchange->stage != RECEIVES || exchange->received < exchange->length)
        return MHD_YES;
    if (exchange->prepares && server->aside && exchange->length >= WORTH_PREPARING &&
        exchange->length <= FPLT_RECEIVE_BUFFER) {
        exchange->stage = PREPARES;
        exchange->errand = (fplt__errand){prepare, exchange, NULL};
        fplt__aside_give(server->aside, &exchange->errand);
        return MHD_YES;
    }
    exchange->stage = WHOLE;
    server->service.whole(server->service.context, exchange);
    return exchange->stage == ANSWERED ? send_answer(exchange) : MHD_YES;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **place)
{
    (void)version;
    fplt__exchange *exchange = *place;
    if (!exchange) {
        exchange = exchange_new(context, connection, url, method);
        if (!exchange)
            return MHD_NO;
        *place = exchange;
    }
    exchange->in_handler = 1;
    enum MHD_Result result = proceed(exchange, data, size);
    exchange->in_handler = 0;
    if (exchange->queue || exchange->stage == PREPARES) /* only now: most are answered at once */
        suspend(exchange);
    return result;
}

static void request_ends(void *context, struct MHD_Connection *connection, void **place,
                         enum MHD_RequestTerminationCode code)
{
    (void)connection, (void)code;
    fplt__server *server = context;
    fplt__exchange *exchange = *place;
    *place = NULL;
    if (!exchange)
        return;
    if (exchange->stage == PREPARES)
        fplt__aside_recall(server->aside, &exchange->errand);
    delist(exchange);
    server->service.ended(server->service.context, exchange);
    release_body(exchange);
    if (exchange->peer->exchange == exchange)
        exchange->peer->exchange = NULL;
    if (exchange->response)
        MHD_destroy_response(exchange->response);
    fplt__free(exchange->path);
    fplt__free(exchange);
}

const char *fplt__exchange_method(const fplt__exchange *exchange)
{
    return exchange->method;
}

const char *fplt__exchange_path(const fplt__exchange *exchange)
{
    return exchange->path;
}

const char *fplt__exchange_header(const fplt__exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

const uint8_t *fplt__exchange_body(const fplt__exchange *exchange)
{
    return exchange->body;
}

size_t fplt__exchange_size(const fplt__exchange *exchange)
{
    return exchange->received;
}

const fplt__identity *fplt__exchange_identity(const fplt__exchange *exchange)
{
    return &exchange->peer->identity;
}

int64_t *fplt__exchange_place(fplt__exchange *exchange)
{
    return &exchange->peer->place;
}

double *fplt__exchange_judged(fplt__exchange *exchange)
{
    return &exchange->peer->judged;
}

void fplt__exchange_prepare(fplt__exchange *exchange)
{
    exchange->prepares = 1;
}

void fplt__exchange_set_digest(fplt__exchange *exchange, fplt__digest digest)
{
    exchange->digest = digest;
    exchange->has_digest = 1;
}

const fplt__digest *fplt__exchange_digest(const fplt__exchange *exchange)
{
    return exchange->has_digest ? &exchange->digest : NULL;
}

void fplt__exchange_set_data(fplt__exchange *exchange, void *data)
{
    exchange->data = data;
}

void *fplt__exchange_data(const fplt__exchange *exchange)
{
    return exchange->data;
}

void fplt__exchange_drop_body(fplt__exchange *exchange)
{
    release_body(exchange);
}

/* Answers */

void fplt__exchange_hold(fplt__exchange *exchange)
{
    enlist(exchange, HELD);
}

void fplt__exchange_add_header(fplt__exchange *exchange, const char *name, const char *value)
{
    if (exchange->header_count == MOST_HEADERS)
        return;
    size_t i = exchange->header_count++;
    snprintf(exchange->header[i].name, sizeof exchange->header[i].name, "%s", name);
    snprintf(exchange->header[i].value, sizeof exchange->header[i].value, "%s", value);
}

/* What an answer holds on to until it is sent. Those of the usual size are kept: their pages would be cleared anew. */
struct holding {
    fplt__server *server;
    struct holding *next; /* while nobody needs it */
    size_t room;          /* of the copy */
    size_t owners;
    void *owner[MOST_PIECES];
    uint8_t copy[];
};

static struct holding *take_holding(fplt__server *server, size_t room)
{
    struct holding *holding = room <= RECORD ? server->holdings : NULL;
    if (holding) {
        server->holdings = holding->next;
        server->holding_count--;
        holding->owners = 0;
        return holding;
    }
    room = room > RECORD / 2 && room < RECORD ? RECORD : room;
    if ((holding = fplt__alloc(1, sizeof *holding + room))) {
        holding->server = server;
        holding->room = room;
    }
    return holding;
}

static void release_holding(void *context)
{
    struct holding *holding = context;
    fplt__server *server = holding->server;
    for (size_t i = 0; i < holding->owners; i++)
        server->service.release(holding->owner[i]);
    if (holding->room != RECORD || server->holding_count == MOST_HOLDINGS) {
        fplt__free(holding);
        return;
    }
    holding->next = server->holdings;
    server->holdings = holding;
    server->holding_count++;
}

static void drop_holdings(fplt__server *server)
{
    struct holding *next;
    for (struct holding *holding = server->holdings; holding; holding = next) {
        next = holding->next;
        fplt__free(holding);
    }
}

/* How much of the bytes is copied: pieces without an owner, and of the others what fits into the first
 * record, because each piece would become a record of its own. */
static size_t front_of(const fplt__piece *pieces, size_t count)
{
    size_t front = 0, copied = 0;
    for (size_t i = 0; i < count; i++) {
        front += pieces[i].size;
        copied = pieces[i].owner ? copied : front;
    }
    size_t first = front < RECORD ? front : RECORD;
    return copied > first ? copied : first;
}

/* The bytes from .. end - 1 in parts of a record each, and what is too long for so many parts in the last: the web
 * server goes on to the next part at once, but to the rest of one only after all other connections had their turn. */
static size_t cut_records(const void *bytes, size_t from, size_t end, size_t most,
                          struct MHD_IoVec *parts)
{
    size_t used = 0;
    while (from < end) {
        size_t left = end - from, size = used + 1 < most && left > RECORD ? RECORD : left;
        parts[used++] = (struct MHD_IoVec){(const uint8_t *)bytes + from, size};
        from += size;
    }
    return used;
}

static struct MHD_Response *response_of(fplt__server *server, const fplt__piece *pieces,
                                        size_t count)
{
    struct MHD_IoVec parts[MOST_PIECES + MOST_RECORDS + 1];
    count = count < MOST_PIECES ? count : MOST_PIECES;
    size_t front = front_of(pieces, count), used = 1;
    struct holding *holding = take_holding(server, front);
    if (!holding)
        return NULL;
    parts[0] = (struct MHD_IoVec){holding->copy, front};
    uint8_t *to = holding->copy;
    for (size_t i = 0; i < count; i++) {
        size_t take = pieces[i].size < front ? pieces[i].size : front;
        memcpy(to, pieces[i].bytes, take);
        to += take;
        front -= take;
        if (take == pieces[i].size)
            continue;
        used += cut_records(pieces[i].bytes, take, pieces[i].size,
                            MOST_RECORDS + MOST_PIECES - count + i + 1 - used, parts + used);
        server->service.hold(pieces[i].owner);
        holding->owner[holding->owners++] = pieces[i].owner;
    }
    struct MHD_Response *response =
        MHD_create_response_from_iovec(parts, (unsigned)used, release_holding, holding);
    if (!response)
        release_holding(holding);
    return response;
}

void fplt__exchange_answer(fplt__exchange *exchange, unsigned code, const char *type,
                           const fplt__piece *pieces, size_t count)
{
    exchange->code = code;
    exchange->response = count ? response_of(exchange->server, pieces, count)
                               : MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    for (size_t i = 0; i < count; i++)
        exchange->server->sent += pieces[i].size;
    release_body(exchange); /* not before: an answer may repeat it */
    if (exchange->response && type)
        MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    for (size_t i = 0; exchange->response && i < exchange->header_count; i++)
        MHD_add_response_header(exchange->response, exchange->header[i].name,
                                exchange->header[i].value);
    exchange->stage = ANSWERED;
    resume(exchange);
}

void fplt__exchange_answer_text(fplt__exchange *exchange, unsigned code, const char *type,
                                const char *text)
{
    fplt__piece piece = {text, strlen(text), NULL};
    fplt__exchange_answer(exchange, code, type, &piece, piece.size ? 1 : 0);
}

void fplt__exchange_refuse(fplt__exchange *exchange, unsigned code, const char *word, int final,
                           const char *format, ...)
{
    fplt__fault fault = {.final = final};
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault.sentence, sizeof fault.sentence, format, arguments);
    va_end(arguments);
    snprintf(fault.word, sizeof fault.word, "%s", word);
    if (fplt__fault_text(&fault, &text, NULL)) { /* it repeats a path that is not UTF-8 */
        for (char *at = fault.sentence; *at; at++)
            *at = *at & 0x80 ? '?' : *at;
        fplt__fault_text(&fault, &text, NULL);
    }
    fplt__exchange_answer_text(exchange, code, "application/json", text ? text : "");
    fplt__free(text);
}

/* Life */

static const char *remedy_of(int problem)
{
    switch (problem) {
    case EADDRINUSE: return "; end the process that listens there, or choose another port";
    case EADDRNOTAVAIL:
        return "; choose an address that this machine has, or 0.0.0.0:PORT for all of them";
    case EACCES: return "; choose a port above 1023";
    default: return "";
    }
}

static fplt_status listen_at(fplt__server *server, const char *address, fplt_error *error)
{
    char host[256], service[8];
    int buffer = FPLT_RECEIVE_BUFFER, yes = 1, problem = 0;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    unsigned port = 0;
    fplt_status status = fplt__address_split(address, host, sizeof host, &port, error);
    if (status)
        return status;
    snprintf(service, sizeof service, "%u", port);
    int code = getaddrinfo(host, service, &hints, &found);
    if (code)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s: cannot listen there: %s", address,
                              gai_strerror(code));
    for (struct addrinfo *a = found; a && server->listener < 0; a = a->ai_next) {
        int made = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
            setsockopt(made, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer) ||
            bind(made, a->ai_addr, a->ai_addrlen) || listen(made, 1024)) {
            problem = errno;
            if (made >= 0)
                close(made);
            continue;
        }
        server->listener = made;
    }
    freeaddrinfo(found);
    if (server->listener < 0)
        return fplt_error_set(error, FPLT_IO, "%s: cannot listen there: %s%s", address,
                              strerror(problem), remedy_of(problem));
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    getsockname(server->listener, (struct sockaddr *)&name, &size);
    getnameinfo((struct sockaddr *)&name, size, NULL, 0, service, sizeof service, NI_NUMERICSERV);
    server->port = (unsigned)strtoul(service, NULL, 10);
    return FPLT_OK;
}

static void drop_log(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments;
}

static fplt_status start(fplt__server *server, const fplt__server_settings *settings,
                         fplt_error *error)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)show_certificate},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)tls_priority},
        {MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)(uintptr_t)settings->authority},
        {MHD_OPTION_END, 0, NULL}};
    if (!settings->authority)
        tls[2].option = MHD_OPTION_END;
    if (!server->tls)
        tls[0].option = MHD_OPTION_END;
    server->daemon = MHD_start_daemon(
        flags | (server->tls ? MHD_USE_TLS : 0), 0, NULL, NULL, handle, server,
        MHD_OPTION_EXTERNAL_LOGGER, drop_log, NULL, MHD_OPTION_LISTEN_SOCKET, server->listener,
        MHD_OPTION_NOTIFY_CONNECTION, notice_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        request_ends, server, MHD_OPTION_URI_LOG_CALLBACK, request_begins, server,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT,
        settings->connections, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
        MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (!server->daemon)
        return fplt_error_set(error, FPLT_FAILED, "%s: the server does not start",
                              settings->listen);
    server->listener = -1; /* the daemon's now */
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    server->epoll = info ? info->epoll_fd : -1;
    return FPLT_OK;
}

fplt_status fplt__server_create(const fplt__server_settings *settings, const fplt__service *service,
                                fplt__server **out, fplt_error *error)
{
    *out = NULL;
    fplt__server *server;
    fplt_status status = fplt__alloc_into(&server, 1, sizeof *server, "a server", error);
    if (status)
        return status;
    server->service = *service;
    server->listener = -1;
    server->window = settings->window ? settings->window : 1;
    server->patience = settings->patience > 0 ? settings->patience : FPLT_HEADER_SECONDS;
    server->tls = settings->certificate != NULL;
    server->wants_certificate = settings->authority != NULL;
    if (service->prepare && fplt__cores(0) > 1)
        fplt__aside_create(&server->aside,
                           NULL); /* without it bodies are prepared when they are taken */
    if ((server->tls &&
         (status = fplt__server_certify(server, settings->certificate, settings->key, error))) ||
        (settings->authority && (status = trust(server, settings->authority, error))) ||
        (status = listen_at(server, settings->listen, error)) ||
        (status = start(server, settings, error))) {
        fplt__server_destroy(server);
        return status;
    }
    *out = server;
    return FPLT_OK;
}

void fplt__server_destroy(fplt__server *server)
{
    if (!server)
        return;
    fplt__exchange *waits; /* none may be suspended when the daemon stops */
    fplt__errand *prepared;
    if (server->aside)
        fplt__aside_finish(server->aside);
    while (server->aside && (prepared = fplt__aside_take(server->aside)))
        enlist(prepared->context, HELD);
    while ((waits = server->rooms.first ? server->rooms.first : server->held.first))
        fplt__exchange_refuse(waits, 503, "ending", 0, "the coordinator is ending");
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    fplt__aside_destroy(server->aside);
    if (server->listener >= 0)
        close(server->listener);
    forget_certificate(server);
    if (server->authority)
        gnutls_x509_crt_deinit(server->authority);
    for (size_t i = 0; i < MOST_SPARE; i++)
        fplt__free(server->spare[i].bytes);
    drop_holdings(server);
    fplt__free(server);
}

unsigned fplt__server_port(const fplt__server *server)
{
    return server->port;
}

void fplt__server_set_window(fplt__server *server, unsigned window)
{
    server->window = window;
}

unsigned fplt__server_connections(const fplt__server *server)
{
    return server->connections;
}

uint64_t fplt__server_received(const fplt__server *server)
{
    return server->received;
}

uint64_t fplt__server_sent(const fplt__server *server)
{
    return server->sent;
}

/* Seconds until the server wants a turn whatever happens. */
static double patience(const fplt__server *server, double now)
{
    MHD_UNSIGNED_LONG_LONG milliseconds;
    if (server->stirred)
        return 0;
    double seconds = server->peers ? server->patience / 20 : 1e9;
    if (MHD_get_timeout(server->daemon, &milliseconds) == MHD_YES)
        seconds = fmin(seconds, (double)milliseconds / 1000);
    const fplt__exchange *first[] = {server->rooms.first, server->held.first};
    if (first[0] && has_room(first[0]))
        return 0;
    for (int i = 0; i < 2; i++)
        if (first[i])
            seconds = fmin(seconds, fmax(0, first[i]->held_until - now));
    return seconds;
}

/* A server that is busy runs on: each time it takes one record of every connection. */
static void run_server(fplt__server *server)
{
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    for (int i = 0; i < MOST_RUNS; i++) {
        server->stirred = 0;
        MHD_run(server->daemon);
        take_prepared(server);
        serve_waiting(server, fplt__now());
        if (!server->stirred &&
            (MHD_get_timeout(server->daemon, &milliseconds) != MHD_YES || milliseconds) &&
            !(server->aside && fplt__aside_help(server->aside)))
            break;
    }
}

int fplt__servers_turn(fplt__server *const *servers, size_t count, int descriptor, double seconds)
{
    struct pollfd wanted[2 * MOST_SERVERS + 1]; /* of each server two; a negative one is ignored */
    double due[MOST_SERVERS], now = fplt__now();
    count = count < MOST_SERVERS ? count : MOST_SERVERS;
    for (size_t i = 0; i < count; i++) {
        int busy = 0, done = -1;
        if (servers[i]->aside)
            busy = fplt__aside_watch(servers[i]->aside, &done);
        wanted[2 * i] = (struct pollfd){servers[i]->epoll, POLLIN, 0};
        wanted[2 * i + 1] = (struct pollfd){done, POLLIN, 0};
        due[i] = busy ? now : now + patience(servers[i], now);
        seconds = fmin(seconds, due[i] - now);
    }
    wanted[2 * count] = (struct pollfd){descriptor, POLLIN, 0};
    int ready = poll(wanted, 2 * count + 1, (int)fmin(ceil(fmax(0, seconds) * 1000), 60000));
    now = fplt__now();
    for (size_t i = 0; i < count; i++) {
        if (!wanted[2 * i].revents && !wanted[2 * i + 1].revents && now < due[i] &&
            !servers[i]->stirred)
            continue;
        run_server(servers[i]);
        sweep(servers[i], now);
        watch_moves(servers[i], now);
    }
    return ready > 0 && wanted[2 * count].revents;
}
