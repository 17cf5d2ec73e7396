#include "federation/agent/questions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "data/schema_access.h"
#include "federation/agent/custom_cost.h"
#include "federation/agent/disclosure.h"
#include "federation/agent/policy.h"
#include "federation/agent/rules.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/refit.h"
#include "federation/plan/validation.h"

static fplt__digest digest_of(fplt__buffer *text)
{
    fplt__digest digest = fplt__hash_bytes(text->text ? text->text : "", text->length);
    fplt__buffer_clear(text);
    return digest;
}

/* What the site says about its file: another label or other columns are another fit. The file is known by its rows. */
static void add_reading(const fplt_settings *site, fplt__buffer *fit)
{
    const fplt_setting *row;
    const char *group;
    for (size_t i = 0; (row = fplt_settings_row(site, i, &group)); i++)
        if (strcmp(group, "data") == 0 && strcmp(row->name, "data") != 0 &&
            fplt_settings_given(site, row->name))
            fplt__buffer_format(fit, "site %s %s\n", row->name,
                                fplt_settings_text(site, row->name));
}

/* Another run is asked anew, though its settings are the same: rows of other members place its broadcasts. */
static fplt_status make_digests(const fplt_settings *site, const fplt__proposal *proposal,
                                const fplt__digest *hash, fplt__question *question,
                                fplt_error *error)
{
    fplt__buffer fit = {NULL, 0, 0, FPLT_OK};
    fplt__buffer_format(&fit, "schema %s\ndictionary %s\n",
                        proposal->schema ? proposal->schema : "none",
                        proposal->dictionary ? proposal->dictionary : "none");
    add_reading(site, &fit);
    if (fplt__leaves_out_fold(proposal))
        fplt__buffer_format(&fit, "part %s\n", proposal->part);
    for (size_t i = 0; i < proposal->settings; i++)
        if (fplt__is_of_fit(proposal->setting[i].name))
            fplt__buffer_format(&fit, "%s %s\n", proposal->setting[i].name,
                                proposal->setting[i].value);
    if (fit.status) {
        fplt__buffer_clear(&fit);
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a question");
    }
    question->fit = digest_of(&fit);
    const fplt__input both[] = {{&question->fit, sizeof question->fit}, {hash, sizeof *hash}};
    question->whole = fplt__hash(both, 2);
    return FPLT_OK;
}

static fplt_status count_parameters(const fplt__proposal *proposal, const fplt__local_data *data,
                                    fplt__question *question, fplt_error *error)
{
    fplt__form form = fplt__local_data_form(data);
    fplt__plan_resolution terms;
    fplt_status status = fplt__plan_resolution_of(proposal, &form, &terms, error);
    if (status)
        return status;
    question->parameters = terms.job.dimension;
    /* columns of a formula are no more unknowns than the columns that they are made of */
    uint64_t inputs = fplt__local_data_inputs(data);
    question->columns = form.features < inputs ? form.features : inputs;
    fplt__plan_resolution_clear(&terms);
    return FPLT_OK;
}

fplt_status fplt__questions_find(const fplt_settings *site, const fplt__proposal *proposal,
                                 const fplt__digest *hash, const fplt__local_data *data,
                                 fplt__site_memory *memory, fplt__asked *asked, fplt_error *error)
{
    *asked = (fplt__asked){.left = INFINITY, .is_pooled = proposal->secure};
    /* the rows of a custom cost are not seen here */
    if (fplt__policy_is_private(site, proposal) || fplt__rules_are_off(site) ||
        fplt__is_custom(proposal))
        return FPLT_OK;
    fplt_status status = make_digests(site, proposal, hash, &asked->question, error);
    if (!status)
        status = count_parameters(proposal, data, &asked->question, error);
    return status ? status
                  : fplt__site_memory_find(memory, &fplt__local_data_row_sets(data)->all,
                                           &asked->data_set, error);
}

fplt_status fplt__questions_price(const fplt_settings *site, const fplt__proposal *proposal,
                                  fplt__site_memory *memory, const fplt__asked *asked,
                                  double *added, fplt_error *error)
{
    const fplt__digest none = {{0}};
    fplt__question question = asked->question;
    fplt__question_cost cost = {.added = 0};
    fplt_status status = make_digests(site, proposal, &none, &question, error);
    if (!status)
        status = fplt__site_memory_price(memory, asked->data_set, &question, &cost, error);
    *added = cost.added;
    return status;
}

