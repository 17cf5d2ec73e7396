/* fedplt paper: the paper's tables computed anew, beside the paper's own figures. */
#include "fedplt/paper.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "progress.h"
#include "base/file.h"
#include "base/text.h"
#include "report/report.h"

static const fplt_setting table[] = {
    {"seed", FPLT_INTEGER, 0, "0", 0, 9007199254740992.0, NULL,
     "seed of the data set whose figures are shown", 0, 0},
    {"seeds", FPLT_INTEGER, 0, "20", 1, 100000, NULL,
     "data sets behind the medians: seed, seed + 1, ...", 0, 0},
    {"runs", FPLT_INTEGER, 0, "100", 1, 1000000, NULL, "Monte Carlo runs where there is randomness",
     0, 0},
    {"points", FPLT_INTEGER, 0, "25", 1, 100000, NULL,
     "points of a search, the same for every method", 0, 0},
    {"threads", FPLT_INTEGER, 0, "0", 0, 4096, NULL, "threads; 0: one a core", 0, 0},
    {"engine", FPLT_CHOICE, 0, "threads", 0, 0, "threads|mpi",
     "mpi: runs are spread over the processes that mpirun or srun started", 0, 0},
    {"write", FPLT_TEXT, 0, NULL, 0, 0, NULL, "write the tables into a Markdown file", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document instead of the tables", 0,
     0, .needs = "quiet=no"},
    {"quiet", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print nothing", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "paper", table, error);
}

static const char *table_name(size_t index, const char **help)
{
    return fplt_paper_list(index, NULL, help);
}

static fplt_status choose_tables(const cli_call *cli, unsigned *tables, fplt_error *error)
{
    const char *name;
    for (size_t a = 0; a < cli->argument_count; a++) {
        unsigned found = 0;
        for (size_t i = 0; (name = fplt_paper_list(i, NULL, NULL)); i++)
            if (strcasecmp(name, cli->arguments[a]) == 0)
                found = 1u << i;
        if (!found)
            return fplt__unknown_name("table", cli->arguments[a], table_name, error);
        *tables = (a ? *tables : 0) | found;
    }
    return FPLT_OK;
}

/* Cells as text */

enum { ROW, COLUMN, OURS, CHARGED, MEDIAN, RANGE, PAPER, RATIO, ROUNDS, PARAMETERS, COLUMNS };

static const char *const headings[COLUMNS] = {
    "",      "",       "ours",      "every gradient charged", "median", "range", "paper",
    "ratio", "rounds", "parameters"};

typedef char cell_texts[COLUMNS][192];

static int same_charge(const fplt_paper_cell *cell)
{
    return !(fabs(cell->charged - cell->ours) > 1e-9 * cell->ours);
}

static void write_failures(const fplt_paper_cell *cell, char *text, size_t size)
{
    if (cell->failures && cell->failures < cell->runs)
        snprintf(text, size, " (%u of %u runs not)", cell->failures, cell->runs);
    else
        text[0] = 0;
}

static void cell_text(const fplt_paper_cell *cell, cell_texts texts)
{
    char low[32], high[32], failures[64], number[64];
    memset(texts, 0, sizeof(cell_texts));
    snprintf(texts[ROW], sizeof texts[ROW], "%s", cell->row);
    snprintf(texts[COLUMN], sizeof texts[COLUMN], "%s", cell->column);
    cli_brief(cell->paper, texts[PAPER], sizeof texts[PAPER]);
    if (cell->refusal) {
        snprintf(texts[OURS], sizeof texts[OURS], "-");
        return;
    }
    write_failures(cell, failures, sizeof failures);
    cli_brief(cell->ours, number, sizeof number);
    snprintf(texts[OURS], sizeof texts[OURS], "%s%s", number, failures);
    if (!same_charge(cell))
        cli_brief(cell->charged, texts[CHARGED], sizeof texts[CHARGED]);
    cli_brief(cell->median, texts[MEDIAN], sizeof texts[MEDIAN]);
    cli_brief(cell->low, low, sizeof low);
    cli_brief(cell->high, high, sizeof high);
    snprintf(texts[RANGE], sizeof texts[RANGE], "%s to %s", low, high);
    if (isfinite(cell->ours) && !isnan(cell->paper))
        snprintf(texts[RATIO], sizeof texts[RATIO], "%.2f", cell->ours / cell->paper);
    if (isfinite(cell->rounds))
        snprintf(texts[ROUNDS], sizeof texts[ROUNDS], "%.4g", cell->rounds);
    snprintf(texts[PARAMETERS], sizeof texts[PARAMETERS], "%s", cell->parameters);
}

/* Columns that are empty throughout are left out. */
static void used_columns(const fplt_paper_table *paper_table, int *used)
{
    cell_texts texts;
    memset(used, 0, COLUMNS * sizeof *used);
    for (size_t i = 0; i < paper_table->count; i++) {
        cell_text(&paper_table->cells[i], texts);
        for (size_t c = 0; c < COLUMNS; c++)
            used[c] |= texts[c][0] != 0;
    }
}

/* On the terminal */

static fplt_status print_cells(const fplt_paper_table *paper_table, fplt_error *error)
{
    const char *columns[COLUMNS];
    int used[COLUMNS];
    size_t count = 0;
    cell_texts texts;
    fplt_table *shown;
    used_columns(paper_table, used);
    for (size_t c = 0; c < COLUMNS; c++)
        if (used[c])
            columns[count++] = headings[c];
    fplt_status status = fplt__table_create(columns, count, &shown, error);
    for (size_t i = 0; !status && i < paper_table->count; i++) {
        cell_text(&paper_table->cells[i], texts);
        for (size_t c = 0; c < COLUMNS; c++)
            if (used[c])
                fplt__table_text(shown, texts[c]);
    }
    if (!status)
        status = cli_print_table(shown, error);
    fplt_table_destroy(shown);
    return status;
}

static int is_first_refusal(const fplt_paper_table *paper_table, size_t index)
{
    const char *refusal = paper_table->cells[index].refusal;
    for (size_t i = 0; i < index; i++)
        if (paper_table->cells[i].refusal && strcmp(paper_table->cells[i].refusal, refusal) == 0)
            return 0;
    return 1;
}

static void write_sentences(const fplt_paper_table *paper_table, size_t width, cli_text *out)
{
    for (size_t i = 0; i < paper_table->count; i++)
        if (paper_table->cells[i].refusal && is_first_refusal(paper_table, i)) {
            cli_text_add(out, "- ");
            cli_wrap(out, paper_table->cells[i].refusal, 2, 2, width);
            cli_text_add(out, ".\n");
        }
    for (size_t i = 0; i < paper_table->remarks; i++) {
        cli_text_add(out, "- ");
        cli_wrap(out, paper_table->remark[i], 2, 2, width);
        cli_text_add(out, "\n");
    }
}

static fplt_status print_tables(const fplt_paper *paper, fplt_error *error)
{
    const fplt_paper_table *paper_table;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && (paper_table = fplt_paper_get_view(paper, i)); i++) {
        cli_text out = {NULL, 0, NULL};
        printf("%sTable %s. %s\n\n", i ? "\n" : "", paper_table->name, paper_table->title);
        status = print_cells(paper_table, error);
        cli_text_add(&out, "\n");
        if (paper_table->note) {
            cli_wrap(&out, paper_table->note, 0, 0, 100);
            cli_text_add(&out, "\n\n");
        }
        write_sentences(paper_table, 100, &out);
        cli_print_text(&out);
    }
    return status;
}

