/* Life tables on a grid: small counts are merged, tables are added up on the steps that they have in common. */
#include "study/life_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

static uint64_t *count_of(fplt__life_step *step, int side)
{
    return side == FPLT__LIFE_EVENTS ? &step->events : &step->left;
}

/* ---- merging ---- */

/* A cell with a count that is not 0; cells 0 and 1 of a width have one number, 0. */
struct leaf {
    size_t number;
    uint64_t count;
};

/* One count of a table on its way to merged steps. */
struct merging {
    const fplt__time_grid *grid;
    uint64_t minimum;
    int side;
    double last;       /* time of the table's last step */
    struct leaf *leaf; /* increasing */
    fplt__life_step *made;
    size_t done;
};

static size_t leaf_of(const fplt__time_grid *grid, double time)
{
    size_t cell = fplt__time_grid_cell(grid, time);
    return grid->boundary || !cell ? cell : cell - 1;
}

/* The time at which the leaf before `boundary` ends. */
static double time_of(const fplt__time_grid *grid, size_t boundary)
{
    return fplt__time_grid_end(grid, grid->boundary ? boundary - 1 : boundary);
}

/* The boundary between two leaves that the most powers of two divide: number b is behind b leaves. */
static size_t best_between(size_t before, size_t after)
{
    size_t bits = 0;
    while ((before ^ after) >> bits > 1)
        bits++;
    return after >> bits << bits;
}

/* The leaf before which to divide leaves first .. end - 1, and the boundary: that which the most powers of two divide, if both
 * parts have the minimum; `end`: nowhere. */
static size_t find_division(const struct merging *to, size_t first, size_t end, size_t *boundary)
{
    uint64_t early = 0, late = 0;
    size_t best = end, highest = 0;
    for (size_t i = first; i < end; i++)
        late += to->leaf[i].count;
    for (size_t i = first; i + 1 < end; i++) {
        early += to->leaf[i].count;
        late -= to->leaf[i].count;
        size_t between = best_between(to->leaf[i].number, to->leaf[i + 1].number),
               power = between & -between;
        if (early >= to->minimum && late >= to->minimum && power > highest) {
            highest = power;
            best = i + 1;
            *boundary = between;
        }
    }
    return best;
}

static void add_merged(struct merging *to, size_t first, size_t end, double since, double time)
{
    fplt__life_step *step = &to->made[to->done++];
    *step = (fplt__life_step){time, 0, 0, since};
    for (size_t i = first; i < end; i++)
        *count_of(step, to->side) += to->leaf[i].count;
}

/* Leaves first .. end - 1, which fill the time from `since` to `time`. A division that leaves too few in a part stays so after any
 * further one, so that divisions are found in the order in which a sum over tables is most likely to have them. */
static void divide(struct merging *to, size_t first, size_t end, double since, double time)
{
    size_t boundary = 0, middle = find_division(to, first, end, &boundary);
    if (middle == end) {
        add_merged(to, first, end, since, time);
        return;
    }
    double between = time_of(to->grid, boundary);
    divide(to, first, middle, since, between);
    divide(to, middle, end, between, time);
}

static void merge_side(struct merging *to, const fplt__life_table *table)
{
    size_t leaves = 0;
    for (size_t i = 0; i < table->steps; i++) {
        size_t number = leaf_of(to->grid, table->step[i].time);
        uint64_t count = fplt__life_count(&table->step[i], to->side);
        if (count && (!leaves || to->leaf[leaves - 1].number < number))
            to->leaf[leaves++] = (struct leaf){number, 0};
        if (count)
            to->leaf[leaves - 1].count += count;
    }
    if (leaves)
        divide(to, 0, leaves, -1, to->last);
}

/* Ends the table where its counts in all may be told; returns whether there is such a step. */
static int end_table(fplt__life_table *table, uint64_t minimum)
{
    uint64_t rows = fplt__life_table_rows(table), events = fplt__life_table_events(table),
             later = 0; /* after step i */
    for (size_t i = table->steps; i-- > 0;) {
        fplt__life_step *step = &table->step[i];
        if (later + step->events + step->left >= minimum && fplt__is_told(events, minimum) &&
            fplt__is_told(rows - events, minimum)) {
            table->is_cut |= later > 0;
            table->steps = i + 1;
            step->left += later;
            return 1;
        }
        later += step->events + step->left;
        events -= step->events;
    }
    table->is_cut |= table->steps > 0;
    table->steps = 0;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const fplt__life_step *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->events < y->events) - (x->events > y->events);
}

