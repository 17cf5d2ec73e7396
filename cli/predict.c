/* fedplt predict: labels and probabilities for new rows. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "fedplt/read.h"
#include "fedplt/model.h"
#include "base/file.h"
#include "data/dataset_access.h"
#include "fedplt/schema.h"
#include "report/model_access.h"

static const fplt_setting table[] = {
    {"out", FPLT_TEXT, 0, NULL, 0, 0, NULL, "file to write; by default, or for -, standard output",
     0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "write one JSON document instead of CSV", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_settings_add(settings, "data", cli_reading_table, error);
    return status ? status : fplt_settings_add(settings, "output", table, error);
}

struct predictions {
    double *scores, *probabilities, *predicted; /* owned; the second may be NULL */
};

static fplt_status predict(const fplt_model *model, const fplt_rows *rows, struct predictions *made,
                           fplt_error *error)
{
    fplt_status status;
    size_t outputs = fplt_model_outputs(model), classes = fplt_model_get_view(model)->classes;
    if ((status =
             cli_alloc(&made->scores, rows->count * outputs, sizeof(double), "scores", error)) ||
        (status = cli_alloc(&made->predicted, rows->count, sizeof(double), "predictions", error)))
        return status;
    if (fplt_model_has_probabilities(model) &&
        (status = cli_alloc(&made->probabilities, rows->count * classes, sizeof(double),
                            "probabilities", error)))
        return status;
    return fplt_model_predict(model, rows, made->scores, made->probabilities, made->predicted,
                              error);
}

/* Numbers of the rows in the files, from 1. */
struct numbering {
    const size_t *left_out;
    size_t count, passed;
};

/* Rows are asked for in their order. */
static size_t number_of(struct numbering *numbering, size_t row)
{
    while (numbering->passed < numbering->count &&
           numbering->left_out[numbering->passed] <= row + numbering->passed)
        numbering->passed++;
    return row + numbering->passed + 1;
}

static json_t *numbers(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, cli_json_number(values[i]));
    return array;
}

/* A row has its number always, the rest as far as there is any. */
static json_t *row_json(const fplt_model_info *info, const struct predictions *made, size_t row)
{
    json_t *object = json_object();
    uint32_t classes = info->classes;
    if (!classes) {
        json_object_set_new(object, "value", cli_json_number(made->predicted[row]));
        return object;
    }
    json_object_set_new(object, "label",
                        json_string(info->class_names[(size_t)made->predicted[row]]));
    if (made->probabilities)
        json_object_set_new(object, "probabilities",
                            numbers(made->probabilities + row * classes, classes));
    else
        json_object_set_new(object, "score", cli_json_number(made->scores[row]));
    return object;
}

static json_t *document(const fplt_model *model, const struct predictions *made,
                        const fplt_dataset *dataset, struct numbering *numbering)
{
    const fplt_model_info *info = fplt_model_get_view(model);
    json_t *rows = json_array(), *classes = info->classes ? json_array() : json_null();
    for (uint32_t k = 0; k < info->classes; k++)
        json_array_append_new(classes, json_string(info->class_names[k]));
    for (size_t i = 0; i < fplt_dataset_rows(dataset); i++) {
        json_t *row = row_json(info, made, i);
        json_object_set_new(row, "row", json_integer((json_int_t)number_of(numbering, i)));
        if (fplt__dataset_row_id(dataset, i))
            json_object_set_new(row, "id", json_string(fplt__dataset_row_id(dataset, i)));
        json_array_append_new(rows, row);
    }
    return json_pack("{s:o, s:o}", "classes", classes, "rows", rows);
}

/* To the file, or to standard output. */
static fplt_status put(cli_call *cli, const char *text, fplt_error *error)
{
    const char *path = cli_out(cli);
    cli->running = 1;
    if (path)
        return fplt__file_save(path, 0666, text, strlen(text), error);
    fputs(text, stdout);
    return FPLT_OK;
}

