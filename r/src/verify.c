/* Verification of certificates. */
#include "fedplt_r.h"

#include <stdio.h>
#include <string.h>

#include "fedplt/certificate.h"

enum { FINDINGS_MAX = 256, SENTENCE_MAX = 1024 };

/* Findings, kept in memory of the call so that no R function runs inside the library. */
typedef struct fpltr_findings {
    size_t count;
    int holds[FINDINGS_MAX];
    char sentence[FINDINGS_MAX][SENTENCE_MAX];
} fpltr_findings;

static void keep_finding(void *context, int holds, const char *sentence)
{
    fpltr_findings *findings = context;
    if (findings->count == FINDINGS_MAX)
        return;
    findings->holds[findings->count] = holds;
    snprintf(findings->sentence[findings->count], SENTENCE_MAX, "%s", sentence);
    findings->count++;
}

static SEXP findings_list(const fpltr_findings *findings)
{
    static const char *const names[] = {"holds", "sentence"};
    SEXP list = PROTECT(fpltr_list(names, 2));
    SET_VECTOR_ELT(list, 0, Rf_allocVector(INTSXP, (R_xlen_t)findings->count));
    SET_VECTOR_ELT(list, 1, Rf_allocVector(STRSXP, (R_xlen_t)findings->count));
    for (size_t i = 0; i < findings->count; i++) {
        INTEGER(VECTOR_ELT(list, 0))[i] = findings->holds[i];
        SET_STRING_ELT(VECTOR_ELT(list, 1), (R_xlen_t)i,
                       Rf_mkCharCE(findings->sentence[i], CE_UTF8));
    }
    UNPROTECT(1);
    return list;
}

/* certificate, model: texts; the model may be NULL. */
SEXP fpltr_verify(SEXP certificate, SEXP model)
{
    static const char *const names[] = {"holds",  "epsilon",   "delta",   "mu",
                                        "threat", "algorithm", "findings"};
    fplt_error error = {.status = FPLT_OK};
    fplt_certificate_summary summary = {.holds = 0};
    fpltr_findings *findings = (fpltr_findings *)R_alloc(1, sizeof *findings);
    const char *text = fpltr_string(certificate), *held = fpltr_string(model);
    fplt_certificate_look look = {.model = held,
                                  .model_length = held ? strlen(held) : 0,
                                  .model_path = held ? "model" : NULL,
                                  .finding = keep_finding,
                                  .context = findings};
    findings->count = 0;
    fpltr_check(fplt_certificate_verify(text, strlen(text), "certificate", &look, &summary, &error),
                &error);
    SEXP list = PROTECT(fpltr_list(names, sizeof names / sizeof *names));
    SET_VECTOR_ELT(list, 0, Rf_ScalarLogical(summary.holds));
    SET_VECTOR_ELT(list, 1, Rf_ScalarReal(summary.epsilon));
    SET_VECTOR_ELT(list, 2, Rf_ScalarReal(summary.delta));
    SET_VECTOR_ELT(list, 3, Rf_ScalarReal(summary.gdp_mu));
    SET_VECTOR_ELT(list, 4, fpltr_text(summary.threat));
    SET_VECTOR_ELT(list, 5, fpltr_text(summary.algorithm));
    SET_VECTOR_ELT(list, 6, findings_list(findings));
    UNPROTECT(1);
    return list;
}
