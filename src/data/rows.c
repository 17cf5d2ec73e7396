/* Rows of data sets: checks, copies, grouping by agent and selection. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "fedplt/columns.h"
#include "fedplt/schema.h"
#include "data/schema_access.h"

static fplt_status check_shares(const fplt_rows *rows, const size_t *agent_rows, uint32_t agents,
                                fplt_error *error)
{
    size_t total = 0;
    if (agents == 0)
        return fplt_error_set(error, FPLT_BAD_DATA, "a data set needs at least one agent");
    for (uint32_t i = 0; i < agents; i++) {
        if (agent_rows[i] == 0)
            return fplt_error_set(error, FPLT_BAD_DATA, "agent %u has no rows", i);
        if (__builtin_add_overflow(total, agent_rows[i], &total))
            return fplt_error_set(error, FPLT_BAD_DATA, "agent %u has %zu rows: too many", i,
                                  agent_rows[i]);
    }
    if (total != rows->count)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the agents have %zu rows together, but there are %zu", total,
                              rows->count);
    if (rows->features == 0 || rows->features > UINT32_MAX)
        return fplt_error_set(error, FPLT_BAD_DATA, "%zu features, but 1 to %u are legal",
                              rows->features, UINT32_MAX);
    if (!rows->dense == !rows->start || !rows->label)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "rows need labels and either dense or CSR values");
    return FPLT_OK;
}

/* 0 times a number is 0 only where it is finite; eight sums at once. */
static int all_finite(const double *value, size_t count)
{
    double sum[8] = {0}, all = 0;
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (size_t k = 0; k < 8; k++)
            sum[k] += 0 * value[i + k];
    for (; i < count; i++)
        all += 0 * value[i];
    for (size_t k = 0; k < 8; k++)
        all += sum[k];
    return all == 0;
}

size_t fplt__first_not_finite(const double *value, size_t count)
{
    enum { BLOCK = 4096 };
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t size = count - i < BLOCK ? count - i : BLOCK;
        if (all_finite(value + i, size))
            continue;
        while (isfinite(value[i]))
            i++;
        return i;
    }
    return count;
}

size_t fplt__dataset_not_finite(const fplt_dataset *dataset)
{
    fplt_rows all = fplt_dataset_all(dataset);
    size_t from = all.start ? all.start[0] : 0;
    size_t count = all.start ? all.start[all.count] - from : all.count * all.features;
    size_t at = fplt__first_not_finite(all.start ? all.value + from : all.dense, count);
    if (at == count)
        return SIZE_MAX;
    size_t row = 0;
    while (all.start && all.start[row + 1] - from <= at)
        row++;
    return all.start ? row : at;
}

/* Row numbers in messages count from 0, as the arrays of a C caller do. */
static fplt_status check_row(const fplt_rows *rows, size_t row, fplt_error *error)
{
    if (rows->dense) {
        const double *value = rows->dense + row * rows->features;
        size_t j = fplt__first_not_finite(value, rows->features);
        if (j < rows->features)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "row %zu, feature %zu is %g, not a finite number", row, j,
                                  value[j]);
        return FPLT_OK;
    }
    if (rows->start[row + 1] < rows->start[row])
        return fplt_error_set(error, FPLT_BAD_DATA, "row %zu ends before it starts", row);
    for (size_t k = rows->start[row]; k < rows->start[row + 1]; k++) {
        if (rows->column[k] >= rows->features)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "row %zu has column %u, but there are %zu features", row,
                                  rows->column[k], rows->features);
        if (k > rows->start[row] && rows->column[k] <= rows->column[k - 1])
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "row %zu has column %u after %u: columns must increase", row,
                                  rows->column[k], rows->column[k - 1]);
        if (!isfinite(rows->value[k]))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "row %zu, feature %u is %g, not a finite number", row,
                                  rows->column[k], rows->value[k]);
    }
    return FPLT_OK;
}

