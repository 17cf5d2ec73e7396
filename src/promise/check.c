/* Private jobs: what may stand in the settings, and what a promise sets where they do not say. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "base/text.h"
#include "data/dataset_access.h"
#include "data/formula.h"
#include "data/schema.h"
#include "fedplt/algorithm.h"
#include "fedplt/promise.h"
#include "fedplt/schema.h"
#include "data/schema_access.h"
#include "job/job.h"
#include "objective/objective_access.h"
#include "promise/plan.h"
#include "promise/promise.h"

const fplt_setting fplt__promise_table[] = {
    {"privacy.epsilon", FPLT_REAL, FPLT_ABOVE, NULL, 0, HUGE_VAL, NULL,
     "promise (epsilon, delta)-privacy of every record; the noise follows", 0, 0,
     .needs = "rounds!=0"},
    {"privacy.delta", FPLT_REAL, FPLT_ABOVE, FPLT__PROMISE_DELTA, 0, 0.1, NULL,
     "the delta of the promise; it should be below 1 over the number of records", 0, 0,
     .needs = "privacy.epsilon,privacy.tau"},
    {"privacy.group", FPLT_INTEGER, 0, "1", 1, 9007199254740992.0, NULL,
     "promise it for so many records at once; by default those of one person, where a schema says "
     "how "
     "many",
     0, 0, .needs = "privacy.epsilon,privacy.tau"},
    {"privacy.tau", FPLT_REAL, FPLT_ABOVE, NULL, 0, HUGE_VAL, NULL,
     "noise scale instead of epsilon: each local step adds N(0, 2 gamma tau^2)", 0, 0,
     .needs = "rounds!=0"},
    {"privacy.threat", FPLT_CHOICE, 0, "transcript", 0, 0,
     "transcript|broadcast|secagg|secagg-sum|final-y|final-x|paper",
     "what the adversary sees; transcript: every message; secagg-sum: sums, and the noise is "
     "divided among the agents",
     0, 0, .needs = "privacy.epsilon,privacy.tau"},
    {"privacy.colluders", FPLT_INTEGER, FPLT_AUTO, "auto", 0, 999, NULL,
     "agents that may help the adversary, whose noise hides nothing", 0, 0,
     .rule = "a tenth of the agents, at least 1", .needs = "privacy.threat=secagg-sum"},
    {"privacy.quorum", FPLT_INTEGER, FPLT_AUTO, "auto", 2, 1000, NULL, "agents in a sum at least",
     0, 0, .rule = "all of up to 10 agents, else two thirds", .needs = "privacy.threat=secagg-sum"},
    {"privacy.rows", FPLT_REAL, FPLT_ABOVE, NULL, 0, HUGE_VAL, NULL,
     "bound on the norm of a row, from knowledge and not from the data; longer rows are shortened "
     "to it; by default radius, or else 1",
     0, 0, .needs = "privacy.epsilon,privacy.tau"},
    {"privacy.noise", FPLT_CHOICE, 0, "secure", 0, 0, "secure|simulated",
     "random source; simulated: from the seed, for experiments, not private", 0, 0,
     .needs = "privacy.epsilon,privacy.tau"},
    {"privacy.diagnose", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "measure and show losses without noise: the output is then not private", 0, 0,
     .needs = "privacy.epsilon,privacy.tau"},
    FPLT_SETTINGS_END,
};

/* Enough to keep the cost strictly convex, too little to move a model. */
#define RIDGE 1e-3

/* Given, and not left to the program by the word auto. */
int fplt__promise_is_given(const fplt_settings *settings, const char *name)
{
    const fplt_setting *row = fplt__settings_find(settings, name);
    return row && fplt_settings_given(settings, name) &&
           !(row->flags & FPLT_AUTO && fplt_settings_is_auto(settings, name));
}

