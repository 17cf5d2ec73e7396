/* The coordinator's process: servers, state on disk and the protocol's machine in one loop on one thread.
 * A few others lend a hand (base/hands.h) with what is long: the digest of a large message, and adding it.
 * coordinator.c has its life and loop, opening.c how store and servers are opened, reload.c what SIGHUP changes,
 * requests.c what comes over HTTP, planning.c the way from settings to a plan, starting.c where a run begins, status.c what can be seen from outside, results.c what is left
 * at the end. */
#ifndef FPLT_FEDERATION_COORDINATOR_H
#define FPLT_FEDERATION_COORDINATOR_H

#include "base/parallel.h"
#include "engine/pool.h"
#include "fedplt/federation.h"
#include "pki/authority.h"
#include "federation/coordinator/door.h"
#include "http/server.h"
#include "federation/plan/plan_resolution.h"
#include "fedplt/sum.h"
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

typedef struct fplt__coordinator {
    fplt__parallel hands;          /* first: the pool's are found by it */
    fplt__pool *pool;              /* NULL: no help */
    const fplt_settings *settings; /* borrowed */
    const fplt_federation_watch *watch;
    char folder[2048];
    char listen[300]; /* where it listens */
    fplt__authority authority;
    fplt__identity self;      /* of the certificate that is shown */
    double certificate_asked; /* when its end was looked at last; 0: not yet */
    fplt__leader_store *store;
    fplt__leader *leader;
    fplt__server *server, *door, *page; /* door: open while there are invitations */
    fplt__door doorkeeper;
    unsigned max_strangers;    /* connections without a certificate */
    struct fplt__notes *notes; /* one a member */
    int control;               /* the socket of `federation status`, or -1 */
    double door_checked;
    double table_asked, table_since; /* of certificates: when last looked at, and unchanged since */
    uint64_t table_version;
    double revoked_checked; /* as table_asked, for the whole roster */
    uint64_t revoked_version;
    double waiting_checked, waiting_since, waiting_said; /* for members; said 0: not yet */
    uint64_t waiting_at;                                 /* the state and round of that */
    uint32_t run, members;
    char (*roster)[FPLT__NAME];
    uint8_t *revoked, *fetched; /* one a member: told the machine; has the last model */
    fplt__proposal proposal;
    fplt__digest hash; /* of the proposal */
    /* where the run begins */
    int continued;         /* at the last model of the run before */
    char start_file[4200]; /* or at the model in this file; empty: at zero */
    double *start;         /* owned; NULL: at zero */
    size_t start_count;
    char *start_names;      /* owned: what they belong to (net/naming.h); NULL: not known */
    fplt__digest continues; /* the plan of the run before; zeros: none */
    /* facts: one entry a member, or one a column */
    fplt__form form;
    uint64_t *records;
    fplt_curvature_bounds *bend;
    double *scalars;
    char **names;     /* owned, each too: what the members' files have (wire/dictionary.h) */
    char *dictionary; /* owned: of the run; NULL: by the schema */
    uint8_t *counted; /* whose sums are in `sum` */
    fplt_sum *sum;
    double *ranges, *unit, *mean, *scale;
    double *down; /* what goes with a question: members, records, means and scales */
    /* what was seen */
    struct fplt__point point[FPLT__POINTS];
    size_t points;
    int has_score;
    fplt_measure score;  /* of the rows that sites hold out, the last */
    double *information; /* owned: behind standard errors; NULL: not asked for */
    uint64_t requests, refusals, commits;
    uint64_t update[FPLT__VERDICTS], refused[FPLT__REASONS];
    double commit_seconds, started;
    double receipts; /* sum of the charges that are kept by name, once the run is over */
    int acting, finished;
    int has_next, resolves, step; /* answers that are due to the machine */
    fplt__leader_event next;
    double finished_at;
    double write_at; /* when the model that could not be written is tried again; 0: it is there */
    fplt_status failure; /* of the loop */
    fplt_error error;
    fplt_federation_outcome outcome;
} fplt__coordinator;

/* Milliseconds of the clock that the machine is told. */
uint64_t fplt__coordinator_now(void);
/* Gives the event to the machine and does all that follows. */
void fplt__coordinator_handle(fplt__coordinator *coordinator, fplt__leader_event *event);
/* Logs. `identity` -1: nobody's. */
void fplt__coordinator_log(fplt__coordinator *coordinator, int64_t identity, const char *word,
                           const char *format, ...) FPLT_PRINTF(4, 5);

/* A file of the settings, relative to the folder; `inside` NULL: the file itself. */
void fplt__coordinator_path(const fplt__coordinator *coordinator, const char *file,
                            const char *inside, char *path, size_t size);

/* opening.c */
/* Reads settings, authority and certificate, and makes the proposal; nothing is opened. */
fplt_status fplt__coordinator_prepare(fplt__coordinator *coordinator, fplt_error *error);
/* Prepares and opens store, machine and servers. */
fplt_status fplt__coordinator_open(fplt__coordinator *coordinator, fplt_error *error);
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
/* A member whose certificate was revoked takes no further part in the run; -1: nobody. */
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

/* planning.c */
/* The proposal of the settings, with a new nonce. */
fplt_status fplt__coordinator_propose(fplt__coordinator *coordinator, fplt_error *error);
void fplt__coordinator_remember(fplt__coordinator *coordinator, const fplt__leader_action *action);
void fplt__coordinator_forget(fplt__coordinator *coordinator); /* the facts */
/* Answers RESOLVE. */
void fplt__coordinator_resolve(fplt__coordinator *coordinator, int step);
/* The stored document against the settings: what cannot change is refused. */
fplt_status fplt__coordinator_compare(const fplt__coordinator *coordinator,
                                      const fplt__proposal *stored, fplt_error *error);

/* results.c */
/* Model, certificate and page of a run that is over; nothing where no plan was made. Without the page
 * the others stay, and the log says so. */
fplt_status fplt__coordinator_write(fplt__coordinator *coordinator, fplt_error *error);

/* status.c */
/* Who is waited for, and since when: empty while nobody is late. */
void fplt__coordinator_waiting(const fplt__coordinator *coordinator, char *sentence, size_t size);
char *fplt__coordinator_status(const fplt__coordinator *coordinator);  /* JSON; free */
char *fplt__coordinator_metrics(const fplt__coordinator *coordinator); /* free */
fplt__service fplt__coordinator_page(fplt__coordinator *coordinator);
fplt_status fplt__control_open(const char *folder, int *descriptor, fplt_error *error);
/* Answers one caller of the control socket, if there is one. */
void fplt__control_serve(fplt__coordinator *coordinator);

#endif
