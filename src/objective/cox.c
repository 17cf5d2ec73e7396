/* Cox's partial likelihood [Cox 1972], one stratum an agent:
 *
 *     sum over times t with events of  w(t) sum_l log S_l(t)  -  sum over events j of w_j m_j.
 *
 * S(t) is the sum of w_k e^{m_k} over those at risk, k with t_k >= t; d events at t have the mean weight w(t) and the
 * sum T(t) of w e^m. l goes from 0 to d - 1, and S_l = S - a_l T with a_l = l/d [Efron 1977] or a_l = 0 [Breslow 1974];
 * weights as in R's package survival. With P_l the mean of u by w e^m over those at risk, events at t counted
 * 1 - a_l times, the sums over t <= t_k and l of
 *
 *     A_k = c_kl w(t) / S_l(t)          Q_k = the mean of P_l(t) by these
 *
 * where c_kl is 1 - a_l if k is an event at t and 1 otherwise, give
 *
 *     slope of record k        w_k e^{m_k} A_k - w_k [k is an event]
 *     second derivative on u   w_k e^{m_k} A_k (u_k - Q_k)
 *     score residual on u      w_k [k is an event] (u_k - mean of P_l(t_k)) - the line above
 *
 * Records come with the latest times first, so that S is a running sum over groups of equal times. S and A are kept as
 * logarithms and P and Q as running means, so that margins may have any size. Where one record outweighs all others at
 * risk, u_k - Q_k is the small difference of two numbers that are nearly alike: means therefore have two parts, the
 * second of which holds what the first rounds away. */
#include "objective/cox.h"

#include <math.h>

static int is_event(const fplt__block *block, size_t r)
{
    return !signbit(block->label[r]);
}

static double weight_of(const fplt__block *block, size_t r)
{
    return block->weight ? block->weight[r] : 1;
}

/* The first record behind those with the time of `first`. */
static size_t group_end(const fplt__block *block, size_t first)
{
    size_t r = first;
    while (r < block->count && fabs(block->label[r]) == fabs(block->label[first]))
        r++;
    return r;
}

/* The first record with the time of the one before `end`. */
static size_t group_begin(const fplt__block *block, size_t end)
{
    size_t r = end;
    while (r > 0 && fabs(block->label[r - 1]) == fabs(block->label[end - 1]))
        r--;
    return r;
}

/* The unevaluated sum of a double and what it lacks. */
struct mean {
    double high, low;
};

static double minus(struct mean a, struct mean b)
{
    return (a.high - b.high) + (a.low - b.low);
}

/* a + step [Knuth 1969, two-sum]. */
static struct mean moved(struct mean a, double step)
{
    double more = a.low + step, high = a.high + more, back = high - a.high;
    return (struct mean){high, (a.high - (high - back)) + (more - back)};
}

/* A sum of positive numbers by its logarithm, and a mean weighted by them. */
struct pool {
    double log;
    struct mean mean;
};

static const struct pool empty = {-INFINITY, {0, 0}};

/* The new mean is found from the one of the two that weighs more, by a step that is at most half the way. */
static void pour(struct pool *pool, double log_weight, struct mean value)
{
    if (log_weight == -INFINITY)
        return;
    double above = fmax(pool->log, log_weight), below = fmin(pool->log, log_weight);
    double less = exp(below - above), share = less / (1 + less);
    pool->mean = log_weight > pool->log ? moved(value, share * minus(pool->mean, value))
                                        : moved(pool->mean, share * minus(value, pool->mean));
    pool->log = above + log1p(less);
}

static struct mean at(const double *u, size_t r)
{
    return (struct mean){u ? u[r] : 0, 0};
}

/* Of those at risk at a record's time, in the block's room: log S, and unless u is NULL the mean of u. */
static void gather_risk(const fplt__block *block, const double *m, const double *u)
{
    double *log_s = block->room, *high = log_s + block->stride, *low = high + block->stride;
    struct pool risk = empty;
    for (size_t first = 0, end; first < block->count; first = end) {
        end = group_end(block, first);
        for (size_t r = first; r < end; r++)
            pour(&risk, m[r] + log(weight_of(block, r)), at(u, r));
        for (size_t r = first; r < end; r++) {
            log_s[r] = risk.log;
            if (u)
                high[r] = risk.mean.high, low[r] = risk.mean.low;
        }
    }
}

/* What gather_risk left for record r. */
static struct pool risk_at(const fplt__block *block, const double *u, size_t r)
{
    const double *log_s = block->room, *high = log_s + block->stride, *low = high + block->stride;
    return (struct pool){log_s[r], u ? (struct mean){high[r], low[r]} : (struct mean){0, 0}};
}

