/* Table 1: after the last row, what every column is, its levels, and which counts may be shown. */
#include <math.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/memory.h"
#include "study/table_one_inside.h"

enum { MAX_LEVELS = 50 };

/* ---- totals over the sites ---- */

static fplt_status add_group(fplt_description *table, size_t from, fplt_error *error)
{
    fplt__one_group *total;
    fplt_status status = fplt__one_find_group(table, 0, table->group[from].stratum, &total, error);
    const fplt__one_group *group = &table->group[from];
    if (status)
        return status;
    total->rows += group->rows;
    for (uint32_t j = 0; j < table->names.count && j < group->capacity && !status; j++)
        status = fplt__summary_add(&total->column[j], &group->column[j], error);
    return status;
}

static fplt_status add_sites(fplt_description *table, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0, count = table->groups; i < count && !status; i++)
        status = add_group(table, i, error);
    for (size_t i = 0; i < table->groups && !status;
         i++) { /* columns that came with a later file */
        fplt__one_group *group;
        status = fplt__one_find_group(table, table->group[i].site, table->group[i].stratum, &group,
                                      error);
        for (uint32_t j = 0; !status && j < table->names.count; j++)
            fplt__summary_sort(&group->column[j]);
    }
    return status;
}

/* ---- kinds and levels ---- */

static fplt_status numbers_to_levels(fplt__summary *summary, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    char room[32];
    for (size_t i = 0; i < summary->numbers && !status; i++) {
        fplt__number_name(summary->number[i], room);
        status = fplt__summary_see_word(summary, fplt__span_of(room), error);
    }
    summary->rows -= status ? 0 : summary->numbers;
    summary->numbers = 0;
    return status;
}

/* The words of all groups, in the order in which they are shown. */
static fplt_status find_levels(fplt_description *table, uint32_t j, fplt_error *error)
{
    fplt__one_column *column = &table->column[j];
    const fplt__summary *all = fplt__one_summary(table, j, 0, 0);
    fplt_status status = FPLT_OK;
    uint32_t added;
    for (uint32_t i = 0; column->declared && i < column->declared->levels.names.count && !status;
         i++)
        status =
            fplt__lookup_add(&column->levels, fplt__lookup_word(&column->declared->levels.names, i),
                             &added, error);
    for (uint32_t i = 0; all && i < all->words.count && !status; i++)
        status =
            fplt__lookup_add(&column->levels, fplt__lookup_word(&all->words, i), &added, error);
    return status ? status
                  : fplt__study_order(&column->levels, 0, column->declared, &column->order, error);
}

static fplt_status settle_open(fplt_description *table, uint32_t j, fplt_error *error)
{
    const fplt__summary *all = fplt__one_summary(table, j, 0, 0);
    fplt_status status = FPLT_OK;
    table->column[j].kind = all && all->words.count ? FPLT__ONE_LEVELS : FPLT__ONE_NUMBERS;
    if (table->column[j].kind == FPLT__ONE_NUMBERS && table->settings.cells && all && all->numbers)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "column '%s' holds numbers and has no bounds for the grid: add them to column-bounds "
            "(--column-bounds '%s=LOW..HIGH') or to the schema, list it among categories, or "
            "ignore it",
            fplt__lookup_word(&table->names, j).text, fplt__lookup_word(&table->names, j).text);
    for (size_t i = 0; table->column[j].kind == FPLT__ONE_LEVELS && i < table->groups && !status;
         i++)
        status = numbers_to_levels(&table->group[i].column[j], error);
    if (!status && all && all->words.count > MAX_LEVELS) {
        status = fplt__notes_add(
            &table->notes, error,
            "column '%s' is left out: it has %u levels, more than %d (list it among "
            "categories to show "
            "them)",
            fplt__lookup_word(&table->names, j).text, all->words.count, MAX_LEVELS);
        table->column[j].kind = FPLT__ONE_ASIDE;
    }
    return status;
}

/* Words of the pairs, apart. */
static fplt_status split_pairs(fplt_description *table, uint32_t k, fplt_error *error)
{
    fplt__one_column *column = &table->column[k];
    const fplt__summary *all = fplt__one_summary(table, k, 0, 0);
    fplt_status status = FPLT_OK;
    uint32_t added;
    for (uint32_t i = 0; all && i < all->words.count && !status; i++) {
        fplt__span pair = fplt__lookup_word(&all->words, i);
        const char *between = memchr(pair.text, FPLT__ONE_BETWEEN, pair.length);
        size_t first = (size_t)(between - pair.text);
        status = fplt__lookup_add(&column->levels, (fplt__span){pair.text, first}, &added, error);
        if (!status)
            status =
                fplt__lookup_add(&column->others,
                                 (fplt__span){between + 1, pair.length - first - 1}, &added, error);
    }
    if (!status)
        status = fplt__study_order(&column->levels, 0, table->column[column->crossed[0]].declared,
                                   &column->order, error);
    if (!status)
        status = fplt__study_order(&column->others, 0, table->column[column->crossed[1]].declared,
                                   &column->other_order, error);
    return status;
}

