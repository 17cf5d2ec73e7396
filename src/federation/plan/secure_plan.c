#include "federation/plan/secure_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "federation/plan/custom_model.h"
#include "federation/plan/plan_resolution.h"
#include "promise/promise.h"
#include "secagg/keys.h"
#include "fedplt/algorithm.h"

enum { LEAST_HONEST = 2, LEAST_AUTO = 3, SMALL_ROSTER = 10, WORD_WIDTH = 16, UNIT_WIDTH = 8 };

uint32_t fplt__secure_colluders(uint32_t members)
{
    return members / 10 > 1 ? members / 10 : 1;
}

/* Whether rounds are over all members: nobody is drawn, and no quorum closes a round early. */
static int is_whole(const fplt__proposal *proposal)
{
    const char *rule = fplt__pair_find(proposal->setting, proposal->settings, "participation");
    return (!rule || strcmp(rule, "all") == 0) &&
           (!proposal->quorum || proposal->quorum == proposal->members);
}

uint32_t fplt__secure_threshold(const fplt__proposal *proposal)
{
    return proposal->quorum < proposal->members ? proposal->quorum : 0;
}

uint32_t fplt__secure_honest(const fplt__proposal *proposal)
{
    uint32_t least = fplt__secure_threshold(proposal);
    least = least ? least : proposal->members;
    return least > proposal->colluders ? least - proposal->colluders : 0;
}

/* Whether the algorithm of the proposal can do without some members in a round that has one exchange. */
static int can_lack_members(const fplt__proposal *proposal)
{
    static const double parameter[FPLT_MAX_PARAMETERS];
    const char *name = fplt__pair_find(proposal->setting, proposal->settings, "algorithm");
    const fplt_algorithm *algorithm = name ? fplt_algorithm_find(name) : NULL;
    return !algorithm || (algorithm->allows & FPLT_ALLOWS_PARTIAL &&
                          fplt_algorithm_shape(algorithm, parameter, 2).exchanges == 1);
}

/* Sums over those who answered. */
static fplt_status check_quorum(const fplt__proposal *proposal, fplt_error *error)
{
    uint32_t t = fplt__secure_threshold(proposal), c = proposal->colluders, n = proposal->members;
    if (!t)
        return FPLT_OK;
    if (!proposal->privacies)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "aggregate: secure with a quorum of %u of %u: without noise sums over "
            "changing sets give single sites away; leave quorum out",
            t, n);
    if (!can_lack_members(proposal))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "aggregate: secure with a quorum of %u of %u, but the algorithm %s "
                              "needs all members; leave quorum out, or take fed-plt or fedavg",
                              t, n,
                              fplt__pair_find(proposal->setting, proposal->settings, "algorithm"));
    if (2 * (uint64_t)t <= (uint64_t)n + c)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "quorum %u of %u with %u colluder%s: 2 x %u must be more than %u + "
                              "%u, or two sets of sites could each be summed; take at least %u",
                              t, n, c, c == 1 ? "" : "s", t, n, c, (n + c) / 2 + 1);
    return FPLT_OK;
}

fplt_status fplt__secure_plan_check(const fplt__proposal *proposal, fplt_error *error)
{
    const char *rule = fplt__pair_find(proposal->setting, proposal->settings, "participation");
    if (proposal->members > FPLT__SECAGG_MEMBERS)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "aggregate: secure with %u members, but at most %d are possible",
                              proposal->members, FPLT__SECAGG_MEMBERS);
    if (rule && strcmp(rule, "all") != 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "aggregate: secure sums over all members in every round, but "
                              "participation is %s; leave participation out, or aggregate: plain",
                              rule);
    const char *encoding = fplt__pair_find(proposal->setting, proposal->settings, "encoding");
    if (encoding && strcmp(encoding, "exact") != 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "aggregate: secure sends masked words of 16 bytes, so that encoding: "
                              "%s saves nothing; leave encoding out, or aggregate: plain",
                              encoding);
    fplt_status status = check_quorum(proposal, error);
    if (status)
        return status;
    if (fplt__secure_honest(proposal) < LEAST_HONEST)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "aggregate: secure with sums over at least %u members, of whom %u "
            "may help the coordinator: a sum must have at least %d honest members; take more "
            "members, or aggregate: plain",
            fplt__secure_threshold(proposal) ? fplt__secure_threshold(proposal) : proposal->members,
            proposal->colluders, LEAST_HONEST);
    return FPLT_OK;
}

static int is_threat(const fplt__proposal *proposal, const char *name)
{
    const char *threat = fplt__pair_find(proposal->privacy, proposal->privacies, "threat");
    return threat && strcmp(threat, name) == 0;
}

static int divides_noise(const fplt__proposal *proposal)
{
    return is_threat(proposal, "secagg-sum");
}

/* Whether rounds wait for all members also without secure aggregation, so that it costs nobody a round: the quorum is all,
 * the algorithm needs all, or it is chosen among those that do. With noise in steps a void round would cost a charge. */
static int waits_anyway(const fplt__proposal *proposal)
{
    const char *name = fplt__pair_find(proposal->setting, proposal->settings, "algorithm");
    const fplt_algorithm *algorithm = name ? fplt_algorithm_find(name) : NULL;
    if (fplt__is_custom(proposal) &&
        !proposal->privacies) /* nothing but sums protects the records */
        return 1;
    if (proposal->quorum || divides_noise(proposal) || is_threat(proposal, "secagg"))
        return 1;
    if (!name || strcmp(name, "auto") == 0)
        return !proposal->privacies;
    return algorithm && !(algorithm->allows & FPLT_ALLOWS_PARTIAL);
}

