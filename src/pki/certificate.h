/* Keys, requests and X.509 certificates of a federation, as PEM text. ECDSA on P-256. Who somebody is
 * stands in the subject alternative URI: `fedplt:FEDERATION:agent:NAME` (client authentication only)
 * or `fedplt:FEDERATION:coordinator` (server authentication only, with its addresses). */
#ifndef FPLT_FEDERATION_CERTIFICATE_H
#define FPLT_FEDERATION_CERTIFICATE_H

#include <gnutls/x509.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "fedplt/status.h"

enum { FPLT_NAME_SIZE = 41, FPLT_FINGERPRINT_SIZE = 32, FPLT_SERIAL_SIZE = 16 };

typedef enum fplt__role { FPLT_ROLE_NONE, FPLT_ROLE_AGENT, FPLT_ROLE_COORDINATOR } fplt__role;

/* What a certificate says. */
typedef struct fplt__identity {
    fplt__role role;
    char federation[FPLT_NAME_SIZE], name[FPLT_NAME_SIZE]; /* name: of an agent */
    uint8_t serial[FPLT_SERIAL_SIZE];
    time_t begins, ends;
} fplt__identity;

/* Names of federations and agents: [a-z0-9-]{1,40}. `what` begins the sentence. */
fplt_status fplt__name_check(const char *what, const char *name, fplt_error *error);

/* HOST:PORT, [IPV6]:PORT or a bare host (then `port` stays as it is). */
fplt_status fplt__address_split(const char *address, char *host, size_t size, unsigned *port,
                                fplt_error *error);

/* The texts are released with fplt__free. */
fplt_status fplt__key_make(char **key, fplt_error *error);
fplt_status fplt__authority_make(const char *federation, const char *key, char **certificate,
                                 fplt_error *error);
fplt_status fplt__request_make(const char *key, const char *name, char **request,
                               fplt_error *error);
/* The name that a request asks for; refuses what is no request, or is not signed by its own key. */
fplt_status fplt__request_read(const char *request, char name[FPLT_NAME_SIZE], fplt_error *error);

typedef struct fplt__issue {
    const char *federation, *name; /* name NULL: the coordinator */
    const char *addresses;         /* of the coordinator: hosts separated by commas */
    const char *request;           /* whose key is certified; or NULL */
    const char *key;               /* the key itself, where there is no request */
    unsigned days;
} fplt__issue;

/* Back-dated by a day, for clocks that are late. */
fplt_status fplt__certificate_make(const char *authority, const char *authority_key,
                                   const fplt__issue *issue, char **certificate,
                                   fplt__identity *identity, fplt_error *error);

/* The first certificate of a PEM text. `path` begins the sentence. */
fplt_status fplt__certificate_read(const char *pem, const char *path, fplt__identity *identity,
                                   fplt_error *error);
/* The same of a certificate at hand; role NONE where it is none of ours. */
void fplt__certificate_identify(gnutls_x509_crt_t certificate, fplt__identity *identity);
/* Whether the key is that of the first certificate of a PEM text. */
fplt_status fplt__key_check(const char *pem, const char *key, const char *path,
                            const char *key_path, fplt_error *error);
/* Whether the first certificate of a PEM text was signed by the authority, dates worker. */
fplt_status fplt__issuer_check(const char *pem, const char *authority, const char *path,
                               const char *authority_path, fplt_error *error);
/* SHA-256 of the certificate, the first of a PEM text. */
fplt_status fplt__certificate_digest(const char *pem, uint8_t out[FPLT_FINGERPRINT_SIZE],
                                     fplt_error *error);
/* Whether the certificate was signed by the authority, dates worker. */
int fplt__certificate_is_of(gnutls_x509_crt_t certificate, gnutls_x509_crt_t authority);
/* Where the second certificate of a PEM text begins: the authority behind an agent's own; NULL. */
const char *fplt__pem_second(const char *pem);
/* "2026-11-16", for sentences. */
void fplt__date(time_t time, char text[16]);
/* Whether a certificate ends so soon (in 30 days) that somebody should be told; the date, for that sentence. */
int fplt__certificate_is_ending(const fplt__identity *identity, char date[16]);

#endif
