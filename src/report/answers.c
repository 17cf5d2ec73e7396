/* What evaluating a model keeps of each row. */
#include "report/answers.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "report/model.h"

/* Beyond, the pair of two classes is no 32-bit number. */
enum { CLASSES_MAX = 65535 };

fplt_status fplt__answers_check(const fplt_model *model, const fplt_dataset *dataset,
                                double threshold, fplt_error *error)
{
    if (fplt_dataset_task(dataset) != model->info.task)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the data are for %s, but the model is for %s",
                              fplt_task_name(fplt_dataset_task(dataset)),
                              fplt_task_name(model->info.task));
    if (model->info.classes > CLASSES_MAX)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the model has %u classes, but evaluating takes at most %d",
                              model->info.classes, CLASSES_MAX);
    if (isnan(threshold))
        return FPLT_OK;
    if (model->info.classes != 2 || !model->kind->probable)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "a threshold needs two classes with probabilities, but the model has "
                              "%u classes and the loss %s",
                              model->info.classes, model->info.loss);
    if (!(threshold >= 0 && threshold <= 1))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the threshold is %g, but a probability is between 0 and 1",
                              threshold);
    return FPLT_OK;
}

static int keeps_probabilities(const fplt_model *model)
{
    return model->outputs > 2 || model->kind->probabilities;
}

/* Numbers that are kept of a row. */
static size_t width_of(const fplt_model *model)
{
    return keeps_probabilities(model) ? model->info.classes : model->outputs;
}

static fplt_status make_room(fplt__answers *answers, size_t rows, fplt_error *error)
{
    const char *what = "the predictions";
    fplt_status status =
        fplt__grow(&answers->number, &answers->number_capacity, rows * width_of(answers->model),
                   sizeof *answers->number, what, error);
    if (status)
        return status;
    return answers->model->info.classes ? fplt__grow(&answers->called, &answers->called_capacity,
                                                     rows, sizeof *answers->called, what, error)
                                        : fplt__grow(&answers->actual, &answers->actual_capacity,
                                                     rows, sizeof *answers->actual, what, error);
}

/* `own`: room for the outputs and the classes. */
static void add_row(fplt__answers *answers, const fplt_rows *rows, size_t row, double *own)
{
    const fplt_model *model = answers->model;
    uint32_t classes = model->info.classes;
    size_t width = width_of(model);
    double *probabilities = own + model->outputs, predicted;
    size_t at = answers->rows++;
    fplt__model_answer(model, rows, row, own, model->kind->probable ? probabilities : NULL,
                       &predicted);
    memcpy(answers->number + at * width, keeps_probabilities(model) ? probabilities : own,
           width * sizeof *own);
    if (!classes) {
        answers->actual[at] = rows->label[row];
        return;
    }
    uint32_t actual =
        model->info.task == FPLT_TASK_BINARY ? rows->label[row] > 0 : (uint32_t)rows->label[row];
    FPLT__ASSERT(actual < classes);
    if (!isnan(answers->threshold))
        predicted = probabilities[1] > answers->threshold;
    answers->called[at] = actual * classes + (uint32_t)predicted;
}

fplt_status fplt__answers_add(fplt__answers *answers, const fplt_rows *rows, fplt_error *error)
{
    const fplt_model *model = answers->model;
    double *own;
    fplt_status status = fplt__model_check_rows(model, rows, error);
    if (!status)
        status = make_room(answers, answers->rows + rows->count, error);
    if (!status)
        status = fplt__alloc_into(&own, (size_t)model->outputs + model->info.classes, sizeof *own,
                                  "scores", error);
    if (status)
        return status;
    for (size_t row = 0; row < rows->count; row++)
        add_row(answers, rows, row, own);
    fplt__free(own);
    return FPLT_OK;
}

fplt_status fplt__answers_order(fplt__answers *answers, const size_t *order, fplt_error *error)
{
    size_t width = width_of(answers->model);
    double *number = NULL, *actual = NULL;
    uint32_t *called = NULL;
    const char *what = "the predictions";
    FPLT__ASSERT(!answers->weight);
    fplt_status status =
        fplt__alloc_into(&number, answers->rows * width, sizeof *number, what, error);
    if (!status)
        status = answers->called
                     ? fplt__alloc_into(&called, answers->rows, sizeof *called, what, error)
                     : fplt__alloc_into(&actual, answers->rows, sizeof *actual, what, error);
    for (size_t r = 0; !status && r < answers->rows; r++) {
        memcpy(number + r * width, answers->number + order[r] * width, width * sizeof *number);
        if (called)
            called[r] = answers->called[order[r]];
        else
            actual[r] = answers->actual[order[r]];
    }
    if (status) {
        fplt__free(number);
        return status;
    }
    fplt__answers_clear(answers);
    answers->number = number;
    answers->called = called;
    answers->actual = actual;
    answers->number_capacity = answers->rows * width;
    answers->called_capacity = called ? answers->rows : 0;
    answers->actual_capacity = actual ? answers->rows : 0;
    return FPLT_OK;
}

void fplt__answers_clear(fplt__answers *answers)
{
    fplt__free(answers->number);
    fplt__free(answers->called);
    fplt__free(answers->actual);
    answers->number = NULL;
    answers->called = NULL;
    answers->actual = NULL;
}

uint32_t fplt__answers_actual_class(const fplt__answers *answers, size_t row)
{
    return answers->called[row] / answers->model->info.classes;
}

uint32_t fplt__answers_predicted_class(const fplt__answers *answers, size_t row)
{
    return answers->called[row] % answers->model->info.classes;
}

double fplt__answers_predicted(const fplt__answers *answers, size_t row)
{
    FPLT__ASSERT(!keeps_probabilities(answers->model));
    return fplt__model_predicted(answers->model, answers->number + row * answers->model->outputs);
}

const double *fplt__answers_probabilities(const fplt__answers *answers, size_t row, double *own)
{
    const double *number = answers->number + row * width_of(answers->model);
    if (keeps_probabilities(answers->model))
        return number;
    fplt__model_probabilities(answers->model, number, own);
    return own;
}

double fplt__answers_strength(const fplt__answers *answers, size_t row, uint32_t class)
{
    uint32_t outputs = answers->model->outputs;
    const double *number = answers->number + row * width_of(answers->model);
    if (keeps_probabilities(answers->model))
        return number[class];
    if (outputs == 1)
        return class ? number[0] : -number[0];
    return number[class] - number[1 - class];
}
