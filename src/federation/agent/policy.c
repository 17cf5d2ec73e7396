#include "federation/agent/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/settings.h"
#include "base/text.h"
#include "federation/plan/analysis.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/run_design.h"
#include "federation/plan/columns.h"
#include "federation/plan/plan_resolution.h"
#include "federation/plan/proposal_text.h"
#include "fedplt/algorithm.h"
#include "promise/ledger.h"
#include "promise/promise.h"
#include "trainer/declare.h"

const fplt_setting fplt__policy_table[] = {
    {"policy.federations", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "federations whose proposals are agreed to", 0, 0},
    {"policy.algorithms", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "algorithms that are agreed to; none given: any", 0, 0},
    {"policy.rounds", FPLT_INTEGER, 0, NULL, 1, 9007199254740992.0, NULL, "most rounds of a run", 0,
     0},
    {"policy.participants", FPLT_INTEGER, 0, "2", 1, 4294967295.0, NULL,
     "least agents on the roster and in a round", 0, 0},
    {"policy.epsilon", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "budget of privacy for all runs; off: to train without privacy", 0, 0},
    {"policy.delta", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "1e-5", 0, 1, NULL,
     "delta that belongs to the budget", 0, 0, .needs = "policy.epsilon!=off"},
    {"policy.allow", FPLT_TEXT, FPLT_LIST,
     "facts,measure,score,information,evaluate,describe,survival,"
     "survival-test",
     0, 0, NULL,
     "what may leave besides updates while privacy is off: facts, measure, score, information, the "
     "analyses evaluate, describe, survival and survival-test, and sparse, updates of the columns "
     "alone that rows touch",
     0, 0, .needs = "policy.epsilon=off"},
    FPLT_SETTINGS_END,
};

static int lists(const fplt_settings *settings, const char *name, const char *word)
{
    const char *list = fplt_settings_text(settings, name);
    char item[128];
    while (list && *list) {
        list = fplt__list_next(list, item, sizeof item);
        if (strcmp(item, word) == 0)
            return 1;
    }
    return 0;
}

int fplt__policy_is_given(const fplt_settings *settings)
{
    for (const fplt_setting *row = fplt__policy_table; row->name; row++)
        if (fplt_settings_given(settings, row->name))
            return 1;
    return 0;
}

fplt_status fplt__policy_against(const fplt_settings *settings, const char *name, fplt_error *error,
                                 const char *what, const char *value)
{
    int given = fplt_settings_given(settings, name);
    return fplt_error_set(error, FPLT_FAILED, "%.100s%srejected by the site's policy: %s: %s%s%s",
                          given ? fplt__settings_origin(settings, name) : "", given ? ": " : "",
                          name, what, *value ? " " : "", value);
}

int fplt__policy_is_off(const fplt_settings *settings)
{
    const char *epsilon = fplt_settings_text(settings, "policy.epsilon");
    return epsilon && strcmp(epsilon, "off") == 0;
}

int fplt__policy_is_simulated(const fplt__proposal *proposal)
{
    const char *noise = fplt__pair_find(proposal->privacy, proposal->privacies, "noise");
    return noise && strcmp(noise, "simulated") == 0;
}

int fplt__policy_is_private(const fplt_settings *site, const fplt__proposal *proposal)
{
    return proposal->privacies && !fplt__policy_is_simulated(proposal) &&
           !fplt__policy_is_off(site);
}

int fplt__policy_allows_exclusion(const fplt_settings *site)
{
    return strcmp(fplt_settings_text(site, "policy.exclusion"), "allow") == 0;
}

int fplt__policy_has_budget(const fplt_settings *settings)
{
    return fplt_settings_text(settings, "policy.epsilon") && !fplt__policy_is_off(settings);
}

static fplt_status judge_privacy(const fplt_settings *settings, const fplt__proposal *proposal,
                                 fplt_error *error)
{
    const char *noise = fplt__pair_find(proposal->privacy, proposal->privacies, "noise");
    int seeded = noise && strcmp(noise, "simulated") == 0;
    if (!proposal->privacies && !fplt__policy_is_off(settings))
        return fplt__policy_against(
            settings, "policy.epsilon", error,
            "the proposal trains without privacy; `epsilon: off` would agree to that", "");
    if (seeded && !fplt__policy_is_off(settings))
        return fplt__policy_against(
            settings, "policy.epsilon", error,
            "the proposal's noise is simulated, which protects nobody; `epsilon: off` "
            "would agree to that",
            "");
    return FPLT_OK;
}

