/* Primary and secondary suppression of small counts by flows [Cox 1995, Network models for complementary cell
 * suppression]. */
#include "study/crosstab.h"

#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

#define NOWHERE SIZE_MAX

fplt_status fplt__crosstab_create(size_t rows, size_t columns, fplt__crosstab **out,
                                  fplt_error *error)
{
    size_t cells = (rows + 1) * (columns + 1);
    fplt__crosstab *table;
    *out = NULL;
    fplt_status status =
        fplt__alloc_into(&table, 1,
                         sizeof *table + cells * (sizeof *table->count + sizeof *table->shown +
                                                  sizeof *table->hidden),
                         "a table of counts", error);
    if (status)
        return status;
    table->rows = rows;
    table->columns = columns;
    table->shown = (fplt__count *)(table + 1);
    table->count = (size_t *)(table->shown + cells);
    table->hidden = (unsigned char *)(table->count + cells);
    *out = table;
    return FPLT_OK;
}

void fplt__crosstab_destroy(fplt__crosstab *table)
{
    fplt__free(table);
}

void fplt__crosstab_total(fplt__crosstab *table)
{
    size_t rows = table->rows, columns = table->columns;
    for (size_t i = 0; i <= rows; i++)
        table->count[fplt__crosstab_at(table, i, columns)] = 0;
    for (size_t j = 0; j < columns; j++) {
        size_t sum = 0;
        for (size_t i = 0; i < rows; i++)
            sum += table->count[fplt__crosstab_at(table, i, j)];
        table->count[fplt__crosstab_at(table, rows, j)] = sum;
    }
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j < columns; j++)
            table->count[fplt__crosstab_at(table, i, columns)] +=
                table->count[fplt__crosstab_at(table, i, j)];
    for (size_t k = 0; k < (rows + 1) * (columns + 1); k++) {
        table->hidden[k] = 0;
        table->shown[k] = (fplt__count){table->count[k], table->count[k]};
    }
}

/* The circulation: what enters a row or column as a cell leaves it as a total, and the other way round. */
struct flow {
    const fplt__crosstab *table;
    size_t nodes, cells, skipped; /* the arc that is looked at */
    size_t *amount;               /* of every arc */
    size_t *cost, *before;        /* of every node: of the path to it, and the arc it comes by */
};

static size_t tail_of(const fplt__crosstab *table, size_t arc)
{
    size_t i = arc / (table->columns + 1), j = arc % (table->columns + 1);
    return (i < table->rows) == (j < table->columns) ? i : table->rows + 1 + j;
}

static size_t head_of(const fplt__crosstab *table, size_t arc)
{
    size_t i = arc / (table->columns + 1), j = arc % (table->columns + 1);
    return (i < table->rows) == (j < table->columns) ? table->rows + 1 + j : i;
}

/* What hiding an arc costs; NOWHERE: it stays as it is. Totals are dearer than all cells together. */
static size_t price_of(const fplt__crosstab *table, size_t arc, int may_hide)
{
    FPLT__ASSERT(arc < (table->rows + 1) * (table->columns + 1));
    size_t i = arc / (table->columns + 1), j = arc % (table->columns + 1);
    size_t all = table->count[fplt__crosstab_at(table, table->rows, table->columns)];
    if (table->hidden[arc])
        return 0;
    if (!may_hide || (i == table->rows && (table->columns_stay || j == table->columns)))
        return NOWHERE;
    return table->count[arc] + 1 + (i == table->rows || j == table->columns ? all : 0);
}

/* Goes over one arc in either direction where that is cheaper. Returns whether it was. */
static int relax(struct flow *flow, size_t arc, size_t price)
{
    size_t tail = tail_of(flow->table, arc), head = head_of(flow->table, arc);
    int better = 0;
    if (flow->cost[tail] != NOWHERE && flow->cost[tail] + price < flow->cost[head]) {
        flow->cost[head] = flow->cost[tail] + price;
        flow->before[head] = arc;
        better = 1;
    }
    if (flow->amount[arc] && flow->cost[head] != NOWHERE &&
        flow->cost[head] + price < flow->cost[tail]) {
        flow->cost[tail] = flow->cost[head] + price;
        flow->before[tail] = arc;
        better = 1;
    }
    return better;
}

