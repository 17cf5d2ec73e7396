/* Data sets: storage, names, and access to their parts. */
#include "data/dataset.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "fedplt/schema.h"
#include "data/dataset_access.h"

static fplt_status allocate_values(fplt_dataset *dataset, size_t entries, fplt_error *error)
{
    fplt_status status;
    if (entries == FPLT__DENSE) {
        size_t numbers;
        if (__builtin_mul_overflow(dataset->rows, dataset->features, &numbers))
            return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for %zu rows of %zu features",
                                  dataset->rows, dataset->features);
        return fplt__alloc_into(&dataset->dense, numbers, sizeof *dataset->dense, "rows", error);
    }
    status = fplt__alloc_into(&dataset->start, dataset->rows + 1, sizeof *dataset->start,
                              "row starts", error);
    if (!status)
        status =
            fplt__alloc_into(&dataset->column, entries, sizeof *dataset->column, "columns", error);
    if (!status)
        status =
            fplt__alloc_into(&dataset->value, entries, sizeof *dataset->value, "values", error);
    return status;
}

static const char *const tasks[] = {[FPLT_TASK_BINARY] = "binary",
                                    [FPLT_TASK_CLASSES] = "classes",
                                    [FPLT_TASK_REGRESSION] = "regression",
                                    [FPLT_TASK_SURVIVAL] = "survival"};

const char *fplt_task_name(fplt_task task)
{
    return (size_t)task < sizeof tasks / sizeof *tasks ? tasks[task] : "unknown";
}

int fplt__task_classifies(fplt_task task)
{
    return task == FPLT_TASK_BINARY || task == FPLT_TASK_CLASSES;
}

uint32_t fplt__task_outputs(fplt_task task)
{
    return fplt__task_classifies(task) ? 2 : 1;
}

fplt_status fplt__dataset_add(const fplt_dataset *dataset, double **column, fplt_error *error)
{
    return *column ? FPLT_OK
                   : fplt__alloc_into(column, dataset->rows, sizeof **column, "rows", error);
}

fplt_status fplt__dataset_create_empty(size_t rows, size_t features, uint32_t agents,
                                       fplt_task task, fplt_dataset **dataset, fplt_error *error)
{
    fplt_dataset *made;
    fplt_status status = fplt__alloc_into(&made, 1, sizeof *made, "a data set", error);
    *dataset = NULL;
    if (status)
        return status;
    made->task = task;
    made->agents = agents;
    made->outputs = fplt__task_outputs(task);
    made->rows = rows;
    made->features = features;
    status =
        fplt__alloc_into(&made->first, (size_t)agents + 1, sizeof *made->first, "agents", error);
    if (status) {
        fplt_dataset_destroy(made);
        return status;
    }
    *dataset = made;
    return FPLT_OK;
}

fplt_status fplt__dataset_create(size_t rows, size_t features, size_t entries, uint32_t agents,
                                 fplt_task task, fplt_dataset **dataset, fplt_error *error)
{
    fplt_dataset *made;
    *dataset = NULL;
    fplt_status status = fplt__dataset_create_empty(rows, features, agents, task, &made, error);
    if (status)
        return status;
    if (!(status = fplt__alloc_into(&made->label, rows, sizeof *made->label, "labels", error)))
        status = allocate_values(made, entries, error);
    if (status) {
        fplt_dataset_destroy(made);
        return status;
    }
    *dataset = made;
    return FPLT_OK;
}

void fplt_dataset_destroy(fplt_dataset *dataset)
{
    if (!dataset)
        return;
    fplt__free(dataset->first);
    if (!dataset->lent_values) {
        fplt__free(dataset->dense);
        fplt__free(dataset->value);
    }
    if (!dataset->lent_rest) {
        fplt__free(dataset->start);
        fplt__free(dataset->column);
        fplt__free(dataset->offset);
    }
    if (!dataset->lent_rest || dataset->own_label)
        fplt__free(dataset->label);
    if (!dataset->lent_rest || dataset->own_weight)
        fplt__free(dataset->weight);
    if (!dataset->lent_beside) {
        fplt__free(dataset->person);
        fplt__free(dataset->number);
        fplt__free(dataset->group);
        fplt__free(dataset->left_out);
    }
    if (dataset->release)
        dataset->release(dataset->release_context);
    fplt__names_clear(&dataset->ids);
    fplt__free(dataset->census);
    fplt_schema_destroy(dataset->schema);
    fplt__names_clear(&dataset->feature_names);
    fplt__names_clear(&dataset->agent_names);
    fplt__names_clear(&dataset->class_names);
    fplt__names_clear(&dataset->references);
    fplt__free(dataset->filled);
    fplt__free(dataset->clipped);
    fplt__free(dataset);
}