/* The same analysis of the same model and rows may be repeated. */
static fplt_status digest_analysis(const fplt_settings *site, const fplt__analysis *analysis,
                                   const fplt__proposal *proposal, const fplt__row_set *rows,
                                   fplt__question *question, fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    char digest[FPLT__HEX];
    fplt__hex(&analysis->model_digest, sizeof analysis->model_digest, digest);
    fplt__buffer_format(&text, "analysis %s\nmodel %s\n", analysis->kind->name, digest);
    if (analysis->schema)
        fplt__buffer_format(&text, "schema %s\n", fplt__schema_digest(analysis->schema));
    for (size_t i = 0; i < proposal->analysis.settings; i++)
        fplt__buffer_format(&text, "%s %s\n", proposal->analysis.setting[i].name,
                            proposal->analysis.setting[i].value);
    add_reading(site, &text);
    if (text.status) {
        fplt__buffer_clear(&text);
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a question");
    }
    question->fit = digest_of(&text);
    const fplt__input both[] = {{&question->fit, sizeof question->fit},
                                {rows->row, rows->count * sizeof *rows->row}};
    question->whole = fplt__hash(both, 2);
    question->kind = analysis->kind->name;
    return FPLT_OK;
}

fplt_status fplt__questions_find_analysis(const fplt_settings *site, const fplt__analysis *analysis,
                                          const fplt__proposal *proposal,
                                          const fplt__row_sets *sets, fplt__site_memory *memory,
                                          fplt__asked *asked, fplt_error *error)
{
    size_t minimum = (size_t)fplt__rule_value(site, FPLT__RULE_COUNTS);
    *asked = (fplt__asked){.left = INFINITY};
    if (fplt__rules_are_off(site))
        return FPLT_OK;
    fplt_status status =
        digest_analysis(site, analysis, proposal, &sets->used, &asked->question, error);
    asked->question.columns = analysis->kind->columns(analysis);
    asked->question.numbers = analysis->kind->cost(analysis, sets->used.count, minimum);
    return status ? status : fplt__site_memory_find(memory, &sets->all, &asked->data_set, error);
}

static fplt_status refuse_table(const fplt__analysis *analysis, fplt_error *error)
{
    char digest[FPLT__HEX];
    fplt__hex(&analysis->model_digest, sizeof analysis->model_digest, digest);
    return analysis->model
               ? fplt_error_set(
                     error, FPLT_FAILED,
                     "disclosure: this data set answered `%s` before about another "
                     "model or grid, and the difference of two answers may be about one row; "
                     "name %s in policy.start-models",
                     analysis->kind->name, digest)
               : fplt_error_set(error, FPLT_FAILED,
                                "disclosure: this data set answered `%s` before with other "
                                "strata, columns or cells, and two tables of the same rows may "
                                "tell counts that each of them withholds; ask for the same table, "
                                "or let the site choose `disclosure: research`",
                                analysis->kind->name);
}

fplt_status fplt__questions_judge_tables(const fplt_settings *site, const fplt__analysis *analysis,
                                         fplt__site_memory *memory, const fplt__asked *asked,
                                         fplt_error *error)
{
    uint64_t others;
    int named;
    if (!analysis->kind->is_table || !asked->data_set ||
        !(fplt__rule_value(site, FPLT__RULE_TABLES) > 0))
        return FPLT_OK;
    fplt_status status =
        fplt__site_memory_others(memory, asked->data_set, &asked->question, &others, error);
    if (status || !others ||
        (status = fplt__disclosure_names_model(site, analysis, &named, error)) || named)
        return status;
    return refuse_table(analysis, error);
}

fplt__pooled fplt__questions_pool(const fplt__agreement *agreement)
{
    const fplt__proposal *proposal = &agreement->proposal;
    fplt__pooled pooled = {0, 0};
    uint64_t largest = 0;
    if (!proposal->secure)
        return pooled;
    pooled.members = proposal->members;
    for (uint32_t i = 0; i < proposal->members; i++) {
        pooled.records += agreement->records[i];
        largest = agreement->records[i] > largest ? agreement->records[i] : largest;
    }
    uint64_t others = proposal->colluders * largest;
    pooled.records = pooled.records > others ? pooled.records - others : 0;
    return pooled;
}

/* Numbers that everybody knows */

