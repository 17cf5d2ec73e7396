/* Random intercepts of logistic and Poisson regression by adaptive Gauss-Hermite quadrature [Pinheiro and Bates 1995].
 *
 * Of a cluster with margins m_j, l_j the loss of row j alone and b = tau u:
 *
 *     g(u) = sum_j l_j(m_j + tau u) + u^2/2,   u^ its minimiser,   s = g''(u^)^-1/2,   v_k = u^ + s z_k,
 *     loss = -log s - log sum_k w_k e^(z_k^2/2 - g(v_k)).
 *
 * With q_k the share of node k in that sum, A = sum q_k g'(v_k), B = sum q_k g'(v_k) z_k - 1/s and
 * C = A - B s^3 g'''(u^)/2, its derivative in a parameter p (a margin, or tau) is
 *
 *     sum_k q_k g_p(v_k) - s^2 C g_up(u^) - B s^3 g_uup(u^)/2,
 *
 * since u^ moves by -s^2 g_up and s by -s^3 (g_uuu du^ + g_uup dp)/2: the derivative of the approximation itself, whatever
 * the number of nodes. `bend` differentiates these lines once more along a direction; a dot in a name is such a
 * derivative. */
#include "objective/random_intercept.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linalg/symmetric.h"

/* Above this linear predictor the parabola of e^m there goes on, so that sums of losses stay finite. */
static const double highest_predictor = 300;

/* A loss of one row and its derivatives in the margin. */
enum { VALUE, FIRST, SECOND, THIRD, FOURTH, TERMS };
typedef void terms_of(double label, double m, double *terms);

static void logistic_terms(double label, double m, double *terms)
{
    double small = exp(-fabs(m)), high = 1 / (1 + small), low = small * high;
    double above = m < 0 ? low : high, below = m < 0 ? high : low, bent = high * low;
    terms[VALUE] = log1p(small) + fmax(label > 0 ? -m : m, 0);
    terms[FIRST] = label > 0 ? -below : above;
    terms[SECOND] = bent;
    terms[THIRD] = bent * (below - above);
    terms[FOURTH] = bent * (1 - 6 * bent);
}

static void poisson_terms(double label, double m, double *terms)
{
    double past = m - highest_predictor, mean = exp(fmin(m, highest_predictor));
    int inside = !(past > 0);
    terms[VALUE] = (inside ? mean : mean * (1 + past + past * past / 2)) - label * m;
    terms[FIRST] = (inside ? mean : mean * (1 + past)) - label;
    terms[SECOND] = mean;
    terms[THIRD] = terms[FOURTH] = inside ? mean : 0;
}

size_t fplt__cluster_end(const fplt__block *block, size_t first)
{
    size_t end = first + 1;
    while (end < block->count && (!block->cluster || block->cluster[end] == block->cluster[first]))
        end++;
    return end;
}

/* The rows of a cluster, and what is found about it. */
struct cluster {
    const double *label, *m;
    size_t count, nodes;
    const double *rule;
    double tau;
    double mode, s;            /* u^, s */
    double sum[TERMS];         /* of the rows' terms at the mode */
    double q[FPLT__NODES_MAX]; /* shares of the nodes */
    double loss;
};

/* In the room of every row: its terms at the mode from FIRST on, its first and second derivatives at the nodes; in that of
 * a cluster's first row also the mode, and the shares behind all else. */
enum { ROOM_MODE, ROOM_TERMS, ROOM_NODES = ROOM_TERMS + TERMS - FIRST };

size_t fplt__quadrature_room(double points)
{
    return ROOM_NODES + 3 * (size_t)points;
}

static double *room_of(const fplt__block *block, size_t row)
{
    return block->room + row * fplt__quadrature_room(block->parameter);
}

static double node(const struct cluster *c, size_t k)
{
    return c->mode + c->s * c->rule[k];
}

static void sum_terms(struct cluster *c, double u, terms_of *terms)
{
    double own[TERMS];
    memset(c->sum, 0, sizeof c->sum);
    for (size_t j = 0; j < c->count; j++) {
        terms(c->label[j], c->m[j] + c->tau * u, own);
        for (int i = 0; i < TERMS; i++)
            c->sum[i] += own[i];
    }
}

/* Newton's method within a bracket: g'' >= 1, so that the minimiser lies between u and u - g'(u). A step this short leaves
 * an error of its square. */
