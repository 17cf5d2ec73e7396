/* What comes over HTTP: who may ask, what the machine is told, and how its answers leave. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/machine.h"
#include "base/memory.h"
#include "net/coordinator.h"
#include "wire/frame.h"
#include "wire/message.h"

static const double judged_seconds = 0.1;

static const struct route {
    const char *method, *path;
    fplt__request_kind kind;
    int session;   /* needs one */
    int is_static; /* answered here: the machine does not hear of it */
} routes[] = {
    {"POST", "/v1/join", FPLT__JOIN, 0, 0},    {"POST", "/v1/consent", FPLT__CONSENT, 1, 0},
    {"POST", "/v1/next", FPLT__NEXT, 1, 0},    {"PUT", "/v1/update", FPLT__UPDATE, 1, 0},
    {"GET", "/v1/plan", FPLT__DOCUMENT, 0, 0}, {"GET", "/v1/start", FPLT__START, 0, 0},
    {"GET", "/v1/model", FPLT__MODEL, 0, 0},   {"GET", "/v1/federation", FPLT__DOCUMENT, 0, 1},
};

static const struct route *route_of(const fplt__exchange *exchange)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(fplt__exchange_path(exchange), routes[i].path) == 0 &&
            strcmp(fplt__exchange_method(exchange), routes[i].method) == 0)
            return &routes[i];
    return NULL;
}

/* The roster stays as it is, and so does who a connection is of. */
static int64_t identity_of(const fplt__coordinator *c, fplt__exchange *exchange)
{
    const char *name = fplt__exchange_identity(exchange)->name;
    int64_t *place = fplt__exchange_place(exchange);
    for (uint32_t i = 0; *place < 0 && i < c->members; i++)
        if (strcmp(c->roster[i], name) == 0)
            *place = i;
    return *place;
}

/* "session.sequence", both decimal. */
static int read_session(const char *text, uint64_t *session, uint64_t *sequence)
{
    char *end;
    if (!text || *text < '0' || *text > '9' || strlen(text) > 40)
        return 0;
    *session = strtoull(text, &end, 10);
    if (*end != '.' || end[1] < '0' || end[1] > '9')
        return 0;
    *sequence = strtoull(end + 1, &end, 10);
    return *end == 0;
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
static void count_fault(fplt__coordinator *c, const struct route *route, const char *word)
{
    int odd = fplt__lead_is_odd(word);
    if (odd)
        fplt__coordinator_refused(c, word);
    if (!route || route->kind != FPLT__UPDATE)
        return;
    c->update[FPLT__UPDATE_REFUSED] += odd;
    c->update[FPLT__UPDATE_LATE] += strcmp(word, "closed") == 0;
    c->update[FPLT__UPDATE_CONFLICT] += strcmp(word, "conflict") == 0;
}

/* With a line in the log, where its address has not had one within a minute. */
static void turn_away(fplt__coordinator *c, fplt__exchange *exchange, int64_t identity,
                      unsigned code, const char *word, const char *sentence)
{
    fplt__coordinator_refused(c, word);
    if (fplt__exchange_reports(exchange))
        fplt__coordinator_say(c, identity, "refused", "%s", sentence);
    fplt__exchange_distrust(exchange);
    fplt__exchange_refuse(exchange, code, word, 1, "%s", sentence);
}

void fplt__coordinator_revoke(fplt__coordinator *c, int64_t identity)
{
    if (identity < 0 || c->revoked[identity])
        return;
    c->revoked[identity] = 1;
    if (fplt__lead_member(c->lead, (uint32_t)identity).standing == FPLT__REVOKED)
        return; /* by an earlier process */
    fplt__coordinator_say(c, identity, "revoked", "%s was revoked", c->roster[identity]);
    fplt__lead_event event = {.kind = FPLT__LEAD_REVOKE, .identity = (uint32_t)identity};
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
        return now; /* unknown: whoever comes is judged anew */
    c->table_asked = now;
    if (version != c->table_version)
        c->table_since = now;
    c->table_version = version;
    return c->table_since;
}

/* Whether the certificate is one of an agent, in force and not revoked; if not, it is answered. Who was judged
 * since the table changed last, and whose days are not over, need not be judged again. */
static int is_let_in(fplt__coordinator *c, fplt__exchange *exchange, int64_t identity)
{
    double *judged = fplt__exchange_judged(exchange), now = fplt__now();
    char why[400];
    fplt_error error;
    if (*judged > 0 && *judged >= table_since(c, now) &&
        time(NULL) <= fplt__exchange_identity(exchange)->ends)
        return 1;
    *judged = 0;
    if (fplt__authority_judge(&c->authority, fplt__exchange_identity(exchange), why, sizeof why,
                              &error)) {
        fplt__exchange_refuse(exchange, 503, "busy", 0, "%s", error.text);
        return 0;
    }
    if (*why) {
        turn_away(c, exchange, identity, 403, "certificate", why);
        if (strstr(why, "revoked"))
            fplt__coordinator_revoke(c, identity);
        return 0;
    }
    *judged = now;
    if (identity >= 0)
        fplt__exchange_trust(exchange);
    return 1;
}

/* A path that is known has another method. */
static void refuse_route(fplt__exchange *exchange)
{
    const char *path = fplt__exchange_path(exchange);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(path, routes[i].path) == 0) {
            fplt__exchange_refuse_method(exchange, routes[i].method);
            return;
        }
    fplt__exchange_refuse(exchange, 404, "unknown", 1, "there is no %.60s here", path);
}