/* The events of one time: how many, their mean weight, and their sum T with its mean of u. */
struct events {
    double count, weight;
    struct pool sum;
};

static struct events events_of(const fplt__block *block, const double *m, const double *u,
                               size_t first, size_t end)
{
    struct events events = {0, 0, empty};
    for (size_t r = first; r < end; r++)
        if (is_event(block, r) && weight_of(block, r) > 0) {
            events.count++;
            events.weight += weight_of(block, r);
            pour(&events.sum, m[r] + log(weight_of(block, r)), at(u, r));
        }
    if (events.count > 0)
        events.weight /= events.count;
    return events;
}

/* a_l: how much of the events of a time has left those at risk. */
static double part_gone(const fplt__block *block, const struct events *events, double l)
{
    return block->parameter == FPLT__TIES_EFRON ? l / events->count : 0;
}

/* S_l and P_l from S and P. */
static struct pool without(struct pool risk, const struct events *events, double gone)
{
    if (!(gone > 0))
        return risk;
    double share = gone * exp(events->sum.log - risk.log), left = 1 - share;
    return (struct pool){risk.log + log1p(-share),
                         moved(risk.mean, share / left * minus(risk.mean, events->sum.mean))};
}

void fplt__cox_value(const fplt__block *block, double *m)
{
    gather_risk(block, m, NULL);
    for (size_t first = 0, end; first < block->count; first = end) {
        end = group_end(block, first);
        struct events events = events_of(block, m, NULL, first, end);
        double sum = 0;
        for (double l = 0; l < events.count; l++)
            sum += without(risk_at(block, NULL, first), &events, part_gone(block, &events, l)).log;
        for (size_t r = first; r < end; r++)
            m[r] = is_event(block, r) && events.count > 0
                       ? weight_of(block, r) * (sum / events.count - m[r])
                       : 0;
    }
}

/* A and Q of those who outlive a time, and of its own events; and the mean of P_l. */
struct hazard {
    struct pool after, own;
    struct mean mean;
};

static void pass_time(const fplt__block *block, const struct events *events, struct pool risk,
                      struct hazard *hazard)
{
    hazard->own = hazard->after;
    hazard->mean = risk.mean;
    for (double l = 0; l < events->count; l++) {
        double gone = part_gone(block, events, l);
        struct pool left = without(risk, events, gone);
        double rate = log(events->weight) - left.log;
        pour(&hazard->after, rate, left.mean);
        pour(&hazard->own, rate + log1p(-gone), left.mean);
        hazard->mean = moved(hazard->mean, minus(left.mean, hazard->mean) / (l + 1));
    }
}

void fplt__cox_slope(const fplt__block *block, double *m)
{
    struct hazard hazard = {empty, empty, {0, 0}};
    gather_risk(block, m, NULL);
    for (size_t end = block->count, first; end > 0; end = first) {
        first = group_begin(block, end);
        struct events events = events_of(block, m, NULL, first, end);
        pass_time(block, &events, risk_at(block, NULL, first), &hazard);
        for (size_t r = first; r < end; r++) {
            int event = is_event(block, r);
            double log_a = event ? hazard.own.log : hazard.after.log;
            m[r] = weight_of(block, r) * (exp(m[r] + log_a) - event);
        }
    }
}

/* `bend` needs the margins as they are. */
void fplt__cox_curve(const fplt__block *block, double *m)
{
    (void)block;
    (void)m;
}

/* Second derivative on u, or where `scores` is set the score residual. */
static void bend_or_score(const fplt__block *block, const double *m, double *u, int scores)
{
    struct hazard hazard = {empty, empty, {0, 0}};
    gather_risk(block, m, u);
    for (size_t end = block->count, first; end > 0; end = first) {
        first = group_begin(block, end);
        struct events events = events_of(block, m, u, first, end);
        pass_time(block, &events, risk_at(block, u, first), &hazard);
        for (size_t r = first; r < end; r++) {
            int event = is_event(block, r);
            const struct pool *past = event ? &hazard.own : &hazard.after;
            double weight = weight_of(block, r);
            double bent = weight * exp(m[r] + past->log) * minus(at(u, r), past->mean);
            u[r] = scores ? weight * event * minus(at(u, r), hazard.mean) - bent : bent;
        }
    }
}

void fplt__cox_curvature_bounds(const fplt__block *block, const double *m, double *u)
{
    bend_or_score(block, m, u, 0);
}

void fplt__cox_score(const fplt__block *block, const double *m, double *u)
{
    bend_or_score(block, m, u, 1);
}
