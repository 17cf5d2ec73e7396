/* fedplt theory: what is proved about Fed-PLT with given parameters, what is not, what to change, and
 * the proved bound beside a run. */
#include <math.h>
#include <string.h>

#include "cli.h"
#include "fedplt/theory.h"
#include "progress.h"
#include "fedplt/tune.h"
#include "algorithm/local_step.h"
#include "base/settings.h"
#include "job/auto.h"
#include "job/job.h"
#include "lab/tuning/gap.h"
#include "participation/participation.h"
#include "report/report.h"
#include "theory/theory.h"

const fplt_setting cli_curvature_table[] = {
    {"lmin", FPLT_REAL, 0, "0.1", 0, HUGE_VAL, NULL,
     "least curvature of the costs, instead of data; of generator quadratic", 0, 0,
     .needs = "+lmax,generator=quadratic"},
    {"lmax", FPLT_REAL, FPLT_ABOVE, "10", 0, HUGE_VAL, NULL,
     "greatest curvature of the costs, instead of data; of generator quadratic", 0, 0,
     .needs = "+lmin,generator=quadratic"},
    FPLT_SETTINGS_END,
};

static const fplt_setting table[] = {
    {"picture", FPLT_TEXT, 0, "theory", 0, 0, NULL,
     "with data: name of the pictures of the bound and of the error of a run (.svg and .png are "
     "added); none: no run",
     0, 0},
    {"runs", FPLT_INTEGER, 0, "1", 1, 100000, NULL,
     "with data: runs whose errors are averaged; they differ by who is active and by the noise", 0,
     0},
    {"show-rounds", FPLT_INTEGER, 0, "100", 1, 1000000, NULL, "with data: rounds of a run", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

#define DRAWN "show-rounds says how many are drawn"
#define A_RUN CLI_NEEDS_DATA ";picture!=none"
#define NOISE ",solver=noisy|noisy-accelerated"
static const fplt__setting_need needs[] = {
    {"@data", CLI_NEEDS_DATA, NULL},
    {"agents", CLI_NEEDS_DATA NOISE ",participation=fixed|round-robin|trace", NULL},
    {"features", CLI_NEEDS_DATA NOISE, NULL},
    {"start", A_RUN, NULL},
    {"@generated data", CLI_NEEDS_DATA, NULL},
    {"@cost", CLI_NEEDS_DATA, NULL},
    {"@common cost h", CLI_NEEDS_DATA, NULL},
    {"picture", CLI_NEEDS_DATA, NULL},
    {"show-rounds", A_RUN, NULL},
    {"runs",
     A_RUN ";participation!=all,solver!=gradient|accelerated|newton|lbfgs,start=random|prior",
     NULL},
    {"t-gradient", "epochs=auto", NULL},
    {"t-communication", "epochs=auto", NULL},
    {"rounds", NULL, DRAWN},
    {"tolerance", NULL, DRAWN},
    {"relative", NULL, DRAWN},
    {"criterion-at", NULL, DRAWN},
    {"change", NULL, DRAWN},
    {"eval-every", NULL, DRAWN},
    {"uncoordinated", NULL, "what is proved is about agents that all train alike"},
    {NULL, NULL, NULL},
};

struct study {
    fplt_job *job; /* owned; NULL: there is no data */
    const fplt_job_view *view;
    fplt_theory_problem problem;
    fplt_theory_parameters parameters;
    fplt_theory_verdict verdict;
    fplt_theory_rate model;
    double step_limit;     /* below it the solver's local training converges */
    uint64_t rounds;       /* measured */
    double *error, *bound; /* owned: rounds + 1 each; NULL: no run */
    double *model_line, *number;
    cli_progress progress;
    size_t done, all; /* rounds of all runs */
    int pictures, stopped;
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = fplt_settings_add(settings, "theory", cli_curvature_table, error);
    if (!status)
        status = fplt_job_declare(settings, FPLT_JOB_ALL, "fed-plt", error);
    if (!status)
        status = cli_prefer(cli, settings, error);
    return status ? status : fplt_settings_add(settings, "theory", table, error);
}

/* Input */

static int has_bounds(const fplt_settings *settings)
{
    return fplt_settings_given(settings, "lmin") && fplt_settings_given(settings, "lmax") &&
           !(fplt_settings_given(settings, "generator") &&
             strcmp(fplt_settings_text(settings, "generator"), "quadratic") == 0);
}

static fplt_status read_participation(const fplt_settings *settings, uint32_t agents,
                                      fplt_theory_parameters *parameters, fplt_error *error)
{
    fplt_participation *participation;
    fplt_status status = fplt__job_participation(settings, agents, &participation, error);
    if (status)
        return status;
    double least = 1, most = 0;
    for (uint32_t i = 0; i < agents; i++) {
        least = fmin(least, fplt__participation_rate(participation, i));
        most = fmax(most, fplt__participation_rate(participation, i));
    }
    fplt_participation_destroy(participation);
    parameters->participation_least = least;
    parameters->participation_most = most;
    return FPLT_OK;
}

/* Plain gradient steps, with noise or without, and accelerated ones: what there is theory for. */
static fplt_status check_solver(const fplt_training *training, fplt_error *error)
{
    const fplt_solver *solver = training->solver;
    if (solver->step && training->step > 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "gamma is %g, but for the solver %s there is theory only with gamma: "
                              "auto, which is %s",
                              training->step, solver->name, solver->step_rule);
    if (solver->traits & FPLT_STOCHASTIC ||
        !(solver->traits & (FPLT_PLAIN_STEPS | FPLT_ACCELERATED)))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "there is no theory here for the solver %s, only for gradient, noisy "
                              "and accelerated",
                              solver->name);
    return FPLT_OK;
}

static fplt_status check_algorithm(const fplt_settings *settings, fplt_error *error)
{
    const char *name = fplt_settings_text(settings, "algorithm");
    if (strcmp(name, fplt_run_defaults().algorithm->name) == 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "algorithm is %s, but what is proved here is about %s alone", name,
                          fplt_run_defaults().algorithm->name);
}

static fplt_status read_parameters(const fplt_settings *settings, struct study *study,
                                   fplt_error *error)
{
    fplt_theory_problem *problem = &study->problem;
    fplt_theory_parameters *parameters = &study->parameters;
    fplt_run_settings run = fplt_run_defaults();
    double given[FPLT_MAX_PARAMETERS];
    fplt_auto choice;
    fplt_status status;
    if ((status = fplt_job_training(settings, &run.training, error)) ||
        (status = check_solver(&run.training, error)))
        return status;
    fplt_algorithm_read(run.algorithm, settings, given);
    run.parameter = given;
    run.gradient_time = fplt_settings_real(settings, "t-gradient");
    run.communication_time = fplt_settings_real(settings, "t-communication");
    fplt_curvature_bounds bend = {{problem->strong_convexity, problem->smoothness}, NAN};
    if (study->view)
        bend = study->view->automatic->bend;
    if ((status = fplt__auto_choose(&bend, &run, (uint32_t)problem->agents,
                                    (size_t)problem->dimension, &choice, error)))
        return status;
    *parameters = fplt_theory_defaults(problem);
    parameters->rho = choice.parameter[0];
    parameters->epochs = choice.epochs;
    fplt_facts facts = {.curvature = bend.everywhere, .epochs = choice.epochs};
    study->step_limit =
        fplt__algorithm_step(run.algorithm, run.training.solver, &facts, choice.parameter).limit;
    parameters->step = choice.step;
    parameters->accelerated = (run.training.solver->traits & FPLT_ACCELERATED) != 0;
    parameters->noise_tau = run.training.noise_tau;
    return read_participation(settings, (uint32_t)problem->agents, parameters, error);
}

static fplt_status read_problem(const fplt_settings *settings, struct study *study,
                                fplt_error *error)
{
    fplt_theory_problem *problem = &study->problem;
    fplt_status status = check_algorithm(settings, error);
    if (status)
        return status;
    int bounds = has_bounds(settings);
    int data = fplt_settings_text(settings, "data") || fplt_settings_given(settings, "generator");
    if (bounds && !data) {
        problem->agents = fplt_settings_given(settings, "agents")
                              ? (uint64_t)fplt_settings_integer(settings, "agents")
                              : 100;
        problem->dimension = fplt_settings_given(settings, "features")
                                 ? (uint64_t)fplt_settings_integer(settings, "features")
                                 : 5;
    } else {
        if ((status = fplt__job_create(settings, 0, &study->job, error)))
            return status;
        study->view = fplt_job_get_view(study->job);
        problem->agents = fplt_objective_agents(study->view->objective);
        problem->dimension = fplt_objective_dimension(study->view->objective);
        problem->strong_convexity = study->view->automatic->bend.everywhere.lowest;
        problem->smoothness = study->view->automatic->bend.everywhere.highest;
    }
    if (bounds) {
        problem->strong_convexity = fplt_settings_real(settings, "lmin");
        problem->smoothness = fplt_settings_real(settings, "lmax");
    }
    return fplt_theory_check(problem, NULL, error);
}

/* A run beside the bound */

static fplt_status follow(struct study *study, const fplt__gap *gap, uint32_t number, double weight,
                          double share, fplt_error *error)
{
    fplt_run_settings run = study->view->run;
    fplt_training training = run.training;
    fplt_engine *engine;
    /* the theory has one step for all agents */
    training.step = study->parameters.step;
    run.training = training;
    run.each = NULL;
    run.run = number;
    fplt_status status = fplt_engine_create(study->view->objective, &run, &engine, error);
    if (status)
        return status;
    for (uint64_t k = 0; !status && k <= study->rounds; k++) {
        study->error[k] += share * fplt__gap_measure(gap, engine, weight);
        if (k < study->rounds)
            status = fplt_engine_round(engine, error);
        study->stopped |= cli_progress_watch(&study->progress, ++study->done, study->all);
        if (study->stopped)
            break;
    }
    fplt_engine_destroy(engine);
    return status;
}

static void fill_lines(struct study *study)
{
    double rate = study->model.rate;
    for (uint64_t k = 0; k <= study->rounds; k++) {
        study->number[k] = (double)k;
        study->bound[k] = fplt_theory_bound_at(&study->verdict.weighted, study->error[0], k);
        study->model_line[k] = rate < 1 ? study->error[0] * pow(rate, (double)k) : NAN;
    }
}

static fplt_status allocate(struct study *study, fplt_error *error)
{
    double **lines[] = {&study->error, &study->bound, &study->model_line, &study->number};
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < 4; i++)
        status = cli_alloc(lines[i], study->rounds + 1, sizeof(double), "the run", error);
    return status;
}

