/* The tables of a training, and the algorithm where none is given. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "data/formula.h"
#include "fedplt/algorithm.h"
#include "promise/promise.h"
#include "promise/spending.h"
#include "trainer/declare.h"
#include "fedplt/solver.h"

#define PAPER                                                                           \
    "for your own data: keep the paper's defaults (no intercept, columns as they are, " \
    "eps "                                                                              \
    "0.5, weights agents, an absolute tolerance at the mean)"

/* Of data in files, and of rows in memory. */
static const fplt_setting defaults_table[] = {
    {"paper", FPLT_SWITCH, 0, "no", 0, 0, NULL, PAPER, 0, 0,
     .needs = "data;!privacy.epsilon;!privacy.tau"},
    FPLT_SETTINGS_END,
};
static const fplt_setting own_defaults_table[] = {
    {"paper", FPLT_SWITCH, 0, "no", 0, 0, NULL, PAPER, 0, 0,
     .needs = "!privacy.epsilon;!privacy.tau"},
    FPLT_SETTINGS_END,
};

static const fplt_setting checkpoint_table[] = {
    {"checkpoint", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "file that keeps the state of the run, written when it is interrupted", 0, 0},
    {"checkpoint-every", FPLT_INTEGER, 0, "0", 0, 9007199254740992.0, NULL,
     "rounds between checkpoints; 0: only when interrupted", 0, 0, .needs = "checkpoint"},
    {"resume", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "checkpoint to go on from, with the same settings and data", 0, 0},
    FPLT_SETTINGS_END,
};

/* What is known of the values before there are tables. */
struct ahead {
    fplt_given given;
    void *context;
};

static const char *look(const struct ahead *ahead, const char *name)
{
    return ahead->given ? ahead->given(ahead->context, name) : NULL;
}

static int is_partial(const struct ahead *ahead)
{
    const char *participation = look(ahead, "participation");
    return participation && strcmp(participation, "all") != 0;
}

/* Methods other than plain Fed-PLT need certainty: nothing random, and all agents train alike. */
static int may_choose(const struct ahead *ahead)
{
    static const char *const against[] = {"privacy.epsilon", "privacy.tau", "uncoordinated",
                                          "quorum"};
    const char *solver = look(ahead, "solver");
    const fplt_solver *known = solver ? fplt_solver_find(solver) : NULL;
    for (size_t i = 0; i < sizeof against / sizeof *against; i++)
        if (look(ahead, against[i]))
            return 0;
    return !known || !(known->traits & (FPLT_STOCHASTIC | FPLT_NOISY));
}

static const char by_formula[] = "as the formula says";
static const char for_own_data[] = "the default for data of your own";

/* A switch that stands alone is followed by another flag, or by nothing. */
static int wants_paper(const struct ahead *ahead)
{
    const char *paper = look(ahead, "paper");
    return paper && strcmp(paper, "no") != 0;
}

/* With the user's own data and no algorithm named, the rule chooses (docs/acceleration.md). The paper's defaults, or a given
 * parameter of Fed-PLT, mean Fed-PLT: accelerated where every agent is active. */
static const char *preferred(const struct ahead *ahead)
{
    const char *splitting = is_partial(ahead) ? "fed-plt" : "fed-plt-anderson";
    const fplt_setting *row = fplt_algorithm_find(splitting)->settings;
    for (; row->name; row++)
        if (look(ahead, row->name))
            return splitting;
    return wants_paper(ahead) ? splitting : "auto";
}

static fplt_status prefer(const struct ahead *ahead, fplt_settings *settings, const char *algorithm,
                          fplt_error *error)
{
    const char *solver = look(ahead, "solver");
    fplt_status status =
        fplt__settings_prefer(settings, "algorithm", algorithm, for_own_data, error);
    if (status || fplt_settings_is_auto(settings, "algorithm") || look(ahead, "epochs") ||
        (solver && strcmp(solver, "gradient") != 0))
        return status;
    return fplt__settings_prefer(settings, "epochs", "auto", for_own_data, error);
}

/* A switch that is given as the statistician would have it changes nothing else. */
static int agrees(const struct ahead *ahead, const char *name)
{
    return strcmp(name, "relative") == 0 && strcmp(look(ahead, name), "no") != 0;
}

/* What a statistician would do with data of your own; the paper's problem keeps the paper's. A
 * tolerance that is given means what the table says: it is relative only where asked for. */
static const struct {
    const char *name, *value, *reason, *unless;
} statistics[] = {
    {"intercept", "yes", "labels need not be centred", NULL},
    {"standardise", "auto", "columns of one scale converge soonest and are shrunk alike", NULL},
    {"eps", "0.01", "a light ridge: the coefficients are hardly shrunk", NULL},
    {"weights", "rows", "every row has the same weight, as if all rows were pooled", NULL},
    {"criterion-at", "model", "the model that is written meets the tolerance", NULL},
    {"relative", "yes", "whatever the scale of the data and the number of agents", "tolerance"},
    {"tolerance", "1e-16", "the gradient shrinks to 1e-8 of what it was at the start", "relative"},
};
enum { STATISTICS = sizeof statistics / sizeof *statistics };

