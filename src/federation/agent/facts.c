/* Facts about the data that a plan without privacy needs: the answers to GATHER. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/sum.h"
#include "data/constant.h"
#include "data/dataset.h"
#include "data/poly.h"
#include "federation/agent/consent.h"
#include "federation/agent/rules.h"
#include "federation/plan/columns.h"
#include "federation/plan/run_design.h"

/* Counts in facts are doubles: those that are exact. */
static const double MAX_RECORDS = 9007199254740992.0;

/* An answer on its way. */
struct facts {
    double *scalars;
    uint32_t count;
    uint64_t *words;
    uint64_t numbers;
};

/* Outwards to a power of two; 0 stays. */
static double round_outwards(double x, int upwards)
{
    int exponent, away = upwards == (x > 0);
    double part = frexp(fabs(x), &exponent);
    if (x == 0 || !isfinite(x))
        return x;
    return copysign(ldexp(1, exponent - (part == 0.5 || !away)), x);
}

/* The least and greatest value of a column are single records; that all rows have one value is not. */
static fplt_status gather_ranges(const fplt_settings *site, const fplt_dataset *rows,
                                 struct facts *facts, fplt_error *error)
{
    size_t features = fplt_dataset_features(rows);
    fplt_status status =
        fplt__alloc_into(&facts->scalars, 2 * features, sizeof(double), "facts", error);
    facts->count = (uint32_t)(2 * features);
    if (status || (status = fplt__dataset_ranges(rows, facts->scalars, error)))
        return status;
    for (size_t j = 0; j < features; j++)
        if (!(facts->scalars[2 * j] <= facts->scalars[2 * j + 1])) /* all are missing */
            facts->scalars[2 * j] = facts->scalars[2 * j + 1] = 0;
    if (!(fplt__rule_value(site, FPLT__RULE_RANGES) > 0))
        return FPLT_OK;
    for (size_t j = 0; j < features; j++) {
        double *range = facts->scalars + 2 * j;
        if (!fplt__is_constant(range[0], range[1])) {
            range[0] = round_outwards(range[0], 0);
            range[1] = round_outwards(range[1], 1);
        }
    }
    return FPLT_OK;
}

static fplt_status asked_wrongly(fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_DATA, "the coordinator asks for facts wrongly");
}

static fplt_status gather_moments(const fplt_dataset *rows, const fplt__site_action *action,
                                  struct facts *facts, fplt_error *error)
{
    size_t features = fplt_dataset_features(rows);
    int squares = action->step == FPLT__FACTS_SQUARES;
    if (action->count != (squares ? 2 : 1) * features)
        return asked_wrongly(error);
    for (size_t j = 0; j < features; j++)
        if (!(action->down[j] > 0 && isfinite(action->down[j])))
            return asked_wrongly(error);
    fplt_status status =
        fplt__alloc_into(&facts->words, 2 * features, sizeof(uint64_t), "facts", error);
    facts->numbers = features;
    return status
               ? status
               : fplt__dataset_moments(rows, action->down, squares ? action->down + features : NULL,
                                       facts->words, error);
}

/* Members, records, and where columns are standardised their means and scales came with it. */
static fplt_status gather_bend(fplt__agent *agent, const fplt__site_action *action,
                               struct facts *facts, fplt_error *error)
{
    size_t features = fplt__local_data_form(agent->material).features;
    if ((action->count != 2 && action->count != 2 * features + 2) ||
        !fplt__is_whole(action->down[0], 1, UINT32_MAX) ||
        !fplt__is_whole(action->down[1], 1, MAX_RECORDS))
        return asked_wrongly(error);
    double *means = action->count > 2 ? (double *)action->down + 2 : NULL;
    fplt__agreement stated = {.shifts = means ? (uint32_t)features : 0,
                              .shift = means,
                              .scale = means ? means + features : NULL};
    fplt_curvature_bounds bend;
    fplt_status status;
    if ((status = fplt__alloc_into(&facts->scalars, FPLT__CURVATURE_SCALARS, sizeof(double),
                                   "facts", error)) ||
        (status = fplt__local_data_shape(agent->material, &stated, (uint32_t)action->down[0],
                                         (uint64_t)action->down[1], error)) ||
        (status = fplt__local_data_curvature_bounds(agent->material, &bend, error)))
        return status;
    facts->count = FPLT__CURVATURE_SCALARS;
    facts->scalars[0] = bend.everywhere.lowest;
    facts->scalars[1] = bend.everywhere.highest;
    /* numbers of a frame are finite; where nothing was computed at a point, the bound has the effect of a NaN */
    facts->scalars[2] = isnan(bend.near_lowest) ? bend.everywhere.lowest : bend.near_lowest;
    facts->scalars[3] = (double)fplt__local_data_dimension(agent->material);
    return FPLT_OK;
}

