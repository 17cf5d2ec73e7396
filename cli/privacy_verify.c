/* fedplt privacy verify and ledger: what was promised, and what was spent. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "fedplt/certificate.h"
#include "base/file.h"
#include "fedplt/ledger.h"
#include "privacy.h"
#include "privacy/privacy.h"
#include "promise/ledger.h"
#include "base/text.h"
#include "report/report.h"

static const size_t largest_file = (size_t)1 << 30;

static const fplt_setting verify_table[] = {
    {"model", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "hold this model against the certificate; by default the model.json beside privacy.json", 0,
     0},
    {"trust", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "ask for a signature by this public key (NAME.pub of fedplt key create)", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting ledger_table[] = {
    {"delta", FPLT_REAL, FPLT_ABOVE, "1e-5", 0, 0.1, NULL, "delta of (epsilon, delta)", 0, 0},
    {"threat", FPLT_CHOICE, 0, "transcript", 0, 0, "transcript|broadcast|secagg|final-y|final-x",
     "the adversary that charges are listed against", 0, 0},
    {"declare", FPLT_CHOICE, 0, NULL, 0, 0, "transcript|broadcast|secagg|final-y|final-x",
     "charges of an older version do not say what their adversary sees: it was this one", 0, 0},
    {"merge", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "accounts whose records are those of `into`, as older versions had several for one file", 0, 0,
     .needs = "into"},
    {"into", FPLT_TEXT, 0, NULL, 0, 0, NULL, "account that is charged for all of them from now on",
     0, 0, .needs = "merge"},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

/* ---- verify ---- */

struct findings {
    cli_text text;
    json_t *list;
};

static void keep_finding(void *context, int holds, const char *sentence)
{
    struct findings *findings = context;
    static const char *const words[] = {"FAIL", "ok  ", "note"};
    cli_text_format(&findings->text, "  %s  %s\n", words[holds], sentence);
    json_array_append_new(findings->list, json_pack("{s:b, s:b, s:s}", "holds", holds != 0,
                                                    "notice", holds == 2, "finding", sentence));
}

static fplt_status print_findings(cli_call *cli, struct findings *findings,
                                  const fplt_certificate_summary *summary, fplt_error *error)
{
    if (fplt_settings_switch(cli->settings, "json"))
        return cli_print_json(
            json_pack("{s:b, s:s, s:s, s:o, s:o, s:o, s:I, s:b, s:b, s:O}", "holds", summary->holds,
                      "algorithm", summary->algorithm, "threat", summary->threat, "epsilon",
                      cli_json_number(summary->epsilon), "delta", cli_json_number(summary->delta),
                      "gdp_mu", cli_json_number(summary->gdp_mu), "group",
                      (json_int_t)summary->group, "signed", summary->is_signed, "model_checked",
                      summary->has_model, "findings", findings->list),
            error);
    printf("%s: %s, epsilon %.6g at delta %g against %s: the claim %s\n\n", cli->arguments[0],
           summary->algorithm, summary->epsilon, summary->delta, summary->threat,
           summary->holds ? "holds" : "does not hold");
    cli_print_text(&findings->text);
    if (!summary->has_model)
        puts("\nno model was held against it: there is no model.json beside it (--model FILE)");
    return FPLT_OK;
}

/* The model.json beside a privacy.json; 0: there is none. */
static int find_sibling(const char *path, char *sibling, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(name, "privacy.json") != 0)
        return 0;
    snprintf(sibling, size, "%.*smodel.json", (int)(name - path), path);
    return access(sibling, F_OK) == 0;
}

static fplt_status verify(cli_call *cli, const char *text, size_t length,
                          fplt_certificate_look *look, fplt_certificate_summary *summary,
                          fplt_error *error)
{
    const char *given = fplt_settings_text(cli->settings, "model");
    const char *trust = fplt_settings_text(cli->settings, "trust");
    char sibling[4096], *model = NULL;
    fplt_key key;
    fplt_status status = FPLT_OK;
    look->model_path = given                                                      ? given
                       : find_sibling(cli->arguments[0], sibling, sizeof sibling) ? sibling
                                                                                  : NULL;
    if (look->model_path)
        status =
            fplt__file_read(look->model_path, largest_file, &model, &look->model_length, error);
    look->model = model;
    if (!status && trust && !(status = fplt_key_read(trust, &key, error))) {
        look->trusted = &key;
        look->trusted_count = 1;
    }
    if (!status)
        status = fplt_certificate_verify(text, length, cli->arguments[0], look, summary, error);
    fplt_free(model);
    return status;
}

fplt_status privacy_verify(cli_call *cli, fplt_error *error)
{
    struct findings findings = {.list = json_array()};
    fplt_certificate_look look = {.finding = keep_finding, .context = &findings};
    fplt_certificate_summary summary;
    char *text;
    size_t length;
    fplt_status status = fplt__file_read(cli->arguments[0], largest_file, &text, &length, error);
    if (!status) {
        status = verify(cli, text, length, &look, &summary, error);
        fplt_free(text);
    }
    if (!status)
        status = print_findings(cli, &findings, &summary, error);
    if (!status && !summary.holds)
        cli->exit_status = 1;
    cli_text_clear(&findings.text);
    json_decref(findings.list);
    return status;
}

fplt_status privacy_declare_verify(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "output", verify_table, error);
}

/* ---- ledger ---- */

struct listing {
    fplt_ledger *ledger;
    fplt_table *charges, *totals;
    size_t adversary;
    double delta, spent; /* by the account at hand so far */
    char account[FPLT_ACCOUNT];
    fplt_status status;
    fplt_error *error;
};