static fplt_status refuse_count(const char *what, uint64_t count, double least, fplt_error *error)
{
    return fplt_error_set(error, FPLT_FAILED, "disclosure: %s %llu, but must be at least %.0f",
                          what, (unsigned long long)count, least);
}

static fplt_status judge_rows(const fplt_settings *site, const fplt__local_data *data,
                              const fplt__pooled *pooled, const fplt__question *question,
                              fplt_error *error)
{
    uint64_t rows = pooled ? pooled->records : fplt__local_data_records(data),
             held = fplt__local_data_held_out(data);
    double least = fplt__rule_value(site, FPLT__RULE_ROWS),
           share =
               fplt__rule_value(site, FPLT__RULE_ROWS_PER_PARAMETER) * (double)question->parameters,
           freedom = fplt__rule_value(site, FPLT__RULE_FREEDOM) + (double)question->parameters,
           holdout = fplt__rule_value(site, FPLT__RULE_HOLDOUT);
    if ((double)rows < least)
        return refuse_count("the rows to train on are", rows, least, error);
    if ((double)rows < share)
        return refuse_count("the rows to train on, for the parameters of this model, are", rows,
                            share, error);
    if ((double)rows < freedom)
        return refuse_count("the rows to train on, beside the parameters, are", rows, freedom,
                            error);
    return held && (double)held < holdout && !pooled
               ? refuse_count("the rows of the holdout are", held, holdout, error)
               : FPLT_OK;
}

fplt_status fplt__questions_judge_cost(const fplt_settings *site, uint64_t rows,
                                       fplt__site_memory *memory, fplt__asked *asked,
                                       fplt_error *error)
{
    const double rounding = 1e-9;
    fplt__question_cost cost;
    fplt_status status =
        fplt__site_memory_price(memory, asked->data_set, &asked->question, &cost, error);
    if (status)
        return status;
    double share = fplt__rule_value(site, FPLT__RULE_QUESTIONS),
           most = share * (double)rows * (double)cost.columns;
    asked->left = most - cost.spent - cost.added;
    /* One fit alone told at most .75 of rows times columns where the rules on rows hold (docs/disclosure.md). */
    if (asked->left >= -rounding * most || !(cost.added > 0) || !cost.questions)
        return FPLT_OK;
    return fplt_error_set(
        error, FPLT_FAILED,
        "disclosure: the questions to this data set cost %.0f so far and this one "
        "%.0f, but all together at most %.0f (%g of %llu rows times %llu "
        "columns)",
        cost.spent, cost.added, most, share, (unsigned long long)rows,
        (unsigned long long)cost.columns);
}

