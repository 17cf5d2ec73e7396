/* The certificate and private key that a server shows. Counted: a handshake that has begun keeps the pair that it
 * began with, while the server may have another for new connections. */
#ifndef FPLT_FEDERATION_CREDENTIALS_H
#define FPLT_FEDERATION_CREDENTIALS_H

#include <gnutls/abstract.h>

#include "fedplt/status.h"

typedef struct fplt__credentials {
    unsigned holders;
    gnutls_pcert_st certificate;
    int has_certificate;
    gnutls_privkey_t key;
} fplt__credentials;

/**
 * Reads a certificate and its private key.
 *
 * @param certificate  PEM; the first certificate of it is taken
 * @param key          PEM
 * @param out          credentials with one holder; NULL on failure
 * @retval FPLT_OK         the key parses and is that of the certificate
 * @retval FPLT_BAD_DATA   one of them does not parse, or they do not belong together
 * @retval FPLT_NO_MEMORY
 */
fplt_status fplt__credentials_make(const char *certificate, const char *key,
                                   fplt__credentials **out, fplt_error *error);
fplt__credentials *fplt__credentials_hold(fplt__credentials *credentials);
/* NULL is legal. The last holder frees them. */
void fplt__credentials_release(fplt__credentials *credentials);

#endif
