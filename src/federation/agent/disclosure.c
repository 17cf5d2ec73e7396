#include "federation/agent/disclosure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/file.h"
#include "fedplt/algorithm.h"
#include "fedplt/model.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/schema_access.h"
#include "job/job.h"
#include "job/tables.h"
#include "federation/agent/approval.h"
#include "federation/agent/custom_cost.h"
#include "federation/agent/policy.h"
#include "federation/agent/questions.h"
#include "federation/agent/rules.h"
#include "federation/plan/analysis.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/plan_resolution.h"

enum { MAX_RECEIVED = 64 << 20 };

/* Only while no budget of the site protects its records. */
#define UNPROTECTED "policy.epsilon=off,!policy.epsilon"

const fplt_setting fplt__disclosure_table[] = {
    {"policy.disclosure", FPLT_CHOICE, 0, "strict", 0, 0, "strict|research|off",
     "rules against reading records out of exact answers while privacy is off "
     "(docs/disclosure.md)",
     0, 0, .needs = UNPROTECTED},
    {"policy.coordinator", FPLT_CHOICE, 0, "trusted", 0, 0, "trusted|untrusted",
     "trusted: it runs the unmodified program; untrusted: runs without privacy are refused", 0, 0,
     .needs = UNPROTECTED},
    {"policy.exclusion", FPLT_CHOICE, 0, "refuse", 0, 0, "refuse|allow",
     "whether a run with secure aggregation and without noise may go on without a member: the sums "
     "with and without it reveal its updates",
     0, 0, .needs = UNPROTECTED},
    {"policy.start-models", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "models besides the received ones that a run may start at: model files, or digests of their "
     "weights",
     0, 0, .needs = UNPROTECTED ";policy.disclosure!=off"},
    {"policy.data", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "digests of what proposals state about the data (schema, columns, classes, levels) that is "
     "approved besides what `agent approve` added",
     0, 0, .needs = UNPROTECTED ";policy.disclosure!=off"},
    {"policy.approved", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL,
     "settings of a proposal that must otherwise be automatic, with the value that is agreed to: "
     "rho=1,h-weight=0.04",
     0, 0, .needs = UNPROTECTED ";policy.disclosure=strict;policy.federations"},
    FPLT_SETTINGS_END,
};

/* Numbers of a proposal that shape an answer */

/* Of the cost and of how rows are transformed: a record is bent or cut where such a number says. */
static const char *const shaping[] = {"radius", "clip", "huber-delta", "predictor-bound",
                                      "missing-value"};

static int is_parameter(const char *name)
{
    const fplt_algorithm *algorithm;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++)
        for (const fplt_setting *row = algorithm->settings; row && row->name; row++)
            if (row->kind == FPLT_REAL && strcmp(row->name, name) == 0)
                return 1;
    return 0;
}

/* The cells in which an analysis counts: two grids tell how many rows are between their boundaries. */
static int is_of_analysis(const char *name)
{
    const fplt__analysis_kind *kind;
    for (size_t i = 0; (kind = fplt__analysis_kind_list(i)); i++)
        for (const fplt_setting *row = kind->table; row->name; row++)
            if ((row->kind == FPLT_INTEGER || row->kind == FPLT_REAL) &&
                strcmp(row->name, name) == 0)
                return 1;
    return 0;
}

/* The weights and bounds of h, and the real parameters of any algorithm, place the next broadcast. */
int fplt__disclosure_needs_approval(const char *name)
{
    for (size_t i = 0; i < sizeof shaping / sizeof *shaping; i++)
        if (strcmp(shaping[i], name) == 0)
            return 1;
    for (const fplt_setting *row = fplt__job_composite_table; row->name; row++)
        if (row->kind == FPLT_REAL && strcmp(row->name, name) == 0)
            return 1;
    return is_parameter(name) || is_of_analysis(name);
}

static int same_number(const char *a, const char *b)
{
    double x, y;
    return !fplt__parse_real(a, &x) && !fplt__parse_real(b, &y) && x == y;
}

static int is_approved(const fplt_settings *site, const fplt__pair *pair)
{
    const char *list = fplt_settings_text(site, "policy.approved");
    char name[128], value[128];
    while (list && *list) {
        list = fplt__pairs_next(list, name, sizeof name, value, sizeof value);
        if (strcmp(name, pair->name) == 0 && same_number(value, pair->value))
            return 1;
    }
    return 0;
}

