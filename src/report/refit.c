/* The same model without a penalty: Newton's method on the pooled rows. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "linalg/cholesky.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "report/covariance.h"
#include "report/inference.h"
#include "report/model.h"
#include "report/model_access.h"

enum { NEWTON_STEPS = 100, HALVINGS = 60 };

/* The pooled cost, every row alike, over the coefficients that are kept; the others stay 0. */
struct pooled {
    const fplt_objective *objective;
    size_t n;
    double *gradient, *hessian, *step, *trial, *part, *scratch; /* owned: the first */
    unsigned char *kept;                                        /* owned */
};

static void clear_pooled(struct pooled *p)
{
    fplt__free(p->gradient);
    fplt__free(p->kept);
}

static fplt_status make_pooled(const fplt_objective *objective, struct pooled *p, fplt_error *error)
{
    size_t n = fplt_objective_dimension(objective);
    *p = (struct pooled){.objective = objective, .n = n};
    fplt_status status =
        fplt__alloc_into(&p->gradient, 4 * n + 2 * n * n + fplt_objective_scratch(objective),
                         sizeof(double), "the refit", error);
    if (!status)
        status = fplt__alloc_into(&p->kept, n, 1, "the refit", error);
    if (status) {
        clear_pooled(p);
        return status;
    }
    p->step = p->gradient + n;
    p->trial = p->step + n;
    p->hessian = p->trial + n;
    p->part = p->hessian + n * n; /* a matrix and a vector */
    p->scratch = p->part + n * n + n;
    return FPLT_OK;
}

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
        if (status || (status = fplt__objective_hessian(p->objective, i, x, p->part, p->scratch)))
            return status;
        for (size_t j = 0; j < n * n; j++)
            p->hessian[j] += p->part[j];
    }
    return FPLT_OK;
}

/* Coordinates that are not kept have a diagonal of ones and no gradient: their step is 0. */
static void hold_others(const struct pooled *p)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->kept[i])
            continue;
        p->gradient[i] = 0;
        for (size_t j = 0; j < p->n; j++)
            p->hessian[i * p->n + j] = p->hessian[j * p->n + i] = i == j;
    }
}

static fplt_status no_minimiser(const fplt__loss *kind, fplt_error *error)
{
    const char *reason =
        kind->clustered ? "a column, or a sum of columns, tells the labels of a class or of a "
                          "count of 0 perfectly, or the rows have too few clusters"
        : kind->counts && kind->shared
            ? "the counts vary no more than those of Poisson, or some columns tell "
              "perfectly which rows have a count of 0"
        : kind->counts   ? "some columns tell perfectly which rows have a count of 0"
        : kind->hazards  ? "a column, or a sum of columns, puts the events in their exact order"
        : kind->probable ? "the columns separate the classes perfectly"
                         : "the cost has no single minimiser";
    return fplt_error_set(
        error, FPLT_UNREACHABLE,
        "there is no fit without a penalty: %s, so that coefficients grow without "
        "end; keep the penalty, or leave such columns out",
        reason);
}

/* The factor of the Hessian. Costs with shared coordinates are not convex: where it is not positive definite, a multiple of
 * the identity is added, the least of a rising sequence. Zero where it stays singular. */
static int factor(const struct pooled *p)
{
    size_t n = p->n;
    double shift = 0, largest = 0;
    const fplt__kernel *kernel = fplt__objective_arithmetic(p->objective);
    memcpy(p->part, p->hessian, n * n * sizeof(double));
    for (size_t j = 0; j < n; j++)
        largest = fmax(largest, fabs(p->hessian[j * n + j]));
    while (!fplt__cholesky_factor(kernel, p->hessian, n)) {
        shift = shift > 0 ? 16 * shift : 1e-12 * largest;
        if (!p->objective->shared || !(shift > 0) || !isfinite(shift))
            return 0;
        memcpy(p->hessian, p->part, n * n * sizeof(double));
        for (size_t j = 0; j < n; j++)
            p->hessian[j * n + j] += shift;
    }
    return 1;
}

/* One damped step; `gain` is half the squared Newton decrement, the fall that is expected. */
static fplt_status newton_step(const struct pooled *p, double *x, double *gain, fplt_error *error)
{
    double value, next, length = 1;
    fplt_status status = sum_derivatives(p, x);
    if (status || (status = sum_value(p, x, &value)))
        return fplt_error_set(error, status, "the loss cannot be computed");
    hold_others(p);
    if (!factor(p))
        return no_minimiser(p->objective->loss, error);
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
    return no_minimiser(p->objective->loss, error);
}

/* Chooses the coefficients that can be told apart by the rows: by the Hessian at 0, where every row counts. Losses
 * that are no likelihood may have none there, and keep all. */
static fplt_status choose_kept(const struct pooled *p, const fplt_model *model, fplt_error *error)
{
    size_t *order, count;
    memset(p->trial, 0, p->n * sizeof(double));
    memset(p->kept, 1, p->n);
    if (!model->kind->likelihood)
        return FPLT_OK;
    fplt_status status = sum_derivatives(p, p->trial);
    if (status)
        return fplt_error_set(error, status, "the loss cannot be computed");
    if ((status = fplt__coefficient_order(model, &order, &count, error)))
        return status;
    fplt__keep_independent(p->hessian, p->n, order, count, p->part, p->kept);
    memset(p->kept + p->n - p->objective->shared, 1, p->objective->shared);
    fplt__free(order);
    return FPLT_OK;
}

