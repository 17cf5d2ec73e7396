/* Whether pooling the rows of sites hides a reversal. Two fits without a penalty, one over all rows and one with an
 * intercept for every site, and a score test: both need of a site only the gradient and the Hessian of its losses. */
#include "report/pooling.h"

#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/statistics.h"
#include "data/dataset_access.h"
#include "job/job.h"
#include "linalg/cholesky.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "report/covariance.h"
#include "report/export.h"
#include "report/model.h"
#include "report/model_access.h"

enum { NEWTON_STEPS = 60, HALVINGS = 40, MAX_COORDINATES = 50, MAX_SITES = 50 };

/* A pass over the rows for a Hessian takes about rows x coordinates^2 operations, and both fits take some ten passes. */
static const double most_work = 2e8;
/* Chance that any column is named although sites do not matter, and the same of the difference of the two fits. */
static const double level = 0.05, two_sided_5_percent = 1.959963984540054;

/* One fit. Coordinate j of a site is parameter j, but for the intercept of a fit by site: every site has its own. */
struct fit {
    const fplt_objective *losses;
    size_t n, m; /* coordinates of a site; parameters */
    int by_site;
    double *theta, *gradient, *step, *trial, *point, *part, *hessian, *room,
        *scratch;        /* owned: theta */
    unsigned char *kept; /* owned */
    double value;        /* sum of the losses at theta */
};

static size_t parameter_of(const struct fit *fit, uint32_t site, size_t j)
{
    return fit->by_site && j == fit->n - 1 ? fit->n - 1 + site : j;
}

static void clear_fit(struct fit *fit)
{
    fplt__free(fit->theta);
    fplt__free(fit->kept);
}

static fplt_status make_fit(const fplt_objective *losses, int by_site, struct fit *fit,
                            fplt_error *error)
{
    size_t n = losses->dimension, m = by_site ? n - 1 + losses->agents : n;
    *fit = (struct fit){.losses = losses, .n = n, .m = m, .by_site = by_site};
    fplt_status status =
        fplt__alloc_into(&fit->theta, 5 * m + n * n + n + 2 * m * m + losses->scratch,
                         sizeof(double), "a fit", error);
    if (!status)
        status = fplt__alloc_into(&fit->kept, m, 1, "a fit", error);
    if (status) {
        clear_fit(fit);
        return status;
    }
    fit->gradient = fit->theta + m;
    fit->step = fit->gradient + m;
    fit->trial = fit->step + m;
    fit->point = fit->trial + m; /* n <= m numbers */
    fit->part = fit->point + m;  /* a matrix of a site, or a vector */
    fit->hessian = fit->part + n * n + n;
    fit->room = fit->hessian + m * m; /* m * m; what keep_independent needs beyond it is scratch */
    fit->scratch = fit->room + m * m;
    return FPLT_OK;
}

static void take_point(const struct fit *fit, const double *theta, uint32_t site)
{
    for (size_t j = 0; j < fit->n; j++)
        fit->point[j] = theta[parameter_of(fit, site, j)];
}

static fplt_status sum_losses(const struct fit *fit, const double *theta, double *sum)
{
    *sum = 0;
    for (uint32_t i = 0; i < fit->losses->agents; i++) {
        double own;
        take_point(fit, theta, i);
        fplt_status status = fplt_objective_value(fit->losses, i, fit->point, &own, fit->scratch);
        if (status)
            return status;
        *sum += fit->losses->unit * own;
    }
    return FPLT_OK;
}

static fplt_status sum_derivatives(const struct fit *fit)
{
    size_t n = fit->n, m = fit->m;
    double unit = fit->losses->unit;
    memset(fit->gradient, 0, m * sizeof(double));
    memset(fit->hessian, 0, m * m * sizeof(double));
    for (uint32_t i = 0; i < fit->losses->agents; i++) {
        take_point(fit, fit->theta, i);
        fplt_status status =
            fplt_objective_gradient(fit->losses, i, fit->point, fit->part, fit->scratch);
        for (size_t j = 0; !status && j < n; j++)
            fit->gradient[parameter_of(fit, i, j)] += unit * fit->part[j];
        if (status || (status = fplt__objective_loss_hessian(fit->losses, i, fit->point, fit->part,
                                                             fit->scratch)))
            return status;
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                fit->hessian[parameter_of(fit, i, j) * m + parameter_of(fit, i, k)] +=
                    unit * fit->part[j * n + k];
    }
    return FPLT_OK;
}