/* As good as not given. */
static int is_default(const fplt_settings *terms, const fplt__pair *pair)
{
    const fplt_setting *row = fplt__settings_find(terms, pair->name);
    return strcmp(pair->value, "auto") == 0 ||
           (row && row->standard && same_number(row->standard, pair->value));
}

static fplt_status judge_numbers(const fplt_settings *site, const fplt__pair *setting, size_t count,
                                 const fplt_settings *terms, fplt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const fplt__pair *pair = &setting[i];
        if (fplt__disclosure_needs_approval(pair->name) && !is_default(terms, pair) &&
            !is_approved(site, pair))
            return fplt_error_set(error, FPLT_FAILED,
                                  "disclosure: the proposal sets %s to %s, but it must be "
                                  "automatic, or policy.approved must have that value",
                                  pair->name, pair->value);
    }
    return FPLT_OK;
}

/* The proposal */

static fplt_status judge_solver(const fplt_settings *terms, fplt_error *error)
{
    const fplt_solver *solver = fplt_solver_find(fplt_settings_text(terms, "solver"));
    return !solver || !(solver->traits & FPLT_STOCHASTIC)
               ? FPLT_OK
               : fplt_error_set(error, FPLT_FAILED,
                                "disclosure: the solver %s trains on chosen rows, so that an "
                                "update may be a single record; choose a solver that takes whole "
                                "gradients",
                                solver->name);
}

static fplt_status judge_terms(const fplt_settings *site, const fplt__proposal *proposal,
                               const fplt_settings *terms, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (fplt__rule_value(site, FPLT__RULE_NUMBERS) > 0 && fplt__policy_is_given(site))
        status = judge_numbers(site, proposal->setting, proposal->settings, terms, error);
    return status || !(fplt__rule_value(site, FPLT__RULE_WHOLE_GRADIENTS) > 0)
               ? status
               : judge_solver(terms, error);
}

fplt_status fplt__disclosure_judge(const fplt_settings *site, const fplt__proposal *proposal,
                                   fplt_error *error)
{
    int plain = !proposal->privacies || fplt__policy_is_simulated(proposal);
    fplt_settings *terms;
    fplt_status status;
    if (plain && strcmp(fplt_settings_text(site, "policy.coordinator"), "untrusted") == 0)
        return fplt__policy_against(
            site, "policy.coordinator", error,
            "is untrusted, but the proposal trains without privacy, which protects records from a "
            "coordinator that keeps to the program only",
            "");
    if (fplt__policy_is_private(site, proposal) || fplt__custom_cost_is_off(site, proposal))
        return FPLT_OK;
    if ((status = fplt__plan_resolution_settings(proposal, 0, &terms, error)))
        return status;
    status = judge_terms(site, proposal, terms, error);
    fplt_settings_destroy(terms);
    return status;
}

/* Hessians */

/* Hessians that a fit by Newton's method takes, about. */
enum { HESSIANS_OF_FIT = 10 };

static void refuse_by_policy(const fplt_settings *site, fplt__hessian_rule *rule)
{
    int given = fplt_settings_given(site, "policy.allow");
    snprintf(rule->reason, sizeof rule->reason, "%.100s%spolicy.allow does not have `information`",
             given ? fplt__settings_origin(site, "policy.allow") : "", given ? ": " : "");
}

static void refuse_by_rows(uint64_t records, uint64_t dimension, double least,
                           fplt__hessian_rule *rule)
{
    snprintf(rule->reason, sizeof rule->reason,
             "this site has %llu rows, and Hessians of %llu parameters leave where there are at "
             "least %.0f",
             (unsigned long long)records, (unsigned long long)dimension, least);
}

static void judge_hessians(const fplt_settings *site, uint64_t records, uint64_t dimension,
                           double left, fplt__hessian_rule *rule)
{
    double least = fplt__rule_value(site, FPLT__RULE_HESSIANS) * (double)dimension,
           numbers = fplt__questions_hessian(dimension);
    rule->word = FPLT__HESSIAN_NO;
    if (least > 0 && !fplt__policy_allows_word(site, "information")) {
        refuse_by_policy(site, rule);
    } else if ((double)records < least) {
        refuse_by_rows(records, dimension, least, rule);
    } else {
        rule->informs = left >= FPLT__HESSIANS_OF_ERRORS * numbers;
        rule->word = left >= HESSIANS_OF_FIT * numbers ? FPLT__HESSIAN_YES : FPLT__HESSIAN_NO;
        if (rule->word == FPLT__HESSIAN_NO)
            snprintf(rule->reason, sizeof rule->reason,
                     "the questions to this data set leave %.0f numbers, and a fit by Hessians of "
                     "%llu parameters takes %.0f",
                     left > 0 ? left : 0, (unsigned long long)dimension, HESSIANS_OF_FIT * numbers);
    }
}