int fplt__promise_wanted(const fplt_settings *settings)
{
    return fplt_settings_given(settings, "privacy.epsilon") ||
           fplt_settings_given(settings, "privacy.tau");
}

static int wants_stop(const fplt_settings *settings, const char *name)
{
    return fplt_settings_real(settings, name) > 0;
}

static int wants_measures(const fplt_settings *settings, const char *name)
{
    return fplt_settings_integer(settings, name) > 0 &&
           !fplt_settings_switch(settings, "privacy.diagnose");
}

static int wants_grid(const fplt_settings *settings, const char *name)
{
    return !fplt__job_setting_is(settings, name, "exact");
}

static int wants_scaling(const fplt_settings *settings, const char *name)
{
    return !fplt__job_setting_is(settings, name, "no") &&
           !fplt__job_setting_is(settings, name, "schema");
}

static int wants_skew(const fplt_settings *settings, const char *name)
{
    return fplt__job_setting_is(settings, name, "skewed");
}

static int wants_dropping(const fplt_settings *settings, const char *name)
{
    return fplt__job_setting_is(settings, name, "drop");
}

static int wants_filling(const fplt_settings *settings, const char *name)
{
    return !fplt__job_setting_is(settings, name, "refuse") &&
           !fplt__job_setting_is(settings, name, "drop");
}

static int wants_balance(const fplt_settings *settings, const char *name)
{
    return fplt__job_setting_is(settings, name, "balanced");
}

static int wants_guessing(const fplt_settings *settings, const char *name)
{
    return fplt__job_setting_is(settings, name, "auto");
}

static int wants_holdout(const fplt_settings *settings, const char *name)
{
    return fplt_settings_real(settings, name) > 0 &&
           !fplt_settings_switch(settings, "privacy.diagnose");
}

static int wants_model(const fplt_settings *settings, const char *name)
{
    return fplt__job_setting_is(settings, name, "model");
}

static int wants_agents(const fplt_settings *settings, const char *name)
{
    return fplt_settings_switch(settings, name) &&
           fplt__job_setting_is(settings, "privacy.threat", "final-y");
}

static const struct conflict {
    const char *name;
    int (*holds)(const fplt_settings *settings, const char *name); /* NULL: when given */
    const char *reason;
} conflicts[] = {
    {"tolerance", wants_stop,
     "a gradient norm without noise would decide when it stops; all rounds are run, leave it out"},
    {"change", wants_stop, "the run may not stop on the data; all rounds are run, leave it out"},
    {"eval-every", wants_measures,
     "a loss without noise may not leave an agent; privacy.diagnose measures, and says that the "
     "output is then not private"},
    {"standardise", wants_scaling,
     "the columns' own statistics tell of the records; scale by declared bounds: standardise "
     "schema"},
    {"partition", wants_skew,
     "it looks at the labels, so that one record would move others between agents; divide "
     "contiguous or shuffled"},
    {"missing", wants_dropping,
     "the number of rows would reveal something about a record; declare a constant in a schema"},
    {"missing", wants_filling,
     "what is filled in would be computed from the records; declare a constant in a schema"},
    {"class-weight", wants_balance,
     "the number of records of a class would reveal something about them; give the weights in a "
     "column with "
     "declared bounds"},
    {"categories", wants_guessing,
     "which levels there are would be read from the records; declare them in a schema"},
    {"holdout", wants_holdout,
     "a measure of the rows held out would be without noise; privacy.diagnose shows it, and says "
     "that the output is then not private"},
    {"start", wants_model,
     "nothing is known of what the starting model was trained on; start from zero"},
    {"gamma-decay", NULL, "the promise is for the same step in every round"},
    {"encoding", wants_grid, "the promise is for updates that are not rounded after the noise"},
    {"uncoordinated", NULL, "all agents need the same training for one promise"},
    {"tau", NULL, "the noise belongs to the promise; give privacy.tau instead"},
    {"checkpoint", NULL,
     "a run that can go on twice from one state sends rounds that nobody charges"},
    {"resume", NULL, "a run that can go on twice from one state sends rounds that nobody charges"},
    {"agents-models", wants_agents, "the promise for final-y covers the coordinator's model only"},
};

