/* How good a model is on labelled rows: per agent, over all, and what a closer look shows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/model.h"
#include "report/quality.h"

/* All rows at once. */
struct answers {
    const fplt_model *model;
    double threshold; /* of the second of two classes; NaN: the most probable class */
    double *scores, *probabilities, *predicted; /* owned; the second may be NULL */
    double *actual;                             /* owned; classes as numbers from 0 */
    fplt__ranked *ranked;                       /* owned; room for all rows */
    double *confusion;                          /* owned; classes x classes weights, or NULL */
    const double *weight;                       /* of the rows; NULL: all 1 */
};

static double weight_of(const struct answers *answers, size_t row)
{
    return answers->weight ? answers->weight[row] : 1;
}

static double weight_between(const struct answers *answers, size_t first, size_t count)
{
    double sum = 0;
    for (size_t i = first; i < first + count; i++)
        sum += weight_of(answers, i);
    return sum;
}

static void clear_answers(struct answers *answers)
{
    fplt__free(answers->scores);
    fplt__free(answers->probabilities);
    fplt__free(answers->predicted);
    fplt__free(answers->actual);
    fplt__free(answers->ranked);
    fplt__free(answers->confusion);
}

static fplt_status make_room(struct answers *answers, size_t rows, fplt_error *error)
{
    const fplt_model *model = answers->model;
    size_t classes = model->info.classes;
    const char *what = "the predictions";
    fplt_status status;
    if ((status = fplt__alloc_into(&answers->scores, rows * model->outputs, sizeof(double), what,
                                   error)) ||
        (status = fplt__alloc_into(&answers->predicted, rows, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&answers->actual, rows, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&answers->ranked, rows, sizeof *answers->ranked, what, error)))
        return status;
    if (model->kind->probable && (status = fplt__alloc_into(&answers->probabilities, rows * classes,
                                                            sizeof(double), what, error)))
        return status;
    return classes ? fplt__alloc_into(&answers->confusion, classes * classes,
                                      sizeof *answers->confusion, what, error)
                   : FPLT_OK;
}

static fplt_status answer(struct answers *answers, const fplt_dataset *dataset, fplt_error *error)
{
    fplt_rows rows = fplt_dataset_all(dataset);
    fplt_task task = answers->model->info.task;
    fplt_status status = make_room(answers, rows.count, error);
    answers->weight = rows.weight;
    if (status || (status = fplt_model_predict(answers->model, &rows, answers->scores,
                                               answers->probabilities, answers->predicted, error)))
        return status;
    for (size_t i = 0; i < rows.count; i++) {
        answers->actual[i] = task == FPLT_TASK_BINARY ? rows.label[i] > 0 : rows.label[i];
        if (!isnan(answers->threshold))
            answers->predicted[i] = answers->probabilities[2 * i + 1] > answers->threshold;
    }
    return FPLT_OK;
}

/* Classes */

static void count_classes(const struct answers *answers, size_t first, size_t count)
{
    uint32_t classes = answers->model->info.classes;
    memset(answers->confusion, 0, (size_t)classes * classes * sizeof *answers->confusion);
    for (size_t i = first; i < first + count; i++)
        answers->confusion[(size_t)answers->actual[i] * classes + (size_t)answers->predicted[i]] +=
            weight_of(answers, i);
}

/* How strongly a row speaks for a class. */
static double strength(const struct answers *answers, size_t row, uint32_t class)
{
    uint32_t outputs = answers->model->outputs;
    const double *scores = answers->scores + row * outputs;
    if (outputs == 1)
        return class ? scores[0] : -scores[0];
    if (outputs == 2)
        return scores[class] - scores[1 - class];
    return answers->probabilities[row * outputs + class];
}

/* One class against the rest. */
static double area_of(const struct answers *answers, size_t first, size_t count, uint32_t class)
{
    for (size_t i = 0; i < count; i++)
        answers->ranked[i] =
            (fplt__ranked){strength(answers, first + i, class), answers->actual[first + i] == class,
                           weight_of(answers, first + i)};
    return fplt__area(answers->ranked, count);
}

/* A mean over the classes that it is known of. */
struct mean {
    double sum, known;
};

static void include(struct mean *mean, double value)
{
    mean->sum += isnan(value) ? 0 : value;
    mean->known += !isnan(value);
}

