#include "pki/authority.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/assert.h"
#include "base/memory.h"
#include "base/network.h"
#include "fedplt/settings.h"

enum {
    AGENT_DAYS = 730,
    COORDINATOR_DAYS = 365,
    INVITATION_SECONDS = 7 * 24 * 3600,
    SECRET_SIZE = 16,
    HASH_SIZE = 32,
    MAX_PEM = 1 << 20
};

static const char *const schema[] = {
    "CREATE TABLE about(key TEXT PRIMARY KEY, value TEXT);"
    "CREATE TABLE issued(serial BLOB PRIMARY KEY, name TEXT NOT NULL, begins INT, ends INT,"
    " revoked INT NOT NULL DEFAULT 0);"
    "CREATE INDEX issued_name ON issued(name);"
    "CREATE TABLE invitation(hash BLOB PRIMARY KEY, name TEXT NOT NULL, expires INT, key BLOB);"};
static const struct fplt__database_form form = {"table of members", 0x46504c4d /* FPLM */, 1,
                                                schema};

/* Files of the folder */

static void path_of(char path[4200], const char *folder, const char *file)
{
    snprintf(path, 4200, "%.4000s/%s", folder, file);
}

static fplt_status save(const char *folder, const char *file, unsigned mode, const void *bytes,
                        size_t size, fplt_error *error)
{
    char path[4200];
    path_of(path, folder, file);
    return fplt__file_save(path, mode, bytes, size, error);
}

static fplt_status load(const char *folder, const char *file, char **text, size_t *size,
                        fplt_error *error)
{
    char path[4200];
    size_t length;
    path_of(path, folder, file);
    if (access(path, F_OK) != 0)
        return fplt_error_set(error, FPLT_IO,
                              "%s is not there; `fedplt pki init NAME --address HOST:PORT` makes "
                              "the folder of a coordinator",
                              path);
    return fplt__file_read(path, MAX_PEM, text, size ? size : &length, error);
}

static fplt_status open_table(const char *folder, fplt__table **table, fplt_error *error)
{
    char path[4200];
    path_of(path, folder, "pki.db");
    return fplt__table_open(path, &form, 1, table, error);
}

/* Making it */

static fplt_status issue_server(const char *authority, const char *authority_key,
                                const char *federation, const char *address, const char *key,
                                char **certificate, fplt_error *error)
{
    char host[256], hosts[300];
    unsigned port = 0;
    fplt_status status = fplt__address_split(address, host, sizeof host, &port, error);
    if (status)
        return status;
    int local = strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0;
    snprintf(hosts, sizeof hosts, "%s", local ? "localhost,127.0.0.1" : host);
    fplt__issue issue = {
        .federation = federation, .addresses = hosts, .key = key, .days = COORDINATOR_DAYS};
    return fplt__certificate_make(authority, authority_key, &issue, certificate, NULL, error);
}

static fplt_status save_all(const char *folder, char *const text[4], fplt_error *error)
{
    static const char *const files[] = {"authority.pem", "authority.key", "coordinator.pem",
                                        "coordinator.key"};
    uint8_t receipt[32];
    fplt_status status;
    for (size_t i = 0; i < 4; i++)
        if ((status = save(folder, files[i], i % 2 ? 0600 : 0644, text[i], strlen(text[i]), error)))
            return status;
    randombytes_buf(receipt, sizeof receipt);
    status = save(folder, "receipt.key", 0600, receipt, sizeof receipt, error);
    sodium_memzero(receipt, sizeof receipt);
    return status;
}

static fplt_status remember(const char *folder, const char *address, fplt_error *error)
{
    fplt__table *table;
    fplt_status status = open_table(folder, &table, error);
    if (status)
        return status;
    status = fplt__table_run(table, NULL, error,
                             "INSERT OR REPLACE INTO about VALUES('address', ?)", "t", address);
    fplt__table_close(table);
    return status;
}

static void forget(char *text)
{
    if (text)
        sodium_munlock(text, strlen(text)); /* wipes */
    fplt__free(text);
}