static fplt_status settle_column(fplt_description *table, uint32_t j, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (j < table->crosses)
        return split_pairs(table, j, error);
    if (table->settings.by &&
        strcmp(fplt__lookup_word(&table->names, j).text, table->settings.by) == 0)
        return FPLT_OK;
    if (table->column[j].kind == FPLT__ONE_OPEN)
        status = settle_open(table, j, error);
    if (!status && table->column[j].kind == FPLT__ONE_LEVELS)
        status = find_levels(table, j, error);
    if (!status && table->column[j].kind != FPLT__ONE_ASIDE)
        table->shown[table->shown_count++] = j;
    return status;
}

static fplt_status note_strata(fplt_description *table, fplt_error *error)
{
    size_t rows = fplt__one_group_of(table, 0, 0)->rows;
    for (uint32_t k = 1; k < table->strata.count; k++)
        rows -= fplt__one_group_of(table, 0, k)->rows;
    if (!table->settings.by || !rows || table->settings.minimum > 1)
        return FPLT_OK;
    return fplt__notes_add(
        &table->notes, error,
        "%zu rows have no value of '%s': they count in the columns of all rows only", rows,
        table->settings.by);
}

fplt_status fplt__one_settle(fplt_description *table, fplt_error *error)
{
    const fplt__declared *by = NULL;
    fplt_status status =
        fplt__alloc_into(&table->shown, table->names.count, sizeof *table->shown, "columns", error);
    if (!status && !table->groups)
        return fplt_error_set(error, FPLT_BAD_DATA, "the files have no rows");
    if (!status)
        status = add_sites(table, error);
    for (uint32_t j = 0; j < table->names.count && !status; j++) {
        if (table->settings.by &&
            strcmp(fplt__lookup_word(&table->names, j).text, table->settings.by) == 0)
            by = table->column[j].declared;
        status = settle_column(table, j, error);
    }
    if (!status)
        status = fplt__study_order(&table->strata, 1, by, &table->order, error);
    if (!status && table->strata.count > 1 + MAX_LEVELS)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "by: column '%s' has %u values, more than %d strata",
                                table->settings.by, table->strata.count - 1, MAX_LEVELS);
    return status ? status : note_strata(table, error);
}

/* ---- what may be shown ---- */

int fplt__one_is_stratified(const fplt_description *table, uint32_t site)
{
    const fplt__one_group *all = fplt__one_group_of(table, site, 0);
    size_t minimum = table->settings.minimum, none = all ? all->rows : 0;
    for (uint32_t k = 1; k < table->strata.count; k++) {
        const fplt__one_group *group = fplt__one_group_of(table, site, k);
        size_t rows = group ? group->rows : 0;
        if (rows && rows < minimum)
            return 0;
        none -= rows;
    }
    return table->strata.count > 1 && (!none || none >= minimum);
}

/* Level (or the values together), then the missing ones, by stratum, then the rows without one. */
static void fill_column(const fplt_description *table, uint32_t j, uint32_t site,
                        fplt__crosstab *cross)
{
    const fplt__one_column *column = &table->column[j];
    for (size_t c = 0; c < cross->columns; c++) {
        const fplt__one_group *group =
            fplt__one_group_of(table, site, c + 1 < cross->columns ? table->order[c] : 0);
        const fplt__summary *summary = group ? &group->column[j] : NULL;
        size_t left = group ? group->rows : 0, values = 0;
        for (size_t i = 0; summary && i + 1 < cross->rows; i++) {
            size_t count = column->kind == FPLT__ONE_NUMBERS
                               ? summary->numbers
                               : fplt__summary_count(summary, fplt__lookup_word(&column->levels,
                                                                                column->order[i]));
            cross->count[fplt__crosstab_at(cross, i, c)] = count;
            values += count;
        }
        cross->count[fplt__crosstab_at(cross, cross->rows - 1, c)] = left - values;
    }
    /* the last column has all rows so far: those without a stratum are what is left */
    for (size_t i = 0; i < cross->rows; i++)
        for (size_t c = 0; c + 1 < cross->columns; c++)
            cross->count[fplt__crosstab_at(cross, i, cross->columns - 1)] -=
                cross->count[fplt__crosstab_at(cross, i, c)];
}

