/* Table 1 with privacy: what a site tells, and what follows from it. */
#include "study/private_table.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/noise.h"
#include "privacy/calibration.h"
#include "study/private_table_inside.h"
#include "study/table_one_inside.h"
#include "study/table_one_words.h"

/* ---- noise ---- */

static const double FINEST = 1 << 20; /* the largest deviation of the sampler */
static const double ROUNDING =
    2; /* multiples by which rounding moves the difference of two sums, at most */

/* The lattice on which a query of this sensitivity (and so many multiples of the lattice) costs at most `rate`. */
static fplt_status find_lattice(double sensitivity, double multiples, double rate,
                                fplt__private_lattice *lattice, fplt_error *error)
{
    double deviation = sensitivity / sqrt(2 * rate), unit = 1;
    double rounding = multiples / sqrt(2 * rate); /* of one multiple */
    while (2 * unit * deviation + rounding <= FINEST && unit < (double)(1 << 30))
        unit *= 2;
    if (unit * deviation + rounding > FINEST)
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "a table of so many columns needs noise of deviation %.3g on every "
                              "count; describe fewer columns, or raise privacy.epsilon",
                              deviation);
    *lattice = (fplt__private_lattice){unit, (uint32_t)ceil(unit * deviation + rounding)};
    return FPLT_OK;
}

static double cost_of(double sensitivity, double multiples, const fplt__private_lattice *lattice)
{
    double change = sensitivity * lattice->unit + multiples, deviation = lattice->deviation;
    return change * change / (2 * deviation * deviation);
}

static void count_queries(const fplt_describe_settings *settings, fplt__private_scale *scale)
{
    const fplt_schema *schema = settings->read->schema;
    scale->counts = fplt__table_one_groups(settings) > 1;
    for (size_t j = 0; j < schema->columns; j++)
        if (fplt__table_one_describes(settings, &schema->column[j])) {
            scale->counts++;
            scale->sums += (uint64_t)schema->column[j].bounded;
        }
}

static fplt_status check_schema(const fplt_schema *schema, fplt_error *error)
{
    const fplt__declared *person = fplt__schema_column(schema, FPLT__PERSON);
    if (person && person->most > 1)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the schema's column '%s' says that a person may have %llu rows, but "
                              "a described table protects single rows: describe one row a person",
                              person->name, (unsigned long long)person->most);
    return FPLT_OK;
}

/* Both sums of a column together: of two rows of a group, (u - u')^2/4 + (u^2 - u'^2)^2 is largest at u = 1 and
 * u' = -(2 - sqrt 2)/4; of two groups, or beside a missing value, it is at most 1. */
static const double PAIR = 1.2861631;

/* The cost of a column's sums where each alone costs `share`; the multiples for rounding come on top of PAIR. */
static double pair_cost(const fplt__private_scale *scale)
{
    double share = fmax(cost_of(2, ROUNDING, &scale->first), cost_of(1, ROUNDING, &scale->second));
    double first = ROUNDING / (2 * scale->first.unit), second = ROUNDING / scale->second.unit;
    return share * (PAIR + 2 * first + 2 * second + first * first + second * second);
}

/* Lattices where each query costs `share`; the rate is what they cost together. */
static fplt_status find_lattices(double share, fplt__private_scale *scale, fplt_error *error)
{
    fplt_status status;
    if ((status = find_lattice(M_SQRT2, 0, share, &scale->count, error)) ||
        (status = find_lattice(2, ROUNDING, share, &scale->first, error)) ||
        (status = find_lattice(1, ROUNDING, share, &scale->second, error)))
        return status;
    scale->rate = (double)scale->counts * cost_of(M_SQRT2, 0, &scale->count) +
                  (double)scale->sums * pair_cost(scale);
    return FPLT_OK;
}

fplt_status fplt__private_scale_find(const fplt_describe_settings *settings, double epsilon,
                                     double delta, fplt__private_scale *scale, fplt_error *error)
{
    fplt_privacy_budget budget = {.epsilon = epsilon, .delta = delta};
    double rate;
    fplt_status status = fplt__table_one_check(settings, error);
    *scale = (fplt__private_scale){.epsilon = epsilon, .delta = delta};
    if (!status)
        status = check_schema(settings->read->schema, error);
    if (!status)
        status = fplt__budget_rate(&budget, 0, &rate, error);
    if (status)
        return status;
    count_queries(settings, scale);
    double share = rate / ((double)scale->counts + PAIR * (double)scale->sums);
    if (!(share > 0))
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "no noise keeps a table within epsilon %g at delta %g", epsilon,
                              delta);
    while (!(status = find_lattices(share, scale, error)) && scale->rate > rate)
        share *= rate / scale->rate * (1 - 1e-9);
    return status;
}

/* ---- which numbers ---- */

