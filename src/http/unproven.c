/* The list of connections without a certificate of this federation, and the count and the log of refusals. A connection is
 * unproven until its handshake has shown a certificate; of a server without certificates all are. */
#include "http/serving.h"

#include <stdio.h>

#include "base/assert.h"

/* Refusals */

void fplt__server_refuse_origin(fplt__server *server, fplt__origin *origin, const char *word,
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
    fplt__server_refuse_origin(connection->server, connection->origin, word, sentence);
}

void fplt__server_sum_up(fplt__server *server, double now)
{
    char sentence[256];
    while (fplt__admission_summary(server->admission, now, sentence, sizeof sentence))
        server->service.refused(server->service.context, NULL, sentence);
}

/* Unproven connections */

void fplt__http_connection_enter(fplt__http_connection *connection)
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
        !connection->is_client)
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
