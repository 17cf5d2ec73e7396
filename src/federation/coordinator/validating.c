/* A validation over the network (plan/validation.h): how many folds there are, what the rows that each fit left out came to,
 * and which value they choose. All of it is in FOLDER/validation.json before the run ends that it comes from. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/validation.h"
#include "report/model_access.h"
#include "report/report.h"

enum { MAX_KEPT = 64 << 20 };

static uint32_t first_run(const fplt__coordinator *c)
{
    return (uint32_t)fplt_settings_integer(c->settings, "run");
}

static size_t fits_of(const struct fplt__coordinator_validation *v)
{
    return v->plan.count * v->folds;
}

/* ---- what is kept ---- */

static void path_of(const fplt__coordinator *c, char path[4200])
{
    snprintf(path, 4200, "%s/validation.json", c->folder);
}

static json_t *fits_json(const struct fplt__coordinator_validation *v)
{
    json_t *fits = json_array();
    for (size_t i = 0; i < fits_of(v); i++)
        json_array_append_new(fits, json_pack("[I, I, f]", (json_int_t)v->fit[i].rows,
                                              (json_int_t)v->fit[i].hits, v->fit[i].loss));
    return fits;
}

static fplt_status save(const fplt__coordinator *c, fplt_error *error)
{
    const struct fplt__coordinator_validation *v = &c->validation;
    char path[4200];
    path_of(c, path);
    json_t *kept = json_pack("{s:I, s:s, s:I, s:s, s:o}", "run", (json_int_t)first_run(c),
                             "validation", v->text, "folds", (json_int_t)v->folds, "measure",
                             v->measure, "fits", fits_json(v));
    char *text = kept ? json_dumps(kept, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    fplt_status status = text ? fplt__file_save(path, 0600, text, strlen(text), error)
                              : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for %s", path);
    free(text);
    json_decref(kept);
    return status;
}

static fplt_status make_room(struct fplt__coordinator_validation *v, uint32_t folds,
                             fplt_error *error)
{
    fplt__free(v->fit);
    v->fit = NULL;
    v->fits = 0;
    v->folds = folds;
    return fplt__alloc_into(&v->fit, fits_of(v), sizeof *v->fit, "a validation", error);
}

static void take_fits(struct fplt__coordinator_validation *v, const json_t *fits)
{
    for (size_t i = 0; i < fits_of(v); i++) {
        const json_t *fit = json_array_get(fits, i);
        v->fit[i].rows = (uint64_t)json_integer_value(json_array_get(fit, 0));
        v->fit[i].hits = (uint64_t)json_integer_value(json_array_get(fit, 1));
        v->fit[i].loss = json_number_value(json_array_get(fit, 2));
        v->fits += v->fit[i].rows > 0;
    }
}

/* What earlier runs of this validation left. */
static fplt_status load(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_validation *v = &c->validation;
    char path[4200];
    if (v->folds)
        return FPLT_OK;
    path_of(c, path);
    json_t *kept = json_load_file(path, 0, NULL);
    const char *text = json_string_value(json_object_get(kept, "validation"));
    json_int_t folds = json_integer_value(json_object_get(kept, "folds"));
    int is_it = text && strcmp(text, v->text) == 0 && folds >= 2 && folds <= v->plan.folds &&
                json_integer_value(json_object_get(kept, "run")) == (json_int_t)first_run(c);
    fplt_status status =
        is_it ? make_room(v, (uint32_t)folds, error)
              : fplt_error_set(error, FPLT_BAD_DATA,
                               "%s is not the one of run %u: put it and federation.yaml's "
                               "`validate` back as they were, or raise `run` above those that "
                               "there are",
                               path, first_run(c));
    if (!status) {
        const char *measure = json_string_value(json_object_get(kept, "measure"));
        snprintf(v->measure, sizeof v->measure, "%s", measure ? measure : "");
        take_fits(v, json_object_get(kept, "fits"));
    }
    json_decref(kept);
    return status;
}

void fplt__coordinator_forget_validation(fplt__coordinator *c)
{
    fplt__free(c->validation.fit);
    memset(&c->validation, 0, sizeof c->validation);
}

/* ---- what the fits come to ---- */

/* The measure of one fit besides its loss. */
static double measure_fit(const struct fplt__coordinator_validation *v,
                          const struct fplt__coordinator_fit *fit)
{
    double rows = (double)fit->rows;
    if (strcmp(v->measure, "accuracy") == 0)
        return (double)fit->hits / rows;
    return strcmp(v->measure, "rmse") == 0 ? sqrt(2 * fit->loss / rows) : fit->loss / rows;
}

static fplt_status find_points(const struct fplt__coordinator_validation *v,
                               fplt_validate_point **points, fplt_error *error)
{
    double *loss, *quality;
    fplt_status status =
        fplt__alloc_into(points, v->plan.count, sizeof **points, "a validation", error);
    if (status)
        return status;
    if ((status =
             fplt__alloc_into(&loss, 2 * (size_t)v->folds, sizeof *loss, "a validation", error))) {
        fplt__free(*points);
        return status;
    }
    quality = loss + v->folds;
    for (size_t i = 0; i < v->plan.count; i++) {
        fplt_validate_point *point = &(*points)[i];
        for (uint32_t f = 0; f < v->folds; f++) {
            const struct fplt__coordinator_fit *fit = &v->fit[i * v->folds + f];
            loss[f] = fit->loss / (double)fit->rows;
            quality[f] = measure_fit(v, fit);
        }
        point->value = v->plan.value[i];
        fplt__validation_mean(loss, v->folds, &point->loss, &point->error);
        fplt__validation_mean(quality, v->folds, &point->quality, NULL);
    }
    fplt__free(loss);
    return FPLT_OK;
}

/* The result; its points are to be released with fplt__free(). */
static fplt_status find_result(const struct fplt__coordinator_validation *v,
                               fplt__validation_view *made, fplt_validate_point **points,
                               fplt_error *error)
{
    fplt_status status = find_points(v, points, error);
    if (status)
        return status;
    *made = (fplt__validation_view){.search = v->plan.search,
                                    .by = "rows",
                                    .measure = v->measure,
                                    .folds = v->folds,
                                    .point = *points,
                                    .count = v->plan.count};
    fplt__validation_choose(*points, v->plan.count, &made->best, &made->chosen);
    return FPLT_OK;
}

/* The table for people, to be released with fplt_free(). */
static fplt_status show_result(const fplt__validation_view *made, char **text, fplt_error *error)
{
    fplt_table *table;
    fplt_status status = fplt__validation_table(made, &table, error);
    if (!status)
        status = fplt_table_render(table, FPLT_TABLE_ALIGNED, text, error);
    fplt_table_destroy(table);
    return status;
}

/* ---- which run this is ---- */

static fplt_status state_chosen(fplt__coordinator *c, fplt__proposal *proposal, fplt_error *error)
{
    struct fplt__coordinator_validation *v = &c->validation;
    fplt__validation_view made;
    fplt_validate_point *points;
    if (v->fits < fits_of(v))
        return fplt_error_set(error, FPLT_BAD_DATA, "%s/validation.json has %zu of %zu fits",
                              c->folder, v->fits, fits_of(v));
    fplt_status status = find_result(v, &made, &points, error);
    if (status)
        return status;
    status = fplt__validation_state_chosen(proposal, &v->plan, made.chosen, error);
    if (c->excluded.follows ==
        FPLT__CONTINUES_MODEL) /* rows were withdrawn: a consent of its own */
        *proposal->part = 0;
    fplt__free(points);
    return status;
}

fplt_status fplt__coordinator_state_part(fplt__coordinator *c, fplt__proposal *proposal,
                                         fplt_error *error)
{
    struct fplt__coordinator_validation *v = &c->validation;
    uint32_t first = first_run(c), run = proposal->run;
    fplt_status status = fplt__validation_read(proposal, &v->plan, error);
    memcpy(v->text, proposal->validation, sizeof v->text);
    if (status || c->excluded.follows == FPLT__CONTINUES_NOTHING || (status = load(c, error)))
        return status;
    if (c->excluded.follows != FPLT__CONTINUES_FIT)
        return state_chosen(c, proposal, error);
    if (run <= first || run - first > fits_of(v))
        return fplt_error_set(error, FPLT_BAD_DATA, "%s/validation.json has no fit of run %u",
                              c->folder, run);
    proposal->run = first;
    return fplt__validation_state_fit(proposal, &v->plan, v->folds, run - first - 1, error);
}

/* ---- how many folds there are ---- */

void fplt__coordinator_ask_folds(fplt__coordinator *c, int *asked)
{
    double down[2] = {0, 0};
    uint64_t largest = 0;
    *asked = *c->proposal.validation != 0;
    if (!*asked)
        return;
    c->validation.least = c->validation.plan.folds;
    c->validation.least_of = 0;
    for (uint32_t i = 0; i < c->members; i++) {
        down[0] += (double)c->facts.records[i];
        largest = c->facts.records[i] > largest ? c->facts.records[i] : largest;
    }
    down[1] = (double)largest;
    fplt__coordinator_ask(c, FPLT__FACTS_FOLDS, down, 2, FPLT__FOLDS_SCALARS, 0);
}

void fplt__coordinator_remember_folds(fplt__coordinator *c, const fplt__leader_action *action)
{
    struct fplt__coordinator_validation *v = &c->validation;
    double folds = action->scalars[0];
    if (!fplt__is_whole(folds, 0, v->plan.folds))
        folds = 0;
    if ((uint32_t)folds < v->least) {
        v->least = (uint32_t)folds;
        v->least_of = action->member_index;
    }
}

fplt_status fplt__coordinator_deal_folds(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_validation *v = &c->validation;
    char sentence[FPLT__SENTENCE], fewer[160] = "";
    if (v->least < 2)
        return fplt_error_set(error, FPLT_FAILED,
                              "validate: %s cannot leave out one of two folds under its disclosure "
                              "rules (rows, holdout, cells, differencing or questions); leave "
                              "`validate` out, or take it off the roster",
                              c->roster[v->least_of]);
    fplt_status status = make_room(v, v->least, error);
    if (!status)
        status = save(c, error);
    if (status)
        return status;
    if (v->least < v->plan.folds)
        snprintf(fewer, sizeof fewer, " (not %u: %s can have no more)", v->plan.folds,
                 c->roster[v->least_of]);
    snprintf(sentence, sizeof sentence,
             "%zu values of %s in %u folds%s: %zu fits follow, and one on all rows", v->plan.count,
             v->plan.search, v->folds, fewer, fits_of(v));
    fplt__coordinator_log(c, -1, "validation", "%s", sentence);
    fplt__leader_event event = {.kind = FPLT__LEADER_CONCLUDE, .sentence = sentence};
    fplt__coordinator_handle(c, &event);
    return FPLT_OK;
}

/* ---- the fits ---- */

static void name_measure(fplt__coordinator *c)
{
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    fplt__plan_resolution terms = {.settings = NULL};
    fplt__form form;
    const char *name = "loss";
    if (c->seen.score.classifies)
        name = "accuracy";
    else if (!fplt__agreement_form(agreement, &form, NULL) &&
             !fplt__plan_resolution_of(&agreement->proposal, &form, &terms, NULL) &&
             strcmp(terms.job.cost.loss, "least-squares") == 0)
        name = "rmse";
    fplt__plan_resolution_clear(&terms);
    snprintf(c->validation.measure, sizeof c->validation.measure, "%s", name);
}

void fplt__coordinator_keep_fit(fplt__coordinator *c)
{
    struct fplt__coordinator_validation *v = &c->validation;
    fplt_error error = {FPLT_OK, ""};
    size_t at = c->run - first_run(c) - 1;
    if (!fplt__leaves_out_fold(&c->proposal) || !c->seen.has_score || !c->seen.score.records ||
        fplt__leader_get_view(c->leader).state != FPLT__DONE)
        return;
    v->fits += !v->fit[at].rows;
    v->fit[at] = (struct fplt__coordinator_fit){c->seen.score.records, c->seen.score.hits,
                                                c->seen.score.objective};
    name_measure(c);
    v->is_unsaved = save(c, &error) != FPLT_OK;
    if (v->is_unsaved)
        fplt__coordinator_log(c, -1, "disk", "%s; trying again", error.text);
    fplt__coordinator_log(c, -1, "validation",
                          "%s %.6g, %s: held-out loss %.6g over %llu rows; %zu of %zu fits",
                          v->plan.search, v->plan.value[at / v->folds], c->proposal.part,
                          v->fit[at].loss / (double)v->fit[at].rows,
                          (unsigned long long)v->fit[at].rows, v->fits, fits_of(v));
}

/* The files in `out`: validation.txt, .csv and .json. */
static fplt_status write_result(const fplt__coordinator *c, const fplt__validation_view *made,
                                const char *text, fplt_error *error)
{
    char out[4200], path[4300], *csv = NULL, *json = NULL;
    fplt_table *table;
    fplt_status status = fplt__validation_table(made, &table, error);
    if (!status)
        status = fplt_table_render(table, FPLT_TABLE_CSV, &csv, error);
    fplt_table_destroy(table);
    json_t *object = fplt__validation_json(made);
    json = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    const struct {
        const char *name, *text;
    } files[] = {{"validation.txt", text}, {"validation.csv", csv}, {"validation.json", json}};
    fplt__coordinator_make_out(c, out);
    for (size_t i = 0; i < sizeof files / sizeof *files && !status; i++) {
        snprintf(path, sizeof path, "%s/%s", out, files[i].name);
        status = files[i].text
                     ? fplt__file_save(path, 0666, files[i].text, strlen(files[i].text), error)
                     : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for %s", path);
    }
    fplt_free(csv);
    free(json);
    return status;
}

/* All fits are done: the result is written, and the fit on all rows follows. */
static fplt_status begin_chosen(fplt__coordinator *c, fplt_error *error)
{
    fplt__validation_view made;
    fplt_validate_point *points;
    char sentence[FPLT__SENTENCE], *text = NULL;
    fplt_status status = find_result(&c->validation, &made, &points, error);
    if (status)
        return status;
    snprintf(sentence, sizeof sentence, "%s %.6g is chosen: run %u fits all rows with it",
             made.search, made.point[made.chosen].value, c->run + 1);
    if (!(status = show_result(&made, &text, error)) &&
        !(status = write_result(c, &made, text, error)) &&
        !(status = fplt__coordinator_succeed(c, FPLT__CONTINUES_CHOSEN, sentence, error)))
        fplt__coordinator_log(c, -1, "validation", "%s\n%s", sentence, text);
    fplt_free(text);
    fplt__free(points);
    return status;
}

fplt_status fplt__coordinator_begin_part(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_validation *v = &c->validation;
    char sentence[FPLT__SENTENCE];
    size_t next = c->run - first_run(c); /* of the fits */
    fplt_status status = load(c, error);
    if (status)
        return status;
    if (v->is_unsaved && (status = save(c, error)))
        return status;
    v->is_unsaved = 0;
    if (next && !v->fit[next - 1].rows)
        return fplt_error_set(error, FPLT_FAILED,
                              "validate: run %u has ended without a score of the rows that it left "
                              "out; raise `run` above it to begin anew",
                              c->run);
    if (next == fits_of(v))
        return begin_chosen(c, error);
    snprintf(sentence, sizeof sentence, "run %u is fit %zu of %zu of the validation", c->run + 1,
             next + 1, fits_of(v));
    if (!(status = fplt__coordinator_succeed(c, FPLT__CONTINUES_FIT, sentence, error)))
        fplt__coordinator_log(c, -1, "validation", "%s", sentence);
    return status;
}

/* ---- what is shown ---- */

void fplt__coordinator_add_validation(const fplt__coordinator *c, json_t *status)
{
    const struct fplt__coordinator_validation *v = &c->validation;
    fplt__validation_view made;
    fplt_validate_point *points;
    char *text = NULL;
    if (!v->folds)
        return;
    json_t *found = json_pack("{s:s, s:I, s:I, s:I, s:s}", "search", v->plan.search, "folds",
                              (json_int_t)v->folds, "fits", (json_int_t)fits_of(v), "done",
                              (json_int_t)v->fits, "part", c->proposal.part);
    if (v->fits == fits_of(v) && !find_result(v, &made, &points, NULL)) {
        json_object_set_new(found, "result", fplt__validation_json(&made));
        if (!show_result(&made, &text, NULL))
            json_object_set_new(found, "text", json_string(text));
        fplt_free(text);
        fplt__free(points);
    }
    json_object_set_new(status, "validation", found);
}

void fplt__coordinator_record_validation(const fplt__coordinator *c, json_t *record)
{
    const struct fplt__coordinator_validation *v = &c->validation;
    fplt__validation_view made;
    fplt_validate_point *points;
    fplt__validation_part part;
    if (!v->folds || fplt__validation_part_read(&c->proposal, &part, NULL) ||
        part.kind != FPLT__PART_CHOSEN || find_result(v, &made, &points, NULL))
        return;
    const fplt_validate_point *chosen = &made.point[made.chosen];
    const fplt__validated validated = {.search = made.search,
                                       .value = chosen->value,
                                       .by = made.by,
                                       .folds = made.folds,
                                       .measure = made.measure,
                                       .quality = chosen->quality,
                                       .loss = chosen->loss,
                                       .error = chosen->error};
    json_object_set_new(record, "validated", fplt__validated_json(&validated));
    fplt__free(points);
}