static fplt_status refuse_conflicts(const fplt_settings *settings, fplt_error *error)
{
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++) {
        const struct conflict *conflict = &conflicts[i];
        if (!fplt__promise_is_given(settings, conflict->name) ||
            (conflict->holds && !conflict->holds(settings, conflict->name)))
            continue;
        return fplt_error_set(error, FPLT_UNSUPPORTED, "%s: %s cannot be used with privacy: %s",
                              fplt__settings_origin(settings, conflict->name), conflict->name,
                              conflict->reason);
    }
    return FPLT_OK;
}

static fplt_status check_section(const fplt_settings *settings, fplt_error *error)
{
    int epsilon = fplt_settings_given(settings, "privacy.epsilon");
    int tau = fplt_settings_given(settings, "privacy.tau");
    if (epsilon && tau)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: privacy.tau and privacy.epsilon are both given, but one follows "
                              "from the other; leave one out",
                              fplt__settings_origin(settings, "privacy.tau"));
    if (tau && !fplt__promise_is_given(settings, "rounds"))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: privacy.tau needs rounds: the promise grows with them",
                              fplt__settings_origin(settings, "privacy.tau"));
    if (fplt__job_setting_is(settings, "privacy.threat", "paper"))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s: the threat model paper is Prop. 4 as printed, which does not "
                              "hold; no run can promise it (fedplt privacy epsilon shows it)",
                              fplt__settings_origin(settings, "privacy.threat"));
    return FPLT_OK;
}

static fplt_status check_solver(const fplt_settings *settings, fplt_error *error)
{
    if (!fplt__promise_is_given(settings, "solver"))
        return FPLT_OK;
    const fplt_solver *solver = fplt_solver_find(fplt_settings_text(settings, "solver"));
    fplt_privacy_facts facts = {.algorithm = solver->name};
    fplt_privacy_mechanism any = fplt_privacy_defaults();
    if (solver->traits & FPLT_NOISY)
        return FPLT_OK;
    facts.shuffled_batches = (solver->traits & FPLT_STOCHASTIC) != 0;
    facts.uses_second_order =
        solver->traits & FPLT_MINIMISER && !(solver->traits & (FPLT_ACCELERATED | FPLT_STOCHASTIC));
    if (facts.shuffled_batches || facts.uses_second_order)
        fplt_privacy_check(&any, &facts, error);
    else
        fplt_error_set(error, FPLT_UNSUPPORTED,
                       "the solver %s adds no noise; take noisy or noisy-accelerated, or leave "
                       "solver out",
                       solver->name);
    if (error)
        fplt_error_prefix(error, "%s", fplt__settings_origin(settings, "solver"));
    return FPLT_UNSUPPORTED;
}

/* A promise for a person is one for all the records that the person may have. */
static fplt_status check_group(const fplt_settings *settings, uint64_t most, fplt_error *error)
{
    long long group = fplt_settings_integer(settings, "privacy.group");
    if (!fplt_settings_given(settings, "privacy.group") || (uint64_t)group >= most)
        return FPLT_OK;
    return fplt_error_set(
        error, FPLT_BAD_VALUE,
        "%s: privacy.group is %lld, but the schema declares persons of up to %llu "
        "records, which the promise covers together; leave it out, or take at "
        "least %llu",
        fplt__settings_origin(settings, "privacy.group"), group, (unsigned long long)most,
        (unsigned long long)most);
}

fplt_status fplt__promise_refuse_weights(fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "rows with weights of their own cannot be used with privacy: they are "
                          "relative to each other, so that one row changes what all others count; "
                          "declare the column as ignore");
}

