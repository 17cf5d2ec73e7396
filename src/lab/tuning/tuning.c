/* Tuning by experiment. Axes are logarithms of factors of the automatic values. */
#include "lab/tuning/tuning.h"

#include <math.h>
#include <string.h>

#include "algorithm/local_step.h"
#include "base/memory.h"
#include "engine/engine_access.h"
#include "job/auto.h"

/* Where the local step is searched, as factors of the automatic one; the upper end is at least near
 * the limit below which a step on the local cost contracts. */
static const double step_low = 0.3, step_high = 2.5, contraction_share = 0.95;

/* A point is given up before all of its runs are done where those so far took this much of the best value. */
static const double give_up_factor = 1.5;

/* Which parameter an axis moves. */
enum { STEP_AXIS = -1 };

struct tuner {
    const fplt__tuning *tuning;
    fplt__automatic *automatics; /* owned; one a case */
    fplt__judged *judged;        /* owned; one a point, in the order of the search */
    unsigned points;             /* so far */
    int target[FPLT__MAX_AXES];
    fplt__axis axes[FPLT__MAX_AXES];
    unsigned count;
};

void fplt__method_defaults(fplt__method *method, const fplt_algorithm *algorithm)
{
    method->run.algorithm = algorithm;
    fplt_algorithm_defaults(algorithm, method->parameter);
    method->fixed = 0;
}

void fplt__method_fix(fplt__method *method, const char *name, double value)
{
    int index = fplt_algorithm_parameter(method->run.algorithm, name);
    if (index < 0)
        return;
    method->parameter[index] = value;
    method->fixed |= 1u << index;
}

fplt__tuned fplt__tuned_none(void)
{
    fplt__tuned tuned = {.step_factor = 0};
    for (size_t i = 0; i < FPLT_MAX_PARAMETERS; i++)
        tuned.factor[i] = 1;
    return tuned;
}

static fplt_curvature bounds_of(const fplt__case *one)
{
    fplt_curvature all = one->curvatures[0];
    for (uint32_t i = 1; i < fplt_objective_agents(one->objective); i++) {
        all.lowest = fmin(all.lowest, one->curvatures[i].lowest);
        all.highest = fmax(all.highest, one->curvatures[i].highest);
    }
    return all;
}

fplt_status fplt__automatic_find(const fplt__case *one, const fplt__method *method,
                                 fplt__automatic *automatic, fplt_error *error)
{
    fplt_run_settings own = method->run;
    fplt_auto choice;
    fplt_engine *engine;
    own.parameter = method->parameter;
    own.curvatures = one->curvatures;
    own.participation = one->partial;
    own.prox = one->prox;
    own.threads = 1;
    if (one->by_bounds)
        own.curvature = bounds_of(one);
    fplt_status status = fplt__auto_resolve(one->objective, &own, &choice, error);
    if (status)
        return status;
    fplt__auto_apply(&choice, &own);
    if (!(status = fplt_engine_create(one->objective, &own, &engine, error))) {
        automatic->facts = fplt__engine_facts(engine);
        automatic->epochs = choice.epochs;
        memcpy(automatic->parameter, fplt__engine_parameters(engine),
               fplt_algorithm_parameters(own.algorithm) * sizeof(double));
        fplt_engine_destroy(engine);
    }
    fplt__auto_clear(&choice);
    return status;
}

/* For the curvature of all agents. */
static fplt_step step_of_all(const fplt_run_settings *settings, const fplt_facts *facts,
                             const double *parameter)
{
    return fplt__algorithm_step(settings->algorithm, settings->training.solver, facts, parameter);
}

void fplt__tuned_apply(const fplt__tuned *tuned, const fplt__method *method,
                       const fplt__automatic *automatic, double *parameter, fplt_training *training)
{
    const fplt_setting *rows = method->run.algorithm->settings;
    for (size_t i = 0; rows[i].name; i++) {
        parameter[i] = automatic->parameter[i] * tuned->factor[i];
        if (rows[i].high > rows[i].low)
            parameter[i] = fmin(parameter[i], rows[i].high);
    }
    *training = method->run.training;
    training->epochs = automatic->epochs;
    if (!(training->step > 0) && tuned->step_factor > 0)
        training->step =
            tuned->step_factor * step_of_all(&method->run, &automatic->facts, parameter).automatic;
}

static fplt__tuned choice_of(const struct tuner *tuner, const double *point)
{
    fplt__tuned tuned = fplt__tuned_none();
    for (unsigned i = 0; i < tuner->count; i++)
        if (tuner->target[i] == STEP_AXIS)
            tuned.step_factor = point[i] == 0 ? 0 : exp(point[i]);
        else
            tuned.factor[tuner->target[i]] = exp(point[i]);
    return tuned;
}

static fplt_status run_choice(const fplt__tuned *tuned, const fplt__method *method,
                              const fplt__case *one, const fplt__automatic *automatic, double most,
                              double most_time, fplt__judged *judged, fplt_error *error)
{
    fplt_run_settings own = method->run;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt__tuned_apply(tuned, method, automatic, parameter, &own.training);
    own.parameter = parameter;
    return fplt__trial_run(one, &own, most, most_time, NULL, judged, error);
}

