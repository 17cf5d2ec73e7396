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
    for (uint32_t k = 1; k < table->strata.count; k++) {
        const fplt__one_group *group = fplt__one_group_of(table, 0, k);
        rows -= group ? group->rows : 0;
    }
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

/* Whether the rows of a site's strata are all enough to be shown. */
static int is_stratified(const fplt_description *table, uint32_t site)
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

void fplt__one_cross_size(const fplt_description *table, uint32_t j, uint32_t site, size_t *rows,
                          size_t *columns)
{
    const fplt__one_column *column = &table->column[j];
    int is_pair = j < table->crosses;
    *rows = is_pair                             ? column->levels.count
            : column->kind == FPLT__ONE_NUMBERS ? 2
                                                : column->levels.count + 1;
    *columns = is_pair                           ? column->others.count
               : table->site[site].is_stratified ? table->strata.count
                                                 : 1;
}

static fplt_status release_column(fplt_description *table, uint32_t j, uint32_t site,
                                  fplt_error *error)
{
    fplt__crosstab **out = &table->released[j * table->sites.count + site];
    const fplt__one_group *group = fplt__one_group_of(table, site, 0);
    int is_pair = j < table->crosses;
    size_t rows, columns;
    fplt__one_cross_size(table, j, site, &rows, &columns);
    if (!group || table->site[site].is_small)
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

fplt_status fplt__one_note_withheld(fplt_description *table, fplt_error *error)
{
    size_t hidden = 0, cells = 0, minimum = 0;
    for (uint32_t s = 1; s < table->sites.count; s++)
        minimum = table->site[s].minimum > minimum ? table->site[s].minimum : minimum;
    if (minimum < 2)
        return FPLT_OK;
    for (size_t i = 0; i < table->names.count * table->sites.count; i++) {
        const fplt__crosstab *cross = table->released[i];
        for (size_t k = 0; cross && k < fplt__crosstab_at(cross, cross->rows, 0); k++)
            hidden += cross->shown[k].low != cross->shown[k].high, cells++;
    }
    fplt_status status = fplt__notes_add(&table->notes, error,
                                         "counts from 1 to %zu are withheld, and others from which "
                                         "they would follow: %zu of %zu. A count "
                                         "that is not known is shown as an interval",
                                         minimum - 1, hidden, cells);
    for (uint32_t s = 1; s < table->sites.count && !status; s++) {
        const char *name = fplt__lookup_word(&table->sites, s).text;
        if (table->site[s].is_small)
            status = fplt__notes_add(&table->notes, error,
                                     "site '%s' has fewer than %zu rows: all of it is withheld",
                                     name, table->site[s].minimum);
        else if (table->strata.count > 1 && !table->site[s].is_stratified)
            status = fplt__notes_add(&table->notes, error,
                                     "site '%s' has a stratum of fewer than %zu rows: it is shown "
                                     "without strata",
                                     name, table->site[s].minimum);
    }
    if (!status && !table->settings.cells)
        status = fplt__notes_add(&table->notes, error,
                                 "quantiles are withheld: an exact one is the value of one row. "
                                 "--grid gives them on a grid");
    return status;
}

/* ---- sums of numbers ---- */

static size_t numbers_of(const fplt_description *table, uint32_t j, uint32_t site, uint32_t stratum)
{
    const fplt__summary *summary = fplt__one_summary(table, j, site, stratum);
    return summary ? summary->numbers : 0;
}

static int is_balanced(const fplt_description *table, double share)
{
    return table->settings.dominant <= 0 || share <= table->settings.dominant;
}

/* Whether the count of the numbers is shown, and no value has more than its share of the distances to a bound. */
static int may_show_sums(const fplt_description *table, uint32_t j, uint32_t site, uint32_t stratum)
{
    const fplt__crosstab *cross = table->released[j * table->sites.count + site];
    const fplt__summary *summary = fplt__one_summary(table, j, site, stratum);
    size_t column = 0;
    while (stratum && column + 1 < cross->columns && table->order[column] != stratum)
        column++;
    fplt__count count =
        cross->shown[fplt__crosstab_at(cross, 0, stratum ? column : cross->columns)];
    return count.low == count.high &&
           (!summary || is_balanced(table, fplt__summary_share(summary)));
}

/* If one stratum has too few numbers, or one that dominates, the sums of all strata stay: the last one would follow from the
 * others. Of the rows without a stratum the largest distances are not known, and those of all rows stand for them. */
static int may_show_strata(const fplt_description *table, uint32_t j, uint32_t site)
{
    const fplt__summary *all = fplt__one_summary(table, j, site, 0), *part;
    size_t minimum = table->site[site].minimum, none = all->numbers;
    double sum = fplt__summary_sum(all);
    for (uint32_t k = 1; k < table->strata.count; k++) {
        size_t one = numbers_of(table, j, site, k);
        if ((one && one < minimum) || !may_show_sums(table, j, site, k))
            return 0;
        none -= one;
        sum -= (part = fplt__one_summary(table, j, site, k)) ? fplt__summary_sum(part) : 0;
    }
    return !none || (none >= minimum &&
                     is_balanced(table, fplt__distance_share(all->span, (double)none, sum)));
}

static int find_sums(const fplt_description *table, uint32_t j, uint32_t site, uint32_t stratum)
{
    size_t minimum = table->site[site].minimum, all = numbers_of(table, j, site, 0);
    if ((minimum < 2 && table->settings.dominant <= 0) || !fplt__one_group_of(table, site, 0))
        return 1;
    if (table->site[site].is_small || (all && all < minimum) || !may_show_sums(table, j, site, 0))
        return 0;
    return !stratum || (table->site[site].is_stratified && may_show_strata(table, j, site));
}

static void release_sums(fplt_description *table, uint32_t j, uint32_t site)
{
    for (uint32_t k = 0; k < table->strata.count; k++)
        table->has_sums[fplt__one_sums_at(table, j, site, k)] =
            table->column[j].kind == FPLT__ONE_NUMBERS && find_sums(table, j, site, k);
}

fplt_status fplt__one_make_released(fplt_description *table, fplt_error *error)
{
    size_t tables = table->names.count * table->sites.count;
    fplt_status status;
    if (!(status = fplt__alloc_into(&table->released, tables, sizeof *table->released,
                                    "tables of counts", error)) &&
        !(status = fplt__alloc_into(&table->has_sums, tables * table->strata.count,
                                    sizeof *table->has_sums, "sums", error)))
        status =
            fplt__alloc_into(&table->site, table->sites.count, sizeof *table->site, "sites", error);
    return status;
}

static void release_site(fplt_description *table, uint32_t site)
{
    const fplt__one_group *group = fplt__one_group_of(table, site, 0);
    table->site[site] = (fplt__one_site){.minimum = table->settings.minimum,
                                         .is_small = group && group->rows < table->settings.minimum,
                                         .is_stratified = is_stratified(table, site)};
}

fplt_status fplt__one_release(fplt_description *table, fplt_error *error)
{
    fplt_status status = fplt__one_make_released(table, error);
    for (uint32_t s = 1; s < table->sites.count && !status; s++)
        release_site(table, s);
    for (uint32_t s = 1; s < table->sites.count && !status; s++) {
        for (uint32_t k = 0; k < table->crosses && !status; k++)
            status = release_column(table, k, s, error);
        for (size_t i = 0; i < table->shown_count && !status; i++)
            if (!(status = release_column(table, table->shown[i], s, error)))
                release_sums(table, table->shown[i], s);
    }
    return status;
}
