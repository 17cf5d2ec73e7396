/* The coordinator's side of the protocol, without socket, clock or disk: events in, actions out.
 *
 *     fplt__leader_create(settings)
 *     fplt__leader_open(record as the store has it)
 *     for ever:
 *         fplt__leader_handle(event)                 one at a time
 *         while ((action = fplt__leader_action()))   in this order, each finished before the next
 *             perform it
 *         fplt__leader_wake(): when a TIME event is wanted, if nothing else comes
 *
 * The machine calls the hub itself: hub arithmetic is as pure as it is. Every event has `now`, the
 * milliseconds of a monotonic clock. What a round receives is volatile, only its end is durable: after
 * a COMMIT the machine does nothing until COMMITTED or FAILED comes, and no verdict or task that
 * rests on the commit leaves before. */
#ifndef FPLT_PROTOCOL_LEADER_H
#define FPLT_PROTOCOL_LEADER_H

#include "fedplt/engine.h"
#include "fedplt/participation.h"
#include "fedplt/hub_node.h"
#include "wire/document.h"
#include "wire/frame.h"
#include "wire/message.h"

typedef struct fplt__leader fplt__leader;

/* --- what is stored ------------------------------------------------------------------------------ */

/* States and transitions; each transition is committed before anything that rests on it leaves.
 *
 *     from     to       when
 *     FORMING  PLANNED  PLAN, after all consents and all facts
 *     FORMING  ENDED    REFUSE
 *     PLANNED  ENDED    REFUSE, of a run that a member refused and that does not wait for it
 *     FORMING  DONE     CONCLUDE, of an analysis or of a run that begins a validation
 *     PLANNED  ROUND    all members have consented to the plan
 *     ROUND    ROUND    the round closes, empty where it is void
 *     ROUND    REPAIR   a member lost its state and others depend on it; or opened with --repair
 *     ROUND    HALTED   a valid proof is ahead of this database, or one member needs its third repair
 *     ROUND    DONE     the stopping rules
 *     REPAIR   ROUND    all vectors are in: incarnation + 1
 *     REPAIR   REPAIR   with --repair, a valid proof is ahead: the new incarnation moves past it
 *     REPAIR   HALTED   without --repair, a valid proof is ahead
 *     HALTED   REPAIR   opened with --repair
 *     any with a plan  ENDED  END, a divergence, too few members, or a member that cannot be done without
 *
 * DONE and ENDED are final. */
typedef enum fplt__leader_state {
    FPLT__FORMING, /* the proposal is out; consents and facts are gathered (volatile) */
    FPLT__PLANNED, /* the plan is out; all N must consent to it (volatile) */
    FPLT__ROUND,   /* round `round` is open */
    FPLT__REPAIR,  /* no rounds: all send their mirrored vectors for incarnation + 1 */
    FPLT__HALTED, /* this database is an old copy, or one member needed repair thrice; nothing is sent */
    FPLT__DONE,  /* finished by its own rules */
    FPLT__ENDED, /* ended by a person, a divergence or too few members; the model is kept */
    FPLT__STATES
} fplt__leader_state;
const char *
fplt__leader_state_name(fplt__leader_state state); /* as in run.state; NULL past the last */

typedef enum fplt__standing {
    FPLT__MEMBER,
    FPLT__LEFT_OUT, /* of this run, after three conflicts */
    FPLT__REVOKED
} fplt__standing;

/* One row of `member`. */
typedef struct fplt__member_row {
    uint64_t records;
    uint64_t version;            /* accepted updates in this incarnation */
    fplt__digest chain, before;  /* now, and one version earlier */
    uint64_t last_round;         /* the last accepted one, where version > 0 */
    fplt__digest last_digest;    /* its fplt__work_digest */
    uint64_t seen;               /* updates received over the run, accepted or not: released */
    uint32_t repairs, conflicts; /* caused in this run */
    fplt__standing standing;
    int has_charged; /* the largest receipt of its ledger that this member ever reported */
    fplt__charged charged;
    uint64_t charges; /* rounds of this run that it says it has charged */
} fplt__member_row;

/* What members accepted in `round` finish with; kept until all of them have it on disk. */
typedef struct fplt__closing {
    uint64_t round;
    const double *vector; /* fplt_plan_down(plan, exchanges) numbers */
} fplt__closing;

/* One row of `trace`. */
typedef struct fplt__trace_row {
    uint64_t round;
    uint32_t incarnation;
    const uint8_t *accepted; /* bitmap over the roster: bit i % 8 of byte i / 8 */
    int is_void;             /* committed empty */
    double seconds;
    uint64_t bytes_up, bytes_down;
} fplt__trace_row;