static fplt_status deliver_json(cli_call *cli, json_t *made, fplt_error *error)
{
    char *text = made ? json_dumps(made, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(made);
    if (!text)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the JSON document");
    fplt_status status = put(cli, text, error);
    if (!cli_out(cli))
        puts("");
    free(text);
    return status;
}

/* One JSON document, which needs all rows. */
static fplt_status run_json(cli_call *cli, const fplt_model *model, fplt_error *error)
{
    struct predictions made = {NULL, NULL, NULL};
    fplt_dataset *dataset = NULL;
    fplt_status status = cli_model_data(cli, model, 0, &dataset, error);
    if (!status) {
        fplt_rows rows = fplt_dataset_all(dataset);
        struct numbering numbering = {.count = 0};
        numbering.left_out = fplt__dataset_left_out(dataset, &numbering.count);
        if (!(status = predict(model, &rows, &made, error)))
            status = deliver_json(cli, document(model, &made, dataset, &numbering), error);
    }
    free(made.scores);
    free(made.probabilities);
    free(made.predicted);
    fplt_dataset_destroy(dataset);
    return status;
}

/* Text for a file that appears whole or not at all, or for standard output. */
struct target {
    cli_call *cli;
    const char *path; /* NULL: standard output */
    fplt__file *file; /* opened when the first text comes */
};

/* Bad data in later rows still count as bad data: only a failure to write is one of running. */
static fplt_status write_text(void *to, const char *text, size_t length, fplt_error *error)
{
    struct target *target = to;
    fplt_status status = FPLT_OK;
    if (!target->path && fwrite(text, 1, length, stdout) != length)
        status = cli_flush(error);
    if (target->path && !target->file)
        status = fplt__file_open(target->path, 0666, &target->file, error);
    if (target->path && !status)
        status = fplt__file_write(target->file, text, length, error);
    target->cli->running |= status != FPLT_OK;
    return status;
}

static fplt_status run_csv(cli_call *cli, const fplt_model *model, fplt_error *error)
{
    struct target target = {cli, cli_out(cli), NULL};
    fplt_read_settings read;
    fplt_schema *schema;
    fplt_status status = cli_model_reading(cli, 0, &read, &schema, error);
    if (!status)
        status = fplt__predictions_write(model, cli->arguments + 1, cli->argument_count - 1, &read,
                                         write_text, &target, error);
    fplt_schema_destroy(schema);
    if (!target.file)
        return status;
    if (!status) {
        cli->running = 1;
        return fplt__file_commit(target.file, error);
    }
    fplt__file_abort(target.file);
    return status;
}

static fplt_status run_predict(cli_call *cli, fplt_error *error)
{
    fplt_model *model = NULL;
    const char *path = cli_out(cli);
    fplt_status status = path ? cli_protect(cli, path, error) : FPLT_OK;
    if (!status)
        status = fplt_model_read(cli->arguments[0], &model, error);
    if (!status)
        status = fplt_settings_switch(cli->settings, "json") ? run_json(cli, model, error)
                                                             : run_csv(cli, model, error);
    fplt_model_destroy(model);
    return status;
}

const cli_command cli_predict[] = {
    {.name = "predict",
     .summary = "labels and probabilities for new rows",
     .arguments = "MODEL DATA...",
     .about =
         "Writes one line a row, in the order of the files: the predicted label and the "
         "probability of every class (a score for losses without probabilities, the value in "
         "regression), behind the id of the row where there is one. CSV columns are found by their "
         "names; labels, if there are any, are not "
         "looked at. A long CSV file is answered while it is read, so that standard output may "
         "have "
         "lines before a bad row. With --missing drop a first column has the number of the row in "
         "the files, "
         "from 1, because rows with missing values have no line.",
     .examples = "fedplt predict fedplt-out/model.json new.csv --out predictions.csv\n"
                 "fedplt predict model.json new.libsvm | head",
     .least = 2,
     .most = 1000000,
     .declare = declare,
     .run = run_predict},
    {.name = NULL},
};
