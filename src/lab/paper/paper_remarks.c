/* Sentences under the paper's tables, computed from their cells: which of the paper's observations
 * hold here, and where our figures differ. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lab/paper/paper.h"

/* Times that differ by less count as equal. */
static const double slack = 0.05;

enum { MAX_ROWS = 16, MAX_COLUMNS = 8 };

static char *begin_remark(fplt__remarks *remarks)
{
    if (remarks->count == FPLT_PAPER_REMARKS)
        remarks->count--;
    char *text = remarks->text[remarks->count++];
    text[0] = 0;
    return text;
}

static void append_text(char *text, const char *format, ...) FPLT_PRINTF(2, 3);

static void append_text(char *text, const char *format, ...)
{
    size_t used = strlen(text), size = sizeof((fplt__remarks *)0)->text[0];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* 13500 -> 13.5k */
static const char *brief(double value, char *text, size_t size)
{
    if (isinf(value))
        snprintf(text, size, "not reached");
    else if (value >= 1e6)
        snprintf(text, size, "%.4gM", value / 1e6);
    else if (value >= 1e3)
        snprintf(text, size, "%.4gk", value / 1e3);
    else
        snprintf(text, size, "%.4g", value);
    return text;
}

static const fplt_paper_cell *find(const fplt_paper_table *table, const char *row,
                                   const char *column)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->cells[i].row, row) == 0 && strcmp(table->cells[i].column, column) == 0)
            return &table->cells[i];
    return NULL;
}

static double ours(const fplt_paper_table *table, const char *row, const char *column)
{
    const fplt_paper_cell *cell = find(table, row, column);
    return cell ? cell->ours : NAN;
}

/* Distinct columns in order; returns how many. */
static size_t columns_of(const fplt_paper_table *table, const char **columns)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        int known = 0;
        for (size_t c = 0; c < count; c++)
            known |= strcmp(columns[c], table->cells[i].column) == 0;
        if (!known && count < MAX_COLUMNS)
            columns[count++] = table->cells[i].column;
    }
    return count;
}

/* Cells of a column that both have a figure here and in the paper, by our or the paper's figure. */
static size_t ranking(const fplt_paper_table *table, const char *column, int by_paper,
                      const fplt_paper_cell **order)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const fplt_paper_cell *cell = &table->cells[i];
        if (strcmp(cell->column, column) != 0 || isnan(cell->paper) || isnan(cell->ours) ||
            count == MAX_ROWS)
            continue;
        size_t at = count++;
        for (; at > 0; at--) {
            double before = by_paper ? order[at - 1]->paper : order[at - 1]->ours;
            if (before <= (by_paper ? cell->paper : cell->ours))
                break;
            order[at] = order[at - 1];
        }
        order[at] = cell;
    }
    return count;
}

static void say_order(char *text, const fplt_paper_cell *const *order, size_t count, int by_paper)
{
    char number[32];
    for (size_t i = 0; i < count; i++)
        append_text(text, "%s%s %s", i ? ", " : "", order[i]->row,
                    brief(by_paper ? order[i]->paper : order[i]->ours, number, sizeof number));
}

/* Columns in which the methods stand in another order are spelt out. */
static void remark_orders(const fplt_paper_table *table, fplt__remarks *remarks)
{
    const char *columns[MAX_COLUMNS];
    size_t count = columns_of(table, columns), same = 0, judged = 0;
    for (size_t c = 0; c < count; c++) {
        const fplt_paper_cell *here[MAX_ROWS], *there[MAX_ROWS];
        size_t rows = ranking(table, columns[c], 0, here);
        ranking(table, columns[c], 1, there);
        if (rows < 2)
            continue;
        judged++;
        if (memcmp(here, there, rows * sizeof *here) == 0) {
            same++;
            continue;
        }
        char *text = begin_remark(remarks);
        append_text(text, "%s: the order of the methods changes. Here ", columns[c]);
        say_order(text, here, rows, 0);
        append_text(text, "; in the paper ");
        say_order(text, there, rows, 1);
        append_text(text, ".");
    }
    if (same && same == judged)
        append_text(begin_remark(remarks),
                    "The order of the methods is the paper's in every column.");
}

