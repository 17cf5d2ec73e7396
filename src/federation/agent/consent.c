/* From a proposal to consent: policy, disclosure rules, a person, and the data that are read for it. */
#include "federation/agent/consent.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "federation/agent/approval.h"
#include "federation/agent/custom_cost.h"
#include "federation/agent/peers.h"
#include "federation/agent/policy.h"
#include "federation/agent/rules.h"
#include "federation/plan/validation.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/preparation.h"
#include "federation/plan/run_design.h"
#include "federation/plan/proposal_text.h"
#include "fedplt/algorithm.h"

/* Documents */

/* Which facts a proposal needs, and who agreed to it has agreed to: with privacy none. */
static fplt_status facts_of(const fplt__proposal *proposal, unsigned *facts, fplt_error *error)
{
    fplt_settings *terms;
    *facts = 0;
    if (proposal->privacies)
        return FPLT_OK;
    fplt_status status = fplt__plan_resolution_settings(proposal, 0, &terms, error);
    if (status)
        return status;
    if (fplt__is_custom(proposal)) {
        *facts = 1u << FPLT__FACTS_CURVATURE;
        fplt_settings_destroy(terms);
        return FPLT_OK;
    }
    *facts = 1u << FPLT__FACTS_FORM | 1u << FPLT__FACTS_CURVATURE;
    if (!proposal->schema)
        *facts |= 1u << FPLT__FACTS_NAMES | 1u << FPLT__FACTS_COLUMNS;
    *facts |= fplt__preparation_steps(terms);
    if (fplt__plan_resolution_fits(terms))
        *facts |= 1u << FPLT__FACTS_RANGES | 1u << FPLT__FACTS_SUMS | 1u << FPLT__FACTS_SQUARES;
    for (unsigned step = FPLT__FACTS_POLYS;
         step < FPLT__FACTS_STEPS && fplt__run_needs_polys(terms); step++)
        *facts |= 1u << step;
    if (*proposal->validation)
        *facts |= 1u << FPLT__FACTS_FOLDS;
    fplt_settings_destroy(terms);
    return FPLT_OK;
}

fplt_status fplt__agent_judge_cells(fplt__agent *agent, fplt_error *error)
{
    fplt_status status =
        agent->asked.data_set && !agent->asked.is_pooled
            ? fplt__cells_judge(agent->settings, fplt__local_data_rows(agent->material),
                                fplt__local_data_cluster(agent->material), error)
            : FPLT_OK;
    return status ? fplt__agent_hide_records(agent, status) : FPLT_OK;
}

/* Under secure aggregation the rows of all honest sites count together, and are known with the plan. */
static fplt_status judge_counts(fplt__agent *agent, const fplt__proposal *proposal,
                                fplt_error *error)
{
    if (proposal->secure && !agent->pooled.members)
        return FPLT_OK;
    return fplt__questions_judge(agent->settings, agent->material, agent->memory,
                                 proposal->secure ? &agent->pooled : NULL, &agent->asked, error);
}

fplt_status fplt__agent_judge_question(fplt__agent *agent, const fplt__proposal *proposal,
                                       const fplt__digest *of, int settled, fplt_error *error)
{
    const fplt_settings *site = agent->settings;
    fplt__form form = fplt__local_data_form(agent->material);
    fplt_status status;
    if ((status = fplt__agent_hide_reason(
             agent, fplt__questions_find(site, proposal, of, agent->material, agent->memory,
                                         &agent->asked, error))) ||
        (status = judge_counts(agent, proposal, error)))
        return status;
    if ((status = fplt__questions_compare(site, fplt__local_data_row_sets(agent->material),
                                          agent->memory, &agent->asked, error)))
        return fplt__agent_hide_records(agent, status);
    if (settled && (status = fplt__agent_judge_cells(agent, error)))
        return status;
    if ((status = fplt__questions_charge(fplt__local_data_row_sets(agent->material), agent->memory,
                                         &agent->asked, error)))
        return fplt__agent_hide_reason(agent, status);
    uint64_t records = fplt__local_data_records(agent->material);
    if (proposal->secure && agent->pooled.records > records)
        records = agent->pooled.records;
    if ((status = fplt__disclosure_hessian(site, proposal, &form, records, agent->asked.left,
                                           &agent->hessian, error)))
        return status;
    if (agent->asked.data_set && (*proposal->validation || fplt__leaves_out_fold(proposal))) {
        agent->hessian.word = FPLT__HESSIAN_NO;
        snprintf(agent->hessian.reason, sizeof agent->hessian.reason,
                 "the Hessians of all fits of a validation would use up the questions");
    }
    return FPLT_OK;
}

