/* The costs once more, record by record in long double, straight from their definitions. */
#ifndef FPLT_TESTS_OBJECTIVE_NAIVE_H
#define FPLT_TESTS_OBJECTIVE_NAIVE_H

#include "objective/problem.h"

typedef struct naive {
    long double value;
    long double gradient[3000];
} naive;

static inline long double naive_cell(const fplt_rows *rows, size_t r, size_t j)
{
    if (j >= rows->features)
        return 1;
    if (rows->dense)
        return rows->dense[r * rows->features + j];
    for (size_t e = rows->start[r]; e < rows->start[r + 1]; e++)
        if (rows->column[e] == j)
            return rows->value[e];
    return 0;
}

/* Loss of one record and its derivatives in the margins. */
static inline long double naive_loss(const char *loss, double delta, fplt_task task, size_t outputs,
                                     const long double *m, double label, long double *slope)
{
    long double t = m[0] - label, b = label;
    if (strcmp(loss, "logistic") == 0) {
        slope[0] = -b / (1 + expl(b * m[0]));
        return b * m[0] > 0 ? log1pl(expl(-b * m[0])) : -b * m[0] + log1pl(expl(b * m[0]));
    }
    if (strcmp(loss, "probit") == 0) {
        long double tail = erfcl(-b * m[0] / sqrtl(2)) / 2;
        slope[0] = -b * expl(-m[0] * m[0] / 2) / sqrtl(8 * atanl(1)) / tail;
        return -logl(tail);
    }
    if (strcmp(loss, "gamma") == 0) {
        slope[0] = 1 - b / expl(m[0]);
        return b / expl(m[0]) + m[0];
    }
    if (strcmp(loss, "negative-binomial") == 0) {
        long double theta = expl(m[1]), mu = expl(m[0]), low = theta, digamma = 0;
        long double ratio = lgammal(b + theta) - lgammal(theta);
        for (int i = 0; i < 200; i++, low += 1) /* the rest of the series by Euler and Maclaurin */
            digamma += b / (low * (low + b));
        long double u = 1 / low, v = 1 / (low + b);
        digamma += log1pl(b / low) + (u - v) / 2 + (u * u - v * v) / 12 -
                   (u * u * u * u - v * v * v * v) / 120;
        slope[0] = (mu - b) * theta / (mu + theta);
        slope[1] = theta * (logl(1 + mu / theta) - digamma) - slope[0];
        return (b + theta) * logl(mu + theta) - b * m[0] - theta * m[1] - ratio;
    }
    if (strcmp(loss, "ordinal") == 0) {
        size_t class = (size_t)(task == FPLT_TASK_BINARY ? (label > 0) : label);
        long double above = 0, below = 0, upto = 1, below_slope = 0, upto_slope = 0;
        for (size_t j = 0; j < outputs; j++) { /* the threshold above class j */
            above += j ? expl(m[j]) : 0;
            long double p = 1 / (1 + expl(m[0] - above));
            if (j + 1 == class)
                below = p, below_slope = p * (1 - p);
            if (j == class)
                upto = p, upto_slope = p * (1 - p);
        }
        slope[0] = (upto_slope - below_slope) / (upto - below);
        for (size_t j = 1; j < outputs; j++)
            slope[j] = -expl(m[j]) *
                       ((j <= class ? upto_slope : 0) - (j < class ? below_slope : 0)) /
                       (upto - below);
        return -logl(upto - below);
    }
    if (strcmp(loss, "squared-hinge") == 0) {
        long double short_by = fmaxl(0, 1 - b * m[0]);
        slope[0] = -b * short_by;
        return short_by * short_by / 2;
    }
    if (strcmp(loss, "least-squares") == 0) {
        slope[0] = t;
        return t * t / 2;
    }
    if (strcmp(loss, "huber") == 0) {
        slope[0] = fabsl(t) <= delta ? t : copysignl(delta, t);
        return fabsl(t) <= delta ? t * t / 2 : delta * (fabsl(t) - delta / 2);
    }
    size_t own = (size_t)(task == FPLT_TASK_BINARY ? (label > 0) : label);
    long double sum = 0;
    for (size_t k = 0; k < outputs; k++)
        sum += expl(m[k]);
    for (size_t k = 0; k < outputs; k++)
        slope[k] = expl(m[k]) / sum - (k == own);
    return logl(sum) - m[own];
}

static inline void naive_cost(const fplt_objective_settings *settings, const fplt_dataset *dataset,
                              uint32_t agent, const double *x, naive *out)
{
    fplt_rows rows = fplt_dataset_shard(dataset, agent);
    fplt_task task = fplt_dataset_task(dataset);
    size_t outputs = strcmp(settings->loss, "softmax") == 0 ? fplt_dataset_outputs(dataset) : 1;
    size_t weights = outputs * rows.features, columns = rows.features + (settings->intercept != 0);
    size_t shared = strcmp(settings->loss, "negative-binomial") == 0 ? 1
                    : strcmp(settings->loss, "ordinal") == 0 ? fplt_dataset_outputs(dataset) - 2
                                                             : 0;
    size_t dimension = outputs * columns + shared;
    memset(out, 0, sizeof *out);
    for (size_t r = 0; r < rows.count; r++) {
        long double m[16] = {0}, slope[16], cell[700], square = 0, steep = 0, factor = 1;
        for (size_t j = 0; j < columns; j++) {
            cell[j] = naive_cell(&rows, r, j);
            square += cell[j] * cell[j];
            for (size_t k = 0; k < outputs; k++)
                m[k] += cell[j] * x[j < rows.features ? k * rows.features + j : weights + k];
        }
        for (size_t k = 0; k < shared; k++)
            m[outputs + k] = x[outputs * columns + k];
        out->value += naive_loss(settings->loss, settings->huber_delta, task, outputs + shared, m,
                                 rows.label[r], slope);
        for (size_t k = 0; k < outputs; k++)
            steep += slope[k] * slope[k];
        if (settings->clip > 0 && sqrtl(steep * square) > settings->clip)
            factor = settings->clip / sqrtl(steep * square);
        for (size_t k = 0; k < outputs; k++)
            for (size_t j = 0; j < columns; j++)
                out->gradient[j < rows.features ? k * rows.features + j : weights + k] +=
                    factor * slope[k] * cell[j] / rows.count;
        for (size_t k = 0; k < shared; k++)
            out->gradient[outputs * columns + k] += slope[outputs + k] / rows.count;
    }
    out->value /= rows.count;
    for (size_t j = 0; j < weights; j++) {
        long double share = 1 / (1 + (long double)x[j] * x[j]);
        if (strcmp(settings->regulariser, "ridge") == 0) {
            out->value += settings->weight * x[j] * x[j] / 2;
            out->gradient[j] += settings->weight * x[j];
        } else if (strcmp(settings->regulariser, "nonconvex") == 0) {
            out->value += settings->weight * (1 - share);
            out->gradient[j] += settings->weight * 2 * x[j] * share * share;
        }
    }
    if (settings->weigh_rows) {
        long double scale = (long double)rows.count * fplt_dataset_agents(dataset) /
                            (long double)fplt_dataset_rows(dataset);
        out->value *= scale;
        for (size_t j = 0; j < dimension; j++)
            out->gradient[j] *= scale;
    }
}

#endif
