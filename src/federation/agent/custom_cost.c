#include "federation/agent/custom_cost.h"

#include <string.h>

#include "base/settings.h"
#include "base/status.h"
#include "base/text.h"
#include "federation/agent/policy.h"
#include "federation/agent/rules.h"
#include "federation/plan/custom_model.h"
#include "fedplt/objective.h"
#include "objective/objective_access.h"

const fplt_setting fplt__custom_cost_table[] = {
    {"policy.models", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "digests of the custom costs (`loss: custom`) that this site runs", 0, 0,
     .needs = "policy.federations"},
    {"policy.models-off", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "digests of custom costs whose exact updates may leave without secure aggregation: disclosure "
     "rules are off for them",
     0, 0},
    FPLT_SETTINGS_END,
};

static int lists_digest(const fplt_settings *site, const char *name, const fplt__digest *digest)
{
    const char *list = fplt_settings_text(site, name);
    char item[128], hex[FPLT__HEX];
    fplt__hex(digest, sizeof *digest, hex);
    while (list && *list) {
        list = fplt__list_next(list, item, sizeof item);
        if (strcmp(item, hex) == 0)
            return 1;
    }
    return 0;
}

fplt_status fplt__custom_cost_check_policy(const fplt_settings *site, fplt_error *error)
{
    for (const fplt_setting *row = fplt__custom_cost_table; row->name; row++) {
        const char *list = fplt_settings_text(site, row->name);
        char item[128];
        fplt__digest digest;
        while (list && *list) {
            list = fplt__list_next(list, item, sizeof item);
            if (!fplt__unhex(item, &digest, sizeof digest))
                return fplt_error_set(error, FPLT_BAD_VALUE,
                                      "%s: %s has '%.80s', but a digest has 64 hexadecimal digits "
                                      "in lower case",
                                      fplt__settings_origin(site, row->name), row->name, item);
        }
    }
    return FPLT_OK;
}

fplt_status fplt__custom_cost_check(const fplt_federation_cost *cost, fplt_error *error)
{
    fplt__digest digest;
    if (!cost)
        return FPLT_OK;
    fplt_status status = FPLT__CHECK_TABLE(fplt_federation_cost, cost, error);
    if (status)
        return status;
    if (!cost->name || !fplt__name_is_legal(cost->name))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "cost: name is '%.60s', but must be 1 to 40 of a-z, 0-9 and -",
                              cost->name ? cost->name : "");
    if (!cost->version || !fplt__version_is_legal(cost->version))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "cost: version is '%.60s', but must be 1 to 40 of letters, digits and "
            "._+-",
            cost->version ? cost->version : "");
    if (!cost->digest || !fplt__unhex(cost->digest, &digest, sizeof digest))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "cost: digest is '%.80s', but must be 64 hexadecimal digits in lower "
                              "case",
                              cost->digest ? cost->digest : "");
    if (!cost->objective || fplt_objective_agents(cost->objective) != 1)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "cost: objective must be that of one agent, the site's own");
    return FPLT_OK;
}

int fplt__custom_cost_is_off(const fplt_settings *site, const fplt__proposal *proposal)
{
    return fplt__is_custom(proposal) &&
           (fplt__rules_are_off(site) ||
            lists_digest(site, "policy.models-off", &proposal->model.digest));
}

const char *fplt__custom_cost_protection(const fplt_settings *site, const fplt__proposal *proposal)
{
    int off = fplt__custom_cost_is_off(site, proposal);
    if (fplt__policy_is_private(site, proposal))
        return proposal->secure ? "the promise of privacy, for gradients that depend on one record "
                                  "each, and secure aggregation"
                                : "the promise of privacy, for gradients that depend on one record "
                                  "each";
    if (proposal->secure)
        return off ? "secure aggregation; disclosure rules are off for this digest"
                   : "secure aggregation; rules on rows and parameters cannot hold for a custom "
                     "cost";
    return off ? "none: disclosure rules are off for this digest, and exact updates leave" : "none";
}

/* Is it the cost that this agent has? */
static fplt_status compare_cost(const fplt__proposal *proposal, const fplt_federation_cost *cost,
                                fplt_error *error)
{
    const fplt__custom_model *wanted = &proposal->model;
    char digest[FPLT__HEX];
    fplt__hex(&wanted->digest, sizeof wanted->digest, digest);
    if (!cost)
        return fplt_error_set(error, FPLT_FAILED,
                              "the proposal trains the custom cost %s %s, but this agent has no "
                              "cost of its own; a program that embeds the agent brings one "
                              "(fedplt.Agent(cost=...) in Python)",
                              wanted->name, wanted->version);
    if (strcmp(cost->digest, digest) != 0)
        return fplt_error_set(error, FPLT_FAILED,
                              "the proposal trains the custom cost %s %s with digest %.16s..., but "
                              "this agent has %s %s with digest %.16s...",
                              wanted->name, wanted->version, digest, cost->name, cost->version,
                              cost->digest);
    if (strcmp(cost->name, wanted->name) != 0 || strcmp(cost->version, wanted->version) != 0)
        return fplt_error_set(error, FPLT_FAILED,
                              "the proposal calls the custom cost with digest %.16s... %s %s, but "
                              "this agent has it as %s %s",
                              digest, wanted->name, wanted->version, cost->name, cost->version);
    size_t dimension = fplt_objective_dimension(cost->objective);
    if (proposal->privacies && !fplt__objective_gives_records(cost->objective))
        return fplt_error_set(
            error, FPLT_FAILED,
            "the proposal promises privacy, but the custom cost %s %s of this agent "
            "does not give the gradients of single records (record_gradients)",
            cost->name, cost->version);
    return dimension == wanted->dimension
               ? FPLT_OK
               : fplt_error_set(error, FPLT_FAILED,
                                "the proposal's custom cost %s %s has %u parameters, but this "
                                "agent's has %zu",
                                wanted->name, wanted->version, wanted->dimension, dimension);
}

fplt_status fplt__custom_cost_judge(const fplt_settings *site, const fplt__proposal *proposal,
                                    const fplt_federation_cost *cost, fplt_error *error)
{
    char digest[FPLT__HEX];
    if (!fplt__is_custom(proposal))
        return FPLT_OK;
    fplt_status status = compare_cost(proposal, cost, error);
    if (status)
        return status;
    fplt__hex(&proposal->model.digest, sizeof proposal->model.digest, digest);
    if (fplt__policy_is_given(site) &&
        !lists_digest(site, "policy.models", &proposal->model.digest))
        return fplt__policy_against(site, "policy.models", error, "does not have", digest);
    if (proposal->secure || fplt__custom_cost_is_off(site, proposal) ||
        fplt__policy_is_private(site, proposal))
        return FPLT_OK;
    return fplt_error_set(
        error, FPLT_FAILED,
        "disclosure: rules on rows and parameters cannot hold for the custom cost "
        "%s %s; it needs `aggregate: secure`, a promise of privacy, or its digest in "
        "policy.models-off of site.yaml",
        proposal->model.name, proposal->model.version);
}
