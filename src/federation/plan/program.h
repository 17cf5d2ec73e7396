/* What the program asks of a federation, beside fedplt/federation.h. */
#ifndef FPLT_FEDERATION_PLAN_PROGRAM_H
#define FPLT_FEDERATION_PLAN_PROGRAM_H

#include "fedplt/federation.h"

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
fplt_status fplt__federation_join_address(const char *code, char *url, size_t size,
                                          fplt_error *error);

/* At a site whose ledger was lost or is an old copy: takes the larger sum that the agent's state knows,
 * charged to the run that it is of. The agent must not run meanwhile. */
fplt_status fplt__federation_adopt(const char *folder, fplt_error *error);

/* Tells a coordinator that runs on this machine: status, pause, resume, end, check, `exclude NAME`
 * or `backup FILE`; an agent knows `backup FILE`, with a path that is absolute or relative to its
 * process. Exclude and backup also work on the folder of a process that does not run. Blocks until
 * it answers. The answer is a JSON document, released with fplt_free, NULL on failure. FPLT_IO
 * where nothing runs in that folder or it does not answer, FPLT_BAD_VALUE with its sentence where
 * the command is refused. */
fplt_status fplt__federation_command(const char *folder, const char *word, char **answer,
                                     fplt_error *error);

/* What an audit log says of itself. */
typedef struct fplt__federation_audit_verdict {
    uint64_t entries;      /* number of the last one */
    uint64_t expired;      /* so many of them left when they were old enough */
    uint64_t signed_up_to; /* the last entry under a valid signature of the coordinator; 0: none */
    char key[65];          /* that signed it, in hexadecimal digits; empty: none */
    uint64_t other_keys;   /* signatures that are by another key than the one before */
    uint64_t bad;          /* the first entry that was removed, changed or moved; 0: none */
    char sentence[400];    /* what is wrong with it */
} fplt__federation_audit_verdict;
/**
 * Reads the audit log of an agent or coordinator, FOLDER/audit.jsonl, from its beginning, and verifies it.
 *
 * @param folder   of the agent or coordinator, which may run
 * @param visitor  called with each entry, a JSON object as text that lives for the call; NULL: only verified
 * @param context  given to the visitor
 * @param verdict  out: not NULL
 * @retval FPLT_OK  the log was read; the verdict says whether it is as it was written
 * @retval FPLT_IO  there is no log, or it cannot be read
 */
fplt_status fplt__federation_audit(const char *folder,
                                   void (*visitor)(void *context, const char *entry), void *context,
                                   fplt__federation_audit_verdict *verdict, fplt_error *error);

/* Leads the next run of a federation at its last model, after rows of a member were taken out, and writes a signed
 * statement about both models to `path` (out). `settings` are those of the coordinator; run and once are set.
 * The statement is written where the run finished. */
fplt_status fplt__federation_withdraw(fplt_settings *settings, const char *member,
                                      const fplt_federation_watch *watch,
                                      fplt_federation_outcome *outcome, char path[4200],
                                      fplt_error *error);

/* What a statement is compared with; NULL: not compared. */
typedef struct fplt__statement_beside {
    const char *key;    /* of the coordinator, 64 hexadecimal digits */
    const char *folder; /* of an agent, whose audit log has entries that the coordinator signed */
    const char *before, *after; /* files of the replaced and the replacing model */
} fplt__statement_beside;
/* Verifies a statement of fplt__federation_withdraw: its signature, that it does not contradict itself, and what is beside it.
 * `statement`: out, its text, for fplt_free. FPLT_FAILED where something does not hold. */
fplt_status fplt__federation_verify_statement(const char *path,
                                              const fplt__statement_beside *beside,
                                              char **statement, fplt_error *error);

/* The name of the kind of analysis number `index`; NULL past the last. Results are in files of that name. */
const char *fplt__federation_analysis_name(size_t index);
/* The settings of a kind of analysis (federation/plan/analysis.h). */
const fplt_setting *fplt__federation_analysis_table(const char *kind);

/* An analysis to be led. */
typedef struct fplt__federation_analysis {
    const char *kind;
    const char *model; /* path of the model that it is about; NULL: none */
    size_t settings;
    const char *const *name, *const *value;
} fplt__federation_analysis;
/* Leads an analysis to its end: `settings` are those of the coordinator; analysis, run, continue and once are set. The result is
 * in files of `folder` (out) that are named by the kind: KIND.txt, KIND.json and others. Like fplt_federation_lead(), it
 * goes on with an analysis that was interrupted. */
fplt_status fplt__federation_analyse(fplt_settings *settings,
                                     const fplt__federation_analysis *wanted,
                                     const fplt_federation_watch *watch,
                                     fplt_federation_outcome *outcome, char folder[4200],
                                     fplt_error *error);

/* At a site: approves that rows leave its data set before the next run; logged, and at most once in 30 days, because two
 * models that differ by a few rows tell about these. FPLT_FAILED: too soon, with the day from which it is possible. */
fplt_status fplt__federation_approve_withdrawal(const char *folder, fplt_error *error);

#endif