/* The run as a transaction writes it and as it is read at the start. Pointers are the machine's
 * until the next event; when loading they are the shell's, for the call. */
typedef struct fplt__leader_record {
    fplt__leader_state state;
    fplt__digest hash;    /* of `document` */
    const void *document; /* proposal while FORMING, afterwards the plan */
    size_t document_size;
    uint32_t incarnation;
    uint64_t round;        /* the open one: rounds closed so far, counting empty ones */
    const uint8_t *cohort; /* bitmap; of the open round */
    const uint8_t *
        keys; /* of the open round: the list of secure aggregation, 96 bytes a member; NULL: plain */
    size_t keys_size; /* its bytes */
    int has_start;    /* the criterion before round 0, where it was measured */
    fplt_measure start;
    char outcome[FPLT__WORD]; /* of DONE and ENDED: an fplt_outcome_name, or ended, too-few, ... */
    char sentence[FPLT__SENTENCE];
    const void *hub; /* fplt_hub_encode */
    size_t hub_size;
    uint32_t members;
    const fplt__member_row *member;
    const uint8_t *changed; /* bitmap of the rows that differ from the last commit (saving only) */
    const fplt__closing *closing; /* all that must be there after the commit; others are deleted */
    size_t closings;
    const fplt__trace_row *trace; /* a row to add, or NULL */
    /* which columns differ from the last commit (saving only) */
    int document_changed, hub_changed, keys_changed;
    /* A criterion learnt since the last commit: belongs to the trace row of `measured_round`. */
    int has_measure;
    uint64_t measured_round; /* rounds done when it was taken; the row is measured_round - 1 */
    fplt_measure measure;
} fplt__leader_record;

/* --- settings ------------------------------------------------------------------------------------- */

typedef struct fplt__leader_settings {
    uint32_t members;
    uint8_t receipt_key[32];
    uint64_t process;  /* random, of this process: session numbers of another are told apart */
    uint64_t deadline; /* ms; 0: auto */
    uint64_t hold;     /* ms that a poll is held; 0: 25 s */
    uint64_t silence;  /* ms unheard after which a member delays no round with a quorum; 0: 60 s */
    uint64_t absence;  /* ms unheard after which a repair no longer waits for a member; 0: 1 h */
    int repair; /* --repair: a halted run begins a new incarnation; not for a run without rounds */
    /* asks at the end for what standard errors are made from (kind 9) where the model has at most so many coefficients;
     * privacy off */
    size_t inform_to;
    int check;   /* compares the agents' vectors with the sum (kind 10) at the end */
    int follows; /* another run follows a run that is done, unless a member withheld sums for standard errors: members are told
                  * not to end with this one */
    int optional; /* members hear the end of this run also where it was refused before there was a plan */
} fplt__leader_settings;

/* What a plan becomes in this process: made by the shell, taken over by the machine. */
typedef struct fplt__leader_plan {
    fplt__agreement *agreement; /* owned by the machine from here on (cleared and fplt__free'd) */
    fplt_hub *hub;              /* owned; enrolled with N times the start where incarnation is 0 */
    fplt_participation *participation; /* owned; NULL: all */
    fplt_prox *prox;                   /* owned; borrowed by the hub; NULL: h = 0 */
    const double *start;               /* borrowed for the call; NULL: the zero vector */
} fplt__leader_plan;

fplt_status fplt__leader_create(const fplt__leader_settings *settings, fplt__leader **leader,
                                fplt_error *error);
void fplt__leader_destroy(fplt__leader *leader);

/* A run that is new (FORMING, with the proposal; commit that record first) or read from the store. From
 * PLANNED on `plan` must be given (NULL where a run was refused before there was one); its hub is set to the stored state. Actions may follow. */
fplt_status fplt__leader_open(fplt__leader *leader, uint64_t now, const fplt__leader_record *record,
                              fplt__leader_plan *plan, fplt_error *error);

/* This run begins where another ended, whose plan and last model these are (copied): a member that has not heard of that
 * end is told when it asks. After fplt__leader_open(). */
fplt_status fplt__leader_follow(fplt__leader *leader, const fplt__digest *plan, const double *model,
                                size_t count, fplt_error *error);
/* Another run takes the place of this one: every held poll is answered with a fault that sends its member to it. Take
 * the actions, then destroy. */
void fplt__leader_dismiss(fplt__leader *leader);

