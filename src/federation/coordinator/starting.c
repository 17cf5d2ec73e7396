/* Where a run begins: at zero, at a model file, or at the last model of the run before. The vector is
 * stored with the run, so that nothing depends on the file or the earlier run afterwards. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/naming.h"
#include "report/model_access.h"
#include "fedplt/encoding.h"

/* What federation.yaml says */

static void take_away(fplt__proposal *proposal, const char *name)
{
    for (size_t i = 0; i < proposal->settings; i++)
        if (strcmp(proposal->setting[i].name, name) == 0) {
            fplt__free(proposal->setting[i].name);
            fplt__free(proposal->setting[i].value);
            memmove(&proposal->setting[i], &proposal->setting[i + 1],
                    (--proposal->settings - i) * sizeof *proposal->setting);
            return;
        }
}

/* With a promise it is one of its terms: nothing but a released model may be begun at. */
static fplt_status say_start(fplt__proposal *proposal, fplt_error *error)
{
    take_away(proposal, "start");
    return proposal->privacies ? fplt__proposal_promise(proposal, "start", "released", error)
                               : fplt__proposal_set(proposal, "start", "model", error);
}

fplt_status fplt__coordinator_read_start(fplt__coordinator *c, fplt_error *error)
{
    fplt__proposal *proposal = &c->proposal;
    const char *start = fplt__pair_find(proposal->setting, proposal->settings, "start");
    const char *file = fplt__pair_find(proposal->setting, proposal->settings, "start-model");
    int wanted = start && strcmp(start, "model") == 0;
    c->start.continued = fplt_settings_switch(c->settings, "continue");
    if (c->excluded.continued) { /* the start of the settings was that of the run before */
        take_away(proposal, "start-model");
        c->start.continued = 1;
        return say_start(proposal, error);
    }
    if (c->start.continued && (start || file))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "continue is yes, which begins at the last model of the run before; "
                              "leave train's `%s` out",
                              file ? "start-model" : "start");
    if (c->start.continued)
        return say_start(proposal, error);
    if (wanted && !file)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "train: start is model, but no file is given: add start-model, or "
                              "`continue: yes` for the last model of the run before");
    if (!wanted && file)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "train: start-model is given, but start is not model; add `start: "
                              "model`");
    if (!file)
        return FPLT_OK;
    fplt__coordinator_path(c, file, NULL, c->start.file, sizeof c->start.file);
    take_away(proposal, "start-model"); /* the others hear of the vector, not of a path here */
    return say_start(proposal, error);
}

/* The vector */

/* The promise of a private model includes the model that its training started at. */
static fplt_status check_released(const fplt__coordinator *c, int private, const char *what,
                                  fplt_error *error)
{
    return private || !c->proposal.privacies
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: a private run can only begin at the model of another private "
                                "one, and this one promises nothing; begin at zero",
                                what);
}

static fplt_status keep(fplt__coordinator *c, const double *x, size_t count, fplt_error *error)
{
    fplt__free(c->start.vector);
    c->start.vector = NULL;
    fplt_status status =
        fplt__alloc_into(&c->start.vector, count, sizeof *c->start.vector, "the start", error);
    if (status)
        return status;
    FPLT__ASSERT(count > 0);
    memcpy(c->start.vector, x, count * sizeof *c->start.vector);
    c->start.count = count;
    return FPLT_OK;
}

/* What its coordinates belong to. */
static fplt_status keep_names(fplt__coordinator *c, const fplt_model *model, fplt_error *error)
{
    fplt_free(c->start.names);
    return fplt__naming_list(fplt_model_get_view(model), &c->start.names, error);
}

static fplt_status begin_at_file(fplt__coordinator *c, fplt_error *error)
{
    fplt_model *model;
    if (fplt__is_custom(&c->proposal))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: start-model is given, but a custom cost starts at zero, or "
                              "with `continue: yes` at the last model of the run before");
    fplt_status status = fplt_model_read(c->start.file, &model, error);
    if (status)
        return status;
    const fplt_model_info *info = fplt_model_get_view(model);
    if (!(status = check_released(c, fplt__model_is_private(model), c->start.file, error)) &&
        !(status = keep_names(c, model, error)))
        status = keep(c, info->weights, info->dimension, error);
    fplt_model_destroy(model);
    return status;
}

/* The numbers of a custom cost mean something to the same cost only. */
static fplt_status check_cost(const fplt__custom_model *now, const fplt__custom_model *then,
                              fplt_error *error)
{
    return now->dimension == then->dimension && fplt__same(&now->digest, &then->digest)
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "continue is yes, but the run before trained %s, and this one %s; "
                                "begin at zero (`continue: no`)",
                                then->dimension ? "a custom cost of another digest"
                                                : "a built-in loss",
                                now->dimension ? "a custom cost" : "a built-in loss");
}