static fplt_status run_beside(const fplt_settings *settings, struct study *study, fplt_error *error)
{
    uint32_t runs = (uint32_t)fplt_settings_integer(settings, "runs");
    fplt__gap *gap;
    study->rounds = (uint64_t)fplt_settings_integer(settings, "show-rounds");
    fplt_status status = allocate(study, error);
    if (status || (status = fplt__gap_create(study->view->objective, study->view->prox,
                                             study->parameters.rho, &gap, error)))
        return status;
    study->all = runs * (study->rounds + 1);
    cli_end_on_signals(NULL);
    cli_progress_begin(&study->progress, 0);
    for (uint32_t i = 0; !status && !study->stopped && i < runs; i++)
        status = follow(study, gap, i, study->verdict.weighted.weight, 1.0 / runs, error);
    fplt__gap_destroy(gap);
    cli_progress_end(&study->progress);
    if (!status)
        fill_lines(study);
    return status;
}

static fplt_status draw(const fplt_settings *settings, struct study *study, fplt_error *error)
{
    static const char *const kinds[] = {"svg", "png"};
    int full = study->parameters.participation_least == 1;
    size_t count = study->rounds + 1;
    fplt__series series[3] = {{"error of the run", study->number, study->error, count}};
    size_t used = 1;
    if (study->verdict.weighted.holds)
        series[used++] = (fplt__series){"proved bound", study->number, study->bound, count};
    if (full && study->parameters.noise_tau == 0)
        series[used++] = (fplt__series){"model of quadratics (no guarantee)", study->number,
                                        study->model_line, count};
    fplt__plot plot = {.title = "Fed-PLT: distance to the limit, in the weighted norm",
                       .x_label = "round",
                       .y_label = "error",
                       .log_y = 1,
                       .series = series,
                       .count = used};
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s.%s", fplt_settings_text(settings, "picture"), kinds[i]);
        fplt_status status = fplt__plot_write(&plot, path, error);
        if (status == FPLT_UNSUPPORTED) {
            cli_warn("%s", error->text);
            return FPLT_OK;
        }
        if (status)
            return status;
    }
    study->pictures = 1;
    return FPLT_OK;
}

