/* Private jobs: what may stand in the settings, and the run that follows from public numbers.
 *
 * The plan chooses what is not given. For every candidate of rho, step, epochs and rounds the noise
 * that the budget asks for is found, and the candidate whose model is expected nearest to the
 * minimiser wins. What is expected comes from quadratic costs of equal curvature: there the mean
 * state of all agents follows Fed-PLT's recursion by itself [Fed-PLT Algorithm 1]. */
#include "fedplt/promise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "privacy/calibration.h"
#include "promise/promise.h"
#include "data/schema.h"
#include "fedplt/noise.h"
#include "fedplt/schema.h"
#include "fedplt/hub_node.h"
#include "base/machine.h"

const fplt_setting fplt_promise_table[] = {
    {"privacy.epsilon", FPLT_REAL, FPLT_ABOVE, NULL, 0, HUGE_VAL, NULL,
     "promise (epsilon, delta)-privacy of every record; the noise follows", 0, 0,
     .needs = "rounds!=0"},
    {"privacy.delta", FPLT_REAL, FPLT_ABOVE, "1e-5", 0, 0.1, NULL,
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
     "transcript|broadcast|secagg|final-y|final-x|paper",
     "what the adversary sees; transcript: every message", 0, 0,
     .needs = "privacy.epsilon,privacy.tau"},
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

/* What is not learned counts this much against noise. */
#define BIAS 0.12

/* ---- settings ---- */

static int is(const fplt_settings *settings, const char *name, const char *word)
{
    const char *text = fplt_settings_text(settings, name);
    return text && strcmp(text, word) == 0;
}

/* Given, and not left to the program by the word auto. */
static int is_given(const fplt_settings *settings, const char *name)
{
    const fplt_setting *row = fplt_settings_find(settings, name);
    return row && fplt_settings_given(settings, name) &&
           !(row->flags & FPLT_AUTO && fplt_settings_is_auto(settings, name));
}

int fplt_promise_wanted(const fplt_settings *settings)
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

static int wants_scaling(const fplt_settings *settings, const char *name)
{
    return !is(settings, name, "no") && !is(settings, name, "schema");
}

static int wants_skew(const fplt_settings *settings, const char *name)
{
    return is(settings, name, "skewed");
}

static int wants_dropping(const fplt_settings *settings, const char *name)
{
    return is(settings, name, "drop");
}

static int wants_filling(const fplt_settings *settings, const char *name)
{
    return !is(settings, name, "refuse") && !is(settings, name, "drop");
}

static int wants_balance(const fplt_settings *settings, const char *name)
{
    return is(settings, name, "balanced");
}

static int wants_guessing(const fplt_settings *settings, const char *name)
{
    return is(settings, name, "auto");
}

static int wants_holdout(const fplt_settings *settings, const char *name)
{
    return fplt_settings_real(settings, name) > 0 &&
           !fplt_settings_switch(settings, "privacy.diagnose");
}

static int wants_model(const fplt_settings *settings, const char *name)
{
    return is(settings, name, "model");
}

static int wants_agents(const fplt_settings *settings, const char *name)
{
    return fplt_settings_switch(settings, name) && is(settings, "privacy.threat", "final-y");
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
     "how many rows there are would tell of a record; declare a constant in a schema"},
    {"missing", wants_filling,
     "what is filled in would be computed from the records; declare a constant in a schema"},
    {"class-weight", wants_balance,
     "how many records of a class there are would tell of them; give the weights in a column with "
     "declared bounds"},
    {"categories", wants_guessing,
     "which levels there are would be read from the records; declare them in a schema"},
    {"holdout", wants_holdout,
     "a measure of the rows held out would be without noise; privacy.diagnose shows it, and says "
     "that the output is then not private"},
    {"start", wants_model,
     "nothing is known of what the starting model was trained on; start from zero"},
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
        if (!is_given(settings, conflict->name) ||
            (conflict->holds && !conflict->holds(settings, conflict->name)))
            continue;
        return fplt_error_set(error, FPLT_UNSUPPORTED, "%s: %s cannot be used with privacy: %s",
                              fplt_settings_origin(settings, conflict->name), conflict->name,
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
                              fplt_settings_origin(settings, "privacy.tau"));
    if (tau && !is_given(settings, "rounds"))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: privacy.tau needs rounds: the promise grows with them",
                              fplt_settings_origin(settings, "privacy.tau"));
    if (is(settings, "privacy.threat", "paper"))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s: the threat model paper is Prop. 4 as printed, which does not "
                              "hold; no run can promise it (fedplt privacy epsilon shows it)",
                              fplt_settings_origin(settings, "privacy.threat"));
    return FPLT_OK;
}

static fplt_status check_solver(const fplt_settings *settings, fplt_error *error)
{
    if (!is_given(settings, "solver"))
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
        fplt_error_prefix(error, "%s", fplt_settings_origin(settings, "solver"));
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
        fplt_settings_origin(settings, "privacy.group"), group, (unsigned long long)most,
        (unsigned long long)most);
}

static fplt_status refuse_weights(fplt_error *error)
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
        return refuse_weights(error);
    return fplt__schema_task(schema, &outputs) == FPLT_TASK_SURVIVAL ? refuse_survival(error)
                                                                     : FPLT_OK;
}

/* Of numbers in memory the columns are declared by who made the array, and so is the task; a bound on
 * them is not. */
