/* The agent's machine inside: shared by its files. */
#ifndef FPLT_PROTOCOL_SITE_MACHINE_H
#define FPLT_PROTOCOL_SITE_MACHINE_H

#include "protocol/site.h"
#include "secagg/session.h"
#include "fedplt/algorithm.h"

/* What the machine waits for. */
enum fplt__site_waiting {
    FPLT__FOR_TIME,
    FPLT__FOR_REPLY,
    FPLT__FOR_COMMIT,
    FPLT__FOR_CHARGE,
    FPLT__FOR_AGREEMENT,
    FPLT__FOR_FACTS,
    FPLT__FOR_NODE,
    FPLT__SITE_OVER
};

/* A whole frame that may be sent again. */
struct fplt__kept_frame {
    uint8_t *bytes; /* owned */
    size_t size;
};

struct fplt__site {
    fplt__site_settings settings;
    uint64_t now, wake, wait;
    enum fplt__site_waiting waiting;
    fplt__site_record record;
    uint8_t *document; /* owned */
    uint8_t *start;    /* owned; the plan's start vector as it came; NULL: not asked for */
    size_t start_size;
    fplt__agreement *agreement;
    fplt_node *node;
    fplt_shape shape;
    size_t n;
    uint64_t session, sequence;
    int joined, ended, refused;
    int asked_end; /* of the run on disk, before another is looked at */
    fplt__hessian_word hessian;
    unsigned withholds; /* of the plan at hand: fplt__site_plan, as its reason */
    char reason[240];
    int planned_hint; /* of the document asked for, as the answer to JOIN said */
    fplt__digest document_hint;
    double *loaded;        /* owned; vectors read from the store */
    fplt__receipt charged; /* the newest of the ledger */
    fplt__request request; /* to be sent, or under way */
    uint8_t *body;         /* owned; of the request where it is text */
    struct fplt__kept_frame message[2], enrolment, answer;
    uint8_t *head; /* owned; of the staged task */
    double *begin; /* owned; where the enrolled incarnation begins */
    struct {
        fplt__frame frame;
        uint8_t *bytes; /* owned: head and scalars */
        size_t size;
        double *down; /* owned */
    } task;
    uint64_t *words; /* owned; of what was computed */
    size_t word_room;
    int has_trouble;
    uint64_t trouble_round;
    char trouble_word[FPLT__WORD], trouble_sentence[FPLT__SENTENCE];
    uint64_t random;
    fplt__secagg_agent *secagg; /* owned; NULL: the plan at hand is plain, or there is none */
    int failed, damaged;
    fplt__site_action *action;
    size_t actions, taken, action_room;
};

/* --- site_requests.c --- */
/* Adds an action; NULL where there is no memory. */
fplt__site_action *fplt__site_add(fplt__site *site, fplt__site_action_kind kind);
/* Adds a LOG. */
void fplt__site_log(fplt__site *site, const char *word, const char *format, ...) FPLT_PRINTF(3, 4);
/* Adds a QUIT: the machine does nothing more. */
void fplt__site_quit(fplt__site *site, const char *word, const char *sentence);
/* The frame takes over the bytes; what it had is released. */
void fplt__site_set_frame(struct fplt__kept_frame *frame, uint8_t *bytes, size_t size);
/* Keeps a trouble for the next report, and logs it. */
void fplt__site_trouble(fplt__site *site, uint64_t round, const char *word, const char *sentence);
/* The request is repeated after 1, 2, 4 .. 30 s, 20 % more or less. */
void fplt__site_back_off(fplt__site *site);
/* Sends the request: nothing may be left to commit. */
void fplt__site_send_now(fplt__site *site);
/* Adds a COMMIT of the record. */
void fplt__site_ask_commit(fplt__site *site);
/* Sends the request, once nothing is left to commit. */
void fplt__site_flush(fplt__site *site);
/* Sends a request once nothing is left to commit; `text`, its body or NULL, is taken over. */
void fplt__site_request(fplt__site *site, fplt__request_kind kind, char *text);
/* Requests a session. */
void fplt__site_join(fplt__site *site);
/* Requests the next task with a report of what is durable here. */
void fplt__site_poll(fplt__site *site);
/* A small frame brings the report along, so that its answer is that of the poll that would follow. A large
 * one would have to be sent again if the line broke in the meantime. */
void fplt__site_request_frame(fplt__site *site, const struct fplt__kept_frame *frame);
/* Sends consent to the document, or the refusal with its sentence. */
void fplt__site_consent(fplt__site *site, int agreed, const char *sentence);

