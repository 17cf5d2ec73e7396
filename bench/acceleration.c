/* Rounds of plain and accelerated Fed-PLT, with a step common to all agents and with each agent's own.
 *
 *     build/bench/acceleration [tolerance]
 *     build/bench/acceleration cost          what every method costs, and what the rule takes
 *
 * From the root of the source tree; data sets that are not there are passed over. rho is auto. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fedplt/algorithm.h"
#include "fedplt/generate.h"
#include "fedplt/participation.h"
#include "fedplt/partition.h"
#include "fedplt/read.h"
#include "fedplt/tune.h"
#include "figure.h"
#include "job/auto.h"

struct problem {
    const char *name, *path, *label, *labels; /* path NULL: `name` is a generator */
    size_t features;
    uint32_t shards;
    double spread; /* generated: of the agents' means; large: very different agents */
    double eps;
};

static const struct problem problems[] = {
    {"paper", NULL, NULL, NULL, 5, 0, 1, 0.5},
    {"paper", NULL, NULL, NULL, 5, 0, 1, 0.01},
    {"paper", NULL, NULL, NULL, 5, 0, 4, 0.5},
    {"paper", NULL, NULL, NULL, 5, 0, 4, 0.01},
    {"quadratic", NULL, NULL, NULL, 5, 0, 1, 0},
    {"heart_disease", "../shared/data/heart_disease/heart_disease.csv", "b", NULL, 13, 0, 0, 0.5},
    {"heart_disease", "../shared/data/heart_disease/heart_disease.csv", "b", NULL, 13, 0, 0, 0.01},
    {"a9a", "../shared/data/libsvm_a9a/a9a", NULL, NULL, 123, 100, 0, 0.01},
    {"mushrooms", "../shared/data/libsvm_mushrooms/mushrooms", NULL, "1=1,2=-1", 112, 100, 0, 0.01},
};

