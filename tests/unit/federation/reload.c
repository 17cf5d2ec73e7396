/* A running coordinator reads federation.yaml and its certificate again. If one of them is bad, nothing changes: the same
 * certificate is shown at the same port, and the log has the reason. */
#include "federating.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/memory.h"
#include "pki/authority.h"

static struct federating all;
static const char lines[] = "status: 127.0.0.1:0\ntrain: {algorithm: fed-plt, rounds: 3}\n";

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

/* The certificate that is shown at a port, by its digest; 0: nobody listens there. */
static int shown(unsigned port, uint8_t digest[FPLT_FINGERPRINT_SIZE])
{
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    size_t size = FPLT_FINGERPRINT_SIZE;
    unsigned count = 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((uint16_t)port);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(made, (struct sockaddr *)&address, sizeof address)) {
        close(made);
        return 0;
    }
    assert_int_equal(gnutls_certificate_allocate_credentials(&credentials), 0);
    assert_int_equal(gnutls_init(&session, GNUTLS_CLIENT), 0);
    assert_int_equal(gnutls_set_default_priority(session), 0);
    assert_int_equal(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials), 0);
    gnutls_transport_set_int(session, made);
    assert_int_equal(gnutls_handshake(session), 0); /* a certificate of ours is asked for later */
    const gnutls_datum_t *peer = gnutls_certificate_get_peers(session, &count);
    assert_true(peer && count);
    assert_int_equal(gnutls_fingerprint(GNUTLS_DIG_SHA256, peer, digest, &size), 0);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    close(made);
    return 1;
}

/* Reads again, and waits for what became of it. */
static void reload(const char *words)
{
    size_t logged = all.side[0].logged;
    all.reload = 1;
    federating_said(&all, logged, "reload: ");
    assert_contains(all.side[0].log + logged, words);
}

static void lead_with(const char *port, const char *more)
{
    federating_write(all.side[0].folder, "federation.yaml",
                     "federation: heart\nlisten: 127.0.0.1:%s\nfolder: %s\nroster: [s1, s2]\n%s",
                     port, all.side[0].folder, more);
}

struct files {
    char *certificate, *key, *authority;
};

static struct files keep_files(void)
{
    return (struct files){federating_read(all.side[0].folder, "coordinator.pem"),
                          federating_read(all.side[0].folder, "coordinator.key"),
                          federating_read(all.side[0].folder, "authority.pem")};
}

static void put_back(struct files *files)
{
    federating_write(all.side[0].folder, "coordinator.pem", "%s", files->certificate);
    federating_write(all.side[0].folder, "coordinator.key", "%s", files->key);
    federating_write(all.side[0].folder, "authority.pem", "%s", files->authority);
}

static void drop_files(struct files *files)
{
    free(files->certificate);
    free(files->key);
    free(files->authority);
}

static unsigned free_port(void)
{
    unsigned port;
    fplt_error error;
    assert_ok(fplt_federation_port(&port, &error), error);
    return port;
}

/* Every bad file comes with a new address that is good: that the coordinator does not move shows that nothing was taken. */
static void a_bad_file_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *file, *text, *said;
    } cases[] = {
        {"train: {algorithm: fed-plt, rounds: 4}\n", NULL, NULL, "rounds"},
        {"train: {algorithm: scaffold, rounds: 3}\n", NULL, NULL, "algorithm"},
        {"run: 2\ntrain: {algorithm: fed-plt, rounds: 3}\n", NULL, NULL, "but run 1 is led"},
        {"train: {algorithm: fed-plt, rounds: 3}\ndeadline: soon\n", NULL, NULL, "deadline"},
        {"train: {algorithm: fed-plt, rounds: 3}\nunknown: 1\n", NULL, NULL, "unknown"},
        {"train: [\n", NULL, NULL, "federation.yaml"},
        {lines, "coordinator.pem", "no certificate\n", "coordinator.pem"},
        {lines, "coordinator.key", "no key\n", "coordinator.key"},
        {lines, "authority.pem", "nothing\n", "authority.pem"},
    };
    uint8_t before[FPLT_FINGERPRINT_SIZE], now[FPLT_FINGERPRINT_SIZE];
    struct files files = keep_files();
    assert_true(shown(all.port, before));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char port[16];
        unsigned other = free_port();
        snprintf(port, sizeof port, "%u", other);
        lead_with(port, cases[i].lines);
        if (cases[i].file)
            federating_write(all.side[0].folder, cases[i].file, "%s", cases[i].text);
        size_t logged = all.side[0].logged;
        reload("nothing was changed: ");
        assert_contains(all.side[0].log + logged, cases[i].said);
        assert_false(shown(other, now));
        assert_true(shown(all.port, now));
        assert_memory_equal(before, now, sizeof now);
        put_back(&files);
    }
    drop_files(&files);
}

