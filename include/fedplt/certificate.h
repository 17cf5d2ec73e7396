/* The certificate of a private run: a JSON document (schema/privacy.schema.json) with everything an
 * auditor needs to compute the promise again, and the function that does so. */
#ifndef FEDPLT_CERTIFICATE_H
#define FEDPLT_CERTIFICATE_H

#include <stddef.h>

#include "fedplt/engine.h"
#include "fedplt/promise.h"

#ifdef __cplusplus
extern "C" {
#endif

/* After the run: charges each agent the rounds in which it sent an update. `weights` is the model
 * that is handed out (the certificate carries its digest). The text is released with fplt_free. */
FPLT_API fplt_status fplt_certificate_make(const fplt_promise *plan, const fplt_engine *engine,
                                           const double *weights, size_t dimension, char **text,
                                           fplt_error *error);

/* One thing that was looked at, and whether it is as it must be. */
typedef void (*fplt_certificate_finding)(void *context, int holds, const char *sentence);

/* What a certificate says, once it was read. */
typedef struct fplt_certificate_summary {
    int holds; /* every finding did */
    double epsilon, delta, gdp_mu;
    char threat[32], algorithm[32];
} fplt_certificate_summary;

/* Computes the claim again from the inputs that are stated and compares. `text` is a certificate, or
 * a model with one in its training record: then the model is held against it too. A claim that does
 * not hold is a finding; FPLT_BAD_DATA, naming file and field, is a document that is no certificate.
 * What is stated about the run itself (that the noise was drawn, that rows were shortened) cannot be
 * seen in a document. */
FPLT_API fplt_status fplt_certificate_verify(const char *text, size_t length, const char *path,
                                             fplt_certificate_finding finding, void *context,
                                             fplt_certificate_summary *summary, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
