/* Which coefficients have standard errors, and their covariance: the inverse of the information, or the sandwich
 * I^-1 S I^-1 with S the sum of the records' scores [Huber 1967, White 1980]. */
#include "report/covariance.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "fedplt/settings.h"
#include "base/text.h"
#include "linalg/cholesky.h"
#include "report/export.h"

/* Residual of a column given the others, relative to the column, at which only rounding is left. */
static const double nothing = 1e-13;

/* Length of the name of the column that a level is of; 0: this is no level. */
static size_t stem_of(const char *name)
{
    const char *sign = strchr(name, '=');
    return sign ? (size_t)(sign - name) : 0;
}

static int is_first_level(const fplt_model *model, size_t feature)
{
    const char *const *names = model->info.feature_names;
    size_t stem = names ? stem_of(names[feature]) : 0;
    return stem && (!feature || stem_of(names[feature - 1]) != stem ||
                    strncmp(names[feature - 1], names[feature], stem) != 0);
}

fplt_status fplt__coefficient_order(const fplt_model *model, size_t **order, size_t *count,
                                    fplt_error *error)
{
    size_t features = model->info.features, outputs = model->outputs, made = 0;
    fplt_status status =
        fplt__alloc_into(order, model->info.dimension, sizeof **order, "the coefficients", error);
    if (status)
        return status;
    for (size_t k = outputs > 1; k < outputs; k++) {
        if (model->info.intercept)
            (*order)[made++] = outputs * features + k;
        for (int last = 0; last < 2; last++)
            for (size_t j = 0; j < features; j++)
                if (is_first_level(model, j) == last)
                    (*order)[made++] = k * features + j;
    }
    *count = made;
    return FPLT_OK;
}

void fplt__keep_independent(const double *matrix, size_t n, const size_t *order, size_t count,
                            double *room, unsigned char *kept)
{
    double *factor = room, *row = room + n * n;
    size_t rank = 0;
    memset(kept, 0, n);
    for (size_t i = 0; i < count; i++) {
        size_t at = order[i], position = 0;
        double left = matrix[at * n + at];
        for (size_t before = 0; before < i; before++) {
            if (!kept[order[before]])
                continue;
            double sum = matrix[at * n + order[before]];
            for (size_t k = 0; k < position; k++)
                sum -= factor[position * n + k] * row[k];
            row[position] = sum / factor[position * n + position];
            left -= row[position] * row[position];
            position++;
        }
        if (!(left > nothing * matrix[at * n + at]))
            continue;
        row[rank] = sqrt(left);
        memcpy(factor + rank * n, row, (rank + 1) * sizeof *row);
        kept[at] = 1;
        rank++;
    }
}

/* Whether a column is, but for rounding, a sum of those before it: what they leave of it is its pivot. */
static int depends(const double *diagonal, const double *factor, size_t n)
{
    for (size_t j = 0; j < n; j++)
        if (!(factor[j * n + j] * factor[j * n + j] > nothing * diagonal[j]))
            return 1;
    return 0;
}

static fplt_status refuse_dependent(fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNREACHABLE,
                          "the columns depend on each other (a category with all its levels beside "
                          "an intercept, or a constant column): the coefficients have no standard "
                          "errors; --refit leaves such columns out");
}

/* The matrix of what is kept, in the front of `to`; how many that are. */
static size_t pack_kept(const double *from, size_t n, const unsigned char *kept, double *to)
{
    size_t rank = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        rank += kept[i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; kept[i] && j < n; j++)
            if (kept[j])
                to[at++] = from[i * n + j];
    return rank;
}

fplt_status fplt__invert_kept(double *matrix, size_t n, const unsigned char *kept, double *room,
                              fplt_error *error)
{
    double *diagonal;
    fplt_status status =
        fplt__alloc_into(&diagonal, 2 * n, sizeof(double), "the covariance", error);
    if (status)
        return status;
    double *column = diagonal + n;
    size_t rank = pack_kept(matrix, n, kept, room);
    for (size_t j = 0; j < rank; j++)
        diagonal[j] = room[j * rank + j];
    if (!fplt__cholesky_factor(&fplt__kernel_reference, room, rank) ||
        depends(diagonal, room, rank)) {
        fplt__free(diagonal);
        return refuse_dependent(error);
    }
    memset(matrix, 0, n * n * sizeof *matrix);
    for (size_t j = 0, at = 0; j < n; j++) {
        if (!kept[j])
            continue;
        memset(column, 0, rank * sizeof *column);
        column[at++] = 1;
        fplt__cholesky_solve(room, rank, column);
        for (size_t i = 0, row = 0; i < n; i++)
            if (kept[i])
                matrix[j * n + i] = column[row++];
    }
    fplt__free(diagonal);
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
            double held = matrix[i * n + j];
            matrix[i * n + j] = matrix[j * n + i];
            matrix[j * n + i] = held;
        }
}

