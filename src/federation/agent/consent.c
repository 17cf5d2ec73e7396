/* From a proposal to a node: consent, facts, and the plan held against data, policy and ledger. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "federation/agent/agent.h"
#include "federation/plan/columns.h"
#include "federation/plan/privacy_plan.h"
#include "federation/agent/policy.h"

/* Counts in facts are doubles: those that are exact. */
static const double MAX_RECORDS = 9007199254740992.0;

static void answer_refusal(fplt__agent *agent, const char *sentence)
{
    fplt__site_event event = {.kind = FPLT__SITE_REFUSE,
                              .sentence = *agent->abroad ? agent->abroad : sentence};
    fplt__agent_log(agent, "refused", "%s", sentence);
    fplt__agent_handle(agent, &event);
    *agent->abroad = 0;
}

/* Sentences about data name files, lines and values: such a one stays here, and the coordinator hears what may be
 * said, or that there is one. */
static fplt_status stays(fplt__agent *agent, fplt_status status)
{
    if (status && !*agent->abroad)
        snprintf(agent->abroad, sizeof agent->abroad,
                 "its data do not serve this run; its own log says why");
    return status;
}

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
    *facts = 1u << FPLT__FACTS_FORM | 1u << FPLT__FACTS_CURVATURE;
    if (!proposal->schema)
        *facts |= 1u << FPLT__FACTS_NAMES | 1u << FPLT__FACTS_COLUMNS;
    if (fplt__plan_resolution_fits(terms))
        *facts |= 1u << FPLT__FACTS_RANGES | 1u << FPLT__FACTS_SUMS | 1u << FPLT__FACTS_SQUARES;
    fplt_settings_destroy(terms);
    return FPLT_OK;
}

static fplt_status read_data(fplt__agent *agent, const fplt__proposal *proposal,
                             const fplt__digest *of, fplt_error *error)
{
    uint32_t identity = fplt__site_get_view(agent->site).member_index;
    if (agent->material && fplt__same(of, &agent->material_of))
        return FPLT_OK;
    fplt__local_data_destroy(agent->material);
    agent->material = NULL;
    agent->material_of = *of;
    fplt_status status = facts_of(proposal, &agent->facts, error);
    if (status)
        return status;
    status = stays(agent, fplt__local_data_create(agent->settings, proposal, identity,
                                                  &agent->material, agent->abroad, error));
    if (status)
        return status;
    fplt__form form = fplt__local_data_form(agent->material);
    return fplt__disclosure_hessian(agent->settings, proposal, &form,
                                    fplt__local_data_records(agent->material), &agent->hessian,
                                    error);
}

