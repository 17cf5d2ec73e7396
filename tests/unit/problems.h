/* Problems that several tests use. */
#ifndef FPLT_TESTS_PROBLEMS_H
#define FPLT_TESTS_PROBLEMS_H

#include "testing.h"

#include "fedplt.h"

/* Reading a setting by a name that no table has fails the whole test at its end. A case that does so
 * on purpose adds here how often. */
extern unsigned long misreads_meant;

/* Quadratic costs f_i(x) = x'A_i x/2 - b_i'x as a callback objective. */
enum { QUADRATIC_MAX = 12, QUADRATIC_AGENTS = 24 };

struct quadratics {
    uint32_t agents;
    size_t n;
    double a[QUADRATIC_AGENTS][QUADRATIC_MAX][QUADRATIC_MAX];
    double b[QUADRATIC_AGENTS][QUADRATIC_MAX];
    double lowest, highest;
};

/* A_i = (Householder reflections of) a diagonal between lowest and highest; b_i normal. */
void quadratics_make(struct quadratics *quadratics, uint32_t agents, size_t n, double lowest,
                     double highest, uint64_t seed);
fplt_objective *quadratics_objective(struct quadratics *quadratics);
/* The minimiser of the sum, by Gaussian elimination. */
void quadratics_minimiser(const struct quadratics *quadratics, double *x);
void solve_linear(size_t n, double *matrix, double *vector);

/* The `paper` generator's data and its logistic cost with a ridge. */
struct logistic_problem {
    fplt_dataset *dataset;
    fplt_objective *objective;
};

struct logistic_problem logistic_make(uint32_t agents, size_t n, size_t rows, double eps,
                                      uint64_t seed);
void logistic_free(struct logistic_problem *problem);

fplt_engine *engine_make(const fplt_objective *objective, const fplt_run_settings *settings);
fplt_participation *half_of(uint32_t agents);

/* An allocator that counts, and can be told to fail at the n-th allocation. */
struct counting {
    long live, made, fail_at; /* fail_at < 0: never */
};

void counting_install(struct counting *counting);

#endif
