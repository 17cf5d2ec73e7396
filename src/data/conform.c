/* The data set of one site becomes one of several with the same features and classes: columns by name, in the
 * common order. */
#include <math.h>

#include "base/memory.h"
#include "data/builder.h"

/* Where each feature of the data set goes: FPLT__NOWHERE where it is not wanted. */
static fplt_status find_slots(const fplt_dataset *dataset, const fplt__names *wanted,
                              uint32_t **slots, int *same, fplt_error *error)
{
    fplt__lookup known = {0};
    uint32_t number;
    fplt_status status = FPLT_OK;
    *slots = NULL;
    for (size_t j = 0; j < wanted->count && !status; j++) {
        status = fplt__lookup_add(&known, fplt__span_of(wanted->item[j]), &number, error);
        if (!status && number < j)
            status = fplt_error_set(error, FPLT_BAD_DATA, "two features would be called '%s'",
                                    fplt__show(fplt__span_of(wanted->item[j])).text);
    }
    if (!status)
        status = fplt__alloc_into(slots, dataset->features, sizeof **slots, "features", error);
    *same = dataset->features == wanted->count;
    for (size_t j = 0; j < dataset->features && !status; j++) {
        (*slots)[j] = fplt__lookup_find(&known, fplt__span_of(dataset->feature_names.item[j]));
        *same &= (*slots)[j] == j;
    }
    fplt__lookup_clear(&known);
    return status;
}

static fplt_status move_dense(fplt_dataset *dataset, const uint32_t *slots, size_t features,
                              fplt_error *error)
{
    double *moved;
    size_t numbers;
    if (__builtin_mul_overflow(dataset->rows, features, &numbers))
        numbers = SIZE_MAX;
    fplt_status status = fplt__alloc_into(&moved, numbers, sizeof *moved, "rows", error);
    if (status)
        return status;
    for (size_t r = 0; r < dataset->rows; r++)
        for (size_t j = 0; j < dataset->features; j++)
            if (slots[j] != FPLT__NOWHERE)
                moved[r * features + slots[j]] = dataset->dense[r * dataset->features + j];
    if (!dataset->lent_values)
        fplt__free(dataset->dense);
    dataset->dense = moved;
    dataset->lent_values = 0;
    return FPLT_OK;
}

/* Entries of a row in the order of their columns, by insertion: a row of categories has few. */
static size_t place_entry(uint32_t *column, double *value, size_t count, uint32_t slot, double x)
{
    size_t at = count;
    for (; at > 0 && column[at - 1] > slot; at--) {
        column[at] = column[at - 1];
        value[at] = value[at - 1];
    }
    column[at] = slot;
    value[at] = x;
    return count + 1;
}

static fplt_status move_sparse(fplt_dataset *dataset, const uint32_t *slots, fplt_error *error)
{
    size_t *start, entries = dataset->start[dataset->rows] - dataset->start[0];
    uint32_t *column = NULL;
    double *value = NULL;
    fplt_status status;
    if ((status = fplt__alloc_into(&start, dataset->rows + 1, sizeof *start, "rows", error)))
        return status;
    if ((status = fplt__alloc_into(&column, entries, sizeof *column, "entries", error)) ||
        (status = fplt__alloc_into(&value, entries, sizeof *value, "entries", error))) {
        fplt__free(column);
        fplt__free(start);
        return status;
    }
    for (size_t r = 0; r < dataset->rows; r++) {
        size_t count = 0, first = start[r];
        for (size_t k = dataset->start[r]; k < dataset->start[r + 1]; k++)
            if (slots[dataset->column[k]] != FPLT__NOWHERE)
                count = place_entry(column + first, value + first, count, slots[dataset->column[k]],
                                    dataset->value[k]);
        start[r + 1] = first + count;
    }
    if (!dataset->lent_values)
        fplt__free(dataset->value);
    if (!dataset->lent_rest) {
        fplt__free(dataset->start);
        fplt__free(dataset->column);
    }
    dataset->start = start;
    dataset->column = column;
    dataset->value = value;
    return FPLT_OK;
}

static fplt_status rename_features(fplt_dataset *dataset, const fplt__names *wanted,
                                   fplt_error *error)
{
    dataset->features = wanted->count;
    if (!dataset->lent_beside)
        fplt__free(dataset->group);
    dataset->group = NULL;
    fplt__names_clear(&dataset->feature_names);
    return fplt__names_copy(wanted, &dataset->feature_names, error);
}

static fplt_status conform_features(fplt_dataset *dataset, const fplt__names *wanted,
                                    fplt_error *error)
{
    uint32_t *slots;
    int same;
    fplt_status status = find_slots(dataset, wanted, &slots, &same, error);
    if (!status && !same && !dataset->dense && dataset->lent_rest)
        status = fplt_error_set(error, FPLT_UNSUPPORTED,
                                "sparse rows that are mapped from a file cannot be put into the "
                                "order of columns of the run; give a CSV file");
    if (!status && !same)
        status = dataset->dense ? move_dense(dataset, slots, wanted->count, error)
                                : move_sparse(dataset, slots, error);
    if (!status && !same)
        status = rename_features(dataset, wanted, error);
    fplt__free(slots);
    return status;
}

static uint32_t class_of(const fplt_dataset *dataset, size_t row)
{
    double label = dataset->label[row];
    return dataset->task == FPLT_TASK_BINARY ? label > 0 : (uint32_t)label;
}

/* The number among `wanted` of each class, FPLT__NOWHERE where it is not among them. */
static void find_classes(const fplt_dataset *dataset, const fplt__names *wanted, uint32_t *index)
{
    for (uint32_t k = 0; k < dataset->outputs; k++) {
        index[k] = FPLT__NOWHERE;
        for (size_t i = 0; i < wanted->count; i++)
            if (strcmp(dataset->class_names.item[k], wanted->item[i]) == 0)
                index[k] = (uint32_t)i;
    }
}