/* As Markdown */

static void write_head(const cli_call *cli, const fplt_paper_settings *settings, cli_text *out)
{
    cli_text_add(out, "# The paper's tables, computed anew\n\nMade by\n\n    fedplt paper");
    for (size_t i = 0; i < cli->argument_count; i++)
        cli_text_format(out, " %s", cli->arguments[i]);
    cli_text_format(
        out,
        " --seed %llu --seeds %u --runs %u --points %u --write %s\n\n"
        "The paper's section \"Numerical Results\" gives the time that each method needs to "
        "`||sum grad f_i(x)||^2 <= 1e-5` at the mean x of the agents' models (at the coordinator's "
        "model where agents keep none). A local gradient takes t_G, a round trip to the "
        "coordinator "
        "t_C, and the times of all active agents are added up. The data of the paper are not "
        "published; ours come from the generator `paper` (100 agents, n = 5, 250 rows each, "
        "logistic "
        "loss, eps = 0.5, N_e = 5 unless a table says otherwise), so a figure can agree with the "
        "paper's in kind, not in every digit.\n\n"
        "- *ours*: on the data of seed %llu; where something is random (TAMUNA, partial "
        "participation, noise) the mean over %u Monte Carlo runs that reach the criterion.\n"
        "- *every gradient charged*: the paper charges 5GCS N_e gradients a round, but it makes "
        "N_e + 1; the same time with all of them.\n"
        "- *median*, *range*: of that figure over the data of %u seeds. Methods without randomness "
        "are tuned anew on each (in tables V and VIII on the first only); the others take the "
        "parameters of "
        "the first, as factors of the automatic values, and have fewer runs on the others.\n"
        "- *parameters*: found on the first data set with %u points for every method, at most: "
        "the automatic values, a coarse grid, then a pattern search; a point is given up past 1.5 "
        "times the best so far. Methods with randomness are tuned by runs with other keys than "
        "those that judge them. TAMUNA's p is 1/N_e, as in the paper. `gamma auto`: each agent "
        "takes its own automatic step.\n"
        "- A sentence under a table is computed from its figures; differences below 5 %% do not "
        "count.\n",
        (unsigned long long)settings->seed, settings->seeds, settings->runs, settings->points,
        fplt_settings_text(cli->settings, "write"), (unsigned long long)settings->seed,
        settings->runs, settings->seeds, settings->points);
}

