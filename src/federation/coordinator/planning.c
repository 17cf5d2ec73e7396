/* From the facts of the members to a plan. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/sum.h"
#include "data/constant.h"
#include "federation/plan/analysis.h"
#include "federation/plan/columns.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/run_design.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/privacy_plan.h"

static void join_ranges(fplt__coordinator *c, const double *ranges)
{
    for (size_t j = 0; j < c->facts.form.features; j++) {
        c->facts.ranges[2 * j] = fmin(c->facts.ranges[2 * j], ranges[2 * j]);
        c->facts.ranges[2 * j + 1] = fmax(c->facts.ranges[2 * j + 1], ranges[2 * j + 1]);
    }
}

/* What a member says that its names take; 0: that cannot be. */
static size_t length_of_names(const fplt__coordinator *c, uint32_t i)
{
    double length = c->facts.scalars[(size_t)i * FPLT__FORM_ANSWERS + FPLT__FORM_SCALARS];
    return length >= 1 && length <= FPLT__DICTIONARY_MAX_TEXT && length == floor(length)
               ? (size_t)length
               : 0;
}

/* NULL where they cannot be read: that is said when all have come. */
static void remember_names(fplt__coordinator *c, uint32_t i, const double *numbers)
{
    size_t length = length_of_names(c, i);
    FPLT__ASSERT(i < c->members && length > 0); /* others are refused before they are asked */
    fplt__free(c->facts.names[i]);
    c->facts.names[i] = NULL;
    if (fplt__alloc_into(&c->facts.names[i], length + 1, 1, "names", NULL))
        return;
    if (fplt__dictionary_unpack(numbers, length, c->facts.names[i], NULL)) {
        fplt__free(c->facts.names[i]);
        c->facts.names[i] = NULL;
    }
}

/* A member may say the same twice. */
void fplt__coordinator_remember(fplt__coordinator *c, const fplt__leader_action *action)
{
    uint32_t i = action->member_index;
    FPLT__ASSERT(i < c->members);
    FPLT__ASSERT(action->step >= 0 && action->step < FPLT__FACTS_STEPS);
    if (action->step == FPLT__FACTS_FORM)
        memcpy(c->facts.scalars + (size_t)i * FPLT__FORM_ANSWERS, action->scalars,
               FPLT__FORM_ANSWERS * sizeof(double));
    else if (action->step == FPLT__FACTS_NAMES)
        remember_names(c, i, action->scalars);
    else if (action->step == FPLT__FACTS_COLUMNS)
        c->facts.scalars[(size_t)i * FPLT__FORM_ANSWERS + 1] = action->scalars[0];
    else if (action->step == FPLT__FACTS_CURVATURE)
        c->facts.curvature[i] =
            (fplt_curvature_bounds){{action->scalars[0], action->scalars[1]}, action->scalars[2]};
    else if (action->step == FPLT__FACTS_RANGES)
        join_ranges(c, action->scalars);
    else if (action->step >= FPLT__FACTS_SPANS && action->step <= FPLT__FACTS_PREPARED)
        fplt__coordinator_remember_preparation(c, action);
    else if (action->step == FPLT__FACTS_ANALYSIS)
        fplt__coordinator_remember_analysis(c, action);
    else if (action->step == FPLT__FACTS_FOLDS)
        fplt__coordinator_remember_folds(c, action);
    else if (action->step >= FPLT__FACTS_POLYS)
        fplt__coordinator_remember_polys(c, action);
    else if (!c->facts.counted[i] &&
             !fplt__sum_add_words(c->facts.sum, 0, action->words, c->facts.form.features))
        c->facts.counted[i] = 1;
}

void fplt__coordinator_forget(fplt__coordinator *c)
{
    fplt__free(c->facts.ranges);
    fplt__free(c->facts.unit);
    fplt__free(c->facts.mean);
    fplt__free(c->facts.scale);
    fplt__free(c->facts.down);
    fplt__sum_destroy(c->facts.sum);
    c->facts.ranges = c->facts.unit = c->facts.mean = c->facts.scale = c->facts.down = NULL;
    c->facts.sum = NULL;
}