/* With privacy, and where the rules are off, the rows are not hashed. */
static const uint8_t *secret_of(const fplt__agent *agent, const fplt__proposal *proposal)
{
    return fplt__policy_is_private(agent->settings, proposal) ||
                   fplt__rules_are_off(agent->settings)
               ? NULL
               : fplt__site_memory_secret(agent->memory);
}

fplt_status fplt__agent_read_data(fplt__agent *agent, const fplt__proposal *proposal,
                                  const fplt__digest *of, fplt_error *error)
{
    fplt__local_source from = {fplt__site_get_view(agent->site).member_index,
                               secret_of(agent, proposal), agent->watch->cost};
    if (agent->material && fplt__same(of, &agent->material_of))
        return FPLT_OK;
    fplt__local_data_destroy(agent->material);
    agent->material = NULL;
    fplt_status status = facts_of(proposal, &agent->facts, error);
    if (status)
        return status;
    status = fplt__agent_hide_reason(agent, fplt__local_data_create(agent->settings, proposal,
                                                                    &from, &agent->material,
                                                                    agent->abroad, error));
    if (!status)
        status = fplt__agent_judge_question(agent, proposal, of,
                                            fplt__local_data_is_settled(agent->material), error);
    if (status) {
        fplt__local_data_destroy(agent->material);
        agent->material = NULL;
        return status;
    }
    agent->material_of = *of;
    fplt__agent_keep_folds(agent, proposal);
    return FPLT_OK;
}

/* The proposal inside a document, and its hash. */
fplt_status fplt__agent_proposal_of(const fplt__site_action *action, fplt__proposal *proposal,
                                    fplt__digest *hash, fplt_error *error)
{
    *hash = action->hash;
    if (!action->planned)
        return fplt__proposal_read(action->document, action->document_size, proposal, error);
    fplt__agreement agreement;
    fplt_status status =
        fplt__agreement_read(action->document, action->document_size, &agreement, error);
    if (status)
        return status;
    char *text = NULL;
    if (!(status = fplt__proposal_text(&agreement.proposal, &text, error))) {
        *hash = fplt__document_hash(text, strlen(text));
        status = fplt__proposal_read(text, strlen(text), proposal, error);
    }
    fplt__free(text);
    fplt__agreement_clear(&agreement);
    return status;
}

/* What is known once the data are read: which algorithm `auto` becomes, and whether Hessians leave. */
static fplt_status judge_method(const fplt__agent *agent, const fplt__proposal *proposal,
                                fplt_error *error)
{
    const char *named = fplt__pair_find(proposal->setting, proposal->settings, "algorithm");
    const fplt_algorithm *algorithm = named ? fplt_algorithm_find(named) : NULL;
    fplt__form form = fplt__local_data_form(agent->material);
    form.withheld = agent->hessian.word == FPLT__HESSIAN_NO;
    fplt_status status = fplt__policy_judge_form(agent->settings, proposal, &form, error);
    return status || !algorithm
               ? status
               : fplt__disclosure_judge_algorithm(&agent->hessian, algorithm, error);
}

/* The coordinator says which number of the roster this agent has: numbers of the plan are found by it. */
static fplt_status check_place(const fplt__agent *agent, const fplt__proposal *proposal,
                               fplt_error *error)
{
    uint32_t at = fplt__site_get_view(agent->site).member_index;
    if (at < proposal->members && strcmp(proposal->roster[at], agent->self.name) == 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the coordinator says that %s is number %u of the roster, but its "
                          "proposal has %s there",
                          agent->self.name, at,
                          at < proposal->members ? proposal->roster[at] : "nobody");
}

static fplt_status judge_analysis(fplt__agent *agent, const fplt__consent_source *source,
                                  const fplt__proposal *proposal, const fplt__digest *hash,
                                  int agreed, fplt_error *error)
{
    fplt_status status;
    agent->hessian = (fplt__hessian_rule){.word = FPLT__HESSIAN_UNSAID};
    if ((status = check_place(agent, proposal, error)) ||
        (status = fplt__policy_judge(source, proposal, hash, error)) ||
        (status = fplt__disclosure_judge(agent->settings, proposal, error)) ||
        (status =
             fplt__disclosure_judge_analysis(agent->settings, agent->folder, proposal, error)) ||
        (status = fplt__approval_judge(agent->settings, agent->folder, proposal, error)) ||
        (!agreed && (status = fplt__policy_agree(source, proposal, hash, error))) ||
        (status = fplt__agent_analyse(agent, proposal, hash, error)))
        return status;
    agent->agreed_to = *hash;
    return FPLT_OK;
}

