/* The audit's inside: for tests that plant a mistake and want it found. */
#ifndef FPLT_LAB_AUDIT_AUDIT_H
#define FPLT_LAB_AUDIT_AUDIT_H

#include "fedplt/audit.h"

/* What a test puts in place of the real thing; each may be NULL or 0. */
struct fplt__audit_hook {
    /* The noise source of a worker, told before each of its runs. */
    fplt_noise_source (*source)(void *context, unsigned worker);
    void (*begin)(void *context, unsigned worker, uint64_t run);
    void *context;
    uint64_t claimed_records; /* the claim divides by this instead of the agent's records */
};

fplt_status fplt__audit_run(const fplt_job *job, const fplt_promise *plan,
                            const fplt_audit_settings *settings,
                            const struct fplt__audit_hook *hook, fplt_audit_result *result,
                            fplt_error *error);

/* Fisher's discriminant between two classes of points in `dimension` coordinates: the points of
 * class `number & 1`; only those with (number >> 1) even are looked at. FPLT_FAILED when the
 * covariance is singular. */
fplt_status fplt__discriminant(const float *points, size_t count, size_t dimension,
                               double *direction, fplt_error *error);

#endif
