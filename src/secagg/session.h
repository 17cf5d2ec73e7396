/* Secure aggregation at the agent: its keys, the list of all keys, and what it says in a session.
 *
 * Everything here lives in the memory of one process and is wiped with it. A session contains the public key of the
 * process, the process computes once for each (incarnation, round, exchange) in rising order, and answers from this
 * memory only. So no two plaintexts ever meet one mask, whatever happens to the disks.
 *
 * What an agent answers in a session of mode quorum (`view`: who is left, at first the cohort):
 *
 *     question              accepted if                                                        then
 *     MISSING W             no shares were given without votes; W contains the agent, W within view, t <= |W|,
 *                           W not the cohort; if voted, W = view                               view = W, asked; seeds
 *     PROPOSE W             asked; W = view                                                    voted; signature
 *     FINAL W, no votes     not asked; W = cohort                                              final; shares
 *     FINAL W, votes        voted; W = view; t different members of W signed it                final; shares
 *     the same again        all conditions still hold                                          the same bytes
 *     anything else         never                                                              refused
 *
 * State changes before the answer is made. */
#ifndef FPLT_SECAGG_SESSION_H
#define FPLT_SECAGG_SESSION_H

#include "secagg/keys.h"

/* --- the table above --- */

/* What an agent has said in a session. `view` and `cohort` are bitmaps. */
typedef struct fplt__session_state {
    int asked, voted, final;
    uint8_t *view;         /* owned by the maker of the state */
    const uint8_t *cohort; /* borrowed */
} fplt__session_state;

/* Each asks whether member i of a plan with these members and threshold answers, and changes the state; 0: refused, and
 * nothing is changed. */
int fplt__session_missing(fplt__session_state *state, uint32_t members, uint32_t threshold,
                          uint32_t i, const uint8_t *w);
int fplt__session_propose(fplt__session_state *state, uint32_t members, const uint8_t *w);
/* `votes`: valid signatures of different members of W. */
int fplt__session_final(fplt__session_state *state, uint32_t members, uint32_t threshold,
                        const uint8_t *w, uint32_t votes);

/* --- the agent --- */

typedef struct fplt__secagg_agent fplt__secagg_agent;

/* Member i of a plan; `root`: 32 random bytes of this process, never used for another plan; `identity`: its Ed25519 secret
 * key as libsodium has it. The plan is copied. FPLT_BAD_VALUE where the plan names another identity, or has too many
 * members. */
fplt_status fplt__secagg_agent_create(const fplt__secagg_plan *plan, uint32_t i,
                                      const uint8_t root[FPLT__SECAGG_KEY],
                                      const uint8_t identity[64], fplt__secagg_agent **agent,
                                      fplt_error *error);
/* Wipes and releases; NULL is legal. */
void fplt__secagg_agent_destroy(fplt__secagg_agent *agent);

/* Its entry of the list: public key and signature. */
const uint8_t *fplt__secagg_agent_entry(const fplt__secagg_agent *agent);
/* The hash of the list it holds; NULL: none. */
const uint8_t *fplt__secagg_agent_keys(const fplt__secagg_agent *agent);

/* The payload of a SESSION: keys, cohort, and the list where the agent holds another. FPLT_BAD_DATA for another size or
 * a cohort that is no set. A list that is refused is not taken, and the next task is refused with its sentence; a message
 * that is stored already may still be sent. */
fplt_status fplt__secagg_agent_announce(fplt__secagg_agent *agent, const uint8_t *payload,
                                        size_t size, fplt_error *error);
/* Forgets what was announced. */
void fplt__secagg_agent_withdraw(fplt__secagg_agent *agent);
/* The announced session of a task (whose cohort is not looked at); 0: none is announced. */
int fplt__secagg_agent_session(const fplt__secagg_agent *agent, const fplt__secagg_task *task,
                               uint8_t session[FPLT__SECAGG_KEY]);

/* A new training task: FPLT_BAD_DATA with a sentence where its session is not one this agent takes part in, and nothing may
 * be computed. Otherwise the session is at hand, and (incarnation, round, exchange) is never accepted again. `least`: the
 * smallest cohort that the site's policy accepts. */
fplt_status fplt__secagg_agent_train(fplt__secagg_agent *agent, const fplt__secagg_task *task,
                                     uint32_t least, fplt_error *error);
/* A question or enrolment, over all members. `version`: accepted updates in the agent's state; all questions of one
 * (incarnation, round) are answered at one version, so that a session means one plaintext, and no earlier one is answered
 * again. */
fplt_status fplt__secagg_agent_question(fplt__secagg_agent *agent, const fplt__secagg_task *task,
                                        uint64_t version, fplt_error *error);

/* Bytes of the payload that answers the task (or question) at hand with `count` numbers of `width` bytes. */
size_t fplt__secagg_agent_size(const fplt__secagg_agent *agent, int is_question, size_t count,
                               unsigned width);
/* Writes it: session, in mode quorum commitment and sealed shares, masked numbers. `words`: two a number. */
void fplt__secagg_agent_upload(fplt__secagg_agent *agent, int is_question, const uint64_t *words,
                               size_t count, unsigned width, uint8_t *payload);

/* MISSING, PROPOSE and FINAL as payloads; the answer, of at most fplt__secagg_agent_longest() bytes, into `answer`.
 * FPLT_BAD_DATA, with a sentence, for whatever the table does not accept. */
typedef enum fplt__secagg_stage {
    FPLT__SECAGG_MISSING,
    FPLT__SECAGG_PROPOSE,
    FPLT__SECAGG_FINAL
} fplt__secagg_stage;
size_t fplt__secagg_agent_longest(const fplt__secagg_agent *agent);
fplt_status fplt__secagg_agent_answer(fplt__secagg_agent *agent, fplt__secagg_stage stage,
                                      const uint8_t *payload, size_t size, uint8_t *answer,
                                      size_t *answer_size, fplt_error *error);

#endif
