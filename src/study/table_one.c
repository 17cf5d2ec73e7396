/* Table 1: reads the rows of CSV files into the counts and sums of every column, site and stratum. */
#include "study/table_one.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "study/table_one_inside.h"

enum { MAX_NAME = 300 };

void fplt_description_destroy(fplt_description *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->groups; i++) {
        for (size_t j = 0; j < table->group[i].capacity; j++)
            fplt__summary_clear(&table->group[i].column[j]);
        fplt__free(table->group[i].column);
    }
    for (size_t j = 0; j < table->names.count; j++) {
        fplt__lookup_clear(&table->column[j].levels);
        fplt__lookup_clear(&table->column[j].others);
        fplt__free(table->column[j].order);
        fplt__free(table->column[j].other_order);
    }
    for (size_t i = 0; table->released && i < table->names.count * table->sites.count; i++)
        fplt__crosstab_destroy(table->released[i]);
    fplt__notes_clear(&table->notes);
    fplt__free(table->released);
    fplt__free(table->site);
    fplt__free(table->has_sums);
    fplt__free(table->group);
    fplt__free(table->column);
    fplt__free(table->order);
    fplt__free(table->shown);
    fplt__free(table->at);
    fplt__lookup_clear(&table->names);
    fplt__lookup_clear(&table->sites);
    fplt__lookup_clear(&table->strata);
    fplt__free(table);
}

/* ---- columns ---- */

static int is_listed(const char *list, const char *name)
{
    char word[MAX_NAME];
    while (list && *list) {
        list = fplt__list_next(list, word, sizeof word);
        if (strcmp(word, name) == 0)
            return 1;
    }
    return 0;
}

fplt__one_kind fplt__one_declared_kind(const fplt__declared *declared)
{
    switch (declared->type) {
    case FPLT__SITE:
    case FPLT__PERSON:
    case FPLT__IGNORED: return FPLT__ONE_ASIDE;
    default: return declared->bounded ? FPLT__ONE_NUMBERS : FPLT__ONE_LEVELS;
    }
}

static fplt_status begin_column(fplt_description *table, fplt__one_column *column, const char *name,
                                fplt_error *error)
{
    const fplt_describe_settings *settings = &table->settings;
    const fplt_read_settings *read = settings->read;
    const fplt__declared *declared = fplt__study_declared(read->schema, name);
    fplt_status status = fplt__bins_find(settings->bounds, name, &column->grid, error);
    if (status)
        return status;
    column->declared = declared;
    if (declared)
        column->kind = fplt__one_declared_kind(declared);
    else if (column->grid.cells)
        column->kind = FPLT__ONE_NUMBERS;
    if (is_listed(read->categories, name))
        column->kind = FPLT__ONE_LEVELS;
    if (!column->grid.cells && declared && declared->bounded)
        column->grid = (fplt__bins){declared->low, declared->high, 1};
    column->grid.cells =
        column->grid.cells && column->kind == FPLT__ONE_NUMBERS ? settings->cells : 0;
    if (is_listed(read->ignore, name) || (read->columns && !is_listed(read->columns, name)) ||
        (read->id && strcmp(read->id, name) == 0) || (read->schema && read->leave_out && !declared))
        column->kind = FPLT__ONE_ASIDE;
    return FPLT_OK;
}

fplt_status fplt__one_add_column(fplt_description *table, fplt__span name, uint32_t *number,
                                 fplt_error *error)
{
    uint32_t before = table->names.count;
    fplt_status status = fplt__grow(&table->column, &table->column_capacity, before + 1,
                                    sizeof *table->column, "columns", error);
    if (!status)
        status = fplt__lookup_add(&table->names, name, number, error);
    if (status || *number < before)
        return status;
    table->column[*number] = (fplt__one_column){.kind = FPLT__ONE_OPEN};
    return begin_column(table, &table->column[*number],
                        fplt__lookup_word(&table->names, *number).text, error);
}