/* Methods that need less or more than the paper reports. */
static void remark_ratios(const fplt_paper_table *table, int better, fplt__remarks *remarks)
{
    char *text = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const fplt_paper_cell *cell = &table->cells[i];
        double ratio = cell->ours / cell->paper;
        int told = 0;
        for (size_t j = 0; j < i; j++) /* t_C scales ratios of a row alike: the first tells */
            told |= strcmp(table->cells[j].row, cell->row) == 0 &&
                    fabs(table->cells[j].ours / table->cells[j].paper - ratio) < slack;
        if (!(better ? ratio < 1 - slack : ratio > 1 + slack) || told)
            continue;
        if (!text) {
            text = begin_remark(remarks);
            append_text(text, better
                                  ? "Better than the paper reports, as a share of its figure: "
                                  : "Worse than the paper reports, as a multiple of its figure: ");
        } else {
            append_text(text, ", ");
        }
        if (isinf(ratio))
            append_text(text, "%s not reached (%s)", cell->row, cell->column);
        else
            append_text(text, "%s %.2f (%s)", cell->row, ratio, cell->column);
    }
    if (text)
        append_text(text, ".");
}

static void remark_methods(const fplt_paper_table *table, fplt__remarks *remarks)
{
    remark_orders(table, remarks);
    remark_ratios(table, 1, remarks);
    remark_ratios(table, 0, remarks);
}

static void remark_pair(const fplt_paper_table *table, const char *claim, const char *row,
                        const char *slow, const char *fast, fplt__remarks *remarks)
{
    char a[32], b[32];
    double slower = ours(table, row, slow), faster = ours(table, row, fast);
    const char *verdict = slower > faster * (1 + slack)   ? "holds"
                          : slower < faster * (1 - slack) ? "does not hold"
                                                          : "makes no difference";
    if (isnan(slower) || isnan(faster))
        return;
    append_text(begin_remark(remarks), "The paper: %s. Here it %s: %s %s, %s %s.", claim, verdict,
                slow, brief(slower, a, sizeof a), fast, brief(faster, b, sizeof b));
}

static void remark_solvers(const fplt_paper_table *table, fplt__remarks *remarks)
{
    remark_pair(table, "accelerated local training of Fed-PLT is slower than gradient descent",
                "Fed-PLT", "accelerated, all", "gradient, all", remarks);
    remark_pair(table, "so it is with half of the agents", "Fed-PLT", "accelerated, half",
                "gradient, half", remarks);
    remark_pair(table, "partial participation makes Fed-PLT slower", "Fed-PLT", "gradient, half",
                "gradient, all", remarks);
    remark_pair(table, "partial participation makes 5GCS faster", "5GCS", "gradient, all",
                "gradient, half", remarks);
    remark_methods(table, remarks);
}

/* Who is the fastest where communication is cheap, and where it is dear. */
static void remark_prices(const fplt_paper_table *table, fplt__remarks *remarks)
{
    const char *columns[MAX_COLUMNS];
    size_t count = columns_of(table, columns);
    char *text = begin_remark(remarks);
    append_text(
        text, "The paper: FedLin is the fastest where communication is cheap, Fed-PLT where it is "
              "dear. Here the fastest is");
    for (size_t c = 0; c < count; c++) {
        const fplt_paper_cell *order[MAX_ROWS];
        if (ranking(table, columns[c], 0, order))
            append_text(text, "%s %s (%s)", c ? "," : "", order[0]->row, columns[c]);
    }
    append_text(text, ".");
    remark_methods(table, remarks);
}

