/* How closely a site estimates the curvature of its cost: as one process does with the algorithm of the proposal, which is
 * roughly only where no step depends on the estimate, whatever the other sites allow. */
#include "site_data.h"

#include "objective/objective_access.h"

enum { ROWS = 80, COLUMNS = 16, MEMBERS = 20 };

static struct site_data data;

static void write_rows(fplt__buffer *text)
{
    unsigned seed = 11;
    for (size_t j = 0; j < COLUMNS; j++)
        fplt__buffer_format(text, "x%zu,", j);
    fplt__buffer_add(text, "label\n");
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t j = 0; j < COLUMNS; j++) {
            seed = seed * 1664525u + 1013904223u;
            fplt__buffer_format(text, "%.6f,", (seed >> 8) / 16777216.0 - 0.5);
        }
        fplt__buffer_format(text, "%d\n", r % 2 ? 1 : -1);
    }
}

/* Of the rows above, in a run of this algorithm in which this share of 20 sites is active. */
static fplt_curvature_bounds bounds_with(const char *algorithm, const char *share)
{
    fplt__pair settings[] = {
        {(char *)"active-share", (char *)share},
        {(char *)"algorithm", (char *)algorithm},
        {(char *)"participation", (char *)"bernoulli"},
        {(char *)"standardise", (char *)"no"},
        {(char *)"weights", (char *)"rows"},
    };
    fplt__pair full[] = {settings[1], settings[3], settings[4]};
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt__agreement none = {.shifts = 0};
    fplt_curvature_bounds bounds;
    fplt_error error;
    site_data_found(&data, NULL);
    data.proposal.members = MEMBERS;
    data.proposal.settings = share ? 5 : 3;
    data.proposal.setting = share ? settings : full;
    write_rows(&text);
    site_data_read(&data, "rows.csv", text.text, NULL);
    fplt__buffer_clear(&text);
    site_data_settle(&data);
    assert_ok(fplt__local_data_shape(data.rows, &none, MEMBERS, (uint64_t)MEMBERS * ROWS, &error),
              error);
    assert_ok(fplt__local_data_curvature_bounds(data.rows, &bounds, &error), error);
    site_data_clear(&data);
    return bounds;
}

static void curvature_is_estimated_as_in_one_process(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm, *share; /* NULL: all are active */
        int is_rough;
    } cases[] = {
        {"fed-lbfgs", NULL, 1}, {"fed-lbfgs", "0.5", 1}, {"fed-newton", NULL, 1},
        {"auto", NULL, 1},      {"auto", "0.5", 1},      {"fed-plt", NULL, 0},
        {"fedavg", "0.5", 0},   {"auto", "0.05", 0}, /* Fed-PLT, where Hessians do not leave */
    };
    double close = bounds_with("fed-plt", NULL).everywhere.highest,
           rough = bounds_with("fed-lbfgs", NULL).everywhere.highest;
    assert_true(close != rough);
    assert_true(rough > 0.6 * close && rough < 2 * close);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_curvature_bounds bounds = bounds_with(cases[i].algorithm, cases[i].share);
        if (bounds.everywhere.highest != (cases[i].is_rough ? rough : close) ||
            isnan(bounds.near_lowest) != cases[i].is_rough)
            fail_msg("%s, %s active: %g and %g", cases[i].algorithm,
                     cases[i].share ? cases[i].share : "all", bounds.everywhere.highest,
                     bounds.near_lowest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curvature_is_estimated_as_in_one_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