/* Deadline and silence may change while it runs (SIGHUP). */
void fplt__leader_reload(fplt__leader *leader, const fplt__leader_settings *settings);

/* --- events --------------------------------------------------------------------------------------- */

typedef enum fplt__leader_event_kind {
    FPLT__LEADER_TIME,    /* time passed; nothing else */
    FPLT__LEADER_REQUEST, /* `request`: always answered by one REPLY with its ticket, now or later */
    FPLT__LEADER_GONE,    /* the client of `ticket` is gone: no REPLY for it any more */
    FPLT__LEADER_HEARD,   /* of `member_index`: a long message from it or to it is on its way */
    FPLT__LEADER_COMMITTED,
    FPLT__LEADER_FAILED, /* the COMMIT did not succeed (disk full): it comes again after 5 s */
    FPLT__LEADER_ASK,    /* answers RESOLVE: one more step of facts; `ask` */
    FPLT__LEADER_PLAN,   /* answers RESOLVE: the plan; `document` and `plan` */
    FPLT__LEADER_REFUSE, /* no plan can be made, or before round 0 a member refused that the run is not to wait for;
                          * `sentence`: the run ends */
    FPLT__LEADER_CONCLUDE, /* answers RESOLVE: the facts were all that was wanted, an analysis; `sentence`: the run is DONE */
    FPLT__LEADER_PAUSE,
    FPLT__LEADER_RESUME,
    FPLT__LEADER_END,   /* by a person; the model is kept */
    FPLT__LEADER_CHECK, /* after the round at hand: do the agents' vectors add up to the sum? */
    FPLT__LEADER_REVOKE /* of `member_index`: its requests no longer arrive here */
} fplt__leader_event_kind;

typedef enum fplt__request_kind {
    FPLT__JOIN,    /* POST /join; session and sequence are 0 */
    FPLT__CONSENT, /* POST /consent: fplt__consent */
    FPLT__NEXT,    /* POST /next: fplt__report */
    FPLT__UPDATE, /* PUT /update: one frame, and behind it a fplt__report or nothing. With one it is
                     * an update and, where that is taken, at once the poll that would follow */
    FPLT__DOCUMENT, /* GET /plan: needs no session */
    FPLT__START,    /* GET /start: the start vector, doubles; needs no session */
    FPLT__MODEL /* GET /model: the last model, doubles; needs no session; 409 `running` before the end */
} fplt__request_kind;

typedef struct fplt__request {
    uint64_t ticket; /* the shell's name for it; not 0 */
    fplt__request_kind kind;
    uint32_t member_index;
    uint64_t session, sequence;
    const void *body;
    size_t size;
    const fplt__digest *digest; /* of the frame's content in the body; NULL: not known yet */
} fplt__request;

/* A step of the facts: frames of kind MOMENTS with exchange = step. */
typedef struct fplt__ask {
    unsigned step;
    const double *down; /* `count` doubles that go with the question (borrowed for the call) */
    uint64_t count;
    uint32_t scalars; /* doubles that each member sends */
    uint64_t numbers; /* exact numbers (words) that each member sends */
} fplt__ask;

typedef struct fplt__leader_event {
    fplt__leader_event_kind kind;
    uint64_t now;
    fplt__request request;
    uint64_t ticket;
    uint32_t member_index;
    fplt__ask ask;
    const void *document; /* PLAN: bytes as sent */
    size_t document_size;
    fplt__leader_plan *plan;
    const char *sentence;
} fplt__leader_event;

/* FPLT_NO_MEMORY is the only failure; the machine is then as before the event, but for actions that
 * are out already. */
fplt_status fplt__leader_handle(fplt__leader *leader, const fplt__leader_event *event,
                                fplt_error *error);

/* Before the body of an update is read: 0 go on, else the status to answer with (`fault` filled): a
 * head that cannot be part of the open round is refused without a buffer for its body. */
unsigned fplt__leader_peek(fplt__leader *leader, const fplt__request *request,
                           const uint8_t head[FPLT__FRAME_HEAD], uint64_t content_length,
                           fplt__fault *fault);
/* No request may be longer than this. */
uint64_t fplt__leader_longest(const fplt__leader *leader);

/* --- actions -------------------------------------------------------------------------------------- */