/* Output */

struct line {
    const char *key, *name;    /* for programs, for people */
    double printed, corrected; /* NaN: there is none */
    const char *meaning;
};

enum { LINES = 21 };

static void fill_table(const struct study *study, struct line *lines)
{
    const fplt_theory_problem *p = &study->problem;
    const fplt_theory_parameters *q = &study->parameters;
    const fplt_theory_verdict *v = &study->verdict;
    struct line all[LINES] = {
        {"lmin", "lmin", NAN, p->strong_convexity, "least curvature of any agent's cost"},
        {"lmax", "lmax", NAN, p->smoothness, "greatest curvature"},
        {"rho", "rho", NAN, q->rho, "penalty"},
        {"gamma", "gamma", NAN, q->step, "local step"},
        {"gamma_limit", "gamma, limit",
         q->accelerated ? NAN : fplt__theory_step_limit(p, q->rho, FPLT_THEORY_PRINTED),
         study->step_limit, "local training needs less"},
        {"gamma_best", "gamma, best", NAN, q->accelerated ? NAN : fplt_theory_best_step(p, q->rho),
         "contracts most in one step"},
        {"epochs", "N_e", NAN, q->epochs, "local epochs"},
        {"zeta", "zeta", NAN, fplt__theory_splitting_contraction(p, q->rho),
         "exact splitting, a round"},
        {"chi", "chi", NAN,
         q->accelerated ? NAN : fplt__theory_step_contraction(p, q->rho, q->step),
         "one local step"},
        {"local_contraction", q->accelerated ? "chi(N_e)" : "chi^N_e",
         fplt__theory_local_contraction(p, q, FPLT_THEORY_PRINTED),
         fplt__theory_local_contraction(p, q, FPLT_THEORY_CORRECTED), "whole local training"},
        {"s_11", "S 11", v->printed.entry[0][0], v->corrected.entry[0][0], "matrix of a round"},
        {"s_12", "S 12", v->printed.entry[0][1], v->corrected.entry[0][1], ""},
        {"s_21", "S 21", v->printed.entry[1][0], v->corrected.entry[1][0], ""},
        {"s_22", "S 22", v->printed.entry[1][1], v->corrected.entry[1][1], ""},
        {"spectral_radius", "spectral radius", v->printed.radius, v->corrected.radius,
         "stable below 1"},
        {"norm", "norm", v->printed.norm, v->corrected.norm, "contracts in the plain norm below 1"},
        {"weighted_norm", "weighted norm", NAN, v->weighted.contraction,
         "of S, z weighted as below"},
        {"weight", "weight", NAN, v->weighted.weight, "of z in the norm of the bound"},
        {"sigma", "sigma", v->paper.rate, v->weighted.rate,
         "bound of a round with this participation [Prop. 2]"},
        {"radius", "radius", fplt__theory_bound_radius(&v->paper),
         fplt__theory_bound_radius(&v->weighted),
         "error that noise leaves in the end [Cor. accuracy]"},
        {"model_rate", "model rate", NAN, study->model.rate,
         "quadratics with these curvatures, all active"},
    };
    memcpy(lines, all, sizeof all);
}