fplt_status fplt__agent_judge_proposal(fplt__agent *agent, const fplt__proposal *proposal,
                                       const fplt__digest *hash, int agreed, fplt_error *error)
{
    fplt__consent_source source = {
        agent->settings,
        agent->watch,
        &agent->self,
        agent->authority,
        fplt__is_custom(proposal) ? fplt__custom_cost_protection(agent->settings, proposal) : NULL,
        fplt__agent_expects(agent, proposal)};
    fplt_status status;
    if (fplt__is_analysis(proposal))
        return judge_analysis(agent, &source, proposal, hash, agreed, error);
    if ((status = check_place(agent, proposal, error)) ||
        (status = fplt__policy_judge(&source, proposal, hash, error)) ||
        (status = fplt__agent_judge_validation(agent, proposal, source.is_expected, error)) ||
        (status = fplt__custom_cost_judge(agent->settings, proposal, agent->watch->cost, error)) ||
        (status = fplt__peers_judge(agent->settings, proposal, error)) ||
        (status = fplt__disclosure_judge(agent->settings, proposal, error)) ||
        (status = fplt__questions_judge_roster(agent->settings, proposal, agent->memory, error)) ||
        (status = fplt__approval_judge(agent->settings, agent->folder, proposal, error)) ||
        (!agreed && !source.is_expected &&
         (status = fplt__policy_agree(&source, proposal, hash, error))) ||
        (status = fplt__agent_read_data(agent, proposal, hash, error)))
        return status;
    agent->agreed_to = *hash;
    return judge_method(agent, proposal, error);
}

/* The custom cost of the proposal, and what protects its records, for the log. */
static void note_custom(fplt__agent *agent, const fplt__proposal *proposal)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    *agent->custom = 0;
    if (!fplt__is_custom(proposal))
        return;
    fplt__custom_show(&proposal->model, &text);
    snprintf(agent->custom, sizeof agent->custom, "custom cost %s; protection: %s",
             text.text ? text.text : "", fplt__custom_cost_protection(agent->settings, proposal));
    fplt__buffer_clear(&text);
}

static fplt_status consider(fplt__agent *agent, const fplt__site_action *action, fplt_error *error)
{
    fplt__proposal proposal;
    fplt__digest hash;
    fplt_status status = fplt__agent_proposal_of(action, &proposal, &hash, error);
    if (status)
        return status;
    agent->pooled = (fplt__pooled){0, 0};
    if (!fplt__is_analysis(&proposal))
        fplt__agent_forget_analysis(agent);
    agent->drafted = fplt__proposal_is_drafted(&proposal);
    note_custom(agent, &proposal);
    status = fplt__agent_judge_proposal(agent, &proposal, &hash, 0, error);
    if (!status)
        fplt__agent_expect_following(agent, &proposal);
    fplt__agent_record_decision(agent, action, &proposal, status ? error->text : NULL);
    fplt__proposal_clear(&proposal);
    return status;
}

static uint64_t records_of(const fplt__agent *agent)
{
    return agent->analysis.kind ? agent->analysis.records
                                : fplt__local_data_records(agent->material);
}

/* With privacy off also what protects the records then. */
static void tell_agreed(const fplt__agent *agent, const fplt__site_action *action)
{
    fplt__buffer rules = {NULL, 0, 0, FPLT_OK};
    const fplt__hessian_rule *hessian = &agent->hessian;
    char hash[FPLT__HEX];
    fplt__hex(&action->hash, sizeof action->hash, hash);
    if (hessian->word || agent->analysis.kind) {
        fplt__buffer_add(&rules, "; privacy off: ");
        fplt__disclosure_show(agent->settings, &rules);
        fplt__buffer_add(&rules, " (" FPLT__DISCLOSURE_THREAT ")");
    }
    if (agent->analysis.kind)
        fplt__buffer_format(&rules, "; analysis %s: %s", agent->analysis.kind->name,
                            agent->analysis.kind->tells);
    if (hessian->word) {
        fplt__buffer_format(&rules, ", hessian: %s%s%s%s",
                            hessian->word == FPLT__HESSIAN_YES ? "yes" : "no",
                            *hessian->reason ? " (" : "", hessian->reason,
                            *hessian->reason ? ")" : "");
    }
    if (*agent->custom)
        fplt__buffer_format(&rules, "; %s", agent->custom);
    if (agent->drafted)
        fplt__buffer_add(&rules, "; the schema is " FPLT__DRAFT);
    fplt__agent_log(agent, "agreed", "to the %s %.16s..., with %llu records%s",
                    action->planned ? "plan" : "proposal", hash,
                    (unsigned long long)records_of(agent), rules.text ? rules.text : "");
    fplt__buffer_clear(&rules);
}

void fplt__agent_ask(fplt__agent *agent, const fplt__site_action *action)
{
    fplt_error error = {FPLT_OK, ""};
    if (consider(agent, action, &error)) {
        fplt__agent_refuse(agent, error.text);
        return;
    }
    tell_agreed(agent, action);
    fplt__site_event event = {
        .kind = FPLT__SITE_AGREE, .records = records_of(agent), .hessian = agent->hessian.word};
    fplt__agent_handle(agent, &event);
}