static fplt_status refuse_survival(fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "survival times cannot be used with privacy: the loss cox is no sum over "
                          "records, so that one of them changes what all others count");
}

/* What is a sum over records, each of which counts by itself. */
static fplt_status check_task(const fplt_schema *schema, fplt_error *error)
{
    uint32_t outputs;
    if (fplt__schema_column(schema, FPLT__WEIGHT))
        return fplt__promise_refuse_weights(error);
    return fplt__schema_task(schema, &outputs) == FPLT_TASK_SURVIVAL ? refuse_survival(error)
                                                                     : FPLT_OK;
}

/* Of numbers in memory the columns are declared by who made the array, and so is the task; a bound on
 * them is not. */
fplt_status fplt__promise_check_bound(const fplt_settings *settings, fplt_task task,
                                      fplt_error *error)
{
    if (task == FPLT_TASK_SURVIVAL)
        return refuse_survival(error);
    if (fplt_settings_given(settings, "privacy.rows") || fplt__promise_is_given(settings, "radius"))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "data in memory have no schema, and with privacy bounds are declared and "
                          "not read from the records; give privacy.rows, the norm that rows are "
                          "shortened to, or read the data by a schema");
}

/* The items of a list as words of a command, as many as there is room for. */
static void list_words(const char *list, char *text, size_t size)
{
    char item[4096], word[4096];
    size_t used = 0;
    *text = 0;
    while (*list) {
        list = fplt__list_next(list, item, sizeof item);
        fplt__shell_word(item, word, sizeof word);
        if (used + strlen(word) + 2 > size)
            return;
        used += (size_t)snprintf(text + used, size - used, " %s", word);
    }
}

/* With given data everything that shapes the model is declared. */
static fplt_status check_declared(const fplt_settings *settings, const fplt_schema *schema,
                                  const fplt_dataset *in_memory, fplt_error *error)
{
    if (schema) {
        fplt_status status = fplt__schema_accepts_all(schema, error);
        if (!status)
            status = check_task(schema, error);
        return status ? status : check_group(settings, fplt__schema_most(schema), error);
    }
    if (in_memory)
        return fplt__promise_check_bound(settings, fplt_dataset_task(in_memory), error);
    const char *data = fplt_settings_text(settings, "data");
    char words[400]; /* of a sentence of 1023 */
    if (!data)
        return FPLT_OK;
    list_words(data, words, sizeof words);
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "%s: with privacy, columns, bounds and classes are declared and not read "
                          "from the records; give schema (`fedplt data schema%s --out schema.yaml` "
                          "drafts one), or bounds and labels where all columns are numbers",
                          fplt__settings_origin(settings, "data"), words);
}

/* The bound on the norm of a row. */
static fplt_status find_rows(const fplt_settings *settings, double *rows, fplt_error *error)
{
    double radius =
        fplt__promise_is_given(settings, "radius") ? fplt_settings_real(settings, "radius") : 0;
    int declared = fplt_settings_given(settings, "privacy.rows");
    *rows = declared ? fplt_settings_real(settings, "privacy.rows") : radius > 0 ? radius : *rows;
    if (declared && radius > 0 && radius != *rows)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: radius is %g and privacy.rows %g, but both are the bound on the "
                              "norm of a row; leave one out",
                              fplt__settings_origin(settings, "radius"), radius, *rows);
    return FPLT_OK;
}

static int has_own_costs(const fplt_job_source *source)
{
    return source->objective || source->own_costs;
}

static fplt_status check_source(const fplt_job_source *source, fplt_error *error)
{
    int hides = source->objective && !fplt__objective_gives_records(source->objective);
    const char *what = hides            ? "own costs without record_gradients"
                       : source->solver ? "a custom solver"
                       : source->start  ? "a given starting point"
                                        : NULL;
    const char *reason = hides ? "without the gradients of single records, which the library "
                                 "shortens, nothing is known "
                                 "of what a record can change"
                         : source->solver ? "its noise cannot be vouched for"
                                          : "nothing is known of what it was computed from";
    return what ? fplt_error_set(error, FPLT_UNSUPPORTED, "%s cannot be used with privacy: %s",
                                 what, reason)
                : FPLT_OK;
}

