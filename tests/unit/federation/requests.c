/* Requests that a coordinator refuses, over TLS: status and sentence of each, and that a member is served as before
 * afterwards. */
#include "federating.h"

#include <jansson.h>
#include <sqlite3.h>

#include "base/file.h"
#include "base/memory.h"
#include "federation/plan/program.h"
#include "federation/plan/routes.h"
#include "http/client.h"
#include "pki/authority.h"

static struct federating all;
static char lines[] = "status: 127.0.0.1:0\ntrain: {algorithm: fed-plt, rounds: 3}\n";

static int begin(void **state)
{
    (void)state;
    federating_found(&all, 2);
    federating_lead(&all, lines);
    federating_begin(&all);
    return 0;
}

static int end(void **state)
{
    (void)state;
    federating_end(&all);
    if (all.side[0].status)
        fail_msg("%s", all.side[0].error.text);
    federating_clear(&all);
    return 0;
}

static char *text_in(const char *folder, const char *name)
{
    char path[700], *text;
    size_t size;
    fplt_error error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(fplt__file_read(path, 1 << 20, &text, &size, &error), error);
    return text;
}

struct answer {
    unsigned status; /* 0: the connection was refused */
    char text[4000];
};

/* One request with the certificate and key of a folder; NULL: no certificate is shown. */
static struct answer ask(const char *folder, const fplt__call *wanted)
{
    char url[64], *authority = text_in(all.side[0].folder, "authority.pem"),
                  *own = folder ? text_in(folder, "agent.pem") : NULL,
                  *key = folder ? text_in(folder, "agent.key") : NULL;
    fplt__client_settings settings = {
        .url = url, .authority = authority, .certificate = own, .key = key, .proxy = "off"};
    fplt__client *client;
    fplt__answered answered;
    struct answer got = {0, ""};
    fplt_error error;
    snprintf(url, sizeof url, "https://127.0.0.1:%u", all.port);
    assert_ok(fplt__client_create(&settings, &client, &error), error);
    if (!fplt__client_call(client, wanted, &answered, &error)) {
        got.status = answered.status;
        snprintf(got.text, sizeof got.text, "%.*s", (int)answered.size,
                 (const char *)answered.body);
    } else
        snprintf(got.text, sizeof got.text, "%s", error.text);
    fplt__client_destroy(client);
    fplt_free(authority);
    fplt_free(own);
    fplt_free(key);
    return got;
}

static struct answer ask_simply(const char *folder, const char *method, const char *path,
                                const char *header, const char *body)
{
    fplt__call wanted = {.method = method,
                         .path = path,
                         .header = header,
                         .type = "application/json",
                         .body = body,
                         .size = body ? strlen(body) : 0,
                         .limit = 1 << 16};
    return ask(folder, &wanted);
}

/* As the coordinator's status has them. */
static int refusals(void)
{
    char *text;
    int count;
    fplt_error error;
    assert_ok(fplt__federation_command(all.side[0].folder, "status", &text, &error), error);
    json_t *status = json_loads(text, 0, NULL);
    assert_int_equal(json_unpack(status, "{s:i}", "refused", &count), 0);
    json_decref(status);
    fplt_free(text);
    return count;
}

static void assert_served(void)
{
    struct answer got = ask_simply(all.side[1].folder, "GET", "/v1/federation", NULL, NULL);
    assert_int_equal(got.status, 200);
    assert_contains(got.text, "\"federation\":\"heart\"");
}

