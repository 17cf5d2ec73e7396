/* Standard errors of a model's coefficients: the inverse of the information, or the sandwich
 * I^-1 S I^-1 with S the sum of the records' scores [Huber 1967, White 1980]. */
#include "fedplt/inference.h"

#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "linalg/cholesky.h"
#include "objective/objective.h"
#include "privacy/normal.h"
#include "report/export.h"
#include "report/model.h"

fplt_summary_settings fplt_summary_defaults(void)
{
    return (fplt_summary_settings){.level = 0.95, .own_units = 1};
}

fplt_status fplt__inference_complete(const char *loss, size_t n, double losses,
                                     fplt_inference *inference, fplt_error *error)
{
    const fplt__loss *kind;
    fplt_status status = fplt__loss_find(loss, &kind, error);
    double free = inference->records - (double)n;
    inference->dispersion = 1;
    if (!status && kind->dispersed)
        inference->dispersion = free > 0 ? 2 * losses / free : 0;
    if (!status && kind->whole) {
        fplt__free(inference->scores);
        inference->scores = NULL;
    }
    return status;
}

fplt_status fplt_inference_make(const fplt_objective *objective, const char *loss, const double *x,
                                int penalised, int by_rows, fplt_inference *inference,
                                fplt_error *error)
{
    return fplt__inference_make(objective, NULL, loss, x, penalised, by_rows, inference, error);
}

fplt_status fplt__inference_make(const fplt_objective *objective, fplt_engine *engine,
                                 const char *loss, const double *x, int penalised, int by_rows,
                                 fplt_inference *inference, fplt_error *error)
{
    size_t n = fplt_objective_dimension(objective);
    const fplt__loss *kind;
    double losses;
    fplt_inference made = {.penalised = penalised, .by_rows = by_rows};
    fplt_status status;
    if ((status = fplt__loss_find(loss, &kind, error)) ||
        (status =
             fplt__alloc_into(&made.information, n * n, sizeof(double), "the information", error)))
        return status;
    if (!kind->whole)
        status = fplt__alloc_into(&made.scores, n * n, sizeof(double), "the information", error);
    for (uint32_t i = 0; i < fplt_objective_agents(objective); i++)
        made.records += objective->place ? fplt__shard_of(objective, i).total : 1;
    if (!status)
        status = engine ? fplt__engine_information(engine, x, made.information, made.scores,
                                                   &losses, error)
                        : fplt__objective_information(objective, x, made.information, made.scores,
                                                      &losses, error);
    if (!status)
        status = fplt__inference_complete(loss, n, losses, &made, error);
    if (status) {
        fplt_inference_clear(&made);
        return status;
    }
    *inference = made;
    return FPLT_OK;
}

/* The covariance of the coefficients */

/* Whether a column is, but for rounding, a sum of those before it: what they leave of it is its pivot. */
static int depends(const double *matrix, const double *factor, size_t n)
{
    static const double nothing = 1e-13;
    for (size_t j = 0; j < n; j++)
        if (!(factor[j * n + j] * factor[j * n + j] > nothing * matrix[j * n + j]))
            return 1;
    return 0;
}

/* matrix <- its inverse, by its Cholesky factor. */
static fplt_status invert(double *matrix, size_t n, double *room, fplt_error *error)
{
    memcpy(room, matrix, n * n * sizeof *matrix);
    if (!fplt__cholesky_factor(&fplt__kernel_reference, room, n) || depends(matrix, room, n))
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "the columns depend on each other (a category with all its levels "
                              "beside an intercept, or a constant column): the coefficients have "
                              "no standard errors");
    memset(matrix, 0, n * n * sizeof *matrix);
    for (size_t j = 0; j < n; j++) {
        matrix[j * n + j] = 1;
        fplt__cholesky_solve(room, n, matrix + j * n);
    }
    return FPLT_OK;
}

/* out = a b, all n x n. */
static void multiply(const double *a, const double *b, size_t n, double *out)
{
    memset(out, 0, n * n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                out[i * n + j] += a[i * n + k] * b[k * n + j];
}

static void transpose(double *matrix, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double kept = matrix[i * n + j];
            matrix[i * n + j] = matrix[j * n + i];
            matrix[j * n + i] = kept;
        }
}

