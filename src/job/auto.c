/* What `auto` means.
 *
 * rho = 1/sqrt(lmin lmax) makes exact splitting contract most [Giselsson and Boyd 2017]. lmin is the
 * strong convexity where there is one. A bound says nothing where costs are not convex everywhere, or
 * flat somewhere (no regulariser, an intercept); there the least curvature at the starting point
 * replaces it, which an agent finds by Lanczos's iteration on its own Hessian. Below
 * lmax/10000 it counts as that: a round then makes the progress of its epochs of gradient descent
 * whatever rho, and a greater rho only slows the directions that curve much.
 *
 * The step is what algorithm and solver make of it (fplt__algorithm_step). The epochs are those that cost least a
 * digit on quadratics with these curvatures. */
#include "job/auto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithm/algorithm.h"
#include "algorithm/local_step.h"
#include "base/memory.h"
#include "engine/agents_map.h"
#include "fedplt/theory.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "solver/solver.h"
#include "theory/theory.h"

enum { EPOCHS_MAX = 100, EPOCHS_USUAL = 5, EPOCHS_NEWTON = 2 };

/* ---- Curvature at a point ---- */

static fplt_status look_near(const fplt_objective *objective, uint32_t agent, const double *x,
                             double *least, fplt_error *error)
{
    double most;
    fplt_status status = fplt__objective_extremes(objective, agent, x, least, &most, error);
    if (status)
        *least = NAN;
    return status == FPLT_UNSUPPORTED ? FPLT_OK : status; /* a cost without second derivatives */
}

static int is_flat(const fplt_curvature_bounds *bend)
{
    return !(bend->everywhere.lowest >= FPLT_THEORY_FLAT * bend->everywhere.highest);
}

/* The second part, where the first is known. */
static fplt_status finish_bend(const fplt_objective *objective, uint32_t agent, int how,
                               const double *x, fplt_curvature_bounds *bend, fplt_error *error)
{
    bend->near_lowest = how == FPLT_CURVATURE_CLOSE ? bend->everywhere.lowest : NAN;
    return how == FPLT_CURVATURE_CLOSE && is_flat(bend)
               ? look_near(objective, agent, x, &bend->near_lowest, error)
               : FPLT_OK;
}

fplt_status fplt__curvature_bounds_find(const fplt_objective *objective, uint32_t agent, int how,
                                        const double *x, fplt_curvature_bounds *bend,
                                        fplt_error *error)
{
    bend->near_lowest = NAN;
    fplt_status status = fplt_objective_curvature(objective, agent, how, &bend->everywhere, error);
    return status ? status : finish_bend(objective, agent, how, x, bend, error);
}

fplt_curvature_bounds fplt__curvature_bounds_join(fplt_curvature_bounds a, fplt_curvature_bounds b)
{
    return (fplt_curvature_bounds){
        fplt_curvature_join(a.everywhere, b.everywhere),
        isnan(a.near_lowest) || isnan(b.near_lowest) ? NAN : fmin(a.near_lowest, b.near_lowest)};
}

double fplt__curvature_bounds_lowest(const fplt_curvature_bounds *bend)
{
    double least = FPLT_THEORY_FLAT * bend->everywhere.highest;
    if (!is_flat(bend))
        return bend->everywhere.lowest;
    return bend->near_lowest >= least ? bend->near_lowest : least;
}

/* ---- The choice ---- */

static fplt_theory_problem problem_of(const fplt_curvature_bounds *bend, uint32_t agents,
                                      size_t dimension)
{
    return (fplt_theory_problem){fplt__curvature_bounds_lowest(bend), bend->everywhere.highest,
                                 agents, dimension};
}

static void choose_rho(const fplt_curvature_bounds *bend, double *rho, char *about, size_t size)
{
    double low = fplt__curvature_bounds_lowest(bend), high = bend->everywhere.highest;
    double most = bend->everywhere.lowest < 0 ? -0.5 / bend->everywhere.lowest : HUGE_VAL;
    fplt_theory_problem convex = {.strong_convexity = low, .smoothness = high};
    *rho = fplt__theory_balanced_rho(&convex);
    if (*rho > most) {
        *rho = most;
        snprintf(about, size,
                 "rho = %.6g: half of 1/%.4g, so that local training is convex although the costs "
                 "are not (curvatures between %.4g and %.4g).",
                 *rho, -bend->everywhere.lowest, bend->everywhere.lowest, high);
    } else if (!is_flat(bend)) {
        snprintf(about, size,
                 "rho = %.6g: 1/sqrt(lmin lmax) for costs that curve between lmin = %.4g and lmax "
                 "= %.4g.",
                 *rho, low, high);
    } else if (!(bend->near_lowest >= low)) {
        snprintf(about, size,
                 "rho = %.6g: 1/sqrt(lmin lmax) with lmax = %.4g and lmin = lmax/10000, because "
                 "the costs are flat in some direction; nothing is guaranteed.",
                 *rho, high);
    } else {
        snprintf(about, size,
                 "rho = %.6g: 1/sqrt(lmin lmax) with lmax = %.4g and lmin = %.4g, the least "
                 "curvature at the starting point; no strong convexity holds everywhere (bound "
                 "%.4g), so nothing is guaranteed.",
                 *rho, high, low, bend->everywhere.lowest);
    }
}

