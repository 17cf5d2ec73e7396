/* The paper's figures and tables. */
#include "testing.h"

#include "lab/paper/paper.h"

/* Rounds that the figures imply: time / cost of a round is a whole number, found by hand from the
 * paper (t_G = 1, t_C = 10, N = 100, N_e = 5 unless said otherwise). */
static void figures_imply_whole_rounds(void **state)
{
    (void)state;
    static const struct {
        const char *label, *row, *column;
        double cost, rounds;
    } known[] = {
        {"tab:comparison-cvx-noncvx", "FedPD", "convex", 1500, 47},
        {"tab:comparison-cvx-noncvx", "FedLin", "convex", 2600, 6},
        {"tab:comparison-cvx-noncvx", "TAMUNA", "convex", 1500, 17},
        {"tab:comparison-cvx-noncvx", "LED", "convex", 1500, 34},
        {"tab:comparison-cvx-noncvx", "5GCS", "convex", 1500, 38},
        {"tab:comparison-cvx-noncvx", "Fed-PLT", "convex", 1500, 9},
        {"tab:comparison-cvx-noncvx", "FedPD", "non-convex", 1500, 149},
        {"tab:comparison-cvx-noncvx", "FedLin", "non-convex", 2600, 12},
        {"tab:comparison-cvx-noncvx", "LED", "non-convex", 1500, 292},
        {"tab:comparison-cvx-noncvx", "5GCS", "non-convex", 1500, 26},
        {"tab:comparison-cvx-noncvx", "Fed-PLT", "non-convex", 1500, 14},
        {"tab:comparison-tc", "FedPD", "t_C = 0.1", 510, 47},
        {"tab:comparison-tc", "FedLin", "t_C = 0.1", 620, 6},
        {"tab:comparison-tc", "TAMUNA", "t_C = 1", 600, 17},
        {"tab:comparison-tc", "LED", "t_C = 1", 600, 34},
        {"tab:comparison-tc", "5GCS", "t_C = 100", 10500, 38},
        {"tab:comparison-tc", "Fed-PLT", "t_C = 100", 10500, 9},
        {"tab:comparison-tc", "FedLin", "t_C = 100", 20600, 6},
        {"tab:comparison-solvers", "TAMUNA", "gradient, half", 750, 71},
        {"tab:comparison-solvers", "5GCS", "gradient, half", 750, 30},
        {"tab:comparison-solvers", "Fed-PLT", "gradient, half", 750, 29},
        {"tab:comparison-solvers", "5GCS", "accelerated, all", 1500, 38},
        {"tab:comparison-solvers", "Fed-PLT", "accelerated, all", 1500, 10},
        {"tab:comparison-solvers", "5GCS", "accelerated, half", 750, 31},
        {"tab:comparison-solvers", "Fed-PLT", "accelerated, half", 750, 38},
        {"tab:comparison-larger", "FedPD", "t_C = 2", 10200, 68},
        {"tab:comparison-larger", "FedLin", "t_C = 20", 16000, 7},
        {"tab:comparison-larger", "TAMUNA", "t_C = 200", 30000, 24},
        {"tab:comparison-larger", "LED", "t_C = 2000", 210000, 34},
        {"tab:comparison-larger", "5GCS", "t_C = 2", 10200, 30},
        {"tab:comparison-larger", "Fed-PLT", "t_C = 2000", 210000, 10},
        {"tab:partial-participation", "Fed-PLT", "40 %", 600, 38},
        {"tab:partial-participation", "Fed-PLT", "50 %", 750, 29},
        {"tab:partial-participation", "Fed-PLT", "60 %", 900, 22},
        {"tab:partial-participation", "Fed-PLT", "70 %", 1050, 19},
        {"tab:partial-participation", "Fed-PLT", "80 %", 1200, 14},
        {"tab:partial-participation", "Fed-PLT", "90 %", 1350, 12},
        {"tab:partial-participation", "Fed-PLT", "100 %", 1500, 9},
        {"tab:rho", "Fed-PLT", "rho = 0.1", 1500, 123},
        {"tab:rho", "Fed-PLT", "rho = 1", 1500, 39},
        {"tab:rho", "Fed-PLT", "rho = 10", 1500, 162},
        {"tab:Ne", "N_e = 1", "t_C = 0.1", 110, 29},
        {"tab:Ne", "N_e = 2", "t_C = 1", 300, 15},
        {"tab:Ne", "N_e = 5", "t_C = 10", 1500, 9},
        {"tab:Ne", "N_e = 8", "t_C = 100", 10800, 8},
        {"tab:Ne", "N_e = 10", "t_C = 0.1", 1010, 8},
        {"tab:Ne", "N_e = 20", "t_C = 100", 12000, 8},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_near(fplt__paper_figure_find(known[i].label, known[i].row, known[i].column) /
                        known[i].cost,
                    known[i].rounds, 1e-9);
    assert_true(
        isnan(fplt__paper_figure_find("tab:comparison-cvx-noncvx", "TAMUNA", "non-convex")));
}

/* Every figure is somewhere in the paper's source, in the table with that label. */
static void figures_are_printed_in_the_paper(void **state)
{
    (void)state;
    const char *path = SHARED "/paper/fed-plt.tex";
    need_file(path);
    FILE *file = fopen(path, "rb");
    static char text[400000];
    size_t length = fread(text, 1, sizeof text - 1, file), count = 0;
    fclose(file);
    text[length] = 0;
    const fplt__paper_figure *figure;
    for (; (figure = fplt__paper_figure_list(count)); count++) {
        char label[64], number[2][40];
        snprintf(label, sizeof label, "\\label{%s}", figure->label);
        const char *start = strstr(text, label),
                   *end = start ? strstr(start, "\\end{table}") : NULL;
        assert_non_null(end);
        double scale = figure->value >= 2e6 ? 1e6 : figure->value >= 1e3 ? 1e3 : 1;
        snprintf(number[0], sizeof number[0], "%.10g", figure->value / scale);
        snprintf(number[1], sizeof number[1], "%.10g", figure->value / 1e6);
        if (figure->value < 1) /* 2.583 x 10^-2 */
            snprintf(number[1], sizeof number[1], "%.10g",
                     figure->value * pow(10, -floor(log10(figure->value))));
        const char *found = strstr(start, number[0]);
        if (!found || found > end)
            found = strstr(start, number[1]);
        if (!found || found > end)
            fail_msg("%s, %s, %s: %s is not in the paper's table", figure->label, figure->row,
                     figure->column, number[0]);
    }
    assert_int_equal(count, 111);
}

static int is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Tables VII to IX with few data sets: the same on any number of threads. */
static void tables_do_not_depend_on_threads(void **state)
{
    (void)state;
    fplt_paper_settings settings = fplt_paper_defaults();
    fplt_paper *paper[2];
    fplt_error error;
    settings.tables = 7u << 5;
    settings.seeds = 2;
    settings.runs = 1;
    settings.points = 3;
    for (unsigned i = 0; i < 2; i++) {
        settings.threads = 1 + 2 * i;
        assert_ok(fplt_paper_create(&settings, &paper[i], &error), error);
    }
    for (size_t t = 0; t < 3; t++) {
        const fplt_paper_table *a = fplt_paper_get_view(paper[0], t),
                               *b = fplt_paper_get_view(paper[1], t);
        assert_int_equal(a->count, b->count);
        for (size_t i = 0; i < a->count; i++) {
            assert_true(is_same(a->cells[i].ours, b->cells[i].ours));
            assert_true(is_same(a->cells[i].median, b->cells[i].median));
            assert_string_equal(a->cells[i].parameters, b->cells[i].parameters);
            assert_true(a->cells[i].low <= a->cells[i].median &&
                        a->cells[i].median <= a->cells[i].high);
        }
        assert_true(a->remarks > 0);
    }
    const fplt_paper_table *rho = fplt_paper_get_view(paper[0], 1);
    assert_string_equal(rho->name, "VIII");
    assert_near(rho->cells[1].ours, 1500 * rho->cells[1].rounds, 1e-6);
    assert_null(fplt_paper_get_view(paper[0], 3));
    /* noisy training takes the parameters found without noise: those of N_e = 5 */
    const fplt_paper_table *noise = fplt_paper_get_view(paper[0], 0),
                           *epochs = fplt_paper_get_view(paper[0], 2);
    assert_string_equal(epochs->cells[2].row, "N_e = 5");
    assert_string_equal(noise->cells[0].parameters, epochs->cells[2].parameters);
    assert_true(noise->cells[7].ours > noise->cells[0].ours);
    fplt_paper_destroy(paper[0]);
    fplt_paper_destroy(paper[1]);
}

/* Noisy training takes the parameters that were searched without noise. */
static void noise_keeps_the_parameters(void **state)
{
    (void)state;
    fplt_paper_settings settings = fplt_paper_defaults();
    fplt_paper *paper[2];
    fplt_error error;
    settings.tables = 1u << 5;
    settings.seeds = 1;
    settings.runs = 1;
    for (unsigned i = 0; i < 2; i++) {
        settings.points = i ? 25 : 1;
        assert_ok(fplt_paper_create(&settings, &paper[i], &error), error);
    }
    assert_string_not_equal(fplt_paper_get_view(paper[0], 0)->cells[0].parameters,
                            fplt_paper_get_view(paper[1], 0)->cells[0].parameters);
    fplt_paper_destroy(paper[0]);
    fplt_paper_destroy(paper[1]);
}

/* rho = 1 with automatic steps on seed 0, by an engine alone. */
static void a_cell_is_an_engine_run(void **state)
{
    (void)state;
    fplt_paper_settings settings = fplt_paper_defaults();
    fplt_paper *paper;
    fplt_error error;
    settings.tables = 1u << 6;
    settings.seeds = 1;
    settings.points = 1;
    assert_ok(fplt_paper_create(&settings, &paper, &error), error);
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    fplt_run_settings run = fplt_run_defaults();
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_engine *engine;
    fplt_result result;
    double rho = 1;
    run.parameter = &rho;
    assert_ok(fplt_dataset_generate(&data, &dataset, &error), error);
    assert_ok(fplt_objective_create(&cost, dataset, &objective, &error), error);
    assert_ok(fplt_engine_create(objective, &run, &engine, &error), error);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_near(fplt_paper_get_view(paper, 0)->cells[1].rounds, (double)result.counters.rounds, 0);
    assert_near(fplt_paper_get_view(paper, 0)->cells[1].ours, result.counters.paper_time, 1e-6);
    fplt_engine_destroy(engine);
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
    fplt_paper_destroy(paper);
}

/* Sentences from made-up figures. */
static const char *remark_with(const fplt_paper_table *table, fplt__remarks *remarks,
                               const char *part)
{
    fplt__paper_remark(table, remarks);
    for (size_t i = 0; i < remarks->count; i++)
        if (strstr(remarks->text[i], part))
            return remarks->text[i];
    return "";
}

static void sentences_follow_the_figures(void **state)
{
    (void)state;
    static fplt__remarks remarks;
    fplt_paper_cell cells[] = {
        {.row = "FedLin", .column = "convex", .paper = 15.6e3, .ours = 7.8e3},
        {.row = "Fed-PLT", .column = "convex", .paper = 13.5e3, .ours = 13.5e3}};
    fplt_paper_table table = {.name = "II", .count = 2, .cells = cells};
    assert_contains(remark_with(&table, &remarks, "order"), "changes. Here FedLin 7.8k, Fed-PLT");
    assert_contains(remark_with(&table, &remarks, "Better"), "FedLin 0.50 (convex)");
    assert_string_equal(remark_with(&table, &remarks, "Worse"), "");
    cells[0].ours = 20e3;
    assert_contains(remark_with(&table, &remarks, "order"), "is the paper's");
    assert_contains(remark_with(&table, &remarks, "Worse"), "FedLin 1.28 (convex)");
    fplt_paper_cell solvers[] = {
        {.row = "Fed-PLT", .column = "gradient, all", .paper = 1, .ours = 1},
        {.row = "Fed-PLT", .column = "accelerated, all", .paper = 1, .ours = 2}};
    fplt_paper_table fourth = {.name = "IV", .count = 2, .cells = solvers};
    assert_contains(remark_with(&fourth, &remarks, "accelerated"), "Here it holds");
    solvers[1].ours = 0.5;
    assert_contains(remark_with(&fourth, &remarks, "accelerated"), "does not hold");
    fplt_paper_cell shares[] = {{.row = "Fed-PLT", .column = "40 %", .paper = 3, .ours = 3},
                                {.row = "Fed-PLT", .column = "50 %", .paper = 2, .ours = 2}};
    fplt_paper_table sixth = {.name = "VI", .count = 2, .cells = shares};
    assert_contains(remark_with(&sixth, &remarks, "share"), "falls at every step");
    shares[1].ours = 4;
    assert_contains(remark_with(&sixth, &remarks, "share"), "does not fall at every step");
    assert_contains(remark_with(&sixth, &remarks, "share"), "fastest share is 40 %");
}

static void refuses_nothing_to_do(void **state)
{
    (void)state;
    fplt_paper_settings settings = fplt_paper_defaults();
    fplt_paper *paper;
    fplt_error error;
    settings.seeds = 0;
    assert_int_equal(fplt_paper_create(&settings, &paper, &error), FPLT_BAD_VALUE);
    assert_null(paper);
}

/* docs/results.md says how it was made and has every table. */
static void results_are_documented(void **state)
{
    (void)state;
    FILE *file = fopen("docs/results.md", "rb");
    static char text[200000];
    const char *name, *label;
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_contains(text, "fedplt paper --seed 0 --seeds 20 --runs 100 --points 25 --write "
                          "docs/results.md");
    for (size_t i = 0; (name = fplt_paper_list(i, &label, NULL)); i++) {
        char heading[64];
        snprintf(heading, sizeof heading, "## Table %s. ", name);
        assert_contains(text, heading);
        assert_contains(text, label);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_imply_whole_rounds),
        cmocka_unit_test(figures_are_printed_in_the_paper),
        cmocka_unit_test(tables_do_not_depend_on_threads),
        cmocka_unit_test(noise_keeps_the_parameters),
        cmocka_unit_test(a_cell_is_an_engine_run),
        cmocka_unit_test(sentences_follow_the_figures),
        cmocka_unit_test(refuses_nothing_to_do),
        cmocka_unit_test(results_are_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