static void write_row(char texts[][192], const int *used, cli_text *out)
{
    for (size_t c = 0; c < COLUMNS; c++)
        if (used[c])
            cli_text_format(out, "| %s ", texts[c]);
    cli_text_add(out, "|\n");
}

static void write_table(const fplt_paper_table *paper_table, cli_text *out)
{
    int used[COLUMNS];
    cell_texts texts;
    used_columns(paper_table, used);
    cli_text_format(out, "\n## Table %s. %s\n\nThe paper's `%s`; the figure is the %s.%s%s\n\n",
                    paper_table->name, paper_table->title, paper_table->label,
                    paper_table->quantity, paper_table->note ? " " : "",
                    paper_table->note ? paper_table->note : "");
    for (size_t c = 0; c < COLUMNS; c++)
        snprintf(texts[c], sizeof texts[c], "%s", headings[c]);
    write_row(texts, used, out);
    for (size_t c = 0; c < COLUMNS; c++)
        snprintf(texts[c], sizeof texts[c], "---");
    write_row(texts, used, out);
    for (size_t i = 0; i < paper_table->count; i++) {
        cell_text(&paper_table->cells[i], texts);
        write_row(texts, used, out);
    }
    cli_text_add(out, "\n");
    write_sentences(paper_table, 1000000, out);
}

static fplt_status write_markdown(const cli_call *cli, const fplt_paper *paper,
                                  const fplt_paper_settings *settings, fplt_error *error)
{
    const char *path = fplt_settings_text(cli->settings, "write");
    const fplt_paper_table *paper_table;
    cli_text out = {NULL, 0, NULL};
    char *text;
    if (!path)
        return FPLT_OK;
    write_head(cli, settings, &out);
    for (size_t i = 0; (paper_table = fplt_paper_get_view(paper, i)); i++)
        write_table(paper_table, &out);
    fplt_status status = cli_text_take(&out, &text, error);
    if (status)
        return status;
    status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt_free(text);
    return status;
}

/* As JSON */

static json_t *cell_json(const fplt_paper_cell *cell)
{
    if (cell->refusal)
        return json_pack("{s:s, s:s, s:o, s:s}", "row", cell->row, "column", cell->column, "paper",
                         cli_json_number(cell->paper), "refusal", cell->refusal);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:b, s:i, s:s}",
                     "row", cell->row, "column", cell->column, "paper",
                     cli_json_number(cell->paper), "ours", cli_json_number(cell->ours),
                     "every_gradient_charged", cli_json_number(cell->charged), "median",
                     cli_json_number(cell->median), "least", cli_json_number(cell->low), "largest",
                     cli_json_number(cell->high), "rounds", cli_json_number(cell->rounds), "runs",
                     (int)cell->runs, "failures", (int)cell->failures, "failed_data_sets",
                     (int)cell->failed_sets, "tuned_each", cell->tuned_each, "search_points",
                     (int)cell->points, "parameters", cell->parameters);
}

