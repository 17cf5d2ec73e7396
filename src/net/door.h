/* The door: a listener for invitations, the one place where callers show no certificate. */
#ifndef FPLT_NET_DOOR_H
#define FPLT_NET_DOOR_H

#include "net/authority.h"
#include "net/server.h"

typedef struct fplt__door {
    fplt__authority *authority; /* borrowed */
    /* Told of everybody who came: a word (admitted, refused) and a sentence. */
    void (*tell)(void *context, const char *word, const char *sentence);
    void *context;
} fplt__door;

/* At HOST:PORT; `door` must outlive the server. */
fplt_status fplt__door_open(fplt__door *door, const char *listen, fplt__server **server,
                            fplt_error *error);

#endif