/* The intercepts first, then the columns in their order. */
static fplt_status choose_kept(struct fit *fit, fplt_error *error)
{
    size_t *order, at = 0;
    double *room;
    fplt_status status = fplt__alloc_into(&order, fit->m, sizeof *order, "a fit", error);
    if (status)
        return status;
    if (!(status =
              fplt__alloc_into(&room, fit->m * fit->m + fit->m, sizeof *room, "a fit", error))) {
        for (size_t j = fit->n - 1; j < fit->m; j++)
            order[at++] = j;
        for (size_t j = 0; j + 1 < fit->n; j++)
            order[at++] = j;
        fplt__keep_independent(fit->hessian, fit->m, order, fit->m, room, fit->kept);
        fplt__free(room);
    }
    fplt__free(order);
    return status;
}

/* Parameters that are not kept have a diagonal of ones and no gradient: their step is 0. */
static void hold_others(const struct fit *fit)
{
    for (size_t i = 0; i < fit->m; i++) {
        if (fit->kept[i])
            continue;
        fit->gradient[i] = 0;
        for (size_t j = 0; j < fit->m; j++)
            fit->hessian[i * fit->m + j] = fit->hessian[j * fit->m + i] = i == j;
    }
}

/* One damped step of Newton's method; `gain` is the fall that is expected. 0: there is none. */
static int newton_step(struct fit *fit, double *gain)
{
    double next, length = 1;
    if (!fplt__cholesky_factor(&fplt__kernel_reference, fit->hessian, fit->m))
        return 0;
    memcpy(fit->step, fit->gradient, fit->m * sizeof(double));
    fplt__cholesky_solve(fit->hessian, fit->m, fit->step);
    *gain = 0;
    for (size_t j = 0; j < fit->m; j++)
        *gain += fit->step[j] * fit->gradient[j] / 2;
    for (int halving = 0; halving < HALVINGS; halving++, length /= 2) {
        for (size_t j = 0; j < fit->m; j++)
            fit->trial[j] = fit->theta[j] - length * fit->step[j];
        if (!sum_losses(fit, fit->trial, &next) && next <= fit->value - 1e-4 * length * *gain)
            break;
        if (*gain <= 1e-10 * fmax(1, fabs(fit->value)) && isfinite(next))
            break; /* at rounding the whole step is as good as any */
    }
    memcpy(fit->theta, fit->trial, fit->m * sizeof(double));
    fit->value = next;
    return isfinite(next);
}

/* From theta to the minimiser; leaves the Hessian there. A site with one class has its intercept at infinity, where the
 * losses converge. */
static fplt_status minimise(struct fit *fit, fplt_error *error)
{
    double gain = HUGE_VAL;
    fplt_status status = sum_losses(fit, fit->theta, &fit->value);
    for (int step = 0; !status && step < NEWTON_STEPS; step++) {
        if ((status = sum_derivatives(fit)) || (!step && (status = choose_kept(fit, error))))
            break;
        hold_others(fit);
        if (gain <= 1e-14 * fmax(1, fabs(fit->value)))
            return FPLT_OK;
        if (!newton_step(fit, &gain))
            break;
    }
    return fplt_error_set(error, status ? status : FPLT_UNREACHABLE,
                          "there is no fit without a penalty");
}

static double count_free(const struct fit *fit, double rows)
{
    for (size_t j = 0; j < fit->m; j++)
        rows -= fit->kept[j];
    return rows;
}

/* Standard errors of the parameters into `step`; the Hessian is lost. */
static fplt_status find_errors(struct fit *fit, double rows, fplt_error *error)
{
    double dispersion = fit->losses->loss->dispersed ? 2 * fit->value / count_free(fit, rows) : 1;
    fplt_status status = fplt__invert_kept(fit->hessian, fit->m, fit->kept, fit->room, error);
    for (size_t j = 0; !status && j < fit->m; j++)
        fit->step[j] = sqrt(dispersion * fit->hessian[j * fit->m + j]);
    return status;
}

