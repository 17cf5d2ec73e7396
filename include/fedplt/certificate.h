/* The certificate of a private run: a JSON document (schema/privacy.schema.json, docs/privacy.md) with
 * everything an auditor needs to compute the promise again, and the function that does so. */
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

/* An earlier run on the records of an agent. */
typedef struct fplt_certificate_charge {
    unsigned char run[FPLT_RUN_BYTES];
    char time[FPLT_CERTIFICATE_TIME];
    uint64_t rounds;
    double rate; /* of one record, against the adversary of the certificate */
} fplt_certificate_charge;

/* What a ledger has on an agent's records; all borrowed. */
typedef struct fplt_certificate_account {
    const char *name; /* NULL: not known to who writes the certificate */
    const fplt_certificate_charge *earlier;
    size_t count;
} fplt_certificate_account;

/* What a run adds to its plan; all borrowed. */
typedef struct fplt_certificate_run {
    unsigned char id[FPLT_RUN_BYTES];
    char time[FPLT_CERTIFICATE_TIME]; /* of its end, UTC: 2026-03-14T09:26:53Z */
    const char *program;              /* NULL: this one */
    const char *schema; /* hexadecimal digest of the schema by which the data were read, or NULL */
    const uint64_t *rounds; /* charged, one an agent: those in which it sent an update */
    unsigned char model[FPLT_CERTIFICATE_DIGEST];
    const fplt_certificate_account *accounts; /* one an agent; NULL: no ledger was kept */
    int released_start; /* it began at a model that was released before, whose run was charged by itself;
                           0: at a point that has nothing to do with the records */
} fplt_certificate_run;

/* A random id, and the time of day. */
FPLT_API fplt_status fplt_certificate_begin(fplt_certificate_run *run, fplt_error *error);

/* The text is released with fplt_free. `key` signs it; NULL: it is not signed. */
FPLT_API fplt_status fplt_certificate_make(const fplt_promise_view *view,
                                           const fplt_certificate_run *run, const fplt_key *key,
                                           char **text, fplt_error *error);

/* The same for a run that was planned without a job (fplt_promise_plan) and carried out elsewhere, with a new
 * id and not signed: `rounds` were charged, one number an agent (where all take part in every round the
 * certificate states what the plan paid for), and `model` (its text, see
 * fplt_model_text) came of it. FPLT_BAD_DATA where that is no model of the plan's dimension,
 * FPLT_BAD_VALUE where more rounds were charged than the plan paid for. */
FPLT_API fplt_status fplt_certificate_make_for(const fplt_promise_view *view,
                                               const uint64_t *rounds, const char *model,
                                               size_t length, char **text, fplt_error *error);

/* One thing that was looked at, and whether it is as it must be. */
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
