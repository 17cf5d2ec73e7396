/* From the settings of federation.yaml to a proposal, and from facts to a plan. */
#include <float.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

#include "fedplt/file.h"
#include "base/assert.h"
#include "base/memory.h"
#include "federation/plan/columns.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/privacy_plan.h"

/* Proposal */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const fplt__pair *)a)->name, ((const fplt__pair *)b)->name);
}

static fplt_status read_pairs(const fplt_settings *settings, const char *section,
                              fplt__pair **pairs, size_t *count, fplt_error *error)
{
    const char *text = fplt_settings_text(settings, section);
    char name[128], value[2048];
    size_t room = 0;
    fplt_status status = FPLT_OK;
    while (!status && text && *text) {
        text = fplt_pairs_next(text, name, sizeof name, value, sizeof value);
        if ((status = fplt__grow(pairs, &room, *count + 1, sizeof **pairs, "settings", error)))
            break;
        fplt__pair *pair = &(*pairs)[(*count)++];
        pair->name = fplt__strdup(name);
        pair->value = fplt__strdup(value);
        if (!pair->name || !pair->value)
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for settings");
    }
    if (*count)
        qsort(*pairs, *count, sizeof **pairs, by_name);
    return status;
}

static fplt_status state_defaults(fplt__proposal *proposal, const fplt_settings *leader,
                                  fplt_error *error)
{
    fplt_status status = fplt__plan_resolution_state_defaults(proposal, leader, error);
    if (proposal->settings)
        qsort(proposal->setting, proposal->settings, sizeof *proposal->setting, by_name);
    if (proposal->privacies)
        qsort(proposal->privacy, proposal->privacies, sizeof *proposal->privacy, by_name);
    return status;
}

static fplt_status read_roster(fplt__coordinator *c, fplt_error *error)
{
    fplt__proposal *proposal = &c->proposal;
    const char *list = fplt_settings_text(c->settings, "roster");
    char name[128];
    size_t room = 0;
    fplt_status status = FPLT_OK;
    while (!status && *list) {
        list = fplt_list_next(list, name, sizeof name);
        if ((status = fplt__name_check("roster:", name, error)) ||
            (status = fplt__grow(&proposal->roster, &room, proposal->members + 1,
                                 sizeof *proposal->roster, "the roster", error)))
            break;
        for (uint32_t i = 0; i < proposal->members; i++)
            if (strcmp(proposal->roster[i], name) == 0)
                return fplt_error_set(error, FPLT_BAD_VALUE, "roster: %s stands there twice", name);
        memcpy(proposal->roster[proposal->members++], name, strlen(name) + 1);
    }
    if (!status && proposal->members < 1)
        status = fplt_error_set(error, FPLT_BAD_VALUE, "roster: nobody is on it");
    return status;
}

static fplt_status read_schema(fplt__coordinator *c, fplt_error *error)
{
    const char *file = fplt_settings_text(c->settings, "schema");
    char path[4200];
    fplt_schema *schema;
    if (!file)
        return FPLT_OK;
    fplt__coordinator_path(c, file, NULL, path, sizeof path);
    fplt_status status = fplt_schema_read(path, &schema, error);
    if (status)
        return status;
    c->proposal.columns = (uint32_t)fplt_schema_features(schema);
    c->proposal.schema = fplt__strdup(fplt_schema_text(schema));
    fplt_schema_destroy(schema);
    return c->proposal.schema ? FPLT_OK
                              : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a proposal");
}

/* What can be refused before anybody is asked: with a schema all but the records is known. */
static fplt_status check_terms(const fplt__proposal *proposal, fplt_error *error)
{
    fplt_settings *settings;
    fplt_schema *schema = NULL;
    fplt__plan_resolution terms;
    fplt_status status = fplt__plan_resolution_settings(proposal, 0, &settings, error);
    if (status)
        return status;
    if (!(status = fplt__plan_resolution_schema(proposal, &schema, error)) && !schema &&
        fplt_promise_wanted(settings))
        status = fplt__privacy_plan_needs_schema(error);
    if (!status && schema) {
        fplt__form form = fplt__schema_form(schema);
        if (!(status = fplt__plan_resolution_of(proposal, &form, &terms, error)))
            fplt__plan_resolution_clear(&terms);
    }
    fplt_schema_destroy(schema);
    fplt_settings_destroy(settings);
    return status;
}

