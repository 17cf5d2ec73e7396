/* Fingerprints, by libsodium. */
#include "base/digest.h"

#include <sodium.h>

void fplt__fingerprint(const void *bytes, size_t size, char text[FPLT__FINGERPRINT])
{
    unsigned char digest[32];
    crypto_generichash(digest, sizeof digest, bytes, size, NULL, 0);
    sodium_bin2hex(text, FPLT__FINGERPRINT, digest, sizeof digest);
}
