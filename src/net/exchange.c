/* A request and its answer: where its body goes, whom it waits for, and how the answer is put together. */
#include "net/serving.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/machine.h"
#include "base/memory.h"
#include "wire/message.h"

enum {
    LEAST_ROOM = 2 << 20,      /* the window counts bodies of so many bytes at least */
    WORTH_KEEPING = 1 << 14,   /* as a spare buffer: its pages would be cleared anew */
    WORTH_PREPARING = 1 << 14, /* bytes; those above FPLT_RECEIVE_BUFFER find hands when taken */
    HEAD_ROOM = FPLT__ANSWER_HEADERS + 512 /* bytes of an answer's head */
};

/* Waiting: for room, or for news */

static void enlist(fplt__exchange *exchange, fplt__stage stage)
{
    fplt__server *server = exchange->server;
    fplt__queue *queue = stage == FPLT__HELD ? &server->held : &server->rooms;
    exchange->stage = stage;
    exchange->held_until =
        fplt__now() + (stage == FPLT__HELD ? FPLT_HELD_SECONDS : FPLT_ROOM_SECONDS);
    exchange->queue = queue;
    exchange->next = NULL;
    exchange->previous = queue->last;
    if (queue->last)
        queue->last->next = exchange;
    else
        queue->first = exchange;
    queue->last = exchange;
}

