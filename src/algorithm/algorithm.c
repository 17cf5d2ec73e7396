/* The registry of algorithms, their parameters, and what they may be combined with. */
#include "algorithm/algorithm.h"

#include <math.h>
#include <string.h>

#include "algorithm/local_step.h"
#include "base/random.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/sum.h"
#include "base/text.h"
#include "solver/solver.h"

static const fplt_algorithm *const algorithms[] = {
    &fplt__fed_plt,
    &fplt__fed_plt_anderson,
    &fplt__fedpd,
    &fplt__fedlin,
    &fplt__tamuna,
    &fplt__led,
    &fplt__5gcs,
    &fplt__fedsplit,
    &fplt__scaffnew,
    &fplt__scaffold,
    &fplt__fedavg,
    &fplt__fedprox,
    &fplt__fed_lbfgs,
    &fplt__fed_newton,
    &fplt__fednl,
    &fplt__fed_lbfgs_partial,
    &fplt__fed_newton_partial,
};

const fplt_algorithm *fplt_algorithm_list(size_t index)
{
    return index < sizeof algorithms / sizeof *algorithms ? algorithms[index] : NULL;
}

const fplt_algorithm *fplt_algorithm_find(const char *name)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (strcmp(algorithms[i]->name, name) == 0)
            return algorithms[i];
    return NULL;
}

fplt_shape fplt_algorithm_shape(const fplt_algorithm *algorithm, const double *parameter,
                                size_t dimension)
{
    fplt_shape shape = algorithm->shape;
    if (algorithm->reshape)
        algorithm->reshape(parameter, dimension, &shape);
    return shape;
}

size_t fplt_algorithm_parameters(const fplt_algorithm *algorithm)
{
    size_t count = 0;
    while (algorithm->settings[count].name)
        count++;
    return count;
}

int fplt_algorithm_parameter(const fplt_algorithm *algorithm, const char *name)
{
    for (int i = 0; algorithm->settings[i].name; i++)
        if (strcmp(algorithm->settings[i].name, name) == 0)
            return i;
    return -1;
}

/* Position of a word among "a|b|c". */
static double choice_index(const char *choices, const char *word)
{
    size_t length = strlen(word);
    int index = 0;
    for (const char *start = choices;; index++) {
        size_t size = strcspn(start, "|");
        if (size == length && strncmp(start, word, size) == 0)
            return index;
        if (!start[size])
            return NAN;
        start += size + 1;
    }
}

static double number_of(const fplt_setting *row, const char *text)
{
    double real;
    if (!text || strcmp(text, "auto") == 0)
        return NAN;
    if (row->kind == FPLT_CHOICE)
        return choice_index(row->choices, text);
    if (row->kind == FPLT_SWITCH)
        return strcmp(text, "yes") == 0 || strcmp(text, "true") == 0 || strcmp(text, "on") == 0;
    return fplt__parse_real(text, &real) ? NAN : real;
}

void fplt_algorithm_defaults(const fplt_algorithm *algorithm, double *parameter)
{
    for (size_t i = 0; algorithm->settings[i].name; i++)
        parameter[i] = number_of(&algorithm->settings[i], algorithm->settings[i].standard);
}

void fplt_algorithm_read(const fplt_algorithm *algorithm, const fplt_settings *settings,
                         double *parameter)
{
    for (size_t i = 0; algorithm->settings[i].name; i++) {
        const fplt_setting *row = &algorithm->settings[i];
        int known = fplt__settings_find(settings, row->name) != NULL;
        parameter[i] =
            number_of(row, known ? fplt_settings_text(settings, row->name) : row->standard);
    }
}

/* What the settings refuse as text is refused here as a number. */
static int in_range(const fplt_setting *row, double value)
{
    if (row->kind == FPLT_CHOICE) {
        int last = 0;
        for (const char *mark = row->choices; (mark = strchr(mark, '|')); mark++)
            last++;
        return value >= 0 && value <= last && value == floor(value);
    }
    if (row->kind == FPLT_SWITCH)
        return value == 0 || value == 1;
    if (row->kind == FPLT_INTEGER && value != floor(value))
        return 0;
    return (row->flags & FPLT_ABOVE ? value > row->low : value >= row->low) &&
           (row->flags & FPLT_BELOW ? value < row->high : value <= row->high);
}

