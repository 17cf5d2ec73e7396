/* The certificate before it is text; shared by writing and verifying. */
#ifndef FPLT_PROMISE_CERTIFICATE_H
#define FPLT_PROMISE_CERTIFICATE_H

#include <jansson.h>

#include "fedplt/certificate.h"

/* An earlier run on the records of an agent. */
typedef struct fplt__certificate_charge {
    unsigned char run[FPLT_RUN_BYTES];
    char time[FPLT_CERTIFICATE_TIME];
    uint64_t rounds;
    double rate; /* of one record, against the adversary of the certificate */
} fplt__certificate_charge;

/* What a ledger has on an agent's records; all borrowed. */
typedef struct fplt__certificate_account {
    const char *name; /* NULL: not known to who writes the certificate */
    const fplt__certificate_charge *earlier;
    size_t count;
} fplt__certificate_account;

#define FPLT_CERTIFICATE_KIND "fedplt privacy certificate"
#define FPLT_CERTIFICATE_SECURE \
    "exact discrete Gaussian from the operating system's random source (libsodium)"
#define FPLT_CERTIFICATE_SEEDED "seeded: not private"
#define FPLT_CERTIFICATE_RELEASED                                                               \
    "Step, rho, epochs and rounds are computed from the numbers in this document and not from " \
    "the "                                                                                      \
    "records; the starting point is a model released before, whose run is charged by itself."
#define FPLT_CERTIFICATE_PERSON "one person" /* as a unit begins that is not some records */

#define FPLT_CERTIFICATE_DRAFTED                                                               \
    "The schema was drafted from the records and nobody has confirmed it: its bounds, levels " \
    "and classes may tell of single records, which no noise covers."

enum { FPLT_CERTIFICATE_VERSION = 3, FPLT_CERTIFICATE_OLDEST = 2 /* that is verified */ };
/* Of certificates of divided noise, which have more fields. */
enum { FPLT_CERTIFICATE_SUMS_VERSION = 4 };

/* What a run adds to its plan; all borrowed. */
typedef struct fplt__certificate_run {
    unsigned char id[FPLT_RUN_BYTES];
    char time[FPLT_CERTIFICATE_TIME]; /* of its end, UTC: 2026-03-14T09:26:53Z */
    const char *program;              /* NULL: this one */
    const char *schema; /* hexadecimal digest of the schema by which the data were read, or NULL */
    int drafted;        /* that schema was drafted from the records, and nobody confirmed it */
    const uint64_t *rounds; /* charged, one an agent: those in which it sent an update */
    unsigned char model[FPLT_CERTIFICATE_DIGEST];
    const fplt__certificate_account *accounts; /* one an agent; NULL: no ledger was kept */
    int released_start; /* it began at a model that was released before, whose run was charged by itself;
                           0: at a point that has nothing to do with the records */
    const char *excluded; /* members that were excluded: the run went on without them; NULL: none */
} fplt__certificate_run;

/* A random id, and the time of day. */
fplt_status fplt__certificate_begin(fplt__certificate_run *run, fplt_error *error);

/* The certificate of a run as that version has it, not signed; a new reference. Whether it is of version 3 or of 4 follows
 * from the threat model. */
fplt_status fplt__certificate_json(const fplt_promise_view *view, const fplt__certificate_run *run,
                                   int version, json_t **document, fplt_error *error);

/* The certificate of a run and of the model that came of it, whose document gets in its training record the digest of
 * the certificate (`certificate`) and the certificate itself (`privacy`), in place of any it has. `key` signs; NULL: not signed.
 * The certificate is a new reference. */
fplt_status fplt__certificate_bind(const fplt_promise_view *view, fplt__certificate_run *run,
                                   const fplt_key *key, json_t *model, json_t **certificate,
                                   fplt_error *error);

/* A document with indentation; released with fplt_free. */
fplt_status fplt__certificate_text(const json_t *document, char **text, fplt_error *error);

/* What a model names its certificate by, in hexadecimal digits: BLAKE2b-256 of "fedplt-certificate-3\n" and the canonical
 * bytes of the certificate without `model` and `signature`. */
fplt_status fplt__certificate_commitment(const json_t *certificate,
                                         char hex[2 * FPLT_CERTIFICATE_DIGEST + 1],
                                         fplt_error *error);

/* What a certificate of a version names its model by: BLAKE2b-256 of "fedplt-model-2\n" and the canonical bytes of a
 * model's document without `program`, with its `training` without `privacy` (an empty object where there is none). Before
 * version 3: "fedplt-model-1\n" and the document without `program` and `training`. */
fplt_status fplt__model_digest(const json_t *model, int version,
                               unsigned char digest[FPLT_CERTIFICATE_DIGEST], fplt_error *error);

/* Adds the fields of divided noise and sets the version, where the threat model is secagg-sum; elsewhere nothing. */
fplt_status fplt__certificate_add_sums(const fplt_promise_view *view, json_t *document,
                                       fplt_error *error);
/* Reads the inputs among them into a view that has its threat model and agents, and sets mechanism.honest. */
void fplt__certificate_read_sums(const json_t *document, fplt_promise_view *view);

/* How many agents have a ledger, and how many of these contradict themselves or another one: an account has one
 * history, in which a run other than this one is charged once and for some round. */
void fplt__histories_check(const fplt__certificate_account *accounts, uint32_t agents,
                           const unsigned char *run, uint32_t *known, uint32_t *odd);

/* The bytes that are signed: "fedplt-certificate-1\n" and the canonical bytes of the document without
 * `signature`. Released with fplt_free. */
fplt_status fplt__certificate_bytes(const json_t *document, char **bytes, size_t *length,
                                    fplt_error *error);

#endif
