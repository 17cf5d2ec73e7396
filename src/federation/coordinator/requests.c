/* What comes over HTTP: who may ask, what the machine is told, and how its answers leave. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/routes.h"
#include "wire/frame.h"
#include "wire/message.h"

static const double judged_seconds = 0.1;

static const fplt__route *route_of(const fplt__http_transaction *transaction)
{
    return fplt__route_find(fplt__http_transaction_method(transaction),
                            fplt__http_transaction_path(transaction));
}

/* The roster stays as it is, and so does who a connection is of. */
static int64_t identity_of(const fplt__coordinator *c, fplt__http_transaction *transaction)
{
    const char *name = fplt__http_transaction_identity(transaction)->name;
    int64_t *place = fplt__http_transaction_place(transaction);
    for (uint32_t i = 0; *place < 0 && i < c->members; i++)
        if (strcmp(c->roster[i], name) == 0)
            *place = i;
    FPLT__ASSERT(*place < (int64_t)c->members);
    FPLT__ASSERT(*place < 0 || strcmp(c->roster[*place], name) == 0);
    return *place;
}

/* The certificate, the roster, invitations, what happens below HTTP, and the odd faults of the protocol. */
const char *const fplt__coordinator_reasons[FPLT__REASONS] = {"certificate", "roster", "invitation",
                                                              "handshake",   "slow",   "malformed",
                                                              "long",        "other",  "private",
                                                              "range",       "limit"};

void fplt__coordinator_refused(fplt__coordinator *c, const char *reason)
{
    c->refusals++;
    for (size_t i = 0; i < FPLT__REASONS; i++)
        c->refused[i] += strcmp(reason, fplt__coordinator_reasons[i]) == 0;
}

/* What the machine says of a request that it does not take. */
static void count_fault(fplt__coordinator *c, const fplt__route *route, const char *word)
{
    int odd = fplt__leader_is_violation(word);
    if (odd)
        fplt__coordinator_refused(c, word);
    if (!route || route->kind != FPLT__UPDATE)
        return;
    c->update[FPLT__UPDATE_REFUSED] += odd;
    c->update[FPLT__UPDATE_LATE] += strcmp(word, "closed") == 0;
    c->update[FPLT__UPDATE_CONFLICT] += strcmp(word, "conflict") == 0;
}

/* With a line in the log, where its address has not had one within a minute. */
static void turn_away(fplt__coordinator *c, fplt__http_transaction *transaction, int64_t identity,
                      unsigned code, const char *word, const char *sentence)
{
    fplt__coordinator_refused(c, word);
    if (fplt__http_transaction_reports(transaction))
        fplt__coordinator_log(c, identity, "refused", "%s", sentence);
    fplt__http_transaction_distrust(transaction);
    fplt__http_transaction_refuse(transaction, code, word, 1, "%s", sentence);
}

void fplt__coordinator_revoke(fplt__coordinator *c, int64_t identity)
{
    FPLT__ASSERT(identity < (int64_t)c->members);
    if (identity < 0 || c->revoked[identity])
        return;
    c->revoked[identity] = 1;
    if (fplt__leader_member(c->leader, (uint32_t)identity).standing == FPLT__REVOKED)
        return; /* by an earlier process */
    fplt__coordinator_log(c, identity, "revoked", "%s was revoked", c->roster[identity]);
    fplt__leader_event event = {.kind = FPLT__LEADER_REVOKE, .member_index = (uint32_t)identity};
    fplt__coordinator_handle(c, &event);
}

/* Since when the table of certificates is as it is now; that is in a database, and is asked again only after a
 * moment, for all connections at once. */
static double table_since(fplt__coordinator *c, double now)
{
    uint64_t version;
    fplt_error error;
    if (now - c->table_asked < judged_seconds)
        return c->table_since;
    if (fplt__authority_version(&c->authority, &version, &error))
        return now; /* unknown: certificates are checked again */
    FPLT__ASSERT(c->table_since <= now && c->table_asked <= now);
    c->table_asked = now;
    if (version != c->table_version)
        c->table_since = now;
    c->table_version = version;
    return c->table_since;
}

/* Whether the certificate is one of an agent, in force and not revoked; if not, it is answered. Who was judged
 * since the table changed last, and whose days are not over, need not be judged again. */
