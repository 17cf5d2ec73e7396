/* The coordinator's process: servers, state on disk and the protocol's machine in one loop on one thread.
 * A few others lend a hand (base/hands.h) with what is long: the digest of a large message, and adding it.
 * coordinator.c has its life and loop, opening.c how store and servers are opened, reload.c what SIGHUP changes,
 * requests.c what comes over HTTP, proposing.c the proposal of the settings, planning.c the way from facts to a plan, starting.c where a run begins, status.c what can be seen from outside, results.c what is left
 * at the end. */
#ifndef FPLT_FEDERATION_COORDINATOR_H
#define FPLT_FEDERATION_COORDINATOR_H

#include <jansson.h>

#include "base/parallel.h"
#include "engine/pool.h"
#include "audit/audit.h"
#include "fedplt/federation.h"
#include "pki/authority.h"
#include "federation/coordinator/door.h"
#include "http/server.h"
#include "federation/plan/analysis.h"
#include "federation/plan/plan_resolution.h"
#include "federation/plan/preparation.h"
#include "federation/plan/following.h"
#include "federation/plan/validation.h"
#include "base/sum.h"
#include "protocol/leader.h"
#include "store/leader.h"

enum { FPLT__POINTS = 2000 }; /* of the criterion's curve that are kept for the page */

/* What became of updates, and why requests were refused: counted since the process began. */
typedef enum fplt__verdict {
    FPLT__UPDATE_ACCEPTED, /* in a round that is closed and committed */
    FPLT__UPDATE_LATE,
    FPLT__UPDATE_REFUSED,
    FPLT__UPDATE_CONFLICT,
    FPLT__VERDICTS
} fplt__verdict;
enum { FPLT__REASONS = 11 };
extern const char *const fplt__coordinator_reasons[FPLT__REASONS];

/* What the coordinator knows of a connection; zeros at first. */
typedef struct fplt__coordinator_peer {
    fplt__identity identity; /* of the certificate; role NONE: there is none */
    uint32_t place;          /* in the roster, from 1; 0: not found there */
    double judged;           /* when the certificate was found in force; 0: not yet */
} fplt__coordinator_peer;

/* The answer to a member that has the end of the run and the last model. */
enum {
    FPLT__LAST_NONE, /* not sent, or on a connection that broke: the member will ask again */
    FPLT__LAST_SENT,
    FPLT__LAST_ARRIVED /* the member closed the connection in good order */
};

/* One measurement. */
struct fplt__point {
    uint64_t round;
    double criterion;
};

/* Events of a member in a minute. */
struct fplt__notes {
    double since;
    unsigned count;
};

/* Authority and own certificate. */
struct fplt__coordinator_pki {
    fplt__authority authority;
    fplt__identity self; /* of the certificate that is shown */
    double end_checked;  /* when its last day was looked at; 0: not yet */
};

/* Where connections come in. */
struct fplt__coordinator_doors {
    char listen[300];                          /* address for agents */
    fplt__server *agents, *invitations, *page; /* invitations: open while there are any */
    fplt__door keeper;                         /* of the invitations */
    unsigned max_strangers;                    /* connections without a certificate */
    int control;                               /* the socket of `federation status`, or -1 */
    double checked;                            /* when invitations were looked for */
};

/* Where a member came from last, and when that was stored. */
struct fplt__coordinator_address {
    char text[FPLT__HTTP_ADDRESS];
    double stored;
};

/* When the table of certificates was read. */
struct fplt__coordinator_revocation {
    double asked, since; /* its version was asked for; it is unchanged since */
    uint64_t version;
    double roster_checked; /* the whole roster was looked up, in which version */
    uint64_t roster_version;
};

/* The log line about members that keep the others waiting. */
struct fplt__coordinator_waiting {
    double checked, since, logged; /* logged 0: not yet */
    uint64_t at;                   /* the state and round of that */
};

