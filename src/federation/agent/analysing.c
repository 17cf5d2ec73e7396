/* An analysis at a site: its file is read, the question judged by the disclosure rules, and the rows counted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "federation/agent/consent.h"
#include "federation/agent/rules.h"
#include "job/job.h"

void fplt__agent_forget_analysis(fplt__agent *agent)
{
    fplt__free(agent->analysis.words);
    memset(&agent->analysis, 0, sizeof agent->analysis);
}

/* ---- reading ---- */

/* Columns, levels and classes are those of the analysis; the site says how its file is written. */
static fplt_read_settings reading_of(const fplt_settings *site)
{
    const fplt_read_settings own = fplt__job_read(site);
    fplt_read_settings read = fplt_read_defaults();
    read.site = "none"; /* whose rows they are is known */
    read.format = own.format;
    read.label = own.label;
    read.labels = own.labels;
    read.no_header = own.no_header;
    read.drop_missing = own.drop_missing;
    read.separator = own.separator;
    read.decimal = own.decimal;
    read.missing_codes = own.missing_codes;
    read.dates = own.dates;
    read.largest = own.largest;
    read.id = own.id;
    return read;
}

static fplt_status find_file(const fplt_settings *site, char path[4096], fplt_error *error)
{
    const char *data = fplt_settings_text(site, "data");
    if (!data)
        return fplt__site_no_data(error);
    return *fplt__list_next(data, path, 4096)
               ? fplt_error_set(error, FPLT_UNSUPPORTED,
                                "data: an analysis counts the rows of one file, and several are "
                                "given; put the rows of all files into one file")
               : FPLT_OK;
}

static fplt_status count_file(const fplt__agent *agent, const fplt__analysis *analysis,
                              fplt__analysis_counted *counted, fplt_error *error)
{
    const fplt_settings *site = agent->settings;
    char path[4096];
    fplt_schema *schema = NULL;
    fplt__analysis_site from = {.path = path,
                                .read = reading_of(site),
                                .minimum = (size_t)fplt__rule_value(site, FPLT__RULE_COUNTS),
                                .dominant = fplt__rule_value(site, FPLT__RULE_DOMINANCE),
                                .per_parameter = fplt__rule_value(site, FPLT__RULE_HESSIANS),
                                .steep = FPLT__STEEP,
                                .saturated = fplt__rule_value(site, FPLT__RULE_SATURATION)};
    fplt_status status = find_file(site, path, error);
    if (!status)
        status = fplt__job_schema(site, &schema, error);
    from.read.schema = schema;
    if (!status)
        status = analysis->kind->count(analysis, &from, counted, error);
    fplt_schema_destroy(schema);
    return status;
}

/* ---- rules ---- */

static fplt_status judge_rows(const fplt_settings *site, const fplt__analysis *analysis,
                              uint64_t rows, fplt_error *error)
{
    double least = fplt__rule_value(site, FPLT__RULE_ROWS);
    if (analysis->kind->parameters)
        least = fmax(least, fplt__rule_value(site, FPLT__RULE_HESSIANS) *
                                (double)analysis->kind->parameters(analysis));
    return (double)rows >= least
               ? FPLT_OK
               : fplt_error_set(error, FPLT_FAILED,
                                "disclosure: the rows to count are %llu, but must be at least %.0f",
                                (unsigned long long)rows, least);
}

static fplt_status hash_rows(const fplt__agent *agent, const fplt__analysis_counted *counted,
                             fplt__row_sets *sets, fplt_error *error)
{
    const uint8_t *secret = fplt__site_memory_secret(agent->memory);
    const fplt_dataset *rows = counted->rows;
    fplt_status status = fplt__row_set_read(agent->settings, NULL, rows, secret, &sets->all, error);
    if (!status)
        status = fplt__row_set_used(&sets->all, rows, NULL, counted->aside, 0, &sets->used, error);
    fplt__row_set_sort(&sets->all);
    return status;
}

static fplt_status judge_sets(fplt__agent *agent, const fplt__analysis *analysis,
                              const fplt__proposal *proposal, const fplt__row_sets *sets,
                              fplt_error *error)
{
    const fplt_settings *site = agent->settings;
    fplt_status status;
    int is_named;
    if ((status = fplt__agent_hide_reason(
             agent, fplt__questions_find_analysis(site, analysis, proposal, sets, agent->memory,
                                                  &agent->asked, error))) ||
        (status = judge_rows(site, analysis, sets->used.count, error)) ||
        (status = fplt__disclosure_names_model(site, analysis, &is_named, error)) ||
        (status = fplt__questions_judge_tables(site, analysis, is_named, agent->memory,
                                               &agent->asked, error)) ||
        (status = fplt__questions_judge_cost(site, sets->used.count, agent->memory, &agent->asked,
                                             error)))
        return status;
    if ((status = fplt__questions_compare(site, sets, agent->memory, &agent->asked, error)))
        return fplt__agent_hide_records(agent, status);
    return fplt__agent_hide_reason(agent, fplt__questions_charge(sets, agent->memory, &agent->asked,
                                                                 error));
}

/* The question counts before its answer is known to anybody. */
static fplt_status judge_question(fplt__agent *agent, const fplt__analysis *analysis,
                                  const fplt__proposal *proposal,
                                  const fplt__analysis_counted *counted, fplt_error *error)
{
    fplt__row_sets sets;
    memset(&sets, 0, sizeof sets);
    agent->asked = (fplt__asked){.data_set = 0};
    if (fplt__rules_are_off(agent->settings))
        return FPLT_OK;
    fplt_status status = fplt__agent_hide_reason(agent, hash_rows(agent, counted, &sets, error));
    if (!status)
        status = judge_sets(agent, analysis, proposal, &sets, error);
    fplt__row_set_clear(&sets.all);
    fplt__row_set_clear(&sets.used);
    return status;
}

fplt_status fplt__agent_analyse(fplt__agent *agent, const fplt__proposal *proposal,
                                const fplt__digest *of, fplt_error *error)
{
    fplt__analysis *analysis;
    fplt__analysis_counted counted = {0, NULL, NULL, NULL};
    if (agent->analysis.kind && fplt__same(of, &agent->analysis.of))
        return FPLT_OK;
    fplt__agent_forget_analysis(agent);
    fplt_status status = fplt__analysis_open(proposal, &analysis, error);
    if (status)
        return status;
    if (!(status = fplt__agent_hide_reason(agent, count_file(agent, analysis, &counted, error))))
        status = judge_question(agent, analysis, proposal, &counted, error);
    if (!status) {
        agent->analysis.kind = analysis->kind;
        agent->analysis.of = *of;
        agent->analysis.records = counted.records;
        agent->analysis.numbers = analysis->kind->numbers(analysis);
        agent->analysis.words = counted.words;
        counted.words = NULL;
    }
    fplt__analysis_counted_clear(&counted);
    fplt__analysis_close(analysis);
    return status;
}