/* What the rows look like, and how long the text is that names their columns. */
static fplt_status gather_form(const fplt__agent *agent, struct facts *facts, fplt_error *error)
{
    fplt__form form = fplt__local_data_form(agent->material);
    char *names;
    fplt_status status = fplt__local_data_names(agent->material, &names, error);
    if (!status)
        status =
            fplt__alloc_into(&facts->scalars, FPLT__FORM_ANSWERS, sizeof(double), "facts", error);
    if (!status) {
        fplt__form_scalars(&form, facts->scalars);
        facts->scalars[FPLT__FORM_SCALARS] = names ? (double)strlen(names) : 0;
        facts->count = FPLT__FORM_ANSWERS;
    }
    fplt__free(names);
    return status;
}

/* As many numbers as are asked for; the own text may need fewer. */
static fplt_status gather_names(const fplt__agent *agent, const fplt__site_action *action,
                                struct facts *facts, fplt_error *error)
{
    char *names;
    fplt_status status = fplt__local_data_names(agent->material, &names, error);
    size_t length = names ? strlen(names) : 0;
    double asked = action->count == 1 ? action->down[0] : -1;
    if (!status && !(asked >= (double)fplt__dictionary_numbers(length) && asked == floor(asked) &&
                     asked <= (double)fplt__dictionary_numbers(FPLT__DICTIONARY_MAX_TEXT)))
        status = asked_wrongly(error);
    if (!status)
        status = fplt__alloc_into(&facts->scalars, (size_t)asked, sizeof(double), "facts", error);
    if (!status) {
        fplt__dictionary_pack(names, length, facts->scalars);
        facts->count = (uint32_t)asked;
    }
    fplt__free(names);
    return status;
}

/* The columns of the run came with the question. */
static fplt_status gather_columns(fplt__agent *agent, const fplt__site_action *action,
                                  struct facts *facts, fplt_error *error)
{
    double length = action->count ? action->down[0] : 0;
    char *text;
    if (!(length >= 1 && length <= FPLT__DICTIONARY_MAX_TEXT && length == floor(length)) ||
        action->count != fplt__dictionary_numbers((size_t)length) + 1)
        return asked_wrongly(error);
    fplt_status status = fplt__alloc_into(&text, (size_t)length + 1, 1, "names", error);
    if (status)
        return status;
    if (!(status = fplt__dictionary_unpack(action->down + 1, (size_t)length, text, error)) &&
        !(status = fplt__local_data_settle(agent->material, text, agent->abroad, error)) &&
        !(status = fplt__agent_judge_cells(agent, error)))
        status =
            fplt__kept_save(agent->folder, FPLT__KEPT_COLUMNS, &agent->material_of, text, error);
    fplt__free(text);
    if (status || (status = fplt__alloc_into(&facts->scalars, FPLT__COLUMNS_SCALARS, sizeof(double),
                                             "facts", error)))
        return status;
    facts->count = FPLT__COLUMNS_SCALARS;
    facts->scalars[0] = (double)fplt__local_data_form(agent->material).features;
    return FPLT_OK;
}

