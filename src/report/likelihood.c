/* How well a model fits: likelihood, information criteria, and tests against the model without columns. */
#include <math.h>

#include "base/statistics.h"
#include "report/covariance.h"
#include "report/model.h"

static fplt_fit nothing_known(void)
{
    return (fplt_fit){.rows = NAN,
                      .events = NAN,
                      .parameters = NAN,
                      .log_likelihood = NAN,
                      .null_log_likelihood = NAN,
                      .aic = NAN,
                      .bic = NAN,
                      .chi_squared = NAN,
                      .chi_freedom = NAN,
                      .chi_p = NAN,
                      .pseudo_r2 = NAN,
                      .r2 = NAN,
                      .adjusted_r2 = NAN,
                      .sigma = NAN,
                      .f = NAN,
                      .f_numerator = NAN,
                      .f_denominator = NAN,
                      .f_p = NAN,
                      .dispersion = NAN};
}

/* Deviance of the loss gamma: twice the losses above those of means that are the labels, 1 + log y each. */
static double gamma_deviance(const fplt_inference *inference, double losses)
{
    return 2 * (losses - inference->constant - inference->records);
}

/* Of gamma variables whose dispersion is the mean deviance [as R's logLik has it]. */
static double gamma_log_likelihood(const fplt_inference *inference, double losses)
{
    double records = inference->records, shape = records / gamma_deviance(inference, losses);
    int sign;
    return (shape - 1) * inference->constant - shape * losses +
           records * (shape * log(shape) - lgamma_r(shape, &sign));
}

/* Of normal residuals with the variance that makes it largest, of gamma variables, or minus the losses. */
static double log_likelihood(const fplt_model *model, double losses)
{
    const fplt_inference *inference = model->info.inference;
    double rows = inference->rows;
    if (model->kind->pearson)
        return gamma_log_likelihood(inference, losses);
    if (!model->kind->dispersed)
        return -losses - inference->constant;
    return (inference->log_weights - rows * (log(2 * M_PI) + 1 + log(2 * losses / rows))) / 2;
}

/* Intercepts that were estimated, and what all rows share: all that the null model has. */
static double intercepts_of(const fplt_model *model)
{
    double shared = (double)fplt__loss_shared(model->kind, model->info.classes);
    if (!model->info.intercept)
        return shared;
    return model->outputs > 1 ? model->outputs - 1 : 1 + shared;
}

static void compare_squares(const fplt_model *model, double tested, fplt_fit *fit)
{
    const fplt_inference *inference = model->info.inference;
    double intercepts = intercepts_of(model), left = fit->rows - fit->parameters;
    double residual = 2 * inference->losses, all = 2 * inference->null_losses;
    fit->r2 = 1 - residual / all;
    if (!(left > 0) || fplt__is_perfect(model))
        return;
    fit->sigma = sqrt(residual / left);
    fit->adjusted_r2 = 1 - (1 - fit->r2) * (fit->rows - intercepts) / left;
    if (!(tested > 0))
        return;
    fit->f_numerator = tested;
    fit->f_denominator = left;
    fit->f = (all - residual) / tested / (residual / left);
    fit->f_p = fplt__f_tail(fit->f, tested, left);
}

/* The F test of the fall of the deviance, with Pearson's dispersion [as R's anova has it]. */
static void compare_deviances(const fplt_model *model, double tested, fplt_fit *fit)
{
    const fplt_inference *inference = model->info.inference;
    double left = fit->rows - fit->parameters;
    double fall = 2 * (inference->null_losses - inference->losses);
    if (!(left > 0) || fplt__is_perfect(model))
        return;
    fit->dispersion = inference->pearson / left;
    if (!(tested > 0))
        return;
    fit->f_numerator = tested;
    fit->f_denominator = left;
    fit->f = fall / tested / fit->dispersion;
    fit->f_p = fplt__f_tail(fit->f, tested, left);
}

/* Against the model without columns. The criteria count a dispersion that is estimated as a parameter; with survival
 * times it is the events that count as observations [as R does]. */
static void compare(const fplt_model *model, fplt_fit *fit)
{
    const fplt_inference *inference = model->info.inference;
    double tested = fit->parameters - intercepts_of(model);
    double parameters = fit->parameters + (model->kind->dispersed != 0);
    double observations = model->kind->hazards ? fit->events : fit->rows;
    fit->aic = 2 * parameters - 2 * fit->log_likelihood;
    fit->bic = log(observations) * parameters - 2 * fit->log_likelihood;
    fit->null_log_likelihood = log_likelihood(model, inference->null_losses);
    if (model->kind->pearson) {
        compare_deviances(model, tested, fit);
        return;
    }
    if (model->kind->dispersed) {
        compare_squares(model, tested, fit);
        return;
    }
    if (!(tested > 0) || isnan(fit->null_log_likelihood))
        return;
    fit->chi_squared = fmax(0, 2 * (fit->log_likelihood - fit->null_log_likelihood));
    fit->chi_freedom = tested;
    fit->chi_p = fplt__chi_tail(fit->chi_squared, tested);
    fit->pseudo_r2 = 1 - fit->log_likelihood / fit->null_log_likelihood;
}

fplt_status fplt_model_fit(const fplt_model *model, fplt_fit *fit, fplt_error *error)
{
    const fplt_inference *inference = model->info.inference;
    *fit = nothing_known();
    if (!inference || !(inference->rows > 0))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the model carries no sums for its likelihood: give the data as well");
    fit->rows = inference->rows;
    if (model->info.task == FPLT_TASK_BINARY || model->info.task == FPLT_TASK_SURVIVAL)
        fit->events = inference->events;
    if (!model->kind->likelihood || !inference->by_rows || fplt__is_perfect(model))
        return FPLT_OK;
    fit->log_likelihood = log_likelihood(model, inference->losses);
    if (inference->penalised)
        return FPLT_OK;
    fit->parameters = (double)fplt__inference_rank(model);
    compare(model, fit);
    return FPLT_OK;
}