static fplt_status check_label(double label, fplt_task task, size_t row, fplt_error *error)
{
    if (task == FPLT_TASK_BINARY && label != -1 && label != 1)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "row %zu has label %g, but with two classes it must be -1 or 1", row,
                              label);
    if (task == FPLT_TASK_CLASSES &&
        !(label >= 0 && label < FPLT__CLASSES_MAX && label == trunc(label)))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "row %zu has label %g, but a class is a whole number from 0 to %d",
                              row, label, FPLT__CLASSES_MAX - 1);
    if (!isfinite(label))
        return fplt_error_set(error, FPLT_BAD_DATA, "row %zu has label %g, not a finite number",
                              row, label);
    return FPLT_OK;
}

/* Numbers a row beside its features; row numbers count from 0. */
static fplt_status check_beside(const fplt_rows *rows, size_t row, fplt_error *error)
{
    if (rows->weight && !(rows->weight[row] >= 0 && isfinite(rows->weight[row])))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "row %zu has weight %g, but it must be a finite number of at least 0",
                              row, rows->weight[row]);
    if (rows->offset && !isfinite(rows->offset[row]))
        return fplt_error_set(error, FPLT_BAD_DATA, "row %zu has offset %g, not a finite number",
                              row, rows->offset[row]);
    return FPLT_OK;
}

static fplt_status add_beside(const fplt_rows *rows, fplt_dataset *dataset, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (rows->weight && !(status = fplt__dataset_add(dataset, &dataset->weight, error)))
        memcpy(dataset->weight, rows->weight, rows->count * sizeof *rows->weight);
    if (!status && rows->offset && !(status = fplt__dataset_add(dataset, &dataset->offset, error)))
        memcpy(dataset->offset, rows->offset, rows->count * sizeof *rows->offset);
    return status;
}

static void copy_rows(const fplt_rows *rows, fplt_dataset *dataset)
{
    memcpy(dataset->label, rows->label, rows->count * sizeof *rows->label);
    if (rows->dense) {
        memcpy(dataset->dense, rows->dense, rows->count * rows->features * sizeof *rows->dense);
        return;
    }
    size_t from = rows->start[0], entries = rows->start[rows->count] - from;
    for (size_t r = 0; r <= rows->count; r++)
        dataset->start[r] = rows->start[r] - from;
    if (entries) {
        memcpy(dataset->column, rows->column + from, entries * sizeof *rows->column);
        memcpy(dataset->value, rows->value + from, entries * sizeof *rows->value);
    }
}

/* Everything that can be wrong with rows from outside; finds the number of outputs. */
static fplt_status check_rows(const fplt_rows *rows, fplt_task task, const size_t *agent_rows,
                              uint32_t agents, uint32_t *outputs, fplt_error *error)
{
    fplt_status status = check_shares(rows, agent_rows, agents, error);
    *outputs = fplt__task_outputs(task);
    for (size_t r = 0; r < rows->count && !status; r++) {
        status = check_row(rows, r, error);
        if (!status)
            status = check_label(rows->label[r], task, r, error);
        if (!status)
            status = check_beside(rows, r, error);
        if (!status && task == FPLT_TASK_CLASSES && rows->label[r] + 1 > *outputs)
            *outputs = (uint32_t)rows->label[r] + 1;
    }
    return status;
}

fplt_status fplt__dataset_check(const fplt_dataset *dataset, const char *name, fplt_error *error)
{
    fplt_rows all = fplt_dataset_all(dataset);
    fplt_error inner = {.text = ""};
    fplt_status status = FPLT_OK;
    uint32_t least = fplt__task_outputs(dataset->task);
    for (size_t r = 0; r < all.count && !status; r++) {
        if (!(status = check_label(all.label[r], dataset->task, r, &inner)))
            status = check_beside(&all, r, &inner);
        if (!status && dataset->task == FPLT_TASK_CLASSES && !(all.label[r] < dataset->outputs))
            status = fplt_error_set(&inner, FPLT_BAD_DATA,
                                    "row %zu has label %g, but there are %u "
                                    "classes",
                                    r, all.label[r], dataset->outputs);
    }
    if (!status && (dataset->task == FPLT_TASK_CLASSES
                        ? dataset->outputs < least || dataset->outputs > FPLT__CLASSES_MAX
                        : dataset->outputs != least))
        status = fplt_error_set(&inner, FPLT_BAD_DATA, "%u outputs, which no task %s has",
                                dataset->outputs, fplt_task_name(dataset->task));
    return status ? fplt_error_set(error, status, "%.300s: %.700s", name, inner.text) : FPLT_OK;
}

