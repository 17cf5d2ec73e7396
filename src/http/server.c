/* An HTTP/1.1 server: its life and the limits of time. */
#include "http/serving.h"

#include <errno.h>
#include <math.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/network.h"

enum {
    MAX_SERVERS = 7,
    MAX_RUNS = 16, /* of a server in one turn, while it has something to do */
    MAX_EVENTS = 128,
    SPARE_ADDRESSES = 1024, /* in the table beside those of open connections */
    MEMBER_SHARE = 16,      /* times the rate of an address: of one that is a member's */
    TOTAL_SHARE = 64        /* and of all that are no member's */
};

/* Times the timeout of handshakes and heads: between requests, and for an answer besides what its bytes may take;
 * and for what the other side still sends when all is said. */
static const double idle_share = 30, linger_share = 0.2;

/* Connections */

/* Connections are accepted last: that may end others, which events here could still name. */
static void hear_news(fplt__server *server)
{
    struct epoll_event events[MAX_EVENTS];
    int accepts = 0, count = epoll_wait(server->epoll, events, MAX_EVENTS, 0);
    for (int i = 0; i < count; i++) {
        fplt__http_connection *connection = events[i].data.ptr;
        if (!connection) {
            accepts = 1;
            continue;
        }
        FPLT__ASSERT(connection->server == server && *connection->link == connection);
        if (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
            connection->channel.closing = 1;
        if (events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
            connection->channel.empty = 0;
        fplt__http_connection_set_ready(connection);
    }
    if (accepts)
        fplt__server_accept(server);
}

static const char slow_body[] = "a body came slower than 10 kB/s";

/* Deadline of a connection, and the log message when it passes. */
static double due(const fplt__http_connection *peer, const char **why)
{
    const fplt__http_transaction *transaction = &peer->transaction;
    double header_timeout = peer->server->header_timeout;
    *why = NULL;
    if (peer->lingers)
        return peer->since + linger_share * header_timeout;
    if (peer->skip) {
        FPLT__ASSERT(transaction->stage == FPLT__NO_REQUEST);
        *why = slow_body;
        return peer->skip_due;
    }
    if (peer->in_handshake ||
        (transaction->stage == FPLT__NO_REQUEST && (peer->in_size || !peer->served))) {
        *why = "a connection took too long for its handshake or headers";
        return peer->since + header_timeout;
    }
    if (transaction->stage == FPLT__RECEIVES) {
        FPLT__ASSERT(transaction->due <= peer->server->now + 3 * header_timeout);
        *why = slow_body;
        return transaction->due;
    }
    if (transaction->stage == FPLT__ANSWERED)
        return transaction->since + idle_share * header_timeout +
               (double)peer->out.done / FPLT__SLOWEST;
    if (transaction->stage == FPLT__NO_REQUEST)
        return peer->since + idle_share * header_timeout;
    return 1e300; /* it waits for us */
}

/* Inactivity timeouts do not stop a client that sends a byte now and then; this does. */
static void sweep(fplt__server *server, double now)
{
    fplt__http_connection *next;
    const char *why;
    if (now - server->swept < 0.1)
        return;
    server->swept = now;
    for (fplt__http_connection *peer = server->open_connections; peer; peer = next) {
        next = peer->next;
        if (due(peer, &why) >= now)
            continue;
        if (why && !peer->refused)
            fplt__http_connection_refuse(peer, "slow", why);
        peer->refused = 1;
        fplt__http_connection_end(peer);
    }
    fplt__server_sum_up(server, now);
    fplt__server_check(server);
}

/* Counts bytes in flight as a sign of life: a long body may take minutes on a slow connection. */
static void watch_moves(fplt__server *server, double now)
{
    if (!server->service.moves || now - server->watched < 1)
        return;
    server->watched = now;
    for (fplt__http_connection *peer = server->open_connections; peer; peer = peer->next) {
        struct tcp_info info;
        socklen_t size = sizeof info;
        fplt__http_transaction *transaction = &peer->transaction;
        if (transaction->stage != FPLT__RECEIVES && transaction->stage != FPLT__ANSWERED)
            continue;
        memset(&info, 0, sizeof info);
        if (getsockopt(peer->channel.descriptor, IPPROTO_TCP, TCP_INFO, &info, &size))
            continue;
        uint64_t moved = info.tcpi_bytes_acked + info.tcpi_bytes_received;
        if (moved != peer->moved)
            server->service.moves(server->service.context, transaction);
        peer->moved = moved;
    }
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

static fplt_status limit_addresses(fplt__server *server, const fplt__server_settings *settings,
                                   fplt_error *error)
{
    fplt__admission_settings limits = {.addresses = (size_t)server->most + SPARE_ADDRESSES,
                                       .burst = settings->rate > 0 ? server->max_of_address : 0,
                                       .rate = settings->rate,
                                       .member_rate = MEMBER_SHARE * settings->rate,
                                       .total_burst = server->max_unproven,
                                       .total_rate = TOTAL_SHARE * settings->rate};
    return fplt__admission_create(&limits, &server->admission, error);
}

fplt_status fplt__server_create(const fplt__server_settings *settings, const fplt__service *service,
                                fplt__server **out, fplt_error *error)
{
    *out = NULL;
    fplt__server *server;
    fplt_status status = fplt__alloc_into(&server, 1, sizeof *server, "a server", error);
    if (status)
        return status;
    FPLT__ASSERT(!settings->authority || service->identify);
    server->service = *service;
    server->listener = -1;
    server->most = settings->connections ? settings->connections : 1;
    server->window = settings->window ? settings->window : 1;
    server->max_unproven = settings->unproven ? settings->unproven : server->most;
    server->max_of_address = settings->per_address ? settings->per_address : server->most;
    server->header_timeout =
        settings->header_timeout > 0 ? settings->header_timeout : FPLT_HEADER_SECONDS;
    server->tls = settings->certificate != NULL;
    server->wants_certificate = settings->authority != NULL;
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (service->prepare && fplt__cores(0) > 1)
        fplt__http_worker_create(&server->worker,
                                 NULL); /* without it bodies are prepared when they are taken */
    if (server->epoll < 0)
        status = fplt_error_set(error, FPLT_FAILED, "%s: %s", settings->listen, strerror(errno));
    if (status || (status = limit_addresses(server, settings, error)) ||
        (server->tls && (status = fplt__server_set_up_tls(server, settings, error))) ||
        (status = listen_at(server, settings->listen, error))) {
        fplt__server_destroy(server);
        return status;
    }
    fplt__server_update_accepting(server);
    *out = server;
    return FPLT_OK;
}

void fplt__server_destroy(fplt__server *server)
{
    if (!server)
        return;
    fplt__http_transactions_end(server);
    fplt__http_connections_part(server);
    FPLT__ASSERT(!server->connections && !server->large);
    FPLT__ASSERT(!server->ready_first && !server->unproven_first);
    FPLT__ASSERT(!server->rooms.first && !server->held.first);
    FPLT__ASSERT(!server->shown || server->shown->holders == 1);
    fplt__http_worker_destroy(server->worker);
    if (server->listener >= 0)
        close(server->listener);
    if (server->epoll >= 0)
        close(server->epoll);
    fplt__credentials_release(server->shown);
    fplt__admission_destroy(server->admission);
    if (server->authority)
        gnutls_x509_crt_deinit(server->authority);
    if (server->priority)
        gnutls_priority_deinit(server->priority);
    if (server->credentials)
        gnutls_certificate_free_credentials(server->credentials);
    fplt__http_transactions_forget(server);
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
static double poll_timeout(const fplt__server *server, double now)
{
    double seconds = server->open_connections ? server->header_timeout / 20 : 1e9;
    if (server->ready_first)
        return 0;
    if (!server->listens && server->connections < server->most)
        seconds = fmin(seconds, fmax(0, server->deaf_until - now));
    return fmin(seconds, fplt__http_transactions_wait(server, now));
}

/* A server that is busy runs on. */
static void run_server(fplt__server *server)
{
    for (int i = 0; i < MAX_RUNS; i++) {
        server->now = fplt__now();
        hear_news(server);
        int busy = fplt__http_connections_go_on(server);
        fplt__http_transactions_serve(server);
        busy |= server->ready_first != NULL;
        fplt__server_update_accepting(server);
        if (!busy && !(server->worker && fplt__http_worker_help(server->worker)))
            break;
    }
    fplt__server_check(server);
}

int fplt__servers_turn(fplt__server *const *servers, size_t count, int descriptor, double seconds)
{
    struct pollfd wanted[2 * MAX_SERVERS + 1]; /* of each server two; a negative one is ignored */
    double due[MAX_SERVERS], now = fplt__now();
    FPLT__ASSERT(count <= MAX_SERVERS);
    count = count < MAX_SERVERS ? count : MAX_SERVERS;
    for (size_t i = 0; i < count; i++) {
        int busy = 0, done = -1;
        if (servers[i]->worker)
            busy = fplt__http_worker_watch(servers[i]->worker, &done);
        wanted[2 * i] = (struct pollfd){servers[i]->epoll, POLLIN, 0};
        wanted[2 * i + 1] = (struct pollfd){done, POLLIN, 0};
        due[i] = busy ? now : now + poll_timeout(servers[i], now);
        seconds = fmin(seconds, due[i] - now);
    }
    wanted[2 * count] = (struct pollfd){descriptor, POLLIN, 0};
    int ready = poll(wanted, 2 * count + 1, (int)fmin(ceil(fmax(0, seconds) * 1000), 60000));
    now = fplt__now();
    for (size_t i = 0; i < count; i++) {
        if (wanted[2 * i].revents || wanted[2 * i + 1].revents || now >= due[i] ||
            servers[i]->ready_first)
            run_server(servers[i]);
        servers[i]->now = now;
        sweep(servers[i], now);
        watch_moves(servers[i], now);
    }
    return ready > 0 && wanted[2 * count].revents;
}
