/* The columns of a CSV file: label, site, weight, id, features; and those that other files or a model require. */
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/csv_reader.h"
#include "fedplt/settings.h"

/* By name, then by number from 1. */
static uint32_t find_column(const fplt__csv_reader *reader, const char *wanted)
{
    uint32_t found = fplt__lookup_find(&reader->names, fplt__span_of(wanted));
    long long number;
    if (found == FPLT__NOWHERE && !fplt__parse_integer(wanted, &number) && number >= 1 &&
        number <= reader->names.count)
        found = (uint32_t)number - 1;
    return found;
}

/* A name that is a number, and not that of its place, is no name: the first line is a row. */
static int has_data_for_names(const fplt__csv_reader *reader)
{
    for (uint32_t i = 0; i < reader->names.count; i++) {
        double value = 0;
        if (fplt__number_parse(fplt__lookup_word(&reader->names, i), &value) == FPLT__NUMBER &&
            value != (double)(i + 1))
            return 1;
    }
    return 0;
}

static fplt_status no_column(const fplt__csv_reader *reader, const char *what, const char *wanted,
                             fplt_error *error)
{
    char list[400] = "";
    size_t used = 0;
    uint32_t i = 0;
    for (; i < reader->names.count && used + 60 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 fplt__show(fplt__lookup_word(&reader->names, i)).text);
    return fplt__bad_data(error, reader->source->name, reader->row_line,
                          "there is no %s column '%.80s'; the columns are %s%s%s", what, wanted,
                          list, i < reader->names.count ? ", ..." : "",
                          reader->names.count == 1 && strpbrk(list, ";\t,|")
                              ? " (separator auto looks for the sign between them)"
                          : has_data_for_names(reader)
                              ? "; if the first line is a row and no header, add --header no and "
                                "name columns by their numbers (--label 3)"
                              : "");
}

static const char *role_name(int role)
{
    return role == FPLT__CSV_LABEL      ? "label"
           : role == FPLT__CSV_SITE     ? "site"
           : role == FPLT__CSV_WEIGHT   ? "row-weight"
           : role == FPLT__CSV_ID       ? "id"
           : role == FPLT__CSV_CLUSTER  ? "the cluster of the random intercept"
           : role == FPLT__CSV_LEFT_OUT ? "ignored"
                                        : "a feature";
}

/* `wanted` NULL or none: nothing is done. */
static fplt_status give_role(fplt__csv_reader *reader, const char *what, const char *wanted,
                             int role, fplt_error *error)
{
    if (!wanted || strcmp(wanted, "none") == 0)
        return FPLT_OK;
    uint32_t at = find_column(reader, wanted);
    if (at == FPLT__NOWHERE)
        return no_column(reader, what, wanted, error);
    if (reader->role[at])
        return fplt__bad_data(error, reader->source->name, reader->row_line,
                              "the column '%s' is both %s and %s",
                              fplt__show(fplt__lookup_word(&reader->names, at)).text,
                              role_name(reader->role[at]), role_name(role));
    reader->role[at] = role;
    return FPLT_OK;
}

/* Whether to look for a column that may be absent: the first file says whether there is one. */
static int find_optional(const fplt__csv_reader *reader, const fplt__builder *builder,
                         const char *name, int if_there, fplt__extra kind)
{
    if (!name || !if_there)
        return name != NULL;
    return builder->rows ? builder->extras.value[kind] != NULL
                         : find_column(reader, name) != FPLT__NOWHERE;
}