/* Those of a custom cost have no names. */
static fplt_status name_coordinates(fplt__coordinator *c, const fplt__agreement *agreement,
                                    const double *x, fplt_error *error)
{
    fplt_model *model;
    if (fplt__is_custom(&c->proposal))
        return FPLT_OK;
    fplt_status status = fplt__plan_resolution_model(agreement, x, NULL, NULL, &model, error);
    if (status)
        return status;
    status = keep_names(c, model, error);
    fplt_model_destroy(model);
    return status;
}

/* The last committed model of a run whose plan is `text`. */
static fplt_status model_of(fplt__coordinator *c, const fplt__leader_record *record,
                            fplt_error *error)
{
    fplt__agreement *agreement;
    fplt__leader_plan plan;
    double *x = NULL;
    fplt_status status = fplt__alloc_into(&agreement, 1, sizeof *agreement, "a plan", error);
    if (status)
        return status;
    if ((status =
             fplt__agreement_read(record->document, record->document_size, agreement, error))) {
        fplt__free(agreement);
        return status;
    }
    size_t n = agreement->plan.dimension;
    int private = agreement->private;
    if ((status = fplt__plan_resolution_lead(agreement, NULL, &plan, error)))
        return status;
    if (!(status = check_released(c, private, "continue", error)) &&
        !(status = fplt__alloc_into(&x, n, sizeof *x, "the start", error)) &&
        !(status = fplt_hub_decode(plan.hub, record->hub, record->hub_size, error)) &&
        !(status = fplt_hub_model(plan.hub, x)) &&
        !(status = check_cost(&c->proposal.model, &plan.agreement->proposal.model, error)) &&
        !(status = name_coordinates(c, plan.agreement, x, error)))
        status = keep(c, x, n, error);
    fplt__free(x);
    fplt__leader_plan_clear(&plan);
    return status;
}

static fplt_status begin_at_last(fplt__coordinator *c, fplt_error *error)
{
    fplt__leader_loaded loaded;
    uint32_t last;
    fplt_status status = fplt__leader_store_newest(c->store, c->run, &last, error);
    if (status)
        return status;
    if (last == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "continue is yes, but %s/federation.db has no run before %u; the "
                              "model of an agent can be given instead: train: {start: model, "
                              "start-model: FILE}",
                              c->folder, c->run);
    if ((status = fplt__leader_store_load_end(c->store, last, &loaded, error)))
        return status;
    FPLT__ASSERT(last < c->run);
    if (loaded.record.hub) {
        c->start.continues = loaded.record.hash;
        status = model_of(c, &loaded.record, error);
    } else {
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "continue is yes, but run %u ended before its first round: it has "
                                "no model; write `continue: no`",
                                last);
    }
    fplt__leader_loaded_clear(&loaded);
    return status;
}

static int begins_at_zero(const fplt__coordinator *c)
{
    return !c->start.continued && !*c->start.file;
}

fplt_status fplt__coordinator_begin(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status;
    if (begins_at_zero(c))
        return FPLT_OK;
    memset(&c->start.continues, 0, sizeof c->start.continues);
    if ((status = c->start.continued ? begin_at_last(c, error) : begin_at_file(c, error)))
        return status;
    FPLT__ASSERT(c->start.vector && c->start.count > 0);
    return fplt__leader_store_keep_start(c->store, c->run, c->start.vector, c->start.count,
                                         &c->start.continues, error);
}

fplt_status fplt__coordinator_begun(fplt__coordinator *c, int *changed, fplt_error *error)
{
    double *stored;
    size_t count;
    fplt_error ignored;
    *changed = 0;
    if (begins_at_zero(c))
        return FPLT_OK;
    fplt_status status =
        fplt__leader_store_start(c->store, c->run, &stored, &count, &c->start.continues, error);
    if (status)
        return status;
    *changed = *c->start.file && stored && !begin_at_file(c, &ignored) &&
               (c->start.count != count || memcmp(c->start.vector, stored, count * sizeof *stored));
    fplt__digest continues = c->start.continues;
    if (c->start.continued) /* for its names; the vector is the stored one */
        begin_at_last(c, &ignored);
    c->start.continues = continues;
    fplt__free(c->start.vector);
    c->start.vector = stored;
    c->start.count = count;
    return FPLT_OK;
}

fplt_status fplt__coordinator_state_start(const fplt__coordinator *c, fplt__agreement *agreement,
                                          fplt_error *error)
{
    if (!c->start.vector)
        return FPLT_OK;
    if (c->start.count != agreement->plan.dimension)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: the starting point has %zu coordinates, but this run needs %zu",
                              c->start.continued ? "continue" : "start-model", c->start.count,
                              agreement->plan.dimension);
    FPLT__ASSERT(!begins_at_zero(c) && fplt__is_zero(&agreement->start));
    agreement->continues = c->start.continues;
    fplt_status status =
        fplt__naming_compare(c->start.names, agreement,
                             c->start.continued ? "continue" : "start-model", error);
    return status ? status
                  : fplt__start_digest(c->start.vector, c->start.count, &agreement->start, error);
}
