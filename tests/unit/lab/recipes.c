/* What the recipes for a loss, a solver and an algorithm ask for: every member of the registries has it, a table that
 * lacks a part is refused by the name of the part, and what a loss says of itself holds. */
#include "testing.h"

#include "algorithm/algorithm.h"
#include "engine/hub.h"
#include "fedplt/compare.h"
#include "fedplt/data.h"
#include "fedplt/objective.h"
#include "fedplt/random.h"
#include "job/job.h"
#include "objective/loss.h"
#include "objective/objective_access.h"

enum { ROWS = 64, FEATURES = 3 };

/* ---- losses ---- */

static void complete_losses(void **state)
{
    (void)state;
    for (size_t i = 0; fplt__losses[i]; i++) {
        const char *lacking = fplt__loss_lacks(fplt__losses[i]);
        if (lacking)
            fail_msg("loss %zu (%s) has no %s", i, fplt__losses[i]->name, lacking);
    }
}

/* Each part taken from a complete one: the name of the part is the answer. */
static size_t no_shared(size_t classes)
{
    return classes;
}

static const fplt__display no_display = {.note = ""};

static void a_loss_without_a_part(void **state)
{
    (void)state;
    fplt__loss loss = *fplt__losses[0];
#define LACKS(part)                                           \
    do {                                                      \
        fplt__loss other = loss;                              \
        memset(&other.part, 0, sizeof other.part);            \
        assert_non_null(fplt__loss_lacks(&other));            \
        assert_string_equal(fplt__loss_lacks(&other), #part); \
    } while (0)
    LACKS(name);
    LACKS(help);
    LACKS(tasks);
    LACKS(value);
    LACKS(slope);
    LACKS(curve);
    LACKS(bend);
    LACKS(hits);
    LACKS(most);
    loss.shared = no_shared;
    loss.unbounded = 1;
    loss.display = &no_display;
    LACKS(display);
    LACKS(unbounded);
#undef LACKS
}

static double label_of(const fplt__loss *loss, fplt_task task, size_t r)
{
    switch (task) {
    case FPLT_TASK_BINARY: return r % 3 ? 1 : -1;
    case FPLT_TASK_CLASSES: return (double)(r % 4);
    case FPLT_TASK_SURVIVAL: return (r % 4 ? 1 : -1) * (double)(1 + r % 9);
    default:
        return loss->positive ? 0.5 + (double)(r % 5)
               : loss->counts ? (double)(r % 5)
                              : (double)(r % 11) - 5;
    }
}

/* The class that a row's scores speak for, as `predict` has it: the sign, or the largest. */
static int is_hit(const fplt__loss *loss, fplt_task task, const double *row, double label,
                  const double *x)
{
    double best = -INFINITY;
    if (loss->ordered) {
        double score = x[FEATURES];
        for (size_t j = 0; j < FEATURES; j++)
            score += row[j] * x[j];
        size_t classes = task == FPLT_TASK_BINARY ? 2 : 4,
               own = (size_t)(task == FPLT_TASK_BINARY ? label > 0 : label);
        return loss->likeliest(score, x + FEATURES + 1, fplt__loss_shared(loss, classes)) == own;
    }
    size_t outputs = loss->classes ? task == FPLT_TASK_BINARY ? 2 : 4 : 1, chosen = 0;
    for (size_t k = 0; k < outputs; k++) {
        double score = 0;
        for (size_t j = 0; j < FEATURES; j++)
            score += row[j] * x[k * FEATURES + j];
        if (score > best) {
            best = score;
            chosen = k;
        }
    }
    if (task == FPLT_TASK_BINARY)
        return (label > 0) == (outputs == 1 ? best > 0 : chosen == 1);
    return chosen == (size_t)label;
}

static void check_loss(const fplt__loss *loss, fplt_task task)
{
    double rows_of[ROWS * FEATURES], label[ROWS], x[4 * FEATURES] = {0}, g[4 * FEATURES];
    double h[16 * FEATURES * FEATURES], value[2];
    const size_t share[] = {ROWS};
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, (uint64_t)task, 0, 0);
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *o;
    print_message("# %s, %s\n", loss->name, fplt_task_name(task));
    for (size_t i = 0; i < ROWS * FEATURES; i++)
        rows_of[i] = fplt_stream_normal(&stream);
    for (size_t r = 0; r < ROWS; r++)
        label[r] = label_of(loss, task, r);
    fplt_rows rows = {.count = ROWS, .features = FEATURES, .dense = rows_of, .label = label};
    assert_ok(fplt_dataset_from_rows(&rows, task, share, 1, &dataset, &error), error);
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.loss = loss->name;
    settings.regulariser = "none";
    settings.intercept = loss->ordered;
    assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
    size_t n = fplt_objective_dimension(o);
    double *scratch = calloc(fplt_objective_scratch(o), sizeof *scratch);
    for (size_t j = 0; j < n; j++)
        x[j] = 0.4 * fplt_stream_normal(&stream);
    assert_int_equal(fplt_objective_value_gradient(o, 0, x, value, g, scratch), FPLT_OK);
    assert_int_equal(fplt__objective_hessian(o, 0, x, h, scratch), FPLT_OK);
    for (size_t j = 0; j < n;
         j++) { /* differences of values, and of gradients; few kinks are met */
        const double step = 1e-6;
        double at = x[j], up[4 * FEATURES], down[4 * FEATURES];
        x[j] = at + step;
        assert_int_equal(fplt_objective_value_gradient(o, 0, x, &value[0], up, scratch), FPLT_OK);
        x[j] = at - step;
        assert_int_equal(fplt_objective_value_gradient(o, 0, x, &value[1], down, scratch), FPLT_OK);
        x[j] = at;
        if (fabs((value[0] - value[1]) / (2 * step) - g[j]) > 1e-6 * (1 + fabs(g[j])))
            fail_msg("%s: slope is not the derivative of value", loss->name);
        for (size_t k = 0; k < n; k++)
            if (fabs((up[k] - down[k]) / (2 * step) - h[j * n + k]) >
                1e-5 * (1 + fabs(h[j * n + k])))
                fail_msg("%s: curve and bend are not the derivative of slope", loss->name);
    }
    if (task == FPLT_TASK_BINARY || task == FPLT_TASK_CLASSES) {
        size_t hits, expected = 0;
        for (size_t r = 0; r < ROWS; r++)
            expected += (size_t)is_hit(loss, task, rows_of + r * FEATURES, label[r], x);
        assert_int_equal(fplt__objective_hits(o, 0, x, &hits, scratch), FPLT_OK);
        if (hits != expected)
            fail_msg("%s, %s: hits counts %zu rows, but %zu are classified rightly", loss->name,
                     fplt_task_name(task), hits, expected);
    }
    for (size_t j = 0; j < n; j++)
        x[j] = 1e4;
    assert_int_equal(fplt_objective_value_gradient(o, 0, x, value, g, scratch), FPLT_OK);
    for (size_t j = 0; j < n; j++)
        if (!isfinite(value[0]) || !isfinite(g[j]))
            fail_msg("%s: margins of 1e4 give no finite values", loss->name);
    free(scratch);
    fplt_objective_destroy(o);
    fplt_dataset_destroy(dataset);
}

