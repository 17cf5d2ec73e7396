/* An agent's side of the protocol, without socket, clock or disk: events in, actions out, driven as
 * the coordinator's (protocol/leader.h). One request is under way at a time; after SEND, COMMIT, CHARGE,
 * ASK, GATHER or BUILD the machine waits for the event that answers it.
 *
 * The machine calls the node itself, so an event that carries a task takes as long as training does.
 *
 * States, by what the machine waits for:
 *
 *     waits for   since              leaves with
 *     reply       SEND               REPLY: what it asks for; NETWORK: time
 *     commit      COMMIT             COMMITTED: reply (the request is sent); FULL: COMMIT again after 5 s
 *     charge      CHARGE             CHARGED: commit; SPENT: reply (a report); FULL: time, as if not trained
 *     agreement   ASK                AGREE: commit; REFUSE: reply (the refusal), then the end
 *     facts       GATHER             FACTS: reply; REFUSE: commit, reply (the refusal), then the end
 *     node        BUILD              BUILT: commit or reply (consent); LACKS: reply (START); REFUSE as above
 *     time        a fault, the end   TIME: the request again; a poll; JOIN where the run has ended
 *     nothing     QUIT               never
 *
 * Nothing leaves that is not on disk: acceptance of the last round, staged vectors, the message and
 * the newest proof are committed together before the message is sent, and with privacy the charge is in
 * the ledger before that. */
#ifndef FPLT_PROTOCOL_SITE_H
#define FPLT_PROTOCOL_SITE_H

#include "fedplt/hub_node.h"
#include "protocol/leader.h"
#include "wire/document.h"
#include "wire/frame.h"
#include "wire/message.h"

typedef struct fplt__site fplt__site;

/* --- what is stored ------------------------------------------------------------------------------- */

/* What of a record differs from the last commit. */
enum fplt__site_change {
    FPLT__SITE_RUN = 1,  /* incarnation, version, chain, proof, charges, consent */
    FPLT__SITE_TURN = 2, /* the staged vectors became the kept ones: turn the slot, write nothing */
    FPLT__SITE_KEPT = 4, /* the kept vectors, written whole into the slot in use */
    FPLT__SITE_STAGED = 8, /* staged vectors, into the other slot (after a TURN) */
    FPLT__SITE_HELD = 16,  /* `held` */
    FPLT__SITE_MESSAGES =
        32, /* the round that is staged: incarnation, round, digest, head and all messages;
                                 none is staged: delete */
    FPLT__SITE_ENROLLED = 64, /* enrolled, or its absence */
    FPLT__SITE_SENT = 128     /* the run in which this agent sent its first update */
};

typedef struct fplt__site_message {
    fplt__answer answer; /* task and digest */
    const void *body;    /* the whole frame as it is sent */
    size_t size;
} fplt__site_message;

/* state.db of one run. Pointers are the machine's until the next event; when loading they are the
 * shell's, for the call. */
typedef struct fplt__site_record {
    unsigned changed;
    fplt__digest hash;    /* of the plan, or of the proposal before there is one */
    const void *document; /* its bytes */
    size_t document_size;
    int planned;   /* whether that is the plan */
    int consented; /* to this document */
    uint64_t records;
    uint32_t member_index;
    uint32_t incarnation;
    uint64_t version;
    fplt__digest chain;
    int has_proof;
    fplt__proof proof;
    uint64_t charges; /* rounds computed in this run: the cap counts them */
    uint64_t
        over; /* rounds below it are answered or past: none of them is trained again; the staged one is not */
    /* The newest run in which this agent sent an update, of which authority, and under which plan: it outlives the run. A
     * coordinator that lost its state may begin the same number anew; this agent then refuses. */
    uint32_t sent_run; /* 0: none */
    uint32_t sent_members;
    fplt__digest sent_authority, sent_plan;
    /* vectors: kept_count doubles each */
    const double *kept, *staged;
    size_t kept_count;
    const double *held;
    size_t held_count;
    /* the round that is staged; it has messages, and only it has */
    int has_staged;
    uint32_t staged_leg;
    uint64_t staged_round;
    fplt__digest staged_digest; /* fplt__work_digest of the messages */
    const void *head; /* the task's 192 bytes and its scalars: finish rebuilds the round */
    size_t head_size;
    unsigned messages;
    fplt__site_message message[2]; /* by exchange */
    /* the enrolment of a incarnation that is not open yet */
    int has_enrolled;
    uint32_t enrolled_leg;
    fplt__site_message enrolment;
    const double
        *begin; /* dimension doubles where the incarnation begins afresh at them; NULL: as kept */
    size_t begin_count;
} fplt__site_record;

/* --- settings ------------------------------------------------------------------------------------- */

typedef struct fplt__site_settings {
    int once;               /* ends with the run instead of waiting for the next */
    uint64_t random;        /* of this process: jitter of the waiting times */
    uint32_t least;         /* policy: least roster and least cohort of a task; 0: any */
    uint8_t ledger_key[32]; /* under which `charged` is signed */
    unsigned allows;        /* policy: bit k where questions of kind k are answered, privacy off */
    int allows_exclusion;   /* policy: a sum without noise may lose a member from run to run */
    uint8_t root[32];       /* random, of this process: keys of secure aggregation; never stored */
    uint8_t identity[64];   /* Ed25519 secret key that signs them */
    int has_identity;
    /* Without privacy, before an answer about the point x leaves (kind: TRAIN in its first exchange, or a question):
     * FPLT_FAILED ends the run for this site, and the coordinator hears one word. NULL: everything is answered. */
    fplt_status (*guard)(void *context, unsigned kind, const double *x, fplt_error *error);
    /* Held-out rows at x: value, hits, records and 1 where hits mean something; below 0: hits are withheld. NULL:
     * cannot. */
    fplt_status (*score)(void *context, const double *x, double out[4]);
    void *context;
} fplt__site_settings;

