/* From the rows of a builder to a data set: labels settled, rows grouped by agent, categories turned into columns. */
#include <math.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/workers.h"
#include "data/builder.h"
#include "data/declared.h"

/* One-hot columns stay dense up to this many numbers, or this many times the cells of the file:
 * memory is bounded by the size of the file. */
enum { DENSE_NUMBERS = 1 << 23, DENSE_TIMES = 4 };

static fplt_status new_feature(fplt__lookup *names, fplt__span name, uint32_t *slot,
                               fplt_error *error)
{
    uint32_t before = names->count;
    fplt_status status = fplt__lookup_add(names, name, slot, error);
    if (!status && *slot < before)
        status = fplt_error_set(error, FPLT_BAD_DATA, "two features would be called '%s'",
                                fplt__show(name).text);
    return status;
}

/* `column=level`, to be released. */
static fplt_status level_name(fplt__span column, fplt__span level, fplt__span *name,
                              fplt_error *error)
{
    char *text;
    size_t length = column.length + 1 + level.length;
    fplt_status status = fplt__alloc_into(&text, length + 1, 1, "a feature name", error);
    if (status)
        return status;
    memcpy(text, column.text, column.length);
    text[column.length] = '=';
    memcpy(text + column.length + 1, level.text, level.length);
    *name = (fplt__span){text, length};
    return FPLT_OK;
}

static fplt_status new_level(fplt__lookup *names, fplt__span column, fplt__span level,
                             uint32_t *slot, fplt_error *error)
{
    fplt__span name;
    fplt_status status = level_name(column, level, &name, error);
    if (status)
        return status;
    status = new_feature(names, name, slot, error);
    fplt__free((char *)(uintptr_t)name.text);
    return status;
}

static fplt_status place_levels(fplt__builder *builder, fplt__column *column, fplt__span name,
                                fplt__lookup *names, fplt_error *error)
{
    uint32_t count = column->levels.count, *order, slot;
    fplt_status status =
        fplt__alloc_into(&column->slot, count, sizeof *column->slot, "levels", error);
    if (!status)
        status = fplt__alloc_into(&order, count, sizeof *order, "levels", error);
    if (status)
        return status;
    fplt__lookup_sort(&column->levels, order);
    for (uint32_t i = 0; i < count && !status; i++) {
        fplt__span level = fplt__lookup_word(&column->levels, order[i]);
        column->slot[order[i]] = FPLT__NOWHERE;
        if (i == 0 && builder->settings->drop_first_level) {
            status = new_level(&builder->expected.references, name, level, &slot, error);
            continue;
        }
        status = new_level(names, name, level, &slot, error);
        if (!status)
            column->slot[order[i]] = slot;
    }
    fplt__free(order);
    return status;
}

/* The features a model wants have their places already. */
static fplt_status place_expected(const fplt__builder *builder, fplt__column *column,
                                  fplt__span name, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(&column->slot, column->levels.count, sizeof *column->slot,
                                          "levels", error);
    for (uint32_t i = 0; i < column->levels.count && !status; i++) {
        fplt__span wanted;
        status = level_name(name, fplt__lookup_word(&column->levels, i), &wanted, error);
        if (status)
            break;
        column->slot[i] = fplt__lookup_find(&builder->expected.names, wanted);
        fplt__free((char *)(uintptr_t)wanted.text);
    }
    return status
               ? status
               : fplt__levels_check(&builder->expected, column, name, builder->first_source, error);
}

/* Decides which feature each column, or each level of a category, becomes. */
static fplt_status place_columns(fplt__builder *builder, fplt__lookup *names, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    int expected = builder->expected.names.count > 0;
    for (uint32_t i = 0; i < builder->columns.names.count && !status; i++) {
        fplt__column *column = &builder->columns.column[i];
        fplt__span name = fplt__lookup_word(&builder->columns.names, i);
        if (expected && column->category)
            status = place_expected(builder, column, name, error);
        else if (expected)
            column->number_slot = fplt__lookup_find(&builder->expected.names, name);
        else if (column->category)
            status = place_levels(builder, column, name, names, error);
        else
            status = new_feature(names, name, &column->number_slot, error);
    }
    return status;
}

