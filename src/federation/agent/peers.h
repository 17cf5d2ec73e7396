/* Who the other sites are: the identity of this agent, and those of its peers, which it was told by another way than the
 * coordinator (pinned in site.yaml) or has met first in a plan (trust on first use). */
#ifndef FPLT_FEDERATION_PEERS_H
#define FPLT_FEDERATION_PEERS_H

#include "base/buffer.h"
#include "fedplt/federation.h"
#include "fedplt/key.h"
#include "wire/document.h"

extern const fplt_setting fplt__peers_table[];        /* `peers` */
extern const fplt_setting fplt__peers_policy_table[]; /* policy.aggregate, .colluders, .peers */

/* identity.key of the folder; made where there is none. To be cleared with fplt_key_clear(). */
fplt_status fplt__peers_identity(const char *folder, fplt_key *key, fplt_error *error);

/* The settings by themselves: every pin is a key. */
fplt_status fplt__peers_check(const fplt_settings *settings, fplt_error *error);
/* Holds the pins of site.yaml against the identities that this agent has met, and its own; `text`: what was found, in
 * words. FPLT_FAILED, with the remedy, where they differ. */
fplt_status fplt__peers_compare(const fplt_settings *settings, const char *folder, const char *name,
                                const uint8_t own[32], fplt__buffer *text, fplt_error *error);
/* What the policy says about a proposal's aggregation; FPLT_FAILED with the line that rejects it. */
fplt_status fplt__peers_judge(const fplt_settings *settings, const fplt__proposal *proposal,
                              fplt_error *error);
/* Holds the identities of a plan against pins, or against those that were met before; new ones are written to
 * `known-peers` in the folder. `own`: this agent's public key. `verified`: out, whether all were pinned. */
fplt_status fplt__peers_meet(const fplt_settings *settings, const char *folder,
                             const fplt__agreement *agreement, uint32_t member_index,
                             const uint8_t own[32], int *verified, fplt_error *error);

#endif
