/* Predictions as CSV text, block by block where a file is long. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset_access.h"
#include "data/rows_write.h"
#include "report/model.h"
#include "report/model_access.h"
#include "report/table.h"

/* So many outputs have their scores on the stack. */
enum { FEW_OUTPUTS = 16 };

struct predictions {
    const fplt_model *model;
    const char *id; /* name of the column of ids; NULL: there is none */
    int numbered;
    fplt__text_sink write;
    void *to;
    size_t done;   /* rows that are written */
    size_t passed; /* rows of the blocks before, with those that were left out */
    fplt_rows rows;
    const size_t *left_out;
    size_t left_out_count;
};

/* The number of a row in the files, from 1, if `left_out` rows before it are not there. */
static size_t number_of(const struct predictions *predictions, size_t row)
{
    size_t low = 0, high = predictions->left_out_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (predictions->left_out[middle] <= row + middle)
            low = middle + 1;
        else
            high = middle;
    }
    return predictions->passed + row + low + 1;
}

static void put_number(fplt__buffer *text, double value)
{
    fplt__buffer_add_bytes(text, ",", 1);
    if (isfinite(value))
        fplt__buffer_digits(text, value);
}

static void put_answer(const struct predictions *predictions, size_t row, double *scores,
                       double *probabilities, fplt__buffer *text)
{
    const fplt_model_info *info = &predictions->model->info;
    double predicted;
    int probable = predictions->model->kind->probable;
    fplt__model_answer(predictions->model, &predictions->rows, row, scores,
                       probable ? probabilities : NULL, &predicted);
    if (!info->classes && isfinite(predicted))
        fplt__buffer_digits(text, predicted);
    if (info->classes)
        fplt__csv_field(text, info->class_names[(size_t)predicted]);
    for (uint32_t k = 0; probable && k < info->classes; k++)
        put_number(text, probabilities[k]);
    if (info->classes && !probable)
        put_number(text, scores[0]);
    fplt__buffer_add_bytes(text, "\n", 1);
}

static void put_row(const void *context, const fplt_dataset *dataset, uint32_t agent, size_t row,
                    fplt__buffer *text)
{
    const struct predictions *predictions = context;
    double few[2 * FEW_OUTPUTS], *own = few;
    size_t needed = (size_t)predictions->model->outputs + predictions->model->info.classes;
    (void)agent;
    if (needed > 2 * FEW_OUTPUTS &&
        (text->status = fplt__alloc_into(&own, needed, sizeof *own, "scores", NULL)))
        return;
    if (predictions->numbered)
        fplt__buffer_format(text, "%zu,", number_of(predictions, row));
    if (predictions->id) {
        fplt__csv_field(text, fplt__dataset_row_id(dataset, row));
        fplt__buffer_add_bytes(text, ",", 1);
    }
    put_answer(predictions, row, own, own + predictions->model->outputs, text);
    if (own != few)
        fplt__free(own);
}

static void put_header(const struct predictions *predictions, fplt__buffer *text)
{
    const fplt_model_info *info = &predictions->model->info;
    char name[128];
    if (predictions->numbered)
        fplt__buffer_add(text, "row,");
    if (predictions->id) {
        fplt__csv_field(text, predictions->id);
        fplt__buffer_add(text, ",");
    }
    fplt__buffer_add(text, info->classes ? "label" : "value");
    for (uint32_t k = 0; predictions->model->kind->probable && k < info->classes; k++) {
        snprintf(name, sizeof name, "probability:%.100s", info->class_names[k]);
        fplt__buffer_add(text, ",");
        fplt__csv_field(text, name);
    }
    if (info->classes && !predictions->model->kind->probable)
        fplt__buffer_add(text, ",score");
    fplt__buffer_add(text, "\n");
}

static fplt_status write_header(struct predictions *predictions, const fplt_dataset *dataset,
                                const char *id, fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    if (fplt__dataset_row_id(dataset, 0))
        predictions->id = id ? id : predictions->model->info.id;
    put_header(predictions, &text);
    fplt_status status = text.status
                             ? fplt_error_set(error, text.status, "no memory for the predictions")
                             : predictions->write(predictions->to, text.text, text.length, error);
    fplt__buffer_clear(&text);
    return status;
}

/* Lines of the rows from `first` on, behind those of other blocks. */
static fplt_status write_rows(struct predictions *predictions, const fplt_dataset *dataset,
                              size_t first, const char *id, fplt_error *error)
{
    predictions->rows = fplt_dataset_all(dataset);
    predictions->left_out = fplt__dataset_left_out(dataset, &predictions->left_out_count);
    fplt_status status = fplt__model_check_rows(predictions->model, &predictions->rows, error);
    if (status)
        return status;
    first = first < predictions->rows.count ? first : predictions->rows.count;
    if (!predictions->done)
        status = write_header(predictions, dataset, id, error);
    if (!status)
        status = fplt__rows_write(dataset, first, put_row, predictions, predictions->write,
                                  predictions->to, error);
    predictions->done += predictions->rows.count - first;
    predictions->passed += predictions->rows.count + predictions->left_out_count;
    return status;
}

/* `failed`: the rows could not be read this way. */
static fplt_status write_blocks(struct predictions *predictions, const char *path,
                                const fplt_read_settings *settings, int *failed, fplt_error *error)
{
    fplt__blocks *blocks;
    fplt_dataset *dataset = NULL;
    fplt_status status =
        fplt__model_blocks_open(predictions->model, path, settings, 0, NULL, &blocks, error);
    *failed = status != FPLT_OK;
    while (!status) {
        status = fplt__model_blocks_next(predictions->model, settings, 0, blocks, &dataset, error);
        *failed = status != FPLT_OK;
        if (status || !dataset)
            break;
        status = write_rows(predictions, dataset, 0, settings->id, error);
        fplt_dataset_destroy(dataset);
    }
    fplt__blocks_close(blocks);
    return status;
}

fplt_status fplt__predictions_write(const fplt_model *model, const char *const *paths, size_t count,
                                    const fplt_read_settings *settings, fplt__text_sink write,
                                    void *to, fplt_error *error)
{
    struct predictions predictions = {
        .model = model, .numbered = settings->drop_missing, .write = write, .to = to};
    fplt_dataset *dataset;
    fplt_status status;
    int failed = 1;
    if (count == 1) {
        status = write_blocks(&predictions, paths[0], settings, &failed, error);
        if (!failed || status == FPLT_NO_MEMORY)
            return status;
    }
    /* what was read whole has the sentences */
    status = fplt_model_dataset(model, paths, count, settings, 0, &dataset, error);
    if (!status) {
        predictions.passed = 0;
        status = write_rows(&predictions, dataset, predictions.done, settings->id, error);
    }
    fplt_dataset_destroy(dataset);
    return status;
}