static fplt_status make_folder(const char *folder, fplt_error *error)
{
    char path[4200];
    path_of(path, folder, "authority.pem");
    if (access(path, F_OK) == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: there is an authority already; choose another folder", path);
    if (mkdir(folder, 0700) == 0 || errno == EEXIST)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_IO, "%s: %s", folder, strerror(errno));
}

fplt_status fplt__authority_found(const char *folder, const char *federation, const char *address,
                                  fplt_error *error)
{
    char *text[4] = {NULL};
    fplt_status status;
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "the system has no randomness");
    if ((status = fplt__name_check("the federation's name", federation, error)) ||
        (status = make_folder(folder, error)))
        return status;
    if (!(status = fplt__key_make(&text[1], error)) &&
        !(status = fplt__authority_make(federation, text[1], &text[0], error)) &&
        !(status = fplt__key_make(&text[3], error)) &&
        !(status = issue_server(text[0], text[1], federation, address, text[3], &text[2], error)) &&
        !(status = remember(folder, address, error)))
        status = save_all(folder, text, error);
    for (size_t i = 0; i < 4; i++)
        forget(text[i]);
    return status;
}

fplt_status fplt__authority_renew(const char *folder, const char *address, fplt_error *error)
{
    fplt__authority authority;
    char *certificate = NULL;
    fplt_status status = fplt__authority_open(folder, &authority, error);
    if (status)
        return status;
    if (!(status = issue_server(authority.certificate, authority.key, authority.federation, address,
                                authority.server_key, &certificate, error)) &&
        !(status = remember(folder, address, error)))
        status = save(folder, "coordinator.pem", 0644, certificate, strlen(certificate), error);
    fplt__free(certificate);
    fplt__authority_close(&authority);
    return status;
}

/* Opening it */

static fplt_status read_about(fplt__authority *authority, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status = fplt__table_ask(authority->table, &found, error,
                                         "SELECT value FROM about WHERE key = 'address'", "");
    if (!status && !(status = fplt__table_step(authority->table, found, &row, error)) && row) {
        fplt__column_text(found, 0, authority->address, sizeof authority->address);
        fplt__table_done(found);
    }
    return status;
}

/* Where the limit allows it: keys never reach a swap device. */
static fplt_status lock_keys(const fplt__authority *authority)
{
    sodium_mlock(authority->key, strlen(authority->key));
    sodium_mlock(authority->server_key, strlen(authority->server_key));
    return FPLT_OK;
}

static fplt_status read_receipt(const char *folder, fplt__authority *authority, fplt_error *error)
{
    char *bytes;
    size_t size;
    fplt_status status = load(folder, "receipt.key", &bytes, &size, error);
    if (status)
        return status;
    if (size == sizeof authority->receipt)
        memcpy(authority->receipt, bytes, size);
    else
        status = fplt_error_set(error, FPLT_BAD_DATA, "%s/receipt.key: %zu bytes instead of 32",
                                folder, size);
    sodium_memzero(bytes, size);
    fplt__free(bytes);
    return status;
}

static fplt_status take_fingerprint(const char *folder, fplt__authority *authority,
                                    fplt_error *error)
{
    return fplt__certificate_digest(authority->certificate, authority->fingerprint, error)
               ? fplt_error_prefix(error, "%s/authority.pem", folder)
               : FPLT_OK;
}

fplt_status fplt__authority_open(const char *folder, fplt__authority *authority, fplt_error *error)
{
    fplt__identity identity;
    fplt_status status;
    memset(authority, 0, sizeof *authority);
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "the system has no randomness");
    if ((status = load(folder, "authority.pem", &authority->certificate, NULL, error)) ||
        (status = load(folder, "authority.key", &authority->key, NULL, error)) ||
        (status = load(folder, "coordinator.pem", &authority->server, NULL, error)) ||
        (status = load(folder, "coordinator.key", &authority->server_key, NULL, error)) ||
        (status = lock_keys(authority)) || (status = read_receipt(folder, authority, error)) ||
        (status = fplt__certificate_read(authority->server, "coordinator.pem", &identity, error)) ||
        (status = take_fingerprint(folder, authority, error)) ||
        (status = open_table(folder, &authority->table, error)) ||
        (status = read_about(authority, error))) {
        fplt__authority_close(authority);
        return status;
    }
    memcpy(authority->federation, identity.federation, sizeof authority->federation);
    return FPLT_OK;
}

