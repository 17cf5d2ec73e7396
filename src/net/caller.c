/* A connection, from its handshake to its end. It goes on as far as it can whenever the kernel tells of news or
 * something it waited for has happened: all of a body that is there is taken in one go, while it is in the cache. */
#include "net/serving.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

enum {
    MOST_STEPS = 64,      /* records of one caller before others have their turn */
    MOST_TURNS = 256,     /* of callers, before the kernel is asked again */
    MOST_LINGERED = 64,   /* reads of what nobody wants any more, in one turn */
    WORTH_KEEPING = 16384 /* of an answer's text */
};

/* What a step of a connection leads to. */
enum { ENDS = -1, WAITS, GOES_ON };

static const char leave[] = "HTTP/1.1 100 Continue\r\n\r\n";

/* Those who may go on */

void fplt__caller_stir(fplt__caller *caller)
{
    fplt__server *server = caller->server;
    if (caller->ready)
        return;
    caller->ready = 1;
    caller->ready_next = NULL;
    caller->ready_previous = server->ready_last;
    *(server->ready_last ? &server->ready_last->ready_next : &server->ready_first) = caller;
    server->ready_last = caller;
}

static void unstir(fplt__caller *caller)
{
    fplt__server *server = caller->server;
    if (!caller->ready)
        return;
    caller->ready = 0;
    *(caller->ready_previous ? &caller->ready_previous->ready_next : &server->ready_first) =
        caller->ready_next;
    *(caller->ready_next ? &caller->ready_next->ready_previous : &server->ready_last) =
        caller->ready_previous;
}

/* Life */

fplt__caller *fplt__caller_begin(fplt__server *server, int descriptor, gnutls_session_t session)
{
    fplt__caller *new = fplt__alloc(1, sizeof *new);
    int yes = 1;
    if (!new || !(new->in = fplt__alloc(FPLT__INTAKE, 1))) {
        fplt__free(new);
        if (session)
            gnutls_deinit(session);
        close(descriptor);
        return NULL;
    }
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    new->server = server;
    new->exchange.server = server;
    new->exchange.caller = new;
    new->place = -1;
    new->since = server->now;
    new->in_handshake = session != NULL;
    fplt__line_begin(&new->line, descriptor, session);
    new->next = server->callers;
    new->link = &server->callers;
    if (new->next)
        new->next->link = &new->next;
    server->callers = new;
    server->connections++;
    return new;
}

static void drop_answer(fplt__caller *caller)
{
    fplt__outgoing *out = &caller->out;
    for (size_t i = 0; i < out->count; i++)
        if (out->piece[i].owner)
            caller->server->service.release(out->piece[i].owner);
    out->count = out->size = out->done = 0;
    if (out->room > WORTH_KEEPING) {
        fplt__free(out->text);
        out->text = NULL;
        out->room = 0;
    }
}

/* Makes room for the next request. */
static void end_request(fplt__caller *caller)
{
    caller->served |= caller->exchange.stage == FPLT__ANSWERED;
    fplt__exchange_end(&caller->exchange);
    drop_answer(caller);
    caller->expects = 0;
    caller->in_size -= caller->in_from;
    memmove(caller->in, caller->in + caller->in_from, caller->in_size);
    caller->in_from = caller->in_seen = 0;
}

void fplt__caller_end(fplt__caller *old)
{
    fplt__server *server = old->server;
    end_request(old);
    if (server->wants_certificate && old->identity.role == FPLT_ROLE_NONE && !old->refused)
        fplt__caller_refuse(old, "handshake",
                            "TLS handshake failed: the client presented no certificate of this "
                            "federation, or speaks no TLS 1.3");
    fplt__caller_leave(old);
    unstir(old);
    *old->link = old->next;
    if (old->next)
        old->next->link = old->link;
    server->connections--;
    if (old->line.session)
        gnutls_deinit(old->line.session);
    fplt__credentials_release(old->credentials);
    close(old->line.descriptor);
    fplt__free(old->out.text);
    fplt__free(old->in);
    fplt__free(old);
}