static int is_let_in(fplt__coordinator *c, fplt__http_transaction *transaction, int64_t identity)
{
    double *judged = fplt__http_transaction_judged(transaction), now = fplt__now();
    char why[400];
    fplt_error error;
    if (*judged > 0 && *judged >= table_since(c, now) &&
        time(NULL) <= fplt__http_transaction_identity(transaction)->ends)
        return 1;
    *judged = 0;
    if (fplt__authority_judge(&c->authority, fplt__http_transaction_identity(transaction), why,
                              sizeof why, &error)) {
        fplt__http_transaction_refuse(transaction, 503, "busy", 0, "%s", error.text);
        return 0;
    }
    if (*why) {
        turn_away(c, transaction, identity, 403, "certificate", why);
        if (strstr(why, "revoked"))
            fplt__coordinator_revoke(c, identity);
        return 0;
    }
    *judged = now;
    if (identity >= 0)
        fplt__http_transaction_trust(transaction);
    return 1;
}

/* A path that is known has another method. */
static void refuse_route(fplt__http_transaction *transaction)
{
    const char *path = fplt__http_transaction_path(transaction), *method = fplt__route_method(path);
    if (method) {
        fplt__http_transaction_refuse_method(transaction, method);
        return;
    }
    fplt__http_transaction_refuse(transaction, 404, "unknown", 1, "there is no %.60s here", path);
}

static void head(void *context, fplt__http_transaction *transaction, uint64_t length,
                 uint64_t *limit)
{
    fplt__coordinator *c = context;
    const fplt__route *route = route_of(transaction);
    int64_t identity = identity_of(c, transaction);
    char why[400];
    (void)length;
    c->requests++;
    if (!is_let_in(c, transaction, identity))
        return;
    if (identity < 0) {
        snprintf(why, sizeof why, "%s is not on the roster of run %u of %s",
                 fplt__http_transaction_identity(transaction)->name, c->run,
                 c->authority.federation);
        turn_away(c, transaction, -1, 403, "roster", why);
        return;
    }
    if (!route) {
        refuse_route(transaction);
        return;
    }
    *limit = strcmp(route->method, "GET") == 0 ? 0
             : route->kind == FPLT__UPDATE     ? fplt__leader_longest(c->leader)
                                               : FPLT__MESSAGE_LIMIT;
    if (route->kind == FPLT__UPDATE && !route->is_static)
        fplt__http_transaction_prepare(transaction);
}

/* The digest of a frame's content, which takes as long as all else that is done with it. */
static void prepare(fplt__http_transaction *transaction)
{
    fplt__frame frame;
    fplt_error error;
    const uint8_t *body = fplt__http_transaction_body(transaction);
    size_t size = fplt__http_transaction_size(transaction);
    if (size < FPLT__FRAME_HEAD || fplt__frame_read(body, &frame, &error) ||
        fplt__frame_body(&frame) > size - FPLT__FRAME_HEAD)
        return; /* the machine will say what is wrong */
    fplt__http_transaction_set_digest(
        transaction, fplt__body_hash(body + FPLT__FRAME_HEAD, (size_t)fplt__frame_body(&frame)));
}

static void tell_protocol(const fplt__coordinator *c, fplt__http_transaction *transaction)
{
    char text[200];
    snprintf(text, sizeof text, "{\"federation\":\"%s\",\"protocols\":[%d],\"program\":\"%s\"}",
             c->authority.federation, FPLT__PROTOCOL, FPLT_VERSION);
    fplt__http_transaction_answer_text(transaction, 200, "application/json", text);
}

/* The transaction itself is the ticket: it lives until it ended, and its end is told. */
static uint64_t ticket_of(const fplt__http_transaction *transaction)
{
    return (uint64_t)(uintptr_t)transaction;
}

static void whole(void *context, fplt__http_transaction *transaction)
{
    fplt__coordinator *c = context;
    const fplt__route *route = route_of(transaction);
    int64_t identity = identity_of(c, transaction);
    FPLT__ASSERT(route && identity >= 0); /* or the head was refused */
    FPLT__ASSERT(!fplt__http_transaction_data(transaction));
    if (route->is_static) {
        tell_protocol(c, transaction);
        return;
    }
    fplt__leader_event event = {.kind = FPLT__LEADER_REQUEST,
                                .request = {.ticket = ticket_of(transaction),
                                            .kind = route->kind,
                                            .member_index = (uint32_t)identity,
                                            .body = fplt__http_transaction_body(transaction),
                                            .digest = fplt__http_transaction_digest(transaction),
                                            .size = fplt__http_transaction_size(transaction)}};
    if (route->session &&
        !fplt__session_read(fplt__http_transaction_header(transaction, FPLT__SESSION_HEADER),
                            &event.request.session, &event.request.sequence)) {
        fplt__http_transaction_refuse(transaction, 400, "session", 1,
                                      "the header " FPLT__SESSION_HEADER " is missing");
        return;
    }
    fplt__join join;
    fplt_error error;
    if (route->kind == FPLT__JOIN &&
        fplt__join_read(event.request.body, event.request.size, &join, &error)) {
        turn_away(c, transaction, identity, 400, "malformed", error.text);
        return;
    }
    /* held at once: the machine may answer now, later, or while another request is served */
    fplt__http_transaction_set_data(transaction, c);
    fplt__http_transaction_hold(transaction);
    fplt__coordinator_handle(c, &event);
    fplt__http_transaction_drop_body(
        transaction); /* it may wait for news, but not with its message */
}