static void routes_and_bodies(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path, *header, *body;
        unsigned status;
        const char *said;
    } cases[] = {
        {"GET", "/v1/nothing", NULL, NULL, 404, "there is no /v1/nothing here"},
        {"GET", "/v1/federation/", NULL, NULL, 404, "there is no"},
        {"GET", "/v1/join", NULL, NULL, 405, ""},
        {"POST", "/v1/plan", NULL, "x", 405, ""},
        {"POST", "/v1/next", NULL, "", 400, "Fedplt-Session is missing"},
        {"POST", "/v1/next", "Fedplt-Session: seven", "", 400, "Fedplt-Session is missing"},
        {"POST", "/v1/next", "Fedplt-Session: 7", "", 400, "Fedplt-Session is missing"},
        {"POST", "/v1/consent", NULL, "{}", 400, "Fedplt-Session is missing"},
        {"POST", "/v1/join", NULL, "{}", 400, ""},
        {"POST", "/v1/join", NULL, "no JSON", 400, ""},
        {"POST", FPLT__LOG_PATH, NULL, "no head", 400, "\"final\":true"},
        {"POST", FPLT__RENEWAL_PATH, NULL, "no request", 409, "it is renewed in its last month"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer got = ask_simply(all.side[1].folder, cases[i].method, cases[i].path,
                                       cases[i].header, cases[i].body);
        if (got.status != cases[i].status)
            fail_msg("%s %s: %u %s", cases[i].method, cases[i].path, got.status, got.text);
        assert_contains(got.text, cases[i].said);
        assert_served();
    }
    assert_int_equal(refusals(), 2); /* the two joins are malformed; the others are no offence */
}

/* A body that is longer than its kind allows is refused by its length alone. */
static void long_bodies(void **state)
{
    (void)state;
    size_t size = FPLT__MESSAGE_LIMIT + 1;
    char *body = (char *)calloc(size, 1);
    memset(body, ' ', size);
    fplt__call wanted = {.method = "POST",
                         .path = "/v1/join",
                         .type = "application/json",
                         .body = body,
                         .size = size,
                         .limit = 1 << 16};
    struct answer got = ask(all.side[1].folder, &wanted);
    assert_int_equal(got.status, 413);
    wanted.size = size - 1;
    assert_int_equal(ask(all.side[1].folder, &wanted).status, 400); /* read, and malformed */
    free(body);
    assert_served();
}

/* A site with a certificate of this authority that is not on the roster, one without a certificate, one that was revoked
 * in an open run, one whose certificate the table does not have. */
static void strangers(void **state)
{
    (void)state;
    char place[400], *request, *certificate;
    fplt_error error;
    assert_int_equal(ask_simply(NULL, "GET", "/v1/federation", NULL, NULL).status, 0);
    snprintf(place, sizeof place, "%.299s/s9", all.folder);
    assert_int_equal(mkdir(place, 0700), 0);
    assert_ok(fplt_federation_request(place, "s9", &request, &error), error);
    assert_ok(fplt_federation_sign(all.side[0].folder, request, &certificate, &error), error);
    federating_write(place, "agent.pem", "%s", certificate);
    struct answer got = ask_simply(place, "GET", "/v1/federation", NULL, NULL);
    assert_int_equal(got.status, 403);
    assert_contains(got.text, "s9 is not on the roster of run 1 of heart");
    fplt_free(certificate);
    /* signed by the authority's key for a member's name, but not by this coordinator */
    char *authority = text_in(all.side[0].folder, "authority.pem"),
         *key = text_in(all.side[0].folder, "authority.key");
    fplt__issue issue = {.federation = "heart", .name = "s1", .request = request, .days = 100};
    assert_ok(fplt__certificate_make(authority, key, &issue, &certificate, NULL, &error), error);
    federating_write(place, "agent.pem", "%s%s", certificate, authority);
    got = ask_simply(place, "GET", "/v1/federation", NULL, NULL);
    assert_int_equal(got.status, 403);
    assert_contains(got.text, "is not in the coordinator's table");
    fplt__free(certificate);
    fplt_free(authority);
    fplt_free(key);
    fplt_free(request);
    assert_int_equal(ask_simply(all.side[2].folder, "GET", "/v1/federation", NULL, NULL).status,
                     200);
    assert_ok(fplt_federation_revoke(all.side[0].folder, "s2", &error), error);
    federating_said(&all, 0, "s2 was revoked");
    got = ask_simply(all.side[2].folder, "GET", "/v1/federation", NULL, NULL);
    assert_int_equal(got.status, 403);
    assert_contains(got.text, "was revoked");
    assert_served();
}