/* Columns that are ignored, and all but the wanted ones. */
static fplt_status leave_columns_out(fplt__csv_reader *reader, const fplt__builder *builder,
                                     fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < builder->columns.ignored.count && !status; i++)
        status = give_role(reader, "ignored", fplt__lookup_word(&builder->columns.ignored, i).text,
                           FPLT__CSV_LEFT_OUT, error);
    const fplt__lookup *only = &builder->columns.only;
    for (uint32_t i = 0; i < only->count && !status; i++) {
        uint32_t at = find_column(reader, fplt__lookup_word(only, i).text);
        if (at == FPLT__NOWHERE)
            status = no_column(reader, "feature", fplt__lookup_word(only, i).text, error);
        else if (reader->role[at])
            status = fplt__bad_data(error, reader->source->name, reader->row_line,
                                    "the column '%s' is both %s and a feature",
                                    fplt__show(fplt__lookup_word(&reader->names, at)).text,
                                    role_name(reader->role[at]));
        else
            reader->role[at] = FPLT__CSV_WANTED;
    }
    for (uint32_t i = 0; i < reader->names.count && only->count && !status; i++)
        reader->role[i] = reader->role[i] == FPLT__CSV_WANTED ? 0
                          : reader->role[i]                   ? reader->role[i]
                                                              : FPLT__CSV_LEFT_OUT;
    return status;
}

/* Columns that are no features in any file, whether labels and sites are asked for or not. */
static void set_aside(const fplt__csv_reader *reader, const fplt__builder *builder)
{
    static const char *const names[] = {"label", "site"};
    for (size_t i = 0; builder->settings->set_aside && i < 2; i++) {
        uint32_t at = fplt__lookup_find(&reader->names, fplt__span_of(names[i]));
        if (at != FPLT__NOWHERE && reader->role[at] != FPLT__CSV_LABEL)
            reader->role[at] = FPLT__CSV_LEFT_OUT;
    }
}

static fplt_status find_special(fplt__csv_reader *reader, const fplt__builder *builder,
                                fplt_error *error)
{
    const char *label = builder->settings->label ? builder->settings->label : "label";
    const char *site = builder->settings->site;
    uint32_t at;
    if (builder->labels.mode != FPLT__LABEL_NONE) {
        at = find_column(reader, label);
        if (at == FPLT__NOWHERE)
            return no_column(reader, "label", label, error);
        reader->role[at] = FPLT__CSV_LABEL;
    }
    set_aside(reader, builder);
    fplt_status status =
        give_role(reader, "row-weight", builder->settings->row_weight, FPLT__CSV_WEIGHT, error);
    const fplt_read_settings *wanted = builder->settings;
    if (!status && find_optional(reader, builder, wanted->cluster, wanted->cluster_if_there,
                                 FPLT__EXTRA_PERSON))
        status = give_role(reader, "random-intercept", wanted->cluster, FPLT__CSV_CLUSTER, error);
    if (!status && find_optional(reader, builder, wanted->id, wanted->id_if_there, FPLT__EXTRA_ID))
        status = give_role(reader, "id", wanted->id, FPLT__CSV_ID, error);
    if (status || (site && strcmp(site, "none") == 0))
        return status;
    at =
        site ? find_column(reader, site) : fplt__lookup_find(&reader->names, fplt__span_of("site"));
    if (at == FPLT__NOWHERE)
        return site ? no_column(reader, "site", site, error) : FPLT_OK;
    if (reader->role[at] && !site)
        return FPLT_OK;
    return give_role(reader, "site", fplt__lookup_word(&reader->names, at).text, FPLT__CSV_SITE,
                     error);
}

static fplt_status add_column(fplt__builder *builder, fplt__span name, int category,
                              fplt_error *error)
{
    uint32_t number;
    fplt_status status = fplt__grow(&builder->columns.column, &builder->columns.capacity,
                                    (size_t)builder->columns.names.count + 1,
                                    sizeof *builder->columns.column, "columns", error);
    if (!status)
        status = fplt__lookup_add(&builder->columns.names, name, &number, error);
    if (!status)
        builder->columns.column[number].category = category;
    return status;
}

static int is_expected(const fplt__builder *builder, fplt__span name, int *category)
{
    *category = 0;
    if (fplt__lookup_find(&builder->expected.names, name) != FPLT__NOWHERE)
        return 1;
    *category = fplt__lookup_find(&builder->expected.categories, name) != FPLT__NOWHERE;
    return *category;
}

/* The first file says which features there are. */
static fplt_status take_columns(fplt__csv_reader *reader, fplt__builder *builder, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < reader->names.count && !status; i++) {
        fplt__span name = fplt__lookup_word(&reader->names, i);
        int category = fplt__lookup_find(&builder->columns.categories, name) != FPLT__NOWHERE;
        if (reader->role[i] < 0)
            continue;
        if (builder->expected.names.count && !is_expected(builder, name, &category))
            continue;
        status = add_column(builder, name, category, error);
    }
    builder->cells.width = builder->columns.names.count;
    return status;
}