/* Facts leave where no privacy is promised: by how the costs curve the steps are chosen. */
static fplt_status judge_facts(const fplt_settings *settings, const fplt__proposal *proposal,
                               const fplt_settings *terms, fplt_error *error)
{
    if (proposal->privacies || lists(settings, "policy.allow", "facts"))
        return FPLT_OK;
    char needed[360];
    snprintf(needed, sizeof needed, "%s%s%s",
             proposal->schema || fplt__is_custom(proposal)
                 ? ""
                 : "the names of columns, levels and label words, ",
             fplt__run_needs_polys(terms) ? "the moments of the columns in poly(), " : "",
             fplt__plan_resolution_fits(terms) && !fplt__is_custom(proposal)
                 ? "the curvature of the cost and, because columns are standardised, their "
                   "ranges, means and deviations (with `standardise: no` or `schema` the "
                   "curvature alone)"
                 : "the curvature of the cost");
    return fplt__policy_against(settings, "policy.allow", error,
                                "does not have `facts`; the proposal needs", needed);
}

/* Which columns the rows touch is seen in the length of a sparse update. */
static fplt_status judge_encoding(const fplt_settings *settings, const fplt__proposal *proposal,
                                  fplt_error *error)
{
    if (!fplt__proposal_lists(proposal) || lists(settings, "policy.allow", "sparse"))
        return FPLT_OK;
    return fplt__policy_against(
        settings, "policy.allow", error,
        "does not have `sparse`; the proposal has `encoding: sparse`, whose updates name the "
        "columns that the site's rows touch; add it, or ask for `encoding: exact`",
        "");
}

/* By name; `auto` is known once the data are. */
static fplt_status judge_algorithm(const fplt_settings *settings, const char *algorithm,
                                   fplt_error *error)
{
    if (!fplt_settings_given(settings, "policy.algorithms") ||
        lists(settings, "policy.algorithms", algorithm))
        return FPLT_OK;
    return fplt__policy_against(settings, "policy.algorithms", error, "does not name", algorithm);
}

fplt_status fplt__policy_judge_form(const fplt_settings *settings, const fplt__proposal *proposal,
                                    const fplt__form *form, fplt_error *error)
{
    const char *named = fplt__pair_find(proposal->setting, proposal->settings, "algorithm");
    fplt__plan_resolution terms;
    if (!named || strcmp(named, "auto") != 0 || !fplt_settings_given(settings, "policy.algorithms"))
        return FPLT_OK;
    fplt_status status = fplt__plan_resolution_of(proposal, form, &terms, error);
    if (status)
        return status;
    status = judge_algorithm(settings, terms.job.run.algorithm->name, error);
    fplt__plan_resolution_clear(&terms);
    return status;
}

static fplt_status judge_rounds(const fplt_settings *settings, uint64_t rounds, fplt_error *error)
{
    char text[64];
    if (!fplt_settings_given(settings, "policy.rounds") ||
        rounds <= (uint64_t)fplt_settings_integer(settings, "policy.rounds"))
        return FPLT_OK;
    snprintf(text, sizeof text, "%llu", (unsigned long long)rounds);
    return fplt__policy_against(settings, "policy.rounds", error, "the proposal wants", text);
}

fplt_status fplt__policy_judge_plan(const fplt_settings *settings, const fplt__agreement *agreement,
                                    fplt_error *error)
{
    fplt_status status = judge_rounds(settings, agreement->rounds, error);
    return status ? status : judge_algorithm(settings, agreement->plan.algorithm->name, error);
}

/* What policy.allow may name, and the questions of the protocol that each is about. */
static const struct {
    const char *word;
    unsigned kinds;
} allowing[] = {{"facts", 0},
                {"measure", 1u << FPLT__MEASURE | 1u << FPLT__MEAN},
                {"score", 1u << FPLT__SCORE},
                {"information", 1u << FPLT__INFORMATION},
                {"sparse", 0}};

static int may_be_allowed(const char *word)
{
    for (size_t i = 0; i < sizeof allowing / sizeof *allowing; i++)
        if (strcmp(allowing[i].word, word) == 0)
            return 1;
    return fplt__analysis_kind_find(word) != NULL;
}

static int is_algorithm(const char *word)
{
    return fplt_algorithm_find(word) != NULL;
}

static fplt_status check_words(const fplt_settings *settings, const char *name,
                               int (*is_legal)(const char *word), const char *legal,
                               fplt_error *error)
{
    const char *list = fplt_settings_text(settings, name);
    char item[128];
    while (list && *list) {
        list = fplt__list_next(list, item, sizeof item);
        if (!is_legal(item))
            return fplt_error_set(error, FPLT_BAD_VALUE, "%s: %s has '%.60s', but %s",
                                  fplt__settings_origin(settings, name), name, item, legal);
    }
    return FPLT_OK;
}