static fplt_status check_bound(const fplt_settings *settings, fplt_task task, fplt_error *error)
{
    if (task == FPLT_TASK_SURVIVAL)
        return refuse_survival(error);
    if (fplt_settings_given(settings, "privacy.rows") || is_given(settings, "radius"))
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
        list = fplt_list_next(list, item, sizeof item);
        fplt_shell_word(item, word, sizeof word);
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
        fplt_status status = fplt_schema_accepts_all(schema, error);
        if (!status)
            status = check_task(schema, error);
        return status ? status : check_group(settings, fplt_schema_most(schema), error);
    }
    if (in_memory)
        return check_bound(settings, fplt_dataset_task(in_memory), error);
    const char *data = fplt_settings_text(settings, "data");
    char words[400]; /* of a sentence of 1023 */
    if (!data)
        return FPLT_OK;
    list_words(data, words, sizeof words);
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "%s: with privacy, columns, bounds and classes are declared and not read "
                          "from the records; give schema (`fedplt data schema%s --out schema.yaml` "
                          "drafts one), or bounds and labels where all columns are numbers",
                          fplt_settings_origin(settings, "data"), words);
}

/* The bound on the norm of a row. */
static fplt_status find_rows(const fplt_settings *settings, double *rows, fplt_error *error)
{
    double radius = is_given(settings, "radius") ? fplt_settings_real(settings, "radius") : 0;
    int declared = fplt_settings_given(settings, "privacy.rows");
    *rows = declared ? fplt_settings_real(settings, "privacy.rows") : radius > 0 ? radius : *rows;
    if (declared && radius > 0 && radius != *rows)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: radius is %g and privacy.rows %g, but both are the bound on the "
                              "norm of a row; leave one out",
                              fplt_settings_origin(settings, "radius"), radius, *rows);
    return FPLT_OK;
}

static fplt_status check_source(const fplt_job_source *source, fplt_error *error)
{
    const char *what = source->objective ? "own costs"
                       : source->solver  ? "a solver of one's own"
                       : source->start   ? "a starting point of one's own"
                                         : NULL;
    const char *reason = source->objective ? "nothing is known of what a record can change in them"
                         : source->solver  ? "its noise cannot be vouched for"
                                           : "nothing is known of what it was computed from";
    return what ? fplt_error_set(error, FPLT_UNSUPPORTED, "%s cannot be used with privacy: %s",
                                 what, reason)
                : FPLT_OK;
}

/* What an expert would choose, from the schema alone. Columns scaled to -1..1 are seldom 3/4 long on
 * average, so k of them hardly have a norm above 3/4 sqrt(k); of two classes, and of counts, a record's gradient is clipped at half
 * its bound, which halves the noise and takes from those only that are far wrong. */
static void choose_by_schema(const fplt_settings *settings, const fplt_schema *schema,
                             fplt_job_source *source)
{
    source->intercept = !is_given(settings, "intercept");
    if (!is_given(settings, "eps") && is(settings, "regulariser", "ridge"))
        source->weight = RIDGE;
    source->radius = fmax(1, 0.75 * sqrt((double)fplt_schema_inputs(schema)));
}

/* Counts: auto would read the largest one from the records, and a negative one would be refused for what
 * it is. */
static fplt_status check_counts(const fplt_settings *settings, const fplt_schema *schema,
                                fplt_error *error)
{
    const fplt__declared *label = schema ? fplt__schema_column(schema, FPLT__LABEL) : NULL;
    if (!is(settings, "loss", "poisson"))
        return FPLT_OK;
    if (!is_given(settings, "predictor-bound"))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "%s: the loss poisson needs predictor-bound with privacy: its curvature "
            "has no bound else, and auto would read the largest count from the "
            "records; give the logarithm of the largest mean to be expected",
            fplt_settings_origin(settings, "loss"));
    if (label && label->bounded && label->low < 0)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the loss poisson is of counts, but the schema lets '%.80s' be %g: its "
            "bounds must begin at 0 or above",
            label->name, label->low);
    return FPLT_OK;
}

/* Half of what a record's gradient may be where predictors are within their bounds; 0: no clip is needed,
 * or nothing says which. */
static double natural_clip(const fplt_settings *settings, const fplt_schema *schema,
                           const fplt_job_source *source)
{
    const fplt__declared *label = fplt__schema_column(schema, FPLT__LABEL);
    double norm = hypot(source->radius, source->intercept);
    if (fplt_schema_classes(schema) == 2 &&
        (is(settings, "loss", "auto") || is(settings, "loss", "logistic")))
        return norm / 2;
    if (label && label->bounded && is(settings, "loss", "poisson"))
        return norm * fmax(exp(fplt_settings_real(settings, "predictor-bound")), label->high) / 2;
    return 0;
}

/* What a promise sets where the settings do not say. */
static fplt_status prepare(const fplt_settings *settings, const fplt_schema *schema,
                           fplt_job_source *source, fplt_error *error)
{
    fplt_status status;
    if ((status = check_source(source, error)) || (status = refuse_conflicts(settings, error)) ||
        (status = check_solver(settings, error)) ||
        (status = check_declared(settings, schema, source->dataset, error)) ||
        (status = check_counts(settings, schema, error)))
        return status;
    source->public_only = 1;
    source->by_schema = schema && !is_given(settings, "standardise");
    source->weigh_rows = !is_given(settings, "weights");
    if (!is_given(settings, "solver"))
        source->solver = fplt_solver_find("noisy");
    source->radius = 1;
    if (source->by_schema)
        choose_by_schema(settings, schema, source);
    if ((status = find_rows(settings, &source->radius, error)))
        return status;
    if (source->by_schema && !is_given(settings, "clip"))
        source->clip = natural_clip(settings, schema, source);
    return FPLT_OK;
}

fplt_status fplt_promise_prepare(const fplt_settings *settings, fplt_job_source *source,
                                 fplt_error *error)
{
    fplt_schema *schema = NULL;
    fplt_status status = check_section(settings, error);
    if (status || !fplt_promise_wanted(settings))
        return status;
    const fplt_schema *own =
        source->schema || !source->dataset ? source->schema : fplt_dataset_schema(source->dataset);
    if (own)
        return prepare(settings, own, source, error);
    if (!(status = fplt_job_schema(settings, &schema, error)))
        status = prepare(settings, schema, source, error);
    fplt_schema_destroy(schema);
    return status;
}

