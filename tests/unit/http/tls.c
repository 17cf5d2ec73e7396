/* Who gets in and who does not, over real TLS on loopback: the server runs in the test's thread, the
 * client in another. */
#include "testing.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/machine.h"
#include "base/memory.h"
#include "fedplt/federation.h"
#include "fedplt/random.h"
#include "base/random.h"
#include "pki/authority.h"
#include "http/client.h"
#include "federation/coordinator/door.h"
#include "http/server.h"
#include "wire/message.h"

struct place {
    char folder[64];
    fplt__authority authority;
    fplt__server *server;
    unsigned whole, refused, lines;
    char last_word[32], last_sentence[256], seen[FPLT_NAME_SIZE];
    int hold, held, moves;
    unsigned finished, broken; /* connections of agents, by how they ended */
    fplt__http_transaction *waiting;
    int prepares, preparing, prepared; /* by other threads, too */
    struct timespec takes;             /* to prepare */
};

static void head(void *context, fplt__http_transaction *transaction, uint64_t length,
                 uint64_t *limit)
{
    struct place *place = context;
    char why[256];
    int final;
    fplt_error error;
    (void)length;
    *limit = 1 << 20;
    if (place->prepares)
        fplt__http_transaction_prepare(transaction);
    assert_ok(fplt__authority_judge(&place->authority, fplt__http_transaction_peer(transaction),
                                    why, sizeof why, &final, &error),
              error);
    if (*why)
        fplt__http_transaction_refuse(transaction, 403, "certificate", final, "%s", why);
}

static int identify(gnutls_x509_crt_t certificate, void *peer)
{
    fplt__identity *identity = peer;
    fplt__certificate_identify(certificate, identity);
    return identity->role == FPLT_ROLE_AGENT;
}

static struct place *at; /* for who is told the transaction alone */

static void prepare(fplt__http_transaction *transaction)
{
    __atomic_add_fetch(&at->preparing, 1, __ATOMIC_SEQ_CST);
    nanosleep(&at->takes, NULL);
    fplt__http_transaction_set_digest(transaction,
                                      fplt__body_hash(fplt__http_transaction_body(transaction),
                                                      fplt__http_transaction_size(transaction)));
}

static void whole(void *context, fplt__http_transaction *transaction)
{
    struct place *place = context;
    const fplt__digest *digest = fplt__http_transaction_digest(transaction);
    place->whole++;
    if (digest) {
        fplt__digest own = fplt__body_hash(fplt__http_transaction_body(transaction),
                                           fplt__http_transaction_size(transaction));
        assert_true(fplt__same(digest, &own));
        place->prepared++;
    }
    const fplt__identity *peer = fplt__http_transaction_peer(transaction);
    snprintf(place->seen, sizeof place->seen, "%s", peer->name);
    if (place->hold) {
        place->waiting = transaction;
        fplt__http_transaction_hold(transaction);
        place->held = 1;
        return;
    }
    fplt__http_transaction_add_header(transaction, "Fedplt-Proof", "1.2.3");
    fplt__http_piece echo = {fplt__http_transaction_body(transaction),
                             fplt__http_transaction_size(transaction), NULL};
    fplt__http_transaction_answer(transaction, 200, "application/octet-stream", &echo,
                                  echo.size ? 1 : 0);
}

static void expired(void *context, fplt__http_transaction *transaction)
{
    (void)context;
    fplt__http_transaction_answer(transaction, 204, NULL, NULL, 0);
}

static void ended(void *context, fplt__http_transaction *transaction)
{
    struct place *place = context;
    if (place->waiting == transaction)
        place->waiting = NULL;
}

static void closed(void *context, void *peer, int finished)
{
    struct place *place = context;
    const fplt__identity *identity = peer;
    if (identity->role != FPLT_ROLE_AGENT)
        return;
    place->finished += finished != 0;
    place->broken += finished == 0;
}

static void refused(void *context, const char *word, const char *sentence)
{
    struct place *place = context;
    place->refused += word != NULL;
    place->lines += sentence != NULL;
    if (word)
        snprintf(place->last_word, sizeof place->last_word, "%s", word);
    if (sentence)
        snprintf(place->last_sentence, sizeof place->last_sentence, "%s", sentence);
}

static void remove_folder(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command))
        fail_msg("%s cannot be removed", folder);
}

