/* Designs over declared columns: bounds by interval arithmetic hold every value, and are met at corners. */
#include "helpers.h"

#include <stdio.h>

#include "data/formula.h"
#include "data/schema_access.h"

enum { INPUTS = 5, COLUMNS = 64 };

static const char *const formula = "y ~ a * b * c + I(a^2) + I(b^3):g + poly(c, 4, raw = TRUE)";

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static double uniform(uint64_t *state, double low, double high)
{
    double share = (double)(draw(state) >> 11) * 0x1p-53;
    return low + share * (high - low);
}

static fplt_schema *declare(const double bounds[3][2])
{
    char text[500];
    fplt_schema *schema;
    fplt_error error;
    int length = snprintf(text, sizeof text,
                          "columns:\n"
                          "  a: {type: number, bounds: %.17g..%.17g}\n"
                          "  b: {type: number, bounds: %.17g..%.17g}\n"
                          "  c: {type: number, bounds: %.17g..%.17g}\n"
                          "  g: {type: category, levels: [u, v]}\n"
                          "  y: {type: label, classes: [0, 1]}\n",
                          bounds[0][0], bounds[0][1], bounds[1][0], bounds[1][1], bounds[2][0],
                          bounds[2][1]);
    assert_ok(fplt__schema_parse(text, (size_t)length, "test", &schema, &error), error);
    return schema;
}

/* A row within the bounds; every other one has its numbers at bounds, or at 0 where it is between them. */
static void draw_row(uint64_t *state, const double bounds[3][2], double row[INPUTS])
{
    int extreme = draw(state) % 2;
    for (int i = 0; i < 3; i++) {
        unsigned corner = (unsigned)(draw(state) >> 40) % 3;
        row[i] = uniform(state, bounds[i][0], bounds[i][1]);
        if (extreme)
            row[i] = corner < 2 ? bounds[i][corner] : fmin(fmax(0, bounds[i][0]), bounds[i][1]);
    }
    row[3] = (double)(draw(state) >> 33 & 1);
    row[4] = 1 - row[3];
}

static void declared_bounds_hold_every_row(void **unused)
{
    (void)unused;
    uint64_t state = 88172645463325252u;
    for (int trial = 0; trial < 200; trial++) {
        double bounds[3][2], centre[COLUMNS], scale[COLUMNS], most[COLUMNS] = {0};
        for (int i = 0; i < 3; i++) {
            double x = uniform(&state, -3, 3), y = uniform(&state, -3, 3);
            bounds[i][0] = fmin(x, y);
            bounds[i][1] = fmax(x, y);
        }
        fplt_schema *schema = declare(bounds);
        fplt_design *design;
        fplt_error error;
        assert_ok(fplt__design_declare(formula, schema, &design, &error), error);
        size_t columns = fplt__design_names(design)->count;
        assert_int_equal(columns, 14);                      /* 7, I(a^2), 2 of I(b^3):g, 4 powers */
        assert_int_equal(fplt__design_at_once(design), 13); /* of the levels one at a time */
        assert_ok(fplt__design_scales(design, schema, 2, centre, scale, &error), error);
        for (int r = 0; r < 400; r++) {
            double row[INPUTS], room[64], out[COLUMNS];
            draw_row(&state, bounds, row);
            assert_true(fplt__design_room(design) <= 64);
            assert_ok(fplt__design_expand(design, row, room, out, &error), error);
            for (size_t j = 0; j < columns; j++) {
                double z = fabs(out[j] - centre[j]) / scale[j] / 2;
                assert_true(z <= 1 + 1e-12);
                most[j] = fmax(most[j], z);
            }
        }
        for (size_t j = 0; j < columns; j++)
            assert_near(most[j], 1, 1e-9);
        fplt__design_destroy(design);
        fplt_schema_destroy(schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declared_bounds_hold_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
