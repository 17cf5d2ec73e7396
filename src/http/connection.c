/* A connection, from its handshake to its end. It proceeds until it would block, whenever the socket becomes ready or
 * an awaited event has happened: all available bytes of a body are read at once, while they are in the cache. */
#include "http/serving.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"

enum {
    MAX_STEPS = 64,       /* records of one connection before others are served */
    MAX_TURNS = 256,      /* of open_connections, before the kernel is asked again */
    MAX_LINGERED = 64,    /* reads of discarded bytes in one turn */
    WORTH_KEEPING = 16384 /* of an answer's text */
};

/* What a step of a connection leads to. */
enum { ENDS = -1, WAITS, GOES_ON };

static const char leave[] = "HTTP/1.1 100 Continue\r\n\r\n";

/* Life */

fplt__http_connection *fplt__http_connection_begin(fplt__server *server, int descriptor,
                                                   gnutls_session_t session)
{
    fplt__http_connection *new = fplt__alloc(1, sizeof *new + server->service.peer_size);
    int yes = 1;
    FPLT__ASSERT(descriptor >= 0);
    FPLT__ASSERT(!server->tls == !session);
    if (!new || !(new->in = fplt__alloc(FPLT__INTAKE, 1))) {
        fplt__free(new);
        if (session)
            gnutls_deinit(session);
        close(descriptor);
        return NULL;
    }
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    new->server = server;
    new->transaction.server = server;
    new->transaction.connection = new;
    new->since = server->now;
    new->in_handshake = session != NULL;
    fplt__http_channel_begin(&new->channel, descriptor, session);
    new->next = server->open_connections;
    new->link = &server->open_connections;
    if (new->next)
        new->next->link = &new->next;
    server->open_connections = new;
    server->connections++;
    return new;
}

static void drop_answer(fplt__http_connection *connection)
{
    fplt__outgoing *out = &connection->out;
    FPLT__ASSERT(out->count <= FPLT__MAX_PIECES + 1);
    FPLT__ASSERT(out->done <= out->size);
    for (size_t i = 0; i < out->count; i++)
        if (out->piece[i].owner)
            connection->server->service.release(out->piece[i].owner);
    out->count = out->size = out->done = 0;
    if (out->room > WORTH_KEEPING) {
        fplt__free(out->text);
        out->text = NULL;
        out->room = 0;
    }
}

/* Makes room for the next request. */
static void end_request(fplt__http_connection *connection)
{
    connection->served |= connection->transaction.stage == FPLT__ANSWERED;
    fplt__http_transaction_end(&connection->transaction);
    drop_answer(connection);
    FPLT__ASSERT(connection->in_from <= connection->in_size && connection->in_size <= FPLT__INTAKE);
    FPLT__ASSERT(connection->transaction.stage == FPLT__NO_REQUEST);
    connection->expects = 0;
    connection->in_size -= connection->in_from;
    memmove(connection->in, connection->in + connection->in_from, connection->in_size);
    connection->in_from = connection->in_seen = 0;
}

void fplt__http_connection_end(fplt__http_connection *old)
{
    fplt__server *server = old->server;
    int finished = old->channel.finished && old->transaction.stage == FPLT__NO_REQUEST;
    end_request(old);
    if (server->service.closed)
        server->service.closed(server->service.context, old->peer, finished);
    if (server->wants_certificate && !old->has_certificate && !old->refused)
        fplt__http_connection_refuse(
            old, "handshake",
            "TLS handshake failed: the client presented no certificate of this "
            "federation, or speaks no TLS 1.3");
    fplt__http_connection_leave(old);
    fplt__http_connection_clear_ready(old);
    FPLT__ASSERT(server->connections > 0);
    FPLT__ASSERT(*old->link == old);
    FPLT__ASSERT(!old->ready && !old->is_unproven);
    FPLT__ASSERT(!old->transaction.body && !old->transaction.queue);
    *old->link = old->next;
    if (old->next)
        old->next->link = old->link;
    server->connections--;
    if (old->channel.session)
        gnutls_deinit(old->channel.session);
    fplt__credentials_release(old->credentials);
    close(old->channel.descriptor);
    fplt__free(old->out.text);
    fplt__free(old->in);
    fplt__free(old);
}

/* Steps */

static int shake_hands(fplt__http_connection *connection)
{
    int code;
    FPLT__ASSERT(connection->channel.session && connection->credentials);
    FPLT__ASSERT(!connection->served && !connection->in_size);
    do
        code = gnutls_handshake(connection->channel.session);
    while (code == GNUTLS_E_INTERRUPTED);
    if (code == GNUTLS_E_AGAIN)
        return WAITS;
    if (code < 0) {
        gnutls_alert_send_appropriate(connection->channel.session, code);
        return ENDS;
    }
    connection->in_handshake = 0;
    fplt__http_connection_prove(connection);
    return GOES_ON;
}