/* NaN where nothing is proved. */
static double epsilon_of(double rate, double delta)
{
    double epsilon = NAN;
    fplt_ledger_epsilon(rate, delta, &epsilon, NULL);
    return isfinite(epsilon) ? epsilon : NAN;
}

/* What an account has spent against each adversary. */
static void add_account(struct listing *listing, const char *account)
{
    fplt_ledger_total total;
    snprintf(listing->account, sizeof listing->account, "%s", account);
    listing->spent = 0;
    listing->status = fplt_ledger_sum(listing->ledger, account, &total, listing->error);
    if (listing->status)
        return;
    fplt__table_text(listing->totals, account);
    fplt__table_whole(listing->totals, (long long)total.runs);
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        fplt__table_number(listing->totals, epsilon_of(total.spent.against[k], listing->delta), 5);
}

/* Of one run, and of all up to it. */
static int add_entry(void *context, const fplt_ledger_entry *entry)
{
    struct listing *listing = context;
    double rate = entry->rates.against[listing->adversary];
    char run[2 * 8 + 1], unit[64];
    if (strcmp(listing->account, entry->account) != 0)
        add_account(listing, entry->account);
    listing->spent += rate;
    for (int i = 0; i < 8; i++)
        snprintf(run + 2 * i, 3, "%02x", entry->run[i]);
    snprintf(unit, sizeof unit, entry->group > 1 ? "%s of %llu" : "%s", entry->unit,
             (unsigned long long)entry->group);
    fplt__table_text(listing->charges, entry->account);
    fplt__table_text(listing->charges, run);
    fplt__table_text(listing->charges, entry->time);
    fplt__table_whole(listing->charges, (long long)entry->rounds);
    fplt__table_text(listing->charges, unit);
    fplt__table_text(listing->charges, entry->threat ? entry->threat->name : "not declared");
    fplt__table_text(listing->charges, entry->mechanism);
    fplt__table_number(listing->charges, isfinite(rate) ? rate : NAN, 6);
    fplt__table_number(listing->charges, epsilon_of(rate, listing->delta), 5);
    fplt__table_number(listing->charges, epsilon_of(listing->spent, listing->delta), 5);
    return listing->status != FPLT_OK;
}

static fplt_status print_listing(const struct listing *listing, const char *threat, int json,
                                 fplt_error *error)
{
    if (json)
        return cli_print_json(json_pack("{s:f, s:s, s:o, s:o}", "delta", listing->delta, "threat",
                                        threat, "charges", cli_json_table(listing->charges),
                                        "totals", cli_json_table(listing->totals)),
                              error);
    printf("epsilon of one record at delta %g against %s\n\n", listing->delta, threat);
    fplt_status status = cli_print_table(listing->charges, error);
    if (status)
        return status;
    puts("\nepsilon of all runs against each adversary\n");
    return cli_print_table(listing->totals, error);
}

static fplt_status declare_charges(const fplt_settings *settings, fplt_ledger *ledger,
                                   fplt_error *error)
{
    const char *name = fplt_settings_text(settings, "declare");
    const fplt_threat *threat;
    uint64_t runs;
    fplt_status status = name ? fplt__privacy_threat_find(name, &threat, error) : FPLT_OK;
    if (!status && name && !(status = fplt__ledger_declare(ledger, threat, &runs, error)) && !runs)
        cli_warn("there was nothing to declare: the ledger knows what the adversary of each charge "
                 "sees");
    return status;
}

static fplt_status merge_accounts(const fplt_settings *settings, fplt_ledger *ledger,
                                  fplt_error *error)
{
    const char *list = fplt_settings_text(settings, "merge"),
               *into = fplt_settings_text(settings, "into");
    char item[FPLT_ACCOUNT];
    fplt_status status = FPLT_OK;
    while (!status && list && *list) {
        list = fplt__list_next(list, item, sizeof item);
        status = fplt__ledger_merge(ledger, item, into, error);
    }
    return status;
}

fplt_status privacy_show_ledger(const fplt_settings *settings, const char *path, fplt_error *error)
{
    static const char *const columns[] = {"account", "run",       "time", "rounds",  "unit",
                                          "claim",   "mechanism", "rate", "epsilon", "all so far"};
    const char *totals[2 + FPLT_ADVERSARIES] = {"account", "runs"};
    const char *threat = fplt_settings_text(settings, "threat");
    struct listing listing = {.delta = fplt_settings_real(settings, "delta"), .error = error};
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++) {
        totals[2 + k] = fplt_privacy_threat(k)->name;
        if (strcmp(totals[2 + k], threat) == 0)
            listing.adversary = k;
    }
    fplt_status status = fplt_ledger_open(path, 0, &listing.ledger, error);
    if (status)
        return status;
    if (!(status = declare_charges(settings, listing.ledger, error)) &&
        !(status = merge_accounts(settings, listing.ledger, error)) &&
        !(status = fplt__table_create(columns, 10, &listing.charges, error)) &&
        !(status = fplt__table_create(totals, 2 + FPLT_ADVERSARIES, &listing.totals, error)) &&
        !(status = fplt_ledger_visit(listing.ledger, NULL, add_entry, &listing, error)) &&
        !(status = listing.status))
        status = print_listing(&listing, threat, fplt_settings_switch(settings, "json"), error);
    fplt_table_destroy(listing.charges);
    fplt_table_destroy(listing.totals);
    fplt_ledger_close(listing.ledger);
    return status;
}

fplt_status privacy_ledger(cli_call *cli, fplt_error *error)
{
    return privacy_show_ledger(cli->settings, cli->arguments[0], error);
}

fplt_status privacy_declare_ledger(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "output", ledger_table, error);
}