void fplt__dataset_passed(const fplt_dataset *dataset, size_t first, size_t end)
{
    double *value = dataset->dense ? dataset->dense : dataset->value;
    size_t width = dataset->features;
    size_t from = dataset->dense ? first * width : dataset->start[first];
    size_t to = dataset->dense ? end * width : dataset->start[end];
    if (!dataset->passes)
        return;
    if (!dataset->lent_values)
        fplt__forget(value + from, (to - from) * sizeof *value);
    else if (fplt__dataset_is_mapped(dataset))
        fplt__view_forget(dataset->view,
                          (size_t)((const char *)(value + from) - dataset->view->bytes),
                          (to - from) * sizeof *value);
}

fplt_status fplt__dataset_take_dense(fplt_dataset *dataset, size_t numbers, double **dense,
                                     fplt_error *error)
{
    fplt_status status =
        fplt__resize(&dataset->dense, numbers, sizeof *dataset->dense, "rows", error);
    if (status)
        return status;
    *dense = dataset->dense;
    dataset->dense = NULL;
    if (!dataset->lent_beside)
        fplt__free(dataset->number);
    dataset->number = NULL;
    return FPLT_OK;
}

void fplt__dataset_drop_rows(fplt_dataset *dataset)
{
    if (!dataset->lent_values) {
        fplt__free(dataset->dense);
        fplt__free(dataset->value);
    }
    if (!dataset->lent_rest) {
        fplt__free(dataset->start);
        fplt__free(dataset->column);
    }
    if (!dataset->lent_rest || dataset->own_label)
        fplt__free(dataset->label);
    if (!dataset->lent_beside) {
        fplt__free(dataset->person);
        fplt__free(dataset->number);
    }
    fplt__names_clear(&dataset->ids);
    dataset->dense = dataset->value = dataset->label = dataset->person = dataset->number = NULL;
    dataset->start = NULL;
    dataset->column = NULL;
}

fplt_status fplt__dataset_unchanged(const fplt_dataset *dataset, fplt_error *error)
{
    return dataset->view ? fplt__view_unchanged(dataset->view, dataset->path, error) : FPLT_OK;
}

fplt_status fplt__dataset_own_values(fplt_dataset *dataset, fplt_error *error)
{
    const double *lent = dataset->dense ? dataset->dense : dataset->value;
    size_t count =
        dataset->dense ? dataset->rows * dataset->features : dataset->start[dataset->rows];
    double *own;
    if (!dataset->lent_values)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&own, count, sizeof *own, "rows", error);
    if (status)
        return status;
    for (size_t at = 0, step = (size_t)1 << 19; at < count; at += step) {
        size_t some = count - at < step ? count - at : step;
        memcpy(own + at, lent + at, some * sizeof *own);
        if (fplt__dataset_is_mapped(dataset)) /* the copy takes the place of the pages */
            fplt__view_forget(dataset->view,
                              (size_t)((const char *)(lent + at) - dataset->view->bytes),
                              some * sizeof *own);
    }
    *(dataset->dense ? &dataset->dense : &dataset->value) = own;
    dataset->lent_values = 0;
    return FPLT_OK;
}

fplt_status fplt__dataset_own_weights(fplt_dataset *dataset, fplt_error *error)
{
    const double *lent = dataset->weight;
    if (lent && (!dataset->lent_rest || dataset->own_weight))
        return FPLT_OK;
    dataset->weight = NULL;
    fplt_status status = fplt__dataset_add(dataset, &dataset->weight, error);
    dataset->own_weight = 1;
    if (!status && lent)
        memcpy(dataset->weight, lent, dataset->rows * sizeof *lent);
    return status;
}