static fplt_status check_epsilon(const fplt_settings *settings, fplt_error *error)
{
    const char *epsilon = fplt_settings_text(settings, "policy.epsilon");
    double number;
    if (!epsilon || fplt__policy_is_off(settings) ||
        (!fplt__parse_real(epsilon, &number) && number > 0))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: policy.epsilon is '%.40s', but it must be a number above 0, or off",
                          fplt__settings_origin(settings, "policy.epsilon"), epsilon);
}

fplt_status fplt__policy_check(const fplt_settings *settings, fplt_error *error)
{
    fplt_status status = check_epsilon(settings, error);
    if (!status)
        status = check_words(settings, "policy.allow", may_be_allowed,
                             "its words are facts, measure, score, information, evaluate, "
                             "describe, survival and sparse",
                             error);
    if (!status)
        status =
            check_words(settings, "policy.algorithms", is_algorithm,
                        "there is no such algorithm; `fedplt list algorithms` shows them", error);
    return status ? status
                  : check_words(settings, "policy.federations", fplt__name_is_legal,
                                "names of federations have a-z, 0-9 and -", error);
}

fplt_status fplt__policy_check_federation(const fplt_settings *settings, const char *federation,
                                          fplt_error *error)
{
    if (!fplt__policy_is_given(settings) || lists(settings, "policy.federations", federation))
        return FPLT_OK;
    const char *given = fplt_settings_text(settings, "policy.federations");
    const char *origin = fplt__settings_origin(settings, "policy.federations");
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s%spolicy.federations %s%.100s, but this agent's certificate is of %s: "
                          "nothing would be agreed to; write `federations: [%s]`",
                          given && origin ? origin : "", given && origin ? ": " : "",
                          given ? "is " : "is not given", given ? given : "", federation,
                          federation);
}

static void show_word(const fplt_settings *settings, const char *name, const char *otherwise,
                      fplt__buffer *text)
{
    const char *value = fplt_settings_text(settings, name);
    fplt__buffer_format(text, "%s%s %s", text->length ? ", " : "", name + strlen("policy."),
                        value ? value : otherwise);
}

void fplt__policy_show(const fplt_settings *settings, fplt__buffer *text)
{
    if (!fplt__policy_is_given(settings)) {
        fplt__buffer_add(text, fplt_settings_text(settings, "plan")
                                   ? "none; --plan agrees to one proposal"
                                   : "none; a person is asked about each proposal");
        return;
    }
    show_word(settings, "policy.federations", "none", text);
    show_word(settings, "policy.algorithms", "any", text);
    show_word(settings, "policy.rounds", "any", text);
    show_word(settings, "policy.participants", "any", text);
    show_word(settings, "policy.epsilon", "of any promise", text);
    if (fplt__policy_is_off(settings))
        show_word(settings, "policy.allow", "nothing", text);
    else
        show_word(settings, "policy.delta", "", text);
}

fplt__ledger_budget fplt__policy_budget(const fplt_settings *settings, uint64_t group)
{
    const char *epsilon = fplt_settings_text(settings, "policy.epsilon");
    fplt__ledger_budget budget = {
        .epsilon = INFINITY, .delta = fplt_settings_real(settings, "policy.delta"), .group = group};
    if (epsilon && !fplt__policy_is_off(settings))
        fplt__parse_real(epsilon, &budget.epsilon);
    return budget;
}

static fplt_status judge_roster(const fplt_settings *settings, const fplt__proposal *proposal,
                                fplt_error *error)
{
    char text[64];
    if (!lists(settings, "policy.federations", proposal->federation))
        return fplt__policy_against(settings, "policy.federations", error, "does not name",
                                    proposal->federation);
    snprintf(text, sizeof text, "%u", proposal->members);
    return proposal->members < fplt_settings_integer(settings, "policy.participants")
               ? fplt__policy_against(settings, "policy.participants", error, "the roster has only",
                                      text)
               : FPLT_OK;
}

/* It has no rounds and no algorithm. */
static fplt_status judge_analysis(const fplt_settings *settings, const fplt__proposal *proposal,
                                  fplt_error *error)
{
    char needed[80];
    fplt_status status = judge_roster(settings, proposal, error);
    if (!status)
        status = judge_privacy(settings, proposal, error);
    if (status || lists(settings, "policy.allow", proposal->analysis.kind))
        return status;
    snprintf(needed, sizeof needed, "does not have `%s`", proposal->analysis.kind);
    return fplt__policy_against(settings, "policy.allow", error, needed, "");
}

