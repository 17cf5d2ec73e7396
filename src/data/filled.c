/* How many missing values of which site and column are filled in. */
#include <math.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "data/dataset_access.h"

static fplt_status count_row(fplt_dataset *dataset, uint32_t agent, size_t row, fplt_error *error)
{
    const double *value = fplt__row_values(dataset, row);
    fplt_status status = FPLT_OK;
    for (size_t k = 0; k < fplt__row_entries(dataset, row) && !status; k++) {
        if (!isnan(value[k]))
            continue;
        if (!dataset->filled)
            status = fplt__alloc_into(&dataset->filled, dataset->agents * dataset->features,
                                      sizeof *dataset->filled, "counts of missing values", error);
        size_t j = dataset->dense ? k : dataset->column[dataset->start[row] + k];
        if (!status)
            dataset->filled[agent * dataset->features + j]++;
    }
    return status;
}

fplt_status fplt__dataset_count_missing(fplt_dataset *dataset, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < dataset->agents; i++)
        for (size_t r = dataset->first[i]; r < dataset->first[i + 1] && !status; r++)
            status = count_row(dataset, i, r, error);
    return status;
}

size_t fplt__dataset_filled(const fplt_dataset *dataset, uint32_t agent, size_t feature)
{
    return dataset->filled ? dataset->filled[agent * dataset->features + feature] : 0;
}
