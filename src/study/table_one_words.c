/* Numbers of a site: rows, minimum and two flags; the rows of each stratum; then for each column its table of counts as
 * lowest and highest values with all totals, and for a column of numbers and each stratum a flag, two sums and the cells. */
#include "study/table_one_words.h"

#include <math.h>

#include "base/assert.h"
#include "base/memory.h"
#include "study/table_one_inside.h"
#include "study/told.h"

enum { HEAD = 4, SUMS = 3 };

/* ---- which numbers ---- */

const fplt__declared *fplt__table_one_strata_by(const fplt_describe_settings *settings)
{
    return settings->by ? fplt__study_declared(settings->read->schema, settings->by) : NULL;
}

int fplt__table_one_describes(const fplt_describe_settings *settings, const fplt__declared *column)
{
    return fplt__one_declared_kind(column) != FPLT__ONE_ASIDE &&
           (!settings->by || strcmp(settings->by, column->name) != 0);
}

/* Columns of the table of counts: the strata and the rows without one, or all rows. */
size_t fplt__table_one_groups(const fplt_describe_settings *settings)
{
    const fplt__declared *by = fplt__table_one_strata_by(settings);
    return by ? by->levels.names.count + 1 : 1;
}

static size_t lines_of(const fplt__declared *column)
{
    return column->bounded ? 2 : column->levels.names.count + 1;
}

uint64_t fplt__table_one_sent(const fplt_describe_settings *settings)
{
    const fplt_schema *schema = settings->read->schema;
    uint64_t groups = fplt__table_one_groups(settings), sum = HEAD + groups - 1;
    for (size_t j = 0; j < schema->columns; j++)
        if (fplt__table_one_describes(settings, &schema->column[j])) {
            sum += 2 * (lines_of(&schema->column[j]) + 1) * (groups + 1);
            sum += schema->column[j].bounded ? groups * (SUMS + settings->cells) : 0;
        }
    return sum;
}

uint64_t fplt__table_one_described(const fplt_describe_settings *settings)
{
    const fplt_schema *schema = settings->read->schema;
    uint64_t count = 0;
    for (size_t j = 0; j < schema->columns; j++)
        count += (uint64_t)fplt__table_one_describes(settings, &schema->column[j]);
    return count;
}

/* A count by level and stratum, and of numbers two sums and the cells that have enough values; totals follow from them. */
uint64_t fplt__table_one_cost(const fplt_describe_settings *settings, uint64_t rows, size_t minimum)
{
    const fplt_schema *schema = settings->read->schema;
    uint64_t groups = fplt__table_one_groups(settings), most = rows / (minimum > 1 ? minimum : 1),
             sum = groups;
    uint64_t cells = settings->cells < most ? settings->cells : most;
    for (size_t j = 0; j < schema->columns; j++)
        if (fplt__table_one_describes(settings, &schema->column[j])) {
            sum += lines_of(&schema->column[j]) * groups;
            sum += schema->column[j].bounded ? groups * (2 + cells) : 0;
        }
    return sum;
}

fplt_status fplt__table_one_check(const fplt_describe_settings *settings, fplt_error *error)
{
    const fplt_schema *schema = settings->read->schema;
    const fplt__declared *by = schema ? fplt__table_one_strata_by(settings) : NULL;
    if (!schema || schema->libsvm)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "describe: sites count the columns that a schema of a CSV file "
                              "declares; add one: `schema: FILE`");
    if (settings->by && (!by || !by->levels.names.count))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "by: is '%.200s', but must be a column for which the schema declares "
                              "levels or classes",
                              settings->by);
    if (!fplt__table_one_described(settings))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "describe: the schema declares no column besides '%.200s'",
                              settings->by ? settings->by : "");
    if (!settings->cells || settings->cross || fplt__table_one_sent(settings) > FPLT__TOLD_MAX)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "describe: a grid is needed, tables of two columns are not sent, and "
                              "a site sends at most %llu numbers",
                              (unsigned long long)FPLT__TOLD_MAX);
    return FPLT_OK;
}

