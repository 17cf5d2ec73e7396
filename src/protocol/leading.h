/* The coordinator's machine inside: shared by its files. */
#ifndef FPLT_PROTOCOL_LEADING_H
#define FPLT_PROTOCOL_LEADING_H

#include "engine/hub_node.h"
#include "engine/stopping.h"
#include "base/sum.h"
#include "protocol/leader.h"
#include "protocol/planted.h"
#include "secagg/total.h"
#include "fedplt/algorithm.h"

struct fplt__shared {
    unsigned holders;
    size_t size;
    uint8_t bytes[];
};

/* What the last report of a member means, first match. */
enum fplt__finding {
    FPLT__UNHEARD,
    FPLT__AHEAD,    /* its proof is ahead of this database */
    FPLT__KNOWN,    /* it is where this side thinks it is */
    FPLT__ACCEPTED, /* it has not heard yet that its staged round counts */
    FPLT__OPENED,   /* it has not heard yet that its enrolment counts */
    FPLT__LOST      /* it lost its state, or has an old one */
};

/* What is known of a member by this process only. What is looked at for all members at every event comes
 * first. */
typedef struct fplt__member_session {
    uint64_t ticket, since; /* the poll that is held; 0: none */
    enum fplt__finding finding;
    int heard;
    uint64_t last_heard;
    uint64_t judged;  /* after how many commits */
    unsigned answers; /* exchanges of the open round answered */
    int left_out;     /* of the open round, after a conflict */
    int absent;       /* from the open round: trouble */
    int kept_answer;  /* the reason: it has answered another question of this round */
    int diverged;     /* its last word: its training diverged */
    int spent;        /* absent for the rest of the run */
    int answered;     /* the question or the step of facts at hand */
    int enrols;       /* alone: it lost its state, nobody else is concerned */
    int enrolled;     /* in the repair at hand */
    int told;         /* has its version on disk */
    int consented, refused;
    fplt__hessian_word hessian; /* as it said with its consent to the proposal */
    int has_identity;           /* with its consent to the proposal */
    uint8_t identity[32];
    int has_key;    /* of secure aggregation: this process was told one */
    int is_rekeyed; /* it has another key than the list at hand: its masks would not cancel */
    uint64_t session, sequence; /* session 0: never joined */
    uint64_t process;           /* of the session; 0: not known */
    fplt__answer answer[2];
    fplt__answer enrolment;
    fplt__report report; /* that came with the poll */
} fplt__member_session;

/* What the open round of mode quorum waits for (stages.c). */
enum fplt__secure_stage {
    FPLT__STAGE_UPLOADS, /* of the members that are left; also the only stage of mode all */
    FPLT__STAGE_MISSING, /* their seeds with those that are not */
    FPLT__STAGE_PROPOSE, /* their votes */
    FPLT__STAGE_FINAL,   /* their shares */
    FPLT__STAGES
};

/* The plan that is in force, as this process holds it; all NULL before there is one. */
struct fplt__leader_resolved {
    fplt__agreement *agreement;
    fplt_hub *hub;
    fplt_participation *participation;
    fplt_prox *prox;
    fplt_shape shape;
    size_t n; /* dimension */
    fplt__stopping stopping;
};

/* One entry a member. */
struct fplt__leader_roster {
    fplt__member_row *row; /* as stored */
    fplt__member_session *session;
    uint8_t *changed, *cohort, *accepted; /* bitmaps */
    uint32_t *active;                     /* room for all */
    uint64_t sessions;                    /* given out so far */
};

/* The open round. */
struct fplt__leader_round {
    int is_open; /* its question is made */
    fplt_round question;
    unsigned exchange;
    uint32_t received, cohort_size;
    uint64_t since, deadline;
    uint64_t
        stage_since; /* the deadline counts from here: the round's beginning, or that of its stage */
    fplt__shared *down; /* scalars and payload of the question */
    fplt__digest digest;
    uint64_t bytes_up, bytes_down;
};

