/* How a run was done: each choice with its reason, and what came of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "engine/engine_access.h"
#include "report/model.h"
#include "report/model_access.h"

/* The sentence about an automatic choice; empty when there is none. */
static const char *automatic(const fplt_auto *choice, const char *name)
{
    if (choice && strcmp(name, "rho") == 0)
        return choice->about_rho;
    if (choice && strcmp(name, "gamma") == 0)
        return choice->about_step;
    return choice && strcmp(name, "epochs") == 0 ? choice->about_epochs : "";
}

static int was_planned(const fplt_job_view *view, const char *name)
{
    static const struct {
        const char *name;
        unsigned planned;
    } bits[] = {
        {"rho", FPLT_PLANNED_RHO}, {"gamma", FPLT_PLANNED_STEP}, {"epochs", FPLT_PLANNED_EPOCHS}};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (strcmp(bits[i].name, name) == 0)
            return (view->planned & bits[i].planned) != 0;
    return 0;
}

/* Why a setting has its value: where it was given, or the rule behind `auto`. */
static void reason(const fplt_job_view *view, const char *name, char *text, size_t size)
{
    const fplt_settings *settings = view->settings;
    const char *sentence = automatic(view->automatic, name);
    const fplt_setting *row = fplt__settings_find(settings, name);
    const char *rule = row ? row->rule : NULL;
    if (!row) /* the algorithm was auto, and its parameters with it */
        snprintf(text, size, "%s", *sentence ? sentence : "auto");
    else if (was_planned(view, name))
        snprintf(text, size, "the private plan");
    else if (fplt_settings_given(settings, name) && !fplt_settings_is_auto(settings, name))
        snprintf(text, size, "given by %s", fplt__settings_origin(settings, name));
    else if (*sentence)
        snprintf(text, size, "%s", sentence);
    else if (fplt_settings_is_auto(settings, name))
        snprintf(text, size, "auto%s%s", rule ? ": " : "", rule ? rule : "");
    else
        snprintf(text, size, "default");
}

static void choose(const fplt_job_view *view, const char *name, double value, fplt_choice *choice)
{
    choice->name = name;
    choice->value = value;
    choice->word = NULL;
    reason(view, name, choice->why, sizeof choice->why);
}

static void record_parameters(const fplt_job_view *view, const fplt_engine *engine,
                              fplt_record *record)
{
    const fplt_setting *rows = view->run.algorithm->settings;
    const double *values = fplt__engine_parameters(engine);
    for (size_t i = 0; rows[i].name; i++) {
        fplt_choice *choice = &record->parameter[record->parameters++];
        choose(view, rows[i].name, values[i], choice);
        if (rows[i].kind != FPLT_CHOICE || !fplt__settings_find(view->settings, rows[i].name))
            continue;
        choice->value = NAN;
        choice->word = fplt_settings_text(view->settings, rows[i].name);
    }
}

static void record_steps(const fplt_job_view *view, const fplt_engine *engine, fplt_record *record)
{
    double least = NAN, most = NAN; /* where no agent takes a step they stay so */
    const fplt_algorithm *algorithm = view->run.algorithm;
    int trains = !(algorithm->allows & FPLT_TRAINS_NOTHING);
    for (uint32_t i = 0; trains && i < fplt_objective_agents(view->objective); i++) {
        double step = fplt__engine_step(engine, i);
        least = fmin(least, step);
        most = fmax(most, step);
    }
    choose(view, "gamma", least, &record->step);
    if (!trains)
        snprintf(record->step.why, sizeof record->step.why, "%s has no local training",
                 algorithm->name);
    else if (isnan(least))
        snprintf(record->step.why, sizeof record->step.why, "the solver %s takes no step size",
                 view->run.training.solver->name);
    record->largest_step = most;
}

const char *fplt__choice_because(const char *why)
{
    const char *equals = why ? strstr(why, " = ") : NULL;
    const char *colon = equals ? strstr(why, ": ") : NULL;
    return colon && strchr(why, ' ') == equals ? colon + 2 : why ? why : "";
}

fplt_status fplt__record_make(const fplt_job_view *view, fplt_engine *engine, const double *weights,
                              const fplt_model *model, fplt_record *record, fplt_error *error)
{
    memset(record, 0, sizeof *record);
    record_parameters(view, engine, record);
    record_steps(view, engine, record);
    choose(view, "epochs", view->run.training.epochs, &record->epochs);
    record->advice = view->automatic ? view->automatic->advice : "";
    record->facts = fplt__engine_facts(engine);
    record->measured = !view->run.blind;
    record->judged = record->measured && model && view->held_out;
    fplt_status status = FPLT_OK;
    if (record->measured)
        status = fplt__engine_measure_at(engine, weights, &record->model, error);
    if (!status && record->judged)
        status = fplt_model_evaluate(model, view->held_out, NULL, &record->held_out, error);
    return status;
}
