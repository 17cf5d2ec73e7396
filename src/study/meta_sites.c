/* Meta-analysis: where the estimates come from, and tables of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/builder.h"
#include "data/dataset_access.h"
#include "fedplt/inference.h"
#include "base/normal.h"
#include "report/report.h"
#include "report/table.h"
#include "study/meta_inside.h"

enum { DIGITS = 5 };

void fplt__meta_destroy(fplt__meta *meta)
{
    if (!meta)
        return;
    fplt__notes_clear(&meta->notes);
    fplt__free(meta->line);
    fplt__lookup_clear(&meta->terms);
    fplt__lookup_clear(&meta->sites);
    fplt__free(meta);
}

static fplt_status add_line(fplt__meta *meta, fplt__span site, fplt__span term, double estimate,
                            double error_of, fplt_error *error)
{
    fplt__meta_line line = {.estimate = estimate, .error = error_of};
    fplt_status status = fplt__grow(&meta->line, &meta->line_capacity, meta->lines + 1,
                                    sizeof *meta->line, "estimates", error);
    if (!status)
        status = fplt__lookup_add(&meta->sites, site, &line.site, error);
    if (!status)
        status = fplt__lookup_add(&meta->terms, term, &line.term, error);
    for (size_t i = 0; !status && i < meta->lines; i++)
        if (meta->line[i].site == line.site && meta->line[i].term == line.term)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "term '%.80s' has two estimates at site '%.80s'",
                                  fplt__show(term).text, fplt__show(site).text);
    if (!status)
        meta->line[meta->lines++] = line;
    return status;
}

/* ---- a file of estimates ---- */

static const char *const wanted[] = {"site", "term", "estimate", "std_error"};
enum { SITE, TERM, ESTIMATE, ERROR, WANTED };

struct reading {
    fplt__meta *meta;
    const fplt__source *source;
    uint32_t at[WANTED];
};

static fplt_status see_file(void *context, const char *path, const fplt__source *source,
                            fplt_error *error)
{
    (void)path;
    (void)error;
    ((struct reading *)context)->source = source;
    return FPLT_OK;
}

static fplt_status see_columns(void *context, const fplt__lookup *names, size_t line,
                               fplt_error *error)
{
    struct reading *reading = context;
    for (int i = 0; i < WANTED; i++) {
        reading->at[i] = fplt__lookup_find(names, fplt__span_of(wanted[i]));
        if (reading->at[i] == FPLT__NOWHERE)
            return fplt__bad_data(
                error, reading->source->name, line,
                "column '%s' is missing: a file of estimates has the columns site, "
                "term, estimate and std_error",
                wanted[i]);
    }
    return FPLT_OK;
}

static fplt_status see_row(void *context, const fplt__field *fields, size_t line, fplt_error *error)
{
    struct reading *reading = context;
    double number[2];
    for (int i = 0; i < 2; i++) {
        const fplt__field *field = &fields[reading->at[ESTIMATE + i]];
        if (fplt__number_parse(fplt__span_trim(field->span), &number[i]) != FPLT__NUMBER ||
            (i && !(number[i] > 0)))
            return fplt__bad_data(error, reading->source->name, line,
                                  "%s is '%s', but it must be a number%s", wanted[ESTIMATE + i],
                                  fplt__show(field->span).text, i ? " above 0" : "");
    }
    return add_line(reading->meta, fields[reading->at[SITE]].span, fields[reading->at[TERM]].span,
                    number[0], number[1], error);
}

fplt_status fplt__meta_read(const char *path, const fplt_read_settings *read, fplt__meta **meta,
                            fplt_error *error)
{
    struct reading reading = {.meta = NULL};
    *meta = NULL;
    fplt_status status = fplt__alloc_into(&reading.meta, 1, sizeof **meta, "estimates", error);
    if (status)
        return status;
    status =
        fplt__csv_visit_files(&path, 1, read,
                              &(fplt__csv_files){see_file, see_columns, see_row, &reading}, error);
    if (!status && !reading.meta->lines)
        status = fplt_error_set(error, FPLT_BAD_DATA, "%s has no estimates", path);
    if (status)
        fplt__meta_destroy(reading.meta);
    else
        *meta = reading.meta;
    return status;
}

/* ---- fits of each site ---- */

static fplt_status add_summary(fplt__meta *meta, const char *site, const fplt_table *table,
                               fplt_error *error)
{
    json_t *lines = fplt__table_json(table), *line;
    fplt_status status =
        lines ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for estimates");
    size_t i;
    json_array_foreach(lines, i, line)
    {
        const char *name = json_string_value(json_object_get(line, "name"));
        const char *class = json_string_value(json_object_get(line, "class"));
        json_t *estimate = json_object_get(line, "coefficient");
        double error_of = json_number_value(json_object_get(line, "std_error"));
        char term[600];
        if (status || !name || !json_is_number(estimate) || !(error_of > 0))
            continue;
        snprintf(term, sizeof term, "%.280s%s%.280s", class ? class : "", class ? ": " : "", name);
        status = add_line(meta, fplt__span_of(site), fplt__span_of(term),
                          json_number_value(estimate), error_of, error);
    }
    json_decref(lines);
    return status;
}

/* A site without a fit is left out, and the reason is noted. */
static fplt_status fit_site(fplt__meta *meta, const fplt_model *model, const fplt_dataset *rows,
                            const char *site, fplt_error *error)
{
    fplt_summary_settings settings = fplt_summary_defaults();
    fplt_model *fitted = NULL;
    fplt_table *table = NULL;
    fplt_error reason;
    char *notes = NULL;
    fplt_status status = fplt_model_infer(model, rows, 1, &fitted, &reason);
    if (!status)
        status = fplt_model_summary(fitted, &settings, &table, &notes, &reason);
    if (status == FPLT_NO_MEMORY) {
        fplt_error_set(error, status, "%s", reason.text);
    } else if (status) {
        status = fplt__notes_add(&meta->notes, error, "site '%.200s' is left out: %.1200s", site,
                                 reason.text);
    } else {
        status = add_summary(meta, site, table, error);
    }
    fplt_table_destroy(table);
    fplt_free(notes);
    fplt_model_destroy(fitted);
    return status;
}

