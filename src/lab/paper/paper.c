/* The paper's tables: collects what they want, runs every setup once, fills the cells. */
#include "lab/paper/paper.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sorting.h"

struct table {
    fplt_paper_table view;
    fplt__wishes wishes;
    fplt__entry **entries;  /* owned array; one a cell */
    fplt_paper_cell *cells; /* owned */
    fplt__remarks *remarks; /* owned */
    const char *remark[FPLT_PAPER_REMARKS];
};

struct fplt_paper {
    fplt__bench bench;
    struct table tables[FPLT_PAPER_TABLES];
    size_t count;
};

fplt_paper_settings fplt_paper_defaults(void)
{
    return (fplt_paper_settings){.tables = (1u << FPLT_PAPER_TABLES) - 1,
                                 .seeds = 20,
                                 .runs = 100,
                                 .points = FPLT__SEARCH_POINTS};
}

const char *fplt_paper_list(size_t index, const char **label, const char **title)
{
    if (index >= FPLT_PAPER_TABLES)
        return NULL;
    if (label)
        *label = fplt__paper_forms[index].label;
    if (title)
        *title = fplt__paper_forms[index].title;
    return fplt__paper_forms[index].name;
}

static fplt_status want(fplt_paper *paper, const struct fplt__paper_form *form, fplt_error *error)
{
    struct table *table = &paper->tables[paper->count++];
    table->view = (fplt_paper_table){.name = form->name,
                                     .label = form->label,
                                     .title = form->title,
                                     .quantity = form->quantity,
                                     .note = form->note};
    fplt_status status = form->wish(&table->wishes, error);
    size_t count = table->wishes.count;
    if (status ||
        (status =
             fplt__alloc_into(&table->entries, count, sizeof *table->entries, "a table", error)) ||
        (status = fplt__alloc_into(&table->cells, count, sizeof *table->cells, "a table", error)) ||
        (status = fplt__alloc_into(&table->remarks, 1, sizeof *table->remarks, "a table", error)))
        return status;
    for (size_t i = 0; !status && i < count; i++)
        status = fplt__bench_add(&paper->bench, &table->wishes.wishes[i].setup, &table->entries[i],
                                 error);
    return status;
}

/* The figure of a cell on one data set. */
static double figure_on(const fplt__wish *wish, const fplt__entry *entry, uint32_t set,
                        int all_gradients)
{
    const fplt__judged *judged = &entry->judged[set];
    if (entry->setup.variance > 0)
        return entry->error[set];
    if (!judged->converged)
        return HUGE_VAL;
    double gradients = all_gradients ? judged->gradients : judged->paper_gradients;
    return wish->gradient_time * gradients + wish->communication_time * judged->exchanges;
}

static void fill_median(const fplt__wish *wish, const fplt__entry *entry, uint32_t seeds,
                        double *room, fplt_paper_cell *cell)
{
    for (uint32_t set = 0; set < seeds; set++) {
        room[set] = figure_on(wish, entry, set, 0);
        cell->failed_sets += isinf(room[set]);
    }
    fplt__sort(room, seeds);
    cell->low = room[0];
    cell->median = fplt__quantile(room, seeds, 0.5);
    cell->high = room[seeds - 1];
}

static void fill_cell(const struct table *table, size_t index, uint32_t seeds, double *room)
{
    const fplt__wish *wish = &table->wishes.wishes[index];
    const fplt__entry *entry = table->entries[index];
    fplt_paper_cell *cell = &table->cells[index];
    const char *row = strcmp(wish->row, "Fed-PLT, gamma tuned") == 0 ? "Fed-PLT" : wish->row;
    *cell =
        (fplt_paper_cell){.row = wish->row,
                          .column = wish->column,
                          .paper = fplt__paper_figure_find(table->view.label, row, wish->column),
                          .ours = NAN,
                          .charged = NAN,
                          .low = NAN,
                          .median = NAN,
                          .high = NAN,
                          .rounds = NAN};
    if (entry->refusal[0]) {
        cell->refusal = entry->refusal;
        return;
    }
    cell->ours = figure_on(wish, entry, 0, 0);
    cell->charged = figure_on(wish, entry, 0, 1);
    if (entry->setup.variance == 0)
        cell->rounds = isinf(cell->ours) ? HUGE_VAL : entry->judged[0].rounds;
    cell->runs = entry->judged[0].runs;
    cell->failures = cell->runs - entry->judged[0].converged;
    cell->tuned_each = !entry->carried;
    cell->points = entry->base ? 0 : entry->tuned[0].points;
    cell->parameters = entry->parameters;
    fill_median(wish, entry, seeds, room, cell);
}

static fplt_status fill_tables(fplt_paper *paper, fplt_error *error)
{
    uint32_t seeds = paper->bench.settings.seeds;
    double *room;
    fplt_status status = fplt__alloc_into(&room, seeds, sizeof *room, "medians", error);
    if (status)
        return status;
    for (size_t t = 0; t < paper->count; t++) {
        struct table *table = &paper->tables[t];
        for (size_t i = 0; i < table->wishes.count; i++)
            fill_cell(table, i, seeds, room);
        table->view.cells = table->cells;
        table->view.count = table->wishes.count;
        fplt__paper_remark(&table->view, table->remarks);
        for (size_t i = 0; i < table->remarks->count; i++)
            table->remark[i] = table->remarks->text[i];
        table->view.remark = table->remark;
        table->view.remarks = table->remarks->count;
    }
    fplt__free(room);
    return FPLT_OK;
}

static fplt_status build(fplt_paper *paper, fplt_error *error)
{
    const fplt_paper_settings *settings = &paper->bench.settings;
    fplt_status status = FPLT_OK;
    if (!settings->seeds || !settings->runs || !settings->points)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "seeds, runs and points are %u, %u and %u, but each must be at least "
                              "1",
                              settings->seeds, settings->runs, settings->points);
    for (size_t i = 0; !status && i < FPLT_PAPER_TABLES; i++)
        if (settings->tables >> i & 1)
            status = want(paper, &fplt__paper_forms[i], error);
    if (!status)
        status = fplt__bench_run(&paper->bench, error);
    return status ? status : fill_tables(paper, error);
}

fplt_status fplt_paper_create(const fplt_paper_settings *settings, fplt_paper **out,
                              fplt_error *error)
{
    fplt_paper *paper;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&paper, 1, sizeof *paper, "the tables", error);
    if (status)
        return status;
    paper->bench.settings = *settings;
    if ((status = build(paper, error))) {
        fplt_paper_destroy(paper);
        return status;
    }
    *out = paper;
    return FPLT_OK;
}

void fplt_paper_destroy(fplt_paper *paper)
{
    if (!paper)
        return;
    for (size_t t = 0; t < paper->count; t++) {
        struct table *table = &paper->tables[t];
        fplt__free(table->wishes.wishes);
        fplt__free(table->entries);
        fplt__free(table->cells);
        fplt__free(table->remarks);
    }
    fplt__bench_clear(&paper->bench);
    fplt__free(paper);
}

const fplt_paper_table *fplt_paper_get_view(const fplt_paper *paper, size_t index)
{
    return index < paper->count ? &paper->tables[index].view : NULL;
}