static int fill(fplt__http_connection *connection)
{
    FPLT__ASSERT(connection->in_size < FPLT__INTAKE);
    FPLT__ASSERT(connection->transaction.stage == FPLT__NO_REQUEST);
    ssize_t got =
        fplt__http_channel_read(&connection->channel, connection->in + connection->in_size,
                                FPLT__INTAKE - connection->in_size);
    if (got <= 0)
        return got < 0 ? ENDS : WAITS;
    if (!connection->in_size && !connection->skip)
        connection->since = connection->server->now; /* of a head */
    connection->in_size += (size_t)got;
    FPLT__ASSERT(connection->in_size <= FPLT__INTAKE);
    return GOES_ON;
}

/* A head that is none: nothing that follows it can be understood. */
static void refuse_head(fplt__http_connection *connection, unsigned status, const char *why)
{
    fplt__http_connection_refuse(connection, "malformed", why);
    connection->closes = 1;
    connection->transaction.head.method = connection->transaction.head.path = "";
    connection->transaction.head.headers = 0;
    fplt__http_transaction_refuse(&connection->transaction, status, "malformed", 1, "%s", why);
}

static int read_head(fplt__http_connection *connection)
{
    fplt__http_transaction *transaction = &connection->transaction;
    const char *why = NULL;
    unsigned status;
    size_t end = fplt__http_end(connection->in, connection->in_size, &connection->in_seen);
    FPLT__ASSERT(end <= connection->in_size);
    FPLT__ASSERT(!connection->in_from && !connection->skip);
    FPLT__ASSERT(!connection->closes);
    if (!end && connection->in_size < FPLT__HTTP_HEAD)
        return fill(connection);
    transaction->length = 0;
    if (!end || end > FPLT__HTTP_HEAD) {
        refuse_head(connection, 431, "the headers are too long");
        return GOES_ON;
    }
    connection->in_from = end;
    if ((status = fplt__http_read((char *)connection->in, end, &transaction->head, &why)) ||
        (status = fplt__http_length(&transaction->head, &transaction->length, &why))) {
        refuse_head(connection, status, why);
        return GOES_ON;
    }
    const char *expectation = fplt__http_value(&transaction->head, "Expect");
    connection->expects = expectation && strcasecmp(expectation, "100-continue") == 0 &&
                          transaction->head.minor == 1 && connection->in_size == end;
    connection->closes = !fplt__http_persists(&transaction->head);
    fplt__http_transaction_begin(transaction);
    return GOES_ON;
}

static int give_leave(fplt__http_connection *connection)
{
    FPLT__ASSERT(connection->transaction.stage == FPLT__RECEIVES && !connection->out.count);
    ssize_t sent = fplt__http_channel_send(&connection->channel, leave, sizeof leave - 1, 0);
    if (sent <= 0)
        return sent < 0 ? ENDS : WAITS;
    connection->expects = 0;
    return (size_t)sent == sizeof leave - 1 ? GOES_ON : ENDS;
}

static int read_body(fplt__http_connection *connection)
{
    fplt__http_transaction *transaction = &connection->transaction;
    FPLT__ASSERT(transaction->received <= transaction->length);
    FPLT__ASSERT(!transaction->length ||
                 (transaction->body && transaction->length < transaction->room));
    FPLT__ASSERT(connection->in_from <= connection->in_size);
    size_t left = (size_t)transaction->length - transaction->received;
    size_t here = connection->in_size - connection->in_from;
    ssize_t got = (ssize_t)(here < left ? here : left);
    if (left && connection->expects)
        return give_leave(connection);
    if (got) {
        memcpy(transaction->body + transaction->received, connection->in + connection->in_from,
               (size_t)got);
        connection->in_from += (size_t)got;
    } else if (left && (got = fplt__http_channel_read(&connection->channel,
                                                      transaction->body + transaction->received,
                                                      left)) <= 0) {
        return got < 0 ? ENDS : WAITS;
    }
    transaction->received += (size_t)got;
    FPLT__ASSERT(transaction->received <= transaction->length);
    transaction->due = fplt__server_extend(connection->server, transaction->due, (size_t)got);
    connection->server->received += (uint64_t)got;
    if (transaction->received == transaction->length)
        fplt__http_transaction_complete(transaction);
    return GOES_ON;
}

