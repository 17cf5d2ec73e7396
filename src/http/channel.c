/* A connection's bytes. GnuTLS asks for the head of a record and then for its body, two calls of the kernel a record;
 * here the call for a body brings the next head along. Nothing else is read ahead, so a connection costs no memory. */
#include "http/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/assert.h"

enum { MAX_OWN = 8 }; /* records of the session's own in a row */

static ssize_t take_there(fplt__http_channel *channel, void *bytes, size_t size)
{
    FPLT__ASSERT(channel->there > 0 && channel->there <= FPLT__RECORD_HEAD);
    unsigned take = size < channel->there ? (unsigned)size : channel->there;
    memcpy(bytes, channel->head, take);
    channel->there -= take;
    memmove(channel->head, channel->head + take, channel->there);
    return (ssize_t)take;
}

static ssize_t pull(gnutls_transport_ptr_t context, void *bytes, size_t size)
{
    fplt__http_channel *channel = context;
    if (channel->there)
        return take_there(channel, bytes, size);
    if (channel->empty) {
        errno = EAGAIN;
        return -1;
    }
    struct iovec parts[] = {{bytes, size}, {channel->head, FPLT__RECORD_HEAD}};
    size_t ahead = size > FPLT__RECORD_HEAD ? FPLT__RECORD_HEAD : 0;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = ahead ? 2 : 1};
    ssize_t got = recvmsg(channel->descriptor, &message, 0);
    channel->empty = !channel->closing && got < (ssize_t)(size + ahead);
    if (got <= (ssize_t)size)
        return got;
    channel->there = (unsigned)((size_t)got - size);
    FPLT__ASSERT(channel->there <= ahead);
    return (ssize_t)size;
}

static int pull_timeout(gnutls_transport_ptr_t context, unsigned milliseconds)
{
    const fplt__http_channel *channel = context;
    return channel->there
               ? 1
               : gnutls_system_recv_timeout((gnutls_transport_ptr_t)(intptr_t)channel->descriptor,
                                            milliseconds);
}

static ssize_t push(gnutls_transport_ptr_t context, const void *bytes, size_t size)
{
    const fplt__http_channel *channel = context;
    return send(channel->descriptor, bytes, size, MSG_NOSIGNAL | (channel->more ? MSG_MORE : 0));
}

void fplt__http_channel_begin(fplt__http_channel *channel, int descriptor, gnutls_session_t session)
{
    FPLT__ASSERT(descriptor >= 0);
    *channel = (fplt__http_channel){.descriptor = descriptor, .session = session};
    if (!session)
        return;
    gnutls_transport_set_ptr(session, channel);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_pull_timeout_function(session, pull_timeout);
    gnutls_transport_set_push_function(session, push);
}

static int is_later(int problem)
{
    return problem == EAGAIN || problem == EWOULDBLOCK || problem == EINTR;
}

static ssize_t read_record(fplt__http_channel *channel, void *bytes, size_t room)
{
    ssize_t got = GNUTLS_E_AGAIN;
    /* a record of the session's own brings nothing, but more may be there */
    for (int i = 0; i < MAX_OWN && got == GNUTLS_E_AGAIN; i++) {
        do
            got = gnutls_record_recv(channel->session, bytes, room);
        while (got == GNUTLS_E_INTERRUPTED);
        if (channel->empty && !channel->there)
            break;
    }
    channel->finished |= got == 0;
    return got == GNUTLS_E_AGAIN ? 0 : got > 0 ? got : -1;
}

ssize_t fplt__http_channel_read(fplt__http_channel *channel, void *bytes, size_t room)
{
    FPLT__ASSERT(room > 0);
    FPLT__ASSERT(channel->session || !channel->there);
    if (channel->session)
        return read_record(channel, bytes, room);
    if (channel->empty)
        return 0;
    ssize_t got = recv(channel->descriptor, bytes, room, 0);
    channel->empty = !channel->closing && got < (ssize_t)room;
    channel->finished |= got == 0;
    return got > 0 ? got : got < 0 && is_later(errno) ? 0 : -1;
}

ssize_t fplt__http_channel_send(fplt__http_channel *channel, const void *bytes, size_t size,
                                int more)
{
    ssize_t sent;
    channel->more = more;
    FPLT__ASSERT(size > 0 && size <= FPLT__RECORD);
    FPLT__ASSERT(channel->session || !channel->unsent);
    if (!channel->session) {
        sent = send(channel->descriptor, bytes, size, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
        return sent >= 0 ? sent : is_later(errno) ? 0 : -1;
    }
    do /* what it could not pass on it keeps, and only wants to be asked again */
        sent = gnutls_record_send(channel->session, channel->unsent ? NULL : bytes,
                                  channel->unsent ? 0 : size);
    while (sent == GNUTLS_E_INTERRUPTED);
    channel->unsent = sent == GNUTLS_E_AGAIN;
    return channel->unsent ? 0 : sent > 0 ? sent : -1;
}