/* Where the run begins. */
struct fplt__coordinator_start {
    int continued;   /* at the last model of the run before */
    char file[4200]; /* or at the model in this file; empty: at zero */
    double *vector;  /* owned; NULL: at zero */
    size_t count;
    char *names;            /* owned: what they belong to (plan/naming.h); NULL: not known */
    fplt__digest continues; /* the plan of the run before; zeros: none */
};

/* Preparation (plan/preparation.h). All owned. */
struct fplt__coordinator_preparing {
    fplt_settings *settings; /* of the proposal, for the texts of `wanted` */
    fplt__preparation wanted;
    fplt__sum *sum;
    double *largest,
        *unit;       /* of each column: its largest absolute value, and the unit of its sum */
    double *counted; /* the numbers of FPLT__FACTS_COUNTS, over all members */
    double *spread;  /* those of FPLT__FACTS_CELLS */
    double *fill;    /* what was found */
    uint64_t *class_rows;
};

/* Facts of the data: one entry a member, or one a column. All owned. */
struct fplt__coordinator_facts {
    fplt__form form;
    uint64_t *records;
    fplt_curvature_bounds *curvature;
    double *scalars;
    char **names;     /* each owned: what the members' files have (wire/dictionary.h) */
    char *dictionary; /* of the run; NULL: by the schema */
    struct fplt__coordinator_polys *polys; /* polynomials.c; NULL: not asked for */
    char *formula_numbers;                 /* of these; NULL: there are none */
    uint8_t *counted;                      /* whose sums are in `sum` */
    fplt__sum *sum;
    double *ranges, *unit, *mean, *scale;
    double *down; /* what goes with a question: members, records, means and scales */
    struct fplt__coordinator_preparing preparing;
};

/* An analysis (plan/analysis.h) instead of training. All owned; `analysis` NULL: none is under way. */
struct fplt__coordinator_analysis {
    fplt__analysis *analysis;
    uint64_t **words; /* one a member; NULL: it has not answered */
    uint32_t answered;
    fplt__analysis_report report;
    int is_made;    /* the report is there */
    char path[512]; /* of its text */
    double
        write_at; /* when it is written again after the disk was full; 0: it is on disk, or not made */
};

/* What status page and metrics show. */
struct fplt__coordinator_seen {
    struct fplt__point point[FPLT__POINTS];
    size_t points;
    int has_score;
    fplt_measure score;  /* of the rows that sites hold out, the last */
    double *information; /* owned: behind standard errors; NULL: not asked for */
    uint64_t requests, refusals, commits;
    uint64_t update[FPLT__VERDICTS], refused[FPLT__REASONS];
    double commit_seconds, started;
};

/* What the runs that follow from the run of the settings came to: members that were excluded since, and what the next run
 * is. */
struct fplt__coordinator_exclusion {
    uint32_t run; /* number of the run at hand; 0: that of the settings */
    size_t count, room;
    char (*name)[FPLT__NAME];     /* owned */
    int continued;                /* it goes on at the last model */
    fplt__continuing follows;     /* how the newest of these runs begins */
    char epsilon[32], rounds[32]; /* what is left of the promise; empty: as in the settings */
};

/* A validation (plan/validation.h). What it came to is kept while its runs follow each other. */
struct fplt__coordinator_validation {
    fplt__validation plan;
    char text[FPLT__VALIDATION_TEXT]; /* as the first proposal has it; empty: there is none */
    uint32_t folds;                   /* 0: not dealt yet */
    uint32_t least,
        least_of; /* folds that a member can have at most, and which one has the least */
    struct fplt__coordinator_fit {
        uint64_t rows,
            hits;    /* that were left out, and of them called rightly; rows 0: not fitted yet */
        double loss; /* sum over these rows */
    } * fit;         /* owned: values x folds */
    size_t fits;     /* that are done */
    char measure[FPLT__WORD]; /* besides the loss: accuracy or rmse; or only the loss */
    int is_unsaved;           /* the last fit is not on disk */
};