/* The rate on quadratics; NaN for solvers that the model does not know. */
static double model_rate(const fplt_theory_problem *problem, const fplt_training *training,
                         double rho, double step, uint32_t epochs)
{
    fplt_theory_parameters parameters = {rho, step, epochs, 0, 1, 1, 0};
    parameters.accelerated = (training->solver->traits & FPLT_ACCELERATED) != 0;
    if (!parameters.accelerated && !(training->solver->traits & FPLT_PLAIN_STEPS))
        return NAN;
    if (!(step > 0))
        parameters.step = fplt_theory_best_step(problem, rho);
    return fplt_theory_quadratic_rate(problem, &parameters).rate;
}

static void choose_epochs(const fplt_theory_problem *problem, const fplt_run_settings *run,
                          double rho, fplt_auto *choice)
{
    const fplt_training *training = &run->training;
    double gradient = run->gradient_time, talk = run->communication_time, least = HUGE_VAL;
    char *about = choice->about_epochs;
    size_t size = sizeof choice->about_epochs;
    if (isnan(model_rate(problem, training, rho, training->step, 1)) || !(gradient + talk > 0)) {
        choice->epochs =
            strcmp(training->solver->name, "newton") == 0 ? EPOCHS_NEWTON : EPOCHS_USUAL;
        snprintf(about, size, "epochs = %u: the usual number for the solver %s.", choice->epochs,
                 training->solver->name);
        return;
    }
    choice->epochs = EPOCHS_USUAL;
    for (uint32_t epochs = 1; epochs <= EPOCHS_MAX; epochs++) {
        double rate = model_rate(problem, training, rho, training->step, epochs);
        double cost = rate < 1 ? (epochs * gradient + talk) / -log(rate) : HUGE_VAL;
        if (cost < least) {
            least = cost;
            choice->epochs = epochs;
        }
    }
    snprintf(about, size,
             "epochs = %u: the cheapest on quadratics that curve between %.4g and %.4g when a "
             "gradient costs %.4g and a round trip %.4g; a decimal digit of the error then costs "
             "%.4g an agent.",
             choice->epochs, problem->strong_convexity, problem->smoothness, gradient, talk,
             least * log(10));
}

/* gamma: auto in words, and its value where the parameters it needs are known. */
static void describe_step(const fplt_run_settings *run, fplt_auto *choice)
{
    const char *rule = fplt__algorithm_step_rule(run->algorithm, run->training.solver);
    const char *whose = run->curvature.highest > 0 ? "from the public bounds"
                        : fplt_algorithm_shares_step(run->algorithm, run->training.solver)
                            ? "one for all agents"
                            : "each agent from its own curvature";
    int used =
        snprintf(choice->about_step, sizeof choice->about_step, "gamma = %s, %s", rule, whose);
    snprintf(choice->about_step + used, sizeof choice->about_step - (size_t)used,
             isnan(choice->step) ? "." : "; %.6g where lmax is greatest.", choice->step);
}

/* The problem with the least curvature that was seen, however small. */
static fplt_theory_problem as_seen(const fplt_theory_problem *problem,
                                   const fplt_curvature_bounds *bend)
{
    fplt_theory_problem seen = *problem;
    double least = fmax(bend->everywhere.lowest, bend->near_lowest); /* a NaN is passed over */
    if (least > 0 && least < problem->strong_convexity)
        seen.strong_convexity = least;
    return seen;
}

/* Rounds a decimal digit. */
static double rounds_per_digit(double rate)
{
    return rate < 1 ? ceil(log(10) / -log(rate)) : HUGE_VAL;
}