/* A question to all: an evaluation, or a step of the facts. */
struct fplt__leader_question {
    unsigned kind; /* 0: nothing is asked */
    uint64_t deadline;
    uint32_t answers; /* members that have answered */
    uint32_t scalars; /* doubles that each member sends */
    uint64_t numbers; /* exact numbers that each member sends */
    unsigned step;    /* of the facts */
    fplt__shared *down;
    fplt__digest digest;
    fplt__sum *sum; /* of the numbers */
};

/* Measurements between rounds. */
struct fplt__leader_evaluation {
    int due, stalled;
    double *point; /* where it is measured */
    fplt_measure measured;
    int has_measured, has_score;
    int at_zero; /* the question is about the zero vector: what a relative tolerance is a share of */
    double zeroed; /* the criterion there; 0: not asked for */
    fplt_measure score;
    double *information;
    char withheld[FPLT__SENTENCE]; /* why a member did not give it; empty: none refused */
    uint32_t withheld_by;
};

struct fplt__leader {
    fplt__leader_settings settings;
    uint64_t now, wake;
    fplt__leader_record record; /* what the store has, or will have after the commit at hand */
    int paused, failed, finished_said, resolving;
    struct {
        fplt__shared *document, *start, *hub;
    } sent; /* bytes that are stored or sent as they are */
    struct {
        fplt__digest plan;
        fplt__shared *model; /* NULL: none */
    } previous;              /* the run that this one goes on from */
    struct fplt__leader_resolved plan;
    struct fplt__leader_roster roster;
    struct fplt__leader_round open;
    struct fplt__leader_question ask;
    struct fplt__leader_evaluation evaluation;
    struct {
        struct {
            uint64_t round, since, most; /* ms from task to arrival */
        } round[10];                     /* the last that had a cohort */
        uint64_t count;                  /* how many there were */
    } pace;
    struct {
        fplt__closing *item; /* owned vectors */
        size_t count, room;
    } closings;
    struct {
        int is_there; /* the update at hand brings the report of a poll */
        fplt__report report;
    } rider;
    /* the comparison of the agents' vectors with the sums */
    struct {
        int wanted, done, equal; /* asked for; the last one was made, and held */
        uint64_t round;
    } check;
    struct {
        int pending;
        uint64_t count, retry;
    } commit;
    fplt__trace_row trace; /* of the commit at hand */
    struct {
        fplt__sum *sum; /* of the vectors sent so far */
        uint64_t since; /* when this process began to wait for them */
    } repair;
    /* Secure aggregation (secure.c). A session is of the open round, the question or the repair at hand: there is one at a
     * time. */
    struct {
        fplt__secagg_total *total; /* NULL: the plan is plain */
        uint8_t *list,
            *fresh;       /* 96 bytes a member: of the open round (record.keys), as last reported */
        uint8_t *at_hand; /* the list of the session at hand */
        uint8_t keys[32]; /* its hash */
        int is_begun;     /* there is a session at hand */
        uint8_t *all;     /* bitmap of the whole roster */
        const uint8_t *cohort;      /* of the session at hand */
        fplt__shared *brief, *full; /* payloads of SESSION without and with the list */
        fplt__digest brief_digest, full_digest;
        unsigned ruined;   /* sums out of range, one after the other */
        unsigned void_row; /* void rounds, one after the other */
        /* mode quorum (stages.c) */
        enum fplt__secure_stage stage;
        uint64_t enough; /* when there were votes enough; 0: there are not */
        uint8_t *set;    /* bitmap, scratch */
        uint64_t lists, whole, shorter, voided;
    } secure;
    struct {
        double *before, *model, *numbers;
        uint64_t *words;
        size_t word_room;
    } scratch;
    struct {
        fplt__leader_action *action;
        size_t count, taken, room;
    } queue;
};

/* --- actions.c, leader.c --- */
static inline int fplt__bit(const uint8_t *map, uint32_t i)
{
    return map[i / 8] >> (i % 8) & 1;
}
void fplt__bit_set(uint8_t *map, uint32_t i, int value);
fplt_status fplt__shared_make(size_t size, fplt__shared **shared, fplt_error *error);
fplt__leader_action *fplt__leader_add(fplt__leader *leader, fplt__leader_action_kind kind);
void fplt__leader_log(fplt__leader *leader, uint32_t member_index, const char *word,
                      const char *format, ...) FPLT_PRINTF(4, 5);