/* Room for what is known of the columns. */
static fplt_status make_room(fplt__coordinator *c, fplt_error *error)
{
    size_t features = c->facts.form.features;
    fplt_status status;
    fplt__coordinator_forget(c);
    if ((status =
             fplt__alloc_into(&c->facts.ranges, 2 * features, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&c->facts.unit, features, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&c->facts.mean, features, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&c->facts.scale, features, sizeof(double), "facts", error)) ||
        (status =
             fplt__alloc_into(&c->facts.down, 2 * features + 2, sizeof(double), "facts", error)))
        return status;
    for (size_t j = 0; j < features; j++)
        c->facts.ranges[2 * j] = INFINITY, c->facts.ranges[2 * j + 1] = -INFINITY;
    return fplt__sum_create(features, FPLT_SUM_EXPONENT, &c->facts.sum, error);
}

static void refuse(fplt__coordinator *c, const char *sentence)
{
    fplt__leader_event event = {.kind = FPLT__LEADER_REFUSE, .sentence = sentence};
    fplt__coordinator_handle(c, &event);
}

/* Whether a member keeps its Hessians. */
static void note_withheld(fplt__coordinator *c)
{
    for (uint32_t i = 0; i < c->members; i++)
        c->facts.form.withheld |= fplt__leader_member(c->leader, i).hessian != FPLT__HESSIAN_YES;
}

/* All members must have labels of one kind; with a schema the same features and classes, too. */
static fplt_status agree_on_form(fplt__coordinator *c, fplt_error *error)
{
    fplt__form form;
    fplt_status status = fplt__form_read(c->facts.scalars, &c->facts.form, error);
    for (uint32_t i = 1; !status && i < c->members; i++) {
        status = fplt__form_read(c->facts.scalars + (size_t)i * FPLT__FORM_ANSWERS, &form, error);
        c->facts.form.dense &= !status && form.dense;
        if (!status && c->proposal.schema &&
            (form.task != c->facts.form.task || form.features != c->facts.form.features ||
             form.outputs != c->facts.form.outputs))
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "%s has %zu features and %u classes, but %s has %zu and %u, or "
                                    "their labels are of another kind",
                                    c->roster[0], c->facts.form.features, c->facts.form.outputs,
                                    c->roster[i], form.features, form.outputs);
    }
    if (!status)
        note_withheld(c);
    return status;
}

/* The form that the dictionary of the run gives; of labels that are numbers the first member's task. */
static void take_dictionary(fplt__coordinator *c, const fplt__dictionary *dictionary)
{
    c->facts.form.features = fplt__columns_count(dictionary);
    c->facts.form.outputs = 1;
    if (dictionary->label.kind == FPLT__DICTIONARY_CATEGORY) {
        c->facts.form.outputs = (uint32_t)dictionary->label.levels;
        c->facts.form.task = dictionary->label.levels == 2 ? FPLT_TASK_BINARY : FPLT_TASK_CLASSES;
    } else if (c->facts.form.task != FPLT_TASK_SURVIVAL) {
        c->facts.form.task = FPLT_TASK_REGRESSION;
    }
}

/* The features are then the columns that the formula makes of the dictionary's. */
static fplt_status take_formula(fplt__coordinator *c, const fplt__dictionary *dictionary,
                                fplt_error *error)
{
    fplt_settings *settings;
    fplt__names columns = {0, NULL};
    fplt_design *design = NULL;
    fplt_status status = fplt__plan_resolution_settings(&c->proposal, 0, &settings, error);
    if (status)
        return status;
    if (fplt__run_formula(settings) && dictionary->drops_first)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "formula: it chooses the first level of categories itself; leave "
                                "drop-first-level out");
    if (!status)
        status = fplt__columns_features(dictionary, &columns, error);
    if (!status)
        status = fplt__run_design_make(settings, NULL, &columns, dictionary->label.name, NULL,
                                       &design, error);
    if (design)
        c->facts.form.features = fplt__design_names(design)->count;
    fplt__design_destroy(design);
    fplt__names_clear(&columns);
    fplt_settings_destroy(settings);
    return status;
}

