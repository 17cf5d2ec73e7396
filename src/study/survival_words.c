/* Numbers of a site: its minimum; the rows without a time, event and stratum, each as an interval; then for each stratum whether
 * it is there, and for each cell of the grid the cells that were merged into it (0: none), events, and those who left. */
#include "study/survival_words.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "report/axis.h"
#include "study/life_grid.h"
#include "study/survival_inside.h"
#include "study/times.h"
#include "study/told.h"

enum {
    HEAD = 1 + 2 * FPLT__LEFT_OUT,
    OF_CELL = 2 * FPLT__LIFE_SIDES,
    MAX_CELLS = 2000,
    AUTO_CELLS = 50
};

/* A stratum at a site. */
enum { NOT_THERE, WHOLE, CUT, WITHHELD };

/* ---- which numbers ---- */

static const fplt__declared *strata_of(const fplt_survival_settings *settings)
{
    return settings->by ? fplt__study_declared(settings->read->schema, settings->by) : NULL;
}

static size_t count_strata(const fplt_survival_settings *settings)
{
    const fplt__declared *by = strata_of(settings);
    return by ? by->levels.names.count : 1;
}

/* The grid of settings; `boundary` is newly allocated (fplt__free). */
static fplt_status make_grid(const fplt_survival_settings *settings, double **boundary,
                             fplt__time_grid *grid, fplt_error *error)
{
    *boundary = NULL;
    fplt_status status = fplt__times_grid(settings->grid, boundary, grid, error);
    if (!status)
        fplt__survival_bound(grid, fplt__schema_column(settings->read->schema, FPLT__TIME));
    return status;
}

static size_t count_cells(const fplt_survival_settings *settings)
{
    fplt__time_grid grid;
    double *boundary;
    fplt_status status = make_grid(settings, &boundary, &grid, NULL);
    fplt__free(boundary);
    return status ? 0 : grid.count;
}

double fplt__survival_width(const fplt_schema *schema)
{
    return fplt__axis_step(fplt__schema_column(schema, FPLT__TIME)->high / AUTO_CELLS);
}

uint64_t fplt__survival_sent(const fplt_survival_settings *settings)
{
    return HEAD + count_strata(settings) * (1 + OF_CELL * (uint64_t)count_cells(settings));
}

/* Of every cell that is told, events or those who left are at least the minimum. */
uint64_t fplt__survival_cost(const fplt_survival_settings *settings, uint64_t rows, size_t minimum)
{
    uint64_t cells = 2 * (uint64_t)count_cells(settings) * count_strata(settings),
             most = rows / (minimum > 1 ? minimum : 1);
    return cells < most ? cells : most;
}

fplt_status fplt__survival_check(const fplt_survival_settings *settings, fplt_error *error)
{
    const fplt_schema *schema = settings->read->schema;
    const fplt__declared *by = schema ? strata_of(settings) : NULL,
                         *time = schema ? fplt__schema_column(schema, FPLT__TIME) : NULL;
    fplt__time_grid grid;
    double *boundary;
    if (!time || !fplt__schema_column(schema, FPLT__EVENT))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "survival: the schema declares no columns of the types time and "
                              "event; add both, such as `days: {type: time, bounds: 1..2000}` and "
                              "`died: {type: event, classes: [no, yes]}`");
    if (settings->by && (!by || !by->levels.names.count || by->type == FPLT__EVENT))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "by: is '%.200s', but must be a column for which the schema declares "
                              "levels or classes, and not the event",
                              settings->by);
    fplt_status status = make_grid(settings, &boundary, &grid, error);
    fplt__free(boundary);
    if (!status && (grid.boundary || !grid.count || grid.count > MAX_CELLS ||
                    fplt__survival_sent(settings) > FPLT__TOLD_MAX))
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "grid: is %.60s, but must be the width of at most %d cells up to "
                                "%g, the bound of '%.100s'",
                                settings->grid ? settings->grid : "not given", MAX_CELLS - 1,
                                time->high, time->name);
    return status;
}

/* ---- sending ---- */

/* The shown number of a level or class at the site; 0: no row has it. */
static size_t find_stratum(const fplt_survival *survival, size_t level)
{
    if (!survival->by)
        return 1;
    for (size_t k = 1; k < survival->strata.count; k++)
        if (fplt__span_is(fplt__lookup_word(&survival->by->levels.names, (uint32_t)level),
                          fplt__survival_stratum(survival, k)))
            return k;
    return 0;
}

/* Cells of a step, with that at which it ends; one where nothing was merged. */
static size_t width_of(const fplt__time_grid *grid, const fplt__life_step *step)
{
    size_t cell = fplt__time_grid_cell(grid, step->time);
    return step->since == step->time ? 1
           : step->since < 0         ? cell + 1
                                     : cell - fplt__time_grid_cell(grid, step->since);
}