static void remark_shares(const fplt_paper_table *table, fplt__remarks *remarks)
{
    size_t rises = 0, best = 0;
    char *text = begin_remark(remarks), number[32];
    for (size_t i = 0; i < table->count; i++) {
        rises += i > 0 && table->cells[i].ours > table->cells[i - 1].ours;
        best = table->cells[i].ours < table->cells[best].ours ? i : best;
    }
    append_text(
        text,
        "The paper: more active agents tend to be faster, but not strictly (70 %% takes longer "
        "than "
        "60 %%). Here the time %s as the share grows, and the fastest share is %s (%s).",
        rises ? "does not fall at every step" : "falls at every step", table->cells[best].column,
        brief(table->cells[best].ours, number, sizeof number));
    remark_ratios(table, 1, remarks);
    remark_ratios(table, 0, remarks);
}

/* Least squares through the logarithms: the error against tau^2. */
static void remark_noise(const fplt_paper_table *table, fplt__remarks *remarks)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, worst = 0, n = (double)table->count;
    for (size_t i = 0; i < table->count; i++) {
        double x = log(10) * ((double)i - 6), y = log(table->cells[i].ours);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
        worst = fmax(worst, fabs(table->cells[i].ours / table->cells[i].paper - 1));
    }
    double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    append_text(
        begin_remark(remarks),
        "The error grows as tau to the power %.3f. The largest difference from the paper's figures "
        "is "
        "%.0f %%.",
        2 * slope, 100 * worst);
}

static void remark_rho(const fplt_paper_table *table, fplt__remarks *remarks)
{
    static const char *const rows[] = {"Fed-PLT", "Fed-PLT, gamma tuned"};
    for (size_t r = 0; r < 2; r++) {
        double low = ours(table, rows[r], "rho = 0.1"), one = ours(table, rows[r], "rho = 1");
        double high = ours(table, rows[r], "rho = 10");
        char a[32], b[32], c[32];
        append_text(
            begin_remark(remarks),
            "The paper: values near rho = 1 are the best of the three. With %s this %s: %s, %s, "
            "%s.",
            r ? "a tuned gamma" : "the automatic gamma",
            one < low && one < high ? "holds" : "does not hold", brief(low, a, sizeof a),
            brief(one, b, sizeof b), brief(high, c, sizeof c));
    }
    remark_ratios(table, 1, remarks);
    remark_ratios(table, 0, remarks);
}

static void remark_epochs(const fplt_paper_table *table, fplt__remarks *remarks)
{
    const char *columns[MAX_COLUMNS];
    size_t count = columns_of(table, columns), finite = 0;
    char *text = begin_remark(remarks);
    const fplt_paper_cell *last = &table->cells[table->count - 1];
    append_text(
        text,
        "The paper: a finite N_e is the best, and a larger one as t_C grows. Here the best is");
    for (size_t c = 0; c < count; c++) {
        const fplt_paper_cell *order[MAX_ROWS], *there[MAX_ROWS];
        if (!ranking(table, columns[c], 0, order))
            continue;
        ranking(table, columns[c], 1, there);
        finite += strcmp(order[0]->row, last->row) != 0;
        append_text(text, "%s %s for %s (paper: %s)", c ? "," : "", order[0]->row, columns[c],
                    there[0]->row);
    }
    append_text(text, "; below the largest N_e tried in %zu of %zu columns.", finite, count);
    remark_ratios(table, 1, remarks);
    remark_ratios(table, 0, remarks);
}

void fplt__paper_remark(const fplt_paper_table *table, fplt__remarks *remarks)
{
    static const struct {
        const char *name;
        void (*remark)(const fplt_paper_table *, fplt__remarks *);
    } kinds[FPLT_PAPER_TABLES] = {
        {"II", remark_methods}, {"III", remark_prices}, {"IV", remark_solvers},
        {"V", remark_prices},   {"VI", remark_shares},  {"VII", remark_noise},
        {"VIII", remark_rho},   {"IX", remark_epochs},
    };
    remarks->count = 0;
    for (size_t i = 0; i < FPLT_PAPER_TABLES; i++)
        if (strcmp(kinds[i].name, table->name) == 0)
            kinds[i].remark(table, remarks);
}
