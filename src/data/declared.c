/* Values read by a schema: clipped to bounds, levels found, missing and undeclared values replaced as declared. */
#include <math.h>

#include "data/builder.h"
#include "data/declared.h"
#include "data/schema_access.h"

/* Rows with many levels are kept sparse: more features than this for each column. */
enum { DENSE_FEATURES = 16 };

fplt_status fplt__declared_bad_value(const fplt__source *source, size_t line,
                                     const fplt__declared *column, fplt__span text,
                                     const char *what, fplt_error *error)
{
    return fplt__bad_data(error, source->name, line,
                          "column '%s': %s%s%s %s; the schema can say what it becomes (missing, "
                          "other)",
                          fplt__show(fplt__span_of(column->name)).text, text.length ? "'" : "",
                          text.length ? fplt__show(text).text : "the value", text.length ? "'" : "",
                          what);
}

static void keep_number(fplt__declaration *declared, const fplt__declared *column, double *value)
{
    fplt__clipped_see(declared, column, *value);
    *value = fmin(fmax(*value, column->low), column->high);
}

fplt_status fplt__declared_take_number(fplt__declaration *declared, const fplt__source *source,
                                       size_t line, const fplt__declared *column, double number,
                                       double *value, fplt_error *error)
{
    *value = number;
    if (!isfinite(number))
        return fplt__declared_read_number(declared, source, line, column, (fplt__span){"", 0}, 1,
                                          value, error);
    keep_number(declared, column, value);
    return FPLT_OK;
}

fplt_status fplt__declared_read_number(fplt__declaration *declared, const fplt__source *source,
                                       size_t line, const fplt__declared *column, fplt__span text,
                                       int missing, double *value, fplt_error *error)
{
    if (!missing && fplt__number_parse(fplt__span_trim(text), value) == FPLT__NUMBER) {
        keep_number(declared, column, value);
        return FPLT_OK;
    }
    *value = column->missing == FPLT__CONSTANT ? column->missing_value : column->centre;
    declared->neutral |= column->missing == FPLT__NEUTRAL_ROW;
    fplt__clipped_replace(declared, column);
    if (column->missing != FPLT__REFUSED)
        return FPLT_OK;
    return fplt__declared_bad_value(source, line, column, missing ? (fplt__span){"", 0} : text,
                                    missing ? "is missing" : "is not a finite number", error);
}

fplt_status fplt__declared_read_level(fplt__declaration *declared, const fplt__source *source,
                                      size_t line, const fplt__declared *column, fplt__span text,
                                      int missing, uint32_t *level, fplt_error *error)
{
    *level = missing ? FPLT__NOWHERE : fplt__levels_find(&column->levels, text);
    if (*level != FPLT__NOWHERE)
        return FPLT_OK;
    fplt__becomes answer = missing ? column->missing : column->other;
    *level = 0;
    if (answer == FPLT__CONSTANT)
        *level = missing ? (uint32_t)column->missing_value : column->other_level;
    declared->neutral |= answer == FPLT__NEUTRAL_ROW;
    fplt__clipped_replace(declared, column);
    if (answer != FPLT__REFUSED)
        return FPLT_OK;
    return fplt__declared_bad_value(source, line, column, missing ? (fplt__span){"", 0} : text,
                                    missing ? "is missing" : "is not declared", error);
}

static double class_value(const fplt__declared *label, uint32_t class)
{
    return label->levels.names.count == 2 ? 2.0 * class - 1 : class;
}

fplt_status fplt__declared_read_label(fplt__declaration *declared, const fplt__source *source,
                                      size_t line, const fplt__declared *column, fplt__span text,
                                      int missing, double *label, fplt_error *error)
{
    uint32_t class;
    if (column->bounded)
        return fplt__declared_read_number(declared, source, line, column, text, missing, label,
                                          error);
    fplt_status status =
        fplt__declared_read_level(declared, source, line, column, text, missing, &class, error);
    *label = class_value(column, class);
    return status;
}

fplt_status fplt__declared_label(fplt__declaration *declared, const fplt__source *source,
                                 size_t line, fplt__span text, double *label, fplt_error *error)
{
    const fplt__declared *column = fplt__schema_column(declared->schema, FPLT__LABEL);
    fplt__field field = {text, 0, 0};
    return fplt__declared_read_label(declared, source, line, column, text,
                                     fplt__field_missing(&field), label, error);
}

double fplt__declared_neutral_label(const fplt_schema *schema)
{
    const fplt__declared *column = fplt__schema_column(schema, FPLT__LABEL);
    if (!column)
        return 0;
    return column->bounded ? column->centre : class_value(column, 0);
}

fplt_status fplt__declared_init(fplt__builder *builder, fplt_error *error)
{
    const fplt_schema *schema = builder->declared.schema;
    const fplt__declared *site = fplt__schema_column(schema, FPLT__SITE);
    fplt_status status = FPLT_OK;
    uint32_t number;
    int labelled = !fplt__word_is(builder->settings->label, "none");
    builder->labels.mode = labelled ? FPLT__LABEL_NUMBER : FPLT__LABEL_NONE;
    if (labelled && !fplt__schema_column(schema, FPLT__LABEL) &&
        !fplt__schema_column(schema, FPLT__TIME))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the schema has no column of type label, nor time and event");
    builder->features = builder->cells.width = schema->features;
    builder->sparse =
        schema->libsvm || schema->features / DENSE_FEATURES > schema->columns + DENSE_FEATURES;
    for (uint32_t i = 0; i < schema->feature_names.count && !status; i++)
        status = fplt__lookup_add(&builder->expected.names,
                                  fplt__lookup_word(&schema->feature_names, i), &number, error);
    for (uint32_t i = 0; site && i < site->levels.names.count && !status; i++)
        if (!builder->settings->leave_out && !fplt__word_is(builder->settings->site, "none"))
            status = fplt__lookup_add(&builder->agents, fplt__lookup_word(&site->levels.names, i),
                                      &number, error);
    return status;
}

fplt_status fplt__declared_finish(const fplt__builder *builder, fplt_dataset *dataset,
                                  fplt_error *error)
{
    const fplt__declared *label = fplt__schema_column(builder->declared.schema, FPLT__LABEL);
    dataset->schema = fplt__schema_keep(builder->declared.schema);
    for (uint32_t i = 0; i < dataset->agents; i++)
        if (dataset->first[i + 1] == dataset->first[i] &&
            (!builder->declared.portion || fplt__portion_has(builder->declared.portion, i)))
            return fplt__bad_data(error, builder->first_source, 0,
                                  "the site '%s', which the schema declares, has no rows",
                                  fplt__show(fplt__lookup_word(&builder->agents, i)).text);
    if (builder->extras.value[FPLT__EXTRA_TIME])
        dataset->task = FPLT_TASK_SURVIVAL;
    if (builder->labels.mode == FPLT__LABEL_NONE || !label || label->bounded)
        return FPLT_OK;
    dataset->outputs = label->levels.names.count;
    dataset->task = dataset->outputs == 2 ? FPLT_TASK_BINARY : FPLT_TASK_CLASSES;
    return fplt__lookup_names(&label->levels.names, &dataset->class_names, error);
}