/* What fills missing values, or how many rows the classes have, came with the question. */
static fplt_status gather_prepared(fplt__agent *agent, const fplt__site_action *action,
                                   struct facts *facts, fplt_error *error)
{
    fplt_status status = fplt__agent_prepare(agent, action, error);
    if (status || (status = fplt__alloc_into(&facts->scalars, FPLT__COLUMNS_SCALARS, sizeof(double),
                                             "facts", error)))
        return status;
    facts->count = FPLT__COLUMNS_SCALARS;
    facts->scalars[0] = (double)fplt__local_data_form(agent->material).features;
    return FPLT_OK;
}

/* What the rows of one column add in a phase of its polynomials; of phase 0 the reach. */
static fplt_status sum_column(const fplt_dataset *rows, size_t input, const double *state,
                              unsigned phase, fplt__sum *sum, size_t at, double *reach)
{
    fplt_status status = FPLT_OK;
    for (size_t r = 0; r < rows->rows && !status; r++) {
        double x = rows->dense[r * rows->features + input], terms[2];
        if (!phase) {
            *reach = fmax(*reach, fplt__poly_reach(x));
            continue;
        }
        fplt__poly_terms(state, phase, x, terms);
        status = fplt__sum_add(sum, at, terms, 2);
    }
    return status;
}

/* A phase of the polynomials of a formula: their state came with the question. A column whose degree is below the phase
 * adds nothing. */
static fplt_status gather_polys(const fplt__local_data *data, const fplt__site_action *action,
                                struct facts *facts, fplt_error *error)
{
    const fplt__run_polys *polys = &fplt__local_data_formula(data)->polys;
    unsigned phase = action->step - FPLT__FACTS_POLYS;
    size_t count = polys->count;
    fplt__sum *sum;
    if (!count || fplt__local_formula_is_expanded(fplt__local_data_formula(data)) ||
        phase >= fplt__run_polys_phases(polys) || action->count != count * FPLT__POLY_STATE)
        return asked_wrongly(error);
    fplt_status status = fplt__sum_create(2 * count, FPLT_SUM_EXPONENT, &sum, error);
    if (status)
        return status;
    if (!(status = fplt__alloc_into(&facts->scalars, count, sizeof(double), "facts", error)))
        status = fplt__alloc_into(&facts->words, 4 * count, sizeof(uint64_t), "facts", error);
    for (size_t v = 0; v < count && !status; v++)
        if (phase < fplt__poly_phases(polys->column[v].degree) &&
            sum_column(fplt__local_data_rows(data), polys->column[v].input,
                       action->down + v * FPLT__POLY_STATE, phase, sum, 2 * v, &facts->scalars[v]))
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "formula: the sums of poly() number %zu are out of range; a "
                                    "smaller degree helps",
                                    v + 1);
    if (!status)
        fplt__sum_export(sum, 0, facts->words, 2 * count);
    fplt__sum_destroy(sum);
    facts->count = phase ? 0 : (uint32_t)count;
    facts->numbers = phase ? 2 * count : 0;
    return status;
}

/* The numbers of the polynomials came with the question: the rows get the columns of the formula. */
static fplt_status gather_expanded(fplt__agent *agent, const fplt__site_action *action,
                                   struct facts *facts, fplt_error *error)
{
    char *text;
    if (action->count != fplt__run_polys_numbers(&fplt__local_data_formula(agent->material)->polys))
        return asked_wrongly(error);
    fplt_status status = fplt__run_numbers_text(action->down, action->count, &text, error);
    if (status)
        return status;
    if (!(status = fplt__local_data_expand(agent->material, text, agent->abroad, error)) &&
        !(status = fplt__agent_judge_cells(agent, error)))
        status = fplt__kept_save(agent->folder, FPLT__KEPT_POLYS, &agent->material_of, text, error);
    fplt__free(text);
    if (status || (status = fplt__alloc_into(&facts->scalars, 1, sizeof(double), "facts", error)))
        return status;
    facts->count = 1;
    facts->scalars[0] = (double)fplt__local_data_form(agent->material).features;
    return FPLT_OK;
}

