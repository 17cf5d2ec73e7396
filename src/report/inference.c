/* Standard errors of a model's coefficients, as a table: sums over records, and what they say of every coefficient. */
#include "fedplt/inference.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "engine/engine.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "base/normal.h"
#include "report/covariance.h"
#include "report/export.h"
#include "report/inference.h"
#include "report/model.h"
#include "report/model_access.h"
#include "report/quantities.h"
#include "report/report.h"

fplt_summary_settings fplt_summary_defaults(void)
{
    return (fplt_summary_settings){.level = 0.95, .own_units = 1};
}

/* The sums */

/* x log(x / whole), 0 at 0. */
static double entropy(double x, double whole)
{
    return x > 0 ? x * log(x / whole) : 0;
}

/* Losses of the model that has only an intercept, from the gradient of the losses at 0 in the intercepts: that
 * tells how the weights divide over the classes, or what labels sum to. NaN where it must be fitted. */
static double null_losses(const fplt__loss *kind, size_t n, size_t intercepts, const double *facts)
{
    if (kind->shared)
        return NAN;
    const double *slope = facts + FPLT__FACTS + n - intercepts;
    double records = facts[FPLT__FACT_RECORDS], at_zero = facts[FPLT__FACT_NULL_LOSSES], sum = 0;
    if (!intercepts)
        return at_zero;
    if (facts[FPLT__FACT_OFFSETS] > 0)
        return NAN;
    if (kind->pearson) /* the mean of the labels, whose sum the slope tells */
        return records * (1 + log((records - slope[0]) / records));
    if (kind->dispersed)
        return at_zero - slope[0] * slope[0] / records / 2;
    if (kind->counts)
        return records - slope[0] - entropy(records - slope[0], records);
    if (!kind->probable)
        return NAN;
    for (size_t k = 0; kind->classes && k < intercepts; k++)
        sum -= entropy(records / (double)intercepts - slope[k], records);
    if (kind->classes)
        return sum;
    double surplus = slope[0] / (kind->probability ? 2 * fplt__normal_hazard(0, NULL) : 1);
    return -entropy(records / 2 - surplus, records) - entropy(records / 2 + surplus, records);
}

double fplt__inference_spread(const fplt__loss *kind, const fplt_inference *inference)
{
    return kind->pearson ? inference->pearson : 2 * inference->losses;
}

void fplt__inference_disperse(const fplt__loss *kind, size_t n, fplt_inference *inference)
{
    double free = inference->rows;
    for (size_t j = 0; j < n; j++)
        free -= inference->information[j * n + j] > 0;
    inference->dispersion = !kind->dispersed ? 1
                            : free > 0       ? fplt__inference_spread(kind, inference) / free
                                             : 0;
}

fplt_status fplt__inference_complete(const char *loss, size_t n, size_t intercepts,
                                     const double *facts, fplt_inference *inference,
                                     fplt_error *error)
{
    const fplt__loss *kind;
    fplt_status status = fplt__loss_find(loss, &kind, error);
    if (status)
        return status;
    inference->records = facts[FPLT__FACT_RECORDS];
    inference->rows = facts[FPLT__FACT_ROWS];
    inference->events = facts[FPLT__FACT_EVENTS];
    inference->losses = facts[FPLT__FACT_LOSSES];
    inference->log_weights = facts[FPLT__FACT_LOG_WEIGHTS];
    inference->constant = facts[FPLT__FACT_CONSTANT];
    inference->zero_losses = facts[FPLT__FACT_NULL_LOSSES];
    inference->null_losses = null_losses(kind, n, intercepts, facts);
    inference->pearson = facts[FPLT__FACT_PEARSON];
    fplt__inference_disperse(kind, n, inference);
    if (kind->whole && !kind->score) {
        fplt__free(inference->scores);
        inference->scores = NULL;
    }
    return FPLT_OK;
}

fplt_status fplt__inference_from_objective(const fplt_objective *objective, const char *loss,
                                           const double *x, int penalised, int by_rows,
                                           fplt_inference *inference, fplt_error *error)
{
    return fplt__inference_make(objective, NULL, loss, x, penalised, by_rows, inference, error);
}

static fplt_status sum_records(const fplt_objective *objective, fplt_engine *engine,
                               const double *x, const fplt__information *sums, fplt_error *error)
{
    return engine ? fplt__engine_information(engine, x, sums, error)
                  : fplt__objective_information(objective, x, sums, error);
}