/* Lines of counts of a column: levels, or cells; the rows without a value are the last. */
size_t fplt__private_count_lines(const fplt_describe_settings *settings,
                                 const fplt__declared *column)
{
    return (column->bounded ? settings->cells : column->levels.names.count) + 1;
}

static uint64_t numbers_of(const fplt_describe_settings *settings, const fplt__declared *column)
{
    return fplt__table_one_groups(settings) *
           (fplt__private_count_lines(settings, column) + (column->bounded ? 2 : 0));
}

uint64_t fplt__private_numbers(const fplt_describe_settings *settings)
{
    const fplt_schema *schema = settings->read->schema;
    size_t groups = fplt__table_one_groups(settings);
    uint64_t sum = groups > 1 ? groups : 0;
    for (size_t j = 0; j < schema->columns; j++)
        if (fplt__table_one_describes(settings, &schema->column[j]))
            sum += numbers_of(settings, &schema->column[j]);
    return sum;
}

/* ---- what a site tells ---- */

struct telling {
    const fplt_description *table;
    const fplt__private_scale *scale;
    fplt_noise *noise; /* NULL: none */
    uint32_t site;
    size_t groups;
    int64_t *numbers;
    size_t used;
};

/* The next `count` numbers, which are there already, with noise. */
static void add_noise(struct telling *out, size_t count, uint32_t deviation)
{
    int64_t drawn[64];
    for (size_t i = 0; i < count && out->noise; i += 64) {
        size_t some = count - i < 64 ? count - i : 64;
        fplt__noise_draw_deviation(out->noise, deviation, drawn, some);
        for (size_t k = 0; k < some; k++)
            out->numbers[out->used + i + k] += drawn[k];
    }
    out->used += count;
}

/* Rows, numbers and sums of a group of a column; those of the last group are what the strata leave of all rows. */
struct content {
    double rows, numbers, sum[2];
};

static struct content content_of(const struct telling *out, uint32_t j, uint32_t stratum)
{
    const fplt__one_group *group = fplt__one_group_of(out->table, out->site, stratum);
    const fplt__summary *summary = group && j < group->capacity ? &group->column[j] : NULL;
    struct content content = {group ? (double)group->rows : 0, 0, {0, 0}};
    if (summary && summary->numbers) {
        content.numbers = (double)summary->numbers;
        fplt__sum_read(summary->sum, 0, content.sum, 2);
    }
    return content;
}

static struct content content_at(const struct telling *out, uint32_t j, size_t group)
{
    if (out->groups == 1 || group + 1 < out->groups)
        return content_of(out, j, out->groups == 1 ? 0 : (uint32_t)group + 1);
    struct content left = content_of(out, j, 0);
    for (uint32_t k = 1; k < out->groups; k++) {
        struct content one = content_of(out, j, k);
        left.rows -= one.rows;
        left.numbers -= one.numbers;
        left.sum[0] -= one.sum[0];
        left.sum[1] -= one.sum[1];
    }
    return left;
}

/* Rows of a stratum (0: all) in a cell of the grid, or with a declared level. */
static int64_t count_of(const struct telling *out, const fplt__declared *column, uint32_t j,
                        size_t line, uint32_t stratum)
{
    const fplt__summary *summary = fplt__one_summary(out->table, j, out->site, stratum);
    if (!summary)
        return 0;
    if (column->bounded)
        return summary->bin ? (int64_t)summary->bin[line] : 0;
    return (int64_t)fplt__summary_count(summary,
                                        fplt__lookup_word(&column->levels.names, (uint32_t)line));
}

static int64_t count_at(const struct telling *out, const fplt__declared *column, uint32_t j,
                        size_t line, size_t group)
{
    if (out->groups == 1)
        return count_of(out, column, j, line, 0);
    if (group + 1 < out->groups)
        return count_of(out, column, j, line, (uint32_t)group + 1);
    int64_t left = count_of(out, column, j, line, 0);
    for (uint32_t k = 1; k < out->groups; k++)
        left -= count_of(out, column, j, line, k);
    return left;
}

static void tell_counts(struct telling *out, const fplt__declared *column, uint32_t j)
{
    size_t lines = fplt__private_count_lines(&out->table->settings, column);
    int64_t unit = (int64_t)out->scale->count.unit;
    for (size_t group = 0; group < out->groups; group++) {
        int64_t *numbers = out->numbers + out->used;
        int64_t left = (int64_t)content_at(out, j, group).rows;
        for (size_t line = 0; line + 1 < lines; line++) {
            int64_t count = count_at(out, column, j, line, group);
            numbers[line] = count * unit;
            left -= count;
        }
        FPLT__ASSERT(left >= 0);
        numbers[lines - 1] = left * unit;
        add_noise(out, lines, out->scale->count.deviation);
    }
}

