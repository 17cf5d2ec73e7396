/* An agent's process: one connection out, state on disk and the protocol's machine in one loop. agent.c
 * has its life, consent.c the way from a proposal to a node, finish.c what is left of a run. */
#ifndef FPLT_FEDERATION_AGENT_H
#define FPLT_FEDERATION_AGENT_H

#include "fedplt/federation.h"
#include "pki/certificate.h"
#include "http/client.h"
#include "federation/agent/disclosure.h"
#include "federation/agent/local_data.h"
#include "federation/plan/plan_resolution.h"
#include "promise/spending.h"
#include "protocol/site.h"
#include "store/site.h"

typedef struct fplt__agent {
    const fplt_settings *settings;
    const fplt_federation_watch *watch;
    char folder[2048];
    char *certificate, *key;
    const char *authority; /* in `certificate` */
    fplt__identity self;
    fplt__client *client;
    fplt__site_store *store;
    fplt__site *site;
    fplt_ledger *ledger;
    fplt__receipt charged;   /* of the ledger, the newest */
    fplt__record_sets *sets; /* owned: the accounts of the data of a private plan */
    fplt__cost cost;         /* of one round of that plan */
    fplt__local_data *material;
    fplt__digest material_of;   /* the proposal that it was read for */
    fplt__digest agreed_to;     /* the proposal that this process agreed to last */
    unsigned facts;             /* bit k where that proposal needs step k of the facts */
    fplt__hessian_rule hessian; /* whether Hessians leave in a run of that proposal */
    char *plan;                 /* owned: the plan at hand */
    int over, unwritten;        /* unwritten: the model of the last run */
    fplt_status failure;
    fplt_error error;
    fplt_federation_outcome outcome;
    /* What the coordinator hears of the refusal at hand, where its sentence speaks of files or of what is in them;
     * empty: the sentence itself. */
    char abroad[FPLT__SENTENCE];
    char said[FPLT__SENTENCE]; /* of the ledger, as the coordinator hears it */
} fplt__agent;

/* Tells the watch. */
void fplt__agent_log(const fplt__agent *agent, const char *word, const char *format, ...)
    FPLT_PRINTF(3, 4);
/* What a sentence of the ledger says, without the path that it begins with and the names of accounts, which are those
 * of files; valid until the next one. */
const char *fplt__agent_ledger_log(fplt__agent *agent, const char *sentence);
/* Gives the event to the machine. */
void fplt__agent_handle(fplt__agent *agent, fplt__site_event *event);

/* consent.c: answers to ASK, GATHER and BUILD */
void fplt__agent_ask(fplt__agent *agent, const fplt__site_action *action);
void fplt__agent_gather(fplt__agent *agent, const fplt__site_action *action);
void fplt__agent_build(fplt__agent *agent, const fplt__site_action *action);

/* kept_columns.c: the columns settled for a proposal, in the agent's folder. Loading gives NULL where none are kept for
 * that proposal; the text is released with fplt__free(). */
fplt_status fplt__kept_columns_save(const char *folder, const fplt__digest *proposal,
                                    const char *dictionary, fplt_error *error);
fplt_status fplt__kept_columns_load(const char *folder, const fplt__digest *proposal,
                                    char **dictionary, fplt_error *error);

/* finish.c: RESULT */
void fplt__agent_conclude(fplt__agent *agent, const fplt__site_action *action);

#endif