/* A new certificate, valid in itself, with the key of before; a key with the certificate of before; and another authority. */
static void halves_are_not_taken(void **state)
{
    (void)state;
    uint8_t before[FPLT_FINGERPRINT_SIZE], now[FPLT_FINGERPRINT_SIZE];
    char address[64], place[400];
    struct files files = keep_files(), renewed;
    fplt_error error;
    assert_true(shown(all.port, before));
    snprintf(address, sizeof address, "127.0.0.1:%u", all.port);
    assert_ok(fplt_federation_renew(all.side[0].folder, address, &error), error);
    renewed = keep_files();
    assert_string_not_equal(files.certificate, renewed.certificate);
    if (strcmp(files.key, renewed.key) != 0) {
        federating_write(all.side[0].folder, "coordinator.key", "%s", files.key);
        reload("nothing was changed: ");
        put_back(&renewed);
        federating_write(all.side[0].folder, "coordinator.pem", "%s", files.certificate);
        reload("nothing was changed: ");
    }
    put_back(&files);
    snprintf(place, sizeof place, "%.299s/other", all.folder);
    assert_ok(fplt_federation_found(place, "heart", address, &error), error);
    static const char *const names[] = {"authority.pem", "authority.key", "coordinator.pem",
                                        "coordinator.key"};
    char *kept[4];
    for (size_t i = 0; i < 4; i++) {
        char *text = federating_read(place, names[i]);
        kept[i] = federating_read(all.side[0].folder, names[i]);
        federating_write(all.side[0].folder, names[i], "%s", text);
        free(text);
    }
    reload("is another authority");
    assert_true(shown(all.port, now));
    assert_memory_equal(before, now, sizeof now);
    for (size_t i = 0; i < 4; i++) {
        federating_write(all.side[0].folder, names[i], "%s", kept[i]);
        free(kept[i]);
    }
    /* both together, and the new address with them */
    put_back(&renewed);
    unsigned other = free_port();
    char port[16];
    snprintf(port, sizeof port, "%u", other);
    lead_with(port, lines);
    snprintf(port, sizeof port, "port %u", other);
    reload(port);
    assert_true(shown(other, now));
    assert_memory_not_equal(before, now, sizeof now);
    assert_false(shown(all.port, before));
    drop_files(&files);
    drop_files(&renewed);
}

/* An address that somebody else has cannot be taken: the old one stays, with the old certificate. */
static void an_address_that_is_taken(void **state)
{
    (void)state;
    uint8_t before[FPLT_FINGERPRINT_SIZE], now[FPLT_FINGERPRINT_SIZE];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char port[16], own[64];
    fplt_error error;
    int taken = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(taken, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(taken, 1), 0);
    assert_int_equal(getsockname(taken, (struct sockaddr *)&address, &size), 0);
    assert_true(shown(all.port, before));
    snprintf(own, sizeof own, "127.0.0.1:%u", all.port);
    assert_ok(fplt_federation_renew(all.side[0].folder, own, &error), error);
    snprintf(port, sizeof port, "%u", ntohs(address.sin_port));
    lead_with(port, lines);
    reload("nothing was changed: ");
    assert_true(shown(all.port, now));
    assert_memory_equal(before, now, sizeof now);
    close(taken);
    federating_lead(&all, lines);
    reload("were read again"); /* and the certificate alone, at the same address */
    assert_true(shown(all.port, now));
    assert_memory_not_equal(before, now, sizeof now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_bad_file_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(halves_are_not_taken, begin, end),
        cmocka_unit_test_setup_teardown(an_address_that_is_taken, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
