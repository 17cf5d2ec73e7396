/* A log for auditors, append-only: each entry commits to the one before it by a digest, so that nothing can be taken out,
 * changed or moved without the digests after it being wrong. The other side of a federation signs the head (the digest of
 * the last entry) now and then: up to the last signed head not even the owner of the file can change an entry unnoticed.
 *
 * The file has one JSON object a line: number, time, event, the fields of the entry as texts, previous, digest. The digest
 * is BLAKE2b-256 of "fedplt-audit-1\n" and the line up to its own key. Several processes may append: a lock is held while
 * one writes. Entries leave the log only by fplt__audit_expire. */
#ifndef FPLT_AUDIT_AUDIT_H
#define FPLT_AUDIT_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"
#include "wire/hash.h"

typedef struct fplt__audit fplt__audit;

/* Of an entry. A NULL value is left out. */
typedef struct fplt__audit_field {
    const char *name, *value;
} fplt__audit_field;

/* The head of a log: its last entry; number 0: it is empty. */
typedef struct fplt__audit_head {
    uint64_t number;
    fplt__digest digest;
} fplt__audit_head;

/* Opens the file for appending, or makes it, readable by the owner only. FPLT_BAD_DATA where its last line is no entry; a
 * last line that a crash cut short is taken away. */
fplt_status fplt__audit_open(const char *path, fplt__audit **audit, fplt_error *error);
void fplt__audit_close(fplt__audit *audit);
/* Appends an entry; `durable`: it is on the disk when the call returns. */
fplt_status fplt__audit_add(fplt__audit *audit, const char *event, const fplt__audit_field *fields,
                            size_t count, int durable, fplt_error *error);
fplt__audit_head fplt__audit_get_head(const fplt__audit *audit);

/* --- signed heads --- */

enum { FPLT__AUDIT_KEY = 32, FPLT__AUDIT_SECRET = 64, FPLT__AUDIT_SIGNATURE = 64 };

/* The key pair of a coordinator, from a secret of its folder. */
void fplt__audit_keys(const uint8_t seed[32], uint8_t public_key[FPLT__AUDIT_KEY],
                      uint8_t secret[FPLT__AUDIT_SECRET]);
/* Over federation, member and head. */
void fplt__audit_sign(const uint8_t secret[FPLT__AUDIT_SECRET], const char *federation,
                      const char *member, const fplt__audit_head *head,
                      uint8_t signature[FPLT__AUDIT_SIGNATURE]);
int fplt__audit_is_signed(const uint8_t public_key[FPLT__AUDIT_KEY], const char *federation,
                          const char *member, const fplt__audit_head *head,
                          const uint8_t signature[FPLT__AUDIT_SIGNATURE]);

/* The event of an entry that holds a signature, with the fields federation, member, number, head, key, signature. */
#define FPLT__AUDIT_SIGNED "signed"

/* --- retention --- */

/* The event of an entry that says which entries left: up-to (number of the last), last (its digest), before (time). */
#define FPLT__AUDIT_EXPIRED "expired"
/* The least number of days that entries are kept: a log whose entries left earlier is wrong. */
enum { FPLT__AUDIT_MIN_DAYS = 365 };

/* Takes entries that are older than `days` (at least FPLT__AUDIT_MIN_DAYS) at `now`, in seconds since 1970, from the beginning
 * of a log that no other process has open, and adds an entry that says so. No file is FPLT_OK. */
fplt_status fplt__audit_expire(const char *path, uint32_t days, int64_t now, fplt_error *error);

/* --- reading --- */

/* What a whole log says of itself. */
typedef struct fplt__audit_verdict {
    uint64_t entries;      /* number of the last one */
    uint64_t expired;      /* so many of them left when they were old enough */
    uint64_t signed_up_to; /* the last entry under a valid signature; 0: none is */
    /* Of the last valid signature, and how often a signature is by another key than the one before it. A log says itself which
     * key signed it: a person who may write the file can write another log and sign it with a key of their own. */
    uint8_t key[FPLT__AUDIT_KEY];
    uint64_t other_keys;
    uint64_t bad;       /* the first entry that is wrong; 0: none */
    char sentence[400]; /* what is wrong with it */
} fplt__audit_verdict;

/* Calls the visitor (or NULL) with each line's text, and checks numbers, digests and signatures. FPLT_OK also where the
 * log is wrong: the verdict says so. */
fplt_status fplt__audit_read(const char *path,
                             void (*visitor)(void *context, const char *line, size_t length),
                             void *context, fplt__audit_verdict *verdict, fplt_error *error);

/* The digest that a line commits to; `length` without the line's end. 0: the line is no entry. */
int fplt__audit_digest(const char *line, size_t length, fplt__digest *digest);

#endif