/* The score test */

/* Sums of every site at the pooled fit, and room for a test: parameters of the pooled fit, then an intercept and a slope
 * of every site but the first. */
struct score_test {
    size_t n, size;
    uint32_t sites;
    double *information,
        *gradient; /* owned: n x n and n numbers a site, one block with those below */
    double *matrix, *room, *score;
    size_t *order;       /* owned */
    unsigned char *kept; /* owned */
    double rows;
};

static void clear_test(struct score_test *test)
{
    fplt__free(test->information);
    fplt__free(test->order);
    fplt__free(test->kept);
}

static fplt_status make_test(const struct fit *pooled, struct score_test *test, fplt_error *error)
{
    size_t n = pooled->n, sites = pooled->losses->agents, size = n + 2 * (sites - 1);
    *test = (struct score_test){.n = n, .sites = (uint32_t)sites, .size = size};
    fplt_status status =
        fplt__alloc_into(&test->information, sites * (n * n + n) + 2 * size * size + 2 * size,
                         sizeof(double), "a score test", error);
    if (!status)
        status = fplt__alloc_into(&test->order, size, sizeof *test->order, "a score test", error);
    if (!status)
        status = fplt__alloc_into(&test->kept, size, 1, "a score test", error);
    test->gradient = status ? NULL : test->information + sites * n * n;
    test->matrix = status ? NULL : test->gradient + sites * n;
    test->room = status ? NULL : test->matrix + size * size;
    test->score = status ? NULL : test->room + size * size + size;
    return status;
}

static fplt_status sum_sites(const struct fit *pooled, struct score_test *test, fplt_error *error)
{
    size_t n = test->n;
    double *facts;
    fplt_status status =
        fplt__alloc_into(&facts, fplt__facts_count(n), sizeof *facts, "a score test", error);
    for (uint32_t i = 0; !status && i < test->sites; i++) {
        double *gradient = test->gradient + i * n;
        fplt__information sums = {test->information + i * n * n, NULL, facts};
        if ((status = fplt__agent_information(pooled->losses, i, pooled->theta, &sums, error)) ||
            (status = fplt_objective_gradient(pooled->losses, i, pooled->theta, gradient,
                                              pooled->scratch)))
            break;
        test->rows += facts[FPLT__FACT_ROWS];
        for (size_t j = 0; j < n; j++)
            gradient[j] *= pooled->losses->unit;
    }
    fplt__free(facts);
    return status;
}

/* The information of the parameters of the test: site i adds its own at its intercept and its slope too. */
static void fill_information(struct score_test *test, size_t feature)
{
    size_t n = test->n, size = test->size;
    memset(test->matrix, 0, size * size * sizeof(double));
    memset(test->score, 0, size * sizeof(double));
    for (uint32_t i = 0; i < test->sites; i++) {
        const double *own = test->information + i * n * n;
        size_t added[2] = {n + 2 * (i - 1), n + 2 * (i - 1) + 1}, of[2] = {n - 1, feature};
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                test->matrix[j * size + k] += own[j * n + k];
        for (size_t a = 0; i && a < 2; a++) {
            test->score[added[a]] = test->gradient[i * n + of[a]];
            for (size_t j = 0; j < n; j++)
                test->matrix[j * size + added[a]] = test->matrix[added[a] * size + j] =
                    own[of[a] * n + j];
            for (size_t b = 0; b < 2; b++)
                test->matrix[added[a] * size + added[b]] = own[of[a] * n + of[b]];
        }
    }
}

/* Those of the pooled fit that it kept come first, so that what is left of the others is the test's. */
static void choose_tested(const struct fit *pooled, struct score_test *test, size_t *freedom)
{
    size_t count = 0;
    for (size_t j = 0; j < test->n; j++)
        if (pooled->kept[j])
            test->order[count++] = j;
    for (size_t j = test->n; j < test->size; j++)
        test->order[count++] = j;
    fplt__keep_independent(test->matrix, test->size, test->order, count, test->room, test->kept);
    *freedom = 0;
    for (size_t j = test->n; j < test->size; j++)
        *freedom += test->kept[j];
}

