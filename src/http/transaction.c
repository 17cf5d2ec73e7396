/* A request and its answer: where its body goes, whom it waits for, and how the answer is put together. */
#include "http/serving.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"

enum {
    MIN_ROOM = 2 << 20,        /* the window counts bodies of so many bytes at least */
    WORTH_KEEPING = 1 << 14,   /* as a spare buffer: its pages would be cleared anew */
    WORTH_PREPARING = 1 << 14, /* bytes; those above FPLT_RECEIVE_BUFFER find hands when taken */
    MAX_SENTENCE = 1024,       /* bytes of a refusal's */
    HEAD_ROOM = FPLT__ANSWER_HEADERS + 512 /* bytes of an answer's head */
};

/* Waiting: for room, or for news */

static void enlist(fplt__http_transaction *transaction, fplt__stage stage)
{
    fplt__server *server = transaction->server;
    fplt__queue *queue = stage == FPLT__HELD ? &server->held : &server->rooms;
    FPLT__ASSERT(!transaction->queue);
    FPLT__ASSERT(stage == FPLT__HELD || stage == FPLT__WAITS_FOR_ROOM);
    FPLT__ASSERT(transaction->stage == (stage == FPLT__HELD ? FPLT__WHOLE : FPLT__NO_REQUEST));
    FPLT__ASSERT(!queue->first == !queue->last);
    transaction->stage = stage;
    transaction->held_until =
        fplt__now() + (stage == FPLT__HELD ? FPLT_HELD_SECONDS : FPLT_ROOM_SECONDS);
    /* each waits equally long, so the queue is ordered by deadline */
    FPLT__ASSERT(!queue->last || queue->last->held_until <= transaction->held_until);
    transaction->queue = queue;
    transaction->next = NULL;
    transaction->previous = queue->last;
    if (queue->last)
        queue->last->next = transaction;
    else
        queue->first = transaction;
    queue->last = transaction;
}

static void delist(fplt__http_transaction *transaction)
{
    fplt__queue *queue = transaction->queue;
    if (!queue)
        return;
    FPLT__ASSERT(queue == &transaction->server->rooms || queue == &transaction->server->held);
    FPLT__ASSERT(transaction->previous ? transaction->previous->next == transaction
                                       : queue->first == transaction);
    FPLT__ASSERT(transaction->next ? transaction->next->previous == transaction
                                   : queue->last == transaction);
    if (transaction->previous)
        transaction->previous->next = transaction->next;
    else
        queue->first = transaction->next;
    if (transaction->next)
        transaction->next->previous = transaction->previous;
    else
        queue->last = transaction->previous;
    transaction->queue = NULL;
}

/* `window` large bodies at once; of those that are not so large as many as take no more room. */
static int has_room(const fplt__http_transaction *transaction)
{
    const fplt__server *server = transaction->server;
    size_t length = (size_t)transaction->length;
    size_t buffer = length > MIN_ROOM ? length : MIN_ROOM;
    return !transaction->large || !server->large ||
           server->large + length <= server->window * buffer;
}

/* Buffers */

/* A spare one that is not much too large, or a new one; *size becomes what it has. */
static uint8_t *take_buffer(fplt__server *server, size_t *size)
{
    size_t candidates = *size > WORTH_KEEPING ? FPLT__MAX_SPARE : 0;
    for (size_t i = 0; i < candidates; i++) {
        struct fplt__spare *spare = &server->spare[i];
        if (spare->size < *size || spare->size / 2 > *size)
            continue;
        uint8_t *bytes = spare->bytes;
        *size = spare->size;
        FPLT__ASSERT(bytes && spare->size <= server->spared);
        server->spared -= spare->size;
        *spare = (struct fplt__spare){NULL, 0};
        return bytes;
    }
    return fplt__alloc(*size, 1);
}

/* Kept where the window could need it; those of other sizes make room. */
static void drop_buffer(fplt__server *server, uint8_t *bytes, size_t size)
{
    size_t most = server->window * (size > MIN_ROOM ? size : (size_t)MIN_ROOM);
    int kept = !bytes || size <= WORTH_KEEPING;
    for (size_t i = 0; i < FPLT__MAX_SPARE && !kept; i++) {
        struct fplt__spare *spare = &server->spare[i];
        if (spare->size == size || (!spare->size && server->spared + size > most))
            continue;
        FPLT__ASSERT(spare->size <= server->spared && !spare->bytes == !spare->size);
        fplt__free(spare->bytes);
        server->spared -= spare->size;
        *spare = (struct fplt__spare){NULL, 0};
        if ((kept = server->spared + size <= most)) {
            *spare = (struct fplt__spare){bytes, size};
            server->spared += size;
        }
    }
    if (!kept || size <= WORTH_KEEPING)
        fplt__free(bytes);
}