static fplt_status read_names(const fplt__coordinator *c, fplt__dictionary *own, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < c->members && !status; i++) {
        status = c->facts.names[i] ? fplt__columns_read(c->facts.names[i], &own[i], error)
                                   : fplt_error_set(error, FPLT_BAD_DATA, "they cannot be read");
        if (status)
            fplt_error_prefix(error, "%s", c->roster[i]);
    }
    return status;
}

/* From what all files have to the dictionary of the run. */
static fplt_status settle_columns(fplt__coordinator *c, fplt_error *error)
{
    fplt__dictionary declared = {.is_whole = 0}, common = {.is_whole = 0}, *own;
    fplt_status status = fplt__alloc_into(&own, c->members, sizeof *own, "names", error);
    if (status)
        return status;
    fplt__free(c->facts.dictionary);
    c->facts.dictionary = NULL;
    if (!(status = read_names(c, own, error)) &&
        !(status = fplt__columns_read(c->proposal.dictionary, &declared, error)) &&
        !(status = fplt__columns_settle(&declared, own, c->members, &common, error)) &&
        !(status = fplt__dictionary_text(&common, &c->facts.dictionary, error))) {
        take_dictionary(c, &common);
        status = take_formula(c, &common, error);
    }
    FPLT__ASSERT(status || c->facts.dictionary);
    for (uint32_t i = 0; i < c->members; i++) {
        fplt__dictionary_clear(&own[i]);
        fplt__free(c->facts.names[i]);
        c->facts.names[i] = NULL;
    }
    fplt__free(own);
    fplt__dictionary_clear(&declared);
    fplt__dictionary_clear(&common);
    return status;
}

static uint64_t count_records(fplt__coordinator *c)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < c->members; i++) {
        c->facts.records[i] = fplt__leader_member(c->leader, i).row->records;
        total += c->facts.records[i];
    }
    return total;
}

/* The identities that came with the consents, 32 bytes each; to be released. NULL where nothing is to be masked. */
static fplt_status gather_identities(const fplt__coordinator *c, uint8_t **identities,
                                     fplt_error *error)
{
    *identities = NULL;
    if (!c->proposal.secure)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(identities, c->members, 32, "identities", error);
    for (uint32_t i = 0; !status && i < c->members; i++) {
        const uint8_t *identity = fplt__leader_member(c->leader, i).identity;
        if (identity)
            memcpy(*identities + 32 * (size_t)i, identity, 32);
        else
            status = fplt_error_set(error, FPLT_FAILED,
                                    "%s agreed to secure aggregation without an identity: its "
                                    "program is an older one; install the same release there",
                                    c->roster[i]);
    }
    return status;
}