/* --- site_documents.c --- */
/* The action, for more to be added to it; NULL where there is no memory. */
fplt__site_action *fplt__site_ask_shell(fplt__site *site, fplt__site_action_kind kind,
                                        enum fplt__site_waiting waiting);
/* Drops everything of the run but the member index and the number of records. */
void fplt__site_forget_run(fplt__site *site);
/* The reply to DOCUMENT. */
void fplt__site_take_document(fplt__site *site, const void *bytes, size_t size, int planned);
/* The reply to START. */
void fplt__site_take_start(fplt__site *site, const void *bytes, size_t size);
/* The reply to JOIN. */
void fplt__site_take_joined(fplt__site *site, const void *body, size_t size);
/* Rounds that a receipt shows of this run were computed too, whatever a restored disk says. */
void fplt__site_count_adopted(fplt__site *site);
/* The event BUILT: the node is made, and restored where the record has its vectors. */
void fplt__site_take_node(fplt__site *site, fplt__site_plan *plan);

/* Whether the site answers at the point of the task; otherwise the trouble is kept for the next report. */
int fplt__site_guards(fplt__site *site);

/* --- site_rounds.c --- */
/* Nothing is staged from here on. */
void fplt__site_drop_staged(fplt__site *site);
/* A frame VERDICT: accepted, refused, or the incarnation is open. */
void fplt__site_take_verdict(fplt__site *site, const fplt__frame *frame, const uint8_t *body);
/* The head of the frame that answers a task. */
fplt__frame fplt__site_up_frame(const fplt__site *site, const fplt__frame *down,
                                const fplt__digest *task);
/* The words of the task at hand as they travel: masked, listed or packed. */
fplt_status fplt__site_make_frame(fplt__site *site, fplt__frame *frame, const double *scalars,
                                  const uint64_t *words, uint8_t **bytes, size_t *size,
                                  fplt_error *error);
/* What was computed becomes the message, staged with the vectors; then it is committed and sent. */
void fplt__site_stage(fplt__site *site);
/* The task TRAIN: repeats a stored message, or computes and charges. */
void fplt__site_train(fplt__site *site);
/* Keeps a frame as the task at hand. */
void fplt__site_keep_task(fplt__site *site, const fplt__frame *frame, const uint8_t *head,
                          const uint8_t *body);

/* --- site_questions.c --- */
/* The task ENROL: sends the mirrored vectors. */
void fplt__site_enrol(fplt__site *site);
/* Sends the answer to a question; it is not stored. */
void fplt__site_send_answer(fplt__site *site, const double *scalars, uint32_t scalar_count,
                            const uint64_t *words, uint64_t numbers);
/* A question about data or vectors: answered where privacy and the policy of the site allow it. */
void fplt__site_answer_question(fplt__site *site);
/* A step of the facts: asks the shell for them. */
void fplt__site_gather(fplt__site *site);
/* The frame END. */
void fplt__site_end_run(fplt__site *site);

/* --- site_secure.c: secure aggregation; with a plain plan each does nothing and gives consent --- */
int fplt__site_is_secure(const fplt__site *site);
/* The keys of the plan at hand; wiped with it. */
void fplt__site_open_secure(fplt__site *site);
void fplt__site_close_secure(fplt__site *site);
/* The frame SESSION; 0: the plan is plain, and nothing of the answer counts. */
int fplt__site_take_session(fplt__site *site, const fplt__frame *frame, const uint8_t *body);
/* MISSING, PROPOSE or FINAL: answered from the memory of this process, or refused with a report. */
void fplt__site_answer_stage(fplt__site *site, const uint8_t *head, const uint8_t *body);
/* Whether a stored message belongs to the session of the task at hand. */
int fplt__site_is_of_session(const fplt__site *site, const struct fplt__kept_frame *frame);
/* Whether the agent takes part in the session of the task (question) at hand; else it reports why, and nothing may be
 * computed. */
int fplt__site_enters_training(fplt__site *site);
/* A planted fault: this process goes on with a session of the one before. */
void fplt__site_enters_again(fplt__site *site);
int fplt__site_enters_question(fplt__site *site);
/* The words, masked, as a frame of bytes. */
fplt_status fplt__site_masked_frame(fplt__site *site, fplt__frame *frame, uint8_t **bytes,
                                    size_t *size, fplt_error *error);
void fplt__site_report_secure(const fplt__site *site, fplt__report *report);

/* --- site_replies.c --- */
/* The event REPLY. */
void fplt__site_take_reply(fplt__site *site, const fplt__site_event *event);

#endif
