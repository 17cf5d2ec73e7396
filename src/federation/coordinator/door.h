/* The door: a listener for invitations, the one place where callers show no certificate. */
#ifndef FPLT_FEDERATION_DOOR_H
#define FPLT_FEDERATION_DOOR_H

#include "pki/authority.h"
#include "http/server.h"

typedef struct fplt__door {
    fplt__authority *authority; /* borrowed */
    /* Called for every client: a word to count it by (admitted, refused; NULL: nothing to count) and a line for the
     * log (NULL: only counted). */
    void (*tell)(void *context, const char *word, const char *sentence);
    void *context;
} fplt__door;

/* At HOST:PORT; `door` must outlive the server. */
fplt_status fplt__door_open(fplt__door *door, const char *listen, fplt__server **server,
                            fplt_error *error);

#endif
