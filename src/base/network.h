/* What HTTP and the federation's protocol must agree on about a network. */
#ifndef FPLT_BASE_NETWORK_H
#define FPLT_BASE_NETWORK_H

#include <stddef.h>

#include "fedplt/status.h"

enum { FPLT__SLOWEST = 10240 }; /* bytes a second that a connection must carry */

/* HOST:PORT, [IPV6]:PORT or a bare host (then `port` stays as it is). */
fplt_status fplt__address_split(const char *address, char *host, size_t size, unsigned *port,
                                fplt_error *error);

#endif