/* Steps */

static int shake_hands(fplt__caller *caller)
{
    int code;
    do
        code = gnutls_handshake(caller->line.session);
    while (code == GNUTLS_E_INTERRUPTED);
    if (code == GNUTLS_E_AGAIN)
        return WAITS;
    if (code < 0) {
        gnutls_alert_send_appropriate(caller->line.session, code);
        return ENDS;
    }
    caller->in_handshake = 0;
    fplt__caller_prove(caller);
    return GOES_ON;
}

static int fill(fplt__caller *caller)
{
    ssize_t got = fplt__line_read(&caller->line, caller->in + caller->in_size,
                                  FPLT__INTAKE - caller->in_size);
    if (got <= 0)
        return got < 0 ? ENDS : WAITS;
    if (!caller->in_size && !caller->skip)
        caller->since = caller->server->now; /* of a head */
    caller->in_size += (size_t)got;
    return GOES_ON;
}

/* A head that is none: nothing that follows it can be understood. */
static void refuse_head(fplt__caller *caller, unsigned status, const char *why)
{
    fplt__caller_refuse(caller, "malformed", why);
    caller->closes = 1;
    caller->exchange.head.method = caller->exchange.head.path = "";
    caller->exchange.head.headers = 0;
    fplt__exchange_refuse(&caller->exchange, status, "malformed", 1, "%s", why);
}

static int read_head(fplt__caller *caller)
{
    fplt__exchange *exchange = &caller->exchange;
    const char *why = NULL;
    unsigned status;
    size_t end = fplt__http_end(caller->in, caller->in_size, &caller->in_seen);
    if (!end && caller->in_size < FPLT__HTTP_HEAD)
        return fill(caller);
    exchange->length = 0;
    if (!end || end > FPLT__HTTP_HEAD) {
        refuse_head(caller, 431, "the headers are too long");
        return GOES_ON;
    }
    caller->in_from = end;
    if ((status = fplt__http_read((char *)caller->in, end, &exchange->head, &why)) ||
        (status = fplt__http_length(&exchange->head, &exchange->length, &why))) {
        refuse_head(caller, status, why);
        return GOES_ON;
    }
    const char *expectation = fplt__http_value(&exchange->head, "Expect");
    caller->expects = expectation && strcasecmp(expectation, "100-continue") == 0 &&
                      exchange->head.minor == 1 && caller->in_size == end;
    caller->closes = !fplt__http_persists(&exchange->head);
    fplt__exchange_begin(exchange);
    return GOES_ON;
}

static int give_leave(fplt__caller *caller)
{
    ssize_t sent = fplt__line_send(&caller->line, leave, sizeof leave - 1, 0);
    if (sent <= 0)
        return sent < 0 ? ENDS : WAITS;
    caller->expects = 0;
    return (size_t)sent == sizeof leave - 1 ? GOES_ON : ENDS;
}

static int read_body(fplt__caller *caller)
{
    fplt__exchange *exchange = &caller->exchange;
    size_t left = (size_t)exchange->length - exchange->received;
    size_t here = caller->in_size - caller->in_from;
    ssize_t got = (ssize_t)(here < left ? here : left);
    if (left && caller->expects)
        return give_leave(caller);
    if (got) {
        memcpy(exchange->body + exchange->received, caller->in + caller->in_from, (size_t)got);
        caller->in_from += (size_t)got;
    } else if (left && (got = fplt__line_read(&caller->line, exchange->body + exchange->received,
                                              left)) <= 0) {
        return got < 0 ? ENDS : WAITS;
    }
    exchange->received += (size_t)got;
    exchange->due = fplt__server_extend(caller->server, exchange->due, (size_t)got);
    caller->server->received += (uint64_t)got;
    if (exchange->received == exchange->length)
        fplt__exchange_complete(exchange);
    return GOES_ON;
}