static void found(char folder[64], fplt__authority *authority)
{
    fplt_error error;
    snprintf(folder, 64, "/tmp/fedplt-tls-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_ok(fplt__authority_found(folder, "heart", "127.0.0.1:7443", &error), error);
    assert_ok(fplt__authority_open(folder, authority, &error), error);
}

static int begin(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    fplt_error error;
    found(place->folder, &place->authority);
    fplt__service service = {.context = place,
                             .peer_size = sizeof(fplt__identity),
                             .head = head,
                             .identify = identify,
                             .prepare = prepare,
                             .whole = whole,
                             .expired = expired,
                             .ended = ended,
                             .closed = closed,
                             .refused = refused,
                             .fault = fplt__fault_body};
    at = place;
    fplt__server_settings settings = {.listen = "127.0.0.1:0",
                                      .certificate = place->authority.server,
                                      .key = place->authority.server_key,
                                      .authority = place->authority.certificate,
                                      .connections = 16,
                                      .window = 1};
    assert_ok(fplt__server_create(&settings, &service, &place->server, &error), error);
    *state = place;
    return 0;
}

static int end(void **state)
{
    struct place *place = *state;
    fplt__server_destroy(place->server);
    fplt__authority_close(&place->authority);
    remove_folder(place->folder);
    free(place);
    return 0;
}

/* A call from another thread while the server turns here. */
struct dial {
    fplt__client_settings settings;
    fplt__call call;
    char url[64];
    fplt_status status;
    fplt_error error;
    unsigned answer;
    size_t size;
    char body[256], proof[64];
    int repeat, done;
};

static void *dialling(void *context)
{
    struct dial *dial = context;
    fplt__client *client;
    fplt__answered answered;
    dial->settings.url = dial->url;
    dial->settings.proxy = "off";
    dial->settings.explain = fplt__certificate_explain;
    dial->call.wanted = "fedplt-PROOF";
    dial->status = fplt__client_create(&dial->settings, &client, &dial->error);
    for (int i = 0; !dial->status && i <= dial->repeat; i++) {
        dial->status = fplt__client_call(client, &dial->call, &answered, &dial->error);
        if (dial->status)
            break;
        dial->answer = answered.status;
        dial->size = answered.size;
        snprintf(dial->body, sizeof dial->body, "%.*s",
                 (int)(answered.size < 255 ? answered.size : 255),
                 answered.size ? (const char *)answered.body : "");
        snprintf(dial->proof, sizeof dial->proof, "%.63s", answered.header);
    }
    fplt__client_destroy(client);
    __atomic_store_n(&dial->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void turn_until(struct place *place, const int *done, double seconds)
{
    double until = fplt__now() + seconds;
    while (!__atomic_load_n(done, __ATOMIC_ACQUIRE)) {
        fplt__servers_turn(&place->server, 1, -1, 0.02);
        if (fplt__now() > until)
            fail_msg("not done in %g s", seconds);
    }
}

static void turn_until_closed(struct place *place, unsigned connections)
{
    double until = fplt__now() + 20;
    while (place->finished + place->broken < connections && fplt__now() < until)
        fplt__servers_turn(&place->server, 1, -1, 0.02);
    assert_int_equal(place->finished + place->broken, connections);
}

static void dial_up(struct place *place, struct dial *dial)
{
    pthread_t thread;
    if (!dial->call.method)
        dial->call = (fplt__call){.method = "POST", .path = "/v1/next", .body = "{}", .size = 2};
    if (!dial->call.limit)
        dial->call.limit = 4 << 20;
    snprintf(dial->url, sizeof dial->url, "https://127.0.0.1:%u", fplt__server_port(place->server));
    assert_int_equal(pthread_create(&thread, NULL, dialling, dial), 0);
    turn_until(place, &dial->done, 20);
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++)
        fplt__servers_turn(&place->server, 1, -1, 0.01);
}

/* An agent of an authority, with its key. */
struct agent {
    char *key, *request, *certificate;
};

static struct agent agent_of(fplt__authority *authority, const char *name)
{
    struct agent agent;
    fplt_error error;
    assert_ok(fplt__key_make(&agent.key, &error), error);
    assert_ok(fplt__request_make(agent.key, name, &agent.request, &error), error);
    assert_ok(fplt__authority_sign(authority, agent.request, name, &agent.certificate, &error),
              error);
    return agent;
}

static void agent_clear(struct agent *agent)
{
    fplt__free(agent->key);
    fplt__free(agent->request);
    fplt__free(agent->certificate);
}

static struct dial dial_of(const struct place *place, const struct agent *agent)
{
    return (struct dial){.settings = {.authority = place->authority.certificate,
                                      .certificate = agent->certificate,
                                      .key = agent->key}};
}

static void member_gets_in(void **state)
{
    struct place *place = *state;
    struct agent agent = agent_of(&place->authority, "basel");
    struct dial dial = dial_of(place, &agent);
    dial.call = (fplt__call){.method = "PUT", .path = "/v1/update", .body = "hello", .size = 5};
    dial.repeat = 2;
    dial_up(place, &dial);
    assert_ok(dial.status, dial.error);
    assert_int_equal(dial.answer, 200);
    assert_string_equal(dial.body, "hello");
    assert_string_equal(dial.proof, "1.2.3");
    assert_string_equal(place->seen, "basel");
    assert_int_equal(place->whole, 3);
    assert_int_equal(place->refused, 0);
    turn_until_closed(place, 1);
    assert_int_equal(place->finished, 1);
    agent_clear(&agent);
}

static void large_bodies_wait_for_leave(void **state)
{
    struct place *place = *state;
    struct agent agent = agent_of(&place->authority, "basel");
    struct dial dial = dial_of(place, &agent);
    size_t size = 1 << 20;
    char *body = malloc(size + 1);
    memset(body, 'x', size + 1);
    dial.call = (fplt__call){.method = "PUT", .path = "/v1/update", .body = body, .size = size};
    dial.repeat = 3;
    dial_up(place, &dial);
    assert_ok(dial.status, dial.error);
    assert_int_equal(dial.answer, 200);
    assert_int_equal(dial.size, size);
    assert_int_equal(fplt__server_received(place->server), 4 * size);
    dial = dial_of(place, &agent);
    dial.call = (fplt__call){.method = "PUT", .path = "/v1/update", .body = body, .size = size + 1};
    dial_up(place, &dial);
    assert_int_equal(dial.answer, 413);
    assert_contains(dial.body, "at most 1048576");
    assert_int_equal(fplt__server_received(place->server), 4 * size);
    free(body);
    agent_clear(&agent);
}

/* Those that are worth it are prepared, on whichever thread, before they are taken; each comes back as it was sent. */
static void bodies_are_prepared(void **state)
{
    static const size_t sizes[] = {0, 100, 16383, 16384, 70314, 262144, 262145, 500000};
    struct place *place = *state;
    struct agent agent = agent_of(&place->authority, "basel");
    uint8_t *body = calloc(500010, 1);
    fplt_stream stream = fplt_stream_make(8, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t i = 0; i < 500010; i++)
        body[i] = (uint8_t)('a' + fplt__stream_bits(&stream) % 26);
    place->prepares = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct dial dial = dial_of(place, &agent);
        dial.call =
            (fplt__call){.method = "PUT", .path = "/v1/update", .body = body + i, .size = sizes[i]};
        dial.repeat = 4;
        place->prepared = 0;
        dial_up(place, &dial);
        assert_ok(dial.status, dial.error);
        assert_int_equal(dial.answer, 200);
        assert_int_equal(dial.size, sizes[i]);
        assert_memory_equal(dial.body, body + i, sizes[i] < 255 ? sizes[i] : 255);
        int expected = sizes[i] >= 16384 && sizes[i] <= 262144 && fplt__cores(0) > 1;
        assert_int_equal(place->prepared, expected ? 5 : 0);
    }
    free(body);
    agent_clear(&agent);
}

/* A client whose records reach the server in pieces, cut wherever. */
struct trickle {
    int descriptor, done, same;
    unsigned port;
    const struct agent *agent;
    fplt_stream stream;
};

static ssize_t send_cut(gnutls_transport_ptr_t context, const void *bytes, size_t size)
{
    struct trickle *trickle = context;
    size_t most =
        fplt_stream_below(&trickle->stream, 3) ? size : 8; /* mostly whole, then a few bytes */
    size_t cut = 1 + (size_t)fplt_stream_below(&trickle->stream, most < size ? most : size);
    struct timespec moment = {0, 100000};
    if (fplt_stream_below(&trickle->stream, 4) == 0)
        nanosleep(&moment, NULL);
    return send(trickle->descriptor, bytes, cut, MSG_NOSIGNAL);
}

static int send_all(gnutls_session_t session, struct trickle *trickle, const char *bytes,
                    size_t size)
{
    while (size) {
        size_t most = 1 + (size_t)fplt_stream_below(&trickle->stream, 16384);
        ssize_t sent = gnutls_record_send(session, bytes, most < size ? most : size);
        if (sent <= 0)
            return 0;
        bytes += sent;
        size -= (size_t)sent;
    }
    return 1;
}

static int echoes(gnutls_session_t session, struct trickle *trickle, size_t size)
{
    char *sent = malloc(size + 200), *got = malloc(size + 4096), *body = NULL;
    size_t here = 0;
    ssize_t more = 1;
    int head = snprintf(sent, 200,
                        "PUT /v1/update HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", size);
    for (size_t i = 0; i < size; i++)
        sent[(size_t)head + i] = (char)('a' + fplt__stream_bits(&trickle->stream) % 26);
    int same = send_all(session, trickle, sent, (size_t)head + size);
    while (same && (!body || here - (size_t)(body + 4 - got) < size) && more > 0) {
        more = gnutls_record_recv(session, got + here, size + 4095 - here);
        here += more > 0 ? (size_t)more : 0;
        got[here] = 0;
        body = body ? body : strstr(got, "\r\n\r\n");
    }
    same = same && body && memcmp(body + 4, sent + head, size) == 0;
    free(sent);
    free(got);
    return same;
}

static void *trickling(void *context)
{
    struct trickle *trickle = context;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)trickle->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    gnutls_certificate_credentials_t own;
    gnutls_session_t session;
    const char *certificate = trickle->agent->certificate, *key = trickle->agent->key;
    gnutls_datum_t texts[] = {{(unsigned char *)certificate, (unsigned)strlen(certificate)},
                              {(unsigned char *)key, (unsigned)strlen(key)}};
    int yes = 1;
    trickle->descriptor = socket(AF_INET, SOCK_STREAM, 0);
    gnutls_certificate_allocate_credentials(&own);
    gnutls_certificate_set_x509_key_mem(own, &texts[0], &texts[1], GNUTLS_X509_FMT_PEM);
    gnutls_init(&session, GNUTLS_CLIENT);
    gnutls_set_default_priority(session);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, own);
    gnutls_transport_set_int(session, trickle->descriptor);
    gnutls_transport_set_ptr2(session, (gnutls_transport_ptr_t)(intptr_t)trickle->descriptor,
                              trickle);
    gnutls_transport_set_push_function(session, send_cut);
    setsockopt(trickle->descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    trickle->same = !connect(trickle->descriptor, (struct sockaddr *)&to, sizeof to) &&
                    gnutls_handshake(session) == GNUTLS_E_SUCCESS;
    for (size_t size = 1; trickle->same && size < 200000; size = 2 * size + 1)
        trickle->same = echoes(session, trickle, size);
    close(trickle->descriptor);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(own);
    __atomic_store_n(&trickle->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void records_may_be_cut(void **state)
{
    struct place *place = *state;
    struct agent agent = agent_of(&place->authority, "basel");
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct trickle trickle = {.agent = &agent, .port = fplt__server_port(place->server)};
        trickle.stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, 0, 0, 0);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, trickling, &trickle), 0);
        turn_until(place, &trickle.done, 20);
        pthread_join(thread, NULL);
        assert_true(trickle.same);
    }
    turn_until_closed(place, 10); /* without a word */
    assert_int_equal(place->broken, 10);
    agent_clear(&agent);
}