static fplt_status check_categories(const fplt__csv_reader *reader, const fplt__builder *builder,
                                    fplt_error *error)
{
    for (uint32_t i = 0; i < builder->columns.categories.count && !builder->expected.names.count;
         i++) {
        fplt__span name = fplt__lookup_word(&builder->columns.categories, i);
        if (fplt__lookup_find(&builder->columns.names, name) == FPLT__NOWHERE)
            return no_column(reader, "category", name.text, error);
    }
    return FPLT_OK;
}

/* What a model wants must be there, as a column or as the level of one. */
static fplt_status check_expected(const fplt__csv_reader *reader, const fplt__builder *builder,
                                  fplt_error *error)
{
    for (uint32_t i = 0; i < builder->expected.names.count; i++) {
        fplt__span name = fplt__lookup_word(&builder->expected.names, i);
        int found = fplt__lookup_find(&builder->columns.names, name) != FPLT__NOWHERE;
        for (const char *c = strchr(name.text, '='); c && !found; c = strchr(c + 1, '='))
            found = fplt__lookup_find(&builder->columns.names,
                                      (fplt__span){name.text, (size_t)(c - name.text)}) !=
                    FPLT__NOWHERE;
        if (!found)
            return fplt__bad_data(error, reader->source->name, reader->row_line,
                                  "there is no column for the feature '%s' of the model",
                                  fplt__show(name).text);
    }
    return FPLT_OK;
}

/* Gives every column of this file its part; a later file must look like the first. */
static fplt_status match_columns(fplt__csv_reader *reader, const fplt__builder *builder,
                                 fplt_error *error)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < reader->names.count; i++) {
        if (reader->role[i] < 0)
            continue;
        fplt__span name = fplt__lookup_word(&reader->names, i);
        uint32_t at = fplt__lookup_find(&builder->columns.names, name);
        if (builder->expected.names.count) {
            reader->role[i] = at == FPLT__NOWHERE ? FPLT__CSV_LEFT_OUT : (int)at;
            next += at != FPLT__NOWHERE;
            continue;
        }
        if (at == FPLT__NOWHERE)
            return fplt__bad_data(error, reader->source->name, reader->row_line,
                                  "the feature '%s' is not in %.200s", fplt__show(name).text,
                                  builder->first_source);
        reader->role[i] = (int)at;
        next++;
    }
    if (next != builder->columns.names.count)
        return fplt__bad_data(error, reader->source->name, reader->row_line,
                              "%u features, but %.200s has %u", next, builder->first_source,
                              builder->columns.names.count);
    return FPLT_OK;
}

fplt_status fplt__csv_begin_columns(fplt__csv_reader *reader, const fplt__source *source,
                                    fplt__builder *builder, fplt_error *error)
{
    fplt_status status = fplt__csv_begin(reader, source, builder->settings->no_header,
                                         builder->settings->separator, NULL, error);
    if (!status)
        status =
            fplt__alloc_into(&reader->role, reader->fields, sizeof *reader->role, "columns", error);
    if (!status)
        status = find_special(reader, builder, error);
    if (!status)
        status = leave_columns_out(reader, builder, error);
    if (!fplt__dialect_is_plain(&builder->dialect))
        reader->dialect = &builder->dialect;
    return status;
}

fplt_status fplt__csv_settle_columns(fplt__csv_reader *reader, fplt__builder *builder,
                                     fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (!builder->first_source) {
        status = take_columns(reader, builder, error);
        builder->first_source = reader->source->name;
        if (!status)
            status = check_categories(reader, builder, error);
    }
    if (!status)
        status = match_columns(reader, builder, error);
    if (!status)
        status = check_expected(reader, builder, error);
    if (!status && !builder->columns.names.count)
        status =
            fplt__bad_data(error, reader->source->name, reader->row_line, "there are no features");
    return status;
}