static void find_mode(struct cluster *c, terms_of *terms)
{
    enum { STEPS = 2000 };
    const double enough = 1e-9;
    double low = -INFINITY, high = INFINITY, u = 0;
    for (int i = 0; i < STEPS; i++) {
        sum_terms(c, u, terms);
        double slope = u + c->tau * c->sum[FIRST], bent = 1 + c->tau * c->tau * c->sum[SECOND];
        if (slope > 0) {
            high = u;
            low = fmax(low, u - slope);
        } else {
            low = u;
            high = fmin(high, u - slope);
        }
        double next = u - slope / bent;
        if (!(next >= low && next <= high))
            next = low + (high - low) / 2;
        double step = fabs(next - u);
        u = next;
        if (!(step > enough * (1 + fabs(u))))
            break;
    }
    c->mode = u;
    sum_terms(c, u, terms);
    c->s = 1 / sqrt(1 + c->tau * c->tau * c->sum[SECOND]);
}

/* `exponent` of every node becomes its share; returns the logarithm of their sum. */
static double share_out(double *exponent, size_t count)
{
    double most = -INFINITY, sum = 0;
    for (size_t k = 0; k < count; k++)
        most = fmax(most, exponent[k]);
    for (size_t k = 0; k < count; k++)
        sum += exponent[k] = exp(exponent[k] - most);
    for (size_t k = 0; k < count; k++)
        exponent[k] /= sum;
    return most + log(sum);
}

/* Shares and loss; where `block` is not NULL the room of the rows from `first` on is filled as well. */
static void integrate(struct cluster *c, terms_of *terms, const fplt__block *block, size_t first)
{
    double own[TERMS];
    for (size_t k = 0; k < c->nodes; k++) {
        double v = node(c, k), sum = v * v / 2;
        for (size_t j = 0; j < c->count; j++) {
            terms(c->label[j], c->m[j] + c->tau * v, own);
            sum += own[VALUE];
            if (!block)
                continue;
            double *at_nodes = room_of(block, first + j) + ROOM_NODES;
            at_nodes[k] = own[FIRST];
            at_nodes[c->nodes + k] = own[SECOND];
        }
        c->q[k] = c->rule[c->nodes + k] - sum;
    }
    c->loss = -log(c->s) - share_out(c->q, c->nodes);
    for (size_t j = 0; block && j < c->count; j++) {
        terms(c->label[j], c->m[j] + c->tau * c->mode, own);
        memcpy(room_of(block, first + j) + ROOM_TERMS, own + FIRST, (TERMS - FIRST) * sizeof *own);
    }
}

static struct cluster cluster_at(const fplt__block *block, const double *m, size_t first)
{
    return (struct cluster){.label = block->label + first,
                            .m = m + first,
                            .count = fplt__cluster_end(block, first) - first,
                            .nodes = (size_t)block->parameter,
                            .rule = block->rule,
                            .tau = 1 + m[block->stride + first]};
}

/* What derivatives are made of. */
struct sums {
    double a, b, c, x; /* x: s^3 g'''/2 */
    double y, z;       /* s^2 C tau, B s^3 tau^2/2 */
    double up, uup;    /* g_up and g_uup of tau */
};

/* Sums over the rows of what the room has of node k: first derivatives, or `which` 1: second ones. */
static double sum_of_node(const fplt__block *block, const struct cluster *c, size_t first, size_t k,
                          size_t which)
{
    double sum = 0;
    for (size_t j = 0; j < c->count; j++)
        sum += room_of(block, first + j)[ROOM_NODES + which * c->nodes + k];
    return sum;
}

static struct sums sums_of(const fplt__block *block, const struct cluster *c, size_t first)
{
    double tau = c->tau, s = c->s, u = c->mode;
    struct sums made = {.b = -1 / s};
    for (size_t k = 0; k < c->nodes; k++) {
        double slope = node(c, k) + tau * sum_of_node(block, c, first, k, 0);
        made.a += c->q[k] * slope;
        made.b += c->q[k] * slope * c->rule[k];
    }
    made.x = s * s * s * tau * tau * tau * c->sum[THIRD] / 2;
    made.c = made.a - made.b * made.x;
    made.y = s * s * made.c * tau;
    made.z = made.b * s * s * s * tau * tau / 2;
    made.up = c->sum[FIRST] + tau * u * c->sum[SECOND];
    made.uup = 2 * tau * c->sum[SECOND] + tau * tau * u * c->sum[THIRD];
    return made;
}