static void share_out(fplt_dataset *dataset, const size_t *agent_rows)
{
    for (uint32_t i = 0; i < dataset->agents; i++)
        dataset->first[i + 1] = dataset->first[i] + agent_rows[i];
}

fplt_status fplt_dataset_from_rows(const fplt_rows *rows, fplt_task task, const size_t *agent_rows,
                                   uint32_t agents, fplt_dataset **dataset, fplt_error *error)
{
    uint32_t outputs;
    *dataset = NULL;
    fplt_status status = check_rows(rows, task, agent_rows, agents, &outputs, error);
    if (status)
        return status;
    size_t entries = rows->dense ? FPLT__DENSE : rows->start[rows->count] - rows->start[0];
    fplt_dataset *made;
    status = fplt__dataset_create(rows->count, rows->features, entries, agents, task, &made, error);
    if (status)
        return status;
    made->outputs = outputs;
    share_out(made, agent_rows);
    copy_rows(rows, made);
    if ((status = add_beside(rows, made, error))) {
        fplt_dataset_destroy(made);
        return status;
    }
    *dataset = made;
    return FPLT_OK;
}

/* In tiles of rows that stay in the cache. */
static fplt_status transpose_columns(const fplt_columns *columns, double *dense, fplt_error *error)
{
    enum { TILE = 64, ASK = 256 * TILE };
    size_t features = columns->features;
    const size_t *order = columns->order;
    for (size_t begin = 0; begin < columns->count; begin += TILE) {
        size_t end = columns->count - begin < TILE ? columns->count : begin + TILE;
        for (size_t j = 0; j < features; j++)
            for (size_t r = begin; r < end; r++)
                dense[r * features + j] = columns->column[j][order ? order[r] : r];
        if (columns->watch && end % ASK == 0 &&
            columns->watch(columns->context, end, columns->count))
            return fplt_error_set(error, FPLT_FAILED, "stopped after %zu of %zu rows were copied",
                                  end, columns->count);
    }
    return FPLT_OK;
}

static fplt_status fill_from_columns(const fplt_columns *columns, fplt_rows *rows,
                                     const size_t *agent_rows, fplt_dataset *made,
                                     fplt_error *error)
{
    fplt_status status = transpose_columns(columns, made->dense, error);
    rows->dense = made->dense;
    if (!status)
        status = check_rows(rows, made->task, agent_rows, made->agents, &made->outputs, error);
    if (status)
        return status;
    share_out(made, agent_rows);
    memcpy(made->label, rows->label, rows->count * sizeof *rows->label);
    return add_beside(rows, made, error);
}

fplt_status fplt_dataset_from_columns(const fplt_columns *columns, fplt_task task,
                                      const size_t *agent_rows, uint32_t agents,
                                      fplt_dataset **dataset, fplt_error *error)
{
    /* `dense` is looked at once the rows are made; until then any column stands for it */
    fplt_rows rows = {.count = columns->count,
                      .features = columns->features,
                      .dense = columns->features ? columns->column[0] : NULL,
                      .label = columns->label,
                      .weight = columns->weight,
                      .offset = columns->offset};
    fplt_dataset *made;
    *dataset = NULL;
    fplt_status status = check_shares(&rows, agent_rows, agents, error);
    if (status || (status = fplt__dataset_create(rows.count, rows.features, FPLT__DENSE, agents,
                                                 task, &made, error)))
        return status;
    if ((status = fill_from_columns(columns, &rows, agent_rows, made, error))) {
        fplt_dataset_destroy(made);
        return status;
    }
    *dataset = made;
    return FPLT_OK;
}