/* Numbers of gradient descent are scaled to +- this of their bounds, by the share of the inputs that are categories. Rows
 * should fill their norm also where numbers fill little of their bounds; the levels of a category always do, and numbers
 * that are stretched further would drown them. docs/privacy.md has the study. */
static double natural_stretch(size_t inputs, size_t categories)
{
    return inputs ? fmax(1.5, 2.75 - 4 * (double)categories / (double)inputs) : 1;
}

/* What an expert would choose, from the schema alone. Columns scaled to -1..1 are seldom 3/4 long on average, so k of them
 * hardly have a norm above 3/4 sqrt(k). Gradient descent stretches numbers, and rows that are then too long are shortened.
 * Where gradients are clipped, rows may have the norm sqrt(k). */
static void choose_by_schema(const fplt_settings *settings, const fplt_schema *schema,
                             const fplt_design *design, int descends, fplt_job_source *source)
{
    size_t inputs = design ? fplt__design_at_once(design) : fplt__schema_inputs(schema);
    size_t categories = design ? fplt__design_categories(design) : fplt__schema_categories(schema);
    source->intercept = !fplt__promise_is_given(settings, "intercept") &&
                        (!design || fplt__design_intercept(design));
    if (!fplt__promise_is_given(settings, "eps") &&
        fplt__job_setting_is(settings, "regulariser", "ridge"))
        source->weight = RIDGE;
    int clips = descends && fplt__schema_classes(schema) <= 2;
    source->stretch = clips ? natural_stretch(inputs, categories) : descends ? 2 : 1;
    source->radius = fmax(1, (clips ? 1 : 0.75) * sqrt((double)inputs));
}

/* Counts: auto would read the largest one from the records, and a negative one would be refused for what
 * it is. */
static fplt_status check_counts(const fplt_settings *settings, const fplt_schema *schema,
                                fplt_error *error)
{
    const fplt__declared *label = schema ? fplt__schema_column(schema, FPLT__LABEL) : NULL;
    if (!fplt__job_setting_is(settings, "loss", "poisson"))
        return FPLT_OK;
    if (!fplt__promise_is_given(settings, "predictor-bound"))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "%s: the loss poisson needs predictor-bound with privacy: its curvature "
            "has no bound else, and auto would read the largest count from the "
            "records; give the logarithm of the largest mean to be expected",
            fplt__settings_origin(settings, "loss"));
    if (label && label->bounded && label->low < 0)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the loss poisson is of counts, but the schema lets '%.80s' be %g: its "
            "bounds must begin at 0 or above",
            label->name, label->low);
    return FPLT_OK;
}

/* A share of what a record's gradient may be where predictors are within their bounds, which takes from those records only
 * that are far wrong: in gradient descent a quarter, of counts and residuals an eighth; otherwise half. A residual is
 * hardly above the largest label. 0: no clip is needed, or nothing says which. */
static double natural_clip(const fplt_settings *settings, const fplt_schema *schema, int descends,
                           const fplt_job_source *source)
{
    const fplt__declared *label = fplt__schema_column(schema, FPLT__LABEL);
    double norm = hypot(source->radius, source->intercept);
    if (fplt__schema_classes(schema) == 2 && (fplt__job_setting_is(settings, "loss", "auto") ||
                                              fplt__job_setting_is(settings, "loss", "logistic")))
        return norm / (descends ? 4 : 2);
    if (label && label->bounded && fplt__job_setting_is(settings, "loss", "poisson"))
        return norm * fmax(exp(fplt_settings_real(settings, "predictor-bound")), label->high) /
               (descends ? 8 : 2);
    if (descends && fplt__job_setting_is(settings, "loss", "huber")) {
        double delta = fplt_settings_real(settings, "huber-delta");
        double most = label && label->bounded ? fmax(fabs(label->low), fabs(label->high)) : delta;
        return norm * (most > 0 ? fmin(delta, most) : delta) / 8;
    }
    return 0;
}

