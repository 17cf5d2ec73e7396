/* An attempt to refute a privacy claim on one's own configuration: trains many times on two data
 * sets that differ in one record (the canary), and asks how well the messages, or the final model,
 * tell them apart. What is found is a lower bound on the true mu; a claim below it is refuted. */
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
    uint32_t agent;     /* whose record; FPLT_AUDIT_WORST: that with the weakest claim */
    uint32_t record;    /* FPLT_AUDIT_WORST: its longest row */
    uint64_t runs;      /* on each of the two data sets; half of them fit the attack */
    double confidence;  /* of all bounds together */
    unsigned threads;   /* 0: one a core */
    int secure;         /* noise of the system's random source instead of simulated noise */
    fplt_watch watch;   /* may be NULL */
    void *context;
} fplt_audit_settings;

/* label, worst agent, longest row, 2000 runs, confidence 0.99. */
FPLT_API fplt_audit_settings fplt_audit_defaults(void);

enum { FPLT_AUDIT_TESTS = 3 };

/* One attack. */
typedef struct fplt_audit_test {
    const char *name, *sees;    /* what it looks at, in words */
    int left_out;               /* too many coordinates to fit a discriminant */
    double claimed, any_record; /* mu that the claim allows: for this canary, for any record */
    double estimate;            /* what the attack reached, without confidence */
    double bound;               /* the true mu is at least that */
    int refuted;                /* bound above claimed */
    fplt_privacy_trials trials;
    double threshold;
    /* Owned: the attack's statistic on the runs that test it, sorted. */
    double *without, *with;
    size_t count; /* of each */
} fplt_audit_test;

typedef struct fplt_audit_result {
    fplt_audit_test test[FPLT_AUDIT_TESTS]; /* projection, discriminant, final model */
    uint32_t agent, record;
    double gap; /* the change of the record's gradient is at most that */
    uint64_t runs;
    double seconds;
    int refuted, stopped;
} fplt_audit_result;

/* Job and plan as fplt_promise_create left them; the algorithm must be fed-plt and the solver noisy,
 * whose messages the attack knows how to read. */
FPLT_API fplt_status fplt_audit_run(const fplt_job *job, const fplt_promise *plan,
                                    const fplt_audit_settings *settings, fplt_audit_result *result,
                                    fplt_error *error);
FPLT_API void fplt_audit_clear(fplt_audit_result *result);

#ifdef __cplusplus
}
#endif
#endif