/* The proposal inside a document, and its hash. */
static fplt_status proposal_of(const fplt__site_action *action, fplt__proposal *proposal,
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

/* Whether policy, disclosure rules and, unless that was done before, a person agree to the proposal. A plan may come
 * first, to an agent that lost its state or from a coordinator that skips the proposal: its proposal is judged in the
 * same way. */
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

static fplt_status judge_proposal(fplt__agent *agent, const fplt__proposal *proposal,
                                  const fplt__digest *hash, int agreed, fplt_error *error)
{
    fplt__consent_source source = {agent->settings, agent->watch, &agent->self, agent->authority};
    fplt_status status;
    if ((status = check_place(agent, proposal, error)) ||
        (status = fplt__policy_judge(&source, proposal, hash, error)) ||
        (status = fplt__disclosure_judge(agent->settings, proposal, error)) ||
        (!agreed && (status = fplt__policy_agree(&source, proposal, hash, error))) ||
        (status = read_data(agent, proposal, hash, error)))
        return status;
    agent->agreed_to = *hash;
    return judge_method(agent, proposal, error);
}

static fplt_status consider(fplt__agent *agent, const fplt__site_action *action, fplt_error *error)
{
    fplt__proposal proposal;
    fplt__digest hash;
    fplt_status status = proposal_of(action, &proposal, &hash, error);
    if (status)
        return status;
    status = judge_proposal(agent, &proposal, &hash, 0, error);
    fplt__proposal_clear(&proposal);
    return status;
}

/* With privacy off also what protects the records then. */
static void tell_agreed(const fplt__agent *agent, const fplt__site_action *action)
{
    fplt__buffer rules = {NULL, 0, 0, FPLT_OK};
    const fplt__hessian_rule *hessian = &agent->hessian;
    char hash[FPLT__HEX];
    fplt__hex(&action->hash, sizeof action->hash, hash);
    if (hessian->word) {
        fplt__buffer_add(&rules, "; privacy off: ");
        fplt__disclosure_show(agent->settings, &rules);
        fplt__buffer_format(&rules, ", hessian: %s%s%s%s",
                            hessian->word == FPLT__HESSIAN_YES ? "yes" : "no",
                            *hessian->reason ? " (" : "", hessian->reason,
                            *hessian->reason ? ")" : "");
    }
    fplt__agent_log(agent, "agreed", "to the %s %.16s..., with %llu records%s",
                    action->planned ? "plan" : "proposal", hash,
                    (unsigned long long)fplt__local_data_records(agent->material),
                    rules.text ? rules.text : "");
    fplt__buffer_clear(&rules);
}

void fplt__agent_ask(fplt__agent *agent, const fplt__site_action *action)
{
    fplt_error error = {FPLT_OK, ""};
    if (consider(agent, action, &error)) {
        answer_refusal(agent, error.text);
        return;
    }
    tell_agreed(agent, action);
    fplt__site_event event = {.kind = FPLT__SITE_AGREE,
                              .records = fplt__local_data_records(agent->material),
                              .hessian = agent->hessian.word};
    fplt__agent_handle(agent, &event);
}

/* Facts */

/* An answer on its way. */
struct facts {
    double *scalars;
    uint32_t count;
    uint64_t *words;
    uint64_t numbers;
};

static fplt_status gather_ranges(const fplt_dataset *rows, struct facts *facts, fplt_error *error)
{
    size_t features = fplt_dataset_features(rows);
    fplt_status status =
        fplt__alloc_into(&facts->scalars, 2 * features, sizeof(double), "facts", error);
    facts->count = (uint32_t)(2 * features);
    return status ? status : fplt__dataset_ranges(rows, facts->scalars, error);
}

static fplt_status asked_wrongly(fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_DATA, "the coordinator asks for facts wrongly");
}

static fplt_status gather_moments(const fplt_dataset *rows, const fplt__site_action *action,
                                  struct facts *facts, fplt_error *error)
{
    size_t features = fplt_dataset_features(rows);
    int squares = action->step == FPLT__FACTS_SQUARES;
    if (action->count != (squares ? 2 : 1) * features)
        return asked_wrongly(error);
    for (size_t j = 0; j < features; j++)
        if (!(action->down[j] > 0 && isfinite(action->down[j])))
            return asked_wrongly(error);
    fplt_status status =
        fplt__alloc_into(&facts->words, 2 * features, sizeof(uint64_t), "facts", error);
    facts->numbers = features;
    return status
               ? status
               : fplt__dataset_moments(rows, action->down, squares ? action->down + features : NULL,
                                       facts->words, error);
}

/* Members, records, and where columns are standardised their means and scales came with it. */
static fplt_status gather_bend(fplt__agent *agent, const fplt__site_action *action,
                               struct facts *facts, fplt_error *error)
{
    size_t features = fplt_dataset_features(fplt__local_data_rows(agent->material));
    if ((action->count != 2 && action->count != 2 * features + 2) ||
        !fplt__is_whole(action->down[0], 1, UINT32_MAX) ||
        !fplt__is_whole(action->down[1], 1, MAX_RECORDS))
        return asked_wrongly(error);
    double *means = action->count > 2 ? (double *)action->down + 2 : NULL;
    fplt__agreement stated = {.shifts = means ? (uint32_t)features : 0,
                              .shift = means,
                              .scale = means ? means + features : NULL};
    fplt_curvature_bounds bend;
    fplt_status status;
    if ((status = fplt__alloc_into(&facts->scalars, FPLT__CURVATURE_SCALARS, sizeof(double),
                                   "facts", error)) ||
        (status = fplt__local_data_shape(agent->material, &stated, (uint32_t)action->down[0],
                                         (uint64_t)action->down[1], error)) ||
        (status = fplt__local_data_curvature_bounds(agent->material, &bend, error)))
        return status;
    facts->count = FPLT__CURVATURE_SCALARS;
    facts->scalars[0] = bend.everywhere.lowest;
    facts->scalars[1] = bend.everywhere.highest;
    facts->scalars[2] = bend.near_lowest;
    facts->scalars[3] = (double)fplt__local_data_dimension(agent->material);
    return FPLT_OK;
}