static void fill_pairs(const fplt_description *table, uint32_t k, uint32_t site,
                       fplt__crosstab *cross)
{
    const fplt__one_column *column = &table->column[k];
    const fplt__summary *summary = fplt__one_summary(table, k, site, 0);
    for (uint32_t i = 0; summary && i < summary->words.count; i++) {
        fplt__span pair = fplt__lookup_word(&summary->words, i);
        const char *between = memchr(pair.text, FPLT__ONE_BETWEEN, pair.length);
        size_t first = (size_t)(between - pair.text), row = 0, other = 0;
        uint32_t a = fplt__lookup_find(&column->levels, (fplt__span){pair.text, first});
        uint32_t b =
            fplt__lookup_find(&column->others, (fplt__span){between + 1, pair.length - first - 1});
        while (column->order[row] != a)
            row++;
        while (column->other_order[other] != b)
            other++;
        cross->count[fplt__crosstab_at(cross, row, other)] = summary->count[i];
    }
}

static fplt_status release_column(fplt_description *table, uint32_t j, uint32_t site,
                                  fplt_error *error)
{
    const fplt__one_column *column = &table->column[j];
    fplt__crosstab **out = &table->released[j * table->sites.count + site];
    const fplt__one_group *group = fplt__one_group_of(table, site, 0);
    int is_pair = j < table->crosses;
    size_t rows = is_pair                             ? column->levels.count
                  : column->kind == FPLT__ONE_NUMBERS ? 2
                                                      : column->levels.count + 1;
    size_t columns = is_pair                                ? column->others.count
                     : fplt__one_is_stratified(table, site) ? table->strata.count
                                                            : 1;
    if (!group || group->rows < table->settings.minimum)
        return FPLT_OK;
    fplt_status status = fplt__crosstab_create(rows, columns, out, error);
    if (status)
        return status;
    (*out)->columns_stay = !is_pair;
    if (is_pair)
        fill_pairs(table, j, site, *out);
    else
        fill_column(table, j, site, *out);
    fplt__crosstab_total(*out);
    FPLT__ASSERT((*out)->count[fplt__crosstab_at(*out, rows, columns)] == group->rows);
    return fplt__crosstab_protect(*out, table->settings.minimum, error);
}

static fplt_status note_withheld(fplt_description *table, fplt_error *error)
{
    size_t hidden = 0, cells = 0;
    for (size_t i = 0; i < table->names.count * table->sites.count; i++) {
        const fplt__crosstab *cross = table->released[i];
        for (size_t k = 0; cross && k < fplt__crosstab_at(cross, cross->rows, 0); k++)
            hidden += cross->hidden[k], cells++;
    }
    fplt_status status = fplt__notes_add(&table->notes, error,
                                         "counts from 1 to %zu are withheld, and others from which "
                                         "they would follow: %zu of %zu. A count "
                                         "that is not known is shown as an interval",
                                         table->settings.minimum - 1, hidden, cells);
    for (uint32_t s = 1; s < table->sites.count && !status; s++) {
        const char *name = fplt__lookup_word(&table->sites, s).text;
        const fplt__one_group *group = fplt__one_group_of(table, s, 0);
        if (group && group->rows < table->settings.minimum)
            status = fplt__notes_add(&table->notes, error,
                                     "site '%s' has fewer than %zu rows: all of it is withheld",
                                     name, table->settings.minimum);
        else if (table->strata.count > 1 && !fplt__one_is_stratified(table, s))
            status = fplt__notes_add(&table->notes, error,
                                     "site '%s' has a stratum of fewer than %zu rows: it is shown "
                                     "without strata",
                                     name, table->settings.minimum);
    }
    if (!status && !table->settings.cells)
        status = fplt__notes_add(&table->notes, error,
                                 "quantiles are withheld: an exact one is the value of one row. "
                                 "--grid gives them on a grid");
    return status;
}

fplt_status fplt__one_release(fplt_description *table, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(&table->released, table->names.count * table->sites.count,
                                          sizeof *table->released, "tables of counts", error);
    for (uint32_t s = 1; s < table->sites.count && !status; s++) {
        for (uint32_t k = 0; k < table->crosses && !status; k++)
            status = release_column(table, k, s, error);
        for (size_t i = 0; i < table->shown_count && !status; i++)
            status = release_column(table, table->shown[i], s, error);
    }
    return status || table->settings.minimum < 2 ? status : note_withheld(table, error);
}
