/* fedplt-net: a federation over a network. Everything public of libfedplt-net, and the core of libfedplt (fedplt.h, whose
 * rules hold here too). */
#ifndef FEDPLT_NET_H
#define FEDPLT_NET_H

#include "fedplt.h"
#include "fedplt/federation.h"

#endif