/* ---- noise ---- */

static fplt_status add_secure(void *context, double step, double tau, const double *mean,
                              double *out, size_t count)
{
    return fplt_noise_add(context, step, tau, mean, out, count, NULL);
}

static fplt_status admit_secure(void *context, double step, double tau, const char *what,
                                const double *vector, size_t count, fplt_error *error)
{
    (void)context;
    return fplt_noise_admit(step, tau, what, vector, count, error);
}

fplt_noise_source fplt_promise_noise(fplt_noise *noise)
{
    return (fplt_noise_source){.size = sizeof(fplt_noise_source),
                               .add = add_secure,
                               .context = noise,
                               .admit = admit_secure};
}

/* ---- the plan ---- */

/* What a plan is made from besides the settings: public numbers only, all borrowed. */
struct problem {
    const fplt_roster *roster;
    size_t dimension;
    fplt_objective_settings cost;
    double radius; /* bound on the norm of a row */
    const fplt_algorithm *algorithm;
    fplt_training training;
    uint64_t rounds;
    const fplt_participation *participation;
    const fplt_prox *prox;
};

struct fplt_promise {
    fplt_promise_view view;
    uint64_t *records;         /* owned */
    double *tau;               /* owned */
    fplt_training *each;       /* owned; NULL: all agents have the same noise */
    const char **names;        /* owned array of borrowed texts */
    fplt_noise_source *source; /* owned; one a thread */
    unsigned sources;
    double parameter[FPLT_MAX_PARAMETERS];
    /* As the settings have them, NaN and 0 where they are auto: what the job made of auto may come
     * from the data's own curvature. */
    double given[FPLT_MAX_PARAMETERS], given_step;
    fplt_facts facts;
    int rho;            /* index of the parameter, or -1 */
    double least, mean; /* of the noise that each agent's own records ask for, over the worst's */
    fplt_privacy_budget budget;
    double rate; /* of Renyi divergence within the budget */
};

/* What the error of a model consists of on quadratic costs of curvature `curve`, all agents alike:
 * x and z are means over the agents, relative to a minimiser at 1; the noise is that of one
 * coordinate, divided by the number of agents. */
struct moments {
    double x, z;       /* mean */
    double xx, xz, zz; /* covariance */
};

static struct moments follow(const fplt_promise_view *view, const fplt_privacy_mechanism *mechanism,
                             uint64_t epochs, double curve)
{
    double pull = mechanism->inverse_rho, gamma = mechanism->step;
    double factor = 1 - gamma * (curve + pull);
    double decay = pow(factor, (double)epochs);
    double steps = fabs(factor) < 1 ? (1 - decay * decay) / (1 - factor * factor) : (double)epochs;
    double tau = mechanism->noise_tau * (mechanism->mean_noise > 0 ? mechanism->mean_noise : 1);
    double fresh = 2 * gamma * tau * tau * steps / view->agents;
    int reflected = view->algorithm->splits;
    struct moments now = {0, 0, 0, 0, 0};
    for (uint64_t round = 0; round < mechanism->rounds; round++) {
        /* x+ = decay x + (1 - decay) (curve + pull v) / (curve + pull), v = z, the mean of 2y - z */
        double a = decay, b = (1 - decay) * pull / (curve + pull);
        double shift = (1 - decay) * curve / (curve + pull);
        struct moments next;
        next.x = a * now.x + b * now.z + shift;
        next.xx = a * a * now.xx + 2 * a * b * now.xz + b * b * now.zz + fresh;
        if (reflected) {                            /* z+ = 2 x+ - z */
            double cross = a * now.xz + b * now.zz; /* of x+ and z */
            next.z = 2 * next.x - now.z;
            next.xz = 2 * next.xx - cross;
            next.zz = 4 * next.xx - 4 * cross + now.zz;
        } else {
            next.z = next.x;
            next.xz = next.zz = next.xx;
        }
        now = next;
    }
    return now;
}

/* What accuracy suffers from: noise against what was learned, since the direction of a model decides,
 * and what was not learned yet. A typical direction has about an n-th of the bound on the Hessian, as
 * its trace is at most that, and a third of it on the way, where margins have grown; a quarter of the
 * records' gradients at most adds up, so its minimiser is about a quarter of the gradient bound over
 * the curvature away. The steepest direction has half of the bound and must not be overshot. The
 * weights were chosen on data that are public. */
double fplt_promise_predict(const fplt_promise_view *view, const fplt_privacy_mechanism *mechanism,
                            uint64_t epochs)
{
    double low = fmax(view->curvature.lowest, 0), range = view->curvature.highest - low;
    double n = (double)mechanism->dimension, curve = low + range / (n + 1);
    double distance = view->constants.gradient / 4 / curve;
    struct moments flat = follow(view, mechanism, epochs, low + range / (n + 1) / 3);
    struct moments steep = follow(view, mechanism, epochs, low + range / 2);
    if (!(flat.z > 0))
        return INFINITY;
    double noise = n * flat.zz / (distance * distance * flat.z * flat.z);
    return noise + BIAS * (1 - flat.z) * (1 - flat.z) + (1 - steep.z) * (1 - steep.z);
}

static double share_of(const fplt_promise_view *view, uint32_t agent)
{
    return view->weigh_rows ? (double)view->records[agent] * view->agents / view->all_records : 1;
}

/* How far one record moves the gradient of f_i, up to a factor that all agents share. */
static double weight_of_record(const fplt_promise_view *view, uint32_t agent)
{
    return share_of(view, agent) / (double)view->records[agent];
}