/* The tables of two columns are columns of their own, under the name that was given. */
static fplt_status begin_crosses(fplt_description *table, fplt_error *error)
{
    const char *list = table->settings.cross;
    char pair[2 * MAX_NAME];
    fplt_status status = FPLT_OK;
    while (!status && list && *list) {
        uint32_t number;
        list = fplt__list_next(list, pair, sizeof pair);
        const char *colon = strchr(pair, ':');
        if (!colon || colon == pair || !colon[1])
            return fplt_error_set(
                error, FPLT_BAD_VALUE,
                "cross: '%s' is not a pair of columns: write two names with a colon between them",
                pair);
        status = fplt__one_add_column(table, fplt__span_of(pair), &number, error);
    }
    table->crosses = table->names.count;
    for (uint32_t k = 0; !status && k < table->crosses; k++) {
        table->column[k].kind = FPLT__ONE_LEVELS;
        table->column[k].grid.cells = 0;
    }
    return status;
}

/* ---- groups ---- */

fplt_status fplt__one_find_group(fplt_description *table, uint32_t site, uint32_t stratum,
                                 fplt__one_group **out, fplt_error *error)
{
    fplt__one_group *group = (fplt__one_group *)fplt__one_group_of(table, site, stratum);
    fplt_status status = FPLT_OK;
    if (!group) {
        status = fplt__grow(&table->group, &table->group_capacity, table->groups + 1,
                            sizeof *table->group, "groups", error);
        if (status)
            return status;
        group = &table->group[table->groups++];
        *group = (fplt__one_group){.site = site, .stratum = stratum};
    }
    if (group->capacity < table->names.count) {
        size_t before = group->capacity;
        status = fplt__grow(&group->column, &group->capacity, table->names.count,
                            sizeof *group->column, "columns", error);
        if (status)
            return status;
        memset(group->column + before, 0, (group->capacity - before) * sizeof *group->column);
        for (size_t j = before; j < table->names.count; j++)
            group->column[j].grid = table->column[j].grid;
    }
    *out = group;
    return FPLT_OK;
}

const fplt__one_group *fplt__one_group_of(const fplt_description *table, uint32_t site,
                                          uint32_t stratum)
{
    for (size_t i = 0; i < table->groups; i++)
        if (table->group[i].site == site && table->group[i].stratum == stratum)
            return &table->group[i];
    return NULL;
}

const fplt__summary *fplt__one_summary(const fplt_description *table, uint32_t column,
                                       uint32_t site, uint32_t stratum)
{
    const fplt__one_group *group = fplt__one_group_of(table, site, stratum);
    return group && column < group->capacity ? &group->column[column] : NULL;
}

/* ---- rows ---- */

static fplt_status see_value(const fplt_description *table, uint32_t j, const fplt__field *field,
                             size_t line, fplt__summary *summary, fplt_error *error)
{
    const fplt__one_column *column = &table->column[j];
    fplt__span word;
    char room[32];
    double value;
    if (column->kind == FPLT__ONE_OPEN)
        return fplt__summary_see(summary, field, error);
    if (column->kind == FPLT__ONE_LEVELS)
        return fplt__study_word(column->declared, field, room, &word)
                   ? fplt__summary_see_word(summary, word, error)
                   : fplt__summary_see_missing(summary);
    if (fplt__field_missing(field))
        return fplt__summary_see_missing(summary);
    if (!field->foreign && fplt__number_parse(fplt__span_trim(field->span), &value) == FPLT__NUMBER)
        return fplt__summary_see_number(summary, value, error);
    if (column->declared)
        return fplt__summary_see_missing(summary);
    return fplt__bad_cell(error, table->source->name, line, fplt__lookup_word(&table->names, j),
                          field);
}

