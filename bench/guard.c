/* What the disclosure rules on saturation and dominance add to a round of one gradient at a site: a pass over the records at a new
 * point, and how many of the points of gradient descent on a logistic cost need one. Timed in turn, the quickest counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "problem.h"
#include "timing.h"
#include "objective/objective.h"

enum { REPEATS = 31, ROUNDS = 200 };

struct times {
    double gradient, pass;
};

static struct times time_passes(const fplt_objective *objective, const double *norms, double *x,
                                double *gradient, double *scratch)
{
    struct times best = {HUGE_VAL, HUGE_VAL};
    fplt__influence found;
    for (int r = 0; r < REPEATS; r++) {
        double begun = microseconds();
        fplt_objective_gradient(objective, 0, x, gradient, scratch);
        double between = microseconds();
        fplt__objective_influence(objective, 0, x, norms, 8, scratch, &found);
        best.gradient = fmin(best.gradient, between - begun);
        best.pass = fmin(best.pass, microseconds() - between);
    }
    return best;
}

/* Points of gradient descent at which a pass is needed. */
static int count_passes(const fplt_objective *objective, const double *norms, double *x, size_t n,
                        double *gradient, double *scratch)
{
    double *judged = calloc(n, sizeof *judged), reach = -1, step;
    int passes = 0;
    fplt__influence found;
    fplt_curvature bounds;
    fplt_error error;
    check(fplt_objective_curvature(objective, 0, 0, &bounds, &error), &error);
    step = 1 / bounds.highest;
    for (int k = 0; k < ROUNDS; k++) {
        double moved = 0;
        for (size_t j = 0; j < n; j++)
            moved += (x[j] - judged[j]) * (x[j] - judged[j]);
        if (!(sqrt(moved) <= reach)) {
            fplt__objective_influence(objective, 0, x, norms, 8, scratch, &found);
            reach = fplt__influence_reach(&found, 0.25);
            for (size_t j = 0; j < n; j++)
                judged[j] = x[j];
            passes++;
        }
        fplt_objective_gradient(objective, 0, x, gradient, scratch);
        for (size_t j = 0; j < n; j++)
            x[j] -= step * gradient[j];
    }
    free(judged);
    return passes;
}

int main(void)
{
    static const struct {
        size_t features, rows;
    } sizes[] = {{5, 250}, {13, 303}, {20, 10000}, {100, 10000}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        fplt_objective *objective = cost_of(1, sizes[s].rows, sizes[s].features);
        size_t n = fplt_objective_dimension(objective);
        double *norms = calloc(sizes[s].rows, sizeof *norms), *x = calloc(n, sizeof *x),
               *gradient = calloc(n + 8, sizeof *gradient),
               *scratch = calloc(fplt_objective_scratch(objective), sizeof *scratch);
        fplt_error error;
        check(fplt__objective_row_norms(objective, 0, norms, &error), &error);
        struct times best = time_passes(objective, norms, x, gradient, scratch);
        int passes = count_passes(objective, norms, x, n, gradient, scratch);
        printf(
            "%5zu rows, %3zu columns: gradient %.1f us, pass %.1f us (%.2f of it), %d passes in %d "
            "rounds: %.1f %% more\n",
            sizes[s].rows, sizes[s].features, best.gradient, best.pass, best.pass / best.gradient,
            passes, ROUNDS, 100.0 * passes / ROUNDS * best.pass / best.gradient);
        free(scratch);
        free(gradient);
        free(x);
        free(norms);
        fplt_objective_destroy(objective);
    }
    return 0;
}