static fplt_status name_all(const char *const *texts, size_t count, fplt__names *names,
                            fplt_error *error)
{
    fplt__names given = {count, (const char **)texts}, made;
    if (!texts)
        return FPLT_OK;
    fplt_status status = fplt__names_copy(&given, &made, error);
    if (status)
        return status;
    fplt__names_clear(names);
    *names = made;
    return FPLT_OK;
}

fplt_status fplt_dataset_name(fplt_dataset *dataset, const char *const *features,
                              const char *const *agents, const char *const *classes,
                              fplt_error *error)
{
    fplt_status status;
    if (classes && !fplt__task_classifies(dataset->task))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "classes are named, but the labels of this data set are no classes");
    if ((status = name_all(features, dataset->features, &dataset->feature_names, error)) ||
        (status = name_all(agents, dataset->agents, &dataset->agent_names, error)))
        return status;
    return name_all(classes, dataset->outputs, &dataset->class_names, error);
}

size_t fplt_dataset_rows(const fplt_dataset *dataset)
{
    return dataset->rows;
}

size_t fplt_dataset_features(const fplt_dataset *dataset)
{
    return dataset->features;
}

uint32_t fplt_dataset_agents(const fplt_dataset *dataset)
{
    return dataset->agents;
}

fplt_task fplt_dataset_task(const fplt_dataset *dataset)
{
    return dataset->task;
}

uint32_t fplt_dataset_outputs(const fplt_dataset *dataset)
{
    return dataset->outputs;
}

static fplt_rows view(const fplt_dataset *dataset, size_t first, size_t count)
{
    return (fplt_rows){
        .count = count,
        .features = dataset->features,
        .dense = dataset->dense ? dataset->dense + first * dataset->features : NULL,
        .start = dataset->start ? dataset->start + first : NULL,
        .column = dataset->column,
        .value = dataset->value,
        .label = dataset->label ? dataset->label + first : NULL,
        .weight = dataset->weight ? dataset->weight + first : NULL,
        .offset = dataset->offset ? dataset->offset + first : NULL,
    };
}

fplt_rows fplt_dataset_shard(const fplt_dataset *dataset, uint32_t agent)
{
    size_t first = dataset->first[agent];
    return view(dataset, first, dataset->first[agent + 1] - first);
}

fplt_rows fplt_dataset_all(const fplt_dataset *dataset)
{
    return view(dataset, 0, dataset->rows);
}

static const char *name_of(const fplt__names *names, size_t index)
{
    return index < names->count ? names->item[index] : NULL;
}

size_t fplt__dataset_row_number(const fplt_dataset *dataset, size_t row)
{
    return dataset->number && row < dataset->rows ? (size_t)dataset->number[row] : 0;
}

const char *fplt__dataset_row_id(const fplt_dataset *dataset, size_t row)
{
    return name_of(&dataset->ids, row);
}

const size_t *fplt__dataset_left_out(const fplt_dataset *dataset, size_t *count)
{
    *count = dataset->left_out_count;
    return dataset->left_out;
}

const double *fplt__dataset_persons(const fplt_dataset *dataset, uint32_t agent)
{
    return dataset->person ? dataset->person + dataset->first[agent] : NULL;
}

const fplt_schema *fplt__dataset_schema(const fplt_dataset *dataset)
{
    return dataset->schema;
}

int fplt__dataset_is_mapped(const fplt_dataset *dataset)
{
    return dataset->view && dataset->view->bytes;
}

const char *fplt_dataset_feature_name(const fplt_dataset *dataset, size_t feature)
{
    return name_of(&dataset->feature_names, feature);
}

const char *fplt_dataset_agent_name(const fplt_dataset *dataset, uint32_t agent)
{
    return name_of(&dataset->agent_names, agent);
}

const char *fplt_dataset_class_name(const fplt_dataset *dataset, uint32_t index)
{
    return name_of(&dataset->class_names, index);
}
