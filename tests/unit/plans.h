/* Comparing plans of the engine. As bytes they must not be compared: what lies between their members is not set. */
#ifndef FPLT_TESTS_PLANS_H
#define FPLT_TESTS_PLANS_H

#include "fedplt/hub_node.h"
#include "testing.h"

#define assert_same_plan(a, b) assert_same_plan_at((a), (b), __FILE__, __LINE__)

static inline void assert_same_plan_at(const fplt_plan *a, const fplt_plan *b, const char *file,
                                       int line)
{
    int same = a->algorithm == b->algorithm && a->agents == b->agents &&
               a->dimension == b->dimension && a->seed == b->seed && a->run == b->run &&
               a->step == b->step && a->unit == b->unit;
    for (size_t i = 0; i < FPLT_MAX_PARAMETERS; i++)
        same = same && a->parameter[i] == b->parameter[i];
    if (!same)
        fail_msg("%s:%d: the two plans differ", file, line);
}

#endif