static void must(fplt_status status, const fplt_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static fplt_dataset *data_of(const struct problem *problem)
{
    fplt_error error;
    fplt_dataset *dataset, *divided;
    if (!problem->path) {
        fplt_generate_settings data = fplt_generate_defaults();
        data.name = problem->name;
        data.features = problem->features;
        data.spread = problem->spread;
        must(fplt_dataset_generate(&data, &dataset, &error), &error);
        return dataset;
    }
    fplt_read_settings read = fplt_read_defaults();
    fplt_partition_settings partition = fplt_partition_defaults();
    read.label = problem->label;
    read.labels = problem->labels;
    read.features = problem->features;
    read.format = problem->shards ? "libsvm" : NULL;
    must(fplt_dataset_read(&problem->path, 1, &read, &dataset, &error), &error);
    if (!problem->shards)
        return dataset;
    partition.agents = problem->shards;
    must(fplt_dataset_partition(dataset, &partition, &divided, &error), &error);
    fplt_dataset_destroy(dataset);
    return divided;
}

static void report(const fplt_objective *objective, const fplt_auto *choice, const char *algorithm,
                   int own, double memory, double tolerance)
{
    fplt_error error;
    fplt_engine *engine;
    fplt_result result;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_run_settings run = fplt_run_defaults();
    run.algorithm = fplt_algorithm_find(algorithm);
    fplt_algorithm_defaults(run.algorithm, parameter);
    parameter[0] = choice->parameter[0];
    if (memory > 0)
        parameter[1] = memory;
    run.parameter = parameter;
    if (own)
        run.curvatures = choice->curvatures;
    else
        run.curvature = choice->bend.everywhere;
    run.tolerance = tolerance;
    run.rounds = 5000;
    must(fplt_engine_create(objective, &run, &engine, &error), &error);
    must(fplt_engine_run(engine, NULL, NULL, &result, &error), &error);
    if (result.outcome == FPLT_CONVERGED)
        printf(" %7llu", (unsigned long long)result.counters.rounds);
    else
        printf(" %7s", fplt_outcome_name(result.outcome));
    fflush(stdout);
    fplt_engine_destroy(engine);
}

/* What each method costs until the gradient is 1e-8 of what it was, in the paper's time an agent at
 * t_G = 1, beside the one that the rule takes. */
struct priced {
    const char *generator, *loss, *regulariser;
    size_t features, rows;
    uint32_t agents;
    double eps;
    int intercept;
    double condition; /* of the generator quadratic; 0: as it is */
};

static const struct priced more[] = {
    {"planted", "logistic", "ridge", 10, 100, 10, 0.1, 1},
    {"planted", "logistic", "ridge", 10, 100, 10, 0.001, 1},
    {"planted", "logistic", "ridge", 30, 100, 20, 0.01, 1},
    {"planted", "logistic", "ridge", 100, 200, 10, 0.01, 1},
    {"planted", "logistic", "ridge", 300, 200, 10, 0.01, 1},
    {"planted", "logistic", "nonconvex", 20, 100, 10, 0.01, 0},
    {"planted", "least-squares", "ridge", 10, 100, 10, 0.01, 1},
    {"planted", "least-squares", "ridge", 100, 200, 10, 0.01, 1},
    {"planted", "least-squares", "ridge", 300, 200, 10, 0.001, 0},
    {"planted", "huber", "ridge", 20, 100, 10, 0.01, 1},
    {"planted", "huber", "ridge", 150, 200, 10, 0.01, 1},
    {"planted", "squared-hinge", "ridge", 20, 100, 10, 0.01, 1},
    {"planted", "squared-hinge", "ridge", 150, 200, 10, 0.01, 1},
    {"planted", "logistic", "ridge", 600, 400, 4, 0.01, 1},
    {"planted", "logistic", "ridge", 200, 300, 20, 1e-4, 1},
    {"planted", "logistic", "ridge", 10, 50, 1000, 0.01, 1},
    {"planted", "logistic", "ridge", 10, 10, 10000, 0.01, 1},
    {"planted", "logistic", "ridge", 5000, 100, 4, 0.1, 1},
    {"quadratic", "least-squares", "none", 20, 60, 10, 0, 0, 1e4},
    {"quadratic", "least-squares", "none", 50, 150, 10, 0, 0, 1e6},
};

/* h and who is active: each problem with everyone and h = 0, and with one of the others in turn. */
struct variant {
    double h;     /* weight of l1 for each agent; 0: none */
    double share; /* of the agents that are active */
};

static const struct variant variants[] = {{0.002, 1}, {0, 0.5}, {0.002, 0.5}, {0, 0.1}};
enum { VARIANTS = sizeof variants / sizeof *variants };

static const char *const rivals[] = {"fed-plt", "fed-plt-anderson", "fed-lbfgs", "fed-newton"};
static const double talks[] = {1, 10, 100};
enum { RIVALS = sizeof rivals / sizeof *rivals, TALKS = sizeof talks / sizeof *talks };

/* Numbers that travel at the price of one message, as the rule has it. */
static const double message_numbers = 1 << 16;

/* Rounds, gradients and messages of an agent; rounds 0 where it does not arrive or does not apply. */
struct effort {
    double rounds, gradients, messages;
};

static struct effort run_rival(const fplt_objective *objective, const char *name, double talk,
                               const struct variant *variant)
{
    fplt_error error;
    fplt_auto choice;
    fplt_engine *engine;
    fplt_result result;
    fplt_prox *prox = NULL;
    fplt_participation *participation = NULL;
    struct effort effort = {0, 0, 0};
    size_t n = fplt_objective_dimension(objective);
    uint32_t agents = fplt_objective_agents(objective);
    fplt_run_settings run = fplt_run_defaults();
    fplt_prox_settings h = fplt_prox_defaults();
    fplt_participation_settings some = {.rule = "fixed",
                                        .count = (uint32_t)fmax(1, round(variant->share * agents))};
    run.algorithm = fplt_algorithm_find(name);
    if (variant->share < 1 && run.algorithm->partial_form)
        run.algorithm = run.algorithm->partial_form;
    h.name = "l1";
    h.weight = variant->h * agents;
    if (variant->h > 0)
        must(fplt_prox_create(&h, n, n, &prox, &error), &error);
    if (variant->share < 1)
        must(fplt_participation_create(&some, agents, &participation, &error), &error);
    run.prox = prox;
    run.participation = participation;
    run.training.epochs = 0;
    run.communication_time = talk;
    run.tolerance = 1e-16; /* as train has it */
    run.relative = 1;
    run.at_model = 1;
    run.evaluate_every = variant->share < 1 ? 5 : 1;
    run.rounds = 3000;
    must(fplt__auto_resolve(objective, &run, &choice, &error), &error);
    fplt__auto_apply(&choice, &run);
    if (!fplt_engine_create(objective, &run, &engine, &error)) {
        must(fplt_engine_run(engine, NULL, NULL, &result, &error), &error);
        if (result.outcome == FPLT_CONVERGED) {
            double numbers =
                (double)result.counters.bytes_up / 8 / fmax(1, (double)result.counters.exchanges);
            effort.rounds = (double)result.counters.rounds;
            effort.gradients = result.counters.gradients / agents;
            effort.messages = effort.rounds * fmax(1, numbers / message_numbers);
        }
        fplt_engine_destroy(engine);
    }
    fplt__auto_clear(&choice);
    fplt_prox_destroy(prox);
    fplt_participation_destroy(participation);
    return effort;
}

/* One line; adds the rule's cost over the best to `worst` and `total`, one a price. */
static void price(const char *what, const fplt_objective *objective, const struct variant *variant,
                  double *worst, double *total)
{
    size_t n = fplt_objective_dimension(objective);
    uint32_t agents = fplt_objective_agents(objective);
    struct effort effort[RIVALS];
    printf("%-30s %5zu %5u %-4s %-4g", what, n, agents, variant->h > 0 ? "l1" : "", variant->share);
    for (int t = 0; t < TALKS; t++) {
        double best = HUGE_VAL, own = HUGE_VAL;
        char reason[400];
        fplt__occasion occasion = {.dimension = n,
                                   .agents = agents,
                                   .cohort = (uint32_t)fmax(1, round(variant->share * agents)),
                                   .partial = variant->share<1, .composite = variant->h> 0,
                                   .hessians = 1,
                                   .bending = fplt__objective_bending(objective),
                                   .gradient_time = 1,
                                   .communication_time = talks[t]};
        const fplt_algorithm *taken = fplt__method_choose(&occasion, reason, sizeof reason);
        printf(" |");
        for (int r = 0; r < RIVALS; r++) {
            const fplt_algorithm *rival = fplt_algorithm_find(rivals[r]);
            double cost = HUGE_VAL;
            if (t == 0 || rival->splits)
                effort[r] = run_rival(objective, rivals[r], talks[t], variant);
            if (effort[r].rounds > 0)
                cost = effort[r].gradients + effort[r].messages * talks[t];
            best = fmin(best, cost);
            int mine = taken == rival || taken == rival->partial_form;
            own = mine ? cost : own;
            if (isinf(cost))
                printf("     - ");
            else
                printf(" %5.0f%c", cost, mine ? '*' : ' ');
        }
        worst[t] = fmax(worst[t], own / best);
        total[t] += log(own / best);
        fflush(stdout);
    }
    printf(" | rounds");
    for (int r = 0; r < RIVALS; r++)
        printf(" %.0f", effort[r].rounds);
    printf("\n");
}

/* A problem with everyone active and no h, and in one other variant. */
static void price_twice(const char *what, const fplt_objective *objective, int *count,
                        double *worst, double *total)
{
    static const struct variant plain = {0, 1};
    price(what, objective, &plain, worst, total);
    price(what, objective, &variants[(*count / 2) % VARIANTS], worst, total);
    *count += 2;
}

static fplt_objective *generated(const struct priced *priced, char *what, size_t size)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    int regression =
        strcmp(priced->loss, "least-squares") == 0 || strcmp(priced->loss, "huber") == 0;
    data.name = priced->generator;
    data.task = regression ? FPLT_TASK_REGRESSION : FPLT_TASK_BINARY;
    data.features = priced->features;
    data.rows = priced->rows;
    data.agents = priced->agents;
    data.noise = 0.5;
    if (priced->condition > 0) {
        data.lowest = 1 / priced->condition;
        data.highest = 1;
    }
    cost.loss = priced->loss;
    cost.regulariser = priced->regulariser;
    cost.weight = priced->eps;
    cost.intercept = priced->intercept;
    snprintf(what, size, "%s, %s, %g", priced->loss, priced->regulariser, priced->eps);
    must(fplt_dataset_generate(&data, &dataset, &error), &error);
    must(fplt_objective_create(&cost, dataset, &objective, &error), &error);
    fplt_dataset_destroy(dataset);
    return objective;
}

