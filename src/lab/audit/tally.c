/* The noise of an audit. Two kinds of statistic, each over cells:
 *
 *   deviation     the sum of squares of the cell's draws is chi-square
 *   correlation   x.y / |y| is standard normal for x of independent standard normals that do not
 *                 depend on y; so no draw may be on both sides of a cell's pairs. For lags that
 *                 takes two cells: blocks of `lag` draws against the next, even blocks and odd ones
 *
 * and how the draws spread over cells of equal probability, which is binomial.
 *
 * Two runs after each other are added up in their order; such pairs are added exactly, so that threads that
 * take one pair after another make the same totals, whichever takes which. */
#include "lab/audit/tally.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sum.h"
#include "lab/audit/tails.h"
#include "privacy/binomial.h"
#include "base/normal.h"

enum { ALL, PLACE, ROUND, EPOCH, AGENTS, ROUNDS, EPOCHS, COORDINATES, RUNS, SPREAD };
enum { FARTHEST = 32, MAX_PAIRS = 64 * 63, BINS = 32 };

struct cell {
    double product, square, count;
};

struct fplt__tally {
    struct fplt__noise_shape shape;
    size_t first[FPLT__TALLY_CHECKS + 1]; /* cell of each family */
    size_t agent_reach, coordinate_reach, round_reach, epoch_reach;
    struct cell *cell;  /* owned: of the pair of runs at hand */
    struct cell *total; /* owned: as they are judged */
    fplt__sum *sum;     /* owned: product and square of each cell over pairs that are whole */
    float *before;      /* owned: the noise of a run that waits for its partner */
    unsigned char *before_present; /* owned */
    double *square;                /* owned: of the draws of an agent in a round */
    int waiting;
    float edge[BINS - 1];
};

/* ---- the families ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Pairs of neighbours up to so far apart: all, unless they are too many. */
static size_t reach_of(size_t count)
{
    size_t most = MAX_PAIRS / count > 1 ? MAX_PAIRS / count : 1;
    return smaller(count - 1, most);
}

static void name_nothing(const fplt__tally *tally, size_t cell, char *text, size_t room)
{
    (void)tally;
    (void)cell;
    (void)room;
    text[0] = 0;
}

static void name_place(const fplt__tally *tally, size_t cell, char *text, size_t room)
{
    size_t n = tally->shape.dimension;
    snprintf(text, room, "agent %zu, coordinate %zu", cell / n, cell % n);
}

static void name_round(const fplt__tally *tally, size_t cell, char *text, size_t room)
{
    (void)tally;
    snprintf(text, room, "round %zu", cell);
}

static void name_epoch(const fplt__tally *tally, size_t cell, char *text, size_t room)
{
    (void)tally;
    snprintf(text, room, "epoch %zu", cell);
}

static void name_pair(const char *what, size_t reach, size_t cell, char *text, size_t room)
{
    size_t first = cell / reach;
    snprintf(text, room, "%s %zu and %zu", what, first, first + 1 + cell % reach);
}

static void name_agents(const fplt__tally *tally, size_t cell, char *text, size_t room)
{
    name_pair("agents", tally->agent_reach, cell, text, room);
}

static void name_coordinates(const fplt__tally *tally, size_t cell, char *text, size_t room)
{
    name_pair("coordinates", tally->coordinate_reach, cell, text, room);
}

static void name_rounds(const fplt__tally *tally, size_t cell, char *text, size_t room)
{
    (void)tally;
    snprintf(text, room, "%zu rounds apart", cell / 2 + 1);
}

static void name_epochs(const fplt__tally *tally, size_t cell, char *text, size_t room)
{
    (void)tally;
    snprintf(text, room, "%zu epochs apart", cell / 2 + 1);
}

static void name_spread(const fplt__tally *tally, size_t cell, char *text, size_t room)
{
    (void)tally;
    snprintf(text, room, "between the quantiles %zu/%d and %zu/%d", cell, BINS, cell + 1, BINS);
}

/* ---- making one ---- */