static fplt_status plan(fplt__coordinator *c, fplt_error *error)
{
    uint8_t *identities;
    fplt__agreement *agreement;
    fplt__gathered gathered = {
        .form = c->facts.form,
        .records = c->facts.records,
        .bend = c->facts.curvature,
        .scale = c->facts.scale,
        .mean = c->facts.mean,
        .fill = c->facts.preparing.wanted.fills ? c->facts.preparing.fill : NULL,
        .fills = c->facts.preparing.wanted.fills,
        .class_rows = c->facts.preparing.wanted.classes ? c->facts.preparing.class_rows : NULL,
        .dictionary = c->facts.dictionary,
        .formula_numbers = c->facts.formula_numbers};
    fplt__leader_plan made;
    char *text = NULL;
    FPLT__ASSERT(!c->facts.scale == !c->facts.mean);
    FPLT__ASSERT(!c->facts.dictionary || !c->proposal.schema);
    fplt_status status = fplt__alloc_into(&agreement, 1, sizeof *agreement, "a plan", error);
    if (status)
        return status;
    status = gather_identities(c, &identities, error);
    gathered.identities = identities;
    if (!status)
        status = fplt__plan_resolution_agree(&c->proposal, &gathered, agreement, error);
    fplt__free(identities);
    if (status || (status = fplt__coordinator_state_start(c, agreement, error)) ||
        (status = fplt__agreement_text(agreement, &text, error))) {
        fplt__agreement_clear(agreement);
        fplt__free(agreement);
        return status;
    }
    if (!(status = fplt__plan_resolution_lead(agreement, c->start.vector, &made, error))) {
        FPLT__ASSERT(made.agreement->proposal.members == c->members);
        FPLT__ASSERT((c->start.vector == NULL) == (fplt__is_zero(&made.agreement->start) != 0));
        fplt__coordinator_set_closing(c, made.agreement);
        fplt__leader_event event = {.kind = FPLT__LEADER_PLAN,
                                    .document = text,
                                    .document_size = strlen(text),
                                    .plan = &made};
        fplt__coordinator_handle(c, &event);
    }
    fplt__free(text);
    return status;
}

/* Columns are added up in units of a power of two about as large as they are. */
static void ask_sums(fplt__coordinator *c)
{
    size_t features = c->facts.form.features;
    FPLT__ASSERT(c->facts.ranges && c->facts.unit && c->facts.sum);
    for (size_t j = 0; j < features; j++) {
        double largest = fmax(fabs(c->facts.ranges[2 * j]), fabs(c->facts.ranges[2 * j + 1]));
        c->facts.unit[j] = largest > 0 ? ldexp(1, ilogb(largest)) : 1;
    }
    memset(c->facts.counted, 0, c->members);
    fplt__sum_clear(c->facts.sum);
    fplt__coordinator_ask(c, FPLT__FACTS_SUMS, c->facts.unit, features, 0, features);
}

static int is_constant(const fplt__coordinator *c, size_t column)
{
    return fplt__is_constant(c->facts.ranges[2 * column], c->facts.ranges[2 * column + 1]);
}

static fplt_status take_sums(fplt__coordinator *c, fplt_error *error)
{
    double rows = (double)count_records(c);
    for (uint32_t i = 0; i < c->members; i++)
        if (!c->facts.counted[i])
            return fplt_error_set(error, FPLT_BAD_DATA, "the sums of %s are out of range",
                                  c->roster[i]);
    FPLT__ASSERT(c->facts.mean && c->facts.ranges && c->facts.unit);
    fplt__sum_read(c->facts.sum, 0, c->facts.mean, c->facts.form.features);
    for (size_t j = 0; j < c->facts.form.features; j++)
        c->facts.mean[j] = is_constant(c, j) ? c->facts.ranges[2 * j]
                                             : c->facts.unit[j] * (c->facts.mean[j] / rows);
    return FPLT_OK;
}

static void ask_squares(fplt__coordinator *c)
{
    size_t features = c->facts.form.features;
    memcpy(c->facts.down, c->facts.unit, features * sizeof *c->facts.down);
    memcpy(c->facts.down + features, c->facts.mean, features * sizeof *c->facts.down);
    memset(c->facts.counted, 0, c->members);
    fplt__sum_clear(c->facts.sum);
    fplt__coordinator_ask(c, FPLT__FACTS_SQUARES, c->facts.down, 2 * features, 0, features);
}

static fplt_status take_squares(fplt__coordinator *c, int centred, fplt_error *error)
{
    double rows = (double)count_records(c);
    FPLT__ASSERT(c->facts.scale && c->facts.mean && c->facts.unit);
    fplt__sum_read(c->facts.sum, 0, c->facts.scale, c->facts.form.features);
    for (size_t j = 0; j < c->facts.form.features; j++) {
        c->facts.scale[j] =
            is_constant(c, j) ? 1 : c->facts.unit[j] * sqrt(c->facts.scale[j] / rows);
        if (!(c->facts.scale[j] >= DBL_MIN && isfinite(c->facts.scale[j])))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "feature %zu has deviation %g: it cannot be standardised", j,
                                  c->facts.scale[j]);
        c->facts.mean[j] = centred ? c->facts.mean[j] : 0;
    }
    return FPLT_OK;
}