static fplt_status gather_folds(fplt__agent *agent, const fplt__site_action *action,
                                struct facts *facts, fplt_error *error)
{
    fplt_status status =
        fplt__alloc_into(&facts->scalars, FPLT__FOLDS_SCALARS, sizeof(double), "facts", error);
    fplt__proposal proposal;
    fplt__digest hash;
    facts->count = FPLT__FOLDS_SCALARS;
    if (status || (status = fplt__agent_proposal_of(action, &proposal, &hash, error)))
        return status;
    status = fplt__agent_count_folds(agent, &proposal, action, facts->scalars, error);
    fplt__proposal_clear(&proposal);
    return status;
}

/* Whether a step asks for what is in the columns of the run. */
static int needs_columns(unsigned step)
{
    return step != FPLT__FACTS_FORM && step != FPLT__FACTS_NAMES && step != FPLT__FACTS_COLUMNS;
}

/* Whether a step asks for what is in columns without missing values, of rows with their last weights. */
static int needs_preparation(unsigned step)
{
    return step == FPLT__FACTS_RANGES || step == FPLT__FACTS_SUMS || step == FPLT__FACTS_SQUARES ||
           step == FPLT__FACTS_CURVATURE || step >= FPLT__FACTS_POLYS;
}

/* And for what is in those that its formula makes of them. */
static int needs_formula(unsigned step)
{
    return needs_preparation(step) && step < FPLT__FACTS_POLYS;
}

static fplt_status settle_as_before(fplt__agent *agent, unsigned step, fplt_error *error)
{
    char *dictionary;
    if (!needs_columns(step) || fplt__local_data_is_settled(agent->material))
        return FPLT_OK;
    fplt_status status =
        fplt__kept_load(agent->folder, FPLT__KEPT_COLUMNS, &agent->material_of, &dictionary, error);
    if (!status && dictionary)
        status = fplt__local_data_settle(agent->material, dictionary, agent->abroad, error);
    fplt__free(dictionary);
    return status;
}

/* The polynomials of a formula, where they were told before. */
static fplt_status expand_as_before(fplt__agent *agent, unsigned step, fplt_error *error)
{
    char *numbers;
    if (!needs_formula(step) || !fplt__local_data_is_settled(agent->material) ||
        fplt__local_formula_is_expanded(fplt__local_data_formula(agent->material)))
        return FPLT_OK;
    fplt_status status =
        fplt__kept_load(agent->folder, FPLT__KEPT_POLYS, &agent->material_of, &numbers, error);
    if (!status && numbers)
        status = fplt__local_data_expand(agent->material, numbers, agent->abroad, error);
    fplt__free(numbers);
    return status;
}

static fplt_status refuse_step(fplt_error *error)
{
    return fplt_error_set(error, FPLT_FAILED,
                          "the coordinator asks for facts that its proposal does not need");
}

/* Consent outlives the process that gave it, the rows do not: after a restart they are read again, and get the columns
 * that the earlier process was told. A coordinator that was restarted begins with the first step, so rows that later
 * steps have changed are read again, too. */
static fplt_status read_data_again(fplt__agent *agent, const fplt__site_action *action,
                                   fplt_error *error)
{
    fplt__proposal proposal;
    fplt__digest hash;
    fplt_status status = fplt__agent_proposal_of(action, &proposal, &hash, error);
    if (status)
        return status;
    if (fplt__is_analysis(&proposal)) { /* of which this agent agreed to the analysis alone */
        fplt__proposal_clear(&proposal);
        return refuse_step(error);
    }
    if (action->step == FPLT__FACTS_FORM && agent->material &&
        fplt__local_data_is_changed(agent->material)) {
        fplt__local_data_destroy(agent->material);
        agent->material = NULL;
    }
    status = fplt__agent_read_data(agent, &proposal, &hash, error);
    fplt__proposal_clear(&proposal);
    if (!status)
        status = settle_as_before(agent, action->step, error);
    if (!status && needs_preparation(action->step))
        status = fplt__agent_prepare_as_before(agent, error);
    if (!status)
        status = expand_as_before(agent, action->step, error);
    if (status || fplt__local_data_records(agent->material) == action->records)
        return status;
    snprintf(agent->abroad, sizeof agent->abroad, "its data were changed since it agreed");
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the data have %llu records now, but this agent agreed to the proposal "
                          "with %llu; put the file back as it was, or start the agent again to "
                          "agree with the new one",
                          (unsigned long long)fplt__local_data_records(agent->material),
                          (unsigned long long)action->records);
}

