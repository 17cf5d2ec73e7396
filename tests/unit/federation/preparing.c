/* Missing values and class weights of a federation in threads: what fills a column and what a class weighs come from sums
 * over all sites, and the model is that of one process. */
#include "federated_models.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "federation/plan/proposal_text.h"

enum { SITES = 3 };

static struct federating all;

/* Rows with two numbers, a word and a label that depends on them, by a fixed sequence; every third a, every fourth b and
 * every fifth colour is missing. Site 1 has no green. */
static void write_rows(size_t site, size_t rows)
{
    static const char *const colours[] = {"blue", "red", "green"};
    char text[8000] = "a,b,colour,label\n", a[20], b[20];
    uint32_t state = (uint32_t)(11 * site + 3);
    for (size_t i = 0; i < rows; i++) {
        double x[3];
        for (size_t k = 0; k < 3; k++) {
            state = state * 1664525u + 1013904223u;
            x[k] = (double)(state >> 8) / (1 << 24);
        }
        snprintf(a, sizeof a, "%.6f", 4 * x[0] - 2);
        snprintf(b, sizeof b, "%.0f", 20 * x[1] - 10);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s,%s,%s,%s\n",
                 (i + site) % 3 ? a : "", (i + site) % 4 ? b : "",
                 (i + site) % 5 ? colours[(size_t)(x[2] * (site == 1 ? 2 : 3))] : "",
                 x[0] + x[1] + 0.6 * x[2] > 1.5 ? "yes" : "no");
    }
    federating_write(all.side[site].folder, "rows.csv", "%s", text);
}

static void found(const char *lines)
{
    static const size_t rows[] = {40, 25, 33};
    federating_found(&all, SITES);
    federating_lead(&all, lines);
    for (size_t i = 1; i <= SITES; i++) {
        write_rows(i, rows[i - 1]);
        federating_join(&all, i,
                        "categories: auto\npolicy:\n  federations: [heart]\n  epsilon: off\n"
                        "  participants: 1\n  disclosure: off\n"
                        "  allow: [facts, measure, score, information]\n");
    }
}

#define TRAIN "algorithm: fed-plt, rounds: 4, seed: 5, eval-every: 2, tolerance: 0"
#define PAIRS                                                                      \
    {"algorithm", "fed-plt"}, {"rounds", "4"}, {"seed", "5"}, {"eval-every", "2"}, \
        {"tolerance", "0"},                                                        \
    {                                                                              \
        "categories", "auto"                                                       \
    }

#define BOUNDS "'a=-4..4,b=-12..12'"

static const struct {
    const char *lines;
    const char *pairs[12][2];
    double tolerance;
} runs[] = {
    {"train: {" TRAIN ", standardise: no, missing: mean}\n",
     {PAIRS, {"standardise", "no"}, {"missing", "mean"}},
     0},
    {"train: {" TRAIN
     ", standardise: no, missing: median, missing-cells: 50, missing-bounds: " BOUNDS "}\n",
     {PAIRS,
      {"standardise", "no"},
      {"missing", "median"},
      {"missing-cells", "50"},
      {"missing-bounds", "a=-4..4,b=-12..12"}},
     0},
    {"train: {" TRAIN ", standardise: no, missing: most-frequent, missing-bounds: " BOUNDS "}\n",
     {PAIRS,
      {"standardise", "no"},
      {"missing", "most-frequent"},
      {"missing-bounds", "a=-4..4,b=-12..12"}},
     0},
    {"train: {" TRAIN ", standardise: no, missing: constant, missing-value: -1.5}\n",
     {PAIRS, {"standardise", "no"}, {"missing", "constant"}, {"missing-value", "-1.5"}},
     0},
    {"train: {" TRAIN ", missing: mean, standardise: yes, weights: rows, class-weight: balanced}\n",
     {PAIRS,
      {"missing", "mean"},
      {"standardise", "yes"},
      {"weights", "rows"},
      {"class-weight", "balanced"}},
     1e-12},
};

/* Every way to fill, and classes that weigh alike. */
static void gaps_are_filled_as_in_one_process(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        found(runs[r].lines);
        federating_run(&all);
        assert_sides_ok(&all);
        fplt_model *expected = trained(&all, runs[r].pairs);
        assert_models_equal(&all, expected, runs[r].tolerance);
        fplt_model_destroy(expected);
        federating_clear(&all);
    }
}

/* Before it agrees a site reads what each way to fill makes it tell. */
static void a_proposal_says_what_leaves(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *words;
    } cases[] = {
        {"missing", "mean", "ranges, sums and numbers of the values that are there"},
        {"missing", "median", "how many values are in each cell of missing-bounds"},
        {"missing", "most-frequent", "how many values are in each cell of missing-bounds"},
        {"class-weight", "balanced", "how many rows each class has"},
        {"missing", "constant", NULL},
        {"class-weight", "none", NULL},
    };
    char member[16] = "s1";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt__pair pair = {(char *)cases[i].name, (char *)cases[i].value};
        fplt__proposal proposal = {.federation = "heart", .run = 1, .members = 1, .settings = 1};
        fplt__buffer text = {NULL, 0, 0, FPLT_OK};
        fplt_error error;
        assert_ok(fplt__alloc_into(&proposal.roster, 1, sizeof *proposal.roster, "", &error),
                  error);
        memcpy(proposal.roster[0], member, sizeof member);
        proposal.setting = &pair;
        fplt__proposal_show(&proposal, &text);
        assert_non_null(text.text);
        if (cases[i].words)
            assert_contains(text.text, cases[i].words);
        else
            assert_null(strstr(text.text, "each site tells"));
        fplt__free(proposal.roster);
        fplt__buffer_clear(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proposal_says_what_leaves),
        cmocka_unit_test(gaps_are_filled_as_in_one_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
