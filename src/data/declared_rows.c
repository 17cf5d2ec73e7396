/* Rows read by a schema. No row is left out, and the shape of the data set does not depend on any record. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/builder.h"
#include "data/declared.h"
#include "data/schema_access.h"

/* One file on its way into a builder. */
struct reading {
    const fplt__source *source;
    fplt__builder *builder;
    const fplt__declared **role; /* owned: one a column of the file; NULL: not looked at */
    uint32_t columns;
    double *row;      /* owned: the features of a row */
    fplt__field *odd; /* owned: fields of a row that is not one of the table */
    const double
        *numbers; /* the fields of an array of NumPy, which has no texts; NULL: a CSV file */
    uint32_t agent;
};

fplt_status fplt__declared_entry(fplt__builder *builder, const fplt__source *source, size_t line,
                                 uint64_t index, fplt__span text, fplt_error *error)
{
    const fplt__declared *column = fplt__schema_column(builder->declared.schema, FPLT__NUMBERS);
    double value;
    if (index > builder->declared.schema->features) {
        builder->declared.neutral |= column->other == FPLT__NEUTRAL_ROW;
        if (column->other != FPLT__REFUSED)
            return FPLT_OK;
        return fplt__bad_data(error, source->name, line,
                              "index %llu, but the schema declares %zu features",
                              (unsigned long long)index, builder->declared.schema->features);
    }
    fplt_status status = fplt__declared_read_number(&builder->declared, source, line, column, text,
                                                    text.length == 0, &value, error);
    return status ? status : fplt__builder_entry(builder, (uint32_t)(index - 1), value, error);
}

/* The agent of a row; a model that reads other data takes sites as they come. */
static fplt_status take_site(struct reading *reading, size_t line, const fplt__declared *column,
                             const fplt__field *field, fplt_error *error)
{
    fplt__builder *builder = reading->builder;
    int missing = fplt__field_missing(field);
    int named = column->levels.names.count && !builder->settings->leave_out;
    if (!named && !missing)
        return fplt__lookup_add(&builder->agents, field->span, &reading->agent, error);
    reading->agent = missing ? FPLT__NOWHERE : fplt__levels_find(&column->levels, field->span);
    if (named && reading->agent == FPLT__NOWHERE && fplt__builder_is_lenient(builder)) {
        reading->agent = 0; /* whose neutral row it becomes */
        builder->declared.neutral = 1;
        fplt__clipped_replace(&builder->declared, column);
    }
    if (reading->agent != FPLT__NOWHERE)
        return FPLT_OK;
    if (missing)
        return fplt__bad_data(error, reading->source->name, line,
                              "column '%s': the site is missing, and a row must belong to one",
                              fplt__show(fplt__span_of(column->name)).text);
    return fplt__bad_data(error, reading->source->name, line,
                          "column '%s': the schema declares no site '%s'",
                          fplt__show(fplt__span_of(column->name)).text,
                          fplt__show(field->span).text);
}

/* Whose row it is. A row without a name, or beyond the most that one person has, is answered as
 * declared: which one that is depends on the rows of the same person alone. */
static fplt_status take_person(struct reading *reading, size_t line, const fplt__declared *column,
                               const fplt__field *field, uint32_t *number, fplt_error *error)
{
    fplt__builder *builder = reading->builder;
    int missing = fplt__field_missing(field);
    uint32_t known = builder->persons.names.count;
    fplt__span name = missing ? (fplt__span){"", 0} : field->span;
    fplt_status status = fplt__lookup_add(&builder->persons.names, name, number, error);
    if (!status)
        status = fplt__grow(&builder->persons.rows, &builder->persons.capacity,
                            builder->persons.names.count, sizeof *builder->persons.rows, "persons",
                            error);
    if (status)
        return status;
    if (*number == known)
        builder->persons.rows[known] = 0;
    int beyond = ++builder->persons.rows[*number] > column->most;
    fplt__becomes answer = missing ? column->missing : beyond ? column->other : FPLT__CONSTANT;
    builder->declared.neutral |= answer == FPLT__NEUTRAL_ROW;
    if (answer != FPLT__REFUSED)
        return FPLT_OK;
    return fplt__declared_bad_value(
        reading->source, line, column, name,
        missing ? "is missing" : "has more rows than the most that are declared", error);
}

