/* Faults that the simulator plants to see them found. In the library every one is off, and gone. */
#ifndef FPLT_PROTOCOL_PLANTED_H
#define FPLT_PROTOCOL_PLANTED_H

enum fplt__planted_fault {
    FPLT__NO_FAULT,
    FPLT__NO_PROOF,       /* the coordinator does not look at proofs */
    FPLT__NO_SESSION,     /* nor at sessions and sequences */
    FPLT__BY_ROUND,       /* accepts what has the right round, whatever its chain and digest */
    FPLT__NO_CLOSING,     /* forgets closing vectors at the next commit */
    FPLT__RECOMPUTE,      /* the agent trains again instead of sending what it stored */
    FPLT__EARLY_VERDICT,  /* verdicts and tasks leave before the commit */
    FPLT__NO_CHARGE,      /* the message is stored without a charge */
    FPLT__WAITS_FOR_GONE, /* a repair waits for members that are left out or revoked */
    FPLT__HEARS_GONE,     /* reports of members that are left out leader to repairs */
    FPLT__NO_STAGED, /* the agent's store leaves out round, digest and head of what is staged */
    FPLT__NO_SYNC,   /* commits are not synced */
    FPLT__FAULTS
};

#ifdef FPLT_PLANT
extern int fplt__planted;
#define FPLT__PLANTED(fault) (fplt__planted == (fault))
#else
#define FPLT__PLANTED(fault) 0
#endif

#endif