static double value_of(struct mean mean)
{
    return mean.known > 0 ? mean.sum / mean.known : NAN;
}

/* Squared distance of the probabilities from what happened: of the second of two classes, else summed
 * over all of them [Brier 1950]. */
static double brier(const struct answers *answers, size_t first, size_t count)
{
    uint32_t classes = answers->model->info.classes;
    double sum = 0;
    if (!answers->probabilities)
        return NAN;
    for (size_t i = first; i < first + count; i++)
        for (uint32_t k = classes == 2; k < classes; k++) {
            double gap = answers->probabilities[i * classes + k] - (answers->actual[i] == k);
            sum += weight_of(answers, i) * gap * gap;
        }
    return sum / weight_between(answers, first, count);
}

static void measure_classes(const struct answers *answers, size_t first, size_t count,
                            fplt_quality *quality)
{
    uint32_t classes = answers->model->info.classes;
    struct mean precision = {0, 0}, recall = {0, 0}, f1 = {0, 0}, auc = {0, 0};
    double right = 0;
    count_classes(answers, first, count);
    for (uint32_t k = 0; k < classes; k++)
        right += answers->confusion[k * classes + k];
    for (uint32_t k = classes == 2; k < classes; k++) {
        fplt__hit_rates rates = fplt__rates_of(answers->confusion, classes, k);
        include(&precision, rates.precision);
        include(&recall, rates.recall);
        include(&f1, rates.f1);
        include(&auc, area_of(answers, first, count, k));
    }
    quality->accuracy = right / weight_between(answers, first, count);
    quality->precision = value_of(precision);
    quality->recall = value_of(recall);
    quality->f1 = value_of(f1);
    quality->auc = value_of(auc);
    quality->brier = brier(answers, first, count);
}

/* Numbers */

static void measure_numbers(const struct answers *answers, size_t first, size_t count,
                            fplt_quality *quality)
{
    const double *predicted = answers->predicted, *actual = answers->actual;
    double squares = 0, mean = 0, spread = 0, deviance = 0;
    double all = weight_between(answers, first, count);
    for (size_t i = first; i < first + count; i++)
        mean += weight_of(answers, i) * actual[i] / all;
    for (size_t i = first; i < first + count; i++) {
        double weight = weight_of(answers, i), gap = predicted[i] - actual[i];
        squares += weight * gap * gap;
        spread += weight * (actual[i] - mean) * (actual[i] - mean);
        if (answers->model->kind->counts)
            deviance += weight * fplt__poisson_deviance(actual[i], predicted[i]);
    }
    quality->rmse = sqrt(squares / all);
    quality->r2 = spread > 0 ? 1 - squares / spread : NAN;
    if (answers->model->kind->counts)
        quality->deviance = deviance / all;
}

/* Pairs of one agent only: each is a stratum of its own. */
static fplt_status measure_times(const struct answers *answers, const fplt_dataset *dataset,
                                 fplt_quality *each, fplt_quality *all, fplt_error *error)
{
    double right = 0, pairs = 0;
    size_t first = 0;
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; !status && i < fplt_dataset_agents(dataset); i++) {
        double own_right = 0, own_pairs = 0;
        size_t count = fplt_dataset_shard(dataset, i).count;
        status = fplt__concordance(answers->scores + first, answers->actual + first,
                                   answers->weight ? answers->weight + first : NULL, count,
                                   &own_right, &own_pairs, error);
        if (each)
            each[i].concordance = own_pairs > 0 ? own_right / own_pairs : NAN;
        right += own_right;
        pairs += own_pairs;
        first += count;
    }
    all->concordance = pairs > 0 ? right / pairs : NAN;
    return status;
}

static void measure(const struct answers *answers, size_t first, size_t count,
                    fplt_quality *quality)
{
    if (answers->weight)
        quality->weight = weight_between(answers, first, count);
    if (answers->model->info.classes)
        measure_classes(answers, first, count, quality);
    else if (answers->model->info.task == FPLT_TASK_REGRESSION)
        measure_numbers(answers, first, count, quality);
}