/* A server may end while a body is being prepared: whoever sent it is told. */
static void ends_while_it_prepares(void **state)
{
    struct place *place = *state;
    struct agent agent = agent_of(&place->authority, "basel");
    struct dial dial = dial_of(place, &agent);
    uint8_t *body = calloc(20000, 1);
    pthread_t thread;
    if (fplt__cores(0) < 2)
        skip();
    place->prepares = 1;
    place->takes.tv_nsec = 50000000;
    dial.call = (fplt__call){
        .method = "PUT", .path = "/v1/update", .body = body, .size = 20000, .limit = 1 << 20};
    snprintf(dial.url, sizeof dial.url, "https://127.0.0.1:%u", fplt__server_port(place->server));
    assert_int_equal(pthread_create(&thread, NULL, dialling, &dial), 0);
    turn_until(place, &place->preparing, 20);
    fplt__server_destroy(place->server);
    place->server = NULL;
    pthread_join(thread, NULL);
    /* this thread may have prepared it itself, and taken it */
    assert_true(dial.status != FPLT_OK || dial.answer == (place->whole ? 200 : 503));
    free(body);
    agent_clear(&agent);
}

static void without_certificate(void **state)
{
    struct place *place = *state;
    struct agent nobody = {NULL, NULL, NULL};
    struct dial dial = dial_of(place, &nobody);
    dial_up(place, &dial);
    assert_int_equal(dial.status, FPLT_IO);
    assert_contains(dial.error.text, "refuses this agent's certificate");
    assert_int_equal(place->whole, 0);
    assert_int_equal(place->refused, 1);
}

