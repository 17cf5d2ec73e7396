/* What a single release of numbers with noise costs, on the ledger. */
#include "promise/release.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "fedplt/memory.h"
#include "promise/promise.h"
#include "promise/spending.h"

const fplt_setting fplt__release_table[] = {
    {"privacy.epsilon", FPLT_REAL, FPLT_ABOVE, NULL, 0, HUGE_VAL, NULL,
     "promise (epsilon, delta)-privacy of every row; the noise follows", 0, 0},
    {"privacy.delta", FPLT_REAL, FPLT_ABOVE, FPLT__PROMISE_DELTA, 0, 0.1, NULL,
     "the delta of the promise; it should be below 1 over the number of rows", 0, 0,
     .needs = "privacy.epsilon"},
    {"ledger", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "file that adds up what is spent on the same records; made if it is missing", 0, 0,
     .needs = "privacy.epsilon"},
    {"ledger-account", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "name of the record set that is charged, one for each data file or one for all; by default "
     "the ledger knows the files",
     0, 0, .needs = "ledger"},
    {"privacy.budget", FPLT_REAL, FPLT_ABOVE, NULL, 0, HUGE_VAL, NULL,
     "with ledger: the epsilon that all releases and runs together may cost the records", 0, 0,
     .needs = "ledger"},
    FPLT_SETTINGS_END,
};

/* Everybody who reads it sees the whole release, so every adversary learns as much. */
static fplt__cost cost_of(double rate, const char *mechanism)
{
    fplt__cost cost = {.unit = "record", .group = 1};
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        cost.rates.against[k] = rate;
    snprintf(cost.mechanism, sizeof cost.mechanism, "%s", mechanism);
    return cost;
}

/* The paths as a list that fplt__list_next() takes apart. */
static fplt_status list_paths(const char *const *paths, size_t count, char **list,
                              fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    for (size_t i = 0; i < count; i++) {
        fplt__buffer_add(&text, i ? "," : "");
        for (const char *c = paths[i]; *c; c++) {
            if (strchr(",=\\", *c))
                fplt__buffer_add(&text, "\\");
            fplt__buffer_add_bytes(&text, c, 1);
        }
    }
    return fplt__buffer_take(&text, list, error);
}

static fplt_status charge_sets(fplt_ledger *ledger, const fplt__record_sets *sets,
                               const fplt__cost *cost, const fplt__ledger_budget *budget,
                               fplt_error *error)
{
    size_t count = fplt__record_sets_count(sets);
    fplt__charge about = {.round = 1, .rounds = 1};
    fplt__cost *costs;
    fplt_status status = fplt__alloc_into(&costs, count, sizeof *costs, "the charges", error);
    for (size_t i = 0; i < count && !status; i++)
        costs[i] = *cost;
    randombytes_buf(about.run, sizeof about.run);
    if (!status && !(status = fplt__accounts_admit(ledger, sets, costs, budget, error)) &&
        !(status = fplt__record_sets_attach(ledger, sets, error)))
        status = fplt__accounts_charge(ledger, sets, cost, 1, &about, error);
    fplt__free(costs);
    return status;
}

fplt_status fplt__release_charge(const fplt_settings *settings, const char *const *paths,
                                 size_t count, double rate, const char *mechanism,
                                 fplt_error *error)
{
    fplt__ledger_budget budget = {.epsilon = fplt_settings_given(settings, "privacy.budget")
                                                 ? fplt_settings_real(settings, "privacy.budget")
                                                 : INFINITY,
                                  .delta = fplt_settings_real(settings, "privacy.delta")};
    fplt__record_source source = {.declared = fplt_settings_text(settings, "ledger-account"),
                                  .setting = "ledger-account"};
    fplt__cost cost = cost_of(rate, mechanism);
    fplt__record_sets *sets = NULL;
    fplt_ledger *ledger = NULL;
    char *files = NULL;
    if (!fplt_settings_given(settings, "ledger"))
        return FPLT_OK;
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "libsodium could not be initialised");
    fplt_status status = list_paths(paths, count, &files, error);
    source.files = files;
    if (!status &&
        !(status = fplt_ledger_open(fplt_settings_text(settings, "ledger"), 1, &ledger, error)) &&
        !(status = fplt__record_sets_find(ledger, &source, &sets, error)))
        status = charge_sets(ledger, sets, &cost, &budget, error);
    fplt__record_sets_destroy(sets);
    fplt_ledger_close(ledger);
    fplt_free(files);
    return status;
}