/* Estimates and covariance of `map` times the coefficients; the map is lost. */
static void transform_estimates(fplt__estimates *made, double *map)
{
    size_t n = made->n;
    double *held = made->other;
    for (size_t i = 0; i < n; i++) {
        held[i] = 0;
        for (size_t j = 0; j < n; j++)
            held[i] += map[i * n + j] * made->estimate[j];
    }
    memcpy(made->estimate, held, n * sizeof *held);
    multiply(map, made->covariance, n, made->other);
    transpose(map, n);
    multiply(made->other, map, n, made->covariance);
}

/* The map from the model's coefficients to those in the units of the file. */
static void fill_units(const fplt_model *model, double *map)
{
    const fplt_transform *t = &model->transform;
    size_t n = model->info.dimension, features = model->info.features, outputs = model->outputs;
    memset(map, 0, n * n * sizeof *map);
    for (size_t i = 0; i < n; i++)
        map[i * n + i] = 1;
    for (size_t k = 0; k < outputs; k++)
        for (size_t j = 0; j < features; j++) {
            size_t own = k * features + j;
            map[own * n + own] = t->scale ? 1 / t->scale[j] : 1;
            if (model->info.intercept && t->mean)
                map[(outputs * features + k) * n + own] = -t->mean[j] * map[own * n + own];
        }
}

/* Levels: those left out are what the others of their category are compared with */

/* The place of column `feature` in output `output`; past the last column the intercept. */
static size_t place_of(const fplt_model *model, size_t output, size_t feature)
{
    size_t features = model->info.features;
    return feature < features ? output * features + feature : model->outputs * features + output;
}

static int is_same_category(const fplt_model *model, size_t a, size_t b)
{
    const char *const *names = model->info.feature_names;
    size_t stem = stem_of(names[a]);
    return stem && stem_of(names[b]) == stem && strncmp(names[a], names[b], stem) == 0;
}

static void mark_references(const fplt_model *model, fplt__estimates *made)
{
    for (size_t k = model->outputs > 1; k < model->outputs; k++)
        for (size_t j = 0; j < model->info.features; j++)
            made->reference[place_of(model, k, j)] =
                is_first_level(model, j) && !made->kept[place_of(model, k, j)];
}

/* Of the category of a level, the one that is left out; FPLT_UNSUPPORTED where that is not one. */
static fplt_status find_left_out(const fplt_model *model, const fplt__estimates *made, size_t level,
                                 size_t *found, fplt_error *error)
{
    size_t count = 0, output = model->outputs > 1;
    for (size_t j = 0; j < model->info.features; j++)
        if (is_same_category(model, level, j) && !made->kept[place_of(model, output, j)]) {
            *found = j;
            count++;
        }
    if (count == 1 && model->info.intercept && !model->info.inference->penalised)
        return FPLT_OK;
    return fplt_error_set(
        error, FPLT_UNSUPPORTED, "reference: %s: %s", model->info.feature_names[level],
        model->info.inference->penalised
            ? "the model has a penalty, which depends on the reference; add --refit"
        : !model->info.intercept
            ? "without an intercept levels are compared with nothing"
            : "the category has no column for every one of its levels (drop-first-level, or a "
              "schema's base), so that its reference cannot be changed");
}

/* Level `to` takes the place of `from`: others lose its coefficient, the intercept gains it. */
static void change_reference(const fplt_model *model, size_t from, size_t to, fplt__estimates *made)
{
    size_t n = made->n, features = model->info.features;
    double *map = made->room;
    memset(map, 0, n * n * sizeof *map);
    for (size_t i = 0; i < n; i++)
        map[i * n + i] = 1;
    for (size_t k = model->outputs > 1; k < model->outputs; k++) {
        size_t new = place_of(model, k, to), old = place_of(model, k, from);
        for (size_t j = 0; j < features; j++)
            if (is_same_category(model, to, j))
                map[place_of(model, k, j) * n + new] -= 1;
        map[place_of(model, k, features) * n + new] += 1;
        made->kept[new] = made->reference[old] = 0;
        made->kept[old] = made->reference[new] = 1;
    }
    transform_estimates(made, map);
}

static fplt_status choose_references(const fplt_model *model, const char *list,
                                     fplt__estimates *made, fplt_error *error)
{
    char name[512];
    mark_references(model, made);
    while (list && *list) {
        size_t j = 0, from = 0;
        list = fplt__list_next(list, name, sizeof name);
        while (j < model->info.features &&
               !(model->info.feature_names && strcmp(model->info.feature_names[j], name) == 0))
            j++;
        if (j == model->info.features || !stem_of(name))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "reference: there is no level '%.200s'; a level is written "
                                  "column=level",
                                  name);
        if (made->reference[place_of(model, model->outputs > 1, j)])
            continue;
        fplt_status status = find_left_out(model, made, j, &from, error);
        if (status)
            return status;
        change_reference(model, from, j, made);
    }
    return FPLT_OK;
}

