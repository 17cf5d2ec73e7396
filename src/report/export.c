/* Models in other programs' forms: ONNX, and coefficients by name. */
#include "report/quantities.h"
#include "report/export.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "fedplt/export.h"
#include "fedplt/report.h"
#include "report/report.h"

const char *fplt__model_feature_name(const fplt_model *model, size_t feature, char *room,
                                     size_t size)
{
    if (model->info.feature_names)
        return model->info.feature_names[feature];
    snprintf(room, size, "%zu", feature + 1);
    return room;
}

fplt_status fplt__model_feature_list(const fplt_model *model, char **text, fplt_error *error)
{
    json_t *names = json_array();
    char room[32];
    *text = NULL;
    for (size_t j = 0; names && j < model->info.features; j++)
        json_array_append_new(names,
                              json_string(fplt__model_feature_name(model, j, room, sizeof room)));
    char *made = names && json_array_size(names) == model->info.features
                     ? json_dumps(names, JSON_COMPACT)
                     : NULL;
    json_decref(names);
    if (made)
        *text = fplt__strdup(made);
    free(made);
    return *text ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the names");
}

/* The coefficient in the units of the file: what standardising did is undone. */
static double in_own_units(const fplt_transform *transform, size_t feature, double weight)
{
    if (transform->radius > 0)
        return NAN;
    return transform->scale ? weight / transform->scale[feature] : weight;
}

static double own_intercept(const fplt_model *model, const double *weights, double intercept)
{
    const fplt_transform *t = &model->transform;
    if (t->radius > 0)
        return NAN;
    for (size_t j = 0; t->mean && j < model->info.features; j++)
        intercept -= in_own_units(t, j, weights[j]) * t->mean[j];
    return intercept;
}

static void add_row(const fplt_model *model, fplt_table *table, uint32_t output, const char *name,
                    double weight, double own)
{
    if (model->outputs > 1)
        fplt__table_text(table, model->info.class_names[output]);
    fplt__table_text(table, name);
    fplt__table_number(table, weight, 6);
    fplt__table_number(table, own, 6);
}

static void fill_coefficients(const fplt_model *model, fplt_table *table)
{
    const fplt_model_info *info = &model->info;
    size_t n = info->features;
    char room[32];
    for (uint32_t k = 0; k < model->outputs; k++) {
        const double *weights = info->weights + k * n;
        double intercept = info->intercept ? info->weights[model->outputs * n + k] : 0;
        for (size_t j = 0; j < n; j++)
            add_row(model, table, k, fplt__model_feature_name(model, j, room, sizeof room),
                    weights[j], in_own_units(&model->transform, j, weights[j]));
        if ((info->intercept && !fplt__quantities_hide_intercept(model)) ||
            (!info->intercept && model->transform.mean))
            add_row(model, table, k, "(intercept)", intercept,
                    own_intercept(model, weights, intercept));
    }
    double intercept = info->intercept ? info->weights[model->outputs * n] : 0;
    for (size_t i = 0; i < fplt__quantities_count(model); i++) {
        char name[256];
        fplt__quantity_name(model, i, name, sizeof name);
        add_row(model, table, 0, name, fplt__quantity_value(model, i, intercept),
                fplt__quantity_value(model, i, own_intercept(model, info->weights, intercept)));
    }
}

fplt_status fplt_model_coefficients(const fplt_model *model, fplt_table **table, fplt_error *error)
{
    static const char *const columns[] = {"class", "name", "coefficient", "in_own_units"};
    int several = model->outputs > 1;
    fplt_status status = fplt__table_create(columns + !several, 3 + several, table, error);
    if (!status)
        fill_coefficients(model, *table);
    return status;
}

static fplt_status write_csv(const fplt_model *model, const char *path, fplt_error *error)
{
    fplt_table *table;
    char *text = NULL;
    fplt_status status = fplt_model_coefficients(model, &table, error);
    if (status)
        return status;
    if (!(status = fplt_table_render(table, FPLT_TABLE_CSV, &text, error)))
        status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt_free(text);
    fplt_table_destroy(table);
    return status;
}

static fplt_status write_onnx(const fplt_model *model, const char *path, fplt_error *error)
{
    void *bytes;
    size_t size;
    fplt_status status = fplt__model_onnx(model, &bytes, &size, error);
    if (!status)
        status = fplt__file_save(path, 0666, bytes, size, error);
    fplt__free(bytes);
    return status;
}

static const struct form {
    const char *name;
    fplt_status (*write)(const fplt_model *model, const char *path, fplt_error *error);
} forms[] = {
    {"onnx", write_onnx},
    {"csv", write_csv},
};

enum { FORMS = sizeof forms / sizeof *forms };

fplt_status fplt_model_export(const fplt_model *model, const char *form, const char *path,
                              fplt_error *error)
{
    for (size_t i = 0; i < FORMS; i++)
        if (strcmp(form, forms[i].name) == 0)
            return forms[i].write(model, path, error);
    return fplt_error_set(error, FPLT_BAD_VALUE, "the form is '%.80s', but it must be onnx or csv",
                          form);
}