/* Losses of every agent, by the objective itself without its regulariser: means by the weights of its rows. */
static fplt_status measure_losses(const struct answers *answers, const fplt_dataset *dataset,
                                  fplt_quality *each, fplt_quality *all, fplt_error *error)
{
    const fplt_model *model = answers->model;
    size_t first = 0;
    fplt_objective_settings settings = fplt__model_cost(model);
    fplt_objective *objective;
    double *scratch = NULL, losses = 0, weights = 0;
    fplt_status status = fplt_objective_create(&settings, dataset, &objective, error);
    if (status)
        return status;
    status = fplt__alloc_into(&scratch, fplt_objective_scratch(objective), sizeof *scratch,
                              "the objective", error);
    for (uint32_t i = 0; !status && i < fplt_objective_agents(objective); i++) {
        double loss;
        if ((status = fplt_objective_value(objective, i, model->info.weights, &loss, scratch))) {
            fplt_error_set(error, status, "the loss cannot be computed");
            break;
        }
        size_t records = fplt_objective_records(objective, i);
        double weight = weight_between(answers, first, records);
        losses += loss * weight;
        weights += weight;
        first += records;
        if (each)
            each[i].loss = loss;
    }
    all->loss = losses / weights;
    fplt__free(scratch);
    fplt_objective_destroy(objective);
    return status;
}

static fplt_quality nothing_known(size_t rows)
{
    return (fplt_quality){.rows = rows,
                          .loss = NAN,
                          .accuracy = NAN,
                          .auc = NAN,
                          .f1 = NAN,
                          .rmse = NAN,
                          .precision = NAN,
                          .recall = NAN,
                          .brier = NAN,
                          .r2 = NAN,
                          .deviance = NAN,
                          .concordance = NAN,
                          .weight = NAN};
}

static fplt_status measure_all(const struct answers *answers, const fplt_dataset *dataset,
                               fplt_quality *each, fplt_quality *all, fplt_error *error)
{
    size_t first = 0;
    for (uint32_t i = 0; each && i < fplt_dataset_agents(dataset); i++) {
        each[i] = nothing_known(fplt_dataset_shard(dataset, i).count);
        measure(answers, first, each[i].rows, &each[i]);
        first += each[i].rows;
    }
    *all = nothing_known(fplt_dataset_rows(dataset));
    measure(answers, 0, all->rows, all);
    fplt_status status = measure_losses(answers, dataset, each, all, error);
    if (!status && answers->model->info.task == FPLT_TASK_SURVIVAL)
        status = measure_times(answers, dataset, each, all, error);
    return status;
}

static fplt_status check(const fplt_model *model, const fplt_dataset *dataset, double threshold,
                         fplt_error *error)
{
    if (fplt_dataset_task(dataset) != model->info.task)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the data are for %s, but the model is for %s",
                              fplt_task_name(fplt_dataset_task(dataset)),
                              fplt_task_name(model->info.task));
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

/* A closer look */

static int falling(const void *a, const void *b)
{
    double x = ((const fplt__ranked *)a)->score, y = ((const fplt__ranked *)b)->score;
    return (x < y) - (x > y);
}

/* Corners of the ROC curve, from the strictest threshold on; the first has no row above it. */
static fplt_status trace(const struct answers *answers, size_t rows, fplt_assessment *made,
                         fplt_error *error)
{
    double positives = 0, negatives = 0, found = 0, wrong = 0;
    fplt_status status =
        fplt__alloc_into(&made->roc, rows + 1, sizeof *made->roc, "the ROC curve", error);
    if (status)
        return status;
    area_of(answers, 0, rows, 1);
    qsort(answers->ranked, rows, sizeof *answers->ranked, falling);
    for (size_t i = 0; i < rows; i++) {
        const fplt__ranked *row = &answers->ranked[i];
        *(row->positive ? &positives : &negatives) += row->weight;
    }
    if (!(positives > 0 && negatives > 0))
        return FPLT_OK;
    made->roc[made->roc_count++] = (fplt_roc_point){0, 0, HUGE_VAL};
    for (size_t i = 0, end; i < rows; i = end) {
        double score = answers->ranked[i].score;
        for (end = i; end < rows && answers->ranked[end].score == score; end++) {
            const fplt__ranked *row = &answers->ranked[end];
            *(row->positive ? &found : &wrong) += row->weight;
        }
        made->roc[made->roc_count++] =
            (fplt_roc_point){wrong / negatives, found / positives, score};
    }
    return FPLT_OK;
}