fplt_status fplt__disclosure_hessian(const fplt_settings *site, const fplt__proposal *proposal,
                                     const fplt__form *form, uint64_t records, double left,
                                     fplt__hessian_rule *rule, fplt_error *error)
{
    fplt__plan_resolution terms;
    *rule = (fplt__hessian_rule){.word = FPLT__HESSIAN_UNSAID};
    if (proposal->privacies)
        return FPLT_OK;
    fplt_status status = fplt__plan_resolution_of(proposal, form, &terms, error);
    if (status)
        return status;
    uint64_t dimension = terms.job.dimension;
    fplt__plan_resolution_clear(&terms);
    if (fplt__custom_cost_is_off(site, proposal))
        rule->word = FPLT__HESSIAN_YES;
    else
        judge_hessians(site, records, dimension, left, rule);
    return FPLT_OK;
}

fplt_status fplt__disclosure_judge_algorithm(const fplt__hessian_rule *rule,
                                             const fplt_algorithm *algorithm, fplt_error *error)
{
    return rule->word != FPLT__HESSIAN_NO || !(algorithm->allows & FPLT_SENDS_HESSIANS)
               ? FPLT_OK
               : fplt_error_set(error, FPLT_FAILED, "disclosure: %s, but %s sends Hessians",
                                rule->reason, algorithm->name);
}

/* The step */

fplt_status fplt__disclosure_judge_step(const fplt_settings *site, const fplt__agreement *agreement,
                                        double smoothness, fplt_error *error)
{
    const double rounding = 1 + 1e-9;
    const fplt__proposal *proposal = &agreement->proposal;
    const char *given = fplt__pair_find(proposal->setting, proposal->settings, "gamma");
    double gamma = 0, most = fplt__rule_value(site, FPLT__RULE_STEP);
    if (agreement->private || !(most > 0) || fplt__custom_cost_is_off(site, proposal))
        return FPLT_OK;
    if (given)
        fplt__parse_real(given, &gamma); /* auto stays 0 */
    gamma = fmax(gamma, agreement->plan.step);
    return gamma * smoothness <= most * rounding
               ? FPLT_OK
               : fplt_error_set(error, FPLT_FAILED,
                                "disclosure: gamma is %.6g, but it must be at most %g/L, which is "
                                "%.6g here; a longer step places the next broadcast where the "
                                "operator wants it",
                                gamma, most, most / smoothness);
}

/* Where a run starts */

/* What the numbers of a model are coordinates of: under another scale the same numbers are another model. */
static fplt_status digest_units(const fplt__agreement *agreement, fplt__digest *units,
                                fplt_error *error)
{
    fplt__plan_resolution terms;
    fplt__form form;
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt_status status = fplt__agreement_form(agreement, &form, error);
    if (status || (status = fplt__plan_resolution_of(&agreement->proposal, &form, &terms, error)))
        return status;
    fplt_transform_settings transform = fplt__job_transform(terms.settings, &terms.source);
    if (fplt__is_custom(&agreement->proposal))
        fplt__custom_show(&agreement->proposal.model, &text);
    fplt__buffer_format(&text, "standardise %s\nradius %.17g\nintercept %d\nschema %s\n",
                        transform.standardise, transform.radius, terms.job.cost.intercept,
                        terms.schema ? fplt__schema_digest(terms.schema) : "none");
    status = text.status;
    if (!status)
        *units = fplt__hash_bytes(text.text, text.length);
    fplt__buffer_clear(&text);
    fplt__plan_resolution_clear(&terms);
    return status;
}

/* received.txt: a line `DIGEST UNITS federation run MODEL` for each model, where MODEL is the digest of all that its answers
 * depend on. An absent file is empty. */
static fplt_status read_received(const char *folder, char path[4200], char **text, size_t *size,
                                 fplt_error *error)
{
    *text = NULL;
    *size = 0;
    snprintf(path, 4200, "%s/received.txt", folder);
    return access(path, F_OK) ? FPLT_OK : fplt__file_read(path, MAX_RECEIVED, text, size, error);
}

enum received { UNKNOWN, OTHER_UNITS, KNOWN };

