/* How good a model is on labelled rows: per agent, over all, and what a closer look shows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/answers.h"
#include "report/model.h"
#include "report/quality.h"
#include "fedplt/assessment.h"

/* What measuring needs beside the answers. */
struct measuring {
    const fplt__answers *answers;
    fplt__ranked *ranked; /* owned: where rows have weights, room for all of them */
    fplt__sorting_room room;
    double *confusion;     /* owned: classes x classes weights; NULL: there are no classes */
    double *probabilities; /* owned: of one row */
};

static double weight_of(const fplt__answers *answers, size_t row)
{
    return answers->weight ? answers->weight[row] : 1;
}

static double weight_between(const fplt__answers *answers, size_t first, size_t count)
{
    double sum = 0;
    for (size_t i = first; i < first + count; i++)
        sum += weight_of(answers, i);
    return sum;
}

static void end_measuring(struct measuring *m)
{
    fplt__free(m->ranked);
    fplt__free(m->room.number);
    fplt__free(m->confusion);
    fplt__free(m->probabilities);
}

static fplt_status begin_measuring(struct measuring *m, const fplt__answers *answers,
                                   fplt_error *error)
{
    size_t classes = answers->model->info.classes;
    const char *what = "the measures";
    fplt_status status;
    *m = (struct measuring){.answers = answers};
    if (!classes)
        return FPLT_OK;
    if (answers->weight &&
        (status = fplt__alloc_into(&m->ranked, answers->rows, sizeof *m->ranked, what, error)))
        return status;
    if ((status =
             fplt__alloc_into(&m->probabilities, classes, sizeof *m->probabilities, what, error)))
        return status;
    return fplt__alloc_into(&m->confusion, classes * classes, sizeof *m->confusion, what, error);
}

/* Classes */

static void count_classes(const struct measuring *m, size_t first, size_t count)
{
    uint32_t classes = m->answers->model->info.classes;
    memset(m->confusion, 0, (size_t)classes * classes * sizeof *m->confusion);
    for (size_t i = first; i < first + count; i++)
        m->confusion[m->answers->called[i]] += weight_of(m->answers, i);
}

/* Some of the rows, against one class. */
struct side {
    const fplt__answers *answers;
    size_t first;
    uint32_t class;
};

static double side_score(const void *context, size_t row, int *positive)
{
    const struct side *side = context;
    row += side->first;
    *positive = fplt__answers_actual_class(side->answers, row) == side->class;
    return fplt__answers_strength(side->answers, row, side->class);
}