static fplt_privacy_mechanism mechanism_of(const fplt_promise_view *view, uint32_t agent)
{
    fplt_privacy_mechanism mechanism = view->mechanism;
    mechanism.records = view->records[agent];
    mechanism.sensitivity = view->constants.sensitivity * share_of(view, agent);
    if (view->tau) {
        double ratio = mechanism.noise_tau / view->tau[agent];
        mechanism.noise_tau = view->tau[agent];
        mechanism.least_noise = fmin(mechanism.least_noise * ratio, 1);
        mechanism.mean_noise *= ratio;
    }
    return mechanism;
}

double fplt__promise_least_tau(const fplt_promise_view *view)
{
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < view->agents; i++)
        least = fmin(least, view->tau[i]);
    return least;
}

/* The noise of `agent` as that of the view's mechanism, beside that of all. */
static void take_noise(fplt_promise_view *view, uint32_t agent)
{
    fplt_privacy_mechanism *mechanism = &view->mechanism;
    double least = fplt__promise_least_tau(view), own = view->tau[agent], squares = 0;
    int alike = 1;
    for (uint32_t i = 0; i < view->agents; i++) {
        squares += view->tau[i] / own * (view->tau[i] / own);
        alike &= view->tau[i] == own;
    }
    mechanism->noise_tau = own;
    mechanism->least_noise = alike ? 0 : least / own;
    mechanism->mean_noise = alike ? 0 : sqrt(squares / view->agents);
}

fplt_status fplt__promise_settle(fplt_promise_view *view, fplt_error *error)
{
    double most = 0, even = 1e-12; /* where all meet the same promise, rounding does not choose */
    uint32_t worst = 0;
    take_noise(view, worst);
    for (uint32_t i = 0; i < view->agents; i++) {
        fplt_privacy_mechanism mechanism = mechanism_of(view, i);
        fplt_privacy_claim claim;
        fplt_status status = fplt_privacy_claim_make(&mechanism, view->threat->name, &claim, error);
        if (status)
            return status;
        if (claim.gdp_mu > most * (1 + even) ||
            (claim.gdp_mu > most * (1 - even) &&
             weight_of_record(view, i) > weight_of_record(view, worst))) {
            most = fmax(most, claim.gdp_mu);
            worst = i;
        }
    }
    view->worst = worst;
    take_noise(view, worst);
    view->mechanism = mechanism_of(view, worst);
    return fplt_promise_claim(view, worst, view->mechanism.rounds, &view->claim, &view->promised,
                              error);
}

fplt_status fplt__promise_claim_against(const fplt_promise_view *view, uint32_t agent,
                                        uint64_t rounds, const fplt_threat *threat,
                                        fplt_privacy_claim *claim, fplt_error *error)
{
    fplt_privacy_mechanism mechanism = mechanism_of(view, agent);
    mechanism.rounds = rounds;
    return fplt_privacy_claim_make(&mechanism, threat->name, claim, error);
}

fplt_status fplt_promise_claim(const fplt_promise_view *view, uint32_t agent, uint64_t rounds,
                               fplt_privacy_claim *claim, double *epsilon, fplt_error *error)
{
    fplt_status status =
        fplt__promise_claim_against(view, agent, rounds, view->threat, claim, error);
    return status ? status
                  : fplt_privacy_epsilon(claim, FPLT_CONVERT_BEST, view->delta, epsilon, error);
}

int fplt__promise_releases_mean(const fplt_promise_view *view)
{
    return strcmp(view->threat->name, "final-x") == 0;
}

/* The regulariser's least and largest curvature; an intercept is not regularised. */
static fplt_curvature regulariser_curvature(const char *name, double weight, int intercept)
{
    fplt_curvature curvature = {0, 0};
    if (strcmp(name, "ridge") == 0)
        curvature = (fplt_curvature){weight, weight};
    else if (strcmp(name, "nonconvex") == 0)
        curvature = (fplt_curvature){-weight / 2, 2 * weight};
    if (intercept)
        curvature.lowest = fmin(curvature.lowest, 0);
    return curvature;
}

fplt_status fplt__promise_bounds(fplt_promise_view *view, fplt_error *error)
{
    fplt_status status = fplt_privacy_loss_constants(&view->loss, &view->constants, error);
    if (status)
        return status;
    fplt_curvature curvature =
        regulariser_curvature(view->regulariser, view->regulariser_weight, view->loss.intercept);
    curvature.highest += view->constants.curvature;
    double least = HUGE_VAL, most = 0;
    view->worst = 0;
    view->all_records = 0;
    for (uint32_t i = 0; i < view->agents; i++)
        view->all_records += (double)view->records[i];
    for (uint32_t i = 0; i < view->agents; i++) {
        double share = share_of(view, i);
        least = fmin(least, share);
        most = fmax(most, share);
        if (weight_of_record(view, i) > weight_of_record(view, view->worst))
            view->worst = i;
    }
    view->curvature.lowest = curvature.lowest * (curvature.lowest > 0 ? least : most);
    view->curvature.highest = curvature.highest * most;
    return FPLT_OK;
}

static fplt_status copy_agents(fplt_promise *plan, const struct problem *problem, fplt_error *error)
{
    fplt_promise_view *view = &plan->view;
    fplt_status status;
    view->agents = problem->roster->agents;
    if ((status = fplt__alloc_into(&plan->records, view->agents, sizeof *plan->records,
                                   "the private plan", error)) ||
        (status = fplt__alloc_into(&plan->tau, view->agents, sizeof *plan->tau, "the private plan",
                                   error)) ||
        (status = fplt__alloc_into(&plan->names, view->agents, sizeof *plan->names,
                                   "the private plan", error)))
        return status;
    view->records = plan->records;
    view->names = plan->names;
    memcpy(plan->records, problem->roster->records, view->agents * sizeof *plan->records);
    if (problem->roster->names)
        memcpy(plan->names, problem->roster->names, view->agents * sizeof *plan->names);
    return FPLT_OK;
}

