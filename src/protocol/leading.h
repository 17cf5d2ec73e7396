/* The coordinator's machine inside: shared by its files. */
#ifndef FPLT_PROTOCOL_LEADING_H
#define FPLT_PROTOCOL_LEADING_H

#include "engine/stopping.h"
#include "fedplt/sum.h"
#include "protocol/leader.h"
#include "protocol/planted.h"

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
    int spent;        /* absent for the rest of the run */
    int answered;     /* the question or the step of facts at hand */
    int enrols;       /* alone: it lost its state, nobody else is concerned */
    int enrolled;     /* in the repair at hand */
    int told;         /* has its version on disk */
    int consented, refused;
    fplt__hessian_word hessian; /* as it said with its consent to the proposal */
    uint64_t session, sequence; /* session 0: never joined */
    uint64_t process;           /* of the session; 0: not known */
    fplt__answer answer[2];
    fplt__answer enrolment;
    fplt__report report; /* that came with the poll */
} fplt__member_session;

struct fplt__leader {
    fplt__leader_settings settings;
    uint64_t now;
    fplt__leader_record record; /* what the store has, or will have after the commit at hand */
    fplt__shared *document, *start, *hub_bytes;
    fplt__agreement *agreement;
    fplt_hub *hub;
    fplt_participation *participation;
    fplt_prox *prox;
    fplt_shape shape;
    size_t n;
    fplt__stopping stopping;
    fplt__member_row *row;
    uint8_t *changed, *cohort, *accepted; /* bitmaps */
    fplt__member_session *member_session;
    uint32_t *active; /* room for all */
    uint64_t sessions;

    /* the open round */
    struct {
        int is_open; /* its question is made */
        fplt_round question;
        unsigned exchange;
        uint32_t received, cohort_size;
        uint64_t since, deadline;
        fplt__shared *down; /* scalars and payload of the question */
        fplt__digest digest;
        uint64_t bytes_up, bytes_down;
    } open;
    struct {
        uint64_t round, since, most; /* ms from task to arrival */
    } slowest[10];                   /* of the last rounds that had a cohort */
    uint64_t slow;                   /* how many there were */
    fplt__closing *closing;          /* owned vectors */
    size_t closing_count, closing_room;
    fplt__trace_row trace;

    int has_rider; /* the update at hand brings the report of a poll */
    fplt__report rider;

    /* an evaluation, or a step of the facts */
    int due, stalled;
    struct {
        unsigned kind; /* 0: nothing is asked */
        uint64_t deadline;
        uint32_t answers; /* members that have answered */
        uint32_t scalars; /* doubles that each member sends */
        uint64_t numbers; /* exact numbers that each member sends */
        unsigned step;    /* of the facts */
        fplt__shared *down;
        fplt__digest digest;
        fplt_sum *sum; /* of the numbers */
    } ask;
    double *point;
    fplt_measure measured;
    int has_measured, has_score;
    int at_zero; /* the question is about the zero vector: what a relative tolerance is a share of */
    double zeroed; /* the criterion there; 0: not asked for */
    fplt_measure score;
    double *information;
    /* the comparison of the agents' vectors with the sums */
    struct {
        int wanted, done, equal; /* asked for; the last one was made, and held */
        uint64_t round;
    } check;
    int resolving;

    fplt_sum *enrol_sum; /* of a repair */

    int paused, committing, failed, finished_said;
    uint64_t commits;
    uint64_t retry, wake;
    double *before, *model, *numbers;
    uint64_t *words;
    size_t word_room;

    fplt__leader_action *action;
    size_t actions, taken, action_room;
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
uint64_t fplt__leader_patience(const fplt__leader *leader);
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

/* --- polls.c --- */
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
void fplt__round_look(fplt__leader *leader);
/* The head of the question to member i, and its position in the cohort. */
void fplt__round_head(const fplt__leader *leader, uint32_t i, uint8_t head[FPLT__FRAME_HEAD]);
/* Whether a member was not heard for a minute, and as long as `size` bytes take on their way to it. */
int fplt__is_silent(const fplt__leader *leader, uint32_t i, uint64_t size);
int fplt__round_waits_for(const fplt__leader *leader, uint32_t i);
/* Updates without which the open round does not close. */
uint32_t fplt__round_quorum(const fplt__leader *leader);
void fplt__round_update(fplt__leader *leader, const fplt__request *request,
                        const fplt__frame *frame, const uint8_t *body);
const fplt__closing *fplt__closing_of(const fplt__leader *leader, uint64_t round);

/* --- asking.c: evaluation, facts --- */
void fplt__ask_begin(fplt__leader *leader);
void fplt__ask_facts(fplt__leader *leader, const fplt__ask *ask);
void fplt__ask_look(fplt__leader *leader);
void fplt__ask_stop(fplt__leader *leader);
void fplt__ask_refused(fplt__leader *leader, uint32_t member_index, const char *sentence);
void fplt__ask_head(const fplt__leader *leader, uint32_t i, uint8_t head[FPLT__FRAME_HEAD]);
void fplt__ask_update(fplt__leader *leader, const fplt__request *request, const fplt__frame *frame,
                      const uint8_t *body);

/* In good standing: neither left out of the run nor revoked. Only such members are waited for, and only
 * their reports can leader to a repair or a halt. */
static inline int fplt__is_standing(const fplt__leader *leader, uint32_t i)
{
    return leader->row[i].standing == FPLT__MEMBER;
}

/* --- repair.c --- */
/* Ends the run, which cannot go on without member i; the last model is kept. */
void fplt__leader_end_without(fplt__leader *leader, uint32_t i, const char *why);
/* Whether all whose vectors are waited for have sent them, or somebody's will never come. */
void fplt__repair_look(fplt__leader *leader);
void fplt__report_act(fplt__leader *leader, uint32_t i);
void fplt__repair_begin(fplt__leader *leader);
void fplt__repair_head(fplt__leader *leader, uint32_t i, uint8_t head[FPLT__FRAME_HEAD],
                       fplt__shared **model);
void fplt__repair_update(fplt__leader *leader, const fplt__request *request,
                         const fplt__frame *frame, const uint8_t *body);

#endif
