/* A training: settings and data, or costs in R, to a trained model. */
#include "fedplt_r.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run.h"

#include "fedplt/algorithm.h"
#include "fedplt/record.h"
#include "fedplt/report.h"

/* Looks at R a few times a second, where rounds are short. */
typedef struct fpltr_watch {
    SEXP callback; /* called after every round, guarded in R as costs are; or NULL of R */
    double last;
    int interrupted, failed;
    char message[512];
} fpltr_watch;

static void finalize_run(SEXP pointer)
{
    fpltr_run_destroy(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* A person's function gets the round and the criterion (NA: not measured), and stops the run by TRUE. Its guard in R catches its
 * errors, so only an interrupt before or after the guard ends the call itself. */
static int call_back(fpltr_watch *watch, const fplt_progress *progress)
{
    int failed = 0, stop = 0;
    SEXP round = PROTECT(Rf_ScalarReal((double)progress->round));
    SEXP criterion =
        PROTECT(Rf_ScalarReal(progress->measured ? progress->measure.criterion : NA_REAL));
    SEXP call = PROTECT(Rf_lang3(watch->callback, round, criterion));
    SEXP answer = R_tryEvalSilent(call, R_GlobalEnv, &failed);
    PROTECT(answer = failed ? R_NilValue : answer);
    if (failed || Rf_inherits(answer, "fedplt_interrupted"))
        watch->interrupted = stop = 1;
    else if (Rf_inherits(answer, "fedplt_failed"))
        watch->failed = stop = 1;
    else
        stop = Rf_isLogical(answer) && XLENGTH(answer) == 1 && LOGICAL(answer)[0] == TRUE;
    if (watch->failed)
        snprintf(watch->message, sizeof watch->message, "%s",
                 Rf_translateChar(STRING_ELT(answer, 0)));
    UNPROTECT(4);
    return stop;
}

static int observe(void *context, const fplt_progress *progress)
{
    const double period = 0.05; /* seconds */
    fpltr_watch *watch = context;
    double seconds = now();
    if (!Rf_isNull(watch->callback) && call_back(watch, progress))
        return 1;
    if (seconds - watch->last < period)
        return 0;
    watch->last = seconds;
    watch->interrupted = fpltr_is_interrupted();
    return watch->interrupted;
}

static SEXP history_list(const fplt_history *history)
{
    static const char *const names[] = {"round",     "active",     "criterion",    "objective",
                                        "gradients", "vectors_up", "vectors_down", "time"};
    enum { COLUMNS = sizeof names / sizeof *names };
    R_xlen_t count = (R_xlen_t)fplt_history_count(history);
    SEXP list = PROTECT(fpltr_list(names, COLUMNS));
    for (int k = 0; k < COLUMNS; k++)
        SET_VECTOR_ELT(list, k, Rf_allocVector(REALSXP, count));
    for (R_xlen_t i = 0; i < count; i++) {
        const fplt_progress *one = fplt_history_get(history, (size_t)i);
        const double row[COLUMNS] = {(double)one->round,
                                     (double)one->active,
                                     one->measure.criterion,
                                     one->measure.objective,
                                     one->counters.gradients,
                                     (double)one->counters.vectors_up,
                                     (double)one->counters.vectors_down,
                                     one->counters.time};
        for (int k = 0; k < COLUMNS; k++)
            REAL(VECTOR_ELT(list, k))[i] = row[k];
    }
    UNPROTECT(1);
    return list;
}

static void set_choice(SEXP list, R_xlen_t at, const char *name, double value, const char *word,
                       const char *why)
{
    SET_STRING_ELT(VECTOR_ELT(list, 0), at, Rf_mkCharCE(name ? name : "", CE_UTF8));
    REAL(VECTOR_ELT(list, 1))[at] = isnan(value) ? NA_REAL : value;
    SET_STRING_ELT(VECTOR_ELT(list, 2), at, word ? Rf_mkCharCE(word, CE_UTF8) : NA_STRING);
    SET_STRING_ELT(VECTOR_ELT(list, 3), at, Rf_mkCharCE(why ? why : "", CE_UTF8));
}

/* Each value that was chosen or given, and why. */
static SEXP choices_list(fplt_trainer *trainer)
{
    static const char *const names[] = {"name", "value", "word", "why"};
    static const SEXPTYPE types[] = {STRSXP, REALSXP, STRSXP, STRSXP};
    fplt_error error = {.status = FPLT_OK};
    const fplt_job_view *view = fplt_trainer_job(trainer);
    fplt_record *record = (fplt_record *)R_alloc(1, sizeof *record);
    SEXP list = PROTECT(fpltr_list(names, 4));
    fpltr_check(fplt_trainer_record(trainer, record, &error), &error);
    R_xlen_t count = (R_xlen_t)record->parameters;
    for (int k = 0; k < 4; k++)
        SET_VECTOR_ELT(list, k, Rf_allocVector(types[k], count + 3));
    set_choice(list, 0, "algorithm", NAN, view->run.algorithm->name,
               view->automatic ? view->automatic->about_algorithm : NULL);
    for (R_xlen_t i = 0; i < count; i++)
        set_choice(list, i + 1, record->parameter[i].name, record->parameter[i].value,
                   record->parameter[i].word, record->parameter[i].why);
    set_choice(list, count + 1, record->epochs.name, record->epochs.value, record->epochs.word,
               record->epochs.why);
    set_choice(list, count + 2, record->step.name, record->step.value, record->step.word,
               record->step.why);
    UNPROTECT(1);
    return list;
}

static SEXP trained_certificate(fplt_trainer *trainer)
{
    fplt_error error = {.status = FPLT_OK};
    const char *text = fplt_trainer_certificate(trainer, &error);
    if (!text && error.status)
        fpltr_fail(&error);
    return text ? fpltr_text(text) : R_NilValue;
}

static SEXP trained_list(fpltr_run *run)
{
    static const char *const names[] = {"x",         "outcome", "sentence", "rounds",      "target",
                                        "criterion", "history", "choices",  "certificate", "model"};
    fplt_error error = {.status = FPLT_OK};
    const fplt_result *result = &run->result;
    size_t dimension = fplt_objective_dimension(fplt_trainer_job(run->trainer)->objective);
    SEXP list = PROTECT(fpltr_list(names, sizeof names / sizeof *names));
    SET_VECTOR_ELT(list, 0, Rf_allocVector(REALSXP, (R_xlen_t)dimension));
    fpltr_check(fplt_trainer_weights(run->trainer, REAL(VECTOR_ELT(list, 0)), &error), &error);
    SET_VECTOR_ELT(list, 1, fpltr_text(fplt_outcome_name(result->outcome)));
    SET_VECTOR_ELT(list, 2, fpltr_text(result->sentence));
    SET_VECTOR_ELT(list, 3, Rf_ScalarReal((double)result->counters.rounds));
    SET_VECTOR_ELT(list, 4, Rf_ScalarReal(result->target));
    SET_VECTOR_ELT(list, 5, Rf_ScalarReal(result->end.criterion));
    SET_VECTOR_ELT(list, 6, history_list(fplt_trainer_history(run->trainer)));
    SET_VECTOR_ELT(list, 7, choices_list(run->trainer));
    SET_VECTOR_ELT(list, 8, trained_certificate(run->trainer));
    if (run->model)
        SET_VECTOR_ELT(list, 9, fpltr_model_list(run->model));
    UNPROTECT(1);
    return list;
}

/* A run that owns the settings and the data set, and a copy of the start. */
static fpltr_run *make_run(SEXP settings, SEXP data, SEXP start, fplt_objective *objective)
{
    fpltr_run *run = calloc(1, sizeof *run);
    double *copy = Rf_isNull(start) ? NULL : malloc(sizeof *copy * (size_t)XLENGTH(start) + 1);
    if (!run || (!copy && !Rf_isNull(start))) {
        free(run);
        free(copy);
        Rf_error("no memory");
    }
    run->source.objective = objective;
    run->wants_model = !objective;
    if (copy) {
        memcpy(copy, REAL(start), sizeof *copy * (size_t)XLENGTH(start));
        run->source.start = copy;
        run->source.start_count = (size_t)XLENGTH(start);
    }
    run->settings = fpltr_settings_take(settings);
    if (!Rf_isNull(data)) {
        run->source.dataset = R_ExternalPtrAddr(data);
        R_ClearExternalPtr(data);
        run->source.rows_once =
            1; /* R has the rows; the library gives its own back while it packs them */
    }
    return run;
}

/* Costs of R are called in R's main thread, everything else runs beside it. Does not return where the run was interrupted or
 * failed. */
static void train(SEXP pointer, const fpltr_costs *costs, fpltr_watch *watch)
{
    fpltr_run *run = R_ExternalPtrAddr(pointer);
    int has_callback = !Rf_isNull(watch->callback), left = -1;
    if (run->source.objective == NULL) {
        R_ClearExternalPtr(
            pointer); /* nothing below jumps before the run is ended or handed over */
        left = fpltr_run_beside(&run, has_callback ? observe : NULL, watch);
        R_SetExternalPtrAddr(pointer, run);
    }
    if (left < 0)
        fpltr_run_train(run, observe, watch);
    if (left > 0 || watch->interrupted || costs->interrupted) {
        finalize_run(pointer);
        fpltr_interrupt();
    }
    fplt_error error = run->error;
    fplt_status status = run->status;
    if (!status && run->result.outcome == FPLT_RUN_DIVERGED)
        status = fplt_error_set(&error, FPLT_DIVERGED, "%s", run->result.sentence);
    if (watch->failed || costs->failed || status)
        finalize_run(pointer);
    if (watch->failed)
        Rf_error("the callback failed: %s", watch->message);
    if (costs->failed)
        Rf_error("a cost failed: %s", costs->message);
    fpltr_check(status, &error);
}

/* settings: used up. data: of fpltr_dataset, which is used up; or costs: list(dimension, agents, value, gradient); start: one number
 * a coordinate; callback: function(round, criterion). Each of the last four may be NULL. */
SEXP fpltr_train(SEXP settings, SEXP data, SEXP costs, SEXP start, SEXP callback)
{
    fpltr_costs own = {.value = R_NilValue};
    fpltr_watch watch = {.callback = callback, .last = now()};
    SEXP objective = PROTECT(fpltr_objective(costs, &own));
    SEXP pointer = PROTECT(fpltr_pointer(finalize_run));
    if (!Rf_isNull(data) && !R_ExternalPtrAddr(data))
        Rf_error("this data set was used already");
    R_SetExternalPtrAddr(pointer, make_run(settings, data, start, R_ExternalPtrAddr(objective)));
    train(pointer, &own, &watch);
    SEXP list = PROTECT(trained_list(R_ExternalPtrAddr(pointer)));
    finalize_run(pointer);
    UNPROTECT(3);
    return list;
}