/* One more row of a table of two columns. */
static fplt_status see_pair(const fplt_description *table, uint32_t k, const fplt__field *fields,
                            fplt__summary *summary, fplt_error *error)
{
    char text[2048], room[32];
    size_t used = 0;
    for (int side = 0; side < 2; side++) {
        uint32_t j = table->column[k].crossed[side], at = 0;
        fplt__span word = fplt__span_of(FPLT__ONE_NONE);
        while (at < table->columns && table->at[at] != j)
            at++;
        if (at < table->columns &&
            !fplt__study_word(table->column[j].declared, &fields[at], room, &word))
            word = fplt__span_of(FPLT__ONE_NONE);
        if (word.length > 1000)
            word.length = 1000;
        memcpy(text + used, word.text, word.length);
        used += word.length;
        text[used++] = FPLT__ONE_BETWEEN;
    }
    return fplt__summary_see_word(summary, (fplt__span){text, used - 1}, error);
}

static fplt_status see_group(fplt_description *table, uint32_t site, uint32_t stratum,
                             const fplt__field *fields, size_t line, fplt_error *error)
{
    fplt__one_group *group;
    fplt_status status = fplt__one_find_group(table, site, stratum, &group, error);
    if (status)
        return status;
    group->rows++;
    for (uint32_t k = 0; k < table->crosses && !stratum && !status; k++)
        status = see_pair(table, k, fields, &group->column[k], error);
    for (uint32_t i = 0; i < table->columns && !status; i++) {
        uint32_t j = table->at[i];
        if (table->column[j].kind != FPLT__ONE_ASIDE && i != table->site_column)
            status = see_value(table, j, &fields[i], line, &group->column[j], error);
    }
    return status;
}

static fplt_status see_row(void *context, const fplt__field *fields, size_t line, fplt_error *error)
{
    fplt_description *table = context;
    uint32_t site = table->file_site, stratum = 0;
    fplt_status status = FPLT_OK;
    if (table->site_column != FPLT__NOWHERE)
        status = fplt__lookup_add(&table->sites, fields[table->site_column].span, &site, error);
    if (!status)
        status = see_group(table, site, 0, fields, line, error);
    if (!status && table->by_column != FPLT__NOWHERE) {
        const fplt__one_column *by = &table->column[table->at[table->by_column]];
        fplt__span word;
        char room[32];
        if (!fplt__study_word(by->declared, &fields[table->by_column], room, &word))
            return FPLT_OK;
        status = fplt__lookup_add(&table->strata, word, &stratum, error);
        if (!status)
            status = see_group(table, site, stratum, fields, line, error);
    }
    return status;
}

static fplt_status see_file(void *context, const char *path, const fplt__source *source,
                            fplt_error *error)
{
    fplt_description *table = context;
    (void)error;
    table->source = source;
    table->path = path;
    return FPLT_OK;
}

/* The two columns of a table of two. */
static fplt_status find_parts(fplt_description *table, uint32_t k, const fplt__lookup *names,
                              fplt_error *error)
{
    fplt__span pair = fplt__lookup_word(&table->names, k);
    size_t first = (size_t)(strchr(pair.text, ':') - pair.text);
    fplt__span parts[2] = {{pair.text, first}, {pair.text + first + 1, pair.length - first - 1}};
    for (int side = 0; side < 2; side++) {
        if (fplt__lookup_find(names, parts[side]) == FPLT__NOWHERE)
            return fplt_error_set(error, FPLT_BAD_VALUE, "cross: %s has no column '%.*s'",
                                  table->source->name, (int)parts[side].length, parts[side].text);
        table->column[k].crossed[side] = fplt__lookup_find(&table->names, parts[side]);
    }
    return FPLT_OK;
}

fplt_status fplt__one_declare_strata(fplt_description *table, const fplt__declared *by,
                                     fplt_error *error)
{
    fplt_status status = FPLT_OK;
    uint32_t number;
    for (uint32_t i = 0; by && i < by->levels.names.count && !status; i++)
        status = fplt__lookup_add(&table->strata, fplt__lookup_word(&by->levels.names, i), &number,
                                  error);
    return status;
}

