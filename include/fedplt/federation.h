/* A federation over a network: one coordinator, agents that dial out to it, mutual TLS 1.3. Data never
 * leave an agent; the coordinator learns sums, and with privacy noisy ones only.
 *
 *     at the coordinator                              at each site
 *     fplt_federation_found("heart", ...)
 *     fplt_federation_invite("heart", "basel", ...)   fplt_federation_join(code, "heart", ...)
 *
 * Part of libfedplt-net. */
#ifndef FEDPLT_FEDERATION_H
#define FEDPLT_FEDERATION_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- who is who ---- */

/* Makes the folder of a coordinator: authority, certificate for `address` (HOST:PORT, as agents dial
 * it), key of the receipts, and a federation.yaml to be filled in. */
FPLT_API fplt_status fplt_federation_found(const char *folder, const char *federation,
                                           const char *address, fplt_error *error);
/* A new certificate for the coordinator, for the same or another address. */
FPLT_API fplt_status fplt_federation_renew(const char *folder, const char *address,
                                           fplt_error *error);

/* A code that lets the agent `name` in: good once, for seven days. Released with fplt_free. */
FPLT_API fplt_status fplt_federation_invite(const char *folder, const char *name, char **code,
                                            fplt_error *error);
/* At the site: makes a key that never leaves the folder, and has it certified. `name`, with room for
 * 41 characters, becomes the agent's. */
FPLT_API fplt_status fplt_federation_join(const char *code, const char *folder, const char *proxy,
                                          char *name, fplt_error *error);

/* The same in two steps, where requests and certificates travel as files. The request is released
 * with fplt_free; what is signed is to be put beside the key as agent.pem. */
FPLT_API fplt_status fplt_federation_request(const char *folder, const char *name, char **request,
                                             fplt_error *error);
FPLT_API fplt_status fplt_federation_sign(const char *folder, const char *request,
                                          char **certificate, fplt_error *error);

/* Ends all certificates and invitations of a name, also in open connections. */
FPLT_API fplt_status fplt_federation_revoke(const char *folder, const char *name,
                                            fplt_error *error);

typedef struct fplt_federation_member {
    const char *name;
    const char *state; /* member, invited, expired, revoked */
    const char *until; /* 2028-11-15 */
} fplt_federation_member;
typedef void (*fplt_federation_visitor)(void *context, const fplt_federation_member *member);
FPLT_API fplt_status fplt_federation_members(const char *folder, fplt_federation_visitor visitor,
                                             void *context, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