fplt_status fplt__life_table_protect(fplt__life_table *table, const fplt__time_grid *grid,
                                     uint64_t minimum, fplt_error *error)
{
    struct merging to = {.grid = grid, .minimum = minimum};
    size_t capacity = FPLT__LIFE_SIDES * table->steps;
    FPLT__ASSERT(minimum > 1 && (grid->boundary || grid->width > 0));
    if (!table->steps || !end_table(table, minimum))
        return FPLT_OK;
    fplt_status status =
        fplt__alloc_into(&to.made, capacity, sizeof *to.made, "survival times", error);
    if (!status)
        status = fplt__alloc_into(&to.leaf, table->steps, sizeof *to.leaf, "survival times", error);
    if (status) {
        fplt__free(to.made);
        return status;
    }
    to.last = table->step[table->steps - 1].time;
    for (; to.side < FPLT__LIFE_SIDES; to.side++)
        merge_side(&to, table);
    qsort(to.made, to.done, sizeof *to.made, by_time);
    fplt__free(to.leaf);
    fplt__free(table->step);
    *table = (fplt__life_table){to.made, to.done, capacity, table->is_cut};
    return FPLT_OK;
}

/* ---- sums ---- */

static int by_since(const void *a, const void *b)
{
    const fplt__life_step *x = a, *y = b;
    return x->since != y->since ? (x->since > y->since) - (x->since < y->since)
                                : (x->time > y->time) - (x->time < y->time);
}

/* Steps that overlap become one. Returns how many are left. */
static size_t join_steps(fplt__life_step *step, size_t count)
{
    size_t used = 0;
    if (count)
        qsort(step, count, sizeof *step, by_since);
    for (size_t i = 0; i < count; i++)
        if (used && (step[i].since < step[used - 1].time || step[i].time <= step[used - 1].time))
            step[used - 1].time = fmax(step[used - 1].time, step[i].time);
        else
            step[used++] = step[i];
    return used;
}

fplt_status fplt__life_common_make(const fplt__life_table *const *table, size_t count,
                                   fplt__life_common *common, fplt_error *error)
{
    size_t all = 0;
    fplt_status status = FPLT_OK;
    for (size_t t = 0; t < count; t++)
        all += table[t]->steps;
    for (int side = 0; side < FPLT__LIFE_SIDES && !status; side++) {
        size_t used = 0;
        if ((status = fplt__alloc_into(&common->step[side], all, sizeof(fplt__life_step),
                                       "survival times", error)))
            break;
        for (size_t t = 0; t < count; t++)
            for (size_t i = 0; i < table[t]->steps; i++)
                if (fplt__life_count(&table[t]->step[i], side))
                    common->step[side][used++] =
                        (fplt__life_step){table[t]->step[i].time, 0, 0, table[t]->step[i].since};
        common->steps[side] = join_steps(common->step[side], used);
    }
    return status;
}

void fplt__life_common_clear(fplt__life_common *common)
{
    for (int side = 0; side < FPLT__LIFE_SIDES; side++)
        fplt__free(common->step[side]);
    memset(common, 0, sizeof *common);
}

/* Adds the counts of a table to the steps. */
static void add_counts(const fplt__life_table *table, int side, fplt__life_step *step, size_t steps)
{
    size_t at = 0;
    for (size_t i = 0; i < table->steps; i++) {
        uint64_t count = fplt__life_count(&table->step[i], side);
        while (count && step[at].time < table->step[i].time)
            at++;
        FPLT__ASSERT(!count || (at < steps && step[at].since <= table->step[i].since));
        if (count)
            *count_of(&step[at], side) += count;
    }
    (void)steps;
}

fplt_status fplt__life_pool(const fplt__life_table *const *table, size_t count,
                            const fplt__life_common *common, fplt__life_table *sum,
                            fplt_error *error)
{
    size_t all = common->steps[FPLT__LIFE_EVENTS] + common->steps[FPLT__LIFE_LEFT], used = 0;
    fplt_status status =
        fplt__grow(&sum->step, &sum->capacity, all, sizeof *sum->step, "survival times", error);
    if (status)
        return status;
    for (int side = 0; side < FPLT__LIFE_SIDES; side++) {
        size_t steps = common->steps[side];
        if (!steps)
            continue;
        fplt__life_step *first = sum->step + used;
        memcpy(first, common->step[side], steps * sizeof *first);
        for (size_t t = 0; t < count; t++)
            add_counts(table[t], side, first, steps);
        for (size_t i = 0; i < steps; i++) /* others are of other tables */
            if (first[i].events || first[i].left)
                sum->step[used++] = first[i];
    }
    sum->steps = used;
    fplt__life_table_settle(sum);
    return FPLT_OK;
}

double fplt__life_resolution(const fplt__life_common *common)
{
    double widest = 0;
    for (size_t i = 0; i < common->steps[FPLT__LIFE_EVENTS]; i++) {
        const fplt__life_step *step = &common->step[FPLT__LIFE_EVENTS][i];
        widest = fmax(widest, step->time - fmax(step->since, 0));
    }
    return widest;
}
