/* A connection's bytes. GnuTLS asks for the head of a record and then for its body, two calls of the kernel a record;
 * here the call for a body brings the next head along. Nothing else is read ahead, so a connection costs no memory. */
#include "net/line.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { MOST_OWN = 8 }; /* records of the session's own in a row */

static ssize_t take_there(fplt__line *line, void *bytes, size_t size)
{
    unsigned take = size < line->there ? (unsigned)size : line->there;
    memcpy(bytes, line->head, take);
    line->there -= take;
    memmove(line->head, line->head + take, line->there);
    return (ssize_t)take;
}

static ssize_t pull(gnutls_transport_ptr_t context, void *bytes, size_t size)
{
    fplt__line *line = context;
    if (line->there)
        return take_there(line, bytes, size);
    if (line->empty) {
        errno = EAGAIN;
        return -1;
    }
    struct iovec parts[] = {{bytes, size}, {line->head, FPLT__RECORD_HEAD}};
    size_t ahead = size > FPLT__RECORD_HEAD ? FPLT__RECORD_HEAD : 0;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = ahead ? 2 : 1};
    ssize_t got = recvmsg(line->descriptor, &message, 0);
    line->empty = !line->closing && got < (ssize_t)(size + ahead);
    if (got <= (ssize_t)size)
        return got;
    line->there = (unsigned)((size_t)got - size);
    return (ssize_t)size;
}

static int pull_timeout(gnutls_transport_ptr_t context, unsigned milliseconds)
{
    const fplt__line *line = context;
    return line->there
               ? 1
               : gnutls_system_recv_timeout((gnutls_transport_ptr_t)(intptr_t)line->descriptor,
                                            milliseconds);
}

static ssize_t push(gnutls_transport_ptr_t context, const void *bytes, size_t size)
{
    const fplt__line *line = context;
    return send(line->descriptor, bytes, size, MSG_NOSIGNAL | (line->more ? MSG_MORE : 0));
}

void fplt__line_begin(fplt__line *line, int descriptor, gnutls_session_t session)
{
    *line = (fplt__line){.descriptor = descriptor, .session = session};
    if (!session)
        return;
    gnutls_transport_set_ptr(session, line);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_pull_timeout_function(session, pull_timeout);
    gnutls_transport_set_push_function(session, push);
}

static int is_later(int problem)
{
    return problem == EAGAIN || problem == EWOULDBLOCK || problem == EINTR;
}

static ssize_t read_record(fplt__line *line, void *bytes, size_t room)
{
    ssize_t got = GNUTLS_E_AGAIN;
    /* a record of the session's own brings nothing, but more may be there */
    for (int i = 0; i < MOST_OWN && got == GNUTLS_E_AGAIN; i++) {
        do
            got = gnutls_record_recv(line->session, bytes, room);
        while (got == GNUTLS_E_INTERRUPTED);
        if (line->empty && !line->there)
            break;
    }
    return got == GNUTLS_E_AGAIN ? 0 : got > 0 ? got : -1;
}

ssize_t fplt__line_read(fplt__line *line, void *bytes, size_t room)
{
    if (line->session)
        return read_record(line, bytes, room);
    if (line->empty)
        return 0;
    ssize_t got = recv(line->descriptor, bytes, room, 0);
    line->empty = !line->closing && got < (ssize_t)room;
    return got > 0 ? got : got < 0 && is_later(errno) ? 0 : -1;
}

ssize_t fplt__line_send(fplt__line *line, const void *bytes, size_t size, int more)
{
    ssize_t sent;
    line->more = more;
    if (!line->session) {
        sent = send(line->descriptor, bytes, size, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
        return sent >= 0 ? sent : is_later(errno) ? 0 : -1;
    }
    do /* what it could not pass on it keeps, and only wants to be asked again */
        sent =
            gnutls_record_send(line->session, line->unsent ? NULL : bytes, line->unsent ? 0 : size);
    while (sent == GNUTLS_E_INTERRUPTED);
    line->unsent = sent == GNUTLS_E_AGAIN;
    return line->unsent ? 0 : sent > 0 ? sent : -1;
}