static fplt_status check_ranges(const fplt_algorithm *algorithm, const double *parameter,
                                fplt_error *error)
{
    for (size_t i = 0; algorithm->settings[i].name; i++) {
        char legal[400];
        if (isnan(parameter[i]) || in_range(&algorithm->settings[i], parameter[i]))
            continue;
        fplt_setting_legal(&algorithm->settings[i], legal, sizeof legal);
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s: %s is %g, but it must be %s",
                              algorithm->name, algorithm->settings[i].name, parameter[i], legal);
    }
    return FPLT_OK;
}

/* Whether agents send something that no running sum follows. */
static int sends_sums(const fplt_shape *shape)
{
    for (unsigned e = 0; e < shape->exchanges; e++)
        if (shape->exchange[e].up || shape->exchange[e].up_scalars)
            return 1;
    return 0;
}

const char *fplt__algorithm_lacks(const fplt_algorithm *a)
{
    const struct {
        const char *name;
        int there;
    } parts[] = {
        {"name", a->name != NULL},
        {"settings (an empty table is {FPLT_SETTINGS_END})", a->settings != NULL},
        {"shape.exchanges", a->shape.exchanges > 0},
        {"step", a->step != NULL},
        {"broadcast", a->broadcast != NULL},
        {"local", a->local != NULL},
        {"absorb", a->absorb || !sends_sums(&a->shape)},
        {"model", a->model != NULL},
        {"finish", a->finish || !a->shape.finish_down},
        {"shape.finish_down", !a->finish || a->shape.finish_down},
        {"prepare", a->prepare || !a->conclude},
        {"conclude", a->conclude || !a->prepare},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].there)
            return parts[i].name;
    return NULL;
}

fplt_status fplt__algorithm_check_bound(const fplt_algorithm *algorithm, int unbounded,
                                        fplt_error *error)
{
    if (!unbounded || algorithm->allows & FPLT_SEARCHES_STEP)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "%s takes its steps from a bound on the curvature, but the curvature "
                          "of this loss has none; use fed-newton or fed-lbfgs, which search "
                          "their steps, with every agent active",
                          algorithm->name);
}

fplt_status fplt__algorithm_resolve(const fplt_algorithm *algorithm, const fplt_facts *facts,
                                    double *parameter, fplt_error *error)
{
    fplt_status status = FPLT__CHECK_TABLE(fplt_algorithm, algorithm, error);
    if (!status)
        status = check_ranges(algorithm, parameter, error);
    if (status)
        return status;
    if ((status = fplt__algorithm_check_bound(algorithm, facts->unbounded, error)))
        return status;
    if (algorithm->choose)
        algorithm->choose(facts, parameter);
    for (size_t i = 0; algorithm->settings[i].name; i++)
        if (!isfinite(parameter[i]))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: %s has no value for a cost with curvature between %g and "
                                  "%g; give it one",
                                  algorithm->name, algorithm->settings[i].name,
                                  facts->curvature.lowest, facts->curvature.highest);
    return algorithm->check ? algorithm->check(facts, parameter, error) : FPLT_OK;
}

