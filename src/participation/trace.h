/* A file of cohorts: one line a round. */
#ifndef FPLT_PARTICIPATION_TRACE_H
#define FPLT_PARTICIPATION_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

typedef struct fplt__trace {
    uint32_t *member; /* owned: agents of round k, increasing, are member[start[k]] ... */
    size_t *start;    /* owned: rounds + 1 */
    size_t *turns;    /* owned: rounds in which each agent takes part */
    size_t rounds;
} fplt__trace;

/* Contents must be all zero before, and must be released after a failure too. */
fplt_status fplt__trace_read(const char *path, uint32_t agents, fplt__trace *trace,
                             fplt_error *error);
void fplt__trace_release(fplt__trace *trace);

#endif
