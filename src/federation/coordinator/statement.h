/* The signed statement about a withdrawal: how it is signed, and how it is verified. */
#ifndef FPLT_FEDERATION_STATEMENT_H
#define FPLT_FEDERATION_STATEMENT_H

#include <jansson.h>

#include "audit/audit.h"

/* Signs federation, member and the text of the statement, and adds `key` and `signature` to it. */
fplt_status fplt__statement_sign(const uint8_t seed[32], json_t *statement, fplt_error *error);

/* The digest of a file, in hexadecimal digits, as the statement names models. */
fplt_status fplt__statement_digest(const char *path, char digest[FPLT__HEX], char **text,
                                   size_t *size, fplt_error *error);

#endif
