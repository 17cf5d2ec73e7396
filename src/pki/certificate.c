#include "pki/certificate.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "fedplt/settings.h"
#include "base/text.h"
#include "x509/x509.h"

enum { DAY = 24 * 3600, AUTHORITY_DAYS = 3650, NOTICE_DAYS = 30 };

static fplt_status failed(int code, const char *what, fplt_error *error)
{
    return fplt_error_set(error, code == GNUTLS_E_MEMORY_ERROR ? FPLT_NO_MEMORY : FPLT_BAD_DATA,
                          "%s: %s", what, gnutls_strerror(code));
}

/* Names */

fplt_status fplt__name_check(const char *what, const char *name, fplt_error *error)
{
    size_t length = strlen(name);
    if (length >= 1 && length < FPLT_NAME_SIZE &&
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s '%.60s' is not a name: 1 to 40 of a-z, 0-9 and -", what, name);
}

int fplt__certificate_is_ending(const fplt__identity *identity, char date[16])
{
    fplt__date(identity->ends, date);
    return identity->ends - time(NULL) < (time_t)NOTICE_DAYS * DAY;
}

/* Text in and out */

/* Takes what GnuTLS allocated. */
static fplt_status take(int code, gnutls_datum_t *found, const char *what, char **text,
                        fplt_error *error)
{
    *text = NULL;
    if (code < 0)
        return failed(code, what, error);
    FPLT__ASSERT(found->data && found->size > 0);
    *text = fplt__strndup((const char *)found->data, found->size);
    gnutls_memset(found->data, 0, found->size);
    gnutls_free(found->data);
    return *text ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for %s", what);
}

static int import_request(const char *pem, gnutls_x509_crq_t *request)
{
    gnutls_datum_t text = fplt__x509_datum(pem);
    int code = gnutls_x509_crq_init(request);
    return code < 0 ? code : gnutls_x509_crq_import(*request, &text, GNUTLS_X509_FMT_PEM);
}

/* Keys and requests */

/* The number at the end of `size` octets, whatever zeros the other text has in front. */
static int put_number(uint8_t *out, size_t size, const gnutls_datum_t *number)
{
    size_t skip = 0;
    while (skip < number->size && number->data[skip] == 0)
        skip++;
    size_t length = number->size - skip;
    if (length > size)
        return GNUTLS_E_INVALID_REQUEST;
    memset(out, 0, size - length);
    memcpy(out + size - length, number->data + skip, length);
    return 0;
}

/* PKCS #8 of a key on P-256, as RFC 5915 has it: the private number has 32 octets. GnuTLS writes a 33rd, zero, where the
 * first bit of the number is set. */
static int export_key(gnutls_x509_privkey_t key, gnutls_datum_t *pem)
{
    enum { OCTETS = 32, PRIVATE_AT = 36, PUBLIC_AT = 74, SIZE = 138 };
    uint8_t der[SIZE] = {0x30, 0x81,  0x87,                                     /* SEQUENCE */
                         0x02, 0x01,  0x00,                                     /* version 0 */
                         0x30, 0x13,                                            /* algorithm: */
                         0x06, 0x07,  0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, /* ecPublicKey */
                         0x06, 0x08,  0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01,
                         0x07,                    /* prime256v1 */
                         0x04, 0x6d,  0x30, 0x6b, /* ECPrivateKey: */
                         0x02, 0x01,  0x01,       /* version 1 */
                         0x04, OCTETS};           /* the private number */
    static const uint8_t before_public[] = {0xa1, 0x44, 0x03, 0x42, 0x00, 0x04};
    gnutls_ecc_curve_t curve;
    gnutls_datum_t x, y, k;
    int code = gnutls_x509_privkey_export_ecc_raw(key, &curve, &x, &y, &k);
    if (code < 0)
        return code;
    FPLT__ASSERT(PRIVATE_AT + OCTETS + sizeof before_public == PUBLIC_AT &&
                 PUBLIC_AT + 2 * OCTETS == sizeof der);
    memcpy(der + PRIVATE_AT + OCTETS, before_public, sizeof before_public);
    if ((code = put_number(der + PRIVATE_AT, OCTETS, &k)) >= 0 &&
        (code = put_number(der + PUBLIC_AT, OCTETS, &x)) >= 0 &&
        (code = put_number(der + PUBLIC_AT + OCTETS, OCTETS, &y)) >= 0) {
        gnutls_datum_t whole = {der, sizeof der};
        code = gnutls_pem_base64_encode2("PRIVATE KEY", &whole, pem);
    }
    gnutls_memset(k.data, 0, k.size);
    gnutls_memset(der, 0, sizeof der);
    gnutls_free(x.data);
    gnutls_free(y.data);
    gnutls_free(k.data);
    return code;
}

fplt_status fplt__key_make(char **text, fplt_error *error)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t found;
    *text = NULL;
    int code = gnutls_x509_privkey_init(&key);
    if (code >= 0)
        code = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                            GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (code >= 0)
        code = export_key(key, &found);
    fplt_status status = take(code, &found, "making a key", text, error);
    if (key)
        gnutls_x509_privkey_deinit(key);
    return status;
}

