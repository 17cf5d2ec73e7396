/* An agent's state in parts, for who stores each apart. */
#ifndef FPLT_ENGINE_NODE_H
#define FPLT_ENGINE_NODE_H

#include "fedplt/hub_node.h"

typedef struct fplt__node_parts {
    const double *kept, *staged, *held; /* NULL when setting: left as they are */
    size_t kept_count, held_count;      /* doubles; staged has as many as kept */
    uint64_t computed;                  /* rounds, against the cap */
    int has_latest;
    uint64_t latest;   /* round */
    unsigned answered; /* exchanges of it */
} fplt__node_parts;

fplt__node_parts fplt__node_get(const fplt_node *node);
/* The words of answers given before are not known afterwards: the caller that stored them must give them. */
void fplt__node_set(fplt_node *node, const fplt__node_parts *parts);

/* Counts at least so many rounds against the cap: those that the ledger has charged, by whatever process. */
void fplt__node_count(fplt_node *node, uint64_t computed);

/* What it would mirror if it began at `start`, as words; its state stays as it is, but for what is
 * staged. */
fplt_status fplt__node_begun(fplt_node *node, const double *start, uint64_t *words,
                             fplt_error *error);

#endif