/* What the rows look like, and how long the text is that names their columns. */
static fplt_status gather_form(const fplt__agent *agent, struct facts *facts, fplt_error *error)
{
    fplt__form form = fplt__local_data_form(agent->material);
    char *names;
    fplt_status status = fplt__local_data_names(agent->material, &names, error);
    if (!status)
        status =
            fplt__alloc_into(&facts->scalars, FPLT__FORM_ANSWERS, sizeof(double), "facts", error);
    if (!status) {
        fplt__form_scalars(&form, facts->scalars);
        facts->scalars[FPLT__FORM_SCALARS] = names ? (double)strlen(names) : 0;
        facts->count = FPLT__FORM_ANSWERS;
    }
    fplt__free(names);
    return status;
}

/* As many numbers as are asked for; the own text may need fewer. */
static fplt_status gather_names(const fplt__agent *agent, const fplt__site_action *action,
                                struct facts *facts, fplt_error *error)
{
    char *names;
    fplt_status status = fplt__local_data_names(agent->material, &names, error);
    size_t length = names ? strlen(names) : 0;
    double asked = action->count == 1 ? action->down[0] : -1;
    if (!status && !(asked >= (double)fplt__dictionary_numbers(length) && asked == floor(asked) &&
                     asked <= (double)fplt__dictionary_numbers(FPLT__DICTIONARY_MAX_TEXT)))
        status = asked_wrongly(error);
    if (!status)
        status = fplt__alloc_into(&facts->scalars, (size_t)asked, sizeof(double), "facts", error);
    if (!status) {
        fplt__dictionary_pack(names, length, facts->scalars);
        facts->count = (uint32_t)asked;
    }
    fplt__free(names);
    return status;
}

/* The columns of the run came with the question. */
static fplt_status gather_columns(fplt__agent *agent, const fplt__site_action *action,
                                  struct facts *facts, fplt_error *error)
{
    double length = action->count ? action->down[0] : 0;
    char *text;
    if (!(length >= 1 && length <= FPLT__DICTIONARY_MAX_TEXT && length == floor(length)) ||
        action->count != fplt__dictionary_numbers((size_t)length) + 1)
        return asked_wrongly(error);
    fplt_status status = fplt__alloc_into(&text, (size_t)length + 1, 1, "names", error);
    if (status)
        return status;
    if (!(status = fplt__dictionary_unpack(action->down + 1, (size_t)length, text, error)) &&
        !(status = fplt__local_data_settle(agent->material, text, agent->abroad, error)))
        status = fplt__kept_columns_save(agent->folder, &agent->material_of, text, error);
    fplt__free(text);
    if (status || (status = fplt__alloc_into(&facts->scalars, FPLT__COLUMNS_SCALARS, sizeof(double),
                                             "facts", error)))
        return status;
    facts->count = FPLT__COLUMNS_SCALARS;
    facts->scalars[0] = (double)fplt__local_data_form(agent->material).features;
    return FPLT_OK;
}

/* Whether a step asks for what is in the columns of the run. */
static int needs_columns(unsigned step)
{
    return step != FPLT__FACTS_FORM && step != FPLT__FACTS_NAMES && step != FPLT__FACTS_COLUMNS;
}

static fplt_status settle_as_before(fplt__agent *agent, unsigned step, fplt_error *error)
{
    char *dictionary;
    if (!needs_columns(step) || fplt__local_data_is_settled(agent->material))
        return FPLT_OK;
    fplt_status status =
        fplt__kept_columns_load(agent->folder, &agent->material_of, &dictionary, error);
    if (!status && dictionary)
        status = fplt__local_data_settle(agent->material, dictionary, agent->abroad, error);
    fplt__free(dictionary);
    return status;
}

/* Consent outlives the process that gave it, the rows do not: after a restart they are read again, and get the columns
 * that the earlier process was told. A coordinator that was restarted begins with the first step, so rows that later
 * steps have changed are read again, too. */
