/* Settings and data to a trained model: the order of the steps, and what is kept of a run. */
#include "fedplt/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "fedplt/schema.h"
#include "base/settings.h"
#include "data/dataset_access.h"
#include "data/schema_access.h"
#include "engine/engine.h"
#include "engine/engine_access.h"
#include "engine/ranks.h"
#include "base/file.h"
#include "promise/spending.h"
#include "job/job.h"
#include "objective/objective.h"
#include "promise/certificate.h"
#include "promise/promise.h"
#include "report/model.h"
#include "report/report.h"
#include "trainer/trainer.h"

struct fplt_trainer {
    const fplt_settings *settings; /* borrowed */
    fplt_ranks *ranks;             /* borrowed, or NULL */
    int in_memory;                 /* the rows were handed over */
    fplt_job *job;                 /* owned, as is all below */
    const fplt_job_view *view;     /* of the job */
    fplt_promise *plan;            /* NULL: nothing is promised */
    fplt__spending *spending;      /* NULL: no ledger is kept */
    fplt_key key;                  /* signs the certificate */
    int signs;
    fplt__certificate_run about; /* of the run, for the certificate */
    uint64_t *rounds;            /* one an agent */
    json_t *document;            /* the certificate of the rounds so far, or NULL */
    uint64_t certified_at;       /* round */
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

static fplt_status start_from_model(fplt_trainer *trainer, fplt_error *error)
{
    const fplt_settings *settings = trainer->settings;
    const char *path = fplt_settings_text(settings, "start-model");
    int wanted = trainer->view->run.start == FPLT_START_GIVEN && !trainer->view->run.given;
    if (!wanted && path)
        return fplt_error_set(
            error, FPLT_BAD_VALUE, "%s: start-model is given, but start is %s; add start: model",
            fplt__settings_origin(settings, "start-model"),
            trainer->view->run.given ? "a given point" : fplt_settings_text(settings, "start"));
    if (!wanted)
        return FPLT_OK;
    if (!path)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "start is model, but no file is given: add start-model");
    fplt_model *model;
    fplt_status status = fplt_model_read(path, &model, error);
    if (status)
        return status;
    const fplt_model_info *info = fplt_model_get_view(model);
    status = fplt__job_start(trainer->job, info->weights, info->dimension, path, error);
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
    const fplt_settings *settings = trainer->settings;
    trainer->checkpoint = fplt_settings_text(settings, "checkpoint");
    trainer->checkpoint_every = (uint64_t)fplt_settings_integer(settings, "checkpoint-every");
    fplt_status status = fplt__spending_check(settings, error);
    if (!status)
        status = fplt_promise_prepare(trainer->settings, &source, error);
    if (status) {
        fplt_dataset_destroy(source.dataset);
        return status;
    }
    trainer->in_memory = source.dataset || source.objective;
    source.rows_once |= !source.dataset; /* read here, and seen by nobody else */
    status = fplt_job_create_from(trainer->settings, 0, &source, &trainer->job, error);
    if (!status)
        trainer->view = fplt_job_get_view(trainer->job);
    return status;
}

static fplt_status promise(fplt_trainer *trainer, fplt_error *error)
{
    const fplt_settings *settings = trainer->settings;
    int leads = fplt__ranks_leads(trainer->ranks);
    const char *ledger = leads ? fplt_settings_text(settings, "ledger") : NULL;
    const char *key = leads ? fplt_settings_text(settings, "sign") : NULL;
    fplt_status status;
    if (!fplt__promise_wanted(settings))
        return FPLT_OK;
    if ((status = fplt_promise_create(settings, trainer->job, &trainer->plan, error)) ||
        (status = fplt__certificate_begin(&trainer->about, error)))
        return status;
    const fplt_promise_view *view = fplt_promise_get_view(trainer->plan);
    if ((status = fplt__alloc_into(&trainer->rounds, view->agents, sizeof *trainer->rounds,
                                   "the rounds", error)) ||
        (key && (status = fplt_key_read(key, &trainer->key, error))) ||
        (ledger && (status = fplt__spending_create(settings, trainer->in_memory, view,
                                                   &trainer->spending, error))))
        return status;
    const fplt_dataset *rows = trainer->view->training; /* own costs have none */
    const fplt_schema *schema = rows ? fplt__dataset_schema(rows) : NULL;
    trainer->about.schema = schema ? fplt__schema_digest(schema) : NULL;
    trainer->about.drafted = view->drafted;
    trainer->about.rounds = trainer->rounds;
    trainer->about.accounts = ledger ? fplt__spending_accounts(trainer->spending) : NULL;
    trainer->signs = key != NULL;
    return key && !trainer->key.can_sign
               ? fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: %s is a public key, which cannot sign; give the secret one",
                                fplt__settings_origin(settings, "sign"), key)
               : FPLT_OK;
}