static int has_categories(const fplt__builder *builder)
{
    for (uint32_t i = 0; i < builder->columns.names.count; i++)
        if (builder->columns.column[i].category)
            return 1;
    return 0;
}

/* `column=level` */
static int is_level_of(fplt__span feature, fplt__span column)
{
    return feature.length > column.length && feature.text[column.length] == '=' &&
           memcmp(feature.text, column.text, column.length) == 0;
}

/* Which features are levels of which category; nothing where all are numbers. */
static fplt_status group_features(const fplt__builder *builder, fplt_dataset *dataset,
                                  fplt_error *error)
{
    if (!has_categories(builder))
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&dataset->group, dataset->features,
                                          sizeof *dataset->group, "columns", error);
    for (uint32_t i = 0; !status && i < builder->columns.names.count; i++)
        for (uint32_t k = 0;
             builder->columns.column[i].category && k < builder->expected.names.count; k++)
            if (is_level_of(fplt__lookup_word(&builder->expected.names, k),
                            fplt__lookup_word(&builder->columns.names, i)))
                dataset->group[k] = i + 1;
    for (uint32_t i = 0;
         !status && !builder->expected.names.count && i < builder->columns.names.count; i++)
        for (uint32_t k = 0;
             builder->columns.column[i].category && k < builder->columns.column[i].levels.count;
             k++)
            if (builder->columns.column[i].slot[k] != FPLT__NOWHERE)
                dataset->group[builder->columns.column[i].slot[k]] = i + 1;
    return status;
}

/* The feature and value of cell i of a row; FPLT__NOWHERE for a level without a column. */
static uint32_t cell_feature(const fplt__builder *builder, const double *cells, uint32_t i,
                             double *value)
{
    const fplt__column *column = &builder->columns.column[i];
    *value = column->category ? 1 : cells[i];
    return column->category ? column->slot[(size_t)cells[i]] : column->number_slot;
}

/* A category without a level is missing in each of its features. */
static void lose_level(const fplt__builder *builder, uint32_t i, double *row)
{
    const fplt__column *column = &builder->columns.column[i];
    fplt__span name = fplt__lookup_word(&builder->columns.names, i);
    for (uint32_t k = 0; !builder->expected.names.count && k < column->levels.count; k++)
        if (column->slot[k] != FPLT__NOWHERE)
            row[column->slot[k]] = NAN;
    for (uint32_t k = 0; k < builder->expected.names.count; k++)
        if (is_level_of(fplt__lookup_word(&builder->expected.names, k), name))
            row[k] = NAN;
}

static void fill_dense_row(const fplt__builder *builder, const double *cells, double *row)
{
    if (!builder->columns.names.count) {
        memcpy(row, cells, builder->cells.width * sizeof *row);
        return;
    }
    for (uint32_t i = 0; i < builder->columns.names.count; i++) {
        double value;
        if (builder->columns.column[i].category && isnan(cells[i])) {
            lose_level(builder, i, row);
            continue;
        }
        uint32_t feature = cell_feature(builder, cells, i, &value);
        if (feature != FPLT__NOWHERE)
            row[feature] = value;
    }
}

static size_t fill_sparse_row(const fplt__builder *builder, const double *cells, uint32_t *column,
                              double *value)
{
    size_t count = 0;
    for (uint32_t i = 0; i < builder->columns.names.count; i++) {
        double held;
        uint32_t feature = cell_feature(builder, cells, i, &held);
        if (feature == FPLT__NOWHERE || held == 0)
            continue;
        size_t at = count++;
        for (; at > 0 && column[at - 1] > feature; at--) {
            column[at] = column[at - 1];
            value[at] = value[at - 1];
        }
        column[at] = feature;
        value[at] = held;
    }
    return count;
}

/* Which row of the builder becomes row r; an order of NULL is that in which they were read. */
static size_t row_at(const size_t *order, size_t r)
{
    return order ? order[r] : r;
}

