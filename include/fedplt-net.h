/* fedplt-net: a federation over a network. Everything public of libfedplt-net, and with it of libfedplt. */
#ifndef FEDPLT_NET_H
#define FEDPLT_NET_H

#include "fedplt.h"
#include "fedplt/federation.h"

#endif
