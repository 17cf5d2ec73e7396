/* A federation over a network: one coordinator, agents that dial out to it, mutual TLS 1.3. Data never
 * leave an agent; the coordinator learns sums, and with privacy noisy ones only.
 *
 *     at the coordinator                              at each site
 *     fplt_federation_found("heart", ...)
 *     fplt_federation_invite("heart", "basel", ...)   fplt_federation_join(code, "heart", ...)
 *     fplt_federation_lead(settings, ...)             fplt_federation_take_part(settings, ...)
 *
 * Both keep their state in their folder and go on by themselves after any interruption: an update
 * counts exactly once. Part of libfedplt-net; docs/federation.md is the manual.
 *
 * Threads and blocking: all functions block on files or the network. fplt_federation_lead and fplt_federation_take_part run
 * until their federation is over, in the calling thread, with worker threads that end with them; several may run in threads
 * of one process, with different folders. The others are thread-safe for different folders.
 * 
 * Side effects on the process, of every function here: libsodium, GnuTLS and libcurl are initialised (curl_global_init, once)
 * and stay so; keys are kept out of swap and core dumps (mlock, madvise) where RLIMIT_MEMLOCK allows it. While
 * fplt_federation_lead and fplt_federation_take_part run, SIGPIPE is blocked in the calling thread and in the threads that they
 * start; the mask is restored when they return. No disposition of a signal and no limit is changed. A coordinator needs a
 * descriptor an agent: if RLIMIT_NOFILE is too low for its roster, it says so in an event `limit`; the program `fedplt` raises
 * the soft limit before it starts one. */
#ifndef FEDPLT_FEDERATION_H
#define FEDPLT_FEDERATION_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/settings_table.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- identities ---- */

/* Makes the folder of a coordinator: authority, certificate for `address` (HOST:PORT, as agents dial
 * it), key of the receipts, and a federation.yaml to be filled in. */
FPLT_API fplt_status fplt_federation_found(const char *folder, const char *federation,
                                           const char *address, fplt_error *error);
/* Makes a new certificate for the coordinator, for the same or another address; a running coordinator takes it when it is asked
 * to read its settings again. FPLT_IO or FPLT_BAD_DATA where the folder is not that of a coordinator. */
FPLT_API fplt_status fplt_federation_renew(const char *folder, const char *address,
                                           fplt_error *error);

/* Makes a code that lets the agent `name` in: good once, for seven days. Released with fplt_free. FPLT_BAD_VALUE for a name that
 * is not legal, FPLT_IO or FPLT_BAD_DATA where the folder is not that of a coordinator. */
FPLT_API fplt_status fplt_federation_invite(const char *folder, const char *name, char **code,
                                            fplt_error *error);
/* At the site: makes a key that never leaves the folder, and has it certified by the coordinator, which must be reachable.
 * `proxy`: its URL, `off`, or NULL or `auto`: as the environment says. `name`, with room for 41 characters, becomes the agent's.
 * FPLT_BAD_VALUE for a code that is not legal or a folder that has a certificate, FPLT_FAILED where the coordinator refuses or
 * is another one, FPLT_IO for network and folder. */
FPLT_API fplt_status fplt_federation_join(const char *code, const char *folder, const char *proxy,
                                          char *name, fplt_error *error);

/** Bytes for the line of fplt_federation_identity() and for the groups of fplt_federation_peers(). */
enum { FPLT_IDENTITY_SIZE = 128, FPLT_ROSTER_SIZE = 50 };
/**
 * The identity of a site for secure aggregation, to be given to the other sites by another way than the coordinator.
 *
 * @param folder  of the agent; identity.key (mode 0600) and identity.pub are made there where they are missing
 * @param line    out: `NAME: ed25519:` and 64 hexadecimal digits, as the setting `peers` takes them; NAME is that of
 *                agent.pem, or the word NAME where the folder has no certificate
 * @retval FPLT_OK
 * @retval FPLT_IO        a file cannot be read or written
 * @retval FPLT_BAD_DATA  a file is damaged, or others can read the key
 *
 */
FPLT_API fplt_status fplt_federation_identity(const char *folder, char line[FPLT_IDENTITY_SIZE],
                                              fplt_error *error);
/** Called by fplt_federation_peers() with a site's name and its identity; both are valid for the call. */
typedef void (*fplt_federation_peer_visitor)(void *context, const char *name, const char *identity);
/**
 * The sites of the last plan of secure aggregation that an agent agreed to, in the order of the roster.
 *
 * @param folder       of the agent; read only
 * @param visitor      called for each site; not NULL
 * @param context      passed to the visitor
 * @param fingerprint  out: ten groups of four hexadecimal digits that all sites must have alike; compare them by telephone
 * @retval FPLT_OK
 * @retval FPLT_FAILED    the agent has met no secure plan yet
 * @retval FPLT_BAD_DATA  known-peers in the folder is damaged
 *
 */