static void cluster_slopes(const fplt__block *block, const struct cluster *c, size_t first,
                           double *slopes)
{
    struct sums sums = sums_of(block, c, first);
    double of_tau = -c->s * c->s * sums.c * sums.up - sums.b * c->s * c->s * c->s * sums.uup / 2;
    for (size_t j = 0; j < c->count; j++) {
        const double *room = room_of(block, first + j), *term = room + ROOM_TERMS - FIRST;
        double slope = -sums.y * term[SECOND] - sums.z * term[THIRD];
        for (size_t k = 0; k < c->nodes; k++) {
            slope += c->q[k] * room[ROOM_NODES + k];
            of_tau += c->q[k] * node(c, k) * room[ROOM_NODES + k];
        }
        slopes[first + j] = slope;
        slopes[block->stride + first + j] = 0;
    }
    slopes[block->stride + first] = of_tau;
}

/* Where `slopes` is set the margins become derivatives; `values` may be the margins, or NULL. */
static void evaluate(const fplt__block *block, terms_of *terms, double *m, int slopes,
                     double *values)
{
    for (size_t first = 0, end; first < block->count; first = end) {
        struct cluster c = cluster_at(block, m, first);
        end = first + c.count;
        find_mode(&c, terms);
        integrate(&c, terms, slopes ? block : NULL, first);
        if (slopes)
            cluster_slopes(block, &c, first, m);
        if (values)
            memset(values + first, 0, c.count * sizeof *values);
        if (values)
            values[first] = c.loss;
    }
}

/* Fills the room, and leaves the margins. */
static void prepare(const fplt__block *block, terms_of *terms, const double *m)
{
    for (size_t first = 0, end; first < block->count; first = end) {
        struct cluster c = cluster_at(block, m, first);
        end = first + c.count;
        find_mode(&c, terms);
        integrate(&c, terms, block, first);
        double *room = room_of(block, first);
        room[ROOM_MODE] = c.mode;
        memcpy(room + ROOM_NODES + 2 * c.nodes, c.q, c.nodes * sizeof *c.q);
    }
}

/* What `prepare` left, without VALUE. */
static struct cluster recall(const fplt__block *block, const double *m, size_t first)
{
    struct cluster c = cluster_at(block, m, first);
    const double *room = room_of(block, first);
    c.mode = room[ROOM_MODE];
    memcpy(c.q, room + ROOM_NODES + 2 * c.nodes, c.nodes * sizeof *c.q);
    for (size_t j = 0; j < c.count; j++)
        for (int i = FIRST; i < TERMS; i++)
            c.sum[i] += room_of(block, first + j)[ROOM_TERMS + i - FIRST];
    c.s = 1 / sqrt(1 + c.tau * c.tau * c.sum[SECOND]);
    return c;
}

/* How everything at the mode moves along a direction: `t` of tau, `step` of the margins. */
struct motion {
    const double *step;
    double t, mode, s, sum[TERMS]; /* sum: of FIRST .. THIRD */
    double q[FPLT__NODES_MAX];
    double a, b, of_tau; /* of_tau: of the part of the slope by tau that nodes make */
};

/* Of row j's predictor at the mode. */
static double at_mode(const struct cluster *c, const struct motion *d, size_t j)
{
    return d->step[j] + d->t * c->mode + c->tau * d->mode;
}

static void move_mode(const fplt__block *block, const struct cluster *c, size_t first,
                      const struct sums *sums, struct motion *d)
{
    double pull = sums->up * d->t, tau = c->tau, s = c->s;
    for (size_t j = 0; j < c->count; j++)
        pull += tau * room_of(block, first + j)[ROOM_TERMS + SECOND - FIRST] * d->step[j];
    d->mode = -s * s * pull;
    for (size_t j = 0; j < c->count; j++)
        for (int i = FIRST; i < FOURTH; i++)
            d->sum[i] += room_of(block, first + j)[ROOM_TERMS + i + 1 - FIRST] * at_mode(c, d, j);
    d->s = -s * s * s / 2 * (2 * tau * d->t * c->sum[SECOND] + tau * tau * d->sum[SECOND]);
}