fplt_status fplt__request_make(const char *key_text, const char *name, char **text,
                               fplt_error *error)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crq_t request = NULL;
    gnutls_datum_t found;
    int code = fplt__x509_import_key(key_text, &key);
    if (code >= 0)
        code = gnutls_x509_crq_init(&request);
    if (code >= 0)
        code = gnutls_x509_crq_set_version(request, 1);
    if (code >= 0)
        code = gnutls_x509_crq_set_dn_by_oid(request, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                             (unsigned)strlen(name));
    if (code >= 0)
        code = gnutls_x509_crq_set_key(request, key);
    if (code >= 0)
        code = gnutls_x509_crq_sign2(request, key, GNUTLS_DIG_SHA256, 0);
    if (code >= 0)
        code = gnutls_x509_crq_export2(request, GNUTLS_X509_FMT_PEM, &found);
    fplt_status status = take(code, &found, "making a request", text, error);
    if (request)
        gnutls_x509_crq_deinit(request);
    if (key)
        gnutls_x509_privkey_deinit(key);
    return status;
}

fplt_status fplt__request_read(const char *text, char name[FPLT_NAME_SIZE], fplt_error *error)
{
    gnutls_x509_crq_t request = NULL;
    size_t size = FPLT_NAME_SIZE;
    int code = import_request(text, &request);
    if (code >= 0)
        code = gnutls_x509_crq_verify(request, 0);
    memset(name, 0, FPLT_NAME_SIZE);
    if (code >= 0)
        code =
            gnutls_x509_crq_get_dn_by_oid(request, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size);
    if (request)
        gnutls_x509_crq_deinit(request);
    if (code < 0)
        return fplt_error_set(error, FPLT_BAD_DATA, "not a request of `fedplt agent request`: %s",
                              gnutls_strerror(code));
    return fplt__name_check("the request's name", name, error);
}

/* Certificates */

static int set_common(gnutls_x509_crt_t certificate, const char *common_name, unsigned days)
{
    uint8_t serial[FPLT_SERIAL_SIZE];
    time_t now = time(NULL);
    int code = gnutls_x509_crt_set_version(certificate, 3);
    if (code >= 0)
        code = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
    serial[0] = (serial[0] & 0x7f) | 0x40; /* positive, and of full length */
    if (code >= 0)
        code = gnutls_x509_crt_set_serial(certificate, serial, sizeof serial);
    if (code >= 0)
        code = gnutls_x509_crt_set_activation_time(certificate, now - DAY);
    if (code >= 0)
        code = gnutls_x509_crt_set_expiration_time(certificate, now + (time_t)days * DAY);
    if (code >= 0)
        code = gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                             common_name, (unsigned)strlen(common_name));
    return code;
}

/* Key identifiers: they distinguish two authorities of one name before a signature fails to verify. */
static int set_key_ids(gnutls_x509_crt_t certificate, gnutls_x509_crt_t authority)
{
    uint8_t id[32];
    size_t size = sizeof id;
    int code = gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, id, &size);
    if (code >= 0)
        code = gnutls_x509_crt_set_subject_key_id(certificate, id, size);
    size = sizeof id;
    if (code >= 0)
        code = gnutls_x509_crt_get_key_id(authority, GNUTLS_KEYID_USE_SHA256, id, &size);
    return code < 0 ? code : gnutls_x509_crt_set_authority_key_id(certificate, id, size);
}

fplt_status fplt__authority_make(const char *federation, const char *key_text, char **text,
                                 fplt_error *error)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t certificate = NULL;
    gnutls_datum_t found;
    char name[64];
    snprintf(name, sizeof name, "%.40s authority", federation);
    int code = fplt__x509_import_key(key_text, &key);
    if (code >= 0)
        code = gnutls_x509_crt_init(&certificate);
    if (code >= 0)
        code = set_common(certificate, name, AUTHORITY_DAYS);
    if (code >= 0)
        code = gnutls_x509_crt_set_basic_constraints(certificate, 1, 0);
    if (code >= 0)
        code = gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_KEY_CERT_SIGN);
    if (code >= 0)
        code = gnutls_x509_crt_set_key(certificate, key);
    if (code >= 0)
        code = set_key_ids(certificate, certificate);
    if (code >= 0)
        code = gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
    if (code >= 0)
        code = gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &found);
    fplt_status status = take(code, &found, "making the authority", text, error);
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    if (key)
        gnutls_x509_privkey_deinit(key);
    return status;
}