static enum received find_received(const char *text, const fplt__digest *start,
                                   const fplt__digest *units)
{
    char digest[FPLT__HEX], scale[FPLT__HEX];
    enum received found = UNKNOWN;
    fplt__hex(start, sizeof *start, digest);
    fplt__hex(units, sizeof *units, scale);
    for (const char *line = text; line && *line; line = strchr(line, '\n') + 1) {
        if (!strchr(line, '\n'))
            break;
        if (strncmp(line, digest, FPLT__HEX - 1) != 0)
            continue;
        found = OTHER_UNITS;
        if (strncmp(line + FPLT__HEX, scale, FPLT__HEX - 1) == 0)
            return KNOWN;
    }
    return found;
}

/* Of its weights; for an analysis of all that its answers depend on. */
static fplt_status digest_file(const char *path, int is_whole, fplt__digest *digest,
                               fplt_error *error)
{
    fplt_model *model;
    fplt_status status = fplt_model_read(path, &model, error);
    if (status)
        return fplt_error_prefix(error, "policy.start-models");
    const fplt_model_info *info = fplt_model_get_view(model);
    status = is_whole ? fplt__analysis_model_text(model, NULL, digest, error)
                      : fplt__start_digest(info->weights, info->dimension, digest, error);
    fplt_model_destroy(model);
    return status;
}

/* Whether the policy names the model; every entry is looked at, so that one that cannot be read is noticed. */
static fplt_status find_named(const fplt_settings *site, const fplt__digest *start, int is_whole,
                              int *named, fplt_error *error)
{
    const char *list = fplt_settings_text(site, "policy.start-models");
    char item[4096];
    *named = 0;
    while (list && *list) {
        fplt__digest digest;
        fplt_status status;
        list = fplt__list_next(list, item, sizeof item);
        if (!fplt__unhex(item, &digest, sizeof digest) &&
            (status = digest_file(item, is_whole, &digest, error)))
            return status;
        *named |= fplt__same(&digest, start);
    }
    return FPLT_OK;
}

static fplt_status refuse_start(enum received found, const fplt__digest *start, fplt_error *error)
{
    char digest[FPLT__HEX];
    fplt__hex(start, sizeof *start, digest);
    return found == OTHER_UNITS
               ? fplt_error_set(error, FPLT_FAILED,
                                "disclosure: the run starts at a model that this agent received "
                                "with another standardise, radius, intercept or schema, where its "
                                "numbers mean something else; start at zero, or name %s in "
                                "policy.start-models",
                                digest)
               : fplt_error_set(error, FPLT_FAILED,
                                "disclosure: the run starts at a model that this agent has not "
                                "received; start at zero or at a model of an earlier run, or name "
                                "%s in policy.start-models",
                                digest);
}

fplt_status fplt__disclosure_judge_start(const fplt_settings *site, const char *folder,
                                         const fplt__agreement *agreement, fplt_error *error)
{
    fplt__digest units;
    char path[4200], *text;
    size_t size;
    int named;
    if (fplt__is_zero(&agreement->start) || !(fplt__rule_value(site, FPLT__RULE_START) > 0) ||
        fplt__policy_is_private(site, &agreement->proposal))
        return FPLT_OK;
    fplt_status status = find_named(site, &agreement->start, 0, &named, error);
    if (status || named)
        return status;
    if ((status = digest_units(agreement, &units, error)) ||
        (status = read_received(folder, path, &text, &size, error)))
        return status;
    enum received found = find_received(text, &agreement->start, &units);
    fplt_free(text);
    return found == KNOWN ? FPLT_OK : refuse_start(found, &agreement->start, error);
}

fplt_status fplt__disclosure_remember(const char *folder, const fplt__agreement *agreement,
                                      const double *x, const fplt_model *model, fplt_error *error)
{
    fplt__digest weights, units, whole;
    fplt__buffer added = {NULL, 0, 0, FPLT_OK};
    char path[4200], digest[FPLT__HEX], scale[FPLT__HEX], all[FPLT__HEX] = "", *text = NULL;
    size_t size;
    fplt_status status;
    if ((status = fplt__start_digest(x, agreement->plan.dimension, &weights, error)) ||
        (status = digest_units(agreement, &units, error)) ||
        (model && (status = fplt__analysis_model_text(model, NULL, &whole, error))) ||
        (status = read_received(folder, path, &text, &size, error)))
        return status;
    if (model)
        fplt__hex(&whole, sizeof whole, all);
    if (find_received(text, &weights, &units) != KNOWN || !strstr(text, all)) {
        fplt__hex(&weights, sizeof weights, digest);
        fplt__hex(&units, sizeof units, scale);
        fplt__buffer_format(&added, "%s%s %s %s %u%s%s\n", text ? text : "", digest, scale,
                            agreement->proposal.federation, agreement->proposal.run,
                            *all ? " " : "", all);
        status = added.status ? fplt_error_set(error, added.status, "no memory for %s", path)
                              : fplt__file_save(path, 0600, added.text, added.length, error);
    }
    fplt__buffer_clear(&added);
    fplt_free(text);
    return status;
}