/* One class against the rest. */
static fplt_status area_of(struct measuring *m, size_t first, size_t count, uint32_t class,
                           double *area, fplt_error *error)
{
    const struct side side = {m->answers, first, class};
    if (!m->ranked) {
        const fplt__scores scores = {count, side_score, &side};
        return fplt__area_of_scores(&scores, &m->room, area, error);
    }
    for (size_t i = 0; i < count; i++) {
        fplt__ranked *row = &m->ranked[i];
        row->score = side_score(&side, i, &row->positive);
        row->weight = weight_of(m->answers, first + i);
    }
    *area = fplt__area(m->ranked, count);
    return FPLT_OK;
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
static double brier(const struct measuring *m, size_t first, size_t count)
{
    const fplt__answers *answers = m->answers;
    uint32_t classes = answers->model->info.classes;
    double sum = 0;
    if (!answers->model->kind->probable)
        return NAN;
    for (size_t i = first; i < first + count; i++) {
        const double *probabilities = fplt__answers_probabilities(answers, i, m->probabilities);
        uint32_t actual = fplt__answers_actual_class(answers, i);
        for (uint32_t k = classes == 2; k < classes; k++) {
            double gap = probabilities[k] - (actual == k);
            sum += weight_of(answers, i) * gap * gap;
        }
    }
    return sum / weight_between(answers, first, count);
}

static fplt_status measure_classes(struct measuring *m, size_t first, size_t count,
                                   fplt_quality *quality, fplt_error *error)
{
    uint32_t classes = m->answers->model->info.classes;
    struct mean precision = {0, 0}, recall = {0, 0}, f1 = {0, 0}, auc = {0, 0};
    double right = 0;
    count_classes(m, first, count);
    for (uint32_t k = 0; k < classes; k++)
        right += m->confusion[k * classes + k];
    for (uint32_t k = classes == 2; k < classes; k++) {
        fplt__hit_rates rates = fplt__rates_of(m->confusion, classes, k);
        double area;
        fplt_status status = area_of(m, first, count, k, &area, error);
        if (status)
            return status;
        include(&precision, rates.precision);
        include(&recall, rates.recall);
        include(&f1, rates.f1);
        include(&auc, area);
    }
    quality->accuracy = right / weight_between(m->answers, first, count);
    quality->precision = value_of(precision);
    quality->recall = value_of(recall);
    quality->f1 = value_of(f1);
    quality->auc = value_of(auc);
    quality->brier = brier(m, first, count);
    return FPLT_OK;
}

/* Numbers */

static void measure_numbers(const fplt__answers *answers, size_t first, size_t count,
                            fplt_quality *quality)
{
    const fplt__loss *kind = answers->model->kind;
    const double *shared = fplt__model_shared(answers->model);
    const double *actual = answers->actual;
    double squares = 0, mean = 0, spread = 0, deviance = 0;
    double all = weight_between(answers, first, count);
    for (size_t i = first; i < first + count; i++)
        mean += weight_of(answers, i) * actual[i] / all;
    for (size_t i = first; i < first + count; i++) {
        double weight = weight_of(answers, i), predicted = fplt__answers_predicted(answers, i);
        double gap = predicted - actual[i];
        squares += weight * gap * gap;
        spread += weight * (actual[i] - mean) * (actual[i] - mean);
        if (kind->deviance)
            deviance += weight * kind->deviance(actual[i], predicted, shared);
    }
    quality->rmse = sqrt(squares / all);
    quality->r2 = spread > 0 ? 1 - squares / spread : NAN;
    if (kind->deviance)
        quality->deviance = deviance / all;
}

/* Pairs of one agent only: each is a stratum of its own. */
static fplt_status measure_times(const fplt__answers *answers, const size_t *first, uint32_t agents,
                                 fplt_quality *each, fplt_quality *all, fplt_error *error)
{
    double right = 0, pairs = 0;
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; !status && i < agents; i++) {
        double own_right = 0, own_pairs = 0;
        status = fplt__concordance(answers->number + first[i], answers->actual + first[i],
                                   answers->weight ? answers->weight + first[i] : NULL,
                                   first[i + 1] - first[i], &own_right, &own_pairs, error);
        if (each)
            each[i].concordance = own_pairs > 0 ? own_right / own_pairs : NAN;
        right += own_right;
        pairs += own_pairs;
    }
    all->concordance = pairs > 0 ? right / pairs : NAN;
    return status;
}

static fplt_status measure(struct measuring *m, size_t first, size_t count, fplt_quality *quality,
                           fplt_error *error)
{
    const fplt_model_info *info = &m->answers->model->info;
    if (m->answers->weight)
        quality->weight = weight_between(m->answers, first, count);
    if (info->classes)
        return measure_classes(m, first, count, quality, error);
    if (info->task == FPLT_TASK_REGRESSION)
        measure_numbers(m->answers, first, count, quality);
    return FPLT_OK;
}

