/* What an agent agrees to: by its policy, by the hash of one proposal, or by a person. */
#ifndef FPLT_NET_POLICY_H
#define FPLT_NET_POLICY_H

#include "base/buffer.h"
#include "fedplt/federation.h"
#include "fedplt/ledger.h"
#include "job/outline.h"
#include "net/certificate.h"
#include "wire/document.h"

extern const fplt_setting fplt__policy_table[];

/* A proposal as a person reads it: many lines. */
void fplt__proposal_show(const fplt__proposal *proposal, fplt__buffer *text);

/* Who decides. */
typedef struct fplt__consent_source {
    const fplt_settings *settings;
    const fplt_federation_watch *watch;
    const fplt__identity *self;
    const char *authority; /* certificate, PEM */
} fplt__consent_source;

/* FPLT_OK: agreed. Otherwise the sentence says which line of the policy speaks against it. */
fplt_status fplt__policy_judge(const fplt__consent_source *source, const fplt__proposal *proposal,
                               const fplt__digest *hash, fplt_error *error);

/* The settings by themselves. */
fplt_status fplt__policy_check(const fplt_settings *settings, fplt_error *error);
/* What is known of it once the data are: which algorithm `auto` becomes. Done before any fact leaves. */
fplt_status fplt__policy_judge_form(const fplt_settings *settings, const fplt__proposal *proposal,
                                    const fplt__form *form, fplt_error *error);
/* What the plan adds to its proposal: how many rounds it has, and the algorithm. */
fplt_status fplt__policy_judge_plan(const fplt_settings *settings, const fplt__agreement *agreement,
                                    fplt_error *error);
/* What all runs together may cost `group` records, the unit of a plan's promise, against the coordinator, who sees
 * every message; infinite where no budget is stated. */
fplt_ledger_budget fplt__policy_budget(const fplt_settings *settings, uint64_t group);

/* Bit k where questions of kind k are answered while privacy is off. */
unsigned fplt__policy_allows(const fplt_settings *settings);

#endif