/* The cheapest path [Bellman and Ford]; prices are at least 0. Returns whether there is one. */
static int find_path(struct flow *flow, size_t from, size_t to, int may_hide)
{
    for (size_t v = 0; v < flow->nodes; v++)
        flow->cost[v] = NOWHERE;
    flow->cost[from] = 0;
    for (size_t pass = 0, better = 1; better && pass < flow->nodes; pass++) {
        better = 0;
        for (size_t arc = 0; arc < flow->cells; arc++) {
            size_t price = arc == flow->skipped ? NOWHERE : price_of(flow->table, arc, may_hide);
            if (price != NOWHERE)
                better |= (size_t)relax(flow, arc, price);
        }
    }
    return flow->cost[to] != NOWHERE;
}

/* Sends up to `most` along the path that was found, hiding its arcs; returns how much. */
static size_t push(struct flow *flow, fplt__crosstab *table, size_t from, size_t to, size_t most)
{
    for (size_t v = to; v != from;) { /* the least that can be taken away on the way */
        size_t arc = flow->before[v];
        int forward = head_of(table, arc) == v;
        if (!forward && flow->amount[arc] < most)
            most = flow->amount[arc];
        v = forward ? tail_of(table, arc) : head_of(table, arc);
    }
    for (size_t v = to; v != from;) {
        size_t arc = flow->before[v];
        int forward = head_of(table, arc) == v;
        flow->amount[arc] = forward ? flow->amount[arc] + most : flow->amount[arc] - most;
        table->hidden[arc] = 1;
        v = forward ? tail_of(table, arc) : head_of(table, arc);
    }
    return most;
}

/* By how much a hidden cell could be more (`up`) or less than it is, at most `wanted`. Where it may hide, hides what is
 * needed for that. */
static size_t slack_of(struct flow *flow, fplt__crosstab *table, size_t arc, int up, size_t wanted,
                       int may_hide)
{
    size_t from = up ? head_of(table, arc) : tail_of(table, arc);
    size_t to = up ? tail_of(table, arc) : head_of(table, arc), sent = 0;
    memcpy(flow->amount, table->count, flow->cells * sizeof *flow->amount);
    flow->skipped = arc;
    while (sent < wanted && find_path(flow, from, to, may_hide))
        sent += push(flow, table, from, to, wanted - sent);
    return sent;
}

/* Hides what is needed so that `minimum` values are possible for a cell. Returns whether that succeeded. */
static int protect_cell(struct flow *flow, fplt__crosstab *table, size_t arc, size_t minimum)
{
    size_t wanted = minimum - 1, count = table->count[arc];
    size_t down = slack_of(flow, table, arc, 0, count < wanted ? count : wanted, 0);
    size_t up = slack_of(flow, table, arc, 1, wanted - down, 1);
    if (up + down >= wanted)
        return 1;
    wanted -= up;
    return count >= wanted && slack_of(flow, table, arc, 0, wanted, 1) >= wanted;
}

/* Cells that may be hidden at all: the first ones, row after row. */
static size_t changeable(const fplt__crosstab *table)
{
    return fplt__crosstab_at(table, table->rows, table->columns_stay ? 0 : table->columns);
}

static void hide_all(fplt__crosstab *table)
{
    for (size_t k = 0; k < changeable(table); k++)
        table->hidden[k] = 1;
}

static void state_intervals(struct flow *flow, fplt__crosstab *table)
{
    size_t all = table->count[fplt__crosstab_at(table, table->rows, table->columns)];
    for (size_t k = 0; k < flow->cells; k++) {
        size_t count = table->count[k];
        if (!table->hidden[k])
            continue;
        table->shown[k].low = count - slack_of(flow, table, k, 0, count, 0);
        table->shown[k].high = count + slack_of(flow, table, k, 1, all - count, 0);
    }
}

fplt_status fplt__crosstab_protect(fplt__crosstab *table, size_t minimum, fplt_error *error)
{
    size_t rows = table->rows, nodes = rows + table->columns + 2;
    struct flow flow = {.table = table, .nodes = nodes};
    size_t *memory;
    flow.cells = (rows + 1) * (table->columns + 1);
    fplt_status status = fplt__alloc_into(&memory, flow.cells + 2 * nodes, sizeof *memory,
                                          "a table of counts", error);
    if (status)
        return status;
    flow.amount = memory;
    flow.cost = memory + flow.cells;
    flow.before = flow.cost + nodes;
    for (size_t k = 0; k < changeable(table); k++)
        table->hidden[k] = minimum > 1 && table->count[k] > 0 && table->count[k] < minimum;
    for (size_t k = 0; k < changeable(table); k++)
        if (minimum > 1 && table->count[k] > 0 && table->count[k] < minimum &&
            !protect_cell(&flow, table, k, minimum)) {
            hide_all(table);
            break;
        }
    state_intervals(&flow, table);
    fplt__free(memory);
    return FPLT_OK;
}