static fplt_status build(fplt_trainer *trainer, fplt_error *error)
{
    const fplt_job_view *view = trainer->view;
    size_t n = fplt_objective_dimension(view->objective);
    fplt_status status;
    if ((status = start_from_model(trainer, error)) || (status = promise(trainer, error)) ||
        (status = fplt__history_create(&trainer->history, error)) ||
        (status =
             fplt__alloc_into(&trainer->weights, n, sizeof *trainer->weights, "the model", error)))
        return status;
    /* where it can be made in all processes, those that do not lead will answer */
    status = fplt_engine_create(view->objective, &view->run, &trainer->engine, error);
    return status || !fplt__ranks_leads(trainer->ranks) ? status : resume(trainer, error);
}

fplt_status fplt_trainer_create(const fplt_settings *settings, const fplt_job_source *source,
                                fplt_trainer **out, fplt_error *error)
{
    fplt_trainer *trainer;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&trainer, 1, sizeof *trainer, "a training", error);
    if (status) {
        fplt_dataset_destroy(source ? source->dataset : NULL);
        return fplt_ranks_agree(source ? source->ranks : NULL, status, error);
    }
    trainer->settings = settings;
    trainer->ranks = source ? source->ranks : NULL;
    if ((status = make_job(trainer, source, error)) || (status = build(trainer, error))) {
        if (!trainer->engine) /* others may wait to hear of it */
            status = fplt_ranks_agree(trainer->ranks, status, error);
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
    fplt__history_destroy(trainer->history);
    fplt_engine_destroy(trainer->engine);
    fplt_job_destroy(trainer->job);
    fplt__spending_destroy(trainer->spending);
    fplt_promise_destroy(trainer->plan);
    fplt_key_clear(&trainer->key);
    json_decref(trainer->document);
    fplt__free(trainer->rounds);
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

/* In FILE.csv the measurements so far, which a run that goes on begins with, and then the state: if the process is
 * killed between the two, the measurements behind the state are left out when they are read. */
static fplt_status save(fplt_trainer *trainer, fplt_error *error)
{
    char path[4096], *text = NULL;
    fplt_status status = FPLT_OK;
    snprintf(path, sizeof path, "%s.csv", trainer->checkpoint);
    if (!trainer->view->run.blind && !(status = fplt__history_csv(trainer->history, &text, error)))
        status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt_free(text);
    return status ? status : fplt_engine_save(trainer->engine, trainer->checkpoint, error);
}

static int observe(void *context, const fplt_progress *progress)
{
    fplt_trainer *trainer = context;
    uint64_t round = progress->round, every = trainer->checkpoint_every;
    if (!is_known(trainer->history, round) &&
        fplt__history_add(trainer->history, progress, &trainer->failure))
        return 1;
    if (trainer->checkpoint && every && round && round % every == 0 &&
        save(trainer, &trainer->failure))
        return 1;
    return trainer->observer ? trainer->observer(trainer->observer_context, progress) : 0;
}

fplt_status fplt_trainer_run(fplt_trainer *trainer, fplt_observer observer, void *context,
                             fplt_result *result, fplt_error *error)
{
    if (!fplt__ranks_leads(trainer->ranks)) {
        fplt_engine_serve(trainer->engine);
        if (result)
            *result = (fplt_result){.outcome = FPLT_STOPPED};
        return FPLT_OK;
    }
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
        status = save(trainer, error);
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
    return trainer->plan ? fplt_promise_get_view(trainer->plan) : NULL;
}

const fplt_history *fplt_trainer_history(const fplt_trainer *trainer)
{
    return trainer->history;
}

fplt_status fplt__trainer_recall(fplt_trainer *trainer, const char *path, fplt_error *error)
{
    uint64_t records = 0;
    for (uint32_t i = 0; i < fplt_objective_agents(trainer->view->objective); i++)
        records += fplt_objective_records(trainer->view->objective, i);
    if (!trainer->resumed)
        return FPLT_OK;
    return fplt__history_read(trainer->history, path, trainer->resumed_at, records, error);
}

/* Whatever is handed out was charged before. */
static fplt_status pay(fplt_trainer *trainer, fplt_error *error)
{
    if (!trainer->plan)
        return FPLT_OK;
    for (uint32_t i = 0; i < fplt_promise_get_view(trainer->plan)->agents; i++)
        trainer->rounds[i] = fplt__engine_updates(trainer->engine, i);
    return trainer->spending
               ? fplt__spending_pay(trainer->spending, trainer->about.id, trainer->rounds, error)
               : FPLT_OK;
}

fplt_status fplt_trainer_weights(fplt_trainer *trainer, double *x, fplt_error *error)
{
    fplt_status status = pay(trainer, error);
    return status ? status : fplt__job_weights(trainer->view, trainer->engine, x, error);
}

/* The promise of the rounds that were run: a run that was interrupted released no more of them. */
static fplt_status promise_so_far(const fplt_trainer *trainer, uint64_t rounds,
                                  fplt_promise_view *view, fplt_error *error)
{
    *view = *fplt_promise_get_view(trainer->plan);
    if (rounds >= view->mechanism.rounds)
        return FPLT_OK;
    view->mechanism.rounds = rounds;
    return fplt__promise_settle(view, error);
}

/* Own costs have no model: the certificate is about {"loss": "custom", "weights": [...]}. */
static fplt_status certify_weights(fplt_trainer *trainer, const fplt_promise_view *view,
                                   const fplt_key *key, fplt_error *error)
{
    size_t n = fplt_objective_dimension(trainer->view->objective);
    fplt_status status = fplt_trainer_weights(trainer, trainer->weights, error);
    if (status)
        return status;
    json_t *document = json_pack("{s:s, s:[]}", "loss", view->loss.name, "weights");
    json_t *list = json_object_get(document, "weights");
    int failed = !list;
    for (size_t j = 0; !failed && j < n; j++)
        failed = json_array_append_new(list, json_real(trainer->weights[j])) != 0;
    status = failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the weights")
                    : fplt__certificate_bind(view, &trainer->about, key, document,
                                             &trainer->document, error);
    json_decref(document);
    return status;
}

/* Certifies the model of the rounds so far; of the same rounds the certificate stays the same to the byte. Before the
 * first round there is nothing to certify. `model` is NULL where the costs are the caller's own. */
static fplt_status certify(fplt_trainer *trainer, fplt_model *model, fplt_error *error)
{
    uint64_t round = fplt_engine_counters(trainer->engine)->rounds;
    fplt_promise_view view;
    fplt_status status;
    if (!trainer->plan || !round)
        return FPLT_OK;
    if ((status = pay(trainer, error)) || (status = promise_so_far(trainer, round, &view, error)))
        return status;
    if (trainer->certified_at != round)
        fplt__time_text(trainer->about.time);
    trainer->certified_at = round;
    json_decref(trainer->document);
    trainer->document = NULL;
    const fplt_key *key = trainer->signs ? &trainer->key : NULL;
    return model
               ? fplt__model_certify(model, &view, &trainer->about, key, &trainer->document, error)
               : certify_weights(trainer, &view, key, error);
}

/* The model and the record of its run. */
static fplt_status finish(fplt_trainer *trainer, fplt_record *record, fplt_model **model,
                          fplt_error *error)
{
    fplt_status status = pay(trainer, error);
    if (!status)
        status = fplt__model_from_run(trainer->job, trainer->engine,
                                      trainer->ran ? &trainer->result : NULL, record, model, error);
    if (status || !trainer->plan)
        return status;
    if ((status = certify(trainer, *model, error))) {
        fplt_model_destroy(*model);
        *model = NULL;
    }
    return status;
}

const char *fplt_trainer_certificate(fplt_trainer *trainer, fplt_error *error)
{
    fplt_model *model;
    if (error)
        error->status = FPLT_OK;
    fplt__free(trainer->certificate);
    trainer->certificate = NULL;
    if (!trainer->plan)
        return NULL;
    if (!trainer->view->training) {
        if (certify(trainer, NULL, error))
            return NULL;
    } else {
        if (finish(trainer, NULL, &model, error))
            return NULL;
        fplt_model_destroy(model);
    }
    if (!trainer->document)
        return NULL;
    fplt__certificate_text(trainer->document, &trainer->certificate, error);
    return trainer->certificate;
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

fplt_status fplt__trainer_information(fplt_trainer *trainer, const double *x, double *matrix,
                                      fplt_error *error)
{
    if (trainer->plan || !trainer->view->training)
        return fplt_error_set(error, FPLT_UNSUPPORTED, "there is no information matrix %s",
                              trainer->plan
                                  ? "of a private run: it would reveal something about the records "
                                    "without noise"
                                  : "of a caller's own costs: their records are not "
                                    "known");
    fplt__information sums = {matrix, NULL, NULL};
    return fplt__engine_information(trainer->engine, x, &sums, error);
}