static void head(void *context, fplt__exchange *exchange, uint64_t length, uint64_t *limit)
{
    fplt__coordinator *c = context;
    const struct route *route = route_of(exchange);
    int64_t identity = identity_of(c, exchange);
    char why[400];
    (void)length;
    c->requests++;
    if (!is_let_in(c, exchange, identity))
        return;
    if (identity < 0) {
        snprintf(why, sizeof why, "%s is not on the roster of run %u of %s",
                 fplt__exchange_identity(exchange)->name, c->run, c->authority.federation);
        turn_away(c, exchange, -1, 403, "roster", why);
        return;
    }
    if (!route) {
        refuse_route(exchange);
        return;
    }
    *limit = strcmp(route->method, "GET") == 0 ? 0
             : route->kind == FPLT__UPDATE     ? fplt__lead_longest(c->lead)
                                               : FPLT__MESSAGE_LIMIT;
    if (route->kind == FPLT__UPDATE && !route->is_static)
        fplt__exchange_prepare(exchange);
}

/* The digest of a frame's content, which takes as long as all else that is done with it. */
static void prepare(fplt__exchange *exchange)
{
    fplt__frame frame;
    fplt_error error;
    const uint8_t *body = fplt__exchange_body(exchange);
    size_t size = fplt__exchange_size(exchange);
    if (size < FPLT__FRAME_HEAD || fplt__frame_read(body, &frame, &error) ||
        fplt__frame_body(&frame) > size - FPLT__FRAME_HEAD)
        return; /* the machine will say what is wrong */
    fplt__exchange_set_digest(exchange, fplt__body_hash(body + FPLT__FRAME_HEAD,
                                                        (size_t)fplt__frame_body(&frame)));
}

static void tell_protocol(const fplt__coordinator *c, fplt__exchange *exchange)
{
    char text[200];
    snprintf(text, sizeof text, "{\"federation\":\"%s\",\"protocols\":[%d],\"program\":\"%s\"}",
             c->authority.federation, FPLT__PROTOCOL, FPLT_VERSION);
    fplt__exchange_answer_text(exchange, 200, "application/json", text);
}

/* The exchange itself is the ticket: it lives until it ended, and its end is told. */
static uint64_t ticket_of(const fplt__exchange *exchange)
{
    return (uint64_t)(uintptr_t)exchange;
}