static void tell_sums(struct telling *out, uint32_t j)
{
    const fplt__private_scale *scale = out->scale;
    for (size_t group = 0; group < out->groups; group++) {
        struct content content = content_at(out, j, group);
        out->numbers[out->used] = llrint(content.sum[0] * scale->first.unit);
        add_noise(out, 1, scale->first.deviation);
        out->numbers[out->used] =
            llrint((content.sum[1] - content.numbers / 2) * scale->second.unit);
        add_noise(out, 1, scale->second.deviation);
    }
}

static void tell_groups(struct telling *out)
{
    for (size_t group = 0; group < out->groups; group++)
        out->numbers[out->used + group] =
            (int64_t)content_at(out, 0, group).rows * (int64_t)out->scale->count.unit;
    add_noise(out, out->groups, out->scale->count.deviation);
}

fplt_status fplt__private_tell(const fplt_description *table, size_t site,
                               const fplt__private_scale *scale, fplt_noise *noise,
                               int64_t *numbers, fplt_error *error)
{
    const fplt_schema *schema = table->settings.read->schema;
    struct telling out = {.table = table,
                          .scale = scale,
                          .noise = noise,
                          .site = (uint32_t)site,
                          .groups = fplt__table_one_groups(&table->settings),
                          .numbers = numbers};
    FPLT__ASSERT(site > 0 && site < table->sites.count && table->settings.minimum < 2);
    if (out.groups > 1)
        tell_groups(&out);
    for (size_t i = 0; i < schema->columns; i++) {
        const fplt__declared *column = &schema->column[i];
        if (!fplt__table_one_describes(&table->settings, column))
            continue;
        uint32_t j = fplt__lookup_find(&table->names, fplt__span_of(column->name));
        if (j == FPLT__NOWHERE)
            return fplt_error_set(error, FPLT_BAD_DATA, "column '%s' is missing", column->name);
        tell_counts(&out, column, j);
        if (column->bounded)
            tell_sums(&out, j);
    }
    FPLT__ASSERT(out.used == fplt__private_numbers(&table->settings));
    return FPLT_OK;
}

/* ---- the table ---- */

void fplt__private_table_destroy(fplt__private_table *table)
{
    if (!table)
        return;
    for (size_t s = 0; table->names && s < table->sites; s++)
        fplt__free(table->names[s]);
    fplt__free(table->names);
    fplt__free(table->rows);
    fplt__free(table->numbers);
    fplt__free(table);
}

fplt_status fplt__private_table_create(const fplt_describe_settings *settings,
                                       const fplt__private_scale *scale, const char *const *names,
                                       const uint64_t *rows, const int64_t *numbers, size_t sites,
                                       fplt__private_table **out, fplt_error *error)
{
    size_t each = (size_t)fplt__private_numbers(settings);
    fplt__private_table *table;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&table, 1, sizeof *table, "a table", error);
    if (status)
        return status;
    *table =
        (fplt__private_table){.settings = settings, .scale = *scale, .sites = sites, .each = each};
    if (!(status = fplt__alloc_into(&table->names, sites, sizeof *table->names, "sites", error)) &&
        !(status = fplt__alloc_into(&table->rows, sites, sizeof *table->rows, "sites", error)))
        status = fplt__alloc_into(&table->numbers, sites * each, sizeof *table->numbers, "numbers",
                                  error);
    for (size_t s = 0; s < sites && !status; s++)
        if (!(table->names[s] = fplt__strdup(names[s])))
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for sites");
    if (status) {
        fplt__private_table_destroy(table);
        return status;
    }
    memcpy(table->rows, rows, sites * sizeof *rows);
    memcpy(table->numbers, numbers, sites * each * sizeof *numbers);
    *out = table;
    return FPLT_OK;
}

fplt_status fplt__private_table_make(const fplt_description *description,
                                     const fplt__private_scale *scale, fplt_noise *noise,
                                     fplt__private_table **table, fplt_error *error)
{
    const fplt_describe_settings *settings = &description->settings;
    size_t sites = fplt_description_sites(description) - 1;
    size_t each = (size_t)fplt__private_numbers(settings);
    const char **names = NULL;
    uint64_t *rows = NULL;
    int64_t *numbers = NULL;
    fplt_status status;
    *table = NULL;
    if (!(status = fplt__alloc_into(&names, sites, sizeof *names, "sites", error)) &&
        !(status = fplt__alloc_into(&rows, sites, sizeof *rows, "sites", error)))
        status = fplt__alloc_into(&numbers, sites * each, sizeof *numbers, "numbers", error);
    for (size_t s = 0; s < sites && !status; s++) {
        names[s] = fplt_description_site(description, s + 1);
        rows[s] = fplt__one_group_of(description, (uint32_t)s + 1, 0)->rows;
        status = fplt__private_tell(description, s + 1, scale, noise, numbers + s * each, error);
    }
    if (!status)
        status =
            fplt__private_table_create(settings, scale, names, rows, numbers, sites, table, error);
    fplt__free(names);
    fplt__free(rows);
    fplt__free(numbers);
    return status;
}
