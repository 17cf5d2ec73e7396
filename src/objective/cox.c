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
 * logarithms and P and Q as running means, so that margins may have any size. */
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

/* A sum of positive numbers by its logarithm, and a mean weighted by them. */
struct pool {
    double log, mean;
};

static const struct pool empty = {-INFINITY, 0};

static void pour(struct pool *pool, double log_weight, double value)
{
    if (log_weight == -INFINITY)
        return;
    double above = fmax(pool->log, log_weight), below = fmin(pool->log, log_weight);
    double log = above + log1p(exp(below - above));
    pool->mean += exp(log_weight - log) * (value - pool->mean);
    pool->log = log;
}

/* Of those at risk at a record's time: log S, and unless u is NULL the mean of u. */
static void gather_risk(const fplt__block *block, const double *m, const double *u, double *log_s,
                        double *mean)
{
    struct pool risk = empty;
    for (size_t first = 0, end; first < block->count; first = end) {
        end = group_end(block, first);
        for (size_t r = first; r < end; r++)
            pour(&risk, m[r] + log(weight_of(block, r)), u ? u[r] : 0);
        for (size_t r = first; r < end; r++) {
            log_s[r] = risk.log;
            if (u)
                mean[r] = risk.mean;
        }
    }
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
            pour(&events.sum, m[r] + log(weight_of(block, r)), u ? u[r] : 0);
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
    return (struct pool){risk.log + log1p(-share), (risk.mean - share * events->sum.mean) / left};
}

void fplt__cox_value(const fplt__block *block, double *m)
{
    double *log_s = block->room;
    gather_risk(block, m, NULL, log_s, NULL);
    for (size_t first = 0, end; first < block->count; first = end) {
        end = group_end(block, first);
        struct events events = events_of(block, m, NULL, first, end);
        double sum = 0;
        for (double l = 0; l < events.count; l++)
            sum +=
                without((struct pool){log_s[first], 0}, &events, part_gone(block, &events, l)).log;
        for (size_t r = first; r < end; r++)
            m[r] = is_event(block, r) && events.count > 0
                       ? weight_of(block, r) * (sum / events.count - m[r])
                       : 0;
    }
}

/* A and Q of those who outlive a time, and of its own events; and the mean of P_l. */
struct hazard {
    struct pool after, own;
    double mean;
};

static void pass_time(const fplt__block *block, const struct events *events, struct pool risk,
                      struct hazard *hazard)
{
    hazard->own = hazard->after;
    hazard->mean = 0;
    for (double l = 0; l < events->count; l++) {
        double gone = part_gone(block, events, l);
        struct pool left = without(risk, events, gone);
        double rate = log(events->weight) - left.log;
        pour(&hazard->after, rate, left.mean);
        pour(&hazard->own, rate + log1p(-gone), left.mean);
        hazard->mean += left.mean / events->count;
    }
}

void fplt__cox_slope(const fplt__block *block, double *m)
{
    double *log_s = block->room;
    struct hazard hazard = {empty, empty, 0};
    gather_risk(block, m, NULL, log_s, NULL);
    for (size_t end = block->count, first; end > 0; end = first) {
        first = group_begin(block, end);
        struct events events = events_of(block, m, NULL, first, end);
        pass_time(block, &events, (struct pool){log_s[first], 0}, &hazard);
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
    double *log_s = block->room, *mean = block->room + block->stride;
    struct hazard hazard = {empty, empty, 0};
    gather_risk(block, m, u, log_s, mean);
    for (size_t end = block->count, first; end > 0; end = first) {
        first = group_begin(block, end);
        struct events events = events_of(block, m, u, first, end);
        pass_time(block, &events, (struct pool){log_s[first], mean[first]}, &hazard);
        for (size_t r = first; r < end; r++) {
            int event = is_event(block, r);
            const struct pool *past = event ? &hazard.own : &hazard.after;
            double weight = weight_of(block, r);
            double bent = weight * exp(m[r] + past->log) * (u[r] - past->mean);
            u[r] = scores ? weight * event * (u[r] - hazard.mean) - bent : bent;
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
