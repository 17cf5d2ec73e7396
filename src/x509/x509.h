/* Certificates and private keys as PEM text: reading them, and whether they belong together. Knows X.509 and nothing of
 * what a certificate is for. */
#ifndef FPLT_X509_H
#define FPLT_X509_H

#include <gnutls/x509.h>
#include <time.h>

#include "fedplt/status.h"

enum { FPLT_FINGERPRINT_SIZE = 32 };

/* A text as GnuTLS takes it; borrowed. */
gnutls_datum_t fplt__x509_datum(const char *text);
/* The first certificate of a PEM text, and a private key. A code of GnuTLS, negative on failure; the handle is set
 * either way, and is released where it is not NULL. */
int fplt__x509_import(const char *pem, gnutls_x509_crt_t *certificate);
int fplt__x509_import_key(const char *pem, gnutls_x509_privkey_t *key);

/* Whether the key is that of the first certificate of a PEM text. */
fplt_status fplt__key_check(const char *pem, const char *key, const char *path,
                            const char *key_path, fplt_error *error);
/* Whether the first certificate of a PEM text was signed by the authority, dates aside. */
fplt_status fplt__issuer_check(const char *pem, const char *authority, const char *path,
                               const char *authority_path, fplt_error *error);
/* Whether the certificate was signed by the authority, dates aside. */
int fplt__certificate_is_of(gnutls_x509_crt_t certificate, gnutls_x509_crt_t authority);
/* Where the second certificate of a PEM text begins: the authority behind an agent's own; NULL. */
const char *fplt__pem_second(const char *pem);
/* "2026-11-16", for sentences. */
void fplt__date(time_t time, char text[16]);

#endif
