/* Digests of the federation: BLAKE2b-256 over a label and fixed-length fields. */
#ifndef FPLT_WIRE_HASH_H
#define FPLT_WIRE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"

typedef struct fplt__input {
    const void *bytes;
    size_t size;
} fplt__input;

/* Of the inputs, one behind the other. */
fplt__digest fplt__hash(const fplt__input *inputs, size_t count);
fplt__digest fplt__hash_bytes(const void *bytes, size_t size);

/* Of a frame's content: H("fedplt-body-1\n", u64 size, H of its first 2048 bytes, H of the next 2048,
 * ...). Pieces can be digested side by side: several by one processor, and where hands are lent
 * (base/hands.h) by several. */
enum { FPLT__PIECE = 2048 };
fplt__digest fplt__body_hash(const void *bytes, size_t size);

int fplt__same(const fplt__digest *a, const fplt__digest *b);
int fplt__is_zero(const fplt__digest *digest);

/* 64 hexadecimal digits and a NUL; and back, 0 when the text is anything else. */
enum { FPLT__HEX = 2 * FPLT__HASH + 1 };
void fplt__hex(const void *bytes, size_t size, char *text);
int fplt__unhex(const char *text, void *bytes, size_t size);

/* What a document (proposal or plan) is called: H("fedplt-plan-1\n", bytes as sent). */
fplt__digest fplt__document_hash(const void *bytes, size_t size);

/* Where the chain of an agent begins: H("fedplt-chain-1\n", plan, u32 incarnation, u32 member_index, enrolment),
 * enrolment being all zeros in incarnation 0 and otherwise fplt__work_digest of the enrolment. */
fplt__digest fplt__chain_begin(const fplt__digest *plan, uint32_t incarnation,
                               uint32_t member_index, const fplt__digest *enrolment);
/* After an accepted round: H("fedplt-link-1\n", chain, u64 round, work, closing), closing being the
 * digest of the closing vector's bytes, or zeros where there is none. */
fplt__digest fplt__chain_next(const fplt__digest *chain, uint64_t round, const fplt__digest *work,
                              const fplt__digest *closing);

/* One message of an agent: which task it answers and the digest of what it says. */
typedef struct fplt__answer {
    fplt__digest task, digest;
} fplt__answer;
/* D = H of each exchange's task and digest, in order. */
fplt__digest fplt__work_digest(const fplt__answer *answers, unsigned count);

#endif