/* The casts only fit the type: see lent_values. */
static void lend_rows(const fplt_rows *rows, fplt_dataset *dataset)
{
    dataset->dense = (double *)rows->dense;
    dataset->start = (size_t *)rows->start;
    dataset->column = (uint32_t *)rows->column;
    dataset->value = (double *)rows->value;
    dataset->label = (double *)rows->label;
    dataset->weight = (double *)rows->weight;
    dataset->offset = (double *)rows->offset;
    dataset->lent_values = dataset->lent_rest = 1;
}

fplt_status fplt_dataset_borrow(const fplt_rows *rows, fplt_task task, const size_t *agent_rows,
                                uint32_t agents, void (*release)(void *), void *context,
                                fplt_dataset **dataset, fplt_error *error)
{
    fplt_dataset *made;
    uint32_t outputs;
    *dataset = NULL;
    fplt_status status = check_rows(rows, task, agent_rows, agents, &outputs, error);
    if (status || (status = fplt__dataset_create_empty(rows->count, rows->features, agents, task,
                                                       &made, error)))
        return status;
    made->outputs = outputs;
    share_out(made, agent_rows);
    lend_rows(rows, made);
    made->release = release;
    made->release_context = context;
    *dataset = made;
    return FPLT_OK;
}

static uint32_t owner_of(const uint32_t *owner, size_t stride, size_t row)
{
    uint32_t agent;
    memcpy(&agent, (const char *)owner + row * stride, sizeof agent);
    return agent;
}

void fplt__group_rows(size_t *first, uint32_t agents, const uint32_t *owner, size_t stride,
                      size_t rows, size_t *order)
{
    memset(first, 0, ((size_t)agents + 1) * sizeof *first);
    for (size_t r = 0; r < rows; r++)
        first[owner_of(owner, stride, r) + 1]++;
    for (uint32_t i = 0; i < agents; i++)
        first[i + 1] += first[i];
    /* first[i] moves to the end of agent i, which is where agent i + 1 began */
    for (size_t r = 0; r < rows; r++)
        order[first[owner_of(owner, stride, r)]++] = r;
    memmove(first + 1, first, agents * sizeof *first);
    first[0] = 0;
}

int fplt__rows_grouped(size_t *first, uint32_t agents, const uint32_t *owner, size_t stride,
                       size_t rows)
{
    uint32_t agent = 0;
    first[0] = 0;
    for (size_t r = 0; r < rows; r++) {
        uint32_t next = owner_of(owner, stride, r);
        if (next < agent)
            return 0;
        while (agent < next)
            first[++agent] = r;
    }
    while (agent < agents)
        first[++agent] = rows;
    return 1;
}

size_t fplt__row_entries(const fplt_dataset *dataset, size_t row)
{
    return dataset->dense ? dataset->features : dataset->start[row + 1] - dataset->start[row];
}

double *fplt__row_values(const fplt_dataset *dataset, size_t row)
{
    return dataset->dense ? dataset->dense + row * dataset->features
                          : dataset->value + dataset->start[row];
}

static void copy_selected(const fplt_dataset *source, const size_t *order, fplt_dataset *made)
{
    size_t filled = 0, features = source->features;
    for (size_t r = 0; r < made->rows; r++) {
        size_t from = order[r];
        made->label[r] = source->label[from];
        if (source->weight)
            made->weight[r] = source->weight[from];
        if (source->offset)
            made->offset[r] = source->offset[from];
        if (source->person)
            made->person[r] = source->person[from];
        if (source->number)
            made->number[r] = source->number[from];
        if (source->dense) {
            memcpy(made->dense + r * features, source->dense + from * features,
                   features * sizeof *made->dense);
            continue;
        }
        size_t count = fplt__row_entries(source, from), begin = source->start[from];
        memcpy(made->column + filled, source->column + begin, count * sizeof *made->column);
        memcpy(made->value + filled, source->value + begin, count * sizeof *made->value);
        filled += count;
        made->start[r + 1] = filled;
    }
}

static fplt_status copy_groups(const fplt_dataset *source, fplt_dataset *made, fplt_error *error)
{
    fplt_status status =
        fplt__alloc_into(&made->group, source->features, sizeof *made->group, "columns", error);
    if (!status)
        memcpy(made->group, source->group, source->features * sizeof *made->group);
    return status;
}

