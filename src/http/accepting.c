/* Which connections are accepted, and which are closed to make room for others. */
#include "http/serving.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/machine.h"

enum { MAX_NEW = 32 /* connections at once */ };

static const double deaf_seconds = 0.5;
static const char too_many[] = "too many connections without a certificate of this federation";

/* Eviction */

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
        fplt__http_connection_enter(connection);
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

fplt_status fplt__server_adopt(fplt__server *server, int descriptor, const void *peer,
                               fplt_error *error)
{
    server->now = fplt__now();
    fplt__http_connection *connection = server->tls ? NULL : welcome(server, descriptor, NULL);
    if (!connection)
        return fplt_error_set(error, FPLT_FAILED, "no room for a connection");
    memcpy(connection->peer, peer, server->service.peer_size);
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
        fplt__server_refuse_origin(server, origin, "limit", too_many);
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

void fplt__http_transaction_address(const fplt__http_transaction *transaction,
                                    char text[FPLT__HTTP_ADDRESS])
{
    const fplt__origin *origin = transaction->connection->origin;
    *text = 0;
    if (origin && !origin->is_local)
        fplt__admission_name(origin, text);
}

void fplt__server_expect(fplt__server *server, const char *address)
{
    fplt__origin *origin = fplt__admission_named(server->admission, address, server->now);
    if (origin)
        fplt__admission_trust(origin, server->now);
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