FPLT_API fplt_status fplt_federation_peers(const char *folder, fplt_federation_peer_visitor visitor,
                                           void *context, char fingerprint[FPLT_ROSTER_SIZE],
                                           fplt_error *error);

/* fplt_federation_join in two steps, where requests and certificates travel as files. At the site:
 * makes agent.key in the folder (kept where it exists) and the request for it, PEM, released with
 * fplt_free; the same folder and name give the same request. The certificate that the coordinator
 * signs is to be put beside the key as agent.pem. FPLT_BAD_VALUE for a name that is not legal, or
 * a folder that has a certificate. */
FPLT_API fplt_status fplt_federation_request(const char *folder, const char *name, char **request,
                                             fplt_error *error);
/* At the coordinator: signs a request (PEM text) of any agent name. `certificate`, the agent's
 * certificate followed by the authority's (PEM), is released with fplt_free, and NULL on failure.
 * The certificate is recorded in the folder before the call returns. FPLT_BAD_DATA for a text that
 * is no request, FPLT_IO where the folder cannot be used. */
FPLT_API fplt_status fplt_federation_sign(const char *folder, const char *request,
                                          char **certificate, fplt_error *error);

/* Ends all certificates and invitations of a name, also in open connections of a running coordinator. FPLT_BAD_VALUE for an
 * unknown name, FPLT_IO or FPLT_BAD_DATA for the folder. */
FPLT_API fplt_status fplt_federation_revoke(const char *folder, const char *name,
                                            fplt_error *error);

typedef struct fplt_federation_member {
    const char *name;
    const char *state; /* member, invited, expired, revoked */
    const char *until; /* 2028-11-15 */
} fplt_federation_member;
typedef void (*fplt_federation_visitor)(void *context, const fplt_federation_member *member);
/* Calls the visitor once for every member and invitation of the coordinator's folder; the texts
 * live for the call only. Reads the folder, and may do so while a coordinator runs. FPLT_IO or
 * FPLT_BAD_DATA where the folder is not that of a coordinator. */
FPLT_API fplt_status fplt_federation_members(const char *folder, fplt_federation_visitor visitor,
                                             void *context, fplt_error *error);

/* ---- running ---- */

typedef struct fplt_objective fplt_objective; /* fedplt/objective.h */

/* A site's own cost, for proposals with `loss: custom`: the coordinator and the other sites know name, version, dimension and
 * digest of it, and nothing else. All is borrowed until fplt_federation_take_part returns. The callbacks of the objective are
 * called in the thread that runs the agent; they keep no state between calls, so that an agent that was killed goes on with
 * the same bits. */
typedef struct fplt_federation_cost {
    size_t size;         /* sizeof(fplt_federation_cost); FPLT_BAD_VALUE otherwise */
    const char *name;    /* 1 to 40 of a-z, 0-9 and - */
    const char *version; /* 1 to 40 of letters, digits and ._+- */
    const char *digest;  /* 64 hexadecimal digits in lower case, of the program of the cost */
    /* of one agent, as a rule by fplt_objective_create_callback; its dimension is that of the model */
    const fplt_objective *objective;
} fplt_federation_cost;

/* Something that happened. */
typedef struct fplt_federation_event {
    const char *word; /* started, joined, consent, opened, closed, late, lost, done ... */
    const char *sentence;
    const char *who; /* the member it is about, or NULL */
    uint64_t round;
    double criterion; /* NaN: not measured */
} fplt_federation_event;

/* Callbacks of a running coordinator or agent, each called with `context` in the thread that runs it. Each may be
 * NULL. */
typedef struct fplt_federation_watch {
    size_t size; /* sizeof(fplt_federation_watch); FPLT_BAD_VALUE otherwise */
    void *context;
    void (*tell)(void *context, const fplt_federation_event *event); /* or NULL */
    /* Asked several times a second; non-zero ends the process in order: a run goes on another
     * time. NULL: never. */
    int (*stop)(void *context);
    /* Asked by an agent without a policy: shows a person the proposal (a text of many lines);
     * non-zero is consent. NULL: refused. */
    int (*agree)(void *context, const char *proposal, const char *hash);
    /* Asked by the coordinator: whether its settings are to be read again (once each). An agent that is bidden to
     * says that it cannot. */
    int (*reload)(void *context);
    /* Then: the settings as they are now, for as long as the call after it; NULL: they cannot be
     * read, with the sentence why. NULL: they stay as they were, only certificates are read again. */
    const fplt_settings *(*again)(void *context, fplt_error *error);
    /* Of an agent: the cost that it brings. NULL: it takes part by built-in losses only. With a cost, `data` may be left
     * out of the settings. */
    const fplt_federation_cost *cost;
} fplt_federation_watch;

/* Result of a run. */
typedef struct fplt_federation_outcome {
    int finished; /* a run ended by its own rules, or was ended */
    uint64_t rounds;
    char outcome[32];
    char sentence[512];
    char model[512]; /* path of the model file; empty: none */
} fplt_federation_outcome;