static fplt_status read_problem(fplt_promise *plan, const fplt_settings *settings,
                                const struct problem *problem, fplt_error *error)
{
    fplt_promise_view *view = &plan->view;
    fplt_status status = copy_agents(plan, problem, error);
    if (status)
        return status;
    view->epsilon = fplt_settings_given(settings, "privacy.epsilon")
                        ? fplt_settings_real(settings, "privacy.epsilon")
                        : NAN;
    view->delta = fplt_settings_real(settings, "privacy.delta");
    /* records of one person; 0: persons are not declared */
    uint64_t most = problem->roster->schema ? fplt_schema_most(problem->roster->schema) : 0;
    uint32_t quorum = problem->roster->quorum;
    view->by_person = most > 0;
    view->group = (uint64_t)fplt_settings_integer(settings, "privacy.group");
    if (view->group < most)
        view->group = most;
    view->participation = fplt_participation_name(problem->participation);
    view->full = fplt_participation_is_full(problem->participation) && !quorum;
    if (quorum && fplt_participation_is_full(problem->participation))
        view->participation = "present";
    view->least_cohort = fplt_participation_least(problem->participation);
    if (quorum && quorum < view->least_cohort)
        view->least_cohort = quorum;
    view->parameter = plan->parameter;
    view->secure = is(settings, "privacy.noise", "secure");
    view->diagnosed = fplt_settings_switch(settings, "privacy.diagnose");
    view->loss = (fplt_privacy_loss){.name = problem->cost.loss,
                                     .row_norm = problem->radius,
                                     .intercept = problem->cost.intercept,
                                     .huber_delta = problem->cost.huber_delta,
                                     .predictor_bound = problem->cost.predictor_bound,
                                     .clip = problem->cost.clip};
    view->regulariser = problem->cost.regulariser;
    view->regulariser_weight = problem->cost.weight;
    view->weigh_rows = problem->cost.weigh_rows;
    view->algorithm = problem->algorithm;
    view->solver = problem->training.solver;
    view->rho = NAN;
    view->predicted = NAN;
    fplt_algorithm_read(view->algorithm, settings, plan->given);
    plan->given_step =
        fplt_settings_is_auto(settings, "gamma") ? 0 : fplt_settings_real(settings, "gamma");
    if ((status = fplt_privacy_threat_find(fplt_settings_text(settings, "privacy.threat"),
                                           &view->threat, error)))
        return status;
    return fplt__promise_bounds(view, error);
}

/* The length of a round does not depend on the dimension. */
fplt_status fplt__promise_draws(const fplt_promise_view *view, int *draws, fplt_error *error)
{
    fplt_plan trial = {.algorithm = view->algorithm, .agents = view->agents, .dimension = 1};
    fplt_hub *hub;
    fplt_round round;
    memcpy(trial.parameter, view->parameter, sizeof trial.parameter);
    fplt_status status = fplt_hub_create(&trial, NULL, NULL, &hub, error);
    if (status)
        return status;
    fplt_hub_plan(hub, 0, view->agents, &round);
    *draws = round.epochs > 0;
    fplt_hub_destroy(hub);
    return FPLT_OK;
}

enum { MIN_SECAGG = 2 };

fplt_status fplt__promise_cohort(const fplt_promise_view *view, fplt_error *error)
{
    if (strcmp(view->threat->name, "secagg") != 0 || view->least_cohort >= MIN_SECAGG)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "the threat model secagg needs at least %d agents in every round, since "
                          "the sum over one is its message; participation %s of %u agents can "
                          "leave %u",
                          MIN_SECAGG, view->participation, view->agents, view->least_cohort);
}

static void warn_of_delta(fplt_promise_view *view)
{
    double records = view->all_records;
    if (view->delta * records > 1)
        snprintf(view->warning, sizeof view->warning,
                 "privacy.delta is %g, which lets a run that shows one of the %.0f records whole "
                 "keep the promise; take at most %.1g",
                 view->delta, records, 1 / records);
}

/* The noise that an agent's records ask for over the worst agent's: mu_step depends on the ratio of the
 * two alone. Rounded up, so that nobody is promised less. */
static double ratio_of(const fplt_promise_view *view, uint32_t agent)
{
    double ratio = weight_of_record(view, agent) / weight_of_record(view, view->worst);
    return fmin(ratio * (1 + 1e-14), 1);
}

static void compare_noise(fplt_promise *plan)
{
    const fplt_promise_view *view = &plan->view;
    double squares = 0;
    plan->least = 1;
    for (uint32_t i = 0; i < view->agents; i++) {
        double ratio = ratio_of(view, i);
        plan->least = fmin(plan->least, ratio);
        squares += ratio * ratio;
    }
    plan->mean = sqrt(squares / view->agents);
}

static fplt_status start_mechanism(fplt_promise *plan, const fplt_settings *settings,
                                   const struct problem *problem, fplt_error *error)
{
    fplt_promise_view *view = &plan->view;
    fplt_privacy_mechanism *mechanism = &view->mechanism;
    int accelerated = (view->solver->traits & FPLT_ACCELERATED) != 0;
    fplt_status status = fplt_algorithm_allow(view->algorithm, view->solver,
                                              !fplt_participation_is_full(problem->participation),
                                              !fplt_prox_is_zero(problem->prox), 1, error);
    if (status)
        return status;
    plan->facts =
        (fplt_facts){.curvature = view->curvature,
                     .agents = view->agents,
                     .cohort = fplt_expected_cohort(problem->participation),
                     .epochs = is_given(settings, "epochs") ? problem->training.epochs
                                                            : fplt_training_defaults().epochs,
                     .dimension = problem->dimension,
                     .claim = 1};
    plan->rho = fplt_algorithm_parameter(view->algorithm, "rho");
    *mechanism = fplt_privacy_defaults();
    mechanism->strong_convexity = view->curvature.lowest;
    mechanism->smoothness = view->curvature.highest;
    mechanism->contraction = view->constants.contraction && !accelerated;
    /* Theorem F is about Fed-PLT's own recursion */
    mechanism->full_participation = view->full && view->algorithm->splits;
    mechanism->group = view->group;
    mechanism->lattice = 1;
    mechanism->dimension = plan->facts.dimension;
    mechanism->agents = view->agents;
    mechanism->rounds = problem->rounds;
    mechanism->noise_tau = 1;
    compare_noise(plan);
    return FPLT_OK;
}

