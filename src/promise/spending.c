/* Accounts of a run's records in a ledger. */
#include "promise/spending.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/settings.h"
#include "privacy/claim.h"
#include "promise/certificate.h"
#include "promise/ledger.h"

const fplt_setting fplt__spending_table[] = {
    {"ledger", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "file that adds up what is spent on the same records over all runs; made if it is missing", 0,
     0, .needs = "privacy.epsilon,privacy.tau"},
    {"ledger-account", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "name of the record set that is charged, one for each data file or one for all; by default "
     "the "
     "ledger knows the files, also when they were moved or changed",
     0, 0, .needs = "ledger"},
    {"privacy.budget", FPLT_REAL, FPLT_ABOVE, NULL, 0, HUGE_VAL, NULL,
     "with ledger: the epsilon that all runs together may cost the records, against privacy.threat",
     0, 0, .needs = "ledger"},
    {"sign", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "sign the certificate with this key (NAME.key of fedplt key create)", 0, 0,
     .needs = "privacy.epsilon,privacy.tau"},
    FPLT_SETTINGS_END,
};

fplt_status fplt__spending_check(const fplt_settings *settings, fplt_error *error)
{
    int ledger = fplt_settings_given(settings, "ledger");
    if (ledger && (fplt_settings_switch(settings, "privacy.diagnose") ||
                   strcmp(fplt_settings_text(settings, "privacy.noise"), "secure") != 0))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s: a ledger cannot be kept of a run that is not private: leave "
                              "privacy.diagnose and privacy.noise out",
                              fplt__settings_origin(settings, "ledger"));
    return FPLT_OK;
}

/* ---- the accounts of record sets ---- */

void fplt__cost_scale(fplt__cost *cost, double times)
{
    FPLT__ASSERT(times >= 0);
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        cost->rates.against[k] *= times;
}

/* Of records that are in one of several places, each place's: whichever it is. */
static void take_larger(fplt__cost *cost, const fplt__cost *other)
{
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++) {
        FPLT__ASSERT(!(cost->rates.against[k] < 0) && !(other->rates.against[k] < 0));
        cost->rates.against[k] = fmax(cost->rates.against[k], other->rates.against[k]);
    }
}

/* Whether an earlier set has the same account. */
static int is_repeated(const fplt__record_sets *sets, size_t index)
{
    const char *account = fplt__record_sets_account(sets, index);
    FPLT__ASSERT(*account);
    for (size_t i = 0; i < index; i++)
        if (strcmp(fplt__record_sets_account(sets, i), account) == 0)
            return 1;
    return 0;
}

fplt_status fplt__accounts_admit(fplt_ledger *ledger, const fplt__record_sets *sets,
                                 const fplt__cost *cost, const fplt__ledger_budget *budget,
                                 fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < fplt__record_sets_count(sets); i++)
        status = fplt__ledger_admit(ledger, fplt__record_sets_account(sets, i), &cost[i].rates,
                                    budget, error);
    return status;
}

fplt_status fplt__accounts_reserve(fplt_ledger *ledger, const fplt__record_sets *sets,
                                   const fplt__cost *cost, const unsigned char run[FPLT_RUN_BYTES],
                                   const fplt__ledger_budget *budget, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < fplt__record_sets_count(sets); i++)
        status = fplt__ledger_reserve(ledger, fplt__record_sets_account(sets, i), run, &cost->rates,
                                      budget, error);
    return status ? status : fplt__record_sets_attach(ledger, sets, error);
}

fplt_status fplt__accounts_charge(fplt_ledger *ledger, const fplt__record_sets *sets,
                                  const fplt__cost *cost, size_t costs, const fplt__charge *about,
                                  fplt_error *error)
{
    size_t count = fplt__record_sets_count(sets), due = 0;
    fplt__charge *charges;
    FPLT__ASSERT(costs == 1 || costs == count);
    fplt_status status = fplt__alloc_into(&charges, count, sizeof *charges, "the charges", error);
    for (size_t i = 0; !status && i < count; i++) {
        const fplt__cost *own = &cost[costs > 1 ? i : 0];
        fplt__cost whole = *own;
        if (is_repeated(sets, i))
            continue;
        for (size_t j = i + 1; costs > 1 && j < count; j++)
            if (strcmp(fplt__record_sets_account(sets, i), fplt__record_sets_account(sets, j)) == 0)
                take_larger(&whole, &cost[j]);
        charges[due] = *about;
        charges[due].account = fplt__record_sets_account(sets, i);
        charges[due].rates = whole.rates;
        charges[due].unit = whole.unit;
        charges[due].group = whole.group;
        charges[due++].mechanism = own->mechanism;
    }
    FPLT__ASSERT(status || (due <= count && (due > 0) == (count > 0)));
    if (!status)
        status = fplt__ledger_charge(ledger, charges, due, error);
    fplt__free(charges);
    return status;
}

fplt_status fplt__accounts_settle(fplt_ledger *ledger, const fplt__record_sets *sets,
                                  const unsigned char run[FPLT_RUN_BYTES], fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < fplt__record_sets_count(sets); i++)
        status = fplt__ledger_settle(ledger, fplt__record_sets_account(sets, i), run, error);
    return status;
}