static void delist(fplt__exchange *exchange)
{
    fplt__queue *queue = exchange->queue;
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

/* `window` large bodies at once; of those that are not so large as many as take no more room. */
static int has_room(const fplt__exchange *exchange)
{
    const fplt__server *server = exchange->server;
    size_t length = (size_t)exchange->length;
    size_t buffer = length > LEAST_ROOM ? length : LEAST_ROOM;
    return !exchange->large || !server->large || server->large + length <= server->window * buffer;
}

/* Buffers */

/* A spare one that is not much too large, or a new one; *size becomes what it has. */
static uint8_t *take_buffer(fplt__server *server, size_t *size)
{
    size_t candidates = *size > WORTH_KEEPING ? FPLT__MOST_SPARE : 0;
    for (size_t i = 0; i < candidates; i++) {
        struct fplt__spare *spare = &server->spare[i];
        if (spare->size < *size || spare->size / 2 > *size)
            continue;
        uint8_t *bytes = spare->bytes;
        *size = spare->size;
        server->spared -= spare->size;
        *spare = (struct fplt__spare){NULL, 0};
        return bytes;
    }
    return fplt__alloc(*size, 1);
}

/* Kept where the window could need it; those of other sizes make room. */
static void drop_buffer(fplt__server *server, uint8_t *bytes, size_t size)
{
    size_t most = server->window * (size > LEAST_ROOM ? size : (size_t)LEAST_ROOM);
    int kept = !bytes || size <= WORTH_KEEPING;
    for (size_t i = 0; i < FPLT__MOST_SPARE && !kept; i++) {
        struct fplt__spare *spare = &server->spare[i];
        if (spare->size == size || (!spare->size && server->spared + size > most))
            continue;
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

static void receive(fplt__exchange *exchange)
{
    fplt__server *server = exchange->server;
    exchange->stage = FPLT__RECEIVES;
    exchange->due = fplt__now() + server->patience;
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

/* From the head to the answer */

void fplt__exchange_begin(fplt__exchange *exchange)
{
    fplt__server *server = exchange->server;
    uint64_t limit = 0;
    server->service.head(server->service.context, exchange, exchange->length, &limit);
    if (exchange->stage == FPLT__ANSWERED)
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
        enlist(exchange, FPLT__WAITS_FOR_ROOM);
}

static void prepare(void *context)
{
    fplt__exchange *exchange = context;
    exchange->server->service.prepare(exchange);
}

static void take(fplt__exchange *exchange)
{
    exchange->stage = FPLT__WHOLE;
    exchange->server->service.whole(exchange->server->service.context, exchange);
}

void fplt__exchange_complete(fplt__exchange *exchange)
{
    fplt__server *server = exchange->server;
    if (exchange->prepares && server->aside && exchange->length >= WORTH_PREPARING &&
        exchange->length <= FPLT_RECEIVE_BUFFER) {
        exchange->stage = FPLT__PREPARES;
        exchange->errand = (fplt__errand){prepare, exchange, NULL};
        fplt__aside_give(server->aside, &exchange->errand);
        return;
    }
    take(exchange);
}

void fplt__exchange_end(fplt__exchange *exchange)
{
    fplt__server *server = exchange->server;
    if (exchange->stage == FPLT__NO_REQUEST)
        return;
    if (exchange->stage == FPLT__PREPARES)
        fplt__aside_recall(server->aside, &exchange->errand);
    delist(exchange);
    server->service.ended(server->service.context, exchange);
    release_body(exchange);
    exchange->stage = FPLT__NO_REQUEST;
    exchange->prepares = exchange->has_digest = 0;
    exchange->length = exchange->received = 0;
    exchange->header_size = 0;
    exchange->data = NULL;
}

void fplt__exchanges_serve(fplt__server *server)
{
    fplt__errand *errand;
    fplt__exchange *e;
    double now = fplt__now();
    while (server->aside && (errand = fplt__aside_take(server->aside)))
        take(errand->context);
    while ((e = server->rooms.first)) {
        if (has_room(e)) {
            delist(e);
            receive(e);
            fplt__caller_stir(e->caller);
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

double fplt__exchanges_patience(const fplt__server *server, double now)
{
    const fplt__exchange *first[] = {server->rooms.first, server->held.first};
    double seconds = 1e9;
    if (first[0] && has_room(first[0]))
        return 0;
    for (int i = 0; i < 2; i++)
        if (first[i])
            seconds = fmin(seconds, fmax(0, first[i]->held_until - now));
    return seconds;
}

void fplt__exchanges_end(fplt__server *server)
{
    fplt__exchange *waits;
    fplt__errand *prepared;
    if (server->aside)
        fplt__aside_finish(server->aside);
    while (server->aside && (prepared = fplt__aside_take(server->aside)))
        enlist(prepared->context, FPLT__HELD);
    while ((waits = server->rooms.first ? server->rooms.first : server->held.first))
        fplt__exchange_refuse(waits, 503, "ending", 0, "the coordinator is ending");
}

void fplt__exchanges_forget(fplt__server *server)
{
    for (size_t i = 0; i < FPLT__MOST_SPARE; i++)
        fplt__free(server->spare[i].bytes);
}

/* What the owner sees */

const char *fplt__exchange_method(const fplt__exchange *exchange)
{
    return exchange->head.method;
}

const char *fplt__exchange_path(const fplt__exchange *exchange)
{
    return exchange->head.path;
}

const char *fplt__exchange_header(const fplt__exchange *exchange, const char *name)
{
    return fplt__http_value(&exchange->head, name);
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
    return &exchange->caller->identity;
}

int64_t *fplt__exchange_place(fplt__exchange *exchange)
{
    return &exchange->caller->place;
}

double *fplt__exchange_judged(fplt__exchange *exchange)
{
    return &exchange->caller->judged;
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

void fplt__exchange_hold(fplt__exchange *exchange)
{
    enlist(exchange, FPLT__HELD);
}

/* Answers */

void fplt__exchange_add_header(fplt__exchange *exchange, const char *name, const char *value)
{
    size_t room = sizeof exchange->header - exchange->header_size;
    int used = snprintf(exchange->header + exchange->header_size, room, "%s: %s\r\n", name, value);
    if (used > 0 && (size_t)used < room)
        exchange->header_size += (size_t)used;
    else
        exchange->header[exchange->header_size] = 0;
}

static size_t write_head(const fplt__exchange *exchange, unsigned code, const char *type,
                         size_t size, char *text)
{
    char date[FPLT__HTTP_DATE], length[48] = "";
    fplt__http_date(time(NULL), date);
    if (code != 204)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", size);
    return (size_t)snprintf(text, HEAD_ROOM, "HTTP/1.1 %u %s\r\nDate: %s\r\n%s%s%s%s%s%.*s\r\n",
                            code, fplt__http_reason(code), date, length,
                            exchange->caller->closes ? "Connection: close\r\n" : "",
                            type ? "Content-Type: " : "", type ? type : "", type ? "\r\n" : "",
                            (int)exchange->header_size, exchange->header);
}

static void add_piece(fplt__outgoing *out, const void *bytes, size_t size, void *owner)
{
    out->piece[out->count].bytes = bytes;
    out->piece[out->count].size = size;
    out->piece[out->count++].owner = owner;
    out->size += size;
}

/* Pieces without an owner are copied behind the head. */
static int put_together(fplt__exchange *exchange, unsigned code, const char *type,
                        const fplt__piece *pieces, size_t count)
{
    fplt__outgoing *out = &exchange->caller->out;
    size_t copied = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        copied += pieces[i].owner ? 0 : pieces[i].size;
        size += pieces[i].size;
    }
    if (fplt__grow(&out->text, &out->room, HEAD_ROOM + copied, 1, "an answer", NULL))
        return 0;
    size_t used = write_head(exchange, code, type, size, out->text);
    add_piece(out, out->text, used, NULL);
    for (size_t i = 0; i < count && strcmp(exchange->head.method, "HEAD") != 0; i++) {
        const void *bytes = pieces[i].bytes;
        if (!pieces[i].size)
            continue;
        if (pieces[i].owner) {
            exchange->server->service.hold(pieces[i].owner);
        } else {
            memcpy(out->text + used, bytes, pieces[i].size);
            bytes = out->text + used;
            used += pieces[i].size;
        }
        add_piece(out, bytes, pieces[i].size, pieces[i].owner);
        exchange->server->sent += pieces[i].size;
    }
    return 1;
}

void fplt__exchange_answer(fplt__exchange *exchange, unsigned code, const char *type,
                           const fplt__piece *pieces, size_t count)
{
    fplt__caller *caller = exchange->caller;
    count = count < FPLT__MOST_PIECES ? count : FPLT__MOST_PIECES;
    uint64_t left = exchange->length - exchange->received;
    if (left > FPLT_RECEIVE_BUFFER || (left && caller->expects))
        caller->closes = 1; /* whether the rest of the body comes, nobody knows */
    if (!put_together(exchange, code, type, pieces, count))
        caller->closes = 1; /* without a word */
    release_body(exchange); /* not before: an answer may repeat it */
    delist(exchange);
    exchange->stage = FPLT__ANSWERED;
    exchange->since = fplt__now();
    fplt__caller_stir(caller);
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

void fplt__exchange_refuse_method(fplt__exchange *exchange, const char *allowed)
{
    fplt__exchange_add_header(exchange, "Allow", allowed);
    fplt__exchange_refuse(exchange, 405, "method", 1, "%.60s has the method %s only",
                          fplt__exchange_path(exchange), allowed);
}