static void receive(fplt__http_transaction *transaction)
{
    fplt__server *server = transaction->server;
    transaction->stage = FPLT__RECEIVES;
    FPLT__ASSERT(!transaction->body && !transaction->received && !transaction->queue);
    FPLT__ASSERT(has_room(transaction));
    transaction->due = fplt__now() + server->header_timeout;
    if (!transaction->length)
        return;
    transaction->room = (size_t)transaction->length + 1;
    transaction->body = take_buffer(server, &transaction->room);
    if (!transaction->body)
        fplt__http_transaction_refuse(transaction, 503, "memory", 0,
                                      "the coordinator has no memory left");
    else if (transaction->large)
        server->large += (size_t)transaction->length;
}

static void release_body(fplt__http_transaction *transaction)
{
    FPLT__ASSERT(!transaction->body || !transaction->large ||
                 transaction->server->large >= transaction->length);
    if (transaction->body && transaction->large)
        transaction->server->large -= (size_t)transaction->length;
    transaction->large = 0;
    drop_buffer(transaction->server, transaction->body, transaction->room);
    transaction->body = NULL;
}

/* From the head to the answer */

void fplt__http_transaction_begin(fplt__http_transaction *transaction)
{
    fplt__server *server = transaction->server;
    uint64_t limit = 0;
    FPLT__ASSERT(transaction->stage == FPLT__NO_REQUEST && !transaction->queue);
    FPLT__ASSERT(!transaction->body && !transaction->data && !transaction->received);
    FPLT__ASSERT(!transaction->prepares && !transaction->has_digest && !transaction->header_size);
    server->service.head(server->service.context, transaction, transaction->length, &limit);
    if (transaction->stage == FPLT__ANSWERED)
        return;
    if (transaction->length > limit) {
        fplt__http_transaction_refuse(transaction, 413, "large", 1,
                                      "a body of %llu bytes; at most %llu are legal here",
                                      (unsigned long long)transaction->length,
                                      (unsigned long long)limit);
        return;
    }
    transaction->large = transaction->length > FPLT_SMALL_BODY;
    if (!transaction->large || (has_room(transaction) && !server->rooms.first))
        receive(transaction);
    else
        enlist(transaction, FPLT__WAITS_FOR_ROOM);
}

static void prepare(void *context)
{
    fplt__http_transaction *transaction = context;
    transaction->server->service.prepare(transaction);
}

static void take(fplt__http_transaction *transaction)
{
    FPLT__ASSERT(transaction->stage == FPLT__RECEIVES || transaction->stage == FPLT__PREPARES);
    transaction->stage = FPLT__WHOLE;
    transaction->server->service.whole(transaction->server->service.context, transaction);
    FPLT__ASSERT(transaction->stage == FPLT__HELD || transaction->stage == FPLT__ANSWERED);
}

void fplt__http_transaction_complete(fplt__http_transaction *transaction)
{
    fplt__server *server = transaction->server;
    FPLT__ASSERT(transaction->stage == FPLT__RECEIVES);
    FPLT__ASSERT(transaction->received == transaction->length);
    if (transaction->prepares && server->worker && transaction->length >= WORTH_PREPARING &&
        transaction->length <= FPLT_RECEIVE_BUFFER) {
        transaction->stage = FPLT__PREPARES;
        transaction->work_item = (fplt__work_item){prepare, transaction, NULL};
        fplt__http_worker_give(server->worker, &transaction->work_item);
        return;
    }
    take(transaction);
}

void fplt__http_transaction_end(fplt__http_transaction *transaction)
{
    fplt__server *server = transaction->server;
    if (transaction->stage == FPLT__NO_REQUEST)
        return;
    if (transaction->stage == FPLT__PREPARES)
        fplt__http_worker_recall(server->worker, &transaction->work_item);
    FPLT__ASSERT(!transaction->queue || transaction->stage == FPLT__HELD ||
                 transaction->stage == FPLT__WAITS_FOR_ROOM);
    delist(transaction);
    server->service.ended(server->service.context, transaction);
    release_body(transaction);
    transaction->stage = FPLT__NO_REQUEST;
    transaction->prepares = transaction->has_digest = 0;
    transaction->length = transaction->received = 0;
    transaction->header_size = 0;
    transaction->data = NULL;
}