static void of_another_authority(void **state)
{
    struct place *place = *state;
    char folder[64];
    fplt__authority other;
    found(folder, &other);
    struct agent agent = agent_of(&other, "basel");
    struct dial dial = dial_of(place, &agent);
    dial_up(place, &dial);
    assert_int_equal(dial.status, FPLT_IO);
    assert_contains(dial.error.text, "another authority?");
    assert_int_equal(place->refused, 1);
    assert_contains(place->last_sentence, "of another authority");
    /* and a coordinator of another authority is not believed */
    struct agent own = agent_of(&place->authority, "basel");
    dial = dial_of(place, &own);
    dial.settings.authority = other.certificate;
    dial_up(place, &dial);
    assert_int_equal(dial.status, FPLT_IO);
    assert_contains(dial.error.text, "not the coordinator of this federation");
    agent_clear(&own);
    agent_clear(&agent);
    fplt__authority_close(&other);
    remove_folder(folder);
}

static void revoked_in_an_open_connection(void **state)
{
    struct place *place = *state;
    fplt_error error;
    struct agent agent = agent_of(&place->authority, "basel");
    struct agent other = agent_of(&place->authority, "bern");
    struct dial dial = dial_of(place, &agent);
    dial_up(place, &dial);
    assert_int_equal(dial.answer, 200);
    assert_ok(fplt__authority_revoke(&place->authority, "basel", &error), error);
    dial = dial_of(place, &agent);
    dial_up(place, &dial);
    assert_int_equal(dial.answer, 403);
    assert_contains(dial.body, "revoked");
    dial = dial_of(place, &other);
    dial_up(place, &dial);
    assert_int_equal(dial.answer, 200);
    /* a new certificate revives the name, not the old one */
    struct agent again = agent_of(&place->authority, "basel");
    dial = dial_of(place, &again);
    dial_up(place, &dial);
    assert_int_equal(dial.answer, 200);
    dial = dial_of(place, &agent);
    dial_up(place, &dial);
    assert_int_equal(dial.answer, 403);
    assert_int_equal(fplt__authority_revoke(&place->authority, "nobody", &error), FPLT_BAD_VALUE);
    agent_clear(&agent);
    agent_clear(&other);
    agent_clear(&again);
}

