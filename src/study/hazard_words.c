/* Numbers of a site: whether its sums are told, rows and events; then, rounded to multiples of 2^-64 (base/sum.h), the sum of g over
 * the events, two scores, and the upper triangles of three matrices. */
#include "study/hazard_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/sum.h"
#include "report/covariance.h"
#include "report/model.h"
#include "report/report.h"
#include "report/table.h"
#include "study/hazard_sums.h"
#include "study/told.h"

enum { HEAD = 3, MATRICES = 3, SCORES = 2, MAX_COLUMNS = 200 };

/* What a site says of its sums. */
enum { TOLD, FEW, DOMINATED, STEEP, STATES };

static const double rounding = 1e-9;

static const char *const transforms[] = {"km", "identity", "log", "rank"};

uint64_t fplt__hazard_cost(size_t n)
{
    return 1 + SCORES * (uint64_t)n + MATRICES * ((uint64_t)n * (n + 1) / 2);
}

uint64_t fplt__hazard_sent(size_t n)
{
    return HEAD + fplt__hazard_cost(n);
}

fplt_status fplt__hazard_test_check(const fplt_model *model, fplt_error *error)
{
    fplt_status status = fplt__hazard_check(model, error);
    return !status && model->info.features > MAX_COLUMNS
               ? fplt_error_set(error, FPLT_UNSUPPORTED,
                                "the model has %zu columns, but this test takes at most %d",
                                model->info.features, MAX_COLUMNS)
               : status;
}

/* ---- sending ---- */

/* All numbers behind the head, in their order. */
static void list_sums(const fplt__hazard_sums *sums, double *list)
{
    size_t n = sums->n, at = 0;
    list[at++] = sums->times;
    for (int k = 0; k < SCORES; k++)
        for (size_t i = 0; i < n; i++)
            list[at++] = sums->score[k][i];
    for (int k = 0; k < MATRICES; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++)
                list[at++] = sums->information[k][i * n + j];
}

static void take_sums(const double *list, fplt__hazard_sums *sums)
{
    size_t n = sums->n, at = 0;
    sums->times = list[at++];
    for (int k = 0; k < SCORES; k++)
        for (size_t i = 0; i < n; i++)
            sums->score[k][i] = list[at++];
    for (int k = 0; k < MATRICES; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++, at++)
                sums->information[k][i * n + j] = sums->information[k][j * n + i] = list[at];
}

static int judge_sums(const fplt__hazard_sums *sums, const fplt__hazard_rules *rules)
{
    double fewest = fmax((double)rules->minimum, rules->per_parameter * (double)sums->n);
    if (sums->events < fewest || sums->rows - sums->events < (double)rules->minimum)
        return FEW;
    if (rules->saturated > 0 && sums->beyond > rules->saturated * sums->rows)
        return STEEP;
    for (int k = 0; k < 2 && rules->dominant > 0; k++)
        if (sums->largest[k] > rules->dominant * sums->total[k])
            return DOMINATED;
    return TOLD;
}

static fplt_status tell_sums(fplt__telling *out, const fplt__hazard_sums *sums, fplt_error *error)
{
    size_t count = (size_t)fplt__hazard_cost(sums->n);
    double *list = NULL;
    fplt__sum *rounded = NULL;
    fplt__tell(out, (uint64_t)sums->rows);
    fplt__tell(out, (uint64_t)sums->events);
    fplt_status status = fplt__sum_create(count, FPLT_SUM_EXPONENT, &rounded, error);
    if (!status)
        status = fplt__alloc_into(&list, count, sizeof *list, "sums", error);
    if (!status) {
        list_sums(sums, list);
        if (!(status = fplt__sum_add(rounded, 0, list, count)))
            fplt__sum_export(rounded, 0, out->words + 2 * out->used, count);
        else
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "the sums over the events are out of range; give the columns "
                                    "scales (`standardise`), and times above 0 where their "
                                    "logarithm counts");
    }
    fplt__sum_destroy(rounded);
    fplt__free(list);
    return status;
}