/* Whether a rho or gamma that is given is what makes it slow, and the sentence about that. */
static int blame_given(const fplt_theory_problem *seen, const fplt_run_settings *run,
                       fplt_auto *choice)
{
    int steps = run->training.step > 0;
    double rho = choice->parameter[fplt_algorithm_parameter(run->algorithm, "rho")];
    char words[256];
    if (choice->chose_rho && !steps)
        return 0;
    if (!choice->chose_rho)
        choose_rho(&choice->bend, &rho, words, sizeof words);
    double better = rounds_per_digit(model_rate(seen, &run->training, rho, 0, choice->epochs)),
           now = rounds_per_digit(choice->rate);
    if (!(now > 2 * better))
        return 0;
    char rounds[64] = "some quadratics never converge";
    if (isfinite(now))
        snprintf(rounds, sizeof rounds, "expect up to %.3g rounds a decimal digit", now);
    snprintf(choice->advice, sizeof choice->advice,
             "With the %s that is given %s; with %s: auto at most %.3g are needed.",
             choice->chose_rho ? "gamma"
             : steps           ? "rho and gamma"
                               : "rho",
             rounds,
             choice->chose_rho ? "gamma"
             : steps           ? "rho: auto and gamma"
                               : "rho",
             better);
    return 1;
}

static void advise(const fplt_theory_problem *seen, const fplt_run_settings *run, fplt_auto *choice)
{
    const double slow = 0.95;
    char rounds[64] = "and some quadratics that curve so never converge";
    if (!(choice->rate > slow) || blame_given(seen, run, choice))
        return;
    if (choice->rate < 1)
        snprintf(rounds, sizeof rounds, "so expect up to %.3g rounds a decimal digit",
                 rounds_per_digit(choice->rate));
    int accelerated = (run->algorithm->allows & FPLT_NEEDS_CERTAINTY) != 0;
    const char *const means[] = {
        run->scaled ? "" : ", features of one scale (standardise: yes)",
        accelerated ? "" : ", algorithm: fed-plt-anderson",
        run->training.epochs ? ", epochs: auto" : "",
        run->training.solver->traits & FPLT_PLAIN_STEPS ? ", solver: newton" : ""};
    char help[160] = "";
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        strcat(help, means[i]);
    int used = snprintf(choice->advice, sizeof choice->advice,
                        "The costs curve at least %.3g times as much in one direction as in "
                        "another%s%s.",
                        seen->smoothness / seen->strong_convexity,
                        accelerated ? "; without acceleration this would be slow" : ", ",
                        accelerated ? "" : rounds);
    if (*help)
        snprintf(choice->advice + used, sizeof choice->advice - (size_t)used, " %s with %s.",
                 accelerated ? "Quicker still" : "Fewer", help + 2);
}

static void start_choice(const fplt_run_settings *run, fplt_auto *choice)
{
    memset(choice, 0, sizeof *choice);
    choice->rate = NAN;
    fplt_algorithm_defaults(run->algorithm, choice->parameter);
    if (run->parameter)
        memcpy(choice->parameter, run->parameter,
               fplt_algorithm_parameters(run->algorithm) * sizeof(double));
    choice->epochs = run->training.epochs;
    choice->chose_epochs = run->training.epochs == 0;
    choice->chose_step = run->training.step == 0 && fplt__solver_has_step(run->training.solver);
    choice->step = run->training.step > 0 ? run->training.step : NAN;
}

fplt_status fplt__auto_choose(const fplt_curvature_bounds *bend, const fplt_run_settings *run,
                              uint32_t agents, size_t dimension, fplt_auto *choice,
                              fplt_error *error)
{
    start_choice(run, choice);
    choice->bend = *bend;
    fplt_theory_problem problem = problem_of(bend, agents, dimension);
    fplt_status status = fplt_theory_check(&problem, NULL, error);
    if (status)
        return status;
    if (!run->algorithm->splits) {
        if (choice->chose_epochs && run->algorithm->allows & FPLT_TRAINS_NOTHING) {
            choice->epochs = 1;
            snprintf(choice->about_epochs, sizeof choice->about_epochs,
                     "epochs = 1: %s has no local training.", run->algorithm->name);
        } else if (choice->chose_epochs) {
            choice->epochs = EPOCHS_USUAL;
            snprintf(choice->about_epochs, sizeof choice->about_epochs,
                     "epochs = %u: the usual number; %s has no theory here to choose it by.",
                     choice->epochs, run->algorithm->name);
        }
        if (choice->chose_step)
            describe_step(run, choice);
        return FPLT_OK;
    }
    double *rho = &choice->parameter[fplt_algorithm_parameter(run->algorithm, "rho")];
    choice->chose_rho = isnan(*rho);
    if (choice->chose_rho)
        choose_rho(bend, rho, choice->about_rho, sizeof choice->about_rho);
    if (choice->chose_epochs)
        choose_epochs(&problem, run, *rho, choice);
    if (choice->chose_step) {
        fplt_facts facts = {.curvature = bend->everywhere,
                            .agents = agents,
                            .cohort = agents,
                            .epochs = choice->epochs,
                            .dimension = dimension};
        choice->step =
            fplt__algorithm_step(run->algorithm, run->training.solver, &facts, choice->parameter)
                .automatic;
        describe_step(run, choice);
    }
    fplt_theory_problem seen = as_seen(&problem, bend);
    choice->rate = model_rate(&seen, &run->training, *rho, run->training.step, choice->epochs);
    advise(&seen, run, choice);
    return FPLT_OK;
}

