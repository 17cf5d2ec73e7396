/* Accounts of a run's agents in a ledger. */
#include "fedplt/spending.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "promise/promise.h"

const fplt_setting fplt_spending_table[] = {
    {"ledger", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "file that adds up what is spent on the same records over all runs; made if it is missing", 0,
     0, .needs = "privacy.epsilon,privacy.tau"},
    {"privacy.budget", FPLT_REAL, FPLT_ABOVE, NULL, 0, HUGE_VAL, NULL,
     "with ledger: the epsilon that all runs together may cost a site's records", 0, 0,
     .needs = "ledger"},
    {"sign", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "sign the certificate with this key (NAME.key of fedplt key create)", 0, 0,
     .needs = "privacy.epsilon,privacy.tau"},
    FPLT_SETTINGS_END,
};

fplt_status fplt_spending_check(const fplt_settings *settings, fplt_error *error)
{
    int ledger = fplt_settings_given(settings, "ledger");
    if (ledger && (fplt_settings_switch(settings, "privacy.diagnose") ||
                   strcmp(fplt_settings_text(settings, "privacy.noise"), "secure") != 0))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s: a ledger cannot be kept of a run that is not private: leave "
                              "privacy.diagnose and privacy.noise out",
                              fplt_settings_origin(settings, "ledger"));
    return FPLT_OK;
}

enum { NAME = 256 };

struct fplt_spending {
    fplt_ledger *ledger;                /* owned */
    const fplt_promise_view *plan;      /* borrowed */
    fplt_certificate_account *accounts; /* owned, with their names and charges */
    uint64_t *paid;                     /* owned: rounds, one an agent */
};

struct collection {
    const unsigned char *but;         /* not this run; NULL: every one */
    fplt_certificate_charge *charges; /* owned until handed over */
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
    fplt_certificate_charge *charge = &all->charges[all->count++];
    *charge = (fplt_certificate_charge){.rounds = entry->rounds, .rate = entry->rate};
    memcpy(charge->run, entry->run, sizeof charge->run);
    snprintf(charge->time, sizeof charge->time, "%s", entry->time);
    return 0;
}

fplt_status fplt__ledger_earlier(fplt_ledger *ledger, const char *account, const unsigned char *but,
                                 fplt_certificate_charge **charges, size_t *count,
                                 fplt_error *error)
{
    struct collection all = {.but = but, .error = error};
    fplt_status status = fplt_ledger_visit(ledger, account, collect, &all, error);
    *charges = all.charges;
    *count = all.count;
    return status ? status : all.status;
}

static fplt_status open_account(fplt_spending *spending, uint32_t agent, fplt_error *error)
{
    const fplt_promise_view *plan = spending->plan;
    fplt_certificate_account *account = &spending->accounts[agent];
    char name[NAME];
    if (plan->names[agent])
        snprintf(name, sizeof name, "%s", plan->names[agent]);
    else if (plan->agents == 1)
        snprintf(name, sizeof name, "%s", FPLT_LEDGER_OWN);
    else
        snprintf(name, sizeof name, "agent %u", agent);
    if (!(account->name = fplt__strdup(name)))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the accounts");
    fplt_certificate_charge *earlier;
    fplt_status status =
        fplt__ledger_earlier(spending->ledger, name, NULL, &earlier, &account->count, error);
    account->earlier = earlier;
    return status;
}

static fplt_status open_accounts(fplt_spending *spending, const fplt_ledger_budget *budget,
                                 fplt_error *error)
{
    const fplt_promise_view *plan = spending->plan;
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; !status && i < plan->agents; i++) {
        double rate;
        if (!(status = open_account(spending, i, error)) &&
            !(status = fplt__promise_rate(plan, i, plan->mechanism.rounds, &rate, error)))
            status = fplt_ledger_admit(spending->ledger, spending->accounts[i].name, rate, budget,
                                       error);
    }
    return status;
}

fplt_status fplt_spending_create(const char *path, const fplt_promise_view *plan, double budget,
                                 fplt_spending **out, fplt_error *error)
{
    fplt_ledger_budget stated = {.epsilon = budget, .delta = plan->delta, .group = plan->group};
    fplt_spending *spending;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&spending, 1, sizeof *spending, "the accounts", error);
    if (status)
        return status;
    spending->plan = plan;
    if ((status = fplt__alloc_into(&spending->accounts, plan->agents, sizeof *spending->accounts,
                                   "the accounts", error)) ||
        (status = fplt__alloc_into(&spending->paid, plan->agents, sizeof *spending->paid,
                                   "the accounts", error)) ||
        (status = fplt_ledger_open(path, 1, &spending->ledger, error)) ||
        (status = open_accounts(spending, &stated, error))) {
        fplt_spending_destroy(spending);
        return status;
    }
    *out = spending;
    return FPLT_OK;
}

void fplt_spending_destroy(fplt_spending *spending)
{
    if (!spending)
        return;
    for (uint32_t i = 0; spending->accounts && i < spending->plan->agents; i++) {
        fplt__free((char *)spending->accounts[i].name);
        fplt__free((fplt_certificate_charge *)spending->accounts[i].earlier);
    }
    fplt__free(spending->accounts);
    fplt__free(spending->paid);
    fplt_ledger_close(spending->ledger);
    fplt__free(spending);
}

fplt_status fplt_spending_pay(fplt_spending *spending, const unsigned char run[FPLT_RUN_BYTES],
                              const uint64_t *rounds, fplt_error *error)
{
    const fplt_promise_view *plan = spending->plan;
    fplt_charge *charges;
    size_t due = 0;
    fplt_status status =
        fplt__alloc_into(&charges, plan->agents, sizeof *charges, "the charges", error);
    for (uint32_t i = 0; !status && i < plan->agents; i++) {
        fplt_charge *charge = &charges[due];
        double before, now;
        if (rounds[i] == spending->paid[i])
            continue;
        *charge = (fplt_charge){.account = spending->accounts[i].name,
                                .round = rounds[i],
                                .rounds = rounds[i] - spending->paid[i]};
        memcpy(charge->run, run, sizeof charge->run);
        if (!(status = fplt__promise_rate(plan, i, spending->paid[i], &before, error)) &&
            !(status = fplt__promise_rate(plan, i, rounds[i], &now, error)))
            charge->rate = fmax(0, now - before);
        due++;
    }
    if (!status && due && !(status = fplt_ledger_charge(spending->ledger, charges, due, error)))
        memcpy(spending->paid, rounds, plan->agents * sizeof *rounds);
    fplt__free(charges);
    return status;
}

const fplt_certificate_account *fplt_spending_accounts(const fplt_spending *spending)
{
    return spending->accounts;
}
