/* What a federation in threads does when its rounds are over: a refit without the penalty, and an analysis of the model. */
#include "federated_models.h"

#include <jansson.h>

#include "fedplt/inference.h"

enum { SITES = 3, ROWS = 90 };

static struct federating all;

/* Rows whose classes overlap: the label is drawn, and depends on a alone. */
static void write_rows(size_t site)
{
    char text[8000] = "a,b,label\n";
    uint32_t state = (uint32_t)(5 * site + 2);
    for (size_t i = 0; i < ROWS; i++) {
        double x[3];
        for (size_t k = 0; k < 3; k++) {
            state = state * 1664525u + 1013904223u;
            x[k] = (double)(state >> 8) / (1 << 24);
        }
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.6f,%.6f,%s\n", 4 * x[0] - 2,
                 2 * x[1] - 1, x[2] < 1 / (1 + exp(1 - 4 * x[0])) ? "yes" : "no");
    }
    federating_write(all.side[site].folder, "rows.csv", "%s", text);
}

#define TRAIN "train: {algorithm: fed-plt, rounds: 4, seed: 5, eps: 1, tolerance: 0, eval-every: 2"

static void found(const char *lines, const char *policy)
{
    federating_found(&all, SITES);
    federating_lead(&all, lines);
    for (size_t i = 1; i <= SITES; i++) {
        char site[400];
        write_rows(i);
        snprintf(site, sizeof site,
                 "policy:\n  federations: [heart]\n  epsilon: off\n  participants: 1\n"
                 "  allow: [facts, measure, score, information, evaluate]\n%s",
                 policy);
        federating_join(&all, i, site);
    }
}

static json_t *json_of(size_t side, const char *name)
{
    char *text = federating_read(all.side[side].folder, name);
    assert_non_null(text);
    json_t *made = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(made);
    return made;
}

static void a_refit_has_no_penalty(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"algorithm", "fed-newton"}, {"rounds", "30"},
                                           {"tolerance", "1e-22"},      {"eps", "0"},
                                           {"weights", "rows"},         {NULL, NULL}};
    found("refit: yes\n" TRAIN "}\n", "  disclosure: off\n");
    federating_run(&all);
    assert_sides_ok(&all);
    fplt_model *expected = trained(&all, pairs);
    const fplt_model_info *wanted = fplt_model_get_view(expected);
    for (size_t i = 0; i <= SITES; i++) {
        fplt_model *model = model_of(&all, i);
        const fplt_model *refit = fplt_model_refit(model);
        if (i) { /* the coordinator alone has the sums behind standard errors */
            assert_null(refit);
            fplt_model_destroy(model);
            continue;
        }
        assert_non_null(refit);
        const fplt_model_info *own = fplt_model_get_view(refit);
        assert_int_equal(own->dimension, wanted->dimension);
        for (size_t j = 0; j < wanted->dimension; j++)
            assert_close(own->weights[j], wanted->weights[j], 1e-9);
        /* the model itself keeps its penalty */
        assert_true(fabs(fplt_model_get_view(model)->weights[0]) < 0.9 * fabs(own->weights[0]));
        fplt_model_destroy(model);
    }
    fplt_model_destroy(expected);
    assert_contains(all.side[0].log, "refit: run 2 fits the model of run 1 without its penalty");
    federating_clear(&all);
}

/* A site that does not tell the sums behind standard errors withholds the refit, and the model names it. */
static void a_refit_that_is_withheld(void **state)
{
    (void)state;
    const char *sentence;
    found("refit: yes\n" TRAIN "}\n", "  disclosure: off\n");
    federating_join(&all, 2,
                    "policy:\n  federations: [heart]\n  epsilon: off\n  participants: 1\n"
                    "  allow: [facts, measure, score]\n  disclosure: off\n");
    federating_run(&all);
    assert_sides_ok(&all);
    fplt_model *model = model_of(&all, 0);
    assert_null(fplt_model_refit(model));
    fplt_model_destroy(model);
    assert_null(strstr(all.side[0].log, "run 2"));
    json_t *made = json_of(0, "out/model.json");
    assert_int_equal(json_unpack(made, "{s:{s:s}}", "training", "errors_withheld", &sentence), 0);
    assert_string_equal(sentence, "s2: asked what the policy of this site does not allow");
    json_decref(made);
    federating_clear(&all);
}

/* The rows of all sites, with the loss of the sums behind the model's standard errors, under rules and without. */
static void an_analysis_evaluates_the_model(void **state)
{
    (void)state;
    static const char *const endings[] = {"txt", "csv", "json"};
    for (int rules = 0; rules < 2; rules++) {
        double losses, loss;
        int rows;
        found(TRAIN "}\n", rules ? "  disclosure: research\n" : "  disclosure: off\n");
        federating_run(&all);
        assert_sides_ok(&all);
        json_t *model = json_of(0, "out/model.json");
        assert_int_equal(json_unpack(model, "{s:{s:F}}", "inference", "losses", &losses), 0);
        json_decref(model);
        federating_lead(&all, "analysis: {kind: evaluate, model: out/model.json}\n");
        federating_run(&all);
        assert_sides_ok(&all);
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
            char path[600];
            snprintf(path, sizeof path, "%s/out/evaluate.%s", all.side[0].folder, endings[k]);
            assert_int_equal(access(path, R_OK), 0);
        }
        json_t *made = json_of(0, "out/evaluate.json");
        assert_int_equal(json_unpack(made, "{s:{s:i, s:F}}", "all", "rows", &rows, "loss", &loss),
                         0);
        assert_int_equal(rows, SITES * ROWS);
        assert_close(loss * SITES * ROWS, losses, 1e-9);
        json_decref(made);
        federating_clear(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refit_has_no_penalty),
        cmocka_unit_test(a_refit_that_is_withheld),
        cmocka_unit_test(an_analysis_evaluates_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
