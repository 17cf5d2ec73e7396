/* What a coordinator could compute of the sessions of secure aggregation with a quorum, from all that agents said over all
 * their processes, and a coordinator that asks for more than it should. With 2t > M + c it learns the sum over one set with
 * at least t - c honest members in each session, or nothing. The last c members help it. */
#ifndef FPLT_TESTS_JUDGE_H
#define FPLT_TESTS_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

/* Forgets all sessions. */
void judge_begin(uint32_t members, uint32_t threshold, uint32_t colluders);
/* Bytes that reach member i: of a question about a session it must be known what it is about. */
void judge_asked(uint32_t i, const uint8_t *bytes, size_t size);
/* A frame of member i that leaves it; NULL, or what the coordinator could now learn. */
const char *judge_said(uint32_t i, const uint8_t *frame, size_t size);

/* A question to member i about a session that it sent an upload in, in the words of a coordinator that lies: which members
 * are left by `chance`. Bytes in `*size`, valid until the next call; NULL: there is none. */
const uint8_t *judge_forge(uint32_t i, uint64_t chance, size_t *size);
/* In which order it asks: 1 to 5; 0: by chance. */
extern unsigned judge_attack;

#endif
