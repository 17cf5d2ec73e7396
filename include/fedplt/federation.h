/* A federation over a network: one coordinator, agents that dial out to it, mutual TLS 1.3. Data never
 * leave an agent; the coordinator learns sums, and with privacy noisy ones only.
 *
 *     at the coordinator                              at each site
 *     fplt_federation_found("heart", ...)
 *     fplt_federation_invite("heart", "basel", ...)   fplt_federation_join(code, "heart", ...)
 *     fplt_federation_lead(settings, ...)             fplt_federation_take_part(settings, ...)
 *
 * Both keep their state in their folder and go on by themselves after any interruption: an update
 * counts exactly once. Part of libfedplt-net; docs/federation.md is the manual. */
#ifndef FEDPLT_FEDERATION_H
#define FEDPLT_FEDERATION_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/settings.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- who is who ---- */

/* Makes the folder of a coordinator: authority, certificate for `address` (HOST:PORT, as agents dial
 * it), key of the receipts, and a federation.yaml to be filled in. */
FPLT_API fplt_status fplt_federation_found(const char *folder, const char *federation,
                                           const char *address, fplt_error *error);
/* A new certificate for the coordinator, for the same or another address. */
FPLT_API fplt_status fplt_federation_renew(const char *folder, const char *address,
                                           fplt_error *error);

/* A code that lets the agent `name` in: good once, for seven days. Released with fplt_free. */
FPLT_API fplt_status fplt_federation_invite(const char *folder, const char *name, char **code,
                                            fplt_error *error);
/**
 * The address that fplt_federation_join() connects to.
 *
 * @param code   an invitation
 * @param url    out: https://HOST:PORT
 * @param size   of url, in bytes; 300 are enough for every invitation
 * @retval FPLT_OK
 * @retval FPLT_BAD_VALUE  the code is no invitation, or the address does not fit
 *
 * Does no I/O.
 */
FPLT_API fplt_status fplt_federation_join_address(const char *code, char *url, size_t size,
                                                  fplt_error *error);
/* At the site: makes a key that never leaves the folder, and has it certified. `name`, with room for
 * 41 characters, becomes the agent's. */
FPLT_API fplt_status fplt_federation_join(const char *code, const char *folder, const char *proxy,
                                          char *name, fplt_error *error);

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

/* Ends all certificates and invitations of a name, also in open connections. */
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
    /* Asked by an agent without a policy: shows a person what is proposed (a text of many lines);
     * non-zero is consent. NULL: refused. */
    int (*agree)(void *context, const char *proposal, const char *hash);
    /* Asked by the coordinator: whether its settings are to be read again (once each). An agent that is bidden to
     * says that it cannot. */
    int (*reload)(void *context);
    /* Then: the settings as they are now, for as long as the call after it; NULL: they cannot be
     * read, with the sentence why. NULL: they stay as they were, only certificates are read again. */
    const fplt_settings *(*again)(void *context, fplt_error *error);
} fplt_federation_watch;

/* What came of it. */
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
 * borrowed for the call; NULL: nobody watches. `outcome` is written in every case.
 * Side effects on the process, which stay: SIGPIPE is ignored, and the soft limit RLIMIT_NOFILE is
 * raised for the number of agents. Threads are started and ended within the call.
 * FPLT_BAD_VALUE and FPLT_BAD_DATA for settings, folder or schema, FPLT_IO where the port, folder
 * or disk cannot be used, FPLT_FAILED where the run or the writing of the model failed. State is
 * on disk: another call goes on with the run. */
FPLT_API fplt_status fplt_federation_lead(const fplt_settings *settings,
                                          const fplt_federation_watch *watch,
                                          fplt_federation_outcome *outcome, fplt_error *error);
/* Runs an agent: takes part in the runs of the coordinator, one after another, or in one with
 * `once`. Blocks until then, or until `stop` says so; an unreachable coordinator is dialled again.
 * Callbacks are called in the caller's thread. Settings and watch are borrowed for the call; NULL:
 * nobody watches, and nothing is agreed to but by the policy. `outcome` is written in every case.
 * Side effect on the process, which stays: SIGPIPE is ignored. The ledger is charged before an
 * update is sent.
 * FPLT_BAD_VALUE and FPLT_BAD_DATA for settings, policy, data or folder, FPLT_IO where the folder
 * or ledger cannot be used, FPLT_FAILED where the agent cannot go on. */
FPLT_API fplt_status fplt_federation_take_part(const fplt_settings *settings,
                                               const fplt_federation_watch *watch,
                                               fplt_federation_outcome *outcome, fplt_error *error);

/* At a site whose ledger was lost or is an old copy: takes the larger sum that the agent's state knows,
 * charged to the run that it is of. The agent must not run meanwhile. */
FPLT_API fplt_status fplt_federation_adopt(const char *folder, fplt_error *error);

/* A port of 127.0.0.1 that nobody listens on at the moment, for demonstrations and tests; another
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
/* What happened in it. `time` and `event` live for the call; roster names are not known: `who` is NULL. */
typedef void (*fplt_federation_event_visitor)(void *context, const char *time,
                                              const fplt_federation_event *event);
FPLT_API fplt_status fplt_federation_events(const char *folder, uint32_t run,
                                            fplt_federation_event_visitor visitor, void *context,
                                            fplt_error *error);

/* Tells a coordinator that runs on this machine: status, pause, resume, end, check. Blocks until
 * it answers. The answer is a JSON document, released with fplt_free, NULL on failure. FPLT_IO
 * where no coordinator runs in that folder or it does not answer. */
FPLT_API fplt_status fplt_federation_command(const char *folder, const char *word, char **answer,
                                             fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