static fplt_status read_data_again(fplt__agent *agent, const fplt__site_action *action,
                                   fplt_error *error)
{
    fplt__proposal proposal;
    fplt__digest hash;
    fplt_status status = proposal_of(action, &proposal, &hash, error);
    if (status)
        return status;
    if (action->step == FPLT__FACTS_FORM && agent->material &&
        fplt__local_data_is_changed(agent->material)) {
        fplt__local_data_destroy(agent->material);
        agent->material = NULL;
    }
    status = read_data(agent, &proposal, &hash, error);
    fplt__proposal_clear(&proposal);
    if (!status)
        status = settle_as_before(agent, action->step, error);
    if (status || fplt__local_data_records(agent->material) == action->records)
        return status;
    snprintf(agent->abroad, sizeof agent->abroad, "its data were changed since it agreed");
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the data have %llu records now, but this agent agreed to the proposal "
                          "with %llu; put the file back as it was, or start the agent again to "
                          "agree with the new one",
                          (unsigned long long)fplt__local_data_records(agent->material),
                          (unsigned long long)action->records);
}

static fplt_status gather_facts(fplt__agent *agent, const fplt__site_action *action,
                                struct facts *facts, fplt_error *error)
{
    fplt_status status = read_data_again(agent, action, error);
    if (status)
        return status;
    if (action->step >= FPLT__FACTS_STEPS || !(agent->facts >> action->step & 1))
        return fplt_error_set(error, FPLT_FAILED,
                              agent->facts ? "the coordinator asks for facts that its proposal "
                                             "does not need"
                                           : "the coordinator asks for facts, but its proposal "
                                             "promises privacy");
    if (needs_columns(action->step) && !fplt__local_data_is_settled(agent->material))
        return fplt_error_set(error, FPLT_FAILED,
                              "the coordinator asks what is in columns before it says which the "
                              "run has");
    const fplt_dataset *rows = fplt__local_data_rows(agent->material);
    switch (action->step) {
    case FPLT__FACTS_FORM: return stays(agent, gather_form(agent, facts, error));
    case FPLT__FACTS_NAMES: return stays(agent, gather_names(agent, action, facts, error));
    case FPLT__FACTS_COLUMNS: return stays(agent, gather_columns(agent, action, facts, error));
    case FPLT__FACTS_RANGES: return stays(agent, gather_ranges(rows, facts, error));
    case FPLT__FACTS_SUMS:
    case FPLT__FACTS_SQUARES: return stays(agent, gather_moments(rows, action, facts, error));
    case FPLT__FACTS_CURVATURE: return stays(agent, gather_bend(agent, action, facts, error));
    default:
        return fplt_error_set(error, FPLT_UNSUPPORTED, "facts of step %u are not known here",
                              action->step);
    }
}

void fplt__agent_gather(fplt__agent *agent, const fplt__site_action *action)
{
    static const uint64_t no_words[2] = {0, 0};
    struct facts facts = {.scalars = NULL};
    fplt_error error = {FPLT_OK, ""};
    if (gather_facts(agent, action, &facts, &error)) {
        answer_refusal(agent, error.text);
    } else {
        fplt__site_event event = {.kind = FPLT__SITE_FACTS,
                                  .scalars = facts.scalars,
                                  .scalar_count = facts.count,
                                  .words = facts.words ? facts.words : no_words,
                                  .numbers = facts.numbers};
        fplt__agent_handle(agent, &event);
    }
    fplt__free(facts.scalars);
    fplt__free(facts.words);
}

/* The plan */

static uint64_t all_records(const fplt__agreement *agreement)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < agreement->proposal.members; i++)
        total += agreement->records[i];
    return total;
}

/* Finds the accounts of the data, and keeps there what the plan may cost. */
static fplt_status keep_budget(fplt__agent *agent, const fplt__agreement *agreement,
                               const fplt__digest *plan, fplt_error *error)
{
    fplt__record_source source = {.files = fplt_settings_text(agent->settings, "data"),
                                  .is_agent = 1,
                                  .declared = fplt_settings_text(agent->settings, "ledger-account"),
                                  .setting = "ledger-account"};
    uint32_t identity = fplt__site_get_view(agent->site).member_index;
    fplt_status status = fplt__privacy_plan_cost(agreement, identity, &agent->cost, error);
    if (status)
        return status;
    fplt_ledger_budget budget = fplt__policy_budget(agent->settings, agent->cost.group);
    fplt__cost whole = agent->cost;
    fplt__cost_scale(&whole, (double)agreement->cap);
    fplt__record_sets_destroy(agent->sets);
    agent->sets = NULL;
    if ((status = fplt__record_sets_find(agent->ledger, &source, &agent->sets, error)))
        return stays(agent, status);
    return fplt__accounts_reserve(agent->ledger, agent->sets, &whole, plan->byte, &budget, error);
}