static fplt_status take_extra(struct reading *reading, size_t line, const fplt__declared *column,
                              const fplt__field *field, fplt_error *error)
{
    fplt__builder *builder = reading->builder;
    fplt__extra kind = (fplt__extra)(column->type - FPLT__WEIGHT);
    int missing = fplt__field_missing(field);
    uint32_t number = 0;
    double value = 0;
    fplt_status status;
    if (column->type == FPLT__PERSON)
        status = take_person(reading, line, column, field, &number, error);
    else if (column->type == FPLT__EVENT)
        status = fplt__declared_read_level(&builder->declared, reading->source, line, column,
                                           field->span, missing, &number, error);
    else
        status = fplt__declared_read_number(&builder->declared, reading->source, line, column,
                                            field->span, missing, &value, error);
    if (column->type == FPLT__PERSON || column->type == FPLT__EVENT)
        value = number;
    return status ? status : fplt__builder_extra(builder, kind, value, error);
}

static fplt_status take_category(struct reading *reading, size_t line, const fplt__declared *column,
                                 const fplt__field *field, fplt_error *error)
{
    uint32_t level;
    fplt_status status =
        fplt__declared_read_level(&reading->builder->declared, reading->source, line, column,
                                  field->span, fplt__field_missing(field), &level, error);
    if (!status && level != column->base)
        reading->row[column->first + level - (level > column->base)] = 1;
    return status;
}

static fplt_status take_field(struct reading *reading, size_t line, const fplt__declared *column,
                              const fplt__field *field, double *label, fplt_error *error)
{
    int missing = fplt__field_missing(field) || (field->foreign && column->bounded);
    if (field->foreign && column->bounded && !fplt__builder_is_lenient(reading->builder))
        return fplt__bad_cell(error, reading->source->name, line, fplt__span_of(column->name),
                              field);
    switch (column->type) {
    case FPLT__NUMBERS:
        return fplt__declared_read_number(&reading->builder->declared, reading->source, line,
                                          column, field->span, missing,
                                          &reading->row[column->first], error);
    case FPLT__CATEGORY: return take_category(reading, line, column, field, error);
    case FPLT__LABEL:
        return fplt__declared_read_label(&reading->builder->declared, reading->source, line, column,
                                         field->span, missing, label, error);
    case FPLT__SITE: return take_site(reading, line, column, field, error);
    case FPLT__IGNORED: return FPLT_OK;
    default: return take_extra(reading, line, column, field, error);
    }
}

/* A field of an array of NumPy: levels and classes are found by the text of the number. */
static fplt_status take_value(struct reading *reading, size_t line, const fplt__declared *column,
                              double number, double *label, fplt_error *error)
{
    char text[32];
    fplt__field field = {{"", 0}, 0, 0};
    if (column->type == FPLT__NUMBERS)
        return fplt__declared_take_number(&reading->builder->declared, reading->source, line,
                                          column, number, &reading->row[column->first], error);
    if (isfinite(number)) {
        fplt__number_name(number, text);
        field.span = fplt__span_of(text);
    }
    return take_field(reading, line, column, &field, label, error);
}

static void fill_neutral(fplt__builder *builder, double *row)
{
    const fplt_schema *schema = builder->declared.schema;
    for (size_t j = 0; j < schema->features; j++)
        fplt__schema_feature(schema, j, NULL, NULL, &row[j], NULL);
    for (size_t i = 0; i < schema->columns; i++) {
        const fplt__declared *column = &schema->column[i];
        if (column->type < FPLT__WEIGHT || column->type > FPLT__EVENT)
            continue;
        fplt__extra kind = (fplt__extra)(column->type - FPLT__WEIGHT);
        if (builder->rows < builder->extras.capacity[kind])
            builder->extras.value[kind][builder->rows] = column->bounded ? column->centre : 0;
    }
}

static fplt_status store_row(struct reading *reading, fplt_error *error)
{
    fplt__builder *builder = reading->builder;
    size_t features = builder->declared.schema->features;
    double *cells;
    fplt_status status = FPLT_OK;
    if (!builder->sparse) {
        if (!(status = fplt__builder_cells(builder, &cells, error)))
            memcpy(cells, reading->row, features * sizeof *cells);
        return status;
    }
    for (size_t j = 0; j < features && !status; j++)
        if (reading->row[j] != 0)
            status = fplt__builder_entry(builder, (uint32_t)j, reading->row[j], error);
    return status;
}