static fplt_status conform_classes(fplt_dataset *dataset, const fplt__names *wanted,
                                   fplt_error *error)
{
    fplt_task task = wanted->count == 2 ? FPLT_TASK_BINARY : FPLT_TASK_CLASSES;
    double *label;
    uint32_t *index;
    fplt_status status =
        fplt__alloc_into(&index, dataset->outputs, sizeof *index, "classes", error);
    if (status)
        return status;
    find_classes(dataset, wanted, index);
    status = fplt__alloc_into(&label, dataset->rows, sizeof *label, "labels", error);
    for (size_t r = 0; r < dataset->rows && !status; r++) {
        uint32_t k = index[class_of(dataset, r)];
        if (k == FPLT__NOWHERE)
            status = fplt_error_set(error, FPLT_BAD_DATA, "row %zu has a class of its own", r + 1);
        else
            label[r] = task == FPLT_TASK_BINARY ? 2.0 * k - 1 : k;
    }
    fplt__free(index);
    if (status) {
        fplt__free(label);
        return status;
    }
    if (!dataset->lent_rest || dataset->own_label)
        fplt__free(dataset->label);
    dataset->label = label;
    dataset->own_label = 1;
    dataset->task = task;
    dataset->outputs = (uint32_t)wanted->count;
    fplt__names_clear(&dataset->class_names);
    return fplt__names_copy(wanted, &dataset->class_names, error);
}

fplt_status fplt__dataset_conform(fplt_dataset *dataset, const fplt__names *features,
                                  const fplt__names *classes, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (features->count && dataset->feature_names.count)
        status = conform_features(dataset, features, error);
    if (!status && classes->count && dataset->class_names.count)
        status = conform_classes(dataset, classes, error);
    return status;
}

/* Missing categories */

/* Features first .. end - 1 are the levels of one category. */
static void spread_in_row(double *row, size_t first, size_t end)
{
    size_t missing = 0;
    for (size_t j = first; j < end; j++)
        missing += isnan(row[j]) != 0;
    for (size_t j = first; missing && j < end; j++)
        row[j] = NAN;
}

/* Of the category of feature `column`, the number of levels. */
static size_t count_levels(const fplt_dataset *dataset, const uint32_t *group, uint32_t column)
{
    size_t levels = 0;
    for (size_t j = 0; j < dataset->features; j++)
        levels += group[j] == group[column];
    return levels;
}

static size_t count_missing(const fplt_dataset *dataset, const uint32_t *group, size_t row,
                            uint32_t category)
{
    size_t missing = 0;
    for (size_t k = dataset->start[row]; k < dataset->start[row + 1]; k++)
        missing += isnan(dataset->value[k]) && group[dataset->column[k]] == category;
    return missing;
}

static fplt_status check_sparse(const fplt_dataset *dataset, const uint32_t *group,
                                fplt_error *error)
{
    for (size_t r = 0; r < dataset->rows; r++)
        for (size_t k = dataset->start[r]; k < dataset->start[r + 1]; k++) {
            uint32_t j = dataset->column[k];
            if (isnan(dataset->value[k]) && group[j] &&
                count_missing(dataset, group, r, group[j]) != count_levels(dataset, group, j))
                return fplt_error_set(error, FPLT_UNSUPPORTED,
                                      "a category with missing values lacks a level that other "
                                      "sites have, and its rows are sparse: leave the column out, "
                                      "or merge its levels");
        }
    return FPLT_OK;
}

fplt_status fplt__dataset_spread_missing(fplt_dataset *dataset, const uint32_t *group,
                                         fplt_error *error)
{
    if (!dataset->dense)
        return check_sparse(dataset, group, error);
    fplt_status status = fplt__dataset_own_values(dataset, error);
    for (size_t r = 0; r < dataset->rows && !status; r++)
        for (size_t first = 0, end; first < dataset->features; first = end) {
            end = first + 1;
            while (group[first] && end < dataset->features && group[end] == group[first])
                end++;
            if (group[first])
                spread_in_row(dataset->dense + r * dataset->features, first, end);
        }
    return status;
}

/* The header */

struct header {
    fplt__lookup *names;
    int seen;
};

static fplt_status take_names(void *context, const fplt__lookup *names, size_t line,
                              fplt_error *error)
{
    struct header *header = context;
    fplt_status status = FPLT_OK;
    uint32_t number;
    (void)line;
    for (uint32_t i = 0; i < names->count && !status; i++)
        status = fplt__lookup_add(header->names, fplt__lookup_word(names, i), &number, error);
    header->seen = !status;
    return status ? status : FPLT_UNSUPPORTED; /* the rows are not visited */
}

/* Whole lines of what is in memory: no character is cut in two. */
static void keep_lines(fplt__source *source)
{
    const char *last = memrchr(source->text, '\n', source->size);
    if (last)
        source->size = (size_t)(last - source->text) + 1;
}

fplt_status fplt__csv_header(const char *path, const fplt_read_settings *settings,
                             fplt__lookup *names, fplt_error *error)
{
    enum { PIECE = 4 << 20 };
    struct header header = {names, 0};
    fplt__csv_visitor visitor = {
        .columns = take_names, .context = &header, .separator = settings->separator};
    fplt__source source = FPLT__NO_SOURCE;
    fplt_status status = fplt__source_head(path, settings, PIECE, &source, error);
    if (!status && source.size)
        keep_lines(&source);
    if (!status)
        status = fplt__csv_visit(&source, settings->no_header, &visitor, error);
    fplt__source_release(&source);
    return header.seen ? FPLT_OK : status;
}
