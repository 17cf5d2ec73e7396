/* Pairs and directions of L-BFGS. */
#include "algorithm/secant.h"

#include <math.h>
#include <string.h>

#include "algorithm/composite.h"
#include "prox/prox_access.h"

enum { MAX = 200, MAX_REFUSALS = 6 };

/* The coordinator's vectors behind those of the line search: s and y of every place. */
enum { FIRST_PAIR = FPLT__DESCENT_VECTORS };

const fplt_setting fplt__secant_settings[] = {
    {"pairs", FPLT_INTEGER, 0, "30", 1, MAX, NULL,
     "earlier rounds from which the coordinator learns how the costs curve", 0, 0},
    {"first-step", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "length of the first step along the mean gradient", 0, 0, .rule = "1/lmax, roughly"},
    FPLT_SETTINGS_END,
};

void fplt__secant_reshape(const double *parameter, size_t dimension, fplt_shape *shape)
{
    size_t pairs = (size_t)parameter[FPLT__SECANT_PAIRS], numbers = 4 * pairs * (pairs + 1);
    shape->vectors = FIRST_PAIR + 2 * (unsigned)pairs;
    shape->scratch = 1 + FPLT__COMPOSITE_WORK + (unsigned)((numbers + dimension - 1) / dimension);
}

void fplt__secant_choose(const fplt_facts *facts, double *parameter)
{
    if (isnan(parameter[FPLT__SECANT_FIRST_STEP]))
        parameter[FPLT__SECANT_FIRST_STEP] = 1 / facts->curvature.highest;
}

static void add(double *to, double factor, const double *from, size_t n)
{
    for (size_t j = 0; j < n; j++)
        to[j] += factor * from[j];
}

/* s of a place; y is behind it. */
static double *pair(const fplt_coordinator *coordinator, unsigned place)
{
    return coordinator->vector + (FIRST_PAIR + 2 * place) * coordinator->dimension;
}

static unsigned pairs_of(const fplt_coordinator *coordinator)
{
    return (unsigned)coordinator->parameter[FPLT__SECANT_PAIRS];
}

/* The place of the pair that is `back` before the next one. */
static double *earlier(const fplt_coordinator *coordinator, unsigned back)
{
    unsigned next = (unsigned)coordinator->number[FPLT__SECANT_NEXT], pairs = pairs_of(coordinator);
    return pair(coordinator, (next + pairs - back) % pairs);
}

/* d = -H g: the two-loop recursion over the kept pairs, the newest first. */
static void recall_smooth(fplt_coordinator *coordinator)
{
    size_t n = coordinator->dimension;
    unsigned count = (unsigned)coordinator->number[FPLT__SECANT_COUNT];
    double *d = coordinator->vector + FPLT__DIRECTION * n, alpha[MAX];
    double scale = coordinator->parameter[FPLT__SECANT_FIRST_STEP] / coordinator->agents;
    for (size_t j = 0; j < n; j++)
        d[j] = -coordinator->vector[FPLT__GRADIENT * n + j];
    for (unsigned k = 0; k < count; k++) {
        const double *s = earlier(coordinator, k + 1), *y = s + n;
        alpha[k] = fplt__inner(s, d, n) / fplt__inner(s, y, n);
        add(d, -alpha[k], y, n);
        if (k == 0)
            scale = fplt__inner(s, y, n) / fplt__inner(y, y, n);
    }
    for (size_t j = 0; j < n; j++)
        d[j] *= scale;
    for (unsigned k = count; k-- > 0;) {
        const double *s = earlier(coordinator, k + 1), *y = s + n;
        add(d, alpha[k] - fplt__inner(y, d, n) / fplt__inner(s, y, n), s, n);
    }
}

/* ---- With h: the model's matrix in compact form ---- */

/* B = c I - W M^-1 W' with W = [c S, Y] and M = [c S'S, L; L', -D], pairs from the oldest to the newest, L the strictly
 * lower triangle of S'Y and D its diagonal. */
