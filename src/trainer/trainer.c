/* Settings and data to a trained model: the order of the steps, and what is kept of a run. */
#include "fedplt/trainer.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "job/job.h"
#include "objective/objective.h"
#include "promise/certificate.h"
#include "report/model.h"

struct fplt_trainer {
    const fplt_settings *settings; /* borrowed */
    fplt_job *job;                 /* owned, as is all below */
    const fplt_job_view *view;     /* of the job */
    fplt_promise *plan;            /* NULL: nothing is promised */
    fplt_engine *engine;
    fplt_history *history;
    char *certificate;
    double *weights; /* room for the model */
    fplt_result result;
    int ran; /* whether there is a result */
    const char *checkpoint;
    uint64_t checkpoint_every;
    int resumed;
    uint64_t resumed_at;
    fplt_observer observer; /* of the run that is under way */
    void *observer_context;
    fplt_error failure; /* of our part of the observing */
};

/* Before it runs */

static fplt_status read_checkpoint(fplt_trainer *trainer, fplt_error *error)
{
    const fplt_settings *settings = trainer->settings;
    trainer->checkpoint = fplt_settings_text(settings, "checkpoint");
    trainer->checkpoint_every = (uint64_t)fplt_settings_integer(settings, "checkpoint-every");
    if (!trainer->checkpoint && fplt_settings_given(settings, "checkpoint-every"))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: checkpoint-every needs a file: give checkpoint",
                              fplt_settings_origin(settings, "checkpoint-every"));
    return FPLT_OK;
}

static fplt_status start_from_model(fplt_trainer *trainer, fplt_error *error)
{
    const fplt_settings *settings = trainer->settings;
    const char *path = fplt_settings_text(settings, "start-model");
    int wanted = trainer->view->run.start == FPLT_START_GIVEN && !trainer->view->run.given;
    if (!wanted && path)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: start-model is given, but start is %s; add start: model",
                              fplt_settings_origin(settings, "start-model"),
                              trainer->view->run.given ? "a point of one's own"
                                                       : fplt_settings_text(settings, "start"));
    if (!wanted)
        return FPLT_OK;
    if (!path)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "start is model, but no file is given: add start-model");
    fplt_model *model;
    fplt_status status = fplt_model_read(path, &model, error);
    if (status)
        return status;
    const fplt_model_info *info = fplt_model_see(model);
    status = fplt_job_start(trainer->job, info->weights, info->dimension, path, error);
    fplt_model_destroy(model);
    return status;
}

static fplt_status resume(fplt_trainer *trainer, fplt_error *error)
{
    const char *path = fplt_settings_text(trainer->settings, "resume");
    fplt_status status = path ? fplt_engine_load(trainer->engine, path, error) : FPLT_OK;
    trainer->resumed = path != NULL;
    trainer->resumed_at = fplt_engine_counters(trainer->engine)->rounds;
    return status;
}

/* Makes the job; the data set of the source is the job's from then on, whatever happens. */
static fplt_status make_job(fplt_trainer *trainer, const fplt_job_source *given, fplt_error *error)
{
    fplt_job_source source = given ? *given : (fplt_job_source){.dataset = NULL};
    fplt_status status = read_checkpoint(trainer, error);
    if (!status)
        status = fplt_promise_prepare(trainer->settings, &source, error);
    if (status) {
        fplt_dataset_destroy(source.dataset);
        return status;
    }
    status = fplt_job_create_from(trainer->settings, 0, &source, &trainer->job, error);
    if (!status)
        trainer->view = fplt_job_see(trainer->job);
    return status;
}

static fplt_status build(fplt_trainer *trainer, fplt_error *error)
{
    const fplt_settings *settings = trainer->settings;
    const fplt_job_view *view = trainer->view;
    size_t n = fplt_objective_dimension(view->objective);
    fplt_status status;
    if ((status = start_from_model(trainer, error)) ||
        (fplt_promise_wanted(settings) &&
         (status = fplt_promise_create(settings, trainer->job, &trainer->plan, error))) ||
        (status = fplt_engine_create(view->objective, &view->run, &trainer->engine, error)) ||
        (status = fplt_history_create(&trainer->history, error)) ||
        (status =
             fplt__alloc_into(&trainer->weights, n, sizeof *trainer->weights, "the model", error)))
        return status;
    return resume(trainer, error);
}

fplt_status fplt_trainer_create(const fplt_settings *settings, const fplt_job_source *source,
                                fplt_trainer **out, fplt_error *error)
{
    fplt_trainer *trainer;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&trainer, 1, sizeof *trainer, "a training", error);
    if (status) {
        fplt_dataset_destroy(source ? source->dataset : NULL);
        return status;
    }
    trainer->settings = settings;
    if ((status = make_job(trainer, source, error)) || (status = build(trainer, error))) {
        fplt_trainer_destroy(trainer);
        return status;
    }
    *out = trainer;
    return FPLT_OK;
}

void fplt_trainer_destroy(fplt_trainer *trainer)
{
    if (!trainer)
        return;
    fplt_history_destroy(trainer->history);
    fplt_engine_destroy(trainer->engine);
    fplt_job_destroy(trainer->job);
    fplt_promise_destroy(trainer->plan);
    fplt__free(trainer->certificate);
    fplt__free(trainer->weights);
    fplt__free(trainer);
}