/* Rows by their probability of the second class, in ten bins of equal width. */
static void calibrate(const struct answers *answers, size_t rows, fplt_assessment *made)
{
    double whole[FPLT_CALIBRATION_BINS] = {0};
    for (size_t i = 0; i < rows; i++) {
        double probability = answers->probabilities[2 * i + 1];
        size_t place = (size_t)(probability * FPLT_CALIBRATION_BINS);
        place = place < FPLT_CALIBRATION_BINS ? place : FPLT_CALIBRATION_BINS - 1;
        fplt_calibration_bin *bin = &made->bin[place];
        bin->rows++;
        whole[place] += weight_of(answers, i);
        bin->predicted += weight_of(answers, i) * probability;
        bin->observed += weight_of(answers, i) * answers->actual[i];
    }
    for (size_t b = 0; b < FPLT_CALIBRATION_BINS; b++) {
        fplt_calibration_bin *bin = &made->bin[b];
        bin->predicted = bin->rows ? bin->predicted / whole[b] : NAN;
        bin->observed = bin->rows ? bin->observed / whole[b] : NAN;
    }
    made->calibrated = 1;
}

static fplt_status look_closer(const struct answers *answers, size_t rows, fplt_assessment *made,
                               fplt_error *error)
{
    uint32_t classes = answers->model->info.classes;
    size_t cells = (size_t)classes * classes;
    fplt_status status;
    made->classes = classes;
    made->threshold = answers->threshold;
    if (!classes)
        return FPLT_OK;
    if ((status = fplt__alloc_into(&made->confusion, cells, sizeof *made->confusion,
                                   "the confusion matrix", error)) ||
        (status = fplt__alloc_into(&made->each, classes, sizeof *made->each, "the classes", error)))
        return status;
    if (answers->weight &&
        (status = fplt__alloc_into(&made->confusion_weight, cells, sizeof *made->confusion_weight,
                                   "the confusion matrix", error)))
        return status;
    for (size_t i = 0; i < rows; i++)
        made->confusion[(size_t)answers->actual[i] * classes + (size_t)answers->predicted[i]]++;
    count_classes(answers, 0, rows);
    if (answers->weight)
        memcpy(made->confusion_weight, answers->confusion, cells * sizeof *answers->confusion);
    for (uint32_t k = 0; k < classes; k++) {
        fplt__hit_rates rates = fplt__rates_of(answers->confusion, classes, k);
        made->each[k] = (fplt_class_quality){.precision = rates.precision,
                                             .recall = rates.recall,
                                             .f1 = rates.f1,
                                             .auc = area_of(answers, 0, rows, k)};
        for (uint32_t j = 0; j < classes; j++)
            made->each[k].rows += made->confusion[k * classes + j];
    }
    if (classes != 2)
        return FPLT_OK;
    if (answers->probabilities)
        calibrate(answers, rows, made);
    return trace(answers, rows, made, error);
}

fplt_status fplt_model_assess(const fplt_model *model, const fplt_dataset *dataset,
                              double threshold, fplt_quality *each, fplt_assessment *made,
                              fplt_error *error)
{
    struct answers answers = {.model = model, .threshold = threshold};
    *made = (fplt_assessment){.threshold = threshold};
    fplt_status status = check(model, dataset, threshold, error);
    if (status)
        return status;
    if (!(status = answer(&answers, dataset, error)) &&
        !(status = measure_all(&answers, dataset, each, &made->all, error)))
        status = look_closer(&answers, fplt_dataset_rows(dataset), made, error);
    clear_answers(&answers);
    if (status)
        fplt_assessment_clear(made);
    return status;
}

void fplt_assessment_clear(fplt_assessment *assessment)
{
    fplt__free(assessment->confusion);
    fplt__free(assessment->confusion_weight);
    fplt__free(assessment->each);
    fplt__free(assessment->roc);
    *assessment = (fplt_assessment){.threshold = NAN};
}

fplt_status fplt_model_evaluate(const fplt_model *model, const fplt_dataset *dataset,
                                fplt_quality *each, fplt_quality *all, fplt_error *error)
{
    struct answers answers = {.model = model, .threshold = NAN};
    fplt_status status = check(model, dataset, NAN, error);
    if (!status && !(status = answer(&answers, dataset, error)))
        status = measure_all(&answers, dataset, each, all, error);
    clear_answers(&answers);
    return status;
}
