/* Data sets of which this process holds the rows of some agents only. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"

fplt__portion fplt__portion_make(uint32_t agents, unsigned number, unsigned count)
{
    uint64_t all = agents;
    return (fplt__portion){agents, (uint32_t)(all * number / count),
                           (uint32_t)(all * (number + 1) / count)};
}

int fplt__portion_has(const fplt__portion *part, uint32_t agent)
{
    return agent >= part->first && agent < part->end;
}

size_t fplt__dataset_count(const fplt_dataset *dataset, uint32_t agent)
{
    return dataset->census ? dataset->census[agent].rows
                           : dataset->first[agent + 1] - dataset->first[agent];
}

size_t fplt__dataset_all_rows(const fplt_dataset *dataset)
{
    size_t rows = 0;
    for (uint32_t i = 0; i < dataset->agents; i++)
        rows += fplt__dataset_count(dataset, i);
    return rows;
}

double fplt__dataset_weight(const fplt_dataset *dataset, uint32_t agent)
{
    double total = 0;
    if (dataset->census)
        return dataset->census[agent].weight;
    if (!dataset->weight)
        return (double)fplt__dataset_count(dataset, agent);
    for (size_t r = dataset->first[agent]; r < dataset->first[agent + 1]; r++)
        total += dataset->weight[r];
    return total;
}

/* The rows of the block, in their order, and what each agent has of them. */
static fplt_status choose(const fplt_dataset *source, uint32_t first, uint32_t end, size_t **order,
                          size_t **agent_rows, fplt_error *error)
{
    size_t rows = source->first[end] - source->first[first];
    fplt_status status = fplt__alloc_into(order, rows, sizeof **order, "rows", error);
    if (!status)
        status = fplt__alloc_into(agent_rows, source->agents, sizeof **agent_rows, "agents", error);
    for (size_t r = 0; !status && r < rows; r++)
        (*order)[r] = source->first[first] + r;
    for (uint32_t i = first; !status && i < end; i++)
        (*agent_rows)[i] = source->first[i + 1] - source->first[i];
    return status;
}

/* Counts of all agents, also of those whose rows another process keeps. */
static fplt_status copy_filled(const fplt_dataset *source, fplt_dataset *made, fplt_error *error)
{
    size_t count = (size_t)source->agents * source->features;
    if (!source->filled)
        return FPLT_OK;
    fplt_status status = made->filled ? FPLT_OK
                                      : fplt__alloc_into(&made->filled, count, sizeof *made->filled,
                                                         "counts of missing values", error);
    if (!status)
        memcpy(made->filled, source->filled, count * sizeof *made->filled);
    return status;
}

fplt_status fplt__dataset_keep(const fplt_dataset *source, uint32_t first, uint32_t end,
                               fplt_dataset **kept, fplt_error *error)
{
    size_t *order = NULL, *agent_rows = NULL;
    fplt_dataset *made = NULL;
    *kept = NULL;
    fplt_status status = choose(source, first, end, &order, &agent_rows, error);
    if (!status)
        status = fplt__dataset_select(source, order, agent_rows, source->agents, 1, &made, error);
    fplt__free(order);
    fplt__free(agent_rows);
    if (!status)
        status =
            fplt__alloc_into(&made->census, source->agents, sizeof *made->census, "agents", error);
    if (!status)
        status = copy_filled(source, made, error);
    if (status) {
        fplt_dataset_destroy(made);
        return status;
    }
    for (uint32_t i = 0; i < source->agents; i++)
        made->census[i] =
            (fplt__census){fplt__dataset_count(source, i), fplt__dataset_weight(source, i)};
    *kept = made;
    return FPLT_OK;
}

fplt_status fplt__dataset_drop_weightless(fplt_dataset **dataset, fplt_error *error)
{
    const fplt_dataset *all = *dataset;
    size_t *order = NULL, *agent_rows = NULL, kept = 0, rows = 0;
    fplt_dataset *made = NULL;
    for (size_t r = 0; all->weight && r < all->rows; r++)
        rows += all->weight[r] > 0;
    if (!all->weight || rows == all->rows)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&order, rows, sizeof *order, "rows", error);
    if (!status)
        status = fplt__alloc_into(&agent_rows, all->agents, sizeof *agent_rows, "agents", error);
    for (uint32_t i = 0; !status && i < all->agents; i++) {
        for (size_t r = all->first[i]; r < all->first[i + 1]; r++)
            if (all->weight[r] > 0) {
                order[kept++] = r;
                agent_rows[i]++;
            }
        if (!agent_rows[i])
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "agent %u has no row of a weight above 0: leave it out, or "
                                    "weigh its rows",
                                    i);
    }
    if (!status)
        status = fplt__dataset_select(all, order, agent_rows, all->agents, 1, &made, error);
    fplt__free(order);
    fplt__free(agent_rows);
    if (!status) {
        fplt_dataset_destroy(*dataset);
        *dataset = made;
    }
    return status;
}

double fplt__dataset_largest_label(const fplt_dataset *dataset)
{
    double most = dataset->census ? dataset->largest_label : 0;
    for (size_t r = 0; r < dataset->rows; r++)
        most = fmax(most, fabs(dataset->label[r]));
    return most;
}
