/* Counting rows on a grid of probabilities, and what follows from the counts. */
#include "report/score_grid.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/sum.h"
#include "data/dataset_access.h"
#include "report/model.h"

/* The numbers of a site: these, then the counts of the first class, then those of the second. */
enum { ROWS, MINIMUM, HAS_SUMS, HAS_CLASSES, LOSS, BRIER, PREDICTED, HEAD };

static const double MAX_ROWS = 9007199254740992.0;

fplt_status fplt__score_grid_check(const fplt_model *model, size_t cells, fplt_error *error)
{
    if (cells < FPLT__SCORE_GRID_MIN || cells > FPLT__SCORE_GRID_MAX ||
        cells % FPLT__SCORE_GRID_BINS)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "grid: is %zu, but must be a multiple of %d from %d to %d", cells,
                              FPLT__SCORE_GRID_BINS, FPLT__SCORE_GRID_MIN, FPLT__SCORE_GRID_MAX);
    if (model->info.classes != 2 || !model->kind->probable)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "a grid of probabilities needs a model of two classes with "
                              "probabilities, but this one has %u classes and the loss %s; "
                              "`fedplt evaluate` without --grid measures it",
                              model->info.classes, model->info.loss);
    return FPLT_OK;
}

size_t fplt__score_grid_numbers(size_t cells)
{
    return HEAD + 2 * cells;
}

/* Counting */

struct counting {
    size_t cells;
    double steep;
    uint64_t beyond;    /* rows whose linear predictor is above it */
    uint64_t *count[2]; /* owned, of both classes: cells */
    uint64_t total[2];
    fplt__sum *sum;    /* loss, brier, predicted, and what is missing of the predicted to 1 */
    double largest[4]; /* of one row */
};

/* -log of the probability of the class that a row is of, from the difference of the scores: it does not vanish where the
 * probability is rounded to 0 or 1. */
static double loss_of(double margin, int second)
{
    double against = second ? -margin : margin;
    return against > 0 ? against + log1p(exp(-against)) : log1p(exp(against));
}

static fplt_status count_row(struct counting *c, const fplt_model *model, const fplt_rows *rows,
                             size_t row)
{
    double scores[2], probabilities[2], predicted;
    fplt__model_answer(model, rows, row, scores, probabilities, &predicted);
    int second = rows->label[row] > 0;
    double p = probabilities[1], gap = p - second,
           margin = model->outputs == 1 ? scores[0] : scores[1] - scores[0];
    double terms[4] = {loss_of(margin, second), gap * gap, p, 1 - p};
    c->beyond += fabs(margin) > c->steep;
    size_t cell = p >= 1 ? c->cells - 1 : (size_t)(p * (double)c->cells);
    FPLT__ASSERT(cell < c->cells);
    c->count[second][cell]++;
    c->total[second]++;
    for (size_t i = 0; i < 4; i++)
        c->largest[i] = fmax(c->largest[i], terms[i]);
    return fplt__sum_add(c->sum, 0, terms, 4);
}

static uint64_t count_between(const uint64_t *count, size_t from, size_t to)
{
    uint64_t sum = 0;
    for (size_t k = from; k < to; k++)
        sum += count[k];
    return sum;
}

/* Merged cells cover all of from .. to - 1, which has at least `minimum` rows: each ends as soon as it has as many, and the
 * last one takes what is left. A merged cell is written at its last cell. */
static void merge_between(const uint64_t *count, size_t from, size_t to, uint64_t minimum,
                          double *merged)
{
    uint64_t held = 0;
    size_t last = to;
    for (size_t k = from; k < to; k++) {
        held += count[k];
        if (held < minimum)
            continue;
        merged[k] = (double)held;
        held = 0;
        last = k;
    }
    FPLT__ASSERT(last < to);
    double end = merged[last] + (double)held;
    merged[last] = 0;
    merged[to - 1] = end;
}

/* A cell is merged across probability 0.5 only where one side has too few rows: then the accuracy has bounds. */
static void merge_cells(const uint64_t *count, size_t cells, uint64_t minimum, double *merged)
{
    size_t middle = cells / 2;
    if (minimum <= 1) {
        for (size_t k = 0; k < cells; k++)
            merged[k] = (double)count[k];
    } else if (count_between(count, 0, middle) >= minimum &&
               count_between(count, middle, cells) >= minimum) {
        merge_between(count, 0, middle, minimum, merged);
        merge_between(count, middle, cells, minimum, merged);
    } else {
        merge_between(count, 0, cells, minimum, merged);
    }
}

