/* Attempts to refute the promise of a private fit. */
#include "fedplt/audit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "fedplt/job.h"
#include "fedplt/promise.h"
#include "fedplt_r.h"

typedef struct fpltr_auditing {
    fpltr_beside beside;
    fplt_job *job;
    fplt_promise *plan;
    fplt_audit_settings wanted;
    fplt_audit_result result;
    fplt_status status;
    fplt_error error;
} fpltr_auditing;

static void attack(void *context)
{
    fpltr_auditing *own = context;
    own->status = fplt_audit_run(own->job, own->plan, &own->wanted, &own->result, &own->error);
}

static void finalize_auditing(SEXP pointer)
{
    fpltr_auditing *own = R_ExternalPtrAddr(pointer);
    if (!own)
        return;
    fplt_audit_clear(&own->result);
    fplt_promise_destroy(own->plan);
    fplt_job_destroy(own->job);
    free(own);
    R_ClearExternalPtr(pointer);
}

static SEXP result_list(const fplt_audit_result *result)
{
    static const char *const names[] = {"refuted", "seconds",       "name",  "sees",
                                        "claimed", "bound",         "power", "verdict",
                                        "checks",  "check_verdicts"};
    SEXP list = PROTECT(fpltr_list(names, 10));
    SET_VECTOR_ELT(list, 0, Rf_ScalarLogical(result->refuted));
    SET_VECTOR_ELT(list, 1, Rf_ScalarReal(result->seconds));
    for (int k = 2; k < 10; k++)
        SET_VECTOR_ELT(list, k,
                       Rf_allocVector(k >= 4 && k <= 6 ? REALSXP : STRSXP,
                                      k < 8 ? FPLT_AUDIT_TESTS : FPLT_AUDIT_CHECKS));
    for (int i = 0; i < FPLT_AUDIT_TESTS; i++) {
        const fplt_audit_test *one = &result->test[i];
        SET_STRING_ELT(VECTOR_ELT(list, 2), i, Rf_mkChar(one->name ? one->name : ""));
        SET_STRING_ELT(VECTOR_ELT(list, 3), i, Rf_mkChar(one->sees ? one->sees : ""));
        REAL(VECTOR_ELT(list, 4))[i] = one->claimed;
        REAL(VECTOR_ELT(list, 5))[i] = one->bound;
        REAL(VECTOR_ELT(list, 6))[i] = one->power;
        SET_STRING_ELT(VECTOR_ELT(list, 7), i, Rf_mkChar(fplt_audit_verdict_name(one->verdict)));
    }
    for (int i = 0; i < FPLT_AUDIT_CHECKS; i++) {
        const fplt_audit_check *one = &result->check[i];
        SET_STRING_ELT(VECTOR_ELT(list, 8), i, Rf_mkChar(one->name ? one->name : ""));
        SET_STRING_ELT(VECTOR_ELT(list, 9), i, Rf_mkChar(fplt_audit_verdict_name(one->verdict)));
    }
    UNPROTECT(1);
    return list;
}

static void prepare(fpltr_auditing *own, const fplt_settings *settings, fplt_dataset *dataset)
{
    fplt_job_source source = {.dataset = dataset};
    fplt_status status = fplt_promise_prepare(settings, &source, &own->error);
    if (status)
        fplt_dataset_destroy(source.dataset);
    fpltr_check(status, &own->error);
    fpltr_check(fplt_job_create_from(settings, 0, &source, &own->job, &own->error), &own->error);
    fpltr_check(fplt_promise_create(settings, own->job, &own->plan, &own->error), &own->error);
}

/* settings, data: of a private training; the data set is used up. numbers: runs, threads, confidence. */
SEXP fpltr_audit(SEXP settings, SEXP data, SEXP numbers)
{
    const double *n = REAL(numbers);
    SEXP pointer = PROTECT(fpltr_pointer(finalize_auditing));
    fpltr_auditing *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    prepare(own, fpltr_settings_of(settings), fpltr_dataset_take(data));
    own->wanted = fplt_audit_defaults();
    own->wanted.runs = (uint64_t)n[0];
    own->wanted.threads = (unsigned)n[1];
    own->wanted.confidence = n[2];
    own->wanted.watch = fpltr_beside_watch;
    own->wanted.context = &own->beside;
    own->beside.work = attack;
    own->beside.context = own;
    if (fpltr_beside_start(&own->beside))
        Rf_error("no thread could be started");
    if (fpltr_beside_wait(&own->beside, -1)) {
        finalize_auditing(pointer);
        fpltr_interrupt();
    }
    fpltr_check(own->status, &own->error);
    SEXP list = PROTECT(result_list(&own->result));
    finalize_auditing(pointer);
    UNPROTECT(2);
    return list;
}
