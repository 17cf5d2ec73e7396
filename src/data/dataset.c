/* Data sets: storage, names, selection of rows. */
#include "data/dataset.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "fedplt/schema.h"

fplt_status fplt__names_make(const fplt__span *spans, size_t count, fplt__names *names,
                             fplt_error *error)
{
    *names = (fplt__names){0, NULL};
    if (count == 0)
        return FPLT_OK;
    size_t bytes = count * sizeof *names->item;
    for (size_t i = 0; i < count; i++)
        bytes += spans[i].length + 1;
    fplt_status status = fplt__alloc_into(&names->item, bytes, 1, "names", error);
    if (status)
        return status;
    char *place = (char *)(names->item + count);
    for (size_t i = 0; i < count; i++) {
        if (spans[i].length)
            memcpy(place, spans[i].text, spans[i].length);
        names->item[i] = place;
        place += spans[i].length + 1;
    }
    names->count = count;
    return FPLT_OK;
}

fplt_status fplt__names_copy(const fplt__names *from, fplt__names *names, fplt_error *error)
{
    *names = (fplt__names){0, NULL};
    if (from->count == 0)
        return FPLT_OK;
    fplt__span *spans;
    fplt_status status = fplt__alloc_into(&spans, from->count, sizeof *spans, "names", error);
    if (status)
        return status;
    for (size_t i = 0; i < from->count; i++)
        spans[i] = (fplt__span){from->item[i], strlen(from->item[i])};
    status = fplt__names_make(spans, from->count, names, error);
    fplt__free(spans);
    return status;
}

void fplt__names_clear(fplt__names *names)
{
    fplt__free(names->item);
    *names = (fplt__names){0, NULL};
}

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

int fplt_task_classifies(fplt_task task)
{
    return task == FPLT_TASK_BINARY || task == FPLT_TASK_CLASSES;
}

/* The least there are. */
static uint32_t outputs_of(fplt_task task)
{
    return fplt_task_classifies(task) ? 2 : 1;
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
    made->outputs = outputs_of(task);
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
    fplt__free(dataset);
}

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
    else if (fplt_dataset_is_mapped(dataset))
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
    if (rows->weight && !(rows->weight[row] > 0 && isfinite(rows->weight[row])))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "row %zu has weight %g, but it must be a finite number above 0", row,
                              rows->weight[row]);
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
    *outputs = outputs_of(task);
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
    uint32_t least = outputs_of(dataset->task);
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
        if (fplt_dataset_is_mapped(dataset)) /* the copy takes the place of the pages */
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
    if (classes && !fplt_task_classifies(dataset->task))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "classes are named, but the labels of this data set are no classes");
    if ((status = name_all(features, dataset->features, &dataset->feature_names, error)) ||
        (status = name_all(agents, dataset->agents, &dataset->agent_names, error)))
        return status;
    return name_all(classes, dataset->outputs, &dataset->class_names, error);
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
    made->schema = fplt_schema_keep(source->schema);
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

size_t fplt_dataset_row_number(const fplt_dataset *dataset, size_t row)
{
    return dataset->number && row < dataset->rows ? (size_t)dataset->number[row] : 0;
}

const char *fplt_dataset_row_id(const fplt_dataset *dataset, size_t row)
{
    return name_of(&dataset->ids, row);
}

const size_t *fplt_dataset_left_out(const fplt_dataset *dataset, size_t *count)
{
    *count = dataset->left_out_count;
    return dataset->left_out;
}

const double *fplt_dataset_persons(const fplt_dataset *dataset, uint32_t agent)
{
    return dataset->person ? dataset->person + dataset->first[agent] : NULL;
}

const fplt_schema *fplt_dataset_schema(const fplt_dataset *dataset)
{
    return dataset->schema;
}

int fplt_dataset_is_mapped(const fplt_dataset *dataset)
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