static fplt_status test_column(const struct fit *pooled, struct score_test *test,
                               fplt__pooling_column *column, fplt_error *error)
{
    size_t size = test->size, freedom;
    double form = 0;
    fill_information(test, column->feature);
    choose_tested(pooled, test, &freedom);
    fplt_status status = fplt__invert_kept(test->matrix, size, test->kept, test->room, error);
    if (status)
        return status;
    for (size_t i = test->n; i < size; i++)
        for (size_t j = test->n; j < size; j++)
            form += test->score[i] * test->matrix[i * size + j] * test->score[j];
    column->statistic = form;
    column->freedom = (double)freedom;
    column->residual_freedom = INFINITY;
    if (!pooled->losses->loss->dispersed) {
        column->p = fplt__chi_tail(form, column->freedom);
        return FPLT_OK;
    }
    double left = count_free(pooled, test->rows) - column->freedom;
    column->residual_freedom = left;
    column->statistic = form / column->freedom / ((2 * pooled->value - form) / left);
    column->p = left > 0 ? fplt__f_tail(column->statistic, column->freedom, left) : NAN;
    return FPLT_OK;
}

/* Opposite signs, a test that holds for all columns together, and a difference beyond chance: its variance is that of
 * the fit with fewer assumptions less that of the other [Hausman 1978]. */
static int reverses(const fplt__pooling_column *column, size_t count)
{
    double gap = column->pooled - column->within;
    double variance =
        column->within_error * column->within_error - column->pooled_error * column->pooled_error;
    return column->pooled * column->within < 0 && column->p * (double)count < level &&
           gap * gap > two_sided_5_percent * two_sided_5_percent * variance && variance > 0;
}

static fplt_status test_columns(struct fit *pooled, struct fit *within, struct score_test *test,
                                fplt__pooling_column *columns, size_t *count, fplt_error *error)
{
    fplt_status status = sum_sites(pooled, test, error);
    if (status || (status = find_errors(pooled, test->rows, error)) ||
        (status = find_errors(within, test->rows, error)))
        return status;
    for (size_t j = 0; !status && j + 1 < pooled->n; j++) {
        if (!pooled->kept[j] || !within->kept[j])
            continue;
        fplt__pooling_column *column = &columns[(*count)++];
        *column = (fplt__pooling_column){.feature = j,
                                         .pooled = pooled->theta[j],
                                         .pooled_error = pooled->step[j],
                                         .within = within->theta[j],
                                         .within_error = within->step[j]};
        status = test_column(pooled, test, column, error);
    }
    for (size_t i = 0; i < *count; i++)
        columns[i].reverses = reverses(&columns[i], *count);
    return status;
}

static int is_testable(const fplt_objective *o)
{
    if (!o->loss || !o->loss->likelihood || o->loss->whole || o->loss->pearson || o->loss->shared ||
        o->outputs != 1 || o->intercepts != 1 || o->clip > 0 || !o->weighed || o->agents < 2)
        return 0;
    for (uint32_t i = 0; i < o->agents; i++)
        if (!o->place[i].here)
            return 0;
    return 1;
}

static fplt_status fit_both(struct fit *pooled, struct fit *within, const double *x,
                            fplt_error *error)
{
    size_t n = pooled->n;
    memcpy(pooled->theta, x, n * sizeof *x);
    fplt_status status = minimise(pooled, error);
    for (size_t j = 0; !status && j < within->m; j++)
        within->theta[j] = pooled->theta[j < n ? j : n - 1];
    return status ? status : minimise(within, error);
}

fplt_status fplt__pooling_test(const fplt_objective *objective, const double *x,
                               fplt__pooling_column *columns, size_t *count, fplt_error *error)
{
    struct fit pooled, within = {.theta = NULL};
    struct score_test test = {.information = NULL};
    *count = 0;
    if (!is_testable(objective))
        return fplt_error_set(error, FPLT_UNSUPPORTED, "the cost has no score test of its sites");
    fplt_objective losses = fplt__objective_losses(objective);
    fplt_status status = make_fit(&losses, 0, &pooled, error);
    if (!status && !(status = make_fit(&losses, 1, &within, error)) &&
        !(status = make_test(&pooled, &test, error)) &&
        !(status = fit_both(&pooled, &within, x, error)))
        status = test_columns(&pooled, &within, &test, columns, count, error);
    clear_test(&test);
    clear_fit(&within);
    clear_fit(&pooled);
    return status;
}