fplt_status fplt__inference_make(const fplt_objective *objective, fplt_engine *engine,
                                 const char *loss, const double *x, int penalised, int by_rows,
                                 fplt_inference *inference, fplt_error *error)
{
    size_t n = fplt_objective_dimension(objective);
    double *facts;
    fplt_inference made = {.penalised = penalised, .by_rows = by_rows};
    fplt_status status =
        fplt__alloc_into(&facts, fplt__facts_count(n), sizeof *facts, "the information", error);
    if (status)
        return status;
    status = fplt__alloc_into(&made.information, n * n, sizeof(double), "the information", error);
    if (!status && fplt__objective_has_scores(objective))
        status = fplt__alloc_into(&made.scores, n * n, sizeof(double), "the information", error);
    fplt__information sums = {made.information, made.scores, facts};
    if (!status)
        status = sum_records(objective, engine, x, &sums, error);
    if (!status)
        status = fplt__inference_complete(loss, n, fplt__objective_intercepts(objective), facts,
                                          &made, error);
    fplt__free(facts);
    if (status) {
        fplt__inference_clear(&made);
        return status;
    }
    *inference = made;
    return FPLT_OK;
}

/* The table */

static const char *ratio_name(const fplt_model *model)
{
    if (model->kind->hazards)
        return "hazard_ratio";
    if (model->kind->counts)
        return "rate_ratio";
    if (model->kind->exponential)
        return "mean_ratio";
    if (model->kind->probability)
        return NULL;
    return model->kind->probable ? "odds_ratio" : NULL;
}

/* What a line of the table has, and where its interval ends. */
struct form {
    int classes, tests, ratio;
    double freedom, reach;
};

static double two_sided(double statistic, double freedom)
{
    return isinf(freedom) ? 2 * exp(fplt__normal_log_cdf(-fabs(statistic)))
                          : fplt__student_two_sided(statistic, freedom);
}

static void add_missing(fplt_table *table, int count)
{
    for (int i = 0; i < count; i++)
        fplt__table_number(table, NAN, 3);
}

static void add_line(fplt_table *table, const struct form *form, double estimate, double deviation)
{
    double statistic = estimate / deviation, half = form->reach * deviation;
    fplt__table_number(table, estimate, 6);
    fplt__table_number(table, deviation, 4);
    if (form->tests) {
        fplt__table_number(table, statistic, 4);
        fplt__table_number(table, two_sided(statistic, form->freedom), 3);
        fplt__table_number(table, estimate - half, 5);
        fplt__table_number(table, estimate + half, 5);
    }
    if (form->ratio)
        fplt__table_number(table, exp(estimate), 5);
    if (form->ratio && form->tests) {
        fplt__table_number(table, exp(estimate - half), 5);
        fplt__table_number(table, exp(estimate + half), 5);
    }
}

/* Of a model with a penalty: the estimate's distance from 0 tells nothing. */
static struct form form_of(const fplt_model *model, const fplt__estimates *made, double level)
{
    struct form form = {.classes = model->outputs > 1,
                        .tests = !model->info.inference->penalised,
                        .ratio = ratio_name(model) != NULL,
                        .freedom = made->freedom};
    form.reach = made->flaw             ? NAN
                 : isinf(made->freedom) ? fplt__normal_quantile((1 + level) / 2)
                                        : fplt__student_quantile(level, made->freedom);
    return form;
}

static fplt_status create_table(const fplt_model *model, const struct form *form,
                                fplt_table **table, fplt_error *error)
{
    const char *columns[12];
    const char *const tests[] = {isinf(form->freedom) ? "z" : "t", "p", "low", "high"};
    size_t count = 0;
    if (form->classes)
        columns[count++] = "class";
    columns[count++] = "name";
    columns[count++] = "coefficient";
    columns[count++] = "std_error";
    for (size_t i = 0; form->tests && i < sizeof tests / sizeof *tests; i++)
        columns[count++] = tests[i];
    if (form->ratio)
        columns[count++] = ratio_name(model);
    if (form->ratio && form->tests) {
        columns[count++] = "ratio_low";
        columns[count++] = "ratio_high";
    }
    return fplt__table_create(columns, count, table, error);
}