size_t fplt__noise_size(const struct fplt__noise_shape *shape)
{
    return shape->agents * shape->rounds * shape->epochs * shape->dimension;
}

static void lay_out(fplt__tally *tally)
{
    const struct fplt__noise_shape *shape = &tally->shape;
    tally->agent_reach = reach_of(shape->agents);
    tally->coordinate_reach = reach_of(shape->dimension);
    tally->round_reach = smaller(shape->rounds - 1, FARTHEST);
    tally->epoch_reach = smaller(shape->epochs - 1, FARTHEST);
    const size_t cells[FPLT__TALLY_CHECKS] = {
        [ALL] = 1,
        [PLACE] = shape->agents * shape->dimension,
        [ROUND] = shape->rounds,
        [EPOCH] = shape->epochs,
        [AGENTS] = shape->agents * tally->agent_reach,
        [ROUNDS] = 2 * tally->round_reach,
        [EPOCHS] = 2 * tally->epoch_reach,
        [COORDINATES] = shape->dimension * tally->coordinate_reach,
        [RUNS] = 1,
        [SPREAD] = BINS,
    };
    for (size_t i = 0; i < FPLT__TALLY_CHECKS; i++)
        tally->first[i + 1] = tally->first[i] + cells[i];
    for (size_t i = 1; i < BINS; i++)
        tally->edge[i - 1] = (float)fplt__normal_quantile((double)i / BINS);
}

fplt_status fplt__tally_create(const struct fplt__noise_shape *shape, fplt__tally **out,
                               fplt_error *error)
{
    static const char what[] = "the audit";
    fplt__tally *tally;
    fplt_status status = fplt__alloc_into(out, 1, sizeof **out, what, error);
    if (status)
        return status;
    tally = *out;
    tally->shape = *shape;
    lay_out(tally);
    size_t blocks = shape->agents * shape->rounds;
    size_t cells = tally->first[FPLT__TALLY_CHECKS];
    if ((status = fplt__alloc_into(&tally->cell, cells, sizeof *tally->cell, what, error)) ||
        (status = fplt__alloc_into(&tally->total, cells, sizeof *tally->total, what, error)) ||
        (status = fplt__sum_create(2 * cells, FPLT_SUM_EXPONENT, &tally->sum, error)) ||
        (status = fplt__alloc_into(&tally->before, fplt__noise_size(shape), sizeof *tally->before,
                                   what, error)) ||
        (status = fplt__alloc_into(&tally->before_present, blocks, 1, what, error)) ||
        (status = fplt__alloc_into(&tally->square, blocks, sizeof *tally->square, what, error))) {
        fplt__tally_destroy(tally);
        *out = NULL;
    }
    return status;
}

void fplt__tally_destroy(fplt__tally *tally)
{
    if (!tally)
        return;
    fplt__free(tally->cell);
    fplt__free(tally->total);
    fplt__sum_destroy(tally->sum);
    fplt__free(tally->before);
    fplt__free(tally->before_present);
    fplt__free(tally->square);
    fplt__free(tally);
}

/* ---- adding a run ---- */

