#include "x509/x509.h"

#include <stdint.h>
#include <string.h>

gnutls_datum_t fplt__x509_datum(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

int fplt__x509_import_key(const char *pem, gnutls_x509_privkey_t *key)
{
    gnutls_datum_t text = fplt__x509_datum(pem);
    int code = gnutls_x509_privkey_init(key);
    return code < 0 ? code : gnutls_x509_privkey_import2(*key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
}

int fplt__x509_import(const char *pem, gnutls_x509_crt_t *certificate)
{
    gnutls_datum_t text = fplt__x509_datum(pem);
    int code = gnutls_x509_crt_init(certificate);
    return code < 0 ? code : gnutls_x509_crt_import(*certificate, &text, GNUTLS_X509_FMT_PEM);
}

void fplt__date(time_t time, char text[16])
{
    struct tm parts;
    gmtime_r(&time, &parts);
    strftime(text, 16, "%Y-%m-%d", &parts);
}

const char *fplt__pem_second(const char *pem)
{
    const char *first = strstr(pem, "-----BEGIN CERTIFICATE");
    return first ? strstr(first + 1, "-----BEGIN CERTIFICATE") : NULL;
}

fplt_status fplt__key_check(const char *pem, const char *key, const char *path,
                            const char *key_path, fplt_error *error)
{
    gnutls_x509_crt_t certificate = NULL;
    gnutls_x509_privkey_t own = NULL;
    uint8_t signs[FPLT_FINGERPRINT_SIZE], has[FPLT_FINGERPRINT_SIZE];
    size_t signs_size = sizeof signs, has_size = sizeof has;
    int code = fplt__x509_import(pem, &certificate), read = fplt__x509_import_key(key, &own);
    if (code >= 0 && read >= 0) {
        code = gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, has, &has_size);
        read = gnutls_x509_privkey_get_key_id(own, GNUTLS_KEYID_USE_SHA256, signs, &signs_size);
    }
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    if (own)
        gnutls_x509_privkey_deinit(own);
    if (code < 0 || read < 0)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: %s: %s", code < 0 ? path : key_path,
                              code < 0 ? "no certificate" : "no key",
                              gnutls_strerror(code < 0 ? code : read));
    return has_size == signs_size && memcmp(has, signs, has_size) == 0
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_DATA,
                                "%s is not the key of %s; put back the one that it was made with",
                                key_path, path);
}

fplt_status fplt__issuer_check(const char *pem, const char *authority_text, const char *path,
                               const char *authority_path, fplt_error *error)
{
    gnutls_x509_crt_t certificate = NULL, authority = NULL;
    int code = fplt__x509_import(pem, &certificate);
    int is_of = 0, read = fplt__x509_import(authority_text, &authority);
    if (code >= 0 && read >= 0)
        is_of = fplt__certificate_is_of(certificate, authority);
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    if (authority)
        gnutls_x509_crt_deinit(authority);
    if (code < 0 || read < 0)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: no certificate: %s",
                              code < 0 ? path : authority_path,
                              gnutls_strerror(code < 0 ? code : read));
    return is_of ? FPLT_OK
                 : fplt_error_set(error, FPLT_BAD_DATA,
                                  "%s was not signed by %s; put back the one that belongs to it",
                                  path, authority_path);
}

int fplt__certificate_is_of(gnutls_x509_crt_t certificate, gnutls_x509_crt_t authority)
{
    unsigned outcome = 0;
    return gnutls_x509_crt_verify(certificate, &authority, 1,
                                  GNUTLS_VERIFY_DISABLE_TIME_CHECKS |
                                      GNUTLS_VERIFY_DISABLE_TRUSTED_TIME_CHECKS,
                                  &outcome) >= 0 &&
           outcome == 0;
}