fplt_status fplt__meta_fit(const fplt_model *model, const fplt_dataset *dataset, fplt__meta **out,
                           fplt_error *error)
{
    fplt__meta *meta;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&meta, 1, sizeof *meta, "estimates", error);
    for (uint32_t i = 0; !status && i < fplt_dataset_agents(dataset); i++) {
        const char *name = fplt_dataset_agent_name(dataset, i);
        fplt_dataset *rows;
        char number[24];
        snprintf(number, sizeof number, "%u", i + 1);
        if (!(status = fplt__dataset_pick(dataset, &i, 1, &rows, error))) {
            status = fit_site(meta, model, rows, name ? name : number, error);
            fplt_dataset_destroy(rows);
        }
    }
    if (!status && !meta->lines)
        status = fplt_error_set(error, FPLT_UNREACHABLE, "no site has estimates of its own: %s",
                                meta->notes.count ? meta->notes.text[0] : "there are no sites");
    if (status)
        fplt__meta_destroy(meta);
    else
        *out = meta;
    return status;
}

/* ---- tables ---- */

size_t fplt__meta_terms(const fplt__meta *meta)
{
    return meta->terms.count;
}

const char *fplt__meta_term(const fplt__meta *meta, size_t term)
{
    return fplt__lookup_word(&meta->terms, (uint32_t)term).text;
}

const char *fplt__meta_note(const fplt__meta *meta, size_t index)
{
    return fplt__notes_get(&meta->notes, index);
}

fplt_status fplt__meta_sites_table(const fplt__meta *meta, double level, fplt_table **table,
                                   fplt_error *error)
{
    static const char *const headings[] = {"term", "site", "estimate", "std_error", "low", "high"};
    double quantile = fplt__normal_quantile((1 + level) / 2);
    fplt_status status = fplt__table_create(headings, 6, table, error);
    for (uint32_t t = 0; !status && t < meta->terms.count; t++)
        for (size_t i = 0; i < meta->lines; i++) {
            const fplt__meta_line *line = &meta->line[i];
            if (line->term != t)
                continue;
            fplt__table_text(*table, fplt__lookup_word(&meta->terms, t).text);
            fplt__table_text(*table, fplt__lookup_word(&meta->sites, line->site).text);
            fplt__table_number(*table, line->estimate, DIGITS);
            fplt__table_number(*table, line->error, DIGITS);
            fplt__table_number(*table, line->estimate - quantile * line->error, DIGITS);
            fplt__table_number(*table, line->estimate + quantile * line->error, DIGITS);
        }
    return status;
}

fplt_status fplt__meta_of_term(const fplt__meta *meta, size_t term,
                               const fplt_meta_settings *settings, fplt_meta_result *result,
                               fplt_error *error)
{
    double *numbers;
    size_t used = 0;
    fplt_status status =
        fplt__alloc_into(&numbers, 2 * meta->lines, sizeof *numbers, "estimates", error);
    if (status)
        return status;
    for (size_t i = 0; i < meta->lines; i++)
        if (meta->line[i].term == term) {
            numbers[used] = meta->line[i].estimate;
            numbers[meta->lines + used++] = meta->line[i].error;
        }
    *result = fplt_meta_combine(numbers, numbers + meta->lines, used, settings);
    fplt__free(numbers);
    return FPLT_OK;
}

const char *fplt__meta_name(const fplt_meta_settings *settings)
{
    static const char *const names[][2] = {{"fixed", "fixed"},
                                           {"random (DL)", "random (DL, Hartung-Knapp)"},
                                           {"random (REML)", "random (REML, Hartung-Knapp)"}};
    return names[settings->method][settings->hartung_knapp != 0];
}

fplt_status fplt__meta_table(const fplt__meta *meta, const fplt_meta_settings *settings,
                             fplt_table **table, fplt_error *error)
{
    static const char *const headings[] = {"term",      "effects", "sites", "estimate",
                                           "std_error", "p",       "low",   "high",
                                           "tau2",      "Q",       "Q p",   "I2 percent"};
    fplt_meta_settings fixed = {FPLT_META_FIXED, 0, settings->level};
    fplt_status status = fplt__table_create(headings, 12, table, error);
    for (size_t t = 0; !status && t < meta->terms.count; t++)
        for (int random = 0; random < 2 && !status; random++) {
            const fplt_meta_settings *used = random ? settings : &fixed;
            fplt_meta_result made;
            if ((status = fplt__meta_of_term(meta, t, used, &made, error)))
                break;
            fplt__table_text(*table, fplt__meta_term(meta, t));
            fplt__table_text(*table, fplt__meta_name(used));
            fplt__table_whole(*table, (long long)made.sites);
            fplt__table_number(*table, made.estimate, DIGITS);
            fplt__table_number(*table, made.error, DIGITS);
            fplt__table_number(*table, made.p, 3);
            fplt__table_number(*table, made.low, DIGITS);
            fplt__table_number(*table, made.high, DIGITS);
            fplt__table_number(*table, made.tau2, 4);
            fplt__table_number(*table, made.q, 4);
            fplt__table_number(*table, made.q_p, 3);
            fplt__table_number(*table, made.i_squared, 3);
        }
    return status;
}
