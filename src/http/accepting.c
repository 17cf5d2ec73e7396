/* Which connections are accepted, and which are closed to make room for others. A connection is unproven until its
 * handshake has shown a certificate of this federation; of a server without certificates all are. */
#include "http/serving.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/machine.h"

enum { MAX_NEW = 32 /* connections at once */ };

static const double deaf_seconds = 0.5;
static const char too_many[] = "too many connections without a certificate of this federation";

/* Refusals */

static void refuse_origin(fplt__server *server, fplt__origin *origin, const char *word,
                          const char *sentence)
{
    char channel[512], name[FPLT__ADDRESS_TEXT];
    if (origin && !fplt__admission_reports(server->admission, origin, server->now)) {
        server->service.refused(server->service.context, word, NULL);
        return;
    }
    snprintf(channel, sizeof channel, "%s", sentence);
    if (origin) {
        fplt__admission_name(origin, name);
        snprintf(channel, sizeof channel, "%s (from %s)", sentence, name);
    }
    server->service.refused(server->service.context, word, channel);
}

void fplt__http_connection_refuse(fplt__http_connection *connection, const char *word,
                                  const char *sentence)
{
    refuse_origin(connection->server, connection->origin, word, sentence);
}

void fplt__server_sum_up(fplt__server *server, double now)
{
    char sentence[256];
    while (fplt__admission_summary(server->admission, now, sentence, sizeof sentence))
        server->service.refused(server->service.context, NULL, sentence);
}

/* Unproven connections */

static void append_unproven(fplt__http_connection *connection)
{
    fplt__server *server = connection->server;
    FPLT__ASSERT(!connection->is_unproven && !connection->older && !connection->newer);
    FPLT__ASSERT(!server->unproven_first == !server->unproven_last);
    FPLT__ASSERT(connection->is_reserved == 0 || connection->is_reserved == 1);
    connection->is_unproven = 1;
    connection->older = server->unproven_last;
    *(server->unproven_last ? &server->unproven_last->newer : &server->unproven_first) = connection;
    server->unproven_last = connection;
    server->unproven[connection->is_reserved]++;
    connection->origin->unproven++;
    FPLT__ASSERT(connection->origin->unproven <= connection->origin->open);
}

static void remove_unproven(fplt__http_connection *connection)
{
    fplt__server *server = connection->server;
    if (!connection->is_unproven)
        return;
    FPLT__ASSERT(server->unproven[connection->is_reserved] > 0);
    FPLT__ASSERT(connection->origin->unproven > 0);
    FPLT__ASSERT(connection->older ? connection->older->newer == connection
                                   : server->unproven_first == connection);
    FPLT__ASSERT(connection->newer ? connection->newer->older == connection
                                   : server->unproven_last == connection);
    *(connection->older ? &connection->older->newer : &server->unproven_first) = connection->newer;
    *(connection->newer ? &connection->newer->older : &server->unproven_last) = connection->older;
    connection->older = connection->newer = NULL;
    connection->is_unproven = 0;
    server->unproven[connection->is_reserved]--;
    connection->origin->unproven--;
}

void fplt__http_connection_prove(fplt__http_connection *connection)
{
    if (!connection->is_unproven || !connection->server->wants_certificate ||
        connection->identity.role != FPLT_ROLE_AGENT)
        return;
    remove_unproven(connection);
    fplt__admission_refund(connection->server->admission, connection->origin);
}

void fplt__http_connection_leave(fplt__http_connection *connection)
{
    remove_unproven(connection);
    if (!connection->origin)
        return;
    if (connection->is_trusted)
        fplt__admission_trust(connection->origin, connection->server->now);
    FPLT__ASSERT(connection->origin->open > connection->origin->unproven);
    connection->origin->open--;
}

/* The oldest that waits for its client and not for us: of an address, or of all (NULL); among reserved places only,
 * among the others only, or among both (-1). */
static fplt__http_connection *oldest(const fplt__server *server, const fplt__origin *origin,
                                     int is_reserved)
{
    for (fplt__http_connection *connection = server->unproven_first; connection;
         connection = connection->newer) {
        fplt__stage stage = connection->transaction.stage;
        if ((stage == FPLT__NO_REQUEST || stage == FPLT__RECEIVES || stage == FPLT__ANSWERED) &&
            (!origin || connection->origin == origin) &&
            (is_reserved < 0 || connection->is_reserved == is_reserved))
            return connection;
    }
    return NULL;
}

static int evict(fplt__http_connection *connection)
{
    if (!connection)
        return 0;
    if (!connection->refused)
        fplt__http_connection_refuse(connection, "limit", too_many);
    connection->refused = 1;
    fplt__http_connection_end(connection);
    return 1;
}

