/* Ed25519 keys that sign certificates: who holds the secret key says that he stands behind what a
 * certificate states. A signature shows that the document is the one he signed; it does not show
 * that the run was as the document says.
 *
 * Threads and blocking: thread-safe for different files; fplt_key_create and fplt_key_read block on them. */
#ifndef FEDPLT_KEY_H
#define FEDPLT_KEY_H

#include <stddef.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FPLT_KEY_PUBLIC = 32, FPLT_KEY_SECRET = 64, FPLT_KEY_SIGNATURE = 64 };

typedef struct fplt_key {
    unsigned char visible[FPLT_KEY_PUBLIC];
    unsigned char secret[FPLT_KEY_SECRET]; /* zero where only the public key is known */
    int can_sign;
} fplt_key;

/* Makes a pair and writes NAME.key (mode 0600) and NAME.pub. Files that are there are not replaced: FPLT_IO. Wipe the key
 * with fplt_key_clear. */
FPLT_API fplt_status fplt_key_create(const char *name, fplt_key *key, fplt_error *error);

/* Reads either file of a pair. FPLT_IO; FPLT_BAD_DATA for another content and for a secret key that others can read. Wipe with
 * fplt_key_clear, which releases nothing: the struct holds no memory. */
FPLT_API fplt_status fplt_key_read(const char *path, fplt_key *key, fplt_error *error);
FPLT_API void fplt_key_clear(fplt_key *key);

#ifdef __cplusplus
}
#endif
#endif
