/* The search, on costs whose least point is known. */
#include "testing.h"

#include "lab/tuning/search.h"

struct landscape {
    unsigned axes, calls, least_calls;
    double optimum[FPLT__MAX_AXES];
    double tilt; /* how much the axes hang together */
    double best; /* least value so far */
    int patient; /* costs past the limit are found too */
    int bounded; /* every limit was the best before it */
    const fplt__axis *box;
};

static double value_at(const struct landscape *land, const double *point)
{
    double sum = 1, mixed = 0;
    for (unsigned i = 0; i < land->axes; i++) {
        double away = point[i] - land->optimum[i];
        sum += away * away;
        mixed += away * (i % 2 ? -1 : 1);
    }
    return sum + land->tilt * mixed * mixed;
}

static fplt_status cost_at(void *context, const double *point, double limit, fplt__cost *cost,
                           fplt_error *error)
{
    struct landscape *land = context;
    (void)error;
    for (unsigned i = 0; i < land->axes; i++)
        assert_true(point[i] >= land->box[i].low && point[i] <= land->box[i].high);
    land->bounded &= land->calls ? limit == land->best : limit == HUGE_VAL;
    land->calls++;
    double value = value_at(land, point);
    if (value > limit && !land->patient)
        return FPLT_OK; /* given up: the cost stays infinite */
    *cost = (fplt__cost){value, 0, 0};
    land->best = fmin(land->best, value);
    return FPLT_OK;
}

static fplt__found search_in(struct landscape *land, unsigned points)
{
    static const fplt__axis box[] = {{-2, 2, 0}, {-1, 1, 0}, {-3, 3, 0}};
    fplt__search search = {
        .axes = box, .count = land->axes, .points = points, .cost_at = cost_at, .context = land};
    fplt__found found;
    fplt_error error;
    land->box = box;
    land->best = HUGE_VAL;
    land->bounded = 1;
    assert_ok(fplt__search_run(&search, &found, &error), error);
    return found;
}

static void finds_the_optimum(void **state)
{
    (void)state;
    const double optima[][3] = {{0.7, -0.4, 1.3}, {-1.6, 0.9, -2.2}, {0, 0, 0}, {1.9, 0.95, 2.9}};
    for (unsigned axes = 1; axes <= 3; axes++)
        for (size_t o = 0; o < 4; o++) {
            struct landscape land = {.axes = axes};
            memcpy(land.optimum, optima[o], sizeof optima[o]);
            fplt__found found = search_in(&land, 25);
            assert_int_equal(found.points, land.calls);
            assert_true(land.calls <= 25 && land.bounded);
            assert_near(found.cost.value, land.best, 0);
            assert_near(value_at(&land, found.point), land.best, 0);
            for (unsigned i = 0; i < axes; i++)
                assert_near(found.point[i], land.optimum[i], axes < 3 ? 0.15 : 0.6);
            search_in(&land, 400); /* with more points, as near as one likes */
            assert_near(land.best, 1, 2e-3);
        }
}

/* What is given up would not have been chosen: the same points, to the bit. */
static void giving_up_changes_nothing(void **state)
{
    (void)state;
    for (unsigned axes = 1; axes <= 3; axes++)
        for (double tilt = 0; tilt < 40; tilt += 13) {
            struct landscape land = {.axes = axes, .optimum = {0.7, -0.4, 1.3}, .tilt = tilt};
            struct landscape patient = land;
            patient.patient = 1;
            fplt__found found = search_in(&land, 60), all = search_in(&patient, 60);
            assert_memory_equal(found.point, all.point, axes * sizeof *found.point);
            assert_int_equal(found.points, all.points);
            assert_int_equal(found.number, all.number);
            assert_near(value_at(&land, found.point), found.cost.value, 0);
        }
}

/* A valley across the axes: along each axis alone it goes up. */
static void follows_a_diagonal(void **state)
{
    (void)state;
    struct landscape land = {.axes = 2, .optimum = {1.5, 0.8}, .tilt = 30};
    fplt__found found = search_in(&land, 25);
    assert_true(found.cost.value < 1.2);
    assert_true(value_at(&land, (double[]){0, 0}) > 3);
}

static fplt_status flat(void *context, const double *point, double limit, fplt__cost *cost,
                        fplt_error *error)
{
    (void)context;
    (void)limit;
    (void)error;
    *cost = (fplt__cost){1, point[0] > 1 ? 1 : 2, 0};
    return FPLT_OK;
}

static void breaks_ties(void **state)
{
    (void)state;
    fplt__axis axis = {-2, 2, 0};
    fplt__search search = {.axes = &axis, .count = 1, .points = 25, .cost_at = flat};
    fplt__found found;
    fplt_error error;
    assert_ok(fplt__search_run(&search, &found, &error), error);
    assert_near(found.cost.second, 1, 0);
    assert_true(found.point[0] > 1 && found.point[0] < 1.15);
}

static fplt_status refuse(void *context, const double *point, double limit, fplt__cost *cost,
                          fplt_error *error)
{
    (void)point;
    (void)limit;
    (void)cost;
    return ++*(int *)context == 4 ? fplt_error_set(error, FPLT_FAILED, "the fourth") : FPLT_OK;
}

/* Points that are all given up are no error; a failure ends the search at once. */
static void reports_failures(void **state)
{
    (void)state;
    fplt__axis axis = {-2, 2, 0};
    int calls = 0;
    fplt__search search = {
        .axes = &axis, .count = 1, .points = 25, .cost_at = refuse, .context = &calls};
    fplt__found found;
    fplt_error error;
    assert_int_equal(fplt__search_run(&search, &found, &error), FPLT_FAILED);
    assert_int_equal(calls, 4);
    assert_string_equal(error.text, "the fourth");
    search.count = 0;
    calls = 10;
    assert_ok(fplt__search_run(&search, &found, &error), error);
    assert_int_equal(found.points, 1);
    assert_true(isinf(found.cost.value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_optimum),  cmocka_unit_test(giving_up_changes_nothing),
        cmocka_unit_test(follows_a_diagonal), cmocka_unit_test(breaks_ties),
        cmocka_unit_test(reports_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
