/* Keys, requests and X.509 certificates of a federation, as PEM text. ECDSA on P-256. The owner
 * is named by the subject alternative URI: `fedplt:FEDERATION:agent:NAME` (client authentication only)
 * or `fedplt:FEDERATION:coordinator` (server authentication only, with its addresses). */
#ifndef FPLT_FEDERATION_CERTIFICATE_H
#define FPLT_FEDERATION_CERTIFICATE_H

#include <gnutls/x509.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "fedplt/status.h"
#include "x509/x509.h"

enum { FPLT_NAME_SIZE = 41, FPLT_SERIAL_SIZE = 16 };

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
/* Why the certificate of a server that was dialled is rejected: its dates or its address, if the authority did sign it
 * for a coordinator; otherwise the other side is a stranger. `pem` is empty where there was none. */
void fplt__certificate_explain(const char *pem, const char *authority, char *why, size_t size);
/* SHA-256 of the certificate, the first of a PEM text. */
fplt_status fplt__certificate_digest(const char *pem, uint8_t out[FPLT_FINGERPRINT_SIZE],
                                     fplt_error *error);
/* Whether a certificate ends so soon (in 30 days) that a warning is due; writes the date for it. */
int fplt__certificate_is_ending(const fplt__identity *identity, char date[16]);

#endif