/* The end of the run. */
struct fplt__coordinator_end {
    int is_reached;
    double at;
    double write_at; /* when the model that could not be written is tried again; 0: it is there */
    double receipts; /* sum of the charges that are kept by name */
    char refusal
        [FPLT__SENTENCE]; /* of a run that follows, with the name of the member; empty: none refused */
    fplt_federation_outcome outcome;
};

struct fplt__coordinator;

/* Answers that are due to the machine, and why the loop ends. */
struct fplt__coordinator_turn {
    /* coordinator.c: gives an event to the machine and does all that follows */
    void (*handle)(struct fplt__coordinator *coordinator, fplt__leader_event *event);
    int acting, has_next, resolves, step;
    int restarts; /* another run follows, which is opened next */
    fplt__leader_event next;
    fplt_status failure;
    fplt_error error;
};

typedef struct fplt__coordinator {
    fplt__parallel hands;          /* first: the pool's are found by it */
    fplt__pool *pool;              /* NULL: no help */
    const fplt_settings *settings; /* borrowed */
    const fplt_federation_watch *watch;
    char folder[2048];
    fplt__leader_store *store;
    fplt__leader *leader;
    fplt__audit *audit;
    /* the run and its members */
    uint32_t run, members;
    char (*roster)[FPLT__NAME];
    uint8_t *revoked;          /* one a member: told the machine */
    uint8_t *last;             /* one a member: how far the answer with the last model is */
    struct fplt__notes *notes; /* one a member */
    struct fplt__coordinator_address *address; /* one a member */
    fplt__proposal proposal;
    fplt__digest hash; /* of the proposal */

    struct fplt__coordinator_pki pki;
    struct fplt__coordinator_doors doors;
    struct fplt__coordinator_revocation revocation;
    struct fplt__coordinator_waiting waiting;
    struct fplt__coordinator_exclusion excluded;
    struct fplt__coordinator_start start;
    struct fplt__coordinator_facts facts;
    struct fplt__coordinator_analysis analysis;
    struct fplt__coordinator_validation validation;
    struct fplt__coordinator_seen seen;
    struct fplt__coordinator_end end;
    struct fplt__coordinator_turn turn;
} fplt__coordinator;

/* events.c */

/* Milliseconds of the clock that the machine is told. */
uint64_t fplt__coordinator_now(void);
/* Gives the event to the machine and does all that follows. */
void fplt__coordinator_handle(fplt__coordinator *coordinator, fplt__leader_event *event);
/* An event with its sentence and criterion (NaN: not measured), into the record and to the watch; `identity` -1: nobody's. */
void fplt__coordinator_report(fplt__coordinator *coordinator, int64_t identity, const char *word,
                              const char *sentence, double criterion);
/* Logs. `identity` -1: nobody's. */
void fplt__coordinator_log(fplt__coordinator *coordinator, int64_t identity, const char *word,
                           const char *format, ...) FPLT_PRINTF(4, 5);

/* A file of the settings, relative to the folder; `inside` NULL: the file itself. */
void fplt__coordinator_path(const fplt__coordinator *coordinator, const char *file,
                            const char *inside, char *path, size_t size);

/* Where the results go, made if it is not there: `out`, and for a run that was ended by an exclusion a folder of its
 * number inside. */
void fplt__coordinator_make_out(const fplt__coordinator *coordinator, char out[4200]);

/* record.c */
fplt_status fplt__coordinator_open_record(fplt__coordinator *coordinator, fplt_error *error);
/* Appends an event to the audit log. */
void fplt__coordinator_record(fplt__coordinator *coordinator, const fplt_federation_event *event);
/* The head of a member's log, which was signed. */
void fplt__coordinator_record_head(fplt__coordinator *coordinator, const char *member,
                                   const fplt__audit_head *head);
/* Answers a request for a signature. */
void fplt__coordinator_sign_log(fplt__coordinator *coordinator, fplt__http_transaction *transaction,
                                uint32_t member);