/* The next bytes of the answer, a record at most, put together where they are of several pieces. */
static size_t next_bytes(const fplt__http_connection *connection, const uint8_t **bytes)
{
    const fplt__outgoing *out = &connection->out;
    uint8_t *record = connection->server->record;
    size_t used = 0, at = out->done;
    for (size_t i = 0; i < out->count && used < FPLT__RECORD; i++) {
        if (at >= out->piece[i].size) {
            at -= out->piece[i].size;
            continue;
        }
        size_t left = out->piece[i].size - at, room = FPLT__RECORD - used;
        size_t take = left < room ? left : room;
        *bytes = out->piece[i].bytes + at;
        if (!used && (take == room || out->done + take == out->size))
            return take;
        memcpy(record + used, *bytes, take);
        used += take;
        at = 0;
    }
    *bytes = record;
    return used;
}

static void begin_to_linger(fplt__http_connection *connection)
{
    connection->lingers = 1;
    connection->since = connection->server->now;
    if (connection->channel.session)
        gnutls_bye(connection->channel.session, GNUTLS_SHUT_WR);
    shutdown(connection->channel.descriptor, SHUT_WR);
}

static int send_answer(fplt__http_connection *connection)
{
    fplt__outgoing *out = &connection->out;
    const uint8_t *bytes = NULL;
    if (out->done < out->size) {
        size_t size = next_bytes(connection, &bytes);
        FPLT__ASSERT(size > 0 && size <= FPLT__RECORD && out->done + size <= out->size);
        ssize_t sent = fplt__http_channel_send(&connection->channel, bytes, size,
                                               out->done + size < out->size);
        if (sent <= 0)
            return sent < 0 ? ENDS : WAITS;
        FPLT__ASSERT((size_t)sent <= size);
        out->done += (size_t)sent;
        return GOES_ON;
    }
    FPLT__ASSERT(out->done == out->size);
    FPLT__ASSERT(connection->transaction.received <= connection->transaction.length);
    connection->skip =
        connection->closes ? 0 : connection->transaction.length - connection->transaction.received;
    connection->since = connection->server->now;
    connection->skip_due = connection->since + connection->server->header_timeout;
    end_request(connection);
    if (connection->closes)
        begin_to_linger(connection);
    return GOES_ON;
}

/* The client still sends a body that was refused. */
static int skip_body(fplt__http_connection *connection)
{
    if (!connection->in_size) {
        int filled = fill(connection);
        if (filled != GOES_ON)
            return filled;
    }
    FPLT__ASSERT(connection->in_size > 0 && connection->skip > 0);
    size_t take =
        connection->skip < connection->in_size ? (size_t)connection->skip : connection->in_size;
    connection->skip -= take;
    connection->skip_due = fplt__server_extend(connection->server, connection->skip_due, take);
    connection->in_size -= take;
    memmove(connection->in, connection->in + take, connection->in_size);
    if (!connection->skip)
        connection->since = connection->server->now;
    return GOES_ON;
}

/* Closing while bytes still arrive would reset the connection and lose the answer. */
static int linger(fplt__http_connection *connection)
{
    ssize_t got = 1;
    FPLT__ASSERT(connection->closes && connection->transaction.stage == FPLT__NO_REQUEST);
    for (int i = 0; i < MAX_LINGERED && got > 0; i++)
        got = recv(connection->channel.descriptor, connection->server->record, FPLT__RECORD, 0);
    return got > 0 || (got < 0 && errno == EAGAIN) ? WAITS : ENDS;
}

static int step(fplt__http_connection *connection)
{
    if (connection->lingers)
        return linger(connection);
    if (connection->in_handshake)
        return shake_hands(connection);
    switch (connection->transaction.stage) {
    case FPLT__NO_REQUEST: return connection->skip ? skip_body(connection) : read_head(connection);
    case FPLT__RECEIVES: return read_body(connection);
    case FPLT__ANSWERED: return send_answer(connection);
    default: return connection->channel.closing ? ENDS : WAITS; /* for room, a thread or news */
    }
}

static void go_on(fplt__http_connection *connection)
{
    int next = GOES_ON;
    for (int i = 0; i < MAX_STEPS && next == GOES_ON; i++)
        next = step(connection);
    if (next == ENDS)
        fplt__http_connection_end(connection);
    else if (next == GOES_ON)
        fplt__http_connection_set_ready(connection);
}

int fplt__http_connections_go_on(fplt__server *server)
{
    int turns = 0;
    for (; turns < MAX_TURNS && server->ready_first; turns++) {
        fplt__http_connection *connection = server->ready_first;
        fplt__http_connection_clear_ready(connection);
        go_on(connection);
    }
    return turns > 0;
}

void fplt__http_connections_part(fplt__server *server)
{
    while (server->open_connections) {
        fplt__http_connection *connection = server->open_connections;
        while (connection->transaction.stage == FPLT__ANSWERED &&
               send_answer(connection) == GOES_ON)
            ;
        connection->refused = 1; /* not by them */
        fplt__http_connection_end(connection);
    }
}