static const char *name_of(const fplt_model *model, size_t feature, char *room, size_t size)
{
    return feature < model->info.features ? fplt__model_feature_name(model, feature, room, size)
                                          : "(intercept)";
}

/* No test, and the interval that the quantity has. */
static void add_interval(const fplt_model *model, size_t which, double value, double half,
                         fplt_table *table)
{
    double low, high;
    fplt__quantity_interval(model, which, value, half, &low, &high);
    add_missing(table, 2);
    fplt__table_number(table, low, 5);
    fplt__table_number(table, high, 5);
}

/* What the loss shows of coordinates that all rows share: no ratios, and tests where they mean something. */
static fplt_status add_quantities(const fplt_model *model, const fplt__estimates *made,
                                  const struct form *form, fplt_table *table, fplt_error *error)
{
    char room[256];
    struct form own = *form;
    own.ratio = 0;
    own.tests = form->tests && model->kind->display && model->kind->display->has_tests;
    for (size_t i = 0; i < fplt__quantities_count(model); i++) {
        double value, deviation;
        fplt_status status = fplt__quantity_estimate(model, made, i, &value, &deviation, error);
        if (status)
            return status;
        fplt__quantity_name(model, i, room, sizeof room);
        fplt__table_text(table, room);
        add_line(table, &own, value, deviation);
        if (form->tests && !own.tests)
            add_interval(model, i, value, form->reach * deviation, table);
        add_missing(table, form->ratio ? 1 + 2 * form->tests : 0);
    }
    return FPLT_OK;
}

static fplt_status fill_table(const fplt_model *model, const fplt__estimates *made,
                              const struct form *form, fplt_table *table, fplt_error *error)
{
    size_t n = made->n, features = model->info.features, outputs = model->outputs;
    size_t columns = features + (model->info.intercept && !fplt__quantities_hide_intercept(model));
    char room[32];
    for (size_t k = outputs > 1; k < outputs; k++)
        for (size_t j = 0; j < columns; j++) {
            size_t own = j < features ? k * features + j : outputs * features + k;
            if (form->classes)
                fplt__table_text(table, model->info.class_names[k]);
            fplt__table_text(table, name_of(model, j, room, sizeof room));
            add_line(table, form, made->kept[own] ? made->estimate[own] : NAN,
                     made->kept[own] ? sqrt(made->covariance[own * n + own]) : NAN);
        }
    return add_quantities(model, made, form, table, error);
}

/* What stands against it */

/* A federation says which site withheld them. */
static fplt_status refuse_without_sums(const fplt_model *model, fplt_error *error)
{
    json_t *record = model->info.training ? json_loads(model->info.training, 0, NULL) : NULL;
    const char *who = json_string_value(json_object_get(record, "errors_withheld"));
    fplt_status status =
        who ? fplt_error_set(
                  error, FPLT_UNSUPPORTED,
                  "the model carries no sums for standard errors (%.300s); give the data "
                  "as well",
                  who)
            : fplt_error_set(error, FPLT_UNSUPPORTED,
                             "the model carries no sums for standard errors: it is of a federation "
                             "with `inform: no`, of an earlier program, or has too many columns; "
                             "give the data as well");
    json_decref(record);
    return status;
}

static fplt_status check_summary(const fplt_model *model, const fplt_summary_settings *settings,
                                 fplt_error *error)
{
    if (!(settings->level > 0 && settings->level < 1))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the level is %g, but it must be between 0 and 1", settings->level);
    if (fplt__model_is_private(model))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the model was trained with privacy: its noise is not in any "
            "standard error, and the sums behind one would reveal something about the records");
    if (!model->info.inference)
        return refuse_without_sums(model, error);
    if (settings->robust && !model->info.inference->scores)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the model carries no sums for robust errors (an earlier program wrote "
            "it): give the data as well");
    if (!settings->robust && !model->kind->likelihood)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the loss %s is no likelihood: only robust errors hold (robust: yes)",
                              model->info.loss);
    return FPLT_OK;
}

/* Two classes of which hardly a row is in doubt: the sum of p (1 - p), as the intercept's information has it,
 * is about the number of the rarer class's rows otherwise. */
static int is_separated(const fplt_model *model)
{
    const double doubt = 1e-3;
    size_t n = model->info.dimension;
    return model->info.task == FPLT_TASK_BINARY && model->info.intercept &&
           strcmp(model->info.loss, "logistic") == 0 &&
           model->info.inference->information[n * n - 1] < doubt;
}