/* The map from the model's coefficients to those in the units of the file. */
static void fill_units(const fplt_model *model, double *map)
{
    const fplt_transform *t = &model->transform;
    size_t n = model->info.dimension, features = model->info.features;
    memset(map, 0, n * n * sizeof *map);
    for (size_t j = 0; j < n; j++)
        map[j * n + j] = j < features && t->scale ? 1 / t->scale[j] : 1;
    for (size_t j = 0; model->info.intercept && t->mean && j < features; j++)
        map[features * n + j] = -t->mean[j] * map[j * n + j];
}

/* Matrices of the computation, in one block. */
struct work {
    double *covariance, *other, *map, *estimate;
};

static fplt_status covariance(const fplt_model *model, int robust, struct work *work,
                              fplt_error *error)
{
    const fplt_inference *inference = model->info.inference;
    size_t n = model->info.dimension;
    memcpy(work->covariance, inference->information, n * n * sizeof(double));
    fplt_status status = invert(work->covariance, n, work->other, error);
    if (status)
        return status;
    if (robust) {
        multiply(inference->scores, work->covariance, n, work->other);
        memcpy(work->map, work->covariance, n * n * sizeof(double));
        multiply(work->map, work->other, n, work->covariance);
        return FPLT_OK;
    }
    for (size_t i = 0; i < n * n; i++)
        work->covariance[i] *= inference->dispersion;
    return FPLT_OK;
}

static void to_own_units(const fplt_model *model, struct work *work)
{
    size_t n = model->info.dimension;
    fill_units(model, work->map);
    for (size_t i = 0; i < n; i++) {
        work->estimate[i] = 0;
        for (size_t j = 0; j < n; j++)
            work->estimate[i] += work->map[i * n + j] * model->info.weights[j];
    }
    multiply(work->map, work->covariance, n, work->other);
    transpose(work->map, n);
    multiply(work->other, work->map, n, work->covariance);
}

/* The table */

static const char *ratio_name(const fplt_model *model)
{
    if (model->kind->whole)
        return "hazard_ratio";
    if (model->kind->counts)
        return "rate_ratio";
    return model->kind->probable ? "odds_ratio" : NULL;
}

static void add_line(fplt_table *table, const char *name, double estimate, double deviation,
                     double reach, int ratio)
{
    double z = estimate / deviation;
    fplt_table_text(table, name);
    fplt_table_number(table, estimate, 6);
    fplt_table_number(table, deviation, 4);
    fplt_table_number(table, z, 4);
    fplt_table_number(table, 2 * exp(fplt__normal_log_cdf(-fabs(z))), 3);
    fplt_table_number(table, estimate - reach * deviation, 5);
    fplt_table_number(table, estimate + reach * deviation, 5);
    if (!ratio)
        return;
    fplt_table_number(table, exp(estimate), 5);
    fplt_table_number(table, exp(estimate - reach * deviation), 5);
    fplt_table_number(table, exp(estimate + reach * deviation), 5);
}

static fplt_status fill(const fplt_model *model, const struct work *work, double level,
                        fplt_table **table, fplt_error *error)
{
    const char *columns[] = {"name", "coefficient", "std_error",       "z",         "p",
                             "low",  "high",        ratio_name(model), "ratio_low", "ratio_high"};
    int ratio = columns[7] != NULL;
    size_t n = model->info.dimension, features = model->info.features;
    double reach = fplt__normal_quantile((1 + level) / 2);
    char room[32];
    fplt_status status = fplt_table_create(columns, ratio ? 10 : 7, table, error);
    for (size_t j = 0; !status && j < n; j++)
        add_line(*table,
                 j < features ? fplt__model_feature_name(model, j, room, sizeof room)
                              : "(intercept)",
                 work->estimate[j], sqrt(work->covariance[j * n + j]), reach, ratio);
    return status;
}

/* What stands against it */

static fplt_status check(const fplt_model *model, const fplt_summary_settings *settings,
                         fplt_error *error)
{
    if (!(settings->level > 0 && settings->level < 1))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the level is %g, but it must be between 0 and 1", settings->level);
    if (model->outputs > 1)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the loss softmax has a coefficient for every class, and adding the "
                              "same to all of them changes nothing: they have no standard errors");
    if (fplt_model_is_private(model))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the model was trained with privacy: its noise is not in any "
                              "standard error, and the sums behind one would tell of the records");
    if (!model->info.inference)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the model carries no sums for standard errors (an earlier program "
                              "wrote it, or it has too many columns): give the data as well");
    if (settings->robust && !model->info.inference->scores)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the loss %s is no sum over records: there are no robust errors",
                              model->info.loss);
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

