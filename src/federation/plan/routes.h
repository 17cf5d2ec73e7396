/* What agents and coordinator must agree on about HTTP beside the messages: the routes, the form of the session header
 * and the limits of bodies. */
#ifndef FPLT_FEDERATION_ROUTES_H
#define FPLT_FEDERATION_ROUTES_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/leader.h"
#include "wire/headers.h"

typedef struct fplt__route {
    const char *method, *path;
    fplt__request_kind kind;
    int session;   /* the request needs the session header */
    int is_static; /* answered by the process: the machine does not hear of it */
} fplt__route;

/* The route of a request; NULL: there is none. */
const fplt__route *fplt__route_find(const char *method, const char *path);
/* The route of a kind of request that the machine answers. */
const fplt__route *fplt__route_of(fplt__request_kind kind);
/* The method of a path, whatever the request has; NULL: the path is not known. */
const char *fplt__route_method(const char *path);

/* Bytes of the longest answer that an agent takes. An answer of a round has a verdict, a closing vector and a question,
 * each a few vectors of the plan's dimension. Where the dimension is not known yet (0), a question may have some
 * numbers for each column. */
uint64_t fplt__answer_limit(fplt__request_kind kind, uint64_t dimension);

/* The session header's value: "session.sequence", both decimal. */
enum { FPLT__SESSION_TEXT = 42 };
void fplt__session_text(uint64_t session, uint64_t sequence, char text[FPLT__SESSION_TEXT]);
/* Whether the text (NULL: none) has that form. */
int fplt__session_read(const char *text, uint64_t *session, uint64_t *sequence);

/* The head of an agent's audit log, to be signed: POST {"head":digest,"number":"N"} gives {"head","key","number",
 * "signature"}, head and number being those of the coordinator's own log. */
#define FPLT__LOG_PATH "/v1/log"

/* Invitations are redeemed on a port of their own: the authority's certificate first, then one of the agent's own. */
#define FPLT__AUTHORITY_PATH  "/v1/authority"  /* GET */
#define FPLT__INVITATION_PATH "/v1/invitation" /* POST */
/* A member whose certificate ends within a month gets another one for the same name: a request (PEM) in, PEM out. */
#define FPLT__RENEWAL_PATH "/v1/certificate"                      /* POST */
enum { FPLT__INVITATION_LIMIT = 16384, FPLT__PEM_LIMIT = 65536 }; /* bytes: a request, an answer */

#endif
