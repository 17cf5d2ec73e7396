/* Rules at the moment of an answer, in runs without privacy: whether the point that the coordinator broadcast singles out
 * records (saturation, dominance), whether there are as many measurements as the plan says, and whether Hessians are left. */
#ifndef FPLT_FEDERATION_GUARD_H
#define FPLT_FEDERATION_GUARD_H

#include "federation/agent/local_data.h"
#include "federation/agent/questions.h"

typedef struct fplt__guard {
    int is_on;
    int sends_hessians;    /* the algorithm of the plan */
    int refused;           /* nothing more is answered in this run */
    uint64_t measurements; /* points at which the coordinator asked besides updates */
    uint64_t most_measurements;
    fplt__digest last; /* of these points */
    int has_last;
    double reach; /* so far from the point that was judged last no rule can refuse */
} fplt__guard;

/* For the plan at hand; nothing was answered yet. */
void fplt__guard_begin(fplt__guard *guard, const fplt_settings *site,
                       const fplt__agreement *agreement);
/* Before an answer about the point x leaves; `kind` of wire/frame.h. FPLT_FAILED: a rule refuses; the sentence is for the
 * site alone. */
fplt_status fplt__guard_judge(fplt__guard *guard, const fplt_settings *site, fplt__local_data *data,
                              fplt__site_memory *memory, fplt__asked *asked, unsigned kind,
                              const double *x, fplt_error *error);

#endif
