#include "federation/plan/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "wire/document.h"
#include "wire/message.h"

enum {
    MAX_ANSWER = 1 << 20,    /* bytes beside vectors */
    MAX_QUESTION = 16 << 20, /* where the length of vectors is not known yet */
    MAX_VECTORS = 16
};

static const fplt__route routes[] = {
    {"POST", "/v1/join", FPLT__JOIN, 0, 0},
    {"POST", "/v1/consent", FPLT__CONSENT, 1, 0},
    {"POST", "/v1/next", FPLT__NEXT, 1, 0},
    {"PUT", "/v1/update", FPLT__UPDATE, 1, 0},
    {"GET", "/v1/plan", FPLT__DOCUMENT, 0, 0},
    {"GET", "/v1/start", FPLT__START, 0, 0},
    {"GET", "/v1/model", FPLT__MODEL, 0, 0},
    {"GET", "/v1/federation", FPLT__DOCUMENT, 0, 1},
    {"POST", FPLT__RENEWAL_PATH, FPLT__DOCUMENT, 0, 1},
    {"POST", FPLT__LOG_PATH, FPLT__CONSENT, 0, 1},
};
enum { ROUTES = sizeof routes / sizeof *routes };

const fplt__route *fplt__route_find(const char *method, const char *path)
{
    for (size_t i = 0; i < ROUTES; i++)
        if (strcmp(path, routes[i].path) == 0 && strcmp(method, routes[i].method) == 0)
            return &routes[i];
    return NULL;
}

const fplt__route *fplt__route_of(fplt__request_kind kind)
{
    const fplt__route *found = NULL;
    for (size_t i = 0; i < ROUTES && !found; i++)
        if (routes[i].kind == kind && !routes[i].is_static)
            found = &routes[i];
    FPLT__ASSERT(found);
    return found;
}

const char *fplt__route_method(const char *path)
{
    for (size_t i = 0; i < ROUTES; i++)
        if (strcmp(path, routes[i].path) == 0)
            return routes[i].method;
    return NULL;
}

uint64_t fplt__answer_limit(fplt__request_kind kind, uint64_t dimension)
{
    uint64_t vectors = dimension ? 8 * MAX_VECTORS * dimension : MAX_QUESTION;
    switch (kind) {
    case FPLT__JOIN:
    case FPLT__CONSENT: return FPLT__MESSAGE_LIMIT;
    case FPLT__DOCUMENT: return FPLT__DOCUMENT_LIMIT;
    default: return MAX_ANSWER + vectors;
    }
}

void fplt__session_text(uint64_t session, uint64_t sequence, char text[FPLT__SESSION_TEXT])
{
    snprintf(text, FPLT__SESSION_TEXT, "%llu.%llu", (unsigned long long)session,
             (unsigned long long)sequence);
}

int fplt__session_read(const char *text, uint64_t *session, uint64_t *sequence)
{
    char *end;
    if (!text || *text < '0' || *text > '9' || strlen(text) >= FPLT__SESSION_TEXT)
        return 0;
    *session = strtoull(text, &end, 10);
    if (*end != '.' || end[1] < '0' || end[1] > '9')
        return 0;
    *sequence = strtoull(end + 1, &end, 10);
    return *end == 0;
}