fplt_status fplt__hazard_export(const fplt_model *model, const fplt_rows *rows,
                                fplt_hazard_transform transform, const fplt__hazard_rules *rules,
                                uint64_t *words, fplt_error *error)
{
    fplt__hazard_clock clock = {.value = NULL};
    fplt__hazard_sums sums = {.n = 0};
    fplt__telling out = {words, 0};
    FPLT__ASSERT(transform == FPLT_HAZARD_IDENTITY || transform == FPLT_HAZARD_LOG);
    fplt_status status = fplt__hazard_clock_make(rows, transform, &clock, error);
    if (!status)
        status = fplt__hazard_sums_make(model->info.features, &sums, error);
    sums.steep = rules->steep;
    if (!status)
        status = fplt__hazard_sums_see(model, rows, &clock, &sums, error);
    if (!status) {
        int state = judge_sums(&sums, rules);
        memset(words, 0, 2 * fplt__hazard_sent(sums.n) * sizeof *words);
        fplt__tell(&out, (uint64_t)state);
        if (state == TOLD)
            status = tell_sums(&out, &sums, error);
    }
    fplt__hazard_sums_clear(&sums);
    fplt__hazard_clock_clear(&clock);
    return status;
}

/* ---- receiving ---- */

/* Rounded sums; out of range: the site is known as bad. */
static fplt_status hear_sums(fplt__hearing *in, fplt__hazard_sums *sums, fplt_error *error)
{
    size_t count = (size_t)fplt__hazard_cost(sums->n);
    double *list = NULL;
    fplt__sum *rounded = NULL;
    fplt_status status = fplt__sum_create(count, FPLT_SUM_EXPONENT, &rounded, error);
    if (!status)
        status = fplt__alloc_into(&list, count, sizeof *list, "sums", error);
    if (!status && fplt__sum_add_words(rounded, 0, in->words + 2 * in->used, count))
        in->is_bad = 1;
    if (!status && !in->is_bad) {
        fplt__sum_read(rounded, 0, list, count);
        take_sums(list, sums);
    }
    fplt__sum_destroy(rounded);
    fplt__free(list);
    return status;
}

/* Whether |x| is at most the root of a b, up to rounding; of sums of products, by Cauchy and Schwarz. */
static int is_product(double x, double a, double b)
{
    return a >= 0 && b >= 0 && fabs(x) <= (1 + rounding) * sqrt(a) * sqrt(b);
}

/* Sums of V, g V and g^2 V, V with x'V x at least 0. */
static int are_possible(const fplt__hazard_sums *sums)
{
    size_t n = sums->n;
    double *const *I = sums->information;
    int possible = sums->events <= sums->rows;
    for (size_t i = 0; i < n; i++) {
        possible &= is_product(I[1][i * n + i], I[0][i * n + i], I[2][i * n + i]);
        for (size_t j = 0; j < i; j++)
            possible &= is_product(I[0][i * n + j], I[0][i * n + i], I[0][j * n + j]) &&
                        is_product(I[2][i * n + j], I[2][i * n + i], I[2][j * n + j]);
    }
    return possible;
}

static fplt_status hear_site(const char *name, const uint64_t *words, fplt__hazard_sums *sums,
                             uint64_t *state, fplt_error *error)
{
    fplt__hearing in = {words, 0, 0};
    *state = fplt__hear(&in, STATES - 1);
    sums->rows = (double)fplt__hear(&in, FPLT__TOLD_MAX_COUNT);
    sums->events = (double)fplt__hear(&in, FPLT__TOLD_MAX_COUNT);
    fplt_status status = hear_sums(&in, sums, error);
    if (status)
        return status;
    for (uint64_t i = 1; *state != TOLD && i < fplt__hazard_sent(sums->n); i++)
        in.is_bad |= words[2 * i] || words[2 * i + 1];
    return !in.is_bad && (*state != TOLD || (sums->events > 0 && are_possible(sums)))
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_DATA,
                                "site '%.300s' sent counts or sums that no rows can have", name);
}

static fplt_status note_site(const char *name, uint64_t state, fplt__notes *notes,
                             fplt_error *error)
{
    static const char *const why[STATES] = {[FEW] = "it has too few events, or rows without one",
                                            [DOMINATED] = "one event has too large a share of them",
                                            [STEEP] = "the model is too steep for its rows"};
    return state == TOLD ? FPLT_OK
                         : fplt__notes_add(notes, error,
                                           "site '%.300s' is left out: its sums are withheld, %s",
                                           name, why[state]);
}

static fplt_status hear_sites(const char *const *names, const uint64_t *const *words, size_t sites,
                              fplt__hazard_sums *sums, fplt__notes *notes, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < sites && !status; i++) {
        fplt__hazard_sums own;
        uint64_t state;
        if (!(status = fplt__hazard_sums_make(sums->n, &own, error)) &&
            !(status = hear_site(names[i], words[i], &own, &state, error)) &&
            !(status = note_site(names[i], state, notes, error)))
            fplt__hazard_sums_add(sums, &own);
        fplt__hazard_sums_clear(&own);
    }
    if (!status && !(sums->events > 0))
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "every site withholds its sums: each has too few events, one "
                                "event that dominates, or rows for which the model is too steep");
    return status;
}