fplt_status fplt__coordinator_propose(fplt__coordinator *c, fplt_error *error)
{
    fplt__proposal *proposal = &c->proposal;
    const char *federation = fplt_settings_text(c->settings, "federation");
    fplt_status status;
    if (strcmp(federation, c->authority.federation) != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "federation: is %s, but the authority in %s is of %s", federation,
                              c->folder, c->authority.federation);
    snprintf(proposal->federation, sizeof proposal->federation, "%s", federation);
    proposal->run = (uint32_t)fplt_settings_integer(c->settings, "run");
    proposal->quorum = fplt_settings_is_auto(c->settings, "quorum")
                           ? 0
                           : (uint32_t)fplt_settings_integer(c->settings, "quorum");
    randombytes_buf(proposal->nonce, sizeof proposal->nonce);
    memcpy(&proposal->authority, c->authority.fingerprint, sizeof proposal->authority);
    if ((status = read_roster(c, error)) ||
        (status =
             read_pairs(c->settings, "train", &proposal->setting, &proposal->settings, error)) ||
        (status =
             read_pairs(c->settings, "privacy", &proposal->privacy, &proposal->privacies, error)))
        return status;
    if (proposal->quorum > proposal->members)
        return fplt_error_set(error, FPLT_BAD_VALUE, "quorum: is %u, but the roster has %u",
                              proposal->quorum, proposal->members);
    if ((status = read_schema(c, error)) ||
        (!proposal->schema &&
         (status = fplt__columns_declare(c->settings, &proposal->dictionary, error))) ||
        (status = fplt__coordinator_read_start(c, error)) ||
        (status = state_defaults(proposal, c->settings, error)))
        return status;
    return check_terms(proposal, error);
}

static int same_pairs(const fplt__pair *a, size_t a_count, const fplt__pair *b, size_t b_count,
                      const char **which)
{
    for (size_t i = 0; i < a_count || i < b_count; i++) {
        *which = i < a_count ? a[i].name : b[i].name;
        if (i >= a_count || i >= b_count || strcmp(a[i].name, b[i].name) != 0 ||
            strcmp(a[i].value, b[i].value) != 0)
            return 0;
    }
    return 1;
}

fplt_status fplt__coordinator_compare(const fplt__coordinator *c, const fplt__proposal *stored,
                                      fplt_error *error)
{
    const fplt__proposal *now = &c->proposal;
    const char *what = NULL;
    if (now->members != stored->members ||
        memcmp(now->roster, stored->roster, now->members * sizeof *now->roster) != 0)
        what = "roster";
    else if (now->quorum != stored->quorum)
        what = "quorum";
    else if (strcmp(now->schema ? now->schema : "", stored->schema ? stored->schema : "") != 0)
        what = "schema";
    else if (strcmp(now->dictionary ? now->dictionary : "",
                    stored->dictionary ? stored->dictionary : "") != 0)
        what = "columns, label, classes, levels or features";
    else if (same_pairs(now->setting, now->settings, stored->setting, stored->settings, &what) &&
             same_pairs(now->privacy, now->privacies, stored->privacy, stored->privacies, &what))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "run %u has begun with another `%s`; put it back as it was, or raise "
                          "`run` for a new one",
                          stored->run, what);
}

/* Facts */

static void join_ranges(fplt__coordinator *c, const double *ranges)
{
    for (size_t j = 0; j < c->form.features; j++) {
        c->ranges[2 * j] = fmin(c->ranges[2 * j], ranges[2 * j]);
        c->ranges[2 * j + 1] = fmax(c->ranges[2 * j + 1], ranges[2 * j + 1]);
    }
}

/* What a member says that its names take; 0: that cannot be. */
static size_t length_of_names(const fplt__coordinator *c, uint32_t i)
{
    double length = c->scalars[(size_t)i * FPLT__FORM_ANSWERS + FPLT__FORM_SCALARS];
    return length >= 1 && length <= FPLT__DICTIONARY_MAX_TEXT && length == floor(length)
               ? (size_t)length
               : 0;
}

/* NULL where they cannot be read: that is said when all have come. */
static void remember_names(fplt__coordinator *c, uint32_t i, const double *numbers)
{
    size_t length = length_of_names(c, i);
    FPLT__ASSERT(i < c->members && length > 0); /* others are refused before they are asked */
    fplt__free(c->names[i]);
    c->names[i] = NULL;
    if (fplt__alloc_into(&c->names[i], length + 1, 1, "names", NULL))
        return;
    if (fplt__dictionary_unpack(numbers, length, c->names[i], NULL)) {
        fplt__free(c->names[i]);
        c->names[i] = NULL;
    }
}

