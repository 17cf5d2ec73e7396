/* Faults of secure aggregation that tests plant to see them found. In the library every one is off, and gone. */
#ifndef FPLT_SECAGG_PLANTED_H
#define FPLT_SECAGG_PLANTED_H

enum fplt__secagg_fault {
    FPLT__SECAGG_SOUND,
    FPLT__NO_VOTES,          /* shares of a smaller set are given without votes */
    FPLT__LATE_SEEDS,        /* seeds are told after the shares of the whole cohort */
    FPLT__SECOND_VOTE,       /* a vote does not bind */
    FPLT__GROWING_VIEW,      /* a member that left comes back */
    FPLT__WHOLE_AFTER_SEEDS, /* shares of the whole cohort are given after seeds */
    FPLT__OWN_SCALAR,        /* an agent gives its own scalar instead of its share of it */
    FPLT__ROUND_TWICE,       /* a round is computed again under its session */
    FPLT__KEYS_ON_DISK,      /* a new process has the key of the one before */
    FPLT__ANSWERS_FROM_DISK, /* a new process goes on with a session of the one before */
    FPLT__OTHER_STATE,       /* a session of a question is answered from another state */
    FPLT__KEEPS_UPLOADS,     /* the coordinator keeps updates of members that left in the sum */
    FPLT__KEEPS_MASKS,       /* and does not remove the masks of pairs with them */
    FPLT__SECAGG_FAULTS
};

#ifdef FPLT_PLANT
extern int fplt__secagg_planted;
#define FPLT__SECAGG_PLANTED(fault) (fplt__secagg_planted == (fault))
#else
#define FPLT__SECAGG_PLANTED(fault) 0
#endif

#endif