fplt_status fplt__accounts_weakest(fplt_ledger *ledger, const fplt__record_sets *sets,
                                   const fplt_threat *threat, size_t *index, fplt_error *error)
{
    double most = -1;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < fplt__record_sets_count(sets); i++) {
        fplt_ledger_total total;
        status = fplt_ledger_sum(ledger, fplt__record_sets_account(sets, i), &total, error);
        if (!status && total.spent.against[fplt__threat_index(threat)] > most) {
            most = total.spent.against[fplt__threat_index(threat)];
            *index = i;
        }
    }
    FPLT__ASSERT(status || *index < fplt__record_sets_count(sets));
    return status;
}

/* ---- earlier charges ---- */

struct collection {
    const unsigned char *but; /* not this run; NULL: every one */
    size_t adversary;
    fplt__certificate_charge *charges; /* owned until handed over */
    size_t count, capacity;
    fplt_status status;
    fplt_error *error;
};

static int collect(void *context, const fplt_ledger_entry *entry)
{
    struct collection *all = context;
    if (all->but && memcmp(entry->run, all->but, FPLT_RUN_BYTES) == 0)
        return 0;
    all->status = fplt__grow(&all->charges, &all->capacity, all->count + 1, sizeof *all->charges,
                             "the charges", all->error);
    if (all->status)
        return 1;
    FPLT__ASSERT(all->count < all->capacity && all->adversary < FPLT_ADVERSARIES);
    fplt__certificate_charge *charge = &all->charges[all->count++];
    *charge = (fplt__certificate_charge){.rounds = entry->rounds,
                                         .rate = entry->rates.against[all->adversary]};
    memcpy(charge->run, entry->run, sizeof charge->run);
    snprintf(charge->time, sizeof charge->time, "%s", entry->time);
    return 0;
}

fplt_status fplt__ledger_earlier(fplt_ledger *ledger, const char *account,
                                 const fplt_threat *threat, const unsigned char *but,
                                 fplt__certificate_charge **charges, size_t *count,
                                 fplt_error *error)
{
    struct collection all = {.but = but, .adversary = fplt__threat_index(threat), .error = error};
    fplt_status status = fplt_ledger_visit(ledger, account, collect, &all, error);
    *charges = all.charges;
    *count = all.count;
    return status ? status : all.status;
}

/* ---- a run in one process ---- */

struct fplt__spending {
    fplt_ledger *ledger;                 /* owned */
    const fplt_promise_view *plan;       /* borrowed */
    fplt__record_sets *sets;             /* owned */
    int one_each;                        /* agent i has the records of set i, and nobody else has */
    fplt__certificate_account *accounts; /* owned, with their charges */
    uint64_t *paid;                      /* owned: rounds, one an agent */
    fplt__cost *cost;                    /* owned: room for one a set */
};

/* A file for each agent, and each agent called after its file. */
static int has_one_each(const fplt__record_sets *sets, const fplt_promise_view *plan)
{
    if (fplt__record_sets_count(sets) != plan->agents)
        return 0;
    for (uint32_t i = 0; i < plan->agents; i++)
        if (!plan->names[i] || strcmp(plan->names[i], fplt__record_sets_stem(sets, i)) != 0)
            return 0;
    return 1;
}

/* What the rounds of the agents cost each set. */
static fplt_status find_cost(const fplt__spending *spending, const uint64_t *rounds,
                             fplt__cost *cost, fplt_error *error)
{
    const fplt_promise_view *plan = spending->plan;
    size_t sets = fplt__record_sets_count(spending->sets);
    FPLT__ASSERT(!spending->one_each || sets == plan->agents);
    for (uint32_t agent = 0; agent < plan->agents; agent++) {
        fplt__cost own;
        fplt_status status = fplt__promise_cost(plan, agent, rounds[agent], &own, error);
        if (status)
            return status;
        for (size_t i = 0; i < sets; i++) {
            if (agent == 0)
                cost[i] = own;
            if (spending->one_each && agent == i)
                cost[i] = own;
            if (!spending->one_each)
                take_larger(&cost[i], &own);
        }
    }
    return FPLT_OK;
}

static fplt_status open_account(fplt__spending *spending, uint32_t agent, fplt_error *error)
{
    const fplt_threat *threat = spending->plan->threat;
    fplt__certificate_account *account = &spending->accounts[agent];
    fplt__certificate_charge *earlier = NULL;
    size_t index = agent;
    FPLT__ASSERT(agent < spending->plan->agents && !account->earlier);
    fplt_status status =
        spending->one_each
            ? FPLT_OK
            : fplt__accounts_weakest(spending->ledger, spending->sets, threat, &index, error);
    if (status)
        return status;
    account->name = fplt__record_sets_account(spending->sets, index);
    status = fplt__ledger_earlier(spending->ledger, account->name, threat, NULL, &earlier,
                                  &account->count, error);
    account->earlier = earlier;
    return status;
}