static fplt_status take_row(void *context, const fplt__field *fields, size_t line,
                            fplt_error *error)
{
    struct reading *reading = context;
    fplt__builder *builder = reading->builder;
    double label = 0;
    fplt_status status = FPLT_OK;
    memset(reading->row, 0, builder->declared.schema->features * sizeof *reading->row);
    for (uint32_t i = 0; i < reading->columns && !status; i++)
        if (reading->role[i])
            status = reading->numbers
                         ? take_value(reading, line, reading->role[i], reading->numbers[i], &label,
                                      error)
                         : take_field(reading, line, reading->role[i], &fields[i], &label, error);
    if (status)
        return status;
    if (builder->declared.neutral) {
        builder->declared.neutral_rows++;
        label = fplt__declared_neutral_label(builder->declared.schema);
        fill_neutral(builder, reading->row);
        builder->declared.neutral = 0;
    }
    if (builder->labels.mode == FPLT__LABEL_NONE)
        label = 0;
    if (builder->declared.portion &&
        !fplt__portion_has(builder->declared.portion, reading->agent)) {
        builder->number++;
        return FPLT_OK;
    }
    if ((status = store_row(reading, error)))
        return status;
    return fplt__builder_row(builder, label, reading->agent, error);
}

/* The declared site at the place of column i, counted from the left or from the right; otherwise the first one. */
static fplt__span find_site(const struct reading *reading, uint32_t i, const fplt__field *fields,
                            size_t count)
{
    const fplt__levels *levels = &reading->role[i]->levels;
    size_t behind = reading->columns - i, places[2] = {i, count - behind};
    for (size_t k = 0; k < 2; k++)
        if (places[k] < count && fplt__levels_find(levels, fields[places[k]].span) != FPLT__NOWHERE)
            return fields[places[k]].span;
    return levels->values.count ? fplt__lookup_word(&levels->values, 0) : (fplt__span){"", 0};
}

/* A line that is not a row of the table is the neutral row of its site. */
static fplt_status take_odd_row(void *context, const fplt__field *fields, size_t count, size_t line,
                                fplt_error *error)
{
    struct reading *reading = context;
    for (uint32_t i = 0; i < reading->columns; i++) {
        int site = reading->role[i] && reading->role[i]->type == FPLT__SITE;
        reading->odd[i] =
            (fplt__field){site ? find_site(reading, i, fields, count) : (fplt__span){"", 0}, 0, 0};
    }
    reading->builder->declared.neutral = 1;
    return take_row(context, reading->odd, line, error);
}

/* ---- columns of a CSV file ---- */

/* Whether the file may lack a column, and whether the column is looked at if there. */
static int is_wanted(const fplt__builder *builder, const fplt__declared *column)
{
    const fplt_read_settings *settings = builder->settings;
    switch (column->type) {
    case FPLT__NUMBERS:
    case FPLT__OFFSET:
    case FPLT__CATEGORY: return 1;
    case FPLT__TIME:
    case FPLT__EVENT:
    case FPLT__WEIGHT:
    case FPLT__LABEL: return !fplt__word_is(settings->label, "none");
    case FPLT__SITE: return !fplt__word_is(settings->site, "none");
    case FPLT__IGNORED: return 0;
    case FPLT__PERSON: return !settings->leave_out || settings->cluster;
    default: return !settings->leave_out;
    }
}

static int is_optional(const fplt__builder *builder, const fplt__declared *column)
{
    return !is_wanted(builder, column) ||
           ((column->type == FPLT__SITE || column->type == FPLT__WEIGHT ||
             column->type == FPLT__PERSON) &&
            builder->settings->leave_out);
}

static int is_declared(const fplt_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->columns; i++)
        if (strcmp(schema->column[i].name, name) == 0)
            return 1;
    return 0;
}

/* Of the columns that mean nothing else; NULL: none is near. */
static const char *nearest_name(const fplt_schema *schema, const fplt__lookup *names,
                                const char *wanted)
{
    const char *nearest = NULL;
    size_t closest = strlen(wanted) / 3 + 2;
    for (uint32_t i = 0; i < names->count; i++) {
        const char *name = fplt__lookup_word(names, i).text;
        size_t distance = fplt__edit_distance(wanted, name);
        if (distance < closest && !is_declared(schema, name)) {
            closest = distance;
            nearest = name;
        }
    }
    return nearest;
}

static fplt_status find_column(struct reading *reading, const fplt__lookup *names, size_t line,
                               const fplt__declared *column, fplt_error *error)
{
    uint32_t at = fplt__lookup_find(names, fplt__span_of(column->name));
    if (at != FPLT__NOWHERE) {
        reading->role[at] = column;
        return FPLT_OK;
    }
    if (is_optional(reading->builder, column))
        return FPLT_OK;
    const char *nearest = nearest_name(reading->builder->declared.schema, names, column->name);
    return fplt__bad_data(error, reading->source->name, line,
                          "there is no column '%s', which the schema declares%s%s%s",
                          fplt__show(fplt__span_of(column->name)).text, nearest ? " (is it '" : "",
                          nearest ? fplt__show(fplt__span_of(nearest)).text : "",
                          nearest ? "'?)" : "");
}