/* Means by the weights of the agents' rows. */
static void place_losses(const fplt__answers *answers, const size_t *first, uint32_t agents,
                         const double *losses, fplt_quality *each, fplt_quality *all)
{
    double sum = 0, weights = 0;
    for (uint32_t i = 0; i < agents; i++) {
        double weight = weight_between(answers, first[i], first[i + 1] - first[i]);
        sum += losses[i] * weight;
        weights += weight;
        if (each)
            each[i].loss = losses[i];
    }
    all->loss = sum / weights;
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

static fplt_status measure_all(struct measuring *m, const size_t *first, uint32_t agents,
                               fplt_quality *each, fplt_quality *all, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; each && i < agents && !status; i++) {
        each[i] = nothing_known(first[i + 1] - first[i]);
        status = measure(m, first[i], each[i].rows, &each[i], error);
    }
    if (status)
        return status;
    *all = nothing_known(first[agents]);
    if (!each || agents != 1)
        return measure(m, 0, all->rows, all, error);
    *all = each[0];
    return FPLT_OK;
}

fplt_status fplt__answers_measure(const fplt__answers *answers, const size_t *first,
                                  uint32_t agents, const double *losses, fplt_quality *each,
                                  fplt_quality *all, fplt_error *error)
{
    struct measuring m;
    fplt_status status = begin_measuring(&m, answers, error);
    if (!status)
        status = measure_all(&m, first, agents, each, all, error);
    if (!status)
        place_losses(answers, first, agents, losses, each, all);
    if (!status && answers->model->info.task == FPLT_TASK_SURVIVAL)
        status = measure_times(answers, first, agents, each, all, error);
    end_measuring(&m);
    return status;
}

/* A closer look */

static int falling(const void *a, const void *b)
{
    double x = ((const fplt__ranked *)a)->score, y = ((const fplt__ranked *)b)->score;
    return (x < y) - (x > y);
}

/* Corners of the ROC curve, from the strictest threshold on; the first has no row above it. */
static void trace_weighted(struct measuring *m, fplt_assessment *made)
{
    double positives = 0, negatives = 0, found = 0, wrong = 0;
    size_t rows = m->answers->rows;
    qsort(m->ranked, rows, sizeof *m->ranked, falling);
    for (size_t i = 0; i < rows; i++) {
        const fplt__ranked *row = &m->ranked[i];
        *(row->positive ? &positives : &negatives) += row->weight;
    }
    if (!(positives > 0 && negatives > 0))
        return;
    made->roc[made->roc_count++] = (fplt_roc_point){0, 0, HUGE_VAL};
    for (size_t i = 0, end; i < rows; i = end) {
        double score = m->ranked[i].score;
        for (end = i; end < rows && m->ranked[end].score == score; end++) {
            const fplt__ranked *row = &m->ranked[end];
            *(row->positive ? &found : &wrong) += row->weight;
        }
        made->roc[made->roc_count++] =
            (fplt_roc_point){wrong / negatives, found / positives, score};
    }
}

/* Where rows count alike, from the sorted scores. */
static void trace_sorted(const double *sorted, size_t positives, size_t rows, fplt_assessment *made)
{
    const double *positive = sorted, *other = positive + positives;
    size_t others = rows - positives, p = positives, o = others;
    if (!positives || !others)
        return;
    made->roc[made->roc_count++] = (fplt_roc_point){0, 0, HUGE_VAL};
    while (p || o) {
        double score = !o || (p && positive[p - 1] > other[o - 1]) ? positive[p - 1] : other[o - 1];
        while (p && !(positive[p - 1] < score))
            p--;
        while (o && !(other[o - 1] < score))
            o--;
        made->roc[made->roc_count++] =
            (fplt_roc_point){(double)(others - o) / (double)others,
                             (double)(positives - p) / (double)positives, score};
    }
}

/* Where rows have weights, the second class was ranked last. */
static fplt_status trace(struct measuring *m, fplt_assessment *made, fplt_error *error)
{
    size_t rows = m->answers->rows, positives;
    fplt_status status =
        fplt__alloc_into(&made->roc, rows + 1, sizeof *made->roc, "the ROC curve", error);
    if (status)
        return status;
    if (m->ranked) {
        trace_weighted(m, made);
        return FPLT_OK;
    }
    const struct side side = {m->answers, 0, 1};
    const fplt__scores scores = {rows, side_score, &side};
    if (!(status = fplt__scores_sort(&scores, &m->room, &positives, error)))
        trace_sorted(m->room.number, positives, rows, made);
    return status;
}

