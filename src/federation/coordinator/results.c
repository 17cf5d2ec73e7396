/* What a coordinator leaves of a run that is over: the model, with privacy the certificate, and a page
 * about both. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "base/file.h"
#include "fedplt/algorithm.h"
#include "fedplt/page.h"
#include "base/text.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/privacy_plan.h"
#include "participation/participation.h"
#include "prox/prox_access.h"
#include "report/model_access.h"
#include "report/report.h"
#include "trainer/declare.h"

/* As the agents know it. */
static fplt__digest plan_hash(const fplt__agreement *agreement)
{
    fplt__digest hash = {{0}};
    char *text;
    if (!fplt__agreement_text(agreement, &text, NULL)) {
        hash = fplt__document_hash(text, strlen(text));
        fplt__free(text);
    }
    return hash;
}

static json_t *score_json(const fplt_measure *score)
{
    double rows = (double)score->records;
    return json_pack("{s:I, s:f, s:o}", "rows", (json_int_t)score->records, "loss",
                     score->objective / rows, "accuracy",
                     score->classifies ? json_real((double)score->hits / rows) : json_null());
}

void fplt__coordinator_add_findings(const fplt__coordinator *c, json_t *object)
{
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    if (*view.withheld && !c->seen.information) {
        char text[FPLT__SENTENCE + 300];
        snprintf(text, sizeof text, "%.256s: %s", c->roster[view.withheld_by], view.withheld);
        json_object_set_new(object, "errors_withheld", json_string(text));
    }
    if (c->seen.has_score && c->seen.score.records)
        json_object_set_new(object, "held_out", score_json(&c->seen.score));
}

/* What the settings say of problem and participation, and how many rows there are. */
static void add_terms(json_t *record, const fplt__agreement *agreement)
{
    fplt__plan_resolution terms = {.settings = NULL};
    fplt__form form;
    uint64_t rows = 0;
    if (fplt__agreement_form(agreement, &form, NULL) ||
        fplt__plan_resolution_of(&agreement->proposal, &form, &terms, NULL)) {
        fplt__plan_resolution_clear(&terms);
        return;
    }
    for (uint32_t i = 0; i < agreement->proposal.members; i++)
        rows += agreement->records[i];
    const fplt_objective_settings *cost = &terms.job.cost;
    json_t *problem =
        json_pack("{s:I, s:I, s:s, s:s, s:f, s:s, s:s}", "agents",
                  (json_int_t)agreement->proposal.members, "rows", (json_int_t)rows, "loss",
                  cost->loss, "regulariser", cost->regulariser, "eps", cost->weight, "h",
                  fplt__prox_name(terms.job.prox), "weights", cost->weigh_rows ? "rows" : "agents");
    if (!fplt__prox_is_zero(terms.job.prox))
        json_object_set_new(problem, "h_weight",
                            json_real(fplt_settings_real(terms.settings, "h-weight")));
    json_object_set_new(record, "problem", problem);
    json_object_set_new(record, "participation",
                        json_string(fplt__participation_name(terms.job.participation)));
    fplt__plan_resolution_clear(&terms);
}

/* Whether federation.yaml says it; else it stands in the proposal as a default. */
static int is_written(const fplt__coordinator *c, const char *name)
{
    const char *text = fplt_settings_text(c->settings, "train");
    char found[128], value[2048];
    while (text && *text) {
        text = fplt__pairs_next(text, found, sizeof found, value, sizeof value);
        if (strcmp(found, name) == 0)
            return 1;
    }
    return 0;
}

/* As a person would write it; NULL: not given, or left to the plan. */
static const char *given(const fplt__coordinator *c, const char *name)
{
    const fplt__proposal *proposal = &fplt__leader_agreement(c->leader)->proposal;
    const char *value = fplt__pair_find(proposal->setting, proposal->settings, name);
    return value && strcmp(value, "auto") != 0 && is_written(c, name) ? value : NULL;
}

