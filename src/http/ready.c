/* The list of connections that may go on, in the order in which they became ready, and the deadline of a body. */
#include "http/serving.h"

#include <math.h>

#include "base/assert.h"
#include "base/network.h"

void fplt__http_connection_set_ready(fplt__http_connection *connection)
{
    fplt__server *server = connection->server;
    if (connection->ready)
        return;
    connection->ready = 1;
    FPLT__ASSERT(!server->ready_first == !server->ready_last);
    FPLT__ASSERT(!server->ready_last || !server->ready_last->ready_next);
    connection->ready_next = NULL;
    connection->ready_previous = server->ready_last;
    *(server->ready_last ? &server->ready_last->ready_next : &server->ready_first) = connection;
    server->ready_last = connection;
    FPLT__ASSERT(server->ready_first->ready && !server->ready_first->ready_previous);
}

void fplt__http_connection_clear_ready(fplt__http_connection *connection)
{
    fplt__server *server = connection->server;
    if (!connection->ready)
        return;
    connection->ready = 0;
    FPLT__ASSERT(connection->ready_previous ? connection->ready_previous->ready_next == connection
                                            : server->ready_first == connection);
    FPLT__ASSERT(connection->ready_next ? connection->ready_next->ready_previous == connection
                                        : server->ready_last == connection);
    *(connection->ready_previous ? &connection->ready_previous->ready_next : &server->ready_first) =
        connection->ready_next;
    *(connection->ready_next ? &connection->ready_next->ready_previous : &server->ready_last) =
        connection->ready_previous;
}

double fplt__server_extend(const fplt__server *server, double due, size_t bytes)
{
    return fmin(due + (double)bytes / FPLT__SLOWEST, server->now + 2 * server->header_timeout);
}