/* What `auto` means. */
static int is_preferred(const fplt__proposal *proposal)
{
    return (is_whole(proposal) || divides_noise(proposal)) && waits_anyway(proposal) &&
           proposal->members >= LEAST_AUTO && proposal->members <= FPLT__SECAGG_MEMBERS;
}

/* What `quorum: auto` means where noise is divided: all of a small federation; of a larger one two thirds, or what the
 * colluders ask for, since somebody is missing in most rounds. */
static uint32_t automatic_quorum(const fplt__proposal *proposal)
{
    uint32_t n = proposal->members, third = (2 * n + 2) / 3,
             least = (n + proposal->colluders) / 2 + 1;
    uint32_t most = third > least ? third : least;
    return n <= SMALL_ROSTER || most > n ? n : most;
}

/* With divided noise the promise must rest on the same numbers: the section `privacy` states them. */
static fplt_status state_sums(fplt__proposal *proposal, fplt_error *error)
{
    const char *colluders = fplt__pair_find(proposal->privacy, proposal->privacies, "colluders");
    const char *quorum = fplt__pair_find(proposal->privacy, proposal->privacies, "quorum");
    char number[32], least[32];
    snprintf(number, sizeof number, "%u", proposal->colluders);
    snprintf(least, sizeof least, "%u",
             fplt__secure_threshold(proposal) ? fplt__secure_threshold(proposal)
                                              : proposal->members);
    if (!divides_noise(proposal))
        return FPLT_OK;
    if (colluders && strcmp(colluders, number) != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "privacy: colluders is %s, but %s for the aggregation; give it once, "
                              "as `colluders` of federation.yaml",
                              colluders, number);
    if (quorum && strcmp(quorum, least) != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "privacy: quorum is %s, but %s for the aggregation; give it once, as "
                              "`quorum` of federation.yaml",
                              quorum, least);
    fplt_status status = fplt__proposal_promise(proposal, "colluders", number, error);
    if (!status)
        status = fplt__proposal_promise(proposal, "quorum", least, error);
    /* the one whose agents keep nothing and send one noisy step */
    if (!status && !fplt__pair_find(proposal->setting, proposal->settings, "algorithm"))
        status = fplt__proposal_set(proposal, "algorithm", "fedavg", error);
    return status;
}

fplt_status fplt__secure_plan_propose(const fplt_settings *leader, fplt__proposal *proposal,
                                      fplt_error *error)
{
    const char *word = fplt_settings_text(leader, "aggregate");
    proposal->secure = 0;
    proposal->colluders = 0;
    if (strcmp(word, "plain") == 0)
        return FPLT_OK;
    uint32_t colluders = fplt_settings_is_auto(leader, "colluders")
                             ? fplt__secure_colluders(proposal->members)
                             : (uint32_t)fplt_settings_integer(leader, "colluders");
    if (strcmp(word, "auto") == 0 && !is_preferred(proposal))
        return FPLT_OK;
    proposal->secure = 1;
    proposal->colluders = colluders;
    if (!proposal->quorum && divides_noise(proposal))
        proposal->quorum = automatic_quorum(proposal);
    fplt_status status = fplt__secure_plan_check(proposal, error);
    return status ? status : state_sums(proposal, error);
}

void fplt__secure_plan_fill(fplt__agreement *agreement)
{
    if (!agreement->proposal.secure)
        return;
    agreement->threshold = fplt__secure_threshold(&agreement->proposal);
    agreement->most = agreement->proposal.members;
    agreement->width = agreement->plan.unit > 0 ? UNIT_WIDTH : WORD_WIDTH;
}

/* Rounded up to three digits, so that nobody is promised more than there is. */
static double rounded_up(double x)
{
    double unit = pow(10, floor(log10(x)) - 2);
    return ceil(x / unit * (1 - 1e-12)) * unit;
}

/* "; epsilon 2, and 3.7 should that be wrong" */
static void show_epsilon(const fplt__proposal *proposal, fplt__buffer *text)
{
    fplt_settings *settings = NULL;
    double alone;
    if (!divides_noise(proposal) || fplt__plan_resolution_settings(proposal, 0, &settings, NULL))
        return;
    if (fplt_settings_given(settings, "privacy.epsilon")) {
        double epsilon = fplt_settings_real(settings, "privacy.epsilon");
        if (!fplt__promise_alone(epsilon, fplt_settings_real(settings, "privacy.delta"),
                                 fplt__secure_honest(proposal), &alone, NULL) &&
            isfinite(alone) && alone > 0)
            fplt__buffer_format(text, "; epsilon %g, and %.3g should that be wrong", epsilon,
                                rounded_up(alone));
    }
    fplt_settings_destroy(settings);
}

void fplt__secure_plan_show(const fplt__proposal *proposal, fplt__buffer *text)
{
    fplt__buffer_format(text,
                        "sums only: of at least %u honest sites of %u, if at most %u help%s the "
                        "coordinator",
                        fplt__secure_honest(proposal), proposal->members, proposal->colluders,
                        proposal->colluders == 1 ? "s" : "");
    show_epsilon(proposal, text);
}
