/* Settings tables of a job. What can be chosen comes from the registries: the tables point at text
 * that is filled from them before the first use. */
#include "job/tables.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fedplt/algorithm.h"
#include "fedplt/objective.h"
#include "fedplt/participation.h"
#include "fedplt/prox.h"
#include "linalg/kernel.h"
#include "objective/objective_access.h"
#include "participation/participation.h"
#include "prox/prox_access.h"
#include "solver/solver.h"

#define MAX_AGENTS 4294967295.0

static char loss_choices[256], regulariser_choices[256], kernel_choices[256], prox_choices[256],
    algorithm_choices[512], solver_choices[512], participation_choices[256];
/* What settings of local training need. */
static char trains[1024], trained[1056], epochs[1072], steps[1280], stochastic[256], noisy[256];

const fplt_setting fplt__job_seed_table[] = {
    {"seed", FPLT_INTEGER, 0, "0", 0, 9007199254740992.0, NULL,
     "key of every random stream: the same seed gives the same bits", 0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__job_data_table[] = {
    {"data", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "file to read; several: one agent a file; none: generated data (the paper's problem)", 0, 0},
    {"agents", FPLT_INTEGER, 0, NULL, 1, MAX_AGENTS, NULL,
     "number of agents; by default 100 generated ones, the sites or files of the data, or 10 with "
     "a "
     "partition",
     0, 0},
    {"features", FPLT_INTEGER, 0, NULL, 1, MAX_AGENTS, NULL,
     "number of features: 5 generated ones; of a LIBSVM file that shows fewer, or more than "
     "50,000,000",
     0, 0, .needs = "!schema"},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__job_holdout_table[] = {
    {"holdout", FPLT_REAL, FPLT_BELOW, "0", 0, 1, NULL,
     "share of every agent's rows that is held out and only measured at the end", 0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__job_cost_table[] = {
    {"loss", FPLT_CHOICE, 0, "auto", 0, 0, loss_choices,
     "loss of a record; auto: logistic for two classes, softmax for more, least-squares for "
     "numbers",
     0, 0},
    {"regulariser", FPLT_CHOICE, 0, "ridge", 0, 0, regulariser_choices,
     "r(x) in every agent's cost", 0, 0},
    {"eps", FPLT_REAL, 0, "0.5", 0, HUGE_VAL, NULL, "weight of the regulariser", 0, 0,
     .needs = "regulariser=ridge|nonconvex"},
    {"penalty-units", FPLT_CHOICE, 0, "model", 0, 0, "model|columns",
     "coefficients that regulariser and h penalise: those of the standardised columns (model), or "
     "those of the columns as they are in the data (columns)",
     0, 0,
     .needs = "standardise=auto|yes|scale|schema;"
              "regulariser=ridge|nonconvex,h=l1|l2-squared|elastic-net|box;"
              "!privacy.epsilon;!privacy.tau"},
    {"huber-delta", FPLT_REAL, FPLT_ABOVE, "1", 0, HUGE_VAL, NULL,
     "where the loss huber turns from squares to lines", 0, 0, .needs = "loss=huber"},
    {"predictor-bound", FPLT_REAL, FPLT_AUTO, "auto", -700, 700, NULL,
     "poisson: linear predictor above which a quadratic function replaces exp, so that the "
     "curvature "
     "is bounded",
     0, 0, .rule = "1 + log(largest count)", .needs = "loss=poisson"},
    {"ties", FPLT_CHOICE, 0, "efron", 0, 0, "efron|breslow",
     "cox: how events of equal times are treated", 0, 0, .needs = "loss=auto|cox"},
    {"random-intercept", FPLT_TEXT, 0, "site", 0, 0, NULL,
     "mixed losses: what has an intercept of its own, drawn from a normal distribution: site "
     "(every "
     "agent), or a column that names the clusters within the sites",
     0, 0, .needs = "loss=mixed-logistic|mixed-poisson|mixed-linear"},
    {"quadrature-points", FPLT_INTEGER, 0, "10", 1, 100, NULL,
     "mixed-logistic, mixed-poisson: nodes of the adaptive Gauss-Hermite quadrature of every "
     "cluster; 1: Laplace's approximation",
     0, 0, .needs = "loss=mixed-logistic|mixed-poisson"},
    {"intercept", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "one more coordinate an output, not regularised", 0, 0},
    {"class-weight", FPLT_CHOICE, 0, "none", 0, 0, "none|balanced",
     "balanced: every class has the same total weight over all agents", 0, 0},
    {"weights", FPLT_CHOICE, 0, "agents", 0, 0, "agents|rows",
     "equal weight for every agent (the paper), or for every row", 0, 0},
    {"clip", FPLT_REAL, 0, "0", 0, HUGE_VAL, NULL,
     "largest norm of a record's loss gradient; 0: not clipped", 0, 0},
    {"kernel", FPLT_CHOICE, 0, "auto", 0, 0, kernel_choices,
     "arithmetic; auto: the fastest here; reference: the same bits on every machine", 0, 0},
    {"precision", FPLT_CHOICE, 0, "double", 0, 0, "double|float32",
     "how rows are kept; float32: in half the memory, each number rounded to the nearest float, or "
     "towards 0 where radius or privacy bounds the norm of a row; arithmetic is double either way",
     0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__job_composite_table[] = {
    {"h", FPLT_CHOICE, 0, "zero", 0, 0, prox_choices,
     "common cost h(x), not smooth or a constraint", 0, 0},
    {"h-weight", FPLT_REAL, 0, "1", 0, HUGE_VAL, NULL,
     "weight of h: l1, l2-squared, elastic-net, group-lasso", 0, 0,
     .needs = "h=l1|l2-squared|elastic-net|group-lasso"},
    {"h-weight2", FPLT_REAL, 0, "1", 0, HUGE_VAL, NULL, "elastic-net: weight of the squared part",
     0, 0, .needs = "h=elastic-net"},
    {"h-low", FPLT_REAL, 0, "-1", -HUGE_VAL, HUGE_VAL, NULL, "box: least coordinate", 0, 0,
     .needs = "h=box"},
    {"h-high", FPLT_REAL, 0, "1", -HUGE_VAL, HUGE_VAL, NULL, "box: largest coordinate", 0, 0,
     .needs = "h=box"},
    {"h-radius", FPLT_REAL, FPLT_ABOVE, "1", 0, HUGE_VAL, NULL,
     "ball: its radius; simplex: the sum of the coordinates", 0, 0, .needs = "h=ball|simplex"},
    {"h-group", FPLT_INTEGER, 0, "1", 1, MAX_AGENTS, NULL, "group-lasso: coordinates in a group", 0,
     0, .needs = "h=group-lasso"},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__job_algorithm_table[] = {
    {"algorithm", FPLT_CHOICE, FPLT_AUTO, "fed-plt", 0, 0, algorithm_choices,
     "federated algorithm; its own parameters follow; auto: by what the costs and agents allow", 0,
     0},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__job_training_table[] = {
    {"solver", FPLT_CHOICE, 0, "gradient", 0, 0, solver_choices, "how an agent trains locally", 0,
     0, .needs = trains},
    {"gamma", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL, "local step size", 0.5,
     2, .rule = "the algorithm's choice for the agent's curvature", .needs = steps},
    {"gamma-decay", FPLT_REAL, FPLT_ABOVE, "1", 0, 1, NULL,
     "factor of the local step from round to round: round k takes gamma gamma-decay^k", 0, 0,
     .needs = steps},
    {"epochs", FPLT_INTEGER, FPLT_AUTO, "5", 1, 1000000, NULL, "local epochs a round", 0, 0,
     .rule = "what costs least for t-gradient and t-communication", .needs = epochs},
    {"batch", FPLT_INTEGER, 0, "32", 1, MAX_AGENTS, NULL,
     "stochastic solvers: records in a minibatch", 0, 0, .needs = stochastic},
    {"replacement", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "stochastic solvers: draw records with replacement", 0, 0, .needs = stochastic},
    {"epoch", FPLT_CHOICE, 0, "step", 0, 0, "step|pass",
     "stochastic solvers: an epoch is one step, or a pass over the agent's records", 0, 0,
     .needs = stochastic},
    {"tau", FPLT_REAL, 0, NULL, 0, HUGE_VAL, NULL,
     "noisy solvers: each step adds N(0, 2 gamma tau^2) to every coordinate", 0, 0, .needs = noisy},
    {"memory", FPLT_INTEGER, 0, "6", 1, 1000, NULL, "lbfgs: pairs kept", 0, 0,
     .needs = "solver=lbfgs,uncoordinated"},
    {"local-tolerance", FPLT_REAL, 0, "0", 0, HUGE_VAL, NULL,
     "newton, lbfgs: stop at a local gradient of this norm; 0: all epochs", 0, 0,
     .needs = "solver=newton|lbfgs,uncoordinated"},
    {"encoding", FPLT_CHOICE, 0, "exact", 0, 0, "exact|fixed32|fixed16",
     "vectors that agents send: multiples of 2^-64, or of a coarser grid by stochastic rounding "
     "that take 4 or 2 bytes a number",
     0, 0},
    {"grid-bits", FPLT_INTEGER, FPLT_AUTO, "auto", 1, 52, NULL,
     "encoding: the grid is 2^-BITS; a number of magnitude 2^(31 - BITS), or 2^(15 - BITS) with "
     "fixed16, takes a byte more",
     0, 0, .rule = "24 for fixed32, 12 for fixed16", .needs = "encoding=fixed32|fixed16"},
    {"uncoordinated", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "CSV file with columns agent, solver, gamma, epochs, batch, tau: the agents whose local "
     "training differs",
     0, 0, .needs = trained},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__job_participation_table[] = {
    {"participation", FPLT_CHOICE, 0, "all", 0, 0, participation_choices,
     "who is active in a round", 0, 0},
    {"active-share", FPLT_REAL, FPLT_ABOVE | FPLT_LIST, "0.5", 0, 1, NULL,
     "bernoulli: probability p with which an agent is active, or one an agent", 0, 0,
     .needs = "participation=bernoulli"},
    {"active", FPLT_INTEGER, 0, NULL, 1, MAX_AGENTS, NULL,
     "fixed, round-robin: agents active in a round; by default half of them", 0, 0,
     .needs = "participation=fixed|round-robin"},
    {"trace", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "trace: file whose lines list the active agents (from 0) of one round each", 0, 0,
     .needs = "participation=trace"},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__job_run_table[] = {
    {"rounds", FPLT_INTEGER, 0, "1000", 0, 9007199254740992.0, NULL, "rounds at most", 0, 0},
    {"tolerance", FPLT_REAL, 0, "1e-5", 0, HUGE_VAL, NULL,
     "stop when the criterion ||sum grad f_i||^2 is at most this; 0: never", 0, 0},
    {"relative", FPLT_SWITCH, 0, "no", 0, 0, NULL, "tolerance times the criterion at the start", 0,
     0, .needs = "tolerance!=0;!privacy.epsilon;!privacy.tau"},
    {"criterion-at", FPLT_CHOICE, 0, "mean", 0, 0, "mean|model",
     "where the criterion is measured: at the mean of the agents' models (the paper), or at the "
     "model that is written",
     0, 0, .needs = "!privacy.epsilon,privacy.diagnose=yes;!privacy.tau,privacy.diagnose=yes"},
    {"change", FPLT_REAL, 0, "0", 0, HUGE_VAL, NULL,
     "stop when the model moves relatively less than this in a round; 0: never", 0, 0,
     .needs = "rounds!=0"},
    {"eval-every", FPLT_INTEGER, FPLT_AUTO, "auto", 0, MAX_AGENTS, NULL,
     "rounds between measurements; 0: only at the end; auto: 1 on generated data with all agents "
     "active and for methods without local training, else so many that measuring takes a fifth of "
     "the time",
     0, 0, .needs = "rounds!=0"},
    {"threads", FPLT_INTEGER, 0, "0", 0, 4096, NULL, "threads; 0: one a core", 0, 0},
    {"engine", FPLT_CHOICE, 0, "threads", 0, 0, "threads|mpi",
     "where agents live: threads of one process, or the processes that mpirun or srun started, "
     "each with "
     "threads",
     0, 0},
    {"start", FPLT_CHOICE, 0, "zero", 0, 0, "zero|model|random|prior",
     "starting point; prior: N(0, 2 tau^2/lmin) as the paper's Prop. 4 has it", 0, 0},
    {"start-scale", FPLT_REAL, FPLT_ABOVE, "1", 0, HUGE_VAL, NULL, "start random: its deviation", 0,
     0, .needs = "start=random"},
    {"start-model", FPLT_TEXT, 0, NULL, 0, 0, NULL, "start model: the model file to start from", 0,
     0, .needs = "start=model"},
    {"t-gradient", FPLT_REAL, 0, "1", 0, HUGE_VAL, NULL, "time t_G of a local gradient", 0, 0},
    {"t-communication", FPLT_REAL, 0, "10", 0, HUGE_VAL, NULL,
     "time t_C of an agent's round trip to the coordinator", 0, 0},
    FPLT_SETTINGS_END,
};

static void join(char *choices, size_t size, const char *name)
{
    size_t used = strlen(choices);
    if (used + strlen(name) + 2 > size)
        return;
    if (used)
        choices[used++] = '|';
    strcpy(choices + used, name);
}

static void join_all(char *choices, size_t size, const char *(*list)(size_t, const char **))
{
    const char *name;
    for (size_t i = 0; (name = list(i, NULL)); i++)
        join(choices, size, name);
}

/* "algorithm=...|auto" of those whose agents train; the same where a command has a list of them. */
static void fill_trains(void)
{
    const fplt_algorithm *algorithm;
    char names[sizeof trains / 2 - 32] = "";
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++)
        if (!(algorithm->allows & FPLT_TRAINS_NOTHING))
            join(names, sizeof names, algorithm->name);
    snprintf(trains, sizeof trains, "algorithm=%s|auto;!algorithms,algorithms=%s", names, names);
}

/* "solver=sgd|..." of those that `fits`; a file about single agents may name others. */
static void fill_needs(char *needs, size_t size, int (*fits)(const fplt_solver *solver),
                       const char *others)
{
    const fplt_solver *solver;
    char names[256] = "";
    for (size_t i = 0; (solver = fplt_solver_list(i)); i++)
        if (fits(solver))
            join(names, sizeof names, solver->name);
    snprintf(needs, size, "solver=%s,uncoordinated%s", names, others);
}

int fplt__is_stochastic(const fplt_solver *solver)
{
    return (solver->traits & FPLT_STOCHASTIC) != 0;
}

int fplt__is_noisy(const fplt_solver *solver)
{
    return (solver->traits & FPLT_NOISY) != 0;
}

static void fill(void)
{
    const fplt_algorithm *algorithm;
    const fplt_solver *solver;
    const fplt__kernel *kernel;
    char behind[sizeof trains + 1];
    fill_trains();
    snprintf(behind, sizeof behind, ";%s", trains);
    snprintf(trained, sizeof trained, "%s;rounds!=0,algorithm=auto", trains);
    /* where the steps of a round are drawn, p says how many are expected */
    snprintf(epochs, sizeof epochs, "%s;p=auto", trained);
    fill_needs(steps, sizeof steps, fplt__solver_has_step, behind);
    fill_needs(stochastic, sizeof stochastic, fplt__is_stochastic, "");
    fill_needs(noisy, sizeof noisy, fplt__is_noisy, ",start=prior");
    join(loss_choices, sizeof loss_choices, "auto");
    join_all(loss_choices, sizeof loss_choices, fplt__loss_name);
    join_all(regulariser_choices, sizeof regulariser_choices, fplt__regulariser_name);
    join_all(prox_choices, sizeof prox_choices, fplt__prox_list);
    join_all(participation_choices, sizeof participation_choices, fplt__participation_list);
    join(kernel_choices, sizeof kernel_choices, "auto");
    for (size_t i = 0; (kernel = fplt__kernel_get(i)); i++)
        join(kernel_choices, sizeof kernel_choices, kernel->name);
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++)
        join(algorithm_choices, sizeof algorithm_choices, algorithm->name);
    for (size_t i = 0; (solver = fplt_solver_list(i)); i++)
        join(solver_choices, sizeof solver_choices, solver->name);
}

void fplt__job_tables_fill(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
}
