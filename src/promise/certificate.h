/* The certificate before it is text; shared by writing and verifying. */
#ifndef FPLT_PROMISE_CERTIFICATE_H
#define FPLT_PROMISE_CERTIFICATE_H

#include <jansson.h>

#include "fedplt/certificate.h"

#define FPLT_CERTIFICATE_KIND "fedplt privacy certificate"
#define FPLT_CERTIFICATE_SECURE \
    "exact discrete Gaussian from the operating system's random source (libsodium)"
#define FPLT_CERTIFICATE_SEEDED "seeded: not private"
#define FPLT_CERTIFICATE_RELEASED                                                               \
    "Step, rho, epochs and rounds are computed from the numbers in this document and not from " \
    "the "                                                                                      \
    "records; the starting point is a model released before, whose run is charged by itself."
#define FPLT_CERTIFICATE_PERSON "one person" /* as a unit begins that is not some records */

enum { FPLT_CERTIFICATE_VERSION = 2 };

/* As fplt_certificate_make; the document is a new reference. */
fplt_status fplt__certificate_json(const fplt_promise_view *view, const fplt_certificate_run *run,
                                   const fplt_key *key, json_t **document, fplt_error *error);

/* BLAKE2b-256 of "fedplt-model-1\n" and the canonical bytes of a model's document without `program`
 * and `training`. */
fplt_status fplt__model_digest(const json_t *model, unsigned char digest[FPLT_CERTIFICATE_DIGEST],
                               fplt_error *error);

/* How many agents have a ledger, and how many of these contradict themselves or another one: an account has one
 * history, in which a run other than this one is charged once and for some round. */
void fplt__histories_check(const fplt_certificate_account *accounts, uint32_t agents,
                           const unsigned char *run, uint32_t *known, uint32_t *odd);

/* The bytes that are signed: "fedplt-certificate-1\n" and the canonical bytes of the document without
 * `signature`. Released with fplt_free. */
fplt_status fplt__certificate_bytes(const json_t *document, char **bytes, size_t *length,
                                    fplt_error *error);

#endif