/* The coordinator's own certificate is no agent's, and an agent's is no coordinator's. */
static void wrong_purpose(void **state)
{
    struct place *place = *state;
    struct agent agent = {place->authority.server_key, NULL, place->authority.server};
    struct dial dial = dial_of(place, &agent);
    dial_up(place, &dial);
    if (!dial.status) {
        assert_int_equal(dial.answer, 403);
        assert_contains(dial.body, "not one of an agent");
    }
    assert_int_equal(place->whole, 0);
    struct agent basel = agent_of(&place->authority, "basel");
    fplt_error error;
    assert_ok(fplt__server_certify(place->server, basel.certificate, basel.key, &error), error);
    dial = dial_of(place, &basel);
    dial_up(place, &dial);
    assert_int_equal(dial.status, FPLT_IO);
    assert_contains(dial.error.text, "not the coordinator of this federation");
    agent_clear(&basel);
}

static void held_answers_come_when_there_is_news(void **state)
{
    struct place *place = *state;
    struct agent agent = agent_of(&place->authority, "basel");
    struct dial dial = dial_of(place, &agent);
    pthread_t thread;
    place->hold = 1;
    dial.call =
        (fplt__call){.method = "POST", .path = "/v1/next", .body = "{}", .size = 2, .limit = 1000};
    snprintf(dial.url, sizeof dial.url, "https://127.0.0.1:%u", fplt__server_port(place->server));
    assert_int_equal(pthread_create(&thread, NULL, dialling, &dial), 0);
    turn_until(place, &place->held, 10);
    assert_int_equal(dial.done, 0);
    fplt__http_transaction_answer_text(place->waiting, 200, "text/plain", "news");
    turn_until(place, &dial.done, 10);
    pthread_join(thread, NULL);
    assert_string_equal(dial.body, "news");
    agent_clear(&agent);
}

