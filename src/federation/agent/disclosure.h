/* Disclosure rules: what a site does not answer while no privacy protects its records, whatever the proposal
 * says. The agent alone applies them. docs/disclosure.md states each rule with the attack that it stops; they are
 * about an operator who may propose anything, with an unmodified coordinator. */
#ifndef FPLT_FEDERATION_DISCLOSURE_H
#define FPLT_FEDERATION_DISCLOSURE_H

#include "base/buffer.h"
#include "fedplt/settings.h"
#include "fedplt/settings_table.h"
#include "fedplt/model.h"
#include "federation/plan/analysis.h"
#include "job/outline.h"
#include "wire/document.h"

/* In one sentence, for consent, log and report: whom the rules protect against. */
#define FPLT__DISCLOSURE_THREAT                                                                  \
    "the disclosure rules protect records from a curious operator with the unmodified program; " \
    "against a modified "                                                                        \
    "coordinator only privacy, or secure aggregation with noise, does"

/* The rows policy.disclosure, policy.coordinator, policy.exclusion, policy.start-models, policy.data and policy.approved. They
 * refine a policy and are none by themselves: a site that gives only these still asks a person. */
extern const fplt_setting fplt__disclosure_table[];

/* Legal words in the rows above; files of start-models are read. */
fplt_status fplt__disclosure_check(const fplt_settings *site, fplt_error *error);

/* Whether a number by this name in `train` bends or cuts a single record, or places the next broadcast: it must then be
 * automatic, or policy.approved must have its value. */
int fplt__disclosure_needs_approval(const char *name);

/* By the proposal alone, before any data are read. FPLT_FAILED: refused; the sentence names the rule. */
fplt_status fplt__disclosure_judge(const fplt_settings *site, const fplt__proposal *proposal,
                                   fplt_error *error);

/* The same of an analysis: its numbers are the default or approved (rule `numbers`), and its model is one that this agent
 * received or that the policy names (rule `start`): another one would place the boundaries between counts. */
fplt_status fplt__disclosure_judge_analysis(const fplt_settings *site, const char *folder,
                                            const fplt__proposal *proposal, fplt_error *error);
/* Whether policy.start-models names the model that an analysis is about; 0 without one. */
fplt_status fplt__disclosure_names_model(const fplt_settings *site, const fplt__analysis *analysis,
                                         int *named, fplt_error *error);

/* Whether this site lets Hessians leave in such a run: for a method that is made of them, and for standard errors. */
typedef struct fplt__hessian_rule {
    fplt__hessian_word word;
    int informs; /* the sums behind standard errors may leave */
    char reason
        [240]; /* of a no: the line of the policy, the number of rows, or the questions that were asked */
} fplt__hessian_rule;

/* `left`: numbers that the questions to the data set leave; infinite: as many as there are. */
fplt_status fplt__disclosure_hessian(const fplt_settings *site, const fplt__proposal *proposal,
                                     const fplt__form *form, uint64_t records, double left,
                                     fplt__hessian_rule *rule, fplt_error *error);
/* Refuses an algorithm that sends Hessians where the rule says no. */
fplt_status fplt__disclosure_judge_algorithm(const fplt__hessian_rule *rule,
                                             const fplt_algorithm *algorithm, fplt_error *error);

/* Refuses a step above 2/L of a plan without privacy; `smoothness` is L, of this site's cost. */
fplt_status fplt__disclosure_judge_step(const fplt_settings *site, const fplt__agreement *agreement,
                                        double smoothness, fplt_error *error);

/* Refuses a plan that starts elsewhere than at zero, at a model in FOLDER/received.txt or at one that the policy
 * names. */
fplt_status fplt__disclosure_judge_start(const fplt_settings *site, const char *folder,
                                         const fplt__agreement *agreement, fplt_error *error);
/* Adds the model x of a plan to FOLDER/received.txt, durably; once. `model`: the model file that it became, NULL of a custom
 * cost. */
fplt_status fplt__disclosure_remember(const char *folder, const fplt__agreement *agreement,
                                      const double *x, const fplt_model *model, fplt_error *error);

/* The rules that hold here, in one line. */
void fplt__disclosure_show(const fplt_settings *site, fplt__buffer *text);

#endif