/* The texts of the id column, and room for the places in the files. */
static fplt_status fill_ids(const fplt__builder *builder, const size_t *order,
                            fplt_dataset *dataset, fplt_error *error)
{
    const double *id = builder->extras.value[FPLT__EXTRA_ID];
    fplt__span *spans;
    fplt_status status = fplt__dataset_add(dataset, &dataset->number, error);
    if (status || !id ||
        (status = fplt__alloc_into(&spans, builder->rows, sizeof *spans, "ids", error)))
        return status;
    for (size_t r = 0; r < builder->rows; r++)
        spans[r] = fplt__lookup_word(&builder->extras.ids, (uint32_t)id[row_at(order, r)]);
    status = fplt__names_make(spans, builder->rows, &dataset->ids, error);
    fplt__free(spans);
    return status;
}

/* In survival the label is the time, negative where the event did not happen. */
static fplt_status fill_extras(fplt__builder *builder, const size_t *order, fplt_dataset *dataset,
                               fplt_error *error)
{
    static const fplt__extra kinds[] = {FPLT__EXTRA_WEIGHT, FPLT__EXTRA_OFFSET, FPLT__EXTRA_PERSON};
    double **places[] = {&dataset->weight, &dataset->offset, &dataset->person};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const double *from = builder->extras.value[kinds[i]];
        fplt_status status = from ? fplt__dataset_add(dataset, places[i], error) : FPLT_OK;
        if (status)
            return status;
        for (size_t r = 0; from && r < builder->rows; r++)
            (*places[i])[r] = from[row_at(order, r)];
    }
    fplt_status status = fill_ids(builder, order, dataset, error);
    if (status)
        return status;
    const double *time = builder->extras.value[FPLT__EXTRA_TIME];
    for (size_t r = 0; time && r < builder->rows; r++)
        builder->row[r].label =
            builder->extras.value[FPLT__EXTRA_EVENT][r] > 0 ? time[r] : -time[r];
    return FPLT_OK;
}

/* Row r becomes what row order[r] was, within the same memory, circle after circle; `order` is used up. */
static fplt_status move_rows(double *value, size_t width, size_t *order, size_t rows,
                             fplt_error *error)
{
    double *row;
    fplt_status status = fplt__alloc_into(&row, width, sizeof *row, "a row", error);
    for (size_t first = 0; first < rows && !status; first++) {
        if (order[first] == first)
            continue;
        size_t r = first;
        memcpy(row, value + r * width, width * sizeof *row);
        while (order[r] != first) {
            size_t from = order[r];
            memcpy(value + r * width, value + from * width, width * sizeof *row);
            order[r] = r;
            r = from;
        }
        memcpy(value + r * width, row, width * sizeof *row);
        order[r] = r;
    }
    fplt__free(row);
    return status;
}

/* The entries of LIBSVM rows that stay in their places: what ends a row begins the next. */
static fplt_status keep_entries(fplt__builder *builder, fplt_dataset *dataset, fplt_error *error)
{
    size_t rows = builder->rows;
    fplt_status status = fplt__grow(&builder->entries.end, &builder->entries.end_capacity, rows + 1,
                                    sizeof *builder->entries.end, "row starts", error);
    if (status)
        return status;
    memmove(builder->entries.end + 1, builder->entries.end, rows * sizeof *builder->entries.end);
    builder->entries.end[0] = 0;
    dataset->start = builder->entries.end;
    dataset->column = builder->entries.column;
    dataset->value = builder->entries.value;
    builder->entries.end = NULL;
    builder->entries.column = NULL;
    builder->entries.value = NULL;
    return FPLT_OK;
}

static fplt_status take_entries(fplt__builder *builder, const size_t *order, fplt_dataset *dataset,
                                fplt_error *error)
{
    size_t rows = builder->rows;
    const size_t *end = builder->entries.end;
    if (!order && builder->entries.column)
        return keep_entries(builder, dataset, error);
    fplt_status status =
        fplt__alloc_into(&dataset->start, rows + 1, sizeof *dataset->start, "row starts", error);
    if (!status)
        status = fplt__alloc_into(&dataset->column, builder->entries.count, sizeof *dataset->column,
                                  "columns", error);
    if (!status)
        status = fplt__alloc_into(&dataset->value, builder->entries.count, sizeof *dataset->value,
                                  "values", error);
    for (size_t r = 0; r < rows && !status; r++) {
        size_t from = row_at(order, r), begin = from ? end[from - 1] : 0, count = end[from] - begin;
        dataset->start[r + 1] = dataset->start[r] + count;
        if (!count)
            continue;
        memcpy(dataset->column + dataset->start[r], builder->entries.column + begin,
               count * sizeof *dataset->column);
        memcpy(dataset->value + dataset->start[r], builder->entries.value + begin,
               count * sizeof *dataset->value);
    }
    return status;
}

