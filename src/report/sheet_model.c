/* The parts of a page about coefficients and about privacy. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "fedplt/export.h"
#include "fedplt/inference.h"
#include "promise/certificate.h"
#include "report/html.h"
#include "report/model_access.h"
#include "report/report.h"
#include "report/sheet.h"
#include "report/table.h"

/* More intervals than these make no picture. */
enum { MAX_INTERVALS = 40 };

static const char *const ratios[][2] = {
    {"odds_ratio", "odds ratio"}, {"rate_ratio", "rate ratio"}, {"hazard_ratio", "hazard ratio"}};

/* Which ratio the lines have; NULL: none. */
static const char *const *ratio_of(const json_t *line)
{
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++)
        if (json_object_get(line, ratios[i][0]))
            return ratios[i];
    return NULL;
}

static size_t take_intervals(const json_t *lines, const char *const *ratio,
                             fplt__interval *interval)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        const char *name = fplt__sheet_text(json_object_get(line, "name"));
        if (strncmp(name, "(intercept)", 11) == 0)
            continue;
        interval[count++] = (fplt__interval){
            name,
            fplt__sheet_number(json_object_get(line, ratio ? ratio[0] : "coefficient")),
            fplt__sheet_number(json_object_get(line, ratio ? "ratio_low" : "low")),
            fplt__sheet_number(json_object_get(line, ratio ? "ratio_high" : "high")),
        };
    }
    return count;
}

static fplt_status draw_intervals(const fplt__sheet *page, const fplt_table *table,
                                  fplt_error *error)
{
    size_t count = fplt__table_rows(table);
    fplt__interval interval[MAX_INTERVALS];
    char axis[96];
    if (count > MAX_INTERVALS || fplt_model_outputs(page->model) > 1)
        return FPLT_OK;
    json_t *lines = fplt__table_json(table);
    if (!lines)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a picture");
    if (!json_object_get(json_array_get(lines, 0), "low")) { /* a penalty: there are none */
        json_decref(lines);
        return FPLT_OK;
    }
    const char *const *ratio = ratio_of(json_array_get(lines, 0));
    count = take_intervals(lines, ratio, interval);
    snprintf(axis, sizeof axis, "%s, %g %% interval", ratio ? ratio[1] : "coefficient",
             100 * page->given->level);
    fplt__buffer_add(page->out, "<figure id=\"intervals\">\n");
    fplt__chart_intervals(page->out, "Coefficients with their intervals", axis, interval, count,
                          ratio ? 1 : 0, ratio != NULL);
    fplt__buffer_add(page->out, "</figure>\n");
    json_decref(lines);
    return FPLT_OK;
}

static void add_notes(const fplt__sheet *page, const char *notes)
{
    for (const char *end; (end = strchr(notes, '\n')); notes = end + 1) {
        fplt__buffer_add(page->out, "<p class=\"note\">");
        fplt__html_format(page->out, "%.*s", (int)(end - notes), notes);
        fplt__buffer_add(page->out, "</p>\n");
    }
}

/* The refit that is given, or that of the model itself where it has the sums behind standard errors; NULL: none. */
static const fplt_model *refit_of(const fplt__sheet *page)
{
    const fplt_model *own = fplt_model_refit(page->model);
    return page->given->refitted                        ? page->given->refitted
           : own && fplt_model_get_view(own)->inference ? own
                                                        : NULL;
}

/* What is to be published: estimates that no penalty shrinks, with tests and intervals. */
static fplt_status add_refit(const fplt__sheet *page, fplt_error *error)
{
    fplt_summary_settings settings = fplt_summary_defaults();
    fplt_table *table = NULL;
    char *notes = NULL;
    settings.level = page->given->level;
    fplt_status status = fplt_model_summary(refit_of(page), &settings, &table, &notes, error);
    if (status)
        return status;
    fplt__buffer_add(page->out, "<h3>Without the penalty, to be published</h3>\n");
    status = draw_intervals(page, table, error);
    add_notes(page, notes);
    fplt_free(notes);
    if (status) {
        fplt_table_destroy(table);
        return status;
    }
    status = fplt__sheet_table(page, table, error);
    fplt__buffer_add(page->out, "<h3>With the penalty, as the model predicts</h3>\n");
    return status;
}

fplt_status fplt__sheet_reversals(const fplt__sheet *page, fplt_error *error)
{
    char *text;
    fplt_status status = fplt__pooling_text(page->model, &text, error);
    if (status || !text)
        return status;
    fplt__sheet_section(page, "reversals", "Pooling hides a reversal");
    fplt__buffer_add(page->out, "<p>The sites differ, and inside the sites these columns have the "
                                "opposite sign. Compare with a model that has an intercept for "
                                "every site (--site-effects fixed).</p>\n");
    add_notes(page, text);
    fplt__buffer_add(page->out, "</section>\n");
    fplt_free(text);
    return FPLT_OK;
}

