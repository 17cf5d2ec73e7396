/* An attempt to refute a privacy claim on your own configuration, in two ways.
 *
 * Checks hold what the certificate states against what every agent really draws, computes and sends:
 * each message is what the records and the recorded noise give, the noise is on its lattice, has the
 * claimed deviation for every agent and coordinate, and is independent of all other noise; no record
 * moves a gradient further than charged.
 *
 * Attacks train many times on two data sets that differ in one record (the canary), and ask how well
 * the messages, or the final model, tell them apart. What is found is a lower bound on the true mu; a
 * claim below it is refuted.
 *
 * All of them together refute a claim that is true with at most the probability 1 - confidence, and
 * each says what it would have refuted.
 *
 * Threads and blocking: fplt_audit_run blocks until the last run and starts `threads` threads that end with it; the watch is
 * called in any of them, never in two at once. Job and plan must be used by no other thread meanwhile. */
#ifndef FEDPLT_AUDIT_H
#define FEDPLT_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/promise.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FPLT_AUDIT_WORST UINT32_MAX

typedef struct fplt_audit_settings {
    const char *canary; /* label: another label, whose gradient gap never changes; features: the row
                           is replaced, and the gap changes from round to round */
    uint32_t agent;  /* whose record; FPLT_AUDIT_WORST: that with the weakest claim, or whose record
                           was found to move more than is charged */
    uint32_t record; /* FPLT_AUDIT_WORST: that record, or the longest row */
    uint64_t runs;   /* on each of the two data sets; half of them fit the attack */
    double confidence; /* of all verdicts together */
    unsigned threads;  /* 0: one a core */
    int secure;        /* noise of the system's random source; 0: simulated noise */
    fplt_watch watch;  /* may be NULL */
    void *context;
} fplt_audit_settings;

/* label, worst agent, worst record, 2000 runs, confidence 0.9999, the real noise. */
FPLT_API fplt_audit_settings fplt_audit_defaults(void);

typedef enum fplt_audit_verdict {
    FPLT_AUDIT_NOT_REFUTED, /* although half of the noise, or half of the charge, would have been */
    FPLT_AUDIT_REFUTED,
    FPLT_AUDIT_BLIND,   /* could not have been refuted by so many runs */
    FPLT_AUDIT_LEFT_OUT /* there is nothing to look at */
} fplt_audit_verdict;

/* In words. */
FPLT_API const char *fplt_audit_verdict_name(fplt_audit_verdict verdict);

enum { FPLT_AUDIT_TESTS = 4, FPLT_AUDIT_CHECKS = 17 };

/* One attack. */
typedef struct fplt_audit_test {
    const char *name, *sees;    /* what it looks at, in words */
    int left_out;               /* too many coordinates for a discriminant, or one agent only */
    double claimed, any_record; /* mu that the claim allows: for this canary, for any record */
    double estimate;            /* what the attack reached, without confidence */
    double bound;               /* the true mu is at least that */
    int refuted;                /* bound above claimed */
    fplt_privacy_trials trials;
    double threshold;
    /* Owned: the attack's statistic on the runs that test it, sorted. */
    double *without, *with;
    size_t count; /* of each */
    double
        power; /* would have refuted noise below so much of what is claimed, with probability 0.99 */
    fplt_audit_verdict verdict;
} fplt_audit_test;

/* One statement of the certificate. */
typedef struct fplt_audit_check {
    const char *name;
    uint64_t tests; /* that share its level: cells, pairs, or messages and records looked at */
    double found;   /* by the worst of them; as `measure` says */
    const char *measure;
    double
        doubt; /* how likely any of them is to be as bad under the claim, at most; 0: impossible */
    double power; /* the deviation (over the claimed), correlation or charge (over the claimed) from
                     which on it would have refuted, with probability 0.99; 1 where any one does */
    char refutes[96]; /* that in words */
    char where[96];   /* the worst of them; empty: all alike */
    fplt_audit_verdict verdict;
} fplt_audit_check;

typedef struct fplt_audit_result {
    fplt_audit_test test[FPLT_AUDIT_TESTS]; /* projection, difference, discriminant, final model */
    uint32_t agent, record;
    double gap; /* the change of the record's gradient is at most that */
    uint64_t runs;
    double seconds;
    int refuted, stopped;
    fplt_audit_check check[FPLT_AUDIT_CHECKS];
} fplt_audit_result;

/* Audits job and plan as fplt_promise_create left them, which are borrowed for the call. FPLT_UNSUPPORTED unless the algorithm
 * is fed-plt or fedavg and the solver noisy, whose messages the attack can read, or where a run draws too much noise to be
 * held. What the result owns is released with fplt_audit_clear. */
FPLT_API fplt_status fplt_audit_run(const fplt_job *job, const fplt_promise *plan,
                                    const fplt_audit_settings *settings, fplt_audit_result *result,
                                    fplt_error *error);
/* Releases what the result owns; a zeroed struct is legal, NULL is not. */
FPLT_API void fplt_audit_clear(fplt_audit_result *result);

#ifdef __cplusplus
}
#endif
#endif