void fplt__authority_close(fplt__authority *authority)
{
    forget(authority->key);
    forget(authority->server_key);
    fplt__free(authority->certificate);
    fplt__free(authority->server);
    fplt__table_close(authority->table);
    sodium_memzero(authority, sizeof *authority);
}

/* Letting in */

fplt_status fplt__authority_sign(fplt__authority *authority, const char *request, const char *name,
                                 char **certificate, fplt_error *error)
{
    fplt__identity identity;
    fplt__issue issue = {
        .federation = authority->federation, .name = name, .request = request, .days = AGENT_DAYS};
    char *own = NULL;
    *certificate = NULL;
    FPLT__ASSERT(authority->table && authority->key && authority->certificate);
    fplt_status status = fplt__certificate_make(authority->certificate, authority->key, &issue,
                                                &own, &identity, error);
    if (!status)
        status =
            fplt__table_run(authority->table, NULL, error,
                            "INSERT INTO issued(serial, name, begins, ends) VALUES(?, ?, ?, ?)",
                            "btii", identity.serial, sizeof identity.serial, name,
                            (int64_t)identity.begins, (int64_t)identity.ends);
    if (!status) {
        size_t size = strlen(own) + strlen(authority->certificate) + 1;
        status = fplt__alloc_into(certificate, size, 1, "a certificate", error);
        if (!status)
            snprintf(*certificate, size, "%s%s", own, authority->certificate);
    }
    fplt__free(own);
    return status;
}

static void hash_of(const void *bytes, size_t size, uint8_t hash[HASH_SIZE])
{
    crypto_generichash(hash, HASH_SIZE, bytes, size, NULL, 0);
}

static void hex_of(const uint8_t *bytes, size_t size, char *text)
{
    sodium_bin2hex(text, 2 * size + 1, bytes, size);
}

fplt_status fplt__authority_invite(fplt__authority *authority, const char *name, char *code,
                                   size_t size, fplt_error *error)
{
    uint8_t secret[SECRET_SIZE], hash[HASH_SIZE];
    char secret_text[2 * SECRET_SIZE + 1], fingerprint[2 * FPLT_FINGERPRINT_SIZE + 1];
    fplt_status status = fplt__name_check("the agent's name", name, error);
    if (status)
        return status;
    randombytes_buf(secret, sizeof secret);
    hex_of(secret, sizeof secret, secret_text);
    hex_of(authority->fingerprint, sizeof authority->fingerprint, fingerprint);
    hash_of(secret_text, strlen(secret_text), hash);
    status = fplt__table_run(authority->table, NULL, error,
                             "INSERT INTO invitation(hash, name, expires) VALUES(?, ?, ?)", "bti",
                             hash, sizeof hash, name, (int64_t)time(NULL) + INVITATION_SECONDS);
    if (!status)
        snprintf(code, size, "fedplt-%s-%s-%s", authority->address, secret_text, fingerprint);
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(secret_text, sizeof secret_text);
    return status;
}

/* What is known of an invitation. */
struct invitation {
    int found, spent;
    char name[FPLT_NAME_SIZE];
    time_t expires;
    uint8_t key[HASH_SIZE]; /* digest of the request that used it */
};

static fplt_status find_invitation(fplt__authority *authority, const uint8_t hash[HASH_SIZE],
                                   struct invitation *invitation, fplt_error *error)
{
    sqlite3_stmt *found;
    memset(invitation, 0, sizeof *invitation);
    fplt_status status = fplt__table_ask(authority->table, &found, error,
                                         "SELECT name, expires, key FROM invitation WHERE hash = ?",
                                         "b", hash, (size_t)HASH_SIZE);
    if (status || (status = fplt__table_step(authority->table, found, &invitation->found, error)) ||
        !invitation->found)
        return status;
    fplt__column_text(found, 0, invitation->name, sizeof invitation->name);
    invitation->expires = (time_t)sqlite3_column_int64(found, 1);
    invitation->spent = sqlite3_column_type(found, 2) != SQLITE_NULL;
    fplt__column_bytes(found, 2, invitation->key, sizeof invitation->key);
    fplt__table_done(found);
    return FPLT_OK;
}