/* Derivatives, hits and large margins of every loss that is registered, for every task that it fits. */
static void losses_are_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; fplt__losses[i]; i++)
        for (int task = 0; fplt_task_name((fplt_task)task) && task < 4; task++)
            if (fplt__losses[i]->tasks & 1u << task)
                check_loss(fplt__losses[i], (fplt_task)task);
}

/* ---- solvers ---- */

static void complete_solvers(void **state)
{
    (void)state;
    const unsigned kinds = FPLT_PLAIN_STEPS | FPLT_MINIMISER;
    for (size_t i = 0; fplt_solver_list(i); i++) {
        const fplt_solver *solver = fplt_solver_list(i);
        const char *lacking =
            !solver->name                         ? "name"
            : !solver->help                       ? "help"
            : !(solver->traits & kinds)           ? "FPLT_PLAIN_STEPS or FPLT_MINIMISER in traits"
            : !solver->run                        ? "run"
            : !solver->step_rule != !solver->step ? "step and step_rule, or neither"
                                                  : NULL;
        if (lacking)
            fail_msg("solver %zu (%s) has no %s", i, solver->name ? solver->name : "?", lacking);
    }
}

/* ---- algorithms ---- */

static void complete_algorithms(void **state)
{
    (void)state;
    for (size_t i = 0; fplt_algorithm_list(i); i++) {
        const fplt_algorithm *a = fplt_algorithm_list(i);
        fplt_error error;
        const char *lacking = fplt__algorithm_lacks(a);
        if (!lacking)
            lacking = !a->title                                                  ? "title"
                      : !a->reference                                            ? "reference"
                      : !a->step_rule && !a->splits                              ? "step_rule"
                      : !a->paper.epochs                                         ? "paper.epochs"
                      : !a->paper.problems                                       ? "paper.problems"
                      : !(a->allows & FPLT_ALLOWS_MINIMISER) && !a->no_minimiser ? "no_minimiser"
                      : !(a->allows & FPLT_ALLOWS_PARTIAL) && !a->no_partial     ? "no_partial"
                      : !(a->allows & FPLT_ALLOWS_PRIVACY) && !a->no_privacy     ? "no_privacy"
                      : a->allows & FPLT_NEEDS_CERTAINTY && !a->no_random        ? "no_random"
                                                                                 : NULL;
        if (lacking)
            fail_msg("the algorithm %s (number %zu) has no %s", a->name, i, lacking);
        assert_ok(fplt__job_check_parameters(a, &error), error);
    }
}

