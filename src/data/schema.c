/* Schemas: levels and features. */
#include "data/schema.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "data/schema_access.h"
#include "data/schema_types.h"

/* ---- levels ---- */

void fplt__levels_clear(fplt__levels *levels)
{
    fplt__lookup_clear(&levels->names);
    fplt__lookup_clear(&levels->values);
    fplt__free(levels->meaning);
    fplt__free(levels->number);
}

static double number_of(fplt__span text)
{
    double value;
    return fplt__number_parse(text, &value) == FPLT__NUMBER ? value : NAN;
}

uint32_t fplt__levels_find(const fplt__levels *levels, fplt__span text)
{
    uint32_t found = fplt__lookup_find(&levels->values, text);
    if (found != FPLT__NOWHERE)
        return levels->meaning[found];
    double value = number_of(text);
    for (uint32_t i = 0; !isnan(value) && i < levels->values.count; i++)
        if (levels->number[i] == value)
            return levels->meaning[i];
    return FPLT__NOWHERE;
}

fplt_status fplt__levels_add(fplt__levels *levels, fplt__span name, fplt__span value,
                             fplt_error *error)
{
    uint32_t level, number;
    fplt_status status;
    if (fplt__levels_find(levels, value) != FPLT__NOWHERE)
        return fplt_error_set(error, FPLT_BAD_DATA, "'%s' is there twice", fplt__show(value).text);
    if ((status = fplt__lookup_add(&levels->names, name, &level, error)) ||
        (status = fplt__lookup_add(&levels->values, value, &number, error)) ||
        (status = fplt__grow(&levels->meaning, &levels->meaning_capacity, (size_t)number + 1,
                             sizeof *levels->meaning, "levels", error)) ||
        (status = fplt__grow(&levels->number, &levels->number_capacity, (size_t)number + 1,
                             sizeof *levels->number, "levels", error)))
        return status;
    levels->meaning[number] = level;
    levels->number[number] = number_of(value);
    return FPLT_OK;
}

const fplt__declared *fplt__schema_column(const fplt_schema *schema, fplt__type type)
{
    for (size_t i = 0; i < schema->columns; i++)
        if (schema->column[i].type == type)
            return &schema->column[i];
    return NULL;
}

fplt_schema *fplt__schema_keep(const fplt_schema *schema)
{
    fplt_schema *kept = (fplt_schema *)(uintptr_t)schema;
    if (kept)
        atomic_fetch_add(&kept->kept, 1);
    return kept;
}

void fplt_schema_destroy(fplt_schema *schema)
{
    if (!schema || atomic_fetch_sub(&schema->kept, 1) > 1)
        return;
    for (size_t i = 0; i < schema->columns; i++) {
        fplt__levels_clear(&schema->column[i].levels);
        fplt__free(schema->column[i].name);
    }
    fplt__free(schema->column);
    fplt__lookup_clear(&schema->feature_names);
    fplt__free(schema->text);
    fplt__free(schema);
}

/* ---- features ---- */

static fplt_status name_feature(fplt_schema *schema, const char *name, fplt_error *error)
{
    uint32_t number, before = schema->feature_names.count;
    fplt_status status =
        fplt__lookup_add(&schema->feature_names, fplt__span_of(name), &number, error);
    if (!status && number < before)
        status = fplt_error_set(error, FPLT_BAD_DATA, "two features would be called '%.80s'", name);
    return status;
}

static fplt_status name_levels(fplt_schema *schema, fplt__declared *column, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < column->levels.names.count && !status; i++) {
        char name[2 * FPLT__SCHEMA_LONGEST_WORD];
        if (i == column->base)
            continue;
        snprintf(name, sizeof name, "%s=%s", column->name,
                 fplt__lookup_word(&column->levels.names, i).text);
        status = name_feature(schema, name, error);
        column->features++;
    }
    return status;
}

static fplt_status place_features(fplt_schema *schema, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < schema->columns && !status; i++) {
        fplt__declared *column = &schema->column[i];
        column->first = schema->feature_names.count;
        if (column->type == FPLT__NUMBERS) {
            status = name_feature(schema, column->name, error);
            column->features = 1;
        } else if (column->type == FPLT__CATEGORY)
            status = name_levels(schema, column, error);
    }
    schema->features = schema->feature_names.count;
    if (!status && !schema->features)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "there are no features: no column is a number or a category");
    return status;
}

fplt_status fplt__schema_complete(fplt_schema *schema, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (schema->libsvm) {
        if (schema->column[0].type == FPLT__LABEL) { /* one order, whatever that of the file */
            fplt__declared label = schema->column[0];
            schema->column[0] = schema->column[1];
            schema->column[1] = label;
        }
        fplt__declared *entries = &schema->column[0];
        entries->centre = 0; /* zeros stay zeros */
        entries->scale = fmax(fabs(entries->low), fabs(entries->high));
        entries->features = schema->features;
    } else
        status = place_features(schema, error);
    return status ? status : fplt__schema_write_text(schema, error);
}

const char *fplt__schema_text(const fplt_schema *schema)
{
    return schema->text;
}

const char *fplt__schema_digest(const fplt_schema *schema)
{
    return schema->digest;
}

void fplt__schema_be_lenient(fplt_schema *schema)
{
    if (schema)
        schema->lenient = 1;
}

int fplt__schema_is_lenient(const fplt_schema *schema)
{
    return schema && schema->lenient;
}