/* Whether gradient descent has a rule for the loss (descent.c). */
static int is_ruled(const fplt_settings *settings)
{
    return !fplt__job_setting_is(settings, "loss", "squared-hinge");
}

/* Whether gradient descent with one step a round is asked for by name. */
static int given_descent(const fplt_settings *settings)
{
    const fplt_algorithm *algorithm =
        fplt__promise_is_given(settings, "algorithm")
            ? fplt_algorithm_find(fplt_settings_text(settings, "algorithm"))
            : NULL;
    double parameter[FPLT_MAX_PARAMETERS];
    if (!algorithm || (fplt__promise_is_given(settings, "epochs") &&
                       fplt_settings_integer(settings, "epochs") != 1))
        return 0;
    fplt_algorithm_defaults(algorithm, parameter);
    return fplt__promise_sends_iterates(algorithm, parameter) && is_ruled(settings);
}

/* The algorithm of a private run where the settings leave it open; NULL: what they say otherwise. It is gradient descent
 * with one step a round (docs/privacy.md), unless something is asked for that Fed-PLT alone has: several local steps, h,
 * acceleration, or a promise about a final model alone. */
static const fplt_algorithm *choose_algorithm(const fplt_settings *settings)
{
    int divided = fplt__job_setting_is(settings, "privacy.threat", "secagg-sum");
    int local = fplt__promise_is_given(settings, "epochs") &&
                fplt_settings_integer(settings, "epochs") != 1;
    if (fplt__promise_is_given(settings, "algorithm"))
        return NULL;
    if (!divided &&
        (local || fplt__promise_is_given(settings, "rho") ||
         !fplt__job_setting_is(settings, "h", "zero") ||
         fplt__job_setting_is(settings, "solver", "noisy-accelerated") ||
         fplt__job_setting_is(settings, "privacy.threat", "final-x") ||
         fplt__job_setting_is(settings, "privacy.threat", "final-y") || !is_ruled(settings)))
        return NULL;
    return fplt_algorithm_find("fedavg");
}

/* The columns of the settings' formula, a public function of the declared ones; NULL: there is none. The caller destroys
 * it. */
static fplt_status declare_formula(const fplt_settings *settings, const fplt_schema *schema,
                                   fplt_design **design, fplt_error *error)
{
    const char *formula = fplt__job_formula(settings);
    *design = NULL;
    if (!formula)
        return FPLT_OK;
    if (schema)
        return fplt__design_declare(formula, schema, design, error);
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "%s: with privacy the bounds of a formula's columns follow from those of "
                          "the columns it is made of; give schema or bounds",
                          fplt__settings_origin(settings, "formula"));
}

/* Of own costs nothing is known but that their records' gradients are shortened: no rule finds these. */
static fplt_status check_own_costs(const fplt_settings *settings, fplt_error *error)
{
    static const struct {
        const char *name, *reason;
    } needed[] = {
        {"clip", "the norm that the gradient of every record is shortened to, from knowledge and "
                 "not from the data"},
        {"gamma", "nothing is known of how such costs curve"},
        {"rounds", "nothing is known of how soon such costs are minimised"},
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!fplt__promise_is_given(settings, needed[i].name) ||
            fplt_settings_real(settings, "clip") == 0)
            return fplt_error_set(error, FPLT_UNSUPPORTED,
                                  "privacy: a promise for own costs needs %s: %s", needed[i].name,
                                  needed[i].reason);
    if (fplt_settings_given(settings, "privacy.rows"))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "%s: privacy.rows has no effect on own costs, whose rows the program does "
            "not see; leave it out, clip bounds the gradients",
            fplt__settings_origin(settings, "privacy.rows"));
    return FPLT_OK;
}