static fplt_status print_json(const fplt_paper *paper, const fplt_paper_settings *settings,
                              double seconds, fplt_error *error)
{
    json_t *tables = json_array();
    const fplt_paper_table *paper_table;
    for (size_t i = 0; (paper_table = fplt_paper_get_view(paper, i)); i++) {
        json_t *cells = json_array(), *remarks = json_array();
        for (size_t c = 0; c < paper_table->count; c++)
            json_array_append_new(cells, cell_json(&paper_table->cells[c]));
        for (size_t r = 0; r < paper_table->remarks; r++)
            json_array_append_new(remarks, json_string(paper_table->remark[r]));
        json_array_append_new(
            tables, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "name", paper_table->name, "label",
                              paper_table->label, "title", paper_table->title, "quantity",
                              paper_table->quantity, "cells", cells, "remarks", remarks));
    }
    return cli_print_json(
        json_pack("{s:I, s:I, s:I, s:I, s:f, s:o}", "seed", (json_int_t)settings->seed, "seeds",
                  (json_int_t)settings->seeds, "runs", (json_int_t)settings->runs, "points",
                  (json_int_t)settings->points, "wall_seconds", seconds, "tables", tables),
        error);
}

static fplt_status conclude(cli_call *cli, const fplt_paper *paper,
                            const fplt_paper_settings *settings, double seconds, fplt_error *error)
{
    fplt_status status = write_markdown(cli, paper, settings, error);
    if (status || fplt_settings_switch(cli->settings, "quiet"))
        return status;
    if (fplt_settings_switch(cli->settings, "json"))
        return print_json(paper, settings, seconds, error);
    if ((status = print_tables(paper, error)))
        return status;
    printf("\n%.1f s\n", seconds);
    return FPLT_OK;
}

static fplt_status run_paper(cli_call *cli, fplt_error *error)
{
    const fplt_settings *settings = cli->settings;
    fplt_paper_settings wanted = fplt_paper_defaults();
    fplt_paper *paper;
    cli_progress progress;
    fplt_status status = choose_tables(cli, &wanted.tables, error);
    if (status)
        return status;
    wanted.seed = (uint64_t)fplt_settings_integer(settings, "seed");
    wanted.seeds = (uint32_t)fplt_settings_integer(settings, "seeds");
    wanted.runs = (uint32_t)fplt_settings_integer(settings, "runs");
    wanted.points = (unsigned)fplt_settings_integer(settings, "points");
    wanted.threads = (unsigned)fplt_settings_integer(settings, "threads");
    wanted.ranks = cli->ranks;
    wanted.watch = cli_progress_watch;
    wanted.context = &progress;
    cli->running = 1;
    cli_end_on_signals(NULL);
    cli_progress_begin(&progress, fplt_settings_switch(settings, "quiet"));
    status = fplt_ranks_agree(cli->ranks, fplt_paper_create(&wanted, &paper, error), error);
    double seconds = cli_progress_end(&progress);
    if (status)
        return cli_interrupted_status(cli, status);
    status = cli_leads(cli) ? conclude(cli, paper, &wanted, seconds, error) : FPLT_OK;
    fplt_paper_destroy(paper);
    return status;
}

const cli_command cli_paper[] = {
    {.name = "paper",
     .summary = "compute the paper's tables anew",
     .arguments = "[table ...]",
     .about =
         "Computes tables II to IX of the paper: the methods are tuned with the same number of "
         "points each, run, and put beside the paper's own figures, with the median over many data "
         "sets. Under each table stands which of the paper's observations hold here.\n\nThe "
         "paper's "
         "data are not published, so ours are generated; the same seed gives the same figures.",
     .examples = "fedplt paper\n"
                 "fedplt paper II IX\n"
                 "fedplt paper VII --runs 20 --seeds 5\n"
                 "fedplt paper --write docs/results.md",
     .least = 0,
     .most = FPLT_PAPER_TABLES,
     .spreads = 1,
     .declare = declare,
     .run = run_paper},
    {.name = NULL},
};