/* Columns of one output that a refit left out: levels that others are compared with (`reference`), or the rest. */
static void list_left_out(const fplt_model *model, const fplt__estimates *made, int reference,
                          const char *sentence, fplt__buffer *notes)
{
    size_t features = model->info.features, first = model->outputs > 1 ? features : 0, count = 0;
    char room[32];
    for (size_t j = 0; j < features; j++)
        if (!made->kept[first + j] && made->reference[first + j] == reference)
            fplt__buffer_format(notes, "%s%s", count++ ? ", " : sentence,
                                fplt__model_feature_name(model, j, room, sizeof room));
    if (count)
        fplt__buffer_add(notes, ".\n");
}

static void write_left_out(const fplt_model *model, const fplt__estimates *made,
                           fplt__buffer *notes)
{
    list_left_out(model, made, 1,
                  "Reference levels, which the other levels are compared with: ", notes);
    list_left_out(model, made, 0,
                  "Left out, because they are constant or depend on the columns before them: ",
                  notes);
}

/* Of a federation whose run was to end with a refit: why there is none. */
static void write_refit(const fplt_model *model, fplt__buffer *notes)
{
    json_t *record = model->info.training ? json_loads(model->info.training, 0, NULL) : NULL;
    const char *why =
        json_string_value(json_object_get(json_object_get(record, "refit"), "sentence"));
    if (why)
        fplt__buffer_format(notes, "The federation has no refit without the penalty: %s.\n", why);
    json_decref(record);
}

static void write_notes(const fplt_model *model, const fplt_summary_settings *settings,
                        const fplt__estimates *made, fplt__buffer *notes)
{
    const fplt_inference *inference = model->info.inference;
    const fplt_transform *t = &model->transform;
    if (inference->penalised)
        fplt__buffer_add(notes,
                         "The cost had a penalty, which shrinks the coefficients: there are no "
                         "tests and no intervals. Refit without the penalty to publish them.\n");
    if (inference->penalised)
        write_refit(model, notes);
    write_left_out(model, made, notes);
    if (model->kind->display)
        fplt__buffer_format(notes, "%s\n", model->kind->display->note);
    if (made->flaw)
        fplt__buffer_format(notes, "%s\n", made->flaw);
    if (model->outputs > 1)
        fplt__buffer_format(notes, "Coefficients compare a class with the class %s.\n",
                            model->info.class_names[0]);
    if (!inference->by_rows && !settings->robust)
        fplt__buffer_add(notes, "Every site counted alike, however many rows it has: errors are "
                                "right only if every row does, or robust.\n");
    if (is_separated(model))
        fplt__buffer_add(notes, "The columns separate the classes perfectly: no likelihood is the "
                                "largest, and the coefficients say only where training ended.\n");
    if (t->radius > 0)
        fplt__buffer_add(notes, "Rows were shortened to a norm: coefficients are those of the "
                                "shortened rows.\n");
    if (settings->own_units && t->mean && !model->info.intercept)
        fplt__buffer_add(notes, "Columns were centred but there is no intercept: the constant that "
                                "centring adds is not listed.\n");
}

static fplt_status take_notes(fplt__buffer *text, char **notes, fplt_error *error)
{
    *notes = text->status ? NULL : fplt__strdup(text->text ? text->text : "");
    return *notes ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the notes");
}

fplt_status fplt_model_summary(const fplt_model *model, const fplt_summary_settings *settings,
                               fplt_table **table, char **notes, fplt_error *error)
{
    fplt__estimates made;
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    *table = NULL;
    *notes = NULL;
    fplt_status status = check_summary(model, settings, error);
    if (status || (status = fplt__estimate(model, settings, &made, error)))
        return status;
    struct form form = form_of(model, &made, settings->level);
    const char *unknown;
    write_notes(model, settings, &made, &text);
    if (!(status = fplt__quantities_unknown(model, &made, &unknown, error)) && unknown)
        fplt__buffer_format(&text, "%s\n", unknown);
    if (!status && !(status = create_table(model, &form, table, error)) &&
        !(status = fill_table(model, &made, &form, *table, error)))
        status = take_notes(&text, notes, error);
    fplt__buffer_clear(&text);
    fplt__estimates_clear(&made);
    if (status) {
        fplt_table_destroy(*table);
        *table = NULL;
    }
    return status;
}