/* A member may say the same twice. */
void fplt__coordinator_remember(fplt__coordinator *c, const fplt__leader_action *action)
{
    uint32_t i = action->member_index;
    FPLT__ASSERT(i < c->members);
    FPLT__ASSERT(action->step >= 0 && action->step < FPLT__FACTS_STEPS);
    if (action->step == FPLT__FACTS_FORM)
        memcpy(c->scalars + (size_t)i * FPLT__FORM_ANSWERS, action->scalars,
               FPLT__FORM_ANSWERS * sizeof(double));
    else if (action->step == FPLT__FACTS_NAMES)
        remember_names(c, i, action->scalars);
    else if (action->step == FPLT__FACTS_COLUMNS)
        c->scalars[(size_t)i * FPLT__FORM_ANSWERS + 1] = action->scalars[0];
    else if (action->step == FPLT__FACTS_CURVATURE)
        c->bend[i] =
            (fplt_curvature_bounds){{action->scalars[0], action->scalars[1]}, action->scalars[2]};
    else if (action->step == FPLT__FACTS_RANGES)
        join_ranges(c, action->scalars);
    else if (!c->counted[i] && !fplt_sum_add_words(c->sum, 0, action->words, c->form.features))
        c->counted[i] = 1;
}

void fplt__coordinator_forget(fplt__coordinator *c)
{
    fplt__free(c->ranges);
    fplt__free(c->unit);
    fplt__free(c->mean);
    fplt__free(c->scale);
    fplt__free(c->down);
    fplt_sum_destroy(c->sum);
    c->ranges = c->unit = c->mean = c->scale = c->down = NULL;
    c->sum = NULL;
}

/* Room for what is known of the columns. */
static fplt_status make_room(fplt__coordinator *c, fplt_error *error)
{
    size_t features = c->form.features;
    fplt_status status;
    fplt__coordinator_forget(c);
    if ((status = fplt__alloc_into(&c->ranges, 2 * features, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&c->unit, features, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&c->mean, features, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&c->scale, features, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&c->down, 2 * features + 2, sizeof(double), "facts", error)))
        return status;
    for (size_t j = 0; j < features; j++)
        c->ranges[2 * j] = INFINITY, c->ranges[2 * j + 1] = -INFINITY;
    return fplt_sum_create(features, FPLT_SUM_EXPONENT, &c->sum, error);
}

static void refuse(fplt__coordinator *c, const char *sentence)
{
    fplt__leader_event event = {.kind = FPLT__LEADER_REFUSE, .sentence = sentence};
    fplt__coordinator_handle(c, &event);
}

static void ask(fplt__coordinator *c, unsigned step, const double *down, uint64_t count,
                uint32_t scalars, uint64_t numbers)
{
    FPLT__ASSERT(step < FPLT__FACTS_STEPS);
    FPLT__ASSERT(down || !count);
    fplt__leader_event event = {.kind = FPLT__LEADER_ASK,
                                .ask = {step, down, count, scalars, numbers}};
    fplt__coordinator_handle(c, &event);
}

/* All members must have labels of one kind; with a schema the same features and classes, too. */
static fplt_status agree_on_form(fplt__coordinator *c, fplt_error *error)
{
    fplt__form form;
    fplt_status status = fplt__form_read(c->scalars, &c->form, error);
    for (uint32_t i = 1; !status && i < c->members; i++) {
        status = fplt__form_read(c->scalars + (size_t)i * FPLT__FORM_ANSWERS, &form, error);
        c->form.dense &= !status && form.dense;
        if (!status && c->proposal.schema &&
            (form.task != c->form.task || form.features != c->form.features ||
             form.outputs != c->form.outputs))
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "%s has %zu features and %u classes, but %s has %zu and %u, or "
                                    "their labels are of another kind",
                                    c->roster[0], c->form.features, c->form.outputs, c->roster[i],
                                    form.features, form.outputs);
    }
    for (uint32_t i = 0; !status && i < c->members; i++)
        c->form.withheld |= fplt__leader_member(c->leader, i).hessian != FPLT__HESSIAN_YES;
    return status;
}