static void price_all(void)
{
    double worst[TALKS] = {0}, total[TALKS] = {0};
    char what[100];
    int count = 0;
    printf(
        "cost an agent, t_G = 1, at t_C = 1 | 10 | 100, of fed-plt, fed-plt-anderson, fed-lbfgs, "
        "fed-newton (partial forms where some are active); * the rule's\n%-30s     n sites h    "
        "active\n",
        "");
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem *problem = &problems[i];
        fplt_error error;
        if (problem->path && access(problem->path, R_OK) != 0)
            continue;
        fplt_dataset *dataset = data_of(problem);
        fplt_objective *objective;
        fplt_objective_settings cost = fplt_objective_defaults();
        cost.weight = problem->eps;
        if (fplt_dataset_task(dataset) == FPLT_TASK_REGRESSION)
            cost.loss = "least-squares";
        must(fplt_objective_create(&cost, dataset, &objective, &error), &error);
        snprintf(what, sizeof what, "%s %g, %g", problem->name, problem->spread, problem->eps);
        price_twice(what, objective, &count, worst, total);
        fplt_objective_destroy(objective);
        fplt_dataset_destroy(dataset);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        fplt_objective *objective = generated(&more[i], what, sizeof what);
        price_twice(what, objective, &count, worst, total);
        fplt_objective_destroy(objective);
    }
    for (int t = 0; t < TALKS; t++)
        printf(
            "t_C = %-4g the rule costs %.2f times the best in the geometric mean over %d problems, "
            "%.2f at worst\n",
            talks[t], exp(total[t] / count), count, worst[t]);
    figure("problems on which the choice of the method is measured", count, "problems", AT_LEAST,
           40);
    for (int t = 0; t < TALKS; t++) {
        char name[100];
        snprintf(name, sizeof name, "the rule's method at t_C = %g, geometric mean", talks[t]);
        figure(name, exp(total[t] / count), "times the best", AT_MOST, 1.25);
        snprintf(name, sizeof name, "the rule's method at t_C = %g, at worst", talks[t]);
        figure(name, worst[t], "times the best", AT_MOST, 2);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "cost") == 0) {
        price_all();
        return 0;
    }
    double tolerance = argc > 1 ? atof(argv[1]) : 1e-16;
    printf("rounds to %g           plain            accelerated (memory)\n", tolerance);
    printf("%-24s  common     own  common     own    (5)    (20)\n", "");
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem *problem = &problems[i];
        fplt_error error;
        fplt_auto choice;
        fplt_objective *objective;
        if (problem->path && access(problem->path, R_OK) != 0)
            continue;
        fplt_dataset *dataset = data_of(problem);
        fplt_objective_settings cost = fplt_objective_defaults();
        fplt_run_settings run = fplt_run_defaults();
        cost.weight = problem->eps;
        if (fplt_dataset_task(dataset) == FPLT_TASK_REGRESSION)
            cost.loss = "least-squares";
        must(fplt_objective_create(&cost, dataset, &objective, &error), &error);
        must(fplt__auto_resolve(objective, &run, &choice, &error), &error);
        printf("%-13s %-4g %5g", problem->name, problem->spread, problem->eps);
        report(objective, &choice, "fed-plt", 0, 0, tolerance);
        report(objective, &choice, "fed-plt", 1, 0, tolerance);
        report(objective, &choice, "fed-plt-anderson", 0, 0, tolerance);
        report(objective, &choice, "fed-plt-anderson", 1, 0, tolerance);
        report(objective, &choice, "fed-plt-anderson", 1, 5, tolerance);
        report(objective, &choice, "fed-plt-anderson", 1, 20, tolerance);
        printf("\n");
        fplt__auto_clear(&choice);
        fplt_objective_destroy(objective);
        fplt_dataset_destroy(dataset);
    }
    return 0;
}
