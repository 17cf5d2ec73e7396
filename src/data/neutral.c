#include "data/neutral.h"

#include <math.h>

#include "data/declaration.h"
#include "data/schema_access.h"

/* One pass over the rows. */
struct pass {
    fplt_dataset *data;
    const fplt_schema *schema;
    int write;
    fplt__neutral_counts counts;
};

/* Whether the number is legal in the column; *cells counts it where it becomes another, *value. */
static int take_number(const fplt__declared *column, double *value, size_t *cells)
{
    double before = *value;
    if (isfinite(before))
        *value = fmin(fmax(before, column->low), column->high);
    else if (column->missing == FPLT__CONSTANT)
        *value = column->missing_value;
    else
        return 0;
    *cells += !(*value == before);
    return 1;
}

/* At most one level, each 0 or 1. */
static int is_level(const double *value, size_t count)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++) {
        if (!(value[j] == 0 || value[j] == 1))
            return 0;
        sum += value[j];
    }
    return sum <= 1;
}

static int take_dense(struct pass *pass, double *row, size_t *cells)
{
    for (size_t i = 0; i < pass->schema->columns; i++) {
        const fplt__declared *column = &pass->schema->column[i];
        double value = column->type == FPLT__NUMBERS ? row[column->first] : 0;
        size_t changed = 0;
        if (column->type == FPLT__CATEGORY && !is_level(row + column->first, column->features))
            return 0;
        if (column->type != FPLT__NUMBERS)
            continue;
        if (!take_number(column, &value, &changed))
            return 0;
        if (changed && pass->write)
            row[column->first] = value;
        *cells += changed;
    }
    return 1;
}

/* The bounds of a feature of a sparse row; a level of a category is 0 or 1. */
static const fplt__declared *column_of(const fplt_schema *schema, uint32_t feature)
{
    const fplt__declared *column = &schema->column[0];
    if (schema->libsvm)
        return fplt__schema_column(schema, FPLT__NUMBERS);
    for (size_t i = 0; i < schema->columns; i++)
        if (schema->column[i].features && schema->column[i].first <= feature)
            column = &schema->column[i];
    return column;
}

static int take_sparse(struct pass *pass, size_t row, size_t *cells)
{
    const fplt_dataset *data = pass->data;
    const fplt__declared *category = NULL; /* whose level was met last */
    for (size_t k = data->start[row]; k < data->start[row + 1]; k++) {
        double value = data->value[k];
        size_t changed = 0;
        if (data->column[k] >= data->features ||
            (k > data->start[row] && data->column[k] <= data->column[k - 1]))
            return 0;
        const fplt__declared *column = column_of(pass->schema, data->column[k]);
        if (column->type == FPLT__NUMBERS ? !take_number(column, &value, &changed)
                                          : column == category || !is_level(&value, 1))
            return 0;
        if (column->type != FPLT__NUMBERS && value == 1)
            category = column;
        if (changed && pass->write)
            data->value[k] = value;
        *cells += changed;
    }
    return 1;
}

/* A time is negative where the event did not happen. */
static int take_label(const struct pass *pass, size_t row)
{
    const fplt__declared *label = fplt__schema_column(pass->schema, FPLT__LABEL),
                         *time = fplt__schema_column(pass->schema, FPLT__TIME);
    double value = pass->data->label[row];
    if (pass->data->task == FPLT_TASK_BINARY)
        return value == -1 || value == 1;
    if (pass->data->task == FPLT_TASK_CLASSES)
        return value >= 0 && value < pass->data->outputs && value == trunc(value);
    label = label ? label : time;
    if (!isfinite(value) || !label)
        return 0;
    value = label == time ? fabs(value) : value;
    return value >= label->low && value <= label->high;
}

static int take_beside(const struct pass *pass, const double *values, fplt__type type, size_t row)
{
    const fplt__declared *column = fplt__schema_column(pass->schema, type);
    return !values || !column || (values[row] >= column->low && values[row] <= column->high);
}

/* Persons are numbers below that of the rows, and rows have their places. */
static int is_whole(const double *values, size_t row, double end)
{
    return !values || (values[row] >= 0 && values[row] < end && values[row] == trunc(values[row]));
}

static void neutralise(struct pass *pass, size_t row)
{
    fplt_dataset *data = pass->data;
    const fplt__declared *time = fplt__schema_column(pass->schema, FPLT__TIME),
                         *weight = fplt__schema_column(pass->schema, FPLT__WEIGHT),
                         *offset = fplt__schema_column(pass->schema, FPLT__OFFSET);
    for (size_t j = 0; data->dense && j < data->features; j++)
        fplt__schema_feature(pass->schema, j, NULL, NULL, &data->dense[row * data->features + j],
                             NULL);
    for (size_t k = data->dense ? 0 : data->start[row]; !data->dense && k < data->start[row + 1];
         k++) {
        data->column[k] = (uint32_t)(k - data->start[row]);
        data->value[k] = 0;
    }
    data->label[row] = time ? -time->centre : fplt__declared_neutral_label(pass->schema);
    if (data->weight)
        data->weight[row] = weight ? weight->centre : 1;
    if (data->offset)
        data->offset[row] = offset ? offset->centre : 0;
    if (data->person && !is_whole(data->person, row, (double)data->rows))
        data->person[row] = 0;
    if (data->number && !is_whole(data->number, row, 0x1p53))
        data->number[row] = (double)row + 1;
}

static void take_row(struct pass *pass, size_t row)
{
    fplt_dataset *data = pass->data;
    size_t cells = 0;
    int legal = data->dense ? take_dense(pass, data->dense + row * data->features, &cells)
                            : take_sparse(pass, row, &cells);
    if (legal && take_label(pass, row) && take_beside(pass, data->weight, FPLT__WEIGHT, row) &&
        take_beside(pass, data->offset, FPLT__OFFSET, row) &&
        is_whole(data->person, row, (double)data->rows) && is_whole(data->number, row, 0x1p53)) {
        pass->counts.cells += cells;
        return;
    }
    pass->counts.rows++;
    if (pass->write)
        neutralise(pass, row);
}

fplt__neutral_counts fplt__neutral_rows(fplt_dataset *dataset, const fplt_schema *schema, int write)
{
    struct pass pass = {dataset, schema, write, {0, 0}};
    for (size_t row = 0; row < dataset->rows; row++)
        take_row(&pass, row);
    return pass.counts;
}