/* A candidate: what is not given is NaN or 0. */
struct candidate {
    double rho_factor, step_factor; /* of the automatic values */
    uint64_t epochs, rounds;
};

/* The mechanism of the worst agent for a candidate, without its noise. */
static fplt_status resolve(const fplt_promise *plan, const struct candidate *candidate,
                           double *parameter, fplt_privacy_mechanism *mechanism, fplt_error *error)
{
    const fplt_promise_view *view = &plan->view;
    const fplt_algorithm *algorithm = view->algorithm;
    fplt_facts facts = plan->facts;
    fplt_training training = {.solver = view->solver, .step = plan->given_step};
    fplt_plan resolved = {.seed = 0};
    facts.epochs = (uint32_t)candidate->epochs;
    fplt_status status =
        fplt_plan_resolve(algorithm, plan->given, &training, &facts, &resolved, error);
    if (status)
        return status;
    memcpy(parameter, resolved.parameter, sizeof resolved.parameter);
    if (plan->rho >= 0 && view->planned_rho)
        parameter[plan->rho] *= candidate->rho_factor;
    *mechanism = mechanism_of(view, view->worst);
    mechanism->inverse_rho = fplt_algorithm_pull(algorithm, &facts, parameter);
    mechanism->epochs = view->drawn_epochs ? FPLT_EPOCHS_UNBOUNDED : candidate->epochs;
    mechanism->rounds = candidate->rounds;
    mechanism->step = plan->given_step;
    if (mechanism->step == 0)
        mechanism->step =
            fplt_algorithm_step(algorithm, view->solver, &facts, parameter).automatic *
            candidate->step_factor;
    /* without a curvature that holds a round together, steps are charged one by one */
    if (view->curvature.lowest + mechanism->inverse_rho <= 0)
        mechanism->contraction = 0;
    return FPLT_OK;
}

/* The noise of the worst agent, and whether the others have less. They have where it is theirs alone that
 * hides their records; a final model is hidden by the noise of all, so there it may be better that
 * all have the same. A given tau is everybody's. */
static fplt_status calibrate(const fplt_promise *plan, double tau,
                             fplt_privacy_mechanism *mechanism, fplt_error *error)
{
    const fplt_promise_view *view = &plan->view;
    const char *threat = view->threat->name;
    mechanism->noise_tau = tau;
    mechanism->least_noise = mechanism->mean_noise = 0;
    if (tau > 0)
        return FPLT_OK;
    double common = fplt__noise_within(mechanism, threat, plan->rate);
    if (isinf(common))
        return error
                   ? fplt_privacy_calibrate_noise(mechanism, threat, &plan->budget, &common, error)
                   : FPLT_UNREACHABLE;
    mechanism->noise_tau = common;
    if (plan->least == 1)
        return FPLT_OK;
    mechanism->least_noise = plan->least;
    mechanism->mean_noise = plan->mean;
    if (strcmp(threat, "final-x") != 0)
        return FPLT_OK;
    mechanism->noise_tau = fplt__noise_within(mechanism, threat, plan->rate);
    if (mechanism->noise_tau * plan->mean <= common)
        return FPLT_OK;
    mechanism->noise_tau = common;
    mechanism->least_noise = mechanism->mean_noise = 0;
    return FPLT_OK;
}

static uint64_t next_on_grid(uint64_t value)
{
    return value + (value < 5 ? 1 : value / 4);
}

enum { MAX_EPOCHS = 64, MAX_ROUNDS = 400 };

/* The search over what is not given. */
struct search {
    const fplt_promise *plan;
    double tau; /* 0: whatever the budget asks for */
    struct candidate best;
    double least;
};

/* Over the rounds of a candidate: first the bias falls, then the noise grows, and once the error is
 * far above the best of the row nothing better follows. */
static void search_rounds(struct search *search, struct candidate trial)
{
    const fplt_promise_view *view = &search->plan->view;
    double row = INFINITY;
    for (;; trial.rounds = next_on_grid(trial.rounds)) {
        double parameter[FPLT_MAX_PARAMETERS];
        fplt_privacy_mechanism mechanism;
        if (resolve(search->plan, &trial, parameter, &mechanism, NULL) ||
            calibrate(search->plan, search->tau, &mechanism, NULL))
            return;
        double error = fplt_promise_predict(view, &mechanism, trial.epochs);
        if (error < search->least * (1 - 1e-3)) {
            search->least = error;
            search->best = trial;
        }
        row = fmin(row, error);
        if (!view->planned_rounds || trial.rounds > MAX_ROUNDS || error > 3 * row)
            return;
    }
}

/* The candidate with the least predicted error; those that fail are passed over. */
static void search_all(struct search *search)
{
    const fplt_promise_view *view = &search->plan->view;
    struct candidate trial = search->best;
    int rhos = view->planned_rho ? 12 : 1, steps = view->planned_step ? 6 : 1;
    for (int i = 0; i < rhos * steps; i++) {
        trial.rho_factor = view->planned_rho ? ldexp(1, i % rhos - 8) : 1;
        trial.step_factor = ldexp(1, -(i / rhos));
        if (view->planned_rounds)
            trial.rounds = 1;
        if (!view->planned_epochs) {
            search_rounds(search, trial);
            continue;
        }
        for (trial.epochs = 1; trial.epochs <= MAX_EPOCHS;
             trial.epochs = next_on_grid(trial.epochs))
            search_rounds(search, trial);
    }
}