typedef enum fplt__leader_action_kind {
    FPLT__LEADER_REPLY, /* answer `ticket` */
    FPLT__LEADER_COMMIT, /* write `record` in one transaction, then COMMITTED or FAILED as next event */
    FPLT__LEADER_FACTS, /* a member's facts of a step: remember them (a member may repeat them) */
    FPLT__LEADER_RESOLVE, /* all consents (step < 0) or all facts of `step` are in: ASK, PLAN or REFUSE */
    FPLT__LEADER_MEASURED, /* `measure` was taken after `round` rounds (and `score`, `information`) */
    FPLT__LEADER_LOG,      /* log `word` and `sentence` */
    FPLT__LEADER_FINISHED /* the run is DONE or ENDED and that is committed: write model and report */
} fplt__leader_action_kind;

/* Bytes that several answers share. */
typedef struct fplt__shared fplt__shared;
void fplt__shared_hold(fplt__shared *shared);    /* not for two threads at once */
void fplt__shared_release(fplt__shared *shared); /* NULL is legal */

enum { FPLT__REPLY_PARTS = 8 };

typedef struct fplt__reply {
    uint64_t ticket;
    uint32_t member_index;
    unsigned status;       /* 200, 202, 204, 409, ... */
    char word[FPLT__WORD]; /* of a fault; else empty */
    int json;              /* the body is JSON, else frames or raw bytes */
    unsigned parts;        /* the body, one behind the other; none: empty */
    struct {
        const void *bytes;
        size_t size;
        fplt__shared *owner; /* hold it until the bytes are sent; NULL: copy them now */
    } part[FPLT__REPLY_PARTS];
    int has_proof; /* header Fedplt-Proof */
    fplt__proof proof;
    fplt__digest etag; /* of DOCUMENT */
} fplt__reply;

typedef struct fplt__leader_action {
    fplt__leader_action_kind kind;
    fplt__reply reply;
    const fplt__leader_record *record;
    int step;
    uint32_t member_index;
    const double *scalars; /* FACTS */
    double *owned;         /* the machine's own */
    const uint64_t *words;
    uint64_t numbers;
    uint64_t round;
    fplt_measure measure;
    int has_score;
    fplt_measure score;        /* of held-out rows; without criterion */
    const double *information; /* dimension x dimension, or NULL */
    char word[FPLT__WORD]; /* joined, consent, refused, opened, closed, late, void, conflict, lost,
                                  halted, repair, incarnation, disk, trouble, done */
    char sentence[FPLT__SENTENCE];
} fplt__leader_action;

/* Whether a fault of this word is one that an honest agent does not cause; the rest happens on any
 * network. */
int fplt__leader_is_violation(const char *word);
/* The oldest action not yet taken, or NULL; valid until the next event. */
const fplt__leader_action *fplt__leader_action_take(fplt__leader *leader);
/* When TIME is wanted; UINT64_MAX: never. */
uint64_t fplt__leader_wake(const fplt__leader *leader);

/* --- what can be seen ----------------------------------------------------------------------------- */

typedef struct fplt__member_view {
    fplt__standing standing;
    int joined, consented, refused, in_cohort, received, absent; /* absent: trouble in this round */
    fplt__hessian_word hessian;
    const uint8_t *identity; /* that came with its consent, 32 bytes; NULL: none */
    int waited_for;          /* by the round, the question, the repair or the agreement at hand */
    int heard;               /* ever, by this process */
    uint64_t last_heard;     /* ms of the same clock */
    uint64_t version;
    const fplt__member_row *row;
} fplt__member_view;

typedef struct fplt__leader_view {
    fplt__leader_state state;
    int paused, committing, evaluating;
    int opened_now; /* a round is open and its question is out */
    uint32_t incarnation, members, cohort, received, quorum;
    uint64_t round, rounds, opened, deadline; /* ms: when opened, when it may close short of all */
    int has_measure;
    fplt_measure measure;
    const char *outcome, *sentence;
    const char
        *withheld; /* why there are no sums for standard errors; empty: no member withheld them */
    uint32_t withheld_by;               /* the member */
    int follows;                        /* the run is done, and its members expect another */
    int checks, has_check, check_equal; /* one is due; the last one was made, and held */
    uint64_t check_round;
    /* secure aggregation: whether it is on, the stage at hand, members left in the session, lists and void rounds since
     * the process began */
    int secure;
    const char *stage;
    uint32_t left;
    uint64_t lists, whole_rounds, short_rounds, void_rounds;
} fplt__leader_view;

fplt__leader_view fplt__leader_get_view(const fplt__leader *leader);
fplt__member_view fplt__leader_member(const fplt__leader *leader, uint32_t member_index);
fplt_hub *fplt__leader_hub(fplt__leader *leader); /* NULL before there is a plan */
const fplt__agreement *fplt__leader_agreement(const fplt__leader *leader);

#endif
