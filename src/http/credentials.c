#include "http/credentials.h"

#include "base/assert.h"
#include "base/memory.h"
#include "x509/x509.h"

static int import_pair(fplt__credentials *credentials, const char *certificate, const char *key)
{
    gnutls_datum_t text = fplt__x509_datum(certificate), key_text = fplt__x509_datum(key);
    int code =
        gnutls_pcert_import_x509_raw(&credentials->certificate, &text, GNUTLS_X509_FMT_PEM, 0);
    credentials->has_certificate = code >= 0;
    if (code >= 0)
        code = gnutls_privkey_init(&credentials->key);
    if (code >= 0)
        code = gnutls_privkey_import_x509_raw(credentials->key, &key_text, GNUTLS_X509_FMT_PEM,
                                              NULL, 0);
    return code;
}

fplt_status fplt__credentials_make(const char *certificate, const char *key,
                                   fplt__credentials **out, fplt_error *error)
{
    fplt__credentials *credentials;
    *out = NULL;
    fplt_status status =
        fplt__key_check(certificate, key, "the server's certificate", "the server's key", error);
    if (status ||
        (status = fplt__alloc_into(&credentials, 1, sizeof *credentials, "a certificate", error)))
        return status;
    credentials->holders = 1;
    int code = import_pair(credentials, certificate, key);
    if (code < 0) {
        fplt__credentials_release(credentials);
        return fplt_error_set(error, FPLT_BAD_DATA, "the server's certificate: %s",
                              gnutls_strerror(code));
    }
    *out = credentials;
    return FPLT_OK;
}

fplt__credentials *fplt__credentials_hold(fplt__credentials *credentials)
{
    FPLT__ASSERT(credentials->holders > 0 && credentials->has_certificate && credentials->key);
    credentials->holders++;
    return credentials;
}

void fplt__credentials_release(fplt__credentials *credentials)
{
    FPLT__ASSERT(!credentials || credentials->holders > 0);
    if (!credentials || --credentials->holders)
        return;
    if (credentials->has_certificate)
        gnutls_pcert_deinit(&credentials->certificate);
    if (credentials->key)
        gnutls_privkey_deinit(credentials->key);
    fplt__free(credentials);
}
