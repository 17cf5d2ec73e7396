/* The certificate of a private run: a JSON document (schema/privacy.schema.json, docs/privacy.md) with
 * everything an auditor needs to compute the promise again, and the function that does so.
 *
 * Threads and blocking: thread-safe; nothing does I/O but for the system's random source (the id of a new certificate).
 * Findings are reported in the calling thread. fplt_certificate_verify computes for up to some seconds. */
#ifndef FEDPLT_CERTIFICATE_H
#define FEDPLT_CERTIFICATE_H

#include <stddef.h>

#include "fedplt/key.h"
#include "fedplt/ledger.h"
#include "fedplt/promise.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FPLT_CERTIFICATE_DIGEST = 32, FPLT_CERTIFICATE_TIME = 32 };

/**
 * Certifies a run that was planned without a job (fplt_promise_plan) and carried out elsewhere. The certificate has a new
 * id and is not signed.
 *
 * @param view    the plan of the run
 * @param rounds  charged, one number an agent; where all take part in every round the certificate states what the plan
 *                paid for
 * @param model   text of the model that came of it (fplt_model_text); borrowed
 * @param length  its bytes
 * @param text    out: the model with its certificate in `training.privacy`, released with fplt_free
 * @retval FPLT_BAD_DATA   that is no model of the plan's dimension
 * @retval FPLT_BAD_VALUE  more rounds were charged than the plan paid for
 */
FPLT_API fplt_status fplt_certificate_make(const fplt_promise_view *view, const uint64_t *rounds,
                                           const char *model, size_t length, char **text,
                                           fplt_error *error);

/* One verified property; `holds`: 0 violated, 1 fulfilled, 2 a notice for the reader. */
typedef void (*fplt_certificate_finding)(void *context, int holds, const char *sentence);

/* How to look; zeroed is legal, and NULL is the same. */
typedef struct fplt_certificate_look {
    const char *model, *model_path; /* the model file that must go with it, or NULL */
    size_t model_length;
    const fplt_key *trusted; /* a signature by one of these is asked for; NULL: none */
    size_t trusted_count;
    fplt_certificate_finding finding; /* may be NULL */
    void *context;
} fplt_certificate_look;

/* What a certificate says, once it was read. */
typedef struct fplt_certificate_summary {
    int holds; /* every finding did */
    double epsilon, delta, gdp_mu;
    uint64_t group;
    int is_signed, has_model; /* it has a signature; a model was held against it */
    char threat[32], algorithm[32];
} fplt_certificate_summary;

/* Reads the inputs that are stated, writes the certificate that follows from them, and compares every
 * field. `text` is a certificate, or a model with one in its training record: then the model is held
 * against it too. A claim that does not hold is a finding; FPLT_BAD_DATA, naming file and field, is a
 * document that is no certificate of this version. What is stated about the run itself (that the noise
 * was drawn, that rows were shortened) cannot be seen in a document. */
FPLT_API fplt_status fplt_certificate_verify(const char *text, size_t length, const char *path,
                                             const fplt_certificate_look *look,
                                             fplt_certificate_summary *summary, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