static fplt_status prefer_statistics(const struct ahead *ahead, fplt_settings *settings,
                                     fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < STATISTICS; i++) {
        const char *unless = statistics[i].unless;
        if (!unless || !look(ahead, unless) || agrees(ahead, unless))
            status = fplt__settings_prefer(settings, statistics[i].name, statistics[i].value,
                                           statistics[i].reason, error);
    }
    return status;
}

const char *fplt__trainer_reason(const char *name, const char *value)
{
    for (size_t i = 0; i < STATISTICS; i++)
        if (strcmp(statistics[i].name, name) == 0 && strcmp(statistics[i].value, value) == 0)
            return statistics[i].reason;
    return strcmp(value, "auto") == 0 &&
                   (strcmp(name, "algorithm") == 0 || strcmp(name, "epochs") == 0)
               ? for_own_data
               : NULL;
}

static int is_private(const struct ahead *ahead)
{
    return look(ahead, "privacy.epsilon") || look(ahead, "privacy.tau");
}

/* The columns of a formula as a list; a dot leaves the choice to the reader. */
static fplt_status prefer_columns(fplt_settings *settings, const fplt__formula *formula,
                                  fplt_error *error)
{
    char columns[FPLT__VARIABLES_MAX * (FPLT__VARIABLE_TEXT + 1)] = "";
    size_t used = 0;
    for (size_t v = 0; v < formula->variables; v++)
        if (used < sizeof columns)
            used += (size_t)snprintf(columns + used, sizeof columns - used, "%s%s", v ? "," : "",
                                     formula->variable[v].column);
    return formula->everything
               ? FPLT_OK
               : fplt__settings_prefer(settings, "columns", columns, by_formula, error);
}

/* A formula says what the label is, which columns are read, and whether there is an intercept. */
static fplt_status prefer_formula(const struct ahead *ahead, fplt_settings *settings,
                                  const char *text, fplt_error *error)
{
    static const char *const instead[] = {"columns", "categories"};
    const char *label = look(ahead, "label");
    int declared = look(ahead, "schema") || look(ahead, "bounds");
    fplt__formula *formula;
    fplt_status status = fplt__alloc_into(&formula, 1, sizeof *formula, "a formula", error);
    if (!status)
        status = fplt__formula_parse(text, NULL, 0, formula, error);
    for (size_t i = 0; !status && i < sizeof instead / sizeof *instead; i++)
        if (look(ahead, instead[i]))
            status = fplt_error_set(error, FPLT_BAD_VALUE,
                                    "%s is given beside a formula, which names the columns itself; "
                                    "leave one of them out",
                                    instead[i]);
    if (!status && label && *formula->response && strcmp(label, formula->response) != 0)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "label is '%.80s', but the formula says '%.80s'; leave label out",
                                label, formula->response);
    if (!status && *formula->response && look(ahead, "data") && !declared)
        status = fplt__settings_prefer(settings, "label", formula->response, by_formula, error);
    if (!status && look(ahead, "data") && !declared)
        status = prefer_columns(settings, formula, error);
    if (!status && look(ahead, "data") && !declared)
        status = fplt__settings_prefer(settings, "categories", "auto", by_formula, error);
    if (!status && !formula->intercept)
        status = fplt__settings_prefer(settings, "intercept", "no", by_formula, error);
    fplt__free(formula);
    return status;
}

fplt_status fplt_trainer_prefer(fplt_settings *settings, int own_data, fplt_given given,
                                void *context, fplt_error *error)
{
    struct ahead ahead = {given, context};
    int own = own_data || look(&ahead, "data");
    fplt_status status = FPLT_OK;
    if (own && !is_private(&ahead) && !wants_paper(&ahead))
        status = prefer_statistics(&ahead, settings, error);
    const char *formula = look(&ahead, "formula");
    if (!status && formula && fplt__settings_find(settings, "formula"))
        status = prefer_formula(&ahead, settings, formula, error);
    return status ? status
                  : fplt_settings_add(settings, "data",
                                      own_data ? own_defaults_table : defaults_table, error);
}

fplt_status fplt__trainer_declare(fplt_settings *settings, unsigned parts, int own_data,
                                  fplt_given given, void *context, fplt_error *error)
{
    struct ahead ahead = {given, context};
    const char *algorithm = look(&ahead, "algorithm");
    int own = own_data || look(&ahead, "data");
    int chooses = !algorithm && own && may_choose(&ahead);
    algorithm = chooses ? preferred(&ahead) : algorithm;
    fplt_status status = fplt_job_declare(settings, parts, algorithm, error);
    if (!status && chooses)
        status = prefer(&ahead, settings, algorithm, error);
    return status ? status : fplt_trainer_prefer(settings, own_data, given, context, error);
}

fplt_status fplt_trainer_declare(fplt_settings *settings, int own_data, fplt_given given,
                                 void *context, fplt_error *error)
{
    fplt_status status =
        fplt__trainer_declare(settings, FPLT_JOB_ALL, own_data, given, context, error);
    if (!status)
        status = fplt_settings_add(settings, "privacy", fplt__promise_table, error);
    if (!status)
        status = fplt_settings_add(settings, "privacy", fplt__spending_table, error);
    return status ? status : fplt_settings_add(settings, "checkpoints", checkpoint_table, error);
}