/* Analyses */

fplt_status fplt__disclosure_names_model(const fplt_settings *site, const fplt__analysis *analysis,
                                         int *named, fplt_error *error)
{
    *named = 0;
    return analysis->model ? find_named(site, &analysis->model_digest, 1, named, error) : FPLT_OK;
}

static fplt_status judge_model(const fplt_settings *site, const char *folder,
                               const fplt__analysis *analysis, fplt_error *error)
{
    char path[4200], digest[FPLT__HEX], *text;
    size_t size;
    int known;
    if (!analysis->model || !(fplt__rule_value(site, FPLT__RULE_START) > 0))
        return FPLT_OK;
    fplt_status status = find_named(site, &analysis->model_digest, 1, &known, error);
    if (status || known || (status = read_received(folder, path, &text, &size, error)))
        return status;
    fplt__hex(&analysis->model_digest, sizeof analysis->model_digest, digest);
    known = text && strstr(text, digest) != NULL;
    fplt_free(text);
    return known
               ? FPLT_OK
               : fplt_error_set(error, FPLT_FAILED,
                                "disclosure: the analysis is about a model that this agent has "
                                "not received; take the model of an earlier run, or name its file "
                                "or %s in policy.start-models",
                                digest);
}

fplt_status fplt__disclosure_judge_analysis(const fplt_settings *site, const char *folder,
                                            const fplt__proposal *proposal, fplt_error *error)
{
    fplt__analysis *analysis;
    fplt_status status = fplt__analysis_open(proposal, &analysis, error);
    if (status)
        return status;
    if (fplt__rule_value(site, FPLT__RULE_NUMBERS) > 0 && fplt__policy_is_given(site))
        status = judge_numbers(site, proposal->analysis.setting, proposal->analysis.settings,
                               analysis->settings, error);
    if (!status)
        status = judge_model(site, folder, analysis, error);
    fplt__analysis_close(analysis);
    return status;
}

/* The settings by themselves */

static fplt_status check_approved(const fplt_settings *site, fplt_error *error)
{
    const char *list = fplt_settings_text(site, "policy.approved");
    char name[128], value[128];
    double number;
    while (list && *list) {
        list = fplt__pairs_next(list, name, sizeof name, value, sizeof value);
        if (!fplt__disclosure_needs_approval(name))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: policy.approved names '%.60s', which is no setting that "
                                  "needs approval; such are radius, clip, huber-delta, "
                                  "predictor-bound, the parameters of h and of the algorithm, and "
                                  "the grid of an analysis",
                                  fplt__settings_origin(site, "policy.approved"), name);
        if (fplt__parse_real(value, &number))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: policy.approved gives %s the value '%.40s', which is no "
                                  "number",
                                  fplt__settings_origin(site, "policy.approved"), name, value);
    }
    return FPLT_OK;
}

fplt_status fplt__disclosure_check(const fplt_settings *site, fplt_error *error)
{
    static const fplt__digest none = {{0}};
    int named;
    fplt_status status = check_approved(site, error);
    if (!status)
        status = fplt__approval_check(site, error);
    return status ? status : find_named(site, &none, 0, &named, error);
}

void fplt__disclosure_show(const fplt_settings *site, fplt__buffer *text)
{
    fplt__buffer_format(text, "disclosure %s, coordinator %s", fplt__rule_preset(site),
                        fplt_settings_text(site, "policy.coordinator"));
    if (fplt_settings_given(site, "policy.start-models"))
        fplt__buffer_format(text, ", start-models %s",
                            fplt_settings_text(site, "policy.start-models"));
    if (fplt_settings_given(site, "policy.approved") && fplt__policy_is_given(site))
        fplt__buffer_format(text, ", approved %s", fplt_settings_text(site, "policy.approved"));
}