static fplt_status gather_facts(fplt__agent *agent, const fplt__site_action *action,
                                struct facts *facts, fplt_error *error)
{
    if (action->step == FPLT__FACTS_ANALYSIS)
        return fplt__agent_tell_analysis(agent, action, &facts->words, &facts->numbers, error);
    fplt_status status = read_data_again(agent, action, error);
    if (status)
        return status;
    if (action->step >= FPLT__FACTS_STEPS || !(agent->facts >> action->step & 1))
        return agent->facts ? refuse_step(error)
                            : fplt_error_set(error, FPLT_FAILED,
                                             "the coordinator asks for facts, but its proposal "
                                             "promises privacy");
    if ((needs_columns(action->step) && !fplt__local_data_is_settled(agent->material)) ||
        (needs_formula(action->step) &&
         !fplt__local_formula_is_expanded(fplt__local_data_formula(agent->material))))
        return fplt_error_set(error, FPLT_FAILED,
                              "the coordinator asks what is in columns before it says which the "
                              "run has");
    if (needs_preparation(action->step) && !fplt__local_data_is_prepared(agent->material))
        return fplt_error_set(error, FPLT_FAILED,
                              "the coordinator asks what is in columns before it says what fills "
                              "missing values, or how classes are balanced");
    const fplt_dataset *rows = fplt__local_data_rows(agent->material);
    switch (action->step) {
    case FPLT__FACTS_FOLDS:
        return fplt__agent_hide_reason(agent, gather_folds(agent, action, facts, error));
    case FPLT__FACTS_FORM: return fplt__agent_hide_reason(agent, gather_form(agent, facts, error));
    case FPLT__FACTS_NAMES:
        return fplt__agent_hide_reason(agent, gather_names(agent, action, facts, error));
    case FPLT__FACTS_COLUMNS:
        return fplt__agent_hide_reason(agent, gather_columns(agent, action, facts, error));
    case FPLT__FACTS_PREPARED:
        return fplt__agent_hide_reason(agent, gather_prepared(agent, action, facts, error));
    case FPLT__FACTS_COUNTS:
    case FPLT__FACTS_CELLS:
        return fplt__agent_hide_reason(agent, fplt__agent_count(agent, action, &facts->words,
                                                                &facts->numbers, error));
    case FPLT__FACTS_SPANS:
    case FPLT__FACTS_RANGES:
        return fplt__agent_hide_reason(agent, gather_ranges(agent->settings, rows, facts, error));
    case FPLT__FACTS_SUMS:
    case FPLT__FACTS_SQUARES:
        return fplt__agent_hide_reason(agent, gather_moments(rows, action, facts, error));
    case FPLT__FACTS_CURVATURE:
        return fplt__agent_hide_reason(agent, gather_bend(agent, action, facts, error));
    case FPLT__FACTS_POLYS_KNOWN:
        return fplt__agent_hide_reason(agent, gather_expanded(agent, action, facts, error));
    default: /* those before are of the polynomials */
        return fplt__agent_hide_reason(agent, gather_polys(agent->material, action, facts, error));
    }
}

void fplt__agent_gather(fplt__agent *agent, const fplt__site_action *action)
{
    static const uint64_t no_words[2] = {0, 0};
    struct facts facts = {.scalars = NULL};
    fplt_error error = {FPLT_OK, ""};
    if (gather_facts(agent, action, &facts, &error)) {
        fplt__agent_refuse(agent, error.text);
    } else {
        fplt__site_event event = {.kind = FPLT__SITE_FACTS,
                                  .scalars = facts.scalars,
                                  .scalar_count = facts.count,
                                  .words = facts.words ? facts.words : no_words,
                                  .numbers = facts.numbers};
        fplt__agent_handle(agent, &event);
    }
    fplt__free(facts.scalars);
    fplt__free(facts.words);
}