static void whole(void *context, fplt__exchange *exchange)
{
    fplt__coordinator *c = context;
    const struct route *route = route_of(exchange);
    int64_t identity = identity_of(c, exchange);
    if (route->is_static) {
        tell_protocol(c, exchange);
        return;
    }
    fplt__lead_event event = {.kind = FPLT__LEAD_REQUEST,
                              .request = {.ticket = ticket_of(exchange),
                                          .kind = route->kind,
                                          .identity = (uint32_t)identity,
                                          .body = fplt__exchange_body(exchange),
                                          .digest = fplt__exchange_digest(exchange),
                                          .size = fplt__exchange_size(exchange)}};
    if (route->session && !read_session(fplt__exchange_header(exchange, "Fedplt-Session"),
                                        &event.request.session, &event.request.sequence)) {
        fplt__exchange_refuse(exchange, 400, "session", 1, "the header Fedplt-Session is missing");
        return;
    }
    fplt__join join;
    fplt_error error;
    if (route->kind == FPLT__JOIN &&
        fplt__join_read(event.request.body, event.request.size, &join, &error)) {
        turn_away(c, exchange, identity, 400, "malformed", error.text);
        return;
    }
    /* held at once: the machine may answer now, later, or while another request is served */
    fplt__exchange_set_data(exchange, c);
    fplt__exchange_hold(exchange);
    fplt__coordinator_handle(c, &event);
    fplt__exchange_drop_body(exchange); /* it may wait for news, but not with its message */
}

static void gone(fplt__coordinator *c, fplt__exchange *exchange)
{
    if (!fplt__exchange_data(exchange) || !c->lead)
        return;
    fplt__exchange_set_data(exchange, NULL);
    fplt__lead_event event = {.kind = FPLT__LEAD_GONE, .ticket = ticket_of(exchange)};
    fplt__coordinator_handle(c, &event);
}

static void moves(void *context, fplt__exchange *exchange)
{
    fplt__coordinator *c = context;
    int64_t identity = identity_of(c, exchange);
    if (identity < 0 || !c->lead)
        return;
    fplt__lead_event event = {.kind = FPLT__LEAD_HEARD, .identity = (uint32_t)identity};
    fplt__coordinator_handle(c, &event);
}

static void expired(void *context, fplt__exchange *exchange)
{
    gone(context, exchange);
    fplt__exchange_refuse(exchange, 503, "busy", 0, "the coordinator is busy");
}

static void ended(void *context, fplt__exchange *exchange)
{
    gone(context, exchange);
}

static void refused(void *context, const char *word, const char *sentence)
{
    fplt__coordinator *c = context;
    if (word)
        fplt__coordinator_refused(c, word);
    if (sentence)
        fplt__coordinator_say(c, -1, "refused", "%s%s%s", word ? word : "", word ? ": " : "",
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
    fplt__exchange *exchange = (fplt__exchange *)(uintptr_t)reply->ticket;
    fplt__piece pieces[FPLT__REPLY_PARTS];
    char text[FPLT__PROOF_TEXT]; /* the longer of the two */
    size_t count = 0;
    const struct route *route = route_of(exchange);
    count_fault(c, route, reply->word);
    for (unsigned i = 0; i < reply->parts; i++)
        if (reply->part[i].size)
            pieces[count++] =
                (fplt__piece){reply->part[i].bytes, reply->part[i].size, reply->part[i].owner};
    if (reply->has_proof) {
        fplt__proof_text(&reply->proof, text);
        fplt__exchange_add_header(exchange, "Fedplt-Proof", text);
    }
    if (route && route->kind == FPLT__DOCUMENT && reply->status == 200) {
        fplt__hex(&reply->etag, sizeof reply->etag, text);
        fplt__exchange_add_header(exchange, "ETag", text);
    }
    if (route && c->finished && reply->status == 200 && reply->parts &&
        (route->kind == FPLT__NEXT || route->kind == FPLT__UPDATE || route->kind == FPLT__MODEL))
        c->fetched[reply->identity] = 1; /* the end, with the last model */
    fplt__exchange_set_data(exchange, NULL);
    fplt__exchange_answer(exchange, reply->status,
                          reply->json ? "application/json" : "application/octet-stream", pieces,
                          count);
}