static int is_saturated(const struct counting *c, const fplt__score_grid *grid)
{
    double rows = (double)(c->total[0] + c->total[1]);
    return grid->saturated > 0 && (double)c->beyond > grid->saturated * rows;
}

/* Whether no row has more than its share of a sum. */
static int may_release_sums(const struct counting *c, double dominant)
{
    double sums[4];
    fplt__sum_read(c->sum, 0, sums, 4);
    for (size_t i = 0; i < 4 && dominant > 0; i++)
        if (c->largest[i] > dominant * sums[i])
            return 0;
    return 1;
}

static fplt_status write_counts(const struct counting *c, const fplt__score_grid *grid,
                                uint64_t *words, fplt_error *error)
{
    size_t numbers = fplt__score_grid_numbers(c->cells);
    uint64_t minimum = grid->minimum > 1 ? grid->minimum : 1;
    int is_open = !is_saturated(c, grid);
    fplt__sum *sum = NULL;
    double *out;
    fplt_status status = fplt__alloc_into(&out, numbers, sizeof *out, "counts", error);
    if (!status)
        status = fplt__sum_create(numbers, FPLT_SUM_EXPONENT, &sum, error);
    if (!status) {
        out[ROWS] = (double)(c->total[0] + c->total[1]);
        out[MINIMUM] = (double)minimum;
        out[HAS_SUMS] = is_open && may_release_sums(c, grid->dominant);
        out[HAS_CLASSES] = is_open && c->total[0] >= minimum && c->total[1] >= minimum;
        for (size_t k = 0; out[HAS_CLASSES] > 0 && k < 2; k++)
            merge_cells(c->count[k], c->cells, minimum, out + HEAD + k * c->cells);
        status = fplt__sum_add(sum, 0, out, numbers);
        if (!status && out[HAS_SUMS] > 0)
            status = fplt__sum_add_part(sum, LOSS, c->sum, 0, 3);
        fplt__sum_export(sum, 0, words, numbers);
    }
    fplt__sum_destroy(sum);
    fplt__free(out);
    return status;
}

fplt_status fplt__score_grid_count(const fplt__score_grid *grid, const fplt_model *model,
                                   const fplt_dataset *dataset, uint32_t agent, uint64_t *words,
                                   fplt_error *error)
{
    struct counting c = {.cells = grid->cells, .steep = grid->steep};
    fplt_rows rows = fplt_dataset_shard(dataset, agent);
    fplt_status status = fplt__score_grid_check(model, grid->cells, error);
    if (!status && rows.weight)
        status = fplt_error_set(error, FPLT_UNSUPPORTED,
                                "rows have weights, but a grid of probabilities counts rows; leave "
                                "the weights out, or evaluate without a grid");
    if (status || (status = fplt__model_check_rows(model, &rows, error)) ||
        (status = fplt__alloc_into(&c.count[0], c.cells, sizeof *c.count[0], "counts", error)) ||
        (status = fplt__alloc_into(&c.count[1], c.cells, sizeof *c.count[1], "counts", error)) ||
        (status = fplt__sum_create(4, FPLT_SUM_EXPONENT, &c.sum, error)))
        goto end;
    for (size_t r = 0; r < rows.count && !status; r++)
        if ((status = count_row(&c, model, &rows, r)))
            fplt_error_set(error, status, "row %zu has a loss that is not finite", r + 1);
    if (!status)
        status = write_counts(&c, grid, words, error);
end:
    fplt__sum_destroy(c.sum);
    fplt__free(c.count[0]);
    fplt__free(c.count[1]);
    return status;
}

/* Reading */

static int is_count(double x)
{
    return x >= 0 && x <= MAX_ROWS && x == floor(x);
}

static double total_of(const double *count, size_t cells)
{
    double sum = 0;
    for (size_t k = 0; k < cells; k++)
        sum += count[k];
    return sum;
}

