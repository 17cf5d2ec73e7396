/* A connection's bytes, over TLS or in the clear, on a socket that does not block. What is read is asked of the kernel a
 * record at a time, and what is sent leaves in as few packets as it fits into. */
#ifndef FPLT_HTTP_CHANNEL_H
#define FPLT_HTTP_CHANNEL_H

#include <gnutls/gnutls.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    FPLT__RECORD_HEAD = 5,
    FPLT__RECORD = 16384
}; /* of TLS: bytes of a head, most bytes that one carries */

typedef struct fplt__http_channel {
    int descriptor;
    gnutls_session_t session; /* NULL: in the clear */
    int empty; /* socket is drained; the event loop clears this when the socket becomes readable */
    int closing; /* the peer closed its half: read until the end */
    int finished; /* the peer said that it sends no more: by TLS's word, in the clear by closing its half */
    int more;       /* what is sent now is not the end of a message */
    int unsent;     /* of a record that the session has, but the kernel has not taken */
    unsigned there; /* bytes of the next record's head that are here already */
    uint8_t head[FPLT__RECORD_HEAD];
} fplt__http_channel;

/* The channel must stay where it is as long as the session, which may be NULL and stays the caller's. */
void fplt__http_channel_begin(fplt__http_channel *channel, int descriptor,
                              gnutls_session_t session);
/* Bytes that came or went; 0 where there is nothing now, -1 where nothing will be any more. After 0 from sending, the
 * same bytes must be offered again. */
ssize_t fplt__http_channel_read(fplt__http_channel *channel, void *bytes, size_t room);
ssize_t fplt__http_channel_send(fplt__http_channel *channel, const void *bytes, size_t size,
                                int more);

#endif
