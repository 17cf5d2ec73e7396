/* An agent's process: one connection out, state on disk and the protocol's machine in one loop. agent.c
 * has its life, consent.c, facts.c and building.c the way from a proposal to a node, finish.c what is left of a run. */
#ifndef FPLT_FEDERATION_AGENT_H
#define FPLT_FEDERATION_AGENT_H

#include "audit/audit.h"
#include "fedplt/federation.h"
#include "fedplt/key.h"
#include "pki/certificate.h"
#include "http/client.h"
#include "federation/agent/disclosure.h"
#include "federation/agent/guard.h"
#include "federation/agent/local_data.h"
#include "federation/agent/questions.h"
#include "federation/plan/analysis.h"
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
    fplt_key identity; /* that signs keys of secure aggregation */
    fplt__client *client;
    struct fplt__agent_renewal {
        double next;  /* when the end of the certificate is looked at; 0: now */
        double wait;  /* after the last try, which failed; 0: none has */
        double soon;  /* the next try, once the coordinator answers */
        int answered; /* it has answered a request since this was looked at */
    } renewal;
    int control; /* the socket of `agent backup`, or -1 */
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
    fplt__site_memory *memory;
    fplt__audit *audit;
    int unrecorded;    /* said that the audit log cannot be written */
    int drafted;       /* the schema of the proposal at hand is a draft */
    char custom[400];  /* the custom cost of the proposal at hand, in words; empty: none */
    fplt__asked asked; /* the question of that proposal */
    struct fplt__agent_analysis { /* of the proposal at hand; kind NULL: it is none */
        const fplt__analysis_kind *kind;
        fplt__digest of; /* that proposal */
        uint64_t records, numbers;
        uint64_t *words; /* owned: the answer */
    } analysis;
    fplt__pooled pooled; /* of the plan at hand, under secure aggregation; members 0: not known */
    fplt__guard guard;   /* of the plan at hand */
    char *plan;          /* owned: the plan at hand */
    fplt__digest unsettled; /* a plan that ended before its accounts were known here; zeros: none */
    uint64_t process;       /* fplt__process_mark() of who began */
    int over, unwritten;    /* unwritten: the model of the last run */
    fplt_status failure;
    fplt_error error;
    fplt_federation_outcome outcome;
    /* What the coordinator hears of the refusal at hand, where its sentence speaks of files or of what is in them;
     * empty: the sentence itself. */
    char abroad[FPLT__SENTENCE];
    char said[FPLT__SENTENCE]; /* of the ledger, as the coordinator hears it */
} fplt__agent;

/* events.c */

/* Milliseconds of the clock that only goes forward, as the machine counts them. */
uint64_t fplt__agent_now(void);
/* Tells the watch. */
void fplt__agent_log(const fplt__agent *agent, const char *word, const char *format, ...)
    FPLT_PRINTF(3, 4);
/* What a sentence of the ledger says, without the path that it begins with and the names of accounts, which are those
 * of files; valid until the next one. */
const char *fplt__agent_ledger_log(fplt__agent *agent, const char *sentence);
/* Gives the event to the machine. */
void fplt__agent_handle(fplt__agent *agent, fplt__site_event *event);

/* record.c: the audit log of the agent, FOLDER/audit.jsonl */
fplt_status fplt__agent_open_record(fplt__agent *agent, fplt_error *error);
void fplt__agent_record_start(fplt__agent *agent);
/* Of a document; `proposal` NULL: it cannot be read. `refusal` NULL: agreed. */
void fplt__agent_record_decision(fplt__agent *agent, const fplt__site_action *action,
                                 const fplt__proposal *proposal, const char *refusal);
/* Of an answer that is about to leave; requests without numbers about data are left out. */
void fplt__agent_record_answer(fplt__agent *agent, const fplt__request *request);
/* Of a round; `refusal` NULL: charged. */
void fplt__agent_record_charge(fplt__agent *agent, uint64_t round, const char *refusal);
/* A rule that refused during a run. */
void fplt__agent_record_refusal(fplt__agent *agent, const char *sentence);
void fplt__agent_record_end(fplt__agent *agent, const double *model, size_t count);
/* Has the coordinator sign the head of the log. */
void fplt__agent_sign_record(fplt__agent *agent);

/* consent.c, facts.c, building.c: answers to ASK, GATHER and BUILD */
void fplt__agent_ask(fplt__agent *agent, const fplt__site_action *action);
void fplt__agent_gather(fplt__agent *agent, const fplt__site_action *action);
void fplt__agent_build(fplt__agent *agent, const fplt__site_action *action);

/* kept_columns.c: what was told while a run forms (FPLT__KEPT_COLUMNS: its columns), in the agent's folder. Loading gives
 * NULL where nothing is kept for that proposal; the text is released with fplt__free(). */
#define FPLT__KEPT_COLUMNS  "columns"
#define FPLT__KEPT_PREPARED "prepared"
#define FPLT__KEPT_POLYS    "polynomials" /* the numbers of a formula */
#define FPLT__KEPT_ANALYSIS "analysis"    /* the answer to an analysis */
fplt_status fplt__kept_save(const char *folder, const char *what, const fplt__digest *proposal,
                            const char *kept, fplt_error *error);
fplt_status fplt__kept_load(const char *folder, const char *what, const fplt__digest *proposal,
                            char **kept, fplt_error *error);

/* preparing.c: SPANS, COUNTS, CELLS and PREPARED of the facts */
fplt_status fplt__agent_count(fplt__agent *agent, const fplt__site_action *action, uint64_t **words,
                              uint64_t *numbers, fplt_error *error);
/* Fills and balances as it is told, and keeps that. */
fplt_status fplt__agent_prepare(fplt__agent *agent, const fplt__site_action *action,
                                fplt_error *error);
/* The same as the earlier process was told, where the rows are read again. */
fplt_status fplt__agent_prepare_as_before(fplt__agent *agent, fplt_error *error);
/* As a plan says. */
fplt_status fplt__agent_prepare_by(fplt__agent *agent, const fplt__agreement *agreement,
                                   fplt_error *error);

/* analysing.c: an analysis of the site's file. Reads it, judges and counts the question, and counts the rows, unless that was
 * done before for the same proposal. */
fplt_status fplt__agent_analyse(fplt__agent *agent, const fplt__proposal *proposal,
                                const fplt__digest *of, fplt_error *error);
/* The answer to FPLT__FACTS_ANALYSIS; to be released with fplt__free(). The first answer is kept on disk and sent
 * again, whatever became of the file. */
fplt_status fplt__agent_tell_analysis(fplt__agent *agent, const fplt__site_action *action,
                                      uint64_t **words, uint64_t *numbers, fplt_error *error);
void fplt__agent_forget_analysis(fplt__agent *agent);

/* renewal.c: once a day, asks for a new certificate where the agent's ends within a month; `reopen` reads it then. Where
 * that failed it is tried again as soon as the coordinator answers. */
void fplt__agent_tend_certificate(fplt__agent *agent,
                                  fplt_status (*reopen)(fplt__agent *agent, fplt_error *error));

/* finish.c: RESULT */
void fplt__agent_conclude(fplt__agent *agent, const fplt__site_action *action);

#endif