static void write_notes(const fplt_model *model, const fplt_summary_settings *settings,
                        fplt__buffer *notes)
{
    const fplt_inference *inference = model->info.inference;
    const fplt_transform *t = &model->transform;
    if (inference->penalised)
        fplt__buffer_add(notes,
                         "The cost had a penalty, which shrinks the coefficients: the errors "
                         "say nothing of that. Refit without it to publish them.\n");
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

fplt_status fplt_model_summary(const fplt_model *model, const fplt_summary_settings *settings,
                               fplt_table **table, char **notes, fplt_error *error)
{
    size_t n = model->info.dimension;
    double *block;
    *table = NULL;
    *notes = NULL;
    fplt_status status = check(model, settings, error);
    if (status ||
        (status = fplt__alloc_into(&block, 3 * n * n + n, sizeof *block, "the covariance", error)))
        return status;
    struct work work = {block, block + n * n, block + 2 * n * n, block + 3 * n * n};
    memcpy(work.estimate, model->info.weights, n * sizeof(double));
    if (!(status = covariance(model, settings->robust, &work, error))) {
        fplt__buffer text = {NULL, 0, 0, FPLT_OK};
        if (settings->own_units && !(model->transform.radius > 0))
            to_own_units(model, &work);
        write_notes(model, settings, &text);
        status = fill(model, &work, settings->level, table, error);
        *notes = fplt__strdup(text.text ? text.text : "");
        fplt__buffer_clear(&text);
        if (!status && !*notes)
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the notes");
    }
    if (status) {
        fplt_table_destroy(*table);
        fplt_free(*notes);
        *table = NULL;
        *notes = NULL;
    }
    fplt__free(block);
    return status;
}

/* Without a penalty */

enum { NEWTON_STEPS = 100, HALVINGS = 40 };

/* The pooled cost, every row alike. */
struct pooled {
    const fplt_objective *objective;
    size_t n;
    double *gradient, *hessian, *step, *trial, *part, *scratch; /* owned: the first */
};

static fplt_status sum_value(const struct pooled *p, const double *x, double *value)
{
    *value = 0;
    for (uint32_t i = 0; i < fplt_objective_agents(p->objective); i++) {
        double own;
        fplt_status status = fplt_objective_value(p->objective, i, x, &own, p->scratch);
        if (status)
            return status;
        *value += own;
    }
    return FPLT_OK;
}

static fplt_status sum_derivatives(const struct pooled *p, const double *x)
{
    size_t n = p->n;
    memset(p->gradient, 0, n * sizeof(double));
    memset(p->hessian, 0, n * n * sizeof(double));
    for (uint32_t i = 0; i < fplt_objective_agents(p->objective); i++) {
        fplt_status status = fplt_objective_gradient(p->objective, i, x, p->part, p->scratch);
        for (size_t j = 0; !status && j < n; j++)
            p->gradient[j] += p->part[j];
        if (status || (status = fplt_objective_hessian(p->objective, i, x, p->part, p->scratch)))
            return status;
        for (size_t j = 0; j < n * n; j++)
            p->hessian[j] += p->part[j];
    }
    return FPLT_OK;
}

static fplt_status no_minimiser(fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNREACHABLE,
                          "no minimiser without a penalty was found: the columns separate the "
                          "labels perfectly or depend on each other");
}