/* `words`: 0 before. */
static void tell_table(uint64_t *words, const fplt__time_grid *grid, const fplt__life_table *table)
{
    for (size_t i = 0; i < table->steps; i++) {
        const fplt__life_step *step = &table->step[i];
        for (int side = 0; side < FPLT__LIFE_SIDES; side++) {
            fplt__telling out = {words, OF_CELL * fplt__time_grid_cell(grid, step->time) +
                                            2 * (size_t)side};
            uint64_t count = fplt__life_count(step, side);
            if (!count)
                continue;
            fplt__tell(&out, width_of(grid, step));
            fplt__tell(&out, count);
        }
    }
}

void fplt__survival_export(const fplt_survival *survival, uint64_t *words)
{
    fplt__telling out = {words, 0};
    size_t strata = count_strata(&survival->settings);
    FPLT__ASSERT(survival->sites.count == 2 && survival->grid.width > 0);
    fplt__tell(&out, survival->settings.minimum);
    for (int i = 0; i < FPLT__LEFT_OUT; i++) {
        fplt__tell(&out, survival->left_out[i].low);
        fplt__tell(&out, survival->left_out[i].high);
    }
    for (size_t level = 0; level < strata; level++) {
        size_t k = find_stratum(survival, level);
        const fplt__life_table *table = k ? fplt__survival_part(survival, 1, k) : NULL;
        fplt__tell(&out, !table          ? NOT_THERE
                         : !table->steps ? WITHHELD
                         : table->is_cut ? CUT
                                         : WHOLE);
        memset(words + 2 * out.used, 0, 2 * OF_CELL * survival->grid.count * sizeof *words);
        if (table)
            tell_table(words + 2 * out.used, &survival->grid, table);
        out.used += OF_CELL * survival->grid.count;
    }
    FPLT__ASSERT(out.used == fplt__survival_sent(&survival->settings));
}

fplt_status fplt__survival_aside(const fplt_survival *survival, unsigned char **aside, size_t *rows,
                                 fplt_error *error)
{
    fplt_status status = fplt__alloc_into(aside, survival->rows, 1, "rows", error);
    *rows = survival->rows;
    for (size_t r = 0; r < survival->rows && !status; r++) {
        size_t k = 1;
        while (k < survival->strata.count && survival->order[k - 1] != survival->place[r])
            k++;
        (*aside)[r] = k == survival->strata.count || !fplt__survival_part(survival, 1, k)->steps;
    }
    return status;
}

/* ---- receiving ---- */

/* The step of a count that ends with a cell: there is none, or there are enough, and its cells come after the first `behind`,
 * which are told. Returns whether there is one. */
static int hear_step(fplt__hearing *in, const fplt__time_grid *grid, uint64_t minimum, size_t cell,
                     size_t *behind, int side, fplt__life_step *step)
{
    uint64_t width = fplt__hear(in, cell + 1 - *behind),
             count = fplt__hear(in, FPLT__TOLD_MAX_COUNT / grid->count);
    if (!width != !count || !fplt__is_told(count, minimum))
        in->is_bad = 1;
    if (!width || in->is_bad)
        return 0;
    *step =
        (fplt__life_step){fplt__time_grid_end(grid, cell), side == FPLT__LIFE_EVENTS ? count : 0,
                          side == FPLT__LIFE_EVENTS ? 0 : count,
                          cell + 1 > width ? fplt__time_grid_end(grid, cell - width) : -1};
    *behind = cell + 1;
    return 1;
}

static fplt_status hear_table(fplt__hearing *in, const fplt__time_grid *grid, uint64_t minimum,
                              fplt__life_table *table, uint64_t *state, fplt_error *error)
{
    size_t behind[FPLT__LIFE_SIDES] = {0, 0};
    fplt__life_step step;
    *state = fplt__hear(in, WITHHELD);
    table->is_cut = *state == CUT || *state == WITHHELD;
    for (size_t i = 0; i < FPLT__LIFE_SIDES * grid->count; i++) {
        int side = (int)(i % FPLT__LIFE_SIDES);
        if (!hear_step(in, grid, minimum, i / FPLT__LIFE_SIDES, &behind[side], side, &step))
            continue;
        fplt_status status = fplt__grow(&table->step, &table->capacity, table->steps + 1,
                                        sizeof *table->step, "survival times", error);
        if (status)
            return status;
        table->step[table->steps++] = step;
    }
    if (!table->steps != (*state == NOT_THERE || *state == WITHHELD))
        in->is_bad = 1;
    return FPLT_OK;
}