/* opening.c */
/* Reads settings, authority and certificate, and makes the proposal; nothing is opened. */
fplt_status fplt__coordinator_prepare(fplt__coordinator *coordinator, fplt_error *error);
/* Prepares and opens store, machine and servers. */
fplt_status fplt__coordinator_open(fplt__coordinator *coordinator, fplt_error *error);
/* The run that follows an exclusion, after fplt__coordinator_close_run(): store and servers stay open. */
fplt_status fplt__coordinator_open_next(fplt__coordinator *coordinator, fplt_error *error);
/* How much a closing vector is, for the store. */
void fplt__coordinator_set_closing(fplt__coordinator *coordinator,
                                   const fplt__agreement *agreement);

/* What the settings say of the run's conduct. */
fplt__leader_settings fplt__coordinator_lead_settings(const fplt__coordinator *coordinator,
                                                      const fplt_settings *settings);
/* The server that agents connect to, where the settings say, with the certificate that the authority has. */
fplt_status fplt__coordinator_open_server(fplt__coordinator *coordinator,
                                          const fplt__authority *authority,
                                          const fplt_settings *settings, fplt__server **server,
                                          fplt_error *error);

/* reload.c */
/* Whether agents would accept the certificate of the coordinator: its key, authority, purpose and dates. */
fplt_status fplt__coordinator_check_certificate(const fplt__coordinator *coordinator,
                                                const fplt__authority *authority,
                                                fplt__identity *self, fplt_error *error);
/* Reads settings and certificate again. All is read and checked before anything changes; the log says what became of
 * it. */
void fplt__coordinator_reload(fplt__coordinator *coordinator);

/* requests.c */
/* Counts a refusal by its word. */
void fplt__coordinator_refused(fplt__coordinator *coordinator, const char *reason);
/* A member whose certificates are all revoked takes no further part in the run; -1: nobody. */
void fplt__coordinator_revoke(fplt__coordinator *coordinator, int64_t identity);
fplt__service fplt__coordinator_service(fplt__coordinator *coordinator);
void fplt__coordinator_reply(fplt__coordinator *coordinator, const fplt__reply *reply);

/* revoked.c */
/* Looks for revoked members in the table of certificates, once a second. */
void fplt__coordinator_tend_revoked(fplt__coordinator *coordinator);

/* starting.c */
/* What the settings say about it; the proposal's settings get `start`. */
fplt_status fplt__coordinator_read_start(fplt__coordinator *coordinator, fplt_error *error);
/* The vector of a new run, stored. */
fplt_status fplt__coordinator_begin(fplt__coordinator *coordinator, fplt_error *error);
/* The vector of a run that goes on, as it was stored; `changed`: the file is there and has another. */
fplt_status fplt__coordinator_begun(fplt__coordinator *coordinator, int *changed,
                                    fplt_error *error);
/* Into the plan. */
fplt_status fplt__coordinator_state_start(const fplt__coordinator *coordinator,
                                          fplt__agreement *agreement, fplt_error *error);

/* proposing.c */
/* The proposal of the settings, with a new nonce. */
fplt_status fplt__coordinator_propose(fplt__coordinator *coordinator, fplt_error *error);
/* A coordinator that only proposes, with other settings or exclusions than this one; its proposal is to be cleared, and
 * itself released with fplt__free. It borrows all else. */
fplt_status fplt__coordinator_rehearse(const fplt__coordinator *coordinator,
                                       const fplt_settings *settings, fplt__coordinator **other,
                                       fplt_error *error);
/* The proposal of a run as it was stored, from its plan where there is one; empty where neither can be read. To be
 * cleared. */
void fplt__coordinator_stored_proposal(fplt__leader_store *store, uint32_t run,
                                       fplt__proposal *proposal);