static fplt_status see_columns(void *context, const fplt__lookup *names, size_t line,
                               fplt_error *error)
{
    fplt_description *table = context;
    const char *by = table->settings.by;
    (void)line;
    table->columns = names->count;
    fplt__free(table->at);
    fplt_status status =
        fplt__alloc_into(&table->at, names->count, sizeof *table->at, "columns", error);
    for (uint32_t i = 0; i < names->count && !status; i++)
        status = fplt__one_add_column(table, fplt__lookup_word(names, i), &table->at[i], error);
    if (status)
        return status;
    table->site_column = fplt__study_site_column(table->settings.read, names);
    table->by_column = by ? fplt__lookup_find(names, fplt__span_of(by)) : FPLT__NOWHERE;
    if (by && table->by_column == FPLT__NOWHERE)
        return fplt_error_set(error, FPLT_BAD_VALUE, "by: %s has no column '%s'",
                              table->source->name, by);
    for (uint32_t k = 0; k < table->crosses && !status; k++)
        status = find_parts(table, k, names, error);
    if (!status && by)
        status =
            fplt__one_declare_strata(table, table->column[table->at[table->by_column]].declared,
                                     error);
    if (status)
        return status;
    if (table->site_column == FPLT__NOWHERE)
        return fplt__lookup_add(&table->sites, fplt__span_of(table->path), &table->file_site,
                                error);
    table->column[table->at[table->site_column]].kind = FPLT__ONE_ASIDE;
    return FPLT_OK;
}

/* The rows of `count` files, or of one text where `paths` is NULL. */
struct table_input {
    const char *const *paths;
    size_t count;
    const char *name, *text;
    size_t size;
};

static fplt_status see_rows(fplt_description *table, const struct table_input *input,
                            fplt_error *error)
{
    const fplt__csv_files visitor = {see_file, see_columns, see_row, table};
    const fplt_read_settings *read = table->settings.read;
    return input->paths
               ? fplt__csv_visit_files(input->paths, input->count, read, &visitor, error)
               : fplt__csv_visit_text(input->name, input->text, input->size, read, &visitor, error);
}

fplt_status fplt__one_begin(const fplt_describe_settings *settings, fplt_description **out,
                            fplt_error *error)
{
    fplt_description *table;
    uint32_t all;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&table, 1, sizeof *table, "a table", error);
    if (status)
        return status;
    table->settings = *settings;
    if (!(status = fplt__lookup_add(&table->sites, fplt__span_of(""), &all, error)))
        status = fplt__lookup_add(&table->strata, fplt__span_of(""), &all, error);
    if (status)
        fplt_description_destroy(table);
    else
        *out = table;
    return status;
}

static fplt_status describe(const struct table_input *input, const fplt_describe_settings *settings,
                            fplt_description **out, fplt_error *error)
{
    fplt_description *table;
    *out = NULL;
    fplt_status status = fplt__one_begin(settings, &table, error);
    if (status)
        return status;
    table->files = input->paths ? input->count : 1;
    if (!(status = begin_crosses(table, error)) && !(status = see_rows(table, input, error)) &&
        !(status = fplt__one_settle(table, error)) && !(status = fplt__one_release(table, error)))
        status = fplt__one_note_withheld(table, error);
    if (status)
        fplt_description_destroy(table);
    else
        *out = table;
    return status;
}

fplt_status fplt_describe(const char *const *paths, size_t count,
                          const fplt_describe_settings *settings, fplt_description **description,
                          fplt_error *error)
{
    return describe(&(struct table_input){.paths = paths, .count = count}, settings, description,
                    error);
}

fplt_status fplt_describe_text(const char *name, const char *text, size_t size,
                               const fplt_describe_settings *settings,
                               fplt_description **description, fplt_error *error)
{
    return describe(&(struct table_input){.name = name, .text = text, .size = size}, settings,
                    description, error);
}
