/* Fed-PLT in a few lines, written from the algorithm alone: the oracle of the theory's tests. */
#ifndef FPLT_TESTS_THEORY_SIMULATION_H
#define FPLT_TESTS_THEORY_SIMULATION_H

#include "testing.h"

#include "fedplt/random.h"
#include "fedplt/theory.h"

enum { MAX_AGENTS = 8, MAX_DIMENSION = 4 };

typedef double vectors[MAX_AGENTS][MAX_DIMENSION];

/* f_i(x) = x'H_i x/2 + <c_i, x>, or, when curved, the sum over coordinates of
 * low t^2/2 + 4 (high - low) log(1 + exp(t - c_ij)), whose curvature runs from low to high;
 * h(x) = absolute |x|_1. */
struct federation {
    int agents, dimension, curved;
    double low, high, absolute;
    double hessian[MAX_AGENTS][MAX_DIMENSION][MAX_DIMENSION];
    vectors linear;
    double solution[MAX_DIMENSION];
    vectors x, z, z_solution;
};

static inline void gradient_of(const struct federation *f, int agent, const double *x, double *g)
{
    for (int j = 0; j < f->dimension; j++) {
        if (f->curved) {
            double s = 1 / (1 + exp(f->linear[agent][j] - x[j]));
            g[j] = f->low * x[j] + 4 * (f->high - f->low) * s;
            continue;
        }
        g[j] = f->linear[agent][j];
        for (int k = 0; k < f->dimension; k++)
            g[j] += f->hessian[agent][j][k] * x[k];
    }
}

static inline double soft(double v, double threshold)
{
    return copysign(fmax(fabs(v) - threshold, 0), v);
}

/* Proximal gradient on the sum, to the last bits; then z_i* = x* - rho (gradient of f_i). */
static inline void solve(struct federation *f, double rho)
{
    double step = 1 / (f->agents * f->high), g[MAX_DIMENSION];
    memset(f->solution, 0, sizeof f->solution);
    for (int iteration = 0; iteration < 40 * (int)(f->high / f->low + 1); iteration++) {
        double sum[MAX_DIMENSION] = {0};
        for (int i = 0; i < f->agents; i++) {
            gradient_of(f, i, f->solution, g);
            for (int j = 0; j < f->dimension; j++)
                sum[j] += g[j];
        }
        for (int j = 0; j < f->dimension; j++)
            f->solution[j] = soft(f->solution[j] - step * sum[j], step * f->absolute);
    }
    for (int i = 0; i < f->agents; i++) {
        gradient_of(f, i, f->solution, g);
        for (int j = 0; j < f->dimension; j++)
            f->z_solution[i][j] = f->solution[j] - rho * g[j];
    }
}

/* A random symmetric matrix with the given eigenvalues: two-sided Givens rotations. */
static inline void rotate_randomly(double (*h)[MAX_DIMENSION], int n, const double *eigenvalues,
                                   fplt_stream *stream)
{
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++)
            h[j][k] = j == k ? eigenvalues[j] : 0;
    for (int p = 0; p < n; p++) {
        for (int q = p + 1; q < n; q++) {
            double angle = 2 * M_PI * fplt_stream_uniform(stream);
            double c = cos(angle), s = sin(angle);
            for (int k = 0; k < n; k++) {
                double a = h[p][k], b = h[q][k];
                h[p][k] = c * a - s * b;
                h[q][k] = s * a + c * b;
            }
            for (int k = 0; k < n; k++) {
                double a = h[k][p], b = h[k][q];
                h[k][p] = c * a - s * b;
                h[k][q] = s * a + c * b;
            }
        }
    }
}

/* Quadratics with eigenvalues anywhere between low and high, often at the ends, or curved costs. */
static inline void draw_costs(struct federation *f, int agents, int dimension, int curved,
                              double low, double high, fplt_stream *stream)
{
    memset(f, 0, sizeof *f);
    f->agents = agents;
    f->dimension = dimension;
    f->curved = curved;
    f->low = low;
    f->high = high;
    for (int i = 0; i < agents; i++) {
        double eigenvalues[MAX_DIMENSION];
        for (int j = 0; j < dimension; j++) {
            double u = fplt_stream_uniform(stream), v = fplt_stream_uniform(stream);
            eigenvalues[j] = u < 0.3 ? low : u < 0.6 ? high : low * pow(high / low, v);
            f->linear[i][j] = 3 * fplt_stream_normal(stream);
        }
        rotate_randomly(f->hessian[i], dimension, eigenvalues, stream);
    }
}

static inline void start_anywhere(struct federation *f, fplt_stream *stream)
{
    double scale_x = exp(3 * fplt_stream_normal(stream));
    for (int i = 0; i < f->agents; i++) {
        for (int j = 0; j < f->dimension; j++) {
            f->x[i][j] = f->solution[j] + scale_x * fplt_stream_normal(stream);
            f->z[i][j] = f->z_solution[i][j] + fplt_stream_normal(stream);
        }
    }
}

static inline void train(const struct federation *f, const fplt_theory_parameters *p, int agent,
                         const double *v, double *w, fplt_stream *noise)
{
    double m = f->low + 1 / p->rho, M = f->high + 1 / p->rho, g[MAX_DIMENSION], u[MAX_DIMENSION];
    double momentum = (sqrt(M) - sqrt(m)) / (sqrt(M) + sqrt(m));
    memcpy(u, w, sizeof u);
    for (uint32_t step = 0; step < p->epochs; step++) {
        gradient_of(f, agent, w, g);
        for (int j = 0; j < f->dimension; j++) {
            double slope = g[j] + (w[j] - v[j]) / p->rho;
            if (p->accelerated) {
                double next = w[j] - slope / M;
                w[j] = next + momentum * (next - u[j]);
                u[j] = next;
            } else {
                w[j] -= p->step * slope;
                if (p->noise_tau > 0)
                    w[j] += sqrt(2 * p->step) * p->noise_tau * fplt_stream_normal(noise);
            }
        }
    }
}

static inline void one_round(struct federation *f, const fplt_theory_parameters *p,
                             const int *active, fplt_stream *noise)
{
    double y[MAX_DIMENSION] = {0};
    for (int j = 0; j < f->dimension; j++) {
        for (int i = 0; i < f->agents; i++)
            y[j] += f->z[i][j] / f->agents;
        y[j] = soft(y[j], p->rho * f->absolute / f->agents);
    }
    for (int i = 0; i < f->agents; i++) {
        if (active && !active[i])
            continue;
        double v[MAX_DIMENSION];
        for (int j = 0; j < f->dimension; j++)
            v[j] = 2 * y[j] - f->z[i][j];
        train(f, p, i, v, f->x[i], noise);
        for (int j = 0; j < f->dimension; j++)
            f->z[i][j] += 2 * (f->x[i][j] - y[j]);
    }
}

static inline void errors_of(const struct federation *f, double *of_x, double *of_z)
{
    double x = 0, z = 0;
    for (int i = 0; i < f->agents; i++) {
        for (int j = 0; j < f->dimension; j++) {
            double dx = f->x[i][j] - f->solution[j], dz = f->z[i][j] - f->z_solution[i][j];
            x += dx * dx;
            z += dz * dz;
        }
    }
    *of_x = sqrt(x);
    *of_z = sqrt(z);
}

static inline double weighted_error(const struct federation *f, double weight)
{
    double x, z;
    errors_of(f, &x, &z);
    return hypot(x, weight * z);
}

static inline fplt_theory_problem problem_of(const struct federation *f)
{
    return (fplt_theory_problem){f->low, f->high, (uint64_t)f->agents, (uint64_t)f->dimension};
}

#endif
