/* Canonical JSON on top of jansson: texts as they are sent, and objects read by a table of fields. */
#ifndef FPLT_WIRE_JSON_H
#define FPLT_WIRE_JSON_H

#include <jansson.h>

#include "fedplt/status.h"
#include "wire/hash.h"

enum { FPLT__JSON_DEPTH = 8 };

/* The canonical text, to be released with fplt__free; takes the value over, also on failure. NULL as
 * value: there was no memory for it. */
fplt_status fplt__json_text(json_t *value, char **text, fplt_error *error);
/* An object whose text is canonical: sorted keys, no blanks, no key twice, at most 8 deep, no reals.
 * `what` begins the sentence of a refusal. */
fplt_status fplt__json_read(const char *what, const void *text, size_t size, size_t limit,
                            json_t **value, fplt_error *error);

/* Reads members of an object one by one; the first refusal is kept, and reading then gives zeros. At
 * the end every member must have been asked for. */
typedef struct fplt__reader {
    const char *what;
    const json_t *object;
    size_t asked;
    fplt_status status;
    fplt_error *error;
} fplt__reader;

fplt__reader fplt__reader_open(const char *what, const json_t *object, fplt_error *error);
fplt_status fplt__reader_close(fplt__reader *reader);
/* Any value, or NULL with a refusal. */
const json_t *fplt__reader_any(fplt__reader *reader, const char *key, int type, const char *wanted);
int fplt__reader_refuse(fplt__reader *reader, const char *key, const char *wanted);
uint64_t fplt__reader_count(fplt__reader *reader, const char *key, uint64_t most);
/* Up to 64 bits, a decimal string. */
uint64_t fplt__reader_wide(fplt__reader *reader, const char *key);
double fplt__reader_real(fplt__reader *reader, const char *key);
int fplt__reader_flag(fplt__reader *reader, const char *key);
void fplt__reader_bytes(fplt__reader *reader, const char *key, void *bytes, size_t size);
/* Into `text` of so much room, the NUL counted. */
void fplt__reader_text(fplt__reader *reader, const char *key, char *text, size_t room);
/* An object or null (then 0). */
int fplt__reader_part(fplt__reader *reader, const char *key, fplt__reader *part);

json_t *fplt__json_real(double value); /* a C99 hexadecimal string */
json_t *fplt__json_wide(uint64_t value);
json_t *fplt__json_bytes(const void *bytes, size_t size);
enum { FPLT__REAL_TEXT = 32 };
void fplt__real_text(double value, char text[FPLT__REAL_TEXT]);
int fplt__real_read(const json_t *value, double *real); /* 0: not one, or not finite */

#endif