void fplt__leader_reply(fplt__leader *leader, uint64_t ticket, uint32_t member_index,
                        unsigned status);
/* An update is taken: says so, or lets it wait as the poll that it brings. */
void fplt__leader_taken(fplt__leader *leader, const fplt__request *request, unsigned status);
void fplt__leader_fault(fplt__leader *leader, uint64_t ticket, uint32_t member_index,
                        unsigned status, const char *word, int final, const char *format, ...)
    FPLT_PRINTF(7, 8);
void fplt__leader_commit(fplt__leader *leader);
void fplt__leader_finish(fplt__leader *leader, fplt__leader_state state, const char *word,
                         const char *sentence);
int fplt__leader_needs_all(const fplt__leader *leader);
uint64_t fplt__leader_round_timeout(const fplt__leader *leader);
/* Room for `count` numbers as words. */
fplt_status fplt__leader_room(fplt__leader *leader, size_t count, fplt_error *error);
/* Drops the actions of the last event and releases what they hold. */
void fplt__leader_clear_actions(fplt__leader *leader);
/* Adds a reply without a body; NULL where there is no memory. */
fplt__reply *fplt__leader_add_reply(fplt__leader *leader, uint64_t ticket, uint32_t member_index,
                                    unsigned status);
/* The reply holds the bytes from here on; `shared` may be NULL where there was no memory. */
void fplt__leader_add_part(fplt__leader *leader, fplt__reply *reply, fplt__shared *shared);
/* The reply gets a JSON body; `text` is taken over, NULL where there was no memory. */
void fplt__leader_add_text(fplt__leader *leader, fplt__reply *reply, char *text);
/* Replaces `*kept` by a copy of the bytes; zeros where `bytes` is NULL. */
fplt_status fplt__leader_keep_bytes(fplt__shared **kept, const void *bytes, size_t size,
                                    fplt_error *error);
/* Takes the plan over and makes room for its vectors. */
fplt_status fplt__leader_adopt_plan(fplt__leader *leader, fplt__leader_plan *plan,
                                    fplt_error *error);

/* --- forming.c --- */
/* Goes on once all members have consented: RESOLVE after the proposal, round 0 after the plan. */
void fplt__leader_check_forming(fplt__leader *leader);
/* The event PLAN: the plan becomes the document that all must consent to. */
void fplt__leader_take_plan(fplt__leader *leader, const fplt__leader_event *event);
/* The request CONSENT. */
void fplt__leader_take_consent(fplt__leader *leader, const fplt__request *request);
/* The event REFUSE: the run ends before its first round. */
void fplt__leader_take_refusal(fplt__leader *leader, const char *sentence);
/* Whether the run is done and another follows it. */
int fplt__leader_follows(const fplt__leader *leader);

/* --- polls.c --- */
/* Adds a frame to a reply; `body` may be NULL. */
void fplt__leader_add_frame(fplt__leader *leader, fplt__reply *reply,
                            const uint8_t head[FPLT__FRAME_HEAD], fplt__shared *body);
/* Answers every held poll that has something to hear. */
void fplt__leader_answer_polls(fplt__leader *leader);
/* How long a poll is held, ms. */
uint64_t fplt__leader_hold(const fplt__leader *leader);

/* --- requests.c --- */
/* Member i was heard now. */
void fplt__leader_hear(fplt__leader *leader, uint32_t i);
/* The event REQUEST: one reply now, or a held poll. */
void fplt__leader_take_request(fplt__leader *leader, const fplt__request *request);

/* --- invariants.c --- */
/* Asserts what holds between two events; without assertions it does nothing. */
void fplt__leader_check(const fplt__leader *leader);
/* How many of the first `count` bits are set. */
uint32_t fplt__bits_count(const uint8_t *map, uint32_t count);