static void refuse_algorithm(const fplt_algorithm *a, const char *part)
{
    fplt_error error;
    char sentence[160];
    snprintf(sentence, sizeof sentence, "has no %s", part);
    assert_int_equal(fplt__plan_check_algorithm(a, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, sentence);
}

static void an_algorithm_without_a_part(void **state)
{
    (void)state;
    const fplt_algorithm *led = fplt_algorithm_find("led"), *plt = fplt_algorithm_find("fed-plt");
#define LACKS(from, part)                          \
    do {                                           \
        fplt_algorithm other = *(from);            \
        memset(&other.part, 0, sizeof other.part); \
        refuse_algorithm(&other, #part);           \
    } while (0)
    LACKS(led, name);
    LACKS(led, settings);
    LACKS(led, shape.exchanges);
    LACKS(led, step);
    LACKS(led, broadcast);
    LACKS(led, local);
    LACKS(led, absorb);
    LACKS(led, model);
    LACKS(led, finish);
    LACKS(led, shape.finish_down);
    LACKS(plt, prepare);
    LACKS(plt, conclude);
#undef LACKS
}

/* A parameter with the name of a setting is refused by a training and by a comparison. */
static void a_parameter_named_like_a_setting(void **state)
{
    (void)state;
    static const fplt_setting taken[] = {
        {"eps", FPLT_REAL, 0, "1", 0, HUGE_VAL, NULL, "a weight", 0, 0},
        FPLT_SETTINGS_END,
    };
    fplt_algorithm own = *fplt_algorithm_find("fedavg");
    const fplt_algorithm *list[] = {&own};
    fplt_error error;
    fplt_settings *settings;
    fplt_comparison *comparison;
    own.settings = taken;
    own.name = "mine";
    assert_int_equal(fplt__job_check_parameters(&own, &error), FPLT_FAILED);
    assert_contains(error.text, "the parameter eps of mine has the name of a setting");
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_compare_declare(settings, &error), error);
    fplt_compare_settings wanted = fplt_compare_defaults(settings);
    wanted.algorithms = list;
    wanted.count = 1;
    assert_int_equal(fplt_comparison_create(&wanted, &comparison, &error), FPLT_FAILED);
    assert_contains(error.text, "the parameter eps of mine has the name of a setting");
    fplt_settings_destroy(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete_losses),
        cmocka_unit_test(a_loss_without_a_part),
        cmocka_unit_test(losses_are_what_they_say),
        cmocka_unit_test(complete_solvers),
        cmocka_unit_test(complete_algorithms),
        cmocka_unit_test(an_algorithm_without_a_part),
        cmocka_unit_test(a_parameter_named_like_a_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