/* The record */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* In the units of the file. */
static json_t *reversal_json(const fplt_model *model, const fplt__pooling_column *column)
{
    const double *scale = model->transform.scale;
    double unit = scale ? scale[column->feature] : 1;
    char room[32];
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:f}", "column",
                     fplt__model_feature_name(model, column->feature, room, sizeof room), "pooled",
                     column->pooled / unit, "pooled_error", column->pooled_error / unit,
                     "with_sites", column->within / unit, "with_sites_error",
                     column->within_error / unit, "statistic", column->statistic, "df",
                     column->freedom, "residual_df", number(column->residual_freedom), "p",
                     column->p);
}

static int is_asked(const fplt_job_view *view)
{
    const fplt_objective *o = view->objective;
    if (view->run.blind || !view->training || !fplt_dataset_agent_name(view->training, 0) ||
        fplt__job_setting_is(view->settings, "site-effects", "fixed"))
        return 0;
    double work = (double)fplt__dataset_all_rows(view->training) * (double)o->dimension *
                  (double)o->dimension;
    return o->agents <= MAX_SITES && o->dimension <= MAX_COORDINATES && work <= most_work;
}

fplt_status fplt__pooling_record(const fplt_job_view *view, fplt_model *model, fplt_error *error)
{
    fplt__pooling_column *columns;
    size_t count;
    if (!is_asked(view))
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&columns, view->objective->dimension, sizeof *columns,
                                          "a score test", error);
    if (status)
        return status;
    status = fplt__pooling_test(view->objective, model->weights, columns, &count, error);
    json_t *found = status ? NULL : json_array();
    for (size_t i = 0; found && i < count; i++)
        if (columns[i].reverses)
            json_array_append_new(found, reversal_json(model, &columns[i]));
    fplt__free(columns);
    if (found && json_array_size(found))
        status = fplt__model_add_record(model, "reversals", json_incref(found), error);
    json_decref(found);
    return status == FPLT_NO_MEMORY ? status : FPLT_OK; /* no test is no reason to lose a model */
}

static double member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void write_reversal(const json_t *line, fplt__buffer *text)
{
    const char *name = json_string_value(json_object_get(line, "column"));
    double left = member(line, "residual_df");
    fplt__buffer_format(text,
                        "%s: %+.4g over all rows, %+.4g with an intercept for every site; score "
                        "test of site x %s: ",
                        name, member(line, "pooled"), member(line, "with_sites"), name);
    if (isnan(left))
        fplt__buffer_format(text, "chi-squared %.2f on %.0f df", member(line, "statistic"),
                            member(line, "df"));
    else
        fplt__buffer_format(text, "F %.2f on %.0f and %.0f df", member(line, "statistic"),
                            member(line, "df"), left);
    fplt__buffer_format(text, ", p %.2g\n", member(line, "p"));
}

fplt_status fplt__pooling_text(const fplt_model *model, char **text, fplt_error *error)
{
    fplt__buffer lines = {NULL, 0, 0, FPLT_OK};
    json_t *record = model->info.training ? json_loads(model->info.training, 0, NULL) : NULL;
    const json_t *found = json_object_get(record, "reversals");
    for (size_t i = 0; i < json_array_size(found); i++)
        if (json_is_string(json_object_get(json_array_get(found, i), "column")))
            write_reversal(json_array_get(found, i), &lines);
    json_decref(record);
    *text = lines.text && !lines.status ? fplt__strdup(lines.text) : NULL;
    fplt_status status = lines.status || (lines.text && !*text) ? FPLT_NO_MEMORY : FPLT_OK;
    fplt__buffer_clear(&lines);
    return status ? fplt_error_set(error, status, "no memory for a text") : FPLT_OK;
}