/* Compares the stored document with the settings, and rejects changes that a run does not allow. */
fplt_status fplt__coordinator_compare(const fplt__coordinator *coordinator,
                                      const fplt__proposal *stored, fplt_error *error);

/* planning.c */
void fplt__coordinator_remember(fplt__coordinator *coordinator, const fplt__leader_action *action);
void fplt__coordinator_forget(fplt__coordinator *coordinator); /* the facts */

/* preparing.c */

/* Asks the next question about facts. */
void fplt__coordinator_ask(fplt__coordinator *coordinator, unsigned step, const double *down,
                           uint64_t count, uint32_t scalars, uint64_t numbers);
/* Begins the preparation of a run whose columns are settled; `wanted`: 0 where it has none. */
fplt_status fplt__coordinator_begin_preparing(fplt__coordinator *coordinator, int *wanted,
                                              fplt_error *error);
/* The next question after all have answered `step`, which is SPANS, COUNTS or CELLS. */
fplt_status fplt__coordinator_go_on_preparing(fplt__coordinator *coordinator, int step,
                                              fplt_error *error);
void fplt__coordinator_remember_preparation(fplt__coordinator *coordinator,
                                            const fplt__leader_action *action);
void fplt__coordinator_forget_preparation(fplt__coordinator *coordinator);

/* analysing.c */

/* Asks all members for their counts. */
fplt_status fplt__coordinator_begin_analysis(fplt__coordinator *coordinator, fplt_error *error);
void fplt__coordinator_remember_analysis(fplt__coordinator *coordinator,
                                         const fplt__leader_action *action);
/* All have answered: makes the report, writes it, and ends the run once it is on disk. FPLT_BAD_DATA names the member whose
 * numbers cannot be. */
fplt_status fplt__coordinator_end_analysis(fplt__coordinator *coordinator, fplt_error *error);
/* Tries again what could not be written. */
void fplt__coordinator_tend_analysis(fplt__coordinator *coordinator);
void fplt__coordinator_forget_analysis(fplt__coordinator *coordinator);
/* Refuses where training is not over in the folder: agents keep the state of one run, and an analysis is another. Analyses
 * have a state of their own, analysis.db, so that they take no number of a training run. */
fplt_status fplt__coordinator_check_idle(const char *folder, fplt_error *error);
/* Adds `analysis` to the status: its kind, how many answered, and the result once it is there. */
void fplt__coordinator_add_analysis(const fplt__coordinator *coordinator, json_t *status);

/* polynomials.c */

/* The steps of the polynomials of a formula. Asks for the first where there are any; the rest follows
 * from take, and ends with the step FPLT__FACTS_POLYS_KNOWN. */
fplt_status fplt__coordinator_ask_polys(fplt__coordinator *coordinator, int *asked,
                                        fplt_error *error);
void fplt__coordinator_remember_polys(fplt__coordinator *coordinator,
                                      const fplt__leader_action *action);
fplt_status fplt__coordinator_take_polys(fplt__coordinator *coordinator, unsigned step,
                                         fplt_error *error);
void fplt__coordinator_forget_polys(fplt__coordinator *coordinator);
/* Answers RESOLVE. */
void fplt__coordinator_resolve(fplt__coordinator *coordinator, int step);

/* results.c */
/* Model, certificate and page of a run that is over; nothing where no plan was made. Without the page
 * the others stay, and the log says so. */
fplt_status fplt__coordinator_write(fplt__coordinator *coordinator, fplt_error *error);
/* Adds `errors_withheld` (the site that withholds the sums for standard errors, and its setting) and `held_out` (the last
 * score of held-out rows) where there are any. */
void fplt__coordinator_add_findings(const fplt__coordinator *coordinator, json_t *object);

/* status.c */
/* Who is waited for, and since when: empty while nobody is late. */
void fplt__coordinator_waiting(const fplt__coordinator *coordinator, char *sentence, size_t size);
char *fplt__coordinator_status(const fplt__coordinator *coordinator);  /* JSON; free */
char *fplt__coordinator_metrics(const fplt__coordinator *coordinator); /* free */
fplt__service fplt__coordinator_page(fplt__coordinator *coordinator);