/* The next bytes of the answer, a record at most, put together where they are of several pieces. */
static size_t next_bytes(const fplt__caller *caller, const uint8_t **bytes)
{
    const fplt__outgoing *out = &caller->out;
    uint8_t *record = caller->server->record;
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

static void begin_to_linger(fplt__caller *caller)
{
    caller->lingers = 1;
    caller->since = caller->server->now;
    if (caller->line.session)
        gnutls_bye(caller->line.session, GNUTLS_SHUT_WR);
    shutdown(caller->line.descriptor, SHUT_WR);
}

static int send_answer(fplt__caller *caller)
{
    fplt__outgoing *out = &caller->out;
    const uint8_t *bytes = NULL;
    if (out->done < out->size) {
        size_t size = next_bytes(caller, &bytes);
        ssize_t sent = fplt__line_send(&caller->line, bytes, size, out->done + size < out->size);
        if (sent <= 0)
            return sent < 0 ? ENDS : WAITS;
        out->done += (size_t)sent;
        return GOES_ON;
    }
    caller->skip = caller->closes ? 0 : caller->exchange.length - caller->exchange.received;
    caller->since = caller->server->now;
    caller->skip_due = caller->since + caller->server->patience;
    end_request(caller);
    if (caller->closes)
        begin_to_linger(caller);
    return GOES_ON;
}

/* A body that was refused comes all the same. */
static int skip_body(fplt__caller *caller)
{
    if (!caller->in_size) {
        int filled = fill(caller);
        if (filled != GOES_ON)
            return filled;
    }
    size_t take = caller->skip < caller->in_size ? (size_t)caller->skip : caller->in_size;
    caller->skip -= take;
    caller->skip_due = fplt__server_extend(caller->server, caller->skip_due, take);
    caller->in_size -= take;
    memmove(caller->in, caller->in + take, caller->in_size);
    if (!caller->skip)
        caller->since = caller->server->now;
    return GOES_ON;
}

/* Whoever closes at once while bytes still come takes the answer back. */
static int linger(fplt__caller *caller)
{
    ssize_t got = 1;
    for (int i = 0; i < MOST_LINGERED && got > 0; i++)
        got = recv(caller->line.descriptor, caller->server->record, FPLT__RECORD, 0);
    return got > 0 || (got < 0 && errno == EAGAIN) ? WAITS : ENDS;
}

static int step(fplt__caller *caller)
{
    if (caller->lingers)
        return linger(caller);
    if (caller->in_handshake)
        return shake_hands(caller);
    switch (caller->exchange.stage) {
    case FPLT__NO_REQUEST: return caller->skip ? skip_body(caller) : read_head(caller);
    case FPLT__RECEIVES: return read_body(caller);
    case FPLT__ANSWERED: return send_answer(caller);
    default: return caller->line.closing ? ENDS : WAITS; /* for room, a thread or news */
    }
}

static void go_on(fplt__caller *caller)
{
    int next = GOES_ON;
    for (int i = 0; i < MOST_STEPS && next == GOES_ON; i++)
        next = step(caller);
    if (next == ENDS)
        fplt__caller_end(caller);
    else if (next == GOES_ON)
        fplt__caller_stir(caller);
}

int fplt__callers_go_on(fplt__server *server)
{
    int turns = 0;
    for (; turns < MOST_TURNS && server->ready_first; turns++) {
        fplt__caller *caller = server->ready_first;
        unstir(caller);
        go_on(caller);
    }
    return turns > 0;
}

void fplt__callers_part(fplt__server *server)
{
    while (server->callers) {
        fplt__caller *caller = server->callers;
        while (caller->exchange.stage == FPLT__ANSWERED && send_answer(caller) == GOES_ON)
            ;
        caller->refused = 1; /* not by them */
        fplt__caller_end(caller);
    }
}