/* --- rounds.c --- */
void fplt__round_choose(fplt__leader *leader);
void fplt__round_open(fplt__leader *leader);
void fplt__round_forget(fplt__leader *leader);
/* Closes the open round without effect, and opens the next. */
void fplt__round_void(fplt__leader *leader);
void fplt__round_look(fplt__leader *leader);
/* The head of the question to member i, and its position in the cohort. */
void fplt__round_head(const fplt__leader *leader, uint32_t i, uint8_t head[FPLT__FRAME_HEAD]);
/* Whether a member was not heard for a minute, and as long as `size` bytes take on their way to it. */
int fplt__is_silent(const fplt__leader *leader, uint32_t i, uint64_t size);
int fplt__round_waits_for(const fplt__leader *leader, uint32_t i);
/* The members that are left send their uploads again. */
void fplt__round_upload_again(fplt__leader *leader);
/* The sum of the exchange is there: closes the round, or begins the next exchange. */
void fplt__round_end_exchange(fplt__leader *leader);
/* What member i sent contradicts itself or cannot be used: it is left out of the round, which begins again. */
void fplt__round_leave_out(fplt__leader *leader, uint32_t i, const char *why);
/* Updates without which the open round does not close. */
uint32_t fplt__round_quorum(const fplt__leader *leader);
void fplt__round_update(fplt__leader *leader, const fplt__request *request,
                        const fplt__frame *frame, const uint8_t *body);
const fplt__closing *fplt__closing_of(const fplt__leader *leader, uint64_t round);

/* --- secure.c: secure aggregation; with a plain plan each does nothing --- */
static inline int fplt__secure_is_on(const fplt__leader *leader)
{
    return leader->secure.total != NULL;
}
/* How updates and answers travel. */
static inline unsigned fplt__secure_encoding(const fplt__leader *leader)
{
    return fplt__secure_is_on(leader) ? FPLT__BYTES : FPLT__PACKED;
}
/* The same of updates and measurements, which may be listed besides (base/listed.h). */
static inline int fplt__takes_encoding(const fplt__leader *leader, unsigned kind, unsigned encoding)
{
    return encoding == fplt__secure_encoding(leader) ||
           (encoding == FPLT__LISTED && (kind == FPLT__TRAIN || kind == FPLT__MEASURE) &&
            !fplt__secure_is_on(leader) && leader->plan.hub && fplt__hub_lists(leader->plan.hub));
}
/* What goes down, and what lists are compared with; NULL: zeros. */
static inline void fplt__leader_expect(fplt__leader *leader, const double *down)
{
    if (leader->plan.hub && fplt__hub_lists(leader->plan.hub))
        fplt__multiples_begin(fplt__hub_lists(leader->plan.hub), down);
}
/* With the plan; `keys` as stored, or NULL. */
fplt_status fplt__secure_open(fplt__leader *leader, const uint8_t *keys, fplt_error *error);
void fplt__secure_close(fplt__leader *leader);
/* Whether all members have told a key: before that there is no round 0. */
int fplt__secure_is_ready(const fplt__leader *leader);
/* The key that a report brings. */
void fplt__secure_keep_key(fplt__leader *leader, uint32_t i, const fplt__report *report);
/* The list of the round that is chosen: what members told last. */
void fplt__secure_choose_list(fplt__leader *leader);
/* Begins the session of the exchange at hand, of the question, of the enrolments. */
fplt_status fplt__secure_begin_round(fplt__leader *leader, fplt_error *error);
fplt_status fplt__secure_begin_question(fplt__leader *leader, fplt_error *error);
void fplt__secure_begin_repair(fplt__leader *leader);
/* Whether enrolments are masked: where there are numbers in them. */
int fplt__secure_masks_enrolment(const fplt__leader *leader);
/* Whether a member of the open round that has not sent cannot any more, since it has another key. */
int fplt__secure_is_hopeless(const fplt__leader *leader);
/* The same of the question or repair at hand: it begins again with a new list. */
void fplt__secure_look(fplt__leader *leader);
/* Adds SESSION to a reply, before the task at hand of this head. */
void fplt__secure_add_session(fplt__leader *leader, fplt__reply *reply, uint32_t i,
                              const uint8_t task[FPLT__FRAME_HEAD]);
