/* The sums behind standard errors, in a model's file. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "report/inference.h"
#include "report/model.h"

fplt_status fplt__inference_copy(const fplt_inference *from, size_t n, fplt_inference *to,
                                 fplt_error *error)
{
    fplt_inference made = *from;
    made.information = made.scores = NULL;
    fplt_status status =
        fplt__alloc_into(&made.information, n * n, sizeof(double), "the information", error);
    if (!status && from->scores)
        status = fplt__alloc_into(&made.scores, n * n, sizeof(double), "the information", error);
    if (status) {
        fplt__inference_clear(&made);
        return status;
    }
    memcpy(made.information, from->information, n * n * sizeof(double));
    if (from->scores)
        memcpy(made.scores, from->scores, n * n * sizeof(double));
    *to = made;
    return FPLT_OK;
}

void fplt__inference_clear(fplt_inference *inference)
{
    fplt__free(inference->information);
    fplt__free(inference->scores);
    *inference = (fplt_inference){.information = NULL};
}

static json_t *triangle(const double *matrix, size_t n)
{
    json_t *made = matrix ? json_array() : json_null();
    for (size_t i = 0; matrix && made && i < n; i++)
        for (size_t j = 0; j <= i; j++)
            json_array_append_new(made, json_real(matrix[i * n + j]));
    return made;
}

/* Numbers that earlier programs did not write. */
static const struct {
    const char *name;
    size_t place;
    int is_new; /* 0 where a file lacks it */
} numbers[] = {
    {"rows", offsetof(fplt_inference, rows), 0},
    {"events", offsetof(fplt_inference, events), 0},
    {"losses", offsetof(fplt_inference, losses), 0},
    {"log_weights", offsetof(fplt_inference, log_weights), 0},
    {"constant", offsetof(fplt_inference, constant), 0},
    {"zero_losses", offsetof(fplt_inference, zero_losses), 0},
    {"null_losses", offsetof(fplt_inference, null_losses), 0},
    {"pearson", offsetof(fplt_inference, pearson), 1},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

static json_t *with_numbers(json_t *made, const fplt_inference *inference)
{
    for (size_t i = 0; made && inference->rows > 0 && i < NUMBERS; i++) {
        double value;
        memcpy(&value, (const char *)inference + numbers[i].place, sizeof value);
        if (json_object_set_new(made, numbers[i].name,
                                isfinite(value) ? json_real(value) : json_null())) {
            json_decref(made);
            made = NULL;
        }
    }
    return made;
}

json_t *fplt__inference_json(const fplt_inference *inference, size_t n)
{
    json_t *made =
        json_pack("{s:f, s:f, s:b, s:b, s:o, s:o}", "records", inference->records, "dispersion",
                  inference->dispersion, "penalised", inference->penalised, "by_rows",
                  inference->by_rows, "information", triangle(inference->information, n), "scores",
                  triangle(inference->scores, n));
    return with_numbers(made, inference);
}

static fplt_status refuse(const char *path, const char *field, const char *legal, fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_DATA, "%s: the field inference.%s must be %s", path,
                          field, legal);
}

static fplt_status read_number(const json_t *object, const char *path, const char *field,
                               double *value, fplt_error *error)
{
    const json_t *found = json_object_get(object, field);
    *value = json_number_value(found);
    if (!json_is_number(found) || !isfinite(*value) || *value < 0)
        return refuse(path, field, "a number of at least 0", error);
    return FPLT_OK;
}

/* All or none of those that earlier programs did not write; null where one is not known. */
static fplt_status read_numbers(const json_t *object, const char *path, fplt_inference *inference,
                                fplt_error *error)
{
    if (!json_object_get(object, numbers[0].name))
        return FPLT_OK;
    for (size_t i = 0; i < NUMBERS; i++) {
        const json_t *found = json_object_get(object, numbers[i].name);
        if (!found && numbers[i].is_new)
            continue;
        double value = json_is_null(found) ? NAN : json_number_value(found);
        if (!json_is_null(found) && (!json_is_number(found) || !isfinite(value)))
            return refuse(path, numbers[i].name, "a finite number or null", error);
        memcpy((char *)inference + numbers[i].place, &value, sizeof value);
    }
    return inference->rows > 0 ? FPLT_OK : refuse(path, "rows", "above 0", error);
}

static fplt_status read_truth(const json_t *object, const char *path, const char *field, int *value,
                              fplt_error *error)
{
    const json_t *found = json_object_get(object, field);
    *value = json_is_true(found);
    return json_is_boolean(found) ? FPLT_OK : refuse(path, field, "true or false", error);
}

static fplt_status read_triangle(const json_t *object, const char *path, const char *field,
                                 size_t n, double **matrix, fplt_error *error)
{
    const json_t *found = json_object_get(object, field);
    if (!json_is_array(found) || json_array_size(found) != n * (n + 1) / 2)
        return refuse(path, field, "the lower triangle of a matrix of the model's dimension",
                      error);
    fplt_status status = fplt__alloc_into(matrix, n * n, sizeof **matrix, "the information", error);
    size_t at = 0;
    for (size_t i = 0; !status && i < n; i++)
        for (size_t j = 0; !status && j <= i; j++) {
            const json_t *number = json_array_get(found, at++);
            double value = json_number_value(number);
            if (!json_is_number(number) || !isfinite(value))
                status = refuse(path, field, "an array of finite numbers", error);
            (*matrix)[i * n + j] = (*matrix)[j * n + i] = value;
        }
    return status;
}

fplt_status fplt__inference_read(const json_t *object, const char *path, size_t n,
                                 fplt_inference *inference, fplt_error *error)
{
    fplt_status status;
    if (!json_is_object(object))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: the field inference must be an object or null", path);
    if ((status = read_number(object, path, "records", &inference->records, error)) ||
        (status = read_number(object, path, "dispersion", &inference->dispersion, error)) ||
        (status = read_numbers(object, path, inference, error)) ||
        (status = read_truth(object, path, "penalised", &inference->penalised, error)) ||
        (status = read_truth(object, path, "by_rows", &inference->by_rows, error)) ||
        (status = read_triangle(object, path, "information", n, &inference->information, error)))
        return status;
    if (json_is_null(json_object_get(object, "scores")))
        return FPLT_OK;
    return read_triangle(object, path, "scores", n, &inference->scores, error);
}