static uint64_t spare_rounds(const struct problem *problem, uint64_t rounds)
{
    double share = problem->roster->spare_share * (double)rounds;
    return problem->roster->spare + (share > 0 ? (uint64_t)fmax(1, ceil(share)) : 0);
}

static fplt_status decide(fplt_promise *plan, const fplt_settings *settings,
                          const struct problem *problem, fplt_error *error)
{
    fplt_promise_view *view = &plan->view;
    double tau = fplt_settings_given(settings, "privacy.tau")
                     ? fplt_settings_real(settings, "privacy.tau")
                     : 0;
    struct candidate chosen = {1, 1, plan->facts.epochs, problem->rounds};
    fplt_status status;
    fplt_privacy_mechanism mechanism;
    plan->budget = (fplt_privacy_budget){view->epsilon, view->delta, FPLT_CONVERT_BEST};
    if ((!tau && (status = fplt__budget_rate(&plan->budget, 0, &plan->rate, error))) ||
        (status = resolve(plan, &chosen, plan->parameter, &mechanism, error)) ||
        (status = fplt__promise_draws(view, &view->drawn_epochs, error)) ||
        (status = fplt__promise_cohort(view, error)))
        return status;
    view->planned_epochs = !is_given(settings, "epochs");
    view->planned_rounds = !tau && !is_given(settings, "rounds");
    view->planned_step = plan->given_step == 0 && !(view->solver->traits & FPLT_ACCELERATED);
    view->planned_rho = plan->rho >= 0 && !is_given(settings, "rho");
    if (view->planned_epochs || view->planned_rounds || view->planned_step || view->planned_rho) {
        struct search search = {plan, tau, chosen, INFINITY};
        search_all(&search);
        chosen = search.best;
        view->predicted = search.least;
    }
    if ((status = resolve(plan, &chosen, plan->parameter, &view->mechanism, error)))
        return status;
    view->epochs = (uint32_t)chosen.epochs;
    view->rounds = chosen.rounds;
    view->mechanism.rounds += spare_rounds(problem, chosen.rounds);
    warn_of_delta(view);
    if (plan->rho >= 0)
        view->rho = plan->parameter[plan->rho];
    fplt_privacy_facts facts = {.algorithm = view->algorithm->name};
    view->mechanism.noise_tau = 1;
    if ((status = fplt_privacy_check(&view->mechanism, &facts, error)) ||
        (status = calibrate(plan, tau, &view->mechanism, error)))
        return status;
    for (uint32_t i = 0; i < view->agents; i++)
        plan->tau[i] =
            view->mechanism.noise_tau * (view->mechanism.least_noise > 0 ? ratio_of(view, i) : 1);
    view->tau = plan->tau;
    return fplt__promise_settle(view, error);
}

/* The same training for all but the noise; nothing where that is the same too. */
static fplt_status spread_noise(fplt_promise *plan, const fplt_training *common, fplt_error *error)
{
    const fplt_promise_view *view = &plan->view;
    if (view->mechanism.least_noise == 0)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&plan->each, view->agents, sizeof *plan->each,
                                          "the noise of each agent", error);
    for (uint32_t i = 0; !status && i < view->agents; i++) {
        plan->each[i] = *common;
        plan->each[i].step = view->mechanism.step;
        plan->each[i].epochs = view->epochs;
        plan->each[i].noise_tau = view->tau[i];
    }
    return status;
}

static fplt_status make_sources(fplt_promise *plan, unsigned threads, fplt_error *error)
{
    unsigned count = fplt__cores(threads);
    if (!plan->view.secure)
        return FPLT_OK;
    fplt_status status =
        fplt__alloc_into(&plan->source, count, sizeof *plan->source, "the noise", error);
    for (unsigned i = 0; !status && i < count; i++) {
        fplt_noise *noise;
        if (!(status = fplt_noise_create(&noise, error)))
            plan->source[plan->sources++] = fplt_promise_noise(noise);
    }
    return status;
}

static void apply(fplt_promise *plan, fplt_job *job)
{
    const fplt_promise_view *view = &plan->view;
    fplt_job_view *edited = fplt_job_edit(job);
    fplt_run_settings *run = &edited->run;
    run->parameter = plan->parameter;
    run->training.step = view->mechanism.step;
    run->training.epochs = view->epochs;
    run->training.noise_tau = view->mechanism.noise_tau;
    run->each = plan->each;
    run->rounds = view->rounds;
    run->tolerance = run->change = 0;
    if (!view->diagnosed)
        run->evaluate_every = 0;
    run->curvature = view->curvature;
    run->curvatures = NULL;
    edited->automatic = NULL; /* its sentences tell of the data */
    run->blind = !view->diagnosed;
    run->noise = plan->source;
    edited->releases_mean = fplt__promise_releases_mean(view);
    edited->planned = (view->planned_rho ? FPLT_PLANNED_RHO : 0) |
                      (view->planned_step ? FPLT_PLANNED_STEP : 0) |
                      (view->planned_epochs ? FPLT_PLANNED_EPOCHS : 0) |
                      (view->planned_rounds ? FPLT_PLANNED_ROUNDS : 0);
}

static fplt_status make_plan(const fplt_settings *settings, const struct problem *problem,
                             fplt_promise **out, fplt_error *error)
{
    fplt_promise *plan;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&plan, 1, sizeof *plan, "the private plan", error);
    if (status)
        return status;
    if ((status = read_problem(plan, settings, problem, error)) ||
        (status = start_mechanism(plan, settings, problem, error)) ||
        (status = decide(plan, settings, problem, error))) {
        fplt_promise_destroy(plan);
        return status;
    }
    *out = plan;
    return FPLT_OK;
}

