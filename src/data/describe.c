/* What is in a data set, in short. */
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "data/norm.h"

static size_t count_nonzeros(const fplt_dataset *dataset)
{
    size_t stored =
        dataset->dense ? dataset->rows * dataset->features : dataset->start[dataset->rows];
    const double *values = dataset->dense ? dataset->dense : dataset->value;
    size_t nonzeros = 0;
    for (size_t k = 0; k < stored; k++)
        nonzeros += values[k] != 0;
    return nonzeros;
}

static void describe_rows(const fplt_dataset *dataset, fplt__description *description)
{
    for (size_t r = 0; r < dataset->rows; r++) {
        size_t count = fplt__row_entries(dataset, r);
        const double *value =
            dataset->dense ? dataset->dense + r * count : dataset->value + dataset->start[r];
        double norm = fplt__norm(value, count), label = dataset->label[r];
        if (norm > description->largest_norm)
            description->largest_norm = norm;
        if (r == 0 || label < description->lowest_label)
            description->lowest_label = label;
        if (r == 0 || label > description->highest_label)
            description->highest_label = label;
    }
}

fplt__description fplt__dataset_describe(const fplt_dataset *dataset)
{
    fplt__description description = {
        .rows = dataset->rows,
        .features = dataset->features,
        .nonzeros = count_nonzeros(dataset),
        .agents = dataset->agents,
        .outputs = dataset->outputs,
        .task = dataset->task,
        .sparse = !dataset->dense,
    };
    for (uint32_t i = 0; i < dataset->agents; i++) {
        size_t rows = dataset->first[i + 1] - dataset->first[i];
        if (i == 0 || rows < description.fewest_rows)
            description.fewest_rows = rows;
        if (rows > description.most_rows)
            description.most_rows = rows;
    }
    describe_rows(dataset, &description);
    return description;
}

size_t fplt__dataset_class_rows(const fplt_dataset *dataset, uint32_t index)
{
    double label = dataset->task == FPLT_TASK_BINARY ? 2.0 * index - 1 : index;
    size_t count = 0;
    if (!fplt__task_classifies(dataset->task))
        return 0;
    for (size_t r = 0; r < dataset->rows; r++)
        count += dataset->label[r] == label;
    return count;
}