static fplt_status judge_by_policy(const fplt_settings *settings, const fplt__proposal *proposal,
                                   fplt_error *error)
{
    fplt_settings *terms;
    if (fplt__is_analysis(proposal))
        return judge_analysis(settings, proposal, error);
    fplt_status status = fplt__plan_resolution_settings(proposal, 0, &terms, error);
    if (status)
        return status;
    long long rounds = fplt_settings_integer(terms, "rounds");
    int private = fplt__promise_wanted(terms); /* it plans its rounds: they are looked at then */
    if ((status = judge_roster(settings, proposal, error)))
        ;
    else if (!fplt_settings_is_auto(terms, "algorithm") &&
             (status = judge_algorithm(settings, fplt_settings_text(terms, "algorithm"), error)))
        ;
    else if (!private && (status = judge_rounds(settings, (uint64_t)rounds, error)))
        ;
    else if (!(status = judge_privacy(settings, proposal, error)) &&
             !(status = judge_encoding(settings, proposal, error)))
        status = judge_facts(settings, proposal, terms, error);
    fplt_settings_destroy(terms);
    return status;
}

static fplt_status ask_person(const fplt__consent_source *source, const fplt__proposal *proposal,
                              const char *hash, fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt__proposal_show(proposal, &text);
    if (proposal->secure)
        fplt__buffer_add(&text,
                         fplt_settings_given(source->settings, "peers")
                             ? "identities  as pinned in site.yaml\n"
                             : "identities  as met first (trust on first use, which does not "
                               "protect against a malicious operator; `fedplt agent peers` prints "
                               "what to compare by telephone)\n");
    if (source->protection)
        fplt__buffer_format(&text, "protection  %s\n", source->protection);
    int agreed = !text.status && source->watch->agree &&
                 source->watch->agree(source->watch->context, text.text, hash);
    fplt__buffer_clear(&text);
    return agreed
               ? FPLT_OK
               : fplt_error_set(error, FPLT_FAILED,
                                "nobody agreed to proposal %.16s...; the site needs a `policy`, or "
                                "`--plan %s`",
                                hash, hash);
}

/* Dates compare as texts. */
static fplt_status judge_date(const fplt__proposal *proposal, fplt_error *error)
{
    char today[16];
    fplt__date(time(NULL), today);
    if (!*proposal->expires || strcmp(today, proposal->expires) <= 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_FAILED,
                          "the proposal expired on %s, and today is %s; propose it again",
                          proposal->expires, today);
}

fplt_status fplt__policy_judge(const fplt__consent_source *source, const fplt__proposal *proposal,
                               const fplt__digest *hash, fplt_error *error)
{
    const fplt_settings *settings = source->settings;
    const char *plan = fplt_settings_text(settings, "plan");
    uint8_t fingerprint[FPLT_FINGERPRINT_SIZE];
    char text[FPLT__HEX];
    fplt_status status = fplt__certificate_digest(source->authority, fingerprint, error);
    if (status)
        return status;
    if (strcmp(proposal->federation, source->self->federation) != 0 ||
        memcmp(&proposal->authority, fingerprint, sizeof fingerprint) != 0)
        return fplt_error_set(error, FPLT_FAILED,
                              "the proposal is of another federation or authority than this "
                              "agent's certificate");
    if ((status = judge_date(proposal, error)))
        return status;
    fplt__hex(hash, sizeof *hash, text);
    if (fplt__policy_is_given(settings) && (status = judge_by_policy(settings, proposal, error)))
        return status;
    if (plan && !source->is_expected && strcmp(plan, text) != 0)
        return fplt_error_set(error, FPLT_FAILED, "--plan agrees to %.16s..., but this is %.16s...",
                              plan, text);
    return FPLT_OK;
}

fplt_status fplt__policy_agree(const fplt__consent_source *source, const fplt__proposal *proposal,
                               const fplt__digest *hash, fplt_error *error)
{
    char text[FPLT__HEX];
    fplt__hex(hash, sizeof *hash, text);
    return fplt__policy_is_given(source->settings) || fplt_settings_text(source->settings, "plan")
               ? FPLT_OK
               : ask_person(source, proposal, text, error);
}

int fplt__policy_allows_word(const fplt_settings *settings, const char *word)
{
    return !fplt__policy_is_given(settings) || lists(settings, "policy.allow", word);
}

unsigned fplt__policy_allows(const fplt_settings *settings)
{
    unsigned allows = 0;
    for (size_t i = 0; i < sizeof allowing / sizeof *allowing; i++)
        if (fplt__policy_allows_word(settings, allowing[i].word))
            allows |= allowing[i].kinds;
    return allows;
}