/* commands.c */
/* Answers one client of the control socket, if there is one. */
void fplt__coordinator_serve_control(fplt__coordinator *coordinator);

/* validating.c */
/* Makes of the proposal, which begins a validation, that of the part which the run at hand is. */
fplt_status fplt__coordinator_state_part(fplt__coordinator *coordinator, fplt__proposal *proposal,
                                         fplt_error *error);
/* Asks the members how many folds they can have; `asked`: 0 where the run begins no validation. */
void fplt__coordinator_ask_folds(fplt__coordinator *coordinator, int *asked);
void fplt__coordinator_remember_folds(fplt__coordinator *coordinator,
                                      const fplt__leader_action *action);
/* All have answered: settles the number of folds and ends the run. */
fplt_status fplt__coordinator_deal_folds(fplt__coordinator *coordinator, fplt_error *error);
/* After a measurement: keeps the score of a fit that has ended. */
void fplt__coordinator_keep_fit(fplt__coordinator *coordinator);
/* After a run of a validation that is done: goes on with the next. FPLT_FAILED: there is no score. */
fplt_status fplt__coordinator_begin_part(fplt__coordinator *coordinator, fplt_error *error);
/* Adds `validation` to the status: how many fits are done, and the result once it is there. */
void fplt__coordinator_add_validation(const fplt__coordinator *coordinator, json_t *status);
/* Adds `validated` to the record of the fit that a validation ends with. */
void fplt__coordinator_record_validation(const fplt__coordinator *coordinator, json_t *record);
void fplt__coordinator_forget_validation(fplt__coordinator *coordinator);

/* refitting.c */
/* Whether a run that is done is followed by the next part of a validation or by its refit, as far as is known when it is
 * opened: no site withheld what the refit asks for. */
int fplt__coordinator_is_followed(const fplt__coordinator *coordinator);
/* After a run that another follows: goes on with that one. In a run that follows: ends it where a member refuses it. */
void fplt__coordinator_tend_following(fplt__coordinator *coordinator);
/* Puts the model of a refit, which is taken over, into that of the run before, or why there is none. `model`: out, the whole. */
fplt_status fplt__coordinator_join_refit(fplt__coordinator *coordinator, fplt_model *refit,
                                         const char *path, fplt_model **model, fplt_error *error);
/* Whether model.json has what this refit came to. */
int fplt__coordinator_has_refit(const fplt__coordinator *coordinator);

/* succession.c */
/* The stored runs that follow from the run of the settings. */
fplt_status fplt__coordinator_read_successions(fplt__coordinator *coordinator, fplt_error *error);
void fplt__coordinator_clear_successions(fplt__coordinator *coordinator);
/* Ends run `run` and records that the next goes on without the member, in one transaction; before the first round the
 * run itself begins anew. `sentence` says what was done. The last commit must be on disk. */
fplt_status fplt__coordinator_exclude(fplt__leader_store *store, uint32_t run, const char *name,
                                      char sentence[FPLT__SENTENCE], fplt_error *error);
/* Records that a run at the last model of finished run `run` follows, with fewer rows of the member; once, however often it
 * is asked for. `base`: out, the run of the settings that it follows from. Members that were excluded stay so. */
fplt_status fplt__coordinator_withdraw(fplt__leader_store *store, uint32_t run, const char *name,
                                       uint32_t *base, fplt_error *error);
/* Records that the run at hand, which is done, is followed by another under the same consent. */
fplt_status fplt__coordinator_succeed(fplt__coordinator *coordinator, fplt__continuing how,
                                      const char *sentence, fplt_error *error);
/* The state of the federation in a folder in which no coordinator runs. */
fplt_status fplt__coordinator_open_offline(const char *folder, fplt__leader_store **store,
                                           fplt_error *error);

#endif
