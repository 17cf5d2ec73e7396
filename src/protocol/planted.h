/* Faults that the simulator plants to see them found. In the library every one is off, and gone. */
#ifndef FPLT_PROTOCOL_PLANTED_H
#define FPLT_PROTOCOL_PLANTED_H

enum fplt__planted_fault {
    FPLT__NO_FAULT,
    FPLT__NO_PROOF,         /* the coordinator does not look at proofs */
    FPLT__NO_SESSION,       /* nor at sessions and sequences */
    FPLT__BY_ROUND,         /* verdicts by round, at both sides, whatever chain and digest say */
    FPLT__NO_CLOSING,       /* forgets closing vectors at the next commit */
    FPLT__RECOMPUTE,        /* the agent trains again instead of sending what it stored */
    FPLT__EARLY_VERDICT,    /* verdicts and tasks leave before the commit */
    FPLT__NO_CHARGE,        /* the message is stored without a charge */
    FPLT__WAITS_FOR_GONE,   /* a repair waits for members that are left out or revoked */
    FPLT__HEARS_GONE,       /* reports of members that are left out leader to repairs */
    FPLT__HALF_ROUND,       /* the agent takes a verdict before it has sent all exchanges */
    FPLT__ONE_DIVERGES,     /* one member's report of a divergence ends the run */
    FPLT__NO_RECORDS,       /* a member may agree with 0 records */
    FPLT__WAITS_FOR_SILENT, /* a repair waits for members that are silent */
    FPLT__NO_STAGED, /* the agent's store leaves out round, digest and head of what is staged */
    FPLT__NO_SYNC,   /* commits are not synced */
    FPLT__TWO_PLANS, /* the agent agrees to a second plan of a run in which it has sent updates */
    FPLT__REVEALS,   /* and to one without a member, with secure aggregation and without noise */
    FPLT__ANSWERS_TWICE,    /* the agent answers a second, different task of a round */
    FPLT__FORGETS_ANSWERED, /* and one of a round whose update was refused */
    FPLT__LONGER_RUN,       /* each repair adds a round to those of the plan, at both sides */
    FPLT__FORGETS_CHARGES,  /* a new process does not count the rounds that the ledger charged */
    FPLT__FAULTS
};

#ifdef FPLT_PLANT
extern int fplt__planted;
#define FPLT__PLANTED(fault) (fplt__planted == (fault))
#else
#define FPLT__PLANTED(fault) 0
#endif

#endif