/* While it runs */

/* A run that goes on measures once more where it stopped. */
static int is_known(const fplt_history *history, uint64_t round)
{
    size_t count = fplt_history_count(history);
    return count && fplt_history_get(history, count - 1)->round == round;
}

static int observe(void *context, const fplt_progress *progress)
{
    fplt_trainer *trainer = context;
    uint64_t round = progress->round, every = trainer->checkpoint_every;
    if (!is_known(trainer->history, round) &&
        fplt_history_add(trainer->history, progress, &trainer->failure))
        return 1;
    if (trainer->checkpoint && every && round && round % every == 0 &&
        fplt_engine_save(trainer->engine, trainer->checkpoint, &trainer->failure))
        return 1;
    return trainer->observer ? trainer->observer(trainer->observer_context, progress) : 0;
}

fplt_status fplt_trainer_run(fplt_trainer *trainer, fplt_observer observer, void *context,
                             fplt_result *result, fplt_error *error)
{
    trainer->observer = observer;
    trainer->observer_context = context;
    trainer->failure.status = FPLT_OK;
    fplt_status status =
        fplt_engine_run(trainer->engine, observe, trainer, &trainer->result, error);
    if (!status && trainer->failure.status) {
        status = trainer->failure.status;
        if (error)
            *error = trainer->failure;
    }
    if (!status && trainer->result.outcome == FPLT_STOPPED && trainer->checkpoint)
        status = fplt_engine_save(trainer->engine, trainer->checkpoint, error);
    trainer->ran = !status;
    if (result)
        *result = trainer->result;
    return status;
}

/* What can be seen of it */

const fplt_job_view *fplt_trainer_job(const fplt_trainer *trainer)
{
    return trainer->view;
}

fplt_engine *fplt_trainer_engine(fplt_trainer *trainer)
{
    return trainer->engine;
}

const fplt_promise_view *fplt_trainer_promise(const fplt_trainer *trainer)
{
    return trainer->plan ? fplt_promise_see(trainer->plan) : NULL;
}

const fplt_history *fplt_trainer_history(const fplt_trainer *trainer)
{
    return trainer->history;
}

fplt_status fplt_trainer_recall(fplt_trainer *trainer, const char *path, fplt_error *error)
{
    uint64_t records = 0;
    for (uint32_t i = 0; i < fplt_objective_agents(trainer->view->objective); i++)
        records += fplt_objective_records(trainer->view->objective, i);
    if (!trainer->resumed)
        return FPLT_OK;
    return fplt_history_read(trainer->history, path, trainer->resumed_at, records, error);
}

fplt_status fplt_trainer_weights(fplt_trainer *trainer, double *x, fplt_error *error)
{
    return fplt__job_weights(trainer->view, trainer->engine, x, error);
}

const char *fplt_trainer_certificate(fplt_trainer *trainer, fplt_error *error)
{
    if (error)
        error->status = FPLT_OK;
    fplt__free(trainer->certificate);
    trainer->certificate = NULL;
    if (!trainer->plan || fplt_trainer_weights(trainer, trainer->weights, error))
        return NULL;
    fplt_certificate_make(trainer->plan, trainer->engine, trainer->weights,
                          fplt_objective_dimension(trainer->view->objective), &trainer->certificate,
                          error);
    return trainer->certificate;
}

/* The model and the record of its run. */
static fplt_status finish(fplt_trainer *trainer, fplt_record *record, fplt_model **model,
                          fplt_error *error)
{
    json_t *certificate = NULL;
    fplt_status status = fplt_trainer_weights(trainer, trainer->weights, error);
    if (!status && trainer->plan)
        status = fplt__certificate_json(trainer->plan, trainer->engine, trainer->weights,
                                        fplt_objective_dimension(trainer->view->objective),
                                        &certificate, error);
    if (!status)
        status = fplt__model_from_run(trainer->job, trainer->engine,
                                      trainer->ran ? &trainer->result : NULL, certificate, record,
                                      model, error);
    json_decref(certificate);
    return status;
}

fplt_status fplt_trainer_model(fplt_trainer *trainer, fplt_model **model, fplt_error *error)
{
    *model = NULL;
    return finish(trainer, NULL, model, error);
}

fplt_status fplt_trainer_record(fplt_trainer *trainer, fplt_record *record, fplt_error *error)
{
    fplt_model *model;
    fplt_status status;
    if (!trainer->view->held_out) {
        status = fplt_trainer_weights(trainer, trainer->weights, error);
        return status ? status
                      : fplt__record_make(trainer->view, trainer->engine, trainer->weights, NULL,
                                          record, error);
    }
    if (!(status = finish(trainer, record, &model, error)))
        fplt_model_destroy(model);
    return status;
}

/* Information */

fplt_status fplt_trainer_information(fplt_trainer *trainer, const double *x, double *matrix,
                                     fplt_error *error)
{
    if (trainer->plan || !trainer->view->training)
        return fplt_error_set(error, FPLT_UNSUPPORTED, "there is no information matrix %s",
                              trainer->plan ? "of a private run: it would tell of the records "
                                              "without noise"
                                            : "of a caller's own costs: their records are not "
                                              "known");
    return fplt__objective_information(trainer->view->objective, x, matrix, NULL, NULL, error);
}