/* Cells that became features one by one, or columns of categories. */
static void fill_values(const fplt__builder *builder, const size_t *order, fplt_dataset *dataset)
{
    size_t filled = 0;
    for (size_t r = 0; r < builder->rows; r++) {
        const double *cells = builder->cells.value + row_at(order, r) * builder->cells.width;
        if (dataset->dense) {
            fill_dense_row(builder, cells, dataset->dense + r * dataset->features);
            continue;
        }
        filled +=
            fill_sparse_row(builder, cells, dataset->column + filled, dataset->value + filled);
        dataset->start[r + 1] = filled;
    }
}

struct filling {
    const fplt__builder *builder;
    const size_t *order;
    const double *word_value;
    fplt_dataset *dataset;
    _Atomic size_t next;
};

/* Labels and places in the files, a portion of the rows after the other. */
static void fill_portions(void *context)
{
    enum { PORTION = 1 << 14 };
    struct filling *filling = context;
    const fplt__builder *builder = filling->builder;
    int words = builder->labels.mode == FPLT__LABEL_WORD;
    for (size_t first; (first = atomic_fetch_add(&filling->next, PORTION)) < builder->rows;)
        for (size_t r = first; r < builder->rows && r < first + PORTION; r++) {
            const fplt__row *row = &builder->row[row_at(filling->order, r)];
            filling->dataset->label[r] =
                words ? filling->word_value[(size_t)row->label] : row->label;
            filling->dataset->number[r] = row->number;
        }
}

/* On several threads where there are many: most of the time goes into memory that is touched first. */
static void fill_labels(const fplt__builder *builder, const size_t *order, const double *word_value,
                        fplt_dataset *dataset)
{
    enum { MANY = 100000 };
    struct filling filling = {builder, order, word_value, dataset, 0};
    fplt__workers_run(builder->rows < MANY ? 1 : builder->pieces.threads, fill_portions, &filling);
}

/* Rows go to their agent's part in the order in which they were read. `taken`: the cells are the rows of
 * the data set already. */
static fplt_status fill_rows(fplt__builder *builder, const double *word_value, int taken,
                             fplt_dataset *dataset, fplt_error *error)
{
    size_t *order = NULL, stride = sizeof *builder->row;
    const uint32_t *agent = &builder->row->agent;
    fplt_status status = FPLT_OK;
    if (!fplt__rows_grouped(dataset->first, dataset->agents, agent, stride, builder->rows)) {
        status = fplt__alloc_into(&order, builder->rows, sizeof *order, "rows", error);
        if (status)
            return status;
        fplt__group_rows(dataset->first, dataset->agents, agent, stride, builder->rows, order);
    }
    status = fill_extras(builder, order, dataset, error);
    if (!status)
        fill_labels(builder, order, word_value, dataset);
    fplt__free(builder->row);
    builder->row = NULL;
    if (!status && builder->sparse)
        status = take_entries(builder, order, dataset, error);
    else if (!status && !taken)
        fill_values(builder, order, dataset);
    else if (!status && order)
        status = move_rows(dataset->dense, dataset->features, order, builder->rows, error);
    fplt__free(order);
    return status;
}

static fplt_status count_features(const fplt__builder *builder, const fplt__lookup *names,
                                  size_t *features, fplt_error *error)
{
    size_t wanted =
        builder->expected.names.count ? builder->expected.names.count : builder->settings->features;
    *features = builder->columns.names.count ? names->count : builder->features;
    if (wanted && builder->sparse && wanted >= *features)
        *features = wanted;
    if (builder->columns.names.count && builder->expected.names.count)
        *features = wanted;
    if (wanted && *features != wanted)
        return fplt__bad_data(error, builder->first_source, 0, "%zu features, but %zu are wanted",
                              *features, wanted);
    if (*features == 0)
        return fplt__bad_data(error, builder->first_source, 0, "there are no features");
    return FPLT_OK;
}