/* Keys of federation.yaml: a constant table for fplt_settings_add. Paths are relative to `folder`. */
FPLT_API extern const fplt_setting fplt_federation_lead_table[];
/* Adds the keys of site.yaml to the settings: the agent's own, those of reading data, the policy
 * and disclosure rules. Paths are relative to `folder`. FPLT_NO_MEMORY is the only failure. */
FPLT_API fplt_status fplt_federation_site_declare(fplt_settings *settings, fplt_error *error);

/* Runs the coordinator: leads the run that the settings describe until it is over and served, or
 * `stop` says so. Blocks; callbacks are called in the caller's thread. Settings and watch are
 * borrowed for the call; NULL: no callbacks. `outcome` is written in every case.
 * FPLT_BAD_VALUE and FPLT_BAD_DATA for settings, folder or schema, FPLT_IO where the port, folder
 * or disk cannot be used, FPLT_FAILED where the run or the writing of the model failed. State is
 * on disk: another call goes on with the run. */
FPLT_API fplt_status fplt_federation_lead(const fplt_settings *settings,
                                          const fplt_federation_watch *watch,
                                          fplt_federation_outcome *outcome, fplt_error *error);

/**
 * The number that the next analysis of a federation has: the setting `run` of a coordinator whose `analysis` is set.
 *
 * @param folder  of the coordinator; may not have led any analysis yet
 * @param run     out: the number of the analysis that is not over yet, which then goes on; otherwise the next one, from 1
 * @retval FPLT_OK  the number is written
 * @retval FPLT_IO or FPLT_BAD_DATA  the database of analyses in the folder cannot be read
 *
 * Reads the disk. Do not call it while a coordinator leads an analysis of this folder.
 */
FPLT_API fplt_status fplt_federation_next_analysis(const char *folder, uint32_t *run,
                                                   fplt_error *error);
/* Runs an agent: takes part in the runs of the coordinator, one after another, or in one with
 * `once`. Blocks until then, or until `stop` says so; an unreachable coordinator is dialled again.
 * Callbacks are called in the caller's thread. Settings and watch are borrowed for the call; NULL:
 * no callbacks, and only the policy can give consent. `outcome` is written in every case.
 * The ledger is charged before an update is sent.
 * FPLT_BAD_VALUE and FPLT_BAD_DATA for settings, policy, data or folder, FPLT_IO where the folder
 * or ledger cannot be used, FPLT_FAILED where the agent cannot go on. */
FPLT_API fplt_status fplt_federation_take_part(const fplt_settings *settings,
                                               const fplt_federation_watch *watch,
                                               fplt_federation_outcome *outcome, fplt_error *error);

/**
 * At a site: shows what a proposal without privacy states about the data (schema, columns, label, classes, levels) and
 * approves it, by its digest in FOLDER/approved.txt. The agent asks for it under `policy.disclosure: strict`.
 *
 * @param folder    of the agent
 * @param proposal  a proposal as the coordinator sends it: a file, or the name of one that the agent refused and kept
 * @param watch     its `agree` is shown the proposal and the digest, and approves by a non-zero value; not NULL
 * @retval FPLT_OK         approved, on disk
 * @retval FPLT_BAD_VALUE  no such proposal, or it states nothing about the data
 * @retval FPLT_BAD_DATA   the file is no proposal
 * @retval FPLT_FAILED     `agree` is NULL or returned 0
 * @retval FPLT_IO         the folder cannot be used
 */
FPLT_API fplt_status fplt_federation_approve(const char *folder, const char *proposal,
                                             const fplt_federation_watch *watch, fplt_error *error);

/* A port of 127.0.0.1 without a listener at the moment, for demonstrations and tests; another
 * process may take it before the caller does. FPLT_IO where none is free. */
FPLT_API fplt_status fplt_federation_port(unsigned *port, fplt_error *error);

/* ---- from beside ---- */

/* The rounds of a run, from the state of a coordinator that does not run. `run` 0: the newest. */
typedef struct fplt_federation_round {
    uint32_t run;
    uint64_t round;
    uint32_t incarnation;
    const uint32_t *accepted; /* agents whose update counted, by their place in the roster */
    uint32_t count;
    double seconds, criterion; /* NaN: not measured */
    uint64_t bytes_up, bytes_down;
} fplt_federation_round;
typedef void (*fplt_federation_round_visitor)(void *context, const fplt_federation_round *round);
FPLT_API fplt_status fplt_federation_rounds(const char *folder, uint32_t run,
                                            fplt_federation_round_visitor visitor, void *context,
                                            fplt_error *error);
/* Event of a run. `time` and `event` live for the call; `who` is NULL where an event concerns no member. */
typedef void (*fplt_federation_event_visitor)(void *context, const char *time,
                                              const fplt_federation_event *event);
FPLT_API fplt_status fplt_federation_events(const char *folder, uint32_t run,
                                            fplt_federation_event_visitor visitor, void *context,
                                            fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
