/* A free port of this machine. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fedplt/federation.h"

fplt_status fplt_federation_port(unsigned *port, fplt_error *error)
{
    struct sockaddr_in place = {.sin_family = AF_INET};
    socklen_t size = sizeof place;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int failed = probe < 0 || bind(probe, (struct sockaddr *)&place, sizeof place) ||
                 getsockname(probe, (struct sockaddr *)&place, &size);
    int problem = errno;
    if (probe >= 0)
        close(probe);
    if (failed)
        return fplt_error_set(error, FPLT_IO, "127.0.0.1: no port is free: %s", strerror(problem));
    *port = ntohs(place.sin_port);
    return FPLT_OK;
}