/* What the proposal has besides federation.yaml, and why; of an automatic algorithm, why this one. */
static json_t *defaults_json(const fplt__coordinator *c)
{
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    const fplt__proposal *proposal = &agreement->proposal;
    json_t *defaults = json_object();
    fplt__plan_resolution terms = {.settings = NULL};
    fplt__form form;
    for (size_t i = 0; i < proposal->settings; i++) {
        const fplt__pair *pair = &proposal->setting[i];
        const char *why = fplt__trainer_reason(pair->name, pair->value);
        if (why && !is_written(c, pair->name))
            json_object_set_new(defaults, pair->name,
                                json_pack("{s:s, s:s}", "value", pair->value, "why", why));
    }
    if (!fplt__agreement_form(agreement, &form, NULL) &&
        !fplt__plan_resolution_of(proposal, &form, &terms, NULL) && *terms.job.reason)
        json_object_set_new(defaults, "algorithm",
                            json_pack("{s:s, s:s}", "value", "auto", "why", terms.job.reason));
    fplt__plan_resolution_clear(&terms);
    return defaults;
}

static void add_parameter(json_t *parameters, const char *name, const char *text, double value,
                          const char *why)
{
    if (text && fplt__parse_real(text, &value))
        value = NAN;
    json_t *shown = isfinite(value) ? json_real(value) : text ? json_string(text) : json_null();
    json_object_set_new(parameters, name, json_pack("{s:o, s:s}", "value", shown, "why", why));
}

/* Those of the algorithm, what the plan made of the rest, and whatever else was given. */
static json_t *parameters_json(const fplt__coordinator *c)
{
    static const char *const planned[] = {"epochs", "gamma"}, *const by = "given in the proposal";
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    const fplt_setting *rows = agreement->plan.algorithm->settings;
    const fplt__proposal *proposal = &agreement->proposal;
    json_t *parameters = json_object();
    char why[512];
    for (size_t i = 0; rows[i].name; i++) {
        const char *text = given(c, rows[i].name), *standard = rows[i].standard;
        int automatic = !text && standard && strcmp(standard, "auto") == 0;
        snprintf(why, sizeof why, "%s%s%s",
                 text        ? by
                 : automatic ? "auto"
                             : "default",
                 automatic && rows[i].rule ? ": " : "",
                 automatic && rows[i].rule ? rows[i].rule : "");
        add_parameter(parameters, rows[i].name,
                      rows[i].kind == FPLT_CHOICE ? text ? text : standard : NULL,
                      agreement->plan.parameter[i], why);
    }
    int trains = !(agreement->plan.algorithm->allows & FPLT_TRAINS_NOTHING);
    for (size_t i = 0; trains && i < sizeof planned / sizeof *planned; i++) {
        const char *text = fplt__pair_find(agreement->resolved, agreement->resolves, planned[i]);
        if (text)
            add_parameter(parameters, planned[i], text, NAN,
                          given(c, planned[i]) ? by : "as the plan has it");
    }
    for (size_t i = 0; i < proposal->settings; i++) {
        const char *name = proposal->setting[i].name;
        if (given(c, name) && !json_object_get(parameters, name) && strcmp(name, "algorithm") != 0)
            add_parameter(parameters, name, given(c, name), NAN, by);
    }
    return parameters;
}

/* What the costs themselves measured of the last model; the coordinator has no other way to judge a custom cost. */
static void add_measure(json_t *record, const fplt_measure *measure, int is_custom)
{
    if (isfinite(measure->criterion))
        json_object_set_new(record, "criterion", json_real(measure->criterion));
    if (!is_custom)
        return;
    json_object_set_new(record, "objective", json_real(measure->objective));
    if (measure->classifies && measure->records)
        json_object_set_new(record, "accuracy",
                            json_real((double)measure->hits / (double)measure->records));
}

