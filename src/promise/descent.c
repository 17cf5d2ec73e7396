/* The plan of noisy gradient descent: one local step a round, of which agents keep nothing. After K rounds of step gamma the
 * noise in the model depends on gamma K alone, not on K, so the step is as long as the mean cost's curvature allows, and the
 * path gamma K is as long as the budget bears: the noise in the predictor of a row of the largest norm has the deviation
 * 2 gamma K C R/S, C the bound of a gradient, R that norm, S the signal. The constants were chosen by bench/utility_rule.py
 * (docs/privacy.md). */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "promise/plan.h"
#include "promise/promise.h"

#define USUAL   200  /* signal */
#define LONGEST 1024 /* path, over the inverse of the mean curvature */
#define STEP    1.75 /* gamma, likewise: below 2, so that aligned rows converge too */
enum { MIN_ROUNDS = 8 };

/* The path of a loss is a factor times (signal/USUAL)^growth, over C R, where the predictor has a scale of its own (log odds,
 * logarithms of means), or over the curvature, where it has that of the labels. Clipped gradients pull less. */
static const struct rule {
    const char *loss;
    double plain, clipped, growth;
    int by_curvature;
} rules[] = {
    {"logistic", 192, 272, 1.25, 0},   {"softmax", 192, 272, 1.25, 0}, {"huber", 32, 256, 1, 1},
    {"least-squares", 128, 128, 1, 1}, {"poisson", 68, 68, 1.25, 0},   {NULL, 192, 272, 1.25, 0},
};

static const struct rule *find_rule(const char *loss)
{
    const struct rule *rule = rules;
    while (rule->loss && strcmp(rule->loss, loss) != 0)
        rule++;
    return rule;
}

/* What the sum of a round tells over its noise: the budget, over how far one record moves the mean of the cohort, with the
 * noise of all that hide it. */
static double signal_of(const fplt_promise *plan)
{
    const fplt_promise_view *view = &plan->view;
    double honest = view->mechanism.honest > 1 ? (double)view->mechanism.honest : 1;
    FPLT__ASSERT(plan->facts.cohort > 0);
    return sqrt(2 * plan->rate * honest * plan->facts.cohort) /
           fplt__promise_record_weight(view, view->worst);
}

void fplt__promise_descend(const fplt_promise *plan, double *step, uint64_t *rounds)
{
    const fplt_promise_view *view = &plan->view;
    double curvature = fplt__promise_mean_curvature(view), longest = STEP / curvature;
    double norm = hypot(view->loss.row_norm, view->loss.intercept), path = LONGEST / curvature;
    const struct rule *rule = find_rule(view->loss.name);
    if (plan->rate > 0) /* otherwise the noise is given */
        path = fmin(path, (view->loss.clip > 0 ? rule->clipped : rule->plain) *
                              pow(signal_of(plan) / USUAL, rule->growth) /
                              (rule->by_curvature ? curvature : view->constants.gradient * norm));
    if (*rounds == 0)
        *rounds = (uint64_t)fmax(MIN_ROUNDS, ceil(path / (*step > 0 ? *step : longest) - 1e-9));
    if (*step == 0)
        *step = fmin(longest, path / (double)*rounds);
}
