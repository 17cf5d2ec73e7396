/* What a TLS session reads from its socket. GnuTLS asks for the head of a record and then for its body, two calls of
 * the kernel a record; here the call for a body brings the next head along. Nothing else is read ahead, so a
 * connection costs no memory by it, and what the kernel says of the socket stays true but for one head: whoever
 * waits for the socket must read until there is nothing before. */
#ifndef FPLT_NET_INTAKE_H
#define FPLT_NET_INTAKE_H

#include <gnutls/gnutls.h>
#include <stdint.h>

enum { FPLT__RECORD_HEAD = 5 };

typedef struct fplt__intake {
    int descriptor;
    unsigned there; /* bytes of a head that are here already */
    uint8_t head[FPLT__RECORD_HEAD];
} fplt__intake;

/* The session, whose socket does not block, reads by `intake` from now on, which must outlive it. */
void fplt__intake_begin(fplt__intake *intake, gnutls_session_t session, int descriptor);

#endif