/* Whether an honest site can have sent these. */
static int is_possible(const double *site, size_t cells)
{
    double rows = site[ROWS], minimum = site[MINIMUM], sum = 0;
    if (!(is_count(rows) && rows >= 1 && is_count(minimum) && minimum >= 1) ||
        (site[HAS_SUMS] != 0 && site[HAS_SUMS] != 1) ||
        (site[HAS_CLASSES] != 0 && site[HAS_CLASSES] != 1) || !(site[LOSS] >= 0) ||
        !(site[BRIER] >= 0 && site[BRIER] <= rows) ||
        !(site[PREDICTED] >= 0 && site[PREDICTED] <= rows))
        return 0;
    for (size_t k = HEAD; k < HEAD + 2 * cells; k++) {
        if (!is_count(site[k]) || (site[k] > 0 && site[k] < minimum))
            return 0;
        sum += site[k];
    }
    return sum == (site[HAS_CLASSES] > 0 ? rows : 0) &&
           (!(sum > 0) || minimum <= 1 ||
            (site[HEAD + cells - 1] > 0 && site[HEAD + 2 * cells - 1] > 0));
}

/* The cell at which the merged cell that ends at `end` begins. */
static size_t begin_of(const double *site, const double *count, size_t end)
{
    size_t begin = end;
    while (site[MINIMUM] > 1 && begin > 0 && !(count[begin - 1] > 0))
        begin--;
    return begin;
}

/* Rows of some sites by the cells at which their merged cells begin and end. */
struct spread {
    size_t cells;
    double *begin[2], *end[2]; /* owned; of both classes */
    double total[2];
};

static void clear_spread(struct spread *spread)
{
    for (size_t k = 0; k < 2; k++) {
        fplt__free(spread->begin[k]);
        fplt__free(spread->end[k]);
    }
}

static fplt_status make_spread(size_t cells, struct spread *spread, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    *spread = (struct spread){.cells = cells};
    for (size_t k = 0; k < 2 && !status; k++)
        if (!(status = fplt__alloc_into(&spread->begin[k], cells, sizeof(double), "counts", error)))
            status = fplt__alloc_into(&spread->end[k], cells, sizeof(double), "counts", error);
    return status;
}

static void add_to_spread(struct spread *spread, const double *site)
{
    for (size_t k = 0; k < 2; k++) {
        const double *count = site + HEAD + k * spread->cells;
        for (size_t cell = 0; cell < spread->cells; cell++)
            if (count[cell] > 0) {
                spread->end[k][cell] += count[cell];
                spread->begin[k][begin_of(site, count, cell)] += count[cell];
                spread->total[k] += count[cell];
            }
    }
}

/* Rows of a class that are surely, and that may be, in cells from .. to - 1. */
static fplt__bounds rows_between(const struct spread *spread, size_t class, size_t from, size_t to)
{
    double before = total_of(spread->end[class], from),
           behind = total_of(spread->begin[class] + to, spread->cells - to),
           maybe_before = total_of(spread->begin[class], from),
           maybe_behind = total_of(spread->end[class] + to, spread->cells - to);
    double sure = spread->total[class] - maybe_before - maybe_behind;
    return (fplt__bounds){fmax(sure, 0), spread->total[class] - before - behind};
}

/* Of the pairs of a row of each class, those in which the row of the second has surely, or may have, the higher probability.
 * Both are step functions of the cells, and monotone, so the bounds of merged cells are those of their first and last cell. */
static fplt__bounds area_of(const struct spread *spread)
{
    double pairs = spread->total[0] * spread->total[1], below = 0, up_to = 0;
    fplt__bounds area = {0, 0};
    for (size_t cell = 0; cell < spread->cells; cell++) {
        up_to += spread->begin[0][cell];
        area.low += spread->begin[1][cell] * below;
        area.high += spread->end[1][cell] * up_to;
        below += spread->end[0][cell];
    }
    return (fplt__bounds){area.low / pairs, area.high / pairs};
}

static void measure_bins(const struct spread *spread, fplt__grid_quality *quality)
{
    size_t width = spread->cells / FPLT__SCORE_GRID_BINS;
    for (size_t b = 0; b < FPLT__SCORE_GRID_BINS; b++) {
        fplt__bounds first = rows_between(spread, 0, b * width, (b + 1) * width),
                     second = rows_between(spread, 1, b * width, (b + 1) * width);
        quality->bin[b].rows = (fplt__bounds){first.low + second.low, first.high + second.high};
        quality->bin[b].observed = (fplt__bounds){second.low / (second.low + first.high),
                                                  second.high / (second.high + first.low)};
    }
}

static void measure_classes(const struct spread *spread, fplt__grid_quality *quality)
{
    double rows = spread->total[0] + spread->total[1];
    size_t middle = spread->cells / 2;
    fplt__bounds first = rows_between(spread, 0, 0, middle),
                 second = rows_between(spread, 1, middle, spread->cells);
    quality->observed = spread->total[1] / rows;
    quality->accuracy =
        (fplt__bounds){(first.low + second.low) / rows, (first.high + second.high) / rows};
    quality->auc = area_of(spread);
    measure_bins(spread, quality);
}