/* ---- sending ---- */

/* A place of the table that is sent, in the table of a site, which has all rows only where it is not stratified; SIZE_MAX:
 * not there. */
static size_t place_of(const fplt__crosstab *cross, size_t groups, size_t line, size_t group)
{
    if (!cross || (cross->columns != groups && group && group < groups))
        return SIZE_MAX;
    return fplt__crosstab_at(cross, line, group == groups ? cross->columns : group);
}

static void put_counts(fplt__telling *out, const fplt__crosstab *cross, size_t lines, size_t groups)
{
    for (size_t line = 0; line <= lines; line++)
        for (size_t group = 0; group <= groups; group++) {
            size_t at = place_of(cross, groups, line, group);
            fplt__tell(out, at == SIZE_MAX ? 0 : cross->shown[at].low);
            fplt__tell(out, at == SIZE_MAX ? 0 : cross->shown[at].high);
        }
}

static void put_sums(fplt__telling *out, const fplt_description *table, uint32_t j,
                     uint32_t stratum, uint64_t *merged)
{
    const fplt__summary *summary = fplt__one_summary(table, j, 1, stratum);
    uint32_t cells = table->settings.cells;
    int is_sent = table->has_sums[fplt__one_sums_at(table, j, 1, stratum)];
    int has_values = is_sent && summary && summary->numbers;
    fplt__tell(out, (uint64_t)is_sent);
    memset(out->words + 2 * out->used, 0, 4 * sizeof *out->words);
    if (has_values)
        fplt__sum_export(summary->sum, 0, out->words + 2 * out->used, 2);
    out->used += 2;
    if (has_values)
        fplt__summary_merge(summary, table->site[1].minimum, merged);
    for (uint32_t i = 0; i < cells; i++)
        fplt__tell(out, has_values ? merged[i] : 0);
}

static void put_site(fplt__telling *out, const fplt_description *table)
{
    const fplt__one_site *site = &table->site[1];
    const fplt__one_group *all = fplt__one_group_of(table, 1, 0);
    fplt__tell(out, site->is_small || !all ? 0 : all->rows);
    fplt__tell(out, site->minimum);
    fplt__tell(out, (uint64_t)site->is_small);
    fplt__tell(out, (uint64_t)site->is_stratified);
    for (uint32_t k = 1; k < table->strata.count; k++) {
        const fplt__one_group *group = fplt__one_group_of(table, 1, k);
        fplt__tell(out, site->is_stratified && !site->is_small && group ? group->rows : 0);
    }
}

fplt_status fplt__table_one_export(const fplt_description *table, uint64_t *words,
                                   fplt_error *error)
{
    const fplt_describe_settings *settings = &table->settings;
    const fplt_schema *schema = settings->read->schema;
    fplt__telling out = {words, 0};
    size_t groups = fplt__table_one_groups(settings);
    uint64_t *merged;
    fplt_status status =
        fplt__alloc_into(&merged, settings->cells, sizeof *merged, "a grid", error);
    FPLT__ASSERT(table->sites.count == 2 && table->strata.count == groups);
    if (!status)
        put_site(&out, table);
    for (size_t i = 0; i < schema->columns && !status; i++) {
        const fplt__declared *column = &schema->column[i];
        if (!fplt__table_one_describes(settings, column))
            continue;
        uint32_t j = fplt__lookup_find(&table->names, fplt__span_of(column->name));
        if (j == FPLT__NOWHERE) {
            status = fplt_error_set(error, FPLT_BAD_DATA, "column '%s' is missing", column->name);
            break;
        }
        put_counts(&out, table->released[j * table->sites.count + 1], lines_of(column), groups);
        for (uint32_t k = 0; column->bounded && k < groups; k++)
            put_sums(&out, table, j, k, merged);
    }
    fplt__free(merged);
    FPLT__ASSERT(status || out.used == fplt__table_one_sent(settings));
    return status;
}