static fplt_status open_accounts(fplt__spending *spending, const fplt__ledger_budget *budget,
                                 fplt_error *error)
{
    const fplt_promise_view *plan = spending->plan;
    fplt_status status;
    spending->one_each = has_one_each(spending->sets, plan);
    for (uint32_t i = 0; i < plan->agents; i++)
        spending->paid[i] = plan->mechanism.rounds; /* if all of them were run */
    if ((status = find_cost(spending, spending->paid, spending->cost, error)) ||
        (status =
             fplt__accounts_admit(spending->ledger, spending->sets, spending->cost, budget, error)))
        return status;
    for (uint32_t i = 0; !status && i < plan->agents; i++) {
        spending->paid[i] = 0;
        status = open_account(spending, i, error);
    }
    return status;
}

fplt_status fplt__spending_create(const fplt_settings *settings, int in_memory,
                                  const fplt_promise_view *plan, fplt__spending **out,
                                  fplt_error *error)
{
    fplt__ledger_budget budget = {.epsilon = fplt_settings_given(settings, "privacy.budget")
                                                 ? fplt_settings_real(settings, "privacy.budget")
                                                 : INFINITY,
                                  .delta = plan->delta,
                                  .group = plan->group,
                                  .threat = plan->threat};
    fplt__record_source source = {.files = in_memory ? NULL : fplt_settings_text(settings, "data"),
                                  .in_memory = in_memory,
                                  .declared = fplt_settings_text(settings, "ledger-account"),
                                  .setting = "ledger-account"};
    fplt__spending *spending;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&spending, 1, sizeof *spending, "the accounts", error);
    if (status)
        return status;
    spending->plan = plan;
    if ((status = fplt__alloc_into(&spending->accounts, plan->agents, sizeof *spending->accounts,
                                   "the accounts", error)) ||
        (status = fplt__alloc_into(&spending->paid, plan->agents, sizeof *spending->paid,
                                   "the accounts", error)) ||
        (status = fplt_ledger_open(fplt_settings_text(settings, "ledger"), 1, &spending->ledger,
                                   error)) ||
        (status = fplt__record_sets_find(spending->ledger, &source, &spending->sets, error)) ||
        (status = fplt__alloc_into(&spending->cost, 2 * fplt__record_sets_count(spending->sets),
                                   sizeof *spending->cost, "the accounts", error)) ||
        (status = open_accounts(spending, &budget, error))) {
        fplt__spending_destroy(spending);
        return status;
    }
    *out = spending;
    return FPLT_OK;
}

void fplt__spending_destroy(fplt__spending *spending)
{
    if (!spending)
        return;
    for (uint32_t i = 0; spending->accounts && i < spending->plan->agents; i++)
        fplt__free((fplt__certificate_charge *)spending->accounts[i].earlier);
    fplt__free(spending->accounts);
    fplt__free(spending->paid);
    fplt__free(spending->cost);
    fplt__record_sets_destroy(spending->sets);
    fplt_ledger_close(spending->ledger);
    fplt__free(spending);
}

static uint64_t most_rounds(const uint64_t *rounds, uint32_t agents)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < agents; i++)
        most = rounds[i] > most ? rounds[i] : most;
    return most;
}

fplt_status fplt__spending_pay(fplt__spending *spending, const unsigned char run[FPLT_RUN_BYTES],
                               const uint64_t *rounds, fplt_error *error)
{
    const fplt_promise_view *plan = spending->plan;
    size_t sets = fplt__record_sets_count(spending->sets);
    fplt__cost *now = spending->cost, *before = spending->cost + sets;
    uint64_t most = most_rounds(rounds, plan->agents);
    fplt__charge about = {.round = most,
                          .rounds = most - most_rounds(spending->paid, plan->agents),
                          .threat = plan->threat};
    fplt_status status;
    if (memcmp(rounds, spending->paid, plan->agents * sizeof *rounds) == 0)
        return FPLT_OK;
    for (uint32_t i = 0; i < plan->agents; i++)
        FPLT__ASSERT(rounds[i] >= spending->paid[i]); /* rounds are never taken back */
    FPLT__ASSERT(most <= plan->mechanism.rounds);
    memcpy(about.run, run, sizeof about.run);
    if ((status = find_cost(spending, rounds, now, error)) ||
        (status = find_cost(spending, spending->paid, before, error)))
        return status;
    for (size_t i = 0; i < sets; i++)
        for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
            if (isfinite(now[i].rates.against[k])) {
                FPLT__ASSERT(isfinite(before[i].rates.against[k]));
                now[i].rates.against[k] =
                    fmax(0, now[i].rates.against[k] - before[i].rates.against[k]);
            }
    if (!(status = fplt__record_sets_attach(spending->ledger, spending->sets, error)) &&
        !(status =
              fplt__accounts_charge(spending->ledger, spending->sets, now, sets, &about, error)))
        memcpy(spending->paid, rounds, plan->agents * sizeof *rounds);
    return status;
}

const fplt__certificate_account *fplt__spending_accounts(const fplt__spending *spending)
{
    return spending->accounts;
}
