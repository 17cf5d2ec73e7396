/* fedplt privacy verify and ledger: what was promised, and what was spent. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "fedplt/certificate.h"
#include "fedplt/file.h"
#include "fedplt/ledger.h"
#include "privacy.h"

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
    cli_text_format(&findings->text, "  %s  %s\n", holds ? "ok  " : "FAIL", sentence);
    json_array_append_new(findings->list,
                          json_pack("{s:b, s:s}", "holds", holds, "finding", sentence));
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
        status = fplt_file_read(look->model_path, largest_file, &model, &look->model_length, error);
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
    fplt_status status = fplt_file_read(cli->arguments[0], largest_file, &text, &length, error);
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
    fplt_table *table;
    double delta, spent; /* by the account at hand so far */
    char account[256];
};

/* Of one run, and of all up to it. */
static int add_entry(void *context, const fplt_ledger_entry *entry)
{
    struct listing *listing = context;
    double alone = NAN, together = NAN;
    char run[2 * 8 + 1];
    if (strncmp(listing->account, entry->account, sizeof listing->account - 1) != 0) {
        snprintf(listing->account, sizeof listing->account, "%s", entry->account);
        listing->spent = 0;
    }
    listing->spent += entry->rate;
    for (int i = 0; i < 8; i++)
        snprintf(run + 2 * i, 3, "%02x", entry->run[i]);
    fplt_ledger_epsilon(entry->rate, listing->delta, &alone, NULL);
    fplt_ledger_epsilon(listing->spent, listing->delta, &together, NULL);
    fplt_table_text(listing->table, entry->account);
    fplt_table_text(listing->table, run);
    fplt_table_text(listing->table, entry->time);
    fplt_table_whole(listing->table, (long long)entry->rounds);
    fplt_table_number(listing->table, entry->rate, 6);
    fplt_table_number(listing->table, alone, 5);
    fplt_table_number(listing->table, together, 5);
    return 0;
}

fplt_status privacy_show_ledger(const fplt_settings *settings, const char *path, fplt_error *error)
{
    static const char *const columns[] = {"account", "run",     "time",      "rounds",
                                          "rate",    "epsilon", "all so far"};
    struct listing listing = {.delta = fplt_settings_real(settings, "delta")};
    fplt_ledger *ledger;
    int json = fplt_settings_switch(settings, "json");
    fplt_status status = fplt_ledger_open(path, 0, &ledger, error);
    if (status)
        return status;
    if (!(status = fplt_table_create(columns, 7, &listing.table, error)) &&
        !(status = fplt_ledger_visit(ledger, NULL, add_entry, &listing, error))) {
        if (!json)
            printf("epsilon of one record at delta %g\n\n", listing.delta);
        status = json ? cli_print_json(json_pack("{s:f, s:o}", "delta", listing.delta, "charges",
                                                 cli_json_table(listing.table)),
                                       error)
                      : cli_print_table(listing.table, error);
    }
    fplt_table_destroy(listing.table);
    fplt_ledger_close(ledger);
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