static int add_host(gnutls_x509_crt_t certificate, const char *host)
{
    uint8_t address[16];
    int size = inet_pton(AF_INET, host, address) == 1    ? 4
               : inet_pton(AF_INET6, host, address) == 1 ? 16
                                                         : 0;
    if (size)
        return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, address,
                                                    (unsigned)size, GNUTLS_FSAN_APPEND);
    return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, host,
                                                (unsigned)strlen(host), GNUTLS_FSAN_APPEND);
}

static int add_hosts(gnutls_x509_crt_t certificate, const char *addresses)
{
    char host[256];
    int code = 0;
    while (code >= 0 && *addresses) {
        addresses = fplt__list_next(addresses, host, sizeof host);
        code = add_host(certificate, host);
    }
    return code;
}

static int set_identity(gnutls_x509_crt_t certificate, const fplt__issue *issue)
{
    char uri[160];
    FPLT__ASSERT(!fplt__name_check("", issue->federation, NULL) && issue->days > 0);
    FPLT__ASSERT(!issue->name || !fplt__name_check("", issue->name, NULL));
    if (issue->name)
        snprintf(uri, sizeof uri, "fedplt:%.40s:agent:%.40s", issue->federation, issue->name);
    else
        snprintf(uri, sizeof uri, "fedplt:%.40s:coordinator", issue->federation);
    int code = set_common(certificate, issue->name ? issue->name : issue->federation, issue->days);
    if (code >= 0)
        code = gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_URI, uri,
                                                    (unsigned)strlen(uri), GNUTLS_FSAN_SET);
    if (code >= 0 && issue->addresses)
        code = add_hosts(certificate, issue->addresses);
    if (code >= 0)
        code = gnutls_x509_crt_set_basic_constraints(certificate, 0, -1);
    if (code >= 0)
        code = gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (code >= 0)
        code = gnutls_x509_crt_set_key_purpose_oid(
            certificate, issue->name ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER, 0);
    return code;
}

static int set_public_key(gnutls_x509_crt_t certificate, const fplt__issue *issue)
{
    int code;
    FPLT__ASSERT(!issue->request != !issue->key); /* one of the two */
    if (issue->request) {
        gnutls_x509_crq_t request = NULL;
        gnutls_pubkey_t public_key = NULL;
        code = import_request(issue->request, &request);
        if (code >= 0)
            code = gnutls_pubkey_init(&public_key);
        if (code >= 0)
            code = gnutls_pubkey_import_x509_crq(public_key, request, 0);
        if (code >= 0)
            code = gnutls_x509_crt_set_pubkey(certificate, public_key);
        if (public_key)
            gnutls_pubkey_deinit(public_key);
        if (request)
            gnutls_x509_crq_deinit(request);
        return code;
    }
    gnutls_x509_privkey_t key = NULL;
    code = fplt__x509_import_key(issue->key, &key);
    if (code >= 0)
        code = gnutls_x509_crt_set_key(certificate, key);
    if (key)
        gnutls_x509_privkey_deinit(key);
    return code;
}

fplt_status fplt__certificate_make(const char *authority_text, const char *authority_key,
                                   const fplt__issue *issue, char **text, fplt__identity *identity,
                                   fplt_error *error)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t authority = NULL, certificate = NULL;
    gnutls_datum_t found;
    int code = fplt__x509_import_key(authority_key, &key);
    if (code >= 0)
        code = fplt__x509_import(authority_text, &authority);
    if (code >= 0)
        code = gnutls_x509_crt_init(&certificate);
    if (code >= 0)
        code = set_identity(certificate, issue);
    if (code >= 0)
        code = set_public_key(certificate, issue);
    if (code >= 0)
        code = set_key_ids(certificate, authority);
    if (code >= 0)
        code = gnutls_x509_crt_sign2(certificate, authority, key, GNUTLS_DIG_SHA256, 0);
    if (code >= 0)
        code = gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &found);
    fplt_status status = take(code, &found, "making a certificate", text, error);
    if (!status && identity)
        fplt__certificate_identify(certificate, identity);
    FPLT__ASSERT(status || !identity || identity->begins < identity->ends);
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    if (authority)
        gnutls_x509_crt_deinit(authority);
    if (key)
        gnutls_x509_privkey_deinit(key);
    return status;
}

/* Reading */