static fplt_status print_lines(const struct study *study, fplt_error *error)
{
    static const char *const columns[] = {"quantity", "as printed", "corrected", "meaning"};
    struct line lines[LINES];
    fplt_table *rows;
    fill_table(study, lines);
    fplt_status status = fplt__table_create(columns, 4, &rows, error);
    if (status)
        return status;
    for (size_t i = 0; i < LINES; i++) {
        fplt__table_text(rows, lines[i].name);
        fplt__table_number(rows, lines[i].printed, 6);
        fplt__table_number(rows, lines[i].corrected, 6);
        fplt__table_text(rows, lines[i].meaning);
    }
    status = cli_print_table(rows, error);
    fplt_table_destroy(rows);
    return status;
}

static void print_findings(const struct study *study)
{
    cli_text text = {NULL, 0, NULL};
    cli_text_add(&text, "\nguarantees\n");
    for (size_t i = 0; i < study->verdict.count; i++) {
        const fplt_theory_finding *finding = &study->verdict.finding[i];
        cli_text_format(&text, "  %-4s %s%s\n", finding->holds ? "yes" : "NO",
                        finding->printed ? "(the paper, as printed) " : "", finding->meaning);
        if (finding->advice[0]) {
            cli_text_add(&text, "       ");
            cli_wrap(&text, finding->advice, 7, 7, 80);
            cli_text_add(&text, "\n");
        }
    }
    cli_text_format(&text, "\n%s\n",
                    study->verdict.guaranteed
                        ? "Convergence is proved for these parameters."
                        : "Convergence is not proved for these parameters; it may well happen. "
                          "See the model rate.");
    cli_print_text(&text);
}

static void print_run(const fplt_settings *settings, const struct study *study)
{
    if (!study->error)
        return;
    printf("\nA run of %llu rounds: error %.4g at the start, %.4g at the end",
           (unsigned long long)study->rounds, study->error[0], study->error[study->rounds]);
    double bound = study->bound[study->rounds];
    /* Below some 1e-12 of the start the error is rounding, of which the theory knows nothing. */
    int rounding = bound < 1e-12 * study->error[0] && study->error[study->rounds] > bound;
    if (study->verdict.weighted.holds)
        printf(rounding
                   ? ", where rounding stops it; without rounding it is proved to be at most %.4g "
                     "in mean"
                   : ", proved to be at most %.4g in mean",
               bound);
    puts(".");
    if (study->pictures)
        printf("Pictures: %s.svg, %s.png\n", fplt_settings_text(settings, "picture"),
               fplt_settings_text(settings, "picture"));
}