/* With errors where there are any; otherwise the coefficients, and why there are none. */
fplt_status fplt__sheet_coefficients(const fplt__sheet *page, fplt_error *error)
{
    fplt_summary_settings settings = fplt_summary_defaults();
    fplt_error reason = {FPLT_OK, ""};
    fplt_table *table = NULL;
    char *notes = NULL;
    settings.level = page->given->level;
    fplt__sheet_section(page, "coefficients", "Coefficients");
    fplt_status status = refit_of(page) ? add_refit(page, error) : FPLT_OK;
    if (status)
        return status;
    status = fplt_model_summary(page->model, &settings, &table, &notes, &reason);
    if (!status) {
        status = draw_intervals(page, table, error);
        add_notes(page, notes);
    } else if (status != FPLT_NO_MEMORY) {
        fplt__buffer_add(page->out, "<p class=\"note\">Without standard errors: ");
        fplt__html_text(page->out, reason.text);
        fplt__buffer_add(page->out, ".</p>\n");
        status = fplt_model_coefficients(page->model, &table, error);
    } else {
        fplt_error_set(error, status, "%s", reason.text);
    }
    if (!status)
        status = fplt__sheet_table(page, table, error);
    else
        fplt_table_destroy(table);
    fplt_free(notes);
    fplt__buffer_add(page->out, "</section>\n");
    return status;
}

/* Privacy */

/* The most often that a test with so many false alarms can be right under (epsilon, delta)
 * [Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015, Theorem 2.1]. */
static double most_found(double epsilon, double delta, double alarms)
{
    return fmin(1, fmin(delta + exp(epsilon) * alarms, 1 - exp(-epsilon) * (1 - delta - alarms)));
}

static void add_plain_words(const fplt__sheet *page, double epsilon, double delta)
{
    const char *unit = fplt__sheet_text(json_object_get(page->certificate, "unit"));
    fplt__buffer_add(page->out, "<p>In plain words: suppose somebody knows everything but ");
    fplt__html_text(page->out, *unit ? unit : "one record");
    fplt__html_format(
        page->out,
        ", and tests on what can be seen whether it is as he suspects. A test "
        "that raises a false alarm in 5 of 100 cases is right in at most %.3g of 100; "
        "throwing dice would be right in 5.",
        100 * most_found(epsilon, delta, 0.05));
    fplt__buffer_add(page->out, "</p>\n");
}

static fplt_status add_shares(const fplt__sheet *page, fplt_error *error)
{
    static const char *const columns[] = {"site", "records", "rounds charged", "epsilon"};
    const json_t *agents = json_object_get(page->certificate, "agents");
    fplt_table *table;
    if (!json_array_size(agents))
        return FPLT_OK;
    fplt_status status = fplt__table_create(columns, 4, &table, error);
    if (status)
        return status;
    for (size_t i = 0; i < json_array_size(agents); i++) {
        const json_t *agent = json_array_get(agents, i);
        fplt__table_text(table, fplt__sheet_text(json_object_get(agent, "name")));
        fplt__table_whole(table, (long long)json_integer_value(json_object_get(agent, "records")));
        fplt__table_whole(table,
                          (long long)json_integer_value(json_object_get(agent, "rounds_charged")));
        fplt__table_number(table, fplt__sheet_number(json_object_get(agent, "epsilon")), 4);
    }
    return fplt__sheet_table(page, table, error);
}

static void add_assumptions(const fplt__sheet *page)
{
    const json_t *list = json_object_get(page->certificate, "assumptions");
    fplt__buffer_add(page->out, "<h3>What it rests on</h3>\n<ul>\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        fplt__buffer_add(page->out, "<li>");
        fplt__html_text(page->out, fplt__sheet_text(json_array_get(list, i)));
        fplt__buffer_add(page->out, "</li>\n");
    }
    fplt__buffer_add(page->out, "<li>Noise: ");
    fplt__html_text(page->out, fplt__sheet_text(json_object_get(page->certificate, "noise")));
    fplt__buffer_add(page->out, ".</li>\n</ul>\n");
}

fplt_status fplt__sheet_privacy(const fplt__sheet *page, fplt_error *error)
{
    const json_t *certificate = page->certificate;
    fplt__sheet_section(page, "privacy", "Privacy");
    if (!certificate) {
        fplt__buffer_add(
            page->out, "<p>Trained without a promise of privacy: rows never left their sites, but "
                       "the sums that did, and the numbers on this page, may tell something of "
                       "single records.</p>\n");
        if (json_object_get(page->record, "federation"))
            fplt__buffer_add(page->out,
                             "<p>The disclosure rules of the sites protect records from a curious "
                             "operator with the unmodified program; against a modified coordinator "
                             "only privacy, or secure aggregation with noise, does.</p>\n");
        fplt__buffer_add(page->out, "</section>\n");
        return FPLT_OK;
    }
    if (!json_is_true(json_object_get(certificate, "private")))
        fplt__buffer_add(page->out, "<p class=\"bad\">This run is not private: what follows would "
                                    "hold with noise from the system's random source and nothing "
                                    "measured without it.</p>\n");
    if (json_is_true(fplt__sheet_find(certificate, "run", "drafted", NULL)))
        fplt__buffer_add(page->out, "<p class=\"bad\">" FPLT_CERTIFICATE_DRAFTED "</p>\n");
    fplt__buffer_add(page->out, "<p>");
    fplt__html_text(page->out, fplt__sheet_text(json_object_get(certificate, "statement")));
    fplt__buffer_add(page->out, "</p>\n");
    add_plain_words(page,
                    fplt__sheet_number(fplt__sheet_find(certificate, "promise", "epsilon", NULL)),
                    fplt__sheet_number(fplt__sheet_find(certificate, "promise", "delta", NULL)));
    fplt_status status = add_shares(page, error);
    add_assumptions(page);
    fplt__buffer_add(page->out, "<p>The numbers are those of the certificate; <code>fedplt privacy "
                                "verify</code> computes them again.</p>\n</section>\n");
    return status;
}
