/* Secure aggregation at the coordinator: adds masked uploads, collects what removes the masks, and gives the sum over the
 * members that are left (W, at first the cohort). In mode all, and for questions, the masks cancel once all uploads are in.
 *
 * In mode quorum a caller goes through these stages:
 *
 *     uploads   until all of W are in, or enough: fplt__secagg_total_leave() makes W smaller
 *     MISSING   where W is not the cohort: seeds of all of W; a member that does not answer leaves W, and the uploads are
 *               asked for again, because its masked numbers are in the sum
 *     PROPOSE   where W is not the cohort: votes, `threshold` or more
 *     FINAL     shares, until fplt__secagg_total_is_open(); then fplt__secagg_total_unmask() */
#ifndef FPLT_SECAGG_TOTAL_H
#define FPLT_SECAGG_TOTAL_H

#include "secagg/keys.h"
#include "secagg/session.h"

typedef struct fplt__secagg_total fplt__secagg_total;

/* The plan is copied, its identities as well. */
fplt_status fplt__secagg_total_create(const fplt__secagg_plan *plan, fplt__secagg_total **total,
                                      fplt_error *error);
/* Releases; NULL is legal. */
void fplt__secagg_total_destroy(fplt__secagg_total *total);

/* Begins the session of a task with a list of keys, for `count` numbers of `width` bytes. `is_question`: over all members
 * and without shares, whatever the mode. Allocates where there was never so much before. */
fplt_status fplt__secagg_total_begin(fplt__secagg_total *total, const fplt__secagg_task *task,
                                     const uint8_t *list, int is_question, size_t count,
                                     unsigned width, fplt_error *error);
const uint8_t *fplt__secagg_total_session(const fplt__secagg_total *total);
const uint8_t *fplt__secagg_total_left(const fplt__secagg_total *total); /* W */
uint32_t fplt__secagg_total_left_count(const fplt__secagg_total *total);
int fplt__secagg_total_is_whole(const fplt__secagg_total *total); /* W is the cohort */

/* Forgets what came; W stays. */
void fplt__secagg_total_forget(fplt__secagg_total *total);
/* W becomes smaller; uploads are kept where they are just those of the new W, and else all are forgotten. */
void fplt__secagg_total_leave(fplt__secagg_total *total, const uint8_t *w);

/* Bytes of an upload's payload. */
size_t fplt__secagg_total_size(const fplt__secagg_total *total);
/* The upload of member i: FPLT_BAD_DATA where its size or session is another, or it is not in W; nothing is then added. It
 * must not be given twice. */
fplt_status fplt__secagg_total_upload(fplt__secagg_total *total, uint32_t i, const uint8_t *payload,
                                      size_t size, fplt_error *error);

/* Bytes of a question to member j, and the question: `payload` has room for it. */
size_t fplt__secagg_total_question_size(const fplt__secagg_total *total, fplt__secagg_stage stage);
void fplt__secagg_total_question(const fplt__secagg_total *total, fplt__secagg_stage stage,
                                 uint32_t j, uint8_t *payload);
/* Bytes of the answer to it. */
size_t fplt__secagg_total_answer_size(const fplt__secagg_total *total, fplt__secagg_stage stage);
/* The answer of member i of W: FPLT_BAD_DATA for another size or session, or a vote that i did not sign. */
fplt_status fplt__secagg_total_answer(fplt__secagg_total *total, fplt__secagg_stage stage,
                                      uint32_t i, const uint8_t *payload, size_t size,
                                      fplt_error *error);
/* Members that have answered the stage. */
uint32_t fplt__secagg_total_answers(const fplt__secagg_total *total, fplt__secagg_stage stage);
int fplt__secagg_total_has(const fplt__secagg_total *total, fplt__secagg_stage stage, uint32_t i);

/* Whether there are enough good shares of all members of W. */
int fplt__secagg_total_is_open(const fplt__secagg_total *total);
/* Removes self masks and masks shared with members outside W. FPLT_BAD_DATA where the shares of member `*wrong` do not
 * meet its commitment. */
fplt_status fplt__secagg_total_unmask(fplt__secagg_total *total, uint32_t *wrong,
                                      fplt_error *error);
/* The sum as words, two a number, sign-extended. */
void fplt__secagg_total_words(const fplt__secagg_total *total, uint64_t *words);
/* The sum as it stands: `width` / 8 words a number. */
const uint64_t *fplt__secagg_total_masked(const fplt__secagg_total *total);

#endif
