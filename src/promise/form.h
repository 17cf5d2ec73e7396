/* The form of a certificate: schema/privacy.schema.json itself, compiled in. */
#ifndef FPLT_PROMISE_FORM_H
#define FPLT_PROMISE_FORM_H

#include <jansson.h>

#include "fedplt/status.h"

extern const char fplt__certificate_schema[];

/* Holds a document against a JSON schema. Known words: type, const, enum, properties, required,
 * additionalProperties, items, minItems, minimum, maximum, exclusiveMinimum, exclusiveMaximum,
 * pattern and $ref into the schema's own definitions; a whole number must be written without a
 * point. FPLT_BAD_DATA names the path of the field, its value and what is legal. */
fplt_status fplt__form_check(const char *path, const json_t *document, const json_t *schema,
                             fplt_error *error);

#endif