/* The form that the dictionary of the run gives; of labels that are numbers the first member's task. */
static void take_dictionary(fplt__coordinator *c, const fplt__dictionary *dictionary)
{
    c->form.features = fplt__columns_count(dictionary);
    c->form.outputs = 1;
    if (dictionary->label.kind == FPLT__DICTIONARY_CATEGORY) {
        c->form.outputs = (uint32_t)dictionary->label.levels;
        c->form.task = dictionary->label.levels == 2 ? FPLT_TASK_BINARY : FPLT_TASK_CLASSES;
    } else if (c->form.task != FPLT_TASK_SURVIVAL) {
        c->form.task = FPLT_TASK_REGRESSION;
    }
}

static fplt_status read_names(const fplt__coordinator *c, fplt__dictionary *own, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < c->members && !status; i++) {
        status = c->names[i] ? fplt__columns_read(c->names[i], &own[i], error)
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
    fplt__free(c->dictionary);
    c->dictionary = NULL;
    if (!(status = read_names(c, own, error)) &&
        !(status = fplt__columns_read(c->proposal.dictionary, &declared, error)) &&
        !(status = fplt__columns_settle(&declared, own, c->members, &common, error)) &&
        !(status = fplt__dictionary_text(&common, &c->dictionary, error)))
        take_dictionary(c, &common);
    FPLT__ASSERT(status || c->dictionary);
    for (uint32_t i = 0; i < c->members; i++) {
        fplt__dictionary_clear(&own[i]);
        fplt__free(c->names[i]);
        c->names[i] = NULL;
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
        c->records[i] = fplt__leader_member(c->leader, i).row->records;
        total += c->records[i];
    }
    return total;
}

static fplt_status plan(fplt__coordinator *c, fplt_error *error)
{
    fplt__agreement *agreement;
    fplt__gathered gathered = {.form = c->form,
                               .records = c->records,
                               .bend = c->bend,
                               .scale = c->scale,
                               .mean = c->mean,
                               .dictionary = c->dictionary};
    fplt__leader_plan made;
    char *text = NULL;
    FPLT__ASSERT(!c->scale == !c->mean);
    FPLT__ASSERT(!c->dictionary || !c->proposal.schema);
    fplt_status status = fplt__alloc_into(&agreement, 1, sizeof *agreement, "a plan", error);
    if (status)
        return status;
    if ((status = fplt__plan_resolution_agree(&c->proposal, &gathered, agreement, error)) ||
        (status = fplt__coordinator_state_start(c, agreement, error)) ||
        (status = fplt__agreement_text(agreement, &text, error))) {
        fplt__agreement_clear(agreement);
        fplt__free(agreement);
        return status;
    }
    if (!(status = fplt__plan_resolution_lead(agreement, c->start, &made, error))) {
        FPLT__ASSERT(made.agreement->proposal.members == c->members);
        FPLT__ASSERT((c->start == NULL) == (fplt__is_zero(&made.agreement->start) != 0));
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
    size_t features = c->form.features;
    FPLT__ASSERT(c->ranges && c->unit && c->sum);
    for (size_t j = 0; j < features; j++) {
        double largest = fmax(fabs(c->ranges[2 * j]), fabs(c->ranges[2 * j + 1]));
        c->unit[j] = largest > 0 ? ldexp(1, ilogb(largest)) : 1;
    }
    memset(c->counted, 0, c->members);
    fplt_sum_clear(c->sum);
    ask(c, FPLT__FACTS_SUMS, c->unit, features, 0, features);
}

static int is_constant(const fplt__coordinator *c, size_t column)
{
    return c->ranges[2 * column] == c->ranges[2 * column + 1];
}

/* A constant column is told by its ends: rounding of the mean would give it a deviation. */
static fplt_status take_sums(fplt__coordinator *c, fplt_error *error)
{
    double rows = (double)count_records(c);
    for (uint32_t i = 0; i < c->members; i++)
        if (!c->counted[i])
            return fplt_error_set(error, FPLT_BAD_DATA, "the sums of %s are out of range",
                                  c->roster[i]);
    FPLT__ASSERT(c->mean && c->ranges && c->unit);
    fplt_sum_read(c->sum, 0, c->mean, c->form.features);
    for (size_t j = 0; j < c->form.features; j++)
        c->mean[j] = is_constant(c, j) ? c->ranges[2 * j] : c->unit[j] * (c->mean[j] / rows);
    return FPLT_OK;
}

static void ask_squares(fplt__coordinator *c)
{
    size_t features = c->form.features;
    memcpy(c->down, c->unit, features * sizeof *c->down);
    memcpy(c->down + features, c->mean, features * sizeof *c->down);
    memset(c->counted, 0, c->members);
    fplt_sum_clear(c->sum);
    ask(c, FPLT__FACTS_SQUARES, c->down, 2 * features, 0, features);
}

static fplt_status take_squares(fplt__coordinator *c, int centred, fplt_error *error)
{
    double rows = (double)count_records(c);
    FPLT__ASSERT(c->scale && c->mean && c->unit);
    fplt_sum_read(c->sum, 0, c->scale, c->form.features);
    for (size_t j = 0; j < c->form.features; j++) {
        c->scale[j] = is_constant(c, j) ? 1 : c->unit[j] * sqrt(c->scale[j] / rows);
        if (!(c->scale[j] >= DBL_MIN && isfinite(c->scale[j])))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "feature %zu has deviation %g: it cannot be standardised", j,
                                  c->scale[j]);
        c->mean[j] = centred ? c->mean[j] : 0;
    }
    return FPLT_OK;
}