/* A private plan is computed again, and what it may cost is kept for it in the ledger. */
static fplt_status check_privacy(fplt__agent *agent, const fplt__agreement *agreement,
                                 const fplt__digest *plan, fplt_error *error)
{
    fplt_status status;
    if (!agreement->private)
        return agreement->proposal.privacies
                   ? fplt_error_set(error, FPLT_BAD_DATA,
                                    "the plan is not private, but its proposal was")
                   : FPLT_OK;
    if ((status = fplt__privacy_plan_verify(agreement, error)))
        return status;
    if ((status = keep_budget(agent, agreement, plan, error))) {
        snprintf(agent->abroad, sizeof agent->abroad, "ledger: %.400s",
                 status == FPLT_UNREACHABLE ? fplt__agent_ledger_log(agent, error->text)
                                            : "it cannot be charged; the log there says why");
        fplt_error_prefix(error, "ledger");
    }
    return status;
}

/* A run goes on with the data that it began with, to the byte. */
static fplt_status check_data(fplt__agent *agent, const fplt__digest *plan, fplt_error *error)
{
    static const fplt__digest none = {{0}};
    fplt__digest now, then;
    fplt_status status;
    if ((status = fplt__site_data_digest(agent->settings, &now, error)) ||
        (status = fplt__site_store_data(agent->store, plan, &then, error)))
        return stays(agent, status);
    if (fplt__same(&then, &none))
        return stays(agent, fplt__site_store_set_data(agent->store, plan, &now, error));
    if (fplt__same(&now, &then))
        return FPLT_OK;
    snprintf(agent->abroad, sizeof agent->abroad, "its data were changed since this run began");
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the data file %s was changed since this run began; put it back as "
                          "it was, or wait for the next run",
                          fplt_settings_text(agent->settings, "data"));
}

/* The vector that the plan begins at, as it came; NULL: zero. */
static fplt_status read_start(const fplt__agreement *agreement, const fplt__site_action *action,
                              double **start, fplt_error *error)
{
    size_t n = agreement->plan.dimension;
    *start = NULL;
    if (fplt__is_zero(&agreement->start))
        return FPLT_OK;
    fplt__digest digest = fplt__hash_bytes(action->start, action->start_size);
    if (action->start_size != 8 * n || !fplt__same(&digest, &agreement->start))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the start that the coordinator sends is not the one its plan names");
    fplt_status status = fplt__alloc_into(start, n, sizeof **start, "the start", error);
    if (status)
        return status;
    fplt__get_reals(action->start, *start, n);
    for (size_t j = 0; j < n; j++)
        if (!isfinite((*start)[j]))
            status = fplt_error_set(error, FPLT_BAD_DATA, "the start of the plan is not finite");
    return status;
}

/* By the curvature of this site's own cost. */
static fplt_status check_step(fplt__agent *agent, const fplt__agreement *agreement,
                              fplt_error *error)
{
    fplt_curvature_bounds bend;
    if (agreement->private)
        return FPLT_OK;
    fplt_status status =
        stays(agent, fplt__local_data_curvature_bounds(agent->material, &bend, error));
    return status ? status
                  : fplt__disclosure_judge_step(agent->settings, agreement, bend.everywhere.highest,
                                                error);
}

/* The rows get the columns of the plan, which must be what it says in numbers. */
static fplt_status check_columns(fplt__agent *agent, const fplt__agreement *agreement,
                                 fplt_error *error)
{
    fplt__form stated, own;
    fplt_status status = fplt__agreement_form(agreement, &stated, error);
    if (status)
        return status;
    if (!agreement->dictionary != !!agreement->proposal.schema)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              agreement->dictionary
                                  ? "the plan has names of columns besides its schema"
                                  : "the plan does not say what the columns of the run are");
    if (agreement->dictionary &&
        (status = stays(agent, fplt__local_data_settle(agent->material, agreement->dictionary,
                                                       agent->abroad, error))))
        return status;
    own = fplt__local_data_form(agent->material);
    if (own.task != stated.task || own.features != stated.features || own.outputs != stated.outputs)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan has %zu features and %u classes, but its columns give %zu "
                              "and %u",
                              stated.features, stated.outputs, own.features, own.outputs);
    /* levels of other sites may have added columns, and with them parameters */
    return fplt__disclosure_hessian(agent->settings, &agreement->proposal, &own,
                                    fplt__local_data_records(agent->material), &agent->hessian,
                                    error);
}