static fplt_status plan_job(const fplt_settings *settings, const fplt_job_view *job,
                            uint64_t *records, const char **names, fplt_promise **out,
                            fplt_error *error)
{
    if (fplt_dataset_all(job->training).weight)
        return refuse_weights(error);
    fplt_roster roster = {.agents = fplt_objective_agents(job->objective),
                          .records = records,
                          .names = names,
                          .schema = fplt_dataset_schema(job->training)};
    struct problem problem = {.roster = &roster,
                              .dimension = fplt_objective_dimension(job->objective),
                              .cost = job->cost,
                              .radius = job->transform->radius,
                              .algorithm = job->run.algorithm,
                              .training = job->run.training,
                              .rounds = job->run.rounds,
                              .participation = job->participation,
                              .prox = job->prox};
    for (uint32_t i = 0; i < roster.agents; i++) {
        records[i] = fplt_objective_records(job->objective, i);
        names[i] = fplt_dataset_agent_name(job->training, i);
    }
    return make_plan(settings, &problem, out, error);
}

fplt_status fplt__promise_outlined(const fplt_settings *settings, const fplt_job_source *source,
                                   const fplt__outline *outline, const fplt_roster *roster,
                                   fplt_promise **plan, fplt_error *error)
{
    struct problem problem = {.roster = roster,
                              .dimension = outline->dimension,
                              .cost = outline->cost,
                              .radius = source->radius,
                              .algorithm = outline->run.algorithm,
                              .training = outline->run.training,
                              .rounds = outline->run.rounds,
                              .participation = outline->participation,
                              .prox = outline->prox};
    return make_plan(settings, &problem, plan, error);
}

static fplt_status check_roster(const fplt_settings *settings, const fplt_roster *roster,
                                fplt_error *error)
{
    if (!fplt_promise_wanted(settings))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "no promise is asked for; give privacy.epsilon or privacy.tau");
    if (!roster->agents)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the roster is empty");
    for (uint32_t i = 0; i < roster->agents; i++)
        if (!roster->records[i])
            return fplt_error_set(error, FPLT_BAD_VALUE, "agent %u has no records", i);
    if (roster->schema)
        return FPLT_OK;
    if (!roster->features)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the roster has rows of 0 features");
    if (fplt_task_classifies(roster->task) &&
        (roster->task == FPLT_TASK_BINARY ? roster->classes != 2 : roster->classes < 3))
        return fplt_error_set(
            error, FPLT_BAD_VALUE, "the roster has %u classes, but %s", roster->classes,
            roster->task == FPLT_TASK_BINARY ? "binary rows have 2" : "rows of classes 3 or more");
    return check_bound(settings, roster->task, error);
}

static fplt_status plan_roster(const fplt_settings *settings, const fplt_roster *roster,
                               fplt_promise **plan, fplt_error *error)
{
    fplt_job_source source = {.schema = roster->schema};
    fplt__outline outline;
    fplt_status status;
    if ((status = check_roster(settings, roster, error)) ||
        (status = fplt_promise_prepare(settings, &source, error)))
        return status;
    fplt__form form = {roster->task, roster->features,
                       fplt_task_classifies(roster->task) ? roster->classes : 1, 0};
    if (roster->schema)
        form = fplt__schema_form(roster->schema);
    if ((status = fplt__outline_make(settings, &source, &form, roster->agents, &outline, error)))
        return status;
    status = fplt__promise_outlined(settings, &source, &outline, roster, plan, error);
    fplt__outline_clear(&outline);
    return status;
}

fplt_status fplt_promise_plan(const fplt_settings *settings, const fplt_roster *roster,
                              fplt_promise **plan, fplt_error *error)
{
    fplt_roster own = *roster;
    fplt_schema *schema = NULL;
    fplt_status status = roster->schema ? FPLT_OK : fplt_job_schema(settings, &schema, error);
    *plan = NULL;
    if (status)
        return status;
    if (schema)
        own.schema = schema;
    status = plan_roster(settings, &own, plan, error);
    fplt_schema_destroy(schema);
    return status;
}

fplt_status fplt_promise_create(const fplt_settings *settings, fplt_job *job, fplt_promise **out,
                                fplt_error *error)
{
    const fplt_job_view *view = fplt_job_get_view(job);
    uint32_t agents = fplt_objective_agents(view->objective);
    uint64_t *records;
    const char **names = NULL;
    *out = NULL;
    fplt_status status =
        fplt__alloc_into(&records, agents, sizeof *records, "the private plan", error);
    if (!status)
        status = fplt__alloc_into(&names, agents, sizeof *names, "the private plan", error);
    if (!status)
        status = plan_job(settings, view, records, names, out, error);
    fplt__free(records);
    fplt__free(names);
    if (!status && ((status = spread_noise(*out, &view->run.training, error)) ||
                    (status = make_sources(*out, view->run.threads, error)))) {
        fplt_promise_destroy(*out);
        *out = NULL;
    }
    if (!status)
        apply(*out, job);
    return status;
}

void fplt_promise_destroy(fplt_promise *plan)
{
    if (!plan)
        return;
    for (unsigned i = 0; i < plan->sources; i++)
        fplt_noise_destroy(plan->source[i].context);
    fplt__free(plan->source);
    fplt__free(plan->records);
    fplt__free(plan->tau);
    fplt__free(plan->each);
    fplt__free(plan->names);
    fplt__free(plan);
}

const fplt_promise_view *fplt_promise_get_view(const fplt_promise *plan)
{
    return &plan->view;
}

fplt_status fplt_promise_resolve(const fplt_promise *promise, fplt_plan *plan, fplt_error *error)
{
    const fplt_promise_view *view = &promise->view;
    fplt_training training = {
        .solver = view->solver, .step = view->mechanism.step, .epochs = view->epochs};
    fplt_facts facts = promise->facts;
    facts.epochs = view->epochs;
    return fplt_plan_resolve(view->algorithm, view->parameter, &training, &facts, plan, error);
}