static void gone(fplt__coordinator *c, fplt__http_transaction *transaction)
{
    if (!fplt__http_transaction_data(transaction) || !c->leader)
        return;
    fplt__http_transaction_set_data(transaction, NULL);
    fplt__leader_event event = {.kind = FPLT__LEADER_GONE, .ticket = ticket_of(transaction)};
    fplt__coordinator_handle(c, &event);
}

static void moves(void *context, fplt__http_transaction *transaction)
{
    fplt__coordinator *c = context;
    int64_t identity = identity_of(c, transaction);
    if (identity < 0 || !c->leader)
        return;
    fplt__leader_event event = {.kind = FPLT__LEADER_HEARD, .member_index = (uint32_t)identity};
    fplt__coordinator_handle(c, &event);
}

static void expired(void *context, fplt__http_transaction *transaction)
{
    gone(context, transaction);
    fplt__http_transaction_refuse(transaction, 503, "busy", 0, "the coordinator is busy");
}

static void ended(void *context, fplt__http_transaction *transaction)
{
    gone(context, transaction);
}

static void refused(void *context, const char *word, const char *sentence)
{
    fplt__coordinator *c = context;
    if (word)
        fplt__coordinator_refused(c, word);
    if (sentence)
        fplt__coordinator_log(c, -1, "refused", "%s%s%s", word ? word : "", word ? ": " : "",
                              sentence);
}

static void hold(void *owner)
{
    fplt__shared_hold(owner);
}

static void release(void *owner)
{
    fplt__shared_release(owner);
}

fplt__service fplt__coordinator_service(fplt__coordinator *c)
{
    return (fplt__service){.context = c,
                           .head = head,
                           .prepare = prepare,
                           .whole = whole,
                           .moves = moves,
                           .expired = expired,
                           .ended = ended,
                           .refused = refused,
                           .hold = hold,
                           .release = release};
}

void fplt__coordinator_reply(fplt__coordinator *c, const fplt__reply *reply)
{
    fplt__http_transaction *transaction = (fplt__http_transaction *)(uintptr_t)reply->ticket;
    fplt__http_piece pieces[FPLT__REPLY_PARTS];
    char text[FPLT__PROOF_TEXT]; /* the longer of the two */
    size_t count = 0, bytes = 0;
    const fplt__route *route = route_of(transaction);
    FPLT__ASSERT(transaction && reply->parts <= FPLT__REPLY_PARTS);
    FPLT__ASSERT(reply->member_index < c->members);
    /* a ticket is answered once */
    FPLT__ASSERT(fplt__http_transaction_data(transaction) == c);
    FPLT__ASSERT(reply->status >= 200 && reply->status < 600);
    count_fault(c, route, reply->word);
    for (unsigned i = 0; i < reply->parts; i++)
        bytes += reply->part[i].size;
    for (unsigned i = 0; i < reply->parts; i++)
        if (reply->part[i].size)
            pieces[count++] =
                (fplt__http_piece){reply->part[i].bytes, reply->part[i].size, reply->part[i].owner};
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    FPLT__ASSERT(!route || bytes <= fplt__answer_limit(route->kind,
                                                       agreement ? agreement->plan.dimension : 0));
    if (reply->has_proof) {
        fplt__proof_text(&reply->proof, text);
        fplt__http_transaction_add_header(transaction, FPLT__PROOF_HEADER, text);
    }
    if (route && route->kind == FPLT__DOCUMENT && reply->status == 200) {
        fplt__hex(&reply->etag, sizeof reply->etag, text);
        fplt__http_transaction_add_header(transaction, "ETag", text);
    }
    if (route && c->finished && reply->status == 200 && reply->parts &&
        (route->kind == FPLT__NEXT || route->kind == FPLT__UPDATE || route->kind == FPLT__MODEL))
        c->fetched[reply->member_index] = 1; /* the end, with the last model */
    fplt__http_transaction_set_data(transaction, NULL);
    fplt__http_transaction_answer(transaction, reply->status,
                                  reply->json ? "application/json" : "application/octet-stream",
                                  pieces, count);
}
