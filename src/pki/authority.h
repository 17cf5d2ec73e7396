/* The folder of a coordinator: its authority, its own certificate, the key of its receipts, and the
 * table of who was let in (pki.db).
 *
 *   authority.pem, authority.key    signs certificates
 *   coordinator.pem, coordinator.key
 *   receipt.key                     of the proofs that agents carry
 *   pki.db                          certificates issued, revocations, invitations */
#ifndef FPLT_FEDERATION_AUTHORITY_H
#define FPLT_FEDERATION_AUTHORITY_H

#include "pki/certificate.h"
#include "store/table.h"

typedef struct fplt__authority {
    char federation[FPLT_NAME_SIZE];
    char address[300];         /* HOST:PORT, as agents dial it */
    char *certificate, *key;   /* of the authority; owned */
    char *server, *server_key; /* of the coordinator; owned */
    uint8_t receipt[32];
    uint8_t fingerprint[FPLT_FINGERPRINT_SIZE];
    fplt__table *table;
} fplt__authority;

/* Makes the folder; refuses one that has an authority already. */
fplt_status fplt__authority_found(const char *folder, const char *federation, const char *address,
                                  fplt_error *error);
fplt_status fplt__authority_open(const char *folder, fplt__authority *authority, fplt_error *error);
void fplt__authority_close(fplt__authority *authority);
/* A new certificate of the coordinator, as from `fplt__authority_found`, for other addresses. */
fplt_status fplt__authority_renew(const char *folder, const char *address, fplt_error *error);

/* Signs for `name`; the text (released with fplt__free) is the certificate and the authority's. */
fplt_status fplt__authority_sign(fplt__authority *authority, const char *request, const char *name,
                                 char **certificate, fplt_error *error);

/* `fedplt-HOST:PORT-SECRET-FINGERPRINT`: good once, for seven days. */
fplt_status fplt__authority_invite(fplt__authority *authority, const char *name, char *code,
                                   size_t size, fplt_error *error);
/* Issues a certificate to the member that the secret invites, and spends the secret; the same key may ask again. */
fplt_status fplt__authority_redeem(fplt__authority *authority, const char *secret,
                                   const char *request, char **certificate, fplt_error *error);
/* Whether an invitation is still open. */
fplt_status fplt__authority_expects(fplt__authority *authority, int *expects, fplt_error *error);

/* Ends all that was issued to the name so far, and its invitations. */
fplt_status fplt__authority_revoke(fplt__authority *authority, const char *name, fplt_error *error);

/* A number that changes whenever any process has changed the table. */
fplt_status fplt__authority_version(fplt__authority *authority, uint64_t *version,
                                    fplt_error *error);
/* Whether a certificate may be used now: a sentence why not, empty if it may. `final` is 0 where only the dates are against
 * it: this machine's clock may be wrong, and the certificate is in force again once the clock is set. */
fplt_status fplt__authority_judge(fplt__authority *authority, const fplt__identity *identity,
                                  char *why, size_t size, int *final, fplt_error *error);

typedef struct fplt__member {
    char name[FPLT_NAME_SIZE];
    char state[16]; /* member, invited, revoked, expired */
    time_t ends;
} fplt__member;
/* Calls `tell` for each member, in alphabetical order. */
fplt_status fplt__authority_list(fplt__authority *authority,
                                 void (*tell)(void *context, const fplt__member *member),
                                 void *context, fplt_error *error);

/* An invitation as an agent reads it. */
typedef struct fplt__invitation {
    char host[256];
    unsigned port; /* of the federation; invitations are answered one above it */
    char secret[33];
    uint8_t fingerprint[FPLT_FINGERPRINT_SIZE];
} fplt__invitation;
fplt_status fplt__invitation_parse(const char *code, fplt__invitation *invitation,
                                   fplt_error *error);

#endif