static void measure_sums(const double *site, fplt__grid_quality *quality)
{
    quality->loss = site[LOSS] / site[ROWS];
    quality->brier = site[BRIER] / site[ROWS];
    quality->predicted = site[PREDICTED] / site[ROWS];
}

static fplt__grid_quality nothing_known(const double *site)
{
    const fplt__bounds unknown = {NAN, NAN};
    fplt__grid_quality made = {.rows = (uint64_t)site[ROWS],
                               .minimum = (uint64_t)site[MINIMUM],
                               .loss = NAN,
                               .brier = NAN,
                               .predicted = NAN,
                               .observed = NAN,
                               .accuracy = unknown,
                               .auc = unknown};
    for (size_t b = 0; b < FPLT__SCORE_GRID_BINS; b++)
        made.bin[b] = (fplt__score_bin){unknown, unknown};
    return made;
}

static fplt_status measure_site(size_t cells, const double *site, struct spread *together,
                                fplt__grid_quality *quality, fplt_error *error)
{
    struct spread own;
    fplt_status status = make_spread(cells, &own, error);
    *quality = nothing_known(site);
    quality->has_sums = site[HAS_SUMS] > 0;
    quality->has_classes = site[HAS_CLASSES] > 0;
    if (!status && quality->has_sums)
        measure_sums(site, quality);
    if (!status && quality->has_classes) {
        add_to_spread(&own, site);
        measure_classes(&own, quality);
        add_to_spread(together, site);
    }
    clear_spread(&own);
    return status;
}

/* Exact totals of the sites, read as one site. */
static fplt_status read_site(size_t cells, const uint64_t *words, fplt__sum *total, double *numbers,
                             fplt_error *error)
{
    size_t count = fplt__score_grid_numbers(cells);
    fplt__sum *own;
    fplt_status status = fplt__sum_create_words(count, FPLT_SUM_EXPONENT, &own, error);
    if (status)
        return status;
    if (fplt__sum_add_words(own, 0, words, count) || fplt__sum_add_words(total, 0, words, count))
        status = FPLT_BAD_DATA;
    if (!status)
        fplt__sum_read(own, 0, numbers, count);
    fplt__sum_destroy(own);
    return status || !is_possible(numbers, cells)
               ? fplt_error_set(error, FPLT_BAD_DATA, "the counts of a grid cannot be")
               : FPLT_OK;
}

static void measure_all(size_t sites, const fplt__sum *total, size_t numbers,
                        const struct spread *together, const fplt__grid_quality *each,
                        double *scratch, fplt__grid_quality *all)
{
    fplt__sum_read(total, 0, scratch, numbers);
    *all = nothing_known(scratch);
    all->minimum = 0;
    all->has_sums = all->has_classes = 1;
    for (size_t i = 0; i < sites; i++) {
        all->minimum = each[i].minimum > all->minimum ? each[i].minimum : all->minimum;
        all->has_sums &= each[i].has_sums;
        all->has_classes &= each[i].has_classes;
    }
    if (all->has_sums)
        measure_sums(scratch, all);
    if (all->has_classes)
        measure_classes(together, all);
}

fplt_status fplt__score_grid_settle(size_t cells, const uint64_t *const *words, size_t sites,
                                    fplt__grid_quality *each, fplt__grid_quality *all, size_t *bad,
                                    fplt_error *error)
{
    size_t numbers = fplt__score_grid_numbers(cells);
    struct spread together;
    fplt__sum *total = NULL;
    double *site = NULL;
    fplt_status status = make_spread(cells, &together, error);
    if (!status)
        status = fplt__alloc_into(&site, numbers, sizeof *site, "counts", error);
    if (!status)
        status = fplt__sum_create_words(numbers, FPLT_SUM_EXPONENT, &total, error);
    for (*bad = 0; *bad < sites && !status; *bad += !status)
        if (!(status = read_site(cells, words[*bad], total, site, error)))
            status = measure_site(cells, site, &together, &each[*bad], error);
    if (!status)
        measure_all(sites, total, numbers, &together, each, site, all);
    fplt__sum_destroy(total);
    fplt__free(site);
    clear_spread(&together);
    return status;
}