fplt_status fplt__authority_redeem(fplt__authority *authority, const char *secret,
                                   const char *request, char **certificate, fplt_error *error)
{
    uint8_t hash[HASH_SIZE], key[HASH_SIZE];
    char asked[FPLT_NAME_SIZE];
    struct invitation invitation;
    *certificate = NULL;
    FPLT__ASSERT(authority->table);
    hash_of(secret, strlen(secret), hash);
    hash_of(request, strlen(request), key);
    fplt_status status = fplt__request_read(request, asked, error);
    if (status || (status = find_invitation(authority, hash, &invitation, error)))
        return status;
    if (!invitation.found)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "this invitation is not known here (or was revoked); ask the "
                              "coordinator for a new one");
    if (invitation.spent && sodium_memcmp(invitation.key, key, sizeof key) != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "this invitation for %s was used already; ask the coordinator for a "
                              "new one, and who used this one",
                              invitation.name);
    if (invitation.expires < time(NULL))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "this invitation for %s has expired; ask the coordinator for a new one",
            invitation.name);
    if ((status = fplt__table_run(authority->table, NULL, error,
                                  "UPDATE invitation SET key = ? WHERE hash = ?", "bb", key,
                                  sizeof key, hash, sizeof hash)))
        return status;
    return fplt__authority_sign(authority, request, invitation.name, certificate, error);
}

fplt_status fplt__authority_expects(fplt__authority *authority, int *expects, fplt_error *error)
{
    sqlite3_stmt *found;
    *expects = 0;
    fplt_status status = fplt__table_ask(authority->table, &found, error,
                                         "SELECT 1 FROM invitation WHERE expires >= ? LIMIT 1", "i",
                                         (int64_t)time(NULL));
    if (!status)
        status = fplt__table_step(authority->table, found, expects, error);
    if (!status && *expects)
        fplt__table_done(found);
    return status;
}

/* Shutting out */

fplt_status fplt__authority_revoke(fplt__authority *authority, const char *name, fplt_error *error)
{
    fplt_status status;
    int certificates = 0, invitations = 0;
    if ((status = fplt__name_check("the agent's name", name, error)) ||
        (status = fplt__table_begin(authority->table, error)))
        return status;
    if (!(status = fplt__table_run(authority->table, &certificates, error,
                                   "UPDATE issued SET revoked = 1 WHERE name = ?", "t", name)))
        status = fplt__table_run(authority->table, &invitations, error,
                                 "DELETE FROM invitation WHERE name = ?", "t", name);
    if ((status = fplt__table_end(authority->table, status, error)))
        return status;
    return certificates + invitations
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "nobody of the name '%s' has a certificate or an invitation; "
                                "`fedplt pki list` shows who has",
                                name);
}

fplt_status fplt__authority_version(fplt__authority *authority, uint64_t *version,
                                    fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    *version = 0;
    fplt_status status =
        fplt__table_ask(authority->table, &found, error, "PRAGMA data_version", "");
    if (status || (status = fplt__table_step(authority->table, found, &row, error)) || !row)
        return status;
    /* the pragma counts what others do, not what this process does */
    *version = (uint64_t)sqlite3_column_int64(found, 0) << 32 |
               (uint32_t)sqlite3_total_changes(sqlite3_db_handle(found));
    fplt__table_done(found);
    return FPLT_OK;
}

/* Whether the dates of a certificate are against it, by this machine's clock. */
static int judge_dates(const fplt__identity *identity, char *why, size_t size)
{
    time_t now = time(NULL);
    char date[16], today[16];
    int has_ended = now > identity->ends;
    if (!has_ended && now >= identity->begins)
        return 0;
    fplt__date(has_ended ? identity->ends : identity->begins, date);
    fplt__date(now, today);
    snprintf(why, size,
             has_ended
                 ? "the certificate of %s expired on %s, and the coordinator's clock says %s; "
                   "ask for a new invitation, or set that clock"
                 : "the certificate of %s is valid from %s, but the coordinator's clock says "
                   "%s; set that clock",
             identity->name, date, today);
    return 1;
}