/* Rows by their probability of the second class, in ten bins of equal width. */
static void calibrate(const struct measuring *m, fplt_assessment *made)
{
    const fplt__answers *answers = m->answers;
    double whole[FPLT_CALIBRATION_BINS] = {0};
    for (size_t i = 0; i < answers->rows; i++) {
        double probability = fplt__answers_probabilities(answers, i, m->probabilities)[1];
        size_t place = (size_t)(probability * FPLT_CALIBRATION_BINS);
        place = place < FPLT_CALIBRATION_BINS ? place : FPLT_CALIBRATION_BINS - 1;
        fplt_calibration_bin *bin = &made->bin[place];
        bin->rows++;
        whole[place] += weight_of(answers, i);
        bin->predicted += weight_of(answers, i) * probability;
        bin->observed += weight_of(answers, i) * fplt__answers_actual_class(answers, i);
    }
    for (size_t b = 0; b < FPLT_CALIBRATION_BINS; b++) {
        fplt_calibration_bin *bin = &made->bin[b];
        bin->predicted = bin->rows ? bin->predicted / whole[b] : NAN;
        bin->observed = bin->rows ? bin->observed / whole[b] : NAN;
    }
    made->calibrated = 1;
}

static fplt_status count_confusion(struct measuring *m, fplt_assessment *made, fplt_error *error)
{
    size_t cells = (size_t)made->classes * made->classes;
    fplt_status status = fplt__alloc_into(&made->confusion, cells, sizeof *made->confusion,
                                          "the confusion matrix", error);
    if (!status && m->answers->weight)
        status = fplt__alloc_into(&made->confusion_weight, cells, sizeof *made->confusion_weight,
                                  "the confusion matrix", error);
    if (status)
        return status;
    for (size_t i = 0; i < m->answers->rows; i++)
        made->confusion[m->answers->called[i]]++;
    count_classes(m, 0, m->answers->rows);
    if (m->answers->weight)
        memcpy(made->confusion_weight, m->confusion, cells * sizeof *m->confusion);
    return FPLT_OK;
}

static fplt_status look_at_classes(struct measuring *m, fplt_assessment *made, fplt_error *error)
{
    uint32_t classes = made->classes;
    fplt_status status =
        fplt__alloc_into(&made->each, classes, sizeof *made->each, "the classes", error);
    for (uint32_t k = 0; k < classes && !status; k++) {
        fplt_class_quality *own = &made->each[k];
        fplt__hit_rates rates = fplt__rates_of(m->confusion, classes, k);
        *own = (fplt_class_quality){
            .precision = rates.precision, .recall = rates.recall, .f1 = rates.f1};
        for (uint32_t j = 0; j < classes; j++)
            own->rows += made->confusion[k * classes + j];
        /* of two classes whose rows count alike, both have the area that is known */
        if (classes == 2 && !m->ranked)
            own->auc = made->all.auc;
        else
            status = area_of(m, 0, m->answers->rows, k, &own->auc, error);
    }
    return status;
}

fplt_status fplt__answers_look_closer(const fplt__answers *answers, int curve,
                                      fplt_assessment *made, fplt_error *error)
{
    struct measuring m;
    made->classes = answers->model->info.classes;
    made->threshold = answers->threshold;
    if (!made->classes)
        return FPLT_OK;
    fplt_status status = begin_measuring(&m, answers, error);
    if (!status)
        status = count_confusion(&m, made, error);
    if (!status)
        status = look_at_classes(&m, made, error);
    if (!status && made->classes == 2 && answers->model->kind->probable)
        calibrate(&m, made);
    if (!status && made->classes == 2 && curve)
        status = trace(&m, made, error);
    end_measuring(&m);
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
