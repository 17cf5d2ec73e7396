/* How well predictions fit what happened. */
#include "report/quality.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/sorting.h"

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

/* How many of sorted scores, from the first on, are `score`. */
static size_t count_equal(const double *scores, size_t count, double score)
{
    size_t equal = 0;
    while (equal < count && scores[equal] == score)
        equal++;
    return equal;
}

/* Adds what the sorted scores of rows of the class count; `passed` others have lower scores than all of these. */
static void add_above(const double *positive, size_t positives, const double *other, size_t others,
                      size_t passed, double *above)
{
    for (size_t i = 0, j = 0; i < positives;) {
        while (j < others && other[j] < positive[i])
            j++;
        size_t found = count_equal(positive + i, positives - i, positive[i]);
        size_t same = count_equal(other + j, others - j, positive[i]);
        found += !found; /* no number equals NaN */
        *above += (double)found * ((double)(passed + j) + (double)same / 2);
        i += found;
        j += same;
    }
}

static double share_of_pairs(double above, size_t positives, size_t others)
{
    return positives && others ? above / ((double)positives * (double)others) : NAN;
}

double fplt__area_sorted(const double *positive, size_t positives, const double *other,
                         size_t others)
{
    double above = 0;
    add_above(positive, positives, other, others, 0, &above);
    return share_of_pairs(above, positives, others);
}

/* Ranges of scores: those with the same first bits are in one. */
enum { RANGE_BITS = 16, RANGES = 1 << RANGE_BITS };

static size_t range_of(double score)
{
    return (size_t)(fplt__sort_key(score) >> (64 - RANGE_BITS));
}

/* Sorts the `count` scores of the ranges first .. end - 1, as fplt__scores_sort does. */
static fplt_status sort_ranges(const fplt__scores *scores, size_t first, size_t end, size_t count,
                               fplt__sorting_room *room, size_t *positives, fplt_error *error)
{
    fplt_status status = fplt__grow(&room->number, &room->capacity, 2 * count, sizeof *room->number,
                                    "sorted scores", error);
    size_t found = 0, others = count;
    int all = first == 0 && end == RANGES;
    if (status)
        return status;
    for (size_t i = 0; i < scores->count; i++) {
        int positive;
        double score = scores->score(scores->context, i, &positive);
        size_t range = all ? 0 : range_of(score);
        if (all || (range >= first && range < end))
            room->number[positive ? found++ : --others] = score;
    }
    FPLT__ASSERT(found == others);
    fplt__sort_with(room->number, room->number + count, found);
    fplt__sort_with(room->number + found, room->number + count, count - found);
    *positives = found;
    return FPLT_OK;
}

fplt_status fplt__scores_sort(const fplt__scores *scores, fplt__sorting_room *room,
                              size_t *positives, fplt_error *error)
{
    return sort_ranges(scores, 0, RANGES, scores->count, room, positives, error);
}

/* Area so far, of the rows with the lowest scores. */
struct area {
    double above;
    size_t positives, others;
};

static fplt_status add_ranges(const fplt__scores *scores, size_t first, size_t end, size_t count,
                              fplt__sorting_room *room, struct area *area, fplt_error *error)
{
    size_t positives;
    fplt_status status = sort_ranges(scores, first, end, count, room, &positives, error);
    if (status)
        return status;
    add_above(room->number, positives, room->number + positives, count - positives, area->others,
              &area->above);
    area->positives += positives;
    area->others += count - positives;
    return FPLT_OK;
}

/* As many ranges at a time as have `limit` scores together, or one. */
static fplt_status add_in_turn(const fplt__scores *scores, const size_t *held, size_t limit,
                               fplt__sorting_room *room, struct area *area, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t first = 0, end; first < RANGES && !status; first = end) {
        size_t count = held[first];
        for (end = first + 1; end < RANGES && count + held[end] <= limit; end++)
            count += held[end];
        if (count)
            status = add_ranges(scores, first, end, count, room, area, error);
    }
    return status;
}

fplt_status fplt__area_of_scores(const fplt__scores *scores, fplt__sorting_room *room, double *area,
                                 fplt_error *error)
{
    enum { FEW = 1 << 18, TURNS = 4 };
    struct area sum = {0, 0, 0};
    fplt_status status;
    if (scores->count <= FEW) {
        status = add_ranges(scores, 0, RANGES, scores->count, room, &sum, error);
    } else {
        size_t *held;
        if ((status = fplt__alloc_into(&held, RANGES, sizeof *held, "ranges of scores", error)))
            return status;
        for (size_t i = 0; i < scores->count; i++) {
            int positive;
            held[range_of(scores->score(scores->context, i, &positive))]++;
        }
        status = add_in_turn(scores, held, scores->count / TURNS, room, &sum, error);
        fplt__free(held);
    }
    *area = share_of_pairs(sum.above, sum.positives, sum.others);
    return status;
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