/* Members and records of all, and where there are any means and scales. */
static void ask_bend(fplt__coordinator *c)
{
    double none[2] = {c->members, (double)count_records(c)};
    size_t features = c->facts.form.features;
    if (c->facts.scale) {
        memcpy(c->facts.down, none, sizeof none);
        memcpy(c->facts.down + 2, c->facts.mean, features * sizeof *c->facts.down);
        memcpy(c->facts.down + 2 + features, c->facts.scale, features * sizeof *c->facts.down);
    }
    fplt__coordinator_ask(c, FPLT__FACTS_CURVATURE, c->facts.scale ? c->facts.down : none,
                          c->facts.scale ? 2 * features + 2 : 2, FPLT__CURVATURE_SCALARS, 0);
}

/* Standardised by what the data are like: a sparse data set keeps its zeros. */
static fplt_status plan_fit(const fplt__coordinator *c, int *fits, int *centred, fplt_error *error)
{
    fplt_settings *settings;
    fplt_status status = fplt__plan_resolution_settings(&c->proposal, 0, &settings, error);
    if (status)
        return status;
    const char *word = fplt_settings_text(settings, "standardise");
    *fits = fplt__plan_resolution_fits(settings);
    *centred = strcmp(word, "yes") == 0 || (strcmp(word, "auto") == 0 && c->facts.form.dense);
    fplt_settings_destroy(settings);
    if (*centred && !c->facts.form.dense)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "standardise yes would fill the zeros of a sparse data set; use "
                              "standardise scale, which does not subtract the mean");
    return FPLT_OK;
}

/* What is in the columns of the run, or of its formula. */
static fplt_status ask_moments(fplt__coordinator *c, fplt_error *error)
{
    int fits, centred;
    fplt_status status;
    if ((status = plan_fit(c, &fits, &centred, error)))
        return status;
    if (!fits) {
        ask_bend(c);
        return FPLT_OK;
    }
    if (!(status = make_room(c, error)))
        fplt__coordinator_ask(c, FPLT__FACTS_RANGES, NULL, 0,
                              (uint32_t)(2 * c->facts.form.features), 0);
    return status;
}

/* All sites have the same columns: now the polynomials of them, where a formula has any, and what is in all. */
static fplt_status ask_contents(fplt__coordinator *c, fplt_error *error)
{
    int asked;
    fplt_status status = fplt__coordinator_ask_polys(c, &asked, error);
    return status || asked ? status : ask_moments(c, error);
}

/* All sites have the same columns: first what is missing in them. */
static fplt_status begin_columns(fplt__coordinator *c, fplt_error *error)
{
    int prepares;
    for (uint32_t i = 0; i < c->members; i++)
        if (c->facts.scalars[(size_t)i * FPLT__FORM_ANSWERS + 1] != (double)c->facts.form.features)
            return fplt_error_set(error, FPLT_BAD_DATA, "%s has another number of features",
                                  c->roster[i]);
    fplt_status status = fplt__coordinator_begin_preparing(c, &prepares, error);
    return status || prepares ? status : ask_contents(c, error);
}

/* All say as many numbers as the longest needs. */
static fplt_status ask_names(fplt__coordinator *c, fplt_error *error)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < c->members; i++) {
        size_t length = length_of_names(c, i);
        if (!length)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "%s does not say what its columns are called", c->roster[i]);
        longest = length > longest ? length : longest;
    }
    double numbers = (double)fplt__dictionary_numbers(longest);
    fplt__coordinator_ask(c, FPLT__FACTS_NAMES, &numbers, 1, (uint32_t)numbers, 0);
    return FPLT_OK;
}