static double dot(const float *x, const float *y, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static struct cell *cell_of(fplt__tally *tally, size_t family, size_t number)
{
    return &tally->cell[tally->first[family] + number];
}

static void add_square(struct cell *cell, double square, double count)
{
    cell->square += square;
    cell->count += count;
}

static void add_pair(struct cell *cell, const float *x, const float *y, double square, size_t count)
{
    cell->product += dot(x, y, count);
    add_square(cell, square, (double)count);
}

static size_t bin_of(const fplt__tally *tally, float draw)
{
    size_t low = 0, high = BINS - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (draw > tally->edge[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The draws of one local step. */
static void add_step(fplt__tally *tally, size_t agent, size_t epoch, const float *draw)
{
    size_t n = tally->shape.dimension, reach = tally->coordinate_reach;
    struct cell *place = cell_of(tally, PLACE, agent * n);
    struct cell *pairs = cell_of(tally, COORDINATES, 0), *bins = cell_of(tally, SPREAD, 0);
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
        double x = draw[j];
        sum += x * x;
        add_square(&place[j], x * x, 1);
        bins[bin_of(tally, draw[j])].count++;
        for (size_t k = j + 1; k <= smaller(n - 1, j + reach); k++) {
            double y = draw[k];
            struct cell *pair = &pairs[j * reach + k - j - 1];
            pair->product += x * y;
            add_square(pair, y * y, 1);
        }
    }
    add_square(cell_of(tally, EPOCH, epoch), sum, (double)n);
}

/* Steps of one round against later ones of the same round. */
static void add_epochs(fplt__tally *tally, const float *block)
{
    size_t n = tally->shape.dimension;
    for (size_t lag = 1; lag <= tally->epoch_reach; lag++)
        for (size_t epoch = 0; epoch + lag < tally->shape.epochs; epoch++) {
            const float *x = block + epoch * n, *y = x + lag * n;
            add_pair(cell_of(tally, EPOCHS, 2 * (lag - 1) + epoch / lag % 2), x, y, dot(y, y, n),
                     n);
        }
}

static void add_rounds(fplt__tally *tally, const float *noise, const unsigned char *present,
                       const double *square)
{
    size_t rounds = tally->shape.rounds, size = tally->shape.epochs * tally->shape.dimension;
    for (size_t lag = 1; lag <= tally->round_reach; lag++)
        for (size_t round = 0; round + lag < rounds; round++)
            if (present[round] && present[round + lag])
                add_pair(cell_of(tally, ROUNDS, 2 * (lag - 1) + round / lag % 2),
                         noise + round * size, noise + (round + lag) * size, square[round + lag],
                         size);
}

static void add_agents(fplt__tally *tally, const float *noise, const unsigned char *present)
{
    size_t agents = tally->shape.agents, rounds = tally->shape.rounds, reach = tally->agent_reach;
    size_t size = tally->shape.epochs * tally->shape.dimension;
    for (size_t a = 0; a < agents; a++)
        for (size_t b = a + 1; b <= smaller(agents - 1, a + reach); b++)
            for (size_t round = 0; round < rounds; round++) {
                size_t x = a * rounds + round, y = b * rounds + round;
                if (present[x] && present[y])
                    add_pair(cell_of(tally, AGENTS, a * reach + b - a - 1), noise + x * size,
                             noise + y * size, tally->square[y], size);
            }
}

/* Every second run against the one before it. */
static void add_to_partner(fplt__tally *tally, const float *noise, const unsigned char *present)
{
    size_t blocks = tally->shape.agents * tally->shape.rounds;
    size_t size = tally->shape.epochs * tally->shape.dimension;
    for (size_t i = 0; tally->waiting && i < blocks; i++)
        if (present[i] && tally->before_present[i])
            add_pair(cell_of(tally, RUNS, 0), tally->before + i * size, noise + i * size,
                     tally->square[i], size);
    if (!tally->waiting) {
        memcpy(tally->before, noise, blocks * size * sizeof *noise);
        memcpy(tally->before_present, present, blocks);
    }
    tally->waiting = !tally->waiting;
}

/* What no noise of the claimed deviation reaches counts as this, so that no total leaves the range: pairs are
 * 2^30 at most. */
static double within(double x)
{
    const double most = 0x1p30;
    return isnan(x) ? most : fmax(-most, fmin(x, most));
}

static void close_pair(fplt__tally *tally)
{
    for (size_t i = 0; i < tally->first[FPLT__TALLY_CHECKS]; i++) {
        struct cell *cell = &tally->cell[i];
        const double numbers[2] = {within(cell->product), within(cell->square)};
        fplt__sum_add(tally->sum, 2 * i, numbers, 2); /* within the range, so it does */
        tally->total[i].count += cell->count;
        *cell = (struct cell){0, 0, 0};
    }
    tally->waiting = 0;
}

void fplt__tally_add(fplt__tally *tally, const float *noise, const unsigned char *present)
{
    size_t rounds = tally->shape.rounds, epochs = tally->shape.epochs, n = tally->shape.dimension;
    for (size_t i = 0; i < tally->shape.agents * rounds; i++) {
        const float *block = noise + i * epochs * n;
        if (!present[i])
            continue;
        for (size_t epoch = 0; epoch < epochs; epoch++)
            add_step(tally, i / rounds, epoch, block + epoch * n);
        tally->square[i] = dot(block, block, epochs * n);
        add_square(cell_of(tally, ALL, 0), tally->square[i], (double)(epochs * n));
        add_square(cell_of(tally, ROUND, i % rounds), tally->square[i], (double)(epochs * n));
        add_epochs(tally, block);
    }
    for (size_t agent = 0; agent < tally->shape.agents; agent++)
        add_rounds(tally, noise + agent * rounds * epochs * n, present + agent * rounds,
                   tally->square + agent * rounds);
    add_agents(tally, noise, present);
    add_to_partner(tally, noise, present);
    if (!tally->waiting)
        close_pair(tally);
}

void fplt__tally_merge(fplt__tally *tally, fplt__tally *other)
{
    if (tally->waiting)
        close_pair(tally);
    if (other->waiting)
        close_pair(other);
    fplt__sum_merge(tally->sum, other->sum);
    for (size_t i = 0; i < tally->first[FPLT__TALLY_CHECKS]; i++)
        tally->total[i].count += other->total[i].count;
}

/* ---- judging ---- */

struct judged {
    double found, doubt; /* of one cell */
};

static struct judged judge_deviation(const struct cell *cell, double total)
{
    (void)total;
    double low = fplt__chi_square_below(cell->square, cell->count);
    double high = fplt__chi_square_above(cell->square, cell->count);
    return (struct judged){sqrt(cell->square / cell->count), 2 * fmin(low, high)};
}

static struct judged judge_correlation(const struct cell *cell, double total)
{
    (void)total;
    double z = cell->square > 0 ? cell->product / sqrt(cell->square) : 0;
    return (struct judged){z / sqrt(cell->count), erfc(fabs(z) / sqrt(2))};
}

static struct judged judge_spread(const struct cell *cell, double total)
{
    double p = 1.0 / BINS, hits = cell->count, missed = total - hits;
    double high = hits > 0 ? fplt__beta_ratio(hits, missed + 1, p) : 1;
    double low = missed > 0 ? fplt__beta_ratio(missed, hits + 1, 1 - p) : 1;
    return (struct judged){hits / (total * p), 2 * fmin(low, high)};
}

/* What would have been refuted, with probability 0.99, by cells of `count` draws at `level`. */
static void power_of_deviation(double count, double level, fplt_audit_check *check)
{
    check->power =
        sqrt(fplt__chi_square_quantile(level / 2, count) / fplt__chi_square_quantile(0.99, count));
    snprintf(check->refutes, sizeof check->refutes, "noise below %.3g of what is claimed",
             check->power);
    check->measure = "deviation over the claimed";
    if (check->power < 0.5)
        check->verdict = FPLT_AUDIT_BLIND;
}

static double normal_limit(double level)
{
    return FPLT__SURELY - fplt__normal_quantile(level / 2);
}

static void power_of_correlation(double count, double level, fplt_audit_check *check)
{
    check->power = normal_limit(level) / sqrt(count);
    snprintf(check->refutes, sizeof check->refutes, "correlations beyond %.2g", check->power);
    check->measure = "correlation";
    if (check->power > 0.5)
        check->verdict = FPLT_AUDIT_BLIND;
}

static void power_of_spread(double count, double level, fplt_audit_check *check)
{
    check->power = normal_limit(level) * sqrt((BINS - 1) / count);
    snprintf(check->refutes, sizeof check->refutes, "shares of the draws off by %.2g of theirs",
             check->power);
    check->measure = "share over the claimed";
    if (check->power > 0.5)
        check->verdict = FPLT_AUDIT_BLIND;
}

struct kind {
    struct judged (*judge)(const struct cell *cell, double total);
    void (*power)(double count, double level, fplt_audit_check *check);
    double usual; /* what is found under the claim */
};

static const struct kind deviation = {judge_deviation, power_of_deviation, 1};
static const struct kind correlation = {judge_correlation, power_of_correlation, 0};
static const struct kind spread = {judge_spread, power_of_spread, 1};

struct family {
    const char *name;
    const struct kind *kind;
    void (*place)(const fplt__tally *tally, size_t cell, char *text, size_t room);
};

static const struct family families[FPLT__TALLY_CHECKS] = {
    [ALL] = {"deviation of all noise", &deviation, name_nothing},
    [PLACE] = {"deviation by agent and coordinate", &deviation, name_place},
    [ROUND] = {"deviation by round", &deviation, name_round},
    [EPOCH] = {"deviation by epoch", &deviation, name_epoch},
    [AGENTS] = {"correlation of agents", &correlation, name_agents},
    [ROUNDS] = {"correlation of rounds", &correlation, name_rounds},
    [EPOCHS] = {"correlation of epochs", &correlation, name_epochs},
    [COORDINATES] = {"correlation of coordinates", &correlation, name_coordinates},
    [RUNS] = {"correlation of runs", &correlation, name_nothing},
    [SPREAD] = {"shape of the noise", &spread, name_spread},
};

struct worst {
    struct judged judged;
    size_t cell, tests;
    double least; /* draws behind a test */
};

/* Of equal probabilities, which may both be 0, the one farther off. */
static int is_worse(const struct judged *a, const struct judged *b, double usual)
{
    if (a->doubt != b->doubt)
        return a->doubt < b->doubt;
    return fabs(a->found - usual) > fabs(b->found - usual);
}

static struct worst find_worst(const fplt__tally *tally, size_t family)
{
    const struct kind *kind = families[family].kind;
    const struct cell *cell = tally->total + tally->first[family];
    size_t cells = tally->first[family + 1] - tally->first[family];
    double total = tally->total[tally->first[ALL]].count;
    struct worst worst = {.judged = {kind->usual, 2}, .least = total};
    for (size_t i = 0; i < cells; i++) {
        double draws = kind == &spread ? total : cell[i].count;
        if (!(draws > 0))
            continue;
        struct judged judged = kind->judge(&cell[i], total);
        worst.tests++;
        worst.least = fmin(worst.least, draws);
        if (is_worse(&judged, &worst.judged, kind->usual)) {
            worst.judged = judged;
            worst.cell = i;
        }
    }
    return worst;
}

static void judge_family(const fplt__tally *tally, size_t family, double level,
                         fplt_audit_check *check)
{
    struct worst worst = find_worst(tally, family);
    check->found = worst.judged.found;
    check->tests = worst.tests;
    check->doubt = fmin(1, worst.judged.doubt * (double)worst.tests);
    if (worst.tests == 0) {
        check->verdict = FPLT_AUDIT_LEFT_OUT;
        check->doubt = 1;
        snprintf(check->refutes, sizeof check->refutes, "nothing: there are no two to compare");
        return;
    }
    families[family].kind->power(worst.least, level / (double)worst.tests, check);
    families[family].place(tally, worst.cell, check->where, sizeof check->where);
    if (check->doubt < level)
        check->verdict = FPLT_AUDIT_REFUTED;
}

void fplt__tally_judge(fplt__tally *tally, double level, fplt_audit_check check[FPLT__TALLY_CHECKS])
{
    if (tally->waiting)
        close_pair(tally);
    for (size_t i = 0; i < tally->first[FPLT__TALLY_CHECKS]; i++) {
        fplt__sum_read(tally->sum, 2 * i, &tally->total[i].product, 1);
        fplt__sum_read(tally->sum, 2 * i + 1, &tally->total[i].square, 1);
    }
    for (size_t i = 0; i < FPLT__TALLY_CHECKS; i++) {
        check[i] = (fplt_audit_check){.name = families[i].name};
        judge_family(tally, i, level, &check[i]);
    }
}