/* Nodes, their shares, A and B. */
static void move_nodes(const fplt__block *block, const struct cluster *c, size_t first,
                       struct motion *d)
{
    double slope[FPLT__NODES_MAX], bent[FPLT__NODES_MAX], plain[FPLT__NODES_MAX], mean = 0;
    for (size_t k = 0; k < c->nodes; k++) {
        double v = node(c, k), moved = d->mode + d->s * c->rule[k], sum = 0, moved_sum = 0;
        double by_node = d->t * v + c->tau * moved, value = v * moved;
        for (size_t j = 0; j < c->count; j++) {
            const double *at_node = room_of(block, first + j) + ROOM_NODES + k;
            double step = d->step[j] + by_node;
            sum += at_node[0];
            value += at_node[0] * step;
            moved_sum += at_node[c->nodes] * step;
        }
        slope[k] = v + c->tau * sum;
        bent[k] = moved + d->t * sum + c->tau * moved_sum;
        plain[k] = sum;
        d->of_tau += c->q[k] * (moved * sum + v * moved_sum);
        d->q[k] = value;
        mean += c->q[k] * value;
    }
    d->a = 0;
    d->b = d->s / (c->s * c->s);
    for (size_t k = 0; k < c->nodes; k++) {
        d->q[k] = c->q[k] * (mean - d->q[k]);
        double moved = d->q[k] * slope[k] + c->q[k] * bent[k];
        d->a += moved;
        d->b += moved * c->rule[k];
        d->of_tau += d->q[k] * node(c, k) * plain[k];
    }
}

static struct sums move_sums(const struct cluster *c, const struct sums *sums,
                             const struct motion *d)
{
    double tau = c->tau, s = c->s, u = c->mode, t = d->t;
    struct sums made = {.a = d->a, .b = d->b};
    made.x = s * s * tau * tau / 2 *
             (3 * d->s * tau * c->sum[THIRD] + 3 * s * t * c->sum[THIRD] + s * tau * d->sum[THIRD]);
    made.c = made.a - made.b * sums->x - sums->b * made.x;
    made.y = s * (2 * d->s * sums->c * tau + s * made.c * tau + s * sums->c * t);
    made.z = s * s * tau / 2 * (made.b * s * tau + 3 * sums->b * d->s * tau + 2 * sums->b * s * t);
    made.up = d->sum[FIRST] + (t * u + tau * d->mode) * c->sum[SECOND] + tau * u * d->sum[SECOND];
    made.uup = 2 * t * c->sum[SECOND] + 2 * tau * d->sum[SECOND] + tau * tau * u * d->sum[THIRD] +
               (2 * tau * t * u + tau * tau * d->mode) * c->sum[THIRD];
    return made;
}

static void bend_cluster(const fplt__block *block, const struct cluster *c, size_t first, double *u)
{
    struct sums sums = sums_of(block, c, first);
    struct motion d = {.step = u + first, .t = u[block->stride + first]};
    double s = c->s;
    move_mode(block, c, first, &sums, &d);
    move_nodes(block, c, first, &d);
    struct sums moved = move_sums(c, &sums, &d);
    double of_tau =
        d.of_tau -
        s * (2 * d.s * sums.c * sums.up + s * moved.c * sums.up + s * sums.c * moved.up) -
        s * s / 2 * (moved.b * s * sums.uup + 3 * sums.b * d.s * sums.uup + sums.b * s * moved.uup);
    for (size_t j = 0; j < c->count; j++) {
        const double *room = room_of(block, first + j), *term = room + ROOM_TERMS - FIRST;
        double along = at_mode(c, &d, j);
        double bent = -moved.y * term[SECOND] - sums.y * term[THIRD] * along -
                      moved.z * term[THIRD] - sums.z * term[FOURTH] * along;
        for (size_t k = 0; k < c->nodes; k++) {
            const double *at_node = room + ROOM_NODES + k;
            double step = d.step[j] + d.t * node(c, k) + c->tau * (d.mode + d.s * c->rule[k]);
            bent += d.q[k] * at_node[0] + c->q[k] * at_node[c->nodes] * step;
        }
        u[first + j] = bent; /* the rows before have no part in the others' */
        u[block->stride + first + j] = 0;
    }
    u[block->stride + first] = of_tau;
}

void fplt__mixed_bend(const fplt__block *block, const double *m, double *u)
{
    for (size_t first = 0, end; first < block->count; first = end) {
        struct cluster c = recall(block, m, first);
        end = first + c.count;
        bend_cluster(block, &c, first, u);
    }
}

void fplt__mixed_logistic_value(const fplt__block *block, double *m)
{
    evaluate(block, logistic_terms, m, 0, m);
}

