/* Numbered points and the running sums of what agents found at them. */
#include "algorithm/incremental.h"

unsigned fplt__incremental_vectors(size_t numbers, size_t dimension)
{
    return (unsigned)((numbers + FPLT__LAST_NUMBERS + dimension - 1) / dimension);
}

void fplt__incremental_begin(fplt_coordinator *coordinator, const double *start)
{
    fplt__descent_begin(coordinator, start);
    coordinator->number[FPLT__POINT_NUMBER] = 1;
}

void fplt__incremental_plan(const fplt_coordinator *coordinator, fplt_round *round)
{
    round->scalar[0] = coordinator->number[FPLT__POINT_NUMBER];
}

/* No agent is ahead of the coordinator, so the sum is largest where all are level with it. */
int fplt__incremental_is_exact(const fplt_coordinator *coordinator, const double *last)
{
    return last[FPLT__LAST_POINT] >= coordinator->agents * coordinator->number[FPLT__POINT_NUMBER];
}

void fplt__incremental_renumber(fplt_coordinator *coordinator)
{
    coordinator->number[FPLT__POINT_NUMBER]++;
}