void fplt__http_transactions_serve(fplt__server *server)
{
    fplt__work_item *work_item;
    fplt__http_transaction *e;
    double now = fplt__now();
    while (server->worker && (work_item = fplt__http_worker_take(server->worker)))
        take(work_item->context);
    while ((e = server->rooms.first)) {
        if (has_room(e)) {
            delist(e);
            receive(e);
            fplt__http_connection_set_ready(e->connection);
        } else if (e->held_until <= now) {
            fplt__http_transaction_refuse(e, 503, "window", 0,
                                          "the coordinator is busy with other updates");
        } else {
            break;
        }
    }
    while ((e = server->held.first) && e->held_until <= now) {
        server->service.expired(server->service.context, e);
        FPLT__ASSERT(e != server->held.first);
    }
}

double fplt__http_transactions_wait(const fplt__server *server, double now)
{
    const fplt__http_transaction *first[] = {server->rooms.first, server->held.first};
    double seconds = 1e9;
    if (first[0] && has_room(first[0]))
        return 0;
    for (int i = 0; i < 2; i++)
        if (first[i])
            seconds = fmin(seconds, fmax(0, first[i]->held_until - now));
    return seconds;
}

/* Its body is prepared, but the transaction has ended. */
static void hold_prepared(fplt__http_transaction *transaction)
{
    FPLT__ASSERT(transaction->stage == FPLT__PREPARES);
    transaction->stage = FPLT__WHOLE;
    enlist(transaction, FPLT__HELD);
}

void fplt__http_transactions_end(fplt__server *server)
{
    fplt__http_transaction *waits;
    fplt__work_item *prepared;
    if (server->worker)
        fplt__http_worker_finish(server->worker);
    while (server->worker && (prepared = fplt__http_worker_take(server->worker)))
        hold_prepared(prepared->context);
    while ((waits = server->rooms.first ? server->rooms.first : server->held.first))
        fplt__http_transaction_refuse(waits, 503, "ending", 0, "the coordinator is ending");
}

void fplt__http_transactions_forget(fplt__server *server)
{
    for (size_t i = 0; i < FPLT__MAX_SPARE; i++)
        fplt__free(server->spare[i].bytes);
}

/* What the owner sees */

const char *fplt__http_transaction_method(const fplt__http_transaction *transaction)
{
    return transaction->head.method;
}

const char *fplt__http_transaction_path(const fplt__http_transaction *transaction)
{
    return transaction->head.path;
}

const char *fplt__http_transaction_header(const fplt__http_transaction *transaction,
                                          const char *name)
{
    return fplt__http_value(&transaction->head, name);
}

const uint8_t *fplt__http_transaction_body(const fplt__http_transaction *transaction)
{
    return transaction->body;
}

size_t fplt__http_transaction_size(const fplt__http_transaction *transaction)
{
    return transaction->received;
}

void *fplt__http_transaction_peer(fplt__http_transaction *transaction)
{
    return transaction->connection->peer;
}

void fplt__http_transaction_prepare(fplt__http_transaction *transaction)
{
    transaction->prepares = 1;
}

void fplt__http_transaction_set_digest(fplt__http_transaction *transaction, fplt__digest digest)
{
    transaction->digest = digest;
    transaction->has_digest = 1;
}

const fplt__digest *fplt__http_transaction_digest(const fplt__http_transaction *transaction)
{
    return transaction->has_digest ? &transaction->digest : NULL;
}

void fplt__http_transaction_set_data(fplt__http_transaction *transaction, void *data)
{
    transaction->data = data;
}

void *fplt__http_transaction_data(const fplt__http_transaction *transaction)
{
    return transaction->data;
}

void fplt__http_transaction_drop_body(fplt__http_transaction *transaction)
{
    release_body(transaction);
}

void fplt__http_transaction_hold(fplt__http_transaction *transaction)
{
    enlist(transaction, FPLT__HELD);
}

/* Answers */

void fplt__http_transaction_add_header(fplt__http_transaction *transaction, const char *name,
                                       const char *value)
{
    FPLT__ASSERT(transaction->header_size < sizeof transaction->header);
    FPLT__ASSERT(transaction->stage != FPLT__ANSWERED);
    size_t room = sizeof transaction->header - transaction->header_size;
    int used =
        snprintf(transaction->header + transaction->header_size, room, "%s: %s\r\n", name, value);
    if (used > 0 && (size_t)used < room)
        transaction->header_size += (size_t)used;
    else
        transaction->header[transaction->header_size] = 0;
}

