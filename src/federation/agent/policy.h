/* What an agent agrees to: by its policy, by the hash of one proposal, or by a person. */
#ifndef FPLT_FEDERATION_POLICY_H
#define FPLT_FEDERATION_POLICY_H

#include "base/buffer.h"
#include "fedplt/federation.h"
#include "fedplt/ledger.h"
#include "job/outline.h"
#include "pki/certificate.h"
#include "promise/ledger.h"
#include "wire/document.h"

extern const fplt_setting fplt__policy_table[];

/* Who decides. */
typedef struct fplt__consent_source {
    const fplt_settings *settings;
    const fplt_federation_watch *watch;
    const fplt__identity *self;
    const char *authority;  /* certificate, PEM */
    const char *protection; /* of the records of a custom cost, in words; NULL: it is none */
    int is_expected; /* a refit that was agreed to with the run before: --plan named that one */
} fplt__consent_source;

/* FPLT_OK: neither the policy nor --plan is against it. Otherwise the sentence says which line rejects it. */
fplt_status fplt__policy_judge(const fplt__consent_source *source, const fplt__proposal *proposal,
                               const fplt__digest *hash, fplt_error *error);
/* FPLT_OK: agreed, by policy or --plan, or by the person who is asked where there is neither. */
fplt_status fplt__policy_agree(const fplt__consent_source *source, const fplt__proposal *proposal,
                               const fplt__digest *hash, fplt_error *error);

/* Whether a policy decides, and not a person or --plan. */
int fplt__policy_is_given(const fplt_settings *settings);
/* `policy.epsilon: off`: no budget, runs without privacy are agreed to. */
int fplt__policy_is_off(const fplt_settings *settings);
/* The proposal's noise comes from a seed. */
int fplt__policy_is_simulated(const fplt__proposal *proposal);
/* Whether noise that this site has a budget for protects its records in such a run: disclosure rules then do not apply. A
 * site with `policy.epsilon: off` has no budget, and simulated noise protects nobody. */
int fplt__policy_is_private(const fplt_settings *site, const fplt__proposal *proposal);
/* Whether the site approved that runs with secure aggregation and without noise go on without a member. */
int fplt__policy_allows_exclusion(const fplt_settings *site);
/* A number stands there: what all runs together may cost. */
int fplt__policy_has_budget(const fplt_settings *settings);
/* A refusal by one line of the policy: FPLT_FAILED. */
fplt_status fplt__policy_against(const fplt_settings *settings, const char *name, fplt_error *error,
                                 const char *what, const char *value);

/* The settings by themselves: every word is one that means something. */
fplt_status fplt__policy_check(const fplt_settings *settings, fplt_error *error);
/* And whether the policy can agree to anything that the federation of the agent's certificate proposes. */
fplt_status fplt__policy_check_federation(const fplt_settings *settings, const char *federation,
                                          fplt_error *error);
/* The policy in one line. */
void fplt__policy_show(const fplt_settings *settings, fplt__buffer *text);
/* What is known of it once the data are: which algorithm `auto` becomes. Done before any fact leaves. */
fplt_status fplt__policy_judge_form(const fplt_settings *settings, const fplt__proposal *proposal,
                                    const fplt__form *form, fplt_error *error);
/* What the plan adds to its proposal: how many rounds it has, and the algorithm. */
fplt_status fplt__policy_judge_plan(const fplt_settings *settings, const fplt__agreement *agreement,
                                    fplt_error *error);
/* What all runs together may cost `group` records, the unit of a plan's promise, against the coordinator, who sees
 * every message; infinite where no budget is stated. */
fplt__ledger_budget fplt__policy_budget(const fplt_settings *settings, uint64_t group);

/* Whether policy.allow has the word; without a policy the person who agrees allows it. */
int fplt__policy_allows_word(const fplt_settings *settings, const char *word);
/* Bit k where questions of kind k are answered while privacy is off. */
unsigned fplt__policy_allows(const fplt_settings *settings);

#endif
