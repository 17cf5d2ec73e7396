/* The head of an HTTP/1.1 request, as RFC 9112 has it and no looser: lines end with CR LF, a header's name is a token
 * and its colon follows at once, no line is folded, and nothing that two readers could take for different requests is
 * taken at all. Pure: bytes in, texts out. */
#ifndef FPLT_FEDERATION_HTTP_H
#define FPLT_FEDERATION_HTTP_H

#include <stddef.h>
#include <stdint.h>

enum { FPLT__HTTP_HEAD = 16384, FPLT__HTTP_HEADERS = 64 }; /* at most: bytes, headers */

typedef struct fplt__http_head {
    const char *method, *path; /* without what follows a question mark */
    int minor;                 /* of the version: HTTP/1.0 or HTTP/1.1 */
    size_t headers;
    struct {
        const char *name, *value;
    } header[FPLT__HTTP_HEADERS];
} fplt__http_head;

/* The bytes of the head that begins here, its empty line included; 0 where its end is not there yet. *seen, 0 at first,
 * is how far was looked before. */
size_t fplt__http_end(const uint8_t *bytes, size_t size, size_t *seen);
/* Reads a head of `size` bytes where it stands; its texts stay there. 0, or the status that refuses it (400, 431, 505)
 * with *why, a sentence. */
unsigned fplt__http_read(char *bytes, size_t size, fplt__http_head *head, const char **why);
/* The value of a header, whatever case its name is in, or NULL. */
const char *fplt__http_value(const fplt__http_head *head, const char *name);
/* How long the body is. 0, or the status that refuses it: a length that is not known before (411), or is no number
 * (400). */
unsigned fplt__http_length(const fplt__http_head *head, uint64_t *length, const char **why);
/* Whether the connection may serve another request after this one. */
int fplt__http_persists(const fplt__http_head *head);

/* What a status is called. */
const char *fplt__http_reason(unsigned status);
/* The time of day in the form of HTTP headers: Sat, 14 Mar 2026 09:26:53 GMT. */
enum { FPLT__HTTP_DATE = 32 };
void fplt__http_date(int64_t seconds, char text[FPLT__HTTP_DATE]);

#endif