static fplt_status build_node(fplt__agent *agent, const fplt__site_action *action,
                              fplt__agreement *agreement, fplt_node **node, fplt_error *error)
{
    fplt__site_view view = fplt__site_get_view(agent->site);
    fplt__proposal proposal;
    fplt__digest hash;
    fplt_status status = proposal_of(action, &proposal, &hash, error);
    if (status)
        return status;
    int agreed = view.consented || fplt__same(&hash, &agent->agreed_to);
    status = judge_proposal(agent, &proposal, &hash, agreed, error);
    fplt__proposal_clear(&proposal);
    if (status)
        return status;
    if (agreement->records[view.member_index] != fplt__local_data_records(agent->material))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the data have %llu records now, but the plan says %llu; a run needs "
                              "the data it began with",
                              (unsigned long long)fplt__local_data_records(agent->material),
                              (unsigned long long)agreement->records[view.member_index]);
    if ((status = fplt__plan_resolution_follow(agreement, error)) ||
        (status = fplt__policy_judge_plan(agent->settings, agreement, error)) ||
        (status = fplt__disclosure_judge_start(agent->settings, agent->folder, agreement, error)) ||
        (status = check_data(agent, &action->hash, error)) ||
        (status = check_columns(agent, agreement, error)) ||
        (status =
             fplt__disclosure_judge_algorithm(&agent->hessian, agreement->plan.algorithm, error)) ||
        (status = check_privacy(agent, agreement, &action->hash, error)) ||
        (status = stays(agent, fplt__local_data_shape(agent->material, agreement,
                                                      agreement->proposal.members,
                                                      all_records(agreement), error))))
        return status;
    double *start;
    if ((status = check_step(agent, agreement, error)))
        return status;
    if (!(status = read_start(agreement, action, &start, error)))
        status = stays(agent, fplt__local_data_node(agent->material, agreement, view.member_index,
                                                    start, node, error));
    fplt__free(start);
    return status;
}

static void tell_plan(const fplt__agent *agent, const fplt__agreement *agreement,
                      const fplt__digest *plan)
{
    char hash[FPLT__HEX];
    fplt__hex(plan, sizeof *plan, hash);
    fplt__agent_log(agent, "plan", "%.16s... of run %u: %s, at most %llu rounds%s%s", hash,
                    agreement->proposal.run, agreement->plan.algorithm->name,
                    (unsigned long long)agreement->rounds,
                    agreement->private ? ", with privacy" : "",
                    fplt__is_zero(&agreement->start) ? "" : ", from an earlier model");
}

/* The plan begins at a vector that has not come yet. */
static int lacks_start(const fplt__agreement *agreement, const fplt__site_action *action)
{
    return !fplt__is_zero(&agreement->start) && !action->start;
}

void fplt__agent_build(fplt__agent *agent, const fplt__site_action *action)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__site_plan plan = {.agreement = NULL};
    int lacks = 0;
    fplt_status status =
        fplt__alloc_into(&plan.agreement, 1, sizeof *plan.agreement, "a plan", &error);
    if (!status && !(status = fplt__agreement_read(action->document, action->document_size,
                                                   plan.agreement, &error))) {
        lacks = lacks_start(plan.agreement, action);
        if (lacks || (status = build_node(agent, action, plan.agreement, &plan.node, &error)))
            fplt__agreement_clear(plan.agreement);
    }
    if (status || lacks) {
        fplt__site_event event = {.kind = FPLT__SITE_LACKS};
        fplt__free(plan.agreement);
        if (status)
            answer_refusal(agent, error.text);
        else
            fplt__agent_handle(agent, &event);
        return;
    }
    tell_plan(agent, plan.agreement, &action->hash);
    fplt__free(agent->plan);
    agent->plan = fplt__strndup(action->document, action->document_size);
    if (agent->hessian.word == FPLT__HESSIAN_NO)
        plan.withholds = 1u << FPLT__INFORMATION;
    fplt__site_event event = {.kind = FPLT__SITE_BUILT, .plan = &plan};
    fplt__agent_handle(agent, &event);
}