fplt_status fplt__authority_judge(fplt__authority *authority, const fplt__identity *identity,
                                  char *why, size_t size, int *final, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0, revoked = 0;
    *why = 0;
    *final = 1;
    fplt_status status = fplt__table_ask(authority->table, &found, error,
                                         "SELECT revoked FROM issued WHERE serial = ?", "b",
                                         identity->serial, sizeof identity->serial);
    if (status || (status = fplt__table_step(authority->table, found, &row, error)))
        return status;
    if (row) {
        revoked = sqlite3_column_int(found, 0);
        fplt__table_done(found);
    }
    if (identity->role != FPLT_ROLE_AGENT ||
        strcmp(identity->federation, authority->federation) != 0)
        snprintf(why, size, "this certificate is not one of an agent of the federation %s",
                 authority->federation);
    else if (!row)
        snprintf(why, size,
                 "the certificate of %s is not in the coordinator's table; ask for a "
                 "new invitation",
                 identity->name);
    else if (revoked)
        snprintf(why, size, "the certificate of %s was revoked; ask the coordinator why",
                 identity->name);
    else
        *final = !judge_dates(identity, why, size);
    return FPLT_OK;
}

fplt_status fplt__authority_list(fplt__authority *authority,
                                 void (*tell)(void *context, const fplt__member *member),
                                 void *context, fplt_error *error)
{
    static const char sql[] =
        "SELECT name, CASE WHEN max(rank) = 3 THEN 'member' WHEN max(rank) = 2 THEN 'invited'"
        " WHEN max(rank) = 1 THEN 'expired' ELSE 'revoked' END, max(ends) FROM ("
        " SELECT name, ends, CASE WHEN revoked THEN 0 WHEN ends < ?1 THEN 1 ELSE 3 END AS rank"
        " FROM issued UNION ALL SELECT name, expires, CASE WHEN expires < ?1 THEN 1 ELSE 2 END"
        " FROM invitation WHERE key IS NULL) GROUP BY name ORDER BY name";
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status =
        fplt__table_ask(authority->table, &found, error, sql, "i", (int64_t)time(NULL));
    while (!status && !(status = fplt__table_step(authority->table, found, &row, error)) && row) {
        fplt__member member;
        fplt__column_text(found, 0, member.name, sizeof member.name);
        fplt__column_text(found, 1, member.state, sizeof member.state);
        member.ends = (time_t)sqlite3_column_int64(found, 2);
        tell(context, &member);
    }
    return status;
}

/* Reading an invitation: from the right, for a host may contain hyphens. */

fplt_status fplt__invitation_parse(const char *code, fplt__invitation *invitation,
                                   fplt_error *error)
{
    const size_t fingerprint = 2 * FPLT_FINGERPRINT_SIZE, secret = 2 * SECRET_SIZE;
    size_t length = strlen(code);
    char address[300];
    memset(invitation, 0, sizeof *invitation);
    if (strncmp(code, "fedplt-", 7) != 0 || length < 7 + 3 + 1 + secret + 1 + fingerprint ||
        length > 7 + sizeof address + secret + fingerprint)
        goto bad;
    const char *second = code + length - fingerprint, *first = second - 1 - secret;
    size_t size = (size_t)(first - 1 - (code + 7));
    if (second[-1] != '-' || first[-1] != '-' || size >= sizeof address ||
        strspn(first, "0123456789abcdef") != secret ||
        sodium_hex2bin(invitation->fingerprint, sizeof invitation->fingerprint, second, fingerprint,
                       NULL, &length, NULL) != 0 ||
        length != FPLT_FINGERPRINT_SIZE)
        goto bad;
    memcpy(invitation->secret, first, secret);
    memcpy(address, code + 7, size);
    address[size] = 0;
    if (fplt__address_split(address, invitation->host, sizeof invitation->host, &invitation->port,
                            NULL) ||
        invitation->port == 0 || invitation->port == 65535)
        goto bad;
    return FPLT_OK;
bad:
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "'%.40s...' is not an invitation: fedplt-HOST:PORT-SECRET-FINGERPRINT, "
                          "as `fedplt pki invite` prints it",
                          code);
}