fplt_status fplt__questions_judge(const fplt_settings *site, const fplt__local_data *data,
                                  fplt__site_memory *memory, const fplt__pooled *pooled,
                                  fplt__asked *asked, fplt_error *error)
{
    fplt_status status;
    if (!asked->data_set)
        return FPLT_OK;
    if ((status = judge_rows(site, data, pooled, &asked->question, error)))
        return status;
    uint64_t own = fplt__local_data_records(data) + fplt__local_data_held_out(data),
             rows = pooled ? pooled->records : own;
    if (pooled && pooled->records)
        asked->question.share = (double)own / (double)pooled->records;
    return fplt__questions_judge_cost(site, rows, memory, asked, error);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static fplt_status refuse_roster(const fplt__proposal *proposal, size_t members, double least,
                                 fplt_error *error)
{
    static const char excuse[] = "(`policy: {exclusion: allow}` excuses members that left)";
    if (proposal->secure)
        return fplt_error_set(error, FPLT_FAILED,
                              "disclosure: the roster differs by %zu from one that was answered "
                              "for, but must be the same or differ by at least %.0f %s",
                              members, least, excuse);
    return fplt_error_set(error, FPLT_FAILED,
                          "disclosure: %zu of a roster that was answered for under secure "
                          "aggregation are missing, and without it the coordinator sees each "
                          "update: the earlier sum less these is what the missing sent; take "
                          "aggregate: secure with the same roster %s",
                          members, excuse);
}

/* The names of a roster, sorted and separated by blanks; to be cleared. */
static fplt_status sort_roster(const fplt__proposal *proposal, fplt__buffer *names,
                               fplt_error *error)
{
    char(*sorted)[FPLT__NAME];
    fplt_status status =
        fplt__alloc_into(&sorted, proposal->members, sizeof *sorted, "the roster", error);
    if (status)
        return status;
    memcpy(sorted, proposal->roster, proposal->members * sizeof *sorted);
    qsort(sorted, proposal->members, sizeof *sorted, by_name);
    for (uint32_t i = 0; i < proposal->members; i++)
        fplt__buffer_format(names, "%s%s", i ? " " : "", sorted[i]);
    fplt__free(sorted);
    return names->status ? fplt_error_set(error, names->status, "no memory for the roster")
                         : FPLT_OK;
}

fplt_status fplt__questions_judge_roster(const fplt_settings *site, const fplt__proposal *proposal,
                                         fplt__site_memory *memory, fplt_error *error)
{
    double least = fplt__rule_value(site, FPLT__RULE_ROSTER);
    fplt__buffer names = {NULL, 0, 0, FPLT_OK};
    size_t members;
    if (!(least > 0) || fplt__policy_is_private(site, proposal) ||
        fplt__custom_cost_is_off(site, proposal))
        return FPLT_OK;
    fplt_status status = sort_roster(proposal, &names, error);
    if (!status)
        status = fplt__site_memory_roster_differs(memory, proposal->federation, names.text,
                                                  fplt__policy_allows_exclusion(site),
                                                  !proposal->secure, &members, error);
    if (!status && members && (double)members < least)
        status = refuse_roster(proposal, members, least, error);
    if (!status && proposal->secure)
        status = fplt__site_memory_add_roster(memory, proposal->federation, names.text, error);
    fplt__buffer_clear(&names);
    return status;
}

/* Sets of rows */

/* A withdrawal that the site approved excuses one set of rows. */
static fplt_status is_excused(fplt__site_memory *memory, int *excused, fplt_error *error)
{
    int64_t approved;
    int used;
    fplt_status status = fplt__site_memory_withdrawal(memory, &approved, &used, error);
    *excused = !status && approved && !used;
    return status;
}

fplt_status fplt__questions_compare(const fplt_settings *site, const fplt__row_sets *sets,
                                    fplt__site_memory *memory, fplt__asked *asked,
                                    fplt_error *error)
{
    const fplt__row_set *both[] = {&sets->used, &sets->held};
    size_t least = (size_t)fplt__rule_value(site, FPLT__RULE_DIFFERENCING), rows;
    fplt_status status = FPLT_OK;
    if (!asked->data_set)
        return FPLT_OK;
    for (size_t i = 0; i < 2 && !status; i++) {
        if (!both[i]->count ||
            (status = fplt__site_memory_differs(memory, asked->data_set, both[i], &rows, error)) ||
            !rows || rows >= least)
            continue;
        if ((status = is_excused(memory, &asked->is_withdrawal, error)) || asked->is_withdrawal)
            continue;
        status = fplt_error_set(
            error, FPLT_FAILED,
            "disclosure: the rows %s differ by %zu from rows that were answered for, and the "
            "difference of two answers would tell about these; they must be the same or differ by "
            "at least %zu (`fedplt agent approve-withdrawal` allows rows to be taken out)",
            i                         ? "held out"
            : asked->question.numbers ? "to count"
                                      : "to train on",
            rows, least);
    }
    return status;
}

fplt_status fplt__questions_charge(const fplt__row_sets *sets, fplt__site_memory *memory,
                                   const fplt__asked *asked, fplt_error *error)
{
    if (!asked->data_set)
        return FPLT_OK;
    fplt_status status = fplt__site_memory_charge(memory, asked->data_set, &asked->question,
                                                  &sets->used, &sets->held, error);
    return status || !asked->is_withdrawal ? status
                                           : fplt__site_memory_use_withdrawal(memory, error);
}

/* Hessians */

double fplt__questions_hessian(uint64_t parameters)
{
    return (double)parameters * ((double)parameters + 1) / 2;
}

fplt_status fplt__questions_charge_hessians(fplt__site_memory *memory, fplt__asked *asked,
                                            unsigned hessians, fplt_error *error)
{
    double numbers = hessians * fplt__questions_hessian(asked->question.parameters);
    if (!asked->data_set)
        return FPLT_OK;
    if (numbers > asked->left)
        return fplt_error_set(
            error, FPLT_FAILED,
            "disclosure: the questions to this data set leave no more Hessians of "
            "%llu parameters",
            (unsigned long long)asked->question.parameters);
    fplt_status status =
        fplt__site_memory_add_hessians(memory, asked->data_set, &asked->question, hessians, error);
    if (!status)
        asked->left -= numbers;
    return status;
}