struct bending {
    const fplt_objective *objective;
    const double *x;
    const fplt_curvature *known; /* one an agent, or NULL */
    int how;
    fplt_curvature_bounds *bends;
};

static fplt_status ask_bend(void *context, uint32_t agent, fplt_error *error)
{
    const struct bending *bending = context;
    fplt_curvature_bounds *bend = &bending->bends[agent];
    if (!bending->known)
        return fplt__curvature_bounds_find(bending->objective, agent, bending->how, bending->x,
                                           bend, error);
    bend->everywhere = bending->known[agent];
    return finish_bend(bending->objective, agent, bending->how, bending->x, bend, error);
}

/* Over all agents; with public bounds nothing is looked at. */
static fplt_status find_bend(const fplt_objective *objective, const fplt_run_settings *run,
                             fplt_curvature *curvatures, fplt_curvature_bounds *bend,
                             fplt_error *error)
{
    uint32_t agents = fplt_objective_agents(objective);
    struct bending bending = {objective, run->start == FPLT_START_GIVEN ? run->given : NULL,
                              run->curvatures, fplt__run_looks(run), NULL};
    fplt_status status =
        fplt__alloc_into(&bending.bends, agents, sizeof *bending.bends, "curvatures", error);
    if (!status)
        status = fplt__agents_map(run->ranks, agents, run->threads, ask_bend, &bending,
                                  bending.bends, sizeof *bending.bends, error);
    for (uint32_t i = 0; !status && i < agents; i++) {
        curvatures[i] = bending.bends[i].everywhere;
        *bend = i ? fplt__curvature_bounds_join(*bend, bending.bends[i]) : bending.bends[i];
    }
    fplt__free(bending.bends);
    return status;
}

/* Who draws the steps of a round draws the same number for all. */
static fplt_status check_own_epochs(const fplt_run_settings *run, uint32_t agents,
                                    fplt_error *error)
{
    for (uint32_t i = 0; run->each && run->algorithm->length && i < agents; i++)
        if (run->each[i].epochs && run->each[i].epochs != run->training.epochs)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "agent %u has %u epochs of its own, which have no effect with "
                                  "%s: all take as many steps as are drawn for the round; leave "
                                  "them out",
                                  i, run->each[i].epochs, run->algorithm->name);
    return FPLT_OK;
}

fplt_status fplt__auto_resolve(const fplt_objective *objective, const fplt_run_settings *run,
                               fplt_auto *choice, fplt_error *error)
{
    uint32_t agents = fplt_objective_agents(objective);
    fplt_curvature_bounds bend = {run->curvature, NAN};
    fplt_curvature *curvatures = NULL;
    fplt_status status = check_own_epochs(run, agents, error);
    memset(choice, 0, sizeof *choice);
    if (!status)
        status = fplt__algorithm_check_bound(run->algorithm,
                                             fplt__objective_is_unbounded(objective), error);
    if (status)
        return status;
    if (!(run->curvature.highest > 0)) {
        status = fplt__alloc_into(&curvatures, agents, sizeof *curvatures,
                                  "the curvature of each agent", error);
        if (!status)
            status = find_bend(objective, run, curvatures, &bend, error);
    }
    if (!status)
        status = fplt__auto_choose(&bend, run, agents, fplt_objective_dimension(objective), choice,
                                   error);
    choice->curvatures = curvatures;
    if (status)
        fplt__auto_clear(choice);
    return status;
}

void fplt__auto_apply(const fplt_auto *choice, fplt_run_settings *run)
{
    run->parameter = choice->parameter;
    run->training.epochs = choice->epochs;
    if (choice->curvatures)
        run->curvatures = choice->curvatures;
}

void fplt__auto_clear(fplt_auto *choice)
{
    fplt__free(choice->curvatures);
    memset(choice, 0, sizeof *choice);
}
