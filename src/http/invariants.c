/* What holds of a server between two turns. */
#include "http/serving.h"

#include "base/assert.h"

#ifdef FPLT__ASSERTIONS

static void check_stage(const fplt__http_connection *connection)
{
    const fplt__http_transaction *transaction = &connection->transaction;
    fplt__stage stage = transaction->stage;
    int waits = stage == FPLT__HELD || stage == FPLT__WAITS_FOR_ROOM;
    FPLT__ASSERT(transaction->connection == connection &&
                 transaction->server == connection->server);
    FPLT__ASSERT(stage != FPLT__WHOLE); /* held or answered at once */
    FPLT__ASSERT(waits == (transaction->queue != NULL));
    FPLT__ASSERT(stage != FPLT__HELD || transaction->queue == &connection->server->held);
    FPLT__ASSERT(stage != FPLT__WAITS_FOR_ROOM ||
                 (transaction->large && transaction->queue == &connection->server->rooms));
    FPLT__ASSERT(stage != FPLT__NO_REQUEST || (!transaction->body && !connection->out.count));
    FPLT__ASSERT(stage == FPLT__ANSWERED || !connection->out.count);
    FPLT__ASSERT(stage == FPLT__RECEIVES || stage == FPLT__PREPARES || stage == FPLT__HELD ||
                 !transaction->body);
    FPLT__ASSERT(transaction->received <= transaction->length);
}

static void check_connection(const fplt__http_connection *connection)
{
    const fplt__server *server = connection->server;
    check_stage(connection);
    FPLT__ASSERT(*connection->link == connection);
    FPLT__ASSERT(connection->in_from <= connection->in_size && connection->in_size <= FPLT__INTAKE);
    FPLT__ASSERT(connection->in_seen <= connection->in_size);
    FPLT__ASSERT(connection->out.done <= connection->out.size);
    FPLT__ASSERT(!connection->in_handshake ||
                 (!connection->served && connection->transaction.stage == FPLT__NO_REQUEST));
    FPLT__ASSERT(!connection->lingers || connection->closes);
    FPLT__ASSERT(!connection->skip || connection->transaction.stage == FPLT__NO_REQUEST);
    FPLT__ASSERT(!connection->is_unproven || connection->origin);
    FPLT__ASSERT(!server->tls == !connection->channel.session);
    FPLT__ASSERT(!connection->credentials == !connection->channel.session);
    FPLT__ASSERT(!connection->skip ||
                 connection->skip_due <= server->now + 3 * server->header_timeout);
}

static void check_open(const fplt__server *server)
{
    size_t count = 0, with_origin = 0, unproven = 0, ready = 0, open, open_unproven, large = 0;
    for (const fplt__http_connection *c = server->open_connections; c; c = c->next) {
        FPLT__ASSERT(c->server == server);
        check_connection(c);
        count++;
        with_origin += c->origin != NULL;
        unproven += c->is_unproven != 0;
        ready += c->ready != 0;
        large += c->transaction.large && c->transaction.body ? (size_t)c->transaction.length : 0;
    }
    FPLT__ASSERT(count == server->connections);
    FPLT__ASSERT(unproven == (size_t)server->unproven[0] + server->unproven[1]);
    FPLT__ASSERT(large == server->large);
    fplt__admission_count(server->admission, &open, &open_unproven);
    FPLT__ASSERT(open == with_origin);
    FPLT__ASSERT(open_unproven == unproven);
    for (const fplt__http_connection *c = server->ready_first; c; c = c->ready_next)
        ready--;
    FPLT__ASSERT(!ready);
    for (const fplt__http_connection *c = server->unproven_first; c; c = c->newer)
        unproven--;
    FPLT__ASSERT(!unproven);
}

static void check_queue(const fplt__queue *queue, fplt__stage stage)
{
    for (const fplt__http_transaction *t = queue->first; t; t = t->next) {
        FPLT__ASSERT(t->queue == queue && t->stage == stage);
        FPLT__ASSERT(!t->next || t->held_until <= t->next->held_until);
        FPLT__ASSERT(t->next || queue->last == t);
    }
}

void fplt__server_check(const fplt__server *server)
{
    size_t spared = 0;
    check_open(server);
    check_queue(&server->rooms, FPLT__WAITS_FOR_ROOM);
    check_queue(&server->held, FPLT__HELD);
    for (size_t i = 0; i < FPLT__MAX_SPARE; i++) {
        FPLT__ASSERT(!server->spare[i].bytes == !server->spare[i].size);
        spared += server->spare[i].size;
    }
    FPLT__ASSERT(spared == server->spared);
}

#else

void fplt__server_check(const fplt__server *server)
{
    (void)server;
}

#endif