/* The record of the run in its model. */
static char *record_of(const fplt__coordinator *c)
{
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    fplt__digest plan = plan_hash(agreement);
    json_t *record = fplt__plan_resolution_record(agreement, &plan);
    if (record)
        json_object_update_new(
            record, json_pack("{s:I, s:s, s:s}", "rounds", (json_int_t)view.round, "outcome",
                              c->turn.restarts ? "excluded" : view.outcome, "sentence",
                              c->turn.restarts ? c->end.outcome.sentence : view.sentence));
    if (record) {
        add_terms(record, agreement);
        json_object_set_new(record, "parameters", parameters_json(c));
        json_object_set_new(record, "defaults", defaults_json(c));
    }
    if (record && view.has_measure)
        add_measure(record, &view.measure, fplt__is_custom(&agreement->proposal));
    if (record)
        fplt__coordinator_add_findings(c, record);
    if (record)
        fplt__coordinator_record_validation(c, record);
    char *text = record ? json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(record);
    return text;
}

/* Charged at least what was seen, and what the agents say they charged. */
static fplt_status certify(fplt__coordinator *c, const fplt__certified *model, char **certificate,
                           fplt_error *error)
{
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    uint64_t *rounds;
    *certificate = NULL;
    if (!agreement->private)
        return FPLT_OK;
    fplt__digest plan = plan_hash(agreement);
    fplt_status status = fplt__alloc_into(&rounds, c->members, sizeof *rounds, "rounds", error);
    if (status)
        return status;
    for (uint32_t i = 0; i < c->members; i++) {
        const fplt__member_row *row = fplt__leader_member(c->leader, i).row;
        rounds[i] = fplt__privacy_plan_rounds(agreement,
                                              row->seen > row->charges ? row->seen : row->charges);
    }
    fplt__privacy_plan_record about = {&plan, rounds, NULL, c->folder};
    status = fplt__privacy_plan_certify(agreement, &about, model, certificate, error);
    fplt__free(rounds);
    return status;
}

/* The page */

struct curve {
    fplt_history *history;
    fplt_status status;
    fplt_error *error;
};

static void add_round(void *context, const fplt__history_row *row)
{
    struct curve *curve = context;
    fplt_progress progress = {.round = row->round + 1,
                              .measured = !isnan(row->criterion),
                              .measure = {.criterion = row->criterion}};
    if (!curve->status)
        curve->status = fplt__history_add(curve->history, &progress, curve->error);
}

/* Of the rounds that were measured; with privacy there are none, and the page takes no history. */
static fplt_status recall(fplt__coordinator *c, const fplt_model *model, fplt_history **history,
                          fplt_error *error)
{
    *history = NULL;
    if (fplt__model_is_private(model))
        return FPLT_OK;
    fplt_status status = fplt__history_create(history, error);
    if (status)
        return status;
    struct curve curve = {*history, FPLT_OK, error};
    uint32_t run = c->run - (c->proposal.refit == FPLT__REFIT_THIS); /* the rounds of the model */
    status = fplt__leader_store_history(c->store, run, add_round, &curve, error);
    return status ? status : curve.status;
}

static fplt_status write_page(fplt__coordinator *c, const fplt_model *model, fplt_error *error)
{
    fplt_page page = fplt_page_defaults();
    fplt_history *history;
    char out[4200], path[4300], title[128], *html = NULL;
    snprintf(title, sizeof title, "The model of %s, run %u", c->pki.authority.federation,
             c->run - (c->proposal.refit == FPLT__REFIT_THIS));
    fplt__coordinator_make_out(c, out);
    snprintf(path, sizeof path, "%s/report.html", out);
    fplt_status status = recall(c, model, &history, error);
    page.title = title;
    page.history = history;
    if (!status && !(status = fplt_model_page(model, &page, &html, error)))
        status = fplt__file_save(path, 0666, html, strlen(html), error);
    fplt_free(html);
    fplt__history_destroy(history);
    return status;
}

/* The files */

static fplt_status save_certificate(const char *out, const char *certificate, fplt_error *error)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/privacy.json", out);
    return fplt__file_save(path, 0666, certificate, strlen(certificate), error);
}

