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

static int identify(gnutls_x509_crt_t certificate, void *out)
{
    fplt__coordinator_peer *peer = out;
    fplt__certificate_identify(certificate, &peer->identity);
    return peer->identity.role == FPLT_ROLE_AGENT;
}

/* Whose connection it is; looked up again where another run has another roster. */
static int64_t place_of(const fplt__coordinator *c, fplt__coordinator_peer *peer)
{
    if (peer->place > c->members ||
        (peer->place && strcmp(c->roster[peer->place - 1], peer->identity.name) != 0))
        peer->place = 0;
    for (uint32_t i = 0; !peer->place && i < c->members; i++)
        if (strcmp(c->roster[i], peer->identity.name) == 0)
            peer->place = i + 1;
    FPLT__ASSERT(peer->place <= c->members);
    return (int64_t)peer->place - 1;
}

static int64_t identity_of(const fplt__coordinator *c, fplt__http_transaction *transaction)
{
    return place_of(c, fplt__http_transaction_peer(transaction));
}

/* The certificate, the roster, invitations, what happens below HTTP, and the odd faults of the protocol. */
const char *const fplt__coordinator_reasons[FPLT__REASONS] = {"certificate", "roster", "invitation",
                                                              "handshake",   "slow",   "malformed",
                                                              "long",        "other",  "private",
                                                              "range",       "limit"};

void fplt__coordinator_refused(fplt__coordinator *c, const char *reason)
{
    c->seen.refusals++;
    for (size_t i = 0; i < FPLT__REASONS; i++)
        c->seen.refused[i] += strcmp(reason, fplt__coordinator_reasons[i]) == 0;
}

/* What the machine says of a request that it does not take. */
static void count_fault(fplt__coordinator *c, const fplt__route *route, const char *word)
{
    int odd = fplt__leader_is_violation(word);
    if (odd)
        fplt__coordinator_refused(c, word);
    if (!route || route->kind != FPLT__UPDATE)
        return;
    c->seen.update[FPLT__UPDATE_REFUSED] += odd;
    c->seen.update[FPLT__UPDATE_LATE] += strcmp(word, "closed") == 0;
    c->seen.update[FPLT__UPDATE_CONFLICT] += strcmp(word, "conflict") == 0;
}

/* With a line in the log, where its address has not had one within a minute. `final`: the same request has no chance later. */
static void turn_away(fplt__coordinator *c, fplt__http_transaction *transaction, int64_t identity,
                      unsigned code, const char *word, int final, const char *sentence)
{
    fplt__coordinator_refused(c, word);
    if (fplt__http_transaction_reports(transaction))
        fplt__coordinator_log(c, identity, "refused", "%s", sentence);
    fplt__http_transaction_distrust(transaction);
    fplt__http_transaction_refuse(transaction, code, word, final, "%s", sentence);
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
    if (now - c->revocation.asked < judged_seconds)
        return c->revocation.since;
    if (fplt__authority_version(&c->pki.authority, &version, &error))
        return now; /* unknown: certificates are checked again */
    FPLT__ASSERT(c->revocation.since <= now && c->revocation.asked <= now);
    c->revocation.asked = now;
    if (version != c->revocation.version)
        c->revocation.since = now;
    c->revocation.version = version;
    return c->revocation.since;
}

/* A new process knows where members come from: stored where it changes, and once an hour. */
static void keep_address(fplt__coordinator *c, const fplt__http_transaction *transaction,
                         uint32_t i, double now)
{
    char text[FPLT__HTTP_ADDRESS];
    fplt_error error;
    fplt__http_transaction_address(transaction, text);
    if (!*text)
        return;
    struct fplt__coordinator_address *kept = &c->address[i];
    if (strcmp(text, kept->text) == 0 && now - kept->stored < 3600)
        return;
    memcpy(kept->text, text, sizeof kept->text);
    kept->stored = now;
    fplt__leader_store_keep_address(c->store, text,
                                    &error); /* without it only its place is not reserved */
}

/* Whether the certificate is one of an agent, in force and not revoked; if not, it is answered. Who was judged
 * since the table changed last, and whose days are not over, need not be judged again. */