/* The coordinator's table says that the certificate of a site is one that ends in so many days. */
static void age(size_t site, unsigned days)
{
    char path[700], *request, *certificate,
        *authority = text_in(all.side[0].folder, "authority.pem"),
        *key = text_in(all.side[0].folder, "authority.key"),
        *own = text_in(all.side[site].folder, "agent.key");
    fplt__identity identity;
    sqlite3 *file;
    sqlite3_stmt *add;
    fplt_error error;
    assert_ok(fplt__request_make(own, all.side[site].name, &request, &error), error);
    fplt__issue issue = {
        .federation = "heart", .name = all.side[site].name, .request = request, .days = days};
    assert_ok(fplt__certificate_make(authority, key, &issue, &certificate, &identity, &error),
              error);
    federating_write(all.side[site].folder, "agent.pem", "%s%s", certificate, authority);
    snprintf(path, sizeof path, "%s/pki.db", all.side[0].folder);
    assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
    sqlite3_busy_timeout(file, 10000);
    assert_int_equal(sqlite3_prepare_v2(file,
                                        "INSERT INTO issued(serial, name, begins, ends) "
                                        "VALUES(?, ?, ?, ?)",
                                        -1, &add, NULL),
                     SQLITE_OK);
    sqlite3_bind_blob(add, 1, identity.serial, sizeof identity.serial, SQLITE_STATIC);
    sqlite3_bind_text(add, 2, all.side[site].name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(add, 3, identity.begins);
    sqlite3_bind_int64(add, 4, identity.ends);
    assert_int_equal(sqlite3_step(add), SQLITE_DONE);
    sqlite3_finalize(add);
    sqlite3_close(file);
    fplt__free(request);
    fplt__free(certificate);
    fplt_free(authority);
    fplt_free(key);
    fplt_free(own);
}

/* In the last 30 days a certificate is renewed, for the name of the connection alone and two years. */
static void renewal_in_the_last_month(void **state)
{
    (void)state;
    fplt_error error;
    char *own, *request, *other;
    age(1, 31);
    own = text_in(all.side[1].folder, "agent.key");
    assert_ok(fplt__request_make(own, "s1", &request, &error), error);
    assert_ok(fplt__request_make(own, "s2", &other, &error), error);
    assert_int_equal(
        ask_simply(all.side[1].folder, "POST", FPLT__RENEWAL_PATH, NULL, request).status, 409);
    age(1, 29);
    assert_int_equal(ask_simply(all.side[1].folder, "POST", FPLT__RENEWAL_PATH, NULL, other).status,
                     400);
    struct answer got = ask_simply(all.side[1].folder, "POST", FPLT__RENEWAL_PATH, NULL, "{}");
    assert_int_equal(got.status, 400);
    assert_contains(got.text, "this is no request for a certificate of s1");
    got = ask_simply(all.side[1].folder, "POST", FPLT__RENEWAL_PATH, NULL, request);
    assert_int_equal(got.status, 200);
    fplt__identity identity;
    assert_ok(fplt__certificate_read(got.text, "the answer", &identity, &error), error);
    assert_string_equal(identity.name, "s1");
    assert_int_equal(identity.role, FPLT_ROLE_AGENT);
    assert_near((double)(identity.ends - time(NULL)) / 86400, 730, 1.5);
    federating_write(all.side[1].folder, "agent.pem", "%s", got.text);
    assert_served(); /* by the new one */
    fplt_free(own);
    fplt__free(request);
    fplt__free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(routes_and_bodies, begin, end),
        cmocka_unit_test_setup_teardown(long_bodies, begin, end),
        cmocka_unit_test_setup_teardown(strangers, begin, end),
        cmocka_unit_test_setup_teardown(renewal_in_the_last_month, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
