/* What a TLS session reads from its socket. */
#include "net/intake.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static ssize_t take_there(fplt__intake *intake, void *bytes, size_t size)
{
    unsigned take = size < intake->there ? (unsigned)size : intake->there;
    memcpy(bytes, intake->head, take);
    intake->there -= take;
    memmove(intake->head, intake->head + take, intake->there);
    return (ssize_t)take;
}

static ssize_t pull(gnutls_transport_ptr_t context, void *bytes, size_t size)
{
    fplt__intake *intake = context;
    if (intake->there)
        return take_there(intake, bytes, size);
    if (size <= FPLT__RECORD_HEAD)
        return recv(intake->descriptor, bytes, size, 0);
    struct iovec parts[] = {{bytes, size}, {intake->head, FPLT__RECORD_HEAD}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got = recvmsg(intake->descriptor, &message, 0);
    if (got <= (ssize_t)size)
        return got;
    intake->there = (unsigned)((size_t)got - size);
    return (ssize_t)size;
}

static int pull_timeout(gnutls_transport_ptr_t context, unsigned milliseconds)
{
    const fplt__intake *intake = context;
    return intake->there
               ? 1
               : gnutls_system_recv_timeout((gnutls_transport_ptr_t)(intptr_t)intake->descriptor,
                                            milliseconds);
}

void fplt__intake_begin(fplt__intake *intake, gnutls_session_t session, int descriptor)
{
    intake->descriptor = descriptor;
    intake->there = 0;
    gnutls_transport_set_ptr2(session, intake, (gnutls_transport_ptr_t)(intptr_t)descriptor);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_pull_timeout_function(session, pull_timeout);
}