static void hear_head(fplt_survival *survival, fplt__hearing *in, uint64_t *minimum)
{
    *minimum = fplt__hear(in, FPLT__TOLD_MAX_COUNT);
    if (*minimum > survival->settings.minimum)
        survival->settings.minimum = (size_t)*minimum;
    for (int i = 0; i < FPLT__LEFT_OUT; i++) {
        uint64_t low = fplt__hear(in, FPLT__TOLD_MAX_COUNT),
                 high = fplt__hear(in, FPLT__TOLD_MAX_COUNT);
        if (low > high)
            in->is_bad = 1;
        survival->left_out[i].low += (size_t)low;
        survival->left_out[i].high += (size_t)high;
    }
}

/* Tables of one site and all strata that are declared; states: which of them any site has. */
static fplt_status hear_site(fplt_survival *survival, const char *name, const uint64_t *words,
                             fplt__life_table *table, uint64_t *states, fplt_error *error)
{
    fplt__hearing in = {words, 0, 0};
    size_t strata = count_strata(&survival->settings);
    uint64_t minimum, state;
    fplt_status status = FPLT_OK;
    hear_head(survival, &in, &minimum);
    for (size_t level = 0; level < strata && !status; level++) {
        status = hear_table(&in, &survival->grid, minimum, &table[level], &state, error);
        states[level] |= state;
    }
    if (!status && in.is_bad)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "site '%.300s' sent counts that no rows can have", name);
    return status;
}

/* Strata that any site has, in the order in which they are declared; without strata there is one. */
static fplt_status name_strata(fplt_survival *survival, const uint64_t *states, fplt_error *error)
{
    const fplt__declared *by = survival->by;
    uint32_t number;
    fplt_status status = FPLT_OK;
    for (uint32_t level = 0; by && level < by->levels.names.count && !status; level++)
        if (states[level] != NOT_THERE)
            status = fplt__lookup_add(&survival->strata,
                                      fplt__lookup_word(&by->levels.names, level), &number, error);
    if (!status && (survival->strata.count < 2 || (!by && states[0] == NOT_THERE)))
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "no site has a row with a time, an event and a stratum");
    return status ? status : fplt__study_order(&survival->strata, 1, by, &survival->order, error);
}

/* Moves the tables of declared strata to the parts of those that are shown. */
static fplt_status place_tables(fplt_survival *survival, fplt__life_table *table, fplt_error *error)
{
    size_t sites = survival->sites.count, strata = count_strata(&survival->settings);
    fplt_status status = fplt__alloc_into(&survival->part, sites * survival->strata.count,
                                          sizeof *survival->part, "life tables", error);
    for (size_t level = 0; level < strata && !status; level++) {
        size_t k = find_stratum(survival, level);
        for (size_t i = 1; k && i < sites; i++) {
            fplt__life_table *from = &table[(i - 1) * strata + level];
            *fplt__survival_part(survival, i, k) = *from;
            *from = (fplt__life_table){NULL, 0, 0, 0};
        }
    }
    return status;
}

static fplt_status hear_sites(fplt_survival *survival, const char *const *names,
                              const uint64_t *const *words, size_t sites, fplt__life_table *table,
                              uint64_t *states, fplt_error *error)
{
    size_t strata = count_strata(&survival->settings);
    uint32_t number;
    fplt_status status = FPLT_OK;
    survival->settings.minimum = 0;
    for (size_t i = 0; i < sites && !status; i++)
        if (!(status = fplt__lookup_add(&survival->sites, fplt__span_of(names[i]), &number, error)))
            status = hear_site(survival, names[i], words[i], &table[i * strata], states, error);
    if (!status)
        status = name_strata(survival, states, error);
    if (!status)
        status = place_tables(survival, table, error);
    return status ? status : fplt__survival_conclude(survival, error);
}

fplt_status fplt__survival_import(const fplt_survival_settings *settings, const char *const *names,
                                  const uint64_t *const *words, size_t sites, fplt_survival **out,
                                  fplt_error *error)
{
    size_t tables = sites * count_strata(settings);
    fplt__life_table *table = NULL;
    uint64_t *states = NULL;
    fplt_survival *survival;
    *out = NULL;
    fplt_status status = fplt__survival_begin(settings, &survival, error);
    if (status)
        return status;
    survival->by = strata_of(settings);
    if (!(status = make_grid(settings, &survival->boundary, &survival->grid, error)) &&
        !(status = fplt__alloc_into(&table, tables, sizeof *table, "life tables", error)) &&
        !(status =
              fplt__alloc_into(&states, count_strata(settings), sizeof *states, "strata", error)))
        status = hear_sites(survival, names, words, sites, table, states, error);
    for (size_t i = 0; table && i < tables; i++)
        fplt__life_table_clear(&table[i]);
    fplt__free(table);
    fplt__free(states);
    if (status)
        fplt_survival_destroy(survival);
    else
        *out = survival;
    return status;
}