/* The start: the model's weights, as contrasts to the first class, or 0 where the cost overflows there. */
static void choose_start(const struct pooled *p, const fplt_model *model, double *x)
{
    size_t features = model->info.features, outputs = model->outputs;
    double value;
    for (size_t k = outputs; outputs > 1 && k-- > 0;) {
        for (size_t j = 0; j < features; j++)
            x[k * features + j] -= x[j];
        if (model->info.intercept)
            x[outputs * features + k] -= x[outputs * features];
    }
    for (size_t j = 0; j < p->n; j++)
        x[j] = p->kept[j] ? x[j] : 0;
    if (sum_value(p, x, &value) || !isfinite(value))
        memset(x, 0, p->n * sizeof *x);
}

/* Losses of the best model with an intercept alone. */
static fplt_status fit_null(const struct pooled *p, double *losses, fplt_error *error)
{
    const fplt_objective *o = p->objective;
    struct pooled null;
    double *x;
    fplt_status status = make_pooled(o, &null, error);
    if (status)
        return status;
    if (!(status = fplt__alloc_into(&x, p->n, sizeof *x, "the refit", error))) {
        for (size_t j = fplt__objective_regularised(o); j < p->n; j++)
            null.kept[j] = p->kept[j];
        if (!(status = minimise(&null, x, error)) && !(status = sum_value(&null, x, losses)))
            *losses *= o->unit;
        fplt__free(x);
    }
    clear_pooled(&null);
    return status;
}

static void forget_others(const struct pooled *p, fplt_inference *inference)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; !p->kept[i] && j < p->n; j++) {
            inference->information[i * p->n + j] = inference->information[j * p->n + i] = 0;
            if (inference->scores)
                inference->scores[i * p->n + j] = inference->scores[j * p->n + i] = 0;
        }
    fplt__inference_disperse(p->objective->loss, p->n, inference);
}

/* Whether the weights are those of a penalised cost, as the model's own sums say; unknown counts as
 * penalised. */
static int was_penalised(const fplt_model *model)
{
    return !model->info.inference || model->info.inference->penalised;
}

static fplt_status infer(const struct pooled *p, const fplt_model *model, int refit, double *x,
                         fplt_inference *inference, fplt_error *error)
{
    fplt_status status;
    if (!refit)
        return fplt__inference_from_objective(p->objective, model->info.loss, x,
                                              was_penalised(model), 1, inference, error);
    if ((status = choose_kept(p, model, error)))
        return status;
    choose_start(p, model, x);
    if ((status = minimise(p, x, error)) ||
        (status = fplt__inference_from_objective(p->objective, model->info.loss, x, 0, 1, inference,
                                                 error)))
        return status;
    forget_others(p, inference);
    if (isnan(inference->null_losses))
        status = fit_null(p, &inference->null_losses, error);
    return status;
}

static fplt_status make_inferred(const fplt_model *model, const fplt_objective *objective,
                                 int refit, fplt_model **inferred, fplt_error *error)
{
    fplt_inference inference = {.information = NULL};
    fplt_model_info info = model->info;
    struct pooled p;
    double *x;
    fplt_status status = make_pooled(objective, &p, error);
    if (status)
        return status;
    if (!(status = fplt__alloc_into(&x, info.dimension, sizeof *x, "weights", error))) {
        memcpy(x, info.weights, info.dimension * sizeof *x);
        status = infer(&p, model, refit, x, &inference, error);
    }
    info.weights = x;
    info.inference = &inference;
    if (!status)
        status = fplt_model_create(&info, inferred, error);
    fplt__inference_clear(&inference);
    fplt__free(x);
    clear_pooled(&p);
    return status;
}

static fplt_status check_rows(const fplt_model *model, const fplt_dataset *dataset, int refit,
                              fplt_error *error)
{
    if (fplt__model_is_private(model))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the model was trained with privacy: sums over its records without "
                              "noise would break the promise");
    if (refit && model->kind->counts && !(fplt__dataset_largest_label(dataset) > 0))
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "there is no fit without a penalty: all counts are 0, so that the "
                              "rate is 0 and its logarithm has no estimate");
    return FPLT_OK;
}

fplt_status fplt_model_infer(const fplt_model *model, const fplt_dataset *dataset, int refit,
                             fplt_model **inferred, fplt_error *error)
{
    fplt_objective *objective;
    *inferred = NULL;
    fplt_status status = check_rows(model, dataset, refit, error);
    if (status)
        return status;
    fplt_objective_settings settings = fplt__model_cost(model);
    settings.weigh_rows = 1;
    if ((status = fplt_objective_create(&settings, dataset, &objective, error)))
        return status;
    status = make_inferred(model, objective, refit, inferred, error);
    fplt_objective_destroy(objective);
    return status;
}

fplt_objective_settings fplt__model_cost(const fplt_model *model)
{
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.loss = model->info.loss;
    settings.regulariser = "none";
    settings.weight = 0;
    settings.huber_delta = model->info.huber_delta;
    settings.predictor_bound = FPLT__NO_PREDICTOR_BOUND;
    settings.intercept = model->info.intercept;
    settings.ties = model->info.ties;
    settings.weigh_rows = model->kind->clustered;
    settings.cluster = model->info.cluster;
    settings.quadrature_points = model->info.quadrature_points;
    return settings;
}