static fplt_status note_distance(double apart, fplt__notes *notes, fplt_error *error)
{
    const double near = 1e-4;
    return apart <= near
               ? FPLT_OK
               : fplt__notes_add(notes, error,
                                 "the model is not at the maximum of the partial likelihood "
                                 "without a penalty (score statistic %.3g): the tests correct for "
                                 "it to first order; `refit: yes` finds the maximum",
                                 apart);
}

/* The columns that a refit keeps. */
static fplt_status choose_kept(const fplt_model *model, const fplt__hazard_sums *sums,
                               unsigned char *kept, fplt_error *error)
{
    size_t n = sums->n, count, *order = NULL;
    double *room = NULL;
    fplt_status status = fplt__coefficient_order(model, &order, &count, error);
    if (!status)
        status = fplt__alloc_into(&room, n * n + n, sizeof *room, "a test", error);
    if (!status)
        fplt__keep_independent(sums->information[0], n, order, count, room, kept);
    fplt__free(order);
    fplt__free(room);
    return status;
}

static fplt_status test_sums(const fplt_model *model, fplt__hazard_sums *sums, int columns,
                             fplt__hazard_tests *tests, fplt_error *error)
{
    unsigned char *kept;
    double apart;
    fplt_status status = fplt__alloc_into(&kept, sums->n, 1, "a test", error);
    if (status)
        return status;
    if (!(status = choose_kept(model, sums, kept, error))) {
        fplt__hazard_sums_centre(sums);
        status = fplt__hazard_sums_test(sums, model, kept, columns, &tests->table, &apart, error);
    }
    fplt__free(kept);
    return status ? status : note_distance(apart, &tests->notes, error);
}

fplt_status fplt__hazard_import(const fplt_model *model, fplt_hazard_transform transform,
                                int columns, const char *const *names, const uint64_t *const *words,
                                size_t sites, fplt__hazard_tests *tests, fplt_error *error)
{
    fplt__hazard_sums sums;
    tests->transform = transform;
    fplt_status status = fplt__hazard_sums_make(model->info.features, &sums, error);
    if (!status)
        status = hear_sites(names, words, sites, &sums, &tests->notes, error);
    if (!status)
        status = test_sums(model, &sums, columns, tests, error);
    fplt__hazard_sums_clear(&sums);
    return status;
}

void fplt__hazard_tests_clear(fplt__hazard_tests *tests)
{
    fplt_table_destroy(tests->table);
    fplt__notes_clear(&tests->notes);
    tests->table = NULL;
}

/* ---- document ---- */

static json_t *make_json(const fplt__hazard_tests *tests)
{
    json_t *notes = json_array();
    const char *note;
    for (size_t i = 0; (note = fplt__notes_get(&tests->notes, i)); i++)
        json_array_append_new(notes, json_string(note));
    return json_pack("{s:s, s:o, s:o}", "transform", transforms[tests->transform], "tests",
                     fplt__table_json(tests->table), "notes", notes);
}

static fplt_status add_tests(fplt__document *to, const fplt__hazard_tests *tests, fplt_error *error)
{
    static const char *const times[] = {"1 - S(t) of the Kaplan-Meier estimate", "time itself",
                                        "the logarithm of time", "the rank of time"};
    char how[128];
    const char *note;
    fplt__document_begin(to, "Proportional hazards");
    fplt_status status = fplt__document_show(to, tests->table, NULL, error);
    if (status || to->form == FPLT__FORM_CSV)
        return status;
    snprintf(how, sizeof how, "score tests; time enters as %s", times[tests->transform]);
    fplt__document_note(to, how, 1);
    for (size_t i = 0; (note = fplt__notes_get(&tests->notes, i)); i++)
        fplt__document_note(to, note, 0);
    return FPLT_OK;
}

fplt_status fplt__hazard_tests_report(const fplt__hazard_tests *tests, fplt__form form, char **text,
                                      fplt_error *error)
{
    fplt__document to = {form, {NULL, 0, 0, FPLT_OK}};
    fplt_status status = form == FPLT__FORM_JSON ? fplt__document_json(&to, make_json(tests), error)
                                                 : add_tests(&to, tests, error);
    return fplt__document_take(&to, status, text, error);
}