/* What a plan becomes in this process: made by the shell in answer to BUILD. */
typedef struct fplt__site_plan {
    fplt__agreement *agreement; /* taken over */
    fplt_node *node;            /* taken over; begun at the plan's start */
    unsigned withholds;         /* bit k: questions of kind k are not answered in this run */
    char reason[240];           /* of that, for the coordinator; empty: the policy */
} fplt__site_plan;

fplt_status fplt__site_create(const fplt__site_settings *settings, fplt__site **site,
                              fplt_error *error);
void fplt__site_destroy(fplt__site *site);

/* With the newest run of state.db, or NULL; then it joins. `charged`: the ledger's receipt for that run; NULL:
 * nothing was spent. */
fplt_status fplt__site_open(fplt__site *site, uint64_t now, const fplt__site_record *record,
                            const fplt__receipt *charged, fplt_error *error);

/* --- events --------------------------------------------------------------------------------------- */

typedef enum fplt__site_event_kind {
    FPLT__SITE_TIME,
    FPLT__SITE_REPLY,   /* to the SEND under way: status, body, proof */
    FPLT__SITE_NETWORK, /* the SEND failed: it is repeated after 1, 2, 4, .. 30 s */
    FPLT__SITE_COMMITTED,
    FPLT__SITE_FULL,    /* the COMMIT failed: repeated after 5 s; also for CHARGE */
    FPLT__SITE_CHARGED, /* the ledger has it; `charged` is its new receipt */
    FPLT__SITE_SPENT,   /* the ledger refuses: budget; `sentence` */
    FPLT__SITE_AGREE,   /* to ASK */
    FPLT__SITE_REFUSE,  /* to ASK, GATHER or BUILD; `sentence` goes to the coordinator */
    FPLT__SITE_FACTS,   /* to GATHER: `scalars`, `words` */
    FPLT__SITE_BUILT,   /* to BUILD: `plan` */
    FPLT__SITE_LACKS /* to BUILD: the plan begins at a vector; it is fetched, and BUILD asked again */
} fplt__site_event_kind;

typedef struct fplt__site_event {
    fplt__site_event_kind kind;
    uint64_t now;
    unsigned status; /* REPLY */
    const void *body;
    size_t size;
    int has_proof;
    fplt__proof proof;
    fplt__receipt charged;
    uint64_t records; /* AGREE to a proposal */
    fplt__hessian_word hessian;
    const char *sentence;
    const double *scalars; /* FACTS */
    uint32_t scalar_count;
    const uint64_t *words;
    uint64_t numbers;
    fplt__site_plan *plan;
} fplt__site_event;

fplt_status fplt__site_handle(fplt__site *site, const fplt__site_event *event, fplt_error *error);

/* --- actions -------------------------------------------------------------------------------------- */

typedef enum fplt__site_action_kind {
    FPLT__SITE_SEND,   /* `request` (its ticket is 0; member_index is not known before the join) */
    FPLT__SITE_COMMIT, /* `record`, in one transaction of state.db */
    FPLT__SITE_CHARGE, /* commit the charge of (incarnation, round) in ledger.db */
    FPLT__SITE_ADOPT, /* the coordinator returns a larger, validly signed receipt: raise the ledger to
                          `charged`; no answer */
    FPLT__SITE_ASK, /* does policy, --plan or a person agree to `document`? (planned: to the plan) */
    FPLT__SITE_GATHER, /* facts of `step` under the proposal in `document`, to which this or an earlier
                          process agreed with `records`; `down` came with the question */
    FPLT__SITE_BUILD, /* check the plan in `document` against data and policy, make the node; `start`
                          is what the coordinator says the plan begins at, if it was asked */
    FPLT__SITE_RESULT, /* the run ended: `outcome`, `sentence`; `model` has the last model */
    FPLT__SITE_LOG,    /* log `word` and `sentence` */
    FPLT__SITE_QUIT    /* the process ends: superseded, refused for good, or `once` */
} fplt__site_action_kind;

typedef struct fplt__site_action {
    fplt__site_action_kind kind;
    fplt__request request;
    const fplt__site_record *record;
    fplt__receipt charged;
    uint32_t incarnation;
    uint64_t round;
    fplt__digest chain;
    int planned;
    fplt__digest hash;
    const void *document;
    size_t document_size;
    uint64_t records;  /* stated with the consent; ASK, GATHER, BUILD */
    const void *start; /* bytes as they came; NULL: not asked for */
    size_t start_size;
    unsigned step;
    const double *down;
    uint64_t count;
    const double *model;
    size_t dimension;
    char word[FPLT__WORD];
    char sentence[FPLT__SENTENCE];
} fplt__site_action;

const fplt__site_action *fplt__site_action_take(fplt__site *site);
uint64_t fplt__site_wake(const fplt__site *site);

/* --- what can be seen ----------------------------------------------------------------------------- */

typedef struct fplt__site_view {
    int joined, planned, consented;
    uint32_t member_index, incarnation;
    uint64_t version, round; /* of the last task */
    uint64_t charges, cap;
    fplt__digest chain;
} fplt__site_view;

fplt__site_view fplt__site_get_view(const fplt__site *site);
fplt_node *fplt__site_node(fplt__site *site);

#endif