static fplt_status check_undeclared(const struct reading *reading, const fplt__lookup *names,
                                    size_t line, fplt_error *error)
{
    for (uint32_t i = 0; i < names->count && !reading->builder->settings->leave_out; i++)
        if (!reading->role[i])
            return fplt__bad_data(error, reading->source->name, line,
                                  "the schema does not declare the column '%s'; give it a type, or "
                                  "declare it as ignore",
                                  fplt__show(fplt__lookup_word(names, i)).text);
    return FPLT_OK;
}

/* Without a header the columns are the declared ones in their order; a file for a model may end
 * before a label that nobody wants. */
static fplt_status number_columns(struct reading *reading, size_t line, fplt_error *error)
{
    const fplt_schema *schema = reading->builder->declared.schema;
    size_t least = schema->columns;
    while (least && is_optional(reading->builder, &schema->column[least - 1]))
        least--;
    if (reading->columns > schema->columns || reading->columns < least)
        return fplt__bad_data(error, reading->source->name, line,
                              "%u columns, but the schema declares %zu", reading->columns,
                              schema->columns);
    for (uint32_t i = 0; i < reading->columns; i++)
        reading->role[i] = &schema->column[i];
    return FPLT_OK;
}

/* `names`: of the columns; NULL: they have none. */
static fplt_status find_roles(struct reading *reading, const fplt__lookup *names, size_t count,
                              size_t line, fplt_error *error)
{
    fplt__builder *builder = reading->builder;
    const fplt_schema *schema = builder->declared.schema;
    reading->columns = (uint32_t)count;
    fplt_status status =
        fplt__alloc_into(&reading->role, count, sizeof *reading->role, "columns", error);
    if (!status)
        status = fplt__alloc_into(&reading->odd, count, sizeof *reading->odd, "columns", error);
    int named = schema->header && names;
    if (!status && !named)
        status = number_columns(reading, line, error);
    for (size_t i = 0; i < schema->columns && !status && named; i++)
        status = find_column(reading, names, line, &schema->column[i], error);
    if (!status && named)
        status = check_undeclared(reading, names, line, error);
    int sites = 0;
    for (uint32_t i = 0; i < reading->columns && !status; i++) {
        if (reading->role[i] && !is_wanted(builder, reading->role[i]))
            reading->role[i] = NULL;
        sites |= reading->role[i] && reading->role[i]->type == FPLT__SITE;
    }
    if (!status && !sites)
        status = fplt__source_agent(reading->source, &builder->agents, &reading->agent, error);
    return status;
}

static fplt_status match_columns(void *context, const fplt__lookup *names, size_t line,
                                 fplt_error *error)
{
    return find_roles(context, names, names->count, line, error);
}

static fplt_status visit_csv(struct reading *reading, fplt_error *error)
{
    fplt__builder *builder = reading->builder;
    fplt__csv_visitor visitor = {match_columns,
                                 take_row,
                                 reading,
                                 builder->settings->separator,
                                 fplt__dialect_is_plain(&builder->dialect) ? NULL
                                                                           : &builder->dialect,
                                 fplt__builder_is_lenient(builder) ? take_odd_row : NULL,
                                 builder->declared.schema->columns};
    return fplt__csv_visit(reading->source, !builder->declared.schema->header, &visitor, error);
}

static fplt_status take_numbers(void *context, const double *row, size_t columns, size_t number,
                                fplt_error *error)
{
    struct reading *reading = context;
    fplt_status status =
        reading->role
            ? FPLT_OK
            : find_roles(reading, NULL, columns < UINT32_MAX ? columns : UINT32_MAX, 0, error);
    reading->numbers = row;
    return status ? status : take_row(reading, reading->odd, number, error);
}

fplt_status fplt__declared_table(const fplt__source *source, fplt__builder *builder, int numbers,
                                 fplt_error *error)
{
    struct reading reading = {.source = source, .builder = builder};
    if (!builder->first_source)
        builder->first_source = source->name;
    fplt_status status = fplt__alloc_into(&reading.row, builder->declared.schema->features,
                                          sizeof *reading.row, "a row", error);
    if (!status)
        status = numbers ? fplt__npy_visit(source, take_numbers, &reading, error)
                         : visit_csv(&reading, error);
    if (!status && builder->number == 0)
        status = fplt__bad_data(error, source->name, 0, "there are no rows");
    fplt__free(reading.row);
    fplt__free(reading.role);
    fplt__free(reading.odd);
    return status;
}
