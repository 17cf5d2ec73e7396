/* Cox's partial likelihood [Cox 1972], one stratum an agent, ties after Breslow:
 *
 *     sum over events j of w_j (log S(t_j) - m_j),  S(t) = sum of w_k e^{m_k} over k with t_k >= t.
 *
 * Records come with the latest times first, so that S is a running sum over groups of equal times.
 * With D(t) the weight of the events at t and A_k the sum of D/S over t <= t_k,
 *
 *     slope of record k        w_k e^{m_k} A_k - w_k [k is an event]
 *     second derivative on u   w_k e^{m_k} A_k (u_k - Q_k)
 *
 * where Q_k is the mean, by D/S over t <= t_k, of P(t), the mean of u by w e^m over those at risk at t.
 * S and A are kept as logarithms and P and Q as running means, so that margins may have any size. */
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

static double events_of(const fplt__block *block, size_t first, size_t end)
{
    double weight = 0;
    for (size_t r = first; r < end; r++)
        if (is_event(block, r))
            weight += weight_of(block, r);
    return weight;
}

/* A sum of positive numbers by its logarithm, and a mean weighted by them. */
struct pool {
    double log, mean;
};

static const struct pool empty = {-INFINITY, 0};

static void pour(struct pool *pool, double log_weight, double value)
{
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

void fplt__cox_value(const fplt__block *block, double *m)
{
    double *log_s = block->room;
    gather_risk(block, m, NULL, log_s, NULL);
    for (size_t r = 0; r < block->count; r++)
        m[r] = is_event(block, r) ? weight_of(block, r) * (log_s[r] - m[r]) : 0;
}

void fplt__cox_slope(const fplt__block *block, double *m)
{
    double *log_s = block->room;
    struct pool hazard = empty;
    gather_risk(block, m, NULL, log_s, NULL);
    for (size_t end = block->count, first; end > 0; end = first) {
        first = group_begin(block, end);
        double events = events_of(block, first, end);
        if (events > 0)
            pour(&hazard, log(events) - log_s[first], 0);
        for (size_t r = first; r < end; r++)
            m[r] = weight_of(block, r) * (exp(m[r] + hazard.log) - is_event(block, r));
    }
}

/* `bend` needs the margins as they are. */
void fplt__cox_curve(const fplt__block *block, double *m)
{
    (void)block;
    (void)m;
}

void fplt__cox_bend(const fplt__block *block, const double *m, double *u)
{
    double *log_s = block->room, *mean = block->room + block->stride;
    struct pool hazard = empty;
    gather_risk(block, m, u, log_s, mean);
    for (size_t end = block->count, first; end > 0; end = first) {
        first = group_begin(block, end);
        double events = events_of(block, first, end);
        if (events > 0)
            pour(&hazard, log(events) - log_s[first], mean[first]);
        for (size_t r = first; r < end; r++)
            u[r] = weight_of(block, r) * exp(m[r] + hazard.log) * (u[r] - hazard.mean);
    }
}