static fplt_status select_ids(const fplt_dataset *source, const size_t *order, fplt_dataset *made,
                              fplt_error *error)
{
    fplt__span *spans;
    fplt_status status = fplt__alloc_into(&spans, made->rows, sizeof *spans, "ids", error);
    if (status)
        return status;
    for (size_t r = 0; r < made->rows; r++)
        spans[r] = (fplt__span){source->ids.item[order[r]], strlen(source->ids.item[order[r]])};
    status = fplt__names_make(spans, made->rows, &made->ids, error);
    fplt__free(spans);
    return status;
}

/* Schema and names. */
static fplt_status keep_meaning(const fplt_dataset *source, int same_agents, fplt_dataset *made,
                                fplt_error *error)
{
    made->schema = fplt__schema_keep(source->schema);
    fplt_status status = fplt__names_copy(&source->feature_names, &made->feature_names, error);
    if (!status)
        status = fplt__names_copy(&source->class_names, &made->class_names, error);
    if (!status)
        status = fplt__names_copy(&source->references, &made->references, error);
    if (!status && source->group)
        status = copy_groups(source, made, error);
    if (!status && same_agents)
        status = fplt__names_copy(&source->agent_names, &made->agent_names, error);
    return status;
}

fplt_status fplt__dataset_lend(const fplt_dataset *source, fplt_dataset **dataset,
                               fplt_error *error)
{
    fplt_rows rows = fplt_dataset_all(source);
    fplt_dataset *made;
    *dataset = NULL;
    fplt_status status = fplt__dataset_create_empty(source->rows, source->features, source->agents,
                                                    source->task, &made, error);
    if (status)
        return status;
    made->outputs = source->outputs;
    memcpy(made->first, source->first, (source->agents + (size_t)1) * sizeof *made->first);
    lend_rows(&rows, made);
    if (source->person && !(status = fplt__dataset_add(made, &made->person, error)))
        memcpy(made->person, source->person, source->rows * sizeof *made->person);
    if (source->number && !status && !(status = fplt__dataset_add(made, &made->number, error)))
        memcpy(made->number, source->number, source->rows * sizeof *made->number);
    if (!status)
        status = fplt__names_copy(&source->ids, &made->ids, error);
    if (!status)
        status = keep_meaning(source, 1, made, error);
    if (status) {
        fplt_dataset_destroy(made);
        return status;
    }
    *dataset = made;
    return FPLT_OK;
}

fplt_status fplt__dataset_select(const fplt_dataset *source, const size_t *order,
                                 const size_t *agent_rows, uint32_t agents, int same_agents,
                                 fplt_dataset **dataset, fplt_error *error)
{
    *dataset = NULL;
    size_t rows = 0, entries = 0;
    for (uint32_t i = 0; i < agents; i++)
        rows += agent_rows[i];
    for (size_t r = 0; r < rows && !source->dense; r++)
        entries += fplt__row_entries(source, order[r]);
    fplt_dataset *made;
    fplt_status status =
        fplt__dataset_create(rows, source->features, source->dense ? FPLT__DENSE : entries, agents,
                             source->task, &made, error);
    if (status)
        return status;
    made->outputs = source->outputs;
    for (uint32_t i = 0; i < agents; i++)
        made->first[i + 1] = made->first[i] + agent_rows[i];
    if (source->weight)
        status = fplt__dataset_add(made, &made->weight, error);
    if (!status && source->offset)
        status = fplt__dataset_add(made, &made->offset, error);
    if (!status && source->person)
        status = fplt__dataset_add(made, &made->person, error);
    if (!status && source->number)
        status = fplt__dataset_add(made, &made->number, error);
    if (!status && source->ids.count)
        status = select_ids(source, order, made, error);
    if (!status) {
        copy_selected(source, order, made);
        status = keep_meaning(source, same_agents, made, error);
    }
    if (status) {
        fplt_dataset_destroy(made);
        return status;
    }
    *dataset = made;
    return FPLT_OK;
}
