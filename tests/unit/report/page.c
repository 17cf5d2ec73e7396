/* The page about a model: what stands on it, and that it survives failing allocations. */
#include <math.h>
#include <string.h>

#include "failing.h"
#include "fedplt/inference.h"
#include "fedplt/page.h"
#include "fedplt/transform.h"
#include "report/html.h"
#include "testing.h"
#include "report/model_access.h"
#include "report/report.h"

static fplt_error test_error;

static const char training[] =
    "{\"problem\": {\"agents\": 2, \"rows\": 40, \"h\": \"zero\", \"weights\": \"rows\"},"
    "\"algorithm\": \"fed-plt\", \"parameters\": {\"rho\": {\"value\": 2.5, \"why\": \"rho = 2.5: "
    "a <reason>\"}}, \"sentence\": \"converged\", \"target\": 1e-6}";
static const char private_training[] =
    "{\"privacy\": {\"private\": true, \"statement\": \"little is learnt\", \"unit\": \"one "
    "record\","
    "\"promise\": {\"epsilon\": 1, \"delta\": 0}, \"agents\": [], \"assumptions\": [\"noise\"]}}";
static const char evaluation[] =
    "{\"all\": {\"site\": \"all\", \"rows\": 9, \"auc\": 0.75}, \"sites\": [],"
    "\"confusion\": [[1, 2], [3, 3]], \"roc\": [{\"false_positive\": 0, \"true_positive\": 0},"
    "{\"false_positive\": 1, \"true_positive\": 1}]}";

static fplt_model *make_model(const char *record)
{
    static const char *const features[] = {"a<b", "c&d"}, *const classes[] = {"no", "\"yes\""};
    static const double weights[] = {0.5, -1, 0.25};
    double information[9] = {4, 0, 0, 0, 4, 0, 0, 0, 4};
    fplt_transform transform = {2, NULL, NULL, 0};
    fplt_inference inference = {40, 1, 0, 1, information, NULL};
    fplt_model_info info = {.task = FPLT_TASK_BINARY,
                            .loss = "logistic",
                            .intercept = 1,
                            .features = 2,
                            .classes = 2,
                            .feature_names = features,
                            .class_names = classes,
                            .label = "it's",
                            .transform = &transform,
                            .weights = weights,
                            .dimension = 3,
                            .program = "a test",
                            .training = record,
                            .inference = record == training ? &inference : NULL};
    fplt_model *model;
    assert_ok(fplt_model_create(&info, &model, &test_error), test_error);
    return model;
}

static fplt_history *make_history(void)
{
    fplt_history *history;
    assert_ok(fplt__history_create(&history, &test_error), test_error);
    for (uint64_t k = 0; k < 4; k++) {
        fplt_progress row = {.round = k, .measured = 1, .measure = {.criterion = pow(10, -(int)k)}};
        assert_ok(fplt__history_add(history, &row, &test_error), test_error);
    }
    return history;
}

static void everything_has_its_place(void **state)
{
    (void)state;
    fplt_model *model = make_model(training);
    fplt_history *history = make_history();
    fplt_page page = fplt_page_defaults();
    char *html;
    page.history = history;
    page.evaluation = evaluation;
    page.evaluated_on = "rows > 8";
    assert_ok(fplt_model_page(model, &page, &html, &test_error), test_error);
    static const char *const wanted[] = {
        "<h1>A model of it&#39;s</h1>", "no, and &quot;yes&quot;, whose", "<td>a&lt;b</td>",
        "c&amp;d", "rows &gt; 8", "<td class=\"n\">2.5</td><td>a &lt;reason&gt;</td>",
        /* odds ratio e^0.5, error 1/2, and z = 1 */
        "<td class=\"n\">1.6487</td>", "<td class=\"n\">0.5</td><td class=\"n\">1</td>",
        "without a promise of privacy"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(html, wanted[i]))
            fail_msg("not on the page: %s", wanted[i]);
    /* four decades between the frame's edges, and one point in each corner */
    assert_non_null(strstr(html, "points=\"66.0,26.0 "));
    fplt_free(html);
    fplt__history_destroy(history);
    fplt_model_destroy(model);
}

static void privacy_hides_what_has_no_noise(void **state)
{
    (void)state;
    fplt_model *model = make_model(private_training);
    fplt_history *history = make_history();
    fplt_page page = fplt_page_defaults();
    char *html;
    assert_true(fplt__model_is_private(model));
    page.history = history;
    assert_int_equal(fplt_model_page(model, &page, &html, &test_error), FPLT_UNSUPPORTED);
    page.history = NULL;
    page.evaluation = evaluation;
    assert_int_equal(fplt_model_page(model, &page, &html, &test_error), FPLT_UNSUPPORTED);
    page.evaluation = NULL;
    assert_ok(fplt_model_page(model, &page, &html, &test_error), test_error);
    /* min(e/20, 1 - (19/20)/e) is the first */
    assert_non_null(strstr(html, "at most 13.6 of 100"));
    assert_non_null(strstr(html, "little is learnt"));
    fplt_free(html);
    page.level = 1;
    assert_int_equal(fplt_model_page(model, &page, &html, &test_error), FPLT_BAD_VALUE);
    fplt__history_destroy(history);
    fplt_model_destroy(model);
}

static void text_of(fplt__buffer *out, const char *text)
{
    fplt__buffer_clear(out);
    fplt__html_text(out, text);
}

static void escapes(void **state)
{
    (void)state;
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    text_of(&out, "<a href=\"x\" b='y'>&amp;");
    assert_string_equal(out.text, "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
    text_of(&out, "größer");
    assert_string_equal(out.text, "größer");
    fplt__buffer_clear(&out);
}

/* Whatever the numbers are, coordinates stay inside the picture and are numbers. */
static void charts_stand_any_numbers(void **state)
{
    (void)state;
    static const double odd[][4] = {
        {0, 0, 0, 0},         {NAN, NAN, NAN, NAN},          {1e-300, 1e300, 0, 1},
        {-1, INFINITY, 3, 4}, {1e17, 1e17 + 16, 1e17, 1e17}, {5, -5, 1e-12, 0}};
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
            fplt__series curve = {"x", odd[i], odd[(i + 1) % 6], 4};
            fplt__plot plot = {"t", "x", "y", 0, logarithmic, 1e-5, "goal", &curve, 1};
            fplt__interval interval = {"n", odd[i][0], odd[i][1], odd[i][2]};
            fplt__buffer_clear(&out);
            fplt__chart_curves(&out, &plot, &(fplt__chart_frame){.dots = 1, .with_key = 1});
            fplt__chart_intervals(&out, "t", "axis", &interval, 1, 1, logarithmic);
            assert_null(strstr(out.text, "nan"));
            assert_null(strstr(out.text, "inf"));
            assert_in_range(out.length, 300, 20000);
        }
    fplt__buffer_clear(&out);
}

static fplt_status make_page(const fplt_model *model, const fplt_page *page)
{
    char *html;
    fplt_status status = fplt_model_page(model, page, &html, NULL);
    fplt_free(html);
    return status;
}

static void survives_any_failure(void **state)
{
    (void)state;
    fplt_model *model = make_model(training);
    fplt_history *history = make_history();
    fplt_page page = fplt_page_defaults();
    page.history = history;
    page.evaluation = evaluation;
    survives_failing_allocations(status = make_page(model, &page), 20);
    fplt__history_destroy(history);
    fplt_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_has_its_place),
        cmocka_unit_test(privacy_hides_what_has_no_noise),
        cmocka_unit_test(escapes),
        cmocka_unit_test(charts_stand_any_numbers),
        cmocka_unit_test(survives_any_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