static int is_let_in(fplt__coordinator *c, fplt__http_transaction *transaction, int64_t identity)
{
    fplt__coordinator_peer *peer = fplt__http_transaction_peer(transaction);
    double now = fplt__now();
    char why[400];
    fplt_error error;
    if (peer->judged > 0 && peer->judged >= table_since(c, now) &&
        time(NULL) <= peer->identity.ends)
        return 1;
    peer->judged = 0;
    int final;
    if (fplt__authority_judge(&c->pki.authority, &peer->identity, why, sizeof why, &final,
                              &error)) {
        fplt__http_transaction_refuse(transaction, 503, "busy", 0, "%s", error.text);
        return 0;
    }
    if (*why) {
        /* whether the member is out of the run is seen in the table (revoked.c): this certificate may be an old one of a
         * name that was invited again */
        turn_away(c, transaction, identity, 403, "certificate", final, why);
        return 0;
    }
    peer->judged = now;
    if (identity >= 0) {
        fplt__http_transaction_trust(transaction);
        keep_address(c, transaction, (uint32_t)identity, now);
    }
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
    const fplt__coordinator_peer *peer = fplt__http_transaction_peer(transaction);
    int64_t identity = identity_of(c, transaction);
    char why[400];
    (void)length;
    c->seen.requests++;
    if (!is_let_in(c, transaction, identity))
        return;
    if (identity < 0) {
        snprintf(why, sizeof why, "%s is not on the roster of run %u of %s", peer->identity.name,
                 c->run, c->pki.authority.federation);
        turn_away(c, transaction, -1, 403, "roster", 1, why);
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
             c->pki.authority.federation, FPLT__PROTOCOL, FPLT_VERSION);
    fplt__http_transaction_answer_text(transaction, 200, "application/json", text);
}

/* For the name that the connection's certificate has, and only in its last month: nobody fills the table. */
static void renew(fplt__coordinator *c, fplt__http_transaction *transaction, int64_t member_index)
{
    const fplt__identity *identity =
        &((fplt__coordinator_peer *)fplt__http_transaction_peer(transaction))->identity;
    char *request = fplt__strndup((const char *)fplt__http_transaction_body(transaction),
                                  fplt__http_transaction_size(transaction));
    char *certificate = NULL, name[FPLT_NAME_SIZE], date[16];
    fplt_error error = {FPLT_OK, ""};
    if (!fplt__certificate_is_ending(identity, date)) {
        fplt__http_transaction_refuse(transaction, 409, "early", 0,
                                      "this certificate is valid until %s; it is renewed in its "
                                      "last month",
                                      date);
    } else if (!request || fplt__request_read(request, name, &error) ||
               strcmp(name, identity->name) != 0) {
        fplt__http_transaction_refuse(transaction, 400, "malformed", 1,
                                      "this is no request for a certificate of %s", identity->name);
    } else if (fplt__authority_sign(&c->pki.authority, request, identity->name, &certificate,
                                    &error)) {
        fplt__http_transaction_refuse(transaction, 503, "busy", 0, "%s", error.text);
    } else {
        fplt__coordinator_log(c, member_index, "renewed", "its certificate was renewed");
        fplt__http_transaction_answer_text(transaction, 200, "application/x-pem-file", certificate);
    }
    fplt__free(request);
    fplt__free(certificate);
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
        if (strcmp(route->path, FPLT__RENEWAL_PATH) == 0)
            renew(c, transaction, identity);
        else if (strcmp(route->path, FPLT__LOG_PATH) == 0)
            fplt__coordinator_sign_log(c, transaction, (uint32_t)identity);
        else
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
        turn_away(c, transaction, identity, 400, "malformed", 1, error.text);
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

/* A lost answer is asked for again, so the coordinator has to be there. */
static void closed(void *context, void *peer, int finished)
{
    fplt__coordinator *c = context;
    int64_t i = c->end.is_reached ? place_of(c, peer) : -1;
    if (i >= 0 && c->last[i] == FPLT__LAST_SENT)
        c->last[i] = finished ? FPLT__LAST_ARRIVED : FPLT__LAST_NONE;
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
                           .peer_size = sizeof(fplt__coordinator_peer),
                           .identify = identify,
                           .head = head,
                           .prepare = prepare,
                           .whole = whole,
                           .moves = moves,
                           .expired = expired,
                           .ended = ended,
                           .closed = closed,
                           .refused = refused,
                           .fault = fplt__fault_body,
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
    if (route && c->end.is_reached && reply->status == 200 && reply->parts &&
        (route->kind == FPLT__NEXT || route->kind == FPLT__UPDATE || route->kind == FPLT__MODEL))
        c->last[reply->member_index] = FPLT__LAST_SENT;
    fplt__http_transaction_set_data(transaction, NULL);
    fplt__http_transaction_answer(transaction, reply->status,
                                  reply->json ? "application/json" : "application/octet-stream",
                                  pieces, count);
}