/* Members and records of all, and where there are any means and scales. */
static void ask_bend(fplt__coordinator *c)
{
    double none[2] = {c->members, (double)count_records(c)};
    size_t features = c->form.features;
    if (c->scale) {
        memcpy(c->down, none, sizeof none);
        memcpy(c->down + 2, c->mean, features * sizeof *c->down);
        memcpy(c->down + 2 + features, c->scale, features * sizeof *c->down);
    }
    ask(c, FPLT__FACTS_CURVATURE, c->scale ? c->down : none, c->scale ? 2 * features + 2 : 2,
        FPLT__CURVATURE_SCALARS, 0);
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
    *centred = strcmp(word, "yes") == 0 || (strcmp(word, "auto") == 0 && c->form.dense);
    fplt_settings_destroy(settings);
    if (*centred && !c->form.dense)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "standardise yes would fill the zeros of a sparse data set; use "
                              "standardise scale, which does not subtract the mean");
    return FPLT_OK;
}

/* All sites have the same columns: now what is in them. */
static fplt_status ask_moments(fplt__coordinator *c, fplt_error *error)
{
    int fits, centred;
    fplt_status status;
    for (uint32_t i = 0; i < c->members; i++)
        if (c->scalars[(size_t)i * FPLT__FORM_ANSWERS + 1] != (double)c->form.features)
            return fplt_error_set(error, FPLT_BAD_DATA, "%s has another number of features",
                                  c->roster[i]);
    if ((status = plan_fit(c, &fits, &centred, error)))
        return status;
    if (!fits) {
        ask_bend(c);
        return FPLT_OK;
    }
    if (!(status = make_room(c, error)))
        ask(c, FPLT__FACTS_RANGES, NULL, 0, (uint32_t)(2 * c->form.features), 0);
    return status;
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
    ask(c, FPLT__FACTS_NAMES, &numbers, 1, (uint32_t)numbers, 0);
    return FPLT_OK;
}

static fplt_status take_form(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status = agree_on_form(c, error);
    if (status)
        return status;
    return c->proposal.schema ? ask_moments(c, error) : ask_names(c, error);
}

static fplt_status take_names(fplt__coordinator *c, fplt_error *error)
{
    double *down;
    fplt_status status = settle_columns(c, error);
    if (status)
        return status;
    size_t length = strlen(c->dictionary), count = fplt__dictionary_numbers(length) + 1;
    if ((status = fplt__alloc_into(&down, count, sizeof *down, "names", error)))
        return status;
    down[0] = (double)length;
    fplt__dictionary_pack(c->dictionary, length, down + 1);
    ask(c, FPLT__FACTS_COLUMNS, down, count, FPLT__COLUMNS_SCALARS, 0);
    fplt__free(down);
    return FPLT_OK;
}

static fplt_status begin_facts(fplt__coordinator *c, fplt_error *error)
{
    fplt_schema *schema;
    if (!c->proposal.privacies) {
        ask(c, FPLT__FACTS_FORM, NULL, 0, FPLT__FORM_ANSWERS, 0);
        return FPLT_OK;
    }
    fplt_status status = fplt__plan_resolution_schema(&c->proposal, &schema, error);
    if (status)
        return status;
    c->form = fplt__schema_form(schema);
    fplt_schema_destroy(schema);
    return plan(c, error);
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
    case FPLT__FACTS_COLUMNS: status = ask_moments(c, &error); break;
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
    case FPLT__FACTS_CURVATURE: status = plan(c, &error); break;
    default: status = begin_facts(c, &error);
    }
    if (status)
        refuse(c, error.text);
}