typedef struct compact {
    const fplt_coordinator *coordinator;
    size_t n;
    unsigned count;  /* pairs */
    double scale;    /* c */
    double *factor;  /* of M, 2 count x 2 count, by elimination with row exchanges */
    double *row;     /* which row is the pivot of each step */
    double *product; /* W'v, then M^-1 W'v: 2 count */
} compact;

/* Pair number k from the oldest on. */
static const double *aged(const compact *b, unsigned k)
{
    return earlier(b->coordinator, b->count - k);
}

static void fill_compact(compact *b)
{
    unsigned m = b->count, size = 2 * m;
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < m; j++) {
            const double *si = aged(b, i), *sj = aged(b, j);
            double sy = fplt__inner(si, sj + b->n, b->n);
            b->factor[i * size + j] = b->scale * fplt__inner(si, sj, b->n);
            b->factor[i * size + m + j] = i > j ? sy : 0;
            b->factor[(m + j) * size + i] = i > j ? sy : 0;
            b->factor[(m + i) * size + m + j] = i == j ? -sy : 0;
        }
}

/* Gaussian elimination with partial pivoting in place; zero where M is singular. */
static int eliminate(compact *b)
{
    unsigned size = 2 * b->count;
    for (unsigned k = 0; k < size; k++) {
        unsigned pivot = k;
        for (unsigned i = k + 1; i < size; i++)
            if (fabs(b->factor[i * size + k]) > fabs(b->factor[pivot * size + k]))
                pivot = i;
        b->row[k] = pivot;
        for (unsigned j = 0; pivot != k && j < size; j++) {
            double held = b->factor[k * size + j];
            b->factor[k * size + j] = b->factor[pivot * size + j];
            b->factor[pivot * size + j] = held;
        }
        if (!(fabs(b->factor[k * size + k]) > 0))
            return 0;
        for (unsigned i = k + 1; i < size; i++) {
            double multiple = b->factor[i * size + k] /= b->factor[k * size + k];
            for (unsigned j = k + 1; multiple != 0 && j < size; j++)
                b->factor[i * size + j] -= multiple * b->factor[k * size + j];
        }
    }
    return 1;
}

/* product = M^-1 product */
static void solve_compact(const compact *b)
{
    unsigned size = 2 * b->count;
    double *x = b->product;
    for (unsigned k = 0; k < size; k++) {
        unsigned pivot = (unsigned)b->row[k];
        double held = x[pivot];
        x[pivot] = x[k];
        x[k] = held;
    }
    for (unsigned k = 0; k < size; k++)
        x[k] -= fplt__inner(b->factor + k * size, x, k);
    for (unsigned k = size; k-- > 0;) {
        x[k] -= fplt__inner(b->factor + k * size + k + 1, x + k + 1, size - k - 1);
        x[k] /= b->factor[k * size + k];
    }
}

static void multiply(const void *context, const double *v, double *out)
{
    const compact *b = context;
    unsigned m = b->count;
    for (unsigned k = 0; k < m; k++) {
        b->product[k] = b->scale * fplt__inner(aged(b, k), v, b->n);
        b->product[m + k] = fplt__inner(aged(b, k) + b->n, v, b->n);
    }
    solve_compact(b);
    for (size_t j = 0; j < b->n; j++)
        out[j] = b->scale * v[j];
    for (unsigned k = 0; k < m; k++) {
        add(out, -b->scale * b->product[k], aged(b, k), b->n);
        add(out, -b->product[m + k], aged(b, k) + b->n, b->n);
    }
}