/* ---- receiving ---- */

struct receiving {
    fplt_description *table;
    uint32_t site;
    fplt__hearing told;
    size_t groups;
    uint64_t rows;
    uint64_t *cells; /* owned: of one grid */
};

static fplt_status take_counts(struct receiving *in, uint32_t j, fplt_error *error)
{
    fplt_description *table = in->table;
    fplt__crosstab **cross = &table->released[j * table->sites.count + in->site];
    size_t lines, columns;
    fplt_status status = FPLT_OK;
    fplt__one_cross_size(table, j, in->site, &lines, &columns);
    if (!table->site[in->site].is_small)
        status = fplt__crosstab_create(lines, columns, cross, error);
    for (size_t line = 0; line <= lines && !status; line++)
        for (size_t group = 0; group <= in->groups; group++) {
            size_t at = place_of(*cross, in->groups, line, group);
            uint64_t low = fplt__hear(&in->told, in->rows), high = fplt__hear(&in->told, in->rows);
            if (low > high)
                in->told.is_bad = 1;
            else if (at != SIZE_MAX)
                (*cross)->shown[at] = (fplt__count){(size_t)low, (size_t)high};
        }
    return status;
}

/* Of n values from -1 to 1 the sums are at most n. */
static int are_possible(const fplt__summary *summary)
{
    double sum[2], n = (double)summary->numbers;
    fplt__sum_read(summary->sum, 0, sum, 2);
    return fabs(sum[0]) <= n && sum[1] >= 0 && sum[1] <= n;
}

static fplt_status take_sums(struct receiving *in, uint32_t j, uint32_t stratum, fplt_error *error)
{
    fplt_description *table = in->table;
    fplt__one_group *group;
    int is_sent = (int)fplt__hear(&in->told, 1);
    const uint64_t *sums = in->told.words + 2 * in->told.used;
    uint64_t count = 0;
    in->told.used += 2;
    for (uint32_t i = 0; i < table->settings.cells; i++)
        count += in->cells[i] = fplt__hear(&in->told, in->rows);
    table->has_sums[fplt__one_sums_at(table, j, in->site, stratum)] = (unsigned char)is_sent;
    if (count > in->rows || (!is_sent && (count || sums[0] || sums[1] || sums[2] || sums[3])))
        in->told.is_bad = 1;
    if (in->told.is_bad || !count)
        return FPLT_OK;
    fplt_status status = fplt__one_find_group(table, in->site, stratum, &group, error);
    if (status)
        return status;
    status = fplt__summary_take(&group->column[j], in->cells, sums, error);
    if (status == FPLT_DIVERGED || (!status && !are_possible(&group->column[j]))) {
        in->told.is_bad = 1;
        return FPLT_OK;
    }
    return status;
}

static fplt_status take_head(struct receiving *in, fplt_error *error)
{
    fplt_description *table = in->table;
    fplt__one_site *site = &table->site[in->site];
    fplt__one_group *group;
    in->rows = fplt__hear(&in->told, FPLT__TOLD_MAX_COUNT);
    site->minimum = (size_t)fplt__hear(&in->told, FPLT__TOLD_MAX_COUNT);
    site->is_small = (int)fplt__hear(&in->told, 1);
    site->is_stratified = (int)fplt__hear(&in->told, 1);
    if ((site->is_small && in->rows) || (site->is_stratified && in->groups == 1))
        in->told.is_bad = 1;
    table->settings.minimum =
        site->minimum > table->settings.minimum ? site->minimum : table->settings.minimum;
    fplt_status status = fplt__one_find_group(table, in->site, 0, &group, error);
    if (!status)
        group->rows = (size_t)in->rows;
    for (uint32_t k = 1; k < in->groups && !status; k++) {
        uint64_t rows = fplt__hear(&in->told, in->rows);
        if (rows && !site->is_stratified)
            in->told.is_bad = 1;
        if (rows && !(status = fplt__one_find_group(table, in->site, k, &group, error)))
            group->rows = (size_t)rows;
    }
    return status;
}

