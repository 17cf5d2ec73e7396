/* The certificate before it is text, for the record of a model. */
#ifndef FPLT_PROMISE_CERTIFICATE_H
#define FPLT_PROMISE_CERTIFICATE_H

#include <jansson.h>

#include "fedplt/certificate.h"

/* As fplt_certificate_make; the document is a new reference. */
fplt_status fplt__certificate_json(const fplt_promise *plan, const fplt_engine *engine,
                                   const double *weights, size_t dimension, json_t **document,
                                   fplt_error *error);

#endif