/* One damped step; `gain` is half the squared Newton decrement, the fall that is expected. */
static fplt_status newton_step(const struct pooled *p, double *x, double *gain, fplt_error *error)
{
    double value, next, length = 1;
    fplt_status status = sum_derivatives(p, x);
    if (status || (status = sum_value(p, x, &value)))
        return fplt_error_set(error, status, "the loss cannot be computed");
    if (!fplt__cholesky_factor(fplt__objective_arithmetic(p->objective), p->hessian, p->n))
        return no_minimiser(error);
    memcpy(p->step, p->gradient, p->n * sizeof(double));
    fplt__cholesky_solve(p->hessian, p->n, p->step);
    *gain = 0;
    for (size_t j = 0; j < p->n; j++)
        *gain += p->step[j] * p->gradient[j] / 2;
    for (int halving = 0; halving < HALVINGS; halving++, length /= 2) {
        for (size_t j = 0; j < p->n; j++)
            p->trial[j] = x[j] - length * p->step[j];
        if (!sum_value(p, p->trial, &next) && next <= value - 1e-4 * length * *gain)
            break;
        if (*gain <= 1e-10 * fmax(1, fabs(value)))
            break; /* at rounding the whole step is as good as any */
    }
    memcpy(x, p->trial, p->n * sizeof(double));
    return FPLT_OK;
}

static double norm_of(const double *x, size_t n)
{
    double square = 0;
    for (size_t j = 0; j < n; j++)
        square += x[j] * x[j];
    return sqrt(square);
}

/* Ends when steps are at rounding. Towards a minimiser at infinity the cost converges, but steps do not
 * become short. */
static fplt_status minimise(const struct pooled *p, double *x, fplt_error *error)
{
    double gain = HUGE_VAL;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double before = gain;
        fplt_status status = newton_step(p, x, &gain, error);
        if (status)
            return status;
        if (gain <= 1e-20 && gain >= before / 4 &&
            norm_of(p->step, p->n) <= 1e-6 * (1 + norm_of(x, p->n)))
            return FPLT_OK;
        if (gain == 0)
            return FPLT_OK;
    }
    return no_minimiser(error);
}

static fplt_status refit_weights(const fplt_objective *objective, double *x, fplt_error *error)
{
    size_t n = fplt_objective_dimension(objective);
    struct pooled p = {.objective = objective, .n = n};
    fplt_status status =
        fplt__alloc_into(&p.gradient, 3 * n + 2 * n * n + fplt_objective_scratch(objective),
                         sizeof(double), "the refit", error);
    if (status)
        return status;
    p.step = p.gradient + n;
    p.trial = p.step + n;
    p.hessian = p.trial + n;
    p.part = p.hessian + n * n;
    p.scratch = p.part + n * n;
    status = minimise(&p, x, error);
    fplt__free(p.gradient);
    return status;
}

/* Whether the weights are those of a penalised cost, as the model's own sums say; unknown counts as
 * penalised. */
static int was_penalised(const fplt_model *model)
{
    return !model->info.inference || model->info.inference->penalised;
}

static fplt_status infer(const fplt_model *model, const fplt_objective *objective, int refit,
                         double *x, fplt_model **inferred, fplt_error *error)
{
    fplt_inference inference = {.information = NULL};
    fplt_model_info info = model->info;
    fplt_status status = refit ? refit_weights(objective, x, error) : FPLT_OK;
    if (status ||
        (status = fplt_inference_make(objective, info.loss, x, !refit && was_penalised(model), 1,
                                      &inference, error)))
        return status;
    info.weights = x;
    info.inference = &inference;
    status = fplt_model_create(&info, inferred, error);
    fplt_inference_clear(&inference);
    return status;
}

fplt_status fplt_model_infer(const fplt_model *model, const fplt_dataset *dataset, int refit,
                             fplt_model **inferred, fplt_error *error)
{
    fplt_objective_settings settings = fplt_objective_defaults();
    fplt_objective *objective;
    double *x;
    *inferred = NULL;
    if (fplt_model_is_private(model))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the model was trained with privacy: sums over its records without "
                              "noise would break the promise");
    settings.loss = model->info.loss;
    settings.regulariser = "none";
    settings.weight = 0;
    settings.huber_delta = model->info.huber_delta;
    settings.intercept = model->info.intercept;
    settings.weigh_rows = 1;
    fplt_status status = fplt_objective_create(&settings, dataset, &objective, error);
    if (status)
        return status;
    if (!(status = fplt__alloc_into(&x, model->info.dimension, sizeof *x, "weights", error))) {
        memcpy(x, model->info.weights, model->info.dimension * sizeof *x);
        status = infer(model, objective, refit, x, inferred, error);
        fplt__free(x);
    }
    fplt_objective_destroy(objective);
    return status;
}