static fplt_status take_form(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status = agree_on_form(c, error);
    if (status)
        return status;
    return c->proposal.schema ? begin_columns(c, error) : ask_names(c, error);
}

static fplt_status take_names(fplt__coordinator *c, fplt_error *error)
{
    double *down;
    fplt_status status = settle_columns(c, error);
    if (status)
        return status;
    size_t length = strlen(c->facts.dictionary), count = fplt__dictionary_numbers(length) + 1;
    if ((status = fplt__alloc_into(&down, count, sizeof *down, "names", error)))
        return status;
    down[0] = (double)length;
    fplt__dictionary_pack(c->facts.dictionary, length, down + 1);
    fplt__coordinator_ask(c, FPLT__FACTS_COLUMNS, down, count, FPLT__COLUMNS_SCALARS, 0);
    fplt__free(down);
    return FPLT_OK;
}

/* All is known of the rows: a plan, or first how a validation divides them. */
static fplt_status end_facts(fplt__coordinator *c, fplt_error *error)
{
    int asked;
    fplt__coordinator_ask_folds(c, &asked);
    return asked ? FPLT_OK : plan(c, error);
}

static fplt_status begin_facts(fplt__coordinator *c, fplt_error *error)
{
    fplt_schema *schema;
    if (fplt__is_analysis(&c->proposal))
        return fplt__coordinator_begin_analysis(c, error);
    if (fplt__is_custom(
            &c->proposal)) { /* its form stands in the proposal: without privacy only how costs curve is asked for */
        c->facts.form = fplt__custom_form(&c->proposal);
        if (c->proposal.privacies)
            return plan(c, error);
        note_withheld(c);
        ask_bend(c);
        return FPLT_OK;
    }
    if (!c->proposal.privacies) {
        fplt__coordinator_ask(c, FPLT__FACTS_FORM, NULL, 0, FPLT__FORM_ANSWERS, 0);
        return FPLT_OK;
    }
    fplt_status status = fplt__proposal_schema(&c->proposal, &schema, error);
    if (status)
        return status;
    status = fplt__proposal_form(&c->proposal, schema, &c->facts.form, error);
    fplt_schema_destroy(schema);
    return status ? status : plan(c, error);
}

void fplt__coordinator_resolve(fplt__coordinator *c, int step)
{
    fplt_error error = {FPLT_OK, ""};
    fplt_status status = FPLT_OK;
    int fits, centred;
    count_records(c);
    switch (step) {
    case FPLT__FACTS_FORM: status = take_form(c, &error); break;
    case FPLT__FACTS_NAMES: status = take_names(c, &error); break;
    case FPLT__FACTS_COLUMNS: status = begin_columns(c, &error); break;
    case FPLT__FACTS_SPANS:
    case FPLT__FACTS_COUNTS:
    case FPLT__FACTS_CELLS: status = fplt__coordinator_go_on_preparing(c, step, &error); break;
    case FPLT__FACTS_PREPARED: status = ask_contents(c, &error); break;
    case FPLT__FACTS_POLYS_KNOWN: status = ask_moments(c, &error); break;
    case FPLT__FACTS_RANGES: ask_sums(c); break;
    case FPLT__FACTS_SUMS:
        if (!(status = take_sums(c, &error)))
            ask_squares(c);
        break;
    case FPLT__FACTS_SQUARES:
        if (!(status = plan_fit(c, &fits, &centred, &error)) &&
            !(status = take_squares(c, centred, &error)))
            ask_bend(c);
        break;
    case FPLT__FACTS_CURVATURE: status = end_facts(c, &error); break;
    case FPLT__FACTS_FOLDS: status = fplt__coordinator_deal_folds(c, &error); break;
    case FPLT__FACTS_ANALYSIS: status = fplt__coordinator_end_analysis(c, &error); break;
    default:
        status = step >= FPLT__FACTS_POLYS ? fplt__coordinator_take_polys(c, (unsigned)step, &error)
                                           : begin_facts(c, &error);
    }
    if (status)
        refuse(c, error.text);
}