static json_t *numbers(const double *values, uint64_t count)
{
    json_t *array = json_array();
    for (uint64_t i = 0; i < count; i++)
        json_array_append_new(array, cli_json_number(values[i]));
    return array;
}

static fplt_status print_json(const struct study *study, fplt_error *error)
{
    struct line lines[LINES];
    json_t *quantities = json_object(), *findings = json_array(), *run = json_null();
    fill_table(study, lines);
    for (size_t i = 0; i < LINES; i++)
        json_object_set_new(quantities, lines[i].key,
                            json_pack("{s:o, s:o}", "printed", cli_json_number(lines[i].printed),
                                      "corrected", cli_json_number(lines[i].corrected)));
    for (size_t i = 0; i < study->verdict.count; i++) {
        const fplt_theory_finding *f = &study->verdict.finding[i];
        json_array_append_new(findings,
                              json_pack("{s:s, s:s, s:b, s:b, s:o, s:o, s:s}", "name", f->name,
                                        "meaning", f->meaning, "printed", f->printed, "holds",
                                        f->holds, "value", cli_json_number(f->value), "limit",
                                        cli_json_number(f->limit), "advice", f->advice));
    }
    if (study->error)
        run = json_pack("{s:o, s:o}", "error", numbers(study->error, study->rounds + 1), "bound",
                        numbers(study->bound, study->rounds + 1));
    return cli_print_json(json_pack("{s:s, s:o, s:o, s:b, s:o}", "format", "fedplt-theory 1",
                                    "quantities", quantities, "guarantees", findings, "guaranteed",
                                    study->verdict.guaranteed, "run", run),
                          error);
}

static fplt_status conclude(cli_call *cli, struct study *study, fplt_error *error)
{
    const fplt_settings *settings = cli->settings;
    fplt_status status = FPLT_OK;
    const char *picture = fplt_settings_text(settings, "picture");
    cli_text defaults = {NULL, 0, NULL};
    int runs = study->view && strcmp(picture, "none") != 0;
    if (runs && (status = run_beside(settings, study, error)))
        return status;
    if (study->stopped) {
        cli_warn("interrupted; nothing is kept");
        cli->exit_status = 130;
        return FPLT_OK;
    }
    if (runs && (status = draw(settings, study, error)))
        return status;
    if (fplt_settings_switch(settings, "json"))
        return print_json(study, error);
    if ((status = print_lines(study, error)))
        return status;
    print_findings(study);
    print_run(settings, study);
    cli_write_defaults(settings, &defaults);
    cli_print_text(&defaults);
    return FPLT_OK;
}

static fplt_status run_theory(cli_call *cli, fplt_error *error)
{
    struct study study = {.job = NULL};
    fplt_status status;
    if (!(status = read_problem(cli->settings, &study, error)) &&
        !(status = read_parameters(cli->settings, &study, error)) &&
        !(status = fplt_theory_judge(&study.problem, &study.parameters, &study.verdict, error))) {
        cli->running = 1;
        study.model = fplt_theory_quadratic_rate(&study.problem, &study.parameters);
        status = conclude(cli, &study, error);
    }
    free(study.error);
    free(study.bound);
    free(study.model_line);
    free(study.number);
    fplt_job_destroy(study.job);
    return status;
}

const cli_command cli_theory[] = {
    {.name = "theory",
     .summary = "what is proved about Fed-PLT with given parameters",
     .arguments = "[config.yaml]",
     .about =
         "Prints the contraction factors of Fed-PLT, as the paper prints them and corrected, says "
         "which guarantees hold for the parameters, and what to change where one does not.\n\nThe "
         "curvatures come from the data, or from --lmin and --lmax. With data it also runs "
         "Fed-PLT and draws the proved bound above the measured distance to the limit. The bound "
         "is cautious: runs converge far sooner, and also where nothing is proved.",
     .examples =
         "fedplt theory --lmin 0.5 --lmax 5 --epochs 50\n"
         "fedplt theory --epochs 60 --participation bernoulli --active-share 0.5 --runs 20\n"
         "fedplt theory --data hospitals.csv --solver accelerated --json",
     .most = 1,
     .config = 1,
     .declare = declare,
     .needs = needs,
     .run = run_theory},
    {.name = NULL},
};