static int dial_raw(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(made, (struct sockaddr *)&address, sizeof address), 0);
    return made;
}

static void garbage_on_the_port(void **state)
{
    struct place *place = *state;
    int made = dial_raw(fplt__server_port(place->server));
    assert_true(write(made, "GET / HTTP/1.0\r\n\r\n\0\xff garbage", 28) > 0);
    double until = fplt__now() + 10;
    while (place->refused == 0 && fplt__now() < until)
        fplt__servers_turn(&place->server, 1, -1, 0.02);
    assert_int_equal(place->refused, 1);
    close(made);
    struct agent agent = agent_of(&place->authority, "basel");
    struct dial dial = dial_of(place, &agent);
    dial_up(place, &dial);
    assert_int_equal(dial.answer, 200);
    agent_clear(&agent);
}

static void invitations(void **state)
{
    struct place *place = *state;
    fplt__authority *authority = &place->authority;
    fplt_error error;
    char code[600], *certificate, *key, *request, *other_key, *other;
    fplt__invitation invitation;
    fplt__identity identity;
    int expects;
    assert_ok(fplt__authority_expects(authority, &expects, &error), error);
    assert_int_equal(expects, 0);
    assert_ok(fplt__authority_invite(authority, "basel", code, sizeof code, &error), error);
    assert_ok(fplt__authority_expects(authority, &expects, &error), error);
    assert_int_equal(expects, 1);
    assert_ok(fplt__invitation_parse(code, &invitation, &error), error);
    assert_string_equal(invitation.host, "127.0.0.1");
    assert_int_equal(invitation.port, 7443);
    assert_memory_equal(invitation.fingerprint, authority->fingerprint, 32);
    assert_ok(fplt__key_make(&key, &error), error);
    assert_ok(fplt__request_make(key, "somebody-else", &request, &error), error);
    assert_ok(fplt__key_make(&other_key, &error), error);
    assert_ok(fplt__request_make(other_key, "basel", &other, &error), error);
    for (int i = 0; i < 2; i++) { /* an answer that was lost may be asked for again */
        assert_ok(fplt__authority_redeem(authority, invitation.secret, request, &certificate,
                                         &error),
                  error);
        assert_ok(fplt__certificate_read(certificate, "it", &identity, &error), error);
        assert_string_equal(identity.name, "basel");
        fplt__free(certificate);
    }
    assert_int_equal(fplt__authority_redeem(authority, invitation.secret, other, &certificate,
                                            &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "was used already");
    assert_int_equal(fplt__authority_redeem(authority, "0123", other, &certificate, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "not known here");
    code[20] ^= 1;
    code[strlen(code) - 1] = 'g';
    assert_int_equal(fplt__invitation_parse(code, &invitation, &error), FPLT_BAD_VALUE);
    assert_int_equal(fplt__invitation_parse("fedplt-", &invitation, &error), FPLT_BAD_VALUE);
    fplt__free(key);
    fplt__free(request);
    fplt__free(other_key);
    fplt__free(other);
}

/* Joining, as `fedplt agent join` does it: through the door, by a fingerprint. */
struct joining {
    char code[600], folder[64], name[FPLT_NAME_SIZE];
    fplt_status status;
    fplt_error error;
    int done;
};

static void *join_thread(void *context)
{
    struct joining *joining = context;
    joining->status =
        fplt_federation_join(joining->code, joining->folder, "off", joining->name, &joining->error);
    __atomic_store_n(&joining->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void join_by_code(fplt__server *door, const char *code, struct joining *joining)
{
    pthread_t thread;
    double until = fplt__now() + 20;
    memset(joining, 0, sizeof *joining);
    snprintf(joining->code, sizeof joining->code, "%s", code);
    snprintf(joining->folder, sizeof joining->folder, "/tmp/fedplt-join-XXXXXX");
    assert_non_null(mkdtemp(joining->folder));
    assert_int_equal(pthread_create(&thread, NULL, join_thread, joining), 0);
    while (!__atomic_load_n(&joining->done, __ATOMIC_ACQUIRE) && fplt__now() < until)
        fplt__servers_turn(&door, 1, -1, 0.02);
    pthread_join(thread, NULL);
}

static void through_the_door(void **state)
{
    struct place *place = *state;
    fplt__server *server;
    fplt_error error;
    char code[600], path[128], *pem;
    size_t size;
    struct joining joining;
    fplt__identity identity;
    fplt__door door = {&place->authority, refused, place};
    assert_ok(fplt__door_open(&door, "127.0.0.1:0", &server, &error), error);
    snprintf(place->authority.address, sizeof place->authority.address, "127.0.0.1:%u",
             fplt__server_port(server) - 1);
    assert_ok(fplt__authority_invite(&place->authority, "basel", code, sizeof code, &error), error);
    join_by_code(server, code, &joining);
    assert_ok(joining.status, joining.error);
    assert_string_equal(joining.name, "basel");
    snprintf(path, sizeof path, "%s/agent.pem", joining.folder);
    assert_ok(fplt__file_read(path, 1 << 16, &pem, &size, &error), error);
    assert_ok(fplt__certificate_read(pem, path, &identity, &error), error);
    assert_int_equal(identity.role, FPLT_ROLE_AGENT);
    assert_string_equal(identity.name, "basel");
    assert_non_null(fplt__pem_second(pem));
    fplt__free(pem);
    remove_folder(joining.folder);
    /* a second site cannot use the same code */
    join_by_code(server, code, &joining);
    assert_int_equal(joining.status, FPLT_FAILED);
    assert_contains(joining.error.text, "was used already");
    remove_folder(joining.folder);
    /* somebody else answers at the address: not even the secret is sent */
    assert_ok(fplt__authority_invite(&place->authority, "bern", code, sizeof code, &error), error);
    code[strlen(code) - 1] = code[strlen(code) - 1] == 'a' ? 'b' : 'a';
    join_by_code(server, code, &joining);
    assert_int_equal(joining.status, FPLT_FAILED);
    assert_contains(joining.error.text, "is not who wrote the invitation");
    remove_folder(joining.folder);
    fplt__server_destroy(server);
}

/* Bytes that drip in do not keep a connection. */
static void slow_loris(void **state)
{
    struct place *place = *state;
    fplt_error error;
    fplt__server *server;
    fplt__service service = {.context = place,
                             .peer_size = sizeof(fplt__identity),
                             .head = head,
                             .whole = whole,
                             .expired = expired,
                             .ended = ended,
                             .refused = refused};
    fplt__server_settings settings = {
        .listen = "127.0.0.1:0", .connections = 4, .window = 1, .header_timeout = 0.5};
    assert_ok(fplt__server_create(&settings, &service, &server, &error), error);
    int made = dial_raw(fplt__server_port(server));
    double begun = fplt__now();
    assert_true(write(made, "GET / HTTP/1.1\r\nX: ", 19) > 0);
    while (place->refused == 0 && fplt__now() < begun + 10) {
        fplt__servers_turn(&server, 1, -1, 0.05);
        usleep(1000);
        if (send(made, "y", 1, MSG_NOSIGNAL) < 0)
            break;
    }
    assert_int_equal(place->refused, 1);
    assert_string_equal(place->last_word, "slow");
    assert_true(fplt__now() - begun < 5);
    close(made);
    fplt__server_destroy(server);
}

static void any_head(void *context, fplt__http_transaction *transaction, uint64_t length,
                     uint64_t *limit)
{
    (void)context, (void)transaction, (void)length;
    *limit = 1 << 20;
}

static void count_moves(void *context, fplt__http_transaction *transaction)
{
    struct place *place = context;
    (void)transaction;
    place->moves++;
}

/* A body that comes slowly but comes is told of, and no more when it stops. */
static void what_moves_is_told(void **state)
{
    struct place *place = *state;
    fplt_error error;
    fplt__server *server;
    fplt__service service = {.context = place,
                             .peer_size = sizeof(fplt__identity),
                             .head = any_head,
                             .whole = whole,
                             .moves = count_moves,
                             .expired = expired,
                             .ended = ended,
                             .refused = refused};
    fplt__server_settings settings = {.listen = "127.0.0.1:0", .connections = 4, .window = 1};
    static const char begins[] = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
    char part[500] = {0};
    assert_ok(fplt__server_create(&settings, &service, &server, &error), error);
    int made = dial_raw(fplt__server_port(server));
    assert_true(write(made, begins, sizeof begins - 1) > 0);
    for (double until = fplt__now() + 2.2; fplt__now() < until;) {
        fplt__servers_turn(&server, 1, -1, 0.02);
        assert_true(send(made, part, sizeof part, MSG_NOSIGNAL) > 0);
        usleep(20000);
    }
    assert_true(place->moves >= 1);
    for (double until = fplt__now() + 1.6; fplt__now() < until;)
        fplt__servers_turn(&server, 1, -1, 0.02);
    int before = place->moves;
    for (double until = fplt__now() + 2; fplt__now() < until;)
        fplt__servers_turn(&server, 1, -1, 0.02);
    assert_int_equal(place->moves, before);
    assert_int_equal(place->whole, 0);
    close(made);
    fplt__server_destroy(server);
}

/* PKCS #8 of P-256 has 138 octets where its private number has 32; half of the numbers begin with a bit that is set. */
static void keys_have_32_octets(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        fplt_error error;
        char *key, *request, name[FPLT_NAME_SIZE];
        gnutls_datum_t der;
        assert_ok(fplt__key_make(&key, &error), error);
        gnutls_datum_t pem = {(unsigned char *)key, (unsigned)strlen(key)};
        assert_int_equal(gnutls_pem_base64_decode2("PRIVATE KEY", &pem, &der), 0);
        assert_int_equal(der.size, 138);
        assert_int_equal(der.data[34], 0x04);
        assert_int_equal(der.data[35], 32);
        gnutls_free(der.data);
        if (i < 20) { /* the public half belongs to it */
            assert_ok(fplt__request_make(key, "basel", &request, &error), error);
            assert_ok(fplt__request_read(request, name, &error), error);
            assert_string_equal(name, "basel");
            fplt__free(request);
        }
        fplt__free(key);
    }
}

static void secrets_are_their_owners(void **state)
{
    struct place *place = *state;
    static const char *const files[] = {"authority.key", "coordinator.key", "receipt.key",
                                        "pki.db"};
    for (size_t i = 0; i < 4; i++) {
        char path[128], command[200];
        snprintf(path, sizeof path, "%s/%s", place->folder, files[i]);
        snprintf(command, sizeof command, "test \"$(stat -c %%a '%s')\" = 600", path);
        if (system(command))
            fail_msg("%s is not mode 600", path);
    }
    fplt_error error;
    assert_int_equal(fplt__authority_found(place->folder, "heart", "a:1", &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "already");
    assert_int_equal(fplt__name_check("the name", "Basel", &error), FPLT_BAD_VALUE);
}

/* Where there is no client the pointer is empty. */
static void other_addresses_are_refused(void **state)
{
    (void)state;
    int other;
    fplt__client_settings settings = {.url = "http://127.0.0.1:1", .proxy = "off"};
    fplt__client *client = (fplt__client *)(void *)&other;
    fplt_error error;
    assert_int_equal(fplt__client_create(&settings, &client, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "is not the address of a coordinator");
    assert_null(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_addresses_are_refused),
        cmocka_unit_test_setup_teardown(member_gets_in, begin, end),
        cmocka_unit_test_setup_teardown(large_bodies_wait_for_leave, begin, end),
        cmocka_unit_test_setup_teardown(bodies_are_prepared, begin, end),
        cmocka_unit_test_setup_teardown(records_may_be_cut, begin, end),
        cmocka_unit_test_setup_teardown(ends_while_it_prepares, begin, end),
        cmocka_unit_test_setup_teardown(without_certificate, begin, end),
        cmocka_unit_test_setup_teardown(of_another_authority, begin, end),
        cmocka_unit_test_setup_teardown(revoked_in_an_open_connection, begin, end),
        cmocka_unit_test_setup_teardown(wrong_purpose, begin, end),
        cmocka_unit_test_setup_teardown(held_answers_come_when_there_is_news, begin, end),
        cmocka_unit_test_setup_teardown(garbage_on_the_port, begin, end),
        cmocka_unit_test_setup_teardown(invitations, begin, end),
        cmocka_unit_test_setup_teardown(through_the_door, begin, end),
        cmocka_unit_test_setup_teardown(slow_loris, begin, end),
        cmocka_unit_test_setup_teardown(what_moves_is_told, begin, end),
        cmocka_unit_test_setup_teardown(secrets_are_their_owners, begin, end),
        cmocka_unit_test(keys_have_32_octets),
    };
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}