/* Strangers make room first, then members' addresses. */
static int evict_any(fplt__server *server)
{
    return evict(oldest(server, NULL, 0)) || evict(oldest(server, NULL, 1));
}

/* Whether there is room for another connection of that address, if need be in place of an older one. */
static int make_room(fplt__server *server, const fplt__origin *origin)
{
    if (origin->unproven >= server->max_of_address && !origin->is_local &&
        !evict(oldest(server, origin, -1)))
        return 0;
    if (!fplt__admission_is_member(origin, server->now) &&
        server->unproven[0] >= server->max_unproven && !evict(oldest(server, NULL, 0)))
        return 0;
    return server->connections < server->most || evict_any(server);
}

/* Accepting */

/* The origin is NULL where the owner says whose the connection is. */
static fplt__http_connection *welcome(fplt__server *server, int descriptor, fplt__origin *origin)
{
    gnutls_session_t session = server->tls ? fplt__server_session(server) : NULL;
    if (server->tls && !session) {
        close(descriptor);
        return NULL;
    }
    fplt__http_connection *connection = fplt__http_connection_begin(server, descriptor, session);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = connection};
    if (!connection)
        return NULL;
    if (session) {
        gnutls_session_set_ptr(session, connection);
        connection->credentials = fplt__credentials_hold(server->shown);
    }
    if (origin) {
        connection->origin = origin;
        connection->is_reserved = fplt__admission_is_member(origin, server->now);
        origin->open++;
        append_unproven(connection);
        FPLT__ASSERT(server->unproven[0] <= server->max_unproven);
        FPLT__ASSERT(origin->is_local || origin->unproven <= server->max_of_address);
    }
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, descriptor, &event)) {
        connection->refused = 1;
        fplt__http_connection_end(connection);
        return NULL;
    }
    return connection;
}

fplt_status fplt__server_adopt(fplt__server *server, int descriptor, const fplt__identity *identity,
                               fplt_error *error)
{
    server->now = fplt__now();
    fplt__http_connection *connection = server->tls ? NULL : welcome(server, descriptor, NULL);
    if (!connection)
        return fplt_error_set(error, FPLT_FAILED, "no room for a connection");
    connection->identity = *identity;
    return FPLT_OK;
}

void fplt__server_update_accepting(fplt__server *server)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    int wanted = server->now >= server->deaf_until &&
                 (server->connections < server->most || oldest(server, NULL, -1));
    if (wanted == server->listens)
        return;
    if (epoll_ctl(server->epoll, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, server->listener,
                  &event) == 0)
        server->listens = wanted;
}

static void admit(fplt__server *server, int descriptor, const struct sockaddr *address)
{
    fplt__origin *origin = fplt__admission_find(server->admission, address, server->now);
    if (!origin) {
        close(descriptor);
    } else if (!fplt__admission_take(server->admission, origin, server->now) ||
               !make_room(server, origin)) {
        close(descriptor);
        refuse_origin(server, origin, "limit", too_many);
    } else {
        welcome(server, descriptor, origin);
    }
}

void fplt__server_accept(fplt__server *server)
{
    for (int i = 0; i < MAX_NEW; i++) {
        struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
        socklen_t size = sizeof address;
        if (server->connections >= server->most && !oldest(server, NULL, -1))
            break;
        int made = accept4(server->listener, (struct sockaddr *)&address, &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (made >= 0) {
            admit(server, made, (struct sockaddr *)&address);
            continue;
        }
        int problem = errno;
        if (problem == EMFILE || problem == ENFILE || problem == ENOBUFS || problem == ENOMEM) {
            if (evict_any(server))
                continue;
            server->deaf_until = server->now + deaf_seconds;
        }
        if (problem != EINTR && problem != ECONNABORTED)
            break;
    }
}

/* The owner's part */

void fplt__http_transaction_trust(fplt__http_transaction *transaction)
{
    fplt__http_connection *connection = transaction->connection;
    connection->is_trusted = 1;
    FPLT__ASSERT(!connection->in_handshake && !connection->lingers);
    if (connection->origin)
        fplt__admission_trust(connection->origin, connection->server->now);
}

void fplt__http_transaction_distrust(fplt__http_transaction *transaction)
{
    fplt__http_connection *connection = transaction->connection;
    connection->closes = 1;
    if (connection->origin)
        fplt__admission_charge(connection->server->admission, connection->origin);
}

int fplt__http_transaction_reports(fplt__http_transaction *transaction)
{
    const fplt__http_connection *connection = transaction->connection;
    return !connection->origin ||
           fplt__admission_reports(connection->server->admission, connection->origin,
                                   connection->server->now);
}