/* The model of a custom cost with its certificate. */
static fplt_status write_certified(fplt__coordinator *c, const double *x, const char *record,
                                   const char *out, fplt_error *error)
{
    fplt__certified model = {.model = NULL};
    char path[4300], *certificate = NULL, *text = NULL;
    snprintf(path, sizeof path, "%s/model.json", out);
    fplt_status status =
        fplt__custom_document(fplt__leader_agreement(c->leader), x, record, &model.document, error);
    if (!status && !(status = certify(c, &model, &certificate, error)) &&
        !(status = fplt__certificate_text(model.document, &text, error)) &&
        !(status = save_certificate(out, certificate, error)))
        status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt_free(text);
    fplt_free(certificate);
    json_decref(model.document);
    return status;
}

/* Only the weights are known of a custom cost: there is no page about them. */
static fplt_status write_custom(fplt__coordinator *c, const double *x, fplt_error *error)
{
    char out[4200], path[4300], *record = record_of(c);
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    fplt__coordinator_make_out(c, out);
    snprintf(path, sizeof path, "%s/model.json", out);
    fplt_status status = agreement->private ? write_certified(c, x, record, out, error)
                                            : fplt__custom_write(agreement, x, record, path, error);
    if (!status)
        snprintf(c->end.outcome.model, sizeof c->end.outcome.model, "%.500s", path);
    free(record);
    return status;
}

static fplt_status write_model(fplt__coordinator *c, const fplt_model *model, const char *path,
                               fplt_error *error)
{
    fplt_error unwritten = {FPLT_OK, ""};
    fplt_status status = fplt_model_write(model, path, error);
    if (status)
        return status;
    snprintf(c->end.outcome.model, sizeof c->end.outcome.model, "%.500s", path);
    if (write_page(c, model, &unwritten))
        fplt__coordinator_log(c, -1, "disk", "report.html was not written: %s", unwritten.text);
    return FPLT_OK;
}

/* The model of the run before, with its refit; `x` NULL: there is none. */
static fplt_status write_refit(fplt__coordinator *c, const double *x, fplt_error *error)
{
    char out[4200], path[4300], *record = x ? record_of(c) : NULL;
    fplt_model *refit = NULL, *model = NULL;
    fplt_status status = FPLT_OK;
    fplt__coordinator_make_out(c, out);
    snprintf(path, sizeof path, "%s/model.json", out);
    if (x)
        status = fplt__plan_resolution_model(fplt__leader_agreement(c->leader), x, record,
                                             c->seen.information, &refit, error);
    if (!status)
        status = fplt__coordinator_join_refit(c, refit, path, &model, error);
    if (!status)
        status = write_model(c, model, path, error);
    fplt_model_destroy(model);
    free(record);
    return status;
}

static fplt_status write_out(fplt__coordinator *c, const double *x, fplt_error *error)
{
    char out[4200], path[4300], *record = record_of(c), *certificate = NULL;
    fplt_model *model = NULL;
    fplt__coordinator_make_out(c, out);
    fplt_status status = fplt__plan_resolution_model(fplt__leader_agreement(c->leader), x, record,
                                                     c->seen.information, &model, error);
    if (!status)
        status = certify(c, &(fplt__certified){model, NULL}, &certificate, error);
    if (!status && certificate)
        status = save_certificate(out, certificate, error);
    snprintf(path, sizeof path, "%s/model.json", out);
    if (!status)
        status = write_model(c, model, path, error);
    fplt_model_destroy(model);
    fplt_free(certificate);
    free(record);
    return status;
}

fplt_status fplt__coordinator_write(fplt__coordinator *c, fplt_error *error)
{
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    fplt_hub *hub = fplt__leader_hub(c->leader);
    int is_refit = c->proposal.refit == FPLT__REFIT_THIS && !c->turn.restarts;
    double *x;
    if (fplt__leaves_out_fold(&c->proposal))
        return FPLT_OK;
    if (!agreement || !hub)
        return is_refit ? write_refit(c, NULL, error) : FPLT_OK;
    fplt_status status =
        fplt__alloc_into(&x, agreement->plan.dimension, sizeof *x, "the model", error);
    if (status)
        return status;
    if (!(status = fplt_hub_model(hub, x)))
        status = fplt__is_custom(&agreement->proposal) ? write_custom(c, x, error)
                 : is_refit                            ? write_refit(c, x, error)
                                                       : write_out(c, x, error);
    fplt__free(x);
    return status;
}