int fplt__schema_is_drafted(const fplt_schema *schema)
{
    return schema && schema->drafted;
}

size_t fplt__schema_features(const fplt_schema *schema)
{
    return schema->features;
}

static const fplt__declared *column_of(const fplt_schema *schema, size_t feature)
{
    for (size_t i = 0; i < schema->columns; i++)
        if (feature - schema->column[i].first < schema->column[i].features)
            return &schema->column[i];
    return NULL;
}

const char *fplt__schema_feature(const fplt_schema *schema, size_t feature, double *low,
                                 double *high, double *centre, double *scale)
{
    const fplt__declared *column = column_of(schema, feature);
    int level = !column || column->type == FPLT__CATEGORY;
    if (low)
        *low = level ? 0 : column->low;
    if (high)
        *high = level ? 1 : column->high;
    if (centre)
        *centre = level ? 0 : column->centre;
    if (scale)
        *scale = level ? 1 : column->scale;
    return feature < schema->feature_names.count
               ? fplt__lookup_word(&schema->feature_names, (uint32_t)feature).text
               : NULL;
}

void fplt__schema_scaling(const fplt_schema *schema, size_t feature, double stretch, double *centre,
                          double *scale)
{
    double low = 0, high = 0;
    fplt__schema_feature(schema, feature, &low, &high, centre, scale);
    if (stretch > 0 && low < high && *scale == (high - low) / 2)
        *scale /= stretch;
}

fplt_status fplt__schema_feature_names(const fplt_schema *schema, fplt__names *names,
                                       fplt_error *error)
{
    size_t count = fplt__schema_features(schema);
    fplt__span *spans;
    *names = (fplt__names){0, NULL};
    if (!fplt__schema_feature(schema, 0, NULL, NULL, NULL, NULL))
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&spans, count, sizeof *spans, "the names", error);
    if (status)
        return status;
    for (size_t j = 0; j < count; j++) {
        const char *name = fplt__schema_feature(schema, j, NULL, NULL, NULL, NULL);
        spans[j] = (fplt__span){name, strlen(name)};
    }
    status = fplt__names_make(spans, count, names, error);
    fplt__free(spans);
    return status;
}

double fplt__schema_radius(const fplt_schema *schema, int standardised)
{
    double squares = 0;
    for (size_t i = 0; i < schema->columns; i++) {
        const fplt__declared *column = &schema->column[i];
        double centre = standardised ? column->centre : 0;
        double scale = standardised ? column->scale : 1;
        double most = fmax(fabs(column->low - centre), fabs(column->high - centre)) / scale;
        if (column->type == FPLT__CATEGORY)
            squares += 1;
        else if (column->type == FPLT__NUMBERS)
            squares += most * most * (double)column->features;
    }
    return sqrt(squares);
}

size_t fplt__schema_inputs(const fplt_schema *schema)
{
    size_t count = schema->libsvm ? schema->features : 0;
    for (size_t i = 0; i < schema->columns && !schema->libsvm; i++)
        count += schema->column[i].features > 0;
    return count;
}

size_t fplt__schema_categories(const fplt_schema *schema)
{
    size_t count = 0;
    for (size_t i = 0; i < schema->columns && !schema->libsvm; i++)
        count += schema->column[i].features > 0 && schema->column[i].type == FPLT__CATEGORY;
    return count;
}

uint32_t fplt__schema_classes(const fplt_schema *schema)
{
    const fplt__declared *label = fplt__schema_column(schema, FPLT__LABEL);
    return label ? label->levels.names.count : 0;
}

fplt_task fplt__schema_task(const fplt_schema *schema, uint32_t *outputs)
{
    uint32_t classes = fplt__schema_classes(schema);
    *outputs = classes ? classes : 1;
    if (fplt__schema_column(schema, FPLT__TIME))
        return FPLT_TASK_SURVIVAL;
    return classes == 2 ? FPLT_TASK_BINARY : classes ? FPLT_TASK_CLASSES : FPLT_TASK_REGRESSION;
}

const char *fplt__schema_class(const fplt_schema *schema, uint32_t number)
{
    return fplt__lookup_word(&fplt__schema_column(schema, FPLT__LABEL)->levels.names, number).text;
}

uint64_t fplt__schema_most(const fplt_schema *schema)
{
    const fplt__declared *person = fplt__schema_column(schema, FPLT__PERSON);
    return person ? person->most : 0;
}

fplt_status fplt__schema_accepts_all(const fplt_schema *schema, fplt_error *error)
{
    for (size_t i = 0; i < schema->columns; i++) {
        const fplt__declared *column = &schema->column[i];
        unsigned legal = fplt__schema_types[column->type].keys;
        const char *key = NULL;
        if (legal & FPLT__KEY_MISSING && column->missing == FPLT__REFUSED)
            key = "missing";
        else if (fplt__schema_answers_other(column, schema->libsvm) &&
                 column->other == FPLT__REFUSED)
            key = "other";
        if (key)
            return fplt_error_set(error, FPLT_UNSUPPORTED,
                                  "the schema refuses records: declare what '%.80s' becomes, with "
                                  "%s: %s%s",
                                  column->name, key,
                                  column->type == FPLT__PERSON ? "" : "a constant or ",
                                  FPLT__ANSWER_NEUTRAL);
    }
    return FPLT_OK;
}