/* A masked message of member i: FPLT_BAD_DATA where it is not one of the session. */
fplt_status fplt__secure_take(fplt__leader *leader, uint32_t i, const fplt__frame *frame,
                              const uint8_t *body, fplt_error *error);
/* All are in: the sum of the exchange goes to the hub, or the words to `sum`. */
fplt_status fplt__secure_give_hub(fplt__leader *leader);
fplt_status fplt__secure_give_sum(fplt__leader *leader, fplt__sum *sum);
/* Bytes that a message may have beside its numbers. */
uint64_t fplt__secure_longest(const fplt__leader *leader);
/* Whether member i told a key, to this process or to one before. */
int fplt__secure_has_key(const fplt__leader *leader, uint32_t i);

/* --- stages.c: rounds of secure aggregation that end without some of the cohort; in mode all each does nothing --- */
static inline int fplt__stages_are_on(const fplt__leader *leader)
{
    return fplt__secure_is_on(leader) && leader->plan.agreement->threshold;
}
const char *fplt__stage_name(enum fplt__secure_stage stage);
/* Whether the round can still use an upload of member i. */
int fplt__stages_want_upload(const fplt__leader *leader, uint32_t i);
/* Whether the stage at hand waits for an answer of member i. */
int fplt__stage_waits_for(const fplt__leader *leader, uint32_t i);
/* Uploads are in: of all that are left, or of enough when the deadline has passed. */
void fplt__stages_uploaded(fplt__leader *leader);
/* Whether the stage at hand can end, must, or can no longer. */
void fplt__stages_look(fplt__leader *leader);
/* Whether enough members can take part in the next round: those that were restarted have only lost this one. */
int fplt__stages_can_go_on(const fplt__leader *leader);
/* When to look again. */
uint64_t fplt__stages_wake(const fplt__leader *leader);
/* Adds the question of the stage at hand to a reply to member i. */
void fplt__stage_add_question(fplt__leader *leader, fplt__reply *reply, uint32_t i);
/* Seeds, a vote or shares of a member. */
void fplt__stage_update(fplt__leader *leader, const fplt__request *request,
                        const fplt__frame *frame, const uint8_t *body);

/* --- asking.c: evaluation, facts --- */
void fplt__ask_begin(fplt__leader *leader);
void fplt__ask_facts(fplt__leader *leader, const fplt__ask *ask);
void fplt__ask_look(fplt__leader *leader);
void fplt__ask_stop(fplt__leader *leader);
/* Asks the question at hand again, of all: its session has begun anew. */
void fplt__ask_again(fplt__leader *leader);
void fplt__ask_refused(fplt__leader *leader, uint32_t member_index, const char *sentence);
void fplt__ask_head(const fplt__leader *leader, uint32_t i, uint8_t head[FPLT__FRAME_HEAD]);
void fplt__ask_update(fplt__leader *leader, const fplt__request *request, const fplt__frame *frame,
                      const uint8_t *body);

/* In good standing: neither left out of the run nor revoked. Only such members are waited for, and only
 * their reports can leader to a repair or a halt. */
static inline int fplt__is_standing(const fplt__leader *leader, uint32_t i)
{
    return leader->roster.row[i].standing == FPLT__MEMBER;
}

/* --- repair.c --- */
/* Ends the run, which cannot go on without member i; the last model is kept. */
void fplt__leader_end_without(fplt__leader *leader, uint32_t i, const char *why);
/* Whether all whose vectors are waited for have sent them, or somebody's will never come. */
void fplt__repair_look(fplt__leader *leader);
/* When a repair stops waiting for member i, if nothing is heard of it. */
uint64_t fplt__repair_deadline(const fplt__leader *leader, uint32_t i);
void fplt__report_act(fplt__leader *leader, uint32_t i);
void fplt__repair_begin(fplt__leader *leader);
/* All send their vectors again. */
void fplt__repair_again(fplt__leader *leader);
void fplt__repair_head(fplt__leader *leader, uint32_t i, uint8_t head[FPLT__FRAME_HEAD],
                       fplt__shared **model);
void fplt__repair_update(fplt__leader *leader, const fplt__request *request,
                         const fplt__frame *frame, const uint8_t *body);

#endif
