/* How a site gets its certificate: each step may be repeated after an interruption and then gives the same, a member has one
 * row however often it asks, and a code is good for one key. */
#include "federating.h"

#include <sqlite3.h>

#include "federation/plan/program.h"
#include "pki/authority.h"

static struct federating all;
static char site[400];

static int begin(void **state)
{
    (void)state;
    federating_found(&all, 1);
    federating_lead(&all, "status: 127.0.0.1:0\ntrain: {algorithm: fed-plt, rounds: 3}\n");
    snprintf(site, sizeof site, "%.299s/basel", all.folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    federating_clear(&all);
    return 0;
}

struct list {
    size_t count;
    char line[8][80]; /* NAME STATE */
};

static void list_member(void *context, const fplt_federation_member *member)
{
    struct list *list = context;
    assert_true(list->count < 8);
    snprintf(list->line[list->count++], 80, "%s %s", member->name, member->state);
}

static struct list members(void)
{
    struct list list = {.count = 0};
    fplt_error error;
    assert_ok(fplt_federation_members(all.side[0].folder, list_member, &list, &error), error);
    return list;
}

/* Certificates that were issued to a name. */
static int issued(const char *name)
{
    char path[700];
    sqlite3 *file;
    sqlite3_stmt *ask;
    snprintf(path, sizeof path, "%s/pki.db", all.side[0].folder);
    assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(file, "SELECT count(*) FROM issued WHERE name = ?", -1,
                                        &ask, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(ask, 1, name, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(ask), SQLITE_ROW);
    int count = sqlite3_column_int(ask, 0);
    sqlite3_finalize(ask);
    sqlite3_close(file);
    return count;
}

static void a_request_is_the_same_again(void **state)
{
    (void)state;
    char *first, *again, *other, *key, *certificate;
    struct stat found;
    char path[500];
    fplt_error error;
    assert_ok(fplt_federation_request(site, "basel", &first, &error), error);
    key = federating_read(site, "agent.key");
    snprintf(path, sizeof path, "%s/agent.key", site);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    assert_ok(fplt_federation_request(site, "basel", &again, &error), error);
    assert_string_equal(first, again);
    assert_ok(fplt_federation_request(site, "bern", &other, &error), error);
    assert_string_not_equal(first, other); /* of another name, and the same key */
    char *kept = federating_read(site, "agent.key");
    assert_string_equal(key, kept);
    char name[FPLT_NAME_SIZE];
    assert_ok(fplt__request_read(other, name, &error), error);
    assert_string_equal(name, "bern");
    /* with a certificate in it a folder is somebody's */
    assert_ok(fplt_federation_sign(all.side[0].folder, other, &certificate, &error), error);
    federating_write(site, "agent.pem", "%s", certificate);
    char *none;
    assert_int_equal(fplt_federation_request(site, "bern", &none, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "this folder has a certificate already");
    assert_null(none);
    assert_int_equal(fplt_federation_request(all.folder, "Bern", &none, &error), FPLT_BAD_VALUE);
    free(key);
    free(kept);
    fplt_free(first);
    fplt_free(again);
    fplt_free(other);
    fplt_free(certificate);
}

static void a_folder_is_founded_once(void **state)
{
    (void)state;
    char *before = federating_read(all.side[0].folder, "authority.pem");
    char *settings = federating_read(all.side[0].folder, "federation.yaml");
    fplt_error error;
    assert_true(fplt_federation_found(all.side[0].folder, "heart", "127.0.0.1:7443", &error) !=
                FPLT_OK);
    char *after = federating_read(all.side[0].folder, "authority.pem"),
         *kept = federating_read(all.side[0].folder, "federation.yaml");
    assert_string_equal(before, after);
    assert_string_equal(settings, kept);
    free(before);
    free(after);
    free(settings);
    free(kept);
}

static void join_with(const char *code, const char *folder, fplt_status wanted, const char *said)
{
    char name[FPLT_NAME_SIZE] = "";
    fplt_error error = {FPLT_OK, ""};
    fplt_status status = fplt_federation_join(code, folder, "off", name, &error);
    for (int tries = 0; tries < 200 && status == FPLT_IO;
         tries++) { /* the door opens in a moment */
        nanosleep(&(struct timespec){0, 50000000}, NULL);
        status = fplt_federation_join(code, folder, "off", name, &error);
    }
    if (status != wanted)
        fail_msg("%s: %s", fplt_status_name(status), error.text);
    if (status)
        assert_contains(error.text, said);
    else
        assert_string_equal(name, said);
}

static void an_invitation_is_for_one_key(void **state)
{
    (void)state;
    char *code, *request, other[400], path[500];
    fplt_error error;
    federating_begin(&all);
    assert_ok(fplt_federation_request(site, "agent", &request, &error), error);
    assert_ok(fplt_federation_invite(all.side[0].folder, "basel", &code, &error), error);
    struct list list = members();
    assert_int_equal(list.count, 2);
    assert_string_equal(list.line[0], "basel invited");
    assert_string_equal(list.line[1], "s1 member");
    /* a fingerprint of another authority: nothing is sent, and the code stays good */
    char wrong[700];
    snprintf(wrong, sizeof wrong, "%s", code);
    char *last = wrong + strlen(wrong) - 1;
    *last = *last == 'a' ? 'b' : 'a';
    fplt__invitation parsed;
    if (!fplt__invitation_parse(wrong, &parsed, &error))
        join_with(wrong, site, FPLT_FAILED, "is not who wrote the invitation; nothing was sent");
    join_with(code, site, FPLT_OK, "basel");
    list = members();
    assert_int_equal(list.count, 2);
    assert_string_equal(list.line[0], "basel member");
    int rows = issued("basel");
    assert_int_equal(rows, 1);
    char *text = federating_read(site, "site.yaml");
    snprintf(path, sizeof path, "coordinator: https://127.0.0.1:%u\n", all.port);
    assert_contains(text, path);
    free(text);
    join_with(code, site, FPLT_BAD_VALUE, "this folder has a certificate already");
    /* the answer was lost: key and request are there, the certificate is not. The same key gets one again, and what a
     * person wrote into site.yaml stays */
    federating_write(site, "site.yaml", "# mine\n");
    snprintf(path, sizeof path, "%s/agent.pem", site);
    assert_int_equal(unlink(path), 0);
    assert_null(federating_read(site, "agent.request"));
    federating_write(site, "agent.request", "%s", request);
    fplt_free(request);
    join_with(code, site, FPLT_OK, "basel");
    text = federating_read(site, "site.yaml");
    assert_string_equal(text, "# mine\n");
    free(text);
    list = members();
    assert_int_equal(list.count, 2); /* still one line for the member */
    assert_string_equal(list.line[0], "basel member");
    /* another key with the same code */
    snprintf(other, sizeof other, "%.299s/thief", all.folder);
    join_with(code, other, FPLT_FAILED, "");
    assert_null(federating_read(other, "agent.pem"));
    list = members();
    assert_int_equal(list.count, 2);
    /* a name that was revoked has no certificate left, and its open invitation neither */
    fplt_free(code);
    assert_ok(fplt_federation_invite(all.side[0].folder, "basel", &code, &error), error);
    assert_ok(fplt_federation_revoke(all.side[0].folder, "basel", &error), error);
    list = members();
    assert_string_equal(list.line[0], "basel revoked");
    assert_int_equal(fplt_federation_revoke(all.side[0].folder, "nobody", &error), FPLT_BAD_VALUE);
    fplt_free(code);
    federating_end(&all);
}

static void addresses_of_codes(void **state)
{
    (void)state;
    char *code, url[300], wanted[100], small[10];
    fplt_error error;
    assert_ok(fplt_federation_invite(all.side[0].folder, "basel", &code, &error), error);
    assert_ok(fplt__federation_join_address(code, url, sizeof url, &error), error);
    snprintf(wanted, sizeof wanted, "https://127.0.0.1:%u", all.port + 1);
    assert_string_equal(url, wanted);
    assert_int_equal(fplt__federation_join_address(code, small, sizeof small, &error),
                     FPLT_BAD_VALUE);
    assert_int_equal(fplt__federation_join_address("fedplt-x", url, sizeof url, &error),
                     FPLT_BAD_VALUE);
    fplt_free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_is_the_same_again, begin, end),
        cmocka_unit_test_setup_teardown(a_folder_is_founded_once, begin, end),
        cmocka_unit_test_setup_teardown(an_invitation_is_for_one_key, begin, end),
        cmocka_unit_test_setup_teardown(addresses_of_codes, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
