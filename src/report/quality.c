/* How well predictions fit what happened. */
#include "report/quality.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static int by_score(const void *a, const void *b)
{
    double x = ((const fplt__ranked *)a)->score, y = ((const fplt__ranked *)b)->score;
    return (x > y) - (x < y);
}

/* Of every row of the class, the weight of the others with lower scores, and half of those with the same
 * [Mann and Whitney 1947]. */
double fplt__area(fplt__ranked *rows, size_t count)
{
    double positives = 0, negatives = 0, above = 0;
    qsort(rows, count, sizeof *rows, by_score);
    for (size_t i = 0, end; i < count; i = end) {
        double found = 0, others = 0;
        for (end = i; end < count && rows[end].score == rows[i].score; end++)
            *(rows[end].positive ? &found : &others) += rows[end].weight;
        above += found * (negatives + others / 2);
        positives += found;
        negatives += others;
    }
    if (!(positives > 0 && negatives > 0))
        return NAN;
    return above / (positives * negatives);
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

fplt__hit_rates fplt__rates_of(const double *confusion, uint32_t classes, uint32_t class)
{
    double right = confusion[class * classes + class], said = 0, are = 0;
    for (uint32_t k = 0; k < classes; k++) {
        said += confusion[k * classes + class];
        are += confusion[class * classes + k];
    }
    return (fplt__hit_rates){share(right, said), share(right, are), share(2 * right, said + are)};
}

/* Concordance */

struct subject {
    double score, time, weight;
    int event;
    size_t rank; /* of the score, from 1; equal scores have the same */
};

static int subjects_by_score(const void *a, const void *b)
{
    double x = ((const struct subject *)a)->score, y = ((const struct subject *)b)->score;
    return (x > y) - (x < y);
}

/* The latest first; among equal times the censored first, because they outlived the events. */
static int subjects_by_time(const void *a, const void *b)
{
    const struct subject *x = a, *y = b;
    if (x->time != y->time)
        return (x->time < y->time) - (x->time > y->time);
    return x->event - y->event;
}

/* Weights of ranks as a binary indexed tree [Fenwick 1994]. */
static void tree_add(double *tree, size_t size, size_t rank, double weight)
{
    for (; rank <= size; rank += rank & -rank)
        tree[rank] += weight;
}

static double tree_sum(const double *tree, size_t rank)
{
    double sum = 0;
    for (; rank; rank -= rank & -rank)
        sum += tree[rank];
    return sum;
}

static void rank(struct subject *subject, size_t count)
{
    qsort(subject, count, sizeof *subject, subjects_by_score);
    for (size_t i = 0; i < count; i++)
        subject[i].rank =
            i && subject[i].score == subject[i - 1].score ? subject[i - 1].rank : i + 1;
    qsort(subject, count, sizeof *subject, subjects_by_time);
}

/* Events of the same time are not compared with each other, so they join the tree together. */
static void count_pairs(const struct subject *subject, size_t count, double *tree, double *right,
                        double *pairs)
{
    double later = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && subject[end].time == subject[i].time &&
                      subject[end].event == subject[i].event;)
            end++;
        for (size_t j = i; j < end && subject[j].event; j++) {
            double below = tree_sum(tree, subject[j].rank - 1);
            double same = tree_sum(tree, subject[j].rank) - below;
            *right += subject[j].weight * (below + same / 2);
            *pairs += subject[j].weight * later;
        }
        for (size_t j = i; j < end; j++) {
            tree_add(tree, count, subject[j].rank, subject[j].weight);
            later += subject[j].weight;
        }
    }
}

fplt_status fplt__concordance(const double *score, const double *time, const double *weight,
                              size_t count, double *right, double *pairs, fplt_error *error)
{
    struct subject *subject;
    double *tree = NULL;
    fplt_status status =
        fplt__alloc_into(&subject, count, sizeof *subject, "the concordance", error);
    if (!status)
        status = fplt__alloc_into(&tree, count + 1, sizeof *tree, "the concordance", error);
    if (!status) {
        for (size_t i = 0; i < count; i++)
            subject[i] = (struct subject){score[i], fabs(time[i]), weight ? weight[i] : 1,
                                          !signbit(time[i]), 0};
        rank(subject, count);
        count_pairs(subject, count, tree, right, pairs);
    }
    fplt__free(tree);
    fplt__free(subject);
    return status;
}

double fplt__poisson_deviance(double count, double expected)
{
    double surprise = count > 0 ? count * log(count / expected) : 0;
    return 2 * (surprise - (count - expected));
}