fplt_status fplt_algorithm_allow(const fplt_algorithm *algorithm, const fplt_solver *solver,
                                 int partial, int composite, int privacy, fplt_error *error)
{
    unsigned allows = algorithm->allows;
    int accelerated = allows & FPLT_ALLOWS_ACCELERATED && solver->traits & FPLT_ACCELERATED;
    if (!(solver->traits & FPLT_PLAIN_STEPS) && !(allows & FPLT_ALLOWS_MINIMISER) && !accelerated)
        return fplt_error_set(error, FPLT_UNSUPPORTED, "%s does not take the solver %s: %s",
                              algorithm->name, solver->name, algorithm->no_minimiser);
    if (allows & FPLT_NEEDS_CERTAINTY && solver->traits & (FPLT_STOCHASTIC | FPLT_NOISY))
        return fplt_error_set(error, FPLT_UNSUPPORTED, "%s does not take the solver %s: %s",
                              algorithm->name, solver->name, algorithm->no_random);
    if (partial && !(allows & FPLT_ALLOWS_PARTIAL))
        return fplt_error_set(error, FPLT_UNSUPPORTED, "%s needs every agent in every round: %s",
                              algorithm->name, algorithm->no_partial);
    if (composite && !(allows & FPLT_ALLOWS_COMPOSITE))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s minimises smooth costs only: it has no proximal step for h; use "
                              "fed-plt, or h: zero",
                              algorithm->name);
    if (privacy && !(allows & FPLT_ALLOWS_PRIVACY))
        return fplt_error_set(error, FPLT_UNSUPPORTED, "%s cannot carry a privacy claim: %s",
                              algorithm->name, algorithm->no_privacy);
    return FPLT_OK;
}

void fplt_grid_round(double *x, size_t count)
{
    fplt__grid_round(x, count);
}

void fplt__agent_pose(fplt_agent *agent, const fplt_round *round, const double *linear,
                      const double *centre, double inverse_rho)
{
    fplt_local *local = agent->local;
    local->problem.linear = linear;
    local->problem.centre = centre;
    local->problem.inverse_rho = inverse_rho;
    if (round->epochs)
        local->training.epochs = round->epochs;
}

fplt_status fplt_agent_minimise(fplt_agent *agent, const fplt_round *round, const double *linear,
                                const double *centre, double inverse_rho, double *w,
                                fplt_error *error)
{
    fplt__agent_pose(agent, round, linear, centre, inverse_rho);
    return fplt__local_run(agent->local, w, error);
}

void fplt__begin_model(fplt_coordinator *coordinator, const double *start)
{
    memcpy(coordinator->vector, start, coordinator->dimension * sizeof *start);
}

fplt_status fplt__first_vector(const fplt_coordinator *coordinator, double *x)
{
    memcpy(x, coordinator->vector, coordinator->dimension * sizeof *x);
    return FPLT_OK;
}

fplt_status fplt__broadcast_model(const fplt_coordinator *coordinator, const fplt_round *round,
                                  unsigned exchange, double *down)
{
    (void)round;
    (void)exchange;
    return fplt__first_vector(coordinator, down);
}

void fplt__absorb_mean(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                       const double *sum)
{
    (void)exchange;
    fplt__mean(sum, round->active, coordinator->vector, coordinator->dimension);
}

fplt_status fplt__agent_gradient(fplt_agent *agent, double weight, const double *w,
                                 double *gradient, fplt_error *error)
{
    fplt_subproblem *problem = &agent->local->problem;
    problem->linear = problem->centre = NULL;
    problem->inverse_rho = weight;
    fplt_status status = fplt_local_gradient(agent->local, w, gradient);
    return status ? fplt_error_set(error, status, "the gradient of agent %u failed",
                                   agent->member_index)
                  : FPLT_OK;
}

fplt_status fplt__train_corrected(fplt_agent *agent, const fplt_round *round, double weight,
                                  const double *x, double *up, fplt_error *error)
{
    size_t n = agent->dimension;
    double *correction = agent->work;
    for (size_t j = 0; j < n; j++)
        correction[j] = weight * agent->kept[j];
    memcpy(up, x, n * sizeof *up);
    fplt_status status = fplt_agent_minimise(agent, round, correction, NULL, 0, up, error);
    memcpy(agent->held, up, n * sizeof *up);
    return status;
}

uint32_t fplt__random_length(fplt_stream *shared, double p)
{
    uint64_t length = fplt__stream_geometric(shared, p);
    return length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

double fplt__inner(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += a[j] * b[j];
    return sum;
}

void fplt__mean(const double *sum, uint32_t count, double *out, size_t dimension)
{
    for (size_t j = 0; j < dimension; j++)
        out[j] = sum[j] / count;
}