/* What the runs up to number i may use together. Past `limit` times all runs the point cannot become the best;
 * before that it is given up as soon as what it has used exceeds the limit by a factor and the share of one run. */
static double allowance(double limit, size_t i, size_t count)
{
    return limit * fmin(give_up_factor * ((double)i + 2), (double)count);
}

/* A point that the algorithm refuses, or that fails on one case, is as bad as can be. */
static fplt_status cost_at(void *context, const double *point, double limit, fplt__cost *cost,
                           fplt_error *error)
{
    struct tuner *tuner = context;
    const fplt__tuning *tuning = tuner->tuning;
    fplt__tuned tuned = choice_of(tuner, point);
    fplt__judged sum = {.runs = 0}, one, *judged = &tuner->judged[tuner->points++];
    for (size_t i = 0; i < tuning->count; i++) {
        double left =
            allowance(limit, i, tuning->count) - (tuning->by_time ? sum.paper_time : sum.rounds);
        fplt_status status = run_choice(&tuned, tuning->method, &tuning->cases[i],
                                        &tuner->automatics[i], tuning->by_time ? HUGE_VAL : left,
                                        tuning->by_time ? left : HUGE_VAL, &one, error);
        if (status == FPLT_BAD_VALUE)
            return FPLT_OK;
        if (status)
            return status;
        if (!one.converged) {
            cost->fine = one.fine;
            return FPLT_OK;
        }
        fplt__judged_add(&sum, &one);
    }
    fplt__judged_mean(&sum);
    *judged = sum;
    *cost = (fplt__cost){tuning->by_time ? sum.paper_time : sum.rounds,
                         tuning->by_time ? sum.rounds : sum.paper_time, sum.fine};
    return FPLT_OK;
}

static void add_axis(struct tuner *tuner, int target, double low, double high)
{
    if (tuner->count == FPLT__MAX_AXES)
        return;
    tuner->target[tuner->count] = target;
    tuner->axes[tuner->count++] = (fplt__axis){log(low), log(high), 0};
}

static void choose_axes(struct tuner *tuner)
{
    const fplt__method *method = tuner->tuning->method;
    const fplt_run_settings *settings = &method->run;
    const fplt__automatic *automatic = &tuner->automatics[0];
    const fplt_setting *rows = settings->algorithm->settings;
    for (int i = 0; rows[i].name; i++)
        if (rows[i].search_high > rows[i].search_low && !(method->fixed >> i & 1) &&
            automatic->parameter[i] > 0)
            add_axis(tuner, i, rows[i].search_low, rows[i].search_high);
    fplt_step step = step_of_all(settings, &automatic->facts, automatic->parameter);
    if (settings->training.step > 0 || isnan(step.automatic))
        return;
    double high = contraction_share * step.limit / step.automatic;
    add_axis(tuner, STEP_AXIS, step_low, fmax(step_high, high));
}

fplt_status fplt__tuning_run(const fplt__tuning *tuning, fplt__tuned *tuned, fplt_error *error)
{
    struct tuner tuner = {.tuning = tuning};
    fplt__found found;
    fplt_status status = fplt__alloc_into(&tuner.automatics, tuning->count,
                                          sizeof *tuner.automatics, "a search", error);
    if (!status)
        status = fplt__alloc_into(&tuner.judged, tuning->points, sizeof *tuner.judged, "a search",
                                  error);
    for (size_t i = 0; !status && i < tuning->count; i++)
        status =
            fplt__automatic_find(&tuning->cases[i], tuning->method, &tuner.automatics[i], error);
    if (!status) {
        choose_axes(&tuner);
        fplt__search search = {.axes = tuner.axes,
                               .count = tuner.count,
                               .points = tuning->points,
                               .cost_at = cost_at,
                               .context = &tuner};
        status = fplt__search_run(&search, &found, error);
    }
    if (!status) {
        *tuned = choice_of(&tuner, found.point);
        tuned->points = found.points;
        tuned->cost = found.cost;
        if (found.points)
            tuned->judged = tuner.judged[found.number];
    }
    fplt__free(tuner.judged);
    fplt__free(tuner.automatics);
    return status;
}

fplt_status fplt__tuned_judge(const fplt__tuned *tuned, const fplt__method *method,
                              const fplt__case *cases, size_t count, fplt__judged *mean,
                              fplt_error *error)
{
    fplt_status status = FPLT_OK;
    fplt__automatic automatic;
    *mean = (fplt__judged){.runs = 0};
    for (size_t i = 0; !status && i < count; i++) {
        fplt__judged one;
        if (!(status = fplt__automatic_find(&cases[i], method, &automatic, error)) &&
            !(status = run_choice(tuned, method, &cases[i], &automatic, HUGE_VAL, HUGE_VAL, &one,
                                  error)))
            fplt__judged_add(mean, &one);
    }
    fplt__judged_mean(mean);
    return status;
}