/* Coefficients minus those of the first class. */
static void take_contrasts(const fplt_model *model, double *estimate)
{
    size_t features = model->info.features, outputs = model->outputs;
    for (size_t k = outputs; k-- > 0;) {
        for (size_t j = 0; j < features; j++)
            estimate[k * features + j] -= estimate[j];
        if (model->info.intercept)
            estimate[outputs * features + k] -= estimate[outputs * features];
    }
}

/* A coefficient without information was left out by a refit; the first class is what others are compared with. */
static void find_kept(const fplt_model *model, unsigned char *kept)
{
    size_t n = model->info.dimension, features = model->info.features, outputs = model->outputs;
    const double *information = model->info.inference->information;
    for (size_t j = 0; j < n; j++) {
        size_t output = j < outputs * features ? j / features : j - outputs * features;
        kept[j] = information[j * n + j] > 0 && (outputs == 1 || output > 0);
    }
}

size_t fplt__inference_rank(const fplt_model *model)
{
    size_t n = model->info.dimension, rank = 0;
    for (size_t j = 0; j < n; j++)
        rank += model->info.inference->information[j * n + j] > 0;
    return model->outputs > 1 && rank == n ? n - n / model->outputs : rank;
}

double fplt__inference_rows(const fplt_inference *inference)
{
    return inference->rows > 0 ? inference->rows : inference->records;
}

int fplt__is_perfect(const fplt_model *model)
{
    const double rounding = 1e-24; /* of squares */
    const fplt_inference *inference = model->info.inference;
    double whole = model->kind->pearson ? inference->records : 2 * inference->zero_losses;
    return model->kind->dispersed && inference->rows > 0 &&
           fplt__inference_spread(model->kind, inference) <= rounding * whole;
}

/* The factor of the covariance, and the distribution of an estimate over its error. */
static double find_dispersion(const fplt_model *model, fplt__estimates *made)
{
    const fplt_inference *inference = model->info.inference;
    double freedom = fplt__inference_rows(inference) - (double)made->rank;
    made->freedom = HUGE_VAL;
    if (!model->kind->dispersed)
        return 1;
    made->freedom = freedom;
    if (!(freedom > 0)) {
        made->flaw = "There are as many coefficients as rows: nothing is left to estimate errors "
                     "from.";
        return NAN;
    }
    if (fplt__is_perfect(model)) {
        made->flaw =
            "The fit is perfect, its residuals are rounding: errors and tests say nothing.";
        return NAN;
    }
    return inference->rows > 0 ? fplt__inference_spread(model->kind, inference) / freedom
                               : inference->dispersion;
}

static fplt_status fill_covariance(const fplt_model *model, int robust, fplt__estimates *made,
                                   fplt_error *error)
{
    const fplt_inference *inference = model->info.inference;
    size_t n = made->n;
    double dispersion = find_dispersion(model, made);
    memcpy(made->covariance, inference->information, n * n * sizeof(double));
    fplt_status status = fplt__invert_kept(made->covariance, n, made->kept, made->room, error);
    if (status)
        return status;
    if (robust) {
        multiply(inference->scores, made->covariance, n, made->other);
        memcpy(made->room, made->covariance, n * n * sizeof(double));
        multiply(made->room, made->other, n, made->covariance);
        dispersion = made->flaw ? NAN : 1;
    }
    for (size_t i = 0; i < n * n; i++)
        made->covariance[i] *= dispersion;
    return FPLT_OK;
}

fplt_status fplt__estimate(const fplt_model *model, const fplt_summary_settings *settings,
                           fplt__estimates *made, fplt_error *error)
{
    size_t n = model->info.dimension;
    fplt_status status;
    *made = (fplt__estimates){.n = n};
    if ((status = fplt__alloc_into(&made->estimate, n + 3 * n * n, sizeof(double), "the covariance",
                                   error)) ||
        (status = fplt__alloc_into(&made->kept, 2 * n, 1, "the covariance", error))) {
        fplt__estimates_clear(made);
        return status;
    }
    made->reference = made->kept + n;
    made->covariance = made->estimate + n;
    made->room = made->covariance + n * n;
    made->other = made->room + n * n;
    memcpy(made->estimate, model->info.weights, n * sizeof(double));
    if (model->outputs > 1)
        take_contrasts(model, made->estimate);
    find_kept(model, made->kept);
    for (size_t j = 0; j < n; j++)
        made->rank += made->kept[j];
    if ((status = fill_covariance(model, settings->robust, made, error))) {
        fplt__estimates_clear(made);
        return status;
    }
    if (settings->own_units && !(model->transform.radius > 0)) {
        fill_units(model, made->room);
        transform_estimates(made, made->room);
    }
    if ((status = choose_references(model, settings->reference, made, error)))
        fplt__estimates_clear(made);
    return status;
}

void fplt__estimates_clear(fplt__estimates *estimates)
{
    fplt__free(estimates->estimate);
    fplt__free(estimates->kept);
    *estimates = (fplt__estimates){.n = 0};
}