static int purpose_is(gnutls_x509_crt_t certificate, const char *purpose)
{
    char found[64], more[64];
    size_t size = sizeof found, rest = sizeof more;
    return gnutls_x509_crt_get_key_purpose_oid(certificate, 0, found, &size, NULL) >= 0 &&
           strcmp(found, purpose) == 0 &&
           gnutls_x509_crt_get_key_purpose_oid(certificate, 1, more, &rest, NULL) ==
               GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
}

static int legal_name(const char *name)
{
    return fplt__name_check("", name, NULL) == FPLT_OK;
}

/* Splits `fedplt:FEDERATION:agent:NAME` and `fedplt:FEDERATION:coordinator`. */
static void split_uri(char *uri, gnutls_x509_crt_t certificate, fplt__identity *identity)
{
    char *federation = strncmp(uri, "fedplt:", 7) == 0 ? uri + 7 : NULL;
    char *role = federation ? strchr(federation, ':') : NULL;
    if (!role)
        return;
    *role++ = 0;
    if (!legal_name(federation))
        return;
    FPLT__ASSERT(strlen(federation) < sizeof identity->federation);
    memcpy(identity->federation, federation, strlen(federation) + 1);
    if (strcmp(role, "coordinator") == 0 && purpose_is(certificate, GNUTLS_KP_TLS_WWW_SERVER)) {
        identity->role = FPLT_ROLE_COORDINATOR;
    } else if (strncmp(role, "agent:", 6) == 0 && legal_name(role + 6) &&
               purpose_is(certificate, GNUTLS_KP_TLS_WWW_CLIENT)) {
        FPLT__ASSERT(strlen(role + 6) < sizeof identity->name);
        memcpy(identity->name, role + 6, strlen(role + 6) + 1);
        identity->role = FPLT_ROLE_AGENT;
    }
}

void fplt__certificate_identify(gnutls_x509_crt_t certificate, fplt__identity *identity)
{
    char uri[160];
    memset(identity, 0, sizeof *identity);
    size_t size = sizeof identity->serial;
    gnutls_x509_crt_get_serial(certificate, identity->serial, &size);
    identity->begins = gnutls_x509_crt_get_activation_time(certificate);
    identity->ends = gnutls_x509_crt_get_expiration_time(certificate);
    for (unsigned i = 0;; i++) {
        size = sizeof uri - 1;
        int type = gnutls_x509_crt_get_subject_alt_name(certificate, i, uri, &size, NULL);
        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            return;
        if (type != GNUTLS_SAN_URI)
            continue;
        uri[size] = 0;
        if (strlen(uri) == size)
            split_uri(uri, certificate, identity);
        return;
    }
}

fplt_status fplt__certificate_read(const char *pem, const char *path, fplt__identity *identity,
                                   fplt_error *error)
{
    gnutls_x509_crt_t certificate = NULL;
    memset(identity, 0, sizeof *identity);
    int code = fplt__x509_import(pem, &certificate);
    if (code >= 0)
        fplt__certificate_identify(certificate, identity);
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    if (code < 0)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: no certificate: %s", path,
                              gnutls_strerror(code));
    return FPLT_OK;
}

void fplt__certificate_explain(const char *pem, const char *authority, char *why, size_t size)
{
    char date[16];
    fplt__identity identity;
    time_t now = time(NULL);
    snprintf(why, size,
             "the other side is not the coordinator of this federation; something on the way (a "
             "proxy that opens TLS?) or the address is wrong");
    if (!*pem || fplt__issuer_check(pem, authority, "", "", NULL) ||
        fplt__certificate_read(pem, "", &identity, NULL) || identity.role != FPLT_ROLE_COORDINATOR)
        return;
    fplt__date(now > identity.ends ? identity.ends : identity.begins, date);
    if (now > identity.ends)
        snprintf(why, size,
                 "the coordinator's certificate expired on %s; `fedplt pki init %s --address "
                 "HOST:PORT --renew` there makes a new one, and SIGHUP has it read",
                 date, identity.federation);
    else if (now < identity.begins)
        snprintf(why, size,
                 "the coordinator's certificate is valid from %s only; is this machine's clock "
                 "wrong?",
                 date);
    else
        snprintf(why, size,
                 "the coordinator's certificate is not for this address; use the address that "
                 "`fedplt pki init` was given there, or renew it with `--address`");
}

fplt_status fplt__certificate_digest(const char *pem, uint8_t out[FPLT_FINGERPRINT_SIZE],
                                     fplt_error *error)
{
    gnutls_x509_crt_t certificate = NULL;
    size_t size = FPLT_FINGERPRINT_SIZE;
    int code = fplt__x509_import(pem, &certificate);
    if (code >= 0)
        code = gnutls_x509_crt_get_fingerprint(certificate, GNUTLS_DIG_SHA256, out, &size);
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    return code < 0 ? failed(code, "reading a certificate", error) : FPLT_OK;
}