static size_t write_head(const fplt__http_transaction *transaction, unsigned code, const char *type,
                         size_t size, char *text)
{
    char date[FPLT__HTTP_DATE], length[48] = "";
    fplt__http_date(time(NULL), date);
    if (code != 204)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", size);
    return (size_t)snprintf(text, HEAD_ROOM, "HTTP/1.1 %u %s\r\nDate: %s\r\n%s%s%s%s%s%.*s\r\n",
                            code, fplt__http_reason(code), date, length,
                            transaction->connection->closes ? "Connection: close\r\n" : "",
                            type ? "Content-Type: " : "", type ? type : "", type ? "\r\n" : "",
                            (int)transaction->header_size, transaction->header);
}

static void add_piece(fplt__outgoing *out, const void *bytes, size_t size, void *owner)
{
    FPLT__ASSERT(out->count <= FPLT__MAX_PIECES);
    out->piece[out->count].bytes = bytes;
    out->piece[out->count].size = size;
    out->piece[out->count++].owner = owner;
    out->size += size;
}

/* Pieces without an owner are copied behind the head. */
static int put_together(fplt__http_transaction *transaction, unsigned code, const char *type,
                        const fplt__http_piece *pieces, size_t count)
{
    fplt__outgoing *out = &transaction->connection->out;
    size_t copied = 0, size = 0;
    FPLT__ASSERT(!out->count && !out->size && !out->done);
    for (size_t i = 0; i < count; i++) {
        copied += pieces[i].owner ? 0 : pieces[i].size;
        size += pieces[i].size;
    }
    if (fplt__grow(&out->text, &out->room, HEAD_ROOM + copied, 1, "an answer", NULL))
        return 0;
    size_t used = write_head(transaction, code, type, size, out->text);
    FPLT__ASSERT(used < HEAD_ROOM);
    add_piece(out, out->text, used, NULL);
    for (size_t i = 0; i < count && strcmp(transaction->head.method, "HEAD") != 0; i++) {
        const void *bytes = pieces[i].bytes;
        if (!pieces[i].size)
            continue;
        if (pieces[i].owner) {
            transaction->server->service.hold(pieces[i].owner);
        } else {
            memcpy(out->text + used, bytes, pieces[i].size);
            bytes = out->text + used;
            used += pieces[i].size;
            FPLT__ASSERT(used <= out->room);
        }
        add_piece(out, bytes, pieces[i].size, pieces[i].owner);
        transaction->server->sent += pieces[i].size;
    }
    return 1;
}

void fplt__http_transaction_answer(fplt__http_transaction *transaction, unsigned code,
                                   const char *type, const fplt__http_piece *pieces, size_t count)
{
    fplt__http_connection *connection = transaction->connection;
    FPLT__ASSERT(count <= FPLT__MAX_PIECES);
    FPLT__ASSERT(transaction->stage != FPLT__ANSWERED); /* answered once */
    FPLT__ASSERT(transaction->stage != FPLT__PREPARES); /* its body is the worker's */
    FPLT__ASSERT(transaction->received <= transaction->length);
    count = count < FPLT__MAX_PIECES ? count : FPLT__MAX_PIECES;
    uint64_t left = transaction->length - transaction->received;
    if (left > FPLT_RECEIVE_BUFFER || (left && connection->expects))
        connection->closes = 1; /* the rest of the body may or may not arrive */
    if (!put_together(transaction, code, type, pieces, count))
        connection->closes = 1; /* without a word */
    release_body(transaction);  /* not before: an answer may repeat it */
    delist(transaction);
    transaction->stage = FPLT__ANSWERED;
    transaction->since = fplt__now();
    fplt__http_connection_set_ready(connection);
}

void fplt__http_transaction_answer_text(fplt__http_transaction *transaction, unsigned code,
                                        const char *type, const char *text)
{
    fplt__http_piece piece = {text, strlen(text), NULL};
    fplt__http_transaction_answer(transaction, code, type, &piece, piece.size ? 1 : 0);
}

void fplt__http_transaction_refuse(fplt__http_transaction *transaction, unsigned code,
                                   const char *word, int final, const char *format, ...)
{
    char sentence[MAX_SENTENCE], *text = NULL;
    const fplt__service *service = &transaction->server->service;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (!service->fault) {
        fplt__http_transaction_answer_text(transaction, code, "text/plain", sentence);
        return;
    }
    text = service->fault(word, final, sentence);
    fplt__http_transaction_answer_text(transaction, code, "application/json", text ? text : "");
    fplt__free(text);
}

void fplt__http_transaction_refuse_method(fplt__http_transaction *transaction, const char *allowed)
{
    fplt__http_transaction_add_header(transaction, "Allow", allowed);
    fplt__http_transaction_refuse(transaction, 405, "method", 1, "%.60s has the method %s only",
                                  fplt__http_transaction_path(transaction), allowed);
}