/* Sums come before the totals over the sites are made, counts after levels and strata have their order. */
static fplt_status take_columns(struct receiving *in, int has_counts, fplt_error *error)
{
    fplt_description *table = in->table;
    const fplt_schema *schema = table->settings.read->schema;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < schema->columns && !status; i++) {
        const fplt__declared *column = &schema->column[i];
        if (!fplt__table_one_describes(&table->settings, column))
            continue;
        uint32_t j = fplt__lookup_find(&table->names, fplt__span_of(column->name));
        if (has_counts)
            status = take_counts(in, j, error);
        else
            in->told.used += 2 * (lines_of(column) + 1) * (in->groups + 1);
        for (uint32_t k = 0; column->bounded && k < in->groups && !status; k++)
            if (has_counts)
                in->told.used += SUMS + table->settings.cells;
            else
                status = take_sums(in, j, k, error);
    }
    return status;
}

static fplt_status take_site(fplt_description *table, uint32_t site, const uint64_t *words,
                             int has_counts, uint64_t *cells, fplt_error *error)
{
    struct receiving in = {.table = table,
                           .site = site,
                           .told = {words, 0, 0},
                           .groups = fplt__table_one_groups(&table->settings),
                           .cells = cells};
    fplt_status status = FPLT_OK;
    if (has_counts) {
        in.told.used = HEAD + in.groups - 1;
        in.rows = fplt__one_group_of(table, site, 0)->rows;
    } else {
        status = take_head(&in, error);
    }
    if (!status)
        status = take_columns(&in, has_counts, error);
    if (!status && in.told.is_bad)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "site '%.300s' sent counts or sums that no rows can have",
                                fplt__lookup_word(&table->sites, site).text);
    return status;
}

/* Columns, strata and sites, as the schema and the roster have them. */
static fplt_status declare_table(fplt_description *table, const char *const *names, size_t sites,
                                 fplt_error *error)
{
    const fplt_schema *schema = table->settings.read->schema;
    uint32_t number;
    fplt_status status =
        fplt__one_declare_strata(table, fplt__table_one_strata_by(&table->settings), error);
    for (size_t j = 0; j < schema->columns && !status; j++)
        status = fplt__one_add_column(table, fplt__span_of(schema->column[j].name), &number, error);
    for (size_t s = 0; s < sites && !status; s++)
        status = fplt__lookup_add(&table->sites, fplt__span_of(names[s]), &number, error);
    table->files = sites;
    return status ? status : fplt__one_make_released(table, error);
}

fplt_status fplt__table_one_import(const fplt_describe_settings *settings, const char *const *names,
                                   const uint64_t *const *words, size_t sites,
                                   fplt_description **out, fplt_error *error)
{
    fplt_description *table;
    uint64_t *cells = NULL;
    *out = NULL;
    fplt_status status = fplt__one_begin(settings, &table, error);
    if (status)
        return status;
    table->settings.minimum = 0;
    if (!(status = declare_table(table, names, sites, error)))
        status = fplt__alloc_into(&cells, settings->cells, sizeof *cells, "a grid", error);
    for (uint32_t s = 1; s <= sites && !status; s++)
        status = take_site(table, s, words[s - 1], 0, cells, error);
    if (!status)
        status = fplt__one_settle(table, error);
    for (uint32_t s = 1; s <= sites && !status; s++)
        status = take_site(table, s, words[s - 1], 1, cells, error);
    if (!status)
        status = fplt__one_note_withheld(table, error);
    fplt__free(cells);
    if (status)
        fplt_description_destroy(table);
    else
        *out = table;
    return status;
}