/* d = z - x, z the minimiser of the model of the pairs plus h; without pairs a proximal gradient step. */
static void recall_composite(fplt_coordinator *coordinator)
{
    size_t n = coordinator->dimension;
    double *z = coordinator->scratch, *work = z + n;
    const double *x = coordinator->vector + FPLT__POINT * n;
    double *d = coordinator->vector + FPLT__DIRECTION * n;
    unsigned count = (unsigned)coordinator->number[FPLT__SECANT_COUNT];
    double *small = work + FPLT__COMPOSITE_WORK * n;
    compact b = {coordinator,
                 n,
                 count,
                 coordinator->agents / coordinator->parameter[FPLT__SECANT_FIRST_STEP],
                 small,
                 small + 4 * count * count,
                 small + 4 * count * count + 2 * count};
    if (count) {
        const double *s = earlier(coordinator, 1), *y = s + n;
        b.scale = fplt__inner(y, y, n) / fplt__inner(s, y, n);
        fill_compact(&b);
        if (!eliminate(&b))
            b.count = 0;
    }
    fplt__quadratic model = {
        n, x, coordinator->vector + FPLT__GRADIENT * n, coordinator->prox, multiply, &b};
    fplt_status status = fplt__composite_minimise(&model, z, work);
    if (status)
        coordinator->number[FPLT__FAULT] = status;
    for (size_t j = 0; j < n; j++)
        d[j] = z[j] - x[j];
}

static void recall(fplt_coordinator *coordinator)
{
    if (fplt__prox_is_zero(coordinator->prox))
        recall_smooth(coordinator);
    else
        recall_composite(coordinator);
}

/* Where steps and gradients are rounding, pairs carry no information: they may point upwards, or make a step that is too long
 * for a double. Then they are forgotten, and a gradient step takes their place. */
static void aim(fplt_coordinator *coordinator)
{
    size_t n = coordinator->dimension;
    const double *d = coordinator->vector + FPLT__DIRECTION * n;
    const double *x = coordinator->vector + FPLT__POINT * n;
    const double longest = 1e8; /* of a step beside the point itself */
    recall(coordinator);
    fplt__descent_aim(coordinator);
    double square = fplt__inner(d, d, n), size = 1 + fplt__inner(x, x, n);
    if (coordinator->number[FPLT__SECANT_COUNT] > 0 &&
        !(coordinator->number[FPLT__SLOPE] <= 0 && square <= longest * longest * size)) {
        coordinator->number[FPLT__SECANT_COUNT] = 0;
        recall(coordinator);
        fplt__descent_aim(coordinator);
    }
}

/* The step to the point at hand and the change of the gradient, where the next pair goes. */
static void note_pair(fplt_coordinator *coordinator, const double *gradient)
{
    size_t n = coordinator->dimension;
    double *s = pair(coordinator, (unsigned)coordinator->number[FPLT__SECANT_NEXT]), *y = s + n;
    const double *before = coordinator->vector + FPLT__GRADIENT * n;
    const double *d = coordinator->vector + FPLT__DIRECTION * n;
    for (size_t j = 0; j < n; j++) {
        s[j] = coordinator->number[FPLT__LENGTH] * d[j];
        y[j] = gradient[j] - before[j];
    }
}

/* A pair along which the cost does not curve upwards would make H indefinite. */
static void keep_pair(fplt_coordinator *coordinator)
{
    size_t n = coordinator->dimension;
    double *number = coordinator->number;
    const double *s = pair(coordinator, (unsigned)number[FPLT__SECANT_NEXT]), *y = s + n;
    if (!(fplt__inner(s, y, n) > 1e-10 * sqrt(fplt__inner(s, s, n) * fplt__inner(y, y, n))))
        return;
    number[FPLT__SECANT_NEXT] = ((unsigned)number[FPLT__SECANT_NEXT] + 1) % pairs_of(coordinator);
    number[FPLT__SECANT_COUNT] = fmin(number[FPLT__SECANT_COUNT] + 1, pairs_of(coordinator));
}

void fplt__secant_arrive(fplt_coordinator *coordinator, const double *gradient, double value)
{
    double *number = coordinator->number;
    int begun = number[FPLT__BEGUN] != 0;
    note_pair(coordinator, gradient);
    if (fplt__descent_arrive(coordinator, gradient, value)) {
        if (begun)
            keep_pair(coordinator);
        aim(coordinator);
    } else if (number[FPLT__REFUSED] == MAX_REFUSALS && number[FPLT__SECANT_COUNT] > 0) {
        number[FPLT__SECANT_COUNT] = 0; /* a gradient step does better than such pairs */
        aim(coordinator);
    }
}
