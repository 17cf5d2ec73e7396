/* The refit at the end of a run: a run of its own (plan/refit.h), whose model is kept in that of the run before. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "federation/coordinator/coordinator.h"
#include "federation/plan/validation.h"
#include "fedplt/inference.h"
#include "report/model.h"
#include "report/model_access.h"

/* What model.json says of itself; each number is 0 where it says nothing. */
struct written {
    uint32_t run, refit; /* numbers of the runs */
    int is_withheld;     /* a site let no sums for standard errors leave */
};

static uint32_t run_of(const json_t *training)
{
    return (uint32_t)json_integer_value(
        json_object_get(json_object_get(training, "federation"), "run"));
}

static struct written look_at(const char *path)
{
    struct written found = {0, 0, 0};
    json_t *model = json_load_file(path, 0, NULL), *training = json_object_get(model, "training"),
           *failed = json_object_get(training, "refit");
    found.run = run_of(training);
    found.refit = failed ? (uint32_t)json_integer_value(json_object_get(failed, "run"))
                         : run_of(json_object_get(json_object_get(model, "refit"), "training"));
    found.is_withheld = json_object_get(training, "errors_withheld") != NULL;
    json_decref(model);
    return found;
}

static struct written look(const fplt__coordinator *c)
{
    char path[4200];
    fplt__coordinator_path(c, fplt_settings_text(c->settings, "out"), "model.json", path,
                           sizeof path);
    return look_at(path);
}

int fplt__coordinator_is_followed(const fplt__coordinator *c)
{
    if (*c->proposal.validation || fplt__leaves_out_fold(&c->proposal))
        return 1;
    if (c->proposal.refit != FPLT__REFIT_FOLLOWS)
        return 0;
    struct written found = look(c);
    return found.run != c->run || !found.is_withheld;
}

int fplt__coordinator_has_refit(const fplt__coordinator *c)
{
    return look(c).refit == c->run;
}

static fplt_status begin_refit(fplt__coordinator *c, fplt_error *error)
{
    char sentence[FPLT__SENTENCE];
    snprintf(sentence, sizeof sentence,
             "run %u fits the model of run %u without its penalty, from its last model", c->run + 1,
             c->run);
    fplt_status status = fplt__coordinator_succeed(c, FPLT__CONTINUES_REFIT, sentence, error);
    if (!status)
        fplt__coordinator_log(c, -1, "refit", "%s", sentence);
    return status;
}

/* The run and its results are stored. Where this is interrupted, it is done when the run is opened again. */
static void begin_next(fplt__coordinator *c)
{
    fplt_error error = {FPLT_OK, ""};
    int validates = *c->proposal.validation || fplt__leaves_out_fold(&c->proposal);
    fplt_status status =
        validates ? fplt__coordinator_begin_part(c, &error) : begin_refit(c, &error);
    if (!status)
        c->turn.restarts = 1;
    else if (status == FPLT_IO || status == FPLT_NO_MEMORY)
        fplt__coordinator_log(c, -1, "disk", "%s; trying again", error.text);
    else {
        c->turn.failure = status;
        c->turn.error = error;
    }
}

void fplt__coordinator_tend_following(fplt__coordinator *c)
{
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    if (view.committing || c->turn.restarts)
        return;
    if (view.follows && c->end.is_reached && !c->end.write_at)
        begin_next(c);
    if (!*c->end.refusal || view.state >= FPLT__ROUND)
        return;
    fplt__leader_event event = {.kind = FPLT__LEADER_REFUSE, .sentence = c->end.refusal};
    fplt__coordinator_handle(c, &event);
    *c->end.refusal = 0;
}

/* Why the run came to no refit; NULL: it did. */
static const char *find_failure(const fplt__coordinator *c, const fplt_model *refit,
                                char room[FPLT__SENTENCE + 100])
{
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    if (*view.withheld && !c->seen.information) {
        snprintf(room, FPLT__SENTENCE + 100, "%s: %s", c->roster[view.withheld_by], view.withheld);
        return room;
    }
    if (refit && view.state == FPLT__DONE &&
        strcmp(view.outcome, fplt_outcome_name(FPLT_ROUNDS_DONE)) != 0)
        return NULL;
    snprintf(room, FPLT__SENTENCE + 100, "%s%s",
             view.state == FPLT__DONE ? "the fit has not converged, so that there may be none: "
                                      : "",
             view.sentence);
    return room;
}

fplt_status fplt__coordinator_join_refit(fplt__coordinator *c, fplt_model *refit, const char *path,
                                         fplt_model **model, fplt_error *error)
{
    char room[FPLT__SENTENCE + 100];
    const char *failure = find_failure(c, refit, room);
    *model = NULL;
    fplt_status status =
        look_at(path).run == c->run - 1
            ? fplt_model_read(path, model, error)
            : fplt_error_set(error, FPLT_BAD_DATA,
                             "%s is not the model of run %u, which was refitted: put it back", path,
                             c->run - 1);
    if (!status && !failure) {
        fplt__model_set_refit(*model, refit);
        return FPLT_OK;
    }
    fplt_model_destroy(refit);
    if (status)
        return status;
    fplt__coordinator_log(c, -1, "refit", "there is none: %s", failure);
    return fplt__model_add_record(*model, "refit",
                                  json_pack("{s:I, s:s, s:s}", "run", (json_int_t)c->run, "outcome",
                                            fplt__leader_get_view(c->leader).outcome, "sentence",
                                            failure),
                                  error);
}