/* Fed-PLT and its kin choose rho by the curvature. */
static fplt_status check_own_algorithm(const fplt_settings *settings,
                                       const fplt_algorithm *algorithm, fplt_error *error)
{
    if (algorithm || !fplt__settings_find(settings, "rho") ||
        fplt__promise_is_given(settings, "rho"))
        return FPLT_OK;
    return fplt_error_set(
        error, FPLT_UNSUPPORTED,
        "privacy: a promise for own costs needs rho: nothing is known of how such "
        "costs curve; or take `algorithm: fedavg`, which has none");
}

/* Of own costs there are no declarations: their gradients are shortened, and steps are charged one by one. */
static fplt_status prepare_own(const fplt_settings *settings, fplt_job_source *source,
                               fplt_error *error)
{
    fplt_status status;
    if ((status = check_source(source, error)) || (status = refuse_conflicts(settings, error)) ||
        (status = check_solver(settings, error)) || (status = check_own_costs(settings, error)))
        return status;
    source->public_only = 1;
    if (!fplt__promise_is_given(settings, "solver"))
        source->solver = fplt_solver_find("noisy");
    source->algorithm = choose_algorithm(settings);
    source->clip = fplt_settings_real(settings, "clip");
    source->radius = 1; /* of rows that nobody sees */
    return check_own_algorithm(settings, source->algorithm, error);
}

/* What a promise sets where the settings do not say. */
static fplt_status prepare_declared(const fplt_settings *settings, const fplt_schema *schema,
                                    const fplt_design *design, fplt_job_source *source,
                                    fplt_error *error)
{
    fplt_status status;
    if ((status = check_source(source, error)) || (status = refuse_conflicts(settings, error)) ||
        (status = check_solver(settings, error)) ||
        (status = check_declared(settings, schema, source->dataset, error)) ||
        (status = check_counts(settings, schema, error)))
        return status;
    source->public_only = 1;
    source->by_schema = schema && !fplt__promise_is_given(settings, "standardise");
    source->weigh_rows = !fplt__promise_is_given(settings, "weights");
    if (!fplt__promise_is_given(settings, "solver"))
        source->solver = fplt_solver_find("noisy");
    source->algorithm = choose_algorithm(settings);
    int descends = source->algorithm || given_descent(settings);
    source->radius = 1;
    if (source->by_schema)
        choose_by_schema(settings, schema, design, descends, source);
    if ((status = find_rows(settings, &source->radius, error)))
        return status;
    if (source->by_schema && !fplt__promise_is_given(settings, "clip"))
        source->clip = natural_clip(settings, schema, descends, source);
    return FPLT_OK;
}

static fplt_status prepare(const fplt_settings *settings, const fplt_schema *schema,
                           fplt_job_source *source, fplt_error *error)
{
    fplt_design *design;
    fplt_status status = declare_formula(settings, schema, &design, error);
    if (!status)
        status = prepare_declared(settings, schema, design, source, error);
    fplt__design_destroy(design);
    return status;
}

fplt_status fplt_promise_prepare(const fplt_settings *settings, fplt_job_source *source,
                                 fplt_error *error)
{
    fplt_schema *schema = NULL;
    fplt_status status = check_section(settings, error);
    if (status || !fplt__promise_wanted(settings))
        return status;
    if (has_own_costs(source))
        return prepare_own(settings, source, error);
    const fplt_schema *own =
        source->schema || !source->dataset ? source->schema : fplt__dataset_schema(source->dataset);
    if (own)
        return prepare(settings, own, source, error);
    if (!(status = fplt__job_schema(settings, &schema, error)))
        status = prepare(settings, schema, source, error);
    fplt_schema_destroy(schema);
    return status;
}