int fplt__levels_are_dense(size_t rows, size_t features, size_t cells)
{
    size_t numbers;
    if (__builtin_mul_overflow(rows, features, &numbers))
        numbers = SIZE_MAX;
    return numbers <= DENSE_NUMBERS || numbers / DENSE_TIMES <= cells;
}

static size_t storage(const fplt__builder *builder, size_t features)
{
    return !has_categories(builder) ||
                   fplt__levels_are_dense(builder->rows, features, builder->cells.count)
               ? FPLT__DENSE
               : builder->cells.count;
}

/* Every cell is the feature of its place. */
static int cells_are_features(const fplt__builder *builder, size_t features)
{
    int same = builder->cells.value && !builder->sparse && builder->cells.width == features;
    for (uint32_t i = 0; i < builder->columns.names.count; i++)
        same &= !builder->columns.column[i].category && builder->columns.column[i].number_slot == i;
    return same;
}

/* A data set with room for what is not taken over from the builder. */
static fplt_status make_room(fplt__builder *builder, size_t features, int taken,
                             fplt_dataset **dataset, fplt_error *error)
{
    if (!taken && !builder->sparse)
        return fplt__dataset_create(builder->rows, features, storage(builder, features),
                                    builder->agents.count, FPLT_TASK_REGRESSION, dataset, error);
    fplt_status status = fplt__dataset_create_empty(builder->rows, features, builder->agents.count,
                                                    FPLT_TASK_REGRESSION, dataset, error);
    if (!status)
        status = fplt__alloc_into(&(*dataset)->label, builder->rows, sizeof *(*dataset)->label,
                                  "labels", error);
    if (!status && taken) {
        (*dataset)->dense = builder->cells.value;
        builder->cells.value = NULL;
    }
    return status;
}

static fplt_status name_everything(const fplt__builder *builder, const fplt__lookup *names,
                                   fplt_dataset *dataset, fplt_error *error)
{
    const fplt__lookup *features = builder->expected.names.count ? &builder->expected.names : names;
    fplt_status status = fplt__lookup_names(features, &dataset->feature_names, error);
    if (!status)
        status = fplt__lookup_names(&builder->agents, &dataset->agent_names, error);
    if (!status)
        status = fplt__lookup_names(&builder->expected.references, &dataset->references, error);
    return status;
}

fplt_status fplt__builder_finish(fplt__builder *builder, fplt_dataset **dataset, fplt_error *error)
{
    fplt__lookup names = {0};
    size_t features;
    double *word_value = NULL;
    fplt_dataset *made = NULL;
    fplt_status status = fplt__check_numbers(builder, error);
    if (!status)
        status = place_columns(builder, &names, error);
    if (!status)
        status = count_features(builder, &names, &features, error);
    int taken = !status && cells_are_features(builder, features);
    if (!status)
        status = make_room(builder, features, taken, &made, error);
    if (!status)
        status = fplt__alloc_into(&word_value, builder->labels.words.count, sizeof *word_value,
                                  "labels", error);
    if (!status)
        status = fplt__labels_settle(builder, word_value, made, error);
    if (!status && builder->columns.lost_levels && !builder->sparse && !made->dense)
        status = fplt__bad_data(error, builder->first_source, 0,
                                "a category with so many levels that its columns are kept sparse "
                                "has missing values: give them a level of their own");
    if (!status)
        status = fill_rows(builder, word_value, taken, made, error);
    if (!status)
        status = group_features(builder, made, error);
    if (!status)
        status = name_everything(builder, &names, made, error);
    if (!status && builder->declared.schema)
        status = fplt__declared_finish(builder, made, error);
    fplt__lookup_clear(&names);
    fplt__free(word_value);
    if (status) {
        fplt_dataset_destroy(made);
        return status;
    }
    made->left_out = builder->left_out.row;
    made->left_out_count = builder->left_out.count;
    builder->left_out.row = NULL;
    *dataset = made;
    return FPLT_OK;
}