void fplt__mixed_logistic_slope(const fplt__block *block, double *m)
{
    evaluate(block, logistic_terms, m, 1, NULL);
}

void fplt__mixed_logistic_both(const fplt__block *block, double *m, double *values)
{
    evaluate(block, logistic_terms, m, 1, values);
}

void fplt__mixed_logistic_curve(const fplt__block *block, double *m)
{
    prepare(block, logistic_terms, m);
}

void fplt__mixed_poisson_value(const fplt__block *block, double *m)
{
    evaluate(block, poisson_terms, m, 0, m);
}

void fplt__mixed_poisson_slope(const fplt__block *block, double *m)
{
    evaluate(block, poisson_terms, m, 1, NULL);
}

void fplt__mixed_poisson_both(const fplt__block *block, double *m, double *values)
{
    evaluate(block, poisson_terms, m, 1, values);
}

void fplt__mixed_poisson_curve(const fplt__block *block, double *m)
{
    prepare(block, poisson_terms, m);
}

/* Nodes are the eigenvalues of the matrix of the recurrence of Hermite's polynomials, 0 on its diagonal and sqrt(j) beside
 * it [Golub and Welsch 1969]; with p the orthonormal polynomials, w_k = 1/(n p_(n-1)(z_k)^2). */
void fplt__hermite_rule(size_t count, double *rule)
{
    double diagonal[FPLT__NODES_MAX] = {0}, beside[FPLT__NODES_MAX];
    for (size_t j = 0; j < count; j++)
        beside[j] = sqrt((double)j + 1);
    for (size_t k = 0; k < count; k++) {
        double z = fplt__tridiagonal_eigenvalue(diagonal, beside, count, k), before, last, now;
        for (int step = 0; step < 3; step++) { /* two steps of Newton's method, then `last` there */
            before = 0;
            last = 0;
            now = 1;
            for (size_t j = 0; j < count; j++) {
                before = last;
                last = now;
                now = (z * last - sqrt((double)j) * before) / sqrt((double)j + 1);
            }
            z -= step < 2 ? now / (sqrt((double)count) * last) : 0;
        }
        rule[k] = z;
        rule[count + k] = z * z / 2 - log((double)count) - 2 * log(fabs(last));
    }
}

static size_t with_correlation(size_t shared)
{
    return shared + 1;
}

static size_t only_deviations(size_t shared)
{
    return shared;
}

size_t fplt__mixed_shared(size_t classes)
{
    (void)classes;
    return 1;
}

static void name_quantity(const char *const *class_names, size_t which, char *room, size_t size)
{
    (void)class_names;
    snprintf(room, size, "%s", which ? "(icc)" : "(random intercept sd)");
}

/* sd = |1 + x|, ICC = sd^2/(sd^2 + pi^2/3), of the latent variable behind two classes. */
static double quantity(size_t which, double intercept, const double *shared, size_t count,
                       double *slopes)
{
    const double within = M_PI * M_PI / 3;
    double tau = 1 + shared[0], all = tau * tau + within;
    (void)intercept;
    (void)count;
    slopes[0] = slopes[1] = 0;
    if (fabs(tau) < FPLT__SINGULAR)
        return 0;
    slopes[1] = which ? 2 * tau * within / (all * all) : tau < 0 ? -1 : 1;
    return which ? tau * tau / all : fabs(tau);
}

static fplt__range range_of(size_t which)
{
    return which ? FPLT__RANGE_SHARE : FPLT__RANGE_POSITIVE;
}

#define NOTE                                                                                     \
    "Errors come from the Hessian of the marginal likelihood. Intervals of standard deviations " \
    "are "                                                                                       \
    "those of their logarithms, that of the ICC is of its logit."
const char fplt__singular_fit[] =
    "The standard deviation of the random intercept is 0, the boundary: the clusters differ no "
    "more than their rows do "
    "(a singular fit). Coefficients and errors are those of the model without a random intercept.";

const fplt__display fplt__mixed_logistic_display = {
    .quantities = with_correlation,
    .name = name_quantity,
    .value = quantity,
    .range = range_of,
    .note = NOTE,
    .boundary = fplt__singular_fit,
};
const fplt__display fplt__mixed_poisson_display = {
    .quantities = only_deviations,
    .name = name_quantity,
    .value = quantity,
    .range = range_of,
    .note = NOTE,
    .boundary = fplt__singular_fit,
};
